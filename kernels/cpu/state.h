/* Internals of the cpu set. */
#ifndef REACH_KERNELS_CPU_STATE_H
#define REACH_KERNELS_CPU_STATE_H

#include "kernels/cpu/vector/kernels.h"
#include "kernels/shared.h"

/* A freed block kept for the next weight of its size. */
struct cpu_block {
    void *memory;
    size_t bytes;
};
enum { CPU_BLOCKS = 8 }; /* the matrices of one layer */

/* What kernels_state.fast points to. */
struct cpu_state {
    const struct vector_kernels *vector;
    int skip; /* attention: skip blocks proved to be zero; 0 only in the test that compares */
    struct kernels base; /* the reference's entries, used where good enough */
    int rounds; /* products with weights: operands are rounded to bf16 or sums of such numbers */
    int terms; /* products that make one of them: of sums of two numbers three, else one */
    const struct vector_kernels *products; /* has what multiplies if it rounds */
    void *scratch; /* kept between calls, grown when needed */
    size_t scratch_bytes;
    float *operands; /* of `rounds`: [operand_threads, CPU_OPERANDS] */
    int operand_threads;
    struct cpu_block blocks[CPU_BLOCKS]; /* empty ones have memory NULL */
};

static inline struct cpu_state *cpu_state(struct kernels *k)
{
    return ((struct kernels_state *)k->state)->fast;
}

/* Memory aligned to 64 bytes for weights loaded layer by layer. A freed block is kept for the next
 * one of its size, because the system clears every fresh page, which took longer than the
 * arithmetic. If no block has the size, all kept blocks are freed first. */
void *cpu_block_take(struct kernels *k, size_t bytes) MUST_USE;
void cpu_block_give(struct kernels *k, void *memory, size_t bytes);
void cpu_blocks_free(struct kernels *k);

/* At least `bytes` of 64-byte aligned scratch, valid until the next call; NULL, with the error
 * kept, without memory. */
void *cpu_scratch(struct kernels *k, size_t bytes, const char *what);
/* Bytes of scratch of the head, the larger of one target per segment and head.targets (head.c). */
size_t cpu_head_scratch(int segments, struct head_shape head);

/* The instruction set to use: the best, or REACH_ISA's; bf16's only for bf16. NULL on failure. */
const struct vector_kernels *cpu_dispatch(int bf16, struct error *e) MUST_USE;
/* 1: the processor has AMX for bf16, and the system lets this process use its tiles. */
int cpu_tiles(void);
/* The set that computes all but products with weights in float where these use `products`. */
const struct vector_kernels *cpu_dispatch_float(const struct vector_kernels *products);

/* A matrix [rows, columns] as slices of rows in order. weight.fast of a WEIGHT_MATRIX. Of one that
 * has `blocks` blocks on its diagonal, and zeros elsewhere, a slice is rows of a block, with its
 * columns alone. */
struct cpu_slice {
    const float *data; /* element (row, column) at row * ld + column, or at column * ld + row when
                          transposed */
    size_t ld;
    int transposed;
    size_t first, rows; /* of the matrix */
    size_t column, depth; /* the first of its columns, and their number */
};

struct cpu_matrix {
    int slice_count;
    struct cpu_slice *slices;
    size_t blocks; /* 1: all slices have all columns */
    size_t bytes; /* of weight.owned */
};

/* attention.fast: tables in float; see struct distance_table. */
struct cpu_attention {
    struct distance_table bias, open, multiplier,
        key_bias; /* head h is h strides from head 0; key_bias by position */
    size_t stride, extreme_stride;
    int biased;
    const float *cosine, *sine; /* [positions, pairs], or [positions, 2 pairs] as vector
                                   rotate_interleaved reads them */
    float *storage;
};

/* -- multiply.c -- */

/* How much of both operands of a product is rounded at a time; CPU_OPERANDS: floats that a thread
 * has for them. */
