/* Vocabularies of tiktoken against the ids that its library finds with the pattern and the special
 * tokens of each class, and files that must be refused. Goldens and the script that makes them:
 * tests/goldens/tokenizer/tiktoken. */
#include "io/tokenizer/parts.h"
#include "io/tokenizer/texts.h"
#include "io/tokens/tokens.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GOLDENS "tests/goldens/tokenizer/tiktoken/"

enum { RANKS = 421, RANKS_BYTES_MAX = 32 << 20 };

static const char *const files[] = {"tokenizer.json",       "tokenizer.model", "tiktoken.model",
                                    "qwen.tiktoken",        "params.json",     "config.json",
                                    "tokenizer_config.json"};

/* Leaves just the vocabulary under this name and a file beside it in the folder. */
static void make_folder(const char *name, const void *ranks, size_t size, const char *beside,
                        const char *text)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlink(scratch_path(scratch_folder, files[i]));
    scratch_write(scratch_folder, name, ranks, size);
    if (beside)
        scratch_write(scratch_folder, beside, text, strlen(text));
}

static struct tokenizer *open_folder(void)
{
    struct error e = {""};
    struct tokenizer *t;
    if (tokenizer_open(&t, scratch_folder, &e) || !t)
        fail_msg("%s", e.text);
    return t;
}

/* -- goldens -- */

static void compare(const char *name, struct tokenizer *t, const unsigned char *text, size_t size)
{
    char path[128];
    const char *file = path;
    struct tokens wanted;
    struct token_texts texts;
    struct error e = {""};
    struct ids ids = {0};
    size_t at = 0;
    snprintf(path, sizeof path, GOLDENS "%s.npy", name);
    assert_int_equal(tokens_read_files(&wanted, &file, 1, &e), 0);
    if (tokenizer_encode(t, &ids, text, size, &e))
        fail_msg("%s: %s", name, e.text);
    for (size_t i = 0; i < ids.count && i < wanted.total; i++)
        if (ids.id[i] != wanted.ids[i])
            fail_msg("%s: token %zu is %d (expected %d)", name, i, ids.id[i], wanted.ids[i]);
    assert_int_equal(ids.count, wanted.total);
    /* the texts of the first tokens are the text */
    assert_int_equal(tokenizer_texts(&texts, t, ids.id, ids.count, &e), 0);
    for (size_t i = 0; i < 50; i++) {
        size_t bytes;
        const char *piece = texts_find(&texts, ids.id[i], &bytes);
        assert_non_null(piece);
        assert_memory_equal(piece, text + at, bytes);
        at += bytes;
    }
    texts_free(&texts);
    tokens_free(&wanted);
    free(ids.id);
}

static void test_goldens(void **state)
{
    (void)state;
    size_t size, ranks_size, settings_size;
    unsigned char *text = scratch_read(GOLDENS "text.bin", &size),
                  *ranks = scratch_read(GOLDENS "ranks.tiktoken", &ranks_size),
                  *kimi = scratch_read(GOLDENS "kimi.json", &settings_size);
    char params[64], config[96], converted[96], settings[8192];
    snprintf(params, sizeof params, "{\"dim\": 64, \"vocab_size\": %d}", RANKS + 256);
    snprintf(config, sizeof config, "{\"model_type\": \"llama\", \"vocab_size\": %d}", RANKS + 256);
    snprintf(converted, sizeof converted, "{\"model_type\": \"llama_meta\", \"vocab_size\": %d}",
             RANKS + 256);
    snprintf(settings, sizeof settings, "%.*s", (int)settings_size, (const char *)kimi);
    const struct {
        const char *ids, *name, *beside, *text;
        int bos, adds;
    } cases[] = {
        {"llama3", "tokenizer.model", "params.json", params, RANKS, 1},
        {"llama3", "tokenizer.model", "config.json", config, RANKS, 1},
        {"llama3", "tokenizer.model", "config.json", converted, RANKS, 1},
        {"kimi", "tiktoken.model", "tokenizer_config.json", settings, RANKS, 0},
        {"qwen", "qwen.tiktoken", NULL, NULL, -1, 0},
        {"qwen", "qwen.tiktoken", "tokenizer_config.json",
         "{\"tokenizer_class\": \"QWenTokenizer\", \"bos_token\": \"<|endoftext|>\"}", RANKS, 0},
        {"qwen", "tokenizer.model", "config.json", "{\"tokenizer_class\": \"QWenTokenizer\"}", -1,
         0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_folder(cases[i].name, ranks, ranks_size, cases[i].beside, cases[i].text);
        struct tokenizer *t = open_folder();
        compare(cases[i].ids, t, text, size);
        assert_int_equal(tokenizer_bos(t), cases[i].bos);
        assert_int_equal(tokenizer_adds_bos(t), cases[i].adds);
        tokenizer_close(t);
    }
    /* a tokenizer.json comes first */
    static const char json[] =
        "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":7},\"merges\":[]},\"added_tokens\":[]}";
    scratch_write(scratch_folder, "tokenizer.json", json, sizeof json - 1);
    struct tokenizer *t = open_folder();
    assert_int_equal(tokenizer_token(t, "a"), 7);
    tokenizer_close(t);
    free(text);
    free(ranks);
    free(kimi);
}

