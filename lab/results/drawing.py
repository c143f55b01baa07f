"""A white canvas for drawings of boxes, arrows and marks, in inches from the top left corner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lab.results.text import FAMILY, POINTS, wrapped, write

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# From the palette "colorblind" that all figures use; the pale ones are fills.
BLUE, GREEN, RED, ORANGE = "#0173b2", "#02795a", "#c1440e", "#de8f05"
PALE_BLUE, PALE_GREEN, PALE_RED, PALE_ORANGE = "#e6f1f8", "#e3f3ed", "#fbe9e1", "#fdf1de"
INK, QUIET, FAINT, PALE = "#222222", "#666666", "#c8c8c8", "#f4f4f4"
SPACING = 1.3  # line spacing, in font heights
BOLD = 1.12  # width of bold letters relative to regular ones
FOOT, SMALLEST = 0.25, 9.5  # height of the line on evidence in inches, and its font size in points
RADIUS = 0.11  # of a mark, in inches
SHAPES = {
    "tick": ((-0.5, 0.02), (-0.14, 0.4), (0.52, -0.4)),
    "cross": ((-0.38, -0.38), (0.38, 0.38), (0.0, 0.0), (-0.38, 0.38), (0.38, -0.38)),
    "arrow": ((-0.2, -0.45), (0.3, 0.0), (-0.2, 0.45)),
}


class Canvas:
    """A figure of width × height inches, white on dark pages, too.

    evidence: text for a line at the bottom on the kind of numbers and episodes.
    """

    def __init__(self, width: float, height: float, evidence: str = "") -> None:
        import matplotlib.pyplot as plt

        height += FOOT if evidence else 0.0
        self.width, self.height = width, height
        self.figure: Figure = plt.figure(figsize=(width, height), facecolor="white", layout="constrained")
        self.figure.set_layout_engine("none")  # set here: layout="none" in the call above is lost at the first save
        self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set(xlim=(0, width), ylim=(height, 0))
        self.axes.axis("off")
        if evidence:
            self.text(FOOT, height - FOOT / 2, evidence, SMALLEST, width - 2 * FOOT, color=QUIET)

    def box(self, left: float, top: float, width: float, height: float, fill: str, edge: str, **options: Any) -> None:
        """Draw a rounded box. options: of matplotlib's patch, such as `linestyle`."""
        from matplotlib.patches import FancyBboxPatch

        style: dict[str, Any] = {"boxstyle": "round,pad=0,rounding_size=0.08", "linewidth": 1.4, "zorder": 3} | options
        self.axes.add_patch(FancyBboxPatch((left, top), width, height, facecolor=fill, edgecolor=edge, **style))

    def lines(self, x: float, y: float, texts: list[str], size: float, **options: Any) -> float:
        """Draw lines of text below one another, the middle of the first at y. Returns y for a further line."""
        style: dict[str, Any] = {"color": INK, "va": "center", "family": FAMILY, "zorder": 4} | options
        for text in texts:
            write(self.axes, x, y, text, size, **style)
            y += SPACING * size / POINTS
        return y

    def text(self, x: float, y: float, text: str, size: float, room: float, most: int = 1, **options: Any) -> float:
        """Draw a text in at most `most` lines of `room` inches, truncated with an ellipsis. Returns as `lines` does."""
        return self.lines(x, y, _broken(text, room, size, most, options), size, **options)

    def middle(self, x: float, y: float, text: str, size: float, room: float, most: int = 1, **options: Any) -> None:
        """Draw a text as `text` does, but centred on (x, y)."""
        texts = _broken(text, room, size, most, options)
        self.lines(x, y - (len(texts) - 1) / 2 * SPACING * size / POINTS, texts, size, ha="center", **options)

    def arrow(self, start: tuple[float, float], end: tuple[float, float], color: str = QUIET, **options: Any) -> None:
        """Draw an arrow. options: of matplotlib's FancyArrowPatch, such as `connectionstyle`."""
        from matplotlib.patches import FancyArrowPatch

        style: dict[str, Any] = {"arrowstyle": "-|>,head_length=5,head_width=3", "linewidth": 1.6, "zorder": 2}
        shrunk = {"shrinkA": 0, "shrinkB": 0, "mutation_scale": 1}
        self.axes.add_patch(FancyArrowPatch(start, end, color=color, **(style | shrunk | options)))

    def mark(self, x: float, y: float, shape: str, color: str, radius: float = RADIUS) -> None:
        """Draw a white tick, cross or arrow on a coloured disc."""
        from matplotlib.patches import Circle

        self.axes.add_patch(Circle((x, y), radius, facecolor=color, edgecolor="white", linewidth=1, zorder=5))
        xs, ys = zip(*((x + radius * dx, y + radius * dy) for dx, dy in SHAPES[shape]), strict=True)
        self.axes.plot(xs, ys, color="white", linewidth=19 * radius, zorder=6, solid_capstyle="round",
                       solid_joinstyle="round")  # fmt: skip


def _broken(text: str, room: float, size: float, most: int, options: Mapping[str, Any]) -> list[str]:
    return wrapped(text, room / (BOLD if "fontweight" in options else 1), size, most)
