/* Zamba and Zamba2 (Glorioso et al. 2024): every layer is a Mamba, or a Mamba-2. In a hybrid layer
 * a transformer stands before it, of Zamba the only one, of Zamba2 one of a few, which these layers
 * use in turn, each with additions of low rank to its matrices: it reads the layer's input beside
 * the embeddings, and what it gives is read by the Mamba alone. A hybrid layer is two blocks, a
 * detour and the one that rejoins. Source: huggingface/transformers, models/zamba and zamba2. */
#include "model/family.h"
#include "model/recurrence_layout.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What a configuration says. */
struct sizes {
    const char *transformer; /* its name, below a hybrid layer's */
    long blocks, rank, inner; /* transformers; of additions, 0: there are none; of their MLPs */
    int biased, query_added; /* biases of MLPs; additions also to queries, keys and values */
    double epsilon;
    enum activation activation;
    struct recurrence_sizes recurrence;
};

static const struct recurrence_layout recurrence = {.form = RECURRENCE_MAMBA,
                                                    .stem = "mamba",
                                                    .heads = "n_mamba_heads",
                                                    .key_heads = "mamba_ngroups",
                                                    .key_size = "mamba_d_state",
                                                    .value_size = "mamba_headdim",
                                                    .reach = "mamba_d_conv",
                                                    .typed = 1,
                                                    .expand = "mamba_expand",
                                                    .biased = "add_bias_linear",
                                                    .least = "time_step_min"};
static const struct recurrence_layout scan = {.form = RECURRENCE_SCAN_HEADS,
                                              .stem = "mamba",
                                              .heads = "n_mamba_heads",
                                              .key_size = "mamba_d_state",
                                              .reach = "mamba_d_conv",
                                              .typed = 1,
                                              .expand = "mamba_expand",
                                              .rank = "mamba_dt_rank",
                                              .biased = "mamba_proj_bias",
                                              .conv_biased = "mamba_conv_bias",
                                              .activation = "hidden_mamba_act"};
/* By default Zamba2 has 54 layers, of which these are hybrid. */
static const int hybrid_by_default[] = {6, 12, 18, 24, 30, 36, 42, 47, 51};
enum { LAYERS_BY_DEFAULT = 54, TRANSFORMERS_MOST = 64 };

static int is_hybrid(const json_t *kind)
{
    const char *name = json_string_value(kind);
    return name && strcmp(name, "hybrid") == 0;
}

/* Which layers of Zamba are hybrid by default: the third, and from the fourth on one in so many. */
struct order {
    long layers, period, offset;
};

static int read_order(struct order *o, struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    return config_int(c, "num_hidden_layers", 1, 10000, &o->layers, e) ||
                   config_int(c, "attn_layer_period", 1, 10000, &o->period, e) ||
                   config_int(c, "attn_layer_offset", 0, 10000, &o->offset, e)
               ? -1
               : 0;
}

static int is_hybrid_by_default(const struct order *o, long l)
{
    if (o)
        return l == 2 || (l > 2 && (l - 3) % o->period == o->offset);
    for (size_t i = 0; i < sizeof hybrid_by_default / sizeof *hybrid_by_default; i++)
        if (l == hybrid_by_default[i])
            return 1;
    return 0;
}

/* The kinds of the layers, if they are not stated by `order` of Zamba, NULL of Zamba2; NULL on
 * failure. The caller releases. */
