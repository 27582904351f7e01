/* Forward-only runs: every protocol against a float64 PyTorch loop (tests/goldens/ppl), every
 * family against its golden log p, and what must not matter: batch, weights by layer, pieces of a
 * stream. */
#include "analyze/perplexity.h"
#include "io/formats/csv.h"
#include "io/tokens/tokens.h"
#include "model/score.h"
#include "tests/golden.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TOKENS = 53, LONGEST = 16, SEGMENTS = 3 }; /* as in tests/goldens/ppl/make.py */

static const double tolerance_f32 = 1e-5, tolerance_f64 = 1e-9; /* design figures for log p */

static int32_t stream[TOKENS];

static int read_stream(void **state)
{
    const char *file = "tests/goldens/ppl/tokens.npy";
    struct tokens t;
    struct error e;
    (void)state;
    if (tokens_read_files(&t, &file, 1, &e) || t.total != TOKENS) {
        print_error("%s: %s\n", file, e.text);
        return -1;
    }
    memcpy(stream, t.ids, sizeof stream);
    tokens_free(&t);
    return 0;
}

static struct kernels *open_set(const char *name, const char *dtype)
{
    struct error e = {"there is none"};
    for (int i = 0; i < kernel_set_count; i++)
        if (!strcmp(kernel_sets[i].name, name) && !strcmp(kernel_sets[i].dtype, dtype) &&
            kernel_sets[i].usable()) {
            struct kernels *k = kernel_sets[i].open(&e);
            if (k)
                return k;
        }
    fail_msg("kernel set %s %s: %s", name, dtype, e.text);
    return NULL;
}

static struct decoder *open_decoder(const char *path, int window)
{
    struct position_override change = {.window = window};
    struct error e;
    struct decoder *d = decoder_open(path, &e);
    if (!d || (window >= 0 && decoder_override(d, &change, &e)))
        fail_msg("%s", e.text);
    return d;
}

static struct engine *open_engine(struct kernels *k, const struct decoder *d,
                                  struct engine_request o)
{
    struct error e;
    o.memory = 1u << 30;
    struct engine *g = engine_create(k, d, &o, &e);
    if (!g)
        fail_msg("%s", e.text);
    return g;
}

/* Scores windows [first, end) of the stream at their places of logprob; all have the same inputs,
 * and `outputs` targets or fewer.
 */
static void score_windows(double *logprob, struct kernels *k, const struct decoder *d, size_t first,
                          size_t end, size_t context, size_t stride, size_t outputs)
{
    enum { BATCH = 3 };
    int32_t ids[BATCH * (TOKENS + 1)];
    double got[BATCH * TOKENS];
    struct error e;
    size_t inputs = window_at(first, TOKENS, context, stride).inputs;
    struct engine *g = open_engine(k, d,
                                   (struct engine_request){.positions = (int)inputs,
                                                           .kind = REQUEST_SCORE,
                                                           .score.outputs = (int)outputs,
                                                           .batch = BATCH});
    for (size_t i = first; i < end; i += BATCH) {
        size_t count = end - i < BATCH ? end - i : BATCH;
        for (size_t b = 0; b < count; b++) {
            struct window w = window_at(i + b, TOKENS, context, stride);
            assert_int_equal(w.inputs, inputs);
            memcpy(ids + b * (inputs + 1), stream + w.first, (inputs + 1) * sizeof *ids);
        }
        if (engine_score(g, got, ids, (int)count, &e))
            fail_msg("%s", e.text);
        for (size_t b = 0; b < count; b++) {
            struct window w = window_at(i + b, TOKENS, context, stride);
            memcpy(logprob + w.first + w.inputs - w.scored, got + (b + 1) * outputs - w.scored,
                   w.scored * sizeof *got);
        }
    }
    engine_close(g);
}

