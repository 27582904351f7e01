#!/usr/bin/env python3
"""How far bf16 moves what `reach erf` measures: the tables of doc/performance.md. NumPy and h5py.

    bench/bf16.py REACH --keep bf16
    bench/bf16.py REACH --dtype bf16
    bench/bf16.py REACH --dtype bf16x3"""
import os, subprocess, sys, tempfile

import h5py
import numpy

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TEXT = ["--text", os.path.join(ROOT, "examples/text/sqlalchemy.py.gz"), "--length", "1024", "--segments", "8"]
EXAMPLES = [("examples/models/" + n, TEXT) for n in ("alibi", "rotary", "sinusoidal", "t5", "kerple-log", "window-64")]
GOLDENS = [("tests/goldens/" + n, ["--tokens", os.path.join(ROOT, "tests/goldens", n, "tokens.npy")]) for n in ("llama-gqa", "gpt2")]


def norms(reach, model, words, folder):
    subprocess.run([reach, "erf", os.path.join(ROOT, model), "-o", folder, "--bootstrap", "0", "--quiet", "--format", "svg", "--device", "cpu"] + words,
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with h5py.File(os.path.join(folder, "erf.h5"), "r") as f:
        group = f["models"][os.path.basename(model)]
        return group["norm"][:], group["logprob"][:], group["c"][:]


print("| model | inputs | c of a segment | c of the mean | norms, root mean square | norms, largest | log p |\n|---|---|---|---|---|---|---|")
for model, words in EXAMPLES + GOLDENS:
    with tempfile.TemporaryDirectory() as folder:
        norm, logprob, mean = norms(sys.argv[1], model, words, os.path.join(folder, "f32"))
        other, other_logprob, other_mean = norms(sys.argv[1], model, words + sys.argv[2:], os.path.join(folder, "bf16"))
    share, other_share = (x / x.sum(axis=1, keepdims=True) for x in (norm, other))
    c, other_c = (x[:, ::-1].cumsum(axis=1) for x in (share, other_share))
    seen = share > 1e-6
    relative = abs(other[seen] / norm[seen] - 1)
    print("| %s | %d | %.1e | %.1e | %.1e | %.1e | %g |" % (os.path.basename(model), norm.shape[1], abs(c - other_c).max(), abs(mean - other_mean).max(),
          (relative**2).mean()**0.5, relative.max(), abs(logprob - other_logprob).max()))
