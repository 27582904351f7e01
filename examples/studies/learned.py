#!/usr/bin/env python3
"""Measure the checkpoints of trainings (train.py --snapshots): when is the decay of the gradient learned?

    python3 examples/studies/learned.py DIR/rotary-seed-3 DIR/alibi-seed-3 ...

data/learned/NAME-decay.csv has a row for each checkpoint, and one for the weights as drawn (step 0): the decay
of the gradient within L_tr, of 400 segments of L_tr inputs, and the loss of 1000 targets after 16 and after
L_tr inputs. data/learned/NAME.csv
has one for each from step 500 on: the growth of the field and the field by threshold (400 segments of 1024
tokens), and the loss of 4000 targets at 1 to 16 times L_tr, as doc/studies/registered.md lays down;
data/learned/NAME-shares.csv has the share of the gradient by distance of these. What has its row is not
measured again. Needs `reach` (--reach), NumPy and h5py; PyTorch and safetensors for weights as drawn.
"""

import argparse
import os
import re
import shutil
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(os.path.dirname(os.path.dirname(HERE)), "python")]
from reach_erf import open_result  # noqa: E402
from gates import SEGMENTS, STRIDE, TARGETS, TEXT, mean_and_error, read_csv, run, write_csv  # noqa: E402

LENGTH, TRAINED = 1024, 128
JUDGED, FEW = 500, 1000     # the step from which a checkpoint is judged; targets of those that are not
GROUPS = 20         # of segments, for the jackknife; 97.5 % of Student's t with one less is 2.093
CONTEXTS = (16, TRAINED, 2 * TRAINED, 4 * TRAINED, 16 * TRAINED)
THRESHOLDS = ("0.5", "0.9", "0.99")
DECAY_TITLES = ["step", *(f"{what}{end}" for what in ("exponent", "exponent_over_floor", "floor", "far_half") for end in ("", "_lo", "_hi")),
                "r2_power", "r2_exponential", "r2_floor", "nll_16", "nll_128"]
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


