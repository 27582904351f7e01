/* FP8: NAME of F8_E4M3 and NAME_scale_inv, or NAME_scale, a scale a block or one. */
#include "io/tensors/quantised_parts.h"

#include <float.h>
#include <string.h>

static int block_sizes(size_t size[2], int *whole, struct join *j)
{
    static const char key[] = "quantization_config.weight_block_size";
    json_t *list = config_get(j->config, key),
           *section = config_get(j->config, "quantization_config");
    size[0] = size[1] = 128; /* the library's default */
    *whole = !list && json_object_get(section, "weight_block_size") != NULL; /* null */
    for (size_t i = 0; list && i < 2; i++) {
        const json_t *one = json_array_get(list, i);
        if (json_array_size(list) != 2 || !json_is_integer(one) || json_integer_value(one) < 1)
            return fail(j->e, "%s: %s is not a list of two whole numbers of at least 1",
                        config_path(j->config), key);
        size[i] = (size_t)json_integer_value(one);
    }
    return 0;
}

/* The scales' bytes may be stored as U8. */
static int take_scales(struct join *j, struct tensor *scales)
{
    const char *format = json_string_value(config_get(j->config, "quantization_config.scale_fmt"));
    if (!part_is(scales, "U8") || !format || strcmp(format, "ue8m0") != 0)
        return part_take_scales(j, scales);
    j->made->scale = SCALE_E8M0;
    j->made->scales = scales->data;
    return part_take(j, scales);
}

int quantised_join_fp8(struct join *j)
{
    struct tensor *t = j->matrix, *activation, *scales;
    size_t size[2], length = strlen(t->name);
    int whole;
    if (!part_is(t, "F8_E4M3"))
        return 1;
    if (!(scales = part_beside(j, t->name, length, "_scale_inv")) &&
        !(scales = part_beside(j, t->name, length, "_scale")))
        return fail(j->e, "%s: tensor %s is stored as F8_E4M3 without %s_scale_inv beside it",
                    part_path(t), t->name, t->name);
    if (block_sizes(size, &whole, j))
        return -1;
    if (t->rank != 2 || !t->count || !part_is_dense(t))
        return fail(j->e, "%s: tensor %s is stored as F8_E4M3 and is not a matrix", part_path(t),
                    t->name);
    if (!text_ends_with(scales->name, "_inv") && !config_has(j->config, "quantization_config."
                                                                        "weight_block_size"))
        whole = 1; /* the name of programs whose scales are of whole matrices */
    for (int i = 0; i < 2 && whole; i++)
        size[i] = t->shape[i];
    size_t down = blocks_of(t->shape[0], size[0]), across = blocks_of(t->shape[1], size[1]);
    int fits = scales->count == down * across &&
               (whole ||
                (scales->rank == 2 && scales->shape[0] == down && scales->shape[1] == across));
    if (!fits && whole)
        return fail(j->e, "%s: tensor %s has %zu scales (expected one: weight_block_size is null)",
                    part_path(scales), scales->name, scales->count);
    if (!fits)
        return fail(j->e,
                    "%s: tensor %s is not a matrix of %zu x %zu scales (expected a scale for %zu x "
                    "%zu elements of %s)",
                    part_path(scales), scales->name, down, across, size[0], size[1], t->name);
    *j->made = (struct scaled){.columns = t->shape[1],
                               .block_rows = size[0],
                               .block_columns = size[1],
                               .blocks_across = across};
    if (take_scales(j, scales) ||
        part_check_scales(j, down * across, FLT_TRUE_MIN, "a finite number above 0"))
        return -1;
    if (text_ends_with(t->name, ".weight") &&
        (activation = part_beside(j, t->name, length - 6, "activation_scale")) &&
        part_take(j, activation))
        return -1;
    part_become(j, ELEMENT_FP8, 2, (const size_t[]){t->shape[0], t->shape[1]}, t->count);
    return 0;
}
