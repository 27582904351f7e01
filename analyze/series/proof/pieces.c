/* Where the bias has which form: the distances are split until every comparison, min, max, abs and floor is decided on each
 * piece. */
#include "analyze/formula_private.h"
#include "analyze/series/proof/evaluate.h"
#include "analyze/series/proof/summand.h"

#include <stdlib.h>
#include <string.h>

enum {
    STEPS = 60000, /* nodes times intervals that are looked at */
    TAIL_BITS = 33500, /* a last piece may begin at 2^this, some 10^10000 */
    WHOLE_BITS = 200000, /* whole parts of larger values are not told apart */
    PIECES = 200, /* besides those between breaks that can be read off */
    ROUGH_BITS = 22 /* where none is found, distances are looked at one interval at a time up to 2^this */
};

struct splitting {
    struct series_summand *f;
    struct formula_error *e;
    long budget; /* intervals */
    int most; /* pieces: what has more is not worth taking apart */
    int failed;
};

/* 1 if floor is the same on the whole range. */
static int same_floor(fmpz_t floor, const struct range *x)
{
    int same = x->defined && !x->masked && interval_is_bounded(x->value) && !interval_is_beyond(x->value, WHOLE_BITS);
    if (!same)
        return 0;
    LOCAL(mpz, least, most);
    mpfr_get_z(least, &x->value->left, MPFR_RNDD);
    mpfr_get_z(most, &x->value->right, MPFR_RNDD);
    same = mpz_cmp(least, most) == 0;
    fmpz_set_mpz(floor, least);
    return same;
}

/* A linear combination without the terms 0 * u whose u is a number throughout. */
static int drop_zeros(struct expression_pool *p, const struct expression *x, int *child, const struct ranges *r)
{
    int count = 0;
    fmpq *weight = malloc((size_t)x->count * sizeof *weight);
    if (!weight) {
        p->failed = 1;
        return NODE_NAN;
    }
    for (int i = 0; i < x->count; i++) {
        const struct range *u = &r->node[x->child[i]];
        if (fmpq_is_zero(&x->weight[i]) && u->defined && !u->masked)
            continue;
        child[count] = child[i];
        weight[count++] = x->weight[i];
    }
    int made = expression_linear(p, x->q, count, child, weight);
    free(weight);
    return made;
}

