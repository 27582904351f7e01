/* f(t) = g(t) V(t), V = exp of waves that all come back after one period, as a sum of modes: V(t) = sum over k of V_k exp(i k w
 * t), |k| <= count, and a rest. Or f(t) = F(t, w t) with other waves, as in t sin(t): then g is 1 and the V_k change with t, each
 * the mean of F(t, a) exp(-i k a) over equally spaced angles a. */
#ifndef REACH_ANALYZE_SERIES_PROOF_MODES_H
#define REACH_ANALYZE_SERIES_PROOF_MODES_H

#include "analyze/series/proof/evaluate.h"

enum { MODES_ARCS = 8 };

struct modes {
    struct expression_pool *p;
    int root, smooth; /* nodes: ln f and ln g; -1: there is no g */
    int frequency; /* node: w > 0 */
    int count;
    acb_ptr weight; /* [count + 1] V_0, V_1, ...; V_-k is the conjugate of V_k. NULL: they change */
    arb_ptr distance; /* [count + 1] of k w from the multiples of 2 pi, k > 0 */
    double *log2_size, *log2_wave; /* [count + 1] not below log2 of 2 |V_k| (of |V_0|) and of 2 pi / distance */
    int samples; /* 0, or more than 2 count, */
    int *sample; /* [samples] nodes: ln F(t, a) at the angles, */
    int turned; /* and with the leaf X_OPAQUE for a / w; */
    acb_ptr arc; /* [MODES_ARCS] cover a strip of a / w; all bounds of F hold for a there, */
    double log2_left; /* and this times such a bound is one of F(t, w t) less the modes */
    mag_t rest; /* bounds V(t) less the modes, t real */
    mag_t turn; /* bounds the sum of 2 |V_k| / |sin(k w / 2)| over k > 0 */
    int references;
};

/* With a rest of about 2^-prec. NULL: node `root` has no waves of one period, V is not analytic, its modes are too many (or
 * memory is short). */
struct modes *modes_new(struct expression_pool *p, int root, slong prec);
/* One owner more; one less, the last of whom frees it (NULL is let be). */
struct modes *modes_hold(struct modes *m);
void modes_release(struct modes *m);

/* log2 of a bound of |V_0| + sum over k > 0 of 2 |V_k| (2 pi / distance)^n. */
double modes_spread(const struct modes *m, double n);
/* [count, order] from k = 1 on: what g^(n)(x) / n! is multiplied by in C_k(x) below, n < order. Caller clears. */
acb_ptr modes_kernel(const struct modes *m, slong order, slong prec);
/* sum over k > 0 of 2 Re V_k C_k(x), C_k(x) = exp(i k w x) (-g(x)/2 + sum over n < used of i^-(n+1) c_(n+1) g^(n)(x)),
 * c_(n+1) = (-1)^n sum over whole l of (k w + 2 pi l)^-(n+1), from the Taylor coefficients of g at a whole x, or of the samples
 * (V_k g is their mean then). */
void modes_correction(arb_t out, const struct modes *m, acb_srcptr kernel, slong order, const arb_poly_struct *g, slong used,
                      const fmpz_t x, slong prec);

#endif
