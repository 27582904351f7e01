/* The program as a user meets it: $REACH is spawned on tiny checkpoints, and what it prints, writes
 * and returns is checked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/curve.h"
#include "commands/erf.h"
#include "io/formats/csv.h"
#include "io/results/result.h"
#include "tests/program.h"
#include "tests/results.h"
#include "tests/scratch.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void assert_same_results(const char *a, const char *b)
{
    static const char *const names[] = {"erf.h5", "curve.csv", "summary.csv", "erf.gp"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_same_file(at("%s/%s", a, names[i]), at("%s/%s", b, names[i]));
}

/* ---- help and usage ---- */

static void wrong_usage_exits_2(void **state)
{
    (void)state;
    expect("sing", 2, "unknown verb");
    expect("plto", 2, "plto: unknown verb (did you mean reach plot?)");
    expect("x", 2, "unknown verb (expected one of those that");
    expect("help plto", 2, "plto: unknown verb (did you mean reach plot?)");
    expect("help plot trf", 2, "reach help: trf: unexpected argument");
    expect("erf none --text text --lenght 3", 2, "--lenght: unknown option");
    expect("erf none", 2, "no text is given");
    expect("erf --text text", 2, "no MODEL");
    expect("erf none --text text --length 64x", 2, "--length");
    expect("erf -x none --text text", 2, "-x");
    expect("erf a=none a=window --text text", 2, "given twice");
    expect("erf none --text text --bias 2+", 2, "character");
    expect("info", 2, "no MODEL");
    expect("info none window", 2, "unexpected argument");
    expect("plot", 2, "no RESULT");
    expect("version 3", 2, "3: unexpected argument");
    expect("erf none --text text --length 64 --length 32", 2, "--length: is given twice");
    expect("erf none --text text -o a -o b", 2, "-o: is given twice");
    expect("erf none --text text --resume --force", 2, "--resume and --force are both given");
    assert_int_equal(setenv("REACH_CUDA", "/nowhere/reach-cuda.so", 1), 0);
    expect("erf none --text text --device cuda", 1, "/nowhere/reach-cuda.so: cannot be loaded");
    unsetenv("REACH_CUDA");
    expect("erf none --text text --device cpu --dtype tf32", 1, "--dtype tf32 is for GPUs");
}

static void version_says_what_it_is_made_of(void **state)
{
    static const char *const parts[] = {"reach ",
                                        "compiler",
                                        "HDF5",
                                        "oneDNN",
                                        "zlib",
                                        "CUDA\n  driver   ",
                                        "\n  plug-in  ",
                                        "Jansson",
                                        "xxHash",
                                        "reference",
                                        "--dtype f32 uses"};
    struct outcome o = reach("version");

    (void)state;
    assert_int_equal(o.status, 0);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(o.out, parts[i]))
            fail_msg("reach version says nothing of %s:\n%s", parts[i], o.out);
    outcome_free(&o);
    o = reach("version --help");
    assert_int_equal(o.status, 0);
    assert_int_equal(strncmp(o.out, "usage: reach version\n", 21), 0);
    outcome_free(&o);
}

static void info_describes_a_checkpoint(void **state)
{
    struct outcome o = reach("info window --length 64");

    (void)state;
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.out, "cone           9 of 63 inputs"));
    assert_non_null(strstr(o.out, "vocabulary     256"));
    assert_non_null(strstr(o.out, "window         5"));
    assert_non_null(strstr(o.out, "train length   16"));
    outcome_free(&o);
    expect("info nothing-here", 1, "nothing-here");
    expect("info name=window --length 64", 0, NULL);
    expect("info name=nothing-here", 1, "reach info: nothing-here");
}

/* ---- input that is refused ---- */

