/* How long it takes is said before one waits: by `reach info --segments`, and by `reach erf`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "io/formats/json.h"
#include "run/progress.h"
#include "tests/program.h"
#include "tests/scratch.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void durations(void **state)
{
    static const struct {
        double seconds;
        const char *text;
    } cases[] = {{0.00123, "0.0012 s"},   {0.42, "0.42 s"},     {9.94, "9.9 s"},
                 {12.4, "12 s"},          {99.4, "99 s"},       {99.6, "2 min"},
                 {5969, "99 min"},        {5971, "1 h 40 min"}, {7260, "2 h 01 min"},
                 {345540, "95 h 59 min"}, {360000, "4.2 days"}, {3160800, "37 days"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[DURATION_TEXT];

        assert_string_equal(duration_text(text, cases[i].seconds), cases[i].text);
    }
}

static void info_of_a_run(void **state)
{
    struct outcome o = reach("info model --length 64 --segments 1000");

    (void)state;
    assert_int_equal(o.status, 0);
    /* 63 norms of 8 + 4 bytes, and 64 ids of 4, for each segment */
    assert_non_null(strstr(o.out, "\nrun            about "));
    assert_non_null(
        strstr(o.out, " for 1000 segments; results and journal up to 1.0 MB on the disk\n"));
    outcome_free(&o);
    o = reach("info model --length 64");
    assert_null(strstr(o.out, "\nrun "));
    outcome_free(&o);
    expect("info model --segments 0", 2, "--segments");
}

static json_t *model_of(const char *of)
{
    struct outcome o;
    struct error e = {""};
    json_t *document, *model;
    char line[500];

    snprintf(line, sizeof line, "info %s --length 8 --json", of);
    o = reach(line);
    if (o.status != 0)
        fail_msg("reach %s: %s", line, o.err);
    document = json_parse_object(line, "the document", o.out, strlen(o.out), &e);
    if (!document)
        fail_msg("%s", e.text);
    model = json_incref(json_object_get(document, "model"));
    json_decref(document);
    outcome_free(&o);
    return model;
}

/* A configuration says what the checkpoint does. */
static void models_without_weights(void **state)
{
    static const char *const goldens[] = {"llama",         "gpt2",           "gemma2",
                                          "bloom-4-heads", "falcon-alibi",   "mixtral",
                                          "opt",           "phi3",           "qwen3-moe",
                                          "olmo2",         "own-t5-formula", "gemma4-text-experts",
                                          "qwen3-5-moe",   "mamba2",         "rwkv"},
                             *const same[] = {"parameters", "vocabulary", "layers", "hidden",
                                              "heads",      "kv_heads",   "mlp",    "experts",
                                              "blocks",     "positions",  "cone",   "tied"};
    json_t *shape;
    int compared = 0;

    (void)state;
    for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++) {
        char folder[200], config[230];
        json_t *whole, *alone;

        snprintf(folder, sizeof folder, "goldens/%s", goldens[i]);
        snprintf(config, sizeof config, "%s/config.json", folder);
        if (!exists(at("%s", config)))
            continue;
        whole = model_of(folder);
        alone = model_of(config);
        for (size_t k = 0; k < sizeof same / sizeof *same; k++)
            if (!json_equal(json_object_get(whole, same[k]), json_object_get(alone, same[k])))
                fail_msg("%s: %s differs without its weights", folder, same[k]);
        assert_true(json_is_null(json_object_get(alone, "digest")));
        json_decref(whole);
        json_decref(alone);
        compared++;
    }
    assert_in_range(compared, 8, 20);

    shape = model_of("shape:layers=32,hidden=4096,heads=32,kv_heads=8,mlp=14336,vocabulary=128256,"
                     "dtype=bf16");
    assert_int_equal(json_integer_value(json_object_get(shape, "parameters")), 8030261248);
    assert_int_equal(json_integer_value(json_object_get(shape, "bytes")), 2 * 8030261248);
    json_decref(shape);

    expect("info shape:layers=2,hidden=16", 1, "has no heads (expected layers=N");
    expect("info shape:layers=2,hidden=16,heads=2,wide=1", 1, "\"wide\" is not valid");
    expect("info shape:layers=2,hidden=16,heads=2,mlp=0", 1, "mlp 0 is not valid");
    expect("info shape:layers=2,layers=2", 1, "layers is given twice");
    expect("info shape:layers=2,hidden=16,heads=2,dtype=i8", 1, "dtype i8 is not valid");
    expect("info shape:layers=2,hidden=15,heads=2", 1, "hidden_size 15 over num_attention_heads 2");
    expect("info shape:layers=2,hidden=16,heads=2 --verify", 2, "has no weights, which --verify");
    expect("info goldens/fairseq-alibi/config.json", 1, "does not say how large the vocabulary is");
    expect("info goldens/fairseq-sandwich/config.json", 1, "the numbers of tensor 'decoder.emb'");
    expect("erf goldens/llama/config.json --text text -o x", 1, "config.json");
}

