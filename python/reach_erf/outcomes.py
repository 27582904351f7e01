"""What every result is: its folder, what the program said, its figure, how a notebook shows it."""

from __future__ import annotations

import codecs
import copy
import io
import math
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import textwrap
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import ReachError
from .html import Svg, escape, image, paragraph, shaded, table
from .program import Done
from .tables import Table, read_table

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

ROWS_MOST = 60  # of a table in a notebook
TOKENS_NAMED = 60  # on an axis
TITLE_MOST = 80  # characters of a line
LABEL_MOST = 24  # characters of one of them
CONTEXTS_NAMED = 10  # on an axis
OF_ATTRIBUTION = {"": "gradient norm", "grad": "gradient norm", "inputxgrad": "norm of input x gradient",
                  "ig": "norm of integrated gradients", "smoothgrad": "norm of SmoothGrad"}
PARTS_SHOWN = 8  # explanations in a notebook, of several targets
GNUPLOT_SECONDS = 120
NO_FIGURE = ("No figure: there is neither gnuplot nor matplotlib (expected one of them: apt install gnuplot-nox, "
             "or pip install matplotlib).")


def new_axes(ax: Axes | None, title: str, across: str, up: str) -> Axes:
    """Return `ax`, or the axes of a new figure, with its labels."""
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise ReachError("plot needs matplotlib (pip install matplotlib)") from None
        ax = plt.figure(figsize=(8, 4.5), layout="constrained").add_subplot()
    ax.set(title=label(title), xlabel=across, ylabel=up)
    return ax


def label(text: Any) -> str:
    """Return a text as matplotlib draws it: a $ begins no formula."""
    return str(text).replace("$", r"\$")


def number(value: float, digits: int = 4) -> str:
    """Return a number as a table shows it."""
    return "" if value is None or math.isnan(value) else f"{value:.{digits}g}"


