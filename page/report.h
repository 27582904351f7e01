/* Parts of a report on several results: pieces of one self-contained HTML file, without scripts. Of
 * what is wider than the window each has a box that scrolls, also by keys. */
#ifndef REACH_PAGE_REPORT_H
#define REACH_PAGE_REPORT_H

#include "page/explanation.h"

#include <stddef.h>
#include <stdio.h>

/* The page up to its first section, and its end. */
void report_begin(FILE *f, const char *title, const char *version);
void report_end(FILE *f, const char *command, const char *version);
/* An element NAME (`p class=about`) around a text. */
void report_text(FILE *f, const char *name, const char *text);
/* A gnuplot picture in the page; `number`, unique to the picture, keeps their names apart. */
void report_figure(FILE *f, const char *caption, const char *svg, size_t number);

/* text.c: the last `most` tokens of a text, shaded, and the target. */
void report_shaded(FILE *f, const struct explanation *x, size_t most);

#endif
