/* Python pickles as data: a tree of values is built, and nothing is ever imported, called or
 * constructed.
 *
 * Only the opcodes that torch.save writes (pickle protocol 2) are known; any other is an error. A
 * global is a pair of names. "Calling" one makes an OBJECT that holds the names and the arguments.
 * Time and memory are bounded by the size of the pickle. Private to io/. */
#ifndef REACH_IO_TORCH_PICKLE_H
#define REACH_IO_TORCH_PICKLE_H

#include "io/error.h"

#include <stddef.h>
#include <stdint.h>

enum pickle_kind {
    PICKLE_NONE,
    PICKLE_BOOL, /* integer: 0 or 1 */
    PICKLE_INTEGER,
    PICKLE_LONG, /* an integer beyond 64 bits; text: its bytes, little-endian two's complement */
    PICKLE_REAL,
    PICKLE_TEXT, /* text: as in the file (UTF-8 is not checked), without a NUL at the end */
    PICKLE_TUPLE, /* items */
    PICKLE_LIST, /* items */
    PICKLE_DICT, /* items: key, value, key, value ... in the order of the file; also OrderedDict */
    PICKLE_SET, /* always empty: nothing we read fills a set */
    PICKLE_GLOBAL, /* global */
    PICKLE_OBJECT, /* object: what a call would have made */
    PICKLE_STORAGE /* id: tuple ('storage', type, key, location, elements ...) for data elsewhere */
};

struct pickle_value {
    enum pickle_kind kind;
    union {
        int64_t integer;
        double real;
        struct {
            const char *bytes;
            size_t size;
        } text;
        struct {
            struct pickle_value **item;
            size_t count, capacity;
        } items;
        struct {
            const char *module, *name; /* module_size and name_size bytes */
            uint32_t module_size, name_size;
            int known;
        } global;
        struct {
            const struct pickle_value *callable, *arguments; /* a GLOBAL and a TUPLE */
            struct pickle_value *state; /* NULL: none */
        } object;
        const struct pickle_value *id;
    };
};

enum { PICKLE_BYTES_MAX = 64 << 20 };

/* A global that a format knows. */
struct pickle_global {
    const char *module, *name;
};

struct pickle {
    const struct pickle_value *root;
    size_t used; /* bytes through the end of the pickle */
    const struct pickle_value
        *first_unknown; /* the first GLOBAL that is not in `known`; NULL: none */
    const struct pickle_value **storages; /* every STORAGE value */
    size_t storage_count, storage_capacity;
    struct chunk *chunks; /* the memory of the values */
};

/* Reads the pickle at `bytes`, which must outlive it. `known` lists the globals that the format
 * uses. Any other global makes an opaque object with hidden items and state; first_unknown is the
 * first of these globals. `what` names the pickle in messages. 0, or -1 with nothing to close. */
int pickle_load_memory(struct pickle *out, const char *path, const char *what,
                       const unsigned char *bytes, size_t size, const struct pickle_global *known,
                       size_t known_count, struct error *e) MUST_USE;
void pickle_close(struct pickle *p);

/* 1 if the value is exactly this text. */
int pickle_is_text(const struct pickle_value *v, const char *text);
/* 1 if the value is that global. */
int pickle_is_global(const struct pickle_value *v, const char *module, const char *name);
/* 1 if the value is an object made by that global. */
int pickle_is_object(const struct pickle_value *v, const char *module, const char *name);
/* The last value for that key in a dict; NULL if it is absent, or `dict` is not a dict. */
const struct pickle_value *pickle_get(const struct pickle_value *dict, const char *key);
/* A value's description, for messages: "a list", "the object posix.system(...)". */
const char *pickle_describe(const struct pickle_value *v, char out[160]);

#endif
