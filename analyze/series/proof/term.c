/* The terms of one piece. */
#include "analyze/series/proof/sum_private.h"

enum { NEGLIGIBLE = 4 /* times as many bits as the sum has */ };

/* [5.7] f(t) where the bias has a sum to t: by ratios from the last one asked for, or from the begin of the stretch that t is in.
 * 1, or 0 where that is not known. */
static int run_on(arb_t out, struct sums *s, const struct part *q, const fmpz_t t)
{
    LOCAL(fmpz, before);
    LOCAL(arb, x);
    LOCAL(mag, most);
    fmpz_sub(before, t, s->at);
    if (fmpz_sgn(before) < 0 || fmpz_sgn(s->at) < 0 || fmpz_cmp_ui(before, STRIDE) >= 0) {
        fmpz_sub(before, t, q->piece->first);
        if (!q->term || fmpz_cmp_ui(before, q->points) > 0)
            return 0;
        fmpz_fdiv_q_ui(before, before, STRIDE);
        arb_set(s->last, q->term + fmpz_get_ui(before));
        fmpz_mul_ui(before, before, STRIDE);
        fmpz_add(s->at, q->piece->first, before);
    }
    if (fmpz_cmp(s->at, s->f->step_from) < 0)
        return 0;
    while (fmpz_cmp(s->at, t) < 0) {
        fmpz_add_ui(s->at, s->at, 1);
        arb_set_fmpz(x, s->at);
        if (evaluator_point(x, q->ratio, x))
            return 0;
        arb_mul(s->last, s->last, x, s->prec + 32);
    }
    arb_set(out, s->last);
    if (arb_is_positive(out))
        return 1;
    arb_get_mag(most, out); /* a ball about 0 will do where all that it may hold is too little to count */
    return mag_cmp_2exp_si(most, -NEGLIGIBLE * s->prec) < 0;
}

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
        if (q->ratio && run_on(out, s, q, t))
            break;
        fmpz_add_ui(end, q->piece->first, q->points);
        if (s->f->pool->node[q->piece->root].opaque && fmpz_cmp(t, end) >= 0) { /* all terms of its sum to t would be too many */
            arb_indeterminate(out);
            break;
        }
        if (!q->v || evaluator_point(out, q->v, x)) {
            int known = summand_term(out, s->f, q->piece->root, t, s->prec, &s->problem);
            s->unknown |= known == 0;
            s->refused |= known < 0;
        }
        if (q->ratio) {
            fmpz_set(s->at, t);
            arb_set(s->last, out);
        }
        break;
    }
}

/* [5.7] */
void part_add_points(arb_t sum, struct sums *s, const struct part *q, const fmpz_t first, ulong count, arb_ptr prefix)
{
    ulong done = 0;
    LOCAL(fmpz, t);
    arb_ptr block = _arb_vec_init(EVALUATE_BLOCK);
    fmpz_set(t, first);
    while (done < count && !s->refused && !s->unknown) {
        int n = count - done < EVALUATE_BLOCK ? (int)(count - done) : EVALUATE_BLOCK;
        if (!q->waves || fmpz_cmp_ui(t, (ulong)1 << 51) >= 0 || evaluator_block(block, q->v, fmpz_get_ui(t), n)) {
            n = 1;
            part_term(block, s, q, t);
        }
        for (int i = 0; i < n; i++, done++) {
            if (prefix && done % STRIDE == 0)
                arb_set(prefix + done / STRIDE, sum);
            if (prefix && q->term && done % STRIDE == 0)
                arb_set(q->term + done / STRIDE, block + i);
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
void part_geometric(arb_t out, const struct part *q, const fmpz_t count, slong prec)
{
    LOCAL(arb, x, one);
    prec += (slong)fmpz_bits(q->piece->first) + (slong)fmpz_bits(count); /* the slope times them is less the constant */
    work_done += 5 * work_elementary(prec);
    arb_mul_fmpz(x, q->slope, q->piece->first, prec);
    arb_add(x, x, q->constant, prec);
    arb_exp(out, x, prec);
    arb_mul_fmpz(x, q->slope, count, prec);
    arb_expm1(x, x, prec);
    arb_expm1(one, q->slope, prec);
    arb_div(x, x, one, prec);
    arb_mul(out, out, x, prec);
}
