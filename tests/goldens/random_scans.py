"""Random configurations of families whose layers are scans or time mixing (random_configurations.py)."""

from random_settings import grouped, put_rope


def draw_mamba(d, layers, length):
    config = {"hidden_size": d.whole(1, 40), "expand": d.pick(1, 2, 3), "state_size": d.pick(1, 2, 3, 8, 16, 20)}
    d.put(config, "intermediate_size", 0.3, d.whole(1, 60))
    d.put(config, "time_step_rank", 0.7, "auto", 1, 2, 5)
    d.put(config, "conv_kernel", 0.7, 1, 2, 3, 4, 8, 9)
    d.put(config, "use_bias", 0.6, True, False)
    d.put(config, "use_conv_bias", 0.6, True, False)
    d.put(config, "hidden_act", 0.5, d.activation())
    d.put(config, "layer_norm_epsilon", 0.7, d.epsilon())
    d.put(config, "tie_word_embeddings", 0.5, True, False)
    d.put(config, "residual_in_fp32", 0.3, True, False)
    d.put(config, "time_step_min", 0.2, 0.01)
    d.put(config, "time_step_scale", 0.2, 2.0)
    d.put(config, "rescale_prenorm_residual", 0.2, True, False)
    d.put(config, "use_mambapy", 0.2, True, False)
    return config


def draw_falcon_mamba(d, layers, length):
    config = draw_mamba(d, layers, length)
    d.put(config, "mixer_rms_eps", 0.6, 1e-6, 0.01, 1.0)
    return config


def draw_jamba(d, layers, length):
    config = grouped(d, length)
    for key in ("rope_theta", "rope_scaling", "rope_parameters", "partial_rotary_factor", "head_dim"):
        config.pop(key, None)
    config["hidden_size"] = config["num_attention_heads"] * d.pick(2, 4, 6)
    for what, most in (("attn", 4), ("expert", 3)):
        period = d.whole(1, most)
        d.put(config, what + "_layer_period", 0.9, period)
        config[what + "_layer_offset"] = d.whole(0, period - 1) if d.chance(0.95) else period
    config["num_experts"] = d.pick(1, 2, 3, 5)
    config["num_experts_per_tok"] = d.whole(1, config["num_experts"])
    config["mamba_d_state"] = d.pick(1, 2, 3, 8, 16, 20)
    config["mamba_expand"] = d.pick(1, 2, 3)
    d.put(config, "mamba_dt_rank", 0.7, "auto", 1, 2, 5)
    d.put(config, "mamba_d_conv", 0.7, 1, 2, 3, 4, 8, 9)
    d.put(config, "mamba_conv_bias", 0.6, True, False)
    d.put(config, "mamba_proj_bias", 0.6, True, False)
    d.put(config, "use_mamba_kernels", 0.3, True, False)
    d.put(config, "router_aux_loss_coef", 0.2, 0.01)
    return config


def draw_recurrent_gemma(d, layers, length):
    config = grouped(d, length)
    for key in ("rope_theta", "rope_scaling", "rope_parameters", "partial_rotary_factor", "hidden_act", "max_position_embeddings"):
        config.pop(key, None)
    put_rope(d, config, length, partial=0.5, plain=d.chance(0.95))
    heads = config["num_attention_heads"]
    d.put(config, "head_dim", 0.8, 4, 8, 12)     # half of it is turned
    d.put(config, "lru_width", 0.6, heads * d.pick(1, 2, 3, 5), heads * 2 + 1 if d.chance(0.1) else heads, None)
    d.put(config, "block_types", 0.8, ["recurrent"], ["recurrent", "attention"], ["attention", "recurrent", "recurrent"], ["recurrent", "recurrent", "attention"], ["attention"])
    d.put(config, "attention_window_size", 0.8, 1, 3, 6, 2048)
    d.put(config, "sliding_window", 0.1, 2, 5)
    d.put(config, "conv1d_width", 0.7, 1, 2, 3, 4, 8, 9)
    d.put(config, "logits_soft_cap", 0.7, 30.0, 2.5, 0.3)
    d.put(config, "hidden_activation", 0.6, d.activation(), "gelu_pytorch_tanh")
    d.put(config, "attention_bias", 0.6, True, False)
    d.put(config, "w_init_variance_scale", 0.2, 0.02)
    d.put(config, "final_w_init_variance_scale", 0.2, 0.5)
    d.put(config, "embeddings_scale_by_sqrt_dim", 0.2, True)
    return config


def draw_zamba(d, layers, length):
    config = grouped(d, length)
    for key in ("rope_theta", "rope_scaling", "rope_parameters", "partial_rotary_factor", "head_dim"):
        config.pop(key, None)
    heads = config["num_attention_heads"]
    config["num_key_value_heads"] = config.get("num_key_value_heads") or heads
    config["hidden_size"] = heads * d.pick(2, 3, 4) if d.chance(0.95) else heads * 2 + 1
    if d.chance(0.8):
        kinds = [d.pick("mamba", "linear_attention") if d.chance(0.5) else "hybrid" for _ in range(d.whole(1, 5))]
        config["num_hidden_layers"] = len(kinds)
        config["layers_block_type"] = kinds
    else:
        config["num_hidden_layers"] = d.whole(3, 7)
        period = d.whole(1, 4)
        config.update(attn_layer_period=period, attn_layer_offset=d.whole(0, period - 1))
    expand = d.pick(1, 2, 3)
    inner = expand * config["hidden_size"]
    config["mamba_expand"] = expand
    config["n_mamba_heads"] = d.pick(*[n for n in range(1, 9) if inner % n == 0]) if d.chance(0.97) else 5
    config["mamba_d_state"] = d.pick(1, 2, 3, 8, 16, 20)
    d.put(config, "mamba_dt_rank", 0.7, "auto", 1, 2, 5)
    d.put(config, "mamba_d_conv", 0.7, 1, 2, 3, 4, 8, 9)
    d.put(config, "mamba_conv_bias", 0.6, True, False)
    d.put(config, "mamba_proj_bias", 0.6, True, False)
    d.put(config, "hidden_mamba_act", 0.5, d.activation(), "silu")
    d.put(config, "use_mamba_kernels", 0.3, True, False)
    d.put(config, "use_associative_scan", 0.3, True, False)
    d.put(config, "time_step_min", 0.2, 0.01)
    d.put(config, "num_logits_to_keep", 0.2, 1, 0)
    d.put(config, "attention_hidden_size", 0.1, 2 * config["hidden_size"], None)
    d.put(config, "attention_head_dim", 0.1, 2 * config["hidden_size"] // heads, None)
    return config


def draw_rwkv(d, layers, length):
    config = {"hidden_size": d.whole(4, 40), "num_hidden_layers": layers + 1}      # the library fails with one
    d.put(config, "attention_hidden_size", 0.7, None, d.whole(1, 70))
    d.put(config, "intermediate_size", 0.7, None, d.whole(1, 80))
    d.put(config, "rescale_every", 0.8, 0, -1, 1, 2, 3, 6)
    d.put(config, "layer_norm_epsilon", 0.7, d.epsilon())
    d.put(config, d.pick("context_length", "max_position_embeddings"), 0.6, length, 1024, 8)
    d.put(config, "tie_word_embeddings", 0.5, True, False)
    return config
