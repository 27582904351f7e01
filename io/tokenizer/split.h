/* Pre-tokenizers of tokenizer files: how the text is split into the words that byte pair encoding
 * works on. Private to io/tokenizer/. */
#ifndef REACH_IO_TOKENIZER_SPLIT_H
#define REACH_IO_TOKENIZER_SPLIT_H

#include "io/tokenizer/pattern.h"
#include "io/tokenizer/text.h"

/* What happens to the matches of a pattern and the text between them: dropped, words of their own,
 * joined with each other, with the text before or the text after. */
enum behavior {
    BEHAVIOR_REMOVED,
    BEHAVIOR_ISOLATED,
    BEHAVIOR_CONTIGUOUS,
    BEHAVIOR_MERGED_WITH_PREVIOUS,
    BEHAVIOR_MERGED_WITH_NEXT
};

enum split_kind {
    SPLIT_PATTERN, /* at the matches of a pattern */
    SPLIT_PREFIX, /* `prefix` is added to a piece that does not begin with it */
    SPLIT_SPACES, /* each blank becomes `prefix` */
    SPLIT_BYTES /* each byte becomes a character of the byte alphabet (bpe.h) */
};

struct split_step {
    enum split_kind kind;
    struct pattern *pattern;
    enum behavior behavior;
    int invert; /* the text between matches counts as the match */
    int first_only; /* SPLIT_PREFIX: only at the start of the whole text */
    struct buffer prefix, made;
};

enum { SPLIT_STEPS_MAX = 64 };

struct splitter {
    struct split_step step[SPLIT_STEPS_MAX];
    int count;
    int (*each)(void *context, struct span word,
                struct error *e); /* called with every word, in order; 0, or -1 to end */
    void *context;
};

/* Splits a piece of the text; `first` 1: it is the start of the whole text. */
int split_text(struct splitter *s, struct span piece, int first, struct error *e) MUST_USE;
void splitter_free(struct splitter *s);

#endif
