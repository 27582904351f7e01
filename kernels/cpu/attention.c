/* Attention of the cpu set: one task for each head of each segment, taken by threads in any order.
 * With fewer key-value heads than heads, gradients of keys and values are made for each query head
 * and then summed in head order. */
#include "kernels/cpu/state.h"

#include <math.h>
#include <omp.h>
#include <string.h>

/* Table of head h. */
static struct distance_table table_of(const struct distance_table *first,
                                      const struct cpu_attention *f, size_t h)
{
    return first->at ? (struct distance_table){first->at + h * f->stride,
                                               first->extreme + h * f->extreme_stride}
                     : *first;
}

/* The parts of head h's task in segment g shared by forward and reverse. */
static struct attention_task task_of(struct kernels *k, const struct attention *a,
                                     const struct weight *sinks, const float *q, const float *kv,
                                     size_t g, size_t h, int queries, int keys)
{
    const struct attention_shape *s = &a->shape;
    const struct cpu_attention *f = a->fast;
    size_t d = (size_t)s->head_size, heads = (size_t)s->heads,
           kv_head = h * (size_t)s->kv_heads / heads;
    struct distance_table key_bias = table_of(&f->key_bias, f, h);
    struct attention_task t = {.q_stride = heads * d,
                               .o_stride = (size_t)attention_o_width(s),
                               .kv_stride = (size_t)attention_kv_width(s),
                               .head_size = s->head_size,
                               .value_size = s->value_size,
                               .queries = queries,
                               .keys = keys};
    t.q = q + g * (size_t)queries * t.q_stride + h * d;
    t.key = kv + g * (size_t)keys * t.kv_stride + kv_head * d;
    t.value = kv + g * (size_t)keys * t.kv_stride + (size_t)s->kv_heads * d +
              kv_head * (size_t)s->value_size;
    t.positions = s->positions;
    t.window = s->window;
    t.keep = s->window > 0 ? s->keep : 0;
    t.chunk = s->chunk;
    t.scale = (float)s->scale;
    t.soft_cap = (float)s->soft_cap;
    t.sink = sinks ? ((const float *)sinks->data)[h] : -INFINITY;
    t.bias = table_of(&f->bias, f, f->biased ? h : 0);
    t.open = table_of(&f->open, f, f->biased ? h : 0);
    t.biased = f->biased;
    t.multiplier = table_of(&f->multiplier, f, h);
    t.key_bias = key_bias.at;
    t.key_bias_extreme = key_bias.extreme;
    t.skip = cpu_state(k)->skip;
    return t;
}

/* Floats of a thread's scratch, a whole number of cache lines. */
static size_t thread_floats(struct kernels *k, const struct attention_shape *s, int queries,
                            int keys, int reverse)
{
    return (cpu_state(k)->vector->attention_scratch(s->head_size, attention_value_size(s), queries,
                                                    keys, reverse) +
            15) /
           16 * 16;
}

static void attention(struct kernels *k, struct buffer *o, struct buffer *lse,
                      const struct buffer *q, const struct buffer *kv, const struct attention *a,
                      const struct weight *sinks, int segments, int queries, int keys)
{
    const struct attention_shape *s = &a->shape;
    size_t heads = (size_t)s->heads, share = thread_floats(k, s, queries, keys, 0);
    float *scratch = cpu_scratch(k, share * (size_t)omp_get_max_threads() * sizeof(float),
                                 "attention");
    if (!scratch)
        return;
#pragma omp parallel for schedule(dynamic)
    for (size_t task = 0; task < (size_t)segments * heads; task++) {
        size_t g = task / heads, h = task % heads;
        struct attention_task t = task_of(k, a, sinks, q->data, kv->data, g, h, queries, keys);
        t.o = (float *)o->data + g * (size_t)queries * t.o_stride + h * (size_t)s->value_size;
        t.lse = (float *)lse->data + task * (size_t)queries;
        t.scratch = scratch + share * (size_t)omp_get_thread_num();
        cpu_state(k)->vector->attention(&t);
    }
}

/* dkv[segments*keys, kv_heads*(d + v)] = sums over the query heads of a group of partial[segments,
 * heads, keys, d + v]. */
static void sum_groups(const struct vector_kernels *v, float *dkv, const float *partial,
                       const struct attention_shape *s, size_t segments, size_t keys)
{
    size_t d = (size_t)s->head_size, dv = (size_t)s->value_size, heads = (size_t)s->heads,
           kv_heads = (size_t)s->kv_heads, kv_width = kv_heads * (d + dv);
#pragma omp parallel for schedule(static)
    for (size_t row = 0; row < segments * keys; row++) {
        float *out = dkv + row * kv_width;
        memset(out, 0, kv_width * sizeof(float));
        for (size_t h = 0; h < heads; h++) {
            const float *in = partial + ((row / keys * heads + h) * keys + row % keys) * (d + dv);
            size_t at = h * kv_heads / heads;
            v->add(out + at * d, in, d);
            v->add(out + kv_heads * d + at * dv, in + d, dv);
        }
    }
}