static json_t *kinds_of(struct decoder *d, const struct order *order, struct error *e)
{
    struct config *c = d->config;
    const char *key = family_either(d, "layers_block_type", "layer_types");
    json_t *stated = config_get(c, key), *kinds = stated ? json_incref(stated) : json_array();
    int bad = !kinds;
    for (long l = 0; !stated && l < (order ? order->layers : LAYERS_BY_DEFAULT); l++)
        bad |= json_array_append_new(kinds, json_string(is_hybrid_by_default(order, l)
                                                            ? "hybrid"
                                                            : "linear_attention"));
    if (bad) {
        fail_memory(e, 64 * LAYERS_BY_DEFAULT, "a configuration");
        json_decref(kinds);
        return NULL;
    }
    for (size_t l = 0; l < json_array_size(kinds); l++) {
        const char *kind = json_string_value(json_array_get(kinds, l));
        if (kind && (strcmp(kind, "hybrid") == 0 || strcmp(kind, "linear_attention") == 0 ||
                     strcmp(kind, "mamba") == 0)) /* an older name */
            continue;
        fail(e, "%s: %s, entry %zu: '%s' is not supported (supported: linear_attention, hybrid)",
             config_path(c), key, l + 1, kind ? kind : "not a string");
        json_decref(kinds);
        return NULL;
    }
    if (json_array_size(kinds))
        return kinds;
    fail(e, "%s: %s is not a list of the layers' kinds", config_path(c), key);
    json_decref(kinds);
    return NULL;
}

/* A number that follows from others, if it is stated nevertheless. */
static int follows(struct decoder *d, const char *key, long expected, struct error *e)
{
    long stated;
    if (config_int_or(d->config, key, 0, 1 << 24, expected, &stated, e))
        return -1;
    return stated == expected ? 0
                              : fail(e, "%s: %s is %ld (expected %ld from the other keys)",
                                     config_path(d->config), key, stated, expected);
}

/* The list of hybrid layers, if it is stated beside the kinds. */
static int check_hybrid(struct decoder *d, const json_t *kinds, struct error *e)
{
    const json_t *stated = config_get(d->config, "hybrid_layer_ids");
    size_t at = 0;
    int same = 1;
    for (size_t l = 0; stated && l < json_array_size(kinds); l++)
        if (is_hybrid(json_array_get(kinds, l)))
            same &= json_integer_value(json_array_get(stated, at++)) == (long)l;
    return !stated || (same && at == json_array_size(stated))
               ? 0
               : fail(e, "%s: hybrid_layer_ids is not the list of the hybrid layers",
                      config_path(d->config));
}

/* num_hidden_layers and layer_types of the blocks that the layers are. */
static int state_blocks(struct decoder *d, const json_t *kinds, struct error *e)
{
    json_t *root = config_root(d->config), *blocks = json_array();
    int bad = !blocks;
    if (follows(d, "num_hidden_layers", (long)json_array_size(kinds), e) ||
        check_hybrid(d, kinds, e)) {
        json_decref(blocks);
        return -1;
    }
    for (size_t l = 0; l < json_array_size(kinds); l++) {
        if (is_hybrid(json_array_get(kinds, l)))
            bad |= json_array_append_new(blocks, json_string("full_attention"));
        bad |= json_array_append_new(blocks, json_string("linear_attention"));
    }
    bad |= json_object_set_new(root, "num_hidden_layers",
                               json_integer((json_int_t)json_array_size(blocks)));
    bad |= json_object_set_new(root, "layer_types", blocks);
    return bad ? fail_memory(e, 64, "a configuration") : 0;
}

/* The model's sizes, and those of heads of the transformers, which read twice its width. */
static int read_widths(struct decoder *d, long hidden, struct error *e)
{
    struct config *c = d->config;
    long heads;
    if (config_int(c, "num_attention_heads", 1, 1 << 16, &heads, e))
        return -1;
    long size = 2 * hidden / heads;
    if (2 * hidden % heads || size > HEAD_SIZE_MOST)
        return fail(
            e,
            "%s: twice hidden_size %ld over num_attention_heads %ld is not a head size from "
            "1 to %d",
            config_path(c), hidden, heads, HEAD_SIZE_MOST);
    const struct size_keys keys = {.vocabulary = "vocab_size",
                                   .hidden = "hidden_size",
                                   .layers = "num_hidden_layers",
                                   .heads = "num_attention_heads",
                                   .kv_heads = "num_key_value_heads",
                                   .head_size_given = size};
    return follows(d, "attention_hidden_size", 2 * hidden, e) ||
                   follows(d, "attention_head_dim", size, e) || follows(d, "head_dim", size, e) ||
                   family_sizes(d, &keys, e)
               ? -1
               : 0;
}

