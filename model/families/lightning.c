/* MiniMax's: linear attention whose heads forget at a fixed rate ("lightning attention", Qin et al.
 * 2024) in most layers and attention in others, with experts. Defaults are the library's
 * (huggingface/transformers, models/minimax), and those of the models' published code. */
#include "model/families/rows.h"

#include <math.h>
#include <string.h>

/* The decays of the library, and of the published code, which differ where the number of heads is
 * not a power of two and by the last term. Layers forget less from the first to the last. */
static double library_decay(int head, int heads, int layer, int layers)
{
    return exp2(-8.0 * (head + 1) / heads) * (1 - layer / (layers - 1 + 1e-5) + 1e-5);
}

static double published_decay(int head, int heads, int layer, int layers)
{
    int power = 1;
    while (2 * power <= heads)
        power *= 2;
    double slope = head < power ? exp2(-8.0 * (head + 1) / power)
                                : exp2(-4.0 * (2 * (head - power) + 1) / power);
    return slope * (1 - (layers > 1 ? layer / (layers - 1.0) : 0) + 1e-5);
}

#define FIXED .form = RECURRENCE_FIXED, .stem = "self_attn", .typed = 1, .epsilon = 1e-6
static const struct recurrence_layout library_fixed = {FIXED, .decay = library_decay},
                                      published_fixed = {FIXED, .decay = published_decay};
static const struct expert_layout experts = {MIXTRAL_EXPERTS, .older_count = "num_experts",
                                             .other_router = "mlp.gate"};

/* The number of experts by default, under neither name; and layer_types by a function of the layer.
 */
static int set_defaults(struct decoder *d, int (*attends)(const struct decoder *d, long layer),
                        struct error *e)
{
    long layers;
    if (config_absent(d->config, "num_local_experts") && config_absent(d->config, "num_experts") &&
        json_object_set_new(config_root(d->config), "num_local_experts", json_integer(8)))
        return fail_memory(e, 64, "a configuration");
    if (config_has(d->config, "layer_types"))
        return 0;
    if (config_int(d->config, "num_hidden_layers", 1, 10000, &layers, e))
        return -1;
    json_t *types = json_array();
    for (long l = 0; l < layers; l++)
        json_array_append_new(types,
                              json_string(attends(d, l) ? "full_attention" : "linear_attention"));
    return json_object_set_new(config_root(d->config), "layer_types", types)
               ? fail_memory(e, 64, "a configuration")
               : 0;
}

static int every_other(const struct decoder *d, long layer)
{
    (void)d;
    return layer % 2 == 0;
}

static int is_listed(const struct decoder *d, long layer)
{
    return json_integer_value(
               json_array_get(config_get(d->config, "attn_type_list"), (size_t)layer)) == 1;
}

static int prepare_minimax(struct decoder *d, struct error *e)
{
    return set_defaults(d, every_other, e);
}

/* attn_type_list: of each layer 1, attention, or 0. */
static int prepare_published(struct decoder *d, struct error *e)
{
    const json_t *list = config_get(d->config, "attn_type_list");
    long layers;
    if (config_int(d->config, "num_hidden_layers", 1, 10000, &layers, e))
        return -1;
    int listed = json_array_size(list) == (size_t)layers;
    for (size_t l = 0; l < json_array_size(list); l++) {
        const json_t *one = json_array_get(list, l);
        listed &= json_is_integer(one) && json_integer_value(one) >= 0 &&
                  json_integer_value(one) <= 1;
    }
    if (!listed)
        return fail(e, "%s: attn_type_list is not a list of 1 or 0 for each of %ld layers",
                    config_path(d->config), layers);
    return set_defaults(d, is_listed, e);
}

/* Factors of the sums n + f(n), where n is a norm's output: alpha n + beta f(n). */
struct factors {
    double alpha, beta;
};

static int read_factors(struct factors *out, struct decoder *d, const char *of, struct error *e)
{
    char key[2][64];
    snprintf(key[0], sizeof key[0], "%s_alpha_factor", of);
    snprintf(key[1], sizeof key[1], "%s_beta_factor", of);
    if (config_real_or(d->config, key[0], -1e6, 1e6, 1, &out->alpha, e) ||
        config_real_or(d->config, key[1], -1e6, 1e6, 1, &out->beta, e))
        return -1;
    return out->alpha > 1e-6 ? 0
                             : fail(e, "%s: %s %g is not supported (expected more than 0)",
                                    config_path(d->config), key[0], out->alpha);
}

/* A sum after the mixer is read by a norm alone, for which alpha (n + beta / alpha f(n)) is n +
 * beta / alpha f(n) with an epsilon divided by alpha^2. */
