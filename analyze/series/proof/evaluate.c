/* Evaluation of exp(b) in balls, complex balls and power series. */
#include "analyze/series/proof/evaluate_private.h"
#include "analyze/series/proof/rounding.h"

#include <math.h>
#include <stdlib.h>

enum {
    FIXED_BITS = 1 << 17, /* exp(exp(10)) less a whole number */
    WIDE_BITS = 4 /* of a value: fewer are worth a second way */
};

/* [1.3] */
void evaluate_fixed_part(arb_t out, const struct expression_pool *p, const struct expression *x,
                         slong prec)
{
    LOCAL(arb, a, w);
    for (slong bits = prec;; bits *= 2) {
        arb_set_fmpq(out, x->q, bits);
        for (int i = 0; i < x->count; i++) {
            if (p->node[x->child[i]].depends)
                continue;
            evaluate_constant(a, p, x->child[i], bits);
            arb_set_fmpq(w, &x->weight[i], bits);
            arb_addmul(out, a, w, bits);
        }
        if (bits >= FIXED_BITS || !arb_is_finite(out) || arb_rel_accuracy_bits(out) >= prec - 16 ||
            mag_cmp_2exp_si(arb_radref(out), -prec) < 0)
            return;
    }
}

int evaluate_line_in(arb_t shift, arb_t slope, const struct expression_pool *p, int n, int u,
                     slong prec)
{
    const struct expression *x = &p->node[n];
    int affine = 1;
    if (!x->depends) {
        evaluate_constant(shift, p, n, prec);
        arb_zero(slope);
        return 1;
    }
    if (n == u) {
        arb_zero(shift);
        arb_one(slope);
        return 1;
    }
    if (x->kind != X_LINEAR && x->kind != X_MULTIPLY)
        return 0;
    LOCAL(arb, a, b, w);
    if (x->kind == X_MULTIPLY) {
        int constant = !p->node[x->child[0]].depends ? 0 : !p->node[x->child[1]].depends ? 1 : -1;
        affine = constant >= 0 && evaluate_line_in(a, b, p, x->child[1 - constant], u, prec);
        if (affine) {
            evaluate_constant(w, p, x->child[constant], prec);
            arb_mul(shift, a, w, prec);
            arb_mul(slope, b, w, prec);
        }
    } else {
        arb_zero(slope);
        evaluate_fixed_part(shift, p, x, prec);
        for (int i = 0; i < x->count && affine; i++) {
            if (!p->node[x->child[i]].depends)
                continue;
            affine = evaluate_line_in(a, b, p, x->child[i], u, prec);
            arb_set_fmpq(w, &x->weight[i], prec);
            arb_addmul(shift, a, w, prec);
            arb_addmul(slope, b, w, prec);
        }
    }
    return affine;
}

int evaluate_affine(arb_t shift, arb_t slope, const struct expression_pool *p, int n, slong prec)
{
    return evaluate_line_in(shift, slope, p, n, NODE_T_ITSELF, prec);
}

static void part_add(struct part *list, int *count, int step, const fmpq *weight, slong prec)
{
    struct part *part = &list[(*count)++];
    *part = (struct part){.step = step};
    arb_init(part->weight);
    arb_set_fmpq(part->weight, weight, prec);
    part->whole = fmpz_is_one(fmpq_denref(weight)) && fmpz_bits(fmpq_numref(weight)) < 8;
    part->power = part->whole ? fmpz_get_si(fmpq_numref(weight)) : 0;
}

/* Elementary functions take some ten times as long as sums and products. */
static double cost_of(const struct evaluator *v, int beside_waves)
{
    double elementary = work_elementary(v->prec), sum = 1 + (double)v->prec / 512,
           cost = elementary;
    for (int i = 0; i < v->steps; i++) {
        const struct step *s = &v->step[i];
        if (s->depends && (s->beside || !beside_waves))
            cost += expression_is_elementary(s->kind) ? elementary : (1 + s->count) * sum;
    }
    for (int i = 0; i < v->bases; i++)
        cost += v->base[i].whole ? 2 * sum : 1.5 * elementary;
    return cost;
}

