#!/usr/bin/env python3
"""Makes the token files of tests/t-io-token-files.c by h5py and numpy. All that are read hold the ids 1000 + i (bytes: 100 + i), i < 10, in rows of 5 where they
are tables. Needs h5py, numpy. Run it anywhere."""
import struct
from pathlib import Path

import h5py
import numpy as np

HERE = Path(__file__).resolve().parent
IDS = np.arange(1000, 1010)


def h5(name):
    return h5py.File(HERE / name, "w", libver="earliest")


def indexed(name, magic, dtype, code):
    """Three sequences of 4, 0 and 6 tokens in two documents."""
    sizes, documents = [4, 0, 6], [0, 2, 3]
    size = np.dtype(dtype).itemsize
    ends = np.cumsum([0] + sizes)
    (HERE / (name + ".bin")).write_bytes((IDS - (900 if size == 1 else 0)).astype(dtype).tobytes())
    if magic == b"MMIDIDX\0\0":
        head = magic + struct.pack("<QBQQ", 1, code, len(sizes), len(documents))
        index = np.array(sizes, "<i4").tobytes() + (ends[:-1] * size).astype("<i8").tobytes()
    else:
        head = magic + struct.pack("<QQQQQQ", 1, code, size, len(sizes), len(sizes), len(documents))
        index = np.arange(len(sizes) + 1, dtype="<i8").tobytes() + ends.astype("<i8").tobytes() + np.array(sizes, "<i8").tobytes()
    (HERE / (name + ".idx")).write_bytes(head + index + np.array(documents, "<i8").tobytes())


def main():
    for code, dtype in [(1, "u1"), (3, "<i2"), (4, "<i4"), (5, "<i8"), (8, "<u2")]:
        indexed(f"mmididx-{code}", b"MMIDIDX\0\0", dtype, code)
    indexed("tntidx-8", b"TNTIDX\0\0", "<u2", 8)
    for magic, version, dtype in [(20240520, 1, "<u2"), (20240801, 7, "<u4")]:
        header = np.zeros(256, "<i4")
        header[:3] = magic, version, len(IDS)
        (HERE / f"llmc-{version}.bin").write_bytes(header.tobytes() + IDS.astype(dtype).tobytes())
    with h5("named.h5") as f:
        f["tokens"] = IDS.astype("u2")
        f["more"] = np.arange(3)
    with h5("only.h5") as f:
        f["text"] = np.bytes_("x")
        f["weights"] = np.zeros(4, "f4")
        f.create_dataset("ids", data=IDS.astype(">i8"), chunks=(4,), compression="gzip", shuffle=True)
    with h5("table.h5") as f:
        f.create_dataset("split/valid", data=IDS.astype("i4").reshape(2, 5), chunks=(1, 3), compression="gzip", fletcher32=True)
        f["split/train"] = np.zeros((1, 5), "i4")
    with h5("two.h5") as f:
        f["a"] = IDS
        f["b"] = IDS
    with h5("refused.h5") as f:
        f["floats"] = np.zeros(3)
        f["cube"] = np.zeros((2, 2, 2), "i4")
        f["scalar"] = 7
        f["nothing"] = np.zeros(0, "i4")
        f["negative"] = np.array([3, -1])
        f["large"] = np.array([3, 2**31], "u4")
        f["huge"] = np.array([2**63], "u8")
        f.create_dataset("bomb", (1 << 40,), "i4", chunks=(1 << 16,), compression="gzip")
        f["soft"] = h5py.SoftLink("/negative")
        f["away"] = h5py.ExternalLink("named.h5", "/tokens")
        f.create_dataset("outside", (10,), "i4", external=[("named.h5", 0, 40)])
        f.create_dataset("twice", data=np.zeros(100000, "i4"), chunks=(100000,), scaleoffset=0)
        f["group/inner"] = IDS
    with h5py.File(HERE / "virtual.h5", "w", libver="v110") as f:
        layout = h5py.VirtualLayout((10,), "u2")
        layout[:] = h5py.VirtualSource("named.h5", "tokens", (10,))
        f.create_virtual_dataset("tokens", layout)


main()
