/* What --layer, --target-position, --attention and --attribution add to `reach erf`, as a user
 * meets it; see program.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "io/formats/csv.h"
#include "io/results/result.h"
#include "tests/erf_fields_inputs.h"
#include "tests/program.h"
#include "tests/results.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Runs LINE, which must succeed, and returns what it printed; without pictures unless `drawn`:
 * gnuplot takes longer than all else. Caller frees. */
static char *printed(const char *line, int drawn)
{
    struct outcome o = finish(start(line, drawn ? NULL : "/nonexistent"));

    if (o.status != 0 || *o.err)
        fail_msg("reach %s: exit %d: %s", line, o.status, o.err);
    free(o.err);
    return o.out;
}

static void assert_said(const char *text, const char *said)
{
    if (!strstr(text, said))
        fail_msg("\"%s\" is not in:\n%s", said, text);
}

static size_t count_fields(const struct result *r)
{
    size_t count = 0;

    for (size_t i = 0; i < r->model_count; i++)
        count += r->models[i].field_count;
    return count;
}

/* The field of a model, target and layer; 0, 0 the main one. */
static const struct result_field *field(const struct result *r, const char *model, size_t target,
                                        size_t layer)
{
    for (size_t i = 0; i < r->model_count; i++)
        for (size_t k = 0; k < r->models[i].field_count; k++) {
            const struct result_field *f = &r->models[i].fields[k];

            if (strcmp(r->models[i].name, model) == 0 &&
                (target ? f->target == target && f->layer == layer : k == 0))
                return f;
        }
    fail_msg("no field of %s, target %zu, layer %zu", model, target, layer);
    return NULL;
}

static void assert_same_field(const struct result_field *a, const struct result_field *b)
{
    size_t n = a->positions;

    assert_int_equal(n, b->positions);
    assert_int_equal(a->summary.segments, b->summary.segments);
    assert_memory_equal(a->norm, b->norm, a->summary.segments * n * sizeof(double));
    assert_memory_equal(a->logprob, b->logprob, a->summary.segments * sizeof(double));
    assert_memory_equal(a->status, b->status, a->summary.segments);
    assert_memory_equal(a->summary.s, b->summary.s, n * sizeof(double));
    assert_memory_equal(a->summary.c, b->summary.c, n * sizeof(double));
    assert_memory_equal(a->summary.c_lo, b->summary.c_lo, n * sizeof(double));
    assert_memory_equal(a->summary.c_hi, b->summary.c_hi, n * sizeof(double));
}

/* Rows of a table where the columns target and layer hold these. */
static size_t count_rows(const struct csv_table *t, const char *target, const char *layer)
{
    int by_target = csv_column(t, "target"), by_layer = csv_column(t, "layer");
    size_t count = 0;

    for (size_t i = 0; i < t->rows; i++)
        count += strcmp(t->cell[i * t->columns + (size_t)by_target], target) == 0 &&
                 strcmp(t->cell[i * t->columns + (size_t)by_layer], layer) == 0;
    return count;
}

/* ---- layers ---- */

