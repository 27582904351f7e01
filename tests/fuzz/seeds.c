/* Valid inputs for every target, to begin with. */
#include "tests/fuzz/seeds.h"
#include "tests/fuzz/fuzz.h"

#include "io/results/journal.h"
#include "io/results/result.h"
#include "io/system/atomic.h"
#include "io/system/file.h"
#include "io/tokenizer/pieces.h"
#include "io/torch/zip.h"

#include <glob.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

void sower_add(struct sower *w, const void *bytes, size_t size)
{
    if (!w->failed && size > SEED_BYTES_MAX - w->size)
        w->failed = fail(w->e, "a seed is too large");
    if (w->failed || !size)
        return;
    memcpy(w->bytes + w->size, bytes, size);
    w->size += size;
}

void sower_text(struct sower *w, const char *text)
{
    sower_add(w, text, strlen(text));
}

void sower_part(struct sower *w)
{
    sower_text(w, FUZZ_BETWEEN);
}

/* Adds the first `most` bytes of a file. */
void sower_file(struct sower *w, const char *path, size_t most)
{
    size_t size;
    char *text = w->failed ? NULL : file_read_whole(path, SEED_BYTES_MAX, &size, w->e);
    if (text)
        sower_add(w, text, size < most ? size : most);
    else
        w->failed = -1;
    free(text);
}

void sower_path(char path[PATH_BYTES], struct sower *w, const char *target, const char *name)
{
    snprintf(path, PATH_BYTES, "%s/%s", w->folder, target);
    mkdir(path, 0700);
    snprintf(path, PATH_BYTES, "%s/%s/%s", w->folder, target, name);
}

/* Writes what was added. */
void sow(struct sower *w, const char *target, const char *name)
{
    char path[PATH_BYTES];
    sower_path(path, w, target, name);
    FILE *f = w->failed ? NULL : fopen(path, "wb");
    if (!w->failed && (!f || fwrite(w->bytes, 1, w->size, f) != w->size))
        w->failed = fail(w->e, "%s: cannot be written", path);
    if (f && fclose(f) && !w->failed)
        w->failed = fail(w->e, "%s: cannot be written", path);
    w->size = 0;
}

/* Files that their reader refuses, named so. */
void sow_refused(struct sower *w, const char *target, const char *const *paths, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char name[128];
        snprintf(name, sizeof name, "refused-%s", path_base(paths[i]));
        sower_file(w, paths[i], SIZE_MAX);
        sow(w, target, name);
    }
}

void sow_text(struct sower *w, const char *target, const char *name, const char *text)
{
    sower_text(w, text);
    sow(w, target, name);
}

/* Every file that the pattern names, by itself. */
void sow_files(struct sower *w, const char *target, const char *pattern)
{
    glob_t found;
    if (w->failed || glob(pattern, 0, NULL, &found)) {
        w->failed = w->failed ? w->failed : fail(w->e, "%s: no such file", pattern);
        return;
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        sower_file(w, found.gl_pathv[i], SIZE_MAX);
        sow(w, target, path_base(found.gl_pathv[i]));
    }
    globfree(&found);
}

/* -- checkpoints -- */

static void sow_safetensors(struct sower *w)
{
    static const char *const headers[] = {
        ("{\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},\"b\":{\"dtype\":"
         "\"BF16\",\"shape\":[],\"data_"
         "offsets\":[24,26]},\"__metadata__\":{\"format\":\"pt\"}}   "),
        "{\"m\":{\"dtype\":\"BOOL\",\"shape\":[1,1,4],\"data_offsets\":[0,4]},\"\xCE\xB1\":{"
        "\"dtype\":\"F64\",\"shape\":[0,7],"
        "\"data_offsets\":[4,4]}}",
        "{}"};
    static const size_t data[] = {26, 4, 0};
    for (size_t i = 0; i < 3; i++) {
        uint64_t size = strlen(headers[i]);
        char name[24];
        sower_add(w, &size, sizeof size);
        sower_text(w, headers[i]);
        sower_add(w, "abcdefghijklmnopqrstuvwxyz", data[i]);
        snprintf(name, sizeof name, "%zu", i);
        sow(w, "safetensors", name);
    }
}

