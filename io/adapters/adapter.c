#include "io/adapters/adapter.h"

#include "io/adapters/adapter_folder.h"
#include "io/adapters/adapter_product.h"
#include "io/adapters/adapter_settings.h"
#include "io/containers/safetensors.h"
#include "io/gguf/gguf.h"
#include "io/system/file.h"
#include "io/torch/torch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "base_model.model."
#define MAGNITUDE ".lora_magnitude_vector"
#define ROWS ".token_adapter.trainable_tokens_delta"

enum { NAME_BYTES = 1024, ALIGNMENT = 64 };

/* An adapter being merged onto a base. */
struct merge {
    struct tensors *base, *adapter;
    const struct mapped *file; /* of the adapter */
    const char *const *transposed;
    struct adapter_settings settings;
    struct product *products;
    size_t count;
    double factor; /* on what is added */
    int alone; /* 1: the only adapter, without a factor, so it may do more than add */
    int has_rows; /* a table with rows that were trained by themselves was found */
    struct error *e;
};

/* -- matching names -- */

/* "a.b": the name without the ending `end`; 0: it has another ending. */
static int module_of(char module[NAME_BYTES + 1], const char *name, const char *end)
{
    size_t length = strlen(name), cut = strlen(end);
    if (length <= cut || strcmp(name + length - cut, end))
        return 0;
    snprintf(module, NAME_BYTES + 1, "%.*s", (int)(length - cut), name);
    return 1;
}

/* Parts of names that releases of transformers use in memory, and so in adapters, and others in the
 * files of models; all pairs of a line together, in either direction. `mark`: a part of some name
 * in the files concerned; NULL: any. */
static const struct {
    const char *mark, *pairs[9][2];
} synonyms[] = {
    {NULL, {{"mlp.gate.", "block_sparse_moe.gate."}}},
    {NULL, {{"mlp.router.", "block_sparse_moe.gate."}}},
    {NULL, {{"mlp.gate.", "mlp.router.gate."}}},
    {NULL, {{"block_sparse_moe.router.", "block_sparse_moe.router.layer."}}},
    {NULL, {{"mlp.shared_experts.", "mlp.shared_mlp."}}},
    {NULL, {{"mlp.gate.e_score_correction_bias", "mlp.e_score_correction_bias"}}},
    {NULL, {{"mlp.gate.e_score_correction_bias", "block_sparse_moe.e_score_correction_bias"}}},
    {NULL, {{"mlp.e_score_correction_bias", "block_sparse_moe.e_score_correction_bias"}}},
    {NULL, {{"mlp.e_score_correction_bias", "mlp.expert_bias"}}},
    {NULL, {{"mlp.gate.moe_statics.", "mlp.moe_statics."}}},
    {NULL, {{"lm_head.", "embed_out."}}},
    {"mlp.c_fc_0.", {{"model.embed_tokens.", "transformer.wte."}}}, /* EXAONE's */
    {"mlp.c_fc_0.", {{"model.norm.", "transformer.ln_f."}}},
    {"mlp.c_fc_0.",
     {{"model.layers.", "transformer.h."},
      {"self_attn.", "attn.attention."},
      {"o_proj.", "out_proj."},
      {"input_layernorm.", "ln_1."},
      {"post_attention_layernorm.", "ln_2."},
      {"mlp.gate_proj.", "mlp.c_fc_0."},
      {"mlp.up_proj.", "mlp.c_fc_1."},
      {"mlp.down_proj.", "mlp.c_proj."}}},
};

/* 1 if some name of the base contains that part. */
static int has_part(const struct merge *m, const char *part)
{
    for (size_t i = 0; i < tensors_count(m->base); i++)
        if (strstr(tensors_at(m->base, i)->name, part))
            return 1;
    return 0;
}

/* Replaces the first `from` that begins a part of the name, if any, by `to`. */
static int substitute(char *name, const char *from, const char *to)
{
    char rest[2 * NAME_BYTES];
    size_t before = 0;
    for (char *at = name; (at = strstr(at, from)); at++)
        if (at == name || at[-1] == '.') {
            before = (size_t)(at - name);
            snprintf(rest, sizeof rest, "%s", at + strlen(from));
            snprintf(name + before, 2 * NAME_BYTES - before, "%s%s", to, rest);
            return 1;
        }
    return 0;
}

/* The tensor of that name; published files also omit the first part of names (transformer.,
 * model.). */
static struct tensor *find_named(const struct merge *m, const char *name)
{
    const char *dot = strchr(name, '.');
    struct tensor *found = tensors_find(m->base, name);
    return found || !dot ? found : tensors_find(m->base, dot + 1);
}

