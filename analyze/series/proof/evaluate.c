/* Evaluation in balls, complex balls and power series. */
#include "analyze/series/proof/evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One node in the order of evaluation. */
struct step {
    enum expression_kind kind;
    int node, count, depends;
    int beside; /* needed although the waves are added up apart */
    int *child; /* [count] steps */
    arb_ptr weight; /* [count] X_LINEAR */
    arb_t q; /* X_LINEAR, X_NUMBER, X_INFINITY */
    arb_t real; /* value of the last evaluation; of a constant for good */
    acb_t complex;
    arb_poly_t series;
};

/* exp(b) = exp(q + sum of weight * term) * product of base^power: logarithms with a constant weight become powers, which is
 * faster and analytic in a larger region when the power is whole. */
struct part {
    int step;
    arb_t weight;
    int whole; /* a base with a small whole power */
    slong power;
    int wave; /* index of the wave + 1, 0 if it is none */
};

/* weight * cos(shift + frequency t), or sin. */
struct wave {
    int is_sine;
    arb_t shift, frequency;
    double weight;
    double cosine[EVALUATE_BLOCK], sine[EVALUATE_BLOCK]; /* of frequency * i */
    int sharp; /* all of these are known to 2^-70 before rounding */
};

struct evaluator {
    const struct expression_pool *p;
    slong prec;
    int steps, terms, bases, waves;
    struct step *step;
    struct part *term, *base;
    struct wave *wave;
    double wave_error; /* of the sum of the waves */
    arb_t q;
    int masked; /* b is -inf throughout */
    int broken; /* b is never a number, or +inf */
};

static void indeterminate(acb_t z)
{
    arb_indeterminate(acb_realref(z));
    arb_indeterminate(acb_imagref(z));
}

/* ---- one step ---- */

/* 1 or 0 by the sign of a ball, indeterminate where it cannot be told. */
static void test(arb_t out, enum expression_kind kind, const arb_t x)
{
    int known = arf_is_nan(arb_midref(x)) ? 0
                : kind == X_POSITIVE      ? arb_is_positive(x) || arb_is_nonpositive(x)
                : kind == X_NONNEGATIVE   ? arb_is_nonnegative(x) || arb_is_negative(x)
                                          : arb_is_nonzero(x) || arb_is_zero(x);
    if (!known)
        arb_indeterminate(out);
    else
        arb_set_si(out, kind == X_POSITIVE ? arb_is_positive(x) : kind == X_NONNEGATIVE ? arb_is_nonnegative(x) : arb_is_zero(x));
}

/* 1 if a ball is a whole number below 2^bits; larger ones are no good as exponents in whole arithmetic. */
static int is_small_whole(const arb_t x, slong bits)
{
    return arb_is_int(x) && arf_cmpabs_2exp_si(arb_midref(x), bits) < 0;
}

static void power_real(arb_t out, const arb_t a, const arb_t b, slong prec)
{
    if (!arb_is_finite(a) || !arb_is_finite(b)) { /* Arb has a value for u^0 whatever u is */
        arb_indeterminate(out);
    } else if (!arb_is_int(b) || is_small_whole(b, 62)) {
        arb_pow(out, a, b, prec);
    } else if (arb_is_positive(a)) {
        arb_log(out, a, prec);
        arb_mul(out, out, b, prec);
        arb_exp(out, out, prec);
    } else {
        arb_indeterminate(out);
    }
}

static void power_series(arb_poly_t out, const arb_poly_t a, const arb_t b, slong length, slong prec)
{
    if (!arb_is_int(b) || is_small_whole(b, 62)) {
        arb_poly_pow_arb_series(out, a, b, length, prec);
    } else {
        arb_poly_log_series(out, a, length, prec);
        arb_poly_scalar_mul(out, out, b, prec);
        arb_poly_exp_series(out, out, length, prec);
    }
}

