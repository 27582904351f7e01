/* Forward: embeddings, blocks. Only the rows that the last output depends on are computed (see engine_parts.h). */
#include "model/engine_parts.h"

void forward_embed(struct engine *g, int batch)
{
    struct kernels *k = g->k;
    const struct decoder *d = g->d;
    struct rows rows = {batch, g->keys[0]};
    int normed = g->embedding_norm.scale != NULL;
    struct buffer *to = normed ? g->raw : g->x[0];
    k->embed(k, to, g->tokens, g->embedding, d->embedding_scale, g->position_rows, g->n, rows, d->hidden);
    if (normed)
        k->norm(k, g->x[0], g->raw_statistics, g->raw, &g->embedding_norm.norm, rows, d->hidden);
}

void forward_block(struct engine *g, int l, int batch, int only_kept)
{
    struct kernels *k = g->k;
    const struct decoder *d = g->d;
    const struct block *b = &d->blocks[l];
    const struct block_weights *w = &g->blocks[l];
    struct kept *s = &g->kept[l];
    struct buffer *x = g->x[l], *out = g->x[l + 1];
    int keys = g->keys[l], queries = g->queries[l], hidden = d->hidden, pruned = queries < keys;
    int q_width = d->heads * d->head_size, kv_width = 2 * d->kv_heads * d->head_size;
    struct rows key_rows = {batch, keys}, query_rows = {batch, queries};

    /* attention; y = norm(x), its last rows in t when fewer queries than keys are needed */
    k->norm(k, g->y, s->statistics_1, x, &w->attention_norm.norm, key_rows, hidden);
    k->linear(k, s->kv, g->y, w->kv.weight, w->kv.bias, key_rows, 0);
    struct buffer *y_last = g->y;
    if (pruned) {
        k->tail(k, g->t, g->y, batch, queries, keys, hidden);
        y_last = g->t;
    }
    k->linear(k, s->q, y_last, w->query.weight, w->query.bias, query_rows, 0);
    if (d->position == POSITION_ROTARY) {
        k->rotate(k, s->q, g->attention[l], query_rows, d->heads, q_width, +1);
        k->rotate(k, s->kv, g->attention[l], key_rows, d->kv_heads, kv_width, +1);
    }
    k->attention(k, s->o, s->lse, s->q, s->kv, g->attention[l], batch, queries, keys);

    /* residual stream after attention; the MLP reads it, or (parallel) the block's input */
    struct buffer *mlp_input;
    if (b->residual == RESIDUAL_SEQUENTIAL) {
        k->tail(k, s->mid, b->residual_from_norm ? y_last : x, batch, queries, b->residual_from_norm ? queries : keys, hidden);
        k->linear(k, s->mid, s->o, w->output.weight, w->output.bias, query_rows, 1);
        mlp_input = s->mid;
    } else {
        mlp_input = x;
        if (pruned) {
            k->tail(k, g->r, x, batch, queries, keys, hidden);
            mlp_input = g->r;
        }
    }
    k->norm(k, g->y, s->statistics_2, mlp_input, &w->mlp_norm.norm, query_rows, hidden);
    k->linear(k, s->up, g->y, w->up.weight, w->up.bias, query_rows, 0);
    if (w->gate.weight)
        k->linear(k, s->gate, g->y, w->gate.weight, w->gate.bias, query_rows, 0);
    if (only_kept)
        return;

    k->activate(k, g->a, s->up, w->gate.weight ? s->gate : NULL, b->activation, query_rows, d->mlp);
    k->tail(k, out, b->residual == RESIDUAL_SEQUENTIAL && b->residual_from_norm ? g->y : mlp_input, batch, queries, queries, hidden);
    if (b->residual == RESIDUAL_PARALLEL)
        k->linear(k, out, s->o, w->output.weight, w->output.bias, query_rows, 1);
    k->linear(k, out, g->a, w->down.weight, w->down.bias, query_rows, 1);
}
