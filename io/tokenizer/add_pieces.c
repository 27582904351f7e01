/* The tokenizer of a SentencePiece model, from its pieces. */
#include "io/tokenizer/parts.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_piece(const struct piece *piece, size_t id, struct error *e)
{
    if (piece->text.size == 0 || utf8_sound(piece->text) != piece->text.size)
        return fail(e, "token %zu is %s", id, piece->text.size ? "not UTF-8" : "empty");
    if (!(piece->score >= -FLT_MAX && piece->score <= FLT_MAX))
        return fail(e, "the score of token %zu is not finite", id);
    return 0;
}

/* The unknown token, and all bytes or none. */
static int check_types(const struct tokenizer *t, const struct pieces *p, int32_t *unknown,
                       struct error *e)
{
    int bytes = 0;
    *unknown = -1;
    for (size_t i = 0; i < p->count; i++) {
        bytes += p->piece[i].type == PIECE_BYTE;
        if (p->piece[i].type != PIECE_UNKNOWN)
            continue;
        if (*unknown >= 0)
            return fail(e, "tokens %d and %zu are both the unknown one", *unknown, i);
        *unknown = (int32_t)i;
    }
    if (*unknown < 0)
        return fail(e, "has no unknown token");
    if (!p->byte_fallback)
        return bytes ? fail(e, "has tokens for bytes without byte_fallback") : 0;
    for (int i = 0; i < 256; i++) {
        char text[8];
        snprintf(text, sizeof text, "<0x%02X>", (unsigned)i);
        int32_t id = map_find(&t->bpe.vocabulary, text, 6);
        if (id == MAP_ABSENT || p->piece[id].type != PIECE_BYTE || bytes != 256)
            return fail(e, "has not just the 256 tokens for bytes (%d of that type; %s)", bytes,
                        text);
    }
    return 0;
}

static int add_unigram(struct tokenizer *t, const struct pieces *p, int32_t unknown,
                       struct error *e)
{
    struct unigram *u = &t->unigram;
    float least = FLT_MAX;
    size_t bytes = 0;
    for (size_t i = 0; i < p->count; i++) {
        bytes += p->piece[i].text.size;
        if (p->piece[i].type == PIECE_NORMAL && p->piece[i].score < least)
            least = p->piece[i].score;
    }
    if (unigram_start(u, p->count, bytes, e))
        return -1;
    u->is_single = 1;
    u->unknown = unknown;
    u->unknown_score = (double)(least - 10.0f);
    u->byte_fallback = p->byte_fallback;
    for (size_t i = 0; i < p->count; i++) {
        const struct piece *piece = &p->piece[i];
        float score = piece->type == PIECE_USER ? (float)(0.1 * ((double)piece->text.size - 1))
                                                : piece->score;
        if ((piece->type == PIECE_NORMAL || piece->type == PIECE_USER) &&
            unigram_add(u, piece->text, (int32_t)i, (double)score, e))
            return -1;
    }
    return 0;
}

/* Tokens not of the model: found in the text for GGUF, else the user's in its normal form. */
static int add_found(struct tokenizer *t, const struct pieces *p, struct piece_normalizer *n,
                     struct error *e)
{
    for (size_t i = 0; i < p->count; i++) {
        const struct piece *piece = &p->piece[i];
        const struct added_token token = {.id = (int32_t)i};
        if (p->controls) {
            if ((piece->type == PIECE_USER || piece->type == PIECE_CONTROL ||
                 piece->type == PIECE_UNKNOWN) &&
                tokenizer_add(t, piece->text, token, 0, e))
                return -1;
        } else if (piece->type == PIECE_USER &&
                   (added_add(&n->kept, piece->text, token, e) ||
                    (!p->is_unigram && added_add(&t->normalized, piece->text, token, e)))) {
            return -1;
        }
    }
    return 0;
}

static int add_normalizer(struct tokenizer *t, const struct pieces *p, struct error *e)
{
    struct normal_step *s = &t->normalizer.step[t->normalizer.count++];
    struct piece_normalizer *n = t->pieces = s->pieces = calloc(1, sizeof *n);
    s->kind = NORMAL_PIECES;
    if (!n)
        return fail_memory(e, sizeof *n, "a normalizer");
    n->prefix = p->prefix;
    n->suffix = p->suffix;
    n->one_space = p->one_space;
    n->marks = p->marks;
    return (p->charsmap.size && charsmap_read(&n->map, p->charsmap, e)) || add_found(t, p, n, e)
               ? -1
               : 0;
}

int tokenizer_add_pieces(struct tokenizer *t, const struct pieces *p, struct error *e)
{
    struct bpe *b = &t->bpe;
    size_t bytes = 0;
    int32_t unknown;
    for (size_t i = 0; i < p->count; i++)
        bytes += p->piece[i].text.size;
    if (bpe_reserve(b, p->count, bytes, e))
        return -1;
    for (size_t i = 0; i < p->count; i++) { /* unused ones have no text to be found */
        const struct piece *piece = &p->piece[i];
        if (piece->type != PIECE_UNUSED &&
            (check_piece(piece, i, e) || bpe_add_token(b, piece->text, (int64_t)i, e)))
            return -1;
    }
    if (check_types(t, p, &unknown, e) || add_normalizer(t, p, e))
        return -1;
    b->unknown = unknown;
    b->byte_fallback = p->byte_fallback;
    if (p->is_unigram ? add_unigram(t, p, unknown, e) : bpe_add_pieces(b, p, e))
        return -1;
    tokenizer_finish(t);
    return 0;
}
