/* The table of operations for forward and reverse.
 *
 * A kernel set (reference in float or double, cpu, cuda) fills one `struct kernels`. Callers see
 * opaque buffers and enqueue operations in order; an operation may run later, up to `synchronize`.
 * Operations do not fail: what goes wrong is kept and reported by the next create, load or
 * synchronize.
 *
 * Rows. Activations hold `rows.count` rows for each of `rows.segments` segments, one segment after
 * the other: always the LAST `count` of the segment's `positions` positions, so row r of a segment
 * stands for position positions - count + r (from 0). A block may need fewer rows at its output
 * than at its input (the last block needs one; a windowed model a cone): queries <= keys below.
 *
 * Arguments come in one order: outputs; inputs; parameters (weights, norms, attention); numbers;
 * how many rows, how wide; flags. x is the input and y the output, dx and dy their
 * gradients. Shapes are row-major; [R, W] means rows times width, R being segments times count.
 * Inputs and outputs do not overlap unless said. `accumulate` adds to what is there, otherwise the
 * output is overwritten. Buffers are of ROLE_ACTIVATION unless said. Logarithms are natural.
 *
 * Every operation gives the same bytes for a segment whatever the number of segments, threads or
 * runs. */
#ifndef REACH_KERNELS_OPS_H
#define REACH_KERNELS_OPS_H

#include "io/element.h"
#include "io/error.h"
#include "kernels/mixers.h"

#include <stddef.h>
#include <stdint.h>

/* -- what operations work on -- */

struct buffer; /* memory of a set */
struct weight; /* a parameter tensor in the set's own form */
struct attention; /* shape, scale, position tables of one kind of attention layer */
struct reading; /* values being copied to the host */

/* The purpose of a buffer; a set chooses the element type of each role. */
enum buffer_role {
    ROLE_ACTIVATION, /* inputs and outputs of matrix products */
    ROLE_RESIDUAL, /* the residual stream and its gradient */
    ROLE_STATISTIC, /* norm statistics, log-sum-exp, row norms, log p */
    ROLE_INDEX, /* token ids */
    ROLE_COUNT
};

struct rows {
    int segments, count;
};

/* The head's part of the memory plan: its matrix [vocabulary, width]; targets per segment, or 0. */
struct head_shape {
    size_t vocabulary, width;
    int targets;
};

/* A strided view of a stored tensor, read as a matrix of groups * rows rows: row g * rows + r,
 * column c is data[g * group_stride + r * row_stride + c * column_stride] * factors[g * rows + r] +
 * offset (strides in elements; for GGUF's quantised types rows begin with a block, and
 * column_stride is 1). For types with scales `data` is the tensor's, and `first` is the element
 * where it would begin; for all others `first` is 0. `diagonal`: groups are blocks on the diagonal
 * of a matrix that is zero elsewhere: row g * rows + r has numbers in the g-th of `groups` equal
 * parts of the columns alone, of which c counts from the first. */
struct weight_part {
    const void *data;
    enum element type;
    size_t groups, rows, columns;
    size_t group_stride, row_stride, column_stride;
    double offset;
    size_t first;
    const double *factors; /* NULL: 1 for every row */
    int diagonal; /* 1: as said, without factors and offset; groups divides columns */
};

/* The use of a weight; a set may leave it in the file's memory if possible (the caller keeps the
 * file mapped until weight_free). */
enum weight_use {
    WEIGHT_MATRIX, /* linear */
    WEIGHT_VECTOR, /* biases, norm weights: columns = 1 */
    WEIGHT_TABLE /* rows are gathered, or read once per segment: embedding, positions, head */
};

/* LAYER (Ba, Kiros, Hinton 2016): (x - mean x) / sqrt(var x + epsilon). RMS (Zhang, Sennrich 2019):
 * x / sqrt(mean x^2 + epsilon). RMS_OUTSIDE: x / (sqrt(mean x^2) + epsilon), older GPT-NeoX code.
 * LENGTH (Nguyen, Salazar 2019, "scalenorm"): x / max(||x||, epsilon). */
enum norm_kind { NORM_LAYER, NORM_RMS, NORM_RMS_OUTSIDE, NORM_LENGTH };

struct norm {
    enum norm_kind kind;
    double epsilon;
    const struct weight *scale,
        *shift; /* [width]; either may be NULL: 1, 0. [1]: one value everywhere */
};

