/* `reach erf --shard` and `reach merge`, and what --bias-dtype and --verify say, as a user meets
 * them; see program.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "commands/options.h"
#include "run/command.h"
#include "run/results.h"
#include "io/element.h"
#include "io/results/result.h"
#include "tests/program.h"
#include "tests/results.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <hdf5.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const files[] = {"erf.h5",    "curve.csv",  "summary.csv",   "erf.gp",
                                    "layers.gp", "targets.gp", "attention.csv", "attention.gp"};

static void assert_same_folder(const char *a, const char *b)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char one[PATH_MAX], other[PATH_MAX];

        snprintf(one, sizeof one, "%s/%s/%s", base, a, files[i]);
        snprintf(other, sizeof other, "%s/%s/%s", base, b, files[i]);
        if (exists(one) || exists(other))
            assert_same_file(one, other);
    }
}

/* Runs a line, which must succeed, without pictures; returns what it printed, which the caller
 * frees. */
static char *printed(const char *line)
{
    struct outcome o = finish(start(line, "/nonexistent"));

    if (o.status != 0)
        fail_msg("reach %s: exit %d: %s", line, o.status, o.err);
    free(o.err);
    return o.out;
}

/* ---- shards and what is made of them ---- */

static const struct {
    const char *options;
    int shards;
} rows[] = {
    {"window none --text text --length 64 --segments 7 --bootstrap 50", 3},
    {"window none --text text --length 64 --segments 4 --stride 10 --bootstrap 50 --threshold 0.7 "
     "--sink 2 --seed 9",
     4}, /* one segment each */
    {"window --text text --length 64 --segments 5 --bootstrap 0 --layer all --target-position "
     "20,41",
     2},
    {"window alibi rotary --text text --length 64 --segments 7 --bootstrap 20 --attention", 3},
    {"mine=alibi --text text --length 40 --segments 5 --bootstrap 20 --attribution ig "
     "--target-position 9",
     2},
    {"alibi --text text --length 40 --segments 5 --bootstrap 20 --attribution smoothgrad --seed 3",
     3},
    {"alibi --text text --length 40 --segments 5 --bootstrap 20 --attribution inputxgrad "
     "--attention --dtype f64",
     2},
    {"window --text text --length 64 --segments 3 --layer 0 --bias -t/3 --bias-dtype bf16 --window "
     "9 --train-length 16",
     1},
    {"poor --text bytes --length 16 --segments 8 --stride 16 --bootstrap 20 --threshold 0.5",
     2}, /* one segment of each shard is excluded */
    {"faint window --text text --length 64 --segments 9 --bootstrap 20 --layer all",
     2}, /* norms that float does not hold; of two shards the first alone has intervals */
};

static void merge_row(size_t i)
{
    char folders[256] = "", line[600];
    char *whole, *merged;

    snprintf(line, sizeof line, "erf %s --quiet -o whole-%zu", rows[i].options, i);
    whole = printed(line);
    for (int k = rows[i].shards; k >= 1; k--) {
        succeed("erf %s --quiet --shard %d/%d -o shard-%zu-%d", rows[i].options, k, rows[i].shards,
                i, k);
        snprintf(folders + strlen(folders), sizeof folders - strlen(folders), " shard-%zu-%d", i,
                 k);
    }
    snprintf(line, sizeof line, "merge%s -o merged-%zu --quiet", folders, i);
    merged = printed(line);
    if (strcmp(whole, merged) != 0)
        fail_msg("%s: the merged result prints\n%s\nwhere one run prints\n%s", rows[i].options,
                 merged, whole);
    assert_same_folder(at("whole-%zu", i) + strlen(base) + 1,
                       at("merged-%zu", i) + strlen(base) + 1);
    free(whole);
    free(merged);
}

static void shards_make_the_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        merge_row(i);
}

