/* Gemma 4: layers without windows have heads of their own size, and may use their keys as values;
 * the last layers read the keys and values of earlier ones; and each layer may have an input of its
 * own beside the residual stream. Defaults are the library's: huggingface/transformers,
 * models/gemma4. */
#include "model/families/rows.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char rotations[] =
    "{\"full_attention\": {\"rope_type\": \"proportional\", \"partial_rotary_factor\": 0.25, "
    "\"rope_theta\": 1000000.0}, \"sliding_attention\": {\"rope_type\": \"default\", "
    "\"rope_theta\": 10000.0}}";

/* One layer of per_layer_config, as the library writes what differs in it. */
static int read_exception(int *size, int *kv_heads, struct decoder *d, const char *layer,
                          const json_t *members, struct error *e)
{
    char key[96];
    const char *name;
    json_t *value;
    long heads = *kv_heads, head = *size;
    json_object_foreach((json_t *)(uintptr_t)members, name, value)
    {
        if (strcmp(name, "head_dim") != 0 && strcmp(name, "num_key_value_heads") != 0)
            return fail(e,
                        "%s: per_layer_config.%.20s.%.40s is not supported (expected head_dim and "
                        "num_key_value_heads)",
                        config_path(d->config), layer, name);
    }
    snprintf(key, sizeof key, "per_layer_config.%.20s", layer);
    (void)config_get(d->config, key);
    snprintf(key, sizeof key, "per_layer_config.%.20s.head_dim", layer);
    if (config_int_or(d->config, key, 1, HEAD_SIZE_MOST, head, &head, e))
        return -1;
    snprintf(key, sizeof key, "per_layer_config.%.20s.num_key_value_heads", layer);
    if (config_int_or(d->config, key, 1, 1 << 16, heads, &heads, e))
        return -1;
    *size = (int)head, *kv_heads = (int)heads;
    return 0;
}

/* The kinds of layers: all but every sixth with a window, and none in the last one. */
static int name_kinds(struct decoder *d, struct error *e)
{
    json_t *kinds = config_get(d->config, "layer_types");
    const char *last;
    int bad = 0;
    if (!kinds) {
        bad = !(kinds = json_array()) ||
              json_object_set_new(config_root(d->config), "layer_types", kinds);
        for (int l = 0; l < d->layers && !bad; l++)
            bad = json_array_append_new(kinds, json_string((l + 1) % 6 ? "sliding_attention"
                                                                       : "full_attention"));
    }
    last = bad ? NULL : json_string_value(json_array_get(kinds, (size_t)d->layers - 1));
    if (last && strcmp(last, "sliding_attention") == 0) {
        family_note(d, "the last layer has no window, whatever layer_types says of it");
        bad = json_array_set_new(kinds, (size_t)d->layers - 1, json_string("full_attention"));
    }
    return bad ? fail_memory(e, 1024, "a configuration") : 0;
}

/* The library writes per_layer_config, published files global_head_dim. Which layers have windows
 * is read later, and compared then (share_keys). */
static int full_heads(int *size, int *kv_heads, struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    json_t *layers = config_get(c, "per_layer_config"), *members;
    const char *layer;
    long head, heads = d->kv_heads;
    int as_values, other_size, other_heads, first = 1;
    if (!config_get(c, "rope_parameters") &&
        json_object_set_new(config_root(c), "rope_parameters", json_loads(rotations, 0, NULL)))
        return fail_memory(e, 256, "a configuration");
    if (name_kinds(d, e) || config_int_or(c, "global_head_dim", 1, HEAD_SIZE_MOST, 512, &head, e) ||
        config_bool_or(c, "attention_k_eq_v", 0, &as_values, e) ||
        config_int_or(c, "num_global_key_value_heads", 1, 1 << 16, d->kv_heads, &heads, e))
        return -1;
    *size = (int)head, *kv_heads = as_values ? (int)heads : d->kv_heads;
    if (layers && !json_is_object(layers))
        return fail(e, "%s: per_layer_config is not an object (expected {...})", config_path(c));
    if (!config_absent(c, "per_layer_config")) /* even if it is null */
        *size = d->head_size, *kv_heads = d->kv_heads;
    json_object_foreach(layers, layer, members)
    {
        other_size = d->head_size, other_heads = d->kv_heads;
        if (!json_is_object(members))
            return fail(e, "%s: per_layer_config.%.20s is not an object (expected {...})",
                        config_path(c), layer);
        if (read_exception(&other_size, &other_heads, d, layer, members, e))
            return -1;
        if (!first && (other_size != *size || other_heads != *kv_heads))
            return fail(e,
                        "%s: per_layer_config.%.20s is not supported (expected the same for all "
                        "layers without windows)",
                        config_path(c), layer);
        *size = other_size, *kv_heads = other_heads, first = 0;
    }
    if (*size % 2 || d->heads % *kv_heads)
        return fail(e,
                    "%s: heads of size %d, %d for keys and values, in layers without windows "
                    "(expected an even size, and a divisor of %d)",
                    config_path(c), *size, *kv_heads, d->heads);
    return 0;
}

