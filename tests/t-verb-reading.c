/* What segments begin with (--bos) and within what they lie (--boundary), in `reach erf` and `reach
 * ppl`: against transformers in float64 (tests/goldens/reading/make.py), and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "io/formats/csv.h"
#include "io/results/result.h"
#include "io/tokens/tokens.h"
#include "tests/compare.h"
#include "tests/golden.h"
#include "tests/program.h"
#include "tests/results.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char goldens[PATH_MAX]; /* tests/goldens */

enum { TOKENS = 400 };

/* "none" reads bytes, "tokens" has a beginning-of-text token and no tokenizer; packed.npy has
 * documents of 3, 40, 90 and 17 tokens, an empty one, and 100 behind the last token 7; its ids are
 * below 256 else. */
static int setup(void **state)
{
    struct tiny none = {.seed = 1}, named = {.seed = 2, .settings = "\"bos\": 5,"},
                deep = {.seed = 3, .settings = "\"bos\": 5,"};
    int32_t ids[TOKENS], n = 0;
    static const int documents[] = {3, 40, 90, 0, 17, 100};

    (void)state;
    setenv("COLUMNS", "1000", 1); /* lines of reports are as long as they are */
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        for (int k = 0; k < documents[i]; k++, n++)
            ids[n] = 10 + (n * n + 3 * n) % 200;
        ids[n++] = 7;
    }
    return program_open() != 0 || !realpath("tests/goldens", goldens) ||
                   tiny_checkpoint(at("none"), &none) != 0 ||
                   tiny_checkpoint(at("named"), &named) != 0 ||
                   tiny_checkpoint(at("deep"), &deep) != 0 ||
                   tiny_npy(at("packed.npy"), ids, 0, (size_t)n - 1) != 0 ||
                   tiny_npy(at("rows.npy"), ids, 5, 50) != 0 || tiny_text(at("text"), 30000, 4) != 0
               ? -1
               : 0;
}

static struct csv_table read_csv(const char *path)
{
    struct csv_table t;
    struct error e = {""};

    if (csv_read(path, &t, &e) != 0)
        fail_msg("%s", e.text);
    return t;
}

static size_t whole(const struct csv_table *t, size_t row, const char *name)
{
    return strtoull(cell(t, row, name), NULL, 10);
}

/* ---- against transformers ---- */

static void compare_erf(const char *name, const double *want, size_t count, const int32_t *starts,
                        size_t segments)
{
    struct result r;
    struct error e = {""};
    size_t length = count / segments;

    if (result_read(at("out/erf.h5"), &r, &e) != 0)
        fail_msg("%s", e.text);
    assert_int_equal(r.models->segments, segments);
    assert_int_equal(result_main(r.models)->positions, length - 1);
    for (size_t s = 0; s < segments; s++) {
        const double *expected = want + s * length;
        double largest = 0;

        for (size_t m = 0; m < length - 1; m++)
            largest = expected[m] > largest ? expected[m] : largest;
        if (r.models->start[s] != (uint64_t)starts[s])
            fail_msg("%s: segment %zu starts at %zu (expected %d)", name, s,
                     (size_t)r.models->start[s], starts[s]);
        if (compare_values(name, result_main(r.models)->norm + s * (length - 1), expected,
                           length - 1, 1e-11 * largest, 0) ||
            compare_values(name, &result_main(r.models)->logprob[s], &expected[length - 1], 1,
                           1e-11, 0))
            fail();
    }
    result_free(&r);
}

/* Of several contexts the golden has the one that its option names first. */
static void compare_ppl(const char *name, const char *context, const double *want,
                        const int32_t *places, size_t count)
{
    struct csv_table t = read_csv(at("each.csv"));
    size_t found = 0;

    for (size_t i = 0; i < t.rows; i++) {
        double nll = strtod(cell(&t, i, "nll"), NULL);

        if (context && strtoul(context, NULL, 10) != whole(&t, i, "context"))
            continue;
        if (found < count && whole(&t, i, "position") != (size_t)places[found])
            fail_msg("%s: target %zu has position %s (expected %d)", name, found,
                     cell(&t, i, "position"), places[found]);
        if (found < count && compare_values(name, &nll, &(double){-want[found]}, 1, 1e-11, 0))
            fail();
        found++;
    }
    if (found != count)
        fail_msg("%s: %zu targets (expected %zu)", name, found, count);
    csv_table_free(&t);
}

