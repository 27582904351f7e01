/* Merges of models that list none: two neighbours that form a token may be merged, in the order of
 * its score (SentencePiece) or its rank (tiktoken). */
#include "io/tokenizer/bpe.h"
#include "io/tokenizer/pieces.h"

#include <stdlib.h>

static int compare_scores(const void *a, const void *b)
{
    float left = *(const float *)a, right = *(const float *)b;
    return (left < right) - (left > right);
}

/* How many of the distinct scores are above this one. */
static int32_t rank_of(const float *scores, size_t count, float score)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (scores[middle] > score)
            low = middle + 1;
        else
            high = middle;
    }
    return (int32_t)low;
}

/* The symbol for a part of a token: a token; of pieces one that may be merged, or one character,
 * with or without a token. MAP_ABSENT: none. */
static int32_t symbol_of(const struct bpe *b, const struct pieces *p, struct span part)
{
    int32_t id = map_find(&b->vocabulary, part.text, part.size);
    size_t size;
    if (!p)
        return id;
    uint32_t character = character_at(part.text, &size);
    if (size == part.size)
        return id != MAP_ABSENT ? id : CHARACTER_IDS + (int32_t)character;
    return id != MAP_ABSENT && p->piece[id].type == PIECE_NORMAL ? id : MAP_ABSENT;
}

/* Two of SentencePiece's steps are not supported: it splits unused tokens again, and finds single
 * characters by any type. */
static int check_type(const struct bpe *b, const struct pieces *p, int32_t id, struct error *e)
{
    const struct piece *piece = &p->piece[id];
    size_t size;
    if (piece->text.size == 0 || utf8_sound(piece->text) != piece->text.size)
        return 0; /* no text becomes it */
    character_at(piece->text.text, &size);
    int is_character = size == piece->text.size, meets = 0;
    if (piece->type != PIECE_UNUSED)
        return is_character && piece->type != PIECE_USER
                   ? fail(e,
                          "token %d, '%.*s', is one character and of the type %d, which is not "
                          "supported",
                          id, bpe_shown(piece->text), piece->text.text, (int)piece->type)
                   : 0;
    for (size_t at = size; at < piece->text.size && !meets; at += size) {
        meets = symbol_of(b, p, (struct span){piece->text.text, at}) != MAP_ABSENT &&
                symbol_of(b, p, (struct span){piece->text.text + at, piece->text.size - at}) !=
                    MAP_ABSENT;
        character_at(piece->text.text + at, &size);
    }
    return is_character || meets ? fail(e,
                                        "token %d, '%.*s', is unused, and text could become it, "
                                        "which is not supported",
                                        id, bpe_shown(piece->text), piece->text.text)
                                 : 0;
}

/* The merges of every two symbols that the token consists of. `p` NULL: symbols are tokens. */
static int add_splits(struct bpe *b, const struct pieces *p, struct span text, int32_t id,
                      int32_t rank, struct error *e)
{
    size_t size;
    uint32_t before = character_at(text.text, &size), character;
    for (size_t at = size; at < text.size; at += size, before = character) {
        struct span left = {text.text, at}, right = {text.text + at, text.size - at};
        character = character_at(right.text, &size);
        int32_t first = symbol_of(b, p, left),
                second = first == MAP_ABSENT ? MAP_ABSENT : symbol_of(b, p, right);
        if (second == MAP_ABSENT)
            continue;
        neighbours_note(&b->neighbours, before, character);
        if (pairs_set(&b->merges, first, second, rank, id, e))
            return -1;
    }
    return 0;
}

int bpe_add_pieces(struct bpe *b, const struct pieces *p, struct error *e)
{
    float *scores = malloc((p->count + 1) * sizeof *scores);
    size_t count = 0, ranks = 0;
    int result = scores ? 0 : fail_memory(e, (double)p->count * sizeof *scores, "scores");
    for (size_t i = 0; scores && i < p->count; i++)
        if (p->piece[i].type == PIECE_NORMAL)
            scores[count++] = p->piece[i].score;
    if (scores)
        qsort(scores, count, sizeof *scores, compare_scores);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || scores[i] != scores[ranks - 1])
            scores[ranks++] = scores[i];
    for (size_t i = 0; i < p->count && result == 0; i++)
        result = p->piece[i].type == PIECE_NORMAL
                     ? add_splits(b, p, p->piece[i].text, (int32_t)i,
                                  rank_of(scores, ranks, p->piece[i].score), e)
                     : check_type(b, p, (int32_t)i, e);
    b->by_score = 1;
    free(scores);
    return result;
}

int bpe_add_ranks(struct bpe *b, struct error *e)
{
    const size_t count = b->vocabulary.count;
    const void *text;
    size_t at = 0, size;
    int32_t id;
    if (!(b->merged = malloc((count + 1) * sizeof *b->merged)))
        return fail_memory(e, (double)count * sizeof *b->merged, "merges");
    b->merge_count = b->merge_room = count;
    while (map_next(&b->vocabulary, &at, &text, &size, &id)) {
        b->merged[id] = id;
        if (add_splits(b, NULL, (struct span){text, size}, id, id, e))
            return -1;
    }
    return 0;
}
