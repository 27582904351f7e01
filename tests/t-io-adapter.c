/* io/adapters/adapter.c: what is added to what, in exact numbers; everything that is refused. */
#include "io/adapters/adapter.h"
#include "io/checkpoint/checkpoint.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 12 };

/* One tensor of a file: numbers from `first` up in steps of `step`. columns 0: a vector. */
struct entry {
    const char *name, *type;
    size_t rows, columns;
    double first, step;
};

static void write_number(FILE *f, const char *type, double x)
{
    float narrow = (float)x;
    uint32_t bits;
    memcpy(&bits, &narrow, 4);
    bits >>= 16;
    if (strcmp(type, "F64") == 0)
        fwrite(&x, 8, 1, f);
    else if (strcmp(type, "BF16") == 0)
        fwrite(&bits, 2, 1, f);
    else if (strcmp(type, "I32") == 0)
        fwrite(&(int32_t){(int32_t)x}, 4, 1, f);
    else
        fwrite(&narrow, 4, 1, f);
}

static size_t size_of(const char *type)
{
    return strcmp(type, "F64") == 0 ? 8 : strcmp(type, "BF16") == 0 ? 2 : 4;
}

/* A safetensors file of the entries up to one without a name; all are of F32 where no type is
 * given. */
static void write_tensors(const char *path, const struct entry *entries)
{
    char header[8192] = "{";
    size_t at = 0, used = 1;
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    for (const struct entry *x = entries; x->name; x++) {
        const char *type = x->type ? x->type : "F32";
        size_t bytes = x->rows * (x->columns ? x->columns : 1) * size_of(type);
        used += (size_t)snprintf(header + used, sizeof header - used,
                                 "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[%zu",
                                 x == entries ? "" : ",", x->name, type, x->rows);
        if (x->columns)
            used += (size_t)snprintf(header + used, sizeof header - used, ",%zu", x->columns);
        used += (size_t)snprintf(header + used, sizeof header - used,
                                 "],\"data_offsets\":[%zu,%zu]}", at, at + bytes);
        at += bytes;
    }
    used += (size_t)snprintf(header + used, sizeof header - used, "}");
    fwrite(&(uint64_t){used}, 8, 1, f);
    fwrite(header, 1, used, f);
    for (const struct entry *x = entries; x->name; x++)
        for (size_t i = 0; i < x->rows * (x->columns ? x->columns : 1); i++)
            write_number(f, x->type ? x->type : "F32", x->first + (double)i * x->step);
    assert_int_equal(fclose(f), 0);
}

static const char *in(const char *name)
{
    return scratch_path(scratch_folder, name);
}

/* The folder `adapter` with this configuration (the first members of which are common) and these
 * tensors. */
static const char *write_adapter(const char *settings, const struct entry *entries)
{
    char config[4096];
    mkdir(in("adapter"), 0700);
    snprintf(config, sizeof config, "{\"peft_type\": \"LORA\", %s}", settings);
    scratch_write(scratch_folder, "adapter/adapter_config.json", config, strlen(config));
    write_tensors(in("adapter/adapter_model.safetensors"), entries);
    return in("adapter");
}

static struct tensors *open_base(const char *path)
{
    struct error e = {""};
    struct config *own;
    struct tensors *t = checkpoint_tensors(path, &own, &e);
    if (!t)
        fail_msg("%s", e.text);
    config_close(own);
    return t;
}

#define LONG "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct entry base[] = {{"a.fc.weight", "BF16", 2, 3, 1, 1},
                                    {"a.fc.bias", "F32", 2, 0, 1, 1},
                                    {"a.turned.weight", "F32", 2, 3, 1, 1},
                                    {"a.square.weight", "F32", 2, 2, 0, 1},
                                    {"a.table.weight", "F64", 3, 2, 0, 1},
                                    {"a.norm.weight", "BF16", 3, 0, 1, 1},
                                    {"a.count", "I32", 1, 0, 3, 0},
                                    {LONG ".weight", "F32", 2, 3, 0, 1},
                                    {0}};
