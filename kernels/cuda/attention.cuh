/* Internals of the cuda set's attention, shared by its files. For the meaning see struct
 * attention_shape in kernels/ops.h.
 *
 * Scores are kept in units of log 2: x = log2(e) z, so that p = 2^(x - lse2) is one instruction;
 * the tables on the device are multiplied by log2(e) in double and rounded once. Rows of queries
 * and keys count within the task: query r stands at key r + keys - queries, at distance t = r +
 * keys - queries - j from key j. */
#ifndef REACH_KERNELS_CUDA_ATTENTION_CUH
#define REACH_KERNELS_CUDA_ATTENTION_CUH

#include <cuda_runtime.h>
#include <stddef.h>

enum {
    TABLE_PAD = 512, /* entries before and after a table, so that tiles need no check */
    NORM_ROWS = 64, /* for skipping: rows or distances in a group whose largest value is known */
    FEW_QUERIES = 8, /* up to this many are computed one by one */
    FEW_KEYS = 256, /* keys of one block there; a fixed split, so that the bytes do not depend on
                       the machine */
    LIST_MOST =
        4096, /* the most tiles of a task of which skipping keeps a list; longer tasks skip none */
};

/* The kernels' arguments. Pointers are to device memory. All but the tables belong to one call. */
struct attention_arguments {
    void *o, *dq, *dkv; /* as in ops.h; elements of ROLE_ACTIVATION */
    const void *q, *kv, *d_o;
    float *lse; /* [segments, heads, queries] */
    float *lse2, *delta; /* [segments, heads, padded_queries]: log2(e) lse, +inf for rows that see
                            nothing and after the last; sum of do o */
    const float *bias; /* [heads, stride], distance t at TABLE_PAD + t; -inf for t < 0, masked t,
                          and after the last. One row if all heads agree */
    const float *multiplier; /* [heads, stride] likewise, 1 where there is none; or NULL */
    const float *key_bias; /* [heads, stride], position at TABLE_PAD + position, 0 where there is
                              none; or NULL */
    const float
        *sinks; /* [heads]: a score beside those of the keys, not yet in units of log 2; or NULL */
    size_t stride; /* floats of a row, a multiple of 4 */
    size_t bias_stride; /* from head to head of bias: stride, or 0 */
    const float *bias_most, *multiplier_most,
        *key_bias_most; /* [heads, most_stride]: the largest (absolute, of the multiplier) of
                           NORM_ROWS entries */
    int most_stride, bias_most_stride;
    const float *query_norm; /* [segments, heads, query_norms]: the largest |q| of NORM_ROWS rows;
                                NaN where q (or do) is not finite */
    const float *key_norm; /* [segments, kv_heads, key_norms] likewise, of k (and v) */
    const float *least; /* [segments, heads, query_norms]: what the largest score of each of
                           NORM_ROWS rows (in reverse its lse2) reaches */
    int query_norms, key_norms;
    int segments, heads, kv_heads, head_size, value_size, positions, queries, keys, padded_queries;
    int widest; /* the larger of head_size and value_size */
    int window; /* 0: none */
    int kept; /* leading keys of the task that are seen whatever the window */
    int chunk; /* 0: none */
    int open; /* 1: the tables do not include the window, because some keys may be kept, or there
                 are chunks; FEATURE_GENERAL and score_of mask it */
    int shared_most; /* bytes of shared memory that a block may have on this device */
    int aligned; /* rows of heads begin at multiples of 16 bytes */
    int skip; /* 1: leave out tiles proved to be zero; the norms are set */
    float scale, scale2; /* scale; log2(e) scale */
    float soft_cap2, cap_scale; /* log2(e) soft_cap; scale / soft_cap. 0: none */
    /* few queries: */
    float *weight; /* [segments, heads, queries, keys]: scale dr, for dq */
    float *part; /* [segments, heads, queries, key blocks, widest + 2]: a sum of rows; its largest x
                    and the sum of p */
};

/* The tables of one kind of attention in the kernels' form; members as in struct
 * attention_arguments. */
struct attention_tables {
    float *memory; /* all of them, on the device */
    size_t bytes;
    const float *bias, *multiplier, *key_bias, *bias_most, *multiplier_most, *key_bias_most;
    size_t stride, bias_stride;
    int most_stride, bias_most_stride;
    int steep; /* scores may differ by so much within a row that some p are 0 in float */
};

/* What a task needs of scores, the cheapest first. */
enum attention_feature {
    FEATURE_PLAIN, /* causal, window */
    FEATURE_BIAS, /* and the bias by distance, which holds the masks as -inf */
    FEATURE_GENERAL, /* and soft-cap, multiplier, bias by key, kept keys, chunks; any sign of the
                        scale */
};

/* Each enqueues its kernels. attention_TYPE.cu works on tiles. If the tiles do not fit into
 * `shared_most`, smaller ones are used, down to 99 KB, the least that a device of compute
 * capability 8.0 or newer has; the choice does not depend on the number of queries and keys. They
 * return 0; the bytes that the smallest tiles need if that is more than `shared_most`; or
 * ATTENTION_BROKEN if the runtime does not grant a block what the device has (cudaGetLastError says
 * why). */
enum { ATTENTION_BROKEN = -1 };
int attention_forward_bf16(const struct attention_arguments *a, enum attention_feature feature,
                           cudaStream_t stream);
int attention_forward_tf32(const struct attention_arguments *a, enum attention_feature feature,
                           cudaStream_t stream);
int attention_forward_f32(const struct attention_arguments *a, enum attention_feature feature,
                          cudaStream_t stream);
/* lse2, delta after the last query and, with skip, the norms must be ready. */
int attention_reverse_bf16(const struct attention_arguments *a, enum attention_feature feature,
                           cudaStream_t stream);
int attention_reverse_tf32(const struct attention_arguments *a, enum attention_feature feature,
                           cudaStream_t stream);
int attention_reverse_f32(const struct attention_arguments *a, enum attention_feature feature,
                          cudaStream_t stream);
/* attention_few.cu: at most FEW_QUERIES queries; sums in float. `half`: elements are bf16. */
void attention_forward_few(const struct attention_arguments *a, bool half, cudaStream_t stream);
void attention_reverse_few(const struct attention_arguments *a, bool half, cudaStream_t stream);
/* attention_mass.cu: mass as in ops.h; q, kv, lse are set. `tf32`: operands are rounded as
 * `attention` rounds them. */
void attention_sum_by_distance(const attention_arguments *a, float *mass, int counted, bool half,
                               bool tf32, cudaStream_t stream);
/* attention_prepare.cu: query_norm, key_norm and `least`; lse2, and delta after the last query;
 * lse2 and delta of few queries.
 */
void attention_norms(const struct attention_arguments *a, bool half, bool reverse,
                     cudaStream_t stream);
void attention_lse(const struct attention_arguments *a, cudaStream_t stream);
void attention_rows_few(const struct attention_arguments *a, bool half, cudaStream_t stream);

#endif
