/* Unigram language models: of all ways to cut a text into tokens the one with the largest sum of scores. Source: Kudo 2018,
 * section 3.2, by Viterbi's algorithm as the `tokenizers` library (sums in double) and SentencePiece (in float) do it, whose ties
 * and rounding decide where ways are alike. Private to io/tokenizer/. */
#ifndef REACH_IO_TOKENIZER_UNIGRAM_H
#define REACH_IO_TOKENIZER_UNIGRAM_H

#include "io/tokenizer/map.h"
#include "io/tokenizer/pairs.h"
#include "io/tokenizer/words.h"

enum { UNIGRAM_NONE = -1 };

/* Zeroed, then filled by its reader: unigram_start, unigram_add, unigram_finish. */
struct unigram {
    int is_model; /* 0: nothing was read here, byte pair encoding does the work */
    int is_single; /* sums are rounded to float, and unknown characters never looked up, as in SentencePiece */
    int32_t unknown; /* id of characters without a token, neighbours of which share one; UNIGRAM_NONE: they are an error */
    double unknown_score;
    int byte_fallback; /* tokens <0x00> to <0xFF> before the unknown one */
    int32_t fallback[256]; /* their ids, or MAP_ABSENT */
    const struct map *vocabulary; /* tokens to ids; borrowed */
    size_t longest; /* bytes of the longest token */

    struct pairs tree; /* a node and a byte to the node they lead to */
    struct unigram_node {
        int32_t id; /* of the token that ends here, or UNIGRAM_NONE */
        double score;
    } * node; /* node[0] is the root */
    size_t node_count, node_room;
    int32_t first[256]; /* the root's node for each byte, 0: none */

    struct words words;
    struct neighbours neighbours; /* that lie within some token */
    struct teller teller;
    struct unigram_step *step; /* of the text in hand */
    size_t step_room;
};

/* `tokens` of so many bytes are to come. */
int unigram_start(struct unigram *u, size_t tokens, size_t bytes, struct error *e) MUST_USE;
/* A token, which is not empty, and in whole UTF-8. */
int unigram_add(struct unigram *u, struct span token, int32_t id, double score, struct error *e) MUST_USE;
/* To be called when the vocabulary is whole. */
void unigram_finish(struct unigram *u, const struct map *vocabulary);

/* Appends the ids of one word, in whole UTF-8. */
int unigram_encode(struct unigram *u, struct ids *out, struct span word, struct error *e) MUST_USE;
void unigram_free(struct unigram *u);

#endif
