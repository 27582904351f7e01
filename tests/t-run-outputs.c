/* The documents and the package in python/ say of every CSV file what its table of columns says.
 * `t-run-outputs --write` writes them so. */
#include "commands/commands.h"
#include "run/outputs/outputs.h"
#include "run/results.h"
#include "tests/written.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {[CSV_TEXT] = "text",
                                    [CSV_WHOLE] = "whole",
                                    [CSV_REAL] = "real",
                                    [CSV_DECIMAL] = "decimal",
                                    [CSV_DIGITS] = "whole of any size"};

static void write_columns(FILE *f, const struct csv_layout *l, const char *title)
{
    fprintf(f, "| %s | kind | unit | meaning |\n|---|---|---|---|\n", title);
    for (size_t k = 0; k < l->count; k++) {
        const struct csv_column *c = &l->columns[k];

        fprintf(f, "| `%s` | %s%s | %s | %s |\n", c->name, kinds[c->kind],
                c->may_be_empty ? " or empty" : "", c->unit, c->meaning);
    }
}

/* doc/outputs.md: all that the tables say. */
static void write_tables(FILE *f, const void *unused)
{
    (void)unused;
    for (size_t i = 0; output_at(i); i++) {
        const struct csv_layout *l = output_at(i);

        fprintf(f, "\n### %s\n\nBy %s. A row stands for %s.\n\n", l->file, l->origin, l->row);
        write_columns(f, l, "column");
    }
    fputs("\n", f);
}

/* 1 if a verb before this one, or a table before this one of the same verb, has the layout. */
static int is_earlier(const struct csv_layout *l, const struct verb *const *verb)
{
    for (const struct verb *const *v = verbs; v < verb; v++)
        for (const struct results_file *const *t = (*v)->shown; t && *t; t++)
            if ((*t)->layout == l)
                return 1;
    return 0;
}

/* The documents of --json: the members of each verb's, and the tables that only they have. */
static void write_documents(FILE *f, const void *unused)
{
    (void)unused;
    fputs("\n| command | members beside the common ones |\n|---|---|\n", f);
    for (const struct verb *const *v = verbs; *v; v++) {
        const struct results_file *const *lists[] = {(*v)->shown, (*v)->files};
        int any = 0;

        for (size_t i = 0; i < 2; i++)
            for (const struct results_file *const *t = lists[i]; t && *t; t++)
                if ((*t)->layout) {
                    char name[CSV_MEMBER];

                    if (!any++)
                        fprintf(f, "| %s | ", (*v)->name);
                    fprintf(f, "%s`%s`", any > 1 ? ", " : "", csv_member(name, (*t)->layout));
                }
        fputs(any ? " |\n" : "", f);
    }
    for (const struct verb *const *v = verbs; *v; v++)
        for (const struct results_file *const *t = (*v)->shown; t && *t; t++)
            if (!is_earlier((*t)->layout, v)) {
                const struct csv_layout *l = (*t)->layout;

                fprintf(f, "\n### `%s` of %s\n\n%s %s.\n\n", l->file, l->origin,
                        (*t)->single ? "One object, for" : "A list; an object stands for", l->row);
                write_columns(f, l, "member");
            }
    fputs("\n", f);
}

/* The names of all columns, with `between` and what `kind_of` says of each. */
static char *names_of(const struct csv_layout *l, const char *between,
                      const char *(*kind_of)(const struct csv_column *))
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    for (size_t k = 0; k < l->count; k++)
        fprintf(f, "%s%s%s", k ? between : "", l->columns[k].name,
                kind_of ? kind_of(&l->columns[k]) : "");
    fclose(f);
    return text;
}

/* python/reach_erf/tables.py: names and kinds. */
static const char *python_kind(const struct csv_column *c)
{
    return c->kind == CSV_TEXT     ? ""
           : c->kind == CSV_DIGITS ? ":d?"
           : c->kind == CSV_WHOLE  ? (c->may_be_empty ? ":w?" : ":w")
           : c->may_be_empty       ? ":r?"
                                   : ":r";
}

static void write_python(FILE *f, const void *unused)
{
    enum { WIDTH = 100 };

    (void)unused;
    for (size_t i = 0; output_at(i); i++) {
        const struct csv_layout *l = output_at(i);
        char *names = names_of(l, " ", python_kind), key[32];
        int is_file = strstr(l->file, ".csv") != NULL, begins;

        snprintf(key, sizeof key, "%.*s", is_file ? (int)strcspn(l->file, ".") : 9,
                 is_file ? l->file : "per-token");
        begins = fprintf(f, "    \"%s\": ", key);
        if ((size_t)begins + strlen(names) + 3 <= WIDTH) {
            fprintf(f, "\"%s\",\n", names);
        } else {
            char *ended = NULL;

            assert_true(asprintf(&ended, "%s\"\"\",", names) > 0);
            fputs("\"\"\"", f);
            written_wrap(f, ended, (size_t)begins + 3, WIDTH, "        ");
            free(ended);
        }
        free(names);
    }
}

