/* Reverse mode with respect to the residual stream, down to the input embeddings. No weight
 * gradients.
 *
 * Each step is the transpose of the derivative of the forward step with the same name; s_m needs
 * only ||g_m|| ([A] section 5.1).
 */
#include "model/engine_parts.h"

#include <math.h>

/* The step after the gradient of the residual stream dx. */
enum next { PASS, PRODUCT }; /* a product reads it, and may want it rounded */

/* dx was written by an operation other than norm_reverse, or without rounding. */
static void no_rounding(struct engine *g, const struct buffer *dx)
{
    if (g->rounded_of == dx)
        g->rounded_of = NULL;
}

/* What a norm read and kept in the forward pass. */
struct normed {
    const struct buffer *x, *statistics;
    const struct norm_weights *weights;
};

/* dx (+)= the reverse of a norm. */
static void norm_reverse(struct engine *g, struct buffer *dx, const struct buffer *dy,
                         struct normed of, struct rows rows, int accumulate, enum next next)
{
    no_rounding(g, dx);
    g->k->norm_reverse(g->k, dx, next == PRODUCT ? g->rounded : NULL, dy, of.x, of.statistics,
                       &of.weights->norm, rows, g->d->hidden, accumulate);
    if (next == PRODUCT)
        g->rounded_of = dx;
}

/* What a product reads for dy, a gradient of the residual stream. */
static const struct buffer *as_operand(const struct engine *g, const struct buffer *dy)
{
    return g->rounded && g->rounded_of == dy ? g->rounded : dy;
}

/* The same, or the reverse of a copy if there is no norm. */
static void normed_reverse(struct engine *g, struct buffer *dx, const struct buffer *dy,
                           struct normed of, struct rows rows, int accumulate, enum next next)
{
    struct kernels *k = g->k;
    if (of.weights->present) {
        norm_reverse(g, dx, dy, of, rows, accumulate, next);
        return;
    }
    no_rounding(g, dx);
    if (accumulate)
        k->add(k, dx, dy, rows, g->d->hidden);
    else
        k->copy(k, dx, dy, rows, g->d->hidden);
}

void reverse_input(struct engine *g, int l, struct buffer **dx, struct buffer **dy, int batch)
{
    const struct norm_weights *norm = &g->blocks[l].attention_norm;
    struct layer *s = &g->layers[l];
    int keys = g->shape.keys[l], queries = g->shape.queries[l];
    struct rows rows = {batch, keys};
    if (queries == keys) {
        struct buffer *swap = *dx;
        *dx = *dy, *dy = swap;
        normed_reverse(g, *dx, g->y, (struct normed){block_input(g, l), s->statistics_1, norm},
                       rows, 1, l > 0 ? PRODUCT : PASS);
        return;
    }
    normed_reverse(g, *dx, g->y, (struct normed){block_input(g, l), s->statistics_1, norm}, rows, 0,
                   PASS);
    if (queries)
        g->k->tail_reverse(g->k, *dx, *dy, batch, queries, keys, g->d->hidden);
}

void reverse_head(struct engine *g, struct buffer *dx, int batch)
{
    struct kernels *k = g->k;
    const struct decoder *d = g->d;
    struct rows rows = {batch, g->shape.outputs};
    struct buffer *dy = g->d_last;
    forward_last(g, rows);
    /* of a sum of log p each row has its own target, and nothing else */
    k->head(k, g->d_last, g->logprob, g->last, g->targets, g->head, g->head_bias, d->head_soft_cap,
            g->seed, batch * g->shape.outputs, d->embedding_width);
    if (g->against) { /* the gradient of a difference is that of its two parts, the second negated
                       */
        k->head(k, g->d_against, g->logprob_against, g->last, g->against, g->head, g->head_bias,
                d->head_soft_cap, -g->seed, batch, d->embedding_width);
        k->add(k, g->d_last, g->d_against, rows, d->embedding_width);
    }
    k->row_norms(k, g->head_peak, g->d_last, 1, rows, d->embedding_width);
    if (g->project_out.weight) {
        k->linear_reverse(k, g->y, g->d_last, g->project_out.weight, rows, 0);
        dy = g->y;
    }
    if (d->streams.count) {
        normed_reverse(g, g->stream[2], dy,
                       (struct normed){g->joined, g->final_statistics, &g->final_norm}, rows, 0,
                       PASS);
        streams_join_reverse(g, dx, rows);
    } else {
        normed_reverse(g, dx, dy,
                       (struct normed){g->layers[d->layers].x, g->final_statistics, &g->final_norm},
                       rows, 0, PRODUCT);
    }
    range_peak(g, d->layers, dx, batch);
}

