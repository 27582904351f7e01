/* Targets: containers of tensors. */
#include "tests/fuzz/fuzz.h"
#include "tests/scratch.h"

#include "io/adapters/adapter.h"
#include "io/checkpoint/checkpoint.h"
#include "io/checkpoint/index.h"
#include "io/containers/hdf_tensors.h"
#include "io/containers/llmc.h"
#include "io/containers/safetensors.h"
#include "io/gguf/read.h"
#include "io/tensors/quantised.h"
#include "io/tokenizer/gguf.h"
#include "io/tokenizer/tokenizer.h"
#include "io/torch/fairseq.h"
#include "io/torch/litgpt.h"
#include "io/torch/meta.h"
#include "io/torch/nanogpt.h"
#include "io/torch/neox.h"
#include "io/torch/torch.h"
#include "io/torch/yaml.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A store that one of the readers fills. */
struct reading {
    struct tensors *tensors;
    struct config *own;
    struct error error;
};

static struct reading reading_begin(void)
{
    struct reading r = {.error = {""}};
    r.tensors = store_create("fuzz", &r.error);
    if (!r.tensors)
        abort();
    return r;
}

static int reading_end(struct reading *r, int result)
{
    if (result == 0 && (result = store_finish(r->tensors, &r->error)) == 0)
        fuzz_read_tensors(r->tensors);
    if (result && !r->error.text[0])
        abort(); /* refused without a word */
    config_close(r->own);
    tensors_close(r->tensors);
    return result == 0;
}

static struct mapped in_memory(const uint8_t *data, size_t size)
{
    return (struct mapped){.path = (char *)(uintptr_t) "fuzz",
                           .descriptor = -1,
                           .bytes = data,
                           .size = size};
}

int fuzz_safetensors(const uint8_t *data, size_t size)
{
    struct reading r = reading_begin();
    struct mapped file = in_memory(data, size);
    return reading_end(&r, safetensors_read(r.tensors, &file, &r.error));
}

/* The first part is adapter_config.json, the second adapter_model.safetensors. */
int fuzz_adapter(const uint8_t *data, size_t size)
{
    static const char header[] = "{\"a.fc.weight\":{\"dtype\":\"BF16\",\"shape\":[2,3],\"data_"
                                 "offsets\":[0,12]},\"a.fc.bias\":{\"dtype\":\"F32\","
                                 "\"shape\":["
                                 "2],\"data_offsets\":[12,20]},\"a.table.weight\":{\"dtype\":"
                                 "\"F64\",\"shape\":[3,2],\"data_offsets\":[20,68]},\"c_attn."
                                 "weight\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[68,"
                                 "84]},\"a.count\":{\"dtype\":\"I32\",\"shape\":[1],"
                                 "\"data_offsets\":[84,88]}}";
    static const char *const transposed[] = {"c_attn", NULL};
    unsigned char base[8 + sizeof header - 1 + 88] = {0};
    uint64_t header_bytes = sizeof header - 1;
    memcpy(base, &header_bytes, 8);
    memcpy(base + 8, header, sizeof header - 1);
    struct mapped file = in_memory(base, sizeof base);
    struct reading r = reading_begin();
    struct fuzz_part parts[2];
    fuzz_split(parts, 2, data, size);
    fuzz_write("adapter_config.json", parts[0].data, parts[0].size);
    fuzz_write("adapter_model.safetensors", parts[1].data, parts[1].size);
    if (safetensors_read(r.tensors, &file, &r.error) || store_finish(r.tensors, &r.error))
        abort();
    struct config *c = adapter_merge(r.tensors, fuzz_folder(), transposed, &r.error);
    unlink(scratch_path(
        fuzz_folder(),
        "adapter_config.json")); /* beside the models of other targets it would count */
    if (c)
        fuzz_read_tensors(r.tensors);
    else if (!r.error.text[0])
        abort(); /* refused without a word */
    config_close(c);
    tensors_close(r.tensors);
    return c != NULL;
}

/* config.json and the file of tensors. */
int fuzz_quantised(const uint8_t *data, size_t size)
{
    struct fuzz_part parts[2];
    struct reading r = reading_begin();
    fuzz_split(parts, 2, data, size);
    struct mapped file = in_memory(parts[1].data, parts[1].size);
    r.own = config_from_text("fuzz", (const char *)parts[0].data, parts[0].size, &r.error);
    int result = r.own && safetensors_read(r.tensors, &file, &r.error) == 0 &&
                         store_finish(r.tensors, &r.error) == 0
                     ? 0
                     : -1;
    if (result == 0 && (result = quantised_join(r.tensors, r.own, &r.error)) == 0) {
        fuzz_read_tensors(r.tensors);
        for (size_t i = 0; i < tensors_count(r.tensors); i++)
            tensor_release(tensors_at(r.tensors, i));
    }
    if (result && !r.error.text[0])
        abort();
    config_close(r.own);
    tensors_close(r.tensors);
    return result == 0;
}

