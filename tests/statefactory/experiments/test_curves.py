"""Rewards along trajectories that no benchmark has."""

from __future__ import annotations

import pytest

from statefactory import Monotonic
from statefactory.epic import epic_distance
from statefactory.experiments.curves import Walk, followed


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
