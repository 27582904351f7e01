/* Words that are nearly others. */
#ifndef REACH_IO_SPELLING_H
#define REACH_IO_SPELLING_H

#include <stddef.h>

/* The number of edits between `name` and the first `length` characters of `word`; at most 64, which
 * stands for longer words. */
int edit_distance(const char *word, size_t length, const char *name);
enum { NEAR = 2 }; /* a typing error */

#endif
