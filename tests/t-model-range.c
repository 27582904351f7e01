/* Gradients near the ends of a float's range: every kernel set gives the norms that the reference
 * set gives in double, or says that it cannot, of models whose embeddings, final norm or head are
 * scaled far up or down, and of chains of norms that leave the range between two layers. */
#include "analyze/curve.h"
#include "model/attribution.h"
#include "model/engine.h"
#include "tests/golden.h"

#include <math.h>
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum what { EMBEDDINGS, HEAD, FINAL_NORM, POST_NORMS };
static const char *const whats[] = {"embeddings", "head", "final norm", "post norms"};

enum { N = 40, SEGMENTS = 2, FACTORS = 4096 };

static double factors[FACTORS]; /* what a scaled view points to */
static int32_t ids[SEGMENTS * (N + 1)];

static struct decoder *open_decoder(const char *name)
{
    struct error e;
    size_t count;
    struct golden *goldens = goldens_open(&count);
    struct decoder *d = NULL;
    for (size_t i = 0; i < count; i++)
        if (strcmp(goldens[i].name, name) == 0) {
            size_t length = goldens[i].length;
            for (size_t s = 0; s < SEGMENTS; s++)
                for (size_t m = 0; m <= N;
                     m++) /* segments of goldens are short: one after the other */
                    ids[s * (N + 1) + m] =
                        goldens[i].ids[(s * 7 + m) % (goldens[i].segments * length)];
            if (!(d = decoder_open(goldens[i].checkpoint, &e)))
                fail_msg("%s", e.text);
        }
    goldens_free(goldens, count);
    if (!d)
        fail_msg("no golden case %s", name);
    return d;
}

/* Multiplies what a view stands for, in double. */
static void scale(view *v, double factor)
{
    assert_true(v->groups * v->rows <= FACTORS && !v->factors);
    for (size_t i = 0; i < v->groups * v->rows; i++)
        factors[i] = factor;
    v->factors = factors;
}

static void scale_model(struct decoder *d, enum what what, double factor)
{
    switch (what) {
    case EMBEDDINGS: scale(&d->embedding, factor); return;
    case HEAD:
        if (d->tied)
            d->head.weight = d->embedding, d->tied = 0;
        scale(&d->head.weight, factor);
        return;
    case FINAL_NORM:
        scale(&d->final_norm.scale, factor);
        if (d->final_norm.shift.data)
            scale(&d->final_norm.shift, factor);
        return;
    case POST_NORMS:
        for (int l = 0; l < d->layers; l++) {
            scale(&d->blocks[l].attention_post_norm.scale, factor);
            scale(&d->blocks[l].mlp_post_norm.scale, factor);
        }
    }
}

static void measure(double *norm, double *logprob, struct kernels *k, const struct decoder *d,
                    enum attribution kind, int batch)
{
    struct error e;
    struct engine_request o = {.positions = N,
                               .batch = batch,
                               .memory = 1u << 30,
                               .gradient.attribution = kind};
    struct completeness sums[SEGMENTS];
    struct engine *g = engine_create(k, d, &o, &e);
    if (!g)
        fail_msg("%s", e.text);
    for (int s = 0; s < SEGMENTS; s += batch) {
        double *to = norm + s * N;
        const int32_t *from = ids + s * (N + 1);
        if (kind == ATTRIBUTION_GRAD
                ? engine_measure(g, to, logprob + s, from, batch, &e)
                : engine_attribute(g, to, logprob + s, sums, from, (size_t)s, batch, &e))
            fail_msg("%s", e.text);
    }
    engine_close(g);
}

/* Of bf16 twice what holds for models that were not spoiled. */
static double tolerance_of(const char *dtype)
{
    return strcmp(dtype, "bf16") == 0     ? 1e-2
           : strcmp(dtype, "tf32") == 0   ? 5e-4
           : strcmp(dtype, "bf16x3") == 0 ? 2e-5
                                          : 1e-5;
}

/* Returns the segments that the set says it cannot measure. */
static int compare(const char *name, const struct kernels *k, const double *got, const double *want)
{
    double c[N], expected[N];
    int refused = 0;
    for (int s = 0; s < SEGMENTS; s++) {
        int usable = curve_share(expected, want + s * N, N) == 0;
        if (curve_share(c, got + s * N, N)) {
            refused += usable;
            continue;
        }
        if (!usable)
            fail_msg("%s, %s %s, segment %d: usable, and in double it is not", name, k->name,
                     k->dtype, s);
        curve_cumulative(c, c, N);
        curve_cumulative(expected, expected, N);
        for (int m = 0; m < N; m++)
            if (!(fabs(c[m] - expected[m]) <= tolerance_of(k->dtype)))
                fail_msg("%s, %s %s, segment %d, position %d: c %.9g, expected %.9g", name, k->name,
                         k->dtype, s, m, c[m], expected[m]);
    }
    return refused;
}

/* Which sets say that they cannot measure. */
enum refusal { NO_SET, FLOAT_SUMS, ALL_SETS };

