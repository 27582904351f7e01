"""The errors of this package."""

from __future__ import annotations

from typing import Sequence

LINES_MOST = 20


class ReachError(Exception):
    """What was asked for cannot be done. The message says why, and what was expected."""


class ReachWarning(UserWarning):
    """A warning of the program: the run went on, and this line says with what."""


def refuse(what: str, problems: Sequence[str]) -> None:
    """Raise a ReachError with a line for each problem, if there are any."""
    if problems:
        rest = [f"and {len(problems) - LINES_MOST} more"] if len(problems) > LINES_MOST else []
        raise ReachError("\n  ".join([f"{what} cannot be written:", *problems[:LINES_MOST], *rest]))
