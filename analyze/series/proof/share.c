/* Shares of the mass. */
#include "analyze/series/proof/share.h"

#include <stdlib.h>

struct shares {
    slong prec;
    int count;
    struct sums **sums; /* [count] */
};

struct shares *shares_new(int count, slong prec)
{
    struct shares *m = calloc(1, sizeof *m);
    if (m)
        *m = (struct shares){prec, count, calloc((size_t)count, sizeof *m->sums)};
    if (m && m->sums)
        return m;
    free(m);
    return NULL;
}

void shares_put(struct shares *m, int i, struct sums *s)
{
    m->sums[i] = s;
}

void shares_free(struct shares *m)
{
    for (int i = 0; m && i < m->count; i++)
        sums_free(m->sums[i]);
    if (m)
        free(m->sums);
    free(m);
}

const fmpz *shares_limit(const struct shares *m)
{
    return sums_limit(m->sums[0]);
}

int shares_unknown(const struct shares *m)
{
    int unknown = 0;
    for (int i = 0; i < m->count; i++)
        unknown |= sums_unknown(m->sums[i]);
    return unknown;
}

void shares_total(arb_t out, const struct shares *m)
{
    arb_set(out, sums_total(m->sums[0]));
}

/* out += part / the i-th total, over the number of them at the end. */
static void add_share(arb_t out, const struct shares *m, int i, arb_t part)
{
    arb_div(part, part, sums_total(m->sums[i]), m->prec + 64);
    arb_add(out, out, part, m->prec + 64);
    if (i == m->count - 1)
        arb_div_ui(out, out, (ulong)m->count, m->prec + 64);
}

/* [6.5] */
void shares_below(arb_t out, struct shares *m, const fmpz_t j)
{
    LOCAL(arb, part);
    arb_zero(out);
    for (int i = 0; i < m->count; i++) {
        sums_below(part, m->sums[i], j);
        add_share(out, m, i, part);
    }
}

/* [6.5] */
void shares_above(arb_t out, const struct shares *m, const arb_t j)
{
    LOCAL(arb, part);
    arb_zero(out);
    for (int i = 0; i < m->count; i++) {
        sums_above(part, m->sums[i], j);
        add_share(out, m, i, part);
    }
}

void shares_term(arb_t out, struct shares *m, const fmpz_t j)
{
    LOCAL(arb, part);
    arb_zero(out);
    for (int i = 0; i < m->count; i++) {
        sums_term(part, m->sums[i], j);
        add_share(out, m, i, part);
    }
}

/* [6.2] Where every f(t) is 0 or one and the same value: how many distances below j have it, and how many there are. 1, or 0 if
 * it is not so. */
static int count_uniform(fmpz_t below, fmpz_t all, const struct series_summand *f, const fmpz *limit, const fmpz_t j)
{
    int root = -1;
    LOCAL(fmpz, end, length);
    fmpz_zero(below);
    fmpz_zero(all);
    int uniform = 1;
    for (int i = 0; i < f->pieces && uniform; i++) {
        const struct piece *piece = &f->piece[i];
        if (piece->kind == PIECE_ZERO || (limit && fmpz_cmp(piece->first, limit) >= 0))
            continue;
        uniform = piece->kind == PIECE_CONSTANT && (root < 0 || root == piece->root) && (!piece->unbounded || limit);
        if (!uniform)
            break;
        root = piece->root;
        fmpz_set(end, piece->unbounded || (limit && fmpz_cmp(piece->end, limit) > 0) ? limit : piece->end);
        fmpz_sub(length, end, piece->first);
        fmpz_add(all, all, length);
        if (fmpz_cmp(j, end) < 0)
            fmpz_sub(length, j, piece->first);
        if (fmpz_sgn(length) > 0)
            fmpz_add(below, below, length);
    }
    return uniform && fmpz_sgn(all) > 0;
}

/* [6.2] The same comparison in rational numbers: 1 if it could be made. */
static int compare_exactly(int *sign, const struct shares *m, const fmpz_t j, const fmpq_t epsilon)
{
    int exact = 1;
    LOCAL(fmpz, below, all);
    LOCAL(fmpq, share, sum);
    for (int i = 0; i < m->count && exact; i++) {
        exact = count_uniform(below, all, sums_summand(m->sums[i]), sums_limit(m->sums[i]), j);
        if (exact) {
            fmpq_set_fmpz_frac(share, below, all);
            fmpq_add(sum, sum, share);
        }
    }
    if (exact) {
        fmpq_set_si(share, m->count, 1);
        fmpq_sub(sum, sum, share);
        fmpq_mul(share, share, epsilon);
        fmpq_add(sum, sum, share);
        *sign = fmpq_sgn(sum);
    }
    return exact;
}

/* [6.1] */
int shares_compare(arb_t value, struct shares *m, const fmpz_t j, const fmpq_t epsilon)
{
    LOCAL(arb, share, target);
    LOCAL(fmpq, q);
    slong prec = m->prec + 64;
    int sign, far = !shares_limit(m);
    for (int i = 0; i < m->count; i++)
        far &= fmpz_cmp(j, sums_far(m->sums[i])) > 0;
    fmpq_set_si(q, 1, 1);
    fmpq_sub(q, q, epsilon);
    if (far) { /* epsilon against what lies beyond */
        arb_set_fmpz(target, j);
        shares_above(share, m, target);
        arb_set_fmpq(target, epsilon, prec);
        arb_sub(value, target, share, prec);
    } else if (m->count == 1) { /* S(j) - (1 - epsilon) B, over B */
        sums_below(value, m->sums[0], j);
        arb_mul_fmpz(target, sums_total(m->sums[0]), fmpq_numref(q), prec);
        arb_div_fmpz(target, target, fmpq_denref(q), prec);
        arb_sub(value, value, target, prec);
        arb_div(value, value, sums_total(m->sums[0]), prec);
    } else {
        shares_below(value, m, j);
        arb_set_fmpq(target, q, prec);
        arb_sub(value, value, target, prec);
    }
    if (arb_is_positive(value))
        return 1;
    if (arb_is_negative(value))
        return -1;
    if (arb_is_zero(value))
        return 0;
    return compare_exactly(&sign, m, j, epsilon) ? sign : 2;
}
