/* Euler-Maclaurin summation. */
#include "analyze/series/proof/euler.h"
#include "analyze/series/proof/rounding.h"

#include <math.h>
#include <stdlib.h>

enum {
    GUARD = 64, /* bits beyond the wanted precision */
    PANELS_MAX = 5000,
    EVALUATIONS = 4000 /* of the integrand, for one panel */
};

struct euler {
    const struct expression_pool *p;
    int smooth, root; /* what is integrated, where it is one; f */
    struct modes *modes; /* NULL: none */
    acb_ptr kernel; /* once a sum has been asked for */
    arb_t modes_at_N;
    slong prec, target;
    int count; /* what is integrated is the mean of so many: one, or at samples of an angle */
    const int *node; /* [count] */
    struct evaluator **v; /* [count] at full precision */
    int roughs; /* at low precision: one, or on arcs of the angle */
    struct evaluator *rough[MODES_ARCS];
    slong order; /* 2m */
    arb_t at_N, remainder; /* C(N); [-|R|, |R|] */
    int begun; /* these and the next two are there */
    int known; /* the integral is known in closed form */
    arb_t primitive_N;
    fmpz *panel; /* [panels + 1] ends, the first is N */
    arb_ptr integral; /* [panels + 1] from N to there, where there is no closed form */
    int panels, integrated;
    double most; /* no more panels are integrated once this work has been done */
    fmpz_t offered; /* the end of a panel with this bound of its remainder */
    double bound;
};

/* [5.2] */
double euler_magnitude(struct euler *e, const fmpz_t a, const fmpz_t b, double r)
{
    double result = -1e9;
    slong bits = 64 + (slong)fmpz_bits(b);
    LOCAL(acb, z, f);
    LOCAL(arb, low, high, radius);
    LOCAL(mag, bound);
    arb_set_d(radius, r);
    arb_set_fmpz(low, a);
    arb_sub(low, low, radius, bits);
    arb_set_fmpz(high, b);
    arb_add(high, high, radius, bits);
    arb_union(acb_realref(z), low, high, bits);
    arb_add_error(acb_imagref(z), radius);
    for (int i = 0; i < e->roughs; i++) {
        evaluator_complex(f, e->rough[i], z);
        if (!acb_is_finite(f))
            return EULER_NONE;
        acb_get_mag(bound, f);
        if (mag_is_zero(bound) || fmpz_cmp_si(MAG_EXPREF(bound), -1000000000) < 0)
            continue;
        if (fmpz_cmp_si(MAG_EXPREF(bound), 1000000000) >= 0)
            return EULER_NONE;
        result = fmax(result, (double)fmpz_get_si(MAG_EXPREF(bound)));
    }
    return result;
}

/* log2 of 4 / (2 pi r)^n n! * length * max |f|, the last two given by their logarithms; 2 more for the rounding of this. With
 * modes, of that times the sum of |V_k| (2 pi / d_k)^n. */
static double cauchy_bound(const struct euler *e, double n, double r, double magnitude_log2, double length_log2)
{
    double spread = e->modes ? fmax(0, modes_spread(e->modes, n)) : 0; /* at least that of g alone */
    return spread + magnitude_log2 + length_log2 + 4 + lgamma(n + 1) / M_LN2 - n * log2(2 * M_PI * r);
}

/* [5.2] */
double euler_remainder(const struct euler *e, double n, double r, double magnitude_log2, double length_log2)
{
    double bound = cauchy_bound(e, n, r, magnitude_log2, length_log2);
    return e->count > 1 ? 1 + fmax(bound, magnitude_log2 + length_log2 + e->modes->log2_left) : bound;
}

double euler_reach(const struct euler *e, double r)
{
    return r * (e->modes ? arf_get_d(arb_midref(e->modes->distance + 1), ARF_RND_NEAR) : 2 * M_PI);
}

double euler_length(const fmpz_t a, const fmpz_t b)
{
    LOCAL(fmpz, length);
    fmpz_sub(length, b, a);
    double bits = (double)fmpz_bits(length);
    return bits;
}

