"""Random configurations of families whose layers attend or convolve (random_configurations.py)."""

from random_settings import grouped, layered


def convolving(d, layers, length, p):
    """What LFM2 and its relative share; layer_types with probability p."""
    config = layered(grouped(d, length), "norm_eps")
    config["num_key_value_heads"] = config.get("num_key_value_heads") or config["num_attention_heads"]
    if d.chance(p):
        config["layer_types"] = [d.pick("conv", "conv", "full_attention") for _ in range(layers)]
    d.put(config, "conv_L_cache", 0.7, 1, 2, 3, 4, 8, 9)
    d.put(config, "conv_bias", 0.6, True, False)
    d.put(config, "tie_embedding", 0.2, True, False)
    d.put(config, "block_norm_eps", 0.1, 1e-5)
    d.put(config, "theta", 0.1, 1000000.0)
    return config


def draw_lfm2(d, layers, length):
    config = convolving(d, layers, length, 0.7)
    if "layer_types" not in config or d.chance(0.2):
        d.put(config, "full_attn_idxs", 0.8, [], [d.whole(0, layers)], list(range(layers)), None)
    d.put(config, "block_auto_adjust_ff_dim", 0.6, True, False)
    d.put(config, "block_ffn_dim_multiplier", 0.6, 1.0, 0.7, 1.3, 2)
    d.put(config, "block_multiple_of", 0.8, 1, 3, 8)
    d.put(config, "block_ff_dim", 0.2, d.whole(5, 40))
    return config


def draw_lfm2_moe(d, layers, length):
    config = convolving(d, layers, length, 0.97)
    config["num_experts"] = d.whole(1, 7)
    config["num_experts_per_tok"] = d.pick(1, config["num_experts"], d.whole(1, config["num_experts"]))
    config["moe_intermediate_size"] = d.whole(3, 20)
    for key, *values in (("num_dense_layers", 0, 1, 2), ("use_expert_bias", True, False), ("norm_topk_prob", True, False), ("routed_scaling_factor", 1.0, 2.5)):
        d.put(config, key, 0.7, *values)
    return config
