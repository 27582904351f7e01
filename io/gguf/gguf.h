/* The head of a GGUF file: metadata and the places of its tensors. Private to io/.
 *
 * Source: ggml-org/ggml, docs/gguf.md. Versions 2 and 3, little-endian. Nothing is copied: all
 * texts are in the file's memory, without a NUL at the end. */
#ifndef REACH_IO_GGUF_GGUF_H
#define REACH_IO_GGUF_GGUF_H

#include "io/tensors/tensors.h"

#define GGUF_MAGIC "GGUF"

enum { GGUF_RANK_MAX = 4 };

enum gguf_type {
    GGUF_U8,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_STRING,
    GGUF_ARRAY,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64,
    GGUF_TYPES
};

struct gguf_text {
    const char *text;
    size_t size;
};

struct gguf_pair {
    struct gguf_text key;
    enum gguf_type type; /* of the value, or of an array's elements */
    int is_array;
    uint64_t count; /* elements; 1 when it is not an array */
    const unsigned char *value; /* of the first; checked to be within the file */
};

struct gguf_tensor {
    struct gguf_text name;
    const struct stored_type *stored;
    int rank;
    size_t shape[GGUF_RANK_MAX]; /* rows first, as in other formats */
    size_t offset; /* of its data in the file */
};

struct gguf {
    const char *path;
    const unsigned char *bytes;
    size_t size;
    struct gguf_pair *pairs; /* sorted by key */
    size_t pair_count;
    struct gguf_tensor *tensors; /* in the order of the file */
    size_t tensor_count;
};

/* Reads the head and checks every size in it against the file, and that the tensors' data follow
 * each other to the file's end. `path` is borrowed. Call gguf_free also after a failure. */
int gguf_parse(struct gguf *g, const char *path, const unsigned char *bytes, size_t size,
               struct error *e) MUST_USE;
void gguf_free(struct gguf *g);

/* The pair of that key, or NULL. */
const struct gguf_pair *gguf_find(const struct gguf *g, const char *key);

/* Element `index` of a pair of numbers or booleans, as a whole number: -1 when it is not one, or is
 * beyond 63 bits. */
int gguf_integer(const struct gguf_pair *p, uint64_t index, int64_t *out);
/* The same as a double, exact except for whole numbers beyond 53 bits. */
int gguf_real(const struct gguf_pair *p, uint64_t index, double *out);
/* The text of a pair that is one text; -1 when it is not. */
int gguf_string(const struct gguf_pair *p, struct gguf_text *out);
/* The next text of an array of texts: *at starts as its value. */
struct gguf_text gguf_next(const unsigned char **at);
int gguf_is(struct gguf_text a, const char *b);

/* Getters for expected keys. If absent: *out = fallback, or text NULL. A value of another type, or
 * outside [low, high], is an error that names the key. */
int gguf_integer_or(const struct gguf *g, const char *key, int64_t low, int64_t high,
                    int64_t fallback, int64_t *out, struct error *e) MUST_USE;
int gguf_string_or_none(const struct gguf *g, const char *key, struct gguf_text *out,
                        struct error *e) MUST_USE;

#endif
