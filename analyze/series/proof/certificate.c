/* What a rule claims, in numbers, for a checker that shares no code with this one. The lines are
 * those of doc/certificate.md; every bound is rounded outwards. */
#include "analyze/series/proof/proof.h"
#include "analyze/series/proof/rounding.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DIGITS = 17,
    TAIL_FROM = 1000 /* tails are given from here on, where the rule holds so early */
};

void text_append(char **text, const char *format, ...)
{
    va_list arguments;
    char *line = NULL;
    va_start(arguments, format);
    int size = vasprintf(&line, format, arguments);
    va_end(arguments);
    size_t old = *text ? strlen(*text) : 0;
    char *grown = size < 0 ? NULL : realloc(*text, old + (size_t)size + 2);
    if (grown) {
        snprintf(grown + old, (size_t)size + 2, "%s%s", old ? "\n" : "", line);
        *text = grown;
    }
    if (size >= 0)
        free(line);
}

/* A distance as it is, not about it: its digits, or 2^N. Freed by flint_free. */
static char *exact_text(const fmpz_t t)
{
    char *text = fmpz_get_str(NULL, 10, t);
    if (strlen(text) > 15 && fmpz_bits(t) == (flint_bitcnt_t)fmpz_val2(t) + 1)
        snprintf(text, 16, "2^%lu", (unsigned long)fmpz_val2(t));
    return text;
}

static void append_rule(char **to, const char *rule, const fmpz_t X)
{
    char *from = exact_text(X);
    text_append(to, "rule %s from %s", rule, from);
    flint_free(from);
}

static const char *interval_text(char out[140], const mpfi_t x)
{
    char lo[64], hi[64];
    snprintf(out, 140, "%s %s", bound_text(lo, &x->left, DIGITS, 0),
             bound_text(hi, &x->right, DIGITS, 1));
    return out;
}

/* A ball that is not negative; what is not known is anything from 0 to infinity. */
static const char *ball_text(char out[140], const arb_t x)
{
    LOCAL_INTERVAL(128, bounds);
    if (arb_is_finite(x)) {
        interval_set_arb(bounds, x);
        if (mpfr_sgn(&bounds->left) < 0)
            mpfr_set_ui(&bounds->left, 0, MPFR_RNDD);
    } else {
        mpfr_set_ui(&bounds->left, 0, MPFR_RNDD);
        mpfr_set_inf(&bounds->right, 1);
    }
    return interval_text(out, bounds);
}

/* Of a growth after `what`: the exponents of t, ln t, ..., the remainder, and another factor. */
static void append_growth(char **to, const char *what, const struct growth *g)
{
    const fmpq *exponent = g->exponent[g->verdict < 0 ? ABOVE : BELOW];
    char bounds[140], weight[140], *q[GROWTH_LEVELS], *stretch = NULL;
    LOCAL_INTERVAL(128, x);
    if (g->stretched) {
        char *power = fmpq_get_str(NULL, 10, g->power);
        interval_set_arb(x, g->weight);
        text_append(&stretch, " stretch %d %s %s", g->stretched, interval_text(weight, x), power);
        flint_free(power);
    }
    mpfi_set(x, g->remainder);
    if (g->apart) /* what it is at least has other exponents */
        mpfr_set_inf(&x->left, -1);
    for (int k = 0; k < GROWTH_LEVELS; k++)
        q[k] = fmpq_get_str(NULL, 10, &exponent[k]);
    text_append(to, "%s %s %s %s %s %s rest %s%s", what, q[0], q[1], q[2], q[3], q[4],
                interval_text(bounds, x), stretch ? stretch : "");
    for (int k = 0; k < GROWTH_LEVELS; k++)
        flint_free(q[k]);
    free(stretch);
}

void certify_last(struct proof *f, const char *rule)
{
    append_rule(&f->certificate, rule, f->piece[f->pieces - 1].first);
}

void certify_affine(struct proof *f, const arb_t shift, const arb_t slope)
{
    char text[2][140];
    LOCAL_INTERVAL(128, x);
    certify_last(f, "4.3");
    interval_set_arb(x, slope);
    interval_text(text[0], x);
    interval_set_arb(x, shift);
    text_append(&f->certificate, "slope %s", text[0]);
    text_append(&f->certificate, "constant %s", interval_text(text[1], x));
}

void certify_rate(char **to, const char *rule, const fmpz_t X, const struct range *x)
{
    char text[140];
    append_rule(to, rule, X);
    text_append(to, "rate %s", interval_text(text, x->rate));
    text_append(to, "start %s", interval_text(text, x->start));
}

static void certify_growth(char **to, const char *rule, const fmpz_t X, const struct growth *g)
{
    append_rule(to, rule, X);
    append_growth(to, "growth", g);
}

void certify_residues(char **to, const struct proof *f, const fmpz_t X)
{
    char what[64];
    if (f->residues == 1) {
        certify_growth(to, "4.7", X, f->residue[0].growth);
        return;
    }
    append_rule(to, "4.10", X);
    text_append(to, "period %d", f->residues);
    for (int r = 0; r < f->residues; r++) {
        const struct growth *g = f->residue[f->residue[r].first].growth;
        snprintf(what, sizeof what, "residue %d %s", r, g ? "growth" : "zero");
        if (g)
            append_growth(to, what, g);
        else
            text_append(to, "%s", what);
    }
}

/* The same rule from a later X on, where its bounds are closer. */
static void certify_later(char **to, struct proof *f, const fmpz_t X)
{
    int root = f->piece[f->pieces - 1].root;
    struct range x;
    struct growth *g;
    if (f->tail == TAIL_POWER && range_compute(&x, f->problem->pool, root, X, NULL, 96) == 0) {
        if (x.defined)
            certify_rate(to, "4.4", X, &x);
        range_clear(&x);
    } else if (f->tail == TAIL_GROWTH && f->residues == 1 &&
               (g = growth_new(f->problem->pool, root, X)) != NULL) {
        if (g->verdict < 0)
            certify_growth(to, "4.7", X, g);
        growth_free(g);
    }
}

char *proof_certificate(struct proof *f)
{
    char *out = NULL, text[140];
    char *shift = fmpz_get_str(NULL, 10, f->problem->shift);
    text_append(&out, "verdict %s", series_verdict_name(f->verdict));
    text_append(&out, "shift %s", shift);
    flint_free(shift);
    if (f->verdict == SERIES_UNDECIDED || !f->certificate)
        return out;
    text_append(&out, "%s", f->certificate);
    if (f->verdict == SERIES_CONVERGES) {
        LOCAL(fmpz, N);
        LOCAL(arb, start, tail);
        fmpz_set_ui(N, TAIL_FROM);
        if (fmpz_cmp(N, f->tail_from) > 0)
            certify_later(&out, f, N);
        else
            fmpz_set(N, f->tail_from);
        arb_set_fmpz(start, N);
        tail_sum(tail, f, start, 128);
        char *from = exact_text(N);
        text_append(&out, "tail %s %s", from, ball_text(text, tail));
        flint_free(from);
    }
    return out;
}
