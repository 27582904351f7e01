/* Each operation of the cuda set beside what the GPU can do: matrix products beside cuBLASLt's own
 * first choice, which may split sums, with a workspace of 32 MiB and with none; what moves memory
 * beside a copy on the device.
 *
 *   kernels [DTYPE [ROWS]]     DTYPE f32, tf32, bf16 (default all); ROWS of a segment (default
 * 2047)
 *
 * Each line ends with the GPU, the library and the type that it is of. A time is the mean over a
 * second or so of enqueued operations between two waits, after a warm-up, over buffers larger than
 * the cache. */
#include <cublasLt.h>
#include <cuda_runtime.h>

extern "C" {
#include "kernels/ops.h"
}

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int segments = 8, count = 2047;
static double copy_rate; /* bytes a second, read and written */
static char set_name[160]; /* of the set that is measured, with its type */

[[noreturn]] static void die(const char *what)
{
    fprintf(stderr, "kernels: %s\n", what);
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(cudaError_t error)
{
    if (error != cudaSuccess)
        die(cudaGetErrorString(error));
}

static void wait_for(struct kernels *k)
{
    struct error e;
    if (k->synchronize(k, &e))
        die(e.text);
}

/* Seconds of one run of `work`. */
template <class F>
static double seconds(struct kernels *k, F work)
{
    work();
    wait_for(k);
    double start = now();
    for (int i = 0; i < 3; i++)
        work();
    wait_for(k);
    double once = (now() - start) / 3;
    int repeats = once > 0.1 ? 3 : (int)fmin(1000, 0.3 / once + 3);
    start = now();
    for (int i = 0; i < repeats; i++)
        work();
    wait_for(k);
    return (now() - start) / repeats;
}

static void measure_copy(void)
{
    const size_t bytes = (size_t)(count > 1000 ? 1024 : 1) << 20;
    void *from, *to;
    cudaStream_t stream;
    check(cudaMalloc(&from, bytes));
    check(cudaMalloc(&to, bytes));
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    check(cudaMemsetAsync(from, 1, bytes, stream));
    double best = 1e30;
    for (int i = 0; i < 6; i++) {
        check(cudaStreamSynchronize(stream));
        double start = now();
        for (int j = 0; j < 10; j++)
            check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream));
        check(cudaStreamSynchronize(stream));
        best = fmin(best, (now() - start) / 10);
    }
    copy_rate = 2.0 * (double)bytes / best;
    printf("copy on the device: %.0f GB/s read and written\n", copy_rate * 1e-9);
    check(cudaStreamDestroy(stream));
    check(cudaFree(from));
    check(cudaFree(to));
}

/* FLOP/s of y[rows, out] = x[rows, in] w^T by the library's first choice for so many bytes of
 * workspace; 0: it has none. */
