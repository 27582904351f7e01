/* User texts in scripts: made safe, and measured. */
#include "plots/script.h"

#include "io/glyph.h"

#include <string.h>

enum { LONG_CHARACTERS = 200 };

/* Replaces invalid or unprintable characters, which SVG forbids or which reverse text. */
#define NO_PICTURE "\xef\xbf\xbd"

size_t script_quoted(FILE *f, const char *text, size_t limit)
{
    size_t characters = 0;

    for (const char *p = text, *end = text + strlen(text); *p; characters++) {
        struct glyph g;
        size_t bytes = glyph_next(&g, p, (size_t)(end - p));

        if (characters == limit) {
            fputs("\xe2\x80\xa6", f);
            break;
        }
        if (*p == '\'') /* gnuplot 5.4 does not read the doubled form of two of them, or of one at
                           the start */
            fputs("'.\"'\".'", f);
        else if (*p == '>' && p - text >= 2 && p[-1] == ']' && p[-2] == ']')
            fputs("'.gt.'", f);
        else if (*p == '&' && p[1] == '#' && p[2] == 'x')
            fputs("'.amp.'", f);
        else if ((unsigned char)*p < 0x20 || *p == 0x7f)
            fputc(' ', f);
        else
            fputs(g.spelt ? NO_PICTURE : g.text, f);
        p += bytes;
    }
    return characters;
}

static void set_text(struct script *s, const char *name, size_t number, const char *text,
                     size_t limit)
{
    fprintf(s->settings, "%s%zu = '", name, number);
    script_quoted(s->settings, text, limit);
    fputs("'\n", s->settings);
}

void script_text(struct script *s, const char *name, size_t number, const char *text)
{
    set_text(s, name, number, text, s->limit);
}

void script_text_long(struct script *s, const char *name, size_t number, const char *text)
{
    set_text(s, name, number, text, LONG_CHARACTERS);
}

size_t script_characters(const struct script *s, const char *label)
{
    size_t n = 0;

    for (const char *p = label; *p; p++)
        n += (*p & 0xc0) != 0x80;
    return n <= s->limit ? n : s->limit + 1;
}

/* Advance widths of DejaVu Sans from blank to tilde, in hundredths of its size. */
static const unsigned char widths[] = {32, 40, 46, 84, 64,  95, 78, 27, 39, 39, 50, 84, 32, 36,
                                       32, 34, 64, 64, 64,  64, 64, 64, 64, 64, 64, 64, 34, 34,
                                       84, 84, 84, 53, 100, 68, 69, 70, 77, 63, 58, 77, 75, 29,
                                       29, 66, 56, 86, 75,  79, 60, 79, 69, 63, 61, 73, 68, 99,
                                       69, 61, 69, 39, 34,  39, 84, 50, 50, 61, 63, 55, 63, 62,
                                       35, 63, 63, 28, 28,  58, 28, 97, 63, 61, 63, 63, 41, 52,
                                       39, 63, 59, 82, 59,  59, 52, 64, 34, 64, 84};

double text_width_of(const char *text, size_t limit)
{
    double width = 0;
    size_t characters = 0;

    for (const unsigned char *p = (const unsigned char *)text; *p && characters < limit; p++) {
        if ((*p & 0xc0) == 0x80)
            continue;
        width += *p < 0x20 || *p == 0x7f ? widths[0]
                 : *p < 0x80             ? widths[*p - 0x20]
                 : *p < 0xe0             ? 70
                                         : 100;
        characters++;
    }
    return width / 100 * TEXT;
}

double text_width_to(const char *text, const char *end)
{
    size_t characters = 0;

    for (const char *p = text; p < end; p++)
        characters += (*p & 0xc0) != 0x80;
    return text_width_of(text, characters);
}

double text_width(const char *text)
{
    return text_width_of(text, strlen(text));
}

double script_width(const struct script *s, const char *label)
{
    return text_width_of(label, s->limit) +
           (script_characters(s, label) > s->limit ? TEXT : 0); /* plus ellipsis */
}
