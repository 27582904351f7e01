/* Across depth: the distance reached after R layers is a sum of R independent distances, each distributed as the kernel. Only the
 * kernel below j matters for P(distance < j), so nothing is cut off, however heavy the tail. */
#include "analyze/formula_private.h"
#include "analyze/series/search/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXACT_LENGTH = 1 << 15, /* counts up to this are looked for one by one */
    CELLS = 1 << 12, /* beyond: so many cells of equal width */
    CELLS_SLOW = 1 << 9 /* where a partial sum takes a while */
};

/* A share lies between 0 and 1. */
static void clip(arb_t x)
{
    LOCAL(arb, one);
    arb_one(one);
    arb_nonnegative_part(x, x);
    arb_min(x, x, one, 256);
}

/* cumulative[m] = P(K < m), m = 0..count, K the sum of `layers` independent variables with P(k) = share[k]. */
static void convolve(arb_ptr cumulative, arb_srcptr share, int count, int layers, slong prec)
{
    LOCAL(arb_poly, kernel, power);
    for (int k = 0; k < count; k++)
        arb_poly_set_coeff_arb(kernel, k, share + k);
    arb_poly_pow_ui_trunc_binexp(power, kernel, (ulong)layers, count, prec);
    arb_zero(cumulative);
    for (int m = 0; m < count; m++) {
        arb_poly_get_coeff_arb(cumulative + m + 1, power, m);
        arb_add(cumulative + m + 1, cumulative + m + 1, cumulative + m, prec);
    }
}

/* The largest m with P(K < m) <= 1 - epsilon for certain, and the least with more; *above is -1 if there is none. */
static void locate(int *below, int *above, arb_srcptr cumulative, int count, const fmpq_t epsilon)
{
    LOCAL(arb, target, difference);
    LOCAL(fmpq, q);
    fmpq_set_si(q, 1, 1);
    fmpq_sub(q, q, epsilon);
    arb_set_fmpq(target, q, 512);
    *below = 0;
    *above = -1;
    for (int m = 0; m <= count; m++) {
        arb_sub(difference, cumulative + m, target, 512);
        if (arb_is_nonpositive(difference))
            *below = m;
        if (*above < 0 && arb_is_positive(difference))
            *above = m;
    }
}

/* Narrows lo..hi with cells of the given width; 1 is one distance a cell. 0 or -1 with *e. */
static int narrow(fmpz_t lo, fmpz_t hi, const struct series *s, const fmpq_t epsilon, int layers, const fmpz *limit,
                  const fmpz_t width, int cells, slong prec, int quick, struct formula_error *e)
{
    int below, above;
    arb_ptr share = _arb_vec_init(cells), cumulative = _arb_vec_init(cells + 1);
    struct shares *m = shares_new(s, limit, prec, quick, e);
    LOCAL(fmpz, j);
    LOCAL(arb, before, next);
    for (int k = 0; m && k < cells; k++) {
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
        clip(share + k);
    }
    if (m) {
        convolve(cumulative, share, cells, layers, prec + 32);
        locate(&below, &above, cumulative, cells, epsilon);
        /* rounding each distance down to its cell makes the sum smaller, rounding up to the cell's end makes it larger */
        fmpz_mul_si(j, width, below);
        fmpz_add_ui(j, j, 1);
        if (fmpz_cmp(j, lo) > 0)
            fmpz_set(lo, j);
        if (above >= 1) {
            fmpz_sub_ui(j, width, 1);
            fmpz_mul_ui(j, j, (ulong)layers);
            fmpz_addmul_ui(j, width, (ulong)above - 1);
            fmpz_add_ui(j, j, 1);
            if (fmpz_cmp(j, hi) < 0)
                fmpz_set(hi, j);
        }
    }
    _arb_vec_clear(share, cells);
    _arb_vec_clear(cumulative, cells + 1);
    shares_free(m);
    return m ? 0 : -1;
}

/* One-layer bounds: the largest of R distances is at most their sum, so TRF_R >= TRF(1 - (1 - eps)^(1/R)); and if each of them is
 * below TRF(eps / R), which fails with probability below eps, the sum is at most R (TRF(eps / R) - 1). */
