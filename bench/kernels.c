/* The cpu kernel set beside this machine's own rates, in one process: matrix products, attention
 * and recurrences against oneDNN's fp32 product, operations on elements against copying memory.
 * Best of several; a rate and its reference are measured in turns, so that a busy machine slows
 * both. One thread is timed by its own processor time, which a busy machine disturbs less than the
 * clock on the wall.
 *
 *   kernels [THREADS]      (default: one, then all)
 *
 * Products in bf16 and bf16x3 are beside those in float; a GEMM is one in float there, too. */
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
    if (dnnl_sgemm('N', 'T', ROWS, MLP, HIDDEN, 1, gemm_a, HIDDEN, gemm_b, HIDDEN, 0, gemm_c,
                   MLP) != dnnl_success)
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
    struct recurrence recurrence;
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
    s->k->norm_reverse(s->k, s->extra, NULL, s->out, s->in, s->statistics, &s->norm, s->rows,
                       s->width, 1);
}
static void run_gelu(struct subject *s)
{
    s->k->activate(s->k, s->out, s->in, NULL, ACTIVATION_GELU, s->rows, s->width);
}
static void run_gelu_reverse(struct subject *s)
{
    s->k->activate_reverse(s->k, s->out, NULL, s->extra, s->in, NULL, ACTIVATION_GELU, s->rows,
                           s->width);
}
static void run_attention(struct subject *s)
{
    s->k->attention(s->k, s->out, s->lse, s->in, s->extra, s->attention, NULL, 1, s->positions,
                    s->positions);
}
static void run_attention_reverse(struct subject *s)
{
    s->k->attention_reverse(s->k, s->d_in, s->d_extra, s->other, s->in, s->extra, s->out, s->lse,
                            s->attention, NULL, 1, s->positions, s->positions);
}

static void run_recurrence(struct subject *s)
{
    s->k->recur(s->k, s->out, s->statistics, s->in, s->extra, &s->recurrence, 1, s->positions,
                s->positions);
}
static void run_recurrence_reverse(struct subject *s)
{
    s->k->recur_reverse(s->k, s->d_in, s->d_extra, s->other, s->statistics, s->in, s->extra,
                        &s->recurrence, 1, s->positions, s->positions);
}

/* Best seconds of the subject, and in *unit the best seconds a unit of the reference, in turns. */
static double best(struct subject *s, void (*run)(struct subject *), double (*reference)(void),
                   double *unit)
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

static void report_rate(const char *name, double flops, double took, double unit)
{
    printf("  %-44s %8.2f ms %8.1f GFLOP/s  %5.2f of GEMM (%.1f)\n", name, 1e3 * took,
           1e-9 * flops / took, flops * unit / took, 1e-9 / unit);
}

static void report(const char *name, struct subject *s, void (*run)(struct subject *), double flops)
{
    double unit, took = best(s, run, gemm_once, &unit);
    report_rate(name, flops, took, unit);
}

static void report_bytes(const char *name, struct subject *s, void (*run)(struct subject *),
                         double bytes)
{
    double unit, took = best(s, run, copy_once, &unit);
    printf("  %-44s %8.2f ms %8.1f GB/s     %5.2f of copying (%.1f)\n", name, 1e3 * took,
           1e-9 * bytes / took, bytes * unit / took, 1e-9 / unit);
}

static void products(struct kernels *k)
{
    static const int shapes[][2] = {{HIDDEN, 3 * HIDDEN},
                                    {HIDDEN, HIDDEN},
                                    {HIDDEN, MLP},
                                    {MLP, HIDDEN}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int columns = 0; columns < 2; columns++) {
            size_t in = (size_t)shapes[i][0], out = (size_t)shapes[i][1];
            struct subject s = {.k = k, .rows = {1, ROWS}};
            struct error e;
            char name[64];
            float *data = random_floats(in * out);
            struct weight_part part = {
                .data = data, .type = ELEMENT_F32, .groups = 1, .rows = out, .columns = in};
            part.row_stride = columns ? 1 : in;
            part.column_stride = columns ? out : 1;
            s.weight = need(k->weight_load(k, WEIGHT_MATRIX, &part, 1, &e));
            s.in = filled(k, ROLE_ACTIVATION, ROWS * in);
            s.out = filled(k, ROLE_ACTIVATION, ROWS * out);
            double flops = 2.0 * ROWS * (double)in * (double)out;
            snprintf(name, sizeof name, "linear %zu -> %zu%s", in, out,
                     columns ? ", stored [in, out]" : "");
            report(name, &s, run_linear, flops);
            snprintf(name, sizeof name, "linear_reverse %zu -> %zu%s", in, out,
                     columns ? ", stored [in, out]" : "");
            report(name, &s, run_linear_reverse, flops);
            k->weight_free(k, s.weight);
            k->destroy(k, s.in);
            k->destroy(k, s.out);
            free(data);
        }
}

