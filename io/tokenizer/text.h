/* Bytes that grow, and UTF-8. Private to io/. */
#ifndef REACH_IO_TOKENIZER_TEXT_H
#define REACH_IO_TOKENIZER_TEXT_H

#include "io/error.h"

#include <stddef.h>
#include <stdint.h>

/* A piece of text, borrowed; not ended by a NUL, and may contain NULs. */
struct span {
    const char *text;
    size_t size;
};

/* Text under construction. Zeroed: empty. */
struct buffer {
    char *text;
    size_t size, room;
};

int buffer_reserve(struct buffer *b, size_t extra, struct error *e) MUST_USE;
int buffer_add(struct buffer *b, const void *text, size_t size, struct error *e) MUST_USE;
void buffer_free(struct buffer *b);

static inline struct span buffer_span(const struct buffer *b)
{
    return (struct span){b->text, b->size};
}

enum { CHARACTER_BYTES_MAX = 4, CHARACTERS = 0x110000 };

/* The character at `text`, which is whole UTF-8; *size is its bytes. */
static inline uint32_t character_at(const char *text, size_t *size)
{
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] < 0x80) {
        *size = 1;
        return s[0];
    }
    if (s[0] < 0xE0) {
        *size = 2;
        return (uint32_t)(s[0] & 0x1F) << 6 | (s[1] & 0x3F);
    }
    if (s[0] < 0xF0) {
        *size = 3;
        return (uint32_t)(s[0] & 0x0F) << 12 | (uint32_t)(s[1] & 0x3F) << 6 | (s[2] & 0x3F);
    }
    *size = 4;
    return (uint32_t)(s[0] & 0x07) << 18 | (uint32_t)(s[1] & 0x3F) << 12 |
           (uint32_t)(s[2] & 0x3F) << 6 | (s[3] & 0x3F);
}

/* Writes a character of at most U+10FFFF; returns its bytes. */
size_t character_write(char out[CHARACTER_BYTES_MAX], uint32_t character);

/* The number of leading bytes that are whole UTF-8. */
size_t utf8_sound(struct span s);

/* The number of bytes that are not. */
size_t utf8_broken(struct span s);

/* Appends the text with every maximal part of a broken character as U+FFFD, as Unicode 3.9
 * recommends and Python's decode("utf-8", errors="replace") does: one for each wrong byte, but a
 * single one for the bytes that begin a character and then break off. */
int utf8_repair(struct buffer *out, struct span s, struct error *e) MUST_USE;

/* Appends the bytes of base64, which may lack its padding: 0; 1: it is not base64; -1: an error. */
int base64_read(struct buffer *out, struct span base64, struct error *e) MUST_USE;

#endif
