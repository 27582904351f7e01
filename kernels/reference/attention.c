/* Reference set: attention, one query row at a time.
 *
 * For query i and key j at distance t = i - j >= 0 (and t < window, or j < keep; and both in one
 * chunk), with c the soft-cap:
 *     r = scale q_i . k_j      u = c tanh(r / c), or r
 *     z = u multiplier[t] + bias[t] + key_bias[j]
 *     p = exp(z - max) / sum, o_i = sum_j p_j v_j, lse = max + log sum,
 * where a head's sink is one more z, without a v. Reverse (Vaswani et al. 2017, eq. 1,
 * differentiated):
 *     dp_j = do_i . v_j     dz_j = p_j (dp_j - sum_l p_l dp_l)
 *     dr_j = dz_j multiplier[t] (1 - tanh^2(r / c))
 *     dq_i = scale sum_j dr_ij k_j     dk_j = scale sum_i dr_ij q_i     dv_j = sum_i p_ij do_i.
 * Reverse recomputes a row's scores in double, rather than from lse and o, so that each result is
 * rounded once. */
#include "kernels/reference/reference.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

/* The data of one head of one segment. Keys and values of key j are at key + j * kv_stride and
 * value + j * kv_stride. */
struct view {
    const struct attention_shape *shape;
    const double *bias, *multiplier; /* [positions] by distance, or NULL */
    const double *key_bias; /* [keys], or NULL */
    const real *key, *value;
    size_t kv_stride;
    double sink; /* -inf: none */
    int queries, keys, kept; /* kept: leading keys that are always seen */
};

static struct view head_view(const struct attention *a, const struct weight *sinks,
                             const struct buffer *kv, int segment, int head, int queries, int keys)
{
    const struct attention_shape *s = &a->shape;
    size_t table = (size_t)head * (size_t)s->positions;
    size_t kv_head = (size_t)head * (size_t)s->kv_heads / (size_t)s->heads;
    struct view v = {.shape = s,
                     .kv_stride = (size_t)attention_kv_width(s),
                     .queries = queries,
                     .keys = keys};
    v.sink = sinks ? ((const real *)sinks->data)[head] : -INFINITY;
    v.kept = s->keep - (s->positions - keys) > 0 ? s->keep - (s->positions - keys) : 0;
    v.bias = s->bias ? s->bias + table : NULL;
    v.multiplier = s->multiplier ? s->multiplier + table : NULL;
    v.key_bias = s->key_bias ? s->key_bias + table + (s->positions - keys) : NULL;
    v.key = (const real *)kv->data + (size_t)segment * (size_t)keys * v.kv_stride;
    v.value = v.key + (size_t)s->kv_heads * (size_t)s->head_size + kv_head * (size_t)s->value_size;
    v.key += kv_head * (size_t)s->head_size;
    return v;
}