/* -- a layer of experts: the choice, the rows that go there, their products, and what comes back --
 */

enum { EXPERTS = 32, CHOSEN = 4, EXPERT = HIDDEN, SLOTS = ROWS * CHOSEN };
static const struct routing routing = {EXPERTS, CHOSEN, SCORING_SOFTMAX, 1, 1, 0, 1, 1, 0, 0};

struct layer {
    struct kernels *k;
    struct weight *router, *up[EXPERTS], *gate[EXPERTS], *down[EXPERTS];
    struct run runs[EXPERTS];
    struct buffer *x, *y, *logits, *choice, *weights, *place, *order; /* [ROWS, ...] */
    struct buffer *dy, *dx, *d_weights,
        *d_logits; /* apart, so that no run feeds on the one before and numbers stay in range */
    struct buffer *slots, *a, *b, *up_rows, *gate_rows; /* [SLOTS, ...] */
    int at_once; /* experts that one call multiplies with */
};

static void multiply(struct layer *s, struct weight *const *w, struct buffer *y, struct buffer *x,
                     int reverse, int accumulate)
{
    for (int i = 0; i < EXPERTS; i++)
        s->runs[i].weight = w[i];
    for (int i = 0; i < EXPERTS; i += s->at_once)
        (reverse ? s->k->linear_runs_reverse : s->k->linear_runs)(s->k, y, x, s->runs + i,
                                                                  (size_t)s->at_once,
                                                                  SLOTS / EXPERTS, accumulate);
}

static void layer_forward(struct layer *s)
{
    struct kernels *k = s->k;
    struct rows rows = {1, ROWS}, slots = {1, SLOTS};
    k->linear(k, s->logits, s->x, s->router, NULL, rows, 0);
    k->route(k, s->choice, s->weights, s->logits, NULL, &routing, rows);
    k->gather(k, s->slots, s->x, s->order, SLOTS, CHOSEN, HIDDEN);
    multiply(s, s->up, s->up_rows, s->slots, 0, 0);
    multiply(s, s->gate, s->gate_rows, s->slots, 0, 0);
    k->activate(k, s->a, s->up_rows, s->gate_rows, ACTIVATION_SILU, slots, EXPERT);
    multiply(s, s->down, s->slots, s->a, 0, 0);
    k->combine(k, s->y, s->slots, s->place, s->weights, rows, CHOSEN, HIDDEN, 0);
}

static void layer_reverse(struct layer *s)
{
    struct kernels *k = s->k;
    struct rows rows = {1, ROWS}, slots = {1, SLOTS};
    k->gather(k, s->slots, s->dy, s->order, SLOTS, CHOSEN, HIDDEN);
    multiply(s, s->down, s->a, s->slots, 1, 0);
    k->activate(k, s->b, s->up_rows, s->gate_rows, ACTIVATION_SILU, slots, EXPERT);
    k->weigh_reverse(k, s->d_weights, s->a, s->b, s->order, s->weights, SLOTS, EXPERT);
    k->activate_reverse(k, s->a, s->b, s->a, s->up_rows, s->gate_rows, ACTIVATION_SILU, slots,
                        EXPERT);
    multiply(s, s->up, s->slots, s->a, 1, 0);
    multiply(s, s->gate, s->slots, s->b, 1, 1);
    k->combine(k, s->dx, s->slots, s->place, NULL, rows, CHOSEN, HIDDEN, 0);
    k->route_reverse(k, s->d_logits, s->d_weights, s->logits, s->choice, &routing, rows);
    k->linear_reverse(k, s->dx, s->d_logits, s->router, rows, 1);
}

