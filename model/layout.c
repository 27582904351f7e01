#include "model/layout_parts.h"
#include "model/rope.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int get(int *out, const struct reading *r, const struct setting *s)
{
    if (!s->key) {
        *out = s->absent;
        return 0;
    }
    return config_bool_or(r->d->config, s->older ? family_either(r->d, s->key, s->older) : s->key,
                          s->absent, out, r->e);
}

static int read_sizes(struct reading *r)
{
    const struct layout *o = r->layout;
    struct decoder *d = r->d;
    const char *inner_key = o->inner ? o->inner : "intermediate_size";
    long inner, factor = 0;
    if (o->latent && latent_sizes_read(&r->latent, o->latent, d, r->e))
        return -1;
    const struct size_keys keys = {
        .vocabulary = "vocab_size",
        .hidden = o->hidden ? family_either(d, "hidden_size", o->hidden) : "hidden_size",
        .layers = o->layers ? family_either(d, "num_hidden_layers", o->layers)
                            : "num_hidden_layers",
        .heads = o->heads ? family_either(d, "num_attention_heads", o->heads)
                          : "num_attention_heads",
        .kv_heads = !o->grouped   ? NULL
                    : o->kv_heads ? o->kv_heads
                                  : "num_key_value_heads",
        .head_size = o->sized ? "head_dim" : NULL,
        .head_size_default = config_absent(d->config, "head_dim") ? o->head_size_absent : 0,
        .head_size_given = o->latent ? r->latent.own + r->latent.turned : 0};
    if (family_sizes(d, &keys, r->e))
        return -1;
    if (!o->names.down && !o->experts)
        return 0;
    if ((o->inner_factor &&
         config_int_or(d->config, o->inner_factor, 1, 1024, o->inner_times, &factor, r->e)))
        return -1;
    if (factor)
        inner = factor * d->hidden;
    else if (o->inner_times ? config_int_or(d->config, inner_key, 1, 1 << 24,
                                            (long)o->inner_times * d->hidden, &inner, r->e)
                            : config_int(d->config, inner_key, 1, 1 << 24, &inner, r->e))
        return -1;
    if (o->convolution && convolution_inner(&inner, o->convolution, d, r->e))
        return -1;
    d->mlp = (int)inner;
    d->kv_heads = r->single ? 1 : d->kv_heads;
    d->value_size = o->latent ? r->latent.value : d->head_size;
    return 0;
}

static int read_activation(struct reading *r)
{
    const struct layout *o = r->layout;
    const char *name = "";
    if (o->xielu &&
        config_string_or(r->d->config, o->activation, o->activation_absent, &name, r->e))
        return -1;
    r->xielu = strcmp(name, "xielu") == 0;
    return r->xielu
               ? 0
               : family_activation(&r->activation, r->d, o->activation, o->activation_absent, r->e);
}

static int read_settings(struct reading *r)
{
    const struct layout *o = r->layout;
    struct config *c = r->d->config;
    r->epsilon = o->epsilon_absent, r->post_norms = 1, r->norm_bias = o->norm_bias;
    if (get(&r->qkv_bias, r, &o->qkv_bias) || get(&r->output_bias, r, &o->output_bias) ||
        get(&r->mlp_bias, r, &o->mlp_bias) || get(&r->head_bias, r, &o->head_bias) ||
        get(&r->head_norms, r, &o->head_norms) || get(&r->parallel, r, &o->parallel) ||
        get(&r->keys_are_values, r, &o->keys_are_values) ||
        get(&r->wide_sharers, r, &o->wide_sharers) || get(&r->scaled, r, &o->scale_embedding) ||
        get(&r->single, r, &o->multi_query) ||
        config_bool_or(c, "tie_word_embeddings", o->tied, &r->d->tied, r->e) ||
        (o->epsilon && config_real_or(c, o->epsilon, 0, 1, o->epsilon_absent, &r->epsilon, r->e)) ||
        read_activation(r) ||
        (o->norm_bias_key && config_bool_or(c, o->norm_bias_key, 1, &r->norm_bias, r->e)) ||
        (o->post_norms && config_bool_or(c, o->post_norms, 1, &r->post_norms, r->e)))
        return -1;
    r->fused = r->single ? FUSED_PARTS : o->fused;
    return 0;
}

/* -- tensors -- */