enum { CPU_OPERAND_ROWS = 1024, CPU_OPERAND_COLUMNS = 384, CPU_OPERAND_DEPTH = 512 };
enum { CPU_OPERANDS = (CPU_OPERAND_ROWS + CPU_OPERAND_COLUMNS) * CPU_OPERAND_DEPTH };
_Static_assert((int)CPU_OPERANDS >= (int)MULTIPLY_BF16_ROOM,
               "instructions for bf16 have room, too");

/* One product by oneDNN in the calling thread: c[m, n] = beta c + a[m, depth] b; b is [depth, n],
 * or [n, depth] when transposed. Rows are ldc, lda, ldb floats apart. oneDNN starts no threads for
 * it, whatever the team and its limits (see linear.c). */
void cpu_multiply(struct kernels *k, float *c, size_t ldc, const float *a, size_t lda,
                  const float *b, size_t ldb, int transposed, size_t m, size_t n, size_t depth,
                  float beta);

/* The same for rows of a layer and its matrix, c += if it accumulates, with operands as the set
 * rounds them. Call it between cpu_operands and the end of the operation. */
void cpu_multiply_operands(struct kernels *k, float *c, size_t ldc, const float *a, size_t lda,
                           const float *b, size_t ldb, int transposed, size_t m, size_t n,
                           size_t depth, int accumulate);
/* Reserves memory for the rounded operands of every thread; -1, with the error kept, without
 * memory. Call it outside of parallel regions. Does nothing if the set does not round. */
int cpu_operands(struct kernels *k) MUST_USE;
/* Its bytes, for the plan. */
size_t cpu_operands_bytes(struct kernels *k);
/* The calling thread's memory: CPU_OPERANDS floats; NULL if the set does not round. */
float *cpu_operands_own(struct kernels *k);

/* x[count] as a factor of products of a set that rounds: terms, `apart` floats apart at `to`, whose
 * products with those of the other factor are added up. Rounded; or the high parts of a left
 * factor, these again and the low parts, of a right one the high, low and high parts. */
enum cpu_side { CPU_LEFT, CPU_RIGHT };
void cpu_factor(struct kernels *k, float *to, size_t apart, const float *x, size_t count,
                enum cpu_side side);

/* -- recurrence.c: what forward and reverse of head h in segment g share -- */

struct recurrence_task cpu_recurrence_task(const struct recurrence *r, const struct buffer *states,
                                           const struct buffer *qkv, const struct buffer *gates,
                                           size_t g, size_t h, int queries, int keys);

/* -- channels.c: recur, recur_reverse and recurrence_bytes of recurrences by channel -- */

void cpu_channels(struct kernels *k, struct buffer *o, struct buffer *states,
                  const struct buffer *qkv, const struct buffer *gates, const struct recurrence *r,
                  int segments, int queries, int keys);
void cpu_channels_reverse(struct kernels *k, struct buffer *d_qkv, struct buffer *d_gates,
                          const struct buffer *d_o, const struct buffer *states,
                          const struct buffer *qkv, const struct buffer *gates,
                          const struct recurrence *r, int segments, int queries, int keys);
size_t cpu_channels_bytes(struct kernels *k, const struct recurrence *r, int segments, int keys,
                          int stateless);

/* Each overrides the entries that its file defines. */
void cpu_fill_memory(struct kernels *k);
void cpu_fill_weight(struct kernels *k);
void cpu_fill_linear(struct kernels *k);
void cpu_fill_rows(struct kernels *k);
void cpu_fill_convolution(struct kernels *k);
void cpu_fill_experts(struct kernels *k);
void cpu_fill_attention_tables(struct kernels *k);
void cpu_fill_attention(struct kernels *k);
void cpu_fill_recurrence(struct kernels *k);
void cpu_fill_scan(struct kernels *k);
void cpu_fill_lru(struct kernels *k);
void cpu_fill_wkv(struct kernels *k);
void cpu_fill_head(struct kernels *k);

#endif
