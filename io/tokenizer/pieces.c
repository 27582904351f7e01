#include "io/tokenizer/parts.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK "\xE2\x96\x81" /* U+2581 */

/* -- the normalizer -- */

/* The next character, or unit of normalization, of the text: its bytes and normal form. */
static size_t next_normal(const struct piece_normalizer *n, struct span text, struct span *normal)
{
    size_t size;
    if (n->kept.first[(unsigned char)*text.text] && added_longest(&n->kept, text, 0, &size)) {
        *normal = (struct span){text.text, size};
        return size;
    }
    if ((size = charsmap_longest(&n->map, text, normal)))
        return size;
    character_at(text.text, &size);
    *normal = (struct span){text.text, size};
    return size;
}

static struct span drop(struct span text, size_t size)
{
    return (struct span){text.text + size, text.size - size};
}

static int is_space(struct span text)
{
    return text.size == 1 && *text.text == ' ';
}

/* Appends with blanks as marks. */
static int add_marked(const struct piece_normalizer *n, struct buffer *out, struct span text,
                      struct error *e)
{
    for (size_t at = 0, end; at < text.size; at = end) {
        int space = text.text[at] == ' ' && n->marks;
        for (end = at + 1; !space && end < text.size && (text.text[end] != ' ' || !n->marks); end++)
            ;
        if (buffer_add(out, space ? MARK : text.text + at, space ? sizeof MARK - 1 : end - at, e))
            return -1;
    }
    return 0;
}

int piece_normalize(struct piece_normalizer *n, struct buffer *out, struct span text, size_t limit,
                    struct error *e)
{
    const struct span space = n->marks ? (struct span){MARK, sizeof MARK - 1}
                                       : (struct span){" ", 1};
    struct span normal;
    int after_space = n->one_space;
    size_t size;
    while (n->one_space && text.size && (size = next_normal(n, text, &normal), is_space(normal)))
        text = drop(text, size);
    if (text.size == 0)
        return 0;
    if (n->prefix && !n->suffix && !(n->first_only && n->later) &&
        buffer_add(out, space.text, space.size, e))
        return -1;
    for (; text.size && out->size <= limit; text = drop(text, size)) {
        size = next_normal(n, text, &normal);
        while (after_space && normal.size && *normal.text == ' ')
            normal = drop(normal, 1);
        if (add_marked(n, out, normal, e))
            return -1;
        if (normal.size)
            after_space = n->one_space && normal.text[normal.size - 1] == ' ';
    }
    while (n->one_space && out->size >= space.size &&
           memcmp(out->text + out->size - space.size, space.text, space.size) == 0)
        out->size -= space.size;
    return n->prefix && n->suffix ? buffer_add(out, space.text, space.size, e) : 0;
}

void piece_normalizer_free(struct piece_normalizer *n)
{
    charsmap_free(&n->map);
    added_free(&n->kept);
}

/* -- the tokenizer -- */

int pieces_add(struct pieces *p, struct piece piece, struct error *e)
{
    if (p->count == p->room) {
        size_t room = p->room ? 2 * p->room : 1024;
        struct piece *grown = room < INT32_MAX / 2 ? realloc(p->piece, room * sizeof *grown) : NULL;
        if (!grown)
            return fail_memory(e, (double)room * sizeof *grown, "a vocabulary");
        p->piece = grown;
        p->room = room;
    }
    p->piece[p->count++] = piece;
    return 0;
}
