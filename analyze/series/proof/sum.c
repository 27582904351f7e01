/* Partial sums: piece by piece, each by the means that suit it. */
#include "analyze/series/proof/sum.h"
#include "analyze/formula_private.h"
#include "analyze/series/proof/euler.h"
#include "analyze/series/proof/evaluate.h"
#include "analyze/series/search/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEAD_MAX = 1 << 13, /* points before Euler-Maclaurin's formula, tried up to this */
    STRIDE = 64, /* one prefix sum is kept of so many */
    COARSE_HEAD = 1 << 17, /* points before panels of bounds */
    COARSE_PANELS = 512,
    COARSE_STEPS = 100000, /* nodes times panels */
    ROUGH_BITS = 16, /* a rough last piece is summed up to 2^this */
    FAR_BITS = 40000
};

/* Work of summing point by point: nodes times points, more at higher precision. */
static const double POINT_WORK = 4e7;

/* Bounds of f on a stretch that is too long to be summed point by point. */
struct panel {
    fmpz_t first;
    arb_t term; /* f(t), every t in it */
    arb_t before; /* sum over the panels before it */
};

struct piece_sum {
    const struct piece *piece;
    fmpz_t end; /* of what is summed here: the piece's, the limit, or `far` */
    arb_t total;
    arb_t constant; /* PIECE_CONSTANT: f; PIECE_GEOMETRIC: b at 0 */
    arb_t slope; /* PIECE_GEOMETRIC */
    struct evaluator *v; /* PIECE_SMOOTH, PIECE_ROUGH */
    ulong points; /* the first of them are summed one by one */
    arb_ptr prefix; /* [points / STRIDE + 1] */
    struct euler *euler; /* then this, or */
    struct panel *panel; /* [panels] this */
    int panels;
    int wide; /* more precision would not help */
};

struct sums {
    struct series_summand *f;
    slong prec, target; /* bits of the balls; the error should be about 2^-target */
    int quick, limited, count;
    struct piece_sum *part; /* [count] */
    fmpz_t limit, far;
    arb_t total, tail;
    int exhausted;
    int unknown; /* a value may be a number, an infinity or none: no sum exists for certain */
    char problem[200]; /* why a term is not a number; empty: none was met */
};

/* ---- single terms ---- */

/* f(t) of a piece where the evaluator could not tell. */
static int exact_term(arb_t out, struct sums *s, const struct piece *piece, const fmpz_t t)
{
    struct expression_pool *p = expression_pool_new();
    int n = p ? summand_value(p, s->f, piece->root, t) : NODE_NAN, status = -1;
    if (p && !p->failed) {
        if (p->node[n].kind == X_NAN || n == NODE_PLUS_INFINITY) {
            char *digits = fmpz_get_str(NULL, 10, t);
            snprintf(s->problem, sizeof s->problem, "the value at head %d, distance %.60s is %s (expected a number or -inf)",
                     s->f->at.h, digits, n == NODE_PLUS_INFINITY ? "+inf" : "not a number");
            flint_free(digits);
        } else if (!expression_is_known(p, n)) {
            s->unknown = 1;
        } else {
            evaluate_exp_constant(out, p, n, s->prec);
            status = arb_is_finite(out) ? 0 : -1;
        }
    }
    expression_pool_free(p);
    if (status)
        arb_indeterminate(out);
    return status;
}

static int piece_term(arb_t out, struct sums *s, struct piece_sum *q, const fmpz_t t)
{
    if (q->piece->kind == PIECE_ZERO) {
        arb_zero(out);
        return 0;
    }
    if (q->piece->kind == PIECE_CONSTANT) {
        arb_set(out, q->constant);
        return arb_is_finite(out) ? 0 : -1;
    }
    int status;
    LOCAL(arb, x);
    arb_set_fmpz(x, t);
    if (q->piece->kind == PIECE_GEOMETRIC) {
        arb_mul(x, x, q->slope, s->prec);
        arb_add(x, x, q->constant, s->prec);
        arb_exp(out, x, s->prec);
        status = arb_is_finite(out) ? 0 : -1;
    } else {
        status = evaluator_point(out, q->v, x);
        if (status)
            status = exact_term(out, s, q->piece, t);
    }
    return status;
}

/* ---- point by point ---- */