/* A shard says which it is, holds its own segments alone, and its curve is theirs. */
static void a_shard_is_a_result(void **state)
{
    struct result whole = read_result("whole-0"), part = read_result("shard-0-2");
    const struct result_model *model = &part.models[0], *run_model = &whole.models[0];
    const struct result_field *m = result_main(model), *all = result_main(run_model);
    char *out = printed("erf window none --text text --length 64 --segments 7 --bootstrap 50 "
                        "--quiet --shard 2/3 -o again");

    (void)state;
    assert_non_null(strstr(out, "all 2 models: shard 2 of 3: segments 3 to 4 of 7"));
    assert_string_equal(result_attribute(m, "shard"), "2/3");
    assert_string_equal(result_attribute(m, "shard_first"), "2");
    assert_string_equal(result_attribute(m, "run_segments"), "7");
    assert_string_equal(result_attribute(m, "segments"), "2");
    assert_null(result_attribute(all, "shard"));
    assert_non_null(strstr(part.command, "--shard 2/3"));
    assert_null(strstr(whole.command, "--shard"));
    assert_int_equal(model->segments, 2);
    assert_memory_equal(m->norm, all->norm + 2 * all->positions,
                        2 * m->positions * sizeof *m->norm);
    assert_memory_equal(model->start, run_model->start + 2, 2 * sizeof *model->start);
    for (size_t k = 0; k < m->positions; k++) {
        double total[2] = {0, 0};

        for (size_t i = 0; i < 2; i++)
            for (size_t n = 0; n < m->positions; n++)
                total[i] += m->norm[i * m->positions + n];
        assert_true(fabs(m->summary.s[k] -
                         (m->norm[k] / total[0] + m->norm[m->positions + k] / total[1]) / 2) <
                    1e-12);
    }
    assert_same_file(at("again/erf.h5"), at("shard-0-2/erf.h5"));
    free(out);
    result_free(&whole);
    result_free(&part);
}

enum { LAYERS = 3, HEADS = 2, DISTANCES = 63 };

/* The mean attention of the model `window`. */
static void read_attention(double out[LAYERS * HEADS * DISTANCES], const char *folder)
{
    hid_t file = H5Fopen(at("%s/erf.h5", folder), H5F_ACC_RDONLY, H5P_DEFAULT),
          set = H5Dopen2(file, "models/window/attention", H5P_DEFAULT);

    assert_true(set >= 0 &&
                H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, out) >= 0);
    H5Dclose(set);
    H5Fclose(file);
}

/* The mean over all segments is that of the shards' means, each as often as it has segments; and
 * shares add up to 1. */
static void attention_is_a_mean(void **state)
{
    static double whole[LAYERS * HEADS * DISTANCES], part[3][LAYERS * HEADS * DISTANCES];
    static const double segments[3] = {2, 2, 3};

    (void)state;
    read_attention(whole, "whole-3");
    for (int k = 0; k < 3; k++) {
        char folder[32];

        snprintf(folder, sizeof folder, "shard-3-%d", k + 1);
        read_attention(part[k], folder);
    }
    for (int row = 0; row < LAYERS * HEADS; row++) {
        double total = 0;

        for (int i = row * DISTANCES; i < (row + 1) * DISTANCES; i++) {
            double mean = 0;

            total += whole[i];
            for (int k = 0; k < 3; k++)
                mean += part[k][i] * segments[k] / 7;
            if (!(fabs(whole[i] - mean) <= 1e-15))
                fail_msg("row %d, distance %d: %.17g (expected %.17g)", row, i % DISTANCES,
                         whole[i], mean);
        }
        assert_true(fabs(total - 1) < 1e-5);
    }
}

/* Killed, and gone on with; another shard's journal is refused by name. Meanwhile another shard of
 * the run goes its way. */
static void shards_resume(void **state)
{
    static const char options[] = "window --text text --length 64 --segments 60 --stride 32 "
                                  "--dtype f64 --bootstrap 10 --attention --quiet";
    struct outcome o;
    char line[512];
    pid_t child;

    (void)state;
    snprintf(line, sizeof line, "erf %s --shard 1/2 -o half-1", options);
    o = run_until_journal(line, "half-1", SIGKILL,
                          18000); /* some records behind the room for attention */
    assert_int_equal(o.status, -SIGKILL);
    outcome_free(&o);
    expect("merge half-1 -o half", 1,
           "half-1: holds an unfinished run (expected a finished one: continue with reach erf "
           "--resume)");
    expect("merge half-1/erf.h5 -o half", 1, "half-1/: holds an unfinished run");
    snprintf(line, sizeof line, "erf %s --shard 2/2 -o half-1 --resume", options);
    expect(line, 1, "shard is 1/2 there, 2/2 in this run");
    snprintf(line, sizeof line, "erf %s --shard 2/2 -o half-2", options);
    child = start(line, "/nonexistent");
    succeed("erf %s --shard 1/2 -o half-1 --resume --threads 1", options);
    o = finish(child);
    assert_int_equal(o.status, 0);
    outcome_free(&o);
    succeed("erf %s -o both", options);
    succeed("merge half-1 half-2 -o half");
    assert_same_folder("both", "half");
}

