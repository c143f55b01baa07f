"""An adapter for worlds whose observations state facts; a subclass adds the goal, Propose and Realize.

A predicate's `about` holds the facts that must be true. Validate asks no model; Propose and Realize may.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, TypeAlias

from lab.models.backbone import Ledger
from sdp.operators import Adapter, Verdict
from sdp.trajectory import Attempt, Predicate, Trajectory
from worlds.base import Step

Facts: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class FactsAdapter(Adapter[Facts, str, Step]):
    """SDP's operators for a world whose steps have facts. A subclass defines `goal`, `propose` and `realize`.

    The certified state is the `about` of all predicates certified so far. world: at the beginning of its episode, as
    `Benchmark.begun` returns it, or any object with `step(action)` and `view()`. ledger: the backbone to ask.
    """

    world: Any
    ledger: Ledger

    @abstractmethod
    def goal(self) -> Predicate:
        """The goal predicate."""

    def start(self) -> tuple[Facts, Predicate]:
        return {}, self.goal()

    def view(self) -> Facts:
        return self.world.view()

    def act(self, action: str) -> Step:
        return self.world.step(action)

    def ended(self, observation: Step) -> bool:
        return observation.done

    def validate(self, tail: Sequence[Predicate], observation: Step, failures: Sequence[Attempt]) -> Verdict:
        """The number of consecutive predicates that the observation's facts satisfy, from the head on."""
        satisfied = takewhile(lambda predicate: predicate.about.items() <= observation.facts.items(), tail)
        return Verdict(len(list(satisfied)), observation.text)

    def met(self, goal: Predicate, observation: Step) -> bool:
        return self.validate((goal,), observation, ()).k > 0

    def advance(self, state: Facts, certified: Sequence[Predicate], observation: Step) -> Facts:
        return {**state, **{name: value for predicate in certified for name, value in predicate.about.items()}}

    def replan(self, state: Facts, goal: Predicate, trajectory: Trajectory, view: Any) -> Sequence[Predicate]:
        """The same plan as at first, from the state as it is now."""
        return self.propose(state, goal, ())
