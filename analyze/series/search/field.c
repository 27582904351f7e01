/* Search for the TRF, with more precision where two neighbours cannot be told apart. */
#include "analyze/series/search/search.h"
#include "analyze/formula_private.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLOSED_PREC_MAX = 7200, /* bits; sums in closed form */
    PREC_MAX = 400, /* others */
    WAVES_MAX = 20000, /* distances that waves are summed over in balls */
    NEAR_BITS = 33230 /* counts up to about 10^SERIES_DIGITS_MAX are whole numbers, beyond they are logarithms */
};

struct search {
    struct shares *m;
    const fmpq *epsilon;
    const fmpz *limit;
    fmpz_t no, yes; /* the TRF is > no and <= yes */
    int bounded; /* there is a yes */
    arb_t value; /* of the last comparison */
};

void middle_of(fmpz_t out, const fmpz_t lo, const fmpz_t hi, ulong near)
{
    fmpz_mul_ui(out, lo, 4);
    fmpz_add_ui(out, out, near);
    if (fmpz_cmp(hi, out) > 0) {
        fmpz_add_ui(out, lo, 1);
        fmpz_mul(out, out, hi);
        fmpz_sqrt(out, out);
    } else {
        fmpz_add(out, lo, hi);
        fmpz_fdiv_q_2exp(out, out, 1);
    }
}

int search_epsilon(fmpq_t out, const char *text, struct formula_error *e)
{
    double value;
    size_t length = decimal_length(text);
    if (length == 0 || text[length] || decimal_value(&value, text))
        return formula_refuse(e, 0, "epsilon '%.40s' is not a decimal number between 0 and 1", text);
    decimal_exact(out, text);
    if (fmpq_sgn(out) <= 0 || fmpz_cmp(fmpq_numref(out), fmpq_denref(out)) >= 0)
        return formula_refuse(e, 0, "epsilon is %.40s (expected a number between 0 and 1, both excluded)", text);
    return 0;
}

/* 1: the TRF is <= j, -1: it is > j, 0: not known. Remembers what it learns. */
static int test(struct search *s, const fmpz_t j)
{
    int sign = shares_compare(s->value, s->m, j, s->epsilon);
    if (sign == 1 && (!s->bounded || fmpz_cmp(j, s->yes) < 0)) {
        fmpz_set(s->yes, j);
        s->bounded = 1;
    }
    if ((sign == -1 || sign == 0) && fmpz_cmp(j, s->no) > 0)
        fmpz_set(s->no, j);
    return sign == 2 ? 0 : sign == 1 ? 1 : -1;
}

/* A guess from the comparison at j: where the share beyond j falls as a power of j, as it does there. 0 if there is none. */
static int guess(fmpz_t out, struct search *s, const fmpz_t j)
{
    int ok;
    slong prec = 64 + (slong)fmpz_bits(j);
    LOCAL(arb, beyond, target, term, x);
    arb_set_fmpq(target, s->epsilon, prec);
    arb_get_mid_arb(beyond, s->value);
    arb_sub(beyond, target, beyond, prec);
    shares_term(term, s->m, j);
    arb_mul_fmpz(term, term, j, prec);
    ok = arb_is_positive(beyond) && arb_is_positive(term);
    if (ok) { /* j (beyond / target)^(beyond / (j f)) */
        arb_div(x, beyond, target, prec);
        arb_log(x, x, prec);
        arb_mul(x, x, beyond, prec);
        arb_div(x, x, term, prec);
        arb_exp(x, x, prec);
        arb_mul_fmpz(x, x, j, prec);
        ok = arb_is_finite(x) && arf_cmpabs_2exp_si(arb_midref(x), NEAR_BITS) < 0;
        if (ok)
            arf_get_fmpz(out, arb_midref(x), ARF_RND_FLOOR);
    }
    return ok;
}

/* Narrows (no, yes] around the undecided distance j, below it or above: away from it in growing steps, the first as wide as the
 * ball of the comparison is in distances, then back by halves. */
static void close_in(struct search *s, const fmpz_t unknown, const fmpz_t width, int down)
{
    LOCAL(fmpz, edge, step, j, span);
    fmpz_set(edge, unknown);
    fmpz_set(step, width);
    int decided = 0;
    for (int tries = 0; tries < 500 && (down || s->bounded); tries++) {
        fmpz_sub(span, edge, down ? s->no : s->yes);
        fmpz_abs(span, span);
        fmpz_mul_2exp(j, span, 6);
        if (fmpz_cmp_ui(span, 1) <= 0 || (decided && fmpz_cmp(j, width) <= 0)) /* the rest is not worth it */
            break;
        fmpz_mul_2exp(j, step, 1);
        if (decided || fmpz_cmp(j, span) > 0)
            fmpz_fdiv_q_2exp(step, span, 1);
        if (down)
            fmpz_sub(j, edge, step);
        else
            fmpz_add(j, edge, step);
        if (test(s, j) == 0) {
            fmpz_set(edge, j);
            fmpz_mul_2exp(step, step, 1);
        } else {
            decided = 1;
        }
    }
}

