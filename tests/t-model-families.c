/* What families say and refuse: every option that is not done is refused by its name, every
 * encoding is described. Numbers: t-model-goldens.c. */
#include "kernels/shared.h"
#include "model/engine.h"
#include "model/family.h"
#include "model/rope.h"
#include "tests/changed.h"
#include "tests/scratch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static void test_refused(void **state)
{
    static const struct {
        const char *golden, *path, *value, *words;
    } rows[] = {
        {"qwen2", "model_type", "\"mamba\"",
         "model_type 'mamba' is not supported: its layers keep a state|reach families|our own "
         "layout"},
        {"qwen2", "model_type", "\"qwen3_next\"",
         "model_type 'qwen3_next' is not supported: some of its layers are linear attention"},
        {"qwen2", "model_type", "\"apertus\"",
         "model_type 'apertus' is not supported: its activation, xielu"},
        {"qwen2", "model_type", "\"chatglm\"",
         "model_type 'chatglm' is not supported: its code is not part of transformers"},
        {"qwen2", "model_type", "\"roberta\"",
         "model_type 'roberta' is not supported: an encoder, which sees both sides"},
        {"qwen2", "model_type", "\"bart\"",
         "model_type 'bart' is not supported: a decoder that attends to the output of an encoder"},
        {"qwen2", "model_type", "\"mistral3\"",
         "model_type 'mistral3' is not supported: it has parts for images or sound"},
        {"qwen2", "model_type", "\"kimi_k2\"",
         "model_type 'kimi_k2' is not supported: its keys and values come from a"},
        {"qwen2", "model_type", "\"nemotron-nas\"",
         "model_type 'nemotron-nas' is not supported: its layers differ"},
        {"qwen2", "model_type", "\"internlm\"",
         "model_type 'internlm' is not supported: its code is not part"},
        {"qwen2", "model_type", "\"dory\"",
         "model_type 'dory' is not supported: its layers are run several times"},
        {"qwen2", "model_type", "\"wavelet\"",
         "model_type 'wavelet' is not supported (expected one that reach families lists"},
        {"qwen2", "model_type", "", "neither format nor model_type"},
        {"qwen2", "rope_scaling", "{\"type\": \"longrope\", \"factor\": 2}",
         "rope_scaling of type longrope needs long_factor, a list of 2 numbers"},
        {"qwen2", "rope_scaling", "{\"rope_type\": \"mrope\"}",
         "rotary scaling 'mrope' is not supported"},
        {"qwen2", "rope_scaling", "{\"type\": \"linear\"}",
         "rope_scaling of type linear needs factor"},
        {"qwen2", "rope_scaling", "{\"type\": \"dynamic\"}",
         "rope_scaling of type dynamic needs factor"},
        {"qwen2", "rope_scaling", "{\"type\": \"llama3\", \"factor\": 2}",
         "rope_scaling of type llama3 needs"},
        {"qwen2", "rope_scaling", "\"yarn\"", "rope_scaling"},
        {"qwen3", "rope_parameters.rope_type", "\"su\"", "rotary scaling 'su' is not supported"},
        {"qwen3", "rope_parameters", "{\"full_attention\": {\"rope_type\": \"default\"}}",
         "rope_parameters.full_attention|not supported"},
        {"qwen3", "layer_types", "[\"full_attention\", \"chunked_attention\", \"full_attention\"]",
         "layer_types, entry 2: 'chunked_attention' is not supported|sliding_attention"},
        {"qwen3", "layer_types", "[\"full_attention\"]", "layer_types|3 layers"},
        {"qwen3", "use_sliding_window", "false",
         "layer_types, entry 1 is sliding_attention|no sliding_window"},
        {"qwen3", "hidden_act", "\"mish\"", "hidden_act 'mish' is not supported"},
        {"qwen3", "num_key_value_heads", "3",
         "num_attention_heads 4 is not a multiple of num_key_value_heads 3"},
        {"qwen3", "head_dim", "300", "head_dim is 300"},
        {"qwen3", "attention_bias", "false", "self_attn.k_proj.bias' has no place"},
        {"qwen3", "model_type", "\"qwen2\"", "k_norm.weight' has no place"},
        {"llama-rope-linear", "model_type", "\"qwen3\"", "q_norm|missing"},
        {"gemma2", "use_bidirectional_attention", "true",
         "use_bidirectional_attention true is not supported"},
        {"gpt2-unscaled", "add_cross_attention", "true",
         "add_cross_attention true is not supported"},
        {"mpt", "attn_config.qk_ln", "true",
         "attn_config.qk_ln true is not supported (expected false)"},
        {"mpt", "attn_config.prefix_lm", "true", "attn_config.prefix_lm true is not supported"},
        {"mpt", "attn_config.alibi", "false",
         "attn_config.alibi false is not supported (expected true)"},
        {"mpt", "attn_config.attn_type", "\"multiquery_attention\"",
         "attn_config.attn_type 'multiquery_attention' is not supported|multihead_attention"},
        {"mpt", "attn_config.rope", "true", "attn_config.rope true is not supported"},
        {"mpt", "attn_config.sliding_window_size", "128", "attn_config.sliding_window_size is 128"},
        {"mpt", "ffn_config.ffn_type", "\"mptglu\"",
         "ffn_config.ffn_type 'mptglu' is not supported|mptmlp"},
        {"mpt", "no_bias", "false", "no_bias false is not supported"},
        {"mpt", "norm_type", "\"rmsnorm\"", "norm_type 'rmsnorm' is not supported|layernorm"},
        {"mpt", "logit_scale", "\"inv_sqrt_d_model\"", "logit_scale is not supported"},
        {"opt", "word_embed_proj_dim", "12", "embed_tokens.weight' has shape"},
        {"opt", "max_position_embeddings", "41",
         "embed_positions.weight' has shape [42, 24] (expected [43, 24]"},
        {"opt", "do_layer_norm_before", "false", "final_layer_norm.bias' has no place"},
        {"falcon-groups", "num_kv_heads", "3", "query_key_value.weight' has shape"},
        {"falcon-heads", "parallel_attn", "false", "post_attention_layernorm.weight' is missing"},
        {"falcon-queries", "rope_scaling.type", "\"ntk\"", "rotary scaling 'ntk' is not supported"},
        {"gpt-neox-parallel", "rotary_pct", "0.2",
         "rotary_pct 0.2 turns 3 of the 16 dimensions of a head (expected an even number)"},
        {"gptj", "rotary_dim", "5", "rotary_dim 5 is not supported"},
        {"gptj", "rotary_dim", "12", "rotary_dim is 12"},
        {"gptj", "rotary_dim", "null", "rotary_dim null is not supported (expected an even number"},
        {"gpt-neox-plain", "use_parallel_residual", "null",
         "use_parallel_residual is null (expected true or false)"},
        {"phi", "qk_layernorm", "true", "q_layernorm.weight' is missing"},
        {"phi-head-norms", "qk_layernorm", "false", "k_layernorm.bias' has no place"},
        {"gemma", "use_bidirectional_attention", "true",
         "use_bidirectional_attention true is not supported (expected false)"},
        {"gemma", "head_dim", "", "q_proj.weight' has shape [32, 16] (expected [1024, 16]"},
        {"phi3", "rope_parameters.rope_type", "\"longrope\"",
         "rope_parameters of type longrope needs long_factor"},
        {"phi3", "rope_parameters.rope_type", "\"linear\"",
         "rotary scaling 'linear' is not supported in a phi3 model|longrope"},
        {"phi3-longrope", "rope_parameters.long_factor", "[1, 2]",
         "needs long_factor, a list of 3 numbers"},
        {"phi3-longrope", "rope_parameters.short_factor", "[1, 2, 0]",
         "rope_parameters.short_factor, entry 3 is not a number above 0"},
        {"gemma3-text", "attn_logit_softcapping", "50",
         "attn_logit_softcapping is not supported in a gemma3_text model"},
        {"gemma3-text", "use_bidirectional_attention", "true",
         "use_bidirectional_attention true is not supported"},
        {"gemma3-text", "rope_parameters.rope_theta", "500",
         "rope_parameters.rope_theta is given besides the kinds of layers"},
        {"gemma3-text", "rope_scaling", "{\"rope_type\": \"linear\", \"factor\": 2}",
         "both rope_scaling and rope_parameters.full_attention"},
        {"gemma3-text", "rope_parameters.sliding_attention.rope_type", "\"su\"",
         "rotary scaling 'su' is not supported"},
        {"gemma3-text-pattern", "sliding_window_pattern", "0", "sliding_window_pattern is 0"},
        {"gemma3-text-pattern", "sliding_window_pattern", "null", "sliding_window_pattern is null"},
        {"gemma3-text-pattern", "sliding_window", "null",
         "sliding_window is null, but most layers"},
        {"gemma3-text-pattern", "rope_scaling", "{\"type\": \"linear\", \"factor\": 2}",
         "rope_scaling does not say its rope_type"},
        {"gemma3", "text_config", "null", "model_type 'gemma3' without a text_config"},
        {"gemma3", "text_config.model_type", "\"mamba\"", "model_type 'mamba' is not supported"},
        {"smollm3", "no_rope_layers", "[1]",
         "no_rope_layers is not a list of 1 or 0 for each of 2 layers"},
        {"smollm3", "no_rope_layers", "[1, 2]", "no_rope_layers, entry 2 is neither 1 nor 0"},
        {"cohere", "use_qk_norm", "false", "k_norm.weight' has no place"},
        {"cohere2", "head_dim", "8", "head_dim 8 is not supported"},
        {"olmo3", "rope_parameters", "{\"rope_theta\": 5}",
         "rope_parameters.rope_theta is given besides the kinds of layers"},
        {"ministral3", "rope_parameters.llama_4_scaling_beta", "",
         "rope_parameters.llama_4_scaling_beta is missing"},
        {"ministral3", "rope_parameters", "",
         "neither rope_parameters nor rope_scaling says how positions are turned"},
        {"cwm", "rope_parameters", "null",
         "neither rope_parameters nor rope_scaling says how positions are turned"},
        {"granite-swa", "layer_rope_theta", "[3, 1, 2]", "layer_rope_theta has more than 2 bases"},
        {"granite-swa", "layer_rope_theta", "[0, 1]",
         "layer_rope_theta is not a list of a base, or 0, for each of 3 layers"},
        {"granite-swa", "layer_rope_theta", "[0, 700, -1]",
         "layer_rope_theta, entry 3 is not a rotary base"},
        {"minicpm", "scale_depth", "0", "scale_depth is 0"},
        {"internlm2", "bias", "false", "attention.wo.bias' has no place"},
        {"internlm2", "num_key_value_heads", "4",
         "attention.wqkv.weight' has shape [32, 16] (expected [48, 16]"},
        {"exaone", "head_dim", "", "q_proj.weight' has shape [24, 16] (expected [16, 16]"},
        {"exaone", "num_layers", "2", "transformer.h.1.ln_1.weight' is missing"},
        {"exaone", "intermediate_size", "",
         "mlp.c_fc_0.weight' has shape [12, 16] (expected [64, 16]"},
        {"baichuan", "hidden_size", "5120",
         "hidden_size is 5120, and max_position_embeddings is given, which do not go together in "
         "published models"},
        {"baichuan", "vocab_size", "125696",
         "vocab_size is 125696, and the class is BaiChuanForCausalLM, which do not go together in "
         "published models"},
        {"baichuan", "z_loss_weight", "0",
         "z_loss_weight is given, and the class is BaiChuanForCausalLM"},
        {"baichuan", "architectures", "[\"BaichuanForCausalLM\"]",
         "nothing says whether the rows of its head are normalised"},
        {"baichuan2-alibi", "z_loss_weight", "",
         "nothing says whether the rows of its head are normalised"},
        {"baichuan2-alibi", "model_max_length", "", "nothing says whether it has rotary positions"},
        {"baichuan2-alibi", "hidden_size", "4096",
         "hidden_size is 4096, and model_max_length is given without"},
        {"baichuan2-alibi", "architectures", "[\"BaiChuanForCausalLM\"]",
         "and the class is BaiChuanForCausalLM"},
        {"baichuan2-alibi", "vocab_size", "64000",
         "vocab_size is 64000, and z_loss_weight is given"},
        {"baichuan2-alibi", "rope_theta", "500",
         "rope_theta is not supported in a baichuan model with ALiBi"},
        {"baichuan2-alibi", "tie_word_embeddings", "true",
         "tie_word_embeddings true is not supported"},
        {"iquestcoder", "use_sliding_window", "true",
         "use_sliding_window true is not supported (expected false)"},
        {"iquestcoder", "clip_qkv", "3",
         "clip_qkv is not supported in an iquestcoder model (expected null)"},
        {"hyperclovax", "use_post_norm", "false", "post_norm1.weight' has no place"},
        {"gpt-neox-japanese", "num_hidden_layers", "1",
         "layers.0.attention.dense_bias' is missing"},
        {"ctrl", "n_embd", "7", "n_embd 7 over n_head 2 is not a head size"},
        {"hunyuan-v1-moe", "moe_topk", "[2, 1]",
         "moe_topk says another number for layer 2 (expected the same in all)"},
        {"hunyuan-v1-moe", "moe_topk", "[4]", "moe_topk is 4 (expected 1 to 3)"},
        {"hunyuan-v1-moe", "num_experts_per_tok", "1",
         "moe_topk 2 and num_experts_per_tok 1 differ"},
        {"granitemoeshared", "shared_intermediate_size", "0",
         "shared_mlp.input_linear.weight' has no place"},
        {"exaone-moe", "mlp_layer_types", "[\"sparse\"]",
         "mlp_layer_types is not a list of dense or sparse for each of 2 layers"},
        {"exaone-moe", "mlp_layer_types", "[\"sparse\", \"thick\"]",
         "mlp_layer_types, entry 2 is neither dense nor sparse"},
        {"solar-open", "partial_rotary_factor", "0.5",
         "partial_rotary_factor is not supported in a solar_open model"},
        {"minimax-m2", "rotary_dim", "5",
         "turns 5 of the 8 dimensions of a head (expected an even number)"},
        {"flint", "layer_types", "",
         "layer_types is missing (expected the attention of each of 2 layers)"},
        {"ernie4-5-moe", "use_bias", "true", "use_bias true is not supported (expected false)"},
        {"ernie4-5-moe", "moe_norm_min", "0.5", "moe_norm_min is 0.5"},
        {"ernie4-5-moe", "num_experts_per_tok", "1", "moe_k 2 and num_experts_per_tok 1 differ"},
        {"aria-text", "hidden_act", "\"gelu\"",
         "hidden_act other than silu is not supported in an aria_text model"},
        {"phi3-window", "layer_types",
         "[\"full_attention\", \"sliding_attention\", \"sliding_attention\"]",
         "layer_types, entry 1: a phi3 model has the same window in every layer"},
        {"starcoder2", "use_bias", "false", "bias' has no place"},
        {"gpt-neo", "attention_layers", "[\"global\", \"local\"]",
         "attention_layers does not name the attention of 3 layers"},
        {"gpt-neo", "attention_layers", "[\"global\", \"local\", \"sparse\"]",
         "attention of layer 3: 'sparse' is not supported"},
        {"gpt-neo", "window_size", "0", "window_size is 0"},
        {"gpt-bigcode", "multi_query", "false",
         "c_attn.weight' has shape [24, 16] (expected [48, 16]"},
        {"gpt-bigcode-heads", "multi_query", "true",
         "c_attn.weight' has shape [48, 16] (expected [32, 16]"},
        {"codegen", "n_head", "2",
         "2 heads are not supported in a codegen model (expected a multiple of 4)"},
        {"codegen", "rotary_dim", "null",
         "rotary_dim null is not supported (expected an even number"},
        {"olmo-clip", "clip_qkv", "0", "clip_qkv is 0"},
        {"stablelm", "qk_layernorm", "true", "q_layernorm.norms.0.weight' is missing"},
        {"stablelm", "use_parallel_residual", "true",
         "post_attention_layernorm.bias' has no place"},
        {"granite", "residual_multiplier", "0", "residual_multiplier is 0"},
        {"granite", "residual_multiplier", "-1", "residual_multiplier is -1"},
        {"granite", "logits_scaling", "0", "logits_scaling is 0"},
        {"granite", "logits_scaling", "null", "logits_scaling is null"},
        {"xglm", "pad_token_id", "2", "pad_token_id is 2 (expected a whole number from 0 to 1)"},
        {"biogpt", "max_position_embeddings", "127",
         "embed_positions.weight' has shape [130, 16] (expected [129, 16]"},
        /* experts */
        {"qwen3", "model_type", "\"jetmoe\"",
         "model_type 'jetmoe' is not supported: experts compute its queries"},
        {"phimoe", "num_experts_per_tok", "1",
         "num_experts_per_tok is 1 (expected 2, as many as a phimoe model chooses)"},
        {"phimoe", "router_jitter_noise", "-0.1", "router_jitter_noise is -0.1"},
        {"phimoe", "rope_parameters",
         "{\"rope_type\": \"yarn\", \"factor\": 2.0, \"short_mscale\": 1, \"long_mscale\": 1}",
         "rotary scaling 'yarn' is not supported in a phimoe model (supported: default, longrope)"},
        {"phimoe", "rope_parameters",
         "{\"rope_type\": \"longrope\", \"short_factor\": [1, 1], \"long_factor\": [1, 1], "
         "\"short_mscale\": 1}",
         "rope_parameters of type longrope needs long_mscale in this family"},
        {"dbrx", "attn_config.clip_qkv", "0", "attn_config.clip_qkv is 0"},
        {"dbrx", "attn_config.kv_n_heads", "4",
         "attn.Wqkv.weight' has shape [32, 16] (expected [48, 16]"},
        {"dbrx", "rope_theta", "500", "rope_theta 500 differs from the base 700"},
        {"dbrx-plain", "attn_config.rope_theta", "500",
         "attn_config.rope_theta 500 differs from the base 700"},
        {"dbrx", "ffn_config.moe_normalize_expert_weights", "2",
         "moe_normalize_expert_weights 2 is not supported"},
        {"dbrx", "ffn_config.uniform_expert_assignment", "true",
         "uniform_expert_assignment true is not supported"},
        {"dbrx", "ffn_config.moe_top_k", "6", "ffn_config.moe_top_k is 6"},
        {"dbrx", "ffn_config.moe_num_experts", "4",
         "ffn.router.layer.weight' has shape [5, 16] (expected [4, 16]"},
        {"dbrx", "ffn_config.ffn_hidden_size", "",
         "ffn.experts.mlp.w1' has shape [40, 16] (expected [17920, 16]"},
        {"dbrx", "tie_word_embeddings", "true", "tie_word_embeddings true is not supported"},
        {"qwen3", "model_type", "\"deepseek_v3\"",
         "model_type 'deepseek_v3' is not supported: its keys and values come from"},
        {"qwen3", "model_type", "\"glm4_moe_lite\"",
         "model_type 'glm4_moe_lite' is not supported: its keys and values come"},
        {"mixtral", "num_experts_per_tok", "7",
         "num_experts_per_tok is 7 (expected a whole number from 1 to 6)"},
        {"mixtral", "num_local_experts", "5",
         "block_sparse_moe.gate.weight' has shape [6, 16] (expected [5, 16]"},
        {"mixtral", "num_local_experts", "2000", "num_local_experts is 2000"},
        {"mixtral", "num_experts", "5", "num_local_experts 6 and num_experts 5 differ"},
        {"mixtral-stacked", "intermediate_size", "10",
         "mlp.experts.gate_up_proj' has shape [5, 24, 16] (expected [5, 20, 16]"},
        {"mixtral-stacked", "layer_types",
         "[\"full_attention\", \"sliding_attention\", \"sliding_attention\"]",
         "layer_types, entry 1: a mixtral model has the same window"},
        {"qwen3-moe-window", "layer_types",
         "[\"sliding_attention\", \"full_attention\", \"sliding_attention\"]",
         "layer_types, entry 2: a qwen3_moe model has the same window"},
        {"qwen2-moe", "mlp_only_layers", "[]", "mlp.gate.weight' is missing"},
        {"qwen2-moe", "mlp_only_layers", "3", "mlp_only_layers is not a list of layers"},
        {"qwen2-moe", "mlp_only_layers", "[\"1\"]",
         "mlp_only_layers, entry 1 is not a whole number"},
        {"qwen2-moe", "shared_expert_intermediate_size", "13",
         "mlp.shared_expert.gate_proj.weight' has shape"},
        {"qwen2-moe-step", "decoder_sparse_step", "0", "decoder_sparse_step is 0"},
        {"qwen2-moe-step", "layer_types", "",
         "use_sliding_window true without layer_types is not supported"},
        {"qwen3-moe", "norm_topk_prob", "null", "norm_topk_prob is null"},
        {"glm4-moe", "n_group", "3", "n_group 3 is not supported with 8 experts"},
        {"glm4-moe", "n_group", "8",
         "n_group 8 is not supported with 8 experts (expected groups of two or more"},
        {"glm4-moe", "topk_group", "5", "topk_group is 5 (expected a whole number from 1 to 4)"},
        {"glm4-moe", "topk_group", "1",
         "num_experts_per_tok is 3 (expected at most 2: topk_group 1 of 2 experts each)"},
        {"glm4-moe", "routed_scaling_factor", "0", "routed_scaling_factor is 0"},
        {"glm4-moe", "first_k_dense_replace", "0", "mlp.gate.weight' is missing"},
        {"glm4-moe", "use_qk_norm", "false", "self_attn.k_norm.weight' has no place"},
        {"gpt-oss", "swiglu_limit", "6", "swiglu_limit 6 is not supported (expected 7)"},
        {"gpt-oss", "swiglu_alpha", "1", "swiglu_alpha 1 is not supported (expected 1.702)"},
        {"gpt-oss", "attention_bias", "false", "self_attn.k_proj.bias' has no place"},
        {"gpt-oss", "rope_parameters", "null",
         "neither rope_parameters nor rope_scaling says how positions are turned"},
        {"gpt-oss", "num_local_experts", "4",
         "mlp.router.weight' has shape [5, 16] (expected [4, 16]"},
        {"gpt-oss", "intermediate_size", "14",
         "mlp.experts.gate_up_proj' has shape [5, 16, 24] (expected [5, 16, 28]"},
        {"gpt-oss", "num_experts", "4", "num_local_experts 5 and num_experts 4 differ"},
        {"gpt-oss", "layer_types", "[\"full_attention\"]", "layer_types|3 layers"},
        {"olmoe", "num_local_experts", "4", "num_experts 6 and num_local_experts 4 differ"},
        {"olmoe", "clip_qkv", "0", "clip_qkv is 0"},
        {"olmoe", "head_dim", "8", "self_attn.q_proj.weight' has shape"},
        {"olmoe-plain", "attention_bias", "true", "self_attn.q_proj.bias' is missing"},
        {"granitemoe", "num_local_experts", "", "num_local_experts"},
        /* what makes another model of it */
        {"qwen2", "is_causal", "false", "is_causal false is not supported (expected true)"},
        {"gpt2-unscaled", "is_causal", "null", "is_causal is not supported (expected true)"},
        {"qwen2", "quantization_config", "{\"quant_method\": \"gptq\", \"bits\": 4}",
         "quantization_config is not supported: its quant_method is 'gptq'"},
        {"qwen2", "per_layer_config", "{\"0\": {\"num_key_value_heads\": 1}}",
         "per_layer_config is not supported"},
        {"opt", "pruned_heads", "{\"0\": [1]}", "pruned_heads is not supported (expected none)"},
        {"phi", "is_encoder_decoder", "true",
         "is_encoder_decoder true is not supported (expected false)"},
        {"qwen2", "transformers_weights", "\"other.safetensors\"",
         "transformers_weights is not supported"},
        {"falcon-queries", "apply_residual_connection_post_layernorm", "true",
         "apply_residual_connection_post_layernorm true is not supported"},
        {"mistral-window", "layer_types",
         "[\"sliding_attention\", \"full_attention\", \"sliding_attention\"]",
         "layer_types, entry 2|same window in every layer"},
        {"qwen3", "head_dim", "",
         "q_proj.weight' has shape [24, 16] (expected [512, 16]"}, /* the library's default is 128
                                                                    */
        {"gemma2", "head_dim", "", "q_proj.weight' has shape [32, 16] (expected [1024, 16]"},
        {"phi", "head_dim", "16",
         "head_dim 16 is not supported (expected hidden_size 16 over num_attention_heads 2)"},
        /* rotary settings */
        {"llama-rope-linear", "partial_rotary_factor", "0.5",
         "partial_rotary_factor 0.5 with linear scaling is not supported in a llama model "
         "(expected 1)"},
        {"falcon-queries", "rope_scaling.partial_rotary_factor", "0.5",
         "partial_rotary_factor 0.5 with linear scaling is not supported in a falcon model"},
        {"qwen3", "rope_parameters", "\"yarn\"", "rope_parameters is not an object"},
        /* null is absence only where the library's default is null */
        {"qwen2", "rms_norm_eps", "null", "rms_norm_eps is null"},
        {"gpt2-unscaled", "layer_norm_epsilon", "null", "layer_norm_epsilon is null"},
        {"gpt2-unscaled", "activation_function", "null", "activation_function is null"},
        {"falcon-heads", "activation", "null", "activation is null"},
        {"qwen2", "tie_word_embeddings", "null", "tie_word_embeddings is null"},
        {"qwen2", "rope_theta", "null", "rope_theta is null"},
        {"qwen3", "rope_parameters.rope_theta", "null", "rope_parameters.rope_theta is null"},
        {"qwen3", "max_position_embeddings", "null", "max_position_embeddings is null"},
        {"phi", "partial_rotary_factor", "null", "partial_rotary_factor is null"},
        {"glm", "partial_rotary_factor", "null", "partial_rotary_factor is null"},
        {"glm4", "partial_rotary_factor", "null", "partial_rotary_factor is null"},
        {"nemotron", "partial_rotary_factor", "null", "partial_rotary_factor is null"},
        {"mpt", "attn_config.alibi", "null", "attn_config.alibi is null"},
        {"neox-none", "pos_emb", "\"xpos\"", "pos_emb 'xpos' is not supported|kerple_power_*"},
        {"neox-none", "pos_emb", "\"kerple_power\"", "pos_emb 'kerple_power' is not supported"},
        {"neox-none", "pos_emb", "\"kerple_log\"", "rpe.bias_p' is missing"},
        {"neox-none", "pos_emb", "\"rpe\"", "rpe.weight' is missing"},
        {"neox-none", "norm", "\"te_rmsnorm\"", "norm|te_rmsnorm|scalenorm"},
        {"neox-none", "activation", "\"mish\"", "activation|mish|geglu"},
        {"neox-none", "attention_config", "[[[\"local\", \"global\"], 1]]",
         "attention_config 'local' is not supported|flash"},
        {"neox-none", "onnx_safe", "true", "onnx_safe true is not supported"},
        {"neox-none", "use_qk_layernorm", "true", "use_qk_layernorm true is not supported"},
        {"neox-none", "use_mup", "true", "use_mup true is not supported"},
        {"neox-none", "mlp_type", "\"llama\"", "mlp_type|llama|regular"},
        {"neox-none", "moe_num_experts", "4", "moe_num_experts is 4"},
        {"neox-none", "sliding_window_width", "8", "sliding_window_width is not supported"},
        {"neox-none", "no_weight_tying", "true", "final_linear.weight' is missing"},
        {"neox-t5", "rpe_num_buckets", "64", "rpe_num_buckets is 64"},
        {"neox-kerple-log", "num_attention_heads", "2", "rpe.bias_p' has 4 elements (expected 2"},
        {"neox-learned", "opt_pos_emb_offset", "34", "opt_pos_emb_offset 34 leaves none"},
        {"neox-rotary", "rotary_pct", "0.3", "rotary_pct 0.3|expected an even number"},
        {"fairseq-alibi", "rpe_type", "14", "rpe_type is 14"},
        {"fairseq-alibi", "rpe_type", "3", "more than one of"},
        {"fairseq-alibi", "use_toep", "true", "use_toep true is not supported"},
        {"fairseq-alibi", "adaptive_softmax_cutoff", "\"20000,60000\"",
         "adaptive_softmax_cutoff is not supported"},
        {"fairseq-alibi", "adaptive_input", "true", "adaptive_input true is not supported"},
        {"fairseq-alibi", "character_embeddings", "true",
         "character_embeddings true is not supported"},
        {"fairseq-alibi", "decoder_normalize_before", "false",
         "decoder_normalize_before false is not supported"},
        {"fairseq-alibi", "base_layers", "1", "base_layers 1 is not supported"},
        {"fairseq-alibi", "quant_noise_pq", "0.1", "quant_noise_pq 0.1 is not supported"},
        {"fairseq-alibi", "activation_fn", "\"tanh\"", "activation_fn|tanh|gelu_accurate"},
        {"fairseq-alibi", "kerple_log", "1", "more than one of"},
        {"fairseq-alibi", "share_decoder_input_output_embed", "true",
         "output_projection.weight differs from the embedding"},
        {"fairseq-learned", "decoder_output_dim", "12",
         "decoder_input_dim 8 is not decoder_output_dim 12"},
        {"fairseq-sincos", "final_layernorm", "\"rmsnorm\"",
         "final_layernorm|rmsnorm|simplermsnorm"},
        {"fairseq-rpe-7", "kerple_power", "1", "more than one of"},
        {"own-alibi", "format", "\"reach-checkpoint/2\"",
         "format 'reach-checkpoint/2' is not known (expected reach-checkpoint/1)"},
        {"own-alibi", "format", "1", "format is 1 (expected text"},
        {"own-alibi", "colour", "\"red\"",
         "key 'colour' is not understood (doc/checkpoint.md lists the keys)"},
        {"own-alibi", "biases", "3", "biases must be true, false or an object"},
        {"own-alibi", "biases", "{\"all\": true}",
         "biases.all is not understood (expected true or false for norm, qkv"},
        {"own-alibi", "position", "\"none\"", "position must be an object"},
        {"own-alibi", "position", "{\"base\": 2}",
         "position.kind is missing (expected none, sinusoidal, learned or rotary)"},
        {"own-alibi", "position", "{\"kind\": \"xpos\"}",
         "position.kind is 'xpos' (expected one of none, sinusoidal, learned, rotary)"},
        {"own-alibi", "position", "{\"kind\": \"none\", \"base\": 2}",
         "position.base is not understood for kind none"},
        {"own-alibi", "window", "[1, 2, 3, 4, 5]",
         "window has 5 entries (expected a number, or one entry for each of"},
        {"own-alibi", "window", "-1", "window is not a whole number of keys"},
        {"own-alibi", "window", "\"8\"",
         "window is not a whole number of keys, nor a list of them"},
        {"own-alibi", "position_bias", "7",
         "position_bias must be a formula in quotes, or an object with formula and set"},
        {"own-alibi", "position_bias", "\"-2*\"", "formula '-2*', character"},
        {"own-alibi", "position_bias", "{\"formula\": \"-k*t\"}",
         "parameter 'k' of '-k*t' has no value (give it under set)"},
        {"own-alibi", "position_bias", "{\"formula\": \"-k*t\", \"sets\": {\"k\": 1}}",
         "position_bias.sets is not understood (expected formula and set)"},
        {"own-alibi", "position_bias", "{\"formula\": \"-k*t\", \"set\": 1}",
         "position_bias.set must be an object"},
        {"own-alibi", "position_bias", "{\"formula\": \"-k*t\", \"set\": {\"k\": \"x\"}}",
         "position_bias.set.k is not a number or a list of numbers"},
        {"own-alibi", "position_bias",
         "{\"formula\": \"-k*t\", \"set\": {\"k\": [1, 2, 3, 4, 5, 6, 7]}}",
         "position_bias.set.k has 7 values (expected 1, or one for each of"},
        {"own-alibi", "position_bias", "{\"formula\": \"-k*t\", \"set\": {\"j\": 1}}",
         "position_bias.set.j: "},
        /* sizes that would lead anywhere if they were believed */
        {"own-alibi", "vocabulary", "0",
         "vocabulary is 0 (expected a whole number from 1 to 67108864)"},
        {"own-alibi", "hidden", "1048577",
         "hidden is 1048577 (expected a whole number from 1 to 1048576)"},
        {"own-alibi", "layers", "10001",
         "layers is 10001 (expected a whole number from 1 to 10000)"},
        {"own-alibi", "heads", "65537", "heads is 65537 (expected a whole number from 1 to 65536)"},
        {"own-alibi", "heads", "5", "heads 5 is not a head size from 1 to 256"},
        {"own-alibi", "layers", "9223372036854775807", "layers is 9223372036854775807"},
        {"gpt2-unscaled", "n_head", "5", "n_embd|over n_head 5 is not a head size from 1 to 256"},
        {"gpt2-unscaled", "n_layer", "10000",
         "is missing (family gpt2; the first tensor there is 'lm_head.weight')"},
        {"gpt2-unscaled", "vocab_size", "52", "wte.weight' has shape"},
        {"gpt2-unscaled", "n_positions", "1073741824", "wpe.weight' has shape"},
        {"qwen2", "num_hidden_layers", "1", "layers.1|has no place"},
        {"qwen3", "head_dim", "0", "head_dim is 0 (expected a whole number from 1 to 256)"},
    };
    struct error e;
    int other = 0;
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct decoder *d = decoder_open(changed(rows[i].golden, rows[i].path, rows[i].value), &e);
        if (d)
            fail_msg("%s with %s = %s was opened (expected: %s)", rows[i].golden, rows[i].path,
                     rows[i].value, rows[i].words);
        char what[256];
        snprintf(what, sizeof what, "%s, %s = %s", rows[i].golden, rows[i].path, rows[i].value);
        other += check_message(what, &e, rows[i].words) != 0;
    }
    if (other)
        fail_msg("%d other messages than expected", other);
}

