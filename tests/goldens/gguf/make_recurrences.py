#!/usr/bin/env python3
"""Make the goldens of GGUF files whose layers are recurrences, all or some.

    python3 tests/goldens/gguf/make_recurrences.py [NAME ...]

NAME/model.gguf         a random model in the layout of llama.cpp's converter (conversion/qwen.py, restated below), with tokens.npy,
                        norm.npy and logprob.npy as those of ../README.md, made by transformers in float64 from the numbers of the file:
                        the logarithms of its decays, its norms less 1

Needs the packages gguf (0.19.0), transformers (5.24.0), torch, numpy. Seeds are the names: a second run writes the same bytes.
"""

import os
import re
import sys
import tempfile
import types

import numpy as np
import torch
from gguf import MODEL_ARCH_NAMES, GGUFWriter, get_tensor_name_map

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import make_goldens
from make import finish


# --- what the converter writes ------------------------------------------------------------------

def stored(family, name, value):
    """A parameter as the numbers of the file have it: the oracle's."""
    value = value.double()
    if name.endswith("A_log"):
        return value.exp().float().double().log()
    if family.startswith("qwen3") and name.endswith("norm.weight") and not name.endswith("linear_attn.norm.weight"):
        return (value + 1).float().double() - 1
    return value


def common(w, config):
    w.add_type("model")
    w.add_context_length(config["max_position_embeddings"])
    w.add_embedding_length(config["hidden_size"])
    w.add_feed_forward_length(config["intermediate_size"])
    w.add_head_count(config["num_attention_heads"])
    w.add_head_count_kv(config["num_key_value_heads"])
    w.add_layer_norm_rms_eps(config["rms_norm_eps"])
    w.add_rope_freq_base(config["rope_parameters"]["rope_theta"])


def states(w, reach, key, groups, heads, inner):
    w.add_ssm_conv_kernel(reach)
    w.add_ssm_state_size(key)
    w.add_ssm_group_count(groups)
    w.add_ssm_time_step_rank(heads)
    w.add_ssm_inner_size(inner)


def experts(w, config, count):
    w.add_expert_count(config[count])
    w.add_expert_used_count(config["num_experts_per_tok"])


# --- by the delta rule --------------------------------------------------------------------------

def write_delta(w, config, how):
    common(w, config)
    w.add_block_count(config["num_hidden_layers"])
    w.add_key_length(config["head_dim"])
    w.add_value_length(config["head_dim"])
    w.add_rope_dimension_count(int(config["head_dim"] * config["rope_parameters"]["partial_rotary_factor"]))
    heads = config["linear_num_value_heads"]
    states(w, config["linear_conv_kernel_dim"], config["linear_key_head_dim"], config["linear_num_key_heads"], heads, heads * config["linear_value_head_dim"])
    if "interval" in how:
        w.add_full_attention_interval(how["interval"])
    if "num_experts" in config:
        experts(w, config, "num_experts")
        w.add_expert_feed_forward_length(config["moe_intermediate_size"])
        w.add_expert_shared_feed_forward_length(config["shared_expert_intermediate_size"])


def delta_parts(config, name, value, how):
    """A parameter as tensors by names that the package maps."""
    if name.endswith("A_log"):
        return {name: -value.exp()}
    if name.endswith("dt_bias"):
        return {name.replace("dt_bias", "dt_proj.bias"): value}
    if name.endswith("norm.weight") and not name.endswith("linear_attn.norm.weight"):
        return {name: value + 1}
    if name.endswith("conv1d.weight") or name.endswith("shared_expert_gate.weight"):
        return {name: value.squeeze()}
    if name.endswith("experts.gate_up_proj"):
        gate, up = value.chunk(2, 1)
        return {name.replace("gate_up_proj", "gate_proj.weight"): gate, name.replace("gate_up_proj", "up_proj.weight"): up}
    if name.endswith("experts.down_proj"):
        return {name + ".weight": value}
    if name.endswith("in_proj_qkvz.weight") and not how.get("older"):
        groups, key = config["linear_num_key_heads"], config["linear_key_head_dim"]
        each = config["linear_num_value_heads"] // groups * config["linear_value_head_dim"]
        parts = value.view(groups, 2 * (key + each), -1).split([key, key, each, each], 1)
        q, k, v, z = (part.flatten(0, 1) for part in parts)
        return {name.replace("in_proj_qkvz", "in_proj_qkv"): torch.cat([q, k, v]), name.replace("in_proj_qkvz", "in_proj_z"): z}
    return {name: value}


