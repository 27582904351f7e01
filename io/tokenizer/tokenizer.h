/* Text to token ids by a model's own tokenizer: byte pair encoding and Unigram as published in
 * tokenizer.json, in vocab.json and merges.txt, in tokenizer.model (SentencePiece), in a vocabulary
 * of tiktoken, or in a GGUF file.
 *
 * The ids are those of the `tokenizers` library, for tokenizer.model of `sentencepiece`, for a
 * vocabulary of tiktoken of `tiktoken`, on the text decoded with errors="replace", without special
 * tokens around it: broken UTF-8 counts as U+FFFD, one for each maximal part of a broken character.
 * Truncation and padding requested by a file do not apply to streams and are ignored. Unsupported
 * features are refused by name. */
#ifndef REACH_IO_TOKENIZER_TOKENIZER_H
#define REACH_IO_TOKENIZER_TOKENIZER_H

#include "io/error.h"
#include "io/tokenizer/ids.h"

#include <stddef.h>

struct tokenizer;

/* Opens a model's tokenizer: the one in the GGUF file MODEL, else tokenizer.json, else vocab.json
 * and merges.txt, else tokenizer.model, tiktoken.model or qwen.tiktoken, in the folder MODEL or
 * beside the file MODEL, with tokenizer_config.json if it exists. *out is NULL, without an error,
 * if there is none. Caller closes. */
int tokenizer_open(struct tokenizer **out, const char *path, struct error *e) MUST_USE;
void tokenizer_close(struct tokenizer *t);

/* The same from memory. `path` names the texts in messages; `settings` is tokenizer_config.json or
 * NULL. It names the beginning-of-text token and added tokens, and with vocab.json and merges.txt
 * the class, which determines how text is split. */
struct source {
    const char *path, *text;
    size_t size;
};
/* The tokenizer in the GGUF file MODEL as the texts of tokenizer.json and tokenizer_config.json.
 * Both NULL, without an error, if MODEL is not a GGUF file, or holds no tokenizer or an unsupported
 * one, which *refused describes. Caller frees. */
int tokenizer_text(char **json, char **settings, struct error *refused, const char *model,
                   struct error *e) MUST_USE;

struct gguf;
/* The tokenizer in a GGUF file; *out NULL, without an error, if it holds none. */
int tokenizer_from_gguf(struct tokenizer **out, const struct gguf *g, struct error *e) MUST_USE;
struct tokenizer *tokenizer_parse(struct source json, const struct source *settings,
                                  struct error *e) MUST_USE;
struct tokenizer *tokenizer_parse_merges(struct source vocabulary, struct source merges,
                                         const struct source *settings, struct error *e) MUST_USE;
/* tokenizer.model, a model of SentencePiece. */
struct tokenizer *tokenizer_parse_pieces(struct source model, const struct source *settings,
                                         struct error *e) MUST_USE;
/* A vocabulary of tiktoken: a line for each token with its bytes in base64 and its rank. The class
 * in `settings` has the rest, or the model's type and vocab_size there say that it is Llama 3. */
struct tokenizer *tokenizer_parse_ranks(struct source ranks, const struct source *settings,
                                        struct error *e) MUST_USE;

/* Appends the ids of `size` bytes of text, which may be broken UTF-8. Takes memory for a copy of
 * the text, or two if the text is normalized. One call at a time for one tokenizer: it caches
 * words. */
int tokenizer_encode(struct tokenizer *t, struct ids *out, const void *text, size_t size,
                     struct error *e) MUST_USE;

/* Sets a `step` to be called during tokenizer_encode, about every megabyte, with the bytes done;
 * nonzero stops it with -1 and the message left by step. */
void tokenizer_watch(struct tokenizer *t, int (*step)(void *context, size_t done, struct error *e),
                     void *context);

/* Calls it between texts that are encoded one by one. 0 or -1. */
int tokenizer_tell(const struct tokenizer *t, size_t done, struct error *e) MUST_USE;

/* The id of the token written so in the files, else of the one token that the text becomes; -1:
 * none. */
int tokenizer_token(struct tokenizer *t, const char *text);
/* The tokens that a text may mean, tokenizer_token's first: also the one with a blank before it, as
 * for words in a text. Returns how many. */
enum { TOKENIZER_READINGS = 4 };
int tokenizer_readings(int id[TOKENIZER_READINGS], struct tokenizer *t, const char *text);

/* The id of the beginning-of-text token; -1: not named in the files. */
int tokenizer_bos(const struct tokenizer *t);
/* 1 if texts should begin with it: `add_bos_token` of tokenizer_config.json, else by the
 * post-processor. */
int tokenizer_adds_bos(const struct tokenizer *t);

#endif