/* ---- what is refused ---- */

static const struct {
    const char *line;
    int status;
    const char *said;
} refused[] = {
    {"merge", 2, "no DIR is given"},
    {"merge nowhere -o m", 1, "nowhere/erf.h5"},
    {"merge text -o m", 1, "text"},
    {"merge whole-0 -o m", 1,
     "whole-0/erf.h5: is not a shard (expected a result of reach erf --shard I/N; this one is "
     "whole already)"},
    {"merge shard-0-1 shard-0-3 -o m", 1,
     "of 3 shards these are missing: 2 (expected all of them)"},
    {"merge shard-1-3 -o m", 1, "of 4 shards these are missing: 1, 2, 4 (expected all of them)"},
    {"merge shard-0-1 shard-0-2 shard-0-1 -o m", 1,
     "shard-0-1: is shard 1 of 3, and so is shard-0-1"},
    {"merge shard-0-1 shard-0-2 shard-0-2 shard-0-3 -o m", 1,
     "shard-0-2: is shard 2 of 3, and so is shard-0-2"},
    {"merge shard-0-1 shard-1-2 -o m", 1, "shard-1-2: is shard 2 of 4, and shard-0-1 shard 1 of 3"},
    {"merge shard-0-1 other-digest -o m", 1, "other-digest: digest of window is"},
    {"merge shard-0-1 other-text -o m", 1, "other-text: tokens_digest of window is"},
    {"merge shard-0-1 other-dtype -o m", 1,
     "other-dtype: dtype of window is f64, and in shard-0-1 f32"},
    {"merge shard-0-1 other-seed -o m", 1, "other-seed: seed of window is 1, and in shard-0-1 0"},
    {"merge shard-0-1 other-stride -o m", 1,
     "other-stride: stride of window is 64, and in shard-0-1"},
    {"merge shard-0-1 other-name -o m", 1,
     "other-name: has the model w where shard-0-1 has window"},
    {"merge shard-0-1 other-count -o m", 1,
     "other-count: holds 1 models, targets and layers, and shard-0-1 2"},
    {"merge shard-0-1 other-type -o m", 1,
     "other-type: position_encoding of window is --bias -t, --bias-dtype bf16, on window 5, and in "
     "shard-0-1 window 5"},
    {"merge shard-0-1 other-layer -o m", 1,
     "other-layer: is of \"reach erf --length 64 --segments 7 --bootstrap 50 --layer 0\", and "
     "shard-0-1 of"},
    {"merge shard-0-1 shard-0-2 shard-0-3 -o shard-0-2", 1, "shard-0-2: is one of the shards"},
    {"merge shard-0-1 shard-0-2 shard-0-3 -o shard-0-2 --force", 1,
     "shard-0-2: is one of the shards"},
    {"merge shard-0-1 shard-0-2 shard-0-3 -o whole-0", 1,
     "whole-0/erf.h5: exists (expected --force"},
    {"merge shard-0-1 shard-0-2 shard-0-3 -o begun", 1,
     "begun/erf.part: an unfinished run is kept here"},
    {"erf window --text text --length 64 --segments 3 -o m --quiet --shard 4/3", 2,
     "--shard: \"4/3\" is not valid (expected I/N"},
    {"erf window --text text --shard 0/3", 2, "--shard: \"0/3\" is not valid"},
    {"erf window --text text --shard 3", 2, "--shard: \"3\" is not valid"},
    {"erf window --text text --shard /3", 2, "--shard: \"/3\" is not valid"},
    {"erf window --text text --shard 1/", 2, "--shard: \"1/\" is not valid"},
    {"erf window --text text --length 64 --segments 3 --shard 1/4 -o m --quiet", 1,
     "shard 1/4 would hold no segment, because there are only 3"},
    {"erf window --text text --bias-dtype f64", 2,
     "--bias-dtype: \"f64\" is not valid (expected f32, bf16 or f16)"},
    {"ppl window --text text --bias-dtype half", 2,
     "--bias-dtype: \"half\" is not valid (expected f32, bf16 or f16)"},
};

