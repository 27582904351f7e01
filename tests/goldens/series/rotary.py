#!/usr/bin/env python3
"""Writes rotary.tsv, for tests/t-verb-trf-rotary.c: the first distance m at which still + sum over k of cos(m theta_k) is below 0 (arXiv:2405.14591); of the least theta
the first m at which m theta is above pi/2 and above 2 pi, and cos(m theta)^32 below 0.9 (arXiv:2602.10959).

The frequencies theta_k = base^(-2k/size) and their scalings are worked out in mpmath with 40 digits from the papers, by no code of ours. Distances are gone
through in numpy's float64 with frequencies in two parts, which is right to 1e-8 here; wherever that is within 1e-6 of 0, and at the distance found and the one
before it, mpmath decides. Run: python3 rotary.py (numpy, mpmath; a minute).
"""
import os

import mpmath as mp
import numpy as np

mp.mp.dps = 40
ROWS = [f"rope:{size},base={base}" for size in (64, 128, 256) for base in (10000, 500000, 1000000)] + [
    "rope:2", "rope:128,base=100", "rope:128,base=10000000", "rope:96/128", "rope:120/128,base=500000", "rope:128,linear:factor=4", "rope:64,base=500000,linear:factor=8",
    "rope:128,base=500000,llama3:factor=8,low_freq_factor=1,high_freq_factor=4,original=8192",
    "rope:64,base=500000,llama3:factor=32,low_freq_factor=1,high_freq_factor=4,original=8192",
    "rope:128,yarn:factor=16,original=4096", "rope:128,base=1000000,yarn:factor=4,original=32768", "rope:120/128,yarn:factor=4,original=2048,beta_fast=16"]


def read(text):
    head, *parts = text[len("rope:"):].split(",")
    size, _, whole = head.partition("/")
    kind, numbers = "none", {}
    for part in parts:
        before, colon, part = part.rpartition(":")
        kind = before if colon else kind
        name, _, value = part.partition("=")
        numbers[name] = mp.mpf(value)
    return int(size), int(whole or size), mp.mpf(numbers.pop("base", 10000)), kind, numbers


def frequencies(size, base, kind, n):
    theta = [base ** (mp.mpf(-2 * k) / size) for k in range(size // 2)]
    if kind == "linear": # positions over the factor
        return [f / n["factor"] for f in theta], mp.mpf(1)
    if kind == "llama3": # by wavelength, with a smooth step between
        def step(f):
            s = (n["original"] * f / (2 * mp.pi) - n["low_freq_factor"]) / (n["high_freq_factor"] - n["low_freq_factor"])
            s = min(mp.mpf(1), max(mp.mpf(0), s))
            return (1 - s) * f / n["factor"] + s * f
        return [step(f) for f in theta], mp.mpf(1)
    if kind == "yarn": # by turns within the original length (arXiv:2309.00071), as dimensions that are rounded outwards
        at = lambda turns: size * mp.log(n["original"] / (turns * 2 * mp.pi)) / (2 * mp.log(base))
        low = max(0, int(mp.floor(at(n.get("beta_fast", 32)))))
        high = min(size - 1, int(mp.ceil(at(n.get("beta_slow", 1)))))
        slowed = [min(mp.mpf(1), max(mp.mpf(0), mp.mpf(k - low) / (high - low))) for k in range(size // 2)]
        return [f * (s / n["factor"] + 1 - s) for f, s in zip(theta, slowed)], (mp.mpf("0.1") * mp.log(n["factor"]) + 1) ** 2
    return theta, mp.mpf(1)


def first(text, most=10 ** 6):
    size, head, base, kind, numbers = read(text)
    theta, factor = frequencies(size, base, kind, numbers)
    still = mp.mpf(head - size) / 2
    exact = lambda m: still + factor * sum(mp.cos(m * f) for f in theta)
    high = np.array([float(f) for f in theta])
    low = np.array([float(f - mp.mpf(float(f))) for f in theta])
    for start in range(1, most, 4096):
        m = np.arange(start, start + 4096, dtype=np.float64)[:, None]
        value = float(still) + float(factor) * np.cos(m * high + m * low).sum(1)
        for i in np.nonzero(value < 1e-6)[0]:
            if exact(int(start + i)) < 0:
                assert exact(int(start + i) - 1) >= 0
                return int(start + i)
    raise SystemExit(f"{text}: none up to {most}")


def slowest(text):
    size, _, base, kind, numbers = read(text)
    theta = min(frequencies(size, base, kind, numbers)[0])
    return [int(mp.floor(x / theta)) + 1 for x in (mp.pi / 2, 2 * mp.pi, mp.acos(mp.mpf("0.9") ** (mp.mpf(1) / 32)))]


if __name__ == "__main__":
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "rotary.tsv"), "w") as f:
        f.write("rotation\tfirst\tquarter\twhole\tincoherent\n")
        for row in ROWS:
            f.write("\t".join([row, str(first(row)), *(str(m) for m in slowest(row))]) + "\n")
            f.flush()
