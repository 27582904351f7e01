/* What mixes rows besides attention, in every kernel set, as t-kernels-sets.c has the rest. */
#include "tests/kernel_cases.h"
#include "tests/sets.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#define LENGTH(array) ((int)(sizeof(array) / sizeof *(array)))

static void test_recurrence(void **state)
{
    static const struct recurrence_case cases[] = {
        /* segments, first, keys, queries, heads, key_heads, key_size, value_size, delta, states,
         * decay, scale, size, by_channel */
        {1, 0, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0},
        {1, 0, 1, 1, 1, 1, 2, 3, 1, 1, 1, 1, 0, 0},
        {2, 0, 70, 70, 4, 2, 16, 8, 0, 1, 0.3, 1, 0, 0},
        {2, 0, 70, 70, 4, 2, 16, 8, 1, 1, 0.3, 0.25, 0, 0},
        {3, 0, 37, 5, 3, 1, 7, 5, 0, 1, 2, 1, 0, 0},
        {3, 0, 37, 5, 3, 3, 5, 7, 1, 1, 2, 1, 0, 0},
        {2, 0, 300, 300, 2, 2, 32, 64, 0, 1, 0.01, 1, 0, 0},
        {2, 0, 300, 300, 2, 1, 32, 32, 1, 1, 0.01, 1, 0, 0},
        {2, 0, 600, 257, 2, 1, 128, 64, 0, 1, 0.1, 1, 0, 0},
        {1, 0, 520, 256, 2, 1, 24, 128, 1, 1, 0.1, 1, 0, 0},
        {2, 0, 300, 1, 4, 2, 16, 24, 0, 0, 0.02, 1, 0, 0},
        {2, 0, 300, 1, 4, 2, 16, 24, 1, 0, 0.02, 0.25, 0, 0},
        {1, 0, 150, 150, 1, 1, 4, 4, 0, 1, 40, 1, 0, 0},
        {1, 0, 150, 150, 1, 1, 4, 4, 1, 1, 40, 1, 0, 0},
        {2, 0, 64, 1, 3, 3, 20, 20, 0, 1, 0.5, 1, 0, 0},
        {2, 0, 64, 64, 2, 2, 33, 17, 1, 1, 0.5, 1, 0, 0},
        {1, 0, 260, 2, 2, 1, 256, 256, 0, 1, 0.2, 1, 0, 0},
        {3, 0, 20, 9, 8, 2, 6, 70, 1, 1, 0.5, 1, 0, 0}, /* a GPU's set: a segment at a time */
        {3, 0, 20, 1, 16, 4, 6, 5, 1, 0, 0.5, 1, 0, 0},
        /* around chunks of 64 and kept states; queries that begin inside a chunk */
        {1, 0, 63, 63, 3, 1, 16, 16, 1, 1, 0.05, 1, 0, 0},
        {2, 0, 65, 65, 4, 1, 16, 64, 0, 1, 0.05, 0.5, 0, 0},
        {1, 0, 129, 66, 2, 1, 64, 64, 1, 1, 0.05, 1, 0, 0},
        {1, 0, 256, 150, 3, 1, 64, 16, 0, 1, 0.02, 1, 0, 0},
        {1, 0, 257, 128, 1, 1, 128, 128, 1, 1, 0.02, 0.1, 0, 0},
        {1, 0, 513, 258, 4, 2, 9, 65, 1, 1, 0.05, 1, 0, 0},
        {1, 0, 100, 37, 1, 1, 256, 16, 1, 1, 0.1, 1, 0, 0},
        {1, 0, 70, 70, 1, 1, 16, 256, 1, 1, 0.1, 1, 0, 0},
        {1, 0, 1, 1, 2, 1, 64, 128, 1, 1, 0.1, 1, 0, 0},
        /* many heads of a key head, some of them in one task */
        {2, 0, 300, 290, 10, 1, 8, 8, 0, 1, 0.05, 1, 0, 0},
        {2, 0, 80, 80, 14, 2, 8, 8, 1, 1, 0.05, 1, 0, 0},
        {2, 0, 200, 70, 5, 1, 8, 8, 0, 1, 1e6, 1, 0, 0},
        /* the same, their gradients down to the least numbers of float and below */
        {3, 0, 120, 1, 16, 1, 16, 16, 0, 1, 0.75, 1, 0, 0},
        /* no decay; decays that leave nothing */
        {1, 0, 200, 70, 2, 1, 16, 16, 0, 1, 0, 1, 0, 0},
        {1, 0, 200, 70, 2, 1, 16, 16, 1, 1, 0, 1, 0, 0},
        {1, 0, 70, 70, 1, 1, 16, 16, 0, 1, 1e6, 1, 0, 0},
        {1, 0, 70, 70, 1, 1, 16, 16, 1, 1, 1e6, 1, 0, 0},
        {1, 0, 70, 1, 1, 1, 16, 16, 1, 0, 1e6, 1, 0, 0},
        /* one read row far behind: gradients down to 1e-26, each to its own size */
        {1, 0, 600, 1, 2, 1, 32, 32, 0, 1, 0.1, 1, 0, 0},
        {1, 0, 600, 1, 2, 1, 32, 32, 1, 1, 0.1, 1, 0, 0},
        {1, 0, 600, 1, 2, 1, 32, 32, 0, 0, 0.1, 1, 0, 0},
        {1, 0, 600, 1, 2, 1, 32, 32, 1, 0, 0.1, 1, 0, 0},
        {1, 0, 60, 2, 1, 1, 32, 32, 0, 1, 1, 1, 0, 0},
        {1, 0, 60, 2, 1, 1, 32, 32, 1, 1, 1, 1, 0, 0},
        /* rows that keep all, and rows that keep nothing */
        {1, 0, 130, 130, 2, 1, 16, 16, 0, 1, INFINITY, 1, 0, 0},
        {1, 0, 130, 130, 2, 1, 16, 16, 1, 1, INFINITY, 1, 0, 0},
        {1, 0, 130, 1, 2, 1, 16, 16, 0, 0, INFINITY, 1, 0, 0},
        {1, 0, 130, 1, 2, 1, 16, 16, 1, 0, INFINITY, 1, 0, 0},
        /* products of queries and keys near 1e24 */
        {1, 0, 70, 70, 1, 1, 16, 16, 0, 1, 0.1, 1e-24, 1e12, 0},
    };
    (void)state;
    for (int i = 0; i < LENGTH(cases); i++)
        check_case(&(struct any_case){.op = OP_RECURRENCE, .recurrence = cases[i]});
}