/* A word that is a token needs no merges, and lines may come in any order, end in CR LF, and have
 * none at the end. */
static void test_lines(void **state)
{
    (void)state;
    static const char more[] = "\r\nYWJj 257\r\n\r\nYmM= 256";
    static char ranks[8192];
    struct error e = {""};
    struct ids ids = {0};
    size_t size = 0;
    for (int i = 255; i >= 0; i--) {
        static const char digits[] =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        size += (size_t)snprintf(ranks + size, sizeof ranks - size, "%s%c%c== %d", size ? "\n" : "",
                                 digits[i >> 2], digits[(i & 3) << 4], i);
    }
    memcpy(ranks + size, more, sizeof more);
    make_folder("qwen.tiktoken", ranks, size + sizeof more - 1, NULL, NULL);
    struct tokenizer *t = open_folder();
    assert_int_equal(tokenizer_encode(t, &ids, "abc bcabcd", 10, &e), 0);
    const int32_t wanted[] = {257, ' ', 256, 257, 'd'};
    assert_int_equal(ids.count, 5);
    assert_memory_equal(ids.id, wanted, sizeof wanted);
    free(ids.id);
    tokenizer_close(t);
}

/* -- refusals -- */

/* The golden vocabulary with `from` replaced by `to`, the first time; "": with `to` before it. */
static char *changed(const char *from, const char *to, size_t *size)
{
    size_t old;
    unsigned char *ranks = scratch_read(GOLDENS "ranks.tiktoken", &old);
    char *text = malloc(old + strlen(to) + 1), *at;
    assert_non_null(text);
    ranks[old - 1] = '\0'; /* its last line needs no end */
    at = strstr((const char *)ranks, from);
    assert_non_null(at);
    *size = (size_t)sprintf(text, "%.*s%s%s", (int)(at - (char *)ranks), (const char *)ranks, to,
                            at + strlen(from));
    free(ranks);
    return text;
}

