"""Figure 4: one pair of synthetic data, extracted and scored step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lab.models.connect import connected
from lab.models.engines import routed
from statefactory.benchmark import build_all
from statefactory.experiments.predictions import EXTRACTING, INSTRUCTIONS
from statefactory.experiments.scoring import embedder_of
from statefactory.extraction import extract
from statefactory.predictors.factored import trace_rewards
from statefactory.state import Values
from statefactory.walkthrough import Walkthrough, walk

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class PairWalkthrough:
    """positive: step by step. negative: the rewards of the pair's random trajectory, shape (steps,)."""

    goal: str
    positive: Walkthrough
    negative: np.ndarray
    evidence: str
    note: str


def walked(
    domain: str, number: int, engine: str, embedding: str, seed: int = 0, engines: Mapping[str, str] | None = None,
    values: Values = "fragments",
) -> PairWalkthrough:  # fmt: skip
    """The pair of that number among the domain's synthetic pairs, sorted by task. Raises ValueError if there is none.

    values: of attributes, see `statefactory.extraction.extract`; Table 17 prints fragments. engines: as of an
    experiment, who answers single operators instead; BadEngine for one that there is not.
    """
    backbone = connected(str(routed(engine, engines or {}, EXTRACTING, "StateFactory")))
    pairs = build_all("synthetic", seed, domains=(domain,))[domain].pairs()
    if not 0 <= number < len(pairs):
        raise ValueError(f"{domain} has no synthetic pair {number}; its pairs are 0 to {len(pairs) - 1}")
    pair, embedder = pairs[number], embedder_of(embedding)
    traces = [
        extract(backbone, row.goal_description, row.actions, row.observations, values=values,
                instruction=INSTRUCTIONS.get(domain, "")) for row in (pair.positive, pair.negative)
    ]  # fmt: skip
    answering = backbone.engine
    note = f"{answering.evidence} · {answering.label} · synthetic data · {pair.task}"
    walkthrough = walk(pair.positive, traces[0], embedder)
    return PairWalkthrough(
        pair.positive.goal_description, walkthrough, trace_rewards(traces[1], embedder), answering.evidence, note
    )