/* 1 if a ball holds what is not a number, or an infinity among other values: Arb has finite sines and signs of some of these. */
static int is_lost(const arb_t x)
{
    return arf_is_nan(arb_midref(x)) || (arf_is_inf(arb_midref(x)) && !mag_is_zero(arb_radref(x)));
}

static void step_real(struct step *s, const struct step *all, const arb_t t, slong prec)
{
    const arb_struct *a = s->count ? all[s->child[0]].real : NULL, *b = s->count > 1 ? all[s->child[1]].real : NULL;
    arb_ptr out = s->real;
    for (int i = 0; i < (s->kind == X_CHOOSE ? 1 : s->count); i++)
        if (is_lost(all[s->child[i]].real)) {
            arb_indeterminate(out);
            return;
        }
    switch (s->kind) {
    case X_NUMBER:
    case X_INFINITY: arb_set(out, s->q); break;
    case X_PI: arb_const_pi(out, prec); break;
    case X_T: arb_set(out, t); break;
    case X_LINEAR:
        arb_set(out, s->q);
        for (int i = 0; i < s->count; i++)
            arb_addmul(out, &s->weight[i], all[s->child[i]].real, prec);
        break;
    case X_MULTIPLY: arb_mul(out, a, b, prec); break;
    case X_POWER: power_real(out, a, b, prec); break;
    case X_LN: arb_log(out, a, prec); break;
    case X_EXP: arb_exp(out, a, prec); break;
    case X_SIN:
    case X_COS:
        if (arf_is_inf(arb_midref(a)))
            arb_indeterminate(out);
        else
            (s->kind == X_SIN ? arb_sin : arb_cos)(out, a, prec);
        break;
    case X_ABS: arb_abs(out, a); break;
    case X_FRACTION:
        arb_floor(out, a, prec);
        if (arb_is_exact(out))
            arb_sub(out, a, out, prec);
        else
            arb_indeterminate(out);
        break;
    case X_MIN: arb_min(out, a, b, prec); break;
    case X_MAX: arb_max(out, a, b, prec); break;
    case X_POSITIVE:
    case X_NONNEGATIVE:
    case X_ZERO: test(out, s->kind, a); break;
    case X_CHOOSE:
        if (arb_is_nonzero(a))
            arb_set(out, b);
        else if (arb_is_zero(a))
            arb_set(out, all[s->child[2]].real);
        else
            arb_indeterminate(out);
        break;
    case X_NAN:
    case X_OPAQUE: arb_indeterminate(out); break;
    }
}

static void step_complex(struct step *s, const struct step *all, const acb_t z, slong prec)
{
    const acb_struct *a = s->count ? all[s->child[0]].complex : NULL, *b = s->count > 1 ? all[s->child[1]].complex : NULL;
    acb_ptr out = s->complex;
    switch (s->kind) {
    case X_T: acb_set(out, z); break;
    case X_LINEAR:
        acb_set_arb(out, s->q);
        for (int i = 0; i < s->count; i++)
            acb_addmul_arb(out, all[s->child[i]].complex, &s->weight[i], prec);
        break;
    case X_MULTIPLY: acb_mul(out, a, b, prec); break;
    case X_POWER: {
        const struct step *e = &all[s->child[1]];
        if (!e->depends && is_small_whole(e->real, 15)) {
            acb_pow_si(out, a, arf_get_si(arb_midref(e->real), ARF_RND_DOWN), prec);
        } else {
            LOCAL(acb, log);
            acb_log_analytic(log, a, 1, prec);
            acb_mul(log, log, b, prec);
            acb_exp(out, log, prec);
        }
        break;
    }
    case X_LN: acb_log_analytic(out, a, 1, prec); break;
    case X_EXP: acb_exp(out, a, prec); break;
    case X_SIN: acb_sin(out, a, prec); break;
    case X_COS: acb_cos(out, a, prec); break;
    default: indeterminate(out); break;
    }
}

