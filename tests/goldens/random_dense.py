"""Random configurations of the families whose layers have one feed-forward network: draw_FAMILY(generator, layers, length of the text)."""

from random_settings import biased, grouped, layered, multipliers, put_kinds, put_layer_types, put_rope, put_sections, put_window, sized


def draw_llama(d, layers, length):
    config = grouped(d, length)
    d.put(config, "attention_bias", 0.6, True, False)
    d.put(config, "mlp_bias", 0.6, True, False)
    d.put(config, "pretraining_tp", 0.2, 1, 2)
    d.put(config, "sliding_window", 0.05, 4)         # which Llama does not read, nor this
    d.put(config, "layer_types", 0.05, [d.pick("full_attention", "sliding_attention") for _ in range(layers)])
    return config


def draw_mistral(d, layers, length):
    config = grouped(d, length, loose=True)
    d.put(config, "sliding_window", 0.8, 1, 3, 5, 8, 30, None)
    d.put(config, "layer_types", 0.08, ["full_attention"] * layers, ["sliding_attention"] * layers)
    d.put(config, "attention_bias", 0.05, True, False)
    return config


def draw_qwen(d, layers, length, biased):
    config = grouped(d, length, loose=True)
    put_window(d, config, layers)
    d.put(config, "attention_bias", biased, True, False)
    config.setdefault("num_key_value_heads", config["num_attention_heads"])
    return config


def draw_qwen2(d, layers, length):
    return draw_qwen(d, layers, length, 0.05)


def draw_qwen3(d, layers, length):
    return draw_qwen(d, layers, length, 0.6)


def draw_gemma2(d, layers, length):
    config = grouped(d, length)
    del config["hidden_size"]
    size = d.pick(2, 4, 6, 8)
    config["hidden_size"] = config["num_attention_heads"] * size
    config.setdefault("num_key_value_heads", config["num_attention_heads"])
    if config["num_key_value_heads"] is None:
        config["num_key_value_heads"] = config["num_attention_heads"]
    if d.chance(0.05):
        config.pop("head_dim", None)         # 256
    else:
        config["head_dim"] = config.get("head_dim") or d.pick(2, 4, 8)
    config.pop("hidden_act", None)
    d.put(config, "hidden_activation", 0.6, d.activation(), "gelu_pytorch_tanh")
    d.put(config, "hidden_act", 0.2, "gelu_pytorch_tanh", "gelu")        # which Gemma 2 does not read
    d.put(config, "query_pre_attn_scalar", 0.8, 1, 4, 20, 256)
    d.put(config, "attn_logit_softcapping", 0.7, 50.0, 4.0, 1.5, None)
    d.put(config, "final_logit_softcapping", 0.7, 30.0, 2.5, 5.0, None)
    d.put(config, "sliding_window", 0.8, 1, 3, 5, 30, 4096, None)
    d.put(config, "layer_types", 0.3, [d.pick("full_attention", "sliding_attention") for _ in range(layers)], None)
    d.put(config, "attention_bias", 0.4, True, False)
    d.put(config, "use_bidirectional_attention", 0.1, None, False, True)
    return config


def draw_gpt2(d, layers, length):
    heads, size = d.pick(1, 2, 3, 4), d.whole(1, 8)
    config = {"n_embd": heads * size, "n_head": heads, "n_positions": d.pick(length, length - 1, 64), "bos_token_id": 0, "eos_token_id": 0}
    d.put(config, "n_inner", 0.6, d.whole(3, 30), None)
    d.put(config, "activation_function", 0.7, d.activation())
    d.put(config, "layer_norm_epsilon", 0.7, d.epsilon())
    d.put(config, "scale_attn_weights", 0.5, True, False)
    d.put(config, "scale_attn_by_inverse_layer_idx", 0.5, True, False)
    d.put(config, "reorder_and_upcast_attn", 0.4, True, False)
    d.put(config, "tie_word_embeddings", 0.5, True, False)
    d.put(config, "add_cross_attention", 0.05, False, True)
    d.put(config, "n_ctx", 0.3, 16, 64)
    d.put(config, "summary_type", 0.2, "cls_index", "mean")
    return config


