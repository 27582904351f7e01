/* Documents of a stream of tokens: records of JSON lines, or its parts between the tokens that
 * separate unrelated texts.
 * Also: what the segments cut from it begin with, and the documents they lie within. */
#ifndef REACH_IO_TOKENS_DOCUMENTS_H
#define REACH_IO_TOKENS_DOCUMENTS_H

#include <stddef.h>
#include <stdint.h>

/* For all segments of one model. */
struct segment_bounds {
    int begins; /* 1: each begins with the token `bos`, which is its position 1 and counts in its
                   length */
    int bos; /* the beginning-of-text token, whether segments begin with it or not; -1: unknown */
    int boundary; /* between documents; each segment lies within one; -1: none is given */
};

struct document {
    size_t first, count; /* tokens */
};

/* Statistics of the documents. */
struct documents {
    size_t count; /* 0: the stream was not divided */
    size_t used; /* documents with something measured */
    size_t too_short; /* documents with too few tokens */
    size_t left_out; /* the tokens of these */
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
