/* The branch beside attention of decoder.h's struct learned_residual, forward and in reverse. */
#include "model/engine_parts.h"

#include <math.h>

void laurel_forward(struct engine *g, int l, const struct buffer *y_last, int batch)
{
    struct kernels *k = g->k;
    const struct block_weights *w = &g->blocks[l];
    struct layer *s = &g->layers[l];
    const struct rows rows = {batch, g->shape.queries[l]};
    k->linear(k, g->low, y_last, w->laurel_down.weight, NULL, rows, 0);
    k->linear(k, s->laurel_sum, g->low, w->laurel_up.weight, NULL, rows, 0);
    k->norm(k, g->laurel, s->laurel_statistics, s->laurel_sum, &w->laurel_norm.norm, rows,
            g->d->hidden);
    k->add(k, g->laurel, y_last, rows, g->d->hidden);
}

void laurel_join(struct engine *g, int l, int batch)
{
    const struct rows rows = {batch, g->shape.queries[l]};
    g->k->add(g->k, g->layers[l].mid, g->laurel, rows, g->d->hidden);
    g->k->scale(g->k, g->layers[l].mid, M_SQRT1_2, rows, g->d->hidden);
}

void laurel_scale_reverse(struct engine *g, struct buffer *d_mid, struct rows rows)
{
    g->k->scale(g->k, d_mid, M_SQRT1_2, rows, g->d->hidden);
}

void laurel_reverse(struct engine *g, int l, struct buffer *spare, const struct buffer *d_sum,
                    int batch)
{
    struct kernels *k = g->k;
    const struct block_weights *w = &g->blocks[l];
    const struct layer *s = &g->layers[l];
    const int queries = g->shape.queries[l], hidden = g->d->hidden;
    const struct rows rows = {batch, queries};
    k->norm_reverse(k, spare, NULL, d_sum, s->laurel_sum, s->laurel_statistics,
                    &w->laurel_norm.norm, rows, hidden, 0);
    k->linear_reverse(k, g->low, spare, w->laurel_up.weight, rows, 0);
    k->linear_reverse(k, g->t, g->low, w->laurel_down.weight, rows, 0);
    k->add(k, g->t, d_sum, rows, hidden);
    k->tail_reverse(k, g->y, g->t, batch, queries, g->shape.keys[l], hidden);
}