static void layers_grow_by_the_window(void **state)
{
    struct result plain, all, one;
    struct csv_table curve, summary;
    struct error e;
    char *out, *base_curve, *curve_text;

    (void)state;
    succeed("erf window none --text text --length 64 --segments 6 --bootstrap 50 --quiet -o plain");
    out = printed("erf window none --text text --length 64 --segments 6 --bootstrap 50 --quiet "
                  "--layer all -o layers",
                  0);
    assert_said(out, "by layer");
    free(out);
    succeed("erf window none --text text --length 64 --segments 6 --bootstrap 50 --quiet --layer 1 "
            "-o layer-1");
    plain = read_result("plain");
    all = read_result("layers");
    one = read_result("layer-1");
    assert_int_equal(count_fields(&plain), 2);
    assert_int_equal(count_fields(&all), 2 * LAYERS);
    assert_int_equal(count_fields(&one), 4);
    assert_same_field(field(&plain, "window", 0, 0), field(&all, "window", 0, 0));
    assert_same_field(field(&plain, "none", 0, 0), field(&all, "none", 0, 0));
    assert_same_field(field(&one, "window", LENGTH, 1), field(&all, "window", LENGTH, 1));
    for (size_t layer = 0; layer < LAYERS; layer++) {
        const struct result_field *m = field(&all, "window", layer ? LENGTH : 0, layer);
        size_t cone = 1 + (LAYERS - layer) * (WINDOW - 1);

        assert_int_equal(atoi(result_attribute(m, "layer")), layer);
        assert_int_equal(m->summary.segments, SEGMENTS);
        for (size_t i = 0; i < SEGMENTS; i++)
            for (size_t k = 0; k < N; k++) /* exactly the cone */
                if ((m->norm[i * N + k] != 0) != (k >= N - cone))
                    fail_msg("layer %zu, segment %zu, position %zu: norm %g, cone %zu", layer, i, k,
                             m->norm[i * N + k], cone);
        assert_int_equal(field(&all, "none", layer ? LENGTH : 0, layer)->positions, N);
    }
    assert_non_null(
        strstr(result_attribute(field(&all, "none", LENGTH, 2), "target"), "input of block 2"));

    /* the tables hold the same rows, and those of the layers */
    assert_int_equal(csv_read(at("layers/curve.csv"), &curve, &e), 0);
    assert_int_equal(csv_read(at("layers/summary.csv"), &summary, &e), 0);
    assert_int_equal(curve.rows, 2 * LAYERS * N);
    assert_int_equal(count_rows(&curve, "64", "2"), 2 * N);
    assert_int_equal(count_rows(&summary, "64", "0"), 2 * 5);
    assert_int_equal(count_rows(&summary, "64", "1"), 2 * 5);
    base_curve = slurp(at("plain/curve.csv"), NULL);
    curve_text = slurp(at("layers/curve.csv"), NULL);
    assert_memory_equal(strstr(base_curve, "\nmodel,"), strstr(curve_text, "\nmodel,"),
                        strstr(base_curve, "\nnone,") - strstr(base_curve, "\nmodel,"));
    assert_true(exists(at("layers/layers.gp")) && !exists(at("plain/layers.gp")));
    csv_table_free(&curve);
    csv_table_free(&summary);
    free(base_curve);
    free(curve_text);
    result_free(&plain);
    result_free(&all);
    result_free(&one);
    succeed("erf window --text text --length 64 --segments 2 --quiet --layer 0 -o layer-0");
    expect("erf window deep --text text --length 64 --layer 3 -o x", 1,
           "reach erf: window: has 3 layers");
    expect("erf window --text text --layer -1", 2, "--layer");
    expect("erf window --text text --layer every", 2, "--layer: \"every\"");
    assert_false(exists(at("x")));
}

/* ---- targets ---- */

/* --growth is target positions and what follows from them: also over shards, after an interruption,
 * and with further positions.
 */
static void growth_is_of_targets(void **state)
{
    static const char *const names[] = {"erf.h5", "summary.csv", "curve.csv"};
    char *out;

    (void)state;
    out = printed(
        "erf window learned --text text --length 64 --segments 6 --quiet --growth -o growth", 0);
    assert_said(out, "From 16 to 64 tokens it ");
    assert_said(out, ", with the exponent between ");
    free(out);
    out = printed("erf window learned --text text --length 64 --segments 6 --quiet "
                  "--target-position 32,16 -o growth-targets",
                  0);
    assert_said(out, "From 16 to 64 tokens it ");
    free(out);
    succeed("erf window learned --text text --length 64 --segments 6 --quiet --growth "
            "--target-position 16 --shard 1/2 -o growth-1");
    succeed("erf window learned --text text --length 64 --segments 6 --quiet --growth --shard 2/2 "
            "-o growth-2");
    out = printed("merge growth-1 growth-2 --quiet -o growth-merged", 0);
    assert_said(out, "From 16 to 64 tokens it ");
    free(out);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char first[64], second[64], third[64];

        snprintf(first, sizeof first, "growth/%s", names[i]);
        snprintf(second, sizeof second, "growth-targets/%s", names[i]);
        snprintf(third, sizeof third, "growth-merged/%s", names[i]);
        assert_same_file(at("%s", first), at("%s", second));
        assert_same_file(at("%s", first), at("%s", third));
    }
    out = printed("erf window --text text --length 64 --segments 6 --quiet --target-position 16 -o "
                  "growth-none",
                  0);
    assert_null(strstr(out, "From 16"));
    free(out);
    out = printed("erf window --text text --length 64 --segments 1 --bootstrap 0 --quiet --growth "
                  "--attribution inputxgrad -o growth-one",
                  0);
    assert_said(out, "From 16 to 64 tokens it ");
    assert_null(strstr(out, ", with the exponent between "));
    free(out);
    succeed("erf window --tokens rows.npy --length 64 --growth --quiet -o growth-rows");
    expect("erf window --tokens rows.npy --growth -o x", 2,
           "--growth: needs --length with --tokens");
    expect("erf window --text text --length 7 --growth -o x", 2,
           "--growth: --length 7 is too short");
}

