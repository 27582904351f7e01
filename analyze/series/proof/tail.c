/* Verdicts and bounds of tails. The rules and their proofs are in doc/series.md. */
#include "analyze/formula_private.h"
#include "analyze/series/proof/evaluate.h"
#include "analyze/series/proof/summand.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SCAN_MAX = 20000, /* distances that are looked at one by one */
    FAR_BITS = 40000, /* tails beyond 2^this follow from the one at 2^this */
    SEARCH_BITS = 1 << 24 /* proofs are tried from X = 2^0 to 2^this on; ln ln ln X may have to reach e */
};

void prove(struct series_summand *f, const char *format, ...)
{
    char line[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    size_t old = f->proof ? strlen(f->proof) : 0, size = old + strlen(line) + 2;
    char *grown = realloc(f->proof, size);
    if (!grown) /* the proof is for people; the verdict holds without it */
        return;
    snprintf(grown + old, size - old, "%s%s", old ? "\n" : "", line);
    f->proof = grown;
}

/* ---- elasticity ---- */

/* Of exp(b) on [from, inf): -greatest <= t b'(t) <= -least, and the value at `from`, of every member of the family. */
struct elastic {
    int defined, masked, smooth;
    mpfi_t rate, start;
};

static int elastic_at(struct elastic *e, const struct series_summand *f, int root, const fmpz_t from, slong prec)
{
    struct ranges r;
    mpfi_init2(e->rate, prec);
    mpfi_init2(e->start, prec);
    e->defined = 0;
    if (ranges_compute(&r, f->pool, root, from, NULL, prec))
        return -1;
    const struct range *x = &r.node[root];
    e->defined = x->defined;
    e->masked = x->masked;
    e->smooth = x->smooth;
    if (x->defined) {
        mpfi_set(e->rate, x->rate);
        mpfi_set(e->start, x->start);
    }
    ranges_free(&r);
    return 0;
}

static void elastic_clear(struct elastic *e)
{
    mpfi_clear(e->rate);
    mpfi_clear(e->start);
}

/* The tail from `from` on, whose bounds hold from X on; they are carried on when `from` is farther than X. */
static void elastic_tail(arb_t out, const struct elastic *e, const arb_t X, const arb_t from, slong prec)
{
    LOCAL(arb, least, greatest, value, lower, upper, ratio);
    arb_indeterminate(out);
    interval_get_upper(least, e->rate, prec);
    arb_neg(least, least);
    arb_sub_ui(least, least, 1, prec); /* s - 1 */
    if (!e->defined || !arb_is_positive(least) || mpfr_inf_p(&e->start->right))
        goto end;
    arb_div(ratio, from, X, prec);
    arb_log(ratio, ratio, prec);
    /* upper: f(from) <= f(X) (from/X)^-s, and sum <= f(from) (1 + from / (s - 1)) */
    interval_get_upper(value, e->start, prec);
    arb_submul(value, ratio, least, prec);
    arb_sub(value, value, ratio, prec);
    arb_exp(value, value, prec);
    arb_div(upper, from, least, prec);
    arb_add_ui(upper, upper, 1, prec);
    arb_mul(upper, upper, value, prec);
    arb_zero(lower);
    if (!e->masked && mpfr_number_p(&e->start->left)) {
        int finite = mpfr_number_p(&e->rate->left);
        interval_get_lower(value, e->start, prec);
        if (finite) {
            interval_get_lower(greatest, e->rate, prec);
            arb_addmul(value, ratio, greatest, prec);
        }
        arb_exp(value, value, prec);
        if (finite) { /* sum >= from f(from) / (s - 1) */
            arb_neg(greatest, greatest);
            arb_sub_ui(greatest, greatest, 1, prec);
            arb_div(lower, from, greatest, prec);
            arb_mul(lower, lower, value, prec);
        } else if (arb_equal(from, X)) { /* the first term */
            arb_set(lower, value);
        }
    }
    arb_union(out, lower, upper, prec);
end:
}

/* ---- tails ---- */

static void geometric_tail(arb_t out, const struct series_summand *f, int root, const arb_t from, slong prec)
{
    LOCAL(arb, shift, slope);
    evaluate_affine(shift, slope, f->pool, root, prec);
    arb_addmul(shift, slope, from, prec);
    arb_exp(out, shift, prec);
    arb_expm1(slope, slope, prec);
    arb_neg(slope, slope);
    arb_div(out, out, slope, prec);
}

/* Integral plus at most the first term, for a falling f with a known antiderivative. 1, or 0 if that does not apply. */
static int integral_tail(arb_t out, const struct series_summand *f, int root, const arb_t from, slong prec)
{
    int vanishes = 0, known = 0;
    LOCAL(arb, first, start);
    arb_set_fmpz(start, f->decreasing_from);
    if (f->decreasing && arb_ge(from, start) && antiderivative(out, &vanishes, f, root, from, prec) && vanishes &&
        arb_is_finite(out)) {
        struct evaluator *v = evaluator_new(f->pool, root, prec);
        known = v && evaluator_point(first, v, from) == 0;
        arb_mul_2exp_si(first, first, -1);
        arb_add(out, out, first, prec);
        arb_add_error(out, first);
        evaluator_free(v);
    }
    return known;
}

void tail_sum(arb_t out, const struct series_summand *f, const arb_t from, slong prec)
{
    const struct piece *last = &f->piece[f->pieces - 1];
    arb_indeterminate(out);
    switch (f->tail) {
    case TAIL_NONE: return;
    case TAIL_ZERO: arb_zero(out); return;
    case TAIL_GEOMETRIC: geometric_tail(out, f, last->root, from, prec); return;
    case TAIL_POWER:
    case TAIL_GROWTH: break;
    }
    if (last->kind == PIECE_SMOOTH && integral_tail(out, f, last->root, from, prec))
        return;
    LOCAL(fmpz, X);
    LOCAL(arb, start);
    int near = arb_is_exact(from) && arf_cmpabs_2exp_si(arb_midref(from), FAR_BITS) <= 0 && arb_get_unique_fmpz(X, from);
    if (f->tail == TAIL_POWER) {
        struct elastic e;
        if (!near) {
            fmpz_one_2exp(X, FAR_BITS);
            if (fmpz_cmp(X, f->tail_from) < 0)
                fmpz_set(X, f->tail_from);
        }
        arb_set_fmpz(start, X);
        if (elastic_at(&e, f, last->root, X, prec + 32) == 0 && arb_ge(from, start))
            elastic_tail(out, &e, start, from, prec);
        elastic_clear(&e);
    } else {
        arb_set_fmpz(start, f->growth->from);
        if (arb_ge(from, start)) {
            struct growth *closer = near ? growth_new(f->pool, last->root, X) : NULL;
            growth_tail(out, closer ? closer : f->growth, from, prec);
            growth_free(closer);
        }
    }
}

/* ---- verdict ---- */

/* Looks at every distance of a piece that is not proved to be a number throughout. 1: it is one or -inf, 0: not known, and then
 * *unknown is the distance
 * (-1: there are too many), -1 with *e: it is not. */
static int scan(const struct series_summand *f, const struct piece *piece, const fmpz_t end, fmpz_t unknown,
                struct formula_error *e)
{
    int known = 1;
    LOCAL(fmpz, count, t);
    fmpz_set(t, piece->first);
    fmpz_sub(count, end, piece->first);
    fmpz_set_si(unknown, -1);
    if (fmpz_cmp_ui(count, f->pool->node[piece->root].opaque ? SCAN_MAX / 100 : SCAN_MAX) > 0)
        known = 0;
    for (; known == 1 && fmpz_cmp(t, end) < 0; fmpz_add_ui(t, t, 1)) {
        struct expression_pool *p = expression_pool_new();
        int n = p ? summand_value(p, f, piece->root, t) : NODE_NAN;
        if (!p || p->failed || !expression_is_known(p, n)) {
            known = 0;
            fmpz_set(unknown, t);
        } else if (p->node[n].kind == X_NAN || n == NODE_PLUS_INFINITY) {
            char *digits = fmpz_get_str(NULL, 10, t);
            known = formula_refuse(e, 0, "the value at head %d, distance %.60s is %s (expected a number or -inf)", f->at.h,
                                   digits, n == NODE_PLUS_INFINITY ? "+inf" : "not a number");
            flint_free(digits);
        }
        expression_pool_free(p);
    }
    return known;
}

/* 1 if the bias is a number or -inf at every t of [first, from) of the last piece, as scan. */
static int defined_before(const struct series_summand *f, const struct piece *last, const fmpz_t from, fmpz_t unknown,
                          struct formula_error *e)
{
    struct ranges r;
    if (last->defined || fmpz_cmp(from, last->first) <= 0)
        return 1;
    if (ranges_compute(&r, f->pool, last->root, last->first, from, 64) == 0) {
        int defined = r.node[last->root].defined;
        ranges_free(&r);
        if (defined)
            return 1;
    }
    return scan(f, last, from, unknown, e);
}

/* Why nothing is decided where the value at a distance (-1: at many) may be none. */
static void prove_unknown(struct series_summand *f, const char *begin, const fmpz_t unknown)
{
    char text[64];
    if (fmpz_sgn(unknown) < 0)
        prove(f, "%s: the bias is not proved to be a number at every distance", begin);
    else
        prove(
            f,
            "%s: whether the bias at t = %s is a number, an infinity or none cannot be told (a part of it is 0, or too near it)",
            begin, distance_text(text, unknown));
}

/* The next X to try: the piece's first distance, then powers of 2. */
static int next_start(fmpz_t X, slong *bits, const fmpz_t first, slong limit)
{
    if (*bits < 0) {
        fmpz_set(X, first);
        if (fmpz_is_zero(X))
            fmpz_one(X);
        *bits = 0;
        return 1;
    }
    do {
        *bits = *bits < 16 ? *bits + 1 : *bits * 3 / 2;
        if (*bits > limit)
            return 0;
        fmpz_one_2exp(X, (ulong)*bits);
    } while (fmpz_cmp(X, first) <= 0);
    return 1;
}

static void try_elastic(struct series_summand *f, const struct piece *last)
{
    char text[64];
    slong bits = -1;
    LOCAL(fmpz, X);
    while (f->verdict == SERIES_UNDECIDED && next_start(X, &bits, last->first, SEARCH_BITS)) {
        struct elastic e;
        if (elastic_at(&e, f, last->root, X, 96) == 0 && e.defined) {
            if (mpfr_cmp_si(&e.rate->right, -1) < 0 && !mpfr_inf_p(&e.start->right)) {
                LOCAL_REAL(96, s); /* exact, and printed downwards: no more than what is proved */
                mpfr_neg(s, &e.rate->right, MPFR_RNDD);
                f->verdict = SERIES_CONVERGES;
                f->tail = TAIL_POWER;
                fmpz_set(f->tail_from, X);
                char exponent[64];
                int large = mpfr_cmp_ui(s, 1000000) > 0;
                if (mpfr_cmp_d(s, 1.0001) > 0) {
                    mpfr_snprintf(exponent, sizeof exponent, "%.8RDg", s);
                } else {
                    mpfr_sub_ui(s, s, 1, MPFR_RNDD);
                    mpfr_snprintf(exponent, sizeof exponent, "(1 + %.3RDg)", s);
                }
                if (large)
                    prove(f, "converges: t b'(t) < -10^6 for all t >= %s, so f falls faster than t^-1000000 there",
                          distance_text(text, X));
                else
                    prove(f,
                          "converges: t b'(t) <= -%s < -1 for all t >= %s, so f(t) <= f(X) (t/X)^-%s with X = %s, whose sum "
                          "converges",
                          exponent, distance_text(text, X), exponent, text);
            } else if (mpfr_cmp_si(&e.rate->left, -1) >= 0 && !e.masked && mpfr_number_p(&e.start->left)) {
                f->verdict = SERIES_DIVERGES;
                prove(f,
                      "diverges: t b'(t) >= -1 for all t >= %s, so f(t) >= f(X) X/t with X = %s, whose sum diverges "
                      "(harmonic series)",
                      distance_text(text, X), text);
            }
            if (f->verdict != SERIES_UNDECIDED && !e.smooth)
                prove(f, "with the worst value of every part that jumps or oscillates");
        }
        elastic_clear(&e);
    }
}

static void try_growth(struct series_summand *f, const struct piece *last)
{
    char text[64], growth[256];
    slong bits = -1;
    LOCAL(fmpz, X);
    while (f->verdict == SERIES_UNDECIDED && next_start(X, &bits, last->first, SEARCH_BITS)) {
        struct growth *g = growth_new(f->pool, last->root, X);
        LOCAL(arb, from, tail);
        if (g && growth_verdict(g) > 0) {
            f->verdict = SERIES_DIVERGES;
        } else if (g) {
            arb_set_fmpz(from, X);
            growth_tail(tail, g, from, 64);
            if (arb_is_finite(tail))
                f->verdict = SERIES_CONVERGES;
        }
        if (f->verdict != SERIES_UNDECIDED) {
            int converges = f->verdict == SERIES_CONVERGES;
            char least[64], greatest[64];
            LOCAL_REAL(64, factor);
            mpfr_exp(factor, &g->rest->left, MPFR_RNDD);
            bound_text(least, factor, 6, 0);
            mpfr_exp(factor, &g->rest->right, MPFR_RNDU);
            bound_text(greatest, factor, 6, 1);
            growth_text(growth, sizeof growth, g);
            fmpz_set(f->tail_from, X);
            prove(f, "%s: f(t) is between %s and %s times %s for all t >= %s, whose sum %s (Bertrand's series)",
                  series_verdict_name(f->verdict), least, greatest, growth, distance_text(text, X),
                  series_verdict_name(f->verdict));
            if (converges) {
                f->tail = TAIL_GROWTH;
                f->growth = g;
                g = NULL;
            }
        }
        growth_free(g);
    }
}

/* The least X tried from which on f does not grow. */
static void find_decreasing(struct series_summand *f, const struct piece *last)
{
    slong bits = -1;
    LOCAL(fmpz, X);
    while (!f->decreasing && next_start(X, &bits, last->first, 4096)) {
        struct elastic e;
        if (elastic_at(&e, f, last->root, X, 96) == 0 && e.defined && e.smooth && mpfr_sgn(&e.rate->right) <= 0) {
            f->decreasing = 1;
            fmpz_set(f->decreasing_from, X);
        }
        elastic_clear(&e);
    }
}

static int has_mass(const struct series_summand *f)
{
    for (int i = 0; i < f->pieces; i++)
        if (f->piece[i].kind != PIECE_ZERO)
            return 1;
    return 0;
}

/* The verdict where the bias is known to be a number or -inf before the last piece. 0 or -1 with *e. */
static int decide_tail(struct series_summand *f, const struct piece *last, struct formula_error *e)
{
    char text[64];
    int known;
    fmpz_t unknown;
    switch (last->kind) {
    case PIECE_ZERO:
        f->verdict = SERIES_CONVERGES;
        f->tail = TAIL_ZERO;
        prove(f, "converges: f(t) = 0 for all t >= %s", distance_text(text, last->first));
        break;
    case PIECE_CONSTANT:
        f->verdict = SERIES_DIVERGES;
        prove(f, "diverges: f is constant and not 0 for all t >= %s", distance_text(text, last->first));
        break;
    case PIECE_GEOMETRIC: {
        LOCAL(arb, shift, slope);
        evaluate_affine(shift, slope, f->pool, last->root, 256);
        int falls = arb_is_negative(slope);
        f->verdict = falls ? SERIES_CONVERGES : SERIES_DIVERGES;
        f->tail = falls ? TAIL_GEOMETRIC : TAIL_NONE;
        f->decreasing = falls;
        fmpz_set(f->decreasing_from, last->first);
        prove(f, "%s: b(t) = c %s %.12g t for all t >= %s: a geometric series with ratio exp(%.12g)%s",
              series_verdict_name(f->verdict), falls ? "-" : "+", fabs(arf_get_d(arb_midref(slope), ARF_RND_NEAR)),
              distance_text(text, last->first), arf_get_d(arb_midref(slope), ARF_RND_NEAR), falls ? " < 1" : " > 1");
        break;
    }
    case PIECE_SMOOTH:
    case PIECE_ROUGH:
        if (f->pool->node[last->root].opaque) {
            prove(f, "undecided: the number of terms of a sum grows with t");
            break;
        }
        try_elastic(f, last);
        if (f->verdict == SERIES_UNDECIDED)
            try_growth(f, last);
        if (f->verdict == SERIES_UNDECIDED) {
            prove(f,
                  "undecided: neither t b'(t) stays on one side of -1, nor is f(t) bounded by powers of t, ln t, ln ln t, ...");
            break;
        }
        fmpz_init(unknown);
        known = defined_before(f, last, f->tail_from, unknown, e);
        if (known == 0) {
            f->verdict = SERIES_UNDECIDED;
            f->tail = TAIL_NONE;
            prove_unknown(f, "undecided all the same", unknown);
        }
        fmpz_clear(unknown);
        if (known < 0)
            return -1;
        if (f->verdict == SERIES_CONVERGES)
            find_decreasing(f, last);
        break;
    }
    return 0;
}

int summand_decide(struct series_summand *f, struct formula_error *e)
{
    const struct piece *last = &f->piece[f->pieces - 1];
    int known = 1;
    f->verdict = SERIES_UNDECIDED;
    fmpz_set(f->tail_from, last->first);
    if (!has_mass(f))
        return formula_refuse(e, 0, "the bias is -inf at every distance of head %d: there is no mass at all", f->at.h);
    LOCAL(fmpz, unknown, first);
    for (int i = 0; i + 1 < f->pieces && known >= 0; i++)
        if (!f->piece[i].defined) {
            int defined = scan(f, &f->piece[i], f->piece[i].end, unknown, e);
            if (defined == 0 && known == 1)
                fmpz_set(first, unknown);
            known = defined < 1 ? defined : known;
        }
    if (known == 1 && !f->pool->node[last->root].depends && !expression_is_known(f->pool, last->root)) {
        known = 0;
        fmpz_set(first, last->first);
    }
    if (known == 0)
        prove_unknown(f, "undecided", first);
    if (known == 1)
        known = decide_tail(f, last, e);
    return known < 0 ? -1 : 0;
}
