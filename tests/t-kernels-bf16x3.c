/* The processor's bf16x3: in a layer's products both operands are sums of two numbers of bf16, high
 * + low, and a product is high high + high low + low high; every other operation gives the bytes of
 * f32. That products are right at awkward sizes, and do not change with threads and neighbours, is
 * shown by t-kernels-sets.c, too. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/state.h"
#include "tests/bf16.h"
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

/* What `reach` opens, and how it is called: the processor's set, on machines with a GPU, too. */
static void test_choice(void **unused)
{
    static const char *const devices[] = {"cpu", "auto"};
    struct error e, note;
    (void)unused;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(kernels_available(devices[i], "bf16x3", &e), 0);
        struct kernels *k = kernels_open_on(devices[i], "bf16x3", &note, &e);
        assert_non_null(k);
        assert_string_equal(note.text, "");
        assert_string_equal(k->dtype, "bf16x3");
        assert_int_equal(strncmp(k->name, "cpu (", 5), 0);
        assert_int_equal(kernels_check(k, &e), 0);
        k->close(k);
    }
    assert_int_equal(kernels_available("cuda", "bf16x3", &e), -1);
    assert_non_null(strstr(e.text, "--dtype bf16x3 is for the processor"));
}

/* The parts of every instruction set: all signs, exponents and upper halves, at, below and above a
 * tie. The oracle rounds in double. */
static void test_split(void **unused)
{
    static const uint32_t lower[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
    enum { LOWER = sizeof lower / sizeof *lower, COUNT = 65536 * LOWER };
    float *x = allocate(COUNT * sizeof *x), *high = allocate(2 * COUNT * sizeof *high),
          *low = high + COUNT;
    (void)unused;
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t bits = i / LOWER << 16 | lower[i % LOWER];
        memcpy(&x[i], &bits, sizeof bits);
    }
    for (int s = 0; s < bf16_set_count - 1; s++) {
        cpu_state(bf16_sets[s])->vector->split_bf16(high, low, x, COUNT);
        for (int i = 0; i < COUNT; i++) {
            double whole = (double)x[i],
                   want = element_round(fmax(fmin(whole, 0x1.fep127), -0x1.fep127), ELEMENT_BF16),
                   rest = element_round(whole - want, ELEMENT_BF16);
            if (isnan(x[i]) ? !isnan(low[i]) : (double)high[i] != want || (double)low[i] != rest)
                fail_msg("%s: %a is %a and %a (expected %a and %a)", bf16_sets[s]->name, whole,
                         (double)high[i], (double)low[i], want, rest);
            if (isfinite(x[i]) && !(fabs(whole - (double)high[i] - (double)low[i]) <=
                                    fmax(0x1p-17 * fabs(whole), 0x1p-134)))
                fail_msg("%s: %a is %a and %a", bf16_sets[s]->name, whole, (double)high[i],
                         (double)low[i]);
        }
    }
    free(x);
    free(high);
}

/* Products of one number by one in every set, by few rows and by many: which terms there are, and
 * what becomes of numbers near float's largest and of such that are not finite. */
static void test_terms(void **unused)
{
    static const float cases[][3] = {
        /* x, w, result */
        {0x1.01p0f, 0x1.008p0f, 0x1.018p0f}, /* not 2^-17 more */
        {-0x1.01p0f, 0x1.ff8p9f, -1027}, /* 1 + 2^-8 by 1024 - 1 */
        {3, -5, -15},
        {0x1.fffffep127f, 0x1p-10f, 0x1p118f}, /* the sum of its parts is 2^128 */
        {-0x1.fffffep127f, 0x1p-10f, -0x1p118f},
        {0x1.ff8p127f, 0x1p-10f, 0x1.ff8p117f},
        {0x1.fffffep127f, 1, INFINITY},
        {0x1.fep127f, 1, 0x1.fep127f},
        {INFINITY, 0x1.01p0f, INFINITY},
        {-INFINITY, 3, -INFINITY},
        {3, -INFINITY, -INFINITY},
        {INFINITY, -INFINITY, -INFINITY},
        {INFINITY, 0, NAN},
        {NAN, 1, NAN},
        {1, NAN, NAN},
        {0x1p-126f, 0x1p126f, 1},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int rows = 1; rows <= 9; rows += 8)
            for (int s = 0; s < bf16_set_count; s++) {
                const struct product_size z = {rows, 1, 1, 0, 0, 0};
                double x[9], w = cases[i][1], got[18];
                for (int r = 0; r < rows; r++)
                    x[r] = cases[i][0];
                product_both(got, bf16_sets[s], &z, x, x, &w);
                for (int r = 0; r < 2 * rows; r++) /* with one number reverse is as forward */
                    if (isnan(cases[i][2]) ? !isnan(got[r]) : got[r] != (double)cases[i][2])
                        fail_msg("%s, %d rows: %a times %a is %a (expected %a)", bf16_sets[s]->name,
                                 rows, x[0], w, got[r], (double)cases[i][2]);
            }
}