static void bad_input_is_named(void **state)
{
    (void)state;
    expect("erf nothing-here --text text -o x", 1, "nothing-here");
    expect("erf none --text nothing-here -o x", 1, "nothing-here");
    expect("erf none --text short --length 64 -o x", 1, "erf: short: there are 63 tokens");
    expect("erf none --tokens outside.npy --length 64 -o x", 1,
           "erf: outside.npy: id 256 at index 7");
    expect("erf none --tokens rows.npy --length 65 -o x", 1, "erf: rows.npy: --length 65");
    expect("erf none --text text --length 64 --bias t<1?-inf:0 -o x", 1,
           "position 1 has no key left in head 1");
    expect("erf window --text text --length 64 --bias t<5?-inf:0 -o x", 1, "no key");
    expect("erf missing --text text -o x", 1, "layers.1.mlp.down.weight");
    expect("erf learned --text text --length 64 -o x", 1, "--length 33");
    expect("erf big --text text --length 64 -o x", 1, "vocabulary of 300");
    expect("erf none --text text --length 64 --bos always -o x", 1,
           "none: has no beginning-of-text token for --bos always");
    expect("erf none --text text --length 64 --memory 1K -o x", 1, "--memory");
    expect("erf none --text text --length 64 --log nowhere/log -o x", 1, "nowhere/log");
    assert_false(exists(at("x"))); /* and nothing is left */
}

/* Runs `reach LINE` with redirections by a shell in BASE; its exit status. */
static int shell(const char *line)
{
    char command[9000];

    snprintf(command, sizeof command, "cd '%s' && \"$REACH\" %s", base, line);
    return WEXITSTATUS(system(command));
}

/* A stream that the caller closed is not replaced by whatever file is opened next. */
static void closed_streams_stay_closed(void **state)
{
    char *said;

    (void)state;
    assert_int_equal(shell("erf none --text - --length 64 --segments 3 -o x <&- >stdout 2>stderr"),
                     1);
    said = slurp(at("stderr"), NULL);
    if (!strstr(said, "standard input: cannot be"))
        fail_msg("%s", said);
    free(said);
    assert_int_equal(
        shell("erf none --text text --length 64 --segments 3 --quiet -o closed 2>stderr >&-"), 1);
    said = slurp(at("stderr"), NULL);
    if (!strstr(said, "reach erf: standard output: cannot be written"))
        fail_msg("%s", said);
    free(said);
    assert_int_equal(
        shell("erf none --text text --length 64 --segments 3 --force -o all-closed <&- >&- 2>&-"),
        1);
    assert_same_results("closed", "all-closed");
}

static void spoiled_weights_name_the_layer(void **state)
{
    (void)state;
    expect("erf spoiled --text text --length 64 --segments 3 --quiet -o x", 1, "layer 2 of 2");
    expect("erf none spoiled --text text --length 64 --segments 3 --quiet -o x", 1, "spoiled");
    assert_false(exists(at("x")));
}

static void folder_in_the_way(void **state)
{
    (void)state;
    expect("erf none --text text --length 64 --segments 3 --quiet -o text", 1, "text");
    expect("erf none --text text --length 64 --segments 3 --quiet -o text/deeper", 1, "text");
}

/* ---- results ---- */

