/* Attention of a kernel set, forward and reverse, on inputs made from a seed: see kernel_run.h. */
#include "tests/kernel_run.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

int case_window(const struct attention_case *c)
{
    return c->window > 0 ? c->window : 0;
}

int case_chunk(const struct attention_case *c)
{
    return c->window < 0 ? -c->window : 0;
}

int case_sees(const struct attention_case *c, int own, int j)
{
    int first = c->positions - c->keys; /* of the keys */
    if (j > own)
        return 0;
    if (c->window < 0)
        return (first + j) / -c->window == (first + own) / -c->window;
    return c->window == 0 || own - j < c->window || first + j < c->keep;
}

double *attention_bias(const struct attention_case *c)
{
    if (c->bias == BIAS_NONE)
        return NULL;
    double *bias = random_values((size_t)c->heads * (size_t)c->positions, 21, 1);
    for (int h = 0; h < c->heads; h++) {
        for (int t = 0; t < c->positions; t++) {
            double *b = &bias[h * c->positions + t];
            switch (c->bias) {
            case BIAS_GENTLE: /* ALiBi's slopes */
                *b = -t * pow(2, -8.0 * (h + 1) / c->heads);
                break;
            case BIAS_STEEP: /* all but the nearest keys underflow: slopes 150, 75, ... */
                *b = -t * (150.0 / (h + 1));
                break;
            case BIAS_HOLES: /* single distances masked, now and then the key's own */
                if (t % 4 == 2 || (h == 1 && t == 0))
                    *b = -INFINITY;
                break;
            case BIAS_HEAD_MASKED:
                if (h == 0)
                    *b = -INFINITY;
                break;
            case BIAS_FAR: /* the nearest keys underflow where a query sees others */
                if (t < 64)
                    *b -= 400;
                break;
            case BIAS_CUT: /* a window by -inf */
                if (t >= 5)
                    *b = -INFINITY;
                break;
            default: break;
            }
        }
    }
    return bias;
}

double *attention_multiplier(const struct attention_case *c)
{
    return c->multiplier ? random_values((size_t)c->heads * (size_t)c->positions, 22, 1) : NULL;
}

double *attention_key_bias(const struct attention_case *c)
{
    if (!c->key_bias)
        return NULL;
    double *bias = random_values((size_t)c->heads * (size_t)c->positions, 23, 2);
    for (int i = 0; c->key_bias == 2 && i < c->heads * c->positions; i++)
        if (i % 7 == 3)
            bias[i] = -INFINITY;
    return bias;
}

double *attention_sinks(const struct attention_case *c)
{
    return c->sinks > 0 ? random_values((size_t)c->heads, 24, c->sinks) : NULL;
}

struct weight *sinks_of(struct kernels *k, const double *sinks, int heads)
{
    return sinks ? weight_of(k, WEIGHT_VECTOR, sinks, (size_t)heads, 1) : NULL;
}

/* Heads in rows of an array: `heads` of them, `width` wide, from `first` on. */
struct part {
    const double *rows;
    size_t count, stride, first, heads, width;
};

/* The largest Euclidean norm of a head. */
static double largest_norm(struct part p)
{
    double largest = 0;
    for (size_t r = 0; r < p.count * p.heads; r++) {
        const double *head = p.rows + r / p.heads * p.stride + p.first + r % p.heads * p.width;
        double squares = 0;
        for (size_t i = 0; i < p.width; i++)
            squares += head[i] * head[i];
        largest = fmax(largest, squares);
    }
    return sqrt(largest);
}

/* The largest finite |x[i]|, at most `limit`. */
static double largest_finite(const double *x, size_t n, double limit)
{
    double largest = 0;
    for (size_t i = 0; x && i < n; i++)
        if (isfinite(x[i]))
            largest = fmax(largest, fabs(x[i]));
    return fmin(largest, limit);
}

/* Errors in units of roundoff. By Cauchy and Schwarz |q.k| <= Q K and |do.v| <= D V with the
 * largest row norms, and a score z is wrong by a few roundings of 1 + |z|; terms of a score further
 * than 100 below the largest do not count, since their p is below 1e-43. p is then wrong by as much
 * relative to itself, which gives o: V      lse: 1      dp: D V      dq: D V slope K      dk: W D V
 * slope Q      dv: W D with slope = |dz / d q.k| and W the largest sum of one key's p over the
 * queries (of all query heads that share it). */
static void attention_bounds(struct outputs *o, const struct attention_shape *s, double sink,
                             double Q, double K, double V, double D, double W)
{
    size_t table = (size_t)s->heads * (size_t)s->positions,
           key_width = (size_t)s->kv_heads * (size_t)s->head_size,
           kv_width = (size_t)attention_kv_width(s);
    double slope = fabs(s->scale) *
                   (s->multiplier ? largest_finite(s->multiplier, table, INFINITY) : 1);
    double z = 16 * (1 + slope * Q * K + largest_finite(s->bias, table, 100) +
                     largest_finite(s->key_bias, table, 100) + sink);
    double bound[4] = {z * V, z, 2 * z * D * V * slope * K, 0};
    for (int a = 0; a < 4; a++)
        for (size_t i = 0; i < (size_t)o->segments * o->array[a].each; i++)
            o->array[a].bound[i] = a < 3                       ? bound[a]
                                   : i % kv_width >= key_width ? z * W * D
                                                               : 2 * z * W * D * V * slope * Q;
}

