/* attention.csv. */
#ifndef REACH_RUN_ATTENTION_CSV_H
#define REACH_RUN_ATTENTION_CSV_H

#include "io/formats/csv.h"
#include "io/results/result.h"
#include "io/system/atomic.h"

extern const struct csv_layout attention_csv;

/* Writes PATH from a struct result, without the rename. */
int attention_write(const void *result, const char *path, struct atomic_file *out,
                    struct error *e) MUST_USE;

#endif
