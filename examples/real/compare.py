#!/usr/bin/env python3
"""Compare what `reach` measured of a real model with NAME.csv, which transformers made (see oracle.py): `make real` runs it."""

import csv
import os
import sys

import numpy as np
import reach_erf

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT_C, LIMIT_LOGPROB, LIMIT_NLL = 1e-5, 1e-4, 1e-4


def cumulative(norms):
    return np.cumsum(norms[:, ::-1], axis=1)[:, ::-1] / norms.sum(axis=1, keepdims=True)


def main(name, folder):
    expected = {"token": {}, "nll": {}, "logprob": {}, "norm": {}}
    with open(os.path.join(HERE, name + ".csv"), newline="") as file:
        for row in csv.DictReader(file):
            expected[row["kind"]][int(row["segment"]), int(row["position"])] = float(row["value"])
    ids = np.load(os.path.join(folder, name + ".npy"))
    wrong = sum(ids[place - 1] != value for (_, place), value in expected["token"].items() if place)
    model, = reach_erf.open_result(os.path.join(folder, name + "-512")).values()
    norms = np.array([[expected["norm"][s, i] for i in range(1, 512)] for s in (1, 2)])
    differences = [
        ("tokens", f"{len(ids)} of the novel, one in 1000 compared", float(wrong + (len(ids) != expected["token"][0, 0])), 0),
        ("c", "2 segments of 512, each", np.abs(cumulative(model.norm.astype(float)) - cumulative(norms)).max(), LIMIT_C),
        ("log p", "their last tokens", max(abs(model.logprob[s - 1] - expected["logprob"][s, 512]) for s in (1, 2)), LIMIT_LOGPROB)]
    ppl = reach_erf.read_table(os.path.join(folder, name + "-ppl", "ppl.csv"))
    for context, nll in zip(ppl["context"], ppl["nll"]):
        differences.append((f"NLL at {int(context)}", f"mean of 8 targets, {nll:.5f}", abs(nll - expected["nll"][0, int(context)]), LIMIT_NLL))
    print(name)
    for what, of, value, limit in differences:
        print(f"{what:12} {of:40} differs by {value:.2g} (at most {limit:g})")
    return 0 if all(value <= limit for _, _, value, limit in differences) else 1  # NaN is no value below its limit


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
