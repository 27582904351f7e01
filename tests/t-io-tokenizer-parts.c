/* The parts of tokenizers one by one: maps, UTF-8, patterns, the byte alphabet. */
#include "io/tokenizer/bpe.h"
#include "io/tokenizer/map.h"
#include "io/tokenizer/parts.h"
#include "io/tokenizer/pattern.h"
#include "io/tokenizer/text.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_map(void **state)
{
    (void)state;
    enum { KEYS = 20000 };
    struct error e = {""};
    struct map m = {0};
    char key[32];
    assert_int_equal(map_find(&m, "x", 1), MAP_ABSENT);
    for (int round = 0; round < 2; round++) /* the second gives every key another value */
        for (int i = 0; i < KEYS; i++) {
            int size = snprintf(key, sizeof key, "key%d", i);
            assert_int_equal(map_set(&m, key, (size_t)size, i + round, &e), 0);
        }
    assert_int_equal(map_set(&m, "", 0, 7, &e), 0);
    assert_int_equal(map_set(&m, "key1", 5, 8, &e), 0); /* with its NUL: another key */
    assert_int_equal(m.count, KEYS + 2);
    for (int i = 0; i < KEYS; i++) {
        int size = snprintf(key, sizeof key, "key%d", i);
        assert_int_equal(map_find(&m, key, (size_t)size), i + 1);
        assert_int_equal(map_find(&m, key, (size_t)size - 1), i < 10 ? MAP_ABSENT : i / 10 + 1);
    }
    assert_int_equal(map_find(&m, "", 0), 7);
    assert_int_equal(map_find(&m, "key1", 5), 8);
    map_free(&m);
    map_free(&m);
}

