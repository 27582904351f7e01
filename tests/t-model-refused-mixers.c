/* What families with convolutions and recurrences refuse, by its name. */
#include "tests/changed.h"
#include "tests/scratch.h"

#include "model/decoder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static void test_refused(void **state)
{
    static const struct refusal rows[] = {
        {"lfm2", "conv_L_cache", "9", "conv_L_cache is 9 (expected a whole number from 1 to 8)"},
        {"lfm2", "layer_types", "[\"conv\", \"mamba\", \"conv\"]",
         "layer_types, entry 2: 'mamba' is not supported (supported: conv, full_attention)"},
        {"lfm2", "block_ffn_dim_multiplier", "null", "block_ffn_dim_multiplier is null"},
        {"lfm2-published", "full_attn_idxs", "[-1]", "full_attn_idxs, entry 1 is not a layer"},
        {"lfm2-moe", "layer_types", "",
         "layer_types is missing (expected conv or full_attention for each of 3 layers)"},
        {"qwen3-next", "layer_types", "[\"linear_attention\", \"conv\", \"full_attention\"]",
         "layer_types, entry 2: 'conv' is not supported (supported: linear_attention, "
         "full_attention)"},
        {"qwen3-next", "layer_types", "[]", "layer_types is not a list of one kind for each of 3"},
        {"qwen3-next", "linear_num_value_heads", "3",
         "linear_num_value_heads 3 is not a multiple of linear_num_key_heads 2"},
        {"qwen3-5", "linear_key_head_dim", "4", "in_proj_qkv.weight' has shape"},
        {"minimax", "mlp_alpha_factor", "0", "mlp_alpha_factor 0 is not supported (expected more"},
        {"minimax", "postnorm", "false", "postnorm false is not supported (expected true)"},
        {"minimax", "shared_intermediate_size", "4",
         "shared_intermediate_size 4 is not supported (expected 0)"},
        {"minimax", "layer_types", "[\"linear_attention\"]",
         "layer_types is not a list of one kind for each of 3 layers"},
        {"minimax", "num_experts", "4", "num_local_experts 3 and num_experts 4 differ"},
        {"minimax-text-01", "attn_type_list", "[1, 2, 0, 0]",
         "attn_type_list is not a list of 1 or 0 for each of 4 layers"},
        {"minimax-text-01", "attn_type_list", "", "attn_type_list is not a list of 1 or 0"},
        {"minimax-text-01", "postnorm", "", "postnorm false is not supported (expected true)"},
        {"minimax-text-01", "rotary_dim", "3", "turns 3 of the 4 dimensions of a head"},
        {"lara-mini", "sliding_window", "null",
         "layer_types, entry 2 is sliding_attention, but no sliding_window is set"},
        {"lara-mini", "linear_key_head_dim", "4", "in_proj.weight' has shape"},
        {"bailing-hybrid", "rope_interleave", "false", "rope_interleave false is not supported"},
        {"bailing-hybrid", "no_kda_lora", "false", "no_kda_lora false is not supported"},
        {"bailing-hybrid", "score_function", "\"softmax\"", "score_function 'softmax' is not"},
        {"kimi-linear", "mla_use_nope", "false", "mla_use_nope false is not supported"},
        {"kimi-linear", "num_local_experts", "7", "num_experts 4 and num_local_experts 7 differ"},
        {"kimi-linear", "use_grouped_topk", "false", "use_grouped_topk false is not supported"},
        {"kimi-linear", "moe_router_activation_func", "\"softmax\"",
         "moe_router_activation_func 'softmax' is not supported (expected 'sigmoid')"},
        {"falcon-mamba", "intermediate_size", "", "in_proj.weight' has shape"},
        {"olmo-hybrid", "linear_num_value_heads", "3",
         "linear_num_value_heads 3 is not a multiple of linear_num_key_heads 2"},
        {"olmo-hybrid", "linear_allow_neg_eigval", "2", "linear_allow_neg_eigval is 2 (expected"},
        {"olmo-hybrid", "layer_types", "[\"linear_attention\"]",
         "layer_types is not a list of one kind for each of 2 layers"},
        {"olmo-hybrid", "linear_conv_kernel_dim", "4", "q_conv1d.weight' has shape"},
        {"olmo-hybrid", "rope_parameters.rope_type", "\"strange\"", "rotary scaling 'strange'"},
        {"falcon-h1", "mamba_d_ssm", "21",
         "mamba_d_ssm 21 is not mamba_n_heads 4 times mamba_d_head 5"},
        {"falcon-h1", "mamba_d_ssm", "null",
         "mamba_expand 2 times the width 12 is not mamba_n_heads 4 times mamba_d_head 5"},
        {"falcon-h1", "mamba_d_state", "4", "in_proj.weight' has shape"},
        {"falcon-h1", "mamba_rms_norm", "1", "mamba_rms_norm is 1 (expected true or false)"},
        {"falcon-h1", "ssm_multipliers", "[1, 1, 1, 1]",
         "ssm_multipliers is not a list of 5 numbers"},
        {"falcon-h1", "mlp_multipliers", "[1, \"1\"]",
         "mlp_multipliers is not a list of 2 numbers"},
        {"falcon-h1", "key_multiplier", "\"1\"", "key_multiplier is '1' (expected a number"},
        {"recurrent-gemma", "lru_width", "7",
         "lru_width 7 is not a multiple of the 2 blocks of its gates, one for a head"},
        {"recurrent-gemma", "lru_width", "16777218",
         "lru_width is 16777218 (expected a whole number"},
        {"recurrent-gemma", "lru_width", "8", "linear_x.weight' has shape"},
        {"recurrent-gemma", "num_attention_heads", "1", "recurrent_gate_weight' has shape"},
        {"recurrent-gemma", "conv1d_width", "9",
         "conv1d_width is 9 (expected a whole number from 1 to 8)"},
        {"recurrent-gemma", "conv1d_width", "4", "conv_1d.weight' has shape"},
        {"recurrent-gemma", "layer_types", "[\"linear_attention\"]",
         "layer_types and layers_block_type are not supported in a recurrent_gemma model"},
        {"recurrent-gemma", "layers_block_type", "[\"linear_attention\"]",
         "layer_types and layers_block_type are not supported in a recurrent_gemma model"},
        {"recurrent-gemma", "block_types", "[]",
         "block_types is not a list of recurrent and attention"},
        {"recurrent-gemma", "block_types", "\"recurrent\"",
         "block_types is not a list of recurrent and attention"},
        {"recurrent-gemma", "block_types", "[\"recurrent\", \"linear_attention\"]",
         "block_types, entry 2: 'linear_attention' is not supported (supported: recurrent, "
         "attention)"},
        {"recurrent-gemma", "block_types", "[\"recurrent\"]", "linear_x.weight' is missing"},
        {"recurrent-gemma", "attention_window_size", "0", "attention_window_size is 0 (expected"},
        {"recurrent-gemma", "intermediate_size", "1", "intermediate_size is 1 (expected"},
        {"recurrent-gemma", "logits_soft_cap", "0", "logits_soft_cap is 0 (expected"},
        {"recurrent-gemma", "embeddings_scale_by_sqrt_dim", "false",
         "embeddings_scale_by_sqrt_dim false is not supported (expected true)"},
        {"recurrent-gemma", "rope_parameters", "{\"rope_type\": \"linear\", \"factor\": 2}",
         "rotary scaling 'linear' is not supported in a recurrent_gemma model (supported: "
         "default)"},
        {"zamba", "n_mamba_heads", "5", "a width of 12 is not a multiple of n_mamba_heads 5"},
        {"zamba", "n_mamba_heads", "3", "x_proj_weight' has shape"},
        {"zamba", "mamba_d_state", "4", "x_proj_weight' has shape"},
        {"zamba", "mamba_d_state", "257", "mamba_d_state is 257 (expected a whole number"},
        {"zamba", "mamba_dt_rank", "3", "x_proj_weight' has shape"},
        {"zamba", "mamba_d_conv", "9", "mamba_d_conv is 9 (expected a whole number from 1 to 8)"},
        {"zamba", "attention_head_dim", "4", "attention_head_dim is 4 (expected 6 from the other"},
        {"zamba", "layers_block_type", "[\"hybrid\", \"attention\", \"hybrid\"]",
         "layers_block_type, entry 2: 'attention' is not supported (supported: linear_attention, "
         "hybrid)"},
        {"zamba", "attn_layer_period", "0", "attn_layer_period is 0 (expected"},
        {"zamba", "num_hidden_layers", "4",
         "num_hidden_layers is 4 (expected 3 from the other keys)"},
        {"zamba2", "use_long_context", "true",
         "use_long_context true is not supported (expected false)"},
        {"zamba2", "layers_block_type", "[\"hybrid\", \"attention\"]",
         "layers_block_type, entry 2: 'attention' is not supported (supported: linear_attention, "
         "hybrid)"},
        {"zamba2", "layers_block_type", "[]",
         "layers_block_type is not a list of the layers' kinds"},
        {"zamba2", "num_hidden_layers", "4",
         "num_hidden_layers is 4 (expected 3 from the other keys)"},
        {"zamba2", "attention_head_dim", "4", "attention_head_dim is 4 (expected 6 from the other"},
        {"zamba2", "hybrid_layer_ids", "[0, 2]", "hybrid_layer_ids is not the list of the hybrid"},
        {"zamba2", "num_attention_heads", "5",
         "twice hidden_size 6 over num_attention_heads 5 is not a head size from 1 to 512"},
        {"zamba2", "num_mem_blocks", "3",
         "layers.2.shared_transformer.input_layernorm.weight' is missing"},
        {"zamba2", "num_mem_blocks", "65",
         "num_mem_blocks is 65 (expected a whole number from 1 to 64)"},
        {"zamba2", "adapter_rank", "3", "gate_up_proj_adapter_list.0.0.weight' has shape"},
        {"mamba2", "conv_kernel", "9", "conv_kernel is 9 (expected a whole number from 1 to 8)"},
        {"mamba2", "state_size", "257",
         "state_size is 257 (expected a whole number from 1 to 256)"},
        {"mamba2", "n_groups", "3", "num_heads 4 is not a multiple of n_groups 3"},
        {"mamba2", "expand", "3",
         "expand 3 times the width 12 is not num_heads 4 times head_dim 6"},
        {"mamba2", "time_step_limit", "[0.3]", "time_step_limit is not a list of the least and"},
        {"mamba2", "time_step_limit", "[2, 1]", "time_step_limit is not a list of the least and"},
        {"mamba2", "time_step_limit", "null", "time_step_limit is not a list of the least and"},
        {"mamba2", "time_step_limit", "[0, {\"__float__\": \"NaN\"}]",
         "time_step_limit is not a list of the least and"},
        {"bamba", "attn_layer_indices", "[-1]", "attn_layer_indices, entry 1 is not a layer"},
        {"bamba", "attn_layer_indices", "1", "attn_layer_indices is not a list of layers"},
        {"bamba", "mamba_d_head", "\"half\"", "mamba_d_head is 'half' (expected a whole number"},
        {"bamba", "mamba_d_head", "3", "mamba_expand 2 times the width 12 is not mamba_n_heads 4"},
        {"bamba", "mamba_expand", "512",
         "mamba_d_head auto is 1536: a width of 6144 over mamba_n_heads 4"},
        {"bamba", "rope_parameters", "{\"rope_theta\": 9, \"partial_rotary_factor\": 0.4}",
         "partial_rotary_factor 0.4 turns 3 of the 8 dimensions of a head"},
        {"granitemoehybrid", "layer_types", "[\"mamba\", \"mlp\"]",
         "layer_types, entry 2: 'mlp' is not supported (supported: linear_attention, "
         "full_attention)"},
        {"granitemoehybrid", "num_local_experts", "true", "num_local_experts is true"},
        {"granitemoehybrid", "position_embedding_type", "1", "position_embedding_type is 1"},
        {"granitemoehybrid-dense", "num_local_experts", "4", "router"},
        {"nemotron-h", "moe_latent_size", "5", "fc1_latent_proj.weight' is missing"},
        {"nemotron-h-latent", "moe_latent_size", "0", "moe_latent_size is 0 (expected"},
        {"nemotron-h-latent", "moe_latent_size", "4", "fc1_latent_proj.weight' has shape"},
        {"nemotron-h", "attention_bias", "true", "attention_bias true is not supported"},
        {"nemotron-h", "mamba_proj_bias", "true", "mamba_proj_bias true is not supported"},
        {"nemotron-h", "moe_shared_expert_intermediate_size", "0",
         "moe_shared_expert_intermediate_size is 0 (expected a whole number from 1"},
        {"nemotron-h", "layers_block_type", "[\"mlp\", \"moe\", 3, \"mlp\"]",
         "layer_types, entry 3: 'not a string' is not supported (supported: linear_attention, "
         "full_attention, mlp, moe)"},
        {"nemotron-h", "num_hidden_layers", "5", "num_hidden_layers is 5 (expected 4, as many as"},
        {"nemotron-h", "layers_block_type", "7", "num_hidden_layers"},
        {"nemotron-h-published", "hybrid_override_pattern", "\"-M*x\"",
         "hybrid_override_pattern, layer 4 is 'x' (expected M, *, - or E)"},
        {"qwen3-5", "attn_output_gate", "false", "attn_output_gate false is not supported"},
        {"qwen3-5", "output_gate_type", "\"sigmoid\"",
         "output_gate_type 'sigmoid' is not supported (expected swish)"},
        {"olmo-hybrid", "linear_use_gate", "false", "linear_use_gate false is not supported"},
        {"falcon-h1", "mamba_use_mlp", "false", "mamba_use_mlp false is not supported"},
        {"mamba-ssm", "ssm_cfg.layer", "\"Mamba3\"",
         "ssm_cfg.layer 'Mamba3' is not supported (expected Mamba1 or Mamba2)"},
        {"mamba-ssm1", "d_intermediate", "4", "d_intermediate and attn_layer_idx are not"},
        {"mamba-ssm1", "rms_norm", "false", "rms_norm false is not supported"},
        {"mamba-ssm1", "ssm_cfg.dt_rank", "0", "time_step_rank is 0 (expected a whole number"},
        {"mamba", "state_size", "257", "state_size is 257 (expected a whole number from 1 to 256)"},
        {"mamba", "intermediate_size", "36", "in_proj.weight' has shape"},
        {"falcon-mamba", "mixer_rms_eps", "-1", "mixer_rms_eps is -1 (expected"},
        {"rwkv", "attention_hidden_size", "15", "blocks.0.attention.key.weight' has shape"},
        {"rwkv", "attention_hidden_size", "0", "attention_hidden_size is 0 (expected"},
        {"rwkv", "intermediate_size", "16777217", "intermediate_size is 16777217 (expected"},
        {"rwkv", "intermediate_size", "null", "blocks.0.feed_forward.key.weight' has shape"},
        {"rwkv", "rescale_every", "\"6\"", "rescale_every is '6' (expected"},
        {"rwkv", "num_hidden_layers", "5001", "num_hidden_layers is 5001 (expected"},
        {"rwkv", "num_hidden_layers", "62", "rescale_every 2 halves the residual stream 31 times"},
        {"rwkv", "num_hidden_layers", "4", "rwkv.blocks.3.ln1.weight' is missing"},
        {"rwkv", "num_hidden_layers", "2", "rwkv.blocks.2."},
        {"jamba", "attn_layer_offset", "3", "attn_layer_offset 3 is not below attn_layer_period 3"},
        {"jamba", "expert_layer_period", "0", "expert_layer_period is 0 (expected"},
        {"jamba", "mamba_dt_rank", "\"many\"", "mamba_dt_rank is 'many' (expected"},
        {"mamba-ssm", "attn_layer_idx", "[1]", "d_intermediate, attn_layer_idx and ssm_cfg.d_ssm"},
        {"mamba-ssm", "ssm_cfg.d_ssm", "8", "d_intermediate, attn_layer_idx and ssm_cfg.d_ssm"},
        {"mamba-ssm", "ssm_cfg.norm_before_gate", "true", "ssm_cfg.norm_before_gate true is not"},
        {"mamba-ssm", "ssm_cfg.rmsnorm", "false", "ssm_cfg.rmsnorm false is not supported"},
        {"mamba-ssm", "rms_norm", "false", "rms_norm false is not supported"},
        {"mamba2", "hidden_act", "\"mish\"", "hidden_act 'mish' is not supported"},
    };
    (void)state;
    check_refused(rows, LENGTH(rows));
}

