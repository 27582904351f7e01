/* Seeds of texts, tokens, results and formulas. */
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

/* -- text and tokens -- */

void sow_tokenizers(struct sower *w)
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
        sower_file(w, found.gl_pathv[i], SIZE_MAX);
        sower_part(w);
        sower_file(w, GOLDENS "tokenizer/text.bin", 300 + 10 * i);
        sower_part(w);
        sower_text(w, "{\"add_bos_token\": false}");
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
    sower_file(w, GOLDENS "tokenizer/two-files/vocab.json", SIZE_MAX);
    sower_part(w);
    sower_file(w, GOLDENS "tokenizer/two-files/merges.txt", SIZE_MAX);
    sower_part(w);
    sower_file(w, GOLDENS "tokenizer/text.bin", 400);
    sow(w, "merges", "two-files");
}

static void sow_charsmap(struct sower *w, const char *path)
{
    size_t size;
    struct pieces p = {0};
    char *model = w->failed ? NULL : file_read_whole(path, 1 << 20, &size, w->e);
    if (!model || pieces_parse(&p, (struct span){model, size}, w->e))
        w->failed = -1;
    sower_add(w, p.charsmap.text, p.charsmap.size);
    sower_part(w);
    sower_text(w, "A\xC3\x89 e\xCC\x81  \xEF\xAC\x81 x\xE2\x80\xA6\xE3\x80\x80");
    sow(w, "charsmap", path_base(path));
    free(p.piece);
    free(model);
}

static void sow_ranks(struct sower *w)
{
    static const char *const settings[][2] = {
        {"llama", "{\"model_type\":\"llama\",\"vocab_size\":677}"},
        {"kimi", "{\"tokenizer_class\":\"TikTokenTokenizer\",\"added_tokens_decoder\":{\"421\":{"
                 "\"content\":\"[BOS]\"}}}"},
        {"qwen", "{\"tokenizer_class\":\"QWenTokenizer\",\"bos_token\":\"<|endoftext|>\"}"}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        sower_file(w, GOLDENS "tokenizer/tiktoken/ranks.tiktoken", SIZE_MAX);
        sower_part(w);
        sower_file(w, GOLDENS "tokenizer/tiktoken/text.bin", 400);
        sower_part(w);
        sower_text(w, settings[i][1]);
        sow(w, "ranks", settings[i][0]);
    }
}

void sow_pieces(struct sower *w)
{
    static const char *const models[] = {"unigram-user", "unigram-bytes", "bpe-bytes",
                                         "bpe-unsplit"};
    char path[128];
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        snprintf(path, sizeof path, GOLDENS "tokenizer/pieces/%s.model", models[i]);
        sower_file(w, path, SIZE_MAX);
        sower_part(w);
        sower_file(w, GOLDENS "tokenizer/text.bin", 500);
        sow(w, "pieces", models[i]);
    }
    sow_charsmap(w, GOLDENS "tokenizer/pieces/unigram-user.model");
    sow_ranks(w);
}

void sow_tokens(struct sower *w)
{
    static const char *const indexes[] = {"mmididx-1", "mmididx-3", "mmididx-4",
                                          "mmididx-5", "mmididx-8", "tntidx-8"};
    static const char *const headers[] = {"'descr': '<u2', 'fortran_order': False, 'shape': (4,), ",
                                          "'descr': '>i8', 'fortran_order': True, 'shape': (1, 1)",
                                          "'shape': (2, 4), 'fortran_order': True, 'descr': '|u1'"};
    char path[PATH_BYTES];
    for (size_t i = 0; i < sizeof indexes / sizeof *indexes; i++) {
        snprintf(path, sizeof path, GOLDENS "tokens/%s.idx", indexes[i]);
        sower_file(w, path, SIZE_MAX);
        sower_part(w);
        snprintf(path, sizeof path, GOLDENS "tokens/%s.bin", indexes[i]);
        sower_file(w, path, SIZE_MAX);
        sow(w, "indexed", indexes[i]);
    }
    for (size_t i = 0; i < 3; i++) {
        char name[24];
        const unsigned char start[] = {0x93, 'N', 'U',
                                       'M',  'P', 'Y',
                                       1,    0,   (unsigned char)(strlen(headers[i]) + 3),
                                       0};
        sower_add(w, start, sizeof start);
        sower_text(w, "{"), sower_text(w, headers[i]), sower_text(w, "}\n");
        sower_add(w, "\0\0\0\0\0\0\1\2", 8);
        snprintf(name, sizeof name, "%zu", i);
        sow(w, "npy", name);
    }
    sow_files(w, "llmc_tokens", GOLDENS "tokens/llmc-*.bin");
    sower_add(w, "\1\x05\0\x10\x27", 5); /* two of 16 bits */
    sow(w, "raw_tokens", "two");
    sow_files(w, "hdf_tokens", GOLDENS "tokens/named.h5");
    sow_files(w, "hdf_tokens", GOLDENS "tokens/only.h5");
    static const char *const refused[] = {GOLDENS "tokens/table.h5", GOLDENS "tokens/two.h5",
                                          GOLDENS "tokens/virtual.h5"};
    sow_refused(w, "hdf_tokens", refused, sizeof refused / sizeof *refused);
    sower_file(w, GOLDENS "tokenizer/text.bin", 1000);
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
            sower_add(w, packed, sizeof packed - z.avail_out);
        sow(w, "gzip", members == 1 ? "one" : "two");
    }
    static const char lines[] = "{\"text\": \"a\\n\\u00e4\", \"meta\": {\"n\": [1, NaN]}}\n\n"
                                "  {\"n\": 2, \"text\": \"\"}\r\n{\"text\": \"last\"}";
    sower_add(w, lines, sizeof lines - 1);
    sow(w, "records", "lines");
}

