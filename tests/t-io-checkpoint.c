/* Opening and writing checkpoints: what a file is, its bytes say; what was converted is the same
 * model to the last bit. */
#include "run/models.h"
#include "io/checkpoint/checkpoint.h"
#include "model/decoder.h"
#include "model/engine.h"
#include "tests/expected.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GOLDENS "tests/goldens/torch/"

static void copy_to(const char *from, const char *name)
{
    size_t size;
    unsigned char *bytes = scratch_read(from, &size);
    scratch_write(scratch_folder, name, bytes, size);
    free(bytes);
}

/* The name of a file does not matter. */
static void test_content(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"plain.pt", "plain.json"},     {"legacy.pt", "plain.json"},
        {"fairseq.pt", "fairseq.json"}, {"llmc-f32.bin", "llmc-f32.json"},
        {"hdf-plain.h5", "hdf.json"},
    };
    static const char *const names[] = {"model", "model.safetensors", "model.json", "model.h5"};
    scratch_write(scratch_folder, "config.json", "{\"model_type\": \"none\", \"n\": 7}", 30);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            char from[256], expected[256];
            struct error e = {""};
            struct checkpoint c;
            snprintf(from, sizeof from, GOLDENS "%s", cases[i][0]);
            snprintf(expected, sizeof expected, GOLDENS "%s", cases[i][1]);
            copy_to(from, names[k]);
            if (checkpoint_open(&c, scratch_path(scratch_folder, names[k]), &e))
                fail_msg("%s as %s: %s", from, names[k], e.text);
            expect_tensors(c.tensors, expected);
            assert_int_equal(
                config_has(c.config, "n"),
                i < 2); /* of the first two config.json beside; the others bring their own */
            checkpoint_close(&c);
        }
}

