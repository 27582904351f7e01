/* Mixtures of experts: what must hold whatever the numbers are. Numbers: t-model-goldens.c. */
#include "model/engine_parts.h"
#include "tests/changed.h"
#include "tests/golden.h"
#include "tests/scratch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SETS_MOST = 8 };

static struct golden *cases;
static size_t case_count;
static struct kernels *sets[SETS_MOST];
static int set_count;

static int open_all(void **state)
{
    const char *plugin = getenv("REACH_CUDA");
    struct error e;
    cases = goldens_open(&case_count);
    for (int i = 0; i < kernel_set_count; i++) {
        const struct kernel_set_entry *s = &kernel_sets[i];
        int wanted = plugin ? strcmp(s->name, "cuda") == 0 && strcmp(s->dtype, "f32") == 0
                            : strcmp(s->name, "cuda") != 0 &&
                                  strcmp(s->dtype, "bf16") !=
                                      0; /* which decides choices by rounding */
        if (wanted && set_count < SETS_MOST && s->usable() && !(sets[set_count++] = s->open(&e))) {
            fprintf(stderr, "%s\n", e.text);
            return -1;
        }
    }
    return case_count && set_count ? scratch_setup(state) : -1;
}

static int close_all(void **state)
{
    for (int i = 0; i < set_count; i++)
        sets[i]->close(sets[i]);
    goldens_free(cases, case_count);
    return scratch_teardown(state);
}

static const struct golden *case_named(const char *name)
{
    for (size_t i = 0; i < case_count; i++)
        if (strcmp(cases[i].name, name) == 0)
            return &cases[i];
    fail_msg("no golden %s", name);
    return NULL;
}

static struct decoder *open_decoder(const char *path)
{
    struct error e;
    struct decoder *d = decoder_open(path, &e);
    if (!d)
        fail_msg("%s", e.text);
    return d;
}

/* Norms [segments, n] and then log p [segments] of the case's segments by this decoder. The caller
 * frees. */
static double *measure(struct kernels *k, const struct decoder *d, const struct golden *c)
{
    struct error e;
    size_t n = c->length - 1;
    double *norm = calloc(c->segments * (n + 1), sizeof *norm);
    struct engine_request o = {.positions = (int)n, .memory = 1u << 30, .batch = (int)c->segments};
    struct engine *g = engine_create(k, d, &o, &e);
    if (!norm || !g ||
        engine_measure(g, norm, norm + c->segments * n, c->ids, (int)c->segments, &e))
        fail_msg("%s: %s", c->name, e.text);
    engine_close(g);
    return norm;
}

/* The decoders give the same: to the last bit, or but for rounding. Closes both. */
static void expect_same(struct kernels *k, struct decoder *a, struct decoder *b,
                        const struct golden *c, int exactly)
{
    double *x = measure(k, a, c), *y = measure(k, b, c),
           most = strcmp(k->dtype, "f64") ? 1e-4 : 1e-11;
    for (size_t i = 0; i < c->segments * c->length; i++)
        if (exactly ? x[i] != y[i] : !(fabs(x[i] - y[i]) <= most * fmax(fabs(y[i]), 0.01)))
            fail_msg("%s, %s %s: number %zu is %.17g, and %.17g", c->name, k->name, k->dtype, i,
                     x[i], y[i]);
    free(x), free(y);
    decoder_close(a), decoder_close(b);
}

static view dense(const double *values, size_t rows, size_t columns)
{
    return (view){.data = values,
                  .type = ELEMENT_F64,
                  .groups = 1,
                  .rows = rows,
                  .columns = columns,
                  .row_stride = columns,
                  .column_stride = 1};
}

/* One expert, chosen by all with weight 1, is the MLP that it has. */
static void test_one_expert(void **state)
{
    const struct golden *c = case_named("mixtral");
    (void)state;
    for (int s = 0; s < set_count; s++) {
        struct decoder *a = open_decoder(c->checkpoint), *b = open_decoder(c->checkpoint);
        for (int l = 0; l < a->layers; l++) {
            struct experts *x = &a->blocks[l].experts;
            struct block *plain = &b->blocks[l];
            x->routing.experts = x->routing.chosen = 1;
            x->router.weight.rows = 1;
            plain->experts.routing.experts = 0;
            plain->up = plain->experts.expert[0].up, plain->gate = plain->experts.expert[0].gate,
            plain->down = plain->experts.expert[0].down;
        }
        expect_same(sets[s], a, b, c, 0);
    }
}

