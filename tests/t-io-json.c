/* config.json: typed getters, the memory of what was read, and files that must be refused. */
#include "io/formats/json.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct config *open_text(const char *text, struct error *e)
{
    return config_open(scratch_write(scratch_folder, "config.json", text, strlen(text)), e);
}

static const char example[] = "{\"whole\": 12, \"big\": 9007199254740993, \"integral\": 2048.0, "
                              "\"real\": 1e-5, \"yes\": true, \"no\": false, \"text\": "
                              "\"gelu\", \"nothing\": null, \"list\": [1], \"inner\": {\"factor\": "
                              "4, \"deeper\": {\"x\": 0.5}}, \"spare\": 1}";

static void test_getters(void **state)
{
    (void)state;
    struct error e = {""};
    struct config *c = open_text(example, &e);
    assert_non_null(c);
    assert_string_equal(config_path(c), scratch_path(scratch_folder, "config.json"));
    long whole;
    double real;
    int flag;
    const char *text;
    const char *const choices[] = {"relu", "gelu", NULL};
    assert_int_equal(config_int(c, "whole", 1, 12, &whole, &e), 0);
    assert_int_equal(whole, 12);
    assert_int_equal(config_int(c, "big", 0, 1L << 60, &whole, &e), 0);
    assert_true(whole == 9007199254740993);
    assert_int_equal(config_int(c, "integral", 0, 4096, &whole, &e), 0);
    assert_int_equal(whole, 2048);
    assert_int_equal(config_int_or(c, "absent", 1, 10, -7, &whole, &e),
                     0); /* a fallback need not be in range */
    assert_int_equal(whole, -7);
    assert_int_equal(config_int_or(c, "nothing", 1, 10, 3, &whole, &e), 0);
    assert_int_equal(whole, 3);
    assert_int_equal(config_int(c, "inner.factor", 1, 10, &whole, &e), 0);
    assert_int_equal(whole, 4);
    assert_int_equal(config_real_or(c, "real", 0, 1, 9, &real, &e), 0);
    assert_true(real == 1e-5);
    assert_int_equal(config_real_or(c, "whole", 0, 100, 9, &real, &e), 0);
    assert_true(real == 12);
    assert_int_equal(config_real_or(c, "inner.deeper.x", 0, 1, 9, &real, &e), 0);
    assert_true(real == 0.5);
    assert_int_equal(config_real_or(c, "inner.absent.x", 0, 1, 9, &real, &e), 0);
    assert_true(real == 9);
    assert_int_equal(config_bool_or(c, "yes", 0, &flag, &e), 0);
    assert_int_equal(flag, 1);
    assert_int_equal(config_bool_or(c, "no", 1, &flag, &e), 0);
    assert_int_equal(flag, 0);
    assert_int_equal(config_bool_or(c, "absent", 1, &flag, &e), 0);
    assert_int_equal(flag, 1);
    assert_int_equal(config_string_or(c, "text", "x", &text, &e), 0);
    assert_string_equal(text, "gelu");
    assert_int_equal(config_string_or(c, "nothing", "x", &text, &e), 0);
    assert_string_equal(text, "x");
    assert_int_equal(config_choice_or(c, "text", choices, 0, &flag, &e), 0);
    assert_int_equal(flag, 1);
    assert_int_equal(config_choice_or(c, "absent", choices, -1, &flag, &e), 0);
    assert_int_equal(flag, -1);
    assert_true(json_is_array(config_get(c, "list")));
    assert_null(config_get(c, "nothing"));
    assert_int_equal(config_has(c, "spare"), 1);
    assert_int_equal(config_has(c, "nothing"), 0);
    assert_int_equal(config_has(c, "inner.deeper.x"), 1);
    assert_int_equal(config_absent(c, "nothing"), 0);
    assert_int_equal(config_absent(c, "neither"), 1);
    assert_string_equal(e.text, "");
    /* looking whether a key is there does not count as reading it */
    assert_string_equal(config_first_unread(c), "spare");
    assert_non_null(config_get(c, "spare"));
    assert_null(config_first_unread(c));
    config_close(c);
    config_close(NULL);
}

