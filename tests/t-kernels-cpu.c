/* What is particular to the cpu set: its instruction sets, the accuracy of its elementary
 * functions, the exactness of block skipping, weights used where they lie, and the same bytes at
 * sizes of several tiles. That each operation is right at awkward sizes is shown by
 * t-kernels-sets.c. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/state.h"
#include "tests/compare.h"
#include "tests/kernel_run.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct kernels
    *sets[5]; /* one for each instruction set that this machine has; those for bf16 alone in bf16 */
static int set_count;
static struct kernels *best; /* in f32 */

static int setup(void **unused)
{
    static const char *const names[] = {"generic", "avx2", "avx512", "avx512_bf16", "amx"};
    enum { FLOATS = 3 };
    struct error e;
    (void)unused;
    omp_set_num_threads(2);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        setenv("REACH_ISA", names[i], 1);
        struct kernels *k = i < FLOATS ? cpu_open(&e) : cpu_open_bf16(&e);
        if (k)
            sets[set_count++] = k;
        else
            print_message("%s\n", e.text);
        if (k && i < FLOATS)
            best = k;
    }
    unsetenv("REACH_ISA");
    return best ? 0 : -1;
}

static int teardown(void **unused)
{
    (void)unused;
    for (; set_count; set_count--)
        sets[set_count - 1]->close(sets[set_count - 1]);
    return 0;
}

static void test_dispatch(void **unused)
{
    struct error e;
    (void)unused;
    assert_true(cpu_usable());
    assert_non_null(strstr(sets[0]->name, "generic"));
    struct kernels *k = cpu_open(&e);
    assert_non_null(k);
    assert_string_equal(k->name, best->name); /* it is the default */
    k->close(k);
    setenv("REACH_ISA", "sse9", 1);
    assert_null(cpu_open(&e));
    unsetenv("REACH_ISA");
    assert_non_null(strstr(e.text, "sse9"));
    assert_non_null(strstr(e.text, "avx2"));
}

/* Distance of `got` from the exact value in units of the float spacing there. */
static double ulp(float got, double want)
{
    int exponent;
    frexp(want, &exponent);
    return fabs((double)got - want) / ldexp(1, exponent - 24);
}

static void check_function(const char *name, void (*function)(float *, const float *, size_t),
                           double (*exact)(double), float first, float last, double most)
{
    enum { POINTS = 100003 }; /* not whole vectors */
    float *x = allocate(POINTS * sizeof *x), *y = allocate(POINTS * sizeof *y);
    double worst = 0;
    for (int i = 0; i < POINTS; i++)
        x[i] = (float)(first + ((double)last - first) * i / (POINTS - 1));
    function(y, x, POINTS);
    for (int i = 0; i < POINTS; i++) {
        double off = exact(x[i]) == 0 ? fabs((double)y[i]) * 1e45 : ulp(y[i], exact(x[i]));
        if (!(off <= most))
            fail_msg("%s(%.9g) = %.9g, %.3g ulp from %.17g (expected at most %g)", name,
                     (double)x[i], (double)y[i], off, exact(x[i]), most);
        worst = off > worst ? off : worst;
    }
    print_message("%s on [%g, %g]: %.2f ulp\n", name, (double)first, (double)last, worst);
    free(x);
    free(y);
}

static void test_functions(void **unused)
{
    (void)unused;
    for (int i = 0; i < set_count; i++) {
        const struct vector_kernels *v = cpu_state(sets[i])->vector;
        print_message("%s:\n", v->isa);
        check_function("exp", v->exp, exp, -87.3f, 0, 2);
        check_function("exp", v->exp, exp, -1e-3f, 1e-3f, 2);
        check_function("exp", v->exp, exp, 0, 88, 2);
        check_function("tanh", v->tanh, tanh, -1, 1, 3);
        check_function("tanh", v->tanh, tanh, -1e-3f, 1e-3f, 3);
        check_function("tanh", v->tanh, tanh, -30, 30, 3);
        /* the zero that skipping relies on, and what is not a number stays so whatever its payload
         */
        uint32_t payload = 0x7fffffff;
        float in[] = {nextafterf(-87.3f, -100), -88, -1e4f, -3e38f, -INFINITY, NAN, 0}, out[7];
        memcpy(&in[6], &payload, sizeof payload);
        v->exp(out, in, 7);
        for (int j = 0; j < 5; j++)
            assert_true(out[j] == 0);
        assert_true(isnan(out[5]) && isnan(out[6]));
        v->tanh(out, in, 7);
        assert_true(out[4] == -1 && isnan(out[5]) && isnan(out[6]));
    }
}

/* GELU against erfc in double: Phi within 2e-7, relatively 1e-5 in the tail; the slope within 4e-7.
 */
