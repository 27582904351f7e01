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

struct ladder {
    const struct ladder_row *rows; /* [count] */
    size_t count;
    const double *thresholds; /* [threshold_count], ascending */
    size_t threshold_count, main; /* index of the main threshold */
    int train_length; /* 0: unmarked */
    const char *subtitle;
};

/* A mark for each threshold on one logarithmic axis of tokens, the models below each other in the
 * given order; the main threshold has the largest mark and its interval. Returns as figure_draw
 * (plots/figure.h). */
int figure_ladder(const struct figure_place *to, const struct ladder *u, struct error *e) MUST_USE;

#endif