/* a . b over n in double; eight interleaved sums, added in a fixed order. */
static double dot(const real *a, const real *b, int n)
{
    double sum[8] = {0};
    int i = 0;
    for (; i + 8 <= n; i += 8)
        for (int l = 0; l < 8; l++)
            sum[l] += (double)a[i + l] * b[i + l];
    for (int l = 0; i < n; i++, l++)
        sum[l] += (double)a[i] * b[i];
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

/* y += a x over n. */
static void add_scaled(double *restrict y, double a, const real *restrict x, int n)
{
    for (int i = 0; i < n; i++)
        y[i] += a * x[i];
}

/* The first key of the window, or of the chunk, that ends before `end`. */
static int window_begin(const struct view *v, int end)
{
    const struct attention_shape *s = v->shape;
    int before = s->positions - v->keys, /* positions */
        chunk = attention_chunk_begin(before + end - 1, s->chunk) - before;
    if (s->window > 0)
        return end > s->window ? end - s->window : 0;
    return chunk > 0 ? chunk : 0;
}

/* The keys visible to query row r are in [first, end); -inf biases mask single ones, and with kept
 * keys also those between them and the window. */
static void key_range(int *first, int *end, const struct view *v, int r)
{
    *end = v->keys - v->queries + r + 1; /* after the key at distance 0 */
    *first = v->kept > 0 ? 0 : window_begin(v, *end);
}

/* p[j] for j in the key range of row r, 0 for masked keys, and slope[j] = scale dz/dr if requested.
 * Returns lse; -inf, and p = 0, if every key is masked. */
static double probabilities(double *p, double *slope, const struct view *v, const real *query,
                            int r)
{
    const struct attention_shape *s = v->shape;
    int first, end;
    double largest = v->sink, sum;
    key_range(&first, &end, v, r);
    int window = window_begin(v, end);
    for (int j = first; j < end; j++) {
        int t = end - 1 - j;
        double bias = (v->bias ? v->bias[t] : 0.0) + (v->key_bias ? v->key_bias[j] : 0.0);
        double multiplier = v->multiplier ? v->multiplier[t] : 1.0;
        if (bias == -INFINITY || (j < window && j >= v->kept)) { /* whatever q.k is, even NaN */
            p[j] = -INFINITY;
            if (slope)
                slope[j] = 0;
            continue;
        }
        double z = s->scale * dot(query, v->key + (size_t)j * v->kv_stride, s->head_size),
               tangent = 0;
        if (s->soft_cap > 0) {
            tangent = tanh(z / s->soft_cap);
            z = s->soft_cap * tangent;
        }
        p[j] = z * multiplier + bias;
        if (slope)
            slope[j] = s->scale * multiplier * (1 - tangent * tangent);
        if (p[j] > largest)
            largest = p[j];
    }
    sum = v->sink == -INFINITY ? 0 : exp(v->sink - largest);
    for (int j = first; j < end; j++) {
        p[j] = p[j] == -INFINITY ? 0 : exp(p[j] - largest);
        sum += p[j];
    }
    if (sum == 0)
        return -INFINITY;
    for (int j = first; j < end; j++)
        p[j] /= sum;
    return largest + log(sum);
}

static void attention_forward(struct kernels *k, struct buffer *o, struct buffer *lse,
                              const struct buffer *q, const struct buffer *kv,
                              const struct attention *a, const struct weight *sinks, int segments,
                              int queries, int keys)
{
    int heads = a->shape.heads, size = a->shape.head_size, value_size = a->shape.value_size,
        threads = omp_get_max_threads();
    double *scratch = calloc((size_t)threads * (size_t)keys, sizeof *scratch); /* [threads, keys] */
    if (!scratch) {
        kernels_keep_error(k, "out of memory (scores of %d keys)", keys);
        return;
    }
#pragma omp parallel for collapse(3) schedule(dynamic, 16) num_threads(threads)
    for (int segment = 0; segment < segments; segment++) {
        for (int head = 0; head < heads; head++) {
            for (int r = 0; r < queries; r++) {
                struct view v = head_view(a, sinks, kv, segment, head, queries, keys);
                size_t at = ((size_t)segment * (size_t)queries + (size_t)r) * (size_t)heads +
                            (size_t)head;
                double *p = scratch + (size_t)omp_get_thread_num() * (size_t)keys,
                       sum[HEAD_SIZE_MOST] = {0};
                real *out = (real *)o->data + at * (size_t)value_size; /* [value_size] */
                int first, end;
                ((real *)
                     lse->data)[((size_t)segment * (size_t)heads + (size_t)head) * (size_t)queries +
                                (size_t)r] =
                    (real)probabilities(p, NULL, &v, (const real *)q->data + at * (size_t)size, r);
                key_range(&first, &end, &v, r);
                for (int j = first; j < end; j++)
                    if (p[j] != 0)
                        add_scaled(sum, p[j], v.value + (size_t)j * v.kv_stride, value_size);
                for (int c = 0; c < value_size; c++)
                    out[c] = (real)sum[c];
            }
        }
    }
    free(scratch);
}

/* One query row in reverse: writes dq[head_size], adds to dk [keys, head_size] and dv [keys,
 * value_size]. Scratch p, slope, dp: [keys]. */
static void reverse_row(real *dq, double *dk, double *dv, const real *d_out, const real *query,
                        const struct view *v, int r, double *p, double *slope, double *dp)
{
    int size = v->shape->head_size, value_size = v->shape->value_size, first, end;
    double mean = 0, sum[HEAD_SIZE_MOST] = {0};
    probabilities(p, slope, v, query, r);
    key_range(&first, &end, v, r);
    for (int j = first; j < end; j++) {
        dp[j] = p[j] != 0 ? dot(d_out, v->value + (size_t)j * v->kv_stride, value_size) : 0;
        mean += p[j] * dp[j];
    }
    for (int j = first; j < end; j++) {
        if (p[j] == 0)
            continue;
        double dr = p[j] * (dp[j] - mean) * slope[j];
        add_scaled(sum, dr, v->key + (size_t)j * v->kv_stride, size);
        add_scaled(dk + (size_t)j * (size_t)size, dr, query, size);
        add_scaled(dv + (size_t)j * (size_t)value_size, p[j], d_out, value_size);
    }
    for (int c = 0; c < size; c++)
        dq[c] = (real)sum[c];
}

static void attention_reverse(struct kernels *k, struct buffer *dq, struct buffer *dkv,
                              const struct buffer *d_o, const struct buffer *q,
                              const struct buffer *kv, const struct buffer *o,
                              const struct buffer *lse, const struct attention *a,
                              const struct weight *sinks, int segments, int queries, int keys)
{
    const struct attention_shape *s = &a->shape;
    size_t n = (size_t)keys, size = (size_t)s->head_size, value_size = (size_t)s->value_size,
           each = n * (3 + size + value_size), key_width = (size_t)s->kv_heads * size;
    int threads = omp_get_max_threads();
    double *scratch = calloc((size_t)threads * each, sizeof *scratch);
    (void)o;
    (void)lse;
    if (!scratch) {
        kernels_keep_error(k, "out of memory (gradients of %d keys)", keys);
        return;
    }
    /* one thread has all queries that read a key, in a fixed order */
#pragma omp parallel for collapse(2) schedule(dynamic) num_threads(threads)
    for (int segment = 0; segment < segments; segment++) {
        for (int kv_head = 0; kv_head < s->kv_heads; kv_head++) {
            double *p = scratch + (size_t)omp_get_thread_num() * each, *slope = p + n,
                   *dp = slope + n, *dk = dp + n, *dv = dk + n * size;
            for (size_t i = 0; i < n * (size + value_size); i++)
                dk[i] = 0; /* and the dv after it */
            for (int head = 0; head < s->heads; head++) {
                if ((long)head * s->kv_heads / s->heads != kv_head)
                    continue;
                struct view v = head_view(a, sinks, kv, segment, head, queries, keys);
                for (int r = 0; r < queries; r++) {
                    size_t at = ((size_t)segment * (size_t)queries + (size_t)r) * (size_t)s->heads +
                                (size_t)head;
                    reverse_row((real *)dq->data + at * size, dk, dv,
                                (const real *)d_o->data + at * value_size,
                                (const real *)q->data + at * size, &v, r, p, slope, dp);
                }
            }
            for (size_t j = 0; j < n; j++) {
                real *row = (real *)dkv->data +
                            ((size_t)segment * n + j) * (size_t)attention_kv_width(s),
                     *key = row + (size_t)kv_head * size, /* [head_size] */
                         *value = row + key_width + (size_t)kv_head * value_size; /* [value_size] */
                for (size_t c = 0; c < size; c++)
                    key[c] = (real)dk[j * size + c];
                for (size_t c = 0; c < value_size; c++)
                    value[c] = (real)dv[j * value_size + c];
            }
        }
    }
    free(scratch);
}

static void attention_mass(struct kernels *k, struct buffer *mass, const struct buffer *q,
                           const struct buffer *kv, const struct buffer *lse,
                           const struct attention *a, const struct weight *sinks, int segments,
                           int queries, int keys, int counted)
{
    const struct attention_shape *s = &a->shape;
    size_t n = (size_t)keys, heads = (size_t)s->heads;
    int threads = omp_get_max_threads();
    double *scratch = calloc((size_t)threads * 2 * n, sizeof *scratch); /* [threads, 2, keys] */
    (void)lse; /* probabilities are recomputed in double, as in reverse */
    if (!scratch) {
        kernels_keep_error(k, "out of memory (scores of %d keys)", keys);
        return;
    }
#pragma omp parallel for collapse(2) schedule(dynamic) num_threads(threads)
    for (int segment = 0; segment < segments; segment++) {
        for (int head = 0; head < s->heads; head++) {
            struct view v = head_view(a, sinks, kv, segment, head, queries, keys);
            double *p = scratch + (size_t)omp_get_thread_num() * 2 * n, *sum = p + n;
            real *out = (real *)mass->data +
                        ((size_t)segment * heads + (size_t)head) * n; /* [keys] */
            for (size_t t = 0; t < n; t++)
                sum[t] = 0;
            for (int r = queries - counted; r < queries; r++) {
                size_t at = (((size_t)segment * (size_t)queries + (size_t)r) * heads +
                             (size_t)head) *
                            (size_t)s->head_size;
                int first, end;
                probabilities(p, NULL, &v, (const real *)q->data + at, r);
                key_range(&first, &end, &v, r);
                for (int j = first; j < end; j++)
                    sum[end - 1 - j] += p[j];
            }
            for (size_t t = 0; t < n; t++)
                out[t] = (real)sum[t];
        }
    }
    free(scratch);
}

static struct attention *attention_create(struct kernels *k, const struct attention_shape *shape,
                                          struct error *e)
{
    return kernels_take_error(k, e) ? NULL : attention_copy(shape, e);
}

static void attention_free(struct kernels *k, struct attention *a)
{
    (void)k;
    attention_release(a);
}

void fill_attention(struct kernels *k)
{
    k->attention_create = attention_create;
    k->attention_free = attention_free;
    k->attention = attention_forward;
    k->attention_reverse = attention_reverse;
    k->attention_mass = attention_mass;
}