static void test_unread(void **state)
{
    (void)state;
    struct error e = {""};
    struct config *c = open_text("{\"z\": 1, \"empty\": null, \"a\": {\"b\": 1}, \"list\": 3}", &e);
    assert_string_equal(config_first_unread(c), "z"); /* in the order of the file */
    assert_non_null(config_get(c, "z"));
    assert_string_equal(config_first_unread(c), "a"); /* null is as good as absent */
    assert_null(config_get(c, "a.x"));
    assert_string_equal(config_first_unread(c), "list");
    assert_null(config_get(c, "list.x")); /* no object: not understood, so not read */
    assert_string_equal(config_first_unread(c), "list");
    config_close(c);
}

static void test_refused_values(void **state)
{
    (void)state;
    enum kind { WHOLE, WHOLE_OR, REAL, FLAG, TEXT, CHOICE };
    const struct {
        const char *value; /* of key k; NULL: absent */
        enum kind kind;
        const char *words;
    } cases[] = {
        {NULL, WHOLE, "k is missing (expected a whole number from 1 to 100)"},
        {"null", WHOLE, "k is missing"},
        {"0", WHOLE, "k is 0 (expected a whole number from 1 to 100)"},
        {"101", WHOLE_OR, "k is 101 (expected a whole number from 1 to 100)"},
        {"-5", WHOLE_OR, "k is -5"},
        {"1.5", WHOLE_OR, "k is 1.5 (expected a whole number"},
        {"1e300", WHOLE, "k is 1.0000000000000001e+300"},
        {"\"12\"", WHOLE, "k is '12' (expected a whole number"},
        {"true", WHOLE, "k is true"},
        {"[1]", WHOLE, "k is a list"},
        {"{}", WHOLE, "k is an object"},
        {"1e9", REAL, "k is 1000000000 (expected a number from 1 to 100)"},
        {"\"1\"", REAL, "k is '1' (expected a number"},
        {"false", REAL, "k is false"},
        {"1", FLAG, "k is 1 (expected true or false)"},
        {"\"true\"", FLAG, "k is 'true' (expected true or false)"},
        {"null", FLAG, "k is null (expected true or false)"}, /* the fallback is true, and Python
                                                                 takes null for false */
        {"7", TEXT, "k is 7 (expected text in quotes)"},
        {"\"tanh\"", CHOICE, "k is 'tanh' (expected one of relu, gelu)"},
        {"3", CHOICE, "k is 3 (expected one of relu, gelu)"},
    };
    const char *const choices[] = {"relu", "gelu", NULL};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        char text[64];
        long whole;
        double real;
        int flag, result = 0;
        const char *string;
        snprintf(text, sizeof text, cases[i].value ? "{\"k\": %s}" : "{}", cases[i].value);
        struct config *c = open_text(text, &e);
        assert_non_null(c);
        switch (cases[i].kind) {
        case WHOLE: result = config_int(c, "k", 1, 100, &whole, &e); break;
        case WHOLE_OR: result = config_int_or(c, "k", 1, 100, 5, &whole, &e); break;
        case REAL: result = config_real_or(c, "k", 1, 100, 5, &real, &e); break;
        case FLAG: result = config_bool_or(c, "k", 1, &flag, &e); break;
        case TEXT: result = config_string_or(c, "k", "", &string, &e); break;
        case CHOICE: result = config_choice_or(c, "k", choices, 0, &flag, &e); break;
        }
        if (result != -1)
            print_error("%s was accepted\n", text);
        assert_int_equal(result, -1);
        assert_int_equal(check_message(text, &e, cases[i].words), 0);
        assert_int_equal(check_message(text, &e, "config.json: "), 0);
        config_close(c);
    }
    struct error e = {""};
    struct config *c = open_text("{\"rope_scaling\": \"linear\"}", &e);
    double real;
    assert_int_equal(config_real_or(c, "rope_scaling.factor", 1, 100, 1, &real, &e), -1);
    assert_int_equal(check_message("parent", &e, "rope_scaling is not an object"), 0);
    config_close(c);
}

