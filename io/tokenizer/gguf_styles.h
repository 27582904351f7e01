/* How the text of a GGUF file's tokenizer is split, by tokenizer.ggml.pre. Private to
 * io/tokenizer/. */
#ifndef REACH_IO_TOKENIZER_GGUF_STYLES_H
#define REACH_IO_TOKENIZER_GGUF_STYLES_H

#include "io/gguf/gguf.h"

#include <jansson.h>

enum { GGUF_STEPS_MAX = 7 };

struct gguf_style {
    const char *names; /* blanks around each */
    const char *steps[GGUF_STEPS_MAX];
    int composes; /* text becomes NFC first, as in the models' own tokenizers */
    int ignore_merges; /* a word that is a token is that token */
    int adds_bos; /* unless the file says otherwise */
    int pieces; /* characters instead of bytes, and blanks as U+2581, as in SentencePiece */
};

/* The style of a tokenizer.ggml.model of gpt2 or gemma4, which is one itself; NULL with *e if it is
 * not known. The message does not name the file. */
const struct gguf_style *gguf_find_style(const struct gguf *g, struct gguf_text model,
                                         struct error *e) MUST_USE;
/* The style of the name `wanted`, which has a blank on each side; NULL: none. */
const struct gguf_style *gguf_style(const char *wanted);
/* Its pre_tokenizer of tokenizer.json; caller owns it. */
json_t *gguf_make_splitter(const struct gguf_style *style);

#endif
