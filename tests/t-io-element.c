/* Widening against the definition of each format, for every 16-bit pattern and at every alignment.
 */
#include "io/element.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The value by the definition: (-1)^sign 2^(exponent - bias) (1 + fraction), subnormals without
 * the 1. */
static double defined_value(uint32_t bits, int exponent_bits, int fraction_bits)
{
    uint32_t fraction = bits & ((1u << fraction_bits) - 1),
             exponent = bits >> fraction_bits & ((1u << exponent_bits) - 1);
    int bias = (1 << (exponent_bits - 1)) - 1;
    double sign = bits >> (exponent_bits + fraction_bits) & 1 ? -1 : 1;
    if (exponent == (1u << exponent_bits) - 1)
        return fraction ? NAN : sign * INFINITY;
    if (exponent == 0)
        return sign * ldexp(fraction, 1 - bias - fraction_bits);
    return sign * ldexp((double)fraction + (double)(1u << fraction_bits),
                        (int)exponent - bias - fraction_bits);
}

static int same(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b && signbit(a) == signbit(b);
}

static void check_16_bit(enum element type, int exponent_bits, int fraction_bits)
{
    static unsigned char stored[2 * 65536 + 8];
    static float f32[65536];
    static double f64[65536];
    for (int shift = 0; shift < 2; shift++) {
        for (uint32_t i = 0; i < 65536; i++) {
            stored[shift + 2 * i] = (unsigned char)i;
            stored[shift + 2 * i + 1] = (unsigned char)(i >> 8);
        }
        element_widen_f32(f32, stored + shift, type, 65536);
        element_widen_f64(f64, stored + shift, type, 65536);
        for (uint32_t i = 0; i < 65536; i++) {
            double want = defined_value(i, exponent_bits, fraction_bits);
            if (!same(f32[i], want) || !same(f64[i], want) ||
                !same(element_read(stored + shift, type, i), want)) {
                print_error("%s 0x%04x: %a, %a, %a (expected %a)\n", element_name(type), i,
                            (double)f32[i], f64[i], element_read(stored + shift, type, i), want);
                fail();
            }
        }
    }
}

static void test_f16(void **state)
{
    (void)state;
    check_16_bit(ELEMENT_F16, 5, 10);
}

static void test_bf16(void **state)
{
    (void)state;
    check_16_bit(ELEMENT_BF16, 8, 7);
}

static void test_f32_f64(void **state)
{
    (void)state;
    /* 1 + 2^-24 is halfway between two floats: to even; a bit more goes up; beyond the largest
     * float: infinity */
    const double values[] = {0,
                             -0.0,
                             1,
                             -1.5,
                             1 + 0x1p-24,
                             1 + 0x1p-24 + 0x1p-50,
                             1 + 3 * 0x1p-24,
                             0x1p-149,
                             0x1p-150,
                             0x1.8p-150,
                             1e300,
                             -1e300,
                             INFINITY,
                             -INFINITY,
                             NAN,
                             3.4028234663852886e38,
                             0.1};
    const double rounded[] = {0,        -0.0,        1,           -1.5,
                              1,        1 + 0x1p-23, 1 + 0x1p-22, 0x1p-149,
                              0,        0x1p-149,    INFINITY,    -INFINITY,
                              INFINITY, -INFINITY,   NAN,         3.4028234663852886e38,
                              0.1f};
    enum { N = sizeof values / sizeof *values };
    unsigned char stored[8 * N + 8];
    for (size_t shift = 0; shift < 8; shift++)
        for (size_t count = 0; count <= N; count++) {
            float f32[N + 1], narrow[N];
            double f64[N + 1];
            f32[count] = 7;
            f64[count] = 7;
            memcpy(stored + shift, values, sizeof values);
            element_widen_f32(f32, stored + shift, ELEMENT_F64, count);
            element_widen_f64(f64, stored + shift, ELEMENT_F64, count);
            for (size_t i = 0; i < count; i++) {
                if (!same(f32[i], rounded[i]) || !same(f64[i], values[i]) ||
                    !same(element_read(stored + shift, ELEMENT_F64, i), values[i])) {
                    print_error("f64 %a at %zu: %a, %a\n", values[i], i, (double)f32[i], f64[i]);
                    fail();
                }
                narrow[i] = (float)rounded[i];
            }
            memcpy(stored + shift, narrow, count * sizeof *narrow);
            element_widen_f64(f64, stored + shift, ELEMENT_F32, count);
            element_widen_f32(f32, stored + shift, ELEMENT_F32, count);
            for (size_t i = 0; i < count; i++)
                assert_true(same(f64[i], rounded[i]) && same(f32[i], rounded[i]) &&
                            same(element_read(stored + shift, ELEMENT_F32, i), rounded[i]));
            assert_true(f32[count] == 7 &&
                        f64[count] == 7); /* nothing behind the end was touched */
        }
}