static void test_channels(void **state)
{
    static const struct recurrence_case cases[] = {
        /* segments, first, keys, queries, heads, key_heads, key_size, value_size, delta, states,
         * decay, scale, size, by_channel */
        {1, 0, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 1},
        {1, 0, 1, 1, 1, 1, 2, 3, 1, 1, 1, 1, 0, 1},
        {2, 0, 70, 70, 3, 3, 16, 8, 0, 1, 0.3, 1, 0, 1},
        {2, 0, 70, 70, 3, 3, 16, 8, 1, 1, 0.3, 0.25, 0, 1},
        {3, 0, 37, 5, 3, 3, 7, 5, 0, 1, 2, 1, 0, 1},
        {3, 0, 37, 5, 3, 3, 5, 7, 1, 1, 2, 1, 0, 1},
        {1, 0, 300, 300, 1, 1, 32, 32, 1, 1, 0.01, 1, 0, 1},
        {1, 0, 520, 256, 1, 1, 24, 20, 1, 1, 0.1, 1, 0, 1},
        {1, 0, 20, 2, 1, 1, 256, 256, 0, 1, 0.2, 1, 0, 1},
        {2, 0, 300, 1, 2, 2, 16, 24, 0, 0, 0.02, 1, 0, 1},
        {2, 0, 300, 1, 2, 2, 33, 24, 1, 0, 0.02, 0.25, 0, 1},
        {1, 0, 80, 80, 1, 1, 4, 4, 0, 1, 40, 1, 0, 1},
        {1, 0, 150, 150, 1, 1, 4, 4, 1, 1, 40, 1, 0, 1},
        /* around blocks of 16, chunks of 64 and kept states; queries that begin inside them */
        {1, 0, 16, 16, 1, 1, 16, 16, 1, 1, 0.05, 1, 0, 1},
        {2, 0, 17, 17, 2, 2, 16, 40, 1, 1, 0.05, 1, 0, 1},
        {1, 0, 63, 63, 3, 3, 20, 16, 1, 1, 0.05, 1, 0, 1},
        {2, 0, 65, 65, 2, 2, 16, 64, 0, 1, 0.05, 0.5, 0, 1},
        {1, 0, 129, 66, 1, 1, 64, 64, 1, 1, 0.05, 1, 0, 1},
        {1, 0, 70, 40, 1, 1, 128, 128, 1, 1, 0.02, 0.1, 0, 1},
        {1, 0, 513, 258, 1, 1, 9, 33, 1, 1, 0.05, 1, 0, 1},
        {1, 0, 100, 37, 1, 1, 256, 16, 1, 1, 0.1, 1, 0, 1},
        /* no decay; decays that leave nothing */
        {1, 0, 130, 70, 2, 2, 16, 16, 1, 1, 0, 1, 0, 1},
        {1, 0, 70, 70, 1, 1, 16, 16, 0, 1, 1e6, 1, 0, 1},
        {1, 0, 70, 70, 1, 1, 16, 16, 1, 1, 1e6, 1, 0, 1},
        {1, 0, 70, 1, 1, 1, 16, 16, 1, 0, 1e6, 1, 0, 1},
        /* one read row far behind */
        {1, 0, 600, 1, 1, 1, 32, 32, 1, 1, 0.1, 1, 0, 1},
        {1, 0, 600, 1, 1, 1, 32, 32, 1, 0, 0.1, 1, 0, 1},
        {1, 0, 600, 1, 1, 1, 2, 2, 0, 1, 0.1, 1, 0, 1},
        {1, 0, 60, 2, 1, 1, 32, 32, 1, 1, 1, 1, 0, 1},
        /* channels and rows that keep all, and that keep nothing */
        {1, 0, 130, 130, 2, 2, 16, 16, 0, 1, INFINITY, 1, 0, 1},
        {1, 0, 130, 130, 2, 2, 16, 16, 1, 1, INFINITY, 1, 0, 1},
        {1, 0, 130, 1, 2, 2, 16, 16, 1, 0, INFINITY, 1, 0, 1},
    };
    (void)state;
    for (int i = 0; i < LENGTH(cases); i++)
        check_case(&(struct any_case){.op = OP_RECURRENCE, .recurrence = cases[i]});
}

