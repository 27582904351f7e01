#include "tests/results.h"

#include "tests/program.h"
#include "tests/tiny.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

struct csv_table read_table(const char *path)
{
    struct csv_table t;
    struct error e;

    if (csv_read(path, &t, &e) != 0)
        fail_msg("%s", e.text);
    return t;
}

const char *cell(const struct csv_table *t, size_t row, const char *column)
{
    int i = csv_column(t, column);

    if (i < 0 || row >= t->rows)
        fail_msg("no column %s, or no row %zu of %zu", column, row, t->rows);
    return t->cell[row * t->columns + (size_t)i];
}

double number(const struct csv_table *t, size_t row, const char *column)
{
    const char *text = cell(t, row, column);
    char *end;
    double value = strtod(text, &end);

    if (*end || end == text)
        fail_msg("row %zu: %s is \"%s\"", row, column, text);
    return value;
}

struct result read_result(const char *folder)
{
    struct result r;
    struct error e;

    if (result_read(at("%s/erf.h5", folder), &r, &e) != 0)
        fail_msg("%s", e.text);
    return r;
}

void assert_same_file(const char *a, const char *b)
{
    size_t size_a = 0, size_b = 0;
    char *text_a = slurp(a, &size_a), *text_b = slurp(b, &size_b);

    if (!text_a || !text_b || size_a != size_b || memcmp(text_a, text_b, size_a) != 0)
        fail_msg("%s (%zu bytes) and %s (%zu bytes) differ", a, text_a ? size_a : 0, b,
                 text_b ? size_b : 0);
    free(text_a);
    free(text_b);
}