static void wrong_shards_are_named(void **state)
{
    static const char common[] = "--length 64 --segments 7 --bootstrap 50 --quiet --shard 2/3";
    FILE *f;

    (void)state;
    succeed("erf window=alibi none --text text %s -o other-digest", common);
    succeed("erf window none --text bytes %s -o other-text", common);
    succeed("erf window none --text text %s --dtype f64 -o other-dtype", common);
    succeed("erf window none --text text %s --seed 1 -o other-seed", common);
    succeed("erf window none --text text %s --stride 64 -o other-stride", common);
    succeed("erf w=window none --text text %s -o other-name", common);
    succeed("erf window --text text %s -o other-count", common);
    succeed("erf window none --text text %s --bias-dtype bf16 --bias -t -o other-type", common);
    succeed("erf window none --text text %s --layer 0 -o other-layer", common);
    assert_int_equal(mkdir(at("begun"), 0777), 0);
    f = fopen(at("begun/erf.part"), "w");
    assert_non_null(f);
    fclose(f);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        expect(refused[i].line, refused[i].status, refused[i].said);
    assert_false(exists(at("m")));
    succeed("merge shard-0-1 shard-0-2 shard-0-3 -o begun --force");
    assert_same_folder("whole-0", "begun");
    assert_false(exists(at("begun/erf.part")));
}

/* ---- shards that do not hold what they say ---- */

static void set_whole(hid_t model, const char *name, long long value)
{
    hid_t a = H5Aopen(model, name, H5P_DEFAULT);

    assert_true(a >= 0 && H5Awrite(a, H5T_NATIVE_LLONG, &value) >= 0);
    H5Aclose(a);
}

static void set_text(hid_t object, const char *name, const char *value)
{
    hid_t a = H5Aopen(object, name, H5P_DEFAULT), type = H5Aget_type(a);

    assert_true(a >= 0 && H5Awrite(a, type, &value) >= 0);
    H5Tclose(type);
    H5Aclose(a);
}

