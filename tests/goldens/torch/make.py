#!/usr/bin/env python3
"""Small checkpoints in the containers that PyTorch, DeepSpeed, fairseq, llm.c and h5py write, and what is in them.

    python3 tests/goldens/torch/make.py

Every file is written by the library that it belongs to. Beside each stands NAME.json: {tensor: [type, shape, bytes in hex, row after row]}, made from
the tensors themselves. PyTorch 2.15.0 (CPU), h5py 3.16.0, PyYAML 6.0.3, NumPy 2.4.6; weights come from a generator with a fixed seed.
A second run changes no tensor; bytes around them differ where Python orders a set or names a storage by its address.
"""
import argparse
import collections
import json
import os
import random
import shutil
import sys
import types

import h5py
import numpy as np
import torch
import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64", torch.int32: "I32",
         torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8", torch.bool: "BOOL", torch.uint16: "U16"}
generator = torch.Generator().manual_seed(20240711)


def draw(*shape, dtype=torch.float32):
    return torch.randn(*shape, generator=generator).to(dtype)


def at(*parts):
    path = os.path.join(HERE, *parts)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return path


def describe(tensors):
    return {name: [NAMES[t.dtype], list(t.shape), t.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes().hex()]
            for name, t in tensors.items()}


def write_json(name, value):
    with open(at(name + ".json"), "w") as f:
        json.dump(value, f, indent=0)
        f.write("\n")


def state_dict():
    """Every type, and storages that are shared, larger than a tensor, or read in another order."""
    base = draw(6, 4)
    d = collections.OrderedDict()
    d["a.weight"] = base
    d["a.transposed"] = base.t()
    d["a.rows"] = base[2:5]
    d["a.column"] = base[:, 1]
    d["a.every.second"] = base[::2, 1::2]
    d["parameter"] = torch.nn.Parameter(draw(3))
    d["double"] = draw(2, 2, dtype=torch.float64)
    d["half"] = draw(5, dtype=torch.float16)
    d["brain"] = draw(2, 1, 3, dtype=torch.bfloat16).permute(2, 0, 1)
    d["scalar"] = torch.tensor(2.5)
    d["empty"] = torch.zeros(0, 3)
    d["long"] = torch.arange(4)
    d["byte"] = torch.tensor([1, 255], dtype=torch.uint8)
    d["mask"] = torch.tensor([[True, False]])
    d["w\u00f6rter"] = draw(1)
    d._metadata = collections.OrderedDict([("", {"version": 1}), ("a", {"version": 2, "assign": None})])
    return d


def training_state():
    """What DeepSpeed and training scripts keep beside the weights: numpy, random numbers, sets, arguments."""
    np.random.seed(3)
    random.seed(4)
    return {"iteration": 12, "args": {"num_layers": 2, "hidden_size": 8}, "random_rng_state": random.getstate(), "np_rng_state": np.random.get_state(),
            "torch_rng_state": torch.get_rng_state()[:16].clone(), "loss": float("nan"), "names": {"a", "b"}, "big": 1 << 80,
            "dict": collections.defaultdict(list, x=[1]), "array": np.arange(3.0), "bytes": b"\x00\xff", "complex": 1 + 2j,
            "namespace": argparse.Namespace(lr=[1e-4], none=None)}


class Lost:
    """An object of a class that a reader cannot have."""


def save_files():
    d = state_dict()
    torch.save(d, at("plain.pt"))
    torch.save(d, at("legacy.pt"), _use_new_zipfile_serialization=False)
    write_json("plain", describe(d))
    small = {"w": d["a.weight"], "b": d["half"]}
    torch.save(dict(training_state(), model=small), at("nested.pt"))
    write_json("nested", describe(small))
    Lost.__module__ = "lost.module"
    sys.modules["lost.module"] = sys.modules["lost"] = types.ModuleType("lost.module")
    sys.modules["lost.module"].Lost = Lost
    torch.save({"state_dict": small, "trainer": Lost()}, at("opaque.pt"))
    torch.save({"w": d["a.weight"], "hook": Lost()}, at("unknown.pt"))
    torch.save({"w": torch.tensor([1 + 2j])}, at("complex.pt"))
    torch.save({"w": torch.zeros(2, dtype=torch.uint16), "x": draw(2)}, at("untyped.pt"))
    torch.save([draw(1)], at("list.pt"))
    torch.save(draw(2), at("tensor.pt"))
    torch.save({"w": draw(1).expand(1000)}, at("expanded.pt"))


