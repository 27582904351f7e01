/* The contents of an erf.h5, from the report of the listing process. */
#include "io/results/result_list.h"
#include "io/system/confine.h"

#include <stdlib.h>
#include <string.h>

/* The first child's output, read piece by piece. */
struct cursor {
    const char *at;
    size_t left;
    const char *path;
    struct error *e;
};

static int take(struct cursor *c, void *out, size_t size)
{
    if (size > c->left)
        return fail(c->e, "%s: is damaged", c->path);
    memcpy(out, c->at, size);
    c->at += size;
    c->left -= size;
    return 0;
}

/* Caller frees *text. */
static int take_text(struct cursor *c, char **text)
{
    uint64_t size = 0;
    *text = NULL;
    if (take(c, &size, sizeof size))
        return -1;
    if (size > c->left)
        return fail(c->e, "%s: is damaged", c->path);
    if (!(*text = strndup(c->at, size)))
        return fail_memory(c->e, (double)size, c->path);
    c->at += size;
    c->left -= size;
    return 0;
}

static int take_attributes(struct cursor *c, struct result_field *f)
{
    for (;;) {
        char *name, *value;
        if (take_text(c, &name))
            return -1;
        if (*name == '\0') {
            free(name);
            return 0;
        }
        struct result_attribute *grown = take_text(c, &value)
                                             ? NULL
                                             : realloc(f->attributes,
                                                       (f->attribute_count + 1) * sizeof *grown);
        if (!grown) {
            int result = value ? fail_memory(c->e, (double)(f->attribute_count + 1) * sizeof *grown,
                                             "attributes")
                               : -1;
            free(name);
            free(value);
            return result;
        }
        f->attributes = grown;
        f->attributes[f->attribute_count++] = (struct result_attribute){name, value};
    }
}

/* A new model for a main group; for others the last one, after which theirs are listed. */
static struct result_model *model_of(struct result *out, const struct result_row *row)
{
    struct result_model *models, *m;
    if (row->target)
        return out->model_count ? &out->models[out->model_count - 1] : NULL;
    if (!(models = realloc(out->models, (out->model_count + 1) * sizeof *models)))
        return NULL;
    out->models = models;
    m = &models[out->model_count++];
    *m = (struct result_model){.segments = row->segments,
                               .wide = row->wide != 0,
                               .pieces = {.count = row->pieces, .size = row->bytes}};
    if (row->layers)
        m->attention = (struct result_attention){.layers = row->layers,
                                                 .heads = row->heads,
                                                 .recurrence_heads = row->recurrence_heads,
                                                 .positions = row->positions};
    memcpy(m->name, row->name, sizeof m->name);
    m->name[sizeof m->name - 1] = '\0';
    return m;
}

/* All groups without their data. */
static int take_groups(struct result_data *d, struct cursor *c)
{
    struct result *out = d->out;
    while (c->left) {
        struct result_row row;
        if (take(c, &row, sizeof row))
            return -1;
        struct result_model *m = model_of(out, &row);
        struct result_field *fields = m ? realloc(m->fields, (m->field_count + 1) * sizeof *fields)
                                        : NULL;
        if (fields)
            m->fields = fields;
        struct result_group *groups =
            fields ? realloc(d->groups, (d->group_count + 1) * sizeof *groups) : NULL;
        if (!groups)
            return fail_memory(c->e,
                               (double)(d->group_count + 1) * (sizeof *groups + sizeof *fields),
                               "models");
        d->groups = groups;
        d->groups[d->group_count] = (struct result_group){.model = out->model_count - 1,
                                                          .field = m->field_count};
        memcpy(d->groups[d->group_count++].address, row.address, sizeof row.address);
        struct result_field *f = &fields[m->field_count++];
        *f = (struct result_field){.target = row.target ? row.target : row.positions + 1,
                                   .layer = row.layer,
                                   .positions = row.positions};
        if (take_attributes(c, f))
            return -1;
        if (f->target - 1 != f->positions)
            return fail(c->e, "%s: models/%s/target-%zu/layer-%zu has %zu positions (expected %zu)",
                        c->path, m->name, f->target, f->layer, f->positions, f->target - 1);
    }
    return 0;
}

int result_read_heads_of(struct result_data *d, struct error *e)
{
    const char *path = d->file->path;
    char *rows = NULL, *format = NULL;
    size_t size;
    if (confine(&rows, &size, result_list, (void *)(uintptr_t)d->file, HDF_MEMORY, HDF_SECONDS,
                path, e))
        return -1;
    struct cursor c = {rows, size, path, e};
    int result = take_text(&c, &format) || take_text(&c, &d->out->version) ||
                         take_text(&c, &d->out->command) || take_groups(d, &c) ||
                         result_understand(d->out, path, e)
                     ? -1
                     : 0;
    free(format);
    free(rows);
    return result;
}
