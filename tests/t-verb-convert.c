/* `reach convert` as a user meets it: exit status, messages, the tokenizer that goes along. */
#include "commands/commands.h"
#include "commands/verb.h"
#include "io/checkpoint/checkpoint.h"
#include "model/engine.h"
#include "tests/expected.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GOLDENS "tests/goldens/torch/"

/* Runs `reach convert` on the arguments (NULL: no more); its output and messages go to the files
 * `stdout` and `stderr` of the scratch folder. */
static int convert(const char *a, const char *b, const char *c)
{
    char *argv[4] = {(char *)a, (char *)b, (char *)c, NULL};
    int count = 0, kept[2], streams[2] = {STDOUT_FILENO, STDERR_FILENO};
    while (argv[count])
        count++;
    fflush(stdout);
    fflush(stderr);
    for (int i = 0; i < 2; i++) {
        kept[i] = dup(streams[i]);
        int file = open(scratch_path(scratch_folder, i ? "stderr" : "stdout"),
                        O_WRONLY | O_CREAT | O_TRUNC, 0666);
        dup2(file, streams[i]);
        close(file);
    }
    int status = verb_run(&convert_verb, count, argv);
    fflush(stdout);
    fflush(stderr);
    for (int i = 0; i < 2; i++) {
        dup2(kept[i], streams[i]);
        close(kept[i]);
    }
    return status;
}

static void said(const char *file, const char *words)
{
    size_t size;
    char *text = (char *)scratch_read(scratch_path(scratch_folder, file), &size);
    text[size] = '\0';
    if (!strstr(text, words))
        fail_msg("%s is '%s' (expected it to hold '%s')", file, text, words);
    free(text);
}

static void test_usage(void **state)
{
    (void)state;
    assert_int_equal(convert(NULL, NULL, NULL), EXIT_USAGE);
    said("stderr", "reach convert: no MODEL is given");
    assert_int_equal(convert("a", NULL, NULL), EXIT_USAGE);
    said("stderr", "reach convert: no OUT is given");
    assert_int_equal(convert("a", "b", "c"), EXIT_USAGE);
    said("stderr", "c: unexpected argument");
    assert_int_equal(convert("a", "-x", NULL), EXIT_USAGE);
    said("stderr", "-x: unknown option");
    assert_int_equal(convert("a", "", NULL), EXIT_USAGE);
    said("stderr", "\"\": is not a valid OUT");
    assert_int_equal(convert("--none", NULL, NULL), EXIT_USAGE);
    assert_int_equal(convert("--help", NULL, NULL), EXIT_DONE);
    said("stdout", "reach convert MODEL OUT");
    said("stdout", "--force");
    assert_int_equal(convert(scratch_path(scratch_folder, "absent"), "out", NULL), EXIT_FAILED);
    said("stderr", "absent: cannot be opened");
}

static void test_folder(void **state)
{
    (void)state;
    char model[4200], out[4200];
    snprintf(model, sizeof model, "%s/model", scratch_folder);
    snprintf(out, sizeof out, "%s/out", scratch_folder);
    static const char *const files[][2] = {{"pytorch_model.bin", GOLDENS "plain.pt"},
                                           {"config.json", GOLDENS "shards/config.json"}};
    assert_int_equal(mkdir(model, 0777), 0);
    for (int i = 0; i < 2; i++) {
        size_t size;
        unsigned char *bytes = scratch_read(files[i][1], &size);
        scratch_write(model, files[i][0], bytes, size);
        free(bytes);
    }
    scratch_write(model, "tokenizer.json", "{\"t\": 1}", 8);
    scratch_write(model, "tokenizer.model", "\n\0", 2);
    scratch_write(model, "tiktoken.model", "\n", 1);
    scratch_write(model, "qwen.tiktoken", "\n", 1);
    scratch_write(model, "notes.txt", "x", 1);
    assert_int_equal(convert(model, out, NULL), EXIT_DONE);
    said("stdout", "out: 15 tensors, 1 kB\n");
    assert_int_equal(scratch_count(out), 6);
    struct error e = {""};
    struct checkpoint c;
    assert_int_equal(checkpoint_open(&c, out, &e), 0);
    expect_tensors(c.tensors, GOLDENS "plain.json");
    checkpoint_close(&c);
    assert_int_equal(convert(model, out, NULL), EXIT_FAILED);
    said("stderr", "model.safetensors: exists (expected --force");
    scratch_write(model, "tokenizer.json", "{\"t\": 2}", 8);
    assert_int_equal(convert(model, out, "--force"), EXIT_DONE);
    size_t size;
    unsigned char *text = scratch_read(scratch_path(out, "tokenizer.json"), &size);
    assert_memory_equal(text, "{\"t\": 2}", 8);
    free(text);
    text = scratch_read(scratch_path(out, "tokenizer.model"), &size);
    assert_int_equal(size, 2);
    assert_memory_equal(text, "\n\0", 2);
    free(text);
    /* into one file no tokenizer can go */
    assert_int_equal(convert(model, scratch_path(scratch_folder, "one.h5"), NULL), EXIT_DONE);
}

/* A GGUF file: what is quantised is written only when that is asked for; the tokenizer in it
 * becomes files of a folder. */