/* A low part below 2^-126 may count as 0: then the high part's eight bits are left. */
static void test_small(void **unused)
{
    (void)unused;
    for (int exponent = -126; exponent < -100; exponent++)
        for (int s = 0; s < bf16_set_count; s++) {
            const struct product_size z = {9, 1, 1, 0, 0, 0};
            double x[9], w = 0x1p100, got[18], most = exponent < -109 ? 0x1p-8 : 0x1p-17;
            for (int r = 0; r < 9; r++)
                x[r] = ldexp(1 + (double)(r * 7919 % 1009) / 1024, exponent);
            product_both(got, bf16_sets[s], &z, x, x, &w);
            for (int r = 0; r < 18; r++)
                if (!(fabs(got[r] - x[r % 9] * w) <= most * x[r % 9] * w))
                    fail_msg("%s: %a times 2^100 is %a", bf16_sets[s]->name, x[r % 9], got[r]);
        }
}

/* The parts of values[count], one behind the other; caller frees. */
static double *split(const double *values, size_t count)
{
    double *out = allocate(2 * count * sizeof *out);
    for (size_t i = 0; i < count; i++) {
        float x = (float)values[i];
        out[i] = element_round((double)x, ELEMENT_BF16);
        out[count + i] = element_round((double)x - out[i], ELEMENT_BF16);
    }
    return out;
}

/* Against float64 on operands that were split beforehand; results are up to 4. */
static void test_operands(void **unused)
{
    (void)unused;
    for (int n = 0; n < product_size_count; n++) {
        struct product_size z = product_sizes[n], alone = z;
        size_t rows = (size_t)z.rows, in = (size_t)z.in, out = (size_t)z.out,
               count = rows * (in + out), nx = rows * in, ny = rows * out, nw = out * in;
        double *x = random_values(nx, 1, 0.5), *y = random_values(ny, 2, 0.5),
               *w = random_values(nw, 3, 0.05), *px = split(x, nx), *py = split(y, ny),
               *pw = split(w, nw), *want = allocate(count * sizeof *want),
               *got = allocate(count * sizeof *got);
        alone.accumulate = 0;
        for (size_t i = 0; i < count; i++) {
            want[i] = !z.accumulate ? 0 : i < ny ? (double)(float)y[i] : (double)(float)x[i - ny];
            got[i] = 0;
        }
        for (size_t term = 0; term < 3; term++) { /* high high, high low, low high */
            size_t left = term == 2, right = term == 1;
            product_both(got, bf16_oracle, &alone, px + left * nx, py + left * ny, pw + right * nw);
            for (size_t i = 0; i < count; i++)
                want[i] += got[i];
        }
        for (int s = 0; s < bf16_set_count; s++) {
            product_both(got, bf16_sets[s], &z, x, y, w);
            if (compare_values(bf16_sets[s]->name, got, want, count, 5e-6, 0))
                fail_msg("size %d: %d x %d x %d", n, z.rows, z.in, z.out);
        }
        double *all[] = {x, y, w, px, py, pw, want, got};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            free(all[i]);
    }
}

static void test_tiles(void **unused)
{
    (void)unused;
    bf16_check_tiles();
}

static void test_instructions(void **unused)
{
    (void)unused;
    bf16_check_instructions(3);
}

static void test_not_finite(void **unused)
{
    const float bad[] = {NAN, INFINITY, -INFINITY};
    (void)unused;
    bf16_check_not_finite(bad, sizeof bad / sizeof *bad, 3);
}

/* Attention, too, where products are by instructions. */
static void test_rest(void **unused)
{
    (void)unused;
    for (int s = 0; s < bf16_set_count; s++)
        assert_false(rounds_attention(bf16_sets[s]));
    bf16_check_rest();
}

static int setup(void **unused)
{
    (void)unused;
    return bf16_open("bf16x3");
}

static int teardown(void **unused)
{
    (void)unused;
    bf16_close();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice),       cmocka_unit_test(test_split),
        cmocka_unit_test(test_terms),        cmocka_unit_test(test_small),
        cmocka_unit_test(test_operands),     cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_instructions), cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_rest),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
