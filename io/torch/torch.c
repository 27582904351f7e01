#include "io/torch/torch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The globals of state dicts; anything else is kept opaque, and refused if used as a tensor. */
static const struct pickle_global known[] = {
    {"collections", "OrderedDict"},
    {"torch._utils", "_rebuild_tensor_v2"},
    {"torch._utils", "_rebuild_tensor_v3"},
    {"torch._utils", "_rebuild_parameter"},
    {"torch", "Size"},
    {"torch", "FloatStorage"},
    {"torch", "HalfStorage"},
    {"torch", "BFloat16Storage"},
    {"torch", "DoubleStorage"},
    {"torch", "LongStorage"},
    {"torch", "IntStorage"},
    {"torch", "ShortStorage"},
    {"torch", "CharStorage"},
    {"torch", "ByteStorage"},
    {"torch", "BoolStorage"},
    {"torch", "ComplexFloatStorage"},
    {"torch", "ComplexDoubleStorage"},
    {"torch.storage", "UntypedStorage"},
    {"torch", "uint16"},
    {"torch", "uint32"},
    {"torch", "uint64"},
    {"torch", "float8_e4m3fn"},
    {"torch", "float8_e5m2"},
    {"torch", "float8_e4m3fnuz"},
    {"torch", "float8_e5m2fnuz"},
    {"argparse", "Namespace"},
};

/* Classes of storages, and element types of untyped storages, with our name of the type. */
static const struct {
    const char *torch, *stored;
} storage_types[] = {{"FloatStorage", "F32"},
                     {"HalfStorage", "F16"},
                     {"BFloat16Storage", "BF16"},
                     {"DoubleStorage", "F64"},
                     {"LongStorage", "I64"},
                     {"IntStorage", "I32"},
                     {"ShortStorage", "I16"},
                     {"CharStorage", "I8"},
                     {"ByteStorage", "U8"},
                     {"BoolStorage", "BOOL"},
                     {"ComplexFloatStorage", "C64"},
                     {"ComplexDoubleStorage", "C128"},
                     {"uint16", "U16"},
                     {"uint32", "U32"},
                     {"uint64", "U64"},
                     {"float8_e4m3fn", "F8_E4M3"},
                     {"float8_e5m2", "F8_E5M2"},
                     {"float8_e4m3fnuz", "F8_E4M3FNUZ"},
                     {"float8_e5m2fnuz", "F8_E5M2FNUZ"}};

static const struct stored_type *type_of(const struct pickle_value *global)
{
    for (size_t i = 0; i < sizeof storage_types / sizeof *storage_types; i++)
        if (pickle_is_global(global, "torch", storage_types[i].torch))
            return stored_type_find(storage_types[i].stored);
    return NULL;
}

/* -- the zip form -- */

/* The record NAME beside the pickle, in the folder of the first record; NULL if there is none.
 * `folder_size` includes the slash. */
static const struct zip_record *record_named(const struct zip *z, const char *name,
                                             size_t name_size)
{
    const char *slash = z->first ? memchr(z->first->name, '/', z->first->name_length) : NULL;
    if (!slash || name_size > 4096)
        return NULL;
    size_t folder = (size_t)(slash + 1 - z->first->name);
    char *full = malloc(folder + name_size);
    if (!full)
        return NULL;
    memcpy(full, z->first->name, folder);
    memcpy(full + folder, name, name_size);
    const struct zip_record *found = zip_find(z, full, folder + name_size);
    free(full);
    return found;
}

static int check_version(const struct torch_file *f, struct error *e)
{
    const struct zip_record *version = record_named(&f->zip, "version", 7),
                            *order = record_named(&f->zip, "byteorder", 9);
    char text[8] = "";
    if (!version || version->size == 0 || version->size >= sizeof text)
        return fail(
            e, "%s: is a zip archive without the record version (expected what torch.save writes)",
            f->path);
    memcpy(text, version->data, version->size);
    char *end;
    long number = strtol(text, &end, 10);
    if (end == text || (*end && strcmp(end, "\n")) || number < 1 || number > 10)
        return fail(e, "%s: is of version '%.7s' (expected a number from 1 to 10)", f->path, text);
    if (order && (order->size != 6 || memcmp(order->data, "little", 6)))
        return fail(e, "%s: has numbers in the byte order '%.*s' (expected little)", f->path,
                    (int)(order->size < 20 ? order->size : 20), (const char *)order->data);
    return 0;
}

