"""How the states of a task look, and the legend that says so."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from lab.results.text import most_width
from procllm.plots.layout import Box
from procllm.plots.sheet import ARROW, TICK, Look, Sheet

SIZE = 8.5  # points
SAMPLE, ROW = (0.36, 0.19), 0.36  # inches: of a sample, and from row to row
BEHIND, APART = 0.13, 0.28  # inches: from a sample to its word, and from there to the next sample

# Blue and orange differ for every kind of color vision; marks and borders say the same without color.
METHOD = Look("#e3eef7", "#0173b2")
COMPLEX, PRIMITIVE = "white", "0.86"
PENDING, VERIFIED, ACTIVE = "0.35", "#016b50", "#b84e00"
ACTIVE_FILL = "#ffc971"


class Entry(NamedTuple):
    """A sample with its word. left, top: in inches, of the sample. verified, active: as for a task."""

    word: str
    primitive: bool = False
    method: bool = False
    verified: bool = False
    active: bool = False
    left: float = 0.0
    top: float = 0.0


ENTRIES = (
    Entry("complex task"),
    Entry("primitive task", primitive=True),
    Entry("method", method=True),
    Entry("verified", verified=True),
    Entry("worked on", active=True),
)
JUST_VERIFIED = Entry("verified just now", verified=True, active=True)


def look_of(primitive: bool, verified: bool, active: bool) -> Look:
    """Kind and state of a task; one that has just passed is both worked on and verified."""
    fill = ACTIVE_FILL if active else PRIMITIVE if primitive else COMPLEX
    edge = ACTIVE if active else VERIFIED if verified else PENDING
    return Look(fill, edge, thick=2.4 if active else 1.6 if verified else 1.0, dashed=verified)


def draw_task(sheet: Sheet, box: Box, primitive: bool, verified: bool, active: bool, size: float) -> None:
    """A task's box, and the mark of its state on the corner."""
    sheet.task(box, look_of(primitive, verified, active), size)
    if verified:
        sheet.badge(box, TICK, VERIFIED)
    elif active:
        sheet.badge(box, ARROW, ACTIVE)


def laid_out(room: float, just_verified: bool) -> list[Entry]:
    """The entries in rows of `room` inches, from the left. just_verified: whether a task is that."""
    placed: list[Entry] = []
    left = top = 0.0
    for entry in (*ENTRIES, JUST_VERIFIED) if just_verified else ENTRIES:
        across = SAMPLE[0] + BEHIND + most_width(entry.word, SIZE)
        if placed and left + across > room:
            left, top = 0.0, top + ROW
        placed.append(entry._replace(left=left, top=top))
        left += across + APART
    return placed


def draw(sheet: Sheet, entries: Collection[Entry], left: float, top: float) -> None:
    """The legend, with its upper left corner there."""
    for entry in entries:
        box = Box(left + entry.left, top + entry.top, *SAMPLE, ())
        if entry.method:
            sheet.method(box, METHOD, SIZE)
        else:
            draw_task(sheet, box, entry.primitive, entry.verified, entry.active, SIZE)
        sheet.write(box.right + BEHIND, box.middle, [entry.word], SIZE)
