/* `reach erf --validate` as a user meets it: its losses against those of `reach ppl` on texts that
 * were changed by hand, exact zeros beyond the cone of a window, resuming, refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/validation.h"
#include "io/formats/csv.h"
#include "io/results/result.h"
#include "tests/program.h"
#include "tests/results.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LENGTH = 40,
    N = LENGTH - 1,
    SEGMENTS = 5,
    WINDOW = 6,
    LAYERS = 2,
    CONE = LAYERS * (WINDOW - 1) + 1,
    VOCABULARY = 256
};

static int32_t text[SEGMENTS][LENGTH];

/* The row of a model, kind of change and number of tokens. */
static size_t row_of(const struct csv_table *t, const char *model, const char *change,
                     size_t tokens)
{
    int name = csv_column(t, "model"), kind = csv_column(t, "change");

    for (size_t i = 0; i < t->rows; i++) {
        char *const *row = t->cell + i * t->columns;

        if (strcmp(row[name], model) == 0 && strcmp(row[kind], change) == 0 &&
            (size_t)number(t, i, "tokens") == tokens)
            return i;
    }
    fail_msg("no row %s %s %zu", model, change, tokens);
    return 0;
}

/* The losses of the last tokens of `rows` segments of n inputs, by `reach ppl`. */
static void losses(double *out, const char *model, const int32_t *ids, size_t rows, size_t n)
{
    struct csv_table t;
    char line[400];

    assert_int_equal(tiny_npy(at("changed.npy"), ids, rows, n + 1), 0);
    snprintf(line, sizeof line,
             "ppl %s --tokens changed.npy --context %zu --segments %zu --per-token changed.csv -o "
             "changed --force",
             model, n, rows);
    succeed("%s", line);
    t = read_table(at("changed.csv"));
    assert_int_equal(t.rows, rows);
    for (size_t i = 0; i < rows; i++)
        out[i] = number(&t, i, "nll");
    csv_table_free(&t);
}

static void require(const char *what, size_t tokens, double got, double want)
{
    if (!(fabs(got - want) <= 1e-6))
        fail_msg("%s %zu: %.9g, expected %.9g", what, tokens, got, want);
}

/* Compares a row's means with those of losses less `whole`. */
static void require_row(const struct csv_table *t, const char *model, const char *change,
                        size_t tokens, const double *changed, const double *whole, size_t count)
{
    size_t row = row_of(t, model, change, tokens);
    double mean = 0, size = 0;

    for (size_t i = 0; i < count; i++) {
        mean += (changed[i] - whole[i]) / (double)count;
        size += fabs(changed[i] - whole[i]) / (double)count;
    }
    require(change, tokens, number(t, row, "nll_change"), mean);
    require(change, tokens, number(t, row, "size"), size);
    assert_int_equal((int)number(t, row, "tests"), SEGMENTS);
}

/* The share of the gradient before the last k, mean over the segments, from the norms in erf.h5. */
static double share_before(const struct result_model *m, size_t k)
{
    double share = 0;

    for (size_t i = 0; i < m->segments; i++) {
        const double *norm = result_main(m)->norm + i * N;
        double before = 0, all = 0;

        for (size_t p = 0; p < N; p++) {
            all += norm[p];
            before += p < N - k ? norm[p] : 0;
        }
        share += before / all / (double)m->segments;
    }
    return share;
}

static int make_inputs(void **state)
{
    const struct tiny plain = {.seed = 3, .settings = "\"position\": {\"kind\": \"rotary\"},"},
                      window = {.seed = 4, .settings = "\"window\": 6,"};

    (void)state;
    if (program_open() != 0)
        return -1;
    for (size_t i = 0; i < SEGMENTS * LENGTH; i++)
        text[i / LENGTH][i % LENGTH] = (int32_t)((i * i * 31 + i * 7) % VOCABULARY);
    return tiny_npy(at("text.npy"), *text, SEGMENTS, LENGTH) ||
           tiny_checkpoint(at("plain"), &plain) || tiny_checkpoint(at("window"), &window);
}