static double library_rate(const char *dtype, size_t rows, size_t out, size_t in,
                           size_t workspace_bytes)
{
    cudaDataType_t type = strcmp(dtype, "bf16") ? CUDA_R_32F : CUDA_R_16BF;
    cublasComputeType_t compute = strcmp(dtype, "tf32") ? CUBLAS_COMPUTE_32F
                                                        : CUBLAS_COMPUTE_32F_FAST_TF32;
    size_t size = type == CUDA_R_16BF ? 2 : 4;
    cublasLtHandle_t library;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t a, b, c;
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t found[4];
    cublasOperation_t transpose = CUBLAS_OP_T;
    void *w, *x, *y, *workspace = NULL;
    cudaStream_t stream;
    int got = 0;
    float one = 1, zero = 0;
    check(cudaMalloc(&w, out * in * size));
    check(cudaMalloc(&x, rows * in * size));
    check(cudaMalloc(&y, rows * out * size));
    if (workspace_bytes)
        check(cudaMalloc(&workspace, workspace_bytes));
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    /* small numbers of changing bits: zeros run faster than data does */
    unsigned short *host = (unsigned short *)malloc((out > rows ? out : rows) * in * size);
    if (!host)
        die("out of memory");
    for (size_t i = 0; i < (out > rows ? out : rows) * in * size / 2; i++)
        host[i] = (unsigned short)(0x3c00 | ((i * 2654435761u) >> 20 & 0x83ff));
    check(cudaMemcpyAsync(w, host, out * in * size, cudaMemcpyHostToDevice, stream));
    check(cudaMemcpyAsync(x, host, rows * in * size, cudaMemcpyHostToDevice, stream));
    check(cudaStreamSynchronize(stream));
    free(host);
    if (cublasLtCreate(&library) || cublasLtMatmulDescCreate(&desc, compute, CUDA_R_32F) ||
        cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &transpose,
                                       sizeof transpose) ||
        cublasLtMatrixLayoutCreate(&a, type, in, out, (int64_t)in) ||
        cublasLtMatrixLayoutCreate(&b, type, in, rows, (int64_t)in) ||
        cublasLtMatrixLayoutCreate(&c, type, out, rows, (int64_t)out) ||
        cublasLtMatmulPreferenceCreate(&preference) ||
        cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                             &workspace_bytes, sizeof workspace_bytes))
        die("cuBLASLt: description of a product");
    if (cublasLtMatmulAlgoGetHeuristic(library, desc, a, b, c, c, preference, 4, found, &got))
        got = 0;
    double best = INFINITY;
    for (int i = 0; i < 4 && got; i++) {
        check(cudaStreamSynchronize(stream));
        double start = now();
        for (int j = 0; j < 10; j++)
            if (cublasLtMatmul(library, desc, &one, w, a, x, b, &zero, y, c, y, c, &found[0].algo,
                               workspace, workspace_bytes, stream))
                die("cuBLASLt: product");
        check(cudaStreamSynchronize(stream));
        best = fmin(best, (now() - start) / 10);
    }
    cublasLtMatmulPreferenceDestroy(preference);
    cublasLtMatrixLayoutDestroy(a), cublasLtMatrixLayoutDestroy(b), cublasLtMatrixLayoutDestroy(c);
    cublasLtMatmulDescDestroy(desc);
    cublasLtDestroy(library);
    check(cudaStreamDestroy(stream));
    check(cudaFree(w)), check(cudaFree(x)), check(cudaFree(y)), check(cudaFree(workspace));
    return 2.0 * (double)rows * (double)out * (double)in / best;
}

/* Numbers that differ, as doubles. */
static double *numbers(size_t n, double size)
{
    double *x = (double *)malloc(n * sizeof *x);
    unsigned h = 1;
    if (!x)
        die("out of memory");
    for (size_t i = 0; i < n; i++) {
        h = h * 1664525u + 1013904223u;
        x[i] = size * ((double)(h >> 8) / 8388608.0 - 1);
    }
    return x;
}

static struct buffer *buffer_of(struct kernels *k, enum buffer_role role, size_t n, double size)
{
    struct error e;
    struct buffer *b = k->create(k, role, n, &e);
    double *x = numbers(n < 1 << 20 ? n : 1 << 20, size);
    if (!b)
        die(e.text);
    for (size_t at = 0; at < n; at += 1 << 20)
        k->write(k, b, at, x, n - at < 1 << 20 ? n - at : 1 << 20);
    free(x);
    return b;
}

static struct weight *weight_of(struct kernels *k, enum weight_use use, size_t rows, size_t columns,
                                double size)
{
    struct error e;
    double *x = numbers(rows * columns, size);
    struct weight_part part = {x, ELEMENT_F64, 1, rows, columns, 0, columns, 1, 0, 0, NULL, 0};
    struct weight *w = k->weight_load(k, use, &part, 1, &e);
    if (!w)
        die(e.text);
    wait_for(k);
    free(x);
    return w;
}

/* The library's rates for one product, in FLOP/s; 0: not asked. */
struct library_rates {
    double with, without; /* a workspace */
};

static struct library_rates library_rates(const char *dtype, size_t rows, size_t out, size_t in)
{
    struct library_rates r = {library_rate(dtype, rows, out, in, (size_t)32 << 20),
                              library_rate(dtype, rows, out, in, 0)};
    return r;
}