static int open_zip(struct torch_file *f, const unsigned char *bytes, size_t size, struct error *e)
{
    if (zip_open_memory(&f->zip, f->path, bytes, size, e))
        return -1;
    const struct zip_record *object = record_named(&f->zip, "data.pkl", 8);
    if (!object)
        return fail(
            e, "%s: is a zip archive without the record data.pkl (expected what torch.save writes)",
            f->path);
    if (record_named(&f->zip, "constants.pkl", 13))
        return fail(e,
                    "%s: is a TorchScript program (expected a state dict; nothing in a checkpoint "
                    "is ever run)",
                    f->path);
    if (object->size > PICKLE_BYTES_MAX)
        return fail(e, "%s: the pickle data.pkl has %zu bytes (expected at most %d)", f->path,
                    object->size, PICKLE_BYTES_MAX);
    if (check_version(f, e) || zip_check(&f->zip, object, e) ||
        pickle_load_memory(&f->pickle, f->path, "the pickle data.pkl", object->data, object->size,
                           known, sizeof known / sizeof *known, e))
        return -1;
    if (f->pickle.used != object->size)
        return fail(e, "%s: %zu bytes follow the end of the pickle data.pkl", f->path,
                    object->size - f->pickle.used);
    return 0;
}

/* -- the older form -- */

static const unsigned char magic[15] =
    "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19\x2e";

static const struct pickle_value *storage_key(const struct pickle_value *id)
{
    return id->items.item[2];
}

static int compare_text(const struct pickle_value *a, const struct pickle_value *b)
{
    size_t n = a->text.size < b->text.size ? a->text.size : b->text.size;
    int order = memcmp(a->text.bytes, b->text.bytes, n);
    return order ? order : (a->text.size > b->text.size) - (a->text.size < b->text.size);
}

static int by_key(const void *a, const void *b)
{
    const struct torch_storage *x = a, *y = b;
    return compare_text(storage_key(x->id), storage_key(y->id));
}

/* Key and count of a storage's id. The key is text; litgpt writes archives with numbers. */
static int check_id(const struct torch_file *f, const struct pickle_value *id, size_t *count,
                    struct error *e)
{
    const struct pickle_value *key = storage_key(id), *elements = id->items.item[4];
    int numbered = !f->storages && key->kind == PICKLE_INTEGER && key->integer >= 0;
    if ((key->kind != PICKLE_TEXT && !numbered) || elements->kind != PICKLE_INTEGER ||
        elements->integer < 0)
        return fail(e, "%s: a storage has no key in text or no number of elements", f->path);
    *count = (size_t)elements->integer;
    return 0;
}

/* The table of storages used by the object, sorted, each once. */
static int list_storages(struct torch_file *f, struct error *e)
{
    size_t count = f->pickle.storage_count, ignored, kept = 0;
    f->storages = calloc(count ? count : 1, sizeof *f->storages);
    if (!f->storages)
        return fail_memory(e, (double)count * sizeof *f->storages, "the table of storages");
    for (size_t i = 0; i < count; i++) {
        f->storages[i].id = f->pickle.storages[i]->id;
        if (check_id(f, f->storages[i].id, &ignored, e))
            return -1;
    }
    if (count)
        qsort(f->storages, count, sizeof *f->storages, by_key);
    for (size_t i = 0; i < count; i++) {
        const struct pickle_value *id = f->storages[i].id,
                                  *last = kept ? f->storages[kept - 1].id : NULL;
        if (!last || compare_text(storage_key(last), storage_key(id)))
            f->storages[kept++].id = id;
        else if (type_of(last->items.item[1]) != type_of(id->items.item[1]) ||
                 last->items.item[4]->integer != id->items.item[4]->integer)
            return fail(e, "%s: storage %.*s is of two types or sizes", f->path,
                        (int)(storage_key(id)->text.size < 80 ? storage_key(id)->text.size : 80),
                        storage_key(id)->text.bytes);
    }
    f->storage_count = kept;
    return 0;
}

