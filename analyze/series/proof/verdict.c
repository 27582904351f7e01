/* Whether the sum converges. */
#include "analyze/formula_private.h"
#include "analyze/series/proof/proof.h"
#include "analyze/series/proof/evaluate.h"
#include "analyze/series/proof/rounding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SCAN_MAX = 20000, /* distances that are looked at one by one */
    READABLE = 50 /* exp of what is less has an exponent that can be read */
};

/* Adds a line to the proof, which is for people; the verdict holds without it. */
#define prove(f, ...) text_append(&(f)->words, __VA_ARGS__)

/* ---- values that may be none ---- */

/* [4.1] Looks at every distance of a piece. 1: b is a number or -inf, 0: not known, *unknown is the
 * distance (-1: there are too many), -1 with *e: it is not. */
static int every_distance(struct proof *f, const struct piece *piece, const fmpz_t end,
                          fmpz_t unknown, struct formula_error *e)
{
    int known = 1;
    LOCAL(fmpz, count, t, last);
    fmpz_set(t, piece->first);
    fmpz_sub_ui(last, end, 1);
    fmpz_set_si(unknown, -1);
    fmpz_sub(count, last, t);
    if (fmpz_cmp_ui(count, SCAN_MAX) >= 0)
        known = 0;
    for (; known == 1 && fmpz_cmp(t, last) <= 0; fmpz_add_ui(t, t, 1)) {
        known = problem_term(NULL, f->problem, piece->root, t, 0, e);
        if (known == 0)
            fmpz_set(unknown, t);
    }
    return known;
}

/* [4.1] The same of [first, from) of the last piece: one by one as far as that is needed. */
static int defined_before(struct proof *f, const struct piece *last, const fmpz_t from,
                          fmpz_t unknown, struct formula_error *e)
{
    LOCAL(fmpz, begin);
    int defined = last->defined;
    fmpz_set(begin, last->first);
    for (int looked = 0; !defined && looked <= SCAN_MAX / 100; looked = looked ? 2 * looked : 1) {
        fmpz_add_si(begin, last->first, looked);
        defined = fmpz_cmp(from, begin) <= 0 ||
                  range_defined(f->problem->pool, last->root, begin, from);
    }
    return every_distance(f, last, !defined || fmpz_cmp(from, begin) < 0 ? from : begin, unknown,
                          e);
}

/* Why nothing is decided where the value at a distance (-1: at many) may be none. */
static void prove_unknown(struct proof *f, const char *begin, const fmpz_t unknown)
{
    char text[64];
    if (fmpz_sgn(unknown) < 0)
        prove(f, "%s: the bias is not proved to be a number at every distance", begin);
    else
        prove(f,
              "%s: whether the bias at t = %s is a number, an infinity or none cannot be told (a "
              "part of it is 0, or too near it)",
              begin, distance_text(text, unknown));
}

/* ---- last pieces that are summed by formulas ---- */

/* [4.3] */
static void geometric(struct proof *f, const struct piece *last, const char *from)
{
    LOCAL(arb, shift, slope);
    evaluate_affine(shift, slope, f->problem->pool, last->root, 256);
    int falls = arb_is_negative(slope);
    double m = arf_get_d(arb_midref(slope), ARF_RND_NEAR);
    f->verdict = falls ? SERIES_CONVERGES : SERIES_DIVERGES;
    f->tail = falls ? TAIL_GEOMETRIC : TAIL_UNKNOWN;
    f->decreasing = falls;
    fmpz_set(f->decreasing_from, last->first);
    certify_affine(f, shift, slope);
    prove(f, "%s: b(t) = c %s %.12g t for all t >= %s: a geometric series with ratio exp(%.12g)%s",
          series_verdict_name(f->verdict), falls ? "-" : "+", fabs(m), from, m,
          falls ? " < 1" : " > 1");
}