int fuzz_llmc(const uint8_t *data, size_t size)
{
    struct reading r = reading_begin();
    struct mapped file = in_memory(data, size);
    return reading_end(&r, llmc_read(r.tensors, &file, &r.own, &r.error));
}

/* A model, its tokenizer, or both. */
int fuzz_gguf(const uint8_t *data, size_t size)
{
    static const char text[] = "Call me Ishmael. 1851\n\n  <|endoftext|>\xC3\xA9";
    struct reading r = reading_begin();
    struct mapped file = in_memory(data, size);
    int taken = reading_end(&r, gguf_read(r.tensors, &file, &r.own, &r.error));
    struct error e = {""};
    struct gguf g;
    struct tokenizer *t = NULL;
    struct ids ids = {0};
    if (gguf_parse(&g, "fuzz", data, size, &e) == 0 && tokenizer_from_gguf(&t, &g, &e) == 0 && t)
        taken |= tokenizer_encode(t, &ids, text, sizeof text - 1, &e) == 0;
    tokenizer_close(t);
    gguf_free(&g);
    free(ids.id);
    return taken;
}

int fuzz_hdf_tensors(const uint8_t *data, size_t size)
{
    struct reading r = reading_begin();
    const struct mapped *file = store_map(r.tensors, fuzz_write("input", data, size), &r.error);
    return reading_end(&r, file ? hdf_tensors_read(r.tensors, file, &r.own, &r.error) : -1);
}

static int no_shard(struct tensors *t, const char *path, struct error *e)
{
    (void)t, (void)path, (void)e;
    return 0;
}

int fuzz_index(const uint8_t *data, size_t size)
{
    struct error e = {""};
    struct tensors *t = store_create("fuzz", &e);
    if (!t)
        abort();
    /* no shard holds anything: an index that is whole is refused for its first tensor */
    int accepted = index_read(t, fuzz_write("input", data, size), no_shard, &e) == 0 ||
                   strstr(e.text, "is not in its shard");
    tensors_close(t);
    return accepted;
}

/* -- torch.save -- */

int fuzz_zip(const uint8_t *data, size_t size)
{
    struct error e = {""};
    struct zip z;
    if (zip_open_memory(&z, "fuzz", data, size, &e))
        return 0;
    unsigned sum = 0;
    for (size_t i = 0; i < z.count; i++) {
        const struct zip_record *record = &z.records[i];
        if (zip_find(&z, record->name, record->name_length) != record)
            abort();
        sum += zip_check(&z, record, &e) == 0;
        sum += record->size ? record->data[0] + record->data[record->size - 1] : 0u;
    }
    zip_close(&z);
    return sum > 0;
}

int fuzz_pickle(const uint8_t *data, size_t size)
{
    static const struct pickle_global known[] = {{"collections", "OrderedDict"},
                                                 {"torch._utils", "_rebuild_tensor_v2"},
                                                 {"torch", "FloatStorage"}};
    struct error e = {""};
    struct pickle p;
    char text[160];
    if (pickle_load_memory(&p, "fuzz", "the pickle", data, size, known,
                           sizeof known / sizeof *known, &e))
        return 0;
    size_t length = strlen(pickle_describe(p.root, text));
    if (p.used > size || (p.first_unknown && !*pickle_describe(p.first_unknown, text)))
        abort();
    for (size_t i = 0; i < p.storage_count; i++)
        length += strlen(pickle_describe(p.storages[i], text));
    if (p.root->kind == PICKLE_DICT)
        for (size_t i = 0; i + 1 < p.root->items.count; i += 2)
            length += pickle_is_text(p.root->items.item[i], "model") +
                      strlen(pickle_describe(p.root->items.item[i + 1], text));
    pickle_close(&p);
    return length > 0;
}

/* Sets the checksums of all records to 0, which stands for none: a changed byte would otherwise
 * change nothing but the message.
 */
static void clear_checksums(uint8_t *data, size_t size)
{
    for (size_t i = 0; i + 20 <= size; i++) {
        if (data[i] != 'P') /* comparing costs much under AddressSanitizer */
            continue;
        if (memcmp(data + i, "PK\3\4", 4) == 0)
            memset(data + i + 14, 0, 4);
        if (memcmp(data + i, "PK\1\2", 4) == 0)
            memset(data + i + 16, 0, 4);
    }
}

