"""Random configurations of the families with experts: draw_FAMILY(generator, layers, length of the text)."""

from random_dense import draw_exaone4, draw_hunyuan_v1_dense, head_size
from random_settings import biased, grouped, multipliers, put_experts, put_groups, put_kinds_of_mlp, put_layer_types, put_sections, put_window, sized


def draw_mixtral(d, layers, length):
    config = put_experts(d, grouped(d, length), layers, d.pick("num_local_experts", "num_experts"))
    config["num_key_value_heads"] = config.get("num_key_value_heads") or config["num_attention_heads"]
    d.put(config, "sliding_window", 0.6, 1, 3, 8, 30, None)
    return config


def draw_phimoe(d, layers, length):
    config = put_experts(d, grouped(d, length), layers, "num_local_experts")
    config["num_key_value_heads"] = config.get("num_key_value_heads") or config["num_attention_heads"]
    config["num_experts_per_tok"] = d.pick(2, 2, 2, 2, 1)
    for key in ("rope_parameters", "rope_scaling", "partial_rotary_factor"):
        config.pop(key, None)
    pairs = (config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]) // 2
    if d.chance(0.7):
        config["rope_parameters"] = {"rope_type": "longrope", "short_factor": [d.real(1, 3) for _ in range(pairs)], "long_factor": [d.real(1, 9) for _ in range(pairs)],
                                     "short_mscale": d.real(0.7, 1.5), "long_mscale": d.real(0.7, 1.5), "original_max_position_embeddings": d.pick(8, 16, 40)}
        d.put(config["rope_parameters"], "rope_theta", 0.5, 300.0)
        d.put(config["rope_parameters"], "attention_factor", 0.2, 1.7)       # which is not used
    d.put(config, "router_jitter_noise", 0.8, 0.01, 0.1, 0.3, 0.9, 0.0)
    d.put(config, "input_jitter_noise", 0.2, 0.1)
    d.put(config, "sliding_window", 0.4, 3, 8, None)
    return biased(d, config, "attention_bias", "lm_head_bias")


def draw_qwen2_moe(d, layers, length):
    config = put_experts(d, sized(d, grouped(d, length), 0.2), layers, some=True)
    config["shared_expert_intermediate_size"] = d.whole(3, 20)
    put_window(d, config, layers)
    return biased(d, config, "qkv_bias")


def draw_qwen3_moe(d, layers, length):
    config = put_experts(d, sized(d, grouped(d, length), 0.2), layers, d.pick("num_local_experts", "num_experts"), some=True)
    put_window(d, config, layers)
    return biased(d, config, "attention_bias")


def draw_gpt_oss(d, layers, length):
    config = put_experts(d, sized(d, grouped(d, length), 0.2), layers, d.pick("num_local_experts", "num_experts"))
    config["num_key_value_heads"] = config.get("num_key_value_heads") or config["num_attention_heads"]
    d.put(config, "sliding_window", 0.8, 1, 3, 5, 30, 30)
    d.put(config, "layer_types", 0.3, [d.pick("full_attention", "sliding_attention") for _ in range(layers)], None)
    d.put(config, "swiglu_limit", 0.3, 7.0)
    d.put(config, "swiglu_alpha", 0.3, 1.702)
    d.put(config, "experts_per_token", 0.2, 4)
    return biased(d, config, "attention_bias")


def draw_olmoe(d, layers, length):
    config = put_experts(d, grouped(d, length), layers, d.pick("num_local_experts", "num_experts"))
    d.put(config, "norm_topk_prob", 0.6, True, False)
    d.put(config, "clip_qkv", 0.5, 0.4, 1.2, 8.0, None)
    d.put(config, "sliding_window", 0.05, 4)         # which the library does not read, nor this
    return biased(d, config, "attention_bias")


