/* Valid inputs for every target, to begin with. */
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

#define GOLDENS "tests/goldens/"

enum { PATH_BYTES = 4096, SEED_BYTES_MAX = 1 << 20 };

/* Where seeds go, and the one that is being made. The first failure is kept, and nothing is done
 * from then on. */
struct sower {
    const char *folder;
    uint8_t *bytes; /* [SEED_BYTES_MAX] */
    size_t size;
    int failed;
    struct error *e;
};

static void add(struct sower *w, const void *bytes, size_t size)
{
    if (!w->failed && size > SEED_BYTES_MAX - w->size)
        w->failed = fail(w->e, "a seed is too large");
    if (w->failed || !size)
        return;
    memcpy(w->bytes + w->size, bytes, size);
    w->size += size;
}

static void add_text(struct sower *w, const char *text)
{
    add(w, text, strlen(text));
}

static void begin_part(struct sower *w)
{
    add_text(w, FUZZ_BETWEEN);
}

/* Adds the first `most` bytes of a file. */
static void add_file(struct sower *w, const char *path, size_t most)
{
    size_t size;
    char *text = w->failed ? NULL : file_read_whole(path, SEED_BYTES_MAX, &size, w->e);
    if (text)
        add(w, text, size < most ? size : most);
    else
        w->failed = -1;
    free(text);
}

static void path_of(char path[PATH_BYTES], struct sower *w, const char *target, const char *name)
{
    snprintf(path, PATH_BYTES, "%s/%s", w->folder, target);
    mkdir(path, 0700);
    snprintf(path, PATH_BYTES, "%s/%s/%s", w->folder, target, name);
}

/* Writes what was added. */
static void sow(struct sower *w, const char *target, const char *name)
{
    char path[PATH_BYTES];
    path_of(path, w, target, name);
    FILE *f = w->failed ? NULL : fopen(path, "wb");
    if (!w->failed && (!f || fwrite(w->bytes, 1, w->size, f) != w->size))
        w->failed = fail(w->e, "%s: cannot be written", path);
    if (f && fclose(f) && !w->failed)
        w->failed = fail(w->e, "%s: cannot be written", path);
    w->size = 0;
}

/* Files that their reader refuses, named so. */
static void sow_refused(struct sower *w, const char *target, const char *const *paths, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char name[128];
        snprintf(name, sizeof name, "refused-%s", path_base(paths[i]));
        add_file(w, paths[i], SIZE_MAX);
        sow(w, target, name);
    }
}

static void sow_text(struct sower *w, const char *target, const char *name, const char *text)
{
    add_text(w, text);
    sow(w, target, name);
}

/* Every file that the pattern names, by itself. */
static void sow_files(struct sower *w, const char *target, const char *pattern)
{
    glob_t found;
    if (w->failed || glob(pattern, 0, NULL, &found)) {
        w->failed = w->failed ? w->failed : fail(w->e, "%s: no such file", pattern);
        return;
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        add_file(w, found.gl_pathv[i], SIZE_MAX);
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
        add(w, &size, sizeof size);
        add_text(w, headers[i]);
        add(w, "abcdefghijklmnopqrstuvwxyz", data[i]);
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
        add_text(w, seeds[i].config);
        add_text(w, FUZZ_BETWEEN);
        add(w, &size, sizeof size);
        add_text(w, seeds[i].header);
        add(w, "!!\"\"##$$%%&&''(())**++,,--",
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
                add(w, z.records[k].data, z.records[k].size);
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
        add_text(w, "model.yml\nsetup.yml");
        for (size_t k = 0; k < found.gl_pathc; k++) {
            add_text(w, "\n");
            add_text(w, path_base(found.gl_pathv[k]));
        }
        const char *folder = i ? "neox-row" : "neox-column";
        snprintf(pattern, sizeof pattern, GOLDENS "torch/%s/global_step10/configs/model.yml",
                 folder);
        begin_part(w);
        add_file(w, pattern, SIZE_MAX);
        snprintf(pattern, sizeof pattern, GOLDENS "torch/%s/global_step10/configs/setup.yml",
                 folder);
        begin_part(w);
        add_file(w, pattern, SIZE_MAX);
        for (size_t k = 0; k < found.gl_pathc; k++) {
            begin_part(w);
            add_file(w, found.gl_pathv[k], SIZE_MAX);
        }
        sow(w, "neox", cases[i].name);
        globfree(&found);
    }
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
        add_text(w, json_string_value(json_array_get(one, 0)));
        snprintf(name, sizeof name, "%zu", i);
        sow(w, "yaml", name);
    }
    json_decref(cases);
}

