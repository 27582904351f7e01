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
        {"ll", {"\xce\xb1\xce\xb2", "x", "abc", "y"}, "\xce\xb1\xce\xb2   x\nabc  y\n"}, /* characters, not bytes */
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tables)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
