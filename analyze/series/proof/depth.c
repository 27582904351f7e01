/* Across depth. Only the kernel below j matters for P(distance < j): no tail is cut off. */
#include "analyze/series/proof/field.h"

#include <math.h>
#include <stdlib.h>

enum {
    EXACT_SPAN = 8, /* distances that are left to be told apart by rational numbers */
    EXACT_LENGTH = 4096, /* from 0 on */
    LEVEL_BITS = 12 /* products of up to 2^this coefficients take as long for each */
};

/* About the work of a bit of all numbers in an exact convolution, and the most of one. */
static const double EXACT_WORK = 0.14, EXACT_MOST = 1.4e7;
/* Of a coefficient and bit of a product of two kernels. */
static const double PRODUCT_WORK = 0.06;
/* Of a cell beside its share. */
static const double CELL_WORK = 12;

double depth_work(int length, slong bits)
{
    return PRODUCT_WORK * length * (double)bits * (1 + fmax(log2(length) - LEVEL_BITS, 0) / 2);
}

/* Of u v, cut to `count`. */
static double product_work(const fmpz_poly_t u, const fmpz_poly_t v, int count, slong bits)
{
    return depth_work((int)FLINT_MIN(fmpz_poly_length(u) + fmpz_poly_length(v), count), bits);
}

/* [7.2] *error of u v, cut to `count`; u, v are within *eu, *ev of what sums to at most 1. */
static void multiply(fmpz_poly_t out, mag_t error, const fmpz_poly_t u, const mag_t eu,
                     const fmpz_poly_t v, const mag_t ev, int count, slong bits)
{
    LOCAL(mag, one, sum);
    mag_one(one);
    mag_add(one, one, ev); /* |u v - u' v'| <= |u - u'| |v| + |u'| |v - v'| */
    mag_mul(sum, one, eu);
    mag_add(sum, sum, ev);
    fmpz_poly_mullow(out, u, v, count);
    fmpz_poly_scalar_fdiv_2exp(out, out, (ulong)bits);
    mag_set_ui_2exp_si(one, (ulong)count, -bits);
    mag_add(error, sum, one);
}

/* [7.2] cumulative[m] = P(K < m), m = 0..count, K the sum of `layers` independent variables with
 * P(k) = share[k]. Only absolute errors matter: shares are whole multiples of 2^-bits, and the
 * error is that of the sum of all coefficients. */
static void convolve(arb_ptr cumulative, arb_srcptr share, int count, int layers, slong prec,
                     struct budget *budget)
{
    LOCAL(fmpz_poly, kernel, power, product);
    LOCAL(mag, error, start);
    LOCAL(arf, scaled);
    LOCAL(fmpz, whole, total);
    slong bits = prec + FLINT_BIT_COUNT(count) +
                 FLINT_BIT_COUNT(layers); /* each product adds count 2^-bits, each square doubles */
    int known = 1;
    for (int k = 0; k < count; k++)
        known &= arb_is_finite(share + k);
    for (int k = 0; k < count && known; k++) {
        arf_mul_2exp_si(scaled, arb_midref(share + k), bits);
        arf_get_fmpz(whole, scaled, ARF_RND_FLOOR);
        fmpz_poly_set_coeff_fmpz(kernel, k, whole);
        mag_add(start, start, arb_radref(share + k));
    }
    mag_set_ui_2exp_si(error, (ulong)count, -bits);
    mag_add(start, start, error);
    mag_set(error, start);
    fmpz_poly_set(power, kernel);
    for (int bit = (int)FLINT_BIT_COUNT(layers) - 2; bit >= 0 && known; bit--) {
        budget->done += product_work(power, power, count, bits);
        multiply(product, error, power, error, power, error, count, bits);
        fmpz_poly_swap(power, product);
        if (layers >> bit & 1) {
            budget->done += product_work(power, kernel, count, bits);
            multiply(product, error, power, error, kernel, start, count, bits);
            fmpz_poly_swap(power, product);
        }
    }
    arb_zero(cumulative);
    for (int m = 0; m < count; m++) {
        fmpz_poly_get_coeff_fmpz(whole, power, m);
        fmpz_add(total, total, whole);
        arb_set_fmpz(cumulative + m + 1, total);
        arb_mul_2exp_si(cumulative + m + 1, cumulative + m + 1, -bits);
        arb_add_error_mag(cumulative + m + 1, error);
        if (!known)
            arb_indeterminate(cumulative + m + 1);
    }
}

