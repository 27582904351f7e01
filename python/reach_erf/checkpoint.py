"""Writing a checkpoint in the layout of doc/checkpoint.md from the parameters of any model."""

from __future__ import annotations

import difflib
import fnmatch
import json
import math
import os
import struct
from pathlib import Path
from typing import Any, Mapping, Sequence

import numpy as np

from .errors import ReachError, refuse
from .layout import parameters, read_config
from .sources import Array, Constant, Source, names_of, renamed, torch_of, value_of

DTYPES = {"float64": ("F64", 8), "float32": ("F32", 4), "float16": ("F16", 2), "bfloat16": ("BF16", 2)}  # name in the file, bytes
WEIGHTS = "model.safetensors"
CONFIG = "config.json"
OTHERS = ("*.safetensors", "*.index.json", "*.bin", "*.pt", "*.pth", "*.gguf", "*.h5")


def _dtype(array: Array) -> str:
    return str(getattr(array.dtype, "name", array.dtype)).replace("torch.", "")


def _shape(array: Array) -> tuple[int, ...]:
    return tuple(getattr(array, "shape", ()))


def _first_not_finite(array: Array) -> tuple[int, ...] | None:
    torch = torch_of(array)
    wrong = (~torch.isfinite(array)).nonzero()[:1].tolist() if torch else np.argwhere(~np.isfinite(array))[:1].tolist()
    return tuple(wrong[0]) if wrong else None


def _equal(a: Any, b: Array) -> bool:
    alike = hasattr(a, "dtype") and bool(torch_of(a)) == bool(torch_of(b)) and _shape(a) == _shape(b) and _dtype(a) == _dtype(b)
    return alike and bool((a == b).all())


def _bytes(array: Array) -> np.ndarray:
    """The elements in row-major order, little-endian."""
    torch = torch_of(array)
    if torch:
        elements: np.ndarray = array.detach().cpu().contiguous().view(torch.uint8).numpy()
        return elements
    swapped = array.dtype.byteorder == ">"
    return np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<")) if swapped else array).view(np.uint8)


def _expand(names: Mapping[str, Source], layers: int, wanted: Mapping[str, Any], problems: list[str]) -> dict[str, Source]:
    """The source of each parameter: blocks written out, and stems as their weight and bias."""
    table: dict[str, Source] = {}
    for key, source in names.items():
        for n in range(layers if "{n}" in key else 1):
            at = key.replace("{n}", str(n))
            of_block = renamed(source, lambda name: name.replace("{n}", str(n))) if "{n}" in key else source
            ends = [""] if at in wanted else [end for end in (".weight", ".bias") if at + end in wanted]
            if not ends:
                problems.append(f"{at}: a checkpoint of this configuration has no such parameter")
            for end in ends:
                if at + end in table:
                    problems.append(f"{at + end}: is in the table of names twice")
                table[at + end] = renamed(of_block, lambda name: name + end)
    return table


def _make(name: str, source: Source, shape: tuple[int, ...], state: Mapping[str, Array], problems: list[str]) -> Array | None:
    """The array of one parameter, or None and a line that says what is wrong."""
    if isinstance(source, Constant):
        return np.full(shape, source.value, dtype="float32")
    of = ", ".join(names_of(source))
    missing = [one for one in names_of(source) if one not in state]
    for one in missing:
        near = difflib.get_close_matches(one, state, 1)
        problems.append(f"{name}: the model has no parameter {one}" + (f" (did you mean {near[0]}?)" if near else ""))
    if missing:
        return None
    try:
        array = value_of(source, state)
    except Exception as error:  # the function is the user's
        problems.append(f"{name}: cannot be made of {of}: {error}")
        return None
    found = _shape(array)
    if found != shape:
        hint = "; transpose() exchanges the axes" if found == shape[::-1] else ""
        problems.append(f"{name}: {of} has the shape {list(found)} (expected {list(shape)}{hint})")
    elif _dtype(array) not in DTYPES:
        problems.append(f"{name}: {of} has the type {_dtype(array)} (expected {', '.join(DTYPES)})")
    elif (where := _first_not_finite(array)) is not None:
        problems.append(f"{name}: {of} has a value that is not finite at {list(where)}")
    else:
        return array
    return None


