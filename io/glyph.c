#include "io/glyph.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

/* Control, format, surrogate, private, unassigned; ends of lines and paragraphs. */
static int has_no_picture(utf8proc_category_t c)
{
    return c == UTF8PROC_CATEGORY_CC || c == UTF8PROC_CATEGORY_CF || c == UTF8PROC_CATEGORY_CS ||
           c == UTF8PROC_CATEGORY_CO || c == UTF8PROC_CATEGORY_CN || c == UTF8PROC_CATEGORY_ZL ||
           c == UTF8PROC_CATEGORY_ZP;
}

static void spell(struct glyph *g, uint32_t character, int is_byte)
{
    static const char letters[][2] = {{'\n', 'n'}, {'\t', 't'}, {'\r', 'r'}};

    g->spelt = 1;
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (!is_byte && character == (uint32_t)letters[i][0]) {
            snprintf(g->text, sizeof g->text, "\\%c", letters[i][1]);
            g->newline = character == '\n';
        }
    if (!*g->text)
        snprintf(g->text, sizeof g->text,
                 is_byte || character < 0x80 ? "\\x%02X"
                 : character < 0x10000       ? "\\u%04X"
                                             : "\\U%08X",
                 (unsigned)character);
    g->width = (int)strlen(g->text);
}

size_t glyph_next(struct glyph *g, const char *bytes, size_t size)
{
    utf8proc_int32_t character;
    utf8proc_ssize_t taken = utf8proc_iterate((const utf8proc_uint8_t *)bytes,
                                              (utf8proc_ssize_t)(size < 4 ? size : 4), &character);

    *g = (struct glyph){0};
    if (taken < 1) {
        spell(g, (unsigned char)*bytes, 1);
        return 1;
    }
    if (has_no_picture(utf8proc_category(character))) {
        spell(g, (uint32_t)character, 0);
    } else {
        memcpy(g->text, bytes, (size_t)taken);
        g->width = utf8proc_charwidth(character);
    }
    return (size_t)taken;
}

void glyphs_write(FILE *f, const char *bytes, size_t size)
{
    struct glyph g;

    for (size_t i = 0; i < size;) {
        i += glyph_next(&g, bytes + i, size - i);
        fputs(strcmp(g.text, "\\") == 0 ? "\\\\" : g.text, f);
    }
}

/* The character or byte that the text after a backslash spells, in *bytes of them; returns the
 * characters that it takes, 0: none. */
static size_t read_spelling(char out[4], size_t *bytes, const char *text)
{
    static const char letters[][2] = {{'n', '\n'}, {'t', '\t'}, {'r', '\r'}, {'\\', '\\'}};
    static const char marks[] = "xuU";
    static const size_t digits[] = {2, 4, 8};
    const char *mark = *text ? strchr(marks, *text) : NULL;
    size_t count = mark ? digits[mark - marks] : 0;
    char number[9] = "";

    *bytes = 1;
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (*text == letters[i][0]) {
            *out = letters[i][1];
            return 1;
        }
    if (!mark || strspn(text + 1, "0123456789ABCDEF") < count)
        return 0;
    memcpy(number, text + 1, count);
    *out = (char)strtoul(number, NULL, 16);
    if (*mark != 'x')
        *bytes = (size_t)utf8proc_encode_char((utf8proc_int32_t)strtoul(number, NULL, 16),
                                              (utf8proc_uint8_t *)out);
    return *bytes ? count + 1 : 0;
}

size_t glyphs_read(char *bytes, const char *text)
{
    size_t size = 0, count, taken;
    char one[4];

    while (*text) {
        taken = *text == '\\' ? read_spelling(one, &count, text + 1) : 0;
        if (taken) {
            memcpy(bytes + size, one, count);
            size += count;
            text += taken + 1;
        } else {
            bytes[size++] = *text++;
        }
    }
    return size;
}

char *glyphs_of(const char *text)
{
    size_t size = strlen(text), at = 0;
    char *out = malloc(size * (sizeof((struct glyph *)0)->text - 1) +
                       1); /* enough for the longest spellings */
    struct glyph g;

    for (size_t i = 0; out && i < size; at += strlen(g.text)) {
        i += glyph_next(&g, text + i, size - i);
        memcpy(out + at, g.text, strlen(g.text));
    }
    if (out)
        out[at] = '\0';
    return out;
}
