#include "io/text_list.h"

#include <stdlib.h>
#include <string.h>

int text_list_add(struct text_list *l, const char *item, struct error *e)
{
    const char **grown = reallocarray(l->item, (size_t)l->count + 1, sizeof *grown);

    if (!grown)
        return fail(e, "out of memory for the arguments");
    l->item = grown;
    l->item[l->count++] = item;
    return 0;
}

void text_list_free(struct text_list *l)
{
    free(l->item);
    memset(l, 0, sizeof *l);
}
