/* Tokenizers against the ids that the `tokenizers` library finds, beginning-of-text tokens, and
 * files that must be refused. Goldens and the script that makes them: tests/goldens/tokenizer. */
#include "io/tokenizer/text.h"
#include "io/tokenizer/tokenizer.h"
#include "io/tokens/tokens.h"
#include "tests/scratch.h"
#include "tests/small_tokenizer.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GOLDENS "tests/goldens/tokenizer/"

/* -- goldens -- */

static void compare(const char *name, struct tokenizer *t, const unsigned char *text, size_t size)
{
    char path[128];
    const char *file = path;
    struct tokens wanted;
    struct error e = {""};
    struct ids ids = {0};
    snprintf(path, sizeof path, GOLDENS "%s.npy", name);
    assert_int_equal(tokens_read_files(&wanted, &file, 1, &e), 0);
    /* words are remembered from the first time on */
    for (int time = 0; time < 2; time++) {
        ids.count = 0;
        if (tokenizer_encode(t, &ids, text, size, &e)) {
            print_error("%s: %s\n", name, e.text);
            fail();
        }
        for (size_t i = 0; i < ids.count && i < wanted.total; i++)
            if (ids.id[i] != wanted.ids[i]) {
                print_error("%s: time %d, token %zu is %d (expected %d)\n", name, time + 1, i,
                            ids.id[i], wanted.ids[i]);
                fail();
            }
        if (ids.count != wanted.total) {
            print_error("%s: time %d, %zu tokens (expected %zu)\n", name, time + 1, ids.count,
                        wanted.total);
            fail();
        }
    }
    free(ids.id);
    tokens_free(&wanted);
}

static void test_goldens(void **state)
{
    (void)state;
    static const char *const names[] = {
        "gpt2",       "gpt2-added", "gpt-neox",     "llama3",           "qwen2",
        "cased",      "possessive", "bloom",        "falcon",           "starcoder",
        "chain",      "llama2",     "llama2-added", "llama2-metaspace", "metaspace",
        "some-bytes", "gemma",      "words",        "behaviors"};
    size_t size, json_size;
    unsigned char *text = scratch_read(GOLDENS "text.bin", &size);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct error e = {""};
        char path[128];
        snprintf(path, sizeof path, GOLDENS "%s.json", names[i]);
        unsigned char *json = scratch_read(path, &json_size);
        struct tokenizer *t = tokenizer_parse((struct source){path, (const char *)json, json_size},
                                              NULL, &e);
        if (!t)
            print_error("%s\n", e.text);
        assert_non_null(t);
        compare(names[i], t, text, size);
        tokenizer_close(t);
        free(json);
    }
    free(text);
}

static void test_folders(void **state)
{
    (void)state;
    struct error e = {""};
    struct tokenizer *t;
    size_t size, json_size;
    unsigned char *text = scratch_read(GOLDENS "text.bin", &size),
                  *json = scratch_read(GOLDENS "llama2.json", &json_size);
    /* vocab.json and merges.txt, and a file beside them */
    assert_int_equal(tokenizer_open(&t, GOLDENS "two-files", &e), 0);
    assert_non_null(t);
    compare("two-files", t, text, size);
    assert_int_equal(tokenizer_bos(t), 0);
    assert_int_equal(tokenizer_adds_bos(t), 0);
    tokenizer_close(t);
    assert_int_equal(tokenizer_open(&t, GOLDENS "two-files/merges.txt", &e), 0);
    assert_non_null(t);
    tokenizer_close(t);
    /* tokenizer.json with tokenizer_config.json */
    scratch_write(scratch_folder, "tokenizer.json", json, json_size);
    scratch_write(scratch_folder, "tokenizer_config.json",
                  "{\"add_bos_token\": false, \"bos_token\": \"</s>\"}", 45);
    assert_int_equal(tokenizer_open(&t, scratch_folder, &e), 0);
    compare("llama2", t, text, size);
    assert_int_equal(tokenizer_bos(t), 2);
    assert_int_equal(tokenizer_adds_bos(t), 0);
    tokenizer_close(t);
    /* none, which is no error, and one that cannot be read */
    assert_int_equal(tokenizer_open(&t, GOLDENS, &e), 0);
    assert_null(t);
    assert_int_equal(tokenizer_open(&t, scratch_path(scratch_folder, "absent"), &e), 0);
    assert_null(t);
    scratch_write(scratch_folder, "tokenizer_config.json", "[", 1);
    assert_int_equal(tokenizer_open(&t, scratch_folder, &e), -1);
    assert_int_equal(check_message("config", &e,
                                   "tokenizer_config.json: the file is not valid JSON"),
                     0);
    assert_null(t);
    free(json);
    free(text);
}

