/* CSV: numbers read back to the same bits, quoting, and what must be refused. */
#include "io/formats/csv.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_real(void **state)
{
    (void)state;
    const struct {
        double value;
        const char *want;
    } cases[] = {
        {0, "0"},
        {-0.0, "-0"},
        {1, "1"},
        {0.1, "0.1"},
        {0.3, "0.3"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1e22, "1e+22"},
        {2047, "2047"},
        {1.0 / 3, "0.3333333333333333"},
        {0.99, "0.99"},
        {5e-324, "5e-324"},
        {1e-310, "1e-310"},
        {-2.5e-320, "-2.5e-320"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {INFINITY, "inf"},
        {-INFINITY, "-inf"},
        {NAN, "nan"},
        {-NAN, "nan"},
        {9007199254740993.0, "9007199254740992"},
    };
    char text[32];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(csv_format_real(text, cases[i].value), cases[i].want);
    /* any bits; against all shorter precisions */
    uint64_t random = 1;
    for (int i = 0; i < 20000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint64_t bits = i % 4
                            ? random
                            : random & 0x800FFFFFFFFFFFFF; /* every fourth below the normal range */
        double value, back;
        char shorter[32];
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        back = strtod(csv_format_real(text, value), NULL);
        if (memcmp(&back, &value, sizeof back)) {
            print_error("%a -> %s\n", value, text);
            fail();
        }
        for (int digits = 1; i < 2000 && digits < 17; digits++) {
            snprintf(shorter, sizeof shorter, "%.*g", digits, value);
            if (strtod(shorter, NULL) == value && strlen(shorter) < strlen(text)) {
                print_error("%s is longer than %s\n", text, shorter);
                fail();
            }
        }
    }
}

static void test_round_trip(void **state)
{
    (void)state;
    struct error e = {""};
    const char *const comments[] = {"reach 0.1.0", "command: reach erf 'a\nb'", NULL};
    const char *const texts[] = {"plain",      "",        "a,b",          "say \"x\"",
                                 "two\nlines", "cr\r",    "# no comment", " space ",
                                 "\"",         "\xCE\x94"};
    enum { N = sizeof texts / sizeof *texts };
    const char *path = scratch_path(scratch_folder, "t.csv");
    struct csv *c = csv_create(path, comments, "name,value,count,nothing", &e);
    assert_non_null(c);
    for (int i = 0; i < N; i++) {
        csv_text(c, texts[i]);
        csv_real(c, i == 3 ? INFINITY : 0.1 * i);
        csv_whole(c, -10LL * i);
        csv_empty(c);
        csv_end_row(c);
    }
    assert_int_equal(csv_close(c, &e), 0);
    size_t size;
    unsigned char *bytes = scratch_read(path, &size);
    const char begin[] = "# reach 0.1.0\n# command: reach erf 'a "
                         "b'\nname,value,count,nothing\nplain,0,0,\n,0.1,-10,\n\"a,b\",0.2,-20,\n"
                         "\"say \"\"x\"\"\",inf,-30,\n\"two\nlines\",";
    assert_memory_equal(bytes, begin, sizeof begin - 1);
    free(bytes);
    struct csv_table t;
    assert_int_equal(csv_read(path, &t, &e), 0);
    assert_int_equal(t.columns, 4);
    assert_int_equal(t.rows, N);
    assert_string_equal(t.version, "0.1.0");
    assert_string_equal(t.command, "reach erf 'a b'");
    assert_int_equal(csv_column(&t, "name"), 0);
    assert_int_equal(csv_column(&t, "nothing"), 3);
    assert_int_equal(csv_column(&t, "x"), -1);
    for (size_t i = 0; i < N; i++) {
        assert_string_equal(t.cell[4 * i], texts[i]);
        assert_true(strtod(t.cell[4 * i + 1], NULL) == (i == 3 ? INFINITY : 0.1 * (double)i));
        assert_int_equal(atoi(t.cell[4 * i + 2]), -10 * (int)i);
        assert_string_equal(t.cell[4 * i + 3], "");
    }
    csv_table_free(&t);
    csv_table_free(&t);
}

/* Readers that take # for a comment wherever it is not between quotes, as pandas and R do, see
 * every cell whole. */
static void test_no_cell_is_a_comment(void **state)
{
    (void)state;
    static const char *const texts[] = {"#",     "a#b", " #",    "##",    "\"#", "#\"\"",
                                        "a\n#b", "#,",  "x #\r", "plain", "",    "'#'"};
    enum { N = sizeof texts / sizeof *texts, ROWS = 200 };
    static const char alphabet[] = "#\",\n\r a";
    struct error e = {""};
    const char *path = scratch_path(scratch_folder, "comments.csv");
    static char cells[2 * (N + ROWS)][8];
    struct csv *c = csv_create(path, NULL, "first,second", &e);
    assert_non_null(c);
    srand(3);
    for (size_t i = 0; i < 2 * (N + ROWS); i++) {
        size_t length = (size_t)rand() % 7;
        snprintf(cells[i], sizeof cells[i], "%s", texts[i % N]);
        for (size_t k = 0; i >= 2 * N && k <= length; k++)
            cells[i][k] = k < length ? alphabet[(size_t)rand() % (sizeof alphabet - 1)] : '\0';
        csv_text(c, cells[i]);
        if (i % 2)
            csv_end_row(c);
    }
    assert_int_equal(csv_close(c, &e), 0);
    size_t size;
    unsigned char *bytes = scratch_read(path, &size);
    for (size_t i = 0, quoted = 0; i < size; i++) {
        quoted ^= bytes[i] == '"';
        if (bytes[i] == '#' && !quoted)
            fail_msg("a # at byte %zu is not quoted: %.*s", i, 20, bytes + i);
    }
    free(bytes);
    struct csv_table t;
    assert_int_equal(csv_read(path, &t, &e), 0);
    assert_int_equal(t.rows, N + ROWS);
    for (size_t i = 0; i < 2 * t.rows; i++)
        assert_string_equal(t.cell[i], cells[i]);
    csv_table_free(&t);
}

struct sample {
    const char *name, *note;
    long long count, rows;
    double share, time;
};

static void test_columns(void **state)
{
    (void)state;
    static const struct csv_column columns[] = {
        CSV_COLUMN(sample, name, "", "a"),        CSV_OPTIONAL(sample, note, "", "b"),
        CSV_COLUMN(sample, count, "tokens", "c"), CSV_OPTIONAL(sample, rows, "tokens", "d"),
        CSV_COLUMN(sample, share, "", "e"),       CSV_OPTIONAL(sample, time, "seconds", "f"),
    };
    static const struct csv_layout layout = {.units = "count in tokens",
                                             .columns = columns,
                                             .count = 6};
    struct error e = {""};
    const char *path = scratch_path(scratch_folder, "columns.csv");
    struct csv *c = csv_open(path, &layout, "reach x 'a\nb'", "a note", &e);
    assert_non_null(c);
    csv_row(c, &(struct sample){"x,y", "#", 3, 4, 0.1, 2});
    csv_row(c, &(struct sample){"", NULL, 0, 0, NAN, NAN});
    assert_int_equal(csv_close(c, &e), 0);
    size_t size;
    char *bytes = (char *)scratch_read(path, &size), *line = strchr(bytes, '\n');
    assert_non_null(line); /* behind the version */
    const char want[] = "\n# command: reach x 'a b'\n# units: count in tokens\n# a "
                        "note\nname,note,count,rows,share,time\n"
                        "\"x,y\",\"#\",3,4,0.1,2\n,,0,,nan,\n";
    assert_int_equal(size - (size_t)(line - bytes), sizeof want - 1);
    assert_memory_equal(line, want, sizeof want - 1);
    free(bytes);
}

static void test_wrong_rows(void **state)
{
    (void)state;
    for (int fields = 0; fields <= 3; fields++)
        for (int ended = 0; ended < 2; ended++) {
            struct error e = {""};
            int good = fields == 2 || (fields == 0 && !ended);
            struct csv *c = csv_create(scratch_path(scratch_folder, "rows.csv"), NULL, "a,b", &e);
            csv_whole(c, 1);
            csv_whole(c, 2);
            csv_end_row(c);
            for (int i = 0; i < fields; i++)
                csv_whole(c, i);
            if (ended)
                csv_end_row(c);
            assert_int_equal(csv_close(c, &e), good ? 0 : -1);
            if (!good)
                assert_int_equal(check_message("row", &e, "rows.csv: row 2 has|expected 2"), 0);
        }
    struct error e = {""};
    int files = scratch_count(scratch_folder);
    struct csv *c = csv_create(scratch_path(scratch_folder, "abandoned.csv"), NULL, "a,b", &e);
    csv_abandon(c);
    csv_abandon(NULL);
    assert_int_equal(scratch_count(scratch_folder), files);
    assert_null(csv_create(scratch_path(scratch_folder, "absent/x.csv"), NULL, "a", &e));
    assert_int_equal(check_message("absent folder", &e, "absent/x.csv: cannot be written"), 0);
    c = csv_create(scratch_path(scratch_folder, "full.csv"), NULL, "a", &e);
    scratch_limit(100);
    for (int i = 0; i < 10000; i++) {
        csv_whole(c, i);
        csv_end_row(c);
    }
    int result = csv_close(c, &e);
    scratch_unlimit();
    assert_int_equal(result, -1);
    assert_int_equal(check_message("full disk", &e, "full.csv: cannot be written: File too large"),
                     0);
    assert_int_equal(scratch_count(scratch_folder), files);
}

static void test_reading(void **state)
{
    (void)state;
    const struct {
        const char *text;
        size_t columns, rows;
        const char *last; /* the last cell */
    } good[] = {
        {"a\n", 1, 0, NULL},
        {"a", 1, 0, NULL},
        {"a,b\n1,2", 2, 1, "2"},
        {"a,b\r\n1,2\r\n", 2, 1, "2"},
        {"# x\n#y\r\na,b\n\n1,2\n\r\n3,\n", 2, 2, ""},
        {"\xEF\xBB\xBF"
         "a,b\n1,\"x\"\"\r\n,y\"\r\n",
         2, 1, "x\"\r\n,y"},
        {"a\n#1\n", 1, 1, "#1"}, /* comments are above the header only */
        {"a,b\n1,\"\"", 2, 1, ""},
    };
    const struct {
        const char *text;
        size_t size;
        const char *words;
    } bad[] = {
        {"", 0, "holds no table"},
        {"# only\n", 7, "holds no table"},
        {"a,b\n1,2\n3\n", 10, "line 3 has 1 fields (expected 2"},
        {"a,b\n\"x\ny\",2\n1,2,3\n", 18, "line 4 has 3 fields (expected 2"},
        {"a\n\"x\n", 5, "line 2: a quoted field does not end"},
        {"a\n\"x\"y\n", 7, "line 2: text after a closing quote"},
        {"a\n1\0002\n", 6, "holds a zero byte"},
    };
    struct csv_table t;
    struct error e = {""};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        if (csv_read(scratch_write(scratch_folder, "g.csv", good[i].text, strlen(good[i].text)), &t,
                     &e)) {
            print_error("%s: %s\n", good[i].text, e.text);
            fail();
        }
        assert_int_equal(t.columns, good[i].columns);
        assert_int_equal(t.rows, good[i].rows);
        if (good[i].last)
            assert_string_equal(t.cell[t.rows * t.columns - 1], good[i].last);
        csv_table_free(&t);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(csv_read(scratch_write(scratch_folder, "b.csv", bad[i].text, bad[i].size),
                                  &t, &e),
                         -1);
        assert_int_equal(check_message(bad[i].text, &e, bad[i].words), 0);
    }
    assert_int_equal(csv_read(scratch_folder, &t, &e), -1);
    assert_int_equal(check_message("folder", &e, "is a folder"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_real),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_no_cell_is_a_comment),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_wrong_rows),
        cmocka_unit_test(test_reading),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