static void test_gelu(void **unused)
{
    enum { POINTS = 40001 };
    static float x[POINTS], y[POINTS], ones[POINTS], slope[POINTS];
    (void)unused;
    for (int i = 0; i < POINTS; i++) {
        x[i] = (float)(-10 + 20.0 * i / (POINTS - 1));
        ones[i] = 1;
    }
    for (int s = 0; s < set_count; s++) {
        const struct vector_kernels *v = cpu_state(sets[s])->vector;
        double worst = 0, worst_relative = 0, worst_slope = 0;
        v->activate(y, x, NULL, ACTIVATION_GELU, POINTS);
        v->activate_reverse(slope, NULL, ones, x, NULL, ACTIVATION_GELU, POINTS);
        for (int i = 0; i < POINTS; i++) {
            double z = x[i], phi = 0.5 * erfc(-z * M_SQRT1_2), want = z * phi,
                   want_slope = phi + z * exp(-0.5 * z * z) * 0.3989422804014327;
            double off = fabs(y[i] - want), off_slope = fabs(slope[i] - want_slope);
            if (!(off <= 2e-7 * fabs(z) && off <= 1e-5 * fabs(want) && off_slope <= 4e-7))
                fail_msg("%s: gelu(%.9g) = %.9g, slope %.9g (expected %.17g, %.17g)", v->isa, z,
                         (double)y[i], (double)slope[i], want, want_slope);
            worst = fmax(worst, z ? off / fabs(z) : 0);
            worst_relative = fmax(worst_relative, want ? off / fabs(want) : 0);
            worst_slope = fmax(worst_slope, off_slope);
        }
        print_message("%s: gelu / x within %.2g (relatively %.2g), slope within %.2g\n", v->isa,
                      worst, worst_relative, worst_slope);
    }
}

static void require_same(const char *change, const struct kernels *k, int number,
                         const struct outputs *got, const struct outputs *want)
{
    for (int a = 0; a < want->count; a++)
        if (compare_exact(want->array[a].name, got->array[a].value, want->array[a].value,
                          (size_t)want->segments * want->array[a].each))
            fail_msg("%s changes bits: %s, case %d", change, k->name, number);
}

/* Attention with every kind of score, long enough for many blocks; steep biases let most of them be
 * left out. */
static const struct attention_case attention_cases[] = {
    /* segments, first, heads, kv_heads, head_size, positions, keys, queries, window, bias,
       multiplier, key_bias, soft_cap, size, d_o, keep, sinks, value_size */
    {1, 0, 2, 2, 16, 700, 700, 700, 0, BIAS_STEEP, 0, 0, 0, 1, 0, 0, 0, 0},
    {1, 0, 2, 1, 8, 611, 611, 611, 0, BIAS_STEEP, 1, 1, 0, 2, 0, 0, 0, 0},
    {1, 0, 2, 2, 24, 500, 500, 500, 150, BIAS_GENTLE, 0, 2, 5, 2, 0, 0, 0, 0},
    {1, 0, 2, 2, 8, 500, 450, 300, 0, BIAS_STEEP, 0, 0, 3, 1, 0, 0, 0, 0},
    {1, 0, 1, 1, 32, 900, 900, 1, 0, BIAS_STEEP, 0, 0, 0, 1, 0, 0, 0, 0},
    {1, 0, 2, 2, 12, 400, 400, 400, 0, BIAS_HOLES, 0, 0, 0, 8, 0, 0, 0, 0},
    {1, 0, 2, 2, 12, 400, 400, 400, 0, BIAS_NONE, 0, 0, 0, 8, 0, 0, 0, 0},
};
enum { ATTENTION_CASES = sizeof attention_cases / sizeof *attention_cases };

static void test_skipping_changes_nothing(void **unused)
{
    (void)unused;
    for (int i = 0; i < set_count; i++)
        for (int n = 0; n < ATTENTION_CASES; n++) {
            struct outputs with = run_attention(sets[i], &attention_cases[n], 0);
            cpu_state(sets[i])->skip = 0;
            struct outputs without = run_attention(sets[i], &attention_cases[n], 0);
            cpu_state(sets[i])->skip = 1;
            require_same("block skipping", sets[i], n, &with, &without);
            outputs_free(&with);
            outputs_free(&without);
        }
}

