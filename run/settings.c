#include "run/settings.h"

#include <stdlib.h>
#include <string.h>

int settings_add(struct settings *s, const char *name, char *value, struct error *e)
{
    struct setting *grown = value ? reallocarray(s->item, s->count + 1, sizeof *grown) : NULL;

    if (!grown) {
        free(value);
        return fail(e, "out of memory for the settings");
    }
    s->item = grown;
    s->item[s->count++] = (struct setting){name, value};
    return 0;
}

const char *settings_find(const struct settings *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->item[i].name, name) == 0)
            return s->item[i].value;
    return NULL;
}

void settings_free(struct settings *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->item[i].value);
    free(s->item);
    memset(s, 0, sizeof *s);
}
