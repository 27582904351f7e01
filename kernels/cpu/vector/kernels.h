/* Kernels built once for each instruction set: tables of functions on plain float arrays, each for
 * one thread's share. */
#ifndef REACH_KERNELS_CPU_VECTOR_KERNELS_H
#define REACH_KERNELS_CPU_VECTOR_KERNELS_H

#include "kernels/ops.h"

#include <stddef.h>

static inline size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

enum { TABLE_BLOCK = 64, TABLE_PAD = 64 };
enum { RECURRENCE_CHUNK = 64 };
enum { SCAN_GROUP = 64, WKV_GROUP = 64 };
enum { MULTIPLY_BF16_ROOM = 9 << 16 }; /* floats */

/* A table by distance t in [0, positions) as read by attention's blocks: at[j - i] for query i and
 * key j, t = i - j, with TABLE_PAD entries after at[0] for t < 0; and its extremes over every
 * TABLE_BLOCK distances (largest value; for a multiplier, largest magnitude). */
struct distance_table {
    const float *at;
    const float *extreme; /* [ceil(positions / TABLE_BLOCK)] */
};

/* One head of one segment. Rows are `stride` floats apart; queries are the last `queries`
 * positions, keys the last `keys`. */
struct attention_task {
    const float *q; /* [queries, head_size], q_stride apart, as is dq */
    const float *key, *value; /* [keys, head_size] and [keys, value_size], kv_stride apart */
    float *o; /* [queries, value_size], o_stride apart, as is d_o */
    float *lse; /* [queries] */
    const float *d_o; /* reverse: [queries, value_size] */
    float *dq; /* reverse: [queries, head_size] */
    float *d_key, *d_value; /* reverse: as key and value, d_kv_stride apart */
    double *mass; /* mass: [keys] by distance */
    size_t q_stride, o_stride, kv_stride, d_kv_stride;
    int head_size, value_size, queries, keys, positions, window;
    int keep; /* keys below this position are always seen; 0: none */
    int chunk; /* as in kernels/ops.h; 0: none */
    float scale, soft_cap;
    float sink; /* a score in addition to the keys', with value zero; -inf: none */
    struct distance_table bias; /* -inf where masked; never NULL */
    struct distance_table open; /* with keep: the bias without the window */
    int biased; /* 0: the bias table holds only the mask */
    struct distance_table multiplier; /* at NULL: none */
    const float *key_bias; /* [positions + TABLE_PAD] by key position, or NULL */
    const float *key_bias_extreme; /* [ceil(positions / TABLE_BLOCK)] */
    int skip; /* 1: blocks that are proved to be zero are not computed */
    float *scratch; /* attention_scratch() floats, 64-byte aligned */
};

/* One head of one segment of a recurrence. Rows are `stride` floats apart, or as said; names as in
 * struct recurrence. */
struct recurrence_task {
    const float *query, *key, *value; /* [keys, key_size or value_size] */
    const float *log_decay, *step; /* [keys], gate_stride apart */
    float *o; /* [queries, value_size], o_stride apart, as is d_o */
    float *states; /* [recurrence_states(keys), key_size, value_size], or NULL */
    const float *d_o;
    float *d_query, *d_key; /* reverse: [rows of the span, key_size], d_stride apart */
    float *d_value; /* reverse: [keys, value_size] */
    float *d_log_decay, *d_step; /* reverse: [keys], gate_stride apart */
    float *pairs; /* of the span's chunks, as recur_pairs leaves them: those of one key head */
    float *carried; /* reverse: from span to span. The gradient of the state, [key_size,
                       value_size], at first zeros; without states what recur_last_begin leaves */
    size_t stride, gate_stride, o_stride, d_stride;
    int key_size, value_size, queries, keys, delta;
    int adds; /* reverse, with states: 1: d_query and d_key are added to */
    float scale, skip;
    float *scratch; /* 64-byte aligned */
};

/* At most SCAN_GROUP channels of one segment of a scan. Rows are `stride` floats apart, or as said;
 * names as in struct scan. */
