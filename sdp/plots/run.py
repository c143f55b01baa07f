"""One run, plan by plan: the content of the paper's Figure 2, drawn from the trajectory alone.

Below the predicates of each plan, a track leads from certified state to certified state, with a mark for each attempt.
So the reading order is the order of events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.figure import Figure
from matplotlib.patches import Circle

from lab.results import drawing
from lab.results.drawing import Canvas
from lab.results.text import POINTS, fitted, width, wrapped
from lab.viewer.steps import plain
from sdp.trajectory import Attempt, Trajectory

WIDTH, EDGE, FIRST, GAP = 11.0, 0.25, 1.4, 0.36  # inches: of the drawing, its margin, its first column, between boxes
MOST_COLUMNS, WIDEST, MOST_LINES = 6, 2.4, 6  # predicates side by side, inches of one, lines of its text
HEADER = EDGE + (FIRST - GAP) / 2  # inches: the middle of the first column
HEAD, TRACK, NUMBERS, LINE = 0.65, 0.38, 0.25, 0.88  # inches: of the summary; below boxes: track, numbers, next boxes
NOTE, FAULT, END = 0.3, 0.75, 0.75  # inches: heights of the path to the next plan, of an unusable plan, of the end
LEGEND, PILL = 0.4, 0.42  # inches: heights of the legend, of a box in the first column
DOT, STEP = 0.15, 0.27  # inches: radius of a state, from mark to mark
NOTED = 2.0  # inches that a verdict needs next to the track
LARGE, SIZE, SMALL = 13.0, 9.5, 9.0  # points
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
ENDS = {
    "goal": "the goal is certified",
    "world ended": "the world ended the episode",
    "step cap": "all attempts of the episode are spent (step cap)",
    "budget": "the attempts at the target are spent, and Replan is switched off",
    "malformed plan": "no usable plan",
    "running": "still running",
}


class Grid(NamedTuple):
    """The layout of predicates. columns: per line. across: inches from one to the next. lines: of text in a box."""

    columns: int
    across: float
    lines: int

    @property
    def room(self) -> float:
        """Inches for the text in a box."""
        return self.across - GAP - 0.16

    @property
    def box(self) -> float:
        """Inches of a box from top to bottom."""
        return 0.16 + self.lines * drawing.SPACING * SIZE / POINTS

    def left(self, position: int) -> float:
        """The left edge of a predicate's box; the state before the predicate is drawn half a gap to the left of it."""
        return EDGE + FIRST + position % self.columns * self.across

    def rows(self, first: int, after: int) -> int:
        """The number of lines that hold the predicates from `first` to the one before `after`."""
        return max(1, -(-after // self.columns) - first // self.columns)


class Row(NamedTuple):
    """A plan in the drawing. after: index of the first predicate that is not drawn. state: the one it starts in."""

    number: int
    attempts: tuple[Attempt, ...]
    state: int
    after: int


def draw_run(trajectory: Trajectory, evidence: str = "", title: str = "", most: int = 6) -> Figure:
    """Draw a run of any benchmark: one row per plan with the predicates that it added, and the attempts below them.

    A cross is a rejected attempt. A tick is a certified one, with an arrow to the next certified state, over k
    predicates if it certified k. Dashed predicates were discarded by Replan, or are open at the end; if they would need
    lines of their own, they are only counted. evidence: which engine played, and what is simulated. title: by default
    the goal. most: number of plans to draw, at least 2; of more plans, the first ones and the last.
    """
    plans = range(len(trajectory.plans))
    numbers = [*plans] if len(plans) <= most else [*plans[: most - 1], plans[-1]]
    grid = _grid(trajectory, numbers)
    rows = [_row(trajectory, grid, number) for number in numbers]
    heights = [_height(trajectory, grid, row) for row in rows]
    left_out = NOTE * (len(numbers) < len(plans))
    title_lines = wrapped(title or trajectory.goal.text, (WIDTH - 2 * EDGE) / drawing.BOLD, LARGE, 2)
    top = HEAD + len(title_lines) * drawing.SPACING * LARGE / POINTS
    canvas = Canvas(WIDTH, height := top + sum(heights) + left_out + END + LEGEND, evidence)
    below = canvas.lines(EDGE, 0.3, title_lines, LARGE, fontweight="bold")
    canvas.text(EDGE, below + 0.05, _summary(trajectory), SIZE, WIDTH - 2 * EDGE, color=drawing.QUIET)
    for row, row_height in zip(rows, heights, strict=True):
        if row is rows[-1] and left_out:
            hidden = [a for a in trajectory.attempts if numbers[-2] < a.plan < numbers[-1]]
            caption = f"Replans {numbers[-2] + 1} to {numbers[-1] - 1} are left out: {len(hidden)} attempts, "
            caption += f"{sum(a.k for a in hidden)} predicates certified"
            canvas.text(EDGE + FIRST, top + 0.1, caption, SIZE, WIDTH - 2 * EDGE - FIRST, color=drawing.QUIET)
            canvas.arrow((HEADER, top), (HEADER, top + left_out), drawing.RED)
            top += left_out
        _draw_plan(canvas, grid, trajectory, row, top)
        top += row_height
    _draw_end(canvas, trajectory, top)
    _draw_legend(canvas, trajectory, height - LEGEND / 2)
    return canvas.figure


def _grid(trajectory: Trajectory, numbers: Sequence[int]) -> Grid:
    plans = [trajectory.plans[number] for number in numbers]
    columns = min(MOST_COLUMNS, max(1, *(len(plan.predicates) for plan in plans)))
    grid = Grid(columns, min(WIDEST, (WIDTH - 2 * EDGE - FIRST) / columns), 1)
    texts = {_numbered(plan.predicates, position) for plan in plans for position in range(len(plan.predicates))}
    return grid._replace(lines=max((len(wrapped(text, grid.room, SIZE, MOST_LINES)) for text in texts), default=1))


def _row(trajectory: Trajectory, grid: Grid, number: int) -> Row:
    """A plan's row: lines are drawn as far as there were attempts, and filled up with untried predicates."""
    plan = trajectory.plans[number]
    attempts = tuple(attempt for attempt in trajectory.attempts if attempt.plan == number)
    reached = max((attempt.position + max(attempt.k, 1) for attempt in attempts), default=plan.start + 1)
    after = min(len(plan.predicates), -(-reached // grid.columns) * grid.columns)
    state = sum(trajectory.attempts[transition.attempt].plan < number for transition in trajectory.transitions)
    return Row(number, attempts, state, 0 if plan.fault else after)


def _height(trajectory: Trajectory, grid: Grid, row: Row) -> float:
    if not row.after:
        return FAULT
    replanned = row.number + 1 < len(trajectory.plans)
    return grid.rows(trajectory.plans[row.number].start, row.after) * (grid.box + LINE) + NOTE * replanned


def _draw_plan(canvas: Canvas, grid: Grid, trajectory: Trajectory, row: Row, top: float) -> None:
    plan = trajectory.plans[row.number]
    name = f"Replan {row.number}" if row.number else plan.operator.capitalize()
    canvas.box(EDGE, top, FIRST - GAP, PILL, drawing.PALE_BLUE, drawing.BLUE)
    canvas.middle(HEADER, top + PILL / 2, name, SIZE, FIRST - GAP - 0.1, fontweight="bold")
    if not row.after:
        fault = plan.fault or "it gave no predicate"
        canvas.text(EDGE + FIRST, top + PILL / 2, f"no usable plan: {fault}", SIZE, WIDTH - 2 * EDGE - FIRST, 2,
                    color=drawing.RED)  # fmt: skip
    else:
        tail, caption = plan.predicates[plan.start :], f"{len(plan.predicates)} predicates"
        if row.number:
            previous = trajectory.plans[row.number - 1].predicates[plan.start :]
            new = sum(predicate not in previous for predicate in tail)
            caption = f"the same {len(tail)}" if tail == previous else f"tail of {len(tail)}, {new} new"
        canvas.middle(HEADER, top + PILL + 0.2, caption, SMALL, FIRST - GAP, 2, color=drawing.QUIET)
        _draw_predicates(canvas, grid, trajectory, row, top)
        _draw_track(canvas, grid, plan.start, row, top)
    if row.number + 1 < len(trajectory.plans):
        _draw_replan(canvas, grid, trajectory, row, top)


def _draw_predicates(canvas: Canvas, grid: Grid, trajectory: Trajectory, row: Row, top: float) -> None:
    plan = trajectory.plans[row.number]
    certified = {a.position + further for a in row.attempts for further in range(a.k)}
    tried = {a.position for a in row.attempts}
    if offset := plan.start % grid.columns:
        first = plan.start - offset
        caption = f"1–{plan.start} stay certified" if plan.start > 1 else "1 stays certified"
        across = offset * grid.across - GAP
        canvas.box(grid.left(first), top, across, grid.box, "white", drawing.GREEN, linestyle=(0, (1, 2)))
        canvas.middle(grid.left(first) + across / 2, top + grid.box / 2, caption, SIZE, across - 0.16, grid.lines,
                      color=drawing.GREEN)  # fmt: skip
    for position in range(plan.start, row.after):
        style: dict[str, Any] = {"fill": drawing.PALE_GREEN, "edge": drawing.GREEN}
        if position not in certified:
            style = {"fill": drawing.PALE_RED, "edge": drawing.RED} if position in tried else {
                "fill": "white", "edge": drawing.QUIET, "linestyle": (0, (3, 2))}  # fmt: skip
        hidden = len(plan.predicates) - row.after
        text = _numbered(plan.predicates, position)
        if hidden and position == row.after - 1 and position not in tried | certified:
            text = f"{position + 1}–{len(plan.predicates)}: {hidden + 1} more, to the goal"
        left, y = grid.left(position), top + _down(grid, plan.start, position)
        canvas.box(left, y, grid.across - GAP, grid.box, **style)
        canvas.middle(left + (grid.across - GAP) / 2, y + grid.box / 2, text, SIZE, grid.room, grid.lines,
                      color=drawing.INK if position in tried | certified else drawing.QUIET)  # fmt: skip


def _draw_track(canvas: Canvas, grid: Grid, start: int, row: Row, top: float) -> None:
    """Draw the states and, between them, the attempts at each predicate."""
    state = row.state
    _draw_state(canvas, grid.left(start) - GAP / 2, top + _down(grid, start, start) + grid.box + TRACK, state)
    for position in dict.fromkeys(attempt.position for attempt in row.attempts):
        tries = [attempt for attempt in row.attempts if attempt.position == position]
        y = top + _down(grid, start, position) + grid.box + TRACK
        marks = _marks(grid, tries)
        if position > start and position % grid.columns == 0:  # where the previous line ended
            _draw_state(canvas, grid.left(position) - GAP / 2, y, state)
        if k := tries[-1].k:
            state += 1
            _draw_transition(canvas, grid, start, position, k, state, top)
        else:
            left = grid.left(position) - GAP / 2 + DOT
            canvas.axes.plot([left, marks[-1][0]], [y, y], color=drawing.RED, linewidth=1.2, linestyle="--", zorder=2)
        for x, attempt in marks:
            if attempt is None:
                canvas.middle(x, y, "…", SIZE, STEP, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})
                continue
            color = drawing.RED if not attempt.k else drawing.ORANGE if attempt.forced else drawing.GREEN
            canvas.mark(x, y, "tick" if attempt.k else "cross", color)
            canvas.middle(x, y + NUMBERS, str(attempt.step + 1), SMALL, STEP, color=drawing.QUIET)


def _marks(grid: Grid, attempts: Sequence[Attempt]) -> list[tuple[float, Attempt | None]]:
    """The position and attempt of each mark; None stands for the attempts for which there is no room."""
    room = int((grid.across - GAP) / STEP)
    marks: list[Attempt | None] = [*attempts]
    if len(attempts) > room:
        marks = [*attempts[: room - 2], None, attempts[-1]]
    first = grid.left(attempts[0].position) + (grid.across - GAP - STEP * (len(marks) - 1)) / 2
    return [(first + STEP * number, attempt) for number, attempt in enumerate(marks)]


def _draw_transition(canvas: Canvas, grid: Grid, start: int, position: int, k: int, state: int, top: float) -> None:
    """Draw the arrow to the next certified state over the k certified predicates, line by line if they span several."""
    style: dict[str, Any] = {"color": drawing.GREEN, "linewidth": 1.6}
    if k > 1:
        style = {"color": drawing.BLUE, "linewidth": 3.2}
    after = position + k
    while position < after:
        end = min(after, (position // grid.columns + 1) * grid.columns)
        y = top + _down(grid, start, position) + grid.box + TRACK
        left, right = grid.left(position) - GAP / 2, grid.left(end - 1) + grid.across - GAP / 2
        for passed in range(position + 1, end):
            x = grid.left(passed) - GAP / 2
            canvas.axes.plot(x, y, "o", markersize=5, markerfacecolor="white", markeredgecolor=drawing.BLUE, zorder=3)
        if end < after:
            canvas.axes.plot([left, right], [y, y], zorder=2, solid_capstyle="butt", **style)
        else:
            head = "-|>,head_length=8,head_width=5" if k > 1 else "-|>,head_length=5,head_width=3"
            canvas.arrow((left, y), (right - DOT, y), arrowstyle=head, **style)
            _draw_state(canvas, right, y, state)
            caption, weight = (f"cascade, k = {k}", "bold") if k > 1 else ("k = 1", "normal")
            color = drawing.BLUE if k > 1 else drawing.QUIET
            canvas.lines(right - DOT - 0.04, y - 0.2, [caption], SMALL, ha="right", color=color, fontweight=weight)
        position = end


def _draw_state(canvas: Canvas, x: float, y: float, number: int) -> None:
    canvas.axes.add_patch(Circle((x, y), DOT, facecolor="white", edgecolor=drawing.INK, linewidth=1.2, zorder=5))
    canvas.lines(x, y, [f"s{number}".translate(SUBSCRIPTS)], SMALL, ha="center", zorder=6)


def _draw_replan(canvas: Canvas, grid: Grid, trajectory: Trajectory, row: Row, top: float) -> None:
    """Draw the path from where this plan got stuck to the next plan, and the reason."""
    plan, bottom = trajectory.plans[row.number], top + _height(trajectory, grid, row)
    if not row.attempts:
        canvas.arrow((HEADER, top + PILL), (HEADER, bottom), drawing.RED)
        return
    last = row.attempts[-1]
    tries = [attempt for attempt in row.attempts if attempt.position == last.position]
    y, below = top + _down(grid, plan.start, last.position) + grid.box + TRACK, bottom - NOTE
    x = _marks(grid, tries)[-1][0] + 0.19
    canvas.axes.plot([x - 0.19, x, x, HEADER], [y, y, below, below], color=drawing.RED, linewidth=1.2, linestyle="--",
                     zorder=2)  # fmt: skip
    canvas.arrow((HEADER, below), (HEADER, bottom), drawing.RED)
    caption = f"rejected {len(tries)} times" if len(tries) > 1 else "rejected"
    caption += f": Replan discards {len(plan.predicates) - last.position} of {len(plan.predicates)} predicates"
    caption += f". Validate at last: {last.reason}" if last.reason else ""
    right = WIDTH - EDGE - x - 0.1
    if right >= NOTED:  # next to the track, which ends there
        canvas.text(x + 0.1, y - 0.1, caption, SMALL, right, 3, color=drawing.RED)
    else:
        line = fitted(caption, x - HEADER - 0.2, SMALL)
        canvas.lines(x - 0.1, below + 0.15, [line], SMALL, ha="right", color=drawing.RED)


def _draw_end(canvas: Canvas, trajectory: Trajectory, top: float) -> None:
    """Draw how the episode ended, and the answer that was forced then."""
    uncertified = len(trajectory.plans[-1].predicates) - trajectory.certified
    reached = trajectory.reached_goal
    edge, fill = (drawing.GREEN, drawing.PALE_GREEN) if reached else (drawing.ORANGE, drawing.PALE_ORANGE)
    canvas.box(EDGE, top, FIRST - GAP, PILL, fill, edge)
    canvas.middle(HEADER, top + PILL / 2, "End", SIZE, FIRST - GAP - 0.1, fontweight="bold")
    caption = ENDS.get(trajectory.end, trajectory.end)
    caption += f"; {uncertified} of the plan's predicates are open" if uncertified else ""
    if uncertified and trajectory.attempts and trajectory.attempts[-1].k == 0:
        caption += f". Validate at last: {trajectory.attempts[-1].reason}"
    room = WIDTH - 2 * EDGE - FIRST
    y = top + (0.1 if trajectory.forced else PILL / 2)
    y = canvas.text(EDGE + FIRST, y, caption, SIZE, room)
    if trajectory.forced:
        action = trajectory.forced.action
        if isinstance(action, Mapping):  # the certified state has what the answer is based on
            action = {name: value for name, value in action.items() if not isinstance(value, (Mapping, list))}
        text = plain(action).replace("\n", "; ") or trajectory.forced.reason
        canvas.text(EDGE + FIRST, y, f"an answer is forced, which certifies nothing: {text}", SIZE, room, 2)


def _draw_legend(canvas: Canvas, trajectory: Trajectory, y: float) -> None:
    marks = [("tick", drawing.GREEN, "certified"), ("cross", drawing.RED, "rejected")]
    marks += [("tick", drawing.ORANGE, "passed by force")] * any(attempt.forced for attempt in trajectory.attempts)
    x = EDGE + 0.1
    for shape, color, caption in marks:
        canvas.mark(x, y, shape, color)
        canvas.lines(x + 0.18, y, [caption], SMALL, color=drawing.QUIET)
        x += 0.4 + width(caption, SMALL)
    caption = "numbered in their order · s: certified states · dashed: discarded, or open at the end · “…”: text is cut"
    canvas.text(x - 0.1, y, caption, SMALL, WIDTH - EDGE - x, color=drawing.QUIET)


def _summary(trajectory: Trajectory) -> str:
    k = max((attempt.k for attempt in trajectory.attempts), default=0)
    total = len(trajectory.plans[-1].predicates)
    parts = [
        f"{len(trajectory.attempts)} attempts",
        f"{trajectory.replans} Replan" + "s" * (trajectory.replans != 1),
        f"longest cascade k = {k}",
        f"{trajectory.certified} of {total} predicates certified",
    ]
    return f"{trajectory.task}: {', '.join(parts)}"


def _numbered(predicates: Sequence[Any], position: int) -> str:
    return f"{position + 1}. {predicates[position].text}"


def _down(grid: Grid, start: int, position: int) -> float:
    """Inches from the top of a plan that starts at `start` to the line of a predicate."""
    return (position // grid.columns - start // grid.columns) * (grid.box + LINE)