static void test_refused_files(void **state)
{
    (void)state;
    const struct {
        const char *text, *words;
    } cases[] = {
        {"", "not valid JSON|line 1"},
        {"{\"a\": 1", "not valid JSON"},
        {"{\"a\": 1,}", "not valid JSON"},
        {"{\"a\": 1} {}", "not valid JSON"},
        {"{\"a\": 1, \"a\": 2}", "duplicate"},
        {"{\"a\": {\"b\": 1, \"b\": 1}}", "duplicate"},
        {"[1]", "not a JSON object"},
        {"{\"a\": \"\xFF\"}", "not UTF-8"},
        {"{\"a\": 099999999999999999999}", "not valid JSON"},
        {"{\"a\": 99999999999999999999.}", "not valid JSON"},
        {"{\"a\": 1.e999}", "not valid JSON"},
        {"{\"a\": +1e999}", "not valid JSON"},
        {"{\"a\": 1e999 2}", "not valid JSON"},
        {"{\"a\": nan}", "not valid JSON"},
        {"{\"a\": NaNs}", "not valid JSON"},
        {"{\"a\": +Infinity}", "not valid JSON"},
        {"{NaN: 1}", "not valid JSON"},
        {"{\"a\": NaN", "not valid JSON"},
        {"{\"b\": NaN, \"a\": 1, \"a\": 99999999999999999999}", "duplicate"},
    };
    struct error e = {""};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct config *c = open_text(cases[i].text, &e);
        if (c)
            print_error("%s was accepted\n", cases[i].text);
        assert_null(c);
        assert_int_equal(check_message(cases[i].text, &e, cases[i].words), 0);
        assert_int_equal(check_message(cases[i].text, &e, "config.json: "), 0);
    }
    size_t size = (16 << 20) + 1;
    char *large = malloc(size);
    memset(large, ' ', size);
    assert_null(config_open(scratch_write(scratch_folder, "large.json", large, size), &e));
    assert_int_equal(check_message("large", &e, "large.json: |expected at most 16777216"), 0);
    memset(large, '[', 10000);
    memcpy(large, "{\"a\":", 5);
    assert_null(config_open(scratch_write(scratch_folder, "deep.json", large, 10000), &e));
    assert_int_equal(check_message("deep", &e, "deep.json: |not valid JSON"), 0);
    free(large);
    assert_null(config_open(scratch_folder, &e));
    assert_int_equal(check_message("folder", &e, "is a folder"), 0);
    assert_null(config_open(scratch_path(scratch_folder, "absent.json"), &e));
    assert_int_equal(check_message("absent", &e, "absent.json: cannot be opened"), 0);
}

