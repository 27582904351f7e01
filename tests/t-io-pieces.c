/* Models of SentencePiece, from tokenizer.model, GGUF and tokenizer.json, against the ids that the
 * `sentencepiece` and `tokenizers` libraries find; the ties of Unigram; files that must be refused.
 * Goldens and the script that makes them: tests/goldens/tokenizer/pieces. */
#include "io/tokenizer/parts.h"
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

#define GOLDENS "tests/goldens/tokenizer/"

static struct tokenizer *parse(const char *path, struct error *e)
{
    size_t size;
    struct tokenizer *t = NULL;
    if (strstr(path, ".gguf"))
        return tokenizer_open(&t, path, e) ? NULL : t;
    unsigned char *text = scratch_read(path, &size);
    const struct source file = {path, (const char *)text, size};
    t = strstr(path, ".json") ? tokenizer_parse(file, NULL, e)
                              : tokenizer_parse_pieces(file, NULL, e);
    free(text);
    return t;
}

static void test_goldens(void **state)
{
    (void)state;
    static const struct {
        const char *file, *ids;
        int bos, adds;
    } cases[] = {
        {"unigram-user.model", "unigram-user", 1, 0},
        {"unigram-bytes.model", "unigram-bytes", 1, 0},
        {"bpe-bytes.model", "bpe-bytes", 1, 0},
        {"bpe-unsplit.model", "bpe-unsplit", 1, 0},
        {"bpe-bytes.gguf", "bpe-bytes", 1, 1},
        {"unigram-bytes.gguf", "unigram-bytes", 1, 0},
        {"t5-words.json", "t5-words", -1, 0},
        {"albert.json", "albert", -1, 0},
        {"fallback.json", "fallback", -1, 0},
        {"strip.json", "strip", -1, 0},
    };
    size_t size;
    unsigned char *text = scratch_read(GOLDENS "text.bin", &size);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        struct ids ids = {0};
        struct tokens wanted;
        char path[128], ids_path[128];
        const char *file = ids_path;
        snprintf(path, sizeof path, GOLDENS "pieces/%s", cases[i].file);
        snprintf(ids_path, sizeof ids_path, GOLDENS "pieces/%s.npy", cases[i].ids);
        struct tokenizer *t = parse(path, &e);
        if (!t || tokens_read_files(&wanted, &file, 1, &e))
            fail_msg("%s: %s", path, e.text);
        assert_int_equal(tokenizer_bos(t), cases[i].bos);
        assert_int_equal(tokenizer_adds_bos(t), cases[i].adds);
        for (int time = 0; time < 2; time++) { /* words are remembered from the first time on */
            ids.count = 0;
            assert_int_equal(tokenizer_encode(t, &ids, text, size, &e), 0);
            for (size_t k = 0; k < ids.count && k < wanted.total; k++)
                if (ids.id[k] != wanted.ids[k])
                    fail_msg("%s: time %d, token %zu is %d (expected %d)", path, time + 1, k,
                             ids.id[k], wanted.ids[k]);
            assert_int_equal(ids.count, wanted.total);
        }
        free(ids.id);
        tokens_free(&wanted);
        tokenizer_close(t);
    }
    free(text);
}

/* -- Unigram of tokenizer.json -- */

#define UNIGRAM(vocabulary, members) \
    "{\"model\":{\"type\":\"Unigram\",\"vocab\":[" vocabulary "]" members "}}"