/* How many distances at j make up the radius of the last comparison, at least 1. */
static void ball_width(fmpz_t out, struct search *s, const fmpz_t j)
{
    LOCAL(arb, radius, term);
    fmpz_one(out);
    shares_term(term, s->m, j);
    arb_get_rad_arb(radius, s->value);
    arb_div(radius, radius, term, 64);
    if (arb_is_finite(radius) && arf_cmpabs_2exp_si(arb_midref(radius), NEAR_BITS) < 0 && arf_cmp_si(arb_midref(radius), 1) > 0)
        arf_get_fmpz(out, arb_midref(radius), ARF_RND_FLOOR);
}

/* Brings no and yes together as far as this precision allows. */
static void narrow(struct search *s)
{
    int guessed = 0, steps = 0;
    LOCAL(fmpz, j, next);
    if (!s->bounded) /* ever farther */
        for (slong bits = 1; bits <= NEAR_BITS && !s->bounded;
             bits = bits < NEAR_BITS && 2 * bits > NEAR_BITS ? NEAR_BITS : 2 * bits) {
            fmpz_one_2exp(j, (ulong)bits);
            if (fmpz_cmp(j, s->no) <= 0)
                continue;
            int known = test(s, j);
            if (known == 0) {
                ball_width(next, s, j);
                close_in(s, j, next, 1);
                for (bits++; bits <= NEAR_BITS && !s->bounded; bits += 1 + bits / 4) {
                    fmpz_one_2exp(next, (ulong)bits);
                    test(s, next);
                }
                ball_width(next, s, j);
                close_in(s, j, next, 0);
                goto end;
            }
            if (bits == NEAR_BITS)
                break;
        }
    while (s->bounded) {
        fmpz_sub(next, s->yes, s->no);
        if (fmpz_cmp_ui(next, 1) <= 0)
            break;
        if (!guessed || steps % 4 == 3)
            middle_of(j, s->no, s->yes, 4);
        if (fmpz_cmp(j, s->no) <= 0)
            fmpz_add_ui(j, s->no, 1);
        if (fmpz_cmp(j, s->yes) >= 0)
            fmpz_sub_ui(j, s->yes, 1);
        if (test(s, j) == 0) {
            ball_width(next, s, j);
            close_in(s, j, next, 1);
            close_in(s, j, next, 0);
            break;
        }
        guessed = guess(next, s, j);
        if (guessed)
            fmpz_set(j, next);
        steps++;
    }
end:
}

/* ---- beyond numbers with SERIES_DIGITS_MAX digits ---- */

/* Whether epsilon is above the share beyond j, an exact whole number: 1, -1, 0 not known. */
static int test_far(struct search *s, const arb_t j)
{
    LOCAL(arb, share, target);
    shares_above(share, s->m, j);
    arb_set_fmpq(target, s->epsilon, 256);
    arb_sub(share, target, share, 256);
    int sign = arb_is_positive(share) ? 1 : arb_is_negative(share) ? -1 : 0;
    return sign;
}

/* mantissa * 2^exponent. */
static void set_scaled(arb_t out, ulong mantissa, const fmpz_t exponent)
{
    arb_set_ui(out, mantissa);
    arb_mul_2exp_fmpz(out, out, exponent);
}

/* The largest j tried with sign -1 (want -1), or the least with sign 1 (want 1), whose logarithm is right to some 15 digits.
 * First j = 2^y, y doubled and then halved in, then the 60 bits after the first. 0 if there is none up to y = 2^1000. */