static int scale_sums(struct decoder *d, struct error *e)
{
    struct factors full, fixed, mlp;
    if (read_factors(&full, d, "full_attn", e) || read_factors(&fixed, d, "linear_attn", e) ||
        read_factors(&mlp, d, "mlp", e))
        return -1;
    for (int l = 0; l < d->layers; l++) {
        struct block *b = &d->blocks[l];
        const struct factors *mixer = block_recurs(b) ? &fixed : &full;
        struct linear *out = block_recurs(b) ? &b->mixer.recurrence.out : &b->output;
        if (family_multiply(out, d, mixer->beta / mixer->alpha, 1, e))
            return -1;
        b->residual_from_norm = 1;
        b->mlp_norm.epsilon /= mixer->alpha * mixer->alpha;
        b->experts.routing.factor *= mlp.beta / mlp.alpha;
        b->factor = mlp.alpha == 1 ? 0 : mlp.alpha;
    }
    return 0;
}

/* `from_norm`: the default of postnorm. */
static int finish(struct decoder *d, int from_norm, struct error *e)
{
    struct config *c = d->config;
    long shared, window;
    if (family_only(d, "postnorm", 1, from_norm, e) ||
        config_int_or(c, "shared_intermediate_size", 0, 1 << 24, 0, &shared, e) ||
        config_int_or(c, "sliding_window", 1, 1 << 30, 0, &window, e))
        return -1;
    if (shared)
        return fail(e, "%s: shared_intermediate_size %ld is not supported (expected 0)",
                    config_path(c), shared);
    for (int l = 0; l < d->layers; l++)
        d->blocks[l].score.window = block_attends(&d->blocks[l]) ? (int)window : 0;
    if (window)
        family_describe(d, "window %ld in layers with attention", window);
    return scale_sums(d, e);
}

static int finish_minimax(struct decoder *d, struct error *e)
{
    if (d->position == POSITION_ROTARY && d->rotary[0].size < d->head_size)
        family_note(d,
                    "rotary_dim %d turns a part of each head, as in the code that the model was "
                    "published with (transformers turns whole heads)",
                    d->rotary[0].size);
    return finish(d, 1, e);
}

static int finish_published(struct decoder *d, struct error *e)
{
    return finish(d, 0, e);
}

static const struct alias published[] = {
    {"layernorm_full_attention_alpha", "full_attn_alpha_factor"},
    {"layernorm_full_attention_beta", "full_attn_beta_factor"},
    {"layernorm_linear_attention_alpha", "linear_attn_alpha_factor"},
    {"layernorm_linear_attention_beta", "linear_attn_beta_factor"},
    {"layernorm_mlp_alpha", "mlp_alpha_factor"},
    {"layernorm_mlp_beta", "mlp_beta_factor"},
    {NULL, NULL}};

#define MINIMAX \
    LLAMA(1e-5), .names = {LLAMA_FRAME, NORM_BEFORE_MLP, SPLIT, OUTPUT}, \
                 ACTIVATION("hidden_act", "silu"), .experts = &experts, \
                 .defaults = "{\"vocab_size\": 32000, \"hidden_size\": 4096, " \
                             "\"intermediate_size\": 14336, \"num_hidden_layers\": 32, " \
                             "\"num_attention_heads\": 32, \"num_key_value_heads\": 8, " \
                             "\"num_experts_per_tok\": 2, " \
                             "\"max_position_embeddings\": 131072}"
static const struct layout minimax = {
    MINIMAX, .rope = {ROTARY_WHOLE, .rotated = "rotary_dim", .theta_default = 1e6},
    .recurrence = &library_fixed, .prepare = prepare_minimax, .finish = finish_minimax};
static const struct layout minimax_text_01 = {MINIMAX,
                                              .rope = {ROTARY_PART(1), .rotated = "rotary_dim",
                                                       .theta_default = 1e6},
                                              .recurrence = &published_fixed,
                                              .aliases = published,
                                              .prepare = prepare_published,
                                              .finish = finish_published};

static const char *const harmless[] = {"block_size",           "output_router_logits",
                                       "router_aux_loss_coef", "router_jitter_noise",
                                       "shared_moe_mode",      NULL};
static const char *const nullable[] = {"head_dim", "layer_types", "num_key_value_heads",
                                       "sliding_window", NULL};

const struct family families_lightning[] = {{ROW(minimax), .harmless = harmless,
                                             .nullable = nullable},
                                            {.name = "minimax_text_01",
                                             .model_types = {"minimax_text_01", "minimax_m1"},
                                             .layout = &minimax_text_01,
                                             .ignored_suffixes = {".rotary_emb.inv_freq"},
                                             .harmless = harmless,
                                             .nullable = nullable},
                                            {.name = NULL}};
