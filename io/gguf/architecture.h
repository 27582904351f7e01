/* What a GGUF file's metadata and names of tensors are called in config.json and in the files of the library that config.json is
 * from, so that the families' own readers do the rest. Private to io/gguf/. */
#ifndef REACH_IO_GGUF_ARCHITECTURE_H
#define REACH_IO_GGUF_ARCHITECTURE_H

#include "io/gguf/gguf.h"

#include <jansson.h>

/* How a tensor lies in GGUF that the library has otherwise. */
enum gguf_layout {
    LAYOUT_SAME,
    LAYOUT_TRANSPOSED, /* the library has [in, out] (GPT-2's Conv1D) */
    LAYOUT_QUERY, /* rows of each head pair by pair, for rotation of neighbours; the library has halves of heads */
    LAYOUT_KEY,
    LAYOUT_FUSED, /* rows of all queries, all keys, all values; the library has them group by group */
    LAYOUT_PLUS_ONE, /* the library has the weight less 1 */
    LAYOUT_ROW, /* a vector, or a matrix of one row, which the library has */
    LAYOUT_BARE /* the same, and the library's name has no .weight and .bias */
};

/* A tensor's name without .weight and .bias; # stands for the number of the block. */
struct name_row {
    const char *gguf, *library;
    enum gguf_layout layout;
};

enum key_use {
    KEY_NEEDED, /* becomes `config`; a file without it is refused */
    KEY_COPIED, /* becomes `config`, where it is there */
    KEY_HARMLESS, /* changes no number */
    KEY_HERE /* looked at by the code of its architecture */
};

/* A key behind "ARCHITECTURE.". */
struct key_row {
    const char *key, *config;
    enum key_use use;
};

/* What is taken for granted where the file does not have the key. */
struct assumption {
    const char *key, *text; /* "rotary base 10000" */
};

/* One file that is read, all its shards together. */
struct gguf_model {
    const struct gguf *shards;
    size_t count;
    const struct architecture *architecture;
    const struct name_row *names; /* the architecture's, unless it has two sets of them */
    int64_t hidden, heads, kv_heads, head_size;
    char assumed[256]; /* what the file does not say and was taken for granted, ", " between; "": nothing */
};

struct architecture {
    const char *name, *model_type;
    const struct key_row *keys; /* ended by key NULL */
    const struct name_row *names; /* ended by gguf NULL */
    /* What needs more than a copy: adds to `config`. */
    int (*finish)(struct gguf_model *m, json_t *config, struct error *e);
    const struct assumption *assumed; /* ended by key NULL; NULL: none */
    const struct architecture *with_experts; /* in its place where there are some; NULL: it has them always, or never */
};

/* The architecture of that name, or NULL with *e. */
const struct architecture *architecture_find(struct gguf_text name, const char *path, struct error *e);

/* The row of a tensor's name, its block's number (-1: none) and what stands behind the last dot; NULL: no tensor of these models.
 */
const struct name_row *architecture_name(const struct gguf_model *m, struct gguf_text name, long *block,
                                         struct gguf_text *suffix);

/* The tensor of that name in any shard, or NULL. */
const struct gguf_tensor *model_tensor(const struct gguf_model *m, const char *name);
/* The pair of the key "ARCHITECTURE.KEY", or NULL. */
const struct gguf_pair *model_pair(const struct gguf_model *m, const char *key);

/* The model as a config of the library. Caller owns it; NULL with *e. Fills the sizes of `m`. */
json_t *gguf_config(struct gguf_model *m, struct error *e);

#endif