/* One pass in pieces of `piece`, twice: the second must not see the first. */
static void score_cached(double *logprob, struct kernels *k, const struct decoder *d, int piece)
{
    struct error e;
    int carry = TOKENS - 2 < piece ? 1 : (TOKENS - 2) / piece * piece;
    struct engine *g =
        open_engine(k, d,
                    (struct engine_request){.kind = REQUEST_SCORE,
                                            .batch = 1,
                                            .score = {.outputs = piece, .carry = carry}});
    for (int pass = 0; pass < 2; pass++) {
        engine_score_restart(g);
        for (int i = 0; i < TOKENS - 1; i += piece)
            if (engine_score_next(g, logprob + i, stream + i,
                                  TOKENS - 1 - i < piece ? TOKENS - 1 - i : piece, &e))
                fail_msg("%s", e.text);
    }
    engine_close(g);
}

static void score_last(double *logprob, struct kernels *k, const struct decoder *d, size_t context)
{
    int32_t ids[SEGMENTS * (LONGEST + 1)];
    struct error e;
    struct engine *g = open_engine(k, d,
                                   (struct engine_request){.positions = (int)context,
                                                           .kind = REQUEST_SCORE,
                                                           .score.outputs = 1,
                                                           .batch = SEGMENTS});
    for (size_t i = 0; i < SEGMENTS; i++)
        memcpy(ids + i * (context + 1),
               stream + i * ((TOKENS - LONGEST - 1) / (SEGMENTS - 1)) + LONGEST - context,
               (context + 1) * sizeof *ids);
    if (engine_score(g, logprob, ids, SEGMENTS, &e))
        fail_msg("%s", e.text);
    engine_close(g);
}

static void check(const char *where, const double *got, const double *want, size_t count,
                  double tolerance)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (!(fabs(got[i] - want[i]) <= tolerance))
            fail_msg("%s, target %zu of %zu: log p %.12g, expected %.12g", where, i + 1, count,
                     got[i], want[i]);
        sum += got[i] - want[i];
    }
    if (!(fabs(sum) <= tolerance * (double)count))
        fail_msg("%s: mean log p is off by %.3g", where, sum / (double)count);
}

/* Every `every`-th of the cases. */
static void run_protocols(const char *set, const char *dtype, double tolerance, size_t every)
{
    struct kernels *k = open_set(set, dtype);
    struct csv_table t;
    struct error e;
    if (csv_read("tests/goldens/ppl/cases.csv", &t, &e))
        fail_msg("%s", e.text);
    assert_int_equal(t.columns, 7);
    assert_true(t.rows > 100);
    char **end = t.cell + (t.rows - 1) * t.columns;
    size_t values = strtoul(end[5], NULL, 10) + strtoul(end[6], NULL, 10);
    double *want = golden_read_f64("tests/goldens/ppl/logprob.npy", values), got[TOKENS];
    for (size_t i = 0; i < t.rows; i += every) {
        char **row = t.cell + i * t.columns, where[300];
        size_t context = strtoul(row[2], NULL, 10), stride = strtoul(row[3], NULL, 10),
               count = strtoul(row[6], NULL, 10);
        struct decoder *d = open_decoder(row[0], *row[4] ? atoi(row[4]) : -1);
        const double *expected = want + strtoul(row[5], NULL, 10);
        snprintf(where, sizeof where, "%s %s: %s %s context %zu stride %s window %s", k->name,
                 dtype, row[0], row[1], context, row[3], row[4]);
        for (size_t j = 0; j < TOKENS; j++)
            got[j] = NAN;
        if (!strcmp(row[1], "last")) {
            score_last(got, k, d, context);
        } else if (!strcmp(row[1], "cached")) {
            static const int pieces[] = {TOKENS - 1, 20, 7};
            if (score_carry_check(d, &e))
                fail_msg("%s: %s", where, e.text);
            for (size_t j = 0; j < sizeof pieces / sizeof *pieces; j++) {
                score_cached(got, k, d, pieces[j]);
                check(where, got, expected, count, tolerance);
            }
        } else {
            size_t windows = window_count(TOKENS, context, stride),
                   whole = stride ? 1 : (TOKENS - 1) / context;
            score_windows(got, k, d, 0, whole, context, stride, context);
            if (windows > whole)
                score_windows(got, k, d, whole, windows, context, stride,
                              stride ? stride : (TOKENS - 1) % context);
        }
        check(where, got, expected, count, tolerance);
        decoder_close(d);
    }
    free(want);
    csv_table_free(&t);
    k->close(k);
}