/* Finds the waves among the terms. 0 or -1. */
static int find_waves(struct evaluator *v, const struct expression_pool *p, const int *node_of_term)
{
    double weights = 0;
    if (v->terms < 8)
        return 0;
    v->wave = calloc((size_t)v->terms, sizeof *v->wave);
    if (!v->wave)
        return -1;
    for (int i = 0; i < v->terms; i++) {
        const struct expression *x = &p->node[node_of_term[i]];
        struct wave *w = &v->wave[v->waves];
        if (x->kind != X_SIN && x->kind != X_COS)
            continue;
        arb_init(w->shift);
        arb_init(w->frequency);
        w->is_sine = x->kind == X_SIN;
        w->weight = arf_get_d(arb_midref(v->term[i].weight), ARF_RND_NEAR);
        if (!evaluate_affine(w->shift, w->frequency, p, x->child[0], 160) ||
            !(fabs(w->weight) < 1e100) || !arb_is_finite(w->frequency) ||
            !arb_is_finite(w->shift)) {
            arb_clear(w->shift);
            arb_clear(w->frequency);
            continue;
        }
        weights += fabs(w->weight);
        v->term[i].wave = ++v->waves;
    }
    /* A product of two cosines known to 2^-54 each is off by less than 2^-51 after rounding, and
     * adding n of them by n 2^-53 more, all times the weights; twice that covers its rounding. */
    v->wave_error = weights * (v->waves + 16) * 0x1p-51;
    for (int i = 0; i < v->terms + v->bases; i++) {
        const struct part *part = i < v->terms ? &v->term[i] : &v->base[i - v->terms];
        v->step[part->step].beside |= !part->wave;
    }
    for (int i = v->steps - 1; i >= 0; i--)
        for (int k = 0; v->step[i].beside && k < v->step[i].count; k++)
            v->step[v->step[i].child[k]].beside = 1;
    return 0;
}

struct evaluator *evaluator_new(const struct expression_pool *p, int root, slong prec,
                                const fmpz *near)
{
    LOCAL(fmpq, one);
    const struct expression *x = &p->node[root];
    int count = x->kind == X_LINEAR ? x->count : 1, failed = 1, steps, *nodes = NULL;
    struct evaluator *v = calloc(1, sizeof *v);
    int *node_of_term = calloc((size_t)count, sizeof *node_of_term);
    if (!v || !node_of_term)
        goto end;
    v->p = p;
    v->more = near ? significant_bits(near) : 0;
    arb_init(v->q);
    for (int more = 0; more <= 1 && x->kind == X_LINEAR;
         more++) { /* other terms cancel most of a large constant */
        evaluate_fixed_part(v->q, p, x, prec + v->more);
        if (arf_cmpabs_2exp_si(arb_midref(v->q), v->more) > 0 &&
            arf_cmpabs_2exp_si(arb_midref(v->q), FIXED_BITS) < 0)
            v->more = arf_abs_bound_lt_2exp_si(arb_midref(v->q));
    }
    v->prec = prec += v->more;
    v->term = calloc((size_t)count, sizeof *v->term);
    v->base = calloc((size_t)count, sizeof *v->base);
    if (!v->term || !v->base)
        goto end;
    for (int i = 0; i < count; i++) { /* of a logarithm, what it is of */
        int n = x->kind == X_LINEAR ? x->child[i] : root;
        node_of_term[i] = p->node[n].kind == X_LN ? p->node[n].child[0] : n;
    }
    nodes = expression_below(&steps, p, node_of_term, count);
    if (!nodes || evaluator_steps(v, p, nodes, steps))
        goto end;
    fmpq_one(one);
    for (int i = 0; i < count; i++) {
        int n = x->kind == X_LINEAR ? x->child[i] : root;
        const fmpq *weight = x->kind == X_LINEAR ? &x->weight[i] : one;
        if (x->kind == X_LINEAR && !p->node[n].depends)
            continue;
        if (p->node[n].kind == X_LN) {
            part_add(v->base, &v->bases, evaluator_place(v, p->node[n].child[0]), weight, prec);
        } else {
            node_of_term[v->terms] = n;
            part_add(v->term, &v->terms, evaluator_place(v, n), weight, prec);
        }
    }
    failed = find_waves(v, p, node_of_term);
    v->cost = cost_of(v, 0);
    v->beside_cost = cost_of(v, 1);
end:
    free(nodes);
    free(node_of_term);
    if (failed) {
        evaluator_free(v);
        return NULL;
    }
    return v;
}

