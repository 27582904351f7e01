#include "io/token_texts.h"

#include "io/glyph.h"

#include <stdlib.h>
#include <string.h>

const char *texts_find(const struct token_texts *p, int32_t id, size_t *size)
{
    size_t low = 0, high = p->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (p->id[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    *size = 0;
    if (low == p->count || p->id[low] != id)
        return NULL;
    size_t start = low ? p->end[low - 1] : 0;
    *size = p->end[low] - start;
    return (const char *)p->bytes + start;
}

static int make_room(struct token_texts *p, size_t count, size_t size, struct error *e)
{
    *p = (struct token_texts){.id = calloc(count + 1, sizeof *p->id),
                              .end = calloc(count + 1, sizeof *p->end),
                              .bytes = malloc(size + 1)};
    if (p->id && p->end && p->bytes)
        return 0;
    texts_free(p);
    return fail_memory(e, (double)count * (sizeof *p->id + sizeof *p->end) + (double)size,
                       "the texts of tokens");
}

/* After all others: its id is the greatest. */
static void append(struct token_texts *p, struct token_text piece)
{
    if (piece.size)
        memcpy(p->bytes + p->size, piece.text, piece.size);
    p->size += piece.size;
    p->id[p->count] = piece.id;
    p->end[p->count++] = p->size;
}

int texts_make(struct token_texts *out, const struct token_text *piece, size_t count,
               struct error *e)
{
    size_t size = 0;

    for (size_t i = 0; i < count; i++)
        size += piece[i].size;
    if (make_room(out, count, size, e) != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        append(out, piece[i]);
    return 0;
}

int texts_add(struct token_texts *p, const struct token_texts *more, struct error *e)
{
    struct token_texts both;
    size_t i = 0, k = 0;

    if (make_room(&both, p->count + more->count, p->size + more->size, e) != 0)
        return -1;
    while (i < p->count || k < more->count) {
        int mine = k == more->count || (i < p->count && p->id[i] <= more->id[k]);
        const struct token_texts *from = mine ? p : more;
        struct token_text next = {.id = mine ? p->id[i] : more->id[k]};

        k += k < more->count && more->id[k] == next.id;
        i += (size_t)mine;
        next.text = texts_find(from, next.id, &next.size);
        append(&both, next);
    }
    texts_free(p);
    *p = both;
    return 0;
}

int texts_of_bytes(struct token_texts *out, struct error *e)
{
    if (make_room(out, 256, 256, e) != 0)
        return -1;
    for (int i = 0; i < 256; i++)
        append(out, (struct token_text){i, 1, &(const char){(char)i}});
    return 0;
}

void texts_free(struct token_texts *p)
{
    free(p->id);
    free(p->end);
    free(p->bytes);
    *p = (struct token_texts){0};
}

int texts_check(const struct token_texts *p, struct error *e)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->id[i] < 0 || (i && p->id[i] <= p->id[i - 1]) || p->end[i] > p->size ||
            (i && p->end[i] < p->end[i - 1]))
            return fail(e,
                        "id %d and its end %llu at index %zu (expected ascending ids, and ends "
                        "within %zu bytes)",
                        (int)p->id[i], (unsigned long long)p->end[i], i, p->size);
    return 0;
}

const char *texts_spell(const struct token_texts *p, int32_t id, char **text, size_t *size)
{
    size_t bytes;
    const char *piece = texts_find(p, id, &bytes);
    FILE *f;

    free(*text);
    *text = NULL;
    if (!(f = open_memstream(text, size)))
        return NULL;
    if (piece)
        glyphs_write(f, piece, bytes);
    return fclose(f) == 0 ? *text : NULL;
}
