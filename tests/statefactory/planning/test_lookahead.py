"""Looking ahead with the exact world model: what is foreseen is what comes, and rewards are those of Eq. 15."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

import chat_server as chat
from chat_server import ChatServer
from lab.models.connect import connected
from statefactory.planning.lookahead import Exact, Lookahead, Outcome, Prompted
from statefactory.predictors import Path
from statefactory.predictors.baselines import Monotonic
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


# --- a prompted world model ------------------------------------------------------------------------------------------

PATH = Path("the red block is on the blue block", "all is on the table").then("pick up the red block", "you hold it")


def asked(server: ChatServer, *texts: str) -> list[Outcome]:
    server.behave(lambda request: chat.says(texts[request.number % len(texts)]))
    model = Prompted(connected("small?patience=5"), "blocksworld", "You move blocks.")
    return model.outcomes(PATH, ["stack it", "put it down"])


def test_it_is_told_the_path_and_foresees_each_action_by_itself(server: ChatServer) -> None:
    foreseen = [{"observation": "red on blue", "done": True}, {"observation": "as before", "done": False}]
    assert asked(server, *map(json.dumps, foreseen)) == [Outcome("red on blue", True), Outcome("as before")]
    system, user = (message["content"] for message in server.requests[1].body["messages"])
    assert "You move blocks." in system
    told = ("all is on the table", "pick up the red block", "you hold it", PATH.goal, "put it down")
    assert [user.index(text) for text in told] == sorted(user.index(text) for text in told)
    assert "stack it" not in user and "red on blue" not in user


def test_an_answer_that_cannot_be_read_leaves_all_as_it_was(server: ChatServer) -> None:
    assert asked(server, "I would rather not say.") == [Outcome("you hold it", known=False)] * 2
