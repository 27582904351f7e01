/* compressed-tensors: MODULE.weight of F8_E4M3 or I8, or MODULE.weight_packed of whole numbers in
 * words of 32 bits, with MODULE.weight_scale; config_groups says which blocks the scales are of. */
#include "io/tensors/quantised_parts.h"

#include <float.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- the configuration -- */

static int is_among(const char *text, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(text, *list) == 0)
            return 1;
    return 0;
}

static int read_grid(struct scheme *s, struct config *weights, struct error *e)
{
    const json_t *list = config_get(weights, "block_structure");
    for (size_t i = 0; i < 2; i++) {
        const json_t *one = json_array_get(list, i);
        if (json_array_size(list) != 2 || !json_is_integer(one) || json_integer_value(one) < 1)
            return fail(e, "%s: block_structure is not a list of two whole numbers of at least 1",
                        config_path(weights));
        s->size[i] = (size_t)json_integer_value(one);
    }
    return 0;
}

static int read_blocks(struct scheme *s, struct config *weights, struct error *e)
{
    static const char *const strategies[] = {"tensor", "channel", "group", "block"};
    const char *strategy;
    long group;
    if (config_int_or(weights, "group_size", -1, LONG_MAX, 0, &group, e) ||
        config_string_or(weights, "strategy",
                         group == 0  ? "tensor"
                         : group < 0 ? "channel"
                                     : "group",
                         &strategy, e))
        return -1;
    for (s->blocks = BLOCKS_ALL; strcmp(strategy, strategies[s->blocks]) != 0; s->blocks++)
        if (s->blocks == BLOCKS_GRID)
            return fail(e,
                        "%s: strategy is '%.40s' (expected tensor, channel, group or block of "
                        "weights)",
                        config_path(weights), strategy);
    if (s->blocks == BLOCKS_GROUPS && group < 1)
        return fail(e, "%s: group_size is missing for the strategy group", config_path(weights));
    s->size[1] = group > 0 ? (size_t)group : 0;
    return s->blocks == BLOCKS_GRID ? read_grid(s, weights, e) : 0;
}

static int read_weights(struct scheme *s, const char *format, struct config *weights,
                        struct error *e)
{
    static const char *const permuted[] = {"group", "dynamic", NULL};
    const char *type;
    const json_t *order = config_get(weights, "actorder");
    int symmetric, dynamic;
    long bits;
    if (config_int_or(weights, "num_bits", 1, 8, 8, &bits, e) ||
        config_string_or(weights, "type", "int", &type, e) ||
        config_bool_or(weights, "symmetric", 1, &symmetric, e) ||
        config_bool_or(weights, "dynamic", 0, &dynamic, e) || read_blocks(s, weights, e))
        return -1;
    int is_float = strcmp(type, "float") == 0, is_packed = strcmp(format, "pack-quantized") == 0;
    if (dynamic || (!is_float && strcmp(type, "int") != 0) || (is_float && bits != 8) ||
        (is_float && is_packed) || (is_float && !symmetric))
        return fail(e,
                    "%s: weights of %s type '%.20s', %ld bits, %ssymmetric, as %s are not "
                    "supported (expected int, or symmetric float of 8 bits that is not packed)",
                    config_path(weights), dynamic ? "dynamic" : "static", type, bits,
                    symmetric ? "" : "not ", format);
    if (is_packed && bits != 2 && bits != 4 && bits != 8)
        return fail(e,
                    "%s: num_bits is %ld (expected 2, 4 or 8: versions of the package pack others "
                    "in different ways)",
                    config_path(weights), bits);
    if (is_packed && !symmetric && (s->blocks == BLOCKS_ALL || s->blocks == BLOCKS_GRID))
        return fail(e,
                    "%s: packed weights have zero points (expected the strategy channel or "
                    "group with these)",
                    config_path(weights));
    s->bits = is_packed ? (unsigned)bits : 8;
    s->codes = is_packed ? CODES_PACKED : is_float ? CODES_FLOAT : CODES_BYTES;
    s->has_zeros = !symmetric;
    s->middle = 1 << (s->bits - 1);
    s->is_permuted = json_is_true(order) ||
                     (json_is_string(order) && is_among(json_string_value(order), permuted));
    return 0;
}

