/* `reach trf` of rotary positions: the first distance at which the sum of their cosines is below 0,
 * by hand and of checkpoints.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/program.h"
#include "tests/results.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first distance at which the sum of cos(m frequency[k]) is below 0, by a plain loop. */
static int first_below(const double *frequency, int count)
{
    for (int m = 1;; m++) {
        double sum = 0;

        for (int k = 0; k < count; k++)
            sum += cos(m * frequency[k]);
        if (sum < 0)
            return m;
    }
}

/* The first distance at which the sum of a rotation's cosines is below 0, as mpmath found it
 * (tests/goldens/series/rotary.py). */
static void rotations(void **state)
{
    static const char *const columns[] = {"distance", "quarter_turn", "whole_turn", "incoherent"};
    char line[8192] = "trf", name[256], given[4][32];
    struct csv_table t;
    FILE *f = fopen("tests/goldens/series/rotary.tsv", "r");
    size_t rows = 0;

    (void)state;
    assert_non_null(f);
    assert_non_null(fgets(name, sizeof name, f));
    while (fscanf(f, "%255s %31s %31s %31s %31s", name, given[0], given[1], given[2], given[3]) ==
           5)
        snprintf(line + strlen(line), sizeof line - strlen(line), " %s", name);
    snprintf(line + strlen(line), sizeof line - strlen(line),
             " --layers 32 --coherence 0.9 -o turned");
    expect(line, 0,
           "sum of the cosines of 32 pairs (arXiv:2405.14591): first below 0 at distance 725, "
           "proved\n");
    t = read_table(at("turned/rotary.csv"));
    rewind(f);
    assert_non_null(fgets(name, sizeof name, f));
    for (;
         fscanf(f, "%255s %31s %31s %31s %31s", name, given[0], given[1], given[2], given[3]) == 5;
         rows++) {
        if (strcmp(cell(&t, rows, "formula"), name) != 0 ||
            strcmp(cell(&t, rows, "verdict"), "below") != 0)
            fail_msg("%s: %s is %s", name, cell(&t, rows, "formula"), cell(&t, rows, "verdict"));
        for (int k = 0; k < 4; k++)
            if (strcmp(cell(&t, rows, columns[k]), given[k]) != 0)
                fail_msg("%s: %s is %s (expected %s)", name, columns[k], cell(&t, rows, columns[k]),
                         given[k]);
    }
    assert_true(rows > 20 && t.rows == rows);
    csv_table_free(&t);
    fclose(f);
    expect("trf rope:128 --layers 32 --coherence 0.9", 0,
           "slowest pair (arXiv:2602.10959): a radian in 8659.64 tokens, past a quarter of a turn "
           "from distance 13603 on, past a "
           "whole one from 54411 on, proved\n  its cosine to the power of 32 layers: below 0.9 "
           "from distance 703 on, proved\n");
    expect("trf rope:128,base=1e9 --train-length 4096 --layers 2", 0,
           "a step of it is below 2^-23, the precision of float\n  its cosine at the training "
           "length of 4096: 1, in 2 layers its "
           "power 1\n");
    expect("trf alibi --coherence 0.5", 2, "--coherence: no argument has rotary positions");
    expect("trf rope:128 --coherence 1", 2,
           "\"1\" is not valid (expected a decimal number above 0 and below 1");
    /* none is left where nothing is turned */
    expect("trf alibi -o turned --force", 0, "converges");
    assert_false(exists(at("turned/rotary.csv")));
    expect("trf rope:128,base=1e12 --effort 0.05", 0, "(where the effort ended), proved");
}

