/* Every kernel set that this machine can run, against the f64 reference on the same inputs at
 * awkward sizes; and what must hold bit for bit: thread counts, segments alone or together,
 * aliasing, factors of two on the gradient, and zeros outside a window.
 *
 * Tolerances: kernel_run.c gives for each output a bound on its rounding error in units of
 * roundoff, with the reasons. */
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

static void test_linear(void **state)
{
    static const struct linear_case cases[] = {
        /* segments, first, rows, in, out, bias, accumulate, blocks */
        {1, 0, 1, 1, 1, 0, 0, 0},
        {1, 0, 1, 1, 65, 1, 1, 0},
        {1, 0, 2, 65, 1, 1, 0, 0},
        {1, 0, 3, 2, 3, 0, 1, 0},
        {3, 0, 1, 63, 65, 1, 0, 0},
        {3, 0, 63, 3, 63, 1, 1, 0},
        {2, 0, 65, 65, 2, 0, 1, 0},
        {2, 0, 65, 63, 257, 1, 1, 0},
        {3, 0, 2, 257, 65, 1, 0, 0},
        {2, 0, 3, 768, 65, 1, 1, 0},
        {1, 0, 257, 65, 65, 0, 0, 0},
        {1, 0, 257, 63, 65, 1, 1, 0},
        {2, 0, 1, 768, 768, 1, 0, 0},
        {1, 0, 3, 768, 257, 1, 0, 0},
        {1, 0, 65, 257, 65, 0, 1, 0},
        {2, 0, 2, 257, 768, 1, 1, 0},
        {3, 0, 129, 32, 96, 1, 0, 0},
        {2, 0, 65, 63, 96, 1, 2, 0},
        {1, 0, 3, 64, 65, 0, 2, 0},
        /* blocks on diagonals: few rows, and many */
        {2, 0, 5, 12, 16, 0, 0, 2},
        {3, 1, 2, 260, 8, 1, 1, 2},
        {1, 0, 8, 600, 24, 0, 1, 2},
        {1, 0, 100, 60, 48, 1, 1, 3},
        {2, 0, 65, 7, 14, 0, 1, 7},
        {1, 0, 1030, 260, 520, 1, 0, 2},
        {1, 0, 70, 1600, 160, 0, 0, 4},
        {1, 0, 9, 96, 64, 1, 2, 32},
    };
    (void)state;
    for (int i = 0; i < LENGTH(cases); i++)
        check_case(&(struct any_case){.op = OP_LINEAR, .linear = cases[i]});
}

static void test_norm(void **state)
{
    static const int sizes[][3] = {/* segments, rows, width */
                                   {1, 1, 1},    {1, 2, 2},    {2, 1, 3},
                                   {3, 3, 63},   {3, 65, 65},  {2, 3, 257},
                                   {1, 257, 65}, {2, 63, 768}, {2, 3, 1028}};
    (void)state;
    for (int i = 0; i < LENGTH(sizes); i++)
        for (int variant = 0; variant < 8; variant++) {
            struct norm_case c = {.segments = sizes[i][0],
                                  .rows = sizes[i][1],
                                  .width = sizes[i][2],
                                  .kind = variant & 1 ? NORM_RMS : NORM_LAYER,
                                  .shift = variant >> 1 & 1,
                                  .accumulate = variant >> 2};
            check_case(&(struct any_case){.op = OP_NORM, .norm = c});
            c.mean = 50;
            if (i % 2)
                check_case(&(struct any_case){.op = OP_NORM, .norm = c});
            c.mean = 0;
            c.vectors = i % 2 ? VECTORS_ONE : VECTORS_NONE;
            check_case(&(struct any_case){.op = OP_NORM, .norm = c});
            c.kind = variant & 1 ? NORM_RMS_OUTSIDE : NORM_LENGTH;
            check_case(&(struct any_case){.op = OP_NORM, .norm = c});
            c.vectors = VECTORS_FULL;
            check_case(&(struct any_case){.op = OP_NORM, .norm = c});
            c.epsilon = 0.5; /* some rows are shorter */
            check_case(&(struct any_case){.op = OP_NORM, .norm = c});
        }
}

/* A row of zeros: the norms with epsilon beside or in place of the length have a value and a
 * derivative there. */
