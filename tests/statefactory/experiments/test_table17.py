"""Table 17: real games are solved by tree search on rewards, as the paper's trace has it, and not by a placebo."""

from __future__ import annotations

import os

import pytest

from statefactory.experiments import table17
from statefactory.planning.mcts import Settings
from worlds.base import NoTask

official = pytest.mark.skipif("LAB_DATA" not in os.environ, reason="LAB_DATA names no folder of official data")


@pytest.mark.parametrize("data", ["made", pytest.param("official", marks=[official, pytest.mark.official])])
def test_the_disc_is_found_taken_and_held_under_the_lamp(data: str) -> None:
    of, guide = table17.case(data=data), table17.predictor()
    found = table17.solve(of, guide)
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


def test_a_placebo_and_breadth_first_do_not_solve_it_with_the_same_budget() -> None:
    of, guide = table17.case(data="made"), table17.predictor()
    settings = [Settings(simulations=12, width=0, steps=20)]
    told = table17.compared(of, {"rewards": lambda seed: guide, "random": table17.placebo}, settings, 150, seeds=2)
    assert dict(zip(told["search"], told["solved"], strict=True)) == {"rewards": 1, "random": 0, "breadth-first": 0}
    assert (told["outcomes"] <= 150).all()


def test_breadth_first_finds_the_shortest_way_if_it_may() -> None:
    of = table17.case("alfworld-made-train-048", "made")  # go there, take it, and switch the lamp on
    found = table17.breadth_first(of, 5000)
    assert found.solved and len(found.actions) == 3
    assert of.world().replay(of.task, found.actions)[-1].done


def test_a_game_that_there_is_not_is_named() -> None:
    with pytest.raises(NoTask, match="alfworld-made-valid_unseen-999"):
        table17.case("alfworld-made-valid_unseen-999", "made")