/* What else the configuration says tells why a type that no one knows is not read. */
static void test_refused_type(void **state)
{
    static const char *const rows[][3] = {
        {"vision_config", "{}",
         "model_type 'wavelet' is not supported: it has parts for images or sound"},
        {"auto_map", "{\"AutoModelForCausalLM\": \"a.B\"}",
         "model_type 'wavelet' is not supported: its code is in the folder"},
        {"auto_map", "null",
         "model_type 'wavelet' is not supported (expected one that reach families lists"}};
    struct error e;
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        changed("qwen2", "model_type", "\"wavelet\"");
        change_again(rows[i][0], rows[i][1]);
        assert_null(decoder_open(scratch_folder, &e));
        assert_int_equal(check_message(rows[i][0], &e, rows[i][2]), 0);
    }
}

/* Two keys that together are refused, and an adapter beside the model. */
static void test_refused_together(void **state)
{
    struct error e;
    (void)state;
    changed("bloom-4-heads", "slow_but_exact", "true");
    struct decoder *d = decoder_open(scratch_folder, &e);
    assert_non_null(d);
    decoder_close(d);
    change_again("pretraining_tp", "4");
    assert_null(decoder_open(scratch_folder, &e));
    assert_int_equal(
        check_message(
            "bloom", &e,
            "slow_but_exact with pretraining_tp 4|not supported (expected pretraining_tp 1)"),
        0);
    const char *adapter = scratch_write(scratch_folder, "adapter_config.json", "{}", 2);
    changed("qwen2", "model_type", "\"qwen2\"");
    assert_null(decoder_open(scratch_folder, &e));
    assert_int_equal(
        check_message("adapter", &e,
                      "adapter_config.json: an adapter beside the model is not applied"),
        0);
    assert_int_equal(remove(adapter), 0);
}