static void targets_are_prefixes(void **state)
{
    struct result cut, all;
    struct csv_table summary;
    struct error e;
    char *out;

    (void)state;
    succeed("erf window learned --tokens prefix.npy --quiet -o cut");
    out = printed("erf window learned --tokens rows.npy --quiet --target-position 33,64 "
                  "--target-position 20,33 -o targets",
                  0);
    assert_said(out, "by target position");
    free(out);
    cut = read_result("cut");
    all = read_result("targets");
    assert_int_equal(count_fields(&all), 2 * 3); /* 64 is the whole segment, once */
    assert_same_field(field(&cut, "window", 0, 0), field(&all, "window", 33, 0));
    assert_same_field(field(&cut, "learned", 0, 0), field(&all, "learned", 33, 0));
    assert_int_equal(field(&all, "window", 20, 0)->positions, 19);
    assert_string_equal(result_attribute(field(&all, "window", 20, 0), "target_position"), "20");
    assert_int_equal(csv_read(at("targets/summary.csv"), &summary, &e), 0);
    assert_int_equal(count_rows(&summary, "33", "0"), 2 * 5);
    assert_int_equal(count_rows(&summary, "64", "0"), 2 * 5);
    csv_table_free(&summary);
    result_free(&cut);
    result_free(&all);
    assert_true(exists(at("targets/targets.gp")));

    /* both at once: a layer of a shorter target */
    succeed("erf window --tokens rows.npy --quiet --target-position 33 --layer all -o both");
    succeed("erf window --tokens prefix.npy --quiet --layer all -o cut-layers");
    cut = read_result("cut-layers");
    all = read_result("both");
    assert_int_equal(count_fields(&all), 2 * LAYERS);
    for (size_t layer = 1; layer < LAYERS; layer++)
        assert_same_field(field(&cut, "window", 33, layer), field(&all, "window", 33, layer));
    result_free(&cut);
    result_free(&all);
    expect("erf window --text text --length 64 --target-position 65 -o x", 1,
           "--target-position 65: segments have 64 tokens");
    expect("erf window --text text --length 64 --target-position 1 -o x", 2, "--target-position");
    expect("erf window --text text --length 64 --target-position 9,,10 -o x", 2,
           "--target-position");
    assert_false(exists(at("x")));
}

/* ---- attention ---- */

static void attention_stands_beside_theory(void **state)
{
    struct csv_table t;
    struct error e;
    char *out = printed("erf window alibi rotary --text text --length 64 --segments 6 --bootstrap "
                        "50 --quiet --attention "
                        "--threads 1 -o attention",
                        0);
    int column[5];
    static const char *const names[] = {"epsilon", "attention_erf", "trf", "trf_length", "verdict"};

    (void)state;
    assert_said(out, "attention ERF(0.01) of window by layer and head");
    assert_said(out, "not applicable");
    assert_said(out, "rank correlation");
    free(out);
    assert_int_equal(csv_read(at("attention/attention.csv"), &t, &e), 0);
    for (int i = 0; i < 5; i++)
        assert_true((column[i] = csv_column(&t, names[i])) >= 0);
    assert_int_equal(t.rows, 3 * LAYERS * 2 * 5);
    for (size_t i = 0; i < t.rows; i++) {
        char **row = t.cell + i * t.columns;
        long erf = strtol(row[column[1]], NULL, 10);
        double epsilon = strtod(row[column[0]], NULL);

        assert_true(erf >= 1 && erf <= N && atoi(row[1]) >= 1 && atoi(row[1]) <= LAYERS &&
                    atoi(row[2]) >= 1 && atoi(row[2]) <= 2);
        if (strcmp(row[0], "window") == 0) { /* nothing lies beyond it */
            assert_true(erf <= WINDOW);
            assert_string_equal(row[column[2]], epsilon > 0.3 ? "3" : "5");
            assert_string_equal(row[column[3]], row[column[2]]);
            assert_string_equal(row[column[4]], "converges");
        } else if (strcmp(row[0], "alibi") == 0) {
            assert_string_equal(row[column[4]], "converges");
            assert_true(atoi(row[column[3]]) <= N && atoi(row[column[3]]) <= atoi(row[column[2]]));
        } else {
            assert_string_equal(row[column[2]], "");
            assert_string_equal(row[column[3]], "");
            assert_string_equal(row[column[4]], "not applicable");
        }
    }
    csv_table_free(&t);
    assert_true(exists(at("attention/attention.gp")));
    assert_false(exists(at("attention/erf.part.attention")));
    succeed("erf window alibi rotary --text text --length 64 --segments 6 --bootstrap 50 --quiet "
            "--attention --threads 2 -o "
            "attention-2");
    assert_same_file(at("attention/attention.csv"), at("attention-2/attention.csv"));
    assert_same_file(at("attention/erf.h5"), at("attention-2/erf.h5"));
    assert_same_file(at("attention/attention.gp"), at("attention-2/attention.gp"));
}

