/* Distances that are summed apart: those of one residue. */
#include "analyze/series/proof/summand.h"

int strand_node(struct expression_pool *p, int root, int r, const struct strands *s)
{
    LOCAL(fmpq, q, w);
    fmpq_set_si(q, r, 1);
    fmpq_set_si(w, s->count, 1);
    int t = expression_linear(p, q, 1, (const int[]){NODE_T_ITSELF}, w);
    return t == NODE_T_ITSELF ? root : expression_replace(p, p, root, t);
}

void strand_distance(fmpz_t t, const fmpz_t n, int r, const struct strands *s)
{
    fmpz_mul_si(t, n, s->count);
    fmpz_add_si(t, t, r);
}

void strand_place(fmpz_t n, const fmpz_t t, int r, const struct strands *s)
{
    fmpz_sub_si(n, t, r);
    fmpz_cdiv_q_si(n, n, s->count);
}

void strand_near(arb_t n, const arb_t from, int r, const struct strands *s, slong prec)
{
    arb_sub_si(n, from, r, prec);
    arb_div_si(n, n, s->count, prec);
}