/* dy = gradient of the block's output -> gradient of the MLP norm's output in g->y [B queries, d];
 * of the MLP alone, from g->d_branch, if experts are apart. */
static int reverse_mlp(struct engine *g, int l, const struct buffer *dy, struct rows rows,
                       struct error *e)
{
    struct kernels *k = g->k;
    const struct block_weights *w = &g->blocks[l];
    struct layer *s = &g->layers[l];
    const struct block *b = &g->d->blocks[l];
    struct buffer *gate = w->gate.weight ? s->gate : NULL;
    int own = w->up.weight != NULL, width = mlp_width(b), apart = b->experts.apart;
    const struct buffer *d_down = apart ? g->d_branch : as_operand(g, dy);
    if (w->after.weight) {
        k->linear_reverse(k, g->t, d_down, w->after.weight, rows, 0);
        d_down = g->t;
    }
    if (own)
        k->linear_reverse(k, g->a, d_down, w->down.weight, rows, 0);
    if (w->shared_gate.weight) {
        k->activate(k, g->da_gate, s->up, gate, b->activation, rows, width);
        k->weigh_reverse(k, g->d_weights, g->a, g->da_gate, NULL, s->shared_weight,
                         (size_t)rows.segments * (size_t)rows.count, width);
    }
    if (b->has_xielu)
        k->xielu_reverse(k, g->a, g->a, s->up, &b->xielu, rows, width);
    else if (own)
        k->activate_reverse(k, g->a, gate ? g->da_gate : NULL, g->a, s->up, gate, b->activation,
                            rows, width);
    if (own)
        k->linear_reverse(k, g->y, g->a, w->up.weight, rows, 0);
    low_rank_reverse(g, g->y, g->a, &w->up_low, rows);
    if (b->gate_cut.present)
        cut_reverse(g, l, rows);
    if (gate)
        k->linear_reverse(k, g->y, b->gate_cut.present ? g->cut_d : g->da_gate, w->gate.weight,
                          rows, 1);
    low_rank_reverse(g, g->y, g->da_gate, &w->gate_low, rows);
    if (w->shared_gate.weight) {
        k->route_reverse(k, g->d_logits, g->d_weights, s->shared_logit, NULL, &shared_routing,
                         rows);
        k->linear_reverse(k, g->y, g->d_logits, w->shared_gate.weight, rows, 1);
    }
    return b->experts.routing.experts && !apart ? experts_reverse(g, l, dy, rows.segments, own, e)
                                                : 0;
}

/* g->dq after the norm of queries -> before it. */
static void reverse_query_norm(struct engine *g, int l, struct rows rows)
{
    const struct decoder *d = g->d;
    const struct layer *s = &g->layers[l];
    int width = block_q_width(d, &d->blocks[l]), heads = d->blocks[l].norms_whole ? 1 : d->heads;
    g->k->norm_heads_reverse(g->k, g->dq, g->dq, s->raw_q, s->statistics_q,
                             &g->blocks[l].query_norm.norm, rows, heads, width / heads, width);
}

/* g->dkv of block l goes to the block whose keys and values it read, or gets what was left there
 * for it. */
static void pass_keys(struct engine *g, int l, int batch)
{
    struct kernels *k = g->k;
    const struct decoder *d = g->d;
    int source = block_source(d, l), width = block_kv_width(d, &d->blocks[l]), above = l + 1;
    struct rows rows = {batch, shape_span(&g->shape, l)};
    while (above < d->layers && d->blocks[above].source != source + 1)
        above++;
    if (source == l && g->layers[l].d_kv)
        k->add(k, g->dkv, g->layers[l].d_kv, rows, width);
    else if (source < l && above == d->layers) /* the first of them in reverse */
        k->copy(k, g->layers[source].d_kv, g->dkv, rows, width);
    else if (source < l)
        k->add(k, g->layers[source].d_kv, g->dkv, rows, width);
}

