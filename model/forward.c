/* Forward: embeddings, blocks. Computes only rows needed for the last output (engine_parts.h). */
#include "model/engine_parts.h"

void forward_norm(struct engine *g, struct buffer *y, struct buffer *statistics,
                  const struct buffer *x, const struct norm_weights *w, struct rows rows)
{
    if (w->present)
        g->k->norm(g->k, y, statistics, x, &w->norm, rows, g->d->hidden);
    else
        g->k->copy(g->k, y, x, rows, g->d->hidden);
}

void forward_embed(struct engine *g, int batch)
{
    struct kernels *k = g->k;
    const struct decoder *d = g->d;
    struct rows rows = {batch, g->shape.keys[0]};
    int norm = g->embedding_norm.present;
    struct buffer *to = norm ? g->raw : d->streams.count ? g->stream[0] : g->layers[0].x;
    double scale = d->embedding_scale * g->input_scale;
    if (g->project_in.weight) {
        k->embed(k, g->narrow, g->tokens, g->embedding, NULL, g->shape.n, scale, rows,
                 d->embedding_width);
        if (g->noisy)
            attribution_noise(g, g->narrow, rows);
        k->copy(k, g->y, g->narrow, rows, d->embedding_width);
        if (g->position_rows)
            k->embed(k, to, g->places, g->position_rows, NULL, g->shape.n, 1, rows, d->hidden);
        k->linear(k, to, g->y, g->project_in.weight, g->project_in.bias, rows,
                  g->position_rows != NULL);
    } else {
        k->embed(k, to, g->tokens, g->embedding, g->position_rows, g->shape.n, scale, rows,
                 d->hidden);
        if (g->noisy)
            attribution_noise(g, to, rows);
    }
    if (norm)
        k->norm(k, g->layers[0].x, g->raw_statistics, g->raw, &g->embedding_norm.norm, rows,
                d->hidden);
    if (g->start)
        k->copy(k, g->start, d->streams.count ? to : g->layers[0].x, rows, d->hidden);
    if (d->streams.count)
        streams_expand(g, batch);
}

int forward_keys(struct engine *g, int l, int batch)
{
    const struct decoder *d = g->d;
    const struct block *b = &d->blocks[l];
    struct rows rows = {batch, g->shape.carry ? score_join(g, l, batch) : g->shape.keys[l]};
    if (shape_rotates(d, l))
        g->k->rotate(g->k, g->layers[l].kv, g->attention[l], rows, block_kv_heads(d, b),
                     block_kv_width(d, b), +1);
    return rows.count;
}

void forward_queries(struct engine *g, int l, int batch)
{
    const struct decoder *d = g->d;
    const struct block *b = &d->blocks[l];
    struct rows rows = {batch, g->shape.queries[l]};
    if (shape_rotates(d, l) && !b->query_norm_last)
        g->k->rotate(g->k, g->layers[l].q, g->attention[l], rows, d->heads, block_q_width(d, b),
                     +1);
    if (b->score.log_length || b->score.query_growth != 0)
        g->k->scale_queries(g->k, g->layers[l].q, g->attention[l], rows, block_q_width(d, b));
}

/* Queries of y_last [B queries, d], keys and values of g->y [B keys, d], as read by attention:
 * s->q, s->kv. Returns the rows of kv per segment. */