/* Slots by expert and row, as random logits choose. */
static void sort_rows(struct layer *s)
{
    int32_t *choice = need(malloc(3 * SLOTS * sizeof *choice)), *place = choice + SLOTS,
            *order = place + SLOTS, at = 0;
    s->k->route(s->k, s->choice, s->weights, s->logits, NULL, &routing, (struct rows){1, ROWS});
    s->k->read_index(s->k, choice, s->choice, 0, SLOTS);
    for (int e = 0; e < EXPERTS; e++) {
        s->runs[e].first = (size_t)at;
        for (int32_t i = 0; i < SLOTS; i++)
            if (choice[i] == e)
                place[i] = at, order[at++] = i;
        s->runs[e].count = at - (int32_t)s->runs[e].first;
    }
    s->k->write_index(s->k, s->place, 0, place, SLOTS);
    s->k->write_index(s->k, s->order, 0, order, SLOTS);
    free(choice);
}

static struct weight *random_matrix(struct kernels *k, float *data, size_t rows, size_t columns)
{
    struct weight_part part = {
        .data = data, .type = ELEMENT_F32, .groups = 1, .rows = rows, .columns = columns};
    struct error e;
    part.row_stride = columns, part.column_stride = 1;
    return need(k->weight_load(k, WEIGHT_MATRIX, &part, 1, &e));
}

static void experts(struct kernels *k)
{
    struct layer s = {.k = k};
    float *data = random_floats((size_t)(3 * EXPERTS + 1) * HIDDEN * EXPERT), *at = data;
    const double flops = 2.0 * 3 * SLOTS * HIDDEN * EXPERT;
    s.router = random_matrix(k, at, EXPERTS, HIDDEN);
    for (int e = 0; e < EXPERTS; e++) {
        s.up[e] = random_matrix(k, at += HIDDEN * EXPERT, EXPERT, HIDDEN);
        s.gate[e] = random_matrix(k, at += HIDDEN * EXPERT, EXPERT, HIDDEN);
        s.down[e] = random_matrix(k, at += HIDDEN * EXPERT, HIDDEN, EXPERT);
    }
    s.x = filled(k, ROLE_ACTIVATION, ROWS * HIDDEN), s.y = filled(k, ROLE_RESIDUAL, ROWS * HIDDEN);
    s.logits = filled(k, ROLE_RESIDUAL, ROWS * EXPERTS),
    s.weights = filled(k, ROLE_RESIDUAL, SLOTS);
    s.dy = filled(k, ROLE_RESIDUAL, ROWS * HIDDEN),
    s.dx = filled(k, ROLE_ACTIVATION, ROWS * HIDDEN);
    s.d_weights = filled(k, ROLE_RESIDUAL, SLOTS),
    s.d_logits = filled(k, ROLE_RESIDUAL, ROWS * EXPERTS);
    s.slots = filled(k, ROLE_ACTIVATION, SLOTS * HIDDEN),
    s.a = filled(k, ROLE_ACTIVATION, SLOTS * EXPERT);
    s.b = filled(k, ROLE_ACTIVATION, SLOTS * EXPERT),
    s.up_rows = filled(k, ROLE_ACTIVATION, SLOTS * EXPERT);
    s.gate_rows = filled(k, ROLE_ACTIVATION, SLOTS * EXPERT);
    struct buffer **index[] = {&s.choice, &s.place, &s.order};
    struct error e;
    for (int i = 0; i < 3; i++)
        *index[i] = need(k->create(k, ROLE_INDEX, SLOTS, &e));
    sort_rows(&s);
    for (s.at_once = EXPERTS; s.at_once; s.at_once = s.at_once == 1 ? 0 : 1)
        for (int reverse = 0; reverse < 2; reverse++) {
            double unit = INFINITY, least = INFINITY, begin = now();
            for (int i = 0; i < REPEATS_LEAST || (i < REPEATS_MOST && now() - begin < 1); i++) {
                double u = gemm_once(), start = now();
                (reverse ? layer_reverse : layer_forward)(&s);
                least = fmin(least, now() - start), unit = fmin(unit, u);
            }
            char name[64];
            snprintf(name, sizeof name, "%d of %d experts%s%s", CHOSEN, EXPERTS,
                     reverse ? ", reverse" : "", s.at_once == 1 ? ", one by one" : "");
            report_rate(name, flops, least, unit);
        }
    struct buffer *all[] = {s.x,     s.y,     s.logits,    s.choice,  s.weights, s.place,
                            s.order, s.slots, s.a,         s.b,       s.up_rows, s.gate_rows,
                            s.dy,    s.dx,    s.d_weights, s.d_logits};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        k->destroy(k, all[i]);
    for (int i = 0; i < EXPERTS; i++)
        k->weight_free(k, s.up[i]), k->weight_free(k, s.gate[i]), k->weight_free(k, s.down[i]);
    k->weight_free(k, s.router);
    free(data);
}

