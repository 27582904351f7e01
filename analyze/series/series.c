/* The public face, where the search (search/) and the proof (proof/) meet. */
#include "analyze/series/series.h"
#include "analyze/formula_private.h"
#include "analyze/series/proof/rounding.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PARTIAL_LENGTH = 4096, /* distances summed for the lower end of a sum that is undecided, */
    PARTIAL_LEAST = 64, /* or these, if that costs too much */
    INTERVALS = 3000, /* looked at to compare two biases; fewer of those with many nodes */
    NODES = 300000 /* nodes times intervals */
};

/* ---- opening ---- */

static struct series *series_new(int count, struct formula_error *e)
{
    struct series *s = calloc(1, sizeof *s);
    if (s) {
        s->summand = calloc((size_t)count, sizeof *s->summand);
        s->kept = malloc(sizeof *s->kept);
    }
    if (s && s->kept)
        kept_init(s->kept);
    if (!s || !s->summand || !s->kept) {
        series_free(s);
        formula_refuse(e, 0, "out of memory");
        return NULL;
    }
    s->count = count;
    return s;
}

/* Bounds of B as series_sum reports them. 0 or -1. */
static int find_sum(struct series *s, struct formula_error *e)
{
    int converges = s->verdict == SERIES_CONVERGES;
    struct question q = {s->summand, 1, NULL, s->kept, e};
    LOCAL(fmpz, limit);
    LOCAL(arb, total);
    s->sum_lo = s->sum_hi = INFINITY;
    if (s->verdict == SERIES_DIVERGES)
        return 0;
    /* of all terms; if that says nothing, or there may be no such sum, of the first 4096 or 64 */
    for (int first = !converges; first < 3 && !(s->sum_lo > 0 && isfinite(s->sum_lo)); first++) {
        double hi = s->sum_hi;
        fmpz_set_ui(limit, first < 2 ? PARTIAL_LENGTH : PARTIAL_LEAST);
        q.limit = first ? limit : NULL;
        const struct sums_kept *sums = kept_shares(&q, SERIES_PREC, search_has_waves(&q));
        if (!sums && first > !converges) /* there may be no mass there */
            break;
        if (!sums)
            return -1;
        shares_total(total, sums->shares);
        ball_doubles(&s->sum_lo, &s->sum_hi, total, s->summand[0]->problem.shift);
        if (first)
            s->sum_hi = hi;
    }
    return 0;
}

struct series *series_open(const struct formula *f, const struct formula_point *at,
                           struct formula_error *e)
{
    return series_open_within(f, at, INFINITY, e);
}

struct series *series_open_within(const struct formula *f, const struct formula_point *at,
                                  double seconds, struct formula_error *e)
{
    const char *missing = formula_missing(f);
    if (missing) {
        formula_refuse(e, 0, "parameter '%s' has no value", missing);
        return NULL;
    }
    LOCAL(fmpz, shift);
    struct series *s = series_new(1, e);
    if (!s)
        return NULL;
    search_shift(shift, f, at);
    struct summand *summand = s->summand[0] = summand_new(f, at, shift, NULL, e);
    if (summand) {
        summand->budget.seconds = seconds;
        search_begin(s->summand, 1);
    }
    if (summand && search_pieces(summand, e) == 0 && search_verdict(summand, e) == 0) {
        s->verdict = summand->proof.verdict;
        if (find_sum(s, e) == 0)
            return s;
    }
    series_free(s);
    return NULL;
}