def shards():
    one, two = {"b.weight": draw(2, 3)}, {"a.weight": draw(4), "a.bias": draw(1, dtype=torch.bfloat16)}
    torch.save(one, at("shards", "pytorch_model-00001-of-00002.bin"))
    torch.save(two, at("shards", "pytorch_model-00002-of-00002.bin"))
    index = {"metadata": {"total_size": 42}, "weight_map": {**{k: "pytorch_model-00001-of-00002.bin" for k in one},
                                                            **{k: "pytorch_model-00002-of-00002.bin" for k in two}}}
    json.dump(index, open(at("shards", "pytorch_model.bin.index.json"), "w"), indent=1)
    json.dump({"model_type": "none"}, open(at("shards", "config.json"), "w"))
    write_json("shards/expected", describe({**one, **two}))


HIDDEN, HEADS, VOCABULARY, LAYERS = 8, 4, 16, 2


def neox_layers(dtype):
    """Layers of a model on one rank, by the index that DeepSpeed gives them."""
    layers = {0: {"word_embeddings.weight": draw(VOCABULARY, HIDDEN, dtype=dtype)}}
    for i in range(LAYERS):
        layers[2 + i] = {
            "input_layernorm.weight": draw(HIDDEN, dtype=dtype), "input_layernorm.bias": draw(HIDDEN, dtype=dtype),
            "attention.query_key_value.weight": draw(3 * HIDDEN, HIDDEN, dtype=dtype), "attention.query_key_value.bias": draw(3 * HIDDEN, dtype=dtype),
            "attention.rpe.bias_p": draw(HEADS, 1, 1, dtype=dtype), "attention.rpe.bias_a": draw(HEADS, 1, 1, dtype=dtype),
            "attention.dense.weight": draw(HIDDEN, HIDDEN, dtype=dtype), "attention.dense.bias": draw(HIDDEN, dtype=dtype),
            "post_attention_layernorm.weight": draw(HIDDEN, dtype=dtype), "post_attention_layernorm.bias": draw(HIDDEN, dtype=dtype),
            "mlp.dense_h_to_4h.weight": draw(4 * HIDDEN, HIDDEN, dtype=dtype), "mlp.dense_h_to_4h.bias": draw(4 * HIDDEN, dtype=dtype),
            "mlp.dense_4h_to_h.weight": draw(HIDDEN, 4 * HIDDEN, dtype=dtype), "mlp.dense_4h_to_h.bias": draw(HIDDEN, dtype=dtype)}
    layers[LAYERS + 3] = {"norm.weight": draw(HIDDEN, dtype=dtype), "norm.bias": draw(HIDDEN, dtype=dtype)}
    layers[LAYERS + 4] = {"final_linear.weight": draw(VOCABULARY, HIDDEN, dtype=dtype)}
    return layers


MODEL_YML = """# flow style, as KERPLE's
{
  "num-layers": 2, "hidden-size": 8, "num-attention-heads": 4, "seq-length": 16, "max-position-embeddings": 16,
  "norm": "layernorm", "pos-emb": "kerple_log", "no-weight-tying": true,
  "pipe-parallel-size": 1, "model-parallel-size": 1,
  "attention-config": [[["global"], 2]],
  "optimizer": {"type": "Adam", "params": {"lr": 0.0006, "betas": [0.9, 0.999], "eps": 1.0e-8,}},
  "train-iters": 10, "lr-decay-style": "cosine", "min-lr": 1e-5, "checkpoint-activations": True,
}
"""
SETUP_YML = """---
# block style
vocab-file: data/vocab.json
seq_length: 16
log-dir: ~
fp16: {enabled: false}
"""


