/* The processor's bf16: a layer's products round both operands to the nearest number of bf16 and
 * nothing else; every other operation gives the bytes of f32, but for attention where it is made by
 * instructions for bf16. That they are right at awkward sizes, and do not change with threads and
 * neighbours, is shown by t-kernels-sets.c. */
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

/* What `reach` opens where there is no GPU, and how it is called. */
static void test_choice(void **unused)
{
    struct error e, note;
    (void)unused;
    assert_int_equal(kernels_available("cpu", "bf16", &e), 0);
    struct kernels *k = kernels_open_on("cpu", "bf16", &note, &e);
    assert_non_null(k);
    assert_string_equal(k->dtype, "bf16");
    assert_int_equal(strncmp(k->name, "cpu (", 5), 0);
    assert_int_equal(kernels_check(k, &e), 0);
    k->close(k);
}

/* Every instruction set rounds as element_round does: all signs, exponents and upper halves, at,
 * below and above a tie. */
static void test_rounding(void **unused)
{
    static const uint32_t lower[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
    enum { LOWER = sizeof lower / sizeof *lower, COUNT = 65536 * LOWER };
    float *x = allocate(COUNT * sizeof *x), *y = allocate(COUNT * sizeof *y);
    (void)unused;
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t bits = i / LOWER << 16 | lower[i % LOWER];
        memcpy(&x[i], &bits, sizeof bits);
    }
    for (int s = 0; s < bf16_set_count - 1; s++) {
        cpu_state(bf16_sets[s])->vector->round_bf16(y, x, COUNT);
        for (int i = 0; i < COUNT; i++) {
            float want = (float)element_round((double)x[i], ELEMENT_BF16);
            if (isnan(x[i]) ? !isnan(y[i]) : memcmp(&want, &y[i], sizeof want) != 0)
                fail_msg("%s: %a becomes %a (expected %a)", bf16_sets[s]->name, (double)x[i],
                         (double)y[i], (double)want);
        }
    }
    free(x);
    free(y);
}

/* values[count], each rounded; caller frees. */
static double *rounded(const double *values, size_t count)
{
    double *out = allocate(count * sizeof *out);
    for (size_t i = 0; i < count; i++)
        out[i] = element_round(values[i], ELEMENT_BF16);
    return out;
}

/* Against float64 on operands that were rounded beforehand: 1e-5, where cut operands would be 3e-3
 * off, and such as were not rounded 1e-3. What is added to, and its bytes, are not rounded. */
static void test_operands(void **unused)
{
    (void)unused;
    for (int n = 0; n < product_size_count; n++) {
        const struct product_size *z = &product_sizes[n];
        size_t rows = (size_t)z->rows, in = (size_t)z->in, out = (size_t)z->out,
               count = rows * (in + out);
        double *x = random_values(rows * in, 1, 0.5), *y = random_values(rows * out, 2, 0.5),
               *w = random_values(out * in, 3, 0.05);
        double *short_x = rounded(x, rows * in), *short_y = rounded(y, rows * out),
               *short_w = rounded(w, out * in);
        double *want = allocate(count * sizeof *want), *got = allocate(count * sizeof *got);
        product_both(want, bf16_oracle, z, short_x, short_y, short_w);
        for (size_t i = 0; z->accumulate && i < count;
             i++) /* the oracle was given what is added to as rounded, too */
            want[i] += i < rows * out ? y[i] - short_y[i]
                                      : x[i - rows * out] - short_x[i - rows * out];
        for (int s = 0; s < bf16_set_count; s++) {
            product_both(got, bf16_sets[s], z, x, y, w);
            if (compare_values(bf16_sets[s]->name, got, want, count, 1e-5, 0))
                fail_msg("size %d: %d x %d x %d", n, z->rows, z->in, z->out);
        }
        double *all[] = {x, y, w, short_x, short_y, short_w, want, got};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            free(all[i]);
    }
}

/* VDPBF16PS and TDPBF16PS take denormal factors, and results of their additions, for 0, whatever
 * the mode of the processor. */
static void test_denormals(void **unused)
{
    static const float rows[][3] = {/* left, right, result */
                                    {0x1p-127f, 0x1p100f, 0},
                                    {0x1p100f, -0x1p-130f, 0},
                                    {0x1p-100f, 0x1p-27f, 0},
                                    {0x1p-100f, 0x1p-26f, 0x1p-126f}};
    enum { ROWS = sizeof rows / sizeof *rows };
    struct kernels *k;
    (void)unused;
    for (int i = 0; (k = bf16_instructions(i / ROWS)); i++) {
        const float *row = rows[i % ROWS];
        struct tile_product p = tile_product_of(1, 1, 1, 0, 0, 0, 1);
        *p.a = row[0];
        *p.b = row[1];
        float *c = tile_product_run(k, &p);
        if (*c != row[2])
            fail_msg("%s: %a times %a is %a (expected %a)", k->name, (double)*p.a, (double)*p.b,
                     (double)*c, (double)row[2]);
        free(c);
        tile_product_free(&p);
    }
}

/* Instructions for bf16 are for bf16: in f32 they are refused by name, and never chosen unasked. */
static void test_instructions_in_f32(void **unused)
{
    static const char *const names[] = {"avx512_bf16", "amx"};
    struct error e;
    struct kernels *k;
    (void)unused;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        setenv("REACH_ISA", names[i], 1);
        k = cpu_open(&e);
        unsetenv("REACH_ISA");
        assert_null(k);
        assert_non_null(strstr(e.text, "REACH_ISA="));
        assert_non_null(strstr(e.text, names[i]));
    }
    k = cpu_open(&e);
    assert_non_null(k);
    assert_null(cpu_state(k)->vector->multiply_bf16);
    k->close(k);
    for (int n = 0; (k = bf16_instructions(n)); n++)
        if (!strstr(k->name, "(avx512_bf16, ") && !strstr(k->name, "(amx, "))
            fail_msg("%s has instructions for bf16", k->name);
}

static void test_tiles(void **unused)
{
    (void)unused;
    bf16_check_tiles();
}

static void test_instructions(void **unused)
{
    (void)unused;
    bf16_check_instructions(1);
}

/* A number above the largest of bf16 is an infinity, too. */
static void test_not_finite(void **unused)
{
    const float bad[] = {NAN, INFINITY, -INFINITY, 0x1.ffp127f};
    (void)unused;
    bf16_check_not_finite(bad, sizeof bad / sizeof *bad, 1);
}

static void test_rest(void **unused)
{
    (void)unused;
    bf16_check_rest();
}

static int setup(void **unused)
{
    (void)unused;
    return bf16_open("bf16");
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
        cmocka_unit_test(test_choice),       cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_operands),     cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_instructions), cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_denormals),    cmocka_unit_test(test_instructions_in_f32),
        cmocka_unit_test(test_rest),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
