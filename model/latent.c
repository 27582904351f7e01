/* Queries, keys and values by way of latents (decoder.h, struct latent): down, a norm, up.
 *
 * Of a layer its latents are kept for reverse, before their norms, and the shared part of keys;
 * queries, keys and values, which are many times wider, are made again from them by the same
 * operations, so with the same bytes. All layers share their buffers. */
#include "model/engine_parts.h"

/* Rows of a matrix; 0: there is none. */
static size_t rows_of(const struct linear *l)
{
    return l->weight.data ? l->weight.groups * l->weight.rows : 0;
}

size_t latent_rank(const struct block *b)
{
    return rows_of(&b->latent.down);
}

size_t latent_query_rank(const struct block *b)
{
    return rows_of(&b->latent.query_down);
}

size_t latent_shared_size(const struct block *b)
{
    return rows_of(&b->latent.shared);
}

size_t latent_own_width(const struct block *b)
{
    return rows_of(&b->latent.up);
}

int latent_has(const struct decoder *d)
{
    for (int l = 0; l < d->layers; l++)
        if (latent_rank(&d->blocks[l]))
            return 1;
    return 0;
}

int latent_has_query(const struct decoder *d)
{
    for (int l = 0; l < d->layers; l++)
        if (latent_query_rank(&d->blocks[l]))
            return 1;
    return 0;
}

/* g->latent = the norm of a latent of `rank` numbers. */
static void norm(struct engine *g, struct buffer *statistics, const struct buffer *latent,
                 const struct norm_weights *w, struct rows rows, size_t rank)
{
    g->k->norm_heads(g->k, g->latent, statistics, latent, &w->norm, rows, 1, (int)rank, (int)rank);
}

/* q and kv of layer l from its latents; the rows of kv. */
static int expand(struct engine *g, int l, int batch)
{
    struct kernels *k = g->k;
    const struct block *b = &g->d->blocks[l];
    const struct block_weights *w = &g->blocks[l];
    struct layer *s = &g->layers[l];
    struct rows key_rows = {batch, g->shape.keys[l]}, query_rows = {batch, g->shape.queries[l]};
    if (w->latent_query_down.weight) {
        norm(g, s->latent_query_statistics, s->latent_query, &w->latent_query_norm, query_rows,
             latent_query_rank(b));
        k->linear(k, s->q, g->latent, w->query.weight, w->query.bias, query_rows, 0);
        forward_queries(g, l, batch);
    }
    norm(g, s->latent_statistics, s->latent, &w->latent_norm, key_rows, latent_rank(b));
    k->linear(k, g->own, g->latent, w->latent_up.weight, w->latent_up.bias, key_rows, 0);
    k->join_keys(k, g->shape.carry ? g->fresh : s->kv, g->own, s->shared_key, g->attention[l],
                 key_rows, (int)latent_shared_size(b));
    g->expanded = l;
    return forward_keys(g, l, batch);
}

int latent_forward(struct engine *g, int l, const struct buffer *y_last, int batch)
{
    struct kernels *k = g->k;
    const struct block_weights *w = &g->blocks[l];
    struct layer *s = &g->layers[l];
    struct rows key_rows = {batch, g->shape.keys[l]}, query_rows = {batch, g->shape.queries[l]};
    k->linear(k, s->latent, g->y, w->latent_down.weight, w->latent_down.bias, key_rows, 0);
    k->linear(k, s->shared_key, g->y, w->latent_shared.weight, w->latent_shared.bias, key_rows, 0);
    if (w->latent_query_down.weight) {
        k->linear(k, s->latent_query, y_last, w->latent_query_down.weight,
                  w->latent_query_down.bias, query_rows, 0);
    } else {
        k->linear(k, s->q, y_last, w->query.weight, w->query.bias, query_rows, 0);
        forward_queries(g, l, batch);
    }
    return expand(g, l, batch);
}

void latent_restore(struct engine *g, int l, int batch)
{
    if (g->expanded != l)
        (void)expand(g, l, batch);
}

/* g->latent, the gradient of a norm's output -> that of its input. */
static void norm_reverse(struct engine *g, const struct buffer *statistics,
                         const struct buffer *latent, const struct norm_weights *w,
                         struct rows rows, size_t rank)
{
    g->k->norm_heads_reverse(g->k, g->latent, g->latent, latent, statistics, &w->norm, rows, 1,
                             (int)rank, (int)rank);
}

void latent_reverse(struct engine *g, int l, int batch)
{
    struct kernels *k = g->k;
    const struct block *b = &g->d->blocks[l];
    const struct block_weights *w = &g->blocks[l];
    struct layer *s = &g->layers[l];
    int keys = g->shape.keys[l], queries = g->shape.queries[l];
    struct rows key_rows = {batch, keys}, query_rows = {batch, queries};
    k->join_keys_reverse(k, g->own, g->d_shared, g->dkv, g->attention[l], key_rows,
                         (int)latent_shared_size(b));
    k->linear_reverse(k, g->latent, g->own, w->latent_up.weight, key_rows, 0);
    norm_reverse(g, s->latent_statistics, s->latent, &w->latent_norm, key_rows, latent_rank(b));
    k->linear_reverse(k, g->y, g->latent, w->latent_down.weight, key_rows, 0);
    k->linear_reverse(k, g->y, g->d_shared, w->latent_shared.weight, key_rows, 1);
    const struct weight *first = w->query.weight;
    const struct buffer *d_first = g->dq;
    if (w->latent_query_down.weight) {
        k->linear_reverse(k, g->latent, g->dq, w->query.weight, query_rows, 0);
        norm_reverse(g, s->latent_query_statistics, s->latent_query, &w->latent_query_norm,
                     query_rows, latent_query_rank(b));
        first = w->latent_query_down.weight, d_first = g->latent;
    }
    if (queries == keys) {
        k->linear_reverse(k, g->y, d_first, first, query_rows, 1);
        return;
    }
    k->linear_reverse(k, g->t, d_first, first, query_rows, 0);
    k->tail_reverse(k, g->y, g->t, batch, queries, keys, g->d->hidden);
}
