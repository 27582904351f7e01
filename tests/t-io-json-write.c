/* JSON documents: what is written reads back, whatever the texts and numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "io/formats/csv.h"
#include "io/formats/json.h"
#include "io/formats/json_write.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct row {
    const char *text, *maybe, *decimal;
    long long whole, some;
    double real, any;
};

static const struct csv_column columns[] = {
    CSV_COLUMN(row, text, "", "a text"),       CSV_OPTIONAL(row, maybe, "", "a text or nothing"),
    CSV_ROUNDED(row, decimal, "", "decimals"), CSV_COLUMN(row, whole, "", "a whole number"),
    CSV_OPTIONAL(row, some, "", "or nothing"), CSV_COLUMN(row, real, "", "a real"),
    CSV_OPTIONAL(row, any, "", "or nothing"),
};
static const struct csv_layout layout = {.file = "rows.csv",
                                         .columns = columns,
                                         .count = sizeof columns / sizeof *columns};

static void lines_and_values(void **state)
{
    static const struct row rows[] = {
        {"", "", "", 0, 0, 0, NAN},
        {"a\"\\\n\t\x01\x7f", "\xc3\xa4\xf0\x9f\x8c\xb2", "0.1", -3, 7, 0.1, -INFINITY},
        {"\xff\xc3(\xed\xa0\x80", NULL, NULL, 1LL << 62, 0, NAN, DBL_MIN},
    };
    static const char expected[] =
        "{\n"
        "  \"name\": \"reach\",\n"
        "  \"none\": null,\n"
        "  \"whole\": -7,\n"
        "  \"real\": 0.1,\n"
        "  \"infinite\": \"inf\",\n"
        "  \"rows\": [\n"
        "    {\"text\": \"\", \"maybe\": null, \"decimal\": null, \"whole\": 0, \"some\": null, "
        "\"real\": 0, \"any\": null},\n"
        "    {\"text\": \"a\\\"\\\\\\u000a\\u0009\\u0001\\u007f\", \"maybe\": "
        "\"\xc3\xa4\xf0\x9f\x8c\xb2\", \"decimal\": \"0.1\", \"whole\": -3, \"some\": 7, \"real\": "
        "0.1, \"any\": \"-inf\"},\n"
        "    {\"text\": \"\\ufffd\\ufffd(\\ufffd\\ufffd\\ufffd\", \"maybe\": null, \"decimal\": "
        "null, \"whole\": 4611686018427387904, \"some\": null, \"real\": \"nan\", \"any\": "
        "2.2250738585072014e-308}\n"
        "  ],\n"
        "  \"rows\": {\n"
        "    \"text\": \"one\",\n"
        "    \"maybe\": null,\n"
        "    \"decimal\": null,\n"
        "    \"whole\": 0,\n"
        "    \"some\": null,\n"
        "    \"real\": 0,\n"
        "    \"any\": 0\n"
        "  },\n"
        "  \"rows\": [],\n"
        "  \"settings\": {\n"
        "    \"a\": \"b\"\n"
        "  }\n"
        "}\n";
    char *text = NULL;
    size_t size;
    struct json_writer w = {.stream = open_memstream(&text, &size)};
    struct error e = {""};
    struct csv *csv;

    (void)state;
    assert_non_null(w.stream);
    json_write_open(&w, NULL, '{');
    json_write_text(&w, "name", "reach");
    json_write_text(&w, "none", NULL);
    json_write_whole(&w, "whole", -7);
    json_write_real(&w, "real", 0.1);
    json_write_real(&w, "infinite", INFINITY);
    assert_non_null(csv = csv_enter(&w, &layout, 0, &e));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        csv_row(csv, &rows[i]);
    csv_leave(csv);
    assert_non_null(csv = csv_enter(&w, &layout, 1, &e));
    csv_row(csv, &(struct row){.text = "one"});
    csv_leave(csv);
    assert_non_null(csv = csv_enter(&w, &layout, 0, &e));
    csv_leave(csv);
    json_write_open(&w, "settings", '{');
    json_write_text(&w, "a", "b");
    json_write_close(&w, '}');
    json_write_close(&w, '}');
    assert_int_equal(fclose(w.stream), 0);
    assert_string_equal(text, expected);
    free(text);
}

/* Every real reads back to the same bits. */
static void reals_read_back(void **state)
{
    static const double values[] = {0.1, 1.0 / 3, 1e300, 5e-324, DBL_MAX, -0.0, 123456789, 1e22};
    char *text = NULL;
    size_t size;
    struct json_writer w = {.stream = open_memstream(&text, &size)};
    struct error e = {""};
    json_t *object;

    (void)state;
    json_write_open(&w, NULL, '{');
    json_write_open(&w, "values", '[');
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        json_write_real(&w, NULL, values[i]);
    json_write_close(&w, ']');
    json_write_close(&w, '}');
    assert_int_equal(fclose(w.stream), 0);
    object = json_parse_object("text", "the text", text, size, &e);
    if (!object)
        fail_msg("%s", e.text);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        assert_true(json_number_value(json_array_get(json_object_get(object, "values"), i)) ==
                    values[i]);
    json_decref(object);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lines_and_values),
                                       cmocka_unit_test(reals_read_back)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