struct scan_task {
    const float *x, *steps; /* [keys, width] */
    const float *bc; /* [keys, 2 size], bc_stride apart */
    const float *rate; /* [size, width], rate_stride apart */
    const float *skip; /* [width] */
    float *o; /* [queries, width] */
    float *states; /* [scan_states(keys), size, width], or NULL */
    const float *d_o;
    float *d_x, *d_steps; /* reverse: [keys, width] */
    float *d_bc; /* reverse: [rows of the span, 2 size] without gaps, the sum over these channels;
                    or NULL */
    float *carried; /* reverse: from span to span. The gradient of the states [size, width],
                       SCAN_GROUP apart, at first zeros */
    size_t stride, bc_stride, rate_stride, width, size, queries, keys;
    int selective;
    float *scratch; /* 64-byte aligned */
};

/* At most WKV_GROUP channels of one segment of a mean by channel. Rows are `stride` floats apart;
 * names as in ops.h. */
struct wkv_task {
    const float *k, *v; /* [rows, width] */
    const float *rate, *first; /* [width] */
    float *o, *log_sum; /* [queries, width]; forward: the latter may be NULL */
    const float *d_o; /* [queries, width] */
    float *d_k, *d_v; /* reverse: [rows, width] */
    size_t stride, width, queries, rows;
};

struct vector_kernels {
    const char *isa;

    /* Attention with online softmax (Milakov, Gimelshein 2018; Dao et al. 2022) and its reverse by
     * recomputation. */
    void (*attention)(const struct attention_task *task);
    void (*attention_reverse)(const struct attention_task *task);
    /* mass[t] = sum over the queries of their probabilities at distance t, from lse; scratch as
     * forward. */
    void (*attention_mass)(const struct attention_task *task);
    size_t (*attention_scratch)(int head_size, int value_size, int queries, int keys,
                                int reverse); /* floats */

    /* Recurrences: what all heads of a key head share of the chunk of RECURRENCE_CHUNK rows at row
     * `first`; forward of the rows [span, span + RECURRENCE_SPAN), the first span first; reverse,
     * the last first. The `last` ones for tasks without states: begin, then reverse with the first
     * span first. _floats: of scratch, and of a chunk's pairs; carried: floats of `carried` without
     * states. */
    void (*recur_pairs)(const struct recurrence_task *task, size_t first);
    void (*recur)(const struct recurrence_task *task, size_t span);
    void (*recur_reverse)(const struct recurrence_task *task, size_t span);
    void (*recur_last)(const struct recurrence_task *task);
    void (*recur_last_begin)(const struct recurrence_task *task);
    void (*recur_last_reverse)(const struct recurrence_task *task, size_t span);
    size_t (*recur_pairs_floats)(int key_size);
    size_t (*recur_floats)(int key_size, int value_size);
    size_t (*recur_reverse_floats)(int key_size, int value_size);
    size_t (*recur_last_floats)(int key_size, int value_size); /* of either direction */
    size_t (*recur_last_carried)(int key_size, int delta, int keys);
    /* The same by channel of the key: log_decay and d_log_decay are [keys, key_size], and no head
     * shares its queries and keys: d_query and d_key are [keys, key_size], `stride` apart. */
    void (*channels)(const struct recurrence_task *task, size_t span);
    void (*channels_reverse)(const struct recurrence_task *task, size_t span);
    void (*channels_last)(const struct recurrence_task *task);
    void (*channels_last_begin)(const struct recurrence_task *task);
    void (*channels_last_reverse)(const struct recurrence_task *task, size_t span);
    size_t (*channels_floats)(int key_size, int value_size);
    size_t (*channels_reverse_floats)(int key_size, int value_size);
    size_t (*channels_last_floats)(int key_size, int value_size);
    size_t (*channels_last_carried)(int key_size, int keys);

    /* Scans: forward; reverse of the rows [span, span + SCAN_SPAN), the last ones first. floats: of
     * scratch, of either. */
    void (*scan)(const struct scan_task *task);
    void (*scan_reverse)(const struct scan_task *task, size_t span);
    size_t (*scan_floats)(size_t size);
    /* A row of the operations lru and lru_reverse; `first`: that of a segment. */
    void (*lru)(float *steps, float *y, const float *x, const float *raw, const float *rate,
                size_t width, int first);
    void (*lru_reverse)(float *d_x, float *d_raw, const float *d_y, const float *d_steps,
                        const float *x, const float *raw, const float *rate, size_t width,
                        int first);

    /* Means by channel. */
    void (*wkv)(const struct wkv_task *task);
    void (*wkv_reverse)(const struct wkv_task *task);

