"""Figure 3: the anatomy of trajectories on several benchmarks, with the numbers that the paper's text reads off it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.figure import Figure

from lab.machine import progress
from lab.machine.faults import MissingData
from lab.results import plots, tables
from lab.runs import recordings
from lab.runs.trial import Trial
from sdp import anatomy
from sdp.adapters.multihop.adapter import HOP
from sdp.experiments.certifying import Results
from sdp.studies import table2, table5, table6
from sdp.studies.comparing import labels
from sdp.studies.conditions import SDP
from sdp.studies.table6 import BENCHMARKS, NOISE, STUDY, TEXTS, Asked, played

Runs = Mapping[str, Results[Any]]
READ = ("TravelPlanner", "HotpotQA", "MuSiQue")  # the benchmarks with readings
CASCADE, REPLANS, PROGRESS, CALIBRATION = "cascade depth", "score by replans", "progress of failures", "calibration"
STALLS, COMPRESSION, REJECTIONS, EVIDENCE = "stalls", "compression", "rejections", "evidence"
# The paper reports progress as a share of the plan, and on questions as a share of the hops.
COUNTED = {"HotpotQA": HOP, "MuSiQue": HOP}
# The parts of the anatomy: tables that `sdp.anatomy` makes of a run.
PARTS: dict[str, Callable[[str, Results[Any]], pd.DataFrame]] = {
    CASCADE: lambda name, run: anatomy.cascade_depth(run.trajectories),
    REPLANS: lambda name, run: anatomy.score_by_replans(run.trajectories, run.scores),
    PROGRESS: lambda name, run: anatomy.progress_of_failures(run.trajectories, run.scores, COUNTED.get(name, "")),
    CALIBRATION: lambda name, run: anatomy.calibration(run.trajectories, run.scores),
    STALLS: lambda name, run: anatomy.stalls(run.trajectories, run.scores, COUNTED.get(name, "")),
    COMPRESSION: lambda name, run: anatomy.compression(run.trajectories, _expert_actions(run)),
    REJECTIONS: lambda name, run: anatomy.rejected_first(run.trajectories),
    EVIDENCE: lambda name, run: anatomy.evidence_never_shown(run.scores, _evidence_shown(run)),
}
# Panel -> its part, the label of its axis, and the order of its bars if they are not sorted by name.
PANELS = {
    "(a) cascade depth": (CASCADE, "certifying actions, %", []),
    "(b) score by Replans": (REPLANS, "score, %", []),
    "(c) progress of failed episodes": (
        PROGRESS, "certified of the plan or the hops, %", [anatomy.ALL, anatomy.STALLED]
    ),
    "(d) calibration of Validate": (
        CALIBRATION, "right answers, or agreement, %",
        [anatomy.CERTIFIED, anatomy.FORCED, anatomy.NEITHER, anatomy.AGREEMENT],
    ),
}  # fmt: skip
PUBLISHED = "published (other models)"  # label of the diamonds


class Reading(NamedTuple):
    """A row of the anatomy with a counterpart in the paper's text. published: benchmark -> its metric there."""

    part: str
    of: str
    published: Mapping[str, str]


AGREED = "goal certified = answer right, %"
PRECISION = "right where the goal was certified, %"
READINGS = {
    "cascades: certifying actions with k ≥ 2, %": Reading(
        CASCADE, anatomy.CASCADE,
        {name: f"(a) cascade rate {name}" for name in ("TravelPlanner", "ScienceWorld")},
    ),
    "certified in failed episodes, % of the plan or the hops": Reading(
        PROGRESS, anatomy.ALL,
        {"TravelPlanner": "(c) certified plan fraction, failed TravelPlanner runs",
         "MuSiQue": "(c) certified hop fraction, failed MuSiQue runs"},
    ),
    "certified in failed episodes without the goal certified, %": Reading(PROGRESS, anatomy.STALLED, {}),
    AGREED: Reading(
        CALIBRATION, anatomy.AGREEMENT,
        {name: f"(d) goal certification agrees with correct answer, {name}" for name in COUNTED},
    ),
    PRECISION: Reading(CALIBRATION, anatomy.CERTIFIED, {}),
    "right where the answer was forced, %": Reading(
        CALIBRATION, anatomy.FORCED, {name: f"(d) forced finalization precision, {name}" for name in COUNTED}
    ),
    "certified steps that needed a rejection, %": Reading(REJECTIONS, "certified steps", {}),
    "failures whose evidence was never all shown, %": Reading(
        EVIDENCE, "failed episodes", {"MuSiQue": "MuSiQue failures due to retrieval"}
    ),
    "predicates of the first plan / the expert's actions, %": Reading(
        COMPRESSION, anatomy.EXPERT, {"ScienceWorld": "boil water: predicates in LLM plan / oracle actions"}
    ),
}  # fmt: skip


