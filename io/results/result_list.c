/* The contents of an erf.h5: groups, attributes, and datasets with their shapes and places,
 * checked. Runs in a separate process. */
#include "io/results/result_list.h"

#include "io/formats/hdf.h"

#include <stdlib.h>
#include <string.h>

enum { GROUPS_MAX = 100000 };

const struct result_dataset result_datasets[DATASETS] = {
    [NORM] = {"norm", BY_SEGMENT | BY_POSITION, sizeof(double)},
    [LOGPROB] = {"logprob", BY_SEGMENT, sizeof(double)},
    [STATUS] = {"status", BY_SEGMENT, sizeof(uint8_t)},
    [START] = {"start", BY_SEGMENT | OF_MODEL, sizeof(uint64_t)},
    [S] = {"s", BY_POSITION, sizeof(double)},
    [C] = {"c", BY_POSITION, sizeof(double)},
    [C_LO] = {"c_lo", BY_POSITION, sizeof(double)},
    [C_HI] = {"c_hi", BY_POSITION, sizeof(double)},
    [COMPLETENESS] = {"completeness", BY_SEGMENT | PAIRS | OPTIONAL, sizeof(double)},
    [ATTENTION_HIGH] = {"attention_high", BY_HEAD | BY_POSITION | OPTIONAL | OF_MODEL,
                        sizeof(uint64_t)},
    [ATTENTION_LOW] = {"attention_low", BY_HEAD | BY_POSITION | OPTIONAL | OF_MODEL,
                       sizeof(uint64_t)},
    [LOG_DECAY] = {"log_decay", BY_RECURRENCE | OPTIONAL | OF_MODEL, sizeof(double)},
    [LOG_DECAY_HIGH] = {"log_decay_high", BY_RECURRENCE | OPTIONAL | OF_MODEL, sizeof(uint64_t)},
    [LOG_DECAY_LOW] = {"log_decay_low", BY_RECURRENCE | OPTIONAL | OF_MODEL, sizeof(uint64_t)},
    [TOKENS] = {"tokens", BY_SEGMENT | BY_TOKEN | OPTIONAL | OF_MODEL, sizeof(int32_t)},
    [PIECE_ID] = {"piece_id", BY_PIECE | OPTIONAL | OF_MODEL, sizeof(int32_t)},
    [PIECE_END] = {"piece_end", BY_PIECE | OPTIONAL | OF_MODEL, sizeof(uint64_t)},
    [PIECE_BYTES] = {"piece_bytes", BY_BYTE | OPTIONAL | OF_MODEL, sizeof(uint8_t)},
};

struct lister {
    const char *path;
    size_t file_bytes;
    FILE *out;
    size_t groups;
    const struct result_row *model; /* of the groups inside a model's being listed */
    struct error *e;
};

static void put_text(struct lister *r, const char *text)
{
    uint64_t size = strlen(text);
    fwrite(&size, sizeof size, 1, r->out);
    fwrite(text, 1, size, r->out);
}

/* Writes a required text attribute; NULL in `expected`: any text. */
static int list_text(struct lister *r, hid_t object, const char *name, const char *expected)
{
    char *value = NULL;
    hid_t attribute = H5Aexists(object, name) > 0 ? H5Aopen(object, name, H5P_DEFAULT) : -1;
    if (attribute < 0)
        return fail(r->e, "%s: has no attribute %s (expected a result of reach erf)", r->path,
                    name);
    int result = hdf_attribute_text(&value, attribute, name, r->path, r->e);
    if (result == 0 && !value)
        result = fail(r->e, "%s: attribute %s is not text", r->path, name);
    else if (result == 0 && expected && strcmp(value, expected))
        result = fail(r->e, "%s: has %s '%s' (expected %s)", r->path, name, value, expected);
    else if (result == 0)
        put_text(r, value);
    free(value);
    return result;
}

static herr_t list_attribute(hid_t object, const char *name, const H5A_info_t *info, void *context)
{
    (void)info;
    struct lister *r = context;
    char *value = NULL;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    if (attribute < 0)
        return hdf_fail(r->e, r->path, name);
    int result = hdf_attribute_text(&value, attribute, name, r->path, r->e);
    H5Aclose(attribute);
    if (result == 0 && value && *name) {
        put_text(r, name);
        put_text(r, value);
    }
    free(value);
    return result;
}

/* Checks one dataset of the model and sets its address. Sizes of 0 in the row are set, others must
 * agree. `stored` and `other` are its allowed types; *is_other tells which. */
