/* One node's value in balls, complex balls and power series. */
#include "analyze/series/proof/evaluate_private.h"

#include <math.h>
#include <stdlib.h>

enum { LARGE_BITS = 32 /* an exponent beyond 2^this takes longer than its precision says */ };

/* 1 if a ball is a whole number below 2^bits; larger ones cannot be exponents of whole powers. */
static int is_small_whole(const arb_t x, slong bits)
{
    return arb_is_int(x) && arf_cmpabs_2exp_si(arb_midref(x), bits) < 0;
}

void power_real(arb_t out, const arb_t a, const arb_t b, slong prec)
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

/* 1 if a ball holds no number, or an infinity among others, of which Arb may have finite sines. */
static int is_lost(const arb_t x)
{
    return arf_is_nan(arb_midref(x)) || (arf_is_inf(arb_midref(x)) && !mag_is_zero(arb_radref(x)));
}

/* 1 if u is 1 + a sum: then ln u is ln1p of that sum, which keeps all digits of a small one. */
static int is_one_plus(const struct step *u)
{
    return u->kind == X_LINEAR && u->depends && arb_is_one(u->q);
}

static void real_sum(arb_t out, const struct step *u, const struct step *all, slong prec)
{
    for (int i = 0; i < u->count; i++)
        arb_addmul(out, &u->weight[i], all[u->child[i]].real, prec);
}

static void complex_sum(acb_t out, const struct step *u, const struct step *all, slong prec)
{
    for (int i = 0; i < u->count; i++)
        acb_addmul_arb(out, all[u->child[i]].complex, &u->weight[i], prec);
}

static void ln_of_real(arb_t out, const struct step *u, const struct step *all, slong prec)
{
    LOCAL(arb, sum);
    if (is_one_plus(u)) {
        real_sum(sum, u, all, prec);
        arb_log1p(out, sum, prec);
    } else {
        arb_log(out, u->real, prec);
    }
}

static void ln_of_complex(acb_t out, const struct step *u, const struct step *all, slong prec)
{
    LOCAL(acb, sum);
    if (is_one_plus(u) && arb_is_positive(acb_realref(u->complex))) {
        complex_sum(sum, u, all, prec);
        acb_log1p(out, sum, prec);
    } else {
        acb_log_analytic(out, u->complex, 1, prec);
    }
}

