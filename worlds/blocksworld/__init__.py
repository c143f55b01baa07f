"""BlocksWorld: pick up, put down, stack and unstack blocks until the goal holds (PlanBench, NeurIPS 2023).

`load` opens the world with PlanBench's 501 problems, or with random ones of any size; `from_pddl` reads a problem, and
`BlocksProblem.to_pddl` writes one. PlanBench's plans and the planner are in `worlds.blocksworld.expert`; nothing that
an agent is given imports it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from lab.machine.datasets import choose_data
from lab.machine.paths import official_data
from worlds.benchmark import Benchmark, Expert
from worlds.blocksworld.official import OfficialProblems, present
from worlds.blocksworld.problem import BlocksProblem, BlocksTask, from_pddl
from worlds.blocksworld.synthetic import SyntheticProblems
from worlds.blocksworld.world import BlocksWorld

__all__ = ["BlocksProblem", "BlocksTask", "BlocksWorld", "BlocksWorldProblems", "from_pddl", "load"]


def load(
    data: str = "auto", seed: int = 0, list_actions: bool = True, blocks: Sequence[int] = (3, 4, 5, 6), count: int = 60
) -> BlocksWorld:
    """Open the world of PlanBench's problems (split "test") or of synthetic ones (splits "train" and "test").

    data: "auto" (official where present, else synthetic), "official" or "synthetic". list_actions: whether each step
    lists the valid actions. For synthetic problems only: seed; blocks: numbers of blocks, used in turn; count: problems
    per split. Raises MissingData if official data is asked for and absent.
    """
    folder = official_data() / "blocksworld"
    chosen = choose_data(data, present(folder), "blocksworld")
    problems = OfficialProblems(folder) if chosen == "official" else SyntheticProblems(seed, tuple(blocks), count)
    return BlocksWorld(problems, list_actions)


@dataclass(frozen=True, kw_only=True)
class BlocksWorldProblems(Benchmark):
    """PlanBench's 501 problems, or synthetic ones."""

    benchmark: ClassVar[str] = "BlocksWorld"
    package: ClassVar[str] = "blocksworld"

    def expert(self, task: str) -> Expert:
        """Replans from the current state before each action: a wrong move can make the first plan impossible."""
        from worlds.blocksworld.expert import Expert as Planner
        from worlds.blocksworld.expert import state_after

        blocks_task, planner = self.named(task), Planner(self.world(), "planner")

        def expert(actions: Sequence[str]) -> str:
            state = state_after(blocks_task.problem, actions)
            return planner.actions(replace(blocks_task, problem=replace(blocks_task.problem, start=state)))[0]

        return expert