def asked(
    engine: str, benchmarks: Sequence[str], data: str, questions: str, limits: Mapping[str, int], setting: str
) -> Asked:
    """The full loop of `table6.asked`, by default on all tasks of READ's benchmarks and on SOME of the other two.

    setting: of questions: "open", where paragraphs are searched for and can be missed, or "distractor".
    """
    all_limits = dict.fromkeys(READ, 0) | {**limits}
    both = table6.asked(engine, benchmarks, data, questions, all_limits)

    def full(trial: Trial) -> Trial:
        of_texts = {"setting": setting} if trial.datasets[0] in TEXTS else {}
        return replace(trial, methods=(SDP.name,), options={**trial.options, **of_texts})

    return Asked([*map(full, both.clean)], [*map(full, both.noisy)])


class Anatomy(NamedTuple):
    """The runs as asked and under noise, and the tables of `shares` of their trajectories."""

    runs: tuple[Runs, Runs]
    clean: pd.DataFrame
    noisy: pd.DataFrame

    @classmethod
    def of(cls, trials: Asked) -> Anatomy:
        """Play the clean and the noisy trials."""
        clean, noisy = collect(trials.clean), collect(trials.noisy)
        return cls((clean, noisy), shares(clean), shares(noisy))

    @property
    def rows(self) -> pd.DataFrame:
        """The readings of the figure, for both runs."""
        return pd.concat([rows(self.clean, self.runs[0]), rows(self.noisy, self.runs[1])], ignore_index=True)

    def answer(self) -> str:
        """How often a certified goal meant a right answer, one line per engine."""
        agreed = self.rows[self.rows["method"] == AGREED]
        lines = []
        for (evidence, backbone), group in agreed.groupby(["evidence", "backbone"], sort=False):
            parts = ", ".join(f"{row.metric} {row.value:.1f} % (n = {int(row.n)})" for row in group.itertuples())
            lines.append(f"{backbone}, {evidence}: goal certified = answer right: {parts}.")
        return "\n".join(lines)


def collect(trials: Iterable[Trial]) -> Runs:
    """Play the full loop; benchmark -> run. Raises what `sdp.studies.table6.played` raises."""
    return {runs.benchmark: runs.full for runs in played(trials)}


def recorded(names: Sequence[str] = ()) -> list[Runs]:
    """The recorded runs of real models, by default all; recordings without their official data are left out.

    names: of recordings of SDP on TravelPlanner or of Table 5.
    """
    runs = []
    for name in names or [*recordings.names(table2.STUDY.name), *recordings.names(table5.STUDY.name)]:
        try:
            runs.append(collect([STUDY.trial(f"replay:{name}", [*READ])]))
        except MissingData as error:
            progress.say(f"Left out: {name}. {error}")
    return runs


def by_errors(noisy: Sequence[Trial], judges: Sequence[str]) -> pd.DataFrame:
    """`by_validator` on the questions: a Validate without mistakes, then published judges."""
    texts = [trial for trial in noisy if trial.datasets[0] in TEXTS]
    rules = NOISE["TravelPlanner"]
    engines = [f"{rules}?certify=0&reject=0", *(f"{rules}?judge={judge}" for judge in judges)]
    return by_validator(texts, engines if texts else [])


def by_validator(trials: Sequence[Trial], engines: Sequence[str]) -> pd.DataFrame:
    """The readings of calibration on the same tasks, answered by each engine: a results table like that of `rows`."""
    played = [collect([trial.answered_by(engine) for trial in trials]) for engine in engines]
    frames = [rows(shares(runs, [CALIBRATION]), runs) for runs in played]
    return pd.concat(frames, ignore_index=True) if frames else tables.table([])


def shares(runs: Runs, parts: Sequence[str] = tuple(PARTS)) -> pd.DataFrame:
    """The anatomy: the columns of `sdp.anatomy` with shares in percent, and data, evidence and backbone.

    part: a key of PARTS, by default all. benchmark: of the episodes; those that the agent failed have no trajectory,
    and count in no share.
    """
    frames = [
        frame.assign(part=part, benchmark=name, **labels(run))
        for part in parts
        for name, run in runs.items()
        if len(frame := PARTS[part](name, run))
    ]
    joined = pd.concat(frames, ignore_index=True)
    joined[["share", "low", "high"]] *= 100
    return joined[["part", "benchmark", *anatomy.COLUMNS, "data", "evidence", "backbone"]]


def table(whole: pd.DataFrame, part: str) -> pd.DataFrame:
    """A part of the anatomy for display, numerator and denominator in one column. part: a key of PARTS."""
    selected = whole[(whole["part"] == part) & (whole["denominator"] > 0)]
    pairs = zip(selected["numerator"], selected["denominator"], strict=True)
    counted = [f"{round(numerator, 2):g} of {denominator:g}" for numerator, denominator in pairs]
    columns = ["benchmark", "of", "counted", "share", "low", "high", "interval", "data", "evidence", "backbone"]
    return selected.assign(counted=counted)[columns]


