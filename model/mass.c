/* The mass of attention by distance: forward alone, reading each layer during the pass. */
#include "model/mass.h"

#include "model/engine_parts.h"

#include <string.h>

/* Copies one layer's mass (all heads, segments) of g->mass to mass [count, layers, heads, n]. */
static void take_layer(struct engine *g, double *mass, int l, int kv_rows, int counted, int count)
{
    size_t n = (size_t)g->shape.n, heads = (size_t)g->d->heads, layers = (size_t)g->d->layers,
           keys = (size_t)kv_rows;
    for (size_t b = 0; b < (size_t)count; b++)
        for (size_t h = 0; h < heads; h++) {
            double *to = mass + ((b * layers + (size_t)l) * heads + h) * n; /* [n] */
            g->k->read(g->k, to, g->mass, (b * heads + h) * keys, keys);
            for (size_t t = 0; t < keys; t++)
                to[t] /= counted;
            memset(to + keys, 0, (n - keys) * sizeof *to);
        }
}

int engine_attention(struct engine *g, double *mass, const int32_t *ids, int count, struct error *e)
{
    struct kernels *k = g->k;
    int layers = g->d->layers, counted = g->shape.keys[layers];
    if (engine_expects(g, REQUEST_ATTENTION, e) || engine_upload(g, ids, 0, count, e))
        return -1;
    forward_embed(g, count);
    for (int l = 0; l < layers; l++) {
        if (weights_need(g, l, e) || forward_block(g, l, count, l + 1 == layers, e))
            return -1;
        int keys = shape_span(&g->shape, l);
        k->attention_mass(k, g->mass, g->layers[l].q, g->layers[block_source(g->d, l)].kv,
                          g->layers[l].lse, g->attention[l], g->blocks[l].sinks, count,
                          g->shape.queries[l], keys, counted);
        take_layer(g, mass, l, keys, counted, count);
        if (k->synchronize(k, e))
            return -1;
        weights_done(g, l);
    }
    return 0;
}