/* sum += f(first + i), i < count. */
static void add_points(arb_t sum, struct sums *s, struct piece_sum *q, const fmpz_t first, ulong count)
{
    int blocks = s->quick && evaluator_has_waves(q->v) && fmpz_cmp_ui(first, (ulong)1 << 51) < 0 && count < (ulong)1 << 51;
    LOCAL(fmpz, t);
    fmpz_set(t, first);
    arb_ptr block = _arb_vec_init(EVALUATE_BLOCK);
    while (count) {
        int n = count < EVALUATE_BLOCK ? (int)count : EVALUATE_BLOCK;
        if (!blocks || evaluator_block(block, q->v, fmpz_get_ui(t), n)) {
            n = 1;
            piece_term(block, s, q, t);
        }
        for (int i = 0; i < n; i++)
            arb_add(sum, sum, block + i, s->prec + 64);
        fmpz_add_ui(t, t, (ulong)n);
        count -= (ulong)n;
    }
    _arb_vec_clear(block, EVALUATE_BLOCK);
}

/* Sums the first `points` distances of the piece. 0 or -1. */
static int sum_points(struct sums *s, struct piece_sum *q, ulong points)
{
    ulong kept = points / STRIDE + 1;
    q->prefix = calloc(kept, sizeof *q->prefix);
    if (!q->prefix)
        return -1;
    q->points = points;
    for (ulong i = 0; i < kept; i++)
        arb_init(q->prefix + i);
    LOCAL(fmpz, t);
    fmpz_set(t, q->piece->first);
    LOCAL(arb, sum);
    /* whole strides, in blocks where there are waves */
    arb_ptr block = _arb_vec_init(EVALUATE_BLOCK);
    int blocks = s->quick && evaluator_has_waves(q->v) && fmpz_cmp_ui(t, (ulong)1 << 51) < 0;
    ulong done = 0;
    while (done < points && !s->problem[0] && !s->unknown) {
        int n = points - done < EVALUATE_BLOCK ? (int)(points - done) : EVALUATE_BLOCK;
        if (!blocks || evaluator_block(block, q->v, fmpz_get_ui(t), n)) {
            n = 1;
            piece_term(block, s, q, t);
        }
        for (int i = 0; i < n; i++, done++) {
            if (done % STRIDE == 0)
                arb_set(q->prefix + done / STRIDE, sum);
            arb_add(sum, sum, block + i, s->prec + 64);
        }
        fmpz_add_ui(t, t, (ulong)n);
    }
    if (points % STRIDE == 0)
        arb_set(q->prefix + points / STRIDE, sum);
    arb_set(q->total, sum);
    _arb_vec_clear(block, EVALUATE_BLOCK);
    return 0;
}

/* ---- stretches known by bounds alone ---- */

static int coarse_bounds(arb_t out, struct sums *s, const struct piece *piece, const fmpz_t first, const fmpz_t last)
{
    struct ranges r;
    arb_indeterminate(out);
    if (ranges_compute(&r, s->f->pool, piece->root, first, last, 64))
        return -1;
    const struct range *x = &r.node[piece->root];
    s->unknown |= !x->defined;
    LOCAL(arb, high);
    if (x->defined && interval_is_bounded(x->value)) {
        interval_get_lower(out, x->value, 64);
        interval_get_upper(high, x->value, 64);
        arb_exp(out, out, 64);
        arb_exp(high, high, 64);
        if (x->masked)
            arb_zero(out);
        arb_union(out, out, high, 64);
    }
    ranges_free(&r);
    return 0;
}

/* Covers [first, end) of a rough piece by panels, closer ones near its begin. */
static int sum_coarsely(struct sums *s, struct piece_sum *q, const fmpz_t first)
{
    int panels = COARSE_STEPS / (q->piece->root + 1), failed = 0;
    panels = panels < 16 ? 16 : panels > COARSE_PANELS ? COARSE_PANELS : panels;
    q->panel = calloc((size_t)panels, sizeof *q->panel);
    if (!q->panel)
        return -1;
    LOCAL(fmpz, length, last, next);
    fmpz_set(next, first);
    LOCAL(arb, part);
    for (int i = 0; i < panels && fmpz_cmp(next, q->end) < 0 && !failed; i++) {
        struct panel *panel = &q->panel[q->panels++];
        fmpz_init_set(panel->first, next);
        arb_init(panel->term);
        arb_init(panel->before);
        arb_set(panel->before, q->total);
        fmpz_sub(length, q->end, next); /* what is left, in equal parts */
        fmpz_cdiv_q_ui(length, length, (ulong)(panels - i));
        fmpz_add(next, next, length);
        fmpz_sub_ui(last, next, 1);
        failed = coarse_bounds(panel->term, s, q->piece, panel->first, last);
        arb_mul_fmpz(part, panel->term, length, s->prec);
        arb_add(q->total, q->total, part, s->prec);
    }
    q->wide = 1;
    return failed;
}