/* transformers writes the layers of per_layer_config as numbers of one width. */
static void layers_named_by_numbers_of_one_width(void **state)
{
    static const struct {
        const char *first, *said; /* NULL: the folder is read */
    } cases[] = {{"05", NULL},
                 {"5", NULL},
                 {"04", "per_layer_config.4 is of a layer with a window"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static const char start[] =
            "{'model_type': 'gemma4_text', 'vocab_size': 50, 'hidden_size': 8, 'head_dim': 2, "
            "'intermediate_size': 4, 'num_hidden_layers': 11, 'num_attention_heads': 2, "
            "'num_key_value_heads': 1, 'hidden_size_per_layer_input': 0, 'layer_types': [";
        char config[2000], *quote = config;
        int used = snprintf(config, sizeof config, "%s", start);

        for (int l = 0; l < 11; l++)
            used += snprintf(config + used, sizeof config - (size_t)used, "%s'%s_attention'",
                             l ? ", " : "", l % 5 || !l ? "sliding" : "full");
        used += snprintf(config + used, sizeof config - (size_t)used,
                         "], 'per_layer_config': {'%s': {'head_dim': 4}, '10': {'head_dim': 4}}}",
                         cases[i].first);
        while ((quote = strchr(quote, '\'')))
            *quote = '"';
        scratch_write(base, "config.json", config, (size_t)used);
        if (cases[i].said)
            expect("info config.json", 1, cases[i].said);
        else
            succeed("info config.json --length 8");
    }
}

/* Models without attention have no heads whose size could be too large. */
static void mambas_of_any_width(void **state)
{
    static const char *const configs[] = {
        "{\"model_type\": \"mamba\", \"num_hidden_layers\": 2}",
        "{\"d_model\": 2560, \"n_layer\": 2, \"ssm_cfg\": {}, \"vocab_size\": 99}"};
    (void)state;
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        scratch_write(base, "config.json", configs[i], strlen(configs[i]));
        succeed("info config.json --length 8");
    }
}

static int is_said(const struct system_call *c, void *unused)
{
    char *text = c->made ? slurp(at("stderr"), NULL) : NULL;
    int said = text && strstr(text, "this takes about ");

    (void)unused;
    free(text);
    return said;
}

static void long_runs_say_so_first(void **state)
{
    struct outcome o = end_at("erf large --text text --length 1024 --stride 64 --segments 4000 "
                              "--memory 64M -o long",
                              SIGINT, is_said, NULL);

    (void)state;
    if (!strstr(o.err, "this takes about "))
        fail_msg("%s", o.err);
    outcome_free(&o);
    o = reach("erf model --text text --length 64 --segments 4 -o short");
    assert_int_equal(o.status, 0);
    assert_null(strstr(o.err, "this takes about "));
    outcome_free(&o);
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
    return linked != 0 || tiny_checkpoint(at("model"), &(struct tiny){.seed = 1}) != 0 ||
                   tiny_checkpoint(at("large"), &(struct tiny){.seed = 2,
                                                               .hidden = 256,
                                                               .layers = 8,
                                                               .heads = 8}) != 0 ||
                   tiny_text(at("text"), 300000, 3) != 0
               ? -1
               : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(mambas_of_any_width),
                                       cmocka_unit_test(durations),
                                       cmocka_unit_test(info_of_a_run),
                                       cmocka_unit_test(models_without_weights),
                                       cmocka_unit_test(layers_named_by_numbers_of_one_width),
                                       cmocka_unit_test(long_runs_say_so_first)};

    return cmocka_run_group_tests(tests, make_inputs, program_close);
}
