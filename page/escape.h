/* Text from anywhere in a page. */
#ifndef REACH_PAGE_ESCAPE_H
#define REACH_PAGE_ESCAPE_H

#include <stddef.h>
#include <stdio.h>

/* The page up to what stands in <head> of its own. Nothing from outside of it is loaded; `permitted` is the rule for what of its
 * own it may use beside styles. */
void html_begin(FILE *f, const char *version, const char *permitted);
/* UTF-8 for the text and the attributes of HTML. */
void html_text(FILE *f, const char *text);
/* The bytes of a token within a text: what cannot be seen is spelt in <u>, the end of a line is <u class=r></u> and itself. */
void html_piece(FILE *f, const char *bytes, size_t size);

#endif
