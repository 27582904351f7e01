/* Text about an explanation shared by the screen and the page. */
#ifndef REACH_PAGE_SHOW_H
#define REACH_PAGE_SHOW_H

#include "io/glyph.h"
#include "page/explanation.h"

#include <stdio.h>

/* glyph_next, with one-column signs for a line end and a tab. */
size_t show_next(struct glyph *g, const char *bytes, size_t size);

/* The text on one line, in at most this many columns and an ellipsis if it is cut. Caller frees;
 * NULL: out of memory. */
char *show_cut(const char *text, int columns);

/* A token in its text, on one line: the text before and after it in this many columns, and the
 * token in at most as many; cut ends have an ellipsis. Owned. */
struct around {
    char *before, *token, *after;
};
int around_make(struct around *a, const struct explanation *x, size_t input, int columns,
                struct error *e) MUST_USE;
void around_free(struct around *a);

/* An input's text, quoted; a unit of several tokens may be long, and is cut. Caller frees; NULL:
 * out of memory. */
char *show_input(const struct explanation *x, size_t input);

/* ", the likeliest next token", or which of them the target is, or that it is several tokens; empty
 * for a token that is in the text or was named. */
enum { SHOW_RANK = 64 };
void show_rank(char text[SHOW_RANK], const struct explanation *x);
/* "gradient", or the other quantity of the shares. */
const char *show_share_of(const struct explanation *x);
/* `the last 14 of 102 tokens`, `the last of 102 words`; `unit`: token, word. */
void show_last(FILE *f, size_t last, size_t count, const char *unit);
/* `Half of the summed gradient norm comes from the last 14 of 102 tokens, ...`, without a newline;
 * and if parts were left out, which of them matters most. -1: out of memory. */
int show_sentence(FILE *f, const struct explanation *x) MUST_USE;

#endif
