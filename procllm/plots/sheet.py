"""A sheet to draw on, in inches from its top left; made smaller as a whole where the axes are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.results.text import FAMILY, POINTS
from procllm.plots.layout import SPACING, Box

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = "0.12"
BASELINE = 0.34  # of the font's size: how far below the middle letters stand
ROUNDING = 0.06  # inches: the corners of a task
BADGE = 0.085  # inches: the radius of a mark on a corner
TICK = ((-0.5, 0.02), (-0.14, 0.38), (0.52, -0.4))  # in radii of a badge
ARROW = ((-0.33, -0.5), (0.58, 0.0), (-0.33, 0.5))


class Look(NamedTuple):
    """Colors as matplotlib has them. thick: of the border, in points."""

    fill: str
    edge: str
    thick: float = 1.0
    dashed: bool = False


class Sheet:
    """Axes whose data are inches."""

    def __init__(self, axes: Axes, width: float, height: float) -> None:
        axes.axis("off")
        figure = axes.get_figure(root=True)
        assert figure, "the axes were removed from their figure"
        if engine := figure.get_layout_engine():
            engine.execute(figure)  # else the axes would be measured before they have their size
        room = axes.get_window_extent()
        axes.set(xlim=(0, width), ylim=(height, 0), aspect="equal")
        self._scale = min(room.width / width, room.height / height) / figure.dpi
        self._axes, self.figure = axes, figure

    def task(self, box: Box, look: Look, size: float) -> None:
        self._bordered(box, look, ROUNDING, size)

    def method(self, box: Box, look: Look, size: float) -> None:
        self._bordered(box, look, min(box.height / 2, 0.2), size, style="italic")

    def line(self, points: Sequence[tuple[float, float]], color: str, thick: float, over: bool = False) -> None:
        """over: above other lines."""
        self._axes.plot(*zip(*points, strict=True), color=color, linewidth=thick * self._scale, zorder=1 + over,
                        solid_joinstyle="round", solid_capstyle="butt")  # fmt: skip

    def badge(self, box: Box, shape: Sequence[tuple[float, float]], color: str) -> None:
        """A mark on the box's upper right corner: a tick is a line, anything else is filled."""
        from matplotlib.patches import Circle, Polygon

        corner = box.right, box.top
        mark = [(corner[0] + x * BADGE, corner[1] + y * BADGE) for x, y in shape]
        self._axes.add_patch(Circle(corner, BADGE, facecolor=color, edgecolor="white", linewidth=self._scale, zorder=5))
        style: dict[str, Any] = {"fill": False, "edgecolor": "white", "linewidth": 1.6 * self._scale}
        if shape is not TICK:
            style = {"facecolor": "white", "linewidth": 0}
        self._axes.add_patch(Polygon(mark, closed=shape is not TICK, zorder=6, capstyle="round", **style))

    def write(self, x: float, y: float, lines: Sequence[str], size: float, **options: Any) -> None:
        """Lines with their middle at y, on baselines of equal distance. A dollar sign is no formula."""
        style: dict[str, Any] = {"color": INK, "family": FAMILY, "zorder": 4, "fontsize": size * self._scale} | options
        em = size / POINTS
        for number, line in enumerate(lines):
            middle = y + (number - (len(lines) - 1) / 2) * SPACING * em
            self._axes.text(x, middle + BASELINE * em, line, va="baseline", parse_math=False, **style)

    def _bordered(self, box: Box, look: Look, rounding: float, size: float, **options: Any) -> None:
        from matplotlib.patches import FancyBboxPatch

        dashes = (0, (3.5, 2)) if look.dashed else "solid"
        self._axes.add_patch(FancyBboxPatch(
            (box.left, box.top), box.width, box.height, boxstyle=f"round,pad=0,rounding_size={rounding}", zorder=3,
            facecolor=look.fill, edgecolor=look.edge, linewidth=look.thick * self._scale, linestyle=dashes,
        ))  # fmt: skip
        self.write(box.left + box.width / 2, box.middle, box.lines, size, ha="center", **options)