static void report_flops(const char *what, double took, double flops, struct library_rates library)
{
    char beside[100] = "";
    if (library.with > 0)
        snprintf(beside, sizeof beside, "%5.1f %% of cuBLASLt's %.1f (%.1f without workspace)",
                 100 * flops / took / library.with, library.with * 1e-12, library.without * 1e-12);
    printf("%-46s %9.3f ms %8.1f TFLOP/s  %-50s %s\n", what, took * 1e3, flops / took * 1e-12,
           beside, set_name);
}

static void report_bytes(const char *what, double took, double bytes)
{
    char beside[40];
    snprintf(beside, sizeof beside, "%5.1f %% of a copy", 100 * bytes / took / copy_rate);
    printf("%-46s %9.3f ms %8.0f GB/s     %-50s %s\n", what, took * 1e3, bytes / took * 1e-9,
           beside, set_name);
}

static void linear_case(struct kernels *k, int in, int out)
{
    size_t rows_total = (size_t)segments * (size_t)count;
    struct rows rows = {segments, count};
    struct buffer *x = buffer_of(k, ROLE_ACTIVATION, rows_total * (size_t)in, 1),
                  *y = buffer_of(k, ROLE_ACTIVATION, rows_total * (size_t)out, 1);
    struct buffer *r = buffer_of(k, ROLE_RESIDUAL, rows_total * (size_t)out, 1);
    struct weight *w = weight_of(k, WEIGHT_MATRIX, (size_t)out, (size_t)in, 0.02),
                  *bias = weight_of(k, WEIGHT_VECTOR, (size_t)out, 1, 0.1);
    double flops = 2.0 * (double)rows_total * in * out;
    struct library_rates forward = library_rates(k->dtype, rows_total, (size_t)out, (size_t)in),
                         reverse = library_rates(k->dtype, rows_total, (size_t)in, (size_t)out);
    char what[80];
    snprintf(what, sizeof what, "linear %d -> %d, bias", in, out);
    report_flops(what, seconds(k, [&] { k->linear(k, y, x, w, bias, rows, 0); }), flops, forward);
    snprintf(what, sizeof what, "linear %d -> %d, added to the residual", in, out);
    report_flops(what, seconds(k, [&] { k->linear(k, r, x, w, bias, rows, 1); }), flops, forward);
    snprintf(what, sizeof what, "linear_reverse %d <- %d", in, out);
    report_flops(what, seconds(k, [&] { k->linear_reverse(k, x, y, w, rows, 0); }), flops, reverse);
    snprintf(what, sizeof what, "linear_reverse %d <- %d, from the residual", in, out);
    report_flops(what, seconds(k, [&] { k->linear_reverse(k, x, r, w, rows, 0); }), flops, reverse);
    k->destroy(k, x), k->destroy(k, y), k->destroy(k, r);
    k->weight_free(k, w), k->weight_free(k, bias);
}