/* A null that says what absence says, and a factor that these families do not follow. */
static void test_taken(void **state)
{
    static const struct {
        const char *golden, *path, *value, *note;
    } rows[] = {
        {"llama-tied", "head_dim", "null", ""},
        {"llama-tied", "partial_rotary_factor", "null", ""},
        {"llama-tied", "rope_scaling", "null", ""},
        {"gpt2", "n_inner", "null", ""},
        {"gpt2", "bos_token_id", "null", ""},
        {"falcon-queries", "ffn_hidden_size", "null", ""},
        {"opt", "word_embed_proj_dim", "null", ""},
        {"mpt", "logit_scale", "null", ""},
        {"qwen2", "is_causal", "true", ""},
        {"qwen2", "quantization_config", "null", ""},
        {"qwen2", "per_layer_config", "{}", ""},
        {"phi", "head_dim", "8", ""},
        {"mistral-window", "layer_types",
         "[\"sliding_attention\", \"sliding_attention\", \"sliding_attention\"]", ""},
        {"llama-tied", "partial_rotary_factor", "0.5",
         "partial_rotary_factor 0.5 has no effect in a llama model"},
        {"mistral-full", "partial_rotary_factor", "0.5",
         "partial_rotary_factor 0.5 has no effect in a mistral model"},
        {"qwen2", "partial_rotary_factor", "0.5",
         "partial_rotary_factor 0.5 has no effect in a qwen2 model"},
        {"qwen3", "rope_parameters.partial_rotary_factor", "0.5",
         "partial_rotary_factor 0.5 has no effect in a qwen3 model"},
        {"gemma2", "partial_rotary_factor", "0.25",
         "partial_rotary_factor 0.25 has no effect in a gemma2 model"},
        {"gemma3-text", "rope_parameters.sliding_attention", "null", ""},
        {"exaone4-full", "sliding_window_pattern", "null", ""},
        {"falcon-heads", "partial_rotary_factor", "0.5",
         "partial_rotary_factor 0.5 has no effect in a falcon model"},
    };
    struct error e;
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct decoder *d = decoder_open(changed(rows[i].golden, rows[i].path, rows[i].value), &e);
        if (!d)
            fail_msg("%s, %s = %s: %s", rows[i].golden, rows[i].path, rows[i].value, e.text);
        if (*rows[i].note ? !strstr(d->notes, rows[i].note) : *d->notes)
            fail_msg("%s, %s = %s: notes '%s'", rows[i].golden, rows[i].path, rows[i].value,
                     d->notes);
        if (*rows[i].note && d->rotary[0].size != d->head_size)
            fail_msg("%s: turns %d of %d dimensions", rows[i].golden, d->rotary[0].size,
                     d->head_size);
        decoder_close(d);
    }
}

