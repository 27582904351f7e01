/* MODEL as a name: models in a cache as Hugging Face's tools lay it out, through every verb that
 * takes a model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "io/results/result.h"
#include "tests/program.h"
#include "tests/scratch.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HASH "0123456789abcdef0123456789abcdef01234567"

/* One file of a snapshot: a link to a blob, which is a link to the file. */
static int make_file(const char *model, const char *folder, const char *name)
{
    char file[4400], blob[512];

    snprintf(file, sizeof file, "%s/%s", folder, name);
    snprintf(blob, sizeof blob, "../../blobs/%s", name);
    return symlink(file, at("%s/blobs/%s", model, name)) ||
                   symlink(blob, at("%s/snapshots/" HASH "/%s", model, name))
               ? -1
               : 0;
}

/* hub/models--me--NAME of the files of FOLDER, or of the one called ONLY. */
static int make_model(const char *name, const char *folder, const char *only)
{
    static const char *const below[] = {"", "/blobs", "/refs", "/snapshots", ("/snapshots/" HASH)};
    char model[256], *real = realpath(folder, NULL);
    FILE *f;
    DIR *d;
    int rc = real ? 0 : -1;

    snprintf(model, sizeof model, "hub/models--me--%s", name);
    for (size_t i = 0; i < sizeof below / sizeof *below; i++)
        rc |= mkdir(at("%s%s", model, below[i]), 0700);
    f = fopen(at("%s/refs/main", model), "we");
    d = rc == 0 ? opendir(real) : NULL;
    rc |= !f || fputs(HASH, f) < 0 || fclose(f) || !d ? -1 : 0;
    for (struct dirent *entry; rc == 0 && (entry = readdir(d));)
        if (*entry->d_name != '.' && (!only || strcmp(entry->d_name, only) == 0))
            rc = make_file(model, real, entry->d_name);
    if (d)
        closedir(d);
    free(real);
    return rc;
}

static int make_inputs(void **state)
{
    (void)state;
    if (program_open() != 0 || setenv("HF_HUB_CACHE", at("hub"), 1) != 0 ||
        mkdir(at("hub"), 0700) != 0 ||
        tiny_checkpoint(at("bytes"), &(struct tiny){.seed = 1, .settings = "\"window\": 5,"}) !=
            0 ||
        mkdir(at("me"), 0700) != 0 ||
        tiny_checkpoint(at("me/here"), &(struct tiny){.seed = 2}) != 0 ||
        tiny_text(at("text"), 4000, 7) != 0)
        return -1;
    return make_model("bytes", at("bytes"), NULL) || make_model("here", at("bytes"), NULL) ||
                   make_model("shards", "tests/goldens/llama-gqa", NULL) ||
                   make_model("llama", "tests/goldens/saved/llama", NULL) ||
                   make_model("quantised", "tests/goldens/gguf", "gpt2.gguf") ||
                   make_model("cut", "tests/goldens/llama-gqa", "config.json")
               ? -1
               : 0;
}

/* Runs LINE, which must be done, hold `said` in what it prints and tell the snapshot of me/NAME. */
static void taken(const char *line, const char *name, const char *said)
{
    struct outcome o = reach(line);
    char told[300];

    snprintf(told, sizeof told, "snapshot %s", at("hub/models--me--%s/snapshots/" HASH, name));
    if (o.status != 0 || !strstr(o.out, said) || !strstr(o.err, told))
        fail_msg("reach %s: %d\n%s\n%s(expected %s, and on standard error %s)", line, o.status,
                 o.out, o.err, said, told);
    outcome_free(&o);
}

static void every_verb_takes_a_name(void **state)
{
    (void)state;
    taken("info me/bytes", "bytes", "snapshots/" HASH);
    taken("info hf:me/bytes@0123456", "bytes", "family         reach");
    taken("info me/shards", "shards", "family         llama");
    taken("info me/quantised", "quantised", "snapshots/" HASH "/gpt2.gguf");
    taken("ppl me/bytes --text text --context 16 --segments 2", "bytes", "\nbytes ");
    taken("ppl x=me/bytes --text text --context 16 --segments 2", "bytes", "\nx ");
    taken("tokenize me/llama text ids.npy", "llama", "tokens  ");
    taken("convert me/llama out", "llama", "out: ");
    assert_true(exists(at("out/tokenizer.json")));
    taken("convert hf:me/shards shards.h5", "shards", "shards.h5: ");
    taken("trf hf:me/bytes", "bytes", "bytes");
    taken("trf x=hf:me/bytes@main", "bytes", "x");
    taken("bias hf:me/bytes -o bias", "bytes", "");
    taken("fit hf:me/bytes --range 0:4", "bytes", "");
}

/* A result names the model as it was asked for, and the snapshot that was taken. */
static void results_name_the_snapshot(void **state)
{
    struct result r;
    struct error e;

    (void)state;
    taken("erf hf:me/bytes --text text --length 16 --segments 3 --format svg -o erf", "bytes",
          "bytes");
    if (result_read(at("erf/erf.h5"), &r, &e) != 0)
        fail_msg("%s", e.text);
    assert_string_equal(r.models[0].name, "bytes");
    assert_string_equal(r.models[0].path, at("hub/models--me--bytes/snapshots/" HASH));
    assert_non_null(strstr(r.command, "reach erf hf:me/bytes "));
    result_free(&r);
}