static void test_protocols_reference_f64(void **state)
{
    (void)state;
    run_protocols("reference", "f64", tolerance_f64, 1);
}

static void test_protocols_reference_f32(void **state)
{
    (void)state;
    run_protocols("reference", "f32", tolerance_f32, 1);
}

static void test_protocols_cpu_f32(void **state)
{
    (void)state;
    run_protocols("cpu", "f32", tolerance_f32, 1);
}

/* The stand-in for a GPU is slow. */
static void test_protocols_cuda_f32(void **state)
{
    (void)state;
    if (!getenv("REACH_CUDA"))
        skip();
    run_protocols("cuda", "f32", tolerance_f32, 5);
}

/* Every golden case: the last of n outputs has its log p; with other batches and weights by layer
 * the bytes are the same; each other output is the last of a shorter segment's. */
static void test_families(void **state)
{
    (void)state;
    struct kernels *k = open_set("cpu", "f32");
    size_t count;
    struct golden *cases = goldens_open(&count);
    struct error e;
    for (size_t i = 0; i < count; i++) {
        const struct golden *c = &cases[i];
        size_t n = c->length - 1, few = n < 9 ? n : 9;
        if (n > 100) /* trained models on long segments: nothing that the small ones do not show */
            continue;
        struct decoder *d = open_decoder(c->checkpoint, -1);
        double *all = calloc(c->segments * n, sizeof *all),
               *other = calloc(c->segments * n, sizeof *other);
        struct engine *g = open_engine(k, d,
                                       (struct engine_request){.positions = (int)n,
                                                               .kind = REQUEST_SCORE,
                                                               .score.outputs = (int)n,
                                                               .batch = (int)c->segments,
                                                               .weights = WEIGHTS_RESIDENT});
        if (engine_score(g, all, c->ids, (int)c->segments, &e))
            fail_msg("%s", e.text);
        engine_close(g);
        for (size_t s = 0; s < c->segments; s++)
            if (!(fabs(all[s * n + n - 1] - c->logprob[s]) <= tolerance_f32))
                fail_msg("%s, segment %zu: log p %.9g, expected %.9g", c->name, s,
                         all[s * n + n - 1], c->logprob[s]);

        g = open_engine(k, d,
                        (struct engine_request){.positions = (int)n,
                                                .kind = REQUEST_SCORE,
                                                .score.outputs = (int)n,
                                                .batch = 1,
                                                .weights = WEIGHTS_BY_LAYER});
        for (size_t s = 0; s < c->segments; s++)
            if (engine_score(g, other + s * n, c->ids + s * (n + 1), 1, &e))
                fail_msg("%s", e.text);
        engine_close(g);
        if (memcmp(all, other, c->segments * n * sizeof *all) != 0)
            fail_msg("%s: other bytes one segment at a time, with weights by layer", c->name);

        /* fewer outputs: only their rows are computed */
        g = open_engine(k, d,
                        (struct engine_request){.positions = (int)n,
                                                .kind = REQUEST_SCORE,
                                                .score.outputs = (int)few,
                                                .batch = 1});
        if (engine_score(g, other, c->ids, 1, &e))
            fail_msg("%s", e.text);
        engine_close(g);
        for (size_t j = 0; j < few; j++)
            if (!(fabs(other[j] - all[n - few + j]) <= tolerance_f32))
                fail_msg("%s, output %zu of %zu: log p %.9g, with all outputs %.9g", c->name, j + 1,
                         few, other[j], all[n - few + j]);

        /* a shorter segment */
        g = open_engine(k, d,
                        (struct engine_request){.positions = (int)few,
                                                .kind = REQUEST_SCORE,
                                                .score.outputs = (int)few,
                                                .batch = 1});
        if (engine_score(g, other, c->ids, 1, &e))
            fail_msg("%s", e.text);
        engine_close(g);
        for (size_t j = 0; j < few && !decoder_depends_on_length(d);
             j++) /* dynamic scaling depends on the length */
            if (!(fabs(other[j] - all[j]) <= tolerance_f32))
                fail_msg("%s, first %zu inputs, output %zu: log p %.9g, in the whole segment %.9g",
                         c->name, few, j + 1, other[j], all[j]);
        decoder_close(d);
        free(all), free(other);
    }
    goldens_free(cases, count);
    k->close(k);
}

