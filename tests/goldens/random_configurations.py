#!/usr/bin/env python3
"""Random configurations of the families that transformers runs too: `reach erf` against transformers in float64.

    python3 tests/goldens/random_configurations.py --reach build/gcc/reach --count 500
    python3 tests/goldens/random_configurations.py --family qwen2 mpt --seed 7 --only 12 --keep /tmp/case

Each configuration is a config.json as people write them: sizes, options away from their defaults, older and newer spellings, keys left
out, null, unknown keys. transformers reads it, and what transformers makes of it is the truth; half of them stay as save_pretrained
writes them afterwards. Weights are random. Verdicts:

    exact      log p within 1e-9, every norm ||d log p / d e_m|| within 1e-7 of the largest
    refused    exit status 1 with one line that says why
    fails      transformers itself does not read or run it, or gives what is not finite
    WRONG      anything else

It ends with the counts, and exit status 1 if any is WRONG. Runs by hand, not in `make check`; needs PyTorch, transformers, h5py.
"""

import argparse
import collections
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zlib

import h5py
import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file

from family_cases import as_baichuan, as_baichuan2_13b, as_exaone, as_internlm2
from make_goldens import RefuseNarrow, Widen, random_weight

FAMILIES = ("arcee", "aria_text", "baichuan", "baichuan2", "biogpt", "bloom", "cohere", "cohere2", "ctrl", "cwm", "dbrx", "dots1", "ernie4_5_moe", "exaone", "exaone4", "exaone_moe", "falcon", "flex_olmo", "flint", "gemma2",
            "gemma3_text", "glm4", "glm4_moe", "gpt2", "gpt_neox", "gpt_neox_japanese", "gpt_oss", "gptj", "granite_swa", "granitemoe", "granitemoe_swa",
            "granitemoeshared", "hunyuan_v1_dense", "hunyuan_v1_moe", "hy_v3", "hyperclovax", "internlm2", "internlm3", "iquestcoder", "jais2", "llama", "mellum", "minimax_m2",
            "ministral", "ministral3", "mistral", "mixtral", "mpt", "nanochat", "nemotron", "olmo", "olmo2", "olmo3", "olmoe", "openai-gpt", "opt", "persimmon",
            "phi", "phi3", "phimoe", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "seed_oss", "smollm3", "solar_open", "stablelm", "vaultgemma", "xglm")
# families whose code is not in transformers: a Llama with their mathematics, and what writes it in their names
FROM_LLAMA = {"baichuan": (None, as_baichuan({"architectures": ["BaiChuanForCausalLM"]}, True)),
              "baichuan2": (as_baichuan2_13b, as_baichuan({"architectures": ["BaichuanForCausalLM"], "model_max_length": 128, "z_loss_weight": 0}, False)),
              "exaone": (None, as_exaone), "internlm2": (None, as_internlm2)}
QK_GAIN = 1.5       # on top of that of random_weight: 3 in all
LOGP_ERROR, NORM_ERROR = 1e-9, 1e-7
ORDINARY_ACTIVATIONS = ("gelu", "gelu_new", "gelu_pytorch_tanh", "relu", "silu")
OTHER_ACTIVATIONS = ("gelu_fast", "gelu_python", "gelu_accurate", "quick_gelu", "swish", "mish", "tanh", "sigmoid", "relu2", "linear", "relu6", "laplace")


# --- drawing a configuration --------------------------------------------------------------------

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


def divisors(n):
    return [k for k in range(1, n + 1) if n % k == 0]


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
    for key in ("embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling"):
        d.put(config, key, 0.6, 0.3, 1.0, 2.5)
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
    for key in ("embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling"):
        d.put(config, key, 0.6, 0.3, 1.0, 2.5)
    return biased(d, config, "attention_bias")


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
    config = grouped(d, length)
    for key in ("embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling"):
        d.put(config, key, 0.6, 0.3, 1.0, 2.5)
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


