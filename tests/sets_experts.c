/* Tests of t-kernels-sets.c: experts, from routing and choices near ties to mixtures and runs. */
#include "tests/compare.h"
#include "tests/kernel_cases.h"
#include "tests/sets.h"

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

#define LENGTH(array) ((int)(sizeof(array) / sizeof *(array)))

void test_route(void **state)
{
    static const struct route_case cases[] = {
        /* segments, first, rows, {experts, chosen, scoring, groups, chosen groups, group_largest,
           normalised, factor, floor}, corrected, ties, size */
        {1, 0, 1, {1, 1, SCORING_SIGMOID, 1, 1, 0, 0, 1, 0, 0}, 0, 0, 1},
        {2, 0, 3, {2, 1, SCORING_SOFTMAX, 1, 1, 0, 1, 1, 0, 0}, 0, 0, 1},
        {3, 0, 65, {8, 2, SCORING_SOFTMAX, 1, 1, 0, 1, 1, 0, 0}, 0, 0, 2},
        {2, 0, 300, {60, 4, SCORING_SOFTMAX, 1, 1, 0, 0, 1, 0, 0}, 0, 0, 4},
        {2, 0, 63, {16, 16, SCORING_SOFTMAX, 1, 1, 0, 1, 0.5, 0, 0}, 0, 1, 2},
        {2, 0, 63, {16, 5, SCORING_SOFTMAX, 1, 1, 0, 0, 2, 0, 0}, 0, 1, 4},
        {2, 0, 65, {32, 6, SCORING_SIGMOID, 1, 1, 0, 1, 2.5, 1e-20, 0}, 1, 0, 2},
        {2, 0, 65, {32, 6, SCORING_SIGMOID, 8, 3, 0, 1, 2.5, 1e-20, 0}, 1, 0, 2},
        {2, 0, 65, {64, 8, SCORING_SIGMOID, 4, 1, 0, 0, 1, 0, 0}, 0, 1, 2},
        {1, 0, 9, {1024, 64, SCORING_SIGMOID, 512, 300, 0, 1, 1, 0, 0}, 1, 0, 4},
        {2, 0, 65, {32, 6, SCORING_SOFTMAX, 1, 1, 0, 1, 1, 0, 0}, 1, 0, 2},
        {2, 0, 65, {9, 2, SCORING_SOFTMAX, 1, 1, 0, 0, 2, 0, 0}, 1, 0, 4},
        {2, 0, 65, {32, 6, SCORING_SOFTMAX, 8, 3, 0, 1, 2, 0, 0}, 0, 0, 2},
        {2, 0, 65, {32, 6, SCORING_SOFTMAX, 8, 3, 1, 0, 16, 0, 0}, 0, 0, 2},
        {2, 0, 65, {16, 3, SCORING_SOFTMAX, 4, 1, 1, 0, 1, 0, 0}, 0, 1, 2},
        {2, 0, 65, {6, 3, SCORING_SIGMOID, 6, 4, 1, 1, 1, 1e-20, 0}, 1, 0, 2},
        {2, 0, 65, {16, 2, SCORING_SPARSEMIXER, 1, 1, 0, 0, 1, 0, 0.02}, 0, 0, 2},
        {2, 0, 65, {16, 2, SCORING_SPARSEMIXER, 1, 1, 0, 0, 1.5, 0, 0.7}, 0, 0, 2},
        {3, 0, 65, {6, 2, SCORING_SPARSEMIXER, 1, 1, 0, 0, 1, 0, 0}, 0, 1, 2},
        {1, 0, 7, {2, 2, SCORING_SPARSEMIXER, 1, 1, 0, 0, 1, 0, 0.4}, 0, 0, 1},
    };
    (void)state;
    for (int i = 0; i < LENGTH(cases); i++)
        check_case(&(struct any_case){.op = OP_ROUTE, .route = cases[i]});
}

/* The choice against sorting by hand: groups, equal scores, a NaN, logits of -inf; and its weights.
 */
