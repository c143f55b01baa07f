"""Measure and wrap text by its width in inches, so that drawings have no overlaps on any machine.

`wrapped` breaks lines between words, for prose; `wrapped_names` also breaks within words, for names. No text raises an
error; characters that the font lacks become boxes.
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

FAMILY = "DejaVu Sans"  # bundled with matplotlib, so that widths are the same everywhere; `plots.style` sets it
POINTS = 72.0  # per inch
HINTED = 1.05  # at low resolution, hinting makes letters slightly wider than measured
LONGEST = 500  # characters of a name that are measured; boxes have room for fewer
EVENER = (0.6, 0.7, 0.8, 0.9)  # shares of the room to try, so that lines have similar widths
PIECES = re.compile(r"\s*(?:[^\s/_-]+[/_-]*|[/_-]+)")  # a line may end after each; names are often one long word

Measure = Callable[[str], float]


class Flag(NamedTuple):
    """A text next to a pole, in inches. x: of the pole. bottom: height above the axes. lines: from top to bottom."""

    x: float
    bottom: float
    lines: tuple[str, ...]


@cache
def width(text: str, size: float, bold: bool = False) -> float:
    """The width of a text in inches. size: in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=FAMILY, weight="bold" if bold else "normal", size=size)
    return text_to_path.get_text_width_height_descent(_plain(text), font, ismath=False)[0] * HINTED / POINTS


def most_width(text: str, size: float) -> float:
    """The width of a drawable text without kerning, in inches: mostly a little more than `width`.

    Faster, since each character is measured once.
    Do not replace by `width`: figures whose layout uses this would change.
    """
    return sum(map(_advance, text)) * size * HINTED / POINTS


@cache
def _advance(character: str) -> float:
    """The advance width of a character, in font sizes."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=FAMILY, size=POINTS)
    return text_to_path.get_text_width_height_descent(character, font, ismath=False)[0] / POINTS


def drawable(text: str) -> str:
    """The text on one line, with boxes for characters that the font lacks, such as emoji."""
    return " ".join(_plain(text).split())


def fitted(text: str, room: float, size: float, bold: bool = False) -> str:
    """The text on one line, truncated with an ellipsis if it is wider than `room` inches."""
    line = drawable(text)
    if width(line, size, bold) <= room:
        return line
    return _cut(line, len(line) - 1, room, lambda part: width(part, size, bold))


def wrapped(text: str, room: float, size: float, lines: int) -> list[str]:
    """The text on at most `lines` lines of `room` inches and similar width, broken between words, else truncated."""
    words = [" " + word for word in drawable(text).split()]
    needed = min(lines, ceil(width(_plain(text), size) / room))

    def measured(line: str) -> float:
        return width(line, size)

    for part in (*EVENER, 1.0):
        candidate = _filled(words, part * room, measured)
        if len(candidate) <= needed and all(measured(line) <= room for line in candidate):
            return candidate
    candidate = _filled(words, room, measured)
    merged = [*candidate[: lines - 1], " ".join(candidate[lines - 1 :])]
    return [fitted(line, room, size) for line in merged if line]


def wrapped_names(text: str, room: float, size: float, most: int) -> tuple[str, ...]:
    """At most `most` lines of `room` inches and similar width, also broken after hyphens, slashes and underscores.

    A longer word without any of these is broken where the line is full. The rest is truncated.
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
    """Fill lines greedily; a piece that is wider than `room` gets its own line."""
    lines = [""]
    for piece in pieces:
        if measured((lines[-1] + piece).strip()) <= room:
            lines[-1] = (lines[-1] + piece).lstrip()
        else:
            lines.append(piece.lstrip())
    return [line for line in lines if line]


def _fitting(piece: str, room: float, measured: Measure) -> Iterator[str]:
    """Split a piece into parts that fit on a line; a single character always counts as fitting."""
    while measured(piece.strip()) > room and len(piece) > 1:
        length = next(n for n in range(len(piece) - 1, 0, -1) if n == 1 or measured(piece[:n].strip()) <= room)
        yield piece[:length]
        piece = piece[length:]
    yield piece


def _cut(line: str, below: int, room: float, measured: Measure) -> str:
    """The longest start of the line, shorter than `below` characters, that fits with an ellipsis; by bisection."""
    low, high = 0, below
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if measured(f"{line[:middle].rstrip()}…") <= room else (low, middle)
    return f"{line[:low].rstrip()}…"


def flags(texts: Sequence[tuple[float, Sequence[str]]], size: float, gap: float = 0.06) -> list[Flag]:
    """Place flags to the right of poles at x (ascending), as low as possible, so that none covers a flag or a pole."""
    placed: list[tuple[Flag, float]] = []
    for x, lines in reversed(texts):
        right = x + gap + max(width(line, size) for line in lines)
        below = [top for flag, top in placed if flag.x <= right + gap]
        bottom = max(below, default=0.0) + gap
        placed.append((Flag(x, bottom, tuple(lines)), bottom + len(lines) * size * 1.4 / POINTS))
    return [flag for flag, _ in reversed(placed)]


def write(axes: Axes, x: float, y: float, text: str, size: float, **options: Any) -> Text:
    """Draw a text without formulas: dollar signs of prices would start one."""
    return axes.text(x, y, _plain(text), fontsize=size, parse_math=False, **options)


def _plain(text: str) -> str:
    """Escape control characters, replace white space by blanks, and characters that the font lacks by boxes."""
    glyphs = _glyphs()
    return "".join((c if ord(c) in glyphs else "□") if c.isprintable() else " " for c in visible(text))


@cache
def _glyphs() -> frozenset[int]:
    from matplotlib.font_manager import findfont, get_font

    return frozenset(get_font(findfont(FAMILY)).get_charmap())


def shortened(text: str, width: int) -> str:
    """The text on one line, truncated to `width` characters with an ellipsis."""
    line = visible(" ".join(text.split()))
    return line if len(line) <= width else f"{line[: width - 1].rstrip()}…"
