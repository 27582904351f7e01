/* CSV, writing. */
#include "io/formats/csv.h"

#include "io/formats/json_write.h"
#include "io/system/atomic.h"
#include "version.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct csv {
    struct atomic_file file;
    struct json_writer *document; /* NULL: a file is written */
    int single; /* the document gets one object, not a list */
    char member[CSV_MEMBER]; /* its name there */
    const struct csv_layout *layout; /* NULL: of csv_create */
    size_t columns, fields; /* of the header; of the current row */
    size_t rows;
    size_t bad_row,
        bad_fields; /* the first row with a wrong number of fields, counted from 1; 0: none */
};

void csv_quote(FILE *stream, const char *value)
{
    if (!value[strcspn(value, ",\"\r\n#")]) {
        fputs(value, stream);
        return;
    }
    putc('"', stream);
    for (; *value; value++) {
        if (*value == '"')
            putc('"', stream);
        putc(*value, stream);
    }
    putc('"', stream);
}

struct csv *csv_create(const char *path, const char *const *comments, const char *header,
                       struct error *e)
{
    struct csv *c = calloc(1, sizeof *c);
    if (!c) {
        fail_memory(e, sizeof *c, path);
        return NULL;
    }
    if (atomic_open(&c->file, path, e)) {
        free(c);
        return NULL;
    }
    for (size_t i = 0; comments && comments[i]; i++) {
        fputs("# ", c->file.stream);
        /* a comment is one line whatever it contains (a command line may hold anything) */
        for (const char *s = comments[i]; *s; s++)
            putc(*s == '\n' || *s == '\r' ? ' ' : *s, c->file.stream);
        putc('\n', c->file.stream);
    }
    fprintf(c->file.stream, "%s\n", header);
    c->columns = 1;
    for (const char *s = header; *s; s++)
        c->columns += *s == ',';
    return c;
}

static char *joined(const char *first, const char *second)
{
    char *out;

    return asprintf(&out, "%s%s", first, second) < 0 ? NULL : out;
}

struct csv *csv_open(const char *path, const struct csv_layout *l, const char *command,
                     const char *note, struct error *e)
{
    const char *comments[] = {"reach " REACH_VERSION, NULL, NULL, note, NULL};
    char *line = NULL, *units = NULL, *header = NULL;
    struct csv *c = NULL;
    size_t size;
    FILE *f = open_memstream(&header, &size);

    for (size_t i = 0; f && i < l->count; i++)
        fprintf(f, "%s%s", i ? "," : "", l->columns[i].name);
    if (!f || fclose(f) != 0 || !(line = joined("command: ", command)) ||
        !(units = joined("units: ", l->units))) {
        fail(e, "%s: out of memory", path);
        goto end;
    }
    comments[1] = line;
    comments[2] = units;
    c = csv_create(path, comments, header, e);
    if (c)
        c->layout = l;
end:
    free(header);
    free(line);
    free(units);
    return c;
}

void csv_text(struct csv *c, const char *value)
{
    if (c->fields++)
        putc(',', c->file.stream);
    csv_quote(c->file.stream, value);
}

char *csv_format_real(char out[32], double value)
{
    if (isnan(value))
        return strcpy(out, "nan");
    if (isinf(value))
        return strcpy(out, value < 0 ? "-inf" : "inf");
    /* 15 digits identify every decimal of up to 15 digits, so fewer are not tried, except below the
     * normal range, where precision ends earlier */
    for (int digits = fabs(value) < 2.2250738585072014e-308 ? 1 : 15; digits <= 17; digits++) {
        snprintf(out, 32, "%.*g", digits, value);
        if (strtod(out, NULL) == value)
            break;
    }
    return out;
}

void csv_real(struct csv *c, double value)
{
    char text[32];
    csv_text(c, csv_format_real(text, value));
}

void csv_whole(struct csv *c, long long value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", value);
    csv_text(c, text);
}

void csv_empty(struct csv *c)
{
    csv_text(c, "");
}

void csv_end_row(struct csv *c)
{
    c->rows++;
    if (c->fields != c->columns && !c->bad_row) {
        c->bad_row = c->rows;
        c->bad_fields = c->fields;
    }
    putc('\n', c->file.stream);
    c->fields = 0;
}

static void put_text(struct csv *c, const char *name, const char *value)
{
    if (c->document)
        json_write_text(c->document, name, value);
    else
        csv_text(c, value ? value : "");
}

/* The value of a column in a row, or an empty field. */
static void put_column(struct csv *c, const struct csv_column *column, const char *at)
{
    union {
        const char *text;
        long long whole;
        double real;
    } value;

    switch (column->kind) {
    case CSV_DECIMAL:
    case CSV_DIGITS:
    case CSV_TEXT:
        memcpy(&value.text, at, sizeof value.text);
        put_text(c, column->name,
                 value.text && !*value.text && column->may_be_empty ? NULL : value.text);
        break;
    case CSV_WHOLE:
        memcpy(&value.whole, at, sizeof value.whole);
        if (!value.whole && column->may_be_empty)
            put_text(c, column->name, NULL);
        else if (c->document)
            json_write_whole(c->document, column->name, value.whole);
        else
            csv_whole(c, value.whole);
        break;
    case CSV_REAL:
        memcpy(&value.real, at, sizeof value.real);
        if (isnan(value.real) && column->may_be_empty)
            put_text(c, column->name, NULL);
        else if (c->document)
            json_write_real(c->document, column->name, value.real);
        else
            csv_real(c, value.real);
        break;
    }
}

const char *csv_member(char out[CSV_MEMBER], const struct csv_layout *l)
{
    snprintf(out, CSV_MEMBER, "%.*s", (int)strcspn(l->file, "."), l->file);
    return out;
}

struct csv *csv_enter(struct json_writer *d, const struct csv_layout *l, int single,
                      struct error *e)
{
    struct csv *c = calloc(1, sizeof *c);

    if (!c) {
        fail_memory(e, sizeof *c, l->file);
        return NULL;
    }
    *c = (struct csv){.document = d, .single = single, .layout = l};
    csv_member(c->member, l);
    if (!single)
        json_write_open(d, c->member, '[');
    return c;
}

void csv_leave(struct csv *c)
{
    if (!c->single)
        json_write_close(c->document, ']');
    free(c);
}

void csv_row(struct csv *c, const void *row)
{
    if (c->document)
        json_write_open(c->document, c->single ? c->member : NULL, '{');
    for (size_t i = 0; i < c->layout->count; i++)
        put_column(c, &c->layout->columns[i], (const char *)row + c->layout->columns[i].offset);
    if (c->document)
        json_write_close(c->document, '}');
    else
        csv_end_row(c);
}

int csv_stage(struct csv *c, struct atomic_file *out, struct error *e)
{
    int result;
    if (c->fields)
        csv_end_row(c);
    if (c->bad_row) {
        result = fail(e, "%s: row %zu has %zu fields (expected %zu)", c->file.path, c->bad_row,
                      c->bad_fields, c->columns);
        atomic_abandon(&c->file);
    } else {
        result = atomic_stage(&c->file, e);
    }
    *out = c->file;
    free(c);
    return result;
}

int csv_close(struct csv *c, struct error *e)
{
    struct atomic_file file;
    return csv_stage(c, &file, e) || atomic_place(&file, e) ? -1 : 0;
}

void csv_abandon(struct csv *c)
{
    if (!c)
        return;
    atomic_abandon(&c->file);
    free(c);
}