static void test_norm_of_zero(void **state)
{
    enum { WIDTH = 19 };
    static const enum norm_kind kinds[] = {NORM_LAYER, NORM_RMS, NORM_RMS_OUTSIDE, NORM_LENGTH};
    static const double factors[] = {2, 2, 4, 4}; /* 1 / sqrt(1 / 4), 1 / (1 / 4) */
    double zero[WIDTH] = {0}, *dy = random_values(WIDTH, 1, 1), y[WIDTH], dx[WIDTH], mean = 0;
    (void)state;
    for (int i = 0; i < WIDTH; i++)
        mean += dy[i] / WIDTH;
    for (int i = 0; i < set_count; i++)
        for (int j = 0; j < LENGTH(kinds); j++) {
            struct kernels *k = sets[i];
            struct norm norm = {kinds[j], 0.25, NULL, NULL};
            struct buffer *bx = buffer_of(k, ROLE_RESIDUAL, zero, WIDTH),
                          *by = buffer_new(k, ROLE_ACTIVATION, WIDTH),
                          *bdx = buffer_new(k, ROLE_RESIDUAL, WIDTH);
            struct buffer *bdy = buffer_of(k, ROLE_ACTIVATION, dy, WIDTH),
                          *statistics = buffer_new(k, ROLE_STATISTIC, 2);
            k->norm(k, by, statistics, bx, &norm, (struct rows){1, 1}, WIDTH);
            k->norm_reverse(k, bdx, NULL, bdy, bx, statistics, &norm, (struct rows){1, 1}, WIDTH,
                            0);
            k->read(k, y, by, 0, WIDTH);
            k->read(k, dx, bdx, 0, WIDTH);
            for (int c = 0; c < WIDTH; c++) {
                double want = factors[j] * (dy[c] - (kinds[j] == NORM_LAYER ? mean : 0));
                if (y[c] != 0 || !(fabs(dx[c] - want) <= 1e-5 + 16 * roundoff(k, OP_NORM)))
                    fail_msg("%s %s, norm kind %d of zeros: y %g, dx[%d] %g (expected 0, %g)",
                             k->name, k->dtype, kinds[j], y[c], c, dx[c], want);
            }
            struct buffer *all[] = {bx, by, bdx, bdy, statistics};
            for (int b = 0; b < LENGTH(all); b++)
                k->destroy(k, all[b]);
        }
    free(dy);
}

static void test_norm_heads(void **state)
{
    static const struct heads_case cases[] = {
        /* segments, first, rows, heads, head_size, width, kind, shift, alias, each */
        {1, 0, 1, 1, 1, 1, NORM_RMS, 0, 0, 0},
        {1, 0, 2, 1, 7, 7, NORM_LAYER, 1, 1, 0},
        {2, 0, 3, 3, 16, 96, NORM_RMS, 0, 1, 0},
        {3, 0, 65, 2, 31, 65, NORM_LAYER, 1, 0, 0},
        {2, 0, 63, 5, 80, 800, NORM_RMS, 0, 1, 0},
        {1, 0, 257, 4, 128, 513, NORM_LAYER, 0, 0, 0},
        {1, 0, 3, 2, 256, 1024, NORM_RMS_OUTSIDE, 1, 1, 0},
        {2, 0, 33, 3, 16, 48, NORM_LAYER, 0, 1, 1},
        {1, 0, 5, 4, 80, 700, NORM_RMS, 1, 0, 1},
        {2, 0, 9, 1, 640, 1280, NORM_RMS, 0, 1, 0}, /* all heads as one */
        {1, 0, 3, 1, 5000, 5000, NORM_RMS, 0, 1, 0},
    };
    (void)state;
    for (int i = 0; i < LENGTH(cases); i++)
        check_case(&(struct any_case){.op = OP_HEADS, .heads = cases[i]});
}

static void test_clip(void **state)
{
    static const struct clip_case cases[] = {{1, 0, 1, 1, 0.125},
                                             {3, 0, 3, 65, 1.25},
                                             {2, 0, 65, 31, 0.375},
                                             {1, 0, 257, 17, 6}};
    (void)state;
    for (int i = 0; i < LENGTH(cases); i++)
        check_case(&(struct any_case){.op = OP_CLIP, .clip = cases[i]});
}

