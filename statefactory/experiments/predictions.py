"""A predictor on the pairs of one domain: what it predicts for both trajectories, and the EPIC distance to the truth.

An episode is a pair. Of StateFactory it keeps the extracted states and goals, so that another embedding, convention or
goal is scored without asking a model again.
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
from lab.runs.experiment import NOT_KEPT, Experiment, spread
from lab.runs.run import Episode
from lab.viewer.steps import Exchange, Step
from lab.viewer.timeline import Timeline
from statefactory.benchmark import Pair, build_all
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

# Part of each prompt of a world. The official program has such a text for WebShop alone. In our own words: what it says
# of the shop and of the goal, which it wants to hold the purchased product and the confirmation page; and what it does
# not say, that pages repeat the task.
INSTRUCTIONS = {
    "webshop": "The world is the web site of a shop: an agent searches, opens a product among the results, chooses "
    "options such as size and color, and buys it. An observation is the text of a page; [button] stands before "
    "something to click. Every page repeats the task: that is no observation. Where a page tells nothing new, nothing "
    "has changed. The task is done when the product has been purchased and the confirmation page is shown, so the goal "
    "state holds the purchased product and the confirmation page. It begins with the task's general description and "
    "becomes more exact with what the agent finds."
}

JUDGING = ("judge",)  # the operators of a judge, and of an extraction; at its raw level it asks none of them
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
    return Judge(backbone, mode)  # its prompt has no place for an instruction (Table 8)


for _name, (_title, _level) in EXTRACTIONS.items():
    register(_name, _title, () if _level == "raw" else EXTRACTING)(partial(_extracting, _level))
for _name, (_title, _mode) in MODES.items():
    register(_name, _title, JUDGING)(partial(_judging, _mode))


@dataclass(frozen=True, kw_only=True)
class PredictionExperiment(Experiment):
    """One predictor on some pairs of a domain of the benchmark.

    values, reasoning: see `statefactory.extraction.Extractor`. limit: how many pairs, 0 for all. shortest: take the
    shortest pairs, else pairs spread evenly over the tasks. seed: of the benchmark and of noise.
    held_out: pairs of tasks that no rule was written on (`statefactory.benchmark.other_tasks`). data: also "published",
    the authors' own trajectories, where they are here.
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
        """Rules do not judge; and TextWorld's pairs need its compiler, which does not run everywhere."""
        answering = engines.with_others(self.engine, self.engines)
        if self.operators() == JUDGING and answering.of(*JUDGING).kind == "rules":
            return "rules do not judge; name a model as engine"
        if self.data != "auto" and not _pairs(self.domain, self.data, self.seed, self.held_out):
            return "its pairs cannot be built on this machine"
        return ""

    def inputs(self) -> dict[str, str]:
        """The version of a predictor of the reader's own, whose code is no part of the code that a run is known by."""
        return {"predictor": self.predictor.version} if self.predictor.version != "1" else {}

    def pairs(self) -> list[Pair]:
        """The chosen pairs; those that come first are played first."""
        pairs = [*_pairs(self.domain, self.decided().data, self.seed, self.held_out).values()]
        if self.shortest:
            return sorted(pairs, key=lambda pair: (len(pair.shaped), pair.task))[: self.limit or None]
        return spread(pairs, self.limit)

    def pair(self, task: str) -> Pair:
        """A pair by its task."""
        return _pairs(self.domain, self.decided().data, self.seed, self.held_out)[task]

    def tasks(self) -> list[str]:
        return [pair.task for pair in self.pairs()]

    def calls(self, task: str) -> dict[str, int]:
        """One of each operator a step."""
        return dict.fromkeys(self.operators(), len(self.pair(task).shaped))

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        """What the predictor keeps of each trajectory: rewards, or what was extracted along it.

        malformed: answers that could not be read.
        """
        settings = PredictorSettings(INSTRUCTIONS.get(self.domain, ""), self.values, self.reasoning)
        predictor = self.predictor.make(ledger, settings)
        trajectories = []
        for row in self.pair(task).rows:
            memories = predictor.follow(row.goal_description, row.actions, row.observations)
            # The published trajectories have no first observation, and nor do those that a predictor is scored on.
            trajectories.append(predictor.result(memories[1:]))
        malformed = sum(trajectory["malformed"] for trajectory in trajectories)
        return {"trajectories": trajectories, "malformed": malformed}

    def judged(self, episode: Episode) -> Judgement:
        """The pair's EPIC distance, as Table 1 has it: smaller is closer."""
        (score,) = self.scores({episode.task: episode})
        return Judgement(score.value, super().judged(episode).reason)

    def scores(self, episodes: Mapping[str, Episode]) -> list[Score]:
        """The distance of each pair, all embedded in one batch. Domains count alike."""
        distances = scoring.distances([self.prediction(episode) for episode in episodes.values()])
        return [
            Score(task, float(distance), stratum=self.domain)
            for task, distance in zip(episodes, distances, strict=True)
        ]

    def prediction(self, episode: Episode) -> Prediction:
        """What an episode kept, to be scored. One that failed predicts nothing: rewards of 0, and it is counted."""
        pair = self.pair(episode.task)
        if episode.failed:
            return Prediction(pair, rewards=[0.0] * len(pair.shaped))
        kept = episode.result["trajectories"]
        if "trace" in kept[0]:
            return Prediction(pair, traces=tuple(read_trace(trajectory["trace"]) for trajectory in kept))
        rewards = [reward for trajectory in kept for reward in trajectory["rewards"]]
        return Prediction(pair, (), rewards, tuple(step for trajectory in kept for step in flags_of(trajectory)))

    def timeline(self, episode: Episode, exchanges: Sequence[Exchange] = ()) -> Timeline:
        """Both trajectories, with what was extracted or predicted at each step."""
        if episode.failed:
            return super().timeline(episode, exchanges)
        pair, left = self.pair(episode.task), list(exchanges)
        calls = len(left) // max(1, len(pair.shaped))
        steps: list[Step] = []
        for row, kept in zip(pair.rows, episode.result["trajectories"], strict=True):
            asked, left = left[: calls * len(row.trajectory)], left[calls * len(row.trajectory) :]
            trace = read_trace(kept["trace"]) if "trace" in kept else None
            # Of what is embedded nothing is known here.
            flags = of_states(trace.goals, trace.states, trace.unread) if trace else flags_of(kept)
            steps += [
                Step(title=f"the {row.kind} trajectory"),
                *timeline(row, trace, kept.get("rewards"), asked, calls, flags).steps,
            ]
        return Timeline(title=episode.task, task=pair.positive.goal_description, steps=tuple(steps))


