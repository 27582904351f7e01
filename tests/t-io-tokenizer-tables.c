/* vocab and merges of tokenizer.json, which are read without Jansson where they are plain, against
 * Jansson's reading: random and damaged files. A file whose key "model" is spelt with an escape
 * says the same, and all of it goes to Jansson. */
#include "io/tokenizer/parts.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t random_state = 7;

static uint32_t below(uint32_t limit)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(random_state >> 8) * limit >> 24);
}

static void put(struct buffer *b, const char *text)
{
    struct error e;
    assert_int_equal(buffer_add(b, text, strlen(text), &e), 0);
}

#define PICK(list) (list)[below(sizeof(list) / sizeof *(list))]

/* Sound most of the time, or few files would get further than their first string. */
static int rarely(void)
{
    return below(60) == 0;
}

static void put_space(struct buffer *b)
{
    static const char *const sound[] = {"", "", "", " ", "\n", "\t", "\r\n "},
                             *const odd[] = {"\v", "\f", "\xc2\xa0", "//x\n", ","};
    put(b, rarely() && rarely() ? PICK(odd) : PICK(sound));
}

static void put_string(struct buffer *b, uint32_t most)
{
    static const char *const sound[] = {"a",
                                        "b",
                                        "c",
                                        "ab",
                                        "\\\"",
                                        "\\\\",
                                        "\\/",
                                        "\\n",
                                        "\\u0061",
                                        "\\u00E9",
                                        "\\u00e9",
                                        "\xc3\xa9",
                                        "\\u2581",
                                        "\xf0\x9f\x98\x80",
                                        "\\ud83d\\ude00",
                                        "}",
                                        "]",
                                        "{",
                                        "[",
                                        ",",
                                        ":",
                                        "\x7f"};
    static const char *const odd[] = {"\\ud83d", "\\ude00",  "\\ud83dx",     "\\ud83d\\u0061",
                                      "\\u0000", "\\u00g0",  "\\u00",        "\\x41",
                                      "\\'",     "\n",       "\t",           "\x01",
                                      "\xff",    "\xc3",     "\xed\xa0\x80", "\\",
                                      "\"",      "\xc0\x80", "\\U0061",      "\xf4\x90\x80\x80",
                                      "\\u+061", "\\u 061",  "model",        "vocab\\\":{",
                                      "#version"};
    put(b, "\"");
    for (uint32_t i = below(most + 1); i < most; i++)
        put(b, rarely() ? PICK(odd) : PICK(sound));
    put(b, "\"");
}

static void put_number(struct buffer *b, int next)
{
    static const char *const odd[] = {"-1",
                                      "-0",
                                      "00",
                                      "01",
                                      "1.0",
                                      "1e3",
                                      "1E0",
                                      "0x1",
                                      "+1",
                                      ".5",
                                      "1.",
                                      "null",
                                      "true",
                                      "NaN",
                                      "1 2",
                                      "\"1\"",
                                      "[]",
                                      "{}",
                                      "2147483646",
                                      "2147483647",
                                      "999999999999",
                                      "9999999999999",
                                      "18446744073709551616",
                                      "",
                                      "0"};
    char text[16];
    snprintf(text, sizeof text, "%d", next);
    put(b, rarely() ? PICK(odd) : text);
}

static void put_vocabulary(struct buffer *b)
{
    /* what merges are made of, so that some are sound */
    static const char *const known[] = {"\"a\"", "\"b\"",        "\"ab\"",      "\"\\u0061ba\"",
                                        "\" \"", "\"\xc3\xa9\"", "\"a\\u00e9\""};
    int next = 0;
    put(b, rarely() ? "[" : "{");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        put(b, next ? "," : "");
        put(b, known[i]);
        put_space(b);
        put(b, ":");
        put_space(b);
        put_number(b, next++);
    }
    for (uint32_t i = below(4); i; i--) {
        put(b, rarely() ? "" : ",");
        put_space(b);
        put_string(b, 4);
        put(b, rarely() ? "," : ":");
        put_space(b);
        put_number(b, next++);
    }
    put(b, rarely() ? "," : "");
    put(b, rarely() ? "]" : "}");
}