static const char *const turned[] = {"turned", "square", NULL};

/* Type and numbers of a merged tensor. */
static void holds(struct tensors *t, const char *name, enum element type, const double *values,
                  size_t count)
{
    const struct tensor *found = tensors_find(t, name);
    assert_non_null(found);
    if (!found->merged || found->type != type || found->count != count)
        fail_msg("%s: merged %d, %s, %zu numbers", name, found->merged, element_name(found->type),
                 found->count);
    for (size_t i = 0; i < count; i++)
        if (!(element_read(found->data, type, i) == values[i]))
            fail_msg("%s: number %zu is %.17g (expected %.17g)", name, i,
                     element_read(found->data, type, i), values[i]);
}

static struct tensors *merged(const char *folder)
{
    struct error e = {""};
    write_tensors(in("base.safetensors"), base);
    struct tensors *t = open_base(in("base.safetensors"));
    struct config *c = adapter_merge(t, folder, turned, &e);
    if (!c)
        fail_msg("%s", e.text);
    config_close(c);
    return t;
}

/* W + alpha / r B A, exact in these numbers. */
static void test_sums(void **state)
{
    static const struct entry tensors[] = {
        {"base_model.model.a.fc.lora_A.weight", "F32", 2, 3, 1, 1}, /* 1 2 3, 4 5 6 */
        {"base_model.model.a.fc.lora_B.weight", "BF16", 2, 2, 1, 1}, /* 1 2, 3 4 */
        {"base_model.model.a.fc.lora_B.bias", "F32", 2, 0, 1, 2}, /* 1 3 */
        {"base_model.model.a.turned.lora_A.weight", "F32", 1, 2, 1, 1}, /* in 2, out 3 */
        {"base_model.model.a.turned.lora_B.weight", "F32", 3, 1, 1, 1},
        {"base_model.model.a.turned.lora_B.bias", "F32", 3, 0, 0, 0},
        {0}};
    (void)state;
    static const struct entry more[] = {{"a.fc.weight", "BF16", 2, 3, 1, 1},
                                        {"a.fc.bias", "F32", 2, 0, 1, 1},
                                        {"a.turned.weight", "F32", 2, 3, 1, 1},
                                        {"a.turned.bias", "F64", 3, 0, 1, 1},
                                        {0}};
    struct error e = {""};
    write_tensors(in("base.safetensors"), more);
    struct tensors *t = open_base(in("base.safetensors"));
    struct config *c = adapter_merge(
        t,
        write_adapter(
            "\"r\": 2, \"lora_alpha\": 4, \"lora_bias\": true, \"rank_pattern\": {\"turned\": 1}",
            tensors),
        turned, &e);
    if (!c)
        fail_msg("%s", e.text);
    holds(t, "a.fc.weight", ELEMENT_F32,
          (double[]){1 + 2 * 9, 2 + 2 * 12, 3 + 2 * 15, 4 + 2 * 19, 5 + 2 * 26, 6 + 2 * 33}, 6);
    holds(t, "a.fc.bias", ELEMENT_F32, (double[]){1 + 2 * 1, 2 + 2 * 3}, 2);
    holds(t, "a.turned.weight", ELEMENT_F32,
          (double[]){1 + 4 * 1, 2 + 4 * 2, 3 + 4 * 3, 4 + 4 * 2, 5 + 4 * 4, 6 + 4 * 6}, 6);
    holds(t, "a.turned.bias", ELEMENT_F64, (double[]){1, 2, 3}, 3);
    config_close(c);
    tensors_close(t);
}

/* A table is [numbers, width] and its pair of tensors has no `weight`; what has no pair replaces,
 * below its product too. The type of what replaces stays, and so does what nothing is for. */
