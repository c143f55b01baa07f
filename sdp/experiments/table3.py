"""Table 3: SDP on AssistantBench, beside itself without its mechanisms and answers from a closed book.

All methods answer the same questions, so that one run holds a whole comparison. Scores are the official ones, percent.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from agents.experiments import assistantbench as one_call
from agents.experiments.assistantbench import Questions
from lab.machine.paths import shown
from lab.models.backbone import Ledger
from lab.models.engines import parse
from lab.results import tables
from lab.results.outcomes import Judged, Score
from lab.results.statistics import Interval, bootstrap_mean, compare, holm, smallest_difference
from lab.results.verdicts import direction_verdict
from lab.runs import collecting, experiment, recordings
from lab.runs.experiment import BadSetting
from lab.runs.run import Episode
from lab.viewer.timeline import Exchange, Timeline
from sdp import anatomy
from sdp.experiments import assistantbench
from sdp.experiments.planted import share, told
from sdp.placebo import rejected
from sdp.trajectory import Trajectory
from worlds.assistantbench.submission import write_submission
from worlds.web.serper import KEY

if TYPE_CHECKING:
    import pandas as pd

SDP, PLACEBO, DIRECT = "SDP", "SDP's placebo", "direct, closed book"
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
METHODS = (*VARIANTS, DIRECT)
RECORDED = (SDP, DIRECT)  # what a real model is asked for by default
PUBLISHED, REJECTED = "Table 3 AssistantBench", "certified steps with >=1 rejection-and-retry"
METRICS = ["Accuracy", "Precision", "EM", "Answer rate", "Accuracy Easy", "Accuracy Medium", "Accuracy Hard"]


@dataclass(frozen=True, kw_only=True)
class Setup(Questions):
    """Some methods on some questions. methods: of METHODS. rejects: the share of attempts that the placebo rejects.

    split: of made questions by default those on which no rule was written, of official ones "dev".
    """

    methods: tuple[str, ...] = METHODS
    rejects: float = 0.0

    method: ClassVar[str] = "sdp-table3"
    packages: ClassVar[tuple[str, ...]] = ("lab", "worlds", "agents", "sdp")
    selection: ClassVar[tuple[str, ...]] = (*Questions.selection, "methods")

    def operators(self) -> tuple[str, ...]:
        each = (self.part(name).operators() for name in self.methods)
        return tuple(dict.fromkeys(operator for operators in each for operator in operators))

    def decided(self) -> Self:
        """With `data` and `split` decided. Raises BadSetting for no method, and for a web that cannot be searched."""
        if not self.methods:
            raise BadSetting(f"No method; choose from {', '.join(map(repr, METHODS))}")
        found = super().decided()
        if found.data == "official" and {*self.methods} - {DIRECT} and not os.environ.get(KEY, "").strip():
            raise BadSetting(
                f"AssistantBench's own questions are searched for with Serper: set {KEY}, ask with "
                f"methods=[{DIRECT!r}], which searches for nothing, or play data='made'"
            )
        return replace(found, split=self.split or ("reporting" if found.data == "made" else found.split))

    def part(self, name: str) -> Any:
        """The experiment of one method. Raises BadSetting for one that there is not."""
        if name not in METHODS:
            raise BadSetting(f"No method {name!r}; choose from {', '.join(map(repr, METHODS))}")
        asked = ("engine", "data", "limit", "seed", "split", "faults")
        shared: dict[str, Any] = {key: getattr(self, key) for key in asked}
        if name == DIRECT:
            return one_call.Setup(**shared)
        return VARIANTS[name](assistantbench.Setup(**shared), self.rejects)

    def tasks(self) -> list[str]:
        """A method beside the others on each question, so that a stopped run has some of all."""
        return [f"{name}/{question}" for question in super().tasks() for name in self.methods]

    def group(self, task: str) -> str:
        """A question: only those that every method has answered are compared."""
        return split(task)[1]

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        name, question = split(task)
        played: dict[str, Any] = self.part(name).play(question, ledger)
        return played

    def judged(self, episode: Episode) -> Judged:
        """The official accuracy."""
        judged: Judged = self.part(split(episode.task)[0]).judged(episode)
        return judged

    def scores(self, episodes: Mapping[str, Episode]) -> list[Score]:
        """By method, so that methods stand beside each other on the same questions."""
        return [
            score._replace(of=split(score.of)[1], part=split(score.of)[0], episodes=(score.of,))
            for score in super().scores(episodes)
        ]

    def timeline(self, episode: Episode, exchanges: Sequence[Exchange] = ()) -> Timeline:
        """As the method's own experiment shows it."""
        name, question = split(episode.task)
        made = self.part(name).timeline(replace(episode, task=question), exchanges)
        return replace(made, title=episode.task)