/* --rope replaces the scaling of every kind of layers, each with its own base; longrope takes the
 * factors of the configuration.
 */
static void test_rope_replaced(void **state)
{
    struct error e;
    struct rope_spec spec;
    struct position_override o = {.rope = &spec, .window = -1};
    struct decoder *a = decoder_open("tests/goldens/phi3-longrope", &e),
                   *b = decoder_open("tests/goldens/phi3-longrope", &e);
    (void)state;
    assert_non_null(a);
    assert_non_null(b);
    if (rope_parse(&spec, "longrope", &e) || decoder_override(b, &o, &e))
        fail_msg("%s", e.text);
    size_t bytes = (size_t)a->rotary[0].size / 2 * sizeof(double);
    assert_memory_equal(a->rotary[0].frequency, b->rotary[0].frequency, bytes);
    assert_memory_equal(a->rotary[0].beyond, b->rotary[0].beyond, bytes);
    assert_true(a->rotary[0].factor == b->rotary[0].factor &&
                a->rotary[0].limit == b->rotary[0].limit);
    if (rope_parse(&spec, "none", &e) || decoder_override(b, &o, &e))
        fail_msg("%s", e.text);
    assert_null(b->rotary[0].beyond);
    assert_true(b->rotary[0].factor == 1);
    decoder_close(a), decoder_close(b);
    if (!(a = decoder_open("tests/goldens/gemma3-text", &e)) ||
        rope_parse(&spec, "linear:factor=2", &e) || decoder_override(a, &o, &e))
        fail_msg("%s", e.text);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < a->rotary[i].size / 2; k++)
            assert_true(a->rotary[i].frequency[k] ==
                        pow(i ? 90 : 3000, -2.0 * k / a->rotary[i].size) / 2);
    assert_non_null(
        strstr(a->position_text,
               "--rope base=3000,linear:factor=2 and base=90,linear:factor=2 in windows"));
    decoder_close(a);
    if (!(a = decoder_open("tests/goldens/hunyuan-v1-dense", &e)) ||
        rope_parse(&spec, "yarn:factor=4,original=32", &e) || decoder_override(a, &o, &e))
        fail_msg("%s", e.text);
    double divided = a->rotary[0].divided;
    assert_true(a->rotary[0].factor == 1 && divided > 1 &&
                a->blocks[0].key_norm.epsilon < 2e-5 / divided);
    if (rope_parse(&spec, "none", &e) || decoder_override(a, &o, &e))
        fail_msg("%s", e.text);
    assert_true(fabs(a->blocks[1].query_norm.epsilon - 2e-5) < 1e-18);
    decoder_close(a);
}

