"""Table 3: SDP on AssistantBench, beside itself without its mechanisms and answers from a closed book.

All methods answer the same questions, so that one run holds a whole comparison. Scores are the official ones, percent.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from agents.experiments import acting_assistantbench
from agents.experiments import assistantbench as one_call
from agents.experiments.assistantbench import Questions
from lab.machine.paths import shown
from lab.models.engines import parse
from lab.results import tables
from lab.results.statistics import Interval, bootstrap_mean, compare
from lab.runs import collecting
from lab.runs.contest import Contest, Entry, entry
from lab.runs.experiment import BadSetting
from sdp import anatomy
from sdp.experiments import assistantbench, side_by_side
from sdp.experiments.planted import share, told
from sdp.experiments.side_by_side import PLACEBO, SDP
from worlds.assistantbench import AssistantBench
from worlds.assistantbench.submission import write_submission
from worlds.web.serper import KEY
from worlds.web.site import FAULTY

if TYPE_CHECKING:
    import pandas as pd

BENCHMARK = "AssistantBench"
DIRECT, REACT = "direct, closed book", "ReAct"
# What is changed of SDP.
VARIANTS: dict[str, Callable[[assistantbench.Setup, float], assistantbench.Setup]] = {
    SDP: lambda setup, rate: setup,
    "SDP, complete findings forced": lambda setup, rate: replace(
        setup, policy=replace(setup.policy, uncertainty="forced")
    ),
    "SDP without Validate": lambda setup, rate: replace(setup, settings=replace(setup.settings, validate=False)),
    "SDP without Replan": lambda setup, rate: replace(setup, settings=replace(setup.settings, replan=False)),
    PLACEBO: lambda setup, rate: replace(setup, placebo=rate),
}
AGENTS: dict[str, Callable[..., Questions]] = {DIRECT: one_call.Setup, REACT: acting_assistantbench.Setup}
METHODS = (*VARIANTS, DIRECT)
OFFERED = (*METHODS, REACT)  # what may be named; those in METHODS are played by default
RECORDED = (SDP, DIRECT)  # what a real model is asked for by default
PUBLISHED, REJECTED = "Table 3 AssistantBench", "certified steps with >=1 rejection-and-retry"
METRICS = ["Accuracy", "Precision", "EM", "Answer rate", "Accuracy Easy", "Accuracy Medium", "Accuracy Hard"]


@dataclass(frozen=True, kw_only=True)
class Setup(Contest):
    """Some methods on some questions. methods: of OFFERED. rejects: the share of attempts that the placebo rejects.

    split: of made questions by default those on which no rule was written, of official ones "dev". faults: faulty pages
    beside each list of the made web.
    """

    datasets: tuple[str, ...] = (BENCHMARK,)
    methods: tuple[str, ...] = METHODS
    split: str = ""
    faults: int = FAULTY
    rejects: float = 0.0

    method: ClassVar[str] = "sdp-table3"
    packages: ClassVar[tuple[str, ...]] = ("lab", "worlds", "agents", "sdp")
    selection: ClassVar[tuple[str, ...]] = (*Questions.selection, "datasets", "methods")
    metric: ClassVar[str] = "accuracy"

    def decided(self) -> Setup:
        """With `data` and `split` decided. Raises BadSetting for no method, and for a web that cannot be searched."""
        if not self.methods or self.datasets != (BENCHMARK,):
            raise BadSetting(f"No method, or not {BENCHMARK!r} alone; choose from {', '.join(map(repr, OFFERED))}")
        found = self.part(BENCHMARK, self.methods[0]).decided()
        if found.data == "official" and {*self.methods} - {DIRECT} and not os.environ.get(KEY, "").strip():
            raise BadSetting(
                f"AssistantBench's own questions are searched for with Serper: set {KEY}, ask with "
                f"methods=[{DIRECT!r}], which searches for nothing, or play data='made'"
            )
        split = self.split or ("reporting" if found.data == "made" else found.split)
        return replace(self, data=found.data, split=split)

    def part(self, dataset: str, name: str) -> Any:
        """The experiment of one method. Raises BadSetting for one that there is not."""
        if dataset != BENCHMARK or name not in OFFERED:
            raise BadSetting(f"No {name!r} on {dataset!r}; choose from {', '.join(map(repr, OFFERED))}")
        asked = ("engine", "data", "limit", "seed", "split", "faults")
        shared: dict[str, Any] = {key: getattr(self, key) for key in asked}
        if name in AGENTS:
            return AGENTS[name](**shared)
        return VARIANTS[name](assistantbench.Setup(**shared), self.rejects)

    def world(self) -> AssistantBench:
        """The questions and the web of all methods."""
        world: AssistantBench = self.part(BENCHMARK, self.methods[0]).world()
        return world


@dataclass(frozen=True)
class Results(side_by_side.Results[Setup]):
    """The episodes of a run, by method; what a method came to is "has_answer", "calls" and so on."""


def methods_for(engine: str) -> tuple[str, ...]:
    """All methods where rules answer, else those that the protocol of recordings names."""
    return METHODS if parse(engine).by_rules else RECORDED


def collect(setup: Setup, workers: int = 0, cluster: str = "", **options: Any) -> Results:
    """`lab.runs.collecting.collect` of Table 3, with its arguments."""
    return collecting.collect(setup, Results, workers, cluster, **options)


def with_placebo(setup: Setup, workers: int = 0, cluster: str = "") -> Results:
    """All methods, the placebo with the share of rejections that SDP's own Validate has there, if none is stated."""
    return side_by_side.with_placebo(setup, partial(collect, workers=workers, cluster=cluster))


