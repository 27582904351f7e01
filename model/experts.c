/* Mixtures of experts, forward and in reverse.
 *
 * Each row chooses its experts; the rows of an expert are gathered in consecutive `slots`, by
 * expert, then segment, then row, so that each expert is one product per segment, and a segment's
 * results do not depend on its neighbours. The derivative goes through the weights of the chosen
 * and through the experts; the choice is held constant. */
#include "model/engine_parts.h"

#include <stdlib.h>
#include <string.h>

const struct routing shared_routing = {.experts = 1,
                                       .chosen = 1,
                                       .scoring = SCORING_SIGMOID,
                                       .groups = 1,
                                       .chosen_groups = 1,
                                       .factor = 1};

int mlp_width(const struct block *b)
{
    return b->up.weight.data ? (int)(b->up.weight.groups * b->up.weight.rows) : 0;
}

int expert_reads(const struct decoder *d, const struct block *b)
{
    return b->experts.in.weight.data ? (int)b->experts.in.weight.rows : d->hidden;
}

size_t expert_slots(const struct shape *s, int l)
{
    const struct routing *routing = &s->d->blocks[l].experts.routing;
    return routing->experts ? (size_t)s->queries[l] * (size_t)routing->chosen : 0;
}

/* The most slots of a segment and the most experts, of all layers; 0: no layer has experts. */
static void largest(size_t *slots, size_t *experts, const struct shape *s)
{
    *slots = *experts = 0;
    for (int l = 0; l < s->d->layers; l++) {
        size_t here = expert_slots(s, l), count = (size_t)s->d->blocks[l].experts.routing.experts;
        *slots = here > *slots ? here : *slots;
        *experts = count > *experts ? count : *experts;
    }
}

double experts_host(const struct shape *s)
{
    size_t slots, experts;
    largest(&slots, &experts, s);
    double runs = (double)experts * s->batch;
    double ties = sizeof(double) * TIE_ROWS * (double)experts +
                  (double)sizeof(size_t) * ENGINE_AHEAD * s->batch;
    return experts ? ties + 12.0 * (double)slots * s->batch + runs * sizeof(struct run) +
                         4.0 * (runs + 1) * s->d->layers
                   : 0;
}

int experts_open(struct engine *g, struct error *e)
{
    const struct shape *s = &g->shape;
    size_t slots, experts, batch = (size_t)s->batch;
    largest(&slots, &experts, s);
    if (!experts)
        return 0;
    if (slots > INT32_MAX / batch)
        return fail(e,
                    "%s: %zu rows of experts in a batch of %zu segments (expected at most %d: "
                    "fewer segments)",
                    g->d->path, slots * batch, batch, INT32_MAX);
    g->expert_host = malloc(3 * slots * batch * sizeof *g->expert_host);
    g->runs = calloc(experts * batch, sizeof *g->runs);
    g->tie_logits = calloc(experts * TIE_ROWS, sizeof *g->tie_logits);
    g->tie_counts = calloc(ENGINE_AHEAD * batch, sizeof *g->tie_counts);
    if (!g->expert_host || !g->runs || !g->tie_logits || !g->tie_counts)
        return fail_memory(e, experts_host(s), "rows of experts");
    for (int l = 0; l < s->d->layers; l++) {
        size_t count = (size_t)s->d->blocks[l].experts.routing.experts * batch + 1;
        if (count > 1 && !(g->layers[l].starts = calloc(count, sizeof *g->layers[l].starts)))
            return fail_memory(e, experts_host(s), "rows of experts");
    }
    return 0;
}

void experts_close(struct engine *g)
{
    for (int l = 0; l < g->d->layers; l++)
        free(g->layers[l].starts);
    free(g->expert_host), free(g->runs), free(g->tie_logits), free(g->tie_counts);
    g->expert_host = NULL, g->runs = NULL, g->tie_logits = NULL, g->tie_counts = NULL;
}