/* Processor seconds of one head of 2048 positions with the bias -t, forward and reverse. */
static double steep_seconds(struct kernels *k, int skip)
{
    enum { N = 2048, D = 32 };
    struct error e;
    struct timespec t[2];
    double *bias = allocate(N * sizeof *bias), *values = random_values(2 * N * D, 5, 0x1p-2);
    for (int i = 0; i < N; i++)
        bias[i] = -i;
    struct attention_shape shape = {
        .heads = 1, .kv_heads = 1, .head_size = D, .positions = N, .scale = 0.25, .bias = bias};
    struct attention *a = k->attention_create(k, &shape, &e);
    assert_non_null(a);
    struct buffer *q = buffer_of(k, ROLE_ACTIVATION, values, N * D),
                  *kv = buffer_of(k, ROLE_ACTIVATION, values, 2 * N * D);
    struct buffer *o = buffer_new(k, ROLE_ACTIVATION, N * D),
                  *lse = buffer_new(k, ROLE_STATISTIC, N),
                  *dq = buffer_new(k, ROLE_ACTIVATION, N * D);
    struct buffer *dkv = buffer_new(k, ROLE_ACTIVATION, 2 * N * D);
    cpu_state(k)->skip = skip;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t[0]);
    k->attention(k, o, lse, q, kv, a, NULL, 1, N, N);
    k->attention_reverse(k, dq, dkv, q, q, kv, o, lse, a, NULL, 1, N, N);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t[1]);
    cpu_state(k)->skip = 1;
    struct buffer *all[] = {q, kv, o, lse, dq, dkv};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        k->destroy(k, all[i]);
    k->attention_free(k, a);
    free(bias);
    free(values);
    return (double)(t[1].tv_sec - t[0].tv_sec) + 1e-9 * (double)(t[1].tv_nsec - t[0].tv_nsec);
}

/* With the bias -t two or three of up to 22 key blocks matter. */
static void test_skipping_saves_time(void **unused)
{
    (void)unused;
    omp_set_num_threads(1);
    for (int i = 0; i < set_count; i++) {
        double with = INFINITY, without = INFINITY;
        for (int repeat = 0; repeat < 3; repeat++) {
            with = fmin(with, steep_seconds(sets[i], 1));
            without = fmin(without, steep_seconds(sets[i], 0));
        }
        print_message("%s: %.2f ms with skipping, %.2f ms without\n", sets[i]->name, 1e3 * with,
                      1e3 * without);
        assert_true(with < 0.7 * without);
    }
    omp_set_num_threads(2);
}

/* Products of more rows and columns than a tile has, and attention of many blocks: 1 and 4 threads
 * give the bytes of 2. */
static void test_threads(void **unused)
{
    static const struct linear_case linear[] = {{1, 0, 1030, 40, 500, 1, 0, 0},
                                                {3, 0, 130, 33, 1200, 1, 1, 0},
                                                {9, 0, 1, 300, 300, 1, 0, 0},
                                                {2, 0, 9, 700, 20, 0, 0, 0},
                                                {2, 0, 1030, 260, 520, 1, 0, 2}};
    enum { LINEAR_CASES = sizeof linear / sizeof *linear, CASES = LINEAR_CASES + ATTENTION_CASES };
    (void)unused;
    for (int i = 0; i < set_count * CASES; i++) {
        struct kernels *k = sets[i / CASES];
        int n = i % CASES, product = n < LINEAR_CASES;
        const struct attention_case *a = product ? NULL : &attention_cases[n - LINEAR_CASES];
        struct outputs want = product ? run_linear(k, &linear[n], 0) : run_attention(k, a, 0);
        for (int threads = 1; threads <= 4; threads += 3) {
            omp_set_num_threads(threads);
            struct outputs got = product ? run_linear(k, &linear[n], 0) : run_attention(k, a, 0);
            require_same("the thread count", k, n, &got, &want);
            outputs_free(&got);
        }
        omp_set_num_threads(2);
        outputs_free(&want);
    }
}

/* Ways to store the matrix [ROWS, COLUMNS], and whether the set should use it where it lies. */
enum { ROWS = 37, COLUMNS = 21, BATCH = 11 };
struct layout {
    const char *name;
    int parts, transposed, ld, type_f32, shift, own; /* ld 0: dense; shift: bytes off alignment */
    double offset;
};
static const struct layout layouts[] = {
    {"dense", 1, 0, 0, 1, 0, 0, 0},           {"wide rows", 1, 0, 40, 1, 0, 0, 0},
    {"columns", 1, 1, 0, 1, 0, 0, 0},         {"three parts", 3, 0, 0, 1, 0, 0, 0},
    {"six parts apart", 6, 0, 0, 1, 0, 1, 0}, {"parts in columns", 3, 1, 60, 1, 0, 0, 0},
    {"doubles", 1, 0, 0, 0, 0, 1, 0},         {"columns of doubles", 1, 1, 0, 0, 0, 1, 0},
    {"unaligned", 1, 0, 0, 1, 2, 1, 0},       {"offset", 2, 0, 0, 1, 0, 1, 1},
};

