"""Rewards in a reader's own world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

import pytest

from statefactory import Monotonic
from statefactory.epic import epic_distance
from statefactory.experiments.own import Walk, distances_in, distances_of, random_walk, walk
from worlds.base import Step, World
from worlds.benchmark import Benchmark


class Way(NamedTuple):
    id: str
    goal: str = "Go home."


class Road(World):
    """Ten stones to home. listed: whether steps list what can be done."""

    def __init__(self, listed: bool = True) -> None:
        self.listed = listed

    def tasks(self, split: str) -> Sequence[Way]:
        return [Way("a"), Way("b")]

    def reset(self, task: Any) -> Step:
        self.stone = 0
        return self.step("0")

    def step(self, action: str) -> Step:
        self.stone += int(action)
        ahead = tuple(str(count) for count in (0, 1)) if self.listed else ()
        return Step(f"stone {self.stone}", self.stone / 10, self.stone >= 3, ahead)


@dataclass(frozen=True, kw_only=True)
class Roads(Benchmark):
    benchmark = "road"

    def opened(self) -> Road:
        return Road()


def test_a_task_is_a_walk_that_is_given_and_a_random_one_as_long() -> None:
    road, way = Road(), Way("a")
    there = walk(road, way, ["1", "2"])
    assert there == Walk("stone 0", [("1", "stone 1", 0.1), ("2", "stone 3", 0.3)])
    wandered = random_walk(road, way, 4, Random(1))
    assert wandered == random_walk(road, way, 4, Random(1)) and {step[0] for step in wandered.steps} <= {"0", "1"}
    assert len(random_walk(road, way, 99, Random(1)).steps) < 99, "the world ends at stone 3"
    with pytest.raises(ValueError, match="Road lists no actions: give its steps `actions`"):
        random_walk(Road(listed=False), way, 4, Random(1))


def test_distances_are_the_mean_over_tasks_of_both_walks_together() -> None:
    actions, roads = {"a": ["1", "1"], "b": ["0", "0", "1"]}, Roads(seed=3)
    (row,) = distances_in(roads, actions, {"time": Monotonic()}, "rules", "measured").itertuples()
    assert (row.method, row.n, row.evidence, row.backbone) == ("time", 2, "measured", "rules")
    each = []
    for name, taken in actions.items():
        wandered = random_walk(Road(), Way(name), len(taken), Random(f"random walk 3 {name}"))
        walks = [walk(Road(), Way(name), taken), wandered]
        rewards = [Monotonic().predict("", ["1"] * len(steps), [""] * len(steps)).tolist() for _, steps in walks]
        truth = [score for _, steps in walks for *_, score in steps]
        each.append(epic_distance(sum(rewards, []), truth))
        assert distances_of([("", walks)], {"time": Monotonic()}, "rules", "measured")["value"].item() == each[-1]
    assert row.value == pytest.approx(sum(each) / 2) and row.ci_low <= row.value <= row.ci_high
