/* Euler-Maclaurin summation. */
#include "analyze/series/proof/euler.h"

#include <math.h>
#include <stdlib.h>

enum {
    GUARD = 64, /* bits beyond the wanted precision */
    PANELS_MAX = 5000,
    EVALUATIONS = 4000 /* of the integrand, for one panel */
};

struct euler {
    const struct series_summand *h;
    int root;
    slong prec, target;
    struct evaluator *v, *rough; /* at full and at low precision */
    slong order; /* 2m */
    fmpz_t N;
    arb_t at_N, remainder; /* C(N); [-|R|, |R|] */
    int primitive; /* the integral is known in closed form */
    arb_t primitive_N;
    fmpz *panel; /* [panels + 1] ends */
    arb_ptr integral; /* [panels + 1] from N to there, where there is no closed form */
    int panels, integrated;
};

static const double IMPOSSIBLE = 1e300;

/* log2 of a bound of |f| on [a - r, b + r] x [-r, r]; IMPOSSIBLE if there is none. */
static double magnitude(struct euler *e, const fmpz_t a, const fmpz_t b, double r)
{
    double result = IMPOSSIBLE;
    LOCAL(acb, z);
    LOCAL(arb, low, high, radius);
    LOCAL(mag, bound);
    arb_set_d(radius, r);
    arb_set_fmpz(low, a);
    arb_sub(low, low, radius, 64);
    arb_set_fmpz(high, b);
    arb_add(high, high, radius, 64);
    arb_union(acb_realref(z), low, high, 64);
    arb_add_error(acb_imagref(z), radius);
    evaluator_complex(z, e->rough, z);
    if (acb_is_finite(z)) {
        acb_get_mag(bound, z);
        if (mag_is_zero(bound) || fmpz_cmp_si(MAG_EXPREF(bound), -1000000000) < 0)
            result = -1e9;
        else if (fmpz_cmp_si(MAG_EXPREF(bound), 1000000000) < 0)
            result = (double)fmpz_get_si(MAG_EXPREF(bound));
    }
    return result;
}

/* log2 of 4 / (2 pi r)^n n! * length * max |f|, the last two given by their logarithms; 2 more for the rounding of this. */
static double remainder_bound(double n, double r, double magnitude_log2, double length_log2)
{
    return magnitude_log2 + length_log2 + 4 + lgamma(n + 1) / M_LN2 - n * log2(2 * M_PI * r);
}

static double length_log2(const fmpz_t a, const fmpz_t b)
{
    LOCAL(fmpz, length);
    fmpz_sub(length, b, a);
    double bits = (double)fmpz_bits(length);
    return bits;
}

/* The least even order with a remainder below 2^-target on the first panel, 0 if there is none up to most. */
static slong choose_order(struct euler *e, const fmpz_t a, const fmpz_t b, double target, slong most)
{
    slong best = 0;
    double length = length_log2(a, b);
    int failures = 0;
    for (double r = 1; r <= (double)most && failures < 4; r *= 1.1892) {
        double size = magnitude(e, a, b, r);
        if (size == IMPOSSIBLE) {
            failures++;
            continue;
        }
        slong limit = (slong)(2 * M_PI * r);
        limit = best && best - 2 < limit ? best - 2 : limit < most ? limit : most;
        if (limit < 2 || remainder_bound((double)(limit / 2 * 2), r, size, length) > -target)
            continue;
        slong low = 2, high = limit / 2 * 2; /* the bound falls up to 2 pi r */
        while (low < high) {
            slong middle = (low + high) / 4 * 2;
            if (remainder_bound((double)middle, r, size, length) <= -target)
                high = middle;
            else
                low = middle + 2;
        }
        best = high;
    }
    return best;
}

/* The remainder's bound on a panel for the chosen order. */
static double panel_bound(struct euler *e, const fmpz_t a, const fmpz_t b, double target)
{
    double best = IMPOSSIBLE, length = length_log2(a, b);
    double near = (double)e->order / 6, far = fmpz_bits(a) < 1000 ? fmpz_get_d(a) : 0x1p1000;
    for (int i = 0; i < 10 && best > -target; i++) {
        double r = i < 4 ? ldexp(far, -1 - i) : near * ldexp(1, i - 4);
        double size = r > 0 ? magnitude(e, a, b, r) : IMPOSSIBLE;
        double bound = size == IMPOSSIBLE ? size : remainder_bound((double)e->order, r, size, length);
        best = bound < best ? bound : best;
    }
    return best;
}