# --- the models ---------------------------------------------------------------------------------

def own_recurrence(name, architecture, family, config, write, parts, **how):
    """A random model with its expected values. Matrices in half precision, but for those that match how["wide"]."""
    from transformers import AutoConfig, AutoModelForCausalLM
    rng = make_goldens.generator("gguf " + name)
    folder = os.path.join(HERE, name)
    os.makedirs(folder, exist_ok=True)
    case = types.SimpleNamespace(family=family, attention="eager", stored=torch.float16, length=48, config=config, oracle=None, outer=None)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(family, **config))
    state = {key: stored(family, key, value) for key, value in make_goldens.random_state(model, case, rng).items()}
    described = model.config.to_dict()
    names = get_tensor_name_map({name: arch for arch, name in MODEL_ARCH_NAMES.items()}[architecture], 9)
    w = GGUFWriter(os.path.join(folder, "model.gguf"), architecture)
    write(w, described, how)
    for key, value in state.items():
        for part, numbers in parts(described, key, value, how).items():
            short = part if part.startswith("blk.") else names.get_name(part, try_suffixes=(".weight", ".bias"))
            half = numbers.ndim > 1 and not re.search("conv1d|ssm_[ad]$|ssm_norm", short) and not re.search(how.get("wide", "^$"), short)
            made = numbers.contiguous().numpy().astype(np.float16 if half else np.float32)
            assert np.array_equal(made.astype(np.float64), numbers.numpy()) or part.endswith("A_log"), part
            w.add_tensor(short, made)
    finish(w)
    with tempfile.TemporaryDirectory() as temporary:
        make_goldens.write_json(os.path.join(temporary, "config.json"), described)
        oracle = make_goldens.FamilyOracle(case, temporary, state)
    tokens = make_goldens.draw_tokens(rng, 2, case.length, config["vocab_size"])
    norm, logprob = make_goldens.expected_of(oracle.log_probability, oracle.table, tokens, 10 ** 9, rng, name)
    make_goldens.write_expected(folder, tokens, norm, logprob)


def delta(**changes):
    """A small Qwen."""
    return {**dict(vocab_size=31, hidden_size=8, intermediate_size=6, num_hidden_layers=3, num_attention_heads=2, num_key_value_heads=1, head_dim=8, rms_norm_eps=2.0 ** -9,
                   max_position_embeddings=64, pad_token_id=0, rope_parameters={"rope_type": "default", "rope_theta": 700.0, "partial_rotary_factor": 0.5}, linear_num_key_heads=2,
                   linear_num_value_heads=4, linear_key_head_dim=3, linear_value_head_dim=2, linear_conv_kernel_dim=3, tie_word_embeddings=False), **changes}


def mixed(**changes):
    return delta(num_experts=3, num_experts_per_tok=2, moe_intermediate_size=5, shared_expert_intermediate_size=4, **changes)


MODELS = {
    # attn_gate in single precision, attn_qkv in half: joined as single precision
    "qwen3next-plain": lambda name: own_recurrence(name, "qwen3next", "qwen3_next", mixed(full_attention_interval=2, layer_types=["linear_attention", "full_attention", "linear_attention"]),
                                                   write_delta, delta_parts, interval=2, wide=r"^blk\.2\.attn_gate"),
    "qwen3next-older": lambda name: own_recurrence(name, "qwen3next", "qwen3_next",
                                                   mixed(num_hidden_layers=2, layer_types=["linear_attention", "full_attention"], attention_bias=True, tie_word_embeddings=True),
                                                   write_delta, delta_parts, interval=2, older=True),
}


def main():
    torch.set_num_threads(1)
    for name in sys.argv[1:] or MODELS:
        MODELS[name](name)


if __name__ == "__main__":
    main()
