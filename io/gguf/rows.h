/* Parts of the tables of architectures (architecture.h): source ggml-org/llama.cpp,
 * gguf-py/gguf/constants.py and tensor_mapping.py, and its converters. Private to io/gguf/. */
#ifndef REACH_IO_GGUF_ROWS_H
#define REACH_IO_GGUF_ROWS_H

#include "io/gguf/finish.h"

/* -- names of tensors -- */

/* Names shared by many of them. `layout`: of norms. */
#define ENDS(layout) \
    {"token_embd", "model.embed_tokens", LAYOUT_SAME}, {"output_norm", "model.norm", layout}, \
    { \
        "output", "lm_head", LAYOUT_SAME \
    }
#define ATTENTION(query, key) \
    {"blk.#.attn_q", "model.layers.#.self_attn.q_proj", query}, \
        {"blk.#.attn_k", "model.layers.#.self_attn.k_proj", key}, \
        {"blk.#.attn_v", "model.layers.#.self_attn.v_proj", LAYOUT_SAME}, \
    { \
        "blk.#.attn_output", "model.layers.#.self_attn.o_proj", LAYOUT_SAME \
    }
#define HEAD_NORMS(layout) \
    {"blk.#.attn_q_norm", "model.layers.#.self_attn.q_norm", layout}, \
    { \
        "blk.#.attn_k_norm", "model.layers.#.self_attn.k_norm", layout \
    }
#define NORMS_BEFORE(layout) \
    {"blk.#.attn_norm", "model.layers.#.input_layernorm", layout}, \
    { \
        "blk.#.ffn_norm", "model.layers.#.post_attention_layernorm", layout \
    }
#define NORMS_BEHIND(layout) \
    {"blk.#.post_attention_norm", "model.layers.#.post_attention_layernorm", layout}, \
    { \
        "blk.#.post_ffw_norm", "model.layers.#.post_feedforward_layernorm", layout \
    }
#define UNGATED(up, down) \
    {"blk.#.ffn_up", "model.layers.#." up, LAYOUT_SAME}, \
    { \
        "blk.#.ffn_down", "model.layers.#." down, LAYOUT_SAME \
    }
#define GATED \
    {"blk.#.ffn_gate", "model.layers.#.mlp.gate_proj", LAYOUT_SAME}, \
        {"blk.#.ffn_up", "model.layers.#.mlp.up_proj", LAYOUT_SAME}, \
    { \
        "blk.#.ffn_down", "model.layers.#.mlp.down_proj", LAYOUT_SAME \
    }

/* Experts of a layer, all in one tensor for each part: names as in model/expert_layout.c. */
#define EXPERTS(router) \
    {"blk.#.ffn_gate_inp", "model.layers.#." router, LAYOUT_SAME}, \
        {"blk.#.ffn_gate_exps", "model.layers.#.mlp.experts.gate_exps", LAYOUT_SAME}, \
        {"blk.#.ffn_up_exps", "model.layers.#.mlp.experts.up_exps", LAYOUT_SAME}, \
    { \
        "blk.#.ffn_down_exps", "model.layers.#.mlp.experts.down_exps", LAYOUT_SAME \
    }

#define SHARED_EXPERT(name) \
    {"blk.#.ffn_gate_shexp", "model.layers.#.mlp." name ".gate_proj", LAYOUT_SAME}, \
        {"blk.#.ffn_up_shexp", "model.layers.#.mlp." name ".up_proj", LAYOUT_SAME}, \
    { \
        "blk.#.ffn_down_shexp", "model.layers.#.mlp." name ".down_proj", LAYOUT_SAME \
    }

/* The MLP beside a Granite's experts, or instead of any. */
#define SHARED_MLP(end) \
    {"blk.#.ffn_gate" end, "model.layers.#.shared_mlp.input_linear", LAYOUT_JOINED}, \
        {"blk.#.ffn_up" end, NULL, LAYOUT_HALF}, \
    { \
        "blk.#.ffn_down" end, "model.layers.#.shared_mlp.output_linear", LAYOUT_SAME \
    }

/* -- keys -- */

#define SIZES \
    {"embedding_length", "hidden_size", KEY_NEEDED}, \
        {"block_count", "num_hidden_layers", KEY_NEEDED}, \
        {"attention.head_count", "num_attention_heads", KEY_NEEDED}, {"vocab_size", "", KEY_HERE}, \
    { \
        "tensor_data_layout", "", KEY_HARMLESS \
    }
