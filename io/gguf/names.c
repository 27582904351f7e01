/* Finds architectures and the names of their tensors. */
#include "io/gguf/architecture.h"
#include "io/gguf/read.h"

#include <string.h>

/* Architecture number `index` of the tables, or NULL. */
static const struct architecture *architecture_at(size_t index)
{
    const struct architecture *const tables[] = {gguf_dense,  gguf_mixtures, gguf_convolutions,
                                                 gguf_gemmas, gguf_deltas,   gguf_recurrences,
                                                 gguf_scans};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const struct architecture *a = tables[t]; a->name; a++)
            if (index-- == 0)
                return a;
    return NULL;
}

const char *gguf_name_of(const char *model_type)
{
    const struct architecture *a;
    for (size_t i = 0; (a = architecture_at(i)); i++)
        if (strcmp(a->model_type, model_type) == 0 ||
            (a->other_type && strcmp(a->other_type, model_type) == 0) ||
            (a->with_experts && strcmp(a->with_experts->model_type, model_type) == 0))
            return a->name;
    return "";
}

const struct architecture *architecture_find(struct gguf_text name, const char *path,
                                             struct error *e)
{
    char known[1024] = "";
    const struct architecture *a;
    for (size_t i = 0; (a = architecture_at(i)); i++) {
        if (gguf_is(name, a->name))
            return a;
        strcat(strcat(known, i ? ", " : ""), a->name);
    }
    if (name.text)
        fail(e, "%s: general.architecture '%.*s' is not supported (supported: %s)", path,
             name.size < 60 ? (int)name.size : 60, name.text, known);
    else
        fail(e, "%s: general.architecture is missing (supported: %s)", path, known);
    return NULL;
}

/* 1 if the name without suffix is the row's; *block is its number, in its only spelling. */
static int matches(const char *pattern, const char *text, size_t size, long *block)
{
    const char *mark = strchr(pattern, '#'), *end = text + size;
    size_t before = mark ? (size_t)(mark - pattern) : strlen(pattern);
    *block = -1;
    if (size < before || memcmp(text, pattern, before))
        return 0;
    text += before;
    if (!mark)
        return text == end;
    const char *digits = text;
    for (*block = 0; text < end && *text >= '0' && *text <= '9' && text - digits < 6; text++)
        *block = 10 * *block + (*text - '0');
    return text > digits && (*digits != '0' || text == digits + 1) &&
           (size_t)(end - text) == strlen(mark + 1) &&
           memcmp(text, mark + 1, strlen(mark + 1)) == 0;
}

const struct name_row *architecture_name(const struct gguf_model *m, struct gguf_text name,
                                         long *block, struct gguf_text *suffix)
{
    const char *dot = memrchr(name.text, '.', name.size);
    for (const struct name_row *row = m->names; row->gguf; row++)
        if (row->layout >= LAYOUT_COLUMN && matches(row->gguf, name.text, name.size, block)) {
            *suffix = (struct gguf_text){"weight", strlen("weight")};
            return row;
        }
    if (!dot)
        return NULL;
    *suffix = (struct gguf_text){dot + 1, (size_t)(name.text + name.size - dot - 1)};
    size_t size = gguf_is(*suffix, "scale") ? name.size : (size_t)(dot - name.text);
    if (size < name.size && !gguf_is(*suffix, "weight") && !gguf_is(*suffix, "bias"))
        return NULL;
    for (const struct name_row *row = m->names; row->gguf; row++)
        if (row->layout < LAYOUT_COLUMN && matches(row->gguf, name.text, size, block))
            return row;
    return NULL;
}