static void sow_adapters(struct sower *w)
{
    static const struct {
        const char *name, *config, *header;
        size_t data;
    } seeds[] = {
        {"pair",
         "{\"peft_type\":\"LORA\",\"r\":2,\"lora_alpha\":4,\"rank_pattern\":{\"a.f.\":1},\"alpha_"
         "pattern\":{\"x|c\":0.5}}",
         "{\"base_model.model.a.fc.lora_A.weight\":{\"dtype\":\"F32\",\"shape\":[1,3],\"data_"
         "offsets\":[0,12]},\"base_model."
         "model.a.fc."
         "lora_B.weight\":{\"dtype\":\"BF16\",\"shape\":[2,1],\"data_offsets\":[12,16]}}",
         16},
        {"table",
         "{\"peft_type\":\"LORA\",\"r\":1,\"use_rslora\":true,\"lora_bias\":false,\"use_dora\":"
         "false,\"init_lora_weights\":"
         "\"gaussian\"}",
         "{\"base_model.model.a.table.lora_embedding_A\":{\"dtype\":\"F16\",\"shape\":[1,3],\"data_"
         "offsets\":[0,6]},\"base_model."
         "model."
         "a.table.lora_embedding_B\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[6,14]},"
         "\"base_model.model.a.table.base_"
         "layer."
         "weight\":{\"dtype\":\"F16\",\"shape\":[3,2],\"data_offsets\":[14,26]}}",
         26},
        {"bias",
         "{\"peft_type\":\"LORA\",\"r\":1,\"lora_bias\":true,\"modules_to_save\":[\"count\"]}",
         "{\"base_model.model.a.fc.lora_A.weight\":{\"dtype\":\"F16\",\"shape\":[1,3],\"data_"
         "offsets\":[0,6]},\"base_model.model."
         "a.fc."
         "lora_B.weight\":{\"dtype\":\"F16\",\"shape\":[2,1],\"data_offsets\":[6,10]},\"base_model."
         "model.a.fc.lora_B.bias\":{"
         "\"dtype\":"
         "\"F16\",\"shape\":[2],\"data_offsets\":[10,14]}}",
         14},
        {"refused-dora", "{\"peft_type\":\"LORA\",\"use_dora\":true}", "{}", 0},
    };
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        uint64_t size = strlen(seeds[i].header);
        sower_text(w, seeds[i].config);
        sower_text(w, FUZZ_BETWEEN);
        sower_add(w, &size, sizeof size);
        sower_text(w, seeds[i].header);
        sower_add(w, "!!\"\"##$$%%&&''(())**++,,--",
                  seeds[i].data); /* numbers that are finite in every type */
        sow(w, "adapter", seeds[i].name);
    }
}

/* The pickles of files of torch.save, out of their archives. */
static void sow_pickles(struct sower *w)
{
    static const char *const names[] = {"plain",  "nested",  "fairseq", "fairseq-object",
                                        "opaque", "unknown", "tensor",  "list"};
    for (size_t i = 0; i < sizeof names / sizeof *names && !w->failed; i++) {
        char path[PATH_BYTES];
        size_t size;
        struct zip z;
        snprintf(path, sizeof path, GOLDENS "torch/%s.pt", names[i]);
        char *archive = file_read_whole(path, SEED_BYTES_MAX, &size, w->e);
        w->failed = !archive || zip_open_memory(&z, path, (unsigned char *)archive, size, w->e) ? -1
                                                                                                : 0;
        for (size_t k = 0; !w->failed && k < z.count; k++)
            if (z.records[k].name_length > 9 &&
                memcmp(z.records[k].name + z.records[k].name_length - 9, "/data.pkl", 9) == 0) {
                sower_add(w, z.records[k].data, z.records[k].size);
                sow(w, "pickle", names[i]);
            }
        if (!w->failed)
            zip_close(&z);
        free(archive);
    }
}

