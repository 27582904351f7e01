/* Recurrences that are scans (decoder.h, struct scan_view): what they read, made of what the
 * convolution gives, and made again in reverse. */
#include "model/engine_parts.h"

static struct scan scan_of(const struct engine *g, int l)
{
    const struct recurrence_view *v = &g->d->blocks[l].mixer.recurrence;
    return (struct scan){.channels = v->value_size,
                         .size = v->scan.size,
                         .groups = v->scan.groups,
                         .selective = !block_is_lru(&g->d->blocks[l]),
                         .rate = g->blocks[l].rate,
                         .skip = g->blocks[l].skip};
}

/* B and C; none of linear recurrent units. */
static const struct buffer *factors_of(const struct engine *g, int l)
{
    return block_is_lru(&g->d->blocks[l]) ? NULL : g->factors;
}

/* y = norm(matrix x) by `parts` equal parts of a row of `width` numbers; with a norm, `raw` is what
 * it reads. */
static void project(struct kernels *k, struct buffer *y, struct buffer *raw,
                    struct buffer *statistics, const struct buffer *x,
                    const struct linear_weights *matrix, const struct norm_weights *norm,
                    struct rows rows, int parts, int width)
{
    k->linear(k, norm->present ? raw : y, x, matrix->weight, matrix->bias, rows, 0);
    if (norm->present)
        k->norm_heads(k, y, statistics, raw, &norm->norm, rows, parts, width / parts, width);
}

/* Adds to dx what `project` passes back of dy, which becomes the gradient of `raw`. */
static void project_reverse(struct kernels *k, struct buffer *dx, struct buffer *dy,
                            const struct buffer *raw, const struct buffer *statistics,
                            const struct linear_weights *matrix, const struct norm_weights *norm,
                            struct rows rows, int parts, int width)
{
    if (norm->present)
        k->norm_heads_reverse(k, dy, dy, raw, statistics, &norm->norm, rows, parts, width / parts,
                              width);
    k->linear_reverse(k, dx, dy, matrix->weight, rows, 1);
}

void scan_operands(struct engine *g, int l, int batch, int before)
{
    struct kernels *k = g->k;
    const struct block *b = &g->d->blocks[l];
    const struct recurrence_view *v = &b->mixer.recurrence;
    const struct block_weights *w = &g->blocks[l];
    struct rows rows = {batch, g->shape.keys[l]};
    if (block_is_lru(b)) {
        k->linear(k, g->unit, g->layers[l].convolved, w->scan_unit.weight, w->scan_unit.bias, rows,
                  0);
        k->lru(k, g->gates, g->qkv, g->layers[l].convolved, g->unit, w->rate, rows, v->value_size,
               before);
        return;
    }
    k->activate(k, g->qkv, g->layers[l].convolved, NULL, v->activation, rows,
                block_recurrence_width(b));
    project(k, g->low_steps, g->raw_low_steps, g->step_statistics, g->qkv, &w->scan_low,
            &w->scan_step_norm, rows, 1, (int)block_low_width(b));
    k->linear(k, g->gates, g->low_steps, w->scan_steps.weight, w->scan_steps.bias, rows, 0);
    project(k, g->factors, g->raw_factors, g->factor_statistics, g->qkv, &w->scan_factors,
            &w->scan_factor_norm, rows, 2, block_factors_width(b));
}

void scan_recur(struct engine *g, int l, int batch)
{
    struct scan scan = scan_of(g, l);
    g->k->scan(g->k, g->layers[l].raw_recurred, g->layers[l].states, g->qkv, g->gates,
               factors_of(g, l), &scan, batch, g->shape.queries[l], g->shape.keys[l]);
}

void scan_recur_reverse(struct engine *g, int l, const struct buffer *d_o, int batch)
{
    struct scan scan = scan_of(g, l);
    g->k->scan_reverse(g->k, g->dkv, g->d_gates, scan.selective ? g->d_factors : NULL, d_o,
                       g->layers[l].states, g->qkv, g->gates, factors_of(g, l), &scan, batch,
                       g->shape.queries[l], g->shape.keys[l]);
}

void scan_operands_reverse(struct engine *g, int l, int batch, int before)
{
    struct kernels *k = g->k;
    const struct block *b = &g->d->blocks[l];
    const struct block_weights *w = &g->blocks[l];
    struct rows rows = {batch, g->shape.keys[l]};
    if (block_is_lru(b)) {
        k->lru_reverse(k, g->dkv, g->d_unit, g->dkv, g->d_gates, g->layers[l].convolved, g->unit,
                       w->rate, rows, b->mixer.recurrence.value_size, before);
        k->linear_reverse(k, g->dkv, g->d_unit, w->scan_unit.weight, rows, 1);
        return;
    }
    k->linear_reverse(k, g->low_steps, g->d_gates, w->scan_steps.weight, rows, 0);
    project_reverse(k, g->dkv, g->low_steps, g->raw_low_steps, g->step_statistics, &w->scan_low,
                    &w->scan_step_norm, rows, 1, (int)block_low_width(b));
    project_reverse(k, g->dkv, g->d_factors, g->raw_factors, g->factor_statistics, &w->scan_factors,
                    &w->scan_factor_norm, rows, 2, block_factors_width(b));
}