/* Decays that are no numbers. */
static void test_decays(void **state)
{
    static const struct {
        const char *golden, *tensor, *words;
    } rows[] = {
        {"mamba", "backbone.layers.1.mixer.A_log", "layers.1.mixer.A_log' holds"},
        {"recurrent-gemma", "model.layers.2.temporal_block.rg_lru.recurrent_param",
         "layers.2.temporal_block.rg_lru.recurrent_param' holds"},
        {"rwkv", "rwkv.blocks.1.attention.time_decay", "blocks.1.attention.time_decay' holds"},
    };
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct error e = {""};
        const char *folder = changed(rows[i].golden, "use_cache", "true");
        change_elements(rows[i].tensor, 0x7FC0, 2); /* NaN, in bf16 and in float */
        if (decoder_open(folder, &e))
            fail_msg("%s: was opened", rows[i].golden);
        assert_int_equal(check_message(rows[i].golden, &e, rows[i].words), 0);
    }
}

/* Rates that leave nothing of a row are as large as a mean of decays may be (run/attention). */
static void test_large_decays(void **state)
{
    struct error e = {""};
    (void)state;
    const char *folder = changed("rwkv", "use_cache", "true");
    change_elements("rwkv.blocks.1.attention.time_decay", 0x4280, 2); /* 64 */
    struct decoder *d = decoder_open(folder, &e);
    if (!d)
        fail_msg("%s", e.text);
    const double *rates = d->blocks[2].mixer.recurrence.rate.data;
    assert_true(rates[0] == 6e4 && rates[2] < 100);
    decoder_close(d);
}

/* Where the library and the models' own code differ. */
static void test_said(void **state)
{
    struct error e;
    (void)state;
    for (int limited = 0; limited < 2; limited++) {
        struct decoder *d =
            decoder_open(changed("nemotron-h", "time_step_min", limited ? "0.25" : "0"), &e);
        if (!d)
            fail_msg("%s", e.text);
        const char *said = strstr(d->notes, "steps of recurrences are at least time_step_min 0.25");
        assert_int_equal(said != NULL, limited);
        decoder_close(d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_decays),
                                       cmocka_unit_test(test_large_decays),
                                       cmocka_unit_test(test_said)};
    return cmocka_run_group_tests_name("families", tests, scratch_setup, scratch_teardown);
}