/* One bottom-up pass: node `root` with what the ranges decide put in. */
static int decide(struct expression_pool *p, int root, const struct ranges *r)
{
    int *made = calloc((size_t)root + 1, sizeof *made), widest = 3, result;
    for (int n = 0; n <= root; n++)
        widest = r->needed[n] && p->node[n].count > widest ? p->node[n].count : widest;
    int *child = malloc((size_t)widest * sizeof *child);
    if (!made || !child) {
        free(made);
        free(child);
        p->failed = 1;
        return NODE_NAN;
    }
    LOCAL(fmpz, floor);
    for (int n = 0; n <= root; n++) {
        made[n] = n;
        if (!r->needed[n])
            continue;
        struct expression x = p->node[n]; /* the pool may move while it grows */
        const struct range *range = &r->node[n];
        if (!x.depends || x.count == 0)
            continue;
        int finite = 1, infinite = -1, test = x.kind == X_POSITIVE || x.kind == X_NONNEGATIVE || x.kind == X_ZERO;
        for (int i = 0; i < x.count; i++) {
            child[i] = made[x.child[i]];
            if (p->node[child[i]].kind == X_INFINITY)
                infinite = i;
            else
                finite &= r->node[x.child[i]].defined && !r->node[x.child[i]].masked;
        }
        if (test && range->defined && mpfr_equal_p(&range->value->left, &range->value->right)) {
            made[n] = mpfr_zero_p(&range->value->left) ? NODE_ZERO : NODE_ONE;
        } else if (x.kind == X_FRACTION && same_floor(floor, &r->node[x.child[0]])) {
            made[n] = expression_subtract(p, child[0], expression_whole(p, floor));
        } else if (x.kind == X_ABS && range->defined && mpfr_sgn(&r->node[x.child[0]].value->left) >= 0) {
            made[n] = child[0];
        } else if (x.kind == X_ABS && range->defined && mpfr_sgn(&r->node[x.child[0]].value->right) <= 0) {
            made[n] = expression_subtract(p, NODE_ZERO, child[0]);
        } else if ((x.kind == X_MIN || x.kind == X_MAX) &&
                   p->node[child[2]].kind == X_INFINITY) { /* they are infinitely far apart */
            made[n] = (x.kind == X_MIN) == (child[2] == NODE_MINUS_INFINITY) ? child[0] : child[1];
        } else if ((x.kind == X_MIN || x.kind == X_MAX) && infinite < 0 && r->node[x.child[2]].defined &&
                   !r->node[x.child[2]].masked &&
                   (mpfr_sgn(&r->node[x.child[2]].value->left) >= 0 || mpfr_sgn(&r->node[x.child[2]].value->right) <= 0)) {
            int a_least = mpfr_sgn(&r->node[x.child[2]].value->right) <= 0;
            made[n] = (x.kind == X_MIN) == a_least ? child[0] : child[1];
        } else if (x.kind == X_LINEAR && infinite >= 0 && finite) {
            int sign = fmpq_sgn(&x.weight[infinite]) * (child[infinite] == NODE_PLUS_INFINITY ? 1 : -1), infinities = 0;
            for (int i = 0; i < x.count; i++)
                infinities += p->node[child[i]].kind == X_INFINITY;
            made[n] = infinities > 1 ? expression_rebuild(p, &x, child)
                      : sign == 0    ? NODE_NAN
                      : sign > 0     ? NODE_PLUS_INFINITY
                                     : NODE_MINUS_INFINITY;
        } else if (x.kind == X_MULTIPLY && infinite >= 0 && finite &&
                   (r->node[x.child[1 - infinite]].positive || interval_is_negative(r->node[x.child[1 - infinite]].value))) {
            made[n] = r->node[x.child[1 - infinite]].positive == (child[infinite] == NODE_PLUS_INFINITY) ? NODE_PLUS_INFINITY
                                                                                                         : NODE_MINUS_INFINITY;
        } else if (x.kind == X_LINEAR) {
            made[n] = drop_zeros(p, &x, child, r);
        } else if (x.kind == X_POWER && child[1] == NODE_ZERO && r->node[x.child[0]].defined && !r->node[x.child[0]].masked) {
            made[n] = NODE_ONE;
        } else {
            made[n] = expression_rebuild(p, &x, child);
        }
    }
    result = made[root];
    free(made);
    free(child);
    return result;
}

/* The expression that the bias is on [lo, hi] (hi NULL: unbounded); *settled: no kinks are left and it is a number throughout, or
 * an infinity, or not-a-number. What does not depend on t and is not settled never will be. */
static int resolve(int *settled, struct series_summand *f, int root, const fmpz_t lo, const fmpz *hi)
{
    struct ranges r;
    *settled = 0;
    for (int pass = 0; pass < 6; pass++) {
        if (!f->pool->node[root].depends) {
            *settled = expression_is_known(f->pool, root);
            return root;
        }
        /* an X that is no power of 2 must be told from its neighbours */
        if (ranges_compute(&r, f->pool, root, lo, hi, 96 + (hi ? (mpfr_prec_t)fmpz_bits(hi) : 0))) {
            f->pool->failed = 1;
            return root;
        }
        int defined = r.node[root].defined, next = decide(f->pool, root, &r);
        ranges_free(&r);
        if (next == root) {
            *settled = defined && !f->pool->node[root].kinked;
            return root;
        }
        root = next;
    }
    return root;
}

static void refuse(struct splitting *s, const char *why)
{
    if (!s->failed)
        formula_refuse(s->e, 0, "%s", why);
    s->failed = 1;
}

