"""The picture of how the suite is built, for the tour and docs/architecture.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.results.drawing import BLUE, PALE_BLUE, Canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LAYERS = (
    {"notebooks": "one a table or figure, and their expected numbers"},
    {"sdp": "certified predicates", "statefactory": "factorised states, rewards", "procllm": "task networks"},
    {"agents": "what the papers compare with, for any world"},
    {"worlds": "text environments behind one protocol: tasks, reset, step"},
    {"lab": "models, runs, statistics, notebooks, sandbox, files"},
)


def draw() -> Figure:
    """Each box may import what lies below it."""
    canvas = Canvas(8, 4.8)
    for row, layer in enumerate(LAYERS):
        for place, (name, about) in enumerate(layer.items()):
            wide, top = (7.5 - 0.25 * (len(layer) - 1)) / len(layer), 0.2 + 0.92 * row
            left = 0.25 + place * (wide + 0.25)
            canvas.box(left, top, wide, 0.68, PALE_BLUE if row else "white", BLUE)
            canvas.middle(left + wide / 2, top + 0.22, name, 13, wide, fontweight="bold")
            canvas.middle(left + wide / 2, top + 0.48, about, 10, wide)
            if row + 1 < len(LAYERS):
                canvas.arrow((left + wide / 2, top + 0.7), (left + wide / 2, top + 0.9))
    return canvas.figure
