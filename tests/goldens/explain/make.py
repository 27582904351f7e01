#!/usr/bin/env python3
"""What `reach explain` says of one prompt and an example model, from float64 PyTorch (oracle.py) and the `tokenizers` package.

    python3 tests/goldens/explain/make.py

expected.csv has a row a number: quantity, place, id, value.

    norm      of the gradient of log p of the likeliest next token, by position from 1; id: the input
    contrast  the same of log p of that token less log p of AGAINST
    logprob   log p of the likeliest tokens, by rank from 1; id: the token
    against   log p of AGAINST
    zeros     log p of the likeliest token and of AGAINST if all embeddings are zero
"""

import csv
import os
import sys

import torch
from tokenizers import Tokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.dirname(HERE))

import oracle  # noqa: E402

MODEL = os.path.join(ROOT, "examples", "models", "alibi")
AGAINST, LIKELIEST = "self", 6


def main():
    torch.set_num_threads(1)
    with open(os.path.join(HERE, "prompt.txt"), encoding="utf-8") as file:
        prompt = file.read()
    tokenizer = Tokenizer.from_file(os.path.join(MODEL, "tokenizer.json"))
    ids = tokenizer.encode(prompt, add_special_tokens=False).ids
    model = oracle.Decoder.read(MODEL)
    rows = model.tensors["embedding.weight"][ids].detach()
    logprob = model.log_probability(rows, slice(None)).detach()
    order = torch.argsort(logprob, descending=True)[:LIKELIEST]
    target, against = int(order[0]), tokenizer.token_to_id(AGAINST)

    def norms(value_of):
        leaf = rows.clone().requires_grad_(True)
        return torch.autograd.grad(value_of(leaf), leaf)[0].norm(dim=1)

    plain = norms(lambda leaf: model.log_probability(leaf, target))
    contrast = norms(lambda leaf: model.log_probability(leaf, target) - model.log_probability(leaf, against))
    with open(os.path.join(HERE, "expected.csv"), "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["quantity", "place", "id", "value"])
        for name, values in (("norm", plain), ("contrast", contrast)):
            table.writerows([name, place, ids[place - 1], repr(float(value))] for place, value in enumerate(values, 1))
        table.writerows(["logprob", rank, int(token), repr(float(logprob[token]))] for rank, token in enumerate(order, 1))
        table.writerow(["against", 1, against, repr(float(logprob[against]))])
        for place, token in enumerate((target, against), 1):  # log p after rows of zeros
            table.writerow(["zeros", place, token, repr(float(model.log_probability(0 * rows, token)))])


if __name__ == "__main__":
    main()
