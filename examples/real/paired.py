#!/usr/bin/env python3
"""Perplexity of runs of `reach ppl --per-token` over the same targets, and the difference of each one's NLL to that of the first, paired by target.

    python3 examples/real/paired.py build/real/field/ppl-*.tokens.csv

Prints a row for each file and context, with 95 % intervals that take targets as independent (1.96 standard errors).
"""

import csv
import math
import sys


def read(path):
    """NLL by context and position; the model's name."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    out = {}
    for row in rows:
        out.setdefault(int(row["context"]), {})[row["row"], int(row["position"])] = float(row["nll"])
    return rows[0]["model"], out


def mean(values):
    """Mean, and half of its 95 % interval."""
    n = len(values)
    m = math.fsum(values) / n
    return m, 1.96 * math.sqrt(math.fsum((v - m) ** 2 for v in values) / (n - 1) / n)


def main(paths):
    runs = [read(path) for path in paths]
    base = runs[0][1]
    print("model context targets perplexity difference half")
    for name, at in runs:
        for context, nll in at.items():
            if nll.keys() != base[context].keys():
                raise SystemExit(f"{name}: other targets at {context}")
            m, half = mean([nll[k] - base[context][k] for k in nll])
            print(f"{name} {context} {len(nll)} {math.exp(math.fsum(nll.values()) / len(nll)):.1f} {m:+.3f} {half:.3f}")


if __name__ == "__main__":
    main(sys.argv[1:])
