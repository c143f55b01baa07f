"""Two conditions compared, as every panel of `4_explore/` shows them: forest plot, flipped tasks, two episodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ipywidgets import Dropdown

from lab.explore import claims, claims_page
from lab.explore.claims import ALL, Flip, Row
from lab.explore.controls import STYLE, WIDER, Action, Panel, folded, offer, on_change, row, styled, warning, words
from lab.models import engines
from lab.notebooks.scoreboard import interval_text
from lab.results import dots, statistics
from lab.results.statistics import Interval
from lab.viewer import pages
from lab.viewer.timeline import SideBySide

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KEY = ("says", "paper", "item", "answered", "data", "n")  # of what was played: the same again takes its place


def measured(
    says: str, sides: tuple[str, str], result: statistics.Comparison, engine: str, data: str, what: tuple[str, str],
    of: str,
) -> Row:  # fmt: skip
    """The difference of two conditions that were just played, as `claims.rows` has those of claims; rates in points.

    engine: that played both. what: agent and benchmark. of: which score, such as "of final pass". Raises BadEngine.
    """
    rate = result.mcnemar is not None
    difference = Interval(*((100 if rate else 1) * end for end in result.difference))
    text = f"{interval_text(difference, 1 if rate else 3, '+')}, n = {result.n}"
    return claims.numbered(
        (*difference, None, None), claim=says, says=says, paper=what[0], item=what[1], notebook="", n=result.n,
        kind=claims.POINTS if rate else claims.SHARE, who=dots.who(engine, engines.parse(engine).evidence), data=data,
        answered=engine, verdict="", here_text=text, paper_text="", sides=[*sides],
        unit=f"{'points ' * rate}{of}",
    )  # fmt: skip


def forest(rows: Sequence[Row], title: str) -> Figure:
    """Rows with a value as a figure."""
    panels: dict[str, list[dots.Line]] = {}
    for entry in rows:
        here, low, high = (math.nan if entry[name] is None else entry[name] for name in ("here", "low", "high"))
        measured = (dots.Dot(here, low, high, entry["who"], entry["n"]),)
        paper = () if entry["published"] is None else (entry["published"],)
        panels.setdefault(entry["kind"], []).append(dots.Line(entry["says"], measured, paper, entry["null"]))
    return dots.draw([*panels.items()], title, zero=True)


class Comparison(Panel):
    """The forest plot of some rows, the tasks that one of them scored differently, and both episodes of a task.

    replay: gives both episodes of a task, by its name. cost: of `Action`, for a replay that waits for its button;
    without it a task is shown as soon as it is chosen. outlined: whether steps are shown without their texts. both: the
    episodes that are shown, with all their texts.
    """

    def __init__(
        self, replay: Callable[[str], SideBySide], cost: Callable[[], str] | None = None,
        outlined: Callable[[], bool] = lambda: False,
    ) -> None:  # fmt: skip
        self.replay, self._outlined, self._of = replay, outlined, ""
        self.rows: list[Row] = []
        self.forest, self.flipped, self.episodes = styled(), styled(), styled()
        self.task = Dropdown(description="task", style=STYLE, layout=WIDER)
        self.both: SideBySide | None = None
        self._waits = cost is not None
        self.play = Action("Play both episodes again", self.show_episodes, cost or str, self._settings, [self.episodes])
        super().__init__([self.forest, self.flipped, row(self.task), *[self.play] * self._waits, self.episodes])
        on_change([self.task], self._changed)

    def show(self, rows: Sequence[Row], link: claims_page.Link = lambda notebook: "", called: str = "claim") -> None:
        """Draw the forest plot. called: what a row is called."""
        self.rows = [*rows]
        self.forest.value = pages.fragment(claims_page.table(self.rows, link, called)) if rows else ""

    def add(
        self, played: Row, scores: Mapping[str, tuple[float, float]], called: str, why: Mapping[str, str] | None = None,
        every: bool = False,
    ) -> None:  # fmt: skip
        """Add what was just played to the forest plot, and list the tasks that flipped, each with its first step that
        differs. scores: task -> both scores. why: task -> a note about them. every: whether tasks that did not flip
        can be chosen as well.
        """
        others = [entry for entry in self.rows if any(entry[name] != played[name] for name in KEY)]
        self.show(claims.scaled([*others, played]), called=called)
        flips = [Flip(task, *score) for task, score in scores.items() if score[0] != score[1]]
        flipped = [flip.task for flip in flips]
        texts = {task: (claims.first_step(self.replay(task)), (why or {}).get(task, "")) for task in flipped}
        steps = {task: "; ".join(filter(None, parts)) for task, parts in texts.items()}
        self.choose(played, flips, steps, [*flipped, *(task for task in scores if every and task not in flipped)])

    def answer(self) -> str:
        """A sentence a row: the difference, with its interval, n, and who answered."""
        return "\n".join(
            f"{entry['paper']} on {entry['item']}, {entry['says']}: {entry['here_text']}, {entry['unit']} less "
            f"{entry['sides'][1]} ({entry['who']}: {entry['answered']}, {entry['data']} data)"
            for entry in self.rows
        )

    def figure(self) -> Figure:
        """The forest plot as a figure; its title is the largest difference."""
        largest = max(self.rows, key=lambda entry: abs(entry["here"]))
        return forest(self.rows, f"{largest['says']}: {largest['here_text']}")

    def choose(
        self, chosen: Row | None, flips: Sequence[Flip] = (), steps: Mapping[str, str] | None = None,
        tasks: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """List the flipped tasks of a row; None for none. steps: task -> its first step that differs. tasks: to choose
        from, by default those that flipped.
        """
        text = claims_page.flipped(chosen, flips, dict(steps or {})) if chosen else ""
        self.flipped.value = pages.fragment(text) if text else ""
        self._of = chosen["claim"] if chosen else ""
        before = self.task.value
        offer(self.task, tasks or [flip.task for flip in flips])
        if self.task.value == before:  # else it was shown when it changed
            self._changed()

    def show_episodes(self) -> None:
        """Show both episodes of the chosen task. Raises as `replay`."""
        self.both = self.replay(self.task.value)
        if self._outlined():
            self.episodes.value = pages.fragment(claims_page.outline(self.task.value, self.both))
        else:
            self.episodes.value = self.both._repr_html_()
        self.play.made()

    def page(self) -> str:
        """All of it as HTML, for where no kernel runs; episodes with their texts are long, and folded."""
        both = self.episodes.value
        if both and not self._outlined():
            both = folded(f"Both episodes of {self.task.value}, step by step", both)
        return self.forest.value + self.flipped.value + both

    def _settings(self) -> tuple[str, str]:
        return self._of or ALL, self.task.value

    def _changed(self) -> None:
        if self._waits:
            self.play.refresh()
        elif self.task.value is None:
            self.both, self.episodes.value = None, ""
        else:
            try:
                self.show_episodes()
            except Exception as error:  # an episode that cannot be read, say
                self.episodes.value = warning(words(error))
