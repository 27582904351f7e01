/* What interval arithmetic decides of the bias on stretches of distances, and pieces of these. */
#include "analyze/formula_private.h"
#include "analyze/series/proof/evaluate.h"
#include "analyze/series/proof/rounding.h"
#include "analyze/series/proof/proof.h"

#include <stdlib.h>

enum { WHOLE_BITS = 200000, /* whole parts of larger values are not told apart */ PASSES = 6 };

/* 1 if floor is the same on the whole range. */
static int same_floor(fmpz_t floor, const struct range *x)
{
    if (!range_is_number(x) || !interval_is_bounded(x->value) ||
        interval_is_huge(x->value, WHOLE_BITS))
        return 0;
    LOCAL(mpz, least, most);
    mpfr_get_z(least, &x->value->left, MPFR_RNDD);
    mpfr_get_z(most, &x->value->right, MPFR_RNDD);
    fmpz_set_mpz(floor, least);
    return mpz_cmp(least, most) == 0;
}

/* A linear combination without the terms 0 * u whose u is a number throughout. */
static int drop_zeros(struct expression_pool *p, const struct expression *x, int *child,
                      const struct ranges *r)
{
    int count = 0;
    fmpq *weight = malloc((size_t)x->count * sizeof *weight);
    if (!weight) {
        p->failed = 1;
        return NODE_NAN;
    }
    for (int i = 0; i < x->count; i++) {
        if (fmpq_is_zero(&x->weight[i]) && range_is_number(&r->node[x->child[i]]))
            continue;
        child[count] = child[i];
        weight[count++] = x->weight[i];
    }
    int made = expression_linear(p, x->q, count, child, weight);
    free(weight);
    return made;
}

/* [2.1] Node x of `p` over the decided `child`, with what the ranges of the old ones decide. */
static int decide_node(struct expression_pool *p, const struct expression *x,
                       const struct range *range, int *child, const struct ranges *r)
{
    const struct range *a = &r->node[x->child[0]];
    int infinite = -1, infinities = 0, numbers = 1;
    for (int i = 0; i < x->count; i++)
        if (p->node[child[i]].kind == X_INFINITY) {
            infinite = i;
            infinities++;
        } else {
            numbers &= range_is_number(&r->node[x->child[i]]);
        }
    if (x->kind == X_NONNEGATIVE) {
        if (range->defined && mpfr_equal_p(&range->value->left, &range->value->right))
            return mpfr_zero_p(&range->value->left) ? NODE_ZERO : NODE_ONE;
    } else if (x->kind == X_FRACTION) {
        LOCAL(fmpz, floor);
        if (same_floor(floor, a))
            return expression_subtract(p, child[0], expression_whole(p, floor));
    } else if (x->kind == X_ABS && range->defined) {
        if (mpfr_sgn(&a->value->left) >= 0)
            return child[0];
        if (mpfr_sgn(&a->value->right) <= 0)
            return expression_subtract(p, NODE_ZERO, child[0]);
    } else if (x->kind == X_LINEAR && infinities == 1 && numbers) {
        int sign = fmpq_sgn(&x->weight[infinite]) *
                   (child[infinite] == NODE_PLUS_INFINITY ? 1 : -1);
        return sign == 0 ? NODE_NAN : sign > 0 ? NODE_PLUS_INFINITY : NODE_MINUS_INFINITY;
    } else if (x->kind == X_LINEAR && !(infinities && numbers)) {
        return drop_zeros(p, x, child, r);
    } else if (x->kind == X_MULTIPLY && infinite >= 0 && numbers) {
        const struct range *other = &r->node[x->child[1 - infinite]];
        if (other->positive || interval_is_negative(other->value))
            return other->positive == (child[infinite] == NODE_PLUS_INFINITY) ? NODE_PLUS_INFINITY
                                                                              : NODE_MINUS_INFINITY;
    } else if (x->kind == X_POWER && child[1] == NODE_ZERO && range_is_number(a)) {
        return NODE_ONE;
    }
    return expression_rebuild(p, x, child);
}

/* One bottom-up pass: node `root` with what the ranges decide put in. */
static int decide(struct expression_pool *p, int root, const struct ranges *r)
{
    int *made = calloc((size_t)root + 1, sizeof *made), widest = 3, result = NODE_NAN;
    for (int k = 0; k < r->count; k++)
        widest = p->node[r->nodes[k]].count > widest ? p->node[r->nodes[k]].count : widest;
    int *child = malloc((size_t)widest * sizeof *child);
    p->failed |= !made || !child;
    for (int k = 0; k < r->count && made && child; k++) {
        int n = r->nodes[k];
        made[n] = n;
        struct expression x = p->node[n]; /* the pool may move while it grows */
        if (x.depends && x.count) {
            for (int i = 0; i < x.count; i++)
                child[i] = made[x.child[i]];
            made[n] = decide_node(p, &x, &r->node[n], child, r);
        }
        result = made[n];
    }
    free(made);
    free(child);
    return result;
}

