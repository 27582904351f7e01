/* The files that a model's tokenizer is read from. Private to io/tokenizer/. */
#ifndef REACH_IO_TOKENIZER_SOURCE_H
#define REACH_IO_TOKENIZER_SOURCE_H

#include "io/gguf/gguf.h"
#include "io/system/watch.h"
#include "io/tokenizer/parts.h"

/* NAME in the folder MODEL, or beside the file MODEL; text NULL: it does not exist. `limit`: the
 * most bytes. Its path and text are owned, source_free frees them, also after a failure. */
int source_read(struct source *out, struct watch *w, const char *model, const char *name,
                size_t limit, struct error *e) MUST_USE;
void source_free(struct source *s);
/* FOLDER/NAME of a model: in it, or beside it when it is a file. NULL with *e: out of memory. */
char *source_path(const char *model, const char *name, struct error *e) MUST_USE;

/* The files beside the tokenizer, joined (settings_join); *name is a file's path for messages.
 * Both owned. */
int source_read_settings(json_t **joined, char **name, struct watch *w, const char *model,
                         struct error *e) MUST_USE;

/* 1 if MODEL is a file that begins like GGUF. */
int source_is_gguf(const char *model);
/* The head of the GGUF file MODEL, whose bytes belong to *t; caller frees both, also after a
 * failure. */
int source_map_gguf(struct gguf *g, struct tensors **t, const char *model,
                    struct error *e) MUST_USE;

#endif