/* config.json and tensors of checkpoints with scales beside their matrices. */
static void sow_quantised(struct sower *w)
{
    static const char *const names[] = {"tensors-bitsandbytes", "tensors-fp8", "gpt2-nf4",
                                        "gpt2-int8"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[PATH_BYTES];
        snprintf(path, sizeof path, GOLDENS "quantised/%s/config.json", names[i]);
        add_file(w, path, SIZE_MAX);
        begin_part(w);
        snprintf(path, sizeof path, GOLDENS "quantised/%s/model.safetensors", names[i]);
        add_file(w, path, SIZE_MAX);
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
        if (strcmp(name, "fairseq-version-2") == 0) /* the target gives it another version */
            continue;
        add_file(w, config, SIZE_MAX);
        if (!strncmp(name, "own", 3))
            sow(w, "config", name), add_file(w, config, SIZE_MAX);
        begin_part(w);
        char *tensors = file_read_whole(path, SEED_BYTES_MAX, &size, w->e);
        if (tensors) {
            memcpy(&header, tensors, sizeof header);
            add(w, tensors + sizeof header, header);
            sow(w, "family", name);
        } else {
            w->failed = -1;
        }
        free(tensors);
    }
    globfree(&found);
}

/* -- text and tokens -- */

static void sow_tokenizers(struct sower *w)
{
    glob_t found;
    if (w->failed || glob(GOLDENS "tokenizer/*.json", 0, NULL, &found)) {
        w->failed = w->failed ? w->failed : fail(w->e, "no goldens of tokenizers");
        return;
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *name = path_base(found.gl_pathv[i]);
        if (strcmp(name, "behaviors.json") == 0 ||
            strcmp(name, "words.json") == 0) /* lists of cases */
            continue;
        add_file(w, found.gl_pathv[i], SIZE_MAX);
        begin_part(w);
        add_file(w, GOLDENS "tokenizer/text.bin", 300 + 10 * i);
        begin_part(w);
        add_text(w, "{\"add_bos_token\": false}");
        sow(w, "tokenizer", name);
    }
    globfree(&found);
    sow_text(w, "tokenizer", "small-unigram",
             "{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"byte_fallback\":true,\"vocab\":[[\"<"
             "u>\",0],[\"a\",-1.5],[\"ab\",-2.25],"
             "[\"_\",-3e0],[\"_b\",-1]]},\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{"
             "\"type\":\"Strip\",\"strip_left\":"
             "true,"
             "\"strip_right\":true},{\"type\":\"StripAccents\"}]},\"pre_tokenizer\":{\"type\":"
             "\"Metaspace\",\"replacement\":\"_\"}"
             "}" FUZZ_BETWEEN " ab  a\xCC\x81 bxab ");
    /* small ones, which take a tenth of the time, with the parts that those lack */
    sow_text(w, "tokenizer", "small-bytes",
             "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,\"abb\":3,\"c\":4},"
             "\"merges\":[\"a "
             "b\",[\"ab\",\"b\"]],\"ignore_merges\":true},\"normalizer\":{\"type\":\"Sequence\","
             "\"normalizers\":[{\"type\":\"NFKC\"},{"
             "\"type\":\"Replace\",\"pattern\":{\"Regex\":\"[ "
             "x]{1,2}\"},\"content\":\"b\"},{\"type\":\"Lowercase\"}]},\"pre_tokenizer\":{\"type\":"
             "\"Sequence\",\"pretokenizers\":[{"
             "\"type\":\"Split\",\"pattern\":{\"Regex\":\"\\\\s+(?!\\\\S)|[a\\\\p{L}]?c\"},"
             "\"behavior\":\"MergedWithNext\"},{\"type\":"
             "\"Digits\",\"individual_digits\":true},{\"type\":\"ByteLevel\",\"add_prefix_space\":"
             "true}]}}" FUZZ_BETWEEN "abbx ac  \xC3\x84 a12 \xFF");
    sow_text(w, "tokenizer", "small-fallback",
             "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"_\":1,\"_a\":2,\"<0x62>\":3,\"<s>"
             "\":4,\"<u>\":5},\"merges\":[\"_ "
             "a\"],\"byte_fallback\":true,\"unk_token\":\"<u>\",\"fuse_unk\":true},\"pre_"
             "tokenizer\":{\"type\":\"Metaspace\","
             "\"replacement\":\"_\",\"prepend_scheme\":\"first\"},\"added_tokens\":[{\"id\":4,"
             "\"content\":\"<s>\",\"special\":"
             "true,\"lstrip\":true},{\"id\":6,\"content\":\"xy\",\"single_word\":true}],\"post_"
             "processor\":{\"type\":"
             "\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"<s>\",\"type_id\":0}},"
             "{\"Sequence\":{\"id\":\"A\","
             "\"type_id\":0}}],\"special_tokens\":{\"<s>\":{\"id\":\"<s>\",\"ids\":[4],\"tokens\":["
             "\"<s>\"]}}}}" FUZZ_BETWEEN "a aba <s>xy xyz?" FUZZ_BETWEEN
             "{\"bos_token\":\"<s>\",\"add_bos_token\":true}");
    sow_text(w, "merges", "small",
             "{\"a\":0,\"b\":1,\"ab\":2}" FUZZ_BETWEEN "#version: 0.2\na b\n" FUZZ_BETWEEN "ab ba");
    add_file(w, GOLDENS "tokenizer/two-files/vocab.json", SIZE_MAX);
    begin_part(w);
    add_file(w, GOLDENS "tokenizer/two-files/merges.txt", SIZE_MAX);
    begin_part(w);
    add_file(w, GOLDENS "tokenizer/text.bin", 400);
    sow(w, "merges", "two-files");
}

