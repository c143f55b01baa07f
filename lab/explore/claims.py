"""Data of the claims explorer: claims for a forest plot, tasks that flipped, the first step that differs.

They are plain dicts and lists, which both the widget (`claims_panel`) and the page (`claims_page`) render. Nothing is
measured here: claims and scores are stored ones, and episodes are played again only from recorded answers.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.machine.faults import MissingData, Unavailable
from lab.machine.files import canonical
from lab.machine.paths import recordings_folder
from lab.machine.printing import hint
from lab.machine.reading import MANIFEST, read_json
from lab.models import engines
from lab.models.connect import connected
from lab.notebooks import scoreboard
from lab.notebooks.register import PaperFindings
from lab.results import dots
from lab.results.claims import FAULTS, NOT_RUN, Contrast, Finding
from lab.results.statistics import Interval
from lab.results.stored import DECIMALS, Scores, Stored
from lab.runs.recordings import Recording
from lab.runs.registry import STUDIES
from lab.runs.run import Episode
from lab.runs.study_results import Entry
from lab.viewer.steps import Step
from lab.viewer.timeline import SideBySide, side_by_side
from lab.viewer.transcripts import Transcript

if TYPE_CHECKING:
    import pandas as pd

ALL = "all"
NO_MODEL = "no model"
POINTS, PERCENT, SHARE, NUMBER, FACT = (
    "Differences of two conditions, in points", "Rates, in %", "Numbers between -1 and 1, such as EPIC distances",
    "Counts, each on a scale of its own", "Facts",
)  # fmt: skip
NOTEBOOK, STEPS = "4_explore/claims", "4_explore/first_steps"  # notebook and table of the first steps that differ
NUMBERS = ("here", "low", "high", "published", "null")
OF_A_STEP = ("step", "operator", "verdict", "hash")
SAME, APART = "every step is the same", "the two methods have no step in common"
ONLY_SCORES = "both methods score the same steps: only their scores differ"  # as two predictors of rewards
MOST_NAMED = 8  # values that an error lists
Row = Mapping[str, Any]


class Flip(NamedTuple):
    """A task that the two conditions of a contrast scored differently; the scores are as stored."""

    task: str
    first: float
    second: float


class NoReplay(ValueError):
    """The episodes of a contrast cannot be played again here; the message says why."""


def rows(judged: Iterable[PaperFindings]) -> list[Row]:
    """Every claim as a dict for JSON: its texts, its numbers in the claim's unit, and its axis in the plot.

    kind: of POINTS, PERCENT, SHARE, NUMBER and FACT. here, low, high, published, null: numbers or None. scale: the ends
    of the axis, which claims of one kind share; None for a fact. who: of `dots.WHO`. answered: a model's label, "no
    model", or "NOT RUN".
    """
    unscaled = [_row(paper.paper.paper, finding) for paper in judged for finding in paper.findings]
    order = [POINTS, PERCENT, SHARE, NUMBER, FACT]
    return sorted(scaled(unscaled), key=lambda row: (order.index(row["kind"]), row["verdict"] == NOT_RUN))


def scaled(made: Sequence[Row]) -> list[Row]:
    """Rows with the `scale` that those of one kind share."""
    shared = {kind: _scale([row for row in made if row["kind"] == kind]) for kind in (POINTS, PERCENT, SHARE)}
    return [{**row, "scale": shared.get(row["kind"]) or _scale([row])} for row in made]


def numbered(numbers: Sequence[float | None], **fields: Any) -> Row:
    """A row with its numbers in the order of NUMBERS, NaN as None."""
    stated = zip(NUMBERS, numbers, strict=True)
    return fields | {name: None if value is None or math.isnan(value) else float(value) for name, value in stated}


def choices(of: Sequence[Row]) -> dict[str, list[str]]:
    """Field -> the values that can be chosen, "all" first."""
    return {name: [ALL, *dict.fromkeys(row[name] for row in of if row[name])] for name in ("paper", "answered", "data")}


def chosen(of: Sequence[Row], **wanted: str) -> list[Row]:
    """The claims with these values of the fields `paper`, `claim`, `answered` and `data`; "all" matches any.

    Raises ValueError for a value that no claim has.
    """
    for name, value in wanted.items():
        known = [*filter(None, dict.fromkeys(str(row[name]) for row in of))]
        if value != ALL and value not in known:
            others = f" and {len(known) - MOST_NAMED} more" if len(known) > MOST_NAMED else ""
            near = hint(value, known) or f"; choose {ALL} or one of: {', '.join(known[:MOST_NAMED])}{others}"
            raise ValueError(f"{name}={value!r}: no claim has it{near}")
    return [row for row in of if all(value in (ALL, row[name]) for name, value in wanted.items())]


def contrast_of(judged: Iterable[PaperFindings], claim: str) -> Contrast | None:
    """The contrast that a claim is based on; None if it is based on none, or it was not run."""
    matches = [finding for paper in judged for finding in paper.findings if finding.claim.id == claim]
    return matches[0].claim.contrast if matches and matches[0].on_a_model else None


def pair(contrast: Contrast, stored: Stored) -> tuple[Scores, Scores]:
    """The stored scores of both conditions. Raises NoReplay if they are missing."""
    first, second = map(stored.of, contrast.sides)
    if first is None or second is None:
        raise NoReplay(f"no scores of {contrast.of} and {contrast.less} on {contrast.benchmark} are stored")
    return first, second


def flips(first: Scores, second: Scores) -> list[Flip]:
    """The tasks of both conditions whose scores differ, the largest differences first."""
    shared = [Flip(task, value, second.values[task]) for task, value in first.values.items() if task in second.values]
    return sorted((flip for flip in shared if flip.first != flip.second),
                  key=lambda flip: (-abs(flip.first - flip.second), flip.task))  # fmt: skip


def counted(row: Row, flips: Sequence[Flip]) -> str:
    """How many of a row's tasks each side scores higher, as text."""
    up = sum(flip.first > flip.second for flip in flips)
    return f"Of {row['n']} tasks the first scores higher on {up}, the second on {len(flips) - up}"


