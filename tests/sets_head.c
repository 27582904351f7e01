/* Tests of t-kernels-sets.c: the head, with rows of targets and what is left out. */
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

void test_head(void **state)
{
    static const struct head_case cases[] = {
        /* segments, first, width, vocabulary, bias, soft_cap, seed, size */
        {1, 0, 1, 1, 0, 0, 1, 1},
        {1, 0, 2, 2, 1, 0, 1, 1},
        {3, 0, 3, 65, 1, 0, 1, 1},
        {2, 0, 63, 257, 0, 30, 1, 4},
        {3, 0, 65, 63, 1, 2, -0.5, 1},
        {3, 0, 257, 1031, 1, 0, 1, 0.25},
        {2, 0, 768, 257, 0, 0, 3, 0.125},
        {2, 0, 65, 257, 0, 0, 1, 16}, /* probabilities from 1 down to underflow */
        {2, 0, 5, 12345, 1, 0, 1, 1}, /* sums of the gradient over more of the table than a block
                                         has at once */
        {9, 0, 12, 70, 1, 0, 1, 1}, /* more segments than share a reading of the table */
    };
    (void)state;
    for (int i = 0; i < LENGTH(cases); i++) {
        check_case(&(struct any_case){.op = OP_HEAD, .head = cases[i]});
        for (int s = 0; s < set_count; s++) { /* linear in the seed */
            struct head_case twice = cases[i];
            twice.seed *= 2;
            struct outputs once = run_head(sets[s], &cases[i], 0),
                           doubled = run_head(sets[s], &twice, 0);
            for (size_t j = 0; j < (size_t)once.segments * once.array[0].each; j++)
                once.array[0].value[j] *= 2;
            require_same("doubling the seed", sets[s],
                         &(struct any_case){.op = OP_HEAD, .head = twice}, &doubled, &once, 0);
            outputs_free(&once);
            outputs_free(&doubled);
        }
    }
}

/* Rows one at a time, few, and more than a tile; vocabularies that fill no chunk, one, several, and
 * many. */
void test_head_rows(void **state)
{
    static const struct head_rows_case cases[] = {
        /* segments, first, rows, width, vocabulary, bias, soft_cap, size */
        {1, 0, 1, 1, 1, 0, 0, 1},       {3, 0, 1, 19, 33, 1, 0, 1},
        {2, 0, 8, 33, 257, 1, 2, 4},    {2, 0, 9, 33, 257, 1, 2, 4},
        {2, 0, 9, 7, 767, 0, 0, 1},     {1, 0, 63, 65, 769, 1, 0, 8},
        {3, 0, 17, 16, 50000, 1, 0, 2}, {3, 0, 2, 16, 50000, 1, 30, 2},
        {2, 0, 515, 5, 3, 0, 0, 64},    {2, 0, 1025, 8, 800, 1, 5, 1},
        {1, 0, 1030, 2, 8300, 1, 0, 1},
    };
    (void)state;
    for (int i = 0; i < LENGTH(cases); i++)
        check_case(&(struct any_case){.op = OP_HEAD_ROWS, .head_rows = cases[i]});
}

/* One row has the log p of `head`; a logit that is not finite makes its own row NaN; a target that
 * is not a token is told. */
void test_head_rows_edges(void **state)
{
    enum { VOCABULARY = 900, WIDTH = 12, ROWS = 20 };
    (void)state;
    for (int s = 0; s < set_count; s++) {
        struct kernels *k = sets[s];
        double *x = random_values(ROWS * WIDTH, 1, 1), *w = random_values(VOCABULARY * WIDTH, 2, 1),
               one[ROWS], many[ROWS];
        int32_t target[ROWS];
        struct error e;
        for (int r = 0; r < ROWS; r++)
            target[r] = 899 - 45 * r;
        struct weight *table = weight_of(k, WEIGHT_TABLE, w, VOCABULARY, WIDTH);
        struct buffer *bx = buffer_of(k, ROLE_ACTIVATION, x, ROWS * WIDTH),
                      *dx = buffer_new(k, ROLE_ACTIVATION, ROWS * WIDTH);
        struct buffer *logprob = buffer_new(k, ROLE_STATISTIC, ROWS),
                      *targets = index_of(k, target, ROWS);
        k->head(k, dx, logprob, bx, targets, table, NULL, 0, 1, ROWS, WIDTH);
        k->read(k, one, logprob, 0, ROWS);
        k->head_rows(k, logprob, bx, targets, table, NULL, 0, (struct rows){1, ROWS}, WIDTH);
        k->read(k, many, logprob, 0, ROWS);
        if (compare_values(k->name, many, one, ROWS, 64 * roundoff(k, OP_HEAD_ROWS),
                           16 * roundoff(k, OP_HEAD_ROWS)))
            fail_msg("%s %s: head_rows and head differ", k->name, k->dtype);
        k->write(k, bx, 7 * WIDTH, (double[]){NAN}, 1);
        k->head_rows(k, logprob, bx, targets, table, NULL, 0, (struct rows){1, ROWS}, WIDTH);
        k->read(k, one, logprob, 0, ROWS);
        for (int r = 0; r < ROWS; r++)
            if (r == 7 ? !isnan(one[r]) : one[r] != many[r])
                fail_msg("%s %s: row %d has log p %g beside a row that is NaN, without it %g",
                         k->name, k->dtype, r, one[r], many[r]);
        assert_int_equal(k->synchronize(k, &e), 0);
        k->write_index(k, targets, 3, (int32_t[]){VOCABULARY}, 1);
        k->head_rows(k, logprob, bx, targets, table, NULL, 0, (struct rows){1, ROWS}, WIDTH);
        assert_int_equal(k->synchronize(k, &e), -1);
        assert_string_equal(e.text, "head: target id 900 (expected 0 to 899)");
        k->destroy(k, bx), k->destroy(k, dx), k->destroy(k, logprob), k->destroy(k, targets);
        k->weight_free(k, table);
        free(x), free(w);
    }
}