def draw_dbrx(d, layers, length):
    kv, base = d.pick(1, 1, 2, 3), d.pick(300.0, 10000.0, 500000.0)
    heads = kv * d.pick(1, 2, 3)
    attention = {"rope_theta": base, "clip_qkv": d.pick(0.4, 1.2, 8.0)}        # transformers 5.23 fails without a limit
    experts = {"ffn_hidden_size": d.whole(3, 20), "moe_num_experts": d.whole(1, 7)}
    if kv > 1 or d.chance(0.7):
        attention["kv_n_heads"] = kv
    d.put(experts, "moe_top_k", 0.8, 1, experts["moe_num_experts"], d.whole(1, experts["moe_num_experts"]))
    d.put(experts, "moe_normalize_expert_weights", 0.6, 1.0, 1.0, None, 2.0)
    d.put(experts, "ffn_act_fn", 0.6, {"name": d.activation()}, {"name": "silu"}, None)
    d.put(experts, "moe_jitter_eps", 0.3, 0, 0.1)
    d.put(experts, "uniform_expert_assignment", 0.2, False)
    return {"d_model": heads * d.pick(2, 4, 6, 8), "n_heads": heads, "max_seq_len": 64, "attn_config": attention, "ffn_config": experts,
            "rope_parameters": {"rope_type": "default", "rope_theta": d.pick(base, base, base, base, 20000.0)}}


def draw_glm4_moe(d, layers, length):
    config = put_experts(d, sized(d, grouped(d, length), 0.2), layers, "n_routed_experts")
    config.update(moe_intermediate_size=d.whole(3, 20), head_dim=d.pick(4, 8, 8, 6))
    if d.chance(0.5):
        config["n_group"] = d.pick(1, 2, 3)
        config["topk_group"] = d.whole(1, config["n_group"])
        size = d.pick(2, 2, 3, 4)
        config["n_routed_experts"] = config["n_group"] * size
        config["num_experts_per_tok"] = d.whole(1, config["topk_group"] * size)
    for key, *values in (("n_shared_experts", 1, 2), ("routed_scaling_factor", 1.0, 2.5), ("first_k_dense_replace", 0, 1, 5), ("norm_topk_prob", True, False),
                         ("partial_rotary_factor", 0.5, 0.25, 1.0), ("num_nextn_predict_layers", 0, 1)):
        d.put(config, key, 0.6, *values)
    return biased(d, config, "attention_bias", "use_qk_norm")


def draw_granitemoe(d, layers, length):
    config = put_experts(d, grouped(d, length), layers, "num_local_experts")
    return biased(d, multipliers(d, config), "attention_bias")


def draw_hunyuan_v1_moe(d, layers, length):
    config = put_experts(d, draw_hunyuan_v1_dense(d, layers, length), layers)
    if d.chance(0.8):
        config["moe_topk"] = config.pop("num_experts_per_tok")
        if d.chance(0.3):
            config["moe_topk"] = [config["moe_topk"]] * layers
    return config


def draw_granitemoeshared(d, layers, length):
    config = draw_granitemoe(d, layers, length)
    d.put(config, "shared_intermediate_size", 0.7, 0, 6, 11)
    return config


def draw_granitemoe_swa(d, layers, length):
    config = draw_granitemoeshared(d, layers, length)
    d.put(config, "layer_rope_theta", 0.6, [d.pick(0, 700.0, 90) for _ in range(layers)], None)
    d.put(config, "sliding_window", 0.8, 1, 4, 9, 40)
    put_layer_types(d, config, layers)
    return config


def draw_flex_olmo(d, layers, length):
    config = put_experts(d, grouped(d, length), layers)
    d.put(config, "norm_topk_prob", 0.6, True, False)
    return biased(d, config, "attention_bias")


def draw_dots1(d, layers, length):
    config = put_experts(d, grouped(d, length), layers, "n_routed_experts")
    config["num_key_value_heads"] = config.get("num_key_value_heads") or config["num_attention_heads"]
    config.update(moe_intermediate_size=d.whole(3, 20), n_shared_experts=d.pick(1, 2))
    put_groups(d, config, "n_routed_experts")
    d.put(config, "first_k_dense_replace", 0.6, 0, 1, 5)
    d.put(config, "sliding_window", 0.6, 1, 4, 9, None)
    d.put(config, "max_window_layers", 0.6, 0, 1, 5)
    put_layer_types(d, config, layers)
    return biased(d, config, "attention_bias")


