"""BlocksWorld as a benchmark: PlanBench's problems, or synthetic ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from worlds.benchmark import Benchmark, Expert


@dataclass(frozen=True, kw_only=True)
class BlocksWorldProblems(Benchmark):
    """PlanBench's 501 problems, or synthetic ones."""

    benchmark: ClassVar[str] = "BlocksWorld"
    package: ClassVar[str] = "blocksworld"

    def expert(self, task: str) -> Expert:
        """Plans again from the current state before each action: a wrong move can make the first plan impossible."""
        from worlds.blocksworld.expert import Expert as Planner
        from worlds.blocksworld.expert import state_after

        given, planner = self.named(task), Planner(self.world(), "planner")

        def expert(actions: Sequence[str]) -> str:
            state = state_after(given.problem, actions)
            return planner.actions(replace(given, problem=replace(given.problem, start=state)))[0]

        return expert