struct depth *depth_new(struct shares *m, int layers, const fmpz_t width, int cells, slong prec,
                        struct budget *budget)
{
    const fmpz *limit = shares_limit(m);
    struct depth *d = malloc(sizeof *d);
    if (!d)
        return NULL;
    LOCAL(fmpz, j);
    LOCAL(arb, before, next, one);
    arb_one(one);
    arb_ptr share = _arb_vec_init(cells);
    *d = (struct depth){.layers = layers, .cells = cells, .cumulative = _arb_vec_init(cells + 1)};
    fmpz_init_set(d->width, width);
    budget->done += CELL_WORK * cells;
    for (int k = 0; k < cells; k++) {
        if (fmpz_is_one(width)) {
            if (!limit || fmpz_cmp(j, limit) < 0)
                shares_term(share + k, m, j);
            fmpz_add_ui(j, j, 1);
        } else {
            fmpz_add(j, j, width);
            if (limit && fmpz_cmp(j, limit) > 0)
                fmpz_set(j, limit);
            shares_below(next, m, j);
            arb_sub(share + k, next, before, prec + 32);
            arb_swap(before, next);
        }
        arb_nonnegative_part(share + k, share + k);
        arb_min(share + k, share + k, one, 256);
    }
    convolve(d->cumulative, share, cells, layers, prec, budget);
    _arb_vec_clear(share, cells);
    return d;
}

void depth_free(struct depth *d)
{
    if (!d)
        return;
    fmpz_clear(d->width);
    _arb_vec_clear(d->cumulative, d->cells + 1);
    free(d);
}

/* The first m from which on cumulative[m] is surely above the target, or not surely below. */
static int first_above(const struct depth *d, const arb_t target, int surely)
{
    int lo = 0, hi = d->cells + 1;
    LOCAL(arb, difference);
    while (lo < hi) {
        int m = lo + (hi - lo) / 2;
        arb_sub(difference, d->cumulative + m, target, 512);
        if (surely ? arb_is_positive(difference) : !arb_is_nonpositive(difference))
            hi = m;
        else
            lo = m + 1;
    }
    return lo;
}

/* [7.3] */
void depth_narrow(struct field *out, const struct depth *d, const fmpq_t epsilon)
{
    LOCAL(fmpz, j);
    LOCAL(arb, target);
    LOCAL(fmpq, q);
    fmpq_set_si(q, 1, 1);
    fmpq_sub(q, q, epsilon);
    arb_set_fmpq(target, q, 512);
    int below = first_above(d, target, 0) - 1, above = first_above(d, target, 1);
    /* distances rounded down to their cells make a smaller sum, rounded up a larger one */
    fmpz_mul_si(j, d->width, below);
    if (fmpz_cmp(j, out->no) > 0)
        fmpz_set(out->no, j);
    if (above > d->cells)
        return;
    fmpz_sub_ui(j, d->width, 1);
    fmpz_mul_ui(j, j, (ulong)d->layers);
    fmpz_addmul_ui(j, d->width, (ulong)above - 1);
    fmpz_add_ui(j, j, 1);
    if (!out->bounded || fmpz_cmp(j, out->yes) < 0)
        fmpz_set(out->yes, j);
    out->bounded = 1;
}

