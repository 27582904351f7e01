#!/usr/bin/env python3
"""Make the goldens of checkpoints that are quantised with scales beside the matrices (doc/quantised.md).

    python3 tests/goldens/quantised/make.py

nf4, fp4, int8, gpt2-nf4, gpt2-int8
                        small random models, quantised and written by transformers with bitsandbytes on the CPU
fp8-blocks, fp8-tensor  the same by transformers' Fp8Quantize, in blocks of 16 x 16 of which the last are cut off, and with one scale a
                        tensor; the matrices are filled up with zeros for it, since it takes whole blocks alone
tensors-bitsandbytes, tensors-fp8
                        matrices without a model: nested scales in two blocks, an odd number of codes, codes stored as bfloat16, zero
                        rows and blocks; every code of E4M3 that is a number, and scales in F32, BF16, and powers of two in both types
mxfp4, tensors-mxfp4    a small gpt_oss with experts of random codes and powers of two, as published folders hold them; two stacks alone, of all
                        codes and with powers of two from the smallest to the largest
Each folder holds crc.csv: the CRC-32 of every quantised matrix, dequantised in float32, row after row; models also tokens.npy, norm.npy and
logprob.npy as those of ../README.md, by transformers in float64 on the dequantised weights.

The values are those of bitsandbytes' implementation for every device (backends/default): its AVX-512 kernel for four bits takes the wrong
scales where rows are no whole number of blocks. Of FP8 they are transformers' own (integrations/finegrained_fp8.py).

Needs bitsandbytes (0.50.2), accelerate, transformers (5.23.0), torch, safetensors, numpy. Seeds are the names.
"""

import json
import os
import shutil
import sys
import tempfile
import types
import zlib

os.environ["TORCHDYNAMO_DISABLE"] = "1"
import bitsandbytes as bnb
import numpy as np
import torch
from bitsandbytes.backends.default.ops import _dequantize_4bit_compute
from safetensors import safe_open
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModelForCausalLM, BitsAndBytesConfig, FineGrainedFP8Config
from transformers.integrations import finegrained_fp8 as fp8
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import make_goldens

LLAMA = dict(hidden_size=36, intermediate_size=50, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, head_dim=18, vocab_size=48,
             max_position_embeddings=64, tie_word_embeddings=False)
GPT2 = dict(n_embd=16, n_layer=1, n_head=2, vocab_size=48, n_positions=48, bos_token_id=0, eos_token_id=0)


# --- values -------------------------------------------------------------------------------------

def read_file(folder):
    with safe_open(os.path.join(folder, "model.safetensors"), "pt") as f:
        return {name: f.get_tensor(name) for name in f.keys()}


def four_bits(stored, name):
    parts = {key[len(name) + 1:]: value for key, value in stored.items() if key.startswith(name + ".")}
    state = bnb.functional.QuantState.from_dict(parts, torch.device("cpu"))
    absmax = state.absmax
    if state.nested:
        absmax = bnb.functional.dequantize_blockwise(state.absmax, state.state2) + state.offset
    codes = stored[name].contiguous().view(torch.uint8).reshape(-1)
    return _dequantize_4bit_compute(codes, absmax, state.code, state.blocksize, state.shape, torch.float32)


def dequantised(stored, size=None):
    """The quantised matrices of a file, in float32."""
    out = {}
    for name in sorted(stored):
        scale = stored.get(name + "_scale_inv")
        if any(key.startswith(name + ".quant_state") for key in stored):
            out[name] = four_bits(stored, name)
        elif stored[name].dtype == torch.int8:
            out[name] = bnb.functional.int8_vectorwise_dequant(stored[name], stored[name[:-6] + "SCB"])
        elif scale is not None:
            if scale.dtype == torch.uint8:
                scale = (scale.float() - 127).exp2()
            out[name] = fp8._dequantize_fp8_weight(stored[name], scale.float(), size, torch.float32)
            if all(n % s == 0 for n, s in zip(out[name].shape, size or (1, 1))):
                other = fp8.Fp8Dequantize(None)._dequantize_one(stored[name], scale.float(), torch.float32)
                assert torch.equal(out[name], other), name
    return out


def dequantised_mxfp4(stored):
    """The same of MXFP4, by transformers."""
    names = sorted(name.removesuffix("_blocks") for name in stored if name.endswith("_blocks"))
    return {name: convert_moe_packed_tensors(stored[name + "_blocks"], stored[name + "_scales"], dtype=torch.float32) for name in names}


def write_sums(folder, values):
    with open(os.path.join(folder, "crc.csv"), "w") as file:
        for name, value in values.items():
            assert value.dtype == torch.float32
            file.write(f"{name},{zlib.crc32(np.ascontiguousarray(value.numpy()).tobytes()):08x}\n")


# --- models -------------------------------------------------------------------------------------