/* Covers [N, end] with panels and adds up their remainders. 1, or 0 if one is too large; then *needed is an order that might do,
 * or 0. */
static int make_panels(slong *needed, struct euler *e, const fmpz_t end, slong most)
{
    double step = 0.5, target = (double)e->target + 8; /* a panel ends at its begin times 2^step, or so */
    int ok = 1;
    LOCAL(arb, part);
    LOCAL(fmpz, next, base);
    *needed = 0;
    e->panels = 0;
    fmpz_set(&e->panel[0], e->N);
    arb_zero(e->remainder);
    while (ok && fmpz_cmp(&e->panel[e->panels], end) < 0) {
        const fmpz *a = &e->panel[e->panels];
        fmpz_add_ui(base, a, 8);
        slong bits = (slong)fmpz_bits(base);
        double factor = exp2(step) - 1;
        fmpz_fdiv_q_2exp(next, base, (ulong)(bits > 40 ? bits - 40 : 0));
        fmpz_set_d(next, ceil(fmpz_get_d(next) * factor));
        fmpz_mul_2exp(next, next, (ulong)(bits > 40 ? bits - 40 : 0));
        fmpz_add(next, next, a);
        if (fmpz_cmp(next, end) > 0)
            fmpz_set(next, end);
        double bound = panel_bound(e, a, next, target + e->panels * 0.01);
        if (bound <= -target - e->panels * 0.01 && e->panels < PANELS_MAX) {
            arb_one(part);
            arb_mul_2exp_si(part, part, bound < -1e8 ? -100000000 : (slong)ceil(bound));
            arb_add_error(e->remainder, part);
            fmpz_set(&e->panel[++e->panels], next);
            step = step < 8 ? 2 * step : step;
        } else {
            step /= 2;
            if (step < 0.02) { /* not for want of a higher order */
                *needed = choose_order(e, a, next, target + 64, most);
                ok = 0;
            }
        }
    }
    return ok;
}

/* C(x), with as many terms as matter: those dropped are bounded by Cauchy's estimate on the circle of radius r. */
static void correction(arb_t out, struct euler *e, const fmpz_t x)
{
    slong terms = e->order / 2, used = terms;
    double dropped = -IMPOSSIBLE, r = fmpz_bits(x) < 1000 ? fmpz_get_d(x) / 2 : 0x1p999;
    if (r * 4 > (double)e->order) {
        double size = magnitude(e, x, x, r);
        if (size != IMPOSSIBLE)
            for (slong k = 1; k < terms;
                 k++) { /* |B_2k| / (2k) <= 4 (2k-1)! / (2 pi)^2k; the next terms are less than half each */
                double bound = size + 4 + lgamma(2.0 * (double)k) / M_LN2 - 2.0 * (double)k * log2(2 * M_PI) -
                               (2.0 * (double)k - 1) * log2(r);
                if (bound <= -(double)e->target - 16) {
                    used = k - 1;
                    dropped = bound;
                    break;
                }
            }
    }
    LOCAL(arb_poly, f);
    LOCAL(arb, t, c, b);
    arb_set_fmpz(t, x);
    evaluator_taylor(f, e->v, t, 2 * used + 1);
    bernoulli_cache_compute(2 * used + 1);
    arb_poly_get_coeff_arb(out, f, 0);
    arb_mul_2exp_si(out, out, -1);
    arb_neg(out, out);
    for (slong k = 1; k <= used; k++) { /* B_2k / (2k)! f^(2k-1) = B_2k / (2k) times the Taylor coefficient */
        arb_poly_get_coeff_arb(c, f, 2 * k - 1);
        arb_set_fmpq(b, bernoulli_cache + 2 * k, e->prec + GUARD);
        arb_div_si(b, b, 2 * k, e->prec + GUARD);
        arb_addmul(out, b, c, e->prec + GUARD);
    }
    if (used < terms) {
        arb_one(c);
        arb_mul_2exp_si(c, c, dropped < -1e8 ? -100000000 : (slong)ceil(dropped));
        arb_add_error(out, c);
    }
}

static int integrand(acb_ptr out, const acb_t z, void *param, slong order, slong prec)
{
    (void)order;
    (void)prec;
    evaluator_complex(out, param, z);
    return 0;
}