static int list_dataset(struct lister *r, hid_t group, struct result_row *row, int which,
                        hid_t stored, hid_t other, uint64_t *is_other)
{
    const char *model = row->name, *name = result_datasets[which].name;
    uint64_t *sizes[3], two = 2,
                        length = row->positions + 1; /* norm, with the positions, is first */
    int dimensions = result_datasets[which].dimensions, rank = 0, result = -1;
    char label[sizeof row->name + 16];
    hsize_t dims[3] = {0};
    H5O_info_t info;
    if (dimensions & BY_HEAD)
        sizes[rank++] = &row->layers, sizes[rank++] = &row->heads;
    if (dimensions & BY_RECURRENCE)
        sizes[rank++] = &row->layers, sizes[rank++] = &row->recurrence_heads;
    if (dimensions & BY_SEGMENT)
        sizes[rank++] = &row->segments;
    if (dimensions & BY_POSITION)
        sizes[rank++] = &row->positions;
    if (dimensions & PAIRS)
        sizes[rank++] = &two;
    if (dimensions & BY_TOKEN)
        sizes[rank++] = &length;
    if (dimensions & BY_PIECE)
        sizes[rank++] = &row->pieces;
    if (dimensions & BY_BYTE)
        sizes[rank++] = &row->bytes;
    if (dimensions & OPTIONAL && H5Lexists(group, name, H5P_DEFAULT) <= 0)
        return 0;
    hid_t dataset = hdf_is_hard_link(group, name) ? H5Dopen2(group, name, H5P_DEFAULT) : -1;
    if (dataset < 0)
        return fail(r->e, "%s: %s has no dataset %s (expected a result of reach erf)", r->path,
                    model, name);
    hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    *is_other = H5Tequal(type, other) > 0;
    if (!*is_other && H5Tequal(type, stored) <= 0) {
        fail(r->e, "%s: %s/%s has the wrong element type", r->path, model, name);
        goto end;
    }
    if (H5Sget_simple_extent_ndims(space) != rank ||
        H5Sget_simple_extent_dims(space, dims, NULL) != rank) {
        fail(r->e, "%s: %s/%s has the wrong number of dimensions (expected %d)", r->path, model,
             name, rank);
        goto end;
    }
    for (int i = 0; i < rank; i++) {
        if (dims[i] == 0 || (*sizes[i] && dims[i] != *sizes[i])) {
            fail(r->e, "%s: %s/%s has size %llu (expected %llu)", r->path, model, name,
                 (unsigned long long)dims[i], (unsigned long long)(*sizes[i] ? *sizes[i] : 1));
            goto end;
        }
        *sizes[i] = dims[i];
    }
    if (H5Oget_info(dataset, &info) < 0) {
        hdf_fail(r->e, r->path, name);
        goto end;
    }
    row->address[which] = info.addr;
    snprintf(label, sizeof label, "%s/%s", model, name);
    result = hdf_check_storage(dataset, label, r->path, r->file_bytes, r->e);
end:
    H5Sclose(space);
    H5Tclose(type);
    H5Dclose(dataset);
    return result;
}

/* A group below the model's has the same number of segments; reads its own sizes. */
static int list_datasets(struct lister *r, hid_t group, struct result_row *row)
{
    const hid_t real = H5T_IEEE_F64LE, word = H5T_STD_U64LE, byte = H5T_STD_U8LE,
                id = H5T_STD_I32LE,
                types[DATASETS] = {H5T_IEEE_F32LE, real, byte, word, real, real, real, real, real,
                                   word,           word, real, word, word, id,   id,   word, byte};
    uint64_t unused;
    for (int i = 0; i < DATASETS; i++)
        if ((!row->target || !(result_datasets[i].dimensions & OF_MODEL)) &&
            list_dataset(r, group, row, i, types[i], i == NORM ? real : types[i],
                         i == NORM ? &row->wide : &unused))
            return -1;
    return 0;
}

static int list_attributes(struct lister *r, hid_t group)
{
    hsize_t at = 0;
    unsigned tracked = 0;
    hid_t list = H5Gget_create_plist(group);
    H5Pget_attr_creation_order(list, &tracked);
    H5Pclose(list);
    H5_index_t order = tracked & H5P_CRT_ORDER_INDEXED ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
    if (H5Aiterate2(group, order, H5_ITER_INC, &at, list_attribute, r) < 0)
        return -1;
    put_text(r, "");
    return 0;
}