static int far_boundary(arb_t out, struct search *s, int want)
{
    int found = 0;
    LOCAL(fmpz, y, inside, outside, difference);
    fmpz_set_ui(y, NEAR_BITS);
    fmpz_set(inside, y);
    LOCAL(arb, j);
    for (int k = 0; k < 985 && !found; k++) {
        fmpz_mul_2exp(y, y, 1);
        set_scaled(j, 1, y);
        found = want == -1 ? test_far(s, j) != -1 : test_far(s, j) == 1;
        fmpz_set(found ? outside : inside, y);
    }
    for (fmpz_sub(difference, outside, inside); found; fmpz_sub(difference, outside, inside)) {
        fmpz_mul_2exp(y, difference, 55);
        if (fmpz_is_one(difference) || fmpz_cmp(y, inside) <= 0)
            break;
        fmpz_add(y, inside, outside);
        fmpz_fdiv_q_2exp(y, y, 1);
        set_scaled(j, 1, y);
        int stop = want == -1 ? test_far(s, j) != -1 : test_far(s, j) == 1;
        fmpz_set(stop ? outside : inside, y);
    }
    if (found && fmpz_is_one(difference)) {
        ulong low = (ulong)1 << 60, high = (ulong)1 << 61;
        fmpz_sub_ui(y, inside, 60);
        while (high - low > 1) {
            ulong half = low + (high - low) / 2;
            set_scaled(j, half, y);
            int stop = want == -1 ? test_far(s, j) != -1 : test_far(s, j) == 1;
            if (stop)
                high = half;
            else
                low = half;
        }
        set_scaled(out, want == -1 ? low : high, y);
    } else {
        set_scaled(out, 1, want == -1 || !found ? inside : outside);
    }
    return found;
}

/* ---- results ---- */

/* log10 of a positive number, rounded down or up. */
static double log10_of(const arb_t n, arf_rnd_t rounding)
{
    if (arb_is_one(n))
        return 0;
    LOCAL(arb, x, ten);
    LOCAL(arf, end);
    arb_log(x, n, 128);
    arb_const_log10(ten, 128);
    arb_div(x, x, ten, 128);
    if (rounding == ARF_RND_FLOOR)
        arb_get_lbound_arf(end, x, 64);
    else
        arb_get_ubound_arf(end, x, 64);
    double value = arf_cmpabs_2exp_si(end, 1023) < 0 ? arf_get_d(end, rounding) : rounding == ARF_RND_FLOOR ? DBL_MAX : INFINITY;
    return value;
}

static int set_digits(char **out, double *log10, const fmpz_t n, arf_rnd_t rounding, struct formula_error *e)
{
    LOCAL(arb, x);
    arb_set_fmpz(x, n);
    *log10 = log10_of(x, rounding);
    *out = NULL;
    if (fmpz_sizeinbase(n, 10) > SERIES_DIGITS_MAX)
        return 0;
    char *digits = fmpz_get_str(NULL, 10, n);
    *out = strdup(digits);
    flint_free(digits);
    return *out ? 0 : formula_refuse(e, 0, "out of memory");
}

int search_report(struct series_count *out, const fmpz_t lo, const fmpz *hi, struct formula_error *e)
{
    *out = (struct series_count){.log10_hi = INFINITY};
    if (set_digits(&out->lo, &out->log10_lo, lo, ARF_RND_FLOOR, e) ||
        (hi && set_digits(&out->hi, &out->log10_hi, hi, ARF_RND_CEIL, e))) {
        series_count_free(out);
        return -1;
    }
    return 0;
}

void search_doubles(double *lo, double *hi, const arb_t x, const fmpz *shift)
{
    *lo = 0;
    *hi = INFINITY;
    if (!arb_is_finite(x))
        return;
    LOCAL(arb, scaled);
    LOCAL(arf, end);
    arb_set_fmpz(scaled, shift);
    arb_exp(scaled, scaled, 128);
    arb_mul(scaled, scaled, x, 128);
    if (arb_is_finite(scaled)) {
        arb_get_lbound_arf(end, scaled, 64);
        if (arf_sgn(end) > 0)
            *lo = arf_cmpabs_2exp_si(end, 1023) >= 0    ? DBL_MAX
                  : arf_cmpabs_2exp_si(end, -1020) <= 0 ? 0
                                                        : arf_get_d(end, ARF_RND_FLOOR);
        arb_get_ubound_arf(end, scaled, 64);
        if (arf_cmpabs_2exp_si(end, 1023) < 0)
            *hi = arf_cmpabs_2exp_si(end, -1020) <= 0 ? 0x1p-1020 : arf_get_d(end, ARF_RND_CEIL);
    } else if (fmpz_sgn(shift) > 0) { /* exp overflows */
        *lo = arb_is_positive(x) ? DBL_MAX : 0;
    }
}

/* Bits that tell the counts near `yes` apart. */
static slong needed_precision(struct search *s)
{
    slong bits = 0;
    LOCAL(arb, term);
    shares_term(term, s->m, s->yes);
    if (arb_is_positive(term) && fmpz_fits_si(ARF_EXPREF(arb_midref(term))))
        bits = -fmpz_get_si(ARF_EXPREF(arb_midref(term)));
    return bits < 0 ? 16 : bits + 16;
}