/* Integral from a to b. */
static void integrate(arb_t out, struct euler *e, const fmpz_t a, const fmpz_t b)
{
    acb_calc_integrate_opt_t options;
    LOCAL(acb, from, to, result);
    LOCAL(mag, tolerance);
    acb_calc_integrate_opt_init(options);
    options->eval_limit = EVALUATIONS + 20 * e->prec;
    acb_set_fmpz(from, a);
    acb_set_fmpz(to, b);
    mag_set_ui_2exp_si(tolerance, 1, -e->target - 8);
    acb_calc_integrate(result, integrand, e->v, from, to, e->prec + 16, tolerance, options, e->prec + GUARD / 2);
    arb_set(out, acb_realref(result));
}

struct euler *euler_new(const struct series_summand *h, int root, const fmpz_t N, const fmpz_t end, slong prec, slong target)
{
    struct euler *e = calloc(1, sizeof *e);
    int ok, vanishes;
    if (!e)
        return NULL;
    e->h = h;
    e->root = root;
    e->prec = prec;
    e->target = target;
    fmpz_init_set(e->N, N);
    arb_init(e->at_N);
    arb_init(e->remainder);
    arb_init(e->primitive_N);
    e->v = evaluator_new(h->pool, root, prec + GUARD);
    e->rough = evaluator_new(h->pool, root, 64);
    e->panel = calloc(PANELS_MAX + 1, sizeof *e->panel);
    ok = e->v && e->rough && e->panel;
    if (ok) {
        LOCAL(fmpz, b);
        fmpz_fdiv_q_2exp(b, N, 2);
        fmpz_add(b, b, N);
        fmpz_add_ui(b, b, 4);
        if (fmpz_cmp(b, end) > 0)
            fmpz_set(b, end);
        slong most = prec / 2 + 64, needed = choose_order(e, N, b, (double)target + 8, most);
        ok = 0;
        while (!ok && needed > e->order) {
            e->order = needed;
            ok = make_panels(&needed, e, end, most);
        }
    }
    if (ok) {
        LOCAL(arb, t);
        arb_set_fmpz(t, N);
        e->primitive = antiderivative(e->primitive_N, &vanishes, h->pool, root, t, prec + GUARD);
        correction(e->at_N, e, N);
        e->integral = _arb_vec_init(e->panels + 1);
    }
    if (ok)
        return e;
    euler_free(e);
    return NULL;
}

void euler_free(struct euler *e)
{
    if (!e)
        return;
    evaluator_free(e->v);
    evaluator_free(e->rough);
    if (e->integral)
        _arb_vec_clear(e->integral, e->panels + 1);
    for (int i = 0; e->panel && i <= PANELS_MAX; i++)
        fmpz_clear(&e->panel[i]);
    free(e->panel);
    fmpz_clear(e->N);
    arb_clear(e->at_N);
    arb_clear(e->remainder);
    arb_clear(e->primitive_N);
    free(e);
}

/* Integral from N to j. */
static void integral_to(arb_t out, struct euler *e, const fmpz_t j)
{
    if (e->primitive) {
        int vanishes;
        LOCAL(arb, t);
        arb_set_fmpz(t, j);
        if (antiderivative(out, &vanishes, e->h->pool, e->root, t, e->prec + GUARD))
            arb_sub(out, e->primitive_N, out, e->prec + GUARD);
        else
            arb_indeterminate(out);
        return;
    }
    int i = 0, above = e->panels; /* the last panel end that is not beyond j */
    while (above - i > 1) {
        int middle = (i + above) / 2;
        if (fmpz_cmp(&e->panel[middle], j) <= 0)
            i = middle;
        else
            above = middle;
    }
    if (e->panels && fmpz_cmp(&e->panel[e->panels], j) <= 0)
        i = e->panels;
    for (; e->integrated < i; e->integrated++) {
        integrate(out, e, &e->panel[e->integrated], &e->panel[e->integrated + 1]);
        arb_add(&e->integral[e->integrated + 1], &e->integral[e->integrated], out, e->prec + GUARD);
    }
    if (fmpz_equal(&e->panel[i], j))
        arb_zero(out);
    else
        integrate(out, e, &e->panel[i], j);
    arb_add(out, out, &e->integral[i], e->prec + GUARD);
}

void euler_sum(arb_t out, struct euler *e, const fmpz_t j)
{
    if (fmpz_cmp(j, e->N) <= 0) {
        arb_zero(out);
        return;
    }
    LOCAL(arb, c);
    integral_to(out, e, j);
    correction(c, e, j);
    arb_add(out, out, c, e->prec + GUARD);
    arb_sub(out, out, e->at_N, e->prec + GUARD);
    arb_add(out, out, e->remainder, e->prec + GUARD);
}
