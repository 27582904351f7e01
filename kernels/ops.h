/* The table of operations that forward and reverse are made of.
 *
 * A kernel set (reference in float or double, cpu, cuda) fills one `struct kernels`. Callers see opaque buffers and enqueue
 * operations in order; an operation may run later, up to `synchronize`. Operations do not fail: what goes wrong is kept and
 * reported by the next create, load or synchronize. Shapes are row-major; `R x W` means rows times width.
 *
 * Rows. Activations hold `rows.count` rows for each of `rows.segments` segments, one segment after the other: always the LAST
 * `count` of the segment's `positions` positions, so row r of a segment stands for position positions - count + r (from 0). A
 * block may need fewer rows at its output than at its input (the last block needs one; a windowed model a cone): queries <= keys
 * below.
 *
 * Every operation gives the same bytes for a segment whatever the number of segments, threads or runs. Inputs and outputs do not
 * overlap unless said. `accumulate` adds to what is there, otherwise the output is overwritten. */
#ifndef REACH_KERNELS_OPS_H
#define REACH_KERNELS_OPS_H

#include "io/element.h"
#include "io/error.h"

#include <stddef.h>
#include <stdint.h>

struct buffer; /* memory of a set */
struct weight; /* a parameter tensor in the set's own form */
struct attention; /* shape, scale, position tables of one kind of attention layer */
struct reading; /* values on their way to the host */

/* What a buffer is for; a set chooses the element type of each role. */
enum buffer_role {
    ROLE_ACTIVATION, /* inputs and outputs of matrix products */
    ROLE_RESIDUAL, /* the residual stream and its gradient */
    ROLE_STATISTIC, /* norm statistics, log-sum-exp, row norms, log p */
    ROLE_INDEX, /* token ids */
    ROLE_COUNT
};

/* RMS: x / sqrt(mean x^2 + epsilon). RMS_OUTSIDE: x / (sqrt(mean x^2) + epsilon), older GPT-NeoX code. LENGTH: x / max(||x||,
 * epsilon), "scalenorm". The statistics of all but LAYER are 0 and the factor on x. */
enum norm_kind { NORM_LAYER, NORM_RMS, NORM_RMS_OUTSIDE, NORM_LENGTH };

/* GELU_BLOOM is GELU_TANH with sqrt(2 / pi) cut to 0.79788456, as that family's code has it: the same in float, not in double. */
enum activation {
    ACTIVATION_GELU,
    ACTIVATION_GELU_TANH,
    ACTIVATION_QUICK_GELU,
    ACTIVATION_RELU,
    ACTIVATION_SILU,
    ACTIVATION_GELU_BLOOM
};

enum rotary_pairing { PAIRING_HALF, PAIRING_INTERLEAVED };

struct rows {
    int segments, count;
};

/* A strided view of a stored tensor, read as a matrix of groups * rows rows: row g * rows + r, column c is
 * data[g * group_stride + r * row_stride + c * column_stride] + offset (strides in elements). */
struct weight_part {
    const void *data;
    enum element type;
    size_t groups, rows, columns;
    size_t group_stride, row_stride, column_stride;
    double offset;
};

/* How a weight will be used; a set may keep it in the file's memory where that serves (the caller keeps the file mapped until
 * weight_free). */
enum weight_use {
    WEIGHT_MATRIX, /* linear */
    WEIGHT_VECTOR, /* biases, norm weights: columns = 1 */
    WEIGHT_TABLE /* rows are gathered, or read once a segment: embedding, positions, head */
};

struct norm {
    enum norm_kind kind;
    double epsilon;
    const struct weight *scale, *shift; /* [width]; either may be NULL: 1, 0. [1] stands for the same value everywhere */
};

/* Attention of one layer. z = scale q.k; z = soft_cap tanh(z / soft_cap) if soft_cap > 0; z = z multiplier[h,t] + bias[h,t] +
 * key_bias[h,j]; masked (p = 0) for t < 0, for t >= window if window > 0, and where the bias is -inf; t = i - j. Query head h
 * reads kv head floor(h kv_heads / heads). */