static struct torch_storage *find_storage(const struct torch_file *f, const struct pickle_value *id)
{
    struct torch_storage key = {.id = id};
    return f->storage_count ? bsearch(&key, f->storages, f->storage_count, sizeof key, by_key)
                            : NULL;
}

/* One storage after the pickles: int64 count, then its elements. */
static int place_storage(struct torch_file *f, const struct pickle_value *key,
                         const unsigned char *bytes, size_t size, size_t *at, struct error *e)
{
    struct pickle_value *items[5] = {[2] = (struct pickle_value *)key};
    const struct pickle_value id = {.kind = PICKLE_TUPLE, .items = {.item = items, .count = 5}};
    struct torch_storage *s = key->kind == PICKLE_TEXT ? find_storage(f, &id) : NULL;
    if (!s)
        return fail(e, "%s: lists a storage that no tensor uses", f->path);
    int shown = key->text.size < 80 ? (int)key->text.size : 80;
    const struct stored_type *type = type_of(s->id->items.item[1]);
    size_t count = 0, length;
    int64_t stated;
    if (s->data)
        return fail(e, "%s: lists storage %.*s twice", f->path, shown, key->text.bytes);
    if (!type)
        return fail(e, "%s: storage %.*s is of a type that is not known", f->path, shown,
                    key->text.bytes);
    if (check_id(f, s->id, &count, e))
        return -1;
    if (size - *at < sizeof stated)
        return fail(e, "%s: is cut off before storage %.*s", f->path, shown, key->text.bytes);
    memcpy(&stated, bytes + *at, sizeof stated);
    *at += sizeof stated;
    if (stated < 0 || (size_t)stated != count)
        return fail(e, "%s: storage %.*s states %lld elements (expected %zu)", f->path, shown,
                    key->text.bytes, (long long)stated, count);
    if (size_multiply(&length, count, type->bytes) || length > size - *at)
        return fail(
            e, "%s: storage %.*s claims %zu elements, more than the file holds (it is cut off)",
            f->path, shown, key->text.bytes, count);
    s->data = bytes + *at;
    *at += length;
    return 0;
}

/* The pickles before and after the object: magic number, protocol 1001, the writer's system; keys
 * of the storages. */
static int open_legacy(struct torch_file *f, const unsigned char *bytes, size_t size,
                       struct error *e)
{
    struct pickle p = {0};
    size_t at = sizeof magic;
    int result = -1;
    if (pickle_load_memory(&p, f->path, "the pickle of the protocol", bytes + at, size - at, NULL,
                           0, e))
        return -1;
    if (p.root->kind != PICKLE_INTEGER || p.root->integer != 1001) {
        fail(e, "%s: has a protocol other than 1001", f->path);
        goto end;
    }
    at += p.used;
    pickle_close(&p);
    if (pickle_load_memory(&p, f->path, "the pickle of the system", bytes + at, size - at, NULL, 0,
                           e))
        return -1;
    const struct pickle_value *little = pickle_get(p.root, "little_endian");
    if (!little || little->kind != PICKLE_BOOL || !little->integer) {
        fail(e, "%s: does not say that its numbers are little-endian", f->path);
        goto end;
    }
    at += p.used;
    pickle_close(&p);
    if (pickle_load_memory(&f->pickle, f->path, "the pickle of the object", bytes + at, size - at,
                           known, sizeof known / sizeof *known, e))
        return -1;
    at += f->pickle.used;
    if (list_storages(f, e) || pickle_load_memory(&p, f->path, "the pickle of the storages' keys",
                                                  bytes + at, size - at, NULL, 0, e))
        return -1;
    if (p.root->kind != PICKLE_LIST) {
        fail(e, "%s: has no list of its storages' keys", f->path);
        goto end;
    }
    at += p.used;
    for (size_t i = 0; i < p.root->items.count; i++)
        if (place_storage(f, p.root->items.item[i], bytes, size, &at, e))
            goto end;
    result = at == size ? 0
                        : fail(e, "%s: %zu bytes follow its last storage (expected none)", f->path,
                               size - at);
end:
    pickle_close(&p);
    return result;
}

