/* Attention of the cuda set: which kernels a call takes, and their scratch. */
#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/state.cuh"

/* Bytes of a call's scratch, and where its parts begin when `base` is not NULL. */
static size_t lay_out(struct attention_arguments *a, char *base, int few, int reverse)
{
    size_t at = 0, heads = (size_t)a->segments * (size_t)a->heads,
           kv_heads = (size_t)a->segments * (size_t)a->kv_heads;
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
        TAKE(part, rows * cuda_divide_up((size_t)a->keys, FEW_KEYS) * (size_t)(a->widest + 2));
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

static void fill_shape(struct attention_arguments *a, const struct attention_shape *s, int segments,
                       int queries, int keys)
{
    a->segments = segments;
    a->heads = s->heads;
    a->kv_heads = s->kv_heads;
    a->head_size = s->head_size;
    a->value_size = attention_value_size(s);
    a->widest = a->head_size > a->value_size ? a->head_size : a->value_size;
    a->positions = s->positions;
    a->queries = queries;
    a->keys = keys;
    a->padded_queries = (queries + 127) / 128 * 128;
    a->query_norms = (queries + NORM_ROWS - 1) / NORM_ROWS;
    a->key_norms = (keys + NORM_ROWS - 1) / NORM_ROWS;
    a->window = s->window;
    a->chunk = s->chunk;
    a->open = (s->window > 0 && s->keep > 0) || s->chunk > 0;
    a->kept = s->window > 0 && s->keep > s->positions - keys ? s->keep - (s->positions - keys) : 0;
    a->scale = (float)s->scale;
    a->scale2 = (float)(s->scale * M_LOG2E);
    a->soft_cap2 = (float)(s->soft_cap * M_LOG2E);
    a->cap_scale = s->soft_cap > 0 ? (float)(s->scale / s->soft_cap) : 0;
}

/* Fills *a except the buffers; -1, with the error kept, if there is no scratch. */
static int begin(struct attention_arguments *a, struct kernels *k,
                 const struct attention *attention, int segments, int queries, int keys,
                 int reverse)
{
    const struct attention_shape *s = &attention->shape;
    const struct attention_tables *t = cuda_attention(attention)->scores;
    size_t element = cuda_state(k)->arithmetic == ARITHMETIC_BF16 ? sizeof(bf16) : sizeof(float),
           bytes;
    fill_shape(a, s, segments, queries, keys);
    a->shared_most = cuda_state(k)->shared_most;
    a->aligned = (size_t)s->head_size * element % 16 == 0 &&
                 (size_t)s->value_size * element % 16 == 0;
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
    if (s->soft_cap > 0 || s->multiplier || s->key_bias || !(s->scale > 0) ||
        (s->window > 0 && s->keep > 0) || s->chunk > 0)
        return FEATURE_GENERAL;
    return s->bias ? FEATURE_BIAS : FEATURE_PLAIN;
}

/* Keeps the error of a call whose smallest tiles need `lack` bytes of shared memory, or of
 * ATTENTION_BROKEN; 0 is not an error. */
static void refuse(struct kernels *k, const struct attention_arguments *a, int lack)
{
    if (lack == ATTENTION_BROKEN)
        cuda_check(k, cudaGetLastError(), "attention: shared memory of a block");
    if (lack <= 0)
        return;
    kernels_keep_error(k,
                       "attention: head size %d in %s needs %d bytes of shared memory for a block, "
                       "and this GPU has %d (expected "
                       "another --dtype, or --device cpu)",
                       a->widest, k->dtype, lack, a->shared_most);
}

static void attention_forward(struct kernels *k, struct buffer *o, struct buffer *lse,
                              const struct buffer *q, const struct buffer *kv,
                              const struct attention *a, const struct weight *sinks, int segments,
                              int queries, int keys)
{
    struct cuda_range range("attention");
    enum cuda_arithmetic arithmetic = cuda_state(k)->arithmetic;
    enum attention_feature feature = feature_of(&a->shape);
    cudaStream_t stream = cuda_state(k)->stream;
    struct attention_arguments call = {};
    if (begin(&call, k, a, segments, queries, keys, 0))
        return;
    call.sinks = (const float *)cuda_weight_data(k, sinks);
    call.o = o->data;
    call.lse = (float *)lse->data;
    call.q = q->data;
    call.kv = kv->data;
    if (queries <= FEW_QUERIES) {
        attention_forward_few(&call, arithmetic == ARITHMETIC_BF16, stream);
    } else {
        if (call.skip)
            attention_norms(&call, arithmetic == ARITHMETIC_BF16, false, stream);
        int lack = arithmetic == ARITHMETIC_BF16   ? attention_forward_bf16(&call, feature, stream)
                   : arithmetic == ARITHMETIC_TF32 ? attention_forward_tf32(&call, feature, stream)
                                                   : attention_forward_f32(&call, feature, stream);
        refuse(k, &call, lack);
    }
    cuda_check(k, cudaGetLastError(), "attention");
}

static void attention_reverse(struct kernels *k, struct buffer *dq, struct buffer *dkv,
                              const struct buffer *d_o, const struct buffer *q,
                              const struct buffer *kv, const struct buffer *o,
                              const struct buffer *lse, const struct attention *a,
                              const struct weight *sinks, int segments, int queries, int keys)
{
    struct cuda_range range("attention_reverse");
    enum cuda_arithmetic arithmetic = cuda_state(k)->arithmetic;
    enum attention_feature feature = feature_of(&a->shape);
    cudaStream_t stream = cuda_state(k)->stream;
    struct attention_arguments call = {};
    if (begin(&call, k, a, segments, queries, keys, 1))
        return;
    (void)sinks; /* lse has them */
    call.dq = dq->data;
    call.dkv = dkv->data;
    call.d_o = d_o->data;
    call.q = q->data;
    call.kv = kv->data;
    call.o = o->data;
    call.lse = (float *)lse->data;
    if (queries <= FEW_QUERIES) {
        attention_rows_few(&call, arithmetic == ARITHMETIC_BF16, stream);
        attention_reverse_few(&call, arithmetic == ARITHMETIC_BF16, stream);
    } else {
        attention_lse(&call, stream);
        if (call.skip)
            attention_norms(&call, arithmetic == ARITHMETIC_BF16, true, stream);
        int lack = arithmetic == ARITHMETIC_BF16   ? attention_reverse_bf16(&call, feature, stream)
                   : arithmetic == ARITHMETIC_TF32 ? attention_reverse_tf32(&call, feature, stream)
                                                   : attention_reverse_f32(&call, feature, stream);
        refuse(k, &call, lack);
    }
    cuda_check(k, cudaGetLastError(), "attention");
}

static void attention_mass(struct kernels *k, struct buffer *mass, const struct buffer *q,
                           const struct buffer *kv, const struct buffer *lse,
                           const struct attention *a, const struct weight *sinks, int segments,
                           int queries, int keys, int counted)
{
    struct cuda_range range("attention_mass");
    enum cuda_arithmetic arithmetic = cuda_state(k)->arithmetic;
    struct attention_arguments call = {};
    if (begin(&call, k, a, segments, queries, keys, 0))
        return;
    (void)sinks; /* lse has them */
    call.q = q->data;
    call.kv = kv->data;
    call.lse = (float *)lse->data;
    attention_sum_by_distance(&call, (float *)mass->data, counted, arithmetic == ARITHMETIC_BF16,
                              arithmetic == ARITHMETIC_TF32, cuda_state(k)->stream);
    cuda_check(k, cudaGetLastError(), "attention by distance");
}

size_t cuda_attention_scratch(enum cuda_arithmetic, const struct attention_shape *shape,
                              struct rows rows)
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