/* -- results -- */

void sow_result(struct sower *w)
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
    double decays[2] = {-1, -0.5};
    static const char *const names[] = {"one", "two", "layer",
                                        "shard"}; /* layer: one model, with a layer of its target */
    for (size_t i = 0; i < 4 && !w->failed; i++) {
        char path[PATH_BYTES];
        const struct result r = {.version = (char[]){"1"},
                                 .command = (char[]){"reach erf"},
                                 .shards = i == 3,
                                 .models = models,
                                 .model_count = i == 1 ? 2 : 1};
        sower_path(path, w, "result", names[i]);
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
            models[0].attention = (struct result_attention){.layers = 1,
                                                            .heads = 1,
                                                            .positions = 3,
                                                            .high = words,
                                                            .low = words,
                                                            .recurrence_heads = 2,
                                                            .decay_high = words,
                                                            .decay_low = words,
                                                            .log_decay = decays};
        }
        struct atomic_file f;
        w->failed = result_stage(path, &r, &f, w->e) || atomic_place(&f, w->e) ? -1 : 0;
    }
}

void sow_journal(struct sower *w)
{
    static const char *const settings[] = {"seed=1\nlength=4\nmodel=a b\n",
                                           "seed=2\nlength=4\nmodel=a b\n"};
    static const struct journal_sizes sizes = {.models = 2, .values = 3, .words = 2};
    const double values[3] = {1, 2, 3};
    const uint64_t words[2] = {4, 5};
    for (uint32_t i = 0; i < 2 && !w->failed; i++) {
        char path[PATH_BYTES];
        sower_path(path, w, "journal", i ? "refused-other" : "same");
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

void sow_tables(struct sower *w)
{
    sower_file(w, GOLDENS "fit/data.csv", 2000);
    while (w->size && w->bytes[w->size - 1] != '\n')
        w->size--;
    sow(w, "csv", "data");
    sow_text(w, "csv", "curve",
             "# reach\nmodel,target,layer,distance,s,c\na,1,2,0,0.5,0.5\na,1,2,1,0.5,1\n");
    sow_text(w, "csv", "quoted",
             "\xEF\xBB\xBF\"a \"\"b\"\"\",\"c\nd\"\r\n1,inf\r\n\r\n\"2\",-1e-3");
}

/* A table of every kind and an erf.h5, as runs wrote them. */
void sow_reports(struct sower *w)
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
                sower_part(w);
            snprintf(path, sizeof path, GOLDENS "tables/%s.csv", drawn[i][k]);
            sower_file(w, path, SIZE_MAX);
        }
        snprintf(name, sizeof name, "%s-%s", drawn[i][0], drawn[i][1] ? drawn[i][1] : "alone");
        sow(w, "plot", name);
    }
    sower_file(w, GOLDENS "tables/attention.csv", SIZE_MAX);
    sower_part(w);
    sower_file(w, GOLDENS "tables/erf.h5", SIZE_MAX);
    sow(w, "report_result", "attention");
    sower_part(w);
    sower_file(w, GOLDENS "tables/erf.h5", SIZE_MAX);
    sow(w, "report_result", "alone");
    sow_files(w, "explain_result", GOLDENS "tables/erf.h5");
}

/* -- formulas -- */

void sow_formulas(struct sower *w)
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
