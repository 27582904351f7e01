/* Waves beside what is smooth. */
#include "analyze/series/proof/modes_private.h"

#include <math.h>
#include <stdlib.h>

enum {
    MODES_MAX = 400,
    TERMS_MAX = 64, /* of b: more take long to be parted */
    MULTIPLES_MAX = 64, /* of the frequency, for one wave */
    WIDTHS = 24, /* of strips that are tried, each sqrt(2) times the one before */
    RECTANGLES = 64, /* that cover one */
    PRODUCT_BITS = 280 /* a complex product takes as long as this says, squared */
};

/* ---- g and V ---- */

/* For every node up to `last`, where t stands in it: outside of waves, in waves. NULL: memory. */
static unsigned char *places_of_t(const struct expression_pool *p, int last)
{
    unsigned char *place = calloc((size_t)last + 1, 1);
    LOCAL(arb, shift, slope);
    for (int n = 0; place && n <= last; n++) {
        const struct expression *x = &p->node[n];
        if (x->kind == X_T)
            place[n] = OUTSIDE;
        if ((x->kind == X_SIN || x->kind == X_COS) && x->depends && evaluate_affine(shift, slope, p, x->child[0], 64)) {
            place[n] = WAVES;
            continue;
        }
        for (int i = 0; i < x->count; i++)
            place[n] |= place[x->child[i]];
    }
    return place;
}

static int is_even(const fmpq_t weight)
{
    return fmpz_is_one(fmpq_denref(weight)) && fmpz_is_even(fmpq_numref(weight));
}

/* Adds w ln(u), u a product of factors that are not negative and of one in waves only, to *smooth and *waves. An even w makes |u|
 * as good as u, and factors of any sign. 1, or 0: it is no such product. */
static int part_logarithm(int *smooth, int *waves, struct expression_pool *p, const unsigned char *place, int u, const fmpq_t w)
{
    const struct expression *x = &p->node[u]; /* until the pool grows */
    int even = is_even(w), sign = x->sign, a = x->count ? x->child[0] : -1, b = x->count > 1 ? x->child[1] : -1;
    LOCAL(fmpq, weight);
    if (x->kind == X_ABS && place[u] & WAVES && even)
        return part_logarithm(smooth, waves, p, place, a, w);
    if (place[u] == WAVES) {
        fmpq_set(weight, w);
        if (even) {
            u = expression_multiply(p, u, u);
            fmpq_div_2exp(weight, w, 1);
        }
        *waves = expression_add(p, *waves, expression_scale(p, expression_unary(p, X_LN, u), weight));
        return 1;
    }
    if (!(place[u] & WAVES)) {
        *smooth = expression_add(p, *smooth, expression_scale(p, expression_unary(p, X_LN, u), w));
        return sign > 0;
    }
    if (x->kind == X_LINEAR && x->count == 1 && fmpq_is_zero(x->q) && fmpq_sgn(&x->weight[0]) > 0) {
        int scale = expression_unary(p, X_LN, expression_number(p, &x->weight[0]));
        *smooth = expression_add(p, *smooth, expression_scale(p, scale, w));
        return part_logarithm(smooth, waves, p, place, a, w);
    }
    if (x->kind == X_POWER && p->node[b].kind == X_NUMBER) {
        fmpq_mul(weight, w, p->node[b].q);
        return (p->node[a].sign > 0 || (is_even(weight) && fmpz_is_one(fmpq_denref(p->node[b].q)))) &&
               part_logarithm(smooth, waves, p, place, a, weight);
    }
    return x->kind == X_MULTIPLY && (even || !(place[a] & place[b] & WAVES)) && part_logarithm(smooth, waves, p, place, a, w) &&
           part_logarithm(smooth, waves, p, place, b, w);
}

