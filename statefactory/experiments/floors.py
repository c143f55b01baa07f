"""The floor of RewardPrediction: rewards that look at no text. EPIC distance, where lower is better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from lab.models.backbone import Ledger
from lab.results.outcomes import Score
from lab.runs.experiment import Experiment
from lab.runs.floors import CONSTANT, FIRST, LAST, RANDOM, Panel
from lab.runs.run import Episode
from statefactory.benchmark import Pair
from statefactory.experiments import predictions, rivals
from statefactory.experiments.monotonic import distances
from statefactory.predictors import Given

MONOTONIC = rivals.MONOTONIC


@dataclass(frozen=True, kw_only=True)
class Counting(Experiment):
    """A predictor that asks nobody on the benchmark's pairs. predictor: of `rivals.COUNTERS`. limit: pairs a domain."""

    engine: str = FIRST
    predictor: str = MONOTONIC

    method: ClassVar[str] = "rewardprediction-counting"
    packages: ClassVar[tuple[str, ...]] = ("lab", "worlds", "statefactory")
    headline: ClassVar[str] = predictions.Setup.headline

    def decided(self) -> Self:
        return replace(self, data=self._benchmark().decided().data)

    def tasks(self) -> list[str]:
        return [*self._pairs()]

    def play(self, task: str, ledger: Ledger) -> dict[str, float]:
        predictor = rivals.COUNTERS[self.predictor].make(ledger, Given())
        return {"distance": float(distances([self._pairs()[task]], predictor)[0])}

    def scores(self, episodes: Mapping[str, Episode]) -> list[Score]:
        """Domains count alike, as in Table 1."""
        return [Score(task, one.result["distance"], stratum=task.split("/")[0]) for task, one in episodes.items()]

    def _pairs(self) -> dict[str, Pair]:
        found = self._benchmark().decided().pairs()
        return {f"{domain}/{pair.task}": pair for domain, pairs in found.items() for pair in pairs}

    def _benchmark(self) -> predictions.Setup:
        return predictions.Setup(methods=(), data=self.data, limit=self.limit, seed=self.seed)


def rewards() -> Panel:
    """A judge that is asked at every step, answered by null models, and rewards that count the steps.

    Some pairs of each domain by default: of all, 1,227 official ones, random rewards take minutes.
    """
    judged: dict[str, Any] = {
        name: predictions.Setup(methods=("judge_intuitive",), engine=engine)
        for name, engine in ((CONSTANT, FIRST), (RANDOM, RANDOM))
    }
    lacks = {FIRST: "the first of a judge's scores is the constant 0", LAST: "its last one is the constant 100"}
    return Panel(judged | {MONOTONIC: Counting()}, "", top=0.0, lower=True, scale=1, limit=50, lacks=lacks)
