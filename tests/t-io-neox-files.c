/* GPT-NeoX directories: layers, the form without a pipeline, model-parallel ranks joined, settings,
 * and what is missing or lies.
 */
#include "io/checkpoint/checkpoint.h"
#include "tests/expected.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GOLDENS "tests/goldens/torch/"

static void test_goldens(void **state)
{
    (void)state;
    static const char *const cases[] = {"neox", "neox-module", "neox-row", "neox-column",
                                        "neox-gated"};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const char *name = cases[i / 2], *encoding;
        char path[256], expected[256];
        struct error e = {""};
        struct checkpoint c;
        long layers;
        double eps;
        int off;
        snprintf(path, sizeof path, GOLDENS "%s%s", name,
                 i % 2 ? "/global_step10" : ""); /* by the folder of the step too */
        snprintf(expected, sizeof expected, GOLDENS "%s/expected.json", name);
        if (checkpoint_open(&c, path, &e))
            fail_msg("%s: %s", path, e.text);
        expect_tensors(c.tensors, expected);
        assert_int_equal(config_string_or(c.config, "model_type", "", &encoding, &e), 0);
        assert_string_equal(encoding, "gpt_neox_megatron");
        assert_int_equal(config_string_or(c.config, "pos_emb", "", &encoding, &e), 0);
        assert_string_equal(encoding, "kerple_log");
        assert_int_equal(config_int(c.config, "num_layers", 1, 100, &layers, &e), 0);
        assert_int_equal(layers, 2);
        assert_int_equal(config_real_or(c.config, "optimizer.params.eps", 0, 1, 0, &eps, &e), 0);
        assert_true(eps == 1e-8);
        assert_int_equal(config_string_or(c.config, "min_lr", "", &encoding, &e),
                         0); /* 1e-5 without a point is text */
        assert_string_equal(encoding, "1e-5");
        assert_int_equal(config_bool_or(c.config, "fp16.enabled", 1, &off, &e), 0);
        assert_int_equal(off, 0);
        assert_int_equal(config_has(c.config, "log_dir"), 0); /* ~ */
        checkpoint_close(&c);
    }
}

/* -- copies that are spoiled -- */

static char copy_to[4096];
static size_t copy_from;

static int copy_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)ftw;
    char target[8192];
    snprintf(target, sizeof target, "%s%s", copy_to, path + copy_from);
    if (type == FTW_D)
        return mkdir(target, 0777);
    size_t size;
    unsigned char *bytes = scratch_read(path, &size);
    FILE *f = fopen(target, "wb");
    int failed = !f || fwrite(bytes, 1, size, f) != size || fclose(f);
    free(bytes);
    return failed;
}

/* A fresh copy of a golden directory; its path stays valid until the next. */
static const char *copy_golden(const char *name)
{
    static int number;
    char from[256];
    snprintf(copy_to, sizeof copy_to, "%s/copy-%d", scratch_folder, number++);
    snprintf(from, sizeof from, GOLDENS "%s", name);
    copy_from = strlen(from);
    assert_int_equal(nftw(from, copy_one, 8, FTW_PHYS), 0);
    return copy_to;
}

static void refused(const char *path, const char *what, const char *words)
{
    struct error e = {""};
    struct checkpoint c;
    if (checkpoint_open(&c, path, &e) == 0)
        fail_msg("%s: was accepted", what);
    assert_null(c.tensors);
    assert_null(c.config);
    assert_int_equal(check_message(what, &e, words), 0);
}

static void test_latest(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", "'' is not the name of a folder"},
        {"\n", "'' is not the name of a folder"},
        {"../neox/global_step10", "is not the name of a folder beside it"},
        {"/etc", "'/etc' is not the name of a folder"},
        {"..", "is not the name of a folder"},
        {".", "is not the name of a folder"},
        {"a\\b", "is not the name of a folder"},
        {"global_step11", "global_step11: cannot be opened"},
        {"configs", "configs: holds no files of a model"},
    };
    const char *folder = copy_golden("neox-module");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scratch_write(folder, "latest", cases[i][0], strlen(cases[i][0]));
        refused(folder, cases[i][0], cases[i][1]);
    }
    char *long_tag = malloc(300);
    memset(long_tag, 'x', 300);
    scratch_write(folder, "latest", long_tag, 300);
    free(long_tag);
    refused(folder, "a long tag", "latest: has 300 bytes (expected at most 255)");
    struct error e = {""};
    struct checkpoint c;
    scratch_write(folder, "latest", "global_step10 \r\n", 16);
    assert_int_equal(checkpoint_open(&c, folder, &e), 0);
    checkpoint_close(&c);
}

#define SPOIL(folder, name, with) scratch_write(folder, name, with, sizeof(with) - 1)

static void test_settings(void **state)
{
    (void)state;
    const char *folder = copy_golden("neox"), *configs = "global_step10/configs/setup.yml";
    struct error e = {""};
    struct checkpoint c;
    long length;
    int parallel;
    SPOIL(folder, configs, "[1]");
    refused(folder, "a list", "setup.yml: is not a mapping");
    SPOIL(folder, configs, "a: !!python/object/apply:os.system ['id']");
    refused(folder, "a tag", "setup.yml: line 1: a tag is not read");
    /* two files disagree: only who asks is refused */
    SPOIL(folder, configs, "seq_length: 32\npos-emb: kerple_log\n");
    assert_int_equal(checkpoint_open(&c, folder, &e), 0);
    assert_int_equal(config_int(c.config, "seq_length", 1, 1000, &length, &e), -1);
    assert_int_equal(check_message("ambiguous", &e,
                                   "seq_length is 'ambiguous: 16, and 32 in setup.yml'"),
                     0);
    assert_int_equal(config_int(c.config, "max_position_embeddings", 1, 1000, &length, &e), 0);
    checkpoint_close(&c);
    /* within one file the last counts, in whatever spelling */
    SPOIL(folder, configs, "gpt-j-residual: true\ngpt_j_residual: false\n");
    assert_int_equal(checkpoint_open(&c, folder, &e), 0);
    assert_int_equal(config_bool_or(c.config, "gpt_j_residual", 1, &parallel, &e), 0);
    assert_int_equal(parallel, 0);
    checkpoint_close(&c);
    unlink(scratch_path(folder, configs));
    assert_int_equal(checkpoint_open(&c, folder, &e), 0);
    checkpoint_close(&c);
    unlink(scratch_path(folder, "global_step10/configs/model.yml"));
    refused(folder, "no settings", "configs: holds no settings (expected the .yml files");
    rmdir(scratch_path(folder, "global_step10/configs"));
    refused(folder, "no folder of settings",
            "configs: is missing (the position encoding is named only in");
}

