/* The texts of tokens: tables, tokenizers of each kind read backwards, and how text from anywhere
 * is made readable. */
#include "io/glyph.h"
#include "io/token_texts.h"
#include "io/tokenizer/text.h"
#include "io/tokenizer/texts.h"
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
    struct tokenizer *t = tokenizer_parse((struct source){"tokenizer.json", json, strlen(json)},
                                          NULL, &e);
    struct token_texts p = {0};

    if (!t || tokenizer_texts(&p, t, ids, count, &e) != 0) {
        print_error("%s\n", e.text);
        fail();
    }
    tokenizer_close(t);
    return p;
}

/* GPT-2's alphabet: U+0120 is a blank, U+010A a new line, U+00E2 the byte E2; an added token is
 * written as it is. */
static void test_byte_alphabet(void **state)
{
    struct token_texts p =
        of("{\"model\": {\"type\": \"BPE\", \"vocab\": {\"\\u0120\": 0, \"a\": 1, \"\\u0120a\": 2, "
           "\"\\u010a\": 3, \"\\u00e2\": "
           "4}, \"merges\": [\"\\u0120 a\"]}, \"pre_tokenizer\": {\"type\": \"ByteLevel\", "
           "\"add_prefix_space\": false}, "
           "\"added_tokens\": [{\"id\": 5, \"content\": \"<|\\u0120|>\", \"special\": true}]}",
           (const int32_t[]){5, 4, 2, 2, 3, 77}, 6);

    (void)state;
    assert_int_equal(p.count, 4); /* 77 is not a token; what is not asked for is left out */
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
        of("{\"model\": {\"type\": \"BPE\", \"byte_fallback\": true, \"vocab\": {\"\\u2581\": 0, "
           "\"a\": 1, \"\\u2581a\": 2, "
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

/* Gemma has its runs of blanks in the vocabulary and as added tokens: text becomes them by merges.
 */
static void test_added_blanks(void **state)
{
    struct token_texts p = of("{\"model\": {\"type\": \"BPE\", \"vocab\": {\"\\u2581\": 0, \"a\": "
                              "1, \"\\u2581\\u2581\": 2}, \"merges\": [\"\\u2581 "
                              "\\u2581\"]}, \"normalizer\": {\"type\": \"Replace\", \"pattern\": "
                              "{\"String\": \" \"}, \"content\": \"\\u2581\"}, "
                              "\"added_tokens\": [{\"id\": 2, \"content\": \"\\u2581\\u2581\", "
                              "\"normalized\": false}, {\"id\": 3, \"content\": "
                              "\"<0x41>\"}]}",
                              (const int32_t[]){0, 2, 3}, 3);

    (void)state;
    expect_piece(&p, 0, " ", 1);
    expect_piece(&p, 2, "  ", 2);
    expect_piece(&p, 3, "<0x41>", 6);
    texts_free(&p);
}

/* A mark of Metaspace's own, beside which U+2581 is a character as any. */
static void test_other_mark(void **state)
{
    struct token_texts p =
        of("{\"model\": {\"type\": \"BPE\", \"vocab\": {\"_\": 0, \"_a\": 1, \"\\u2581\": 2}, "
           "\"merges\": []}, "
           "\"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": \"_\"}}",
           (const int32_t[]){0, 1, 2}, 3);

    (void)state;
    expect_piece(&p, 0, " ", 1);
    expect_piece(&p, 1, " a", 2);
    expect_piece(&p, 2, "\xE2\x96\x81", 3);
    texts_free(&p);
}

/* Unigram's bytes, of which it need not have all. */
static void test_unigram_bytes(void **state)
{
    struct token_texts p = of("{\"model\": {\"type\": \"Unigram\", \"vocab\": [[\"<u>\", 0], "
                              "[\"\\u2581a\", -1], [\"<0xF0>\", -2]], "
                              "\"unk_id\": 0, \"byte_fallback\": true}}",
                              (const int32_t[]){0, 1, 2}, 3);

    (void)state;
    expect_piece(&p, 0, "<u>", 3);
    expect_piece(&p, 1, " a", 2);
    expect_piece(&p, 2, "\xF0", 1);
    texts_free(&p);
}

/* Texts of all ids of a text are that text, with the blank that some put before it, where no normal
 * form changes it. */
static void test_there_and_back(void **state)
{
    static const struct {
        const char *model, *before;
    } cases[] = {{"pieces/bpe-bytes.gguf", " "},
                 {"pieces/unigram-bytes.gguf", ""},
                 {"gemma.json", ""},
                 {"llama2.json", " "},
                 {"pieces/bpe-bytes.model", " "},
                 {"pieces/unigram-bytes.model", ""},
                 {"pieces/fallback.json", " "}};
    struct error e = {""};
    size_t size, found;
    struct buffer text = {0}, joined = {0};
    char *raw = (char *)scratch_read("tests/goldens/tokenizer/text.bin", &size);

    (void)state;
    assert_int_equal(utf8_repair(&text, (struct span){raw, size}, &e), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tokenizer *t = NULL;
        struct token_texts p;
        struct ids ids = {0};
        unsigned char *model;
        char path[128], name[32];

        snprintf(path, sizeof path, "tests/goldens/tokenizer/%s", cases[i].model);
        snprintf(name, sizeof name, "%s",
                 strstr(path, ".gguf")   ? "model.gguf"
                 : strstr(path, ".json") ? "tokenizer.json"
                                         : "tokenizer.model");
        model = scratch_read(path, &size);
        scratch_write(scratch_folder, name, model, size);
        if (tokenizer_open(&t,
                           strstr(path, ".gguf") ? scratch_path(scratch_folder, name)
                                                 : scratch_folder,
                           &e) ||
            !t || tokenizer_encode(t, &ids, text.text, text.size, &e) ||
            tokenizer_texts(&p, t, ids.id, ids.count, &e))
            fail_msg("%s: %s", path, e.text);
        joined.size = 0;
        for (size_t k = 0; k < ids.count; k++) {
            const char *piece = texts_find(&p, ids.id[k], &found);

            assert_non_null(piece);
            assert_int_equal(buffer_add(&joined, piece, found, &e), 0);
        }
        size_t before = strlen(cases[i].before);
        if (joined.size != before + text.size || memcmp(joined.text, cases[i].before, before) ||
            memcmp(joined.text + before, text.text, text.size))
            fail_msg("%s: %zu bytes came back of %zu, or others", path, joined.size, text.size);
        unlink(scratch_path(scratch_folder, name));
        texts_free(&p);
        tokenizer_close(t);
        free(ids.id);
        free(model);
    }
    buffer_free(&text);
    buffer_free(&joined);
    free(raw);
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
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) { /* there and back */
        char back[64];

        f = open_memstream(&text, &size);
        glyphs_write(f, cases[i].bytes, cases[i].size);
        assert_int_equal(fclose(f), 0);
        assert_int_equal(glyphs_read(back, text), cases[i].size);
        assert_memory_equal(back, cases[i].bytes, cases[i].size);
        free(text);
    }
    {
        static const char odd[] = "\\q \\x4 \\u00g0 \\UFFFFFFFF \\";
        char back[64];

        assert_int_equal(glyphs_read(back, odd), sizeof odd - 1);
        assert_memory_equal(back, odd, sizeof odd - 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),         cmocka_unit_test(test_byte_alphabet),
        cmocka_unit_test(test_marked_blanks),  cmocka_unit_test(test_added_blanks),
        cmocka_unit_test(test_other_mark),     cmocka_unit_test(test_unigram_bytes),
        cmocka_unit_test(test_there_and_back), cmocka_unit_test(test_glyphs)};

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
