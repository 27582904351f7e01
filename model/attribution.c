/* Attributions: passes with scaled or noisy embedding rows, whose gradients are summed on the
 * device; element-wise products on the host, in double. */
#include "model/attribution.h"

#include "analyze/attribution.h"
#include "analyze/curve.h"
#include "kernels/shared.h"
#include "model/engine_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int attribution_passes(enum attribution a)
{
    return a == ATTRIBUTION_INTEGRATED ? INTEGRATED_STEPS
           : a == ATTRIBUTION_SMOOTH   ? SMOOTH_SAMPLES
                                       : 1;
}

size_t attribution_host(const struct shape *s)
{
    return s->attributed ? ((size_t)s->keys[0] + 1) * (size_t)s->d->embedding_width : 0;
}

double attribution_embedding_size(const struct decoder *d)
{
    size_t rows = (size_t)d->vocabulary, width = (size_t)d->embedding_width;
    double *row = malloc(width * sizeof *row), total = 0, usable = 0;
    if (!row)
        return NAN;
    for (size_t r = 0; r < rows; r++) {
        double sum = 0;
        weight_parts_read_f64(row, &d->embedding, r, 0, width);
        for (size_t c = 0; c < width; c++)
            sum += row[c] * row[c];
        total += isfinite(sum) ? sum : 0;
        usable += isfinite(sum) != 0;
    }
    free(row);
    return usable > 0 ? sqrt(total / (usable * (double)width)) : 0;
}

void attribution_noise(struct engine *g, struct buffer *x, struct rows rows)
{
    size_t width = (size_t)g->d->embedding_width, count = (size_t)rows.count, each = count * width,
           before = (size_t)g->shape.n - count;
    double factor = g->d->embedding_scale * g->request.gradient.noise;
    for (size_t b = 0; b < (size_t)rows.segments; b++) {
        uint64_t stream = random_at(g->request.gradient.noise_seed,
                                    (g->first_segment + b) * SMOOTH_SAMPLES + g->sample);
        g->k->read(g->k, g->host, x, b * each, each);
#pragma omp parallel for
        for (size_t i = 0; i < each; i++)
            g->host[i] += factor * random_normal(stream, before * width + i);
        g->k->write(g->k, x, b * each, g->host, each);
    }
}

/* Adds the last pass's values at range.c's points to the extent [count] of each segment. */
static int add_points(struct engine *g, struct extent *extent, int count, struct error *e)
{
    double *peak = calloc((size_t)count, sizeof *peak);
    if (!peak)
        return fail_memory(e, 8.0 * count, "norms");
    for (int point = 0; point < range_points(g); point++) {
        g->k->read(g->k, peak, range_point(g, point), 0, (size_t)count);
        for (int b = 0; b < count; b++)
            extent_add(&extent[b], peak[b]);
    }
    free(peak);
    return g->k->synchronize(g->k, e);
}

/* The sum over passes of their gradients, times the seeds, in g->mean. */
static int add_pass(struct engine *g, struct extent *extent, double seed, int is_first, int count,
                    struct error *e)
{
    struct kernels *k = g->k;
    struct buffer *gradient;
    double own = g->seed;
    struct rows rows = {count, g->shape.keys[0]};
    int rc;
    g->seed = own * seed;
    rc = reverse_pass(g, &gradient, count, e);
    g->seed = own;
    if (rc)
        return -1;
    (is_first ? k->copy : k->add)(k, g->mean, gradient, rows, g->d->embedding_width);
    return add_points(g, extent, count, e);
}

static int sum_passes(struct engine *g, struct extent *extent, size_t first, int count,
                      struct error *e)
{
    double node[INTEGRATED_STEPS], weight[INTEGRATED_STEPS];
    int rc = 0;
    for (int b = 0; b < count; b++)
        extent[b] = EXTENT_NONE;
    switch (g->request.gradient.attribution) {
    case ATTRIBUTION_GRAD:
    case ATTRIBUTION_INPUT: return add_pass(g, extent, 1, 1, count, e);
    case ATTRIBUTION_INTEGRATED:
        gauss_legendre(node, weight, INTEGRATED_STEPS);
        for (int i = 0; i < INTEGRATED_STEPS && rc == 0; i++) {
            g->input_scale = node[i];
            rc = add_pass(g, extent, weight[i], i == 0, count, e);
        }
        g->input_scale = 1;
        return rc;
    case ATTRIBUTION_SMOOTH:
        g->noisy = 1;
        g->first_segment = first;
        for (g->sample = 0; g->sample < SMOOTH_SAMPLES && rc == 0; g->sample++)
            rc = add_pass(g, extent, 1.0 / SMOOTH_SAMPLES, g->sample == 0, count, e);
        g->noisy = 0;
        return rc;
    }
    return -1;
}

/* log p of each target with scaled rows. */
static int forward_logprob(struct engine *g, double *logprob, double scale, int count,
                           struct error *e)
{
    int rc;
    g->input_scale = scale;
    rc = forward_blocks(g, count, e);
    g->input_scale = 1;
    if (rc)
        return -1;
    reverse_head(g, g->g[0], count);
    g->k->read(g->k, logprob, g->logprob, 0, (size_t)count);
    return g->k->synchronize(g->k, e);
}