static int forward_qkv(struct engine *g, int l, const struct buffer *y_last, int batch)
{
    struct kernels *k = g->k;
    const struct decoder *d = g->d;
    const struct block *b = &d->blocks[l];
    const struct block_weights *w = &g->blocks[l];
    struct layer *s = &g->layers[l];
    int keys = g->shape.keys[l], heads = w->query_norm.present, rotated = shape_rotates(d, l),
        q_width = block_q_width(d, b), kv_width = block_kv_width(d, b), last = b->query_norm_last;
    const int q_heads = b->norms_whole ? 1 : d->heads, k_heads = block_key_norms(d, b),
              q_size = q_width / q_heads,
              k_size = b->norms_whole ? block_key_width(d, b) : block_head_size(d, b);
    struct rows key_rows = {batch, keys}, query_rows = {batch, g->shape.queries[l]};
    struct buffer *kv = g->shape.carry
                            ? g->fresh
                            : s->kv; /* each buffer below is the next one if its step is absent */
    int clipped = b->clip > 0 && rotated;
    struct buffer *flat_q = clipped ? s->clipped_q : s->q, *flat_kv = clipped ? s->clipped_kv : kv;
    struct buffer *raw_q = heads ? s->raw_q : flat_q, *raw_kv = heads ? s->raw_kv : flat_kv;
    if (!b->source)
        k->linear(k, raw_kv, g->y, w->kv.weight, w->kv.bias, key_rows, 0);
    k->linear(k, raw_q, y_last, w->query.weight, w->query.bias, query_rows, 0);
    low_rank_add(g, raw_kv, g->y, &w->kv_low, key_rows);
    low_rank_add(g, raw_q, y_last, &w->query_low, query_rows);
    if (heads && !b->source) {
        if (!b->values_normed)
            k->copy(k, flat_kv, raw_kv, key_rows, kv_width); /* for the values */
        k->norm_heads(k, flat_kv, s->statistics_k, raw_kv, &w->key_norm.norm, key_rows, k_heads,
                      k_size, kv_width);
    }
    if (heads && !last)
        k->norm_heads(k, flat_q, s->statistics_q, raw_q, &w->query_norm.norm, query_rows, q_heads,
                      q_size, q_width);
    if (b->clip > 0) {
        k->clip(k, flat_kv, b->clip, key_rows, kv_width);
        k->clip(k, flat_q, b->clip, query_rows, q_width);
    }
    if (clipped) {
        k->copy(k, kv, flat_kv, key_rows, kv_width);
        k->copy(k, s->q, flat_q, query_rows, q_width);
    }
    if (last) {
        if (rotated)
            k->rotate(k, raw_q, g->attention[l], query_rows, d->heads, q_width, +1);
        k->norm_heads(k, s->q, s->statistics_q, raw_q, &w->query_norm.norm, query_rows, q_heads,
                      q_size, q_width);
    }
    forward_queries(g, l, batch);
    return b->source ? g->layers[block_source(d, l)].kv_rows : forward_keys(g, l, batch);
}

/* s->o of y_last [B queries, d] and g->y [B keys, d]. */
static void forward_attention(struct engine *g, int l, const struct buffer *y_last, int batch)
{
    const struct block_weights *w = &g->blocks[l];
    struct layer *s = &g->layers[l];
    s->kv_rows = w->latent_down.weight ? latent_forward(g, l, y_last, batch)
                                       : forward_qkv(g, l, y_last, batch);
    struct buffer *o = w->output_gate.weight ? s->raw_o : s->o;
    g->k->attention(g->k, o, s->lse, s->q, g->layers[block_source(g->d, l)].kv, g->attention[l],
                    w->sinks, batch, g->shape.queries[l], s->kv_rows);
    if (w->output_gate.weight) {
        struct rows rows = {batch, g->shape.queries[l]};
        g->k->linear(g->k, s->z, y_last, w->output_gate.weight, w->output_gate.bias, rows, 0);
        g->k->activate(g->k, s->o, o, s->z, ACTIVATION_SIGMOID, rows,
                       block_o_width(g->d, &g->d->blocks[l]));
    }
}

/* What mixes the rows. */
static void forward_mixer(struct engine *g, int l, const struct buffer *y_last, int batch)
{
    const struct block *b = &g->d->blocks[l];
    if (block_convolves(b))
        convolution_forward(g, l, batch);
    if (block_attends(b))
        forward_attention(g, l, y_last, batch);
    if (block_recurs(b))
        recurrence_forward(g, l, y_last, batch);
    if (block_mixes_channels(b))
        channels_forward(g, l, batch);
}

