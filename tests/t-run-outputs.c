/* doc/outputs.md says of every CSV file what its table of columns says. `t-run-outputs --write` writes it so. */
#include "io/system/file.h"
#include "run/outputs/outputs.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE "doc/outputs.md"
static const char begin[] = "<!-- columns -->\n", end[] = "<!-- end of columns -->\n";

static void write_columns(FILE *f)
{
    static const char *const kinds[] = {[CSV_TEXT] = "text", [CSV_WHOLE] = "whole", [CSV_REAL] = "real", [CSV_DECIMAL] = "real"};

    for (size_t i = 0; i < output_count; i++) {
        const struct csv_layout *l = outputs[i];

        fprintf(f, "\n## %s\n\nBy %s. A row stands for %s.\n\n| column | kind | unit | meaning |\n|---|---|---|---|\n", l->file,
                l->origin, l->row);
        for (size_t k = 0; k < l->count; k++) {
            const struct csv_column *c = &l->columns[k];

            fprintf(f, "| `%s` | %s%s | %s | %s |\n", c->name, kinds[c->kind], c->may_be_empty ? " or empty" : "", c->unit,
                    c->meaning);
        }
    }
    fputs("\n", f);
}

/* The page with the tables between its marks as they are now; the caller frees both. */
static char *new_page(char **old)
{
    struct error e = {""};
    char *text = NULL, *from, *to;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    *old = file_read_whole(PAGE, 1 << 20, &(size_t){0}, &e);
    if (!f || !*old || !(from = strstr(*old, begin)) || !(to = strstr(*old, end))) {
        fprintf(stderr, "%s: cannot be read, or has lost its marks %s", PAGE, begin);
        exit(1);
    }
    from += strlen(begin);
    fwrite(*old, 1, (size_t)(from - *old), f);
    write_columns(f);
    fputs(to, f);
    fclose(f);
    return text;
}

static void test_page(void **state)
{
    char *old, *page = new_page(&old);

    (void)state;
    if (strcmp(page, old) != 0)
        fail_msg("%s is not what the tables of columns say (make outputs)", PAGE);
    free(page);
    free(old);
}

/* 1 if the line of units names the column, or its quantity for a bound or quantile of it: erf for erf_lo. */
static int is_named(const char *units, const char *name)
{
    char quantity[64];

    snprintf(quantity, sizeof quantity, "%.*s", (int)strcspn(name, "_"), name);
    return strstr(units, name) || strstr(units, quantity);
}

/* Every column has a name of its own and says what it is; the line of units names all that have one. */
static void test_columns(void **state)
{
    (void)state;
    for (size_t i = 0; i < output_count; i++) {
        const struct csv_layout *l = outputs[i];

        for (size_t k = 0; k < l->count; k++) {
            const struct csv_column *c = &l->columns[k];

            for (size_t j = 0; j < k; j++)
                assert_string_not_equal(c->name, l->columns[j].name);
            if (!*c->meaning || strchr(c->meaning, '|') || strchr(c->meaning, '\n'))
                fail_msg("%s: column %s: says \"%s\"", l->file, c->name, c->meaning);
            if (*c->unit && !is_named(l->units, c->name))
                fail_msg("%s: column %s has the unit %s, and its line of units does not name it", l->file, c->name, c->unit);
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_page), cmocka_unit_test(test_columns)};

    if (argc > 1 && strcmp(argv[1], "--write") == 0) {
        char *old, *page = new_page(&old);
        FILE *f = fopen(PAGE, "w");

        return f && fputs(page, f) >= 0 && fclose(f) == 0 ? 0 : 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