struct attention_shape {
    int heads, kv_heads, head_size; /* head_size 1..256 */
    int positions; /* n: inputs of a segment */
    int window; /* 0: none */
    double scale, soft_cap; /* soft_cap 0: none */
    const double *bias; /* [heads, positions] by distance, or NULL */
    const double *multiplier; /* [heads, positions] by distance, or NULL */
    const double *key_bias; /* [heads, positions] by key position, or NULL */
    int rotary_size; /* leading dimensions of a head that are rotated, even; 0: none */
    enum rotary_pairing pairing;
    const double *cosine, *sine; /* [positions, rotary_size / 2] */
};

struct kernels {
    char name[64]; /* "reference", "cpu (AVX2, oneDNN 2.6.3)" */
    char dtype[8]; /* "f32", "f64", "tf32", "bf16" */
    size_t role_size[ROLE_COUNT]; /* bytes of an element */
    int workers; /* things done at once (threads); the plan batches segments to keep them busy. 0 counts as 1 */
    int prefetches; /* 1: weight_load returns while the data is still on its way. Weights that come and go by layer then hide
                     * behind the computing: load the next block before weight_free of the last one, without synchronize between
                     * them (two blocks at once in memory) */
    void *state;

    /* -- memory -- */
    /* `count` elements, contents undefined; NULL with *e on failure. The caller destroys. */
    struct buffer *(*create)(struct kernels *k, enum buffer_role role, size_t count, struct error *e);
    void (*destroy)(struct kernels *k, struct buffer *b); /* NULL is allowed */
    /* Host to buffer and back. ROLE_INDEX buffers take write_index only. write and read synchronize; write_index has taken the
     * values when it returns. */
    void (*write)(struct kernels *k, struct buffer *b, size_t at, const double *values, size_t count);
    void (*read)(struct kernels *k, double *values, const struct buffer *b, size_t at, size_t count);
    void (*write_index)(struct kernels *k, struct buffer *b, size_t at, const int32_t *values, size_t count);
    /* read in two steps, so that the host can enqueue more while these values are made: read_begin enqueues a copy of what is
     * enqueued up to now; read_end waits for that alone and ends the reading, with the values (NULL: for nobody), or with -1 and
     * the first thing that went wrong since an error was last taken. Readings are ended before their set is closed. Both NULL in
     * a set whose operations are done when they return. */
    struct reading *(*read_begin)(struct kernels *k, const struct buffer *b, size_t at, size_t count, struct error *e);
    int (*read_end)(struct kernels *k, double *values, struct reading *r, struct error *e);
    /* Waits for all that was enqueued; -1 with the first thing that went wrong since the last call. */
    int (*synchronize)(struct kernels *k, struct error *e);
    /* Bytes of scratch the set itself needs at most for these rows and this attention (for the memory plan). */
    size_t (*scratch_bytes)(struct kernels *k, const struct attention_shape *shape, struct rows rows);
    /* Bytes of the set's memory that nobody uses, for the plan's budget; NULL: ordinary memory. */
    size_t (*memory_free)(struct kernels *k);
    /* Frees the set. */
    void (*close)(struct kernels *k);

    /* -- parameters -- */
    /* A matrix [sum of groups*rows, columns] from parts stacked in order. */
    struct weight *(*weight_load)(struct kernels *k, enum weight_use use, const struct weight_part *parts, int part_count,
                                  struct error *e);
    void (*weight_free)(struct kernels *k, struct weight *w);
    /* Bytes of the set's own memory that weight_load would take (0 when it is used where it lies). */
    size_t (*weight_bytes)(struct kernels *k, enum weight_use use, const struct weight_part *parts, int part_count);
    /* Copies what it needs of `shape`. */
    struct attention *(*attention_create)(struct kernels *k, const struct attention_shape *shape, struct error *e);
    void (*attention_free)(struct kernels *k, struct attention *a);