/* GELU (Hendrycks, Gimpel 2016): x Phi(x); its tanh form; QUICK_GELU: x sigma(1.702 x). GELU_BLOOM
 * is GELU_TANH with sqrt(2 / pi) cut to 0.79788456, as in that family's code: the same in float,
 * not in double. SILU: x sigma(x). RELU_SQUARED: max(x, 0)^2. CLAMPED: x' sigma(1.702 x') with x' =
 * min(x, ACTIVATION_LIMIT); if gated, multiplied by 1 + up clamped to +-ACTIVATION_LIMIT. SIGMOID:
 * sigma(x), of gates. */
enum activation {
    ACTIVATION_GELU,
    ACTIVATION_GELU_TANH,
    ACTIVATION_QUICK_GELU,
    ACTIVATION_RELU,
    ACTIVATION_SILU,
    ACTIVATION_GELU_BLOOM,
    ACTIVATION_RELU_SQUARED,
    ACTIVATION_CLAMPED,
    ACTIVATION_TANH,
    ACTIVATION_SIGMOID
};
#define ACTIVATION_LIMIT 7.0f

/* xIELU (Huang, Schlag 2024), with numbers of its own in each layer: positive x^2 + linear x for x
 * > 0, else negative (e^min(x, limit) - 1 - x) + linear x, with a limit just below 0. */
struct xielu {
    double positive, negative, linear, limit;
};

/* Pair p of the rotated dimensions of a head: (p, p + rotary_size / 2), or (2 p, 2 p + 1). */
enum rotary_pairing { PAIRING_HALF, PAIRING_INTERLEAVED };

enum { HEAD_SIZE_MOST = 512 };

/* Attention of one layer (Vaswani et al. 2017, with later additions): z = scale q.k; z = soft_cap
 * tanh(z / soft_cap) if soft_cap > 0; z = z multiplier[h,t] + bias[h,t] + key_bias[h,j]; masked (p
 * = 0) for t < 0, for t >= window if window > 0 unless j < keep (positions from 0), for floor(j /
 * chunk) < floor(i / chunk) if chunk > 0, and where the bias is -inf; t = i - j. Query head h reads
 * kv head floor(h kv_heads / heads). */
struct attention_shape {
    int heads, kv_heads, head_size; /* head_size of queries and keys, 1..HEAD_SIZE_MOST */
    int value_size; /* of a head's values and its output, 1..HEAD_SIZE_MOST; 0: head_size */
    int positions; /* n: inputs of a segment */
    int window; /* in positions; 0: none */
    int keep; /* keys of the segment's first positions that are always seen; 0: none */
    int chunk; /* in positions, without a window; 0: none */
    double scale, soft_cap; /* soft_cap 0: none */
    const double *bias; /* [heads, positions] by distance, or NULL */
    const double *multiplier; /* [heads, positions] by distance, or NULL */
    const double *key_bias; /* [heads, positions] by key position, or NULL */
    int rotary_size, rotary_first; /* the dimensions of a head that are rotated, an even number, and
                                      the first of them; 0: none */
    enum rotary_pairing pairing;
    const double *cosine, *sine; /* [positions, rotary_size / 2] of the angles */
    const double *query_factor; /* [positions], for scale_queries, or NULL */
};
/* The first key that a query at a position (both from 0) sees by its chunk; 0 without chunks. */
static inline int attention_chunk_begin(int position, int chunk)
{
    return chunk > 0 ? position - position % chunk : 0;
}
/* Numbers of a row of o, and of kv. */
static inline int attention_value_size(const struct attention_shape *s)
{
    return s->value_size ? s->value_size : s->head_size;
}
static inline int attention_o_width(const struct attention_shape *s)
{
    return s->heads * attention_value_size(s);
}
static inline int attention_kv_width(const struct attention_shape *s)
{
    return s->kv_heads * (s->head_size + attention_value_size(s));
}

/* How a row chooses among experts. Scores s = softmax(logits) or sigma(logits), over all experts
 * (Shazeer et al. 2017); those with the largest s + correction are chosen, the lower number first
 * if two are equal. With groups > 1 (DeepSeek-AI 2024), each of experts / groups neighbours, only
 * experts in the chosen_groups groups with the largest sums of their two largest s + correction, or
 * with group_largest those with the largest one.
 * Weights of the chosen: factor s, or if normalised factor s / (floor + sum of the chosen s).
 *
 * SPARSEMIXER (Liu, Gao, Chen 2023; Liu et al. 2024), without its noise: two are chosen, by their
 * logits z, without groups or correction. The weight of the first is factor times its softmax over
 * all experts near it, that of the second the same over all except the first; near the chosen c are
 * those with (z_c - z) / max(|z|, z_c) <= tolerance. */
