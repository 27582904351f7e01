#include "io/checkpoint/checkpoint.h"

#include "io/adapters/adapter.h"
#include "io/checkpoint/index.h"
#include "io/checkpoint/trainer.h"
#include "io/checkpoint/wrappers.h"
#include "io/containers/hdf_tensors.h"
#include "io/containers/llmc.h"
#include "io/containers/safetensors.h"
#include "io/gguf/gguf.h"
#include "io/gguf/read.h"
#include "io/gguf/split.h"
#include "io/system/file.h"
#include "io/tensors/quantised.h"
#include "io/torch/fairseq.h"
#include "io/torch/litgpt.h"
#include "io/torch/meta.h"
#include "io/torch/nanogpt.h"
#include "io/torch/neox.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD_BYTES = 16 };

enum container {
    CONTAINER_UNKNOWN,
    CONTAINER_SAFETENSORS,
    CONTAINER_INDEX,
    CONTAINER_HDF,
    CONTAINER_TORCH,
    CONTAINER_LLMC,
    CONTAINER_GGUF
};

/* The format shown by the file's first bytes. */
static int sniff(enum container *out, const char *path, struct error *e)
{
    unsigned char head[HEAD_BYTES] = "";
    size_t size, at = 0;
    int descriptor = file_open_regular(path, &size, e), result;
    if (descriptor < 0)
        return -1;
    size = size < sizeof head ? size : sizeof head;
    result = file_read_at(descriptor, path, head, size, 0, e);
    close(descriptor);
    while (at < size && memchr(" \t\r\n", head[at], 4))
        at++;
    const int32_t llmc = LLMC_MAGIC;
    *out = CONTAINER_UNKNOWN;
    if (memcmp(head, "\x89HDF\r\n\x1a\n", 8) == 0)
        *out = CONTAINER_HDF;
    else if (memcmp(head, "PK\3\4", 4) == 0 || memcmp(head, "\x80\x02\x8a\x0a\x6c\xfc", 6) == 0)
        *out = CONTAINER_TORCH;
    else if (memcmp(head, &llmc, sizeof llmc) == 0)
        *out = CONTAINER_LLMC;
    else if (memcmp(head, GGUF_MAGIC, 4) == 0)
        *out = CONTAINER_GGUF;
    else if (size > 8 && memcmp(head + 4, "\0\0\0", 4) == 0 && memchr("{ \t\r\n", head[8], 5))
        *out = CONTAINER_SAFETENSORS;
    else if (at < size && head[at] == '{')
        *out = CONTAINER_INDEX;
    return result;
}

/* An unknown format; a file named like a known one gets a message about what is wrong with it. */
static int refuse(struct tensors *t, const struct mapped *file, struct error *e)
{
    size_t length = strlen(file->path);
    if (length > 12 && strcmp(file->path + length - 12, ".safetensors") == 0 &&
        safetensors_read(t, file, e))
        return -1;
    return fail(e,
                "%s: is not a checkpoint: its first bytes are of no known format (expected "
                "safetensors, a file of torch.save, "
                "HDF5, GGUF, or llm.c's GPT-2)",
                file->path);
}

/* A file of torch.save: fairseq's, nanoGPT's, or a state dict. */
static int read_torch(struct tensors *t, const struct mapped *file, struct config **own,
                      struct error *e)
{
    struct torch_file f;
    if (torch_open_memory(&f, file->path, file->bytes, file->size, e))
        return -1;
    int result = own && fairseq_recognize(&f)   ? fairseq_read(t, file, &f, own, e)
                 : own && nanogpt_recognize(&f) ? nanogpt_read(t, file, &f, own, e)
                                                : torch_read(t, file, &f, e);
    torch_close(&f);
    return result;
}

