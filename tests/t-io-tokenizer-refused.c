/* Tokenizers that must be refused, each with its reason, and damaged files. */
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

/* -- small tokenizers -- */

/* -- refused -- */

#define NORMALIZER(text) "{" MODEL(ABC) ",\"normalizer\":" text "}"

#define REGEX(text) \
    SPLITTER("{\"type\":\"Split\",\"pattern\":{\"Regex\":\"" text "\"},\"behavior\":" \
             "\"Isolated\"}")

#define TOKEN(text) "{" MODEL(ABC) ",\"added_tokens\":[" text "]}"

#define FOUR(text) text "," text "," text "," text ","

#define THIRTY_TWO(text) \
    FOUR(text) FOUR(text) FOUR(text) FOUR(text) FOUR(text) FOUR(text) FOUR(text) FOUR(text)

#define NFC "{\"type\":\"NFC\"}"

#define DIGITS "{\"type\":\"Digits\"}"

#define SEQUENCE_OF(text) "{\"type\":\"Sequence\",\"normalizers\":[" text "]}"

static void test_refused(void **state)
{
    (void)state;
    const struct {
        const char *json, *settings, *words;
    } cases[] = {
        {"", NULL, "json: the file is not valid JSON"},
        {"[]", NULL, "is not a JSON object"},
        {"{}", NULL, "has no model with a list of merges"},
        {"{\"model\":[]}", NULL, "has no model with a list of merges"},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{}}}", NULL, "has no model with a list of merges"},
        {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{},\"merges\":[]}}", NULL,
         "the model WordPiece is not supported"},
        {"{" MODEL("\"vocab\":[],\"merges\":[]") "}", NULL, "the vocabulary is not an object"},
        {"{" MODEL("\"merges\":[]") "}", NULL, "the vocabulary is not an object"},
        {"{" MODEL("\"vocab\":{\"a\":\"0\"},\"merges\":[]") "}", NULL,
         "the id of token 'a' is not a whole number"},
        {"{" MODEL("\"vocab\":{\"a\":1.5},\"merges\":[]") "}", NULL,
         "the id of token 'a' is not a whole number"},
        {"{" MODEL("\"vocab\":{\"a\":18446744073709551616},\"merges\":[]") "}", NULL,
         "the id of token 'a' is not a whole number"},
        {"{" MODEL("\"vocab\":{\"a\":NaN},\"merges\":[]") "}", NULL,
         "the id of token 'a' is not a whole number"},
        {"{" MODEL("\"vocab\":NaN,\"merges\":[]") "}", NULL, "the vocabulary is not an object"},
        {"{" MODEL("\"dropout\":NaN," ABC) "}", NULL, "dropout is not supported"},
        {TOKEN("{\"id\":18446744073709551616,\"content\":\"x\"}"), NULL,
         "the added token 'x' has no id"},
        {"{" MODEL(ABC) ",\"added_tokens\":Infinity}", NULL, "content is missing"},
        {"{" MODEL(ABC) ",\"normalizer\":NaN}", NULL, "a normalizer has no type"},
        {"{" MODEL("\"vocab\":{\"a\":-1},\"merges\":[]") "}", NULL,
         "token 'a' has the id -1 (expected 0 to 2147483646)"},
        {"{" MODEL("\"vocab\":{\"a\":2147483647},\"merges\":[]") "}", NULL,
         "token 'a' has the id 2147483647"},
        {"{" MODEL("\"vocab\":{\"a\":1,\"b\":1},\"merges\":[]") "}", NULL,
         "token 'b' has the id 1, which another token has too"},
        {"{" MODEL("\"vocab\":{\"a\":1,\"a\":2},\"merges\":[]") "}", NULL, "duplicate object key"},
        {"{" MODEL("\"vocab\":{\"a\":1},\"merges\":[\"a\"]") "}", NULL,
         "merge 1 is not two tokens with a blank between them"},
        {"{" MODEL("\"vocab\":{\"a\":1},\"merges\":[\"a a a\"]") "}", NULL,
         "merge 1 is not two tokens with a blank between them"},
        {"{" MODEL("\"vocab\":{\"a\":1},\"merges\":[\"a x\"]") "}", NULL,
         "merge 1 needs 'x', which is not a token"},
        {"{" MODEL("\"vocab\":{\"a\":1},\"merges\":[\"a a\"]") "}", NULL,
         "merge 1 needs 'aa', which is not a token"},
        {"{" MODEL("\"vocab\":{\"a\":1},\"merges\":[[\"a\"]]") "}", NULL,
         "merge 1 is neither a text nor two"},
        {"{" MODEL("\"vocab\":{\"a\":1},\"merges\":[[\"a\",1]]") "}", NULL,
         "merge 1 is neither a text nor two"},
        {"{" MODEL("\"vocab\":{\"a\":1},\"merges\":[7]") "}", NULL,
         "merge 1 is neither a text nor two"},
        {"{" MODEL(ABC ",\"dropout\":0.1") "}", NULL, "the model's dropout is not supported"},
        {"{" MODEL(ABC ",\"continuing_subword_prefix\":\"##\"") "}", NULL,
         "the model's continuing_subword_prefix is not supported"},
        {"{" MODEL(ABC ",\"end_of_word_suffix\":\"</w>\"") "}", NULL,
         "the model's end_of_word_suffix is not supported"},
        {"{" MODEL(ABC ",\"byte_fallback\":1") "}", NULL,
         "byte_fallback is neither true nor false"},
        {"{" MODEL(ABC ",\"unk_token\":1") "}", NULL, "unk_token is not text"},
        {NORMALIZER("{\"type\":\"BertNormalizer\"}"), NULL,
         "the normalizer BertNormalizer is not supported"},
        {NORMALIZER("{\"type\":\"Nmt\"}"), NULL, "the normalizer Nmt is not supported"},
        {NORMALIZER("{}"), NULL, "a normalizer has no type"},
        {NORMALIZER("{\"type\":\"Prepend\"}"), NULL, "prepend is missing or is not text"},
        {NORMALIZER("{\"type\":\"Replace\",\"pattern\":\"a\",\"content\":\"b\"}"), NULL,
         "a pattern is neither a String nor a Regex"},
        {NORMALIZER("{\"type\":\"Replace\",\"pattern\":{\"String\":\"\"},\"content\":\"b\"}"), NULL,
         "a text to look for has 0 bytes"},
        {NORMALIZER("{\"type\":\"Sequence\",\"normalizers\":7}"), NULL,
         "a sequence of normalizers is not a list"},
        {NORMALIZER(SEQUENCE_OF(SEQUENCE_OF(SEQUENCE_OF(SEQUENCE_OF(SEQUENCE_OF(
             SEQUENCE_OF(SEQUENCE_OF(SEQUENCE_OF(SEQUENCE_OF("{\"type\":\"NFC\"}")))))))))),
         NULL, "normalizers are nested more than 8 deep"},
        {SPLITTER("{\"type\":\"BertPreTokenizer\"}"), NULL,
         "the pre-tokenizer BertPreTokenizer is not supported"},
        {SPLITTER("{\"type\":\"Split\",\"pattern\":{\"String\":\"a\"},\"behavior\":\"Else\"}"),
         NULL, "the behavior Else is not supported"},
        {SPLITTER("{\"type\":\"Metaspace\"}"), NULL, "replacement is missing or is not text"},
        {SPLITTER("{\"type\":\"Metaspace\",\"replacement\":\"__\"}"), NULL,
         "the replacement of Metaspace is not one character"},
        {SPLITTER("{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"last\"}"),
         NULL, "the prepend_scheme last is not supported"},
        {SPLITTER("{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"first\","
                  "\"add_prefix_space\":false}"),
         NULL, "no prefix by add_prefix_space"},
        {SPLITTER("{\"type\":\"ByteLevel\",\"use_regex\":\"yes\"}"), NULL,
         "use_regex is neither true nor false"},
        {SPLITTER("{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"ByteLevel\"},{\"type\":"
                  "\"ByteLevel\"}]}"),
         NULL, "a second ByteLevel is not supported"},
        {NORMALIZER("{\"type\":\"Sequence\",\"normalizers\":[" THIRTY_TWO(NFC) NFC "]}"), NULL,
         "there are more than 32 normalizers"},
        {SPLITTER("{\"type\":\"Sequence\",\"pretokenizers\":[" THIRTY_TWO(DIGITS) THIRTY_TWO(DIGITS)
                      DIGITS "]}"),
         NULL, "there are more than 64 pre-tokenizers"},
        {"{" MODEL("\"vocab\":{\"a\":0,\"a\":1},\"merges\":[]") "}", NULL,
         "is not valid JSON: duplicate object key"},
        {"{" MODEL("\"vocab\":{\"a\":0},\"vocab\":{\"b\":1},\"merges\":[]") "}", NULL,
         "is not valid JSON: duplicate object key"},
        {"{" MODEL("\"vocab\":{\"a\":0},\"merges\":[]") "," MODEL(ABC) "}", NULL,
         "is not valid JSON: duplicate object key"},
        {"{" MODEL("\"vocab\":{\"a\":0,\"b\":0},\"merges\":[]") "}", NULL,
         "token 'b' has the id 0, which another token has too"},
        {"{" MODEL("\"vocab\":{\"a\":01},\"merges\":[]") "}", NULL, "is not valid JSON"},
        {"{" MODEL("\"vocab\":{\"a\":0,},\"merges\":[]") "}", NULL, "is not valid JSON"},
        {"{" MODEL("\"vocab\":{\"a\":0]},\"merges\":[]") "}", NULL, "is not valid JSON"},
        {"{" MODEL("\"vocab\":{\"a\t\":0},\"merges\":[]") "}", NULL, "is not valid JSON"},
        {"{" MODEL("\"vocab\":{\"\\ud83d\":0},\"merges\":[]") "}", NULL, "is not valid JSON"},
        {"{" MODEL("\"vocab\":{\"\377\":0},\"merges\":[]") "}", NULL, "is not UTF-8"},
        {"{" MODEL("\"vocab\":{\"a\":1.5},\"merges\":[]") "}", NULL,
         "the id of token 'a' is not a whole number"},
        {"{" MODEL("\"vocab\":{\"a\":9999999999999},\"merges\":[]") "}", NULL,
         "token 'a' has the id 9999999999999 (expected"},
        {"{" MODEL("\"vocab\":{\"a\":0},\"merges\":[7]") "}", NULL,
         "merge 1 is neither a text nor two"},
        {"{" MODEL("\"vocab\":{\"a\":0},\"merges\":[\"a a\"") "}", NULL, "is not valid JSON"},
        {REGEX(""), NULL, "a pattern has 0 bytes"},
        {REGEX("a\\\\b"), NULL, "the pattern has \\b, which is not supported"},
        {REGEX("\\\\h"), NULL, "the pattern has \\h, which is not supported"},
        {REGEX("(a)\\\\1"), NULL, "the pattern has \\1, which is not supported"},
        {REGEX("[^\\\\S]"), NULL, "the pattern has \\S, which is not supported"},
        {REGEX("[a&&b]"), NULL, "the pattern has && in a class"},
        {REGEX("[[:alpha:]]"), NULL, "the pattern has [:...:]"},
        {REGEX("[a[^b]]"), NULL, "a negated class within a class"},
        {REGEX("[a"), NULL, "a class without its end"},
        {REGEX("\\\\"), NULL, "a \\ at its end"},
        {REGEX("(?m)a"), NULL, "an option or a group of the kind (?...)"},
        {REGEX("a(?i)b"), NULL, "an option or a group of the kind (?...)"},
        {REGEX("(*ACCEPT)"), NULL, "the pattern has (*"},
        {REGEX("a{2}+"), NULL, "+ or ? after {...}"},
        {REGEX("a{2}?"), NULL, "+ or ? after {...}"},
        {REGEX("\\\\pL"), NULL, "\\p without {...}"},
        {REGEX("\\\\xff"), NULL, "\\x with neither"},
        {REGEX("\\\\u12"), NULL, "\\u without four hexadecimal digits"},
        {REGEX("(a"), NULL, "the pattern '(a' is not understood"},
        {REGEX("\\\\p{Nowhere}"), NULL, "is not understood"},
        {TOKEN("7"), NULL, "content is missing or is not text"},
        {TOKEN("{\"id\":7}"), NULL, "content is missing or is not text"},
        {TOKEN("{\"content\":\"x\"}"), NULL, "the added token 'x' has no id"},
        {TOKEN("{\"id\":-1,\"content\":\"x\"}"), NULL, "the added token 'x' has no id"},
        {TOKEN("{\"id\":8,\"content\":\"x\"}"), NULL,
         "the added token 'x' has the id 8 (expected 7"},
        {TOKEN("{\"id\":7,\"content\":\"a\"}"), NULL,
         "the added token 'a' has the id 7, and 0 in the vocabulary"},
        {TOKEN("{\"id\":7,\"content\":\"x\"},{\"id\":8,\"content\":\"x\"}"), NULL,
         "the added token 'x' is listed twice"},
        {TOKEN("{\"id\":7,\"content\":\"x\",\"lstrip\":2}"), NULL,
         "lstrip is neither true nor false"},
        {"{" MODEL(ABC) ",\"added_tokens\":{}}", NULL, "added_tokens is not a list"},
        {"{" MODEL(ABC) ",\"normalizer\":{\"type\":\"Lowercase\"},\"added_tokens\":[{\"id\":7,"
                        "\"content\":\"X\"},{\"id\":8,"
                        "\"content\":\"x\"}]}",
         NULL, "two added tokens are found as 'x'"},
        {"{" MODEL(ABC) ",\"post_processor\":{\"type\":\"RobertaProcessing\"}}", NULL,
         "the post-processor RobertaProcessing is not supported"},
        {"{" MODEL(ABC) ",\"post_processor\":{\"type\":\"TemplateProcessing\"}}", NULL,
         "TemplateProcessing has no list named single"},
        {"{" MODEL(ABC) "," TEMPLATE(SPECIAL("<s>"), "") "}", NULL,
         "the special token <s> of the post-processor has no id"},
        {"{" MODEL(ABC) "," TEMPLATE(SPECIAL("<s>"), S_IDS("-4")) "}", NULL,
         "the special token <s> of the post-processor has no id"},
        {"{" MODEL(ABC) "," TEMPLATE(SPECIAL("<s>") "," SPECIAL("<s>"), S_IDS("4")) "}", NULL,
         "more than one token before a text"},
        {"{" MODEL(ABC) "," TEMPLATE(SPECIAL("<s>"), S_IDS("4,5")) "}", NULL,
         "more than one token before a text"},
        {"{" MODEL(ABC) "," TEMPLATE("7", "") "}", NULL, "neither a SpecialToken nor a Sequence"},
        {"{" MODEL(ABC) "}", "{\"bos_token\":NaN}", "config: bos_token is neither a text"},
        {"{" MODEL(ABC) "}", "{\"bos_token\":1000000000000000019884624838656}",
         "config: bos_token is neither a text"},
        {"{" MODEL(ABC) "}", "{\"add_bos_token\":Infinity}",
         "config: add_bos_token is neither true nor false"},
        {"{" MODEL(ABC) "}", "{\"bos_token\":7}", "config: bos_token is neither a text"},
        {"{" MODEL(ABC) "}", "{\"add_bos_token\":\"no\"}",
         "config: add_bos_token is neither true nor false"},
        {"{" MODEL(ABC) "}", "{", "config: the file is not valid JSON"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        struct tokenizer *t = small_tokenizer(cases[i].json, cases[i].settings, &e);
        if (t)
            print_error("case %zu was accepted: %s\n", i, cases[i].json);
        assert_null(t);
        assert_int_equal(check_message(cases[i].json, &e, cases[i].words), 0);
        assert_int_equal(check_message(cases[i].json, &e,
                                       cases[i].settings ? "config: " : "json: "),
                         0);
    }
    /* an unknown token that is none is an error when it is needed */
    struct error e = {""};
    struct ids ids = {0};
    struct tokenizer *t = small_tokenizer("{" MODEL(ABC ",\"unk_token\":\"none\"") "}", NULL, &e);
    assert_non_null(t);
    assert_int_equal(tokenizer_encode(t, &ids, "ab", 2, &e), 0);
    assert_int_equal(tokenizer_encode(t, &ids, "abx", 3, &e), -1);
    assert_int_equal(check_message("unknown", &e, "the text holds 'x', which no token matches"), 0);
    tokenizer_close(t);
    /* replacements that would fill the memory */