static void results_agree_with_each_other(void **state)
{
    struct outcome o = reach("erf window none=none --text text --length 64 --segments 12 "
                             "--threshold 0.8 --quiet -o whole");
    struct csv_table curve, summary;
    struct result result;
    struct error e = {""};

    (void)state;
    if (o.status != 0)
        fail_msg("exit %d: %s", o.status, o.err);
    assert_string_equal(o.err, "");
    assert_non_null(strstr(o.out, "ERF(0.8)")); /* the first --threshold leads */
    assert_non_null(strstr(o.out, "paired by segment"));
    assert_non_null(strstr(o.out, "window 5"));
    char *words = strdup(o.out); /* in one line, however they are broken */
    assert_non_null(words);
    for (char *c = words; *c; c++)
        *c = *c == '\n' ? ' ' : *c;
    outcome_free(&o);
    assert_false(exists(at("whole/erf.part")));

    assert_int_equal(result_read(at("whole/erf.h5"), &result, &e), 0);
    assert_int_equal(csv_read(at("whole/curve.csv"), &curve, &e), 0);
    assert_int_equal(csv_read(at("whole/summary.csv"), &summary, &e), 0);
    assert_int_equal(result.model_count, 2);
    assert_string_equal(result.models[0].name, "window");
    for (size_t i = 0; i < 2;
         i++) { /* what the report says in words; `window` was trained on 16 tokens */
        const int threshold = csv_column(&summary, "threshold"), erf = csv_column(&summary, "erf");
        long half = 0, lead = 0;
        char sentence[256];

        for (size_t k = 6 * i; k < 6 * i + 6; k++) {
            char *const *row = summary.cell + k * summary.columns;
            if (strcmp(row[threshold], "0.5") == 0)
                half = strtol(row[erf], NULL, 10);
            if (strcmp(row[threshold], "0.8") == 0)
                lead = strtol(row[erf], NULL, 10);
        }
        assert_true(half > 0 && lead > 0);
        snprintf(sentence, sizeof sentence,
                 "%s: half of the summed gradient norm comes from the last %ld of 63 tokens. "
                 "ERF(0.8) is %ld%s",
                 result.models[i].name, half, lead,
                 i           ? "."
                 : lead > 16 ? ", beyond the training length of 16."
                             : ", within the training length of 16.");
        if (!strstr(words, sentence))
            fail_msg("the report does not say: %s\n%s", sentence, words);
    }
    free(words);
    assert_int_equal(curve.rows, 2 * 63);
    assert_int_equal(summary.rows, 2 * 6);
    assert_int_equal(curve.columns, 10);
    assert_int_equal(summary.columns, 22);
    for (size_t i = 0; i < 2; i++) {
        const struct result_model *m = &result.models[i];
        const struct result_field *f = result_main(m);
        const struct erf_summary *u = &f->summary;
        double mean = 0;

        assert_int_equal(m->segments, 12);
        assert_int_equal(f->positions, 63);
        assert_string_equal(result_attribute(result_main(m), "train_length"), i == 0 ? "16" : "0");
        for (size_t k = 0; k < 63; k++) { /* the CSV reads back to the same doubles */
            char **row = curve.cell + (i * 63 + k) * curve.columns;

            assert_string_equal(row[0], m->name);
            assert_int_equal(atoi(row[1]), (int)k + 1);
            assert_int_equal(atoi(row[2]), 62 - (int)k);
            assert_true(strtod(row[3], NULL) == u->s[k]);
            assert_true(strtod(row[4], NULL) == u->c[k]);
            assert_true(strtod(row[5], NULL) == u->c_lo[k]);
            assert_true(strtod(row[6], NULL) == u->c_hi[k]);
            assert_true(u->c_lo[k] <= u->c[k] + 1e-12 && u->c[k] <= u->c_hi[k] + 1e-12);
        }
        for (size_t k = 0; k < 6; k++) {
            char **row = summary.cell + (i * 6 + k) * summary.columns;
            double q = strtod(row[4], NULL);

            assert_int_equal(strtoul(row[5], NULL, 10), curve_erf(u->c, 63, q));
            assert_int_equal(atoi(row[8]), curve_erf(u->c, 63, q) == 63);
        }
        for (size_t k = 0; k < 12; k++)
            mean += f->logprob[k] / 12;
        assert_true(fabs(mean - strtod(summary.cell[i * 6 * summary.columns + 14], NULL)) < 1e-12);
        assert_true(u->c[0] == 1);
    }
    for (size_t k = 0; k < 63 - 9; k++) /* outside the cone of 1 + 2 (5 - 1) tokens */
        assert_true(result_main(&result.models[0])->summary.s[k] == 0);
    assert_true(result_main(&result.models[0])->summary.s[63 - 9] > 0);
    result_free(&result);
    csv_table_free(&curve);
    csv_table_free(&summary);
}

/* A row of the embedding is NaN: the one segment that reads it is excluded and counted, the others
 * are used. */
static void excluded_segments_are_counted(void **state)
{
    struct outcome o = reach("erf none rare --tokens rare.npy --quiet -o excluded");
    struct csv_table summary;
    struct result result;
    struct error e;

    (void)state;
    if (o.status != 0)
        fail_msg("exit %d: %s", o.status, o.err);
    assert_non_null(strstr(o.out, "rare: 1 of 4 segments are excluded"));
    assert_non_null(strstr(o.out, "not paired"));
    outcome_free(&o);
    assert_int_equal(result_read(at("excluded/erf.h5"), &result, &e), 0);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(result_main(&result.models[0])->status[i], SEGMENT_DONE);
        assert_int_equal(result_main(&result.models[1])->status[i],
                         i == 1 ? SEGMENT_EXCLUDED : SEGMENT_DONE);
    }
    assert_string_equal(result_attribute(result_main(&result.models[1]), "excluded"), "1");
    result_free(&result);
    assert_int_equal(csv_read(at("excluded/summary.csv"), &summary, &e), 0);
    assert_string_equal(summary.cell[5 * summary.columns + 1], "4");
    assert_string_equal(summary.cell[5 * summary.columns + 2], "1");
    assert_true(strtod(summary.cell[5 * summary.columns + 15], NULL) >
                1); /* its perplexity is finite */
    csv_table_free(&summary);
}

