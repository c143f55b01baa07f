"""Rewards along trajectories that no benchmark has."""

from __future__ import annotations

from random import Random

import pytest

from statefactory import Monotonic
from statefactory.epic import epic_distance
from statefactory.experiments.curves import Walk, followed
from worlds.base import Step


def test_each_walk_is_followed_from_its_start_and_held_against_the_truth() -> None:
    goal, there, nowhere = (
        "Go home.",
        Walk([("go", "a road", 0.5), ("go", "home", 1.0)]),
        Walk([("wait", "a road", 0.0)]),
    )
    curves = followed({"monotonic": Monotonic()}, goal, [there, nowhere, there])
    assert curves.truth == [0.5, 1.0, 0.0, 0.5, 1.0]
    once = Monotonic().predict(goal, ["go", "go"], ["a road", "home"]).tolist()
    assert curves.rewards["monotonic"][:2] == curves.rewards["monotonic"][3:] == once
    (row,) = curves.distances("rules", "measured").itertuples()
    assert row.method == "monotonic" and row.evidence == "measured"
    assert row.value == pytest.approx(epic_distance(curves.rewards["monotonic"], curves.truth))
    (axes,) = curves.draw("step", curves.distances("rules", "measured")).axes
    assert [line.get_label() for line in axes.get_lines()] == ["truth", "monotonic"]


def test_a_random_walk_takes_what_is_offered_at_each_step() -> None:
    place = [0]

    def step(action: str) -> Step:
        place[0] += int(action)
        return Step(f"at {place[0]}", place[0] / 10)

    walk = Walk.at_random(step, lambda: [str(place[0] + 1)], 3, Random(0))
    assert walk.steps == [("1", "at 1", 0.1), ("2", "at 3", 0.3), ("4", "at 7", 0.7)]
