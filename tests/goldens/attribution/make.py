#!/usr/bin/env python3
"""What `reach erf` measures beside plain gradients, from float64 PyTorch and Captum, on checkpoints of other golden cases.

    python3 tests/goldens/attribution/make.py

Needs Captum (0.9.0) beside what make_goldens.py needs. CASE.f64 holds little-endian float64 values, one segment after the other, in
this order:

    layers      [R - 1, n]   norms of the gradient of log p with respect to the input of block 1 .. R-1 (hidden_states)
    inputxgrad  [n]          norms of captum.attr.InputXGradient
    ig          [n]          norms of captum.attr.IntegratedGradients, baseline 0, 50 steps, its default rule (gausslegendre)
    ig sum, log p of the baseline
    smoothgrad  [n]          norms of captum.attr.NoiseTunnel over Saliency(abs=False), 50 samples, with the noise of analyze/attribution.h
    attention   [R, H, n]    mean probability at distance t over the queries of the second half (the middle one included)

cases.csv lists them: case, layers, heads, segments, length, standard deviation of the noise.
"""

import csv
import os
import sys

import numpy as np
import torch
from captum.attr import InputXGradient, IntegratedGradients, NoiseTunnel, Saliency

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import make_goldens  # noqa: E402
import oracle  # noqa: E402
from family_cases import FAMILY_CASES  # noqa: E402

FAMILIES = ("gpt2", "llama-gqa", "bloom-4-heads", "opt-350m", "gemma2")
OWN = ("own-window", "own-sinusoidal")
STEPS = SAMPLES = 50
NOISE, SEED = 0.1, 7
MASK = (1 << 64) - 1


def random_at(seed, i):
    """SplitMix64 as analyze/curve.h has it; i an array of uint64."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + (i + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def normal(stream, count):
    """Standard normal deviates 0 .. count-1 of a stream."""
    i = np.arange(count, dtype=np.uint64)
    u = ((random_at(stream, np.uint64(2) * i) >> np.uint64(11)).astype(np.float64) + 1) * 2.0 ** -53
    v = (random_at(stream, np.uint64(2) * i + np.uint64(1)) >> np.uint64(11)).astype(np.float64) * 2.0 ** -53
    return np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * v)


class Traced(oracle.Decoder):
    """The plain decoder, with the inputs of its blocks and its probabilities kept."""

    def log_probability(self, rows, target):
        self.inputs, self.probabilities = [], []
        return super().log_probability(rows, target)

    def norm(self, x, name):
        if name.endswith("attention_norm"):
            self.inputs.append(x)
        return super().norm(x, name)

    def scores(self, q, k, layer):
        z = super().scores(q, k, layer)
        self.probabilities.append(torch.softmax(z, -1))
        return z

    @property
    def table(self):
        return self.tensors["embedding.weight"]


class TracedFamily(make_goldens.FamilyOracle):
    """The same of a transformers model."""

    def log_probability(self, rows, target):
        self.rows = rows
        with make_goldens.Widen(), make_goldens.RefuseNarrow():
            ids = torch.zeros(1, rows.shape[0], dtype=torch.int64)
            out = self.model(input_ids=ids, use_cache=False, output_hidden_states=True, output_attentions=True)
            self.inputs = list(out.hidden_states[:-1])
            self.probabilities = [a[0] for a in out.attentions]
            return torch.log_softmax(out.logits[0, -1], -1)[target]


def open_family(case):
    from transformers import AutoConfig, AutoModelForCausalLM
    folder = os.path.join(make_goldens.HERE, case.name)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(case.family, **case.config))
    state = make_goldens.random_state(model, case, make_goldens.generator(case.name))
    return TracedFamily(case, folder, state)


def mass_of(probability, n):
    """[H, n]: mean probability at each distance over the last n - n // 2 queries."""
    counted = n - n // 2
    mass = torch.zeros(probability.shape[0], n, dtype=torch.float64)
    for i in range(n - counted, n):
        mass[:, : i + 1] += probability[:, i, : i + 1].flip(-1)
    return (mass / counted).numpy()


def values_of(model, ids, segment, sigma):
    """All values of one segment, in the order of the file."""
    rows, target, n = model.table[ids[:-1]].detach(), ids[-1], len(ids) - 1
    out = []

    leaf = rows.clone().requires_grad_(True)
    value = model.log_probability(leaf, target)
    logprob = value.item()
    for gradient in torch.autograd.grad(value, model.inputs[1:]):
        out.append(gradient.reshape(n, -1).norm(dim=1).numpy())
    layers = len(model.inputs)
    masses = [mass_of(p.detach(), n) for p in model.probabilities]

    def forward(batch):
        assert batch.shape[0] == 1
        return model.log_probability(batch[0], target)[None]

    out.append(InputXGradient(forward).attribute(rows[None])[0].detach().norm(dim=1).numpy())
    with make_goldens.Widen():                      # Captum rounds the weights of its rule to float32
        ig = IntegratedGradients(forward).attribute(rows[None], baselines=0.0, n_steps=STEPS, internal_batch_size=1)[0].detach()
    assert ig.dtype == torch.float64
    out.append(ig.norm(dim=1).numpy())
    baseline = model.log_probability(torch.zeros_like(rows), target).item()
    out.append(np.array([ig.sum().item(), baseline]))
    print(f"  segment {segment}: completeness {ig.sum().item() - (logprob - baseline):+.3g} of {logprob - baseline:.3g}")

    drawn = 0

    def our_normal(mean, deviation, **_):
        nonlocal drawn
        stream = random_at(SEED, np.array([segment * SAMPLES + drawn], np.uint64))[0]
        drawn += 1
        return torch.from_numpy(normal(stream, rows.numel())).reshape(1, *rows.shape) * deviation

    original, torch.normal = torch.normal, our_normal
    try:
        smooth = NoiseTunnel(Saliency(forward)).attribute(rows[None], nt_type="smoothgrad", nt_samples=SAMPLES, nt_samples_batch_size=1,
                                                          stdevs=sigma, abs=False)[0].detach()
    finally:
        torch.normal = original
    assert drawn == SAMPLES and smooth.dtype == torch.float64
    out.append(smooth.norm(dim=1).numpy())
    return np.concatenate([np.ravel(x) for x in out + masses]), layers, masses[0].shape[0]


def main():
    torch.set_num_threads(1)
    cases = {case.name: case for case in FAMILY_CASES}
    with open(os.path.join(HERE, "cases.csv"), "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["case", "layers", "heads", "segments", "length", "noise"])
        for name in FAMILIES + OWN:
            print(name)
            folder = os.path.join(make_goldens.HERE, name)
            torch.set_default_dtype(torch.float32)
            model = open_family(cases[name]) if name in cases else Traced.read(folder)
            torch.set_default_dtype(torch.float64)  # also for Captum's own constants
            tokens = np.load(os.path.join(folder, "tokens.npy"))[:2]
            sigma = NOISE * float(np.sqrt((model.table.numpy() ** 2).mean()))
            values = []
            for s, segment in enumerate(tokens):
                found, layers, heads = values_of(model, torch.from_numpy(segment.astype(np.int64)), s, sigma)
                values.append(found)
            np.concatenate(values).astype("<f8").tofile(os.path.join(HERE, name + ".f64"))
            table.writerow([name, layers, heads, len(tokens), tokens.shape[1], repr(sigma)])


if __name__ == "__main__":
    main()