static void sow_charsmap(struct sower *w, const char *path)
{
    size_t size;
    struct pieces p = {0};
    char *model = w->failed ? NULL : file_read_whole(path, 1 << 20, &size, w->e);
    if (!model || pieces_parse(&p, (struct span){model, size}, w->e))
        w->failed = -1;
    add(w, p.charsmap.text, p.charsmap.size);
    begin_part(w);
    add_text(w, "A\xC3\x89 e\xCC\x81  \xEF\xAC\x81 x\xE2\x80\xA6\xE3\x80\x80");
    sow(w, "charsmap", path_base(path));
    free(p.piece);
    free(model);
}

static void sow_pieces(struct sower *w)
{
    static const char *const models[] = {"unigram-user", "unigram-bytes", "bpe-bytes",
                                         "bpe-unsplit"};
    char path[128];
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        snprintf(path, sizeof path, GOLDENS "tokenizer/pieces/%s.model", models[i]);
        add_file(w, path, SIZE_MAX);
        begin_part(w);
        add_file(w, GOLDENS "tokenizer/text.bin", 500);
        sow(w, "pieces", models[i]);
    }
    sow_charsmap(w, GOLDENS "tokenizer/pieces/unigram-user.model");
}

static void sow_tokens(struct sower *w)
{
    static const char *const indexes[] = {"mmididx-1", "mmididx-3", "mmididx-4",
                                          "mmididx-5", "mmididx-8", "tntidx-8"};
    static const char *const headers[] = {"'descr': '<u2', 'fortran_order': False, 'shape': (4,), ",
                                          "'descr': '>i8', 'fortran_order': True, 'shape': (1, 1)",
                                          "'shape': (2, 4), 'fortran_order': True, 'descr': '|u1'"};
    char path[PATH_BYTES];
    for (size_t i = 0; i < sizeof indexes / sizeof *indexes; i++) {
        snprintf(path, sizeof path, GOLDENS "tokens/%s.idx", indexes[i]);
        add_file(w, path, SIZE_MAX);
        begin_part(w);
        snprintf(path, sizeof path, GOLDENS "tokens/%s.bin", indexes[i]);
        add_file(w, path, SIZE_MAX);
        sow(w, "indexed", indexes[i]);
    }
    for (size_t i = 0; i < 3; i++) {
        char name[24];
        const unsigned char start[] = {0x93, 'N', 'U',
                                       'M',  'P', 'Y',
                                       1,    0,   (unsigned char)(strlen(headers[i]) + 3),
                                       0};
        add(w, start, sizeof start);
        add_text(w, "{"), add_text(w, headers[i]), add_text(w, "}\n");
        add(w, "\0\0\0\0\0\0\1\2", 8);
        snprintf(name, sizeof name, "%zu", i);
        sow(w, "npy", name);
    }
    sow_files(w, "llmc_tokens", GOLDENS "tokens/llmc-*.bin");
    sow_files(w, "hdf_tokens", GOLDENS "tokens/named.h5");
    sow_files(w, "hdf_tokens", GOLDENS "tokens/only.h5");
    static const char *const refused[] = {GOLDENS "tokens/table.h5", GOLDENS "tokens/two.h5",
                                          GOLDENS "tokens/virtual.h5"};
    sow_refused(w, "hdf_tokens", refused, sizeof refused / sizeof *refused);
    add_file(w, GOLDENS "tokenizer/text.bin", 1000);
    uint8_t packed[4096];
    z_stream z = {.next_in = w->bytes,
                  .avail_in = (uInt)w->size,
                  .next_out = packed,
                  .avail_out = sizeof packed};
    if (!w->failed && (deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) != Z_OK ||
                       deflate(&z, Z_FINISH) != Z_STREAM_END))
        w->failed = fail(w->e, "zlib");
    deflateEnd(&z);
    sow(w, "gzip", "plain");
    for (int members = 1; members <= 2; members++) {
        for (int i = 0; i < members; i++)
            add(w, packed, sizeof packed - z.avail_out);
        sow(w, "gzip", members == 1 ? "one" : "two");
    }
    static const char lines[] = "{\"text\": \"a\\n\\u00e4\", \"meta\": {\"n\": [1, NaN]}}\n\n"
                                "  {\"n\": 2, \"text\": \"\"}\r\n{\"text\": \"last\"}";
    add(w, lines, sizeof lines - 1);
    sow(w, "records", "lines");
}