static void put_merges(struct buffer *b)
{
    static const char *const known[] = {
        "\"a b\"",       "[\"a\",\"b\"]", "[ \"ab\" ,\n\"\\u0061\" ]",
        "\"a \\u00e9\"", "\"ab a\"",      "\"#version: 0.2\""};
    static const char *const odd[] = {"\"a  b\"",
                                      "\"a\"",
                                      "\" \"",
                                      "[\"a\"]",
                                      "[\"a\",\"b\",\"a\"]",
                                      "[]",
                                      "7",
                                      "{\"a\":\"b\"}",
                                      "[[\"a\"],\"b\"]",
                                      "[\"a\",\"x\"]",
                                      "\"x a\"",
                                      "null",
                                      "[\"a\" \"b\"]",
                                      "[\"a\",\"b\"",
                                      "\"#version",
                                      "[\"#version\",\"a\"]"};
    put(b, rarely() ? "{" : "[");
    for (uint32_t i = 0, count = below(6); i < count; i++) {
        put(b, i ? "," : "");
        put_space(b);
        put(b, rarely() ? PICK(odd) : PICK(known));
        put_space(b);
    }
    put(b, rarely() ? "," : "");
    put(b, rarely() ? "}" : "]");
}

/* A file, sound or not; its key "model" is always spelt so. */
static void make_file(struct buffer *b)
{
    static const char *const before[] = {"",
                                         "\"version\":\"1.0\",",
                                         "\"x\":{\"model\":{\"vocab\":{}}},",
                                         "\"y\":[{\"vocab\":{}},\"model\"],",
                                         "\"z\":{\"merges\":[}],",
                                         "\"vocab\":{\"q\":0},",
                                         "\"m\":\"\\\"model\\\":{\","};
    static const char *const within[] = {"",
                                         "\"type\":\"BPE\",",
                                         "\"dropout\":null,",
                                         "\"vocab\":{},",
                                         "\"merges\":[],",
                                         "\"voc\\u0061b\":{},",
                                         "\"x\":{\"merges\":[]},",
                                         "\"type\":\"BPE\",\"unk_token\":\"a\","};
    static const char *const behind[] = {"",
                                         "",
                                         "",
                                         "",
                                         ",\"added_tokens\":[]",
                                         ",\"model\":{}",
                                         ",\"mode\\u006c\":{}",
                                         ",",
                                         "}",
                                         "]",
                                         "\xef\xbb\xbf"};
    b->size = 0;
    put(b, rarely() ? "\xef\xbb\xbf{" : "{");
    put(b, PICK(before));
    put(b, "\"model\"");
    put_space(b);
    put(b, ":");
    put_space(b);
    put(b, rarely() ? "[" : "{");
    put(b, below(4) ? "" : PICK(within));
    int merges_first = below(2) == 0;
    for (int i = 0; i < 2; i++) {
        put(b, i ? "," : "");
        put_space(b);
        put(b, (i == 0) == merges_first ? "\"merges\":" : "\"vocab\" :");
        put_space(b);
        (i == 0) == merges_first ? put_merges(b) : put_vocabulary(b);
    }
    put(b, rarely() ? "]" : "}");
    put(b, below(3) ? "" : PICK(behind));
    put(b, "}");
    put(b, rarely() ? "x" : "");
    struct error e;
    if (rarely())
        assert_int_equal(buffer_add(b, "", 1, &e), 0); /* a NUL */
    if (below(8) == 0) /* damaged */
        for (uint32_t i = 1 + below(3); i; i--)
            b->text[below((uint32_t)b->size)] = "\"{}[],:\\ 0a\0\xff"[below(13)];
    if (below(20) == 0)
        b->size = below((uint32_t)b->size);
}

/* The same with every "model" in quotes spelt otherwise: the same text of JSON, or as wrong. */
static void respell(struct buffer *out, struct span text)
{
    static const char key[] = "\"model\"", other[] = "\"mod\\u0065l\"";
    struct error e;
    out->size = 0;
    for (size_t at = 0; at < text.size; at++) {
        int is_key = text.size - at >= sizeof key - 1 &&
                     memcmp(text.text + at, key, sizeof key - 1) == 0;
        assert_int_equal(is_key ? buffer_add(out, other, sizeof other - 1, &e)
                                : buffer_add(out, text.text + at, 1, &e),
                         0);
        at += is_key ? sizeof key - 2 : 0;
    }
}

/* 1 if the tables are read without Jansson. */
static int is_quick(struct span text)
{
    struct tokenizer t = {0};
    struct tables tables;
    struct error e;
    if (!tables_find(&tables, text))
        return 0;
    assert_int_equal(bpe_start(&t.bpe, tables.merge_count, &e), 0);
    int result = tables_read(&t, &tables, &e);
    bpe_free(&t.bpe);
    return result == 0;
}

