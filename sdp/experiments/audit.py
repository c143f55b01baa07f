"""Validate against people: our Validate prompts, and published judges, on steps that people labelled.

There are two errors: certifying a wrong step, and rejecting a right one. Steps of one question are not independent
(five trajectories each), so every interval and test is over the 50 questions. A verdict may know no more than the kind
of a step, so null models that certify by kind alone are played, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

from lab.machine.faults import MissingData
from lab.models import judges
from lab.models.backbone import Ledger
from lab.results import tables
from lab.results.outcomes import Judgement, Score
from lab.results.statistics import cluster_bootstrap, cluster_contrast
from lab.runs import collecting, experiment, recordings
from lab.runs.experiment import BadSetting, Experiment, spread
from lab.runs.run import Episode
from sdp.adapters.multihop import labelled
from sdp.adapters.multihop.prompts import CONSISTENT, VERIFY
from worlds import agentprocessbench
from worlds.agentprocessbench import NEUTRAL, RIGHT, WRONG, Step

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

VALIDATE = "Validate (A.5, A.6)"
SEARCH, ANSWER, OTHER = "search", "answer", "neither"  # kinds of steps
SLICE = "AgentProcessBench's labels (arXiv 2603.14465), HotpotQA slice"
LABELLED = "official"  # the data of all labels; synthetic steps have none
RESAMPLES = 2_000
CERTIFY, REJECT, WORTH, INFORMED = (
    "false certification, %", "false rejection, %", "wrong among certified, %", "informedness, points"
)  # fmt: skip
METRICS = (CERTIFY, REJECT, WORTH, INFORMED)

Labels = Mapping[str, int | None]  # step id -> RIGHT, NEUTRAL or WRONG; None if no verdict could be read


STEPS = {"left out": NEUTRAL, "wrong": WRONG, "right": RIGHT}
VERDICTS = {"neither": NEUTRAL, "rejection": WRONG, "certification": RIGHT}


@dataclass(frozen=True)
class Reading:
    """How neutral labels count.

    steps: how a step counts that people call neutral; "left out" counts it in no rate. verdicts: how a judge's neutral
    verdict counts; "neither" is no error, whatever the step. "rejection" also counts an answer that cannot be read as a
    rejection; otherwise it is neither.
    """

    steps: Literal["left out", "wrong", "right"] = "left out"
    verdicts: Literal["neither", "rejection", "certification"] = "neither"

    def __post_init__(self) -> None:
        """Raises BadSetting for an unknown value."""
        for name, words in (("steps", STEPS), ("verdicts", VERDICTS)):
            if (word := getattr(self, name)) not in words:
                raise BadSetting(f"neutral {name}={word!r}; choose one of {', '.join(map(repr, words))}")


PUBLISHED = Reading()  # as in data/published/judge_errors.csv
OF_SDP = Reading(verdicts="rejection")  # SDP does not take a step that Validate does not certify


@dataclass(frozen=True, kw_only=True)
class Setup(Experiment):
    """Our Validate prompts on the labelled steps, one call per step; there are no synthetic steps."""

    method: ClassVar[str] = "sdp-validate-audit"
    benchmark: ClassVar[str] = "AgentProcessBench"
    packages: ClassVar[tuple[str, ...]] = ("lab", "worlds", "sdp")
    metric: ClassVar[str] = "agreement with people"
    headline: ClassVar[str] = "informedness"

    @property
    def results(self) -> type[Results]:
        return Results

    def decided(self) -> Self:
        """Raises MissingData without the slice, BadSetting for synthetic data, which has no labels."""
        if self.data == "synthetic":
            raise BadSetting(
                "data='synthetic': nobody labelled synthetic steps; use 'official' or 'auto', and set LAB_DATA"
            )
        agentprocessbench.steps()
        return replace(self, data=LABELLED)

    def tasks(self) -> list[str]:
        return spread([*agentprocessbench.steps()], self.limit)

    def group(self, task: str) -> str:
        """The question of a step: of a stopped run, only complete questions count."""
        return agentprocessbench.steps()[task].task

    def operators(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(prompt.operator for prompt in (VERIFY, CONSISTENT)))

    def calls(self, task: str) -> dict[str, int]:
        return {VERIFY.operator: 1}

    def play(self, task: str, ledger: Ledger) -> dict[str, bool]:
        """The verdict on a step."""
        return {"certified": labelled.certified(agentprocessbench.steps()[task], ledger)}

    def judged(self, episode: Episode) -> Judgement:
        """Whether the verdict agrees with people; no score for a step that they call neutral."""
        label = agentprocessbench.steps()[episode.task].label
        if label == NEUTRAL:
            return Judgement(None)
        if episode.failed:
            return super().judged(episode)
        return Judgement(float(episode.result["certified"] == (label == RIGHT)))

    def scores(self, episodes: Mapping[str, Episode]) -> list[Score]:
        """The informedness by question; a single step has none."""
        labels, known = labels_of(episodes), agentprocessbench.steps()
        steps: dict[str, list[str]] = {}
        for step in labels:
            steps.setdefault(known[step].task, []).append(step)
        return [Score(task, value, episodes=tuple(steps[task])) for task, value in by_question(labels).items()]

    def side(self, score: Score) -> tuple[str, str]:
        return self.benchmark, VALIDATE


@dataclass(frozen=True, kw_only=True)
class ByKind(Setup):
    """A null model, which certifies all steps of one kind and no others, whatever they say."""

    certified: str = SEARCH

    def operators(self) -> tuple[str, ...]:
        return ()

    def play(self, task: str, ledger: Ledger) -> dict[str, bool]:
        """The verdict on a step."""
        return {"certified": kind_of(agentprocessbench.steps()[task]) == self.certified}


class Results(experiment.Results[Setup]):
    """The verdicts of a run."""

    @property
    def labels(self) -> dict[str, int | None]:
        """Step id -> RIGHT if Validate certified it, WRONG if it did not; None if its answer was malformed."""
        return labels_of(self.episodes)

    def record(self, sitting: recordings.Sitting | None = None) -> None:
        """Save the run as a recording, if `python -m lab record` plays it: hashes and verdicts without texts."""
        collecting.record(self, frame(self), collecting.costs(self), sitting)


def labels_of(episodes: Mapping[str, Episode]) -> dict[str, int | None]:
    """The verdicts of played steps, as `Results.labels`."""
    return {
        step: None if episode.failed else RIGHT if episode.result["certified"] else WRONG
        for step, episode in episodes.items()
    }


class Counted(NamedTuple):
    """Steps as an audit counts them: arrays of shape (steps,). task: the question of each step."""

    task: list[str]
    right: np.ndarray
    wrong: np.ndarray
    certified: np.ndarray
    rejected: np.ndarray


def counted(labels: Labels, reading: Reading = PUBLISHED) -> Counted:
    """The labels of people and of a judge for the judge's steps."""
    import numpy as np

    steps = [agentprocessbench.steps()[step] for step in labels]
    unread = WRONG if reading.verdicts == "rejection" else NEUTRAL
    verdicts = {None: unread, NEUTRAL: VERDICTS[reading.verdicts], RIGHT: RIGHT, WRONG: WRONG}
    people = np.array([STEPS[reading.steps] if step.label == NEUTRAL else step.label for step in steps])
    judge = np.array([verdicts[label] for label in labels.values()])
    tasks = [step.task for step in steps]
    return Counted(tasks, people == RIGHT, people == WRONG, judge == RIGHT, judge == WRONG)


