#include "io/torch/meta.h"

#include "io/system/file.h"
#include "io/torch/ranks.h"
#include "io/torch/torch.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMS_BYTES_MAX = 1 << 20 };

static void name_part(char name[32], size_t rank)
{
    snprintf(name, 32, "consolidated.%02zu.pth", rank);
}

/* What torchtune's FullModelMetaCheckpointer makes of all ranks: a file, which older releases name
 * by the epoch; then the last. */
static int name_whole(char name[64], const char *folder)
{
    long last = -1, epoch;
    DIR *d = opendir(folder);
    strcpy(name, "model-00001-of-00001.bin");
    for (struct dirent *entry; d && (entry = readdir(d));) {
        char *rest;
        if (strncmp(entry->d_name, "meta_model_", 11) || !isdigit((unsigned char)entry->d_name[11]))
            continue;
        epoch = strtol(entry->d_name + 11, &rest, 10);
        if (epoch > last && epoch < 1000000 && strcmp(rest, ".pt") == 0)
            last = epoch;
    }
    if (d)
        closedir(d);
    if (last >= 0 && !path_exists(folder, name))
        snprintf(name, 64, "meta_model_%ld.pt", last);
    return path_exists(folder, name);
}

int meta_recognize(const char *folder)
{
    char name[64];
    return path_exists(folder, "params.json") &&
           (path_exists(folder, "consolidated.00.pth") || name_whole(name, folder));
}

/* -- ranks -- */

static int ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* Column-parallel products share rows, row-parallel ones columns. The embedding is shared by
 * columns in Llama 1 and 2, by rows in Llama 3: `hidden` tells them apart. */
static int merge_one(struct ranks *m, const void *hidden)
{
    static const char *const rows[] = {"wq.weight", "wk.weight", "wv.weight",
                                       "w1.weight", "w3.weight", "output.weight"},
                             *const columns[] = {"wo.weight", "w2.weight"};
    const struct tensor *first = m->parts[0];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (ends_with(first->name, rows[i]))
            return ranks_join(m, 0, 1);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (ends_with(first->name, columns[i]))
            return ranks_join(m, 1, 1);
    if (ends_with(first->name, "tok_embeddings.weight") && first->rank == 2)
        return ranks_join(m, first->shape[1] == *(const size_t *)hidden ? 0 : 1, 1);
    return ranks_are_equal(m)
               ? ranks_take_first(m)
               : fail(m->e, "%s: tensor %s differs between model-parallel ranks (expected copies)",
                      m->file->path, first->name);
}

static int read_part(struct tensors *t, const struct mapped *file, struct error *e)
{
    struct torch_file f;
    if (torch_open_memory(&f, file->path, file->bytes, file->size, e))
        return -1;
    int result = torch_read(t, file, &f, e);
    torch_close(&f);
    return result;
}

static int read_ranks(struct tensors *t, const char *folder, size_t count, size_t hidden,
                      struct error *e)
{
    struct tensors *stores[RANKS_MAX] = {NULL};
    const struct mapped *first = NULL;
    int result = -1;
    for (size_t r = 0; r < count; r++) {
        char name[64];
        name_part(name, r);
        if (count == 1 && !path_exists(folder, name) && name_whole(name, folder))
            store_note(t, "%s of torchtune is read", name);
        char *path = path_join(folder, name, e);
        const struct mapped *file = path ? store_map(t, path, e) : NULL;
        int bad = !file || (count > 1 && !(stores[r] = store_create(path, e))) ||
                  read_part(count > 1 ? stores[r] : t, file, e) ||
                  (count > 1 && store_finish(stores[r], e));
        first = r == 0 ? file : first;
        free(path);
        if (bad)
            goto end;
    }
    result = count > 1 ? ranks_merge(t, first, stores, count, merge_one, &hidden, e) : 0;
end:
    for (size_t r = 0; r < count; r++)
        tensors_close(stores[r]);
    return result;
}

/* As many as follow each other in the folder; a gap is an error. */
static int count_ranks(size_t *count, const char *folder, struct error *e)
{
    char name[32];
    for (*count = 0; *count <= RANKS_MAX; ++*count) {
        name_part(name, *count);
        if (!path_exists(folder, name))
            break;
    }
    if (*count > RANKS_MAX)
        return fail(e, "%s: is spread over more than %d files (expected at most that many)", folder,
                    RANKS_MAX);
    for (size_t beyond = *count + 1; beyond <= RANKS_MAX; beyond++) {
        name_part(name, beyond);
        if (path_exists(folder, name)) {
            name_part(name, *count);
            return fail(e, "%s: %s is missing (expected a file for each model-parallel rank)",
                        folder, name);
        }
    }
    *count += *count == 0; /* then torchtune's one file */
    return 0;
}

/* -- settings -- */

/* Settings that are read, or that change no number. */
static const char *const known[] = {"dim",
                                    "n_layers",
                                    "n_heads",
                                    "n_kv_heads",
                                    "vocab_size",
                                    "multiple_of",
                                    "ffn_dim_multiplier",
                                    "norm_eps",
                                    "rope_theta",
                                    "use_scaled_rope",
                                    "max_batch_size",
                                    "max_seq_len"};

static int check_known(struct config *c, struct error *e)
{
    const char *key;
    json_t *value;
    json_object_foreach(config_root(c), key, value)
    {
        size_t i = 0;
        while (i < sizeof known / sizeof *known && strcmp(known[i], key) != 0)
            i++;
        if (i == sizeof known / sizeof *known && !json_is_null(value))
            return fail(e, "%s: %.60s is not supported (expected the settings of Llama 1 to 3)",
                        config_path(c), key);
    }
    return 0;
}