/* The step with the greatest number, unless the folder has a model itself. */
static void test_last_step(void **state)
{
    struct error e = {""};
    const char *folder;
    char *step;
    (void)state;
    assert_int_equal(mkdir(scratch_path(scratch_folder, "steps"), 0777), 0);
    folder = strdup(scratch_path(scratch_folder, "steps"));
    assert_non_null(folder);
    assert_int_equal(checkpoint_last_step(&step, folder, &e), 0);
    assert_null(step);
    static const char *const names[] = {"checkpoint-500", "checkpoint-1000", "checkpoint-2x",
                                        "checkpoint-90"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(mkdir(scratch_path(folder, names[i]), 0777), 0);
    assert_int_equal(checkpoint_last_step(&step, folder, &e), 0);
    assert_string_equal(step, scratch_path(folder, "checkpoint-1000"));
    free(step);
    scratch_write(folder, "adapter_config.json", "{}", 2);
    assert_int_equal(checkpoint_last_step(&step, folder, &e), 0);
    assert_null(step);
    free((char *)folder);
}

/* Folders with files of these names (a slash at the end: a folder) are refused with the words. */
static void test_trainers(void)
{
    static const struct {
        const char *names[4], *words;
    } cases[] = {
        {{"z1/", "z1/zero_pp_rank_0_mp_rank_00_model_states.pt"}, "DeepSpeed|zero_to_fp32.py"},
        {{"z2/", "z2/global_step5/",
          "z2/global_step5/bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt"},
         "DeepSpeed|zero_to_fp32.py"},
        {{"f1/", "f1/pytorch_model_fsdp_0/"},
         "shards of FSDP, pytorch_model_fsdp_0|accelerate merge-weights pytorch_model_fsdp_0"},
        {{"f2/", "f2/__0_0.distcp"}, "torch.distributed.checkpoint|dcp_to_torch"},
        {{"t1/", "t1/torchtune_model_0.pt"}, "torchtune_model_0.pt in torchtune's own names"},
        {{"t2/", "t2/model-00001-of-00001.bin"}, "FullModelHFCheckpointer"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        struct checkpoint c;
        for (int k = 0; cases[i].names[k]; k++) {
            const char *name = cases[i].names[k];
            if (name[strlen(name) - 1] == '/')
                assert_int_equal(mkdir(scratch_path(scratch_folder, name), 0777), 0);
            else
                scratch_write(scratch_folder, name, "", 0);
        }
        assert_int_equal(checkpoint_open(&c, scratch_path(scratch_folder, cases[i].names[0]), &e),
                         -1);
        assert_int_equal(check_message(cases[i].names[0], &e, cases[i].words), 0);
    }
}

#define POINTER "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 4\n"

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *bytes;
        size_t size;
        const char *words;
    } cases[] = {
        {"empty", "", 0,
         "empty: is not a checkpoint: its first bytes are of no known format (expected "
         "safetensors, a file of torch.save, HDF5, "
         "GGUF, "
         "or "
         "llm.c's GPT-2)"},
        {"text", "hello\n", 6, "text: is not a checkpoint: its first bytes"},
        {"blank", "   \n", 4, "blank: is not a checkpoint: its first bytes"},
        {"empty.safetensors", "", 0, "has 0 bytes (expected a safetensors file"},
        {"pointer.safetensors", POINTER, sizeof POINTER - 1,
         "pointer.safetensors: is a pointer of Git LFS|`git lfs pull`"},
        {"pointer.gguf", POINTER, sizeof POINTER - 1, "pointer.gguf: is a pointer of Git LFS"},
        {"absent.index.json", "{\"weight_map\": {\"a\": \"none\"}}", 29,
         "/none: is missing (the index beside it lists it"},
        {"gguf", "GGUF\3\0\0\0\0\0\0\0\0\0\0\0", 16, "gguf: ends within its head"},
        {"debug.bin", "\x37\xE1\x34\x01\2\0\0\0\0\0\0\0\0\0\0\0", 16,
         "is not a checkpoint: its first bytes"},
        {"index", " {\"metadata\": {}}", 17, "weight_map is missing"},
        {"zip", "PK\3\4", 4, "does not end as a zip archive"},
        {"old", "\x80\2\x8a\x0a\x6c\xfc", 6, "does not end as a zip archive"},
    };
    struct error e = {""};
    struct checkpoint c;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (checkpoint_open(&c,
                            scratch_write(scratch_folder, cases[i].name, cases[i].bytes,
                                          cases[i].size),
                            &e) == 0)
            fail_msg("%s: was accepted", cases[i].name);
        assert_int_equal(check_message(cases[i].name, &e, cases[i].words), 0);
    }
    assert_int_equal(checkpoint_open(&c, scratch_path(scratch_folder, "absent"), &e), -1);
    assert_int_equal(check_message("absent", &e, "absent: cannot be opened: No such file"), 0);
    assert_int_equal(checkpoint_open(&c, "/dev/null", &e), -1);
    assert_int_equal(check_message("device", &e, "/dev/null: is a pipe or device"), 0);
    assert_int_equal(mkdir(scratch_path(scratch_folder, "folder"), 0777), 0);
    assert_int_equal(checkpoint_open(&c, scratch_path(scratch_folder, "folder"), &e), -1);
    assert_int_equal(check_message("folder", &e,
                                   "folder: holds no checkpoint that can be "
                                   "read|model.safetensors|pytorch_model.bin|GPT-NeoX"),
                     0);
    copy_to(GOLDENS "plain.pt", "folder/model.pt");
    assert_int_equal(checkpoint_open(&c, scratch_path(scratch_folder, "folder/model.pt"), &e), -1);
    assert_int_equal(
        check_message("no config", &e,
                      "folder/model.pt: has no configuration (expected |folder/config.json, which"),
        0);
    /* what DeepSpeed saves in transformers' Trainer: the folder, and that of the step */
    assert_int_equal(mkdir(scratch_path(scratch_folder, "trainer"), 0777), 0);
    assert_int_equal(mkdir(scratch_path(scratch_folder, "trainer/global_step10"), 0777), 0);
    scratch_write(scratch_folder, "trainer/latest", "global_step10", 13);
    scratch_write(scratch_folder, "trainer/config.json", "{\"model_type\": \"llama\"}", 23);
    copy_to(GOLDENS "plain.pt", "trainer/global_step10/mp_rank_00_model_states.pt");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(checkpoint_open(&c,
                                         scratch_path(scratch_folder,
                                                      i ? "trainer/global_step10" : "trainer"),
                                         &e),
                         -1);
        assert_int_equal(check_message("trainer", &e, "was saved by DeepSpeed|zero_to_fp32.py"), 0);
    }
    test_trainers();
    /* other shards than tensors alone */
    copy_to(GOLDENS "llmc-f32.bin", "folder/shard");
    scratch_write(scratch_folder, "folder/i.json", "{\"weight_map\": {\"wte.weight\": \"shard\"}}",
                  39);
    assert_int_equal(checkpoint_open(&c, scratch_path(scratch_folder, "folder/i.json"), &e), -1);
    assert_int_equal(check_message("shard", &e, "shard: is not a checkpoint: its first bytes"), 0);
}