/* The exact number is 5640741144419037752115262568930173714240 (mpmath): too long to be written, so
 * an upper end stands there. */
static void long_fields_are_rounded_upwards(void **state)
{
    struct csv_table t;
    struct error e;
    size_t rows = 0;

    (void)state;
    succeed("erf none --text text --length 64 --segments 1 --bootstrap 9 --quiet --attention "
            "--bias kerple_log(p=1.05,a=1) -o long");
    assert_int_equal(csv_read(at("long/attention.csv"), &t, &e), 0);
    for (size_t r = 0; r < t.rows; r++)
        if (strcmp(t.cell[r * t.columns + (size_t)csv_column(&t, "epsilon")], "0.01") == 0) {
            double trf = strtod(t.cell[r * t.columns + (size_t)csv_column(&t, "trf")], NULL);

            assert_true(trf >= 5640741144419037752115262568930173714240.0 && trf < 5.6408e39);
            rows++;
        }
    assert_true(rows > 0);
    csv_table_free(&t);
}

/* ---- attribution ---- */

static void attributions_are_named(void **state)
{
    static const char *const kinds[] = {"inputxgrad", "ig", "smoothgrad"};
    char line[256], *out;
    struct csv_table t;
    struct error e;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct result r;

        snprintf(line, sizeof line,
                 "erf window none --text text --length 64 --segments 1 --quiet --attribution %s %s "
                 "--check-precision 1 --threads "
                 "1 -o %s",
                 kinds[i], i == 0 ? "--target-position 20" : "", kinds[i]);
        out = printed(line, 0);
        assert_null(strstr(out, "!\n"));
        if (i == 1)
            assert_said(out, "window: completeness: the sum of the attributions differs");
        if (i == 2)
            assert_said(out, "all 2 models: noise of standard deviation");
        free(out);
        r = read_result(kinds[i]);
        assert_string_equal(result_attribute(field(&r, "none", 0, 0), "attribution"), kinds[i]);
        if (i == 0)
            assert_string_equal(result_attribute(field(&r, "none", 20, 0), "attribution"),
                                kinds[i]);
        assert_non_null(
            result_attribute(field(&r, "none", 0, 0), i == 2 ? "attribution_noise" : "layer"));
        for (size_t k = 0; k < N - (1 + LAYERS * (WINDOW - 1)); k++)
            assert_true(field(&r, "window", 0, 0)->norm[k] == 0);
        result_free(&r);
        assert_int_equal(csv_read(at("%s/summary.csv", kinds[i]), &t, &e), 0);
        assert_string_equal(t.cell[(size_t)csv_column(&t, "attribution")], kinds[i]);
        csv_table_free(&t);
        snprintf(line, sizeof line,
                 "erf window none --text text --length 64 --segments 1 --quiet --attribution %s %s "
                 "--threads 3 -o %s-3",
                 kinds[i], i == 0 ? "--target-position 20" : "", kinds[i]);
        succeed("%s", line);
        assert_same_file(at("%s/erf.h5", kinds[i]), at("%s-3/erf.h5", kinds[i]));
    }
    succeed("erf none --text text --length 64 --segments 1 --quiet --attribution smoothgrad --seed "
            "1 -o seed-1");
    {
        struct result a = read_result("smoothgrad"), b = read_result("seed-1");

        assert_memory_not_equal(field(&a, "none", 0, 0)->norm, field(&b, "none", 0, 0)->norm,
                                N * sizeof(double));
        result_free(&a);
        result_free(&b);
    }
    succeed("erf window --text text --length 64 --segments 2 --quiet --attribution grad -o grad");
    succeed("erf window --text text --length 64 --segments 2 --quiet -o none-given");
    assert_same_file(at("grad/erf.h5"), at("none-given/erf.h5"));
    expect("erf window --text text --attribution gradient", 2, "--attribution: \"gradient\"");
    expect("erf window --text text --attribution ig --layer all", 2,
           "--attribution ig and --layer are both given");
}