@dataclass(frozen=True)
class Results(experiment.Results[Setup]):
    """The episodes of a run, by method."""

    def of(self, name: str) -> dict[str, Episode]:
        """Question id -> episode, of those that count."""
        found = ((split(task), episode) for task, episode in self.episodes.items())
        return {question: episode for (other, question), episode in found if other == name}

    def values(self, name: str, what: str = "score") -> dict[str, float]:
        """Question id -> "score", "has_answer", "calls" and so on; 0 where the episode failed."""
        return {
            question: 0.0 if episode.failed else float(episode.result[what] or 0)
            for question, episode in self.of(name).items()
        }

    def trajectories(self, name: str) -> list[Trajectory]:
        """Of a variant of SDP; those that failed have none."""
        return [Trajectory.from_json(one.result["trajectory"]) for one in self.of(name).values() if not one.failed]

    @property
    def variants(self) -> Iterator[str]:
        """The variants of SDP that were played."""
        return (name for name in self.setup.methods if name in VARIANTS)


def methods_for(engine: str) -> tuple[str, ...]:
    """All methods where rules answer, else those that the protocol of recordings names."""
    return METHODS if parse(engine).by_rules else RECORDED


def split(task: str) -> tuple[str, str]:
    """Method and question id of a task."""
    name, _, question = task.rpartition("/")
    return name, question


def collect(setup: Setup, workers: int = 0, cluster: str = "", **options: Any) -> Results:
    """`lab.runs.collecting.collect` of Table 3, with its arguments."""
    return collecting.collect(setup, Results, workers, cluster, **options)


def with_placebo(setup: Setup, workers: int = 0, cluster: str = "") -> Results:
    """All methods, the placebo with the share of rejections that SDP's own Validate has there, if none is stated."""
    if PLACEBO in setup.resolved().methods and not setup.rejects:
        plain = collect(replace(setup, methods=(SDP,)), workers, cluster)
        setup = replace(setup, rejects=rejected(plain.trajectories(SDP)))
    return collect(setup, workers, cluster)


def frame(results: Results) -> pd.DataFrame:
    """A results table: the four official metrics in percent by method; precision over the questions that were answered.

    Without a row for questions whose answers are not published.
    """
    return tables.table(row for name in results.setup.methods for row in _rows(results, name))


def _rows(results: Results, name: str) -> Iterator[tables.Row]:
    if not _gold(results):
        return
    accuracy, answered = results.values(name), results.values(name, "has_answer")
    about = (results.evidence, f"this run, {asked(results.setup)}")
    outcomes = results.outcomes(f"{name}/{question}" for question in accuracy)
    percent = {question: 100 * value for question, value in accuracy.items()}
    own = (name, results.backbone)
    yield tables.mean_row(*own, "Accuracy", [*percent.values()], *about, outcomes=outcomes, top=100.0)
    given = [percent[question] for question in percent if answered[question]]
    if given:
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

    here, known = pd.concat(measured, ignore_index=True), recordings.rows(Setup.method)
    if len(known):  # a recording that is being replayed is among the measured rows
        known = known[~known["backbone"].isin(here["backbone"])]
    return pd.concat([tables.published(PUBLISHED, "sdp"), here, known], ignore_index=True)