def frame(results: Results) -> pd.DataFrame:
    """A results table: the four official metrics in percent by method; precision over the questions that were answered.

    Without a row for questions whose answers are not published.
    """
    rows = (row for name in results.setup.methods for row in _rows(results, name))
    return tables.table(row | {"data": results.setup.data} for row in rows)


def _rows(results: Results, name: str) -> Iterator[tables.Row]:
    if not _gold(results):
        return
    accuracy, answered = results.scores(BENCHMARK, name), results.values(BENCHMARK, name, "has_answer")
    outcomes = results.outcomes(str(Entry(BENCHMARK, name, question)) for question in accuracy)
    about, own = (results.evidence, f"this run, {asked(results.setup)}"), (name, results.backbone)
    percent = {question: 100 * value for question, value in accuracy.items()}
    yield tables.mean_row(*own, "Accuracy", [*percent.values()], *about, outcomes=outcomes, top=100.0)
    if given := [percent[question] for question in percent if answered[question]]:
        yield tables.mean_row(*own, "Precision", given, *about)
    exact, said = (sum(value == 1 for value in each.values()) for each in (accuracy, answered))
    yield tables.rate_row(*own, "EM", exact, len(accuracy), *about, outcomes)
    yield tables.rate_row(*own, "Answer rate", said, len(accuracy), *about, outcomes)


def _gold(results: Results) -> bool:
    """Whether the answers to the questions are known here."""
    world = results.setup.world()
    return all(world.hidden(task).answer is not None for task in world.tasks(results.setup.split))


def asked(setup: Setup) -> str:
    """What the questions are and what is searched, in words for a row's source."""
    if setup.data == "made":
        return f"made questions ({setup.split} templates) on a made web, {setup.faults} faulty pages a list"
    return f"{setup.split} questions, the web by Serper"


def with_published(*measured: pd.DataFrame) -> pd.DataFrame:
    """The measured rows, and those of recordings, behind those that the paper and its rivals report."""
    import pandas as pd

    here, known = pd.concat(measured, ignore_index=True), side_by_side.recorded(Setup.method)
    if len(known):  # a recording that is being replayed is among the measured rows
        known = known[~known["backbone"].isin(here["backbone"])]
    return pd.concat([tables.published(PUBLISHED, "sdp"), here, known], ignore_index=True)


def comparisons(results: Results) -> pd.DataFrame:
    """Each method less SDP on the same questions, accuracy in points: see `side_by_side.comparisons`.

    Nothing where SDP was not played, or no answer is published.
    """
    import pandas as pd

    if SDP not in results.setup.methods or not _gold(results):
        return pd.DataFrame()
    return side_by_side.comparisons(results).drop(columns="dataset")