/* ---- stretches ---- */

void stretch_init(struct stretch *s, const struct problem *f, const struct stretch *within,
                  const fmpz_t first, const fmpz *last)
{
    *s = (struct stretch){.unbounded = !last, .root = f->root};
    fmpz_init_set(s->first, first);
    fmpz_init(s->last);
    if (last)
        fmpz_set(s->last, last);
    if (within && fmpz_cmp(within->first, first) <= 0 &&
        (within->unbounded || (last && fmpz_cmp(last, within->last) <= 0)))
        s->root = within->root;
}

void stretch_clear(struct stretch *s)
{
    fmpz_clear(s->first);
    fmpz_clear(s->last);
}

/* [2.1] */
void stretch_resolve(struct stretch *out, const struct problem *f, const struct stretch *within,
                     const fmpz_t first, const fmpz *last)
{
    struct expression_pool *p = f->pool;
    stretch_init(out, f, within, first, last);
    int given = out->root;
    for (int pass = 0; pass < PASSES; pass++) {
        struct ranges r;
        if (!p->node[out->root].depends) {
            out->settled = expression_is_known(p, out->root);
            break;
        }
        /* an X that is not a power of 2 must differ from its neighbours */
        if (ranges_compute(&r, p, out->root, first, last,
                           96 + (last ? (mpfr_prec_t)fmpz_bits(last) : 0))) {
            p->failed = 1;
            return;
        }
        int defined = r.node[out->root].defined, next = decide(p, out->root, &r);
        ranges_free(&r);
        if (next == out->root) {
            out->settled = defined && !p->node[next].kinked;
            break;
        }
        out->root = next;
    }
    if (!out->settled && last && fmpz_equal(first, last) &&
        p->count < POOL_NODES_MAX / 2) { /* else it is left to its sum */
        out->root = problem_value(p, f, given, first);
        out->settled = expression_is_known(p, out->root);
    }
}

/* ---- pieces ---- */

void proof_init(struct proof *f, const struct problem *problem)
{
    *f = (struct proof){.problem = problem, .verdict = SERIES_UNDECIDED, .claim = SERIES_UNDECIDED};
    fmpz_init(f->tail_from);
    fmpz_init(f->decreasing_from);
}

void proof_clear(struct proof *f)
{
    for (int i = 0; i < f->pieces; i++) {
        fmpz_clear(f->piece[i].first);
        fmpz_clear(f->piece[i].end);
    }
    free(f->piece);
    fmpz_clear(f->tail_from);
    fmpz_clear(f->decreasing_from);
    residues_free(f);
    free(f->words);
    free(f->certificate);
}

static enum piece_kind kind_of(const struct expression_pool *p, const struct stretch *s)
{
    if (!s->settled)
        return PIECE_ROUGH;
    if (!p->node[s->root].depends)
        return s->root == NODE_MINUS_INFINITY ? PIECE_ZERO : PIECE_CONSTANT;
    LOCAL(arb, shift, slope);
    return evaluate_affine(shift, slope, p, s->root, 256) && arb_is_nonzero(slope) &&
                   arb_rel_accuracy_bits(slope) > 64
               ? PIECE_GEOMETRIC
               : PIECE_SMOOTH;
}

/* [2.2] */
int pieces_extend(struct proof *f, const struct stretch *s, struct formula_error *e)
{
    struct piece *last = f->pieces ? &f->piece[f->pieces - 1] : NULL;
    LOCAL(fmpz, first, end);
    if (last)
        fmpz_set(first, last->end);
    fmpz_add_ui(end, s->last, 1);
    if ((last && last->unbounded) || fmpz_cmp(s->first, first) > 0 ||
        (!s->unbounded && fmpz_cmp(end, first) <= 0))
        return formula_refuse(e, 0, "the pieces of the bias do not meet");
    if (f->problem->pool->failed)
        return formula_refuse(e, 0, "the formula is too large to analyse (or out of memory)");
    if (s->settled && problem_refuse(f->problem->pool, s->root, f->problem, first, e))
        return -1;
    enum piece_kind kind = kind_of(f->problem->pool, s);
    int defined = s->settled || f->problem->pool->node[s->root].total ||
                  range_defined(f->problem->pool, s->root, first, s->unbounded ? NULL : s->last);
    if (!last || last->kind != kind || last->root != s->root) {
        if (f->pieces == f->capacity) {
            int capacity = f->capacity ? 2 * f->capacity : 16;
            struct piece *grown = realloc(f->piece, (size_t)capacity * sizeof *grown);
            if (!grown)
                return formula_refuse(e, 0, "out of memory");
            f->piece = grown;
            f->capacity = capacity;
        }
        last = &f->piece[f->pieces++];
        *last = (struct piece){.kind = kind, .root = s->root, .defined = 1};
        fmpz_init_set(last->first, first);
        fmpz_init(last->end);
    }
    last->defined &= defined;
    last->unbounded = s->unbounded;
    if (!s->unbounded)
        fmpz_set(last->end, end);
    return 0;
}