enum scoring { SCORING_SOFTMAX, SCORING_SIGMOID, SCORING_SPARSEMIXER };
struct routing {
    int experts, chosen; /* 1..EXPERTS_MOST, 1..experts */
    enum scoring scoring;
    int groups, chosen_groups; /* if sums of several groups count, each has at least two experts */
    int group_largest;
    int normalised;
    double factor, floor; /* floor: only for SCORING_SIGMOID */
    double tolerance; /* only for SCORING_SPARSEMIXER */
};
enum { EXPERTS_MOST = 1024 };

/* Rows [first, first + count) of an array that use one matrix. */
struct run {
    size_t first;
    int count;
    const struct weight *weight, *bias; /* [out, in]; [out] or NULL */
};

/* What computes a kind of matrix product: none for that i; the library; the set's own kernel, if
 * the library has no algorithm. */
enum product_by { PRODUCT_NONE, PRODUCT_LIBRARY, PRODUCT_OWN };

struct kernels {
    char name[64]; /* "reference", "cpu (AVX2, oneDNN 2.6.3)" */
    char dtype[8]; /* "f32", "f64", "tf32", "bf16" (on a processor: the factors of `linear` and its
                      kin, and with bf16 instructions those of attention), "bf16x3" (those of
                      `linear` and its kin are sums of two such numbers) */
    size_t role_size[ROLE_COUNT]; /* bytes of an element */
    int workers; /* parallel workers (threads), kept busy by the plan's batches; 0 counts as 1 */
    int tile; /* rows of a task: a worker gets this many queries of a head, or this many rows and
                 columns of a product. 0: a head of a segment is one task */
    int prefetches; /* 1: weight_load returns while the data are in transfer, so that loading
                       weights layer by layer overlaps with computing: load the next block before
                       weight_free of the last one, without synchronize between them (two blocks at
                       once in memory) */
    void *state;

    /* -- memory -- */
    /* `count` elements, contents undefined; NULL with *e on failure. The caller destroys. */
    struct buffer *(*create)(struct kernels *k, enum buffer_role role, size_t count,
                             struct error *e);
    void (*destroy)(struct kernels *k, struct buffer *b); /* NULL is allowed */
    /* Makes `view` another name for the elements of b from the at-th on, until it is aimed
     * elsewhere. It was created for no elements, with the role of b, and is destroyed without them.
     * NULL: a set that cannot. */
    void (*aim)(struct kernels *k, struct buffer *view, const struct buffer *b, size_t at);
    /* Host to buffer and back. ROLE_INDEX buffers take write_index and read_index only. write, read
     * and read_index synchronize; write_index has taken the values when it returns. */
    void (*write)(struct kernels *k, struct buffer *b, size_t at, const double *values,
                  size_t count);
    void (*read)(struct kernels *k, double *values, const struct buffer *b, size_t at,
                 size_t count);
    void (*write_index)(struct kernels *k, struct buffer *b, size_t at, const int32_t *values,
                        size_t count);
    void (*read_index)(struct kernels *k, int32_t *values, const struct buffer *b, size_t at,
                       size_t count);
    /* read in two steps, so that the host can enqueue more meanwhile: read_begin enqueues a copy
     * after all operations so far; read_end waits only for that copy and ends the reading, with the
     * values (NULL: discarded), or with -1 and the first error since one was last taken. End all
     * readings before closing their set. Both are NULL in a set whose operations are complete when
     * they return. */
    struct reading *(*read_begin)(struct kernels *k, const struct buffer *b, size_t at,
                                  size_t count, struct error *e);
    int (*read_end)(struct kernels *k, double *values, struct reading *r, struct error *e);
    /* Waits for everything enqueued; -1 with the first error since the last call. */
    int (*synchronize)(struct kernels *k, struct error *e);
    /* The most scratch bytes the set needs for these rows, an attention over at most
     * shape->positions of them, and this head (for the memory plan). */
    size_t (*scratch_bytes)(struct kernels *k, const struct attention_shape *shape,
                            struct rows rows, struct head_shape head);
    /* Unused bytes of the set's memory, for the plan's budget; NULL: ordinary memory. */
    size_t (*memory_free)(struct kernels *k);
    /* Matrix products as run by a library: text for the i-th kind used (from 0), its shape and
     * algorithm. Returns what runs it, PRODUCT_NONE after the last. NULL: the set does not
     * choose. */
    enum product_by (*product_text)(struct kernels *k, int i, char *text, size_t size);
    /* Frees the set. */
    void (*close)(struct kernels *k);

