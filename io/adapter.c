#include "io/adapter.h"

#include "io/adapter_product.h"
#include "io/adapter_settings.h"
#include "io/gguf/gguf.h"
#include "io/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONFIG "adapter_config.json"
#define WEIGHTS "adapter_model.safetensors"
#define PREFIX "base_model.model."

enum { NAME_BYTES = 1024, ALIGNMENT = 64 };

/* An adapter on its way onto a base. */
struct merge {
    struct tensors *base, *adapter;
    const struct mapped *file; /* of the adapter */
    const char *const *transposed;
    struct adapter_settings settings;
    struct product *products;
    size_t count;
    struct error *e;
};

/* -- what belongs to what -- */

/* "a.b" without the end of the name that is `end`; 0: it has another. */
static int module_of(char module[NAME_BYTES + 1], const char *name, const char *end)
{
    size_t length = strlen(name), cut = strlen(end);
    if (length <= cut || strcmp(name + length - cut, end))
        return 0;
    snprintf(module, NAME_BYTES + 1, "%.*s", (int)(length - cut), name);
    return 1;
}

/* The base's tensor MODULE + END. Published files come without the first part of the names (transformer., model.) too. */
static struct tensor *find_base(const struct merge *m, const char *module, const char *end)
{
    char name[2 * NAME_BYTES];
    const char *dot = strchr(module, '.');
    snprintf(name, sizeof name, "%s%s", module, end);
    struct tensor *found = tensors_find(m->base, name);
    if (found || !dot)
        return found;
    snprintf(name, sizeof name, "%s%s", dot + 1, end);
    return tensors_find(m->base, name);
}

/* The tensor of the base that `name` of the adapter is for. */
static struct tensor *target(const struct merge *m, const char *name, const char *module, const char *end)
{
    struct tensor *found = find_base(m, module, end);
    if (!found)
        fail(m->e, "%s: tensor %s is for %s%s, which %s has not", m->file->path, name, module, end, tensors_path(m->base));
    else if (found->stored->kind == STORED_QUANTISED)
        fail(
            m->e,
            "%s: tensor %s is for %s, which %s holds quantised (expected a base that is not; `reach convert --widen` writes one)",
            m->file->path, name, found->name, tensors_path(m->base));
    else
        return found;
    return NULL;
}

static struct tensor *pair(const struct merge *m, const char *name, const char *module, const char *end)
{
    char other[2 * NAME_BYTES];
    snprintf(other, sizeof other, PREFIX "%s%s", module, end);
    struct tensor *found = tensors_find(m->adapter, other);
    if (!found)
        fail(m->e, "%s: tensor %s is without %s", m->file->path, name, other);
    return found;
}

static int is_transposed(const struct merge *m, const char *module)
{
    const char *dot = strrchr(module, '.'), *last = dot ? dot + 1 : module;
    for (const char *const *t = m->transposed; t && *t; t++)
        if (strcmp(*t, last) == 0)
            return 1;
    return 0;
}

/* "[8, 32]" */
static const char *shape_text(char out[64], const struct tensor *t)
{
    size_t at = (size_t)snprintf(out, 64, "[");
    for (int i = 0; i < t->rank && at < 40; i++)
        at += (size_t)snprintf(out + at, 64 - at, "%s%zu", i ? ", " : "", t->shape[i]);
    snprintf(out + at, 64 - at, "]");
    return out;
}

/* -- finding the work -- */

/* A is [rank, in], B [out, rank]. */
static int add_pair(struct merge *m, struct tensor *a, const char *module, const char *end_b, int is_table)
{
    struct tensor *b = pair(m, a->name, module, end_b), *onto = b ? target(m, a->name, module, ".weight") : NULL;
    char text[3][64];
    double scale;
    long rank;
    if (!onto || adapter_settings_of(&rank, &scale, &m->settings, module, m->e))
        return -1;
    int turned = is_table || is_transposed(m, module);
    if (a->rank != 2 || b->rank != 2 || onto->rank != 2 || a->shape[0] != (size_t)rank || b->shape[1] != (size_t)rank ||
        a->shape[1] != onto->shape[turned ? 0 : 1] || b->shape[0] != onto->shape[turned ? 1 : 0])
        return fail(m->e, "%s: tensors %s %s and %s %s do not fit %s %s of the base at rank %ld", m->file->path, a->name,
                    shape_text(text[0], a), end_b, shape_text(text[1], b), onto->name, shape_text(text[2], onto), rank);
    m->products[m->count++] = (struct product){onto, turned ? a : b, turned ? b : a, turned, scale};
    return 0;
}

