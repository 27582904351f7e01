/* Runs one operation of a kernel set, forward and reverse, on inputs made from a seed, so that sets
 * can be compared with each other and with goldens.
 *
 * Inputs are multiples of 2^-23 below 2 in size times a power of two, so exact in float. The inputs
 * of a segment depend on its number alone: a case may be run for segments first .. first + segments
 * - 1 only. */
#ifndef REACH_TESTS_KERNEL_RUN_H
#define REACH_TESTS_KERNEL_RUN_H

#include "kernels/ops.h"

/* What a run gave: up to four arrays, each [segments, each]. `bound`: an element's rounding error,
 * in units of roundoff (2^-24 for f32), stays below this. */
struct outputs {
    int segments, count;
    struct output {
        const char *name;
        size_t each;
        double *value, *bound; /* owned; bound is NULL unless asked for */
    } array[13];
};
void outputs_free(struct outputs *o);

/* Whether this machine can run a set. In a run for the plug-in (REACH_CUDA names it) a set of the
 * GPU that cannot run fails the test: nothing passes there without a GPU, or the stand-in for one.
 */
int set_usable(const struct kernel_set_entry *set);

/* Lets the stand-in for a GPU run its threads in the order of this seed; NULL: as the environment
 * had it when this was first called. */
void thread_order(const char *seed);

struct linear_case {
    int segments, first, rows, in, out, bias,
        accumulate; /* accumulate 2: forward onto another buffer (linear_add) */
    int blocks; /* on the diagonal, in two parts; 0: none */
};
struct norm_case {
    int segments, first, rows, width;
    enum norm_kind kind;
    int shift, accumulate;
    double mean; /* added to x: a large mean against a small spread */
    double epsilon; /* 0: 1e-5 */
    enum {
        VECTORS_FULL,
        VECTORS_ONE,
        VECTORS_NONE
    } vectors; /* scale and shift: [width], [1], or no scale */
};
struct heads_case {
    int segments, first, rows, heads, head_size, width;
    enum norm_kind kind;
    int shift, alias; /* alias: dx is dy */
    int each; /* 1: parameters of each head */
};
struct clip_case {
    int segments, first, rows, width;
    double limit; /* x is below 2 in size */
};
struct activation_case {
    int segments, first, rows, width;
    enum activation kind;
    int gated, alias; /* alias: a is up, d_up is da */
    double size; /* inputs are below 2 size */
};
struct xielu_case {
    int segments, first, rows, width;
    int alias; /* y is x, dx is dy */
    double size; /* inputs are below 2 size */
    struct xielu numbers;
};
/* embed, rotate (forward, and forward then back), row_norms, tail and tail_reverse */
struct rows_case {
    int segments, first, rows, positions, heads, head_size, rotary_size;
    enum rotary_pairing pairing;
    int position_rows;
    int tables_bf16; /* bit 0: embed's table of tokens is stored in bf16; bit 1: that of positions
                      */
    int rotary_first; /* the first rotated dimension */
};
struct head_case {
    int segments, first, width, vocabulary, bias;
    double soft_cap, seed, size;
};
struct head_rows_case {
    int segments, first, rows, width, vocabulary, bias;
    double soft_cap, size;
};
struct copy_case {
    int segments, first, rows, width;
    enum buffer_role y, x;
};
struct join_case {
    int segments, first, before, behind, width; /* rows of the two */
};
struct join_keys_case {
    int segments, first, rows, heads, head_size, shared, value_size;
};
/* recur and recur_reverse */
struct recurrence_case {
    int segments, first, keys, queries, heads, key_heads, key_size, value_size, delta;
    int states; /* 0: none, with one query; 1: they are kept */
    double decay; /* the mean of -l; INFINITY: 0 and what leaves nothing, by row */
    double scale;
    double size; /* queries and keys are below 2 size; 0: 1 */
    int by_channel;
};
/* gate and gate_reverse */
struct gating_case {
    int segments, first, rows, heads, bias, alias; /* alias: d_raw is d_gates */
    double low, high, write;
    double size; /* raw is below 2 size */
};
/* scan and scan_reverse */
struct scan_case {
    int segments, first, keys, queries, channels, size, selective;
    int plain; /* 1: B, C and rates are 1, without a skip */
    double decay; /* rates are below twice this */
    double time; /* steps are below 2 time; selective: below it by 2 at most */
    int groups; /* 0: 1 */
};
/* wkv and wkv_reverse */
struct wkv_case {
    int segments, first, rows, queries, channels;
    double decay; /* rates are below twice this */
    double size; /* k and the exponent of a row's own are below 2 size */
};
/* gate_channels and gate_channels_reverse */
struct channel_gating_case {
    int segments, first, rows, heads, key_size, bias;
    double write, floor;
    double size; /* a and b are below 2 size */
};
/* lru and lru_reverse */
struct lru_case {
    int segments, first, rows, width, before;
    double size; /* r and i are below 2 size */
    double rates; /* below 3 times this */
};
/* convolve and convolve_reverse */
struct convolution_case {
    int segments, first, keys, queries, width, reach, bias, gated;
};
struct route_case {
    int segments, first, rows;
    struct routing routing;
    int corrected, ties; /* ties: logits are whole numbers */
    double size; /* logits are below 2 size */
};
/* gather, combine and weigh_reverse */
struct mix_case {
    int segments, first, rows, each, width;
    enum buffer_role role; /* of what is combined */
    int accumulate, plain; /* plain: no index, no weights */
};
struct runs_case {
    int segments, first, rows, in, out, bias, accumulate;
    int one; /* a segment is one run, and all of one matrix */
};
enum bias_kind {
    BIAS_NONE,
    BIAS_RANDOM,
    BIAS_GENTLE,
    BIAS_STEEP,
    BIAS_HOLES,
    BIAS_HEAD_MASKED,
    BIAS_CUT,
    BIAS_FAR
};
struct attention_case {
    int segments, first, heads, kv_heads, head_size, positions, keys, queries;
    int window; /* -c: chunks of c instead */
    enum bias_kind bias;
    int multiplier, key_bias; /* key_bias 2: with -inf entries */
    double soft_cap, size; /* q, k below 2 size */
    double d_o; /* factor on the output's gradient, a power of two; 0: one everywhere */
    int keep; /* first keys that are seen whatever the window */
    double sinks; /* scores beside those of the keys lie below 2 sinks in size; 0: there are none */
    int value_size; /* 0: head_size */
};

