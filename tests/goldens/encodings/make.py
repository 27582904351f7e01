#!/usr/bin/env python3
"""What --rope, --bias, --window, --keep-first and --logn make of a model, from transformers in float64.

    python3 tests/goldens/encodings/make.py

Two small models, one of whole heads (llama) and one that turns half of each head (gpt_neox), both with 32 positions in their
configuration, read 97 inputs. A rotary scaling is that of transformers with rope_parameters (and, for the original length of
dynamic, max_position_embeddings) of config.json edited. Biases, windows and first keys are an additive mask, made here in full; the
log-n factor is a hook that multiplies the queries. Nothing here shares code with the C program.

MODEL/ has the checkpoint and tokens.npy (int32 [S, L]). cases.csv: case, model, the options of `reach
erf`. CASE.f64 holds little-endian float64: norms [S, L-1], then log p [S].
"""

import csv
import json
import math
import os
import shutil
import sys
import tempfile

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import expected  # noqa: E402
import make_goldens  # noqa: E402
from family_cases import FamilyCase  # noqa: E402

INPUTS, SEGMENTS, DECLARED, THETA = 97, 2, 32, 700.0
SIZES = dict(vocab_size=64, hidden_size=32, num_hidden_layers=2, max_position_embeddings=DECLARED, tie_word_embeddings=False)
MODELS = {
    "llama": FamilyCase("encodings-llama", "llama", dict(
        SIZES, num_attention_heads=4, num_key_value_heads=2, intermediate_size=44, rms_norm_eps=2e-5,
        rope_parameters={"rope_type": "default", "rope_theta": THETA}), "", length=INPUTS + 1, segments=SEGMENTS),
    "gpt_neox": FamilyCase("encodings-gpt_neox", "gpt_neox", dict(
        SIZES, num_attention_heads=2, intermediate_size=56, layer_norm_eps=3e-5,
        rope_parameters={"rope_type": "default", "rope_theta": THETA, "partial_rotary_factor": 0.5}), "",
        length=INPUTS + 1, segments=SEGMENTS),
}

# case: options, rope_parameters, what else of: max_position_embeddings, window, keep, delta (ALiBi), logn (the trained length)
CASES = {
    "linear": ("--rope linear:factor=4", dict(rope_type="linear", factor=4.0), {}),
    "dynamic": ("--rope dynamic:factor=4", dict(rope_type="dynamic", factor=4.0), {}),
    "dynamic-original": ("--rope dynamic:factor=2.5,original=48", dict(rope_type="dynamic", factor=2.5), dict(max_position_embeddings=48)),
    "dynamic-short": ("--rope dynamic:factor=4,original=128", dict(rope_type="dynamic", factor=4.0), dict(max_position_embeddings=128)),
    "yarn": ("--rope yarn:factor=4,original=24", dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=24), {}),
    "yarn-settings": (
        "--rope base=90,yarn:factor=8,original=40,beta_fast=6,beta_slow=0.5,mscale=0.8,mscale_all_dim=0.3,truncate=0",
        dict(rope_type="yarn", rope_theta=90.0, factor=8.0, original_max_position_embeddings=40, beta_fast=6.0, beta_slow=0.5,
             mscale=0.8, mscale_all_dim=0.3, truncate=False), {}),
    "yarn-attention": ("--rope yarn:factor=3,attention_factor=1.25", dict(rope_type="yarn", factor=3.0, attention_factor=1.25), {}),
    "llama3": ("--rope llama3:factor=8,low_freq_factor=1,high_freq_factor=4,original=64",
               dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64), {}),
    "base": ("--rope base=500000", dict(rope_theta=500000.0), {}),
    "base-linear": ("--rope base=90,linear:factor=2", dict(rope_type="linear", rope_theta=90.0, factor=2.0), {}),
    "none": ("--rope none", {}, {}),
    "window": ("--window 20", {}, dict(window=20)),
    "keep-first": ("--window 20 --keep-first 4", {}, dict(window=20, keep=4)),
    "keep-first-1": ("--window 3 --keep-first 1", {}, dict(window=3, keep=1)),
    "bias": ("--bias alibi(delta=1)", {}, dict(delta=1)),
    "bias-keep-first": ("--bias alibi(delta=1) --window 9 --keep-first 3", {}, dict(delta=1, window=9, keep=3)),
    "logn": ("--logn --train-length 32", {}, dict(logn=32)),
    "logn-window": ("--logn --train-length 20 --window 24", {}, dict(logn=20, window=24)),
    "all": ("--bias alibi(delta=2) --rope yarn:factor=4,original=24 --window 11 --keep-first 5 --logn --train-length 24",
            dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=24), dict(delta=2, window=11, keep=5, logn=24)),
}


