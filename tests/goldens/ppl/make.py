#!/usr/bin/env python3
"""Make the golden values of the perplexity protocols.

    python3 tests/goldens/ppl/make.py

One random stream is scored by every protocol with several checkpoints of tests/goldens, in float64 by ../oracle.py, one target at a time: which
inputs a target sees is written down below for each protocol, and nothing is batched, shared or cached.

tokens.npy    int32 [53], the stream
cases.csv     checkpoint, protocol, context, stride, window, and which of logprob.npy are its values, in the order of the targets
logprob.npy   float64, natural log of each target's probability
t-test.csv    two-sided p of Student's t at several degrees of freedom (mpmath, 40 digits)
"""

import csv
import os
import sys

import mpmath
import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDENS = os.path.dirname(HERE)
sys.path.insert(0, GOLDENS)
import oracle  # noqa: E402

TOKENS, VOCABULARY = 53, 97
SEGMENTS = 3
MODELS = ("own-alibi", "own-learned", "own-rotary-half", "own-rotary-interleaved", "own-sinusoidal", "own-window-list", "own-soft-cap-multiplier",
          "own-key-bias", "own-t5", "own-biases-partial", "own-preset-window")
NOT_CACHED = ("own-learned", "own-key-bias", "own-soft-cap-multiplier")  # refused: a text has no end of positions, or of keys to bias, as these count them


def inputs_of_last(context, longest):
    """(first input, target) of each segment: the last `context` tokens before the target, whatever the longest context is."""
    length = longest + 1
    count = min(SEGMENTS, TOKENS // length)
    stride = (TOKENS - length) // (count - 1)
    return [(i * stride + length - 1 - context, i * stride + length - 1) for i in range(count)]


def inputs_of_nonoverlapping(context):
    """Target j sees the tokens of its block before it."""
    return [((j - 1) // context * context, j) for j in range(1, TOKENS)]


def inputs_of_sliding(context, stride):
    """Target j is scored by the first window that holds it; that window has `context` inputs, which end before its last target."""
    pairs, ends = [], [context]
    while ends[-1] < TOKENS - 1:
        ends.append(min(ends[-1] + stride, TOKENS - 1))
    for j in range(1, TOKENS):
        end = next(e for e in ends if e >= j)
        pairs.append((end - context, j))
    return pairs


def score(decoder, ids, pairs):
    with torch.no_grad():
        return [decoder.log_probability(decoder.rows(ids[first:target]), ids[target]).item() for first, target in pairs]


def main():
    rng = np.random.default_rng(20)
    tokens = rng.integers(0, VOCABULARY, TOKENS).astype(np.int32)
    ids = torch.from_numpy(tokens.astype(np.int64))
    rows, values = [], []

    def add(name, protocol, context, stride, window, logprob):
        rows.append([f"tests/goldens/{name}", protocol, context, stride, window, len(values), len(logprob)])
        values.extend(logprob)

    for name in MODELS:
        decoder = oracle.Decoder.read(os.path.join(GOLDENS, name))
        for context in (1, 5, 16):
            add(name, "last", context, "", "", score(decoder, ids, inputs_of_last(context, 16)))
        for context in (1, 11, 52):
            add(name, "nonoverlapping", context, "", "", score(decoder, ids, inputs_of_nonoverlapping(context)))
        for context, stride in ((11, 4), (11, 11), (7, 1), (52, 9)):
            add(name, "sliding", context, stride, "", score(decoder, ids, inputs_of_sliding(context, stride)))
        if name in NOT_CACHED:
            continue
        for window in (1, 6, 60):
            decoder.config["window"] = [window] * decoder.config["layers"]
            add(name, "cached", TOKENS - 1, "", window, score(decoder, ids, [(0, j) for j in range(1, TOKENS)]))

    np.save(os.path.join(HERE, "tokens.npy"), tokens)
    np.save(os.path.join(HERE, "logprob.npy"), np.array(values))
    with open(os.path.join(HERE, "cases.csv"), "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["checkpoint", "protocol", "context", "stride", "window", "first", "count"])
        table.writerows(rows)
    mpmath.mp.dps = 40
    with open(os.path.join(HERE, "t-test.csv"), "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["t", "degrees", "p"])
        for degrees in (1, 2, 3, 10, 99, 199, 200, 201, 999, 10 ** 5, 10 ** 7):
            for t in (0, 1e-6, 0.01, 0.5, 1, 1.96, 2.5, 4, 8, 30):
                a, x = mpmath.mpf(degrees) / 2, mpmath.mpf(t)
                p = mpmath.betainc(a, mpmath.mpf(1) / 2, 0, degrees / (degrees + x * x), regularized=True)
                # the same by quadrature of the density, which knows no beta function
                density = mpmath.gamma(a + 0.5) / mpmath.gamma(a) / mpmath.sqrt(degrees * mpmath.pi)
                q = 1 - 2 * density * mpmath.quad(lambda u: (1 + u * u / degrees) ** (-a - 0.5), mpmath.linspace(0, x, 17))
                assert abs(p - q) < 1e-25, (t, degrees, p, q)
                table.writerow([repr(t), degrees, mpmath.nstr(p, 17)])
    print(f"{len(rows)} cases, {len(values)} values")


if __name__ == "__main__":
    main()
