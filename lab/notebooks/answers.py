"""Answer boxes: what stands first on every notebook's page, and on the README.

No text here states a result: all is computed from the committed results and the claims register.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from lab.machine.printing import hint
from lab.notebooks import panels, register, scoreboard, small_model
from lab.notebooks.register import PaperFindings
from lab.notebooks.scoreboard import here_text, largest, sentence, short
from lab.results import floors, stored
from lab.results.claims import (
    BY_CONSTRUCTION,
    BY_NULL,
    BY_PLACEBO,
    FITTED,
    NOT_RUN,
    SHOWS_NOTHING,
    BadClaim,
    Finding,
    count,
)  # fmt: skip
from lab.results.plots import FEW
from lab.results.statistics import Interval
from lab.results.stored import Stored, Value
from lab.results.verdicts import AGREES, DIFFERENT, OPPOSES, REPRODUCED, TOO_SMALL
from lab.runs.floors import DO_NOTHING

ENGINE = re.compile(r"(?<![`\w@.?=&-])(\w+@\d+(?:\.\d+)?(?:\?[\w.=&-]*\w)?)(?!`)")
# Agents without skill, as the subject of a sentence.
SKILLS = {
    "first": "always taking the first option (`first`)",
    "last": "always taking the last option (`last`)",
    "random": "choosing at random (`random`)",
    DO_NOTHING: "doing nothing",
}
# Where the order of the options helps: SDP lists a trip's options by price (A.2).
FIRST = {"TravelPlanner": "always taking the first, cheapest option (`first`)"}
MOST_SENTENCES = 5  # on single comparisons; the page lists the others
MOST_ANSWERED = 3  # sentences in an answer box; the other claims are on the scoreboard


def text(notebook: str) -> str:
    """The answer box of a notebook as Markdown, from the committed results.

    At most MOST_ANSWERED sentences: claims that were judged, then what the key figure shows, or the item's `answer`.
    A last line counts the other claims.
    """
    if notebook in OVERVIEWS:
        return boxed(f"- {text}" for text in OVERVIEWS[notebook]())
    own = register.about(notebook)
    judged = sorted((finding for finding in own if _tells(finding)), key=lambda finding: not finding.claim.headline)
    first = judged[:MOST_ANSWERED]
    texts = [*map(sentence, first), *measured(notebook)][:MOST_ANSWERED]
    lines = [f"- {text}" for text in texts] or ["- Nothing of this page was run."]
    if others := [finding for finding in own if finding not in first]:
        up = "../" * notebook.count("/")
        words = ", ".join(
            f"{number} {word}" for word, number in sorted(Counter(f.verdict.word for f in others).items())
        )
        lines.append(f"- {'Other c' if first else 'C'}laims on the [scoreboard]({up}0_scoreboard.ipynb): {words}.")
    return boxed(lines)


def headroom(notebook: str) -> str:
    """A folded table of the page's recorded models between floor and ceiling; "" if there are none."""
    recorded = register.recorded_for(notebook)
    recorded = scoreboard.headroom(recorded[recorded["n"] > 1]) if len(recorded) else recorded
    title = "Headroom of each model's row: 0 is the best agent without skill, 1 the ceiling"
    return scoreboard.summarised(recorded, title) if len(recorded) and notebook not in OVERVIEWS else ""


def boxed(lines: Iterable[str]) -> str:
    """An answer box as Markdown."""
    return "\n".join(["**Answer**, computed from the stored results:", "", *map(engines_as_code, lines)])


def engines_as_code(text: str) -> str:
    """The Markdown text with engines such as rules@0.8 as code: otherwise they become links to e-mail addresses."""
    return ENGINE.sub(r"`\1`", text)


def _tells(finding: Finding) -> bool:
    """Whether a claim belongs into an answer box: not if it was not run, or is true by construction, or n is tiny."""
    tiny = finding.on_a_model and finding.n < FEW
    return finding.verdict.word not in (NOT_RUN, BY_CONSTRUCTION, FITTED) and not tiny


def measured(notebook: str) -> list[str]:
    """The committed results of a page in sentences: its items' `answer`, or one per panel of the key figure."""
    report = stored.reported(notebook, stored.COMMITTED)
    written = [item.answer for item in panels.items_of(notebook) if item.answer]
    if written and report:
        figures = {"n": report.n, "data": report.data, **report.values}
        return [filled(answer, figures) for answer in written]
    drawn, data = panels.of(notebook, Stored()), report.data if report and not report.other_data else ""
    return [text for panel in drawn if (text := panels.sentence(panel, panels.decimals(drawn), data))]


def filled(answer: str, values: Mapping[str, Value | None]) -> str:
    """An item's `answer` with its figures: "{figure}" becomes the value, "{figure|text|other text}" the text if it is
    true. values: of the notebook's report, its n and its data. Raises BadClaim for a figure that the notebook does not
    report, or reports without a value.
    """

    def text_of(match: re.Match[str]) -> str:
        figure, *texts = match[1].split("|")
        if values.get(figure) is None:
            raise BadClaim(f"`answer` names {figure!r}, which its notebook does not report{hint(figure, values)}")
        return (texts[0] if values[figure] else texts[1]) if texts else str(values[figure])

    return re.sub(r"\{([^}]+)\}", text_of, answer)