/* g->t = gradient of the attention's output -> gradient of the attention norm's output in g->y
 * [B keys, d]. */
static void reverse_attention(struct engine *g, int l, int batch)
{
    struct kernels *k = g->k;
    const struct decoder *d = g->d;
    const struct block *b = &d->blocks[l];
    const struct block_weights *w = &g->blocks[l];
    struct layer *s = &g->layers[l];
    int keys = g->shape.keys[l], queries = g->shape.queries[l], q_width = block_q_width(d, b),
        kv_width = block_kv_width(d, b);
    struct rows key_rows = {batch, keys}, query_rows = {batch, queries};
    if (w->latent_down.weight)
        latent_restore(g, l, batch);
    const struct buffer *o = w->output_gate.weight ? s->raw_o : s->o;
    if (w->output_gate.weight)
        k->activate_reverse(k, g->t, g->dz, g->t, o, s->z, ACTIVATION_SIGMOID, query_rows,
                            block_o_width(d, b));
    k->attention_reverse(k, g->dq, g->dkv, g->t, s->q, g->layers[block_source(d, l)].kv, o, s->lse,
                         g->attention[l], w->sinks, batch, queries, shape_span(&g->shape, l));
    pass_keys(g, l, batch);
    if (b->score.log_length || b->score.query_growth != 0)
        k->scale_queries(k, g->dq, g->attention[l], query_rows, q_width);
    if (b->query_norm_last)
        reverse_query_norm(g, l, query_rows);
    if (shape_rotates(d, l)) {
        k->rotate(k, g->dq, g->attention[l], query_rows, d->heads, q_width, -1);
        if (!b->source)
            k->rotate(k, g->dkv, g->attention[l], key_rows, block_kv_heads(d, b), kv_width, -1);
    }
    if (b->clip > 0) {
        int rotated = shape_rotates(d, l);
        k->clip_reverse(k, g->dq, rotated ? s->clipped_q : s->q, b->clip, query_rows, q_width);
        k->clip_reverse(k, g->dkv, rotated ? s->clipped_kv : s->kv, b->clip, key_rows, kv_width);
    }
    if (w->query_norm.present) {
        if (!b->query_norm_last)
            reverse_query_norm(g, l, query_rows);
        if (!b->source)
            k->norm_heads_reverse(k, g->dkv, g->dkv, s->raw_kv, s->statistics_k, &w->key_norm.norm,
                                  key_rows, block_key_norms(d, b),
                                  b->norms_whole ? block_key_width(d, b) : block_head_size(d, b),
                                  kv_width);
    }
    if (w->latent_down.weight) {
        latent_reverse(g, l, batch);
        return;
    }
    if (!b->source)
        k->linear_reverse(k, g->y, g->dkv, w->kv.weight, key_rows, 0);
    if (queries == keys) {
        k->linear_reverse(k, g->y, g->dq, w->query.weight, query_rows, !b->source);
    } else {
        k->linear_reverse(k, g->t, g->dq, w->query.weight, query_rows, 0);
        k->tail_reverse(k, g->y, g->t, batch, queries, keys, d->hidden);
    }
    low_rank_reverse(g, g->y, g->dkv, &w->kv_low, key_rows);
    low_rank_reverse(g, g->y, g->dq, &w->query_low, query_rows);
}

void reverse_output_gate(struct engine *g, int l, const struct weight *w, const struct weight *down,
                         int batch)
{
    struct kernels *k = g->k;
    int keys = g->shape.keys[l], queries = g->shape.queries[l];
    struct rows rows = {batch, queries};
    if (down)
        k->linear_reverse(k, g->low, g->dz, w, rows, 0);
    const struct buffer *d = down ? g->low : g->dz;
    const struct weight *last = down ? down : w;
    if (queries == keys) {
        k->linear_reverse(k, g->y, d, last, rows, 1);
        return;
    }
    k->linear_reverse(k, g->t, d, last, rows, 0);
    k->tail_reverse(k, g->y, g->t, batch, queries, keys, g->d->hidden);
}