/* 1 if an object has a member for layer l, whose name may begin with zeros: the library writes "05"
 * beside "11". */
static int lists_layer(const json_t *layers, int l)
{
    const char *name;
    json_t *members;
    json_object_foreach((json_t *)(uintptr_t)layers, name, members)
    {
        if (*name && !name[strspn(name, "0123456789")] && strtol(name, NULL, 10) == l)
            return 1;
    }
    return 0;
}

/* The layers of per_layer_config are those without windows. */
static int check_exceptions(const struct decoder *d, struct error *e)
{
    const json_t *layers = config_get(d->config, "per_layer_config");
    for (int l = 0; layers && l < d->layers; l++) {
        const struct block *b = &d->blocks[l];
        int listed = lists_layer(layers, l),
            differs = !b->score.window &&
                      (b->head_size != d->head_size || b->kv_heads != d->kv_heads);
        if (listed ? b->score.window != 0 : differs)
            return fail(
                e,
                "%s: per_layer_config.%d is %s (expected the layers without windows, and no "
                "others)",
                config_path(d->config), l, listed ? "of a layer with a window" : "missing");
    }
    return 0;
}

int share_keys(struct decoder *d, long absent, struct error *e)
{
    struct config *c = d->config;
    long shared;
    if (config_int_or(c, "num_kv_shared_layers", 0, INT_MAX, absent, &shared, e))
        return -1;
    if (shared >= d->layers)
        return fail(e,
                    "%s: num_kv_shared_layers %ld leaves none of %d layers its own keys and values "
                    "(expected at most %d)",
                    config_path(c), shared, d->layers, d->layers - 1);
    for (int l = d->layers - (int)shared; l < d->layers; l++) {
        int of = d->layers - (int)shared - 1;
        while (of >= 0 && !d->blocks[of].score.window != !d->blocks[l].score.window)
            of--;
        if (of < 0)
            return fail(
                e,
                "%s: num_kv_shared_layers %ld: layer %d finds no layer of its kind that has "
                "keys and values",
                config_path(c), shared, l);
        d->blocks[l].source = of + 1;
        for (int i = 0; i < 4; i++) {
            static const char *const unused[] = {"k_proj.weight", "v_proj.weight", "k_norm.weight",
                                                 "v_norm.weight"};
            family_ignore(d, "%slayers.%d.self_attn.%s",
                          family_prefix(d, "model.", "embed_tokens.weight"), l, unused[i]);
        }
    }
    if (shared)
        family_describe(d, "keys and values shared by the last %ld layers", shared);
    return 0;
}

static int share(struct decoder *d, struct error *e)
{
    return check_exceptions(d, e) || share_keys(d, 0, e) ? -1 : 0;
}

/* Columns of one layer of a table whose rows have those of all layers, one after the other. */
static view columns_of(view table, size_t first, size_t count)
{
    table = view_shift(table, first * table.column_stride);
    table.columns = count;
    return table;
}