static void compare(struct span text, const struct tokenizer *a, const struct tokenizer *b,
                    const struct error *why_a, const struct error *why_b)
{
    if (!a != !b)
        fail_msg("%s: '%s' or '%s'\n%.*s", a ? "only Jansson refuses" : "only Jansson accepts",
                 why_a->text, why_b->text, (int)text.size, text.text);
    if (!a) {
        assert_int_equal(check_message("a", why_a, "json: "), 0);
        if (!strstr(why_b->text, "JSON")) /* Jansson tells columns, which are others */
            assert_string_equal(why_a->text, why_b->text);
        return;
    }
    json_error_t problem;
    json_t *root = json_loadb(text.text, text.size, JSON_REJECT_DUPLICATES, &problem), *id;
    json_t *vocabulary = json_object_get(json_object_get(root, "model"), "vocab");
    const char *token;
    assert_int_equal(a->bpe.vocabulary.count, json_object_size(vocabulary));
    assert_int_equal(b->bpe.vocabulary.count, json_object_size(vocabulary));
    json_object_foreach(vocabulary, token, id)
    {
        assert_int_equal(map_find(&a->bpe.vocabulary, token, strlen(token)),
                         json_integer_value(id));
        assert_int_equal(map_find(&b->bpe.vocabulary, token, strlen(token)),
                         json_integer_value(id));
    }
    json_decref(root);
    assert_int_equal(a->bpe.merge_count, b->bpe.merge_count);
    for (size_t i = 0; i < a->bpe.merge_count; i++)
        assert_int_equal(a->bpe.merged[i], b->bpe.merged[i]);
}

static void test_against_jansson(void **state)
{
    (void)state;
    enum { FILES = 1500 };
    struct buffer text = {0}, other = {0};
    int quick = 0, accepted = 0, left = 0;
    for (int i = 0; i < FILES; i++) {
        struct error why_a = {""}, why_b = {""};
        struct ids ids[2] = {{0}, {0}};
        make_file(&text);
        respell(&other, buffer_span(&text));
        struct tokenizer *a = tokenizer_parse((struct source){"json", text.text, text.size}, NULL,
                                              &why_a),
                         *b = tokenizer_parse((struct source){"json", other.text, other.size}, NULL,
                                              &why_b);
        int read = is_quick(buffer_span(&text));
        compare(buffer_span(&text), a, b, &why_a, &why_b);
        quick += a && read;
        left += a && !read;
        accepted += a != NULL;
        for (int k = 0; a && k < 2; k++)
            assert_int_equal(tokenizer_encode(k ? b : a, &ids[k],
                                              "ab ab\xc3\xa9 aba\xf0\x9f\x98\x80", 15, &why_a),
                             0);
        assert_int_equal(ids[0].count, ids[1].count);
        if (ids[0].count)
            assert_memory_equal(ids[0].id, ids[1].id, ids[0].count * sizeof *ids[0].id);
        free(ids[0].id);
        free(ids[1].id);
        tokenizer_close(a);
        tokenizer_close(b);
    }
    buffer_free(&text);
    buffer_free(&other);
    /* all three kinds of files were among them */
    if (quick < FILES / 10 || left < FILES / 1000 || accepted > FILES - FILES / 10)
        fail_msg("%d of %d read without Jansson, %d with it, %d accepted", quick, FILES, left,
                 accepted);
}

/* Lists in lists, as deep as Jansson goes and deeper, within the tables and outside of them. */
static void test_deep(void **state)
{
    (void)state;
    static const char *const places[] = {"{\"x\":%s,\"model\":{\"vocab\":{},\"merges\":[]}}",
                                         "{\"model\":{\"vocab\":{},\"merges\":[%s]}}",
                                         "{\"model\":{\"vocab\":{\"a\":%s},\"merges\":[]}}"};
    enum { DEEP = 5000 };
    char lists[2 * DEEP + 1], text[2 * DEEP + 100];
    for (int depth = 1; depth <= DEEP; depth = depth < 2030   ? depth + 145
                                               : depth < 2060 ? depth + 1
                                                              : depth + 500)
        for (int i = 0; i < 3; i++) {
            struct error why_a = {""}, why_b = {""};
            struct buffer other = {0};
            memset(lists, '[', (size_t)depth);
            memset(lists + depth, ']', (size_t)depth);
            lists[2 * depth] = 0;
            snprintf(text, sizeof text, places[i], lists);
            struct span span = {text, strlen(text)};
            respell(&other, span);
            struct tokenizer *a = tokenizer_parse((struct source){"json", text, span.size}, NULL,
                                                  &why_a),
                             *b = tokenizer_parse((struct source){"json", other.text, other.size},
                                                  NULL, &why_b);
            compare(span, a, b, &why_a, &why_b);
            tokenizer_close(a);
            tokenizer_close(b);
            buffer_free(&other);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_jansson),
                                       cmocka_unit_test(test_deep)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
