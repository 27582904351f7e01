/* What the verbs say of keys in config.json that no one knows, and --strict, as a user meets them;
 * see program.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "io/results/result.h"
#include "tests/changed.h"
#include "tests/program.h"
#include "tests/scratch.h"

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char
    tokens[4096]; /* the golden's, by its full path: the program runs in a folder of its own */

static int open_all(void **state)
{
    char here[2048];
    if (!getcwd(here, sizeof here) || program_open())
        return -1;
    snprintf(tokens, sizeof tokens, "%s/tests/goldens/llama-tied/tokens.npy", here);
    return scratch_setup(state);
}

static int close_all(void **state)
{
    return program_close(state) != 0 ? -1 : scratch_teardown(state);
}

static void make_model(const char *key, const char *value)
{
    changed("llama-tied", key, value);
}

/* Runs a line with the model and its tokens put in for %m and %t. */
static struct outcome run(const char *line)
{
    char whole[4096];
    size_t used = 0;
    for (const char *p = line; *p; p++) {
        int model = strncmp(p, "%m", 2) == 0, ids = strncmp(p, "%t", 2) == 0;
        used += (size_t)snprintf(whole + used, sizeof whole - used, "%.*s", model || ids ? 4000 : 1,
                                 model ? scratch_folder
                                 : ids ? tokens
                                       : p);
        p += model || ids;
    }
    return reach(whole);
}

static const char *const verbs[] = {"info %m --length 32",
                                    "trf %m",
                                    "bias %m --length 8",
                                    "fit %m --range 1:8",
                                    "ppl %m --tokens %t --context 8",
                                    "erf %m --tokens %t --bootstrap 0 -o named --force"};
enum { VERBS = sizeof verbs / sizeof *verbs };

/* Every verb that opens a model names the key in one line, and with --strict refuses the model. */
static void test_verbs(void **state)
{
    (void)state;
    make_model("colour", "\"red\"");
    for (int i = 0; i < VERBS; i++) {
        char line[256];
        struct outcome o = run(verbs[i]);
        const char *named = strstr(o.err, "config.json: not understood: colour\n");
        if (!named || strstr(strchr(named, '\n'), "understood"))
            fail_msg("reach %s: exit %d: %s", verbs[i], o.status, o.err);
        if (i == 0 && !strstr(o.out, "\nnot understood  colour\n"))
            fail_msg("reach info: %s", o.out);
        outcome_free(&o);
        if (i > 3) { /* what may be wrong in a result is no chatter */
            snprintf(line, sizeof line, "%s --quiet", verbs[i]);
            o = run(line);
            if (!strstr(o.err, "config.json: not understood: colour\n"))
                fail_msg("reach %s: exit %d: %s", line, o.status, o.err);
            outcome_free(&o);
        }
        snprintf(line, sizeof line, "%s --strict", verbs[i]);
        o = run(line);
        if (o.status != 1 || *o.out || lines(o.err) != 1 ||
            !strstr(
                o.err,
                "config.json: not understood: colour (expected no such key, because of --strict)"))
            fail_msg("reach %s: exit %d: %s%s", line, o.status, o.out, o.err);
        outcome_free(&o);
    }
    make_model("model_type", "\"llama\"");
    for (int i = 0; i < VERBS; i++) {
        char line[256];
        snprintf(line, sizeof line, "%s --strict", verbs[i]);
        struct outcome o = run(line);
        if (strstr(o.err, "understood") || strstr(o.out, "understood"))
            fail_msg("reach %s: %s%s", line, o.out, o.err);
        outcome_free(&o);
    }
}

/* What erf.h5 says, of a whole run and of one in parts; NULL: it has no such attribute. The caller
 * frees. */
static char *attribute(const char *folder, const char *name)
{
    struct result r;
    struct error e;
    if (result_read_heads(at("%s/erf.h5", folder), &r, &e) != 0)
        fail_msg("%s", e.text);
    const char *value = result_attribute(result_main(&r.models[0]), name);
    char *copy = value ? strdup(value) : NULL;
    result_free(&r);
    return copy;
}

