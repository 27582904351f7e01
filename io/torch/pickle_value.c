/* Looking at the values of a pickle. */
#include "io/torch/pickle.h"

#include <stdio.h>
#include <string.h>

int pickle_is_text(const struct pickle_value *v, const char *text)
{
    return v && v->kind == PICKLE_TEXT && v->text.size == strlen(text) &&
           memcmp(v->text.bytes, text, v->text.size) == 0;
}

int pickle_is_global(const struct pickle_value *v, const char *module, const char *name)
{
    return v && v->kind == PICKLE_GLOBAL && v->global.module_size == strlen(module) &&
           v->global.name_size == strlen(name) &&
           memcmp(v->global.module, module, v->global.module_size) == 0 &&
           memcmp(v->global.name, name, v->global.name_size) == 0;
}

int pickle_is_object(const struct pickle_value *v, const char *module, const char *name)
{
    return v && v->kind == PICKLE_OBJECT && pickle_is_global(v->object.callable, module, name);
}

const struct pickle_value *pickle_get(const struct pickle_value *dict, const char *key)
{
    const struct pickle_value *found = NULL;
    for (size_t i = 0; dict && dict->kind == PICKLE_DICT && i < dict->items.count; i += 2)
        if (pickle_is_text(dict->items.item[i], key))
            found = dict->items.item[i + 1];
    return found;
}

const char *pickle_describe(const struct pickle_value *v, char out[160])
{
    static const char *const kinds[] = {[PICKLE_NONE] = "None",
                                        [PICKLE_BOOL] = "True or False",
                                        [PICKLE_INTEGER] = "a whole number",
                                        [PICKLE_LONG] = "a long number",
                                        [PICKLE_REAL] = "a number",
                                        [PICKLE_TEXT] = "text",
                                        [PICKLE_TUPLE] = "a tuple",
                                        [PICKLE_LIST] = "a list",
                                        [PICKLE_DICT] = "a dict",
                                        [PICKLE_SET] = "a set",
                                        [PICKLE_STORAGE] = "a storage"};
    int is_object = v->kind == PICKLE_OBJECT;
    const struct pickle_value *global = is_object ? v->object.callable : v;
    if (global->kind == PICKLE_GLOBAL)
        snprintf(out, 160, "%s%.*s.%.*s%s", is_object ? "the object " : "",
                 (int)(global->global.module_size < 60 ? global->global.module_size : 60),
                 global->global.module,
                 (int)(global->global.name_size < 60 ? global->global.name_size : 60),
                 global->global.name, is_object ? "(...)" : "");
    else
        snprintf(out, 160, "%s", kinds[v->kind]);
    return out;
}
