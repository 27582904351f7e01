/* bitsandbytes' formats: bytes with a scale per row, and four bits with a scale per some
 * elements. */
#include "io/tensors/quantised_parts.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK_LEAST = 32, BLOCK_MOST = 4096 };

/* -- MODULE.weight of I8 and MODULE.SCB, a scale a row -- */

static int join_int8(struct join *j)
{
    struct tensor *t = j->matrix;
    size_t stem = strlen(t->name) - 6; /* without "weight" */
    const unsigned char *format;
    if (t->rank != 2 || !t->count || !part_is_dense(t))
        return fail(j->e, "%s: tensor %s has scales of rows (SCB) and is not a matrix",
                    part_path(t), t->name);
    *j->made = (struct scaled){.columns = t->shape[1],
                               .block_rows = 1,
                               .block_columns = t->shape[1],
                               .blocks_across = 1};
    if (part_take_named(&j->made->scales, j, stem, "SCB", "F32", t->shape[0]))
        return -1;
    if (part_beside(j, t->name, stem, "weight_format")) {
        if (part_take_named(&format, j, stem, "weight_format", "U8", 1))
            return -1;
        if (*format)
            return fail(j->e, "%s: tensor %.*sweight_format is %d (expected 0, rows)", part_path(t),
                        (int)stem, t->name, *format);
    }
    if (part_check_scales(j, t->shape[0], 0, "a finite number of at least 0"))
        return -1;
    part_become(j, ELEMENT_INT8, 2, (const size_t[]){t->shape[0], t->shape[1]}, t->count);
    return 0;
}

/* -- NAME of any type holds two codes a byte; NAME.quant_state.bitsandbytes__TYPE is JSON -- */

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

static int read_state_shape(struct config *state, size_t shape[TENSOR_RANK_MAX], int *rank,
                            size_t *count, struct error *e)
{
    const json_t *list = config_get(state, "shape");
    *rank = (int)json_array_size(list);
    *count = 1;
    if (*rank < 1 || json_array_size(list) > TENSOR_RANK_MAX)
        return fail(e, "%s: shape is not a list of 1 to %d sizes", config_path(state),
                    TENSOR_RANK_MAX);
    for (int i = 0; i < *rank; i++) {
        const json_t *size = json_array_get(list, (size_t)i);
        if (!json_is_integer(size) || json_integer_value(size) < 1)
            return fail(e, "%s: shape has a size that is not a whole number of at least 1",
                        config_path(state));
        shape[i] = (size_t)json_integer_value(size);
        if (size_multiply(count, *count, shape[i]))
            return fail(e, "%s: shape has more elements than can be counted", config_path(state));
    }
    return 0;
}

/* The 16 numbers follow from the type: the package computes with these, whatever the file says. */
static int check_map(struct join *j, size_t length, enum element type)
{
    const unsigned char *map;
    if (part_take_named(&map, j, length, ".quant_map", "F32", CODES_OF_FOUR_BITS))
        return -1;
    for (size_t i = 0; i < CODES_OF_FOUR_BITS; i++)
        if (!(fabs(element_read(map, ELEMENT_F32, i) - (double)scaled_codes(type)[i]) <= 1e-6))
            return fail(j->e, "%s: tensor %s.quant_map holds %g at %zu (expected %.9g, as %s has)",
                        part_path(j->matrix), j->matrix->name, element_read(map, ELEMENT_F32, i), i,
                        (double)scaled_codes(type)[i], element_name(type));
    return 0;
}

/* Scales stored as they are, or as bytes with their own scales. */
static int read_absmax(struct join *j, size_t length, size_t blocks, struct config *state)
{
    struct scaled *s = j->made;
    const struct tensor *absmax = part_beside(j, j->matrix->name, length, ".absmax");
    double offset;
    if (!absmax || !part_is(absmax, "U8"))
        return part_take_named(&s->scales, j, length, ".absmax", "F32", blocks) ||
                       part_check_scales(j, blocks, 0, "a finite number of at least 0")
                   ? -1
                   : 0;
    s->scale = SCALE_NESTED;
    if (read_block(state, "nested_blocksize", &s->table_block, j->e) ||
        config_real_or(state, "nested_offset", -FLT_MAX, FLT_MAX, 0, &offset, j->e))
        return -1;
    if (!config_has(state, "nested_offset"))
        return fail(j->e, "%s: nested_offset is missing", config_path(state));
    s->table_offset = (float)offset;
    return part_take_named(&s->scales, j, length, ".absmax", "U8", blocks) ||
                   part_take_named(&s->table_scales, j, length, ".nested_absmax", "F32",
                                   blocks_of(blocks, s->table_block)) ||
                   part_take_named(&s->table, j, length, ".nested_quant_map", "F32", SCALE_TABLE) ||
                   part_check_scales(j, blocks, -FLT_MAX, "a finite number")
               ? -1
               : 0;
}

static int read_state(struct join *j, size_t length, enum element type, struct config *state)
{
    struct tensor *t = j->matrix;
    const char *name;
    size_t shape[TENSOR_RANK_MAX], count, block;
    int rank;
    if (config_string_or(state, "quant_type", "", &name, j->e) ||
        read_block(state, "blocksize", &block, j->e) ||
        read_state_shape(state, shape, &rank, &count, j->e))
        return -1;
    if (strcmp(name, type == ELEMENT_NF4 ? "nf4" : "fp4") != 0)
        return fail(j->e, "%s: quant_type is '%.40s' (expected that of its name)",
                    config_path(state), name);
    if (t->bytes != blocks_of(count, 2))
        return fail(
            j->e,
            "%s: tensor %s has %zu bytes of codes (expected %zu for the %zu elements of its shape)",
            part_path(t), t->name, t->bytes, blocks_of(count, 2), count);
    *j->made = (struct scaled){.columns = count,
                               .block_rows = 1,
                               .block_columns = block,
                               .blocks_across = blocks_of(count, block)};
    if (check_map(j, length, type) || read_absmax(j, length, j->made->blocks_across, state))
        return -1;
    part_become(j, type, rank, shape, count);
    return 0;
}

static int join_4bit(struct join *j, struct tensor *description, enum element type)
{
    size_t length = strlen(j->matrix->name);
    char title[4096];
    if (!part_is(description, "U8") || !part_is_dense(j->matrix))
        return fail(j->e, "%s: tensor %s is stored as %s (expected U8, text in JSON)",
                    part_path(description), description->name, description->stored->name);
    if (part_take(j, description))
        return -1;
    snprintf(title, sizeof title, "%s: tensor %s", part_path(description), description->name);
    struct config *state = config_from_text(title, description->data, description->count, j->e);
    int result = state ? read_state(j, length, type, state) : -1;
    config_close(state);
    return result;
}

int quantised_join_bitsandbytes(struct join *j)
{
    const struct tensor *t = j->matrix;
    size_t length = strlen(t->name);
    struct tensor *state;
    if ((state = part_beside(j, t->name, length, ".quant_state.bitsandbytes__nf4")))
        return join_4bit(j, state, ELEMENT_NF4);
    if ((state = part_beside(j, t->name, length, ".quant_state.bitsandbytes__fp4")))
        return join_4bit(j, state, ELEMENT_FP4);
    return part_is(t, "I8") && text_ends_with(t->name, ".weight") &&
                   part_beside(j, t->name, length - 6, "SCB")
               ? join_int8(j)
               : 1;
}