int read_sides(struct decoder *d, const char *prefix, double epsilon, int width, long vocabulary,
               struct error *e)
{
    const size_t size = (size_t)width, all = (size_t)d->layers * size, hidden = (size_t)d->hidden;
    const struct norm_form form = {NORM_RMS, epsilon * d->hidden, size, "weight", NULL};
    view table, project;
    if (family_matrix(&table, d, (size_t)vocabulary, all, e, "%sembed_tokens_per_layer.weight",
                      prefix) ||
        family_matrix(&project, d, all, hidden, e, "%sper_layer_model_projection.weight", prefix) ||
        family_norm_named(&d->side_norm, d, form, e, "%sper_layer_projection_norm", prefix))
        return -1;
    d->side_width = width, d->side_rows = (int)vocabulary;
    d->side_scale = element_round(sqrt(width),
                                  table.type == ELEMENT_F16 || table.type == ELEMENT_BF16
                                      ? table.type
                                      : ELEMENT_F64);
    for (int l = 0; l < d->layers; l++) {
        struct side_input *side = &d->blocks[l].side;
        side->table = columns_of(table, (size_t)l * size, size);
        side->project.weight = view_rows(project, (size_t)l * size, size);
        if (family_linear(&side->gate, d, size, hidden, 0, e, "%slayers.%d.per_layer_input_gate",
                          prefix, l) ||
            family_linear(&side->out, d, hidden, size, 0, e, "%slayers.%d.per_layer_projection",
                          prefix, l) ||
            family_norm(&side->norm, d, NORM_RMS, 2 * epsilon, 0, e,
                        "%slayers.%d.post_per_layer_input_norm", prefix, l))
            return -1;
    }
    family_note(d, "each layer also reads an input by token from a table of its own, which is held "
                   "constant: gradients are those of the embedding");
    return 0;
}

/* What experts and router read and write: each has a norm of its own. */
static int read_norms(struct experts *x, struct decoder *d, double epsilon, const char *stem,
                      struct error *e)
{
    const size_t hidden = (size_t)d->hidden, count = (size_t)x->routing.experts;
    double *scale = family_own(d, hidden, e), *factors = family_own(d, count, e);
    x->apart = 1;
    x->router_norm = (struct norm_view){.kind = NORM_RMS, .epsilon = epsilon, .present = 1};
    if (!scale || !factors ||
        family_norm(&x->input_norm, d, NORM_RMS, epsilon, 0, e, "%s.pre_feedforward_layernorm_2",
                    stem) ||
        family_norm(&x->mlp_norm, d, NORM_RMS, epsilon, 0, e, "%s.post_feedforward_layernorm_1",
                    stem) ||
        family_norm(&x->output_norm, d, NORM_RMS, epsilon, 0, e, "%s.post_feedforward_layernorm_2",
                    stem) ||
        family_factors(scale, d, hidden, e, "%s.router.scale", stem) ||
        family_factors(factors, d, count, e, "%s.router.per_expert_scale", stem))
        return -1;
    for (size_t i = 0; i < hidden; i++)
        scale[i] /= sqrt(d->hidden);
    x->router_norm.scale = family_own_view(scale, hidden);
    for (size_t i = 0; i < count; i++) { /* a factor on a weight is one on its expert's output */
        double *of_rows = factors[i] == 1 ? NULL : family_own(d, hidden, e);
        if (factors[i] != 1 && !of_rows)
            return -1;
        for (size_t r = 0; of_rows && r < hidden; r++)
            of_rows[r] = factors[i];
        x->expert[i].down.weight.factors = of_rows;
    }
    return 0;
}

/* Scores, factors of layers, and norms of experts, with `epsilon`. */
static int finish_blocks(struct decoder *d, double epsilon, struct error *e)
{
    struct config *c = d->config;
    const char *prefix = family_prefix(d, "model.", "embed_tokens.weight"), *both_ways;
    char stem[128];
    if (config_real_or(c, "final_logit_softcapping", 0, 1e9, 0, &d->head_soft_cap, e) ||
        config_string_or(c, "use_bidirectional_attention", "vision", &both_ways, e))
        return -1;
    if (strcmp(both_ways, "vision") != 0) /* without images it has no effect */
        return fail(e, "%s: use_bidirectional_attention '%s' is not supported (expected vision)",
                    config_path(c), both_ways);
    for (int l = 0; l < d->layers; l++) {
        struct block *b = &d->blocks[l];
        double scalar = 1;
        b->score.scale = 1;
        snprintf(stem, sizeof stem, "%slayers.%d", prefix, l);
        if (b->experts.routing.experts && read_norms(&b->experts, d, epsilon, stem, e))
            return -1;
        if (family_factors(&scalar, d, 1, e, "%s.layer_scalar", stem))
            return -1;
        if (scalar == 0)
            return fail(e, "%s: tensor '%s.layer_scalar' is 0 (expected another number)", d->path,
                        stem);
        b->factor = scalar == 1 ? 0 : scalar;
    }
    return 0;
}