/* All experts with equal weights are one MLP as wide as all of them. */
static void test_all_experts(void **state)
{
    const struct golden *c = case_named("mixtral");
    (void)state;
    for (int s = 0; s < set_count; s++) {
        struct decoder *a = open_decoder(c->checkpoint), *b = open_decoder(c->checkpoint);
        double *owned[8 * 4] = {NULL};
        int count = 0;
        for (int l = 0; l < a->layers; l++) {
            struct experts *x = &a->blocks[l].experts;
            struct block *plain = &b->blocks[l];
            size_t experts = (size_t)x->routing.experts, m = (size_t)x->width,
                   d = (size_t)a->hidden;
            double *zero = owned[count++] = calloc(experts * d, sizeof *zero),
                   *up = owned[count++] = malloc(8 * experts * m * d),
                   *gate = owned[count++] = malloc(8 * experts * m * d),
                   *down = owned[count++] = malloc(8 * experts * m * d);
            assert_true(zero && up && gate && down && count <= 8 * 4);
            for (size_t i = 0; i < experts * m * d; i++) {
                const struct expert *e = &x->expert[i / (m * d)];
                size_t row = i / d % m, column = i % d;
                up[i] = element_read(e->up.weight.data, e->up.weight.type,
                                     row * e->up.weight.row_stride + column);
                gate[i] = element_read(e->gate.weight.data, e->gate.weight.type,
                                       row * e->gate.weight.row_stride + column);
                down[column * experts * m + i / d] =
                    element_read(e->down.weight.data, e->down.weight.type,
                                 column * e->down.weight.row_stride + row) /
                    (double)experts;
            }
            x->routing.chosen = x->routing.experts;
            x->router.weight = dense(zero, experts, d);
            plain->experts.routing.experts = 0;
            plain->up.weight = dense(up, experts * m, d),
            plain->gate.weight = dense(gate, experts * m, d);
            plain->down.weight = dense(down, d, experts * m);
        }
        expect_same(sets[s], a, b, c, 0);
        while (count)
            free(owned[--count]);
    }
}

/* Whatever the weights of an expert that no row chooses: the same bytes. */
static void test_unchosen(void **state)
{
    static const char *const names[] = {"mixtral", "qwen2-moe", "qwen3-moe"};
    (void)state;
    for (int s = 0; s < set_count; s++)
        for (size_t j = 0; j < sizeof names / sizeof *names; j++) {
            const struct golden *c = case_named(names[j]);
            struct decoder *both[2] = {open_decoder(c->checkpoint), open_decoder(c->checkpoint)};
            size_t d = (size_t)both[0]->hidden;
            double *bias = calloc(64, sizeof *bias), *spoiled = malloc(64 * d * sizeof *spoiled);
            assert_true(bias && spoiled);
            bias[2] = -1e30;
            for (size_t i = 0; i < 64 * d; i++)
                spoiled[i] = NAN;
            for (int l = 0; l < both[0]->layers; l++)
                for (int i = 0; i < 2; i++) {
                    struct experts *x = &both[i]->blocks[l].experts;
                    if (!x->routing.experts)
                        continue;
                    x->router.bias = dense(bias, (size_t)x->routing.experts, 1);
                    if (i == 1) {
                        x->expert[2].up.weight = x->expert[2].gate.weight =
                            dense(spoiled, (size_t)x->width, d);
                        x->expert[2].down.weight = dense(spoiled, d, (size_t)x->width);
                    }
                }
            expect_same(sets[s], both[0], both[1], c, 1);
            free(bias), free(spoiled);
        }
}

/* Layers that predict further tokens stand behind the model's in files of GLM-4.5, as many as the
 * configuration says. */
static void test_layers_behind(void **state)
{
    struct error e;
    (void)state;
    const char *folder = changed("glm4-moe", "num_hidden_layers", "1");
    struct decoder *d = decoder_open(folder, &e);
    if (!d)
        fail_msg("%s", e.text);
    assert_int_equal(d->layers, 1);
    decoder_close(d);
    change_again("num_nextn_predict_layers", "0");
    d = decoder_open(folder, &e);
    assert_null(d);
    assert_non_null(strstr(e.text, "tensor 'model.layers.1."));
}

static int tie(const double *logits, const double *correction, const int32_t *choice,
               struct routing g)
{
    return near_tie(logits, correction, choice, &g, 0x1p-24);
}