static int add_bias(struct merge *m, struct tensor *b, const char *module)
{
    struct tensor *onto = pair(m, b->name, module, ".lora_A.weight") ? target(m, b->name, module, ".bias") : NULL;
    double scale;
    long rank;
    if (!onto || adapter_settings_of(&rank, &scale, &m->settings, module, m->e))
        return -1;
    if (!m->settings.has_bias)
        return fail(m->e, "%s: tensor %s is there although lora_bias is false", m->file->path, b->name);
    if (b->rank != 1 || onto->rank != 1 || b->shape[0] != onto->shape[0])
        return fail(m->e, "%s: tensor %s does not fit %s of the base", m->file->path, b->name, onto->name);
    m->products[m->count++] = (struct product){onto, NULL, b, 0, scale};
    return 0;
}

/* A tensor that stands in place of the base's. */
static int replace(struct merge *m, const struct tensor *with, const char *name)
{
    char module[NAME_BYTES + 1], text[2][64];
    const char *end = strrchr(name, '.');
    if (!end)
        end = name + strlen(name);
    snprintf(module, sizeof module, "%.*s", (int)(end - name), name);
    char *layer = strstr(module, ".base_layer");
    if (layer && !layer[strlen(".base_layer")])
        *layer = '\0';
    struct tensor *old = target(m, with->name, module, end);
    if (!old)
        return -1;
    if (old->merged)
        return fail(m->e, "%s: two of its tensors are for %s of the base, the second %s", m->file->path, old->name, with->name);
    if (with->rank != old->rank || memcmp(with->shape, old->shape, (size_t)old->rank * sizeof *old->shape))
        return fail(m->e, "%s: tensor %s is %s, and %s of the base %s (expected the same)", m->file->path, with->name,
                    shape_text(text[0], with), old->name, shape_text(text[1], old));
    store_replace(m->base, old, with, m->file);
    return 0;
}

/* 0, or -1. Tensors that replace others are taken at once, so that products come onto them. */
static int take(struct merge *m, struct tensor *t)
{
    const char *name = t->name + strlen(PREFIX);
    char module[NAME_BYTES + 1];
    if (strncmp(t->name, PREFIX, strlen(PREFIX)))
        return fail(m->e, "%s: tensor %s has no place in an adapter (expected names that begin with " PREFIX ")", m->file->path,
                    t->name);
    if (t->integer)
        return fail(m->e, "%s: tensor %s is stored as %s (expected F64, F32, F16 or BF16)", m->file->path, t->name,
                    t->stored->name);
    if (module_of(module, name, ".lora_A.weight")) {
        char bias[2 * NAME_BYTES];
        snprintf(bias, sizeof bias, "%s.lora_B.bias", module);
        if (m->settings.has_bias && !pair(m, t->name, module, ".lora_B.bias"))
            return -1;
        return add_pair(m, t, module, ".lora_B.weight", 0);
    }
    if (module_of(module, name, ".lora_embedding_A"))
        return add_pair(m, t, module, ".lora_embedding_B", 1);
    if (module_of(module, name, ".lora_B.bias"))
        return add_bias(m, t, module);
    if (module_of(module, name, ".lora_B.weight"))
        return pair(m, t->name, module, ".lora_A.weight") ? 0 : -1;
    if (module_of(module, name, ".lora_embedding_B"))
        return pair(m, t->name, module, ".lora_embedding_A") ? 0 : -1;
    if (strstr(name, "lora_"))
        return fail(m->e, "%s: tensor %s is not supported (expected lora_A and lora_B, of matrices and tables)", m->file->path,
                    t->name);
    return replace(m, t, name);
}

static int by_target(const void *a, const void *b)
{
    const struct product *x = a, *y = b;
    return (x->onto > y->onto) - (x->onto < y->onto);
}

