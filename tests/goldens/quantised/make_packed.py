#!/usr/bin/env python3
"""Make the goldens of checkpoints whose matrices compressed-tensors, GPTQ or AWQ quantised (doc/quantised.md).

    python3 tests/goldens/quantised/make_packed.py

compressed-fp8, compressed-int8, compressed-int4, gptq, awq
                        small random models: FP8 with a scale a row; bytes with a scale and a zero point a row; four bits in groups with
                        zero points; four bits in groups of the columns in any order, by the first version of GPTQ; AWQ's four bits
tensors-compressed      matrices without a model, of all strategies, types of scales and widths, rows that do not fill their words, and groups of
                        columns in any order
tensors-fp8-names       FP8 as other programs name its scales
tensors-gptq-2, -3, -8  matrices of GPTQ's other widths, by its second version or its first
Each folder holds what make.py says of crc.csv and the models' files.

The matrices of compressed-tensors are written and dequantised by that package (0.20.0), with scales widened to float32. AWQ's are dequantised by
its AutoAWQConverter followed by the same. GPTQ's values are (code - zero) scale of the numbers that are packed, in float64, rounded to float32
once: the difference is a small whole number, and its product with a half is exact in float32.

Needs compressed-tensors, loguru, transformers (5.24.0), torch, safetensors, numpy. Seeds are the names.
"""

import json
import os
import shutil
import sys
import tempfile
import types
import zlib

import numpy as np
import torch
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.compressors.pack_quantized.helpers import pack_to_int32, unpack_from_int32
from compressed_tensors.entrypoints.convert.converters.autoawq import AutoAWQConverter
from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
from safetensors import safe_open
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModelForCausalLM

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import make_goldens

LLAMA = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2, head_dim=16, vocab_size=48,
             max_position_embeddings=64, tie_word_embeddings=False, attention_bias=False)


# --- compressed-tensors -------------------------------------------------------------------------

