/* SentencePiece's compiled map from texts to their normal forms: a double array over bytes (Aoe
 * 1989, in the layout of the darts-clone library), and the normal forms, each ended by a NUL.
 * Private to io/tokenizer/. */
#ifndef REACH_IO_TOKENIZER_CHARSMAP_H
#define REACH_IO_TOKENIZER_CHARSMAP_H

#include "io/error.h"
#include "io/tokenizer/text.h"

/* Zeroed: empty. */
struct charsmap {
    uint32_t *unit;
    size_t units;
    struct buffer normal; /* the normal forms */
    unsigned char begins[256]; /* 1: the map may hold a text that begins with this byte */
};

int charsmap_read(struct charsmap *m, struct span blob, struct error *e) MUST_USE;
/* The same from base64, as in tokenizer.json. */
int charsmap_read_base64(struct charsmap *m, struct span base64, struct error *e) MUST_USE;
void charsmap_free(struct charsmap *m);

/* The longest (the shortest) beginning of the text that is in the map: its bytes, and its normal
 * form, which is whole UTF-8 and may be empty. 0: none. */
size_t charsmap_longest(const struct charsmap *m, struct span text, struct span *normal);
size_t charsmap_shortest(const struct charsmap *m, struct span text, struct span *normal);

#endif
