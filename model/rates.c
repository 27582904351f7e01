/* A kernel set's current rates for a model's own product and attention, for estimates of time. */
#include "model/engine_parts.h"

#include "io/system/clock.h"

#include <math.h>
#include <stdlib.h>

enum { PRODUCT_ROWS = 256, ATTENTION_QUERIES = 192, ATTENTION_KEYS = 768, RECURRENCE_ROWS = 512 };
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
                                     : b->output.weight.data      ? &b->output.weight
                                                                  : &b->mixer.recurrence.out.weight;
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
        if (block_attends(&d->blocks[l]) && work_pairs(d, l, positions, positions) > most)
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

/* ---- a recurrence, forward and in reverse, of a short segment ---- */

struct recurrence_trial {
    struct kernels *k;
    struct recurrence recurrence;
    struct buffer *qkv, *gates, *states, *o, *d_qkv, *d_gates;
    int rows;
};

static void recurrence_step(void *of)
{
    struct recurrence_trial *t = of;
    struct kernels *k = t->k;
    const struct recurrence *r = &t->recurrence;
    k->recur(k, t->o, t->states, t->qkv, t->gates, r, 1, t->rows, t->rows);
    k->recur_reverse(k, t->d_qkv, t->d_gates, t->o, t->states, t->qkv, t->gates, r, 1, t->rows,
                     t->rows);
}

/* As many heads as workers, or of sets that divide the work otherwise all of them. */
static struct recurrence some_heads(const struct recurrence_view *v, const struct kernels *k)
{
    int workers = k->workers > 0 ? k->workers : 1, each = v->heads / v->key_heads,
        key_heads = k->tile == 0 && workers < v->heads ? (workers + each - 1) / each : v->key_heads;
    return (struct recurrence){.heads = key_heads * each,
                               .key_heads = key_heads,
                               .key_size = v->key_size,
                               .value_size = v->value_size,
                               .delta = v->delta,
                               .by_channel = v->by_channel,
                               .scale = v->scale};
}

static double recurrence_rate(struct kernels *k, const struct recurrence_view *v, int positions,
                              struct error *e)
{
    struct recurrence_trial t = {.k = k,
                                 .recurrence = some_heads(v, k),
                                 .rows = positions < RECURRENCE_ROWS ? positions : RECURRENCE_ROWS};
    const struct recurrence *r = &t.recurrence;
    struct recurrence_view some = *v;
    size_t rows = (size_t)t.rows, width = rows * (size_t)recurrence_width(r),
           o = rows * (size_t)recurrence_o_width(r),
           gates = rows * (size_t)recurrence_gates_width(r),
           states = (size_t)r->heads * recurrence_states(t.rows) * (size_t)r->key_size *
                    (size_t)r->value_size,
           most = width > gates ? width : gates;
    double *values = malloc(most * sizeof *values), rate = 0;
    some.heads = r->heads;
    if (!values) {
        fail_memory(e, (double)most * sizeof *values, "the measurement of the rate");
        return 0;
    }
    for (size_t i = 0; i < most; i++)
        values[i] = 0.01 * (double)(i % 7);
    if ((t.qkv = filled(k, values, width, e)) && (t.o = k->create(k, ROLE_ACTIVATION, o, e)) &&
        (t.d_qkv = k->create(k, ROLE_ACTIVATION, width, e)) &&
        (t.gates = k->create(k, ROLE_RESIDUAL, gates, e)) &&
        (t.d_gates = k->create(k, ROLE_RESIDUAL, gates, e)) &&
        (t.states = k->create(k, ROLE_STATISTIC, states, e))) {
        for (size_t i = 0; i < gates; i++)
            values[i] = i % (size_t)recurrence_gates_width(r) <
                                (size_t)(r->heads * recurrence_decays(r))
                            ? -0.01
                            : 0.1;
        k->write(k, t.gates, 0, values, gates);
        rate = best_rate(k, recurrence_step, &t, work_recurrence(&some, t.rows, 1), e);
    }
    struct buffer *const buffers[] = {t.qkv, t.gates, t.states, t.o, t.d_qkv, t.d_gates};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        k->destroy(k, buffers[i]);
    free(values);
    return rate;
}

/* The same of a scan, of as many channels as it has. */
struct scan_trial {
    struct kernels *k;
    struct scan scan;
    struct buffer *x, *steps, *factors, *states, *o, *d_x, *d_steps, *d_factors;
    int rows;
};

static void scan_step(void *of)
{
    struct scan_trial *t = of;
    struct kernels *k = t->k;
    k->scan(k, t->o, t->states, t->x, t->steps, t->factors, &t->scan, 1, t->rows, t->rows);
    k->scan_reverse(k, t->d_x, t->d_steps, t->d_factors, t->o, t->states, t->x, t->steps,
                    t->factors, &t->scan, 1, t->rows, t->rows);
}