# what published files have beside the keys that matter
PUBLISHED = {
    "bloom": {"attention_softmax_in_fp32": True, "masked_softmax_fusion": True, "skip_bias_add": True, "skip_bias_add_qkv": False, "bias_dropout_fusion": True,
              "unk_token_id": 0, "offset_alibi": 100, "seq_length": 2048},
    "falcon": {"apply_residual_connection_post_layernorm": False, "auto_map": {"AutoConfig": "configuration_falcon.FalconConfig"}, "hidden_dropout": 0.0},
    "gemma2": {"cache_implementation": "hybrid", "hidden_act": "gelu_pytorch_tanh", "attention_dropout": 0.0},
    "gpt2": {"n_ctx": 64, "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}}, "summary_activation": None,
             "summary_first_dropout": 0.1, "summary_proj_to_labels": True, "summary_type": "cls_index", "summary_use_proj": True},
    "gpt_neox": {"classifier_dropout": 0.1, "hidden_dropout": 0.0},
    "gptj": {"rotary": True, "scale_attn_weights": True, "gradient_checkpointing": False, "tokenizer_class": "GPT2Tokenizer",
             "task_specific_params": {"text-generation": {"temperature": 1.0}}},
    "llama": {"pretraining_tp": 1, "max_sequence_length": 2048, "attention_dropout": 0.0},
    "mistral": {"attention_dropout": 0.0},
    "mpt": {"embedding_fraction": 1.0, "emb_pdrop": 0, "resid_pdrop": 0, "init_device": "cpu", "learned_pos_emb": True, "no_bias": True, "verbose": 0,
            "init_config": {"name": "kaiming_normal_", "init_nonlinearity": "relu"}, "tokenizer_name": "EleutherAI/gpt-neox-20b"},
    "opt": {"prefix": "</s>", "activation_dropout": 0.0, "layerdrop": 0.0, "init_std": 0.02},
    "phi": {"embd_pdrop": 0.0, "resid_pdrop": 0.1, "attention_dropout": 0.0},
    "qwen2": {"use_mrope": False, "attention_dropout": 0.0},
    "qwen3": {"attention_dropout": 0.0},
}
MODEL_KEYS = {"gpt2": "n_layer", "openai-gpt": "n_layer", "ctrl": "n_layer", "gptj": "n_layer", "bloom": "n_layer", "mpt": "n_layers", "dbrx": "n_layers", "xglm": "num_layers"}
ALIASES = {"gpt2": {"n_embd": "hidden_size", "n_head": "num_attention_heads", "n_layer": "num_hidden_layers", "n_positions": "max_position_embeddings"},
           "gptj": {"n_embd": "hidden_size", "n_head": "num_attention_heads", "n_layer": "num_hidden_layers", "n_positions": "max_position_embeddings"},
           "mpt": {"d_model": "hidden_size", "n_heads": "num_attention_heads", "n_layers": "num_hidden_layers"},
           "bloom": {"n_layer": "num_hidden_layers"}}