static void test_tables(void **state)
{
    static const struct entry tensors[] = {
        {"base_model.model.a.table.lora_embedding_A", "F64", 2, 3, 0, 1}, /* 0 1 2, 3 4 5 */
        {"base_model.model.a.table.lora_embedding_B", "F32", 2, 2, 1, 0}, /* 1 1, 1 1 */
        {"base_model.model.a.table.base_layer.weight", "F64", 3, 2, 10, 0},
        {"base_model.model.a.norm.weight", "BF16", 3, 0, 7, 0},
        {0}};
    (void)state;
    struct tensors *t = merged(
        write_adapter("\"r\": 2, \"lora_alpha\": 1, \"use_rslora\": true", tensors));
    double s = 1 / sqrt(2);
    holds(t, "a.table.weight", ELEMENT_F64,
          (double[]){10 + s * 3, 10 + s * 3, 10 + s * 5, 10 + s * 5, 10 + s * 7, 10 + s * 7}, 6);
    holds(t, "a.norm.weight", ELEMENT_BF16, (double[]){7, 7, 7}, 3);
    assert_int_equal(tensors_find(t, "a.fc.weight")->merged, 0);
    tensors_close(t);
}

/* Of the patterns that end a module's name the first counts, each a regular expression. */
static void test_patterns(void **state)
{
    static const struct {
        const char *settings;
        double scale;
    } cases[] = {
        {"\"r\": 1", 8},
        {"\"r\": 1, \"lora_alpha\": -0.5", -0.5},
        {"\"r\": 1, \"lora_alpha\": 0", 0},
        {"\"r\": 1, \"alpha_pattern\": {\"fc\": 3, \"a.fc\": 5}", 3},
        {"\"r\": 1, \"alpha_pattern\": {\"c\": 3, \"a.fc\": 5}", 5},
        {"\"r\": 1, \"alpha_pattern\": {\"^a.f.\": 3}", 3},
        {"\"r\": 1, \"alpha_pattern\": {\"b|fc\": 3}", 3},
        {"\"r\": 1, \"alpha_pattern\": {\"fc|x\": 3.25, \"fc\": 4}", 3.25},
        {"\"r\": 1, \"alpha_pattern\": {\"a\": 3, \"f\": 4, \"fc.weight\": 5}", 8},
        {"\"r\": 7, \"rank_pattern\": {\"fc\": 1}", 8},
        {"\"r\": 1, \"use_dora\": false, \"megatron_config\": null, \"some_future_key\": [], "
         "\"another\": {}",
         8},
        {"\"r\": 1, \"init_lora_weights\": \"gaussian\", \"target_modules\": [\"x\"], "
         "\"lora_dropout\": 0.1",
         8},
        {"\"r\": 1, \"init_lora_weights\": false, \"bias\": \"all\", \"fan_in_fan_out\": true", 8},
    };
    static const struct entry tensors[] = {{"base_model.model.a.fc.lora_A.weight", "F32", 1, 3, 1,
                                            0},
                                           {"base_model.model.a.fc.lora_B.weight", "F32", 2, 1, 1,
                                            0},
                                           {0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tensors *t = merged(write_adapter(cases[i].settings, tensors));
        double s = cases[i].scale;
        holds(t, "a.fc.weight", ELEMENT_F32, (double[]){1 + s, 2 + s, 3 + s, 4 + s, 5 + s, 6 + s},
              6);
        tensors_close(t);
    }
}

/* A module that was trained whole, and copies of it that are not read: as it is below the wrapper,
 * and as it was before. */
static void test_copies(void **state)
{
    static const struct entry tensors[] = {
        {"base_model.model.a.norm.modules_to_save.weight", "F32", 3, 0, 5, 0},
        {"base_model.model.a.norm.original_module.weight", "F32", 3, 0, 6, 0},
        {"base_model.model.a.norm.weight", "F32", 3, 0, 7, 0},
        {"base_model.model.a.table.modules_to_save.weight", "F64", 3, 2, 8, 0},
        {0}};
    (void)state;
    struct tensors *t = merged(write_adapter("\"r\": 1", tensors));
    holds(t, "a.norm.weight", ELEMENT_F32, (double[]){7, 7, 7}, 3);
    holds(t, "a.table.weight", ELEMENT_F64, (double[]){8, 8, 8, 8, 8, 8}, 6);
    tensors_close(t);
}

/* Each output's weights get the length that the adapter has for it. */
static void test_magnitudes(void **state)
{
    static const struct entry tensors[] = {
        {"base_model.model.a.fc.lora_A.weight", "F32", 1, 3, 1, 0},
        {"base_model.model.a.fc.lora_B.weight", "F32", 2, 1, 0, 0},
        {"base_model.model.a.fc.lora_magnitude_vector", "F32", 2, 0, 2, 2},
        {0}};
    double first = sqrt(1 + 4 + 9), second = sqrt(16 + 25 + 36);
    (void)state;
    struct tensors *t = merged(write_adapter("\"r\": 1, \"use_dora\": true", tensors));
    holds(t, "a.fc.weight", ELEMENT_F32,
          (double[]){(float)(2 / first), (float)(4 / first), (float)(6 / first),
                     (float)(16 / second), (float)(20 / second), (float)(24 / second)},
          6);
    tensors_close(t);
}

/* Rows of a table by token id, listed for all tables or by the end of a table's name. */
static void test_rows(void **state)
{
    static const char *const settings[] = {
        "\"r\": 1, \"trainable_token_indices\": [2, 0]",
        "\"r\": 1, \"trainable_token_indices\": {\"table\": [2, 0], \"x\": [1]}"};
    static const struct entry tensors[] = {
        {"base_model.model.a.table.token_adapter.trainable_tokens_delta", "F32", 2, 2, 5, 1}, {0}};
    (void)state;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        struct tensors *t = merged(write_adapter(settings[i], tensors));
        holds(t, "a.table.weight", ELEMENT_F64, (double[]){7, 8, 2, 3, 5, 6}, 6);
        tensors_close(t);
    }
}

