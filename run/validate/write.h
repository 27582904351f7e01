/* validation.csv, and its figure. */
#ifndef REACH_RUN_VALIDATE_WRITE_H
#define REACH_RUN_VALIDATE_WRITE_H

#include "io/formats/csv.h"
#include "io/results/result.h"
#include "plots/style.h"

extern const struct csv_layout validation_csv;

/* Its rows, from a struct result. */
int validate_rows(const void *result, struct csv *csv, struct error *e) MUST_USE;
/* As plots/result.h; folder and stem give the place. */
int validate_draw(const char *folder, const char *stem, const struct result *r,
                  const struct figure_style *style, struct error *e) MUST_USE;

#endif