/* Taylor coefficients of what is integrated. */
static void mean_series(arb_poly_t out, struct euler *e, const arb_t t, slong length)
{
    LOCAL(arb_poly, f);
    LOCAL(arb, count);
    arb_poly_zero(out);
    for (int i = 0; i < e->count; i++) {
        evaluator_taylor(f, e->v[i], t, length);
        arb_poly_add(out, out, f, e->prec + GUARD);
    }
    arb_set_si(count, e->count);
    arb_poly_scalar_div(out, out, count, e->prec + GUARD);
}

/* [5.3] C(x), with as many terms as matter: those dropped are bounded by Cauchy's estimate on the circle of radius r. */
static void correction(arb_t out, struct euler *e, const fmpz_t x)
{
    slong terms = e->order / 2, used = terms;
    double dropped = -EULER_NONE, r = fmpz_bits(x) < 1000 ? fmpz_get_d(x) / 2 : 0x1p999;
    if (r * 4 > (double)e->order) {
        double size = euler_magnitude(e, x, x, r);
        if (size != EULER_NONE)
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
    mean_series(f, e, t, 2 * used + 1);
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
    struct euler *e = param;
    LOCAL(acb, point, f);
    (void)order;
    acb_set(point, z); /* which may be out */
    acb_zero(out);
    for (int i = 0; i < e->count; i++) {
        evaluator_complex(f, e->v[i], point);
        acb_add(out, out, f, prec);
    }
    acb_div_si(out, out, e->count, prec);
    return 0;
}

/* [5.4] Integral from a to b. */
static void panel_integral(arb_t out, struct euler *e, const fmpz_t a, const fmpz_t b)
{
    acb_calc_integrate_opt_t options;
    LOCAL(acb, from, to, result);
    LOCAL(mag, tolerance);
    acb_calc_integrate_opt_init(options);
    options->eval_limit = 16 + (EVALUATIONS + 20 * e->prec) / e->count;
    acb_set_fmpz(from, a);
    acb_set_fmpz(to, b);
    mag_set_ui_2exp_si(tolerance, 1, -e->target - 8);
    acb_calc_integrate(result, integrand, e, from, to, e->prec + 16, tolerance, options,
                       e->prec + GUARD / 2 + evaluator_more(e->v[0]));
    arb_set(out, acb_realref(result));
}

struct euler *euler_new(const struct expression_pool *p, int root, struct modes *modes, const fmpz_t N, slong prec, slong target)
{
    struct euler *e = calloc(1, sizeof *e);
    int changing = modes && modes->samples, failed = 0;
    if (!e || (modes && (modes->p != p || modes->root != root))) {
        free(e);
        return NULL;
    }
    *e = (struct euler){.p = p,
                        .smooth = modes ? modes->smooth : root,
                        .root = root,
                        .modes = modes_hold(modes),
                        .prec = prec,
                        .target = target,
                        .count = changing ? modes->samples : 1,
                        .roughs = changing ? MODES_ARCS : 1,
                        .most = INFINITY};
    e->node = changing ? modes->sample : &e->smooth;
    arb_init(e->modes_at_N);
    arb_init(e->at_N);
    arb_init(e->remainder);
    arb_init(e->primitive_N);
    fmpz_init(e->offered);
    e->v = calloc((size_t)e->count, sizeof(struct evaluator *));
    for (int i = 0; e->v && i < e->count && !failed; i++)
        failed = !(e->v[i] = evaluator_new(p, e->node[i], prec + GUARD, N));
    for (int i = 0; i < e->roughs && !failed; i++) {
        failed = !(e->rough[i] = evaluator_new(p, changing ? modes->turned : e->smooth, 64, N));
        if (changing && !failed)
            evaluator_turn(e->rough[i], modes->arc + i);
    }
    e->panel = calloc(PANELS_MAX + 1, sizeof *e->panel);
    if (!e->v || failed || !e->panel) {
        euler_free(e);
        return NULL;
    }
    fmpz_set(&e->panel[0], N);
    return e;
}

void euler_order(struct euler *e, slong order)
{
    e->order = order / 2 * 2;
    e->panels = 0;
    e->bound = EULER_NONE;
    arb_zero(e->remainder);
}

const fmpz *euler_begin(const struct euler *e)
{
    return &e->panel[0];
}

const fmpz *euler_end(const struct euler *e)
{
    return &e->panel[e->panels];
}

int euler_is_of(const struct euler *e, const struct expression_pool *p, int root)
{
    return e->p == p && e->root == root;
}

double euler_offer(struct euler *e, const fmpz_t next, double r)
{
    const fmpz *a = euler_end(e);
    double size = r > 0 && fmpz_cmp(next, a) > 0 ? euler_magnitude(e, a, next, r) : EULER_NONE;
    double bound = size == EULER_NONE ? size : euler_remainder(e, (double)e->order, r, size, euler_length(a, next));
    if (!fmpz_equal(next, e->offered))
        e->bound = EULER_NONE;
    fmpz_set(e->offered, next);
    e->bound = bound < e->bound ? bound : e->bound;
    return e->bound;
}

int euler_accept(struct euler *e)
{
    if (e->order < 2 || e->begun || e->panels == PANELS_MAX || !(e->bound < EULER_NONE) ||
        fmpz_cmp(e->offered, euler_end(e)) <= 0)
        return -1;
    LOCAL(arb, part);
    arb_one(part);
    arb_mul_2exp_si(part, part, e->bound < -1e8 ? -100000000 : (slong)ceil(e->bound));
    arb_add_error(e->remainder, part);
    fmpz_set(&e->panel[++e->panels], e->offered);
    return 0;
}

void euler_free(struct euler *e)
{
    if (!e)
        return;
    for (int i = 0; e->v && i < e->count; i++)
        evaluator_free(e->v[i]);
    free(e->v);
    for (int i = 0; i < e->roughs; i++)
        evaluator_free(e->rough[i]);
    if (e->integral)
        _arb_vec_clear(e->integral, e->panels + 1);
    for (int i = 0; e->panel && i <= PANELS_MAX; i++)
        fmpz_clear(&e->panel[i]);
    free(e->panel);
    fmpz_clear(e->offered);
    arb_clear(e->at_N);
    arb_clear(e->remainder);
    arb_clear(e->primitive_N);
    arb_clear(e->modes_at_N);
    if (e->kernel)
        _acb_vec_clear(e->kernel, e->modes->count * e->order);
    modes_release(e->modes);
    free(e);
}

void euler_limit(struct euler *e, double work)
{
    e->most = work_done + work;
}

/* Minus an integral from N to t that is known in closed form, but for a constant. 1, or 0: it is not. */
static int primitive(arb_t out, struct euler *e, const fmpz_t at)
{
    int known = 1, vanishes;
    LOCAL(arb, t, one);
    arb_set_fmpz(t, at);
    arb_zero(out);
    for (int i = 0; i < e->count && known; i++) {
        known = antiderivative(one, &vanishes, e->p, e->node[i], t, e->prec + GUARD);
        arb_add(out, out, one, e->prec + GUARD);
    }
    arb_div_si(out, out, e->count, e->prec + GUARD);
    return known;
}

/* Integral from N to j. */
static void integral_to(arb_t out, struct euler *e, const fmpz_t j)
{
    if (e->known) {
        if (primitive(out, e, j))
            arb_sub(out, e->primitive_N, out, e->prec + GUARD);
        else
            arb_indeterminate(out);
        return;
    }
    int i = 0; /* the last panel end that is not beyond j */
    while (i < e->panels && fmpz_cmp(&e->panel[i + 1], j) <= 0)
        i++;
    for (; e->integrated < i; e->integrated++) {
        panel_integral(out, e, &e->panel[e->integrated], &e->panel[e->integrated + 1]);
        if (mag_cmp_2exp_si(arb_radref(out), e->prec / 2 - e->target) >= 0 || work_done > e->most) { /* nothing comes of it */
            arb_indeterminate(out);
            return;
        }
        arb_add(&e->integral[e->integrated + 1], &e->integral[e->integrated], out, e->prec + GUARD);
    }
    if (fmpz_equal(&e->panel[i], j))
        arb_zero(out);
    else
        panel_integral(out, e, &e->panel[i], j);
    arb_add(out, out, &e->integral[i], e->prec + GUARD);
}

/* How many orders of C_k(x) matter, and a bound of the others: |c_n| <= 4 / d^n, and [5.3]. */
static slong modes_used(mag_t dropped, struct euler *e, const fmpz_t x)
{
    double r = fmpz_bits(x) < 1000 ? fmpz_get_d(x) / 2 : 0x1p999, size = euler_magnitude(e, x, x, r), sum = -EULER_NONE;
    slong used = e->order;
    mag_zero(dropped);
    for (; size != EULER_NONE && used > 1; used--) {
        double bound = cauchy_bound(e, (double)used, r, size, log2(r)), most = fmax(sum, bound);
        most += log2(exp2(sum - most) + exp2(bound - most));
        if (!(most <= -(double)e->target - 16)) /* r may be 0 */
            break;
        sum = most;
    }
    if (used < e->order)
        mag_set_ui_2exp_si(dropped, 1, sum < -1e8 ? -100000000 : (slong)ceil(sum));
    return used;
}

/* sum of 2 Re V_k C_k(x). */
static void modes_at(arb_t out, struct euler *e, const fmpz_t x)
{
    LOCAL(arb, t);
    LOCAL(mag, dropped);
    slong used = modes_used(dropped, e, x);
    arb_poly_struct *g = calloc((size_t)e->count, sizeof *g);
    arb_indeterminate(out);
    if (!g)
        return;
    arb_set_fmpz(t, x);
    for (int i = 0; i < e->count; i++) {
        arb_poly_init(&g[i]);
        evaluator_taylor(&g[i], e->v[i], t, used);
    }
    modes_correction(out, e->modes, e->kernel, e->order, g, used, x, e->prec + GUARD);
    arb_add_error_mag(out, dropped);
    for (int i = 0; i < e->count; i++)
        arb_poly_clear(&g[i]);
    free(g);
}

/* What is the same for every j. */
static void begin(struct euler *e)
{
    if (e->begun)
        return;
    e->begun = 1;
    e->known = primitive(e->primitive_N, e, &e->panel[0]);
    correction(e->at_N, e, &e->panel[0]);
    if (e->modes) {
        e->kernel = modes_kernel(e->modes, e->order, e->prec + GUARD);
        modes_at(e->modes_at_N, e, &e->panel[0]);
    }
    e->integral = _arb_vec_init(e->panels + 1);
}

/* [5.1, 5.10] */
void euler_sum(arb_t out, struct euler *e, const fmpz_t j)
{
    LOCAL(arb, c);
    arb_zero(out);
    if (fmpz_cmp(j, euler_end(e)) > 0)
        arb_indeterminate(out);
    if (fmpz_cmp(j, &e->panel[0]) <= 0 || !arb_is_finite(out))
        return;
    begin(e);
    integral_to(out, e, j);
    correction(c, e, j);
    arb_add(out, out, c, e->prec + GUARD);
    arb_sub(out, out, e->at_N, e->prec + GUARD);
    if (e->modes) {
        LOCAL(mag, rest);
        arb_add(c, out, e->remainder, e->prec + GUARD); /* the sum of g, which is positive */
        arb_get_mag(rest, c);
        mag_mul(rest, rest, e->modes->rest);
        if (e->count == 1)
            arb_mul(out, out, acb_realref(e->modes->weight), e->prec + GUARD);
        arb_add_error_mag(out, rest);
        modes_at(c, e, j);
        arb_add(out, out, c, e->prec + GUARD);
        arb_sub(out, out, e->modes_at_N, e->prec + GUARD);
    }
    arb_add(out, out, e->remainder, e->prec + GUARD);
}
