/* Reference set: parameters. Matrices and vectors become dense arrays of the set's element type (or
 * are used in place); tables are read row by row from the file's memory, so that a large vocabulary
 * costs nothing. */
#include "kernels/reference/reference.h"

#include <stdlib.h>
#include <string.h>

static void weight_free(struct kernels *k, struct weight *w)
{
    (void)k;
    if (!w)
        return;
    free(w->owned);
    free(w->parts);
    free(w);
}

static size_t weight_bytes(struct kernels *k, enum weight_use use, const struct weight_part *parts,
                           int part_count)
{
    size_t rows, columns;
    (void)k;
    if (use == WEIGHT_TABLE || weight_parts_size(&rows, &columns, parts, part_count, NULL) ||
        weight_parts_dense(parts, part_count, REFERENCE_ELEMENT))
        return 0;
    return rows * columns * sizeof(real);
}

static int weight_fill(struct weight *w, const struct weight_part *parts, int part_count,
                       struct error *e)
{
    if (weight_parts_size(&w->rows, &w->columns, parts, part_count, e))
        return -1;
    if (w->use == WEIGHT_TABLE) {
        size_t bytes = (size_t)part_count * sizeof *parts;
        w->parts = malloc(bytes);
        if (!w->parts)
            return fail_memory(e, (double)bytes, "a table's parts");
        memcpy(w->parts, parts, bytes);
        return 0;
    }
    if (weight_parts_dense(parts, part_count, REFERENCE_ELEMENT)) {
        w->data = parts->data;
        return 0;
    }
    size_t bytes = w->rows * w->columns * sizeof(real); /* checked by weight_parts_size */
    real *data = malloc(bytes);
    if (!data)
        return fail_memory(e, (double)bytes, "a weight");
    w->data = w->owned = data;
#pragma omp parallel for
    for (size_t r = 0; r < w->rows; r++)
        weight_parts_read(data + r * w->columns, parts, r, 0, w->columns);
    return 0;
}

static struct weight *weight_load(struct kernels *k, enum weight_use use,
                                  const struct weight_part *parts, int part_count, struct error *e)
{
    struct weight *w;
    if (kernels_take_error(k, e))
        return NULL;
    w = calloc(1, sizeof *w);
    if (!w) {
        fail_memory(e, sizeof *w, "a weight");
        return NULL;
    }
    w->use = use;
    if (weight_fill(w, parts, part_count, e)) {
        weight_free(k, w);
        return NULL;
    }
    return w;
}

void fill_weight(struct kernels *k)
{
    k->weight_load = weight_load;
    k->weight_free = weight_free;
    k->weight_bytes = weight_bytes;
}
