"""An adapter for worlds whose observations say in facts what holds: who uses it states the goal, plans and acts.

A predicate's `about` are the facts that have to hold. No model judges; Propose and Realize may ask one.
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
    """SDP's operators for a world of which `step(action)` gives a `worlds.Step` with facts, and `view()` what is seen.

    The certified state is what the predicates certified so far are about. Left to say: `goal`, `propose` and `realize`.
    world: fresh, at the beginning of its episode. ledger: whom to ask.
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
        """As many predicates as are met by the observation's facts, one after another."""
        held = takewhile(lambda predicate: predicate.about.items() <= observation.facts.items(), tail)
        return Verdict(len(list(held)), observation.text)

    def met(self, goal: Predicate, observation: Step) -> bool:
        return self.validate((goal,), observation, ()).k > 0

    def advance(self, state: Facts, certified: Sequence[Predicate], observation: Step) -> Facts:
        return {**state, **{name: value for predicate in certified for name, value in predicate.about.items()}}

    def replan(self, state: Facts, goal: Predicate, trajectory: Trajectory, view: Any) -> Sequence[Predicate]:
        """As at first, from where the world stands now."""
        return self.propose(state, goal, ())