/* A head that is stored and differs from the embedding is used, whatever the configuration says;
 * one with the same numbers is the embedding. */
static void test_stored_head(void **state)
{
    static const char *const goldens[] = {"gpt2-unscaled",
                                          "mistral-full",
                                          "qwen2",
                                          "qwen3",
                                          "mpt-6-heads",
                                          "gptj",
                                          "phi",
                                          "falcon-groups-one-norm",
                                          "gpt-neox-plain",
                                          "gpt-neox-parallel",
                                          "llama-rope-linear"};
    struct error e;
    (void)state;
    for (size_t i = 0; i < LENGTH(goldens); i++) {
        struct decoder *untied = decoder_open(changed(goldens[i], "tie_word_embeddings", "false"),
                                              &e),
                       *d;
        if (!untied)
            fail_msg("%s: %s", goldens[i], e.text);
        if (!(d = decoder_open(changed(goldens[i], "tie_word_embeddings", "true"), &e)))
            fail_msg("%s: %s", goldens[i], e.text);
        if (d->tied || *untied->notes ||
            !strstr(d->notes, ".weight differs from the embedding and is used"))
            fail_msg("%s: tied %d, notes '%s'", goldens[i], d->tied, d->notes);
        double a[64], b[64];
        weight_parts_read_f64(a, &d->head.weight, 5, 0, d->head.weight.columns);
        weight_parts_read_f64(b, &untied->head.weight, 5, 0, d->head.weight.columns);
        assert_memory_equal(a, b, d->head.weight.columns * sizeof *a);
        assert_true((d->head.bias.data != NULL) == (untied->head.bias.data != NULL));
        decoder_close(d);
        decoder_close(untied);
    }
}

