"""SDP as an experiment on any benchmark; a subclass provides the tasks and the adapter."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from lab.models.backbone import Ledger
from lab.models.connect import connected
from lab.results.outcomes import Judgement, Score
from lab.results.statistics import compare, holm
from lab.runs import experiment
from lab.runs.experiment import NOT_TOLD
from lab.runs.playable import OnStep, Playable
from lab.runs.run import Episode
from lab.runs.study_results import smallest
from lab.viewer.steps import Exchange, Step
from lab.viewer.timeline import Timeline
from lab.viewer.transcripts import Transcript
from sdp.loop import Settings, run_episode
from sdp.operators import Adapter
from sdp.placebo import Control, Misjudging
from sdp.timeline import timeline
from sdp.trajectory import MET, Trajectory

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Certifying(Playable):
    """SDP on some tasks: played, scored, ablated, watched, resumed and shown alike on every benchmark.

    settings: the loop's. placebo, blanked: the share of attempts that this control of `sdp.placebo` rejects; None for
    SDP itself. trajectories: store them in the run folder; timelines need them.
    """

    settings: Settings = Settings()
    placebo: float | None = None
    blanked: float | None = None
    trajectories: bool = field(default=True, metadata=NOT_TOLD)

    packages: ClassVar[tuple[str, ...]] = ("lab", "worlds", "agents", "sdp")
    processes: ClassVar[int] = 1
    metric: ClassVar[str] = "score"

    @property
    def results(self) -> type[Results[Self]]:
        return Results

    @property
    def single(self) -> bool:
        """Whether Propose is asked for one predicate per call (Eq. 1), for adapters whose prompts say so."""
        return self.settings.propose == "predicate"

    @abstractmethod
    def adapter(self, task: str, ledger: Ledger) -> Adapter[Any, Any, Any]:
        """The adapter of one episode, with its own world. ledger: the backbone that it asks."""

    def score(self, trajectory: Trajectory) -> float:
        """The score of an episode, in [0, 1]: the `score` in the last view, else whether the goal is met.

        The adapter's `met` decides this; without it, whether the loop certified the goal. Raises ValueError if nothing
        judged it: without Validate, or under a control, whose verdicts are random.
        """
        last = trajectory.views[-1] if trajectory.views else None
        if isinstance(last, Mapping) and "score" in last:
            return float(last["score"])
        judged = self.settings.validate and self.placebo is self.blanked is None
        if trajectory.reached_goal and not judged and MET not in trajectory.outcome:
            raise ValueError(
                f"Nothing says whether {trajectory.task} reached its goal: the loop's verdicts are switched off. Give "
                "the adapter `met(goal, observation)`, or the world's view a `score`"
            )
        return float(trajectory.outcome.get(MET, trajectory.reached_goal))

    def side(self, score: Score) -> tuple[str, str]:
        switches = {
            "Validate": self.settings.validate,
            "Replan": self.settings.replan,
            "Cascade": self.settings.cascade,
        }
        removed = " and ".join(name for name, on in switches.items() if not on)
        controls = {"SDP, placebo": self.placebo, "SDP, target's sentence blanked": self.blanked}
        control = next((name for name, share in controls.items() if share is not None), "SDP")
        return self.benchmark or self.method, f"{control} without {removed}" if removed else control

    def result(self, trajectory: Trajectory) -> dict[str, Any]:
        """What a run stores of an episode's outcome, in addition to its costs and its end; JSON values."""
        return {"score": self.score(trajectory)}

    def expert_actions(self, task: str) -> int | None:
        """The number of actions in the benchmark's expert solution, None if unknown; no agent sees it."""
        return None

    def steps(self, trajectory: Trajectory, exchanges: Sequence[Exchange] = ()) -> Timeline:
        """A trajectory as a timeline, also one that is still running. exchanges: see `sdp.timeline`."""
        return timeline(trajectory, exchanges)

    def official(self, trajectory: Trajectory) -> tuple[str, Step] | None:
        """The goal in the benchmark's words, and its verdict on a complete trajectory as a step; None without one."""
        return None

    def shown(self, trajectory: Trajectory, exchanges: Sequence[Exchange] = ()) -> Timeline:
        """A complete trajectory as a timeline, with the benchmark's verdict at the end, if it has one."""
        timeline, official = self.steps(trajectory, exchanges), self.official(trajectory)
        if official is None:
            return timeline
        goal, verdict = official
        return replace(timeline, task=goal, score=self.score(trajectory), steps=(*timeline.steps, verdict))

    def controlled(self, task: str, ledger: Ledger) -> Adapter[Any, Any, Any]:
        """The adapter, wrapped by the noise on a Validate that asks no prompt, and by a control of SDP."""
        engine = self.who
        random = Random(f"validate {engine.options.get('seed', 0)} {task}")
        # A Validate that asks a prompt already errs by the noise on that prompt.
        errors = None if "validate" in self.operators() else engine.errors
        adapter: Any = self.adapter(task, ledger)
        if errors is not None:
            adapter = Misjudging(adapter, errors, random)
        if self.placebo is not None:
            adapter = Control(adapter, "placebo", self.placebo, Random(f"placebo {self.seed} {task}"))
        if self.blanked is not None:
            adapter = Control(adapter, "blanked", self.blanked, Random(f"placebo {self.seed} {task}"))
        return adapter

    def answering(self, task: str) -> AbstractContextManager[None]:
        """A context in which an engine such as `oracle` knows the task; by default none does."""
        return nullcontext()

    def episode(
        self, task: str, ledger: Ledger | None = None, watch: Callable[[Trajectory], None] | None = None
    ) -> Trajectory:
        """Play one episode. ledger: for a resolved experiment. watch: see `sdp.loop.run_episode`.

        Raises KeyError for an unknown task.
        """
        if ledger is None:
            setup = self.resolved()
            return setup.episode(task, Ledger(connected(setup.engine)), watch)
        with self.answering(task):
            return run_episode(task, self.controlled(task, ledger), self.settings, ledger, watch)

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        """Play one episode; return its result, how the loop ended, and its cost."""
        trajectory = self.episode(task, ledger)
        last = trajectory.attempts[-1].reason if trajectory.attempts else "Propose gave no usable plan"
        return {
            **self.result(trajectory),
            "end": trajectory.end,
            "stuck": "" if trajectory.reached_goal else last,
            "steps": len(trajectory.attempts),
            "replans": trajectory.replans,
            "progress": trajectory.progress,
            "calls": trajectory.cost.calls,
            "tokens_in": trajectory.cost.tokens_in,
            "tokens_out": trajectory.cost.tokens_out,
        } | ({"trajectory": trajectory.to_json()} if self.trajectories else {})

    def watch(self, task: str, transcript: Transcript, seen: OnStep = lambda timeline: None) -> Timeline:
        """Play one episode; `seen` gets the timeline before each attempt."""

        def so_far(trajectory: Trajectory) -> None:
            seen(self.steps(trajectory, transcript.exchanges))

        return self.shown(self.episode(task, transcript, so_far), transcript.exchanges)

    def judged(self, episode: Episode) -> Judgement:
        """The stored score; below 1, the reason is how the loop ended and the last verdict."""
        if episode.failed:
            return super().judged(episode)
        result = episode.result
        why = "" if result["score"] == 1 else f"{result['end']}: {result['stuck']}".strip(": ")
        return Judgement(result["score"], why)

    def timeline(self, episode: Episode, exchanges: Sequence[Exchange] = ()) -> Timeline:
        """The stored trajectory as a timeline."""
        if episode.failed or "trajectory" not in episode.result:
            return super().timeline(episode, exchanges)
        return self.shown(Trajectory.from_json(episode.result["trajectory"]), exchanges)