static void attention_case(struct kernels *k, int heads, int kv_heads, int size, int with_bias,
                           int keys, int queries)
{
    size_t width = (size_t)heads * (size_t)size, kv_width = 2 * (size_t)kv_heads * (size_t)size;
    double *bias = numbers((size_t)heads * (size_t)keys, 1), pairs = 0;
    struct attention_shape shape = {};
    struct error e;
    for (int h = 0; h < heads; h++)
        for (int t = 0; t < keys; t++)
            bias[(size_t)h * (size_t)keys + (size_t)t] =
                -t * 0.004 / (h + 1); /* gentle: nothing may be skipped */
    for (int q = keys - queries; q < keys; q++)
        pairs += q + 1;
    shape.heads = heads, shape.kv_heads = kv_heads, shape.head_size = size, shape.positions = keys,
    shape.scale = 1 / sqrt((double)size);
    shape.bias = with_bias ? bias : NULL;
    struct attention *a = k->attention_create(k, &shape, &e);
    if (!a)
        die(e.text);
    size_t q_count = (size_t)segments * (size_t)queries * width,
           kv_count = (size_t)segments * (size_t)keys * kv_width;
    struct buffer *q = buffer_of(k, ROLE_ACTIVATION, q_count, 1),
                  *kv = buffer_of(k, ROLE_ACTIVATION, kv_count, 1),
                  *o = buffer_of(k, ROLE_ACTIVATION, q_count, 1);
    struct buffer *d_o = buffer_of(k, ROLE_ACTIVATION, q_count, 1),
                  *dq = buffer_of(k, ROLE_ACTIVATION, q_count, 1),
                  *dkv = buffer_of(k, ROLE_ACTIVATION, kv_count, 1);
    struct buffer *lse = buffer_of(k, ROLE_STATISTIC,
                                   (size_t)segments * (size_t)heads * (size_t)queries, 1);
    double flops = 4.0 * segments * heads * size * pairs;
    char what[80];
    snprintf(what, sizeof what, "attention %d/%d heads of %d, %d by %d%s", heads, kv_heads, size,
             queries, keys, with_bias ? ", bias" : "");
    report_flops(what,
                 seconds(k,
                         [&] { k->attention(k, o, lse, q, kv, a, NULL, segments, queries, keys); }),
                 flops, {});
    snprintf(what, sizeof what, "  reverse (10 products' worth a pair)");
    report_flops(what,
                 seconds(k,
                         [&] {
                             k->attention_reverse(k, dq, dkv, d_o, q, kv, o, lse, a, NULL, segments,
                                                  queries, keys);
                         }),
                 2.5 * flops, {});
    k->destroy(k, q), k->destroy(k, kv), k->destroy(k, o), k->destroy(k, d_o), k->destroy(k, dq),
        k->destroy(k, dkv), k->destroy(k, lse);
    k->attention_free(k, a);
    free(bias);
}

static void row_cases(struct kernels *k, int width, int inner)
{
    size_t rows_total = (size_t)segments * (size_t)count, n = rows_total * (size_t)width,
           m = rows_total * (size_t)inner;
    struct rows rows = {segments, count};
    double activation = (double)k->role_size[ROLE_ACTIVATION];
    struct buffer *x = buffer_of(k, ROLE_RESIDUAL, n, 1), *dx = buffer_of(k, ROLE_RESIDUAL, n, 1),
                  *y = buffer_of(k, ROLE_ACTIVATION, n, 1);
    struct buffer *up = buffer_of(k, ROLE_ACTIVATION, m, 1),
                  *gate = buffer_of(k, ROLE_ACTIVATION, m, 1),
                  *a = buffer_of(k, ROLE_ACTIVATION, m, 1);
    struct buffer *statistics = buffer_of(k, ROLE_STATISTIC, 2 * rows_total, 1);
    struct weight *scale = weight_of(k, WEIGHT_VECTOR, (size_t)width, 1, 1),
                  *shift = weight_of(k, WEIGHT_VECTOR, (size_t)width, 1, 1);
    struct norm layer = {NORM_LAYER, 1e-5, scale, shift}, rms = {NORM_RMS, 1e-5, scale, NULL};
    char what[80];
    const char *const names[] = {"norm (layer)", "norm (rms)"};
    const struct norm *const norms[] = {&layer, &rms};
    for (int i = 0; i < 2; i++) {
        snprintf(what, sizeof what, "%s of %d", names[i], width);
        report_bytes(what, seconds(k, [&] { k->norm(k, y, statistics, x, norms[i], rows, width); }),
                     (double)n * (4 + activation));
        snprintf(what, sizeof what, "%s of %d, reverse, added", names[i], width);
        report_bytes(what,
                     seconds(k,
                             [&] {
                                 k->norm_reverse(k, dx, NULL, y, x, statistics, norms[i], rows,
                                                 width, 1);
                             }),
                     (double)n * (12 + activation));
    }
    snprintf(what, sizeof what, "copy of %d", width);
    report_bytes(what, seconds(k, [&] { k->copy(k, dx, x, rows, width); }), (double)n * 8);
    snprintf(what, sizeof what, "row_norms of %d", width);
    report_bytes(what, seconds(k, [&] { k->row_norms(k, statistics, x, 1, rows, width); }),
                 (double)n * 4);
    snprintf(what, sizeof what, "GELU (tanh) of %d", inner);
    report_bytes(what,
                 seconds(k,
                         [&] { k->activate(k, a, up, NULL, ACTIVATION_GELU_TANH, rows, inner); }),
                 (double)m * 2 * activation);
    report_bytes("  reverse",
                 seconds(k,
                         [&] {
                             k->activate_reverse(k, a, NULL, a, up, NULL, ACTIVATION_GELU_TANH,
                                                 rows, inner);
                         }),
                 (double)m * 3 * activation);
    snprintf(what, sizeof what, "gated SiLU of %d", inner);
    report_bytes(what,
                 seconds(k, [&] { k->activate(k, a, up, gate, ACTIVATION_SILU, rows, inner); }),
                 (double)m * 3 * activation);
    k->destroy(k, x), k->destroy(k, dx), k->destroy(k, y), k->destroy(k, up), k->destroy(k, gate),
        k->destroy(k, a), k->destroy(k, statistics);
    k->weight_free(k, scale), k->weight_free(k, shift);
}

