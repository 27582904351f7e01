/* What the verbs read: --text, which each model reads through its own tokenizer or as bytes, and --tokens. */
#ifndef REACH_RUN_TEXT_H
#define REACH_RUN_TEXT_H

#include "io/text_list.h"
#include "io/tokens.h"
#include "io/tokenizer/tokenizer.h"
#include "model/decoder.h"

/* The files of a run, read once. Zeroed: nothing. */
struct run_text {
    struct text text; /* of --text, for tokenizers */
    struct tokens tokens; /* of --tokens */
};

/* Reads --text or --tokens, whichever list has items. */
int run_text_read(struct run_text *r, const struct text_list *text, const struct text_list *tokens, struct error *e) MUST_USE;
void run_text_free(struct run_text *r);

/* How one model reads them. Zeroed: not opened. */
struct model_text {
    struct tokenizer *tokenizer; /* NULL: bytes, or --tokens */
    int bos; /* id of the beginning-of-text token, -1: none is named */
    int adds_bos; /* 1: text is meant to begin with it */
    struct tokens tokens; /* made by model_text_tokens */
};

/* Finds the tokenizer beside the model at PATH where `is_text`. A model that can read no text is an error: it has no tokenizer,
 * and a vocabulary other than 256. */
int model_text_open(struct model_text *m, const struct decoder *d, const char *path, int is_text, struct error *e) MUST_USE;
/* The run's tokens for this model, borrowed from one of the two; NULL on failure. */
const struct tokens *model_text_tokens(struct model_text *m, const struct run_text *r, struct error *e) MUST_USE;
void model_text_close(struct model_text *m);

/* XXH3-128 of all ids and of the shape, as 32 hex digits. */
void tokens_digest(char digest[33], const struct tokens *t);

#endif
