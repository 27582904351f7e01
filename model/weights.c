/* Parameters between the mapped checkpoint and the kernel set: resident, or loaded for each use of
 * a block. */
#include "model/engine_parts.h"

#include <math.h>
#include <stdlib.h>

/* The table of parameters: their members, and their views of the checkpoint. Parameters are loaded,
 * counted and freed by it. */
enum kind { LINEAR, NORM, TABLE, VECTOR };

struct row {
    enum kind kind;
    size_t place; /* in struct block_weights or struct engine */
    size_t
        view; /* in struct block or struct decoder: a struct linear, a struct norm_view, a view */
    int count; /* structs linear or views, one after the other, of one matrix or vector; absent ones
                  have no rows */
};
enum { PARTS_MOST = 3 };
_Static_assert(offsetof(struct block, value) == offsetof(struct block, key) + sizeof(struct linear),
               "values follow keys");

#define BLOCK(place, view) offsetof(struct block_weights, place), offsetof(struct block, view)
#define SHARED(place, view) offsetof(struct engine, place), offsetof(struct decoder, view)

static const struct row of_block[] = {
    {NORM, BLOCK(attention_norm, attention_norm), 0},
    {NORM, BLOCK(mlp_norm, mlp_norm), 0},
    {NORM, BLOCK(attention_post_norm, attention_post_norm), 0},
    {NORM, BLOCK(mlp_post_norm, mlp_post_norm), 0},
    {NORM, BLOCK(query_norm, query_norm), 0},
    {NORM, BLOCK(key_norm, key_norm), 0},
    {NORM, BLOCK(side_norm, side.norm), 0},
    {NORM, BLOCK(latent_norm, latent.norm), 0},
    {NORM, BLOCK(latent_query_norm, latent.query_norm), 0},
    {LINEAR, BLOCK(side_gate, side.gate), 0},
    {LINEAR, BLOCK(side_project, side.project), 0},
    {LINEAR, BLOCK(side_out, side.out), 0},
    {TABLE, BLOCK(side_table, side.table), 0},
    {LINEAR, BLOCK(convolution_in, mixer.convolution.in), 0},
    {VECTOR, BLOCK(taps, mixer.convolution.taps), 0},
    {VECTOR, BLOCK(taps_bias, mixer.convolution.bias), 0},
    {LINEAR, BLOCK(recurrence_in, mixer.recurrence.in), 3},
    {VECTOR, BLOCK(recurrence_taps, mixer.recurrence.taps), 3},
    {VECTOR, BLOCK(recurrence_taps_bias, mixer.recurrence.bias), 3},
    {LINEAR, BLOCK(recurrence_steps, mixer.recurrence.steps), 2},
    {LINEAR, BLOCK(recurrence_decay, mixer.recurrence.decay), 0},
    {LINEAR, BLOCK(recurrence_decay_down, mixer.recurrence.decay_down), 0},
    {LINEAR, BLOCK(recurrence_gate, mixer.recurrence.gate), 0},
    {LINEAR, BLOCK(recurrence_gate_down, mixer.recurrence.gate_down), 0},
    {LINEAR, BLOCK(recurrence_out, mixer.recurrence.out), 0},
    {LINEAR, BLOCK(scan_low, mixer.recurrence.scan.low), 0},
    {LINEAR, BLOCK(scan_steps, mixer.recurrence.scan.steps), 0},
    {LINEAR, BLOCK(scan_factors, mixer.recurrence.scan.factors), 0},
    {LINEAR, BLOCK(scan_unit, mixer.recurrence.scan.unit), 2},
    {NORM, BLOCK(scan_step_norm, mixer.recurrence.scan.step_norm), 0},
    {NORM, BLOCK(scan_factor_norm, mixer.recurrence.scan.factor_norm), 0},
    {LINEAR, BLOCK(wkv_key.of, mixer.recurrence.wkv.key.of), 0},
    {VECTOR, BLOCK(wkv_key.taps, mixer.recurrence.wkv.key.taps), 0},
    {LINEAR, BLOCK(wkv_value.of, mixer.recurrence.wkv.value.of), 0},
    {VECTOR, BLOCK(wkv_value.taps, mixer.recurrence.wkv.value.taps), 0},
    {VECTOR, BLOCK(wkv_gate_taps, mixer.recurrence.wkv.gate_taps), 0},
    {VECTOR, BLOCK(wkv_first, mixer.recurrence.wkv.first), 0},
    {LINEAR, BLOCK(channel_key.of, mixer.channels.key.of), 0},
    {VECTOR, BLOCK(channel_key.taps, mixer.channels.key.taps), 0},
    {LINEAR, BLOCK(channel_receptance.of, mixer.channels.receptance.of), 0},
    {VECTOR, BLOCK(channel_receptance.taps, mixer.channels.receptance.taps), 0},
    {LINEAR, BLOCK(channel_value, mixer.channels.value), 0},
    {LINEAR, BLOCK(output_gate, output_gate), 0},
    {VECTOR, BLOCK(rate, mixer.recurrence.rate), 0},
    {VECTOR, BLOCK(step_bias, mixer.recurrence.step_bias), 0},
    {VECTOR, BLOCK(skip, mixer.recurrence.skip), 0},
    {NORM, BLOCK(recurrence_norm, mixer.recurrence.norm), 0},
    {NORM, BLOCK(recurrence_key_norm, mixer.recurrence.key_norm), 0},
    {LINEAR, BLOCK(latent_down, latent.down), 0},
    {LINEAR, BLOCK(latent_up, latent.up), 0},
    {LINEAR, BLOCK(latent_shared, latent.shared), 0},
    {LINEAR, BLOCK(latent_query_down, latent.query_down), 0},
    {LINEAR, BLOCK(query, query), 0},
    {LINEAR, BLOCK(kv, key), 2},
    {LINEAR, BLOCK(output, output), 0},
    {LINEAR, BLOCK(up, up), 0},
    {LINEAR, BLOCK(gate, gate), 0},
    {LINEAR, BLOCK(down, down), 0},
    {VECTOR, BLOCK(sinks, sinks), 0},
    {LINEAR, BLOCK(router, experts.router), 0},
    {LINEAR, BLOCK(shared_gate, experts.shared_gate), 0},
    {LINEAR, BLOCK(experts_in, experts.in), 0},
    {LINEAR, BLOCK(experts_out, experts.out), 0},
    {VECTOR, BLOCK(correction, experts.correction), 0},
    {NORM, BLOCK(expert_input_norm, experts.input_norm), 0},
    {NORM, BLOCK(router_norm, experts.router_norm), 0},
    {NORM, BLOCK(expert_output_norm, experts.output_norm), 0},
    {NORM, BLOCK(expert_mlp_norm, experts.mlp_norm), 0},
    {NORM, BLOCK(stream_norm, predictor.norm), 0},
    {LINEAR, BLOCK(stream_router, predictor.router), 0},
    {LINEAR, BLOCK(predict, predictor.predict), 0},
    {LINEAR, BLOCK(predict_active, predictor.predict_active), 0},
    {LINEAR, BLOCK(predict_turned, predictor.predict_turned), 0},
    {LINEAR, BLOCK(correct, predictor.correct), 0},
    {NORM, BLOCK(laurel_norm, laurel.norm), 0},
    {LINEAR, BLOCK(laurel_down, laurel.down), 0},
    {LINEAR, BLOCK(laurel_up, laurel.up), 0},
    {LINEAR, BLOCK(after, detour.after), 0},
    {LINEAR, BLOCK(query_low.down, detour.query.down), 2},
    {LINEAR, BLOCK(query_low.up, detour.query.up), 0},
    {LINEAR, BLOCK(kv_low.down, detour.key_value.down), 2},
    {LINEAR, BLOCK(kv_low.up, detour.key_value.up), 0},
    {LINEAR, BLOCK(gate_low.down, detour.gate.down), 2},
    {LINEAR, BLOCK(gate_low.up, detour.gate.up), 0},
    {LINEAR, BLOCK(up_low.down, detour.up.down), 2},
    {LINEAR, BLOCK(up_low.up, detour.up.up), 0},
    {NORM, BLOCK(gate_cut, gate_cut), 0},
};
enum { OF_BLOCK = sizeof of_block / sizeof *of_block };