/* -- results -- */

static void sow_result(struct sower *w)
{
    double norm[6] = {1, 2, 3, 4, 5, 6}, logprob[2] = {-1, -2}, sums[4] = {1, -2, 3, -4},
           vector[3] = {0.5, 0.25, 0.25};
    uint8_t status[2] = {SEGMENT_DONE, SEGMENT_EXCLUDED};
    uint64_t start[2] = {0, 4}, words[3] = {1, 2, 3};
    int32_t ids[8] = {3, 1, 4, 1, 5, 9, 2, 6}, piece_ids[2] = {1, 4};
    uint64_t ends[2] = {1, 3};
    uint8_t bytes[3] = {'a', 0xE2, 0};
    struct result_attribute attributes[2] = {{"family", "gpt2"}, {"layers", "12"}};
    struct result_field fields[2];
    struct result_model models[2];
    for (int i = 0; i < 2; i++) {
        fields[i] = (struct result_field){
            .target = 4,
            .layer = (size_t)i,
            .positions = 3,
            .norm = norm,
            .logprob = logprob,
            .status = status,
            .summary = {.s = vector, .c = vector, .c_lo = vector, .c_hi = vector},
            .attributes = attributes,
            .attribute_count = 2};
        models[i] = (struct result_model){
            .segments = 2, .wide = i, .start = start, .fields = fields, .field_count = 1};
        snprintf(models[i].name, sizeof models[i].name, "model %d", i);
    }
    static const char *const names[] = {"one", "two", "layer",
                                        "shard"}; /* layer: one model, with a layer of its target */
    for (size_t i = 0; i < 4 && !w->failed; i++) {
        char path[PATH_BYTES];
        const struct result r = {.version = (char[]){"1"},
                                 .command = (char[]){"reach erf"},
                                 .shards = i == 3,
                                 .models = models,
                                 .model_count = i == 1 ? 2 : 1};
        path_of(path, w, "result", names[i]);
        models[0].field_count = i == 2 ? 2 : 1;
        models[0].tokens = i ? NULL : ids;
        models[0].pieces = i ? (struct token_texts){0}
                             : (struct token_texts){.count = 2,
                                                    .size = 3,
                                                    .id = piece_ids,
                                                    .end = ends,
                                                    .bytes = bytes};
        if (i == 3) {
            fields[0].completeness = sums;
            models[0].attention = (struct result_attention){
                .layers = 1, .heads = 1, .positions = 3, .high = words, .low = words};
        }
        struct atomic_file f;
        w->failed = result_stage(path, &r, &f, w->e) || atomic_place(&f, w->e) ? -1 : 0;
    }
}

static void sow_journal(struct sower *w)
{
    static const char *const settings[] = {"seed=1\nlength=4\nmodel=a b\n",
                                           "seed=2\nlength=4\nmodel=a b\n"};
    static const struct journal_sizes sizes = {.models = 2, .values = 3, .words = 2};
    const double values[3] = {1, 2, 3};
    const uint64_t words[2] = {4, 5};
    for (uint32_t i = 0; i < 2 && !w->failed; i++) {
        char path[PATH_BYTES];
        path_of(path, w, "journal", i ? "refused-other" : "same");
        struct journal *j = journal_create(path, &sizes, settings[i], w->e);
        if (!j) {
            w->failed = -1;
            return;
        }
        for (uint32_t k = 0; k < 3; k++) {
            const struct journal_record segment = {
                .kind = JOURNAL_SEGMENT,
                .model = i,
                .segment = {.segment = k, .status = 1, .logprob = -1, .values = values}};
            const struct journal_record attention = {.kind = JOURNAL_ATTENTION,
                                                     .model = i,
                                                     .attention = {k + 1, k,
                                                                   sizeof words / sizeof *words,
                                                                   words, words}};
            const struct journal_record losses = {.kind = JOURNAL_LOSSES,
                                                  .model = i,
                                                  .losses = {.first = k,
                                                             .count = 2,
                                                             .values = values}};
            w->failed |= journal_append(j, &segment, w->e) | journal_append(j, &attention, w->e) |
                         journal_append(j, &losses, w->e);
        }
        w->failed |= journal_close(j, w->e);
    }
}