    /* -- parameters -- */
    /* A matrix [sum of groups*rows, columns] from parts stacked in order. */
    struct weight *(*weight_load)(struct kernels *k, enum weight_use use,
                                  const struct weight_part *parts, int part_count, struct error *e);
    void (*weight_free)(struct kernels *k, struct weight *w);
    /* Bytes of the set's memory that weight_load would take (0: the weight is used in place). */
    size_t (*weight_bytes)(struct kernels *k, enum weight_use use, const struct weight_part *parts,
                           int part_count);
    /* Copies what it needs of `shape`. */
    struct attention *(*attention_create)(struct kernels *k, const struct attention_shape *shape,
                                          struct error *e);
    void (*attention_free)(struct kernels *k, struct attention *a);

    /* -- rows: the start and end of a pass, and steps between other operations -- */
    /* x[R, width] = scale * table[tokens[r], :] + position_table[position of r, :]. x
     * ROLE_RESIDUAL; tokens [R] ROLE_INDEX; table [vocabulary, width]; position_table [>=
     * position_count, width] or NULL, where position_count is the segment's positions. */
    void (*embed)(struct kernels *k, struct buffer *x, const struct buffer *tokens,
                  const struct weight *table, const struct weight *position_table,
                  int position_count, double scale, struct rows rows, int width);
    /* norms[R] = factor * ||x[r, :]||_2, summed in double. norms ROLE_STATISTIC; x either role. */
    void (*row_norms)(struct kernels *k, struct buffer *norms, const struct buffer *x,
                      double factor, struct rows rows, int width);
    /* y[R, width] = x[R, width], and y[R, width] += x[R, width]. x and y: either role each. */
    void (*copy)(struct kernels *k, struct buffer *y, const struct buffer *x, struct rows rows,
                 int width);
    void (*add)(struct kernels *k, struct buffer *y, const struct buffer *x, struct rows rows,
                int width);
    /* x[R, width] *= factor, in place; zeros for factor 0, whatever x held. x ROLE_RESIDUAL, or
     * ROLE_STATISTIC. */
    void (*scale)(struct kernels *k, struct buffer *x, double factor, struct rows rows, int width);
    /* y[segments*to, width] = the last `to` rows of each segment of x[segments*from, width]. Either
     * role each. */
    void (*tail)(struct kernels *k, struct buffer *y, const struct buffer *x, int segments, int to,
                 int from, int width);
    /* dx[segments*from, width]: the last `to` rows of each segment += dy[segments*to, width].
     * Either role each. */
    void (*tail_reverse)(struct kernels *k, struct buffer *dx, const struct buffer *dy,
                         int segments, int to, int from, int width);
    /* y[segments*(before + behind), width]: for each segment the `before` rows (0 or more) of
     * x_before, then the `behind` rows of x_behind. All three of one role. */
    void (*join)(struct kernels *k, struct buffer *y, const struct buffer *x_before,
                 const struct buffer *x_behind, int segments, int before, int behind, int width);
    /* x[R, width] clamped to [-limit, limit], in place. */
    void (*clip)(struct kernels *k, struct buffer *x, double limit, struct rows rows, int width);
    /* dx[R, width] = 0, in place, where the clamped x is at a limit. */
    void (*clip_reverse)(struct kernels *k, struct buffer *dx, const struct buffer *x, double limit,
                         struct rows rows, int width);

    /* -- norms -- */
    /* y[R, width] = norm(x[R, width]); statistics [R, 2] = mean (0 for all but LAYER), factor on x
     * - mean. x ROLE_RESIDUAL; y either role, or NULL (statistics only); statistics ROLE_STATISTIC.
     */
    void (*norm)(struct kernels *k, struct buffer *y, struct buffer *statistics,
                 const struct buffer *x, const struct norm *norm, struct rows rows, int width);
    /* dx[R, width] (+)= (d norm / d x)^T dy[R, width]. dx, x ROLE_RESIDUAL; dy either role. rounded
     * [R, width], ROLE_ACTIVATION, or NULL: gets the new dx in the type that products read. */
    void (*norm_reverse)(struct kernels *k, struct buffer *dx, struct buffer *rounded,
                         const struct buffer *dy, const struct buffer *x,
                         const struct buffer *statistics, const struct norm *norm, struct rows rows,
                         int width, int accumulate);
    /* The norm of every head separately: of the first `heads` slices of head_size of every row of
     * x[R, width]; y likewise (its other columns do not change; y is not x). norm's parameters are
     * [head_size], or [heads, head_size] if each head has its own; one head may be as wide as a
     * row. statistics [R, heads, 2]. */
    void (*norm_heads)(struct kernels *k, struct buffer *y, struct buffer *statistics,
                       const struct buffer *x, const struct norm *norm, struct rows rows, int heads,
                       int head_size, int width);
    /* dx = (d norm_heads / d x)^T dy over the same slices; dx may be dy. */
    void (*norm_heads_reverse)(struct kernels *k, struct buffer *dx, const struct buffer *dy,
                               const struct buffer *x, const struct buffer *statistics,
                               const struct norm *norm, struct rows rows, int heads, int head_size,
                               int width);