/* [7.4] */
void depth_exactly(struct field *out, const struct shares *m, const fmpq_t epsilon, int layers,
                   struct budget *budget, double most_work)
{
    LOCAL(fmpz, span, all, sum, zero);
    LOCAL(fmpz_poly, kernel, power);
    LOCAL(fmpq, share, target);
    fmpz_sub(span, out->yes, out->no);
    if (!out->bounded || fmpz_cmp_ui(span, 1) <= 0 || fmpz_cmp_ui(span, EXACT_SPAN) > 0 ||
        fmpz_cmp_ui(out->yes, EXACT_LENGTH) > 0)
        return;
    int count = (int)fmpz_get_si(out->yes);
    fmpq *below = malloc((size_t)count * sizeof *below);
    for (int k = 0; below && k < count; k++)
        fmpq_init(&below[k]);
    int known = below && shares_exact(below, m, zero, count);
    double work = 0;
    fmpz_one(all);
    for (int k = 0; k < count && known; k++) {
        fmpz_lcm(all, all, fmpq_denref(&below[k]));
        work = EXACT_WORK * (double)fmpz_bits(all) * layers * count;
        known = work <= EXACT_MOST && work <= most_work;
    }
    budget->done += known ? work : 0;
    for (int k = 0; k + 1 < count && known; k++) { /* of one distance, times all */
        fmpq_sub(share, &below[k + 1], &below[k]);
        fmpq_mul_fmpz(share, share, all);
        fmpz_poly_set_coeff_fmpz(kernel, k, fmpq_numref(share));
    }
    for (int k = 0; below && k < count; k++)
        fmpq_clear(&below[k]);
    free(below);
    if (!known)
        return;
    fmpz_poly_pow_trunc(power, kernel, (ulong)layers, count - 1);
    fmpz_pow_ui(all, all, (ulong)layers);
    fmpq_one(target);
    fmpq_sub(target, target, epsilon);
    fmpq_mul_fmpz(target, target, all);
    for (int k = 0; k + 1 < count; k++) { /* the share below k + 1 */
        fmpz_poly_get_coeff_fmpz(span, power, k);
        fmpz_add(sum, sum, span);
        if (fmpz_cmp_ui(out->no, (ulong)k) != 0)
            continue;
        fmpz_set_ui(span, (ulong)k + 1);
        if (fmpq_cmp_fmpz(target, sum) < 0) {
            fmpz_set(out->yes, span);
            return;
        }
        fmpz_set(out->no, span);
    }
}

/* [7.1] */
void depth_epsilons(fmpq_t least, fmpq_t greatest, const fmpq_t epsilon, int layers)
{
    LOCAL(arb, x);
    LOCAL(arf, end);
    slong prec = 128 + 2 * (slong)fmpz_bits(fmpq_denref(epsilon));
    fmpq_set_si(least, 1, 1);
    fmpq_sub(least, least, epsilon);
    arb_set_fmpq(x, least, prec);
    arb_log(x, x, prec);
    arb_div_si(x, x, layers, prec);
    arb_expm1(x, x, prec);
    arb_neg(x, x);
    arb_get_ubound_arf(end, x, prec); /* a larger epsilon has a smaller field */
    arf_get_fmpq(least, end);
    fmpq_set_si(greatest, 1, (ulong)layers);
    fmpq_mul(greatest, greatest, epsilon);
}

/* [7.1] */
void depth_by_one_layer(struct field *out, const struct field *least, const struct field *greatest,
                        int layers)
{
    fmpz_set(out->no, least->no);
    out->bounded = greatest->bounded;
    fmpz_sub_ui(out->yes, greatest->yes, 1);
    fmpz_mul_ui(out->yes, out->yes, (ulong)layers);
    fmpz_add_ui(out->yes, out->yes, 1);
}

void depth_report_far(struct series_count *out, const struct series_count *least,
                      const struct series_count *greatest, int layers)
{
    *out = (struct series_count){
        .log10_lo = least->log10_lo,
        .log10_hi = nextafter(greatest->log10_hi + log10(layers) * (1 + 1e-15), INFINITY)};
}
