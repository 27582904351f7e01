#include "io/tokenizer/words.h"

#include <stdlib.h>

#define XXH_INLINE_ALL /* a call would cost as much as the hash of a word */
#include <xxhash.h>

enum { WORDS = 1 << 16 /* places */, STEP_BYTES = 1 << 20, PAIR_BITS_MIN = 16, PAIR_BITS_MAX = 26 };

int words_start(struct words *w, struct error *e)
{
    w->memory = calloc(2 * WORDS + 1,
                       sizeof *w->word); /* zeroed when touched, unlike aligned_alloc */
    if (!w->memory)
        return fail_memory(e, 2.0 * WORDS * sizeof *w->word, "a tokenizer");
    w->word = (struct word *)(((uintptr_t)w->memory + sizeof *w->word - 1) / sizeof *w->word *
                              sizeof *w->word);
    w->rest = (struct word_rest *)(w->word + WORDS);
    return 0;
}

void words_free(struct words *w)
{
    free(w->memory);
    *w = (struct words){0};
}

static int is_word(const struct words *w, size_t at, uint64_t hash, struct span word)
{
    const struct word *k = &w->word[at];
    if (k->hash != (uint32_t)hash || k->size != word.size)
        return 0;
    return word.size <= WORD_BYTES_FIRST
               ? memcmp(k->text, word.text, word.size) == 0
               : memcmp(k->text, word.text, WORD_BYTES_FIRST) == 0 &&
                     memcmp(w->rest[at].text, word.text + WORD_BYTES_FIRST,
                            word.size - WORD_BYTES_FIRST) == 0;
}

/* A word has two adjacent places, by its hash: the latest word is first, the previous second. */
static size_t place(uint64_t hash)
{
    return (size_t)(hash >> 32 & (WORDS - 1));
}

int words_find(struct words *w, struct ids *out, struct span word, uint64_t *hash, struct error *e)
{
    *hash = XXH3_64bits(word.text, word.size);
    size_t at = place(*hash);
    if (!is_word(w, at, *hash, word) && !is_word(w, at ^= 1, *hash, word))
        return 0;
    const struct word *found = &w->word[at];
    if (out->capacity - out->count < WORD_IDS_MAX && ids_reserve(out, WORD_IDS_MAX, e))
        return -1;
    memcpy(out->id + out->count, found->id, sizeof found->id);
    if (found->count > WORD_IDS_FIRST)
        memcpy(out->id + out->count + WORD_IDS_FIRST, w->rest[at].id, sizeof w->rest[at].id);
    out->count += found->count;
    return 1;
}

void words_keep(struct words *w, struct span word, uint64_t hash, const int32_t *ids, size_t count)
{
    const size_t at = place(hash);
    struct word *kept = &w->word[at];
    struct word_rest *rest = &w->rest[at];
    if (count > WORD_IDS_MAX)
        return;
    w->word[at ^ 1] = *kept;
    if (kept->size > WORD_BYTES_FIRST || kept->count > WORD_IDS_FIRST)
        w->rest[at ^ 1] = *rest;
    kept->hash = (uint32_t)hash;
    kept->size = (unsigned char)word.size;
    kept->count = (unsigned char)count;
    memcpy(kept->text, word.text, word.size < WORD_BYTES_FIRST ? word.size : WORD_BYTES_FIRST);
    if (word.size > WORD_BYTES_FIRST)
        memcpy(rest->text, word.text + WORD_BYTES_FIRST, word.size - WORD_BYTES_FIRST);
    for (size_t i = 0; i < count; i++)
        *(i < WORD_IDS_FIRST ? &kept->id[i] : &rest->id[i - WORD_IDS_FIRST]) = ids[i];
}

int tell_bytes(struct teller *t, size_t bytes, struct error *e)
{
    t->untold += bytes;
    if (t->untold < STEP_BYTES)
        return 0;
    bytes = t->untold;
    t->untold = 0;
    return t->step ? t->step(t->context, bytes, e) : 0;
}

int ids_add(struct ids *out, int32_t id, struct error *e)
{
    if (ids_reserve(out, 1, e))
        return -1;
    out->id[out->count++] = id;
    return 0;
}

int neighbours_start(struct neighbours *n, size_t count, struct error *e)
{
    n->count_bits = PAIR_BITS_MIN;
    while (n->count_bits < PAIR_BITS_MAX &&
           count >> (n->count_bits - 4)) /* 16 bits a pair: few set by chance */
        n->count_bits++;
    size_t bytes = (size_t)1 << (n->count_bits - 3);
    n->bits = calloc(1, bytes);
    return n->bits ? 0 : fail_memory(e, (double)bytes, "a tokenizer");
}

void neighbours_free(struct neighbours *n)
{
    free(n->bits);
    *n = (struct neighbours){0};
}