    /* -- matrix products and activations -- */
    /* y[R, out] (+)= x[R, in] w^T + bias; w [out, in], bias [out] or NULL. y either role. */
    void (*linear)(struct kernels *k, struct buffer *y, const struct buffer *x,
                   const struct weight *w, const struct weight *bias, struct rows rows,
                   int accumulate);
    /* y[R, out] = c[R, out] + x[R, in] w^T + bias: the same bytes as copying c and adding `linear`.
     * y ROLE_RESIDUAL, c either role. */
    void (*linear_add)(struct kernels *k, struct buffer *y, const struct buffer *c,
                       const struct buffer *x, const struct weight *w, const struct weight *bias,
                       struct rows rows);
    /* dx[R, in] (+)= dy[R, out] w. dx and dy: either role. */
    void (*linear_reverse)(struct kernels *k, struct buffer *dx, const struct buffer *dy,
                           const struct weight *w, struct rows rows, int accumulate);
    /* y[R, width] = act(up), or act(gate) * up (Shazeer 2020; CLAMPED: see there). gate NULL: none.
     * y may be up. */
    void (*activate)(struct kernels *k, struct buffer *y, const struct buffer *up,
                     const struct buffer *gate, enum activation kind, struct rows rows, int width);
    /* d_up (and d_gate when gated), all [R, width], from dy; d_up may be dy. */
    void (*activate_reverse)(struct kernels *k, struct buffer *d_up, struct buffer *d_gate,
                             const struct buffer *dy, const struct buffer *up,
                             const struct buffer *gate, enum activation kind, struct rows rows,
                             int width);
    /* y[R, width] = xIELU(x[R, width]); y may be x. */
    void (*xielu)(struct kernels *k, struct buffer *y, const struct buffer *x,
                  const struct xielu *numbers, struct rows rows, int width);
    /* dx[R, width] from dy; dx may be dy. */
    void (*xielu_reverse)(struct kernels *k, struct buffer *dx, const struct buffer *dy,
                          const struct buffer *x, const struct xielu *numbers, struct rows rows,
                          int width);

    /* -- experts: rows choose, are gathered by expert, multiplied, and combined -- */
    /* choice[R, chosen] = the experts of each row in ascending order, weights[R, chosen] theirs; a
     * NaN among a row's logits makes its weights NaN. choice ROLE_INDEX, or NULL if there is one
     * expert; weights and logits [R, experts] ROLE_RESIDUAL; correction [experts] or NULL. */
    void (*route)(struct kernels *k, struct buffer *choice, struct buffer *weights,
                  const struct buffer *logits, const struct weight *correction,
                  const struct routing *routing, struct rows rows);
    /* d_logits[R, experts] from d_weights[R, chosen], with the choice held constant. Both
     * ROLE_RESIDUAL. */
    void (*route_reverse)(struct kernels *k, struct buffer *d_logits,
                          const struct buffer *d_weights, const struct buffer *logits,
                          const struct buffer *choice, const struct routing *routing,
                          struct rows rows);
    /* y[count, width] = x[index[i] / each, width] for i < count. x and y: either role each. */
    void (*gather)(struct kernels *k, struct buffer *y, const struct buffer *x,
                   const struct buffer *index, size_t count, int each, int width);
    /* y[R, width] (+)= the sum over j < each, in that order, of weights[i] x[index[i], width] for i
     * = r each + j. weights ROLE_RESIDUAL or NULL: 1; index NULL: i. x and y: either role each. */
    void (*combine)(struct kernels *k, struct buffer *y, const struct buffer *x,
                    const struct buffer *index, const struct buffer *weights, struct rows rows,
                    int each, int width, int accumulate);
    /* d_weights[i] = dy[r, width] . x[index[i], width] for the same i. d_weights ROLE_RESIDUAL; dy
     * and x: either role each. */
    void (*combine_reverse)(struct kernels *k, struct buffer *d_weights, const struct buffer *dy,
                            const struct buffer *x, const struct buffer *index, struct rows rows,
                            int each, int width);
    /* For s < count and i = index[s], NULL: s: d_weights[i] = x[s, width] . dx[s, width], then
     * dx[s, width] *= weights[i]. d_weights and weights ROLE_RESIDUAL. */
    void (*weigh_reverse)(struct kernels *k, struct buffer *d_weights, struct buffer *dx,
                          const struct buffer *x, const struct buffer *index,
                          const struct buffer *weights, size_t count, int width);
    /* linear and linear_reverse for runs of rows, each with its own matrix; all of one shape. Rows
     * of no run do not change. A run gives the same bytes whatever the others are. `typical`: about
     * how many rows a run has, from the sizes of the model and of a segment alone. Once the call
     * returns only the runs' weights are still read. */
    void (*linear_runs)(struct kernels *k, struct buffer *y, const struct buffer *x,
                        const struct run *runs, size_t run_count, int typical, int accumulate);
    void (*linear_runs_reverse)(struct kernels *k, struct buffer *dx, const struct buffer *dy,
                                const struct run *runs, size_t run_count, int typical,
                                int accumulate);

