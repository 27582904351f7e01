/* attention.csv. */
#ifndef REACH_RUN_ATTENTION_CSV_H
#define REACH_RUN_ATTENTION_CSV_H

#include "io/formats/csv.h"
#include "io/results/result.h"
#include "io/system/atomic.h"

extern const struct csv_layout attention_csv;

/* Writes PATH, but for the renaming. */
int attention_write(const struct result *r, const char *path, struct atomic_file *out, struct error *e) MUST_USE;

#endif
