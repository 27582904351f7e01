/* The chat templates of a model: how an instruct model's messages are written as one text, in
 * Jinja, which is rendered elsewhere. As transformers 5.24 finds them (tokenization_utils_base.py:
 * from_pretrained and get_chat_template): chat_template.jinja and the files of
 * additional_chat_templates, else chat_template of tokenizer_config.json; in a GGUF file
 * tokenizer.chat_template and its named ones. */
#ifndef REACH_IO_TOKENIZER_CHAT_H
#define REACH_IO_TOKENIZER_CHAT_H

#include "io/error.h"

#include <stddef.h>

/* A template by its name, `default` where there is only one; or a special token by what it is for:
 * bos_token, ... */
struct chat_text {
    char *name, *text; /* owned; text NULL: the tokenizer has no such token */
};

struct chat {
    struct chat_text *template; /* [template_count] */
    size_t template_count;
    struct chat_text *token; /* [token_count]; those that no file and no class decides are missing
                              */
    size_t token_count;
};

/* Of the model at PATH, a folder or a file; template_count 0: it has none. chat_free it after a
 * success. */
int chat_read(struct chat *out, const char *path, struct error *e) MUST_USE;
void chat_free(struct chat *c);

#endif