int torch_open_memory(struct torch_file *out, const char *path, const unsigned char *bytes,
                      size_t size, struct error *e)
{
    *out = (struct torch_file){.path = path};
    int is_legacy = size >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
    if ((is_legacy ? open_legacy : open_zip)(out, bytes, size, e) == 0)
        return 0;
    torch_close(out);
    return -1;
}

void torch_close(struct torch_file *f)
{
    zip_close(&f->zip);
    pickle_close(&f->pickle);
    free(f->storages);
    *f = (struct torch_file){0};
}

/* -- one tensor -- */

/* A tensor's storage: its elements from which a tensor's offset counts. */
struct extent {
    const unsigned char *data;
    size_t bytes;
    const struct stored_type *type; /* NULL: untyped */
};

/* The view of an older storage: (key, first, count) in elements, or None. */
static int apply_view(struct extent *out, const struct torch_file *f, const struct pickle_value *id,
                      const char *name, struct error *e)
{
    const struct pickle_value *view = id->items.count > 5 ? id->items.item[5] : NULL;
    size_t count = out->bytes / out->type->bytes;
    if (!view || view->kind == PICKLE_NONE)
        return 0;
    if (view->kind != PICKLE_TUPLE || view->items.count != 3 ||
        view->items.item[1]->kind != PICKLE_INTEGER ||
        view->items.item[2]->kind != PICKLE_INTEGER || view->items.item[1]->integer < 0 ||
        view->items.item[2]->integer < 0)
        return fail(e, "%s: tensor %s: the view of its storage is malformed", f->path, name);
    size_t first = (size_t)view->items.item[1]->integer,
           length = (size_t)view->items.item[2]->integer;
    if (first > count || length > count - first)
        return fail(e, "%s: tensor %s: the view of its storage goes beyond it", f->path, name);
    out->data += first * out->type->bytes;
    out->bytes = length * out->type->bytes;
    return 0;
}

static int find_extent(struct extent *out, const struct torch_file *f,
                       const struct pickle_value *storage, const char *name, struct error *e)
{
    char text[160], digits[24];
    struct pickle_value number = {.kind = PICKLE_TEXT};
    size_t count = 0, bytes;
    if (storage->kind != PICKLE_STORAGE)
        return fail(e, "%s: tensor %s has %s for a storage", f->path, name,
                    pickle_describe(storage, text));
    const struct pickle_value *id = storage->id, *key = storage_key(id), *class = id->items.item[1];
    int untyped = pickle_is_global(class, "torch.storage", "UntypedStorage");
    out->type = type_of(class);
    if (check_id(f, id, &count, e))
        return -1;
    if (key->kind == PICKLE_INTEGER) {
        number.text.bytes = digits;
        number.text.size = (size_t)snprintf(digits, sizeof digits, "%" PRId64, key->integer);
        key = &number;
    }
    if (!out->type && !untyped)
        return fail(e, "%s: tensor %s: its storage is of type %s, which is not supported", f->path,
                    name, pickle_describe(class, text));
    if (size_multiply(&bytes, count, untyped ? 1 : out->type->bytes))
        return fail(e, "%s: tensor %s: its storage has more bytes than can be counted", f->path,
                    name);
    int shown = key->text.size < 80 ? (int)key->text.size : 80;
    if (f->storages) {
        const struct torch_storage *s = find_storage(f, id);
        if (!s || !s->data)
            return fail(e, "%s: tensor %s: its storage %.*s is not in the file", f->path, name,
                        shown, key->text.bytes);
        *out = (struct extent){s->data, bytes, out->type};
        return apply_view(out, f, id, name, e);
    }
    char record_name[4096 + 8];
    if (key->text.size > 4000)
        return fail(e, "%s: tensor %s: its storage has a key of %zu bytes", f->path, name,
                    key->text.size);
    int length = snprintf(record_name, sizeof record_name, "data/%.*s", (int)key->text.size,
                          key->text.bytes);
    const struct zip_record *record = record_named(&f->zip, record_name, (size_t)length);
    if (!record)
        return fail(e, "%s: tensor %s: its storage %.*s is not in the file", f->path, name, shown,
                    key->text.bytes);
    if (record->size != bytes)
        return fail(e, "%s: tensor %s: its storage %.*s has %zu bytes (expected %zu)", f->path,
                    name, shown, key->text.bytes, record->size, bytes);
    *out = (struct extent){record->data, bytes, out->type};
    return 0;
}

