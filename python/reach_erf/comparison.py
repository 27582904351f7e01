"""Comparing a checkpoint, as reach computes it, with the forward pass of the model that it was written from."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Sequence

import numpy as np

from .errors import ReachError
from .program import run
from .sources import Array, torch_of
from .tables import read_table

TOLERANCES = {"float64": 1e-6, "float32": 1e-4}  # of log p, by what the forward pass computes in
ROWS = 128  # positions whose logits are widened at once


@dataclass(frozen=True)
class Check:
    """How far the two are apart. Segments and positions count from 1; a position is that of the target, so the first is 2."""

    difference: float
    segment: int
    position: int
    first: int | None
    """The earliest position of any segment where they differ by more than the tolerance."""
    tolerance: float
    reach: np.ndarray
    """log p of every target, [segments, L-1]."""
    forward: np.ndarray

    def __str__(self) -> str:
        segments, targets = self.reach.shape
        return (f"log p differs by at most {self.difference:.3g} (tolerance {self.tolerance:g}), "
                f"at segment {self.segment}, position {self.position}; {segments} x {targets} targets")


class Mismatch(ReachError):
    """The checkpoint is not the model that the forward pass computes. `check` has the numbers."""

    def __init__(self, check: Check) -> None:
        i, k = check.segment - 1, check.position - 2
        hint = ("which sees a single token: compare embedding, positions added to it, norms, value, output, MLP and head"
                if check.first == 2 else "and those before agree: compare query, key, position encoding, scale and window")
        super().__init__(f"{check}: reach {check.reach[i, k]:.9g}, forward {check.forward[i, k]:.9g}. "
                         f"The first target that differs is at position {check.first}, {hint}")
        self.check = check


def run_reach(arguments: Sequence[str], program: str | os.PathLike[str] | None = None) -> str:
    """Run the program and return what it prints. Raises ReachError with its message."""
    return run(arguments, program=program).text


def _targets_of_forward(forward: Callable[[Any], Array], segment: Array, ids: np.ndarray) -> tuple[np.ndarray, str]:
    """log p of ids[1:], and the type of the logits. segment: [1, L], of the caller's kind."""
    torch = sys.modules.get("torch")
    with torch.no_grad() if torch else contextlib.nullcontext():
        logits = forward(segment[:, :-1])
    shape = tuple(getattr(logits, "shape", ()))
    if len(shape) != 3 or shape[:2] != (1, len(ids) - 1) or shape[2] <= ids.max():
        raise ReachError(f"forward returns the shape {list(shape)} (expected [1, {len(ids) - 1}, vocabulary])")
    found = np.empty(len(ids) - 1)
    for at in range(0, len(found), ROWS):
        part = logits[0, at:at + ROWS]
        row = part.detach().cpu().double().numpy() if torch_of(part) else np.asarray(part, dtype=np.float64)
        row = row - row.max(axis=1, keepdims=True)
        found[at:at + ROWS] = row[np.arange(len(row)), ids[at + 1:at + 1 + len(row)]] - np.log(np.exp(row).sum(axis=1))
    return found, str(logits.dtype).replace("torch.", "")


def check(folder: str | os.PathLike[str], forward: Callable[[Any], Array], tokens: Array, *, tolerance: float | None = None,
          program: str | os.PathLike[str] | None = None, dtype: str = "f64", options: Sequence[str] = ()) -> Check:
    """Compare log p of every token of a few segments, and return how far they are apart. Raises Mismatch above the tolerance.

    `forward` takes token ids [1, L-1], an array of the same kind as `tokens`, and returns logits [1, L-1, vocabulary]. `tokens`
    are whole segments [segments, L] or one segment [L]; every target is compared. `dtype` is the arithmetic of reach. The
    tolerance is 1e-6 for a forward pass in float64 and 1e-4 in float32, and has to be given for narrower types. A mistake that
    changes little, as another epsilon of the norms, shows in float64 alone. `options` are further ones of `reach ppl`.
    """
    tokens = tokens[None] if len(tokens.shape) == 1 else tokens
    ids = np.asarray(tokens.detach().cpu() if torch_of(tokens) else tokens)
    if ids.ndim != 2 or ids.dtype.kind not in "iu" or ids.shape[0] < 1 or ids.shape[1] < 2 or ids.min() < 0:
        raise ReachError(f"tokens are {ids.dtype} of the shape {list(ids.shape)} (expected ids [segments, L], L at least 2)")
    length = ids.shape[1]
    with tempfile.TemporaryDirectory() as scratch:
        given, said = Path(scratch, "tokens.npy"), Path(scratch, "per-token.csv")
        np.save(given, ids.astype(np.int64))
        run_reach(["ppl", f"model={os.fspath(folder)}", "--tokens", str(given), "--protocol", "nonoverlapping", "--context",
                   str(length - 1), "--per-token", str(said), "--dtype", dtype, "--strict", "--quiet", *options], program)
        table = read_table(said)
    ours = np.full(ids.shape, np.nan)
    ours[(table["row"] - 1).astype(int), table["position"] - 1] = -table["nll"]
    theirs = np.empty((len(ids), length - 1))
    kind = ""
    for i, row in enumerate(ids):
        theirs[i], kind = _targets_of_forward(forward, tokens[i:i + 1], row)
    if tolerance is None:
        if kind not in TOLERANCES:
            raise ReachError(f"forward gives {kind}, too coarse (expected float64, float32, or a tolerance)")
        tolerance = TOLERANCES[kind] if dtype == "f64" else TOLERANCES["float32"]
    gap = np.abs(ours[:, 1:] - theirs)
    gap[np.isnan(gap)] = np.inf
    segment, target = np.unravel_index(gap.argmax(), gap.shape)
    beyond = np.flatnonzero((gap > tolerance).any(axis=0))
    first = int(beyond[0]) + 2 if len(beyond) else None
    found = Check(float(gap.max()), int(segment) + 1, int(target) + 2, first, tolerance, ours[:, 1:], theirs)
    if not found.difference <= tolerance:
        raise Mismatch(found)
    return found