/* Appends a piece, or makes the last one longer. end NULL: unbounded. */
static void append(struct splitting *s, int root, const fmpz_t first, const fmpz *end, int settled)
{
    struct series_summand *f = s->f;
    const struct expression *x = &f->pool->node[root];
    struct piece *last = f->pieces ? &f->piece[f->pieces - 1] : NULL;
    if (settled && (x->kind == X_NAN || root == NODE_PLUS_INFINITY)) {
        char *t = fmpz_get_str(NULL, 10, first);
        char text[200];
        snprintf(text, sizeof text, "the value at head %d, distance %.60s is %s (expected a number or -inf)", f->at.h, t,
                 x->kind == X_NAN ? "not a number" : "+inf");
        flint_free(t);
        refuse(s, text);
        return;
    }
    enum piece_kind kind = !settled                      ? PIECE_ROUGH
                           : root == NODE_MINUS_INFINITY ? PIECE_ZERO
                           : !x->depends                 ? PIECE_CONSTANT
                                                         : PIECE_SMOOTH;
    if (kind == PIECE_SMOOTH) {
        LOCAL(arb, shift, slope);
        if (evaluate_affine(shift, slope, f->pool, root, 256) && arb_is_nonzero(slope) && arb_rel_accuracy_bits(slope) > 64)
            kind = PIECE_GEOMETRIC;
    }
    int defined = settled;
    if (!settled) {
        struct ranges r;
        LOCAL(fmpz, hi);
        if (end)
            fmpz_sub_ui(hi, end, 1);
        if (ranges_compute(&r, f->pool, root, first, end ? hi : NULL, 64) == 0) {
            defined = r.node[root].defined;
            ranges_free(&r);
        }
    }
    if (last && last->kind == kind && last->root == root) {
        last->defined &= defined;
        last->unbounded = !end;
        if (end)
            fmpz_set(last->end, end);
        return;
    }
    if (f->pieces == f->capacity) {
        int capacity = f->capacity ? 2 * f->capacity : 16;
        struct piece *grown = realloc(f->piece, (size_t)capacity * sizeof *grown);
        if (!grown) {
            refuse(s, "out of memory");
            return;
        }
        f->piece = grown;
        f->capacity = capacity;
    }
    struct piece *piece = &f->piece[f->pieces++];
    *piece = (struct piece){.kind = kind, .root = root, .unbounded = !end, .defined = defined};
    fmpz_init_set(piece->first, first);
    fmpz_init(piece->end);
    if (end)
        fmpz_set(piece->end, end);
}

/* Distances lo <= t < end. */
static void split(struct splitting *s, int root, const fmpz_t lo, const fmpz_t end)
{
    struct series_summand *f = s->f;
    int settled, found;
    if (s->failed || f->pool->failed || fmpz_cmp(lo, end) >= 0)
        return;
    if (s->budget-- <= 0 || f->pieces > s->most) {
        append(s, f->root, lo, end, 0);
        return;
    }
    LOCAL(fmpz, hi, middle);
    fmpz_sub_ui(hi, end, 1);
    found = resolve(&settled, f, root, lo, hi);
    if (!settled && fmpz_equal(lo, hi)) {
        found = summand_value(f->pool, f, root, lo);
        settled = expression_is_known(f->pool, found);
    }
    if (settled || fmpz_equal(lo, hi) || !f->pool->node[found].depends) {
        append(s, found, lo, end, settled);
    } else {
        fmpz_mul_ui(middle, lo, 4);
        fmpz_add_ui(middle, middle, 8);
        if (fmpz_cmp(hi, middle) > 0) { /* in the geometric middle where the ends are far apart */
            fmpz_add_ui(middle, lo, 1);
            fmpz_mul(middle, middle, end);
            fmpz_sqrt(middle, middle);
        } else {
            fmpz_add(middle, lo, end);
            fmpz_fdiv_q_2exp(middle, middle, 1);
        }
        split(s, found, lo, middle);
        split(s, found, middle, end);
    }
}

int summand_value(struct expression_pool *to, const struct series_summand *f, int root, const fmpz_t t)
{
    if (!f->pool->node[root].opaque)
        return expression_substitute(to, f->pool, root, t);
    struct formula_error ignored;
    int n = expression_build(to, f->formula, &f->at, t, &ignored);
    if (n < 0)
        return expression_opaque(to);
    return expression_subtract(to, n, expression_whole(to, f->shift));
}