static void numbers_are_those_of_transformers(void **state)
{
    struct csv_table cases = read_csv("tests/goldens/reading/cases.csv");
    size_t last = cases.rows - 1;
    double *values = golden_read_f64("tests/goldens/reading/values.npy",
                                     whole(&cases, last, "first") + whole(&cases, last, "count"));
    const char *path = "tests/goldens/reading/places.npy";
    struct tokens places;
    struct error e = {""};

    (void)state;
    assert_int_equal(tokens_read_files(&places, &path, 1, &e), 0);
    for (size_t i = 0; i < cases.rows; i++) {
        const char *model = cell(&cases, i, "model"), *options = cell(&cases, i, "options"),
                   *context = strstr(options, "--context ");
        const double *want = values + whole(&cases, i, "first");
        const int32_t *where = places.ids + whole(&cases, i, "first_place");
        size_t count = whole(&cases, i, "count");
        char name[PATH_MAX];

        snprintf(name, sizeof name, "%s %s", model, options);
        if (strcmp(cell(&cases, i, "verb"), "erf") == 0) {
            succeed("erf %s/saved/%s --text %s/saved/text.txt --dtype f64 --bootstrap 0 --format "
                    "svg --force --quiet -o out %s",
                    goldens, model, goldens, options);
            compare_erf(name, want, count, where, whole(&cases, i, "places"));
        } else {
            succeed("ppl %s/saved/%s --text %s/saved/text.txt --dtype f64 --force --quiet "
                    "--per-token each.csv %s",
                    goldens, model, goldens, options);
            compare_ppl(name, context ? context + strlen("--context ") : NULL, want, where, count);
        }
    }
    tokens_free(&places);
    free(values);
    csv_table_free(&cases);
}

/* ---- what is said and refused ---- */

#define ERF "erf named --tokens packed.npy --bootstrap 0 --quiet --force --format svg "
#define PPL "ppl named --tokens packed.npy --quiet "

static void results_say_it(void **state)
{
    static const struct {
        const char *line, *said;
    } rows[] = {
        {ERF "-o a --length 10 --bos always",
         "named: every segment begins with its beginning-of-text token 5, which counts in the "
         "length\n"},
        {ERF "-o a --length 40 --boundary 7 --segments 2",
         "named: 5 documents between tokens 7: 2 used, 2 too short, whose 20 tokens are left "
         "out\n"},
        /* the length counts the token: 40 of the text are needed for 41 */
        {ERF "-o a --length 41 --boundary 7 --bos always",
         "which counts in the length; 5 documents between tokens 7: 3 used, 2 too short, whose 20 "
         "tokens are left out\n"},
        {PPL "--context 16 --bos always", "targets: the last tokens of 15 segments of 17 tokens"},
        {PPL "--context 16 --bos always --protocol sliding",
         "targets: every token of the text, the same for every context"},
        {PPL "--context 16 --boundary 7 --protocol sliding",
         "targets: every token but the first of each document that is used, the same for every "
         "context"},
        {PPL "--context 16 --boundary 7 --protocol nonoverlapping",
         "named: 5 documents between tokens 7: 5 used, 0 too short, whose 0 tokens are left out\n"},
        {PPL "--context 16 --boundary 7 --protocol last",
         "named: 5 documents between tokens 7: 4 used, 1 too short, whose 3 tokens are left out\n"},
        {PPL "--protocol cached --window 4 --boundary 7 --bos always",
         "targets: every token of the documents that are used, in one pass"},
        {"ppl a=named b=none --tokens packed.npy --context 8 --quiet", "a      last"},
    };
    struct outcome o;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect(rows[i].line, 0, rows[i].said);
    o = reach("erf named --tokens packed.npy --length 10 --bootstrap 0 --force --format svg -o a");
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(
        o.err,
        "named: segments begin without its beginning-of-text token 5 (--bos always adds it)"));
    assert_null(strstr(o.out, "beginning-of-text"));
    outcome_free(&o);
}

