"""Random configurations of families whose layers are recurrences (random_configurations.py)."""


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