/* b = u + v, v with t in waves only. 1, or 0: it is no such sum, or has no waves. */
static int part_waves(int *smooth, int *waves, struct expression_pool *p, const unsigned char *place, int root)
{
    struct expression x = p->node[root]; /* the pool may move while it grows */
    int count = x.kind == X_LINEAR ? x.count : 1;
    LOCAL(fmpq, w);
    if (!(place[root] & WAVES) || count > TERMS_MAX)
        return 0;
    fmpq_one(w);
    *smooth = x.kind == X_LINEAR ? expression_number(p, x.q) : NODE_ZERO;
    *waves = NODE_ZERO;
    for (int i = 0; i < count; i++) {
        int n = x.kind == X_LINEAR ? x.child[i] : root;
        if (x.kind == X_LINEAR)
            fmpq_set(w, &x.weight[i]);
        if (p->node[n].kind == X_LN && place[n] & WAVES) {
            if (!part_logarithm(smooth, waves, p, place, p->node[n].child[0], w))
                return 0;
            continue;
        }
        if (place[n] == (OUTSIDE | WAVES))
            return 0;
        int *to = place[n] == WAVES ? waves : smooth;
        *to = expression_add(p, *to, expression_scale(p, n, w));
    }
    return !p->failed;
}

/* Multiples are up to MULTIPLES_MAX. */
int modes_frequency(struct expression_pool *p, int v)
{
    int first = -1, result = -1, known = 1;
    LOCAL(fmpq, divisor);
    LOCAL(arb, shift, slope_ball);
    int count = 0, *nodes = expression_below(&count, p, &v, 1);
    for (int pass = 0; pass < 2 && known; pass++) /* the divisor of all; then whether the multiples are few */
        for (int i = 0; i < count && known; i++) {
            int n = nodes[i];
            if (!p->node[n].depends || (p->node[n].kind != X_SIN && p->node[n].kind != X_COS))
                continue;
            int argument = p->node[n].child[0], at[2];
            if (!evaluate_affine(shift, slope_ball, p, argument, 64)) /* a function of waves */
                continue;
            for (slong t = 0; t < 2; t++)
                at[t] = expression_substitute(p, p, argument, (const fmpz[]){t});
            int slope = expression_subtract(p, at[1], at[0]);
            if (first < 0)
                first = slope;
            int ratio = expression_multiply(p, slope, expression_power(p, first, expression_ratio(p, -1, 1)));
            const struct expression *r = &p->node[ratio];
            known = r->kind == X_NUMBER && !fmpq_is_zero(r->q);
            if (known && pass == 0) {
                fmpq_gcd(divisor, divisor, r->q);
            } else if (known) {
                LOCAL(fmpq, multiple);
                fmpq_div(multiple, r->q, divisor);
                known = fmpz_cmpabs(fmpq_numref(multiple), (const fmpz[]){MULTIPLES_MAX}) <= 0;
            }
        }
    free(nodes);
    if (known && first >= 0) {
        result = expression_scale(p, first, divisor);
        int sign = expression_sign(p, result);
        result = sign == 2 || sign == 0 ? -1 : sign > 0 ? result : expression_subtract(p, NODE_ZERO, result);
    }
    return p->failed ? -1 : result;
}

/* ---- the modes ---- */

double modes_log2(const mag_t x)
{
    return mag_is_zero(x) || fmpz_cmp_si(MAG_EXPREF(x), -1000000) < 0 ? -1e6
           : fmpz_cmp_si(MAG_EXPREF(x), 1000000) > 0                  ? INFINITY
                                                                      : (double)fmpz_get_si(MAG_EXPREF(x));
}

void modes_arc(acb_t out, const arb_t period, int i, int count, double width)
{
    LOCAL(arb, step, height);
    arb_const_pi(height, 64);
    arb_mul_2exp_si(height, height, 1);
    arb_div(height, period, height, 64);
    arb_set_d(step, width);
    arb_mul(height, height, step, 64);
    arb_div_ui(step, period, 2 * (ulong)count, 64);
    acb_zero(out);
    arb_mul_ui(acb_realref(out), step, 2 * (ulong)i + 1, 64);
    arb_add_error(acb_realref(out), step);
    arb_add_error(acb_imagref(out), height);
}

/* log2 of a bound of |V| where the imaginary part of w t is up to `width`; INFINITY: none. */
static double strip_bound(struct evaluator *v, const arb_t period, double width)
{
    double most = -INFINITY;
    LOCAL(acb, z);
    LOCAL(mag, bound);
    for (int i = 0; i < RECTANGLES; i++) {
        modes_arc(z, period, i, RECTANGLES, width);
        evaluator_complex(z, v, z);
        acb_get_mag(bound, z);
        double size = acb_is_finite(z) ? modes_log2(bound) : INFINITY;
        most = size > most ? size : most;
    }
    return most;
}