    /* One row of a norm; y may be NULL. statistics = mean (0 for all but LAYER), factor on x -
     * mean, summed in double. In reverse dx may be dy. */
    void (*norm)(float *y, float *statistics, const float *x, const float *scale,
                 const float *shift, enum norm_kind kind, double epsilon, size_t width);
    void (*norm_reverse)(float *dx, const float *dy, const float *x, const float *scale,
                         enum norm_kind kind, double epsilon, size_t width, int accumulate);

    /* Elementwise; gate and d_gate may be NULL, outputs may be inputs of the same index. */
    void (*activate)(float *y, const float *up, const float *gate, enum activation kind,
                     size_t count);
    void (*activate_reverse)(float *d_up, float *d_gate, const float *dy, const float *up,
                             const float *gate, enum activation kind, size_t count);
    void (*xielu)(float *y, const float *x, const struct xielu *numbers, size_t count);
    void (*xielu_reverse)(float *dx, const float *dy, const float *x, const struct xielu *numbers,
                          size_t count);

    /* One row of a gated convolution (ops.h) at x[3 width], whose rows lie one after the other; of
     * it and the rows before it `seen` are there. taps[reach + 1, width]: the bias, then those of
     * the row itself and of the rows before it. In reverse first .. end - 1: how many rows on the
     * queries within reach are, the first of them with dy[width]. */
    void (*convolve)(float *y, const float *x, const float *taps, size_t seen, size_t width);
    void (*convolve_reverse)(float *dx, const float *dy, const float *x, const float *taps,
                             size_t seen, size_t first, size_t end, size_t width);
    /* The same without gates: x[width], which reverse does not read. */
    void (*convolve_plain)(float *y, const float *x, const float *taps, size_t seen, size_t width);
    void (*convolve_plain_reverse)(float *dx, const float *dy, const float *taps, size_t first,
                                   size_t end, size_t width);

    /* One head's rotated dimensions. half: x[pairs], x + pairs; cosine, sine [pairs]. interleaved:
     * cosine doubled, sine doubled with signs - +: [2 pairs]. */
    void (*rotate_half)(float *x, const float *cosine, const float *sine, size_t pairs,
                        float direction);
    void (*rotate_interleaved)(float *x, const float *cosine, const float *sine, size_t pairs,
                               float direction);

    void (*add)(float *y, const float *x, size_t count); /* y += x */
    void (*add_scaled)(float *y, const float *x, float factor, size_t count); /* y += factor x */
    float (*dot)(const float *x, const float *y, size_t count);
    double (*dot_double)(const float *x, const float *y,
                         size_t count); /* products and sum in double */
    void (*add_scaled_double)(double *y, const float *x, double factor, size_t count);
    void (*round_bf16)(float *y, const float *x, size_t count); /* to the nearest, ties to even */

    /* high + low = x, nearly (float_high_bf16 and float_low_bf16) */
    void (*split_bf16)(float *high, float *low, const float *x, size_t count);

    /* c[m, n] = a[m, depth] b, or c += if it accumulates, both operands rounded to bf16, to
     * nearest, and denormals to 0; sums in float. With three terms both are split, with denormal
     * parts 0, and a product is high high + high low + low high. b is [depth, n], or [n, depth]
     * when transposed; rows ldc, lda, ldb floats apart. room: MULTIPLY_BF16_ROOM floats, 64-byte
     * aligned. The order of an element's sum depends only on depth and terms (1 or 3), so it is
     * the same in any tile. NULL without such instructions. */
    void (*multiply_bf16)(float *c, size_t ldc, const float *a, size_t lda, const float *b,
                          size_t ldb, int transposed, size_t m, size_t n, size_t depth,
                          int accumulate, int terms, float *room);

    /* The elementary functions used above, for tests. */
    void (*exp)(float *y, const float *x, size_t count);
    void (*tanh)(float *y, const float *x, size_t count);
};

extern const struct vector_kernels vector_kernels_generic;
#if defined(__x86_64__)
extern const struct vector_kernels vector_kernels_avx2;
extern const struct vector_kernels vector_kernels_avx512;
extern const struct vector_kernels vector_kernels_avx512_bf16;
extern const struct vector_kernels vector_kernels_amx;
#endif