def by_question(labels: Labels, reading: Reading = PUBLISHED) -> dict[str, float]:
    """Question -> its value of informedness, whose mean over Q questions is the judge's informedness J, as a share.

    With v = 1 for a certified step, its value is J + Q (Σ_right (v - mean_right v) / N_right - Σ_wrong (v - mean_wrong
    v) / N_wrong), the sums over its own steps. This linearises the difference of two ratios: resampling these values
    agrees to first order with resampling questions, as `rows` does. A constant judge has 0 everywhere. Empty without a
    right or without a wrong step.
    """
    import numpy as np

    steps = counted(labels, reading)
    if not (steps.right.any() and steps.wrong.any()):
        return {}
    questions = {task: index for index, task in enumerate(dict.fromkeys(steps.task))}
    member = [questions[task] for task in steps.task]
    informedness, influence = 0.0, np.zeros(len(questions))
    for sign, among in ((1, steps.right), (-1, steps.wrong)):
        share = float(steps.certified[among].mean())
        informedness += sign * share
        influence += sign * np.bincount(member, among * (steps.certified - share)) / among.sum()
    values = informedness + len(questions) * influence
    return dict(zip(questions, values.tolist(), strict=True))


def rows(method: str, backbone: str, labels: Labels, reading: Reading = PUBLISHED, **fields: Any) -> list[tables.Row]:
    """One judge's rows for METRICS, with 95 % intervals over questions. fields: as `tables.row` takes them.

    Metrics without any step are left out. INFORMED is Youden's J: the share of right steps that are certified minus
    that of wrong steps. It is 0 for random verdicts, and 100 for people's own.
    """
    steps = counted(labels, reading)
    labelled = steps.right | steps.wrong
    # For each rate: which steps are counted, and among which.
    shares = {
        CERTIFY: (steps.certified, steps.wrong),
        REJECT: (steps.rejected, steps.right),
        WORTH: (steps.wrong, steps.certified & labelled),
    }
    intervals = {
        metric: (cluster_bootstrap(values, steps.task, resamples=RESAMPLES, among=among), among)
        for metric, (values, among) in shares.items()
        if among.any()
    }
    if steps.right.any() and steps.wrong.any():
        contrast = cluster_contrast(steps.certified, steps.task, steps.right, steps.wrong, resamples=RESAMPLES)
        intervals[INFORMED] = contrast, labelled
    table_rows = []
    for metric, (interval, among) in intervals.items():
        value, low, high = (100 * end for end in interval)
        row = tables.row(method, backbone, metric, value, n=int(among.sum()), interval=(low, high), **fields)
        table_rows.append(row | {"data": LABELLED})
    return table_rows


