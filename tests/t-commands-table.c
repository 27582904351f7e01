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

/* What table_write makes of these cells, in a table of this alignment. */
static char *written(enum table_format format, const char *alignment, const char *const *cells)
{
    struct table *t = table_create(alignment);
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    table_caption(t, "%s", "a_b & 5 %");
    table_cells(t, cells);
    table_note(t, "%s", "c*d");
    assert_int_equal(table_write(f, t, format), 0);
    fclose(f);
    table_free(t);
    return text;
}

static void other_formats(void **state)
{
    static const char *const cells[] = {"model", "ERF(0.99)", "95 % interval", "L_tr", "",
                                        "a|b",   ">= 2047",   "[117, 126]",    "-",    "",
                                        NULL};
    static const char *const expected[] = {
        [TABLE_LATEX] = "% a_b & 5 %\n\\begin{tabular}{lrrr}\n\\toprule\nmodel & ERF(0.99) & "
                        "95\\,\\% interval & L$_{\\mathrm{tr}}$ \\\\\n\\midrule\n"
                        "a{\\textbar}b & $\\geq 2047$ & $[117, 126]$ & -- \\\\\n\\bottomrule\n"
                        "\\end{tabular}\n% c*d\n",
        [TABLE_MARKDOWN] = "a_b \\& 5 %\n\n| model | ERF(0.99) | 95 % interval | L_tr |\n"
                           "|---|---:|---:|---:|\n| a\\|b | >= 2047 | [117, 126] | - |\n\n"
                           "c\\*d\n\n",
        [TABLE_CSV] = "# a_b & 5 %\nmodel,ERF(0.99),95 % interval,L_tr\na|b,>= 2047,\"[117, "
                      "126]\",-\n# c*d\n"};

    (void)state;
    for (enum table_format format = TABLE_LATEX; format <= TABLE_CSV; format++) {
        char *text = written(format, "lrrrl", cells);

        assert_string_equal(text, expected[format]);
        free(text);
    }
}

/* Cells of LaTeX: numbers as mathematics, all else escaped. */
static void latex_cells(void **state)
{
    static const char *const cases[][2] = {
        {"12", "12"},
        {"0.50", "0.50"},
        {"-0.5", "$-0.5$"},
        {"+125", "$+125$"},
        {"1.2e-05", "$1.2\\times 10^{-5}$"},
        {"5.64e39 (40 digits)", "$5.64\\times 10^{39}$ (40 digits)"},
        {"[5.75e51, 5.80e51]", "$[5.75\\times 10^{51}, 5.80\\times 10^{51}]$"},
        {"[+120, +131]", "$[+120, +131]$"},
        {"< 1e-300", "$<1\\times 10^{-300}$"},
        {"inf", "$\\infty$"},
        {"-inf", "$-\\infty$"},
        {"infinite", "infinite"},
        {"50.0 %", "50.0\\,\\%"},
        {"5.15 ms", "5.15\\,ms"},
        {"5.15 us", "5.15\\,$\\mu$s"},
        {"1.2e-05 !", "$1.2\\times 10^{-5}$ !"},
        {"113/118/128", "113/118/128"},
        {"7b", "7b"},
        {"12_b", "12\\_b"},
        {"[1, 2", "{[}1, 2"},
        {"[def] f", "{[}def] f"},
        {"*x", "{*}x"},
        {"--rope none", "-{}-rope none"},
        {"a  b", "a \\ b"},
        {"#$%&_{}", "\\#\\$\\%\\&\\_\\{\\}"},
        {"\\~^<>|`",
         "{\\textbackslash}{\\textasciitilde}{\\textasciicircum}{\\textless}{\\textgreater}"
         "{\\textbar}{\\textasciigrave}"},
        {"\u21b5", "$\\hookleftarrow$"},
        {"", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = written(TABLE_LATEX, "ll",
                             (const char *const[]){"x", "R^2", cases[i][0], ".", NULL}),
             row[300];

        snprintf(row, sizeof row, "\nx & R$^{2}$ \\\\\n\\midrule\n%s & . \\\\\n", cases[i][1]);
        if (!strstr(text, row))
            fail_msg("%s: %s (expected %s)", cases[i][0], text, row);
        free(text);
    }
}

/* LaTeX has as many columns as fit, and says which it has not. */
static void latex_is_narrow(void **state)
{
    static const char *const cells[] = {"a name of twenty five let",
                                        "first",
                                        "a title of thirty letters, say",
                                        "last",
                                        "a",
                                        "1",
                                        "2",
                                        "3",
                                        NULL};
    char *text = written(TABLE_LATEX, "lr2r1r", cells);

    (void)state;
    assert_non_null(strstr(text, "{lrr}\n"));
    assert_non_null(strstr(text, "\na & 1 & 3 \\\\\n"));
    assert_non_null(strstr(text, "\n% --wide also has a title of thirty letters, say\n"));
    free(text);
}

/* A text that is broken at words; a header that is not shown. */
static void broken_cells(void **state)
{
    struct table *t = table_create("lw");
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    (void)state;
    table_cells(t, (const char *const[]){"property", "value", "name", "one two three four five six",
                                         "", "12 MB and \"a b c\" more", NULL});
    table_headless(t, 4);
    assert_int_equal(table_print_within(f, t, 26), 0);
    fclose(f);
    assert_string_equal(text, "name  one two three four\n      five six\n"
                              "      12 MB and \"a b c\"\n      more\n");
    free(text);
    table_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tables),
                                       cmocka_unit_test(narrow_tables),
                                       cmocka_unit_test(html_tables),
                                       cmocka_unit_test(other_formats),
                                       cmocka_unit_test(latex_cells),
                                       cmocka_unit_test(latex_is_narrow),
                                       cmocka_unit_test(broken_cells)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
