#!/usr/bin/env python3
"""LoRA adapters as PEFT saves them, on models of other golden cases, and what PEFT makes of the two.

    python3 tests/goldens/adapters/make.py [CASE...]

CASE/ has adapter_config.json and adapter_model.safetensors (or adapter_model.bin) of save_pretrained, with random weights, and of the tokens of the base's case

    norm.npy     float64 [S, L-1], ||d log p(last token) / d e_m||, e_m the row that the table with its adapter gives
    logprob.npy  float64 [S]

from PeftModel on transformers in float64, unmerged; merge_and_unload gives log p and norms within 1e-11 of them, as is checked. SUMS: several adapters of these
cases, each times a factor, as add_weighted_adapter joins them ("cat"); the folder has only the two files of expected values. Versions: PEFT 0.21.2,
transformers 5.23.0 (llama-added, llama-bin, mixtral-router, gpt-neox-head, llama-dora, llama-dora-table, gpt2-dora,
llama-tokens, llama-pissa: 5.24.0), PyTorch 2.15.0 (CPU). Read by tests/t-model-adapters.c, which has the bases by case.
"""

import json
import os
import shutil
import sys

import numpy as np
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDENS = os.path.dirname(HERE)
sys.path[:0] = [GOLDENS]
from expected import check_gradient, generator, norms_of      # noqa: E402
from make_goldens import RefuseNarrow, Widen      # noqa: E402

TOKENS = [3, 45, 47, 77, 83]
LINEAR = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
# base, settings of LoraConfig, type that the adapter's tensors are stored in
CASES = {
    # ranks and alphas by name, as a name, its end, and a regular expression
    "llama-patterns": ("llama-gqa", dict(r=3, lora_alpha=7, target_modules=LINEAR, rank_pattern={"q_proj": 2, "model.layers.1.mlp.up_proj": 5},
                                         alpha_pattern={r"layers\.0\..*_proj": 1.5, "down_proj": 11}), torch.float32),
    # a table, a bias of what is added, a head of its own, bfloat16
    "llama-whole": ("llama-gqa", dict(r=4, lora_alpha=6, use_rslora=True, lora_bias=True, target_modules=["q_proj", "down_proj"],
                                      modules_to_save=["lm_head", "norm"]), torch.bfloat16),
    "llama-table": ("llama-gqa", dict(r=4, lora_alpha=5, target_modules=["embed_tokens", "lm_head", "v_proj"]), torch.float32),
    # matrices stored [in, out], one of them square, where only the kind of the module tells
    "gpt2-conv1d": ("gpt2", dict(r=3, lora_alpha=8, target_modules=["c_attn", "c_proj", "c_fc"], fan_in_fan_out=True, bias="lora_only"), torch.float32),
    # queries, keys and values in one
    # tables that were trained whole, saved as for a resized vocabulary: three times over
    "llama-added": ("llama-gqa", dict(r=3, lora_alpha=6, target_modules=["q_proj"], modules_to_save=["embed_tokens", "lm_head"]), torch.float16),
    # as a pickle
    "llama-bin": ("llama-gqa", dict(r=3, lora_alpha=20, target_modules=["q_proj", "v_proj"]), torch.float32),
    # a router that was trained whole, by the name that it has in memory
    "mixtral-router": ("mixtral", dict(r=2, lora_alpha=5, target_modules=["q_proj", "v_proj"], modules_to_save=["gate"]), torch.float32),
    # a head that was trained whole, by the name that it has in memory
    "gpt-neox-head": ("gpt-neox-parallel", dict(r=2, lora_alpha=5, target_modules=["query_key_value"], modules_to_save=["lm_head"]), torch.float32),
    # magnitudes of outputs (DoRA), of matrices in both layouts and of a table
    "llama-dora": ("llama-gqa", dict(r=3, lora_alpha=7, target_modules=LINEAR, use_dora=True), torch.float32),
    "llama-dora-table": ("llama-gqa", dict(r=2, lora_alpha=5, target_modules=["embed_tokens", "k_proj"], use_dora=True), torch.float32),
    "gpt2-dora": ("gpt2", dict(r=2, lora_alpha=8, target_modules=["c_attn", "c_fc"], fan_in_fan_out=True, use_dora=True), torch.float32),
    # rows of the table trained by themselves; the first token of the first segment is among them
    "llama-tokens": ("llama-gqa", dict(r=2, lora_alpha=5, target_modules=["q_proj"], trainable_token_indices=TOKENS), torch.float32),
    # begun with the base's principal components, and saved as what was added since
    "llama-pissa": ("llama-gqa", dict(r=2, lora_alpha=3, target_modules=["q_proj", "up_proj"], init_lora_weights="pissa"), torch.float32),
    "gpt-neox-fused": ("gpt-neox-parallel", dict(r=4, lora_alpha=9, target_modules="all-linear", use_rslora=True), torch.float16),
}