static void head_case(struct kernels *k, int width, int vocabulary)
{
    struct error e;
    struct buffer *x = buffer_of(k, ROLE_ACTIVATION, (size_t)segments * (size_t)width, 1),
                  *dx = buffer_of(k, ROLE_ACTIVATION, (size_t)segments * (size_t)width, 1);
    struct buffer *logprob = buffer_of(k, ROLE_STATISTIC, (size_t)segments, 1),
                  *targets = k->create(k, ROLE_INDEX, (size_t)segments, &e);
    struct weight *w = weight_of(k, WEIGHT_TABLE, (size_t)vocabulary, (size_t)width, 0.05);
    int32_t ids[64] = {0};
    char what[80];
    if (!targets || segments > 64)
        die("head");
    k->write_index(k, targets, 0, ids, (size_t)segments);
    snprintf(what, sizeof what, "head %d x %d, %d segments", vocabulary, width, segments);
    report_bytes(
        what,
        seconds(k, [&] { k->head(k, dx, logprob, x, targets, w, NULL, 0, 1, segments, width); }),
        8.0 * vocabulary * width);
    k->destroy(k, x), k->destroy(k, dx), k->destroy(k, logprob), k->destroy(k, targets);
    k->weight_free(k, w);
}

static void run(const char *dtype)
{
    struct error e, note;
    struct kernels *k = kernels_open_on("cuda", dtype, &note, &e);
    int small = count < 1000;
    char product[300];
    if (!k)
        die(e.text);
    snprintf(set_name, sizeof set_name, "%s %s", k->name, k->dtype);
    printf("== %s: %d segments of %d rows\n", set_name, segments, count);
    if (small) {
        linear_case(k, 64, 96);
        attention_case(k, 2, 2, 64, 1, count, count);
        row_cases(k, 64, 96);
        head_case(k, 64, 300);
    } else {
        linear_case(k, 768, 768), linear_case(k, 768, 3072), linear_case(k, 1600, 6400),
            linear_case(k, 4096, 4096), linear_case(k, 4096, 11008);
        attention_case(k, 12, 12, 64, 0, count, count),
            attention_case(k, 12, 12, 64, 1, count, count),
            attention_case(k, 32, 32, 128, 0, count, count);
        attention_case(k, 32, 32, 128, 1, count, count),
            attention_case(k, 32, 8, 128, 0, count, count),
            attention_case(k, 12, 12, 64, 0, count, 1);
        row_cases(k, 768, 3072), row_cases(k, 4096, 11008);
        head_case(k, 768, 50257), head_case(k, 4096, 32000);
    }
    for (int i = 0; k->product_text && k->product_text(k, i, product, sizeof product); i++)
        printf("%s\n", product);
    k->close(k);
}

int main(int argc, char **argv)
{
    static const char *const all[] = {"bf16", "tf32", "f32"};
    if (argc > 2)
        count = atoi(argv[2]);
    if (count < 1)
        die("wrong number of rows");
    setvbuf(stdout, NULL, _IOLBF, 0);
    measure_copy();
    for (int i = 0; i < 3; i++)
        if (argc < 2 || strcmp(argv[1], all[i]) == 0)
            run(all[i]);
    return 0;
}