B = TypeVar("B", bound=Certifying)
OF_PAIRS = ["n", "difference", "low", "high", "gained", "lost", "p"]  # columns of `paired` that most tables show


@dataclass(frozen=True)
class Results(experiment.Results[B]):
    """The episodes of a run, with their trajectories."""

    @cached_property
    def trajectories(self) -> list[Trajectory]:
        """The trajectories of the episodes that did not fail."""
        played = (episode for episode in self.episodes.values() if not episode.failed)
        return [Trajectory.from_json(episode.result["trajectory"]) for episode in played]


def paired(
    pairs: Iterable[tuple[Mapping[str, Any], Mapping[str, float], Mapping[str, float]]], scale: float = 100
) -> pd.DataFrame:
    """Scores compared task by task, the first minus the second: one row per pair, by default in points.

    pairs: columns of the row, and two scores by task. Columns: those, n, the means as first and second, difference with
    low and high, gained and lost (tasks with a higher and with a lower score), p (permutation), p (McNemar) for scores
    of 0 or 1, p (McNemar's if there is one), smallest (the smallest difference that so many tasks can detect), and
    p (Holm) over all rows.
    """
    import pandas as pd

    rows = []
    for columns, first, second in pairs:
        c = compare(first, second)
        mean, other, difference, low, high = (scale * value for value in (c.mean_a, c.mean_b, *c.difference))
        rows.append(
            {**columns, "n": c.n, "first": mean, "second": other, "difference": difference, "low": low, "high": high,
             "gained": c.wins, "lost": c.losses, "p (permutation)": c.p_value, "p (McNemar)": c.mcnemar, "p": c.p,
             "smallest": smallest(c, scale)}
        )  # fmt: skip
    return pd.DataFrame(rows).assign(**{"p (Holm)": holm([row["p"] for row in rows])})
