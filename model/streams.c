/* Several residual streams, forward and in reverse (decoder.h: struct streams, struct predictor).
 *
 * A row of x has N streams one after the other, so stream i of row r is row r N + i of an array of
 * the model's width: `split` says so to the operations. What is made of one stream alone is made in
 * arrays of that width, and is added to its stream by the constants of the engine. */
#include "model/engine_parts.h"

#include <stdlib.h>

struct buffer *block_input(const struct engine *g, int l)
{
    return g->d->streams.count ? g->layers[l].active : g->layers[l].x;
}

struct buffer *block_output(const struct engine *g, int l)
{
    return g->d->streams.count ? g->layers[l].after : g->layers[l + 1].x;
}

int streams_open(struct engine *g, struct error *e)
{
    struct kernels *k = g->k;
    const size_t streams = (size_t)g->d->streams.count,
                 rows = (size_t)g->shape.batch * (size_t)g->shape.keys[0], all = rows * streams,
                 pairs = all * streams;
    if (pairs > INT32_MAX)
        return fail(e,
                    "%s: %zu rows of %zu streams (expected at most %d: fewer segments, or shorter "
                    "ones)",
                    g->d->path, rows, streams, INT32_MAX / (int)(streams * streams));
    int32_t *index = malloc(pairs * sizeof *index);
    double *ones = malloc(all * sizeof *ones);
    if (!index || !ones) {
        free(index), free(ones);
        return fail_memory(e, (double)pairs * sizeof *index, "rows of streams");
    }
    for (size_t i = 0; i < pairs; i++)
        index[i] = (int32_t)(i / (streams * streams) * streams + i % streams);
    k->write_index(k, g->of_pair, 0, index, pairs);
    for (size_t i = 0; i < all; i++)
        index[i] = (int32_t)(i / streams), ones[i] = i % streams > 0;
    k->write_index(k, g->of_row, 0, index, all);
    k->write(k, g->rest, 0, ones, all);
    for (size_t s = 0; s < streams; s++) {
        for (size_t r = 0; r < rows; r++)
            index[r] = (int32_t)(r * streams + s);
        for (size_t i = 0; i < all; i++)
            ones[i] = i % streams == s;
        k->write_index(k, g->single[s], 0, index, rows);
        k->write(k, g->one[s], 0, ones, all);
    }
    free(index), free(ones);
    return k->synchronize(k, e);
}

static struct rows split(const struct engine *g, struct rows rows)
{
    return (struct rows){rows.segments, rows.count * g->d->streams.count};
}

/* to [R, d] = stream `which` of x. */
static void take(struct engine *g, struct buffer *to, const struct buffer *x, int which,
                 struct rows rows)
{
    g->k->gather(g->k, to, x, g->single[which], (size_t)rows.segments * (size_t)rows.count, 1,
                 g->d->hidden);
}

/* Stream `which` of x += from [R, d]. */
static void put(struct engine *g, struct buffer *x, const struct buffer *from, int which,
                struct rows rows)
{
    g->k->combine(g->k, x, from, g->of_row, g->one[which], split(g, rows), 1, g->d->hidden, 1);
}

/* -- the first and the last x -- */

/* g->magnitude = the root mean squares of x [R, d]. */
static void measure(struct engine *g, const struct buffer *x, struct rows rows)
{
    struct kernels *k = g->k;
    k->norm(k, g->y, g->stream_statistics, x, &g->stream_length.norm, rows, g->d->hidden);
    k->combine_reverse(k, g->magnitude, g->y, x, NULL, rows, 1, g->d->hidden);
}

/* dx [R, d] += its derivative by g->d_magnitude. */
static void measure_reverse(struct engine *g, struct buffer *dx, const struct buffer *x,
                            struct rows rows)
{
    struct kernels *k = g->k;
    k->norm(k, g->y, g->stream_statistics, x, &g->stream_length.norm, rows, g->d->hidden);
    k->combine(k, dx, g->y, NULL, g->d_magnitude, rows, 1, g->d->hidden, 1);
}

