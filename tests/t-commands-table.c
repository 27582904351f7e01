/* commands/table.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "commands/table.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints cells (NULL at the end) as a table with this alignment. */
static char *print(const char *alignment, const char *const *cells)
{
    struct table *t = table_create(alignment);
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    assert_non_null(t);
    assert_non_null(f);
    for (; *cells; cells++)
        table_cell(t, "%s", *cells);
    assert_int_equal(table_print(f, t), 0);
    fclose(f);
    table_free(t);
    return text;
}

static void tables(void **state)
{
    static const struct row {
        const char *alignment;
        const char *cells[12];
        const char *expected;
    } cases[] = {
        {"lr", {"name", "n", "a", "100", "longer", "5"}, "name      n\na       100\nlonger    5\n"},
        {"rl", {"n", "name", "100", "a"}, "  n  name\n100  a\n"},
        {"lll", {"a", "", "c", "", "b", "", "aa", "", ""}, "a      c\n    b\naa\n"},
        {"rrl", {"a", "b", "", "1", "22", ""}, "a   b\n1  22\n"},
        {"ll",
         {"\xce\xb1\xce\xb2", "x", "abc", "y"},
         "\xce\xb1\xce\xb2   x\nabc  y\n"}, /* characters, not bytes */
        {"l", {""}, "\n"},
        {"lr", {NULL}, ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = print(cases[i].alignment, cases[i].cells);

        if (strcmp(text, cases[i].expected) != 0)
            fail_msg("case %zu:\n%sexpected:\n%s", i, text, cases[i].expected);
        free(text);
    }
}

/* Columns go in the order of their digits, of equal ones the last first; a table that cannot fit
 * keeps the others. */
static void narrow_tables(void **state)
{
    static const char *const cells[] = {"name", "first", "x",  "y",   "last",
                                        "a",    "1",     "22", "333", "4"};
    static const struct {
        int columns;
        const char *expected;
    } cases[] = {
        {0, "name  first   x    y  last\na         1  22  333     4\n"},
        {26, "name  first   x    y  last\na         1  22  333     4\n"},
        {25, "name  first   x  last\na         1  22     4\n(in 25 columns without y; --wide has "
             "all)\n"},
        {20,
         "name  first  last\na         1     4\n(in 20 columns without x, y; --wide has all)\n"},
        {16, "name  last\na        4\n(in 16 columns without first, x, y; --wide has all)\n"},
        {3, "name  last\na        4\n(in 3 columns without first, x, y; --wide has all)\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct table *t = table_create("lr2r1r1r");
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        for (size_t k = 0; k < sizeof cells / sizeof *cells; k++)
            table_cell(t, "%s", cells[k]);
        assert_int_equal(table_print_within(f, t, cases[i].columns), 0);
        fclose(f);
        assert_string_equal(text, cases[i].expected);
        free(text);
        table_free(t);
    }
}

/* In a page: escaped, with captions and notes. */
static void html_tables(void **state)
{
    struct table *t = table_create("lr1");
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    (void)state;
    table_caption(t, "%s", "a<b");
    table_cells(t, (const char *const[]){"name", "n", "<i>", "1&2", NULL});
    table_note(t, "%d \"of\" 2", 1);
    assert_int_equal(table_html(f, t), 0);
    fclose(f);
    assert_string_equal(
        text,
        "<div class=wide tabindex=0 role=group "
        "aria-label=\"a&lt;b\"><table><caption>a&lt;b</caption>\n"
        "<thead><tr><th scope=col>name</th><th "
        "scope=col "
        "class=r>n</th></tr></thead><tbody>\n<tr><th scope=row>&lt;i&gt;</th><td "
        "class=r>1&amp;2</td></tr></tbody></table></div>\n<p class=about>1 &quot;of&quot; 2</p>\n");
    free(text);
    table_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tables), cmocka_unit_test(narrow_tables),
                                       cmocka_unit_test(html_tables)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