def _remove(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # not in a copy of the process
        shutil.rmtree(folder, ignore_errors=True)


class Outcome:
    """A result of the program. A folder that was not asked for by out= is removed with the result, at the latest at exit."""

    folder: Path | None = None
    """The files that the program wrote."""
    command: str = ""
    """The command, as results record it."""
    text: str = ""
    """What the program printed."""
    messages: list[str] = []
    """What it said on standard error, except warnings."""
    main_figure: str = ""

    def own(self, folder: Path) -> None:
        """Remove this folder with the result."""
        weakref.finalize(self, _remove, str(folder), os.getpid())

    def said(self, done: Done) -> None:
        """Keep what the program said."""
        self.text, self.messages = done.text, done.messages
        self.command = self.command or done.command

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Copy the files of the result into a folder that is new or empty, and return it."""
        target = Path(folder)
        if self.folder is None or not self.folder.is_dir():
            raise ReachError("this result has no folder (expected one of a verb that writes files)")
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise ReachError(f"{target}: exists (expected a folder that is new or empty)")
        shutil.copytree(self.folder, target, dirs_exist_ok=True)
        return target

    def to_frame(self) -> pandas.DataFrame:
        """Return the main table as a pandas table."""
        raise NotImplementedError

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the figure with matplotlib into `ax`, by default into a new figure, and return its axes."""
        raise NotImplementedError

    @property
    def figure(self) -> Svg | None:
        """The figure as SVG: by the program's own script where gnuplot is there, else by matplotlib; None without both."""
        script = self.folder / f"{self.main_figure}.gp" if self.folder else None
        return (self._by_gnuplot(script) if script and script.is_file() else None) or self._by_matplotlib()

    @property
    def figures(self) -> dict[str, Svg]:
        """All figures that gnuplot draws from the program's scripts, by their names, as SVG; empty without gnuplot."""
        if self.folder is None:
            return {}
        drawn = {script.stem: self._by_gnuplot(script) for script in sorted(self.folder.glob("*.gp"))}
        return {name: svg for name, svg in drawn.items() if svg}

    def _by_gnuplot(self, script: Path) -> Svg | None:
        picture = script.with_suffix(".svg")
        if picture.is_file():
            return Svg(picture.read_text(encoding="utf-8"))
        if not shutil.which("gnuplot"):
            return None
        with tempfile.TemporaryDirectory(prefix="reach-") as scratch:
            command = ["gnuplot", "-e", "format='svg'; output='drawn.svg'", str(script.resolve())]
            try:
                subprocess.run(command, cwd=scratch, capture_output=True, check=True, timeout=GNUPLOT_SECONDS)
                return Svg(Path(scratch, "drawn.svg").read_text(encoding="utf-8"))
            except (OSError, subprocess.SubprocessError):
                return None

    def _by_matplotlib(self) -> Svg | None:
        try:
            from matplotlib.figure import Figure
        except ImportError:
            return None
        drawn, text = Figure(figsize=(8, 4.5), layout="constrained"), io.StringIO()
        try:
            self.plot(drawn.add_subplot())
        except ReachError:  # there is nothing to draw
            return None
        drawn.savefig(text, format="svg", metadata={"Date": None})
        return Svg(text.getvalue())

    def _table(self) -> str:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        figure = self.figure
        return self._table() + (image(figure, self.command) if figure else paragraph(NO_FIGURE))


class TableOutcome(Outcome, Mapping[str, np.ndarray]):
    """A result whose main part is a table: its columns by name, as arrays. `tables` has all tables that the run wrote."""

    kinds: tuple[str, ...] = ()
    """The tables that the verb may write, the main one first."""
    __eq__, __hash__ = object.__eq__, object.__hash__

    def __init__(self, folder: Path) -> None:
        self.folder, there = folder, [kind for kind in self.kinds if (folder / f"{kind}.csv").is_file()]
        if not there:
            raise ReachError(f"{folder}: has no {self.kinds[0]}.csv (expected a result of reach {self.kinds[0]})")
        self.tables: dict[str, Table] = {kind: read_table(folder / f"{kind}.csv") for kind in there}
        self.main_figure, self.command = there[0], self.table.notes.get("command", "")

    @property
    def table(self) -> Table:
        """The main table."""
        return next(iter(self.tables.values()))

    def __getitem__(self, name: str) -> np.ndarray:
        return self.table[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.table)

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.rows} rows of {', '.join(self)})"

    @property
    def rows(self) -> int:
        """Number of rows of the main table."""
        return len(next(iter(self.table.columns.values())))

    def to_frame(self) -> pandas.DataFrame:
        """Return the main table as a pandas table; doc/outputs.md says what its columns mean."""
        return self.table.to_frame()

    def labels(self, *names: str) -> list[str]:
        """Return for each row its value of the first column, and of the others where they differ in this table."""
        first, *rest = names
        differing = [name for name in rest if len({str(value) for value in self[name]}) > 1]
        return [", ".join([str(self[first][i]), *(f"{name} {_whole(self[name][i])}" for name in differing)]) for i in range(self.rows)]

    def _table(self) -> str:
        shown = [name for name, values in self.items() if any(cell(value) for value in values)]
        rows = [[cell(self[name][i]) for name in shown] for i in range(min(self.rows, ROWS_MOST))]
        return table(shown, rows, f"{self.rows - ROWS_MOST} more rows" if self.rows > ROWS_MOST else "")