static void test_refused(void **state)
{
    (void)state;
    static char longest[4096], endless[1 << 16];
    memset(longest, 'A', 2000);
    strcpy(longest + 2000, " 421\n");
    memset(endless, 'A', sizeof endless - 1);
    static const struct {
        const char *from, *to, *words;
    } cases[] = {
        {"Ig== 1\n", "Ig= 1\n", "qwen.tiktoken: line 2 is not a token in base64, a blank and a"},
        {"Ig== 1\n", "Ig== -1\n", "line 2 is not a token in base64, a blank and a rank"},
        {"Ig== 1\n", "Ig== 1 2\n", "line 2 is not a token"},
        {"Ig== 1\n", "Ig==\t1\n", "line 2 is not a token"},
        {"Ig== 1\n", "Ig== \n", "line 2 is not a token"},
        {"Ig== 1\n", "Ig== 100000000000000000000\n", "line 2 is not a token"},
        {"Ig== 1\n", "Ig== 99999999999\n", "has the id 99999999999 (expected 0 to"},
        {"Ig== 1\n", "Ig== 500\n",
         "has the rank 500 with 421 tokens (expected each rank from 0 to "
         "420)"},
        {"Ig== 1\n", "Ig== 2\n", "has the id 2, which another token has too"},
        {"Ig== 1\n", "Iw== 1\n", "token '#' is listed twice"},
        {"Ig== 1\n", "I*== 1\n", "line 2 has a token that is not base64"},
        {"Ig== 1\n", "==== 1\n", "line 2 has a token that is not base64"},
        {"Ig== 1\n", " 1\n", "line 2 has an empty token"},
        {"Ig== 1\n", "InF6cXo= 1\n", "has no token for the byte 0x22 (expected one for each"},
        {"", longest, "line 1 has a token of 1500 bytes (expected at most 1023)"},
        {"", endless, "line 1 is not a token in base64, a blank and a rank"},
    };
    struct tokenizer *t;
    size_t size;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        char *ranks = changed(cases[i].from, cases[i].to, &size);
        make_folder("qwen.tiktoken", ranks, size, NULL, NULL);
        assert_int_equal(tokenizer_open(&t, scratch_folder, &e), -1);
        assert_int_equal(check_message(cases[i].words, &e, cases[i].words), 0);
        free(ranks);
    }
    struct error e = {""};
    char *much = calloc(1, RANKS_BYTES_MAX + 1);
    assert_null(tokenizer_parse_ranks((struct source){"qwen.tiktoken", much, RANKS_BYTES_MAX + 1},
                                      NULL, &e));
    assert_int_equal(check_message("much", &e, "has 33554433 bytes (expected at most 33554432)"),
                     0);
    free(much);
}

static void test_refused_classes(void **state)
{
    (void)state;
    static const struct {
        const char *name, *beside, *text, *words;
    } cases[] = {
        {"tokenizer.model", NULL, NULL,
         "tokenizer.model: is a vocabulary of tiktoken, which does not say how text is split, and "
         "no file beside it does (expected the class TikTokenTokenizer or QWenTokenizer in "
         "tokenizer_config.json, or params.json"},
        {"tiktoken.model", NULL, NULL, "and no file beside it does"},
        {"tokenizer.model", "tokenizer_config.json", "{\"tokenizer_class\": \"ChatGLM4Tokenizer\"}",
         "and the class ChatGLM4Tokenizer is not known (expected TikTokenTokenizer"},
        {"tokenizer.model", "config.json", "{\"model_type\": \"llama4\", \"vocab_size\": 677}",
         "and no file beside it does"},
        {"tokenizer.model", "params.json", "{\"vocab_size\": 202048}",
         "with 421 ranks, and the vocab_size of the model is 202048 (expected 677, as of Llama 3"},
        {"tokenizer.model", "params.json", "{\"dim\": 8}", "the vocab_size of the model is 0"},
        {"tiktoken.model", "tokenizer_config.json",
         "{\"tokenizer_class\": \"TikTokenTokenizer\", \"added_tokens_decoder\": []}",
         "tokenizer_config.json: added_tokens_decoder is not an object"},
        {"tiktoken.model", "tokenizer_config.json",
         "{\"tokenizer_class\": \"TikTokenTokenizer\", \"added_tokens_decoder\": {\"421\": "
         "{\"content\": \"x<\"}, \"422\": {\"content\": \"x<\"}}}",
         "'x<'"},
    };
    size_t size;
    unsigned char *ranks = scratch_read(GOLDENS "ranks.tiktoken", &size);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        struct tokenizer *t;
        make_folder(cases[i].name, ranks, size, cases[i].beside, cases[i].text);
        assert_int_equal(tokenizer_open(&t, scratch_folder, &e), -1);
        assert_int_equal(check_message(cases[i].words, &e, cases[i].words), 0);
    }
    free(ranks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_goldens), cmocka_unit_test(test_lines),
                                       cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_refused_classes)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