def found(judged: Sequence[PaperFindings]) -> list[str]:
    """The results in five sentences, for the README's first screen."""
    flat = scoreboard.findings(judged)
    free = count(finding for finding in flat if not finding.claim.contrast)
    run = [finding for finding in flat if finding.on_a_model]
    tally = count(run)
    matched = tally[BY_PLACEBO] + tally[BY_NULL]
    explained = sum(finding.verdict.word == DIFFERENT and bool(finding.claim.why) for finding in flat)
    agreeing = [finding for finding in run if finding.verdict.word == AGREES]
    opposing = [finding for finding in run if finding.verdict.word == OPPOSES]
    return [
        f"Of {sum(free.values()) - free[NOT_RUN]} numbers that need no model, {free[REPRODUCED]} are reproduced, "
        f"{free[DIFFERENT]} differ ({explained} for a stated possible reason), and "
        f"{free[FITTED] + free[BY_CONSTRUCTION]} are fitted or our inputs and test nothing.",
        _strongest_null(run),
        f"Of {len(run)} comparisons on real models (largest: {largest({finding.model for finding in run})}) "
        f"{tally[AGREES]} confirm their claim, {tally[OPPOSES]} contradict it, {matched} do not beat a placebo or null "
        f"model, {tally[SHOWS_NOTHING]} show nothing, and {tally[TOO_SMALL]} are undecided.",
        _named("Confirmed", agreeing) + " " + _named("Contradicted", opposing),
        f"{count(flat)[NOT_RUN]} claims lack a model, data or a recording.",
    ]


def without_skill() -> list[str]:
    """Sentences on the benchmarks where agents without skill come nearest to the ceiling, from the stored panels."""
    panel = Stored().rows("0_floors", "0_floors")
    if panel is None:
        return []
    rising = panel[panel["better"] == "higher"]
    pairs = [(name, ends) for name, ends in floors.ends(rising).items() if ends.ceiling > 0]
    pairs.sort(key=lambda pair: -pair[1].floor / pair[1].ceiling)
    zero = [name for name, ends in pairs if ends.floor == 0]
    lines = [
        f"{name}: *{ends.agent}* scores {ends.floor:.1f} of {ends.ceiling:.1f}."
        for name, ends in pairs[:MOST_ANSWERED]
        if ends.floor > 0
    ]
    return [*lines, f"On {len(zero)} of {len(pairs)} benchmarks no agent without skill scores at all."]


def _strongest_null(run: Sequence[Finding]) -> str:
    """A sentence on the contrast in which a null model is furthest ahead of the model's own method.

    Not one with shuffled options, which the null models see sorted.
    """
    ahead = [
        (finding.null[1].value - finding.here.value, finding)
        for finding in run
        if finding.null and isinstance(finding.here, Interval) and finding.sides and not finding.claim.lower
        and "shuffle" not in finding.model
    ]  # fmt: skip
    if not ahead or max(ahead, key=lambda pair: pair[0])[0] <= 0:
        return "No null model is ahead of a real model's method."
    gap, finding = max(ahead, key=lambda pair: pair[0])
    assert finding.sides and finding.null and finding.claim.contrast
    contrast, means, null = finding.claim.contrast, finding.sides, finding.null[0]
    skill = FIRST.get(contrast.benchmark, SKILLS["first"]) if null == "first" else SKILLS.get(null, null)
    return (
        f"On {contrast.benchmark} {contrast.of} by {short(finding.model)} scores {means[0]:.1f} %; "
        f"{skill} scores {means[1] + finding.null[1].value:.1f} % on the same "
        f"{finding.n} tasks."
    )


def _named(what: str, chosen: Sequence[Finding]) -> str:
    """The claims as text, of each page the headline claim with the number of the others."""
    by_page: dict[str, list[Finding]] = {}
    for finding in sorted(chosen, key=lambda finding: not finding.claim.headline):
        by_page.setdefault(finding.claim.notebook, []).append(finding)
    parts = [
        f"{first.claim.sentence}, {here_text(first, model=False)}"
        + (f", and {len(others)} more of {first.claim.item}" if others else "")
        for first, *others in by_page.values()
    ]
    return f"{what}: {'; '.join(parts) or 'none'}."


def sentences(notebook: str) -> list[str]:
    """What the committed run of a notebook came to, in the sentences of its studies."""
    report = stored.reported(notebook, stored.COMMITTED)
    return [*(report.answers if report else ())]


# Pages about more than one table -> function that returns the lines of their answer box.
OVERVIEWS: Mapping[str, Callable[[], list[str]]] = {
    "0_floors": without_skill,
    "0_small_model": lambda: small_model.sentences(register.committed()),
    "0_scoreboard": lambda: found(register.committed())[1:4],  # the tiles below have the other numbers
    "0_tour": lambda: found(register.committed()),
    "4_explore/ablate": lambda: sentences("4_explore/ablate"),
    "4_explore/claims": lambda: sentences("4_explore/claims")[:MOST_SENTENCES],
    "4_explore/networks": lambda: sentences("4_explore/networks"),
    "4_explore/your_own": lambda: sentences("4_explore/your_own")[:1],
}