struct series *series_open_mean(struct series *const *heads, int count, struct formula_error *e)
{
    int total = 0, n = 0, worst = -1;
    static const int badness[] = {
        [SERIES_CONVERGES] = 0, [SERIES_UNDECIDED] = 1, [SERIES_DIVERGES] = 2};
    for (int i = 0; i < count; i++) {
        if (heads[i]->mean) {
            formula_refuse(e, 0, "a mean of means is not supported");
            return NULL;
        }
        total += heads[i]->count;
    }
    if (total == 0) {
        formula_refuse(e, 0, "the mean of no heads");
        return NULL;
    }
    struct series *s = series_new(total, e);
    if (!s)
        return NULL;
    s->mean = 1;
    for (int i = 0; i < count; i++) {
        s->summand[n] = heads[i]->summand[0];
        s->summand[n++]->references++;
        if (worst < 0 || badness[heads[i]->verdict] > badness[heads[worst]->verdict])
            worst = i;
    }
    s->verdict = heads[worst]->verdict;
    s->sum_lo = s->verdict == SERIES_CONVERGES ? 1 : s->verdict == SERIES_DIVERGES ? INFINITY : 0;
    s->sum_hi = s->verdict == SERIES_CONVERGES ? 1 : INFINITY;
    size_t size = strlen(series_proof(heads[worst])) + 100;
    s->proof = malloc(size);
    if (!s->proof) {
        formula_refuse(e, 0, "out of memory");
        series_free(s);
        return NULL;
    }
    if (s->verdict == SERIES_CONVERGES)
        snprintf(s->proof, size, "converges: the mean of %d kernels of sum 1 each", total);
    else
        snprintf(s->proof, size, "%s because of head %d\n%s", series_verdict_name(s->verdict),
                 s->summand[worst]->problem.at.h, series_proof(heads[worst]));
    return s;
}

void series_settle(struct series *s)
{
    kept_clear(s->kept);
    kept_init(s->kept);
}

void series_free(struct series *s)
{
    if (!s)
        return;
    if (s->kept)
        kept_clear(s->kept);
    free(s->kept);
    for (int i = 0; s->summand && i < s->count; i++)
        summand_release(s->summand[i]);
    free(s->summand);
    free(s->proof);
    free(s);
}

/* ---- questions ---- */

enum series_verdict series_verdict(const struct series *s)
{
    return s->verdict;
}

const char *series_proof(const struct series *s)
{
    const char *proof = s->mean ? s->proof : s->summand[0]->proof.words;
    return proof ? proof : "";
}

const char *series_spent(const struct series *s)
{
    const char *spent = NULL;
    for (int i = 0; i < s->count && !spent; i++)
        spent = s->summand[i]->budget.stopped;
    return spent;
}

char *series_certificate(const struct series *s)
{
    return s->mean ? NULL : proof_certificate(&s->summand[0]->proof);
}

void series_sum(const struct series *s, double *lo, double *hi)
{
    *lo = s->sum_lo;
    *hi = s->sum_hi;
}

/* The field of the first `length` distances (0: all) across layers; *lo, *hi: their sum. */
static int ask(struct series_count *out, double *lo, double *hi, const struct series *s,
               const char *epsilon, int layers, uint64_t length, struct formula_error *e)
{
    LOCAL(fmpq, eps);
    LOCAL(fmpz, limit);
    LOCAL(arb, total);
    struct field f;
    *out = (struct series_count){.log10_lo = NAN, .log10_hi = NAN};
    *lo = 0;
    *hi = INFINITY;
    fmpz_set_ui(limit, length);
    arb_indeterminate(total);
    if (field_epsilon(eps, epsilon, e))
        return -1;
    if (!length && s->verdict != SERIES_CONVERGES)
        return 0;
    const struct question q = {s->summand, s->count, length ? limit : NULL, s->kept, e};
    int failed;
    search_begin(s->summand, s->count);
    if (layers > 1) {
        failed = search_depth(out, &q, eps, layers);
    } else {
        field_init(&f, q.limit);
        failed = search_field(&f, total, &q, eps); /* 1: there may be no mass, and no field */
        if (!failed) {
            ball_doubles(lo, hi, total, s->summand[0]->problem.shift);
            if (s->mean) /* of kernels whose sum is 1 */
                *lo = *hi = 1;
            failed = field_report(out, &f, e);
        }
        field_clear(&f);
    }
    search_end(s->summand, s->count);
    return failed < 0 ? -1 : 0;
}

int series_epsilon(const char *epsilon, struct formula_error *e)
{
    LOCAL(fmpq, q);
    return field_epsilon(q, epsilon, e);
}

int series_trf(const struct series *s, const char *epsilon, struct series_count *out,
               struct formula_error *e)
{
    double lo, hi;
    return ask(out, &lo, &hi, s, epsilon, 1, 0, e);
}

int series_trf_finite(const struct series *s, const char *epsilon, uint64_t length,
                      struct series_count *out, double *sum_lo, double *sum_hi,
                      struct formula_error *e)
{
    double lo = 0, hi = INFINITY;
    int failed = -1;
    if (length < 1)
        formula_refuse(e, 0, "a length of 0 has no TRF");
    else
        failed = ask(out, &lo, &hi, s, epsilon, 1, length, e);
    if (sum_lo)
        *sum_lo = lo;
    if (sum_hi)
        *sum_hi = hi;
    return failed;
}