/* 1 if every sum that needs it is known in closed form, so that precision is cheap. */
static int is_closed(const struct series *s)
{
    int closed = 1, vanishes;
    LOCAL(arb, x, t);
    for (int i = 0; i < s->count; i++)
        for (int k = 0; k < s->summand[i]->pieces && closed; k++) {
            const struct piece *piece = &s->summand[i]->piece[k];
            if (piece->kind == PIECE_ROUGH)
                closed = 0;
            if (piece->kind != PIECE_SMOOTH)
                continue;
            arb_set_fmpz(t, piece->first);
            arb_add_ui(t, t, 64, 64);
            closed = antiderivative(x, &vanishes, s->summand[i]->pool, piece->root, t, 64);
        }
    return closed;
}

/* What the sums say of the mass of the first distances; 1 for a mean, whose kernels have sum 1. */
static void report_sum(double *lo, double *hi, const struct shares *m, const struct series *s)
{
    LOCAL(arb, total);
    shares_total(total, m);
    search_doubles(lo, hi, total, s->summand[0]->shift);
    if (s->mean)
        *lo = *hi = 1;
}

/* The TRF is not known to be below 2^NEAR_BITS. */
static int report_far(struct series_count *out, struct search *s, struct formula_error *e)
{
    LOCAL(arb, j);
    fmpz_add_ui(s->no, s->no, 1);
    int failed = search_report(out, s->no, NULL, e);
    if (!failed && fmpz_bits(s->no) > NEAR_BITS) {
        far_boundary(j, s, -1);
        out->log10_lo = log10_of(j, ARF_RND_FLOOR);
    }
    if (!failed && far_boundary(j, s, 1))
        out->log10_hi = log10_of(j, ARF_RND_CEIL);
    return failed;
}

int search_trf(struct series_count *out, const struct series *s, const fmpq_t epsilon, const fmpz *limit, double *sum_lo,
               double *sum_hi, struct formula_error *e)
{
    struct search search = {.epsilon = epsilon, .limit = limit};
    int failed = -1, waves = series_has_waves(s);
    slong most = is_closed(s) ? CLOSED_PREC_MAX : PREC_MAX, need = 0;
    *out = (struct series_count){.log10_lo = NAN, .log10_hi = NAN};
    LOCAL(fmpz, span);
    fmpz_init(search.no);
    fmpz_init(search.yes);
    arb_init(search.value);
    if (limit) {
        fmpz_set(search.yes, limit);
        search.bounded = 1;
    }
    slong small = (slong)fmpz_bits(fmpq_denref(epsilon)) - (slong)fmpz_bits(fmpq_numref(epsilon)),
          first = SERIES_PREC + (small > 32 ? small : 0);
    for (int attempt = waves && limit ? 0 : 1; attempt < 5; attempt++) {
        slong prec = attempt == 0 ? 64 : attempt == 1 ? first : attempt == 2 ? need + 48 : attempt == 3 ? need + 160 : need + 320;
        if (attempt >= 2 && prec <= first)
            continue;
        if ((attempt == 4 && need > 400) || (attempt > 2 && prec > most))
            break;
        int kept = attempt == 1 && !limit && s->kept && first == SERIES_PREC;
        search.m = kept ? s->kept : shares_new(s, limit, prec > most ? most : prec, attempt == 0, e);
        if (!search.m)
            goto end;
        if (shares_unknown(search.m)) {
            if (sum_lo) {
                *sum_lo = 0;
                *sum_hi = INFINITY;
            }
            if (!kept)
                shares_free(search.m);
            failed = 0;
            goto end;
        }
        narrow(&search);
        if (sum_lo)
            report_sum(sum_lo, sum_hi, search.m, s);
        fmpz_sub(span, search.yes, search.no);
        int settled = search.bounded && fmpz_is_one(span), hopeless = shares_exhausted(search.m);
        if (!settled && search.bounded)
            need = needed_precision(&search);
        if (attempt >= 1 && !search.bounded && !limit) {
            failed = report_far(out, &search, e);
            if (!kept)
                shares_free(search.m);
            goto end;
        }
        if (!kept)
            shares_free(search.m);
        /* in balls a long run of waves would take too long */
        if (settled || (attempt >= 1 && hopeless) || (attempt == 0 && fmpz_cmp_ui(search.yes, WAVES_MAX) > 0))
            break;
    }
    fmpz_add_ui(search.no, search.no, 1);
    failed = search_report(out, search.no, search.bounded ? search.yes : NULL, e);
end:
    fmpz_clear(search.no);
    fmpz_clear(search.yes);
    arb_clear(search.value);
    return failed;
}
