/* Maps the metadata and tensor names of a GGUF file to config.json and to the files of the library
 * that config.json is from, so that the families' own readers do the rest. Private to io/gguf/. */
#ifndef REACH_IO_GGUF_ARCHITECTURE_H
#define REACH_IO_GGUF_ARCHITECTURE_H

#include "io/gguf/gguf.h"

#include <jansson.h>

/* How a tensor's layout in GGUF differs from the library's. */
enum gguf_layout {
    LAYOUT_SAME,
    LAYOUT_TRANSPOSED, /* the library has [in, out] (GPT-2's Conv1D) */
    LAYOUT_QUERY, /* rows of each head in pairs, to rotate neighbours; the library has halves */
    LAYOUT_KEY,
    LAYOUT_FUSED, /* rows of all queries, all keys, all values; the library groups them */
    LAYOUT_PLUS_ONE, /* the library has the weight minus 1 */
    LAYOUT_ROW, /* a vector, or a matrix of one row, which is the library's form */
    LAYOUT_BARE, /* the same, and the library's name has no .weight and .bias */
    LAYOUT_TAPS, /* [channels, reach]; the library has [channels, 1, reach] */
    LAYOUT_LATENT_KEYS, /* keys of heads from a latent, which the library has with the values */
    LAYOUT_NAMED_HEADS, /* a row for each head, which are tensors of their own in the library */
    LAYOUT_NAMED_PARTS, /* the same of matrices in one tensor */
    LAYOUT_JOINED, /* the first half of a matrix of the library, the rest of its rows another's */
    LAYOUT_PACKED, /* the same, but the library has the rows of each key head together */
    LAYOUT_HALF, /* such a second half */
    LAYOUT_FLAT, /* a matrix that is a vector in the library */
    /* in both without .weight or .bias */
    LAYOUT_COLUMN, /* a matrix of one column that is a vector in the library */
    LAYOUT_DECAYS, /* the negatives of decays; the library has their logarithms, as a vector */
    LAYOUT_STATE_DECAYS, /* the same of each state of each channel, a matrix in both */
    LAYOUT_PLAIN /* without .weight here alone */
};

/* A tensor's name without .weight and .bias; # is the number of the block. */
struct name_row {
    const char *gguf, *library; /* library NULL: read with the metadata */
    enum gguf_layout layout;
};

enum key_use {
    KEY_NEEDED, /* becomes `config`; a file without it is refused */
    KEY_COPIED, /* becomes `config`, if present */
    KEY_HARMLESS, /* changes no number */
    KEY_HERE /* read by the code of its architecture */
};

/* A key after "ARCHITECTURE.". */
struct key_row {
    const char *key, *config;
    enum key_use use;
};

/* The value assumed if the file does not have the key. */
struct assumption {
    const char *key, *text; /* "rotary base 10000" */
};

/* The states of a model's recurrences: heads, those of keys, the size of a key, and of all values
 * together. */
struct gguf_states {
    int64_t heads, groups, key, inner;
    int by_turns; /* the file has the first value head of each key head, then the second ones, ...
                   */
};

/* One model, all its shards together. */
struct gguf_model {
    const struct gguf *shards;
    size_t count;
    const struct architecture *architecture;
    const struct name_row *names; /* the architecture's, unless that has two sets of names */
    int64_t hidden, heads, kv_heads, head_size; /* without attention 0, 1 and 1 of the last three */
    struct gguf_states states;
    long layers, further; /* of all blocks; `further` after them predict further tokens, and are
                             left out */
    char assumed[256]; /* what was assumed, separated by ", "; "": nothing */
};

struct architecture {
    const char *name, *model_type;
    const struct key_row *keys; /* ended by key NULL */
    const struct name_row *names; /* ended by gguf NULL */
    /* Adds to `config` what needs more than a copy. */
    int (*finish)(struct gguf_model *m, json_t *config, struct error *e);
    const struct assumption *assumed; /* ended by key NULL; NULL: none */
    const struct architecture
        *with_experts; /* used for models with experts; NULL: it always has them, or never */
    const char *other_type; /* a model_type that `finish` may choose instead; NULL: none */
};

/* The tables, each ended by name NULL, and llama's row with experts. */
extern const struct architecture gguf_dense[], gguf_mixtures[], gguf_convolutions[], gguf_gemmas[],
    gguf_recurrences[], gguf_deltas[], gguf_scans[], gguf_mixtral;

/* The architecture of that name, or NULL with *e. */
const struct architecture *architecture_find(struct gguf_text name, const char *path,
                                             struct error *e);

/* The row of a tensor's name, its block's number (-1: none) and the part after the last dot; NULL:
 * not a tensor of these models. Rows of tensors named .scale have that in their own name. */
const struct name_row *architecture_name(const struct gguf_model *m, struct gguf_text name,
                                         long *block, struct gguf_text *suffix);

/* The tensor of that name in any shard, or NULL; model_numbers gives its numbers too. */
const struct gguf_tensor *model_tensor(const struct gguf_model *m, const char *name);
const struct gguf_tensor *model_numbers(const struct gguf_model *m, const char *name,
                                        const unsigned char **data);
/* The pair of the key "ARCHITECTURE.KEY", or NULL. */
const struct gguf_pair *model_pair(const struct gguf_model *m, const char *key);

/* The model as a config of the library. Caller owns it; NULL with *e. Sets the sizes in `m`. */
json_t *gguf_config(struct gguf_model *m, struct error *e);

#endif
