#include "io/quantised.h"

#include "io/scaled.h"
#include "io/store.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MOST = 1280 /* a tensor's name and a suffix */, BLOCK_LEAST = 32, BLOCK_MOST = 4096 /* bitsandbytes' */ };

/* A matrix and what belongs to it, on the way to become one tensor. */
struct join {
    struct tensors *tensors;
    struct config *config;
    struct scaled *made; /* of this matrix, then of the next */
    struct tensor *matrix;
    size_t bytes; /* of all its parts */
    struct error *e;
};

static const char *path_of(const struct tensor *t)
{
    return store_file(t)->path;
}

static int ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

static int is_dense(const struct tensor *t)
{
    size_t stride = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        if (t->shape[i] > 1 && t->stride[i] != stride)
            return 0;
        stride *= t->shape[i];
    }
    return 1;
}

static int is_stored_as(const struct tensor *t, const char *type)
{
    return strcmp(t->stored->name, type) == 0;
}

static size_t divide_up(size_t a, size_t b)
{
    return a / b + (a % b != 0);
}

/* The tensor whose name is the first `length` bytes of `stem` with `suffix` behind; NULL if there is none. */
static struct tensor *beside(const struct join *j, const char *stem, size_t length, const char *suffix)
{
    char name[NAME_MOST];
    snprintf(name, sizeof name, "%.*s%s", (int)length, stem, suffix);
    return tensors_find_any(j->tensors, name);
}

/* Makes a tensor a part of the matrix: one that is nothing else, elements side by side. */
static int take(struct join *j, struct tensor *t)
{
    if (t->companion || t == j->matrix || (t->stored->kind == STORED_QUANTISED) || !is_dense(t))
        return fail(j->e, "%s: tensor %s cannot belong to the quantised tensor %s (expected one of its own, row after row)",
                    path_of(t), t->name, j->matrix->name);
    t->companion = 1;
    return size_add(&j->bytes, j->bytes, t->bytes) ? fail(j->e, "%s: more bytes than can be counted", path_of(t)) : 0;
}

/* A part that must be there: of that type, with so many elements. */
static int take_part(const unsigned char **data, struct join *j, size_t length, const char *suffix, const char *type,
                     size_t count)
{
    struct tensor *t = beside(j, j->matrix->name, length, suffix);
    if (!t)
        return fail(j->e, "%s: the quantised tensor %s has no %.*s%s beside it", path_of(j->matrix), j->matrix->name, (int)length,
                    j->matrix->name, suffix);
    if (!is_stored_as(t, type) || t->count != count)
        return fail(j->e, "%s: tensor %s holds %zu elements of %s (expected %zu of %s for %s)", path_of(t), t->name, t->count,
                    t->stored->name, count, type, j->matrix->name);
    *data = t->data;
    return take(j, t);
}

/* Scales below `least` are refused, and what is not finite. */
static int check_scales(const struct join *j, size_t count, float least, const char *expected)
{
    for (size_t i = 0; i < count; i++) {
        float scale = scaled_scale(j->made, i);
        if (!(scale >= least) || !isfinite(scale))
            return fail(j->e, "%s: the quantised tensor %s has the scale %g for its block %zu (expected %s)", path_of(j->matrix),
                        j->matrix->name, (double)scale, i, expected);
    }
    return 0;
}

/* The matrix is from now on of that type and shape, and what `made` says. */
static void become(struct join *j, enum element type, int rank, const size_t *shape, size_t count)
{
    struct tensor *t = j->matrix;
    j->made->codes = t->data;
    t->data = j->made++;
    t->type = type;
    t->stored = stored_type_of(type);
    t->integer = t->used = 0;
    t->count = count;
    t->bytes = j->bytes;
    t->rank = rank;
    size_t stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        t->shape[i] = shape[i];
        t->stride[i] = stride;
        stride *= shape[i];
    }
}

/* -- FP8: NAME of F8_E4M3 and NAME_scale_inv, a scale a block or one -- */

static int block_sizes(size_t size[2], int *whole, struct join *j)
{
    static const char key[] = "quantization_config.weight_block_size";
    json_t *list = config_get(j->config, key), *section = config_get(j->config, "quantization_config");
    size[0] = size[1] = 128; /* the library's default */
    *whole = !list && json_object_get(section, "weight_block_size") != NULL; /* null */
    for (size_t i = 0; list && i < 2; i++) {
        const json_t *one = json_array_get(list, i);
        if (json_array_size(list) != 2 || !json_is_integer(one) || json_integer_value(one) < 1)
            return fail(j->e, "%s: %s is no list of two whole numbers from 1 up", config_path(j->config), key);
        size[i] = (size_t)json_integer_value(one);
    }
    return 0;
}

