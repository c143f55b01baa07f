"""The claims explorer as HTML: tables, which the widget also displays, and a page that works without a server.

The page embeds its data as JSON and one script, loads nothing from outside, and displays all claims without scripts.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path

from lab.explore import claims
from lab.explore.claims import Flip, Row
from lab.notebooks import register
from lab.notebooks.register import PaperFindings
from lab.results import dots
from lab.results.stored import Stored
from lab.viewer import pages
from lab.viewer.timeline import SideBySide, written

WIDTH, MARGIN = 200, 8  # pixels of a claim's plot
MOST, NEAR = 12, 3  # flipped tasks that are not folded; steps before and after the first that differs
GREY = "#808080"  # visible on white and on black
TITLE = "What the papers claim, and what came out here"
STYLE = "#controls label { display: inline-block; margin: 0 1.5em .5em 0; } #controls select { max-width: 22em; } \
[hidden] { display: none !important; }"
Link = Callable[[str], str]  # a notebook's name -> its address


def in_the_book(notebook: str) -> str:
    """The address of a notebook in the book, relative to this page."""
    return f"notebooks/{notebook}.html" if notebook else ""


def table(of: Sequence[Row], link: Link = in_the_book, called: str = "claim") -> str:
    """Rows with their forest plot as HTML, grouped by the kind of their numbers. called: what a row is."""
    groups = [
        (kind, _axis(rows[0]), [(row, plot(row), link(row["notebook"])) for row in rows])
        for kind, rows in ((kind, [*rows]) for kind, rows in groupby(of, lambda row: row["kind"]))
    ]
    answered = {row["who"] for row in of if row["here"] is not None}
    legend = [(who, _image(14, [_dot(7, _hex(who))])) for who in dots.WHO if who in answered]
    legend += [(dots.PAPER, _image(14, [_diamond(7)]))] * any(row["published"] is not None for row in of)
    legend += [(dots.NULL, _image(14, [_tick(7)]))] * any(row["null"] is not None for row in of)
    judged = any(row["verdict"] for row in of)
    return pages.macro("claims.html", "table", groups, legend, WIDTH, called, judged)


def plot(row: Row) -> str:
    """A claim's marks on its axis, as the data URL of an image; "" for a claim without numbers."""
    if all(row[name] is None for name in claims.NUMBERS):
        return ""
    low, high = row["scale"]

    def at(value: float) -> float:
        return round(MARGIN + (WIDTH - 2 * MARGIN) * (value - low) / ((high - low) or 1.0), 1)

    here, start, end, published, null = (None if row[name] is None else at(row[name]) for name in claims.NUMBERS)
    color, parts = _hex(row["who"]), [_line(at(0.0), at(0.0), 0, 20, GREY, 1)]
    parts += [_line(start, end, 10, 10, color, 2)] if start is not None and end is not None else []
    parts += [_tick(null)] if null is not None else []
    parts += [_dot(here, color)] if here is not None else []
    parts += [_diamond(published)] if published is not None else []
    return _image(WIDTH, parts)


def _line(x1: float, x2: float, y1: float, y2: float, color: str, width: float) -> str:
    return f'<line x1="{x1}" x2="{x2}" y1="{y1}" y2="{y2}" stroke="{color}" stroke-width="{width}"/>'


def _tick(x: float) -> str:
    return _line(x, x, 3, 17, str(dots.MARKS[dots.NULL]["color"]), 2.5)


def _dot(x: float, color: str) -> str:
    return f'<circle cx="{x}" cy="10" r="4" fill="{color}"/>'


def _diamond(x: float) -> str:
    return f'<path d="M{x} 4l6 6l-6 6l-6-6z" fill="none" stroke="{GREY}" stroke-width="1.8"/>'


def _image(width: int, parts: Sequence[str]) -> str:
    drawing = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20">{"".join(parts)}</svg>'
    return f"data:image/svg+xml;base64,{base64.b64encode(drawing.encode()).decode()}"


def flipped(row: Row, flips: Sequence[Flip], steps: dict[str, str]) -> str:
    """The tasks of a row that its two conditions scored differently, as HTML. steps: of `claims.known_steps`."""
    summary = f"{claims.counted(row, flips)}."
    rows = [(flip, steps.get(flip.task, "")) for flip in flips]
    return pages.macro("claims.html", "flipped", row, " ".join(filter(None, [summary, steps.get("", "")])), rows, MOST)


def outline(task: str, both: SideBySide) -> str:
    """The steps around the divergence of two episodes, and all steps folded, as HTML without the episodes' texts."""
    rows = claims.outline(both)
    diverged = both.diverged or 0
    return pages.macro("claims.html", "outline", task, rows[max(diverged - NEAR, 0) : diverged + NEAR + 1], rows)


def page(judged: Sequence[PaperFindings], stored: Stored, link: Link = in_the_book) -> str:
    """The complete page as HTML."""
    rows, steps = claims.rows(judged), claims.known_steps(stored)
    bodies = [table(rows, link), "<h2>Tasks that flipped</h2>"]
    for row in rows:
        if contrast := claims.contrast_of(judged, row["claim"]):
            first, second = claims.pair(contrast, stored)
            bodies.append(flipped(row, claims.flips(first, second), steps.get(row["claim"], {})))
    data = json.dumps(rows, sort_keys=True).replace("<", "\\u003c")  # so that no text can end the script element
    script = (pages.TEMPLATES / "claims.js").read_text(encoding="utf-8")
    body = f'<style>{STYLE}</style><h1>{TITLE}</h1><div id="controls"></div>{"".join(bodies)}'
    body += f'<script type="application/json" id="claims">{data}</script><script>{script}</script>'
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return pages.page(TITLE, body, f"'sha256-{digest}'")


def write(path: Path | str, link: Link = in_the_book) -> Path:
    """Write the page of the committed results; returns its path."""
    return written(path, page(register.committed(), Stored(), link))


def _axis(row: Row) -> str:
    if row["scale"] is None or row["kind"] == claims.NUMBER:
        return ""
    return f"the axis goes from {row['scale'][0]:.3g} to {row['scale'][1]:.3g}"


def _hex(who: str) -> str:
    from matplotlib.colors import to_hex

    return to_hex(dots.COLORS[who])


if __name__ == "__main__":
    import sys

    print(write(sys.argv[1] if len(sys.argv) > 1 else "claims.html", link=lambda notebook: ""))
