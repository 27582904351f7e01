/* Partial sums: piece by piece, each by the means it is told. */
#include "analyze/series/proof/sum.h"
#include "analyze/formula_private.h"
#include "analyze/series/proof/rounding.h"

#include <stdlib.h>
#include <string.h>

enum {
    STRIDE = 64, /* one of this many prefix sums is kept */
    STRAND_WORK = 1 /* of adding one up that is kept */
};

/* Bounds of f on a stretch that is not summed point by point. */
struct panel {
    fmpz_t first, end;
    arb_t term; /* f(t), every t in it */
    arb_t before; /* sum over the panels before it */
};

/* The terms at the distances of one strand, n = 0, 1, 2, ...: a sum over n. */
struct strand {
    int node, first; /* b there, in n; the first with this node, which has */
    struct euler *euler; /* for all of them; NULL: f is 0 there */
};

struct part {
    const struct piece *piece;
    fmpz_t end; /* of what is summed here: the piece's, the limit, or `far` */
    arb_t total, by_euler; /* all of it; what Euler's formula adds */
    arb_t constant; /* PIECE_CONSTANT: f; PIECE_GEOMETRIC: b at 0 */
    arb_t slope; /* PIECE_GEOMETRIC */
    struct evaluator *v; /* PIECE_SMOOTH, PIECE_ROUGH */
    int waves; /* in double */
    ulong points; /* the first of them are summed one by one */
    arb_ptr prefix; /* [points / STRIDE + 1] */
    struct strand *strand; /* [strands] then these, or */
    int strands;
    struct panel *panel; /* [panels] this */
    int panels, capacity;
};

struct sums {
    const struct proof *f;
    slong prec;
    int limited, count, tails;
    struct part *part; /* [count] */
    fmpz_t limit, far;
    arb_t total, tail;
    int unknown; /* a value may be a number, an infinity or none: no sum exists for certain */
    int refused; /* a term is not a number: */
    struct formula_error problem;
};

struct sums *sums_new(const struct proof *f, const fmpz *limit, slong prec)
{
    struct sums *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->f = f;
    s->prec = prec;
    s->limited = limit != NULL;
    fmpz_init(s->limit);
    fmpz_init(s->far);
    arb_init(s->total);
    arb_init(s->tail);
    arb_indeterminate(s->total);
    arb_indeterminate(s->tail);
    if (limit)
        fmpz_set(s->limit, limit);
    s->part = calloc((size_t)f->pieces, sizeof *s->part);
    if (s->part)
        return s;
    sums_free(s);
    return NULL;
}

static void strands_free(struct part *q)
{
    for (int r = 0; r < q->strands; r++) {
        euler_free(q->strand[r].euler);
    }
    free(q->strand);
    q->strand = NULL;
    q->strands = 0;
}

void sums_free(struct sums *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->count; i++) {
        struct part *q = &s->part[i];
        fmpz_clear(q->end);
        arb_clear(q->total);
        arb_clear(q->by_euler);
        arb_clear(q->constant);
        arb_clear(q->slope);
        evaluator_free(q->v);
        if (q->prefix)
            _arb_vec_clear(q->prefix, (slong)(q->points / STRIDE + 1));
        strands_free(q);
        for (int k = 0; k < q->panels; k++) {
            fmpz_clear(q->panel[k].first);
            fmpz_clear(q->panel[k].end);
            arb_clear(q->panel[k].term);
            arb_clear(q->panel[k].before);
        }
        free(q->panel);
    }
    free(s->part);
    fmpz_clear(s->limit);
    fmpz_clear(s->far);
    arb_clear(s->total);
    arb_clear(s->tail);
    free(s);
}

/* ---- the terms of one piece ---- */

/* [5.7] f(t), indeterminate where it is not known. */
static void part_term(arb_t out, struct sums *s, const struct part *q, const fmpz_t t)
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