/* How many modes leave a rest of about 2^-prec, by |V_k| <= exp(-width |k|) times the bound on the strip, for the best width; and
 * bounds of that rest, also of the modes k + j samples, j not 0, together. -1: too many. */
static int choose_count(mag_t rest, struct evaluator *v, const arb_t period, slong prec)
{
    int best = -1;
    double width = 0.125, best_width = 0, best_bound = 0;
    for (int i = 0; i < WIDTHS; i++, width *= M_SQRT2) {
        double bound = strip_bound(v, period, width);
        if (isinf(bound))
            break;
        double wanted = ceil(((double)prec + bound + 2 - log2(-expm1(-width))) * M_LN2 / width);
        if (wanted < 1)
            wanted = 1;
        if (wanted <= MODES_MAX && (best < 0 || wanted < best)) {
            best = (int)wanted;
            best_width = width;
            best_bound = bound;
        }
    }
    if (best > 0) { /* 2 sum over k > count of exp(-width k), rounded up */
        double log2_rest = best_bound + 1.01 - best_width * best / M_LN2 * 0.999999 - log2(-expm1(-best_width)) + 0.01;
        mag_set_ui_2exp_si(rest, 1, (slong)ceil(log2_rest));
    }
    return best;
}

/* V_k from equally spaced samples, more than twice as many as there are modes. */
static void find_weights(struct modes *m, struct evaluator *v, const arb_t period, slong prec)
{
    int samples = 2 * m->count + 2;
    LOCAL(acb, z);
    LOCAL(fmpq, angle);
    work_done += (double)samples * m->count * (3 + pow((double)prec / PRODUCT_BITS, 2));
    acb_ptr root = _acb_vec_init(samples), value = _acb_vec_init(samples);
    m->weight = _acb_vec_init(m->count + 1);
    for (int j = 0; j < samples; j++) {
        fmpq_set_si(angle, -2 * j, (ulong)samples);
        arb_sin_cos_pi_fmpq(acb_imagref(root + j), acb_realref(root + j), angle, prec);
        acb_zero(z);
        arb_mul_ui(acb_realref(z), period, (ulong)j, prec);
        arb_div_ui(acb_realref(z), acb_realref(z), (ulong)samples, prec);
        evaluator_complex(value + j, v, z);
        arb_zero(acb_imagref(value + j));
    }
    for (int k = 0; k <= m->count; k++) {
        acb_ptr sum = m->weight + k;
        for (int j = 0; j < samples; j++)
            acb_addmul(sum, value + j, root + (int)((long)j * k % samples), prec);
        acb_div_ui(sum, sum, (ulong)samples, prec);
        acb_add_error_mag(sum, m->rest); /* the modes that have the same samples */
    }
    arb_zero(acb_imagref(m->weight));
    _acb_vec_clear(root, samples);
    _acb_vec_clear(value, samples);
}

/* Distances of k w from the multiples of 2 pi. 1, or 0 where one cannot be told from 0. */
static int find_distances(struct modes *m, slong prec)
{
    int apart = 1;
    LOCAL(arb, turn, w, x);
    LOCAL(fmpz, n);
    evaluate_constant(w, m->p, m->frequency, prec);
    arb_const_pi(turn, prec);
    arb_mul_2exp_si(turn, turn, 1);
    m->distance = _arb_vec_init(m->count + 1);
    for (int k = 1; k <= m->count && apart; k++) {
        arb_ptr d = m->distance + k;
        arb_mul_ui(d, w, (ulong)k, prec);
        arb_div(x, d, turn, prec);
        apart = arb_is_finite(x) && arf_cmpabs_2exp_si(arb_midref(x), 60) < 0;
        if (!apart)
            break;
        arf_get_fmpz(n, arb_midref(x), ARF_RND_NEAR);
        arb_mul_fmpz(x, turn, n, prec);
        arb_sub(d, d, x, prec);
        arb_abs(d, d);
        apart = arb_is_positive(d);
    }
    return apart;
}

