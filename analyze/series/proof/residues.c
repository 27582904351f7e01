/* Where the bias has a growth for each residue of t, as (-1)^t; or one for all t, modulo 1. */
#include "analyze/series/proof/rounding.h"
#include "analyze/series/proof/proof.h"

#include <stdlib.h>

int strand_node(struct expression_pool *p, int root, int r, int strands)
{
    LOCAL(fmpq, q, w);
    fmpq_set_si(q, r, 1);
    fmpq_set_si(w, strands, 1);
    int t = expression_linear(p, q, 1, (const int[]){NODE_T_ITSELF}, w);
    return t == NODE_T_ITSELF ? root : expression_replace(p, p, root, t);
}

void strand_place(fmpz_t n, const fmpz_t t, int r, int strands)
{
    fmpz_sub_si(n, t, r);
    fmpz_cdiv_q_si(n, n, strands);
}

void residues_free(struct proof *f)
{
    for (int r = 0; f->residue && r < f->residues; r++) {
        growth_free(f->residue[r].growth);
        growth_free(f->residue[r].closer);
    }
    free(f->residue);
    f->residue = NULL;
    f->residues = 0;
}

/* [4.10] */
int residues_new(struct proof *f, const fmpz_t X, int strands)
{
    int root = f->piece[f->pieces - 1].root, known = 1;
    LOCAL(fmpz, N);
    residues_free(f);
    f->residue = calloc((size_t)strands, sizeof *f->residue);
    if (!f->residue)
        return -1;
    f->residues = strands;
    strand_place(N, X, 0, strands);
    for (int r = 0; r < strands && known; r++) {
        struct residue *x = &f->residue[r];
        x->node = strand_node(f->problem->pool, root, r, strands);
        while (f->residue[x->first].node != x->node)
            x->first++;
        if (x->first == r && x->node != NODE_MINUS_INFINITY)
            known = (x->growth = growth_new(f->problem->pool, x->node, N)) != NULL;
    }
    if (known)
        return 0;
    residues_free(f);
    return -1;
}

int residues_diverge(const struct proof *f)
{
    int diverge = 0;
    for (int r = 0; r < f->residues; r++)
        diverge |= f->residue[r].growth && f->residue[r].growth->verdict > 0;
    return diverge;
}

/* The growth from N or a little before on: kept, as the next question is often near. */
static const struct growth *closer_growth(struct residue *x, struct expression_pool *p,
                                          const fmpz_t N)
{
    LOCAL(fmpz, near);
    ulong low = fmpz_bits(N) > 4 ? fmpz_bits(N) - 4 : 0;
    fmpz_fdiv_q_2exp(near, N, low);
    fmpz_mul_2exp(near, near, low);
    if (fmpz_cmp(near, x->growth->from) <= 0)
        return x->growth;
    if (!x->closer || !fmpz_equal(near, x->closer->from)) {
        growth_free(x->closer);
        x->closer = growth_new(p, x->node, near);
    }
    return x->closer ? x->closer : x->growth;
}

/* [4.10] */
void residues_tail(arb_t out, const struct proof *f, const arb_t from, slong prec)
{
    LOCAL(arb, n, next, tail, other);
    LOCAL(fmpz, whole, N);
    int near = arb_is_exact(from) && arf_cmpabs_2exp_si(arb_midref(from), TAIL_FAR_BITS) <= 0 &&
               arb_get_unique_fmpz(whole, from);
    arb_ptr asked = _arb_vec_init(2 * f->residues),
            known = asked + f->residues; /* the n of each growth's last tail, and that */
    arb_zero(out);
    for (int r = 0; r < f->residues; r++) {
        int first = f->residue[r].first;
        struct residue *x = &f->residue[first];
        if (!x->growth)
            continue;
        if (near) {
            strand_place(N, whole, r, f->residues);
            arb_set_fmpz(n, N);
            if (first < r && arb_equal(n, asked + first)) {
                arb_add(out, out, known + first, prec);
                continue;
            }
            growth_tail(tail, closer_growth(x, f->problem->pool, N), n, prec);
        } else { /* between n and n + 1: at most that one with its first term, at least the other */
            arb_sub_si(n, from, r, prec);
            arb_div_si(n, n, f->residues, prec);
            growth_tail(tail, x->growth, n, prec);
            if (!arb_equal(n, from)) {
                arb_add_ui(next, n, 1, prec);
                growth_tail(other, x->growth, next, prec);
                arb_union(tail, tail, other, prec);
            }
        }
        if (!ball_reaches(n, x->growth->from))
            arb_indeterminate(tail);
        arb_add(out, out, tail, prec);
        arb_set(asked + first, n);
        arb_set(known + first, tail);
    }
    _arb_vec_clear(asked, 2 * f->residues);
}