/* Of an expert. */
#define EXPERT(member) offsetof(struct expert_weights, member), offsetof(struct expert, member)
static const struct row of_expert[] = {{LINEAR, EXPERT(up), 0},
                                       {LINEAR, EXPERT(gate), 0},
                                       {LINEAR, EXPERT(down), 0},
                                       {LINEAR, EXPERT(down_bias), 0}};
enum {
    OF_EXPERT = sizeof of_expert / sizeof *of_expert,
    EXPERT_OUT_ROW = 2 /* the first output part */
};

#define STREAM(k) \
    {LINEAR, SHARED(stream_project[k], streams.project[k]), 0}, \
    { \
        LINEAR, SHARED(stream_unproject[k], streams.unproject[k]), 0 \
    }
/* What all layers share, except rows of positions. A tied head is the embedding's table. */
static const struct row of_all[] = {
    {TABLE, SHARED(embedding, embedding), 0},
    {TABLE, SHARED(head, head.weight), 0},
    {VECTOR, SHARED(head_bias, head.bias), 0},
    {NORM, SHARED(embedding_norm, embedding_norm), 0},
    {NORM, SHARED(final_norm, final_norm), 0},
    {NORM, SHARED(side_norm, side_norm), 0},
    {LINEAR, SHARED(project_in, project_in), 0},
    {LINEAR, SHARED(project_out, project_out), 0},
    {NORM, SHARED(stream_unit, streams.unit), 0},
    {NORM, SHARED(stream_length, streams.length), 0},
    STREAM(0),
    STREAM(1),
    STREAM(2),
};
enum { OF_ALL = sizeof of_all / sizeof *of_all };

