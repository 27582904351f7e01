/* Text to token ids as a model's own tokenizer makes them: byte pair encoding and Unigram as published in tokenizer.json, in
 * vocab.json and merges.txt, in tokenizer.model (SentencePiece), or in a file of GGUF.
 *
 * The ids are those of the `tokenizers` library, for tokenizer.model of `sentencepiece`, on the text decoded with
 * errors="replace", without special tokens around it: broken UTF-8 counts as U+FFFD, one for each maximal part of a broken
 * character. Truncation and padding that a file asks for are not for streams and not done. What is not supported is refused by
 * name. */
#ifndef REACH_IO_TOKENIZER_TOKENIZER_H
#define REACH_IO_TOKENIZER_TOKENIZER_H

#include "io/error.h"
#include "io/tokenizer/ids.h"

#include <stddef.h>

struct tokenizer;

/* Opens the tokenizer that lies with a model: the one in the GGUF file MODEL, else tokenizer.json, else vocab.json and
 * merges.txt, else tokenizer.model, in the folder MODEL or beside the file MODEL, with tokenizer_config.json if there is one.
 * *out is NULL, and that is no error, when there is none. Caller closes.
 */
int tokenizer_open(struct tokenizer **out, const char *path, struct error *e) MUST_USE;
void tokenizer_close(struct tokenizer *t);

/* The same from memory. `path` names the texts in messages; `settings` is tokenizer_config.json, NULL: there is none. They name
 * the beginning-of-text token and added tokens, and with vocab.json and merges.txt the class, which says how text is split. */
struct source {
    const char *path, *text;
    size_t size;
};
/* The tokenizer in the GGUF file MODEL as the texts of tokenizer.json and tokenizer_config.json; both NULL, and no error, when
 * MODEL is no such file or holds none, or one that cannot be read, of which *refused tells. Caller frees. */
int tokenizer_text(char **json, char **settings, struct error *refused, const char *model, struct error *e) MUST_USE;

struct gguf;
/* The tokenizer in a GGUF file; *out NULL, and no error: it holds none. */
int tokenizer_from_gguf(struct tokenizer **out, const struct gguf *g, struct error *e) MUST_USE;
struct tokenizer *tokenizer_parse(struct source json, const struct source *settings, struct error *e) MUST_USE;
struct tokenizer *tokenizer_parse_merges(struct source vocabulary, struct source merges, const struct source *settings,
                                         struct error *e) MUST_USE;
/* tokenizer.model, a model of SentencePiece. */
struct tokenizer *tokenizer_parse_pieces(struct source model, const struct source *settings, struct error *e) MUST_USE;

/* Appends the ids of `size` bytes of text, which may be broken UTF-8. Takes memory for a copy of the text, and two where the text
 * is normalized. One call at a time for one tokenizer: it remembers words. */
int tokenizer_encode(struct tokenizer *t, struct ids *out, const void *text, size_t size, struct error *e) MUST_USE;

/* Has `step` called during tokenizer_encode, about every megabyte, with the bytes done; nonzero ends it with -1 and the message
 * that step left. */
void tokenizer_watch(struct tokenizer *t, int (*step)(void *context, size_t done, struct error *e), void *context);

/* The id of the token that is written so in the files, else of the one token that the text becomes; -1: there is none. */
int tokenizer_token(struct tokenizer *t, const char *text);
/* The tokens that a text may mean, that of tokenizer_token first: also the one with a blank before it, as words in a text have
 * it. Returns how many. */
enum { TOKENIZER_READINGS = 4 };
int tokenizer_readings(int id[TOKENIZER_READINGS], struct tokenizer *t, const char *text);

/* The id of the beginning-of-text token; -1: the files name none. */
int tokenizer_bos(const struct tokenizer *t);
/* 1 if texts are meant to begin with it: `add_bos_token` of tokenizer_config.json, else what the post-processor does. */
int tokenizer_adds_bos(const struct tokenizer *t);

#endif
