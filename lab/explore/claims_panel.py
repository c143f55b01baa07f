"""The claims explorer as a widget: select claims, see their forest plot, flipped tasks and both episodes."""

from __future__ import annotations

from ipywidgets import Dropdown

from lab.explore import claims, claims_page
from lab.explore.claims import ALL, Flip, NoReplay
from lab.explore.controls import STYLE, WIDER, Action, Panel, offer, on_change, row, styled
from lab.notebooks import register
from lab.results.stored import Scores, Stored
from lab.viewer import pages
from lab.viewer.timeline import SideBySide

SYNTHETIC = "synthetic"  # the only kind of data whose texts may appear in committed outputs


class Claims(Panel):
    """The panel: filters, the claims that match, the flipped tasks of one claim, and both episodes of one task.

    paper, claim, answered, data: initial filters, "all" for any. figures: the source of the results, as for
    `lab.results.stored.Stored`. both: the two episodes that were played last, with all their texts.
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
        self.both: SideBySide | None = None
        self.sides: tuple[Scores, Scores] | None = None
        self.flips: dict[str, Flip] = {}
        options = claims.choices(self.rows)
        self.paper, self.answered, self.data = (
            Dropdown(options=options[name], value=value, description=label, style=STYLE, layout=WIDER)
            for name, value, label in (
                ("paper", paper, "paper"), ("answered", answered, "who answered"), ("data", data, "data")
            )
        )  # fmt: skip
        self.claim = Dropdown(description="claim", style=STYLE, layout=WIDER)
        self.task = Dropdown(description="flipped task", style=STYLE, layout=WIDER)
        self.forest, self.flipped, self.episodes = styled(), styled(), styled()
        self.play = Action(
            "Play both episodes again",
            self.replay,
            self._price,
            lambda: (self.claim.value, self.task.value),
            [self.episodes],
        )
        super().__init__([row(self.paper, self.claim, self.answered, self.data), self.forest, self.flipped,
                          row(self.task), self.play, self.episodes])  # fmt: skip
        on_change((self.paper, self.answered, self.data), self._filter)
        on_change([self.claim], self._choose)
        on_change([self.task], self.play.refresh)
        self._filter()
        self.claim.value = claim

    def replay(self) -> None:
        """Play both episodes of the flipped task again, from recorded answers, and display where they diverge.

        For official data only steps and hashes are displayed. Raises NoReplay.
        """
        self._price()
        assert self.sides
        self.both = claims.episodes(*self.sides, self.flips[self.task.value])
        texts = self.sides[0].data == SYNTHETIC
        outline = claims_page.outline(self.task.value, self.both)
        self.episodes.value = self.both._repr_html_() if texts else pages.fragment(outline)
        self.play.made()

    def page(self) -> str:
        """The claims, the tasks that flipped, and the episodes."""
        return self.forest.value + self.flipped.value + self.episodes.value

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
        self.forest.value = pages.fragment(claims_page.table(displayed, _beside))
        contrast = claims.contrast_of(self.judged, self.claim.value)
        self.sides = claims.pair(contrast, self.stored) if contrast else None
        self.flips = {flip.task: flip for flip in claims.flips(*self.sides)} if self.sides else {}
        steps = self.known.get(self.claim.value, {})
        text = claims_page.flipped(displayed[0], displayed[0]["n"], [*self.flips.values()], steps) if self.sides else ""
        self.flipped.value = pages.fragment(text) if text else ""
        offer(self.task, [*self.flips])
        self.play.refresh()

    def _price(self) -> str:
        if not self.flips:
            raise NoReplay(
                "this claim has no task that flipped" if self.sides else "choose a claim that compares two conditions"
            )
        return "recorded answers, free"


def _beside(notebook: str) -> str:
    """The address of a notebook, relative to the explorer's notebook."""
    return f"../{notebook}.ipynb" if notebook else ""