/* The slots for a block's choice: s->starts, s->place and s->order. */
static void sort_rows(struct engine *g, int l, int batch)
{
    struct kernels *k = g->k;
    struct layer *s = &g->layers[l];
    const struct routing *routing = &g->d->blocks[l].experts.routing;
    size_t each = expert_slots(&g->shape, l), total = (size_t)batch * each,
           segments = (size_t)batch, runs = (size_t)routing->experts * segments;
    int32_t *choice = g->expert_host, *place = choice + total, *order = place + total,
            *next = s->starts + 1;
    memset(choice, 0, total * sizeof *choice); /* if reading fails, since the set keeps errors */
    k->read_index(k, choice, s->choice, 0, total);
    memset(s->starts, 0, (runs + 1) * sizeof *s->starts);
    for (size_t i = 0; i < total; i++)
        next[(size_t)choice[i] * segments + i / each]++;
    for (size_t i = 0, at = 0; i < runs;
         i++) { /* next[i]: where its rows begin, and at the end where they end */
        size_t count = (size_t)next[i];
        next[i] = (int32_t)at;
        at += count;
    }
    for (size_t i = 0; i < total; i++) {
        int32_t slot = next[(size_t)choice[i] * segments + i / each]++;
        place[i] = slot;
        order[slot] = (int32_t)i;
    }
    k->write_index(k, s->place, 0, place, total);
    k->write_index(k, s->order, 0, order, total);
}

/* Rows of expert i in all segments. */
static int32_t rows_of(const struct engine *g, int l, int i, int batch)
{
    const int32_t *starts = g->layers[l].starts;
    return starts[(i + 1) * batch] - starts[i * batch];
}

/* One matrix of experts first..last-1 on their slots: y = x w^T + bias, or in reverse x = y w. */
struct product {
    size_t place; /* in struct expert_weights */
    struct buffer *to;
    const struct buffer *from;
    int reverse, accumulate;
};

static void multiply(struct engine *g, int l, int batch, const struct product *p, int first,
                     int last)
{
    struct kernels *k = g->k;
    const int32_t *starts = g->layers[l].starts;
    const struct routing *routing = &g->d->blocks[l].experts.routing;
    int typical = (int)(expert_slots(&g->shape, l) / (size_t)routing->experts) + 1;
    size_t count = 0;
    for (int i = first; i < last; i++) {
        const struct linear_weights *w =
            (const struct linear_weights *)(const void *)((const char *)&g->blocks[l].experts[i] +
                                                          p->place);
        for (int b = 0; b < batch && w->weight; b++) {
            const int32_t *start = starts + i * batch + b;
            if (start[1] > start[0])
                g->runs[count++] = (struct run){(size_t)start[0], start[1] - start[0], w->weight,
                                                p->reverse ? NULL : w->bias};
        }
    }
    (p->reverse ? k->linear_runs_reverse : k->linear_runs)(k, p->to, p->from, g->runs, count,
                                                           typical, p->accumulate);
}

/* The next expert from i on with rows; the number of experts after the last. */
static int next_expert(const struct engine *g, int l, int i, int batch)
{
    int experts = g->d->blocks[l].experts.routing.experts;
    while (i < experts && !rows_of(g, l, i, batch))
        i++;
    return i;
}

/* Products of one part of the experts: all at once if weights are resident, else in turn. */
static int multiply_part(struct engine *g, int l, int batch, enum expert_part part,
                         const struct product *products, int count, struct error *e)
{
    int experts = g->d->blocks[l].experts.routing.experts;
    for (int j = 0; g->plan.resident && j < count; j++)
        multiply(g, l, batch, &products[j], 0, experts);
    if (g->plan.resident)
        return 0;
    for (int i = next_expert(g, l, 0, batch), next; i < experts; i = next) {
        next = next_expert(g, l, i + 1, batch);
        if (weights_need_expert(g, l, i, part, e))
            return -1;
        for (int j = 0; j < count; j++)
            multiply(g, l, batch, &products[j], i, i + 1);
        if (g->k->prefetches ? next < experts && weights_need_expert(g, l, next, part, e)
                             : g->k->synchronize(g->k, e))
            return -1;
        weights_done_expert(g, l, i, part);
    }
    return 0;
}

#define OF(member) offsetof(struct expert_weights, member)