/* ---- breaks that can be read off: where a test, abs, min or max compares q + w t with 0 ---- */

struct breaks {
    fmpz *at;
    int count;
};

static int by_size(const void *a, const void *b)
{
    return fmpz_cmp(a, b);
}

/* The first whole t at which q + w t has another sign, and the one before it, for every such node. 0 or -1. */
static int find_breaks(struct breaks *breaks, const struct expression_pool *p)
{
    breaks->count = 0;
    breaks->at = calloc(2 * (size_t)p->count, sizeof *breaks->at);
    if (!breaks->at)
        return -1;
    LOCAL(fmpq, root);
    LOCAL(fmpz, floor);
    for (int n = 0; n < p->count; n++) {
        const struct expression *x = &p->node[n];
        int decided = x->kind == X_MIN || x->kind == X_MAX ? 2 : 0;
        if (x->kind < X_ABS || x->kind == X_FRACTION || x->kind == X_CHOOSE || x->kind == X_OPAQUE)
            continue;
        const struct expression *inside = &p->node[x->child[decided]];
        if (x->child[decided] == NODE_T_ITSELF)
            fmpq_zero(root);
        else if (inside->kind == X_LINEAR && inside->count == 1 && inside->child[0] == NODE_T_ITSELF &&
                 !fmpq_is_zero(&inside->weight[0]))
            fmpq_div(root, inside->q, &inside->weight[0]);
        else
            continue;
        fmpq_neg(root, root);
        fmpz_fdiv_q(floor, fmpq_numref(root), fmpq_denref(root));
        if (fmpz_sgn(floor) < 0)
            continue;
        fmpz_set(&breaks->at[breaks->count++], floor);
        fmpz_add_ui(&breaks->at[breaks->count++], floor, 1);
    }
    qsort(breaks->at, (size_t)breaks->count, sizeof *breaks->at, by_size);
    return 0;
}

int summand_split(struct series_summand *f, struct formula_error *e)
{
    struct splitting s = {.f = f, .e = e};
    struct breaks breaks;
    int settled = 0, tail = f->root, opaque = f->pool->node[f->root].opaque;
    if (find_breaks(&breaks, f->pool))
        return formula_refuse(e, 0, "out of memory");
    LOCAL(fmpz, lo, from, last);
    s.budget = STEPS / (f->root + 1);
    s.budget = s.budget < 50 ? 50 : s.budget > 4000 ? 4000 : s.budget;
    s.most = PIECES + breaks.count;
    if (breaks.count)
        fmpz_set(last, &breaks.at[breaks.count - 1]);
    /* a last piece [X, inf): X after the last break, then powers of 2, ever farther */
    for (slong bits = -1; bits <= TAIL_BITS && !settled && !opaque; bits = bits < 4 ? bits + 1 : bits * 3 / 2) {
        fmpz_one_2exp(from, bits < 0 ? 0 : (ulong)bits);
        if (bits < 0 || fmpz_cmp(from, last) < 0)
            fmpz_set(from, last);
        tail = resolve(&settled, f, f->root, from, NULL);
        if (!f->pool->node[tail].depends)
            break;
    }
    if (!settled && f->pool->node[tail].depends) {
        fmpz_one_2exp(from, ROUGH_BITS);
        if (fmpz_cmp(from, last) < 0)
            fmpz_set(from, last);
        if (opaque)
            fmpz_zero(from);
        tail = f->root;
    }
    for (int i = 0; i <= breaks.count; i++) { /* up to each break, then to the last piece */
        const fmpz *end = i < breaks.count && fmpz_cmp(&breaks.at[i], from) < 0 ? &breaks.at[i] : from;
        split(&s, f->root, lo, end);
        fmpz_set(lo, end);
    }
    if (!s.failed)
        append(&s, tail, from, NULL, settled);
    if (f->pool->failed)
        refuse(&s, "the formula is too large to analyse (or out of memory)");
    for (int i = 0; i < breaks.count; i++)
        fmpz_clear(&breaks.at[i]);
    free(breaks.at);
    return s.failed ? -1 : 0;
}
