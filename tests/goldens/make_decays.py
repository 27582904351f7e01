#!/usr/bin/env python3
"""Write decays.csv: the mean log decay of each segment, layer and head of the cases with recurrences, as transformers computes it.

What the modules give to their recurrence is recorded: of Mamba-2 the logarithms that segment_sum gets, of the delta rule its argument g, by channel the mean over the channels, of a
scan its steps and A, whose products' mean over channels and states is that of its one head, of all its groups of channels; of linear recurrent units the decay itself.
"""

import contextlib
import os
import sys

import numpy as np
import torch
import transformers

from make_goldens import RefuseNarrow, Widen
from recurrence_cases import RECURRENCE_CASES
from scan_cases import SCAN_CASES

HERE = os.path.dirname(os.path.abspath(__file__))


@contextlib.contextmanager
def recorded(module):
    """A list that gets the sums [heads] of the log decays of each recurrence of the modeling module that runs."""
    found, names = [], ("segment_sum", "torch_chunk_gated_delta_rule", "chunk_kimi_delta_attention", "mamba_selective_scan")
    originals = {name: getattr(module, name) for name in names if hasattr(module, name)}

    def segment_sum(logs):
        if logs.ndim == 4:  # [1, heads, chunks, rows], zeros behind the text; not the sums of chunks
            found.append(logs.sum((0, 2, 3)))
        return originals["segment_sum"](logs)

    def torch_chunk_gated_delta_rule(*args, **kwargs):
        found.append(kwargs["g"].sum((0, 1)))  # [1, rows, heads]
        return originals["torch_chunk_gated_delta_rule"](*args, **kwargs)

    def chunk_kimi_delta_attention(*args, **kwargs):
        found.append(kwargs["g"].sum((0, 1)).mean(-1))  # [1, rows, heads, channels]
        return originals["chunk_kimi_delta_attention"](*args, **kwargs)

    def mamba_selective_scan(x, dt, a, *args, **kwargs):
        steps = torch.nn.functional.softplus(dt + kwargs["delta_bias"][..., None])      # [1, channels, rows]
        found.append((steps.sum(2)[0, :, None] * a).mean()[None])
        return originals["mamba_selective_scan"](x, dt, a, *args, **kwargs)

    ours = {"segment_sum": segment_sum, "torch_chunk_gated_delta_rule": torch_chunk_gated_delta_rule, "chunk_kimi_delta_attention": chunk_kimi_delta_attention,
            "mamba_selective_scan": mamba_selective_scan}
    for name in originals:
        setattr(module, name, ours[name])
    unit = getattr(module, "RecurrentGemmaRglru", None)
    plain = unit and unit._rnn_scan

    def _rnn_scan(self, hidden_states, recurrent_gate, *args, **kwargs):
        found.append(recurrent_gate.log().sum(1).mean()[None])      # [1, rows, channels]
        return plain(self, hidden_states, recurrent_gate, *args, **kwargs)

    if unit:
        unit._rnn_scan = _rnn_scan
    try:
        yield found
    finally:
        if unit:
            unit._rnn_scan = plain
        for name, original in originals.items():
            setattr(module, name, original)


def fixed_decays(model, folder):
    """The same of time mixing, whose layers are two in reach: what each channel's exponents fall by from row to row, whatever the text is."""
    segments = len(np.load(os.path.join(folder, "tokens.npy")))
    return [(segment + 1, 2 * i + 1, 1, -block.attention.time_decay.exp().mean().item()) for segment in range(segments) for i, block in enumerate(model.base_model.blocks)]


def decays(case):
    """[(segment, layer, head, mean log decay)], all from 1."""
    folder, rows = os.path.join(HERE, case), []
    torch.set_default_dtype(torch.float64)
    try:
        with Widen():
            model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64, attn_implementation="eager", experts_implementation="eager",
                                                                      key_mapping={r"^backbone\.embedding\.": "backbone.embeddings."}).eval()     # older files
        if model.config.model_type == "rwkv":
            return fixed_decays(model, folder)
        layers, at = [], 0
        for block in model.base_model.layers:
            at += 1 + (hasattr(block, "shared_transformer") or hasattr(block, "shared_transf"))      # a layer of its own in reach
            if any(name.endswith(("A_log", "recurrent_param")) for name, _ in block.named_parameters()):
                layers.append(at)
        for segment, ids in enumerate(torch.from_numpy(np.load(os.path.join(folder, "tokens.npy")).astype(np.int64))):
            with recorded(sys.modules[type(model).__module__]) as found, torch.no_grad(), Widen(), RefuseNarrow():
                model(input_ids=ids[None, :-1], use_cache=False)
            each = len(found) // len(layers)        # of groups of channels, each a scan of its own
            assert len(found) == each * len(layers) > 0
            found = [torch.stack(found[i:i + each]).mean(0) for i in range(0, len(found), each)]
            rows += [(segment + 1, layer, head + 1, total / (len(ids) - 1))
                     for layer, totals in zip(layers, found) for head, total in enumerate(totals.tolist())]
    finally:
        torch.set_default_dtype(torch.float32)
    return rows


def main():
    with open(os.path.join(HERE, "decays.csv"), "w", encoding="ascii") as file:
        print("case,segment,layer,head,log_decay", file=file)
        for case in RECURRENCE_CASES + SCAN_CASES:
            if case.family == "minimax" or case.name.startswith("mamba-ssm"):      # fixed decays; files that the library does not read
                continue
            for segment, layer, head, value in decays(case.name):
                print(f"{case.name},{segment},{layer},{head},{value!r}", file=file)


if __name__ == "__main__":
    main()