/* What bounds of remainders and of tails need, as numbers that are not too small. 0 or -1: memory. */
static int find_sizes(struct modes *m, double width)
{
    LOCAL(mag, size, sine);
    LOCAL(arf, least);
    LOCAL(arb, angle);
    m->log2_size = calloc((size_t)m->count + 1, sizeof(double));
    m->log2_wave = calloc((size_t)m->count + 1, sizeof(double));
    if (!m->log2_size || !m->log2_wave)
        return -1;
    for (int k = 0; k <= m->count; k++) {
        if (m->weight)
            acb_get_mag(size, m->weight + k);
        /* |V_k| <= 4 exp(-width k) max |F|: its own mode, and those k + j samples */
        m->log2_size[k] = m->weight ? modes_log2(size) + (k > 0) : k ? 3.01 - width * 0.999999 * k / M_LN2 : 0;
        if (k) {
            arb_get_lbound_arf(least, m->distance + k, 53);
            m->log2_wave[k] = log2(2 * M_PI / arf_get_d(least, ARF_RND_DOWN)) + 1e-9;
            arb_mul_2exp_si(angle, m->distance + k, -1);
            arb_sin(angle, angle, 64);
            arb_get_mag_lower(sine, angle);
            mag_div(size, size, sine);
            mag_mul_2exp_si(size, size, 1);
            mag_add(m->turn, m->turn, size);
        }
    }
    return 0;
}

/* V is the same at all t: how many modes it has, and these. 1, or 0. */
static int find_fixed(struct modes *m, int waves, const arb_t period, slong prec)
{
    struct evaluator *rough = evaluator_new(m->p, waves, 64, NULL), *v = evaluator_new(m->p, waves, prec + 32, NULL);
    m->count = rough && v ? choose_count(m->rest, rough, period, prec) : -1;
    if (m->count > 0)
        find_weights(m, v, period, prec + 32);
    evaluator_free(rough);
    evaluator_free(v);
    return m->count > 0;
}

/* [5.10] */
struct modes *modes_new(struct expression_pool *p, int root, slong prec)
{
    int waves, smooth, fixed, known;
    double width = 0;
    unsigned char *place = places_of_t(p, root);
    struct modes *m = calloc(1, sizeof *m);
    LOCAL(arb, period, w);
    known = place && m && place[root] & WAVES;
    if (!m) {
        free(place);
        return NULL;
    }
    *m = (struct modes){.p = p, .root = root, .smooth = -1, .references = 1};
    mag_init(m->rest);
    mag_init(m->turn);
    if (known) {
        fixed = part_waves(&smooth, &waves, p, place, root) && p->node[waves].depends;
        if (!fixed) {
            waves = modes_without_squares(p, root);
            free(place);
            place = places_of_t(p, waves);
        }
        m->frequency = modes_frequency(p, waves);
        known = place && m->frequency >= 0;
    }
    if (known) {
        arb_const_pi(period, prec + 64);
        arb_mul_2exp_si(period, period, 1);
        evaluate_constant(w, p, m->frequency, prec + 64);
        arb_div(period, period, w, prec + 64);
        known = fixed ? find_fixed(m, waves, period, prec) : modes_change(m, &width, waves, place, period, prec);
        m->smooth = fixed ? smooth : -1;
        known = known && find_distances(m, prec + 64) && find_sizes(m, width) == 0;
    }
    free(place);
    if (known)
        return m;
    modes_release(m);
    return NULL;
}

struct modes *modes_hold(struct modes *m)
{
    if (m)
        m->references++;
    return m;
}

void modes_release(struct modes *m)
{
    if (!m || --m->references > 0)
        return;
    if (m->weight)
        _acb_vec_clear(m->weight, m->count + 1);
    if (m->distance)
        _arb_vec_clear(m->distance, m->count + 1);
    mag_clear(m->rest);
    mag_clear(m->turn);
    if (m->arc)
        _acb_vec_clear(m->arc, MODES_ARCS);
    free(m->sample);
    free(m->log2_size);
    free(m->log2_wave);
    free(m);
}

/* ---- sums ---- */

double modes_spread(const struct modes *m, double n)
{
    double most = m->log2_size[0];
    for (int k = 1; k <= m->count; k++)
        most = fmax(most, m->log2_size[k] + n * m->log2_wave[k]);
    return most + log2(m->count + 1);
}

