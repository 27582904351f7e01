/* What holds bit for bit of attention in the CUDA attention_sets. */
#include "tests/compare.h"
#include "tests/cuda_attention.h"
#include "tests/kernel_run.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* tf32 rounds its operands to the nearest, not towards 0: where one key is seen, o is the rounded
 * value. */
void test_rounding(void **state)
{
    struct attention_case c = {1, 0, 1, 1, 64, 9, 9, 9, 0, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0, 0};
    struct problem p = attention_problem(&c);
    (void)state;
    for (size_t i = 0; i < 64; i++)
        p.kv[64 + i] = 1 + 0x1p-11 + 0x1p-13;
    for (int s = 0; s < attention_set_count; s++) {
        double want = strcmp(attention_sets[s]->dtype, "f32")
                          ? strcmp(attention_sets[s]->dtype, "tf32") ? 1 : 1 + 0x1p-10
                          : 1 + 0x1p-11 + 0x1p-13;
        struct results got = attention_run(attention_sets[s], &p);
        for (size_t i = 0; i < 64; i++)
            if (got.value[O][i] != want)
                fail_msg("%s %s: o[%zu] = %.9g of one value %.9g (expected %.9g)",
                         attention_sets[s]->name, attention_sets[s]->dtype, i, got.value[O][i],
                         p.kv[64 + i], want);
        attention_results_free(&got);
    }
    attention_problem_free(&p);
}

/* So it does with the weights of the values: of two keys with scores 0 and ln w, o is the rounded w
 * over 1 + w where the other value is 0. */
void test_rounding_weights(void **state)
{
    static const double w = 0.5 * (1 + 0x1p-11 + 0x1p-13), tf32 = 0.5 * (1 + 0x1p-10);
    struct attention_case c = {1,           0, 1, 1, 64, 130, 130, 130, 2,
                               BIAS_RANDOM, 0, 0, 0, 1,  1,   0,   0,   0};
    struct problem p = attention_problem(&c);
    (void)state;
    memset(p.q, 0, p.q_count * sizeof *p.q);
    p.bias[0] = 0;
    p.bias[1] = log(w);
    for (int odd = 0; odd < 2; odd++) {
        for (size_t i = 0; i < 130 * 64; i++)
            p.kv[i / 64 * 128 + 64 + i % 64] = i / 64 % 2 == (size_t)odd;
        for (int s = 0; s < attention_set_count; s++) {
            double want = (strcmp(attention_sets[s]->dtype, "tf32") ? w : tf32) / (1 + w);
            if (!strcmp(attention_sets[s]->dtype,
                        "bf16")) /* what it writes has fewer digits than that */
                continue;
            struct results got = attention_run(attention_sets[s], &p);
            for (size_t i = 64; i < 130 * 64; i++)
                if (i / 64 % 2 != (size_t)odd && !(fabs(got.value[O][i] - want) <= 0x1p-14))
                    fail_msg("%s %s: o[%zu] = %.9g (expected %.9g)", attention_sets[s]->name,
                             attention_sets[s]->dtype, i, got.value[O][i], want);
            attention_results_free(&got);
        }
    }
    attention_problem_free(&p);
}

/* Leaving tiles out changes no bit. Two multipliers that differ only at distances that the bias
 * masks: the second is so large there that no tile can be proved to be zero. */
void test_skipping(void **state)
{
    static const struct attention_case cases[] = {
        /* segments, first, heads, kv_heads, head_size, positions, keys, queries, window, bias,
           multiplier, key_bias, soft_cap, size, d_o, keep, sinks, value_size */
        {1, 0, 1, 1, 64, 200, 200, 200, 0, BIAS_STEEP, 1, 0, 0, 1, 1, 0, 0, 0},
        {1, 0, 1, 1, 64, 467, 467, 20, 0, BIAS_GENTLE, 1, 0, 0, 0.0625, 1, 0, 0,
         0}, /* the first 128 keys have p from 2^-108 down to 0 */
        {1, 0, 1, 1, 64, 800, 800, 20, 0, BIAS_GENTLE, 1, 1, 0, 8, 1, 0, 0,
         0}, /* scores in the hundreds, against the bias */
        {1, 0, 1, 1, 128, 200, 200, 140, 0, BIAS_STEEP, 1, 2, 30, 4, 1, 0, 0, 0},
        {1, 0, 1, 1, 192, 130, 130, 60, 0, BIAS_STEEP, 1, 0, 0, 1, 1, 0, 0, 0},
        {1, 0, 1, 1, 64, 300, 300, 300, 0, BIAS_FAR, 1, 0, 0, 1, 1, 0, 0,
         0}, /* the tile that a block begins with is left out */
        {1, 0, 2, 1, 96, 300, 300, 300, 0, BIAS_FAR, 1, 0, 0, 1, 1, 0, 0, 0},
    };
    (void)state;
    for (int i = 0; i < LENGTH(cases); i++) {
        struct problem p = attention_problem(&cases[i]);
        for (int j = 0; j < p.c.heads * p.c.positions; j++) {
            int t = j % p.c.positions;
            p.bias[j] *= p.c.bias == BIAS_GENTLE
                             ? 60
                             : 1; /* slopes that spare some tiles and not others */
            if (t % 32 == 31)
                p.bias[j] = -INFINITY;
        }
        for (int s = 0; s < attention_set_count; s++) {
            if (!attention_has_turn(s, i))
                continue;
            struct results left_out = attention_run(attention_sets[s], &p), all;
            for (int j = 31; j < p.c.heads * p.c.positions; j++)
                if (j % p.c.positions % 32 == 31)
                    p.multiplier[j] = 1e30;
            all = attention_run(attention_sets[s], &p);
            for (int o = 0; o < OUTPUTS; o++)
                if (compare_exact(attention_outputs[o], left_out.value[o], all.value[o],
                                  attention_output_count(&p, o)))
                    attention_fail("leaving tiles out changes bits", attention_sets[s], &p.c);
            for (int j = 31; j < p.c.heads * p.c.positions; j++)
                if (j % p.c.positions % 32 == 31)
                    p.multiplier[j] = 1;
            attention_results_free(&left_out);
            attention_results_free(&all);
        }
        attention_problem_free(&p);
    }
}

