/* Figures of theoretical receptive fields. */
#ifndef REACH_PLOTS_TRF_H
#define REACH_PLOTS_TRF_H

#include "io/error.h"
#include "plots/style.h"

#include <stddef.h>

/* One kernel f(t) = exp(b(t)) with its partial sums, for j = t + 1 most recent tokens. */
struct trf_curve {
    const char *label; /* in the key: "alibi, head 8" */
    int head; /* 0: all heads, alike or averaged */
    const char *verdict; /* of the series */
    const char *field_text, *length; /* "1179" of "inf" tokens; empty: no field */
    const double *tokens; /* [points] j, ascending */
    const double *weight; /* [points] f(j-1) over its largest value */
    const double *beyond; /* [points] 1 - (sum of the first j) / B; NULL: no B */
    size_t points;
    double field; /* TRF(eps), marked if inside the picture, on the curve if it has that point; 0:
                     none */
};

struct trf_curves {
    const struct trf_curve *curves; /* [count] */
    size_t count;
    double epsilon;
};

/* "alibi, layer 2, head 8" of its parts; "all (mean)" of the head "mean" unless it is alone of its
 * formula, nothing of "all". NULL: out of memory. Caller frees. */
char *trf_curve_label(const char *formula, const char *layers, const char *head, int alone);

/* Two panels on logarithmic axes: the weights f, and the share beyond the most recent tokens, with
 * every TRF(epsilon) marked. Heads of one encoding are in one scale of colours, and their mean is a
 * thick line. Returns as figure_draw. */
int figure_trf(const struct figure_place *to, const struct trf_curves *u, struct error *e) MUST_USE;

/* Fields of one encoding or model, for comparison; 0: none, +inf: unbounded or too large. */
struct field_row {
    const char *label;
    double trf; /* of one layer, the largest of its layers */
    double trf_depth; /* across all layers */
    double cone; /* the exact cone */
    double erf, erf_lo, erf_hi; /* measured, and its interval; equal ends: none */
    int saturated; /* 1: the measured field is the whole length */
    double length; /* tokens that were measured: a longer theoretical field could not show */
    double train_length;
};

struct field_rows {
    const struct field_row *rows; /* [count] */
    size_t count;
    const char *subtitle; /* thresholds and depth */
};

/* TRF and measured ERF on one logarithmic axis of tokens, one line each ([B] figures 5 and 6
 * compare the two); hollow at the frame, with an arrow, what is longer than was measured. Returns
 * as figure_draw. */
int figure_fields(const struct figure_place *to, const struct field_rows *u,
                  struct error *e) MUST_USE;

#endif
