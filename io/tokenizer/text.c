#include "io/tokenizer/text.h"

#include "io/element.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM_MIN = 256 };

int buffer_reserve(struct buffer *b, size_t extra, struct error *e)
{
    size_t needed, room = b->room ? b->room : ROOM_MIN;
    if (size_add(&needed, b->size, extra))
        return fail_memory(e, (double)b->size + (double)extra, "text");
    if (needed <= b->room && b->text)
        return 0;
    while (room < needed)
        if (size_multiply(&room, room, 2))
            return fail_memory(e, (double)needed, "text");
    char *text = realloc(b->text, room);
    if (!text)
        return fail_memory(e, (double)room, "text");
    b->text = text;
    b->room = room;
    return 0;
}

int buffer_add(struct buffer *b, const void *text, size_t size, struct error *e)
{
    if (buffer_reserve(b, size, e))
        return -1;
    if (size)
        memcpy(b->text + b->size, text, size);
    b->size += size;
    return 0;
}

void buffer_free(struct buffer *b)
{
    free(b->text);
    *b = (struct buffer){0};
}

size_t character_write(char out[CHARACTER_BYTES_MAX], uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t size = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char first[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = size - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3F));
    out[0] = (char)(first[size] | c);
    return size;
}

/* Bytes of the character at `s`, with `left` readable; *whole 0 if it breaks off after them. Table
 * 3-7 of the Unicode standard: only the second byte has its own bounds. */
static size_t measure(const unsigned char *s, size_t left, int *whole)
{
    *whole = 1;
    if (s[0] < 0x80)
        return 1;
    size_t size = s[0] >= 0xC2 && s[0] <= 0xDF   ? 2
                  : s[0] >= 0xE0 && s[0] <= 0xEF ? 3
                  : s[0] >= 0xF0 && s[0] <= 0xF4 ? 4
                                                 : 1;
    unsigned char low = s[0] == 0xE0   ? 0xA0
                        : s[0] == 0xF0 ? 0x90
                                       : 0x80,
                  high = s[0] == 0xED   ? 0x9F
                         : s[0] == 0xF4 ? 0x8F
                                        : 0xBF;
    *whole = 0;
    if (size == 1 || left < 2 || s[1] < low || s[1] > high)
        return 1;
    for (size_t i = 2; i < size; i++)
        if (i == left || (s[i] & 0xC0) != 0x80)
            return i;
    *whole = 1;
    return size;
}

size_t utf8_sound(struct span s)
{
    const unsigned char *text = (const unsigned char *)s.text;
    size_t at = 0;
    while (at < s.size) {
        uint64_t eight;
        int whole;
        if (s.size - at >= sizeof eight) {
            memcpy(&eight, text + at, sizeof eight);
            if (!(eight & 0x8080808080808080u)) {
                at += sizeof eight;
                continue;
            }
        }
        size_t size = measure(text + at, s.size - at, &whole);
        if (!whole)
            break;
        at += size;
    }
    return at;
}

size_t utf8_broken(struct span s)
{
    size_t broken = 0;
    while (s.size) {
        size_t sound = utf8_sound(s), size;
        int whole;
        if (sound == s.size)
            break;
        size = measure((const unsigned char *)s.text + sound, s.size - sound, &whole);
        broken += size;
        s = (struct span){s.text + sound + size, s.size - sound - size};
    }
    return broken;
}

int utf8_repair(struct buffer *out, struct span s, struct error *e)
{
    while (s.size) {
        size_t sound = utf8_sound(s);
        int whole;
        if (buffer_add(out, s.text, sound, e))
            return -1;
        s.text += sound;
        s.size -= sound;
        if (s.size == 0)
            break;
        size_t broken = measure((const unsigned char *)s.text, s.size, &whole);
        if (buffer_add(out, "\xEF\xBF\xBD", 3, e))
            return -1;
        s.text += broken;
        s.size -= broken;
    }
    return 0;
}

static int digit_of(unsigned char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

int base64_read(struct buffer *out, struct span base64, struct error *e)
{
    uint32_t bits = 0;
    int count = 0;
    if (buffer_reserve(out, base64.size, e))
        return -1;
    for (int i = 0; i < 2 && base64.size && base64.text[base64.size - 1] == '='; i++)
        base64.size--;
    for (size_t i = 0; i < base64.size; i++) {
        int digit = digit_of((unsigned char)base64.text[i]);
        if (digit < 0)
            return 1;
        bits = bits << 6 | (uint32_t)digit;
        count += 6;
        if (count >= 8) {
            count -= 8;
            out->text[out->size++] = (char)(bits >> count);
        }
    }
    return 0;
}
