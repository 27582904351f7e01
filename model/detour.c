/* Blocks whose addition to the residual stream only the next block's recurrence reads, and that
 * read layer 0's x beside their own (decoder.h: RESIDUAL_DETOUR, RESIDUAL_REJOIN), forward and in
 * reverse; and matrices of low rank. A recurrence reads all rows, so these blocks have all of them.
 */
#include "model/engine_parts.h"

#include <stdlib.h>

int detour_has(const struct decoder *d)
{
    for (int l = 0; l < d->layers; l++)
        if (block_detours(&d->blocks[l]))
            return 1;
    return 0;
}

int detour_open(struct engine *g, struct error *e)
{
    struct kernels *k = g->k;
    const size_t rows = (size_t)g->shape.batch * (size_t)g->shape.keys[0];
    if (rows > INT32_MAX / 2)
        return fail(e, "%s: %zu rows (expected at most %d: fewer segments, or shorter ones)",
                    g->d->path, rows, INT32_MAX / 2);
    int32_t *index = malloc(rows * sizeof *index);
    if (!index)
        return fail_memory(e, (double)rows * sizeof *index, "halves of rows");
    for (size_t half = 0; half < 2; half++) {
        for (size_t r = 0; r < rows; r++)
            index[r] = (int32_t)(2 * r + half);
        k->write_index(k, g->half[half], 0, index, rows);
    }
    free(index);
    return k->synchronize(k, e);
}

/* g->pair. */
static void join(struct engine *g, int l, int batch)
{
    g->k->join(g->k, g->pair, g->layers[l].x, g->start, batch * g->shape.keys[l], 1, 1,
               g->d->hidden);
}

void detour_norm(struct engine *g, int l, int batch)
{
    join(g, l, batch);
    g->k->norm(g->k, g->y, g->layers[l].statistics_1, g->pair, &g->blocks[l].attention_norm.norm,
               (struct rows){batch, g->shape.keys[l]}, 2 * g->d->hidden);
}

void detour_norm_reverse(struct engine *g, int l, struct buffer *dx, int batch)
{
    struct kernels *k = g->k;
    const int hidden = g->d->hidden;
    const struct rows rows = {batch, g->shape.keys[l]};
    join(g, l, batch);
    k->norm_reverse(k, g->d_pair, NULL, g->y, g->pair, g->layers[l].statistics_1,
                    &g->blocks[l].attention_norm.norm, rows, 2 * hidden, 0);
    k->combine(k, dx, g->d_pair, g->half[0], NULL, rows, 1, hidden, 1);
    k->combine(k, g->d_start, g->d_pair, g->half[1], NULL, rows, 1, hidden, 1);
    k->add(k, dx, g->passed, rows, hidden);
}

void detour_pass(struct engine *g, int l, const struct buffer *dy, int batch)
{
    const int keys = g->shape.keys[l], hidden = g->d->hidden;
    g->k->scale(g->k, g->passed, 0, (struct rows){batch, keys}, hidden);
    g->k->tail_reverse(g->k, g->passed, dy, batch, g->shape.queries[l], keys, hidden);
}

void low_rank_add(struct engine *g, struct buffer *y, const struct buffer *x,
                  const struct low_rank_weights *w, struct rows rows)
{
    if (!w->down.weight)
        return;
    g->k->linear(g->k, g->low, x, w->down.weight, NULL, rows, 0);
    g->k->linear(g->k, y, g->low, w->up.weight, NULL, rows, 1);
}

void low_rank_reverse(struct engine *g, struct buffer *dx, const struct buffer *dy,
                      const struct low_rank_weights *w, struct rows rows)
{
    if (!w->down.weight)
        return;
    g->k->linear_reverse(g->k, g->low, dy, w->up.weight, rows, 0);
    g->k->linear_reverse(g->k, dx, g->low, w->down.weight, rows, 1);
}