class EncodingOracle(make_goldens.FamilyOracle):
    """The same model under an explicit mask, its queries times a factor of their position."""

    def __init__(self, case, folder, state, heads, window=0, keep=0, delta=None, logn=0):
        super().__init__(case, folder, state)
        query, key = torch.arange(INPUTS)[:, None], torch.arange(INPUTS)[None]
        distance = query - key
        seen = distance >= 0
        if window:
            seen &= (distance < window) | (key < keep)
        bias = torch.zeros(heads, INPUTS, INPUTS, dtype=torch.float64)
        if delta is not None:
            slopes = 2.0 ** -(8.0 * torch.arange(1, heads + 1, dtype=torch.float64) / heads + delta)
            bias = -slopes[:, None, None] * distance
        self.mask = torch.where(seen, bias, -math.inf)[None]
        if logn:
            self.scale_queries(heads, [max(1.0, math.log(i) / math.log(logn)) for i in range(1, INPUTS + 1)])

    def scale_queries(self, heads, factors):
        """As a factor of a query commutes with its rotation, the projection's output may be multiplied."""
        factor = torch.tensor(factors, dtype=torch.float64)[:, None]

        def whole(module, given, result):
            return result * factor

        def fused(module, given, result):
            parts = result.clone().view(INPUTS, heads, 3, -1)
            parts[:, :, 0] *= factor[:, :, None]
            return parts.view(result.shape)
        for name, module in self.model.named_modules():
            if name.endswith("q_proj"):
                module.register_forward_hook(whole)
            elif name.endswith("query_key_value"):
                module.register_forward_hook(fused)

    def log_probability(self, rows, target):
        self.rows = rows
        torch.set_default_dtype(torch.float64)
        try:
            with make_goldens.Widen(), make_goldens.RefuseNarrow():
                ids = torch.zeros(1, INPUTS, dtype=torch.int64)
                logits = self.model(input_ids=ids, attention_mask=self.mask, use_cache=False).logits[0, -1]
                return torch.log_softmax(logits, -1)[target]
        finally:
            torch.set_default_dtype(torch.float32)


def edited(folder, scratch, rope, positions):
    """A folder with the configuration of `folder`, changed."""
    with open(os.path.join(folder, "config.json")) as file:
        config = json.load(file)
    config["rope_parameters"] = {**config["rope_parameters"], **rope}
    config["max_position_embeddings"] = positions
    make_goldens.write_json(os.path.join(scratch, "config.json"), config)
    return scratch


def field(window=0, keep=0, layers=2):
    """1 for inputs that can reach the last output: those of the windows, and the first keys."""
    near = np.arange(INPUTS)[::-1] <= layers * (window - 1) if window else np.ones(INPUTS, bool)
    return near | (np.arange(INPUTS) < keep)


def measured(oracle, tokens, rng, where):
    """norm [S, L-1] and log p [S], compared with differences as they are made."""
    norms, logprobs = [], []
    for segment in tokens:
        ids = torch.from_numpy(segment.astype(np.int64))
        rows, target = oracle.table[ids[:-1]], ids[-1]
        norm, logprob, gradient = expected.norms_of(oracle.log_probability, rows, target)
        expected.check_gradient(oracle.log_probability, rows, target, gradient, rng, where)
        norms.append(norm.numpy())
        logprobs.append(logprob)
    return np.stack(norms), np.array(logprobs)


def main():
    torch.set_num_threads(1)
    rows = []
    for name in os.listdir(HERE):
        if name.endswith(".f64"):
            os.remove(os.path.join(HERE, name))
    for model, case in MODELS.items():
        folder, rng = os.path.join(HERE, model), make_goldens.generator(case.name)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        state = make_goldens.write_family_checkpoint(case, folder, rng)
        tokens = make_goldens.draw_tokens(rng, SEGMENTS, INPUTS + 1, SIZES["vocab_size"])
        np.save(os.path.join(folder, "tokens.npy"), tokens)
        for name in os.listdir(folder):
            os.chmod(os.path.join(folder, name), 0o644)
        for name, (options, rope, more) in CASES.items():
            more = dict(more)
            with tempfile.TemporaryDirectory() as scratch:
                where = edited(folder, scratch, rope, more.pop("max_position_embeddings", DECLARED))
                oracle = EncodingOracle(case, where, state, case.config["num_attention_heads"], **more)
            norm, logprob = measured(oracle, tokens, rng, name)
            reached = field(more.get("window", 0), more.get("keep", 0))
            assert (norm[:, ~reached] == 0).all() and (norm[:, reached] != 0).all(), name
            with open(os.path.join(HERE, f"{model}-{name}.f64"), "wb") as file:
                file.write(norm.astype("<f8").tobytes() + logprob.astype("<f8").tobytes())
            rows.append((f"{model}-{name}", model, options))
            print(f"{model}-{name}: log p {logprob[0]:.6f}, mean reach {(norm[0] / norm[0].sum() * np.arange(INPUTS)[::-1]).sum():.3f}")
    with open(os.path.join(HERE, "cases.csv"), "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("case", "model", "options"), *rows])


if __name__ == "__main__":
    main()