int experts_forward(struct engine *g, int l, int batch, struct error *e)
{
    struct kernels *k = g->k;
    const struct experts *x = &g->d->blocks[l].experts;
    const struct block_weights *w = &g->blocks[l];
    struct layer *s = &g->layers[l];
    struct rows rows = {batch, g->shape.queries[l]};
    size_t slots = (size_t)batch * expert_slots(&g->shape, l);
    const int reads = expert_reads(g->d, &g->d->blocks[l]);
    const struct buffer *rows_read = w->experts_in.weight ? g->t : g->y;
    struct buffer *from = x->scales_input ? g->scaled : g->slots;
    const struct product products[] = {{OF(up), s->expert_up, from, 0, 0},
                                       {OF(gate), s->expert_gate, from, 0, 0}};
    if (w->shared_gate.weight) {
        k->linear(k, s->shared_logit, g->y, w->shared_gate.weight, w->shared_gate.bias, rows, 0);
        k->route(k, NULL, s->shared_weight, s->shared_logit, NULL, &shared_routing, rows);
    }
    if (!x->apart)
        k->linear(k, s->logits, g->y, w->router.weight, w->router.bias, rows, 0);
    k->route(k, s->choice, s->weights, s->logits, w->correction, &x->routing, rows);
    sort_rows(g, l, batch);
    if (w->experts_in.weight)
        k->linear(k, g->t, g->y, w->experts_in.weight, w->experts_in.bias, rows, 0);
    k->gather(k, from, rows_read, s->order, slots, x->routing.chosen, reads);
    if (x->scales_input) { /* in the order of the rows, and back */
        const struct rows slot_rows = {batch, (int)expert_slots(&g->shape, l)};
        k->combine(k, g->slots, g->scaled, s->place, s->weights, slot_rows, 1, reads, 0);
        k->gather(k, g->scaled, g->slots, s->order, slots, 1, reads);
    }
    return multiply_part(g, l, batch, EXPERT_IN, products, s->expert_gate ? 2 : 1, e);
}

int experts_join(struct engine *g, int l, struct buffer *to, int batch, int accumulate,
                 struct error *e)
{
    struct kernels *k = g->k;
    const struct block *b = &g->d->blocks[l];
    const struct linear_weights *out = &g->blocks[l].experts_out;
    struct layer *s = &g->layers[l];
    struct rows rows = {batch, g->shape.queries[l]},
                slots = {batch, (int)expert_slots(&g->shape, l)};
    const struct product down = {OF(down), g->slots, g->expert_a, 0, 0};
    k->activate(k, g->expert_a, s->expert_up, s->expert_gate, b->activation, slots,
                b->experts.width);
    if (multiply_part(g, l, batch, EXPERT_OUT, &down, 1, e))
        return -1;
    k->combine(k, out->weight ? g->t : to, g->slots, s->place,
               b->experts.scales_input ? NULL : s->weights, rows, b->experts.routing.chosen,
               expert_reads(g->d, b), accumulate && !out->weight);
    if (out->weight)
        k->linear(k, to, g->t, out->weight, out->bias, rows, accumulate);
    return 0;
}

int experts_reverse(struct engine *g, int l, const struct buffer *dy, int batch, int accumulate,
                    struct error *e)
{
    struct kernels *k = g->k;
    const struct block *b = &g->d->blocks[l];
    struct layer *s = &g->layers[l];
    const struct routing *routing = &b->experts.routing;
    struct rows rows = {batch, g->shape.queries[l]},
                slot_rows = {batch, (int)expert_slots(&g->shape, l)};
    size_t slots = (size_t)batch * (size_t)slot_rows.count;
    const int biased = b->experts.expert[0].down_bias.weight.data != NULL,
              reads = expert_reads(g->d, b);
    const struct weight *to_rows = g->blocks[l].experts_in.weight,
                        *from_sum = g->blocks[l].experts_out.weight;
    struct buffer *dots = g->d_logits; /* of dy and the experts' biases, later replaced by the
                                          derivative of the logits */
    const struct product out[] = {{OF(down), g->expert_a, g->slots, 1, 0},
                                  {OF(down_bias), dots, g->slots, 0, 0}},
                         in[] = {{OF(up), g->slots, g->expert_a, 1, 0},
                                 {OF(gate), g->slots, g->expert_b, 1, 1}};
    if (from_sum)
        k->linear_reverse(k, g->t, dy, from_sum, rows, 0);
    k->gather(k, g->slots, from_sum ? g->t : dy, s->order, slots, routing->chosen, reads);
    if (multiply_part(g, l, batch, EXPERT_OUT, out, biased ? 2 : 1, e))
        return -1;
    if (!b->experts.scales_input) {
        k->activate(k, g->expert_b, s->expert_up, s->expert_gate, b->activation, slot_rows,
                    b->experts.width);
        k->weigh_reverse(k, g->d_weights, g->expert_a, g->expert_b, s->order, s->weights, slots,
                         b->experts.width);
    }
    if (biased)
        k->combine(k, g->d_weights, dots, s->place, NULL, slot_rows, 1, 1, 1);
    k->activate_reverse(k, g->expert_a, s->expert_gate ? g->expert_b : NULL, g->expert_a,
                        s->expert_up, s->expert_gate, b->activation, slot_rows, b->experts.width);
    if (multiply_part(g, l, batch, EXPERT_IN, in, s->expert_gate ? 2 : 1, e))
        return -1;
    if (b->experts.scales_input) { /* by the inputs before, from the norm again */
        k->norm(k, g->t, s->statistics_2, s->mid, &g->blocks[l].mlp_norm.norm, rows, g->d->hidden);
        k->gather(k, g->scaled, g->t, s->order, slots, routing->chosen, reads);
        k->weigh_reverse(k, g->d_weights, g->slots, g->scaled, s->order, s->weights, slots, reads);
    }
    k->combine(k, to_rows ? g->t : g->y, g->slots, s->place, NULL, rows, routing->chosen, reads,
               accumulate && !to_rows);
    if (to_rows)
        k->linear_reverse(k, g->y, g->t, to_rows, rows, accumulate);
    k->route_reverse(k, g->d_logits, g->d_weights, s->logits, s->choice, routing, rows);
    if (!b->experts.apart)
        k->linear_reverse(k, g->y, g->d_logits, g->blocks[l].router.weight, rows, 1);
    return 0;
}