def scales_of(value, weights):
    """(scale, zero point) of a matrix: the extremes of its blocks spread over the codes, as float32 and int8."""
    rows, columns = value.shape
    down, across = {"tensor": (rows, columns), "channel": (1, columns), "group": (1, weights.group_size),
                    "block": weights.block_structure}[weights.strategy]
    least, most = np.zeros((-(-rows // down), -(-columns // across))), np.zeros((-(-rows // down), -(-columns // across)))
    for r in range(rows):
        for c in range(columns):
            at = r // down, c // across
            least[at], most[at] = min(least[at], value[r, c]), max(most[at], value[r, c])
    if weights.type == "float":
        return torch.tensor(np.maximum(most, -least) / 448).float(), None
    if weights.symmetric:
        return torch.tensor(np.maximum(most, -least) / (2 ** (weights.num_bits - 1) - 0.5)).float(), None
    scale = (most - least) / (2 ** weights.num_bits - 1)
    zero = np.round(-least / scale) - 2 ** (weights.num_bits - 1)
    return torch.tensor(scale).float(), torch.tensor(zero).to(torch.int8)


def compress(value, kind, order=None, stored=torch.float32, **settings):
    """(tensors of a module, its scheme, its dequantised matrix), by the package. `order`: the columns, group after group."""
    weights = QuantizationArgs(**settings)
    scheme = QuantizationScheme(targets=["Linear"], weights=weights, format=kind)
    worker = BaseCompressor.get_value_from_registry(kind)
    ordered = value if order is None else value[:, order]
    scale, zero = scales_of(ordered.numpy(), weights)
    parts = {"weight": ordered, "weight_scale": scale.to(stored).float()}
    if zero is not None:
        parts["weight_zero_point"] = zero
    made = worker.compress(parts, scheme)
    back = worker.decompress(made, scheme)["weight"]
    assert back.dtype == torch.float32
    if order is not None:       # the codes of the columns in their places
        inverse = torch.argsort(order)
        back = back[:, inverse]
        plain = worker.compress({**parts, "weight": torch.zeros_like(value)}, scheme)
        codes = unpack_from_int32(made["weight_packed"], weights.num_bits, value.shape)[:, inverse]
        made = {**plain, "weight_packed": pack_to_int32(codes.contiguous(), weights.num_bits),
                "weight_g_idx": (inverse // weights.group_size).int()}
    made["weight_scale"] = made["weight_scale"].to(stored)
    return {key: part.contiguous() for key, part in made.items()}, scheme, back


def described(kind, schemes, **others):
    groups = {}
    for i, (scheme, targets) in enumerate(schemes):
        groups[f"group_{i}"] = {**json.loads(scheme.model_dump_json()), "targets": targets}
    return {"quant_method": "compressed-tensors", "format": kind, "quantization_status": "compressed", "config_groups": groups,
            "ignore": ["lm_head"], "kv_cache_scheme": None, "global_compression_ratio": None, "sparsity_config": {}, "transform_config": {},
            "version": "0.20.0", **others}


# --- GPTQ and AWQ -------------------------------------------------------------------------------

def words(codes, bits, axis):
    """Numbers of some bits one after the other from the lowest bit on, along an axis, cut into words of 32."""
    codes = np.moveaxis(codes.astype(np.int64), axis, -1)
    string = (codes[..., None] >> np.arange(bits)) & 1
    string = string.reshape(*codes.shape[:-1], -1, 32)
    made = (string << np.arange(32)).sum(-1).astype(np.uint32).view(np.int32)
    return torch.from_numpy(np.ascontiguousarray(np.moveaxis(made, -1, axis)))


def gptq(value, rng, bits, group, version, ordered, stored=torch.float16):
    """(tensors of a module, its dequantised matrix [out, in])."""
    matrix = value.numpy().T.astype(np.float64)
    rows, columns = matrix.shape
    index = np.arange(rows) // group
    if ordered:
        rng.shuffle(index)
    count = -(-rows // group)
    scale, zero = np.zeros((count, columns)), np.zeros((count, columns), np.int64)
    for g in range(count):
        least, most = np.minimum(matrix[index == g].min(0), 0), np.maximum(matrix[index == g].max(0), 0)
        scale[g] = np.maximum(most - least, 1e-3) / (2 ** bits - 1)
        zero[g] = np.clip(np.round(-least / scale[g]), 1 if version == 1 else 0, 2 ** bits - 1)
    if version == 2:
        zero[0, 0], zero[-1, -1] = 0, 2 ** bits - 1
    scale = torch.tensor(scale).to(stored)
    wide = scale.double().numpy()
    codes = np.clip(np.round(matrix / wide[index]) + zero[index], 0, 2 ** bits - 1).astype(np.int64)
    back = ((codes - zero[index]) * wide[index]).astype(np.float32)
    return {"qweight": words(codes, bits, 0), "qzeros": words(zero - (version == 1), bits, 1), "scales": scale,
            "g_idx": torch.tensor(index).int()}, torch.from_numpy(np.ascontiguousarray(back.T))


def awq(value, group):
    """The same by AWQ: eight numbers of a word are those at 0, 2, 4, 6, 1, 3, 5, 7; its values are those of the package's converter."""
    matrix = value.numpy().T.astype(np.float64)
    rows, columns = matrix.shape
    blocks = matrix.reshape(rows // group, group, columns)
    least, most = np.minimum(blocks.min(1), 0), np.maximum(blocks.max(1), 0)
    scale = torch.tensor((most - least) / 15).half()
    wide = scale.double().numpy()
    zero = np.clip(np.round(-least / wide), 0, 15)
    codes = np.clip(np.round(matrix / wide.repeat(group, 0)) + zero.repeat(group, 0), 0, 15)
    order = (np.arange(columns) // 8 * 8) + np.tile([0, 2, 4, 6, 1, 3, 5, 7], columns // 8)
    made = {"qweight": words(codes[:, order], 4, 1), "qzeros": words(zero[:, order], 4, 1), "scales": scale}
    named = {"x." + key: part for key, part in made.items()}
    named["x.scales"] = scale.float()
    converted = AutoAWQConverter(group_size=group).process(named)
    scheme = QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(num_bits=4, symmetric=False, strategy="group", group_size=group))
    back = BaseCompressor.get_value_from_registry("pack-quantized").decompress({key[2:]: part for key, part in converted.items()}, scheme)
    assert np.array_equal(back["weight"].numpy().T, ((codes - zero.repeat(group, 0)) * wide.repeat(group, 0)).astype(np.float32))
    return made, back["weight"]


# --- folders ------------------------------------------------------------------------------------

def write_folder(folder, stored, section, values, config=None):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    save_file(stored, os.path.join(folder, "model.safetensors"), {"format": "pt"})
    config = config or {"model_type": "llama"}
    make_goldens.write_json(os.path.join(folder, "config.json"), {**config, "quantization_config": section})
    with open(os.path.join(folder, "crc.csv"), "w") as file:
        for name, value in sorted(values.items()):
            assert value.dtype == torch.float32
            file.write(f"{name},{zlib.crc32(np.ascontiguousarray(value.numpy()).tobytes()):08x}\n")


def make_model(name, section, quantise):
    """quantise(matrix, rng) = (tensors of a module, dequantised matrix, what `section` takes)."""
    rng = make_goldens.generator("quantised " + name)
    folder = os.path.join(HERE, name)
    case = types.SimpleNamespace(family="llama", attention="eager", stored=torch.bfloat16, length=40, config=LLAMA, oracle=None, outer=None)
    with tempfile.TemporaryDirectory() as plain:
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model("llama", **LLAMA)).to(torch.bfloat16)
        model.load_state_dict(make_goldens.random_state(model, case, rng), strict=False)
        model.save_pretrained(plain)
        with safe_open(os.path.join(plain, "model.safetensors"), "pt") as f:
            kept = {key: f.get_tensor(key) for key in f.keys()}
        with open(os.path.join(plain, "config.json")) as file:
            config = json.load(file)
        stored, values, extra = {}, {}, None
        for key, value in kept.items():
            if "proj" not in key:
                stored[key] = value
                continue
            parts, values[key], extra = quantise(value.float(), rng)
            stored.update({key.removesuffix("weight") + part: x.clone().contiguous() for part, x in parts.items()})
        write_folder(folder, stored, section(extra), values, config)
        oracle = make_goldens.FamilyOracle(case, plain, {**kept, **values})
    tokens = make_goldens.draw_tokens(rng, 2, case.length, 48)
    norm, logprob = make_goldens.expected_of(oracle.log_probability, oracle.table, tokens, 10 ** 9, rng, name)
    make_goldens.write_expected(folder, tokens, norm, logprob)


def make_compressed(name, kind, activations=None, extra=None, **settings):
    def quantise(value, rng):
        parts, scheme, back = compress(value, kind, stored=torch.bfloat16, **settings)
        if extra:
            parts.update(extra)
        return parts, back, scheme

    def section(scheme):
        made = described(kind, [(scheme, ["Linear"])])
        made["config_groups"]["group_0"]["input_activations"] = activations
        return made
    make_model(name, section, quantise)


def make_tensors_compressed():
    rng, stored, values, schemes = make_goldens.generator("quantised tensors compressed"), {}, {}, []

    def add(module, shape, kind, **settings):
        parts, scheme, values[module + ".weight"] = compress(torch.from_numpy(rng.standard_normal(shape).astype(np.float32)), kind, **settings)
        stored.update({f"{module}.{part}": x for part, x in parts.items()})
        schemes.append((scheme, [module]))
    add("fp8.tensor", (5, 7), "float-quantized", num_bits=8, type="float", strategy="tensor")
    add("fp8.channel", (5, 9), "float-quantized", stored=torch.bfloat16, num_bits=8, type="float", strategy="channel")
    add("fp8.group", (4, 12), "naive-quantized", stored=torch.float16, num_bits=8, type="float", strategy="group", group_size=4)
    add("fp8.block", (10, 14), "float-quantized", num_bits=8, type="float", strategy="block", block_structure=[4, 5])
    add("int8.tensor", (5, 6), "int-quantized", num_bits=8, strategy="tensor")
    add("int8.channel", (7, 5), "int-quantized", num_bits=8, strategy="channel", symmetric=False)
    add("int8.group", (3, 16), "naive-quantized", stored=torch.float16, num_bits=8, strategy="group", group_size=8)
    add("pack.channel", (9, 37), "pack-quantized", num_bits=4, strategy="channel", symmetric=False)
    add("pack.group", (11, 72), "pack-quantized", stored=torch.bfloat16, num_bits=4, strategy="group", group_size=24)
    add("pack.zeros", (19, 48), "pack-quantized", num_bits=4, strategy="group", group_size=16, symmetric=False)
    add("pack.bytes", (6, 30), "pack-quantized", num_bits=8, strategy="group", group_size=10, symmetric=False)
    add("pack.two", (18, 52), "pack-quantized", num_bits=2, strategy="group", group_size=13, symmetric=False)
    add("pack.order", (5, 56), "pack-quantized", order=torch.from_numpy(rng.permutation(56)), num_bits=4, strategy="group", group_size=14)
    stored["int8.tensor.weight_zero_point"] = torch.zeros(1, dtype=torch.int8)     # as older versions of the package leave it
    section = described("mixed-precision", schemes)
    write_folder(os.path.join(HERE, "tensors-compressed"), stored, section, values)


def make_tensors_fp8_names():
    rng, stored, values = make_goldens.generator("quantised tensors fp8 names"), {}, {}
    for module in ("a", "b"):
        parts, _, values[module + ".weight"] = compress(torch.from_numpy(rng.standard_normal((6, 10)).astype(np.float32)), "float-quantized",
                                                        num_bits=8, type="float", strategy="tensor")
        parts["weight_scale"] = parts["weight_scale"].reshape((1,) if module == "a" else ())
        stored.update({f"{module}.{part}": x for part, x in parts.items()})
        stored[module + ".input_scale"] = torch.tensor(0.25)
    stored["b.k_scale"] = torch.tensor(0.5)
    write_folder(os.path.join(HERE, "tensors-fp8-names"), stored, {"quant_method": "fp8", "activation_scheme": "static", "ignored_layers": []}, values)


def gptq_section(bits, group, version, ordered):
    return {"quant_method": "gptq", "bits": bits, "group_size": group, "desc_act": ordered, "sym": False, "damp_percent": 0.01,
            "true_sequential": True, "checkpoint_format": ["gptq", "gptq_v2"][version - 1], "meta": {"quantizer": ["a program:1"]},
            "lm_head": False, "dynamic": {"-:.*gate$": {}}}


def make_tensors_gptq(bits, group, version, ordered, stored_as):
    name = f"tensors-gptq-{bits}"
    rng, stored, values = make_goldens.generator("quantised " + name), {}, {}
    for module, shape in (("a", (32, 64)), ("b", (64, 32))):
        parts, values[module + ".weight"] = gptq(torch.from_numpy(rng.standard_normal(shape).astype(np.float32)), rng, bits, group, version, ordered,
                                                 stored_as)
        stored.update({f"{module}.{part}": x for part, x in parts.items()})
    if not ordered:
        del stored["b.g_idx"]
    write_folder(os.path.join(HERE, name), stored, gptq_section(bits, group if group < 64 else -1, version, ordered), values)


def main():
    torch.set_num_threads(1)
    make_tensors_compressed()
    make_tensors_fp8_names()
    make_tensors_gptq(2, 16, 2, False, torch.float32)
    make_tensors_gptq(3, 16, 2, True, torch.float16)
    make_tensors_gptq(8, 64, 1, False, torch.bfloat16)
    dynamic = {"num_bits": 8, "type": "float", "strategy": "token", "dynamic": True, "symmetric": True}
    make_compressed("compressed-fp8", "float-quantized", dynamic, {"input_scale": torch.tensor([0.5])}, num_bits=8, type="float", strategy="channel")
    make_compressed("compressed-int8", "int-quantized", None, num_bits=8, strategy="channel", symmetric=False)
    make_compressed("compressed-int4", "pack-quantized", None, num_bits=4, strategy="group", group_size=16, symmetric=False)
    make_model("gptq", lambda _: gptq_section(4, 16, 1, True), lambda value, rng: (*gptq(value, rng, 4, 16, 1, True), None))
    section = {"quant_method": "awq", "bits": 4, "group_size": 16, "zero_point": True, "version": "gemm", "modules_to_not_convert": None,
               "backend": "autoawq"}
    make_model("awq", lambda _: section, lambda value, rng: (*awq(value, 16), None))


if __name__ == "__main__":
    main()
