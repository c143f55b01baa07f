"""Text of a known width, in inches: drawings that are laid out with it have no overlaps on any machine.

Two ways to break text into lines serve two kinds of it: `wrapped` keeps words whole and suits prose, `wrapped_names`
also breaks within them and suits names. No text raises; what the font cannot draw becomes a box.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.machine.printing import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

FAMILY = "DejaVu Sans"  # comes with matplotlib, so that widths are the same everywhere; `plots.style` sets it
POINTS = 72.0  # an inch
HINTED = 1.05  # at few dots an inch, letters are drawn a little wider than they are
LONGEST = 500  # characters of a name that are looked at; boxes hold fewer
EVENER = (0.6, 0.7, 0.8, 0.9)  # parts of the room that are tried, so that lines come out of like width
PIECES = re.compile(r"\s*(?:[^\s/_-]+[/_-]*|[/_-]+)")  # a line may end after these; names are often one long word

Measure = Callable[[str], float]


class Flag(NamedTuple):
    """A text beside a pole, in inches. x: of the pole. bottom: above the axes. lines: from top to bottom."""

    x: float
    bottom: float
    lines: tuple[str, ...]


@cache
def width(text: str, size: float, bold: bool = False) -> float:
    """How wide a text is, in inches. size: in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=FAMILY, weight="bold" if bold else "normal", size=size)
    return text_to_path.get_text_width_height_descent(_plain(text), font, ismath=False)[0] * HINTED / POINTS


def most_width(text: str, size: float) -> float:
    """The width of a drawable text without kerning, in inches: mostly a little more; a character is measured once.

    Not `width`: figures were laid out with this, and would come out with other bytes.
    """
    return sum(map(_advance, text)) * size * HINTED / POINTS


@cache
def _advance(character: str) -> float:
    """From a character to the next, in sizes of the font."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=FAMILY, size=POINTS)
    return text_to_path.get_text_width_height_descent(character, font, ismath=False)[0] / POINTS


def drawable(text: str) -> str:
    """On one line, with a box for what the font has no glyph of, such as emoji."""
    return " ".join(_plain(text).split())


def fitted(text: str, room: float, size: float, bold: bool = False) -> str:
    """The text on one line, cut with an ellipsis where it is wider than `room` inches."""
    line = drawable(text)
    if width(line, size, bold) <= room:
        return line
    return _cut(line, len(line) - 1, room, lambda part: width(part, size, bold))


def wrapped(text: str, room: float, size: float, lines: int) -> list[str]:
    """The text on at most `lines` lines of `room` inches, of like width, broken between words; what is more is cut."""
    words = [" " + word for word in drawable(text).split()]
    needed = min(lines, ceil(width(_plain(text), size) / room))

    def measured(line: str) -> float:
        return width(line, size)

    for part in (*EVENER, 1.0):
        broken = _filled(words, part * room, measured)
        if len(broken) <= needed and all(measured(line) <= room for line in broken):
            return broken
    broken = _filled(words, room, measured)
    kept = [*broken[: lines - 1], " ".join(broken[lines - 1 :])]
    return [fitted(line, room, size) for line in kept if line]


def wrapped_names(text: str, room: float, size: float, most: int) -> tuple[str, ...]:
    """At most `most` lines of `room` inches, of like width, also broken after hyphens, slashes and underscores.

    A word without any that is wider than a line is broken where the line is full. What is more is cut.
    """

    def measured(line: str) -> float:
        return most_width(line, size)

    pieces = PIECES.findall(drawable(text[:LONGEST]))

    def broken(across: float) -> list[str]:
        return _filled([part for piece in pieces for part in _fitting(piece, across, measured)], across, measured)

    full = broken(room)
    if len(full) > most or len(text) > LONGEST:
        rest = " ".join(full[most - 1 :])
        return (*full[: most - 1], _cut(rest, len(rest) + 1, room, measured))
    return tuple(next((lines for part in EVENER if len(lines := broken(part * room)) == len(full)), full))


def _filled(pieces: Sequence[str], room: float, measured: Measure) -> list[str]:
    """Lines each as full as they can be; a piece that is wider than the room has one of its own."""
    lines = [""]
    for piece in pieces:
        if measured((lines[-1] + piece).strip()) <= room:
            lines[-1] = (lines[-1] + piece).lstrip()
        else:
            lines.append(piece.lstrip())
    return [line for line in lines if line]


def _fitting(piece: str, room: float, measured: Measure) -> Iterator[str]:
    """The piece, in parts that each have room on a line of their own; one character always has."""
    while measured(piece.strip()) > room and len(piece) > 1:
        fits = next(n for n in range(len(piece) - 1, 0, -1) if n == 1 or measured(piece[:n].strip()) <= room)
        yield piece[:fits]
        piece = piece[fits:]
    yield piece


def _cut(line: str, below: int, room: float, measured: Measure) -> str:
    """As much of the line as has room with an ellipsis, fewer than `below` characters; by bisection."""
    low, high = 0, below
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if measured(f"{line[:middle].rstrip()}…") <= room else (low, middle)
    return f"{line[:low].rstrip()}…"


def flags(texts: Sequence[tuple[float, Sequence[str]]], size: float, gap: float = 0.06) -> list[Flag]:
    """Flags to the right of poles at x (ascending), as low as they can be: none covers another, or another's pole."""
    placed: list[tuple[Flag, float]] = []
    for x, lines in reversed(texts):
        right = x + gap + max(width(line, size) for line in lines)
        below = [top for flag, top in placed if flag.x <= right + gap]
        bottom = max(below, default=0.0) + gap
        placed.append((Flag(x, bottom, tuple(lines)), bottom + len(lines) * size * 1.4 / POINTS))
    return [flag for flag, _ in reversed(placed)]


def write(axes: Axes, x: float, y: float, text: str, size: float, **options: Any) -> Text:
    """A text as it stands: prices have dollar signs, which would otherwise start a formula."""
    return axes.text(x, y, _plain(text), fontsize=size, parse_math=False, **options)


def _plain(text: str) -> str:
    """Control characters as escapes, white space as blanks, and a box for what the font has no glyph of."""
    known = _glyphs()
    return "".join((c if ord(c) in known else "□") if c.isprintable() else " " for c in visible(text))


@cache
def _glyphs() -> frozenset[int]:
    from matplotlib.font_manager import findfont, get_font

    return frozenset(get_font(findfont(FAMILY)).get_charmap())


def shortened(text: str, width: int) -> str:
    """The text on one line, cut at `width` characters with an ellipsis."""
    line = visible(" ".join(text.split()))
    return line if len(line) <= width else f"{line[: width - 1].rstrip()}…"
