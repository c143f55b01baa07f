"""`replay` in every world: the same as a reset and one step after the other."""

from __future__ import annotations

from contextlib import closing
from importlib import import_module
from random import Random

import pytest

from travel_episodes import LISTINGS_0, TASKS
from worlds.base import EpisodeOver, World
from worlds.travelplanner.world import TravelPlanner

SPLITS = {"alfworld": "valid_unseen", "blocksworld": "test", "textworld": "test", "webshop": "test"}


def opened(name: str) -> World:
    options = {"games": {"test": 1}} if name == "textworld" else {}
    return import_module(f"worlds.{name}").load("synthetic", seed=3, **options)


@pytest.mark.parametrize("name", SPLITS)
def test_a_replay_is_a_reset_and_its_steps(name: str) -> None:
    with closing(opened(name)) as world:
        task, dice = world.tasks(SPLITS[name])[0], Random(name)
        steps, actions = [world.reset(task)], []
        while len(actions) < 6 and not steps[-1].done:
            actions.append(dice.choice(steps[-1].actions) if len(actions) != 2 else "sing a song")
            steps.append(world.step(actions[-1]))
        assert world.replay(task, actions) == steps
        assert world.replay(task, []) == steps[:1]
        # The episode stands where the replay ended.
        world.replay(task, actions[:-1])
        assert world.step(actions[-1]) == steps[-1]


def test_the_desk_replays_too_and_answers_after_the_end_as_it_does_step_by_step() -> None:
    world = TravelPlanner(LISTINGS_0, {"validation": TASKS})
    actions = ["CitySearch[Nowhere]", "dance", "Submit[[]]", "CitySearch[Nowhere]"]
    steps = [world.reset(TASKS[0]), *(world.step(action) for action in actions)]
    assert world.replay(TASKS[0], actions) == steps
    assert [step.done for step in steps] == [False, False, False, True, False]


def test_actions_after_the_end_are_an_error_where_the_world_ends() -> None:
    with closing(opened("webshop")) as shop:
        task = shop.tasks("test")[0]
        query = f"search[{task.goal}]"
        found = shop.replay(task, [query])[-1]
        item = next(action for action in found.actions if action.startswith("click[b"))
        bought = [query, item, "click[buy now]"]
        assert shop.replay(task, bought)[-1].done
        with pytest.raises(EpisodeOver):
            shop.replay(task, [*bought, query])