static int read_norm(struct norm_view *out, const struct reading *r, size_t width, const char *name)
{
    const struct layout *o = r->layout;
    const struct norm_form form = {o->norm, r->epsilon, width, o->norm_bare ? NULL : "weight",
                                   r->norm_bias ? "bias" : NULL};
    if (r->block < 0 ? family_norm_named(out, r->d, form, r->e, "%s%s", r->prefix, name)
                     : family_norm_named(out, r->d, form, r->e, "%s%s.%d.%s", r->prefix,
                                         o->names.layers, r->block, name))
        return -1;
    out->scale.offset = o->norm_offset;
    return 0;
}

/* A norm of the block, if the layout has it, by the name that the file has. */
static int read_block_norm(struct norm_view *out, const struct reading *r,
                           const char *const names[2])
{
    int other = names[1] && family_has(r->d, "%s%s.%d.%s.weight", r->prefix,
                                       r->layout->names.layers, r->block, names[1]);
    return names[0] ? read_norm(out, r, (size_t)r->d->hidden, names[other]) : 0;
}

static int read_linear(struct linear *out, const struct reading *r, size_t rows, size_t columns,
                       int biased, const char *name)
{
    const char *p = r->prefix, *layers = r->layout->names.layers;
    *out = (struct linear){0};
    if (!r->layout->transposed)
        return family_linear(out, r->d, rows, columns, biased, r->e, "%s%s.%d.%s", p, layers,
                             r->block, name);
    return family_transposed(&out->weight, r->d, rows, columns, r->e, "%s%s.%d.%s.weight", p,
                             layers, r->block, name) ||
                   (biased && family_vector(&out->bias, r->d, rows, r->e, "%s%s.%d.%s.bias", p,
                                            layers, r->block, name))
               ? -1
               : 0;
}

static view fused_part(view fused, const struct reading *r, size_t which)
{
    static const size_t quarters[3] = {0, 2, 1};
    const struct decoder *d = r->d;
    size_t size = (size_t)d->head_size, heads = (size_t)d->heads, kv_heads = (size_t)d->kv_heads;
    if (!fused.data)
        return fused;
    if (r->fused == FUSED_HEADS)
        return view_interleaved(fused, heads, 3, which, size);
    if (r->fused == FUSED_QUARTERS)
        return view_interleaved(fused, 4, 3, quarters[which], heads / 4 * size);
    if (r->fused == FUSED_GROUPS) {
        size_t shared = heads / kv_heads;
        return view_groups(fused, kv_heads, (shared + 2) * size,
                           which ? (shared + which - 1) * size : 0, which ? size : shared * size);
    }
    return which == 0 ? view_rows(fused, 0, heads * size)
                      : view_rows(fused, (heads + (which - 1) * kv_heads) * size, kv_heads * size);
}

/* The weights of each head separately, one after the other. */
static int read_named_heads(view *out, const struct reading *r, size_t heads, const char *name)
{
    size_t size = (size_t)r->d->head_size;
    double *all = family_own(r->d, heads * size, r->e);
    if (!all)
        return -1;
    for (size_t h = 0; h < heads; h++) {
        view one;
        if (family_vector(&one, r->d, size, r->e, "%s%s.%d.%s.norms.%zu.weight", r->prefix,
                          r->layout->names.layers, r->block, name, h))
            return -1;
        for (size_t i = 0; i < size; i++)
            all[h * size + i] = element_read(one.data, one.type, i * one.row_stride);
    }
    *out = family_own_view(all, heads * size);
    return 0;
}

/* A norm of queries or keys of b. */
static int read_head_norm(struct norm_view *out, const struct reading *r, const struct block *b,
                          size_t heads, const char *name)
{
    const struct layout *o = r->layout;
    size_t size = (size_t)block_head_size(r->d, b);
    view all;
    if (o->head_norms_of == HEADS_ALIKE || o->head_norms_of == HEADS_WHOLE)
        return read_norm(out, r, o->head_norms_of == HEADS_WHOLE ? heads * size : size, name);
    *out = (struct norm_view){.kind = o->norm, .epsilon = r->epsilon, .present = 1};
    if (o->head_norms_of == HEADS_EACH_NAMED)
        return read_named_heads(&out->scale, r, heads, name);
    if (family_matrix(&all, r->d, heads, size, r->e, "%s%s.%d.%s.weight", r->prefix,
                      o->names.layers, r->block, name))
        return -1;
    out->scale = all; /* as a vector of all its rows */
    out->scale.groups = heads, out->scale.rows = size, out->scale.columns = 1;
    out->scale.group_stride = all.row_stride, out->scale.row_stride = all.column_stride;
    return 0;
}