/* llama-tied with its embedding stored once more, as the head; its last byte changed by `change`.
 */
static void write_stored_twice(unsigned char change)
{
    size_t size;
    uint64_t header_size = 0;
    changed("llama-tied", "model_type", "\"llama\"");
    unsigned char *file = scratch_read("tests/goldens/llama-tied/model.safetensors", &size);
    memcpy(&header_size, file, 8);
    json_t *header = json_loadb((char *)file + 8, header_size, 0, NULL),
           *head = json_deep_copy(json_object_get(header, "model.embed_tokens.weight"));
    assert_non_null(head);
    size_t data = 8 + header_size, from = (size_t)json_integer_value(
                                       json_array_get(json_object_get(head, "data_offsets"), 0));
    size_t bytes =
        (size_t)json_integer_value(json_array_get(json_object_get(head, "data_offsets"), 1)) - from;
    json_object_set_new(head, "data_offsets",
                        json_pack("[I, I]", (json_int_t)(size - data),
                                  (json_int_t)(size - data + bytes)));
    json_object_set_new(header, "lm_head.weight", head);
    char *text = json_dumps(header, 0);
    uint64_t length = strlen(text);
    unsigned char *whole = malloc(8 + length + size - data + bytes);
    assert_non_null(whole);
    memcpy(whole, &length, 8);
    memcpy(whole + 8, text, length);
    memcpy(whole + 8 + length, file + data, size - data);
    memcpy(whole + 8 + length + size - data, file + data + from, bytes);
    whole[8 + length + size - data + bytes - 1] ^= change;
    scratch_write(scratch_folder, "model.safetensors", whole, 8 + length + size - data + bytes);
    json_decref(header);
    free(text), free(whole), free(file);
}

static void test_stored_twice(void **state)
{
    struct error e;
    (void)state;
    for (int i = 0; i < 2; i++) {
        write_stored_twice(i ? 0x80 : 0);
        struct decoder *d = decoder_open(scratch_folder, &e);
        if (!d)
            fail_msg("%s", e.text);
        assert_int_equal(d->tied, !i);
        assert_int_equal(*d->notes != 0, i);
        assert_true((d->head.weight.data == d->embedding.data) == !i);
        decoder_close(d);
    }
}

/* Settings that are not named are the defaults of the library whose format a configuration is; null
 * turns them off. */
static void test_absent(void **state)
{
    static const struct {
        const char *golden, *path, *value;
        double cap, head_cap;
        int window; /* of the last layer */
    } rows[] = {
        {"gemma2", "model_type", "\"gemma2\"", 4, 2.5, 5},
        {"gemma2", "attn_logit_softcapping", "", 50, 2.5, 5},
        {"gemma2", "attn_logit_softcapping", "null", 0, 2.5, 5},
        {"gemma2", "final_logit_softcapping", "", 4, 30, 5},
        {"gemma2", "final_logit_softcapping", "null", 4, 0, 5},
        {"gemma2", "sliding_window", "", 4, 2.5, 4096},
        {"gemma2", "sliding_window", "null", 4, 2.5, 0},
        {"gemma2", "hidden_activation", "", 4, 2.5, 5}, /* hidden_act is not what Gemma 2 goes by */
        {"mistral-window", "sliding_window", "", 0, 0, 4096},
        {"mistral-window", "sliding_window", "null", 0, 0, 0},
        {"qwen2-window", "sliding_window", "", 0, 0, 4096},
        {"qwen2-window", "sliding_window", "null", 0, 0, 0},
    };
    struct error e;
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct decoder *d = decoder_open(changed(rows[i].golden, rows[i].path, rows[i].value), &e);
        if (!d)
            fail_msg("%s, %s = %s: %s", rows[i].golden, rows[i].path, rows[i].value, e.text);
        const struct block *last = &d->blocks[d->layers - 1];
        enum activation activation = i < 8 ? ACTIVATION_GELU_TANH : ACTIVATION_SILU;
        if (last->score.soft_cap != rows[i].cap || d->head_soft_cap != rows[i].head_cap ||
            last->score.window != rows[i].window || last->activation != activation)
            fail_msg("%s, %s = '%s': caps %g and %g, window %d, activation %d", rows[i].golden,
                     rows[i].path, rows[i].value, last->score.soft_cap, d->head_soft_cap,
                     last->score.window, (int)last->activation);
        decoder_close(d);
    }
}

/* A rotated part of less than two dimensions turns nothing, and there are no angles to turn by. */
static void test_nothing_rotated(void **state)
{
    struct error e = {""};
    double norm[2], logprob;
    const int32_t ids[3] = {1, 2, 3};
    (void)state;
    struct decoder *d = decoder_open(changed("gpt-neox-parallel", "rotary_pct", "0.05"), &e);
    struct kernels *k = kernels_open("f64", &e);
    if (!d || !k)
        fail_msg("%s", e.text);
    assert_int_equal(d->position, POSITION_NONE);
    struct engine_request o = {.positions = 2, .weights = WEIGHTS_RESIDENT, .memory = 1u << 28};
    struct engine *g = engine_create(k, d, &o, &e);
    assert_non_null(g);
    assert_int_equal(engine_measure(g, norm, &logprob, ids, 1, &e), 0);
    assert_true(isfinite(logprob) && norm[0] > 0);
    engine_close(g);
    decoder_close(d);
    k->close(k);
}

/* What is taken of a Baichuan whose configuration does not say it. */
static void test_baichuan(void **state)
{
    static const struct {
        const char *golden, *path, *value, *positions;
        int normalised;
    } rows[] = {
        {"baichuan", "use_cache", "true", "rotary, base 10000", 0},
        {"baichuan", "max_position_embeddings", "", "rotary, base 10000", 0},
        {"baichuan", "model_max_length", "128", "rotary, base 10000", 0},
        {"baichuan", "vocab_size", "64", "rotary, base 10000", 0},
        {"baichuan", "rope_theta", "500", "rotary, base 500", 0},
        {"baichuan2-alibi", "use_cache", "true", "ALiBi", 1},
        {"baichuan2-alibi", "rope_scaling", "null", "ALiBi", 1},
        {"baichuan2-alibi", "max_position_embeddings", "128", "rotary, base 10000", 1},
    };
    struct error e;
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct decoder *d = decoder_open(changed(rows[i].golden, rows[i].path, rows[i].value), &e);
        if (!d)
            fail_msg("%s, %s = %s: %s", rows[i].golden, rows[i].path, rows[i].value, e.text);
        if (strcmp(d->position_text, rows[i].positions) ||
            !d->head.weight.factors != !rows[i].normalised ||
            !strstr(d->notes, rows[i].normalised ? "rows normalised" : "rows as they are stored") ||
            !strstr(d->notes, *rows[i].positions == 'A' ? "with ALiBi" : "with rotary positions"))
            fail_msg("%s, %s = %s: positions '%s', notes '%s'", rows[i].golden, rows[i].path,
                     rows[i].value, d->position_text, d->notes);
        for (size_t v = 0; v < d->head.weight.rows && rows[i].normalised; v++) {
            double row[64], sum = 0;
            weight_parts_read_f64(row, &d->head.weight, v, 0, d->head.weight.columns);
            for (size_t c = 0; c < d->head.weight.columns; c++)
                sum += row[c] * row[c];
            assert_true(fabs(sum - 1) < 1e-14);
        }
        decoder_close(d);
    }
}

