/* Inputs of blocks besides the residual stream, and factors on blocks' outputs, forward and in
 * reverse.
 *
 * The input p of a block is a norm of a projection of layer 0's x, plus a row of a table by token
 * (struct side_input). The derivative goes through the projection; the table is constant. */
#include "model/engine_parts.h"

/* The rows of g->start that block l writes: itself, or in g->t. */
static const struct buffer *start_rows(struct engine *g, int l, int batch)
{
    int queries = g->shape.queries[l], inputs = g->shape.keys[0];
    if (queries == inputs)
        return g->start;
    g->k->tail(g->k, g->t, g->start, batch, queries, inputs, g->d->hidden);
    return g->t;
}

void side_forward(struct engine *g, int l, struct buffer *to, int batch, int only_kept)
{
    struct kernels *k = g->k;
    const struct decoder *d = g->d;
    const struct block *b = &d->blocks[l];
    const struct block_weights *w = &g->blocks[l];
    struct layer *s = &g->layers[l];
    int queries = g->shape.queries[l], inputs = g->shape.keys[0], width = d->side_width;
    struct rows rows = {batch, queries};
    if (w->side_gate.weight) {
        k->linear(k, s->side_raw, start_rows(g, l, batch), w->side_project.weight, NULL, rows, 0);
        k->norm(k, s->side, s->side_raw_statistics, s->side_raw, &g->side_norm.norm, rows, width);
        k->embed(k, g->side, g->side_tokens ? g->side_tokens : g->tokens, w->side_table, NULL,
                 g->shape.n, d->side_scale, (struct rows){batch, inputs}, width);
        k->tail(k, g->y, g->side, batch, queries, inputs, width);
        k->add(k, s->side, g->y, rows, width);
        if (d->streams.count)
            k->gather(k, g->y, to, g->single[d->streams.active], (size_t)batch * (size_t)queries, 1,
                      d->hidden);
        else
            k->copy(k, g->y, to, rows, d->hidden);
        k->linear(k, s->side_gate, g->y, w->side_gate.weight, NULL, rows, 0);
        k->activate(k, g->a, s->side, s->side_gate, b->activation, rows, width);
        k->linear(k, s->side_sum, g->a, w->side_out.weight, NULL, rows, 0);
        k->norm(k, only_kept ? NULL : g->t, s->side_statistics, s->side_sum, &w->side_norm.norm,
                rows, d->hidden);
    }
    if (only_kept)
        return;
    if (w->side_gate.weight && d->streams.count)
        k->combine(k, to, g->t, g->of_row, g->rest,
                   (struct rows){batch, queries * d->streams.count}, 1, d->hidden, 1);
    else if (w->side_gate.weight)
        k->add(k, to, g->t, rows, d->hidden);
    if (b->factor != 0)
        k->scale(k, to, b->factor, rows, d->hidden);
}

void side_begin(struct engine *g, int batch)
{
    g->k->scale(g->k, g->d_start, 0, (struct rows){batch, g->shape.keys[0]}, g->d->hidden);
}

void side_reverse(struct engine *g, int l, struct buffer *dy, struct buffer *dx, int batch)
{
    struct kernels *k = g->k;
    const struct decoder *d = g->d;
    const struct block *b = &d->blocks[l];
    const struct block_weights *w = &g->blocks[l];
    struct layer *s = &g->layers[l];
    int queries = g->shape.queries[l], width = d->side_width;
    struct rows rows = {batch, queries};
    if (b->factor != 0)
        k->scale(k, dy, b->factor, rows, d->hidden);
    if (!w->side_gate.weight)
        return;
    const struct buffer *sum = dy; /* of the streams that it was added to */
    const int streams = d->streams.count;
    if (streams) {
        k->combine(k, g->stream[0], dy, NULL, g->rest, rows, streams, d->hidden, 0);
        sum = g->stream[0];
    }
    k->norm_reverse(k, dx, NULL, sum, s->side_sum, s->side_statistics, &w->side_norm.norm, rows,
                    d->hidden, 0);
    k->linear_reverse(k, g->a, dx, w->side_out.weight, rows, 0);
    k->activate_reverse(k, g->a, g->da_gate, g->a, s->side, s->side_gate, b->activation, rows,
                        width);
    k->linear_reverse(k, g->y, g->da_gate, w->side_gate.weight, rows, 0);
    if (streams)
        k->combine(k, dy, g->y, g->of_row, g->one[d->streams.active],
                   (struct rows){batch, queries * streams}, 1, d->hidden, 1);
    else
        k->add(k, dy, g->y, rows, d->hidden);
    k->norm_reverse(k, g->side, NULL, g->a, s->side_raw, s->side_raw_statistics, &g->side_norm.norm,
                    rows, width, 0);
    k->linear_reverse(k, g->t, g->side, w->side_project.weight, rows, 0);
    k->tail_reverse(k, g->d_start, g->t, batch, queries, g->shape.keys[0], d->hidden);
}
