#include "model/latent_layout.h"

#include <string.h>

/* Whatever the configuration's epsilon is: the library's norms of latents take their own default.
 */
static const double EPSILON_OF_LATENTS = 1e-6;

/* A key that may only say what follows from others. */
static int read_same(const struct decoder *d, const char *key, long value, struct error *e)
{
    long given;
    if (config_int_or(d->config, key, 1, 1 << 20, value, &given, e))
        return -1;
    return given == value ? 0
                          : fail(e, "%s: %s %ld is not supported (expected %ld)",
                                 config_path(d->config), key, given, value);
}

/* num_key_value_heads: the library repeats each key as often as it goes into the number of heads,
 * and has one for every head already. */
static int read_kv_heads(const struct decoder *d, struct error *e)
{
    long heads, kv_heads;
    if (config_int(d->config, "num_attention_heads", 1, 1 << 16, &heads, e) ||
        config_int_or(d->config, "num_key_value_heads", 1, 1 << 16, heads, &kv_heads, e))
        return -1;
    return heads / kv_heads == 1
               ? 0
               : fail(e,
                      "%s: num_key_value_heads %ld is not supported (expected %ld: a key for "
                      "every head)",
                      config_path(d->config), kv_heads, heads);
}

int latent_sizes_read(struct latent_sizes *out, const struct latent_layout *o,
                      const struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    long rank, query_rank, own, turned, value = o->value, hidden, heads;
    int neighbours = o->pairs == PAIRS_NEIGHBOURS,
        no_query = !config_absent(c, "q_lora_rank") && !config_has(c, "q_lora_rank");
    if (config_int(c, "hidden_size", 1, 1 << 20, &hidden, e) ||
        config_int(c, "num_attention_heads", 1, 1 << 16, &heads, e) || read_kv_heads(d, e) ||
        config_int_or(c, "kv_lora_rank", 1, 1 << 20, o->rank, &rank, e) ||
        config_int_or(c, "q_lora_rank", 1, 1 << 20, o->query_rank, &query_rank, e) ||
        config_int_or(c, "qk_nope_head_dim", 1, 256, o->own, &own, e) ||
        config_int_or(c, "qk_rope_head_dim", 2, 256, o->turned, &turned, e) ||
        config_int_or(c, "v_head_dim", 1, 256, o->value ? o->value : hidden / heads, &value, e) ||
        (o->pairs == PAIRS_BY_KEY && config_bool_or(c, "rope_interleave", 1, &neighbours, e)))
        return -1;
    if (turned % 2 || own + turned > 256)
        return fail(e,
                    "%s: qk_nope_head_dim %ld and qk_rope_head_dim %ld are not supported (expected "
                    "an even number for the latter, and together at most 256)",
                    config_path(c), own, turned);
    if (value < 1 || value > 256)
        return fail(e, "%s: v_head_dim is missing (expected 1 to 256)", config_path(c));
    if (o->head_free)
        (void)config_get(c, "head_dim");
    else if (read_same(d, "head_dim", o->whole_heads ? own + turned : turned, e))
        return -1;
    if (read_same(d, "qk_head_dim", own + turned, e))
        return -1;
    *out = (struct latent_sizes){(int)rank,  no_query ? 0 : (int)query_rank,
                                 (int)own,   (int)turned,
                                 (int)value, neighbours};
    return 0;
}

struct rope_keys latent_rope(struct rope_keys keys, const struct latent_layout *layout,
                             const struct latent_sizes *sizes)
{
    int size = sizes->own + sizes->turned;
    keys.pairing = sizes->neighbours ? PAIRING_INTERLEAVED : PAIRING_HALF;
    keys.part = layout->whole_heads ? size : sizes->turned;
    if (layout->whole_heads)
        keys.fraction_default = (double)sizes->turned / size;
    keys.scores = 1;
    return keys;
}

int latent_check_rope(const struct decoder *d, const struct latent_sizes *s, struct error *e)
{
    return d->rotary[0].size == s->turned
               ? 0
               : fail(e,
                      "%s: partial_rotary_factor turns %d of the %d dimensions of a key (expected "
                      "qk_rope_head_dim, %d)",
                      config_path(d->config), d->rotary[0].size, d->head_size, s->turned);
}

static int read_norm(struct norm_view *out, const struct decoder *d, int width, const char *stem,
                     const char *name, struct error *e)
{
    const struct norm_form form = {NORM_RMS, EPSILON_OF_LATENTS, (size_t)width, "weight", NULL};
    return family_norm_named(out, d, form, e, "%s.%s", stem, name);
}

/* Rows first .. first + count - 1 of a linear map. */
static struct linear rows_of(const struct linear *l, size_t first, size_t count)
{
    struct linear part = {.weight = view_rows(l->weight, first, count)};
    if (l->bias.data)
        part.bias = view_rows(l->bias, first, count);
    return part;
}

int latent_read(struct block *b, const struct decoder *d, const struct latent_sizes *s, int biased,
                const char *stem, struct error *e)
{
    struct latent *latent = &b->latent;
    size_t hidden = (size_t)d->hidden, heads = (size_t)d->heads, rank = (size_t)s->rank,
           turned = (size_t)s->turned, query_rank = (size_t)s->query_rank,
           q_width = (size_t)block_q_width(d, b);
    struct linear both; /* the latent, then the shared part of keys */
    if (family_linear(&both, d, rank + turned, hidden, biased, e, "%s.kv_a_proj_with_mqa", stem) ||
        read_norm(&latent->norm, d, s->rank, stem, "kv_a_layernorm", e) ||
        family_linear(&latent->up, d, heads * (size_t)(s->own + s->value), rank, 0, e,
                      "%s.kv_b_proj", stem))
        return -1;
    latent->down = rows_of(&both, 0, rank);
    latent->shared = rows_of(&both, rank, turned);
    if (!query_rank)
        return family_linear(&b->query, d, q_width, hidden, 0, e, "%s.q_proj", stem);
    return family_linear(&latent->query_down, d, query_rank, hidden, biased, e, "%s.q_a_proj",
                         stem) ||
                   read_norm(&latent->query_norm, d, s->query_rank, stem, "q_a_layernorm", e) ||
                   family_linear(&b->query, d, q_width, query_rank, 0, e, "%s.q_b_proj", stem)
               ? -1
               : 0;
}
