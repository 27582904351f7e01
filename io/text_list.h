/* Lists of borrowed strings. */
#ifndef REACH_IO_TEXT_LIST_H
#define REACH_IO_TEXT_LIST_H

#include "io/error.h"

/* A list of borrowed strings that grows. */
struct text_list {
    const char **item;
    int count;
};
int text_list_add(struct text_list *l, const char *item, struct error *e) MUST_USE;
void text_list_free(struct text_list *l);

#endif
