"""The diagram of the suite's layers, for the tour and docs/architecture.md."""

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
    """Draw the layers as boxes; a box may import from those below."""
    canvas = Canvas(8, 4.8)
    for row, layer in enumerate(LAYERS):
        for column, (name, text) in enumerate(layer.items()):
            width, top = (7.5 - 0.25 * (len(layer) - 1)) / len(layer), 0.2 + 0.92 * row
            left = 0.25 + column * (width + 0.25)
            canvas.box(left, top, width, 0.68, PALE_BLUE if row else "white", BLUE)
            canvas.middle(left + width / 2, top + 0.22, name, 13, width, fontweight="bold")
            canvas.middle(left + width / 2, top + 0.48, text, 10, width)
            if row + 1 < len(LAYERS):
                canvas.arrow((left + width / 2, top + 0.7), (left + width / 2, top + 0.9))
    return canvas.figure