/* Norms after the rotation, which changes no length: those of keys without their weights commute
 * with it, and their weights can be applied to the queries instead, so that keys need no other
 * order. */
static int put_query_norm_last(struct block *b, const struct reading *r)
{
    struct decoder *d = r->d;
    size_t size = (size_t)d->head_size;
    double *both;
    b->query_norm_last = 1;
    if (r->layout->norm_bare)
        return 0;
    if (!(both = family_own(d, size, r->e)))
        return -1;
    for (size_t i = 0; i < size; i++)
        both[i] = element_read(b->query_norm.scale.data, b->query_norm.scale.type,
                               i * b->query_norm.scale.row_stride) *
                  element_read(b->key_norm.scale.data, b->key_norm.scale.type,
                               i * b->key_norm.scale.row_stride);
    b->query_norm.scale = family_own_view(both, size);
    b->key_norm.scale = (view){0};
    return 0;
}

/* The key's norm is one of values too, for these without weights. */
static int norm_values(struct block *b, const struct reading *r)
{
    size_t size = (size_t)block_head_size(r->d, b), keys = (size_t)block_key_width(r->d, b);
    const view *scale = &b->key_norm.scale;
    double *both = family_own(r->d, 2 * keys, r->e);
    if (!both)
        return -1;
    for (size_t i = 0; i < 2 * keys; i++)
        both[i] = i < keys ? element_read(scale->data, scale->type, i % size * scale->row_stride)
                           : 1;
    b->key_norm.scale = family_own_view(both, 2 * keys);
    b->values_normed = 1;
    return 0;
}

static int read_values(struct block *b, const struct reading *r, size_t rows)
{
    if (r->keys_are_values && !b->score.window) {
        b->value = b->key;
        return 0;
    }
    return read_linear(&b->value, r, rows, (size_t)r->d->hidden, r->qkv_bias,
                       r->layout->names.value);
}

static int read_query(struct block *b, const struct reading *r, size_t rows)
{
    struct linear both;
    size_t width = (size_t)r->d->hidden, heads = (size_t)r->d->heads, size = rows / heads;
    if (!r->layout->output_gated)
        return read_linear(&b->query, r, rows, width, r->qkv_bias, r->layout->names.query);
    if (read_linear(&both, r, 2 * rows, width, r->qkv_bias, r->layout->names.query))
        return -1;
    b->query.weight = view_interleaved(both.weight, heads, 2, 0, size);
    b->output_gate.weight = view_interleaved(both.weight, heads, 2, 1, size);
    if (both.bias.data) {
        b->query.bias = view_interleaved(both.bias, heads, 2, 0, size);
        b->output_gate.bias = view_interleaved(both.bias, heads, 2, 1, size);
    }
    return 0;
}

/* A row of the matrix for each number of a head's output. */
static int read_head_gate(struct block *b, const struct reading *r)
{
    struct linear gate;
    if (read_linear(&gate, r, (size_t)r->d->heads, (size_t)r->d->hidden, 0,
                    r->layout->names.head_gate))
        return -1;
    b->output_gate.weight = view_repeated(gate.weight, (size_t)block_value_size(r->d, b));
    return 0;
}

