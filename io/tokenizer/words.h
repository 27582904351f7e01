/* Shared by the models of tokenizers: a cache of words, and reports about progress. Private to
 * io/tokenizer/. */
#ifndef REACH_IO_TOKENIZER_WORDS_H
#define REACH_IO_TOKENIZER_WORDS_H

#include "io/tokenizer/ids.h"
#include "io/tokenizer/text.h"

#include <string.h>

enum {
    WORD_BYTES_FIRST = 42,
    WORD_BYTES_MAX = 58,
    WORD_IDS_FIRST = 4,
    WORD_IDS_MAX = 15 /* of a cached word */
};

/* A cached word: one line of the processor's cache, and another for longer data. Those are
 * stored separately, since short words would otherwise use only every second line, and half of
 * the cache. */
struct word {
    uint32_t hash;
    unsigned char size; /* 0: empty */
    unsigned char count;
    char text[WORD_BYTES_FIRST];
    int32_t id[WORD_IDS_FIRST];
};
struct word_rest {
    char text[WORD_BYTES_MAX - WORD_BYTES_FIRST];
    int32_t id[WORD_IDS_MAX - WORD_IDS_FIRST];
    int32_t unused;
};
_Static_assert(sizeof(struct word) == 64 && sizeof(struct word_rest) == 64, "a line each");

struct words {
    void *memory;
    struct word *word; /* aligned in it */
    struct word_rest *rest; /* after them */
};

int words_start(struct words *w, struct error *e) MUST_USE;
void words_free(struct words *w);

/* Appends the ids of a word of at most WORD_BYTES_MAX bytes, if it is cached: 1, else 0; -1: an
 * error. *hash is for words_keep. */
int words_find(struct words *w, struct ids *out, struct span word, uint64_t *hash,
               struct error *e) MUST_USE;
/* Caches a word that was not found, unless it has too many ids. */
void words_keep(struct words *w, struct span word, uint64_t hash, const int32_t *ids, size_t count);

/* Called about every megabyte of words. */
struct teller {
    int (*step)(void *context, size_t bytes,
                struct error *e); /* NULL, or stops the work if it returns nonzero */
    void *context;
    size_t untold; /* bytes since the last call */
};
int tell_bytes(struct teller *t, size_t bytes, struct error *e) MUST_USE;

int ids_add(struct ids *out, int32_t id, struct error *e) MUST_USE;

/* Pairs of adjacent characters, to exclude those that no token contains: bits by a hash, set for
 * pairs that may occur, so that a clear bit is a proof. */
struct neighbours {
    uint64_t *bits;
    int count_bits; /* 2^count_bits of them */
};
int neighbours_start(struct neighbours *n, size_t count, struct error *e) MUST_USE;
void neighbours_free(struct neighbours *n);

static inline uint64_t neighbours_bit(const struct neighbours *n, uint32_t left, uint32_t right,
                                      size_t *at)
{
    uint64_t hash = ((uint64_t)left << 21 | right) * 0x9E3779B97F4A7C15u >> (64 - n->count_bits);
    *at = (size_t)(hash >> 6);
    return (uint64_t)1 << (hash & 63);
}

static inline void neighbours_note(struct neighbours *n, uint32_t left, uint32_t right)
{
    size_t at;
    uint64_t bit = neighbours_bit(n, left, right, &at);
    n->bits[at] |= bit;
}

/* 1 if some token may hold them adjacent. */
static inline int neighbours_may_meet(const struct neighbours *n, uint32_t left, uint32_t right)
{
    size_t at;
    uint64_t bit = neighbours_bit(n, left, right, &at);
    return (n->bits[at] & bit) != 0;
}

#endif
