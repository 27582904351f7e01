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
#include "tests/erf_inputs.h"
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
    expect("erf none --text text --device cuda --dtype bf16x3", 1,
           "--dtype bf16x3 is for the processor");
}

static void version_says_what_it_is_made_of(void **state)
{
    static const char *const parts[] = {"reach ",
                                        "compiler",
                                        "HDF5",
                                        "oneDNN",
                                        "zlib",
                                        "zstd",
                                        "xz",
                                        "bzip2",
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
    assert_int_equal(strncmp(o.out, "usage: reach version [options]\n", 31), 0);
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
    assert_same_erf("closed", "all-closed");
}

static void spoiled_weights_name_the_layer(void **state)
{
    (void)state;
    expect("erf spoiled --text text --length 64 --segments 3 --quiet -o x", 1, "layer 2 of 2");
    expect("erf none spoiled --text text --length 64 --segments 3 --quiet -o x", 1, "spoiled");
    assert_false(exists(at("x")));
}

/* Of several checkpoints one that is cut off is left out, which is told before the work and is the
 * error after it; the others' results are those of a run without it. */
static void broken_checkpoints_are_left_out(void **state)
{
    struct outcome o;

    (void)state;
    assert_int_equal(mkdir(at("steps"), 0777), 0);
    for (int step = 10; step <= 40; step += 10)
        if (tiny_checkpoint(at("steps/checkpoint-%d", step), &(struct tiny){.seed = step}) != 0)
            fail_msg("checkpoint-%d", step);
    assert_int_equal(truncate(at("steps/checkpoint-40/model.safetensors"), 2000), 0);
    assert_int_equal(unlink(at("steps/checkpoint-20/config.json")), 0);
    o = reach("erf steps/checkpoint-10 steps/checkpoint-20 steps/checkpoint-30 "
              "steps/checkpoint-40 --text text --length 64 --segments 3 -o left-out");
    if (o.status != 1 || !strstr(o.out, "checkpoint-30 ") || strstr(o.out, "checkpoint-40") ||
        strstr(o.out, "checkpoint-20") || !strstr(o.err, "checkpoint-40/model.safetensors: ") ||
        !strstr(o.err, "(it is left out)\n") ||
        !strstr(o.err, "\nreach erf: 2 of 4 models could not be read and were left out: "
                       "steps/checkpoint-20, steps/checkpoint-40; the first: "
                       "steps/checkpoint-20"))
        fail_msg("exit %d\n%s\n%s", o.status, o.out, o.err);
    outcome_free(&o);
    succeed("erf steps/checkpoint-10 steps/checkpoint-30 --text text --length 64 --segments 3 "
            "--quiet -o others");
    for (int i = 0; i < 2; i++) { /* all but the recorded commands */
        const char *name = i ? "curve.csv" : "summary.csv";
        char *one = slurp(at("left-out/%s", name), NULL),
             *other = slurp(at("others/%s", name), NULL);

        assert_string_equal(strstr(one, "\nmodel,"), strstr(other, "\nmodel,"));
        free(one);
        free(other);
    }
    o = reach("erf steps/checkpoint-10 steps/checkpoint-40 --text text --length 64 --segments 3 "
              "--quiet --force -o left-out");
    assert_int_equal(o.status, 1);
    if (strncmp(o.err,
                "reach erf: 1 of 2 models could not be read and was left out: "
                "steps/checkpoint-40/model.safetensors: ",
                100) != 0)
        fail_msg("%s", o.err);
    outcome_free(&o);
    expect("erf steps/checkpoint-40 steps/checkpoint-20 --text text --length 64 --quiet -o x", 1,
           "checkpoint-20");
    assert_false(exists(at("x")));
    expect("erf steps/checkpoint-10 absent --text text --length 64 -o x", 1, "absent");
    assert_false(exists(at("x"))); /* nothing is measured if a name is wrong */
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
    expect("erf window --text text --length 64 --segments 3 --quiet -o kept --resume", 0, NULL);
    expect("erf window --text text --length 64 --segments 4 --quiet -o kept --resume", 1,
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

/* Too few segments have a curve, but no interval: not on the screen, in the tables, in the files or
 * in figures that are drawn from them, and a line says why. */
static void few_segments_have_no_interval(void **state)
{
    (void)state;
    for (int segments = 1; segments <= INTERVAL_SEGMENTS; segments++) {
        int enough = segments == INTERVAL_SEGMENTS;
        char line[200];
        struct outcome o;
        struct result result;
        struct csv_table curve, summary;

        snprintf(line, sizeof line,
                 "erf none window --text text --length 64 --segments %d --growth --quiet -o few%d",
                 segments, segments);
        o = reach(line);
        assert_int_equal(o.status, 0);
        if ((strchr(o.out, '[') != NULL) != enough ||
            (strstr(o.out, "no intervals: ") == NULL) != enough)
            fail_msg("%d segments: %s", segments, o.out);
        outcome_free(&o);
        result = read_result(at("few%d", segments) + strlen(base) + 1);
        assert_string_equal(result_attribute(result_main(&result.models[1]), "interval"),
                            enough ? "bootstrap-t" : "none");
        curve = read_table(at("few%d/curve.csv", segments));
        summary = read_table(at("few%d/summary.csv", segments));
        for (size_t i = 0; i < curve.rows; i++) /* without one both ends are the value */
            assert_true(enough || (strcmp(cell(&curve, i, "c_lo"), cell(&curve, i, "c")) == 0 &&
                                   strcmp(cell(&curve, i, "c_hi"), cell(&curve, i, "c")) == 0));
        for (size_t i = 0; i < summary.rows; i++)
            assert_true(enough ||
                        (strcmp(cell(&summary, i, "erf_lo"), cell(&summary, i, "erf")) == 0 &&
                         strcmp(cell(&summary, i, "erf_hi"), cell(&summary, i, "erf")) == 0));
        assert_true(*cell(&summary, 0, "growth") &&
                    (*cell(&summary, 0, "growth_lo") != 0) == enough);
        for (int k = 0; k < 3; k++) { /* as drawn by the run, and again from each file */
            static const char *const sources[] = {"", "erf.h5", "curve.csv"};
            char *script;

            if (k) {
                snprintf(line, sizeof line, "plot few%d/%s -o again%d-%d --format svg", segments,
                         sources[k], segments, k);
                expect(line, 0, NULL);
            }
            script = slurp(k ? at("again%d-%d/erf.gp", segments, k) : at("few%d/erf.gp", segments),
                           NULL);
            assert_non_null(script);
            assert_true((strstr(script, "filledcurves") != NULL) == enough);
            free(script);
        }
        snprintf(line, sizeof line, "plot few%d/summary.csv -o rows%d --format svg", segments,
                 segments);
        expect(line, 0, NULL);
        char *script = slurp(at("rows%d/ladder.gp", segments), NULL);
        assert_non_null(script);
        assert_true((strstr(script, "; interval of ERF(0.99)") != NULL) == enough);
        free(script);
        csv_table_free(&curve);
        csv_table_free(&summary);
        result_free(&result);
    }
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_usage_exits_2),
        cmocka_unit_test(version_says_what_it_is_made_of),
        cmocka_unit_test(info_describes_a_checkpoint),
        cmocka_unit_test(bad_input_is_named),
        cmocka_unit_test(closed_streams_stay_closed),
        cmocka_unit_test(spoiled_weights_name_the_layer),
        cmocka_unit_test(broken_checkpoints_are_left_out),
        cmocka_unit_test(folder_in_the_way),
        cmocka_unit_test(results_agree_with_each_other),
        cmocka_unit_test(excluded_segments_are_counted),
        cmocka_unit_test(faint_gradients_have_their_field),
        cmocka_unit_test(results_are_kept),
        cmocka_unit_test(names_are_made_unique),
        cmocka_unit_test(tokens_and_text_agree),
        cmocka_unit_test(few_segments_have_no_interval),
        cmocka_unit_test(overlap_saturation_and_overrides_are_told),
        cmocka_unit_test(plot_combines_results),
    };

    return cmocka_run_group_tests(tests, erf_inputs, program_close);
}
