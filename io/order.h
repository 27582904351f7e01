/* Orders of plain values, for qsort and bsearch. */
#ifndef REACH_IO_ORDER_H
#define REACH_IO_ORDER_H

#include <stddef.h>
#include <string.h>

static inline int order_sizes(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

static inline int order_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of pointers to texts. */
static inline int order_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

#endif
