#!/usr/bin/env python3
"""Make the goldens of GGUF files whose layers are recurrences, all or some.

    python3 tests/goldens/gguf/make_recurrences.py [NAME ...]

NAME/model.gguf         a random model in the layout of llama.cpp's converter (conversion/qwen.py, granite.py, mamba.py,
                        falcon_h1.py, nemotron.py and jamba.py, restated below), with tokens.npy, norm.npy and logprob.npy as those of ../README.md, made by
                        transformers in float64 from the numbers of the file: the logarithms of its decays, its norms less 1

Needs the packages gguf (0.19.0), transformers (5.24.0), torch, numpy. Seeds are the names: a second run writes the same bytes.
"""

import os
import re
import sys
import tempfile
import types

import numpy as np
import torch
from gguf import MODEL_ARCH_NAMES, GGMLQuantizationType, GGUFWriter, get_tensor_name_map, quants

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import make_goldens
from make import finish, pairs

Q8_0 = GGMLQuantizationType.Q8_0


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
    if "intermediate_size" in config:
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
    w.add_full_attention_interval(how["interval"])
    if "sections" in how:
        w.add_rope_dimension_sections(how["sections"])
    if "num_experts" in config:
        experts(w, config, "num_experts")
        w.add_expert_feed_forward_length(config["moe_intermediate_size"])
        w.add_expert_shared_feed_forward_length(config["shared_expert_intermediate_size"])