/* Numbers that Jansson does not hold: they stop a reader of their key, and nobody else. */
static void test_numbers_out_of_reach(void **state)
{
    (void)state;
    static const struct {
        const char *literal, *shown; /* shown NULL: a number, which reads as a real */
        double value;
    } rows[] = {
        {"1000000000000000019884624838656", NULL, 1e30},
        {"9223372036854775808", NULL, 0x1p63},
        {"-9223372036854775809", NULL, -0x1p63},
        {"18446744073709551615", NULL, 0x1p64},
        {"NaN", "NaN", 0},
        {"Infinity", "Infinity", 0},
        {"-Infinity", "-Infinity", 0},
        {"1e999", "1e999", 0},
        {"-1.5E+400", "-1.5E+400", 0},
    };
    enum { DIGITS = 400 };
    static char digits[DIGITS + 1];
    memset(digits, '7', DIGITS);
    for (size_t i = 0; i <= sizeof rows / sizeof *rows; i++) {
        const char *literal = i < sizeof rows / sizeof *rows ? rows[i].literal : digits;
        const char *shown = i < sizeof rows / sizeof *rows
                                ? rows[i].shown
                                : "7777777777777777777777777777777777777777";
        struct error e = {""};
        char text[5 * DIGITS], words[128];
        long whole;
        double real;
        int flag;
        const char *string;
        const char *const choices[] = {"NaN", "Infinity", NULL};
        snprintf(text, sizeof text,
                 "{\"text\": \"NaN, \\\"1e999\\\", %s]\", \"k\":%s,\"list\": [1, %s], \"inner\": "
                 "{\"k\": %s\n}, \"after\": "
                 "9223372036854775807}",
                 literal, literal, literal, literal);
        struct config *c = open_text(text, &e);
        if (!c)
            fail_msg("%s: %s", literal, e.text);
        snprintf(text, sizeof text, "NaN, \"1e999\", %s]", literal); /* in text they are text */
        assert_int_equal(config_string_or(c, "text", "", &string, &e), 0);
        assert_string_equal(string, text);
        assert_int_equal(config_int(c, "after", 0, INT64_MAX, &whole, &e), 0);
        assert_true(whole == INT64_MAX);
        snprintf(words, sizeof words, "k is %s (expected a whole number", shown ? shown : "");
        assert_int_equal(config_int_or(c, "k", INT64_MIN, INT64_MAX, 0, &whole, &e), -1);
        assert_int_equal(check_message(literal, &e,
                                       shown ? words : "k is |e+|(expected a whole number"),
                         0);
        assert_int_equal(config_int_or(c, "inner.k", INT64_MIN, INT64_MAX, 0, &whole, &e), -1);
        snprintf(words, sizeof words, "k is %s (expected a number", shown ? shown : "");
        assert_int_equal(config_real_or(c, "k", -1e308, 1e308, 0, &real, &e), shown ? -1 : 0);
        if (shown)
            assert_int_equal(check_message(literal, &e, words), 0);
        else
            assert_true(real == rows[i].value);
        assert_int_equal(config_string_or(c, "k", "", &string, &e), -1);
        assert_int_equal(config_choice_or(c, "k", choices, 0, &flag, &e), -1);
        assert_int_equal(config_bool_or(c, "k", 0, &flag, &e), -1);
        assert_int_equal(config_real_or(c, "k.part", 0, 1, 0, &real, &e), -1);
        assert_int_equal(check_message(literal, &e, "k is not an object"), 0);
        config_close(c);
        snprintf(text, sizeof text, "{\"k\": %s}", literal);
        assert_null(json_parse_object("model", "the header", text, strlen(text),
                                      &e)); /* a safetensors header has no such leeway */
        assert_int_equal(check_message(literal, &e, "model: the header is not valid JSON"), 0);
    }
    struct error e = {""};
    double real;
    struct config *c = open_text("{\"zero\": -0, \"real\": -0.0, \"small\": 1e-999}", &e);
    assert_non_null(c);
    const char *const keys[] = {"zero", "real", "small"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(config_real_or(c, keys[i], -1, 1, 9, &real, &e), 0);
        assert_true(real == 0);
    }
    config_close(c);
}

static size_t allocated;

static void *count_allocation(size_t size)
{
    allocated += size;
    return malloc(size);
}

/* Text that is within its bounds but would take far more memory is refused before Jansson takes
 * any. */
static void test_refused_memory(void **state)
{
    (void)state;
    enum { SIZE = 20 << 20 };
    static const char *const units[] = {
        "1,", "[],", "{},", "\"\",", "[1],", "{\"\":1},", "[\"a\\\"\",\"\\\\\"],", "\"k\":1,"};
    /* the same characters, but within text, where they are one value */
    static const char *const harmless[] = {"[],", "{},", "\\\"", "\\\\", ":"};
    static char text[SIZE + 64];
    json_set_alloc_funcs(count_allocation, free);
    for (size_t i = 0; i < sizeof units / sizeof *units + sizeof harmless / sizeof *harmless; i++) {
        struct error e = {""};
        int refused = i < sizeof units / sizeof *units;
        const char *unit = refused ? units[i] : harmless[i - sizeof units / sizeof *units];
        size_t size = 6, length = strlen(unit);
        memcpy(text, refused ? "{\"k\":[" : "{\"k\":\"", size);
        for (; size < (refused ? SIZE : SIZE / 16); size += length)
            memcpy(text + size, unit, length);
        memcpy(text + size, refused ? "1]}" : "\"} ", 3);
        size += 3;
        allocated = 0;
        json_t *root = json_parse_object("model", "the header", text, size, &e);
        if (refused ? root || allocated > 1000 : !root)
            fail_msg("%s... is %s, %zu bytes were taken: %s", unit, root ? "accepted" : "refused",
                     allocated, e.text);
        if (refused)
            assert_int_equal(check_message(unit, &e,
                                           "model: the header holds values|expected at most 512"),
                             0);
        json_decref(root);
    }
    json_set_alloc_funcs(malloc, free);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_getters),
        cmocka_unit_test(test_unread),
        cmocka_unit_test(test_refused_values),
        cmocka_unit_test(test_refused_files),
        cmocka_unit_test(test_numbers_out_of_reach),
        cmocka_unit_test(test_refused_memory),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