void test_route_choice(void **state)
{
    static const struct {
        struct routing routing;
        double logits[6], correction[6];
        int32_t choice[3];
        double weights[3];
    } cases[] = {
        {{6, 3, SCORING_SOFTMAX, 1, 1, 0, 0, 2, 0, 0},
         {0, 0, 0, 0, 0, 0},
         {0},
         {0, 1, 2},
         {1.0 / 3, 1.0 / 3, 1.0 / 3}},
        {{6, 2, SCORING_SOFTMAX, 1, 1, 0, 1, 1, 0, 0}, {1, 3, 2, 3, 0, 3}, {0}, {1, 3}, {0.5, 0.5}},
        {{6, 2, SCORING_SOFTMAX, 1, 1, 0, 1, 1, 0, 0},
         {-INFINITY, 3, -INFINITY, -1e4, 0, -1e30},
         {0},
         {1, 4},
         {0.95257412682243336, 0.04742587317756678}},
        {{6, 2, SCORING_SOFTMAX, 1, 1, 0, 1, 1, 0, 0},
         {0, NAN, 1, 2, 0, 0},
         {0},
         {2, 3},
         {NAN, NAN}},
        {{6, 3, SCORING_SOFTMAX, 1, 1, 0, 1, 1, 0, 0},
         {NAN, NAN, NAN, NAN, NAN, NAN},
         {0},
         {0, 1, 2},
         {NAN, NAN, NAN}},
        /* groups by the sums of two of their softmax, not of their logits; and by the largest */
        {{6, 2, SCORING_SOFTMAX, 3, 1, 0, 1, 1, 0, 0},
         {3, -5, 2, 1.9, 0, 0},
         {0},
         {0, 1},
         {0.99966464986953352, 0.00033535013046647811}},
        {{6, 2, SCORING_SOFTMAX, 3, 1, 0, 0, 2, 0, 0},
         {1.5, 1.5, 2, -9, 0, 0},
         {0},
         {0, 1},
         {0.48839939979503955, 0.48839939979503955}},
        {{6, 2, SCORING_SOFTMAX, 3, 1, 1, 0, 2, 0, 0},
         {1.5, 1.5, 2, -9, 0, 0},
         {0},
         {2, 3},
         {0.8052344790392576, 1.3448785334903022e-05}},
        /* by the corrected score, weighted by the other */
        {{6, 2, SCORING_SOFTMAX, 1, 1, 0, 0, 3, 0, 0},
         {0, 0, 0, 0, 0, 0},
         {0, 0.25, 0, 0, 0.5, 0},
         {1, 4},
         {0.5, 0.5}},
        {{6, 2, SCORING_SOFTMAX, 1, 1, 0, 1, 1, 0, 0},
         {9, 9, 0, 0, 0, -9},
         {0, 0, 0, 0, 0, 0.75},
         {0, 5},
         {1, 0}},
        {{6, 2, SCORING_SIGMOID, 1, 1, 0, 1, 3, 0, 0},
         {0, 0, 0, 0, 0, 0},
         {0, 0.25, 0, 0, 0.5, 0},
         {1, 4},
         {1.5, 1.5}},
        /* the first beside all that are near it, the second beside those near it but the first;
           with logits below 0 the nearness is relative to each one's own size, and of zeros all are
           near */
        {{6, 2, SCORING_SPARSEMIXER, 1, 1, 0, 0, 1, 0, 0.5},
         {1, 4, 2, 3, -9, 1.9},
         {0},
         {1, 3},
         {0.66524095577482178, 0.58797571153283523}},
        {{6, 2, SCORING_SPARSEMIXER, 1, 1, 0, 0, 2, 0, 0.02},
         {1, 4, 2, 3, -9, 1.9},
         {0},
         {1, 3},
         {2, 2}},
        {{6, 2, SCORING_SPARSEMIXER, 1, 1, 0, 0, 1, 0, 0.5},
         {-1, -4, -2, -3, -9, -1.5},
         {0},
         {0, 5},
         {0.50648039105565401, 0.54654938726617963}},
        {{6, 2, SCORING_SPARSEMIXER, 1, 1, 0, 0, 1, 0, 0.5},
         {0, 0, 0, 0, 0, 0},
         {0},
         {0, 1},
         {1.0 / 6, 1.0 / 5}},
        {{6, 2, SCORING_SPARSEMIXER, 1, 1, 0, 0, 1, 0, 0.5},
         {2, 0, 2, 0, 0, NAN},
         {0},
         {0, 2},
         {NAN, NAN}},
        /* groups of two: sums 1.25, 1.5, 1; of the first two the best three */
        {{6, 3, SCORING_SIGMOID, 3, 2, 0, 0, 2, 0, 0},
         {0, 0, 0, 0, 0, 0},
         {0.125, 0.125, 0.5, 0, 0.25, -0.25},
         {0, 1, 2},
         {1, 1, 1}},
        /* groups of three, of which one: sums 1.5, 1.375 */
        {{6, 2, SCORING_SIGMOID, 2, 1, 0, 0, 1, 0, 0},
         {0, 0, 0, 0, 0, 0},
         {0.25, 0, 0.25, 0.375, 0, -1},
         {0, 2},
         {0.5, 0.5}},
        /* a group of scores without a sum comes last */
        {{6, 3, SCORING_SIGMOID, 3, 2, 0, 0, 2, 0, 0},
         {0, 0, 0, 0, 0, 0},
         {INFINITY, -INFINITY, 0, 0, 0.25, 0},
         {2, 3, 4},
         {1, 1, 1}},
        /* equal groups: the first */
        {{6, 2, SCORING_SIGMOID, 3, 1, 0, 0, 1, 0, 0}, {0, 0, 0, 0, 0, 0}, {0}, {0, 1}, {0.5, 0.5}},
    };
    (void)state;
    for (int s = 0; s < set_count; s++)
        for (int i = 0; i < LENGTH(cases); i++) {
            struct kernels *k = sets[s];
            const struct routing *g = &cases[i].routing;
            size_t n = (size_t)g->chosen;
            int32_t choice[3];
            double weights[3];
            struct error e;
            struct buffer *z = buffer_of(k, ROLE_RESIDUAL, cases[i].logits, 6),
                          *w = buffer_new(k, ROLE_RESIDUAL, n), *c = buffer_new(k, ROLE_INDEX, n);
            struct weight *correction = weight_of(k, WEIGHT_VECTOR, cases[i].correction, 6, 1);
            int corrected = g->scoring == SCORING_SIGMOID;
            for (size_t j = 0; j < 6; j++)
                corrected |= cases[i].correction[j] != 0;
            k->route(k, c, w, z, corrected ? correction : NULL, g, (struct rows){1, 1});
            k->read_index(k, choice, c, 0, n);
            k->read(k, weights, w, 0, n);
            assert_int_equal(k->synchronize(k, &e), 0);
            for (size_t j = 0; j < n; j++)
                if (choice[j] != cases[i].choice[j] ||
                    isnan(weights[j]) != isnan(cases[i].weights[j]) ||
                    fabs(weights[j] - cases[i].weights[j]) > 1e-6)
                    fail_msg(
                        "%s %s, case %d: choice %zu is %d of weight %.9g (expected %d of %.9g)",
                        k->name, k->dtype, i, j, choice[j], weights[j], cases[i].choice[j],
                        cases[i].weights[j]);
            k->destroy(k, z), k->destroy(k, w), k->destroy(k, c);
            k->weight_free(k, correction);
        }
}

