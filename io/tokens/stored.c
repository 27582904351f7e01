#include "io/tokens/formats.h"

#include "io/element.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE_BYTES = 1 << 16 };

int32_t stored_id(const unsigned char *p, const struct stored_tokens *s, char text[32])
{
    uint64_t value = 0;
    for (size_t b = 0; b < s->element_bytes; b++)
        value = value << 8 | p[s->big_endian ? b : s->element_bytes - 1 - b];
    if (s->is_signed) {
        unsigned unused = (unsigned)(64 - 8 * s->element_bytes);
        int64_t whole = (int64_t)(value << unused) >> unused; /* extends the sign */
        if (whole >= 0 && whole <= INT32_MAX)
            return (int32_t)whole;
        snprintf(text, 32, "%lld", (long long)whole);
    } else {
        if (value <= INT32_MAX)
            return (int32_t)value;
        snprintf(text, 32, "%llu", (unsigned long long)value);
    }
    return -1;
}

int stored_fail(const char *file, const struct stored_tokens *s, size_t index, const char *text,
                struct error *e)
{
    if (s->rank == 1)
        return fail(e, "%s: element %zu is %s (expected a token id from 0 to %d)", file, index,
                    text, INT32_MAX);
    size_t row = s->fortran_order ? index % s->shape[0] : index / s->shape[1];
    size_t column = s->fortran_order ? index / s->shape[0] : index % s->shape[1];
    return fail(e, "%s: element [%zu, %zu] is %s (expected a token id from 0 to %d)", file, row,
                column, text, INT32_MAX);
}

/* Appends the elements in stored order. Memory grows with what is read, never by what the header
 * claims. */
static int append_elements(struct ids *a, const struct stored_tokens *s, struct input *in,
                           struct error *e)
{
    unsigned char piece[PIECE_BYTES];
    for (size_t done = 0; done < s->count;) {
        size_t most = PIECE_BYTES / s->element_bytes, left = s->count - done, got;
        size_t wanted = (left < most ? left : most) * s->element_bytes;
        if (input_read(in, piece, wanted, &got, e))
            return -1;
        if (got < wanted)
            return fail(e, "%s: ends after %zu of %zu elements", input_name(in),
                        done + got / s->element_bytes, s->count);
        size_t here = wanted / s->element_bytes;
        if (ids_reserve(a, here, e))
            return -1;
        for (size_t i = 0; i < here; i++) {
            char text[32];
            int32_t id = stored_id(piece + i * s->element_bytes, s, text);
            if (id < 0)
                return stored_fail(input_name(in), s, done + i, text, e);
            a->id[a->count++] = id;
        }
        done += here;
    }
    size_t got;
    if (input_read(in, piece, 1, &got, e))
        return -1;
    return got == 0
               ? 0
               : fail(e, "%s: bytes follow the last element (expected %zu elements and the end)",
                      input_name(in), s->count);
}

/* Reorders the last `count` ids from columns to rows. */
static int transpose(struct ids *a, const struct stored_tokens *s, struct error *e)
{
    size_t rows = s->shape[0], columns = s->shape[1];
    int32_t *by_column = malloc(s->count * sizeof *by_column),
            *by_row = a->id + (a->count - s->count);
    if (!by_column)
        return fail_memory(e, (double)s->count * sizeof *by_column, "a transposed table");
    memcpy(by_column, by_row, s->count * sizeof *by_column);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++)
            by_row[r * columns + c] = by_column[c * rows + r];
    free(by_column);
    return 0;
}

int stored_read(struct ids *a, const struct stored_tokens *s, struct input *in, struct error *e)
{
    if (s->count == 0)
        return fail(e, "%s: holds no tokens", input_name(in));
    return append_elements(a, s, in, e) || (s->rank == 2 && s->fortran_order && transpose(a, s, e))
               ? -1
               : 0;
}

int raw_read(struct ids *a, struct stored_tokens *s, struct input *in, struct error *e)
{
    unsigned char piece[PIECE_BYTES];
    size_t got = PIECE_BYTES;
    s->rank = 1, s->count = 0;
    while (got == PIECE_BYTES) { /* a multiple of every width */
        if (input_read(in, piece, PIECE_BYTES, &got, e) ||
            ids_reserve(a, got / s->element_bytes, e))
            return -1;
        if (got % s->element_bytes)
            return fail(e, "%s: ends within an integer (expected %zu bytes for each token)",
                        input_name(in), s->element_bytes);
        for (size_t i = 0; i < got; i += s->element_bytes, s->count++) {
            char text[32];
            int32_t id = stored_id(piece + i, s, text);
            if (id < 0)
                return stored_fail(input_name(in), s, s->count, text, e);
            a->id[a->count++] = id;
        }
    }
    return s->count ? 0 : fail(e, "%s: holds no tokens", input_name(in));
}

int stored_header(struct input *in, void *out, size_t size, struct error *e)
{
    size_t got;
    if (input_read(in, out, size, &got, e))
        return -1;
    return got == size ? 0
                       : fail(e, "%s: ends within its header (expected a whole token file)",
                              input_name(in));
}