def _arrays(state: Mapping[str, Array], names: Mapping[str, Source], config: dict[str, Any],
            ignore: Sequence[str]) -> dict[str, Array]:
    """All parameters by their names in the checkpoint. Raises ReachError that names whatever does not fit."""
    shapes = parameters(config)
    tied = config.get("tied_head", True)
    allowed = {**shapes, "head.weight": shapes["embedding.weight"]} if tied else shapes
    problems: list[str] = []
    table = _expand(names, config["layers"], allowed, problems)
    problems += [f"{name}: is missing in the table of names (its shape is {list(shape)})"
                 for name, shape in shapes.items() if name not in table]
    made = {name: _make(name, source, allowed[name], state, problems) for name, source in table.items()}
    arrays = {name: array for name, array in made.items() if array is not None}
    embedding = arrays.get("embedding.weight")
    if tied and embedding is not None and "head.weight" in arrays and not _equal(arrays.pop("head.weight"), embedding):
        problems.append("head.weight: differs from embedding.weight (expected the same values, or tied_head False)")
    used = {name for source in table.values() for name in names_of(source)}
    for name in sorted(set(state) - used):
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in ignore):
            continue
        if not (tied and embedding is not None and _equal(state[name], embedding)):
            problems.append(f"{name}: is a parameter of the model that is not used (name it in the table, or under ignore)")
    refuse("the checkpoint", problems)
    return arrays


def _write_weights(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write a safetensors file, wider types first so that all tensors are aligned."""
    header, at = {}, 0
    for name, array in sorted(arrays.items(), key=lambda item: -DTYPES[_dtype(item[1])][1]):
        stored, width = DTYPES[_dtype(array)]
        end = at + width * math.prod(_shape(array))
        header[name] = {"dtype": stored, "shape": list(_shape(array)), "data_offsets": [at, end]}
        at = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name in header:
            file.write(_bytes(arrays[name]).data)
        file.flush()
        os.fsync(file.fileno())


def _write_config(path: Path, config: dict[str, Any]) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(config, indent=2, allow_nan=False) + "\n")
        file.flush()
        os.fsync(file.fileno())


def _place(folder: Path, arrays: Mapping[str, Array], config: dict[str, Any]) -> None:
    """Write both files beside their names, then rename them. With config.json a folder is a checkpoint: that comes last."""
    parts = {name: folder / f".{name}.part" for name in (WEIGHTS, CONFIG)}
    try:
        _write_weights(parts[WEIGHTS], arrays)
        _write_config(parts[CONFIG], config)
        (folder / CONFIG).unlink(missing_ok=True)
        for name in (WEIGHTS, CONFIG):
            os.replace(parts[name], folder / name)
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_checkpoint(folder: str | os.PathLike[str], state: Mapping[str, Array], names: Mapping[str, Source],
                     config: Mapping[str, Any], *, ignore: Sequence[str] = (), overwrite: bool = False) -> Path:
    """Write a checkpoint that reach reads, and return its folder.

    `state` is a state_dict; its tensors keep their types. `names` says for each parameter of the checkpoint where it comes from;
    a key without .weight or .bias stands for both, and {n} for every block. `config` has the keys of doc/checkpoint.md.
    Parameters of the model that are not used are refused, unless a name or pattern in `ignore` fits, or they are the head that is
    tied to the embedding. Everything is checked before the first byte is written; the files get their names when they are whole.
    """
    target = Path(folder)
    settled = read_config(config)
    arrays = _arrays(state, names, settled, [ignore] if isinstance(ignore, str) else ignore)
    mine = {WEIGHTS, CONFIG}
    there = [path.name for path in target.iterdir()] if target.is_dir() else []
    other = sorted(name for name in there if name not in mine and any(fnmatch.fnmatch(name, pattern) for pattern in OTHERS))
    if other:
        raise ReachError(f"{target}: holds {other[0]} (expected no other checkpoint there)")
    if mine & set(there) and not overwrite:
        raise ReachError(f"{target}: holds a checkpoint (overwrite=True replaces it)")
    target.mkdir(parents=True, exist_ok=True)
    _place(target, arrays, settled)
    return target