/* to[B queries, d] (+)= the output of the mixer; `from` if it is not NULL: to = that, and it. */
static void mixer_output(struct engine *g, int l, struct buffer *to, struct buffer *from,
                         int accumulate, int batch)
{
    struct kernels *k = g->k;
    const struct block *b = &g->d->blocks[l];
    const struct block_weights *w = &g->blocks[l];
    const struct layer *s = &g->layers[l];
    struct rows rows = {batch, g->shape.queries[l]};
    const struct {
        const struct buffer *o;
        const struct linear_weights *weights;
    } parts[] = {{s->o, &w->output}, {s->recurred, &w->recurrence_out}};
    if (block_mixes_channels(b)) { /* in g->t */
        if (from || !accumulate)
            k->copy(k, to, from ? from : g->t, rows, g->d->hidden);
        if (from || accumulate)
            k->add(k, to, g->t, rows, g->d->hidden);
        return;
    }
    for (int i = block_attends(b) || block_convolves(b) ? 0 : 1; i < 1 + block_recurs(b); i++) {
        if (from)
            k->linear_add(k, to, from, parts[i].o, parts[i].weights->weight, parts[i].weights->bias,
                          rows);
        else
            k->linear(k, to, parts[i].o, parts[i].weights->weight, parts[i].weights->bias, rows,
                      accumulate);
        from = NULL, accumulate = 1;
    }
}

/* to[B queries, d] = the last rows of `from` [B from_rows, d], and the output of the mixer. */
static void branch_joins(struct engine *g, int l, struct buffer *to, struct buffer *from,
                         int from_rows, int batch)
{
    int queries = g->shape.queries[l];
    if (queries != from_rows)
        g->k->tail(g->k, to, from, batch, queries, from_rows, g->d->hidden);
    mixer_output(g, l, to, queries == from_rows ? from : NULL, 1, batch);
}

/* Adds the mixer's branch to the residual stream, whose part for this block begins at
 * `from` [B from_rows, d]: s->mid. */
static void forward_mid(struct engine *g, int l, struct buffer *from, int from_rows, int batch)
{
    struct kernels *k = g->k;
    const struct block_weights *w = &g->blocks[l];
    struct layer *s = &g->layers[l];
    int queries = g->shape.queries[l], hidden = g->d->hidden;
    struct rows rows = {batch, queries};
    if (g->d->blocks[l].residual == RESIDUAL_POST) {
        branch_joins(g, l, s->attention_sum, from, from_rows, batch);
        k->norm(k, s->mid, s->statistics_3, s->attention_sum, &w->attention_post_norm.norm, rows,
                hidden);
        return;
    }
    if (!w->attention_post_norm.present) {
        branch_joins(g, l, s->mid, from, from_rows, batch);
        return;
    }
    k->tail(k, s->mid, from, batch, queries, from_rows, hidden);
    mixer_output(g, l, s->attention_sum, NULL, 0, batch);
    k->norm(k, g->t, s->statistics_3, s->attention_sum, &w->attention_post_norm.norm, rows, hidden);
    k->add(k, s->mid, g->t, rows, hidden);
}

/* to[B queries, d] = `onto`, which may be `to`, or NULL for nothing, plus MLP and experts. */
static int forward_mlp(struct engine *g, int l, struct buffer *to, struct buffer *onto, int batch,
                       struct error *e)
{
    struct kernels *k = g->k;
    const struct block *b = &g->d->blocks[l];
    const struct block_weights *w = &g->blocks[l];
    struct layer *s = &g->layers[l];
    struct rows rows = {batch, g->shape.queries[l]};
    if (b->has_xielu)
        k->xielu(k, g->a, s->up, &b->xielu, rows, mlp_width(b));
    else if (w->up.weight)
        k->activate(k, g->a, s->up, w->gate.weight ? s->gate : NULL, b->activation, rows,
                    mlp_width(b));
    if (w->after.weight) {
        k->linear(k, g->t, g->a, w->down.weight, w->down.bias, rows, 0);
        k->linear_add(k, to, onto, g->t, w->after.weight, w->after.bias, rows);
        return 0;
    }
    if (b->experts.apart) {
        k->linear(k, s->mlp_own, g->a, w->down.weight, w->down.bias, rows, 0);
        return experts_apart_join(g, l, to, batch, e);
    }
    int apart = onto && onto != to, plain = w->up.weight && !w->shared_gate.weight;
    if (apart && !plain)
        k->copy(k, to, onto, rows, g->d->hidden);
    if (w->shared_gate.weight) {
        k->linear(k, g->slots, g->a, w->down.weight, w->down.bias, rows, 0);
        k->combine(k, to, g->slots, NULL, s->shared_weight, rows, 1, g->d->hidden, onto != NULL);
    } else if (plain && apart) {
        k->linear_add(k, to, onto, g->a, w->down.weight, w->down.bias, rows);
    } else if (plain) {
        k->linear(k, to, g->a, w->down.weight, w->down.bias, rows, onto != NULL);
    }
    return b->experts.routing.experts ? experts_join(g, l, to, batch, onto || w->up.weight, e) : 0;
}

