/* Internals of the cuda set, shared by its files. Buffers, weights and attentions are the structs
 * of kernels/shared.h; their `data` and tables lie on the device here.
 *
 * One thread. The runtime has a current device for each thread, and open_set chooses it for the one
 * that calls it: by kernels/plugin.h that thread uses the set. The engine computes in the
 * thread that opened it. Other threads of the program do not touch it: OpenMP's (weight.cu) copy
 * between parts of the host's memory, and those of run/ (signals, other ranks) call no kernels. So
 * nothing here sets the device again.
 *
 * Two streams. Everything of forward and reverse goes to `stream`, in order, without waiting;
 * weights go up on `copies`, and a weight's first use makes `stream` wait for it. The host waits
 * only in write, read, read_end and synchronize, and when a staging buffer is still on its way. */
#ifndef REACH_KERNELS_CUDA_STATE_CUH
#define REACH_KERNELS_CUDA_STATE_CUH

#include "kernels/cuda/device.cuh"

extern "C" {
#include "kernels/shared.h"
}

#include <cublasLt.h>
#ifdef __CUDACC__
#include <nvtx3/nvToolsExt.h>
#endif

/* How matrix products and attention compute. Activations are float for the first two, bf16 for the
 * third; the residual stream, its gradient and statistics are always float. */
enum cuda_arithmetic { ARITHMETIC_F32, ARITHMETIC_TF32, ARITHMETIC_BF16 };

enum {
    STAGING_COUNT = 2,
    CUDA_STAGING_BYTES = 8 << 20,
    LETTER_COUNT = 4,
    ROUNDED_BYTES = 64 << 20 /* tf32: of rounded operands at a time */
};

/* A buffer for uploads: filled by the host, emptied by `copies`. */
struct cuda_staging {
    char *pinned, *device;
    cudaEvent_t empty; /* the device has converted what was in it */
};

/* A buffer for indices on their way up `stream`: two batches of tokens and targets, so that
 * the second does not wait for the first. */
struct cuda_letter {
    void *pinned;
    size_t bytes;
    cudaEvent_t sent; /* NULL: never used */
};

/* A piece of device memory that is not in use; its last use is over at `free`. */
struct cuda_block {
    void *memory;
    size_t bytes;
    cudaEvent_t free;
    struct cuda_block *next;
};

/* Work space of operations on `stream`; it only grows. */
struct cuda_work {
    void *memory;
    size_t bytes;
};

struct cuda_products; /* product.cu */

/* The time that an operation takes the host, as a range of this name in Nsight Systems, which shows
 * with it what the operation enqueued. Without a tracer it costs a test of a pointer; on the host's
 * stand-in nothing. */
struct cuda_range {
#ifdef __CUDACC__
    explicit cuda_range(const char *name)
    {
        nvtxRangePushA(name);
    }
    ~cuda_range()
    {
        nvtxRangePop();
    }
#else
    explicit cuda_range(const char *) {}
    ~cuda_range() {}
#endif
    cuda_range(const cuda_range &) = delete;
    cuda_range &operator=(const cuda_range &) = delete;
};

/* What k->state->fast points to. */
struct cuda_state {
    int device, processors;
    int shared_most; /* bytes of shared memory that a block may have when it asks for them */
    enum cuda_arithmetic arithmetic;
    cudaStream_t stream, copies;
    struct cuda_block *blocks; /* oldest first */
    struct cuda_staging staging[STAGING_COUNT];
    int next_staging;
    struct cuda_letter letters[LETTER_COUNT];
    int next_letter;
    struct reading *readings; /* that nobody uses */
    struct cuda_work scratch, rounded; /* of an operation; of the product inside of it, in tf32 */
    struct cuda_fault *fault; /* on the device */
    struct cuda_products *products;
};

/* The first wrong token id that a kernel met. */
enum fault_kind { FAULT_NONE, FAULT_TOKEN, FAULT_TARGET };
struct cuda_fault {
    int kind, value, limit;
};

/* A weight on the device, what w->fast points to. `data` is dense [rows, columns]: a matrix in
 * float or bf16 as the arithmetic has activations, a vector in float, a table in float, or in bf16
 * if the file has bf16. */
struct cuda_weight {
    void *data;
    size_t bytes;
    enum element type;
    void *bf16_data; /* bf16 arithmetic: a vector also in bf16, as the epilogue of products wants
                        it; else NULL. After `data`, in the same block of memory */
    cudaEvent_t ready;
    int waited; /* `stream` has been told to wait for it */
};

/* One kind of attention on the device, what a->fast points to. */
struct cuda_attention {
    float *positions; /* the memory of the tables below; NULL: there is none */
    size_t bytes;
    const float *cosine, *sine; /* [positions, rotary_size / 2] */
    const float *factor; /* [positions] */
    struct attention_tables *scores; /* attention.cuh; owned */
};

static inline struct cuda_state *cuda_state(struct kernels *k)
{
    return (struct cuda_state *)((struct kernels_state *)k->state)->fast;
}

/* 1 if the buffer's elements are bf16, 0 if float. */
static inline int cuda_is_bf16(struct kernels *k, const struct buffer *b)
{
    return cuda_state(k)->arithmetic == ARITHMETIC_BF16 && b->role == ROLE_ACTIVATION;
}