static void step_series(struct step *s, const struct step *all, const arb_t t, slong length, slong prec)
{
    const arb_poly_struct *a = s->count ? all[s->child[0]].series : NULL, *b = s->count > 1 ? all[s->child[1]].series : NULL;
    arb_poly_struct *out = s->series;
    switch (s->kind) {
    case X_T:
        arb_poly_zero(out);
        arb_poly_set_coeff_si(out, 1, 1);
        arb_poly_set_coeff_arb(out, 0, t);
        break;
    case X_LINEAR: {
        LOCAL(arb_poly, scaled);
        arb_poly_zero(out);
        arb_poly_set_coeff_arb(out, 0, s->q);
        for (int i = 0; i < s->count; i++) {
            arb_poly_scalar_mul(scaled, all[s->child[i]].series, &s->weight[i], prec);
            arb_poly_add(out, out, scaled, prec);
        }
        arb_poly_truncate(out, length);
        break;
    }
    case X_MULTIPLY: arb_poly_mullow(out, a, b, length, prec); break;
    case X_POWER:
        if (!all[s->child[1]].depends)
            power_series(out, a, all[s->child[1]].real, length, prec);
        else
            arb_poly_pow_series(out, a, b, length, prec);
        break;
    case X_LN: arb_poly_log_series(out, a, length, prec); break;
    case X_EXP: arb_poly_exp_series(out, a, length, prec); break;
    case X_SIN: arb_poly_sin_series(out, a, length, prec); break;
    case X_COS: arb_poly_cos_series(out, a, length, prec); break;
    default:
        arb_poly_zero(out);
        arb_indeterminate(s->real);
        arb_poly_set_coeff_arb(out, 0, s->real);
        break;
    }
}

/* ---- making ready ---- */

static void step_clear(struct step *s)
{
    if (s->weight)
        _arb_vec_clear(s->weight, s->count);
    free(s->child);
    arb_clear(s->q);
    arb_clear(s->real);
    acb_clear(s->complex);
    arb_poly_clear(s->series);
}

/* A constant that its ball cannot tell is one of few values where what it is of is finite. */
static void hull(struct step *s, const struct step *all)
{
    for (int i = 0; i < s->count; i++)
        if (!arb_is_finite(all[s->child[i]].real))
            return;
    if (s->kind == X_CHOOSE) {
        arb_union(s->real, all[s->child[1]].real, all[s->child[2]].real, 64);
    } else if (s->kind == X_FRACTION || s->kind == X_POSITIVE || s->kind == X_NONNEGATIVE || s->kind == X_ZERO) {
        arb_set_d(s->real, 0.5);
        mag_set_d(arb_radref(s->real), 0.5);
    }
}

/* Steps for the marked nodes in order; place[n] = step of node n. 0 or -1. */
static int make_steps(struct evaluator *v, int *place, const struct expression_pool *p, const unsigned char *needed, int last)
{
    int count = 0;
    for (int n = 0; n <= last; n++)
        count += needed[n];
    v->step = calloc((size_t)count + 1, sizeof *v->step);
    if (!v->step)
        return -1;
    for (int n = 0; n <= last; n++) {
        if (!needed[n])
            continue;
        const struct expression *x = &p->node[n];
        struct step *s = &v->step[v->steps];
        place[n] = v->steps++;
        *s = (struct step){.kind = x->kind, .node = n, .count = x->count, .depends = x->depends};
        arb_init(s->q);
        arb_init(s->real);
        acb_init(s->complex);
        arb_poly_init(s->series);
        if (x->kind == X_NUMBER || x->kind == X_LINEAR)
            arb_set_fmpq(s->q, x->q, v->prec);
        if (x->kind == X_INFINITY) {
            if (fmpq_sgn(x->q) > 0)
                arb_pos_inf(s->q);
            else
                arb_neg_inf(s->q);
        }
        if (x->count) {
            s->child = malloc((size_t)x->count * sizeof *s->child);
            if (!s->child)
                return -1;
            for (int i = 0; i < x->count; i++)
                s->child[i] = place[x->child[i]];
            if (x->weight) {
                s->weight = _arb_vec_init(x->count);
                for (int i = 0; i < x->count; i++)
                    arb_set_fmpq(&s->weight[i], &x->weight[i], v->prec);
            }
        }
        if (!x->depends) {
            step_real(s, v->step, NULL, v->prec);
            if (!arb_is_finite(s->real))
                hull(s, v->step);
            acb_set_arb(s->complex, s->real);
            arb_poly_set_arb(s->series, s->real);
        }
    }
    return 0;
}