/* [5.10] c_(n+1) is the coefficient of x^n in cot((k w + x) / 2) / 2. */
acb_ptr modes_kernel(const struct modes *m, slong order, slong prec)
{
    acb_ptr kernel = _acb_vec_init(m->count * order);
    LOCAL(arb_poly, angle, sine, cosine);
    LOCAL(arb, half, c);
    LOCAL(fmpz, factorial);
    work_done += (0.1 + 0.002 * (double)order) * (double)order * (double)prec * m->count; /* a quotient of power series each */
    evaluate_constant(half, m->p, m->frequency, prec);
    arb_mul_2exp_si(half, half, -1);
    for (int k = 1; k <= m->count; k++) {
        arb_mul_ui(c, half, (ulong)k, prec);
        arb_poly_set_coeff_arb(angle, 0, c);
        arb_one(c);
        arb_mul_2exp_si(c, c, -1);
        arb_poly_set_coeff_arb(angle, 1, c);
        arb_poly_sin_cos_series(sine, cosine, angle, order, prec);
        arb_poly_div_series(cosine, cosine, sine, order, prec);
        fmpz_one(factorial);
        for (slong n = 0; n < order; n++) {
            acb_ptr to = kernel + (k - 1) * order + n;
            if (n)
                fmpz_mul_ui(factorial, factorial, (ulong)n);
            arb_poly_get_coeff_arb(c, cosine, n);
            arb_mul_2exp_si(c, c, -1);
            arb_mul_fmpz(c, c, factorial, prec);
            switch (n % 4) { /* i^-(n+1) */
            case 0: arb_neg(acb_imagref(to), c); break;
            case 1: arb_neg(acb_realref(to), c); break;
            case 2: arb_set(acb_imagref(to), c); break;
            default: arb_set(acb_realref(to), c); break;
            }
        }
        arb_set_d(c, 0.5);
        arb_sub(acb_realref(kernel + (k - 1) * order), acb_realref(kernel + (k - 1) * order), c, prec);
    }
    return kernel;
}

/* Modes of the Taylor coefficients, from those of the samples: [used][samples]. Caller clears. */
static acb_ptr modes_of_samples(const struct modes *m, const arb_poly_struct *g, slong used, slong prec)
{
    acb_ptr out = _acb_vec_init(used * m->samples), value = _acb_vec_init(m->samples);
    acb_dft_pre_t transform;
    acb_dft_precomp_init(transform, m->samples, prec);
    work_done += (double)used * m->samples * 16;
    for (slong n = 0; n < used; n++) {
        for (int i = 0; i < m->samples; i++) {
            arb_poly_get_coeff_arb(acb_realref(value + i), &g[i], n);
            arb_div_si(acb_realref(value + i), acb_realref(value + i), m->samples, prec);
        }
        acb_dft_precomp(out + n * m->samples, value, transform, prec);
    }
    acb_dft_precomp_clear(transform);
    _acb_vec_clear(value, m->samples);
    return out;
}

void modes_correction(arb_t out, const struct modes *m, acb_srcptr kernel, slong order, const arb_poly_struct *g, slong used,
                      const fmpz_t x, slong prec)
{
    slong bits = prec + (slong)fmpz_bits(x);
    acb_ptr changing = m->samples ? modes_of_samples(m, g, used, prec) : NULL;
    LOCAL(arb, angle, c);
    LOCAL(acb, turn, power, sum, term);
    arb_zero(out);
    work_done += 3 * (double)(used * m->count);
    evaluate_constant(angle, m->p, m->frequency, bits);
    arb_mul_fmpz(angle, angle, x, bits);
    arb_sin_cos(acb_imagref(turn), acb_realref(turn), angle, prec);
    acb_one(power);
    for (int k = 1; k <= m->count; k++) {
        acb_mul(power, power, turn, prec);
        acb_zero(sum);
        for (slong n = 0; n < used; n++) {
            acb_srcptr factor = kernel + (k - 1) * order + n;
            if (changing) {
                acb_addmul(sum, factor, changing + n * m->samples + k, prec);
                continue;
            }
            arb_poly_get_coeff_arb(c, g, n);
            acb_addmul_arb(sum, factor, c, prec);
        }
        acb_mul(term, sum, power, prec);
        if (!changing)
            acb_mul(term, term, m->weight + k, prec);
        arb_mul_2exp_si(acb_realref(term), acb_realref(term), 1);
        arb_add(out, out, acb_realref(term), prec);
    }
    if (changing)
        _acb_vec_clear(changing, used * m->samples);
}
