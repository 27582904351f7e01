/* Which nodes an expression is made of. */
#include "analyze/series/proof/expression.h"

#include <stdlib.h>

static int in_order(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

int *expression_below(int *count, const struct expression_pool *p, const int *root, int roots)
{
    unsigned long *seen = p->seen + 1, walk = ++p->seen[0];
    int capacity = 16, *list = malloc((size_t)capacity * sizeof *list);
    *count = 0;
    for (int i = -1; list && i < *count; i++) { /* the list is what is still to be walked, too */
        const int *next = i < 0 ? root : p->node[list[i]].child;
        int more = i < 0 ? roots : p->node[list[i]].count;
        if (*count + more > capacity) {
            capacity = 2 * (*count + more);
            int *grown = realloc(list, (size_t)capacity * sizeof *grown);
            if (!grown)
                free(list);
            list = grown;
        }
        for (int k = 0; list && k < more; k++)
            if (seen[next[k]] != walk) {
                seen[next[k]] = walk;
                list[(*count)++] = next[k];
            }
    }
    if (list)
        qsort(list, (size_t)*count, sizeof *list, in_order);
    else
        *count = 0;
    return list;
}
