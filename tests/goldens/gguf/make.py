#!/usr/bin/env python3
"""Make the goldens of GGUF files: blocks of every quantised type with their values, and small models.

    python3 tests/goldens/gguf/make.py

blocks.safetensors      for each quantised type TYPE (uint8 [blocks, bytes]): random blocks, some with scales that are zero,
                        subnormal, the largest, infinite or not a number; TYPE.values (float32): what the package makes of them
NAME.gguf               the checkpoint of the golden case NAME as GGUF, in the layouts of llama.cpp's converter (restated below); its
                        expected values are those of ../NAME, made by transformers in float64
split-0000i-of-0000n    the same of llama-gqa, in shards, the first without tensors
quantised, gpt2-quantised, gemma2-plain, qwen3-plain, rope-freqs, smollm3-plain, smollm3-four, olmo-clip,
ministral3-plain, phi3-longrope, jais2-plain, dots1-plain, deepseek2-sigma, deepseek2-older, lfm2-plain, lfm2moe-plain, lfm2moe-free,
gemma3n-plain, gemma4-keys, gemma4-experts, llama4-plain
                        models of their own, each a folder with model.gguf, tokens.npy, norm.npy and logprob.npy as those of ../README.md.
                        quantised holds every type but Q4_0, which gpt2-quantised holds. Quantised weights are random
                        blocks, ternary ones quantised by the package; the oracle (transformers in float64)
                        runs on what the package makes of them. rope-freqs: frequencies over the stored numbers.
small.gguf              every quantised type in a few kilobytes
tokenizer/PRE.gguf      tokenizers of ../tokenizer, without what GGUF cannot say of added tokens; their ids of ../tokenizer/text.bin are
                        those of the same name there, or tokenizer/PRE.npy, made by tokenizers

Needs the packages gguf (0.19.0), tokenizers, transformers (5.23.0), torch, safetensors, numpy. Seeds are the names: a second run writes the
same bytes.
"""

import collections
import json
import os
import re
import sys
import tempfile
import types

import numpy as np
import torch
from gguf import GGMLQuantizationType as T
from gguf import MODEL_ARCH_NAMES, ExpertGatingFuncType, GGUFWriter, get_tensor_name_map, quants
from gguf.constants import GGML_QUANT_SIZES
from safetensors import safe_open
from safetensors.numpy import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDENS = os.path.dirname(HERE)
sys.path.insert(0, GOLDENS)
import make_goldens

TYPES = [T.Q4_0, T.Q4_1, T.Q5_0, T.Q5_1, T.Q8_0, T.Q2_K, T.Q3_K, T.Q4_K, T.Q5_K, T.Q6_K, T.MXFP4, T.IQ4_NL, T.IQ4_XS, T.TQ1_0,
         T.TQ2_0]
TERNARY = (T.TQ1_0, T.TQ2_0)
# where the half-precision scales stand in a block, and how many times the first the others are for a mean of zero
SCALES = {T.Q4_0: [0], T.Q4_1: [0, 2], T.Q5_0: [0], T.Q5_1: [0, 2], T.Q8_0: [0], T.Q2_K: [80, 82], T.Q3_K: [108], T.Q4_K: [0, 2],
          T.Q5_K: [0, 2], T.Q6_K: [208], T.MXFP4: [], T.IQ4_NL: [0], T.IQ4_XS: [0], T.TQ1_0: [52], T.TQ2_0: [64]}
MINIMUM = {T.Q4_1: -7.5, T.Q5_1: -15.5, T.Q2_K: 1.5, T.Q4_K: 7.5, T.Q5_K: 15.5}
HALVES = [0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x0400, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0xFE01, 0x3C00, 0x1234]


# --- blocks -------------------------------------------------------------------------------------

def random_bytes(rng, kind, blocks):
    return rng.integers(0, 256, (blocks, GGML_QUANT_SIZES[kind][1]), dtype=np.uint8)


def put_half(data, at, value):
    data[:, at:at + 2] = np.asarray(value, dtype=np.uint16).reshape(-1, 1).view(np.uint8)


def make_blocks():
    """Random blocks of each type and their values."""
    out = {}
    for kind in TYPES:
        rng = make_goldens.generator("blocks " + kind.name)
        data = random_bytes(rng, kind, 24 if GGML_QUANT_SIZES[kind][0] == 32 else 20)
        for i, at in enumerate(SCALES[kind]):
            halves = rng.normal(0, 1, data.shape[0]).astype(np.float16).view(np.uint16)
            halves[:len(HALVES)] = np.roll(HALVES, 3 * i)
            put_half(data, at, halves)
        if kind is T.MXFP4:
            data[:6, 0] = [0, 1, 2, 127, 254, 255]
        out[kind.name] = data
        with np.errstate(all="ignore"):
            out[kind.name + ".values"] = quants.dequantize(data, kind).reshape(data.shape[0], -1)
    save_file(out, os.path.join(HERE, "blocks.safetensors"))