/* Norms that float does not hold are measured and stored all the same: the field is that of f64. */
static void faint_gradients_have_their_field(void **state)
{
    static const char *const columns[] = {"erf", "saturated", "erf_without_sink", "excluded"};

    (void)state;
    succeed("erf faint --text text --length 64 --segments 3 --bootstrap 0 --quiet -o faint-f32");
    succeed("erf faint --text text --length 64 --segments 3 --bootstrap 0 --quiet --dtype f64 -o "
            "faint-f64");

    struct csv_table got = read_table(at("faint-f32/summary.csv")),
                     want = read_table(at("faint-f64/summary.csv"));
    struct result narrow = read_result("faint-f32"), wide = read_result("faint-f64");
    const struct result_field *f = result_main(&narrow.models[0]),
                              *w = result_main(&wide.models[0]);

    for (size_t row = 0; row < want.rows; row++)
        for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
            assert_string_equal(cell(&got, row, columns[c]), cell(&want, row, columns[c]));
    for (size_t i = 0; i < 3 * f->positions; i++)
        assert_true(w->norm[i] < 1e-30 && fabs(f->norm[i] - w->norm[i]) <= 1e-4 * w->norm[i]);
    csv_table_free(&got);
    csv_table_free(&want);
    result_free(&narrow);
    result_free(&wide);
}

static void results_are_kept(void **state)
{
    struct outcome o;

    (void)state;
    expect("erf window --text text --length 64 --segments 3 --quiet -o kept", 0, NULL);
    expect("erf window --text text --length 64 --segments 3 --quiet -o kept", 1, "--force");
    expect("erf window --text text --length 64 --segments 3 --quiet -o kept --resume", 1,
           "--force");
    o = reach("erf window --text text --length 64 --segments 4 --quiet -o kept --force");
    assert_int_equal(o.status, 0);
    outcome_free(&o);
}

static void names_are_made_unique(void **state)
{
    struct outcome o = reach(
        "erf window ./window other=window --text text --length 64 --segments 3 --quiet -o names");
    struct result result;
    struct error e;

    (void)state;
    assert_int_equal(o.status, 0);
    outcome_free(&o);
    assert_int_equal(result_read(at("names/erf.h5"), &result, &e), 0);
    assert_int_equal(result.model_count, 3);
    assert_string_equal(result.models[0].name, "window");
    assert_string_equal(result.models[1].name, "window-2");
    assert_string_equal(result.models[2].name, "other");
    result_free(&result);
}

/* The same tokens as bytes of a text, a 1-D and a 2-D file give the same norms. */
static void tokens_and_text_agree(void **state)
{
    struct result results[3];
    struct error e;

    (void)state;
    expect("erf window --text text --length 64 --segments 4 --stride 64 --quiet -o input-0", 0,
           NULL);
    expect("erf window --tokens stream.npy --length 64 --segments 4 --stride 64 --quiet -o input-1",
           0, NULL);
    expect("erf window --tokens rows.npy --quiet -o input-2", 0, NULL);
    for (int i = 0; i < 3; i++)
        assert_int_equal(result_read(at("input-%d/erf.h5", i), &results[i], &e), 0);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(results[i].models[0].segments, 4);
        assert_int_equal(result_main(&results[i].models[0])->positions, 63);
        assert_memory_equal(result_main(&results[i].models[0])->norm,
                            result_main(&results[0].models[0])->norm, 4 * 63 * sizeof(double));
    }
    for (int i = 0; i < 3; i++)
        result_free(&results[i]);
}