/* A table that is stored in bf16 gives the head what the same numbers in double do. */
void test_head_rows_bf16(void **state)
{
    enum { VOCABULARY = 33, WIDTH = 24, ROWS = 5 };
    double *x = random_values(ROWS * WIDTH, 1, 1), *wide = random_values(VOCABULARY * WIDTH, 2, 1),
           want[ROWS], got[ROWS];
    uint16_t *halves = upper_halves(wide, VOCABULARY * WIDTH);
    const struct weight_part part = {
        halves, ELEMENT_BF16, 1, VOCABULARY, WIDTH, VOCABULARY * WIDTH, WIDTH, 1, 0, 0, NULL, 0};
    (void)state;
    for (int i = 0; i < VOCABULARY * WIDTH; i++) {
        uint32_t bits = (uint32_t)halves[i] << 16;
        float value;
        memcpy(&value, &bits, sizeof value);
        wide[i] = value;
    }
    for (int s = 0; s < set_count; s++) {
        struct kernels *k = sets[s];
        struct error e;
        struct weight *tables[] = {weight_of(k, WEIGHT_TABLE, wide, VOCABULARY, WIDTH),
                                   k->weight_load(k, WEIGHT_TABLE, &part, 1, &e)};
        struct buffer *bx = buffer_of(k, ROLE_ACTIVATION, x, ROWS * WIDTH),
                      *logprob = buffer_new(k, ROLE_STATISTIC, ROWS),
                      *targets = index_of(k, (const int32_t[]){0, 32, 7, 12, 31}, ROWS);
        assert_non_null(tables[1]);
        for (int t = 0; t < 2; t++) {
            k->head_rows(k, logprob, bx, targets, tables[t], NULL, 0, (struct rows){1, ROWS},
                         WIDTH);
            k->read(k, t ? got : want, logprob, 0, ROWS);
        }
        assert_int_equal(k->synchronize(k, &e), 0);
        if (compare_values(k->name, got, want, ROWS, 64 * ldexp(1, -24), 16 * ldexp(1, -24)))
            fail_msg("%s %s: another log p from a table in bf16", k->name, k->dtype);
        k->destroy(k, bx), k->destroy(k, logprob), k->destroy(k, targets);
        k->weight_free(k, tables[0]), k->weight_free(k, tables[1]);
    }
    free(x), free(wide), free(halves);
}

/* Tokens whose bias is -inf count for nothing, also where there are so many in front that a set
 * meets no other logit for long. */
void test_head_left_out(void **state)
{
    enum { OUT = 8500, VOCABULARY = OUT + 300, WIDTH = 12, ROWS = 20 };
    (void)state;
    for (int s = 0; s < set_count; s++)
        for (int rows = 3; rows <= ROWS; rows += ROWS - 3) {
            struct kernels *k = sets[s];
            double *x = random_values(ROWS * WIDTH, 1, 1),
                   *w = random_values(VOCABULARY * WIDTH, 2, 1), want[2][ROWS], got[2][ROWS],
                   *b = random_values(VOCABULARY, 3, 1), unit = roundoff(k, OP_HEAD_ROWS);
            size_t n = (size_t)rows;
            struct buffer *bx = buffer_of(k, ROLE_ACTIVATION, x, n * WIDTH),
                          *dx = buffer_new(k, ROLE_ACTIVATION, n * WIDTH),
                          *logprob = buffer_new(k, ROLE_STATISTIC, n);
            for (int all = 0; all < 2; all++) {
                int32_t target[ROWS];
                int first = all ? 0 : OUT;
                for (int r = 0; r < rows; r++)
                    target[r] = OUT - first + 14 * r;
                for (int v = 0; v < OUT; v++)
                    b[v] = -INFINITY;
                struct weight *table = weight_of(k, WEIGHT_TABLE, w + first * WIDTH,
                                                 (size_t)(VOCABULARY - first), WIDTH),
                              *bias = weight_of(k, WEIGHT_VECTOR, b + first,
                                                (size_t)(VOCABULARY - first), 1);
                struct buffer *targets = index_of(k, target, n);
                double(*to)[ROWS] = all ? got : want;
                k->head(k, dx, logprob, bx, targets, table, bias, 0, 1, rows, WIDTH);
                k->read(k, to[0], logprob, 0, n);
                k->head_rows(k, logprob, bx, targets, table, bias, 0, (struct rows){1, rows},
                             WIDTH);
                k->read(k, to[1], logprob, 0, n);
                k->destroy(k, targets), k->weight_free(k, table), k->weight_free(k, bias);
            }
            for (int i = 0; i < 2; i++)
                if (compare_values(k->name, got[i], want[i], n, 64 * unit, 16 * unit))
                    fail_msg(
                        "%s %s: another log p of %d rows beside tokens that are left out, by %s",
                        k->name, k->dtype, rows, i ? "head_rows" : "head");
            k->destroy(k, bx), k->destroy(k, dx), k->destroy(k, logprob);
            free(x), free(w), free(b);
        }
}