def losses(checkpoint, reach, contexts, targets):
    """NLL of targets spread over the text after each number of tokens: {context: values}."""
    with tempfile.TemporaryDirectory() as scratch:
        each = os.path.join(scratch, "each.csv")
        run(reach, "ppl", checkpoint, "--text", TEXT, "--context", ",".join(map(str, contexts)), "--segments", targets,
            "--stride", TARGETS * STRIDE // targets, "--per-token", each, "--device", "cpu", "--quiet")
        nll = {c: [] for c in contexts}
        for row in read_csv(each):
            nll[int(row["context"])].append(float(row["nll"]))
    return nll


def measure_loss(checkpoint, reach):
    """NLL at each context, and its rises from L_tr, paired by target, with standard errors."""
    nll = losses(checkpoint, reach, CONTEXTS, TARGETS)
    means = [mean_and_error(nll[c])[0] for c in CONTEXTS]
    rises = [mean_and_error([a - b for a, b in zip(nll[c], nll[TRAINED])]) for c in CONTEXTS[2:]]
    return [f"{value:.5f}" for value in [*means, *(v for pair in rises for v in pair)]]


def line(x, y):
    """Slope and R^2 of the least-squares line."""
    slope, start = np.polyfit(x, y, 1)
    return slope, 1 - np.var(y - slope * x - start) / np.var(y)


def over_floor(share):
    """p, g and R^2 of the least-squares fit of ln(g + b (1 + t)^-p) to ln share, t from 1, by a grid that is made finer around its best point."""
    t, y = np.arange(1, len(share) + 1), np.log(share)
    p, ratio = np.linspace(0, 4, 41), np.linspace(-12, 3, 61)   # ratio: ln(g / b)
    for _ in range(5):
        form = np.log(np.exp(ratio)[None, :, None] + ((1.0 + t) ** -p[:, None])[:, None, :])
        i, j = np.unravel_index(np.argmin(np.var(y - form, axis=2)), (len(p), len(ratio)))
        best = p[i], ratio[j], np.mean(y - form[i, j]), np.var(y - form[i, j])
        step_p, step_ratio = p[1] - p[0], ratio[1] - ratio[0]
        p, ratio = (np.linspace(at - step, at + step, 21) for at, step in zip(best[:2], (step_p, step_ratio)))
        p = p[p >= 0]
    return best[0], np.exp(best[1] + best[2]), 1 - best[3] / np.var(y)


def decay_of(shares):
    """The decay of mean shares [inputs], the last input first: the exponent of a power law over distances 1 to L_tr - 1; exponent and floor of one with a
    constant, the floor as a multiple of an even share; the mean of the farther half in the same unit; and R^2 of the power law, of an exponential, and of
    the power law with a constant."""
    even, far = 1 / len(shares), shares[1:]
    t = np.arange(1, len(shares))
    power, exponential = line(np.log1p(t), np.log(far)), line(t, np.log(far))
    p, floor, r2 = over_floor(far)
    return [-power[0], p, floor / even, shares[len(shares) // 2:].mean() / even], [power[1], exponential[1], r2]


def measure_decay(checkpoint, reach):
    """decay_of the mean shares of segments of L_tr inputs, with 95 % intervals by the jackknife over groups of segments, and NLL after 16 and L_tr inputs."""
    with tempfile.TemporaryDirectory() as scratch:
        run(reach, "erf", checkpoint, "--text", TEXT, "--length", TRAINED + 1, "--segments", SEGMENTS, "-o", scratch, "--device", "cpu", "--quiet", "--force")
        field = next(iter(open_result(scratch).values()))
        shares = (field.norm / field.norm.sum(axis=1, keepdims=True))[:, ::-1]
    values, r2 = decay_of(shares.mean(axis=0))
    parts = np.array_split(np.arange(len(shares)), GROUPS)
    left = np.array([decay_of(np.delete(shares, part, axis=0).mean(axis=0))[0] for part in parts])
    half = 2.093 * np.sqrt((GROUPS - 1) * left.var(axis=0))
    return [f"{x:.5g}" for value, h in zip(values, half) for x in (value, value - h, value + h)] + [f"{x:.4f}" for x in r2] + [f"{mean_and_error(of)[0]:.5f}" for of in losses(checkpoint, reach, CONTEXTS[:2], FEW).values()]


def octaves(shares):
    """Two points an octave."""
    wanted = sorted({round(2 ** (k / 2)) for k in range(21)} & set(shares))
    return [[n, f"{float(shares[n]['c']):.6g}", f"{float(shares[n]['s']):.6g}"] for n in wanted]


def rows_of(path):
    return [list(row.values()) for row in read_csv(path)] if os.path.exists(path) else []


def add_row(path, remarks, titles, row):
    """The file with one more row, in the order of the steps."""
    rows = sorted([*rows_of(path), row], key=lambda row: int(row[0]))
    write_csv(path, remarks, [titles, *rows])


def decay_as_drawn(name, reach):
    """measure_decay of the weights that a training begins with."""
    from train import write_snapshot
    from windows import TOKENIZER, model_of
    with tempfile.TemporaryDirectory() as scratch:
        checkpoint = os.path.join(scratch, name)
        write_snapshot(model_of(name, None), checkpoint)
        shutil.copy(TOKENIZER, checkpoint)
        return measure_decay(checkpoint, reach)


def measure(training, reach, out):
    name = os.path.basename(os.path.normpath(training))
    path, path_of_shares, path_of_decay = (os.path.join(out, f"{name}{what}.csv") for what in ("", "-shares", "-decay"))
    made = f"made by examples/studies/learned.py of {name}"
    folder = os.path.join(training, "snapshots")
    steps = sorted(int(m[1]) for m in map(re.compile(r"checkpoint-(\d+)$").match, os.listdir(folder)) if m)
    for step in [0, *steps]:
        checkpoint = os.path.join(folder, f"checkpoint-{step}")
        if not any(row[0] == str(step) for row in rows_of(path_of_decay)):
            add_row(path_of_decay, [made, f"gradient of {SEGMENTS} segments of {TRAINED} inputs; exponent: of (1 + t)^-p over distances t from 1, as a line through ln share; exponent_over_floor, "
                                    f"floor: of g + b (1 + t)^-p; floor and far_half, the mean of the farther half, as multiples of an even share; nll: nats a token, {FEW} targets; _lo, _hi: 95 % interval by the jackknife"],
                    DECAY_TITLES, [str(step), *(measure_decay(checkpoint, reach) if step else decay_as_drawn(name, reach))])
        if step < JUDGED or any(row[0] == str(step) for row in rows_of(path)):
            continue
        field, by_tokens = measure_field(checkpoint, reach)
        row = [str(step), *field, *measure_loss(checkpoint, reach)]
        shares = sorted([row for row in rows_of(path_of_shares) if row[0] != str(step)] + [[str(step), *point] for point in octaves(by_tokens)],
                        key=lambda row: (int(row[0]), int(row[1])))
        write_csv(path_of_shares, [made, "units: tokens: the most recent inputs; c: their share of the gradient; s: that of the farthest"],
                  [["step", "tokens", "c", "s"], *shares])
        add_row(path, [made, "units: erf in tokens, nll and rise (from L_tr, paired by target) in nats a "
                       "token; _lo, _hi: 95 % interval by bootstrap-t, of growth by percentiles; _se: standard error"], TITLES, row)
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