def random_quantised(rng, kind, shape, deviation):
    """(bytes, values) of a random matrix."""
    block, size = GGML_QUANT_SIZES[kind]
    data = random_bytes(rng, kind, shape[0] * shape[1] // block)
    for at in SCALES[kind]:
        put_half(data, at, np.full(data.shape[0], np.float16(1)).view(np.uint16))
    if kind is T.MXFP4:
        data[:, 0] = 128
    elif len(SCALES[kind]) == 2:
        put_half(data, SCALES[kind][1], np.full(data.shape[0], np.float16(MINIMUM[kind])).view(np.uint16))
    unit = quants.dequantize(data, kind).std()
    scale = deviation / unit * rng.uniform(0.7, 1.3, data.shape[0])
    for i, at in enumerate(SCALES[kind]):
        factor = scale if i == 0 else scale * MINIMUM[kind]
        put_half(data, at, factor.astype(np.float16).view(np.uint16))
    if kind is T.MXFP4:
        data[:, 0] = 128 + np.round(np.log2(scale)).astype(int)
    rows = data.reshape(shape[0], shape[1] // block * size)
    return rows, quants.dequantize(rows, kind).reshape(shape)


# --- layouts of the converter -------------------------------------------------------------------

def pairs(value, heads):
    """Rows of heads in halves, as rows of pairs."""
    return value.reshape(heads, 2, value.shape[0] // heads // 2, *value.shape[1:]).swapaxes(1, 2).reshape(value.shape)


def parts(value, heads, kv_heads):
    """Rows [group][queries, key, value], as rows of all queries, all keys, all values."""
    each = heads // kv_heads
    grouped = value.reshape(kv_heads, each + 2, -1, *value.shape[1:])
    rest = value.shape[1:]
    return np.concatenate([grouped[:, :each].reshape(-1, *rest), grouped[:, each].reshape(-1, *rest), grouped[:, each + 1].reshape(-1, *rest)])


LLAMA = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output", "input_layernorm": "attn_norm",
         "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
         "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm", "post_attention_layernorm": "ffn_norm",
         "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
NAMES = {
    "llama": LLAMA, "qwen2": LLAMA, "qwen3": LLAMA,
    "gemma2": {**LLAMA, "post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
               "post_feedforward_layernorm": "post_ffw_norm"},
    "gpt2": {"transformer.wte": "token_embd", "transformer.wpe": "position_embd", "transformer.ln_f": "output_norm", "lm_head": "output",
             "ln_1": "attn_norm", "ln_2": "ffn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "mlp.c_fc": "ffn_up",
             "mlp.c_proj": "ffn_down"},
    "gpt_neox": {"gpt_neox.embed_in": "token_embd", "gpt_neox.final_layer_norm": "output_norm", "embed_out": "output", "lm_head": "output",
                 "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "attention.query_key_value": "attn_qkv",
                 "attention.dense": "attn_output", "mlp.dense_h_to_4h": "ffn_up", "mlp.dense_4h_to_h": "ffn_down"},
    "bloom": {"word_embeddings": "token_embd", "word_embeddings_layernorm": "token_embd_norm", "ln_f": "output_norm", "lm_head": "output",
              "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attention.query_key_value": "attn_qkv",
              "self_attention.dense": "attn_output", "mlp.dense_h_to_4h": "ffn_up", "mlp.dense_4h_to_h": "ffn_down"},
    "falcon": {"transformer.word_embeddings": "token_embd", "transformer.ln_f": "output_norm", "lm_head": "output", "input_layernorm": "attn_norm",
               "ln_mlp": "attn_norm", "ln_attn": "attn_norm_2", "self_attention.query_key_value": "attn_qkv",
               "self_attention.dense": "attn_output", "mlp.dense_h_to_4h": "ffn_up", "mlp.dense_4h_to_h": "ffn_down"},
    "mpt": {"transformer.wte": "token_embd", "transformer.norm_f": "output_norm", "lm_head": "output", "norm_1": "attn_norm",
            "norm_2": "ffn_norm", "attn.Wqkv": "attn_qkv", "attn.out_proj": "attn_output", "ffn.up_proj": "ffn_up",
            "ffn.down_proj": "ffn_down"},
    "phi": {"model.embed_tokens": "token_embd", "model.final_layernorm": "output_norm", "lm_head": "output", "input_layernorm": "attn_norm",
            "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.dense": "attn_output",
            "mlp.fc1": "ffn_up", "mlp.fc2": "ffn_down"},
}
NAMES |= {"gemma": LLAMA, "gemma3_text": {**NAMES["gemma2"]}, "cohere": LLAMA, "cohere2": LLAMA,
          "olmo2": {**LLAMA, "post_attention_layernorm": "post_attention_norm", "post_feedforward_layernorm": "post_ffw_norm"},
          "phi3": {**LLAMA, "self_attn.qkv_proj": "attn_qkv", "mlp.gate_up_proj": "ffn_up"},
          "starcoder2": {**LLAMA, "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}}
# named as the package itself maps them
MAPPED = ("granite", "smollm3", "arcee", "olmo", "seed_oss", "stablelm", "exaone4", "glm4", "hunyuan_v1_dense", "ministral3", "gpt_bigcode", "jais2",
          "olmo3", "lfm2")
PAIRS = ("llama", "mixtral", "granitemoe", "granitemoeshared", "granite", "smollm3", "arcee", "olmo", "ministral3")      # the converter's LlamaModel, and olmo
ARCHITECTURES = {"gpt_neox": "gptneox", "phi": "phi2", "gemma3_text": "gemma3", "cohere": "command-r", "mixtral": "llama", "qwen2_moe": "qwen2moe",
                 "qwen3_moe": "qwen3moe", "glm4_moe": "glm4moe", "granitemoeshared": "granitemoe", "gpt_oss": "gpt-oss",
                 "hunyuan_v1_dense": "hunyuan-dense", "deepseek_v2": "deepseek2", "deepseek_v3": "deepseek2", "ministral3": "mistral3", "gpt_bigcode": "starcoder", "olmo3": "olmo2",
                 "lfm2_moe": "lfm2moe", "gemma3n_text": "gemma3n", "gemma4_text": "gemma4", "llama4_text": "llama4"}
NEWER = ("gemma3n_text", "gemma4_text", "llama4_text")
MIXED = ("mixtral", "qwen2_moe", "qwen3_moe", "olmoe", "granitemoe", "granitemoeshared", "glm4_moe", "gpt_oss", "dots1", "deepseek_v2", "deepseek_v3", "lfm2_moe")      # with experts


def gguf_name(family, name):
    """The name in GGUF of a tensor of the library."""
    if family in MIXED or family in MAPPED or family in NEWER:
        table = get_tensor_name_map({name: arch for arch, name in MODEL_ARCH_NAMES.items()}[ARCHITECTURES.get(family, family)], 9)
        name = name.replace("block_sparse_moe.router.weight", "block_sparse_moe.router.layer.weight").replace(".block_sparse_moe.experts.", ".mlp.experts.").replace("experts.w1", "experts.gate_proj")
        name = name.replace("experts.w3", "experts.up_proj").replace("experts.w2", "experts.down_proj")
        name = name.replace("e_score_correction_bias", "e_score_correction.bias").replace("self_attn.sinks", "self_attn.sinks.weight").replace("expert_bias", "expert_bias.bias")
        for theirs, ours in ((".router.scale", ".ffn_gate_inp.scale"), (".router.per_expert_scale", ".ffn_down_exps.scale")):
            if name.endswith(theirs):
                return f"blk.{name.split('.')[2]}{ours}"
        if name.endswith(("_scale", "layer_scalar")) or (family == "gemma4_text" and ".experts." in name):
            name += ".weight"
        return table.get_name(name, try_suffixes=(".weight", ".bias"))
    stem, suffix = name.rsplit(".", 1)
    words = stem.split(".")
    number = next((i for i, word in enumerate(words) if word.isdigit()), None)
    if number is None:                       # published files come with and without a prefix
        known = {key.split(".")[-1]: value for key, value in NAMES[family].items()}
        return f"{known[words[-1]]}.{suffix}"
    return f"blk.{words[number]}.{NAMES[family]['.'.join(words[number + 1:])]}.{suffix}"


def arranged(family, name, value, config):
    """A tensor of the library as the converter lays it out."""
    heads = config["heads"]
    if family in PAIRS and "q_proj" in name:
        return pairs(value, heads)
    if family in PAIRS and "k_proj" in name:
        return pairs(value, config["kv_heads"])
    if family == "gpt2" and name.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight")):
        return np.ascontiguousarray(value.T)
    if "query_key_value" in name:
        return parts(value, heads, config["kv_heads"])
    if name.endswith("conv.conv.weight"):
        return value.squeeze(1)
    if family in ("gemma", "gemma2", "gemma3_text") and name.endswith("norm.weight"):
        return value + np.float32(1)
    return value


def sizes(config):
    """The sizes of a config.json, whatever their names."""
    def first(*names, default=None):
        return next((config[name] for name in names if config.get(name) is not None), default)
    heads = first("num_attention_heads", "n_head", "n_heads")
    hidden = first("hidden_size", "n_embd", "d_model", "n_embed")
    kv = first("num_key_value_heads", "num_kv_heads", default=heads)
    if config["model_type"] == "falcon" and not config["new_decoder_architecture"]:
        kv = 1 if config["multi_query"] else heads
    return dict(heads=heads, hidden=hidden, kv_heads=kv, layers=first("num_hidden_layers", "n_layer", "n_layers"),
                head_size=config.get("head_dim") or hidden // heads,
                inner=first("intermediate_size", "n_inner", "ffn_hidden_size", default=4 * hidden),
                context=first("max_position_embeddings", "n_positions", "max_seq_len", "seq_length", default=64),
                epsilon=first("rms_norm_eps", "layer_norm_epsilon", "layer_norm_eps", "norm_epsilon", "norm_eps"))


def widened(config):
    """The width of an LFM2's MLP."""
    inner, multiple = int(config["block_ffn_dim_multiplier"] * int(2 * config["intermediate_size"] / 3)), config["block_multiple_of"]
    return multiple * -(-inner // multiple)


RMS = ("llama", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "olmo2", "olmo3", "granite", "smollm3", "arcee", "seed_oss", "exaone4", "glm4",
       "hunyuan_v1_dense", "ministral3", "lfm2", *MIXED, *NEWER)


def write_metadata(w, config):
    """The keys that the converter writes."""
    s, family = sizes(config), config["model_type"]
    rope = {**(config.get("rope_parameters") or {}), **(config.get("rope_scaling") or {})}
    local, rope = rope.get("sliding_attention"), rope.get("full_attention", rope)
    w.add_type("model")
    w.add_name("a golden")
    w.add_quantization_version(2)
    w.add_context_length(s["context"])
    w.add_embedding_length(s["hidden"])
    w.add_block_count(s["layers"])
    if family == "gemma4_text" and config["use_double_wide_mlp"]:
        w.add_feed_forward_length([s["inner"] * (1 + (i >= s["layers"] - config["num_kv_shared_layers"])) for i in range(s["layers"])])
    elif family == "llama4_text":
        w.add_feed_forward_length(config["intermediate_size_mlp"])
    else:
        w.add_feed_forward_length(widened(config) if family == "lfm2" else s["inner"])
    w.add_head_count(s["heads"])
    if family in ("lfm2", "lfm2_moe"):
        w.add_head_count_kv([0 if kind == "conv" else s["kv_heads"] for kind in config["layer_types"]])
        w.add_shortconv_l_cache(config["conv_L_cache"])
    elif family == "gemma4_text" and full(config, "num_key_value_heads") != s["kv_heads"]:
        w.add_head_count_kv([s["kv_heads"] if kind == "sliding_attention" else full(config, "num_key_value_heads") for kind in config["layer_types"]])
    elif family not in ("gpt2", "gpt_neox"):
        w.add_head_count_kv(s["kv_heads"])
    if family in (*RMS, "phi3"):
        w.add_layer_norm_rms_eps(s["epsilon"])
        w.add_key_length(full(config, "head_dim"))
        w.add_value_length(full(config, "head_dim"))
        w.add_vocab_size(config["vocab_size"])
    else:
        w.add_layer_norm_eps(s["epsilon"] or 1e-5)
    theta = config.get("rope_theta") or config.get("rotary_emb_base") or rope.get("rope_theta")
    if theta:
        w.add_rope_freq_base(theta)
    if family == "olmo3" and local["rope_theta"] != theta or family in ("gemma3n_text", "gemma4_text"):
        w.add_rope_freq_base_swa(local["rope_theta"])
    if family in ("glm4_moe", "glm4", "stablelm"):
        w.add_rope_dimension_count(int(rope["partial_rotary_factor"] * s["head_size"]))
    elif family in RMS or family in ("cohere", "cohere2", "starcoder2", "olmo", "jais2"):
        w.add_rope_dimension_count(full(config, "head_dim"))
    if family in ("gemma3n_text", "gemma4_text"):
        write_by_layer(w, config)
    if family in ("cohere", "cohere2"):
        w.add_logit_scale(config["logit_scale"])
    if family == "phi3" or family in ("gemma3_text", "cohere2"):
        w.add_sliding_window(config.get("sliding_window") or 0)
    if family in ("olmo3", "exaone4") and config["sliding_window"]:
        w.add_sliding_window(config["sliding_window"])
        w.add_sliding_window_pattern([kind == "sliding_attention" for kind in config["layer_types"]] if config["layer_types"]
                                     else [(i + 1) % 4 != 0 for i in range(s["layers"])])
    if family == "jais2":
        w.add_key_length(s["head_size"])
        w.add_value_length(s["head_size"])
    if family == "olmo" and config["clip_qkv"]:
        w.add_clamp_kqv(config["clip_qkv"])
    if family == "stablelm":
        w.add_parallel_residual(config["use_parallel_residual"])
    if family == "ministral3":
        w.add_rope_scaling_yarn_log_mul(rope["mscale_all_dim"])
        w.add_attn_temperature_scale(rope["llama_4_scaling_beta"])
    if family in ("phi", "phi3", "gpt_neox"):
        part = config.get("rotary_pct") or rope.get("partial_rotary_factor") or config.get("partial_rotary_factor")
        w.add_rope_dimension_count(int(part * s["head_size"]))
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind in ("su", "longrope"):
        original = rope["original_max_position_embeddings"]
        w.add_rope_scaling_orig_ctx_len(original)
        w.add_rope_scaling_attn_factors(np.sqrt(1 + np.log(s["context"] / original) / np.log(original)))
    if kind in ("linear", "yarn"):
        w.add_string(f"{w.arch}.rope.scaling.type", kind)
        w.add_rope_scaling_factor(rope["factor"])
        if kind == "yarn":
            w.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
            if rope.get("attention_factor"):
                w.add_rope_scaling_yarn_attn_factor(rope["attention_factor"])
    if family == "gpt_neox":
        w.add_parallel_residual(config.get("use_parallel_residual", True))
    if family == "mpt":
        w.add_max_alibi_bias(config["attn_config"]["alibi_bias_max"])
    if family in MIXED or family == "llama4_text" or config.get("enable_moe_block"):
        write_experts(w, config)
    if family in ("granite", "granitemoe", "granitemoeshared"):
        w.add_embedding_scale(config["embedding_multiplier"])
        w.add_residual_scale(config["residual_multiplier"])
        w.add_attention_scale(config["attention_multiplier"])
        w.add_logit_scale(config["logits_scaling"])
    if family == "gemma2":
        w.add_attn_logit_softcapping(config["attn_logit_softcapping"])
        w.add_final_logit_softcapping(config["final_logit_softcapping"])
        w.add_sliding_window(config["sliding_window"])
    return s


def full(config, key):
    """The setting in layers without windows, which transformers writes for each of them."""
    other = config.get("per_layer_config") or {}
    return next((one[key] for one in other.values() if key in one), None) or config.get(key) or sizes(config)["head_size"]


def write_by_layer(w, config):
    """The keys of Gemma 3n and 4 that the converter writes, and the pairs that Gemma 4 turns."""
    w.add_sliding_window(config["sliding_window"])
    w.add_sliding_window_pattern([kind == "sliding_attention" for kind in config["layer_types"]])
    w.add_shared_kv_layers(config["num_kv_shared_layers"])
    w.add_embedding_length_per_layer_input(config["hidden_size_per_layer_input"] or 0)
    if config["final_logit_softcapping"]:
        w.add_final_logit_softcapping(config["final_logit_softcapping"])
    if config["model_type"] == "gemma3n_text":
        w.add_altup_active_idx(config["altup_active_idx"])
        w.add_altup_num_inputs(config["altup_num_inputs"])
        w.add_activation_sparsity_scale(torch.distributions.normal.Normal(0, 1).icdf(torch.tensor(config["activation_sparsity_pattern"], dtype=torch.float64)).tolist())
        return
    w.add_key_length_swa(config["head_dim"])
    w.add_value_length_swa(config["head_dim"])
    w.add_rope_dimension_count_swa(config["head_dim"])
    half = full(config, "head_dim") // 2
    turned = int(config["rope_parameters"]["full_attention"]["partial_rotary_factor"] * half)
    w.add_tensor("rope_freqs.weight", np.array([1.0] * turned + [1e30] * (half - turned), dtype=np.float32))


def write_experts(w, config):
    """The keys about experts that the converter writes."""
    family = config["model_type"]
    w.add_expert_count(next(config[key] for key in ("num_local_experts", "num_experts", "n_routed_experts") if key in config))
    w.add_expert_used_count(config["top_k_experts" if family == "gemma4_text" else "num_experts_per_tok"])
    if "moe_intermediate_size" in config:
        w.add_expert_feed_forward_length(config["moe_intermediate_size"])
    if family == "granitemoeshared":
        w.add_expert_shared_feed_forward_length(config["shared_intermediate_size"])
    if family == "qwen2_moe":
        w.add_expert_shared_feed_forward_length(config["shared_expert_intermediate_size"])
    if family in ("glm4_moe", "dots1"):
        w.add_expert_gating_func(ExpertGatingFuncType.SIGMOID)
        w.add_expert_weights_scale(config["routed_scaling_factor"])
        w.add_expert_weights_norm(config["norm_topk_prob"])
        w.add_expert_shared_count(config["n_shared_experts"])
        w.add_expert_group_count(config["n_group"])
        w.add_expert_group_used_count(config["topk_group"])
        w.add_leading_dense_block_count(config["first_k_dense_replace"])
    if family == "lfm2_moe":
        w.add_expert_gating_func(ExpertGatingFuncType.SIGMOID)
        w.add_expert_weights_scale(config["routed_scaling_factor"])
        w.add_expert_weights_norm(config["norm_topk_prob"])
        w.add_leading_dense_block_count(config["num_dense_layers"])
    if family == "llama4_text":
        w.add_interleave_moe_layer_step(config["interleave_moe_layer_step"])
        w.add_expert_feed_forward_length(config["intermediate_size"])
    if family == "gpt_oss":
        w.add_sliding_window(config["sliding_window"])
        w.add_expert_feed_forward_length(config["intermediate_size"])


def stacked(family, tensors, short):
    """Experts as the converter lays them out: each part of all of a layer in one tensor."""
    out, out_short = {}, {}
    for name, value in tensors.items():
        if family == "llama4_text" and ".experts." in name:
            value = value.swapaxes(1, 2)
        altup = re.fullmatch(r"(.*altup_(?:unembed_)?projections)\.(\d)\.weight", name)
        if altup or family == "gemma4_text":
            key = altup[1] + ".weight" if altup else name
            out[key] = np.stack([value] if altup[2] == "0" else [*out[key], value]) if altup else value
            out_short[key] = short[name]
            continue
        apart = re.fullmatch(r"(.*\.experts\.)(\d+)(\..*)", name)
        joined = re.fullmatch(r"(.*)(?:experts\.gate_up_proj|input_linear\.weight)(_bias)?", name)
        down = re.fullmatch(r"(.*)(?:experts\.down_proj|output_linear\.weight)(_bias)?", name)
        made = {name: value}
        if apart and apart[2] != "0":
            continue
        if apart:
            count = sum(other.startswith(apart[1]) and other.endswith(apart[3]) for other in tensors)
            made = {apart[1] + apart[3][1:]: np.stack([tensors[f"{apart[1]}{i}{apart[3]}"] for i in range(count)])}
        elif (joined or down) and family == "gpt_oss":
            at, end = (joined or down)[1], ".bias" if (joined or down)[2] else ".weight"
            value = value if end == ".bias" else value.swapaxes(1, 2)
            made = {f"{at}experts.down_proj{end}": value} if down else {f"{at}experts.{part}_proj{end}": value[:, i::2] for i, part in enumerate(("gate", "up"))}
        elif "shared_mlp." in name:
            at = name.split("shared_mlp.")[0] + "mlp.shared_experts."
            parts_of = dict(zip(("gate", "up"), np.split(value, 2))) if joined else {"down": value}
            made = {f"{at}{part}_proj.weight": matrix for part, matrix in parts_of.items()}
        elif joined:
            gate, up = np.split(value, 2, axis=1)
            made = {joined[1] + "experts.gate_proj.weight": gate, joined[1] + "experts.up_proj.weight": up}
        elif down:
            made = {down[1] + "experts.down_proj.weight": value}
        out.update(made)
        out_short.update(dict.fromkeys(made, short[name]))
    return out, out_short


def norms_together(tensors, short):
    """The norms of stablelm's heads as the converter stacks them: a row for each head."""
    out = {}
    for name, value in tensors.items():
        apart = re.fullmatch(r"(.*_layernorm)\.norms\.(\d+)(\.weight)", name)
        if not apart:
            out[name] = value
        elif apart[2] == "0":
            count = sum(other.startswith(apart[1] + ".norms.") for other in tensors)
            out[apart[1] + apart[3]] = np.stack([tensors[f"{apart[1]}.norms.{i}{apart[3]}"] for i in range(count)])
            short[apart[1] + apart[3]] = False
    return out, short


def finish(w):
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def read_checkpoint(folder):
    """(config, tensors in float32, 1 for each stored in bfloat16) of a golden case."""
    with open(os.path.join(folder, "config.json")) as file:
        config = json.load(file)
    tensors, short = {}, {}
    for name in sorted(os.listdir(folder)):
        if name.endswith(".safetensors"):
            with safe_open(os.path.join(folder, name), "pt") as f:
                for key in f.keys():
                    value = f.get_tensor(key)
                    if value.dim() and not key.endswith((".attn.bias", ".attention.bias", ".masked_bias", ".inv_freq")):
                        tensors[key], short[key] = value.float().numpy(), value.dtype == torch.bfloat16
    return config, tensors, short


def convert(case, path=None, **split):
    """The golden case as GGUF: matrices in the type that the case has, vectors in float32."""
    config, tensors, short = read_checkpoint(os.path.join(GOLDENS, case))
    family = config["model_type"]
    w = GGUFWriter(path or os.path.join(HERE, case + ".gguf"), ARCHITECTURES.get(family, family), **split)
    s = write_metadata(w, config)
    if family in MIXED or family in NEWER:
        tensors, short = stacked(family, tensors, short)
    if family == "stablelm":
        tensors, short = norms_together(tensors, short)
    for name, value in tensors.items():
        if name.endswith("shared_expert_gate.weight"):
            value = value.squeeze()          # as the converter does it
        value = np.ascontiguousarray(arranged(family, name, value, s))
        if short[name] and value.ndim >= 2 and not name.endswith(("_bias", "conv.conv.weight")) and ".bias" not in name:
            w.add_tensor(gguf_name(family, name), quants.quantize(value, T.BF16), raw_dtype=T.BF16)
        else:
            w.add_tensor(gguf_name(family, name), value)
    finish(w)


# --- models of their own ------------------------------------------------------------------------

def rounding(oracle, tokens, draws=60):
    """How far float32 moves log p: its deviation if the output of each module is changed by up to half a unit in the last place."""
    noise, on = torch.Generator().manual_seed(1), [False]

    def hook(module, given, result):
        if on[0] and isinstance(result, torch.Tensor):
            return result * (1 + (2 * torch.rand(result.shape, generator=noise, dtype=torch.float64) - 1) * 2.0 ** -24)

    for module in oracle.model.modules():
        if not list(module.children()):
            module.register_forward_hook(hook)
    moved = []
    for segment in tokens.tolist():
        values = []
        for draw in range(draws + 1):
            on[0] = draw > 0
            values.append(oracle.log_probability(oracle.table[segment[:-1]], segment[-1]).item())
        moved.append(np.sqrt(np.mean((np.array(values[1:]) - values[0]) ** 2)))
    return max(moved)


def own_model(name, family, config, kinds, freqs=None, moved=None):
    """A random model whose matrices are of `kinds` (by their names, or all; else float32), with its expected values. `moved`: what
    rounding() says of it, where that matters."""
    from transformers import AutoConfig, AutoModelForCausalLM
    rng = make_goldens.generator("gguf " + name)
    folder = os.path.join(HERE, name)
    os.makedirs(folder, exist_ok=True)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(family, **config))
    written = model.config.to_dict()
    w = GGUFWriter(os.path.join(folder, "model.gguf"), ARCHITECTURES.get(family, family))
    s = write_metadata(w, written)
    state = {}
    for key, parameter in sorted(model.named_parameters()):
        value = make_goldens.random_weight(key, tuple(parameter.shape), model.config, rng).numpy()
        if "lm_head" in key:
            value /= np.sqrt(written["hidden_size"] / 16)       # logits of the size that narrow models have
        kind = kinds.get(gguf_name(family, key), kinds.get("*.weight" if key.endswith(".weight") else None, T.F32))
        laid = np.ascontiguousarray(arranged(family, key, value, s))
        if laid.ndim == 1:
            kind = T.F32
        if kind in TYPES and kind not in TERNARY:
            raw, laid = random_quantised(rng, kind, laid.shape, laid.std())
            w.add_tensor(gguf_name(family, key), raw, raw_dtype=kind)
        elif kind is T.F32:
            w.add_tensor(gguf_name(family, key), laid)
        else:
            raw = quants.quantize(laid, kind)
            laid = quants.dequantize(raw, kind)
            w.add_tensor(gguf_name(family, key), raw, raw_dtype=kind)
        state[key] = torch.from_numpy(np.ascontiguousarray(rearranged(family, key, laid, s)))
    if freqs is not None:
        w.add_tensor("rope_freqs.weight", freqs)
    for length in ("long", "short"):
        if f"{length}_factor" in (written.get("rope_parameters") or {}):
            w.add_tensor(f"rope_factors_{length}.weight", np.array(written["rope_parameters"][f"{length}_factor"], dtype=np.float32))
    finish(w)
    case = types.SimpleNamespace(family=family, attention="eager", stored=torch.float32, length=48, config=config, oracle=None, outer=None, decays=True)
    with tempfile.TemporaryDirectory() as temporary:
        make_goldens.write_json(os.path.join(temporary, "config.json"), written)
        oracle = make_goldens.FamilyOracle(case, temporary, state)
    if freqs is not None:
        oracle.model.model.rotary_emb.inv_freq /= torch.from_numpy(freqs).double()
    tokens = make_goldens.draw_tokens(rng, 2, case.length, config["vocab_size"])
    norm, logprob = make_goldens.expected_of(oracle.log_probability, oracle.table, tokens, 10 ** 9, rng, name)
    make_goldens.write_expected(folder, tokens, norm, logprob)
    if moved:
        found = rounding(oracle, tokens)
        assert abs(found / moved - 1) < 0.1, found


def own_mixture(name, family, config, half=False):
    """A random model in float32, also with experts, with its expected values. `half`: matrices in half precision."""
    from transformers import AutoConfig, AutoModelForCausalLM
    rng = make_goldens.generator("gguf " + name)
    folder = os.path.join(HERE, name)
    os.makedirs(folder, exist_ok=True)
    case = types.SimpleNamespace(family=family, attention="eager", stored=torch.float16 if half else torch.float32, length=48, config=config, oracle=None, outer=None, decays=True)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(family, **config))
    state = make_goldens.random_state(model, case, rng)
    w = GGUFWriter(os.path.join(folder, "model.gguf"), ARCHITECTURES.get(family, family))
    s = write_metadata(w, model.config.to_dict())
    tensors, _ = stacked(family, {key: value.numpy() for key, value in state.items()}, dict.fromkeys(state))
    for key, value in tensors.items():
        w.add_tensor(gguf_name(family, key), np.ascontiguousarray(arranged(family, key, value, s)).astype(np.float16 if half and value.ndim > 1 else np.float32))
    finish(w)
    with tempfile.TemporaryDirectory() as temporary:
        make_goldens.write_json(os.path.join(temporary, "config.json"), model.config.to_dict())
        oracle = make_goldens.FamilyOracle(case, temporary, state)
    tokens = make_goldens.draw_tokens(rng, 2, case.length, config["vocab_size"])
    norm, logprob = make_goldens.expected_of(oracle.log_probability, oracle.table, tokens, 10 ** 9, rng, name)
    make_goldens.write_expected(folder, tokens, norm, logprob)


def write_latents(w, config, absorbed):
    """The keys that the converter writes for DeepSeek V2 and V3; `absorbed`: as since 2025."""
    key = config["qk_nope_head_dim"] + config["qk_rope_head_dim"]
    rope = config["rope_parameters"]
    w.add_type("model")
    w.add_context_length(config["max_position_embeddings"])
    w.add_embedding_length(config["hidden_size"])
    w.add_block_count(config["num_hidden_layers"])
    w.add_feed_forward_length(config["intermediate_size"])
    w.add_head_count(config["num_attention_heads"])
    w.add_head_count_kv(1 if absorbed else config["num_attention_heads"])
    w.add_rope_freq_base(rope["rope_theta"])
    w.add_layer_norm_rms_eps(config["rms_norm_eps"])
    w.add_leading_dense_block_count(config["first_k_dense_replace"])
    w.add_vocab_size(config["vocab_size"])
    if config["q_lora_rank"]:
        w.add_q_lora_rank(config["q_lora_rank"])
    w.add_kv_lora_rank(config["kv_lora_rank"])
    w.add_key_length(config["kv_lora_rank"] + config["qk_rope_head_dim"] if absorbed else key)
    w.add_value_length(config["kv_lora_rank"] if absorbed else config["v_head_dim"])
    if absorbed:
        w.add_key_length_mla(key)
        w.add_value_length_mla(config["v_head_dim"])
    w.add_expert_feed_forward_length(config["moe_intermediate_size"])
    w.add_expert_count(config["n_routed_experts"])
    w.add_expert_used_count(config["num_experts_per_tok"])
    w.add_expert_shared_count(config["n_shared_experts"])
    w.add_expert_weights_scale(config["routed_scaling_factor"])
    if config["norm_topk_prob"]:
        w.add_expert_weights_norm(True)
    w.add_expert_group_count(config["n_group"])
    w.add_expert_group_used_count(config["topk_group"])
    w.add_expert_gating_func(ExpertGatingFuncType.SIGMOID if config["model_type"] == "deepseek_v3" else ExpertGatingFuncType.SOFTMAX)
    w.add_rope_dimension_count(config["qk_rope_head_dim"])
    if rope["rope_type"] == "yarn":
        w.add_string(f"{w.arch}.rope.scaling.type", "yarn")
        w.add_rope_scaling_factor(rope["factor"])
        w.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
        w.add_rope_scaling_yarn_beta_fast(rope["beta_fast"])
        w.add_rope_scaling_yarn_beta_slow(rope["beta_slow"])
        w.add_rope_scaling_yarn_log_mul(0.1 * rope["mscale_all_dim"])


def own_latents(name, family, config, absorbed):
    """A random DeepSeek, with its expected values. `absorbed`: keys and values of heads apart, the keys transposed and in blocks of Q8_0."""
    from transformers import AutoConfig, AutoModelForCausalLM
    rng = make_goldens.generator("gguf " + name)
    folder = os.path.join(HERE, name)
    os.makedirs(folder, exist_ok=True)
    case = types.SimpleNamespace(family=family, attention="eager", stored=torch.float32, length=48, config=config, oracle=None, outer=None, decays=True)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(family, **config))
    written = model.config.to_dict()
    state = make_goldens.random_state(model, case, rng)
    heads, own, value = (written[key] for key in ("num_attention_heads", "qk_nope_head_dim", "v_head_dim"))
    w = GGUFWriter(os.path.join(folder, "model.gguf"), "deepseek2")
    write_latents(w, written, absorbed)
    tensors, _ = stacked(family, {key: tensor.numpy() for key, tensor in state.items()}, dict.fromkeys(state))
    for key, tensor in tensors.items():
        if not absorbed or "kv_b_proj" not in key:
            w.add_tensor(gguf_name(family, key), np.ascontiguousarray(tensor))
            continue
        keys, values = np.split(tensor.reshape(heads, own + value, -1), [own], axis=1)
        raw = quants.quantize(np.ascontiguousarray(keys.swapaxes(1, 2)), T.Q8_0)
        half = values.astype(np.float16)
        w.add_tensor(gguf_name(family, key.replace("kv_b_proj", "k_b_proj")), raw, raw_dtype=T.Q8_0)
        w.add_tensor(gguf_name(family, key.replace("kv_b_proj", "v_b_proj")), half)
        joined = np.concatenate([quants.dequantize(raw, T.Q8_0).swapaxes(1, 2), half.astype(np.float32)], axis=1)
        state[key] = torch.from_numpy(np.ascontiguousarray(joined.reshape(tensor.shape)))
    finish(w)
    with tempfile.TemporaryDirectory() as temporary:
        make_goldens.write_json(os.path.join(temporary, "config.json"), written)
        oracle = make_goldens.FamilyOracle(case, temporary, state)
    tokens = make_goldens.draw_tokens(rng, 2, case.length, config["vocab_size"])
    norm, logprob = make_goldens.expected_of(oracle.log_probability, oracle.table, tokens, 10 ** 9, rng, name)
    make_goldens.write_expected(folder, tokens, norm, logprob)


def rearranged(family, name, value, s):
    """Back from `arranged`, in the order of rows (which quantised blocks keep)."""
    if family in ("gemma", "gemma2", "gemma3_text") and name.endswith("norm.weight"):
        return value.astype(np.float64) - 1
    if family == "gpt2" and name.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight")):
        return value.T
    order = arranged(family, name, np.arange(value.shape[0]), s)
    out = np.empty_like(value)
    out[order] = value
    return out


# --- tokenizers ---------------------------------------------------------------------------------

TEKKEN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
          r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN35 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
# as published tokenizer.json of DeepSeek have them; the first model lists letters with case
EAST = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"
CASED = """
00B5 00C0-00D6 00D8-00F6 00F8-01BA 01BC-01BF 01C4-0293 0295-02AF 0370-0373 0376 0377 037B-037D 037F 0386 0388-038A 038C 038E-03A1 03A3-03F5
03F7-0481 048A-052F 0531-0556 10A0-10C5 13A0-13F5 13F8-13FD 1C90-1CBA 1CBD-1CBF 1D00-1D2B 1D6B-1D77 1D79-1D9A 1E00-1F15 1F18-1F1D 1F20-1F45
1F48-1F4D 1F50-1F57 1F59 1F5B 1F5D 1F5F-1F7D 1F80-1FB4 1FB6-1FBC 1FBE 1FC2-1FC4 1FC6-1FCC 1FD0-1FD3 1FD6-1FDB 1FE0-1FEC 1FF2-1FF4 1FF6-1FFC
2102 2107 210A-2113 2115 2119-211D 2124 2126 2128 212A-212D 212F-2134 2139 213C-213F 2145-2149 214E 2183 2184 2C00-2C7B 2C7E-2CE4 2CEB-2CEE
2CF2 2CF3 A640-A66D A680-A69B A722-A76F A771-A787 A78B-A78E AB70-ABBF FB00-FB06 FB13-FB17 FF21-FF3A FF41-FF5A 10400-1044F 104B0-104D3
104D8-104FB 10C80-10CB2 10CC0-10CF2 118A0-118DF 1E900-1E943
"""
LETTERS = r"\s?[A-Za-z" + "".join("-".join(chr(int(end, 16)) for end in part.split("-")) for part in CASED.split()) + "]+"
DEEPSEEK_LLM = ["[\r\n]", LETTERS, "\\s?[!-/:-~！-／：-～‘-‟　-。]+", r"\s+$", EAST, "digits"]
DEEPSEEK_CODER = ["[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", EAST, "digits"]
DEEPSEEK_V3 = [r"\p{N}{1,3}", "[一-龥\u3040-ゟ゠-ヿ]+",
               r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""]
KIMI = "|".join([r"[\p{Han}]+", r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
                 r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
                 r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
DEFAULT = [r"[\p{P}\$\+<=>\^~\|]+", r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)", r"\p{N}+", "[0-9][0-9][0-9]"]


def splits(*patterns):
    """Each pattern's matches are words of their own, or each digit; then bytes."""
    steps = [{"type": "Digits", "individual_digits": True} if pattern == "digits" else
             {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False} for pattern in patterns]
    return {"type": "Sequence", "pretokenizers": steps + [{"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}]}


def train_on(described, text, count):
    """`count` merges more, of the most frequent pairs in the text that is not split, so that the ids show where words end."""
    import tokenizers
    vocabulary, merges = described["model"]["vocab"], described["model"]["merges"]
    for added in described["added_tokens"]:
        vocabulary[added["content"]] = added["id"]
    tokenizer = tokenizers.Tokenizer.from_str(json.dumps({**described, "pre_tokenizer": splits()}))
    text = tokenizer.normalizer.normalize_str(text) if tokenizer.normalizer else text
    words = [[token.value for token in tokenizer.model.tokenize(word)] for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text)]
    for _ in range(count):
        pairs = collections.Counter(pair for word in words for pair in zip(word, word[1:]))
        pair = min(pairs, key=lambda p: (-pairs[p], p))
        vocabulary.setdefault("".join(pair), max(vocabulary.values()) + 1)
        merges.append(" ".join(pair) if isinstance(merges[0], str) else list(pair))
        words = [merged(word, pair) for word in words]


def merged(word, pair):
    """The word with each such pair as one token."""
    out, i = [], 0
    while i < len(word):
        joins = tuple(word[i:i + 2]) == pair
        out.append("".join(pair) if joins else word[i])
        i += 1 + joins
    return out


def make_tokenizer(pre, case, splitter=None, ids=False, bos=None, add_bos=None, composes=False, more=0, **model):
    """The tokenizer of a case as GGUF."""
    import tokenizers
    with open(os.path.join(GOLDENS, "tokenizer", case + ".json"), encoding="utf-8") as file:
        described = json.load(file)
    described["model"].update(model)
    described["pre_tokenizer"] = splitter or described["pre_tokenizer"]
    if composes:
        described["normalizer"] = {"type": "NFC"}
    with open(os.path.join(GOLDENS, "tokenizer", "text.bin"), "rb") as file:
        text = file.read().decode("utf-8", errors="replace")
    if more:
        train_on(described, text, more)
    tokens = {value: key for key, value in described["model"]["vocab"].items()}
    kinds = {}
    for added in described["added_tokens"]:
        added.update(lstrip=False, rstrip=False, single_word=False, normalized=False)
        tokens[added["id"]], kinds[added["id"]] = added["content"], 3 if added["special"] else 4
    if pre == "gemma4":                       # the converter knows bytes, and nothing of runs of newlines
        kinds.update({i: 6 for i, token in tokens.items() if re.fullmatch("<0x[0-9A-F]{2}>", token)})
        kinds.update({i: 1 for i, token in tokens.items() if not token.strip("\n")})
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in described["model"]["merges"]]
    if case == "gpt2":                        # a line that tells the version is not a merge
        merges = [merge for merge in merges if not merge.startswith("#version")]
    folder = os.path.join(HERE, "tokenizer")
    os.makedirs(folder, exist_ok=True)
    w = GGUFWriter(os.path.join(folder, pre.replace("gpt-2", "gpt2") + ".gguf"), "llama")
    w.add_tokenizer_model(pre if pre == "gemma4" else "gpt2")
    if pre != "gemma4":
        w.add_tokenizer_pre(pre)
    w.add_token_list([tokens.get(i, f"[PAD{i}]") for i in range(max(tokens) + 1)])
    w.add_token_types([kinds.get(i, 1 if i in tokens else 5) for i in range(max(tokens) + 1)])
    w.add_token_merges(merges)
    if bos is not None:
        w.add_bos_token_id(bos)
    if add_bos is not None:
        w.add_add_bos_token(add_bos)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.close()
    if ids:
        found = tokenizers.Tokenizer.from_str(json.dumps(described)).encode(text, add_special_tokens=False).ids
        np.save(os.path.join(folder, pre + ".npy"), np.array(found, dtype=np.uint16))


def make_tokenizers():
    make_tokenizer("gpt-2", "gpt2", bos=0)
    make_tokenizer("llama-bpe", "llama3", bos=0)
    make_tokenizer("qwen2", "qwen2", ids=True)
    make_tokenizer("smollm", "starcoder")
    make_tokenizer("falcon", "falcon")
    make_tokenizer("bloom", "bloom")
    make_tokenizer("default", "starcoder", splits(*DEFAULT), ids=True)
    make_tokenizer("tekken", "starcoder", splits(TEKKEN), ids=True, add_bos=False, ignore_merges=True)
    make_tokenizer("gpt-4o", "cased")
    make_tokenizer("kimi-k2", "cased", splits(KIMI), ids=True, more=150, ignore_merges=True)
    make_tokenizer("command-r", "starcoder", ids=True, composes=True)
    make_tokenizer("chatglm-bpe", "llama3", ids=True, ignore_merges=False)
    make_tokenizer("qwen35", "qwen2", splits(QWEN35), ids=True, more=150)
    make_tokenizer("deepseek-llm", "chain", splits(*DEEPSEEK_LLM), ids=True, more=150)
    make_tokenizer("deepseek-coder", "chain", splits(*DEEPSEEK_CODER), ids=True, more=150)
    make_tokenizer("deepseek-v3", "llama3", splits(*DEEPSEEK_V3), ids=True, more=150, ignore_merges=False)
    make_tokenizer("gemma4", "gemma", bos=2, add_bos=True)


def as_hybrid():
    """granite-plain with the keys that the converter adds to a hybrid without recurrences and experts."""
    folder = os.path.join(HERE, "granite-plain")
    from gguf import GGUFReader
    read = GGUFReader(os.path.join(folder, "model.gguf"))
    w = GGUFWriter(os.path.join(folder, "attention.gguf"), "granite")
    for name, field in read.fields.items():
        if name.startswith("granite.") and not name.endswith(".head_count_kv"):
            w.add_key_value(name, field.contents(), field.types[0])
    count = read.fields["granite.block_count"].contents()
    w.add_head_count_kv([read.fields["granite.attention.head_count_kv"].contents()] * count)
    w.add_expert_shared_feed_forward_length(read.fields["granite.feed_forward_length"].contents())
    w.add_expert_count(0)
    w.add_ssm_conv_kernel(4)
    w.add_ssm_state_size(256)
    w.add_ssm_group_count(1)
    w.add_ssm_inner_size(32)
    w.add_ssm_time_step_rank(128)
    w.add_rope_scaling_finetuned(True)
    for tensor in read.tensors:
        w.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    finish(w)


EXPERTS = ("mixtral", "qwen2-moe-all", "qwen3-moe", "olmoe-plain", "granitemoe-names", "glm4-moe", "gpt-oss")
QUANTISED = {"token_embd.weight": T.Q6_K, "output.weight": T.Q4_K, "blk.0.attn_q.weight": T.TQ1_0, "blk.0.attn_k.weight": T.Q5_K,
             "blk.0.attn_v.weight": T.TQ2_0, "blk.0.attn_output.weight": T.Q5_0, "blk.0.ffn_gate.weight": T.Q3_K,
             "blk.0.ffn_up.weight": T.Q2_K, "blk.0.ffn_down.weight": T.IQ4_NL, "blk.1.attn_q.weight": T.Q8_0,
             "blk.1.attn_k.weight": T.IQ4_XS, "blk.1.attn_v.weight": T.BF16, "blk.1.attn_output.weight": T.Q4_1,
             "blk.1.ffn_gate.weight": T.F16, "blk.1.ffn_up.weight": T.MXFP4, "blk.1.ffn_down.weight": T.Q5_1}


def make_small():
    """A file of every quantised type in a few kilobytes, which is a model in its head alone: for the fuzz target."""
    rng = make_goldens.generator("gguf small")
    w = GGUFWriter(os.path.join(HERE, "small.gguf"), "llama")
    w.add_embedding_length(256)
    w.add_block_count(len(TYPES))
    w.add_feed_forward_length(2)
    w.add_head_count(1)
    w.add_key_length(4)
    w.add_value_length(4)
    w.add_layer_norm_rms_eps(1e-5)
    w.add_quantization_version(2)
    w.add_tensor("token_embd.weight", random_quantised(rng, T.Q4_K, (2, 256), 1.0)[0], raw_dtype=T.Q4_K)
    w.add_tensor("blk.0.attn_q.weight", random_quantised(rng, T.Q8_0, (4, 256), 1.0)[0], raw_dtype=T.Q8_0)
    for i, kind in enumerate(TYPES):
        w.add_tensor(f"blk.{i}.ffn_up.weight", random_quantised(rng, kind, (2, 256), 1.0)[0], raw_dtype=kind)
    finish(w)


def main():
    torch.set_num_threads(1)
    make_blocks()
    make_tokenizers()
    make_small()
    for case in ("llama-tied", "llama-rope-linear", "llama-rope-yarn", "qwen2", "gpt2", "gpt-neox-parallel", "bloom-4-heads", "mpt-bias-max",
                 "falcon-groups", "falcon-groups-one-norm", "falcon-queries", "phi", "gemma", "phi3", "starcoder2", "olmo2", "cohere", *EXPERTS,
                 "granite-tied", "arcee", "seed-oss", "stablelm", "stablelm-head-norms", "exaone4", "glm4", "hunyuan-v1-dense",
                 "gpt-bigcode", "olmo3"):
        convert(case)
    convert("llama-gqa", os.path.join(HERE, "split.gguf"), split_max_tensors=14, small_first_shard=True)
    llama = dict(vocab_size=96, hidden_size=256, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                 head_dim=16, max_position_embeddings=128, rms_norm_eps=1e-5, tie_word_embeddings=False, rope_theta=700.0)
    own_model("quantised", "llama", llama, QUANTISED)
    own_model("gpt2-quantised", "gpt2", dict(vocab_size=64, n_embd=64, n_layer=2, n_head=4, n_positions=64), {"*.weight": T.Q4_0})
    own_model("gemma2-plain", "gemma2",
              dict(vocab_size=53, hidden_size=16, intermediate_size=20, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, head_dim=8,
                   query_pre_attn_scalar=8, sliding_window=5, attn_logit_softcapping=4.0, final_logit_softcapping=2.5,
                   max_position_embeddings=64), {})
    own_model("qwen3-plain", "qwen3", dict(vocab_size=53, hidden_size=16, intermediate_size=20, num_hidden_layers=2, num_attention_heads=4,
                                          num_key_value_heads=2, head_dim=6, max_position_embeddings=64, rms_norm_eps=2e-5,
                                          tie_word_embeddings=True, rope_theta=700.0), {"*.weight": T.F16})
    few = dict(vocab_size=53, hidden_size=16, intermediate_size=20, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64)
    own_model("gemma3-plain", "gemma3_text",
              dict(few, num_hidden_layers=7, num_attention_heads=2, num_key_value_heads=1, intermediate_size=12, head_dim=8, query_pre_attn_scalar=8, sliding_window=5, rope_theta=5000.0,
                   rope_scaling={"rope_type": "linear", "factor": 4.0}), {"*.weight": T.F16})
    own_model("cohere2-plain", "cohere2", dict(few, num_hidden_layers=5, sliding_window=5, logit_scale=0.75, rope_theta=700.0), {"*.weight": T.F16})
    few = dict(few, vocab_size=31, intermediate_size=12, num_hidden_layers=1, pad_token_id=0, rope_theta=700.0)
    own_model("granite-plain", "granite", dict(few, attention_multiplier=0.25, embedding_multiplier=1.5, residual_multiplier=0.75, logits_scaling=2.0,
                                               tie_word_embeddings=True), {"*.weight": T.F16})
    as_hybrid()
    # float32 moves log p of the first one's second segment by 5e-6, and by up to 2e-5 in 60 draws; reach in float32 is 1.9e-5 off there, so
    # it is compared in float64. Of 16 more of this shape reach in float32 was 3.8e-7 to 5.7e-6 off, transformers in float32 7.2e-7 to 9.5e-6
    own_model("smollm3-plain", "smollm3", dict(few, num_hidden_layers=4), {"*.weight": T.F16}, moved=4.7e-6)
    own_model("smollm3-four", "smollm3", dict(few, num_hidden_layers=4), {"*.weight": T.F16})
    own_model("olmo-clip", "olmo", dict(few, clip_qkv=0.875), {"*.weight": T.F16})
    own_model("ministral3-plain", "ministral3",
              dict(few, head_dim=6, sliding_window=None, rope_parameters={"rope_type": "yarn", "factor": 4.0, "mscale": 1.0, "mscale_all_dim": 1.0, "original_max_position_embeddings": 16,
                                        "llama_4_scaling_beta": 0.75, "rope_theta": 700.0}), {"*.weight": T.F16})
    own_model("phi3-longrope", "phi3",
              dict(few, num_attention_heads=2, num_key_value_heads=1, original_max_position_embeddings=32,
                   rope_parameters={"rope_type": "longrope", "short_factor": [1.0, 1.25, 1.875, 2.5], "long_factor": [1.0, 3.5, 7.0, 9.0], "rope_theta": 700.0,
                                    "original_max_position_embeddings": 32}), {"*.weight": T.F16})
    own_model("jais2-plain", "jais2", dict(few, head_dim=6, layer_norm_eps=2.0 ** -6), {})
    own_mixture("granitemoeshared-plain", "granitemoeshared",
                dict(few, num_local_experts=3, num_experts_per_tok=2, shared_intermediate_size=10, attention_multiplier=0.25, embedding_multiplier=1.5,
                     residual_multiplier=0.75, logits_scaling=2.0))
    own_mixture("dots1-plain", "dots1",
                dict(few, num_hidden_layers=2, moe_intermediate_size=8, n_routed_experts=4, num_experts_per_tok=2, n_shared_experts=2, n_group=2, topk_group=1,
                     first_k_dense_replace=1, norm_topk_prob=True, routed_scaling_factor=2.5, head_dim=4, sliding_window=None))
    few = dict(few, num_hidden_layers=3, norm_eps=2.0 ** -9)
    own_mixture("lfm2-plain", "lfm2", dict(few, layer_types=["conv", "full_attention", "conv"], conv_L_cache=4, block_multiple_of=5, block_ffn_dim_multiplier=1.5, head_dim=6,
                                           tie_word_embeddings=False))
    own_mixture("lfm2moe-plain", "lfm2_moe",
                dict(few, layer_types=["full_attention", "conv", "conv"], conv_bias=True, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=5, num_dense_layers=1,
                     routed_scaling_factor=2.5))
    own_mixture("lfm2moe-free", "lfm2_moe",
                dict(few, layer_types=["conv", "conv", "full_attention"], num_experts=3, num_experts_per_tok=2, moe_intermediate_size=4, num_dense_layers=0, use_expert_bias=False,
                     norm_topk_prob=False))
    latents = dict(vocab_size=31, hidden_size=8, intermediate_size=9, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2, kv_lora_rank=6,
                   qk_nope_head_dim=32, qk_rope_head_dim=4, v_head_dim=5, rms_norm_eps=2.0 ** -6, n_routed_experts=6, n_group=3, topk_group=2,
                   num_experts_per_tok=2, moe_intermediate_size=4, n_shared_experts=2, first_k_dense_replace=1, routed_scaling_factor=2.5,
                   max_position_embeddings=64, pad_token_id=0, tie_word_embeddings=False)
    own_latents("deepseek2-sigma", "deepseek_v3",
                dict(latents, q_lora_rank=4, norm_topk_prob=True,
                     rope_parameters={"rope_type": "yarn", "rope_theta": 50.0, "factor": 4.0, "original_max_position_embeddings": 24, "beta_fast": 6.0,
                                      "beta_slow": 0.5, "mscale": 1.25, "mscale_all_dim": 1.25}), True)
    own_latents("deepseek2-older", "deepseek_v2",
                dict(latents, q_lora_rank=None, qk_nope_head_dim=4, norm_topk_prob=False, topk_method="group_limited_greedy",
                     rope_parameters={"rope_type": "default", "rope_theta": 50.0}), False)
    # the root of 4, which embeddings are multiplied by, is exact in any precision
    few = dict(vocab_size=31, hidden_size=4, intermediate_size=6, num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=64, pad_token_id=0, rms_norm_eps=2.0 ** -9)
    rotary = {"full_attention": {"rope_type": "default", "rope_theta": 700.0}, "sliding_attention": {"rope_type": "default", "rope_theta": 90.0}}
    # shares whose quantiles, which the file holds, are exact in single precision
    shares = torch.distributions.normal.Normal(0, 1).cdf(torch.tensor([0.75, 0.5], dtype=torch.float64)).tolist()
    own_mixture("gemma3n-plain", "gemma3n_text",
                dict(few, num_hidden_layers=3, intermediate_size=[6, 5, 7], num_key_value_heads=1, head_dim=6, laurel_rank=3, altup_active_idx=1, hidden_size_per_layer_input=4,
                     vocab_size_per_layer_input=23, activation_sparsity_pattern=[shares[0], 0.0, shares[1]], num_kv_shared_layers=1, sliding_window=7, rope_parameters=rotary,
                     layer_types=["sliding_attention", "full_attention", "full_attention"], final_logit_softcapping=2.5), half=True)
    rotary["full_attention"].update(rope_type="proportional", partial_rotary_factor=0.5)
    gemma4 = dict(few, head_dim=6, global_head_dim=8, sliding_window=7, rope_parameters=rotary, tie_word_embeddings=True)
    own_mixture("gemma4-keys", "gemma4_text",
                dict(gemma4, num_hidden_layers=2, num_global_key_value_heads=1, attention_k_eq_v=True, hidden_size_per_layer_input=0, num_kv_shared_layers=0,
                     layer_types=["sliding_attention", "full_attention"], final_logit_softcapping=2.5, use_double_wide_mlp=False), half=True)
    own_mixture("gemma4-experts", "gemma4_text",
                dict(gemma4, num_hidden_layers=3, hidden_size_per_layer_input=3, vocab_size_per_layer_input=35, num_kv_shared_layers=1, use_double_wide_mlp=True,
                     layer_types=["full_attention", "sliding_attention", "full_attention"], enable_moe_block=True, num_experts=3, top_k_experts=2, moe_intermediate_size=4), half=True)
    own_mixture("llama4-plain", "llama4_text",
                dict(few, hidden_size=8, num_hidden_layers=4, num_key_value_heads=1, head_dim=4, intermediate_size=5, intermediate_size_mlp=9, num_local_experts=3, num_experts_per_tok=2,
                     interleave_moe_layer_step=2, rope_parameters={"rope_type": "default", "rope_theta": 700.0}, tie_word_embeddings=False), half=True)
    own_model("rope-freqs", "llama", {**llama, "hidden_size": 32}, {}, np.array([1, 1, 1.5, 2.25, 4, 7.3, 8, 8], dtype=np.float32))


if __name__ == "__main__":
    main()