/* ---- a piece ---- */

/* Distances that may be summed one by one. */
static ulong affordable(const struct sums *s, const struct piece_sum *q)
{
    double nodes = q->piece->root + 8, work = nodes * (1 + (double)s->prec / 256);
    if (s->quick && evaluator_has_waves(q->v))
        work = 10;
    if (s->f->pool->node[q->piece->root].opaque)
        work *= 2000;
    return (ulong)(POINT_WORK / work);
}

/* 0, -1 for memory, 1 where it turns out that a last piece can only be summed point by point. */
static int make_sum(struct sums *s, struct piece_sum *q)
{
    const struct piece *piece = q->piece;
    const struct expression_pool *p = s->f->pool;
    int failed = 0;
    LOCAL(fmpz, length, N);
    LOCAL(arb, rest);
    fmpz_sub(length, q->end, piece->first);
    switch (piece->kind) {
    case PIECE_ZERO: break;
    case PIECE_CONSTANT:
        evaluate_exp_constant(q->constant, p, piece->root, s->prec);
        arb_mul_fmpz(q->total, q->constant, length, s->prec);
        break;
    case PIECE_GEOMETRIC: evaluate_affine(q->constant, q->slope, p, piece->root, s->prec); break;
    case PIECE_SMOOTH:
    case PIECE_ROUGH: {
        /* where the tail is known to a few digits only, so are the points */
        int endless = piece->unbounded && !s->limited,
            blurred = endless && (piece->kind == PIECE_ROUGH || s->f->wild) && s->exhausted;
        q->v = evaluator_new(p, piece->root, s->quick || blurred ? 64 : s->prec);
        if (!q->v) {
            failed = -1;
            break;
        }
        ulong most = affordable(s, q), points = 0;
        int fits = fmpz_cmp_ui(length, most) <= 0,
            blocks = s->quick && fits && evaluator_has_waves(q->v); /* cheaper than Euler-Maclaurin */
        if (piece->kind == PIECE_SMOOTH && !blocks && fmpz_cmp_ui(length, 200) > 0 && !(piece->unbounded && s->f->wild))
            for (ulong head = 0; head <= most && head <= HEAD_MAX && !q->euler; head = head < 16 ? head + 8 : head + head / 4) {
                points = head;
                fmpz_add_ui(N, piece->first, head);
                if (fmpz_cmp(N, q->end) >= 0 || (fits && fmpz_cmp_ui(length, 4 * head) < 0))
                    break;
                q->euler = search_euler(s->f->pool, piece->root, N, q->end, s->prec, s->target);
                if (q->euler)
                    euler_sum(rest, q->euler, q->end);
                if (q->euler && !(arb_is_finite(rest) && mag_cmp_2exp_si(arb_radref(rest), s->prec / 2 - s->target) < 0)) {
                    euler_free(q->euler); /* the integral is too hard */
                    q->euler = NULL;
                    break;
                }
            }
        if (!q->euler && !fits && endless && piece->kind == PIECE_SMOOTH && !s->f->wild) {
            s->f->wild = 1;
            failed = 1;
            break;
        }
        if (!q->euler)
            points = fits ? fmpz_get_ui(length) : most < COARSE_HEAD ? most : COARSE_HEAD;
        failed = sum_points(s, q, points);
        if (!failed && q->euler) {
            arb_add(q->total, q->total, rest, s->prec + 64);
        } else if (!failed && !fits && !s->unknown) {
            fmpz_add_ui(N, piece->first, points);
            failed = sum_coarsely(s, q, N);
        }
        break;
    }
    }
    return failed;
}

