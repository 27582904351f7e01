#include "io/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Bytes of the UTF-8 character at s, or 0 if there is none (stray, overlong, surrogate, beyond U+10FFFF, cut off). */
static size_t character_length(const unsigned char *s)
{
    if (s[0] < 0x80)
        return 1;
    size_t length = s[0] >= 0xC2 && s[0] <= 0xDF ? 2 : s[0] >= 0xE0 && s[0] <= 0xEF ? 3 : s[0] >= 0xF0 && s[0] <= 0xF4 ? 4 : 0;
    for (size_t i = 1; i < length; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F) || (s[0] == 0xF0 && s[1] < 0x90) ||
        (s[0] == 0xF4 && s[1] > 0x8F))
        return 0;
    return length;
}

/* Names come from files: what could move a terminal's cursor or end the line (C0, DEL, C1, broken UTF-8) becomes '?'. */
static void make_printable(char *text)
{
    unsigned char *s = (unsigned char *)text;
    while (*s) {
        size_t length = character_length(s);
        int control = s[0] < 0x20 || s[0] == 0x7F || (s[0] == 0xC2 && s[1] < 0xA0);
        if (length == 0 || control) {
            length = length ? length : 1;
            memset(s, '?', length);
        }
        s += length;
    }
}

/* Copies a message that may be too long: the middle goes, because the file stands first and the reason last. */
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
    char whole[8192];
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(whole, sizeof whole, format, arguments) < 0)
        snprintf(whole, sizeof whole, "(message could not be formatted)");
    va_end(arguments);
    make_printable(whole);
    copy_shortened(e->text, sizeof e->text, whole);
    return -1;
}

int fail_memory(struct error *e, double bytes, const char *what)
{
    return fail(e, "out of memory (%.0f bytes for %s)", bytes, what);
}