static void *at(void *base, size_t offset)
{
    return (char *)base + offset;
}

static const void *at_const(const void *base, size_t offset)
{
    return (const char *)base + offset;
}

/* 1 for the head's table if the embedding's is used for it. */
static int is_tied(const struct decoder *d, const struct row *r)
{
    return d->tied && r->kind == TABLE && r->place == offsetof(struct engine, head);
}

static int load(struct weight **out, struct engine *g, enum weight_use use, const view *parts,
                int count, struct error *e)
{
    *out = NULL;
    if (count == 0)
        return 0;
    *out = g->k->weight_load(g->k, use, parts, count, e);
    return *out ? 0 : -1;
}

/* The parts of a row's vector that are there; none without the first. */
static int views_of(view parts[PARTS_MOST], const view *first, int count)
{
    int there = 0;
    for (int i = 0; first[0].data && i < (count ? count : 1); i++)
        if (first[i].data)
            parts[there++] = first[i];
    return there;
}

/* The same of a matrix, or of its bias. */
static int parts_of(view parts[PARTS_MOST], const struct linear *first, int count, int bias)
{
    view all[PARTS_MOST];
    for (int i = 0; i < (count ? count : 1); i++)
        all[i] = bias ? first[i].bias : first[i].weight;
    return views_of(parts, all, count);
}

static int load_linear(struct linear_weights *out, struct engine *g, const struct linear *first,
                       int count, struct error *e)
{
    view weights[PARTS_MOST], biases[PARTS_MOST];
    return load(&out->weight, g, WEIGHT_MATRIX, weights, parts_of(weights, first, count, 0), e) ||
                   load(&out->bias, g, WEIGHT_VECTOR, biases, parts_of(biases, first, count, 1), e)
               ? -1
               : 0;
}

static int load_view(struct weight **out, struct engine *g, enum weight_use use, const view *first,
                     int count, struct error *e)
{
    view parts[PARTS_MOST];
    return load(out, g, use, parts, views_of(parts, first, count), e);
}

static int load_norm(struct norm_weights *out, struct engine *g, const struct norm_view *v,
                     struct error *e)
{
    *out = (struct norm_weights){.present = v->present};
    if (!v->present)
        return 0;
    if (load_view(&out->scale, g, WEIGHT_VECTOR, &v->scale, 1, e) ||
        load_view(&out->shift, g, WEIGHT_VECTOR, &v->shift, 1, e))
        return -1;
    out->norm = (struct norm){.kind = v->kind,
                              .epsilon = v->epsilon,
                              .scale = out->scale,
                              .shift = out->shift};
    return 0;
}

