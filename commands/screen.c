#include "commands/screen.h"

#include "io/glyph.h"

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

int screen_table_width(void)
{
    return is_wide || !isatty(STDOUT_FILENO) ? 0 : screen_width();
}

static int columns_of(const char *text, size_t size)
{
    struct glyph g;
    int columns = 0;

    for (size_t i = 0; i < size; columns += g.width)
        i += glyph_next(&g, text + i, size - i);
    return columns;
}

int screen_columns(const char *text)
{
    return columns_of(text, strlen(text));
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

void screen_print(const char *text, int width)
{
    int used = 0;

    text = screen_text(text);
    while (*text) {
        size_t length = strcspn(text, " ");
        int columns = columns_of(text, length);

        if (used && used + 1 + columns > width) {
            putchar('\n');
            used = 0;
        }
        printf("%s%.*s", used ? " " : "", (int)length, text);
        used += columns + (used > 0);
        text += length + (text[length] == ' ');
    }
    putchar('\n');
}
