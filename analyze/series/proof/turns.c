/* What is a function of one angle: bounds of it over a whole turn, taken in short arcs. sin(t) + cos(t) is within 1.42, not 2. */
#include "analyze/series/proof/turns.h"
#include "analyze/series/proof/range.h"
#include "analyze/series/proof/rounding.h"

#include <math.h>
#include <stdlib.h>

enum {
    NODES = 60, /* of such a part */
    MULTIPLE = 16, /* of the angle */
    ARCS = 16, /* to the radian */
    ALL = 101 /* more than 2 pi of that */
};

/* The angle that all waves below node n are whole multiples of, where t is nowhere else; 0: not so, or no short arcs are needed.
 */
static int one_angle(fmpq_t angle, const struct expression_pool *p, int n)
{
    int count = 0, waves = 0, jumps = 0, known = 1, *nodes = expression_below(&count, p, &n, 1);
    signed char *turning = calloc((size_t)n + 1, 1);
    LOCAL(fmpq, w);
    fmpq_zero(angle);
    for (int round = 0; round < 2 && nodes && turning && count <= NODES && known; round++)
        for (int i = 0; i < count && known; i++) {
            const struct expression *x = &p->node[nodes[i]];
            if (!x->depends ||
                ((x->kind == X_SIN || x->kind == X_COS) && expression_weight_of_t(w, p, x->child[0]) && !fmpq_is_zero(w))) {
                turning[nodes[i]] = 1;
                waves += x->depends && round == 0;
                if (x->depends && round == 0)
                    fmpq_gcd(angle, angle, w);
                if (x->depends && round == 1) {
                    fmpq_div(w, w, angle);
                    known = fmpz_cmpabs(fmpq_numref(w), (const fmpz[]){MULTIPLE}) <= 0;
                }
                continue;
            }
            turning[nodes[i]] = x->kind != X_T;
            jumps |= x->kind >= X_FRACTION;
            for (int k = 0; k < x->count; k++)
                turning[nodes[i]] &= turning[x->child[k]];
        }
    known = known && nodes && turning && count <= NODES && turning[n] && (waves > 1 || (waves && jumps));
    free(nodes);
    free(turning);
    return known;
}

/* Narrows the bounds of q + a whole number, the floor of something, to such numbers. */
static void narrow_floor(struct turn_bounds *out, struct expression_pool *p, int n)
{
    const struct expression x = p->node[n]; /* the pool may move while it grows */
    LOCAL(fmpz, whole);
    LOCAL(fmpq, number);
    LOCAL_INTERVAL(64, bound);
    for (int i = 0; x.kind == X_LINEAR && i < x.count; i++) {
        if (p->node[x.child[i]].kind != X_FRACTION)
            continue;
        int rest = expression_subtract(p, n, expression_floor(p, p->node[x.child[i]].child[0]));
        if (p->node[rest].kind != X_NUMBER)
            continue;
        for (int up = 0; up <= 1; up++) {
            interval_set_fmpq(bound, p->node[rest].q);
            mpfi_d_sub(bound, up ? out->most : out->least, bound);
            fmpz_set_si(whole, mpfr_get_si(up ? &bound->right : &bound->left, up ? MPFR_RNDD : MPFR_RNDU));
            fmpq_add_fmpz(number, p->node[rest].q, whole);
            interval_set_fmpq(bound, number);
            if (up)
                out->most = mpfr_get_d(&bound->right, MPFR_RNDU);
            else
                out->least = mpfr_get_d(&bound->left, MPFR_RNDD);
        }
        return;
    }
}

/* [3.5] */
static void find(struct turn_bounds *out, const struct expression_pool *p, int n)
{
    struct expression_pool *own = expression_pool_new();
    LOCAL(fmpq, angle);
    LOCAL(fmpz, from, to);
    out->known = -1;
    if (!own || !one_angle(angle, p, n)) {
        expression_pool_free(own);
        return;
    }
    own->whole_turns = 1; /* so that it is not asked for parts of it */
    fmpq_mul_si(angle, angle, ARCS);
    fmpq_inv(angle, angle);
    int arcs = expression_replace(own, p, n, expression_scale(own, NODE_T_ITSELF, angle)), known = !own->failed;
    out->least = INFINITY;
    out->most = -INFINITY;
    for (slong k = 0; k < ALL && known; k++) {
        struct range x;
        fmpz_set_si(from, k);
        fmpz_set_si(to, k + 1);
        if (range_compute(&x, own, arcs, from, to, 64))
            break;
        known = x.defined && !x.masked && interval_is_bounded(x.value);
        out->least = fmin(out->least, mpfr_get_d(&x.value->left, MPFR_RNDD));
        out->most = fmax(out->most, mpfr_get_d(&x.value->right, MPFR_RNDU));
        range_clear(&x);
        if (known && k + 1 == ALL)
            out->known = 1;
    }
    if (p->node[n].sign)
        out->least = fmax(out->least, 0);
    if (out->known == 1 && fmax(fabs(out->least), fabs(out->most)) < 1e15)
        narrow_floor(out, own, arcs);
    expression_pool_free(own);
}

int expression_turns(double *least, double *most, const struct expression_pool *p, int n)
{
    if (p->whole_turns || p->node[n].opaque)
        return 0;
    struct turn_bounds *x = &p->turn[n];
    if (!x->known)
        find(x, p, n);
    *least = x->least;
    *most = x->most;
    return x->known == 1;
}