static int read_group(struct join *j, const char *name, const json_t *group, const char *format)
{
    static const char *const formats[] = {"naive-quantized", "float-quantized", "int-quantized",
                                          "pack-quantized", NULL};
    const char *own = json_string_value(json_object_get(group, "format")),
               *path = config_path(j->config);
    const json_t *weights = json_object_get(group, "weights");
    char title[4096];
    format = own ? own : format;
    if (!json_is_object(group))
        return fail(j->e, "%s: config_groups.%.80s is not an object (expected one with weights)",
                    path, name);
    if (!weights || json_is_null(weights) || (format && strcmp(format, "dense") == 0))
        return 0;
    if (!format || !is_among(format, formats))
        return fail(j->e,
                    "%s: quantization_config's format is '%.40s', which is not supported (expected "
                    "naive-quantized, float-quantized, int-quantized or pack-quantized)",
                    path, format ? format : "");
    if (j->scheme_count == SCHEMES_MOST)
        return fail(j->e, "%s: config_groups has more than %d groups", path, SCHEMES_MOST);
    char *text = json_dumps(weights, 0);
    if (!text)
        return fail(j->e, "%s: config_groups.%.80s.weights is not an object", path, name);
    snprintf(title, sizeof title, "%s: config_groups.%.80s.weights", path, name);
    struct config *c = config_from_text(title, text, strlen(text), j->e);
    int result = c ? read_weights(&j->schemes[j->scheme_count++], format, c, j->e) : -1;
    config_close(c);
    free(text);
    return result;
}

int quantised_read_compressed(struct join *j)
{
    static const char *const none[] = {"sparsity_config", "transform_config"};
    json_t *groups, *member;
    const char *format, *status, *name;
    if (config_string_or(j->config, "quantization_config.format", NULL, &format, j->e) ||
        config_string_or(j->config, "quantization_config.quantization_status", "compressed",
                         &status, j->e))
        return -1;
    if (strcmp(status, "compressed") != 0)
        return fail(j->e,
                    "%s: quantization_config.quantization_status is '%.40s' (expected compressed)",
                    config_path(j->config), status);
    for (size_t i = 0; i < 2; i++) {
        char key[64];
        snprintf(key, sizeof key, "quantization_config.%s", none[i]);
        const json_t *other = config_get(j->config, key), *kind = json_object_get(other, "format");
        if (other && json_object_size(other) != 0 &&
            !(json_is_string(kind) && strcmp(json_string_value(kind), "dense") == 0))
            return fail(j->e, "%s: %s%s%.40s is not supported (expected none)",
                        config_path(j->config), key, json_is_string(kind) ? " " : "",
                        json_is_string(kind) ? json_string_value(kind) : "");
    }
    if (!json_is_object(groups = config_get(j->config, "quantization_config.config_groups")))
        return fail(j->e, "%s: quantization_config.config_groups is not an object",
                    config_path(j->config));
    json_object_foreach(groups, name, member) if (read_group(j, name, member, format)) return -1;
    return 0;
}

/* -- matrices -- */

struct shape {
    size_t rows, columns, words; /* words: of a row of packed codes */
};

