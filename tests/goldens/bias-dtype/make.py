#!/usr/bin/env python3
"""Position biases as PyTorch computes them in bfloat16 and float16 on the CPU.

    python3 tests/goldens/bias-dtype/make.py

values.npy: float64 [case, type (bf16, f16), head, distance], the bits of the narrow type widened; distances.npy: float64 [distance]. Cases, heads and
their parameters are those of tests/t-analyze-formula-dtype.c, in the same order. Every tensor that enters is rounded to the type once: distances, slopes,
parameters, constants. Every operation is PyTorch's own in that type. Made with PyTorch 2.15.0 (CPU), NumPy 2.4.6.
"""

import os

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
HEADS = 6
SHOWN = (1, 4, 6)  # heads that are kept
DISTANCES = sorted({*range(0, 40), *range(250, 300), *range(509, 530), *range(1020, 1060, 3), *range(2040, 6000, 97)})


def press(h):
    """Slopes of ALiBi in released code for 6 heads: those of 4, then the odd ones of 8."""
    return 2.0 ** -(8 * h / 4) if h <= 4 else 2.0 ** -(4 * (2 * (h - 4) - 1) / 4)


def cases(dtype):
    def c(value):
        return torch.tensor(value, dtype=torch.float64).to(dtype)

    t = torch.tensor(DISTANCES, dtype=torch.float64).to(dtype)
    yield lambda h: -(c(2.0 ** -(8 * h / HEADS)) * t)
    yield lambda h: -(c(press(h)) * t)
    yield lambda h: -c(1.05 + 0.3 * h) * torch.log(1 + c(0.37 / h) * t)
    yield lambda h: -c(0.11 * h) * torch.pow(t, c(0.4 + 0.1 * h))
    yield lambda h: -torch.log(1 + (c(2.0 ** -(8 * h / HEADS)) * t) ** 2)
    yield lambda h: -(torch.log(3 + c(2.0 ** -(8 * h / HEADS)) * t) + torch.log(torch.log(3 + c(2.0 ** -(8 * h / HEADS)) * t)))
    yield lambda h: (c(-0.825) * torch.log(1 + t) - c(0.8)) * 8 / c(8 * h / HEADS)
    # terms in the type, their total in double, rounded once
    yield lambda h: (sum(torch.cos(t / c(10000 ** (2 * i / 16))).double() for i in range(8)).to(dtype) - 8) / c(8 * h / HEADS)
    # the comparison is of whole numbers
    yield lambda h: torch.where(torch.tensor(DISTANCES) < 257, c(0.1) * t, c(-0.3) * t)
    yield lambda h: c(1 / 3 + h) + torch.zeros_like(t)
    yield lambda h: torch.exp(-c(0.07 * h) * torch.sqrt(t))


def main():
    values = [[[case(h).double().numpy() for h in SHOWN] for case in cases(dtype)] for dtype in (torch.bfloat16, torch.float16)]
    values = np.array(values, dtype=np.float64).transpose(1, 0, 2, 3)
    np.save(os.path.join(HERE, "values.npy"), np.ascontiguousarray(values))
    np.save(os.path.join(HERE, "distances.npy"), np.array(DISTANCES, dtype=np.float64))
    print(values.shape)


main()
