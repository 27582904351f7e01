#!/usr/bin/env python3
"""What `reach erf` and `reach ppl` give where segments begin with a beginning-of-text token, and where they lie within documents.

    python3 tests/goldens/reading/make.py

Models, tokenizers and text are those of ../saved, the numbers those of transformers widened to float64: of each segment of `reach erf` the norms and
log p of its target, of each target of `reach ppl` its log p after the inputs that are written down below for each protocol.
Text becomes ids by the tokenizer that transformers loads, and the beginning-of-text token is the one that it puts before a text or has as bos_token.

cases.csv     model, verb, options, and which of values.npy and places.npy are its own
values.npy    float64; erf: of each segment L-1 norms and log p; ppl: log p of each target
places.npy    int32; erf: index of each segment's first token in the text; ppl: position of each target in it, from 1

Versions: transformers 5.23.0, PyTorch 2.15.0 (CPU). Read by tests/t-verb-reading.c.
"""

import csv
import os
import sys

import numpy as np
import torch
import transformers
from safetensors.torch import load_file
from transformers import AutoTokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDENS = os.path.dirname(HERE)
SAVED = os.path.join(GOLDENS, "saved")
sys.path[:0] = [GOLDENS, os.path.join(GOLDENS, "tokenizer")]
from make_goldens import RefuseNarrow, Widen            # noqa: E402
from transformers_oracle import model_of, oracle        # noqa: E402


class Model:
    def __init__(self, family):
        self.folder = os.path.join(SAVED, family)
        self.state = load_file(os.path.join(self.folder, "model.safetensors"))
        self.stored = next(iter(self.state.values())).dtype
        tokenizer = AutoTokenizer.from_pretrained(self.folder)
        with open(os.path.join(SAVED, "text.txt"), encoding="utf-8") as file:
            text = file.read()
        self.ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        self.adds = len(tokenizer(text)["input_ids"]) > len(self.ids)
        self.bos, self.find = tokenizer.bos_token_id, tokenizer.convert_tokens_to_ids
        torch.set_default_dtype(torch.float64)
        with Widen(), RefuseNarrow():
            self.model = model_of(self.folder, dtype=torch.float64)
        self.model.load_state_dict({name: value.double() for name, value in self.state.items()}, strict=False)
        self.model.eval().requires_grad_(False)
        torch.set_default_dtype(torch.float32)

    def logprobs(self, ids):
        """log p of ids[1:], each after all before it."""
        torch.set_default_dtype(torch.float64)
        with torch.no_grad(), Widen(), RefuseNarrow():
            logits = self.model(input_ids=torch.tensor([ids[:-1]]), use_cache=False).logits[0]
        torch.set_default_dtype(torch.float32)
        return torch.log_softmax(logits, -1)[range(len(ids) - 1), ids[1:]].numpy()

    def gradients(self, segments):
        norms, logprob = oracle(self.folder, self.state, self.stored, np.array(segments, dtype=np.int32))
        return np.concatenate([norms, logprob[:, None]], 1)


def documents(ids, boundary):
    """(first, behind the last) of every part between boundaries that has a token."""
    if boundary is None:
        return [(0, len(ids))]
    ends = [-1] + [i for i, token in enumerate(ids) if token == boundary] + [len(ids)]
    return [(a + 1, b) for a, b in zip(ends, ends[1:]) if b > a + 1]