static void must(const char *line)
{
    struct outcome o = run(line);
    if (o.status != 0)
        fail_msg("reach %s: exit %d: %s", line, o.status, o.err);
    outcome_free(&o);
}

static void test_results(void **state)
{
    (void)state;
    make_model("colour", "\"red\"");
    must("erf m=%m --tokens %t --bootstrap 0 -o whole --quiet");
    must("erf m=%m --tokens %t --bootstrap 0 -o one --shard 1/2 --quiet");
    must("erf m=%m --tokens %t --bootstrap 0 -o two --shard 2/2 --quiet");
    must("merge one two -o both");
    const char *const folders[] = {"whole", "one", "both"};
    for (int i = 0; i < 3; i++) {
        char *value = attribute(folders[i], "not_understood");
        if (!value || strcmp(value, "colour") != 0)
            fail_msg("%s: '%s'", folders[i], value ? value : "nothing");
        free(value);
    }
    make_model("model_type", "\"llama\"");
    must("erf m=%m --tokens %t --bootstrap 0 -o plain --quiet --strict");
    assert_null(attribute("plain", "not_understood"));
    assert_null(attribute("plain", "assumed"));
}

/* What a GGUF file does not say is told, with --quiet too, and kept. */
static void test_assumed(void **state)
{
    char here[1024], line[4096];
    (void)state;
    assert_non_null(getcwd(here, sizeof here));
    const char *format = "erf m=%s/tests/goldens/gguf/qwen2.gguf --tokens "
                         "%s/tests/goldens/qwen2/tokens.npy --bootstrap 0 -o %s%s";
    snprintf(line, sizeof line, format, here, here, "assumed", " --quiet");
    struct outcome o = reach(line);
    if (o.status != 0 ||
        !strstr(o.err, "qwen2.gguf: assumed, since the file does not say: no windows\n"))
        fail_msg("exit %d: %s", o.status, o.err);
    outcome_free(&o);
    for (int i = 1; i <= 2; i++) {
        char part[64], shard[64];
        snprintf(part, sizeof part, "assumed-%d", i);
        snprintf(shard, sizeof shard, " --shard %d/2 --quiet", i);
        snprintf(line, sizeof line, format, here, here, part, shard);
        must(line);
    }
    must("merge assumed-1 assumed-2 -o assumed-both");
    const char *const folders[] = {"assumed", "assumed-2", "assumed-both"};
    for (int i = 0; i < 3; i++) {
        char *value = attribute(folders[i], "assumed");
        if (!value || strcmp(value, "no windows") != 0)
            fail_msg("%s: '%s'", folders[i], value ? value : "nothing");
        free(value);
    }
    snprintf(line, sizeof line, "info %s/tests/goldens/gguf/qwen2.gguf --length 32", here);
    o = reach(line);
    if (!strstr(o.out, "\nassumed        no windows\n"))
        fail_msg("%s", o.out);
    outcome_free(&o);
}

/* The other lines: a head that the configuration ties, and a factor that changes nothing; --quiet
 * says neither. */
static void test_notes(void **state)
{
    (void)state;
    changed("llama-rope-part", "tie_word_embeddings", "true");
    struct outcome o = run("ppl %m --tokens %t --context 8");
    if (!strstr(o.err, "reach ppl: ") ||
        !strstr(o.err, "the stored lm_head.weight differs from the embedding and is used") ||
        !strstr(o.err, "partial_rotary_factor 0.5 has no effect in a llama model"))
        fail_msg("exit %d: %s", o.status, o.err);
    outcome_free(&o);
    o = run("ppl %m --tokens %t --context 8 --quiet");
    if (strstr(o.err, "differs") || strstr(o.err, "no effect"))
        fail_msg("%s", o.err);
    outcome_free(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_verbs), cmocka_unit_test(test_results),
                                       cmocka_unit_test(test_assumed),
                                       cmocka_unit_test(test_notes)};
    return cmocka_run_group_tests_name("cli keys", tests, open_all, close_all);
}