static void threads_change_no_byte(void **state)
{
    (void)state;
    expect("erf window none --text text --length 64 --segments 9 --quiet --threads 1 -o threads-1",
           0, NULL);
    expect("erf window none --text text --length 64 --segments 9 --quiet --threads 2 -o threads-2",
           0, NULL);
    assert_same_results("threads-1", "threads-2");
}

/* One segment has a curve, but no interval. */
static void one_segment_has_no_interval(void **state)
{
    struct outcome o = reach(
        "erf none window --text text --length 64 --segments 1 --quiet -o single");

    (void)state;
    assert_int_equal(o.status, 0);
    if (strchr(o.out, '['))
        fail_msg("%s", o.out);
    outcome_free(&o);
}

static void overlap_saturation_and_overrides_are_told(void **state)
{
    struct outcome o = reach("erf none --text text --length 64 --segments 9 --stride 10 --quiet "
                             "--bootstrap 0 --threshold 0.999 -o overlap");

    (void)state;
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.out, "segments overlap"));
    assert_non_null(strstr(o.out, ">= 63"));
    outcome_free(&o);
    o = reach("erf none --text text --length 64 --segments 3 --quiet --window 3 --bias "
              "alibi(delta=2) -o override");
    assert_int_equal(o.status, 0);
    outcome_free(&o);
    o = reach("erf window --text text --length 64 --segments 3 --quiet --check-precision 2 --log "
              "log -o check");
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.out, "largest deviations"));
    assert_null(strstr(o.out, "!\n"));
    assert_true(exists(at("log")));
    outcome_free(&o);
}

static void without_gnuplot(void **state)
{
    struct outcome o = finish(
        start("erf window --text text --length 64 --segments 3 --quiet -o blind", "/nonexistent"));

    (void)state;
    assert_int_equal(o.status, 0);
    assert_int_equal(lines(o.err), 1);
    assert_non_null(strstr(o.err, "reach erf: gnuplot: not found"));
    assert_true(exists(at("blind/erf.gp")) && exists(at("blind/curve.csv")) &&
                exists(at("blind/erf.h5")));
    assert_false(exists(at("blind/erf.png")) || exists(at("blind/erf.part")));
    outcome_free(&o);
}

/* gnuplot is there and fails: the results are written and printed, and the exit status says that
 * something is missing. */
static void pictures_that_fail_are_told(void **state)
{
    FILE *f;
    struct outcome o;

    (void)state;
    assert_int_equal(mkdir(at("bin"), 0777), 0);
    assert_non_null(f = fopen(at("bin/gnuplot"), "w"));
    fputs("#!/bin/sh\necho no such font >&2\nexit 3\n", f);
    fclose(f);
    assert_int_equal(chmod(at("bin/gnuplot"), 0777), 0);
    o = finish(start(
        "erf window --text text --length 64 --segments 3 --quiet --check-precision 1 -o undrawn",
        at("bin")));
    if (o.status != 1 || lines(o.err) != 1 ||
        !strstr(o.err, "reach erf: gnuplot: cannot draw undrawn/erf.gp: no such font") ||
        !strstr(o.out, "largest deviations"))
        fail_msg("exit %d: %s%s", o.status, o.err, o.out);
    outcome_free(&o);
    assert_true(exists(at("undrawn/erf.gp")) && exists(at("undrawn/erf.h5")));
    assert_false(exists(at("undrawn/erf.png")) || exists(at("undrawn/erf.part")));
    static const char *const others[] = {
        "ppl window --text text --context 8 --segments 3 --quiet -o undrawn",
        "trf alibi --heads 2 --length 64 -o undrawn", "bias alibi --heads 2 --length 16 -o undrawn",
        "fit alibi --heads 2 --form a+b*t --range 0:9 -o undrawn", "plot undrawn -o undrawn-again"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        o = finish(start(others[i], at("bin")));
        if (o.status != 1 || lines(o.err) != 1 || !strstr(o.err, ": no such font"))
            fail_msg("reach %s\nexit %d: %s", others[i], o.status, o.err);
        outcome_free(&o);
        o = finish(start(others[i], "/nonexistent"));
        outcome_free(&o);
    }
}

