/* What `reach erf --attention` says of recurrences, convolutions and windows, and what merge,
 * report and plot make of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/program.h"
#include "tests/results.h"
#include "tests/scratch.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void measure(const char *golden, const char *more)
{
    succeed("erf %s=goldens/%s --tokens goldens/%s/tokens.npy --attention --bootstrap 9 --quiet "
            "%s",
            golden, golden, golden, more);
}

/* The mean of the golden values of a head over the segments. */
static double golden_decay(const struct csv_table *t, const char *name, double layer, double head)
{
    double sum = 0;
    int count = 0;

    for (size_t i = 0; i < t->rows; i++)
        if (strcmp(cell(t, i, "case"), name) == 0 && number(t, i, "layer") == layer &&
            number(t, i, "head") == head)
            sum += number(t, i, "log_decay"), count++;
    assert_true(count > 0);
    return sum / count;
}

/* Layers 1 and 3 of three are recurrences of four heads; so are both of mamba2. */
static void recurrences_have_decays(void **state)
{
    static const char *const names[] = {"qwen3-next", "mamba2"};
    struct csv_table goldens = read_table(at("goldens/decays.csv"));

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct csv_table t;
        size_t found = 0;
        char more[64];

        snprintf(more, sizeof more, "--dtype f64 -o %s", names[i]);
        measure(names[i], more);
        t = read_table(at("%s/attention.csv", names[i]));
        for (size_t r = 0; r < t.rows; r++) {
            double layer = number(&t, r, "layer"), head = number(&t, r, "head"), expected, epsilon;

            if (strcmp(cell(&t, r, "mixer"), "recurrence") != 0) {
                assert_true(i == 0 && layer == 2);
                assert_string_equal(cell(&t, r, "mixer"), "attention");
                assert_string_equal(cell(&t, r, "log_decay"), "");
                assert_string_equal(cell(&t, r, "decay_tokens"), "");
                assert_true(number(&t, r, "attention_erf") > 0);
                continue;
            }
            expected = golden_decay(&goldens, names[i], layer, head);
            epsilon = number(&t, r, "epsilon");
            if (!(fabs(number(&t, r, "log_decay") - expected) <= 1e-9 * -expected) ||
                !(fabs(number(&t, r, "decay_tokens") * expected - log(epsilon)) <= 1e-8))
                fail_msg("%s, layer %g, head %g: %s, %s tokens, expected %.17g", names[i], layer,
                         head, cell(&t, r, "log_decay"), cell(&t, r, "decay_tokens"), expected);
            assert_string_equal(cell(&t, r, "attention_erf"), "");
            assert_string_equal(cell(&t, r, "verdict"), "not applicable");
            found++;
        }
        assert_int_equal(found, 2 * 4 * 5);
        csv_table_free(&t);
    }
    csv_table_free(&goldens);
}

static void tables_name_mixers(void **state)
{
    static const struct {
        const char *golden, *mixers[4]; /* of its layers */
        size_t rows; /* of the first layer */
    } cases[] = {{"lfm2", {"convolution", "attention", "convolution"}, 5},
                 {"mistral-window", {"window", "window", "window"}, 20},
                 {"llama4-text", {"chunk"}, 20}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char more[64];
        struct csv_table t;
        size_t first = 0;

        snprintf(more, sizeof more, "-o %s", cases[i].golden);
        measure(cases[i].golden, more);
        t = read_table(at("%s/attention.csv", cases[i].golden));
        for (size_t r = 0; r < t.rows; r++) {
            int layer = (int)number(&t, r, "layer");

            first += layer == 1;
            if (layer <= 4 && cases[i].mixers[layer - 1])
                assert_string_equal(cell(&t, r, "mixer"), cases[i].mixers[layer - 1]);
        }
        assert_int_equal(first, cases[i].rows);
        csv_table_free(&t);
    }
}

static void prints_tokens(void **state)
{
    struct outcome o = finish(start("erf goldens/qwen3-next --tokens "
                                    "goldens/qwen3-next/tokens.npy --attention --bootstrap 9 "
                                    "--quiet -o printed",
                                    "/nonexistent"));

    (void)state;
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.out, "attention ERF(0.01) of qwen3-next by layer and head"));
    assert_non_null(strstr(o.out, "tokens over which states of recurrences of qwen3-next fall to "
                                  "0.01"));
    assert_non_null(strstr(o.out, "\n1      27  15  139  62          15/27/139\n"));
    outcome_free(&o);
}

