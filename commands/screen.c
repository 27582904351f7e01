#include "commands/screen.h"

#include "io/glyph.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH_LEAST = 20, WIDTH_MOST = 1000 };

static int says(const char *variable, const char *value)
{
    const char *text = getenv(variable);

    return text && strcmp(text, value) == 0;
}

enum screen_colors screen_colors(enum color_choice choice)
{
    const char *none = getenv("NO_COLOR");

    if (choice == COLOR_NEVER ||
        (choice == COLOR_AUTO &&
         ((none && *none) || !isatty(STDOUT_FILENO) || says("TERM", "dumb") || !getenv("TERM"))))
        return SCREEN_PLAIN;
    return says("COLORTERM", "truecolor") || says("COLORTERM", "24bit") ? SCREEN_TRUE : SCREEN_256;
}

int screen_is_light(void)
{
    const char *both = getenv("COLORFGBG"), *back = both ? strrchr(both, ';') : NULL;

    return back && (strcmp(back, ";7") == 0 || strcmp(back, ";15") == 0);
}

int screen_width(void)
{
    struct winsize size;
    const char *text = getenv("COLUMNS");
    long width = 80;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
        width = size.ws_col;
    else if (text && *text)
        width = strtol(text, NULL, 10);
    return width < WIDTH_LEAST ? WIDTH_LEAST : width > WIDTH_MOST ? WIDTH_MOST : (int)width;
}

static int is_wide;

void screen_widen(void)
{
    is_wide = 1;
}

int screen_is_wide(void)
{
    return is_wide;
}

int screen_table_width(void)
{
    return is_wide || !isatty(STDOUT_FILENO) ? 0 : screen_width();
}

int screen_columns_of(const char *text, size_t size)
{
    struct glyph g;
    int columns = 0;

    for (size_t i = 0; i < size; columns += g.width)
        i += glyph_next(&g, text + i, size - i);
    return columns;
}

int screen_columns(const char *text)
{
    return screen_columns_of(text, strlen(text));
}

const char *screen_text(const char *text)
{
    enum { KEPT = 8 };
    static char *kept[KEPT];
    static int next;

    next = (next + 1) % KEPT;
    free(kept[next]);
    kept[next] = glyphs_of(text);
    return kept[next] ? kept[next] : "?";
}

/* ---- lines broken at words ---- */

/* 1 if the text has an odd number of `quote` before `at`, and one after it. */
static int is_within(const char *text, size_t at, char quote)
{
    int count = 0;

    for (size_t i = 0; i < at; i++)
        count += text[i] == quote;
    return count % 2 && strchr(text + at, quote);
}

/* 1 if the blank at `at` may not end a line: in quotes, after an operator, and between a number and
 * its unit. */
static int is_glued(const char *text, size_t at)
{
    static const char *const units[] = {"%", "kB", "MB", "GB", "s", "ms", "us", "min", "h"};
    const char *next = text + at + strspn(text + at, " ");
    size_t length = strcspn(next, " .,;:)");

    if (is_within(text, at, '"') || is_within(text, at, '`'))
        return 1;
    for (size_t i = at; i > 0 && strchr("=<>+-*/", text[i - 1]); i--)
        if (i > 1 && text[i - 2] == ' ')
            return 1;
    if (at == 0 || text[at - 1] < '0' || text[at - 1] > '9')
        return 0;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i]) == length && strncmp(next, units[i], length) == 0)
            return 1;
    return 0;
}

size_t screen_fitting(const char *text, int width)
{
    size_t fits = 0;

    for (size_t at = strspn(text, " "); text[at];) {
        at += strcspn(text + at, " ");
        if (text[at] && is_glued(text, at)) {
            at += strspn(text + at, " ");
            continue;
        }
        if (fits && screen_columns_of(text, at) > width)
            break;
        fits = at;
        at += strspn(text + at, " ");
    }
    return fits ? fits : strlen(text);
}

void screen_fill(FILE *f, const char *text, int width)
{
    int indent = (int)strspn(text, " "), next = indent ? indent + 2 : 0;

    text += indent;
    for (int at = indent; *text || at == indent; at = next) {
        size_t length = width ? screen_fitting(text, width - at) : strlen(text);

        fprintf(f, "%*s%.*s\n", length ? at : 0, "", (int)length, text);
        text += length;
        text += strspn(text, " ");
        if (!*text)
            break;
    }
}

int screen_error_width(void)
{
    struct winsize size;

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void screen_complain(const char *format, ...)
{
    char *line;
    va_list arguments;
    int rc;

    va_start(arguments, format);
    rc = vasprintf(&line, format, arguments);
    va_end(arguments);
    if (rc < 0)
        return;
    screen_fill(stderr, line, screen_error_width());
    free(line);
}

/* ---- the report ---- */

static struct {
    char *line; /* not ended yet; owned */
    int begun, silent;
} report;

void screen_silence(void)
{
    report.silent = 1;
}

int screen_is_silent(void)
{
    return report.silent;
}

int screen_begun(void)
{
    int begun = report.begun;

    report.begun = 1;
    return begun;
}

void screen_say(const char *format, ...)
{
    char *added = NULL, *line, *end;
    va_list arguments;
    int rc;

    if (report.silent)
        return;
    va_start(arguments, format);
    rc = vasprintf(&added, format, arguments);
    va_end(arguments);
    if (rc < 0 || asprintf(&line, "%s%s", report.line ? report.line : "", added) < 0) {
        fputs(rc < 0 ? "" : added, stdout); /* without memory: not broken */
        free(rc < 0 ? NULL : added);
        return;
    }
    free(added);
    free(report.line);
    report.begun = 1;
    report.line = line;
    while ((end = strchr(report.line, '\n'))) {
        *end = 0;
        screen_fill(stdout, report.line, screen_width());
        memmove(report.line, end + 1, strlen(end + 1) + 1);
    }
}