static void test_names_and_sizes(void **state)
{
    (void)state;
    assert_int_equal(element_size(ELEMENT_F64), 8);
    assert_int_equal(element_size(ELEMENT_F32), 4);
    assert_int_equal(element_size(ELEMENT_F16), 2);
    assert_int_equal(element_size(ELEMENT_BF16), 2);
    assert_string_equal(element_name(ELEMENT_F64), "f64");
    assert_string_equal(element_name(ELEMENT_BF16), "bf16");
    size_t out;
    assert_int_equal(size_multiply(&out, SIZE_MAX / 2, 2), 0);
    assert_int_equal(size_multiply(&out, SIZE_MAX / 2 + 1, 2), -1);
    assert_int_equal(size_add(&out, SIZE_MAX - 1, 1), 0);
    assert_int_equal(size_add(&out, SIZE_MAX, 1), -1);
}

/* Rounding: every 16-bit number is itself, points between neighbours go to the nearer one, halfway
 * to the even one; float as the processor does it. */
static void test_round(void **state)
{
    static const struct {
        enum element type;
        int exponent_bits, fraction_bits;
    } formats[] = {{ELEMENT_F16, 5, 10}, {ELEMENT_BF16, 8, 7}};
    (void)state;
    for (int f = 0; f < 2; f++) {
        uint32_t infinity = ((1u << formats[f].exponent_bits) - 1) << formats[f].fraction_bits;
        for (uint32_t bits = 0; bits + 1 < infinity; bits++) {
            double x = defined_value(bits, formats[f].exponent_bits, formats[f].fraction_bits);
            double next = defined_value(bits + 1, formats[f].exponent_bits,
                                        formats[f].fraction_bits),
                   even = bits % 2 ? next : x;
            const double at[] = {x, x + (next - x) * 0.25, x + (next - x) * 0.75,
                                 x + (next - x) * 0.5, -(x + (next - x) * 0.5)};
            const double want[] = {x, x, next, even, -even};
            for (int i = 0; i < 5; i++)
                if (!same(element_round(at[i], formats[f].type), want[i]))
                    fail_msg("%s: %.17g rounded to %.17g, expected %.17g",
                             element_name(formats[f].type), at[i],
                             element_round(at[i], formats[f].type), want[i]);
        }
        double most = defined_value(infinity - 1, formats[f].exponent_bits,
                                    formats[f].fraction_bits);
        assert_true(element_round(most * 1.0001, formats[f].type) == most);
        assert_true(element_round(-most * 1.01, formats[f].type) == -INFINITY);
        assert_true(isnan(element_round(NAN, formats[f].type)) &&
                    element_round(INFINITY, formats[f].type) == INFINITY);
    }
    for (int i = -1100; i < 1000; i++) {
        double x = ldexp(1 + 1.0 / 3, i);
        if (!same(element_round(x, ELEMENT_F32), (double)(float)x) ||
            !same(element_round(-x, ELEMENT_F64), -x))
            fail_msg("%.17g rounded to %.17g (f32), %.17g (f64)", x, element_round(x, ELEMENT_F32),
                     element_round(-x, ELEMENT_F64));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f16),     cmocka_unit_test(test_bf16),
        cmocka_unit_test(test_f32_f64), cmocka_unit_test(test_names_and_sizes),
        cmocka_unit_test(test_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
