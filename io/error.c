#include "io/error.h"

#include "io/glyph.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Names come from files: characters that a terminal might obey, and line ends, are spelled out. */
static void spell_out(char *out, size_t size, const char *text)
{
    struct glyph g;
    size_t at = 0;
    for (size_t left = strlen(text); left; at += strlen(g.text)) {
        size_t taken = glyph_next(&g, text, left);
        if (at + strlen(g.text) >= size)
            break;
        memcpy(out + at, g.text, strlen(g.text));
        text += taken;
        left -= taken;
    }
    out[at] = '\0';
}

/* Copies a message that may be too long: cuts the middle (the file is first, the reason last). */
static void copy_shortened(char *out, size_t size, const char *text)
{
    static const char gap[] = " ... ";
    size_t length = strlen(text);
    if (length < size) {
        memcpy(out, text, length + 1);
        return;
    }
    size_t room = size - sizeof gap, head = room / 2, tail = room - head;
    while (head > 0 && ((unsigned char)text[head] & 0xC0) == 0x80)
        head--;
    const char *end = text + length - tail;
    while (((unsigned char)*end & 0xC0) == 0x80)
        end++;
    snprintf(out, size, "%.*s%s%s", (int)head, text, gap, end);
}

int fail(struct error *e, const char *format, ...)
{
    if (!e)
        return -1;
    char whole[8192], shown[2 * sizeof whole];
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(whole, sizeof whole, format, arguments) < 0)
        snprintf(whole, sizeof whole, "(message could not be formatted)");
    va_end(arguments);
    spell_out(shown, sizeof shown, whole);
    copy_shortened(e->text, sizeof e->text, shown);
    return -1;
}

int fail_memory(struct error *e, double bytes, const char *what)
{
    return fail(e, "out of memory (%.0f bytes for %s)", bytes, what);
}