    /* -- forward and reverse -- */
    /* x[R, width] = scale * table[tokens[r], :] + positions[position of r, :]. tokens [R] is ROLE_INDEX, x ROLE_RESIDUAL;
     * position_rows [>= position_count, width] or NULL. */
    void (*embed)(struct kernels *k, struct buffer *x, const struct buffer *tokens, const struct weight *table, double scale,
                  const struct weight *position_rows, int position_count, struct rows rows, int width);
    /* y[R, W] = norm(x[R, W]); statistics [R, 2] = mean (0 for all but LAYER), factor on x - mean. x ROLE_RESIDUAL, y either;
     * y may be NULL (statistics only). */
    void (*norm)(struct kernels *k, struct buffer *y, struct buffer *statistics, const struct buffer *x, const struct norm *norm,
                 struct rows rows, int width);
    /* dx (+)= (d norm / d x)^T dy. dx ROLE_RESIDUAL, dy either. */
    void (*norm_reverse)(struct kernels *k, struct buffer *dx, const struct buffer *dy, const struct buffer *x,
                         const struct buffer *statistics, const struct norm *norm, struct rows rows, int width, int accumulate);
    /* The norm of every head by itself: of the first `heads` slices of head_size of every row of x[R, width]; y likewise (its
     * other columns keep what they hold); norm's parameters are [head_size]; statistics [R, heads, 2]. x, y ROLE_ACTIVATION; y is
     * not x. */
    void (*norm_heads)(struct kernels *k, struct buffer *y, struct buffer *statistics, const struct buffer *x,
                       const struct norm *norm, struct rows rows, int heads, int head_size, int width);
    /* dx = (d norm_heads / d x)^T dy over the same slices; dx may be dy. */
    void (*norm_heads_reverse)(struct kernels *k, struct buffer *dx, const struct buffer *dy, const struct buffer *x,
                               const struct buffer *statistics, const struct norm *norm, struct rows rows, int heads,
                               int head_size, int width);
    /* x[R, width] clamped to [-limit, limit], in place; and its reverse: dx = 0 where the clamped x stands at a limit. */
    void (*clip)(struct kernels *k, struct buffer *x, double limit, struct rows rows, int width);
    void (*clip_reverse)(struct kernels *k, struct buffer *dx, const struct buffer *x, double limit, struct rows rows, int width);
    /* y[R, out] (+)= x[R, in] w^T + bias; w [out, in], bias [out] or NULL. y ROLE_ACTIVATION, or ROLE_RESIDUAL. */
    void (*linear)(struct kernels *k, struct buffer *y, const struct buffer *x, const struct weight *w, const struct weight *bias,
                   struct rows rows, int accumulate);
    /* dx[R, in] (+)= dy[R, out] w. dx and dy: either role. */
    void (*linear_reverse)(struct kernels *k, struct buffer *dx, const struct buffer *dy, const struct weight *w,
                           struct rows rows, int accumulate);
    /* a[R, W] = act(up), or act(gate) * up. a may be up. */
    void (*activate)(struct kernels *k, struct buffer *a, const struct buffer *up, const struct buffer *gate,
                     enum activation kind, struct rows rows, int width);
    /* d_up (and d_gate when gated) from da; d_up may be da. */
    void (*activate_reverse)(struct kernels *k, struct buffer *d_up, struct buffer *d_gate, const struct buffer *da,
                             const struct buffer *up, const struct buffer *gate, enum activation kind, struct rows rows,
                             int width);
    /* Rotates the first rotary_size dimensions of each of the first `heads` heads of every row of x[R, width], in place, by the
     * angle of the row's position; direction +1 forward, -1 reverse (the transpose). */
    void (*rotate)(struct kernels *k, struct buffer *x, const struct attention *a, struct rows rows, int heads, int width,
                   int direction);
    /* o[segments*queries, heads*head_size]; lse[segments, heads, queries] = log sum exp of the scores.
     * q [segments*queries, heads*head_size], kv [segments*keys, 2, kv_heads*head_size] (keys, then values); rotation already
     * applied. Queries are the last `queries` positions, keys the last `keys`; queries <= keys <= positions. Rows whose keys are
     * all masked give o = 0. */
    void (*attention)(struct kernels *k, struct buffer *o, struct buffer *lse, const struct buffer *q, const struct buffer *kv,
                      const struct attention *a, int segments, int queries, int keys);
    /* dq and dkv (overwritten, like q and kv) from do. */
    void (*attention_reverse)(struct kernels *k, struct buffer *dq, struct buffer *dkv, const struct buffer *d_o,
                              const struct buffer *q, const struct buffer *kv, const struct buffer *o, const struct buffer *lse,
                              const struct attention *a, int segments, int queries, int keys);
    /* What the last `counted` queries pay attention to: mass[segments, heads, keys] = the sum over them of p(i, i - t) at
     * distance t = 0 .. keys - 1, summed in double; 0 at distances that no query sees. mass ROLE_STATISTIC; the others as
     * `attention` took and left them. NULL in a set without it. */
    void (*attention_mass)(struct kernels *k, struct buffer *mass, const struct buffer *q, const struct buffer *kv,
                           const struct buffer *lse, const struct attention *a, int segments, int queries, int keys, int counted);
    /* y[R, W] = x[R, W], and y[R, W] += x[R, W]. The roles may differ. */
    void (*copy)(struct kernels *k, struct buffer *y, const struct buffer *x, struct rows rows, int width);
    void (*add)(struct kernels *k, struct buffer *y, const struct buffer *x, struct rows rows, int width);
    /* dst[segments*to, W] = the last `to` rows of each segment's `from` rows of src. The roles may differ. */
    void (*tail)(struct kernels *k, struct buffer *dst, const struct buffer *src, int segments, int to, int from, int width);
    /* The reverse of tail: dst[segments*from, W]: its last `to` rows a segment += src[segments*to, W]. The roles may differ. */
    void (*tail_reverse)(struct kernels *k, struct buffer *dst, const struct buffer *src, int segments, int to, int from,
                         int width);
    /* dst[segments*(first + second), W]: of each segment the `first` rows (0 or more) of a, then the `second` rows of b. All
     * three of one role. */
    void (*join)(struct kernels *k, struct buffer *dst, const struct buffer *a, const struct buffer *b, int segments, int first,
                 int second, int width);
    /* The head on one row a segment: logits = x w^T + bias, soft-capped if soft_cap > 0; logprob[segments] = log
     * softmax(logits)[target]; dx[segments, width] = seed * d logprob / d x. x, dx ROLE_ACTIVATION; targets [segments]
     * ROLE_INDEX; logprob ROLE_STATISTIC. */
    void (*head)(struct kernels *k, struct buffer *dx, struct buffer *logprob, const struct buffer *x, const struct weight *w,
                 const struct weight *bias, const struct buffer *targets, double soft_cap, double seed, int segments, int width);
    /* The head on every row, without gradient: logits = x w^T + bias, soft-capped if soft_cap > 0; logprob[R] = log
     * softmax(logits)[target]. Logits are made and dropped in blocks: the array R x vocabulary is never stored. x [R, width]
     * ROLE_ACTIVATION; targets [R] ROLE_INDEX; logprob [R] ROLE_STATISTIC. */
    void (*head_rows)(struct kernels *k, struct buffer *logprob, const struct buffer *x, const struct weight *w,
                      const struct weight *bias, const struct buffer *targets, double soft_cap, struct rows rows, int width);
    /* norms[R] = factor * ||dx[r, :]||_2, summed in double; norms ROLE_STATISTIC. */
    void (*row_norms)(struct kernels *k, struct buffer *norms, const struct buffer *dx, double factor, struct rows rows,
                      int width);
};

