"""Random configurations of families whose layers are scans (random_configurations.py)."""

from random_settings import grouped


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