static void test_channel_gating(void **state)
{
    static const struct channel_gating_case cases[] = {
        /* segments, first, rows, heads, key_size, bias, write, floor, size */
        {1, 0, 1, 1, 1, 0, 1, 0, 1},
        {2, 0, 5, 3, 17, 1, 1, 0, 30},
        {2, 0, 3, 4, 16, 1, 2, -5, 2},
        {1, 0, 7, 3, 33, 1, 1, -0.5, 10},
    };
    (void)state;
    for (int i = 0; i < LENGTH(cases); i++)
        check_case(&(struct any_case){.op = OP_CHANNEL_GATING, .channel_gating = cases[i]});
}

static void test_gating(void **state)
{
    static const struct gating_case cases[] = {
        /* segments, first, rows, heads, bias, alias, low, high, write, size */
        {1, 0, 1, 1, 0, 0, 0, INFINITY, 0, 1},  {2, 0, 5, 17, 1, 0, 0, INFINITY, 0, 30},
        {2, 0, 3, 64, 1, 0, 0.5, 2, 0, 2},      {1, 0, 7, 33, 1, 0, 0, INFINITY, 1, 4},
        {2, 0, 9, 4, 1, 1, 0, INFINITY, 2, 40},
    };
    (void)state;
    for (int i = 0; i < LENGTH(cases); i++)
        check_case(&(struct any_case){.op = OP_GATING, .gating = cases[i]});
}

static void test_lru(void **state)
{
    static const struct lru_case cases[] = {
        /* segments, first, rows, width, before, size, rates */
        {1, 0, 1, 1, 0, 1, 1},     {2, 0, 7, 19, 0, 2, 0.3},  {3, 1, 5, 64, 0, 4, 1},
        {2, 0, 9, 33, 0, 20, 0.1}, {1, 0, 70, 8, 0, 1, 1e-6}, {1, 0, 4, 300, 0, 1, 30},
        {1, 0, 6, 21, 9, 2, 0.3},
    };
    (void)state;
    for (int i = 0; i < LENGTH(cases); i++)
        check_case(&(struct any_case){.op = OP_LRU, .lru = cases[i]});
}