static void collect(struct outputs *o, struct kernels *k, const char *name, struct buffer *b,
                    size_t each, int bounds)
{
    struct output *out = &o->array[o->count++];
    size_t count = (size_t)o->segments * each;
    *out = (struct output){name, each, allocate(count * sizeof(double)),
                           bounds ? allocate(count * sizeof(double)) : NULL};
    k->read(k, out->value, b, 0, count);
    k->destroy(k, b);
}

struct outputs run_attention(struct kernels *k, const struct attention_case *c, int bounds)
{
    struct outputs o = {.segments = c->segments};
    size_t size = (size_t)c->head_size, value_size = c->value_size ? (size_t)c->value_size : size,
           heads = (size_t)c->heads, kv_heads = (size_t)c->kv_heads,
           q_each = (size_t)c->queries * heads * size,
           o_each = (size_t)c->queries * heads * value_size, S = (size_t)c->segments;
    size_t key_width = kv_heads * size, kv_width = key_width + kv_heads * value_size,
           kv_each = (size_t)c->keys * kv_width, lse_each = (size_t)c->heads * (size_t)c->queries;
    double *q = random_segments(c->segments, c->first, q_each, 1, c->size),
           *kv = random_segments(c->segments, c->first, kv_each, 2, c->size);
    double *d_o = random_segments(c->segments, c->first, o_each, 3, c->d_o);
    double *bias = attention_bias(c), *multiplier = attention_multiplier(c),
           *key_bias = attention_key_bias(c), *sinks = attention_sinks(c);
    for (size_t i = 0; c->d_o == 0 && i < S * o_each; i++)
        d_o[i] = 1;
    struct attention_shape shape = {.heads = c->heads,
                                    .kv_heads = c->kv_heads,
                                    .head_size = c->head_size,
                                    .value_size = c->value_size,
                                    .positions = c->positions,
                                    .window = case_window(c),
                                    .chunk = case_chunk(c),
                                    .keep = c->keep,
                                    .scale = 1 / sqrt((double)c->head_size),
                                    .soft_cap = c->soft_cap,
                                    .bias = bias,
                                    .multiplier = multiplier,
                                    .key_bias = key_bias};
    struct error e;
    struct attention *a = k->attention_create(k, &shape, &e);
    if (!a)
        fail_msg("%s: %s", k->name, e.text);
    struct weight *sink = sinks_of(k, sinks, c->heads);
    struct buffer *bq = buffer_of(k, ROLE_ACTIVATION, q, S * q_each),
                  *bkv = buffer_of(k, ROLE_ACTIVATION, kv, S * kv_each);
    struct buffer *bd = buffer_of(k, ROLE_ACTIVATION, d_o, S * o_each),
                  *bo = buffer_new(k, ROLE_ACTIVATION, S * o_each);
    struct buffer *lse = buffer_new(k, ROLE_STATISTIC, S * lse_each),
                  *dq = buffer_new(k, ROLE_ACTIVATION, S * q_each);
    struct buffer *dkv = buffer_new(k, ROLE_ACTIVATION, S * kv_each);
    k->attention(k, bo, lse, bq, bkv, a, sink, c->segments, c->queries, c->keys);
    k->attention_reverse(k, dq, dkv, bd, bq, bkv, bo, lse, a, sink, c->segments, c->queries,
                         c->keys);
    if (k->synchronize(k, &e))
        fail_msg("%s: %s", k->name, e.text);
    collect(&o, k, "attention o", bo, o_each, bounds);
    collect(&o, k, "attention lse", lse, lse_each, bounds);
    collect(&o, k, "attention dq", dq, q_each, bounds);
    collect(&o, k, "attention dkv", dkv, kv_each, bounds);
    if (bounds) {
        struct attention_case ones = *c;
        ones.d_o = 0;
        struct outputs weight =
            run_attention(k, &ones, 0); /* dv of an output gradient of 1 is the sum of a key's p */
        double W = 0;
        for (size_t i = 0; i < S * kv_each; i++)
            if (i % kv_width >= key_width)
                W = fmax(W, weight.array[3].value[i]);
        outputs_free(&weight);
        size_t keys = S * (size_t)c->keys, queries = S * (size_t)c->queries;
        double Q = largest_norm((struct part){q, queries, heads * size, 0, heads, size}),
               K = largest_norm((struct part){kv, keys, kv_width, 0, kv_heads, size}),
               V = largest_norm((struct part){kv, keys, kv_width, key_width, kv_heads, value_size}),
               D = largest_norm(
                   (struct part){d_o, queries, heads * value_size, 0, heads, value_size});
        attention_bounds(&o, &shape, 2 * c->sinks, Q, K, V, D, W);
    }
    k->destroy(k, bq);
    k->destroy(k, bkv);
    k->destroy(k, bd);
    k->attention_free(k, a);
    k->weight_free(k, sink);
    free(q), free(kv), free(d_o), free(bias), free(multiplier), free(key_bias), free(sinks);
    return o;
}