/* A file that may not grow further is told like a full disk, and what was measured is kept. */
static void a_limit_on_files_is_told(void **state)
{
    char command[9000];
    struct outcome o;

    (void)state;
    snprintf(command, sizeof command,
             "cd '%s' && ulimit -f 8 && '%s' erf window --text text --length 64 --segments 40 "
             "--stride 64 --quiet -o limited "
             ">stdout 2>stderr",
             base, getenv("REACH"));
    int status = system(command);
    o = finish(-1);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 1 || lines(o.err) != 1 ||
        !strstr(o.err, "limited/erf.part: cannot be written: File too large"))
        fail_msg("status %#x: %s", (unsigned)status, o.err);
    outcome_free(&o);
    expect(
        "erf window --text text --length 64 --segments 40 --stride 64 --quiet -o limited --resume",
        0, NULL);
}

/* However little address space there is, a run ends with its result or with one line that says why
 * not. Libraries take some 100 MB of it; under AddressSanitizer there are terabytes, and no limit
 * can be set. */
static void a_limit_on_memory_is_told(void **state)
{
    char command[9000];
    int ended[2] = {0};

    (void)state;
#if defined(__SANITIZE_ADDRESS__)
    skip();
#endif
    if (getenv("REACH_EMULATED")) /* an emulator's own memory would be limited */
        skip();
    for (int kilobytes = 110000; kilobytes <= 400000; kilobytes += 13000) {
        snprintf(command, sizeof command,
                 "cd '%s' && ulimit -v %d && PATH=/nonexistent OMP_NUM_THREADS=4 '%s' erf window "
                 "--text text --length 64 --segments 4 "
                 "--quiet -o limited --force >stdout 2>stderr",
                 base, kilobytes, getenv("REACH"));
        int status = system(command), code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        struct outcome o = finish(-1);
        if (code == 127 && strstr(o.err, "shared libraries")) /* not even the program */
            continue;
        if (code != 0 && code != 1)
            fail_msg("%d kB: status %#x: %s", kilobytes, (unsigned)status, o.err);
        if (lines(o.err) != 1)
            fail_msg("%d kB: exit %d: %s", kilobytes, code, o.err);
        ended[code]++;
        outcome_free(&o);
    }
    if (!ended[0] || !ended[1])
        fail_msg("%d ended well, %d did not", ended[0], ended[1]);
}

/* Without CUDA's driver a plug-in is not looked at, unless --device cuda asks for it: here it is no
 * library at all. */
static void a_plug_in_needs_a_driver(void **state)
{
    char path[PATH_MAX];
    FILE *f;
    struct outcome o;

    (void)state;
    /* under an emulator what REACH names starts a program that lies elsewhere */
    if (dlopen("libcuda.so.1", RTLD_LAZY) || getenv("REACH_CUDA") || getenv("REACH_EMULATED"))
        skip();
    snprintf(path, sizeof path, "%.*s/reach-cuda.so",
             (int)(strrchr(getenv("REACH"), '/') - getenv("REACH")), getenv("REACH"));
    assert_non_null(f = fopen(path, "w"));
    fputs("no library", f);
    fclose(f);
    o = reach(
        "erf window --text text --length 64 --segments 3 --quiet -o driverless --device auto");
    if (o.status != 0 || *o.err)
        fail_msg("exit %d: %s", o.status, o.err);
    outcome_free(&o);
    expect(
        "erf window --text text --length 64 --segments 3 --quiet -o driverless-cuda --device cuda",
        1, "cannot be loaded");
    unlink(path);
}

static void plot_combines_results(void **state)
{
    struct outcome o;
    char *script;

    (void)state;
    expect("erf window --text text --length 64 --segments 3 --quiet -o plot-a", 0, NULL);
    expect("erf window none --text text --length 32 --segments 3 --quiet -o plot-b", 0, NULL);
    o = reach("plot plot-a plot-b/curve.csv -o plotted --format svg");
    if (o.status != 0)
        fail_msg("exit %d: %s", o.status, o.err);
    outcome_free(&o);
    script = slurp(at("plotted/erf.gp"), NULL);
    assert_non_null(script);
    assert_non_null(strstr(script, "label1 = 'plot-a/window'"));
    assert_non_null(strstr(script, "label2 = 'plot-b/window'"));
    assert_non_null(strstr(script, "label3 = 'none'"));
    assert_non_null(strstr(script, "L_{tr} = 16"));
    free(script);
    expect("plot plot-a -o plotted", 1, "--force");
    expect("plot text -o plotted --force", 1, "text");
    expect("plot plot-a/summary.csv plot-b/summary.csv -o plotted --format svg --train-length 32",
           0, "plotted/ladder.svg");
    assert_true(exists(at("plotted/ladder.svg")));
    expect("plot plot-a/summary.csv plot-b -o plotted --force", 1, "with curves");
}

