"""A predictor on the pairs of one domain: predictions for both trajectories, and their EPIC distance to the truth.

An episode is a pair. For StateFactory it stores the extracted states and goals, so that other embeddings, conventions
or goals can be scored without asking a model again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from lab.models import engines
from lab.models.backbone import Backbone, Ledger
from lab.results.outcomes import Judgement, Score
from lab.runs import experiment
from lab.runs.experiment import NOT_KEPT, Experiment
from lab.runs.run import Episode
from lab.viewer.steps import Exchange, Step
from lab.viewer.timeline import Timeline
from statefactory.benchmark import Pair, sample
from statefactory.benchmark.domains import named
from statefactory.benchmark.published import write_output
from statefactory.experiments import scoring
from statefactory.experiments.scoring import STANDARD, Prediction, Scoring
from statefactory.extraction import Trace, read_trace
from statefactory.predictors import METHODS, Method, PredictorSettings, register
from statefactory.predictors.factored import StateFactory
from statefactory.predictors.judge import Judge, Mode
from statefactory.prompts import Reasoning
from statefactory.state import Level, Values
from statefactory.trust import Flags, of_states
from statefactory.walkthrough import timeline

# Part of each prompt of a world. The official program has such a text only for WebShop. Ours says in our own words what
# it says about the shop and the goal, which must include the purchased product and the confirmation page. We add that
# pages repeat the task.
INSTRUCTIONS = {
    "webshop": "The world is the web site of a shop: an agent searches, opens a product among the results, chooses "
    "options such as size and color, and buys it. An observation is the text of a page; [button] stands before "
    "something to click. Every page repeats the task: that is no observation. Where a page tells nothing new, nothing "
    "has changed. The task is done when the product has been purchased and the confirmation page is shown, so the goal "
    "state holds the purchased product and the confirmation page. It begins with the task's general description and "
    "becomes more exact with what the agent finds."
}

JUDGING = ("judge",)  # operators of a judge; the next line has those of an extraction, which the raw level does not ask
EXTRACTING = ("perceive", "refine", "interpret")
EXTRACTIONS: dict[str, tuple[str, Level]] = {
    "statefactory": ("StateFactory", "object_attribute"),
    "object_centric": ("Object-centric states", "object_centric"),
    "textual": ("Textual states", "textual"),
    "raw": ("Raw observations", "raw"),
}
MODES: dict[str, tuple[str, Mode]] = {
    "judge_intuitive": ("LLM-as-a-Judge, intuitive prompt", "intuitive"),
    "judge_analytic": ("LLM-as-a-Judge, analytic prompt", "analytic"),
    "judge_stateful": ("LLM-as-a-Judge, stateful", "stateful"),
}
JUDGES = tuple(MODES)


def _extracting(level: Level, backbone: Backbone, settings: PredictorSettings) -> StateFactory:
    return StateFactory(backbone, level=level, **settings._asdict())


def _judging(mode: Mode, backbone: Backbone, settings: PredictorSettings) -> Judge:
    return Judge(backbone, mode)  # its prompt has no field for an instruction (Table 8)


for _name, (_title, _level) in EXTRACTIONS.items():
    register(_name, _title, () if _level == "raw" else EXTRACTING)(partial(_extracting, _level))
for _name, (_title, _mode) in MODES.items():
    register(_name, _title, JUDGING)(partial(_judging, _mode))


@dataclass(frozen=True, kw_only=True)
class PredictionExperiment(Experiment):
    """One predictor on some pairs of a domain of the benchmark.

    values, reasoning: see `statefactory.extraction.Extractor`. limit: number of pairs, 0 for all. shortest: take the
    shortest pairs instead of pairs spread evenly over the tasks. seed: of the benchmark and of noise. held_out: use
    pairs of tasks that no rule was written on (`statefactory.benchmark.other_tasks`). data: may also be "published",
    the authors' own trajectories, if they are on this machine.
    """

    domain: str = "alfworld"
    predictor: Method = field(default=METHODS["statefactory"], metadata=NOT_KEPT)
    values: Values = "sentences"
    reasoning: Reasoning = "short"
    shortest: bool = False
    held_out: bool = False

    method: ClassVar[str] = "rewardprediction"
    packages: ClassVar[tuple[str, ...]] = ("lab", "worlds", "statefactory")
    headline: ClassVar[str] = "EPIC distance"

    @property
    def results(self) -> type[PredictionResults]:
        return PredictionResults

    def operators(self) -> tuple[str, ...]:
        return self.predictor.operators

    def decided(self) -> Self:
        return replace(self, data=named(self.domain).resolve(self.data))

    def unplayable(self) -> str:
        """See `Experiment.unplayable`: rules cannot judge, and TextWorld's compiler does not run on every machine."""
        engine = engines.with_others(self.engine, self.engines)
        if self.operators() == JUDGING and engine.of(*JUDGING).kind == "rules":
            return "rules do not judge; name a model as engine"
        if self.data != "auto" and not self._pairs():
            return "its pairs cannot be built on this machine"
        return ""

    def inputs(self) -> dict[str, str]:
        """The version of a user's own predictor, since its code is not part of the code hash of a run."""
        return {"predictor": self.predictor.version} if self.predictor.version != "1" else {}

    def pairs(self) -> list[Pair]:
        """The selected pairs, in the order in which they are played."""
        pairs = [*self._pairs().values()]
        if self.shortest:
            return sorted(pairs, key=lambda pair: (len(pair.shaped), pair.task))[: self.limit or None]
        return pairs

    def pair(self, task: str) -> Pair:
        """Look up a pair by its task."""
        selected = self._pairs()
        return selected[task] if task in selected else replace(self, limit=0)._pairs()[task]

    def _pairs(self) -> dict[str, Pair]:
        """At least the selected pairs, by task."""
        limit = 0 if self.shortest else self.limit
        return _pairs(self.domain, self.decided().data, self.seed, limit, self.held_out)

    def tasks(self) -> list[str]:
        return [pair.task for pair in self.pairs()]

    def calls(self, task: str) -> dict[str, int]:
        """Calls per operator: one per step."""
        return dict.fromkeys(self.operators(), len(self.pair(task).shaped))

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        """The predictor's result for each trajectory: rewards, or the extracted trace.

        malformed: number of answers that could not be parsed.
        """
        settings = PredictorSettings(INSTRUCTIONS.get(self.domain, ""), self.values, self.reasoning)
        predictor = self.predictor.make(ledger, settings)
        trajectories = []
        for row in self.pair(task).rows:
            memories = predictor.follow(row.goal_description, row.actions, row.observations)
            # Without s_0: the published trajectories have no initial observation, so no predictor gets one.
            trajectories.append(predictor.result(memories[1:]))
        malformed = sum(trajectory["malformed"] for trajectory in trajectories)
        return {"trajectories": trajectories, "malformed": malformed}

    def judged(self, episode: Episode) -> Judgement:
        """Judge the pair by its EPIC distance, as in Table 1; smaller is better."""
        (score,) = self.scores({episode.task: episode})
        return Judgement(score.value, super().judged(episode).reason)

    def scores(self, episodes: Mapping[str, Episode]) -> list[Score]:
        """The EPIC distance of each pair, embedded in one batch. A domain is a stratum: domains have equal weight."""
        distances = scoring.distances([self.prediction(episode) for episode in episodes.values()])
        return [
            Score(task, float(distance), stratum=self.domain)
            for task, distance in zip(episodes, distances, strict=True)
        ]

    def prediction(self, episode: Episode) -> Prediction:
        """The stored prediction of an episode, ready for scoring. A failed episode counts with rewards of 0."""
        pair = self.pair(episode.task)
        if episode.failed:
            return Prediction(pair, rewards=[0.0] * len(pair.shaped))
        trajectories = episode.result["trajectories"]
        if "trace" in trajectories[0]:
            return Prediction(pair, traces=tuple(read_trace(trajectory["trace"]) for trajectory in trajectories))
        rewards = [reward for trajectory in trajectories for reward in trajectory["rewards"]]
        return Prediction(
            pair, (), rewards, tuple(step for trajectory in trajectories for step in flags_of(trajectory))
        )

    def timeline(self, episode: Episode, exchanges: Sequence[Exchange] = ()) -> Timeline:
        """Both trajectories with the extracted states or predicted rewards at each step."""
        if episode.failed:
            return super().timeline(episode, exchanges)
        pair, remaining = self.pair(episode.task), list(exchanges)
        calls = len(remaining) // max(1, len(pair.shaped))
        steps: list[Step] = []
        for row, result in zip(pair.rows, episode.result["trajectories"], strict=True):
            row_exchanges, remaining = (
                remaining[: calls * len(row.trajectory)],
                remaining[calls * len(row.trajectory) :],
            )
            trace = read_trace(result["trace"]) if "trace" in result else None
            # Without flags for truncated texts: nothing is embedded here.
            flags = of_states(trace.goals, trace.states, trace.unread) if trace else flags_of(result)
            steps += [
                Step(title=f"the {row.kind} trajectory"),
                *timeline(row, trace, result.get("rewards"), row_exchanges, calls, flags).steps,
            ]
        return Timeline(title=episode.task, task=pair.positive.goal_description, steps=tuple(steps))


