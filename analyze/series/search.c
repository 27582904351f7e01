/* Search for the TRF, with more precision where two neighbours cannot be told apart. */
#include "analyze/series/search.h"
#include "analyze/formula_private.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_PREC = 96,
    CLOSED_PREC_MAX = 14000, /* bits; sums in closed form */
    PREC_MAX = 1600,         /* others */
    NEAR_BITS = 33230        /* counts up to about 10^SERIES_DIGITS_MAX are whole numbers, beyond they are logarithms */
};

struct search {
    struct masses *m;
    const fmpq *epsilon;
    const fmpz *limit;
    fmpz_t no, yes;    /* the TRF is > no and <= yes */
    int bounded;       /* there is a yes */
    arb_t value;       /* of the last comparison */
};

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
    int sign = masses_compare(s->value, s->m, j, s->epsilon);
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
    arb_t beyond, target, term, x;
    int ok;
    slong prec = 64 + (slong)fmpz_bits(j);
    arb_init(beyond);
    arb_init(target);
    arb_init(term);
    arb_init(x);
    arb_set_fmpq(target, s->epsilon, prec);
    arb_get_mid_arb(beyond, s->value);
    arb_sub(beyond, target, beyond, prec);
    masses_term(term, s->m, j);
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
    arb_clear(beyond);
    arb_clear(target);
    arb_clear(term);
    arb_clear(x);
    return ok;
}

/* A whole number between no and yes, geometrically in the middle where they are far apart. */
static void middle(fmpz_t out, const fmpz_t no, const fmpz_t yes)
{
    fmpz_mul_ui(out, no, 4);
    fmpz_add_ui(out, out, 4);
    if (fmpz_cmp(yes, out) > 0) {
        fmpz_add_ui(out, no, 1);
        fmpz_mul(out, out, yes);
        fmpz_sqrt(out, out);
    } else {
        fmpz_add(out, no, yes);
        fmpz_fdiv_q_2exp(out, out, 1);
    }
}

/* Narrows (no, yes] around the undecided distances from..to: away from them in growing steps, then by halves. */
static void close_in(struct search *s, const fmpz_t unknown, int down)
{
    fmpz_t edge, step, j, span;
    fmpz_init_set(edge, unknown);
    fmpz_init_set_ui(step, 1);
    fmpz_init(j);
    fmpz_init(span);
    for (int tries = 0; tries < 2 * NEAR_BITS; tries++) {
        const fmpz *bound = down ? s->no : s->yes;
        fmpz_sub(span, edge, bound);
        fmpz_abs(span, span);
        if ((!down && !s->bounded) || fmpz_cmp_ui(span, 1) <= 0)
            break;
        fmpz_mul_2exp(j, step, 1);
        if (fmpz_cmp(j, span) > 0) /* halves from here on */
            fmpz_fdiv_q_2exp(step, span, 1);
        if (down)
            fmpz_sub(j, edge, step);
        else
            fmpz_add(j, edge, step);
        if (test(s, j) == 0) {
            fmpz_set(edge, j);
            fmpz_mul_2exp(step, step, 1);
        }
    }
    fmpz_clear(edge);
    fmpz_clear(step);
    fmpz_clear(j);
    fmpz_clear(span);
}