/* Matrices begin where vectors of any set may. */
static size_t aligned(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static int merge_all(struct merge *m)
{
    size_t bytes = 0, at = 0;
    if (m->count)
        qsort(m->products, m->count, sizeof *m->products, by_target);
    for (size_t i = 0; i < m->count; i++) {
        const struct tensor *t = m->products[i].onto;
        size_t own;
        if (i && t == m->products[i - 1].onto)
            return fail(m->e, "%s: two pairs of its tensors are for %s of the base", m->file->path, t->name);
        if (product_bytes(&own, &m->products[i]) || size_add(&bytes, bytes, aligned(own)))
            return fail(m->e, "%s: its matrices have more bytes than can be counted", m->file->path);
    }
    unsigned char *memory = store_spill(m->base, bytes, "merged matrices", m->e);
    for (size_t i = 0; memory && i < m->count; i++) {
        const struct tensor *t = m->products[i].onto;
        if (product_merge(&m->products[i], m->base, m->file, memory + at, m->e))
            return -1;
        at += aligned(t->bytes);
    }
    return memory ? 0 : -1;
}

/* -- the folder -- */

static char *in_folder(const char *folder, const char *name, struct error *e)
{
    char *path;
    if (asprintf(&path, "%s/%s", folder, name) >= 0)
        return path;
    fail_memory(e, (double)strlen(folder), "a path");
    return NULL;
}

static int read_tensors(struct merge *m)
{
    m->adapter = store_create(m->file->path, m->e);
    if (!m->adapter || safetensors_read(m->adapter, m->file, m->e) || store_finish(m->adapter, m->e))
        return -1;
    if (tensors_count(m->adapter) == 0)
        return fail(m->e, "%s: holds no tensors (expected those of an adapter)", m->file->path);
    m->products = calloc(tensors_count(m->adapter), sizeof *m->products);
    return m->products ? 0 : fail_memory(m->e, (double)tensors_count(m->adapter) * sizeof *m->products, "an adapter's tensors");
}

static int merge(struct merge *m)
{
    for (size_t i = 0; i < tensors_count(m->adapter); i++)
        if (take(m, tensors_at(m->adapter, i)))
            return -1;
    return merge_all(m);
}

static int is_gguf(const struct tensors *t)
{
    return store_files(t) && store_file_at(t, 0)->size >= 4 && memcmp(store_file_at(t, 0)->bytes, GGUF_MAGIC, 4) == 0;
}

struct config *adapter_merge(struct tensors *base, const char *folder, const char *const *transposed, struct error *e)
{
    struct merge m = {.base = base, .transposed = transposed, .e = e};
    char *path = in_folder(folder, CONFIG, e), *weights = in_folder(folder, WEIGHTS, e);
    struct config *config = NULL;
    int result = -1;
    if (!path || !weights)
        goto end;
    if (is_gguf(base))
        fail(e, "%s: is for the model it was trained on, and %s is GGUF (expected the folder of that model)", folder,
             tensors_path(base));
    else if (access(path, F_OK))
        fail(e, "%s: holds no adapter (expected a folder with " CONFIG " and " WEIGHTS ")", folder);
    /* the second settles both files and the base's, whose numbers are about to be read */
    else if ((m.file = store_map(base, weights, e)) && store_watch(base, path, e) == 0 && (config = config_open(path, e)) &&
             adapter_settings_read(&m.settings, config, e) == 0 && read_tensors(&m) == 0)
        result = merge(&m);
end:
    if (result) {
        config_close(config);
        config = NULL;
    }
    tensors_close(m.adapter);
    adapter_settings_free(&m.settings);
    free(m.products);
    free(weights);
    free(path);
    return config;
}

int adapter_alone(const char *folder, struct error *e)
{
    char *path = in_folder(folder, CONFIG, e);
    const char *name;
    struct config *config = NULL;
    int result = path ? 0 : -1;
    if (path && access(path, F_OK) == 0)
        result = (config = config_open(path, e)) &&
                         config_string_or(config, "base_model_name_or_path", "its base model", &name, e) == 0
                     ? fail(e, "%s: is an adapter alone (expected %.200s as the model, with --adapter %s)", folder, name, folder)
                     : -1;
    config_close(config);
    free(path);
    return result;
}
