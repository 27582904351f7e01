/* GPTQ and AWQ: MODULE.qweight of whole numbers packed in I32, [in, out], with MODULE.scales and
 * MODULE.qzeros for each column of each group of rows. */
#include "io/tensors/quantised_parts.h"

#include <float.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

static int refuse_value(struct join *j, const char *key, const char *value, const char *expected)
{
    return fail(j->e, "%s: quantization_config.%s '%.40s' is not supported (expected %s)",
                config_path(j->config), key, value, expected);
}

/* bits and group_size. */
static int read_sizes(struct join *j)
{
    struct scheme *s = &j->schemes[0];
    long bits, group;
    if (config_int(j->config, "quantization_config.bits", 2, 8, &bits, j->e) ||
        config_int_or(j->config, "quantization_config.group_size", -1, LONG_MAX, 128, &group, j->e))
        return -1;
    s->bits = (unsigned)bits;
    s->size[1] = group > 0 ? (size_t)group : 0;
    return group == 0 ? refuse_value(j, "group_size", "0", "-1 or a size of at least 1") : 0;
}

/* Settings for some of the modules. Only modules left as they are do not matter. */
static int check_dynamic(struct join *j)
{
    json_t *dynamic = config_get(j->config, "quantization_config.dynamic"), *one;
    const char *name;
    json_object_foreach(dynamic, name, one) if (*name != '-') return refuse_value(
        j, "dynamic", name, "the same bits and groups in all modules");
    return 0;
}

int quantised_read_gptq(struct join *j)
{
    static const char *const names[] = {"gptq", "gptq_v2"};
    const char *format, *checkpoint;
    int marlin, ordered, version;
    if (read_sizes(j) || check_dynamic(j) ||
        config_string_or(j->config, "quantization_config.format", "gptq", &format, j->e) ||
        config_string_or(j->config, "quantization_config.checkpoint_format", format, &checkpoint,
                         j->e) ||
        config_bool_or(j->config, "quantization_config.desc_act", 0, &ordered, j->e) ||
        config_bool_or(j->config, "quantization_config.is_marlin_format", 0, &marlin, j->e))
        return -1;
    if (marlin)
        return refuse_value(j, "is_marlin_format", "true", "gptq or gptq_v2");
    for (version = 0; version < 2 && strcmp(checkpoint, names[version]) != 0; version++)
        ;
    if (version == 2)
        return refuse_value(j, "checkpoint_format", checkpoint, "gptq or gptq_v2");
    struct scheme *s = &j->schemes[0];
    if (s->bits != 2 && s->bits != 3 && s->bits != 4 && s->bits != 8)
        return fail(j->e, "%s: quantization_config.bits is %u (expected 2, 3, 4 or 8)",
                    config_path(j->config), s->bits);
    s->middle = version == 0; /* zero points are stored minus 1 */
    s->is_permuted = ordered;
    return 0;
}

int quantised_read_awq(struct join *j)
{
    const char *format, *version, *backend;
    int has_zeros;
    if (read_sizes(j) ||
        config_string_or(j->config, "quantization_config.format", "gemm", &format, j->e) ||
        config_string_or(j->config, "quantization_config.version", format, &version, j->e) ||
        config_string_or(j->config, "quantization_config.backend", "autoawq", &backend, j->e) ||
        config_bool_or(j->config, "quantization_config.zero_point", 1, &has_zeros, j->e))
        return -1;
    if (strcasecmp(version, "gemm") != 0)
        return refuse_value(j, "version", version, "gemm");
    if (strcmp(backend, "llm-awq") == 0)
        return refuse_value(j, "backend", backend, "autoawq");
    if (!has_zeros)
        return refuse_value(j, "zero_point", "false", "true");
    if (j->schemes[0].bits != 4)
        return fail(j->e, "%s: quantization_config.bits is %u (expected 4)", config_path(j->config),
                    j->schemes[0].bits);
    return 0;
}