/* With y = NULL the statistics are those of a full run. */
static void test_norm_statistics_only(void **state)
{
    enum { ROWS = 5, WIDTH = 65 };
    double *x = random_values(ROWS * WIDTH, 1, 1), *scale = random_values(WIDTH, 2, 1),
           with[2 * ROWS], without[2 * ROWS];
    (void)state;
    for (int i = 0; i < set_count; i++) {
        struct kernels *k = sets[i];
        struct buffer *bx = buffer_of(k, ROLE_RESIDUAL, x, ROWS * WIDTH),
                      *y = buffer_new(k, ROLE_ACTIVATION, ROWS * WIDTH);
        struct buffer *statistics = buffer_new(k, ROLE_STATISTIC, 2 * ROWS);
        struct weight *w = weight_of(k, WEIGHT_VECTOR, scale, WIDTH, 1);
        struct norm norm = {NORM_LAYER, 1e-5, w, NULL};
        k->norm(k, y, statistics, bx, &norm, (struct rows){1, ROWS}, WIDTH);
        k->read(k, with, statistics, 0, 2 * ROWS);
        k->norm(k, NULL, statistics, bx, &norm, (struct rows){1, ROWS}, WIDTH);
        k->read(k, without, statistics, 0, 2 * ROWS);
        assert_int_equal(compare_exact("statistics without y", without, with, 2 * ROWS), 0);
        k->destroy(k, bx);
        k->destroy(k, y);
        k->destroy(k, statistics);
        k->weight_free(k, w);
    }
    free(x), free(scale);
}

static void test_activation(void **state)
{
    static const int sizes[][3] = {{1, 1, 1}, {3, 1, 63}, {2, 65, 257}}; /* segments, rows, width */
    (void)state;
    for (int i = 0; i < LENGTH(sizes); i++)
        for (int kind = ACTIVATION_GELU; kind <= ACTIVATION_SIGMOID; kind++)
            for (int variant = 0; variant < 4; variant++) {
                struct activation_case c = {
                    sizes[i][0],           0,           sizes[i][1], sizes[i][2],
                    (enum activation)kind, variant & 1, 0,           variant & 2 ? 64 : 1};
                struct activation_case alias = c;
                check_case(&(struct any_case){.op = OP_ACTIVATION, .activation = c});
                alias.alias = 1;
                for (int s = 0; s < set_count; s++) {
                    struct outputs apart = run_activation(sets[s], &c, 0),
                                   over = run_activation(sets[s], &alias, 0);
                    require_same("a = up and d_up = da", sets[s],
                                 &(struct any_case){.op = OP_ACTIVATION, .activation = alias},
                                 &over, &apart, 0);
                    outputs_free(&apart);
                    outputs_free(&over);
                }
            }
}

static void test_xielu(void **state)
{
    static const int sizes[][3] = {{1, 1, 1}, {3, 1, 63}, {2, 65, 257}}; /* segments, rows, width */
    static const struct xielu numbers[] = {{0.8, 0.7, 0.5, -1e-6}, {1.7, 2.3, -0.3, -0.25}};
    (void)state;
    for (int i = 0; i < LENGTH(sizes) * 4; i++) {
        const int *size = sizes[i / 4];
        struct xielu_case c = {size[0], 0, size[1], size[2], 0, i & 2 ? 16 : 1, numbers[i & 1]};
        struct xielu_case alias = c;
        check_case(&(struct any_case){.op = OP_XIELU, .xielu = c});
        alias.alias = 1;
        for (int s = 0; s < set_count; s++) {
            struct outputs apart = run_xielu(sets[s], &c, 0), over = run_xielu(sets[s], &alias, 0);
            require_same("y = x and dx = dy", sets[s],
                         &(struct any_case){.op = OP_XIELU, .xielu = alias}, &over, &apart, 0);
            outputs_free(&apart);
            outputs_free(&over);
        }
    }
}