int series_trf_depth(const struct series *s, const char *epsilon, int layers, uint64_t length,
                     struct series_count *out, struct formula_error *e)
{
    double lo, hi;
    if (layers >= 1 && layers <= 100000)
        return ask(out, &lo, &hi, s, epsilon, layers, length, e);
    *out = (struct series_count){.log10_lo = NAN, .log10_hi = NAN};
    return formula_refuse(e, 0, "%d layers (expected 1 to 100000)", layers);
}

/* ---- comparing ---- */

/* Both biases taken apart, in one pool. *order and why if they can be compared; falls, rises:
 * whether it is worth trying that f/g and g/f never increase. 0 or -1 with *e. */
static int compare_pair(struct summand *f, struct summand *g, int falls, int rises, int *order,
                        char why[256], struct formula_error *e)
{
    if (are_proportional(&f->proof, &g->proof)) {
        *order = -1;
        snprintf(why, 256, "f and g are proportional: the same TRF for every epsilon");
        return 0;
    }
    if (search_pieces(f, e) || search_pieces(g, e))
        return -1;
    long intervals = NODES / (f->problem.pool->count + 1);
    intervals = intervals < 50 ? 50 : intervals > INTERVALS ? INTERVALS : intervals;
    if (falls && ratio_falls(&f->proof, &g->proof, intervals)) {
        *order = -1;
        snprintf(why, 256,
                 "f/g never increases: the derivative of b_f - b_g is proved to be at most 0");
    } else if (rises && ratio_falls(&g->proof, &f->proof, intervals)) {
        *order = 1;
        snprintf(why, 256,
                 "g/f never increases: the derivative of b_g - b_f is proved to be at most 0");
    } else {
        snprintf(why, 256, "neither f/g nor g/f is proved never to increase");
    }
    return 0;
}

int series_compare(const struct series *f, const struct series *g, int *order, char why[256],
                   struct formula_error *e)
{
    LOCAL(fmpz, zero);
    *order = 0;
    if (f->mean || g->mean) {
        snprintf(why, 256, "mean kernels are not compared");
        return 0;
    }
    const struct summand *a = f->summand[0], *b = g->summand[0];
    int falls = search_may_fall(a, b), rises = search_may_fall(b, a);
    if (!falls && !rises) {
        snprintf(why, 256, "f/g and g/f both increase somewhere");
        return 0;
    }
    struct summand *first = summand_new(a->problem.formula, &a->problem.at, zero, NULL, e);
    struct summand *second = first ? summand_new(b->problem.formula, &b->problem.at, zero, first, e)
                                   : NULL;
    int failed = second ? compare_pair(first, second, falls, rises, order, why, e) : -1;
    summand_release(second);
    summand_release(first);
    return failed;
}

/* ---- forms of [B] ---- */

int series_closed_form(const struct series *s, double epsilon, double *value, char text[128])
{
    const struct summand *f = s->summand[0];
    LOCAL(arb, shift, k);
    int known = 0;
    if (s->mean || f->proof.pieces != 1 || s->verdict != SERIES_CONVERGES ||
        !(epsilon > 0 && epsilon < 1))
        return 0;
    if (f->proof.piece[0].kind == PIECE_GEOMETRIC) { /* exp(-m j) < eps */
        evaluate_affine(shift, k, f->problem.pool, f->proof.piece[0].root, 64);
        *value = log(1 / epsilon) / -arf_get_d(arb_midref(k), ARF_RND_NEAR);
        snprintf(text, 128, "ln(1/eps) / m, which is rounded up");
        known = 1;
    } else if (is_type1(k, f->problem.pool, f->proof.piece[0].root,
                        64)) { /* the integral from 0 to j is atan(k j) / k */
        *value = tan((1 - epsilon) * M_PI / 2) / arf_get_d(arb_midref(k), ARF_RND_NEAR);
        snprintf(
            text, 128,
            "tan((1 - eps) pi / 2) / k, about 2 / (pi k eps), of the integral instead of the sum");
        known = 1;
    }
    return known && isfinite(*value);
}