/* A stream in pieces is one long pass, to rounding; also where layers have windows of different
 * sizes. */
static void test_pieces(void **state)
{
    static const char *const models[] = {"tests/goldens/own-window-list",
                                         "tests/goldens/own-rotary-half",
                                         "tests/goldens/own-sinusoidal", "tests/goldens/lfm2",
                                         "tests/goldens/lfm2-short"};
    static const int windows[] = {-1, 4, 9, 6, -1}, pieces[] = {1, 2, 9, 51};
    (void)state;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        struct kernels *k = open_set("reference", "f64");
        struct decoder *d = open_decoder(models[m], windows[m]);
        double whole[TOKENS], got[TOKENS];
        int32_t ids[TOKENS];
        struct error e;
        memcpy(ids, stream, sizeof ids);
        for (int i = 0; i < TOKENS; i++)
            stream[i] %= d->vocabulary;
        /* the long pass needs no carrying */
        struct engine *g = open_engine(k, d,
                                       (struct engine_request){.positions = TOKENS - 1,
                                                               .kind = REQUEST_SCORE,
                                                               .score.outputs = TOKENS - 1,
                                                               .batch = 1});
        if (engine_score(g, whole, stream, 1, &e))
            fail_msg("%s", e.text);
        engine_close(g);
        for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
            score_cached(got, k, d, pieces[p]);
            check(models[m], got, whole, TOKENS - 1, 1e-12);
        }
        memcpy(stream, ids, sizeof ids);
        decoder_close(d);
        k->close(k);
    }
}

/* The inputs of a text from `first` on, in pieces; each with as many outputs as given, or all. */
static void score_on(double *logprob, struct engine *g, const int32_t *ids, int first, int inputs,
                     int piece, int most)
{
    struct error e;
    engine_score_rewind(g, first);
    for (int i = first, count; i < inputs; i += count) {
        count = inputs - i < piece ? inputs - i : piece;
        int outputs = most < count ? most : count;
        if (engine_score_on(g, logprob + i + count - outputs, ids + i, count, outputs, &e))
            fail_msg("%s", e.text);
    }
}

/* Every golden case without a part of its text, from the last part to the first: what follows is
 * scored after the keys and values that were kept, and the whole shorter text by itself. */
static void run_rewind(const char *set, const char *dtype, double tolerance, size_t every)
{
    enum { PART = 3, PIECE = 5, MOST = 100 };
    size_t count, refused = 0;
    struct kernels *k = open_set(set, dtype);
    struct golden *cases = goldens_open(&count);
    for (size_t i = 0; i < count; i += every) {
        const struct golden *c = &cases[i];
        int n = (int)c->length - 1, left = n - PART;
        double got[MOST], want[MOST];
        int32_t ids[MOST + 1];
        struct engine_request o = {.kind = REQUEST_SCORE,
                                   .positions = n,
                                   .batch = 1,
                                   .memory = 1u << 30,
                                   .score = {.outputs = PIECE, .retain = 1}};
        struct error e;
        if (n > MOST || left < PIECE)
            continue;
        struct decoder *d = open_decoder(c->checkpoint, -1);
        struct engine *g = engine_create(k, d, &o, &e), *whole;
        if (!g != !score_retains(d) || (!g && !strstr(e.text, "depend on the length")))
            fail_msg("%s: %s", c->name, g ? "not refused" : e.text);
        o.positions = o.score.outputs = left, o.score.retain = 0;
        whole = open_engine(k, d, o);
        if (g)
            score_on(got, g, c->ids, 0, n, PIECE, PIECE);
        for (int first = n - PART; g && first > 0; first -= 1 + n / 3) {
            memcpy(ids, c->ids, (size_t)first * sizeof *ids);
            memcpy(ids + first, c->ids + first + PART,
                   (size_t)(n + 1 - first - PART) * sizeof *ids);
            if (engine_score(whole, want, ids, 1, &e))
                fail_msg("%s: %s", c->name, e.text);
            score_on(got, g, ids, first, left, PIECE, PIECE);
            if (first < left)
                check(c->name, got + first, want + first, (size_t)(left - first), tolerance);
            memset(got, 0, sizeof got);
            score_on(got, g, ids, first ? first - 1 : 0, left, PIECE, 1);
            check(c->name, got + left - 1, want + left - 1, 1, tolerance);
        }
        refused += !g && !decoder_recurrence_heads(d);
        engine_close(whole);
        engine_close(g);
        decoder_close(d);
    }
    assert_in_range(refused, every == 1 ? 3 : 0, 20); /* dynamic scaling, longrope */
    goldens_free(cases, count);
    k->close(k);
}