def frame(results: Results, reading: Reading = PUBLISHED) -> pd.DataFrame:
    """The rows of our Validate, as a results table."""
    source = {"evidence": results.evidence, "source": f"this run on {SLICE}", "outcomes": results.outcomes()}
    return tables.table(rows(VALIDATE, results.backbone, results.labels, reading, **source))


class Verdicts(NamedTuple):
    """The rows of our Validate (`frame`), with their result in sentences."""

    rows: pd.DataFrame

    def answer(self) -> str:
        """A sentence per metric, or that no step was judged."""
        sentences = [
            f"{row['metric']} of our Validate ({row['backbone']}, {row['evidence']}, n = {row['n']:.0f}): "
            f"{tables.with_interval(row, 1)}."
            for row in self.rows.to_dict("records")
        ]
        return "\n".join(sentences) or "No step was judged: people's labels need LAB_DATA."


def play(engine: str, data: str, limit: int, reading: Reading = PUBLISHED) -> tuple[Results | None, Any, Any]:
    """Judge the labelled steps: our results, their rows, and those of the judges on the same steps.

    Without the labels, which is printed: None, no rows, and the published rates of the judges.
    """
    try:
        run = collecting.collect(Setup(engine=engine, data=data, limit=limit))
    except MissingData as error:
        print(error)
        return None, tables.table([]), of_judges({}, reading)
    return run, frame(run, reading), of_judges(run.labels, reading)