/* Names that the library has in memory where the files of models have others, either way. */
static void test_names_in_memory(void **state)
{
    static const char *const rows[][2] = {
        {"model.layers.0.block_sparse_moe.gate.weight", "model.layers.0.mlp.gate.weight"},
        {"model.layers.0.mlp.gate.weight", "model.layers.0.block_sparse_moe.gate.weight"},
        {"model.layers.0.block_sparse_moe.gate.weight", "model.layers.0.mlp.router.weight"},
        {"model.layers.0.mlp.router.gate.weight", "model.layers.0.mlp.gate.weight"},
        {"model.layers.0.block_sparse_moe.router.layer.weight",
         "model.layers.0.block_sparse_moe.router.weight"},
        {"model.layers.0.mlp.shared_mlp.up_proj.weight",
         "model.layers.0.mlp.shared_experts.up_proj.weight"},
        {"embed_out.weight", "lm_head.weight"},
        {"transformer.h.0.attn.attention.out_proj.weight",
         "model.layers.0.self_attn.o_proj.weight"},
        {"transformer.h.0.mlp.c_fc_1.weight", "model.layers.0.mlp.up_proj.weight"},
        {"transformer.h.0.ln_2.weight", "model.layers.0.post_attention_layernorm.weight"},
        {"layers.0.block_sparse_moe.gate.weight", "model.layers.0.mlp.gate.weight"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[128];
        struct error e = {""};
        snprintf(name, sizeof name, "base_model.model.%s", rows[i][1]);
        write_tensors(in("base.safetensors"),
                      (const struct entry[]){{rows[i][0], "F32", 2, 2, 1, 1},
                                             {"transformer.h.1.mlp.c_fc_0.weight", "F32", 1, 1, 1,
                                              0},
                                             {0}});
        struct tensors *t = open_base(in("base.safetensors"));
        struct config *c = adapter_merge(
            t, write_adapter("\"r\": 1", (const struct entry[]){{name, "F32", 2, 2, 9, 0}, {0}}),
            NULL, &e);
        if (!c)
            fail_msg("%s", e.text);
        holds(t, rows[i][0], ELEMENT_F32, (double[]){9, 9, 9, 9}, 4);
        config_close(c);
        tensors_close(t);
    }
}

/* The first part of a name may be missing in the base. */
static void test_prefix(void **state)
{
    static const struct entry tensors[] = {{"base_model.model.transformer.a.square.lora_A.weight",
                                            "F32", 1, 2, 1, 1},
                                           {"base_model.model.transformer.a.square.lora_B.weight",
                                            "F32", 2, 1, 1, 4},
                                           {0}};
    (void)state;
    struct tensors *t = merged(write_adapter("\"r\": 1, \"lora_alpha\": 1", tensors));
    holds(t, "a.square.weight", ELEMENT_F32, (double[]){0 + 1, 1 + 5, 2 + 2, 3 + 10},
          4); /* transposed */
    tensors_close(t);
}

/* The same bytes for every number of threads. */
static void test_threads(void **state)
{
    static const struct entry large[] = {{"a.fc.weight", "F32", 70, 1100, 0.1, 0.3}, {0}},
                              tensors[] = {{"base_model.model.a.fc.lora_A.weight", "F32", 5, 1100,
                                            0.7, 0.011},
                                           {"base_model.model.a.fc.lora_B.weight", "F32", 70, 5,
                                            -0.3, 0.007},
                                           {0}};
    (void)state;
    const char *folder = write_adapter("\"r\": 5", tensors);
    static float kept[70 * 1100];
    int most = omp_get_max_threads();
    write_tensors(in("base.safetensors"), large);
    for (int threads = 1; threads <= 5; threads += 2) {
        struct error e = {""};
        struct tensors *t = open_base(in("base.safetensors"));
        omp_set_num_threads(threads);
        struct config *c = adapter_merge(t, folder, NULL, &e);
        if (!c)
            fail_msg("%s", e.text);
        const void *data = tensors_find(t, "a.fc.weight")->data;
        if (threads == 1)
            memcpy(kept, data, sizeof kept);
        assert_memory_equal(kept, data, sizeof kept);
        config_close(c);
        tensors_close(t);
    }
    omp_set_num_threads(most);
}

/* ---- refused ---- */

#define PAIR(r_a, in, out, r_b) \
    {"base_model.model.a.fc.lora_A.weight", "F32", r_a, in, 1, 0}, \
    { \
        "base_model.model.a.fc.lora_B.weight", "F32", out, r_b, 1, 0 \
    }
#define GOOD PAIR(1, 3, 2, 1)
#define ROWS(count) \
    { \
        "base_model.model.a.table.token_adapter.trainable_tokens_delta", NULL, count, 2, 5, 1 \
    }

static void test_refused(void **state)
{
    static const struct {
        const char *settings;
        struct entry tensors[MOST];
        const char *words;
    } cases[] = {
        {"\"r\": 0", {GOOD}, "adapter_config.json: r "},
        {"\"r\": -1", {GOOD}, "r "},
        {"\"r\": 2000000", {GOOD}, "r "},
        {"\"r\": 1.5", {GOOD}, "r "},
        {"\"r\": 1, \"lora_alpha\": NaN", {GOOD}, "lora_alpha"},
        {"\"r\": 1, \"lora_alpha\": Infinity", {GOOD}, "lora_alpha"},
        {"\"r\": 1, \"lora_alpha\": 1e300", {GOOD}, "lora_alpha"},
        {"\"r\": 1, \"lora_alpha\": \"8\"", {GOOD}, "lora_alpha"},
        {"\"r\": 1, \"lora_alpha\": 1e30, \"alpha_pattern\": {\"fc\": 1e300}",
         {GOOD},
         "a.fc.weight|6 numbers that are not finite"},
        {"\"r\": 1, \"alpha_pattern\": {\"fc\": NaN}",
         {GOOD},
         "alpha_pattern of 'fc' is not a finite number"},
        {"\"r\": 1, \"rank_pattern\": {\"fc\": 0}",
         {GOOD},
         "rank_pattern of 'fc' is not a whole number"},
        {"\"r\": 1, \"rank_pattern\": [1]", {GOOD}, "rank_pattern is not an object"},
        {"\"r\": 1, \"rank_pattern\": {\"(fc\": 1}", {GOOD}, "'(fc'|not a regular expression"},
        {"\"r\": 1, \"rank_pattern\": {\"(a|aa)+[bc]\": 1}",
         {{"base_model.model." LONG ".lora_A.weight", NULL, 1, 3, 1, 0},
          {"base_model.model." LONG ".lora_B.weight", NULL, 2, 1, 1, 0}},
         "takes too much work"},
        {"\"r\": 1, \"use_dora\": true",
         {GOOD},
         "has no partner base_model.model.a.fc.lora_magnitude_vector"},
        {"\"r\": 1, \"use_dora\": true",
         {GOOD, {"base_model.model.a.fc.lora_magnitude_vector", NULL, 3, 0, 1, 0}},
         "does not have the 2 outputs of a.fc.weight"},
        {"\"r\": 1, \"use_dora\": true",
         {{"base_model.model.a.fc.lora_magnitude_vector", NULL, 2, 0, 1, 0}},
         "has no partner base_model.model.a.fc.lora_A.weight"},
        {"\"r\": 1, \"use_dora\": true, \"lora_bias\": true", {GOOD}, "use_dora and lora_bias"},
        {"\"r\": 1, \"use_qalora\": true", {GOOD}, "use_qalora is not supported"},
        {"\"r\": 1, \"layer_replication\": [[0, 1]]", {GOOD}, "layer_replication is not supported"},
        {"\"r\": 1, \"trainable_token_indices\": [1]",
         {GOOD},
         "no rows for trainable_token_indices"},
        {"\"r\": 1, \"trainable_token_indices\": [1, 2]",
         {ROWS(1)},
         "a row of a.table.weight|2 token"},
        {"\"r\": 1, \"trainable_token_indices\": [3]", {ROWS(1)}, "3 is not below the 3 rows"},
        {"\"r\": 1, \"trainable_token_indices\": [-1]", {ROWS(1)}, "entry 1|not a token id"},
        {"\"r\": 1, \"trainable_token_indices\": {\"other\": [1]}",
         {ROWS(1)},
         "no list for a.table"},
        {"\"r\": 1", {ROWS(1)}, "trainable_token_indices has no list"},
        {"\"r\": 1, \"alora_invocation_tokens\": [1]",
         {GOOD},
         "alora_invocation_tokens is not supported"},
        {"\"r\": 1, \"target_parameters\": [\"x\"]", {GOOD}, "target_parameters is not supported"},
        {"\"r\": 1, \"some_future_key\": 0.5", {GOOD}, "some_future_key is not supported"},
        {"\"r\": 1, \"some_future_key\": NaN", {GOOD}, "some_future_key is not supported"},
        {"\"r\": 1, \"init_lora_weights\": \"pissa_niter_4\"",
         {GOOD},
         "init_lora_weights 'pissa_niter_4' is not supported"},
        {"\"r\": 1, \"init_lora_weights\": \"loftq\"", {GOOD}, "init_lora_weights 'loftq'"},
        {"\"r\": 1", {{0}}, "holds no tensors"},
        {"\"r\": 1",
         {PAIR(2, 3, 2, 1)},
         "lora_A.weight [2, 3]|lora_B.weight [2, 1]|do not fit a.fc.weight [2, 3]|rank 1"},
        {"\"r\": 2", {GOOD}, "do not fit|rank 2"},
        {"\"r\": 1", {PAIR(1, 4, 2, 1)}, "do not fit"},
        {"\"r\": 1", {PAIR(1, 3, 3, 1)}, "do not fit"},
        {"\"r\": 1", {PAIR(1, 3, 2, 2)}, "do not fit"},
        {"\"r\": 1", {PAIR(0, 3, 2, 0)}, "do not fit"},
        {"\"r\": 1", {PAIR(3, 0, 2, 1)}, "do not fit"},
        {"\"r\": 1",
         {{"base_model.model.a.fc.lora_A.weight", NULL, 1, 3, 1, 0}},
         "lora_A.weight has no partner base_model.model.a.fc.lora_B"},
        {"\"r\": 1",
         {{"base_model.model.a.fc.lora_B.weight", NULL, 2, 1, 1, 0}},
         "lora_B.weight has no partner base_model.model.a.fc.lora_A"},
        {"\"r\": 1",
         {{"base_model.model.a.table.lora_embedding_B", NULL, 2, 1, 1, 0}},
         "lora_embedding_B has no partner base_model.model.a.table.lora_embedding_A"},
        {"\"r\": 1",
         {GOOD, {"base_model.model.a.fc.lora_B.bias", NULL, 2, 0, 1, 0}},
         "although lora_bias is false"},
        {"\"r\": 1, \"lora_bias\": true",
         {GOOD},
         "has no partner base_model.model.a.fc.lora_B.bias"},
        {"\"r\": 1, \"lora_bias\": true",
         {GOOD, {"base_model.model.a.fc.lora_B.bias", NULL, 3, 0, 1, 0}},
         "does not fit a.fc.bias"},
        {"\"r\": 1, \"lora_bias\": true",
         {{"base_model.model.a.turned.lora_A.weight", NULL, 1, 2, 1, 0},
          {"base_model.model.a.turned.lora_B.bias", NULL, 3, 0, 1, 0},
          {"base_model.model.a.turned.lora_B.weight", NULL, 3, 1, 1, 0}},
         "a.turned.bias, which|does not have"},
        {"\"r\": 1",
         {GOOD, {"base_model.model.a.fc.lora_magnitude_vector", NULL, 2, 0, 1, 0}},
         "lora_magnitude_vector is not supported"},
        {"\"r\": 1",
         {{"base_model.model.a.fc.lora_A.default.weight", NULL, 1, 3, 1, 0}},
         "is not supported"},
        {"\"r\": 1", {{"a.fc.lora_A.weight", NULL, 1, 3, 1, 0}}, "has no place in an adapter"},
        {"\"r\": 1",
         {{"base_model.model.b.lora_A.weight", NULL, 1, 3, 1, 0},
          {"base_model.model.b.lora_B.weight", NULL, 2, 1, 1, 0}},
         "is for b.weight, which|does not have"},
        {"\"r\": 1", {{"base_model.model.../../x.weight", NULL, 1, 3, 1, 0}}, "does not have"},
        {"\"r\": 1",
         {{"base_model.model.a.norm.weight", NULL, 4, 0, 1, 0}},
         "is [4], and a.norm.weight of the base [3]"},
        {"\"r\": 1",
         {{"base_model.model.a.table.weight", NULL, 5, 2, 1, 0}},
         "is [5, 2], and a.table.weight of the base [3, 2] (expected the same: a base whose "
         "vocabulary was resized"},
        {"\"r\": 1", {{"base_model.model.a.count", "I32", 1, 0, 1, 0}}, "stored as I32"},
        {"\"r\": 1",
         {{"base_model.model.a.count", "F32", 1, 0, 1, 0}},
         "a.count, which|does not have"},
        {"\"r\": 1",
         {{"base_model.model.a.norm.weight", NULL, 3, 0, 1, 0},
          {"base_model.model.x.a.norm.weight", NULL, 3, 0, 1, 0}},
         "two of its tensors are for a.norm.weight"},
        {"\"r\": 1",
         {GOOD,
          {"base_model.model.x.a.fc.lora_A.weight", NULL, 1, 3, 1, 0},
          {"base_model.model.x.a.fc.lora_B.weight", NULL, 2, 1, 1, 0}},
         "two pairs of its tensors are for a.fc.weight"},
        {"\"r\": 1",
         {PAIR(1, 3, 2, 1), {"base_model.model.a.fc.weight", NULL, 2, 3, NAN, 0}},
         "not finite"},
    };
    (void)state;
    write_tensors(in("base.safetensors"), base);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        struct tensors *t = open_base(in("base.safetensors"));
        const char *folder = write_adapter(cases[i].settings, cases[i].tensors);
        struct config *c = adapter_merge(t, folder, turned, &e);
        if (c)
            fail_msg("%s (%s): was merged", cases[i].settings, cases[i].words);
        assert_int_equal(check_message(cases[i].settings, &e, cases[i].words), 0);
        tensors_close(t);
    }
}

