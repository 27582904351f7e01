/* RWKV-4 (Peng et al. 2023): each layer is two blocks, time mixing, a mean of earlier rows by
 * channel, and channel mixing, an MLP whose output is gated; the matrices of both read a row mixed
 * with the row before it. Source: huggingface/transformers, models/rwkv. */
#include "model/family.h"

#include <math.h>
#include <stdio.h>

/* The largest rate: it leaves nothing of a row, and is one that means of decays can have. */
#define RATE_MOST 6e4
enum { HALVINGS_MOST = 30 };

/* What a configuration says. */
struct sizes {
    long layers, channels, inner; /* of time mixing; of channel mixing */
    double epsilon;
    long every; /* layers between two halvings of the residual stream; 0: there are none */
};

/* Layers as blocks, and one head, of any size, of the attention that there is not. */
static int state_blocks(long *layers, struct decoder *d, struct error *e)
{
    json_t *root = config_root(d->config);
    if (config_int(d->config, "num_hidden_layers", 1, 5000, layers, e))
        return -1;
    return json_object_set_new(root, "num_hidden_layers", json_integer(2 * *layers)) ||
                   json_object_set_new(root, "num_attention_heads", json_integer(1))
               ? fail_memory(e, 64, "a configuration")
               : 0;
}

static int read_sizes(struct sizes *z, struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    const struct size_keys keys = {.vocabulary = "vocab_size",
                                   .hidden = "hidden_size",
                                   .layers = "num_hidden_layers",
                                   .heads = "num_attention_heads",
                                   .head_size_given = 1};
    if (state_blocks(&z->layers, d, e) || family_sizes(d, &keys, e) ||
        config_int_or(c, "attention_hidden_size", 1, 1 << 20, d->hidden, &z->channels, e) ||
        config_int_or(c, "intermediate_size", 1, 1 << 24, 4 * (long)d->hidden, &z->inner, e) ||
        config_real_or(c, "layer_norm_epsilon", 0, 1, 1e-5, &z->epsilon, e) ||
        config_int_or(c, "rescale_every", -(1 << 24), 1 << 24, 6, &z->every, e) ||
        config_bool_or(c, "tie_word_embeddings", 0, &d->tied, e) ||
        family_bos(d, "bos_token_id", e))
        return -1;
    z->every = z->every > 0 ? z->every : 0;
    if (z->every && z->layers / z->every > HALVINGS_MOST)
        return fail(e, "%s: rescale_every %ld halves the residual stream %ld times (expected %d)",
                    config_path(c), z->every, z->layers / z->every, HALVINGS_MOST);
    d->mlp = (int)z->inner;
    return 0;
}

/* The library halves the residual stream after every few layers, and what later layers add to it.
 * Only norms read it, for which half of x is x with four times the epsilon. */
static double epsilon_at(const struct sizes *z, long layer, double epsilon)
{
    return z->every ? ldexp(epsilon, 2 * (int)(layer / z->every)) : epsilon;
}

static int norm(struct norm_view *out, const struct decoder *d, double epsilon, const char *stem,
                const char *name, struct error *e)
{
    return family_norm(out, d, NORM_LAYER, epsilon, 1, e, "%s%s", stem, name);
}

/* 1 - mu and mu of each channel. */
static int read_taps(view *out, struct decoder *d, const char *stem, const char *name,
                     struct error *e)
{
    size_t hidden = (size_t)d->hidden;
    double *taps = family_own(d, SHIFT_REACH * hidden, e);
    if (!taps || family_factors(taps + hidden, d, hidden, e, "%s.time_mix_%s", stem, name))
        return -1;
    for (size_t i = 0; i < hidden; i++) {
        double mu = taps[hidden + i];
        taps[2 * i] = 1 - mu, taps[2 * i + 1] = mu;
    }
    *out = family_own_view(taps, SHIFT_REACH * hidden);
    return 0;
}

static int read_shifted(struct shifted_linear *out, struct decoder *d, size_t rows,
                        const char *stem, const char *name, struct error *e)
{
    return family_linear(&out->of, d, rows, (size_t)d->hidden, 0, e, "%s.%s", stem, name) ||
                   read_taps(&out->taps, d, stem, name, e)
               ? -1
               : 0;
}

/* e^time_decay, up to RATE_MOST. */
static int read_rates(view *out, struct decoder *d, size_t channels, const char *stem,
                      struct error *e)
{
    double *rates = family_own(d, channels, e);
    view stored;
    if (!rates || family_vector(&stored, d, channels, e, "%s.time_decay", stem))
        return -1;
    for (size_t i = 0; i < channels; i++) {
        double of = tensors_supposed(d->tensors)
                        ? 0
                        : element_read(stored.data, stored.type, i * stored.row_stride);
        if (isnan(of))
            return fail(e, "%s: tensor '%s.time_decay' holds nan (expected logarithms of decays)",
                        d->path, stem);
        rates[i] = fmin(exp(of), RATE_MOST);
    }
    *out = family_own_view(rates, channels);
    return 0;
}