/* [5.7] sum += f(first + i), i < count; prefix (or NULL): the sum before every STRIDE of them. */
static void part_add_points(arb_t sum, struct sums *s, const struct part *q, const fmpz_t first,
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
static void part_geometric(arb_t out, const struct sums *s, const struct part *q,
                           const fmpz_t count)
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

/* ---- making them ---- */

const arb_struct *sums_offer_tail(struct sums *s, const fmpz_t X)
{
    LOCAL(arb, from, tail);
    if (s->limited || s->count || s->f->verdict != SERIES_CONVERGES ||
        fmpz_cmp(X, s->f->piece[s->f->pieces - 1].first) < 0)
        return s->tail;
    arb_set_fmpz(from, X);
    tail_sum(tail, s->f, from, s->prec + 32);
    if (!s->tails++ ||
        (arb_is_finite(tail) &&
         (!arb_is_finite(s->tail) || mag_cmp(arb_radref(tail), arb_radref(s->tail)) < 0))) {
        arb_set(s->tail, tail);
        fmpz_set(s->far, X);
    }
    return s->tail;
}

int sums_next_piece(struct sums *s, const struct piece **piece, const fmpz **end)
{
    const struct expression_pool *p = s->f->problem->pool;
    LOCAL(fmpz, length);
    if (s->count == s->f->pieces ||
        (s->limited && fmpz_cmp(s->f->piece[s->count].first, s->limit) >= 0))
        return -1;
    struct part *q = &s->part[s->count];
    *q = (struct part){.piece = &s->f->piece[s->count]};
    s->count++;
    fmpz_init_set(q->end, q->piece->unbounded ? (s->limited ? s->limit : s->far) : q->piece->end);
    if (s->limited && fmpz_cmp(q->end, s->limit) > 0)
        fmpz_set(q->end, s->limit);
    arb_init(q->total);
    arb_init(q->by_euler);
    arb_init(q->constant);
    arb_init(q->slope);
    fmpz_sub(length, q->end, q->piece->first);
    *piece = q->piece;
    *end = q->end;
    switch (q->piece->kind) {
    case PIECE_ZERO: return 0;
    case PIECE_CONSTANT:
        evaluate_exp_constant(q->constant, p, q->piece->root, s->prec);
        arb_mul_fmpz(q->total, q->constant, length, s->prec);
        return 0;
    case PIECE_GEOMETRIC:
        evaluate_affine(q->constant, q->slope, p, q->piece->root,
                        s->prec + (slong)fmpz_bits(q->end));
        if (fmpz_sgn(length) > 0)
            part_geometric(q->total, s, q, length);
        return 0;
    case PIECE_SMOOTH:
    case PIECE_ROUGH: break;
    }
    return 1;
}

int sums_evaluate(struct sums *s, slong prec, int waves)
{
    struct part *q = &s->part[s->count - 1];
    q->v = evaluator_new(s->f->problem->pool, q->piece->root, prec, q->piece->first);
    q->waves = waves && q->v && evaluator_has_waves(q->v);
    return q->v ? q->waves : -1;
}

double sums_cost(const struct sums *s, const fmpz_t t)
{
    const struct part *q = &s->part[s->count - 1];
    struct formula_error ignored;
    LOCAL(arb, x);
    arb_set_fmpz(x, t);
    if (!s->f->problem->pool->node[q->piece->root].opaque && evaluator_point(x, q->v, x) == 0)
        return evaluator_cost(q->v, q->waves);
    const struct budget *budget = s->f->problem->pool->budget;
    double before = budget->done;
    problem_term(x, s->f->problem, q->piece->root, t, s->prec, &ignored);
    return budget->done - before;
}

int sums_points(struct sums *s, ulong count)
{
    struct part *q = &s->part[s->count - 1];
    q->points = count;
    q->prefix = _arb_vec_init((slong)(count / STRIDE + 1));
    part_add_points(q->total, s, q, q->piece->first, count, q->prefix);
    return 0;
}

/* [5.1] The sum up to before t by Euler's formula, strand by strand. */
static void strands_below(arb_t out, const struct sums *s, const struct part *q, const fmpz_t t)
{
    LOCAL(fmpz, n);
    fmpz *asked = _fmpz_vec_init(q->strands); /* the n of each strand's last sum, */
    arb_ptr sum = _arb_vec_init(q->strands); /* and that */
    s->f->problem->pool->budget->done += STRAND_WORK * q->strands;
    arb_zero(out);
    for (int r = 0; r < q->strands; r++) {
        int first = q->strand[r].first;
        if (!q->strand[first].euler)
            continue;
        strand_place(n, t, r, q->strands);
        if (first == r || !fmpz_equal(n, asked + first))
            euler_sum(sum + first, q->strand[first].euler, n);
        fmpz_set(asked + first, n);
        arb_add(out, out, sum + first, s->prec + 64);
    }
    _fmpz_vec_clear(asked, q->strands);
    _arb_vec_clear(sum, q->strands);
}

/* Whether the strands go on where the points end, up to the end of what is summed. */
static int strands_follow(const struct sums *s, const struct part *q, const fmpz_t points_end)
{
    int follow = q->strands > 0;
    LOCAL(fmpz, n, end);
    for (int r = 0; r < q->strands && follow; r++) {
        const struct strand *x = &q->strand[q->strand[r].first];
        if (!x->euler) {
            follow = x->node == NODE_MINUS_INFINITY;
            continue;
        }
        strand_place(n, points_end, r, q->strands);
        strand_place(end, q->end, r, q->strands);
        follow = euler_covers(x->euler, s->f->problem->pool, x->node, n, end);
    }
    return follow;
}

int sums_euler(struct sums *s, struct euler *const *e, int strands, slong radius_log2)
{
    struct part *q = &s->part[s->count - 1];
    strands_free(q);
    q->strand = calloc((size_t)strands, sizeof *q->strand);
    if (!q->strand) {
        for (int r = 0; r < strands; r++)
            euler_free(e[r]);
        return -1;
    }
    q->strands = strands;
    for (int r = 0; r < strands; r++) {
        struct strand *x = &q->strand[r];
        *x = (struct strand){.node = strand_node(s->f->problem->pool, q->piece->root, r, strands),
                             .euler = e[r]};
        while (q->strand[x->first].node != x->node)
            x->first++;
    }
    strands_below(q->by_euler, s, q, q->end);
    if (arb_is_finite(q->by_euler) && mag_cmp_2exp_si(arb_radref(q->by_euler), radius_log2) < 0) {
        /* a logarithm to a whole power may be analytic where b has no value */
        s->unknown |= q->piece->kind == PIECE_ROUGH && !q->piece->defined &&
                      !s->f->problem->pool->node[q->piece->root].total &&
                      s->f->verdict == SERIES_UNDECIDED;
        return 1;
    }
    strands_free(q);
    arb_zero(q->by_euler);
    return 0;
}

/* [5.9] */
static int bounds_of(arb_t out, struct sums *s, const struct piece *piece, const fmpz_t first,
                     const fmpz_t last)
{
    struct range x;
    LOCAL(arb, low, high);
    arb_indeterminate(out);
    if (range_compute(&x, s->f->problem->pool, piece->root, first, last, 64))
        return -1;
    s->unknown |= !x.defined && !piece->defined && !s->f->problem->pool->node[piece->root].total &&
                  s->f->verdict == SERIES_UNDECIDED;
    if (x.defined && interval_is_bounded(x.value)) {
        interval_get_lower(low, x.value, 64);
        interval_get_upper(high, x.value, 64);
        arb_exp(low, low, 64);
        arb_exp(high, high, 64);
        if (x.masked)
            arb_zero(low);
        arb_union(out, low, high, 64);
    }
    range_clear(&x);
    return 0;
}

/* Where what is summed of a part ends. */
static void reached(fmpz_t out, const struct sums *s, const struct part *q)
{
    fmpz_add_ui(out, q->piece->first, q->points);
    if (q->panels)
        fmpz_set(out, q->panel[q->panels - 1].end);
    else if (strands_follow(s, q, out))
        fmpz_set(out, q->end);
}

int sums_bound(struct sums *s, const fmpz_t next)
{
    struct part *q = &s->part[s->count - 1];
    LOCAL(fmpz, first, length, last);
    LOCAL(arb, term, sum);
    reached(first, s, q);
    fmpz_sub(length, next, first);
    fmpz_sub_ui(last, next, 1);
    if (fmpz_sgn(length) <= 0)
        return 0;
    if (bounds_of(term, s, q->piece, first, last))
        return -1;
    arb_mul_fmpz(sum, term, length, s->prec);
    if (q->panels == q->capacity) {
        int capacity = q->capacity ? 2 * q->capacity : 64;
        struct panel *grown = realloc(q->panel, (size_t)capacity * sizeof *grown);
        if (!grown)
            return -1;
        q->panel = grown;
        q->capacity = capacity;
    }
    struct panel *panel = &q->panel[q->panels++];
    fmpz_init_set(panel->first, first);
    fmpz_init_set(panel->end, next);
    arb_init(panel->term);
    arb_init(panel->before);
    arb_set(panel->before, q->total);
    arb_set(panel->term, term);
    arb_add(q->total, q->total, sum, s->prec);
    return 0;
}

int sums_close(struct sums *s, struct formula_error *e)
{
    LOCAL(fmpz, to);
    int whole = s->count && !s->unknown && (s->limited || s->count == s->f->pieces);
    if (s->refused) {
        *e = s->problem;
        return -1;
    }
    arb_zero(s->total);
    for (int i = 0; i < s->count; i++) {
        struct part *q = &s->part[i];
        if (q->piece->kind == PIECE_SMOOTH || q->piece->kind == PIECE_ROUGH) {
            reached(to, s, q);
            whole &= fmpz_cmp(to, q->end) >= 0;
        }
        arb_add(q->total, q->total, q->by_euler, s->prec + 64);
        arb_add(s->total, s->total, q->total, s->prec + 64);
        fmpz_set(to, q->end);
    }
    if (!whole || (s->limited && fmpz_cmp(to, s->limit) < 0))
        arb_indeterminate(s->total);
    if (!s->limited)
        arb_add(s->total, s->total, s->tail, s->prec + 64);
    return 0;
}

/* ---- asking ---- */

/* Sum over first <= t < j of one piece, j within what is summed. */
static void part_below(arb_t out, struct sums *s, const struct part *q, const fmpz_t j)
{
    LOCAL(fmpz, count, t);
    LOCAL(arb, by_euler);
    arb_zero(out);
    fmpz_sub(count, j, q->piece->first);
    if (fmpz_sgn(count) <= 0)
        return;
    switch (q->piece->kind) {
    case PIECE_ZERO: return;
    case PIECE_CONSTANT: arb_mul_fmpz(out, q->constant, count, s->prec); return;
    case PIECE_GEOMETRIC: part_geometric(out, s, q, count); return;
    case PIECE_SMOOTH:
    case PIECE_ROUGH: break;
    }
    if (fmpz_cmp_ui(count, q->points) <= 0 || q->strands) {
        ulong n = fmpz_cmp_ui(count, q->points) <= 0 ? fmpz_get_ui(count) : q->points;
        fmpz_add_ui(t, q->piece->first, n / STRIDE * STRIDE);
        if (n)
            arb_set(out, q->prefix + n / STRIDE);
        part_add_points(out, s, q, t, n % STRIDE, NULL);
        if (fmpz_cmp_ui(count, q->points) > 0) {
            strands_below(by_euler, s, q, j);
            arb_add(out, by_euler, out, s->prec + 64);
        }
        return;
    }
    arb_indeterminate(out);
    for (int i = q->panels - 1; i >= 0; i--)
        if (fmpz_cmp(q->panel[i].first, j) <= 0) {
            fmpz_sub(count, j, q->panel[i].first);
            arb_mul_fmpz(out, q->panel[i].term, count, s->prec);
            arb_add(out, out, q->panel[i].before, s->prec);
            return;
        }
}

void sums_below(arb_t out, struct sums *s, const fmpz_t j)
{
    LOCAL(arb, part);
    if (!s->limited && fmpz_cmp(j, s->far) > 0) {
        LOCAL(arb, from);
        arb_set_fmpz(from, j);
        sums_above(part, s, from);
        arb_sub(out, s->total, part, s->prec + 64);
        return;
    }
    arb_zero(out);
    for (int i = 0; i < s->count; i++) {
        const struct part *q = &s->part[i];
        if (fmpz_cmp(q->piece->first, j) >= 0)
            break;
        if (fmpz_cmp(q->end, j) <= 0) {
            arb_add(out, out, q->total, s->prec + 64);
        } else {
            part_below(part, s, q, j);
            arb_add(out, out, part, s->prec + 64);
        }
    }
}

void sums_above(arb_t out, const struct sums *s, const arb_t j)
{
    if (s->limited)
        arb_indeterminate(out);
    else
        tail_sum(out, s->f, j, s->prec + 32);
}

void sums_term(arb_t out, struct sums *s, const fmpz_t j)
{
    int unknown =
        s->unknown; /* that one value cannot be told far out does not make the sums doubtful */
    for (int i = s->count - 1; i >= 0; i--)
        if (fmpz_cmp(s->part[i].piece->first, j) <= 0) {
            part_term(out, s, &s->part[i], j);
            s->unknown = unknown;
            return;
        }
    arb_indeterminate(out);
}

const arb_struct *sums_total(const struct sums *s)
{
    return s->total;
}

int sums_unknown(const struct sums *s)
{
    return s->unknown;
}

const fmpz *sums_far(const struct sums *s)
{
    return s->far;
}

const fmpz *sums_limit(const struct sums *s)
{
    return s->limited ? s->limit : NULL;
}

const struct proof *sums_proof(const struct sums *s)
{
    return s->f;
}
