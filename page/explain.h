/* An explanation as a page: one file of HTML that needs nothing else. */
#ifndef REACH_PAGE_EXPLAIN_H
#define REACH_PAGE_EXPLAIN_H

#include "page/explanation.h"

#include <stdio.h>

/* Writes all of it. -1: memory ran out; whether it could be written the stream tells. */
int page_explain(FILE *f, const struct explanation *x, const char *command, const char *version);

/* text.c: the shaded tokens, in blocks that a browser lays out when they come into sight. */
void page_text(FILE *f, const struct explanation *x);

#endif
