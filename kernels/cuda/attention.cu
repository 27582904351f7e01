/* Attention of the cuda set: its tables on the device, which kernels a call takes, and their scratch. */
#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/state.cuh"

#include <stdlib.h>

/* Tables in the kernels' form; members as in struct attention_arguments. */
struct attention_tables {
    float *memory; /* all of them, on the device */
    size_t bytes;
    const float *bias, *multiplier, *key_bias, *bias_most, *multiplier_most, *key_bias_most;
    size_t stride, bias_stride;
    int most_stride, bias_most_stride;
    int steep; /* scores may differ by so much within a row that some p are 0 in float */
};

static const double LOG2_E = 1.4426950408889634;

/* Where the tables lie in one array: `rows` times `stride` numbers of each, then `rows` times `most` of each. */
struct table_places {
    size_t bias, multiplier, key_bias, bias_most, multiplier_most, key_bias_most, count;
};

/* One row of a table: value(i) = factor * source[i] (`neutral` without a source) for 0 <= i < count, `outside` around it; and the
 * largest of every NORM_ROWS. */
static void fill_row(float *row, float *most, size_t stride, size_t most_count, const double *source, int count, double factor,
                     float neutral, float outside, int absolute)
{
    for (size_t i = 0; i < stride; i++)
        row[i] = outside;
    for (size_t i = 0; i < most_count; i++)
        most[i] = -INFINITY;
    for (int i = 0; i < count; i++) {
        float value = source ? (float)(factor * source[i]) : neutral, size = absolute ? fabsf(value) : value,
              *largest = &most[i / NORM_ROWS];
        row[TABLE_PAD + i] = value;
        if (!(size <= *largest))
            *largest = size;
    }
}

/* 1 if some finite biases of a head, or a finite one and a mask, lie further apart than 2^-x reaches in float. */
static int is_steep(const double *bias, int heads, int positions)
{
    for (int h = 0; bias && h < heads; h++) {
        double low = INFINITY, high = -INFINITY;
        for (int t = 0; t < positions; t++) {
            low = fmin(low, bias[(size_t)h * (size_t)positions + (size_t)t]);
            high = fmax(high, bias[(size_t)h * (size_t)positions + (size_t)t]);
        }
        if ((high - low) * LOG2_E > 120)
            return 1;
    }
    return 0;
}

struct attention_tables *cuda_attention_tables(struct kernels *k, const struct attention_shape *s, struct error *e)
{
    size_t n = (size_t)s->positions, heads = (size_t)s->heads, bias_rows = s->bias ? heads : 1, visible = n, count, bytes;
    size_t stride = (n + 2 * TABLE_PAD + 3) / 4 * 4, most = cuda_divide_up(n, NORM_ROWS), rows;
    struct attention_tables *t = (struct attention_tables *)calloc(1, sizeof *t);
    float *host = NULL;
    rows = bias_rows + (s->multiplier ? heads : 0) + (s->key_bias ? heads : 0);
    if (!t || __builtin_mul_overflow(rows, stride + most, &count) || __builtin_mul_overflow(count, sizeof(float), &bytes) ||
        !(host = (float *)malloc(bytes))) {
        fail_memory(e, (double)rows * (double)(stride + most) * sizeof(float), "attention tables");
        goto failed;
    }
    if (s->window > 0 && (size_t)s->window < n)
        visible = (size_t)s->window;
    {
        float *row = host, *largest = host + rows * stride;
        for (size_t h = 0; h < bias_rows; h++, row += stride, largest += most)
            fill_row(row, largest, stride, most, s->bias ? s->bias + h * n : NULL, (int)visible, LOG2_E, 0, -INFINITY, 0);
        for (size_t h = 0; s->multiplier && h < heads; h++, row += stride, largest += most)
            fill_row(row, largest, stride, most, s->multiplier + h * n, (int)n, 1, 1, 1, 1);
        for (size_t h = 0; s->key_bias && h < heads; h++, row += stride, largest += most)
            fill_row(row, largest, stride, most, s->key_bias + h * n, (int)n, LOG2_E, 0, 0, 0);
    }
    t->bytes = bytes;
    t->memory = (float *)cuda_take(k, bytes, cuda_state(k)->stream, e);
    if (!t->memory ||
        cuda_check_now(cudaMemcpyAsync(t->memory, host, bytes, cudaMemcpyHostToDevice, cuda_state(k)->stream), "attention tables",
                       e) ||
        cuda_check_now(cudaStreamSynchronize(cuda_state(k)->stream), "attention tables", e))
        goto failed;
    t->stride = stride;
    t->most_stride = (int)most;
    t->bias_stride = s->bias ? stride : 0;
    t->bias_most_stride = s->bias ? (int)most : 0;
    t->bias = t->memory;
    t->bias_most = t->memory + rows * stride;
    if (s->multiplier) {
        t->multiplier = t->bias + bias_rows * stride;
        t->multiplier_most = t->bias_most + bias_rows * most;
    }
    if (s->key_bias) {
        size_t before = bias_rows + (s->multiplier ? heads : 0);
        t->key_bias = t->bias + before * stride;
        t->key_bias_most = t->bias_most + before * most;
    }
    t->steep = is_steep(s->bias, s->heads, s->positions) || is_steep(s->key_bias, s->heads, s->positions);
    free(host);
    return t;
failed:
    free(host);
    cuda_attention_tables_free(k, t);
    return NULL;
}

