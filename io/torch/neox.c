#include "io/torch/neox.h"

#include "io/order.h"
#include "io/system/file.h"
#include "io/torch/neox_merge.h"
#include "io/torch/torch.h"
#include "io/torch/yaml.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TAG_BYTES_MAX = 255, YAML_BYTES_MAX = 1 << 20, CONFIGS_MAX = 256, NUMBER_DIGITS_MAX = 5 };

/* One file of the model: of a layer, or (layer -1) of the whole model without a pipeline. */
struct part {
    char *path;
    long layer, rank;
};

struct parts {
    struct part *part; /* sorted by layer and rank */
    size_t count;
};

/* Names in a folder. */
struct names {
    char **name;
    size_t count;
};

/* -- folders -- */

static void names_free(struct names *n)
{
    for (size_t i = 0; i < n->count; i++)
        free(n->name[i]);
    free(n->name);
    *n = (struct names){0};
}

/* All names in a folder, sorted. */
static int list_folder(struct names *out, const char *folder, struct error *e)
{
    DIR *d = opendir(folder);
    int result = 0;
    *out = (struct names){0};
    if (!d)
        return fail(e, "%s: cannot be opened: %s", folder, strerror(errno));
    for (struct dirent *entry; result == 0 && (entry = readdir(d));) {
        char **grown = realloc(out->name, (out->count + 1) * sizeof *grown);
        if (grown)
            out->name = grown;
        if (!grown || !(out->name[out->count] = strdup(entry->d_name)))
            result = fail_memory(e, (double)(out->count + 1) * sizeof *grown, folder);
        else
            out->count++;
    }
    closedir(d);
    if (result)
        names_free(out);
    else
        qsort(out->name, out->count, sizeof *out->name, order_texts);
    return result;
}

/* Reads digits at *text and moves past them; -1 when there are none or too many. */
static long read_digits(const char **text)
{
    long value = 0;
    size_t n = strspn(*text, "0123456789");
    if (n == 0 || n > NUMBER_DIGITS_MAX)
        return -1;
    for (size_t i = 0; i < n; i++)
        value = 10 * value + (*text)[i] - '0';
    *text += n;
    return value;
}

static int skip(const char **text, const char *word)
{
    size_t n = strlen(word);
    if (strncmp(*text, word, n))
        return -1;
    *text += n;
    return 0;
}

/* 1 for layer_XX-model_YY-model_states.pt, 2 for mp_rank_YY_model_states.pt, 0 for other names. */
static int parse_name(struct part *out, const char *name)
{
    const char *at = name;
    if (skip(&at, "layer_") == 0)
        return (out->layer = read_digits(&at)) >= 0 && skip(&at, "-model_") == 0 &&
               (out->rank = read_digits(&at)) >= 0 && strcmp(at, "-model_states.pt") == 0;
    out->layer = -1;
    return skip(&at, "mp_rank_") == 0 && (out->rank = read_digits(&at)) >= 0 &&
                   strcmp(at, "_model_states.pt") == 0
               ? 2
               : 0;
}

int neox_recognize(const char *folder)
{
    struct names names;
    struct part part;
    int found = 0;
    if (list_folder(&names, folder, NULL))
        return 0;
    for (size_t i = 0; i < names.count && !found; i++)
        found = strcmp(names.name[i], "latest") == 0 || parse_name(&part, names.name[i]);
    names_free(&names);
    return found;
}

/* The folder with the model's files: `folder`, or the one named in its `latest`. Caller frees. */
static char *find_step(struct tensors *t, const char *folder, struct error *e)
{
    struct part part;
    struct names names;
    int here = 0;
    size_t size;
    if (list_folder(&names, folder, e))
        return NULL;
    for (size_t i = 0; i < names.count && !here; i++)
        here = parse_name(&part, names.name[i]);
    names_free(&names);
    if (here)
        return path_join(folder, "", e);
    char *latest = path_join(folder, "latest", e),
         *tag = latest && store_watch(t, latest, e) == 0
                    ? file_read_whole(latest, TAG_BYTES_MAX, &size, e)
                    : NULL,
         *step = NULL;
    if (tag) {
        while (size && isspace((unsigned char)tag[size - 1]))
            tag[--size] = '\0';
        if (size == 0 || strlen(tag) != size || strchr(tag, '/') || strchr(tag, '\\') ||
            strcmp(tag, ".") == 0 || strstr(tag, ".."))
            fail(e,
                 "%s: '%.200s' is not the name of a folder beside it (expected one such as "
                 "global_step1000)",
                 latest, tag);
        else
            step = path_join(folder, tag, e);
    }
    free(tag);
    free(latest);
    return step;
}

static void parts_free(struct parts *p)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->part[i].path);
    free(p->part);
    *p = (struct parts){0};
}