int fuzz_torch(const uint8_t *data, size_t size)
{
    struct reading r = reading_begin();
    struct torch_file f;
    uint8_t *copy = (uint8_t *)fuzz_text(data, size);
    clear_checksums(copy, size);
    struct mapped file = in_memory(copy, size);
    int result = torch_open_memory(&f, "fuzz", copy, size, &r.error);
    if (result == 0) {
        result = fairseq_recognize(&f)   ? fairseq_read(r.tensors, &file, &f, &r.own, &r.error)
                 : nanogpt_recognize(&f) ? nanogpt_read(r.tensors, &file, &f, &r.own, &r.error)
                                         : torch_read(r.tensors, &file, &f, &r.error);
        torch_close(&f);
    }
    int accepted = reading_end(&r, result);
    free(copy);
    return accepted;
}

/* The parts of the input as files of a folder that `recognize` must know and `read` reads. */
static int fuzz_folder_of(const char *const *names, size_t files, const uint8_t *data, size_t size,
                          int (*recognize)(const char *folder),
                          int (*read)(struct tensors *t, const char *folder, struct config **own,
                                      struct error *e))
{
    struct fuzz_part parts[4];
    size_t count = fuzz_split(parts, files, data, size);
    struct reading r = reading_begin();
    for (size_t i = 0; i < count; i++) {
        uint8_t *copy = (uint8_t *)fuzz_text(parts[i].data, parts[i].size);
        clear_checksums(copy, parts[i].size);
        fuzz_write(names[i], copy, parts[i].size);
        free(copy);
    }
    int result = recognize(fuzz_folder()) ? read(r.tensors, fuzz_folder(), &r.own, &r.error)
                                          : fail(&r.error, "fuzz: not recognized");
    if (result == 0)
        fuzz_read_tensors(r.tensors);
    config_close(r.own);
    tensors_close(r.tensors);
    for (size_t i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", fuzz_folder(), names[i]);
        unlink(path);
    }
    return result == 0;
}

static int read_whole_meta(struct tensors *t, const char *folder, struct config **own,
                           struct error *e)
{
    return meta_read(t, folder, own, e) || meta_complete(t, *own, e) ? -1 : 0;
}

/* params.json, and the files of two ranks. */
int fuzz_meta(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"params.json", "consolidated.00.pth",
                                        "consolidated.01.pth"};
    return fuzz_folder_of(names, 3, data, size, meta_recognize, read_whole_meta);
}

int fuzz_litgpt(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"model_config.yaml", "lit_model.pth"};
    return fuzz_folder_of(names, 2, data, size, litgpt_recognize, litgpt_read);
}

int fuzz_yaml(const uint8_t *data, size_t size)
{
    struct error e = {""};
    json_t *root = yaml_load_memory("fuzz", (const char *)data, size, &e);
    json_decref(root);
    return root != NULL;
}

/* The first part names files of the checkpoint, one a line; the parts behind it are what is in
 * them. */
int fuzz_neox(const uint8_t *data, size_t size)
{
    enum { FILES = 24, NAME = 64 };
    struct fuzz_part parts[FILES + 1];
    char names[FILES][NAME];
    size_t files = 0, count = fuzz_split(parts, FILES + 1, data, size), at = 0;
    const char *folder = fuzz_folder();
    struct reading r = reading_begin();
    char path[4096];
    snprintf(path, sizeof path, "%s/tag", folder);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/tag/configs", folder);
    mkdir(path, 0700);
    fuzz_write("latest", (const uint8_t *)"tag", 3);
    while (files + 1 < count && at < parts[0].size) {
        char name[NAME - 16] = "";
        size_t length = 0;
        for (; at < parts[0].size && parts[0].data[at] != '\n'; at++)
            if (length + 1 < sizeof name &&
                (isalnum(parts[0].data[at]) || strchr("_-.", parts[0].data[at]) != NULL) &&
                parts[0].data[at])
                name[length++] = (char)parts[0].data[at];
        at++;
        name[length] = '\0';
        if (length < 4 || *name == '.')
            break;
        snprintf(names[files], NAME, "tag/%s%s", strstr(name, ".yml") ? "configs/" : "", name);
        uint8_t *copy = (uint8_t *)fuzz_text(parts[files + 1].data, parts[files + 1].size);
        clear_checksums(copy, parts[files + 1].size);
        fuzz_write(names[files], copy, parts[files + 1].size);
        free(copy);
        files++;
    }
    int result = neox_recognize(folder) ? neox_read(r.tensors, folder, &r.own, &r.error)
                                        : fail(&r.error, "fuzz: not recognized");
    if (result == 0)
        fuzz_read_tensors(r.tensors);
    config_close(r.own);
    tensors_close(r.tensors);
    for (size_t i = 0; i < files; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    return result == 0;
}