/* Brings no and yes together as far as this precision allows. */
static void narrow(struct search *s)
{
    fmpz_t j, next;
    int guessed = 0, steps = 0;
    fmpz_init(j);
    fmpz_init(next);
    if (!s->bounded) /* ever farther */
        for (slong bits = 1; bits <= NEAR_BITS && !s->bounded; bits = bits < NEAR_BITS && 2 * bits > NEAR_BITS ? NEAR_BITS : 2 * bits) {
            fmpz_one_2exp(j, (ulong)bits);
            if (fmpz_cmp(j, s->no) <= 0)
                continue;
            int known = test(s, j);
            if (known == 0) {
                close_in(s, j, 1);
                for (bits++; bits <= NEAR_BITS && !s->bounded; bits += 1 + bits / 4) {
                    fmpz_one_2exp(next, (ulong)bits);
                    test(s, next);
                }
                close_in(s, j, 0);
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
            middle(j, s->no, s->yes);
        if (fmpz_cmp(j, s->no) <= 0)
            fmpz_add_ui(j, s->no, 1);
        if (fmpz_cmp(j, s->yes) >= 0)
            fmpz_sub_ui(j, s->yes, 1);
        if (test(s, j) == 0) {
            close_in(s, j, 1);
            close_in(s, j, 0);
            break;
        }
        guessed = guess(next, s, j);
        if (guessed)
            fmpz_set(j, next);
        steps++;
    }
end:
    fmpz_clear(j);
    fmpz_clear(next);
}

/* ---- beyond whole numbers ---- */

/* Whether epsilon is above the share beyond 2^y: 1, -1, 0 not known. */
static int test_far(struct search *s, const fmpz_t y)
{
    arb_t j, share, target;
    arb_init(j);
    arb_init(share);
    arb_init(target);
    arb_one(j);
    arb_mul_2exp_fmpz(j, j, y);
    masses_above(share, s->m, j);
    arb_set_fmpq(target, s->epsilon, 256);
    arb_sub(share, target, share, 256);
    int sign = arb_is_positive(share) ? 1 : arb_is_negative(share) ? -1 : 0;
    arb_clear(j);
    arb_clear(share);
    arb_clear(target);
    return sign;
}

/* The largest y tried with sign -1 (want -1), or the least with sign 1 (want 1), to 1 part in 10^15. 0 if there is none up to 2^1000. */
static int far_boundary(fmpz_t out, struct search *s, int want)
{
    fmpz_t y, inside, outside, difference;
    int found = 0;
    fmpz_init_set_ui(y, NEAR_BITS);
    fmpz_init_set(inside, y);
    fmpz_init(outside);
    fmpz_init(difference);
    for (int k = 0; k < 985 && !found; k++) {
        fmpz_mul_2exp(y, y, 1);
        int sign = test_far(s, y), stop = want == -1 ? sign != -1 : sign == 1;
        if (stop) {
            fmpz_set(outside, y);
            found = 1;
        } else {
            fmpz_set(inside, y);
        }
    }
    while (found) {
        fmpz_sub(difference, outside, inside);
        fmpz_mul_2exp(y, difference, 50);
        if (fmpz_cmp_ui(difference, 1) <= 0 || fmpz_cmp(y, inside) <= 0)
            break;
        fmpz_add(y, inside, outside);
        fmpz_fdiv_q_2exp(y, y, 1);
        int sign = test_far(s, y), stop = want == -1 ? sign != -1 : sign == 1;
        fmpz_set(stop ? outside : inside, y);
    }
    fmpz_set(out, want == -1 || !found ? inside : outside);
    fmpz_clear(y);
    fmpz_clear(inside);
    fmpz_clear(outside);
    fmpz_clear(difference);
    return found;
}

/* log10 of 2^y as a double, rounded down or up. */
static double log10_power(const fmpz_t y, arf_rnd_t rounding)
{
    arb_t x, ten;
    arf_t end;
    arb_init(x);
    arb_init(ten);
    arf_init(end);
    arb_const_log2(x, 128);
    arb_const_log10(ten, 128);
    arb_div(x, x, ten, 128);
    arb_mul_fmpz(x, x, y, 128);
    if (rounding == ARF_RND_FLOOR)
        arb_get_lbound_arf(end, x, 64);
    else
        arb_get_ubound_arf(end, x, 64);
    double value = arf_get_d(end, rounding);
    arb_clear(x);
    arb_clear(ten);
    arf_clear(end);
    return value;
}

/* ---- results ---- */

static double log10_count(const fmpz_t n, arf_rnd_t rounding)
{
    arb_t x, ten;
    arf_t end;
    if (fmpz_is_one(n))
        return 0;
    arb_init(x);
    arb_init(ten);
    arf_init(end);
    arb_set_fmpz(x, n);
    arb_log(x, x, 128);
    arb_const_log10(ten, 128);
    arb_div(x, x, ten, 128);
    if (rounding == ARF_RND_FLOOR)
        arb_get_lbound_arf(end, x, 64);
    else
        arb_get_ubound_arf(end, x, 64);
    double value = arf_get_d(end, rounding);
    arb_clear(x);
    arb_clear(ten);
    arf_clear(end);
    return value;
}

static int set_digits(char **out, double *log10, const fmpz_t n, arf_rnd_t rounding, struct formula_error *e)
{
    *log10 = log10_count(n, rounding);
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
    if (set_digits(&out->lo, &out->log10_lo, lo, ARF_RND_FLOOR, e) || (hi && set_digits(&out->hi, &out->log10_hi, hi, ARF_RND_CEIL, e))) {
        series_count_free(out);
        return -1;
    }
    return 0;
}

void search_doubles(double *lo, double *hi, const arb_t x, const fmpz *shift)
{
    arb_t scaled;
    arf_t end;
    *lo = 0;
    *hi = INFINITY;
    if (!arb_is_finite(x))
        return;
    arb_init(scaled);
    arf_init(end);
    arb_set_fmpz(scaled, shift);
    arb_exp(scaled, scaled, 128);
    arb_mul(scaled, scaled, x, 128);
    if (arb_is_finite(scaled)) {
        arb_get_lbound_arf(end, scaled, 64);
        if (arf_sgn(end) > 0)
            *lo = arf_cmpabs_2exp_si(end, 1023) >= 0 ? DBL_MAX : arf_cmpabs_2exp_si(end, -1020) <= 0 ? 0 : arf_get_d(end, ARF_RND_FLOOR);
        arb_get_ubound_arf(end, scaled, 64);
        if (arf_cmpabs_2exp_si(end, 1023) < 0)
            *hi = arf_cmpabs_2exp_si(end, -1020) <= 0 ? 0x1p-1020 : arf_get_d(end, ARF_RND_CEIL);
    } else if (fmpz_sgn(shift) > 0) { /* exp overflows */
        *lo = arb_is_positive(x) ? DBL_MAX : 0;
    }
    arb_clear(scaled);
    arf_clear(end);
}

/* Bits that tell the counts near `yes` apart. */
static slong needed_precision(struct search *s)
{
    slong bits = 0;
    arb_t term, total;
    arb_init(term);
    arb_init(total);
    masses_term(term, s->m, s->yes);
    if (arb_is_positive(term) && fmpz_fits_si(ARF_EXPREF(arb_midref(term))))
        bits = -fmpz_get_si(ARF_EXPREF(arb_midref(term)));
    masses_total(total, s->m);
    if (arb_is_positive(total) && fmpz_fits_si(ARF_EXPREF(arb_midref(total)))) {
        slong size = fmpz_get_si(ARF_EXPREF(arb_midref(total)));
        bits += size < 0 ? -size : size;
    }
    arb_clear(term);
    arb_clear(total);
    return bits < 0 ? 16 : bits + 16;
}

/* 1 if every sum that needs it is known in closed form, so that precision is cheap. */
static int is_closed(const struct series *s)
{
    arb_t x, t;
    int closed = 1, vanishes;
    arb_init(x);
    arb_init(t);
    for (int i = 0; i < s->count; i++)
        for (int k = 0; k < s->head[i]->pieces && closed; k++) {
            const struct piece *piece = &s->head[i]->piece[k];
            if (piece->kind == PIECE_ROUGH)
                closed = 0;
            if (piece->kind != PIECE_SMOOTH)
                continue;
            arb_set_fmpz(t, piece->first);
            arb_add_ui(t, t, 64, 64);
            closed = head_primitive(x, &vanishes, s->head[i], piece->root, t, 64);
        }
    arb_clear(x);
    arb_clear(t);
    return closed;
}

int search_trf(struct series_count *out, const struct series *s, const fmpq_t epsilon, const fmpz *limit, double *sum_lo, double *sum_hi,
               struct formula_error *e)
{
    struct search search = {.epsilon = epsilon, .limit = limit};
    int failed = -1, waves = series_has_waves(s), settled = 0;
    slong most = is_closed(s) ? CLOSED_PREC_MAX : PREC_MAX, need = 0;
    *out = (struct series_count){.log10_lo = NAN, .log10_hi = NAN};
    fmpz_init(search.no);
    fmpz_init(search.yes);
    arb_init(search.value);
    if (limit) {
        fmpz_set(search.yes, limit);
        search.bounded = 1;
    }
    for (int attempt = waves ? 0 : 1; attempt < 5 && !settled; attempt++) {
        slong prec = attempt == 0 ? 64 : attempt == 1 ? FIRST_PREC : attempt == 2 ? need + 48 : attempt == 3 ? need + 160 : need + 320;
        if (attempt == 4 && need > 400)
            break;
        if (attempt >= 2) {
            if (prec <= FIRST_PREC)
                continue;
            if (prec > most && attempt > 2)
                break;
            prec = prec > most ? most : prec;
        }
        struct masses *m = masses_new(s, limit, prec, attempt == 0, e);
        if (!m)
            goto end;
        search.m = m;
        narrow(&search);
        fmpz_sub(search.no, search.yes, search.no);
        settled = search.bounded && fmpz_is_one(search.no);
        fmpz_sub(search.no, search.yes, search.no);
        if (sum_lo && !s->mean) {
            double lo, hi;
            arb_t total;
            arb_init(total);
            masses_total(total, m);
            search_doubles(&lo, &hi, total, s->head[0]->shift);
            if (attempt <= 1 || lo > *sum_lo)
                *sum_lo = lo;
            if (attempt <= 1 || hi < *sum_hi)
                *sum_hi = hi;
            arb_clear(total);
        } else if (sum_lo) {
            *sum_lo = *sum_hi = 1;
        }
        if (!settled && search.bounded)
            need = needed_precision(&search);
        int far = !search.bounded && !limit, hopeless = attempt >= 1 && masses_exhausted(m);
        if (far && (attempt >= 1)) {
            fmpz_t lo, hi;
            fmpz_init(lo);
            fmpz_init(hi);
            fmpz_add_ui(search.no, search.no, 1);
            failed = search_report(out, search.no, NULL, e);
            if (!failed && fmpz_bits(search.no) >= NEAR_BITS) {
                far_boundary(lo, &search, -1);
                out->log10_lo = log10_power(lo, ARF_RND_FLOOR);
                free(out->lo);
                out->lo = NULL;
            }
            if (!failed && far_boundary(hi, &search, 1))
                out->log10_hi = log10_power(hi, ARF_RND_CEIL);
            fmpz_clear(lo);
            fmpz_clear(hi);
            masses_free(m);
            goto end;
        }
        masses_free(m);
        if (hopeless)
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