/* Those of checkpoints, by layer, and by inputs where the frequencies go by them. */
static void rotations_of_checkpoints(void **state)
{
    enum { INPUTS = 90, LIMIT = 24 };
    double stretched = 10000 * pow(3.0 * INPUTS / LIMIT - 2, 4 / 2.0);
    const double local[] = {1, pow(90, -0.25), pow(90, -0.5), pow(90, -0.75)},
                 global[] = {1 / 4.0, pow(3000, -0.25) / 4, pow(3000, -0.5) / 4,
                             pow(3000, -0.75) / 4},
                 near[] = {1, pow(700, -0.5) / 1.3}, far[] = {1 / 2.0, pow(700, -0.5) / 5},
                 few[] = {1, 0.01}, many[] = {1, pow(stretched, -0.5)};
    const struct {
        const char *formula, *layer, *inputs, *verdict, *window;
        int distance;
    } rows[] = {
        {"two", "1", "", "below", "9", first_below(local, 4)},
        {"two", "2", "", "below", "", first_below(global, 4)},
        {"two", "3", "", "below", "9", first_below(local, 4)},
        {"long", "1", "40", "below", "", first_below(near, 2)},
        {"long", "1", "41", "below", "", first_below(far, 2)},
        {"long", "2", "40", "below", "", first_below(near, 2)},
        {"long", "2", "41", "below", "", first_below(far, 2)},
        {"own", "1", "24", "below", "", first_below(few, 2)},
        {"own", "1", "90", "below", "", first_below(many, 2)},
        {"own", "2", "24", "below", "", first_below(few, 2)},
        {"own", "2", "90", "below", "", first_below(many, 2)},
        {"half", "", "", "never", "", 0},
    };
    struct csv_table t;
    struct outcome o;

    (void)state;
    o = reach("trf two=goldens/gemma3-text long=goldens/llama-rope-longrope "
              "own=goldens/llama-rope-dynamic half=rope:64/128 "
              "--train-length 50 --length 90 "
              "-o layers --force");
    if (o.status != 0 ||
        !strstr(o.out, "first below 0 at distance 9, proved, beyond the window of 9 and within the "
                       "training length of 50\n"
                       "slowest pair (arXiv:2602.10959): a radian in ") ||
        !strstr(o.out, "proved, beyond the training length of 50\n") ||
        !strstr(o.out, ", in 2 layers its power ") || !strstr(o.out, ", with up to 40 inputs (") ||
        !strstr(o.out, ", with at least 41 inputs (") || !strstr(o.out, ", with 90 inputs (") ||
        !strstr(o.out, "32 pairs and 32 pairs that are not turned (arXiv:2405.14591): never below "
                       "0, as each cosine is at least -1\n"))
        fail_msg("exit %d\n%s%s", o.status, o.out, o.err);
    outcome_free(&o);
    t = read_table(at("layers/rotary.csv"));
    assert_int_equal(t.rows, sizeof rows / sizeof *rows);
    assert_string_equal(cell(&t, 0, "layers"),
                        "2"); /* the two that attend nearby; no --coherence was given */
    assert_string_equal(cell(&t, 1, "layers"), "1");
    assert_string_equal(cell(&t, 0, "coherence"), "");
    assert_string_equal(cell(&t, 0, "incoherent"), "");
    for (size_t i = 0; i < t.rows; i++) {
        const char *const expected[] = {rows[i].formula, rows[i].layer, rows[i].inputs,
                                        rows[i].verdict, rows[i].window},
                          *const names[] = {"formula", "layer", "inputs", "verdict", "window"};

        for (int k = 0; k < 5; k++)
            if (strcmp(cell(&t, i, names[k]), expected[k]) != 0)
                fail_msg("row %zu: %s is %s (expected %s)", i, names[k], cell(&t, i, names[k]),
                         expected[k]);
        assert_int_equal(atoi(cell(&t, i, "distance")), rows[i].distance);
        assert_int_equal(atoi(cell(&t, i, "train_length")), 50);
    }
    csv_table_free(&t);
}

static int make_inputs(void **state)
{
    char goldens[PATH_MAX];

    (void)state;
    setenv("COLUMNS", "1000", 1); /* lines of reports are as long as they are */
    return program_open() != 0 || !realpath("tests/goldens", goldens) ||
                   symlink(goldens, at("goldens")) != 0
               ? -1
               : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rotations),
        cmocka_unit_test(rotations_of_checkpoints),
    };

    return cmocka_run_group_tests(tests, make_inputs, program_close);
}
