#include "io/tensors/quantised_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MOST = 1280 /* a tensor's name and a suffix */ };

const char *part_path(const struct tensor *t)
{
    return store_file(t)->path;
}

int text_ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

int part_is_dense(const struct tensor *t)
{
    size_t stride = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        if (t->shape[i] > 1 && t->stride[i] != stride)
            return 0;
        stride *= t->shape[i];
    }
    return 1;
}

int part_is(const struct tensor *t, const char *type)
{
    return strcmp(t->stored->name, type) == 0;
}

size_t blocks_of(size_t a, size_t b)
{
    return a / b + (a % b != 0);
}

struct tensor *part_beside(const struct join *j, const char *stem, size_t length,
                           const char *suffix)
{
    char name[NAME_MOST];
    snprintf(name, sizeof name, "%.*s%s", (int)length, stem, suffix);
    return tensors_find_any(j->tensors, name);
}

int part_take(struct join *j, struct tensor *t)
{
    if (t->companion || t == j->matrix || (t->stored->kind == STORED_QUANTISED) ||
        !part_is_dense(t))
        return fail(j->e,
                    "%s: tensor %s cannot belong to the quantised tensor %s (expected one of its "
                    "own, row after row)",
                    part_path(t), t->name, j->matrix->name);
    t->companion = 1;
    return size_add(&j->bytes, j->bytes, t->bytes)
               ? fail(j->e, "%s: more bytes than can be counted", part_path(t))
               : 0;
}

int part_take_named(const unsigned char **data, struct join *j, size_t length, const char *suffix,
                    const char *type, size_t count)
{
    struct tensor *t = part_beside(j, j->matrix->name, length, suffix);
    if (!t)
        return fail(j->e, "%s: the quantised tensor %s has no %.*s%s beside it",
                    part_path(j->matrix), j->matrix->name, (int)length, j->matrix->name, suffix);
    if (!part_is(t, type) || t->count != count)
        return fail(j->e, "%s: tensor %s holds %zu elements of %s (expected %zu of %s for %s)",
                    part_path(t), t->name, t->count, t->stored->name, count, type, j->matrix->name);
    *data = t->data;
    return part_take(j, t);
}

int part_take_matrix(const unsigned char **data, struct join *j, size_t length, const char *suffix,
                     const char *type, size_t rows, size_t columns)
{
    const struct tensor *t = part_beside(j, j->matrix->name, length, suffix);
    if (t && (t->rank != 2 || t->shape[0] != rows || t->shape[1] != columns))
        return fail(j->e, "%s: tensor %s is not a matrix of %zu x %zu (expected for %s)",
                    part_path(t), t->name, rows, columns, j->matrix->name);
    return part_take_named(data, j, length, suffix, type, t ? t->count : 0);
}

int part_take_scales(struct join *j, struct tensor *scales)
{
    static const struct {
        const char *type;
        enum scale scale;
    } kinds[] = {{"F32", SCALE_F32},
                 {"F16", SCALE_F16},
                 {"BF16", SCALE_BF16},
                 {"F8_E8M0", SCALE_E8M0}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (part_is(scales, kinds[i].type)) {
            j->made->scale = kinds[i].scale;
            j->made->scales = scales->data;
            return part_take(j, scales);
        }
    return fail(j->e,
                "%s: tensor %s is stored as %s (expected F32, F16, BF16 or F8_E8M0 of scales)",
                part_path(scales), scales->name, scales->stored->name);
}

int part_name_is_free(const struct join *j, size_t length, const char *suffix)
{
    const struct tensor *t = j->matrix;
    return part_beside(j, t->name, length, suffix)
               ? fail(j->e,
                      "%s: tensor %s stores the same matrix as %.*s%s, which is not quantised",
                      part_path(t), t->name, (int)length, t->name, suffix)
               : 0;
}

int part_check_scales(const struct join *j, size_t count, float least, const char *expected)
{
    for (size_t i = 0; i < count; i++) {
        float scale = scaled_scale(j->made, i);
        if (!(scale >= least) || !isfinite(scale))
            return fail(
                j->e,
                "%s: the quantised tensor %s has the scale %g for its block %zu (expected %s)",
                part_path(j->matrix), j->matrix->name, (double)scale, i, expected);
    }
    return 0;
}

void part_become(struct join *j, enum element type, int rank, const size_t *shape, size_t count)
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
