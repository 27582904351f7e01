/* Added tokens: texts that are found before anything is split, each one token. Private to
 * io/tokenizer/. */
#ifndef REACH_IO_TOKENIZER_ADDED_H
#define REACH_IO_TOKENIZER_ADDED_H

#include "io/tokenizer/pattern.h"
#include "io/tokenizer/text.h"

#include <stdint.h>

struct added_token {
    int32_t id;
    int single_word; /* found only without a letter, mark or digit next to it */
    int strip_left, strip_right; /* adjacent white space belongs to it */
};

/* Tokens by their characters: a tree of bytes. Zeroed: none. */
struct added_tokens {
    struct added_token *token;
    size_t count, room;
    struct added_node {
        uint32_t child, sibling; /* 0: none */
        int32_t token; /* index, or -1 */
        unsigned char byte;
    } * node; /* node[0] is the root */
    size_t node_count, node_room;
    uint32_t first[256]; /* the root's child of each byte, 0: none */
    struct pattern *word, *space;
};

/* Adds a token that is found as `text`; the same text twice is an error. */
int added_add(struct added_tokens *a, struct span text, struct added_token token,
              struct error *e) MUST_USE;

/* The longest token that begins at `at`, its bytes in *size; NULL: none. */
const struct added_token *added_longest(const struct added_tokens *a, struct span text, size_t at,
                                        size_t *size);

/* Calls `each` with every part of the text in order: an added token (`id` >= 0) or a part between
 * tokens (`id` -1, never empty). If several tokens begin at one place, the longest is taken. `each`
 * returns 0, or -1 to stop. */
int added_split(struct added_tokens *a, struct span text,
                int (*each)(void *context, int32_t id, struct span part, struct error *e),
                void *context, struct error *e) MUST_USE;
void added_free(struct added_tokens *a);

#endif