static void test_layers(void **state)
{
    (void)state;
    const char *folder = copy_golden("neox");
    struct error e = {""};
    struct checkpoint c;
    char step[4200];
    snprintf(step, sizeof step, "%s/global_step10", folder);
    /* names that are others' */
    SPOIL(step, "layer_00-model_00-model_states.pt.bak", "x");
    SPOIL(step, "layer_x-model_00-model_states.pt", "x");
    SPOIL(step, "layer_999999-model_00-model_states.pt", "x");
    SPOIL(step, "zero_pp_rank_0_mp_rank_00_optim_states.pt", "x");
    assert_int_equal(checkpoint_open(&c, folder, &e), 0);
    checkpoint_close(&c);
    SPOIL(step, "layer_2-model_00-model_states.pt", "x");
    refused(folder, "a layer twice", "model-parallel ranks are missing or there twice");
    unlink(scratch_path(step, "layer_2-model_00-model_states.pt"));
    assert_int_equal(rename(scratch_path(step, "layer_03-model_00-model_states.pt"),
                            scratch_path(step, "layer_03-model_01-model_states.pt")),
                     0);
    refused(folder, "another rank", "model-parallel ranks are missing or there twice");
    assert_int_equal(rename(scratch_path(step, "layer_03-model_01-model_states.pt"),
                            scratch_path(step, "layer_03-model_00-model_states.pt")),
                     0);
    SPOIL(step, "layer_03-model_00-model_states.pt", "x");
    refused(folder, "no torch file",
            "layer_03-model_00-model_states.pt: does not end as a zip archive");

    folder = copy_golden("neox-module");
    assert_int_equal(rename(scratch_path(folder, "global_step10/mp_rank_00_model_states.pt"),
                            scratch_path(folder, "keep")),
                     0);
    SPOIL(folder, "global_step10/mp_rank_00_model_states.pt", "x");
    refused(folder, "no torch file", "mp_rank_00_model_states.pt: does not end as a zip archive");
    snprintf(step, sizeof step, "%s/global_step10", folder);
    unlink(scratch_path(step, "mp_rank_00_model_states.pt"));
    assert_int_equal(symlink("/proc/self/cwd/" GOLDENS "plain.pt",
                             scratch_path(step, "mp_rank_00_model_states.pt")),
                     0);
    refused(folder, "no module", "holds no dict of tensors under module");
    unlink(scratch_path(step, "mp_rank_00_model_states.pt"));
    refused(folder, "nothing", "holds no files of a model");
}

static void test_ranks(void **state)
{
    (void)state;
    const char *folder = copy_golden("neox-row");
    char step[4200];
    snprintf(step, sizeof step, "%s/global_step10", folder);
    const char *second = "layer_03-model_01-model_states.pt";
    assert_int_equal(rename(scratch_path(step, second), scratch_path(step, "kept")), 0);
    refused(folder, "a rank is missing", "ranks are missing");
    /* another model's layer: norms differ and are averaged, biases of rows must not */
    size_t size;
    unsigned char *other = scratch_read(scratch_path(step, "layer_02-model_01-model_states.pt"),
                                        &size);
    scratch_write(step, second, other, size);
    free(other);
    refused(folder, "copies that differ",
            "tensor sequential.3.attention.dense.bias differs between model-parallel ranks");
    other = scratch_read(scratch_path(step, "layer_05-model_01-model_states.pt"), &size);
    scratch_write(step, second, other, size);
    free(other);
    refused(folder, "fewer tensors", "rank 1 holds 2 tensors, rank 0 14");
    unlink(scratch_path(step, second));
    assert_int_equal(rename(scratch_path(step, "kept"), scratch_path(step, second)), 0);
    const char *first = "layer_00-model_01-model_states.pt";
    assert_int_equal(rename(scratch_path(step, first), scratch_path(step, "kept")), 0);
    other = scratch_read(scratch_path(step, "layer_06-model_01-model_states.pt"), &size);
    scratch_write(step, first, other, size);
    free(other);
    refused(folder, "another tensor",
            "tensor sequential.0.word_embeddings.weight is missing in rank 1");
    unlink(scratch_path(step, first));
    assert_int_equal(rename(scratch_path(step, "kept"), scratch_path(step, first)), 0);
    SPOIL(folder, "global_step10/configs/setup.yml", "num_kv_heads: 2\n");
    refused(folder, "grouped heads",
            "joining grouped keys and values over model-parallel ranks is not supported");
    SPOIL(folder, "global_step10/configs/setup.yml", "output_layer_parallelism: diagonal\n");
    refused(folder, "unknown parallelism",
            "output_layer_parallelism is 'diagonal' (expected one of row, column)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goldens),  cmocka_unit_test(test_latest),
        cmocka_unit_test(test_settings), cmocka_unit_test(test_layers),
        cmocka_unit_test(test_ranks),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