static void unload(struct engine *g, struct weight **w)
{
    if (*w)
        g->k->weight_free(g->k, *w);
    *w = NULL;
}

static void unload_linear(struct engine *g, struct linear_weights *w)
{
    unload(g, &w->weight);
    unload(g, &w->bias);
}

static void unload_norm(struct engine *g, struct norm_weights *w)
{
    unload(g, &w->scale);
    unload(g, &w->shift);
}

static int load_row(struct engine *g, void *to, const void *from, const struct row *r,
                    struct error *e)
{
    const void *v = at_const(from, r->view);
    switch (r->kind) {
    case LINEAR: return load_linear(at(to, r->place), g, v, r->count, e);
    case NORM: return load_norm(at(to, r->place), g, v, e);
    case TABLE: return load_view(at(to, r->place), g, WEIGHT_TABLE, v, 1, e);
    case VECTOR: break;
    }
    return load_view(at(to, r->place), g, WEIGHT_VECTOR, v, r->count, e);
}

static void unload_row(struct engine *g, void *to, const struct row *r)
{
    switch (r->kind) {
    case LINEAR: unload_linear(g, at(to, r->place)); break;
    case NORM: unload_norm(g, at(to, r->place)); break;
    case TABLE:
    case VECTOR: unload(g, at(to, r->place)); break;
    }
}

static size_t bytes_of(struct kernels *k, enum weight_use use, const view *parts, int count)
{
    return count ? k->weight_bytes(k, use, parts, count) : 0;
}

static size_t view_bytes(struct kernels *k, enum weight_use use, const view *first, int count)
{
    view parts[PARTS_MOST];
    return bytes_of(k, use, parts, views_of(parts, first, count));
}

/* Adds what load_row would take. */
static void count_row(struct weight_bytes *sum, struct kernels *k, const void *from,
                      const struct row *r)
{
    const void *v = at_const(from, r->view);
    const struct norm_view *norm = v;
    view parts[PARTS_MOST];
    switch (r->kind) {
    case LINEAR:
        sum->matrices += bytes_of(k, WEIGHT_MATRIX, parts, parts_of(parts, v, r->count, 0));
        sum->vectors += bytes_of(k, WEIGHT_VECTOR, parts, parts_of(parts, v, r->count, 1));
        break;
    case NORM:
        if (norm->present)
            sum->vectors += view_bytes(k, WEIGHT_VECTOR, &norm->scale, 1) +
                            view_bytes(k, WEIGHT_VECTOR, &norm->shift, 1);
        break;
    case TABLE: sum->matrices += view_bytes(k, WEIGHT_TABLE, v, 1); break;
    case VECTOR: sum->vectors += view_bytes(k, WEIGHT_VECTOR, v, r->count); break;
    }
}

static int expert_count(const struct engine *g, int l)
{
    return g->d->blocks[l].experts.routing.experts;
}

static void unload_block(struct engine *g, int l)
{
    struct block_weights *w = &g->blocks[l];
    for (int i = 0; i < OF_BLOCK; i++)
        unload_row(g, w, &of_block[i]);
    for (int i = 0; w->experts && i < expert_count(g, l); i++)
        for (int j = 0; j < OF_EXPERT; j++)
            unload_row(g, &w->experts[i], &of_expert[j]);
    free(w->experts);
    w->experts = NULL;
    w->loaded = 0;
}

/* Releases the file's pages of a view: they are read again when accessed. What is in no file, from
 * family_own or whoever made the decoder, stays. */
static void release_pages(const struct decoder *d, const view *v)
{
    int own = d->tensors && v->data && !element_is_scaled(v->type) &&
              !tensors_hold(d->tensors, v->data);
    for (int i = 0; i < d->vector_count; i++)
        own |= v->data == d->vectors[i];
    if (!v->data || own)
        return;
    size_t columns = v->columns / (v->diagonal ? v->groups : 1),
           elements = (v->groups - 1) * v->group_stride + (v->rows - 1) * v->row_stride +
                      (columns - 1) * v->column_stride + 1;
    tensors_release_elements(v->data, v->type, v->first, elements);
}