/* Norms [n] of one segment's attributions, and the sum of their elements; and of the gradients to
 * the extent. ids [n + 1]. */
static void reduce(struct engine *g, double *norm, double *sum, struct extent *extent,
                   const int32_t *ids, int b)
{
    const struct decoder *d = g->d;
    size_t n = (size_t)g->shape.n, rows = (size_t)g->shape.keys[0],
           width = (size_t)d->embedding_width;
    double *gradient = g->host, *row = g->host + rows * width; /* [rows, E]; [E] */
    int by_input = g->request.gradient.attribution != ATTRIBUTION_SMOOTH;
    double peak = 0;
    *sum = 0;
    memset(norm, 0, (n - rows) * sizeof *norm); /* outside the cone */
    g->k->read(g->k, gradient, g->mean, (size_t)b * rows * width, rows * width);
    for (size_t m = 0; m < rows; m++) {
        double squares = 0, total = 0, length = 0;
        if (by_input)
            weight_parts_read_f64(row, &d->embedding, (size_t)ids[n - rows + m], 0, width);
        for (size_t c = 0; c < width; c++) {
            double a = d->embedding_scale * gradient[m * width + c] * (by_input ? row[c] : 1);
            squares += a * a;
            total += a;
            length += gradient[m * width + c] * gradient[m * width + c];
        }
        peak = fmax(peak, isnan(length) ? INFINITY : sqrt(length));
        norm[n - rows + m] = sqrt(squares);
        *sum += total;
    }
    extent_add(extent, peak);
}

/* The same for segment b alone, with seeds that fit its gradients; NaN if none does. */
static int attribute_again(struct engine *g, double *norm, double *sum, struct extent extent,
                           const int32_t *ids, size_t first, int b, struct error *e)
{
    double own = g->seed;
    int exponent = 0, tries = 0, rc;
    while (range_next(&exponent, &tries, g, &extent)) {
        g->seed = ldexp(own, exponent);
        rc = engine_upload(g, ids, b, 1, e) || sum_passes(g, &extent, first + (size_t)b, 1, e) ? -1
                                                                                               : 0;
        g->seed = own;
        if (rc)
            return -1;
        reduce(g, norm, sum, &extent, ids, 0);
    }
    range_end(norm, (size_t)g->shape.n, exponent, g, &extent);
    *sum = ldexp(*sum, -exponent);
    return 0;
}

/* Norms [count, n], log p [count] of the last pass, and for integrated gradients their sums. */
static int measure_all(struct engine *g, double *norm, double *logprob,
                       struct completeness *completeness, const int32_t *ids, size_t first,
                       int count, struct error *e)
{
    size_t n = (size_t)g->shape.n;
    struct extent *extent = calloc((size_t)count, sizeof *extent);
    double *sum = calloc((size_t)count, sizeof *sum);
    int again = 0, rc = extent && sum ? 0 : fail_memory(e, 24.0 * count, "sums");
    if (rc == 0)
        rc = sum_passes(g, extent, first, count, e);
    for (int b = 0; rc == 0 && b < count; b++)
        reduce(g, norm + (size_t)b * n, &sum[b], &extent[b], ids + (size_t)b * (n + 1), b);
    if (rc == 0) {
        g->k->read(g->k, logprob, g->logprob, 0, (size_t)count);
        rc = g->k->synchronize(g->k, e);
    }
    for (int b = 0; rc == 0 && b < count; b++)
        if (isfinite(logprob[b]) && !extent_fits(g, &extent[b])) {
            again = 1;
            rc = attribute_again(g, norm + (size_t)b * n, &sum[b], extent[b],
                                 ids + (size_t)b * (n + 1), first, b, e);
        }
    if (rc == 0 && again)
        rc = engine_upload(g, ids, 0, count, e);
    for (int b = 0; rc == 0 && completeness && b < count; b++)
        completeness[b].sum = sum[b];
    free(extent), free(sum);
    return rc;
}

int engine_attribute(struct engine *g, double *norm, double *logprob,
                     struct completeness *completeness, const int32_t *ids, size_t first, int count,
                     struct error *e)
{
    enum attribution kind = g->request.gradient.attribution;
    double *baseline = NULL;
    int rc = -1;
    if (engine_expects(g, REQUEST_GRADIENT, e) || engine_upload(g, ids, 0, count, e) ||
        measure_all(g, norm, logprob, kind == ATTRIBUTION_INTEGRATED ? completeness : NULL, ids,
                    first, count, e))
        return -1;
    if (kind == ATTRIBUTION_INPUT) /* its only pass was of the unchanged segment */
        return 0;
    if (kind == ATTRIBUTION_INTEGRATED) {
        if (!(baseline = calloc((size_t)count, sizeof *baseline)))
            return fail_memory(e, 8.0 * count, "the baselines");
        if (forward_logprob(g, baseline, 0, count, e))
            goto end;
        for (int b = 0; b < count; b++)
            completeness[b].baseline = baseline[b];
        if (g->against) {
            g->k->read(g->k, baseline, g->logprob_against, 0, (size_t)count);
            if (g->k->synchronize(g->k, e))
                goto end;
            for (int b = 0; b < count; b++)
                completeness[b].baseline -= baseline[b];
        }
    }
    rc = forward_logprob(g, logprob, 1, count, e);
end:
    free(baseline);
    return rc;
}