static void refused_folder(const char *what, const char *words)
{
    struct error e = {""};
    struct tensors *t = open_base(in("base.safetensors"));
    assert_null(adapter_merge(t, in("adapter"), NULL, &e));
    assert_int_equal(check_message(what, &e, words), 0);
    tensors_close(t);
}

static void test_folders(void **state)
{
    static const struct entry tensors[] = {GOOD, {0}};
    struct error e = {""};
    (void)state;
    write_tensors(in("base.safetensors"), base);
    write_adapter("\"r\": 1, \"base_model_name_or_path\": \"org/base\"", tensors);
    assert_int_equal(adapter_alone(in("adapter"), &e), -1);
    assert_int_equal(check_message("alone", &e, "is only an adapter|org/base|--adapter"), 0);
    struct checkpoint c;
    assert_int_equal(checkpoint_open(&c, in("adapter"), &e), -1);
    assert_int_equal(check_message("as a model", &e, "is only an adapter|org/base|--adapter"), 0);
    assert_int_equal(mkdir(in("plain"), 0700), 0);
    assert_int_equal(adapter_alone(in("plain"), &e), 0);

    setenv("TMPDIR", "/nowhere", 1);
    refused_folder("no place", "/nowhere: has no place for 64 bytes of merged matrices");
    unsetenv("TMPDIR");
    assert_int_equal(unlink(in("adapter/adapter_model.safetensors")), 0);
    refused_folder("no tensors", "adapter_model.safetensors: cannot be opened");
    scratch_write(scratch_folder, "adapter/adapter_model.safetensors", "PK\3\4", 4);
    refused_folder("no safetensors", "adapter_model.safetensors: has 4 bytes");
    scratch_write(scratch_folder, "adapter/adapter_config.json", "[]", 2);
    refused_folder("no object", "adapter_config.json");
    static const char ia3[] = "{\"peft_type\": \"IA3\", \"feedforward_modules\": []}";
    scratch_write(scratch_folder, "adapter/adapter_config.json", ia3, sizeof ia3 - 1);
    refused_folder("another kind", "peft_type 'IA3' is not supported");
    scratch_write(scratch_folder, "adapter/adapter_config.json", "{\"r\": 1}", 8);
    refused_folder("no kind", "peft_type '' is not supported");
    assert_int_equal(unlink(in("adapter/adapter_config.json")), 0);
    refused_folder("no settings", "holds no adapter (expected a folder with adapter_config.json "
                                  "and adapter_model.safetensors or "
                                  "adapter_model.bin)");
    /* several */
    static const char *const several[] = {"two", "one", "none"};
    for (int i = 0; i < 3; i++) {
        char name[64];
        snprintf(name, sizeof name, "adapter/%s", several[i]);
        assert_int_equal(mkdir(in(name), 0700), 0);
        strcat(name, "/adapter_config.json");
        if (i < 2)
            scratch_write(scratch_folder, name, "{}", 2);
        if (i == 0)
            refused_folder("one below", "adapter: holds 1 adapter (expected it as the path: two)");
    }
    refused_folder("two below",
                   "adapter: holds 2 adapters (expected one of them as the path: one, two)");
    assert_int_equal(adapter_alone(in("adapter"), &e), -1);
    assert_int_equal(check_message("two alone", &e,
                                   "adapter: holds only adapters: one, two (expected their base"),
                     0);
    struct tensors *t = open_base("tests/goldens/gguf/gpt2.gguf");
    assert_null(adapter_merge(t, in("adapter"), NULL, &e));
    assert_int_equal(check_message("gguf", &e, "gpt2.gguf is GGUF"), 0);
    tensors_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),     cmocka_unit_test(test_tables),
        cmocka_unit_test(test_patterns), cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_copies),   cmocka_unit_test(test_magnitudes),
        cmocka_unit_test(test_rows),     cmocka_unit_test(test_names_in_memory),
        cmocka_unit_test(test_threads),  cmocka_unit_test(test_refused),
        cmocka_unit_test(test_folders)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
