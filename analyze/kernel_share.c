#include "analyze/kernel_share.h"

#if __has_include(<flint/arb_poly.h>)
#include <flint/arb_poly.h>
#else
#include <arb_poly.h>
#endif

/* Smaller coefficients, relative to the sum, are dropped: they change no printed digit, and
 * products of numbers of very different size are slow. */
static const double least_share = 0x1p-80;

enum { BITS = 64 };

static void set_kernel(arb_poly_t out, const double *kernel, size_t distances)
{
    double sum = 0;

    for (size_t t = 0; t < distances; t++)
        sum += kernel[t];
    arb_poly_fit_length(out, (slong)distances);
    for (size_t t = 0; t < distances; t++)
        arb_set_d(out->coeffs + t, kernel[t] / sum > least_share ? kernel[t] / sum : 0);
    _arb_poly_set_length(out, (slong)distances);
    _arb_poly_normalise(out);
}

static double sum_of_first(const arb_poly_t p, size_t count)
{
    double sum = 0;

    for (slong i = 0; i < arb_poly_length(p) && (size_t)i < count; i++)
        sum += arf_get_d(arb_midref(p->coeffs + i), ARF_RND_NEAR);
    return sum;
}

double kernel_share(const double *const *kernel, const int *layers, int kernels, size_t distances,
                    size_t within)
{
    arb_poly_t all, one;
    double share;

    arb_poly_init(all);
    arb_poly_init(one);
    arb_poly_one(all);
    for (int k = 0; k < kernels; k++) {
        set_kernel(one, kernel[k], distances);
        arb_poly_pow_ui_trunc_binexp(one, one, (ulong)layers[k], (slong)distances, BITS);
        arb_poly_mullow(all, all, one, (slong)distances, BITS);
    }
    share = sum_of_first(all, within) / sum_of_first(all, distances);
    arb_poly_clear(one);
    arb_poly_clear(all);
    return share;
}
