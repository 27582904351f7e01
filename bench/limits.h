/* What this machine reaches at most, measured: matrix products of oneDNN with operands in float
 * and in bf16, and copying memory, with all threads. */
#ifndef REACH_BENCH_LIMITS_H
#define REACH_BENCH_LIMITS_H

#include <dnnl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LIMIT_M = 2048, LIMIT_N = 3072, LIMIT_K = 768 };

static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Least seconds of a call within a second, and of eight at least: the first ones wait for memory
 * and for the clock to rise. 0 if one fails. */
static inline double least_seconds(int call(void *), void *context)
{
    double best = 1e9, begin = now();
    for (int i = 0; i < 8 || now() - begin < 1; i++) {
        double start = now(), took;
        if (call(context))
            return 0;
        took = now() - start;
        best = took < best ? took : best;
    }
    return best;
}

static inline int product_f32(void *context)
{
    float *const *m = context; /* [M, K], [N, K], [M, N] */
    return dnnl_sgemm('N', 'T', LIMIT_M, LIMIT_N, LIMIT_K, 1, m[0], LIMIT_K, m[1], LIMIT_K, 0, m[2],
                      LIMIT_N) != dnnl_success;
}

/* Operations a second of 2048 x 3072 x 768 products in float; 0 on failure. */
static inline double limit_f32(void)
{
    const size_t counts[] = {LIMIT_M * LIMIT_K, LIMIT_N * LIMIT_K, LIMIT_M * LIMIT_N};
    float *m[3];
    double seconds = 0;
    int bad = 0;
    for (int i = 0; i < 3; i++)
        bad |= !(m[i] = malloc(counts[i] * sizeof *m[i]));
    for (int i = 0; i < 2 && !bad; i++)
        for (size_t j = 0; j < counts[i]; j++)
            m[i][j] = (float)(j % (size_t)(13 - 2 * i)) * 0.1f;
    if (!bad)
        seconds = least_seconds(product_f32, m);
    for (int i = 0; i < 3; i++)
        free(m[i]);
    return seconds > 0 ? 2.0 * LIMIT_M * LIMIT_N * LIMIT_K / seconds : 0;
}

#if DNNL_VERSION_MAJOR == 2 /* the next one describes operations by other calls */
struct product_bf16 {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_desc_t description;
    dnnl_primitive_t product;
    dnnl_memory_t memory[3]; /* [M, K], [K, N] packed as oneDNN likes it, [M, N] */
};

static inline int product_bf16(void *context)
{
    const struct product_bf16 *p = context;
    const dnnl_exec_arg_t of[] = {{DNNL_ARG_SRC, p->memory[0]},
                                  {DNNL_ARG_WEIGHTS, p->memory[1]},
                                  {DNNL_ARG_DST, p->memory[2]}};
    return dnnl_primitive_execute(p->product, p->stream, 3, of) != dnnl_success ||
           dnnl_stream_wait(p->stream) != dnnl_success;
}

static inline int product_bf16_open(struct product_bf16 *p)
{
    const dnnl_dims_t sizes[] = {{LIMIT_M, LIMIT_K}, {LIMIT_K, LIMIT_N}, {LIMIT_M, LIMIT_N}};
    const dnnl_query_t asked[] = {dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md};
    dnnl_memory_desc_t d[3];
    dnnl_matmul_desc_t of;
    for (int i = 0; i < 3; i++)
        if (dnnl_memory_desc_init_by_tag(&d[i], 2, sizes[i], i < 2 ? dnnl_bf16 : dnnl_f32,
                                         i == 1 ? dnnl_format_tag_any : dnnl_ab) != dnnl_success)
            return -1;
    if (dnnl_engine_create(&p->engine, dnnl_cpu, 0) != dnnl_success ||
        dnnl_stream_create(&p->stream, p->engine, dnnl_stream_default_flags) != dnnl_success ||
        dnnl_matmul_desc_init(&of, &d[0], &d[1], NULL, &d[2]) != dnnl_success ||
        dnnl_primitive_desc_create(&p->description, &of, NULL, p->engine, NULL) != dnnl_success ||
        dnnl_primitive_create(&p->product, p->description) != dnnl_success)
        return -1;
    for (int i = 0; i < 3; i++) {
        const dnnl_memory_desc_t *as = dnnl_primitive_desc_query_md(p->description, asked[i], 0);
        void *data;
        if (!as ||
            dnnl_memory_create(&p->memory[i], as, p->engine, DNNL_MEMORY_ALLOCATE) !=
                dnnl_success ||
            dnnl_memory_get_data_handle(p->memory[i], &data) != dnnl_success)
            return -1;
        memset(data, 0x3f, dnnl_memory_desc_get_size(as)); /* 0.747 */
    }
    return 0;
}

/* The same of products of bf16, summed in float; operands are packed beforehand. 0 where oneDNN has
 * none. */
static inline double limit_bf16(void)
{
    struct product_bf16 p = {0};
    double seconds = product_bf16_open(&p) ? 0 : least_seconds(product_bf16, &p);
    for (int i = 0; i < 3; i++)
        if (p.memory[i])
            dnnl_memory_destroy(p.memory[i]);
    if (p.product)
        dnnl_primitive_destroy(p.product);
    if (p.description)
        dnnl_primitive_desc_destroy(p.description);
    if (p.stream)
        dnnl_stream_destroy(p.stream);
    if (p.engine)
        dnnl_engine_destroy(p.engine);
    return seconds > 0 ? 2.0 * LIMIT_M * LIMIT_N * LIMIT_K / seconds : 0;
}
#else
static inline double limit_bf16(void)
{
    return 0;
}
#endif

/* The same of products of sums of two numbers of bf16: each is three of bf16. */
static inline double limit_bf16x3(void)
{
    return limit_bf16() / 3;
}

enum { LIMIT_COPIED = 64 << 20 };

static inline int copy_all(void *context)
{
    char *const *m = context;
    enum { PIECE = 1 << 20 };
#pragma omp parallel for schedule(static)
    for (int i = 0; i < LIMIT_COPIED / PIECE; i++)
        memcpy(m[0] + (size_t)i * PIECE, m[1] + (size_t)i * PIECE, PIECE);
    return 0;
}

/* Bytes a second of copying 64 MB, read and written ones counted. */
static inline double limit_copy(void)
{
    char *m[2] = {malloc(LIMIT_COPIED), malloc(LIMIT_COPIED)};
    double seconds = 0;
    if (m[0] && m[1]) {
        memset(m[1], 1, LIMIT_COPIED);
        seconds = least_seconds(copy_all, m);
    }
    free(m[0]), free(m[1]);
    return seconds > 0 ? 2.0 * LIMIT_COPIED / seconds : 0;
}

#endif
