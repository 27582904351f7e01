#include "model/convolution_layout.h"

#include <math.h>

int convolution_settings(int *biased, const struct convolution_layout *o, struct decoder *d,
                         struct error *e)
{
    static const struct layer_kind kinds[] = {{"conv", MIXING_CONVOLUTION},
                                              {"full_attention", MIXING_ATTENTION},
                                              {NULL, 0}};
    struct config *c = d->config;
    const json_t *types = config_get(c, "layer_types");
    long reach;
    int count = 0;
    if (config_int_or(c, o->reach, 1, CONVOLUTION_MOST, 3, &reach, e) ||
        config_bool_or(c, o->biased, 0, biased, e))
        return -1;
    if (!types && !o->attending)
        return fail(e,
                    "%s: layer_types is missing (expected conv or full_attention for each of %d "
                    "layers)",
                    config_path(c), d->layers);
    if ((types && family_kinds(d, kinds, "conv, full_attention", e)) ||
        (!types && config_get(c, o->attending) &&
         family_attending(d, o->attending, MIXING_CONVOLUTION, e)))
        return -1;
    for (int l = 0; l < d->layers; l++)
        if (block_convolves(&d->blocks[l]))
            d->blocks[l].mixer.convolution.reach = (int)reach, count++;
    if (count)
        family_describe(d, "convolutions of %ld in %d of %d layers", reach, count, d->layers);
    return 0;
}

int convolution_inner(long *inner, const struct convolution_layout *o, const struct decoder *d,
                      struct error *e)
{
    struct config *c = d->config;
    int on;
    double factor, width;
    long multiple;
    if (!o->adjusted)
        return 0;
    if (config_bool_or(c, "block_auto_adjust_ff_dim", 1, &on, e) ||
        config_real_or(c, "block_ffn_dim_multiplier", 1e-6, 1e6, 1, &factor, e) ||
        config_int_or(c, "block_multiple_of", 1, 1 << 24, 256, &multiple, e))
        return -1;
    if (!on)
        return 0;
    width = (double)multiple *
            ceil(floor(factor * floor(2.0 * (double)*inner / 3)) / (double)multiple);
    if (!(width >= 1 && width <= 1 << 24))
        return fail(e,
                    "%s: block_ffn_dim_multiplier and block_multiple_of make an MLP %g wide "
                    "(expected 1 to %d)",
                    config_path(c), width, 1 << 24);
    *inner = (long)width;
    return 0;
}

int convolution_read(struct block *b, const struct convolution_layout *o, const struct decoder *d,
                     int biased, const char *stem, struct error *e)
{
    struct convolution_view *v = &b->mixer.convolution;
    size_t hidden = (size_t)d->hidden;
    return family_linear(&v->in, d, 3 * hidden, hidden, biased, e, "%s.%s", stem, o->in) ||
                   family_taps(&v->taps, d, hidden, (size_t)v->reach, e, "%s.%s.weight", stem,
                               o->taps) ||
                   (biased && family_vector(&v->bias, d, hidden, e, "%s.%s.bias", stem, o->taps)) ||
                   family_linear(&b->output, d, hidden, hidden, biased, e, "%s.%s", stem, o->out)
               ? -1
               : 0;
}
