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
    int root;
    slong prec, target;
    struct evaluator *v, *rough; /* at full precision, at low precision */
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
    evaluator_complex(f, e->rough, z);
    acb_get_mag(bound, f);
    if (!acb_is_finite(f) || fmpz_cmp_si(MAG_EXPREF(bound), 1000000000) >= 0)
        return EULER_UNKNOWN;
    if (mag_is_zero(bound) || fmpz_cmp_si(MAG_EXPREF(bound), -1000000000) < 0)
        return -1e9;
    return (double)fmpz_get_si(MAG_EXPREF(bound));
}

/* [5.2] log2 of 4 / (2 pi r)^n n! * length * max |f|; 2 more for the rounding of this. */
double euler_remainder(double n, double r, double magnitude_log2, double length_log2)
{
    return magnitude_log2 + length_log2 + 4 + lgamma(n + 1) / M_LN2 - n * log2(2 * M_PI * r);
}

double euler_length(const fmpz_t a, const fmpz_t b)
{
    LOCAL(fmpz, length);
    fmpz_sub(length, b, a);
    double bits = (double)fmpz_bits(length);
    return bits;
}

/* [5.3] C(x), with as many terms as matter: the others are bounded on the circle of radius r. */
static void correction(arb_t out, struct euler *e, const fmpz_t x)
{
    slong terms = e->order / 2, used = terms;
    double dropped = -EULER_UNKNOWN, r = fmpz_bits(x) < 1000 ? fmpz_get_d(x) / 2 : 0x1p999;
    if (r * 4 > (double)e->order) {
        double size = euler_magnitude(e, x, x, r);
        if (size != EULER_UNKNOWN)
            for (slong k = 1; k < terms; k++) { /* |B_2k| / (2k) <= 4 (2k-1)! / (2 pi)^2k; the next
                                                   terms are less than half each */
                double bound = size + 4 + lgamma(2.0 * (double)k) / M_LN2 -
                               2.0 * (double)k * log2(2 * M_PI) - (2.0 * (double)k - 1) * log2(r);
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
    for (slong k = 1; k <= used;
         k++) { /* B_2k / (2k)! f^(2k-1) = B_2k / (2k) times the Taylor coefficient */
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
    (void)order;
    (void)prec;
    evaluator_complex(out, e->v, z);
    return 0;
}

/* [5.4] Integral from a to b. */
static void panel_integral(arb_t out, struct euler *e, const fmpz_t a, const fmpz_t b)
{
    acb_calc_integrate_opt_t options;
    LOCAL(acb, from, to, result);
    LOCAL(mag, tolerance);
    acb_calc_integrate_opt_init(options);
    options->eval_limit = 16 + EVALUATIONS + 20 * e->prec;
    acb_set_fmpz(from, a);
    acb_set_fmpz(to, b);
    mag_set_ui_2exp_si(tolerance, 1, -e->target - 8);
    acb_calc_integrate(result, integrand, e, from, to, e->prec + 16, tolerance, options,
                       e->prec + GUARD / 2 + evaluator_more(e->v));
    arb_set(out, acb_realref(result));
}

struct euler *euler_new(const struct expression_pool *p, int root, const fmpz_t N, slong prec,
                        slong target)
{
    struct euler *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    *e = (struct euler){.p = p, .root = root, .prec = prec, .target = target, .most = INFINITY};
    arb_init(e->at_N);
    arb_init(e->remainder);
    arb_init(e->primitive_N);
    fmpz_init(e->offered);
    e->v = evaluator_new(p, root, prec + GUARD, N);
    e->rough = evaluator_new(p, root, 64, N);
    e->panel = calloc(PANELS_MAX + 1, sizeof *e->panel);
    if (!e->v || !e->rough || !e->panel) {
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
    e->bound = EULER_UNKNOWN;
    arb_zero(e->remainder);
}

const fmpz *euler_end(const struct euler *e)
{
    return &e->panel[e->panels];
}

int euler_covers(const struct euler *e, const struct expression_pool *p, int root, const fmpz_t N,
                 const fmpz_t j)
{
    return e->p == p && e->root == root && fmpz_equal(&e->panel[0], N) &&
           fmpz_cmp(euler_end(e), j) >= 0;
}

double euler_offer(struct euler *e, const fmpz_t next, double r)
{
    const fmpz *a = euler_end(e);
    double size = r > 0 && fmpz_cmp(next, a) > 0 ? euler_magnitude(e, a, next, r) : EULER_UNKNOWN;
    double bound = size == EULER_UNKNOWN
                       ? size
                       : euler_remainder((double)e->order, r, size, euler_length(a, next));
    if (!fmpz_equal(next, e->offered))
        e->bound = EULER_UNKNOWN;
    fmpz_set(e->offered, next);
    e->bound = bound < e->bound ? bound : e->bound;
    return e->bound;
}

int euler_accept(struct euler *e)
{
    if (e->order < 2 || e->begun || e->panels == PANELS_MAX || !(e->bound < EULER_UNKNOWN) ||
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
    evaluator_free(e->v);
    evaluator_free(e->rough);
    if (e->integral)
        _arb_vec_clear(e->integral, e->panels + 1);
    for (int i = 0; e->panel && i <= PANELS_MAX; i++)
        fmpz_clear(&e->panel[i]);
    free(e->panel);
    fmpz_clear(e->offered);
    arb_clear(e->at_N);
    arb_clear(e->remainder);
    arb_clear(e->primitive_N);
    free(e);
}

void euler_limit(struct euler *e, double work)
{
    e->most = e->p->budget->done + work;
}

/* Minus an integral from N to t in closed form, up to a constant. 1, or 0: it is not known. */
static int primitive(arb_t out, struct euler *e, const fmpz_t at)
{
    int vanishes;
    LOCAL(arb, t);
    arb_set_fmpz(t, at);
    return antiderivative(out, &vanishes, e->p, e->root, t, e->prec + GUARD);
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
        if (mag_cmp_2exp_si(arb_radref(out), e->prec / 2 - e->target) >= 0 ||
            e->p->budget->done > e->most) { /* nothing comes of it */
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

/* What is the same for every j. */
static void begin(struct euler *e)
{
    if (e->begun)
        return;
    e->begun = 1;
    e->known = primitive(e->primitive_N, e, &e->panel[0]);
    correction(e->at_N, e, &e->panel[0]);
    e->integral = _arb_vec_init(e->panels + 1);
}

/* [5.1] */
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
    arb_add(out, out, e->remainder, e->prec + GUARD);
}