/* Every usable set against the reference in double, in batches of both sizes. */
static void check(const char *name, const struct decoder *d, enum attribution kind,
                  enum refusal refusal, int cuda)
{
    struct error e;
    double want[SEGMENTS * N], got[SEGMENTS * N], one[SEGMENTS * N], logprob[SEGMENTS],
        logprob_one[SEGMENTS];
    for (int pass = 0; pass < 2; pass++)
        for (int j = 0; j < kernel_set_count; j++) {
            int is_double = strcmp(kernel_sets[j].dtype, "f64") == 0,
                is_cuda = strcmp(kernel_sets[j].name, "cuda") == 0;
            if (is_double == pass || (is_cuda && !cuda) || !kernel_sets[j].usable())
                continue;
            struct kernels *k = kernel_sets[j].open(&e);
            if (!k)
                fail_msg("%s", e.text);
            measure(is_double ? want : got, logprob, k, d, kind, SEGMENTS);
            if (!is_double) {
                int refused = compare(name, k, got, want),
                    expected = refusal == ALL_SETS || (refusal == FLOAT_SUMS && is_cuda) ? SEGMENTS
                                                                                         : 0;
                if (refused != expected)
                    fail_msg("%s, %s %s: %d segments are refused (expected %d)", name, k->name,
                             k->dtype, refused, expected);
                measure(one, logprob_one, k, d, kind, 1);
                for (int i = 0; i < SEGMENTS * N; i++)
                    assert_true(one[i] == got[i] || (isnan(one[i]) && isnan(got[i])));
                for (int s = 0; s < SEGMENTS; s++)
                    assert_true(logprob_one[s] == logprob[s] ||
                                (isnan(logprob_one[s]) && isnan(logprob[s])));
            }
            k->close(k);
        }
}

static const struct {
    const char *model;
    enum what what;
    double factor;
    enum attribution kind;
    enum refusal refusal;
    int cuda; /* 1: also with the cuda sets, which the stand-in for a GPU runs slowly */
} cases[] = {
    {"example-alibi", EMBEDDINGS, 1e-38, ATTRIBUTION_GRAD, NO_SET, 0},
    {"example-alibi", HEAD, 1e-36, ATTRIBUTION_GRAD, NO_SET, 0},
    {"example-alibi", FINAL_NORM, 1e-36, ATTRIBUTION_GRAD, NO_SET, 0},
    {"example-alibi", FINAL_NORM, 1e30, ATTRIBUTION_GRAD, NO_SET, 0},
    {"example-window-24", EMBEDDINGS, 1e-20, ATTRIBUTION_GRAD, NO_SET, 0},
    {"example-window-24", EMBEDDINGS, 1e-36, ATTRIBUTION_GRAD, NO_SET, 1},
    {"example-window-24", EMBEDDINGS, 1e30, ATTRIBUTION_GRAD, FLOAT_SUMS,
     1}, /* of squares, in norms */
    {"example-window-24", HEAD, 1e-38, ATTRIBUTION_GRAD, NO_SET, 0},
    {"example-window-24", HEAD, 1e30, ATTRIBUTION_GRAD, NO_SET, 0},
    {"example-window-24", FINAL_NORM, 1e-30, ATTRIBUTION_GRAD, NO_SET, 0},
    {"example-window-24", FINAL_NORM, 1e-38, ATTRIBUTION_GRAD, NO_SET, 0},
    {"bloom-6-heads", FINAL_NORM, 1e-38, ATTRIBUTION_GRAD, NO_SET, 1},
    {"opt-350m", HEAD, 1e-38, ATTRIBUTION_GRAD, NO_SET, 1},
    {"opt-350m", POST_NORMS, 1e-9, ATTRIBUTION_GRAD, NO_SET, 1},
    {"opt-350m", POST_NORMS, 1e-25, ATTRIBUTION_GRAD, ALL_SETS,
     1}, /* no one seed holds both ends */
    {"example-window-24", FINAL_NORM, 1e-38, ATTRIBUTION_INPUT, NO_SET, 0},
    {"bloom-6-heads", HEAD, 1e-36, ATTRIBUTION_INTEGRATED, NO_SET, 0},
    {"bloom-6-heads", HEAD, 1e-38, ATTRIBUTION_SMOOTH, NO_SET, 0},
    {"opt-350m", POST_NORMS, 1e-25, ATTRIBUTION_INPUT, ALL_SETS, 1},
};

static void test_scaled(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[128];
        struct decoder *d = open_decoder(cases[i].model);
        snprintf(name, sizeof name, "%s, %s times %g", cases[i].model, whats[cases[i].what],
                 cases[i].factor);
        scale_model(d, cases[i].what, cases[i].factor);
        check(name, d, cases[i].kind, cases[i].refusal, cases[i].cuda);
        decoder_close(d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scaled)};
    omp_set_num_threads(
        1); /* the models are tiny: starting threads would take longer than they do */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