/* Marks all nodes below the marked ones. */
static void mark(unsigned char *needed, const struct expression_pool *p, int last)
{
    for (int n = last; n >= 0; n--)
        for (int i = 0; needed[n] && i < p->node[n].count; i++)
            needed[p->node[n].child[i]] = 1;
}

void evaluate_constant(arb_t out, const struct expression_pool *p, int n, slong prec)
{
    struct evaluator v = {.prec = prec};
    unsigned char *needed = calloc((size_t)n + 1, 1);
    int *place = malloc((size_t)(n + 1) * sizeof *place);
    arb_indeterminate(out);
    if (needed && place) {
        needed[n] = 1;
        mark(needed, p, n);
        if (make_steps(&v, place, p, needed, n) == 0)
            arb_set(out, v.step[place[n]].real);
        for (int i = 0; i < v.steps; i++)
            step_clear(&v.step[i]);
        free(v.step);
    }
    free(needed);
    free(place);
}

/* exp of the value of b; 0, or -1 where it is +inf or not known. */
static int exp_of(arb_t out, const arb_t b, slong prec)
{
    if (arf_is_neg_inf(arb_midref(b)) && arb_is_exact(b))
        arb_zero(out);
    else if (arb_is_finite(b))
        arb_exp(out, b, prec);
    else
        arb_indeterminate(out);
    return arb_is_finite(out) ? 0 : -1;
}

void evaluate_exp_constant(arb_t out, const struct expression_pool *p, int n, slong prec)
{
    LOCAL(arb, b);
    evaluate_constant(b, p, n, prec);
    exp_of(out, b, prec);
}

int evaluate_affine(arb_t shift, arb_t slope, const struct expression_pool *p, int n, slong prec)
{
    const struct expression *x = &p->node[n];
    int affine = 1;
    if (!x->depends) {
        evaluate_constant(shift, p, n, prec);
        arb_zero(slope);
        return 1;
    }
    if (n == NODE_T_ITSELF) {
        arb_zero(shift);
        arb_one(slope);
        return 1;
    }
    if (x->kind != X_LINEAR && x->kind != X_MULTIPLY)
        return 0;
    LOCAL(arb, a, b, w);
    if (x->kind == X_MULTIPLY) {
        int constant = !p->node[x->child[0]].depends ? 0 : !p->node[x->child[1]].depends ? 1 : -1;
        affine = constant >= 0 && evaluate_affine(a, b, p, x->child[1 - constant], prec);
        if (affine) {
            evaluate_constant(w, p, x->child[constant], prec);
            arb_mul(shift, a, w, prec);
            arb_mul(slope, b, w, prec);
        }
    } else {
        arb_zero(slope);
        arb_set_fmpq(shift, x->q, prec);
        for (int i = 0; i < x->count && affine; i++) {
            affine = evaluate_affine(a, b, p, x->child[i], prec);
            arb_set_fmpq(w, &x->weight[i], prec);
            arb_addmul(shift, a, w, prec);
            arb_addmul(slope, b, w, prec);
        }
    }
    return affine;
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

/* Finds the waves among the terms. */
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
        if (!evaluate_affine(w->shift, w->frequency, p, x->child[0], 160) || !(fabs(w->weight) < 1e100) ||
            !arb_is_finite(w->frequency) || !arb_is_finite(w->shift)) {
            arb_clear(w->shift);
            arb_clear(w->frequency);
            continue;
        }
        weights += fabs(w->weight);
        v->term[i].wave = ++v->waves;
    }
    /* A product of two cosines known to 2^-54 each is off by less than 2^-51 after rounding, and adding n of them by n 2^-53
     * more, all times the weights; twice that covers the rounding of this bound. */
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

