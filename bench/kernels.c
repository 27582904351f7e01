/* The cpu kernel set beside this machine's own rates, in one process: matrix products and attention against oneDNN's fp32
 * product, operations on elements against copying memory. Best of several; a rate and its reference are measured in turns, so
 * that a busy machine slows both. One thread is timed by its own processor time, which a busy machine disturbs less than the
 * clock on the wall.
 *
 *   kernels [THREADS]      (default: one, then all) */
#include "kernels/cpu/cpu.h"

#include <dnnl.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REPEATS_LEAST = 3, REPEATS_MOST = 12, HIDDEN = 768, MLP = 4 * HIDDEN, ROWS = 2047 };

static double now(void)
{
    struct timespec t;
    clock_gettime(omp_get_max_threads() == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void stop(const char *what)
{
    fprintf(stderr, "kernels: %s\n", what);
    exit(1);
}

static void *need(void *pointer)
{
    if (!pointer)
        stop("out of memory");
    return pointer;
}

/* A buffer of small pseudo-random numbers. */
static struct buffer *filled(struct kernels *k, enum buffer_role role, size_t count)
{
    struct error e;
    struct buffer *b = need(k->create(k, role, count, &e));
    double *values = need(malloc(count * sizeof *values));
    uint32_t state = 1;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = (double)(state >> 8) / 8388608.0 - 1;
    }
    k->write(k, b, 0, values, count);
    free(values);
    return b;
}

static float *random_floats(size_t count)
{
    float *x = need(malloc(count * sizeof *x));
    for (size_t i = 0; i < count; i++)
        x[i] = (float)(i * 7919 % 1009) / 504.5f - 1;
    return x;
}

/* -- the references -- */

static float *gemm_a, *gemm_b, *gemm_c; /* [ROWS, HIDDEN], [MLP, HIDDEN], [ROWS, MLP] */

/* Seconds a floating-point operation of one oneDNN product ROWS x HIDDEN x MLP with all threads. */
static double gemm_once(void)
{
    double start = now();
    if (dnnl_sgemm('N', 'T', ROWS, MLP, HIDDEN, 1, gemm_a, HIDDEN, gemm_b, HIDDEN, 0, gemm_c, MLP) != dnnl_success)
        stop("oneDNN failed");
    return (now() - start) / (2.0 * ROWS * HIDDEN * MLP);
}

/* Seconds a byte of copying, read and write counted, with all threads. */
static double copy_once(void)
{
    size_t bytes = (size_t)ROWS * HIDDEN * sizeof(float), piece = 1 << 16;
    double start = now();
#pragma omp parallel for schedule(static)
    for (size_t at = 0; at < bytes; at += piece)
        memcpy((char *)gemm_c + at, (char *)gemm_a + at, bytes - at < piece ? bytes - at : piece);
    return (now() - start) / (2.0 * (double)bytes);
}

/* -- what is measured: each runs one operation once -- */

struct subject {
    struct kernels *k;
    struct buffer *in, *out, *extra, *other; /* roles differ from subject to subject */
    struct buffer *statistics, *lse, *d_in, *d_extra;
    struct weight *weight;
    struct attention *attention;
    struct norm norm;
    struct rows rows;
    int width, positions;
};

static void run_linear(struct subject *s)
{
    s->k->linear(s->k, s->out, s->in, s->weight, NULL, s->rows, 0);
}
static void run_linear_reverse(struct subject *s)
{
    s->k->linear_reverse(s->k, s->in, s->out, s->weight, s->rows, 0);
}
static void run_norm(struct subject *s)
{
    s->k->norm(s->k, s->out, s->statistics, s->in, &s->norm, s->rows, s->width);
}
static void run_norm_reverse(struct subject *s)
{
    s->k->norm_reverse(s->k, s->extra, s->out, s->in, s->statistics, &s->norm, s->rows, s->width, 1);
}
static void run_gelu(struct subject *s)
{
    s->k->activate(s->k, s->out, s->in, NULL, ACTIVATION_GELU, s->rows, s->width);
}
static void run_gelu_reverse(struct subject *s)
{
    s->k->activate_reverse(s->k, s->out, NULL, s->extra, s->in, NULL, ACTIVATION_GELU, s->rows, s->width);
}
static void run_attention(struct subject *s)
{
    s->k->attention(s->k, s->out, s->lse, s->in, s->extra, s->attention, NULL, 1, s->positions, s->positions);
}
static void run_attention_reverse(struct subject *s)
{
    s->k->attention_reverse(s->k, s->d_in, s->d_extra, s->other, s->in, s->extra, s->out, s->lse, s->attention, NULL, 1,
                            s->positions, s->positions);
}

/* Best seconds of the subject, and in *unit the best seconds a unit of the reference, in turns. */
static double best(struct subject *s, void (*run)(struct subject *), double (*reference)(void), double *unit)
{
    double least = INFINITY, begin = now();
    *unit = INFINITY;
    for (int i = 0; i < REPEATS_LEAST || (i < REPEATS_MOST && now() - begin < 1); i++) {
        double u = reference(), start = now();
        run(s);
        double took = now() - start;
        least = took < least ? took : least;
        *unit = u < *unit ? u : *unit;
    }
    return least;
}

static void report(const char *name, struct subject *s, void (*run)(struct subject *), double flops)
{
    double unit, took = best(s, run, gemm_once, &unit);
    printf("  %-44s %8.2f ms %8.1f GFLOP/s  %5.2f of GEMM (%.1f)\n", name, 1e3 * took, 1e-9 * flops / took, flops * unit / took,
           1e-9 / unit);
}

static void report_bytes(const char *name, struct subject *s, void (*run)(struct subject *), double bytes)
{
    double unit, took = best(s, run, copy_once, &unit);
    printf("  %-44s %8.2f ms %8.1f GB/s     %5.2f of copying (%.1f)\n", name, 1e3 * took, 1e-9 * bytes / took,
           bytes * unit / took, 1e-9 / unit);
}

static void products(struct kernels *k)
{
    static const int shapes[][2] = {{HIDDEN, 3 * HIDDEN}, {HIDDEN, HIDDEN}, {HIDDEN, MLP}, {MLP, HIDDEN}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int columns = 0; columns < 2; columns++) {
            size_t in = (size_t)shapes[i][0], out = (size_t)shapes[i][1];
            struct subject s = {.k = k, .rows = {1, ROWS}};
            struct error e;
            char name[64];
            float *data = random_floats(in * out);
            struct weight_part part = {.data = data, .type = ELEMENT_F32, .groups = 1, .rows = out, .columns = in};
            part.row_stride = columns ? 1 : in;
            part.column_stride = columns ? out : 1;
            s.weight = need(k->weight_load(k, WEIGHT_MATRIX, &part, 1, &e));
            s.in = filled(k, ROLE_ACTIVATION, ROWS * in);
            s.out = filled(k, ROLE_ACTIVATION, ROWS * out);
            double flops = 2.0 * ROWS * (double)in * (double)out;
            snprintf(name, sizeof name, "linear %zu -> %zu%s", in, out, columns ? ", stored [in, out]" : "");
            report(name, &s, run_linear, flops);
            snprintf(name, sizeof name, "linear_reverse %zu -> %zu%s", in, out, columns ? ", stored [in, out]" : "");
            report(name, &s, run_linear_reverse, flops);
            k->weight_free(k, s.weight);
            k->destroy(k, s.in);
            k->destroy(k, s.out);
            free(data);
        }
}

static void one_attention(struct kernels *k, int head_size, int positions, int slopes)
{
    int heads = positions > 4096 ? 2 : 4;
    size_t n = (size_t)positions, width = (size_t)heads * (size_t)head_size;
    struct attention_shape shape = {
        .heads = heads, .kv_heads = heads, .head_size = head_size, .positions = positions, .scale = 1 / sqrt(head_size)};
    struct subject s = {.k = k, .positions = positions};
    struct error e;
    char name[64];
    double *bias = need(malloc((size_t)heads * n * sizeof *bias)); /* linear, too flat for any block to be left out */
    for (size_t i = 0; i < (size_t)heads * n; i++)
        bias[i] = -(double)(i % n) / (double)n;
    shape.bias = slopes ? bias : NULL;
    s.attention = need(k->attention_create(k, &shape, &e));
    s.in = filled(k, ROLE_ACTIVATION, n * width);
    s.out = filled(k, ROLE_ACTIVATION, n * width);
    s.other = filled(k, ROLE_ACTIVATION, n * width);
    s.d_in = filled(k, ROLE_ACTIVATION, n * width);
    s.extra = filled(k, ROLE_ACTIVATION, 2 * n * width);
    s.d_extra = filled(k, ROLE_ACTIVATION, 2 * n * width);
    s.lse = filled(k, ROLE_STATISTIC, n * (size_t)heads);
    double block = (double)n * ((double)n + 1) * (double)width; /* operations of one block product on the causal half */
    snprintf(name, sizeof name, "attention, L %d, head size %d%s", positions, head_size, slopes ? ", bias" : "");
    report(name, &s, run_attention, 2 * block);
    snprintf(name, sizeof name, "attention_reverse, L %d, head size %d%s", positions, head_size, slopes ? ", bias" : "");
    report(name, &s, run_attention_reverse, 5 * block);
    struct buffer *all[] = {s.in, s.out, s.other, s.d_in, s.extra, s.d_extra, s.lse};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        k->destroy(k, all[i]);
    k->attention_free(k, s.attention);
    free(bias);
}

static void elements(struct kernels *k)
{
    struct subject s = {.k = k, .rows = {1, ROWS}, .width = HIDDEN};
    struct error e;
    size_t count = (size_t)ROWS * MLP;
    float *ones = random_floats(MLP);
    struct weight_part part = {
        .data = ones, .type = ELEMENT_F32, .groups = 1, .rows = HIDDEN, .columns = 1, .row_stride = 1, .column_stride = 1};
    struct weight *vector = need(k->weight_load(k, WEIGHT_VECTOR, &part, 1, &e));
    s.norm = (struct norm){NORM_LAYER, 1e-5, vector, vector};
    s.in = filled(k, ROLE_ACTIVATION, count);
    s.out = filled(k, ROLE_ACTIVATION, count);
    s.extra = filled(k, ROLE_ACTIVATION, count);
    s.statistics = filled(k, ROLE_STATISTIC, 2 * ROWS);
    double bytes = (double)ROWS * HIDDEN * sizeof(float);
    report_bytes("norm, width 768", &s, run_norm, 2 * bytes);
    report_bytes("norm_reverse, width 768", &s, run_norm_reverse, 4 * bytes);
    s.width = MLP;
    report_bytes("gelu, width 3072", &s, run_gelu, 2 * 4 * bytes);
    report_bytes("gelu reverse, width 3072", &s, run_gelu_reverse, 3 * 4 * bytes);
    struct buffer *all[] = {s.in, s.out, s.extra, s.statistics};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        k->destroy(k, all[i]);
    k->weight_free(k, vector);
    free(ones);
}

static void measure(int threads)
{
    struct error e;
    omp_set_num_threads(threads);
    struct kernels *k = cpu_open(&e);
    if (!k)
        stop(e.text);
    printf("%s, %d thread%s\n", k->name, threads, threads == 1 ? "" : "s");
    products(k);
    static const int head_sizes[] = {64, 80, 128};
    for (int positions = 2048; positions <= 8192; positions *= 4)
        for (int i = 0; i < 3; i++)
            for (int slopes = 0; slopes < 2; slopes++)
                one_attention(k, head_sizes[i], positions, slopes);
    elements(k);
    if (k->synchronize(k, &e))
        stop(e.text);
    k->close(k);
}

int main(int argc, char **argv)
{
    int all = omp_get_max_threads();
    gemm_a = random_floats((size_t)ROWS * HIDDEN);
    gemm_b = random_floats((size_t)MLP * HIDDEN);
    gemm_c = random_floats((size_t)ROWS * MLP);
    if (argc > 1) {
        int threads = atoi(argv[1]);
        if (threads < 1)
            stop("expected a number of threads");
        measure(threads);
    } else {
        measure(1);
        if (all > 1)
            measure(all);
    }
    free(gemm_a);
    free(gemm_b);
    free(gemm_c);
    return 0;
}
