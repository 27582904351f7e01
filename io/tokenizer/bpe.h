/* Byte pair encoding of words. Source: Sennrich et al. 2016, algorithm 1, as the `tokenizers` library does it: the pair with the
 * lowest rank is merged first, the leftmost of equals. Private to io/tokenizer/. */
#ifndef REACH_IO_TOKENIZER_BPE_H
#define REACH_IO_TOKENIZER_BPE_H

#include "io/tokenizer/map.h"
#include "io/tokenizer/pairs.h"
#include "io/tokenizer/text.h"
#include "io/tokenizer/words.h"

enum { BPE_NONE = -1, BPE_MISSING = -2 };

struct pieces;

/* What a tokenizer's file says. Zeroed, then filled by its reader: bpe_start, bpe_add_*, bpe_finish. */
struct bpe {
    struct map vocabulary; /* tokens, in UTF-8, to ids */
    size_t longest; /* bytes of the longest token */
    struct pairs merges;
    int32_t *merged; /* [merge_count] id of the merge of a rank */
    size_t merge_count, merge_room;
    int32_t unknown; /* id for characters without a token; BPE_NONE: they are dropped; BPE_MISSING: they are an error */
    int fuse_unknown; /* neighbours share one unknown token */
    int byte_fallback; /* tokens <0x00> to <0xFF> before the unknown one */
    int ignore_merges; /* a word that is a token is that token, whatever the merges make of it */
    int by_score; /* merges are those of bpe_add_pieces, and characters without a token are told from each other until the end */
    int bytes_as_characters; /* words are raw bytes, and tokens are spelt in the byte alphabet of GPT-2 */

    struct teller teller;
    struct bpe_tables *tables; /* made by bpe_start */
};

/* The alphabet in which GPT-2 spells bytes: printable ones of Latin-1 as themselves, the other 68, in order, from U+0100 on. */
uint32_t byte_character(unsigned char byte);

/* Makes room for about so many merges. */
int bpe_start(struct bpe *b, size_t merges, struct error *e) MUST_USE;
/* Makes room for so many tokens of so many bytes. */
int bpe_reserve(struct bpe *b, size_t tokens, size_t bytes, struct error *e) MUST_USE;
/* A token or an id that is there already, and an id outside 0..2^31-2, are errors. */
int bpe_add_token(struct bpe *b, struct span token, int64_t id, struct error *e) MUST_USE;
/* The next merge by rank; both parts and their joint must be tokens. Of a pair that comes twice the last one counts. */
int bpe_add_merge(struct bpe *b, struct span left, struct span right, struct error *e) MUST_USE;
/* The merges of a SentencePiece model, whose tokens were added: two symbols that make a token may become it, that of the highest
 * score first, and of the same score the leftmost. */
int bpe_add_pieces(struct bpe *b, const struct pieces *p, struct error *e) MUST_USE;
/* To be called when the tables and all options are set. */
void bpe_finish(struct bpe *b);

/* Appends the ids of one word, in whole UTF-8 (or raw bytes). */
int bpe_encode(struct bpe *b, struct ids *out, struct span word, struct error *e) MUST_USE;
void bpe_free(struct bpe *b);

#endif