static void what_lies_here_wins(void **state)
{
    (void)state;
    expect("info me/here", 0, "model          me/here\n");
    taken("info hf:me/here", "here", "");
    taken("info me/here@main", "here", "");
}

/* Runs LINE, which tells the snapshot, then fails with one line that holds `said`. */
static void broken(const char *line, const char *said)
{
    struct outcome o = reach(line);

    if (o.status != 1 || *o.out || lines(o.err) != 2 || !strstr(o.err, said))
        fail_msg("reach %s: %d\n%s\n%s(expected %s)", line, o.status, o.out, o.err, said);
    outcome_free(&o);
}

static void what_is_not_there_is_told(void **state)
{
    (void)state;
    expect("info me/none", 1, "me/none: is neither a path nor a model in the cache");
    expect("erf me/none --text text", 1, "`hf download me/none`");
    expect("ppl hf:none --text text", 1, "`hf download none`");
    expect("convert me/none@v1 out", 1, "`hf download me/none --revision v1`");
    expect("tokenize me/bytes@v1 text out.npy", 1, "has no revision v1");
    expect("trf hf:me/none", 1, "hf download me/none");
    expect("trf hf:me/../x", 1, "is not the name of a model");
    expect("trf me/bytes", 1, "a model in the cache would be hf:me/bytes");
    expect("info ./me/none", 1, "cannot be opened");
    broken("info me/cut", "snapshots/" HASH ": holds no checkpoint that can be read");
    assert_int_equal(unlink(at("hub/models--me--shards/blobs/model-00002-of-00002.safetensors")),
                     0);
    expect("info me/shards", 1,
           "is incomplete: a link to nothing: model-00002-of-00002.safetensors");
    assert_int_equal(unlink(at("hub/models--me--shards/snapshots/" HASH
                               "/model-00002-of-00002.safetensors")),
                     0);
    broken("info me/shards", "model-00002-of-00002.safetensors: is missing (the index beside it");
}

/* ---- names on the screen ---- */

#define CSI "\xC2\x9B" /* of C1 */
#define TURN "\xE2\x80\xAE" /* right-to-left override */
#define NAME "m" CSI "31m" TURN "x"
#define SHOWN "m\\u009B31m\\u202Ex"

/* Runs LINE, which prints `said` and nothing that a terminal would obey. */
static void is_printable(const char *line, const char *said)
{
    struct outcome o = reach(line);

    for (int i = 0; i < 2; i++)
        for (const char *p = i ? o.err : o.out; *p; p++)
            if (((unsigned char)*p < 0x20 && *p != '\n') || strncmp(p, CSI, 2) == 0 ||
                strncmp(p, TURN, 3) == 0)
                fail_msg("reach %s: byte %02X is printed, before \"%.20s\"", line,
                         (unsigned char)*p, p + 1);
    if (!strstr(o.out, said) && !strstr(o.err, said))
        fail_msg("reach %s: %s\n%s(expected %s)", line, o.out, o.err, said);
    outcome_free(&o);
}

static void names_are_printable(void **state)
{
    static const char csv[] = "formula,head,distance,bias,layer\n\"\033[31m" NAME
                              "\ny\",1,1,-1,\n\"\033[31m" NAME "\ny\",1,2,-2,\n\"\033[31m" NAME
                              "\ny\",1,3,-3,\n";
    static const char *const lines[][2] = {
        {"info " NAME, SHOWN},
        {"ppl " NAME " y" NAME "=./" NAME " --text text --context 16 --segments 20", SHOWN},
        {"erf " NAME " y" NAME "=./" NAME " --text text --length 16 --segments 3 -o e" NAME, SHOWN},
        {"explain e" NAME " --segment 1 --model " NAME " -o x" NAME, SHOWN},
        {"report e" NAME " -o " NAME ".html", SHOWN ".html"},
        {"plot e" NAME " -o p" NAME, SHOWN},
        {"trf " NAME, SHOWN},
        {"bias " NAME, SHOWN},
        {"fit " NAME " --range 0:4", SHOWN},
        {"fit bias.csv", "\\x1B[31m" SHOWN "\\ny, head 1"},
        {"convert " NAME " c" NAME, "c" SHOWN},
        {"tokenize " NAME " " NAME ".txt out.npy", SHOWN},
        {"erf " NAME " --text a\nb" NAME, "a\\nb" SHOWN ": cannot be opened"},
        {NAME "\n", "reach: " SHOWN "\\n: unknown verb"},
        {"help info " NAME "\n", SHOWN "\\n: unexpected argument"}};

    (void)state;
    assert_int_equal(tiny_checkpoint(at(NAME),
                                     &(struct tiny){.seed = 1, .settings = "\"window\": 5,"}),
                     0);
    scratch_write(base, "bias.csv", csv, sizeof csv - 1);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        is_printable(lines[i][0], lines[i][1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_verb_takes_a_name), cmocka_unit_test(results_name_the_snapshot),
        cmocka_unit_test(what_lies_here_wins),     cmocka_unit_test(what_is_not_there_is_told),
        cmocka_unit_test(names_are_printable),
    };
    return cmocka_run_group_tests_name("names", tests, make_inputs, program_close);
}
