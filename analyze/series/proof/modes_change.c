/* Modes that change with t: those of F(t, a) in an angle a, where f(t) = F(t, w t). */
#include "analyze/series/proof/modes_private.h"
#include "analyze/series/proof/summand.h"

#include <math.h>
#include <stdlib.h>

enum {
    MODES_MAX = 1000,
    WAVES_MAX = 16,
    NODES_MAX = 200,
    WIDTHS = 16, /* of strips that are tried, each sqrt(2) times the one before */
    NEAR_BITS = 6, /* F is looked at from 2^this on, */
    FAR_BITS = 4096, /* to where it is small, at most 2^this, */
    SLOW_BITS = 40, /* or to this if it never is */
    DISTANCES = 64,
    GUARD = 32, /* bits, as bounds are of larger sets */
    SAMPLES_STEP = 16, /* so many factors 2 make transforms fast */
    SAMPLES_INTEGRATED = 64 /* that have an integral without a closed form */
};

int modes_without_squares(struct expression_pool *p, int root)
{
    int old[WAVES_MAX], fresh[WAVES_MAX], squares = 0, count, *nodes = expression_below(&count, p, &root, 1);
    LOCAL(fmpq, half);
    for (int i = 0; nodes && i < count && squares < WAVES_MAX; i++) {
        const struct expression x = p->node[nodes[i]]; /* the pool may move while it grows */
        const struct expression *e = x.kind == X_POWER ? &p->node[x.child[1]] : NULL;
        if (!e || e->kind != X_NUMBER || !fmpz_is_one(fmpq_denref(e->q)) || !fmpz_is_even(fmpq_numref(e->q)))
            continue;
        const struct expression wave = p->node[x.child[0]];
        if (wave.kind != X_SIN && wave.kind != X_COS)
            continue;
        fmpq_div_2exp(half, e->q, 1);
        int twice = expression_unary(p, X_COS, expression_add(p, wave.child[0], wave.child[0]));
        int square = wave.kind == X_COS ? expression_add(p, NODE_ONE, twice) : expression_subtract(p, NODE_ONE, twice);
        square = expression_multiply(p, square, expression_ratio(p, 1, 2));
        old[squares] = nodes[i];
        fresh[squares++] = expression_power(p, square, expression_number(p, half));
    }
    free(nodes);
    return squares ? expression_exchange(p, p, root, squares, old, fresh) : root;
}

/* Node `root` with the leaf X_OPAQUE where t stands in waves. -1: too many. */
static int turn_waves(struct expression_pool *p, const unsigned char *place, int root)
{
    int old[WAVES_MAX], fresh[WAVES_MAX], waves = 0, leaf = expression_leaf(p, X_OPAQUE), count;
    int *nodes = expression_below(&count, p, &root, 1), known = nodes && count <= NODES_MAX && !p->node[root].opaque;
    LOCAL(arb, shift, slope);
    for (int i = 0; i < count && known; i++) {
        const struct expression x = p->node[nodes[i]]; /* the pool may move while it grows */
        if ((x.kind != X_SIN && x.kind != X_COS) || place[nodes[i]] != WAVES || !evaluate_affine(shift, slope, p, x.child[0], 64))
            continue;
        known = waves < WAVES_MAX;
        if (!known)
            break;
        old[waves] = nodes[i];
        fresh[waves++] = expression_unary(p, x.kind, expression_replace(p, p, x.child[0], leaf));
    }
    free(nodes);
    return known && waves ? expression_exchange(p, p, root, waves, old, fresh) : -1;
}

