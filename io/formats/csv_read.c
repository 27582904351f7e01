/* CSV, reading. */
#include "io/formats/csv.h"

#include "io/element.h"
#include "io/system/file.h"

#include <stdlib.h>
#include <string.h>

enum { TABLE_BYTES_MAX = 1 << 30 };

/* Reads fields from `at`, unquoting in place: a field never grows, so reading stays ahead. */
struct reader {
    const char *path;
    char *at;
    size_t line;
};

enum field_end { FIELD_MORE, FIELD_LAST, FIELD_BROKEN };

/* The next field of the row; *value is its text, ended by a NUL. */
static enum field_end read_field(struct reader *r, char **value, struct error *e)
{
    char *out = r->at;
    *value = out;
    int quoted = *r->at == '"';
    size_t first_line = r->line;
    if (quoted) {
        r->at++;
        for (;; r->at++) {
            if (*r->at == '\0') {
                fail(e, "%s: line %zu: a quoted field does not end (expected a closing quote)",
                     r->path, first_line);
                return FIELD_BROKEN;
            }
            if (*r->at == '"' && *++r->at != '"')
                break;
            r->line += *r->at == '\n';
            *out++ = *r->at;
        }
        if (*r->at && !strchr(",\r\n", *r->at)) {
            fail(e,
                 "%s: line %zu: text after a closing quote (expected a comma or the end of the "
                 "line)",
                 r->path, r->line);
            return FIELD_BROKEN;
        }
    } else {
        while (*r->at && !strchr(",\r\n", *r->at))
            *out++ = *r->at++;
    }
    char end = *r->at;
    if (end == '\r' && r->at[1] == '\n')
        r->at++;
    if (end)
        r->at++;
    *out = '\0'; /* after checking the earlier character */
    if (end == ',')
        return FIELD_MORE;
    r->line++;
    return FIELD_LAST;
}

static int push(char ***cells, size_t *count, size_t *capacity, char *value, struct error *e)
{
    if (*count == *capacity) {
        size_t wanted, bytes;
        if (size_add(&wanted, 2 * *capacity, 64) || size_multiply(&bytes, wanted, sizeof **cells))
            return fail_memory(e, 2.0 * (double)*capacity * sizeof **cells, "a table");
        char **grown = realloc(*cells, bytes);
        if (!grown)
            return fail_memory(e, (double)bytes, "a table");
        *cells = grown;
        *capacity = wanted;
    }
    (*cells)[(*count)++] = value;
    return 0;
}

/* Skips comment lines, and keeps the version and the command in them. */
static void skip_comments(struct reader *r, struct csv_table *out)
{
    static const char version[] = "# reach ", command[] = "# command: ";

    while (*r->at == '#') {
        char *line = r->at, *end = line + strcspn(line, "\n");

        r->at = end + (*end == '\n');
        r->line++;
        *end = '\0';
        if (!out->version && strncmp(line, version, sizeof version - 1) == 0)
            out->version = line + sizeof version - 1;
        else if (!out->command && strncmp(line, command, sizeof command - 1) == 0)
            out->command = line + sizeof command - 1;
    }
}

/* Appends all fields of one row to cells; *fields is their number. */
static int read_row(struct reader *r, char ***cells, size_t *count, size_t *capacity,
                    size_t *fields, struct error *e)
{
    *fields = 0;
    for (;;) {
        char *value;
        enum field_end end = read_field(r, &value, e);
        if (end == FIELD_BROKEN || push(cells, count, capacity, value, e))
            return -1;
        ++*fields;
        if (end == FIELD_LAST)
            return 0;
    }
}

static int skip_empty_line(struct reader *r)
{
    size_t n = r->at[0] == '\n' ? 1 : r->at[0] == '\r' && r->at[1] == '\n' ? 2 : 0;
    r->at += n;
    r->line += n > 0;
    return n > 0;
}

int csv_read(const char *path, struct csv_table *out, struct error *e)
{
    *out = (struct csv_table){0};
    size_t size, count = 0, capacity = 0, fields = 0;
    if (!(out->storage = file_read_whole(path, TABLE_BYTES_MAX, &size, e)))
        return -1;
    struct reader r = {path, out->storage, 1};
    if (strlen(out->storage) != size) {
        fail(e, "%s: holds a zero byte (expected CSV text)", path);
        goto failed;
    }
    if (strncmp(r.at, "\xEF\xBB\xBF", 3) == 0) /* spreadsheets put a byte order mark first */
        r.at += 3;
    skip_comments(&r, out);
    if (*r.at == '\0') {
        fail(e, "%s: holds no table (expected a header line)", path);
        goto failed;
    }
    if (read_row(&r, &out->header, &count, &capacity, &out->columns, e))
        goto failed;
    count = capacity = 0;
    while (*r.at) {
        size_t line = r.line;
        if (skip_empty_line(&r))
            continue;
        if (read_row(&r, &out->cell, &count, &capacity, &fields, e))
            goto failed;
        if (fields != out->columns) {
            fail(e, "%s: line %zu has %zu fields (expected %zu as in the header)", path, line,
                 fields, out->columns);
            goto failed;
        }
        out->rows++;
    }
    return 0;
failed:
    csv_table_free(out);
    return -1;
}

int csv_column(const struct csv_table *t, const char *name)
{
    for (size_t i = 0; i < t->columns; i++)
        if (strcmp(t->header[i], name) == 0)
            return (int)i;
    return -1;
}

void csv_table_free(struct csv_table *t)
{
    free(t->header);
    free(t->cell);
    free(t->storage);
    *t = (struct csv_table){0};
}