void step_real(struct step *s, const struct step *all, const arb_t t, slong prec)
{
    const arb_struct *a = s->count ? all[s->child[0]].real : NULL,
                     *b = s->count > 1 ? all[s->child[1]].real : NULL;
    arb_ptr out = s->real;
    for (int i = 0; i < s->count && s->kind != X_CHOOSE; i++)
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
        real_sum(out, s, all, prec);
        break;
    case X_MULTIPLY: arb_mul(out, a, b, prec); break;
    case X_POWER: power_real(out, a, b, prec); break;
    case X_LN: ln_of_real(out, &all[s->child[0]], all, prec); break;
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
    case X_NONNEGATIVE:
        if (arb_is_nonnegative(a) || arb_is_negative(a))
            arb_set_si(out, arb_is_nonnegative(a));
        else
            arb_indeterminate(out);
        break;
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

void step_complex(struct step *s, const struct step *all, const acb_t z, slong prec)
{
    const acb_struct *a = s->count ? all[s->child[0]].complex : NULL,
                     *b = s->count > 1 ? all[s->child[1]].complex : NULL;
    acb_ptr out = s->complex;
    switch (s->kind) {
    case X_T: acb_set(out, z); break;
    case X_LINEAR:
        acb_set_arb(out, s->q);
        complex_sum(out, s, all, prec);
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
    case X_LN: ln_of_complex(out, &all[s->child[0]], all, prec); break;
    case X_EXP: acb_exp(out, a, prec); break;
    case X_SIN:
    case X_COS: (s->kind == X_SIN ? acb_sin : acb_cos)(out, a, prec); break;
    default: acb_indeterminate(out); break;
    }
}

void series_addmul(acb_poly_t out, const acb_poly_t a, const arb_t weight, slong prec)
{
    LOCAL(acb_poly, scaled);
    LOCAL(acb, w);
    acb_set_arb(w, weight);
    acb_poly_scalar_mul(scaled, a, w, prec);
    acb_poly_add(out, out, scaled, prec);
}

/* A sine or cosine of u: n s_n is the sum of k u_k c_(n-k), and n c_n minus that of k u_k s_(n-k),
 * k = 1..n. FLINT 3.1 works out its own series to 53 bits, however many are asked for. */
static void wave_series(acb_poly_t out, int is_cosine, const acb_poly_t u, slong length, slong prec)
{
    LOCAL(acb_poly, sine, cosine, slope);
    LOCAL(acb, middle);
    acb_poly_fit_length(sine, length);
    acb_poly_fit_length(cosine, length);
    acb_poly_derivative(slope, u, prec);
    acb_poly_get_coeff_acb(middle, u, 0);
    acb_sin_cos(&sine->coeffs[0], &cosine->coeffs[0], middle, prec);
    for (slong n = 1; n < length; n++) {
        slong terms = n < slope->length ? n : slope->length;
        acb_dot(&sine->coeffs[n], NULL, 0, slope->coeffs, 1, &cosine->coeffs[n - 1], -1, terms,
                prec);
        acb_dot(&cosine->coeffs[n], NULL, 1, slope->coeffs, 1, &sine->coeffs[n - 1], -1, terms,
                prec);
        acb_div_si(&sine->coeffs[n], &sine->coeffs[n], n, prec);
        acb_div_si(&cosine->coeffs[n], &cosine->coeffs[n], n, prec);
    }
    acb_poly_swap(out, is_cosine ? cosine : sine);
    _acb_poly_set_length(out, length);
    _acb_poly_normalise(out);
}

void step_series(struct step *s, const struct step *all, slong length, slong prec)
{
    const struct step *a = s->count ? &all[s->child[0]] : NULL,
                      *b = s->count > 1 ? &all[s->child[1]] : NULL;
    acb_poly_struct *out = s->series;
    acb_poly_zero(out);
    switch (s->kind) {
    case X_T: acb_poly_set_coeff_si(out, 1, 1); break;
    case X_LINEAR:
        for (int i = 0; i < s->count; i++)
            series_addmul(out, all[s->child[i]].series, &s->weight[i], prec);
        break;
    case X_MULTIPLY: acb_poly_mullow(out, a->series, b->series, length, prec); break;
    case X_POWER:
        if (b->depends)
            acb_poly_pow_series(out, a->series, b->series, length, prec);
        else
            acb_poly_pow_acb_series(out, a->series, b->complex, length, prec);
        break;
    case X_LN: acb_poly_log_series(out, a->series, length, prec); break;
    case X_EXP: acb_poly_exp_series(out, a->series, length, prec); break;
    case X_SIN:
    case X_COS: wave_series(out, s->kind == X_COS, a->series, length, prec); break;
    default: acb_poly_set_coeff_acb(out, 1, s->complex); break; /* which is indeterminate */
    }
    acb_poly_set_coeff_acb(out, 0, s->complex);
}

/* ---- making ready ---- */

void step_clear(struct step *s)
{
    if (s->weight)
        _arb_vec_clear(s->weight, s->count);
    free(s->child);
    arb_clear(s->q);
    arb_clear(s->real);
    acb_clear(s->complex);
    acb_poly_clear(s->series);
}

int evaluator_place(const struct evaluator *v, int n)
{
    int lo = 0, hi = v->steps - 1;
    while (lo < hi) {
        int middle = lo + (hi - lo) / 2;
        if (v->step[middle].node < n)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

int evaluator_steps(struct evaluator *v, const struct expression_pool *p, const int *nodes,
                    int count)
{
    v->step = calloc((size_t)count + 1, sizeof *v->step);
    if (!v->step)
        return -1;
    for (int k = 0; k < count; k++) {
        int n = nodes[k];
        const struct expression *x = &p->node[n];
        struct step *s = &v->step[v->steps++];
        *s = (struct step){.kind = x->kind, .node = n, .count = x->count, .depends = x->depends};
        arb_init(s->q);
        arb_init(s->real);
        acb_init(s->complex);
        acb_indeterminate(s->complex);
        acb_poly_init(s->series);
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
                s->child[i] = evaluator_place(v, x->child[i]);
            if (x->weight) {
                s->weight = _arb_vec_init(x->count);
                for (int i = 0; i < x->count; i++)
                    arb_set_fmpq(&s->weight[i], &x->weight[i], v->prec);
            }
        }
        if (!x->depends) {
            step_real(s, v->step, NULL, v->prec);
            /* what its ball cannot tell is from 0 to 1 where it is of a number */
            if ((s->kind == X_FRACTION || s->kind == X_NONNEGATIVE) && s->count == 1 &&
                !arb_is_finite(s->real) && arb_is_finite(v->step[s->child[0]].real)) {
                arb_set_d(s->real, 0.5);
                mag_set_d(arb_radref(s->real), 0.5);
            }
            acb_set_arb(s->complex, s->real);
            acb_poly_set_acb(s->series, s->complex);
        }
    }
    return 0;
}

void evaluate_constant(arb_t out, const struct expression_pool *p, int n, slong prec)
{
    struct evaluator v = {.prec = prec};
    int count = 0, *nodes = expression_below(&count, p, &n, 1);
    arb_indeterminate(out);
    p->budget->done += 5;
    for (int i = 0; nodes && i < count; i++)
        p->budget->done +=
            3 + (expression_is_elementary(p->node[nodes[i]].kind) ? work_elementary(prec) : 0);
    if (nodes && evaluator_steps(&v, p, nodes, count) == 0)
        arb_set(out, v.step[count - 1].real);
    for (int i = 0; i < v.steps; i++)
        step_clear(&v.step[i]);
    free(v.step);
    free(nodes);
}

int exp_of(arb_t out, const arb_t b, slong prec, struct budget *budget)
{
    if (arf_is_neg_inf(arb_midref(b)) && arb_is_exact(b))
        arb_zero(out);
    else if (arb_is_finite(b)) {
        slong before = arf_abs_bound_lt_2exp_si(
            arb_midref(b)); /* digits before the point: this many more are needed */
        if (before > LARGE_BITS && before <= 2 * prec && mag_cmp_2exp_si(arb_radref(b), 0) < 0)
            budget->done += work_elementary(prec + before) - work_elementary(prec);
        arb_exp(out, b, prec);
    } else
        arb_indeterminate(out);
    return arb_is_finite(out) ? 0 : -1;
}

void evaluate_exp_constant(arb_t out, const struct expression_pool *p, int n, slong prec)
{
    LOCAL(arb, b);
    arb_indeterminate(out);
    for (slong bits = prec; bits <= 64 * prec && arb_rel_accuracy_bits(out) < 32; bits *= 4) {
        evaluate_constant(b, p, n, bits);
        p->budget->done += work_elementary(bits);
        exp_of(out, b, bits, p->budget);
        if (arf_cmpabs_2exp_si(arb_midref(b), 64 * prec) >
            0) /* its digits before the point are more than there will be */
            break;
    }
}