def quantise_fp8(value, size):
    """(codes, scales) of a matrix, in blocks from its corner on."""
    rows, columns = value.shape
    down, across = size or (rows, columns)
    filled = torch.zeros(-(-rows // down) * down, -(-columns // across) * across)
    filled[:rows, :columns] = value
    settings = types.SimpleNamespace(weight_block_size=size, scale_fmt="float")
    made = fp8.Fp8Quantize(types.SimpleNamespace(quantization_config=settings))._quantize_one("x.weight", filled)
    return made["x.weight"][:rows, :columns].contiguous(), made["x.weight_scale_inv"]


def write_fp8(folder, plain, size, scheme):
    stored = {}
    for name, value in read_file(plain).items():
        stored[name] = value
        if "proj" in name:
            stored[name], scale = quantise_fp8(value.float(), size)
            stored[name + "_scale_inv"] = scale if size else scale.reshape(())
            if scheme == "static":
                stored[name[:-6] + "activation_scale"] = torch.tensor(0.5)
    save_file(stored, os.path.join(folder, "model.safetensors"), {"format": "pt"})
    with open(os.path.join(plain, "config.json")) as file:
        config = json.load(file)
    described = FineGrainedFP8Config(activation_scheme=scheme, weight_block_size=size, modules_to_not_convert=["lm_head"])
    config["quantization_config"] = described.to_dict()
    make_goldens.write_json(os.path.join(folder, "config.json"), config)


def make_model(name, family, sizes, quantisation):
    rng = make_goldens.generator("quantised " + name)
    folder = os.path.join(HERE, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    case = types.SimpleNamespace(family=family, attention="eager", stored=torch.bfloat16, length=40, config=sizes, oracle=None, outer=None)
    with tempfile.TemporaryDirectory() as plain:
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(family, **sizes)).to(torch.bfloat16)
        model.load_state_dict(make_goldens.random_state(model, case, rng), strict=False)
        model.save_pretrained(plain)
        if isinstance(quantisation, BitsAndBytesConfig):
            quantised = AutoModelForCausalLM.from_pretrained(plain, quantization_config=quantisation, device_map="cpu", dtype=torch.bfloat16)
            quantised.save_pretrained(folder)
            for other in set(os.listdir(folder)) - {"model.safetensors", "config.json"}:
                os.remove(os.path.join(folder, other))
        else:
            write_fp8(folder, plain, *quantisation)
        stored = read_file(folder)
        values = dequantised(stored, None if isinstance(quantisation, BitsAndBytesConfig) else quantisation[0])
        turned = {key: value.T if family == "gpt2" else value for key, value in values.items()}     # Conv1D
        write_sums(folder, turned)
        kept = read_file(plain)
        assert {key for key in kept if "lm_head" not in key and kept[key].dim() == 2 and "embed" not in key and "wte" not in key
                and "wpe" not in key} == set(values)
        oracle = make_goldens.FamilyOracle(case, plain, {**kept, **turned})
    tokens = make_goldens.draw_tokens(rng, 2, case.length, 48)
    norm, logprob = make_goldens.expected_of(oracle.log_probability, oracle.table, tokens, 10 ** 9, rng, name)
    make_goldens.write_expected(folder, tokens, norm, logprob)


def draw_mxfp4(rng, stack, out, blocks, powers):
    codes = torch.from_numpy(rng.integers(0, 256, (stack, out, blocks, 16)).astype(np.uint8))
    return codes, torch.from_numpy(rng.choice(powers, (stack, out, blocks)).astype(np.uint8))


# of the scales of a model: weights with a standard deviation near 0.1. Four times that makes log p so sensitive that float32, PyTorch's too, is some 1e-5 off
MODEL_POWERS = [121, 122, 123]


def make_model_mxfp4():
    rng, folder = make_goldens.generator("quantised mxfp4"), os.path.join(HERE, "mxfp4")
    shutil.rmtree(folder, ignore_errors=True)
    sizes = dict(hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=8, vocab_size=48, num_local_experts=4,
                 num_experts_per_tok=2, sliding_window=16, max_position_embeddings=64, bos_token_id=0, eos_token_id=0, pad_token_id=0,
                 rope_parameters={"rope_type": "yarn", "rope_theta": 700.0, "factor": 4.0, "original_max_position_embeddings": 16, "truncate": False})
    case = types.SimpleNamespace(family="gpt_oss", attention="eager", stored=torch.bfloat16, length=40, config=sizes, oracle=None, outer=None)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model("gpt_oss", **sizes)).to(torch.bfloat16)
    model.load_state_dict(make_goldens.random_state(model, case, rng), strict=False)
    model.save_pretrained(folder)
    plain, stored = read_file(folder), {}
    for name, value in plain.items():
        if name.endswith(("gate_up_proj", "down_proj")):
            stored[name + "_blocks"], stored[name + "_scales"] = draw_mxfp4(rng, value.shape[0], value.shape[2], value.shape[1] // 32, MODEL_POWERS)
        else:
            stored[name] = value
    save_file(stored, os.path.join(folder, "model.safetensors"), {"format": "pt"})
    values = dequantised_mxfp4(stored)
    write_sums(folder, values)
    oracle = make_goldens.FamilyOracle(case, folder, {**plain, **values})
    with open(os.path.join(folder, "config.json")) as file:
        config = json.load(file)
    rope, config["rope_theta"] = config.pop("rope_parameters"), 700.0      # from here on as published
    config["rope_scaling"] = {key: value for key, value in rope.items() if key != "rope_theta"}
    config.update(experts_per_token=2, initial_context_length=16)
    config["quantization_config"] = {"modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"],
                                     "quant_method": "mxfp4"}
    make_goldens.write_json(os.path.join(folder, "config.json"), config)
    for other in set(os.listdir(folder)) - {"model.safetensors", "config.json", "crc.csv"}:
        os.remove(os.path.join(folder, other))
    tokens = make_goldens.draw_tokens(rng, 2, case.length, 48)
    norm, logprob = make_goldens.expected_of(oracle.log_probability, oracle.table, tokens, 10 ** 9, rng, "mxfp4")
    make_goldens.write_expected(folder, tokens, norm, logprob)


# --- matrices without a model -------------------------------------------------------------------

def write_tensors(name, stored, described, values):
    folder = os.path.join(HERE, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    save_file(stored, os.path.join(folder, "model.safetensors"), {"format": "pt"})
    make_goldens.write_json(os.path.join(folder, "config.json"), {"model_type": "llama", "quantization_config": described})
    write_sums(folder, values)


def make_tensors_bitsandbytes():
    rng = make_goldens.generator("quantised tensors")
    stored = {}

    def add(key, value, kind, block, nested, storage=torch.uint8):
        codes, state = bnb.functional.quantize_4bit(value, blocksize=block, quant_type=kind, compress_statistics=nested, quant_storage=storage)
        stored[key + ".weight"] = codes
        stored.update({f"{key}.weight.{part}": x.contiguous() for part, x in state.as_dict(packed=True).items()})

    def normal(*shape):
        return torch.from_numpy(rng.standard_normal(shape).astype(np.float32))
    add("nested", normal(36, 252), "nf4", 32, True)
    add("odd", normal(5, 7), "fp4", 32, False)
    add("wide", normal(4, 100), "nf4", 64, False, torch.bfloat16)
    holes = normal(6, 64)
    holes[2] = 0
    add("holes", holes, "nf4", 64, False)
    codes, scales, _ = bnb.functional.int8_vectorwise_quant(holes.half())
    stored["bytes.weight"], stored["bytes.SCB"] = codes, scales
    stored["bytes.weight_format"] = torch.tensor(0, dtype=torch.uint8)
    write_tensors("tensors-bitsandbytes", stored, BitsAndBytesConfig(load_in_4bit=True).to_dict(), dequantised(stored))


def make_tensors_fp8():
    rng = make_goldens.generator("quantised tensors of fp8")
    codes = torch.arange(256, dtype=torch.uint8).roll(3)
    codes = torch.cat([codes[codes & 127 != 127], torch.arange(26, dtype=torch.uint8)]).reshape(20, 14).view(torch.float8_e4m3fn)
    size = (8, 5)
    scales = torch.from_numpy(np.exp(rng.standard_normal((3, 3))).astype(np.float32))
    powers = torch.tensor([[0, 1, 127], [128, 100, 140], [127, 90, 200]], dtype=torch.uint8)
    stored = {}
    for key, scale in (("f32", scales), ("bf16", scales.bfloat16()), ("e8m0", powers.view(torch.float8_e8m0fnu)), ("u8", powers)):
        stored[key + ".weight"], stored[key + ".weight_scale_inv"] = codes.clone(), scale.clone()
    described = {"quant_method": "fp8", "weight_block_size": list(size), "activation_scheme": "dynamic", "scale_fmt": "ue8m0"}
    write_tensors("tensors-fp8", stored, described, dequantised(stored, size))


def make_tensors_mxfp4():
    rng, stored = make_goldens.generator("quantised tensors of mxfp4"), {}
    for name, powers in (("a.some", range(120, 132)), ("a.all", range(0, 252))):
        stored[name + "_blocks"], stored[name + "_scales"] = draw_mxfp4(rng, 3, 7, 2, powers)
    stored["a.some_bias"] = torch.zeros(3, 7)
    write_tensors("tensors-mxfp4", stored, {"quant_method": "mxfp4"}, dequantised_mxfp4(stored))


def main():
    torch.set_num_threads(1)
    make_tensors_bitsandbytes()
    make_tensors_fp8()
    make_tensors_mxfp4()
    make_model_mxfp4()
    make_model("nf4", "llama", LLAMA, BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True))
    make_model("fp4", "llama", LLAMA, BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="fp4"))
    make_model("int8", "llama", LLAMA, BitsAndBytesConfig(load_in_8bit=True))
    make_model("gpt2-nf4", "gpt2", GPT2, BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4"))
    make_model("gpt2-int8", "gpt2", GPT2, BitsAndBytesConfig(load_in_8bit=True))
    make_model("fp8-blocks", "llama", LLAMA, ([16, 16], "dynamic"))
    make_model("fp8-tensor", "llama", LLAMA, (None, "static"))


if __name__ == "__main__":
    main()
