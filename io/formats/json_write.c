#include "io/formats/json_write.h"

#include "io/formats/csv.h"

#include <math.h>
#include <utf8proc.h>

enum { LINES = 2 }; /* deeper objects and lists are within a line */

void json_write_quoted(FILE *f, const char *text)
{
    fputc('"', f);
    for (const utf8proc_uint8_t *s = (const utf8proc_uint8_t *)text; *s;) {
        utf8proc_int32_t point;
        utf8proc_ssize_t bytes = utf8proc_iterate(s, -1, &point);

        if (bytes < 1)
            fputs("\\ufffd", f);
        else if (*s == '"' || *s == '\\')
            fprintf(f, "\\%c", *s);
        else if (*s < 0x20 || *s == 0x7F)
            fprintf(f, "\\u%04x", *s);
        else
            fwrite(s, 1, (size_t)bytes, f);
        s += bytes < 1 ? 1 : bytes;
    }
    fputc('"', f);
}

/* 1: the members or items of the innermost object or list have lines of their own. */
static int has_lines(const struct json_writer *d)
{
    return !d->is_line && d->depth <= LINES;
}

static void begin(struct json_writer *d, const char *name)
{
    if (d->any)
        fputs(has_lines(d) ? "," : ", ", d->stream);
    if (has_lines(d) && d->depth > 0)
        fprintf(d->stream, "\n%*s", 2 * d->depth, "");
    if (name) {
        json_write_quoted(d->stream, name);
        fputs(": ", d->stream);
    }
    d->any = 1;
}

void json_write_open(struct json_writer *d, const char *name, char bracket)
{
    begin(d, name);
    fputc(bracket, d->stream);
    d->depth++;
    d->any = 0;
}

void json_write_close(struct json_writer *d, char bracket)
{
    int was_lines = has_lines(d);

    d->depth--;
    if (d->any && was_lines)
        fprintf(d->stream, "\n%*s", 2 * d->depth, "");
    fputc(bracket, d->stream);
    d->any = 1;
    if (d->depth == 0)
        fputc('\n', d->stream);
}

void json_write_text(struct json_writer *d, const char *name, const char *text)
{
    begin(d, name);
    if (text)
        json_write_quoted(d->stream, text);
    else
        fputs("null", d->stream);
}

void json_write_whole(struct json_writer *d, const char *name, long long value)
{
    begin(d, name);
    fprintf(d->stream, "%lld", value);
}

void json_write_real(struct json_writer *d, const char *name, double value)
{
    char text[32];

    begin(d, name);
    fprintf(d->stream, isfinite(value) ? "%s" : "\"%s\"", csv_format_real(text, value));
}
