"""Random problems of any size, from a seed; all states with an empty hand are equally likely."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from math import comb
from random import Random

from worlds.blocksworld.problem import BlocksProblem, BlocksTask
from worlds.blocksworld.state import State, letters

SPLITS = ("train", "test")
MOST = 9999  # problems per split: ids have four digits


@dataclass(frozen=True)
class SyntheticProblems:
    """Random problems. blocks: numbers of blocks, used in turn; count: problems per split."""

    seed: int = 0
    blocks: tuple[int, ...] = (3, 4, 5, 6)
    count: int = 60
    data: str = field(default="synthetic", init=False)
    splits: tuple[str, ...] = field(default=SPLITS, init=False)

    def __post_init__(self) -> None:
        if not self.blocks or min(self.blocks) < 2:
            raise ValueError(f"blocks={self.blocks}; each problem needs at least 2 blocks")
        if not 1 <= self.count <= MOST:
            raise ValueError(f"count={self.count}; a split has 1 to {MOST} problems")

    def tasks(self, split: str) -> Sequence[BlocksTask]:
        """The problems of a split; a larger count only adds problems at the end."""
        return [self._task(split, number) for number in range(1, self.count + 1)]

    def _task(self, split: str, number: int) -> BlocksTask:
        blocks = self.blocks[(number - 1) % len(self.blocks)]
        problem = synthetic_problem(blocks, Random(f"blocksworld {self.seed} {split} {number}"))
        return BlocksTask(f"blocksworld-made-{split}-{number:04}", problem.goal_text, problem)


def synthetic_problem(blocks: int, random: Random) -> BlocksProblem:
    """A random start, and as goal the "on" facts of another random state. Never solved at the start."""
    names = [letters(index) for index in range(blocks)]
    start = random_state(names, random)
    # Only "on" facts, as in PlanBench; sampled again if there are none or all of them are true at the start.
    while True:
        end = random_state(names, random)
        goal = tuple(sorted(fact for fact in end.facts() if fact[0] == "on"))
        if goal and not start.facts().issuperset(goal):
            return BlocksProblem(start, goal)


def random_state(blocks: Sequence[str], random: Random) -> State:
    """A random state with an empty hand, uniform over all such states of these blocks.

    The blocks are shuffled and cut into k towers, with k sampled in proportion to the number of states with k towers.
    """
    order = list(blocks)
    random.shuffle(order)
    weights = [states_with(len(order), towers) for towers in range(1, len(order) + 1)]
    towers = random.choices(range(1, len(order) + 1), weights)[0]
    cuts = [0, *sorted(random.sample(range(1, len(order)), towers - 1)), len(order)]
    return State(tuple(sorted(tuple(order[low:high]) for low, high in zip(cuts, cuts[1:], strict=False))))


@cache
def states_with(blocks: int, towers: int) -> int:
    """Number of states of n blocks with k towers: n!/k! * C(n - 1, k - 1) (the Lah numbers)."""
    falling = 1
    for factor in range(towers + 1, blocks + 1):
        falling *= factor
    return falling * comb(blocks - 1, towers - 1)
