/* Input of the verbs: --text, read by each model's tokenizer or as bytes, and --tokens. */
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

/* The files of a run, read once. Zeroed: none. */
struct run_text {
    struct text text; /* from --text, for tokenizers */
    int told; /* reported that some of it is not UTF-8 */
    struct tokens tokens; /* from --tokens */
};

/* Reads --text or --tokens, whichever list has items; `type` is that of --tokens. `records` NULL:
 * texts as they are stored, else with records of JSON lines. */
int run_text_read(struct run_text *r, const struct text_list *text, const struct text_list *tokens,
                  enum token_type type, const struct records_request *records,
                  struct error *e) MUST_USE;
void run_text_free(struct run_text *r);

/* How one model reads them. Zeroed: not opened. */
struct model_text {
    struct tokenizer *tokenizer; /* NULL: bytes, or --tokens */
    struct segment_bounds bounds; /* stays valid when the rest is closed */
    struct tokens tokens; /* made by model_text_tokens */
};

/* Finds the tokenizer of the model at PATH if `is_text` or something else needs it, and decides
 * what segments begin with and which token separates documents. A model without a tokenizer, and
 * with a vocabulary other than 256, cannot read text: an error. The beginning-of-text token is the
 * tokenizer's, else the one in the model's configuration. */
int model_text_open(struct model_text *m, const struct decoder *d, const char *path, int is_text,
                    const struct reading_options *o, struct error *e) MUST_USE;
/* The id of a token given with OPTION: an id in digits, else a token's text, or one byte for a
 * model that reads text without a tokenizer. */
int model_text_token(int *id, struct model_text *m, const char *path, const char *option,
                     const char *token, int is_text, struct error *e) MUST_USE;
/* The same for all tokens the text may mean, with and without a leading blank: how many, or -1. */
int model_text_readings(int id[TOKENIZER_READINGS], struct model_text *m, const char *path,
                        const char *option, const char *token, int is_text,
                        struct error *e) MUST_USE;
/* Reports if segments begin without the model's own token for that. */
void model_text_tell(const struct model_text *m, const char *name, struct progress *p);
/* The run's tokens for this model, borrowed from `m` or `r`; NULL on failure. Reports, once, if a
 * text for a tokenizer is not all UTF-8. */
const struct tokens *model_text_tokens(struct model_text *m, struct run_text *r, struct progress *p,
                                       struct error *e) MUST_USE;
/* The texts of the distinct ids among `count`, by the tokenizer of the model at PATH, opened here
 * if it was not needed before. None if there is no readable tokenizer: then ids are bytes, or have
 * no texts. */
int model_text_pieces(struct token_texts *out, struct model_text *m, const char *path,
                      const int32_t *ids, size_t count, struct error *e) MUST_USE;
void model_text_close(struct model_text *m);

/* Facts about the segments of a model for readers. */
struct text_notes {
    const char *name; /* NULL: it is left out */
    const struct segment_bounds *bounds;
    const struct documents *documents;
};
/* Writes `before` and `NAME: ...`, or nothing; returns 1 if it wrote anything. */
int text_describe(FILE *f, const char *before, const struct text_notes *n);

/* XXH3-128 of all ids and the shape, and of the ends of records, as 32 hex digits. */
void tokens_digest(char digest[33], const struct tokens *t);

#endif