/* -- folders of classes -- */

static void write_json(const char *name, const json_t *value)
{
    char *text = json_dumps(value, 0);
    assert_non_null(text);
    scratch_write(scratch_folder, name, text, strlen(text));
    free(text);
}

/* The files of a case: its base, as tokenizer.json, as vocab.json and merges.txt, or as
 * tokenizer.model, and those beside it. */
static void make_folder(const char *base, json_t *files)
{
    static const char *const all[] = {"tokenizer.json",
                                      "vocab.json",
                                      "merges.txt",
                                      "tokenizer.model",
                                      "tokenizer_config.json",
                                      "added_tokens.json",
                                      "special_tokens_map.json",
                                      "config.json"};
    char path[256];
    size_t size;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        unlink(scratch_path(scratch_folder, all[i]));
    snprintf(path, sizeof path, GOLDENS "%s", base);
    unsigned char *bytes = scratch_read(path, &size);
    if (strcmp(base, "qwen2.json") == 0) {
        json_t *root = json_loadb((const char *)bytes, size, 0, NULL),
               *model = json_object_get(root, "model"), *merge;
        struct buffer merges = {0};
        struct error e;
        size_t i;
        write_json("vocab.json", json_object_get(model, "vocab"));
        json_array_foreach(json_object_get(model, "merges"), i, merge) for (size_t k = 0; k < 2;
                                                                            k++)
        {
            const json_t *part = json_array_get(merge, k);
            const char *text = json_string_value(part ? part : merge);
            if (k == 0 || part)
                assert_int_equal(buffer_add(&merges, text, strlen(text), &e) |
                                     buffer_add(&merges, k == 0 && part ? " " : "\n", 1, &e),
                                 0);
        }
        scratch_write(scratch_folder, "merges.txt", merges.text, merges.size);
        buffer_free(&merges);
        json_decref(root);
    } else {
        scratch_write(scratch_folder, strstr(base, ".json") ? "tokenizer.json" : "tokenizer.model",
                      bytes, size);
    }
    for (void *at = json_object_iter(files); at; at = json_object_iter_next(files, at))
        write_json(json_object_iter_key(at), json_object_iter_value(at));
    free(bytes);
}

/* Ids of AutoTokenizer (classes/make.py). */
static void test_classes(void **state)
{
    (void)state;
    json_t *root = json_load_file(GOLDENS "classes/ids.json", 0, NULL), *one;
    const char *text = json_string_value(json_object_get(root, "text"));
    size_t i;
    assert_true(json_array_size(json_object_get(root, "cases")) > 20);
    json_array_foreach(json_object_get(root, "cases"), i, one)
    {
        struct error e = {""};
        struct tokenizer *t;
        struct ids ids = {0};
        const json_t *want = json_object_get(one, "ids");
        make_folder(json_string_value(json_object_get(one, "base")), json_object_get(one, "files"));
        if (tokenizer_open(&t, scratch_folder, &e) || !t ||
            tokenizer_encode(t, &ids, text, strlen(text), &e))
            fail_msg("case %zu: %s", i, e.text);
        for (size_t k = 0; k < ids.count; k++)
            if (ids.id[k] != json_integer_value(json_array_get(want, k)))
                fail_msg("case %zu: token %zu is %d (expected %d)", i, k, ids.id[k],
                         (int)json_integer_value(json_array_get(want, k)));
        assert_int_equal(ids.count, json_array_size(want));
        free(ids.id);
        tokenizer_close(t);
    }
    json_decref(root);
}