    /* -- attention -- */
    /* Rotates (Su et al. 2021) rotary_size dimensions, from rotary_first on, of each of the first
     * `heads` heads of every row of x[R, width], in place, by the angle of the row's position;
     * direction +1 forward, -1 reverse (the transpose). */
    void (*rotate)(struct kernels *k, struct buffer *x, const struct attention *a, struct rows rows,
                   int heads, int width, int direction);
    /* q[R, width] *= query_factor of the row's position, in place; its own reverse. For an
     * attention with these factors. */
    void (*scale_queries)(struct kernels *k, struct buffer *q, const struct attention *a,
                          struct rows rows, int width);
    /* Keys of which all heads share the last `shared_size` dimensions (DeepSeek-AI 2024): kv[R] as
     * attention reads it, from own[R, kv_heads, head_size - shared_size + value_size], the rest of
     * each head's key and its value, and shared[R, shared_size]. */
    void (*join_keys)(struct kernels *k, struct buffer *kv, const struct buffer *own,
                      const struct buffer *shared, const struct attention *a, struct rows rows,
                      int shared_size);
    /* d_own and d_shared, a sum over the heads in their order, from dkv. */
    void (*join_keys_reverse)(struct kernels *k, struct buffer *d_own, struct buffer *d_shared,
                              const struct buffer *dkv, const struct attention *a, struct rows rows,
                              int shared_size);
    /* o[segments*queries, heads*value_size]; lse[segments, heads, queries] = log sum exp of the
     * scores. q [segments*queries, heads*head_size], kv [segments*keys, kv_heads*head_size +
     * kv_heads*value_size] (keys, then values); rotation already applied. Queries are the last
     * `queries` positions, keys the last `keys`; queries <= keys <= positions. Rows whose keys are
     * all masked give o = 0, lse = -inf. lse ROLE_STATISTIC. sinks [heads], a WEIGHT_VECTOR, or
     * NULL: an additional score of each head in every softmax, and so in lse, with a value of
     * zeros. */
    void (*attention)(struct kernels *k, struct buffer *o, struct buffer *lse,
                      const struct buffer *q, const struct buffer *kv, const struct attention *a,
                      const struct weight *sinks, int segments, int queries, int keys);
    /* dq and dkv (overwritten; shaped as q and kv) from d_o (as o); others as for `attention`. */
    void (*attention_reverse)(struct kernels *k, struct buffer *dq, struct buffer *dkv,
                              const struct buffer *d_o, const struct buffer *q,
                              const struct buffer *kv, const struct buffer *o,
                              const struct buffer *lse, const struct attention *a,
                              const struct weight *sinks, int segments, int queries, int keys);
    /* The attention of the last `counted` queries: mass[segments, heads, keys] = the sum over them
     * of p(i, i - t) at distance t = 0 .. keys - 1, summed in double; 0 at distances that no query
     * sees. mass ROLE_STATISTIC; others as for `attention`. */
    void (*attention_mass)(struct kernels *k, struct buffer *mass, const struct buffer *q,
                           const struct buffer *kv, const struct buffer *lse,
                           const struct attention *a, const struct weight *sinks, int segments,
                           int queries, int keys, int counted);

