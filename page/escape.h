/* Text from anywhere, made safe for a page. */
#ifndef REACH_PAGE_ESCAPE_H
#define REACH_PAGE_ESCAPE_H

#include <stddef.h>
#include <stdio.h>

/* The page up to the caller's part of <head>. Nothing is loaded from outside; `permitted` is the
 * rule for its own content other than styles. */
void html_begin(FILE *f, const char *version, const char *permitted);
/* UTF-8 for HTML text and attributes. */
void html_text(FILE *f, const char *text);
/* The bytes of a token within a text: invisible characters are spelled out in <u>, a line end is <u
 * class=r></u> and itself. */
void html_piece(FILE *f, const char *bytes, size_t size);

#endif