static void test_losses(void **state)
{
    int32_t changed[SEGMENTS][LENGTH], shorter[SEGMENTS * LENGTH];
    double whole[SEGMENTS], now[SEGMENTS], of_one[SEGMENTS * 4];
    size_t kept[VALIDATION_KEPT_MAX], where[VALIDATION_SINGLE_MAX],
        count = validation_kept(kept, N), single;
    struct csv_table t;
    struct result r;
    struct error e;

    (void)state;
    succeed("erf plain window --tokens text.npy --validate 5 --seed 9 -o all --force");
    t = read_table(at("all/validation.csv"));
    assert_int_equal(result_read(at("all/erf.h5"), &r, &e), 0);
    losses(whole, "plain", *text, SEGMENTS, N);
    for (size_t k = 0; k < count; k++) {
        size_t cut = N - kept[k];

        for (size_t i = 0; i < SEGMENTS; i++) {
            memcpy(changed[i], text[i], sizeof changed[i]);
            memcpy(changed[i], text[(i + SEGMENTS / 2) % SEGMENTS], cut * sizeof **changed);
            memcpy(shorter + i * (kept[k] + 1), text[i] + cut, (kept[k] + 1) * sizeof *shorter);
        }
        losses(now, "plain", *changed, SEGMENTS, N);
        require_row(&t, "plain", "replaced", kept[k], now, whole, SEGMENTS);
        losses(now, "plain", shorter, SEGMENTS, kept[k]);
        require_row(&t, "plain", "truncated", kept[k], now, whole, SEGMENTS);
        require("gradient before", kept[k],
                number(&t, row_of(&t, "plain", "replaced", kept[k]), "gradient"),
                share_before(&r.models[0], kept[k]));
    }
    /* the octave from 8 to 15: the inputs that were drawn, all at once */
    for (size_t j = 0; j < 4; j++) {
        for (size_t i = 0; i < SEGMENTS; i++) {
            single = validation_single(where, N, 9, i * VALIDATION_SINGLE_MAX);
            assert_true(single == 1 + 2 + 4 + 4 + 4 + 4 && where[7] >= 8 && where[10] <= 15);
            size_t p = N - where[7 + j];

            memcpy(changed[i], text[i], sizeof changed[i]);
            changed[i][p] = text[(i + SEGMENTS / 2) % SEGMENTS][p];
            assert_true(changed[i][p] != text[i][p]);
        }
        losses(of_one + j * SEGMENTS, "plain", *changed, SEGMENTS, N);
    }
    for (size_t i = 0; i < SEGMENTS; i++) {
        now[i] = 0;
        for (size_t j = 0; j < 4; j++)
            now[i] += of_one[j * SEGMENTS + i] / 4;
    }
    single = row_of(&t, "plain", "single", 8);
    double mean = 0;
    for (size_t i = 0; i < SEGMENTS; i++)
        mean += (now[i] - whole[i]) / SEGMENTS;
    require("single", 8, number(&t, single, "nll_change"), mean);
    csv_table_free(&t);
    result_free(&r);
}

/* What lies before the cone of a window changes nothing and has no gradient, so that the cone is
 * more than enough. */
static void test_cone(void **state)
{
    size_t kept[VALIDATION_KEPT_MAX], count = validation_kept(kept, N);
    struct csv_table t = read_table(at("all/validation.csv"));
    int inside = 0, outside = 0;

    (void)state;
    for (size_t k = 0; k < count; k++) {
        size_t row = row_of(&t, "window", "replaced", kept[k]);
        double size = number(&t, row, "size"), gradient = number(&t, row, "gradient");

        if (kept[k] >= CONE ? size != 0 || gradient != 0 : !(size > 0 && gradient > 0))
            fail_msg("%zu of a cone of %d kept: size %g, gradient %g", kept[k], CONE, size,
                     gradient);
        kept[k] >= CONE ? outside++ : inside++;
    }
    assert_true(inside > 2 && outside > 2);
    /* from 16 on no input lies in the cone */
    assert_true(number(&t, row_of(&t, "window", "single", 16), "size") == 0);
    assert_true(number(&t, row_of(&t, "window", "single", 4), "size") > 0);
    assert_true(number(&t, row_of(&t, "window", "replaced", 1), "enough") <= 11);
    csv_table_free(&t);
}

static void assert_same(const char *name)
{
    size_t a, b;
    char *one = slurp(at("all/%s", name), &a), *other = slurp(at("again/%s", name), &b);

    if (!one || !other || a != b || memcmp(one, other, a) != 0)
        fail_msg("%s differs after --resume", name);
    free(one);
    free(other);
}

/* Killed among its losses, it goes on to the same bytes. */
static void test_resume(void **state)
{
    struct outcome o;

    (void)state;
    o = run_until_journal(
        "erf plain window --tokens text.npy --validate 5 --seed 9 --memory 64M -o again", "again",
        SIGKILL, 8000);
    assert_int_equal(o.status, -SIGKILL);
    outcome_free(&o);
    succeed("erf plain window --tokens text.npy --validate 5 --seed 9 -o again --resume");
    assert_same("validation.csv");
    assert_same("erf.h5");
    assert_true(!exists(at("again/erf.part")));
    expect("erf plain --tokens text.npy --validate 4 --seed 9 -o again", 1, "exists");
}

static void test_refusals(void **state)
{
    (void)state;
    assert_int_equal(tiny_npy(at("one.npy"), *text, 1, LENGTH), 0);
    expect("erf plain --tokens one.npy --validate 3 -o one", 1,
           "--validate: plain has 1 segment (expected at least two");
    expect("erf plain --tokens text.npy --validate 3 --shard 1/2 -o one", 2,
           "--validate and --shard are both given");
    expect("erf plain --tokens text.npy --validate 0 -o one", 2, "--validate");
    assert_true(!exists(at("one/validation.csv")));
    /* a result without it takes the file of the one before away */
    succeed("erf plain --tokens text.npy -o all --force");
    assert_true(!exists(at("all/validation.csv")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_losses), cmocka_unit_test(test_cone),
                                       cmocka_unit_test(test_resume),
                                       cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, make_inputs, program_close);
}
