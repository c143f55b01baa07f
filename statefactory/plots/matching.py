"""The matching of one step: goal objects on the left, the state objects that they took, and the others, greyed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, cast

from lab.results.text import fitted, width, write
from statefactory.routing import Match
from statefactory.state import Entity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

ROW, GAP, PAD = 0.22, 0.15, 0.09  # inches: a line of text, between boxes, and inside them
SIZE, SMALL = 9.5, 8.5
INK, GREY, PALE = "0.15", "0.55", "0.96"
ATTRIBUTES = 7  # of a state object that are shown; those that were compared always are
HEAD = 0.3


class Line(NamedTuple):
    """A line of a box. key: which attribute it shows, "" for the identity, None for no attribute."""

    key: str | None
    text: str


@dataclass(frozen=True)
class Box:
    """An object as a box. top: in inches from the panel's top. note: at the right of its first line."""

    lines: tuple[Line, ...]
    top: float
    note: str = ""

    @property
    def height(self) -> float:
        return len(self.lines) * ROW + PAD

    def middle(self, key: str) -> float:
        """The height of a line's middle."""
        number = next(number for number, line in enumerate(self.lines) if line.key == key)
        return self.top + PAD / 2 + (number + 0.5) * ROW


class Panel(NamedTuple):
    """The boxes of a step. taken: state objects by identity and attributes; hidden: others that have no room."""

    goal: list[Box]
    taken: dict[Entity, Box]
    others: list[Box]
    hidden: int
    height: float


def arranged(matches: Sequence[Match], state: Sequence[Entity]) -> Panel:
    """Boxes from top to bottom: the goal's in their order, and each state object where it was first taken."""
    goal = _stacked([(_goal_lines(match), _product(match)) for match in matches])
    # By entity, since several goal objects may take the same state object.
    compared = _compared(matches)
    taken = _stacked([(_state_lines(entity, keys), "") for entity, keys in compared.items()])
    others = _stacked([(_state_lines(entity, {}, 3), "") for entity in state if entity not in compared])
    height = max([_bottom(goal), _bottom(taken), min(_bottom(others), HEAD + 12 * ROW)])
    shown = [box for box in others if box.top + box.height <= height - ROW] if _bottom(others) > height else others
    return Panel(goal, dict(zip(compared, taken, strict=True)), shown, len(others) - len(shown), height)


def draw_matching(axes: Axes, matches: Sequence[Match], panel: Panel, colors: Colormap) -> None:
    """Draw on axes that are as large as their figure says, in inches; the panel's height is `panel.height`."""
    box = axes.get_position()
    whole = box.width * cast("Figure", axes.figure).get_figwidth()
    axes.set(xlim=(0, whole), ylim=(panel.height, 0))
    axes.axis("off")
    # left and right edges of the three columns; between the first two run the lines
    goal, taken, others = ((0, 0.33 * whole), (0.445 * whole, 0.745 * whole), (0.775 * whole, whole))
    heads = ("The goal's objects", "The state objects that fit them best", "Other state objects")
    for (left, _), head in zip((goal, taken, others), heads, strict=True):
        write(axes, left, HEAD / 2, head, SIZE, color=GREY, va="center")
    for match, wanted in zip(matches, panel.goal, strict=True):
        if match.entity is not None:
            _connect(axes, match, (goal[1], wanted), (taken[0], panel.taken[match.entity]), colors)
    for number, wanted in enumerate(panel.goal):
        _draw(axes, wanted, goal, INK, colors(matches[number].score))
    for state_box in panel.taken.values():
        _draw(axes, state_box, taken, INK, GREY)
    for other in panel.others:
        _draw(axes, other, others, GREY, "0.85", SMALL)
    if panel.hidden or not panel.others:
        text = f"… and {panel.hidden} more" if panel.hidden else "none"
        write(axes, others[0], _bottom(panel.others) + ROW / 2, text, SMALL, color=GREY, va="center")


def _stacked(contents: Sequence[tuple[tuple[Line, ...], str]]) -> list[Box]:
    boxes: list[Box] = []
    for lines, note in contents:
        boxes.append(Box(lines, _bottom(boxes), note))
    return boxes


def _bottom(boxes: Sequence[Box]) -> float:
    """Where the next box would begin."""
    return boxes[-1].top + boxes[-1].height + GAP if boxes else HEAD


def _goal_lines(match: Match) -> tuple[Line, ...]:
    return (Line("", _name(match.goal)), *(_line(wanted.name, wanted.value) for wanted in match.goal.attributes))