def by_turns(value, groups, heads, axis=0, first=0):
    """Value heads by turns, from number `first` of an axis on: the first of each key head, then the second ones."""
    before, values = value.split([first, value.shape[axis] - first], axis)
    return torch.cat([before, values.unflatten(axis, (groups, heads // groups, -1)).transpose(axis, axis + 1).flatten(axis, axis + 2)], axis)


def turned_parts(config, name, value, how):
    """The same of Qwen 3.5, whose value heads lie by turns."""
    heads, groups = config["linear_num_value_heads"], config["linear_num_key_heads"]
    if name.endswith(("in_proj_z.weight", "in_proj_a.weight", "in_proj_b.weight", "A_log", "dt_bias")):
        value = by_turns(value, groups, heads)
    elif name.endswith(("in_proj_qkv.weight", "conv1d.weight")):
        value = by_turns(value, groups, heads, first=2 * groups * config["linear_key_head_dim"])
    elif name.endswith("linear_attn.out_proj.weight"):
        value = by_turns(value, groups, heads, 1)
    return delta_parts(config, name, value, how)


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


# --- Mamba-2 ------------------------------------------------------------------------------------

def mamba_parts(config, name, value, how):
    """A parameter of a recurrence as tensors by names that the package maps."""
    if name.endswith("A_log"):
        return {name: -value.exp().reshape(-1, 1)}
    if name.endswith(".D"):
        return {name: value.reshape(-1, 1)}
    if name.endswith("dt_bias"):
        return {name.replace("dt_bias", "dt_proj.bias"): value}
    if name.endswith("conv1d.weight"):
        return {name: value.squeeze()}
    if name.endswith(("mixer.norm.weight", "mamba.norm.weight")):
        return {name: value.reshape(how["groups"], -1)}
    return {name: value}


def write_mamba2(w, config, how):
    w.add_type("model")
    w.add_context_length(2 ** 20)
    w.add_embedding_length(config["hidden_size"])
    w.add_feed_forward_length(0)
    w.add_head_count(0)
    w.add_block_count(config["num_hidden_layers"])
    states(w, config["conv_kernel"], config["state_size"], config["n_groups"], config["num_heads"], config["num_heads"] * config["head_dim"])
    w.add_layer_norm_rms_eps(config["layer_norm_epsilon"])


def write_granite(w, config, how):
    common(w, {**config, "max_position_embeddings": 2 ** 20, "num_key_value_heads": [config["num_key_value_heads"] * (kind == "full_attention") for kind in config["layer_types"]]})
    w.add_block_count(config["num_hidden_layers"])
    w.add_vocab_size(config["vocab_size"])
    w.add_rope_dimension_count(config["hidden_size"] // config["num_attention_heads"])
    w.add_rope_scaling_finetuned(False)
    w.add_attention_scale(config["attention_multiplier"])
    w.add_embedding_scale(config["embedding_multiplier"])
    w.add_residual_scale(config["residual_multiplier"])
    w.add_logit_scale(config["logits_scaling"])
    w.add_expert_shared_feed_forward_length(config["shared_intermediate_size"])
    experts(w, config, "num_local_experts")
    states(w, config["mamba_d_conv"], config["mamba_d_state"], config["mamba_n_groups"], config["mamba_n_heads"], config["mamba_expand"] * config["hidden_size"])


def halves(value):
    """Rows of heads in halves, as rows of pairs."""
    return lambda heads: torch.from_numpy(np.ascontiguousarray(pairs(value.numpy(), heads)))


def granite_parts(config, name, value, how):
    if "q_proj" in name or "k_proj" in name:
        return {name: halves(value)(config["num_attention_heads" if "q_proj" in name else "num_key_value_heads"])}
    layer = re.match(r"model\.layers\.(\d+)\.", name)
    shared = "_shexp" if config["num_local_experts"] else ""
    if name.endswith("shared_mlp.input_linear.weight"):
        gate, up = value.chunk(2)
        return {f"blk.{layer[1]}.ffn_gate{shared}.weight": gate, f"blk.{layer[1]}.ffn_up{shared}.weight": up}
    if name.endswith("shared_mlp.output_linear.weight"):
        return {f"blk.{layer[1]}.ffn_down{shared}.weight": value}
    if "block_sparse_moe.router" in name:
        return {f"blk.{layer[1]}.ffn_gate_inp.weight": value}
    if name.endswith(("experts.gate_up_proj", "moe.input_linear.weight")):
        gate, up = value.chunk(2, 1)
        return {f"blk.{layer[1]}.ffn_gate_exps.weight": gate, f"blk.{layer[1]}.ffn_up_exps.weight": up}
    if name.endswith(("experts.down_proj", "moe.output_linear.weight")):
        return {f"blk.{layer[1]}.ffn_down_exps.weight": value}
    return mamba_parts(config, name, value, how)


def write_falcon(w, config, how):
    common(w, config)
    w.add_block_count(config["num_hidden_layers"])
    w.add_vocab_size(config["vocab_size"])
    w.add_key_length(config["head_dim"])
    w.add_value_length(config["head_dim"])
    states(w, config["mamba_d_conv"], config["mamba_d_state"], config["mamba_n_groups"], config["mamba_n_heads"], config["mamba_d_ssm"])


def falcon_parts(config, name, value, how):
    """With the factors that the converter multiplies weights by."""
    into, key = config["attention_in_multiplier"], config["key_multiplier"]
    factors = {"down_proj": config["mlp_multipliers"][1], "gate_proj": config["mlp_multipliers"][0], "k_proj": key * into, "q_proj": into, "v_proj": into,
               "o_proj": config["attention_out_multiplier"], "out_proj": config["ssm_out_multiplier"], "in_proj": config["ssm_in_multiplier"], "lm_head": config["lm_head_multiplier"],
               "embed_tokens": config["embedding_multiplier"]}
    factor = next((factor for part, factor in factors.items() if part in name), 1.0)
    if "in_proj" in name:
        inner, keys, heads = config["mamba_d_ssm"], config["mamba_n_groups"] * config["mamba_d_state"], config["mamba_n_heads"]
        by = [one for one, rows in zip(config["ssm_multipliers"], (inner, inner, keys, keys, heads)) for _ in range(rows)]
        factor = factor * torch.tensor(by, dtype=torch.float64)[:, None]
    return mamba_parts(config, name, value * factor, how)


def write_nemotron(w, config, how):
    kinds = config["layers_block_type"]
    has_experts = "moe" in kinds
    common(w, {**config, "rms_norm_eps": config["layer_norm_epsilon"], "rope_parameters": {"rope_theta": 10000.0},
               "num_key_value_heads": [config["num_key_value_heads"] * (kind == "full_attention") for kind in kinds],
               "intermediate_size": [config["moe_intermediate_size" if has_experts else "intermediate_size"] * (kind in ("mlp", "moe")) for kind in kinds]})
    w.add_block_count(len(kinds))
    w.add_vocab_size(config["vocab_size"])
    w.add_layer_norm_eps(config["layer_norm_epsilon"])
    w.add_key_length(config["head_dim"])
    w.add_value_length(config["head_dim"])
    w.add_rope_dimension_count(config["head_dim"])
    w.add_rope_scaling_finetuned(False)
    states(w, config["conv_kernel"], config["ssm_state_size"], config["n_groups"], config["mamba_num_heads"], config["mamba_num_heads"] * config["mamba_head_dim"])
    if has_experts:
        experts(w, config, "n_routed_experts")
        w.add_expert_feed_forward_length(config["moe_intermediate_size"])
        w.add_expert_shared_feed_forward_length(config["moe_shared_expert_intermediate_size"])
        w.add_expert_shared_count(config["n_shared_experts"])
        w.add_expert_weights_norm(config["norm_topk_prob"])
        w.add_expert_weights_scale(config["routed_scaling_factor"])
        w.add_expert_group_count(config["n_group"])
        w.add_expert_group_used_count(config["topk_group"])
        w.add_moe_latent_size(config["moe_latent_size"])


def nemotron_parts(config, name, value, how):
    name = name.replace("model.", "backbone.", 1)
    if "q_proj" in name or "k_proj" in name:
        return {name: halves(value)(config["num_attention_heads" if "q_proj" in name else "num_key_value_heads"])}
    if name.endswith(("mixer.experts.up_proj", "mixer.experts.down_proj")):
        return {name.replace("backbone.", "model.").replace("mixer.experts", "mlp.experts") + ".weight": value}
    if name.endswith("e_score_correction_bias"):
        return {name.replace("correction_bias", "correction.bias"): value}
    return mamba_parts(config, name, value, how)


# --- scans --------------------------------------------------------------------------------------

def write_mamba(w, config, how):
    w.add_type("model")
    w.add_context_length(2 ** 20)
    w.add_embedding_length(config["hidden_size"])
    w.add_feed_forward_length(0)
    w.add_head_count(0)
    w.add_block_count(config["num_hidden_layers"])
    w.add_ssm_conv_kernel(config["conv_kernel"])
    w.add_ssm_inner_size(config["intermediate_size"])
    w.add_ssm_state_size(config["state_size"])
    w.add_ssm_time_step_rank(config["time_step_rank"])
    w.add_layer_norm_rms_eps(config["layer_norm_epsilon"])
    w.add_ssm_dt_b_c_rms(config["model_type"] == "falcon_mamba")


def write_jamba(w, config, how):
    w.add_type("model")
    layers, heads = config["num_hidden_layers"], config["num_key_value_heads"]
    w.add_block_count(layers)
    w.add_context_length(config["max_position_embeddings"])
    w.add_embedding_length(config["hidden_size"])
    w.add_feed_forward_length(config["intermediate_size"])
    w.add_head_count(config["num_attention_heads"])
    w.add_head_count_kv([heads * (layer % config["attn_layer_period"] == config["attn_layer_offset"]) for layer in range(layers)])
    w.add_ssm_conv_kernel(config["mamba_d_conv"])
    w.add_ssm_inner_size(config["mamba_expand"] * config["hidden_size"])
    w.add_ssm_state_size(config["mamba_d_state"])
    w.add_ssm_time_step_rank(config["mamba_dt_rank"])
    w.add_layer_norm_rms_eps(config["rms_norm_eps"])
    experts(w, config, "num_experts")


def scan_parts(config, name, value, how):
    """A parameter as tensors by names that the package maps."""
    if name.endswith("A_log"):
        return {name: -value.exp()}
    if name.endswith("conv1d.weight"):
        return {name: value.squeeze()}
    layer = re.match(r"model\.layers\.(\d+)\.feed_forward\.experts\.", name)
    if layer and name.endswith("gate_up_proj"):
        gate, up = value.chunk(2, 1)
        return {f"blk.{layer[1]}.ffn_gate_exps.weight": gate, f"blk.{layer[1]}.ffn_up_exps.weight": up}
    return {f"blk.{layer[1]}.ffn_down_exps.weight" if layer else name: value}


# --- the models ---------------------------------------------------------------------------------

def own_recurrence(name, architecture, family, config, write, parts, **how):
    """A random model with its expected values. Matrices in half precision, but for those that match how["wide"]."""
    from transformers import AutoConfig, AutoModelForCausalLM
    rng = make_goldens.generator("gguf " + name)
    folder = os.path.join(HERE, name)
    os.makedirs(folder, exist_ok=True)
    case = types.SimpleNamespace(family=family, attention="eager", stored=torch.float16, length=48, config=config, oracle=None, outer=None, decays=True)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(family, **config))
    state = {key: stored(family, key, value) for key, value in make_goldens.random_state(model, case, rng).items()}
    for key in (key for key in state if key.endswith("out_proj.weight") and "quantised" in how):      # exact in Q8_0, whatever the order of heads
        state[key] = (state[key] * 256).round().clamp(-126, 126) / 256
        state[key][:, ::how["head"]] = 127 / 256
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
            if re.search(how.get("quantised", "^$"), short):
                raw = quants.quantize(made.astype(np.float32), Q8_0)
                assert np.array_equal(quants.dequantize(raw, Q8_0), made), part
                w.add_tensor(short, raw, raw_dtype=Q8_0)
            else:
                w.add_tensor(short, made)
    finish(w)
    with tempfile.TemporaryDirectory() as temporary:
        make_goldens.write_json(os.path.join(temporary, "config.json"), described)
        oracle = make_goldens.FamilyOracle(case, temporary, state)
    tokens = make_goldens.draw_tokens(rng, 2, case.length, config["vocab_size"])
    norm, logprob = make_goldens.expected_of(oracle.log_probability, oracle.table, tokens, 10 ** 9, rng, name)
    # the gradient of the file's rows, which hold the factor on embeddings
    make_goldens.write_expected(folder, tokens, norm / (described["embedding_multiplier"] if family == "falcon_h1" else 1), logprob)


def delta(**changes):
    """A small Qwen."""
    return {**dict(vocab_size=31, hidden_size=8, intermediate_size=6, num_hidden_layers=3, num_attention_heads=2, num_key_value_heads=1, head_dim=8, rms_norm_eps=2.0 ** -9,
                   max_position_embeddings=64, pad_token_id=0, rope_parameters={"rope_type": "default", "rope_theta": 700.0, "partial_rotary_factor": 0.5}, linear_num_key_heads=2,
                   linear_num_value_heads=4, linear_key_head_dim=3, linear_value_head_dim=2, linear_conv_kernel_dim=3, tie_word_embeddings=False), **changes}


def mixed(**changes):
    return delta(num_experts=3, num_experts_per_tok=2, moe_intermediate_size=5, shared_expert_intermediate_size=4, **changes)


def without(key, config):
    return {name: value for name, value in config.items() if name != key}


def mamba2(**changes):
    """A small Mamba-2."""
    return {**dict(vocab_size=31, hidden_size=8, num_hidden_layers=2, num_heads=4, head_dim=4, n_groups=2, state_size=3, conv_kernel=3, expand=2, layer_norm_epsilon=2.0 ** -9, pad_token_id=0,
                   bos_token_id=0, eos_token_id=0, tie_word_embeddings=False), **changes}


def granite(**changes):
    """A small Granite 4, whose second layer attends."""
    return {**dict(vocab_size=31, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, intermediate_size=5, shared_intermediate_size=6, rms_norm_eps=2.0 ** -9,
                   max_position_embeddings=64, pad_token_id=0, rope_parameters={"rope_type": "default", "rope_theta": 700.0}, layer_types=["linear_attention", "full_attention"], mamba_n_heads=4,
                   mamba_n_groups=2, mamba_d_state=3, mamba_d_conv=3, mamba_expand=2, num_local_experts=3, num_experts_per_tok=2, embedding_multiplier=3.0, residual_multiplier=0.625,
                   attention_multiplier=0.375, logits_scaling=1.75, tie_word_embeddings=False), **changes}


def falcon(**changes):
    """A small Falcon-H1, whose factors times half-precision weights are exact in single precision."""
    return {**dict(vocab_size=31, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, head_dim=6, intermediate_size=5, rms_norm_eps=2.0 ** -9, max_position_embeddings=64,
                   pad_token_id=0, rope_parameters={"rope_type": "default", "rope_theta": 700.0}, mamba_d_ssm=12, mamba_n_heads=4, mamba_d_head=3, mamba_n_groups=2, mamba_d_state=3, mamba_d_conv=3,
                   embedding_multiplier=2.5, lm_head_multiplier=0.75, attention_in_multiplier=1.25, attention_out_multiplier=0.625, key_multiplier=0.875, ssm_in_multiplier=1.5, ssm_out_multiplier=0.875,
                   ssm_multipliers=[1.25, 0.75, 1.5, 0.625, 1.75], mlp_multipliers=[1.25, 0.75], tie_word_embeddings=False), **changes}


def nemotron(*kinds, **changes):
    """A small Nemotron-H, whose steps have no least that matters."""
    return {**dict(vocab_size=31, hidden_size=8, num_attention_heads=2, num_key_value_heads=1, head_dim=6, intermediate_size=5, layer_norm_epsilon=2.0 ** -9, layers_block_type=list(kinds),
                   mamba_num_heads=4, mamba_head_dim=3, n_groups=2, ssm_state_size=3, conv_kernel=3, max_position_embeddings=64, pad_token_id=0, tie_word_embeddings=False), **changes}


def mamba(**changes):
    """A small Mamba."""
    return {**dict(vocab_size=31, hidden_size=8, num_hidden_layers=2, state_size=3, conv_kernel=3, expand=2, time_step_rank=2, layer_norm_epsilon=2.0 ** -9, pad_token_id=0, bos_token_id=0,
                   eos_token_id=0, tie_word_embeddings=False), **changes}


def jamba(**changes):
    """A small Jamba, whose second layer attends."""
    return {**dict(vocab_size=31, hidden_size=8, num_hidden_layers=4, num_attention_heads=2, num_key_value_heads=1, intermediate_size=5, rms_norm_eps=2.0 ** -9, max_position_embeddings=64,
                   pad_token_id=0, attn_layer_period=2, attn_layer_offset=1, expert_layer_period=3, expert_layer_offset=0, num_experts=3, num_experts_per_tok=2, mamba_d_state=3, mamba_d_conv=3,
                   mamba_dt_rank=2, tie_word_embeddings=False), **changes}


MODELS = {
    # attn_gate in single precision, attn_qkv in half: joined as single precision
    "qwen3next-plain": lambda name: own_recurrence(name, "qwen3next", "qwen3_next", mixed(full_attention_interval=2, layer_types=["linear_attention", "full_attention", "linear_attention"]),
                                                   write_delta, delta_parts, interval=2, wide=r"^blk\.2\.attn_gate"),
    "qwen3next-older": lambda name: own_recurrence(name, "qwen3next", "qwen3_next",
                                                   mixed(num_hidden_layers=2, layer_types=["linear_attention", "full_attention"], attention_bias=True, tie_word_embeddings=True),
                                                   write_delta, delta_parts, interval=2, older=True),
    "qwen35-plain": lambda name: own_recurrence(name, "qwen35", "qwen3_5_text", delta(attention_bias=True, linear_num_key_heads=2, linear_num_value_heads=6,
                                                                                     layer_types=["linear_attention", "full_attention", "linear_attention"]),
                                                write_delta, turned_parts, interval=2, sections=[1, 1, 0, 0]),
    # the output of recurrences in blocks of 32 columns, two heads of 16 in each
    "qwen35moe-plain": lambda name: own_recurrence(name, "qwen35moe", "qwen3_5_moe_text", without("intermediate_size", mixed(num_hidden_layers=2, layer_types=["linear_attention", "full_attention"], linear_value_head_dim=16)),
                                                   write_delta, turned_parts, interval=2, sections=[1, 1, 0, 0], quantised="ssm_out", head=16),
    "granitehybrid-experts": lambda name: own_recurrence(name, "granitehybrid", "granitemoehybrid", granite(attention_bias=True), write_granite, granite_parts, groups=2),
    # gate in single precision, up in half
    "granitehybrid-dense": lambda name: own_recurrence(name, "granitehybrid", "granitemoehybrid",
                                                       granite(num_local_experts=0, num_hidden_layers=3, layer_types=["full_attention", "linear_attention", "linear_attention"], mamba_n_groups=1,
                                                               mamba_conv_bias=False, mamba_proj_bias=True, tie_word_embeddings=True),
                                                       write_granite, granite_parts, groups=1, wide=r"^blk\.1\.ffn_gate"),
    "mamba2-plain": lambda name: own_recurrence(name, "mamba2", "mamba2", mamba2(), write_mamba2, mamba_parts, groups=2),
    "mamba2-tied": lambda name: own_recurrence(name, "mamba2", "mamba2", mamba2(num_hidden_layers=1, num_heads=2, head_dim=8, n_groups=1, use_conv_bias=False, use_bias=True, tie_word_embeddings=True),
                                               write_mamba2, mamba_parts, groups=1),
    "mamba-plain": lambda name: own_recurrence(name, "mamba", "mamba", mamba(use_bias=True), write_mamba, scan_parts),
    "mamba-normed": lambda name: own_recurrence(name, "mamba", "falcon_mamba", mamba(num_hidden_layers=1, use_conv_bias=False, tie_word_embeddings=True), write_mamba, scan_parts),
    "jamba-experts": lambda name: own_recurrence(name, "jamba", "jamba", jamba(), write_jamba, scan_parts),
    "jamba-plain": lambda name: own_recurrence(name, "jamba", "jamba",
                                               jamba(num_hidden_layers=2, attn_layer_period=8, num_experts=1, num_experts_per_tok=1, mamba_conv_bias=False, mamba_proj_bias=True,
                                                     num_key_value_heads=2, tie_word_embeddings=True), write_jamba, scan_parts),
    "falcon-h1-norm": lambda name: own_recurrence(name, "falcon-h1", "falcon_h1", falcon(mamba_rms_norm=True, mamba_norm_before_gate=False), write_falcon, falcon_parts, groups=2, wide="."),
    "falcon-h1-plain": lambda name: own_recurrence(name, "falcon-h1", "falcon_h1", falcon(num_hidden_layers=1, mamba_conv_bias=False), write_falcon, falcon_parts, groups=2, wide="."),
    "nemotron-h-plain": lambda name: own_recurrence(name, "nemotron_h", "nemotron_h", nemotron("linear_attention", "mlp", "full_attention", "mlp"), write_nemotron, nemotron_parts, groups=2),
    "nemotron-h-experts": lambda name: own_recurrence(name, "nemotron_h_moe", "nemotron_h",
                                                      nemotron("moe", "linear_attention", "full_attention", n_routed_experts=4, num_experts_per_tok=2, n_group=2, topk_group=1, moe_intermediate_size=4,
                                                               moe_shared_expert_intermediate_size=6, routed_scaling_factor=2.5, moe_latent_size=6), write_nemotron, nemotron_parts, groups=2),
}


def main():
    torch.set_num_threads(1)
    for name in sys.argv[1:] or MODELS:
        MODELS[name](name)


if __name__ == "__main__":
    main()
