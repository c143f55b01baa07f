"""Looking ahead with the exact world model: what is foreseen is what comes, and rewards are those of Eq. 15."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from statefactory.planning.lookahead import Lookahead
from statefactory.planning.paths import Path
from statefactory.planning.world_models import Exact
from statefactory.predictors.monotonic import Monotonic
from worlds import alfworld, blocksworld
from worlds.pool import Pool

BLOCKS = blocksworld.load("synthetic")


def looked_ahead(world: Any, task: Any, actions: tuple[str, ...]) -> None:
    """What is foreseen after each of some actions is what the world then answers, and only a repeat is penalised."""
    pool = Pool(partial(type(world), world.games if hasattr(world, "games") else world.problems), task)
    path = Path(task.goal, world.reset(task).text)
    looking = Lookahead(Monotonic(50), Exact(pool), penalty=0.5)
    memory = looking.start(path)
    for action in actions:
        options = pool.valid_actions(path.actions)[:3]
        found, after = looking.candidates(path, memory, options)
        for one in found:
            true = world.replay(task, (*path.actions, one.action))[-1]
            assert (one.outcome.observation, one.outcome.done) == (true.text, true.done)
            assert one.repeated == ((one.action, true.text) in path.steps)
            assert one.reward == pytest.approx(1 / 50 - 0.5 * one.repeated)
        assert after == [memory + 1] * len(options)
        path, memory = path.then(action, pool.at((*path.actions, action)).text), memory + 1
    assert looking.start(path) == memory
    pool.close()


def test_the_exact_world_foresees_blocks() -> None:
    task, block = BLOCKS.tasks("test")[3], ("pick up the {}", "put down the {}")
    name = next(a for a in BLOCKS.replay(task, ())[-1].actions if a.startswith("pick up")).removeprefix("pick up the ")
    looked_ahead(BLOCKS, task, tuple(each.format(name) for each in (*block, *block, *block)))


def test_the_exact_world_foresees_a_household() -> None:
    world = alfworld.load("synthetic")
    task = world.tasks("valid_unseen")[0]
    first = world.reset(task).actions
    places = [each for each in first if each.startswith("go to")][:2]
    looked_ahead(world, task, (*places, *places))