static void test_refused_classes(void **state)
{
    (void)state;
    static const struct {
        const char *base, *name, *text, *words;
    } cases[] = {
        {"qwen2.json", "tokenizer_config.json", "{\"tokenizer_class\":\"OpenAIGPTTokenizer\"}",
         "tokenizer_config.json: the class OpenAIGPTTokenizer is not read from vocab.json and "
         "merges.txt (expected "
         "GPT2Tokenizer"},
        {"qwen2.json", "tokenizer_config.json", "{\"tokenizer_class\":\"RobertaTokenizerFast\"}",
         "the class RobertaTokenizerFast"},
        {"qwen2.json", "config.json", "{\"model_type\":\"openai-gpt\"}",
         "config.json: the class OpenAIGPTTokenizer"},
        {"qwen2.json", "config.json", "{\"model_type\":\"ctrl\"}", "the class CTRLTokenizer"},
        {"qwen2.json", "config.json", "{\"model_type\":\"biogpt\"}", "the class BioGptTokenizer"},
        {"qwen2.json", "config.json", "{\"tokenizer_class\":\"BertTokenizer\"}",
         "the class BertTokenizer"},
        {"gpt2.json", "added_tokens.json", "{\"<|turn|>\":501}",
         "the added token '<|turn|>' has the id 501 (expected 500: it is not in tokenizer.json"},
        {"gpt2.json", "added_tokens.json", "{\"<|turn|>\":\"x\"}",
         "added_tokens.json: the id of '<|turn|>' is not a whole number"},
        {"gpt2.json", "special_tokens_map.json", "[",
         "special_tokens_map.json: the file is not valid JSON"},
        {"gpt2.json", "tokenizer_config.json", "{\"pad_token\":5}",
         "pad_token is neither a text nor an object with content"},
        {"gpt2.json", "tokenizer_config.json", "{\"extra_special_tokens\":[1]}",
         "a token is neither a text nor an object"},
        {"gpt2.json", "tokenizer_config.json", "{\"added_tokens_decoder\":[]}",
         "added_tokens_decoder is not an object"},
        {"gpt2.json", "tokenizer_config.json",
         "{\"added_tokens_decoder\":{\"x\":{\"content\":\"y\"}}}",
         "added_tokens_decoder has the key 'x' (expected ids)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        struct tokenizer *t;
        make_folder(cases[i].base, NULL);
        scratch_write(scratch_folder, cases[i].name, cases[i].text, strlen(cases[i].text));
        assert_int_equal(tokenizer_open(&t, scratch_folder, &e), -1);
        assert_int_equal(check_message(cases[i].text, &e, cases[i].words), 0);
    }
    make_folder("gpt2.json", NULL);
    unlink(scratch_path(scratch_folder, "tokenizer.json"));
    static const char tiktoken[] = "IQ== 0\nIg== 1\nIw== 2\n";
    struct error e = {""};
    struct tokenizer *t;
    scratch_write(scratch_folder, "tokenizer.model", tiktoken, sizeof tiktoken - 1);
    assert_int_equal(tokenizer_open(&t, scratch_folder, &e), -1);
    assert_int_equal(
        check_message(
            "tiktoken", &e,
            "tokenizer.model: is a vocabulary of tiktoken, which does not say how text is split"),
        0);
    unlink(scratch_path(scratch_folder, "tokenizer.model"));
}

/* -- small tokenizers -- */

#define ESCAPES \
    "\"a\":0 ,\n\t\"\\\"\" : " \
    "1,\"\\\\\":2,\"\\u00E9\":3,\"a\\u0022\":4,\"\\/\":5,\"\\n\":6,\"\\u0120\":7"

#define ESCAPED_MERGES "\"merges\": [ [\"a\" , \"\\u0022\" ] ]"

#define ESCAPED "\"vocab\" : {" ESCAPES "}," ESCAPED_MERGES

static void test_words(void **state)
{
    (void)state;
    const struct {
        const char *json, *text;
        int count;
        int32_t ids[12];
    } cases[] = {
        {"{" MODEL(ABC) "}", "abcab a", 4, {6, 2, 3, 0}},
        {"{" MODEL(ABC) "}", "", 0, {0}},
        {"{" MODEL(ABC) "}", "xaxyb", 1, {2}}, /* what has no token and no stand-in is not there */
        {"{" MODEL(ABC ",\"unk_token\":\"<s>\"") "}", "xaxyb", 5, {4, 0, 4, 4, 1}},
        {"{" MODEL(ABC ",\"unk_token\":\"<s>\",\"fuse_unk\":true") "}", "xaxyb", 4, {4, 0, 4, 1}},
        /* the lowest rank first, wherever it is; of equals the leftmost */
        {"{" MODEL("\"vocab\":{\"a\":0,\"b\":1,\"c\":2,\"ab\":3,\"bc\":4},\"merges\":[\"b c\",\"a "
                   "b\"]") "}",
         "abcab",
         3,
         {0, 4, 3}},
        {"{" MODEL("\"vocab\":{\"a\":0,\"aa\":1,\"aaaa\":2},\"merges\":[\"a a\",\"aa aa\"]") "}",
         "aaaaaaa",
         3,
         {2, 1, 0}},
        /* ids need not be dense */
        {"{" MODEL("\"vocab\":{\"a\":2147483646},\"merges\":[]") "}",
         "aa",
         2,
         {2147483646, 2147483646}},
        /* U+09FE came with Unicode 11: of no combining class for Unicode 9, so that U+09CD stays
           behind it */
        {"{" MODEL("\"vocab\":{\"\u09fe\":0,\"\u09cd\":1},\"merges\":[]") ",\"normalizer\":{"
                                                                          "\"type\":\"NFC\"}}",
         "\u09fe\u09cd",
         2,
         {0, 1}},
        {"{" MODEL("\"vocab\":{\"\u0323\":0,\"\u0301\":1},\"merges\":[]") ",\"normalizer\":{"
                                                                          "\"type\":\"NFC\"}}",
         "\u0301\u0323",
         2,
         {0, 1}},
        {"{" MODEL(ABC ",\"ignore_merges\":true,\"dropout\":0.0") "}", "ab", 1, {2}},
        /* every way to write a text of JSON, white space, and the merges first; a pair of
           surrogates is Jansson's to read */
        {"{ " MODEL(ESCAPED) "}", "a\"\\\u00e9/\n\u0120", 6, {4, 2, 3, 5, 6, 7}},
        {"{ " MODEL("\"vocab\":{\"\\ud83d\\ude00\":8," ESCAPES "}," ESCAPED_MERGES) "}",
         "a\"\\\u00e9/\n\u0120\U0001f600",
         7,
         {4, 2, 3, 5, 6, 7, 8}},
        {"{ " MODEL(ESCAPED_MERGES ",\"vocab\":{" ESCAPES "}") "}", "a\"\\", 2, {4, 2}},
        /* names and brackets that stand in texts, or elsewhere */
        {"{\"x\":\"\\\"model\\\":{\",\"vocab\":{\"a\":9},\"y\":{\"model\":{\"vocab\":{}}}," MODEL(
             ABC) "}",
         "abc",
         1,
         {6}},
        {"{" MODEL("\"vocab\":{\"a\":0,\"}\":1,\"a}\":2,\"]\":3},\"merges\":[\"a }\"]") "}",
         "a}]",
         2,
         {2, 3}},
        /* added tokens: longest first, white space, whole words */
        {"{" MODEL(ABC) ",\"added_tokens\":[{\"id\":7,\"content\":\"x\",\"normalized\":false},{"
                        "\"id\":8,\"content\":\"xx\","
                        "\"normalized\":false}]}",
         "xxxaxx",
         4,
         {8, 7, 0, 8}},
        {"{" MODEL(ABC) ",\"added_tokens\":[{\"id\":4,\"content\":\"<s>\",\"special\":true,"
                        "\"lstrip\":true,\"rstrip\":true}]}",
         "a  <s>\n b<s><s>",
         5,
         {0, 4, 1, 4, 4}},
        {"{" MODEL(ABC) ",\"added_tokens\":[{\"id\":0,\"content\":\"a\",\"single_word\":true},{"
                        "\"id\":7,\"content\":\"-\","
                        "\"normalized\":true}]}",
         "a-ab ba a",
         8,
         {0, 7, 2, 3, 1, 0, 3, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        struct ids ids = {0};
        struct tokenizer *t = small_tokenizer(cases[i].json, NULL, &e);
        if (!t || tokenizer_encode(t, &ids, cases[i].text, strlen(cases[i].text), &e)) {
            print_error("case %zu: %s\n", i, e.text);
            fail();
        }
        int wrong = ids.count != (size_t)cases[i].count;
        for (size_t k = 0; !wrong && k < ids.count; k++)
            wrong = ids.id[k] != cases[i].ids[k];
        if (wrong) {
            print_error("case %zu, '%s':", i, cases[i].text);
            for (size_t k = 0; k < ids.count; k++)
                print_error(" %d", ids.id[k]);
            print_error("\n");
            fail();
        }
        free(ids.id);
        tokenizer_close(t);
    }
}

/* With ignore_merges a word that is a token is that token; a part of a long word that happens to be
 * one is not. */
static void test_ignore_merges(void **state)
{
    (void)state;
    enum { LONG = 70 };
    static const char json[] = "{" MODEL(
        "\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,\"c\":3,\"x\":4,\"xa\":5,\"xab\":6},\"merges\":[\"x "
        "a\",\"xa "
        "b\"],\"ignore_merges\":true") ",\"pre_tokenizer\":{\"type\":\"WhitespaceSplit\"}}";
    struct error e = {""};
    struct ids ids = {0};
    char text[LONG + 8];
    struct tokenizer *t = small_tokenizer(json, NULL, &e);
    assert_non_null(t);
    memset(text, 'c', sizeof text);
    memcpy(text, "ab ", 3);
    memcpy(text + LONG, "ab ab", 5);
    assert_int_equal(tokenizer_encode(t, &ids, text, LONG + 5, &e), 0);
    assert_int_equal(ids.count, 1 + (LONG - 3) + 2 + 1);
    assert_int_equal(ids.id[0], 2);
    for (int i = 1; i <= LONG - 3; i++)
        assert_int_equal(ids.id[i], 3);
    assert_int_equal(ids.id[LONG - 2], 0);
    assert_int_equal(ids.id[LONG - 1], 1);
    assert_int_equal(ids.id[LONG], 2);
    free(ids.id);
    tokenizer_close(t);
}

static void test_bos(void **state)
{
    (void)state;
    const struct {
        const char *json, *settings;
        int bos, adds;
    } cases[] = {
        {"{" MODEL(ABC) "}", NULL, -1, 0},
        {"{" MODEL(ABC) "}", "{}", -1, 0},
        {"{" MODEL(ABC) "}", "{\"bos_token\":\"<s>\"}", 4, 0},
        {"{" MODEL(ABC) "}", "{\"bos_token\":{\"content\":\"<s>\"},\"add_bos_token\":true}", 4, 1},
        {"{" MODEL(ABC) "}", "{\"bos_token\":\"absent\",\"add_bos_token\":true}", -1, 1},
        {"{" MODEL(ABC) "}", "{\"bos_token\":null,\"add_bos_token\":null}", -1, 0},
        {"{" MODEL(ABC) ",\"truncation\":{\"max_length\":18446744073709551615}}",
         "{\"model_max_length\":1000000000000000019884624838656,\"bos_token\":\"<s>\",\"add_bos_"
         "token\":true}",
         4, 1},
        {"{" MODEL(ABC) "}",
         "{\"model_max_length\":Infinity,\"x\":NaN,\"bos_token\":\"<s>\",\"add_bos_token\":true}",
         4, 1},
        {"{" MODEL(ABC) "," TEMPLATE(SPECIAL("<s>") "," SEQUENCE, S_IDS("4")) "}", NULL, 4, 1},
        {"{" MODEL(ABC) "," TEMPLATE(SPECIAL("<s>") "," SEQUENCE, S_IDS("4")) "}",
         "{\"add_bos_token\":false}", 4, 0},
        {"{" MODEL(ABC) "," TEMPLATE(SPECIAL("<s>") "," SEQUENCE, S_IDS("4")) "}",
         "{\"bos_token\":\"a\"}", 0, 1},
        {"{" MODEL(ABC) "," TEMPLATE(SEQUENCE "," SPECIAL("<s>"), S_IDS("4")) "}", NULL, -1, 0},
        {"{" MODEL(ABC) ",\"post_processor\":{\"type\":\"Sequence\",\"processors\":[{\"type\":"
                        "\"ByteLevel\"},{\"type\":"
                        "\"TemplateProcessing\",\"single\":[" SPECIAL(
                            "<s>") "," SEQUENCE "],\"special_tokens\":{" S_IDS("4") "}}]}}",
         NULL, 4, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        struct tokenizer *t = small_tokenizer(cases[i].json, cases[i].settings, &e);
        if (!t || tokenizer_bos(t) != cases[i].bos || tokenizer_adds_bos(t) != cases[i].adds) {
            print_error("case %zu: bos %d, added %d %s\n", i, t ? tokenizer_bos(t) : -2,
                        t ? tokenizer_adds_bos(t) : -2, e.text);
            fail();
        }
        tokenizer_close(t);
    }
}

/* -- refused -- */

/* -- progress -- */

struct watcher {
    size_t calls, last, stop_at;
};

static int watch(void *context, size_t done, struct error *e)
{
    struct watcher *w = context;
    assert_true(done >= w->last);
    w->last = done;
    return ++w->calls == w->stop_at ? (fail)(e, "enough") : 0;
}

static void test_progress(void **state)
{
    (void)state;
    enum { BYTES = 5 << 20 };
    struct error e = {""};
    struct ids ids = {0};
    char *text = malloc(BYTES);
    for (size_t i = 0; i < BYTES; i++)
        text[i] = "ab c"[i % 4];
    /* one long word of which parts are told, and words of their own */
    const char *const files[] = {"{" MODEL(ABC) "}", SPLITTER("{\"type\":\"WhitespaceSplit\"}")};
    for (size_t i = 0; i < 2; i++) {
        struct watcher w = {0};
        struct tokenizer *t = small_tokenizer(files[i], NULL, &e);
        assert_non_null(t);
        tokenizer_watch(t, watch, &w);
        ids.count = 0;
        assert_int_equal(tokenizer_encode(t, &ids, text, BYTES, &e), 0);
        assert_true(w.calls >= 2 && w.calls <= 6 && w.last <= BYTES);
        w = (struct watcher){.stop_at = 2};
        assert_int_equal(tokenizer_encode(t, &ids, text, BYTES, &e), -1);
        assert_string_equal(e.text, "enough");
        assert_int_equal(w.calls, 2);
        tokenizer_close(t);
    }
    free(ids.id);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goldens),       cmocka_unit_test(test_folders),
        cmocka_unit_test(test_classes),       cmocka_unit_test(test_refused_classes),
        cmocka_unit_test(test_words),         cmocka_unit_test(test_bos),
        cmocka_unit_test(test_ignore_merges), cmocka_unit_test(test_progress),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