static void test_rewind_reference_f64(void **state)
{
    (void)state;
    run_rewind("reference", "f64", 1e-11, 1);
}

/* Each of the two may be that far from the exact value. */
static void test_rewind_cpu_f32(void **state)
{
    (void)state;
    run_rewind("cpu", "f32", 2 * tolerance_f32, 3);
}

static void test_rewind_cuda_f32(void **state)
{
    (void)state;
    if (!getenv("REACH_CUDA"))
        skip();
    run_rewind("cuda", "f32", 2 * tolerance_f32, 27);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *model;
        int window;
        const char *said;
    } rows[] = {
        {"tests/goldens/own-learned", 8, "learned positions"},
        {"tests/goldens/gpt2", 8, "learned positions"},
        {"tests/goldens/own-key-bias", 8, "positions of the keys"},
        {"tests/goldens/llama-rope-dynamic", 8, "dynamic scaling"},
        {"tests/goldens/hunyuan-v1-dense", 8, "scaled after the rotation"},
        {"tests/goldens/own-alibi", -1, "layer 1 of 3 attends to all keys"},
        {"tests/goldens/own-window", 0, "--window"},
        {"tests/goldens/mamba2", -1, "layer 1 of 2 is a recurrence"},
    };
    (void)state;
    struct error e;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct decoder *d = open_decoder(rows[i].model, rows[i].window);
        if (!score_carry_check(d, &e))
            fail_msg("%s with window %d is not refused", rows[i].model, rows[i].window);
        if (!strstr(e.text, rows[i].said) || !strstr(e.text, rows[i].model))
            fail_msg("%s: told \"%s\", expected \"%s\"", rows[i].model, e.text, rows[i].said);
        decoder_close(d);
    }
    struct decoder *d = open_decoder("tests/goldens/own-alibi", 8);
    struct formula_error problem;
    struct position_override change = {.window = -1, .bias = formula_parse("-t/L", &problem)};
    if (decoder_override(d, &change, &e))
        fail_msg("%s", e.text);
    assert_int_equal(score_carry_check(d, &e), -1);
    assert_non_null(strstr(e.text, "length L"));
    decoder_close(d);
}