/* The base's tensor MODULE + END. */
static struct tensor *find_base(const struct merge *m, const char *module, const char *end)
{
    char name[2 * NAME_BYTES], other[2 * NAME_BYTES];
    snprintf(name, sizeof name, "%s%s", module, end);
    struct tensor *found = find_named(m, name);
    for (size_t i = 0; i < 2 * sizeof synonyms / sizeof *synonyms && !found; i++) {
        const char *const(*line)[2] = synonyms[i / 2].pairs, *mark = synonyms[i / 2].mark;
        int changed = 0, back = i % 2;
        if (mark && (back || !has_part(m, mark)))
            continue;
        strcpy(other, name);
        for (; (*line)[0]; line++)
            changed += substitute(other, (*line)[back], (*line)[!back]);
        found = changed ? find_named(m, other) : NULL;
    }
    return found;
}

/* The tensor of the base for the adapter's `name`. */
static struct tensor *target(const struct merge *m, const char *name, const char *module,
                             const char *end)
{
    struct tensor *found = find_base(m, module, end);
    if (!found)
        fail(m->e, "%s: tensor %s is for %s%s, which %s does not have", m->file->path, name, module,
             end, tensors_path(m->base));
    else if (found->stored->kind == STORED_QUANTISED)
        fail(m->e,
             "%s: tensor %s is for %s, which %s holds quantised (expected a base that is not; "
             "`reach convert --widen` writes one)",
             m->file->path, name, found->name, tensors_path(m->base));
    else
        return found;
    return NULL;
}

static struct tensor *pair(const struct merge *m, const char *name, const char *module,
                           const char *end)
{
    char other[2 * NAME_BYTES];
    snprintf(other, sizeof other, PREFIX "%s%s", module, end);
    struct tensor *found = tensors_find(m->adapter, other);
    if (!found)
        fail(m->e, "%s: tensor %s has no partner %s", m->file->path, name, other);
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

static int check_magnitudes(struct merge *m, const struct product *p)
{
    const struct tensor *t = p->magnitude;
    size_t outputs = p->onto->shape[p->transposed ? 1 : 0];
    return t->rank == 1 && t->shape[0] == outputs
               ? 0
               : fail(m->e, "%s: tensor %s does not have the %zu outputs of %s of the base",
                      m->file->path, t->name, outputs, p->onto->name);
}

/* A is [rank, in], B [out, rank]. */
static int add_pair(struct merge *m, struct tensor *a, const char *module, const char *end_b,
                    int is_table)
{
    struct tensor *b = pair(m, a->name, module, end_b),
                  *onto = b ? target(m, a->name, module, ".weight") : NULL;
    char text[3][64];
    double scale;
    long rank;
    if (!onto || adapter_settings_of(&rank, &scale, &m->settings, module, m->e))
        return -1;
    int turned = is_table || is_transposed(m, module);
    if (a->rank != 2 || b->rank != 2 || onto->rank != 2 || a->shape[0] != (size_t)rank ||
        b->shape[1] != (size_t)rank || a->shape[1] != onto->shape[turned ? 0 : 1] ||
        b->shape[0] != onto->shape[turned ? 1 : 0])
        return fail(m->e, "%s: tensors %s %s and %s %s do not fit %s %s of the base at rank %ld",
                    m->file->path, a->name, shape_text(text[0], a), end_b, shape_text(text[1], b),
                    onto->name, shape_text(text[2], onto), rank);
    struct product p = {.onto = onto,
                        .left = turned ? a : b,
                        .right = turned ? b : a,
                        .transposed = turned,
                        .scale = m->factor * scale};
    if (m->settings.has_magnitudes &&
        (!(p.magnitude = pair(m, a->name, module, MAGNITUDE)) || check_magnitudes(m, &p)))
        return -1;
    m->products[m->count++] = p;
    return 0;
}

/* What does more than add needs the base as it is. */
static int refuse_beside(const struct merge *m, const char *what)
{
    return m->alone ? 0
                    : fail(m->e,
                           "%s: %s is not supported with a factor or another adapter (expected it "
                           "as the only --adapter, without =FACTOR)",
                           m->file->path, what);
}

/* Rows of a table that were trained by themselves. */
static int add_rows(struct merge *m, struct tensor *rows, const char *module)
{
    if (refuse_beside(m, "trainable_token_indices"))
        return -1;
    struct tensor *onto = target(m, rows->name, module, ".weight");
    size_t *index = NULL, count = 0, *kept;
    int result = -1;
    if (!onto || adapter_settings_tokens(&index, &count, &m->settings, module, m->e))
        goto end;
    if (rows->rank != 2 || onto->rank != 2 || rows->shape[0] != count ||
        rows->shape[1] != onto->shape[1]) {
        fail(m->e, "%s: tensor %s does not have a row of %s for each of %zu token ids",
             m->file->path, rows->name, onto->name, count);
        goto end;
    }
    for (size_t i = 0; i < count; i++)
        if (index[i] >= onto->shape[0]) {
            fail(m->e, "%s: token id %zu is not below the %zu rows of %s of the base",
                 m->file->path, index[i], onto->shape[0], onto->name);
            goto end;
        }
    if (!(kept = store_memory(m->base, (count + 1) * sizeof *kept, "token ids", m->e)))
        goto end;
    memcpy(kept, index, count * sizeof *kept);
    m->products[m->count++] = (struct product){.onto = onto, .right = rows, .index = kept};
    m->has_rows = 1;
    result = 0;
end:
    free(index);
    return result;
}

static int add_bias(struct merge *m, struct tensor *b, const char *module)
{
    struct tensor *onto = pair(m, b->name, module, ".lora_A.weight")
                              ? target(m, b->name, module, ".bias")
                              : NULL;
    double scale;
    long rank;
    if (!onto || adapter_settings_of(&rank, &scale, &m->settings, module, m->e))
        return -1;
    if (!m->settings.has_bias)
        return fail(m->e, "%s: tensor %s is there although lora_bias is false", m->file->path,
                    b->name);
    if (b->rank != 1 || onto->rank != 1 || b->shape[0] != onto->shape[0])
        return fail(m->e, "%s: tensor %s does not fit %s of the base", m->file->path, b->name,
                    onto->name);
    m->products[m->count++] =
        (struct product){.onto = onto, .right = b, .scale = m->factor * scale};
    return 0;
}

/* PEFT saves a module that was trained whole as MODULE.REST and, if the vocabulary was resized,
 * also as MODULE.modules_to_save.REST, with the earlier one as MODULE.original_module.REST, which
 * it does not read back. 1: the tensor is such a copy; `name` becomes MODULE.REST. */
static int is_copy(const struct merge *m, char *name)
{
    static const char *const parts[] = {".modules_to_save.", ".original_module."};
    char other[2 * NAME_BYTES];
    for (int i = 0; i < 2; i++) {
        char *at = strstr(name, parts[i]);
        if (!at)
            continue;
        memmove(at + 1, at + strlen(parts[i]), strlen(at + strlen(parts[i])) + 1);
        snprintf(other, sizeof other, PREFIX "%s", name);
        return i || tensors_find_any(m->adapter, other);
    }
    return 0;
}

/* A tensor that replaces the base's. */
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
    if (!old || refuse_beside(m, "a module that was trained whole"))
        return -1;
    if (old->merged)
        return fail(m->e, "%s: two of its tensors are for %s of the base, the second %s",
                    m->file->path, old->name, with->name);
    if (with->rank != old->rank ||
        memcmp(with->shape, old->shape, (size_t)old->rank * sizeof *old->shape)) {
        int resized = with->rank == 2 && old->rank == 2 && with->shape[1] == old->shape[1];
        return fail(m->e, "%s: tensor %s is %s, and %s of the base %s (expected the same%s)",
                    m->file->path, with->name, shape_text(text[0], with), old->name,
                    shape_text(text[1], old),
                    resized ? ": a base whose vocabulary was resized as it was for training" : "");
    }
    store_replace(m->base, old, with, m->file);
    return 0;
}