/* Shards and threads change no byte. */
static void shards_make_the_whole(void **state)
{
    static const char *const files[] = {"erf.h5", "attention.csv", "attention.gp"};

    (void)state;
    measure("qwen3-next", "-o whole");
    measure("qwen3-next", "--threads 2 -o threads");
    measure("qwen3-next", "--shard 1/2 -o shard-1");
    measure("qwen3-next", "--shard 2/2 -o shard-2");
    succeed("merge shard-1 shard-2 -o merged");
    for (int i = 0; i < 3; i++) {
        char whole[64];

        snprintf(whole, sizeof whole, "%s/whole/%s", base, files[i]);
        assert_same_file(at("whole/%s", files[i]), at("threads/%s", files[i]));
        assert_same_file(at("whole/%s", files[i]), at("merged/%s", files[i]));
    }
}

static void assert_has(const char *name, const char *text)
{
    char *content = slurp(at("%s", name), NULL);

    if (!strstr(content, text))
        fail_msg("%s lacks \"%s\"", name, text);
    free(content);
}

static void reports_and_figures(void **state)
{
    (void)state;
    succeed("report whole -o page.html");
    assert_has("page.html", "the state of a recurrence falls to 0.01 over 15 to 139 tokens");
    assert_has("page.html", "tokens over which states of recurrences");
    succeed("plot whole/attention.csv --figure attention,heads -o drawn");
    assert_has("drawn/attention.gp", "$states1 using 1:2:3 with points pt 9");
    assert_has("drawn/heads.gp", "; of layers without attention,");
    succeed("plot mamba2 --figure attention,heads -o alone"); /* no attention at all */
    assert_has("alone/attention.gp", "$states1 using");
    succeed("report mamba2 -o alone.html");
}

/* The maps' cells: of attention beside recurrences its fields alone, and their scale. A model of
 * convolutions alone has nothing to draw. */
static void only_attention_is_in_its_layers(void **state)
{
    double low, high, most = 0;
    char *script, *range;
    struct csv_table t;

    (void)state;
    measure("falcon-h1", "-o beside");
    succeed("plot beside --figure heads -o map");
    t = read_table(at("beside/attention.csv"));
    for (size_t r = 0; r < t.rows; r++)
        if (strcmp(cell(&t, r, "mixer"), "recurrence") != 0 && number(&t, r, "epsilon") == 0.01)
            most = fmax(most, number(&t, r, "attention_erf"));
    csv_table_free(&t);
    script = slurp(at("map/heads.gp"), NULL);
    range = strstr(script, "set cbrange [");
    assert_non_null(range);
    assert_int_equal(sscanf(range, "set cbrange [%lf:%lf]", &low, &high), 2);
    if (high != most && high != 2 * low)
        fail_msg("the scale ends at %g, the widest field is %g", high, most);
    free(script);
    measure("lfm2-short", "-o convolutions");
    assert_int_equal(access(at("convolutions/attention.gp"), F_OK), -1);
    measure("lfm2-short", "-o convolutions --resume");
    expect("plot convolutions --figure attention", 1, "attention");
}

/* Tables of before mixers were named. */
static void older_tables_are_read(void **state)
{
    static const char old[] = "model,layer,head,epsilon,attention_erf,trf,trf_length,verdict,"
                              "segments,excluded\na,1,1,0.01,5,,,not applicable,1,0\n"
                              "a,1,2,0.01,7,,,not applicable,1,0\n";

    (void)state;
    assert_int_equal(mkdir(at("old"), 0777), 0);
    scratch_write(base, "old/attention.csv", old, strlen(old));
    succeed("plot old/attention.csv --figure attention,heads -o older");
    assert_has("older/attention.gp", "2.0000 7 1\n");
}

static int make_inputs(void **state)
{
    char *goldens = realpath("tests/goldens", NULL);
    int linked;

    (void)state;
    if (!goldens || program_open() != 0)
        return -1;
    linked = symlink(goldens, at("goldens"));
    free(goldens);
    return linked;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recurrences_have_decays),
        cmocka_unit_test(tables_name_mixers),
        cmocka_unit_test(prints_tokens),
        cmocka_unit_test(shards_make_the_whole),
        cmocka_unit_test(reports_and_figures),
        cmocka_unit_test(older_tables_are_read),
        cmocka_unit_test(only_attention_is_in_its_layers),
    };

    return cmocka_run_group_tests(tests, make_inputs, program_close);
}
