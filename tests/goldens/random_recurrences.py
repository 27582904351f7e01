"""Random configurations of families whose layers are recurrences (random_configurations.py)."""

from random_settings import grouped, multipliers, put_experts


def delta(d, layers, length):
    """What Qwen's models with the delta rule share."""
    config = grouped(d, length)
    config["head_dim"] = config.get("head_dim") or d.pick(4, 8, 16)
    d.put(config, "layer_types", 0.6, [d.pick("linear_attention", "linear_attention", "full_attention") for _ in range(layers)], None)
    if not config.get("layer_types"):
        d.put(config, "full_attention_interval", 0.7, 1, 2, 3, 4)
    config["linear_num_key_heads"] = d.whole(1, 3)
    config["linear_num_value_heads"] = config["linear_num_key_heads"] * d.whole(1, 3) + (1 if d.chance(0.03) else 0)
    config["linear_key_head_dim"] = d.pick(1, 3, 8, 12)
    config["linear_value_head_dim"] = d.pick(1, 4, 7, 16)
    d.put(config, "linear_conv_kernel_dim", 0.7, 1, 2, 3, 4, 8, 9)
    d.put(config, "attention_bias", 0.4, True, False)
    return config


def with_experts(d, config):
    config["num_experts"] = d.whole(1, 7)
    config["num_experts_per_tok"] = d.whole(1, config["num_experts"])
    config["moe_intermediate_size"] = d.whole(3, 20)
    config["shared_expert_intermediate_size"] = d.whole(2, 20)
    return config


def draw_qwen3_next(d, layers, length):
    config = with_experts(d, delta(d, layers, length))
    d.put(config, "norm_topk_prob", 0.5, True, False)
    d.put(config, "mlp_only_layers", 0.4, [], [0], [layers - 1], None)
    d.put(config, "decoder_sparse_step", 0.4, 1, 2)
    return config


def draw_qwen3_5_text(d, layers, length):
    return delta(d, layers, length)


def draw_qwen3_5_moe_text(d, layers, length):
    return with_experts(d, delta(d, layers, length))


