/* Merges of byte pair encoding by their two tokens: a lookup touches one place in memory. Private
 * to io/tokenizer/. */
#ifndef REACH_IO_TOKENIZER_PAIRS_H
#define REACH_IO_TOKENIZER_PAIRS_H

#include "io/error.h"

#include <stddef.h>
#include <stdint.h>

struct pair {
    int32_t left, right;
    int32_t rank_behind; /* rank + 1; 0: empty */
    int32_t merged; /* id of the merged token */
};

/* Zeroed: none. */
struct pairs {
    struct pair *slots; /* open addressing; a power of two of them, at least half of them free */
    size_t capacity, count;
};

static inline size_t pairs_place(const struct pairs *p, int32_t left, int32_t right)
{
    uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    return (size_t)((key * 0x9E3779B97F4A7C15u) >> 32) & (p->capacity - 1);
}

/* The merge of two tokens, or NULL. */
static inline const struct pair *pairs_find(const struct pairs *p, int32_t left, int32_t right)
{
    for (size_t i = p->capacity ? pairs_place(p, left, right) : 0; p->capacity;
         i = (i + 1) & (p->capacity - 1)) {
        const struct pair *slot = &p->slots[i];
        if (slot->rank_behind == 0)
            return NULL;
        if (slot->left == left && slot->right == right)
            return slot;
    }
    return NULL;
}

/* Makes room for `count` pairs. */
int pairs_reserve(struct pairs *p, size_t count, struct error *e) MUST_USE;
/* Adds a pair, or changes its rank and token. */
int pairs_set(struct pairs *p, int32_t left, int32_t right, int32_t rank, int32_t merged,
              struct error *e) MUST_USE;
/* Adds a new pair of rank 0: 1; 0: it exists; -1: an error. */
int pairs_add(struct pairs *p, int32_t left, int32_t right, struct error *e) MUST_USE;
void pairs_free(struct pairs *p);

#endif