static int read_attention(struct block *b, const struct reading *r)
{
    const struct names *names = &r->layout->names;
    const struct decoder *d = r->d;
    size_t width = (size_t)d->hidden, q_size = (size_t)block_q_width(d, b),
           kv_size = (size_t)block_key_width(d, b);
    struct linear *const parts[3] = {&b->query, &b->key, &b->value};
    if (r->layout->latent) {
        char stem[160];
        snprintf(stem, sizeof stem, "%s%s.%d.%s", r->prefix, names->layers, r->block,
                 r->layout->latent_stem ? r->layout->latent_stem : "self_attn");
        if (latent_read(b, d, &r->latent, r->qkv_bias, stem, r->e))
            return -1;
    } else if (names->fused) {
        struct linear fused;
        if (r->fused == FUSED_QUARTERS && d->heads % 4)
            return fail(r->e,
                        "%s: %d heads are not supported in a %s model (expected a multiple of 4)",
                        config_path(d->config), d->heads, d->family);
        if (read_linear(&fused, r, q_size + 2 * kv_size, width, r->qkv_bias, names->fused))
            return -1;
        for (size_t i = 0; i < 3; i++) {
            parts[i]->weight = fused_part(fused.weight, r, i);
            parts[i]->bias = fused_part(fused.bias, r, i);
        }
    } else if (read_query(b, r, q_size) ||
               (!b->source && (read_linear(&b->key, r, kv_size, width, r->qkv_bias, names->key) ||
                               read_values(b, r, kv_size))))
        return -1;
    if (r->head_norms &&
        (read_head_norm(&b->query_norm, r, b, (size_t)d->heads, names->query_norm) ||
         (!b->source &&
          read_head_norm(&b->key_norm, r, b, (size_t)block_kv_heads(d, b), names->key_norm)) ||
         (r->layout->values_normed && !b->source && norm_values(b, r))))
        return -1;
    b->norms_whole = r->layout->head_norms_of == HEADS_WHOLE;
    if (r->head_norms && r->layout->head_norms_last && put_query_norm_last(b, r))
        return -1;
    const char *sinks = names->other_sinks && family_has(d, "%s%s.%d.%s", r->prefix, names->layers,
                                                         r->block, names->other_sinks)
                            ? names->other_sinks
                            : names->sinks;
    if (sinks && family_vector(&b->sinks, d, (size_t)d->heads, r->e, "%s%s.%d.%s", r->prefix,
                               names->layers, r->block, sinks))
        return -1;
    return (names->head_gate && read_head_gate(b, r)) ||
                   read_linear(&b->output, r, width, (size_t)block_o_width(d, b), r->output_bias,
                               names->output)
               ? -1
               : 0;
}

static int read_mixer(struct block *b, const struct reading *r)
{
    char stem[128];
    if (block_attends(b) && read_attention(b, r))
        return -1;
    snprintf(stem, sizeof stem, "%s%s.%d", r->prefix, r->layout->names.layers, r->block);
    if (block_recurs(b) && recurrence_read(b, &r->recurrence, r->d, stem, r->e))
        return -1;
    return block_convolves(b)
               ? convolution_read(b, r->layout->convolution, r->d, r->conv_bias, stem, r->e)
               : 0;
}

static int read_mlp(struct block *b, const struct reading *r)
{
    const struct names *names = &r->layout->names;
    size_t width = (size_t)r->d->hidden,
           inner = (size_t)(b->mlp ? b->mlp : r->d->mlp) * (r->wide_sharers && b->source ? 2 : 1);
    int other = names->other_down && family_has(r->d, "%s%s.%d.%s.weight", r->prefix, names->layers,
                                                r->block, names->other_down);
    b->activation = r->activation;
    if (!names->down && !r->layout->experts)
        return 0;
    if (r->xielu &&
        family_xielu(b, r->d, r->e, "%s%s.%d.mlp.act_fn", r->prefix, names->layers, r->block))
        return -1;
    if (r->layout->experts && mixture_in_layer(&r->mixture, r->block)) {
        char stem[128];
        snprintf(stem, sizeof stem, "%s%s.%d", r->prefix, names->layers, r->block);
        if (mixture_read(b, &r->mixture, r->d, stem, r->e))
            return -1;
        if (!r->layout->experts->beside)
            return 0;
    }
    if (names->gate_up) {
        struct linear both;
        if (read_linear(&both, r, 2 * inner, width, r->mlp_bias, names->gate_up))
            return -1;
        b->gate.weight = view_rows(both.weight, 0, inner),
        b->up.weight = view_rows(both.weight, inner, inner);
        if (both.bias.data)
            b->gate.bias = view_rows(both.bias, 0, inner),
            b->up.bias = view_rows(both.bias, inner, inner);
    } else if ((names->gate && read_linear(&b->gate, r, inner, width, r->mlp_bias,
                                           other ? names->other_gate : names->gate)) ||
               read_linear(&b->up, r, inner, width, r->mlp_bias,
                           other ? names->other_up : names->up))
        return -1;
    return read_linear(&b->down, r, width, inner, r->mlp_bias,
                       other ? names->other_down : names->down);
}

