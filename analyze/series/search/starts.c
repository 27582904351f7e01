/* From which distance on a rule is tried, and which order of two biases. */
#include "analyze/formula_private.h"
#include "analyze/series/search/search.h"

#include <math.h>
#include <stdlib.h>

enum {
    VERDICT_BITS = 1 << 24, /* up to 2^this: ln ln ln X may have to reach e */
    DECREASE_BITS = 4096,
    RESIDUE_BITS = 4096
};

/* Tries the last piece's first distance, then powers of 2, until a rule holds. */
static int first_start(struct summand *f, int (*holds_from)(struct proof *, const fmpz_t),
                       slong most, const char *doing)
{
    const fmpz *first = f->proof.piece[f->proof.pieces - 1].first;
    LOCAL(fmpz, X);
    fmpz_set(X, first);
    if (fmpz_is_zero(X))
        fmpz_one(X);
    for (slong bits = 0; bits <= most && !budget_spent(f->problem.pool->budget, doing);) {
        if (holds_from(&f->proof, X))
            return 1;
        do {
            slong next = bits < 16 ? bits + 1 : bits * 3 / 2;
            bits = next > most && bits < most ? most : next; /* the last one is the farthest */
            fmpz_one_2exp(X, (ulong)bits);
        } while (bits <= most && fmpz_cmp(X, first) <= 0);
    }
    return 0;
}

/* *period becomes a multiple of n. 0 if that is too long. */
static int join(ulong *period, const fmpz *n)
{
    if (fmpz_cmp_ui(n, PERIOD_MAX) > 0)
        return 0;
    *period *= fmpz_get_ui(n) / n_gcd(*period, fmpz_get_ui(n));
    return *period <= PERIOD_MAX;
}

/* A number of distances after which all jumps and waves come back; 1: none is known. */
int search_period(const struct expression_pool *p, int root)
{
    ulong period = 1;
    int known = 1;
    LOCAL(fmpq, w);
    int count = 0, *nodes = expression_below(&count, p, &root, 1);
    for (int k = 0; k < count && known; k++) {
        const struct expression *x = &p->node[nodes[k]],
                                *inside = x->count ? &p->node[x->child[0]] : NULL;
        if (!x->depends)
            continue;
        if (x->kind == X_FRACTION) {
            expression_weight_of_t(w, p, x->child[0]);
            known = join(&period, fmpq_denref(w));
        } else if (x->kind == X_POWER && inside->kind == X_NUMBER &&
                   fmpq_sgn(inside->q) < 0) { /* of 2 t it would be positive */
            expression_weight_of_t(w, p, x->child[1]);
            fmpq_div_2exp(w, w, 1);
            known = join(&period, fmpq_denref(w));
        }
        int linear = inside && inside->kind == X_LINEAR, terms = linear ? inside->count : 1;
        for (int i = 0; i < terms && (x->kind == X_SIN || x->kind == X_COS) && known; i++) {
            const struct expression *turn = linear ? &p->node[inside->child[i]] : inside;
            int first = turn->kind == X_MULTIPLY && p->node[turn->child[0]].kind == X_PI;
            if (!first && (turn->kind != X_MULTIPLY || p->node[turn->child[1]].kind != X_PI))
                continue;
            expression_weight_of_t(w, p, turn->child[first]);
            fmpq_div_2exp(w, w, 1);
            if (linear)
                fmpq_mul(w, w, &inside->weight[i]);
            known = join(&period, fmpq_denref(w));
        }
    }
    free(nodes);
    return known ? (int)period : 1;
}

/* Tries the residues of t from X on, for growing X. */
static int try_residues(struct summand *f)
{
    const struct piece *last = &f->proof.piece[f->proof.pieces - 1];
    LOCAL(fmpz, X);
    for (ulong bits = 4; bits <= RESIDUE_BITS && f->strands > 1 &&
                         !budget_spent(f->problem.pool->budget, "rule 4.10 was tried");
         bits += bits < 40 ? 4 : bits / 2) {
        fmpz_one_2exp(X, bits);
        fmpz_add_ui(X, X, (ulong)f->strands);
        if (fmpz_cmp(X, last->first) < 0)
            fmpz_set(X, last->first);
        if (verdict_by_residues(&f->proof, X, f->strands))
            return 1;
    }
    return 0;
}

int search_first(const int *node, int r)
{
    int first = 0;
    while (node[first] != node[r])
        first++;
    return first;
}

/* At every how many distances Euler's formula may be tried, and whether it is worth that. */
static void find_strands(struct summand *f)
{
    const struct piece *last = &f->proof.piece[f->proof.pieces - 1];
    int kinked = last->kind == PIECE_ROUGH, nodes[PERIOD_MAX], distinct = 0;
    f->strands = search_period(f->problem.pool, last->root);
    for (int r = 0; r < f->strands && distinct <= STRANDS_MAX; r++) {
        nodes[r] = strand_node(f->problem.pool, last->root, r, f->strands);
        distinct += search_first(nodes, r) == r;
    }
    if (distinct > STRANDS_MAX)
        f->strands = 1;
    for (int r = 0; r < f->strands && kinked && !f->no_euler; r++) {
        if (search_first(nodes, r) < r)
            continue;
        struct evaluator *v = evaluator_new(f->problem.pool, nodes[r], 64, NULL);
        LOCAL(acb, z);
        acb_set_ui(z, 1 << 20);
        if (nodes[r] != NODE_MINUS_INFINITY && v)
            evaluator_complex(z, v, z);
        f->no_euler = !v || !acb_is_finite(z);
        evaluator_free(v);
    }
}

int search_verdict(struct summand *f, struct formula_error *e)
{
    int wanted = verdict_begin(&f->proof, e);
    find_strands(f);
    if (wanted <= 0)
        return wanted;
    if (!try_residues(f) &&
        !first_start(f, verdict_by_rate, VERDICT_BITS, "rules 4.4 and 4.5 were tried"))
        first_start(f, verdict_by_growth, VERDICT_BITS, "rule 4.7 was tried");
    if (verdict_close(&f->proof, e))
        return -1;
    if (f->proof.verdict == SERIES_CONVERGES)
        first_start(f, decreases_from, DECREASE_BITS, "it was looked for where f falls");
    return 0;
}

/* ---- order ---- */

/* The value in double at distance t. */
static double bias_at(const struct summand *f, double t)
{
    struct formula_point point = f->problem.at;
    point.t = t;
    return formula_evaluate(f->problem.formula, &point);
}

int search_may_fall(const struct summand *f, const struct summand *g)
{
    double before = INFINITY;
    for (double t = 0; t <= 4096; t = t < 64 ? t + 1 : 2 * t) {
        double a = bias_at(f, t), b = bias_at(g, t),
               change = a - b; /* not a number where both are -inf */
        if (change > before + 1e-6 * (1 + (isfinite(change) ? fabs(a) + fabs(b) : 0)))
            return 0;
        before = isnan(change) ? before : change;
    }
    return 1;
}