/* Each file defines its functions under the instruction set's names; table.c collects them. */
#ifdef VECTOR_ISA
#define VECTOR_JOIN(name, isa) name##_##isa
#define VECTOR_NAME_OF(name, isa) VECTOR_JOIN(name, isa)
#define VECTOR_NAME(name) VECTOR_NAME_OF(name, VECTOR_ISA)
#define attention_forward VECTOR_NAME(attention_forward)
#define attention_reverse_head VECTOR_NAME(attention_reverse_head)
#define attention_mass_head VECTOR_NAME(attention_mass_head)
#define attention_scratch_floats VECTOR_NAME(attention_scratch_floats)
#define recur_chunk_pairs VECTOR_NAME(recur_chunk_pairs)
#define recur_chunk_pairs_floats VECTOR_NAME(recur_chunk_pairs_floats)
#define recur_head VECTOR_NAME(recur_head)
#define recur_head_floats VECTOR_NAME(recur_head_floats)
#define recur_reverse_span VECTOR_NAME(recur_reverse_span)
#define recur_reverse_span_floats VECTOR_NAME(recur_reverse_span_floats)
#define recur_last_head VECTOR_NAME(recur_last_head)
#define recur_last_head_begin VECTOR_NAME(recur_last_head_begin)
#define recur_last_reverse_span VECTOR_NAME(recur_last_reverse_span)
#define recur_last_head_floats VECTOR_NAME(recur_last_head_floats)
#define recur_last_head_carried VECTOR_NAME(recur_last_head_carried)
#define scan_channels VECTOR_NAME(scan_channels)
#define scan_channels_reverse VECTOR_NAME(scan_channels_reverse)
#define scan_channels_floats VECTOR_NAME(scan_channels_floats)
#define lru_row VECTOR_NAME(lru_row)
#define lru_row_reverse VECTOR_NAME(lru_row_reverse)
#define wkv_channels VECTOR_NAME(wkv_channels)
#define wkv_channels_reverse VECTOR_NAME(wkv_channels_reverse)
#define recur_channels_head VECTOR_NAME(recur_channels_head)
#define recur_channels_head_floats VECTOR_NAME(recur_channels_head_floats)
#define recur_channels_reverse_span VECTOR_NAME(recur_channels_reverse_span)
#define recur_channels_reverse_span_floats VECTOR_NAME(recur_channels_reverse_span_floats)
#define recur_channels_last VECTOR_NAME(recur_channels_last)
#define recur_channels_last_begin VECTOR_NAME(recur_channels_last_begin)
#define recur_channels_last_span VECTOR_NAME(recur_channels_last_span)
#define recur_channels_last_floats VECTOR_NAME(recur_channels_last_floats)
#define recur_channels_last_carried VECTOR_NAME(recur_channels_last_carried)
#define norm_row VECTOR_NAME(norm_row)
#define norm_row_reverse VECTOR_NAME(norm_row_reverse)
#define activate_span VECTOR_NAME(activate_span)
#define activate_span_reverse VECTOR_NAME(activate_span_reverse)
#define xielu_span VECTOR_NAME(xielu_span)
#define xielu_span_reverse VECTOR_NAME(xielu_span_reverse)
#define convolve_row VECTOR_NAME(convolve_row)
#define convolve_row_reverse VECTOR_NAME(convolve_row_reverse)
#define convolve_plain_row VECTOR_NAME(convolve_plain_row)
#define convolve_plain_row_reverse VECTOR_NAME(convolve_plain_row_reverse)
#define rotate_half_head VECTOR_NAME(rotate_half_head)
#define rotate_interleaved_head VECTOR_NAME(rotate_interleaved_head)
#define add_span VECTOR_NAME(add_span)
#define add_scaled_span VECTOR_NAME(add_scaled_span)
#define dot_span VECTOR_NAME(dot_span)
#define dot_span_double VECTOR_NAME(dot_span_double)
#define add_scaled_span_double VECTOR_NAME(add_scaled_span_double)
#define round_span_bf16 VECTOR_NAME(round_span_bf16)
#define split_span_bf16 VECTOR_NAME(split_span_bf16)
#define multiply_bf16_tiles VECTOR_NAME(multiply_bf16_tiles)
#define exp_span VECTOR_NAME(exp_span)
#define tanh_span VECTOR_NAME(tanh_span)

