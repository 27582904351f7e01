"""Stages of measure.py about the models of examples/recurrent, whose blocks carry states: their fields by length, and the decays of their heads."""

import math
import os
import tempfile

from gates import TEXT, mean_and_error, read_csv
from learned import measure_field
from probes import RECURRENT, place_of, run

BESIDE = ("alibi", "rotary", "window-40")       # attention, for comparison
TRAINED_AGAIN = ("mamba2-train-32", "mamba2-train-512")     # weights are not kept: what is in data/ stands, or they lie in examples/recurrent
INPUTS, SEGMENTS = (64, 128, 256, 512, 1024, 2048, 4096), 100
THRESHOLDS = ("0.5", "0.9", "0.99")
DECAY_INPUTS, EPSILON = 128, "0.01"


def recurrent_names():
    return sorted(n for n in os.listdir(RECURRENT) if os.path.exists(os.path.join(RECURRENT, n, "model.safetensors")))


def lengths(options, name):
    """The field by the number of inputs that are measured, and the mean distance of the gradient: the sum of t s(t), t from 0, over segments."""
    import numpy as np
    from reach_erf import open_result
    table = [["model", "inputs", "segments", *(f"erf_{q}{end}" for q in THRESHOLDS for end in ("", "_lo", "_hi")), "distance", "distance_se", "nll", "nll_se"]]
    for inputs in INPUTS:
        with tempfile.TemporaryDirectory() as scratch:
            run(options, "erf", place_of(name), "--text", TEXT, "--length", inputs + 1, "--segments", SEGMENTS, *(word for q in THRESHOLDS for word in ("--threshold", q)),
                "-o", scratch, "--device", "cpu", "--quiet", "--force")
            fields = {row["threshold"]: row for row in read_csv(os.path.join(scratch, "summary.csv"))}
            result = next(iter(open_result(scratch).values()))
            norms = result.norm[result.status == 1][:, ::-1]
            log_p = result.logprob[result.status == 1]
        shares = norms / norms.sum(axis=1, keepdims=True)
        distance = mean_and_error(list(shares @ np.arange(shares.shape[1])))
        table.append([name, inputs, len(shares), *(fields[q][key] for q in THRESHOLDS for key in ("erf", "erf_lo", "erf_hi")),
                      *(f"{x:.4f}" for x in distance), *(f"{x:.5f}" for x in mean_and_error([-x for x in log_p]))])
    return table


def growth(options, name):
    """The exponent of growth of ERF(0.5), as doc/studies/registered.md lays down for its rule."""
    values, _ = measure_field(place_of(name), options.reach)
    return [["model", "growth", "growth_lo", "growth_hi"], [name, *values[:3]]]


def heads(options, name):
    """The mean log decay of every head over the text, and the tokens over which its state falls to a hundredth."""
    with tempfile.TemporaryDirectory() as scratch:
        run(options, "erf", place_of(name), "--text", TEXT, "--length", DECAY_INPUTS + 1, "--segments", SEGMENTS, "--attention", "--threshold", "0.99",
            "-o", scratch, "--device", "cpu", "--quiet", "--force")
        rows = [row for row in read_csv(os.path.join(scratch, "attention.csv")) if row["mixer"] == "recurrence" and row["epsilon"] == EPSILON]
    keys = ("layer", "head", "log_decay", "decay_tokens", "segments")
    return [["model", *keys], *([name, *(row[key] for key in keys)] for row in rows)]