/* [4.2] */
int verdict_begin(struct proof *f, struct formula_error *e)
{
    const struct piece *last = &f->piece[f->pieces - 1];
    int known = 1, mass = 0;
    char from[64];
    if (!f->pieces || !last->unbounded)
        return formula_refuse(e, 0, "the pieces of the bias end");
    LOCAL(fmpz, unknown, first);
    fmpz_set(f->tail_from, last->first);
    for (int i = 0; i < f->pieces; i++)
        mass |= f->piece[i].kind != PIECE_ZERO;
    if (!mass)
        return formula_refuse(
            e, 0, "the bias is -inf at every distance of head %d: there is no mass at all",
            f->problem->at.h);
    for (int i = 0; i + 1 < f->pieces; i++) {
        if (f->piece[i].defined)
            continue;
        int defined = every_distance(f, &f->piece[i], f->piece[i].end, unknown, e);
        if (defined < 0)
            return -1;
        if (defined == 0 && known == 1)
            fmpz_set(first, unknown);
        known &= defined;
    }
    if (known && !f->problem->pool->node[last->root].depends &&
        !expression_is_known(f->problem->pool, last->root)) {
        known = 0;
        fmpz_set(first, last->first);
    }
    if (!known) {
        prove_unknown(f, "undecided", first);
        return 0;
    }
    distance_text(from, last->first);
    switch (last->kind) {
    case PIECE_ZERO: /* [4.2] */
        f->verdict = SERIES_CONVERGES;
        f->tail = TAIL_ZERO;
        certify_last(f, "4.2");
        prove(f, "converges: f(t) = 0 for all t >= %s", from);
        return 0;
    case PIECE_CONSTANT: /* [4.3] */
        f->verdict = SERIES_DIVERGES;
        certify_last(f, "4.3");
        prove(f, "diverges: f is constant and not 0 for all t >= %s", from);
        return 0;
    case PIECE_GEOMETRIC: geometric(f, last, from); return 0;
    case PIECE_SMOOTH:
    case PIECE_ROUGH: break;
    }
    f->open = !f->problem->pool->node[last->root].opaque;
    if (!f->open)
        prove(f, "undecided: the number of terms of a sum grows with t");
    return f->open;
}

/* ---- rules for a last piece from X on ---- */

/* x on the scale of the bias as it is asked for: the shift was taken off it. */
static void unshifted(mpfr_t out, const struct proof *f, const mpfr_t x, mpfr_rnd_t round)
{
    fmpz_get_mpfr(out, f->problem->shift, round);
    mpfr_add(out, out, x, round);
}

/* The bound exp(x) of a growth as a number, or as exp(...) if that has no readable digits. */
static const char *multiple_text(char out[64], const struct proof *f, const mpfr_t x, int up)
{
    char digits[64];
    mpfr_rnd_t round = up ? MPFR_RNDU : MPFR_RNDD;
    LOCAL_REAL(96, y);
    unshifted(y, f, x, round);
    if (mpfr_cmpabs_ui(y, READABLE) < 0) {
        mpfr_exp(y, y, round);
        return bound_text(out, y, 6, up);
    }
    snprintf(out, 64, "exp(%.58s)", bound_text(digits, y, 6, up));
    return out;
}

/* [4.4] Rule 1: every member of the family falls at least as t^-s, s > 1. */
static int power_law(struct proof *f, const struct range *x, const fmpz_t X)
{
    char from[64], exponent[80], digits[64];
    if (mpfr_cmp_si(&x->rate->right, -1) >= 0 || mpfr_inf_p(&x->start->right))
        return 0;
    LOCAL_REAL(96, s);
    mpfr_neg(s, &x->rate->right, MPFR_RNDD); /* exact */
    f->claim = SERIES_CONVERGES;
    f->tail = TAIL_POWER;
    certify_rate(&f->certificate, "4.4", X, x);
    distance_text(from, X);
    if (mpfr_cmp_d(s, 1.0001) > 0) {
        bound_text(exponent, s, 8, 0);
    } else {
        mpfr_sub_ui(s, s, 1, MPFR_RNDD);
        snprintf(exponent, sizeof exponent, "(1 + %s)", bound_text(digits, s, 3, 0));
    }
    if (!x->smooth) { /* the rates are those of the members of the family, not of b */
        prove(f, "converges: f(t) <= %s (t/X)^-%s for all t >= X = %s, whose sum converges",
              multiple_text(digits, f, &x->start->right, 1), exponent, from);
        return 1;
    }
    prove(f,
          "converges: t b'(t) <= -%s < -1 for all t >= %s, so f(t) <= f(X) (t/X)^-%s with X = %s, "
          "whose sum "
          "converges",
          exponent, from, exponent, from);
    return 1;
}

/* [4.5] Rule 2: every member falls at most as 1/t. */
static int harmonic(struct proof *f, const struct range *x, const fmpz_t X)
{
    char from[64], least[64];
    if (mpfr_cmp_si(&x->rate->left, -1) < 0 || x->masked || !mpfr_number_p(&x->start->left))
        return 0;
    f->claim = SERIES_DIVERGES;
    certify_rate(&f->certificate, "4.5", X, x);
    distance_text(from, X);
    if (!x->smooth && mpfr_sgn(&x->rate->left) >= 0) { /* as for power_law */
        LOCAL_REAL(96, b);
        unshifted(b, f, &x->start->left, MPFR_RNDD);
        prove(f, "diverges: b(t) >= %s for all t >= %s, so f(t) does not tend to 0",
              bound_text(least, b, 8, 0), from);
        return 1;
    }
    if (!x->smooth) {
        prove(f,
              "diverges: f(t) >= %s X/t for all t >= X = %s, whose sum diverges (harmonic series)",
              multiple_text(least, f, &x->start->left, 0), from);
        return 1;
    }
    prove(f,
          "diverges: t b'(t) >= -1 for all t >= %s, so f(t) >= f(X) X/t with X = %s, whose sum "
          "diverges (harmonic series)",
          from, from);
    return 1;
}