/* ---- interruption ---- */

static const char long_run[] = "erf window none --text text --length 64 --segments 250 --stride 64 "
                               "--dtype f64 --bootstrap 10 --quiet -o %s %s";

/* The long run in FOLDER, sent `number` once about 40 records are there. */
static struct outcome interrupted(const char *folder, int number)
{
    char line[512];

    snprintf(line, sizeof line, long_run, folder, "");
    return run_until_journal(line, folder, number, 40 * 64 * sizeof(double));
}

static void interrupted_runs_go_on(void **state)
{
    char line[512];
    struct outcome o;

    (void)state;
    snprintf(line, sizeof line, long_run, "run-whole", "");
    o = reach(line);
    assert_int_equal(o.status, 0);
    outcome_free(&o);

    /* asked to stop: tells what is kept */
    o = interrupted("run-stopped", SIGINT);
    if (o.status != 1 || lines(o.err) != 1 || !strstr(o.err, "--resume") ||
        !strstr(o.err, "of 500 segments are kept"))
        fail_msg("exit %d: %s", o.status, o.err);
    outcome_free(&o);
    assert_true(exists(at("run-stopped/erf.part")));
    assert_false(exists(at("run-stopped/erf.h5")));
    /* other settings, and a plain start over it, are refused */
    snprintf(line, sizeof line, long_run, "run-stopped", "--resume --seed 5");
    expect(line, 1, "seed");
    snprintf(line, sizeof line, long_run, "run-stopped", "--resume --keep-first 2");
    expect(line, 1, "--keep-first");
    snprintf(line, sizeof line, long_run, "run-stopped", "");
    expect(line, 1, "--resume");
    snprintf(line, sizeof line, long_run, "run-stopped", "--resume --threads 1");
    o = reach(line);
    if (o.status != 0)
        fail_msg("exit %d: %s", o.status, o.err);
    outcome_free(&o);
    assert_false(exists(at("run-stopped/erf.part")));
    assert_same_results("run-whole", "run-stopped");

    /* killed, with half a record at the end of the journal */
    o = interrupted("run-killed", SIGKILL);
    assert_int_equal(o.status, -SIGKILL);
    outcome_free(&o);
    assert_int_equal(truncate(at("run-killed/erf.part"), (off_t)journal_size("run-killed") - 100),
                     0);
    snprintf(line, sizeof line, long_run, "run-killed", "--resume");
    o = reach(line);
    if (o.status != 0)
        fail_msg("exit %d: %s", o.status, o.err);
    outcome_free(&o);
    assert_same_results("run-whole", "run-killed");
}

/* A flipped byte in the middle of the journal costs one record, and a line says so. */
static void a_damaged_record_is_told(void **state)
{
    char line[512], byte = 0;
    struct outcome o = interrupted("run-flipped", SIGKILL);
    int journal = open(at("run-flipped/erf.part"), O_RDWR);
    off_t middle = (off_t)journal_size("run-flipped") / 2;

    (void)state;
    outcome_free(&o);
    assert_true(journal >= 0);
    assert_int_equal(pread(journal, &byte, 1, middle), 1);
    byte ^= 4;
    assert_int_equal(pwrite(journal, &byte, 1, middle), 1);
    close(journal);
    snprintf(line, sizeof line, long_run, "run-flipped", "--resume");
    o = reach(line);
    if (o.status != 0 || lines(o.err) != 1 || !strstr(o.err, "run-flipped/erf.part: 1 of ") ||
        !strstr(o.err, "records is skipped: its checksum is wrong"))
        fail_msg("exit %d: %s", o.status, o.err);
    outcome_free(&o);
    assert_same_results("run-whole", "run-flipped");
}