static int join_fp8(struct join *j)
{
    struct tensor *t = j->matrix, *scales = beside(j, t->name, strlen(t->name), "_scale_inv"), *activation;
    struct scaled *s = j->made;
    size_t size[2], length = strlen(t->name);
    int whole;
    if (!scales)
        return fail(j->e, "%s: tensor %s is stored as F8_E4M3 without %s_scale_inv beside it", path_of(t), t->name, t->name);
    if (block_sizes(size, &whole, j))
        return -1;
    if (t->rank != 2 || !t->count || !is_dense(t))
        return fail(j->e, "%s: tensor %s is stored as F8_E4M3 and is no matrix", path_of(t), t->name);
    for (int i = 0; i < 2 && whole; i++)
        size[i] = t->shape[i];
    size_t down = divide_up(t->shape[0], size[0]), across = divide_up(t->shape[1], size[1]);
    int fits = scales->count == down * across &&
               (whole || (scales->rank == 2 && scales->shape[0] == down && scales->shape[1] == across));
    if (!fits && whole)
        return fail(j->e, "%s: tensor %s has %zu scales (expected one: weight_block_size is null)", path_of(scales), scales->name,
                    scales->count);
    if (!fits)
        return fail(j->e, "%s: tensor %s is no matrix of %zu x %zu scales (expected a scale for %zu x %zu elements of %s)",
                    path_of(scales), scales->name, down, across, size[0], size[1], t->name);
    *s = (struct scaled){
        .scales = scales->data, .columns = t->shape[1], .block_rows = size[0], .block_columns = size[1], .blocks_across = across};
    const char *format = json_string_value(config_get(j->config, "quantization_config.scale_fmt"));
    if (is_stored_as(scales, "F32"))
        s->scale = SCALE_F32;
    else if (is_stored_as(scales, "BF16"))
        s->scale = SCALE_BF16;
    else if (is_stored_as(scales, "F8_E8M0") || (is_stored_as(scales, "U8") && format && strcmp(format, "ue8m0") == 0))
        s->scale = SCALE_E8M0;
    else
        return fail(j->e, "%s: tensor %s is stored as %s (expected F32, BF16 or F8_E8M0 of scales)", path_of(scales),
                    scales->name, scales->stored->name);
    if (take(j, scales) || check_scales(j, down * across, FLT_TRUE_MIN, "a finite number above 0"))
        return -1;
    if (ends_with(t->name, ".weight") && (activation = beside(j, t->name, length - 6, "activation_scale")) && take(j, activation))
        return -1;
    become(j, ELEMENT_FP8, 2, (const size_t[]){t->shape[0], t->shape[1]}, t->count);
    return 0;
}

/* -- bitsandbytes: MODULE.weight of I8 and MODULE.SCB, a scale a row -- */

static int join_int8(struct join *j)
{
    struct tensor *t = j->matrix;
    size_t stem = strlen(t->name) - 6; /* without "weight" */
    const unsigned char *format;
    if (t->rank != 2 || !t->count || !is_dense(t))
        return fail(j->e, "%s: tensor %s has scales of rows (SCB) and is no matrix", path_of(t), t->name);
    *j->made = (struct scaled){.columns = t->shape[1], .block_rows = 1, .block_columns = t->shape[1], .blocks_across = 1};
    if (take_part(&j->made->scales, j, stem, "SCB", "F32", t->shape[0]))
        return -1;
    if (beside(j, t->name, stem, "weight_format")) {
        if (take_part(&format, j, stem, "weight_format", "U8", 1))
            return -1;
        if (*format)
            return fail(j->e, "%s: tensor %.*sweight_format is %d (expected 0, rows)", path_of(t), (int)stem, t->name, *format);
    }
    if (check_scales(j, t->shape[0], 0, "a finite number from 0 up"))
        return -1;
    become(j, ELEMENT_INT8, 2, (const size_t[]){t->shape[0], t->shape[1]}, t->count);
    return 0;
}

/* -- bitsandbytes: NAME of any type holds two codes a byte; NAME.quant_state.bitsandbytes__TYPE is JSON -- */

static int read_block(struct config *state, const char *key, size_t *out, struct error *e)
{
    long size;
    if (config_int(state, key, BLOCK_LEAST, BLOCK_MOST, &size, e))
        return -1;
    if (size & (size - 1))
        return fail(e, "%s: %s is %ld (expected a power of two)", config_path(state), key, size);
    *out = (size_t)size;
    return 0;
}

