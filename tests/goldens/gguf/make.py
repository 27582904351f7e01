#!/usr/bin/env python3
"""Make the goldens of GGUF files: blocks of every quantised type with their values.

    python3 tests/goldens/gguf/make.py

blocks.safetensors      for each quantised type TYPE (uint8 [blocks, bytes]): random blocks, some with scales that are zero,
                        subnormal, the largest, infinite or not a number; TYPE.values (float32): what the package makes of them

Needs the packages gguf (0.19.0), torch, safetensors, numpy. Seeds are the names: a second run writes the same bytes.
"""

import os
import sys

import numpy as np
from gguf import GGMLQuantizationType as T
from gguf import quants
from gguf.constants import GGML_QUANT_SIZES
from safetensors.numpy import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDENS = os.path.dirname(HERE)
sys.path.insert(0, GOLDENS)
import make_goldens

TYPES = [T.Q4_0, T.Q4_1, T.Q5_0, T.Q5_1, T.Q8_0, T.Q2_K, T.Q3_K, T.Q4_K, T.Q5_K, T.Q6_K, T.MXFP4]
# where the half-precision scales stand in a block
SCALES = {T.Q4_0: [0], T.Q4_1: [0, 2], T.Q5_0: [0], T.Q5_1: [0, 2], T.Q8_0: [0], T.Q2_K: [80, 82], T.Q3_K: [108], T.Q4_K: [0, 2],
          T.Q5_K: [0, 2], T.Q6_K: [208], T.MXFP4: []}
HALVES = [0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x0400, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0xFE01, 0x3C00, 0x1234]


# --- blocks -------------------------------------------------------------------------------------

def random_bytes(rng, kind, blocks):
    return rng.integers(0, 256, (blocks, GGML_QUANT_SIZES[kind][1]), dtype=np.uint8)


def put_half(data, at, value):
    data[:, at:at + 2] = np.asarray(value, dtype=np.uint16).reshape(-1, 1).view(np.uint8)


def make_blocks():
    """Random blocks of each type and their values."""
    out = {}
    for kind in TYPES:
        rng = make_goldens.generator("blocks " + kind.name)
        data = random_bytes(rng, kind, 24 if GGML_QUANT_SIZES[kind][0] == 32 else 20)
        for i, at in enumerate(SCALES[kind]):
            halves = rng.normal(0, 1, data.shape[0]).astype(np.float16).view(np.uint16)
            halves[:len(HALVES)] = np.roll(HALVES, 3 * i)
            put_half(data, at, halves)
        if kind is T.MXFP4:
            data[:6, 0] = [0, 1, 2, 127, 254, 255]
        out[kind.name] = data
        with np.errstate(all="ignore"):
            out[kind.name + ".values"] = quants.dequantize(data, kind).reshape(data.shape[0], -1)
    save_file(out, os.path.join(HERE, "blocks.safetensors"))


def main():
    make_blocks()


if __name__ == "__main__":
    main()