def _whole(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def cell(value: Any) -> str:
    """Return a value of a column as a table shows it."""
    if isinstance(value, (float, np.floating)):
        return number(float(value), 6)
    text = str(Decimal(value) if isinstance(value, int) else value)  # str() of an int gives no more than 4300 digits
    return text if len(text) <= 40 or not text.isdigit() else f"{text[0]}.{text[1:3]}e{len(text) - 1}"


class Perplexity(TableOutcome):
    """Perplexity at each context, of `ppl`. `tables` may also have gain and per-token."""

    kinds = ("ppl", "gain", "per-token")

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the perplexity over the context, in tokens, a line for each model, with 95 % intervals: 1.96 standard errors of the NLL."""
        ax = new_axes(ax, "Perplexity", "context (tokens)", "perplexity")
        for model in dict.fromkeys(self["model"]):
            mine = self["model"] == model
            ppl, error = self["ppl"][mine], 1.96 * np.nan_to_num(self["std_error"][mine])
            ax.errorbar(self["context"][mine], ppl, yerr=[ppl * -np.expm1(-error), ppl * np.expm1(error)], marker="o", capsize=3,
                        label=label(model))
        ax.set_xscale("log", base=2)
        contexts = sorted({int(one) for one in self["context"]})
        ax.set_xticks(contexts if len(contexts) <= CONTEXTS_NAMED else contexts[::-(-len(contexts) // CONTEXTS_NAMED)][::-1])
        ax.xaxis.set_major_formatter("{x:.0f}")
        ax.minorticks_off()
        ax.ticklabel_format(axis="y", style="plain", useOffset=False)
        ax.legend()
        return ax


class Theory(TableOutcome):
    """Theoretical receptive fields, of `trf`. `trf_lo` and `trf_hi` are Python's int, exact at any size, NaN where there is none."""

    kinds = ("trf", "rotary", "weights")

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the fields, in tokens, of each row that has one, on a logarithmic axis."""
        if "trf" not in self.tables:
            raise ReachError("rotary positions alone have no such figure (expected a bias, a formula or a preset too)")
        ax = new_axes(ax, "Theoretical receptive field", "tokens (power of ten)", "")
        labels = self.labels("formula", "layer", "head", "length", "layers", "epsilon")
        there = [i for i in range(self.rows) if np.isfinite(self["log10_trf_hi"][i])]
        low, high = (np.array([self[name][i] for i in there], dtype=float) for name in ("log10_trf_lo", "log10_trf_hi"))
        ax.errorbar(high, range(len(there)), xerr=[np.maximum(high - low, 0), np.zeros(len(there))], fmt="o")
        ax.set_yticks(range(len(there)), [label(labels[i]) for i in there])
        ax.invert_yaxis()
        return ax


class Fit(TableOutcome):
    """Coefficients of a form fitted to a bias or a curve, of `fit`."""

    kinds = ("fit",)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw each coefficient with twice its standard error."""
        ax = new_axes(ax, f"Fit of {self['form'][0]}" if self.rows else "Fit", "value", "")
        names = [f"{row}: {one}" for row, one in zip(self.labels("formula", "layer", "head"), self["coefficient"])]
        ax.errorbar(self["value"], range(self.rows), xerr=2 * np.nan_to_num(self["std_error"]), fmt="o")
        ax.set_yticks(range(self.rows), [label(name) for name in names])
        ax.invert_yaxis()
        return ax


class Bias(TableOutcome):
    """The bias of each head at each distance, of `bias`."""

    kinds = ("bias",)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the bias, in nats, over the distance, in tokens, a line for each head."""
        ax = new_axes(ax, "Position bias", "distance (tokens)", "bias (nats)")
        labels = np.array(self.labels("formula", "layer", "head"), dtype=object)
        for one in dict.fromkeys(labels):
            mine = labels == one
            ax.plot(self["distance"][mine], self["bias"][mine], label=label(one))
        if len(set(labels)) <= 16:
            ax.legend()
        return ax


@dataclass(frozen=True)
class Token:
    """A token that could follow: its text, its id, and log p in nats (NaN where it was not computed)."""

    text: str
    id: int
    logprob: float


SPELT = re.compile(r"\\(?:x(?P<byte>[0-9A-F]{2})|u(?P<code>[0-9A-F]{4})|U(?P<long>[0-9A-F]{8})|(?P<plain>.))", re.S)


def spelt_bytes(piece: str) -> bytes:
    r"""Return the bytes of a piece as explain.csv spells it: with \\, \n, \t, \r, \x1B, \u202E and \U000E0001."""
    out, at = b"", 0
    for found in SPELT.finditer(piece):
        code = found["code"] or found["long"]
        out += piece[at:found.start()].encode()
        out += (bytes([int(found["byte"], 16)]) if found["byte"] else chr(int(code, 16)).encode("utf-8", "replace") if code
                else {"n": b"\n", "t": b"\t", "r": b"\r"}.get(found["plain"], found["plain"].encode()))
        at = found.end()
    return out + piece[at:].encode()


UNIT_MOST = 60  # characters of a word, sentence or line in a sentence


def _decoded(piece: Any) -> str:
    """Return the text of a piece as explain.csv spells it."""
    return spelt_bytes(str(piece)).decode("utf-8", "replace")


def _in_sentence(unit: str) -> str:
    """Return a unit as the program quotes it: with signs for line ends and tabs, and cut."""
    text = re.sub(r"\r\n|\n", "\u21b5", unit).replace("\t", "\u21e5")
    return text if len(text) <= UNIT_MOST else text[:UNIT_MOST] + "\u2026"


def _percent(logprob: float) -> str:
    """Return p as a table shows it, of its logarithm."""
    return "" if math.isnan(logprob) else f"{100 * math.exp(logprob):.3g} %"


def _rows(of: Table, which: slice | np.ndarray) -> Table:
    """Return some rows of a table, of one target: without the note on the first."""
    notes = {name: note for name, note in of.notes.items() if name != "target"}
    return Table(of.kind, {name: column[which] for name, column in of.columns.items()}, notes)


def _keys(of: Table) -> list[tuple[Any, ...]]:
    """Return which target each row is of."""
    rows = len(next(iter(of.columns.values())))
    return list(zip(*(of.get(name, np.zeros(rows)) for name in ("prompt", "target_position", "target_id"))))


class Explanation(TableOutcome):
    """What predictions depended on, of `explain`: a row for each target and input token, in order, the first token first."""

    kinds = ("explain", "units")

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        keys = _keys(self.table)
        self._starts = [i for i, key in enumerate(keys) if i == 0 or key != keys[i - 1]]

    @property
    def parts(self) -> list[Explanation]:
        """The explanation of each target in order, by itself; of an answer the sum first, and then its tokens."""
        return [self._part(i) for i in range(max(1, len(self._starts)))]

    def _part(self, number: int) -> Explanation:
        if len(self._starts) < 2:
            return self
        first, part = self._starts[number], copy.copy(self)
        part._starts, part.tables = [0], {"explain": _rows(self.table, slice(first, [*self._starts, self.rows][number + 1]))}
        units = self.tables.get("units")
        if units is not None:
            mine, = _keys(_rows(self.table, slice(first, first + 1)))
            part.tables["units"] = _rows(units, np.array([key == mine for key in _keys(units)]))
        return part

    @property
    def units(self) -> Table | None:
        """The words, sentences or lines of by= or leave_out=, a row each, of several targets of the first: columns of units.csv. With
        leave_out= `change` is that of log p without the unit, in nats, NaN for one that cannot be left out."""
        return self._part(0).tables.get("units")

    @property
    def rank_correlation(self) -> float:
        """With leave_out=: Spearman's, between the size of the change and the share of the units, of several targets of the first;
        else NaN."""
        found = self.units
        values = found["rank_correlation"] if found is not None and "rank_correlation" in found else np.zeros(0)
        return float(next((one for one in values if not math.isnan(one)), math.nan))

    @property
    def pieces(self) -> list[str]:
        """The text of each input token, of several targets of the first; together they are the whole text: a character of several
        tokens is that of the last one."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        bytes_ = [spelt_bytes(str(piece)) for piece in self._part(0)["piece"]]
        return [decoder.decode(piece, i == len(bytes_)) for i, piece in enumerate(bytes_, 1)]

    @property
    def share(self) -> np.ndarray:
        """The share of each input in the sum of the gradient's norms, of several targets of the first."""
        return self._part(0)["share"]

    @property
    def target(self) -> Token | None:
        """The token that was predicted, of several targets the first; None if the file does not say it in a way that this version knows.
        Of an answer of several tokens the text is the whole answer, and the id -1."""
        return next(iter(self._tokens()), None)

    @property
    def others(self) -> list[Token] | list[Explanation]:
        """The likeliest other tokens, and with against= that token first; of several targets the explanations of the others."""
        return self._tokens()[1:] if len(self._starts) < 2 else self.parts[1:]

    def _tokens(self) -> list[Token]:
        found = re.findall(r'"((?:[^"\\]|\\.)*)" \(id (\d+)\)(?:, log p ([^;,]+))?', self.table.notes.get("target", ""))
        if not found and self.rows and "target_id" in self:
            one = int(self["target_id"][0])
            text = _decoded(self["target"][0]) if "target" in self else ""
            return [Token(text, one, float(self["target_logprob"][0]))]
        return [Token(_decoded(text), int(one), float(logprob or math.nan)) for text, one, logprob in found]

    def _given(self, *options: str) -> str:
        """The value that the command gives one of the options; empty: none."""
        try:
            words = shlex.split(self.command)
        except ValueError:  # not a command of the program
            return ""
        for word, after in zip(words, [*words[1:], ""]):
            name, equals, value = word.partition("=")
            if name in options:
                return value if equals else after
        return ""

    def _against(self) -> str:
        """The text that the target is compared with, quoted; empty: none. Of several targets it is as the command gives it."""
        named = re.search(r'; against ("(?:[^"\\]|\\.)*") \(id', self.table.notes.get("target", ""))
        given = self._given("--against")
        return named[1] if named else given and f'"{given}"'

    def _shown(self) -> tuple[str, list[str], Table]:
        """What shares are shown of: token, word, sentence or line, the texts, and the table of which each has a row."""
        part, units = self._part(0), self.units
        if units is None:
            return "token", self.pieces, part.table
        return self._given("--leave-out", "--by"), [_decoded(text) for text in units["text"]], units

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the share of each input of the first target, a token, or with by= or leave_out= a word, sentence or line, over its
        number, from 1, with their texts if they are few. The title names the model, the attribution and the unit."""
        unit, texts, of = self._shown()
        what, against = repr(self.target.text) if self.target else "the prediction", self._against()
        model = f"{self['model'][0]}: " if "model" in self and self.rows else ""
        norm = OF_ATTRIBUTION.get(self._given("--attribution"), "attribution")
        title = (f"{model}what {what}{f', rather than {against},' if against else ''} depended on", f"share of the summed {norm}, by {unit}")
        ax = new_axes(ax, "\n".join(textwrap.fill(line, TITLE_MOST) for line in title), "position (tokens)" if unit == "token" else unit,
                      "share")
        position = range(1, len(texts) + 1)
        ax.bar(position, of["share"])
        if len(texts) <= TOKENS_NAMED:
            short = [text if len(text) <= LABEL_MOST else text[:LABEL_MOST] + "\u2026" for text in (repr(text)[1:-1] for text in texts)]
            ax.set_xticks(position, [label(text) for text in short], rotation=90, fontsize=10 if len(texts) <= TOKENS_NAMED / 2 else 7)
        return ax

    @property
    def sentence(self) -> str:
        """How near the shares are, in words, as the program says it, and with against= rather than what; of several targets for the
        first."""
        unit, texts, of = self._shown()
        what = "gradient" if self._given("--attribution") in ("", "grad") else "attribution"
        against = self._against()
        norm = f"{what} norm{f', rather than {against},' if against else ''}"
        best = int(np.argmax(of["rank"] == 1))
        piece = of["piece"][best] if unit == "token" else _in_sentence(texts[best])
        if len(texts) == 1:
            said = f'All of the {norm} comes from the only {"input" if unit == "token" else unit}, "{piece}".'
        else:
            half, most = (int((of["cumulative"][::-1] > q).argmax()) + 1 for q in (0.5, 0.9))
            said = (f"Half of the summed {norm} comes from the last {f'{half} ' if half > 1 else ''}of {len(texts)} {unit}s"
                    + (f", nine tenths from the last {most}" if most != half else ", and so do nine tenths")
                    + f'; the largest share, {100 * of["share"][best]:.1f} %, is that of "{piece}" at position {best + 1}.')
        return said + self._change()

    def _change(self) -> str:
        """With leave_out= a sentence on what happened without each."""
        unit, texts, of = self._shown()
        if "change" not in of or np.isnan(of["change"]).all():
            return ""
        top, agree = int(np.argmax(of["change_rank"] == 1)), self.rank_correlation
        return (f' Of all {unit}s left out one at a time, "{_in_sentence(texts[top])}" at position {top + 1} changes log p most, by '
                f'{of["change"][top]:+.4g}' + ("" if math.isnan(agree) else "; the sizes of the changes and the shares have a rank "
                                               f"correlation (Spearman) of {agree:.2f}") + ".")

    @property
    def page(self) -> Path | None:
        """The page of all tokens with a search, explain.html."""
        page = self.folder / "explain.html" if self.folder else None
        return page if page and page.is_file() else None

    def _repr_html_(self) -> str:
        left, shown, last = max(1, len(self._starts)) - PARTS_SHOWN, "", ""
        for part in self.parts[:PARTS_SHOWN]:
            prompt = str(part["prompt"][0]) if "prompt" in part else ""
            shown += (paragraph(f"Prompt {prompt}", bold=True) if prompt != last else "") + part._one()
            last = prompt
        return shown + (paragraph(f"and {left} more: .parts, .page") if left > 0 else "")

    def _changes(self) -> str:
        units = self.units
        if units is None or "change" not in units or np.isnan(units["change"]).all():
            return ""
        best = np.argsort(np.where(np.isnan(units["change_rank"]), np.inf, units["change_rank"]), kind="stable")[:10]
        return table(["position", "left out", "change of log p", "share"], [
            [int(units["unit"][i]), repr(_decoded(units["text"][i])), number(units["change"][i], 4), f"{100 * units['share'][i]:.2f} %"]
            for i in best])

    def _one(self) -> str:
        tokens, against = self._tokens(), bool(self._against())
        unit, texts, of = self._shown()
        best = np.argsort(of["rank"])[:10]
        first = ["target", *(["against"] if against else []), "others"]
        return (shaded(texts, of["share"].tolist(), tokens[0].text if tokens else "")
                + paragraph(self.sentence)
                + table(["", "token", "id", "log p", "p"], [
                    [first[i] if i < len(first) else "", repr(one.text), one.id if one.id >= 0 else "", number(one.logprob, 5),
                     _percent(one.logprob)] for i, one in enumerate(tokens)])
                + table(["position", "distance", unit, "share"], [
                    [i + 1, len(texts) - 1 - i, repr(texts[i]), f"{100 * of['share'][i]:.2f} %"] for i in best])
                + self._changes())


class Info(Outcome, Mapping[str, str]):
    """What a checkpoint holds, of `info`: the texts of its lines by their names, such as info["parameters"]."""

    def __init__(self, done: Done) -> None:
        self.said(done)
        self.lines: dict[str, str] = {}
        for line in done.text.splitlines():
            name, _, value = line.strip().partition("  ")
            if value.strip():
                self.lines.setdefault(name, value.strip())

    def __getitem__(self, name: str) -> str:
        return self.lines[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.lines)

    def __len__(self) -> int:
        return len(self.lines)

    def __repr__(self) -> str:
        return self.text

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas table with a row for each line."""
        import pandas

        return pandas.DataFrame({"name": list(self.lines), "value": list(self.lines.values())})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Refuse: there is nothing to draw."""
        raise ReachError("info has no figure (expected erf, ppl, trf, fit, bias or explain)")

    @property
    def figure(self) -> None:
        """None: there is nothing to draw."""

    def _repr_html_(self) -> str:
        return table(["", ""], self.lines.items())
