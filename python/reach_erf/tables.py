"""The CSV files of reach as columns. doc/outputs.md says what they mean."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import ReachError

if TYPE_CHECKING:
    import pandas

# The columns of each file, in their order. :w are whole numbers, :d whole numbers of any size, :r numbers, with ? where one may be
# missing; others are text.
COLUMNS = {  # by make outputs
    "curve": "model position:w distance:w s:r c:r c_lo:r c_hi:r target:w layer:w attribution",
    "summary": """model segments:w excluded:w length:w threshold:r erf:w erf_lo:w erf_hi:w
        saturated:w erf_q10:w erf_median:w erf_q90:w sink_share:r erf_without_sink:w mean_logprob:r
        ppl:r target:w layer:w attribution growth:r? growth_lo:r? growth_hi:r?""",
    "attention": """model layer:w head:w epsilon attention_erf:w? trf:d? trf_length:w? verdict
        segments:w excluded:w mixer log_decay:r? decay_tokens:r?""",
    "validation": """model change tokens:w tests:w nll_change:r nll_change_lo:r? nll_change_hi:r?
        size:r size_lo:r? size_hi:r? gradient:r within:r enough:w enough_lo:w? enough_hi:w?
        enough_gradient:r correlation:r? correlation_lo:r? correlation_hi:r? octaves:r?
        octaves_lo:r? octaves_hi:r?""",
    "ppl": """model protocol context:w stride:w? tokens:w nll:r std_error:r? ppl:r window:w?
        seconds_per_token:r? diff:r? diff_se:r? p:r? bytes:w? characters:w? words:w?
        bits_per_byte:r? character_ppl:r? word_ppl:r?""",
    "gain": """model protocol context:w tokens:w nll:r gain:r? gain_lo:r? gain_hi:r? p:r? rest:r?
        rest_lo:r? rest_hi:r? within:r needed:r enough:r needed_q10:w? needed_median:w?
        needed_q90:w?""",
    "per-token": "model context:w row:w? position:w id:w nll:r piece",
    "trf": """formula head length layers:w epsilon verdict sum_lo:r? sum_hi:r? trf_lo:d? trf_hi:d?
        layer:w? log10_trf_lo:r? log10_trf_hi:r?""",
    "rotary": """formula layer:w? inputs:w? turned:w still:r verdict distance:w? window:w?
        train_length:w? slowest:r quarter_turn:w? whole_turn:w? layers:w coherence incoherent:w?""",
    "weights": """formula layers head length tokens:w weight:r beyond:r? epsilon verdict field
        trf:r?""",
    "fit": "formula head form first:r last:r coefficient value:r std_error:r r2:r layer",
    "bias": "formula head distance:w bias:r layer:w?",
    "explain": """model position:w distance:w id:w piece norm:r share:r cumulative:r rank:w line:w
        target_position:w target_id:w target_logprob:r unit:w? prompt target""",
    "units": """model unit:w position:w last:w distance:w text norm:r share:r cumulative:r rank:w
        line:w target_position:w target_id:w target_logprob:r prompt target change:r? change_rank:w?
        rank_correlation:r?""",
}


class Table(Mapping[str, np.ndarray]):
    """Columns by name, as arrays: text as str, whole numbers as int64, others as float64.

    Where a whole number may be missing the column is float64, and NaN. Whole numbers of any size, such as trf_hi, are Python's int in
    an array of objects, exact; NaN where there is none, and inf. `kind` is which file it is, and `notes` has what stands
    above the header: the version, the command and the units.
    """

    def __init__(self, kind: str, columns: dict[str, np.ndarray], notes: dict[str, str]) -> None:
        self.kind, self.columns, self.notes = kind, columns, notes

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __repr__(self) -> str:
        rows = len(next(iter(self.columns.values()), ()))
        return f"Table({self.kind}: {rows} rows of {', '.join(self.columns)})"

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas table of the same columns."""
        import pandas

        return pandas.DataFrame(self.columns)


def _notes(lines: list[str]) -> dict[str, str]:
    notes = {}
    for line in lines:
        text = line.lstrip("# ").rstrip("\n")
        name, found, value = text.partition(": ")
        if not found:  # "reach 0.1.0"
            name, _, value = text.rpartition(" ")
        notes[name] = value
    return notes


def _of_any_size(cell: str) -> int | float:
    """Return a whole number exactly; int() of a text takes no more than 4300 digits."""
    value = Decimal(cell or "nan")
    return int(value) if value.is_finite() else float(value)


def _column(name: str, kind: str, cells: list[str], path: Any) -> np.ndarray:
    if not kind:
        return np.array(cells, dtype=object)
    try:
        if kind.startswith("d"):
            return np.array([*map(_of_any_size, cells)], dtype=object)
        if kind == "w":
            return np.array([int(cell) for cell in cells], dtype=np.int64)
        return np.array([float(cell) if cell or not kind.endswith("?") else np.nan for cell in cells], dtype=np.float64)
    except (ValueError, InvalidOperation) as error:
        raise ReachError(f"{path}: column {name}: {error}") from None


def read_table(path: str | os.PathLike[str]) -> Table:
    """Read a CSV file that reach wrote: curve, summary, attention, ppl, --per-token, trf, rotary, fit, bias. New columns are text."""
    with open(path, encoding="utf-8", newline="") as file:
        text = list(file)
    first = next((i for i, line in enumerate(text) if not line.startswith("#")), len(text))
    rows = list(csv.reader(text[first:]))
    header = rows[0] if rows else []
    for kind, known in COLUMNS.items():
        kinds = {name: of for name, _, of in (column.partition(":") for column in known.split())}
        if len(header) > 1 and list(kinds)[:len(header)] == header[:len(kinds)]:
            break
    else:
        raise ReachError(f"{path}: its columns are {', '.join(header) or 'missing'} (expected a CSV file that reach wrote)")
    wrong = next((i for i, row in enumerate(rows) if len(row) != len(header)), None)
    if wrong is not None:
        raise ReachError(f"{path}: row {wrong} has {len(rows[wrong])} cells (expected {len(header)})")
    cells = list(map(list, zip(*rows[1:]))) or [[] for _ in header]
    columns = {name: _column(name, kinds.get(name, ""), cells[i], path) for i, name in enumerate(header)}
    return Table(kind, columns, _notes(text[:first]))
