/* The tokenizer in a GGUF file, as files of the library whose ids are the reference. Private to
 * io/. */
#ifndef REACH_IO_TOKENIZER_GGUF_H
#define REACH_IO_TOKENIZER_GGUF_H

#include "io/gguf/gguf.h"

#include <jansson.h>

struct tokenizer;

/* *json: as tokenizer.json, *settings: as tokenizer_config.json; caller owns both. Both NULL,
 * without an error, if the file holds none. Supports byte pair encoding over bytes ("gpt2"); other
 * models, and unknown ways to split text, are refused by name. Without `whole` the vocabulary and
 * the merges are left empty: gguf_read_tables reads them. */
int gguf_tokenizer(json_t **json, json_t **settings, const struct gguf *g, int whole,
                   struct error *e) MUST_USE;
/* These functions' messages do not name the file. */
size_t gguf_merge_count(const struct gguf *g);
int gguf_read_tables(struct tokenizer *t, const struct gguf *g, struct error *e) MUST_USE;

/* 1 if the tokenizer is a model of SentencePiece ("llama", "t5"), which gguf_read_pieces reads. */
int gguf_is_pieces(const struct gguf *g);
int gguf_read_pieces(struct tokenizer *t, const struct gguf *g, struct error *e) MUST_USE;

#endif