static void sow_neox(struct sower *w)
{
    static const struct {
        const char *name, *pattern;
    } cases[] = {{"ranks", "neox-column/global_step10/mp_*"},
                 {"layers", "neox-row/global_step10/layer_*"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases && !w->failed; i++) {
        char pattern[PATH_BYTES];
        glob_t found;
        snprintf(pattern, sizeof pattern, GOLDENS "torch/%s", cases[i].pattern);
        if (glob(pattern, 0, NULL, &found)) {
            w->failed = fail(w->e, "%s: no such file", pattern);
            return;
        }
        sower_text(w, "model.yml\nsetup.yml");
        for (size_t k = 0; k < found.gl_pathc; k++) {
            sower_text(w, "\n");
            sower_text(w, path_base(found.gl_pathv[k]));
        }
        const char *folder = i ? "neox-row" : "neox-column";
        snprintf(pattern, sizeof pattern, GOLDENS "torch/%s/global_step10/configs/model.yml",
                 folder);
        sower_part(w);
        sower_file(w, pattern, SIZE_MAX);
        snprintf(pattern, sizeof pattern, GOLDENS "torch/%s/global_step10/configs/setup.yml",
                 folder);
        sower_part(w);
        sower_file(w, pattern, SIZE_MAX);
        for (size_t k = 0; k < found.gl_pathc; k++) {
            sower_part(w);
            sower_file(w, found.gl_pathv[k], SIZE_MAX);
        }
        sow(w, "neox", cases[i].name);
        globfree(&found);
    }
}

/* Files of a folder, in that order. */
static void sow_folder(struct sower *w, const char *target, const char *folder,
                       const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char path[PATH_BYTES];
        snprintf(path, sizeof path, GOLDENS "%s/%s", folder, names[i]);
        if (i)
            sower_part(w);
        sower_file(w, path, SIZE_MAX);
    }
    sow(w, target, folder);
}

static void sow_folders(struct sower *w)
{
    static const char *const meta[] = {"params.json", "consolidated.00.pth", "consolidated.01.pth"},
                             *const litgpt[] = {"model_config.yaml", "lit_model.pth"};
    sow_folder(w, "meta", "meta-llama2", meta, 3);
    sow_folder(w, "litgpt", "litgpt-neox", litgpt, 2);
    sow_folder(w, "litgpt", "litgpt-llama", litgpt, 2);
}

/* The documents of yaml.json that are valid. */
static void sow_yaml(struct sower *w)
{
    json_t *cases = json_load_file(GOLDENS "torch/yaml.json", 0, NULL), *one;
    size_t i;
    if (!cases && !w->failed)
        w->failed = fail(w->e, "yaml.json is missing");
    json_array_foreach(cases, i, one)
    {
        char name[24];
        if (!json_is_object(json_array_get(one, 1)))
            continue;
        sower_text(w, json_string_value(json_array_get(one, 0)));
        snprintf(name, sizeof name, "%zu", i);
        sow(w, "yaml", name);
    }
    json_decref(cases);
}

/* config.json and tensors of checkpoints with scales beside their matrices. */
static void sow_quantised(struct sower *w)
{
    static const char *const names[] = {
        "tensors-bitsandbytes", "tensors-fp8",    "gpt2-nf4", "gpt2-int8",
        "tensors-compressed",   "tensors-gptq-3", "awq"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[PATH_BYTES];
        snprintf(path, sizeof path, GOLDENS "quantised/%s/config.json", names[i]);
        sower_file(w, path, SIZE_MAX);
        sower_part(w);
        snprintf(path, sizeof path, GOLDENS "quantised/%s/model.safetensors", names[i]);
        sower_file(w, path, SIZE_MAX);
        sow(w, "quantised", names[i]);
    }
}

/* config.json of every model of the goldens, and the header of its tensors. */
static void sow_families(struct sower *w)
{
    glob_t found;
    if (w->failed || glob(GOLDENS "*/model.safetensors", 0, NULL, &found)) {
        w->failed = w->failed ? w->failed : fail(w->e, "no goldens of models");
        return;
    }
    for (size_t i = 0; i < found.gl_pathc && !w->failed; i++) {
        const char *path = found.gl_pathv[i];
        char config[PATH_BYTES], name[64];
        size_t size, folder = (size_t)(path_base(path) - path);
        uint64_t header;
        snprintf(config, sizeof config, "%.*sconfig.json", (int)folder, path);
        snprintf(name, sizeof name, "%.*s", (int)(folder - sizeof GOLDENS),
                 path + sizeof GOLDENS - 1);
        /* the target gives every tensor the number 3: another version of fairseq, a bound of xIELU
         * that must not be above 0, and tables of decays that must agree */
        if (strcmp(name, "fairseq-version-2") == 0 || strncmp(name, "apertus", 7) == 0 ||
            strcmp(name, "minimax") == 0 || strcmp(name, "minimax-window") == 0)
            continue;
        sower_file(w, config, SIZE_MAX);
        if (!strncmp(name, "own", 3))
            sow(w, "config", name), sower_file(w, config, SIZE_MAX);
        sower_part(w);
        char *tensors = file_read_whole(path, SEED_BYTES_MAX, &size, w->e);
        if (tensors) {
            memcpy(&header, tensors, sizeof header);
            sower_add(w, tensors + sizeof header, header);
            sow(w, "family", name);
        } else {
            w->failed = -1;
        }
        free(tensors);
    }
    globfree(&found);
}