void attention_forward(const struct attention_task *t);
void attention_reverse_head(const struct attention_task *t);
void attention_mass_head(const struct attention_task *t);
size_t attention_scratch_floats(int head_size, int value_size, int queries, int keys, int reverse);
void recur_chunk_pairs(const struct recurrence_task *t, size_t first);
size_t recur_chunk_pairs_floats(int key_size);
void recur_head(const struct recurrence_task *t, size_t span);
size_t recur_head_floats(int key_size, int value_size);
void recur_reverse_span(const struct recurrence_task *t, size_t span);
size_t recur_reverse_span_floats(int key_size, int value_size);
void recur_last_head(const struct recurrence_task *t);
void recur_last_head_begin(const struct recurrence_task *t);
void recur_last_reverse_span(const struct recurrence_task *t, size_t span);
size_t recur_last_head_floats(int key_size, int value_size);
size_t recur_last_head_carried(int key_size, int delta, int keys);
void scan_channels(const struct scan_task *t);
void scan_channels_reverse(const struct scan_task *t, size_t span);
size_t scan_channels_floats(size_t size);
void lru_row(float *steps, float *y, const float *x, const float *raw, const float *rate,
             size_t width, int first);
void lru_row_reverse(float *d_x, float *d_raw, const float *d_y, const float *d_steps,
                     const float *x, const float *raw, const float *rate, size_t width, int first);
void wkv_channels(const struct wkv_task *t);
void wkv_channels_reverse(const struct wkv_task *t);
void recur_channels_head(const struct recurrence_task *t, size_t span);
size_t recur_channels_head_floats(int key_size, int value_size);
void recur_channels_reverse_span(const struct recurrence_task *t, size_t span);
size_t recur_channels_reverse_span_floats(int key_size, int value_size);
void recur_channels_last(const struct recurrence_task *t);
void recur_channels_last_begin(const struct recurrence_task *t);
void recur_channels_last_span(const struct recurrence_task *t, size_t span);
size_t recur_channels_last_floats(int key_size, int value_size);
size_t recur_channels_last_carried(int key_size, int keys);
void norm_row(float *y, float *statistics, const float *x, const float *scale, const float *shift,
              enum norm_kind kind, double epsilon, size_t width);
void norm_row_reverse(float *dx, const float *dy, const float *x, const float *scale,
                      enum norm_kind kind, double epsilon, size_t width, int accumulate);
void activate_span(float *y, const float *up, const float *gate, enum activation kind,
                   size_t count);
void activate_span_reverse(float *d_up, float *d_gate, const float *dy, const float *up,
                           const float *gate, enum activation kind, size_t count);
void xielu_span(float *y, const float *x, const struct xielu *numbers, size_t count);
void xielu_span_reverse(float *dx, const float *dy, const float *x, const struct xielu *numbers,
                        size_t count);
void convolve_row(float *y, const float *x, const float *taps, size_t seen, size_t width);
void convolve_row_reverse(float *dx, const float *dy, const float *x, const float *taps,
                          size_t seen, size_t first, size_t end, size_t width);
void convolve_plain_row(float *y, const float *x, const float *taps, size_t seen, size_t width);
void convolve_plain_row_reverse(float *dx, const float *dy, const float *taps, size_t first,
                                size_t end, size_t width);
void rotate_half_head(float *x, const float *cosine, const float *sine, size_t pairs,
                      float direction);
void rotate_interleaved_head(float *x, const float *cosine, const float *sine, size_t pairs,
                             float direction);
void add_span(float *y, const float *x, size_t count);
void add_scaled_span(float *y, const float *x, float factor, size_t count);
float dot_span(const float *x, const float *y, size_t count);
double dot_span_double(const float *x, const float *y, size_t count);
void add_scaled_span_double(double *y, const float *x, double factor, size_t count);
void round_span_bf16(float *y, const float *x, size_t count);
void split_span_bf16(float *restrict high, float *restrict low, const float *restrict x,
                     size_t count);
void multiply_bf16_tiles(float *c, size_t ldc, const float *a, size_t lda, const float *b,
                         size_t ldb, int transposed, size_t m, size_t n, size_t depth,
                         int accumulate, int terms, float *room);
void exp_span(float *y, const float *x, size_t count);
void tanh_span(float *y, const float *x, size_t count);
#endif

#endif
