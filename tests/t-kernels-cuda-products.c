/* Matrix products of the cuda set where cuBLASLt does not do what one would like: the stand-in for
 * it refuses odd leading dimensions, numbers of rows, or everything (tests/cuda_host/cublasLt.h).
 * Results are held to the same bounds as everywhere (tests/kernel_run.c), and a segment has the
 * same bytes alone and among others. On a GPU the same cases, as its library does them. */
#include "tests/compare.h"
#include "tests/kernel_run.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH(array) ((int)(sizeof(array) / sizeof *(array)))

static struct kernels *oracle;

static struct kernels *open_set(const char *name, const char *dtype)
{
    struct error e;
    for (int i = 0; i < kernel_set_count; i++)
        if (!strcmp(kernel_sets[i].name, name) && !strcmp(kernel_sets[i].dtype, dtype) &&
            set_usable(&kernel_sets[i])) {
            struct kernels *k = kernel_sets[i].open(&e);
            if (!k)
                fail_msg("%s %s: %s", name, dtype, e.text);
            return k;
        }
    return NULL;
}

static const struct {
    const char *name;
    double roundoff;
} dtypes[] = {{"f32", 0x1p-24}, {"tf32", 0x1p-11}, {"bf16", 0x1p-8}};

/* As near to the oracle's as the bound says; in bf16 the inputs were rounded too. */
static void require_near(const char *mode, const struct kernels *k, double roundoff,
                         const struct outputs *got, const struct outputs *want)
{
    for (int a = 0; a < want->count; a++) {
        const struct output *w = &want->array[a];
        size_t count = (size_t)want->segments * w->each;
        double *bound = allocate(count * sizeof *bound);
        for (size_t i = 0; i < count; i++)
            bound[i] = w->bound[i] + (strcmp(k->dtype, "bf16") ? 0 : fabs(w->value[i]));
        if (compare_bounded(w->name, got->array[a].value, w->value, bound, count, roundoff))
            fail_msg("%s, %s: %s of %zu numbers a segment differs", mode, k->dtype, w->name,
                     w->each);
        free(bound);
    }
}

static void require_same(const char *mode, const struct kernels *k, const struct outputs *alone,
                         const struct outputs *all)
{
    for (int a = 0; a < all->count; a++)
        if (compare_exact(all->array[a].name, alone->array[a].value,
                          all->array[a].value + (size_t)(all->segments - 1) * all->array[a].each,
                          all->array[a].each))
            fail_msg("%s, %s: a segment alone has other bytes", mode, k->dtype);
}

static void check_linear(const char *mode, struct kernels *k, double roundoff, struct linear_case c)
{
    struct outputs want = run_linear(oracle, &c, 1), got = run_linear(k, &c, 0);
    c.first = c.segments - 1, c.segments = 1;
    struct outputs alone = run_linear(k, &c, 0);
    require_near(mode, k, roundoff, &got, &want);
    require_same(mode, k, &alone, &got);
    outputs_free(&want), outputs_free(&got), outputs_free(&alone);
}

static void check_runs(const char *mode, struct kernels *k, double roundoff,
                       const struct runs_case *c)
{
    struct outputs want = run_runs(oracle, c, 1), got = run_runs(k, c, 0);
    require_near(mode, k, roundoff, &got, &want);
    outputs_free(&want), outputs_free(&got);
}

static void check_head_rows(const char *mode, struct kernels *k, double roundoff,
                            const struct head_rows_case *c)
{
    struct outputs want = run_head_rows(oracle, c, 1), got = run_head_rows(k, c, 0);
    require_near(mode, k, roundoff, &got, &want);
    outputs_free(&want), outputs_free(&got);
}

/* Each kind of product whose rows are whole vectors was the library's: on a GPU a kernel of our own
 * takes twenty times as long.
 */
static void require_library(struct kernels *k)
{
    char text[300];
    size_t depth, out;
    int kinds = 0;
    for (int i = 0; k->product_text(k, i, text, sizeof text); i++) {
        assert_int_equal(sscanf(text, "%*s %zu -> %zu", &depth, &out), 2);
        if (depth % 8 || out % 8)
            continue;
        kinds++;
        if (!strstr(text, ": cuBLASLt algorithm "))
            fail_msg("%s: %s", k->dtype, text);
    }
    assert_true(kinds > 3);
}