static int read_state_shape(struct config *state, size_t shape[TENSOR_RANK_MAX], int *rank, size_t *count, struct error *e)
{
    const json_t *list = config_get(state, "shape");
    *rank = (int)json_array_size(list);
    *count = 1;
    if (*rank < 1 || json_array_size(list) > TENSOR_RANK_MAX)
        return fail(e, "%s: shape is no list of 1 to %d sizes", config_path(state), TENSOR_RANK_MAX);
    for (int i = 0; i < *rank; i++) {
        const json_t *size = json_array_get(list, (size_t)i);
        if (!json_is_integer(size) || json_integer_value(size) < 1)
            return fail(e, "%s: shape has a size that is no whole number from 1 up", config_path(state));
        shape[i] = (size_t)json_integer_value(size);
        if (size_multiply(count, *count, shape[i]))
            return fail(e, "%s: shape has more elements than can be counted", config_path(state));
    }
    return 0;
}

/* The 16 numbers are the type's: the package computes with these, whatever the file says. */
static int check_map(struct join *j, size_t length, enum element type)
{
    const unsigned char *map;
    if (take_part(&map, j, length, ".quant_map", "F32", CODES_NF4_FP4))
        return -1;
    for (size_t i = 0; i < CODES_NF4_FP4; i++)
        if (!(fabs(element_read(map, ELEMENT_F32, i) - (double)scaled_codes(type)[i]) <= 1e-6))
            return fail(j->e, "%s: tensor %s.quant_map holds %g at %zu (expected %.9g, as %s has)", path_of(j->matrix),
                        j->matrix->name, element_read(map, ELEMENT_F32, i), i, (double)scaled_codes(type)[i], element_name(type));
    return 0;
}

/* Scales as they are, or as bytes with scales of their own. */
static int read_absmax(struct join *j, size_t length, size_t blocks, struct config *state)
{
    struct scaled *s = j->made;
    const struct tensor *absmax = beside(j, j->matrix->name, length, ".absmax");
    double offset;
    if (!absmax || !is_stored_as(absmax, "U8"))
        return take_part(&s->scales, j, length, ".absmax", "F32", blocks) ||
                       check_scales(j, blocks, 0, "a finite number from 0 up")
                   ? -1
                   : 0;
    s->scale = SCALE_NESTED;
    if (read_block(state, "nested_blocksize", &s->table_block, j->e) ||
        config_real_or(state, "nested_offset", -FLT_MAX, FLT_MAX, 0, &offset, j->e))
        return -1;
    if (!config_has(state, "nested_offset"))
        return fail(j->e, "%s: nested_offset is missing", config_path(state));
    s->table_offset = (float)offset;
    return take_part(&s->scales, j, length, ".absmax", "U8", blocks) ||
                   take_part(&s->table_scales, j, length, ".nested_absmax", "F32", divide_up(blocks, s->table_block)) ||
                   take_part(&s->table, j, length, ".nested_quant_map", "F32", SCALE_TABLE) ||
                   check_scales(j, blocks, -FLT_MAX, "a finite number")
               ? -1
               : 0;
}

static int read_state(struct join *j, size_t length, enum element type, struct config *state)
{
    struct tensor *t = j->matrix;
    const char *name;
    size_t shape[TENSOR_RANK_MAX], count, block;
    int rank;
    if (config_string_or(state, "quant_type", "", &name, j->e) || read_block(state, "blocksize", &block, j->e) ||
        read_state_shape(state, shape, &rank, &count, j->e))
        return -1;
    if (strcmp(name, type == ELEMENT_NF4 ? "nf4" : "fp4") != 0)
        return fail(j->e, "%s: quant_type is '%.40s' (expected that of its name)", config_path(state), name);
    if (t->bytes != divide_up(count, 2))
        return fail(j->e, "%s: tensor %s has %zu bytes of codes (expected %zu for the %zu elements of its shape)", path_of(t),
                    t->name, t->bytes, divide_up(count, 2), count);
    *j->made =
        (struct scaled){.columns = count, .block_rows = 1, .block_columns = block, .blocks_across = divide_up(count, block)};
    if (check_map(j, length, type) || read_absmax(j, length, j->made->blocks_across, state))
        return -1;
    become(j, type, rank, shape, count);
    return 0;
}

