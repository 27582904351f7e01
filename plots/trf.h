/* Figures of theoretical receptive fields. */
#ifndef REACH_PLOTS_TRF_H
#define REACH_PLOTS_TRF_H

#include "io/error.h"
#include "plots/style.h"

#include <stddef.h>

/* One kernel f(t) = exp(b(t)) with its partial sums, for j = t + 1 most recent tokens. */
struct trf_curve {
    const char *label, *note; /* both in the key: "alibi, head 8", "TRF 1179" */
    const double *tokens; /* [points] j, ascending */
    const double *weight; /* [points] f(j-1) over its largest value */
    const double *beyond; /* [points] 1 - (sum of the first j) / B; NULL: no B */
    size_t points;
    double field; /* TRF(eps), marked if inside the picture; 0: none */
    double weight_at_field;
};

/* Two panels on logarithmic axes: the weights f, and the share beyond the most recent tokens, with
 * every TRF(epsilon) marked. Returns as figure_draw. */
int figure_trf(const char *folder, const char *stem, const struct trf_curve *curves, size_t count,
               double epsilon, const char *const *comments, const struct figure_style *style,
               struct error *e) MUST_USE;

/* Fields of one encoding or model, for comparison; 0: none, +inf: unbounded or too large. */
struct field_row {
    const char *label;
    double trf; /* of one layer, the largest of its layers */
    double trf_depth; /* across all layers */
    double cone; /* the exact cone */
    double erf, erf_lo, erf_hi; /* measured, and its interval; equal ends: none */
    int saturated; /* 1: the measured field is the whole length */
    double train_length;
};

/* TRF and measured ERF on one logarithmic axis of tokens, one line each ([B] figures 5 and 6
 * compare the two). `subtitle` gives thresholds and depth. Returns as figure_draw. */
int figure_fields(const char *folder, const char *stem, const struct field_row *rows, size_t count,
                  const char *subtitle, const char *const *comments,
                  const struct figure_style *style, struct error *e) MUST_USE;

#endif
