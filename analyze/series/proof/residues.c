/* Where the bias has a growth for each residue of t: floor(t/8), sin(pi t/3), (-1)^t; or one for all t, those modulo 1. */
#include "analyze/series/proof/rounding.h"
#include "analyze/series/proof/summand.h"

#include <stdlib.h>

void residues_free(struct series_summand *f)
{
    for (int r = 0; f->residue && r < f->period; r++) {
        growth_free(f->residue[r].growth);
        growth_free(f->residue[r].closer);
    }
    free(f->residue);
    f->residue = NULL;
    f->period = 0;
}

int summand_strand(const struct series_summand *f, int root, int r, int period)
{
    LOCAL(fmpq, q, w);
    if (period == 1)
        return root;
    fmpq_set_si(q, r, 1);
    fmpq_set_si(w, period, 1);
    int t = expression_linear(f->pool, q, 1, (const int[]){NODE_T_ITSELF}, w);
    return expression_replace(f->pool, f->pool, root, t);
}

void strand_place(fmpz_t n, const fmpz_t t, int r, int period)
{
    fmpz_sub_ui(n, t, (ulong)r);
    fmpz_cdiv_q_ui(n, n, (ulong)period);
}

/* [4.10] */
int residues_new(struct series_summand *f, const fmpz_t X, int period)
{
    int known = 1;
    LOCAL(fmpz, N);
    residues_free(f);
    f->residue = calloc((size_t)period, sizeof *f->residue);
    if (!f->residue)
        return -1;
    f->period = period;
    fmpz_cdiv_q_ui(N, X, (ulong)period);
    for (int r = 0; r < period && known; r++) {
        struct residue *x = &f->residue[r];
        x->node = summand_strand(f, f->piece[f->pieces - 1].root, r, period);
        while (f->residue[x->first].node != x->node)
            x->first++;
        if (x->first == r && x->node != NODE_MINUS_INFINITY)
            known = (x->growth = growth_new(f->pool, x->node, N, NULL)) != NULL;
    }
    if (known)
        return 0;
    residues_free(f);
    return -1;
}

int residues_diverge(const struct series_summand *f)
{
    int diverge = 0;
    for (int r = 0; r < f->period; r++)
        diverge |= f->residue[r].growth && f->residue[r].growth->verdict > 0;
    return diverge;
}

/* The growth from N or a little before on: kept, as the next question is often near. */
static const struct growth *closer_growth(struct residue *x, struct expression_pool *p, const fmpz_t N)
{
    LOCAL(fmpz, near);
    ulong low = fmpz_bits(N) > 4 ? fmpz_bits(N) - 4 : 0;
    fmpz_fdiv_q_2exp(near, N, low);
    fmpz_mul_2exp(near, near, low);
    if (fmpz_cmp(near, x->growth->from) <= 0)
        return x->growth;
    if (!x->closer || !fmpz_equal(near, x->closer->from)) {
        growth_free(x->closer);
        x->closer = growth_new(p, x->node, near, NULL);
    }
    return x->closer ? x->closer : x->growth;
}

/* [4.10] */
void residues_tail(arb_t out, const struct series_summand *f, const arb_t from, slong prec)
{
    LOCAL(arb, n, next, tail, other);
    LOCAL(fmpz, whole, N);
    int near = arb_is_exact(from) && arf_cmpabs_2exp_si(arb_midref(from), TAIL_FAR_BITS) <= 0 && arb_get_unique_fmpz(whole, from);
    arb_ptr asked = _arb_vec_init(2 * f->period), known = asked + f->period; /* the n of each growth's last tail, and that */
    arb_zero(out);
    for (int r = 0; r < f->period; r++) {
        int first = f->residue[r].first;
        struct residue *x = &f->residue[first];
        if (!x->growth)
            continue;
        if (near) {
            strand_place(N, whole, r, f->period);
            arb_set_fmpz(n, N);
            if (first < r && arb_equal(n, asked + first)) {
                arb_add(out, out, known + first, prec);
                continue;
            }
            growth_tail(tail, closer_growth(x, f->pool, N), n, prec);
        } else { /* it is between n and n + 1: at most the one with its first term, at least the integral from the other on */
            arb_sub_ui(n, from, (ulong)r, prec);
            arb_div_ui(n, n, (ulong)f->period, prec);
            growth_tail(tail, x->growth, n, prec);
            if (f->period > 1) {
                arb_add_ui(next, n, 1, prec);
                growth_tail(other, x->growth, next, prec);
                arb_union(tail, tail, other, prec);
            }
        }
        arb_set_fmpz(next, x->growth->from);
        if (!arb_ge(n, next))
            arb_indeterminate(tail);
        arb_add(out, out, tail, prec);
        arb_set(asked + first, n);
        arb_set(known + first, tail);
    }
    _arb_vec_clear(asked, 2 * f->period);
}
