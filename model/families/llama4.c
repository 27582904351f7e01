/* Llama 4: layers in chunks and turned, others neither; experts whose inputs are scaled. Defaults
 * are the library's: huggingface/transformers, models/llama4. */
#include "model/families/rows.h"

#include "model/rope.h"

#include <string.h>

/* 1 if layer l attends in chunks: by layer_types, or if it is turned; -1 for another kind. */
static int in_chunks(const struct decoder *d, int l, struct error *e)
{
    json_t *kinds = config_get(d->config, "layer_types");
    const char *kind = json_string_value(json_array_get(kinds, (size_t)l));
    if (!kinds)
        return d->blocks[l].score.rotary != ROTARY_NONE;
    if (kind && strcmp(kind, "chunked_attention") == 0)
        return 1;
    if (!kind || strcmp(kind, "full_attention") != 0)
        return fail(e, "%s: layer_types, entry %d is neither chunked_attention nor full_attention",
                    config_path(d->config), l + 1);
    return 0;
}

/* Chunks are counted from the segment's beginning. */
static int read_chunks(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    long chunk;
    int some = 0;
    if (config_int_or(c, "attention_chunk_size", 1, 1 << 30,
                      config_absent(c, "attention_chunk_size") ? 8192 : 0, &chunk, e))
        return -1;
    for (int l = 0; l < d->layers; l++) {
        int here = in_chunks(d, l, e);
        if (here < 0)
            return -1;
        d->blocks[l].score.chunk = here ? (int)chunk : 0;
        some += here;
    }
    if (some && !chunk && config_get(c, "layer_types"))
        return fail(e, "%s: attention_chunk_size is null, but layer_types has chunks",
                    config_path(c));
    if (some && chunk)
        family_describe(d, "chunks of %ld%s", chunk, some < d->layers ? " in some layers" : "");
    return 0;
}

/* Turned layers have norms of queries and keys behind the rotation, without parameters; queries of
 * the others grow with their position. */
static int finish_llama4(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    const struct norm_view norm = {.kind = NORM_RMS,
                                   .epsilon = d->final_norm.epsilon,
                                   .present = 1};
    int normed, grows, some = 0;
    double growth;
    long period;
    if (config_bool_or(c, "use_qk_norm", 1, &normed, e) ||
        config_bool_or(c, "attn_temperature_tuning", 1, &grows, e) ||
        config_real_or(c, "attn_scale", -1e6, 1e6, 0.1, &growth, e) ||
        config_int_or(c, "floor_scale", 1, 1 << 30, 8192, &period, e) || read_chunks(d, e))
        return -1;
    for (int l = 0; l < d->layers; l++) {
        struct block *b = &d->blocks[l];
        if (b->score.rotary != ROTARY_NONE && normed) {
            b->query_norm = b->key_norm = norm;
            b->query_norm_last = some = 1;
        } else if (b->score.rotary == ROTARY_NONE && grows) {
            b->score.query_growth = growth, b->score.query_period = (double)period;
            b->score.query_first = 1;
        }
    }
    if (some)
        rope_divide_out(d);
    if (grows && growth != 0)
        family_describe(d, "unturned queries times 1 + %.10g ln(1 + floor((i + 1) / %ld))", growth,
                        period);
    return 0;
}

static const struct expert_layout experts = {.count = "num_local_experts",
                                             .step = "interleave_moe_layer_step",
                                             .with = "moe_layers",
                                             .scoring = SCORING_SIGMOID,
                                             .scales_input = 1,
                                             .turned = 1,
                                             .router = "feed_forward.router",
                                             .gate_up = {"feed_forward.experts.gate_up_proj"},
                                             .stacked_down = {"feed_forward.experts.down_proj"},
                                             .shared_absent = 1,
                                             .shared = "feed_forward.shared_expert"};
static const struct layout llama4_text = {
    LLAMA(1e-5),
    .inner = "intermediate_size_mlp",
    .names = {LLAMA_FRAME, NORM_BEFORE_MLP, SPLIT, OUTPUT, .gate = "feed_forward.gate_proj",
              .up = "feed_forward.up_proj", .down = "feed_forward.down_proj"},
    .head_size_absent = 128,
    ACTIVATION("hidden_act", "silu"),
    BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
    .rope = {ROTARY_WHOLE, .pairing = PAIRING_INTERLEAVED, .theta_default = 5e5},
    .turned = TURNED_LISTED,
    .experts = &experts,
    .defaults = "{\"num_key_value_heads\": 8, \"num_local_experts\": 16, "
                "\"num_experts_per_tok\": 1, \"intermediate_size\": 8192, "
                "\"intermediate_size_mlp\": 16384}",
    .finish = finish_llama4};

static const char *const of_routers[] = {"for_llm_compressor", "output_router_logits",
                                         "router_aux_loss_coef", "router_jitter_noise", NULL};
static const char *const listed[] = {"attention_chunk_size",  "moe_layers",
                                     "no_rope_layers",        "num_key_value_heads",
                                     "partial_rotary_factor", NULL};

const struct family families_llama4[] = {{ROW(llama4_text), .harmless = of_routers,
                                          .nullable = listed},
                                         {.name = NULL}};