static void check_mode(const char *mode)
{
    static const struct linear_case linear[] = {
        /* segments, first, rows, in, out, bias, accumulate */
        {1, 0, 1, 1, 1, 0, 0, 0},
        {2, 0, 65, 63, 67, 1, 1, 0},
        {2, 0, 3, 64, 65, 1, 0, 0},
        {3, 0, 50, 64, 96, 1, 1, 0},
        {2, 0, 129, 32, 24, 0, 1, 0},
        {1, 0, 41, 8, 16, 1, 0, 0},
        {2, 0, 1, 128, 64, 1, 0, 0},
        {1, 0, 1100, 8, 8, 1, 0, 0},
        /* one plan, first by few rows: what it then refuses at 90 is done in halves */
        {2, 0, 129, 32, 24, 1, 2, 0},
        {3, 0, 50, 63, 97, 0, 2, 0},
        {1, 0, 30, 64, 48, 1, 0, 0},
        {3, 0, 30, 64, 48, 1, 0, 0},
        {2, 0, 300, 64, 512, 1, 0, 0},
    };
    static const struct runs_case runs[] = {{2, 0, 40, 32, 48, 1, 1, 0},
                                            {1, 0, 100, 24, 17, 1, 0, 1},
                                            {1, 0, 90, 16, 8, 0, 1, 0}};
    static const struct head_rows_case heads[] = {{2, 0, 50, 64, 200, 1, 0, 1},
                                                  {1, 0, 70, 31, 77, 0, 5, 1}};
    setenv("REACH_CUDA_HOST_BLAS", mode, 1);
    for (int d = 0; d < LENGTH(dtypes); d++) {
        struct kernels *k = open_set("cuda", dtypes[d].name);
        if (!k)
            continue;
        for (int i = 0; i < LENGTH(linear); i++)
            check_linear(mode, k, dtypes[d].roundoff, linear[i]);
        for (int i = 0; i < LENGTH(runs); i++)
            check_runs(mode, k, dtypes[d].roundoff, &runs[i]);
        for (int i = 0; i < LENGTH(heads); i++)
            check_head_rows(mode, k, dtypes[d].roundoff, &heads[i]);
        if (!*mode)
            require_library(k);
        k->close(k);
    }
    unsetenv("REACH_CUDA_HOST_BLAS");
}

static void test_plain(void **state)
{
    (void)state;
    check_mode("");
}

static void test_hostile(void **state)
{
    (void)state;
    check_mode("hostile");
}

static void test_nothing(void **state)
{
    (void)state;
    check_mode("nothing");
}

/* tf32 operands are rounded to the nearest, not cut: of x and of w, forward and in reverse, and of
 * the head's table. */