/* log2 of bounds of |F(2^bits, a)| with the imaginary part of a up to `width`; INFINITY: none. */
static void sizes_at(double *size, const slong *bits, int count, struct evaluator *v, const arb_t period, double width)
{
    LOCAL(acb, arc, t, f);
    LOCAL(mag, bound);
    for (int k = 0; k < count; k++)
        size[k] = -INFINITY;
    for (int i = 0; i < MODES_ARCS; i++) {
        modes_arc(arc, period, i, MODES_ARCS, width);
        evaluator_turn(v, arc);
        for (int k = 0; k < count; k++) {
            acb_one(t);
            acb_mul_2exp_si(t, t, bits[k]);
            evaluator_complex(f, v, t);
            acb_get_mag(bound, f);
            size[k] = fmax(size[k], acb_is_finite(f) ? modes_log2(bound) : INFINITY);
        }
    }
}

/* How many modes, of a strip that asks for the fewest. */
static int choose_strip(double *width, struct evaluator *v, const arb_t period, slong prec)
{
    slong at[DISTANCES];
    double size[DISTANCES], tried = 0.125;
    int distances = 0, best = -1, small = 0;
    for (slong bits = NEAR_BITS; bits <= FAR_BITS && distances < DISTANCES; bits += 1 + bits / 8)
        at[distances++] = bits;
    sizes_at(size, at, distances, v, period, 0);
    while (small < distances && !((double)at[small] + size[small] < -(double)prec - 16))
        small++;
    while (small == distances && at[distances - 1] > SLOW_BITS)
        small = --distances;
    distances = small < distances ? small + 1 : distances;
    for (int i = 0; i < WIDTHS; i++, tried *= M_SQRT2) {
        double most = 0;
        sizes_at(size, at, distances, v, period, tried);
        for (int k = 0; k < distances; k++)
            most = fmax(most, (double)at[k] + size[k]);
        double wanted = fmax(1, ceil(((double)prec + most + GUARD - log2(-expm1(-tried))) * M_LN2 / tried));
        if (wanted <= MODES_MAX && (best < 0 || wanted < best)) {
            best = (int)wanted;
            *width = tried;
        } else if (best > 0 && wanted > 2 * best) {
            break;
        }
    }
    return best;
}

/* [5.10] */
int modes_change(struct modes *m, double *width, int root, const unsigned char *place, const arb_t period, slong prec)
{
    struct expression_pool *p = m->p;
    int vanishes;
    LOCAL(arb, integral, far);
    LOCAL(fmpq, share);
    m->turned = turn_waves(p, place, root);
    struct evaluator *v = m->turned < 0 ? NULL : evaluator_new(p, m->turned, 64, NULL);
    m->count = v ? choose_strip(width, v, period, prec) : -1;
    evaluator_free(v);
    if (m->count < 0)
        return 0;
    /* |f - modes| <= the modes beyond, twice, as samples take them for others: 4 / (1 - exp(-width)) exp(-width (count + 1)) max
     * |F| */
    m->log2_left = 2.01 - *width * 0.999999 * (m->count + 1) / M_LN2 - log2(-expm1(-*width));
    m->samples = (2 * m->count + 1 + SAMPLES_STEP) / SAMPLES_STEP * SAMPLES_STEP;
    m->sample = calloc((size_t)m->samples, sizeof *m->sample);
    m->arc = _acb_vec_init(MODES_ARCS);
    for (int i = 0; i < MODES_ARCS; i++)
        modes_arc(m->arc + i, period, i, MODES_ARCS, *width);
    int leaf = expression_leaf(p, X_OPAQUE), turn = expression_power(p, m->frequency, expression_ratio(p, -1, 1));
    turn = expression_multiply(p, expression_leaf(p, X_PI), turn);
    p->any_t = 1; /* bounds are of F between whole t, too */
    for (int i = 0; m->sample && i < m->samples; i++) {
        fmpq_set_si(share, 2 * i, (ulong)m->samples);
        int at = expression_scale(p, turn, share);
        m->sample[i] = expression_exchange(p, p, m->turned, 1, &leaf, &at);
    }
    p->any_t = 0;
    arb_set_ui(far, 1 << NEAR_BITS);
    return m->sample && !p->failed &&
           (m->samples <= SAMPLES_INTEGRATED || antiderivative(integral, &vanishes, p, m->sample[1], far, 64));
}