/* g->y [R, d] = product with the root mean square 1; the product is left in g->stream[1]. */
static void project(struct engine *g, const struct buffer *x, const struct linear_weights *w,
                    struct rows rows)
{
    struct kernels *k = g->k;
    k->linear(k, g->stream[1], x, w->weight, NULL, rows, 0);
    k->norm(k, g->y, g->stream_statistics, g->stream[1], &g->stream_unit.norm, rows, g->d->hidden);
}

/* dy [R, d], the gradient of the product times g->magnitude -> of what was multiplied, (+)= into
 * dx; adds to g->d_magnitude. Called after `project`. */
static void project_reverse(struct engine *g, struct buffer *dx, const struct buffer *dy,
                            const struct linear_weights *w, struct rows rows, int accumulate)
{
    struct kernels *k = g->k;
    const int hidden = g->d->hidden;
    k->combine_reverse(k, g->dot, dy, g->y, NULL, rows, 1, hidden);
    k->add(k, g->d_magnitude, g->dot, rows, 1);
    k->combine(k, g->t, dy, NULL, g->magnitude, rows, 1, hidden, 0);
    k->norm_reverse(k, g->stream[4], NULL, g->t, g->stream[1], g->stream_statistics,
                    &g->stream_unit.norm, rows, hidden, 0);
    k->linear_reverse(k, dx, g->stream[4], w->weight, rows, accumulate);
}

void streams_expand(struct engine *g, int batch)
{
    struct kernels *k = g->k;
    struct buffer *x = g->layers[0].x;
    const struct rows rows = {batch, g->shape.keys[0]};
    measure(g, g->stream[0], rows);
    k->copy(k, g->t, g->stream[0], rows, g->d->hidden);
    k->scale(k, x, 0, rows, stream_width(g->d));
    put(g, x, g->stream[0], 0, rows);
    for (int i = 1; i < g->d->streams.count; i++) {
        project(g, g->t, &g->stream_project[i - 1], rows);
        k->combine(k, g->stream[0], g->y, NULL, g->magnitude, rows, 1, g->d->hidden, 0);
        put(g, x, g->stream[0], i, rows);
    }
}

void streams_expand_reverse(struct engine *g, struct buffer *to, const struct buffer *dx, int batch)
{
    struct kernels *k = g->k;
    const struct rows rows = {batch, g->shape.keys[0]};
    take(g, g->stream[0], g->layers[0].x, 0, rows);
    measure(g, g->stream[0], rows);
    k->scale(k, g->d_magnitude, 0, rows, 1);
    take(g, to, dx, 0, rows);
    for (int i = 1; i < g->d->streams.count; i++) {
        k->copy(k, g->t, g->stream[0], rows, g->d->hidden);
        project(g, g->t, &g->stream_project[i - 1], rows);
        take(g, g->stream[3], dx, i, rows);
        project_reverse(g, to, g->stream[3], &g->stream_project[i - 1], rows, 1);
    }
    measure_reverse(g, to, g->stream[0], rows);
}

void streams_join(struct engine *g, struct rows rows)
{
    struct kernels *k = g->k;
    const struct buffer *x = g->layers[g->d->layers].x;
    const int streams = g->d->streams.count, hidden = g->d->hidden;
    take(g, g->joined, x, 0, rows);
    measure(g, g->joined, rows);
    for (int i = 1; i < streams; i++) {
        take(g, g->t, x, i, rows);
        project(g, g->t, &g->stream_unproject[i - 1], rows);
        k->combine(k, g->joined, g->y, NULL, g->magnitude, rows, 1, hidden, 1);
    }
    k->scale(k, g->joined, 1.0 / streams, rows, hidden);
}