def mamba(d, config):
    """The settings of Bamba's Mamba-2, which other families share."""
    expand = d.pick(1, 2, 3)
    inner = expand * config["hidden_size"]
    heads = d.pick(*[n for n in range(1, 9) if inner % n == 0]) if d.chance(0.95) else 5
    config.update({"mamba_expand": expand, "mamba_n_heads": heads, "mamba_d_state": d.pick(1, 3, 8, 16, 20)})
    config["mamba_n_groups"] = d.pick(*[n for n in range(1, heads + 1) if heads % n == 0]) if d.chance(0.95) else heads + 1
    d.put(config, "mamba_d_head", 0.5, "auto", inner // heads)
    d.put(config, "mamba_d_conv", 0.7, 1, 2, 3, 3, 4, 4, 5, 8, 8, 9)
    d.put(config, "mamba_conv_bias", 0.6, True, False)
    d.put(config, "mamba_proj_bias", 0.6, True, False)
    d.put(config, "mamba_chunk_size", 0.3, 1, 7, 256)
    d.put(config, "attention_bias", 0.4, True, False)
    d.put(config, "time_step_limit", 0.6, [0.0, float("inf")], [0.1, 1.0], [0.5, float("inf")], [0.0, 0.7], [0.3, 0.3])
    return config


def draw_bamba(d, layers, length):
    config = grouped(d, length)
    if d.chance(0.9):       # half of a head is turned
        config["head_dim"] = d.pick(4, 8, 12)
    config = mamba(d, config)
    d.put(config, "attn_layer_indices", 0.8, [layer for layer in range(layers) if d.chance(0.5)], [0], [layers - 1, 40], None)
    d.put(config, "mlp_bias", 0.4, True, False)
    d.put(config, "partial_rotary_factor", 0.2, 0.25, 1.0)
    return config


def draw_olmo_hybrid(d, layers, length):
    config = grouped(d, length)
    layers = config["num_hidden_layers"] = max(layers, 2)
    d.put(config, "layer_types", 0.6, ["linear_attention", "full_attention", d.pick("linear_attention", "full_attention")][:layers][::d.pick(1, -1)], None)
    groups = d.whole(1, 3)
    for key, values in (("linear_num_key_heads", (groups,)), ("linear_num_value_heads", (groups, 2 * groups, 3 * groups)), ("linear_key_head_dim", (1, 3, 8, 12)), ("linear_value_head_dim", (1, 4, 7, 16))):
        d.put(config, key, 0.8, *values, *((None,) if d.chance(0.1) else ()))
    d.put(config, "linear_conv_kernel_dim", 0.7, 1, 2, 3, 4, 8, 9)
    d.put(config, "linear_allow_neg_eigval", 0.5, True, False)
    d.put(config, "attention_bias", 0.4, True, False)
    if d.chance(0.3):
        config["rope_theta"] = None
        if d.chance(0.5):
            (config.get("rope_parameters") or {}).pop("rope_theta", None)
    elif d.chance(0.2) and config.get("rope_parameters"):
        config["rope_parameters"]["rope_theta"] = None
    d.put(config, "linear_a_log_max", 0.2, 4.0)
    return config


def draw_granitemoehybrid(d, layers, length):
    config = multipliers(d, mamba(d, grouped(d, length)))
    kinds = d.pick(("linear_attention", "full_attention"), ("mamba", "attention"))
    d.put(config, "layer_types", 0.8, [d.pick(*kinds) for _ in range(layers)], None)
    d.put(config, "position_embedding_type", 0.7, "rope", "rope", "nope", None)
    config["shared_intermediate_size"] = d.whole(3, 20)
    config["num_local_experts"] = d.pick(0, 0, 1, 3, 5)
    config["num_experts_per_tok"] = d.whole(1, max(1, config["num_local_experts"]))
    return config


def draw_nemotron_h(d, layers, length):
    config = grouped(d, length)
    for key in ("rms_norm_eps", "hidden_act", "rope_theta", "rope_scaling", "rope_parameters", "partial_rotary_factor"):
        config.pop(key, None)
    config["head_dim"] = config.get("head_dim") or d.pick(4, 8)
    layers = d.whole(1, 5)
    letters = "".join(d.pick("M", "M", "*", "-", "E") for _ in range(layers))
    kinds = {"M": d.pick("linear_attention", "mamba"), "*": d.pick("full_attention", "attention"), "-": "mlp", "E": "moe"}
    if d.chance(0.5):
        config["hybrid_override_pattern"] = letters
        config["num_hidden_layers"] = layers
    else:
        config[d.pick("layers_block_type", "layer_types")] = [kinds[letter] for letter in letters]
        config["num_hidden_layers"] = layers
    heads = config["mamba_num_heads"] = d.whole(1, 6)
    config["mamba_head_dim"] = d.pick(1, 2, 5, 8)
    config["n_groups"] = d.pick(*[n for n in range(1, heads + 1) if heads % n == 0]) if d.chance(0.95) else heads + 1
    config["ssm_state_size"] = d.pick(1, 3, 8, 16)
    d.put(config, d.pick("conv_kernel", "mamba_d_conv"), 0.7, 1, 2, 3, 4, 8)
    d.put(config, d.pick("use_conv_bias", "mamba_conv_bias"), 0.6, True, False)
    d.put(config, d.pick("time_step_min", "mamba_dt_min"), 0.6, 0.001, 0.3, 0.7)
    d.put(config, "use_bias", 0.6, True, False)
    d.put(config, "mlp_bias", 0.6, True, False)
    d.put(config, "mlp_hidden_act", 0.5, d.activation())
    d.put(config, "mamba_hidden_act", 0.5, d.activation())
    d.put(config, "layer_norm_epsilon", 0.7, d.epsilon())
    d.put(config, "expand", 0.3, 1, 3)
    d.put(config, "time_step_limit", 0.3, [0.0, 0.2])
    d.put(config, "attention_bias", 0.1, True, False)
    d.put(config, "moe_latent_size", 0.5, None, 1, 5, 9, 20)
    groups = d.pick(1, 1, 2, 3)
    config["n_routed_experts"] = groups * d.whole(2, 4)
    d.put(config, "n_group", 1.0 if groups > 1 else 0.3, groups)
    chosen = config["topk_group"] = d.whole(1, groups)
    config["num_experts_per_tok"] = d.whole(1, chosen * (config["n_routed_experts"] // groups))
    config["moe_intermediate_size"] = d.whole(3, 20)
    config["moe_shared_expert_intermediate_size"] = d.whole(2, 20)
    d.put(config, "norm_topk_prob", 0.5, True, False)
    d.put(config, "routed_scaling_factor", 0.5, 0.5, 2.5)
    return config


def draw_falcon_h1(d, layers, length):
    config = grouped(d, length)
    heads, size = d.whole(1, 6), d.pick(2, 4, 6, 7)
    config.update({"mamba_n_heads": heads, "mamba_d_ssm": heads * size if d.chance(0.97) else heads * size + 1, "mamba_d_state": d.pick(1, 3, 8, 16)})
    config["mamba_n_groups"] = d.pick(*[n for n in range(1, heads + 1) if heads % n == 0]) if d.chance(0.95) else heads + 1
    d.put(config, "mamba_d_head", 0.6, size, "auto")
    if d.chance(0.3):
        config["mamba_expand"] = d.pick(1, 2, 3)
        config["mamba_d_ssm"] = None
        config["mamba_n_heads"] = config["mamba_n_groups"] = d.pick(*[n for n in range(1, 9) if config["mamba_expand"] * config["hidden_size"] % n == 0])
        config["mamba_d_head"] = "auto"
    d.put(config, "mamba_d_conv", 0.7, 1, 2, 3, 4, 8, 9)
    for key in ("mamba_conv_bias", "mamba_proj_bias", "projectors_bias", "attention_bias", "mlp_bias", "mamba_rms_norm", "mamba_norm_before_gate"):
        d.put(config, key, 0.5, True, False)
    for key in ("embedding_multiplier", "lm_head_multiplier", "attention_in_multiplier", "attention_out_multiplier", "key_multiplier", "ssm_in_multiplier", "ssm_out_multiplier"):
        d.put(config, key, 0.5, 1.0, d.real(0.2, 3), -0.5)
    d.put(config, "ssm_multipliers", 0.6, [d.real(0.3, 2) for _ in range(5)], None)
    d.put(config, "mlp_multipliers", 0.6, [d.real(0.3, 2), d.real(0.3, 2)], None)
    d.put(config, "time_step_limit", 0.5, [0.0, float("inf")], [0.1, 1.0], [0.5, float("inf")], [0.0, 0.7])
    d.put(config, "mamba_chunk_size", 0.3, 1, 7, 256)
    return config


def draw_zamba2(d, layers, length):
    config = grouped(d, length)
    config.pop("head_dim", None)
    heads = config["num_attention_heads"]
    if d.chance(0.7):       # adapters are for as many
        config["num_key_value_heads"] = d.pick(heads, None)
    config["hidden_size"] = heads * d.pick(2, 3, 4) if d.chance(0.95) else heads * 2 + 1
    if d.chance(0.1):
        del config["intermediate_size"]
    kinds = [d.pick("mamba", "linear_attention") if d.chance(0.5) else "hybrid" for _ in range(d.whole(1, 6))]
    config["num_hidden_layers"] = len(kinds)
    config["layers_block_type"] = kinds
    expand = d.pick(1, 2, 3)
    inner = expand * config["hidden_size"]
    state_heads = d.pick(*[n for n in range(1, 9) if inner % n == 0]) if d.chance(0.97) else 5
    config.update({"mamba_expand": expand, "n_mamba_heads": state_heads, "mamba_d_state": d.pick(1, 3, 8, 16)})
    config["mamba_ngroups"] = d.pick(*[n for n in range(1, state_heads + 1) if state_heads % n == 0]) if d.chance(0.95) else state_heads + 1
    d.put(config, "mamba_d_conv", 0.7, 1, 2, 3, 4, 8, 9)
    d.put(config, "time_step_min", 0.6, 0.001, 0.3, 0.7)
    d.put(config, "num_mem_blocks", 0.8, 1, 2, 3)
    config["adapter_rank"] = d.whole(1, 5)
    for key in ("add_bias_linear", "use_mem_rope", "use_shared_attention_adapter"):
        d.put(config, key, 0.7, True, False)
    for key in ("use_conv_bias", "use_mem_eff_path", "use_mamba_kernels", "use_long_context"):
        d.put(config, key, 0.05 if key == "use_long_context" else 0.3, True, False)
    d.put(config, "chunk_size", 0.3, 1, 7, 256)
    d.put(config, "mamba_headdim", 0.1, inner // state_heads)
    d.put(config, "attention_head_dim", 0.1, 2 * config["hidden_size"] // heads)
    d.put(config, "hybrid_layer_ids", 0.1, [layer for layer, kind in enumerate(kinds) if kind == "hybrid"])
    return config


def draw_mamba2(d, layers, length):
    heads, size, expand = d.whole(1, 6), d.pick(2, 4, 6, 7, 8), d.pick(1, 2, 3)
    while heads * size % expand:
        expand -= 1
    config = {"num_heads": heads, "head_dim": size, "expand": expand, "hidden_size": heads * size // expand}
    if d.chance(0.05):
        config["hidden_size"] += 1
    config["n_groups"] = d.pick(*[n for n in range(1, heads + 1) if heads % n == 0]) if d.chance(0.95) else heads + 1
    config["state_size"] = d.pick(1, 3, 8, 16, 20)
    d.put(config, "conv_kernel", 0.7, 1, 2, 3, 4, 8, 9)
    d.put(config, "use_bias", 0.6, True, False)
    d.put(config, "use_conv_bias", 0.6, True, False)
    d.put(config, "hidden_act", 0.5, d.activation())
    d.put(config, "layer_norm_epsilon", 0.7, d.epsilon())
    d.put(config, "time_step_limit", 0.6, [0.0, float("inf")], [0.1, 1.0], [0.5, float("inf")], [0, 0.7], [0.3, 0.3])
    d.put(config, "tie_word_embeddings", 0.5, True, False)
    d.put(config, "residual_in_fp32", 0.3, True, False)
    d.put(config, "chunk_size", 0.3, 1, 7, 256)
    d.put(config, "time_step_rank", 0.2, "auto", 3)
    d.put(config, "time_step_min", 0.2, 0.01)
    d.put(config, "rescale_prenorm_residual", 0.2, True, False)
    return config


def draw_minimax(d, layers, length):
    config = put_experts(d, grouped(d, length), layers, d.pick("num_local_experts", "num_experts"))
    config["num_key_value_heads"] = config.get("num_key_value_heads") or config["num_attention_heads"]
    d.put(config, "layer_types", 0.7, [d.pick("linear_attention", "linear_attention", "full_attention") for _ in range(layers)], None)
    if (config.get("rope_parameters") or config.get("rope_scaling") or {}).get("rope_type", "default") != "default":      # transformers needs it then
        config["head_dim"] = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    d.put(config, "block_size", 0.8, 1, 3, 7, 16)
    d.put(config, "sliding_window", 0.3, 1, 3, 8, 30, None)
    for kind in ("full_attn", "linear_attn", "mlp"):
        d.put(config, f"{kind}_alpha_factor", 0.7, d.real(0.3, 4), 1, 3.5565588200778455)
        d.put(config, f"{kind}_beta_factor", 0.6, d.real(0.3, 2), 1, -0.5)
    return config


def draw_lara_mini(d, layers, length):
    config = with_experts(d, delta(d, layers, length))
    config.pop("full_attention_interval", None)
    config["num_key_value_heads"] = config.get("num_key_value_heads") or config["num_attention_heads"]
    if config.get("layer_types"):
        config["layer_types"] = [kind if kind == "linear_attention" else d.pick("full_attention", "sliding_attention") for kind in config["layer_types"]]
    d.put(config, "sliding_window", 0.7, 1, 3, 8, 30)
    d.put(config, "norm_topk_prob", 0.5, True, False)
    return config
