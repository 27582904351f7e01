/* litgpt: one decoder whose settings say what each model is made of. Source:
 * Lightning-AI/litgpt, litgpt/config.py and litgpt/model.py. */
#include "model/families/rows.h"

#include "model/family.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct alias aliases[] = {{"padded_vocab_size", "vocab_size"},
                                       {"head_size", "head_dim"},
                                       {NULL, NULL}};

/* Each token's experts by the softmax of the largest scores. */
static const struct expert_layout experts = {.count = "n_expert",
                                             .chosen = "n_expert_per_token",
                                             .normalised = -1,
                                             .router = "mlp.gate",
                                             .parent = "mlp.experts",
                                             .gate = "fc_1",
                                             .up = "fc_2",
                                             .down = "proj"};

static const struct layout common = {.hidden = "n_embd",
                                     .layers = "n_layer",
                                     .heads = "n_head",
                                     .grouped = 1,
                                     .kv_heads = "n_query_groups",
                                     .sized = 1,
                                     .inner_times = 4,
                                     .aliases = aliases,
                                     EPSILON("norm_eps", 1e-5),
                                     .names = {.prefix = "transformer.",
                                               .embedding = "wte",
                                               .layers = "h",
                                               .final_norm = "ln_f",
                                               .head = "lm_head",
                                               .attention_norm = "norm_1",
                                               .mlp_norm = "norm_2",
                                               .fused = "attn.qkv",
                                               .output = "attn.proj",
                                               .query_norm = "attn.norm_q",
                                               .key_norm = "attn.norm_k",
                                               .down = "mlp.proj"},
                                     .head_bias = KEY("lm_head_bias"),
                                     .head_norms = KEY("norm_qk"),
                                     .scale_embedding = KEY("scale_embeddings"),
                                     .scale_rounded = 1,
                                     .parallel = KEY_OR_YES("parallel_residual"),
                                     .rope = {.theta = "rope_base",
                                              .fraction = "rotary_percentage",
                                              .fraction_default = 0.25}};

/* Of the model's name litgpt takes two choices: Gemma's norms multiply by 1 + weight, OLMo's layer
 * norms have no parameters. */
static int choose_norms(struct layout *o, struct decoder *d, struct error *e)
{
    static const char *const classes[] = {"LayerNorm", "RMSNorm", NULL}, *const extents[] = {
                                                                             "default", "olmo2",
                                                                             NULL};
    struct config *c = d->config;
    const char *name;
    int kind, extent, before[2], after[2];
    if (config_string_or(c, "name", "", &name, e) ||
        (!*name && config_string_or(c, "hf_config.name", "", &name, e)) ||
        config_choice_or(c, "norm_class_name", classes, 0, &kind, e) ||
        config_choice_or(c, "norm_qk_type", extents, 0, &extent, e) ||
        config_bool_or(c, "norm_1", 1, &before[0], e) ||
        config_bool_or(c, "norm_2", 1, &before[1], e) ||
        config_bool_or(c, "post_attention_norm", 0, &after[0], e) ||
        config_bool_or(c, "post_mlp_norm", 0, &after[1], e) ||
        config_bool_or(c, "shared_attention_norm", 0, &o->one_norm, e))
        return -1;
    o->norm = kind ? NORM_RMS : NORM_LAYER;
    o->norm_offset = kind && strstr(name, "Gemma");
    o->norm_bare = !kind && strstr(name, "OLMo");
    o->norm_bias = !kind && !o->norm_bare;
    o->head_norms_of = extent ? HEADS_WHOLE : HEADS_ALIKE;
    o->names.attention_norm = before[0] ? o->names.attention_norm : NULL;
    o->names.mlp_norm = before[1] ? o->names.mlp_norm : NULL;
    o->names.attention_post_norm = after[0] ? "post_attention_norm" : NULL;
    o->names.mlp_post_norm = after[1] ? "post_mlp_norm" : NULL;
    return 0;
}

