"""Text of a known width, so that it stays in its box."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from procllm.plots.states import printable

FAMILY = "DejaVu Sans"  # comes with matplotlib, so that widths are the same on every machine
POINTS = 72.0  # an inch
HINTED = 1.05  # at few dots an inch, letters are drawn a little wider than they are
LONGEST = 500  # characters that are looked at; boxes hold fewer
PIECES = re.compile(r"\s*(?:[^\s/_-]+[/_-]*|[/_-]+)")  # a line may end after these; heads are one long word


def width(text: str, size: float) -> float:
    """How wide a drawable text is, in inches; kerning makes it a little narrower. size: in points."""
    return sum(map(_advance, text)) * size * HINTED / POINTS


@cache
def _advance(character: str) -> float:
    """From a character to the next, in sizes of the font."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=FAMILY, size=POINTS)
    return text_to_path.get_text_width_height_descent(character, font, ismath=False)[0] / POINTS


def wrapped(text: str, room: float, size: float, most: int) -> tuple[str, ...]:
    """Lines of at most `room` inches and of like width. What is beyond `most` lines is cut, with an ellipsis."""
    drawn = drawable(text[:LONGEST])
    full = _broken(drawn, room, size)
    if len(full) > most or len(text) > LONGEST:
        return (*full[: most - 1], _cut(" ".join(full[most - 1 :]), room, size))
    evener = (_broken(drawn, part * room, size) for part in (0.6, 0.7, 0.8, 0.9))
    return tuple(next((lines for lines in evener if len(lines) == len(full)), full))


def drawable(text: str) -> str:
    """On one line, with a box for what the font has no glyph of, such as emoji."""
    return "".join(character if ord(character) in _glyphs() else "□" for character in printable(text))


def _broken(text: str, room: float, size: float) -> list[str]:
    lines = [""]
    for piece in PIECES.findall(text):
        for part in _fitting(piece, room, size):
            if width((lines[-1] + part).strip(), size) <= room:
                lines[-1] = (lines[-1] + part).lstrip()
            else:
                lines.append(part.lstrip())
    return [line for line in lines if line]


def _fitting(piece: str, room: float, size: float) -> Iterator[str]:
    """The piece, in parts that each have room on a line of their own; one character always has."""
    while width(piece.strip(), size) > room and len(piece) > 1:
        fits = next(n for n in range(len(piece) - 1, 0, -1) if n == 1 or width(piece[:n].strip(), size) <= room)
        yield piece[:fits]
        piece = piece[fits:]
    yield piece


def _cut(text: str, room: float, size: float) -> str:
    kept = next(n for n in range(len(text), -1, -1) if n == 0 or width(f"{text[:n].rstrip()}…", size) <= room)
    return f"{text[:kept].rstrip()}…"


@cache
def _glyphs() -> frozenset[int]:
    from matplotlib.font_manager import findfont, get_font

    return frozenset(get_font(findfont(FAMILY)).get_charmap())