static void test_gguf(void **state)
{
    (void)state;
    char out[4200];
    snprintf(out, sizeof out, "%s/wide", scratch_folder);
    assert_int_equal(convert("tests/goldens/gguf/gpt2-quantised/model.gguf", out, NULL),
                     EXIT_FAILED);
    said("stderr", "tensor transformer.h.0.attn.c_attn.weight is stored as Q4_0, which cannot be "
                   "written (expected --widen");
    assert_int_equal(convert("tests/goldens/gguf/gpt2-quantised/model.gguf", out, "--widen"),
                     EXIT_DONE);
    said("stdout", "wide: 28 tensors, 434 kB\n");
    assert_int_equal(scratch_count(out), 2);
}

/* The value of a dotted path in a folder's config.json as JSON text; the caller frees. */
static char *setting(const char *folder, const char *path)
{
    struct error e = {""};
    struct config *c = config_open(scratch_path(folder, "config.json"), &e);
    if (!c)
        fail_msg("%s", e.text);
    char *text = json_dumps(config_get(c, path), JSON_ENCODE_ANY | JSON_COMPACT);
    config_close(c);
    return text;
}

/* Norms and log p of a short segment, in float64. */
static void measure(double norm[12], double *logprob, const char *path)
{
    struct error e = {""};
    struct decoder *d = decoder_open(path, &e);
    struct kernels *k = d ? kernels_open("f64", &e) : NULL;
    struct engine_request request = {.positions = 12, .batch = 1, .segments = 1};
    struct engine *g = k ? engine_create(k, d, &request, &e) : NULL;
    int32_t ids[13];
    for (int i = 0; i < 13; i++)
        ids[i] = (i * 37 + 5) % 40;
    if (!g || engine_measure(g, norm, logprob, ids, 1, &e))
        fail_msg("%s: %s", path, e.text);
    engine_close(g);
    k->close(k);
    decoder_close(d);
}

/* What GGUF files have in a form of their own is written as the library has it, and is the same
 * model. */
static void test_library(void **state)
{
    (void)state;
    static const struct {
        const char *file, *tensor, *path, *value; /* that the folder has */
    } rows[] = {
        {"mixtral.gguf", "model.layers.1.block_sparse_moe.experts.5.w3.weight", "num_local_experts",
         "6"},
        {"qwen2-moe-all.gguf", "model.layers.0.mlp.experts.0.gate_proj.weight", "model_type",
         "\"qwen2_moe\""},
        {"qwen3-moe.gguf", "model.layers.0.mlp.experts.1.down_proj.weight", "model_type",
         "\"qwen3_moe\""},
        {"olmoe-plain.gguf", "model.layers.0.mlp.experts.1.up_proj.weight", "model_type",
         "\"olmoe\""},
        {"glm4-moe.gguf", "model.layers.1.mlp.experts.1.up_proj.weight", "model_type",
         "\"glm4_moe\""},
        {"rope-freqs/model.gguf", "model.norm.weight", "rope_scaling.short_factor",
         "[1.0,1.0,1.5,2.25,4.0,7.3000001907348633,8.0,8.0]"},
        {"mpt-bias-max.gguf", "transformer.wte.weight", "attn_config.alibi_bias_max", NULL},
        {"phi3.gguf", "model.norm.weight", "pad_token_id", NULL},
    };
    char out[4200], path[128];
    snprintf(out, sizeof out, "%s/library", scratch_folder);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error e = {""};
        struct checkpoint c;
        double norm[12], logprob, norm_back[12], logprob_back;
        snprintf(path, sizeof path, "tests/goldens/gguf/%s", rows[i].file);
        assert_int_equal(convert(path, out, "--force"), EXIT_DONE);
        assert_int_equal(checkpoint_open(&c, out, &e), 0);
        if (!tensors_find(c.tensors, rows[i].tensor))
            fail_msg("%s: no %s", rows[i].file, rows[i].tensor);
        for (size_t k = 0; k < tensors_count(c.tensors); k++)
            if (strstr(tensors_at(c.tensors, k)->name, "_exps") ||
                strstr(tensors_at(c.tensors, k)->name, "rope_freqs"))
                fail_msg("%s: %s", rows[i].file, tensors_at(c.tensors, k)->name);
        checkpoint_close(&c);
        char *value = setting(out, rows[i].path);
        if (rows[i].value ? !value || strcmp(value, rows[i].value) != 0
                          : value && strchr(value, '.') != NULL)
            fail_msg("%s: %s is %s", rows[i].file, rows[i].path, value);
        free(value);
        measure(norm, &logprob, path);
        measure(norm_back, &logprob_back, out);
        for (int k = 0; k < 12; k++)
            if (!(fabs(norm[k] - norm_back[k]) <= 1e-12 * norm[k]) ||
                !(fabs(logprob - logprob_back) <= 1e-12))
                fail_msg("%s: norm %d %.15g, converted %.15g", rows[i].file, k, norm[k],
                         norm_back[k]);
    }
    static const char *const refused[] = {"gpt-oss.gguf", "granitemoe-names.gguf"};
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "tests/goldens/gguf/%s", refused[i]);
        assert_int_equal(convert(path, scratch_path(scratch_folder, "not-written"), "--widen"),
                         EXIT_FAILED);
        said("stderr", "model are not written: its library has them in another order");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_usage), cmocka_unit_test(test_library),
                                       cmocka_unit_test(test_folder), cmocka_unit_test(test_gguf)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