/* Sum over first <= t < j of one piece, j within what is summed. */
static void piece_below(arb_t out, struct sums *s, struct piece_sum *q, const fmpz_t j)
{
    const struct piece *piece = q->piece;
    arb_zero(out);
    if (fmpz_cmp(j, piece->first) <= 0)
        return;
    LOCAL(fmpz, count);
    fmpz_sub(count, j, piece->first);
    switch (piece->kind) {
    case PIECE_ZERO: break;
    case PIECE_CONSTANT: arb_mul_fmpz(out, q->constant, count, s->prec); break;
    case PIECE_GEOMETRIC: { /* exp(b(first)) (exp(slope count) - 1) / (exp(slope) - 1) */
        LOCAL(arb, x, one);
        arb_mul_fmpz(x, q->slope, piece->first, s->prec);
        arb_add(x, x, q->constant, s->prec);
        arb_exp(out, x, s->prec);
        arb_mul_fmpz(x, q->slope, count, s->prec);
        arb_expm1(x, x, s->prec);
        arb_expm1(one, q->slope, s->prec);
        arb_div(x, x, one, s->prec);
        arb_mul(out, out, x, s->prec);
        break;
    }
    case PIECE_SMOOTH:
    case PIECE_ROUGH:
        if (fmpz_cmp_ui(count, q->points) <= 0) {
            ulong n = fmpz_get_ui(count);
            LOCAL(fmpz, t);
            fmpz_add_ui(t, piece->first, n / STRIDE * STRIDE);
            arb_set(out, q->prefix + n / STRIDE);
            add_points(out, s, q, t, n % STRIDE);
            break;
        }
        if (q->euler) {
            LOCAL(arb, points);
            LOCAL(fmpz, N);
            fmpz_add_ui(N, piece->first, q->points);
            piece_below(points, s, q, N);
            euler_sum(out, q->euler, j);
            arb_add(out, out, points, s->prec + 64);
            break;
        }
        for (int i = q->panels - 1; i >= 0; i--)
            if (fmpz_cmp(&q->panel[i].first[0], j) <= 0) {
                fmpz_sub(count, j, q->panel[i].first);
                arb_mul_fmpz(out, q->panel[i].term, count, s->prec);
                arb_add(out, out, q->panel[i].before, s->prec);
                break;
            }
        break;
    }
}

/* ---- all of them ---- */

/* log2 of about the sum: the largest of t f(t) over powers of 2. Only how far to go depends on it. */
static slong estimate(const struct series_summand *f, const fmpz *limit)
{
    struct evaluator *v = evaluator_new(f->pool, f->root, 64);
    slong best = 0, most = limit ? (slong)fmpz_bits(limit) - 1 : FAR_BITS;
    int found = 0;
    LOCAL(arb, t, y);
    for (slong bits = -1; v && bits <= most; bits = bits < 32 ? bits + 1 : bits + bits / 16) {
        arb_zero(t);
        if (bits >= 0)
            arb_one(t);
        arb_mul_2exp_si(t, t, bits < 0 ? 0 : bits);
        if (evaluator_point(y, v, t) || arb_is_zero(y) || arf_is_zero(arb_midref(y)))
            continue;
        if (bits > 0)
            arb_mul(y, y, t, 64);
        if (fmpz_fits_si(ARF_EXPREF(arb_midref(y))) && (!found || fmpz_cmp_si(ARF_EXPREF(arb_midref(y)), best) > 0)) {
            best = fmpz_get_si(ARF_EXPREF(arb_midref(y)));
            found = 1;
        }
    }
    evaluator_free(v);
    return best;
}

/* How far to sum before the tail takes over: the least power of 2 tried whose tail is known to 2^-prec. */
static void find_far(struct sums *s)
{
    const struct series_summand *f = s->f;
    const struct piece *last = &f->piece[f->pieces - 1];
    LOCAL(arb, from, tail);
    /* falling integrals with a closed form cost little however far they go, and hold from where f falls */
    int closed = 0;
    if (last->kind == PIECE_SMOOTH && !f->wild && f->decreasing) {
        int vanishes;
        LOCAL(arb, value);
        fmpz_set(s->far, fmpz_cmp(f->decreasing_from, last->first) > 0 ? f->decreasing_from : last->first);
        arb_set_fmpz(from, s->far);
        arb_add_ui(from, from, 64, 64);
        closed = antiderivative(value, &vanishes, f->pool, last->root, from, 64) && vanishes;
    }
    if (!closed)
        fmpz_set(s->far, fmpz_cmp(f->tail_from, last->first) > 0 ? f->tail_from : last->first);
    if (f->tail == TAIL_ZERO || f->tail == TAIL_GEOMETRIC) {
        arb_set_fmpz(from, s->far);
        tail_sum(s->tail, f, from, s->prec + 32);
        return;
    }
    slong bits = (slong)fmpz_bits(s->far);
    slong most = last->kind == PIECE_ROUGH || f->wild ? ROUGH_BITS : closed ? FAR_BITS : bits + 2 * s->prec + 64;
    int found = 0;
    arb_set_fmpz(from, s->far);
    tail_sum(s->tail, f, from, s->prec + 32);
    for (bits = bits < 6 ? 6 : bits + 1; bits <= most && !found; bits = bits < 24 ? bits + 1 : bits + bits / 8) {
        found = arb_is_finite(s->tail) && mag_cmp_2exp_si(arb_radref(s->tail), -s->target - 4) < 0;
        if (found)
            break;
        arb_one(from);
        arb_mul_2exp_si(from, from, bits);
        tail_sum(tail, f, from, s->prec + 32);
        if (arb_is_finite(tail) && (!arb_is_finite(s->tail) || mag_cmp(arb_radref(tail), arb_radref(s->tail)) < 0)) {
            arb_set(s->tail, tail);
            fmpz_one_2exp(s->far, (ulong)bits);
        }
    }
    found = arb_is_finite(s->tail) && mag_cmp_2exp_si(arb_radref(s->tail), -s->target - 4) < 0;
    s->exhausted |= !found;
}