static void test_rows(void **state)
{
    static const struct rows_case cases[] = {
        /* segments, first, rows, positions, heads, head_size, rotary_size, pairing, position_rows,
           tables_bf16, rotary_first */
        {1, 0, 1, 1, 1, 2, 2, PAIRING_HALF, 0, 0, 0},
        {1, 0, 1, 9, 1, 1, 0, PAIRING_HALF, 1, 0, 0},
        {2, 0, 2, 2, 3, 16, 16, PAIRING_INTERLEAVED, 1, 0, 0},
        {3, 0, 3, 65, 2, 31, 14, PAIRING_HALF, 1, 0, 0},
        {3, 0, 3, 65, 2, 31, 14, PAIRING_INTERLEAVED, 0, 0, 0},
        {3, 0, 63, 63, 4, 64, 64, PAIRING_HALF, 1, 0, 0},
        {2, 0, 65, 257, 3, 80, 32, PAIRING_INTERLEAVED, 1, 0, 0},
        {1, 0, 257, 257, 6, 128, 128, PAIRING_HALF, 1, 0, 0},
        {2, 0, 5, 9, 3, 16, 8, PAIRING_HALF, 1, 0, 0},
        {1, 0, 3, 5, 2, 16, 8, PAIRING_INTERLEAVED, 0, 0, 0},
        /* pairs that are no vectors, and vectors of them, of which the second head's would not be
           aligned */
        {1, 0, 2, 3, 3, 12, 12, PAIRING_HALF, 0, 0, 0},
        {1, 0, 2, 3, 3, 8, 6, PAIRING_INTERLEAVED, 0, 0, 0},
        {1, 0, 2, 3, 2, 9, 8, PAIRING_HALF, 0, 0, 0},
        {1, 0, 2, 3, 2, 9, 8, PAIRING_INTERLEAVED, 0, 0, 0},
        /* the last dimensions of a head */
        {2, 0, 5, 9, 3, 24, 8, PAIRING_HALF, 0, 0, 16},
        {2, 0, 5, 9, 4, 24, 8, PAIRING_INTERLEAVED, 0, 0, 16},
        {1, 0, 3, 5, 3, 12, 4, PAIRING_INTERLEAVED, 0, 0, 7},
        {1, 0, 3, 5, 2, 16, 8, PAIRING_HALF, 0, 0, 6},
    };
    (void)state;
    for (int i = 0; i < LENGTH(cases); i++) {
        for (int op = OP_EMBED; op <= OP_ROW_NORMS; op++)
            check_case(&(struct any_case){.op = (enum op)op, .rows = cases[i]});
        for (int tables = 1; tables < 4 && cases[i].rows < 63; tables++) {
            struct rows_case c = cases[i];
            c.tables_bf16 = tables;
            check_case(&(struct any_case){.op = OP_EMBED, .rows = c});
        }
    }
}

/* Between both roles, whose elements may differ in type. */
static void test_copy(void **state)
{
    static const int sizes[][3] = {
        {1, 1, 1}, {1, 3, 4}, {3, 2, 65}, {2, 65, 256}, {2, 130, 31}}; /* segments, rows, width */
    static const enum buffer_role roles[] = {ROLE_RESIDUAL, ROLE_ACTIVATION};
    (void)state;
    for (int i = 0; i < LENGTH(sizes); i++)
        for (int pair = 0; pair < 4; pair++)
            check_case(&(struct any_case){.op = OP_COPY,
                                          .copy = {sizes[i][0], 0, sizes[i][1], sizes[i][2],
                                                   roles[pair / 2], roles[pair % 2]}});
}

static void test_join(void **state)
{
    static const struct join_case cases[] = {
        /* segments, first, before, behind, width */
        {1, 0, 0, 1, 1}, {1, 0, 3, 1, 5}, {3, 0, 2, 7, 65}, {2, 0, 130, 1, 16}, {2, 0, 0, 9, 3},
    };
    (void)state;
    for (int i = 0; i < LENGTH(cases); i++) {
        const struct join_case *c = &cases[i];
        struct outputs got = run_join(oracle, c, 0);
        size_t before = (size_t)(c->before * c->width), behind = (size_t)(c->behind * c->width),
               S = (size_t)c->segments;
        double *a = random_segments(c->segments, 0, before, 1, 1),
               *b = random_segments(c->segments, 0, behind, 2, 1);
        for (size_t s = 0; s < S; s++)
            if (compare_exact("join, first", got.array[0].value + s * (before + behind),
                              a + s * before, before) ||
                compare_exact("join, second", got.array[0].value + s * (before + behind) + before,
                              b + s * behind, behind))
                fail_msg("case %d, segment %zu", i, s);
        free(a), free(b);
        outputs_free(&got);
        check_case(&(struct any_case){.op = OP_JOIN, .join = *c});
    }
}