/* The sets of this build, best last. */
struct kernel_set_entry {
    const char *name; /* for REACH_KERNELS */
    const char *dtype;
    const char *summary;
    int (*usable)(void); /* 0: this machine cannot run it */
    struct kernels *(*open)(struct error *e);
};
extern const struct kernel_set_entry kernel_sets[];
extern const int kernel_set_count;

/* Opens the set for a dtype ("f32", "f64", "tf32", "bf16"): the best usable one, or the one that the environment variable
 * REACH_KERNELS names. NULL on failure. */
struct kernels *kernels_open(const char *dtype, struct error *e) MUST_USE;
/* The same on a device: "cpu", "cuda" (the first GPU), "cuda:N", or "auto": a GPU if there is one, else the processor; then *note
 * is one line that says why when a plug-in was there and found none (else empty). NULL on failure. */
struct kernels *kernels_open_on(const char *device, const char *dtype, struct error *note, struct error *e) MUST_USE;
/* 0 if a device of this kind and the dtype go together and are here, without opening anything; else -1. */
int kernels_available(const char *device, const char *dtype, struct error *e) MUST_USE;
/* Compares a matrix product of the set, forward and reverse, with plain loops (some milliseconds); -1 when they differ. Before a
 * run, once all about threads is settled. */
int kernels_check(struct kernels *k, struct error *e) MUST_USE;

#endif
