/* A kernel set's current rates for a model's own product and attention, for estimates of time. */
#include "model/engine_parts.h"

#include "io/system/clock.h"

#include <math.h>
#include <stdlib.h>

enum { PRODUCT_ROWS = 256, ATTENTION_QUERIES = 192, ATTENTION_KEYS = 768 };
#define SECONDS 0.25 /* how long a trial is repeated, at least three times */

/* Repeats the operations of `step`: operations a second in the fastest repetition, which on a busy
 * machine is one without interruption. 0 with *e on failure. */
static double best_rate(struct kernels *k, void (*step)(void *), void *of, double operations,
                        struct error *e)
{
    double best = 0, started = clock_seconds(CLOCK_MONOTONIC);
    for (int i = 0; i < 200 && (i < 3 || clock_seconds(CLOCK_MONOTONIC) - started < SECONDS); i++) {
        double start = clock_seconds(CLOCK_MONOTONIC);
        step(of);
        if (k->synchronize(k, e) != 0)
            return 0;
        best = fmax(best, operations / fmax(clock_seconds(CLOCK_MONOTONIC) - start, 1e-9));
    }
    return best;
}

static struct buffer *filled(struct kernels *k, const double *values, size_t count, struct error *e)
{
    struct buffer *b = k->create(k, ROLE_ACTIVATION, count, e);
    if (b)
        k->write(k, b, 0, values, count);
    return b;
}

/* ---- y = x w^T with the up projection of the first MLP or expert, or without these the mixer's
 * output ---- */

struct product_trial {
    struct kernels *k;
    struct buffer *x, *y;
    struct weight *w;
    struct rows rows;
};

static void product_step(void *of)
{
    struct product_trial *t = of;
    t->k->linear(t->k, t->y, t->x, t->w, NULL, t->rows, 0);
}

static double product_rate(struct kernels *k, const struct decoder *d, int positions,
                           struct error *e)
{
    const struct block *b = &d->blocks[0];
    const struct weight_part *part = b->up.weight.data            ? &b->up.weight
                                     : b->experts.routing.experts ? &b->experts.expert[0].up.weight
                                                                  : &b->output.weight;
    struct product_trial t = {.k = k,
                              .rows = {1, positions < PRODUCT_ROWS ? positions : PRODUCT_ROWS}};
    size_t in = part->columns, out = part->groups * part->rows, inputs = (size_t)t.rows.count * in;
    double *ones = calloc(inputs, sizeof *ones), rate = 0;
    if (!ones) {
        fail_memory(e, (double)inputs * sizeof *ones, "the measurement of the rate");
        return 0;
    }
    for (size_t i = 0; i < inputs; i++)
        ones[i] = 1;
    t.x = filled(k, ones, inputs, e);
    t.y = t.x ? k->create(k, ROLE_ACTIVATION, (size_t)t.rows.count * out, e) : NULL;
    t.w = t.y ? k->weight_load(k, WEIGHT_MATRIX, part, 1, e) : NULL;
    if (t.w) {
        rate = best_rate(k, product_step, &t, 2.0 * t.rows.count * (double)in * (double)out, e);
        k->weight_free(k, t.w);
    }
    k->destroy(k, t.y), k->destroy(k, t.x);
    free(ones);
    return rate;
}

/* ---- attention, forward and in reverse, of a short segment ---- */

struct attention_trial {
    struct kernels *k;
    struct attention *attention;
    struct buffer *q, *kv, *o, *lse, *d_o, *dq, *dkv;
    int queries, keys;
};

static void attention_step(void *of)
{
    struct attention_trial *t = of;
    t->k->attention(t->k, t->o, t->lse, t->q, t->kv, t->attention, NULL, 1, t->queries, t->keys);
    t->k->attention_reverse(t->k, t->dq, t->dkv, t->d_o, t->q, t->kv, t->o, t->lse, t->attention,
                            NULL, 1, t->queries, t->keys);
}

static int attention_open(struct attention_trial *t, const struct attention_shape *shape,
                          struct error *e)
{
    struct kernels *k = t->k;
    size_t queries = (size_t)t->queries,
           q = queries * (size_t)shape->heads * (size_t)shape->head_size,
           o = queries * (size_t)attention_o_width(shape),
           kv = (size_t)t->keys * (size_t)attention_kv_width(shape),
           most = q > kv ? (q > o ? q : o) : (kv > o ? kv : o);
    double *values = malloc(most * sizeof *values);
    int rc = -1;
    if (!values)
        return fail_memory(e, (double)most * sizeof *values, "the measurement of the rate");
    for (size_t i = 0; i < most; i++)
        values[i] = 0.01 * (double)(i % 7);
    if ((t->q = filled(k, values, q, e)) && (t->kv = filled(k, values, kv, e)) &&
        (t->d_o = filled(k, values, o, e)) && (t->o = k->create(k, ROLE_ACTIVATION, o, e)) &&
        (t->dq = k->create(k, ROLE_ACTIVATION, q, e)) &&
        (t->dkv = k->create(k, ROLE_ACTIVATION, kv, e)) &&
        (t->lse = k->create(k, ROLE_STATISTIC, queries * (size_t)shape->heads, e)) &&
        (t->attention = k->attention_create(k, shape, e)))
        rc = 0;
    free(values);
    return rc;
}

static void attention_close(struct attention_trial *t)
{
    struct buffer *const buffers[] = {t->q, t->kv, t->o, t->lse, t->d_o, t->dq, t->dkv};
    if (t->attention)
        t->k->attention_free(t->k, t->attention);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        t->k->destroy(t->k, buffers[i]);
}

/* For the layer with the most work, without formulas: a bias adds little more than reading a table.
 * Few queries, and if a head is a task no more heads than workers, so that a trial ends before a
 * busy machine interrupts it. */
static double attention_rate(struct kernels *k, const struct decoder *d, int positions,
                             struct error *e)
{
    struct attention_trial t = {.k = k,
                                .queries = positions < ATTENTION_QUERIES ? positions
                                                                         : ATTENTION_QUERIES,
                                .keys = positions < ATTENTION_KEYS ? positions : ATTENTION_KEYS};
    struct attention_shape shape;
    double most = -1, rate = 0, pairs;
    int layer = 0, workers = k->workers > 0 ? k->workers : 1;
    for (int l = 0; l < d->layers; l++)
        if (work_pairs(d, l, positions, positions) > most)
            most = work_pairs(d, l, positions, positions), layer = l;
    shape = scores_shape(d, layer, t.keys);
    shape.rotary_size = 0;
    if (k->tile == 0 && shape.heads > workers)
        shape.heads = shape.kv_heads = workers;
    pairs = work_pairs_between(&d->blocks[layer].score, 0, t.keys, t.queries, t.keys);
    if (attention_open(&t, &shape, e) == 0)
        rate = best_rate(k, attention_step, &t, work_of_pair(d, layer, 1) * shape.heads * pairs, e);
    attention_close(&t);
    return rate;
}

int engine_rates(struct engine_rates *out, struct kernels *k, const struct decoder *d,
                 int positions, struct error *e)
{
    *out = (struct engine_rates){0};
    out->products = product_rate(k, d, positions, e);
    out->attention = out->products > 0 ? attention_rate(k, d, positions, e) : 0;
    return out->attention > 0 ? 0 : -1;
}