/* The end of a block with a norm after its MLP: s->mlp_sum, its statistics and, unless `only_kept`,
 * x[l + 1]. The residual stream is in `from` [B queries, d]. */
static int forward_post(struct engine *g, int l, struct buffer *from, int batch, int only_kept,
                        struct error *e)
{
    struct kernels *k = g->k;
    const struct block_weights *w = &g->blocks[l];
    struct layer *s = &g->layers[l];
    struct buffer *out = block_output(g, l);
    int queries = g->shape.queries[l], hidden = g->d->hidden,
        post = g->d->blocks[l].residual == RESIDUAL_POST;
    struct rows rows = {batch, queries};
    if (forward_mlp(g, l, s->mlp_sum, post ? from : NULL, batch, e))
        return -1;
    k->norm(k,
            only_kept ? NULL
            : post    ? out
                      : g->t,
            s->statistics_4, s->mlp_sum, &w->mlp_post_norm.norm, rows, hidden);
    if (only_kept || post)
        return 0;
    k->copy(k, out, from, rows, hidden);
    k->add(k, out, g->t, rows, hidden);
    return 0;
}

/* The mixer of `x`: s->o. Returns the rows of norm(x) that queries are of. */
static struct buffer *forward_mixing(struct engine *g, int l, struct buffer *x, int batch)
{
    int keys = g->shape.keys[l], queries = g->shape.queries[l];
    struct buffer *y_last = g->y;
    if (block_detours(&g->d->blocks[l]))
        detour_norm(g, l, batch);
    else
        forward_norm(g, g->y, g->layers[l].statistics_1, x, &g->blocks[l].attention_norm,
                     (struct rows){batch, keys});
    if (queries < keys) {
        g->k->tail(g->k, g->t, g->y, batch, queries, keys, g->d->hidden);
        y_last = g->t;
    }
    if (g->blocks[l].laurel_down.weight)
        laurel_forward(g, l, y_last, batch);
    forward_mixer(g, l, y_last, batch);
    return y_last;
}

int forward_rest(struct engine *g, int l, struct buffer *y_last, int batch, int only_kept,
                 struct error *e)
{
    struct kernels *k = g->k;
    const struct decoder *d = g->d;
    const struct block *b = &d->blocks[l];
    const struct block_weights *w = &g->blocks[l];
    struct layer *s = &g->layers[l];
    struct buffer *x = block_input(g, l), *out = block_output(g, l);
    int keys = g->shape.keys[l], queries = g->shape.queries[l], hidden = d->hidden,
        pruned = queries < keys;
    struct rows query_rows = {batch, queries};

    if (!block_has_mlp(b)) {
        if (!only_kept)
            branch_joins(g, l, out, b->residual == RESIDUAL_REJOIN ? g->passed : x, keys, batch);
        return 0;
    }