def neox(name, layers, ranks, piped=True, dtype=torch.float32, extra="", configs_beside=False, changed=None):
    """A directory. `ranks`: how to split a tensor over model-parallel ranks, given key, tensor; a list, one tensor a rank."""
    tag = "global_step10"
    whole = {}
    count = len(ranks("input_layernorm.weight", torch.zeros(1)))
    modules = [collections.OrderedDict() for _ in range(count)]
    for index, layer in layers.items():
        parts = [collections.OrderedDict() for _ in range(count)]
        for key, tensor in layer.items():
            whole[f"sequential.{index}.{key}"] = tensor
            for r, part in enumerate(ranks(key, tensor)):
                parts[r][key] = part
                modules[r][f"sequential.{index}.{key}"] = part
        for r in range(count if piped else 0):
            torch.save(parts[r] if index else dict(parts[r]), at(name, tag, f"layer_{index:02d}-model_{r:02d}-model_states.pt"))
    for r in range(0 if piped and count > 1 else count):
        torch.save(dict(training_state(), module=None if piped else modules[r]), at(name, tag, f"mp_rank_{r:02d}_model_states.pt"))
    with open(at(name, "latest"), "w") as f:
        f.write(tag)  # no newline
    configs = (name, "configs") if configs_beside else (name, tag, "configs")
    with open(at(*configs, "model.yml"), "w") as f:
        f.write(MODEL_YML)
    with open(at(*configs, "setup.yml"), "w") as f:
        f.write(SETUP_YML + extra)
    whole.update(changed or {})
    write_json(name + "/expected", describe(whole))


def one_rank(key, tensor):
    return [tensor]


def two_ranks(sums, column):
    """Megatron's split: columns of a product by rows of its weight, rows by its columns, biases of the latter whole or, with `sums`, in addends."""
    def split(key, tensor):
        if key.endswith(("dense.weight", "dense_4h_to_h.weight")) or (key == "final_linear.weight" and not column):
            return [p.clone() for p in tensor.chunk(2, dim=1)]
        if key.endswith(("dense.bias", "dense_4h_to_h.bias")):
            return [tensor - tensor / 4, tensor / 4] if sums else [tensor, tensor.clone()]
        if "norm" in key:
            return [tensor, tensor.clone()]
        return [p.clone() for p in tensor.chunk(2, dim=0)]
    return split


def drifted(split):
    def with_drift(key, tensor):
        parts = split(key, tensor)
        if key == "input_layernorm.weight" and len(tensor) > 1:
            parts[1] = parts[1] + 0.5
        return parts
    return with_drift


def neox_folders():
    neox("neox", neox_layers(torch.float16), one_rank)
    neox("neox-module", neox_layers(torch.float32), one_rank, piped=False, configs_beside=True)
    neox("neox-row", neox_layers(torch.float32), two_ranks(False, False))
    layers = neox_layers(torch.float32)
    for layer in layers.values():  # exact in thirds and quarters, so that the sums below are
        for key in list(layer):
            if key.endswith(("dense.bias", "dense_4h_to_h.bias")) or key == "input_layernorm.weight":
                layer[key] = torch.round(layer[key] * 64) / 64
    changed = {}
    for index, layer in layers.items():
        for key, tensor in layer.items():
            if key.endswith(("dense.bias", "dense_4h_to_h.bias")):
                changed[f"sequential.{index}.{key}"] = tensor.double()
            if key == "input_layernorm.weight":
                changed[f"sequential.{index}.{key}"] = tensor.double() + 0.25
    neox("neox-column", layers, drifted(two_ranks(True, True)), piped=False, changed=changed,
         extra="gpt-j-residual: true\noutput_layer_parallelism: column\n")
    layers = neox_layers(torch.float32)

    def gated(key, tensor):
        if "dense_h_to_4h" in key:  # each rank holds its share of both halves
            a, b = tensor.chunk(2, dim=0)
            return [torch.cat(p) for p in zip(a.chunk(2, dim=0), b.chunk(2, dim=0))]
        return two_ranks(False, False)(key, tensor)
    neox("neox-gated", layers, gated, extra="activation: geglu\n")