def draw_sarvam_moe(d, layers, length):
    config = put_experts(d, sized(d, grouped(d, length)), layers, "n_routed_experts")
    config["moe_intermediate_size"] = d.whole(3, 20)
    put_groups(d, config, "n_routed_experts")
    d.put(config, "n_shared_experts", 0.6, 1, 2)
    d.put(config, "first_k_dense_replace", 0.6, 0, 1, 5)
    d.put(config, "num_nextn_predict_layers", 0.2, 0)
    d.put(config, "use_qk_norm", 0.5, True, False)
    if d.chance(0.3):
        config["num_experts"] = config.pop("n_routed_experts")
    if d.chance(0.2):
        d.put(config, "use_qkv_bias", 0.6, True, False)
        return config
    return biased(d, config, "attention_bias")


def draw_llama4_text(d, layers, length):
    config = put_experts(d, sized(d, grouped(d, length)), layers, "num_local_experts")
    config["intermediate_size_mlp"] = d.whole(3, 20)
    d.put(config, "moe_layers", 0.4, [d.whole(0, layers)], [], None)
    d.put(config, "interleave_moe_layer_step", 0.5, 1, 2)
    d.put(config, "no_rope_layers", 0.4, [d.pick(0, 1) for _ in range(layers)], None)
    d.put(config, "no_rope_layer_interval", 0.5, 1, 2, 3)
    d.put(config, "use_qk_norm", 0.6, True, False)
    d.put(config, "attn_temperature_tuning", 0.5, True, False)
    d.put(config, "floor_scale", 0.9, 3, 8, 100)
    d.put(config, "attn_scale", 0.7, 0.1, 0.7)
    d.put(config, "attention_chunk_size", 0.7, length, 8192, 5, d.whole(1, length), None)
    d.put(config, "layer_types", 0.2, [d.pick("full_attention", "chunked_attention") for _ in range(layers)], None)
    return biased(d, config, "attention_bias")


def draw_solar_open(d, layers, length):
    config = put_experts(d, sized(d, grouped(d, length)), layers, "n_routed_experts")
    config["moe_intermediate_size"] = d.whole(3, 20)
    config["head_dim"] = d.pick(4, 8, 8, 6)
    put_groups(d, config, "n_routed_experts")
    d.put(config, "n_shared_experts", 0.6, 1, 2)
    d.put(config, "partial_rotary_factor", 0.4, 0.5, 0.25, 1.0)
    return biased(d, config, "attention_bias")


def draw_exaone_moe(d, layers, length):
    config = put_experts(d, draw_exaone4(d, layers, length), layers)
    config["moe_intermediate_size"] = d.whole(3, 20)
    put_groups(d, config, "num_experts")
    d.put(config, "num_shared_experts", 0.6, 1, 2)
    d.put(config, "first_k_dense_replace", 0.6, 0, 1, 5)
    put_kinds_of_mlp(d, config, layers)
    return config


def draw_hy_v3(d, layers, length):
    config = put_experts(d, sized(d, grouped(d, length)), layers)
    config["moe_intermediate_size"] = d.whole(3, 20)
    d.put(config, "num_shared_experts", 0.6, 1, 2)
    d.put(config, "router_scaling_factor", 0.6, 1.0, 0.6)
    d.put(config, "enable_moe_fp32_combine", 0.2, True, False)
    put_kinds_of_mlp(d, config, layers)
    return biased(d, config, "attention_bias", "mlp_bias")


def draw_minimax_m2(d, layers, length):
    config = put_experts(d, sized(d, grouped(d, length)), layers, d.pick("num_local_experts", "num_experts"))
    config["head_dim"] = d.pick(4, 8, 8, 6)
    d.put(config, "rotary_dim", 0.6, 2, 4)
    d.put(config, "partial_rotary_factor", 0.2, 0.5, 1.0)
    d.put(config, "router_jitter_noise", 0.2, 0.1)
    return config


