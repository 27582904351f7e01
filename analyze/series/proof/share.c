/* Shares of the mass. */
#include "analyze/series/proof/share.h"
#include "analyze/formula_private.h"
#include "analyze/series/proof/evaluate.h"

#include <stdlib.h>

struct shares {
    const struct series *s;
    slong prec;
    int limited, exhausted, unknown;
    fmpz_t limit, far;
    struct sums **sums; /* [heads] */
};

struct shares *shares_new(const struct series *s, const fmpz *limit, slong prec, int quick, struct formula_error *e)
{
    struct shares *m = calloc(1, sizeof *m);
    if (m)
        m->sums = calloc((size_t)s->count, sizeof *m->sums);
    if (!m || !m->sums) {
        free(m);
        formula_refuse(e, 0, "out of memory");
        return NULL;
    }
    m->s = s;
    m->prec = prec;
    m->limited = limit != NULL;
    fmpz_init(m->limit);
    fmpz_init(m->far);
    if (limit)
        fmpz_set(m->limit, limit);
    for (int i = 0; i < s->count; i++) {
        m->sums[i] = sums_new(s->summand[i], limit, prec, quick, e);
        if (!m->sums[i]) {
            shares_free(m);
            return NULL;
        }
        if (arb_is_zero(sums_total(m->sums[i]))) {
            formula_refuse(e, 0, "head %d has no mass within the length: the bias is -inf at each of its distances",
                           s->summand[i]->at.h);
            shares_free(m);
            return NULL;
        }
        m->exhausted |= sums_exhausted(m->sums[i]);
        m->unknown |= sums_unknown(m->sums[i]);
        if (fmpz_cmp(sums_far(m->sums[i]), m->far) > 0)
            fmpz_set(m->far, sums_far(m->sums[i]));
    }
    return m;
}

void shares_free(struct shares *m)
{
    if (!m)
        return;
    for (int i = 0; i < m->s->count; i++)
        sums_free(m->sums[i]);
    free(m->sums);
    fmpz_clear(m->limit);
    fmpz_clear(m->far);
    free(m);
}

const fmpz *shares_far(const struct shares *m)
{
    return m->far;
}

int shares_exhausted(const struct shares *m)
{
    return m->exhausted;
}

int shares_unknown(const struct shares *m)
{
    return m->unknown;
}

void shares_total(arb_t out, const struct shares *m)
{
    arb_set(out, sums_total(m->sums[0]));
}

void shares_below(arb_t out, struct shares *m, const fmpz_t j)
{
    LOCAL(arb, share);
    arb_zero(out);
    for (int i = 0; i < m->s->count; i++) {
        sums_below(share, m->sums[i], j);
        arb_div(share, share, sums_total(m->sums[i]), m->prec + 64);
        arb_add(out, out, share, m->prec + 64);
    }
    arb_div_ui(out, out, (ulong)m->s->count, m->prec + 64);
}

void shares_above(arb_t out, struct shares *m, const arb_t j)
{
    LOCAL(arb, share);
    arb_zero(out);
    for (int i = 0; i < m->s->count; i++) {
        sums_above(share, m->sums[i], j);
        arb_div(share, share, sums_total(m->sums[i]), m->prec + 64);
        arb_add(out, out, share, m->prec + 64);
    }
    arb_div_ui(out, out, (ulong)m->s->count, m->prec + 64);
}

void shares_term(arb_t out, struct shares *m, const fmpz_t j)
{
    LOCAL(arb, share);
    arb_zero(out);
    for (int i = 0; i < m->s->count; i++) {
        sums_term(share, m->sums[i], j);
        arb_div(share, share, sums_total(m->sums[i]), m->prec + 64);
        arb_add(out, out, share, m->prec + 64);
    }
    arb_div_ui(out, out, (ulong)m->s->count, m->prec + 64);
}

/* Where every f(t) is 0 or one and the same value: how many distances below j have it, and how many there are. 1, or 0 if it is
 * not so. */