/* Which of several files a folder is read from: a whole one before an index, safetensors before
 * torch's; the index may be stale.
 */
static void test_which(void **state)
{
    (void)state;
    static const char index[] = "{\"weight_map\": {\"b\": \"part\"}}";
    static const struct {
        const char *name, *bytes;
        size_t size;
        const char *tensor, *note;
    } steps[] = {
        {"pytorch_model.bin.index.json", index, sizeof index - 1, "b", ""},
        {"pytorch_model.bin", NULL, 0, "c",
         "pytorch_model.bin is read; pytorch_model.bin.index.json and its shards"},
        {"model.safetensors.index.json", index, sizeof index - 1, "b", ""},
        {"model.safetensors", NULL, 0, "a",
         "model.safetensors is read; model.safetensors.index.json and its shards"},
        {"model.safetensors.index.json", "stale", 5, "a",
         "model.safetensors.index.json and its shards"},
    };
    char part[128];
    char *own = scratch_make();
    struct error e = {""};
    struct checkpoint c;
    scratch_write(own, "config.json", "{\"model_type\": \"none\"}", 22);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        for (int k = 0; k < 2; k++) { /* the shard, and the file whole */
            const char *name = k ? steps[i].name : "part";
            int length =
                snprintf(part + 8, sizeof part - 8,
                         "{\"%s\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}1234",
                         k ? steps[i].tensor : "b");
            memcpy(part, &(uint64_t){(uint64_t)length - 4}, 8);
            if (!k || !steps[i].bytes)
                scratch_write(own, name, part, 8 + (size_t)length);
            else
                scratch_write(own, name, steps[i].bytes, steps[i].size);
        }
        if (checkpoint_open(&c, own, &e))
            fail_msg("step %zu: %s", i, e.text);
        assert_int_equal(tensors_count(c.tensors), 1);
        assert_string_equal(tensors_at(c.tensors, 0)->name, steps[i].tensor);
        if (*steps[i].note ? !strstr(tensors_notes(c.tensors), steps[i].note)
                           : *tensors_notes(c.tensors))
            fail_msg("step %zu: notes '%s'", i, tensors_notes(c.tensors));
        checkpoint_close(&c);
    }
    scratch_remove(own);
}

/* Everything that can be read, in every form that can be written: same tensors, same config, and
 * again the same when read from there. */
static void test_write(void **state)
{
    (void)state;
    static const char *const sources[] = {"neox",       "neox-column",   "neox-module",
                                          "fairseq.pt", "llmc-bf16.bin", "hdf-plain.h5",
                                          "shards"};
    static const char *const outs[] = {"out", "out.safetensors", "out.h5"};
    char *own = scratch_make();
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        for (size_t k = 0; k < sizeof outs / sizeof *outs; k++) {
            char from[256], to[4200];
            struct error e = {""};
            struct checkpoint c, back;
            snprintf(from, sizeof from, GOLDENS "%s", sources[i]);
            snprintf(to, sizeof to, "%s/%s", own, outs[k]);
            if (checkpoint_open(&c, from, &e) || checkpoint_write(&c, to, 1, &e) ||
                checkpoint_open(&back, to, &e))
                fail_msg("%s to %s: %s", from, to, e.text);
            expect_same_tensors(c.tensors, back.tensors);
            size_t size, size_back;
            const char *text = config_text(c.config, &size),
                       *text_back = config_text(back.config, &size_back);
            assert_int_equal(size, size_back);
            assert_memory_equal(text, text_back, size);
            checkpoint_close(&back);
            checkpoint_close(&c);
        }
    assert_int_equal(scratch_count(own), 4); /* out, out.safetensors, config.json, out.h5 */
    scratch_remove(own);
}

