/* The texts of tokens: tables, tokenizers of each kind read backwards, and how text from anywhere is made readable. */
#include "io/glyph.h"
#include "io/token_texts.h"
#include "io/tokenizer/texts.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static void expect_piece(const struct token_texts *p, int32_t id, const char *bytes, size_t size)
{
    size_t found;
    const char *text = texts_find(p, id, &found);

    if (!bytes) {
        assert_null(text);
        return;
    }
    assert_non_null(text);
    assert_int_equal(found, size);
    assert_memory_equal(text, bytes, size);
}

static void test_tables(void **state)
{
    const struct token_text some[] = {{2, 3, "two"}, {7, 0, ""}, {9, 2, "a\0"}},
                            others[] = {{1, 1, "x"}, {7, 4, "lost"}, {11, 1, "y"}};
    struct token_texts p, q;
    struct error e;

    (void)state;
    assert_int_equal(texts_make(&p, some, 3, &e), 0);
    assert_int_equal(texts_make(&q, others, 3, &e), 0);
    assert_int_equal(texts_add(&p, &q, &e), 0);
    assert_int_equal(p.count, 5);
    expect_piece(&p, 1, "x", 1);
    expect_piece(&p, 2, "two", 3);
    expect_piece(&p, 7, "", 0); /* what was there stays */
    expect_piece(&p, 9, "a\0", 2);
    expect_piece(&p, 11, "y", 1);
    expect_piece(&p, 3, NULL, 0);
    expect_piece(&p, 12, NULL, 0);
    assert_int_equal(texts_check(&p, &e), 0);
    p.id[2] = p.id[1];
    assert_int_equal(texts_check(&p, &e), -1);
    p.id[2] = 7;
    p.end[4] = p.size + 1;
    assert_int_equal(texts_check(&p, &e), -1);
    texts_free(&p);
    texts_free(&q);
    assert_int_equal(texts_of_bytes(&p, &e), 0);
    expect_piece(&p, 226, "\xE2", 1);
    texts_free(&p);
}

static struct token_texts of(const char *json, const int32_t *ids, size_t count)
{
    struct error e;
    struct tokenizer *t = tokenizer_parse((struct source){"tokenizer.json", json, strlen(json)}, NULL, &e);
    struct token_texts p = {0};

    if (!t || tokenizer_texts(&p, t, ids, count, &e) != 0) {
        print_error("%s\n", e.text);
        fail();
    }
    tokenizer_close(t);
    return p;
}

/* GPT-2's alphabet: U+0120 is a blank, U+010A a new line, U+00E2 the byte E2; an added token is written as it is. */
static void test_byte_alphabet(void **state)
{
    struct token_texts p =
        of("{\"model\": {\"type\": \"BPE\", \"vocab\": {\"\\u0120\": 0, \"a\": 1, \"\\u0120a\": 2, \"\\u010a\": 3, \"\\u00e2\": "
           "4}, \"merges\": [\"\\u0120 a\"]}, \"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false}, "
           "\"added_tokens\": [{\"id\": 5, \"content\": \"<|\\u0120|>\", \"special\": true}]}",
           (const int32_t[]){5, 4, 2, 2, 3, 77}, 6);

    (void)state;
    assert_int_equal(p.count, 4); /* 77 is no token; what is not asked for is left out */
    expect_piece(&p, 2, " a", 2);
    expect_piece(&p, 3, "\n", 1);
    expect_piece(&p, 4, "\xE2", 1);
    expect_piece(&p, 5, "<|\xC4\xA0|>", 6);
    expect_piece(&p, 1, NULL, 0);
    texts_free(&p);
}

static void test_marked_blanks(void **state)
{
    struct token_texts p =
        of("{\"model\": {\"type\": \"BPE\", \"byte_fallback\": true, \"vocab\": {\"\\u2581\": 0, \"a\": 1, \"\\u2581a\": 2, "
           "\"<0xE2>\": 3, \"<0xZZ>\": 4, \"\\u00e9\": 5}, \"merges\": [\"\\u2581 a\"]}}",
           (const int32_t[]){0, 1, 2, 3, 4, 5}, 6);

    (void)state;
    expect_piece(&p, 0, " ", 1);
    expect_piece(&p, 2, " a", 2);
    expect_piece(&p, 3, "\xE2", 1);
    expect_piece(&p, 4, "<0xZZ>", 6);
    expect_piece(&p, 5, "\xC3\xA9", 2);
    texts_free(&p);
}

static void test_glyphs(void **state)
{
    static const struct {
        const char *bytes, *text;
        size_t size, taken;
        int width, spelt;
    } cases[] = {{"ab", "a", 2, 1, 1, 0},
                 {"\n", "\\n", 1, 1, 2, 1},
                 {"\t", "\\t", 1, 1, 2, 1},
                 {"\0", "\\x00", 1, 1, 4, 1},
                 {"\x1B[31m", "\\x1B", 5, 1, 4, 1},
                 {"\x7F", "\\x7F", 1, 1, 4, 1},
                 {"\xC2\x9B", "\\u009B", 2, 2, 6, 1}, /* CSI as one character */
                 {"\xE2\x80", "\\xE2", 2, 1, 4, 1},
                 {"\x80", "\\x80", 1, 1, 4, 1},
                 {"\xED\xA0\x80", "\\xED", 3, 1, 4, 1}, /* a surrogate */
                 {"\xE2\x80\xAE", "\\u202E", 3, 3, 6, 1}, /* right-to-left override */
                 {"\xE2\x80\xA8", "\\u2028", 3, 3, 6, 1},
                 {"\xF3\xA0\x80\x81", "\\U000E0001", 4, 4, 10, 1},
                 {"\xC3\xA9", "\xC3\xA9", 2, 2, 1, 0},
                 {"\xE4\xB8\xAD", "\xE4\xB8\xAD", 3, 3, 2, 0},
                 {"\xCC\x81", "\xCC\x81", 2, 2, 0, 0}};
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct glyph g;

        assert_int_equal(glyph_next(&g, cases[i].bytes, cases[i].size), cases[i].taken);
        assert_string_equal(g.text, cases[i].text);
        assert_int_equal(g.width, cases[i].width);
        assert_int_equal(g.spelt, cases[i].spelt);
        assert_int_equal(g.newline, *cases[i].bytes == '\n');
    }
    glyphs_write(f, "a\\n\n\xE2", 5);
    assert_int_equal(fclose(f), 0);
    assert_string_equal(text, "a\\\\n\\n\\xE2");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tables), cmocka_unit_test(test_byte_alphabet),
                                       cmocka_unit_test(test_marked_blanks), cmocka_unit_test(test_glyphs)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