/* What the two have alike. */
static int read_settings(struct sizes *z, struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    return config_bool_or(c, "tie_word_embeddings", 1, &d->tied, e) ||
                   config_real_or(c, "rms_norm_eps", 0, 1, 1e-5, &z->epsilon, e) ||
                   family_activation(&z->activation, d, "hidden_act", "gelu", e) ||
                   family_bos(d, "bos_token_id", e)
               ? -1
               : 0;
}

static int read_zamba_sizes(struct sizes *z, struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    long hidden;
    z->blocks = 1, z->transformer = "shared_transf";
    if (config_int(c, "hidden_size", 1, 1 << 20, &hidden, e) || read_widths(d, hidden, e) ||
        config_int(c, "intermediate_size", 1, 1 << 24, &z->inner, e) || read_settings(z, d, e) ||
        recurrence_settings(&z->recurrence, &scan, d, e))
        return -1;
    d->mlp = (int)z->inner;
    return 0;
}

static int read_zamba2_sizes(struct sizes *z, struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    long hidden, state_heads, expand;
    int turned;
    z->transformer = "shared_transformer";
    const struct rope_keys rope = {.theta = "rope_theta",
                                   .fraction = "partial_rotary_factor",
                                   .fraction_default = 1,
                                   .whole_heads = 1};
    if (config_int(c, "hidden_size", 1, 1 << 20, &hidden, e) ||
        config_int(c, "n_mamba_heads", 1, 1 << 16, &state_heads, e) ||
        config_int(c, "mamba_expand", 1, 1024, &expand, e))
        return -1;
    if (!config_has(c, "mamba_headdim") &&
        json_object_set_new(config_root(c), "mamba_headdim",
                            json_integer(expand * hidden / state_heads)))
        return fail_memory(e, 64, "a configuration");
    if (family_only(d, "use_long_context", 0, 0, e) || /* versions of the library differ in it */
        read_widths(d, hidden, e) ||
        config_int_or(c, "intermediate_size", 1, 1 << 24, 4 * hidden, &z->inner, e) ||
        config_int_or(c, "num_mem_blocks", 1, TRANSFORMERS_MOST, 1, &z->blocks, e) ||
        config_int_or(c, "adapter_rank", 1, 1 << 16, 128, &z->rank, e) ||
        config_bool_or(c, "add_bias_linear", 0, &z->biased, e) ||
        config_bool_or(c, "use_shared_attention_adapter", 0, &z->query_added, e) ||
        config_bool_or(c, "use_mem_rope", 0, &turned, e) || read_settings(z, d, e) ||
        (turned && family_rope(d, &rope, e)) ||
        recurrence_settings(&z->recurrence, &recurrence, d, e))
        return -1;
    d->mlp = (int)z->inner;
    z->recurrence.activation = ACTIVATION_SILU, z->recurrence.epsilon = 1e-5;
    z->recurrence.conv_biased = 1; /* whatever use_conv_bias says */
    return 0;
}

/* Rows first .. first + rows of an addition, and its other matrix, of [rank, columns]. */
static int read_added(struct low_rank *out, const struct decoder *d, const struct sizes *z,
                      size_t rows, size_t columns, struct error *e, const char *stem)
{
    return family_linear(&out->down[0], d, (size_t)z->rank, columns, 0, e, "%s.0", stem) ||
                   family_linear(&out->up, d, rows, (size_t)z->rank, 0, e, "%s.1", stem)
               ? -1
               : 0;
}