slong evaluator_more(const struct evaluator *v)
{
    return v->more;
}

void evaluator_free(struct evaluator *v)
{
    if (!v)
        return;
    for (int i = 0; i < v->steps; i++)
        step_clear(&v->step[i]);
    for (int i = 0; i < v->terms; i++)
        arb_clear(v->term[i].weight);
    for (int i = 0; i < v->bases; i++)
        arb_clear(v->base[i].weight);
    for (int i = 0; i < v->waves; i++) {
        arb_clear(v->wave[i].shift);
        arb_clear(v->wave[i].frequency);
    }
    arb_clear(v->q);
    free(v->step);
    free(v->term);
    free(v->base);
    free(v->wave);
    free(v);
}

/* ---- points ---- */

/* The fraction of q + w t in rational numbers, where balls could not tell (t / 7 at t = 14). */
static void rational_fraction(struct step *s, const struct evaluator *v, const arb_t t)
{
    const struct expression *inside = &v->p->node[v->p->node[s->node].child[0]];
    if (inside->kind != X_LINEAR || inside->count != 1 || inside->child[0] != NODE_T_ITSELF)
        return;
    LOCAL(fmpz, n);
    LOCAL(fmpq, q);
    if (arb_get_unique_fmpz(n, t) && arb_is_exact(t)) {
        fmpq_mul_fmpz(q, &inside->weight[0], n);
        fmpq_add(q, q, inside->q);
        fmpz_fdiv_r(fmpq_numref(q), fmpq_numref(q), fmpq_denref(q));
        arb_set_fmpz(s->real, fmpq_numref(q));
        arb_div_fmpz(s->real, s->real, fmpq_denref(q), v->prec);
    }
}

void evaluator_run(struct evaluator *v, const arb_t t, int beside_waves)
{
    for (int i = 0; i < v->steps; i++) {
        struct step *s = &v->step[i];
        if (!s->depends || (beside_waves && !s->beside))
            continue;
        step_real(s, v->step, t, v->prec);
        if (s->kind == X_FRACTION && !arb_is_finite(s->real))
            rational_fraction(s, v, t);
    }
}

int evaluator_finish(arb_t out, struct evaluator *v, const arb_t sum)
{
    int status = exp_of(out, sum, v->prec, v->p->budget);
    LOCAL(arb, factor);
    for (int i = 0; i < v->bases && status == 0; i++) {
        const struct part *base = &v->base[i];
        const arb_struct *u = v->step[base->step].real;
        if (!arb_is_positive(u)) {
            status = -1;
            break;
        }
        if (base->whole && base->power < 0) {
            arb_pow_ui(factor, u, (ulong)-base->power, v->prec);
            arb_div(out, out, factor, v->prec);
        } else {
            if (base->whole)
                arb_pow_ui(factor, u, (ulong)base->power, v->prec);
            else
                power_real(factor, u, base->weight, v->prec);
            arb_mul(out, out, factor, v->prec);
        }
    }
    return status == 0 && arb_is_finite(out) ? 0 : -1;
}

int evaluator_point(arb_t out, struct evaluator *v, const arb_t t)
{
    LOCAL(arb, sum);
    v->p->budget->done += v->cost;
    evaluator_run(v, t, 0);
    arb_set(sum, v->q);
    for (int i = 0; i < v->terms; i++)
        arb_addmul(sum, v->term[i].weight, v->step[v->term[i].step].real, v->prec);
    return evaluator_finish(out, v, sum);
}