static void test_join_keys(void **state)
{
    static const struct join_keys_case cases[] = {
        /* segments, first, rows, heads, head_size, shared, value_size */
        {1, 0, 1, 1, 2, 1, 1},  {2, 0, 3, 4, 24, 8, 16},      {3, 0, 65, 2, 12, 12, 7},
        {1, 0, 2, 5, 31, 6, 9}, {2, 0, 7, 3, 16, 4, 300 / 3},
    };
    (void)state;
    for (int i = 0; i < LENGTH(cases); i++) {
        const struct join_keys_case *c = &cases[i];
        struct outputs got = run_join_keys(oracle, c, 0);
        int rest = c->head_size - c->shared, own = rest + c->value_size,
            width = c->heads * (c->head_size + c->value_size), rows = c->segments * c->rows;
        double *x = random_segments(c->segments, 0, (size_t)(c->rows * c->heads * own), 1, 1),
               *y = random_segments(c->segments, 0, (size_t)(c->rows * c->shared), 2, 1),
               *g = random_segments(c->segments, 0, (size_t)(c->rows * width), 3, 1);
        for (int r = 0; r < rows; r++)
            for (int h = 0; h < c->heads; h++) {
                const double *key = got.array[0].value + r * width + h * c->head_size,
                             *value = got.array[0].value + r * width + c->heads * c->head_size +
                                      h * c->value_size,
                             *d_key = g + (key - got.array[0].value),
                             *d_value = g + (value - got.array[0].value),
                             *from = x + (r * c->heads + h) * own,
                             *d_own = got.array[1].value + (r * c->heads + h) * own;
                if (compare_exact("own part of a key", key, from, (size_t)rest) ||
                    compare_exact("shared part", key + rest, y + r * c->shared,
                                  (size_t)c->shared) ||
                    compare_exact("value", value, from + rest, (size_t)c->value_size) ||
                    compare_exact("d_own, key", d_own, d_key, (size_t)rest) ||
                    compare_exact("d_own, value", d_own + rest, d_value, (size_t)c->value_size))
                    fail_msg("case %d, row %d, head %d", i, r, h);
            }
        for (int r = 0; r < rows; r++)
            for (int p = 0; p < c->shared; p++) {
                double sum = 0;
                for (int h = 0; h < c->heads; h++)
                    sum += g[r * width + h * c->head_size + rest + p];
                assert_true(got.array[2].value[r * c->shared + p] == sum);
            }
        free(x), free(y), free(g);
        outputs_free(&got);
        check_case(&(struct any_case){.op = OP_JOIN_KEYS, .join_keys = *c});
    }
}

static void test_attention(void **state)
{
    int step = getenv("REACH_CUDA") ? 4 : 1; /* the plug-in's has a test of its own */
    (void)state;
    for (int i = 0; i < ATTENTION_CASES; i += step)
        check_case(&(struct any_case){.op = OP_ATTENTION, .attention = set_attention_cases[i]});
}

/* Reverse is linear in the output's gradient: a factor of two comes through exactly. */
static void test_attention_linear(void **state)
{
    (void)state;
    for (int i = 0; i < ATTENTION_CASES; i += getenv("REACH_CUDA") ? 9 : 3)
        for (int s = 0; s < set_count; s++) {
            struct attention_case twice = set_attention_cases[i];
            twice.d_o *= 2;
            struct outputs once = run_attention(sets[s], &set_attention_cases[i], 0),
                           doubled = run_attention(sets[s], &twice, 0);
            for (int a = 2; a < 4; a++) {
                size_t n = (size_t)once.segments * once.array[a].each;
                for (size_t j = 0; j < n; j++)
                    once.array[a].value[j] *= 2;
                double lost = strcmp(sets[s]->dtype, "f64")
                                  ? 1e-36
                                  : 1e-300; /* what the smallest numbers may lose */
                if (compare_values(once.array[a].name, doubled.array[a].value, once.array[a].value,
                                   n, lost, 0)) {
                    char text[300];
                    describe(text, sets[s],
                             &(struct any_case){.op = OP_ATTENTION, .attention = twice});
                    fail_msg("not linear in the output's gradient: %s", text);
                }
            }
            outputs_free(&once);
            outputs_free(&doubled);
        }
}

/* Keys that no query may see have a gradient of exactly 0, whether a window or -inf masks them;
 * rows without a key give o = 0, lse = -inf, dq = 0. */
