/* validation.csv, and its figure. */
#ifndef REACH_RUN_VALIDATE_WRITE_H
#define REACH_RUN_VALIDATE_WRITE_H

#include "io/formats/csv.h"
#include "io/results/result.h"
#include "plots/style.h"

extern const struct csv_layout validation_csv;

/* Its rows, from a struct result. */
int validate_rows(const void *result, struct csv *csv, struct error *e) MUST_USE;
/* As plots/result.h. */
int validate_draw(const struct figure_place *to, const struct result *r, struct error *e) MUST_USE;

#endif
