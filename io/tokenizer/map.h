/* A map from byte strings to numbers: vocabularies and merges. Private to io/tokenizer/. */
#ifndef REACH_IO_TOKENIZER_MAP_H
#define REACH_IO_TOKENIZER_MAP_H

#include "io/error.h"

#include <stddef.h>
#include <stdint.h>

struct map_slot;

/* Zeroed: an empty map. The keys are copied. */
struct map {
    struct map_slot *slots; /* open addressing; a power of two of them */
    size_t capacity, count;
    unsigned char *keys; /* one after the other */
    size_t key_bytes, key_room;
};

enum { MAP_ABSENT = -1 };

/* The key's value, or MAP_ABSENT. */
int32_t map_find(const struct map *m, const void *key, size_t size);

/* Adds a key or changes its value; values are >= 0. */
int map_set(struct map *m, const void *key, size_t size, int32_t value, struct error *e) MUST_USE;

/* Adds a new key: 1; 0: it exists, and keeps its value; -1: an error. */
int map_add(struct map *m, const void *key, size_t size, int32_t value, struct error *e) MUST_USE;

/* Reserves room for `count` keys with this many bytes in total. */
int map_reserve(struct map *m, size_t count, size_t bytes, struct error *e) MUST_USE;

/* The next key and its value, in no particular order; *at is 0 for the first. 0: no more. */
int map_next(const struct map *m, size_t *at, const void **key, size_t *size, int32_t *value);

void map_free(struct map *m);

#endif