static void test_masked_zero(void **state)
{
    static const struct attention_case cases[] = {
        {2, 0, 2, 1, 31, 130, 130, 3, 7, BIAS_RANDOM, 0, 0, 0, 1, 1, 0, 0, 0},
        {2, 0, 2, 1, 64, 130, 100, 65, 1, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0, 0},
        {2, 0, 2, 1, 31, 130, 130, 3, 0, BIAS_CUT, 0, 0, 0, 1, 1, 0, 0, 0},
        {1, 0, 2, 1, 16, 65, 65, 1, 0, BIAS_CUT, 1, 1, 4, 1, 1, 0, 0, 0},
        {2, 0, 2, 1, 31, 300, 300, 3, 7, BIAS_RANDOM, 0, 0, 0, 1, 1, 4, 0, 0},
        {1, 0, 2, 2, 16, 300, 300, 30, 7, BIAS_NONE, 0, 1, 0, 1, 1, 101, 0, 0},
        {1, 0, 2, 1, 64, 300, 280, 70, -50, BIAS_NONE, 0, 0, 0, 1, 1, 0, 0, 0},
        {2, 0, 2, 2, 31, 300, 300, 3, -149, BIAS_RANDOM, 0, 0, 0, 1, 1, 0, 0, 0},
    };
    (void)state;
    for (int i = 0; i < LENGTH(cases); i++) {
        const struct attention_case *c = &cases[i];
        int reach = c->bias == BIAS_CUT ? 5 : c->window, first_query = c->keys - c->queries,
            first_seen = first_query - (reach - 1), kept = c->keep - (c->positions - c->keys);
        size_t width = 2 * (size_t)c->kv_heads * (size_t)c->head_size;
        if (c->window < 0)
            for (first_seen = first_query; case_sees(c, first_query, first_seen - 1);)
                first_seen--;
        assert_true(first_seen > 0);
        for (int s = 0; s < set_count; s++) {
            struct outputs o = run_attention(sets[s], c, 0);
            for (int segment = 0; segment < c->segments; segment++)
                for (size_t j = 0; j < (size_t)c->keys * width; j++) {
                    double g = o.array[3].value[(size_t)segment * o.array[3].each + j];
                    int is_value = j % width >=
                                   width / 2; /* a window of 1 leaves nothing for the keys */
                    /* two gradients of few bits may cancel exactly */
                    int may_cancel = roundoff(sets[s], OP_ATTENTION) > ldexp(1, -24);
                    int is_seen = (int)(j / width) >= first_seen || (int)(j / width) < kept;
                    if (!is_seen ? g != 0 : is_value && g == 0 && !may_cancel)
                        fail_msg("%s %s, case %d: gradient %g of key %zu (the first seen is %d)",
                                 sets[s]->name, sets[s]->dtype, i, g, j / width, first_seen);
                }
            outputs_free(&o);
        }
    }
    struct attention_case masked = {1, 0, 2, 2, 16, 65, 65, 65, 0, BIAS_HEAD_MASKED,
                                    0, 0, 0, 1, 1,  0,  0,  0};
    for (int s = 0; s < set_count; s++) {
        struct outputs o = run_attention(sets[s], &masked, 0);
        for (int r = 0; r < 65; r++)
            for (int d = 0; d < 16; d++)
                if (o.array[0].value[r * 32 + d] != 0 || o.array[1].value[r] != -INFINITY ||
                    o.array[2].value[r * 32 + d] != 0 || o.array[3].value[r * 64 + d] != 0 ||
                    o.array[3].value[r * 64 + 32 + d] != 0)
                    fail_msg("%s %s: row %d of the masked head is not empty", sets[s]->name,
                             sets[s]->dtype, r);
        outputs_free(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear),
        cmocka_unit_test(test_norm),
        cmocka_unit_test(test_norm_statistics_only),
        cmocka_unit_test(test_norm_of_zero),
        cmocka_unit_test(test_norm_heads),
        cmocka_unit_test(test_clip),
        cmocka_unit_test(test_activation),
        cmocka_unit_test(test_xielu),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_head),
        cmocka_unit_test(test_head_rows),
        cmocka_unit_test(test_head_rows_edges),
        cmocka_unit_test(test_head_rows_bf16),
        cmocka_unit_test(test_head_left_out),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_join_keys),
        cmocka_unit_test(test_route),
        cmocka_unit_test(test_route_choice),
        cmocka_unit_test(test_mix),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_attention_linear),
        cmocka_unit_test(test_masked_zero),
    };
    cmocka_set_test_filter(getenv("REACH_TESTS")); /* "test_route*": those alone */
    return cmocka_run_group_tests_name("kernels", tests, open_sets, close_sets);
}