/* The additions to keys and to values as one: each has its rows of `up`, and its columns. */
static int join_added(struct low_rank *out, const struct low_rank parts[2], struct decoder *d,
                      struct error *e)
{
    const size_t rank = parts[0].up.weight.columns, rows = parts[0].up.weight.rows;
    double *up = family_own(d, 4 * rows * rank, e); /* [2 rows, 2 rank] */
    if (!up)
        return -1;
    for (size_t i = 0; i < 2; i++) {
        const view *v = &parts[i].up.weight;
        out->down[i] = parts[i].down[0];
        for (size_t r = 0; r < rows && !tensors_supposed(d->tensors); r++)
            for (size_t c = 0; c < rank; c++)
                up[(i * rows + r) * 2 * rank + i * rank + c] =
                    element_read(v->data, v->type,
                                 v->first + r * v->row_stride + c * v->column_stride);
    }
    out->up.weight = family_own_view(up, 2 * rows);
    out->up.weight.columns = out->up.weight.row_stride = 2 * rank;
    return 0;
}

static int read_query_added(struct block *b, struct decoder *d, const struct sizes *z,
                            const char *shared, int use, struct error *e)
{
    static const char letters[] = "qkv";
    struct low_rank parts[3] = {0};
    for (size_t i = 0; i < 3; i++) {
        char stem[256];
        snprintf(stem, sizeof stem, "%s.self_attn.linear_%c_adapter_list.%d", shared, letters[i],
                 use);
        if (read_added(&parts[i], d, z, (size_t)(i ? block_key_width(d, b) : block_q_width(d, b)),
                       2 * (size_t)d->hidden, e, stem))
            return -1;
    }
    b->detour.query = parts[0];
    return join_added(&b->detour.key_value, parts + 1, d, e);
}

/* The matrices of a transformer's MLP, of Zamba2 with additions. */
static int read_zamba_mlp(struct block *b, const struct decoder *d, const struct sizes *z,
                          const char *shared, struct error *e)
{
    const size_t hidden = (size_t)d->hidden, inner = (size_t)z->inner;
    return family_linear(&b->gate, d, inner, hidden, 0, e, "%s.feed_forward.gate_proj", shared) ||
                   family_linear(&b->up, d, inner, hidden, 0, e, "%s.feed_forward.up_proj",
                                 shared) ||
                   family_linear(&b->down, d, hidden, inner, 0, e, "%s.feed_forward.down_proj",
                                 shared)
               ? -1
               : 0;
}

static int read_zamba2_mlp(struct block *b, const struct decoder *d, const struct sizes *z,
                           const char *shared, int use, struct error *e)
{
    const size_t hidden = (size_t)d->hidden, inner = (size_t)z->inner;
    struct linear both;
    struct low_rank added = {0};
    char stem[256];
    snprintf(stem, sizeof stem, "%s.feed_forward.gate_up_proj_adapter_list.%d", shared, use);
    if (family_linear(&both, d, 2 * inner, hidden, z->biased, e, "%s.feed_forward.gate_up_proj",
                      shared) ||
        family_linear(&b->down, d, hidden, inner, z->biased, e, "%s.feed_forward.down_proj",
                      shared) ||
        read_added(&added, d, z, 2 * inner, hidden, e, stem))
        return -1;
    struct linear *const matrices[2] = {&b->gate, &b->up};
    struct low_rank *const additions[2] = {&b->detour.gate, &b->detour.up};
    for (size_t i = 0; i < 2; i++) {
        matrices[i]->weight = view_rows(both.weight, i * inner, inner);
        if (both.bias.data)
            matrices[i]->bias = view_rows(both.bias, i * inner, inner);
        *additions[i] = added;
        additions[i]->up.weight = view_rows(added.up.weight, i * inner, inner);
    }
    return 0;
}