def episodes(first: Scores, second: Scores, flip: Flip) -> SideBySide:
    """Both episodes of a task, played again from recorded answers, side by side.

    A null model plays the method that the other condition names. Raises NoReplay if an episode cannot be played here,
    or its score differs from the stored one.
    """
    timelines = []
    for scores, other, value in ((first, second, flip.first), (second, first, flip.second)):
        setup, name = _replay(scores, other, flip.task)
        transcript = Transcript(connected(setup.engine))
        try:
            episode = Episode(name, setup.play(name, transcript))
        except (MissingData, Unavailable) as error:
            raise NoReplay(str(error)) from None
        except Exception as error:  # the agent's failure, such as a malformed answer
            episode = Episode(name, None, f"{type(error).__name__}: {error}")
        score = setup.judged(episode).score
        if score is None or abs(score - value) > 10**-DECIMALS:
            raise NoReplay(f"{name} by {scores.side.engine} comes out as {score}, and {value} is stored")
        timelines.append(setup.timeline(episode, transcript.exchanges))
    return side_by_side(*timelines)


def first_steps(judged: Sequence[PaperFindings], stored: Stored) -> pd.DataFrame:
    """The first differing step of every flipped task of every contrast that can be replayed here, one row per task.

    Columns hold only step numbers, operators, verdicts and hashes, and no text of a task, an action or an observation,
    so that rows of official benchmarks can be stored. A claim that cannot be replayed, or whose methods share no step
    or all of them, has a single row, without a task, that says why.
    """
    import pandas as pd

    claim_ids = [finding.claim.id for paper in judged for finding in paper.findings if finding.on_a_model]
    return pd.DataFrame([row for claim in claim_ids for row in _steps_of(claim, judged, stored)])


def summary(steps: pd.DataFrame) -> pd.DataFrame:
    """One row per claim: number of tasks that diverge, median of their first differing step, why others have none."""
    import pandas as pd

    return pd.DataFrame(
        {
            "claim": claim,
            "tasks that part": int((group["why"] == "").sum()),
            "first step, median": pd.to_numeric(group["step first"], errors="coerce").median()
            if "step first" in group
            else None,
            "what differs": group["differs"].mode().get(0, "") if "differs" in group else "",
            "why": next(filter(None, group["why"]), ""),
        }
        for claim, group in steps.groupby("claim", sort=False)
    )


def outline(both: SideBySide) -> list[Row]:
    """Two episodes without texts, one dict per row: `same`, `differs`, and both sides' step, operator, verdict, hash.

    The hash covers a step's title, verdict, action and observation: equal steps have equal hashes.
    """
    return [
        {"same": row.same, "differs": ", ".join(row.differs), **_side("first", row.left), **_side("second", row.right)}
        for row in both.rows
    ]


def known_steps(stored: Stored) -> dict[str, dict[str, str]]:
    """Claim -> task -> stored text of its first differing step; task "" means all tasks. {} if nothing is stored."""
    frame = stored.rows(STEPS, NOTEBOOK)
    steps: dict[str, dict[str, str]] = {}
    for row in [] if frame is None else frame.astype(object).where(frame.notna(), "").to_dict("records"):
        steps.setdefault(row["claim"], {})[row["task"]] = row["why"] or in_words(row)
    return steps


def first_difference(lines: Iterable[Row]) -> Row | None:
    """The first row of an outline in which two episodes differ; None where every step is the same."""
    return next((row for row in lines if not row["same"]), None)


def first_step(both: SideBySide) -> str:
    """The first step at which two episodes differ, as text."""
    first = first_difference(outline(both))
    return in_words(first) if first else SAME


def in_words(row: Row) -> str:
    """A first differing step as text, such as "2 realize ✓ 3fa1c2 | 2 realize ✗ 9b0d11 (action)"."""
    ends = []
    for side in ("first", "second"):
        number, *parts = (row[f"{field} {side}"] for field in OF_A_STEP)
        ends.append("no step" if number == "" else " ".join([str(int(number)), *parts]))
    return f"{' | '.join(ends)} ({row['differs']})"


