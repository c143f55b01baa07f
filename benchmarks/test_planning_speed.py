"""Expansions a second of a tree search: with a pool of four worlds, with one world, and replaying for each answer.

Steps and resets of the worlds are counted: they are the same on every machine. Values are random, so that the time is
the worlds' own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from statefactory.planning.lookahead import Exact, Lookahead
from statefactory.planning.mcts import Planner, Settings
from statefactory.planning.proposals import Listed
from statefactory.predictors.baselines import AtRandom
from worlds import alfworld, blocksworld, textworld, webshop
from worlds.base import Step
from worlds.pool import Pool, ReplayedWorld

EXPANSIONS, WIDTH = 15, 4
ROUNDS = 3
WORLDS: dict[str, tuple[Callable[[], Any], str]] = {
    "blocksworld": (partial(blocksworld.load, "synthetic"), "test"),
    "alfworld": (partial(alfworld.load, "synthetic"), "valid_unseen"),
    "textworld": (partial(textworld.load, "synthetic", games={"test": 2, "train": 1}), "test"),
    "webshop": (partial(webshop.load, "synthetic"), "test"),
}


class Replayed(Pool):
    """No pool: one world, which begins again for each answer."""

    def at(self, actions: Sequence[str]) -> Step:
        self._answers.clear()
        return super().at(actions)

    def _stand(self, actions: tuple[str, ...]) -> ReplayedWorld:
        for standing in self._worlds:
            standing.actions = None
        return super()._stand(actions)


class Counts(NamedTuple):
    """What the worlds played."""

    resets: int
    steps: int


def searched(pool: Pool) -> Callable[[], Counts]:
    """A search from the beginning of the task, in worlds that were opened and begun before."""
    for action in pool.valid_actions(())[: pool.size]:
        pool.at((action,))

    def search() -> Counts:
        pool.on(pool.task)  # what was answered is forgotten
        resets, steps = pool.resets, pool.steps
        planner = Planner(Lookahead(AtRandom(), Exact(pool)), Listed(pool), Settings(EXPANSIONS, WIDTH))
        planner.search(planner.begin(pool.task.goal, pool.at(()).text))
        return Counts(pool.resets - resets, pool.steps - steps)

    return search


def timed(search: Callable[[], Counts]) -> tuple[float, Counts]:
    """Expansions a second of the processor's time, and what was played; it is the same in each round."""
    counts = search()
    began = time.process_time()
    assert all(search() == counts for _ in range(ROUNDS))
    return EXPANSIONS * ROUNDS / (time.process_time() - began), counts


@pytest.mark.benchmark(timer=time.process_time)
@pytest.mark.parametrize("name", WORLDS)
def test_a_pool_of_worlds_plays_less_than_one_world_and_that_less_than_replays(
    benchmark: BenchmarkFixture, name: str
) -> None:
    load, split = WORLDS[name]
    task = load().tasks(split)[1]
    replays, alone, pooled = (timed(searched(pool)) for pool in (
        Replayed(load, task, 1), Pool(load, task, 1), Pool(load, task, 4)))  # fmt: skip
    benchmark.pedantic(searched(Pool(load, task, 4)), rounds=ROUNDS)
    named = {"replayed": replays, "1 world": alone, "4 worlds": pooled}
    for how, (rate, counts) in named.items():
        benchmark.extra_info[how] = {"expansions a second": round(rate, 1), **counts._asdict()}
        print(f"{name}, {how}: {rate:.1f} expansions a second (× {rate / replays[0]:.2f}); "
              f"{counts.steps} steps, {counts.resets} resets")  # fmt: skip
    assert pooled[1].steps <= alone[1].steps < replays[1].steps
    assert pooled[1].resets <= alone[1].resets < replays[1].resets