int experts_apart_forward(struct engine *g, int l, int batch, struct error *e)
{
    struct kernels *k = g->k;
    const struct block_weights *w = &g->blocks[l];
    struct layer *s = &g->layers[l];
    struct rows rows = {batch, g->shape.queries[l]};
    k->norm(k, g->t, s->router_statistics, s->mid, &w->router_norm.norm, rows, g->d->hidden);
    k->linear(k, s->logits, g->t, w->router.weight, w->router.bias, rows, 0);
    k->norm(k, g->y, s->expert_statistics, s->mid, &w->expert_input_norm.norm, rows, g->d->hidden);
    return experts_forward(g, l, batch, e);
}

int experts_apart_join(struct engine *g, int l, struct buffer *to, int batch, struct error *e)
{
    struct kernels *k = g->k;
    const struct block_weights *w = &g->blocks[l];
    struct layer *s = &g->layers[l];
    struct rows rows = {batch, g->shape.queries[l]};
    if (experts_join(g, l, s->expert_sum, batch, 0, e))
        return -1;
    k->norm(k, to, s->mlp_own_statistics, s->mlp_own, &w->expert_mlp_norm.norm, rows, g->d->hidden);
    k->norm(k, g->t, s->expert_sum_statistics, s->expert_sum, &w->expert_output_norm.norm, rows,
            g->d->hidden);
    k->add(k, to, g->t, rows, g->d->hidden);
    return 0;
}

int experts_apart_reverse(struct engine *g, int l, struct buffer *d_mid, const struct buffer *dy,
                          int batch, struct error *e)
{
    struct kernels *k = g->k;
    const struct block_weights *w = &g->blocks[l];
    const struct layer *s = &g->layers[l];
    struct rows rows = {batch, g->shape.queries[l]};
    k->norm_reverse(k, g->d_branch, NULL, dy, s->expert_sum, s->expert_sum_statistics,
                    &w->expert_output_norm.norm, rows, g->d->hidden, 0);
    if (experts_reverse(g, l, g->d_branch, batch, 0, e))
        return -1;
    k->norm_reverse(k, d_mid, NULL, g->y, s->mid, s->expert_statistics, &w->expert_input_norm.norm,
                    rows, g->d->hidden, 1);
    k->linear_reverse(k, g->t, g->d_logits, w->router.weight, rows, 0);
    k->norm_reverse(k, d_mid, NULL, g->t, s->mid, s->router_statistics, &w->router_norm.norm, rows,
                    g->d->hidden, 1);
    k->norm_reverse(k, g->d_branch, NULL, dy, s->mlp_own, s->mlp_own_statistics,
                    &w->expert_mlp_norm.norm, rows, g->d->hidden, 0);
    return 0;
}
