"""erf.h5, the result of `reach erf` and `reach merge`, as arrays."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Union

import h5py
import numpy as np

from .comparison import run_reach
from .errors import ReachError
from .html import paragraph, table
from .outcomes import Bias, Explanation, Fit, Outcome, Perplexity, TableOutcome, Theory, label, new_axes, number

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

FORMAT = "reach-erf/1"
USED = 1  # in `status`; 2: excluded
BY_SEGMENT = ("status", "logprob", "start")
CURVES = ("s", "c", "c_lo", "c_hi")
ROUNDING = 1e-6
INTERVAL_SEGMENTS = 5  # of fewer there is no interval
ROUNDING_OF_SUMS, NO_SPREAD = 1e-12, 1e-10  # deviations that are not those of segments; variances of drawings of equal segments, as a part of the whole
DEFLATE_RATIO = 1032  # zlib's bound on how far data shrink


@dataclass(frozen=True)
class Erf:
    """The field at a threshold and its 95 % interval, a bootstrap-t over segments, in tokens; None of fewer than 5 segments, and without a bootstrap. Saturated: all tokens
    are needed."""

    threshold: float
    erf: int
    lo: int | None
    hi: int | None
    saturated: bool


@dataclass(frozen=True, eq=False, repr=False)
class Field:
    """What was measured of a model at one layer for one target. Positions are those of the inputs, the first token first."""

    name: str
    target: int
    """Position of the target, from 1: segments are cut to this many tokens."""
    layer: int
    """0: the embeddings; else the input of this block."""
    attributes: dict[str, Any]
    """Those of the model, and those of this field."""
    norm: np.ndarray
    """[segments, L-1] norms of the gradients, as stored."""
    logprob: np.ndarray
    status: np.ndarray
    """[segments] 1: used, 2: excluded."""
    start: np.ndarray
    s: np.ndarray
    c: np.ndarray
    """c_lo, c_hi: its 95 % interval; NaN where there is none."""
    c_lo: np.ndarray
    c_hi: np.ndarray
    completeness: np.ndarray | None = None
    """[segments, 2] of integrated gradients: the sum of the attributions, log p of the baseline."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name}, target {self.target}, layer {self.layer}: {self.norm.shape} norms)"

    @property
    def distance(self) -> np.ndarray:
        """Distance of each input from the last one."""
        return np.arange(len(self.c) - 1, -1, -1)

    @property
    def thresholds(self) -> list[float]:
        return [float(text) for text in str(self.attributes["thresholds"]).split(",")]

    @property
    def mean_logprob(self) -> float:
        """Mean log p of the target over the segments that are used."""
        return float(self.logprob[self.status == USED].mean())

    def shares(self) -> np.ndarray:
        """Return the share of each position in the sum of its segment's norms, [segments used, L-1]."""
        norm = self.norm[self.status == USED].astype(np.float64)
        shares: np.ndarray = norm / norm.sum(axis=1, keepdims=True)
        return shares

    def curve(self) -> np.ndarray:
        """Return c computed again from the norms: the mean of the shares, summed from each position on."""
        return _cumulative(self.shares().mean(axis=0))

    @cached_property
    def _replicates(self) -> np.ndarray:
        """[bootstrap, L-1] curves of segments drawn anew, by the draws of the program, each studentized by its own spread."""
        cumulative = np.cumsum(self.shares()[:, ::-1], axis=1)[:, ::-1]
        cumulative /= cumulative[:, :1]
        used, count = len(cumulative), int(self.attributes["bootstrap"])
        drawn = _draw(int(self.attributes["seed"]), count, used)
        weight = np.zeros((count, used))
        np.add.at(weight, (np.arange(count)[:, None], drawn), 1)
        return _studentized(weight / used, cumulative, _cumulative(self.shares().mean(axis=0)))

    @property
    def has_interval(self) -> bool:
        """Whether there are resamplings, and enough segments for them."""
        return _has_interval(self.attributes, self.status)

    def interval(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of the 95 % interval of c computed again from the norms, NaN where there is none."""
        if not self.has_interval:
            return np.full_like(self.c, np.nan), np.full_like(self.c, np.nan)
        return _quantile(self._replicates, 0.025), _quantile(self._replicates, 0.975)

    def erf(self, threshold: float | None = None) -> Erf:
        """Return the field at any threshold; None: the main one of the run."""
        q = float(self.attributes["main_threshold"]) if threshold is None else float(threshold)
        if not 0 < q < 1:
            raise ReachError(f"the threshold is {threshold} (expected a share between 0 and 1)")
        value = int(_field(self.c[None], q)[0])
        if not self.has_interval:
            return Erf(q, value, None, None, value == len(self.c))
        drawn = _field(self._replicates, q)
        return Erf(q, value, int(_quantile(drawn, 0.025)), int(_quantile(drawn, 0.975)), value == len(self.c))

    def to_frame(self) -> pandas.DataFrame:
        """Return the curve as a pandas table with the columns of curve.csv."""
        import pandas

        return pandas.DataFrame({
            "model": self.name, "position": np.arange(1, len(self.c) + 1), "distance": self.distance, "s": self.s, "c": self.c,
            "c_lo": self.c_lo, "c_hi": self.c_hi, "target": self.target, "layer": self.layer,
            "attribution": self.attributes["attribution"],
        })


@dataclass(frozen=True, eq=False, repr=False)
class Model(Field):
    """One model of a result, as its field of whole segments at the embeddings; `others` are of --layer and --target-position."""

    others: list[Field] = dataclasses.field(default_factory=list)
    attention: np.ndarray | None = None
    """[layers, heads, L-1] mean attention by distance, of runs with --attention."""
    log_decay: np.ndarray | None = None
    """[layers, heads] mean log decay of recurrences in nats per token, NaN in other layers, of runs with --attention."""
    tokens: np.ndarray | None = None
    """[segments, L] token ids; None in results of before they were kept."""
    pieces: dict[int, bytes] = dataclasses.field(default_factory=dict)
    """The text of each id that occurs; empty where the model has no tokenizer: then ids of a vocabulary of 256 are bytes."""

    @property
    def fields(self) -> list[Field]:
        return [self, *self.others]

    def field(self, target: int | None = None, layer: int = 0) -> Field:
        """Return the field of a target, None for that of whole segments, and a layer."""
        for one in self.fields:
            if (one.target, one.layer) == (target or self.target, layer):
                return one
        raise ReachError(f"{self.name}: target {target or self.target}, layer {layer} was not measured "
                         f"(expected one of {', '.join(f'{one.target}, {one.layer}' for one in self.fields)})")


class Result(Outcome, Dict[str, Model]):
    """The models of a result by their names, of `erf`. `attributes` has its format, version and command."""

    main_figure = "erf"

    def __init__(self, attributes: dict[str, Any], models: dict[str, Model], folder: Path | None = None) -> None:
        super().__init__(models)
        self.attributes, self.folder, self.command = attributes, folder, str(attributes.get("command", ""))

    def __missing__(self, name: str) -> Model:
        raise KeyError(f"{name} (expected one of {', '.join(self)})")

    def __repr__(self) -> str:
        return f"Result({', '.join(f'{model.name}: {_shown(model.erf())}' for model in self.values())})"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the cumulative curve of each model with its 95 % interval over the position, in tokens, as the program does."""
        ax = new_axes(ax, "Cumulative gradient", "position m (tokens)", "share from position m on")
        for model in self.values():
            position, found = np.arange(1, len(model.c) + 1), model.erf()
            line, = ax.plot(position, model.c, label=label(f"{model.name}: ERF({found.threshold:g}) {_shown(found)}"))
            ax.fill_between(position, model.c_lo, model.c_hi, alpha=0.2, color=line.get_color(), linewidth=0)
        for q in {model.erf().threshold for model in self.values()}:
            ax.axhline(q, color="grey", linewidth=0.8, linestyle=":")
        ax.legend()
        return ax

    def _table(self) -> str:
        first = next(iter(self.values()))
        main = first.erf().threshold
        others = [q for q in first.thresholds if q != main]
        rows = []
        for model in self.values():
            found = model.erf(main)
            trained = model.attributes.get("train_length", 0) or "-"
            rows.append([model.name, model.attributes["position_encoding"], int((model.status == USED).sum()), _shown(found),
                         "-" if found.lo is None else f"[{found.lo}, {found.hi}]", *(_shown(model.erf(q)) for q in others), number(np.exp(-model.mean_logprob)),
                         trained])
        names = ["model", "position encoding", "segments", f"ERF({main:g})", "95 % interval", *(f"({q:g})" for q in others),
                 "PPL", "L_tr"]
        return paragraph(_question(list(self)), bold=True) + table(names, rows, "ERF in tokens; \u2265: all tokens of the segment are needed, and the field may be longer"
                     if any(model.erf(q).saturated for model in self.values() for q in first.thresholds) else "ERF in tokens")

    def to_frame(self) -> pandas.DataFrame:
        """Return all curves as one pandas table with the columns of curve.csv."""
        import pandas

        return pandas.concat([one.to_frame() for model in self.values() for one in model.fields], ignore_index=True)

    def erf_frame(self) -> pandas.DataFrame:
        """Return a pandas table of the fields at all thresholds of the run, with the first columns of summary.csv."""
        import pandas

        return pandas.DataFrame([
            {"model": one.name, "target": one.target, "layer": one.layer, **dataclasses.asdict(one.erf(threshold))}
            for model in self.values() for one in model.fields for threshold in one.thresholds])


def _question(names: list[str]) -> str:
    """The title of a result: the names of its models, of many the first four."""
    shown = names if len(names) <= 5 else [*names[:4], f"{len(names) - 4} more"]
    return (f"How far back {'does' if len(names) == 1 else 'do'} "
            + " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]])) + " look?")


def _shown(found: Erf) -> str:
    return f"\u2265 {found.erf}" if found.saturated else str(found.erf)


def _cumulative(s: np.ndarray) -> np.ndarray:
    sums = np.cumsum(s[::-1])[::-1]
    c: np.ndarray = sums / sums[0]
    return c


def _studentized(weight: np.ndarray, cumulative: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Curves of a bootstrap-t, from the share of each segment [curves, segments] in a drawing: c less the deviation of the drawing in its own standard errors, times
    that of c; at most 1, and nowhere lower than nearer to the end."""
    deviation = cumulative - cumulative.mean(axis=0)
    square = deviation ** 2
    variance, shift = square.mean(axis=0), weight @ deviation
    own = weight @ square - shift ** 2
    spread = own > NO_SPREAD * variance
    with np.errstate(divide="ignore", invalid="ignore"):
        curves = np.where(spread, c - shift * np.sqrt(variance / own), np.where(shift > 0, 0.0, 1.0))
    curves = np.where((variance <= ROUNDING_OF_SUMS ** 2) | (~spread & (shift ** 2 <= NO_SPREAD * variance)), c, curves)
    found: np.ndarray = np.maximum.accumulate(np.clip(curves, 0, 1)[:, ::-1], axis=1)[:, ::-1]
    return found


def _has_interval(attributes: dict[str, Any], status: np.ndarray) -> bool:
    return int(attributes["bootstrap"]) > 0 and int((status == USED).sum()) >= INTERVAL_SEGMENTS


def _field(c: np.ndarray, q: float) -> np.ndarray:
    """The smallest number of most recent tokens with a share above q, of each curve [curves, positions]."""
    n = c.shape[1]
    above = c[:, ::-1] > q
    field: np.ndarray = np.where(above.any(axis=1), above.argmax(axis=1) + 1, n)
    return field


def _quantile(values: np.ndarray, p: float) -> np.ndarray:
    """Inverse of the empirical distribution along the first axis: the smallest value with a share p of all at or below it."""
    rank = np.searchsorted(np.arange(1, len(values) + 1) / len(values), p)
    found: np.ndarray = np.partition(values, rank, axis=0)[rank]
    return found


def _draw(seed: int, count: int, used: int) -> np.ndarray:
    """[count, used] indices below `used`: element i of SplitMix64's stream `seed`, times used, its upper 64 bits."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.arange(1, count * used + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    low, high, size = z & np.uint64(0xFFFFFFFF), z >> np.uint64(32), np.uint64(used)
    return ((high * size + ((low * size) >> np.uint64(32))) >> np.uint64(32)).astype(np.int64).reshape(count, used)


def _attributes(group: h5py.Group) -> dict[str, Any]:
    return {name: value.item() if hasattr(value, "item") else value for name, value in group.attrs.items()}


def _groups(group: h5py.Group, beginning: str = "") -> list[h5py.Group]:
    """The groups in a group, in the order that they were made in."""
    names: list[bytes] = []
    kept = group.id.get_create_plist().get_link_creation_order()
    group.id.links.iterate(names.append, idx_type=h5py.h5.INDEX_CRT_ORDER if kept else h5py.h5.INDEX_NAME)
    hard = [name for name in map(bytes.decode, names) if isinstance(group.get(name, getlink=True), h5py.HardLink)]
    return [group[name] for name in hard if name.startswith(beginning) and isinstance(group[name], h5py.Group)]


def _check_storage(dataset: h5py.Dataset) -> None:
    """Refuse what the program refuses: data in other files, filters that are not HDF5's own, shapes far beyond what is stored."""
    where, plist = f"{dataset.file.filename}: {dataset.name}", dataset.id.get_create_plist()
    filters = [plist.get_filter(i)[0] for i in range(plist.get_nfilters())]
    packed = filters.count(h5py.h5z.FILTER_DEFLATE)
    if (dataset.dtype.kind not in "fiu" or plist.get_layout() == h5py.h5d.VIRTUAL or plist.get_external_count() or packed > 1
            or not {*filters} <= {h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32}):
        raise ReachError(f"{where} is not numbers in the file itself, plain or by deflate and shuffle")
    if dataset.chunks and any(chunk > size > 0 for chunk, size in zip(dataset.chunks, dataset.shape)):
        raise ReachError(f"{where} has chunks larger than itself")
    stored, claimed = dataset.id.get_storage_size(), dataset.size * dataset.dtype.itemsize
    if claimed and not claimed / (DEFLATE_RATIO if packed else 1) <= stored <= dataset.file.id.get_filesize():
        raise ReachError(f"{where} claims {claimed} bytes, more than the file can hold ({stored} are stored)")


def _array(group: h5py.Group, name: str) -> np.ndarray | None:
    """A dataset of this file; None where there is none. Links that lead elsewhere are not followed."""
    here = isinstance(group.get(name, getlink=True), h5py.HardLink) and isinstance(group[name], h5py.Dataset)
    if here:
        _check_storage(group[name])
    return group[name][...] if here else None


def _read_field(group: h5py.Group, name: str, of_model: dict[str, Any]) -> dict[str, Any]:
    """The members of a field; what is missing and shapes that do not fit together are refused."""
    where, own = f"{group.file.filename}: {group.name}", _attributes(group)
    segments, positions = own.get("segments", -1), own.get("target_position", 0) - 1
    expected = {**dict.fromkeys(BY_SEGMENT, (segments,)), **dict.fromkeys(CURVES, (positions,)), "norm": (segments, positions)}
    arrays: dict[str, Any] = {"completeness": _array(group, "completeness")}
    for dataset, shape in expected.items():
        array = arrays[dataset] = _array(group, dataset)
        if array is None:
            raise ReachError(f"{where} has no dataset {dataset} (expected a result of reach erf)")
        if array.shape != shape:
            raise ReachError(f"{where}/{dataset} has the shape {list(array.shape)} (expected {list(shape)})")
    used = arrays["status"] == USED
    if not ((arrays["logprob"] <= ROUNDING) & (arrays["norm"] >= 0).all(axis=1))[used].all():
        raise ReachError(f"{where} has log p above 0 or norms below 0 (expected a result of reach erf)")
    if not all(((arrays[curve] >= 0) & (arrays[curve] <= 1 + ROUNDING)).all() for curve in CURVES):
        raise ReachError(f"{where} has curves beyond 0 to 1 (expected a result of reach erf)")
    attributes = {**of_model, **own}
    if not _has_interval(attributes, arrays["status"]):
        arrays["c_lo"] = arrays["c_hi"] = np.full(positions, np.nan)
    return {"name": name, "target": positions + 1, "layer": own.get("layer"), "attributes": attributes, **arrays}


def _read_pieces(group: h5py.Group) -> dict[int, bytes]:
    ids, ends, text = (_array(group, name) for name in ("piece_id", "piece_end", "piece_bytes"))
    if ids is None or ends is None or text is None:
        return {}
    stops = [int(end) for end in ends]
    if len(stops) != len(ids) or stops != sorted(stops) or stops[-1] > len(text):
        raise ReachError(f"{group.file.filename}: {group.name}/piece_end does not fit piece_id and piece_bytes")
    return {int(one): text[start:end].tobytes() for one, start, end in zip(ids, [0, *stops], stops)}


def _read_model(group: h5py.Group) -> Model:
    name, attributes = group.name.rpartition("/")[2], _attributes(group)
    others = [Field(**_read_field(layer, name, attributes))
              for target in _groups(group, "target-") for layer in _groups(target, "layer-")]
    main, tokens = _read_field(group, name, attributes), _array(group, "tokens")
    if tokens is not None and tokens.shape != (len(main["norm"]), main["target"]):
        raise ReachError(f"{group.file.filename}: {group.name}/tokens has the shape {list(tokens.shape)} "
                         f"(expected {[len(main['norm']), main['target']]})")
    return Model(**main, others=others, attention=_array(group, "attention"), log_decay=_array(group, "log_decay"), tokens=tokens, pieces=_read_pieces(group))


def read_erf(path: Path) -> Result:
    """Read a result of `erf`: its folder or its erf.h5."""
    if path.is_dir():
        if (path / "erf.part").exists():
            raise ReachError(f"{path}: the run is not finished (erf.part is there)")
        path = path / "erf.h5"
    if not path.is_file():
        raise ReachError(f"{path}: there is no such file (expected a result of reach; read_table reads CSV files)")
    try:
        with h5py.File(path, "r") as file:
            root = _attributes(file)
            groups = _groups(file, "models")
            if root.get("format") != FORMAT or len(groups) != 1:
                raise ReachError(f"{path}: is no result of reach erf (expected the format {FORMAT})")
            models = map(_read_model, _groups(groups[0]))
            return Result(root, {model.name: model for model in models}, path.parent)
    except (OSError, RuntimeError, KeyError) as error:
        raise ReachError(f"{path}: cannot be read as HDF5: {error}") from None


Saved = Union[Result, Explanation, Perplexity, Theory, Fit, Bias]
KINDS: tuple[type[Explanation] | type[Perplexity] | type[Theory] | type[Fit] | type[Bias], ...] = (Explanation, Perplexity, Theory, Fit, Bias)
OF_ERF = ("curve.csv", "summary.csv", "attention.csv", "validation.csv")


def _files(kind: type[TableOutcome]) -> list[str]:
    return [f"{name}.csv" for name in kind.kinds if name != "per-token"]  # which is where its user puts it


def _open(path: Path) -> Saved:
    if not path.is_dir():
        kind = next((kind for kind in KINDS if path.name in _files(kind)), None)
        if kind and path.is_file():
            return kind(path.parent)
        return read_erf(path.with_name("erf.h5") if path.name in OF_ERF else path)
    found = {kind: next((name for name in _files(kind) if (path / name).is_file()), None) for kind in KINDS}
    there = {kind: name for kind, name in found.items() if name}
    if (path / "erf.h5").exists() or (path / "erf.part").exists() or not there:
        return read_erf(path)
    if len(there) > 1:
        raise ReachError(f"{path}: holds results of several kinds, {', '.join(there.values())} (expected one of these files)")
    return next(iter(there))(path)


def open_result(*paths: str | os.PathLike[str], program: str | os.PathLike[str] | None = None) -> Saved:
    """Read a result of any verb: the folder that it was written to, or a file of it, such as erf.h5, explain.csv or ppl.csv.

    All shards of one run of `erf`, as several folders, are joined by `reach merge` first.
    """
    if len(paths) == 1:
        return _open(Path(paths[0]))
    with tempfile.TemporaryDirectory() as scratch:
        run_reach(["merge", *map(os.path.abspath, paths), "-o", scratch, "--quiet", "--force"], program)
        joined = read_erf(Path(scratch))
        joined.folder = None
        return joined
