"""HTML for notebooks. Everything from models and texts is escaped."""

from __future__ import annotations

import base64
import html
from typing import Any, Iterable, Sequence

# backgrounds by share, as on the program's pages: of light and of dark notebooks, and the first shade with white and with black ink
LIGHT = "fff8e3 fff1c8 ffe7aa ffd485 ffc160 fca544 f68033 f05c22 db421b c02b18 a51414".split()
DARK = "2a1c1c 3c1f1d 51241d 6d2a1b 883119 a43f17 bf5516 db6b14 ea8c25 f4b13d ffd654".split()
WHITE_FROM, BLACK_FROM = 9, 7

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


def paragraph(text: str, bold: bool = False) -> str:
    """Return a line of text."""
    return f"<p><strong>{escape(text)}</strong></p>" if bold else f"<p>{escape(text)}</p>"


def table(names: Sequence[str], rows: Iterable[Sequence[Any]], note: str = "") -> str:
    """Return a table, in a box that scrolls by itself where it is wider than the notebook; `note` is a line below it."""
    head = "".join(f'<th style="{CELL}">{escape(name)}</th>' for name in names)
    body = "".join("<tr>" + "".join(f'<td style="{CELL};white-space:pre">{escape(cell)}</td>' for cell in row) + "</tr>" for row in rows)
    return (f'<div style="overflow-x:auto" tabindex="0"><table style="border-collapse:collapse;font-variant-numeric:tabular-nums"><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>" + (paragraph(note) if note else ""))


def image(svg: str, alt: str = "figure") -> str:
    """Return a figure as an image: so the names in two of them do not clash, and nothing in them runs."""
    data = base64.b64encode(svg.encode()).decode()
    return f'<img alt="{escape(alt)}" style="max-width:100%;background:#fff" src="data:image/svg+xml;base64,{data}">'


def _shade(shade: int) -> str:
    """Return the style of a shade from 0, none, to the largest; browsers that know no light-dark() take the light one."""
    if not shade:
        return ""
    ink, on_dark = ("#fff" if shade > WHITE_FROM else "#000"), ("#000" if shade > BLACK_FROM else "#fff")
    light, dark = f"#{LIGHT[shade - 1]}", f"#{DARK[shade - 1]}"
    return f' style="background:{light};color:{ink};background:light-dark({light},{dark});color:light-dark({ink},{on_dark})"'


def shaded(pieces: Sequence[str], shares: Sequence[float], target: str) -> str:
    """Return the text with each piece shaded by the root of its share's ratio to the largest, and the target after it."""
    most = max(shares, default=0) or 1
    spans = "".join(
        f'<span title="{position}: {100 * share:.3g} %"{_shade(int(len(LIGHT) * (max(share, 0) / most) ** 0.5 + 0.5))}>'
        f"{escape(piece) or '&#8202;'}</span>" for position, (piece, share) in enumerate(zip(pieces, shares), 1))
    last = f'<span title="target" style="outline:1.5px dashed #0b57d0">{escape(target)}</span>' if target else ""
    return f'<pre style="white-space:pre-wrap;overflow-wrap:anywhere;line-height:1.7">{spans}{last}</pre>'