def draw_gpt_neox(d, layers, length):
    heads, size = d.pick(1, 2, 3, 4), d.pick(8, 8, 16, 12)
    config = {"hidden_size": heads * size, "num_attention_heads": heads, "intermediate_size": d.whole(3, 30)}
    d.put(config, "hidden_act", 0.6, d.activation())
    d.put(config, "layer_norm_eps", 0.7, d.epsilon())
    d.put(config, "use_parallel_residual", 0.7, True, False)
    d.put(config, "attention_bias", 0.5, True, False)
    d.put(config, "tie_word_embeddings", 0.5, True, False)
    put_rope(d, config, length, theta="rotary_emb_base", fraction="rotary_pct", partial=0.7)
    d.put(config, "is_decoder", 0.2, True, False)
    return config


def draw_gptj(d, layers, length):
    heads, size = d.pick(1, 2, 3, 4), d.pick(4, 6, 8)
    config = {"n_embd": heads * size, "n_head": heads, "n_positions": d.pick(length, length - 1, 64, 128), "bos_token_id": 0, "eos_token_id": 0}
    config["rotary_dim"] = d.pick(2, 4, size, size) if d.chance(0.9) else d.pick(0, 3, None, size + 2)
    d.put(config, "n_inner", 0.6, d.whole(3, 30), None)
    d.put(config, "activation_function", 0.7, d.activation())
    d.put(config, "layer_norm_epsilon", 0.7, d.epsilon())
    d.put(config, "tie_word_embeddings", 0.5, False, True)
    d.put(config, "scale_attn_weights", 0.2, True, False)
    d.put(config, "rotary", 0.2, True)
    return config


def draw_bloom(d, layers, length):
    heads, size = d.pick(1, 2, 3, 4, 5, 6), d.whole(1, 6)
    config = {d.pick("hidden_size", "hidden_size", "n_embed"): heads * size, d.pick("n_head", "num_attention_heads"): heads}
    d.put(config, "layer_norm_epsilon", 0.7, d.epsilon())
    d.put(config, "apply_residual_connection_post_layernorm", 0.6, True, False)
    d.put(config, "slow_but_exact", 0.2, True, False)
    d.put(config, "pretraining_tp", 0.3, 1, heads, 2)
    d.put(config, "tie_word_embeddings", 0.4, True, False)
    d.put(config, "seq_length", 0.3, 8, 2048)
    d.put(config, "offset_alibi", 0.2, 100)
    d.put(config, "attention_softmax_in_fp32", 0.2, True, False)
    return config


def draw_mpt(d, layers, length):
    heads, size = d.pick(1, 2, 3, 4, 6), d.whole(1, 6)
    config = {"d_model": heads * size, "n_heads": heads, "max_seq_len": d.pick(length, length - 1, 64)}
    attention = {}
    d.put(attention, "clip_qkv", 0.5, 0.5, 1.4, 6.0, None)
    d.put(attention, "softmax_scale", 0.5, 0.31, 1.0, None)
    d.put(attention, "alibi", 0.3, True, True, True, True, False)
    d.put(attention, "alibi_bias_max", 0.4, 8, 8, 4)
    d.put(attention, "attn_impl", 0.3, "torch", "triton", "flash")
    d.put(attention, "attn_type", 0.2, "multihead_attention")
    d.put(attention, "qk_ln", 0.2, False)
    d.put(attention, "prefix_lm", 0.2, False)
    d.put(attention, "attn_uses_sequence_id", 0.2, False, True)
    d.put(attention, "attn_pdrop", 0.2, 0)
    if attention or d.chance(0.3):
        config["attn_config"] = attention
    elif d.chance(0.3):
        config["attn_config"] = None
    d.put(config, "expansion_ratio", 0.3, 2, 4, 4, 4, 4)
    d.put(config, "layer_norm_epsilon", 0.6, d.epsilon())
    d.put(config, "learned_pos_emb", 0.2, True, False)
    d.put(config, "tie_word_embeddings", 0.4, True, False)
    d.put(config, "no_bias", 0.2, True, True, False)
    d.put(config, "logit_scale", 0.1, None, 0.5)
    d.put(config, "embedding_fraction", 0.2, 1.0, 1.0, 0.5)
    d.put(config, "norm_type", 0.2, "low_precision_layernorm", "layernorm")
    d.put(config, "resid_pdrop", 0.2, 0, 0.1)
    return config


