/* Reverse mode with respect to the residual stream, down to the input embeddings. No weight gradients.
 *
 * Each step is the transpose of the derivative of the forward step with the same name; s_m needs only ||g_m|| ([A] section 5.1). */
#include "model/engine_parts.h"

void reverse_head(struct engine *g, struct buffer *dx, int batch)
{
    struct kernels *k = g->k;
    const struct decoder *d = g->d;
    struct rows rows = {batch, 1};
    struct buffer *x = g->x[d->layers];
    k->norm(k, g->last, g->final_statistics, x, &g->final_norm.norm, rows, d->hidden);
    k->head(k, g->d_last, g->logprob, g->last, g->head, g->head_bias, g->targets, d->head_soft_cap, g->options.seed, batch, d->hidden);
    k->norm_reverse(k, dx, g->d_last, x, g->final_statistics, &g->final_norm.norm, rows, d->hidden, 0);
}

/* dy = gradient of the block's output -> gradient of the MLP norm's output in g->y [B queries, d]. */
static void reverse_mlp(struct engine *g, int l, const struct buffer *dy, struct rows rows)
{
    struct kernels *k = g->k;
    const struct block_weights *w = &g->blocks[l];
    struct kept *s = &g->kept[l];
    int gated = w->gate.weight != NULL;
    k->linear_reverse(k, g->a, dy, w->down.weight, rows, 0);
    k->activate_reverse(k, g->a, gated ? g->da_gate : NULL, g->a, s->up, gated ? s->gate : NULL, g->d->blocks[l].activation, rows, g->d->mlp);
    k->linear_reverse(k, g->y, g->a, w->up.weight, rows, 0);
    if (gated)
        k->linear_reverse(k, g->y, g->da_gate, w->gate.weight, rows, 1);
}

/* dy = gradient of the attention branch's output -> gradient of the attention norm's output in g->y [B keys, d]. */
static void reverse_attention(struct engine *g, int l, const struct buffer *dy, int batch)
{
    struct kernels *k = g->k;
    const struct decoder *d = g->d;
    const struct block_weights *w = &g->blocks[l];
    struct kept *s = &g->kept[l];
    int keys = g->keys[l], queries = g->queries[l];
    struct rows key_rows = {batch, keys}, query_rows = {batch, queries};
    k->linear_reverse(k, g->t, dy, w->output.weight, query_rows, 0);
    k->attention_reverse(k, g->dq, g->dkv, g->t, s->q, s->kv, s->o, s->lse, g->attention[l], batch, queries, keys);
    if (d->position == POSITION_ROTARY) {
        k->rotate(k, g->dq, g->attention[l], query_rows, d->heads, d->heads * d->head_size, -1);
        k->rotate(k, g->dkv, g->attention[l], key_rows, d->kv_heads, 2 * d->kv_heads * d->head_size, -1);
    }
    k->linear_reverse(k, g->y, g->dkv, w->kv.weight, key_rows, 0);
    if (queries == keys) {
        k->linear_reverse(k, g->y, g->dq, w->query.weight, query_rows, 1);
    } else {
        k->linear_reverse(k, g->t, g->dq, w->query.weight, query_rows, 0);
        k->tail_reverse(k, g->y, g->t, batch, queries, keys, d->hidden);
    }
}

void reverse_block(struct engine *g, int l, struct buffer *dx, struct buffer *dy, int batch)
{
    struct kernels *k = g->k;
    const struct decoder *d = g->d;
    const struct block *b = &d->blocks[l];
    const struct block_weights *w = &g->blocks[l];
    struct kept *s = &g->kept[l];
    int keys = g->keys[l], queries = g->queries[l], hidden = d->hidden;
    struct rows key_rows = {batch, keys}, query_rows = {batch, queries};

    if (b->residual == RESIDUAL_SEQUENTIAL) {
        /* dy becomes the gradient of `mid` */
        reverse_mlp(g, l, dy, query_rows);
        if (b->residual_from_norm)
            k->tail_reverse(k, g->y, dy, batch, queries, queries, hidden);
        k->norm_reverse(k, dy, g->y, s->mid, s->statistics_2, &w->mlp_norm.norm, query_rows, hidden, !b->residual_from_norm);
        reverse_attention(g, l, dy, batch);
        if (b->residual_from_norm)
            k->tail_reverse(k, g->y, dy, batch, queries, keys, hidden);
        k->norm_reverse(k, dx, g->y, g->x[l], s->statistics_1, &w->attention_norm.norm, key_rows, hidden, 0);
        if (!b->residual_from_norm)
            k->tail_reverse(k, dx, dy, batch, queries, keys, hidden);
        return;
    }
    reverse_attention(g, l, dy, batch);
    k->norm_reverse(k, dx, g->y, g->x[l], s->statistics_1, &w->attention_norm.norm, key_rows, hidden, 0);
    k->tail_reverse(k, dx, dy, batch, queries, keys, hidden);
    reverse_mlp(g, l, dy, query_rows);
    if (queries == keys) {
        k->norm_reverse(k, dx, g->y, g->x[l], s->statistics_2, &w->mlp_norm.norm, query_rows, hidden, 1);
    } else {
        k->tail(k, g->r, g->x[l], batch, queries, keys, hidden);
        k->norm_reverse(k, g->s, g->y, g->r, s->statistics_2, &w->mlp_norm.norm, query_rows, hidden, 0);
        k->tail_reverse(k, dx, g->s, batch, queries, keys, hidden);
    }
}

void reverse_embed(struct engine *g, struct buffer *dx, int batch)
{
    struct kernels *k = g->k;
    struct rows rows = {batch, g->keys[0]};
    struct buffer *at = dx;
    if (g->embedding_norm.scale) {
        at = dx == g->g[0] ? g->g[1] : g->g[0];
        k->norm_reverse(k, at, dx, g->raw, g->raw_statistics, &g->embedding_norm.norm, rows, g->d->hidden, 0);
    }
    k->row_norms(k, g->norms, at, g->d->embedding_scale, rows, g->d->hidden);
}