@dataclass(frozen=True)
class PredictionResults(experiment.Results[PredictionExperiment]):
    """What a predictor predicted for the pairs of a domain."""

    @cached_property
    def predictions(self) -> list[Prediction]:
        """Of the pairs that were played, those that failed among them."""
        return [self.setup.prediction(episode) for episode in self.episodes.values()]

    @cached_property
    def _rewards(self) -> dict[Scoring, list[np.ndarray]]:
        return {}

    def rewards(self, how: Scoring = STANDARD) -> list[np.ndarray]:
        """The rewards of each pair, as `scoring.rewards` gives them."""
        if how not in self._rewards:
            self._rewards[how] = scoring.rewards(self.predictions, how)
        return self._rewards[how]

    def distances(self, how: Scoring = STANDARD) -> np.ndarray:
        """The EPIC distance of each pair, shape (pairs,)."""
        return scoring.distances_from(self.predictions, self.rewards(how))

    def write_official(self, folder: Path | str, how: Scoring = STANDARD) -> list[Path]:
        """Write each trajectory's rewards, states and goals as the official program does; returns the files.

        Its scorer reads them: `get_distance.py --data_dir <folder>/complete`.
        """
        written = []
        for prediction, rewards in zip(self.predictions, self.rewards(how), strict=True):
            rows = prediction.pair.rows
            ends = np.cumsum([len(row.trajectory) for row in rows])[:-1]
            traces: Sequence[Trace | None] = prediction.traces or (None,) * len(rows)
            for row, trace, own in zip(rows, traces, np.split(rewards, ends), strict=True):
                states, goals = (trace.states, trace.goals) if trace else ((), ())
                written.append(write_output(Path(folder), row, own.tolist(), states, goals, self.backbone))
        return written

    def flags(self, how: Scoring = STANDARD) -> list[Flags]:
        """The flags of each pair's rewards, one set a step."""
        return scoring.flags(self.predictions, self.rewards(how), how)


def flags_of(kept: Mapping[str, Any]) -> Flags:
    """The flags that a predictor kept beside its rewards, which has none where there were none (`Predictor.result`)."""
    return tuple(map(frozenset, kept.get("flags", [[]] * len(kept["rewards"]))))


@cache
def _pairs(domain: str, data: str, seed: int, held_out: bool) -> dict[str, Pair]:
    """Task -> pair, sorted by task; none where they cannot be built on this machine."""
    built = build_all(data, seed, domains=(domain,), held_out=held_out)
    return {pair.task: pair for domain_build in built.values() for pair in domain_build.pairs()}
