"""Figure 4: a predictor's rewards for one pair, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from lab.models.connect import connected
from lab.models.engines import routed
from statefactory.benchmark import Pair, build_all
from statefactory.benchmark.domains import named
from statefactory.experiments.predictions import EXTRACTIONS, INSTRUCTIONS
from statefactory.experiments.scoring import embedder_of
from statefactory.extraction import Trace, read_trace
from statefactory.predictors import METHODS, PredictorSettings, operators_of
from statefactory.state import Values
from statefactory.trust import told, with_constant
from statefactory.walkthrough import Walkthrough, walk


@dataclass(frozen=True)
class PairWalkthrough:
    """positive: walkthrough of the expert's trajectory. negative: rewards of the random one, shape (steps,)."""

    positive: Walkthrough
    negative: np.ndarray
    evidence: str
    note: str

    @property
    def goal(self) -> str:
        return self.positive.row.goal_description

    def answer(self) -> str:
        """A sentence with the final rewards of both trajectories and the truth."""
        rewards, truth = self.positive.rewards, self.positive.row.shaped
        return (
            f"{self.goal.strip().rstrip('.')} ({len(rewards)} steps): the reward ends at {rewards[-1]:.3f} "
            f"(truth {truth[-1]:.3f}), that of random play at {self.negative[-1]:.3f}. {self.note}."
        )


@cache
def pairs_of(domain: str, data: str, seed: int) -> list[Pair]:
    """A domain's pairs, sorted by task. Raises ValueError for an unknown domain, and as `build_all`."""
    title, built = named(domain).title, build_all(data, seed, domains=(domain,))
    if domain not in built:
        raise ValueError(f"{title} cannot be built on this machine; pick another world")
    return built[domain].pairs()


def pair_of(domain: str, number: int, data: str, seed: int) -> Pair:
    """The pair with this index. Raises as `pairs_of`, and ValueError for an invalid index."""
    pairs = pairs_of(domain, data, seed)
    if not 0 <= number < len(pairs):
        raise ValueError(f"{domain} has no pair {number}; its pairs are 0 to {len(pairs) - 1}")
    return pairs[number]


def walked(
    domain: str, number: int, engine: str, embedding: str, seed: int = 0, engines: Mapping[str, str] | None = None,
    values: Values = "fragments", method: str = "statefactory", data: str = "synthetic",
) -> PairWalkthrough:  # fmt: skip
    """Run a predictor on both trajectories of a pair.

    values: of attributes, see `statefactory.extraction.extract`; Table 17 prints fragments. engines: operator -> engine
    that replaces `engine` for it. method: a name in `METHODS`.
    Raises as `pair_of` and as an experiment, and BadEngine for an unknown operator or engine.
    """
    pair, operators, title = pair_of(domain, number, data, seed), operators_of(method), METHODS[method].title
    backbone = connected(str(routed(engine, engines or {}, operators, title)))
    predictor = METHODS[method].make(backbone, PredictorSettings(INSTRUCTIONS.get(domain, ""), values))
    walks = []
    for row in (pair.positive, pair.negative):
        memories = predictor.follow(row.goal_description, row.actions, row.observations)[1:]
        if method in EXTRACTIONS:
            walks.append(walk(row, read_trace(predictor.result(memories)["trace"]), embedder_of(embedding)))
        else:
            # Without extracted states nothing is matched: the figure has the curve and an empty goal.
            nothing = ((),) * len(memories)
            rewards = predictor.scores(memories)
            flags = with_constant(predictor.flags(memories), rewards)
            walks.append(Walkthrough(row, Trace("raw", nothing, nothing), rewards, nothing, flags))
    answering_engine = backbone.engine.among(operators)
    answered_by = [answering_engine.evidence, answering_engine.label] if operators else []
    method_title = [title] if method != "statefactory" else []
    flag_summary = told(walks[0].flags)
    note = " · ".join(
        [
            *answered_by,
            *method_title,
            f"{pair.positive.data} data",
            pair.task,
            *([flag_summary] if flag_summary else []),
        ]
    )
    return PairWalkthrough(walks[0], walks[1].rewards, answering_engine.evidence, note)