def rows(whole: pd.DataFrame, runs: Runs) -> pd.DataFrame:
    """The readings of Figure 3 as a results table: the method is the reading, the metric is the benchmark.

    n: the denominator of the share, steps or episodes. A share with denominator 0 has no row.
    """
    readings = [(name, reading.part, reading.of) for name, reading in READINGS.items()]
    named = pd.DataFrame(readings, columns=["method", "part", "of"])
    return tables.table(
        tables.row(
            row["method"], row["backbone"], row["benchmark"], row["share"], evidence=row["evidence"],
            source=f"this run, {row['data']} data", n=int(row["denominator"]), interval=(row["low"], row["high"]),
            outcomes=runs[row["benchmark"]].outcomes(),
        ) | {"data": row["data"]}
        for row in named.merge(whole[whole["denominator"] > 0]).to_dict("records")
    )  # fmt: skip


def published() -> pd.DataFrame:
    """The readings in the paper's text, each with its part and row of the anatomy, to be drawn next to ours."""
    text = tables.published("Figure 3 text readings", "sdp").set_index("metric")
    return pd.DataFrame(
        {**text.loc[metric], "method": name, "metric": benchmark, "part": reading.part, "of": reading.of}
        for name, reading in READINGS.items()
        for benchmark, metric in reading.published.items()
    )


def with_published(measured: pd.DataFrame) -> pd.DataFrame:
    """The readings in the paper's text and our rows, in the order of READINGS."""
    both = pd.concat([published().drop(columns=["part", "of"]), measured], ignore_index=True)
    order = list(READINGS)
    return both.sort_values("method", key=lambda names: names.map(order.index), kind="stable", ignore_index=True)


def layout(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per reading, one column per benchmark of the paper."""
    columns = [name for name in BENCHMARKS if name in set(rows["metric"])]
    return tables.side_by_side(rows, columns).rename(columns={"method": "reading"})


def draw(whole: pd.DataFrame) -> Figure:
    """Cascade depth, score by Replans, progress of failed episodes and calibration of Validate, one bar per benchmark.

    whole: of `shares`. Bars of fewer than ten are hollow and show their n. A number in the paper's text is a diamond at
    its bar; a range is a diamond at both ends. A benchmark has the same colour in every figure.
    """
    import matplotlib.pyplot as plt

    colors = plots.colored(BENCHMARKS)
    figure, panels = plt.subplots(2, 2, figsize=(11, 8))
    for axes, (title, (part, label, bars)) in zip(panels.flat, PANELS.items(), strict=True):
        frame = whole[whole["part"] == part]
        order = bars or sorted(frame["of"].unique())
        rows = frame[frame["of"].isin(order) & (frame["denominator"] > 0)]
        # A benchmark may lack a depth, say, that others have; unsorted, bars would come in order of appearance.
        rows = rows.sort_values("of", key=lambda names, order=order: names.map(order.index), kind="stable")
        axes.set(title=title, xlabel="", ylabel=label, ylim=(0, 104))
        if rows.empty:  # for example, a loop that never fails has no panel (c)
            axes.text(0.5, 0.5, "no such episodes", transform=axes.transAxes, ha="center")
            axes.set(xticks=[], yticks=[])
            continue
        plots.bars_with_intervals(
            rows, "of", "share", "low", "high", hue="benchmark", axes=axes, colors=colors, n="denominator"
        )
        axes.set(xlabel="", ylabel=label)
        _mark(axes, list(dict.fromkeys(rows["of"])), published())
    plots.one_legend(figure)
    runs = whole[(whole["part"] == CALIBRATION) & (whole["of"] == anatomy.AGREEMENT)]
    plots.label_evidence(figure, runs.rename(columns={"denominator": "n"}))
    return figure


def _mark(axes: Axes, categories: list[str], published: pd.DataFrame) -> None:
    """Draw diamonds at the published values of the bars that exist."""
    containers = [container for container in axes.containers if isinstance(container, BarContainer)]
    bars = {container.get_label(): container for container in containers}
    label = PUBLISHED
    for row in published.to_dict("records"):
        if row["metric"] not in bars or row["of"] not in categories:
            continue
        bar = bars[row["metric"]][categories.index(row["of"])]
        values = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", row["text"])]
        middle = [bar.get_x() + bar.get_width() / 2] * len(values)
        axes.plot(middle, values, "D", color="black", markersize=5, linestyle="none", label=label, clip_on=False)
        label = "_"  # one entry in the legend


def _expert_actions(run: Results[Any]) -> dict[str, int]:
    return {task: count for task in run.episodes if (count := run.setup.expert_actions(task)) is not None}


def _evidence_shown(run: Results[Any]) -> dict[str, float | None]:
    """Task -> share of the gold evidence shown, for episodes that did not fail, on benchmarks that store it."""
    played = ((task, episode.result) for task, episode in run.episodes.items() if not episode.failed)
    return {task: result["gold_seen"] for task, result in played if "gold_seen" in result}