void streams_join_reverse(struct engine *g, struct buffer *dx, struct rows rows)
{
    struct kernels *k = g->k;
    const struct buffer *x = g->layers[g->d->layers].x;
    const int streams = g->d->streams.count, hidden = g->d->hidden;
    struct buffer *d_each = g->stream[2];
    k->scale(k, d_each, 1.0 / streams, rows, hidden);
    k->scale(k, dx, 0, rows, stream_width(g->d));
    k->scale(k, g->d_magnitude, 0, rows, 1);
    take(g, g->stream[0], x, 0, rows);
    measure(g, g->stream[0], rows);
    for (int i = 1; i < streams; i++) {
        take(g, g->t, x, i, rows);
        project(g, g->t, &g->stream_unproject[i - 1], rows);
        project_reverse(g, g->stream[3], d_each, &g->stream_unproject[i - 1], rows, 0);
        put(g, dx, g->stream[3], i, rows);
    }
    measure_reverse(g, d_each, g->stream[0], rows);
    put(g, dx, d_each, 0, rows);
}

/* -- of a block -- */

/* m(x), x [R, d]: g->modality, and what reverse needs. */
static void modality(struct engine *g, int l, struct buffer *logit, struct buffer *statistics,
                     const struct buffer *x, struct rows rows)
{
    struct kernels *k = g->k;
    const struct block_weights *w = &g->blocks[l];
    k->norm(k, g->y, statistics, x, &w->stream_norm.norm, rows, g->d->hidden);
    k->linear(k, logit, g->y, w->stream_router.weight, NULL, rows, 0);
    k->activate(k, g->modality, logit, NULL, ACTIVATION_TANH, rows, g->d->streams.count);
}

/* dx [R, d] (+)= its derivative by g->d_modality, which is overwritten. */
static void modality_reverse(struct engine *g, int l, struct buffer *dx, const struct buffer *logit,
                             const struct buffer *statistics, const struct buffer *x,
                             struct rows rows, int accumulate)
{
    struct kernels *k = g->k;
    const struct block_weights *w = &g->blocks[l];
    k->activate_reverse(k, g->d_modality, NULL, g->d_modality, logit, NULL, ACTIVATION_TANH, rows,
                        g->d->streams.count);
    k->linear_reverse(k, g->y, g->d_modality, w->stream_router.weight, rows, 0);
    k->norm_reverse(k, dx, NULL, g->y, x, statistics, &w->stream_norm.norm, rows, g->d->hidden,
                    accumulate);
}

void streams_predict(struct engine *g, int l, int batch)
{
    struct kernels *k = g->k;
    struct layer *s = &g->layers[l];
    const int streams = g->d->streams.count;
    const struct rows rows = {batch, g->shape.keys[l]};
    take(g, s->active, s->x, g->d->streams.active, rows);
    modality(g, l, s->predict_logit, s->predict_statistics, s->active, rows);
    k->linear(k, g->coefficients, g->modality, g->blocks[l].predict_active.weight, NULL, rows, 0);
    k->combine(k, s->active, s->x, NULL, g->coefficients, rows, streams, g->d->hidden, 1);
}

/* to [B queries, d] = t - p_active. */
static void innovation(struct engine *g, int l, struct buffer *to, int batch)
{
    struct kernels *k = g->k;
    const struct layer *s = &g->layers[l];
    const int queries = g->shape.queries[l], hidden = g->d->hidden;
    const struct rows rows = {batch, queries};
    k->tail(k, to, s->active, batch, queries, g->shape.keys[l], hidden);
    k->scale(k, to, -1, rows, hidden);
    k->add(k, to, s->after, rows, hidden);
}