def steps(*runs: Results) -> pd.DataFrame:
    """What the loop did, by variant, after what the paper says: calls and attempts a question, certified steps and the
    share of them with a rejection before, steps passed by force, Replans, and answers forced at the end.
    """
    import pandas as pd

    said = tables.published(PUBLISHED, "sdp").set_index("metric").loc[REJECTED]
    lines: list[dict[str, Any]] = [
        {"method": SDP, "backbone": said["backbone"], "rejected before, %": said["text"], "evidence": "published"}
    ]
    for results in runs:
        for name in filter(VARIANTS.__contains__, results.setup.methods):
            played = results.played(name)
            (before,) = anatomy.rejected_first(results.trajectories(name)).to_dict("records")
            interval = Interval(*(100 * before[end] for end in ("share", "low", "high")))
            lines.append(
                {"method": name, "backbone": results.backbone, "n": len(played),
                 "calls": results.mean(BENCHMARK, name, "calls"), "attempts": results.mean(BENCHMARK, name, "steps"),
                 "certified steps": before["denominator"], "rejected before, %": told(interval),
                 "passed by force": sum(one["forced_steps"] for one in played),
                 "replans": sum(one["replans"] for one in played),
                 "forced answers": sum(one["forced"] for one in played), "data": results.setup.data,
                 "evidence": results.evidence}
            )  # fmt: skip
    return pd.DataFrame(lines)


def injections(*runs: Results) -> pd.DataFrame:
    """How often an answer follows a page that carries an instruction, by method: of the episodes in which such a page
    was read (exposed), with a Wilson interval. A closed book reads none.
    """
    import pandas as pd

    lines = []
    for results in runs:
        for name in results.setup.methods:
            played = results.played(name)
            exposed = [one for one in played if one.get("injected")]
            count = sum(bool(one["fell_for"]) for one in exposed)
            lines.append(
                {"method": name, "backbone": results.backbone, "n": len(played), "exposed": len(exposed),
                 "followed": count, "followed, %": share(count, len(exposed)), "data": results.setup.data,
                 "evidence": results.evidence}
            )  # fmt: skip
    return pd.DataFrame(lines)


def webs(setup: Setup, faults: Sequence[int], workers: int = 0, cluster: str = "") -> pd.DataFrame:
    """SDP on the same questions over webs with more and more faulty pages: a row a number of them beside each list.

    ended: episodes that ran to their end; failed, not measured: those that did not. unreadable: scrapes that failed, of
    all. blocked: sites on the blacklist, in all episodes. less: accuracy in points less that on the first web, paired.
    """
    import pandas as pd

    runs = {count: collect(replace(setup, methods=(SDP,), faults=count), workers, cluster) for count in faults}
    first, lines = next(iter(runs.values())), []
    for count, run in runs.items():
        played, score = run.played(SDP), run.scores(BENCHMARK, SDP)
        outcomes, c = run.outcomes(), compare(score, first.scores(BENCHMARK, SDP))
        accuracy = bootstrap_mean([100 * value for value in score.values()])
        lines.append(
            {"faulty pages a list": count, "n": outcomes.n, "ended": len(played), "failed": outcomes.failed,
             "not measured": outcomes.not_measured, "scrapes": sum(one["pages"] for one in played),
             "unreadable": sum(one["unreadable"] for one in played), "blocked": sum(one["blocked"] for one in played),
             "accuracy": told(accuracy), f"less {faults[0]}": 100 * c.difference.value, "p (permutation)": c.p_value}
        )  # fmt: skip
    return pd.DataFrame(lines).assign(data=first.setup.data, evidence=first.evidence, backbone=first.backbone)


def submit(results: Results, name: str = "") -> str:
    """Write a method's answers, by default the first one's, as the file that the official leaderboard takes; where it
    lies, in words.
    """
    name = name or results.setup.methods[0]
    of = results.of(BENCHMARK, name)
    answers = {question: "" if one.failed else str(one.result["answer"]) for question, one in of.items()}
    path, tasks = results.folder / "submission.jsonl", results.setup.world().tasks(results.setup.split)
    given = write_submission(path, answers, tasks)
    return f"{given} of {len(tasks)} answers of {name} are in {shown(path)}: upload it to AssistantBench's leaderboard"


def costs(results: Results) -> pd.DataFrame:
    """Calls, tokens and seconds by method and operator."""
    return collecting.costs(results, lambda task: {"method": entry(task).method})


def record(results: Results) -> None:
    """Save the run as a recording, if `python -m lab record` runs the notebook."""
    collecting.record(results, frame(results), costs(results))