    /* -- recurrences -- */
    /* gates[R, 2 heads], of each row the log decays l, then the steps, from raw[R, heads] = a, or
     * [R, 2 heads] = a, then b. Both ROLE_RESIDUAL. */
    void (*gate)(struct kernels *k, struct buffer *gates, const struct buffer *raw,
                 const struct gating *gating, struct rows rows, int heads);
    /* d_raw from d_gates; d_raw may be d_gates if there is b. */
    void (*gate_reverse)(struct kernels *k, struct buffer *d_raw, const struct buffer *d_gates,
                         const struct buffer *raw, const struct gating *gating, struct rows rows,
                         int heads);
    /* The same for log decays by channel: gates[R, heads (key_size + 1)], of each row l [heads,
     * key_size], then the steps, from a [R, heads key_size] and b [R, heads]. All ROLE_RESIDUAL. */
    void (*gate_channels)(struct kernels *k, struct buffer *gates, const struct buffer *a,
                          const struct buffer *b, const struct gating *gating, struct rows rows,
                          int heads, int key_size);
    /* d_a and d_b from d_gates. */
    void (*gate_channels_reverse)(struct kernels *k, struct buffer *d_a, struct buffer *d_b,
                                  const struct buffer *d_gates, const struct buffer *a,
                                  const struct buffer *b, const struct gating *gating,
                                  struct rows rows, int heads, int key_size);
    /* o[segments*queries, recurrence_o_width] of the last `queries` of the keys, from
     * qkv[segments*keys, recurrence_width] and gates[segments*keys, recurrence_gates_width]
     * (ROLE_RESIDUAL).
     * states [segments, heads, recurrence_states(keys), key_size, value_size], ROLE_STATISTIC, are
     * all written. NULL, for one query alone: keeps none. */
    void (*recur)(struct kernels *k, struct buffer *o, struct buffer *states,
                  const struct buffer *qkv, const struct buffer *gates,
                  const struct recurrence *recurrence, int segments, int queries, int keys);
    /* d_qkv and d_gates (overwritten; shaped as qkv and gates) from d_o (as o); states as `recur`
     * left them, or NULL likewise. */
    void (*recur_reverse)(struct kernels *k, struct buffer *d_qkv, struct buffer *d_gates,
                          const struct buffer *d_o, const struct buffer *states,
                          const struct buffer *qkv, const struct buffer *gates,
                          const struct recurrence *recurrence, int segments, int queries, int keys);
    /* The most scratch bytes that the two take, with states, or if `stateless` without (for the
     * memory plan). */
    size_t (*recurrence_bytes)(struct kernels *k, const struct recurrence *recurrence, int segments,
                               int keys, int stateless);

    /* -- scans -- */
    /* o[segments*queries, channels] of the last `queries` of the keys, from x[segments*keys,
     * channels], steps[segments*keys, channels] (ROLE_RESIDUAL), and bc[segments*keys,
     * scan_factors_width]: of each group B, then C; NULL: all 1. states [segments,
     * scan_states(keys), size, channels], ROLE_STATISTIC, are all written. NULL: keeps none. */
    void (*scan)(struct kernels *k, struct buffer *o, struct buffer *states, const struct buffer *x,
                 const struct buffer *steps, const struct buffer *bc, const struct scan *scan,
                 int segments, int queries, int keys);
    /* d_x, d_steps and d_bc (overwritten; shaped as x, steps, bc; d_bc NULL if bc is) from d_o (as
     * o), with states as `scan` left them; without any if scan_states(keys) is 0. */
    void (*scan_reverse)(struct kernels *k, struct buffer *d_x, struct buffer *d_steps,
                         struct buffer *d_bc, const struct buffer *d_o, const struct buffer *states,
                         const struct buffer *x, const struct buffer *steps,
                         const struct buffer *bc, const struct scan *scan, int segments,
                         int queries, int keys);
    /* The most scratch bytes that the two take (for the memory plan). */
    size_t (*scan_bytes)(struct kernels *k, const struct scan *scan, int segments, int keys);

    /* Gates of a linear recurrent unit (De et al. 2024, "Griffin"), which a scan reads. Of each row
     * and channel, with r and i of raw[R, 2 width], in a row all r first (ROLE_RESIDUAL): steps[R,
     * width] dt = 8 / (1 + e^-r) (ROLE_RESIDUAL), and y[R, width] = m x / (1 + e^-i) with m =
     * sqrt(1 - e^(-2 rate dt)), but m = 1 in a segment's first row; rate [width] as a vector, > 0.
     * x, y ROLE_ACTIVATION. With `before` rows of the segment before these, more than
     * 0, none of them is its first. */
    void (*lru)(struct kernels *k, struct buffer *steps, struct buffer *y, const struct buffer *x,
                const struct buffer *raw, const struct weight *rate, struct rows rows, int width,
                int before);
    /* d_x and d_raw (overwritten; shaped as x and raw) from d_y and d_steps; d_x may be d_y. */
    void (*lru_reverse)(struct kernels *k, struct buffer *d_x, struct buffer *d_raw,
                        const struct buffer *d_y, const struct buffer *d_steps,
                        const struct buffer *x, const struct buffer *raw, const struct weight *rate,
                        struct rows rows, int width, int before);