/* Expected: the `tokenizers` library. */
static void test_unigram(void **state)
{
    (void)state;
    static const struct {
        const char *json, *text;
        int count;
        int32_t ids[8];
    } cases[] = {
        {UNIGRAM("[\"<u>\",0],[\"a\",-1],[\"b\",-1],[\"ab\",-2]", ",\"unk_id\":0"),
         "ab",
         1,
         {3}}, /* a tie: the longer one begins first */
        {UNIGRAM("[\"<u>\",0],[\"a\",-1],[\"b\",-1],[\"ab\",-2.5]", ",\"unk_id\":0"),
         "abab",
         4,
         {1, 2, 1, 2}},
        {UNIGRAM("[\"<u>\",0],[\"a\",-1],[\"aa\",-1]", ",\"unk_id\":0"), "aaa", 2, {1, 2}},
        {UNIGRAM("[\"<u>\",0],[\"a\",-1]", ",\"unk_id\":0"),
         "xya\xc3\xa9z",
         3,
         {0, 1, 0}}, /* neighbours share the unknown token */
        {UNIGRAM("[\"<u>\",0],[\"a\",-1]", ",\"unk_id\":0"), "a<u>x", 2, {1, 0}},
        {UNIGRAM("[\"<u>\",0],[\"a\",-1],[\"<0x78>\",-5],[\"<0x79>\",-5]",
                 ",\"unk_id\":0,\"byte_fallback\":true"),
         "axyx",
         4,
         {1, 2, 3, 2}},
        {UNIGRAM("[\"<u>\",0],[\"a\",-1],[\"<0x78>\",-5]", ",\"unk_id\":0,\"byte_fallback\":true"),
         "axy",
         2,
         {1, 0}},
        {UNIGRAM("[\"a\",-1],[\"\",-1]", ""), "aa", 2, {0, 0}},
        {UNIGRAM("", ""), "", 0, {0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        struct ids ids = {0};
        struct tokenizer *t = tokenizer_parse((struct source){"json", cases[i].json,
                                                              strlen(cases[i].json)},
                                              NULL, &e);
        if (!t || tokenizer_encode(t, &ids, cases[i].text, strlen(cases[i].text), &e))
            fail_msg("case %zu: %s", i, e.text);
        int wrong = ids.count != (size_t)cases[i].count;
        for (size_t k = 0; k < ids.count && !wrong; k++)
            wrong = ids.id[k] != cases[i].ids[k];
        if (wrong)
            fail_msg("case %zu, '%s': %zu ids, the first %d", i, cases[i].text, ids.count,
                     ids.count ? ids.id[0] : -1);
        free(ids.id);
        tokenizer_close(t);
    }
    struct error e = {""};
    struct ids ids = {0};
    const char json[] = UNIGRAM("[\"a\",-1]", "");
    struct tokenizer *t = tokenizer_parse((struct source){"json", json, sizeof json - 1}, NULL, &e);
    assert_non_null(t);
    assert_int_equal(tokenizer_encode(t, &ids, "ab", 2, &e), -1);
    assert_int_equal(check_message("unknown", &e, "the text holds 'b', which no token matches"), 0);
    free(ids.id);
    tokenizer_close(t);
}

static void test_refused_json(void **state)
{
    (void)state;
#define MAP(text) \
    "{\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":" text \
    "},\"model\":{\"type\":\"Unigram\",\"vocab\":[]}" \
    "}"
    static const struct {
        const char *json, *words;
    } cases[] = {
        {"{\"model\":{\"type\":\"Unigram\",\"vocab\":{}}}",
         "the vocabulary of Unigram is not a list"},
        {"{\"model\":{\"type\":\"Unigram\"}}", "the vocabulary of Unigram is not a list"},
        {UNIGRAM("\"a\"", ""), "token 0 is not a text and a score"},
        {UNIGRAM("[\"a\",1],[\"b\"]", ""), "token 1 is not a text and a score"},
        {UNIGRAM("[\"a\",\"1\"]", ""), "token 0 is not a text and a score"},
        {UNIGRAM("[\"a\",NaN]", ""), "token 0 is not a text and a score"},
        {UNIGRAM("[\"a\",1],[\"a\",2]", ""), "token 'a' is listed twice"},
        {UNIGRAM("[\"a\",1]", ",\"unk_id\":1"), "unk_id is not a token (expected 0 to 0)"},
        {UNIGRAM("[\"a\",1]", ",\"unk_id\":-1"), "unk_id is not a token"},
        {UNIGRAM("[\"a\",1]", ",\"unk_id\":\"a\""), "unk_id is not a token"},
        {UNIGRAM("[\"a\",1]", ",\"byte_fallback\":1"), "byte_fallback is neither true nor false"},
        {MAP("null"), "precompiled_charsmap is missing or is not text"},
        {MAP("\"\""), "the precompiled_charsmap is broken: a double array of 0 bytes in 0"},
        {MAP("\"A*==\""), "the precompiled_charsmap is not base64"},
        {MAP("\"/////w==\""),
         "the precompiled_charsmap is broken: a double array of 4294967295 bytes in 4"},
        {MAP("\"BAAAAAAAAAA=\""),
         "the precompiled_charsmap is broken: a double array of 4 bytes in 8"},
        {MAP("\"BAAAAAAAAABh\""), "its normal forms are not UTF-8, or break off"},
        {MAP("\"BAAAAAAAAAD/AA==\""), "its normal forms are not UTF-8, or break off"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        if (tokenizer_parse((struct source){"json", cases[i].json, strlen(cases[i].json)}, NULL,
                            &e))
            fail_msg("case %zu was accepted", i);
        assert_int_equal(check_message(cases[i].json, &e, cases[i].words), 0);
        assert_int_equal(check_message(cases[i].json, &e, "json: "), 0);
    }
}

/* -- tokenizer.model -- */

#define PIECE(size, members) "\x0a" size members
#define UNKNOWN PIECE("\x07", "\x0a\x03<U>\x18\x02")
#define A \
    PIECE("\x08", "\x0a\x01" \
                  "a\x15\0\0\x80\xbf")
#define BYTES(text) \
    { \
        text, sizeof(text) - 1 \
    }

static void test_refused_models(void **state)
{
    (void)state;
    static const struct {
        struct span file;
        const char *words;
    } cases[] = {
        {BYTES(""), "is not a SentencePiece model: it holds no tokens"},
        {BYTES("{\"model\": 1}"), "is not a SentencePiece model: a field is broken, or breaks off"},
        {BYTES("IQ== 0\nIg== 1\n"),
         "is not a SentencePiece model: "}, /* Llama 3's own file of that name */
        {BYTES(UNKNOWN A "\x0a"), "a field is broken, or breaks off"},
        {BYTES(UNKNOWN A "\x0a\x7f"), "a field is broken, or breaks off"},
        {BYTES(UNKNOWN A "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
         "a field is broken, or breaks off"},
        {BYTES(UNKNOWN A "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
         "a field is broken, or breaks off"},
        {BYTES(UNKNOWN A "\x08\x01"), "is not a SentencePiece model: field 1 has the wire type 0"},
        {BYTES(UNKNOWN A PIECE("\x02", "\x08\x01")), "field 1 of token 2 has the wire type 0"},
        {BYTES(UNKNOWN A PIECE("\x02", "\x0a\x05")), "token 2 is broken"},
        {BYTES(UNKNOWN A PIECE("\x05", "\x0a\x01x\x18\x09")),
         "token 2 is of the type 9 (expected 1 to 6)"},
        {BYTES(UNKNOWN A PIECE("\x02", "\x0a\x00")), "token 2 is empty"},
        {BYTES(UNKNOWN A PIECE("\x00", "")), "token 2 is empty"},
        {BYTES(UNKNOWN A PIECE("\x03", "\x0a\x01\xff")), "token 2 is not UTF-8"},
        {BYTES(UNKNOWN A PIECE("\x08", "\x0a\x01"
                                       "b\x15\0\0\x80\x7f")),
         "the score of token 2 is not finite"},
        {BYTES(UNKNOWN A PIECE("\x08", "\x0a\x01"
                                       "b\x15\0\0\xc0\x7f")),
         "the score of token 2 is not finite"},
        {BYTES(UNKNOWN A A), "token 'a' is listed twice"},
        {BYTES(A), "has no unknown token"},
        {BYTES(UNKNOWN A PIECE("\x05", "\x0a\x01V\x18\x02")),
         "tokens 0 and 2 are both the unknown one"},
        {BYTES(UNKNOWN A PIECE("\x0a", "\x0a\x06<0x41>\x18\x06")),
         "has tokens for bytes without byte_fallback"},
        {BYTES(UNKNOWN A PIECE("\x0a", "\x0a\x06<0x41>\x18\x06") "\x12\x03\x98\x02\x01"),
         "has not just the 256 tokens for bytes (1 of that type; <0x00>)"},
        {BYTES(UNKNOWN A "\x12\x02\x18\x03"),
         "the model WORD is not supported (expected UNIGRAM or BPE)"},
        {BYTES(UNKNOWN A "\x12\x02\x18\x04"), "the model CHAR is not supported"},
        {BYTES(UNKNOWN A "\x12\x02\x18\x09"), "the model of no known kind is not supported"},
        {BYTES(UNKNOWN A "\x12\x02\x1a\x00"),
         "field 3 of the trainer's settings has the wire type 2"},
        {BYTES(UNKNOWN A "\x12\x02\x1a\x05"), "the trainer's settings are broken"},
        {BYTES(UNKNOWN A "\x1a\x02\x1a\x00"), "field 3 of the normalizer has the wire type 2"},
        {BYTES(UNKNOWN A "\x1a\x03\x12\x01x"), "the precompiled_charsmap is broken"},
        {BYTES(UNKNOWN A PIECE("\x05", "\x0a\x01"
                                       "b\x18\x05") "\x12\x02\x18\x02"),
         "token 2, 'b', is unused, and text could become it"},
        {BYTES(UNKNOWN A PIECE("\x06", "\x0a\x02"
                                       "aa\x18\x05") "\x12\x02\x18\x02"),
         "token 2, 'aa', is unused, and text could become it"},
        {BYTES(UNKNOWN A PIECE("\x05", "\x0a\x01"
                                       "b\x18\x03") "\x12\x02\x18\x02"),
         "token 2, 'b', is one character and of the type 3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        if (tokenizer_parse_pieces((struct source){"model", cases[i].file.text, cases[i].file.size},
                                   NULL, &e))
            fail_msg("case %zu was accepted (expected: %s)", i, cases[i].words);
        assert_int_equal(check_message(cases[i].words, &e, cases[i].words), 0);
        assert_int_equal(check_message(cases[i].words, &e, "model: "), 0);
    }
}

/* Every prefix of a model, and bytes of it changed: refused, or a tokenizer that works. */
static void test_damaged(void **state)
{
    (void)state;
    enum { HEAD = 400, TAIL = 300 };
    size_t size;
    int accepted = 0;
    char *model = (char *)scratch_read(GOLDENS "pieces/unigram-user.model", &size);
    for (size_t i = 0; i < size; i += i < HEAD || i + TAIL > size ? 1 : 97) {
        static const char values[] = {0, 1, 0x7F, (char)0x80, (char)0xFF, 0x0A, 0x12};
        struct error e = {""};
        struct tokenizer *t = tokenizer_parse_pieces((struct source){"model", model, i}, NULL, &e);
        tokenizer_close(t);
        char kept = model[i];
        for (size_t k = 0; k < sizeof values; k++) {
            struct ids ids = {0};
            model[i] = values[k];
            t = tokenizer_parse_pieces((struct source){"model", model, size}, NULL, &e);
            if (t && tokenizer_encode(t, &ids, "abc ing  \xff \xc3\x89 whale", 18, &e) == 0)
                accepted++;
            free(ids.id);
            tokenizer_close(t);
        }
        model[i] = kept;
    }
    assert_true(accepted > 0);
    free(model);
}

/* tokenizer.model lies in a folder, and tokenizer_config.json decides on the beginning-of-text
 * token. */
static void test_folder(void **state)
{
    (void)state;
    struct error e = {""};
    struct tokenizer *t;
    size_t size;
    unsigned char *model = scratch_read(GOLDENS "pieces/bpe-bytes.model", &size);
    scratch_write(scratch_folder, "tokenizer.model", model, size);
    assert_int_equal(tokenizer_open(&t, scratch_folder, &e), 0);
    assert_non_null(t);
    assert_int_equal(tokenizer_adds_bos(t), 0);
    assert_int_equal(tokenizer_token(t, "</s>"), 2);
    tokenizer_close(t);
    scratch_write(scratch_folder, "tokenizer_config.json", "{\"add_bos_token\": true}", 23);
    assert_int_equal(tokenizer_open(&t, scratch_folder, &e), 0);
    assert_int_equal(tokenizer_bos(t), 1);
    assert_int_equal(tokenizer_adds_bos(t), 1);
    tokenizer_close(t);
    scratch_write(scratch_folder, "tokenizer_config.json", "{\"add_bos_token\": 7}", 20);
    assert_int_equal(tokenizer_open(&t, scratch_folder, &e), -1);
    assert_int_equal(check_message("settings", &e,
                                   "tokenizer_config.json: add_bos_token is neither"),
                     0);
    scratch_write(scratch_folder, "tokenizer.model", "x", 1);
    assert_int_equal(tokenizer_open(&t, scratch_folder, &e), -1);
    assert_int_equal(check_message("model", &e, "tokenizer.model: is not a SentencePiece model"),
                     0);
    free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goldens),      cmocka_unit_test(test_unigram),
        cmocka_unit_test(test_refused_json), cmocka_unit_test(test_refused_models),
        cmocka_unit_test(test_damaged),      cmocka_unit_test(test_folder),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