static double scan_rate(struct kernels *k, const struct recurrence_view *v, int positions,
                        struct error *e)
{
    struct scan_trial t = {.k = k,
                           .scan = {.channels = v->value_size,
                                    .size = v->scan.size,
                                    .groups = v->scan.groups,
                                    .selective = v->scan.factors.weight.data != NULL},
                           .rows = positions < RECURRENCE_ROWS ? positions : RECURRENCE_ROWS};
    size_t rows = (size_t)t.rows, width = rows * (size_t)v->value_size,
           factors = t.scan.selective ? rows * (size_t)scan_factors_width(&t.scan) : 0,
           states = scan_states(t.rows) * (size_t)v->scan.size * (size_t)v->value_size,
           most = width > factors ? width : factors;
    double *values = malloc(most * sizeof *values), rate = 0;
    if (!values) {
        fail_memory(e, (double)most * sizeof *values, "the measurement of the rate");
        return 0;
    }
    for (size_t i = 0; i < most; i++)
        values[i] = 0.01 * (double)(i % 7);
    if ((t.x = filled(k, values, width, e)) &&
        (!factors || ((t.factors = filled(k, values, factors, e)) &&
                      (t.d_factors = k->create(k, ROLE_ACTIVATION, factors, e)))) &&
        (t.o = k->create(k, ROLE_ACTIVATION, width, e)) &&
        (t.d_x = k->create(k, ROLE_ACTIVATION, width, e)) &&
        (t.steps = k->create(k, ROLE_RESIDUAL, width, e)) &&
        (t.d_steps = k->create(k, ROLE_RESIDUAL, width, e)) &&
        (t.states = k->create(k, ROLE_STATISTIC, states, e))) {
        for (size_t i = 0; i < width; i++)
            values[i] = t.scan.selective ? -3 : 0.05; /* before its function, or a step itself */
        k->write(k, t.steps, 0, values, width);
        rate = best_rate(k, scan_step, &t, work_recurrence(v, t.rows, 1), e);
    }
    struct buffer *const buffers[] = {t.x, t.steps,   t.factors, t.states,
                                      t.o, t.d_steps, t.d_x,     t.d_factors};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        k->destroy(k, buffers[i]);
    free(values);
    return rate;
}

/* The same of time mixing, of as many channels as it has. */
struct wkv_trial {
    struct kernels *k;
    struct wkv wkv;
    struct buffer *keys, *values, *log_sum, *o, *d_keys, *d_values;
    int rows;
};

static void wkv_step(void *of)
{
    struct wkv_trial *t = of;
    struct kernels *k = t->k;
    k->wkv(k, t->o, t->log_sum, t->keys, t->values, &t->wkv, 1, t->rows, t->rows);
    k->wkv_reverse(k, t->d_keys, t->d_values, t->o, t->o, t->log_sum, t->keys, t->values, &t->wkv,
                   1, t->rows, t->rows);
}

static double wkv_rate(struct kernels *k, const struct recurrence_view *v, int positions,
                       struct error *e)
{
    struct wkv_trial t = {.k = k,
                          .wkv = {.channels = v->value_size},
                          .rows = positions < RECURRENCE_ROWS ? positions : RECURRENCE_ROWS};
    size_t count = (size_t)t.rows * (size_t)v->value_size;
    double *values = malloc(count * sizeof *values), rate = 0;
    struct weight *rates = NULL, *first = NULL;
    if (!values) {
        fail_memory(e, (double)count * sizeof *values, "the measurement of the rate");
        return 0;
    }
    for (size_t i = 0; i < count; i++)
        values[i] = 0.01 * (double)(i % 7);
    if ((t.values = filled(k, values, count, e)) &&
        (t.keys = k->create(k, ROLE_RESIDUAL, count, e)) &&
        (t.log_sum = k->create(k, ROLE_STATISTIC, count, e)) &&
        (t.o = k->create(k, ROLE_ACTIVATION, count, e)) &&
        (t.d_keys = k->create(k, ROLE_RESIDUAL, count, e)) &&
        (t.d_values = k->create(k, ROLE_ACTIVATION, count, e)) &&
        (rates = k->weight_load(k, WEIGHT_VECTOR, &v->rate, 1, e)) &&
        (first = k->weight_load(k, WEIGHT_VECTOR, &v->wkv.first, 1, e))) {
        t.wkv.rate = rates, t.wkv.first = first;
        k->write(k, t.keys, 0, values, count);
        rate = best_rate(k, wkv_step, &t, work_recurrence(v, t.rows, 1), e);
    }
    struct buffer *const buffers[] = {t.keys, t.values, t.log_sum, t.o, t.d_keys, t.d_values};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        k->destroy(k, buffers[i]);
    if (rates)
        k->weight_free(k, rates);
    if (first)
        k->weight_free(k, first);
    free(values);
    return rate;
}

int engine_rates(struct engine_rates *out, struct kernels *k, const struct decoder *d,
                 int positions, struct error *e)
{
    const struct recurrence_view *recurrence = NULL; /* the first one */
    int attend = 0;
    for (int l = d->layers - 1; l >= 0; l--) {
        attend |= block_attends(&d->blocks[l]);
        if (block_recurs(&d->blocks[l]))
            recurrence = &d->blocks[l].mixer.recurrence;
    }
    *out = (struct engine_rates){.attention = INFINITY, .recurrence = INFINITY};
    out->products = product_rate(k, d, positions, e);
    if (out->products > 0 && attend)
        out->attention = attention_rate(k, d, positions, e);
    if (out->products > 0 && out->attention > 0 && recurrence)
        out->recurrence = recurrence->wkv.present ? wkv_rate(k, recurrence, positions, e)
                          : recurrence->scan.size ? scan_rate(k, recurrence, positions, e)
                                                  : recurrence_rate(k, recurrence, positions, e);
    return out->products > 0 && out->attention > 0 && out->recurrence > 0 ? 0 : -1;
}