/* 64 roundings of the largest logit are the limit, of what chose and of groups. */
static void test_near_tie(void **state)
{
    const struct routing softmax = {.experts = 4, .chosen = 2, .groups = 1, .chosen_groups = 1},
                         sigmoid = {.experts = 4,
                                    .chosen = 1,
                                    .groups = 2,
                                    .chosen_groups = 1,
                                    .scoring = SCORING_SIGMOID};
    const double step = 8 * 64 * 0x1p-24;
    (void)state;
    assert_true(tie((double[]){1, -8, 2, 1}, NULL, (int32_t[]){0, 2}, softmax));
    assert_true(tie((double[]){1, -8, 2, 1 - 0.9 * step}, NULL, (int32_t[]){0, 2}, softmax));
    assert_false(tie((double[]){1, -8, 2, 1 - 1.1 * step}, NULL, (int32_t[]){0, 2}, softmax));
    assert_true(tie((double[]){1 - 0.9 * step, -8, 2, 1}, NULL, (int32_t[]){0, 2},
                    softmax)); /* the other one was taken */
    assert_false(tie((double[]){1, -8, 2, -1}, NULL, (int32_t[]){0, 2}, softmax));
    assert_false(tie((double[]){1, NAN, 2, 1}, NULL, (int32_t[]){0, 2}, softmax));
    assert_false(tie((double[]){1, 1, INFINITY, 1}, NULL, (int32_t[]){0, 2}, softmax));
    /* of softmax that is corrected */
    assert_true(tie((double[]){0, 0, 0, 0}, (double[]){0.5, 0, 0, 0}, (int32_t[]){0, 1}, softmax));
    assert_false(
        tie((double[]){0, 0, 0, 0}, (double[]){0.5, 0, 0.25, 0}, (int32_t[]){0, 2}, softmax));
    assert_true(tie((double[]){0, 0, 0, log(3)}, (double[]){0.5, 0.3333333, 0, 0},
                    (int32_t[]){0, 1}, softmax)); /* 1/2 and 1/2 */
    /* of a sparsemixer: the order of the two, and who is near them: here 0.5 of the larger one's
     * size */
    const struct routing sparse = {.experts = 4,
                                   .chosen = 2,
                                   .groups = 1,
                                   .chosen_groups = 1,
                                   .scoring = SCORING_SPARSEMIXER,
                                   .tolerance = 0.5};
    assert_false(tie((double[]){1, -8, 3, 4}, NULL, (int32_t[]){2, 3}, sparse));
    assert_true(tie((double[]){1, -8, 3, 3}, NULL, (int32_t[]){2, 3}, sparse));
    assert_true(
        tie((double[]){2, -8, 3, 4}, NULL, (int32_t[]){2, 3}, sparse)); /* as near to 4 as may be */
    assert_true(tie((double[]){1.5, -8, 3, 4}, NULL, (int32_t[]){2, 3}, sparse)); /* to 3 */
    assert_true(tie((double[]){2 + 1.9 * step, -8, 3, 4}, NULL, (int32_t[]){2, 3}, sparse));
    assert_false(tie((double[]){2 + 2.1 * step, -8, 3, 4}, NULL, (int32_t[]){2, 3}, sparse));
    /* of sigma: the groups' sums are as near, then the experts of the group that is kept, then
     * neither; those of the other do not count */
    assert_true(tie((double[]){3, 1, 1, 3}, NULL, (int32_t[]){0}, sigmoid));
    assert_true(tie((double[]){3, 3, 1, 1}, NULL, (int32_t[]){0}, sigmoid));
    assert_false(tie((double[]){3, 2, 1, 1}, NULL, (int32_t[]){0}, sigmoid));
    assert_false(
        tie((double[]){3, -5, 1, 2.9999999}, (double[]){0, 2, 0, 0}, (int32_t[]){1}, sigmoid));
    assert_true(tie((double[]){0, 1, -3, -3}, (double[]){0.2310585786300049, 0, 0, 0},
                    (int32_t[]){0}, sigmoid));
}

/* With a router of zeros every choice is one, of each row that is computed; with one that tells
 * experts apart none is. */
static void test_ties_are_counted(void **state)
{
    const struct golden *c = case_named("mixtral");
    (void)state;
    for (int s = 0; s < set_count; s++)
        for (int zero = 0; zero < 2; zero++)
            for (int recompute = 0; recompute < 2; recompute++) {
                struct error e;
                struct decoder *d = open_decoder(c->checkpoint);
                size_t n = c->length - 1;
                double *norm = calloc(c->segments * (n + 1), sizeof *norm),
                       *none = calloc(6 * (size_t)d->hidden, sizeof *none);
                struct engine_request o = {.positions = (int)n,
                                           .memory = 1u << 30,
                                           .batch = (int)c->segments};
                assert_true(norm && none);
                o.gradient.keep = recompute ? KEEP_RECOMPUTE : KEEP_STORE;
                for (int l = 0; l < d->layers && zero; l++)
                    d->blocks[l].experts.router.weight = dense(none, 6, (size_t)d->hidden);
                struct engine *g = engine_create(sets[s], d, &o, &e);
                for (int twice = 0; twice < 2; twice++) {
                    if (!g || engine_measure(g, norm, norm + c->segments * n, c->ids,
                                             (int)c->segments, &e))
                        fail_msg("%s", e.text);
                    for (int i = 0; i < (int)c->segments; i++)
                        assert_int_equal(engine_near_ties(g, i),
                                         zero ? n + 1 : 0); /* the last layer has one row */
                }
                engine_close(g);
                decoder_close(d);
                free(norm), free(none);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_expert),
                                       cmocka_unit_test(test_all_experts),
                                       cmocka_unit_test(test_unchosen),
                                       cmocka_unit_test(test_layers_behind),
                                       cmocka_unit_test(test_near_tie),
                                       cmocka_unit_test(test_ties_are_counted)};
    return cmocka_run_group_tests_name("experts", tests, open_all, close_all);
}