static inline size_t cuda_divide_up(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

/* Threads of a block that has a row of this many vectors: no more warps than have work, at most 256
 * threads. */
static inline unsigned cuda_row_threads(size_t vectors)
{
    size_t threads = cuda_divide_up(vectors, WARP) * WARP;
    return (unsigned)(threads < 256 ? threads : 256);
}

/* -- memory.cu -- */
/* Keeps "WHAT: CUDA's words" as the set's error unless `error` is cudaSuccess. Returns 0 or -1. */
int cuda_check(struct kernels *k, cudaError_t error, const char *what);
/* Keeps the error of a refused launch, which the runtime reports only as its last error, where the
 * failure of another call would replace it. Call it before each call whose failure is then cleared
 * with cudaGetLastError. */
void cuda_keep_launches(struct kernels *k);
/* The same, into *e. */
int cuda_check_now(cudaError_t error, const char *what, struct error *e);
/* Device memory for use on `on`, out of the blocks that were given back or new; NULL with *e (which
 * may be NULL) when there is none. */
void *cuda_take(struct kernels *k, size_t bytes, cudaStream_t on, struct error *e);
/* Gives back what cuda_take gave for `bytes`; `stream` uses it no later than what is enqueued now.
 * NULL is allowed. */
void cuda_give(struct kernels *k, void *memory, size_t bytes);
/* Work space for one operation on `stream`: valid until the next call. NULL when there is no
 * memory; the error is kept. */
void *cuda_scratch(struct kernels *k, size_t bytes, const char *what);
/* The same beside it, for the rounded operand of a product. */
void *cuda_rounded_scratch(struct kernels *k, size_t bytes);
void cuda_fill_memory(struct kernels *k);
/* Frees blocks, staging, letters, readings and scratch. */
void cuda_memory_close(struct cuda_state *s);

/* -- weight.cu -- */
/* The device's data of a weight (NULL for NULL), after telling `stream` to wait for its upload. */
const void *cuda_weight_data(struct kernels *k, const struct weight *w);
/* Its bf16 form, for vectors in bf16 arithmetic. */
const void *cuda_weight_bf16(struct kernels *k, const struct weight *w);
void cuda_fill_weight(struct kernels *k);

/* -- attention_tables.cu -- */
static inline const struct cuda_attention *cuda_attention(const struct attention *a)
{
    return (const struct cuda_attention *)a->fast;
}
void cuda_fill_attention_tables(struct kernels *k);

/* -- linear.cu -- */
void cuda_fill_linear(struct kernels *k);

/* -- product.cu -- */
int cuda_products_open(struct kernels *k, struct error *e) MUST_USE;
void cuda_products_close(struct cuda_state *s);
/* d[rows, out] (float or, out_bf16, bf16) (+)= x[rows, depth] times w^T for w [out, depth]
 * (forward) or times w for w [depth, out], + bias[out] (of d's type, or NULL). x and w are both
 * float or, in_bf16, both bf16; in tf32 w is rounded to it. `count`: rows of one segment; the
 * algorithm depends on it and not on `rows`. */
struct product {
    void *d;
    const void *x, *w, *bias;
    size_t out, depth, count;
    int forward, in_bf16, out_bf16, accumulate;
    const void *c; /* what is accumulated onto where it is not d itself, of d's type; NULL: d */
};
void cuda_multiply(struct kernels *k, const struct product *p, size_t rows);
/* product_tile.cu: the same by a kernel of our own, enqueued. */
void cuda_multiply_by_tiles(cudaStream_t stream, const struct product *p, size_t rows);

/* -- norm.cu, activation.cu, convolution.cu, rows.cu, move.cu, experts.cu, gating.cu,
 * recurrence.cu, scan.cu, wkv.cu, head.cu -- */
/* out[count] = in[count], rounded to bf16, or widened. */
void cuda_convert_bf16(cudaStream_t stream, bf16 *out, const float *in, size_t count);
void cuda_convert_float(cudaStream_t stream, float *out, const bf16 *in, size_t count);
/* out[count] = in[count], rounded to tf32. */
void cuda_round_tf32(cudaStream_t stream, float *out, const float *in, size_t count);
void cuda_fill_norm(struct kernels *k);
void cuda_fill_activation(struct kernels *k);
void cuda_fill_convolution(struct kernels *k);
void cuda_fill_rows(struct kernels *k);
void cuda_fill_move(struct kernels *k);
void cuda_fill_experts(struct kernels *k);
void cuda_fill_gating(struct kernels *k);
void cuda_fill_recurrence(struct kernels *k);
void cuda_fill_scan(struct kernels *k);
void cuda_fill_lru(struct kernels *k);
void cuda_fill_wkv(struct kernels *k);
void cuda_fill_head(struct kernels *k);
/* channels.cu: recur, recur_reverse and recurrence_bytes of recurrences by channel. */
void cuda_channels(struct kernels *k, struct buffer *o, struct buffer *states,
                   const struct buffer *qkv, const struct buffer *gates, const struct recurrence *r,
                   int segments, int queries, int keys);
void cuda_channels_reverse(struct kernels *k, struct buffer *d_qkv, struct buffer *d_gates,
                           const struct buffer *d_o, const struct buffer *states,
                           const struct buffer *qkv, const struct buffer *gates,
                           const struct recurrence *r, int segments, int queries, int keys);
size_t cuda_channels_bytes(struct kernels *k, const struct recurrence *r, int segments, int keys,
                           int stateless);
/* Bytes of scratch of a head over this many segments, `width` wide. */
size_t cuda_head_scratch(int segments, size_t vocabulary, size_t width);
/* The same of head_rows. */
size_t cuda_head_rows_scratch(struct rows rows, size_t vocabulary, size_t width);

/* -- attention.cu -- */
void cuda_fill_attention(struct kernels *k);
/* Bytes that they take by cuda_scratch at most. */
size_t cuda_attention_scratch(enum cuda_arithmetic arithmetic, const struct attention_shape *shape,
                              struct rows rows);

#endif
