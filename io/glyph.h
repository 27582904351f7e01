/* Text from anywhere, for people to read: character by character. Characters without a picture, and
 * those that could change how other text is shown (control characters, formats such as reversals of
 * direction, bytes that are not UTF-8), are spelled out. */
#ifndef REACH_IO_GLYPH_H
#define REACH_IO_GLYPH_H

#include <stddef.h>
#include <stdio.h>

struct glyph {
    char text[16]; /* itself, or spelled out: \n, \t, \r, \x1B, \u202E, \U000E0001; a byte: \xE2 */
    int width; /* columns on a terminal */
    int spelt; /* 1: `text` stands for something else */
    int newline; /* 1: the character ends a line */
};

/* The first character of `size` bytes, at least one. Returns the number of bytes read. */
size_t glyph_next(struct glyph *g, const char *bytes, size_t size);

/* Writes all of them, with backslashes doubled, so that the bytes can be recovered from the
 * text. */
void glyphs_write(FILE *f, const char *bytes, size_t size);

/* The bytes that glyphs_write has spelled so, into `bytes`, which has room for as many as the text
 * has. Returns how many. Backslashes that spell nothing stay as they are. */
size_t glyphs_read(char *bytes, const char *text);

/* A text for a terminal or a table: all of its glyphs, on one line. The result of an earlier call
 * stays as it is. Caller frees; NULL when memory runs out. */
char *glyphs_of(const char *text);

#endif