def of_judges(steps: Labels, reading: Reading = PUBLISHED) -> pd.DataFrame:
    """The rows of every published judge on the same steps: their own verdicts, counted as ours are.

    Without steps it returns `stated()`, which is limited to the published reading.
    """
    if not steps:
        return stated() if reading == PUBLISHED else tables.table([])
    source = {"evidence": "published", "source": f"published verdicts, counted on {SLICE}"}
    judged = {judge: {step: labels[step] for step in steps} for judge, labels in agentprocessbench.judged().items()}
    lines = [rows("judge", name, labels, reading, **source) for name, labels in judged.items()]
    return tables.table(sum(lines, []))


def stated() -> pd.DataFrame:
    """The two rates of every published judge, for use without the slice, and so without intervals."""
    source: dict[str, Any] = {"evidence": "published", "source": f"counted on {SLICE}"}
    return tables.table(
        tables.row("judge", name, metric, 100 * rate, **source) | {"data": LABELLED}
        for name, errors in judges.published().items()
        for metric, rate in zip((CERTIFY, REJECT), errors, strict=True)
    )


def with_recorded(ours: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    """Rows of Validate's recordings, without one that is replayed now; then our rows; then the judges'."""
    import pandas as pd

    recorded = recordings.rows(Setup.method)
    recorded = recorded[~recorded["backbone"].isin(ours["backbone"])]
    return pd.concat([frame for frame in (recorded, ours, others) if len(frame)], ignore_index=True)


def agreement(judged: Mapping[str, Labels]) -> pd.DataFrame:
    """Shares of steps with the same verdict, certified or not, in percent: with people, and with the other judges.

    judged: judge -> its labels; each judge has all steps of the first. A neutral label certifies nothing. Columns:
    judge, with people, with other judges (their mean), the most similar judge and its share.
    """
    import numpy as np
    import pandas as pd

    steps = [*next(iter(judged.values()))]
    people = np.array([agentprocessbench.steps()[step].label == RIGHT for step in steps])
    verdicts = np.array([[labels[step] == RIGHT for step in steps] for labels in judged.values()])
    same = pd.DataFrame(100 * (verdicts[:, None] == verdicts[None]).mean(axis=2), [*judged], [*judged])
    others = same.mask(np.eye(len(judged), dtype=bool))
    table = pd.DataFrame(
        {"with people": 100 * (verdicts == people).mean(axis=1), "with other judges": others.mean(),
         "most alike": others.idxmax(), "with it": others.max(), "steps": len(steps)}
    )  # fmt: skip
    return table.rename_axis("judge").reset_index().sort_values("with people", ascending=False, ignore_index=True)


def by_kind(results: Results, reading: Reading = PUBLISHED) -> pd.DataFrame:
    """Our Validate's rows by kind of step: searches, answers, and turns that are neither."""
    source = {"evidence": results.evidence, "source": f"this run on {SLICE}"}
    kinds: dict[str, dict[str, int | None]] = {kind_of(step): {} for step in agentprocessbench.steps().values()}
    for step, label in results.labels.items():
        kinds[kind_of(agentprocessbench.steps()[step])][step] = label
    lines = [rows(kind, results.backbone, own, reading, **source) for kind, own in kinds.items() if own]
    return tables.table(sum(lines, []))


def kind_of(step: Step) -> str:
    """The kind of a step, as `sdp.adapters.multihop.labelled` reads it."""
    return ANSWER if step.answer is not None else SEARCH if step.queries else OTHER


def errors_of(rows: pd.DataFrame) -> dict[str, judges.Errors]:
    """Backbone -> its two error rates as shares, from rows with both."""
    rates = rows[rows["metric"].isin((CERTIFY, REJECT))].pivot_table("value", "backbone", "metric", sort=False)
    return {str(name): judges.Errors(row[CERTIFY] / 100, row[REJECT] / 100) for name, row in rates.iterrows()}