/* A file of tensors: a shard, or (own not NULL) the whole checkpoint. */
static int read_file(struct tensors *t, const char *path, struct config **own, struct error *e)
{
    enum container container;
    if (sniff(&container, path, e))
        return -1;
    const struct mapped *file = store_map(t, path, e);
    if (!file)
        return -1;
    if (container == CONTAINER_SAFETENSORS)
        return safetensors_read(t, file, e);
    if (container == CONTAINER_TORCH)
        return read_torch(t, file, own, e);
    if (container == CONTAINER_HDF && own)
        return hdf_tensors_read(t, file, own, e);
    if (container == CONTAINER_LLMC && own)
        return llmc_read(t, file, own, e);
    if (container == CONTAINER_GGUF && own)
        return gguf_read(t, file, own, e);
    return refuse(t, file, e);
}

static int read_shard(struct tensors *t, const char *path, struct error *e)
{
    if (access(path, F_OK))
        return fail(e, "%s: is missing (the index beside it lists it)", path);
    return read_file(t, path, NULL, e);
}

/* 1 if the file is a part of what only its folder is. */
static int refuse_part(const char *path, struct error *e)
{
    const char *name = path_base(path), *dot = strrchr(name, '.');
    char *folder = name > path ? strndup(path, (size_t)(name - path)) : strdup(".");
    int part = folder && dot && strcmp(dot, ".pth") == 0 &&
               ((strncmp(name, "consolidated.", 13) == 0 && path_exists(folder, "params.json")) ||
                (strcmp(name, "lit_model.pth") == 0 && path_exists(folder, "model_config.yaml")));
    free(folder);
    if (part)
        fail(e, "%s: is a part of the model in its folder (expected the folder as the path)", path);
    return part;
}

/* A single file for the whole checkpoint: an index, or tensors. */
static int read_single(struct tensors *t, const char *path, struct config **own, struct error *e)
{
    enum container container;
    if (sniff(&container, path, e))
        return -1;
    if (container == CONTAINER_INDEX)
        return index_read(t, path, read_shard, e);
    if (refuse_part(path, e))
        return -1;
    return read_file(t, path, own, e) || store_finish(t, e) ? -1 : 0;
}

/* 1 if the folder has a file of that name, 0 if not; -1: out of memory. */
static int is_in(const char *folder, const char *name, struct error *e)
{
    char *path = path_join(folder, name, e);
    int there = path ? access(path, F_OK) == 0 : -1;
    free(path);
    return there;
}

static int read_folder(struct tensors *t, const char *folder, struct config **own, struct error *e)
{
    /* a whole file before an index and its shards, which may be from an older save: the order of
     * transformers */
    static const char *const wanted[] = {"model.safetensors", "model.safetensors.index.json",
                                         "pytorch_model.bin", "pytorch_model.bin.index.json"};
    for (int i = 0; i < 4; i++) {
        int there = is_in(folder, wanted[i], e);
        if (there < 0)
            return -1;
        if (!there)
            continue;
        int index = i % 2 == 0 ? is_in(folder, wanted[i + 1], e) : 0;
        if (index > 0)
            store_note(t, "%s is read; %s and its shards, which also exist, are not", wanted[i],
                       wanted[i + 1]);
        char *path = index < 0 ? NULL : path_join(folder, wanted[i], e);
        int result = path ? read_single(t, path, own, e) : -1;
        free(path);
        return result;
    }
    if (path_exists(folder, "pytorch_model_fsdp.bin")) { /* all of it, gathered */
        char *path = path_join(folder, "pytorch_model_fsdp.bin", e);
        int result = path ? read_single(t, path, own, e) : -1;
        free(path);
        return result;
    }
    if (meta_recognize(folder))
        return meta_read(t, folder, own, e) || wrappers_remove(t, e) || meta_complete(t, *own, e)
                   ? -1
                   : 0;
    if (litgpt_recognize(folder))
        return litgpt_read(t, folder, own, e);
    if (trainer_refuse(folder, e))
        return -1;
    if (neox_recognize(folder))
        return neox_read(t, folder, own, e);
    if (adapter_alone(folder, e))
        return -1;
    return fail(e,
                "%s: holds no checkpoint that can be read (expected %s or %s in it, "
                "pytorch_model.bin, params.json with consolidated.00.pth, or a GPT-NeoX directory "
                "with its file latest)",
                folder, wanted[0], wanted[1]);
}