/* 0, or -1. Takes replacing tensors at once, so that products are added to them. */
static int take(struct merge *m, struct tensor *t)
{
    const char *name = t->name + strlen(PREFIX);
    char module[NAME_BYTES + 1], other[2 * NAME_BYTES];
    if (strncmp(t->name, PREFIX, strlen(PREFIX)))
        return fail(
            m->e,
            "%s: tensor %s has no place in an adapter (expected names that begin with " PREFIX ")",
            m->file->path, t->name);
    if (t->integer)
        return fail(m->e, "%s: tensor %s is stored as %s (expected F64, F32, F16 or BF16)",
                    m->file->path, t->name, t->stored->name);
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
    if (m->settings.has_magnitudes && module_of(module, name, MAGNITUDE)) {
        snprintf(other, sizeof other, PREFIX "%s.lora_embedding_A", module);
        return tensors_find(m->adapter, other) || pair(m, t->name, module, ".lora_A.weight") ? 0
                                                                                             : -1;
    }
    if (module_of(module, name, ROWS))
        return add_rows(m, t, module);
    if (strstr(name, "lora_"))
        return fail(
            m->e,
            "%s: tensor %s is not supported (expected lora_A and lora_B, of matrices and tables)",
            m->file->path, t->name);
    snprintf(module, sizeof module, "%s", name);
    return is_copy(m, module) ? 0 : replace(m, t, module);
}

static int by_target(const void *a, const void *b)
{
    const struct product *x = a, *y = b;
    return (x->onto > y->onto) - (x->onto < y->onto);
}

