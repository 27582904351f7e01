/* MXFP4: NAME_blocks of U8 [stack, out, blocks, 16], two codes a byte, and NAME_scales of U8
 * [stack, out, blocks], a power of two for each 32 codes. Together they are NAME [stack, in, out],
 * as in unquantised models. */
#include "io/tensors/quantised_parts.h"

#include <string.h>

enum { CODES = 32, BYTES = CODES / 2 };

/* Swaps the last two axes of a tensor. */
static void turn(struct tensor *t)
{
    size_t size = t->shape[1], stride = t->stride[1];
    t->shape[1] = t->shape[2], t->stride[1] = t->stride[2];
    t->shape[2] = size, t->stride[2] = stride;
}

int quantised_join_mxfp4(struct join *j)
{
    struct tensor *t = j->matrix;
    if (!text_ends_with(t->name, "_blocks"))
        return 1;
    const size_t length = strlen(t->name) - strlen("_blocks"), *shape = t->shape;
    if (!part_is(t, "U8") || t->rank != 4 || shape[3] != BYTES || !t->count || !part_is_dense(t))
        return fail(j->e,
                    "%s: tensor %s is stored as %s and is not a stack of matrices in blocks of %d "
                    "bytes (expected U8)",
                    part_path(t), t->name, t->stored->name, BYTES);
    if (part_name_is_free(j, length, ""))
        return -1;
    size_t rows = shape[0] * shape[1], across = shape[2], columns = across * CODES;
    *j->made = (struct scaled){.scale = SCALE_E8M0,
                               .columns = columns,
                               .block_rows = 1,
                               .block_columns = CODES,
                               .blocks_across = across};
    if (part_take_named(&j->made->scales, j, length, "_scales", "U8", rows * across) ||
        part_check_scales(j, rows * across, 0, "a power of two: no byte 255"))
        return -1;
    part_become(j, ELEMENT_E2M1, 3, (const size_t[]){shape[0], shape[1], columns}, 2 * t->count);
    turn(t);
    return 0;
}