static int read_time(struct block *b, struct decoder *d, const struct sizes *z, const char *stem,
                     struct error *e)
{
    struct recurrence_view *v = &b->mixer.recurrence;
    const size_t channels = (size_t)z->channels;
    b->mixer.ways = MIXING_RECURRENCE;
    v->heads = v->key_size = v->reach = v->groups = 1, v->key_heads = 0;
    v->value_size = (int)z->channels, v->scale = 1;
    v->gate_activation = ACTIVATION_SIGMOID, v->gated = GATED_ALONE;
    v->wkv.present = 1;
    return read_shifted(&v->wkv.key, d, channels, stem, "key", e) ||
                   read_shifted(&v->wkv.value, d, channels, stem, "value", e) ||
                   family_linear(&v->gate, d, channels, (size_t)d->hidden, 0, e, "%s.receptance",
                                 stem) ||
                   read_taps(&v->wkv.gate_taps, d, stem, "receptance", e) ||
                   read_rates(&v->rate, d, channels, stem, e) ||
                   family_vector(&v->wkv.first, d, channels, e, "%s.time_first", stem) ||
                   family_linear(&v->out, d, (size_t)d->hidden, channels, 0, e, "%s.output", stem)
               ? -1
               : 0;
}

static int read_channels(struct block *b, struct decoder *d, const struct sizes *z,
                         const char *stem, struct error *e)
{
    struct channel_view *v = &b->mixer.channels;
    b->mixer.ways = MIXING_CHANNELS;
    return read_shifted(&v->key, d, (size_t)z->inner, stem, "key", e) ||
                   read_shifted(&v->receptance, d, (size_t)d->hidden, stem, "receptance", e) ||
                   family_linear(&v->value, d, (size_t)d->hidden, (size_t)z->inner, 0, e,
                                 "%s.value", stem)
               ? -1
               : 0;
}

static int read_layers(struct decoder *d, const struct sizes *z, const char *prefix,
                       struct error *e)
{
    for (long i = 0; i < z->layers; i++) {
        struct block *time = &d->blocks[2 * i], *channels = time + 1;
        double epsilon = epsilon_at(z, i, z->epsilon);
        char stem[128], part[160];
        snprintf(stem, sizeof stem, "%sblocks.%ld.", prefix, i);
        if ((i == 0 && norm(&d->embedding_norm, d, z->epsilon, stem, "pre_ln", e)) ||
            norm(&time->attention_norm, d, epsilon, stem, "ln1", e) ||
            norm(&channels->attention_norm, d, epsilon, stem, "ln2", e))
            return -1;
        snprintf(part, sizeof part, "%sattention", stem);
        if (read_time(time, d, z, part, e))
            return -1;
        snprintf(part, sizeof part, "%sfeed_forward", stem);
        if (read_channels(channels, d, z, part, e))
            return -1;
    }
    return 0;
}

static int read_rwkv(struct decoder *d, struct error *e)
{
    static const char defaults[] =
        "{\"vocab_size\": 50277, \"hidden_size\": 4096, \"num_hidden_layers\": 32}";
    struct sizes z;
    if (family_defaults(d, defaults, e) || read_sizes(&z, d, e))
        return -1;
    const char *prefix = family_prefix(d, "rwkv.", "embeddings.weight");
    family_describe(d, "time mixing of %ld channels in %ld of %d layers", z.channels, z.layers,
                    d->layers);
    /* the last norm's epsilon is not the configuration's */
    return family_embedding(d, (size_t)d->hidden, e, "head", "%sembeddings.weight", prefix) ||
                   read_layers(d, &z, prefix, e) ||
                   norm(&d->final_norm, d, epsilon_at(&z, z.layers, 1e-5), prefix, "ln_out", e) ||
                   family_head(d, 0, e, "head")
               ? -1
               : 0;
}

/* Of the initial weights, too. */
static const char *const harmless[] = {
    "context_length",          "head_dim",     "init_std", "initializer_factor",
    "max_position_embeddings", "text_encoder", NULL};
static const char *const nullable[] = {"attention_hidden_size", "intermediate_size", NULL};

const struct family family_rwkv = {.name = "rwkv",
                                   .model_types = {"rwkv"},
                                   .read = read_rwkv,
                                   .harmless = harmless,
                                   .nullable = nullable,
                                   .positions = "none",
                                   .about = "time mixing and channel mixing of shifted rows"};