/* Calls `each` for the links of a group, in order of creation if that is recorded. */
static herr_t iterate(hid_t group, H5L_iterate_t each, struct lister *r)
{
    unsigned tracked = 0;
    hsize_t at = 0;
    hid_t list = H5Gget_create_plist(group);
    H5Pget_link_creation_order(list, &tracked);
    H5Pclose(list);
    return H5Literate(group, tracked & H5P_CRT_ORDER_INDEXED ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME,
                      H5_ITER_INC, &at, each, r);
}

/* The number after `stem` in a name of exactly that form; 0, or -1. */
static int number_behind(const char *name, const char *stem, uint64_t *out)
{
    char again[64];
    size_t length = strlen(stem);
    if (strncmp(name, stem, length) || strlen(name) > 40)
        return -1;
    *out = strtoull(name + length, NULL, 10);
    snprintf(again, sizeof again, "%s%llu", stem, (unsigned long long)*out);
    return strcmp(again, name) ? -1 : 0;
}

/* Lists the contents of the group of a model, target and layer, given by the row. */
static int list_group(struct lister *r, hid_t group, struct result_row *row)
{
    if (r->groups++ >= GROUPS_MAX)
        return fail(r->e, "%s: has more than %d models, targets and layers", r->path, GROUPS_MAX);
    if (list_datasets(r, group, row))
        return -1;
    fwrite(row, sizeof *row, 1, r->out);
    return list_attributes(r, group);
}

static herr_t list_layer(hid_t target, const char *name, const H5L_info_t *info, void *context)
{
    struct lister *r = context;
    struct result_row row = {.target = r->model->target, .segments = r->model->segments};
    if (info->type != H5L_TYPE_HARD || number_behind(name, "layer-", &row.layer))
        return 0;
    hid_t group = H5Gopen2(target, name, H5P_DEFAULT);
    if (group < 0)
        return fail(r->e, "%s: models/%s/target-%llu/%s is not a group", r->path, r->model->name,
                    (unsigned long long)row.target, name);
    memcpy(row.name, r->model->name, sizeof row.name);
    int result = list_group(r, group, &row);
    H5Gclose(group);
    return result;
}

static herr_t list_target(hid_t model, const char *name, const H5L_info_t *info, void *context)
{
    struct lister *r = context;
    const struct result_row *above = r->model;
    struct result_row row = *above;
    if (info->type != H5L_TYPE_HARD || number_behind(name, "target-", &row.target) ||
        row.target == 0)
        return 0;
    hid_t group = H5Gopen2(model, name, H5P_DEFAULT);
    if (group < 0)
        return fail(r->e, "%s: models/%s/%s is not a group", r->path, row.name, name);
    r->model = &row;
    herr_t result = iterate(group, list_layer, r);
    r->model = above;
    H5Gclose(group);
    return result;
}

static herr_t list_model(hid_t models, const char *name, const H5L_info_t *info, void *context)
{
    struct lister *r = context;
    struct result_row row = {0};
    if (info->type != H5L_TYPE_HARD)
        return fail(r->e, "%s: models/%s is a link to elsewhere (expected a group in the file)",
                    r->path, name);
    if (strlen(name) >= sizeof row.name)
        return fail(r->e, "%s: the name of model %.40s... is too long", r->path, name);
    hid_t group = H5Gopen2(models, name, H5P_DEFAULT);
    if (group < 0)
        return fail(r->e, "%s: models/%s is not a group", r->path, name);
    strcpy(row.name, name);
    r->model = &row;
    herr_t result = list_group(r, group, &row) || iterate(group, list_target, r) < 0 ? -1 : 0;
    H5Gclose(group);
    return result;
}

static int list_models(struct lister *r, hid_t file)
{
    hid_t models = hdf_is_hard_link(file, "models") ? H5Gopen2(file, "models", H5P_DEFAULT) : -1;
    if (models < 0)
        return fail(r->e, "%s: has no group models (expected a result of reach erf)", r->path);
    if (iterate(models, list_model, r) < 0)
        return -1;
    return r->groups ? 0 : fail(r->e, "%s: holds no models", r->path);
}

int result_list(FILE *out, void *context, struct error *e)
{
    const struct hdf_file *f = context;
    struct lister r = {.path = f->path, .file_bytes = f->size, .out = out, .e = e};
    hid_t file = hdf_open_descriptor(f->descriptor, f->path, e);
    if (file < 0)
        return -1;
    if (list_text(&r, file, "format", "reach-erf/1") == 0 &&
        list_text(&r, file, "version", NULL) == 0 && list_text(&r, file, "command", NULL) == 0 &&
        list_models(&r, file) == 0)
        return 0;
    return e->text[0] ? -1
                      : hdf_fail(e, f->path, "is damaged"); /* the iterators themselves failed */
}