/* The transformer of the use-th hybrid layer, `layer`, with its tensors below `shared`. */
static int read_detour(struct block *b, struct decoder *d, const struct sizes *z,
                       const char *shared, const char *layer, int use, struct error *e)
{
    const size_t hidden = (size_t)d->hidden, wide = 2 * hidden,
                 queries = (size_t)block_q_width(d, b), keys = (size_t)block_key_width(d, b);
    const struct norm_form norm = {NORM_RMS, z->epsilon, wide, "weight", NULL};
    if (family_norm_named(&b->attention_norm, d, norm, e, "%s.input_layernorm", shared) ||
        family_linear(&b->query, d, queries, wide, 0, e, "%s.self_attn.q_proj", shared) ||
        family_linear(&b->key, d, keys, wide, 0, e, "%s.self_attn.k_proj", shared) ||
        family_linear(&b->value, d, keys, wide, 0, e, "%s.self_attn.v_proj", shared) ||
        family_linear(&b->output, d, hidden, queries, 0, e, "%s.self_attn.o_proj", shared) ||
        family_norm(&b->mlp_norm, d, NORM_RMS, z->epsilon, 0, e, "%s.pre_ff_layernorm", shared) ||
        (z->rank ? read_zamba2_mlp(b, d, z, shared, use, e) : read_zamba_mlp(b, d, z, shared, e)) ||
        family_linear(&b->detour.after, d, hidden, hidden, 0, e, "%s.linear", layer) ||
        (z->query_added && read_query_added(b, d, z, shared, use, e)))
        return -1;
    b->activation = z->activation;
    b->residual = RESIDUAL_DETOUR;
    b->score.scale = sqrt(2.0 / d->head_size);
    return 0;
}

/* Marks the additions of a transformer below `shared` that other layers use: where each layer has a
 * transformer of its own, its file has those of all. */
static void ignore_added(struct decoder *d, const char *shared, int uses)
{
    static const char *const lists[] = {"feed_forward.gate_up_proj", "self_attn.linear_q",
                                        "self_attn.linear_k", "self_attn.linear_v"};
    for (int use = 0; use < uses; use++)
        for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
            for (int half = 0; half < 2; half++)
                family_ignore(d, "%s.%s_adapter_list.%d.%d.weight", shared, lists[i], use, half);
}

/* Layer numbers count Mambas. A layer whose transformer is not stored with it uses that of the
 * first layers in turn. */
static int read_blocks(struct decoder *d, const struct sizes *z, const char *prefix,
                       struct error *e)
{
    int layer = 0, use = 0, uses = 0, first[TRANSFORMERS_MOST];
    for (int l = 0; l < d->layers; l++)
        uses += block_attends(&d->blocks[l]);
    for (int l = 0; l < d->layers; l++) {
        struct block *b = &d->blocks[l];
        char stem[128], shared[160];
        int rejoins = l > 0 && block_attends(b - 1);
        snprintf(stem, sizeof stem, "%slayers.%d%s", prefix, layer,
                 rejoins ? ".mamba_decoder" : "");
        if (!block_attends(b)) {
            if (family_norm(&b->attention_norm, d, NORM_RMS, z->epsilon, 0, e, "%s.input_layernorm",
                            stem) ||
                recurrence_read(b, &z->recurrence, d, stem, e))
                return -1;
            b->residual = rejoins ? RESIDUAL_REJOIN : RESIDUAL_SEQUENTIAL;
            layer++;
            continue;
        }
        if (use < z->blocks)
            first[use] = layer;
        snprintf(shared, sizeof shared, "%s.%s", stem, z->transformer);
        if (!family_has(d, "%s.self_attn.q_proj.weight", shared))
            snprintf(shared, sizeof shared, "%slayers.%d.%s", prefix, first[use % z->blocks],
                     z->transformer);
        if (read_detour(b, d, z, shared, stem, use++, e))
            return -1;
        if (z->rank && (use <= z->blocks || strncmp(shared, stem, strlen(stem)) == 0)) /* once */
            ignore_added(d, shared, uses);
    }
    if (use)
        family_describe(d, "transformers before %d of them", use);
    return 0;
}

