/* Unigram language models: of all ways to cut a text into tokens, the one with the largest sum of
 * scores. Source: Kudo 2018, section 3.2, by Viterbi's algorithm as in the `tokenizers` library
 * (sums in double) and SentencePiece (in float), whose ties and rounding decide between equal ways.
 * Private to io/tokenizer/. */
#ifndef REACH_IO_TOKENIZER_UNIGRAM_H
#define REACH_IO_TOKENIZER_UNIGRAM_H

#include "io/tokenizer/map.h"
#include "io/tokenizer/pairs.h"
#include "io/tokenizer/words.h"

enum { UNIGRAM_NONE = -1 };

/* Zeroed, then filled by its reader: unigram_start, unigram_add, unigram_finish. */
struct unigram {
    int is_model; /* 0: not used, byte pair encoding does the work */
    int is_single; /* sums are rounded to float, and unknown characters never looked up, as in
                      SentencePiece */
    int32_t
        unknown; /* id for unknown characters, shared by adjacent ones; UNIGRAM_NONE: an error */
    double unknown_score;
    int byte_fallback; /* tokens <0x00> to <0xFF> take precedence over the unknown one */
    int32_t fallback[256]; /* their ids, or MAP_ABSENT */
    const struct map *vocabulary; /* tokens to ids; borrowed */
    size_t longest; /* bytes of the longest token */

    struct pairs tree; /* maps a node and a byte to the next node */
    struct unigram_node {
        int32_t id; /* of the token that ends here, or UNIGRAM_NONE */
        double score;
    } * node; /* node[0] is the root */
    size_t node_count, node_room;
    int32_t first[256]; /* the root's node for each byte, 0: none */

    struct words words;
    struct neighbours neighbours; /* those that are within some token */
    struct teller teller;
    struct unigram_step *step; /* of the current text */
    size_t step_room;
};

/* Announces `tokens` tokens with this many bytes in total. */
int unigram_start(struct unigram *u, size_t tokens, size_t bytes, struct error *e) MUST_USE;
/* Adds a token, not empty and in whole UTF-8. */
int unigram_add(struct unigram *u, struct span token, int32_t id, double score,
                struct error *e) MUST_USE;
/* Call it when the vocabulary is complete. */
void unigram_finish(struct unigram *u, const struct map *vocabulary);

/* Appends the ids of one word, in whole UTF-8. */
int unigram_encode(struct unigram *u, struct ids *out, struct span word, struct error *e) MUST_USE;
void unigram_free(struct unigram *u);

#endif