static int count_uniform(fmpz_t below, fmpz_t all, const struct series_summand *f, const struct shares *m, const fmpz_t j)
{
    int root = -1;
    LOCAL(fmpz, end, length);
    fmpz_zero(below);
    fmpz_zero(all);
    int uniform = 1;
    for (int i = 0; i < f->pieces && uniform; i++) {
        const struct piece *piece = &f->piece[i];
        if (piece->kind == PIECE_ZERO || (m->limited && fmpz_cmp(piece->first, m->limit) >= 0))
            continue;
        uniform = piece->kind == PIECE_CONSTANT && (root < 0 || root == piece->root) && (!piece->unbounded || m->limited);
        if (!uniform)
            break;
        root = piece->root;
        fmpz_set(end, piece->unbounded || (m->limited && fmpz_cmp(piece->end, m->limit) > 0) ? m->limit : piece->end);
        fmpz_sub(length, end, piece->first);
        fmpz_add(all, all, length);
        if (fmpz_cmp(j, end) < 0)
            fmpz_sub(length, j, piece->first);
        if (fmpz_sgn(length) > 0)
            fmpz_add(below, below, length);
    }
    return uniform && fmpz_sgn(all) > 0;
}

/* The same comparison in rational numbers: 1 if it could be made. */
static int compare_exactly(int *sign, const struct shares *m, const fmpz_t j, const fmpq_t epsilon)
{
    int exact = 1;
    LOCAL(fmpz, below, all);
    LOCAL(fmpq, share, sum);
    for (int i = 0; i < m->s->count && exact; i++) {
        exact = count_uniform(below, all, m->s->summand[i], m, j);
        if (exact) {
            fmpq_set_fmpz_frac(share, below, all);
            fmpq_add(sum, sum, share);
        }
    }
    if (exact) {
        fmpq_set_si(share, m->s->count, 1);
        fmpq_sub(sum, sum, share);
        fmpq_mul(share, share, epsilon);
        fmpq_add(sum, sum, share);
        *sign = fmpq_sgn(sum);
    }
    return exact;
}

int shares_compare(arb_t value, struct shares *m, const fmpz_t j, const fmpq_t epsilon)
{
    slong prec = m->prec + 64;
    int sign = 2;
    LOCAL(arb, share, target);
    LOCAL(fmpq, q);
    if (!m->limited && fmpz_cmp(j, m->far) > 0) { /* epsilon against what lies beyond */
        arb_set_fmpz(target, j);
        shares_above(share, m, target);
        arb_set_fmpq(target, epsilon, prec);
        arb_sub(value, target, share, prec);
    } else if (m->s->count == 1) { /* S(j) - (1 - epsilon) B, over B */
        sums_below(value, m->sums[0], j);
        fmpq_set_si(q, 1, 1);
        fmpq_sub(q, q, epsilon);
        arb_mul_fmpz(target, sums_total(m->sums[0]), fmpq_numref(q), prec);
        arb_div_fmpz(target, target, fmpq_denref(q), prec);
        arb_sub(value, value, target, prec);
        arb_div(value, value, sums_total(m->sums[0]), prec);
    } else {
        shares_below(value, m, j);
        fmpq_set_si(q, 1, 1);
        fmpq_sub(q, q, epsilon);
        arb_set_fmpq(target, q, prec);
        arb_sub(value, value, target, prec);
    }
    if (arb_is_positive(value))
        sign = 1;
    else if (arb_is_negative(value))
        sign = -1;
    else if (arb_is_zero(value))
        sign = 0;
    else if (!compare_exactly(&sign, m, j, epsilon))
        sign = 2;
    return sign;
}

int series_has_waves(const struct series *s)
{
    int waves = 0;
    for (int i = 0; i < s->count && !waves; i++) {
        struct evaluator *v = evaluator_new(s->summand[i]->pool, s->summand[i]->root, 64);
        waves = v && evaluator_has_waves(v);
        evaluator_free(v);
    }
    return waves;
}