void cuda_attention_tables_free(struct kernels *k, struct attention_tables *t)
{
    if (t)
        cuda_give(k, t->memory, t->bytes);
    free(t);
}

/* Bytes of a call's scratch, and where its parts begin when `base` is not NULL. */
static size_t lay_out(struct attention_arguments *a, char *base, int few, int reverse)
{
    size_t at = 0, heads = (size_t)a->segments * (size_t)a->heads, kv_heads = (size_t)a->segments * (size_t)a->kv_heads;
#define TAKE(member, count) \
    do { \
        a->member = base ? (float *)(base + at) : NULL; \
        at += ((size_t)(count) * sizeof(float) + 255) / 256 * 256; \
    } while (0)
    if (reverse) {
        TAKE(lse2, heads * (size_t)a->padded_queries);
        TAKE(delta, heads * (size_t)a->padded_queries);
    }
    if (few) {
        size_t rows = heads * (size_t)a->queries;
        TAKE(part, rows * cuda_divide_up((size_t)a->keys, FEW_KEYS) * (size_t)(a->head_size + 2));
        if (reverse)
            TAKE(weight, rows * (size_t)a->keys);
    } else if (a->skip) {
        TAKE(query_norm, heads * (size_t)a->query_norms);
        TAKE(key_norm, kv_heads * (size_t)a->key_norms);
        TAKE(least, heads * (size_t)a->query_norms);
    }
#undef TAKE
    return at;
}

static void fill_shape(struct attention_arguments *a, const struct attention_shape *s, int segments, int queries, int keys)
{
    a->segments = segments;
    a->heads = s->heads;
    a->kv_heads = s->kv_heads;
    a->head_size = s->head_size;
    a->positions = s->positions;
    a->queries = queries;
    a->keys = keys;
    a->padded_queries = (queries + 127) / 128 * 128;
    a->query_norms = (queries + NORM_ROWS - 1) / NORM_ROWS;
    a->key_norms = (keys + NORM_ROWS - 1) / NORM_ROWS;
    a->window = s->window;
    a->scale = (float)s->scale;
    a->scale2 = (float)(s->scale * LOG2_E);
    a->soft_cap2 = (float)(s->soft_cap * LOG2_E);
    a->cap_scale = s->soft_cap > 0 ? (float)(s->scale / s->soft_cap) : 0;
}

/* Fills *a but for the buffers; -1 with the error kept when there is no scratch. */
static int begin(struct attention_arguments *a, struct kernels *k, const struct attention *attention, int segments, int queries,
                 int keys, int reverse)
{
    const struct attention_shape *s = &attention->shape;
    const struct attention_tables *t = cuda_attention(attention)->scores;
    size_t element = cuda_state(k)->arithmetic == ARITHMETIC_BF16 ? sizeof(bf16) : sizeof(float), bytes;
    fill_shape(a, s, segments, queries, keys);
    a->aligned = (size_t)s->head_size * element % 16 == 0;
    a->bias = t->bias;
    a->multiplier = t->multiplier;
    a->key_bias = t->key_bias;
    a->stride = t->stride;
    a->bias_stride = t->bias_stride;
    a->bias_most = t->bias_most;
    a->multiplier_most = t->multiplier_most;
    a->key_bias_most = t->key_bias_most;
    a->most_stride = t->most_stride;
    a->bias_most_stride = t->bias_most_stride;
    a->skip = t->steep;
    bytes = lay_out(a, NULL, queries <= FEW_QUERIES, reverse);
    if (bytes) {
        char *scratch = (char *)cuda_scratch(k, bytes, "attention");
        if (!scratch)
            return -1;
        lay_out(a, scratch, queries <= FEW_QUERIES, reverse);
    }
    return 0;
}

