/* The life of a result. */
#include "io/result.h"

#include "io/confine.h"

#include <stdlib.h>
#include <string.h>

void result_free(struct result *r)
{
    for (size_t i = 0; i < r->model_count; i++) {
        struct result_model *m = &r->models[i];
        for (size_t k = 0; k < m->attribute_count; k++) {
            free((char *)m->attributes[k].name);
            free((char *)m->attributes[k].value);
        }
        free(m->attributes);
    }
    confine_memory_free(r->memory, r->memory_bytes);
    free(r->models);
    free(r->version);
    free(r->command);
    *r = (struct result){0};
}

const char *result_attribute(const struct result_model *m, const char *name)
{
    for (size_t i = 0; i < m->attribute_count; i++)
        if (strcmp(m->attributes[i].name, name) == 0)
            return m->attributes[i].value;
    return NULL;
}