void streams_correct(struct engine *g, int l, int batch)
{
    struct kernels *k = g->k;
    const struct block_weights *w = &g->blocks[l];
    struct layer *s = &g->layers[l];
    struct buffer *to = g->layers[l + 1].x;
    const int queries = g->shape.queries[l], keys = g->shape.keys[l], hidden = g->d->hidden,
              streams = g->d->streams.count;
    const struct rows rows = {batch, queries};
    k->activate(k, g->modality, s->predict_logit, NULL, ACTIVATION_TANH, (struct rows){batch, keys},
                streams);
    k->tail(k, g->d_modality, g->modality, batch, queries, keys, streams);
    k->linear(k, g->coefficients, g->d_modality, w->predict.weight, NULL, rows, 0);
    k->tail(k, g->tails, s->x, batch, queries, keys, stream_width(g->d));
    k->copy(k, to, g->tails, rows, stream_width(g->d));
    k->combine(k, to, g->tails, g->of_pair, g->coefficients, split(g, rows), streams, hidden, 1);
    modality(g, l, s->correct_logit, s->correct_statistics, s->after, rows);
    k->linear(k, g->coefficients, g->modality, w->correct.weight, w->correct.bias, rows, 0);
    innovation(g, l, g->stream[0], batch);
    k->combine(k, to, g->stream[0], g->of_row, g->coefficients, split(g, rows), 1, hidden, 1);
}

void streams_correct_reverse(struct engine *g, int l, struct buffer *dy, int batch)
{
    struct kernels *k = g->k;
    const struct block_weights *w = &g->blocks[l];
    const struct layer *s = &g->layers[l];
    const int hidden = g->d->hidden, streams = g->d->streams.count;
    const struct rows rows = {batch, g->shape.queries[l]};
    k->activate(k, g->modality, s->correct_logit, NULL, ACTIVATION_TANH, rows, streams);
    k->linear(k, g->coefficients, g->modality, w->correct.weight, w->correct.bias, rows, 0);
    innovation(g, l, g->stream[2], batch);
    k->combine_reverse(k, g->d_coefficients, dy, g->stream[2], g->of_row, split(g, rows), 1,
                       hidden);
    k->combine(k, g->stream[0], dy, NULL, g->coefficients, rows, streams, hidden, 0);
    k->copy(k, g->stream[3], g->stream[0], rows, hidden);
    k->scale(k, g->stream[3], -1, rows, hidden);
    put(g, dy, g->stream[3], g->d->streams.active, rows);
    k->linear_reverse(k, g->d_modality, g->d_coefficients, w->correct.weight, rows, 0);
    modality_reverse(g, l, g->stream[0], s->correct_logit, s->correct_statistics, s->after, rows,
                     1);
}

void streams_predict_reverse(struct engine *g, int l, struct buffer **dx, struct buffer **dy,
                             const struct buffer *active, int batch)
{
    struct kernels *k = g->k;
    const struct block_weights *w = &g->blocks[l];
    const struct layer *s = &g->layers[l];
    const int keys = g->shape.keys[l], queries = g->shape.queries[l], hidden = g->d->hidden,
              streams = g->d->streams.count, of = g->d->streams.active, width = stream_width(g->d);
    const struct rows rows = {batch, keys};
    struct buffer *all = *dy, *to = *dx; /* gradient of the predictions; of x */
    if (queries < keys) {
        k->scale(k, to, 0, rows, width);
        k->tail_reverse(k, to, all, batch, queries, keys, width);
        all = *dx, to = *dy;
    }
    put(g, all, active, of, rows);
    k->activate(k, g->modality, s->predict_logit, NULL, ACTIVATION_TANH, rows, streams);
    k->linear(k, g->coefficients, g->modality, w->predict_turned.weight, NULL, rows, 0);
    k->copy(k, to, all, rows, width);
    k->combine(k, to, all, g->of_pair, g->coefficients, split(g, rows), streams, hidden, 1);
    k->combine_reverse(k, g->d_coefficients, all, s->x, g->of_pair, split(g, rows), streams,
                       hidden);
    k->linear_reverse(k, g->d_modality, g->d_coefficients, w->predict.weight, rows, 0);
    take(g, g->stream[2], s->x, of, rows);
    modality_reverse(g, l, g->stream[3], s->predict_logit, s->predict_statistics, g->stream[2],
                     rows, 0);
    put(g, to, g->stream[3], of, rows);
    *dx = to, *dy = all;
}
