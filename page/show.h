/* Words about an explanation that the screen and the page have alike. */
#ifndef REACH_PAGE_SHOW_H
#define REACH_PAGE_SHOW_H

#include "io/glyph.h"
#include "page/explanation.h"

#include <stdio.h>

/* glyph_next, with a sign of one column for the end of a line and for a tab. */
size_t show_next(struct glyph *g, const char *bytes, size_t size);

/* A token in its text, on one line: what stands before it and behind it in so many columns, and the token itself in at most as
 * many; cut ends have an ellipsis. Owned. */
struct around {
    char *before, *token, *after;
};
int around_make(struct around *a, const struct explanation *x, size_t input, int columns, struct error *e) MUST_USE;
void around_free(struct around *a);

/* "gradient", or what else the shares are of. */
const char *show_share_of(const struct explanation *x);
/* `within the last 14 of 102 tokens`, `at the last of 102 tokens`. */
void show_last(FILE *f, size_t last, size_t count);
/* `Half of the gradient lies within the last 14 of 102 tokens, ...`, without a line's end. -1: memory ran out. */
int show_sentence(FILE *f, const struct explanation *x) MUST_USE;

#endif
