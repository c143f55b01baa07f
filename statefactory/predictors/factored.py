"""StateFactory as a predictor: extracts states and goals; their similarity is the reward (§3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from lab.models.backbone import Backbone
from statefactory.embeddings import Embedder, open_embedder
from statefactory.extraction import Extractor, Memory, Trace, trace_of
from statefactory.predictors import Predictor
from statefactory.prompts import Reasoning
from statefactory.routing import PAPER, Convention, rewards
from statefactory.state import Level, State, Values, entities
from statefactory.trust import COPIED, Flags, of_states


class StateFactory(Extractor, Predictor[Memory]):
    """r_t = sim(goal state, state), Eq. 9, at any level of representation; "object_attribute" is the method.

    Its memory is that of the extraction.

    backbone: answers Modules A, B and C. embedder: by default all-MiniLM-L6-v2 (C.4). level, values, instruction,
    reasoning: see `statefactory.extraction.Extractor`. convention: of the routing, the paper's or the official
    program's.
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
        super().__init__(backbone, level, values, instruction, reasoning)
        self._embedder, self.convention = embedder, convention

    @cached_property
    def embedder(self) -> Embedder:
        return self._embedder or open_embedder()

    def score(self, memory: Memory) -> float:
        """The similarity of the memory's goal and state; 0 while there is no goal."""
        return float(self.scores([memory])[0])

    def scores(self, memories: Sequence[Memory]) -> np.ndarray:
        """The scores of several memories, shape (memories,); all texts are embedded in one batch."""
        return trace_rewards(trace_of(self.level, memories), self.embedder, self.convention)

    def flags(self, memories: Sequence[Memory]) -> Flags:
        """Flags of the extracted states and their embedded texts."""
        return trace_flags(trace_of(self.level, memories), None, self.embedder, self.convention)

    def result(self, memories: Sequence[Memory]) -> dict[str, Any]:
        """The trace as JSON, which can be scored later with any embedder, and the number of malformed answers."""
        trace = trace_of(self.level, memories)
        return {"trace": trace.to_json(), "malformed": trace.malformed}


def trace_rewards(
    trace: Trace, embedder: Embedder, convention: Convention = PAPER, goal: State | None = None
) -> np.ndarray:
    """Rewards of extracted states, shape (steps,). goal: used for all states instead of the trace's own goals."""
    goals = trace.goals if goal is None else (goal,) * len(trace.states)
    goal_entities, state_entities = (
        [entities(state, convention.apart) for state in side] for side in (goals, trace.states)
    )
    return rewards(goal_entities, state_entities, embedder, convention)


def trace_flags(trace: Trace, goal: State | None, embedder: Embedder, convention: Convention = PAPER) -> Flags:
    """Flags of extracted states after embedding. goal: as for `trace_rewards`; then no state is flagged as copied."""
    goals = trace.goals if goal is None else (goal,) * len(trace.states)
    flags = of_states(goals, trace.states, trace.unread, getattr(embedder, "cut", ()), convention.apart)
    return flags if goal is None else tuple(step - {COPIED} for step in flags)
