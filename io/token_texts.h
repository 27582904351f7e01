/* The texts of tokens: the bytes of each id in a text, which need not be whole UTF-8. */
#ifndef REACH_IO_TOKEN_TEXTS_H
#define REACH_IO_TOKEN_TEXTS_H

#include "io/error.h"

#include <stddef.h>
#include <stdint.h>

struct token_texts {
    size_t count, size;
    int32_t *id; /* [count] ascending, each once */
    uint64_t *end; /* [count] end of its bytes in `bytes`; they start at the previous end */
    uint8_t *bytes; /* [size] */
};

/* The bytes of an id, *size of them; NULL: it has no text. */
const char *texts_find(const struct token_texts *p, int32_t id, size_t *size);

/* The text of an id, unprintable characters spelled out, in *text of *size, which grows and is the
 * caller's; empty if it has none. NULL when memory runs out. */
const char *texts_spell(const struct token_texts *p, int32_t id, char **text, size_t *size);

/* One of several pieces to combine; `text` borrowed. */
struct token_text {
    int32_t id;
    size_t size;
    const char *text;
};
/* The table of `count` pieces with ascending ids. Its arrays are owned. */
int texts_make(struct token_texts *out, const struct token_text *piece, size_t count,
               struct error *e) MUST_USE;
/* Adds the texts of `more` that are not in `p`, whose arrays are owned. */
int texts_add(struct token_texts *p, const struct token_texts *more, struct error *e) MUST_USE;
/* For a byte model: every byte is its own id. */
int texts_of_bytes(struct token_texts *out, struct error *e) MUST_USE;
void texts_free(struct token_texts *p);

/* Checks a table that was read: 0, or -1 with what is wrong. */
int texts_check(const struct token_texts *p, struct error *e) MUST_USE;

#endif
