/* Documents of a stream of tokens: its parts between the tokens that stand between unrelated texts. And what segments that are
 * cut from it begin with and lie within. */
#ifndef REACH_IO_TOKENS_DOCUMENTS_H
#define REACH_IO_TOKENS_DOCUMENTS_H

#include <stddef.h>
#include <stdint.h>

/* Of all segments of one model. */
struct segment_bounds {
    int begins; /* 1: each begins with the token `bos`, which is its position 1 and counts in its length */
    int bos; /* the beginning-of-text token, whether they begin with it or not; -1: none is known */
    int boundary; /* the token between documents, within one of which each segment lies; -1: they lie anywhere */
};

struct document {
    size_t first, count; /* tokens */
};

/* The next document that begins at *at or behind it; *at moves behind it. The boundary belongs to none, and a document has one
 * token at least. Returns 0 at the end of ids[total]. */
static inline int document_next(struct document *d, size_t *at, const int32_t *ids, size_t total, int32_t boundary)
{
    while (*at < total && ids[*at] == boundary)
        ++*at;
    d->first = *at;
    while (*at < total && ids[*at] != boundary)
        ++*at;
    d->count = *at - d->first;
    return d->count > 0;
}

/* What became of them. */
struct documents {
    size_t count; /* 0: the stream was not divided */
    size_t used; /* something is measured in so many of them */
    size_t too_short; /* so many have too few tokens */
    size_t left_out; /* the tokens of those */
    size_t longest; /* tokens */
};

/* Counts one; returns whether it has `needed` tokens. */
static inline int documents_add(struct documents *all, const struct document *d, size_t needed)
{
    int fits = d->count >= needed;

    all->count++;
    all->too_short += !fits;
    all->left_out += fits ? 0 : d->count;
    all->longest = d->count > all->longest ? d->count : all->longest;
    return fits;
}

#endif