/* 1 if [X, inf) lies in the last piece, and a claim is wanted. */
static int may_claim(const struct proof *f, const fmpz_t X)
{
    return f->open && f->claim == SERIES_UNDECIDED &&
           fmpz_cmp(X, f->piece[f->pieces - 1].first) >= 0;
}

int verdict_by_rate(struct proof *f, const fmpz_t X)
{
    struct range x;
    if (!may_claim(f, X) ||
        range_compute(&x, f->problem->pool, f->piece[f->pieces - 1].root, X, NULL, 96))
        return 0;
    int claimed = x.defined && (power_law(f, &x, X) || harmonic(f, &x, X));
    if (claimed)
        fmpz_set(f->tail_from, X);
    if (claimed && !x.smooth)
        prove(f, "with the worst value of every part that jumps or oscillates");
    range_clear(&x);
    return claimed;
}

/* Of all distances from X on: between which multiples of a growth f is. */
static void prove_growth(struct proof *f, const struct growth *g, const char *from)
{
    char growth[256], least[64], greatest[64];
    int below = mpfr_number_p(&g->remainder->left) && !g->apart,
        above = mpfr_number_p(&g->remainder->right) != 0;
    multiple_text(least, f, &g->remainder->left, 0);
    multiple_text(greatest, f, &g->remainder->right, 1);
    growth_text(growth, sizeof growth, g);
    prove(f, "%s: f(t) is %s%s%s%s times %s for all t >= %s, whose sum %s (Bertrand's series)",
          series_verdict_name(f->claim),
          below && above ? "between "
          : below        ? "at least "
                         : "at most ",
          below ? least : "", below && above ? " and " : "", above ? greatest : "", growth, from,
          series_verdict_name(f->claim));
}

/* [4.10] */
int verdict_by_residues(struct proof *f, const fmpz_t X, int strands)
{
    char from[64];
    LOCAL(arb, start, tail);
    LOCAL(fmpz, first);
    if (!may_claim(f, X) || residues_new(f, X, strands))
        return 0;
    strand_place(first, X, 0, strands);
    fmpz_mul_si(first, first, strands);
    arb_set_fmpz(start, first);
    distance_text(from, first);
    int diverges = residues_diverge(f);
    if (!diverges)
        residues_tail(tail, f, start, 64);
    if (diverges || arb_is_finite(tail)) {
        f->claim = diverges ? SERIES_DIVERGES : SERIES_CONVERGES;
        f->tail = diverges ? TAIL_UNKNOWN : TAIL_GROWTH;
        fmpz_set(f->tail_from, first);
        certify_residues(&f->certificate, f, first);
        if (strands == 1)
            prove_growth(f, f->residue[0].growth, from);
        else
            prove(f,
                  "%s: so does the sum over %s of the %d residues of t modulo %d from t = %s on, "
                  "by Bertrand's series",
                  series_verdict_name(f->claim), diverges ? "one" : "each", strands, strands, from);
    }
    if (f->tail != TAIL_GROWTH)
        residues_free(f);
    return f->claim != SERIES_UNDECIDED;
}

/* [4.7] Rule 3. */
int verdict_by_growth(struct proof *f, const fmpz_t X)
{
    return verdict_by_residues(f, X, 1);
}

int verdict_close(struct proof *f, struct formula_error *e)
{
    const struct piece *last = &f->piece[f->pieces - 1];
    if (!f->open)
        return 0;
    if (f->claim == SERIES_UNDECIDED && f->problem->pool->budget->stopped) {
        prove(f, "undecided: the search ended while %s", f->problem->pool->budget->stopped);
        return 0;
    }
    if (f->claim == SERIES_UNDECIDED) {
        prove(f, "undecided: neither t b'(t) stays on one side of -1, nor is b(t) told from -ln t, "
                 "-ln t - ln ln t, ...");
        return 0;
    }
    LOCAL(fmpz, unknown);
    int known = defined_before(f, last, f->tail_from, unknown, e);
    if (known > 0) {
        f->verdict = f->claim;
    } else {
        char *claimed = f->words;
        f->tail = TAIL_UNKNOWN;
        f->words = NULL;
        if (known == 0)
            prove_unknown(f, "undecided", unknown);
        if (known == 0 && claimed)
            prove(f, "without that, it %s", claimed);
        free(claimed);
    }
    return known < 0 ? -1 : 0;
}

/* [5.6] */
int decreases_from(struct proof *f, const fmpz_t X)
{
    const struct piece *last = &f->piece[f->pieces - 1];
    if (fmpz_cmp(X, last->first) < 0 || !range_falls(f->problem->pool, last->root, X, NULL))
        return 0;
    f->decreasing = 1;
    fmpz_set(f->decreasing_from, X);
    return 1;
}
