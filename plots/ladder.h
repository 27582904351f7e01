/* The figure of a table of measured fields: ERF at every threshold, one row per model. */
#ifndef REACH_PLOTS_LADDER_H
#define REACH_PLOTS_LADDER_H

#include "io/error.h"
#include "plots/style.h"

#include <stddef.h>

/* One model. All arrays [thresholds]; fields in tokens; 0: not in the table. lo and hi: the
 * interval; equal to the field: no interval. */
struct ladder_row {
    const char *label;
    double *erf, *erf_lo, *erf_hi;
    unsigned char *saturated; /* 1: the whole length, a lower bound of the field */
};

/* A mark for each threshold on one logarithmic axis of tokens, the models below each other in the
 * given order; the main threshold (index `main`) has the largest mark and its interval.
 * `train_length` (0: unknown) is marked. Returns as figure_draw (plots/figure.h). */
int figure_ladder(const char *folder, const char *stem, const struct ladder_row *rows, size_t count,
                  const double *thresholds, size_t threshold_count, size_t main, int train_length,
                  const char *subtitle, const char *const *comments,
                  const struct figure_style *style, struct error *e) MUST_USE;

#endif
