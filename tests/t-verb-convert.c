/* `reach convert` as a user meets it: exit status, messages, the tokenizer that goes along. */
#include "commands/commands.h"
#include "commands/verb.h"
#include "io/checkpoint.h"
#include "tests/expected.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GOLDENS "tests/goldens/torch/"

/* Runs `reach convert` on the arguments (NULL: no more); its output and messages go to the files `stdout` and `stderr` of the
 * scratch folder. */
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
        int file = open(scratch_path(scratch_folder, i ? "stderr" : "stdout"), O_WRONLY | O_CREAT | O_TRUNC, 0666);
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
    said("stderr", "c: one argument too many");
    assert_int_equal(convert("a", "-x", NULL), EXIT_USAGE);
    said("stderr", "-x: unknown option");
    assert_int_equal(convert("a", "", NULL), EXIT_USAGE);
    said("stderr", "\"\": is no OUT");
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
    scratch_write(model, "notes.txt", "x", 1);
    assert_int_equal(convert(model, out, NULL), EXIT_DONE);
    said("stdout", "out: 15 tensors, 0.0 MB\n");
    assert_int_equal(scratch_count(out), 4);
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

/* A GGUF file: what is quantised is written only when that is asked for; the tokenizer in it becomes files of a folder. */
static void test_gguf(void **state)
{
    (void)state;
    char out[4200];
    snprintf(out, sizeof out, "%s/wide", scratch_folder);
    assert_int_equal(convert("tests/goldens/gguf/gpt2-quantised/model.gguf", out, NULL), EXIT_FAILED);
    said("stderr", "tensor transformer.h.0.attn.c_attn.weight is stored as Q4_0, which cannot be written (expected --widen");
    assert_int_equal(convert("tests/goldens/gguf/gpt2-quantised/model.gguf", out, "--widen"), EXIT_DONE);
    said("stdout", "wide: 28 tensors, 0.4 MB\n");
    assert_int_equal(scratch_count(out), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_usage), cmocka_unit_test(test_folder), cmocka_unit_test(test_gguf)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