    /* -- means by channel -- */
    /* o[segments*queries, channels] of the last `queries` of the rows, from k[segments*rows,
     * channels] (ROLE_RESIDUAL) and v[segments*rows, channels]. log_sum [segments*queries,
     * channels], ROLE_STATISTIC: ln of the sum over s of e^(b(t - s) + k_s); NULL: not kept. */
    void (*wkv)(struct kernels *set, struct buffer *o, struct buffer *log_sum,
                const struct buffer *k, const struct buffer *v, const struct wkv *wkv, int segments,
                int queries, int rows);
    /* d_k and d_v (overwritten; shaped as k and v) from d_o (as o), with o and log_sum as `wkv`
     * left them. */
    void (*wkv_reverse)(struct kernels *set, struct buffer *d_k, struct buffer *d_v,
                        const struct buffer *d_o, const struct buffer *o,
                        const struct buffer *log_sum, const struct buffer *k,
                        const struct buffer *v, const struct wkv *wkv, int segments, int queries,
                        int rows);

    /* -- convolution -- */
    /* y[segments*queries, width] = convolution(x) of x[segments*keys, width]; gated: c *
     * convolution(b * x), elementwise (Liquid AI 2025), where x[segments*keys, 3 width] has in each
     * row b, then c, then x. Queries are the last `queries` of the keys. If queries < keys, the
     * rows before the first key must be either none of the segment or of no query's reach. */
    void (*convolve)(struct kernels *k, struct buffer *y, const struct buffer *x,
                     const struct convolution *convolution, int segments, int queries, int keys,
                     int width);
    /* dx (overwritten; shaped as x) from dy[segments*queries, width]. Not gated: x is not read, and
     * may be NULL. */
    void (*convolve_reverse)(struct kernels *k, struct buffer *dx, const struct buffer *dy,
                             const struct buffer *x, const struct convolution *convolution,
                             int segments, int queries, int keys, int width);

    /* -- the head: from the last hidden rows to log p -- */
    /* On one row per segment: logits = x w^T + bias, soft-capped if soft_cap > 0; logprob[segments]
     * = log softmax(logits)[target]; dx[segments, width] = seed * d logprob / d x. x [segments,
     * width]; targets [segments] ROLE_INDEX; w [vocabulary, width], bias [vocabulary] or NULL;
     * logprob ROLE_STATISTIC. */
    void (*head)(struct kernels *k, struct buffer *dx, struct buffer *logprob,
                 const struct buffer *x, const struct buffer *targets, const struct weight *w,
                 const struct weight *bias, double soft_cap, double seed, int segments, int width);
    /* On every row, without gradient: logprob[R] of x[R, width] and targets[R] likewise. Logits are
     * made and discarded in blocks: the array R x vocabulary is never stored. */
    void (*head_rows)(struct kernels *k, struct buffer *logprob, const struct buffer *x,
                      const struct buffer *targets, const struct weight *w,
                      const struct weight *bias, double soft_cap, struct rows rows, int width);
};

/* -- the sets of this build, best last: registry.c -- */

struct kernel_set_entry {
    const char *name; /* for REACH_KERNELS */
    const char *dtype;
    const char *summary;
    int (*usable)(void); /* 0: this machine cannot run it */
    struct kernels *(*open)(struct error *e);
};
extern const struct kernel_set_entry kernel_sets[];
extern const int kernel_set_count;

/* Opens the set for a dtype ("f32", "f64", "tf32", "bf16", "bf16x3"): the best usable one, or the
 * one named by the environment variable REACH_KERNELS. NULL on failure. */
struct kernels *kernels_open(const char *dtype, struct error *e) MUST_USE;
/* The same on a device: "cpu", "cuda" (the first GPU), "cuda:N", or "auto": a GPU if there is one,
 * else the processor; then *note says in one line why a plug-in found no GPU (else empty). NULL on
 * failure. */
struct kernels *kernels_open_on(const char *device, const char *dtype, struct error *note,
                                struct error *e) MUST_USE;
/* 0 if such a device exists and goes with the dtype, without opening anything; else -1. */
int kernels_available(const char *device, const char *dtype, struct error *e) MUST_USE;
/* check.c: compares a matrix product of the set, forward and reverse, with plain loops (some
 * milliseconds); -1 when they differ. Call it before a run, once threads are set up. */
int kernels_check(struct kernels *k, struct error *e) MUST_USE;

#endif
