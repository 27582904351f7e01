"""HTML for notebooks. Everything from models and texts is escaped."""

from __future__ import annotations

import base64
import html
from typing import Any, Iterable, Sequence

CELL = "padding:.15em .8em .15em 0;text-align:left"


class Svg(str):
    """A figure as SVG, which notebooks display; `str` otherwise, so that it can be written to a file."""

    def _repr_svg_(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return image(self)

    def __repr__(self) -> str:
        return f"Svg({len(self)} characters)"


def escape(text: Any) -> str:
    """Return text for HTML, also between quotes."""
    return html.escape(str(text), quote=True)


def paragraph(text: str) -> str:
    """Return a line of text."""
    return f"<p>{escape(text)}</p>"


def table(names: Sequence[str], rows: Iterable[Sequence[Any]], note: str = "") -> str:
    """Return a table; `note` is a line below it."""
    head = "".join(f'<th style="{CELL}">{escape(name)}</th>' for name in names)
    body = "".join("<tr>" + "".join(f'<td style="{CELL}">{escape(cell)}</td>' for cell in row) + "</tr>" for row in rows)
    return (f'<table style="border-collapse:collapse;font-variant-numeric:tabular-nums"><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table>" + (paragraph(note) if note else ""))


def image(svg: str, alt: str = "figure") -> str:
    """Return a figure as an image: so the names in two of them do not clash, and nothing in them runs."""
    data = base64.b64encode(svg.encode()).decode()
    return f'<img alt="{escape(alt)}" style="max-width:100%;background:#fff" src="data:image/svg+xml;base64,{data}">'


def shaded(pieces: Sequence[str], shares: Sequence[float], target: str) -> str:
    """Return the text with each piece shaded by the root of its share's ratio to the largest, and the target after it."""
    most = max(shares, default=0) or 1
    spans = "".join(
        f'<span title="{position}: {100 * share:.3g} %" style="background:rgba(255,140,0,{(max(share, 0) / most) ** 0.5:.3f})">'
        f"{escape(piece) or '&#8202;'}</span>" for position, (piece, share) in enumerate(zip(pieces, shares), 1))
    last = f'<span title="target" style="outline:1.5px dashed #0b57d0">{escape(target)}</span>' if target else ""
    return f'<pre style="white-space:pre-wrap;overflow-wrap:anywhere;line-height:1.7">{spans}{last}</pre>'