/* All numbers of a dataset become NaN. */
static void set_nan(hid_t model, const char *name)
{
    double values[64];
    hid_t set = H5Dopen2(model, name, H5P_DEFAULT);

    for (size_t i = 0; i < 64; i++)
        values[i] = NAN;
    assert_true(set >= 0 &&
                H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(set);
}

static void forge(hid_t file, hid_t model, size_t which)
{
    switch (which) {
    case 0: set_whole(model, "shard_first", 1); break;
    case 1: set_whole(model, "run_segments", 1LL << 39); break;
    case 2: set_whole(model, "layers", 9); break;
    case 3: set_whole(model, "length", 30); break;
    case 4: H5Ldelete(model, "attention_low", H5P_DEFAULT); break;
    case 5: set_text(model, "attention_trf", "12 12 converges\n"); break;
    case 6: set_text(file, "command", "reach erf window alibi"); break;
    case 7:
        set_text(file, "command",
                 "reach erf window rotary alibi --text text --length 64 --segments 7 --bootstrap "
                 "20 --attention --shard 1/1");
        break;
    case 8:
        set_text(file, "command",
                 "reach erf window alibi rotary --text text --length 64 --layer all --bootstrap 20 "
                 "--attention --shard 1/1");
        break;
    case 9: set_text(model, "shard", "1"); break;
    case 10: set_whole(model, "attention_used", 99); break;
    case 11: set_text(model, "attention_trf", "= 1 1 1"); break;
    case 12:
        for (int i = 0; i < 3; i++) {
            static const char *const names[] = {"models/window", "models/alibi", "models/rotary"};
            hid_t one = H5Gopen2(file, names[i], H5P_DEFAULT);

            set_text(one, "shard", "9223372036854775807/9223372036854775807");
            H5Gclose(one);
        }
        break;
    case 13: set_nan(model, "logprob"); break;
    case 14: set_nan(model, "c_lo"); break;
    }
}

static void forged_shards_are_refused(void **state)
{
    static const char *const said[] = {
        "which are not those of shard",
        "which are not those of shard",
        "holds the attention of 3 layers and 2 heads of window (expected 9 and 2)",
        "has norms of 63 positions (expected 29)",
        "window lacks the attention of its 3 layers and 2 heads",
        "attention_trf is damaged",
        "its command is not understood: reach erf window alibi",
        "its models are not those of its command",
        "does not hold what its command says",
        "the attribute shard of window is \"1\"",
        "attention_used",
        "attention_trf is damaged",
        "which are not those of shard",
        "forged/erf.h5: window, target 64, layer 0: the status of segment 0 is 1",
        "forged/erf.h5: window/c_lo at position 1 is nan"};

    (void)state;
    succeed("erf window alibi rotary --text text --length 64 --segments 7 --bootstrap 20 "
            "--attention --quiet --shard 1/1 -o lone");
    succeed("merge lone -o lone-merged");
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        char path[4200];
        size_t size;
        char *bytes = slurp(at("lone/erf.h5"), &size);
        FILE *f;
        hid_t file, model;

        mkdir(at("forged"), 0777);
        snprintf(path, sizeof path, "%s", at("forged/erf.h5"));
        f = fopen(path, "wb");
        assert_true(f && fwrite(bytes, 1, size, f) == size && fclose(f) == 0);
        free(bytes);
        file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
        model = H5Gopen2(file, "models/window", H5P_DEFAULT);
        assert_true(file >= 0 && model >= 0);
        forge(file, model, i);
        H5Gclose(model);
        H5Fclose(file);
        expect("merge forged -o m", 1, said[i]);
        assert_false(exists(at("m/erf.h5")));
    }
    expect("plot forged -o m", 1, "forged/erf.h5: window/c_lo at position 1 is nan");
}

/* Words come back from a command as a shell would read them. */
static void commands_are_read_back(void **state)
{
    static const char *const want[] = {"reach", "erf",    "a b",      "it's", "",
                                       "x\\y",  "--bias", "-t^2?1:2", "'"};
    enum { WORDS = sizeof want / sizeof *want };
    char *command = NULL, **words;
    size_t size;
    FILE *f = open_memstream(&command, &size);
    struct error e;
    int count;

    (void)state;
    assert_non_null(f);
    for (size_t i = 0; i < WORDS; i++)
        command_word(f, want[i]);
    fclose(f);
    assert_int_equal(command_words(&words, &count, command, &e), 0);
    assert_int_equal(count, WORDS);
    for (size_t i = 0; i < WORDS; i++)
        assert_string_equal(words[i], want[i]);
    free(words);
    assert_int_equal(command_words(&words, &count, "  ", &e), 0);
    assert_int_equal(count, 0);
    free(words);
    assert_int_equal(command_words(&words, &count, "a 'b", &e), 0); /* cut off inside a word */
    assert_int_equal(count, 2);
    assert_string_equal(words[1], "b");
    free(words);
    free(command);
}

/* ---- --bias-dtype and --verify ---- */