def draw_configuration(d, family, length):
    """A config.json as an object."""
    layers, drawn = d.whole(1, 3), {}
    while max(drawn.get(key, 0) for key in ("hidden_size", "n_embd", "n_embed", "d_model")) < 4:      # a layer norm of two values leaves no gradient
        drawn = globals()["draw_" + family.replace("-", "_")](d, layers, length)
    config = {"model_type": "llama" if family in FROM_LLAMA else family, "vocab_size": d.whole(11, 60), MODEL_KEYS.get(family, "num_hidden_layers"): layers, **drawn}
    if d.chance(0.1):
        for name, other in ALIASES.get(family, {}).items():
            if name in config:
                config[other] = config.pop(name)
    if d.chance(0.2):
        config = {**PUBLISHED.get(family, {}), **config}
    config.setdefault("bos_token_id", d.pick(0, 1, None))
    config.setdefault("eos_token_id", d.pick(0, 2, None, [1, 2]))
    d.put(config, "pad_token_id", 0.3, 0, None)
    if family in ("aria_text", "glm4", "smollm3", "phi3", "ministral3", "olmo", "olmo2", "olmo3", "olmoe", "cohere", "cohere2", "flex_olmo", "exaone_moe") and d.chance(0.95):        # a large id by default
        config.setdefault("pad_token_id", 0)
    if family == "cwm":
        config["bos_token_id"] = config.get("bos_token_id") or 0
    d.put(config, "use_cache", 0.3, True, False)
    d.put(config, "torch_dtype", 0.3, "float32", "bfloat16")
    d.put(config, "attention_dropout", 0.1, 0.1, 0.0)
    d.put(config, "initializer_range", 0.3, 0.02)
    d.put(config, "_name_or_path", 0.1, "somewhere/model")
    d.put(config, "is_causal", 0.02, True, False)
    d.put(config, "is_decoder", 0.05, True)
    d.put(config, "architectures", 0.2, [], ["SomeForCausalLM"])
    d.put(config, "an_unknown_key", 0.05, 1, None, {"a": [1]}, 10 ** 30, float("inf"))
    if d.chance(0.04):
        key = d.pick(*[key for key in config if key not in ("model_type", "vocab_size")])
        config[key] = None
    return config


# --- transformers -------------------------------------------------------------------------------

def random_state(model, stored, rng):
    """Values of every parameter (a tied one once), rounded to the stored type."""
    state, corrections = {}, [(name, buffer) for name, buffer in model.named_buffers() if name.endswith("e_score_correction_bias")]
    for name, parameter in sorted([*model.named_parameters(), *corrections]):
        value = random_weight(name, tuple(parameter.shape), model.config, rng)
        if value.dim() == 2 and re.search(r"(q_proj|k_proj|c_attn|Wqkv|query_key_value)\.weight$", name):
            value = value * QK_GAIN
        state[name] = value.to(stored)
    return state


def model_of(folder, **settings):
    config = transformers.AutoConfig.from_pretrained(folder)
    falcon_alibi = config.model_type == "falcon" and config.alibi
    # the eager code of Falcon adds its ALiBi twice, and the SDPA code of Gemma 2 leaves its caps out
    return transformers.AutoModelForCausalLM.from_config(config, attn_implementation="sdpa" if falcon_alibi else "eager", experts_implementation="eager", **settings)


