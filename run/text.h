/* What the verbs read: --text, which each model reads through its own tokenizer or as bytes, and --tokens. */
#ifndef REACH_RUN_TEXT_H
#define REACH_RUN_TEXT_H

#include "io/text_list.h"
#include "io/tokens/tokens.h"
#include "io/tokenizer/texts.h"
#include "io/tokenizer/tokenizer.h"
#include "model/decoder.h"
#include "run/progress.h"
#include "run/shared_options.h"

#include <stdio.h>

/* The files of a run, read once. Zeroed: nothing. */
struct run_text {
    struct text text; /* of --text, for tokenizers */
    int told; /* that some of it is not UTF-8 */
    struct tokens tokens; /* of --tokens */
};

/* Reads --text or --tokens, whichever list has items. */
int run_text_read(struct run_text *r, const struct text_list *text, const struct text_list *tokens, struct error *e) MUST_USE;
void run_text_free(struct run_text *r);

/* How one model reads them. Zeroed: not opened. */
struct model_text {
    struct tokenizer *tokenizer; /* NULL: bytes, or --tokens */
    struct segment_bounds bounds; /* stays when the rest is closed */
    struct tokens tokens; /* made by model_text_tokens */
};

/* Finds the tokenizer beside the model at PATH where `is_text` or something else needs it, and decides what segments begin with
 * and which token stands between documents. A model that can read no text is an error: it has no tokenizer, and a vocabulary
 * other than 256. The beginning-of-text token is that of the tokenizer, else that of the model's configuration. */
int model_text_open(struct model_text *m, const struct decoder *d, const char *path, int is_text, const struct reading_options *o,
                    struct error *e) MUST_USE;
/* The id of a token that OPTION names: an id in digits, else a token's text, or of a model that reads text without a tokenizer
 * one byte. */
int model_text_token(int *id, struct model_text *m, const char *path, const char *option, const char *token, int is_text,
                     struct error *e) MUST_USE;
/* The same of all tokens that it may mean, with and without a blank before it: how many, or -1. */
int model_text_readings(int id[TOKENIZER_READINGS], struct model_text *m, const char *path, const char *option, const char *token,
                        int is_text, struct error *e) MUST_USE;
/* Says so where segments begin without a token that the model has for that. */
void model_text_tell(const struct model_text *m, const char *name, struct progress *p);
/* The run's tokens for this model, borrowed from one of the two; NULL on failure. Says so, once, where bytes of a text that a
 * tokenizer reads are not UTF-8. */
const struct tokens *model_text_tokens(struct model_text *m, struct run_text *r, struct progress *p, struct error *e) MUST_USE;
/* The texts of the ids that occur among `count`, by the tokenizer of the model at PATH, which is looked for where it was not
 * needed so far; none where there is none, or none that can be read: then ids are bytes, or have no texts. */
int model_text_pieces(struct token_texts *out, struct model_text *m, const char *path, const int32_t *ids, size_t count,
                      struct error *e) MUST_USE;
void model_text_close(struct model_text *m);

/* What readers must know of the segments of a model. */
struct text_notes {
    const char *name;
    const struct segment_bounds *bounds;
    const struct documents *documents;
};
/* Writes `before`, and `NAME: ...`, or nothing; returns whether there was something to say. */
int text_describe(FILE *f, const char *before, const struct text_notes *n);

/* XXH3-128 of all ids and of the shape, as 32 hex digits. */
void tokens_digest(char digest[33], const struct tokens *t);

#endif
