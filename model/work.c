/* The arithmetic of a segment: multiplications and additions of products and of attention, except
 * those proved to be zero; softmax, norms, activations and convolutions are not counted. */
#include "model/engine_parts.h"

#include <math.h>

/* A probability e^z is 0 in float below about this z, and scores that far below the largest in
 * their row are skipped (kernels/cpu/vector/functions.h). */
enum { ZERO_BELOW = -87 };

/* Columns of all matrices of MLP and experts multiplied with one row. */
static double mlp_columns(const struct decoder *d, const struct block *b)
{
    const struct experts *x = &b->experts;
    double columns = (b->gate.weight.data ? 3.0 : 2.0) * mlp_width(b) +
                     2.0 * (double)b->laurel.down.weight.rows;
    if (x->routing.experts)
        columns += x->routing.experts + 2.0 * (double)x->in.weight.rows +
                   (x->expert[0].gate.weight.data ? 3.0 : 2.0) * x->routing.chosen * x->width *
                       expert_reads(d, b) / d->hidden;
    return columns;
}

/* 0: there is no such matrix. */
static double elements_of(const struct linear *l)
{
    const view *w = &l->weight;
    return w->data ? (double)(w->diagonal ? 1 : w->groups) * (double)w->rows * (double)w->columns
                   : 0;
}

/* Elements of the matrices for keys and values, and for queries; of a convolution's first one; of a
 * recurrence's for queries, keys, values and gates, and for z. */
static double key_elements(const struct decoder *d, const struct block *b)
{
    double rank = (double)latent_rank(b), recurring = 0;
    const struct recurrence_view *r = &b->mixer.recurrence;
    if (block_mixes_time(b))
        recurring = elements_of(&r->wkv.key.of) + elements_of(&r->wkv.value.of);
    else if (block_scans(b))
        recurring = (double)block_recurrence_width(b) *
                        (d->hidden + (block_factors_width(b) + 2.0 * (double)block_low_width(b)) /
                                         r->scan.groups) +
                    elements_of(&r->scan.unit[0]) + elements_of(&r->scan.unit[1]);
    else if (block_recurs(b))
        recurring = (double)d->hidden * block_recurrence_width(b) + elements_of(&r->steps[0]) +
                    elements_of(&r->steps[1]) + elements_of(&r->decay) +
                    elements_of(&r->decay_down);
    if (b->source)
        return 0;
    if (rank == 0)
        return recurring + (double)d->hidden * block_kept_width(d, b);
    return d->hidden * (rank + (double)latent_shared_size(b)) + rank * (double)latent_own_width(b);
}

static double low_rank_elements(const struct low_rank *o)
{
    const view *up = &o->up.weight;
    const size_t rank = o->down[0].weight.rows + o->down[1].weight.rows;
    return (double)rank * (double)(o->down[0].weight.columns + up->groups * up->rows);
}

/* Of a block that makes a detour, besides: for the other half of what it reads, and its own. */
static double detour_elements(const struct decoder *d, const struct block *b)
{
    const struct detour *o = &b->detour;
    if (!block_detours(b))
        return 0;
    return (double)d->hidden * (block_q_width(d, b) + block_kv_width(d, b) + d->hidden) +
           low_rank_elements(&o->query) + low_rank_elements(&o->key_value) +
           low_rank_elements(&o->gate) + low_rank_elements(&o->up);
}

static double query_elements(const struct decoder *d, const struct block *b)
{
    double rank = (double)latent_query_rank(b);
    double gate = elements_of(&b->mixer.recurrence.gate) +
                  elements_of(&b->mixer.recurrence.gate_down) +
                  elements_of(&b->mixer.channels.key.of) + elements_of(&b->mixer.channels.value);
    if (!block_attends(b))
        return gate;
    gate += b->output_gate.weight.data ? (double)d->hidden * block_mixed_width(d, b) : 0;
    return gate + (rank == 0 ? (double)d->hidden * block_q_width(d, b)
                             : rank * (d->hidden + block_q_width(d, b)));
}

/* The next distance to check: each of the first 64, then 32 per octave. */
static int next_distance(int t)
{
    return t < 64 ? t + 1 : t + t / 32;
}

/* The formulas' addition to the score of the last query at distance t; a bias by key position is
 * one by distance to that query. */
static double bias_at(const struct decoder *d, const struct score *s, int n, int h, int t)
{
    struct formula_point at = {
        .t = t, .h = h, .heads = d->heads, .head_size = d->head_size, .length = (double)n + 1};
    double bias = s->bias ? formula_evaluate(s->bias, &at) : 0;
    at.t = n - 1 - t;
    return bias + (s->key_bias ? s->key_bias_scale * formula_evaluate(s->key_bias, &at) : 0);
}

/* Pairs of a query, one of the last `queries` of n positions, and a key of its `seen` nearest ones,
 * at distances first .. end
 * - 1. */
static double pairs_between(double first, double end, double queries, double n, double seen)
{
    double all, flat;
    end = fmin(end, seen);
    if (!(first < end))
        return 0;
    flat = fmax(0, fmin(end, n - queries + 1) - first); /* distances that every query has */
    all = flat * queries;
    first += flat;
    return all + (end - first) * (n - (first + end - 1) / 2);
}