def fairseq_files():
    model = collections.OrderedDict()
    model["decoder.version"] = torch.tensor([3.0])
    model["decoder.embed_tokens.weight"] = draw(12, 4, dtype=torch.float16)
    model["decoder.layers.0.self_attn.q_proj.weight"] = draw(4, 4, dtype=torch.float16)
    model["decoder.bias_p"] = draw(2, 1, 1, dtype=torch.float16)
    model["decoder.cache_matrix"] = torch.arange(4).reshape(2, 2)
    model["decoder.causal_mask"] = torch.full((2, 2), float("-inf")).triu(1)
    arguments = argparse.Namespace(arch="transformer_rpe_lm_base", rpe_type=-1, kerple_log=True, decoder_layers=1, decoder_embed_dim=4, dropout=0.1,
                                   adaptive_softmax_cutoff=None, betas=(0.9, 0.98), learned=False, tokens_per_sample=512, lost=Lost())
    checkpoint = {"args": None, "cfg": {"_name": None, "model": arguments, "common": {"seed": 1}, "task": Lost()}, "model": model, "criterion": {},
                  "optimizer_history": [{"criterion_name": "CrossEntropy", "num_updates": 3}], "task_state": {}, "last_optimizer_state": None,
                  "extra_state": {"metrics": collections.OrderedDict([("default", [(0, "loss", Lost(), {})])]), "epoch": 1}}
    torch.save(checkpoint, at("fairseq.pt"))
    write_json("fairseq", describe(model))
    for name, cfg in (("fairseq-no-cfg", None), ("fairseq-no-model", {"common": {}})):
        torch.save(dict(checkpoint, cfg=cfg), at(name + ".pt"))
    torch.save(dict(checkpoint, model=collections.OrderedDict(model, extra=Lost())), at("fairseq-object.pt"))


def nanogpt_file():
    """What train.py of karpathy/nanoGPT saves, with the names of a compiled model; a generator of its own, so that the other files stay as they are."""
    generator = torch.Generator().manual_seed(7)
    wte = torch.randn(5, 4, generator=generator)
    model = {"transformer.wte.weight": wte, "transformer.wpe.weight": torch.randn(3, 4, generator=generator), "lm_head.weight": wte}
    torch.save({"model": {"_orig_mod." + name: value for name, value in model.items()}, "optimizer": {"state": {}, "param_groups": [{"lr": 1e-3, "params": [0]}]},
                "model_args": dict(n_layer=1, n_head=2, n_embd=4, block_size=3, bias=False, vocab_size=5, dropout=0.0), "iter_num": 7, "best_val_loss": torch.tensor(2.5),
                "config": {"dataset": "x", "compile": True}}, at("nanogpt.pt"))
    write_json("nanogpt", describe(model))