static int join_4bit(struct join *j, struct tensor *description, enum element type)
{
    size_t length = strlen(j->matrix->name);
    char title[NAME_MOST + 64];
    if (!is_stored_as(description, "U8") || !is_dense(j->matrix))
        return fail(j->e, "%s: tensor %s is stored as %s (expected U8, text in JSON)", path_of(description), description->name,
                    description->stored->name);
    if (take(j, description))
        return -1;
    snprintf(title, sizeof title, "%s: tensor %s", path_of(description), description->name);
    struct config *state = config_from_text(title, description->data, description->count, j->e);
    int result = state ? read_state(j, length, type, state) : -1;
    config_close(state);
    return result;
}

/* -- all of a checkpoint -- */

const char *quantised_method(struct config *c)
{
    static const char *const methods[] = {"fp8", "bitsandbytes"};
    const json_t *section = json_object_get(config_root(c), "quantization_config");
    const char *method = json_string_value(json_object_get(section, "quant_method"));
    for (int i = 0; method && i < 2; i++)
        if (strcmp(method, methods[i]) == 0)
            return methods[i];
    return NULL;
}

/* The tensor is a quantised matrix: joins it with its parts. 1 where it is none. */
static int join_one(struct join *j, struct tensor *t, int is_fp8)
{
    size_t length = strlen(t->name);
    struct tensor *state;
    j->matrix = t;
    j->bytes = t->bytes;
    if (is_fp8)
        return is_stored_as(t, "F8_E4M3") ? join_fp8(j) : 1;
    if ((state = beside(j, t->name, length, ".quant_state.bitsandbytes__nf4")))
        return join_4bit(j, state, ELEMENT_NF4);
    if ((state = beside(j, t->name, length, ".quant_state.bitsandbytes__fp4")))
        return join_4bit(j, state, ELEMENT_FP4);
    return is_stored_as(t, "I8") && ends_with(t->name, ".weight") && beside(j, t->name, length - 6, "SCB") ? join_int8(j) : 1;
}

/* GPT-2's Conv1D keeps its matrices [in, out], bitsandbytes [out, in] for it too. */
static void turn(struct tensor *t)
{
    size_t rows = t->shape[0];
    t->shape[0] = t->shape[1], t->shape[1] = rows;
    t->stride[0] = 1, t->stride[1] = t->shape[0];
}

/* What only a quantised matrix has beside it, or is stored as, and none was found for. */
static int refuse_orphan(const struct tensor *t, const char *method, struct error *e)
{
    static const char *const ends[] = {".absmax",
                                       ".quant_map",
                                       ".nested_absmax",
                                       ".nested_quant_map",
                                       ".SCB",
                                       ".weight_format",
                                       "_scale_inv",
                                       ".quant_state.bitsandbytes__nf4",
                                       ".activation_scale",
                                       ".quant_state.bitsandbytes__fp4"};
    if (t->stored->kind == STORED_CODES && !method)
        return fail(e, "%s: tensor %s is stored as %s, which is not supported (expected F64, F32, F16 or BF16)", path_of(t),
                    t->name, t->stored->name);
    for (size_t i = 0; method && i < sizeof ends / sizeof *ends; i++)
        if (ends_with(t->name, ends[i]))
            return fail(e, "%s: tensor %s has no quantised matrix that it belongs to", path_of(t), t->name);
    if (t->stored->kind == STORED_CODES || (method && t->integer && ends_with(t->name, ".weight")))
        return fail(e, "%s: tensor %s is stored as %s without scales beside it", path_of(t), t->name, t->stored->name);
    return 0;
}

int quantised_join(struct tensors *t, struct config *c, struct error *e)
{
    const char *method = quantised_method(c), *model = json_string_value(json_object_get(config_root(c), "model_type"));
    int is_fp8 = method && strcmp(method, "fp8") == 0, turned = model && strcmp(model, "gpt2") == 0;
    struct join j = {.tensors = t, .config = c, .e = e};
    if (method)
        (void)config_get(c, "quantization_config.quant_method"); /* understood from here on */
    size_t count = tensors_count(t), found = 0;
    if (method && !(j.made = store_memory(t, count * sizeof *j.made, "the table of quantised tensors", e)))
        return -1;
    for (size_t i = 0; method && i < count; i++) {
        struct tensor *one = tensors_at(t, i);
        int result = one->companion ? 1 : join_one(&j, one, is_fp8);
        if (result < 0)
            return -1;
        if (result == 0 && turned && !is_fp8 && one->rank == 2)
            turn(one);
        found += result == 0;
    }
    for (size_t i = 0; i < count; i++)
        if (!tensors_at(t, i)->companion && refuse_orphan(tensors_at(t, i), method, e))
            return -1;
    if (method && !found)
        return fail(e, "%s: quantization_config says %s, but no tensor is quantised so", config_path(c), method);
    store_drop_companions(t);
    return 0;
}