/* Stores `matrix` as the layout says into memory (alternate parts changed in place when many, so
 * that they do not join) and fills `part`. */
static void store(struct weight_part part[6], char *memory, const struct layout *l,
                  const double *matrix)
{
    size_t ld = l->ld ? (size_t)l->ld : l->transposed ? ROWS : COLUMNS, size = l->type_f32 ? 4 : 8;
    for (int p = 0, row = 0; p < l->parts; p++) {
        int rows = p == l->parts - 1 ? ROWS - row : ROWS / l->parts;
        size_t first = (size_t)(l->parts > 3 ? row + 2 * p
                                             : row); /* gaps of two rows between many parts */
        part[p] = (struct weight_part){.type = l->type_f32 ? ELEMENT_F32 : ELEMENT_F64,
                                       .groups = 1,
                                       .rows = (size_t)rows,
                                       .columns = COLUMNS,
                                       .offset = l->offset};
        part[p].row_stride = l->transposed ? 1 : ld;
        part[p].column_stride = l->transposed ? ld : 1;
        part[p].data = memory + l->shift + first * part[p].row_stride * size;
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < COLUMNS; c++) {
                double value = matrix[(row + r) * COLUMNS + c] - l->offset;
                float narrow = (float)value;
                char *to = memory + l->shift +
                           ((first + (size_t)r) * part[p].row_stride +
                            (size_t)c * part[p].column_stride) *
                               size;
                memcpy(to, l->type_f32 ? (void *)&narrow : (void *)&value, size);
            }
        row += rows;
    }
}

static void test_layouts(void **unused)
{
    struct kernels *k = best;
    double *matrix = random_values(ROWS * COLUMNS, 1, 0x1p-1),
           *values = random_values(BATCH * ROWS, 2, 1), want[2][BATCH * ROWS], got[BATCH * ROWS];
    char *memory = allocate(60 * 60 * sizeof(double));
    (void)unused;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        matrix[i] = floor(matrix[i] * 1024) / 1024; /* so that the offset is exact */
    for (int rows = 1; rows <= BATCH; rows += BATCH - 1) /* one row, and enough for oneDNN */
        for (size_t n = 0; n < sizeof layouts / sizeof *layouts; n++) {
            const struct layout *l = &layouts[n];
            struct weight_part part[6];
            struct error e;
            store(part, memory, l, matrix);
            size_t bytes = k->weight_bytes(k, WEIGHT_MATRIX, part, l->parts);
            if (bytes != (l->own ? ROWS * COLUMNS * sizeof(float) : 0))
                fail_msg("%s: weight_bytes %zu", l->name, bytes);
            struct weight *w = k->weight_load(k, WEIGHT_MATRIX, part, l->parts, &e);
            assert_non_null(w);
            assert_int_equal(w->owned != NULL, l->own);
            struct buffer *x = buffer_of(k, ROLE_ACTIVATION, values, BATCH * ROWS),
                          *y = buffer_new(k, ROLE_ACTIVATION, BATCH * ROWS);
            for (int direction = 0; direction < 2; direction++) {
                struct rows some = {1, rows};
                size_t count = (size_t)rows * (direction ? COLUMNS : ROWS);
                if (direction)
                    k->linear_reverse(k, y, x, w, some, 0);
                else
                    k->linear(k, y, x, w, NULL, some, 0);
                k->read(k, n ? got : want[direction], y, 0, count);
                if (n && compare_values(l->name, got, want[direction], count, 1e-5, 0))
                    fail_msg("%s differs from dense: direction %d, rows %d", l->name, direction,
                             rows);
            }
            k->destroy(k, x);
            k->destroy(k, y);
            k->weight_free(k, w);
        }
    free(matrix);
    free(values);
    free(memory);
}

/* Factors and results below the normal numbers count as 0, and the caller's mode is as before: with
 * them a product takes several times as long. */
static void test_denormals(void **unused)
{
#if defined(__SSE__)
    enum { N = 64 };
    static float small[N * N], half[N * N], product[N * N];
    volatile float least = 1e-38f;

    (void)unused;
    for (int i = 0; i < N * N; i++)
        small[i] = i % 2 ? 1e-39f : 2e-38f, half[i] = 0x1p-10f;
    cpu_multiply(best, product, N, small, N, half, N, 0, N, N, N, 0);
    for (int i = 0; i < N * N; i++)
        if (product[i] != 0)
            fail_msg("element %d is %g", i, (double)product[i]);
    assert_true(least / 2 > 0);
#else
    (void)unused;
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dispatch),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_gelu),
        cmocka_unit_test(test_skipping_changes_nothing),
        cmocka_unit_test(test_skipping_saves_time),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_denormals),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