def llmc(name, dtype, version):
    """What karpathy/llm.c describes: 256 int32, then weights grouped over layers; and the same tensors as Hugging Face's GPT-2 has them."""
    T, V, L, H, C, padded = 6, 5, 2, 2, 4, 8
    w = {"wte": draw(padded, C), "wpe": draw(T, C), "ln1w": draw(L, C), "ln1b": draw(L, C), "qkvw": draw(L, 3 * C, C), "qkvb": draw(L, 3 * C),
         "attprojw": draw(L, C, C), "attprojb": draw(L, C), "ln2w": draw(L, C), "ln2b": draw(L, C), "fcw": draw(L, 4 * C, C), "fcb": draw(L, 4 * C),
         "fcprojw": draw(L, C, 4 * C), "fcprojb": draw(L, C), "lnfw": draw(C), "lnfb": draw(C)}
    w = {k: v.to(dtype) for k, v in w.items()}
    header = np.zeros(256, dtype=np.int32)
    header[:8] = [20240326, version, T, V, L, H, C, padded]
    with open(at(name + ".bin"), "wb") as f:
        f.write(header.tobytes())
        for t in w.values():
            f.write(t.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    hf = {"wte.weight": w["wte"][:V], "wpe.weight": w["wpe"], "ln_f.weight": w["lnfw"], "ln_f.bias": w["lnfb"]}
    for i in range(L):
        for to, key in (("ln_1.weight", "ln1w"), ("ln_1.bias", "ln1b"), ("attn.c_attn.bias", "qkvb"), ("attn.c_proj.bias", "attprojb"), ("ln_2.weight", "ln2w"),
                        ("ln_2.bias", "ln2b"), ("mlp.c_fc.bias", "fcb"), ("mlp.c_proj.bias", "fcprojb")):
            hf[f"h.{i}.{to}"] = w[key][i]
        for to, key in (("attn.c_attn", "qkvw"), ("attn.c_proj", "attprojw"), ("mlp.c_fc", "fcw"), ("mlp.c_proj", "fcprojw")):
            hf[f"h.{i}.{to}.weight"] = w[key][i].t()
    write_json(name, describe(hf))


def hdf():
    tensors = {"a.weight": draw(6, 4), "a.b.bias": draw(4, dtype=torch.float16), "c": draw(3, dtype=torch.float64), "scalar": torch.tensor(1.5), "n": torch.arange(3),
               "flag": torch.tensor([True, False]), "empty": torch.zeros(0, 2)}
    for name, options in (("plain", {}), ("packed", {"chunks": True, "compression": "gzip", "shuffle": True})):
        with h5py.File(at("hdf-" + name + ".h5"), "w") as f:
            f.attrs["config"] = json.dumps({"model_type": "none", "hidden": 4})
            for key, t in tensors.items():
                can = options if t.dim() and t.numel() else {}
                f.create_dataset(key.replace(".", "/") if name == "plain" else key, data=t.numpy(), **can)
    write_json("hdf", describe(tensors))
    with h5py.File(at("hdf-bad-link.h5"), "w") as f:
        f["w"] = h5py.ExternalLink("hdf-plain.h5", "c")
    with h5py.File(at("hdf-bad-soft.h5"), "w") as f:
        f["w"] = h5py.SoftLink("/elsewhere")
    with h5py.File(at("hdf-bad-storage.h5"), "w") as f:
        f.create_dataset("w", shape=(4,), dtype="<f4", external=[("elsewhere", 0, 16)])
    with h5py.File(at("hdf-bad-endian.h5"), "w") as f:
        f.create_dataset("w", data=np.arange(3, dtype=">f4"))
    with h5py.File(at("hdf-bad-type.h5"), "w") as f:
        f.create_dataset("w", data=np.array([1 + 2j]))
    with h5py.File(at("hdf-bad-text.h5"), "w") as f:
        f["w"] = "text"
    with h5py.File(at("hdf-bad-cycle.h5"), "w") as f:
        group = f.create_group("g")
        group["g"] = group
    with h5py.File(at("hdf-bad-twice.h5"), "w") as f:
        f["a.b"] = np.zeros(1, "<f4")
        f["a/b"] = np.zeros(1, "<f4")
    with h5py.File(at("hdf-bad-config.h5"), "w") as f:
        f.attrs["config"] = 3
    with h5py.File(at("hdf-bad-json.h5"), "w") as f:
        f.attrs["config"] = "{"
    with h5py.File(at("hdf-bad-filter.h5"), "w") as f:
        f.create_dataset("w", data=np.zeros(64, "<f4"), chunks=(64,), compression="lzf")
    with h5py.File(at("hdf-bad-unwritten.h5"), "w") as f:
        f.create_dataset("w", shape=(4,), dtype="<f4")


def yaml_cases():
    scalars = ["0", "-1", "+12", "1_000", "0x1F", "-0x1f", "0b101", "017", "08", "0o17", "1.5", "-.5", ".5", "1.", "1e5", "1e-5", "1.0e-5", "1.0e5", "1.5E+3", "_1", "1_0.5",
               "true", "True", "TRUE", "tRUE", "yes", "No", "on", "OFF", "y", "null", "~", "Null", "nULL", "abc", "'1'", '"true"', "a b", "1.2.3", "-", "+", ".", "1-2",
               "1,000", "0x", "0b2", "global_step10", "9223372036854775807", "0.0006", "5.e-1", "''"]
    texts = ["a: %s" % s for s in scalars] + [
        MODEL_YML, SETUP_YML, "{a: 1, b: [1, 2, {c: d}], }", "a: 1\na: 2\n", "a:\n  - 1\n  - [x, y]\n  - k: v\n", "{}", "a: |\n  text\n  more\n", "a: 'it''s'\n", "# c\na: 1 # d\n",
        "? a\n: 1\n", "a: \"x\\ty\"\n", "\ufeffa: 1\n"]

    def load(text):
        try:
            return yaml.full_load(text)
        except yaml.YAMLError:
            return None
    write_json("yaml", [[t, load(t)] for t in texts])


def main():
    for name in os.listdir(HERE):
        if name != "make.py":
            path = os.path.join(HERE, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
    save_files()
    shards()
    neox_folders()
    fairseq_files()
    nanogpt_file()
    llmc("llmc-f32", torch.float32, 3)
    llmc("llmc-bf16", torch.bfloat16, 5)
    hdf()
    yaml_cases()


main()
