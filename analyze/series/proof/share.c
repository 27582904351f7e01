/* Shares of the mass. */
#include "analyze/series/proof/field.h"

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
    shares_free(m);
    return NULL;
}

void shares_put(struct shares *m, int i, struct sums *s)
{
    m->sums[i] = s;
}

void shares_free(struct shares *m)
{
    if (!m)
        return;
    for (int i = 0; m->sums && i < m->count; i++)
        sums_free(m->sums[i]);
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

static void each_share(arb_t out, struct shares *m, const fmpz_t j,
                       void (*part_at)(arb_t, struct sums *, const fmpz_t))
{
    LOCAL(arb, part);
    arb_zero(out);
    for (int i = 0; i < m->count; i++) {
        part_at(part, m->sums[i], j);
        add_share(out, m, i, part);
    }
}

/* [6.5] */
void shares_below(arb_t out, struct shares *m, const fmpz_t j)
{
    each_share(out, m, j, sums_below);
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
    each_share(out, m, j, sums_term);
}

/* out += those of the distances first <= t < end that are below j. */
static void count_below(fmpz_t out, const fmpz_t first, const fmpz_t end, const fmpz_t j)
{
    const fmpz *last = fmpz_cmp(end, j) < 0 ? end : j;
    if (fmpz_cmp(first, last) >= 0)
        return;
    fmpz_add(out, out, last);
    fmpz_sub(out, out, first);
}

/* The share of the mass below j if f is one number or 0 at every distance. 1, or 0: it is not. */
static int flat_share(fmpq_t out, const struct proof *f, const fmpz *limit, const fmpz_t j)
{
    int root = -1;
    LOCAL(fmpz, below, all);
    for (int i = 0; i < f->pieces; i++) {
        const struct piece *piece = &f->piece[i];
        if (piece->kind == PIECE_ZERO || (limit && fmpz_cmp(piece->first, limit) >= 0))
            continue;
        if (piece->kind != PIECE_CONSTANT || (piece->unbounded && !limit) ||
            (root >= 0 && root != piece->root))
            return 0;
        root = piece->root;
        const fmpz *end = piece->unbounded || (limit && fmpz_cmp(piece->end, limit) > 0)
                              ? limit
                              : piece->end;
        count_below(all, piece->first, end, end);
        count_below(below, piece->first, end, j);
    }
    if (fmpz_is_zero(all))
        return 0;
    fmpq_set_fmpz_frac(out, below, all);
    return 1;
}

/* [6.2] */
int shares_exact(fmpq *share, const struct shares *m, const fmpz_t first, int count)
{
    int exact = 1;
    LOCAL(fmpz, j);
    LOCAL(fmpq, one);
    for (int k = 0; k < count; k++)
        fmpq_zero(&share[k]);
    for (int i = 0; i < m->count && exact; i++)
        for (int k = 0; k < count && exact; k++) {
            fmpz_add_ui(j, first, (ulong)k);
            exact = flat_share(one, sums_proof(m->sums[i]), sums_limit(m->sums[i]), j);
            fmpq_div_fmpz(one, one, (const fmpz[]){m->count});
            fmpq_add(&share[k], &share[k], one);
        }
    return exact;
}

/* [6.2] The same comparison in rational numbers: 1 if it could be made. */
static int compare_exactly(int *sign, const struct shares *m, const fmpz_t j, const fmpq_t epsilon)
{
    LOCAL(fmpq, share, one);
    int exact = shares_exact(share, m, j, 1);
    fmpq_one(one);
    fmpq_sub(share, share, one);
    fmpq_add(share, share, epsilon);
    *sign = fmpq_sgn(share);
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
