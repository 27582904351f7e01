/* Explanations as a page: one self-contained HTML file. */
#ifndef REACH_PAGE_EXPLAIN_H
#define REACH_PAGE_EXPLAIN_H

#include "page/explanation.h"

#include <stdio.h>

/* Writes all of it. -1: out of memory; check the stream for write errors. */
int page_explain(FILE *f, const struct explanations *all, const char *command, const char *version);

/* text.c: the shaded tokens, in blocks that a browser lays out when they become visible. */
void page_text(FILE *f, const struct explanation *x);

#endif