/* Matrices are aligned for the vectors of any set. */
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
            return fail(m->e, "%s: two pairs of its tensors are for %s of the base", m->file->path,
                        t->name);
        if (product_bytes(&own, &m->products[i]) || size_add(&bytes, bytes, aligned(own)))
            return fail(m->e, "%s: its matrices have more bytes than can be counted",
                        m->file->path);
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

/* safetensors, or what torch.save wrote. */
static int read_file(struct merge *m)
{
    size_t length = strlen(m->file->path), end = strlen(OLDER_WEIGHTS);
    struct torch_file f;
    if (length < end || strcmp(m->file->path + length - end, OLDER_WEIGHTS))
        return safetensors_read(m->adapter, m->file, m->e);
    if (torch_open_memory(&f, m->file->path, m->file->bytes, m->file->size, m->e))
        return -1;
    int result = torch_read(m->adapter, m->file, &f, m->e);
    torch_close(&f);
    return result;
}

static int read_tensors(struct merge *m)
{
    m->adapter = store_create(m->file->path, m->e);
    if (!m->adapter || read_file(m) || store_finish(m->adapter, m->e))
        return -1;
    if (tensors_count(m->adapter) == 0)
        return fail(m->e, "%s: holds no tensors (expected those of an adapter)", m->file->path);
    m->products = calloc(tensors_count(m->adapter), sizeof *m->products);
    return m->products ? 0
                       : fail_memory(m->e, (double)tensors_count(m->adapter) * sizeof *m->products,
                                     "an adapter's tensors");
}

static int merge(struct merge *m)
{
    for (size_t i = 0; i < tensors_count(m->adapter); i++)
        if (take(m, tensors_at(m->adapter, i)))
            return -1;
    if (m->settings.has_tokens && !m->has_rows)
        return fail(m->e,
                    "%s: has no rows for trainable_token_indices (expected a tensor that ends "
                    "in %s)",
                    m->file->path, ROWS);
    return merge_all(m);
}

static int is_gguf(const struct tensors *t)
{
    return store_files(t) && store_file_at(t, 0)->size >= 4 &&
           memcmp(store_file_at(t, 0)->bytes, GGUF_MAGIC, 4) == 0;
}

static struct config *merge_folder(struct tensors *base, const char *folder, const double *factor,
                                   const char *const *transposed, struct error *e)
{
    struct merge m = {.base = base,
                      .transposed = transposed,
                      .factor = factor ? *factor : 1,
                      .alone = !factor,
                      .e = e};
    const char *file = !path_exists(folder, WEIGHTS) && path_exists(folder, OLDER_WEIGHTS)
                           ? OLDER_WEIGHTS
                           : WEIGHTS;
    char *path = adapter_path(folder, CONFIG, e), *weights = adapter_path(folder, file, e);
    struct config *config = NULL;
    int result = -1;
    if (!path || !weights)
        goto end;
    if (is_gguf(base))
        fail(e,
             "%s: is for the model it was trained on, and %s is GGUF (expected the folder of that "
             "model)",
             folder, tensors_path(base));
    else if (access(path, F_OK))
        adapter_fail_folder(folder, e);
    /* the second call settles both files and the base's, before their numbers are read */
    else if ((m.file = store_map(base, weights, e)) && store_watch(base, path, e) == 0 &&
             (config = config_open(path, e)) &&
             adapter_settings_read(&m.settings, config, e) == 0 &&
             (!m.settings.has_magnitudes || refuse_beside(&m, "use_dora") == 0) &&
             read_tensors(&m) == 0)
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

struct config *adapter_merge(struct tensors *base, const char *folder,
                             const char *const *transposed, struct error *e)
{
    return merge_folder(base, folder, NULL, transposed, e);
}

struct config *adapters_merge(struct tensors *base, const struct adapter_list *list,
                              const char *const *transposed, struct error *e)
{
    json_t *all = list->count == 1 && list->part->factor == 1 ? NULL : json_array();
    if (!all)
        return adapter_merge(base, list->part->folder, transposed, e);
    for (int i = 0; i < list->count; i++) {
        const struct adapter_part *p = &list->part[i];
        struct config *c = merge_folder(base, p->folder, &p->factor, transposed, e);
        int bad = !c || (json_array_append_new(all, json_pack("{s:f, s:O}", "factor", p->factor,
                                                              "config", config_root(c))) &&
                         fail_memory(e, 1024, "adapters"));
        config_close(c);
        if (bad) {
            json_decref(all);
            return NULL;
        }
    }
    return config_from_json(list->part->folder, json_pack("{s:o}", "adapters", all), e);
}

void adapter_list_free(struct adapter_list *list)
{
    for (int i = 0; i < list->count; i++)
        free(list->part[i].folder);
    free(list->part);
    *list = (struct adapter_list){0};
}