/* The same of block l's matrices and tables, with those of its experts. */
static void release_block(const struct engine *g, int l)
{
    const struct block *b = &g->d->blocks[l];
    for (int i = 0; i < OF_BLOCK; i++) {
        const struct row *r = &of_block[i];
        if (r->kind == TABLE)
            release_pages(g->d, at_const(b, r->view));
        for (int j = 0; r->kind == LINEAR && j < (r->count ? r->count : 1); j++)
            release_pages(g->d, &((const struct linear *)at_const(b, r->view))[j].weight);
    }
    for (int i = 0; i < expert_count(g, l); i++)
        for (int j = 0; j < OF_EXPERT; j++)
            release_pages(g->d, &((const struct linear *)at_const(&b->experts.expert[i],
                                                                  of_expert[j].view))
                                     ->weight);
}

int weights_need(struct engine *g, int l, struct error *e)
{
    struct block_weights *w = &g->blocks[l];
    if (w->loaded)
        return 0;
    for (int i = 0; i < OF_BLOCK; i++)
        if (load_row(g, w, &g->d->blocks[l], &of_block[i], e))
            goto failed;
    if (expert_count(g, l) &&
        !(w->experts = calloc((size_t)expert_count(g, l), sizeof *w->experts))) {
        fail_memory(e, (double)expert_count(g, l) * sizeof *w->experts, "experts");
        goto failed;
    }
    for (int i = 0; g->plan.resident && i < expert_count(g, l); i++)
        if (weights_need_expert(g, l, i, EXPERT_IN, e) ||
            weights_need_expert(g, l, i, EXPERT_OUT, e))
            goto failed;
    w->loaded = 1;
    if (g->plan.resident) /* the file's copy of what was widened is not read again */
        release_block(g, l);
    return 0;
failed:
    unload_block(g, l);
    return -1;
}

int weights_need_expert(struct engine *g, int l, int i, enum expert_part part, struct error *e)
{
    struct expert_weights *w = &g->blocks[l].experts[i];
    const struct expert *from = &g->d->blocks[l].experts.expert[i];
    if (part == EXPERT_IN ? w->up.weight != NULL : w->down.weight != NULL)
        return 0;
    for (int j = part == EXPERT_IN ? 0 : EXPERT_OUT_ROW;
         j < (part == EXPERT_IN ? EXPERT_OUT_ROW : OF_EXPERT); j++)
        if (load_row(g, w, from, &of_expert[j], e))
            return -1;
    return 0;
}

void weights_done_expert(struct engine *g, int l, int i, enum expert_part part)
{
    const struct expert *from = &g->d->blocks[l].experts.expert[i];
    for (int j = part == EXPERT_IN ? 0 : EXPERT_OUT_ROW;
         !g->plan.resident && j < (part == EXPERT_IN ? EXPERT_OUT_ROW : OF_EXPERT); j++) {
        unload_row(g, &g->blocks[l].experts[i], &of_expert[j]);
        release_pages(g->d, &((const struct linear *)at_const(from, of_expert[j].view))->weight);
    }
}

void weights_done(struct engine *g, int l)
{
    if (g->plan.resident)
        return;
    unload_block(g, l);
    release_block(g, l);
}

void weights_begin(struct engine *g)
{
    for (int l = 1; l < g->d->layers && !g->plan.resident; l++)
        if (g->blocks[l].loaded)
            weights_done(g, l);
}

/* Rows of a batch from which the products with a matrix take so much longer than mapping its pages
 * again (some hundred times) that these need not stay while other layers are at work. */
enum { RELEASE_ROWS = 1000 };

int weights_turn(struct engine *g, int l, int next, struct error *e)
{
    if (next == l)
        return 0;
    if (g->plan.resident) { /* what is read in place */
        if (!g->k->memory_free && (double)g->plan.batch * g->shape.keys[l] >= RELEASE_ROWS)
            release_block(g, l);
        return 0;
    }
    if (g->k->prefetches ? weights_need(g, next, e) : g->k->synchronize(g->k, e))
        return -1;
    weights_done(g, l);
    return 0;
}

