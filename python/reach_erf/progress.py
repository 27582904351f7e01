"""A bar of progress: tqdm's, in notebooks too, or a plain line where tqdm is not installed."""

from __future__ import annotations

import contextlib
import sys
import warnings
from typing import Any, Callable, Iterator, Union

import numpy as np

from .errors import ReachError

Progress = Union[bool, Callable[[int, int], Any], None]


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and "IPKernelApp" in shell.config


class _Plain:
    """A line that is written again with every step."""

    def __init__(self, total: int, unit: str, desc: str) -> None:
        self.n, self.total, self.unit, self.desc, self.width = 0, total, unit, desc, 0

    def set_description(self, desc: str, refresh: bool = True) -> None:
        self.desc = desc

    def update(self, count: int) -> None:
        self.n += count
        line = f"{self.desc}: {self.n}/{self.total} {self.unit}"
        print(f"\r{line:<{self.width}}", end="", file=sys.stderr, flush=True)
        self.width = len(line)

    def close(self) -> None:
        print(file=sys.stderr)


def _bar(total: int, unit: str, what: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tqdm's, of a notebook without widgets: it then writes lines
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return _Plain(total, unit, what)
        return tqdm(total=total, unit=f" {unit}", desc=what)


def bar_wanted(progress: Progress) -> bool:
    """Return whether a bar is to be shown; a function shows its own."""
    if progress is not None and not callable(progress) and not isinstance(progress, (bool, np.bool_)):
        raise ReachError(f"progress is {type(progress).__name__} (expected True, False, None, or a function of the units done and their "
                         "total)")
    if callable(progress):
        return False
    return bool(progress) if progress is not None else in_notebook() or bool(getattr(sys.stderr, "isatty", bool)())


@contextlib.contextmanager
def their_bars(shown: bool) -> Iterator[None]:
    """Keep transformers from showing its own bars, unless they are to be `shown`."""
    logging = getattr(getattr(sys.modules.get("transformers"), "utils", None), "logging", None)
    if shown or logging is None or not logging.is_progress_bar_enabled():
        yield
        return
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.enable_progress_bar()


@contextlib.contextmanager
def shown(progress: Progress) -> Iterator[Callable[[int, int, str, str], None] | None]:
    """A function for the program's progress, or None if nothing is to be shown.

    `progress` is True, False, None (in notebooks and on terminals), or a function of the units done and their total.
    """
    if callable(progress):
        yield lambda done, total, unit, what: progress(done, total)
        return
    wanted = bar_wanted(progress)
    bar: Any = None

    def show(done: int, total: int, unit: str, what: str) -> None:
        nonlocal bar
        if bar is not None and bar.total != total:
            bar.close()
            bar = None
        if bar is None:
            bar = _bar(total, unit, what)
        bar.set_description(what, refresh=False)
        bar.update(done - bar.n)

    try:
        yield show if wanted else None
    finally:
        if bar is not None:
            bar.close()