static enum attention_feature feature_of(const struct attention_shape *s)
{
    if (s->soft_cap > 0 || s->multiplier || s->key_bias || !(s->scale > 0))
        return FEATURE_GENERAL;
    return s->bias ? FEATURE_BIAS : FEATURE_PLAIN;
}

static void attention_forward(struct kernels *k, struct buffer *o, struct buffer *lse, const struct buffer *q,
                              const struct buffer *kv, const struct attention *attention, int segments, int queries, int keys)
{
    enum cuda_arithmetic arithmetic = cuda_state(k)->arithmetic;
    enum attention_feature feature = feature_of(&attention->shape);
    cudaStream_t stream = cuda_state(k)->stream;
    struct attention_arguments a = {};
    if (begin(&a, k, attention, segments, queries, keys, 0))
        return;
    a.o = o->data;
    a.lse = (float *)lse->data;
    a.q = q->data;
    a.kv = kv->data;
    if (queries <= FEW_QUERIES) {
        attention_forward_few(&a, arithmetic == ARITHMETIC_BF16, stream);
    } else {
        if (a.skip)
            attention_norms(&a, arithmetic == ARITHMETIC_BF16, false, stream);
        if (arithmetic == ARITHMETIC_BF16)
            attention_forward_bf16(&a, feature, stream);
        else if (arithmetic == ARITHMETIC_TF32)
            attention_forward_tf32(&a, feature, stream);
        else
            attention_forward_f32(&a, feature, stream);
    }
    cuda_check(k, cudaGetLastError(), "attention");
}

static void attention_reverse(struct kernels *k, struct buffer *dq, struct buffer *dkv, const struct buffer *d_o,
                              const struct buffer *q, const struct buffer *kv, const struct buffer *o, const struct buffer *lse,
                              const struct attention *attention, int segments, int queries, int keys)
{
    enum cuda_arithmetic arithmetic = cuda_state(k)->arithmetic;
    enum attention_feature feature = feature_of(&attention->shape);
    cudaStream_t stream = cuda_state(k)->stream;
    struct attention_arguments a = {};
    if (begin(&a, k, attention, segments, queries, keys, 1))
        return;
    a.dq = dq->data;
    a.dkv = dkv->data;
    a.d_o = d_o->data;
    a.q = q->data;
    a.kv = kv->data;
    a.o = o->data;
    a.lse = (float *)lse->data;
    attention_rows(&a, arithmetic == ARITHMETIC_BF16, stream);
    if (queries <= FEW_QUERIES) {
        attention_reverse_few(&a, arithmetic == ARITHMETIC_BF16, stream);
    } else {
        if (a.skip)
            attention_norms(&a, arithmetic == ARITHMETIC_BF16, true, stream);
        if (arithmetic == ARITHMETIC_BF16)
            attention_reverse_bf16(&a, feature, stream);
        else if (arithmetic == ARITHMETIC_TF32)
            attention_reverse_tf32(&a, feature, stream);
        else
            attention_reverse_f32(&a, feature, stream);
    }
    cuda_check(k, cudaGetLastError(), "attention");
}

static void attention_mass(struct kernels *k, struct buffer *mass, const struct buffer *q, const struct buffer *kv,
                           const struct buffer *lse, const struct attention *attention, int segments, int queries, int keys,
                           int counted)
{
    enum cuda_arithmetic arithmetic = cuda_state(k)->arithmetic;
    struct attention_arguments a = {};
    if (begin(&a, k, attention, segments, queries, keys, 0))
        return;
    a.q = q->data;
    a.kv = kv->data;
    a.lse = (float *)lse->data;
    attention_sum_by_distance(&a, (float *)mass->data, counted, arithmetic == ARITHMETIC_BF16, arithmetic == ARITHMETIC_TF32,
                              cuda_state(k)->stream);
    cuda_check(k, cudaGetLastError(), "attention by distance");
}

size_t cuda_attention_scratch(enum cuda_arithmetic, const struct attention_shape *shape, struct rows rows)
{
    struct attention_arguments a = {};
    int few = shape->positions < FEW_QUERIES ? shape->positions : FEW_QUERIES;
    fill_shape(&a, shape, rows.segments, shape->positions, shape->positions);
    a.skip = 1;
    size_t tiles = lay_out(&a, NULL, 0, 1);
    fill_shape(&a, shape, rows.segments, few, shape->positions);
    size_t single = lay_out(&a, NULL, 1, 1);
    return tiles > single ? tiles : single;
}

void cuda_fill_attention(struct kernels *k)
{
    k->attention = attention_forward;
    k->attention_reverse = attention_reverse;
    k->attention_mass = attention_mass;
}