static void test_position_text(void **state)
{
    static const struct {
        const char *golden, *text;
    } rows[] = {
        {"gpt2-unscaled", "learned, 40 positions"},
        {"gpt-neox-plain", "rotary, base 700"},
        {"mpt", "ALiBi"},
        {"mpt-bias-max", "ALiBi, alibi_bias_max 4"},
        {"llama-rope-yarn",
         "rotary, base 100, "
         "yarn:factor=4,original=16,attention_factor=1.138629436,beta_fast=32,beta_slow=1"},
        {"llama-rope-dynamic", "rotary, base 10000, dynamic:factor=3,original=24"},
        {"llama-rope-linear", "rotary, base 10000, linear:factor=4"},
        {"llama-rope-llama3",
         "rotary, base 10000, llama3:factor=8,low_freq_factor=1,high_freq_factor=4,original=64"},
        {"llama-rope-yarn-settings", "rotary, base 50, "
                                     "yarn:factor=8,original=40,attention_factor=1.097866827,beta_"
                                     "fast=6,beta_slow=0.5,mscale=0."
                                     "8,mscale_all_dim=0.3,truncate=0"},
        {"mistral-window", "rotary, base 10000, window 8"},
        {"qwen2", "rotary, base 700"},
        {"qwen2-window", "rotary, base 700, window 6 in some layers"},
        {"qwen3-window", "rotary, base 700, window 7"},
        {"opt-350m", "learned, 48 positions"},
        {"falcon-alibi", "ALiBi over sqrt(head size), by key position in bfloat16"},
        {"gptj", "rotary, base 10000, interleaved, 6 of 8 dimensions"},
        {"phi-head-norms",
         "rotary, base 700, 6 of 8 dimensions, "
         "yarn:factor=2,original=20,attention_factor=1.069314718,beta_fast=32,beta_slow=1"},
        {"neox-kerple-power", "kerple_power_ap_ap"},
        {"neox-t5", "T5 buckets"},
        {"neox-rotary-half", "rotary, base 90, stored frequencies, 4 of 8 dimensions"},
        {"neox-learned", "learned, 32 positions"},
        {"neox-sinusoidal", "sinusoidal"},
        {"neox-none", "none"},
        {"fairseq-rpe-1", "rpe_type 1: -k*t by key position"},
        {"fairseq-rpe-7", "rpe_type 7: -ln(1+k*t)"},
        {"fairseq-kerple-log", "kerple_log"},
        {"fairseq-sincos", "sinusoidal"},
        {"fairseq-alibi", "ALiBi"},
    };
    struct error e;
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char path[128];
        snprintf(path, sizeof path, "tests/goldens/%s", rows[i].golden);
        struct decoder *d = decoder_open(path, &e);
        if (!d)
            fail_msg("%s", e.text);
        if (strcmp(d->position_text, rows[i].text) != 0)
            fail_msg("%s: '%s', expected '%s'", rows[i].golden, d->position_text, rows[i].text);
        decoder_close(d);
    }
}

/* Layers whose scores are the same share one attention; those of different stored parameters do
 * not. */
static void test_shared_formulas(void **state)
{
    static const struct {
        const char *golden;
        int shared;
    } rows[] = {{"neox-alibi", 1}, {"neox-kerple-log", 0}, {"fairseq-kerple-log", 1}};
    struct error e;
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char path[128];
        snprintf(path, sizeof path, "tests/goldens/%s", rows[i].golden);
        struct decoder *d = decoder_open(path, &e);
        if (!d)
            fail_msg("%s", e.text);
        assert_non_null(d->blocks[0].score.bias);
        if ((d->blocks[0].score.bias == d->blocks[1].score.bias) != rows[i].shared)
            fail_msg("%s: layers 1 and 2 %s a bias", rows[i].golden,
                     rows[i].shared ? "do not share" : "share");
        decoder_close(d);
    }
}

/* A padding token, which fairseq's positions do not count, may not stand in a segment; without
 * absolute positions it is a token like others. */
static void test_padding(void **state)
{
    static const char *const goldens[] = {"tests/goldens/fairseq-sincos",
                                          "tests/goldens/fairseq-rpe-3"};
    const int32_t ids[] = {4, 1, 7, 9};
    double norm[3], logprob;
    struct error e;
    struct kernels *k = kernels_open("f64", &e);
    (void)state;
    assert_non_null(k);
    for (int i = 0; i < 2; i++) {
        struct decoder *d = decoder_open(goldens[i], &e);
        assert_non_null(d);
        struct engine_request o = {.positions = 3, .weights = WEIGHTS_RESIDENT, .memory = 1u << 28};
        struct engine *g = engine_create(k, d, &o, &e);
        assert_non_null(g);
        int result = engine_measure(g, norm, &logprob, ids, 1, &e);
        assert_int_equal(result, i == 0 ? -1 : 0);
        if (i == 0)
            assert_int_equal(check_message(goldens[i], &e, "token id 1 is padding"), 0);
        engine_close(g);
        decoder_close(d);
    }
    k->close(k);
}

/* The longest segment that learned rows behind an offset allow. */
static void test_offset_positions(void **state)
{
    static const struct {
        const char *golden;
        int inputs;
    } rows[] = {{"tests/goldens/opt", 40},
                {"tests/goldens/neox-learned", 32},
                {"tests/goldens/fairseq-learned", 29}};
    struct error e;
    struct kernels *k = kernels_open("f32", &e);
    (void)state;
    assert_non_null(k);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct decoder *d = decoder_open(rows[i].golden, &e);
        if (!d)
            fail_msg("%s", e.text);
        struct engine_request o = {.positions = rows[i].inputs,
                                   .weights = WEIGHTS_RESIDENT,
                                   .memory = 1u << 28};
        struct engine *g = engine_create(k, d, &o, &e);
        if (!g)
            fail_msg("%s", e.text);
        engine_close(g);
        o.positions++;
        assert_null(engine_create(k, d, &o, &e));
        char words[128];
        snprintf(words, sizeof words,
                 "has %d learned positions|the longest --length that works is %d", rows[i].inputs,
                 rows[i].inputs + 1);
        assert_int_equal(check_message(rows[i].golden, &e, words), 0);
        decoder_close(d);
    }
    k->close(k);
}

/* The golden's folder with `from` in names of tensors turned to `to`; returns how many have it. */
static int rename_tensors(const char *folder, const char *from, const char *to)
{
    char path[4096];
    size_t size, header = 0;
    int count = 0;
    const char *name;
    json_t *member;
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    unsigned char *file = scratch_read(path, &size);
    for (size_t i = 0; i < 8; i++)
        header |= (size_t)file[i] << 8 * i;
    json_t *old = json_loadb((char *)file + 8, header, 0, NULL), *new = json_object();
    assert_non_null(old);
    json_object_foreach(old, name, member)
    {
        char other[256];
        const char *at = strstr(name, from);
        snprintf(other, sizeof other, "%.*s%s%s", at ? (int)(at - name) : 0, name, at ? to : "",
                 at ? at + strlen(from) : name);
        count += at != NULL;
        assert_int_equal(json_object_set(new, other, member), 0);
    }
    char *text = json_dumps(new, JSON_COMPACT);
    size_t length = strlen(text), data = size - 8 - header;
    unsigned char *out = malloc(8 + length + data);
    assert_non_null(out);
    for (size_t i = 0; i < 8; i++)
        out[i] = (unsigned char)(length >> 8 * i);
    memcpy(out + 8, text, length);
    memcpy(out + 8 + length, file + 8 + header, data);
    scratch_write(folder, "model.safetensors", out, 8 + length + data);
    free(out), free(text), free(file);
    json_decref(old), json_decref(new);
    return count;
}

