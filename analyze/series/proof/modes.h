/* f(t) = g(t) V(t), V = exp of waves that all come back after one period, as a sum of modes: V(t) = sum over k of V_k exp(i k w
 * t), |k| <= count, and a rest. */
#ifndef REACH_ANALYZE_SERIES_PROOF_MODES_H
#define REACH_ANALYZE_SERIES_PROOF_MODES_H

#include "analyze/series/proof/evaluate.h"

struct modes {
    struct expression_pool *p;
    int root, smooth; /* nodes: ln f and ln g */
    int frequency; /* node: w > 0 */
    int count;
    acb_ptr weight; /* [count + 1] V_0, V_1, ...; V_-k is the conjugate of V_k */
    arb_ptr distance; /* [count + 1] of k w from the multiples of 2 pi, k > 0 */
    double *log2_size, *log2_wave; /* [count + 1] not below log2 of 2 |V_k| (of |V_0|) and of 2 pi / distance */
    mag_t rest; /* bounds V(t) less the modes, t real */
    mag_t turn; /* bounds the sum of 2 |V_k| / |sin(k w / 2)| over k > 0 */
    int references;
};

/* With a rest of about 2^-prec. NULL: node `root` is no such sum, V is not analytic, its modes are too many (or memory is short).
 */
struct modes *modes_new(struct expression_pool *p, int root, slong prec);
/* One owner more; one less, the last of whom frees it (NULL is let be). */
struct modes *modes_hold(struct modes *m);
void modes_release(struct modes *m);

/* log2 of a bound of |V_0| + sum over k > 0 of 2 |V_k| (2 pi / distance)^n. */
double modes_spread(const struct modes *m, double n);
/* [count, order] from k = 1 on: what g^(n)(x) / n! is multiplied by in C_k(x) below, n < order. Caller clears. */
acb_ptr modes_kernel(const struct modes *m, slong order, slong prec);
/* sum over k > 0 of 2 Re V_k C_k(x), C_k(x) = exp(i k w x) (-g(x)/2 + sum over n < order of i^-(n+1) c_(n+1) g^(n)(x)),
 * c_(n+1) = (-1)^n sum over whole l of (k w + 2 pi l)^-(n+1), from the Taylor coefficients of g at a whole x. */
void modes_correction(arb_t out, const struct modes *m, acb_srcptr kernel, const arb_poly_t g, slong order, const fmpz_t x,
                      slong prec);

#endif
