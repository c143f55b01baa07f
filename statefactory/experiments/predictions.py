"""Predictors on the benchmark as a run: which methods on which pairs; what they predicted, and how far off it is.

An episode is one method on one trajectory. Of StateFactory it keeps the extracted states and goals, so that another
embedding, convention or goal is scored without asking a model again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from lab.models.backbone import Backbone, Ledger
from lab.results.outcomes import Outcomes, Score
from lab.runs import experiment
from lab.runs.experiment import Experiment, spread
from lab.runs.run import Episode
from lab.viewer.steps import Exchange
from lab.viewer.timeline import Timeline
from statefactory.benchmark import DOMAINS, Pair, Row, build_all, data_of
from statefactory.experiments.scoring import distances
from statefactory.extraction import Trace, read_trace
from statefactory.predictors import METHODS, Given, operators_of, register
from statefactory.predictors.factored import StateFactory
from statefactory.predictors.judge import Judge, Mode
from statefactory.prompts import Reasoning
from statefactory.state import Level, Values
from statefactory.timeline import timeline

if TYPE_CHECKING:
    import numpy as np

SLICE = 6  # synthetic pairs of each domain, spread evenly, where the limit is -1
# Said in each prompt of a world. The official program has such a text for WebShop alone. In our own words: what it says
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


def _extracting(level: Level, backbone: Backbone, given: Given) -> StateFactory:
    return StateFactory(backbone, level=level, **given._asdict())


def _judging(mode: Mode, backbone: Backbone, given: Given) -> Judge:
    return Judge(backbone, mode)  # its prompt has no place for an instruction (Table 8)


for _name, (_title, _level) in EXTRACTIONS.items():
    register(_name, _title, EXTRACTING)(partial(_extracting, _level))
for _name, (_title, _mode) in MODES.items():
    register(_name, _title, JUDGING)(partial(_judging, _mode))


@dataclass(frozen=True, kw_only=True)
class Setup(Experiment):
    """Predictors on some of the benchmark's pairs.

    methods: names of METHODS. values, reasoning: see `statefactory.extraction.Extractor`. limit: pairs a domain, 0 for
    all, -1 for all of official data and SLICE of synthetic. shortest: take the shortest pairs, else pairs spread evenly
    over the tasks. seed: of the benchmark and of noise.
    held_out: pairs of tasks that no rule was written on (`statefactory.benchmark.held_out`).
    """

    methods: tuple[str, ...] = ("statefactory",)
    values: Values = "sentences"
    reasoning: Reasoning = "short"
    domains: tuple[str, ...] = DOMAINS
    shortest: bool = False
    held_out: bool = False

    method: ClassVar[str] = "rewardprediction"
    packages: ClassVar[tuple[str, ...]] = ("lab", "worlds", "statefactory")
    selection: ClassVar[tuple[str, ...]] = ("data", "limit", "methods", "domains", "shortest", "held_out")
    headline: ClassVar[str] = "EPIC distance"

    @property
    def results(self) -> type[Results]:
        return Results

    def operators(self) -> tuple[str, ...]:
        """Those of all methods."""
        return tuple(dict.fromkeys(name for method in self.methods for name in operators_of(method)))

    def decided(self) -> Setup:
        """With `data` decided, and the domains that can be built here. Raises ValueError for an unknown method."""
        for name in self.methods:
            operators_of(name)
        built = build_all(self.data, self.seed, domains=self.domains, held_out=self.held_out)
        data = data_of(built)
        # Embedding every synthetic pair would take minutes, and synthetic pairs are for a first look.
        limit = self.limit if self.limit >= 0 else 0 if data == "official" else SLICE
        return replace(self, data=data, domains=tuple(built), limit=limit)

    def pairs(self) -> dict[str, list[Pair]]:
        """Domain -> the chosen pairs; those that come first are played first."""
        return {name: self._chosen(_pairs(name, self.data, self.seed, self.held_out)) for name in self.domains}

    def tasks(self) -> list[str]:
        """An episode is one method on one trajectory; a pair of every domain comes before the next of any."""
        pairs = self.pairs()
        return [
            task_id(method, domain, row)
            for number in range(max(map(len, pairs.values()), default=0))
            for method in self.methods
            for domain, of in pairs.items()
            for pair in of[number : number + 1]
            for row in pair.rows
        ]

    def group(self, task: str) -> str:
        """A pair under all methods: only pairs that every method has finished are compared."""
        return pair_of(task)

    def scores(self, episodes: Mapping[str, Episode]) -> list[Score]:
        """The distance of each pair under each method, as in Table 1: smaller is closer, and domains count alike."""
        results = Results(self, self.engine, episodes, {}, {}, Path())
        found = []
        for method in self.methods:
            for domain, values in distances(results, method).items():
                for pair, value in zip(results.pairs[domain], values, strict=True):
                    tasks = tuple(task_id(method, domain, row) for row in pair.rows)
                    found.append(Score(pair_of(tasks[0]), float(value), "", method, domain, tasks))
        return found

    def calls(self, task: str) -> dict[str, int]:
        """One of each operator a step; raw text asks nobody."""
        name, domain, row_id = task.split("/", 2)
        if name == "raw":
            return {}
        return dict.fromkeys(
            operators_of(name), len(_rows(domain, self.data, self.seed, self.held_out)[row_id].trajectory)
        )

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        """What the method's predictor keeps: rewards, or what was extracted along the trajectory."""
        name, domain, row_id = task.split("/", 2)
        row = _rows(domain, self.data, self.seed, self.held_out)[row_id]
        predictor = METHODS[name].make(ledger, Given(INSTRUCTIONS.get(domain, ""), self.values, self.reasoning))
        # The published trajectories have no first observation, and nor do those that a predictor is scored on.
        return predictor.result(predictor.follow(row.goal_description, row.actions, row.observations)[1:])

    def timeline(self, episode: Episode, exchanges: Sequence[Exchange] = ()) -> Timeline:
        """The benchmark's trajectory, with what the method extracted or predicted at each step."""
        if episode.failed:
            return super().timeline(episode, exchanges)
        name, domain, row_id = episode.task.split("/", 2)
        row = _rows(domain, self.data, self.seed, self.held_out)[row_id]
        kept = {"trace": read_trace(episode.result["trace"])} if "trace" in episode.result else {}
        calls = len(exchanges) // max(1, len(row.trajectory))
        made = timeline(row, kept.get("trace"), episode.result.get("rewards"), exchanges, calls)
        return replace(made, title=episode.task)

    def parameters(self) -> dict[str, Any]:
        """With the version of each method: a reader's own code is no part of the code that a run is known by."""
        return super().parameters() | {"versions": [METHODS[name].version for name in self.methods]}

    def __getstate__(self) -> dict[str, Any]:
        """With the methods: those that a notebook registered are not known in a worker process."""
        return {**vars(self), "registered": {name: METHODS[name] for name in self.methods if name in METHODS}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        METHODS.update(state.pop("registered"))
        vars(self).update(state)

    def _chosen(self, pairs: list[Pair]) -> list[Pair]:
        if self.shortest:
            return sorted(pairs, key=lambda pair: (len(pair.shaped), pair.task))[: self.limit or None]
        return spread(pairs, self.limit)


@dataclass(frozen=True)
class Results(experiment.Results[Setup]):
    """What a run predicted."""

    @cached_property
    def pairs(self) -> Mapping[str, list[Pair]]:
        """Domain -> the pairs that every method has finished; domains without one are left out."""
        whole = {pair_of(task) for task in self.episodes}
        kept = {
            domain: [pair for pair in of if pair_of(task_id("", domain, pair.positive)) in whole]
            for domain, of in self.setup.pairs().items()
        }
        return {domain: of for domain, of in kept.items() if of}

    def episode(self, method: str, domain: str, row: Row) -> Episode:
        """The episode of one trajectory."""
        return self.episodes[task_id(method, domain, row)]

    @cached_property
    def _traces(self) -> dict[str, Trace]:
        return {}

    def trace(self, method: str, domain: str, row: Row) -> Trace | None:
        """What was extracted along a trajectory; None where the episode failed or nothing is extracted."""
        key, episode = task_id(method, domain, row), self.episode(method, domain, row)
        if not episode.failed and "trace" in episode.result and key not in self._traces:
            self._traces[key] = read_trace(episode.result["trace"])
        return self._traces.get(key)

    def rewards(self, method: str, domain: str, row: Row) -> np.ndarray:
        """The rewards that the run kept, shape (steps,). A failed episode predicts nothing: 0, and it is counted."""
        import numpy as np

        episode = self.episode(method, domain, row)
        return np.zeros(len(row.trajectory)) if episode.failed else np.array(episode.result["rewards"], dtype=float)

    def pair_outcomes(self, method: str) -> dict[str, Outcomes]:
        """Domain -> how its pairs came out under a method; a pair with a failed episode counts as failed."""
        tasks = [task for task in (*self.episodes, *self.not_measured) if task.startswith(f"{method}/")]
        by_domain = {domain: [task for task in tasks if task.split("/")[1] == domain] for domain in self.setup.domains}
        return {domain: self.outcomes(of, pair_of) for domain, of in by_domain.items()}

    def counts(self, method: str) -> dict[str, int]:
        """Of the method's episodes: steps, outcomes, malformed answers, sentences that no rule read."""
        rows = [(domain, row) for domain, pairs in self.pairs.items() for pair in pairs for row in pair.rows]
        episodes = [self.episode(method, domain, row) for domain, row in rows]
        done = [episode.result for episode in episodes if not episode.failed]
        outcomes = self.outcomes(t for t in (*self.episodes, *self.not_measured) if t.startswith(f"{method}/"))
        return {
            "steps": sum(len(row.trajectory) for _, row in rows),
            "failed": outcomes.failed,
            "not measured": outcomes.not_measured,
            "malformed": sum(result["malformed"] for result in done),
            "unparsed": sum(len(result.get("trace", {}).get("unparsed", ())) for result in done),
        }


def task_id(method: str, domain: str, row: Row) -> str:
    """An episode's name in its run."""
    return f"{method}/{domain}/{row.id}"


def pair_of(task: str) -> str:
    """The pair of an episode's trajectory, by domain and task."""
    _, of = task.split("/", 1)
    return re.sub(r"_(positive|negative_\d+)$", "", of)


@cache
def _pairs(domain: str, data: str, seed: int, held_out: bool) -> list[Pair]:
    return build_all(data, seed, domains=(domain,), held_out=held_out)[domain].pairs()


@cache
def _rows(domain: str, data: str, seed: int, held_out: bool) -> dict[str, Row]:
    return {row.id: row for pair in _pairs(domain, data, seed, held_out) for row in pair.rows}