/* The manual pages: what a row is, and names. */
static void write_manual(FILE *f, const void *from)
{
    const struct csv_layout *l = from;
    char *names = names_of(l, ", ", NULL), *text = NULL;

    assert_true(asprintf(&text, "Columns %s.", names) > 0);
    fprintf(f, "A row stands for %s.\n", l->row);
    written_wrap(f, text, 0, 90, "");
    free(text);
    free(names);
}

enum { PARTS_MAX = 32 };

/* All parts: of each manual page those that it has marks for. */
static size_t all_parts(struct written out[PARTS_MAX])
{
    static const struct {
        const char *page, *file;
    } manuals[] = {
        {"doc/reach.1", "curve.csv"},           {"doc/reach.1", "summary.csv"},
        {"doc/reach.1", "attention.csv"},       {"doc/reach.1", "validation.csv"},
        {"doc/reach-ppl.1", "ppl.csv"},         {"doc/reach-ppl.1", "gain.csv"},
        {"doc/reach-trf.1", "trf.csv"},         {"doc/reach-trf.1", "rotary.csv"},
        {"doc/reach-fit.1", "fit.csv"},         {"doc/reach-bias.1", "bias.csv"},
        {"doc/reach-explain.1", "explain.csv"}, {"doc/reach-ppl.1", "FILE of --per-token"},
        {"doc/reach-explain.1", "units.csv"},   {"doc/reach-trf.1", "weights.csv"},
    };
    static char marks[PARTS_MAX][64];
    size_t count = 0;

    out[count++] = (struct written){"doc/outputs.md", "<!-- columns -->\n",
                                    "<!-- end of columns -->\n", write_tables, NULL};
    out[count++] = (struct written){"doc/outputs.md", "<!-- document -->\n",
                                    "<!-- end of document -->\n", write_documents, NULL};
    out[count++] = (struct written){"python/reach_erf/tables.py",
                                    "COLUMNS = {  # by make outputs\n", "}\n", write_python, NULL};
    for (size_t i = 0; output_at(i); i++) {
        size_t k = 0;

        while (k < sizeof manuals / sizeof *manuals &&
               strcmp(manuals[k].file, output_at(i)->file) != 0)
            k++;
        if (k == sizeof manuals / sizeof *manuals)
            fail_msg("%s: no manual page has its columns", output_at(i)->file);
        snprintf(marks[i], sizeof marks[i], ".\\\" columns of %s, by make outputs\n",
                 output_at(i)->file);
        out[count++] = (struct written){manuals[k].page, marks[i], ".\\\" end of columns\n",
                                        write_manual, output_at(i)};
    }
    return count;
}

static void test_pages(void **state)
{
    struct written parts[PARTS_MAX];

    (void)state;
    written_check(parts, all_parts(parts));
}

/* 1 if the line of units names the column, or its quantity for a bound or quantile of it: erf for
 * erf_lo. */
static int is_named(const char *units, const char *name)
{
    char quantity[64];

    snprintf(quantity, sizeof quantity, "%.*s", (int)strcspn(name, "_"), name);
    return strstr(units, name) || strstr(units, quantity);
}

/* Every column has a name of its own and says what it is; the line of units, which a table of
 * documents alone lacks, names all that have one. */
static void check_columns(const struct csv_layout *l)
{
    for (size_t k = 0; k < l->count; k++) {
        const struct csv_column *c = &l->columns[k];

        for (size_t j = 0; j < k; j++)
            assert_string_not_equal(c->name, l->columns[j].name);
        if (!*c->meaning || strchr(c->meaning, '|') || strchr(c->meaning, '\n'))
            fail_msg("%s: column %s: says \"%s\"", l->file, c->name, c->meaning);
        if (l->units && *c->unit && !is_named(l->units, c->name))
            fail_msg("%s: column %s has the unit %s, and its line of units does not name it",
                     l->file, c->name, c->unit);
    }
}

static void test_columns(void **state)
{
    (void)state;
    for (size_t i = 0; output_at(i); i++) {
        assert_non_null(output_at(i)->units);
        check_columns(output_at(i));
    }
    for (const struct verb *const *v = verbs; *v; v++)
        for (const struct results_file *const *t = (*v)->shown; t && *t; t++)
            check_columns((*t)->layout);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pages),
                                       cmocka_unit_test(test_columns)};
    struct written parts[PARTS_MAX];

    if (written_wanted(argc, argv))
        return written_write(parts, all_parts(parts));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
