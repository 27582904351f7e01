"""What random configurations are made of: the generator with its choices, and the settings that several families share."""

import zlib

import numpy as np

ORDINARY_ACTIVATIONS = ("gelu", "gelu_new", "gelu_pytorch_tanh", "relu", "silu")
OTHER_ACTIVATIONS = ("gelu_fast", "gelu_python", "gelu_accurate", "quick_gelu", "swish", "mish", "tanh", "sigmoid", "relu2", "linear", "relu6", "laplace")


class Draw:
    """A generator with the choices that configurations are made of."""

    def __init__(self, seed, family, number):
        self.rng = np.random.default_rng([seed, zlib.crc32(family.encode()), number])

    def chance(self, p):
        return bool(self.rng.random() < p)

    def pick(self, *values):
        return values[int(self.rng.integers(len(values)))]

    def whole(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def real(self, low, high):
        return round(float(self.rng.uniform(low, high)), 4)

    def put(self, config, key, p, *values):
        """With probability p: config[key] = one of the values."""
        if self.chance(p):
            config[key] = self.pick(*values)

    def activation(self):
        return self.pick(*(ORDINARY_ACTIVATIONS if self.chance(0.9) else OTHER_ACTIVATIONS))

    def epsilon(self):
        return self.pick(1e-5, 1e-6, 1e-3, 3e-2, 1e-12, 1.0)


def put_rope(d, config, length, theta="rope_theta", fraction="partial_rotary_factor", partial=0.0, plain=False):
    """Rotary settings in one of their spellings. `theta`, `fraction`: their names at the top level. `partial`: chance of a fraction below 1."""
    scaling = {}
    kind = "default" if plain else d.pick("default", "default", "default", "linear", "dynamic", "llama3", "yarn", "yarn")
    kind = "longrope" if d.chance(0.01) else kind
    if kind != "default":
        scaling["factor"] = d.pick(2, 2.0, 4.0, 1.0, d.real(1, 8))
    if kind == "llama3":
        scaling.update(low_freq_factor=d.pick(1.0, 1, 0.5), high_freq_factor=d.pick(4.0, 2.5), original_max_position_embeddings=d.pick(8, 16, 64))
    if kind == "yarn":
        d.put(scaling, "original_max_position_embeddings", 0.7, 8, 16, 40)
        d.put(scaling, "beta_fast", 0.3, 32, 6.0, 3)
        d.put(scaling, "beta_slow", 0.3, 1, 0.5, 2.0)
        d.put(scaling, "attention_factor", 0.3, 1.3, 0.7, None)
        d.put(scaling, "mscale", 0.3, 1.0, 0.7, 0)
        d.put(scaling, "mscale_all_dim", 0.3, 1.0, 0.4, 0)
        d.put(scaling, "truncate", 0.3, True, False)
    if kind in ("yarn", "llama3"):
        d.put(config, "original_max_position_embeddings", 0.15, 8, 20)
    if kind == "longrope":
        scaling.update(short_factor=[1.0], long_factor=[2.0])
    names = d.pick(("rope_type",), ("rope_type",), ("type",), ("rope_type", "type"))
    if kind != "default" or d.chance(0.5):
        scaling.update({name: kind for name in names})
    base = d.pick(10000.0, 10000, 1000000.0, 500.0, 50, d.real(20, 3000))
    if d.chance(0.85):
        where = d.pick("top", "inside", "inside", "both")
        if where in ("top", "both"):
            config[theta] = base
        if where in ("inside", "both"):
            scaling["rope_theta"] = base if where == "inside" else d.pick(700.0, base)
    if d.chance(partial):
        part = d.pick(0.25, 0.5, 0.5, 0.75, 1.0, 1.0, d.real(0.3, 1))
        where = d.pick("top", "inside", "both")
        if where in ("top", "both"):
            config[fraction] = part
        if where in ("inside", "both"):
            scaling["partial_rotary_factor"] = part if where == "inside" else d.pick(0.5, part)
    if scaling or d.chance(0.1):
        config[d.pick("rope_parameters", "rope_parameters", "rope_scaling")] = scaling
    elif d.chance(0.5):
        config[d.pick("rope_parameters", "rope_scaling")] = None
    if "rope_scaling" not in config:
        d.put(config, "rope_scaling", 0.15, None)
    if d.chance(0.03):
        config["rope_scaling"] = {"type": "linear", "factor": 2.0}       # beside rope_parameters
    config["max_position_embeddings"] = d.pick(length, length - 4, 64, 2048)


def grouped(d, length, loose=False):
    """What Llama and its relatives share. `loose`: the family checks no sizes where head_dim is given."""
    kv = d.pick(1, 1, 2, 3)
    heads, size = kv * d.pick(1, 2, 3), d.pick(2, 4, 6, 8)
    config = {"hidden_size": heads * size, "intermediate_size": d.whole(5, 40), "num_attention_heads": heads}
    if d.chance(0.4):
        config["head_dim"] = d.pick(2, 4, 6, 10, 12)
        if loose and d.chance(0.3):
            config["hidden_size"] = d.whole(5, 24)       # no multiple of the heads
    elif d.chance(0.3):
        config["head_dim"] = size
    if kv != heads or d.chance(0.7):
        config["num_key_value_heads"] = kv
    elif d.chance(0.1):
        config["num_key_value_heads"] = None
    d.put(config, "hidden_act", 0.7, d.activation(), "silu")
    d.put(config, "rms_norm_eps", 0.7, d.epsilon())
    d.put(config, "tie_word_embeddings", 0.7, True, False)
    put_rope(d, config, length, partial=0.02)
    return config


def put_window(d, config, layers):
    d.put(config, "use_sliding_window", 0.7, True, True, False)
    d.put(config, "sliding_window", 0.8, 1, 3, 5, 8, 30, None)
    d.put(config, "max_window_layers", 0.7, 0, 1, 2, layers, 28)
    d.put(config, "layer_types", 0.3, [d.pick("full_attention", "sliding_attention") for _ in range(layers)], None)


def biased(d, config, *keys):
    for key in keys:
        d.put(config, key, 0.6, True, False)
    return config


def layered(config, epsilon):
    """rms_norm_eps by another name."""
    if "rms_norm_eps" in config:
        config[epsilon] = config.pop("rms_norm_eps")
    return config


def sized(d, config, p=0.95):
    """head_dim mostly there, where its default is a large model's."""
    if not config.get("head_dim") and d.chance(p):
        config["head_dim"] = d.pick(2, 4, 6, 8)
    config["num_key_value_heads"] = config.get("num_key_value_heads") or config["num_attention_heads"]
    return config


def put_layer_types(d, config, layers, p=0.4):
    d.put(config, "layer_types", p, [d.pick("full_attention", "sliding_attention") for _ in range(layers)], None)


def put_kinds(d, config, local):
    """Rotary settings by kind of layers, in one of their spellings, in place of those of all layers."""
    flat = {key: config.pop(key) for key in ("rope_parameters", "rope_scaling", "rope_theta", "partial_rotary_factor", "original_max_position_embeddings") if key in config}
    found = flat.get("rope_scaling") or flat.get("rope_parameters") or {}
    if d.chance(0.4):
        d.put(config, "rope_theta", 0.7, 500.0, 3000)
        if local:
            d.put(config, local, 0.7, 50.0, 300)
        d.put(config, "rope_scaling", 0.5, found, None)
    else:
        config["rope_parameters"] = {}
        d.put(config["rope_parameters"], "full_attention", 0.8, found, None)
        d.put(config["rope_parameters"], "sliding_attention", 0.8, {"rope_type": "default", "rope_theta": 70.0}, {"rope_type": "linear", "factor": 3.0}, {"type": "default"})


def put_sections(d, config, rotated, named=0.0):
    """Sections of the rotated dimensions' pairs for the three coordinates of images, beside the other rotary settings. `named`: chance of a type of that name."""
    pairs = -(-rotated // 2)
    first, second = sorted((d.whole(0, pairs), d.whole(0, pairs)))
    found = [key for key in ("rope_parameters", "rope_scaling") if config.get(key)]
    settings = config[found[-1]] if found else config.setdefault("rope_parameters", {}) or {}
    if not found:
        config["rope_parameters"] = settings
    settings["mrope_section"] = [first, second - first, pairs - second]
    if d.chance(named):
        settings.update(type="mrope")
        settings.pop("rope_type", None)
        for key in [key for key in settings if key not in ("type", "mrope_section", "rope_theta", "partial_rotary_factor")]:
            del settings[key]


def put_experts(d, config, layers, count="num_experts", some=False):
    """Experts, of which all may be chosen. `some`: in some layers alone."""
    config[count] = d.whole(1, 7)
    config["num_experts_per_tok"] = d.pick(1, config[count], d.whole(1, config[count]))
    d.put(config, "output_router_logits", 0.2, False, True)
    d.put(config, "router_aux_loss_coef", 0.2, 0.01)
    if some:
        config["moe_intermediate_size"] = d.whole(3, 20)
        d.put(config, "norm_topk_prob", 0.6, True, False)
        d.put(config, "decoder_sparse_step", 0.4, 1, 2, 3)
        d.put(config, "mlp_only_layers", 0.4, [d.whole(0, layers)], [], None)
    return config


def put_groups(d, config, count):
    """Experts in groups, sometimes."""
    if d.chance(0.5):
        config["n_group"] = d.pick(1, 2, 3)
        config["topk_group"] = d.whole(1, config["n_group"])
        size = d.pick(2, 2, 3, 4)
        config[count] = config["n_group"] * size
        config["num_experts_per_tok"] = d.whole(1, config["topk_group"] * size)
    d.put(config, "routed_scaling_factor", 0.6, 1.0, 2.5, 0.7)
    d.put(config, "norm_topk_prob", 0.6, True, False)


def put_kinds_of_mlp(d, config, layers, p=0.5):
    d.put(config, "mlp_layer_types", p, [d.pick("dense", "sparse") for _ in range(layers)], None)


def multipliers(d, config):
    for key in ("embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling"):
        d.put(config, key, 0.6, 0.3, 1.0, 2.5)
    return config
