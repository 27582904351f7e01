/* Tables: their cells, and how they are aligned on a text screen. */
#include "commands/table_parts.h"

#include "commands/screen.h"
#include "io/glyph.h"
#include "version.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct table *table_create(const char *alignment)
{
    struct table *t = calloc(1, sizeof *t);
    size_t most = strlen(alignment) + 1;

    if (!t || !(t->alignment = calloc(most, 1)) || !(t->rank = calloc(most, 1))) {
        table_free(t);
        return NULL;
    }
    for (; *alignment; alignment++)
        if (*alignment >= '0' && *alignment <= '9')
            t->rank[t->columns - 1] = *alignment;
        else
            t->alignment[t->columns++] = *alignment;
    return t;
}

static char *format_text(struct table *t, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

/* Names in it may come from files. */
static char *format_text(struct table *t, const char *format, va_list arguments)
{
    char *text, *shown = NULL;

    if (vasprintf(&text, format, arguments) >= 0) {
        shown = glyphs_of(text);
        free(text);
    }
    t->failed |= !shown;
    return shown;
}

void table_caption(struct table *t, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    t->caption = format_text(t, format, arguments);
    va_end(arguments);
}

void table_note(struct table *t, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    if (t->notes < TABLE_NOTES && (t->note[t->notes] = format_text(t, format, arguments)))
        t->notes++;
    va_end(arguments);
}

void table_cell(struct table *t, const char *format, ...)
{
    char **grown = reallocarray(t->cell, t->count + 1, sizeof *grown);
    va_list arguments;

    if (!grown) {
        t->failed = 1;
        return;
    }
    t->cell = grown;
    va_start(arguments, format);
    if ((t->cell[t->count] = format_text(t, format, arguments)))
        t->count++;
    va_end(arguments);
}

void table_count(struct table *t, size_t n)
{
    if (n)
        table_cell(t, "%zu", n);
    else
        table_cell(t, "-");
}

void table_cells(struct table *t, const char *const *texts)
{
    for (; *texts; texts++)
        table_cell(t, "%s", *texts);
}

void table_headless(struct table *t, int columns)
{
    t->headless = columns;
}

/* ---- widths ---- */

enum { GAP = 2, BROKEN_LEAST = 20 }; /* a column that is broken at words has this much */

/* The columns that all need. */
static int total_of(const struct table *t, const int *width)
{
    int total = -GAP;

    for (size_t i = 0; i < t->columns; i++)
        total += width[i] ? width[i] + GAP : 0;
    return total;
}

/* Narrows what is broken at words, then leaves columns out (width 0), until the rest fits. */
static void fit(const struct table *t, int *width, int columns, int on_screen)
{
    for (size_t i = 0; i < t->columns; i++) {
        int over = total_of(t, width) - columns, spare = width[i] - BROKEN_LEAST;

        if (t->alignment[i] == 'w' && over > 0 && spare > 0)
            width[i] -= over < spare ? over : spare;
    }
    while (total_of(t, width) > columns) {
        size_t next = t->columns;

        for (size_t i = 0; i < t->columns; i++)
            if (t->rank[i] && (on_screen || t->rank[i] < '9') && width[i] &&
                (next == t->columns || t->rank[i] <= t->rank[next]))
                next = i;
        if (next == t->columns)
            break;
        width[next] = 0;
    }
}

int *table_widths(const struct table *t, int columns, int on_screen)
{
    int *width = calloc(t->columns, sizeof *width);

    for (size_t i = 0; width && i < t->count; i++) {
        int n = screen_columns(t->cell[i]);

        if (i >= t->columns || !t->headless)
            width[i % t->columns] = n > width[i % t->columns] ? n : width[i % t->columns];
    }
    if (width && t->headless > width[0])
        width[0] = t->headless;
    if (width && columns)
        fit(t, width, columns, on_screen);
    return width;
}

size_t table_left_out(FILE *f, const struct table *t, const int *width)
{
    size_t count = 0;

    for (size_t i = 0; i < t->columns && i < t->count; i++)
        if (!width[i] && t->rank[i]) {
            if (f)
                fprintf(f, "%s%s", count ? ", " : "", t->cell[i]);
            count++;
        }
    return count;
}

/* ---- on a screen ---- */

/* The part of a cell that goes into one line; more follow only of what is broken at words. */
static size_t part_of(const struct table *t, size_t column, const char *text, int width)
{
    return t->alignment[column] == 'w' ? screen_fitting(text, width) : strlen(text);
}

/* A row of cells, over as many lines as the longest text that is broken at words. */
static void print_row(FILE *f, const struct table *t, char *const *cell, const int *width,
                      const char **rest)
{
    int more = 1;

    for (size_t i = 0; i < t->columns; i++)
        rest[i] = cell[i];
    while (more) {
        int gap = 0;

        more = 0;
        for (size_t i = 0; i < t->columns; i++) {
            size_t length = part_of(t, i, rest[i], width[i]);
            int shown = screen_columns_of(rest[i], length), blank = width[i] - shown,
                right = t->alignment[i] == 'r';

            if (!width[i])
                continue;
            if (shown > 0) { /* no trailing blanks */
                fprintf(f, "%*s%.*s", gap + (right ? blank : 0), "", (int)length, rest[i]);
                gap = (right ? 0 : blank) + GAP;
            } else
                gap += width[i] + GAP;
            rest[i] += length + strspn(rest[i] + length, " ");
            more |= *rest[i] != 0;
        }
        fputc('\n', f);
    }
}

/* What is not shown, so that nobody looks for it elsewhere. */
static int print_left_out(FILE *f, const struct table *t, const int *width, int columns)
{
    char *text = NULL;
    size_t size;
    FILE *line = table_left_out(NULL, t, width) ? open_memstream(&text, &size) : NULL;

    if (!line)
        return table_left_out(NULL, t, width) ? -1 : 0;
    fprintf(line, "(in %d columns without ", columns);
    table_left_out(line, t, width);
    fputs("; --wide has all)", line);
    if (ferror(line) | fclose(line)) {
        free(text);
        return -1;
    }
    screen_fill(f, text, columns < 60 ? 60 : columns);
    free(text);
    return 0;
}

static int print_caption(FILE *f, const char *caption, int columns)
{
    char *text;

    if (asprintf(&text, "%s:", caption) < 0)
        return -1;
    screen_fill(f, text, columns);
    free(text);
    return 0;
}

int table_print_within(FILE *f, const struct table *t, int columns)
{
    int *width = t->failed ? NULL : table_widths(t, columns, 1), rc = width ? 0 : -1,
        most = f == stdout ? screen_width() : 0;
    const char **rest = calloc(t->columns, sizeof *rest);

    if (f == stdout && screen_begun() && t->caption)
        putc('\n', f);
    if (rest && rc == 0 && t->caption)
        rc = print_caption(f, t->caption, most);
    for (size_t i = t->headless ? t->columns : 0; rest && rc == 0 && i < t->count; i += t->columns)
        print_row(f, t, t->cell + i, width, rest);
    if (rest && rc == 0)
        rc = print_left_out(f, t, width, columns);
    for (size_t i = 0; rest && rc == 0 && i < t->notes; i++)
        screen_fill(f, t->note[i], most);
    free(width);
    free(rest);
    return rest ? rc : -1;
}

/* ---- --table ---- */

static enum table_format chosen;
static const char *made_by; /* NULL: told, or unknown */

void table_choose(enum table_format format, const char *command)
{
    chosen = format;
    made_by = command;
}

enum table_format table_chosen(void)
{
    return chosen;
}

int table_print(FILE *f, const struct table *t)
{
    static int count;

    if (f != stdout || chosen == TABLE_TEXT)
        return table_print_within(f, t, f == stdout ? screen_table_width() : 0);
    if (count++)
        putc('\n', f);
    if (made_by && chosen != TABLE_MARKDOWN)
        fprintf(f, "%c reach %s: %s\n", chosen == TABLE_LATEX ? '%' : '#', REACH_VERSION,
                screen_text(made_by));
    made_by = NULL;
    return table_write(f, t, chosen);
}

int table_show(struct table *t, struct error *e)
{
    int rc = t ? table_print(stdout, t) : -1;

    table_free(t);
    return rc == 0 ? 0 : fail(e, "out of memory for the table");
}

void table_free(struct table *t)
{
    if (!t)
        return;
    free(t->alignment);
    free(t->rank);
    free(t->caption);
    for (size_t i = 0; i < t->notes; i++)
        free(t->note[i]);
    for (size_t i = 0; i < t->count; i++)
        free(t->cell[i]);
    free(t->cell);
    free(t);
}