static int choose_mlp(struct layout *o, struct decoder *d, struct error *e)
{
    static const char *const classes[] = {"GptNeoxMLP", "LLaMAMLP", "GemmaMLP", "LLaMAMoE", NULL},
                             *const gelus[] = {"none", "tanh", NULL};
    enum { NEOX, LLAMA_GATED, GEMMA, EXPERTS };
    struct config *c = d->config;
    int kind, tanh_form, biased, attention_biased;
    if (config_choice_or(c, "mlp_class_name", classes, 0, &kind, e) ||
        config_choice_or(c, "gelu_approximate", gelus, 0, &tanh_form, e) ||
        config_bool_or(c, "bias", 1, &biased, e) ||
        config_bool_or(c, "attn_bias", 0, &attention_biased, e))
        return -1;
    o->qkv_bias.absent = biased || attention_biased;
    o->output_bias.absent = o->mlp_bias.absent = biased;
    o->names.gate = kind == NEOX ? NULL : "mlp.fc_1";
    o->names.up = kind == NEOX ? "mlp.fc" : "mlp.fc_2";
    o->activation_absent = kind == LLAMA_GATED || kind == EXPERTS ? "silu"
                           : tanh_form                            ? "gelu_pytorch_tanh"
                                                                  : "gelu";
    if (kind != EXPERTS)
        return 0;
    static const char *const off[] = {"n_expert_groups", "n_shared_expert", "first_k_dense_replace",
                                      "moe_intermediate_size"};
    double factor;
    for (size_t i = 0; i < sizeof off / sizeof *off; i++)
        if (config_get(c, off[i]))
            return fail(e, "%s: %s is not supported (expected null)", config_path(c), off[i]);
    if (config_real_or(c, "routed_scaling_factor", -1e9, 1e9, 1, &factor, e))
        return -1;
    if (factor != 1 || biased)
        return fail(e, "%s: experts with %s are not supported (expected %s)", config_path(c),
                    biased ? "biases" : "a routed_scaling_factor", biased ? "bias: false" : "1.0");
    o->experts = &experts;
    return 0;
}

/* Before 0.5.4 the rows of queries, keys and values of a group stood together, and the tensor was
 * called attn. */
static void choose_rows(struct layout *o, const struct decoder *d)
{
    if (!family_has(d, "transformer.h.0.attn.attn.weight"))
        return;
    o->names.fused = "attn.attn";
    o->fused = FUSED_GROUPS;
}

/* -- positions -- */

static int put(struct config *c, const char *key, json_t *value, struct error *e)
{
    return json_object_set_new(config_root(c), key, value) ? fail_memory(e, 256, config_path(c))
                                                           : 0;
}

/* 1 if the list's entry l is 1, or there is no list; -1: neither 0 nor 1. */
static int marked(const json_t *list, int l)
{
    const json_t *one = json_array_get(list, (size_t)l);
    if (!list)
        return 1;
    return json_is_integer(one) && json_integer_value(one) >> 1 == 0 ? (int)json_integer_value(one)
                                                                     : -1;
}

/* Windows by layer, as layer_types; those layers may have a base of their own. */
static int choose_windows(struct layout *o, struct decoder *d, long layers, struct error *e)
{
    static const char *const places[] = {"all", "interleaved", NULL};
    struct config *c = d->config;
    const json_t *windows = config_get(c, "sliding_window_indices"),
                 *bases = config_get(c, "rope_indices");
    int place, local = config_get(c, "rope_local_base_freq") != NULL;
    json_t *kinds;
    if (config_choice_or(c, "sliding_window_layer_placing", places, 0, &place, e))
        return -1;
    if (!config_get(c, "sliding_window_size"))
        return local ? fail(e,
                            "%s: rope_local_base_freq is not supported without sliding_window_size",
                            config_path(c))
                     : 0;
    if (!(kinds = json_array()))
        return fail_memory(e, 64, config_path(c));
    for (int l = 0; l < (int)layers; l++) {
        int window = marked(windows, l);
        if (window < 0 || (local && marked(bases, l) != window)) {
            json_decref(kinds);
            return fail(e, "%s: %s, entry %d is not supported (expected %s)", config_path(c),
                        window < 0 ? "sliding_window_indices" : "rope_indices", l + 1,
                        window < 0 ? "0 or 1" : "that of sliding_window_indices");
        }
        window = window && !(place && l % 2);
        json_array_append_new(kinds, json_string(window ? "sliding_attention" : "full_attention"));
    }
    o->windows = WINDOWS_LISTED;
    if (local) {
        o->turned = TURNED_BY_KIND;
        o->rope.by_kind = 1, o->rope.local_theta = "rope_local_base_freq";
    }
    return put(c, "layer_types", kinds, e) ||
                   put(c, "sliding_window", json_incref(config_get(c, "sliding_window_size")), e)
               ? -1
               : 0;
}

