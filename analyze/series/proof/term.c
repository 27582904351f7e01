/* The terms of one piece. */
#include "analyze/series/proof/sum_private.h"

/* [5.7] */
void part_term(arb_t out, struct sums *s, const struct part *q, const fmpz_t t)
{
    LOCAL(arb, x);
    LOCAL(fmpz, end);
    arb_set_fmpz(x, t);
    switch (q->piece->kind) {
    case PIECE_ZERO: arb_zero(out); break;
    case PIECE_CONSTANT: arb_set(out, q->constant); break;
    case PIECE_GEOMETRIC:
        arb_mul(x, x, q->slope, s->prec);
        arb_add(x, x, q->constant, s->prec);
        arb_exp(out, x, s->prec);
        break;
    case PIECE_SMOOTH:
    case PIECE_ROUGH:
        fmpz_add_ui(end, q->piece->first, q->points);
        if (s->f->problem->pool->node[q->piece->root].opaque &&
            fmpz_cmp(t, end) >= 0) { /* all terms of its sum to t would be too many */
            arb_indeterminate(out);
            break;
        }
        if (!q->v || evaluator_point(out, q->v, x)) {
            int known = problem_term(out, s->f->problem, q->piece->root, t, s->prec, &s->problem);
            s->unknown |= known == 0;
            s->refused |= known < 0;
        }
        break;
    }
}

/* [5.7] */
void part_add_points(arb_t sum, struct sums *s, const struct part *q, const fmpz_t first,
                     ulong count, arb_ptr prefix)
{
    ulong done = 0;
    LOCAL(fmpz, t);
    arb_ptr block = _arb_vec_init(EVALUATE_BLOCK);
    fmpz_set(t, first);
    while (done < count && !s->refused && !s->unknown) {
        int n = count - done < EVALUATE_BLOCK ? (int)(count - done) : EVALUATE_BLOCK;
        if (!q->waves || fmpz_cmp_ui(t, (ulong)1 << 51) >= 0 ||
            evaluator_block(block, q->v, fmpz_get_ui(t), n)) {
            n = 1;
            part_term(block, s, q, t);
        }
        for (int i = 0; i < n; i++, done++) {
            if (prefix && done % STRIDE == 0)
                arb_set(prefix + done / STRIDE, sum);
            arb_add(sum, sum, block + i, s->prec + 64);
        }
        fmpz_add_ui(t, t, (ulong)n);
    }
    if (done < count)
        arb_indeterminate(sum);
    if (prefix && count % STRIDE == 0)
        arb_set(prefix + count / STRIDE, sum);
    _arb_vec_clear(block, EVALUATE_BLOCK);
}

/* [4.3] exp(b(first)) (exp(slope count) - 1) / (exp(slope) - 1). */
void part_geometric(arb_t out, const struct sums *s, const struct part *q, const fmpz_t count)
{
    LOCAL(arb, x, one);
    slong prec = s->prec + (slong)fmpz_bits(q->piece->first) +
                 (slong)fmpz_bits(count); /* the slope times them is less the constant */
    s->f->problem->pool->budget->done += 5 * work_elementary(prec);
    arb_mul_fmpz(x, q->slope, q->piece->first, prec);
    arb_add(x, x, q->constant, prec);
    arb_exp(out, x, prec);
    arb_mul_fmpz(x, q->slope, count, prec);
    arb_expm1(x, x, prec);
    arb_expm1(one, q->slope, prec);
    arb_div(x, x, one, prec);
    arb_mul(out, out, x, prec);
}
