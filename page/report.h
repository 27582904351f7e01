/* What a report of several results is made of: pieces of one file of HTML that needs nothing else, and no script. */
#ifndef REACH_PAGE_REPORT_H
#define REACH_PAGE_REPORT_H

#include <stddef.h>
#include <stdio.h>

/* The page up to its first section, and its end. */
void report_begin(FILE *f, const char *title, const char *version);
void report_end(FILE *f, const char *command, const char *version);
/* An element NAME (`p class=about`) around a text. */
void report_text(FILE *f, const char *name, const char *text);
/* A picture of gnuplot's as part of the page; `number`, of each picture another one, keeps their names apart. */
void report_figure(FILE *f, const char *caption, const char *svg, size_t number);

#endif