struct sums *sums_new(struct series_summand *f, const fmpz *limit, slong prec, int quick, struct formula_error *e)
{
    struct sums *s = calloc(1, sizeof *s);
    int failed = -1;
    if (!s) {
        formula_refuse(e, 0, "out of memory");
        return NULL;
    }
    s->f = f;
    s->prec = prec;
    s->target = prec - estimate(f, limit);
    s->quick = quick;
    s->limited = limit != NULL;
    fmpz_init(s->limit);
    fmpz_init(s->far);
    arb_init(s->total);
    arb_init(s->tail);
    s->part = calloc((size_t)f->pieces, sizeof *s->part);
    if (!s->part)
        goto end;
    if (limit)
        fmpz_set(s->limit, limit);
    else
        find_far(s);
    failed = 0;
    for (int i = 0; i < f->pieces && !failed; i++) {
        const struct piece *piece = &f->piece[i];
        if (limit && fmpz_cmp(piece->first, limit) >= 0)
            break;
        struct piece_sum *q = &s->part[s->count++];
        q->piece = piece;
        fmpz_init_set(q->end, piece->unbounded ? (limit ? s->limit : s->far) : piece->end);
        if (limit && fmpz_cmp(q->end, limit) > 0)
            fmpz_set(q->end, limit);
        arb_init(q->total);
        arb_init(q->constant);
        arb_init(q->slope);
        failed = make_sum(s, q);
        if (piece->kind == PIECE_GEOMETRIC)
            piece_below(q->total, s, q, q->end);
        arb_add(s->total, s->total, q->total, prec + 64);
        s->exhausted |= q->wide;
        if (failed == 1) { /* once more, now that this is known */
            sums_free(s);
            return sums_new(f, limit, prec, quick, e);
        }
        failed = failed || s->problem[0] ? -1 : 0;
        if (s->unknown)
            arb_indeterminate(s->total);
    }
    if (!limit)
        arb_add(s->total, s->total, s->tail, prec + 64);
end:
    if (failed) {
        formula_refuse(e, 0, "%s", s->problem[0] ? s->problem : "out of memory");
        sums_free(s);
        return NULL;
    }
    return s;
}

void sums_free(struct sums *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->count; i++) {
        struct piece_sum *q = &s->part[i];
        fmpz_clear(q->end);
        arb_clear(q->total);
        arb_clear(q->constant);
        arb_clear(q->slope);
        evaluator_free(q->v);
        for (ulong k = 0; q->prefix && k <= q->points / STRIDE; k++)
            arb_clear(q->prefix + k);
        free(q->prefix);
        euler_free(q->euler);
        for (int k = 0; k < q->panels; k++) {
            fmpz_clear(q->panel[k].first);
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

int sums_exhausted(const struct sums *s)
{
    return s->exhausted;
}

void sums_above(arb_t out, struct sums *s, const arb_t j)
{
    tail_sum(out, s->f, j, s->prec + 32);
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
        struct piece_sum *q = &s->part[i];
        if (fmpz_cmp(q->piece->first, j) >= 0)
            break;
        if (fmpz_cmp(q->end, j) <= 0) {
            arb_add(out, out, q->total, s->prec + 64);
        } else {
            piece_below(part, s, q, j);
            arb_add(out, out, part, s->prec + 64);
        }
    }
}

int sums_term(arb_t out, struct sums *s, const fmpz_t j)
{
    for (int i = s->count - 1; i >= 0; i--)
        if (fmpz_cmp(s->part[i].piece->first, j) <= 0)
            return piece_term(out, s, &s->part[i], j);
    arb_indeterminate(out);
    return -1;
}