def _state_lines(entity: Entity, compared: dict[str, None], room: int = ATTRIBUTES) -> tuple[Line, ...]:
    """What was compared first, in the goal's order, so that few lines cross."""
    lines = {line.key: line for line in (_line(attribute.name, attribute.value) for attribute in entity.attributes)}
    others = [line for key, line in lines.items() if key not in compared]
    spare = max(0, room - len(compared))
    more = [Line(None, f"… {len(others) - spare} more")] if len(others) > spare else []
    return (Line("", _name(entity)), *(lines[key] for key in compared), *others[:spare], *more)


def _compared(matches: Sequence[Match]) -> dict[Entity, dict[str, None]]:
    """State objects that were taken, with the attributes that were compared."""
    compared: dict[Entity, dict[str, None]] = {}
    for match in matches:
        if match.entity is not None:
            keys = compared.setdefault(match.entity, {})
            keys |= {_key(*end): None for _, end in _ends(match)}
    return compared


def _key(name: str, value: str) -> str:
    return f"{name}\n{value}"


def _line(name: str, value: str) -> Line:
    return Line(_key(name, value), f"{name}: {value}" if name else value)


def _name(entity: Entity) -> str:
    return entity.identity or "(no name)"


def _product(match: Match) -> str:
    """How the fit comes about: identity times the mean of the attributes (Eq. 7)."""
    if match.entity is None or not match.attributes:
        return f"fit {match.score:.2f}"
    mean = sum(attribute.similarity for attribute in match.attributes) / len(match.attributes)
    return f"fit {match.score:.2f} = {match.identity:.2f} × {mean:.2f}"


def _ends(match: Match) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    """Name and value of the goal's attributes and of those that they were compared with."""
    return [((attribute.name, attribute.value), (attribute.aligned, attribute.found or ""))
            for attribute in match.attributes if attribute.aligned is not None]  # fmt: skip


def _connect(axes: Axes, match: Match, start: tuple[float, Box], end: tuple[float, Box], colors: Colormap) -> None:
    keys = [("", ""), *((_key(*wanted), _key(*offered)) for wanted, offered in _ends(match))]
    similarities = [
        match.identity,
        *(attribute.similarity for attribute in match.attributes if attribute.aligned is not None),
    ]
    for (wanted, offered), similarity in zip(keys, similarities, strict=True):
        _join(axes, (start[0], start[1].middle(wanted)), (end[0], end[1].middle(offered)), similarity, colors)


def _join(
    axes: Axes, start: tuple[float, float], end: tuple[float, float], similarity: float, colors: Colormap
) -> None:
    """Straight out of the box, where its number stands, then across."""
    bend = start[0] + 0.45, start[1]
    strength = min(max(similarity, 0.0), 1.0)
    axes.plot(*zip(start, bend, end, strict=True), color=colors(0.15 + 0.85 * strength), linewidth=0.5 + 3 * strength,
              solid_joinstyle="round", zorder=1)  # fmt: skip
    write(axes, start[0] + 0.22, start[1], f"{similarity:.2f}", SMALL, color=INK, ha="center", va="center", zorder=3,
          bbox={"boxstyle": "round,pad=0.12", "facecolor": "white", "edgecolor": "none"})  # fmt: skip


def _draw(axes: Axes, box: Box, edges: tuple[float, float], ink: str, edge: object, size: float = SIZE) -> None:
    from matplotlib.patches import FancyBboxPatch

    left, right = edges
    style = "round,pad=0,rounding_size=0.06"
    axes.add_patch(FancyBboxPatch((left, box.top), right - left, box.height, style, facecolor=PALE if ink == INK else
                                  "white", edgecolor=edge, linewidth=1.4 if ink == INK else 0.8, zorder=2))  # fmt: skip
    for number, line in enumerate(box.lines):
        bold = line.key == ""
        room = right - left - 2 * PAD - (width(box.note, SMALL) + PAD if bold and box.note else 0)
        at = box.top + PAD / 2 + (number + 0.5) * ROW
        write(axes, left + PAD, at, fitted(line.text, room, size, bold), size, color=ink, va="center", zorder=3,
              fontweight="bold" if bold else "normal")  # fmt: skip
    if box.note:
        write(axes, right - PAD, box.top + PAD / 2 + ROW / 2, box.note, SMALL, color=ink, ha="right", va="center",
              zorder=3)  # fmt: skip