static void impossible_is_refused(void **state)
{
    static const struct {
        const char *line;
        int status;
        const char *said;
    } rows[] = {
        {"erf none --tokens packed.npy -o x --bos", 2, "--bos: has no value (expected --bos WHEN)"},
        {"erf none --tokens packed.npy -o x --bos yes", 2,
         "--bos: \"yes\" is not valid (expected auto, always or never)"},
        {"ppl none --tokens packed.npy --bos yes", 2, "--bos: \"yes\" is not valid"},
        {"erf none --tokens packed.npy -o x --bos always --length 10", 1,
         "none: has no beginning-of-text token for --bos always"},
        {"ppl none --tokens packed.npy --bos always --context 8", 1,
         "none: has no beginning-of-text token for --bos always"},
        {ERF "-o x --boundary 7 --length 101", 1,
         "packed.npy: no document is long enough: the longest of 5 has 100 tokens (expected at "
         "least 101 for one segment)"},
        {PPL "--boundary 7 --context 100", 1,
         "the longest of 5 has 100 tokens (expected at least 101 for one segment)"},
        {PPL "--boundary 7 --context 101 --protocol last --bos always", 1,
         "(expected at least 101 for one segment)"},
        {"erf named --tokens rows.npy -o x --boundary 7", 1,
         "rows.npy: is 2-D, with one document per row"},
        {"ppl named --tokens rows.npy --context 8 --boundary 7", 1,
         "rows.npy: is 2-D, with one document per row"},
        {"ppl named --tokens rows.npy --context 8 --boundary 7 --protocol sliding", 1,
         "rows.npy: is 2-D, with one document per row"},
        {ERF "-o x --boundary 99999999999", 1,
         "--boundary: 99999999999 is not an id (expected 0 to 2147483647)"},
        {ERF "-o x --boundary <s>", 1,
         "named: has no tokenizer to find the token of --boundary <s> in (expected an id)"},
        {"erf named --text text -o x --boundary <s>", 1, "(expected an id, or one byte)"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect(rows[i].line, rows[i].status, rows[i].said);
    assert_false(exists(at("x")));
}

/* A document is measured as it is by itself, and a byte's text is its id. */
static void documents_are_streams(void **state)
{
    static const char *const protocols[] = {"nonoverlapping --context 9,16",
                                            "sliding --context 9 --stride 2", "cached --window 3"};
    char *a, *b;

    (void)state;
    for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++) {
        int32_t ids[90];
        struct csv_table all, one;
        size_t k = 0;

        for (int n = 0; n < 90; n++)
            ids[n] = 10 + ((n + 45) * (n + 45) + 3 * (n + 45)) % 200;
        assert_int_equal(tiny_npy(at("one.npy"), ids, 0, 90), 0);
        succeed(PPL "--boundary 7 --force --per-token all.csv --protocol %s", protocols[i]);
        succeed("ppl named --tokens one.npy --quiet --force --per-token one.csv --protocol %s",
                protocols[i]);
        all = read_csv(at("all.csv"));
        one = read_csv(at("one.csv"));
        for (size_t row = 0; row < all.rows; row++) {
            size_t position = whole(&all, row, "position");

            if (position <= 45 || position > 135)
                continue;
            assert_true(k < one.rows);
            assert_int_equal(position, whole(&one, k, "position") + 45);
            assert_string_equal(cell(&all, row, "id"), cell(&one, k, "id"));
            assert_string_equal(cell(&all, row, "nll"), cell(&one, k, "nll"));
            k++;
        }
        assert_int_equal(k, one.rows);
        csv_table_free(&all);
        csv_table_free(&one);
    }
    succeed("erf none --text text --boundary e --length 20 --bootstrap 0 --quiet --force --format "
            "svg -o byte");
    succeed("erf none --text text --boundary 101 --length 20 --bootstrap 0 --quiet --force "
            "--format svg -o number");
    a = slurp(at("byte/curve.csv"), NULL);
    b = slurp(at("number/curve.csv"), NULL);
    assert_string_equal(strstr(a, "# units"), strstr(b, "# units"));
    free(a);
    free(b);
}

/* ---- the same bytes ---- */

#define SEGMENTS \
    "erf deep --text text --length 50 --segments 300 --stride 3 --dtype f64 --bootstrap 20 " \
    "--quiet --format svg "
#define LONG SEGMENTS "--boundary e "

static void shards_and_resume_give_the_same_bytes(void **state)
{
    static const struct {
        const char *line, *said;
    } others[] = {
        {SEGMENTS "--resume -o stopped --boundary t", "boundary"},
        {SEGMENTS "--resume -o stopped", "boundary"},
        {SEGMENTS "--resume -o stopped --boundary e --bos always",
         "bos is -1 there, 5 in this run"},
    };

    (void)state;
    succeed(LONG "-o whole");
    for (int i = 1; i <= 3; i++)
        succeed(LONG "-o part-%d --shard %d/3", i, i);
    succeed("merge part-1 part-2 part-3 --quiet --format svg -o joined");
    assert_same_file(at("whole/erf.h5"), at("joined/erf.h5"));
    assert_same_file(at("whole/summary.csv"), at("joined/summary.csv"));
    succeed(LONG "-o again --threads 1 --memory 100M");
    assert_same_file(at("whole/erf.h5"), at("again/erf.h5"));
    succeed(SEGMENTS "--boundary t -o part-x --shard 2/3");
    expect("merge part-1 part-x part-3 --quiet -o bad", 1, "expected shards of one run");
    /* an interrupted run goes on to the same bytes, and not with another boundary or beginning */
    struct outcome o = run_until_journal(LONG "-o stopped", "stopped", SIGKILL,
                                         (size_t)40 * 50 * 8); /* some 40 segments */
    assert_int_equal(o.status, -SIGKILL);
    outcome_free(&o);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        expect(others[i].line, 1, others[i].said);
    succeed(LONG "-o stopped --resume");
    assert_same_file(at("whole/erf.h5"), at("stopped/erf.h5"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_those_of_transformers),
        cmocka_unit_test(results_say_it),
        cmocka_unit_test(impossible_is_refused),
        cmocka_unit_test(documents_are_streams),
        cmocka_unit_test(shards_and_resume_give_the_same_bytes),
    };

    return cmocka_run_group_tests(tests, setup, program_close);
}
