"""The claims explorer as a widget: select claims, see their forest plot, flipped tasks and both episodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ipywidgets import Dropdown

from lab.explore import claims
from lab.explore.claims import ALL, Flip, NoReplay, Row
from lab.explore.comparison import Comparison, forest
from lab.explore.controls import STYLE, WIDER, Panel, on_change, row
from lab.notebooks import register
from lab.results.plots import FEW
from lab.results.stored import Scores, Stored
from lab.viewer.timeline import SideBySide

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SYNTHETIC = "synthetic"  # the only kind of data whose texts may appear in committed outputs


class Claims(Panel):
    """The panel: filters, the claims that match, the flipped tasks of one claim, and both episodes of one task.

    paper, claim, answered, data: initial filters, "all" for any. figures: the source of the results, as for
    `lab.results.stored.Stored`. For official data only steps and hashes are displayed; `comparison.both` has the texts.
    Raises ValueError for a value that no claim has, or if no claim has all of them.
    """

    def __init__(
        self, paper: str = ALL, claim: str = ALL, answered: str = ALL, data: str = ALL, figures: str = "committed"
    ) -> None:
        self.stored = Stored(figures)
        committed = figures == "committed"  # judged once per process, which takes a second
        self.judged = register.committed() if committed else register.judge(register.papers(), self.stored)
        self.rows = claims.rows(self.judged)
        if not claims.chosen(self.rows, paper=paper, claim=claim, answered=answered, data=data):
            raise ValueError(
                f"no claim has paper={paper!r}, claim={claim!r}, answered={answered!r} and data={data!r} at once"
            )
        self.known = claims.known_steps(self.stored)
        self.sides: tuple[Scores, Scores] | None = None
        self.flips: dict[str, Flip] = {}
        self.decided: list[tuple[Row, list[Flip]]] = []
        options = claims.choices(self.rows)
        self.paper, self.answered, self.data = (
            Dropdown(options=options[name], value=value, description=label, style=STYLE, layout=WIDER)
            for name, value, label in (
                ("paper", paper, "paper"), ("answered", answered, "who answered"), ("data", data, "data")
            )
        )  # fmt: skip
        self.claim = Dropdown(description="claim", style=STYLE, layout=WIDER)
        self.comparison = Comparison(self._replay, self._price, self._official)
        super().__init__([row(self.paper, self.claim, self.answered, self.data), self.comparison])
        on_change((self.paper, self.answered, self.data), self._filter)
        on_change([self.claim], self._choose)
        self._filter()
        self.claim.value = claim

    def compare_all(self) -> pd.DataFrame:
        """Find the flipped tasks and first steps of every claim that compares two conditions, from recorded answers.

        Returns a row a claim, as `claims.summary`; `steps` has a row a task.
        """
        self.decided = [
            (entry, claims.flips(*claims.pair(contrast, self.stored)))
            for entry in self.rows
            if (contrast := claims.contrast_of(self.judged, entry["claim"]))
        ]
        self.steps = claims.first_steps(self.judged, self.stored)
        return claims.summary(self.steps)

    def answer(self) -> str:
        """A sentence for each claim that flipped tasks decide, after `compare_all`."""
        medians = claims.summary(self.steps).set_index("claim")["first step, median"].dropna()
        apart = {claim: f", episodes first differ at step {step:g} (median)" for claim, step in medians.items()}
        return "\n".join(
            f"{entry['says']}: {entry['verdict']}, {_up(flips)} of {entry['n']} tasks for, "
            f"{len(flips) - _up(flips)} against{apart.get(entry['claim'], '')}"
            for entry, flips in self.decided
            if flips
        )

    def figure(self) -> Figure:
        """The forest plot of the claims that compare two conditions on FEW tasks or more, after `compare_all`.

        Exploratory claims are left out.
        """
        decided = [pair for pair in self.decided if pair[0]["n"] >= FEW and not pair[0]["exploratory"]]
        count = sum(len(flips) for _, flips in decided)
        title = f"{count} of {sum(entry['n'] for entry, _ in decided)} paired tasks decide {len(decided)} comparisons"
        return forest([entry for entry, _ in decided], title)

    def page(self) -> str:
        """The claims, the tasks that flipped, and the episodes."""
        return self.comparison.page()

    def _filter(self) -> None:
        """After a change of a filter: update the claims to choose from."""
        filters = {name: getattr(self, name).value for name in ("paper", "answered", "data")}
        matches, selected = claims.chosen(self.rows, **filters), self.claim.value
        self.claim.options = [(ALL, ALL), *((f"{row['says']} ({row['claim']})", row["claim"]) for row in matches)]
        self.claim.value = selected if selected in {row["claim"] for row in matches} else ALL
        self._choose()

    def _choose(self) -> None:
        """After a change of the claim: display its row and its flipped tasks."""
        offered = {value for _, value in self.claim.options[1:]}
        displayed = [
            row for row in self.rows if row["claim"] in (offered if self.claim.value == ALL else {self.claim.value})
        ]
        self.comparison.show(displayed, _beside)
        contrast = claims.contrast_of(self.judged, self.claim.value)
        self.sides = claims.pair(contrast, self.stored) if contrast else None
        self.flips = {flip.task: flip for flip in claims.flips(*self.sides)} if self.sides else {}
        steps = self.known.get(self.claim.value, {})
        self.comparison.choose(displayed[0] if self.sides else None, [*self.flips.values()], steps)

    def _replay(self, task: str) -> SideBySide:
        """Both episodes of a flipped task, played again from recorded answers. Raises NoReplay."""
        self._price()
        assert self.sides
        return claims.episodes(*self.sides, self.flips[task])

    def _official(self) -> bool:
        return self.sides is not None and self.sides[0].data != SYNTHETIC

    def _price(self) -> str:
        if not self.flips:
            raise NoReplay(
                "this claim has no task that flipped" if self.sides else "choose a claim that compares two conditions"
            )
        return "recorded answers, free"


def _up(flips: Sequence[Flip]) -> int:
    return sum(flip.first > flip.second for flip in flips)


def _beside(notebook: str) -> str:
    """The address of a notebook, relative to the explorer's notebook."""
    return f"../{notebook}.ipynb" if notebook else ""