static void one_attention(struct kernels *k, int head_size, int value_size, int positions,
                          int slopes)
{
    int heads = positions > 4096 ? 2 : 4;
    size_t n = (size_t)positions, width = (size_t)heads * (size_t)head_size,
           values = (size_t)heads * (size_t)value_size;
    struct attention_shape shape = {.heads = heads,
                                    .kv_heads = heads,
                                    .head_size = head_size,
                                    .value_size = value_size,
                                    .positions = positions,
                                    .scale = 1 / sqrt(head_size)};
    struct subject s = {.k = k, .positions = positions};
    struct error e;
    char name[80], sizes[32];
    double *bias = need(malloc((size_t)heads * n *
                               sizeof *bias)); /* linear, too flat for any block to be left out */
    for (size_t i = 0; i < (size_t)heads * n; i++)
        bias[i] = -(double)(i % n) / (double)n;
    shape.bias = slopes ? bias : NULL;
    s.attention = need(k->attention_create(k, &shape, &e));
    s.in = filled(k, ROLE_ACTIVATION, n * width);
    s.out = filled(k, ROLE_ACTIVATION, n * values);
    s.other = filled(k, ROLE_ACTIVATION, n * values);
    s.d_in = filled(k, ROLE_ACTIVATION, n * width);
    s.extra = filled(k, ROLE_ACTIVATION, n * (width + values));
    s.d_extra = filled(k, ROLE_ACTIVATION, n * (width + values));
    s.lse = filled(k, ROLE_STATISTIC, n * (size_t)heads);
    double half = (double)n * ((double)n + 1), keys = half * (double)width,
           of_values = half * (double)values; /* operations of a product on the causal half */
    snprintf(sizes, sizeof sizes, head_size == value_size ? "head size %d" : "head size %d, %d",
             head_size, value_size);
    snprintf(name, sizeof name, "attention, L %d, %s%s", positions, sizes, slopes ? ", bias" : "");
    report(name, &s, run_attention, keys + of_values);
    snprintf(name, sizeof name, "attention_reverse, L %d, %s%s", positions, sizes,
             slopes ? ", bias" : "");
    report(name, &s, run_attention_reverse, 3 * keys + 2 * of_values);
    struct buffer *all[] = {s.in, s.out, s.other, s.d_in, s.extra, s.d_extra, s.lse};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        k->destroy(k, all[i]);
    k->attention_free(k, s.attention);
    free(bias);
}

/* Operations counted: those of products of chunks of 64 rows, on the causal half where one is
 * enough, and once for the heads that share queries and keys where these alone are multiplied. */