int fuzz_seeds(const char *folder, struct error *e)
{
    struct sower w = {.folder = folder, .bytes = malloc(SEED_BYTES_MAX), .e = e};
    if (!w.bytes)
        return fail_memory(e, SEED_BYTES_MAX, "seeds");
    mkdir(folder, 0700);
    sow_safetensors(&w);
    sow_adapters(&w);
    sow_pickles(&w);
    sow_files(&w, "zip", GOLDENS "torch/[tu]*.pt");
    static const char *const torch[] = {
        "fairseq", "legacy",          "nanogpt",          "nested",
        "plain",   "refused-complex", "refused-expanded", "refused-fairseq-object"};
    for (size_t i = 0; i < sizeof torch / sizeof *torch; i++) {
        char path[PATH_BYTES];
        snprintf(path, sizeof path, GOLDENS "torch/%s.pt",
                 torch[i] + (strncmp(torch[i], "refused-", 8) ? 0 : 8));
        sower_file(&w, path, SIZE_MAX);
        sow(&w, "torch", torch[i]);
    }
    sow_neox(&w);
    sow_folders(&w);
    sow_yaml(&w);
    sow_files(&w, "llmc", GOLDENS "torch/llmc-*.bin");
    sow_files(&w, "gguf", GOLDENS "gguf/phi*.gguf");
    sow_files(&w, "gguf", GOLDENS "gguf/qwen2.gguf");
    sow_files(&w, "gguf", GOLDENS "gguf/falcon-queries.gguf");
    sow_files(&w, "gguf", GOLDENS "gguf/small.gguf");
    sow_files(&w, "gguf", GOLDENS "gguf/stablelm-head-norms.gguf");
    sow_files(&w, "gguf", GOLDENS "gguf/phi3-longrope/model.gguf");
    sow_files(&w, "gguf", GOLDENS "gguf/exaone4.gguf");
    sow_files(&w, "gguf", GOLDENS "gguf/deepseek2-*/model.gguf");
    sow_files(&w, "gguf", GOLDENS "gguf/gemma[34]*-[ek]*/model.gguf");
    sow_files(&w, "gguf", GOLDENS "gguf/gemma3n-plain/model.gguf");
    sow_files(&w, "gguf", GOLDENS "gguf/qwen3*-[op]*/model.gguf");
    sow_files(&w, "gguf", GOLDENS "gguf/granitehybrid-*/model.gguf");
    sow_files(&w, "gguf", GOLDENS "gguf/mamba2-*/model.gguf");
    sow_files(&w, "gguf", GOLDENS "gguf/falcon-h1-*/model.gguf");
    sow_files(&w, "gguf", GOLDENS "gguf/nemotron-h-*/model.gguf");
    sow_files(&w, "gguf", GOLDENS "gguf/tokenizer/[dgl]*.gguf");
    sow_files(&w, "hdf_tensors", GOLDENS "torch/hdf-p*.h5");
    static const char *const bad[] = {GOLDENS "torch/hdf-bad-cycle.h5",
                                      GOLDENS "torch/hdf-bad-filter.h5",
                                      GOLDENS "torch/hdf-bad-json.h5",
                                      GOLDENS "torch/hdf-bad-link.h5",
                                      GOLDENS "torch/hdf-bad-storage.h5",
                                      GOLDENS "torch/hdf-bad-type.h5"};
    sow_refused(&w, "hdf_tensors", bad, sizeof bad / sizeof *bad);
    sow_text(&w, "index", "two",
             "{\"metadata\": {\"total_size\": 8}, \"weight_map\": {\"a\": \"1.safetensors\", "
             "\"b\": \"2.safetensors\", \"c\": "
             "\"1.safetensors\"}}");
    sow_quantised(&w);
    sow_families(&w);
    sow_tokenizers(&w);
    sow_pieces(&w);
    sow_tokens(&w);
    sow_result(&w);
    sow_journal(&w);
    sow_tables(&w);
    sow_reports(&w);
    sow_formulas(&w);
    free(w.bytes);
    return w.failed ? -1 : 0;
}