/* A tuple of whole numbers >= 0, or a torch.Size of one. Returns how many, or -1. */
static int read_sizes(size_t out[TENSOR_RANK_MAX], const struct pickle_value *v)
{
    if (pickle_is_object(v, "torch", "Size") && v->object.arguments->items.count == 1)
        v = v->object.arguments->items.item[0];
    if (v->kind != PICKLE_TUPLE || v->items.count > TENSOR_RANK_MAX)
        return -1;
    for (size_t i = 0; i < v->items.count; i++) {
        if (v->items.item[i]->kind != PICKLE_INTEGER || v->items.item[i]->integer < 0)
            return -1;
        out[i] = (size_t)v->items.item[i]->integer;
    }
    return (int)v->items.count;
}

/* Sets data and strides of a tensor whose shape is known. */
static int place_tensor(struct tensor *t, const struct torch_file *f, const struct extent *in,
                        size_t offset, const size_t *stride, struct error *e)
{
    size_t length = in->bytes / t->stored->bytes, last = offset, step;
    memcpy(t->stride, stride, (size_t)t->rank * sizeof *stride);
    t->data = in->data;
    if (t->count == 0)
        return 0;
    for (int i = 0; i < t->rank; i++)
        if (size_multiply(&step, t->shape[i] - 1, stride[i]) || size_add(&last, last, step))
            return fail(e, "%s: tensor %s has strides beyond what can be counted", f->path,
                        t->name);
    if (last >= length)
        return fail(e, "%s: tensor %s reaches element %zu of a storage of %zu", f->path, t->name,
                    last, length);
    if (t->count > length)
        return fail(e,
                    "%s: tensor %s has %zu elements in a storage of %zu (elements that stand for "
                    "several are not supported)",
                    f->path, t->name, t->count, length);
    t->data = in->data + offset * t->stored->bytes;
    return 0;
}

/* The call that makes the tensor itself, inside any Parameter. NULL: not a tensor. */
static const struct pickle_value *tensor_call(const struct pickle_value *v)
{
    if (pickle_is_object(v, "torch._utils", "_rebuild_parameter") &&
        v->object.arguments->items.count == 3 && !v->object.state)
        v = v->object.arguments->items.item[0];
    size_t count = v->kind == PICKLE_OBJECT ? v->object.arguments->items.count : 0;
    int second = pickle_is_object(v, "torch._utils", "_rebuild_tensor_v2") &&
                 (count == 6 || count == 7);
    int third = pickle_is_object(v, "torch._utils", "_rebuild_tensor_v3") &&
                (count == 7 || count == 8);
    return (second || third) && !v->object.state ? v : NULL;
}

int torch_is_tensor(const struct pickle_value *v)
{
    return tensor_call(v) != NULL;
}