@dataclass(frozen=True)
class PredictionResults(experiment.Results[PredictionExperiment]):
    """A predictor's predictions for the pairs of a domain."""

    @cached_property
    def predictions(self) -> list[Prediction]:
        """Predictions of all played pairs, including failed ones."""
        return [self.setup.prediction(episode) for episode in self.episodes.values()]

    @cached_property
    def _rewards(self) -> dict[Scoring, list[np.ndarray]]:
        return {}

    def rewards(self, how: Scoring = STANDARD) -> list[np.ndarray]:
        """The rewards of each pair, see `scoring.rewards`. Cached per scoring."""
        if how not in self._rewards:
            self._rewards[how] = scoring.rewards(self.predictions, how)
        return self._rewards[how]

    def distances(self, how: Scoring = STANDARD) -> np.ndarray:
        """The EPIC distance of each pair, shape (pairs,)."""
        return scoring.distances_from(self.predictions, self.rewards(how))

    def write_official(self, folder: Path | str) -> list[Path]:
        """Write each trajectory's rewards, states and goals in the official program's format; returns the files.

        The official scorer reads them: `get_distance.py --data_dir <folder>/complete`.
        """
        written = []
        for prediction, rewards in zip(self.predictions, self.rewards(), strict=True):
            rows = prediction.pair.rows
            ends = np.cumsum([len(row.trajectory) for row in rows])[:-1]
            traces: Sequence[Trace | None] = prediction.traces or (None,) * len(rows)
            for row, trace, row_rewards in zip(rows, traces, np.split(rewards, ends), strict=True):
                states, goals = (trace.states, trace.goals) if trace else ((), ())
                written.append(write_output(Path(folder), row, row_rewards.tolist(), states, goals, self.backbone))
        return written

    def flags(self, how: Scoring = STANDARD) -> list[Flags]:
        """The flags of each pair's rewards, one set per step."""
        return scoring.flags(self.predictions, self.rewards(how), how)


def flags_of(kept: Mapping[str, Any]) -> Flags:
    """The stored flags of a predictor's rewards, one set per step; empty sets without any (`Predictor.result`)."""
    return tuple(map(frozenset, kept.get("flags", [[]] * len(kept["rewards"]))))


@cache
def _pairs(domain: str, data: str, seed: int, limit: int, held_out: bool) -> dict[str, Pair]:
    """Task -> pair, sorted by task; empty if the domain cannot be built on this machine."""
    return {pair.task: pair for pair in sample(domain, data, seed, limit, held_out)}
