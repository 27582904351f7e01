/* From ids back to texts. */
#ifndef REACH_IO_TOKENIZER_TEXTS_H
#define REACH_IO_TOKENIZER_TEXTS_H

#include "io/token_texts.h"
#include "io/tokenizer/tokenizer.h"

/* The texts of those of `count` ids, none negative, that are tokens, each by itself: byte alphabets
 * and byte tokens as the bytes they represent, U+2581, or the mark of Metaspace, as a blank; added
 * tokens otherwise as written. */
int tokenizer_texts(struct token_texts *out, const struct tokenizer *t, const int32_t *ids,
                    size_t count, struct error *e) MUST_USE;

#endif