void test_mix(void **state)
{
    static const struct mix_case cases[] = {
        /* segments, first, rows, each, width, role, accumulate, plain */
        {1, 0, 1, 1, 1, ROLE_RESIDUAL, 0, 0},     {3, 0, 3, 2, 65, ROLE_ACTIVATION, 1, 0},
        {2, 0, 65, 4, 16, ROLE_RESIDUAL, 1, 0},   {2, 0, 17, 8, 300, ROLE_RESIDUAL, 0, 0},
        {2, 0, 33, 1, 64, ROLE_ACTIVATION, 0, 1},
    };
    (void)state;
    for (int i = 0; i < LENGTH(cases); i++)
        check_case(&(struct any_case){.op = OP_MIX, .mix = cases[i]});
}

void test_runs(void **state)
{
    static const struct runs_case cases[] = {
        /* segments, first, rows, in, out, bias, accumulate, one */
        {1, 0, 2, 1, 1, 0, 0, 0},    {3, 0, 9, 65, 33, 1, 0, 0},    {2, 0, 64, 31, 130, 0, 1, 0},
        {2, 0, 70, 64, 16, 1, 1, 1}, {1, 0, 300, 24, 400, 0, 0, 0}, {1, 0, 1300, 8, 12, 1, 0, 1},
    };
    (void)state;
    for (int i = 0; i < LENGTH(cases); i++)
        check_case(&(struct any_case){.op = OP_RUNS, .runs = cases[i]});
}
