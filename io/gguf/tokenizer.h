/* The tokenizer that a GGUF file holds, as the files of the library that sets the standard for ids. Private to io/. */
#ifndef REACH_IO_GGUF_TOKENIZER_H
#define REACH_IO_GGUF_TOKENIZER_H

#include "io/gguf/gguf.h"

#include <jansson.h>

/* *json: as tokenizer.json, *settings: as tokenizer_config.json; caller owns both. Both NULL, and that is no error, when the file
 * holds none. Byte pair encoding over bytes is done ("gpt2"); other models, and ways to split text that are not known, are
 * refused by name. */
int gguf_tokenizer(json_t **json, json_t **settings, const struct gguf *g, struct error *e) MUST_USE;

#endif