void reverse_recurrence_out(struct engine *g, int l, const struct buffer *dy, int batch)
{
    g->k->linear_reverse(g->k, g->t, as_operand(g, dy), g->blocks[l].recurrence_out.weight,
                         (struct rows){batch, g->shape.queries[l]}, 0);
}

/* Gradient of the attention norm's output in g->y [B keys, d] by any mixer, from dy = gradient of
 * its branch's output. */
static void reverse_mixer(struct engine *g, int l, const struct buffer *dy, int batch)
{
    struct kernels *k = g->k;
    const struct block *b = &g->d->blocks[l];
    const struct block_weights *w = &g->blocks[l];
    struct rows rows = {batch, g->shape.queries[l]};
    int first = block_attends(b) || block_convolves(b);
    if (block_mixes_channels(b)) {
        channels_reverse(g, l, dy, batch);
        return;
    }
    if (first)
        k->linear_reverse(k, g->t, as_operand(g, dy), w->output.weight, rows, 0);
    if (block_convolves(b))
        convolution_reverse(g, l, batch);
    if (block_attends(b))
        reverse_attention(g, l, batch);
    if (w->output_gate.weight)
        reverse_output_gate(g, l, w->output_gate.weight, NULL, batch);
    if (!block_recurs(b))
        return;
    reverse_recurrence_out(g, l, dy, batch);
    recurrence_reverse(g, l, batch, first);
    if (!block_mixes_time(b))
        reverse_output_gate(g, l, w->recurrence_gate.weight, w->recurrence_gate_down.weight, batch);
}

struct buffer *reverse_rest(struct engine *g, int l, struct buffer *dx, struct buffer *dy,
                            int batch, struct error *e)
{
    struct kernels *k = g->k;
    const struct block *b = &g->d->blocks[l];
    const struct block_weights *w = &g->blocks[l];
    struct layer *s = &g->layers[l];
    struct rows rows = {batch, g->shape.queries[l]};
    struct buffer *branch = dy;
    if (!block_has_mlp(b))
        return dy;
    /* dx holds the gradient of a branch before its post norm */
    if (w->mlp_post_norm.present) {
        branch = dx;
        norm_reverse(g, branch, dy, (struct normed){s->mlp_sum, s->statistics_4, &w->mlp_post_norm},
                     rows, 0, PRODUCT);
    }
    if ((b->experts.apart && experts_apart_reverse(g, l, dy, branch, batch, e)) ||
        reverse_mlp(g, l, branch, rows, e))
        return NULL;
    if (b->residual_from_norm)
        k->add(k, g->y, dy, rows, g->d->hidden);
    const struct buffer *mid = block_mixes(b) ? s->mid : block_input(g, l);
    normed_reverse(g, dy, g->y, (struct normed){mid, s->statistics_2, &w->mlp_norm}, rows,
                   !b->residual_from_norm, w->attention_post_norm.present ? PASS : PRODUCT);
    if (!block_mixes(b))
        return dy;
    if (w->laurel_down.weight)
        laurel_scale_reverse(g, dy, rows);
    if (!w->attention_post_norm.present)
        return dy;
    norm_reverse(g, dx, dy,
                 (struct normed){s->attention_sum, s->statistics_3, &w->attention_post_norm}, rows,
                 0, PRODUCT);
    return dx;
}

/* Blocks whose MLP reads the residual stream after attention, s->mid, with or without post norms.
 */
static int reverse_sequential(struct engine *g, int l, struct buffer **to, struct buffer **from,
                              int batch, struct error *e)
{
    struct kernels *k = g->k;
    const struct block *b = &g->d->blocks[l];
    const struct block_weights *w = &g->blocks[l];
    struct layer *s = &g->layers[l];
    int keys = g->shape.keys[l], queries = g->shape.queries[l];
    struct buffer *dx = *to, *dy = *from, *branch = reverse_rest(g, l, dx, dy, batch, e);

    if (!branch)
        return -1;
    if (!block_mixes(b)) {
        *to = dy, *from = dx;
        return 0;
    }
    reverse_mixer(g, l, branch, batch);
    if (w->laurel_down.weight)
        laurel_reverse(g, l, dx, dy, batch);
    if (b->residual_from_norm) {
        k->tail_reverse(k, g->y, dy, batch, queries, keys, g->d->hidden);
        normed_reverse(g, dx, g->y, (struct normed){s->x, s->statistics_1, &w->attention_norm},
                       (struct rows){batch, keys}, 0, PRODUCT);
    } else
        reverse_input(g, l, to, from, batch);
    return 0;
}

