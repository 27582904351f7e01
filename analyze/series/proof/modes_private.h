/* What modes are made of. */
#ifndef REACH_ANALYZE_SERIES_PROOF_MODES_PRIVATE_H
#define REACH_ANALYZE_SERIES_PROOF_MODES_PRIVATE_H

#include "analyze/series/proof/modes.h"

enum {
    OUTSIDE = 1, /* where t stands: */
    WAVES = 2
};

/* A frequency of which that of every wave in node `v` is a whole multiple. -1: there is none. */
int modes_frequency(struct expression_pool *p, int v);
/* The rectangle about [i, i + 1] / count of a period in which the imaginary part of w t is up to `width`. */
void modes_arc(acb_t out, const arb_t period, int i, int count, double width);
/* Not below log2 of x. */
double modes_log2(const mag_t x);
/* sin(u)^2 is (1 - cos(2 u)) / 2, and so on: the node with that. */
int modes_without_squares(struct expression_pool *p, int root);
/* Samples of an angle, and how many modes leave a rest of about 2^-prec of F = exp(root) at distances where t F is not less than
 * that; place[n]: where t stands in node n. *width: of the strip. 1, or 0: too many. */
int modes_change(struct modes *m, double *width, int root, const unsigned char *place, const arb_t period, slong prec);

#endif