static void test_in_the_way(void **state)
{
    (void)state;
    struct error e = {""};
    struct checkpoint c;
    char *own = scratch_make();
    const char *out = scratch_path(own, "new/deep/model"),
               *file = scratch_path(own, "m.safetensors");
    assert_int_equal(checkpoint_open(&c, GOLDENS "shards", &e), 0);
    assert_int_equal(checkpoint_write(&c, out, 0, &e), 0);
    assert_int_equal(checkpoint_write(&c, out, 0, &e), -1);
    assert_int_equal(check_message("again", &e, "model.safetensors: exists (expected --force"), 0);
    assert_int_equal(checkpoint_write(&c, file, 0, &e), 0);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(checkpoint_write(&c, file, 0, &e),
                     0); /* a config.json with the same text is no obstacle */
    scratch_write(own, "config.json", "{}", 2);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(checkpoint_write(&c, file, 0, &e), -1);
    assert_int_equal(check_message("another config", &e, "config.json: exists"), 0);
    assert_int_not_equal(access(file, F_OK), 0);
    assert_int_equal(checkpoint_write(&c, file, 1, &e), 0);
    /* a disk that is full: nothing new, and what was there stays */
    size_t size;
    free(scratch_read(file, &size));
    scratch_limit(size - 1);
    int result = checkpoint_write(&c, file, 1, &e);
    scratch_unlimit();
    assert_int_equal(result, -1);
    assert_int_equal(check_message("full", &e, "m.safetensors: cannot be written"), 0);
    assert_int_equal(scratch_count(own), 3);
    /* onto itself */
    checkpoint_close(&c);
    struct checkpoint again;
    assert_int_equal(checkpoint_open(&c, file, &e), 0);
    assert_int_equal(checkpoint_write(&c, file, 1, &e), 0);
    assert_int_equal(checkpoint_open(&again, file, &e), 0);
    expect_same_tensors(c.tensors, again.tensors);
    checkpoint_close(&again);
    checkpoint_close(&c);
    scratch_remove(own);
}

/* Norms and log-probability of one segment in this dtype. */
static void measure(double norm[15], double *logprob, const char *path, char digest[33])
{
    struct error e = {""};
    struct decoder *d = decoder_open(path, &e);
    struct kernels *k = d ? kernels_open("f32", &e) : NULL;
    struct engine_request options = {.positions = 15, .batch = 1, .segments = 1};
    struct engine *g = k ? engine_create(k, d, &options, &e) : NULL;
    int32_t ids[16];
    for (int i = 0; i < 16; i++)
        ids[i] = (i * 37 + 5) % 90;
    if (!g || engine_measure(g, norm, logprob, ids, 1, &e) || model_digest(digest, d, &e))
        fail_msg("%s: %s", path, e.text);
    engine_close(g);
    k->close(k);
    decoder_close(d);
}

static void test_same_results(void **state)
{
    (void)state;
    static const char *const models[] = {"tests/goldens/gpt2", "tests/goldens/llama-gqa"};
    static const char *const outs[] = {"model", "model.safetensors", "model.h5"};
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < 3; k++) {
            double norm[15], logprob, norm_back[15], logprob_back;
            char digest[33], digest_back[33], to[4200], *own = scratch_make();
            struct error e = {""};
            struct checkpoint c;
            snprintf(to, sizeof to, "%s/%s", own, outs[k]);
            if (checkpoint_open(&c, models[i], &e) || checkpoint_write(&c, to, 0, &e))
                fail_msg("%s: %s", models[i], e.text);
            checkpoint_close(&c);
            measure(norm, &logprob, models[i], digest);
            measure(norm_back, &logprob_back, to, digest_back);
            assert_true(norm[0] > 0);
            assert_memory_equal(norm, norm_back, sizeof norm);
            assert_memory_equal(&logprob, &logprob_back, sizeof logprob);
            if (k == 2)
                assert_string_not_equal(digest, digest_back); /* of files, not of values */
            scratch_remove(own);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_content),
                                       cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_which),
                                       cmocka_unit_test(test_last_step),
                                       cmocka_unit_test(test_write),
                                       cmocka_unit_test(test_in_the_way),
                                       cmocka_unit_test(test_same_results)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