/* Blocks with norms after the sums. */
static int reverse_post(struct engine *g, int l, struct buffer **to, struct buffer **from,
                        int batch, struct error *e)
{
    const struct block_weights *w = &g->blocks[l];
    struct layer *s = &g->layers[l];
    struct buffer *dx = *to, *dy = *from;
    struct rows query_rows = {batch, g->shape.queries[l]};
    norm_reverse(g, dx, dy, (struct normed){s->mlp_sum, s->statistics_4, &w->mlp_post_norm},
                 query_rows, 0, PRODUCT);
    if (reverse_mlp(g, l, dx, query_rows, e))
        return -1;
    normed_reverse(g, dx, g->y, (struct normed){s->mid, s->statistics_2, &w->mlp_norm}, query_rows,
                   1, PASS); /* dx: gradient of `mid` */
    norm_reverse(g, dy, dx,
                 (struct normed){s->attention_sum, s->statistics_3, &w->attention_post_norm},
                 query_rows, 0, PRODUCT);
    reverse_mixer(g, l, dy, batch);
    reverse_input(g, l, to, from, batch);
    return 0;
}

/* Blocks whose branches both read x[l]. */
static int reverse_parallel(struct engine *g, int l, struct buffer *dx, struct buffer *dy,
                            int batch, struct error *e)
{
    struct kernels *k = g->k;
    const struct block_weights *w = &g->blocks[l];
    struct layer *s = &g->layers[l];
    int keys = g->shape.keys[l], queries = g->shape.queries[l], hidden = g->d->hidden;
    struct rows key_rows = {batch, keys}, query_rows = {batch, queries};
    reverse_mixer(g, l, dy, batch);
    normed_reverse(g, dx, g->y, (struct normed){s->x, s->statistics_1, &w->attention_norm},
                   key_rows, 0, PASS);
    k->tail_reverse(k, dx, dy, batch, queries, keys, hidden);
    if (reverse_mlp(g, l, dy, query_rows, e))
        return -1;
    if (queries == keys) {
        normed_reverse(g, dx, g->y, (struct normed){s->x, s->statistics_2, &w->mlp_norm},
                       query_rows, 1, l > 0 ? PRODUCT : PASS);
    } else {
        k->tail(k, g->r, s->x, batch, queries, keys, hidden);
        normed_reverse(g, g->s, g->y, (struct normed){g->r, s->statistics_2, &w->mlp_norm},
                       query_rows, 0, PASS);
        k->tail_reverse(k, dx, g->s, batch, queries, keys, hidden);
    }
    return 0;
}

/* A block whose addition only the next one's recurrence reads. */
static int reverse_detour(struct engine *g, int l, struct buffer **to, struct buffer **from,
                          int batch, struct error *e)
{
    struct layer *s = &g->layers[l];
    struct buffer *branch = *to, *dy = *from;
    struct rows rows = {batch, g->shape.queries[l]};
    if (reverse_mlp(g, l, dy, rows, e))
        return -1;
    norm_reverse(g, branch, g->y, (struct normed){s->mid, s->statistics_2, &g->blocks[l].mlp_norm},
                 rows, 0, PRODUCT);
    reverse_mixer(g, l, branch, batch);
    no_rounding(g, dy);
    detour_norm_reverse(g, l, dy, batch);
    *to = dy, *from = branch;
    return 0;
}

/* That one. */
static void reverse_rejoin(struct engine *g, int l, struct buffer *dx, const struct buffer *dy,
                           int batch)
{
    struct layer *s = &g->layers[l];
    detour_pass(g, l, dy, batch);
    reverse_mixer(g, l, dy, batch);
    norm_reverse(g, dx, g->y, (struct normed){s->x, s->statistics_1, &g->blocks[l].attention_norm},
                 (struct rows){batch, g->shape.keys[l]}, 0, PRODUCT);
}