/* Names that the library has in memory where its files have others: what is missing of them is
 * refused. */
static void test_names_in_memory(void **state)
{
    static const struct {
        const char *golden, *from, *to;
    } rows[] = {
        {"exaone-moe", "mlp.e_score_correction_bias", "mlp.gate.e_score_correction_bias"},
        {"hy-v3", "mlp.router.gate.", "mlp.gate."},
        {"hy-v3", "mlp.expert_bias", "mlp.e_score_correction_bias"},
        {"hy-v3", "mlp.shared_mlp.", "mlp.shared_experts."},
        {"minimax-m2", "block_sparse_moe.gate.", "mlp.gate."},
        {"minimax-m2", "block_sparse_moe.e_score_correction_bias", "mlp.e_score_correction_bias"},
        {"flint", "self_attn.softmax_offset", "self_attn.sinks"},
        {"ernie4-5-moe", "mlp.moe_statics.", "mlp.gate.moe_statics."},
        {"phimoe", "block_sparse_moe.gate.", "mlp.router."},
    };
    struct error e;
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const char *folder = changed(rows[i].golden, "use_cache", "true");
        if (!rename_tensors(folder, rows[i].from, rows[i].to))
            fail_msg("%s has no %s", rows[i].golden, rows[i].from);
        struct decoder *d = decoder_open(folder, &e);
        if (!d)
            fail_msg("%s", e.text);
        decoder_close(d);
        rename_tensors(folder, rows[i].to, "mlp.nothing.");
        assert_null(decoder_open(folder, &e));
    }
}

/* Renames in turn, each part of a name once; ends with NULL. */
static const char *renamed(const char *golden, const char *const (*parts)[2])
{
    const char *folder = changed(golden, "use_cache", "true");
    for (; (*parts)[0]; parts++)
        if (!rename_tensors(folder, (*parts)[0], (*parts)[1]))
            fail_msg("%s has no %s", golden, (*parts)[0]);
    return folder;
}

/* Parts of names that training code puts there are taken away and told; a name that no family has
 * is told beside the one that is missing. */
static void test_wrapped_names(void **state)
{
    static const struct {
        const char *golden, *parts[4][2], *note;
    } rows[] = {
        {"llama-tied", {{"model.", "module.model."}}, "without the module. that all"},
        {"qwen2",
         {{"lm_head.", "model.lm_head."},
          {"model.", "model.model."},
          {"model.model.lm_head.", "model.lm_head."}},
         "without the model. that all"},
        {"llama-tied", {{"model.", "module.module.model."}}, "without the module. that all"},
        {"llama-tied",
         {{"model.", "_orig_mod.module._orig_mod.model."}},
         "without their part _orig_mod\n|without the module."},
        {"llama-tied",
         {{"self_attn.", "_fsdp_wrapped_module._checkpoint_wrapped_module.self_attn."}},
         "without their part _fsdp_wrapped_module\n|without their part _checkpoint_wrapped_module"},
        {"falcon-groups", {{"transformer.", "model.transformer."}}, "without the model. that all"},
        {"opt", {{"model.", "model.model."}}, "without the model. that all"},
    };
    struct error e;
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct decoder *d = decoder_open(renamed(rows[i].golden, rows[i].parts), &e);
        if (!d)
            fail_msg("row %zu: %s", i, e.text);
        char words[128];
        snprintf(words, sizeof words, "%s", rows[i].note);
        for (char *word = strtok(words, "|"); word; word = strtok(NULL, "|"))
            if (!strstr(d->notes, word))
                fail_msg("row %zu: notes '%s' (expected '%s')", i, d->notes, word);
        decoder_close(d);
    }
    assert_null(
        decoder_open(renamed("llama-tied",
                             (const char *const[][2]){{"model.", "net.model."}, {NULL, NULL}}),
                     &e));
    assert_int_equal(
        check_message("net", &e,
                      "tensor 'embed_tokens.weight' is missing|first tensor there is 'net.model."),
        0);
    /* one name with the part and one without */
    assert_null(
        decoder_open(renamed("llama-tied", (const char *const[][2]){{"layers.0.input_layernorm.",
                                                                     "norm._orig_mod."},
                                                                    {NULL, NULL}}),
                     &e));
    assert_int_equal(check_message("twice", &e, "holds tensor model.norm.weight twice"), 0);
}

/* Keys of older EXAONE files win over those that transformers writes now, as its class has it; what
 * neither says is the class's.
 */
static void test_aliases(void **state)
{
    static const struct {
        const char *key, *value;
        double epsilon, base;
        enum activation activation;
    } rows[] = {
        {"use_cache", "true", 0.03, 5e5, ACTIVATION_GELU},
        {"layer_norm_epsilon", "0.25", 0.25, 5e5, ACTIVATION_GELU},
        {"activation_function", "\"silu\"", 0.03, 5e5, ACTIVATION_SILU},
        {"rms_norm_eps", "", 1e-5, 5e5, ACTIVATION_GELU},
        {"hidden_act", "", 0.03, 5e5, ACTIVATION_SILU},
        {"rope_parameters", "", 0.03, 5e5, ACTIVATION_GELU},
        {"rope_parameters.rope_theta", "700", 0.03, 700, ACTIVATION_GELU},
    };
    struct error e;
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct decoder *d = decoder_open(changed("exaone-saved", rows[i].key, rows[i].value), &e);
        if (!d)
            fail_msg("%s = %s: %s", rows[i].key, rows[i].value, e.text);
        assert_true(d->final_norm.epsilon == rows[i].epsilon &&
                    d->blocks[0].mlp_norm.epsilon == rows[i].epsilon);
        assert_true(d->rotary[0].base == rows[i].base);
        assert_int_equal(d->blocks[0].activation, rows[i].activation);
        assert_string_equal(d->not_understood, "");
        decoder_close(d);
    }
    assert_null(decoder_open(changed("exaone-saved", "num_layers", "2"), &e));
    assert_int_equal(check_message("num_layers", &e,
                                   "tensor 'transformer.h.1.ln_1.weight' is missing"),
                     0);
}

/* Of two tensors that are tied the file may have the head's alone. */
static void test_tied_head_alone(void **state)
{
    static const struct {
        const char *golden, *parts[2][2];
    } rows[] = {
        {"llama-tied", {{"model.embed_tokens.", "lm_head."}}},
        {"gemma2", {{"model.embed_tokens.", "lm_head."}}},
        {"mpt", {{"wte.", "lm_head."}}},
        {"bloom-4-heads", {{"word_embeddings.", "lm_head."}}},
        {"falcon-groups", {{"transformer.word_embeddings.", "lm_head."}}},
        {"opt", {{"model.decoder.embed_tokens.", "lm_head."}}},
    };
    struct error e;
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct decoder *d = decoder_open(renamed(rows[i].golden, rows[i].parts), &e);
        if (!d)
            fail_msg("%s: %s", rows[i].golden, e.text);
        assert_ptr_equal(d->embedding.data, d->head.weight.data);
        assert_int_equal(d->tied, 1);
        decoder_close(d);
    }
    const char *folder = renamed("llama-tied", rows[0].parts);
    change_again("tie_word_embeddings", "false");
    assert_null(decoder_open(folder, &e));
    assert_int_equal(check_message("untied", &e, "tensor 'model.embed_tokens.weight' is missing"),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused_type),    cmocka_unit_test(test_wrapped_names),
        cmocka_unit_test(test_aliases),         cmocka_unit_test(test_tied_head_alone),
        cmocka_unit_test(test_refused),         cmocka_unit_test(test_refused_together),
        cmocka_unit_test(test_taken),           cmocka_unit_test(test_rope_replaced),
        cmocka_unit_test(test_stored_head),     cmocka_unit_test(test_stored_twice),
        cmocka_unit_test(test_absent),          cmocka_unit_test(test_nothing_rotated),
        cmocka_unit_test(test_position_text),   cmocka_unit_test(test_shared_formulas),
        cmocka_unit_test(test_padding),         cmocka_unit_test(test_offset_positions),
        cmocka_unit_test(test_names_in_memory), cmocka_unit_test(test_baichuan)};
    return cmocka_run_group_tests_name("families", tests, scratch_setup, scratch_teardown);
}