struct tensors *checkpoint_tensors(const char *path, struct config **own, struct error *e)
{
    struct stat st;
    struct tensors *t = NULL;
    *own = NULL;
    if (stat(path, &st)) {
        fail(e, "%s: cannot be opened: %s (expected a checkpoint folder or file)", path,
             strerror(errno));
        return NULL;
    }
    if ((t = store_create(path, e)) &&
        (S_ISDIR(st.st_mode) ? read_folder(t, path, own, e) : read_single(t, path, own, e)) == 0 &&
        wrappers_remove(t, e) == 0)
        return t;
    config_close(*own);
    *own = NULL;
    tensors_close(t);
    return NULL;
}

/* config.json in the folder, or beside the file. */
static struct config *open_config(struct tensors *t, const char *path, struct error *e)
{
    struct stat st;
    struct config *c = NULL;
    char *file = NULL;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        file = path_join(path, "config.json", e);
    else if (asprintf(&file, "%.*sconfig.json", (int)(path_base(path) - path), path) < 0) {
        file = NULL;
        fail_memory(e, (double)strlen(path), "a path");
    }
    if (file && access(file, F_OK))
        fail(e, "%s: has no configuration (expected %s, which says what the tensors are)", path,
             file);
    else if (file && store_watch(t, file, e) == 0)
        c = config_open(file, e);
    free(file);
    return c;
}

int checkpoint_open(struct checkpoint *out, const char *path, struct error *e)
{
    *out = (struct checkpoint){0};
    out->tensors = checkpoint_tensors(path, &out->config, e);
    if (out->tensors && !out->config)
        out->config = open_config(out->tensors, path, e);
    if (out->config && quantised_join(out->tensors, out->config, e) == 0)
        return 0;
    checkpoint_close(out);
    return -1;
}

int checkpoint_widen(struct checkpoint *c, struct error *e)
{
    int described = quantised_method(c->config) != NULL;
    return tensors_widen(c->tensors, e) ||
                   (described && config_remove(c->config, "quantization_config", e))
               ? -1
               : 0;
}

/* The tensor rope_freqs.weight as longrope, with the same divisors for all lengths. */
static int name_divisors(struct checkpoint *c, struct error *e)
{
    const json_t *scaling = json_object_get(config_root(c->config), "rope_scaling");
    const char *type = json_string_value(json_object_get(scaling, "rope_type"));
    struct tensor *stored = tensors_find(c->tensors, "rope_freqs.weight");
    if (!type || strcmp(type, "rope_freqs") != 0 || !stored)
        return 0;
    json_t *divisors = json_array(),
           *length = json_object_get(config_root(c->config), "max_position_embeddings");
    for (size_t i = 0; i < stored->count; i++)
        json_array_append_new(divisors, json_real(element_read(stored->data, stored->type, i)));
    json_t *longrope = json_pack("{s:s, s:O, s:o, s:f, s:f, s:I}", "rope_type", "longrope",
                                 "short_factor", divisors, "long_factor", divisors, "factor", 1.0,
                                 "attention_factor", 1.0, "original_max_position_embeddings",
                                 json_is_integer(length) ? json_integer_value(length)
                                                         : (json_int_t)1);
    if (!longrope)
        return fail(e, "%s: rope_freqs.weight holds what is not a finite number",
                    tensors_path(c->tensors));
    stored->companion = 1;
    store_drop_companions(c->tensors);
    return config_set(c->config, "rope_scaling", longrope, e);
}

int checkpoint_to_library(struct checkpoint *c, struct error *e)
{
    const char *type = json_string_value(json_object_get(config_root(c->config), "model_type"));
    return (type && gguf_split_experts(c->tensors, type, e)) || name_divisors(c, e) ? -1 : 0;
}

void checkpoint_close(struct checkpoint *c)
{
    tensors_close(c->tensors);
    config_close(c->config);
    *c = (struct checkpoint){0};
}

const char *checkpoint_gguf_name(const char *model_type)
{
    return gguf_name_of(model_type);
}