static int by_layer(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    if (x->layer != y->layer)
        return x->layer < y->layer ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* The model's files: of layers if there are any, else of the whole. Every layer has the ranks 0 ..
 * ranks-1. */
static int list_parts(struct parts *out, size_t *ranks, const char *step, struct error *e)
{
    struct names names;
    int layered = 0, result = -1;
    *out = (struct parts){0};
    if (list_folder(&names, step, e))
        return -1;
    struct part part = {0};
    for (size_t i = 0; i < names.count; i++)
        layered |= parse_name(&part, names.name[i]) == 1;
    out->part = calloc(names.count ? names.count : 1, sizeof *out->part);
    if (!out->part) {
        fail_memory(e, (double)names.count * sizeof *out->part, step);
        goto end;
    }
    for (size_t i = 0; i < names.count; i++) {
        if (parse_name(&part, names.name[i]) != (layered ? 1 : 2))
            continue;
        if (!(part.path = path_join(step, names.name[i], e)))
            goto end;
        out->part[out->count++] = part;
    }
    if (out->count == 0) {
        fail(e,
             "%s: holds no files of a model (expected layer_XX-model_YY-model_states.pt or "
             "mp_rank_YY_model_states.pt)",
             step);
        goto end;
    }
    qsort(out->part, out->count, sizeof *out->part, by_layer);
    for (*ranks = 1; *ranks < out->count && out->part[*ranks].layer == out->part[0].layer; ++*ranks)
        ;
    for (size_t i = 0; i < out->count; i++)
        if (out->part[i].rank != (long)(i % *ranks) ||
            out->part[i].layer != out->part[i - i % *ranks].layer || out->count % *ranks ||
            (i >= *ranks && out->part[i].layer == out->part[i - *ranks].layer)) {
            fail(e,
                 "%s: model-parallel ranks are missing or there twice (expected 0 to %zu of every "
                 "layer)",
                 out->part[i].path, *ranks - 1);
            goto end;
        }
    result = 0;
end:
    names_free(&names);
    if (result)
        parts_free(out);
    return result;
}

/* -- settings -- */

/* A setting that differs between files becomes text that no typed getter takes, and says why. */
static json_t *ambiguous(const json_t *one, const json_t *other, const char *other_name)
{
    char *a = json_dumps(one, JSON_ENCODE_ANY | JSON_COMPACT),
         *b = json_dumps(other, JSON_ENCODE_ANY | JSON_COMPACT);
    json_t *text = a && b ? json_sprintf("ambiguous: %.40s, and %.40s in %s", a, b, other_name)
                          : NULL;
    free(a);
    free(b);
    return text ? text : json_string("ambiguous");
}

/* Adds one file's settings, `-` in the names read as `_`. */
static int add_settings(json_t *all, json_t *file, const char *name, const char *path,
                        struct error *e)
{
    const char *key;
    json_t *value, *own = json_object();
    json_object_foreach(file, key, value)
    {
        char *normal = strdup(key);
        for (char *p = normal; p && *p; p++)
            if (*p == '-')
                *p = '_';
        if (!normal || json_object_set(own, normal, value)) /* the last counts */ {
            free(normal);
            json_decref(own);
            return fail_memory(e, (double)strlen(key), path);
        }
        free(normal);
    }
    json_object_foreach(own, key, value)
    {
        json_t *before = json_object_get(all, key);
        int failed = before && !json_equal(before, value)
                         ? json_object_set_new(all, key, ambiguous(before, value, name))
                         : json_object_set(all, key, value);
        if (failed) {
            json_decref(own);
            return fail_memory(e, (double)strlen(key), path);
        }
    }
    json_decref(own);
    return 0;
}

static int is_yaml(const char *name)
{
    size_t n = strlen(name);
    return *name != '.' && ((n > 4 && strcmp(name + n - 4, ".yml") == 0) ||
                            (n > 5 && strcmp(name + n - 5, ".yaml") == 0));
}

static int read_settings_file(struct tensors *t, json_t *all, const char *folder, const char *name,
                              struct error *e)
{
    size_t size;
    int result = -1;
    char *path = path_join(folder, name, e),
         *text = path && store_watch(t, path, e) == 0
                     ? file_read_whole(path, YAML_BYTES_MAX, &size, e)
                     : NULL;
    json_t *file = text ? yaml_load_memory(path, text, size, e) : NULL;
    if (file)
        result = add_settings(all, file, name, path, e);
    json_decref(file);
    free(text);
    free(path);
    return result;
}

/* The settings in FOLDER/configs, in the order of the files' names. */
static struct config *read_settings(struct tensors *t, const char *folder, struct error *e)
{
    struct names names = {0};
    struct config *c = NULL;
    json_t *all = json_object();
    size_t count = 0;
    if (!all || list_folder(&names, folder, e))
        goto end;
    for (size_t i = 0; i < names.count; i++)
        if (is_yaml(names.name[i]) &&
            (++count > CONFIGS_MAX || read_settings_file(t, all, folder, names.name[i], e))) {
            if (count > CONFIGS_MAX)
                fail(e, "%s: holds more than %d files of settings", folder, CONFIGS_MAX);
            goto end;
        }
    if (count == 0) {
        fail(e, "%s: holds no settings (expected the .yml files that the model was trained from)",
             folder);
        goto end;
    }
    if (json_object_set_new(all, "model_type", json_string("gpt_neox_megatron"))) {
        fail_memory(e, 32, folder);
        goto end;
    }
    c = config_from_json(folder, json_incref(all), e);
end:
    names_free(&names);
    json_decref(all);
    return c;
}

/* configs/ in the step's folder, or beside it. */
static struct config *find_settings(struct tensors *t, const char *step, struct error *e)
{
    struct stat st;
    char *folder = path_join(step, "configs", e);
    struct config *c = NULL;
    if (folder && (stat(folder, &st) || !S_ISDIR(st.st_mode))) {
        char *beside = path_join(step, "../configs", e);
        if (beside && stat(beside, &st) == 0 && S_ISDIR(st.st_mode)) {
            free(folder);
            folder = beside;
        } else {
            free(beside);
            fail(e,
                 "%s: is missing (the position encoding is named only in the .yml files that the "
                 "model was trained from)",
                 folder);
            free(folder);
            return NULL;
        }
    }
    c = folder ? read_settings(t, folder, e) : NULL;
    free(folder);
    return c;
}

/* The settings that decide how ranks are joined. */
static int read_merging(struct neox_settings *out, struct config *c, struct error *e)
{
    static const char *const parallelism[] = {"row", "column", NULL};
    const char *activation;
    long heads, kv_heads;
    if (config_bool_or(c, "gpt_j_residual", 0, &out->sums_row_biases, e) ||
        config_choice_or(c, "output_layer_parallelism", parallelism, 0, &out->head_by_columns, e) ||
        config_string_or(c, "activation", "gelu", &activation, e) ||
        config_int_or(c, "num_attention_heads", 1, 1 << 16, 0, &heads, e) ||
        config_int_or(c, "num_kv_heads", 1, 1 << 16, heads, &kv_heads, e))
        return -1;
    out->gated = strcmp(activation, "geglu") == 0;
    out->grouped = kv_heads != heads;
    return 0;
}

/* -- tensors -- */

/* Adds the tensors of one file to `t`, named sequential.LAYER.KEY. */
static int read_part(struct tensors *t, const struct mapped *file, const struct part *part,
                     struct error *e)
{
    struct torch_file f;
    char prefix[64] = "";
    if (torch_open_memory(&f, file->path, file->bytes, file->size, e))
        return -1;
    const struct pickle_value *dict = f.pickle.root;
    if (part->layer >= 0)
        snprintf(prefix, sizeof prefix, "sequential.%ld.", part->layer);
    else
        dict = pickle_get(dict, "module");
    int result;
    if (!dict || dict->kind != PICKLE_DICT)
        result = fail(e, "%s: holds no dict of tensors%s", file->path,
                      part->layer >= 0 ? "" : " under module");
    else
        result = torch_add_tensors(t, file, &f, dict, prefix, e);
    torch_close(&f);
    return result;
}

/* The ranks of one layer, joined. */
static int read_ranks(struct tensors *t, const struct part *part, size_t ranks,
                      const struct neox_settings *settings, struct error *e)
{
    struct tensors **stores = calloc(ranks, sizeof *stores);
    const struct mapped *first = NULL;
    int result = -1;
    if (!stores)
        return fail_memory(e, (double)ranks * sizeof *stores, part->path);
    for (size_t r = 0; r < ranks; r++) {
        const struct mapped *file = store_map(t, part[r].path, e);
        first = r == 0 ? file : first;
        if (!file || !(stores[r] = store_create(part[r].path, e)) ||
            read_part(stores[r], file, &part[r], e) || store_finish(stores[r], e))
            goto end;
    }
    result = neox_merge(t, first, stores, ranks, settings, e);
end:
    for (size_t r = 0; r < ranks; r++)
        tensors_close(stores[r]);
    free(stores);
    return result;
}

int neox_read(struct tensors *t, const char *folder, struct config **own, struct error *e)
{
    struct parts parts = {0};
    struct neox_settings settings = {0};
    size_t ranks = 1;
    int result = -1;
    char *step = find_step(t, folder, e);
    if (!step || list_parts(&parts, &ranks, step, e) || !(*own = find_settings(t, step, e)) ||
        (ranks > 1 && read_merging(&settings, *own, e)))
        goto end;
    for (size_t i = 0; i < parts.count; i += ranks) {
        const struct mapped *file = ranks == 1 ? store_map(t, parts.part[i].path, e) : NULL;
        if (ranks > 1 ? read_ranks(t, &parts.part[i], ranks, &settings, e)
                      : !file || read_part(t, file, &parts.part[i], e))
            goto end;
    }
    result = store_finish(t, e);
end:
    parts_free(&parts);
    free(step);
    return result;
}