def oracle(folder, state, stored, tokens, change=None):
    """(norms [S, L-1], log p [S]) of the model in the folder, in float64. `change`: what makes another family's mathematics of it."""
    torch.set_default_dtype(torch.float64)
    try:
        with Widen(), RefuseNarrow():
            model = model_of(folder, dtype=torch.float64)
        config = model.config
        unknown = model.load_state_dict({name: value.double() for name, value in state.items()}, strict=False).unexpected_keys
        absent = {name for name, _ in model.named_parameters()} - set(state)
        if unknown or absent:
            raise ValueError(f"the configuration as written makes another model: {sorted(unknown)} {sorted(absent)}")
        model.eval().requires_grad_(False)
        if change:
            with Widen():
                change(model)
        embedding = model.get_input_embeddings()
        table, rows = embedding.weight.detach().clone(), None
        scale = getattr(embedding, "scalar_embed_scale", None)
        scale = getattr(embedding, "embed_scale", 1.0) if scale is None else scale if stored == torch.float32 else torch.tensor(scale, dtype=stored).item()
        embedding.register_forward_hook(lambda module, given, result: scale * rows[None])
        for module in model.modules():
            if hasattr(module, "reorder_and_upcast_attn"):       # the same but for a cast to float32, which it insists on
                module.reorder_and_upcast_attn = False
        with contextlib.ExitStack() as undo:
            if config.model_type == "falcon" and config.alibi:
                from transformers.models.falcon import modeling_falcon
                original = modeling_falcon.build_alibi_tensor
                slopes = original(torch.ones(1, tokens.shape[1] - 1, dtype=torch.long), config.num_attention_heads, torch.bfloat16).double()
                modeling_falcon.build_alibi_tensor = lambda mask, heads, dtype: slopes
                undo.callback(setattr, modeling_falcon, "build_alibi_tensor", original)
            if config.model_type == "mpt":      # transformers leaves alibi_bias_max out, which its function and the training code have
                from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor
                most = config.attn_config.alibi_bias_max
                model.transformer.build_mpt_alibi_tensor = lambda heads, length, device=None: build_mpt_alibi_tensor(heads, length, most, device)
            if config.model_type == "phimoe" and model.model.rotary_emb.rope_type == "longrope":     # see make_goldens.py
                plain = model.model.rotary_emb.rope_init_fn
                model.model.rotary_emb.rope_init_fn = lambda config: plain(config, seq_len=tokens.shape[1] - 1)
            norms, logprobs = [], []
            for segment in torch.from_numpy(tokens.astype(np.int64)):
                rows = table[segment[:-1]].clone().requires_grad_(True)
                with Widen(), RefuseNarrow():
                    logits = model(input_ids=torch.zeros(1, len(rows), dtype=torch.int64), use_cache=False).logits[0, -1]
                    value = torch.log_softmax(logits, -1)[segment[-1]]
                norms.append(torch.autograd.grad(value, rows)[0].norm(dim=1).numpy())
                logprobs.append(value.item())
    finally:
        torch.set_default_dtype(torch.float32)
    if not (np.isfinite(norms).all() and np.isfinite(logprobs).all()):
        raise ValueError("not finite")
    return np.stack(norms), np.array(logprobs)


def write_case(d, family, folder, length):
    """Config, weights and tokens; returns (config, state, stored type, tokens)."""
    config = draw_configuration(d, family, length)
    as_drawn, stored = d.chance(0.6) and family not in FROM_LLAMA, d.pick(torch.float32, torch.float32, torch.bfloat16, torch.float16)
    bare = family in ("gpt2", "bloom", "mpt", "gptj", "falcon") and d.chance(0.2)
    path, tokens = os.path.join(folder, "config.json"), d.rng.integers(0, config["vocab_size"], (2, length)).astype(np.int32)
    np.save(os.path.join(folder, "tokens.npy"), tokens)
    with open(path, "w") as file:
        json.dump(config, file, indent=1)
    model = model_of(folder, dtype=torch.float32)
    state = random_state(model, stored, d.rng)
    model.load_state_dict(state, strict=False)
    model.to(stored).save_pretrained(folder)
    if as_drawn:
        with open(path, "w") as file:
            json.dump(config, file, indent=1)
    if bare:        # names as in older published files
        file = os.path.join(folder, "model.safetensors")
        save_file({name.removeprefix("transformer."): value for name, value in load_file(file).items()}, file, metadata={"format": "pt"})
    return config, state, stored, tokens


# --- reach --------------------------------------------------------------------------------------

def measure(reach, folder):
    """(norms, log p, None) of reach, or (None, None, what it said)."""
    out = os.path.join(folder, "out")
    shutil.rmtree(out, ignore_errors=True)
    command = [reach, "erf", "m=" + folder, "--tokens", os.path.join(folder, "tokens.npy"), "--dtype", "f64", "--threads", "1", "--bootstrap", "0",
               "--format", "svg", "--quiet", "-o", out]
    done = subprocess.run(command, capture_output=True, text=True)
    said = done.stderr.strip()
    if done.returncode:
        return None, None, said if done.returncode == 1 and said and "\n" not in said else f"CRASH: exit status {done.returncode}: {said}"
    with h5py.File(os.path.join(out, "erf.h5")) as file:
        return file["models/m/norm"][...], file["models/m/logprob"][...], None