static int finish_gemma4(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    double epsilon;
    long width, vocabulary;
    if (config_real_or(c, "rms_norm_eps", 0, 1, 1e-6, &epsilon, e) ||
        config_int_or(c, "hidden_size_per_layer_input", 0, 1 << 16, 256, &width, e) ||
        config_int_or(c, "vocab_size_per_layer_input", 1, 1 << 26, 262144, &vocabulary, e))
        return -1;
    if (width && vocabulary < d->vocabulary)
        return fail(e,
                    "%s: vocab_size_per_layer_input %ld is below vocab_size %d (expected a row for "
                    "each token)",
                    config_path(c), vocabulary, d->vocabulary);
    if ((width && read_sides(d, family_prefix(d, "model.", "embed_tokens.weight"), epsilon,
                             (int)width, vocabulary, e)))
        return -1;
    return finish_blocks(d, epsilon, e);
}

static const struct expert_layout experts = {.count = "num_experts",
                                             .chosen = "top_k_experts",
                                             .width = "moe_intermediate_size",
                                             .normalised = -1,
                                             .router = "router.proj",
                                             .gate_up = {"experts.gate_up_proj"},
                                             .stacked_down = {"experts.down_proj"},
                                             .beside = 1};

static int finish_unified(struct decoder *d, struct error *e)
{
    return family_only(d, "enable_moe_block", 0, 0, e) ? -1 : finish_blocks(d, 0, e);
}

#define GEMMA4(window, positions, end) \
    LLAMA(1e-6), \
        .names = {LLAMA_FRAME, FOUR_NORMS, SPLIT, OUTPUT, GATED, QK_NORMS}, .head_norms = YES, \
        .head_size_absent = 256, ACTIVATION("hidden_activation", "gelu_pytorch_tanh"), \
        BIASES(KEY("attention_bias"), KEY("attention_bias"), NO), \
        .rope = {ROTARY_WHOLE, .by_kind = 1, .proportional = 1, .theta_default = 1e4, \
                 .local_theta_default = 1e4}, \
        .turned = TURNED_BY_KIND, BUT_EVERY(6, window), .full_heads = full_heads, .share = share, \
        .keys_are_values = KEY("attention_k_eq_v"), .values_normed = 1, \
        .wide_sharers = KEY("use_double_wide_mlp"), .scale_embedding = YES, .scale_rounded = 1, \
        .tied = 1, \
        .defaults = "{\"vocab_size\": 262144, \"hidden_size\": 2304, " \
                    "\"intermediate_size\": 9216, \"num_hidden_layers\": 30, " \
                    "\"num_attention_heads\": 8, \"num_key_value_heads\": 4, " \
                    "\"max_position_embeddings\": " positions "}", \
        .finish = end

static const struct layout gemma4_text = {GEMMA4(512, "131072", finish_gemma4), .experts = &experts,
                                          .experts_key = "enable_moe_block"};
/* Without inputs by layer and experts. */
static const struct layout gemma4_unified_text = {GEMMA4(1024, "262144", finish_unified)};

/* all but the second without enable_moe_block */
static const char *const harmless[] = {"moe_intermediate_size", "output_router_logits",
                                       "num_experts", "top_k_experts", NULL};
static const char *const nullable[] = {"per_layer_config",
                                       "num_global_key_value_heads",
                                       "use_bidirectional_attention",
                                       "num_experts",
                                       "top_k_experts",
                                       "moe_intermediate_size",
                                       NULL};
static const char *const unified_nullable[] = {"per_layer_config", "num_global_key_value_heads",
                                               NULL};

const struct family families_gemma4[] = {{ROW(gemma4_text), .harmless = harmless,
                                          .nullable = nullable},
                                         {ROW(gemma4_unified_text), .harmless = harmless,
                                          .nullable = unified_nullable},
                                         {.name = NULL}};