/* A key or value that is not a number reaches every query that sees it, however steep the bias. */
void test_not_finite(void **state)
{
    struct attention_case c = {1,          0, 1, 1, 64, 200, 200, 200, 0,
                               BIAS_STEEP, 0, 0, 0, 1,  1,   0,   0,   0};
    (void)state;
    for (int value = 0; value < 2; value++) {
        struct problem p = attention_problem(&c);
        p.kv[(3 * 2 + (size_t)value) * 64 + 5] = value ? INFINITY : NAN; /* of key 3 */
        for (int s = 0; s < attention_set_count; s++) {
            struct results got = attention_run(attention_sets[s], &p);
            for (int r = 3; r < c.queries; r++) {
                double x = got.value[O][(size_t)r * 64 + 5]; /* 0 times infinity is NaN */
                if (isfinite(x))
                    fail_msg("%s %s: %g in row %d, which sees a %s", attention_sets[s]->name,
                             attention_sets[s]->dtype, x, r,
                             value ? "value that is infinite" : "key that is NaN");
            }
            attention_results_free(&got);
        }
        attention_problem_free(&p);
    }
}

/* Other batches, other orders of threads: the same bytes. */
void test_same_bytes(void **state)
{
    static const struct attention_case cases[] = {
        /* segments, first, heads, kv_heads, head_size, positions, keys, queries, window, bias,
           multiplier, key_bias, soft_cap, size, d_o, keep, sinks, value_size */
        {2, 0, 2, 1, 64, 66, 66, 66, 0, BIAS_RANDOM, 1, 1, 0, 1, 1, 0, 0, 0},
        {2, 0, 1, 1, 128, 40, 40, 33, 0, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0, 0},
        {2, 0, 4, 2, 64, 300, 300, 2, 0, BIAS_GENTLE, 0, 0, 0, 1, 1, 0, 0, 0},
    };
    (void)state;
    for (int i = 0; i < LENGTH(cases); i++)
        for (int s = 0; s < attention_set_count; s++) {
            if (!attention_has_turn(s, i + 1))
                continue;
            struct attention_case last = cases[i];
            last.first = last.segments - 1;
            last.segments = 1;
            struct problem p = attention_problem(&cases[i]), alone = attention_problem(&last);
            struct results whole = attention_run(attention_sets[s], &p),
                           part = attention_run(attention_sets[s], &alone);
            for (int o = 0; o < OUTPUTS; o++) {
                size_t each = attention_output_count(&alone, o);
                if (compare_exact(attention_outputs[o], part.value[o],
                                  whole.value[o] + (size_t)last.first * each, each))
                    attention_fail("a segment alone has other bytes", attention_sets[s], &cases[i]);
            }
            thread_order("97"); /* what the stand-in takes; a GPU has an order of its own */
            struct results again = attention_run(attention_sets[s], &p);
            thread_order(NULL);
            for (int o = 0; o < OUTPUTS; o++)
                if (compare_exact(attention_outputs[o], again.value[o], whole.value[o],
                                  attention_output_count(&p, o)))
                    attention_fail("another order of threads gives other bytes", attention_sets[s],
                                   &cases[i]);
            attention_results_free(&again);
            attention_results_free(&whole);
            attention_results_free(&part);
            attention_problem_free(&p);
            attention_problem_free(&alone);
        }
}