/* The rest of a model, after its configuration. */
static int read_model(struct decoder *d, const struct sizes *z, struct error *e)
{
    const char *prefix = family_prefix(d, "model.", "embed_tokens.weight");
    return family_embedding(d, (size_t)d->hidden, e, "lm_head", "%sembed_tokens.weight", prefix) ||
                   read_blocks(d, z, prefix, e) ||
                   family_norm(&d->final_norm, d, NORM_RMS, z->epsilon, 0, e, "%sfinal_layernorm",
                               prefix) ||
                   family_head(d, 0, e, "lm_head")
               ? -1
               : 0;
}

static int read_zamba(struct decoder *d, struct error *e)
{
    static const char defaults[] =
        "{\"vocab_size\": 32000, \"hidden_size\": 3712, \"intermediate_size\": 14848, "
        "\"num_hidden_layers\": 76, \"num_attention_heads\": 16, \"num_key_value_heads\": 16, "
        "\"n_mamba_heads\": 2, \"mamba_d_state\": 16, \"mamba_d_conv\": 4, \"mamba_expand\": 2, "
        "\"attn_layer_period\": 6, \"attn_layer_offset\": 4, \"max_position_embeddings\": 4096}";
    struct sizes z = {0};
    struct order order;
    if (family_defaults(d, defaults, e) || read_order(&order, d, e))
        return -1;
    json_t *kinds = kinds_of(d, &order, e);
    int bad = !kinds || state_blocks(d, kinds, e) || read_zamba_sizes(&z, d, e);
    json_decref(kinds);
    return bad ? -1 : read_model(d, &z, e);
}

static int read_zamba2(struct decoder *d, struct error *e)
{
    static const char defaults[] =
        "{\"vocab_size\": 32000, \"hidden_size\": 2560, \"num_attention_heads\": 32, "
        "\"n_mamba_heads\": 8, \"mamba_ngroups\": 1, \"mamba_d_state\": 64, \"mamba_d_conv\": 4, "
        "\"mamba_expand\": 2, \"max_position_embeddings\": 4096}";
    struct sizes z = {0};
    json_t *kinds = kinds_of(d, NULL, e);
    int bad = !kinds || family_defaults(d, defaults, e) || state_blocks(d, kinds, e) ||
              read_zamba2_sizes(&z, d, e);
    json_decref(kinds);
    return bad ? -1 : read_model(d, &z, e);
}

/* Keys of the initial weights, of how the library computes, and those that follow from others; with
 * use_mem_rope false no rotary settings are read. */
static const char *const harmless[] = {
    "chunk_size",         "kv_channels",      "max_position_embeddings",
    "num_logits_to_keep", "num_query_groups", "number_of_conv_states",
    "rope_parameters",    "rope_scaling",     "rope_theta",
    "time_step_floor",    "time_step_max",    "use_conv_bias",
    "use_mamba_kernels",  "use_mem_eff_path", NULL};
static const char *const nullable[] = {"intermediate_size", "layers_block_type",
                                       "num_key_value_heads", "rope_theta", NULL};

static const char *const zamba_harmless[] = {
    "max_position_embeddings", "num_logits_to_keep", "number_of_conv_states",
    "time_step_floor",         "time_step_max",      "time_step_min",
    "use_associative_scan",    "use_mamba_kernels",  NULL};
static const char *const zamba_nullable[] = {"attention_head_dim", "attention_hidden_size",
                                             "layers_block_type", NULL};

const struct family family_zamba = {
    .name = "zamba",
    .model_types = {"zamba"},
    .read = read_zamba,
    .harmless = zamba_harmless,
    .nullable = zamba_nullable,
    .positions = "none",
    .about = "Mamba, before some of them a shared transformer that reads embeddings too"};
const struct family family_zamba2 = {
    .name = "zamba2",
    .model_types = {"zamba2"},
    .read = read_zamba2,
    .ignored_suffixes = {".rotary_emb.inv_freq"},
    .harmless = harmless,
    .nullable = nullable,
    .positions = "rotary or none",
    .about = "Mamba-2, before some of them a shared transformer that reads embeddings too"};