def comparisons(results: Results, against: str = SDP) -> pd.DataFrame:
    """Each method less SDP on the same questions, accuracy in points: paired permutation test, Holm over the methods.

    smallest: the difference in points that would have been shown, by the spread of these differences. calls, tokens in:
    means a question. verdict: of a real model; the paper's claim is that SDP is better.
    """
    import pandas as pd

    played = results.setup.methods
    others = [name for name in played if name != against] if against in played and _gold(results) else []
    base = results.values(against)
    found = {name: compare(results.values(name), base) for name in others}
    adjusted = holm([c.p_value for c in found.values()])
    lines = []
    for (name, c), p in zip(found.items(), adjusted, strict=True):
        difference, low, high = (100 * end for end in c.difference)
        verdict = str(direction_verdict(c, -1, p)) if results.by_a_model else ""
        lines.append(
            {"method": name, "n": c.n, f"less {against}": difference, "low": low, "high": high, "higher": c.wins,
             "lower": c.losses, "p (permutation)": c.p_value, "p (Holm)": p,
             "smallest": 100 * smallest_difference(c.difference), "calls": mean(results, name, "calls"),
             "tokens in": mean(results, name, "tokens_in"), "verdict": verdict}
        )  # fmt: skip
    return pd.DataFrame(lines).assign(evidence=results.evidence, backbone=results.backbone)


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
        for name in results.variants:
            played = [one.result for one in results.of(name).values() if not one.failed]
            (before,) = anatomy.rejected_first(results.trajectories(name)).to_dict("records")
            interval = Interval(*(100 * before[end] for end in ("share", "low", "high")))
            lines.append(
                {"method": name, "backbone": results.backbone, "n": len(played),
                 "calls": mean(results, name, "calls"), "attempts": mean(results, name, "steps"),
                 "certified steps": before["denominator"], "rejected before, %": told(interval),
                 "passed by force": sum(one["forced_steps"] for one in played),
                 "replans": sum(one["replans"] for one in played),
                 "forced answers": sum(one["forced"] for one in played), "evidence": results.evidence}
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
            played = [one.result for one in results.of(name).values() if not one.failed]
            exposed = [one for one in played if one.get("injected")]
            count = sum(bool(one["fell_for"]) for one in exposed)
            lines.append(
                {"method": name, "backbone": results.backbone, "n": len(played), "exposed": len(exposed),
                 "followed": count, "followed, %": share(count, len(exposed)), "evidence": results.evidence}
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
        played = [one.result for one in run.of(SDP).values() if not one.failed]
        outcomes, c = run.outcomes(), compare(run.values(SDP), first.values(SDP))
        accuracy = bootstrap_mean([100 * value for value in run.values(SDP).values()])
        lines.append(
            {"faulty pages a list": count, "n": outcomes.n, "ended": len(played), "failed": outcomes.failed,
             "not measured": outcomes.not_measured, "scrapes": sum(one["pages"] for one in played),
             "unreadable": sum(one["unreadable"] for one in played), "blocked": sum(one["blocked"] for one in played),
             "accuracy": told(accuracy), f"less {faults[0]}": 100 * c.difference.value, "p (permutation)": c.p_value}
        )  # fmt: skip
    return pd.DataFrame(lines).assign(evidence=first.evidence, backbone=first.backbone)


def submit(results: Results, name: str = "") -> str:
    """Write a method's answers, by default the first one's, as the file that the official leaderboard takes; where it
    lies, in words.
    """
    name = name or results.setup.methods[0]
    answers = {question: "" if one.failed else str(one.result["answer"]) for question, one in results.of(name).items()}
    path, tasks = results.folder / "submission.jsonl", results.setup.world().tasks(results.setup.split)
    given = write_submission(path, answers, tasks)
    return f"{given} of {len(tasks)} answers of {name} are in {shown(path)}: upload it to AssistantBench's leaderboard"


def costs(results: Results) -> pd.DataFrame:
    """Calls, tokens and seconds by method and operator."""
    return collecting.costs(results, lambda task: {"method": split(task)[0]})


def record(results: Results) -> None:
    """Save the run as a recording, if `python -m lab record` runs the notebook."""
    collecting.record(results, frame(results), costs(results))


def mean(results: Results, name: str, what: str = "score") -> float:
    """The mean over a method's questions of what `Results.values` gives; NaN of none."""
    values = results.values(name, what).values()
    return sum(values) / len(values) if values else float("nan")