#define DOUBLE "{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"aa\"}"
#define DOUBLES DOUBLE "," DOUBLE "," DOUBLE "," DOUBLE
    char *text = malloc(1 << 16);
    memset(text, 'a', 1 << 16);
    t = small_tokenizer(NORMALIZER(
                            SEQUENCE_OF(DOUBLES "," DOUBLES "," DOUBLES "," DOUBLES "," DOUBLES)),
                        NULL, &e);
    assert_non_null(t);
    assert_int_equal(tokenizer_encode(t, &ids, text, 1 << 16, &e), -1);
    assert_int_equal(check_message("growth", &e,
                                   "the normalizers make more than 64 times its bytes of a text"),
                     0);
    free(text);
    free(ids.id);
    tokenizer_close(t);
}

static void test_refused_merges(void **state)
{
    (void)state;
    const struct {
        const char *vocabulary, *merges, *settings, *words;
    } cases[] = {
        {"{", "", NULL, "v: the file is not valid JSON"},
        {"{\"a\":\"x\"}", "", NULL, "v: the id of token 'a' is not a whole number"},
        {"{\"a\":1}", "a\n", NULL, "m: merge 1 is not two tokens"},
        {"{\"a\":1,\"aa\":2}", "#version: 0.2\na a\n\n", NULL, "m: merge 2 is not two tokens"},
        {"{\"a\":1}", "a x", NULL, "m: merge 1 needs 'x'"},
        {"{\"a\":1}", "a \xff", NULL, "m: is not UTF-8"},
        {"{\"a\":1}", "", "[", "c: the file is not valid JSON"},
        {"{\"a\":1}", "", "{\"added_tokens_decoder\":[]}",
         "c: added_tokens_decoder is not an object"},
        {"{\"a\":1}", "", "{\"added_tokens_decoder\":{\"x\":{\"content\":\"y\"}}}",
         "c: added_tokens_decoder has the key 'x'"},
        {"{\"a\":1}", "", "{\"added_tokens_decoder\":{\"99999999999\":{\"content\":\"y\"}}}",
         "c: added_tokens_decoder has the key '99999999999'"},
        {"{\"a\":1}", "", "{\"added_tokens_decoder\":{\"7\":{\"content\":\"a\"}}}",
         "c: the added token 'a' has the id 7, and 1 in the vocabulary"},
        {"{\"a\":1}", "", "{\"add_prefix_space\":3}", "c: add_prefix_space is neither"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        struct source s = {"c", cases[i].settings,
                           cases[i].settings ? strlen(cases[i].settings) : 0};
        struct tokenizer *t = tokenizer_parse_merges((struct source){"v", cases[i].vocabulary,
                                                                     strlen(cases[i].vocabulary)},
                                                     (struct source){"m", cases[i].merges,
                                                                     strlen(cases[i].merges)},
                                                     cases[i].settings ? &s : NULL, &e);
        if (t)
            print_error("case %zu was accepted\n", i);
        assert_null(t);
        assert_int_equal(check_message(cases[i].words, &e, cases[i].words), 0);
    }
}

/* Every prefix of a file, and every byte of it changed: refused, or a tokenizer that works. */
static void test_damaged(void **state)
{
    (void)state;
    char json[] = "{" MODEL(
        ABC) ",\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"[ "
             "x]{1,2}\"},\"content\":\"b\"},\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{"
             "\"Regex\":"
             "\"\\\\s+(?!\\\\S)|[a\\\\p{L}]?c\"},\"behavior\":\"MergedWithNext\"},\"added_tokens\":"
             "[{\"id\":"
             "7,\"content\":\"xy\",\"lstrip\":true}]," TEMPLATE(SPECIAL("<s>") "," SEQUENCE,
                                                                S_IDS("4")) "}";
    static const char values[] = {0,   ' ', '"',  '[', ']', '{', '}',        ',',
                                  '0', '9', '\\', '(', '+', '-', (char)0xE2, (char)0xFF};
    size_t size = sizeof json - 1;
    int accepted = 0;
    for (size_t i = 0; i < size; i++) {
        struct error e = {""};
        assert_null(tokenizer_parse((struct source){"json", json, i}, NULL, &e));
        assert_int_equal(check_message("cut", &e, "json: "), 0);
        char kept = json[i];
        for (size_t k = 0; k < sizeof values; k++) {
            struct ids ids = {0};
            json[i] = values[k];
            struct tokenizer *t = tokenizer_parse((struct source){"json", json, size}, NULL, &e);
            if (t && tokenizer_encode(t, &ids, "abc xy  \xff c", 11, &e) == 0)
                accepted++;
            free(ids.id);
            tokenizer_close(t);
        }
        json[i] = kept;
    }
    assert_true(accepted > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_refused_merges),
        cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