static int read_block(struct block *b, const struct reading *r)
{
    const struct names *names = &r->layout->names;
    const struct layer_norms plain = {{names->attention_norm},
                                      {names->mlp_norm},
                                      {names->attention_post_norm},
                                      {names->mlp_post_norm}},
                             *own = block_attends(b) ? r->layout->attending
                                                     : r->layout->other_layers,
                             *norms = own ? own : &plain;
    int shared = r->parallel && r->layout->one_norm;
    if ((block_mixes(b) && read_block_norm(&b->attention_norm, r, norms->attention_norm)) ||
        read_mixer(b, r) ||
        (r->post_norms && read_block_norm(&b->attention_post_norm, r, norms->attention_post_norm)))
        return -1;
    if (r->layout->one_part && block_mixes(b))
        return 0;
    if ((!shared && read_block_norm(&b->mlp_norm, r, norms->mlp_norm)) || read_mlp(b, r) ||
        (r->post_norms && read_block_norm(&b->mlp_post_norm, r, norms->mlp_post_norm)))
        return -1;
    if (shared)
        b->mlp_norm = b->attention_norm;
    b->residual = r->parallel              ? RESIDUAL_PARALLEL
                  : r->layout->norms_after ? RESIDUAL_POST
                                           : RESIDUAL_SEQUENTIAL;
    return 0;
}

/* Renames keys by their aliases. */
static int take_aliases(struct decoder *d, const struct alias *aliases, struct error *e)
{
    for (; aliases && aliases->alias; aliases++) {
        json_t *value = config_get(d->config, aliases->alias);
        if (value && json_object_set(config_root(d->config), aliases->key, value))
            return fail_memory(e, 64, "a configuration");
    }
    return 0;
}

static int has_embedding(const struct decoder *d, const struct names *names)
{
    return family_has(d, "%s%s.weight", names->prefix, names->embedding);
}

static int some_begin(const struct decoder *d, const char *prefix)
{
    for (size_t i = 0; i < tensors_count(d->tensors); i++)
        if (strncmp(tensors_at(d->tensors, i)->name, prefix, strlen(prefix)) == 0)
            return 1;
    return 0;
}

int layout_read(struct decoder *d, const struct layout *row, struct error *e)
{
    struct layout chosen = *row;
    const struct layout *layout = &chosen;
    const struct names *names = &chosen.names;
    struct reading r = {.d = d, .layout = layout, .block = -1, .e = e};
    char embedding[64];
    int on = 1;
    if (row->other_names &&
        ((!some_begin(d, names->prefix) && some_begin(d, row->other_names->prefix)) ||
         (!has_embedding(d, names) && has_embedding(d, row->other_names))))
        chosen.names = *row->other_names;
    snprintf(embedding, sizeof embedding, "%s.weight", names->embedding);
    r.prefix = family_prefix(d, names->prefix, embedding);
    const char *head = names->older_head && family_has(d, "%s.weight", names->older_head)
                           ? names->older_head
                           : names->head;
    if (take_aliases(d, layout->aliases, e) ||
        (layout->defaults && family_defaults(d, layout->defaults, e)) ||
        (layout->prepare && layout->prepare(d, e)))
        return -1;
    const json_t *count = layout->experts_key ? config_get(d->config, layout->experts_key) : NULL;
    if (json_is_integer(count))
        on = json_integer_value(count) != 0;
    else if (layout->experts_key && config_bool_or(d->config, layout->experts_key, 0, &on, e))
        return -1;
    if (!on)
        chosen.experts = NULL;
    if (read_settings(&r) || read_sizes(&r) ||
        (layout->experts && mixture_settings(&r.mixture, layout->experts, d, e)))
        return -1;
    r.mixture.shared_biased = r.mlp_bias;
    if ((layout->full_heads && layout->full_heads(&r.full_size, &r.full_kv_heads, d, e)) ||
        layout_positions(&r) || (layout->share && layout->share(d, e)) ||
        family_bos(d, "bos_token_id", e) ||
        family_embedding(d, (size_t)d->hidden, e, head, "%s%s", r.prefix, embedding))
        return -1;
    if (r.scaled) { /* some models round the factor to their own type, if that is short */
        int rounds = layout->scale_rounded &&
                     (d->embedding.type == ELEMENT_F16 || d->embedding.type == ELEMENT_BF16);
        d->embedding_scale = element_round(sqrt(d->hidden),
                                           rounds ? d->embedding.type : ELEMENT_F64);
    }
    for (r.block = 0; r.block < d->layers; r.block++)
        if (read_block(&d->blocks[r.block], &r))
            return -1;
    if (layout->head_norms_last)
        rope_divide_out(d);
    r.block = -1;
    if (names->final_norm && read_norm(&d->final_norm, &r, (size_t)d->hidden, names->final_norm))
        return -1;
    if (layout->finish && layout->finish(d, e))
        return -1;
    if (family_head(d, r.head_bias, e, head))
        return -1;
    return layout->head_normalised ? family_normalise_head(d, e) : 0;
}
