#!/usr/bin/env python3
"""Measure the checkpoints of trainings (train.py --snapshots): when is the decay of the gradient learned?

    python3 examples/studies/learned.py DIR/rotary-seed-3 DIR/alibi-seed-3 ...

For each checkpoint of each training a row of data/learned/NAME.csv: its step, the growth of the field
and the field by threshold (400 segments of 1024 tokens), and the loss of 4000 targets at 1 to 16 times
L_tr, as doc/studies/registered.md lays down; data/learned/NAME-shares.csv has the share of the gradient
by distance. A checkpoint that has its row is not measured again. Needs only `reach` (--reach).
"""

import argparse
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from gates import SEGMENTS, STRIDE, TARGETS, TEXT, mean_and_error, read_csv, run, write_csv  # noqa: E402

LENGTH, TRAINED = 1024, 128
CONTEXTS = (16, TRAINED, 2 * TRAINED, 4 * TRAINED, 16 * TRAINED)
THRESHOLDS = ("0.5", "0.9", "0.99")
TITLES = ["step", "growth", "growth_lo", "growth_hi",
          *(f"erf_{q}{end}" for q in THRESHOLDS for end in ("", "_lo", "_hi")),
          *(f"nll_{c}" for c in CONTEXTS),
          *(f"rise_{c}{end}" for c in CONTEXTS[2:] for end in ("", "_se"))]


def measure_field(checkpoint, reach):
    """Growth of ERF(0.5), the fields of whole segments by threshold, and the curve."""
    with tempfile.TemporaryDirectory() as scratch:
        run(reach, "erf", checkpoint, "--text", TEXT, "--length", LENGTH, "--segments", SEGMENTS, "--growth",
            *(word for q in THRESHOLDS for word in ("--threshold", q)), "-o", scratch, "--device", "cpu",
            "--quiet", "--force")
        summary, curve = (read_csv(os.path.join(scratch, name)) for name in ("summary.csv", "curve.csv"))
    whole = {float(row["threshold"]): row for row in summary if int(row["target"]) == LENGTH}
    half = whole[0.5]
    fields = [whole[float(q)][key] for q in THRESHOLDS for key in ("erf", "erf_lo", "erf_hi")]
    shares = {int(row["distance"]) + 1: row for row in curve if int(row["target"]) == LENGTH}
    return [*(f"{float(half[key]):.5f}" for key in ("growth", "growth_lo", "growth_hi")), *fields], shares


def measure_loss(checkpoint, reach):
    """NLL at each context, and its rises from L_tr, paired by target, with standard errors."""
    with tempfile.TemporaryDirectory() as scratch:
        each = os.path.join(scratch, "each.csv")
        run(reach, "ppl", checkpoint, "--text", TEXT, "--context", ",".join(map(str, CONTEXTS)), "--segments",
            TARGETS, "--stride", STRIDE, "--per-token", each, "--device", "cpu", "--quiet")
        nll = {c: [] for c in CONTEXTS}
        for row in read_csv(each):
            nll[int(row["context"])].append(float(row["nll"]))
    means = [mean_and_error(nll[c])[0] for c in CONTEXTS]
    rises = [mean_and_error([a - b for a, b in zip(nll[c], nll[TRAINED])]) for c in CONTEXTS[2:]]
    return [f"{value:.5f}" for value in [*means, *(v for pair in rises for v in pair)]]


def octaves(shares):
    """Two points an octave."""
    wanted = sorted({round(2 ** (k / 2)) for k in range(21)} & set(shares))
    return [[n, f"{float(shares[n]['c']):.6g}", f"{float(shares[n]['s']):.6g}"] for n in wanted]


def rows_of(path):
    return [list(row.values()) for row in read_csv(path)] if os.path.exists(path) else []


def measure(training, reach, out):
    name = os.path.basename(os.path.normpath(training))
    path, path_of_shares = os.path.join(out, f"{name}.csv"), os.path.join(out, f"{name}-shares.csv")
    rows, shares = rows_of(path), rows_of(path_of_shares)
    folder = os.path.join(training, "snapshots")
    steps = sorted(int(m[1]) for m in map(re.compile(r"checkpoint-(\d+)$").match, os.listdir(folder)) if m)
    for step in steps:
        if any(row[0] == str(step) for row in rows):
            continue
        checkpoint = os.path.join(folder, f"checkpoint-{step}")
        field, by_tokens = measure_field(checkpoint, reach)
        rows = sorted([*rows, [str(step), *field, *measure_loss(checkpoint, reach)]], key=lambda row: int(row[0]))
        shares = sorted([row for row in shares if row[0] != str(step)] + [[str(step), *point] for point in octaves(by_tokens)],
                        key=lambda row: (int(row[0]), int(row[1])))
        write_csv(path_of_shares, [f"made by examples/studies/learned.py of {name}",
                                   "units: tokens: the most recent inputs; c: their share of the gradient; s: that of the farthest"],
                  [["step", "tokens", "c", "s"], *shares])
        write_csv(path, [f"made by examples/studies/learned.py of {name}",
                         "units: erf in tokens, nll and rise (from L_tr, paired by target) in nats a token; _lo, _hi: 95 % "
                         "bootstrap interval; _se: standard error"], [TITLES, *rows])
        print(f"{name}: step {step} measured", flush=True)


def main():
    parser = argparse.ArgumentParser(description="measure the checkpoints of trainings")
    parser.add_argument("trainings", nargs="+", metavar="DIR", help="a model folder with snapshots/")
    parser.add_argument("--reach", default="./reach")
    parser.add_argument("--out", default=os.path.join(HERE, "data", "learned"))
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    for training in options.trainings:
        measure(training, options.reach, options.out)


if __name__ == "__main__":
    main()