# base, adapters with their factors; with 0.7, -0.4 and 1 rounding of the sums to float moves log p by 2.6e-6
SUMS = {"llama-sum": ("llama-gqa", {"llama-patterns": 0.4, "llama-bin": -0.25, "llama-pissa": 1.0})}


def base_model(folder, dtype):
    if folder.endswith("mixtral"):      # whose experts the library stacks
        torch.set_default_dtype(dtype)
        try:
            with Widen() if dtype == torch.float64 else torch.no_grad():
                return AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager", experts_implementation="eager", dtype=dtype).eval().requires_grad_(False)
        finally:
            torch.set_default_dtype(torch.float32)
    state = {}
    for name in sorted(os.listdir(folder)):
        if name.endswith(".safetensors"):
            state.update(load_file(os.path.join(folder, name)))
    torch.set_default_dtype(dtype)
    try:
        with Widen() if dtype == torch.float64 else torch.no_grad():
            model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder), attn_implementation="eager", dtype=dtype)
    finally:
        torch.set_default_dtype(torch.float32)
    prefix = model.base_model_prefix + "."
    state = {"lm_head.weight" if name == "embed_out.weight" else name: value for name, value in state.items()}
    names = {name: name if name in dict(model.named_parameters()) else prefix + name for name in state}
    loaded = model.load_state_dict({names[name]: value.to(dtype) for name, value in state.items() if value.is_floating_point()}, strict=False)
    assert set(loaded.missing_keys) <= ({"lm_head.weight"} if model.config.tie_word_embeddings else set()), loaded
    return model.eval().requires_grad_(False)


def make_adapter(case, folder):
    """Saved as a user's training ends; the names of this machine's paths are left out."""
    base, settings, stored = CASES[case]
    rng = generator(case)
    model = get_peft_model(base_model(os.path.join(GOLDENS, base), torch.float32), LoraConfig(task_type="CAUSAL_LM", **settings))
    initial = os.path.join(folder, "initial")
    if case == "llama-pissa":
        model.peft_config["default"].init_lora_weights = True       # as PEFT's documentation has it
        model.save_pretrained(initial)
        model.peft_config["default"].init_lora_weights = settings["init_lora_weights"]
    for name, value in sorted(model.named_parameters()):
        if case == "llama-pissa" and value.requires_grad:
            value.data = value.data + torch.from_numpy(0.6 * rng.standard_normal(tuple(value.shape))).float()
        elif "magnitude" in name:
            value.data = value.data * torch.from_numpy(1 + 0.3 * rng.standard_normal(tuple(value.shape))).float()
        elif value.requires_grad:
            scale = 0.15 if "lora_" in name else 0.4
            centre = 1.0 if ".norm." in name else 0.0
            value.data = torch.from_numpy((centre + scale * rng.standard_normal(tuple(value.shape))).astype(np.float32)).to(stored).float()
    model.peft_config["default"].base_model_name_or_path = base
    if case == "llama-pissa":
        model.save_pretrained(folder, path_initial_model_for_weight_conversion=initial)
        shutil.rmtree(initial)
    else:
        model.save_pretrained(folder, save_embedding_layers=case in ("llama-table", "llama-added", "llama-dora-table") or "auto")
    os.remove(os.path.join(folder, "README.md"))
    path = os.path.join(folder, "adapter_model.safetensors")
    tensors = {name: value.to(stored) if stored != torch.float32 else value for name, value in load_file(path).items()}
    if case == "llama-bin":
        os.remove(path)
        torch.save(tensors, os.path.join(folder, "adapter_model.bin"))
    else:
        save_file(tensors, path, metadata={"format": "pt"})