static void test_rounding(void **state)
{
    static const char *const modes[] = {"", "nothing"};
    enum { SIZE = 24 };
    const double rough = 1 + 0x1p-11 + 0x1p-13, want = 1 + 0x1p-10;
    double one[SIZE * SIZE] = {0}, rough_one[SIZE * SIZE] = {0}, plain[SIZE], rough_row[SIZE],
                      got[SIZE];
    struct rows rows = {1, 1};
    struct error e;
    (void)state;
    for (int i = 0; i < SIZE; i++) {
        plain[i] = 1, rough_row[i] = rough;
        one[i * SIZE + i] = 1, rough_one[i * SIZE + i] = rough;
    }
    for (int m = 0; m < LENGTH(modes); m++) {
        setenv("REACH_CUDA_HOST_BLAS", modes[m], 1);
        struct kernels *k = open_set("cuda", "tf32");
        for (int side = 0; k && side < 4; side++) { /* x or w is rough; forward or reverse */
            struct weight *w = weight_of(k, WEIGHT_MATRIX, side & 1 ? rough_one : one, SIZE, SIZE);
            struct buffer *x = buffer_of(k, ROLE_ACTIVATION, side & 1 ? plain : rough_row, SIZE),
                          *y = buffer_of(k, ROLE_ACTIVATION, plain, SIZE);
            if (side & 2)
                k->linear_reverse(k, y, x, w, rows, 0);
            else
                k->linear(k, y, x, w, NULL, rows, 0);
            k->read(k, got, y, 0, SIZE);
            assert_int_equal(k->synchronize(k, &e), 0);
            for (int i = 0; i < SIZE; i++)
                if (got[i] != want)
                    fail_msg("mode \"%s\", side %d: %.9g of %.9g (expected %.9g)", modes[m], side,
                             got[i], rough, want);
            k->destroy(k, x);
            k->destroy(k, y);
            k->weight_free(k, w);
        }
        for (int side = 0; k && side < 2; side++) { /* the head: one logit is SIZE, rounded as x or
                                                       the table is, the others are 0 */
            double table[SIZE * SIZE] = {0}, logprob;
            int32_t target = 1;
            for (int i = 0; i < SIZE; i++)
                table[i] = side ? rough : 1;
            struct weight *w = weight_of(k, WEIGHT_TABLE, table, SIZE, SIZE);
            struct buffer *x = buffer_of(k, ROLE_ACTIVATION, side ? plain : rough_row, SIZE),
                          *targets = index_of(k, &target, 1), *y = buffer_new(k, ROLE_STATISTIC, 1);
            k->head_rows(k, y, x, targets, w, NULL, 0, rows, SIZE);
            k->read(k, &logprob, y, 0, 1);
            assert_int_equal(k->synchronize(k, &e), 0);
            if (!(fabs(logprob + SIZE * want) <= 1e-4))
                fail_msg("mode \"%s\", head, side %d: %.9g (expected %.9g)", modes[m], side,
                         logprob, -SIZE * want);
            k->destroy(k, x), k->destroy(k, y), k->destroy(k, targets);
            k->weight_free(k, w);
        }
        if (k)
            k->close(k);
    }
    unsetenv("REACH_CUDA_HOST_BLAS");
}

/* More rows than one rounded copy holds (64 MB): the pieces join, and other kinds of work space
 * stay. */
static void test_pieces(void **state)
{
    enum { IN = 16384, ROWS = 1100, OUT = 4 };
    struct kernels *k = open_set("cuda", "tf32");
    struct rows rows = {1, ROWS};
    struct error e;
    (void)state;
    if (!k)
        skip();
    double *x = allocate((size_t)ROWS * IN * sizeof *x),
           *w = allocate((size_t)OUT * IN * sizeof *w), *y = allocate(ROWS * OUT * 8);
    for (size_t i = 0; i < (size_t)ROWS * IN; i++)
        x[i] = i % IN == 5 ? (double)(i / IN) : 0;
    for (size_t i = 0; i < (size_t)OUT * IN; i++)
        w[i] = i % IN == 5 ? (double)(1 + i / IN) : 0.5;
    struct weight *weight = weight_of(k, WEIGHT_MATRIX, w, OUT, IN);
    struct buffer *in = buffer_of(k, ROLE_ACTIVATION, x, (size_t)ROWS * IN),
                  *out = buffer_new(k, ROLE_ACTIVATION, ROWS * OUT);
    k->linear(k, out, in, weight, NULL, rows, 0);
    k->read(k, y, out, 0, ROWS * OUT);
    assert_int_equal(k->synchronize(k, &e), 0);
    for (size_t i = 0; i < ROWS * OUT; i++)
        if (y[i] != (double)(i / OUT) * (double)(1 + i % OUT))
            fail_msg("row %zu, column %zu: %g", i / OUT, i % OUT, y[i]);
    k->destroy(k, in);
    k->destroy(k, out);
    k->weight_free(k, weight);
    k->close(k);
    free(x), free(w), free(y);
}

static int open_oracle(void **state)
{
    (void)state;
    oracle = open_set("reference", "f64");
    return oracle ? 0 : -1;
}

static int close_oracle(void **state)
{
    (void)state;
    oracle->close(oracle);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plain), cmocka_unit_test(test_hostile),
                                       cmocka_unit_test(test_nothing),
                                       cmocka_unit_test(test_rounding),
                                       cmocka_unit_test(test_pieces)};
    return cmocka_run_group_tests_name("products", tests, open_oracle, close_oracle);
}
