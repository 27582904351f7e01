/* Blocks that mix their rows by a gated short convolution (decoder.h, struct convolution_view). */
#include "model/engine_parts.h"

static struct convolution convolution_of(const struct engine *g, int l)
{
    return (struct convolution){g->d->blocks[l].mixer.convolution.reach, 1, g->blocks[l].taps,
                                g->blocks[l].taps_bias};
}

void convolution_forward(struct engine *g, int l, int batch)
{
    struct kernels *k = g->k;
    const struct linear_weights *in = &g->blocks[l].convolution_in;
    struct layer *s = &g->layers[l];
    struct convolution convolution = convolution_of(g, l);
    int keys = g->shape.keys[l];
    k->linear(k, g->shape.carry ? g->fresh : s->kv, g->y, in->weight, in->bias,
              (struct rows){batch, keys}, 0);
    if (g->shape.carry)
        keys = score_join(g, l, batch);
    k->convolve(k, s->o, s->kv, &convolution, batch, g->shape.queries[l], keys, g->d->hidden);
}

void convolution_reverse(struct engine *g, int l, int batch)
{
    struct kernels *k = g->k;
    struct convolution convolution = convolution_of(g, l);
    int keys = g->shape.keys[l];
    k->convolve_reverse(k, g->dkv, g->t, g->layers[l].kv, &convolution, batch, g->shape.queries[l],
                        keys, g->d->hidden);
    k->linear_reverse(k, g->y, g->dkv, g->blocks[l].convolution_in.weight,
                      (struct rows){batch, keys}, 0);
}