/* Fills a named tensor. */
static int read_tensor(struct tensor *t, const struct torch_file *f, const struct pickle_value *v,
                       struct error *e)
{
    char text[160];
    const struct pickle_value *call = tensor_call(v);
    if (!call)
        return fail(e, "%s: tensor %s is %s (expected a tensor)", f->path, t->name,
                    pickle_describe(v, text));
    struct pickle_value **argument = call->object.arguments->items.item;
    struct extent extent;
    size_t shape[TENSOR_RANK_MAX], stride[TENSOR_RANK_MAX];
    if (find_extent(&extent, f, argument[0], t->name, e))
        return -1;
    if (pickle_is_object(call, "torch._utils", "_rebuild_tensor_v3"))
        extent.type = type_of(argument[6]);
    if (!extent.type)
        return fail(e,
                    "%s: tensor %s is of a type that is not supported (expected float64, float32, "
                    "float16 or bfloat16)",
                    f->path, t->name);
    int rank = read_sizes(shape, argument[2]), strides = read_sizes(stride, argument[3]);
    if (rank < 0 || strides != rank || argument[1]->kind != PICKLE_INTEGER ||
        argument[1]->integer < 0)
        return fail(e,
                    "%s: tensor %s has a negative or malformed offset, shape or stride (at most %d "
                    "dimensions)",
                    f->path, t->name, TENSOR_RANK_MAX);
    return store_shape(t, extent.type, rank, shape, f->path, e) ||
                   place_tensor(t, f, &extent, (size_t)argument[1]->integer, stride, e)
               ? -1
               : 0;
}

/* -- state dicts -- */

static int holds_tensor(const struct pickle_value *dict)
{
    for (size_t i = 1; dict && dict->kind == PICKLE_DICT && i < dict->items.count; i += 2)
        if (torch_is_tensor(dict->items.item[i]))
            return 1;
    return 0;
}

const struct pickle_value *torch_state_dict(const struct torch_file *f, struct error *e)
{
    static const char *const places[] = {"model", "module", "state_dict"};
    const struct pickle_value *root = f->pickle.root;
    char text[160];
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (holds_tensor(pickle_get(root, places[i])))
            return pickle_get(root, places[i]);
    if (holds_tensor(root)) {
        if (!f->pickle.first_unknown)
            return root;
        fail(e,
             "%s: names %s, which no state dict needs (a checkpoint is read as data, nothing in it "
             "is ever run)",
             f->path, pickle_describe(f->pickle.first_unknown, text));
        return NULL;
    }
    fail(e,
         "%s: holds %s without tensors (expected a state dict, itself or under model, module or "
         "state_dict; nothing in a "
         "checkpoint is ever run)",
         f->path, pickle_describe(root, text));
    return NULL;
}

int torch_add_tensors(struct tensors *t, const struct mapped *file, const struct torch_file *f,
                      const struct pickle_value *dict, const char *prefix, struct error *e)
{
    char text[160];
    for (size_t i = 0; i < dict->items.count; i += 2) {
        const struct pickle_value *key = dict->items.item[i];
        if (key->kind != PICKLE_TEXT)
            return fail(e, "%s: the name of a tensor is %s (expected text)", f->path,
                        pickle_describe(key, text));
        size_t before = strlen(prefix), length = before + key->text.size;
        char *name = malloc(length + 1);
        if (!name)
            return fail_memory(e, (double)length + 1, "a tensor's name");
        memcpy(name, prefix, before);
        memcpy(name + before, key->text.bytes, key->text.size);
        name[length] = '\0';
        struct tensor *tensor = store_add(t, file, name, length, e);
        free(name);
        if (!tensor || read_tensor(tensor, f, dict->items.item[i + 1], e))
            return -1;
    }
    return 0;
}

int torch_read(struct tensors *t, const struct mapped *file, const struct torch_file *f,
               struct error *e)
{
    const struct pickle_value *dict = torch_state_dict(f, e);
    return dict ? torch_add_tensors(t, file, f, dict, "", e) : -1;
}
