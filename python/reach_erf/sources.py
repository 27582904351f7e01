"""Where a parameter of the checkpoint comes from: parameters of the model, and what is done to them.

A source is the name of a parameter or what one of these functions returns, so sources can be put into each other. `{n}` in a
name stands for the block, counted from 0. Arrays are torch tensors or numpy arrays; matrices are [out, in], rows the first axis.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Callable, Union

import numpy as np

Array = Any


@dataclass(frozen=True)
class Applied:
    """A function of other sources."""

    function: Callable[..., Array]
    inputs: tuple[Source, ...]


@dataclass(frozen=True)
class Constant:
    """One value in every place, in whatever shape the checkpoint wants."""

    value: float


Source = Union[str, Applied, Constant]


def apply(function: Callable[..., Array], *sources: Source) -> Source:
    """Return the source that `function` makes of the arrays of `sources`."""
    return Applied(function, sources)


def transpose(source: Source) -> Source:
    """Return the source with its two axes exchanged, for matrices stored [in, out]; a vector stays as it is."""
    return apply(lambda a: a.T if a.ndim == 2 else a, source)


def rows(source: Source, start: int, stop: int) -> Source:
    """Return the rows from `start` up to `stop`, which is not included."""

    def take(a: Array) -> Array:
        if not 0 <= start < stop <= len(a):
            raise ValueError(f"there are no rows {start} to {stop} of {len(a)}")
        return a[start:stop]

    return apply(take, source)


def split(source: Source, part: int, of: int) -> Source:
    """Return part number `part`, from 0, of the rows divided into `of` equal parts, as [Q | K | V]."""

    def take(a: Array) -> Array:
        if not 0 <= part < of or len(a) % of:
            raise ValueError(f"part {part} of {of} of {len(a)} rows is not there")
        size = len(a) // of
        return a[part * size:(part + 1) * size]

    return apply(take, source)


def split_heads(source: Source, part: int, of: int, heads: int) -> Source:
    """Return part number `part`, from 0, of rows laid out head by head, each with its `of` parts: [heads][Q, K, V][head size]."""

    def take(a: Array) -> Array:
        if not 0 <= part < of or len(a) % (of * heads):
            raise ValueError(f"part {part} of {of} for each of {heads} heads of {len(a)} rows is not there")
        rest = tuple(a.shape[1:])
        return a.reshape((heads, of, -1) + rest)[:, part].reshape((-1,) + rest)

    return apply(take, source)


def concat(*sources: Source) -> Source:
    """Return the rows of all sources, one after the other."""

    def join(*arrays: Array) -> Array:
        return torch_of(arrays[0]).cat(arrays) if torch_of(arrays[0]) else np.concatenate(arrays)

    return apply(join, *sources)


def zeros() -> Source:
    """Return zeros in the shape that the checkpoint wants, for a bias that the model does not have."""
    return Constant(0.0)


def ones() -> Source:
    """Return ones in the shape that the checkpoint wants, for a norm without weights."""
    return Constant(1.0)


def torch_of(array: Array) -> Any:
    """Return the module torch if `array` is one of its tensors, else None."""
    torch = sys.modules.get("torch")
    return torch if torch and isinstance(array, torch.Tensor) else None


def names_of(source: Source) -> list[str]:
    """Return the names of all parameters that a source is made of."""
    if isinstance(source, str):
        return [source]
    return [name for part in source.inputs for name in names_of(part)] if isinstance(source, Applied) else []


def renamed(source: Source, change: Callable[[str], str]) -> Source:
    """Return the source with every name changed."""
    if isinstance(source, str):
        return change(source)
    if isinstance(source, Applied):
        return Applied(source.function, tuple(renamed(part, change) for part in source.inputs))
    return source


def value_of(source: Source, state: Any) -> Array:
    """Return the array that a source is; not of a constant, which has no shape of its own."""
    if isinstance(source, str):
        return state[source]
    if isinstance(source, Constant):
        raise ValueError("zeros() and ones() cannot be put into other sources")
    return source.function(*(value_of(part, state) for part in source.inputs))
