"""Text measured before it is drawn, so that a layout in inches has no overlaps."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

from statefactory.experiments.statistics import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

FAMILY = "DejaVu Sans"  # comes with matplotlib; `lab.results.plots.style` sets the same
POINTS = 72.0
HINTED = 1.05  # on a screen of few dots letters are a little wider than drawn


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


def fitted(text: str, room: float, size: float, bold: bool = False) -> str:
    """The text on one line, cut with an ellipsis where it is wider than `room` inches."""
    line = _plain(" ".join(text.split()))
    if width(line, size, bold) <= room:
        return line
    low, high = 1, len(line)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if width(shortened(line, middle), size, bold) <= room else (low, middle)
    return shortened(line, low)


def wrapped(text: str, room: float, size: float, lines: int) -> list[str]:
    """The text on at most `lines` lines of `room` inches, of like width, broken between words; what is more is cut."""
    needed = min(lines, ceil(width(_plain(text), size) / room))
    for part in (0.6, 0.7, 0.8, 0.9, 1.0):
        broken = _broken(text, part * room, size)
        if len(broken) <= needed and all(width(line, size) <= room for line in broken):
            return broken
    broken = _broken(text, room, size)
    kept = [*broken[: lines - 1], " ".join(broken[lines - 1 :])]
    return [fitted(line, room, size) for line in kept if line]


def _broken(text: str, room: float, size: float) -> list[str]:
    """Lines of whole words, each as full as it can be; a word that is wider than the room has a line of its own."""
    lines: list[str] = []
    for word in _plain(text).split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width(longer, size) <= room:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


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
    """Control characters as blanks, and a box for what the font has no glyph of."""
    known = _glyphs()
    return "".join((c if ord(c) in known else "□") if c.isprintable() else " " for c in text)


@cache
def _glyphs() -> frozenset[int]:
    from matplotlib.font_manager import findfont, get_font

    return frozenset(get_font(findfont(FAMILY)).get_charmap())