    /* residual stream after the mixer; the MLP reads it, or (parallel, or without) the block's
     * input */
    struct buffer *mlp_input = s->mid;
    if (!block_mixes(b)) {
        mlp_input = x;
    } else if (block_detours(b)) {
        mixer_output(g, l, s->mid, NULL, 0, batch);
    } else if (b->residual != RESIDUAL_PARALLEL) {
        forward_mid(g, l, b->residual_from_norm ? y_last : x,
                    b->residual_from_norm ? queries : keys, batch);
    } else {
        mlp_input = x;
        if (pruned) {
            k->tail(k, g->r, x, batch, queries, keys, hidden);
            mlp_input = g->r;
        }
    }
    if (w->laurel_down.weight)
        laurel_join(g, l, batch);
    forward_norm(g, g->y, s->statistics_2, mlp_input, &w->mlp_norm, query_rows);
    if (w->up.weight)
        k->linear(k, s->up, g->y, w->up.weight, w->up.bias, query_rows, 0);
    low_rank_add(g, s->up, g->y, &w->up_low, query_rows);
    if (w->gate.weight)
        k->linear(k, b->gate_cut.present ? s->gate_raw : s->gate, g->y, w->gate.weight,
                  w->gate.bias, query_rows, 0);
    low_rank_add(g, s->gate, g->y, &w->gate_low, query_rows);
    if (b->gate_cut.present)
        cut_forward(g, l, query_rows);
    if (b->experts.apart ? experts_apart_forward(g, l, batch, e)
                         : b->experts.routing.experts && experts_forward(g, l, batch, e))
        return -1;
    if (b->experts.routing.experts && !only_kept)
        near_ties_count(g, l, batch);
    if (only_kept && !w->mlp_post_norm.present)
        return 0;

    struct buffer *from = b->residual_from_norm ? g->y : block_detours(b) ? x : mlp_input;
    if (block_detours(b))
        k->copy(k, g->passed, x, query_rows, hidden);
    if (w->mlp_post_norm.present)
        return forward_post(g, l, from, batch, only_kept, e);
    if (b->residual == RESIDUAL_PARALLEL) {
        branch_joins(g, l, out, from, queries, batch);
        from = out;
    }
    return forward_mlp(g, l, out, from, batch, e);
}

/* Block l without what side_forward adds. */
static int forward_branches(struct engine *g, int l, int batch, int only_kept, struct error *e)
{
    struct buffer *y_last = block_mixes(&g->d->blocks[l])
                                ? forward_mixing(g, l, block_input(g, l), batch)
                                : NULL;
    return forward_rest(g, l, y_last, batch, only_kept, e);
}

int forward_block(struct engine *g, int l, int batch, int only_kept, struct error *e)
{
    /* the gate of an input besides x reads the block's output, whose buffer is free in reverse */
    int side = g->d->blocks[l].side.gate.weight.data != NULL, streams = g->d->streams.count;
    if (slices_count(&g->shape, l))
        return slices_forward(g, l, only_kept, e);
    if (streams)
        streams_predict(g, l, batch);
    if (forward_branches(g, l, batch, only_kept && !side && !streams, e))
        return -1;
    if (streams)
        streams_correct(g, l, batch);
    if (side || (!only_kept && g->d->blocks[l].factor != 0))
        side_forward(g, l, g->layers[l + 1].x, batch, only_kept);
    return 0;
}

int forward_blocks(struct engine *g, int batch, struct error *e)
{
    weights_begin(g);
    g->expanded = -1;
    forward_embed(g, batch);
    for (int l = 0, layers = g->d->layers; l < layers; l++) {
        if (weights_need(g, l, e) || aside_put(g, l, batch, e))
            return -1;
        if (forward_block(g, l, batch, 0, e) ||
            weights_turn(g, l, l + 1 < layers ? l + 1 : l,
                         e)) /* reverse starts with the last one */
            return -1;
        engine_seen(g, 1);
    }
    return 0;
}

void forward_last(struct engine *g, struct rows rows)
{
    struct buffer *x = g->d->streams.count ? g->joined : g->layers[g->d->layers].x,
                  *to = g->project_out.weight ? g->y : g->last;
    if (g->d->streams.count)
        streams_join(g, rows);
    forward_norm(g, to, g->final_statistics, x, &g->final_norm, rows);
    if (g->project_out.weight)
        g->k->linear(g->k, g->last, g->y, g->project_out.weight, g->project_out.bias, rows, 0);
}
