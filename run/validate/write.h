/* validation.csv. */
#ifndef REACH_RUN_VALIDATE_WRITE_H
#define REACH_RUN_VALIDATE_WRITE_H

#include "io/atomic.h"
#include "io/csv.h"
#include "io/result.h"

extern const struct csv_layout validation_csv;

/* Writes PATH, but for the renaming. */
int validate_write(const struct result *r, const char *path, struct atomic_file *out, struct error *e) MUST_USE;

#endif
