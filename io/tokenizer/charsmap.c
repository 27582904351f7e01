#include "io/tokenizer/charsmap.h"

#include <stdlib.h>
#include <string.h>

enum { UNIT_BYTES = 4 };

static uint32_t little_endian(const char *at)
{
    const unsigned char *b = (const unsigned char *)at;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* -- the double array --
 *
 * Bits of a unit: 0 to 7 the byte that leads to it, 9 and 10 to 30 the place of its children, 8
 * whether a text ends there, whose value is the child for byte 0. Bit 31 marks such values, so that
 * no byte leads to them. */

static uint32_t children(uint32_t unit)
{
    return unit >> 10 << ((unit & 1 << 9) >> 6);
}

static int leads(uint32_t unit, unsigned char byte)
{
    return (unit & 0x800000FFu) == byte;
}

/* The unit that `byte` leads to from the children at *at, which moves to it; 0: none. */
static int step(const struct charsmap *m, size_t *at, unsigned char byte, uint32_t *unit)
{
    size_t next = *at ^ byte;
    if (next >= m->units || !leads(m->unit[next], byte))
        return 0;
    *unit = m->unit[next];
    *at = next ^ children(*unit);
    return 1;
}

/* The normal form at a unit's value: up to the NUL. 0: outside, or within a character. */
static int normal_at(const struct charsmap *m, size_t at, struct span *normal)
{
    size_t start = at < m->units ? m->unit[at] & 0x7FFFFFFF : SIZE_MAX;
    if (start >= m->normal.size || ((unsigned char)m->normal.text[start] & 0xC0) == 0x80)
        return 0;
    *normal = (struct span){m->normal.text + start, strlen(m->normal.text + start)};
    return 1;
}

static size_t find(const struct charsmap *m, struct span text, int shortest, struct span *normal)
{
    size_t at = m->units ? children(m->unit[0]) : 0, found = 0;
    uint32_t unit;
    if (text.size == 0 || !m->begins[(unsigned char)*text.text])
        return 0;
    for (size_t i = 0; i < text.size && step(m, &at, (unsigned char)text.text[i], &unit); i++)
        if (unit >> 8 & 1 &&
            (i + 1 == text.size || ((unsigned char)text.text[i + 1] & 0xC0) != 0x80) &&
            normal_at(m, at, normal)) {
            found = i + 1;
            if (shortest)
                break;
        }
    return found;
}

size_t charsmap_longest(const struct charsmap *m, struct span text, struct span *normal)
{
    return find(m, text, 0, normal);
}

size_t charsmap_shortest(const struct charsmap *m, struct span text, struct span *normal)
{
    return find(m, text, 1, normal);
}

/* -- reading -- */

int charsmap_read(struct charsmap *m, struct span blob, struct error *e)
{
    size_t bytes = blob.size < UNIT_BYTES ? 0 : little_endian(blob.text);
    if (bytes == 0 || bytes % UNIT_BYTES || bytes >= blob.size - UNIT_BYTES)
        return fail(e, "the precompiled_charsmap is broken: a double array of %zu bytes in %zu",
                    bytes, blob.size);
    struct span normal = {blob.text + UNIT_BYTES + bytes, blob.size - UNIT_BYTES - bytes};
    if (normal.text[normal.size - 1] != '\0' || utf8_sound(normal) != normal.size)
        return fail(
            e, "the precompiled_charsmap is broken: its normal forms are not UTF-8, or break off");
    m->units = bytes / UNIT_BYTES;
    m->unit = malloc(bytes);
    if (!m->unit)
        return fail_memory(e, (double)bytes, "a precompiled_charsmap");
    for (size_t i = 0; i < m->units; i++)
        m->unit[i] = little_endian(blob.text + UNIT_BYTES + i * UNIT_BYTES);
    for (int byte = 0; byte < 256; byte++) {
        size_t at = children(m->unit[0]);
        uint32_t unit;
        m->begins[byte] = (unsigned char)step(m, &at, (unsigned char)byte, &unit);
    }
    return buffer_add(&m->normal, normal.text, normal.size, e);
}

int charsmap_read_base64(struct charsmap *m, struct span base64, struct error *e)
{
    struct buffer blob = {0};
    int result = base64_read(&blob, base64, e);
    if (result == 1)
        result = fail(e, "the precompiled_charsmap is not base64");
    result = result || charsmap_read(m, buffer_span(&blob), e) ? -1 : 0;
    buffer_free(&blob);
    return result;
}

void charsmap_free(struct charsmap *m)
{
    free(m->unit);
    buffer_free(&m->normal);
    *m = (struct charsmap){0};
}