/* Rows of positions first .. first + n - 1. */
static double *sinusoidal_rows(const struct sinusoid *s, long first, int n, int width)
{
    size_t bytes;
    double *rows = NULL;
    if (size_multiply(&bytes, (size_t)n * sizeof *rows, (size_t)width) || !(rows = malloc(bytes)))
        return NULL;
    for (int m = 0; m < n; m++)
        for (int i = 0; i < width; i++) {
            int half = width / 2, cosine = s->halves ? i >= half : i % 2;
            double angle = (double)(first + s->first + m) *
                           s->frequency[s->halves ? i % half : i / 2];
            rows[(size_t)m * (size_t)width + (size_t)i] = cosine ? cos(angle) : sin(angle);
        }
    return rows;
}

int weights_load_positions(struct engine *g, long first, struct error *e)
{
    const struct decoder *d = g->d;
    view positions = d->position == POSITION_LEARNED ? d->position_rows : (view){0};
    unload(g, &g->position_rows);
    if (d->position == POSITION_SINUSOIDAL) {
        free(g->position_table);
        g->position_table = sinusoidal_rows(&d->sinusoid, first, g->shape.n, d->hidden);
        if (!g->position_table)
            return fail_memory(e, 8.0 * g->shape.n * d->hidden, "sinusoidal positions");
        size_t width = (size_t)d->hidden;
        positions = (view){.data = g->position_table,
                           .type = ELEMENT_F64,
                           .groups = 1,
                           .rows = (size_t)g->shape.n,
                           .columns = width,
                           .row_stride = width,
                           .column_stride = 1};
    }
    return load_view(&g->position_rows, g, WEIGHT_TABLE, &positions, 1, e);
}

int weights_load_shared(struct engine *g, struct error *e)
{
    const struct decoder *d = g->d;
    for (int i = 0; i < OF_ALL; i++)
        if (!is_tied(d, &of_all[i]) && load_row(g, g, d, &of_all[i], e))
            return -1;
    if (d->tied)
        g->head = g->embedding;
    return 0;
}

int weights_load_planned(struct engine *g, struct error *e)
{
    if (weights_load_positions(g, 0, e))
        return -1;
    for (int l = 0; l < g->d->layers && g->plan.resident; l++)
        if (weights_need(g, l, e))
            return -1;
    return 0;
}

void weights_free_all(struct engine *g)
{
    for (int l = 0; g->blocks && l < g->d->layers; l++)
        unload_block(g, l);
    if (g->head == g->embedding)
        g->head = NULL;
    for (int i = 0; i < OF_ALL; i++)
        unload_row(g, g, &of_all[i]);
    unload(g, &g->position_rows);
    free(g->position_table);
    g->position_table = NULL;
}

struct weight_bytes weights_block_bytes(struct kernels *k, const struct decoder *d, int l)
{
    struct weight_bytes sum = {0};
    for (int i = 0; i < OF_BLOCK; i++)
        count_row(&sum, k, &d->blocks[l], &of_block[i]);
    return sum;
}

struct weight_bytes weights_experts_bytes(double *largest, struct kernels *k,
                                          const struct decoder *d, int l)
{
    const struct experts *x = &d->blocks[l].experts;
    struct weight_bytes sum = {0};
    *largest = 0;
    for (int i = 0; i < x->routing.experts; i++) {
        struct weight_bytes in = {0}, out = {0};
        for (int j = 0; j < OF_EXPERT; j++)
            count_row(j < EXPERT_OUT_ROW ? &in : &out, k, &x->expert[i], &of_expert[j]);
        *largest = fmax(*largest, fmax((double)(in.matrices + in.vectors),
                                       (double)(out.matrices + out.vectors)));
        sum.matrices += in.matrices + out.matrices, sum.vectors += in.vectors + out.vectors;
    }
    return sum;
}

struct weight_bytes weights_shared_bytes(struct kernels *k, const struct decoder *d, int n)
{
    struct weight_bytes sum = {0};
    for (int i = 0; i < OF_ALL; i++)
        if (!is_tied(d, &of_all[i]))
            count_row(&sum, k, d, &of_all[i]);
    if (d->position == POSITION_LEARNED)
        sum.matrices += view_bytes(k, WEIGHT_TABLE, &d->position_rows, 1);
    if (d->position == POSITION_SINUSOIDAL)
        sum.matrices += (size_t)n * (size_t)d->hidden * 2 * sizeof(double);
    return sum;
}
