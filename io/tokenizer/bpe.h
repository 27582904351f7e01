/* Byte pair encoding of words. Source: Sennrich et al. 2016, algorithm 1, as in the `tokenizers`
 * library: the pair with the lowest rank is merged first, the leftmost if ranks are equal. Private
 * to io/tokenizer/. */
#ifndef REACH_IO_TOKENIZER_BPE_H
#define REACH_IO_TOKENIZER_BPE_H

#include "io/tokenizer/map.h"
#include "io/tokenizer/pairs.h"
#include "io/tokenizer/text.h"
#include "io/tokenizer/words.h"

enum {
    BPE_NONE = -1,
    BPE_MISSING = -2,
    BPE_SHOWN = 80, /* bytes of a token in a message */
    CHARACTER_IDS = INT32_MAX -
                    CHARACTERS /* with scores: ids of symbols for characters without a token */
};

struct pieces;

/* The contents of a tokenizer's file. Zeroed, then filled by its reader: bpe_start, bpe_add_*,
 * bpe_finish. */
struct bpe {
    struct map vocabulary; /* tokens, in UTF-8, to ids */
    size_t longest; /* bytes of the longest token */
    struct pairs merges;
    int32_t *merged; /* [merge_count] id of the merge of a rank */
    size_t merge_count, merge_room;
    struct neighbours neighbours; /* that some merge may join */
    int32_t unknown; /* id for characters without a token; BPE_NONE: they are dropped; BPE_MISSING:
                        they are an error */
    int fuse_unknown; /* adjacent unknown characters share one unknown token */
    int byte_fallback; /* tokens <0x00> to <0xFF> take precedence over the unknown one */
    int ignore_merges; /* a word that is a token is that token, without merges */
    int by_score; /* merges from bpe_add_pieces; unknown characters stay distinct until the end */
    int bytes_as_characters; /* words are raw bytes, and tokens are in GPT-2's byte alphabet */

    struct teller teller;
    struct bpe_tables *tables; /* made by bpe_start */
};

/* GPT-2's byte alphabet: printable Latin-1 as itself, the other 68, in order, from U+0100 on. */
uint32_t byte_character(unsigned char byte);

/* Reserves room for about this many merges. */
int bpe_start(struct bpe *b, size_t merges, struct error *e) MUST_USE;
/* Reserves room for this many tokens of this many bytes. */
int bpe_reserve(struct bpe *b, size_t tokens, size_t bytes, struct error *e) MUST_USE;
/* A duplicate token or id, or an id outside 0..2^31-2, is an error. */
int bpe_add_token(struct bpe *b, struct span token, int64_t id, struct error *e) MUST_USE;
/* The next merge by rank; both parts and the joined text must be tokens. If a pair is repeated, the
 * last one counts. */
int bpe_add_merge(struct bpe *b, struct span left, struct span right, struct error *e) MUST_USE;
/* The merges of a SentencePiece model, whose tokens were added: two adjacent symbols that form a
 * token may be merged, highest score first, and for equal scores the leftmost. */
int bpe_add_pieces(struct bpe *b, const struct pieces *p, struct error *e) MUST_USE;
/* The merges of tiktoken's ranks, which are the ids of the tokens that were added, 0 to their
 * count: two adjacent tokens that form a token may be merged, the lowest rank first, and for equal
 * ranks the leftmost. */
int bpe_add_ranks(struct bpe *b, struct error *e) MUST_USE;
/* Call it when the tables and all options are set. */
void bpe_finish(struct bpe *b);

/* Appends the ids of one word, in whole UTF-8 (or raw bytes). */
int bpe_encode(struct bpe *b, struct ids *out, struct span word, struct error *e) MUST_USE;
void bpe_free(struct bpe *b);

static inline int bpe_shown(struct span s)
{
    return (int)(s.size < BPE_SHOWN ? s.size : BPE_SHOWN);
}

#endif
