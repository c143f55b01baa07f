"""The monotonic baseline from pairs and from lengths alone, and the benchmark's sizes and command."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from statistics import correlation

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import statefactory.benchmark.domains as domains
from hall_world import Hall, domain, eastwards, hall
from statefactory.benchmark.__main__ import main
from statefactory.benchmark.labels import RULES
from statefactory.benchmark.schema import Pair
from statefactory.benchmark.trajectories import make_pair
from statefactory.experiments.scoring import distances_of
from statefactory.experiments.table3 import distances_of_labels, expert_labels
from statefactory.predictors.baselines import Monotonic


def pair(rooms: int, seed: int = 0) -> Pair:
    task = hall(rooms)
    return make_pair(Hall(), task, eastwards(task), "guide", domain().recipe(seed)).pair


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hall is a domain of the benchmark."""
    monkeypatch.setitem(domains.BY_NAME, "hall", domain())


def test_the_official_sizes_are_those_of_table_3() -> None:
    sizes = {name: of.sizes["official"] for name, of in domains.BY_NAME.items() if name != "hall"}
    assert sizes == {"alfworld": 336, "scienceworld": 191, "webshop": 300, "blocksworld": 250, "textworld": 150}


# --- the monotonic baseline -------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(st.lists(st.integers(2, 9), min_size=1, max_size=5, unique=True), st.integers(0, 500))
def test_labels_alone_give_the_distances_of_built_pairs(rooms: list[int], seed: int) -> None:
    pairs = [pair(n, seed) for n in rooms]
    labels = {hall(n).id: [step / n for step in range(1, n + 1)] for n in rooms}
    assert expert_labels(pairs) == labels
    assert distances_of_labels(labels, "hall", seed) == pytest.approx(distances_of(pairs, Monotonic()))


def test_a_pair_by_hand() -> None:
    """Three expert steps and nothing else: Pearson of (1,2,3,1,2,3)/3 with (1,2,3,0,0,0)/3."""
    rule = replace(RULES["alfworld"], sides="none")
    (value,) = distances_of_labels({"a": [1 / 3, 2 / 3, 1]}, "hall", 0, rule)
    covariance, of_time, of_truth = 1 + 4 + 9 - 12 * 6 / 6, 28 - 12 * 12 / 6, 14 - 6 * 6 / 6
    assert value == pytest.approx(math.sqrt((1 - covariance / math.sqrt(of_time * of_truth)) / 2))


@pytest.mark.parametrize(("after", "value"), [("kept", 1.0), ("zero", 0.0)])
def test_steps_after_success_count_as_the_rule_says(after: str, value: float) -> None:
    rule = replace(RULES["alfworld"], after=after)
    recipe = domain().recipe
    seed = next(s for s in range(99) if rule.draw(recipe(s).random("a", "padding")) == (0, 1))
    (distance,) = distances_of_labels({"a": [0.5, 1.0]}, "hall", seed, rule)
    predicted, truth = [1 / 3, 2 / 3, 1] * 2, [0.5, 1.0, value, 0, 0, 0]
    assert distance == pytest.approx(math.sqrt((1 - correlation(predicted, truth)) / 2))


# --- the command ------------------------------------------------------------------------------------------------


def test_the_command_builds_once_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["build", "--domain", "hall", "--data", "synthetic", "--workers", "1", "--folder", str(tmp_path)]
    assert main(command) == 0 and "hall (synthetic): 12 pairs" in capsys.readouterr().out
    assert main(command) == 0 and "earlier" in capsys.readouterr().out


def test_missing_data_is_a_line_and_a_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "--domain", "hall", "--data", "official"]) == 1
    assert "hall's official data is not in" in capsys.readouterr().err