struct evaluator *evaluator_new(const struct expression_pool *p, int root, slong prec)
{
    const struct expression *x = &p->node[root];
    int count = x->kind == X_LINEAR ? x->count : 1, failed = 1;
    struct evaluator *v = calloc(1, sizeof *v);
    unsigned char *needed = calloc((size_t)root + 1, 1);
    int *place = malloc((size_t)(root + 1) * sizeof *place), *node_of_term = calloc((size_t)count, sizeof *node_of_term);
    if (!v || !needed || !place || !node_of_term)
        goto end;
    v->p = p;
    v->prec = prec;
    arb_init(v->q);
    v->term = calloc((size_t)count, sizeof *v->term);
    v->base = calloc((size_t)count, sizeof *v->base);
    if (!v->term || !v->base)
        goto end;
    v->masked = root == NODE_MINUS_INFINITY;
    v->broken = root == NODE_NAN || root == NODE_PLUS_INFINITY;
    for (int i = 0; i < count; i++) {
        int n = x->kind == X_LINEAR ? x->child[i] : root;
        needed[p->node[n].kind == X_LN ? p->node[n].child[0] : n] = 1;
    }
    mark(needed, p, root);
    if (make_steps(v, place, p, needed, root))
        goto end;
    LOCAL(fmpq, one);
    fmpq_one(one);
    if (x->kind == X_LINEAR)
        arb_set_fmpq(v->q, x->q, prec);
    for (int i = 0; i < count; i++) {
        int n = x->kind == X_LINEAR ? x->child[i] : root;
        const fmpq *weight = x->kind == X_LINEAR ? &x->weight[i] : one;
        if (p->node[n].kind == X_LN) {
            part_add(v->base, &v->bases, place[p->node[n].child[0]], weight, prec);
        } else {
            node_of_term[v->terms] = n;
            part_add(v->term, &v->terms, place[n], weight, prec);
        }
    }
    failed = find_waves(v, p, node_of_term);
end:
    free(needed);
    free(place);
    free(node_of_term);
    if (failed) {
        evaluator_free(v);
        return NULL;
    }
    return v;
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

static void run_real(struct evaluator *v, const arb_t t, int beside_waves)
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

/* exp(sum) times the powers. */
static int finish(arb_t out, struct evaluator *v, const arb_t sum)
{
    int status = exp_of(out, sum, v->prec);
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
    if (v->masked || v->broken) {
        arb_zero(out);
        return v->broken ? -1 : 0;
    }
    LOCAL(arb, sum);
    run_real(v, t, 0);
    arb_set(sum, v->q);
    for (int i = 0; i < v->terms; i++)
        arb_addmul(sum, v->term[i].weight, v->step[v->term[i].step].real, v->prec);
    int status = finish(out, v, sum);
    return status;
}

int evaluator_has_waves(const struct evaluator *v)
{
    return v->waves >= 8;
}

/* The error bound of waves holds for sines and cosines known to 2^-70 before they become doubles; a frequency that is large and
 * not rational may be known to less. */
static int is_sharp(const arb_t sine, const arb_t cosine)
{
    return mag_cmp_2exp_si(arb_radref(sine), -70) <= 0 && mag_cmp_2exp_si(arb_radref(cosine), -70) <= 0;
}

/* The table of a wave, done once: powers of exp(i frequency), each the product of two lower ones, so that balls stay narrow. */
static void wave_tables(struct wave *w)
{
    acb_ptr power = _acb_vec_init(EVALUATE_BLOCK);
    w->sharp = 1;
    for (int i = 0; i < EVALUATE_BLOCK; i++) {
        int lowest = i & -i, half = i == lowest ? i / 2 : i - lowest;
        if (i == 0)
            acb_one(power);
        else if (i == 1)
            arb_sin_cos(acb_imagref(power + 1), acb_realref(power + 1), w->frequency, 128);
        else
            acb_mul(power + i, power + half, power + i - half, 128);
        w->cosine[i] = arf_get_d(arb_midref(acb_realref(power + i)), ARF_RND_NEAR);
        w->sine[i] = arf_get_d(arb_midref(acb_imagref(power + i)), ARF_RND_NEAR);
        w->sharp &= is_sharp(acb_imagref(power + i), acb_realref(power + i));
    }
    _acb_vec_clear(power, EVALUATE_BLOCK);
}

int evaluator_block(arb_ptr out, struct evaluator *v, ulong first, int count)
{
    double sum[EVALUATE_BLOCK] = {0};
    int status = 0;
    LOCAL(arb, angle, sine, cosine, b, t);
    for (int k = 0; k < v->waves; k++) {
        struct wave *w = &v->wave[k];
        if (w->cosine[0] == 0)
            wave_tables(w);
        arb_mul_ui(angle, w->frequency, first, 160);
        arb_add(angle, angle, w->shift, 160);
        arb_sin_cos(sine, cosine, angle, 96);
        if (!w->sharp || !is_sharp(sine, cosine))
            status = -1;
        double s = arf_get_d(arb_midref(sine), ARF_RND_NEAR), c = arf_get_d(arb_midref(cosine), ARF_RND_NEAR);
        if (w->is_sine)
            for (int i = 0; i < count; i++)
                sum[i] += w->weight * (s * w->cosine[i] + c * w->sine[i]);
        else
            for (int i = 0; i < count; i++)
                sum[i] += w->weight * (c * w->cosine[i] - s * w->sine[i]);
    }
    for (int i = 0; i < count && status == 0; i++) {
        arb_set_d(b, sum[i]);
        arb_set_ui(t, first + (ulong)i);
        LOCAL(mag, error);
        mag_set_d(error, v->wave_error);
        mag_add(arb_radref(b), arb_radref(b), error);
        arb_add(b, b, v->q, v->prec);
        run_real(v, t, 1);
        for (int k = 0; k < v->terms; k++)
            if (!v->term[k].wave)
                arb_addmul(b, v->term[k].weight, v->step[v->term[k].step].real, v->prec);
        status = finish(&out[i], v, b);
    }
    return status;
}

/* ---- complex balls and power series ---- */

void evaluator_complex(acb_t out, struct evaluator *v, const acb_t z)
{
    if (v->masked || v->broken) {
        acb_zero(out);
        if (v->broken)
            indeterminate(out);
        return;
    }
    for (int i = 0; i < v->steps; i++)
        if (v->step[i].depends)
            step_complex(&v->step[i], v->step, z, v->prec);
    LOCAL(acb, factor);
    acb_set_arb(out, v->q);
    for (int i = 0; i < v->terms; i++)
        acb_addmul_arb(out, v->step[v->term[i].step].complex, v->term[i].weight, v->prec);
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
        acb_mul(out, out, factor, v->prec);
    }
}

void evaluator_taylor(arb_poly_t out, struct evaluator *v, const arb_t t, slong length)
{
    LOCAL(arb_poly, factor);
    arb_poly_zero(out);
    for (int i = 0; i < v->steps; i++)
        if (v->step[i].depends)
            step_series(&v->step[i], v->step, t, length, v->prec);
    if (v->terms) {
        arb_poly_set_coeff_arb(out, 0, v->q);
        for (int i = 0; i < v->terms; i++) {
            arb_poly_scalar_mul(factor, v->step[v->term[i].step].series, v->term[i].weight, v->prec);
            arb_poly_add(out, out, factor, v->prec);
        }
        arb_poly_exp_series(out, out, length, v->prec);
    } else {
        LOCAL(arb, q);
        arb_exp(q, v->q, v->prec);
        arb_poly_set_coeff_arb(out, 0, q);
    }
    for (int i = 0; i < v->bases; i++) {
        power_series(factor, v->step[v->base[i].step].series, v->base[i].weight, length, v->prec);
        arb_poly_mullow(out, out, factor, length, v->prec);
    }
}