/* ---- complex balls and power series ---- */

/* exp(b) on a set, from its parts. 1 if b is analytic on it: exp(b) may be too large for a ball. */
static int complex_by_parts(acb_t out, struct evaluator *v, const acb_t z)
{
    int analytic;
    v->p->budget->done += 1.5 * v->cost;
    for (int i = 0; i < v->steps; i++)
        if (v->step[i].depends)
            step_complex(&v->step[i], v->step, z, v->prec);
    LOCAL(acb, factor);
    acb_set_arb(out, v->q);
    for (int i = 0; i < v->terms; i++)
        acb_addmul_arb(out, v->step[v->term[i].step].complex, v->term[i].weight, v->prec);
    analytic = acb_is_finite(out);
    acb_exp(out, out, v->prec);
    for (int i = 0; i < v->bases; i++) {
        const struct part *base = &v->base[i];
        const acb_struct *u = v->step[base->step].complex;
        if (base->whole) {
            acb_pow_si(factor, u, base->power, v->prec);
        } else {
            acb_log_analytic(factor, u, 1, v->prec);
            acb_mul_arb(factor, factor, base->weight, v->prec);
            acb_exp(factor, factor, v->prec);
        }
        analytic &= acb_is_finite(factor);
        acb_mul(out, out, factor, v->prec);
    }
    return analytic;
}

/* The power series of b around the point, or the points, of the last complex evaluation. */
static void exponent_series(acb_poly_t out, struct evaluator *v, slong length)
{
    LOCAL(acb_poly, log);
    v->p->budget->done += 2 * v->cost * (double)length;
    for (int i = 0; i < v->steps; i++)
        if (v->step[i].depends)
            step_series(&v->step[i], v->step, length, v->prec);
    acb_poly_zero(out);
    for (int i = 0; i < v->terms; i++)
        series_addmul(out, v->step[v->term[i].step].series, v->term[i].weight, v->prec);
    for (int i = 0; i < v->bases; i++) {
        acb_poly_log_series(log, v->step[v->base[i].step].series, length, v->prec);
        series_addmul(out, log, v->base[i].weight, v->prec);
    }
}

/* [5.2] On a wide set f is also f(m) exp((z - m) b'), m its midpoint: there terms may cancel. */
void evaluator_complex(acb_t out, struct evaluator *v, const acb_t z)
{
    LOCAL(acb, set, middle, beside);
    LOCAL(acb_poly, b);
    LOCAL(mag, by_parts, by_slope);
    acb_set(set, z); /* which may be out */
    int analytic = complex_by_parts(out, v, set), finite = acb_is_finite(out);
    if (acb_is_exact(set) || !analytic || (finite && acb_rel_accuracy_bits(out) > WIDE_BITS))
        return;
    acb_get_mid(middle, set);
    acb_sub(set, set, middle, v->prec);
    exponent_series(b, v, 2);
    acb_poly_get_coeff_acb(beside, b, 1);
    acb_mul(beside, beside, set, v->prec);
    acb_exp(beside, beside, v->prec);
    complex_by_parts(set, v, middle);
    acb_mul(beside, beside, set, v->prec);
    acb_get_mag(by_parts, out);
    acb_get_mag(by_slope, beside);
    if (acb_is_finite(beside) && (!finite || mag_cmp(by_slope, by_parts) < 0))
        acb_swap(out, beside);
}

void evaluator_taylor(arb_poly_t out, struct evaluator *v, const arb_t t, slong length)
{
    LOCAL(acb_poly, b);
    LOCAL(acb, f, z);
    acb_set_arb(z, t);
    complex_by_parts(f, v, z);
    exponent_series(b, v, length);
    arb_poly_zero(out);
    for (slong n = 1; n < acb_poly_length(b); n++)
        arb_poly_set_coeff_arb(out, n, acb_realref(acb_poly_get_coeff_ptr(b, n)));
    arb_poly_exp_series(out, out, length, v->prec);
    arb_poly_scalar_mul(out, out, acb_realref(f), v->prec);
}