/* The window and the chunk of a case; and whether, by them, its query at key `own` (counted within
 * the task) sees key j. */
int case_window(const struct attention_case *c);
int case_chunk(const struct attention_case *c);
int case_sees(const struct attention_case *c, int own, int j);

/* 1: a processor's set whose attention rounds factors to bf16, by instructions for it. */
int rounds_attention(const struct kernels *k);

/* Each runs forward and reverse on set k. With `bounds`, k must be the f64 reference. A set's error
 * fails the test. */
struct outputs run_linear(struct kernels *k, const struct linear_case *c, int bounds); /* y, dx */
struct outputs run_norm(struct kernels *k, const struct norm_case *c,
                        int bounds); /* y, statistics, dx */
struct outputs run_norm_heads(struct kernels *k, const struct heads_case *c,
                              int bounds); /* y, statistics, dx */
struct outputs run_clip(struct kernels *k, const struct clip_case *c, int bounds); /* x, dx */
struct outputs run_activation(struct kernels *k, const struct activation_case *c,
                              int bounds); /* a, d_up, d_gate */
struct outputs run_xielu(struct kernels *k, const struct xielu_case *c, int bounds); /* y, dx */
struct outputs run_embed(struct kernels *k, const struct rows_case *c, int bounds); /* x */
struct outputs run_rotate(struct kernels *k, const struct rows_case *c,
                          int bounds); /* turned, back */
struct outputs run_scale_queries(struct kernels *k, const struct rows_case *c,
                                 int bounds); /* scaled */
struct outputs run_moves(struct kernels *k, const struct rows_case *c,
                         int bounds); /* norms, tail, tail_reverse */