static void sow_tables(struct sower *w)
{
    add_file(w, GOLDENS "fit/data.csv", 2000);
    while (w->size && w->bytes[w->size - 1] != '\n')
        w->size--;
    sow(w, "csv", "data");
    sow_text(w, "csv", "curve",
             "# reach\nmodel,target,layer,distance,s,c\na,1,2,0,0.5,0.5\na,1,2,1,0.5,1\n");
    sow_text(w, "csv", "quoted",
             "\xEF\xBB\xBF\"a \"\"b\"\"\",\"c\nd\"\r\n1,inf\r\n\r\n\"2\",-1e-3");
}

/* A table of every kind and an erf.h5, as runs wrote them. */
static void sow_reports(struct sower *w)
{
    sow_files(w, "report", GOLDENS "tables/*.csv");
    static const char *const drawn[][2] = {{"attention"},     {"bias"},        {"curve"},
                                           {"fit"},           {"gain"},        {"summary"},
                                           {"trf"},           {"validation"},  {"ppl"},
                                           {"ppl", "tokens"}, {"curve", "trf"}};
    for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++) {
        char path[128], name[64];
        for (int k = 0; k < 2 && drawn[i][k]; k++) {
            if (k)
                begin_part(w);
            snprintf(path, sizeof path, GOLDENS "tables/%s.csv", drawn[i][k]);
            add_file(w, path, SIZE_MAX);
        }
        snprintf(name, sizeof name, "%s-%s", drawn[i][0], drawn[i][1] ? drawn[i][1] : "alone");
        sow(w, "plot", name);
    }
    add_file(w, GOLDENS "tables/attention.csv", SIZE_MAX);
    begin_part(w);
    add_file(w, GOLDENS "tables/erf.h5", SIZE_MAX);
    sow(w, "report_result", "attention");
    begin_part(w);
    add_file(w, GOLDENS "tables/erf.h5", SIZE_MAX);
    sow(w, "report_result", "alone");
    sow_files(w, "explain_result", GOLDENS "tables/erf.h5");
}

/* -- formulas -- */

static void sow_formulas(struct sower *w)
{
    static const char *const formulas[] = {"alibi",
                                           "-ln(1 + t^2)",
                                           "-0.1*t",
                                           "kerple_log",
                                           "window(w=8)",
                                           "t < 3 ? 0 : -inf",
                                           "sandwich",
                                           "-t^0.5 - 2*ln(1+t)",
                                           "sum(k,1,8,cos(t/10^(k/8)))",
                                           "-max(1,min(t,h*d/H))",
                                           "t5(4,16)",
                                           "-floor(t/7)",
                                           "type1",
                                           "-exp(t)",
                                           "-(t == 2) * 3"};
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++) {
        char name[24];
        snprintf(name, sizeof name, "%zu", i);
        sow_text(w, "formula", name, formulas[i]);
        sow_text(w, "series", name, formulas[i]);
    }
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
    static const char *const torch[] = {"fairseq",
                                        "legacy",
                                        "nested",
                                        "plain",
                                        "refused-complex",
                                        "refused-expanded",
                                        "refused-fairseq-object"};
    for (size_t i = 0; i < sizeof torch / sizeof *torch; i++) {
        char path[PATH_BYTES];
        snprintf(path, sizeof path, GOLDENS "torch/%s.pt",
                 torch[i] + (strncmp(torch[i], "refused-", 8) ? 0 : 8));
        add_file(&w, path, SIZE_MAX);
        sow(&w, "torch", torch[i]);
    }
    sow_neox(&w);
    sow_yaml(&w);
    sow_files(&w, "llmc", GOLDENS "torch/llmc-*.bin");
    sow_files(&w, "gguf", GOLDENS "gguf/phi*.gguf");
    sow_files(&w, "gguf", GOLDENS "gguf/qwen2.gguf");
    sow_files(&w, "gguf", GOLDENS "gguf/falcon-queries.gguf");
    sow_files(&w, "gguf", GOLDENS "gguf/small.gguf");
    sow_files(&w, "gguf", GOLDENS "gguf/tokenizer/[gl]*.gguf");
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