/* Sums of attention whose journal is gone are of no run. */
static void sums_without_a_journal_are_dropped(void **state)
{
    FILE *f;

    (void)state;
    assert_int_equal(mkdir(at("sums"), 0777), 0);
    f = fopen(at("sums/erf.part.attention"), "w");
    assert_non_null(f);
    fputs("of another run", f);
    fclose(f);
    expect("erf window --text text --length 64 --segments 3 --attention --quiet -o sums --resume",
           0, NULL);
    assert_false(exists(at("sums/erf.part.attention")));
}

static void resume_without_a_journal_starts_afresh(void **state)
{
    (void)state;
    expect("erf window --text text --length 64 --segments 3 --quiet -o afresh --resume", 0, NULL);
    assert_true(exists(at("afresh/erf.h5")));
}

static int make_inputs(void **state)
{
    static const struct row {
        const char *name;
        struct tiny shape;
    } models[] = {
        {"none", {.seed = 1}},
        {"window", {.seed = 2, .settings = "\"window\": 5, \"train_length\": 16,"}},
        {"learned", {.seed = 3, .learned = 32}},
        {"big", {.seed = 4, .vocabulary = 300}},
        {"missing", {.seed = 5, .missing = "layers.1.mlp.down.weight"}},
        {"rare", {.seed = 7, .untied = 1, .spoiled = "embedding.weight"}}, /* the row of id 0 */
        {"faint", {.seed = 8, .settings = "\"embedding_scale\": 1e-37,"}},
        {"spoiled", {.seed = 6, .spoiled = "layers.1.mlp.down.bias"}},
    };
    int32_t ids[300];
    char *text;

    (void)state;
    if (program_open() != 0)
        return -1;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (tiny_checkpoint(at("%s", models[i].name), &models[i].shape) != 0)
            return -1;
    if (tiny_text(at("text"), 40000, 7) != 0 || tiny_text(at("short"), 63, 8) != 0 ||
        !(text = slurp(at("text"), NULL)))
        return -1;
    for (int i = 0; i < 300; i++)
        ids[i] = (unsigned char)text[i];
    free(text);
    if (tiny_npy(at("stream.npy"), ids, 0, 300) != 0 || tiny_npy(at("rows.npy"), ids, 4, 64) != 0)
        return -1;
    ids[70] = 0;
    if (tiny_npy(at("rare.npy"), ids, 4, 64) != 0)
        return -1;
    ids[7] = 256;
    return tiny_npy(at("outside.npy"), ids, 0, 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_usage_exits_2),
        cmocka_unit_test(version_says_what_it_is_made_of),
        cmocka_unit_test(info_describes_a_checkpoint),
        cmocka_unit_test(bad_input_is_named),
        cmocka_unit_test(closed_streams_stay_closed),
        cmocka_unit_test(spoiled_weights_name_the_layer),
        cmocka_unit_test(folder_in_the_way),
        cmocka_unit_test(results_agree_with_each_other),
        cmocka_unit_test(excluded_segments_are_counted),
        cmocka_unit_test(faint_gradients_have_their_field),
        cmocka_unit_test(results_are_kept),
        cmocka_unit_test(names_are_made_unique),
        cmocka_unit_test(tokens_and_text_agree),
        cmocka_unit_test(threads_change_no_byte),
        cmocka_unit_test(one_segment_has_no_interval),
        cmocka_unit_test(overlap_saturation_and_overrides_are_told),
        cmocka_unit_test(without_gnuplot),
        cmocka_unit_test(pictures_that_fail_are_told),
        cmocka_unit_test(a_limit_on_files_is_told),
        cmocka_unit_test(a_limit_on_memory_is_told),
        cmocka_unit_test(a_plug_in_needs_a_driver),
        cmocka_unit_test(plot_combines_results),
        cmocka_unit_test(interrupted_runs_go_on),
        cmocka_unit_test(a_damaged_record_is_told),
        cmocka_unit_test(sums_without_a_journal_are_dropped),
        cmocka_unit_test(resume_without_a_journal_starts_afresh),
    };

    return cmocka_run_group_tests(tests, make_inputs, program_close);
}
