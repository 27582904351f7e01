/* Messages stay one printable line whatever is in a file's name, and keep their reason. */
#include "io/error.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#undef fail

static void test_text(void **state)
{
    (void)state;
    const struct {
        const char *name, *want;
    } cases[] = {
        {"plain.csv", "plain.csv: bad"},
        {"two\nlines\r", "two\\nlines\\r: bad"},
        {"\033[31mred\033[0m", "\\x1B[31mred\\x1B[0m: bad"},
        {"\x7F\x01\t", "\\x7F\\x01\\t: bad"},
        {"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80",
         "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80: bad"}, /* good UTF-8 stays */
        {"\xC2\x9B"
         "31m",
         "\\u009B31m: bad"}, /* C1: control sequence introducer */
        {"a\xE2\x80\xAE"
         "b\xE2\x81\xA7",
         "a\\u202Eb\\u2067: bad"}, /* which would turn the text around */
        {"\x9B|\xFF|\xC3|\xE2\x82|\xC0\x80|\xED\xA0\x80",
         "\\x9B|\\xFF|\\xC3|\\xE2\\x82|\\xC0\\x80|\\xED\\xA0\\x80: bad"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e;
        assert_int_equal(fail(&e, "%s: bad", cases[i].name), -1);
        assert_string_equal(e.text, cases[i].want);
    }
}

static void test_long(void **state)
{
    (void)state;
    char name[6000];
    for (size_t length = 600; length < sizeof name; length += length < 900 ? 1 : 1777) {
        struct error e;
        for (size_t i = 0; i < length; i += 2)
            memcpy(name + i, "\xC3\xA9", 2);
        name[length & ~(size_t)1] = '\0';
        fail(&e, "FILE%s: the reason (expected that)", name);
        assert_true(strlen(e.text) < sizeof e.text);
        assert_memory_equal(e.text, "FILE", 4);
        assert_non_null(strstr(e.text, ": the reason (expected that)"));
        assert_null(strchr(e.text, '?')); /* no character was cut in two */
        struct error again;
        fail(&again, "%s", e.text);
        assert_string_equal(again.text, e.text);
    }
}

static void test_memory_and_null(void **state)
{
    (void)state;
    struct error e;
    assert_int_equal(fail_memory(&e, 1e12, "norms"), -1);
    assert_string_equal(e.text, "out of memory (1000000000000 bytes for norms)");
    assert_int_equal(fail(NULL, "%d", 1), -1);
    /* a message may be made from the one that is there */
    fail(&e, "reach: %s", e.text);
    assert_string_equal(e.text, "reach: out of memory (1000000000000 bytes for norms)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_memory_and_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