static void attention_reverse(struct kernels *k, struct buffer *dq, struct buffer *dkv,
                              const struct buffer *d_o, const struct buffer *q,
                              const struct buffer *kv, const struct buffer *o,
                              const struct buffer *lse, const struct attention *a,
                              const struct weight *sinks, int segments, int queries, int keys)
{
    const struct attention_shape *s = &a->shape;
    size_t d = (size_t)s->head_size, dv = (size_t)s->value_size, heads = (size_t)s->heads,
           share = thread_floats(k, s, queries, keys, 1), threads = (size_t)omp_get_max_threads();
    int grouped = s->kv_heads != s->heads;
    size_t per_head = grouped ? (size_t)keys * (d + dv) : 0; /* floats of a head's own gradients */
    float *scratch = cpu_scratch(k,
                                 (share * threads + per_head * heads * (size_t)segments) *
                                     sizeof(float),
                                 "attention"),
          *partial;
    if (!scratch)
        return;
    partial = scratch + share * threads;
#pragma omp parallel for schedule(dynamic)
    for (size_t task = 0; task < (size_t)segments * heads; task++) {
        size_t g = task / heads, h = task % heads;
        struct attention_task t = task_of(k, a, sinks, q->data, kv->data, g, h, queries, keys);
        size_t at = g * (size_t)queries * t.o_stride + h * dv;
        t.o = (float *)o->data + at;
        t.lse = (float *)lse->data + task * (size_t)queries;
        t.d_o = (const float *)d_o->data + at;
        t.dq = (float *)dq->data + g * (size_t)queries * t.q_stride + h * d;
        t.d_kv_stride = grouped ? d + dv : t.kv_stride;
        t.d_key = grouped ? partial + task * per_head
                          : (float *)dkv->data + (t.key - (const float *)kv->data);
        t.d_value = grouped ? t.d_key + d
                            : (float *)dkv->data + (t.value - (const float *)kv->data);
        t.scratch = scratch + share * (size_t)omp_get_thread_num();
        cpu_state(k)->vector->attention_reverse(&t);
    }
    if (grouped)
        sum_groups(cpu_state(k)->vector, dkv->data, partial, s, (size_t)segments, (size_t)keys);
}

static void attention_mass(struct kernels *k, struct buffer *mass, const struct buffer *q,
                           const struct buffer *kv, const struct buffer *lse,
                           const struct attention *a, const struct weight *sinks, int segments,
                           int queries, int keys, int counted)
{
    const struct attention_shape *s = &a->shape;
    size_t heads = (size_t)s->heads, n = (size_t)keys,
           share = thread_floats(k, s, counted, keys, 0),
           sums = (n * sizeof(double) / sizeof(float) + 15) / 16 * 16;
    float *scratch = cpu_scratch(k, (share + sums) * (size_t)omp_get_max_threads() * sizeof(float),
                                 "attention");
    if (!scratch)
        return;
#pragma omp parallel for schedule(dynamic)
    for (size_t task = 0; task < (size_t)segments * heads; task++) {
        size_t g = task / heads, h = task % heads, before = (size_t)(queries - counted);
        struct attention_task t = task_of(k, a, sinks, q->data, kv->data, g, h, queries, keys);
        float *out = (float *)mass->data + task * n; /* [keys] */
        t.q += before * t.q_stride;
        t.queries = counted;
        t.lse = (float *)lse->data + task * (size_t)queries + before;
        t.scratch = scratch + (share + sums) * (size_t)omp_get_thread_num();
        t.mass = (double *)(t.scratch + share);
        cpu_state(k)->vector->attention_mass(&t);
        for (size_t i = 0; i < n; i++)
            out[i] = (float)t.mass[i];
    }
}

/* Attention and head use the same memory, one after the other; rounded operands have their own. */
static size_t scratch_bytes(struct kernels *k, const struct attention_shape *shape,
                            struct rows rows, struct head_shape head)
{
    size_t threads = (size_t)omp_get_max_threads(), segments = (size_t)rows.segments,
           of_head = cpu_head_scratch(rows.segments, head);
    size_t floats = threads * thread_floats(k, shape, shape->positions, shape->positions, 1);
    if (shape->kv_heads != shape->heads)
        floats += segments * (size_t)shape->heads * (size_t)shape->positions *
                  (size_t)(shape->head_size + attention_value_size(shape));
    return (floats * sizeof(float) > of_head ? floats * sizeof(float) : of_head) +
           cpu_operands_bytes(k);
}

void cpu_fill_attention(struct kernels *k)
{
    k->attention = attention;
    k->attention_reverse = attention_reverse;
    k->attention_mass = attention_mass;
    k->scratch_bytes = scratch_bytes;
}
