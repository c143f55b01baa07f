"""Table 17: real games are solved by tree search on rewards, as the paper's trace has it, and not by a placebo."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

import chat_server as chat
from chat_server import ChatServer, Request
from statefactory.experiments import table17
from statefactory.experiments.table17 import Setup
from statefactory.planning.mcts import Settings

official = pytest.mark.skipif("LAB_DATA" not in os.environ, reason="LAB_DATA names no folder of official data")


@pytest.mark.slow
@pytest.mark.parametrize("data", ["synthetic", pytest.param("official", marks=[official, pytest.mark.official])])
def test_the_disc_is_found_taken_and_held_under_the_lamp(data: str) -> None:
    of, guide = table17.case(data=data), Setup().predictor()
    found = table17.solve(of)
    assert found.solved and found.episode is not None
    assert of.task.task_type == "look_at_obj_in_light" and " cd " in of.task.goal
    # No world of the search takes part in the episode: the same actions win a fresh game.
    assert of.world().replay(of.task, found.actions)[-1].done
    told = table17.trace(of, found, guide)
    assert list(told["Action"]) == list(found.actions)
    start = guide.score(guide.start(of.task.goal, found.episode.path.first))
    assert start + told["Gain"].sum() == pytest.approx(told["Reward"].iloc[-1])
    assert any("desklamp →" in text for text in told["Goal interpretation"])
    assert any("cd →" in text for text in told["Goal interpretation"])
    assert "power on" in " ".join(told["State"])


@pytest.mark.slow
def test_a_placebo_and_breadth_first_do_not_solve_it_with_the_same_budget() -> None:
    told = table17.compared(table17.case(data="synthetic"), Setup(), [table17.SETTINGS], 150, seeds=2)
    assert dict(zip(told["search"], told["solved"], strict=True)) == {
        "StateFactory": 1, "random values": 0, "breadth-first": 0
    }  # fmt: skip
    assert (told["outcomes"] <= 150).all() and set(told["evidence"]) == {"simulated"}


@pytest.mark.slow
def test_a_tree_crosses_steps_that_gain_nothing_and_greed_does_not() -> None:
    """The thing lies in a closed drawer: to go there gains nothing, to open it does."""
    of = table17.case("alfworld-made-train-006", "synthetic")
    solved = [table17.solve(of, settings=replace(table17.SETTINGS, simulations=n, steps=10)).solved for n in (12, 1)]
    assert solved == [True, False]


def test_a_game_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(
        LookupError, match="no synthetic game 'nope'; choose one of alfworld-made-train-000 to .*-059, "
    ):
        table17.searched(data="synthetic", closed="nope")


def test_models_propose_and_foresee_in_the_place_of_the_world(server: ChatServer) -> None:
    """A model that proposes a good way and sees nothing in it: each real step surprises, and the task is solved."""
    way = ("go to garbagecan 1", "take cd 2 from garbagecan 1", "go to shelf 1", "use desklamp 1")

    def answer(request: Request) -> chat.Response:
        done = [action for action in way if f"Action: {action}\n" in request.text]
        if "Take stock" in request.text:
            stock = {"held": "nothing", "place": "here", "usable": [], "aim": "go on"}
            return chat.answer({**stock, "actions": [way[min(len(done), 3)]]})
        return chat.answer({"observation": "Nothing happens.", "done": False})

    server.behave(answer)
    model = dict.fromkeys(("propose", "predict"), "small?patience=5")
    setup = Setup(engines=model, proposer="model", world_model="model")
    found = table17.solve(table17.case(data="synthetic"), setup, Settings(simulations=1, width=1, steps=6))
    assert found.solved and found.actions == way and found.episode is not None
    assert found.episode.surprises == len(way) - 1 and found.resets == 0
    assert found.episode.history.cost.calls > 0


def test_a_model_proposes_in_all_searches_of_the_notebook(server: ChatServer) -> None:
    """A model cannot list all actions, so the widest search has as many as it may be asked for."""
    stock = {"held": "nothing", "place": "here", "usable": [], "aim": "go on"}
    server.behave(lambda request: chat.answer({**stock, "actions": ["go to shelf 1"]}))
    setup = Setup(engines={"propose": "small?patience=5"}, proposer="model")
    drawer = table17.case("alfworld-made-train-006", "synthetic")
    settings = [Settings(simulations=1, width=width, steps=1) for width in (3, setup.widest)]
    compared = table17.compared(drawer, setup, settings, budget=3, seeds=1)
    assert [*compared["width"][:2]] == [3, setup.widest] and (compared["solved"] == 0).all()
    nothing = table17.SearchResult(False, (), 0, 0, 0)
    rows = table17.Searches(setup, drawer, nothing, "synthetic", 3, compared, compared).rows()
    assert rows["metric"].value_counts().to_dict() == {table17.OPEN: len(compared), table17.CLOSED: len(compared)}


@pytest.mark.slow
def test_breadth_first_finds_the_shortest_way_if_it_may() -> None:
    of = table17.case("alfworld-made-train-048", "synthetic")  # go there, take it, and switch the lamp on
    found = table17.breadth_first(of, 5000)
    assert found.solved and len(found.actions) == 3
    assert of.world().replay(of.task, found.actions)[-1].done
