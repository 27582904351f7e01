/* Text from anywhere, for people to read: character by character, with what has no picture of its own, or could change how other
 * text is shown (control characters, formats such as reversals of direction, bytes that are not UTF-8), spelt out. */
#ifndef REACH_IO_GLYPH_H
#define REACH_IO_GLYPH_H

#include <stddef.h>
#include <stdio.h>

struct glyph {
    char text[16]; /* the character itself, or how it is spelt: \n, \t, \r, \x1B, \u202E, \U000E0001; a byte: \xE2 */
    int width; /* columns of a terminal */
    int spelt; /* 1: `text` stands for something else */
    int newline; /* 1: the character ends a line */
};

/* The first character of `size` bytes, at least one. Returns the bytes that it takes. */
size_t glyph_next(struct glyph *g, const char *bytes, size_t size);

/* All of them, a backslash doubled, so that the bytes can be made of the text again. */
void glyphs_write(FILE *f, const char *bytes, size_t size);

/* A text for a terminal or a table: all of its glyphs, on one line. Text that was made so stays as it is. Caller frees; NULL when
 * memory runs out. */
char *glyphs_of(const char *text);

#endif
