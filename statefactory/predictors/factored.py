"""StateFactory as a predictor: extract states and goals, and let their similarity be the reward (§3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lab.models.backbone import Backbone
from statefactory.embeddings import Embedder, open_embedder
from statefactory.extraction import Trace, extract
from statefactory.prompts import Reasoning
from statefactory.routing import PAPER, Convention, rewards
from statefactory.state import Level, State, Values, entities

if TYPE_CHECKING:
    import numpy as np


class StateFactory:
    """r_t = sim(goal state, state), Eq. 9, at any level of representation; "object_attribute" is the method.

    backbone: answers Modules A, B and C. embedder: by default all-MiniLM-L6-v2 (C.4). level, values, instruction,
    reasoning: as for `statefactory.extraction.extract`. convention: of the routing, the paper's equations or the
    official program's.
    """

    def __init__(
        self,
        backbone: Backbone,
        embedder: Embedder | None = None,
        level: Level = "object_attribute",
        values: Values = "sentences",
        convention: Convention = PAPER,
        instruction: str = "",
        reasoning: Reasoning = "short",
    ) -> None:
        self.backbone, self.embedder = backbone, embedder or open_embedder()
        self.level, self.values, self.convention = level, values, convention
        self.instruction, self.reasoning = instruction, reasoning

    def predict(self, goal: str, actions: Sequence[str], observations: Sequence[str]) -> np.ndarray:
        """Rewards in [0, 1], shape (steps,)."""
        # The states of all steps first, then one batch of embeddings for the trajectory.
        trace = extract(
            self.backbone, goal, actions, observations, self.level, self.values, self.instruction, self.reasoning
        )
        return trace_rewards(trace, self.embedder, self.convention)


def trace_rewards(
    trace: Trace, embedder: Embedder, convention: Convention = PAPER, goal: State | None = None
) -> np.ndarray:
    """Rewards of extracted states, shape (steps,). goal: for all states, not the trace's own."""
    goals = trace.goals if goal is None else (goal,) * len(trace.states)
    wanted, known = ([entities(state, convention.apart) for state in side] for side in (goals, trace.states))
    return rewards(wanted, known, embedder, convention)