#define ROPE \
    {"rope.dimension_count", "", KEY_HERE}, {"rope.scaling.type", "", KEY_HERE}, \
        {"rope.scaling.factor", "", KEY_HERE}, {"rope.scale_linear", "", KEY_HERE}, \
        {"rope.scaling.original_context_length", "", KEY_HERE}, \
        {"rope.scaling.yarn_beta_fast", "", KEY_HERE}, \
        {"rope.scaling.yarn_beta_slow", "", KEY_HERE}, {"rope.scaling.attn_factor", "", KEY_HERE}, \
        {"rope.scaling.yarn_attn_factor", "", KEY_HERE}, \
        {"rope.scaling.yarn_log_multiplier", "", KEY_HERE}, \
    { \
        "rope.scaling.finetuned", "", KEY_HARMLESS \
    }
#define LENGTHS \
    {"attention.key_length", "", KEY_HERE}, \
    { \
        "attention.value_length", "", KEY_HERE \
    }

/* For Mamba's layers alone: feed_forward_length and attention.head_count are 0. */
#define MAMBA_ALONE \
    {"embedding_length", "hidden_size", KEY_NEEDED}, \
        {"block_count", "num_hidden_layers", KEY_NEEDED}, {"vocab_size", "", KEY_HERE}, \
        {"tensor_data_layout", "", KEY_HARMLESS}, {"context_length", "", KEY_HARMLESS}, \
        {"feed_forward_length", "", KEY_HARMLESS}, {"attention.head_count", "", KEY_HARMLESS}, \
    { \
        "attention.layer_norm_rms_epsilon", "layer_norm_epsilon", KEY_NEEDED \
    }

/* For a decoder with rotary positions. */
#define DECODER \
    SIZES, ROPE, LENGTHS, {"context_length", "max_position_embeddings", KEY_COPIED}, \
        {"feed_forward_length", "intermediate_size", KEY_NEEDED}, \
        {"attention.head_count_kv", "num_key_value_heads", KEY_COPIED}, \
    { \
        "rope.freq_base", "rope_theta", KEY_COPIED \
    }

/* For a decoder with experts. model_take_routing reads their other keys. */
#define EXPERT_KEYS(count) \
    DECODER, {"attention.layer_norm_rms_epsilon", "rms_norm_eps", KEY_NEEDED}, \
        {"expert_count", count, KEY_NEEDED}, \
        {"expert_used_count", "num_experts_per_tok", KEY_NEEDED}, \
        {"expert_gating_func", "", KEY_HERE}, \
    { \
        "expert_weights_norm", "", KEY_HERE \
    }
#define NO_SCALE \
    { \
        "expert_weights_scale", "", KEY_HERE \
    }
#define SAME_WIDTH \
    { \
        "expert_feed_forward_length", "", KEY_HERE \
    }
#define OWN_WIDTH \
    { \
        "expert_feed_forward_length", "moe_intermediate_size", KEY_NEEDED \
    }

/* Of Granites: the factors; and, because the converter writes attention alone as a hybrid without
 * recurrences, the sizes of its states, which are not there. */
#define GRANITE \
    {"attention.scale", "attention_multiplier", KEY_NEEDED}, \
        {"embedding_scale", "embedding_multiplier", KEY_COPIED}, \
        {"residual_scale", "residual_multiplier", KEY_COPIED}, \
        {"logit_scale", "logits_scaling", KEY_COPIED}, \
        {"expert_shared_feed_forward_length", "", KEY_HERE}, \
        {"ssm.conv_kernel", "", KEY_HARMLESS}, {"ssm.state_size", "", KEY_HARMLESS}, \
        {"ssm.group_count", "", KEY_HARMLESS}, {"ssm.time_step_rank", "", KEY_HARMLESS}, \
    { \
        "ssm.inner_size", "", KEY_HARMLESS \
    }

/* -- what files do not say, as the families' readers then assume -- */

#define BASE(base) \
    { \
        "rope.freq_base", "rotary base " base \
    }
#define WINDOWS(windows) \
    { \
        "attention.sliding_window", windows \
    }
#define PATTERN(windows) \
    { \
        "attention.sliding_window_pattern", windows \
    }

#endif