/* Expected: Python's bytes.decode("utf-8", errors="replace"). */
static void test_repair(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *wanted;
    } cases[] = {
        {"", 0, ""},
        {"plain text, longer than eight bytes", 35, "plain text, longer than eight bytes"},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf", 13,
         "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf"},
        {"\x61\xff", 2, "\x61\xef\xbf\xbd"},
        {"\xc0\x80", 2, "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xc1\xbf", 2, "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xe0\x80\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xe0\x9f\xbf", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xe0\xa0", 2, "\xef\xbf\xbd"},
        {"\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xed\x9f", 2, "\xef\xbf\xbd"},
        {"\xf0\x80\x80\x80", 4, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xf0\x90\x80", 3, "\xef\xbf\xbd"},
        {"\xf0\x90\x80\x78", 4, "\xef\xbf\xbd\x78"},
        {"\xf4\x90\x80\x80", 4, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xf4\x8f\xbf", 3, "\xef\xbf\xbd"},
        {"\xf5\x80", 2, "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xe2\x82", 2, "\xef\xbf\xbd"},
        {"\xe2\x82\xe2\x82\xac", 5, "\xef\xbf\xbd\xe2\x82\xac"},
        {"\x80\x80\x61", 3, "\xef\xbf\xbd\xef\xbf\xbd\x61"},
        {"\xc3", 1, "\xef\xbf\xbd"},
        {"\xc3\x28\xc3\xa9", 4, "\xef\xbf\xbd\x28\xc3\xa9"},
        {"\xf1\x80\x80\xe1\x80\xc2\x62\x80\x63\x80\xbf\x64", 12,
         "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\x62\xef\xbf\xbd\x63\xef\xbf\xbd\xef\xbf\xbd\x64"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t shift = 0; shift < 9;
             shift++) { /* ASCII before it moves it within the eight bytes looked at at a time */
            struct error e = {""};
            struct buffer out = {0};
            char text[64] = "---------", wanted[64] = "---------";
            memcpy(text + shift, cases[i].bytes, cases[i].size);
            strcpy(wanted + shift, cases[i].wanted);
            assert_int_equal(utf8_repair(&out, (struct span){text, shift + cases[i].size}, &e), 0);
            if (out.size != strlen(wanted) || (out.size && memcmp(out.text, wanted, out.size))) {
                print_error("case %zu, shift %zu: %zu bytes (expected %zu)\n", i, shift, out.size,
                            strlen(wanted));
                fail();
            }
            assert_int_equal(utf8_sound(buffer_span(&out)), out.size);
            buffer_free(&out);
        }
    for (uint32_t c = 0; c < CHARACTERS; c += c < 0x3000 ? 1 : 61) {
        char text[CHARACTER_BYTES_MAX];
        size_t size = character_write(text, c), read;
        assert_int_equal(character_at(text, &read), c);
        assert_int_equal(read, size);
    }
}

/* The matches of a pattern as "start-end start-end". */
static void matches(char *out, size_t room, struct pattern *p, const char *text)
{
    struct error e = {""};
    struct search s = {0};
    size_t start, end, used = 0;
    int found;
    *out = '\0';
    while ((found = pattern_next(p, &s, (struct span){text, strlen(text)}, &start, &end, &e)) == 1)
        used += (size_t)snprintf(out + used, room - used, "%s%zu-%zu", used ? " " : "", start, end);
    assert_int_equal(found, 0);
}

/* Expected: Oniguruma in its Ruby syntax. */
static void test_patterns(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text, *wanted;
    } cases[] = {
        {"a", "bab", "1-2"},
        {"a*", "baac", "0-0 1-3 4-4"},
        {"", "", NULL},
        {"\\s", "a\xc2\xa0\xe1\xa0\x8e\xc2\x85", "1-3 6-8"}, /* U+180E is not white space */
        {"[^\\s]+", "a\xe1\xa0\x8e\xc2\xa0", "0-4"},
        {"\\S+", "a\xe1\xa0\x8e\xc2\xa0", "0-4"},
        {"\\w+", "e\xcc\x81_\xc2\xb2\xe2\x81\xb4",
         "0-6"}, /* marks and U+00B2 are words, U+2074 is not */
        {"\\W", "\xe2\x81\xb4", "0-3"},
        {"[\\w-]+", "a-b", "0-3"},
        {"\\d+", "\xd9\xa3\xc2\xb2", "0-2"},
        {"\\p{Lu}\\P{L}", "A1", "0-2"},
        {"\\p{^L}", "1a", "0-1"},
        {"\\p{Han}+", "\xe4\xb8\xad\xe3\x80\x82",
         "0-3"}, /* the script itself: no punctuation that scripts share */
        {"[a[bc]d]+", "xabcdx", "1-5"},
        {"[^(\\s|[.,!])]+", "ab(c d,e!", "0-2 3-4 5-6 7-8"},
        {"[]a]+", "a]", "0-2"},
        {"[\\u4e00-\\u9fa5]", "\xe4\xb8\xad", "0-3"},
        {"\\u00e9", "\xc3\xa9", "0-2"},
        {"\\x41\\x{e9}", "A\xc3\xa9", "0-3"},
        {"\\v", "\n\v", "1-2"},
        {"a{,2}b", "aaab", "1-4"},
        {"a{2,}", "aaa", "0-3"},
        {"a{1,2}?", "aa", "0-1 1-2"},
        {"a{x", "a{x", "0-3"},
        {"{}", "{}", "0-2"},
        {"a++b|a", "aa", "0-1 1-2"},
        {"^b$", "a\nb\nc", "2-3"}, /* lines, always */
        {"a.", "a\na\r", "2-4"},
        {"\\Aa|a\\z", "aaa", "0-1 2-3"},
        {"(?i)K", "k\xe2\x84\xaa", "0-1 1-4"},
        {"(?i:a)b", "Ab AB", "0-2"},
        {"(?<=a)b(?!c)", "abc ab", "5-6"},
        {"(?>a+)a|(a)b", "ab", "0-2"},
        {"\\.\\-\\\xc3\xa9", ".-\xc3\xa9", "0-4"},
        {"\\s+(?!\\S)|\\s+", "a   b  ", "1-3 3-4 5-7"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        char got[256];
        struct pattern *p =
            pattern_compile((struct span){cases[i].pattern, strlen(cases[i].pattern)}, &e);
        if (!cases[i].wanted) {
            assert_null(p);
            continue;
        }
        if (!p) {
            print_error("%s: %s\n", cases[i].pattern, e.text);
            fail();
        }
        matches(got, sizeof got, p, cases[i].text);
        if (strcmp(got, cases[i].wanted)) {
            print_error("%s on '%s': %s (expected %s)\n", cases[i].pattern, cases[i].text, got,
                        cases[i].wanted);
            fail();
        }
        pattern_free(p);
    }
    struct error e = {""};
    char got[64];
    struct pattern *p = pattern_literal((struct span){"a.", 2}, &e);
    matches(got, sizeof got, p, "a.ab a.");
    assert_string_equal(got, "0-2 5-7");
    pattern_free(p);
    pattern_free(NULL);
}

/* A pattern that needs more work than it may have is an error, not a hang. */
static void test_endless(void **state)
{
    (void)state;
    struct error e = {""};
    struct search s = {0};
    size_t start, end;
    char text[64];
    memset(text, 'a', sizeof text);
    struct pattern *p = pattern_compile((struct span){"(a*)*b", 6}, &e);
    assert_non_null(p);
    int found = pattern_next(p, &s, (struct span){text, sizeof text}, &start, &end, &e);
    if (found) /* PCRE2 may see that there is no b at all */
        assert_int_equal(
            check_message("endless", &e,
                          "a pattern fails on the text at byte 0 of a piece of 64: match limit"),
            0);
    pattern_free(p);
    s = (struct search){0};
    memset(text, 'a', sizeof text);
    text[63] = 'c';
    p = pattern_compile((struct span){"(a|aa|aaa)+(?=b)", 16}, &e);
    assert_non_null(p);
    assert_int_equal(pattern_next(p, &s, (struct span){text, sizeof text}, &start, &end, &e), -1);
    assert_int_equal(
        check_message("endless", &e,
                      "a pattern fails on the text at byte 0 of a piece of 64: match limit"),
        0);
    pattern_free(p);
}

/* Matches are found wherever they lie, though few places are tried at a time: all of 'x', and of
 * 'x' behind or before something, in a text of characters of every size. */
static void test_far_matches(void **state)
{
    (void)state;
    enum { CHARACTERS_MADE = 6000 };
    static const char *const letters[] = {"a", "\xC3\xA9", "\xE4\xB8\xAD", "\xF0\x9F\x98\x80"};
    struct error e = {""};
    struct buffer text = {0};
    size_t at[CHARACTERS_MADE], count = 0, start, end, gap = 0;
    for (size_t i = 0; i < CHARACTERS_MADE; i++, gap++) {
        const char *letter = letters[(i * i / 3 + i) % 4];
        if (gap * 7 > i) { /* gaps of 0 to 850 characters */
            at[count++] = text.size;
            letter = "x";
            gap = 0;
        }
        assert_int_equal(buffer_add(&text, letter, strlen(letter), &e), 0);
    }
    static const char *const patterns[] = {"x", "(?<=[^x])x|x", "x(?=.|\\z)", "[xyz]"};
    for (size_t k = 0; k < sizeof patterns / sizeof *patterns; k++) {
        struct pattern *p = pattern_compile((struct span){patterns[k], strlen(patterns[k])}, &e);
        struct search s = {0};
        assert_non_null(p);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(pattern_next(p, &s, buffer_span(&text), &start, &end, &e), 1);
            assert_int_equal(start, at[i]);
            assert_int_equal(end, at[i] + 1);
        }
        assert_int_equal(pattern_next(p, &s, buffer_span(&text), &start, &end, &e), 0);
        pattern_free(p);
    }
    buffer_free(&text);
}

static int end_soon(void *context, struct error *e)
{
    ++*(int *)context;
    strcpy(e->text, "ended");
    return -1;
}

/* Patterns whose time grows with the square of a text, in one search, in many, and within one
 * place; and the text that is too long for them: whoever waits can end them, and else they end. */
static void test_slow_patterns(void **state)
{
    (void)state;
    enum { BYTES = 2000000 };
    static const char *const patterns[] = {"(?:.|\n)*+[0\\x{10FFFD}]",
                                           "(?:(?:.|\n)*[0\\x{10FFFD}]|.|\n)",
                                           "(?:.?){20}(?:.|\n)*+[0\\x{10FFFD}]"};
    char *text = malloc(BYTES);
    assert_non_null(text);
    memset(text, 'a', BYTES);
    for (size_t k = 0; k < sizeof patterns / sizeof *patterns; k++)
        for (int watched = 1; watched >= (k == 0 ? 0 : 1);
             watched--) { /* the first is waited for */
            struct error e = {""};
            struct pattern *p = pattern_compile((struct span){patterns[k], strlen(patterns[k])},
                                                &e);
            struct search s = {0};
            size_t start, end;
            int steps = 0, found;
            assert_non_null(p);
            if (watched)
                pattern_watch(p, end_soon, &steps);
            while ((found = pattern_next(p, &s, (struct span){text, BYTES}, &start, &end, &e)) == 1)
                ;
            assert_int_equal(found, -1);
            assert_int_equal(check_message(patterns[k], &e,
                                           watched ? "ended"
                                                   : "a pattern takes too long on the text"),
                             0);
            assert_int_equal(steps, watched);
            pattern_free(p);
        }
    free(text);
}

static void test_byte_alphabet(void **state)
{
    (void)state;
    unsigned char seen[512] = {0};
    uint32_t next = 0x100;
    for (int i = 0; i < 256; i++) {
        int itself = (i >= '!' && i <= '~') || (i >= 0xA1 && i <= 0xAC) || i >= 0xAE;
        uint32_t wanted = itself ? (uint32_t)i : next++, got = byte_character((unsigned char)i);
        if (got != wanted)
            print_error("byte %d: U+%04X (expected U+%04X)\n", i, got, wanted);
        assert_int_equal(got, wanted);
        assert_int_equal(seen[got]++, 0);
    }
    assert_int_equal(next, 0x100 + 68);
}

/* The tables of an ordinary file are read without Jansson; of one that is not, they are not even
 * looked for. */
static void test_tables(void **state)
{
    static const struct {
        const char *text, *rest; /* NULL: left to Jansson */
        size_t tokens, merges;
    } cases[] = {
        {"{\"model\":{\"vocab\":{\"a\":0,\",\":1},\"merges\":[[\"a\",\",\"]]}}",
         "{\"model\":{\"vocab\":{},\"merges\":[]}}", 2, 1},
        {"{\"v\":1,\"model\":{\"merges\" : [\"a b\",\"c d\"],\"vocab\":{}},\"x\":[]}",
         "{\"v\":1,\"model\":{\"merges\" : [],\"vocab\":{}},\"x\":[]}", 1, 2},
        {"{\"model\":{\"vocab\":[],\"merges\":[]}}", NULL, 0, 0},
        {"{\"model\":{\"vocab\":{},\"merges\":[]},\"model\":{}}", NULL, 0, 0},
        {"{\"model\":{\"vocab\":{},\"vocab\":{},\"merges\":[]}}", NULL, 0, 0},
        {"{\"model\":{\"vocab\":{},\"merges\":[", NULL, 0, 0},
        {"{\"model\":{\"vocab\":{\"", NULL, 0, 0},
        {"{\"model\":{\"vocab\"", NULL, 0, 0},
        {"{\"x\":{\"vocab\":{},\"merges\":[]}}", NULL, 0, 0},
        {"", NULL, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct span text = {cases[i].text, strlen(cases[i].text)};
        struct tables t;
        struct buffer rest = {0};
        struct error e = {""};
        int found = tables_find(&t, text);
        if (found != (cases[i].rest != NULL))
            fail_msg("case %zu: found %d", i, found);
        if (!found)
            continue;
        assert_int_equal(tables_rest(&rest, &t, text, &e), 0);
        assert_int_equal(rest.size, strlen(cases[i].rest));
        assert_memory_equal(rest.text, cases[i].rest, rest.size);
        assert_int_equal(t.tokens, cases[i].tokens);
        assert_int_equal(t.merge_count, cases[i].merges);
        buffer_free(&rest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_map),           cmocka_unit_test(test_repair),
        cmocka_unit_test(test_patterns),      cmocka_unit_test(test_far_matches),
        cmocka_unit_test(test_slow_patterns), cmocka_unit_test(test_endless),
        cmocka_unit_test(test_byte_alphabet), cmocka_unit_test(test_tables),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