/* 1 if the scheme gives scales of this shape to the matrix; then size: a block's. */
static int fits(const struct scheme *s, size_t size[2], enum scheme_codes codes,
                const struct shape *m, const struct tensor *scales)
{
    size_t down = 1, across = 1;
    if (s->codes != codes ||
        (codes == CODES_PACKED && m->words != blocks_of(m->columns, 32 / s->bits)))
        return 0;
    size[0] = s->blocks == BLOCKS_ALL ? m->rows : s->blocks == BLOCKS_GRID ? s->size[0] : 1;
    size[1] = s->blocks == BLOCKS_GROUPS || s->blocks == BLOCKS_GRID ? s->size[1] : m->columns;
    if (s->blocks == BLOCKS_GROUPS && m->columns % size[1])
        return 0;
    down = blocks_of(m->rows, size[0]), across = blocks_of(m->columns, size[1]);
    if (s->blocks == BLOCKS_ALL)
        return scales->count == 1;
    return scales->shape[0] == down &&
           (scales->rank == 1 ? across == 1 && s->blocks == BLOCKS_GROUPS
                              : scales->rank == 2 && scales->shape[1] == across);
}

/* The scheme that describes the matrix; several may, in the same way. */
static const struct scheme *choose(struct join *j, size_t size[2], enum scheme_codes codes,
                                   const struct shape *m, const struct tensor *scales)
{
    const struct scheme *found = NULL;
    size_t other[2];
    for (int i = 0; i < j->scheme_count; i++) {
        const struct scheme *s = &j->schemes[i];
        if (!fits(s, other, codes, m, scales))
            continue;
        if (found && (other[0] != size[0] || other[1] != size[1] || s->bits != found->bits ||
                      s->has_zeros != found->has_zeros || s->is_permuted != found->is_permuted)) {
            fail(j->e, "%s: tensor %s is described by two of config_groups in different ways",
                 part_path(j->matrix), j->matrix->name);
            return NULL;
        }
        size[0] = other[0], size[1] = other[1];
        found = s;
    }
    if (!found)
        fail(j->e,
             "%s: tensor %s has %zu scales of a shape that none of config_groups describes for "
             "%zu x %zu elements of %s",
             part_path(scales), scales->name, scales->count, m->rows, m->columns, j->matrix->name);
    return found;
}

/* Zero points: of a symmetric scheme only zeros are taken. */
static int take_zeros(struct join *j, size_t stem, const struct scheme *s, size_t down,
                      size_t across)
{
    struct tensor *zeros = part_beside(j, j->matrix->name, stem, "weight_zero_point");
    struct packed *p = &j->made->zeros;
    if (!s->has_zeros && !zeros)
        return 0;
    if (!s->has_zeros) {
        for (size_t i = 0; i < zeros->bytes; i++)
            if (((const unsigned char *)zeros->data)[i])
                return fail(j->e, "%s: tensor %s has zero points, and config_groups says symmetric",
                            part_path(zeros), zeros->name);
        return part_take(j, zeros);
    }
    *p = (struct packed){.bits = s->bits, .across = across};
    j->made->middle = 0;
    if (s->codes == CODES_PACKED) {
        p->packing = PACKED_DOWN;
        return part_take_matrix(&p->data, j, stem, "weight_zero_point", "I32",
                                blocks_of(down, 32 / s->bits), across);
    }
    p->flipped = 128;
    return part_take_named(&p->data, j, stem, "weight_zero_point", "I8", down * across);
}

/* The group of each column, unless one is -1. Every group has its size of columns. */
static int take_groups(struct join *j, size_t stem, const struct scheme *s, size_t group)
{
    struct tensor *t = part_beside(j, j->matrix->name, stem, "weight_g_idx");
    size_t columns = j->made->columns, across = j->made->blocks_across;
    const unsigned char *data;
    if (!t)
        return s->is_permuted
                   ? fail(j->e, "%s: tensor %s has no weight_g_idx beside it (actorder is group)",
                          part_path(j->matrix), j->matrix->name)
                   : 0;
    if (part_take_named(&data, j, stem, "weight_g_idx", "I32", columns))
        return -1;
    for (size_t i = 0; i < columns; i++)
        if (part_int32(data, i) == -1)
            return 0;
    size_t *held = calloc(across, sizeof *held);
    if (!held)
        return fail_memory(j->e, (double)across * sizeof *held, "the sizes of groups");
    int wrong = s->blocks != BLOCKS_GROUPS;
    for (size_t i = 0; i < columns && !wrong; i++) {
        long at = part_int32(data, i);
        wrong = at < 0 || (size_t)at >= across || ++held[at] > group;
    }
    free(held);
    if (wrong)
        return fail(j->e, "%s: tensor %s is not a choice of %zu groups of %zu columns",
                    part_path(t), t->name, across, group);
    j->made->block_of_column = data;
    return 0;
}