/* The width of the MLP: 8/3 of the model's, times a factor, rounded up to a multiple. */
static int read_inner(long *out, struct config *c, long hidden, struct error *e)
{
    long multiple;
    double factor;
    if (config_int_or(c, "multiple_of", 1, 1 << 20, 256, &multiple, e) ||
        config_real_or(c, "ffn_dim_multiplier", 1e-3, 1e3, 1, &factor, e))
        return -1;
    long inner = (long)(factor * (double)(8 * hidden / 3));
    *out = (inner + multiple - 1) / multiple * multiple;
    return 0;
}

/* params.json as a configuration of Hugging Face's; *hidden: the model's width. */
static json_t *translate(struct config *c, size_t *hidden, struct error *e)
{
    long width, layers, heads, kv_heads, vocabulary, inner;
    double epsilon, theta;
    int scaled;
    if (check_known(c, e) || config_int(c, "dim", 1, 1 << 20, &width, e) ||
        config_int(c, "n_layers", 1, 10000, &layers, e) ||
        config_int(c, "n_heads", 1, 1 << 16, &heads, e) ||
        config_int_or(c, "n_kv_heads", 1, 1 << 16, heads, &kv_heads, e) ||
        config_int_or(c, "vocab_size", -1, 1 << 26, -1, &vocabulary, e) ||
        config_real_or(c, "norm_eps", 0, 1, 1e-5, &epsilon, e) ||
        config_real_or(c, "rope_theta", 1e-6, 1e12, 10000, &theta, e) ||
        config_bool_or(c, "use_scaled_rope", 0, &scaled, e) || read_inner(&inner, c, width, e))
        return NULL;
    *hidden = (size_t)width;
    json_t *out = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:b}", "model_type",
                            "llama_meta", "vocab_size", (json_int_t)vocabulary, "hidden_size",
                            (json_int_t)width, "num_hidden_layers", (json_int_t)layers,
                            "num_attention_heads", (json_int_t)heads, "num_key_value_heads",
                            (json_int_t)kv_heads, "intermediate_size", (json_int_t)inner,
                            "rms_norm_eps", epsilon, "rope_theta", theta, "use_scaled_rope",
                            scaled);
    if (!out)
        fail_memory(e, 1024, config_path(c));
    return out;
}

/* The scaling of rotary positions whose numbers the code has. Meta's files of Llama 3.1, 3.2 and
 * 3.3 say use_scaled_rope alike; 3.2, whose head is its embedding, divides by 32. */
static int complete_scaling(struct tensors *t, struct config *c, int tied, struct error *e)
{
    int scaled;
    if (config_bool_or(c, "use_scaled_rope", 0, &scaled, e) ||
        config_remove(c, "use_scaled_rope", e))
        return -1;
    if (!scaled)
        return 0;
    store_note(t, "use_scaled_rope is read as Llama %s has it, factor %d: the head is %s",
               tied ? "3.2" : "3.1", tied ? 32 : 8, tied ? "the embedding" : "not the embedding");
    return config_set(c, "rope_scaling",
                      json_pack("{s:s, s:f, s:f, s:f, s:i}", "rope_type", "llama3", "factor",
                                tied ? 32.0 : 8.0, "low_freq_factor", 1.0, "high_freq_factor", 4.0,
                                "original_max_position_embeddings", 8192),
                      e);
}

static int are_same(const struct tensor *a, const struct tensor *b)
{
    return a->stored == b->stored && a->rank == b->rank &&
           memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0 &&
           ranks_are_equal(&(struct ranks){.parts = {a, b}, .count = 2});
}

int meta_complete(struct tensors *t, struct config *c, struct error *e)
{
    const struct tensor *table = tensors_find(t, "tok_embeddings.weight"),
                        *head = tensors_find(t, "output.weight");
    long vocabulary;
    if (tensors_find(t, "layers.0.sa_norm.scale"))
        return fail(e,
                    "%s: tensors have torchtune's own names (expected what its "
                    "FullModelMetaCheckpointer or FullModelHFCheckpointer saves)",
                    tensors_path(t));
    if (!table || table->rank != 2 || table->shape[0] > 1 << 26)
        return fail(e, "%s: tensor 'tok_embeddings.weight' is missing or is not a matrix",
                    tensors_path(t));
    if (config_int(c, "vocab_size", -1, 1 << 26, &vocabulary, e) ||
        (vocabulary < 1 &&
         config_set(c, "vocab_size", json_integer((json_int_t)table->shape[0]), e)) ||
        config_set(c, "tie_word_embeddings", json_boolean(!head), e))
        return -1;
    return complete_scaling(t, c, !head || are_same(table, head), e);
}

int meta_read(struct tensors *t, const char *folder, struct config **own, struct error *e)
{
    size_t size, hidden = 0, count;
    char *path = path_join(folder, "params.json", e),
         *text = path && store_watch(t, path, e) == 0
                     ? file_read_whole(path, PARAMS_BYTES_MAX, &size, e)
                     : NULL;
    struct config *params = text ? config_from_text(path, text, size, e) : NULL;
    json_t *out = params ? translate(params, &hidden, e) : NULL;
    int result = out && count_ranks(&count, folder, e) == 0 &&
                         read_ranks(t, folder, count, hidden, e) == 0 && store_finish(t, e) == 0
                     ? 0
                     : -1;
    if (result == 0)
        result = (*own = config_from_json(path, json_incref(out), e)) ? 0 : -1;
    json_decref(out);
    config_close(params);
    free(text);
    free(path);
    return result;
}
