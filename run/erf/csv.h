/* curve.csv and summary.csv. */
#ifndef REACH_RUN_ERF_CSV_H
#define REACH_RUN_ERF_CSV_H

#include "io/formats/csv.h"
#include "io/results/result.h"
#include "io/system/atomic.h"

extern const struct csv_layout curve_csv, summary_csv;

/* Write PATH from a struct result, without the rename. */
int erf_write_curve(const void *result, const char *path, struct atomic_file *out,
                    struct error *e) MUST_USE;
int erf_write_summary(const void *result, const char *path, struct atomic_file *out,
                      struct error *e) MUST_USE;

#endif