double work_pairs_between(const struct score *s, double first, double end, double queries, double n)
{
    double chunk = s->chunk, pairs;
    if (!s->chunk)
        return pairs_between(first, end, queries, n, s->window ? (double)s->window + s->keep : n);
    double begin = n - queries, whole = ceil(begin / chunk) * chunk, /* positions */
        last = floor(n / chunk) * chunk;
    if (last < begin) /* all within one chunk */
        return pairs_between(first, end, queries, n - last, n - last);
    pairs = pairs_between(first, end, whole - begin, chunk, chunk) +
            (last - whole) / chunk * pairs_between(first, end, chunk, chunk, chunk);
    return pairs + pairs_between(first, end, n - last, n - last, n - last);
}

/* Pairs of head h: a decreasing bias ends them where even equal products of queries and keys give
 * nothing, so that there are no fewer. NaN counts as seen. */
static double head_pairs(const struct decoder *d, const struct score *s, int h, int queries, int n)
{
    double largest = -INFINITY, pairs = 0;
    if (!s->bias && !s->key_bias)
        return work_pairs_between(s, 0, n, queries, n);
    for (int t = 0; t < n; t = next_distance(t))
        largest = fmax(largest, bias_at(d, s, n, h, t));
    for (int t = 0, next; t < n; t = next) {
        next = next_distance(t) < n ? next_distance(t) : n;
        if (!(fmax(bias_at(d, s, n, h, t), bias_at(d, s, n, h, next - 1)) < largest + ZERO_BELOW))
            pairs += work_pairs_between(s, t, next, queries, n);
    }
    return pairs;
}

static int uses_head(const struct score *s)
{
    return (s->bias && s->bias->uses_head) || (s->key_bias && s->key_bias->uses_head);
}

double work_pairs(const struct decoder *d, int l, int queries, int n)
{
    const struct score *s = &d->blocks[l].score;
    double pairs = 0;
    if (!uses_head(s))
        return d->heads * head_pairs(d, s, 1, queries, n);
    for (int h = 1; h <= d->heads; h++)
        pairs += head_pairs(d, s, h, queries, n);
    return pairs;
}

static int same_pairs(const struct score *a, const struct score *b)
{
    return a->window == b->window && a->keep == b->keep && a->chunk == b->chunk &&
           a->bias == b->bias && a->key_bias == b->key_bias &&
           a->key_bias_scale == b->key_bias_scale;
}

double work_of_pair(const struct decoder *d, int l, int reverse)
{
    const struct block *b = &d->blocks[l];
    const double size = block_head_size(d, b), value_size = block_value_size(d, b);
    /* q.k and p v; in reverse q.k again, do.v, and the products for dq, dk and dv */
    return reverse ? 8.0 * size + 6.0 * value_size : 2.0 * (size + value_size);
}

double work_recurrence(const struct recurrence_view *r, double rows, int reverse)
{
    /* forward S e^l, k u^T and S^T q; with the delta rule S^T k */
    double products = r->delta ? reverse ? 13 + 4 : 4 : reverse ? 8 + 3 : 3;
    return 2 * products * rows * r->heads * r->key_size * r->value_size;
}

double work_attention(const struct shape *s)
{
    const struct decoder *d = s->d;
    double flops = 0, each = 0;
    for (int l = 0; l < d->layers; l++) {
        if (!block_attends(&d->blocks[l]))
            continue;
        if (l == 0 || !block_attends(&d->blocks[l - 1]) || s->queries[l] != s->queries[l - 1] ||
            !same_pairs(&d->blocks[l].score, &d->blocks[l - 1].score))
            each = work_pairs(d, l, s->queries[l], s->n);
        flops += work_of_pair(d, l, s->kind == REQUEST_GRADIENT) * each;
    }
    return flops;
}

double work_recurrences(const struct shape *s)
{
    double flops = 0;
    for (int l = 0; l < s->d->layers; l++)
        if (block_recurs(&s->d->blocks[l]))
            flops += work_recurrence(&s->d->blocks[l].mixer.recurrence, s->keys[l],
                                     s->kind == REQUEST_GRADIENT);
    return flops;
}

double work_products(const struct shape *s)
{
    const struct decoder *d = s->d;
    double each = s->kind == REQUEST_GRADIENT ? 4 : 2, outputs = s->keys[d->layers],
           flops = each * outputs * d->vocabulary * d->embedding_width;
    if (d->project_in.weight.data)
        flops += each * s->keys[0] * d->hidden * d->embedding_width;
    if (d->project_out.weight.data)
        flops += each * outputs * d->hidden * d->embedding_width;
    for (int l = 0; l < d->layers; l++) {
        const struct block *b = &d->blocks[l];
        flops += each * s->keys[l] * key_elements(d, b) +
                 each * s->queries[l] *
                     (query_elements(d, b) + detour_elements(d, b) +
                      d->hidden * (block_mixed_width(d, b) + block_gate_width(b) +
                                   mlp_columns(d, b) + 3.0 * d->side_width));
    }
    return flops;
}