/* The size of the matrix that is packed. */
static int read_shape(struct join *j, size_t stem, struct shape *m)
{
    const struct tensor *t = j->matrix;
    const struct tensor *shape = part_beside(j, t->name, stem, "weight_shape");
    const unsigned char *data;
    int is_long = shape && part_is(shape, "I64");
    if (part_take_named(&data, j, stem, "weight_shape", is_long ? "I64" : "I32", 2))
        return -1;
    long rows = is_long ? part_int64(data, 0) : part_int32(data, 0),
         columns = is_long ? part_int64(data, 1) : part_int32(data, 1);
    if (rows < 1 || columns < 1 || (size_t)rows != m->rows || (size_t)columns / 16 > m->words)
        return fail(j->e, "%s: tensor %s is %ld x %ld (expected the shape of %s)", part_path(shape),
                    shape->name, rows, columns, t->name);
    m->columns = (size_t)columns;
    return 0;
}

static int join_matrix(struct join *j, size_t stem, enum scheme_codes codes)
{
    struct tensor *t = j->matrix, *scales = part_beside(j, t->name, stem, "weight_scale");
    struct shape m = {t->shape[0], t->rank == 2 ? t->shape[1] : 0, 0};
    size_t size[2] = {0};
    if (t->rank != 2 || !t->count || !part_is_dense(t))
        return fail(j->e, "%s: tensor %s has scales and is not a matrix", part_path(t), t->name);
    if (!scales)
        return fail(j->e, "%s: the quantised tensor %s has no %.*sweight_scale beside it",
                    part_path(t), t->name, (int)stem, t->name);
    m.words = m.columns;
    if (codes == CODES_PACKED && (part_name_is_free(j, stem, "weight") || read_shape(j, stem, &m)))
        return -1;
    const struct scheme *s = choose(j, size, codes, &m, scales);
    if (!s)
        return -1;
    size_t down = blocks_of(m.rows, size[0]), across = blocks_of(m.columns, size[1]);
    *j->made = (struct scaled){.columns = m.columns,
                               .block_rows = size[0],
                               .block_columns = size[1],
                               .blocks_across = across,
                               .whole = {.data = t->data,
                                         .bits = s->bits,
                                         .flipped = codes == CODES_BYTES ? 128 : 0,
                                         .across = t->bytes / m.rows},
                               .middle = s->middle};
    if (part_take_scales(j, scales) || take_zeros(j, stem, s, down, across) ||
        take_groups(j, stem, s, size[1]) ||
        part_check_scales(j, down * across, -FLT_MAX, "a finite number"))
        return -1;
    part_become(j, codes == CODES_FLOAT ? ELEMENT_FP8 : ELEMENT_INT, 2,
                (const size_t[]){m.rows, m.columns}, m.rows * m.columns);
    return 0;
}

int quantised_join_compressed(struct join *j)
{
    const struct tensor *t = j->matrix;
    size_t length = strlen(t->name);
    if (text_ends_with(t->name, ".weight_packed") && part_is(t, "I32"))
        return join_matrix(j, length - strlen("weight_packed"), CODES_PACKED);
    if (!text_ends_with(t->name, ".weight") || (!part_is(t, "F8_E4M3") && !part_is(t, "I8")))
        return 1;
    return join_matrix(j, length - strlen("weight"), part_is(t, "I8") ? CODES_BYTES : CODES_FLOAT);
}