/* The same norms as by a formula that holds the rounded values one by one. */
static void rounded_biases_are_used(void **state)
{
    enum { LENGTH = 400, SHOWN = 20 };
    char line[4000], formula[3000] = "";
    struct result a, b, c;

    (void)state;
    for (int t = 0; t < SHOWN; t++)
        snprintf(formula + strlen(formula), sizeof formula - strlen(formula), "t<%d?-%.17g:", t + 1,
                 element_round(element_round(0.3, ELEMENT_BF16) * t, ELEMENT_BF16));
    snprintf(line, sizeof line,
             "erf none --text text --length %d --segments 2 --quiet --bootstrap 0 --window %d "
             "--bias %s-inf -o by-value",
             LENGTH, SHOWN, formula);
    free(printed(line));
    succeed("erf none --text text --length %d --segments 2 --quiet --bootstrap 0 --window %d "
            "--bias -0.3*t --bias-dtype bf16 -o "
            "by-type",
            LENGTH, SHOWN);
    succeed("erf none --text text --length %d --segments 2 --quiet --bootstrap 0 --window %d "
            "--bias -0.3*t -o by-double",
            LENGTH, SHOWN);
    a = read_result("by-value");
    b = read_result("by-type");
    c = read_result("by-double");
    assert_memory_equal(result_main(a.models)->norm, result_main(b.models)->norm,
                        2 * (LENGTH - 1) * sizeof(double));
    assert_memory_not_equal(result_main(a.models)->norm, result_main(c.models)->norm,
                            2 * (LENGTH - 1) * sizeof(double));
    assert_string_equal(result_attribute(result_main(&b.models[0]), "bias_dtype"), "bf16");
    assert_null(result_attribute(result_main(&c.models[0]), "bias_dtype"));
    assert_non_null(strstr(result_attribute(result_main(&b.models[0]), "position_encoding"),
                           "--bias-dtype bf16"));
    assert_non_null(strstr(b.command, "--bias '-0.3*t' --bias-dtype bf16"));
    result_free(&a);
    result_free(&b);
    result_free(&c);
    succeed("ppl none --text text --context 32 --segments 3 --quiet --bias -0.3*t --bias-dtype "
            "bf16 -o by-type-ppl");
    assert_true(exists(at("by-type-ppl/ppl.csv")));
}

static void checkpoints_are_verified(void **state)
{
    struct outcome o = finish(
        start("erf window --text text --length 64 --segments 2 --bootstrap 0 --verify -o verified",
              "/nonexistent"));

    (void)state;
    assert_int_equal(o.status, 0);
    assert_non_null(
        strstr(o.err, "reach erf: window: verified: 1 file of 48 kB read, all numbers of "));
    outcome_free(&o);
    expect("info window --length 64 --verify", 0, "verified       1 file of 48 kB read");
    expect("erf spoiled --text text --length 64 --segments 2 --verify --quiet -o unverified", 1,
           "model.safetensors: tensor embedding.weight holds nan at [0, 0]");
    expect("info spoiled --length 64 --verify", 1,
           "model.safetensors: tensor embedding.weight holds nan at [0, 0]");
    assert_false(exists(at("unverified")));
}

static int make_inputs(void **state)
{
    const struct {
        const char *name;
        struct tiny t;
    } models[] = {
        {"window", {.layers = 3, .settings = "\"window\": 5,", .seed = 1}},
        {"none", {.layers = 3, .seed = 2}},
        {"alibi", {.layers = 2, .settings = "\"position_bias\": \"alibi\",", .seed = 3}},
        {"rotary", {.layers = 2, .settings = "\"position\": {\"kind\": \"rotary\"},", .seed = 4}},
        {"spoiled", {.layers = 2, .spoiled = "embedding.weight", .seed = 5}},
        {"faint", {.layers = 2, .settings = "\"embedding_scale\": 1e-37,", .seed = 7}},
        {"poor", {.layers = 2, .spoiled = "embedding.weight", .untied = 1, .seed = 6}},
    };
    unsigned char bytes[128 + 512];
    FILE *f;

    (void)state;
    if (program_open() != 0)
        return -1;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (tiny_checkpoint(at("%s", models[i].name), &models[i].t) != 0)
            return -1;
    for (size_t i = 0; i < sizeof bytes;
         i++) /* byte 0, whose row is spoiled, in the third and the sixth segment of 16 */
        bytes[i] = i == 36 || i == 90 ? 0 : (unsigned char)(1 + i * 7 % 200);
    f = fopen(at("bytes"), "wb");
    return f && fwrite(bytes, 1, sizeof bytes, f) == sizeof bytes && fclose(f) == 0
               ? tiny_text(at("text"), 5000, 7)
               : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shards_make_the_whole),
        cmocka_unit_test(a_shard_is_a_result),
        cmocka_unit_test(shards_resume),
        cmocka_unit_test(wrong_shards_are_named),
        cmocka_unit_test(forged_shards_are_refused),
        cmocka_unit_test(rounded_biases_are_used),
        cmocka_unit_test(checkpoints_are_verified),
        cmocka_unit_test(commands_are_read_back),
        cmocka_unit_test(attention_is_a_mean),
    };

    return cmocka_run_group_tests_name("reach merge", tests, make_inputs, program_close);
}