def draw_opt(d, layers, length):
    heads, size = d.pick(1, 2, 3, 4), d.whole(1, 8)
    hidden = heads * size
    config = {"hidden_size": hidden, "num_attention_heads": heads, "ffn_dim": d.whole(3, 40), "max_position_embeddings": d.pick(length, length - 1, 64)}
    d.put(config, "word_embed_proj_dim", 0.6, hidden, hidden, max(1, hidden // 2), hidden + 4, None)
    d.put(config, "do_layer_norm_before", 0.6, True, False)
    d.put(config, "_remove_final_layer_norm", 0.4, True, False)
    d.put(config, "enable_bias", 0.5, True, False)
    d.put(config, "layer_norm_elementwise_affine", 0.5, True, False)
    d.put(config, "activation_function", 0.6, d.activation())
    d.put(config, "tie_word_embeddings", 0.4, True, False)
    d.put(config, "layerdrop", 0.2, 0.0, 0.1)
    return config


def draw_falcon(d, layers, length):
    kv = d.pick(1, 1, 2, 3)
    heads, size = kv * d.pick(1, 2, 3), d.pick(2, 4, 6, 8)
    config = {"hidden_size": heads * size, "num_attention_heads": heads}
    if d.chance(0.15):
        config["n_embed"] = config.pop("hidden_size")
    d.put(config, "new_decoder_architecture", 0.7, True, False)
    if config.get("new_decoder_architecture") or d.chance(0.2):
        d.put(config, "num_kv_heads", 0.9, kv)
    d.put(config, "multi_query", 0.7, True, False)
    d.put(config, "parallel_attn", 0.7, True, False)
    d.put(config, "bias", 0.7, True, False)
    d.put(config, "alibi", 0.4, True, False)
    d.put(config, "num_ln_in_parallel_attn", 0.4, 1, 2, None)
    d.put(config, "ffn_hidden_size", 0.5, d.whole(3, 40), None)
    d.put(config, "activation", 0.5, d.activation())
    d.put(config, "layer_norm_epsilon", 0.6, d.epsilon())
    d.put(config, "tie_word_embeddings", 0.4, True, False)
    put_rope(d, config, length)
    d.put(config, "hidden_dropout", 0.2, 0.1)
    return config


def draw_phi(d, layers, length):
    kv = d.pick(1, 1, 2)
    heads, size = kv * d.pick(1, 2, 3), d.pick(4, 8, 12)
    config = {"hidden_size": heads * size, "num_attention_heads": heads, "intermediate_size": d.whole(3, 40)}
    if kv != heads or d.chance(0.5):
        config["num_key_value_heads"] = d.pick(kv, kv, None) if kv == heads else kv
    d.put(config, "qk_layernorm", 0.6, True, False)
    d.put(config, "head_dim", 0.05, size, size + 4)
    d.put(config, "hidden_act", 0.6, d.activation())
    d.put(config, "layer_norm_eps", 0.6, d.epsilon())
    d.put(config, "tie_word_embeddings", 0.4, True, False)
    put_rope(d, config, length, partial=0.6)
    return config


def draw_apertus(d, layers, length):
    config = grouped(d, length)
    if d.chance(0.8):
        config["hidden_act"] = "xielu"
    d.put(config, "qk_norm", 0.1, True)
    d.put(config, "post_norm", 0.1, False)
    return biased(d, config, "attention_bias")


def draw_apertus1p5_text(d, layers, length):
    config = draw_apertus(d, layers, length)
    d.put(config, "output_vocab_size", 0.6, 11, 7, None)
    return config


def draw_arcee(d, layers, length):
    return biased(d, grouped(d, length), "attention_bias", "mlp_bias")


def draw_nemotron(d, layers, length):
    config = layered(grouped(d, length), "norm_eps")
    d.put(config, "partial_rotary_factor", 0.5, 0.5, 0.25, 1.0, None)
    return biased(d, config, "attention_bias", "mlp_bias")


def draw_internlm3(d, layers, length):
    config = sized(d, grouped(d, length))
    biased(d, config, "attention_bias", "mlp_bias")
    for key, older in (("attention_bias", "qkv_bias"), ("mlp_bias", "bias")):
        d.put(config, older, 0.2, config.get(key, False))
    return config


def draw_seed_oss(d, layers, length):
    return biased(d, sized(d, grouped(d, length)), "attention_bias", "attention_out_bias", "mlp_bias")


def draw_ministral(d, layers, length):
    config = sized(d, grouped(d, length), 0.6)
    d.put(config, "sliding_window", 0.8, 1, 3, 5, 8, 30, None)
    put_layer_types(d, config, layers)
    return config


def draw_stablelm(d, layers, length):
    config = layered(grouped(d, length), "layer_norm_eps")
    if config.pop("head_dim", None) and d.chance(0.1):
        config["head_dim"] = config["hidden_size"] // config["num_attention_heads"]
    d.put(config, "partial_rotary_factor", 0.5, 0.5, 0.25, 1.0)
    return biased(d, config, "use_qkv_bias", "use_parallel_residual", "qk_layernorm")


def draw_glm4(d, layers, length):
    config = sized(d, grouped(d, length))
    d.put(config, "partial_rotary_factor", 0.6, 0.5, 0.25, 1.0, None)
    return biased(d, config, "attention_bias")


def draw_xglm(d, layers, length):
    heads, size = d.pick(1, 2, 3, 4), d.pick(2, 4, 6)
    config = {"d_model": heads * size, "attention_heads": heads, "ffn_dim": d.whole(3, 30), "max_position_embeddings": d.pick(length, 64, 8), "num_layers": layers}
    d.put(config, "scale_embedding", 0.6, True, False)
    d.put(config, "activation_function", 0.6, d.activation())
    d.put(config, "tie_word_embeddings", 0.5, True, False)
    d.put(config, "layerdrop", 0.3, 0.0, 0.1)
    return config


def draw_biogpt(d, layers, length):
    heads, size = d.pick(1, 2, 3, 4), d.whole(1, 6)
    config = {"hidden_size": heads * size, "num_attention_heads": heads, "intermediate_size": d.whole(3, 30), "max_position_embeddings": d.pick(length, length - 1, 64)}
    d.put(config, "scale_embedding", 0.6, True, False)
    d.put(config, "hidden_act", 0.6, d.activation())
    d.put(config, "layer_norm_eps", 0.3, 1e-3)
    d.put(config, "tie_word_embeddings", 0.5, True, False)
    return config


def draw_gemma3_text(d, layers, length):
    config = sized(d, grouped(d, length))
    if config.get("hidden_size", 0) % config["num_attention_heads"]:
        config["hidden_size"] = config["num_attention_heads"] * 4
    activation = config.pop("hidden_act", None)
    if activation:
        config["hidden_activation"] = activation
    put_kinds(d, config, "rope_local_base_freq")
    d.put(config, "query_pre_attn_scalar", 0.8, 1, 4, 20, 256)
    d.put(config, "final_logit_softcapping", 0.5, 2.5, 5.0, None)
    d.put(config, "attn_logit_softcapping", 0.1, 4.0, None)
    d.put(config, "sliding_window", 0.8, 1, 3, 5, 30, 4096, None)
    d.put(config, "sliding_window_pattern", 0.5, 1, 2, 3)
    put_layer_types(d, config, layers)
    return biased(d, config, "attention_bias")


def draw_smollm3(d, layers, length):
    config = grouped(d, length)
    config["num_key_value_heads"] = config.get("num_key_value_heads") or config["num_attention_heads"]
    d.put(config, "no_rope_layers", 0.4, [d.pick(0, 1) for _ in range(layers)], None)
    d.put(config, "no_rope_layer_interval", 0.5, 1, 2, 3)
    d.put(config, "use_sliding_window", 0.6, True, False)
    d.put(config, "sliding_window", 0.7, 1, 4, 9, None)
    put_layer_types(d, config, layers, 0.3)
    return biased(d, config, "attention_bias", "mlp_bias")


def draw_cohere(d, layers, length):
    config = layered(grouped(d, length), "layer_norm_eps")
    d.put(config, "logit_scale", 0.7, 0.0625, 1.0, 0.7, 2.0)
    return biased(d, config, "attention_bias", "use_qk_norm")


def draw_cohere2(d, layers, length):
    config = layered(grouped(d, length), "layer_norm_eps")
    config.pop("head_dim", None)
    d.put(config, "logit_scale", 0.7, 0.0625, 1.0, 0.7, 2.0)
    d.put(config, "sliding_window", 0.8, 1, 3, 8, 30, None)
    d.put(config, "sliding_window_pattern", 0.5, 1, 2, 3)
    put_layer_types(d, config, layers)
    return biased(d, config, "attention_bias")


def draw_olmo(d, layers, length):
    config = grouped(d, length)
    config.pop("rms_norm_eps", None)
    d.put(config, "clip_qkv", 0.5, 0.5, 1.5, 8.0, None)
    return biased(d, config, "attention_bias")


def draw_olmo2(d, layers, length):
    return biased(d, grouped(d, length), "attention_bias")


def draw_olmo3(d, layers, length):
    config = grouped(d, length)
    put_kinds(d, config, None)
    d.put(config, "sliding_window", 0.8, 1, 3, 8, 30)
    put_layer_types(d, config, layers)
    return biased(d, config, "attention_bias")


def draw_exaone4(d, layers, length):
    config = grouped(d, length)
    config["num_key_value_heads"] = config.get("num_key_value_heads") or config["num_attention_heads"]
    d.put(config, "sliding_window", 0.8, 1, 3, 8, 30, None)
    d.put(config, "sliding_window_pattern", 0.6, 1, 2, 3, "LG", None)
    put_layer_types(d, config, layers, 0.5)
    return config


def draw_hunyuan_v1_dense(d, layers, length):
    config = grouped(d, length)
    for root in ("rope_parameters", "rope_scaling"):
        if (config.get(root) or {}).get("rope_type", (config.get(root) or {}).get("type")) == "dynamic":
            d.put(config[root], "alpha", 0.7, 1000.0, 5, 0)
    return biased(d, config, "attention_bias")


def draw_ministral3(d, layers, length):
    config = sized(d, grouped(d, length))
    for root in ("rope_parameters", "rope_scaling"):
        if config.get(root):
            config[root].setdefault("llama_4_scaling_beta", d.pick(0.1, 0.7, 0))
            config[root].setdefault("original_max_position_embeddings", d.pick(4, 9, 16))
    d.put(config, "sliding_window", 0.5, 1, 4, 9, None)
    return config


def draw_granite_swa(d, layers, length):
    config = grouped(d, length)
    d.put(config, "layer_rope_theta", 0.6, [d.pick(0, 700.0, 90) for _ in range(layers)], None)
    multipliers(d, config)
    d.put(config, "sliding_window", 0.8, 1, 4, 9, 40)
    put_layer_types(d, config, layers)
    return biased(d, config, "attention_bias", "mlp_bias")


def draw_cwm(d, layers, length):
    config = sized(d, grouped(d, length))
    d.put(config, "sliding_window", 0.8, 1, 4, 9, 40)
    put_layer_types(d, config, layers)
    return biased(d, config, "mlp_bias")


def draw_phi3(d, layers, length):
    config = grouped(d, length)
    for key in ("head_dim", "rope_parameters", "rope_scaling"):
        config.pop(key, None)
    size = config["hidden_size"] // config["num_attention_heads"]
    part = d.pick(1.0, 1.0, 0.5)
    pairs = int(size * part) // 2
    if part != 1:
        config["partial_rotary_factor"] = part
    d.put(config, "original_max_position_embeddings", 0.7, 8, 16, 40)
    if d.chance(0.7) and pairs:
        scaling = {d.pick("rope_type", "type"): "longrope", "short_factor": [d.real(1, 3) for _ in range(pairs)], "long_factor": [d.real(1, 9) for _ in range(pairs)]}
        d.put(scaling, "factor", 0.4, 4.0, 1.0)
        d.put(scaling, "attention_factor", 0.3, 1.3, None)
        d.put(scaling, "original_max_position_embeddings", 0.4, 8, 12)
        config[d.pick("rope_parameters", "rope_scaling")] = scaling
    d.put(config, "sliding_window", 0.5, 3, 8, None)
    return config


def draw_internlm2(d, layers, length):
    config = grouped(d, length)
    config.pop("head_dim", None)
    return biased(d, config, "attention_bias")


def draw_exaone(d, layers, length):
    return grouped(d, length)


def draw_baichuan(d, layers, length):
    config = {key: value for key, value in grouped(d, length).items() if not key.startswith(("rope_", "head_dim", "num_key_value", "partial_"))}
    return {**config, "max_position_embeddings": 64}


def draw_baichuan2(d, layers, length):
    return {**draw_baichuan(d, layers, length), "tie_word_embeddings": False}


def draw_iquestcoder(d, layers, length):
    config = biased(d, sized(d, grouped(d, length)), "attention_bias", "mlp_bias")
    d.put(config, "use_sliding_window", 0.1, False, True)
    d.put(config, "clip_qkv", 0.1, None, 2.0)
    return config


def draw_vaultgemma(d, layers, length):
    config = draw_gemma2(d, layers, length)
    config.pop("use_bidirectional_attention", None)
    return config


def draw_hyperclovax(d, layers, length):
    config = multipliers(d, grouped(d, length))
    d.put(config, "attention_multiplier", 0.1, None)
    return biased(d, config, "attention_bias", "mlp_bias", "use_post_norm")


def draw_nanochat(d, layers, length):
    config = grouped(d, length)
    d.put(config, "final_logit_softcapping", 0.6, 15.0, 2.5, 5.0, None)
    return biased(d, config, "attention_bias")


def draw_jais2(d, layers, length):
    return biased(d, layered(grouped(d, length), "layer_norm_eps"), "attention_bias", "mlp_bias")


def draw_persimmon(d, layers, length):
    config = layered(grouped(d, length), "layer_norm_eps")
    for key in ("head_dim", "num_key_value_heads"):
        config.pop(key, None)
    d.put(config, "partial_rotary_factor", 0.5, 0.5, 0.25, 1.0)
    return biased(d, config, "qk_layernorm")


def draw_gpt_neox_japanese(d, layers, length):
    config = draw_gpt_neox(d, layers, length)
    for key in ("intermediate_size", "use_parallel_residual", "attention_bias"):
        config.pop(key, None)
    d.put(config, "intermediate_multiple_size", 0.6, 1, 2, 3)
    return config


def draw_openai_gpt(d, layers, length):
    heads, size = d.pick(1, 2, 3, 4), d.whole(1, 8)
    config = {"n_embd": heads * size, "n_head": heads, "n_positions": d.pick(length, length - 1, 64)}
    d.put(config, "afn", 0.7, "gelu", "relu", "silu", "swish")
    d.put(config, "layer_norm_epsilon", 0.7, d.epsilon())
    d.put(config, "tie_word_embeddings", 0.5, True, False)
    d.put(config, "summary_type", 0.2, "cls_index", "mean")
    return config


def draw_ctrl(d, layers, length):
    heads, size = d.pick(1, 2, 3, 4), d.pick(2, 4, 6)
    config = {"n_embd": heads * size, "n_head": heads, "n_positions": d.pick(length, length - 1, 64), "dff": d.whole(3, 30)}
    d.put(config, "layer_norm_epsilon", 0.7, d.epsilon())
    d.put(config, "tie_word_embeddings", 0.5, True, False)
    return config


def head_size(config):
    return config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]


def draw_qwen2_vl_text(d, layers, length):
    config = grouped(d, length)
    config.pop("head_dim", None)
    put_window(d, config, layers)
    config.setdefault("num_key_value_heads", config["num_attention_heads"])
    put_sections(d, config, head_size(config), 0.3)
    return config


def draw_qwen3_vl_text(d, layers, length):
    config = sized(d, grouped(d, length, loose=True))
    d.put(config, "attention_bias", 0.6, True, False)
    put_sections(d, config, config.get("head_dim") or 128)
    return config


def draw_glm4v_text(d, layers, length):
    config = grouped(d, length)
    config.pop("head_dim", None)
    config.setdefault("num_key_value_heads", config["num_attention_heads"])
    part = d.pick(0.5, 0.5, 1.0)
    for settings in (config.get("rope_parameters"), config.get("rope_scaling")):
        if settings:
            settings.pop("partial_rotary_factor", None)
    config["partial_rotary_factor"] = part
    put_sections(d, config, int(head_size(config) * part))
    return config


def put_rotations(d, config):
    """Settings of Gemma 4's two kinds of layers, each with its type."""
    full = {"rope_type": "proportional", "rope_theta": d.pick(100.0, 3000.0)}
    d.put(full, "partial_rotary_factor", 0.7, 0.25, 0.5, 0.4, 1.0)
    d.put(full, "factor", 0.3, 2.0, 1.0)
    config["rope_parameters"] = {"full_attention": d.pick(full, full, {"rope_type": "default", "rope_theta": 500.0}, {"rope_type": "linear", "factor": 4.0, "rope_theta": 90.0}),
                                 "sliding_attention": d.pick({"rope_type": "default", "rope_theta": 70.0}, {"rope_type": "linear", "factor": 3.0, "rope_theta": 40.0})}


def draw_gemma3n_text(d, layers, length):
    kv = d.pick(1, 1, 2)
    heads = kv * d.pick(1, 2)
    layers = d.whole(2, 6)
    kinds = [d.pick("full_attention", "sliding_attention") for _ in range(layers)]
    config = {"num_hidden_layers": layers, "hidden_size": heads * d.whole(2, 12), "intermediate_size": d.whole(5, 30), "num_attention_heads": heads, "num_key_value_heads": kv,
              "head_dim": d.pick(2, 4, 6, 8), "sliding_window": d.pick(1, 3, 5, 30), "layer_types": kinds, "num_kv_shared_layers": d.pick(0, 0, 1, 2),
              "hidden_size_per_layer_input": d.pick(4, 5), "vocab_size_per_layer_input": d.pick(64, 64, 20), "laurel_rank": d.whole(1, 6)}
    if d.chance(0.3):
        config["intermediate_size"] = [d.whole(5, 30) for _ in range(layers)]
    if d.chance(0.7):
        config["activation_sparsity_pattern"] = [d.pick(0.0, 0.5, 0.8, 0.95) for _ in range(layers)]
    d.put(config, "altup_num_inputs", 0.5, 2, 3, 4)
    d.put(config, "altup_active_idx", 0.3, 0, 1)
    d.put(config, "altup_correct_scale", 0.5, True, False)
    d.put(config, "altup_coef_clip", 0.3, 120.0, 1.0)
    d.put(config, "hidden_activation", 0.3, d.activation())
    d.put(config, "rms_norm_eps", 0.5, d.epsilon())
    d.put(config, "tie_word_embeddings", 0.7, True, False)
    d.put(config, "final_logit_softcapping", 0.5, 2.5, 5.0)
    d.put(config, "rope_local_base_freq", 0.3, 50.0, 700.0)
    d.put(config, "rope_theta", 0.3, 400.0)
    return biased(d, config, "attention_bias")


def experts_of_gemma4(d):
    """Experts beside the MLPs, or their sizes without them."""
    experts = d.whole(1, 6)
    return dict(enable_moe_block=d.pick(True, True, True, False), num_experts=experts, top_k_experts=d.whole(1, min(experts, 3)), moe_intermediate_size=d.whole(3, 12))


def draw_gemma4_text(d, layers, length):
    kv = d.pick(1, 1, 2)
    heads = kv * d.pick(1, 2)
    layers = d.whole(2, 6)
    config = {"num_hidden_layers": layers, "hidden_size": d.whole(4, 24), "intermediate_size": d.whole(5, 30), "num_attention_heads": heads, "num_key_value_heads": kv,
              "head_dim": d.pick(2, 4, 6, 8), "global_head_dim": d.pick(2, 4, 10, 12), "sliding_window": d.pick(1, 3, 5, 30)}
    d.put(config, "layer_types", 0.8, [d.pick("full_attention", "sliding_attention") for _ in range(layers)])
    d.put(config, "num_global_key_value_heads", 0.5, 1, heads, None)
    d.put(config, "attention_k_eq_v", 0.6, True, False)
    d.put(config, "num_kv_shared_layers", 0.6, 1, 2, 0)
    d.put(config, "use_double_wide_mlp", 0.5, True, False)
    config["hidden_size_per_layer_input"] = d.pick(0, 4, 5)
    config["vocab_size_per_layer_input"] = 64
    d.put(config, "hidden_activation", 0.5, d.activation())
    d.put(config, "rms_norm_eps", 0.5, d.epsilon())
    d.put(config, "tie_word_embeddings", 0.7, True, False)
    d.put(config, "final_logit_softcapping", 0.5, 2.5, 5.0, None)
    d.put(config, "use_bidirectional_attention", 0.2, "vision", None)
    if d.chance(0.5):
        config.update(experts_of_gemma4(d))
    if d.chance(0.7):
        put_rotations(d, config)
    return biased(d, config, "attention_bias")


def draw_gemma4_unified_text(d, layers, length):
    config = draw_gemma4_text(d, layers, length)
    for key in ("hidden_size_per_layer_input", "vocab_size_per_layer_input", "enable_moe_block", "num_experts", "top_k_experts", "moe_intermediate_size"):
        config.pop(key, None)
    return config