def judge(reach, d, family, folder):
    """(verdict, what there is to say, config.json as it was read)."""
    length, config = d.whole(12, 24), None
    try:
        config, state, stored, tokens = write_case(d, family, folder, length)
        change, rewrite = FROM_LLAMA.get(family, (None, None))
        norm, logprob = oracle(folder, state, stored, tokens, change)
        if rewrite:
            rewrite(folder)
    except Exception as problem:       # whatever it is, there is nothing to compare with
        return "fails", f"{type(problem).__name__}: {str(problem).strip()[:150]}", config
    with open(os.path.join(folder, "config.json")) as file:
        written = json.load(file)
    found_norm, found_logprob, said = measure(reach, folder)
    if said:
        return "WRONG" if said.startswith("CRASH") else "refused", said.replace(folder + "/", "").replace(folder, "MODEL"), written
    logprob_error, norm_error = np.abs(found_logprob - logprob).max(), (np.abs(found_norm - norm).max(1) / norm.max(1)).max()
    exact = bool(logprob_error <= LOGP_ERROR and norm_error <= NORM_ERROR)
    return "exact" if exact else "WRONG", f"log p differs by {logprob_error:.1e}, norms by {norm_error:.1e}", written


# --- the run ------------------------------------------------------------------------------------

def main():
    parser = argparse.ArgumentParser(description="random configurations: reach against transformers")
    parser.add_argument("--reach", default="./reach", help="the program (default ./reach)")
    parser.add_argument("--count", type=int, default=500, help="configurations in all (default 500)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--family", nargs="+", choices=FAMILIES, default=FAMILIES, metavar="FAMILY", help="these families (default: all)")
    parser.add_argument("--only", type=int, metavar="N", help="of each family only configuration N, from 0")
    parser.add_argument("--keep", metavar="FOLDER", help="leave the folders of what is not exact in FOLDER")
    parser.add_argument("--log", metavar="FILE", help="a line of JSON for each configuration")
    options = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    families, counts, groups = list(options.family), collections.Counter(), collections.defaultdict(list)
    numbers = [options.only] if options.only is not None else range(-(-options.count // len(families)))
    cases = [(family, number) for number in numbers for family in families][:None if options.only is not None else options.count]
    with contextlib.ExitStack() as files:
        log = files.enter_context(open(options.log, "w")) if options.log else None
        for family, number in cases:
            with tempfile.TemporaryDirectory() as folder:
                verdict, said, config = judge(options.reach, Draw(options.seed, family, number), family, folder)
                if options.keep and verdict != "exact":
                    shutil.copytree(folder, os.path.join(options.keep, f"{family}-{options.seed}-{number}"), dirs_exist_ok=True)
            counts[verdict] += 1
            counts[family, verdict] += 1
            if verdict != "exact":
                groups[verdict, re.sub(r"-?\d[\d.e+-]*", "N", said)].append(f"{family} {number}")
            if verdict == "WRONG" or options.only is not None:
                print(f"{family}, seed {options.seed}, number {number}: {verdict}: {said}\n    {json.dumps(config)}", flush=True)
            if log:
                log.write(json.dumps({"family": family, "seed": options.seed, "number": number, "verdict": verdict, "said": said, "config": config}) + "\n")
                log.flush()
    for (verdict, said), where in sorted(groups.items()):
        print(f"{verdict} {len(where):4} times, as {where[0]}: {said}")
    verdicts = ("exact", "refused", "fails", "WRONG")
    for family in families:
        print(f"{family:9}", *(f"{verdict} {counts[family, verdict]:4}" for verdict in verdicts))
    print(f"{'all':9}", *(f"{verdict} {counts[verdict]:4}" for verdict in verdicts))
    return 1 if counts["WRONG"] else 0


if __name__ == "__main__":
    sys.exit(main())
