/* attention.csv. */
#ifndef REACH_RUN_ATTENTION_CSV_H
#define REACH_RUN_ATTENTION_CSV_H

#include "io/formats/csv.h"
#include "io/results/result.h"

extern const struct csv_layout attention_csv;

/* Its rows, from a struct result. */
int attention_rows(const void *result, struct csv *csv, struct error *e) MUST_USE;

#endif
