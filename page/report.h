/* Parts of a report on several results: pieces of one self-contained HTML file, without scripts. */
#ifndef REACH_PAGE_REPORT_H
#define REACH_PAGE_REPORT_H

#include <stddef.h>
#include <stdio.h>

/* The page up to its first section, and its end. */
void report_begin(FILE *f, const char *title, const char *version);
void report_end(FILE *f, const char *command, const char *version);
/* An element NAME (`p class=about`) around a text. */
void report_text(FILE *f, const char *name, const char *text);
/* A gnuplot picture in the page; `number`, unique to the picture, keeps their names apart. */
void report_figure(FILE *f, const char *caption, const char *svg, size_t number);

#endif