def _steps_of(claim: str, judged: Sequence[PaperFindings], stored: Stored) -> Iterator[Row]:
    contrast = contrast_of(judged, claim)
    if contrast is None:
        return
    first, second = pair(contrast, stored)
    common = {"claim": claim, "data": first.data}
    try:
        outlines = {flip.task: outline(episodes(first, second, flip)) for flip in flips(first, second)}
    except NoReplay as error:
        yield common | {"task": "", "why": str(error)}
        return
    if outlines and not any(row["step first"] and row["step second"] for lines in outlines.values() for row in lines):
        yield common | {"task": "", "why": APART}
        return
    differences = {task: first_difference(lines) for task, lines in outlines.items()}
    if differences and not any(differences.values()):
        yield common | {"task": "", "why": ONLY_SCORES}
        return
    for task, row in differences.items():
        differing = {name: value for name, value in (row or {}).items() if name != "same"}
        yield common | {"task": task, "why": "" if differing else SAME} | differing


def _row(paper: str, finding: Finding) -> Row:
    claim = finding.claim
    here = finding.here if isinstance(finding.here, Interval) else (_number(finding.here), None, None)
    null = finding.null[1].value if finding.null else None
    numbers = (*here, _number(finding.paper), null)
    return numbered(
        numbers, paper=paper, claim=claim.id, item=claim.item, says=claim.sentence, exploratory=claim.exploratory,
        notebook=claim.notebook, n=finding.n,
        kind=_kind(finding, [value for value in numbers if value is not None and not math.isnan(value)]),
        null_model=finding.null[0] if finding.null else "", data=finding.data, who=dots.who(finding.model),
        answered=NOT_RUN if finding.verdict.word == NOT_RUN else finding.model or NO_MODEL,
        here_text=scoreboard.here_text(finding._replace(model="")), paper_text=scoreboard.paper_text(finding),
        verdict=finding.verdict.word, sides=[claim.contrast.of, claim.contrast.less] if claim.contrast else [],
    )  # fmt: skip


def _kind(finding: Finding, numbers: Sequence[float]) -> str:
    claim = finding.claim
    if not numbers and finding.verdict.word not in (NOT_RUN, *FAULTS):
        return FACT
    if claim.unit == "%":
        return POINTS if claim.contrast or (claim.paper and claim.paper.less) else PERCENT
    return SHARE if max(map(abs, numbers), default=0.0) <= 1 else NUMBER


def _number(stated: Any) -> float | None:
    return float(stated) if isinstance(stated, (int, float)) and not isinstance(stated, bool) else None


def _scale(of: Sequence[Row]) -> tuple[float, float] | None:
    """The ends of an axis that includes all numbers of these rows and 0; None if there are no numbers."""
    values = [row[name] for row in of for name in NUMBERS if row[name] is not None]
    return (min(0.0, *values), max(0.0, *values)) if values else None


@cache
def _recorded(name: str) -> Any:
    """The replaying experiment of a recording; cached, since worlds take seconds to load. Raises NoReplay."""
    try:
        method = read_json(recordings_folder() / name / MANIFEST, Recording).method
        study = STUDIES.named(method) if method in STUDIES.names() else None
        trial = study and study.trial(engine=f"replay:{name}").resolved()
    except (MissingData, Unavailable, LookupError, ValueError) as error:
        raise NoReplay(f"recording {name} cannot be replayed here: {error}") from None
    if trial is None:
        raise NoReplay(f"recording {name} is of {method}, which is no study: it has no episodes to compare")
    return trial


def _replay(scores: Scores, other: Scores, task: str) -> tuple[Any, str]:
    """The experiment that plays one side's episode, and the task's name in it. Raises NoReplay."""
    without_model = not scores.run.startswith("replay:") and engines.parse(scores.side.engine).kinds.isdisjoint(
        engines.MODELS
    )
    source = other if without_model else scores
    kind, _, name = source.run.partition(":")
    if kind != "replay":
        raise NoReplay(f"no recording holds the answers of {scores.side.engine} in {scores.side.condition}")
    benchmarks = source.side.benchmark.split(", ")
    benchmark, _, task_id = task.partition("/") if len(benchmarks) > 1 else (benchmarks[0], "", task)
    trial = _recorded(name)
    if without_model:
        method = trial.part(benchmark, source.side.condition).method
        if scores.run.partition(" ")[0] != method:
            raise NoReplay(f"{scores.side.condition} of {scores.run} does not play {method}, as the recording does")
        trial = trial.answered_by(scores.side.engine)
    return trial, str(Entry(benchmark, source.side.condition, task_id))


def _side(name: str, end: tuple[int, Step] | None) -> Row:
    if end is None:
        return {f"{field} {name}": "" for field in OF_A_STEP}
    number, step = end
    content = canonical([step.title, step.verdict, step.action, step.observation])
    operators = ", ".join(dict.fromkeys(exchange.operator for exchange in step.exchanges)) or "–"
    values = (number, operators, step.mark, hashlib.sha256(content.encode()).hexdigest()[:6])
    return {f"{field} {name}": value for field, value in zip(OF_A_STEP, values, strict=True)}
