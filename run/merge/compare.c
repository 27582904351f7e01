/* Checks that two shards belong to one run. */
#include "run/command.h"
#include "run/merge/shards.h"

#include <stdlib.h>
#include <string.h>

/* Attributes that may differ between shards of one run. */
static int may_differ(const char *name)
{
    static const char *const names[] = {"path",          "adapter",
                                        "segments",      "excluded",
                                        "interval",      "shard",
                                        "shard_first",   "attention_segments",
                                        "attention_used"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return 1;
    return 0;
}

/* 0 if all attributes of x are in y with the same values. */
static int compare_attributes(const struct shard *a, const struct shard *b, const char *model,
                              const struct result_field *x, const struct result_field *y,
                              struct error *e)
{
    static const char *const causes[] = {"digest",
                                         "tokens_digest"}; /* causes of others, named first */
    enum { CAUSES = sizeof causes / sizeof *causes };

    for (size_t i = 0; i < CAUSES + x->attribute_count; i++) {
        const char *name = i < CAUSES ? causes[i] : x->attributes[i - CAUSES].name,
                   *here = result_attribute(x, name), *there = result_attribute(y, name);

        if (here && !may_differ(name) && (!there || strcmp(here, there) != 0))
            return fail(e, "%s: %s of %s is %.80s, and in %s %.80s (expected shards of one run)",
                        a->folder, name, model, here, b->folder, there ? there : "nothing");
    }
    return 0;
}

static int compare_models(const struct shard *a, const struct shard *b,
                          const struct result_model *x, const struct result_model *y,
                          struct error *e)
{
    if (strcmp(x->name, y->name) != 0)
        return fail(e, "%s: has the model %s where %s has %s (expected shards of one run)",
                    a->folder, x->name, b->folder, y->name);
    for (size_t k = 0; k < x->field_count && k < y->field_count; k++) {
        const struct result_field *f = &x->fields[k], *g = &y->fields[k];

        if (compare_attributes(a, b, x->name, f, g, e) != 0 ||
            compare_attributes(b, a, x->name, g, f, e) != 0)
            return -1;
        if (f->target != g->target || f->layer != g->layer ||
            x->attention.layers != y->attention.layers ||
            x->attention.heads != y->attention.heads ||
            x->attention.recurrence_heads != y->attention.recurrence_heads)
            return fail(e,
                        "%s: holds other targets, layers or attention of %s than %s (expected "
                        "shards of one run)",
                        a->folder, x->name, b->folder);
    }
    return 0;
}

/* Models, targets and layers. */
static size_t count_fields(const struct result *r)
{
    size_t count = 0;

    for (size_t i = 0; i < r->model_count; i++)
        count += r->models[i].field_count;
    return count;
}

int shards_compare(const struct shard *a, const struct shard *b, struct error *e)
{
    const struct result *x = &a->heads, *y = &b->heads;
    char *here, *there;
    int rc;

    if (x->shards != y->shards)
        return fail(e,
                    "%s: is shard %zu of %zu, and %s shard %zu of %zu (expected shards of one run)",
                    a->folder, x->shard, x->shards, b->folder, y->shard, y->shards);
    if (x->shard == y->shard)
        return fail(e, "%s: is shard %zu of %zu, and so is %s (expected each once)", a->folder,
                    x->shard, x->shards, b->folder);
    if (strcmp(x->version, y->version) != 0)
        return fail(e, "%s: was written by reach %.40s, and %s by %.40s (expected one version)",
                    a->folder, x->version, b->folder, y->version);
    for (size_t i = 0; i < x->model_count && i < y->model_count; i++)
        if (compare_models(a, b, &x->models[i], &y->models[i], e) != 0)
            return -1;
    if (count_fields(x) != count_fields(y))
        return fail(
            e, "%s: holds %zu models, targets and layers, and %s %zu (expected shards of one run)",
            a->folder, count_fields(x), b->folder, count_fields(y));
    here = command_options(x->command, e);
    there = here ? command_options(y->command, e) : NULL;
    rc = !there ? -1
         : strcmp(here, there) == 0
             ? 0
             : fail(e, "%s: is of \"%.100s\", and %s of \"%.100s\" (expected shards of one run)",
                    a->folder, here, b->folder, there);
    free(here);
    free(there);
    return rc;
}
