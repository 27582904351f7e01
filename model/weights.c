/* Parameters between the mapped checkpoint and the kernel set: resident, or loaded for each use of a block. */
#include "model/engine_parts.h"

#include <math.h>
#include <stdlib.h>

static int load(struct weight **out, struct engine *g, enum weight_use use, const view *parts, int count, struct error *e)
{
    *out = NULL;
    if (!parts[0].data)
        return 0;
    *out = g->k->weight_load(g->k, use, parts, count, e);
    return *out ? 0 : -1;
}

static int load_linear(struct linear_weights *out, struct engine *g, const struct linear *a, const struct linear *b,
                       struct error *e)
{
    view weights[2] = {a->weight, b ? b->weight : (view){0}}, biases[2] = {a->bias, b ? b->bias : (view){0}};
    int count = b ? 2 : 1;
    return load(&out->weight, g, WEIGHT_MATRIX, weights, count, e) || load(&out->bias, g, WEIGHT_VECTOR, biases, count, e) ? -1
                                                                                                                           : 0;
}

static int load_norm(struct norm_weights *out, struct engine *g, const struct norm_view *v, struct error *e)
{
    *out = (struct norm_weights){.present = v->present};
    if (!v->present)
        return 0;
    if (load(&out->scale, g, WEIGHT_VECTOR, &v->scale, 1, e) || load(&out->shift, g, WEIGHT_VECTOR, &v->shift, 1, e))
        return -1;
    out->norm = (struct norm){.kind = v->kind, .epsilon = v->epsilon, .scale = out->scale, .shift = out->shift};
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

static void unload_block(struct engine *g, int l)
{
    struct block_weights *w = &g->blocks[l];
    struct norm_weights *norms[] = {&w->attention_norm, &w->mlp_norm,   &w->attention_post_norm,
                                    &w->mlp_post_norm,  &w->query_norm, &w->key_norm};
    for (size_t i = 0; i < sizeof norms / sizeof norms[0]; i++)
        unload_norm(g, norms[i]);
    struct linear_weights *linears[] = {&w->query, &w->kv, &w->output, &w->up, &w->gate, &w->down};
    for (size_t i = 0; i < sizeof linears / sizeof linears[0]; i++)
        unload_linear(g, linears[i]);
    w->loaded = 0;
}

/* Lets go of the file's pages behind a view: they are read again when touched. */
static void release_pages(const view *v)
{
    if (!v->data)
        return;
    size_t elements = (v->groups - 1) * v->group_stride + (v->rows - 1) * v->row_stride + (v->columns - 1) * v->column_stride + 1;
    tensors_release_pages(v->data, elements * element_size(v->type));
}

int weights_need(struct engine *g, int l, struct error *e)
{
    struct block_weights *w = &g->blocks[l];
    const struct block *b = &g->d->blocks[l];
    if (w->loaded)
        return 0;
    if (load_norm(&w->attention_norm, g, &b->attention_norm, e) || load_norm(&w->mlp_norm, g, &b->mlp_norm, e) ||
        load_norm(&w->attention_post_norm, g, &b->attention_post_norm, e) ||
        load_norm(&w->mlp_post_norm, g, &b->mlp_post_norm, e) || load_norm(&w->query_norm, g, &b->query_norm, e) ||
        load_norm(&w->key_norm, g, &b->key_norm, e) || load_linear(&w->query, g, &b->query, NULL, e) ||
        load_linear(&w->kv, g, &b->key, &b->value, e) || load_linear(&w->output, g, &b->output, NULL, e) ||
        load_linear(&w->up, g, &b->up, NULL, e) || load_linear(&w->gate, g, &b->gate, NULL, e) ||
        load_linear(&w->down, g, &b->down, NULL, e)) {
        unload_block(g, l);
        return -1;
    }
    w->loaded = 1;
    return 0;
}

void weights_done(struct engine *g, int l)
{
    const struct block *b = &g->d->blocks[l];
    if (g->plan.resident)
        return;
    unload_block(g, l);
    const struct linear *linears[] = {&b->query, &b->key, &b->value, &b->output, &b->up, &b->gate, &b->down};
    for (size_t i = 0; i < sizeof linears / sizeof linears[0]; i++)
        release_pages(&linears[i]->weight);
}

void weights_begin(struct engine *g)
{
    for (int l = 1; l < g->d->layers && !g->plan.resident; l++)
        if (g->blocks[l].loaded)
            weights_done(g, l);
}

int weights_turn(struct engine *g, int l, int next, struct error *e)
{
    if (g->plan.resident || next == l)
        return 0;
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
            double angle = (double)(first + s->first + m) * s->frequency[s->halves ? i % half : i / 2];
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
    return load(&g->position_rows, g, WEIGHT_TABLE, &positions, 1, e);
}

int weights_load_shared(struct engine *g, struct error *e)
{
    const struct decoder *d = g->d;
    if (load(&g->embedding, g, WEIGHT_TABLE, &d->embedding, 1, e) || weights_load_positions(g, 0, e) ||
        load_norm(&g->embedding_norm, g, &d->embedding_norm, e) || load_norm(&g->final_norm, g, &d->final_norm, e) ||
        load_linear(&g->project_in, g, &d->project_in, NULL, e) || load_linear(&g->project_out, g, &d->project_out, NULL, e) ||
        load(&g->head_bias, g, WEIGHT_VECTOR, &d->head.bias, 1, e))
        return -1;
    if (d->tied)
        g->head = g->embedding;
    else if (load(&g->head, g, WEIGHT_TABLE, &d->head.weight, 1, e))
        return -1;
    for (int l = 0; l < d->layers && g->plan.resident; l++)
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
    unload(g, &g->head);
    unload(g, &g->embedding);
    unload(g, &g->position_rows);
    unload(g, &g->head_bias);
    unload_norm(g, &g->embedding_norm);
    unload_norm(g, &g->final_norm);
    unload_linear(g, &g->project_in);
    unload_linear(g, &g->project_out);
    free(g->position_table);
    g->position_table = NULL;
}

static size_t bytes_of(struct kernels *k, enum weight_use use, const view *v)
{
    return v->data ? k->weight_bytes(k, use, v, 1) : 0;
}

size_t weights_block_bytes(struct kernels *k, const struct decoder *d, int l)
{
    const struct block *b = &d->blocks[l];
    const struct linear *linears[] = {&b->query, &b->key, &b->value, &b->output, &b->up, &b->gate, &b->down};
    size_t bytes = 0;
    for (size_t i = 0; i < sizeof linears / sizeof linears[0]; i++)
        bytes += bytes_of(k, WEIGHT_MATRIX, &linears[i]->weight) + bytes_of(k, WEIGHT_VECTOR, &linears[i]->bias);
    return bytes;
}

size_t weights_shared_bytes(struct kernels *k, const struct decoder *d, int n)
{
    size_t bytes = bytes_of(k, WEIGHT_TABLE, &d->embedding) + bytes_of(k, WEIGHT_VECTOR, &d->head.bias);
    bytes += bytes_of(k, WEIGHT_MATRIX, &d->project_in.weight) + bytes_of(k, WEIGHT_MATRIX, &d->project_out.weight);
    if (!d->tied)
        bytes += bytes_of(k, WEIGHT_TABLE, &d->head.weight);
    if (d->position == POSITION_LEARNED)
        bytes += bytes_of(k, WEIGHT_TABLE, &d->position_rows);
    if (d->position == POSITION_SINUSOIDAL)
        bytes += (size_t)n * (size_t)d->hidden * 2 * sizeof(double);
    return bytes;
}