/* A block that reads one of several streams. */
static int reverse_streams(struct engine *g, int l, struct buffer **dx, struct buffer **dy,
                           int batch, struct error *e)
{
    struct buffer *to = g->stream[1], *from = g->stream[0];
    g->rounded_of = NULL;
    streams_correct_reverse(g, l, *dy, batch);
    if (reverse_sequential(g, l, &to, &from, batch, e))
        return -1;
    g->rounded_of = NULL;
    streams_predict_reverse(g, l, dx, dy, to, batch);
    return 0;
}

int reverse_block(struct engine *g, int l, struct buffer **dx, struct buffer **dy, int batch,
                  struct error *e)
{
    if (g->d->blocks[l].side.gate.weight.data || g->d->blocks[l].factor != 0) {
        no_rounding(g, *dx);
        no_rounding(g, *dy);
        side_reverse(g, l, *dy, *dx, batch);
    }
    if (g->d->streams.count)
        return reverse_streams(g, l, dx, dy, batch, e);
    if (slices_count(&g->shape, l))
        return slices_reverse(g, l, dx, dy, e);
    switch (g->d->blocks[l].residual) {
    case RESIDUAL_SEQUENTIAL: return reverse_sequential(g, l, dx, dy, batch, e);
    case RESIDUAL_POST: return reverse_post(g, l, dx, dy, batch, e);
    case RESIDUAL_DETOUR: return reverse_detour(g, l, dx, dy, batch, e);
    case RESIDUAL_REJOIN: reverse_rejoin(g, l, *dx, *dy, batch); return 0;
    case RESIDUAL_PARALLEL: break;
    }
    return reverse_parallel(g, l, *dx, *dy, batch, e);
}

struct buffer *reverse_embed(struct engine *g, struct buffer *dx, int batch)
{
    struct kernels *k = g->k;
    const struct decoder *d = g->d;
    struct rows rows = {batch, g->shape.keys[0]};
    struct buffer *at = dx;
    if (d->streams.count) {
        at = dx == g->g[0] ? g->g[1] : g->g[0];
        streams_expand_reverse(g, at, dx, batch);
        dx = at;
    }
    if (g->d_start)
        k->add(k, dx, g->d_start, rows, d->hidden);
    if (g->embedding_norm.present) {
        at = dx == g->g[0] ? g->g[1] : g->g[0];
        k->norm_reverse(k, at, NULL, dx, g->raw, g->raw_statistics, &g->embedding_norm.norm, rows,
                        d->hidden, 0);
    }
    if (g->project_in.weight) {
        k->linear_reverse(k, g->narrow, at, g->project_in.weight, rows, 0);
        at = g->narrow;
    }
    return at;
}

void reverse_norms(struct engine *g, const struct buffer *gradient, int batch)
{
    g->k->row_norms(g->k, g->norms, gradient, fabs(g->d->embedding_scale),
                    (struct rows){batch, g->shape.keys[0]}, g->d->embedding_width);
}

int reverse_pass(struct engine *g, struct buffer **gradient, int batch, struct error *e)
{
    return forward_blocks(g, batch, e) || reverse_blocks(g, gradient, batch, e) ? -1 : 0;
}

int reverse_blocks(struct engine *g, struct buffer **gradient, int batch, struct error *e)
{
    struct kernels *k = g->k;
    int layers = g->d->layers, first_stored = layers - g->plan.stored_layers;
    struct buffer *dy = g->g[0], *dx = g->g[1];
    reverse_head(g, dy, batch);
    if (g->d_start)
        side_begin(g, batch);
    for (int l = layers - 1; l >= 0; l--) {
        if (aside_take(g, l, batch, e) || weights_need(g, l, e) ||
            (l < first_stored && forward_block(g, l, batch, 1, e)) ||
            reverse_block(g, l, &dx, &dy, batch, e))
            return -1;
        if (g->shape.by_layer && l > 0)
            k->row_norms(k, g->layers[l].norms, dx, 1, (struct rows){batch, g->shape.keys[l]},
                         stream_width(g->d));
        range_peak(g, l, dx, batch);
        if (weights_turn(g, l, l > 0 ? l - 1 : l, e)) /* the next pass starts with the first one */
            return -1;
        struct buffer *swap = dx;
        dx = dy, dy = swap;
        engine_seen(g, l < first_stored ? 3 : 2);
    }
    *gradient = reverse_embed(g, dy, batch);
    return 0;
}
