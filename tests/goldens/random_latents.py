"""Random configurations of families with latents: draw_FAMILY(d, layers, length) gives a config.json's keys, for random_configurations.py."""

from random_settings import biased, put_experts, put_groups, put_kinds_of_mlp, put_rope


def latent(d, length, query=0.3, fraction=0.02, multiple=False):
    """Sizes of heads and latents. `query`: chance that queries have no latent. `multiple`: the width is one of the number of heads."""
    heads, turned = d.pick(1, 2, 3, 4), d.pick(2, 4, 6, 8)
    config = {"hidden_size": heads * d.whole(-(-5 // heads), 24 // heads) if multiple else d.whole(5, 24), "intermediate_size": d.whole(5, 40), "num_attention_heads": heads, "num_key_value_heads": heads,
              "kv_lora_rank": d.whole(2, 14), "q_lora_rank": None if d.chance(query) else d.whole(2, 14), "qk_rope_head_dim": turned,
              "qk_nope_head_dim": d.pick(1, 3, 4, 6, 8, 12), "v_head_dim": d.pick(1, 3, 4, 8, 12, 20)}
    d.put(config, "num_key_value_heads", 0.1, 1, heads)
    d.put(config, "head_dim", 0.1, turned)
    d.put(config, "qk_head_dim", 0.1, turned + config["qk_nope_head_dim"])
    d.put(config, "hidden_act", 0.7, d.activation(), "silu")
    d.put(config, "rms_norm_eps", 0.7, d.epsilon())
    d.put(config, "tie_word_embeddings", 0.7, True, False)
    put_rope(d, config, length, partial=fraction)
    put_factors_of_scores(d, config)
    return biased(d, config, "attention_bias")


def put_factors_of_scores(d, config):
    """mscale_all_dim, of scalings more often than other families have it."""
    for root in ("rope_parameters", "rope_scaling"):
        if (config.get(root) or {}).get("factor") and d.chance(0.4):
            d.put(config[root], "mscale_all_dim", 0.9, 1.0, 0.4, 0)
            d.put(config[root], "mscale", 0.7, 1.0, 0.707, 0)


def routed(d, config, layers):
    put_experts(d, config, layers, "n_routed_experts")
    config["moe_intermediate_size"] = d.whole(3, 20)
    d.put(config, "n_shared_experts", 0.7, 1, 2, 3)
    d.put(config, "first_k_dense_replace", 0.8, 0, 1, 5)
    return config


def draw_deepseek_v2(d, layers, length):
    config = routed(d, latent(d, length, multiple=True), layers)
    for key in ("kv_lora_rank", "qk_nope_head_dim"):        # the library looks at neighbours as complex numbers, where they lie
        config[key] += config[key] % 2
    if "qk_head_dim" in config:
        config["qk_head_dim"] = config["qk_nope_head_dim"] + config["qk_rope_head_dim"]
    put_groups(d, config, "n_routed_experts")
    if "n_group" not in config:
        config.update(n_group=None, topk_group=None)
    d.put(config, "topk_method", 0.8, "greedy", "group_limited_greedy")
    d.put(config, "scoring_func", 0.2, "softmax")
    return biased(d, config, "mlp_bias")


def draw_deepseek_v3(d, layers, length):
    config = routed(d, latent(d, length), layers)
    put_groups(d, config, "n_routed_experts")
    if "n_group" not in config and d.chance(0.9):
        config.update(n_group=1, topk_group=1)
    d.put(config, "rope_interleave", 0.6, True, False)
    d.put(config, "num_nextn_predict_layers", 0.4, 0, 1)
    d.put(config, "scoring_func", 0.2, "sigmoid")
    d.put(config, "topk_method", 0.2, "noaux_tc")
    return config


def draw_glm4_moe_lite(d, layers, length):
    config = routed(d, latent(d, length), layers)
    config.pop("first_k_dense_replace", None)
    put_groups(d, config, "n_routed_experts")
    d.put(config, "rope_interleave", 0.6, True, False)
    put_kinds_of_mlp(d, config, layers)
    return config


def draw_minicpm3(d, layers, length):
    config = latent(d, length, multiple=True)
    d.put(config, "v_head_dim", 0.1, None)
    d.put(config, "scale_emb", 0.7, 1, 5, 12.3)
    d.put(config, "scale_depth", 0.7, 1.4, 0.7, None)
    d.put(config, "dim_model_base", 0.7, 3, 8, None)
    return biased(d, config, "mlp_bias")


def draw_mistral4(d, layers, length):
    config = routed(d, latent(d, length, fraction=0.0), layers)
    put_groups(d, config, "n_routed_experts")
    config["head_dim"] = config["qk_nope_head_dim"] + config["qk_rope_head_dim"]
    root = "rope_scaling" if config.get("rope_scaling") else "rope_parameters"
    settings = config.get(root) or {"rope_type": "yarn", "factor": 4.0}
    d.put(settings, "llama_4_scaling_beta", 0.95, 0.1, 0.7, 0)
    d.put(settings, "original_max_position_embeddings", 0.95, 4, 9, 64)
    config[root] = settings
    d.put(config, "rope_interleave", 0.6, True, False)
    return config


def draw_sarvam_mla(d, layers, length):
    config = draw_deepseek_v3(d, layers, length)
    for key in ("rope_scaling", "rope_parameters"):
        if (config.get(key) or {}).get("type") == "yarn" and key == "rope_scaling" and d.chance(0.5):
            config[key]["type"] = "deepseek_yarn"
    d.put(config, "q_head_dim", 0.3, 192)
    d.put(config, "head_dim", 0.3, 576)
    for old, new in (("n_routed_experts", "num_experts"), ("n_shared_experts", "num_shared_experts")):
        if old in config and d.chance(0.3):
            config[new] = config.pop(old)
    return config


def draw_axk1(d, layers, length):
    config = routed(d, latent(d, length, query=0.0), layers)
    put_groups(d, config, "n_routed_experts")
    if "n_group" not in config:
        config.update(n_group=1, topk_group=1)
    d.put(config, "rope_interleave", 0.6, True, False)
    put_kinds_of_mlp(d, config, layers)
    return config


def indexed(d, layers, length):
    """Beside latents an indexer, which mostly has nothing to choose."""
    config = draw_axk1(d, layers, length)
    config.pop("rope_interleave", None)
    config.update(index_head_dim=config["qk_rope_head_dim"] + d.pick(0, 2, 6), index_n_heads=d.whole(1, 3), index_topk=d.pick(64, 64, 64, length, length - 1, 5))
    return config


def draw_deepseek_v32(d, layers, length):
    return indexed(d, layers, length)


def draw_glm_moe_dsa(d, layers, length):
    config = indexed(d, layers, length)
    d.put(config, "indexer_types", 0.4, ["full"] + [d.pick("full", "shared") for _ in range(layers - 1)], None)
    return config


def draw_youtu(d, layers, length):
    config = latent(d, length)
    d.put(config, "rope_interleave", 0.6, True, False)
    d.put(config, "embedding_initializer_range", 0.3, 0.1)
    return config


def channels(d, layers, length, renamed):
    """Layers of the delta rule by channel, attention by latents, and experts."""
    config = routed(d, latent(d, length, query=0.7), layers)
    put_groups(d, config, "n_routed_experts")
    if "n_group" not in config and d.chance(0.9):
        config.update(n_group=1, topk_group=1)
    put_kinds_of_mlp(d, config, layers)
    config["num_experts"] = config.pop("n_routed_experts")
    d.put(config, "norm_topk_prob", 0.4, True, False)
    d.put(config, "routed_scaling_factor", 0.5, 0.5, 2.5)
    d.put(config, "num_key_value_heads", 0.1, None)
    if d.chance(renamed):       # as released files have them
        for old, new in (("max_position_embeddings", "model_max_length"), ("norm_topk_prob", "moe_renormalize"), ("n_group", "num_expert_group"), ("num_experts_per_tok", "num_experts_per_token"),
                         ("n_shared_experts", "num_shared_experts")):
            if old in config:
                config[new] = config.pop(old)
    elif d.chance(0.2):
        config["num_local_experts"] = config.pop("num_experts")
    return config


def kinds_of_layers(d, layers):
    return [d.pick("linear_attention", "linear_attention", "full_attention") for _ in range(layers)]


def draw_kimi_linear(d, layers, length):
    config = channels(d, layers, length, 0.7)
    for key in ("rope_theta", "rope_scaling", "rope_parameters", "partial_rotary_factor"):
        if d.chance(0.8):
            config.pop(key, None)
    kinds = kinds_of_layers(d, layers)
    d.put(config, "linear_head_dim", 0.6, 1, 3, 8, 17)
    d.put(config, "linear_num_heads", 0.9, 1, 2, 3)
    d.put(config, "linear_conv_kernel_dim", 0.6, 1, 2, 4, 8)
    if d.chance(0.6):
        inner = config["linear_attn_config"] = {}
        d.put(inner, "head_dim", 0.9, 1, 4, 8, 20)
        d.put(inner, "num_heads", 0.9, 1, 2, 3)
        d.put(inner, "short_conv_kernel_size", 0.9, 1, 3, 4)
        if d.chance(0.9):
            inner["kda_layers"] = [i + 1 for i, kind in enumerate(kinds) if kind == "linear_attention"]
            inner["full_attn_layers"] = [i + 1 for i, kind in enumerate(kinds) if kind == "full_attention"]
        if d.chance(0.05):
            inner["kda_layers"] = [1]
    d.put(config, "layer_types", 0.3, kinds_of_layers(d, layers), None)
    d.put(config, "mla_use_nope", 0.3, True)
    d.put(config, "use_grouped_topk", 0.3, True)
    d.put(config, "moe_router_activation_func", 0.3, "sigmoid")
    d.put(config, "moe_layer_freq", 0.3, 1)
    d.put(config, "num_nextn_predict_layers", 0.3, 0)
    return config


def draw_bailing_hybrid(d, layers, length):
    config = channels(d, layers, length, 0.5)
    config["head_dim"] = d.pick(1, 4, 8, 17)
    d.put(config, "linear_head_dim", 0.1, 4, 6)
    d.put(config, "layer_types", 0.4, kinds_of_layers(d, layers), None)
    d.put(config, "layer_group_size", 0.7, 1, 2, 3)
    d.put(config, "short_conv_kernel_size", 0.6, 1, 2, 3, 4, 8)
    d.put(config, "kda_safe_gate", 0.6, True, False)
    d.put(config, "kda_lower_bound", 0.6, -5.0, -0.7, -2.0)
    d.put(config, d.pick("num_nextn_predict_layers", "num_mtp_layers"), 0.4, 0, 1)
    return config