def places_of_segments(ids, boundary, tokens, count, stride):
    """First tokens of the segments that take so many tokens of a document each."""
    if boundary is None:
        return [i * stride for i in range(count)]
    places = [first for a, b in documents(ids, boundary) for first in range(a, b - tokens + 1, stride or tokens)]
    count = min(count, len(places))
    return places[:count] if stride else [places[len(places) * i // count] for i in range(count)]


def erf_case(m, begins, boundary, length, count, stride):
    before = [m.bos] * begins
    places = places_of_segments(m.ids, boundary, length - begins, count, stride)
    return places, m.gradients([before + m.ids[p:p + length - begins] for p in places]).ravel()


def targets_of(protocol, context, stride, stream, begins):
    """(first input, target) of each target of a stream that has, where `begins`, a beginning-of-text token at 0: a window's first input is that
    token wherever the window begins."""
    last = len(stream) - 1
    if protocol == "nonoverlapping":
        return [((j - 1) // context * context, j) for j in range(1, last + 1)]
    if protocol == "cached":
        return [(0, j) for j in range(1, last + 1)]
    ends = [min(context, last)]         # a document that is shorter than a window is scored whole
    while ends[-1] < last:
        ends.append(min(ends[-1] + stride, last))
    return [(max(next(e for e in ends if e >= j) - context, 0), j) for j in range(1, last + 1)]


def ppl_case(m, begins, boundary, protocol, context, stride, longest):
    values, places = [], []
    before = [m.bos] * begins
    if protocol == "last":          # the segments are cut for the longest context, and end alike for all
        tokens = longest + 1 - begins
        for first in places_of_segments(m.ids, boundary, tokens, 1000, stride):
            end = first + tokens
            values.append(m.logprobs(before + m.ids[end - (context + 1 - begins):end])[-1])
            places.append(end)
        return places, values
    for a, b in documents(m.ids, boundary):
        stream = before + m.ids[a:b]
        if len(stream) < 2:
            continue
        pairs = targets_of(protocol, context, stride, stream, begins)
        windows = {first: target for first, target in pairs}        # a window is run to its last target: what comes later changes nothing before
        found = {first: m.logprobs(before + stream[first + begins:end + 1]) for first, end in windows.items()}
        for first, target in pairs:
            values.append(found[first][target - first - 1])
            places.append(a + target + 1 - begins)
    return places, values


ERF = (  # family, --bos, --boundary, --length, --segments, --stride
    ("gpt2", "always", None, 40, 2, 30), ("llama", "auto", None, 40, 2, 30), ("llama", "never", None, 40, 2, 30), ("opt", "always", None, 24, 3, 9),
    ("llama", "auto", ".", 40, 3, None), ("llama", "never", ".", 30, 1000, None), ("gpt2", "auto", "Ċ", 20, 5, 7), ("gpt2", "always", "Ċ", 20, 5, None))
PPL = (  # family, --bos, --boundary, --protocol, context, --stride, longest of --context
    ("llama", "auto", None, "nonoverlapping", 16, None, 16), ("llama", "auto", None, "sliding", 16, 5, 16), ("gpt2", "always", None, "sliding", 7, 7, 7),
    ("mistral", "auto", None, "cached", None, None, 1), ("llama", "auto", ".", "nonoverlapping", 7, None, 16),
    ("llama", "auto", ".", "nonoverlapping", 16, None, 16), ("llama", "never", ".", "nonoverlapping", 16, None, 16),
    ("gpt2", "auto", "Ċ", "sliding", 9, 4, 9), ("gpt2", "always", "Ċ", "sliding", 9, 4, 9), ("mistral", "auto", ".", "cached", None, None, 1),
    ("mistral", "never", ".", "cached", None, None, 1), ("llama", "auto", ".", "last", 5, None, 20), ("llama", "auto", ".", "last", 20, None, 20),
    ("gpt2", "auto", "Ċ", "last", 6, 3, 6))


def main():
    models, rows, values, places = {}, [], [], []
    for verb, cases in (("erf", ERF), ("ppl", PPL)):
        for family, bos, boundary, *rest in cases:
            m = models.setdefault(family, None) or Model(family)
            models[family] = m
            begins = int(m.adds if bos == "auto" else bos == "always")
            token = None if boundary is None else m.find(boundary)
            where, what = (erf_case if verb == "erf" else ppl_case)(m, begins, token, *rest)
            options = f"--bos {bos}" + (f" --boundary {boundary}" if boundary else "")
            if verb == "erf":
                options += f" --length {rest[0]} --segments {rest[1]}"
            else:
                options += f" --protocol {rest[0]}" + (f" --context {rest[1]}" + (f",{rest[3]}" if rest[3] != rest[1] else "") if rest[1] else "")
            stride = rest[2]
            options += f" --stride {stride}" if stride else ""
            rows.append([family, verb, options, len(values), len(what), len(places), len(where)])
            values.extend(what)
            places.extend(where)
            print(*rows[-1], flush=True)
    with open(os.path.join(HERE, "cases.csv"), "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["model", "verb", "options", "first", "count", "first_place", "places"])
        out.writerows(rows)
    assert np.isfinite(values).all()
    np.save(os.path.join(HERE, "values.npy"), np.array(values, dtype=np.float64))
    np.save(os.path.join(HERE, "places.npy"), np.array(places, dtype=np.int32))


if __name__ == "__main__":
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    main()