static void one_recurrence(struct kernels *k, int heads, int key_heads, int key_size,
                           int value_size, int delta)
{
    enum { POSITIONS = 2048, CHUNK = 64 };
    struct recurrence r = {.heads = heads,
                           .key_heads = key_heads,
                           .key_size = key_size,
                           .value_size = value_size,
                           .delta = delta,
                           .scale = 1};
    size_t n = POSITIONS, width = (size_t)recurrence_width(&r), gates = 2 * (size_t)heads;
    struct subject s = {.k = k, .positions = POSITIONS, .recurrence = r};
    struct error e;
    char name[80];
    double *values = need(malloc(n * width * sizeof *values));
    s.in = filled(k, ROLE_ACTIVATION, n * width);
    k->read(k, values, s.in, 0, n * width);
    for (size_t i = 0; i < n * width; i++) /* short keys, with which no state grows */
        values[i] /= 16;
    k->write(k, s.in, 0, values, n * width);
    for (size_t i = 0; i < n * gates; i++)
        values[i] = i % gates < (size_t)heads ? -0.02 : 0.5;
    s.extra = need(k->create(k, ROLE_RESIDUAL, n * gates, &e));
    k->write(k, s.extra, 0, values, n * gates);
    s.statistics = need(
        k->create(k, ROLE_STATISTIC,
                  (size_t)heads * recurrence_states(POSITIONS) * (size_t)(key_size * value_size),
                  &e));
    s.out = filled(k, ROLE_ACTIVATION, n * (size_t)recurrence_o_width(&r));
    s.other = filled(k, ROLE_ACTIVATION, n * (size_t)recurrence_o_width(&r));
    s.d_in = filled(k, ROLE_ACTIVATION, n * width);
    s.d_extra = filled(k, ROLE_RESIDUAL, n * gates);
    double half = (CHUNK + 1) / 2.0, dk = key_size, dv = value_size, each = heads * dk * dv,
           of_keys = heads * half * dk, of_values = heads * half * dv,
           pairs = key_heads * half * dk * (delta ? 2 : 1);
    snprintf(name, sizeof name, "recurrence, %d/%d heads of %d x %d%s", heads, key_heads, key_size,
             value_size, delta ? ", delta rule" : "");
    report(name, &s, run_recurrence,
           2 * (double)n * (pairs + of_values * (delta ? 2 : 1) + each * (delta ? 3 : 2)));
    snprintf(name, sizeof name, "recurrence_reverse, %d/%d heads of %d x %d%s", heads, key_heads,
             key_size, value_size, delta ? ", delta rule" : "");
    /* with the states before chunks once more */
    report(name, &s, run_recurrence_reverse,
           2 * (double)n *
               (pairs + of_keys * (delta ? 4 : 2) + of_values * (delta ? 5 : 2) +
                each * (delta ? 8 : 5)));
    struct buffer *all[] = {s.in, s.out, s.other, s.extra, s.statistics, s.d_in, s.d_extra};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        k->destroy(k, all[i]);
    free(values);
}

static void recurrences(struct kernels *k)
{
    static const int shapes[][5] = {
        /* Mamba-2 of 130M; gated delta rules, without groups and with */
        {24, 1, 128, 64, 0},
        {8, 8, 128, 128, 1},
        {8, 4, 128, 128, 1}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        one_recurrence(k, shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3], shapes[i][4]);
}

static void elements(struct kernels *k)
{
    struct subject s = {.k = k, .rows = {1, ROWS}, .width = HIDDEN};
    struct error e;
    size_t count = (size_t)ROWS * MLP;
    float *ones = random_floats(MLP);
    struct weight_part part = {.data = ones,
                               .type = ELEMENT_F32,
                               .groups = 1,
                               .rows = HIDDEN,
                               .columns = 1,
                               .row_stride = 1,
                               .column_stride = 1};
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

static void rounded(int threads, struct kernels *(*open)(struct error *))
{
    struct error e;
    struct kernels *k = open(&e);
    if (!k)
        stop(e.text);
    printf("%s in %s, %d thread%s\n", k->name, k->dtype, threads, threads == 1 ? "" : "s");
    products(k);
    if (k->synchronize(k, &e))
        stop(e.text);
    k->close(k);
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
    experts(k);
    static const int sizes[][2] = {{64, 64}, {80, 80}, {128, 128}, {96, 64}, {192, 128}};
    for (int positions = 2048; positions <= 8192; positions *= 4)
        for (int i = 0; i < 5; i++)
            for (int slopes = 0; slopes < 2; slopes++)
                one_attention(k, sizes[i][0], sizes[i][1], positions, slopes);
    recurrences(k);
    elements(k);
    if (k->synchronize(k, &e))
        stop(e.text);
    k->close(k);
    rounded(threads, cpu_open_bf16);
    rounded(threads, cpu_open_bf16x3);
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