class Oracle:
    def __init__(self, model):
        self.model, self.rows = model.eval().requires_grad_(False), None
        embedding = model.get_input_embeddings()
        self.table = embedding(torch.arange(model.config.vocab_size)).detach().clone()
        embedding.register_forward_hook(lambda module, given, result: self.rows[None])

    def log_probability(self, rows, target):
        self.rows = rows
        torch.set_default_dtype(torch.float64)
        try:
            with Widen(), RefuseNarrow():
                logits = self.model(input_ids=torch.zeros(1, rows.shape[0], dtype=torch.int64), use_cache=False).logits[0, -1]
                return torch.log_softmax(logits, -1)[target]
        finally:
            torch.set_default_dtype(torch.float32)


def expected(oracle, tokens, rng, where):
    norms, logprobs = [], []
    for segment in torch.from_numpy(tokens.astype(np.int64)):
        rows = oracle.table[segment[:-1]]
        norm, logprob, gradient = norms_of(oracle.log_probability, rows, segment[-1])
        check_gradient(oracle.log_probability, rows, segment[-1], gradient, rng, where)
        norms.append(norm.numpy())
        logprobs.append(logprob)
    return np.stack(norms), np.array(logprobs)


def make_case(case):
    base, folder = CASES[case][0], os.path.join(HERE, case)
    shutil.rmtree(folder, ignore_errors=True)
    make_adapter(case, folder)
    tokens = np.load(os.path.join(GOLDENS, base, "tokens.npy"))
    results = []
    for merge in (False, True):
        model = PeftModel.from_pretrained(base_model(os.path.join(GOLDENS, base), torch.float64), folder, autocast_adapter_dtype=False).double()
        assert all(value.dtype == torch.float64 for value in model.parameters())
        results.append(expected(Oracle(model.merge_and_unload() if merge else model), tokens, generator(case), case))
    (norm, logprob), (merged_norm, merged_logprob) = results
    assert np.abs(norm - merged_norm).max() < 1e-11 * norm.max() and np.abs(logprob - merged_logprob).max() < 1e-11
    plain = np.load(os.path.join(GOLDENS, base, "logprob.npy"))
    np.save(os.path.join(folder, "norm.npy"), norm)
    np.save(os.path.join(folder, "logprob.npy"), logprob)
    for name in os.listdir(folder):
        os.chmod(os.path.join(folder, name), 0o644)
    print(f"{case}: log p {logprob}, without it {plain}")


def make_sum(case):
    base, parts = SUMS[case]
    folder = os.path.join(HERE, case)
    os.makedirs(folder, exist_ok=True)
    tokens = np.load(os.path.join(GOLDENS, base, "tokens.npy"))
    model = None
    for name in parts:
        path = os.path.join(HERE, name)
        if model:
            model.load_adapter(path, name, autocast_adapter_dtype=False)
        else:
            model = PeftModel.from_pretrained(base_model(os.path.join(GOLDENS, base), torch.float64), path, name, autocast_adapter_dtype=False)
    model.double().add_weighted_adapter(list(parts), list(parts.values()), "all", combination_type="cat")
    model.set_adapter("all")
    norm, logprob = expected(Oracle(model.double()), tokens, generator(case), case)
    np.save(os.path.join(folder, "norm.npy"), norm)
    np.save(os.path.join(folder, "logprob.npy"), logprob)
    print(f"{case}: log p {logprob}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for chosen in sys.argv[1:] or [*CASES, *SUMS]:
        (make_sum if chosen in SUMS else make_case)(chosen)