struct outputs run_row_norms(struct kernels *k, const struct rows_case *c,
                             int bounds); /* norms, of activations */
struct outputs run_copy(struct kernels *k, const struct copy_case *c, int bounds); /* copy, add */
struct outputs run_head(struct kernels *k, const struct head_case *c, int bounds); /* dx, logprob */
struct outputs run_head_rows(struct kernels *k, const struct head_rows_case *c,
                             int bounds); /* logprob */
struct outputs run_join(struct kernels *k, const struct join_case *c, int bounds); /* joined */
struct outputs run_join_keys(struct kernels *k, const struct join_keys_case *c,
                             int bounds); /* kv, d_own, d_shared */
struct outputs run_recurrence(struct kernels *k, const struct recurrence_case *c,
                              int bounds); /* o, d_qkv, d_gates */
struct outputs run_scan(struct kernels *k, const struct scan_case *c, int bounds);
struct outputs run_lru(struct kernels *k, const struct lru_case *c,
                       int bounds); /* steps, y, d_x, d_raw */
struct outputs run_wkv(struct kernels *k, const struct wkv_case *c, int bounds);
struct outputs run_gating(struct kernels *k, const struct gating_case *c,
                          int bounds); /* gates, d_raw */
struct outputs run_channel_gating(struct kernels *k, const struct channel_gating_case *c,
                                  int bounds); /* gates, d_a, d_b */
struct outputs run_convolution(struct kernels *k, const struct convolution_case *c,
                               int bounds); /* y, dx */
struct outputs run_route(struct kernels *k, const struct route_case *c,
                         int bounds); /* weights, d_logits, choice */
struct outputs run_mix(struct kernels *k, const struct mix_case *c,
                       int bounds); /* gathered, by role too, combined, d_weights, dx */
struct outputs run_runs(struct kernels *k, const struct runs_case *c, int bounds); /* y, dx */
struct outputs run_attention(struct kernels *k, const struct attention_case *c,
                             int bounds); /* o, lse, dq, dkv */

/* The tables of an attention case, [heads, positions]; NULL when it has none. Caller frees. */
double *attention_bias(const struct attention_case *c);
double *attention_multiplier(const struct attention_case *c);
double *attention_key_bias(const struct attention_case *c);
/* The sinks of a case, [heads]: NULL when it has none. Caller frees. */
double *attention_sinks(const struct attention_case *c);
struct weight *sinks_of(struct kernels *k, const double *sinks, int heads); /* NULL for NULL */

/* n values scale * (m 2^-23), |m| < 2^24, the same for the same seed everywhere
 * (tests/goldens/kernels/make.py has the same). Caller frees. */
double *random_values(size_t n, unsigned seed, double scale);
/* [segments, each]: segment s has the values of seed + 1000 (first + s). */
double *random_segments(int segments, int first, size_t each, unsigned seed, double scale);

/* Buffers and weights from doubles; they fail the test when they cannot be had. */
struct buffer *buffer_new(struct kernels *k, enum buffer_role role, size_t count);
struct buffer *buffer_of(struct kernels *k, enum buffer_role role, const double *values,
                         size_t count);
struct buffer *index_of(struct kernels *k, const int32_t *values, size_t count);
/* A view of dense doubles, which must live as long as the weight. */
/* The values cut to bf16. Caller frees. */
uint16_t *upper_halves(const double *values, size_t n);
struct weight *weight_of(struct kernels *k, enum weight_use use, const double *values, size_t rows,
                         size_t columns);
/* malloc that fails the test. */
void *allocate(size_t bytes);

/* Shared by kernel_run.c and the files of its operations. */
/* Reads the buffer's first segments * each elements into the next output, destroys the buffer, and
 * returns the output. */
struct output *kernel_collect(struct outputs *o, struct kernels *k, const char *name,
                              struct buffer *b, size_t each, int bounds);
/* Of `halves` where there are any. A set may read from both as long as the table is there. */
struct weight *kernel_table_of(struct kernels *k, const double *values, const uint16_t *halves,
                               size_t rows, size_t columns);
double kernel_largest(const double *x, size_t n);

#endif