/* ---- other verbs and other runs ---- */

static void earlier_extras_do_not_stay(void **state)
{
    static const char *const extras[] = {"layers.gp",    "layers.png",    "targets.gp",
                                         "targets.png",  "attention.csv", "attention.gp",
                                         "attention.png"};
    char *script;

    (void)state;
    succeed("erf window --text text --length 64 --segments 3 --bootstrap 50 --quiet --layer all "
            "--target-position 20 --attention -o "
            "stale");
    for (size_t i = 0; i < sizeof extras / sizeof *extras; i++)
        if (strstr(extras[i], ".png")) {
            FILE *picture = fopen(at("stale/%s", extras[i]), "w");

            assert_non_null(picture);
            assert_int_equal(fclose(picture), 0);
        } else {
            assert_true(exists(at("stale/%s", extras[i])));
        }
    succeed("plot stale -o stale-plot");
    script = slurp(at("stale-plot/erf.gp"), NULL);
    assert_non_null(strstr(script, "$curve1 "));
    assert_null(strstr(script, "$curve2 ")); /* the whole segment's curve alone */
    free(script);
    succeed("plot stale/curve.csv -o stale-plot-csv");
    script = slurp(at("stale-plot-csv/erf.gp"), NULL);
    assert_non_null(strstr(script, "$curve1 "));
    assert_null(strstr(script, "$curve2 "));
    free(script);
    expect("erf window --text text --length 64 --segments 3 --quiet -o stale", 1, "--force");
    succeed("erf window --text text --length 64 --segments 3 --quiet -o stale --force");
    for (size_t i = 0; i < sizeof extras / sizeof *extras; i++)
        if (exists(at("stale/%s", extras[i])))
            fail_msg("%s of an earlier run is still there", extras[i]);
}

/* All figures at once, of a model with a theoretical field and one without, are drawn without a
 * word. */
static void pictures_are_drawn(void **state)
{
    static const char *const stems[] = {"erf", "layers", "targets", "attention"};

    (void)state;
    free(printed("erf window rotary --text text --length 64 --segments 3 --bootstrap 50 --quiet "
                 "--layer all --target-position "
                 "3,20 --attention -o drawn",
                 1));
    for (size_t i = 0; i < 4; i++)
        if (!exists(at("drawn/%s.png", stems[i])))
            fail_msg("%s.png is not there", stems[i]);
}

static void overrides_are_recorded(void **state)
{
    struct result r;
    const char *text;

    (void)state;
    succeed("erf rotary --text text --length 64 --segments 3 --quiet --bias alibi(delta=2) "
            "--positions none --window 7 -o override");
    r = read_result("override");
    text = result_attribute(result_main(&r.models[0]), "position_encoding");
    assert_true(strstr(text, "alibi(delta=2)") && strstr(text, "7") && strstr(text, "none"));
    assert_non_null(strstr(r.command, "--bias 'alibi(delta=2)' --positions none --window 7"));
    result_free(&r);
}

/* ---- interruption ---- */

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_grow_by_the_window),
        cmocka_unit_test(targets_are_prefixes),
        cmocka_unit_test(growth_is_of_targets),
        cmocka_unit_test(attention_stands_beside_theory),
        cmocka_unit_test(long_fields_are_rounded_upwards),
        cmocka_unit_test(attributions_are_named),
        cmocka_unit_test(earlier_extras_do_not_stay),
        cmocka_unit_test(overrides_are_recorded),
        cmocka_unit_test(pictures_are_drawn),
    };

    return cmocka_run_group_tests_name("fields", tests, erf_fields_inputs, program_close);
}