/* rope_adjustments and rope_condense_ratio as the library's rope_scaling. */
static int choose_scaling(struct layout *o, struct decoder *d, struct error *e)
{
    static const char *const known[] = {"factor", "low_freq_factor", "high_freq_factor",
                                        "original_max_seq_len"};
    struct config *c = d->config;
    json_t *adjustments = config_get(c, "rope_adjustments"), *member, *out;
    const char *key;
    double ratio;
    int interleaved, found[4] = {0}, count = 0;
    if (config_real_or(c, "rope_condense_ratio", 1e-6, 1e6, 1, &ratio, e) ||
        config_bool_or(c, "rope_interleave", 0, &interleaved, e))
        return -1;
    o->rope.pairing = interleaved ? PAIRING_INTERLEAVED : PAIRING_HALF;
    if (ratio != 1 && (adjustments || o->rope.by_kind))
        return fail(e, "%s: rope_condense_ratio is not supported with %s (expected 1)",
                    config_path(c), adjustments ? "rope_adjustments" : "rope_local_base_freq");
    if (adjustments && !json_is_object(adjustments))
        return fail(e, "%s: rope_adjustments is not a mapping", config_path(c));
    json_object_foreach(adjustments, key, member)
    {
        int i = 0;
        while (i < 4 && strcmp(known[i], key) != 0)
            i++;
        if (i == 4)
            return fail(e,
                        "%s: rope_adjustments.%.60s is not supported (expected factor, and "
                        "low_freq_factor, high_freq_factor, original_max_seq_len)",
                        config_path(c), key);
        found[i] = 1, count++;
    }
    if (count && !(found[0] && (count == 1 || count == 4)))
        return fail(e,
                    "%s: rope_adjustments lacks some of factor, low_freq_factor, high_freq_factor, "
                    "original_max_seq_len",
                    config_path(c));
    if (!count && ratio == 1)
        return 0;
    out = json_pack("{s:s, s:o}", "rope_type", count == 4 ? "llama3" : "linear", "factor",
                    count ? json_incref(json_object_get(adjustments, "factor")) : json_real(ratio));
    for (int i = 1; out && count == 4 && i < 4; i++)
        json_object_set(out, i == 3 ? "original_max_position_embeddings" : known[i],
                        json_object_get(adjustments, known[i]));
    return put(c, "rope_scaling", out, e);
}

/* -- the whole -- */

static int finish(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    double scalar, soft_cap;
    if (config_real_or(c, "attention_scores_scalar", 1e-6, 1e9, d->head_size, &scalar, e) ||
        config_real_or(c, "attention_logit_softcapping", 1e-6, 1e9, 0, &soft_cap, e) ||
        config_real_or(c, "final_logit_softcapping", 1e-6, 1e9, 0, &d->head_soft_cap, e))
        return -1;
    for (int l = 0; l < d->layers; l++)
        d->blocks[l].score.scale = 1 / sqrt(scalar), d->blocks[l].score.soft_cap = soft_cap;
    return 0;
}

/* What does not exist together in litgpt, and what it has that is not here. */
static int refuse(const struct layout *o, struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    int parallel;
    if (config_get(c, "latent_attention"))
        return fail(e, "%s: latent_attention is not supported (expected null)", config_path(c));
    if (config_bool_or(c, "parallel_residual", 1, &parallel, e))
        return -1;
    if (!parallel && o->one_norm)
        return fail(e, "%s: shared_attention_norm is not supported without parallel_residual",
                    config_path(c));
    if (parallel && (!o->names.attention_norm || !o->names.mlp_norm ||
                     o->names.attention_post_norm || o->names.mlp_post_norm))
        return fail(e, "%s: parallel_residual is supported with norm_1 and norm_2 only",
                    config_path(c));
    return 0;
}

/* Names of settings that nobody reads, or that say nothing once all others are read. */
static const char *const without_effect[] = {"hf_config",
                                             "block_size",
                                             "padding_multiple",
                                             "vocab_size",
                                             "n_expert",
                                             "n_expert_per_token",
                                             "n_expert_groups",
                                             "n_topk_groups",
                                             "n_topk_scores_per_group",
                                             "n_shared_expert",
                                             "first_k_dense_replace",
                                             "moe_intermediate_size",
                                             "norm_topk_prob",
                                             "routed_scaling_factor",
                                             "rope_indices",
                                             "sliding_window_layer_stride",
                                             NULL};

static int read_litgpt(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    struct layout o = common;
    long layers;
    const char *key;
    o.finish = finish;
    choose_rows(&o, d);
    if (config_int(c, "n_layer", 1, 10000, &layers, e) || choose_norms(&o, d, e) ||
        choose_mlp(&o, d, e) || refuse(&o, d, e) || choose_windows(&o, d, layers, e) ||
        choose_scaling(&o, d, e))
        return -1;
    if (!config_get(c, "padded_vocab_size"))
        return fail(e, "%s: padded_vocab_size is missing", config_path(c));
    if (layout_read(d, &o, e))
        return -1;
    for (int i = 0; without_effect[i]; i++)
        (void)config_get(c, without_effect[i]);
    (void)config_get(c, "model_type");
    if ((key = config_first_unread(c)))
        return fail(e, "%s: %.60s is not supported (it is not among litgpt's settings)",
                    config_path(c), key);
    return 0;
}

const struct family family_litgpt = {.name = "litgpt",
                                     .model_types = {"litgpt"},
                                     .read = read_litgpt,
                                     .ignored_suffixes = {NULL},
                                     .positions = "rotary",
                                     .about = "norms, MLP and windows as its settings say"};