def draw_flint(d, layers, length):
    config = put_experts(d, sized(d, grouped(d, length)), layers, some=True)
    d.put(config, "shared_expert_intermediate_size", 0.95, d.whole(3, 20))
    d.put(config, "sliding_window", 0.9, 1, 4, 9)
    put_layer_types(d, config, layers, 0.95)
    return biased(d, config, "attention_bias")


def draw_mellum(d, layers, length):
    config = put_experts(d, sized(d, grouped(d, length)), layers, d.pick("num_local_experts", "num_experts"))
    config["moe_intermediate_size"] = d.whole(3, 20)
    found = {key: config.pop(key) for key in ("rope_parameters", "rope_scaling", "rope_theta", "partial_rotary_factor", "original_max_position_embeddings") if key in config}
    full = found.get("rope_parameters") or found.get("rope_scaling") or {}
    d.put(config, "rope_parameters", 0.8, {"full_attention": {"rope_type": "default", "rope_theta": 300.0, **full}, "sliding_attention": {"rope_type": "default", "rope_theta": 70.0}}, None)
    d.put(config, "norm_topk_prob", 0.6, True, False)
    d.put(config, "sliding_window", 0.8, 1, 4, 9)
    put_layer_types(d, config, layers, 0.7)
    put_kinds_of_mlp(d, config, layers)
    return biased(d, config, "attention_bias")


def draw_aria_text(d, layers, length):
    config = put_experts(d, grouped(d, length), layers, "moe_num_experts")
    config["moe_topk"] = config.pop("num_experts_per_tok")
    if d.chance(0.8):
        config["hidden_act"] = "silu"
    d.put(config, "moe_num_shared_experts", 0.6, 1, 2)
    return biased(d, config, "attention_bias", "mlp_bias")


def draw_ernie4_5_moe(d, layers, length):
    config = put_experts(d, grouped(d, length), layers, d.pick("moe_num_experts", "num_experts"))
    config["num_key_value_heads"] = config.get("num_key_value_heads") or config["num_attention_heads"]
    config["moe_intermediate_size"] = d.whole(3, 20)
    if d.chance(0.8):
        config["moe_k"] = config.pop("num_experts_per_tok")
    for key, *values in (("moe_num_shared_experts", 0, 1, 2), ("moe_layer_start_index", 0, 1, 2), ("moe_layer_end_index", -1, 1, 2), ("moe_layer_interval", 1, 2), ("moe_norm_min", 1e-12, 1e-8)):
        d.put(config, key, 0.6, *values)
    d.put(config, "use_bias", 0.1, True, False)
    return config


def draw_qwen3_vl_moe_text(d, layers, length):
    config = put_experts(d, sized(d, grouped(d, length)), layers, d.pick("num_experts", "num_local_experts"), some=True)
    config["num_key_value_heads"] = config.get("num_key_value_heads") or config["num_attention_heads"]
    put_sections(d, config, head_size(config))
    return biased(d, config, "attention_bias")


def draw_qwen3_omni_moe_text(d, layers, length):
    return draw_qwen3_vl_moe_text(d, layers, length)


def draw_glm4v_moe_text(d, layers, length):
    config = put_experts(d, grouped(d, length), layers, "n_routed_experts")
    put_groups(d, config, "n_routed_experts")
    config["num_key_value_heads"] = config.get("num_key_value_heads") or config["num_attention_heads"]
    config["moe_intermediate_size"] = d.whole(3, 20)
    d.put(config, "n_shared_experts", 0.6, 1, 2)
    d.put(config, "first_k_dense_replace", 0.6, 0, 1, 2)
    for settings in (config.get("rope_parameters"), config.get("rope_scaling")):
        if settings:
            settings.pop("partial_rotary_factor", None)
    part = d.pick(0.5, 0.5, 1.0)
    if part != 0.5 or d.chance(0.5):
        config["partial_rotary_factor"] = part
    else:
        config.pop("partial_rotary_factor", None)
    put_sections(d, config, int(head_size(config) * part))
    return biased(d, config, "attention_bias")
