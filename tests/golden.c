#include "tests/golden.h"

#include "io/formats/csv.h"
#include "io/tokens/tokens.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

double *golden_read_f64(const char *path, size_t count)
{
    unsigned char head[10];
    FILE *f = fopen(path, "rb");
    if (!f || fread(head, 1, 10, f) != 10 || memcmp(head, "\x93NUMPY\x01", 7) != 0)
        fail_msg("%s: not a version 1 .npy file", path);
    size_t header = head[8] + 256u * head[9];
    char *text = calloc(header + 1, 1);
    double *values = calloc(count + 1, sizeof *values);
    assert_non_null(text);
    assert_non_null(values);
    if (fread(text, 1, header, f) != header || !strstr(text, "'<f8'") ||
        !strstr(text, "'fortran_order': False"))
        fail_msg("%s: expected '<f8' in C order, found %s", path, text);
    if (fread(values, sizeof *values, count, f) != count || fgetc(f) != EOF)
        fail_msg("%s: expected %zu values", path, count);
    free(text);
    fclose(f);
    return values;
}

static void read_case(struct golden *g)
{
    char path[512];
    struct error e;
    struct tokens tokens;
    snprintf(path, sizeof path, "tests/goldens/%s/tokens.npy", g->name);
    const char *file = path;
    if (tokens_read_files(&tokens, &file, 1, &e))
        fail_msg("%s", e.text);
    if (tokens.total != g->segments * g->length)
        fail_msg("%s: %zu tokens, expected %zu x %zu", path, tokens.total, g->segments, g->length);
    g->ids = tokens.ids;
    free(tokens.name);
    snprintf(path, sizeof path, "tests/goldens/%s/norm.npy", g->name);
    g->norm = golden_read_f64(path, g->segments * (g->length - 1));
    snprintf(path, sizeof path, "tests/goldens/%s/logprob.npy", g->name);
    g->logprob = golden_read_f64(path, g->segments);
}

struct golden *goldens_open(size_t *count)
{
    struct csv_table table;
    struct error e;
    if (csv_read("tests/goldens/cases.csv", &table, &e))
        fail_msg("%s", e.text);
    int name = csv_column(&table, "case"), checkpoint = csv_column(&table, "checkpoint"),
        segments = csv_column(&table, "segments"), length = csv_column(&table, "length");
    assert_true(name >= 0 && checkpoint >= 0 && segments >= 0 && length >= 0);
    struct golden *cases = calloc(table.rows + 1, sizeof *cases);
    assert_non_null(cases);
    for (size_t i = 0; i < table.rows; i++) {
        char **row = table.cell + i * table.columns;
        snprintf(cases[i].name, sizeof cases[i].name, "%s", row[name]);
        snprintf(cases[i].checkpoint, sizeof cases[i].checkpoint, "%s", row[checkpoint]);
        cases[i].segments = strtoul(row[segments], NULL, 10);
        cases[i].length = strtoul(row[length], NULL, 10);
        read_case(&cases[i]);
    }
    *count = table.rows;
    csv_table_free(&table);
    return cases;
}

void goldens_free(struct golden *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(cases[i].ids);
        free(cases[i].norm);
        free(cases[i].logprob);
    }
    free(cases);
}