/* Ids outside the vocabulary, and more than was planned for. */
static void test_bad_calls(void **state)
{
    (void)state;
    struct kernels *k = open_set("cpu", "f32");
    struct decoder *d = open_decoder("tests/goldens/own-window", -1);
    struct engine *g = open_engine(k, d,
                                   (struct engine_request){.positions = 4,
                                                           .kind = REQUEST_SCORE,
                                                           .score.outputs = 2,
                                                           .batch = 1});
    double got[8];
    struct error e;
    assert_int_equal(engine_score(g, got, stream, 2, &e), -1);
    assert_non_null(strstr(e.text, "planned for 1"));
    assert_int_equal(engine_score(g, got, (int32_t[]){1, 2, 3, 4, 97}, 1, &e), -1);
    assert_non_null(strstr(e.text, "97"));
    assert_int_equal(engine_score(g, got, (int32_t[]){1, -2, 3, 4, 7}, 1, &e), -1);
    assert_int_equal(engine_score(g, got, (int32_t[]){1, 2, 3, 4, 7}, 1, &e), 0);
    assert_int_equal(engine_measure(g, got, got + 4, stream, 1, &e), -1); /* for other requests */
    assert_string_equal(e.text, "the engine was made for log p of many targets, not for gradients");
    assert_int_equal(engine_score_next(g, got, stream, 2, &e), -1);
    assert_string_equal(e.text, "the engine was made for segments, not for a stream");
    engine_close(g);
    g = open_engine(k, d,
                    (struct engine_request){.positions = 9,
                                            .kind = REQUEST_SCORE,
                                            .score.outputs = 2,
                                            .score.carry = 50,
                                            .batch = 1});
    assert_int_equal(engine_score_next(g, got, stream, 3, &e), -1);
    assert_non_null(strstr(e.text, "planned for 2"));
    assert_int_equal(engine_score_next(g, got, stream, 2, &e), 0);
    assert_int_equal(engine_score(g, got, stream, 1, &e), -1);
    assert_string_equal(e.text, "the engine was made for a stream, not for segments");
    assert_int_equal(engine_score_on(g, got, stream, 1, 1, &e), -1);
    assert_string_equal(e.text, "the engine was made for a stream, not for a text");
    engine_close(g);
    g = open_engine(k, d,
                    (struct engine_request){.positions = 3,
                                            .kind = REQUEST_SCORE,
                                            .score.outputs = 2,
                                            .score.retain = 1,
                                            .batch = 1});
    assert_int_equal(engine_score_on(g, got, stream, 3, 1, &e), -1);
    assert_non_null(strstr(e.text, "planned for 2 at once and 3 in all"));
    assert_int_equal(engine_score_on(g, got, stream, 2, 0, &e), -1);
    assert_non_null(strstr(e.text, "0 outputs of 2 inputs"));
    assert_int_equal(engine_score_on(g, got, stream, 2, 2, &e), 0);
    assert_int_equal(engine_score_on(g, got, stream, 2, 2, &e), -1);
    engine_score_rewind(g, 1);
    assert_int_equal(engine_score_on(g, got, stream + 1, 2, 2, &e), 0);
    engine_close(g);
    decoder_close(d);
    k->close(k);
}

/* Too little memory is refused before anything is made; a run forward alone needs less than one
 * with a gradient. */
static void test_memory(void **state)
{
    (void)state;
    struct kernels *k = open_set("cpu", "f32");
    struct decoder *d = open_decoder("tests/goldens/own-gated", -1);
    struct memory_plan forward, both;
    struct engine_request o = {.positions = 2048, .batch = 2, .memory = (size_t)1 << 32};
    struct engine_request little = {.positions = 40000,
                                    .kind = REQUEST_SCORE,
                                    .score.outputs = 40000,
                                    .memory = 16 << 20};
    struct error e;
    assert_int_equal(engine_estimate(&both, k, d, &o, &e), 0);
    o.kind = REQUEST_SCORE, o.score.outputs = 1;
    assert_int_equal(engine_estimate(&forward, k, d, &o, &e), 0);
    if (!(forward.total < both.total && forward.flops < 0.5 * both.flops && forward.forward &&
          !both.forward))
        fail_msg("forward alone: %g bytes and %g FLOP; with reverse %g and %g", forward.total,
                 forward.flops, both.total, both.flops);
    assert_int_equal(engine_estimate(&forward, k, d, &little, &e), -1);
    if (!strstr(e.text, "40000 inputs need") || !strstr(e.text, "would fit"))
        fail_msg("told \"%s\"", e.text);
    decoder_close(d);
    k->close(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_protocols_reference_f64),
        cmocka_unit_test(test_protocols_reference_f32),
        cmocka_unit_test(test_protocols_cpu_f32),
        cmocka_unit_test(test_protocols_cuda_f32),
        cmocka_unit_test(test_families),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_rewind_reference_f64),
        cmocka_unit_test(test_rewind_cpu_f32),
        cmocka_unit_test(test_rewind_cuda_f32),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_bad_calls),
        cmocka_unit_test(test_memory),
    };
    if (getenv("REACH_CUDA")) /* a run for the plug-in's sets */
        cmocka_set_test_filter("*_cuda*");
    return cmocka_run_group_tests_name("score", tests, read_stream, NULL);
}