static int one_layer_bounds(struct series_count *least, struct series_count *greatest, const struct series *s,
                            const fmpq_t epsilon, int layers, const fmpz *limit, struct formula_error *e)
{
    LOCAL(fmpq, q, rest);
    LOCAL(arb, x);
    LOCAL(arf, end);
    slong prec = 128 + 2 * (slong)fmpz_bits(fmpq_denref(epsilon));
    fmpq_set_si(rest, 1, 1);
    fmpq_sub(rest, rest, epsilon);
    arb_set_fmpq(x, rest, prec);
    arb_log(x, x, prec);
    arb_div_si(x, x, layers, prec);
    arb_expm1(x, x, prec);
    arb_neg(x, x);
    arb_get_ubound_arf(end, x, prec); /* a larger epsilon has a smaller TRF */
    arf_get_fmpq(q, end);
    *greatest = (struct series_count){.log10_lo = NAN, .log10_hi = NAN};
    int failed = search_trf(least, s, q, limit, NULL, NULL, e);
    if (!failed) {
        fmpq_set_si(q, 1, layers);
        fmpq_mul(q, q, epsilon);
        failed = search_trf(greatest, s, q, limit, NULL, NULL, e);
        if (failed)
            series_count_free(least);
    }
    return failed;
}

static int is_slow(const struct series *s)
{
    for (int i = 0; i < s->count; i++)
        for (int k = 0; k < s->summand[i]->pieces; k++)
            if (s->summand[i]->piece[k].kind == PIECE_SMOOTH)
                return 1;
    return 0;
}

static int depth_trf(struct series_count *out, const struct series *s, const fmpq_t epsilon, int layers, const fmpz *limit,
                     struct formula_error *e)
{
    struct series_count least, greatest;
    if (one_layer_bounds(&least, &greatest, s, epsilon, layers, limit, e))
        return -1;
    int failed = 0;
    LOCAL(fmpz, lo, hi, width);
    if (!least.lo || !greatest.hi) { /* beyond whole numbers, or no end is known */
        *out = (struct series_count){.log10_lo = least.log10_lo,
                                     .log10_hi = nextafter(greatest.log10_hi + log10(layers) * (1 + 1e-15), INFINITY)};
        out->lo = least.lo;
        least.lo = NULL;
        goto end;
    }
    fmpz_set_str(lo, least.lo, 10);
    fmpz_set_str(hi, greatest.hi, 10);
    fmpz_sub_ui(hi, hi, 1);
    fmpz_mul_ui(hi, hi, (ulong)layers);
    fmpz_add_ui(hi, hi, 1);
    int waves = series_has_waves(s), cells = is_slow(s) ? CELLS_SLOW : CELLS;
    slong extra = (slong)fmpz_bits(fmpq_denref(epsilon));
    if (fmpz_cmp_ui(hi, EXACT_LENGTH) > 0) {
        fmpz_cdiv_q_ui(width, hi, (ulong)cells);
        failed = narrow(lo, hi, s, epsilon, layers, limit, width, cells, 64 + extra, waves, e);
    }
    for (int attempt = 0; attempt < 3 && !failed && fmpz_cmp_ui(hi, EXACT_LENGTH) <= 0 && fmpz_cmp(lo, hi) < 0; attempt++) {
        fmpz_one(width);
        failed = narrow(lo, hi, s, epsilon, layers, limit, width, (int)fmpz_get_si(hi),
                        (attempt == 0   ? 64
                         : attempt == 1 ? 128
                                        : 256) +
                            extra,
                        waves && attempt == 0, e);
    }
    if (!failed)
        failed = search_report(out, lo, hi, e);
end:
    series_count_free(&least);
    series_count_free(&greatest);
    return failed;
}

int series_trf_depth(const struct series *s, const char *epsilon, int layers, uint64_t length, struct series_count *out,
                     struct formula_error *e)
{
    *out = (struct series_count){.log10_lo = NAN, .log10_hi = NAN};
    if (layers < 1 || layers > 100000)
        return formula_refuse(e, 0, "%d layers (expected 1 to 100000)", layers);
    LOCAL(fmpq, q);
    LOCAL(fmpz, limit);
    fmpz_set_ui(limit, length);
    int failed = search_epsilon(q, epsilon, e);
    if (!failed && (length || s->verdict == SERIES_CONVERGES))
        failed = layers == 1 ? search_trf(out, s, q, length ? limit : NULL, NULL, NULL, e)
                             : depth_trf(out, s, q, layers, length ? limit : NULL, e);
    return failed;
}