/* The group of each row. */
static int take_groups(struct join *j, size_t stem, size_t rows, size_t groups)
{
    const struct tensor *t = part_beside(j, j->matrix->name, stem, "g_idx");
    const unsigned char *data;
    if (!t && !j->schemes[0].is_permuted)
        return 0;
    if (part_take_named(&data, j, stem, "g_idx", "I32", rows))
        return -1;
    for (size_t i = 0; i < rows; i++) {
        long group = part_int32(data, i);
        if (group < 0 || (size_t)group >= groups)
            return fail(j->e, "%s: tensor %s holds %ld at %zu (expected a group from 0 to %zu)",
                        part_path(t), t->name, group, i, groups - 1);
    }
    j->made->block_of_row = data;
    return 0;
}

/* The largest zero point of the first version is what is stored of 0 - 1: programs read it as 0, as
 * 2^bits, or let it change its neighbour. */
static int check_zeros(struct join *j, size_t groups, size_t columns)
{
    const struct packed *p = &j->made->zeros;
    for (size_t g = 0; j->schemes[0].middle && g < groups; g++)
        for (size_t c = 0; c < columns; c++)
            if (packed_code(p, g, c) == (1u << p->bits) - 1)
                return fail(j->e,
                            "%s: the zero point %zu of group %zu of %s is stored as 0 - 1, which "
                            "programs read differently (expected at least 1, or checkpoint_format "
                            "gptq_v2)",
                            part_path(j->matrix), c, g, j->matrix->name);
    return 0;
}

static int join_columns(struct join *j, enum packing packing)
{
    struct tensor *t = j->matrix;
    const struct scheme *s = &j->schemes[0];
    size_t stem = strlen(t->name) - strlen("qweight"), *shape = t->shape;
    struct tensor *scales = part_beside(j, t->name, stem, "scales");
    if (t->rank != 2 || !t->count || !part_is(t, "I32") || !part_is_dense(t))
        return fail(j->e, "%s: tensor %s is not a matrix of I32", part_path(t), t->name);
    if (!scales)
        return fail(j->e, "%s: the quantised tensor %s has no %.*sscales beside it", part_path(t),
                    t->name, (int)stem, t->name);
    int down = packing == PACKED_DOWN;
    size_t packed = 32 * shape[down ? 0 : 1];
    if (packed % s->bits)
        return fail(j->e, "%s: tensor %s has %zu words (expected a multiple of %u bits)",
                    part_path(t), t->name, shape[0], s->bits);
    size_t rows = down ? packed / s->bits : shape[0], columns = down ? shape[1] : packed / s->bits,
           group = s->size[1] ? s->size[1] : rows, groups = blocks_of(rows, group);
    if (columns % (32 / (s->bits == 3 ? 1 : s->bits)) || scales->rank != 2 ||
        scales->shape[0] != groups || scales->shape[1] != columns)
        return fail(j->e,
                    "%s: tensor %s is not a matrix of %zu x %zu scales (expected one for %zu rows "
                    "of each column of %s)",
                    part_path(scales), scales->name, groups, columns, group, t->name);
    *j->made = (struct scaled){.columns = columns,
                               .block_rows = group,
                               .block_columns = 1,
                               .blocks_across = columns,
                               .whole = {.data = t->data,
                                         .packing = packing,
                                         .bits = s->bits,
                                         .across = down ? columns : t->bytes / rows},
                               .middle = s->middle};
    struct packed *zeros = &j->made->zeros;
    *zeros = (struct packed){.packing = down ? PACKED_ALONG : packing,
                             .bits = s->bits,
                             .across = columns / 8 * s->bits};
    if (part_name_is_free(j, stem, "weight") || part_take_scales(j, scales) ||
        part_take_matrix(&zeros->data, j, stem, "qzeros", "I32", groups, columns * s->bits / 32) ||
        (down && take_groups(j, stem, rows, groups)) || check_zeros(j, groups, columns) ||
        part_check_scales(j, groups * columns, -FLT_MAX, "a finite number"))
        return -1;
    part_become(j, ELEMENT_INT, 2, (const size_t[]){rows, columns}, rows * columns);
    return 0;
}

int quantised_join_gptq(struct join *j)
{
    return text_ends_with(j->matrix->name, ".qweight") ? join_columns(j, PACKED_DOWN) : 1;
}

int quantised_join_awq(struct join *j)
{
    return text_ends_with(j->matrix->name, ".qweight") ? join_columns(j, PACKED_EVEN_ODD) : 1;
}