static void test_scan(void **state)
{
    static const struct scan_case cases[] = {
        /* segments, first, keys, queries, channels, size, selective, plain, decay, time, groups */
        {1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 0},
        {1, 0, 1, 1, 1, 1, 1, 0, 1, 0, 0},
        {2, 0, 70, 70, 20, 4, 1, 0, 0.3, 0, 0},
        {3, 0, 37, 5, 64, 16, 1, 0, 1, 1, 0},
        {3, 0, 37, 5, 33, 3, 0, 0, 0.5, 1, 0},
        {2, 0, 300, 300, 130, 16, 1, 0, 0.02, -1, 0},
        {2, 0, 300, 1, 130, 1, 0, 1, 0, 0.1, 0},
        {2, 0, 200, 1, 96, 16, 1, 0, 0.1, -2, 0},
        /* around kept states */
        {1, 0, 63, 63, 16, 16, 1, 0, 0.1, 0, 0},
        {1, 0, 64, 64, 17, 7, 1, 0, 0.1, 0, 0},
        {2, 0, 65, 65, 15, 16, 1, 0, 0.1, 0, 0},
        {1, 0, 128, 66, 80, 16, 1, 0, 0.1, 0, 0},
        {1, 0, 129, 64, 80, 5, 0, 0, 0.1, 1, 0},
        {1, 0, 70, 70, 8, 256, 1, 0, 0.1, 0, 0},
        {1, 0, 66, 66, 3, 40, 1, 0, 0.1, 0, 0},
        /* no decay; decays that leave nothing; steps far on both sides */
        {1, 0, 150, 70, 16, 4, 1, 0, 0, 1, 0},
        {1, 0, 70, 70, 16, 4, 1, 0, 1e6, 4, 0},
        {1, 0, 70, 70, 16, 4, 0, 1, 0, 1e6, 0},
        {1, 0, 90, 90, 40, 8, 1, 0, 0.01, 30, 0},
        {1, 0, 90, 90, 40, 8, 1, 0, 1, -30, 0},
        /* one read row far behind slow and fast decays */
        {1, 0, 2000, 1, 32, 4, 1, 0, 0.001, -3, 0},
        {1, 0, 600, 1, 32, 16, 1, 0, 0.05, 0, 0},
        /* groups of channels */
        {2, 0, 70, 70, 20, 4, 1, 0, 0.3, 0, 2},
        {2, 0, 66, 5, 130, 16, 1, 0, 0.1, 0, 2},
        {1, 0, 65, 65, 9, 3, 0, 0, 0.5, 1, 3},
        {3, 1, 37, 37, 200, 2, 1, 0, 0.5, 0, 4},
    };
    (void)state;
    for (int i = 0; i < LENGTH(cases); i++)
        check_case(&(struct any_case){.op = OP_SCAN, .scan = cases[i]});
}

static void test_wkv(void **state)
{
    static const struct wkv_case cases[] = {
        /* segments, first, rows, queries, channels, decay, size */
        {1, 0, 1, 1, 1, 1, 1},
        {1, 0, 2, 1, 1, 1, 1},
        {2, 0, 37, 37, 20, 0.3, 1},
        {3, 0, 37, 5, 33, 1, 2},
        {3, 0, 8, 8, 64, 0.5, 1},
        {2, 0, 9, 7, 65, 0.5, 1},
        {1, 0, 70, 33, 130, 0.1, 3},
        {2, 0, 300, 300, 17, 0.02, 1},
        {2, 0, 300, 1, 31, 0.05, 1},
        /* exponents far apart, that no exponential of them fits into float */
        {1, 0, 90, 90, 40, 0.2, 60},
        {1, 0, 90, 1, 40, 0.001, 200},
        /* no decay; decays that leave nothing; slow ones over many rows */
        {1, 0, 150, 70, 16, 0, 1},
        {1, 0, 70, 70, 16, 1e6, 4},
        {1, 0, 2000, 1, 16, 0.0005, 4},
        {1, 0, 2000, 2000, 4, 0.0005, 20},
    };
    (void)state;
    for (int i = 0; i < LENGTH(cases); i++)
        check_case(&(struct any_case){.op = OP_WKV, .wkv = cases[i]});
}

static void test_convolution(void **state)
{
    static const struct convolution_case cases[] = {
        /* segments, first, keys, queries, width, reach, bias, gated */
        {1, 0, 1, 1, 1, 1, 1, 1},    {1, 0, 2, 2, 3, 3, 0, 1},    {3, 0, 65, 65, 31, 3, 1, 1},
        {2, 0, 5, 1, 64, 3, 0, 1},   {2, 0, 63, 61, 17, 3, 1, 1}, {1, 0, 9, 9, 1028, 4, 0, 1},
        {3, 0, 8, 1, 257, 8, 1, 1},  {2, 0, 3, 3, 40, 8, 1, 1},   {2, 0, 130, 1, 20, 2, 0, 1},
        {1, 0, 33, 32, 12, 1, 0, 1}, {1, 0, 1, 1, 1, 1, 1, 0},    {3, 0, 65, 65, 31, 4, 1, 0},
        {2, 0, 5, 1, 64, 3, 0, 0},   {2, 0, 63, 61, 17, 3, 1, 0}, {1, 0, 9, 9, 1028, 4, 0, 0},
        {2, 0, 3, 3, 40, 8, 1, 0},
    };
    (void)state;
    for (int i = 0; i < LENGTH(cases); i++)
        check_case(&(struct any_case){.op = OP_CONVOLUTION, .convolution = cases[i]});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recurrence), cmocka_unit_test(test_channels),
        cmocka_unit_test(test_gating),     cmocka_unit_test(test_channel_gating),
        cmocka_unit_test(test_scan),       cmocka_unit_test(test_lru),
        cmocka_unit_test(test_wkv),        cmocka_unit_test(test_convolution),
    };
    cmocka_set_test_filter(getenv("REACH_TESTS")); /* "test_route*": those alone */
    return cmocka_run_group_tests_name("kernels", tests, open_sets, close_sets);
}
