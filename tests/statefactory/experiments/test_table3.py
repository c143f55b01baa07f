"""What the notebook of Table 3 shows, on a small build of synthetic problems."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest

from lab.results import tables
from lab.runs import run
from lab.runs.run import RunBusy
from statefactory.benchmark import Built, Pair, build, build_all, data_of
from statefactory.benchmark.domains import BY_NAME
from statefactory.benchmark.labels import RULES, Padding
from statefactory.experiments import scores, statistics, table3
from statefactory.plots import benchmark
from statefactory.studies.table1_details import compared


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Built]:
    """Twelve made BlocksWorld pairs."""
    folder: Path = tmp_path_factory.mktemp("benchmark")
    return {"blocksworld": build("blocksworld", "synthetic", limit=12, folder=folder, show_progress=False)}


def pairs_of(built: dict[str, Built]) -> dict[str, list[Pair]]:
    return {name: of.pairs() for name, of in built.items()}


def test_the_row_stands_beside_the_published_one(built: dict[str, Built]) -> None:
    both = table3.monotonic(pairs_of(built))
    assert list(both[both["evidence"] == "measured"]["metric"]) == ["EPIC distance, BlocksWorld"], "Overall needs all"
    shown = tables.side_by_side(both, scores.metrics(), decimals=3)
    assert shown["evidence"].tolist() == ["published", "measured"]
    assert [*shown[scores.OVERALL]] == ["0.540", "–"] and shown["n"].iloc[1] == "12"


def test_domains_weigh_the_same_in_a_contrast_however_many_pairs_they_have() -> None:
    first = {"alfworld": np.array([0.1, 0.2, 0.3]), "webshop": np.array([0.9])}
    second = {"alfworld": np.array([0.2, 0.2, 0.2]), "webshop": np.array([0.5])}
    result = compared(first, second)
    assert result.difference.value == pytest.approx((0.0 + 0.4) / 2)
    assert (result.n, result.wins, result.losses) == (4, 2, 1)


def test_overall_is_there_once_all_domains_are() -> None:
    rows = scores.rows("Any", "none", {name: np.array([0.2, 0.4]) for name in BY_NAME})
    last = tables.table(rows).iloc[-1]
    assert (last.metric, round(last.value, 3), last.n) == (scores.OVERALL, 0.3, 10)


def test_the_build_is_described(built: dict[str, Built]) -> None:
    table = table3.build_table(built)
    assert table.loc[0, "pairs"] == 12 and table.loc[0, "data"] == "synthetic"
    assert data_of(built) == "synthetic"
    with pytest.raises(ValueError, match="build them together"):
        data_of({})
    assert table3.printed(built) is None


def test_the_ways_of_padding_differ(built: dict[str, Built]) -> None:
    table = table3.paddings(built, seeds=3)
    row = table.iloc[0]
    assert row.published == 0.589 and row.chosen == "both ends"
    assert len({round(row[title], 3) for title in [*table3.PADDINGS.values(), "three at each end"]}) == 5


def test_three_at_each_end_are_drawn_apart() -> None:
    rule = table3.EachEnd("both", "linear", "kept", "zero", "", "")
    drawn = {rule.draw(Random(seed)) for seed in range(300)}
    assert drawn == {Padding(before, after) for before in range(4) for after in range(4)}


def test_where_a_state_counts_once_the_baseline_is_nearer(built: dict[str, Built]) -> None:
    row = table3.gleave_table(pairs_of(built)).iloc[0]
    assert 0 < row["steps that repeat an observation"] < 1
    assert row.defined <= row.pairs == 12 and row.Gleave != pytest.approx(row.simplified)


def test_lengths_alone_say_little() -> None:
    table = table3.lengths_alone(lengths=(4, 13), pairs=200).set_index("T")
    # Without padding: t/T twice against t/T and zeros; for 13 steps the paper's .535 of WebShop.
    assert table.loc[13, "no random steps"] == pytest.approx(0.5355, abs=5e-4)
    assert table.loc[4, "all before"] < table.loc[4, "both ends"] < table.loc[4, "no random steps"]


def test_the_figure_has_a_column_a_domain(built: dict[str, Built]) -> None:
    figure = benchmark.draw_benchmark(statistics.rewards(pairs_of(built)), "measured")
    assert [axes.get_title() for axes in figure.axes[:1]] == [BY_NAME["blocksworld"].title]
    assert len(figure.axes) == 2


def test_every_rule_says_what_is_known_and_what_was_fitted() -> None:
    assert set(RULES) == set(BY_NAME)
    assert all(rule.known and rule.fitted for rule in RULES.values())


def test_a_domain_that_another_process_builds_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = iter([RunBusy("being written by another"), "built"])

    def build(*_: object) -> object:
        came = next(tries)
        if isinstance(came, RunBusy):
            raise came
        return came

    # By sys.modules, since the package's attribute `build` is the function.
    monkeypatch.setattr(sys.modules["statefactory.benchmark.build"], "build", build)
    monkeypatch.setattr(run, "BUSY_PAUSE", 0.0)
    assert build_all("synthetic", domains=("blocksworld",)) == {"blocksworld": "built"}


def test_where_the_tasks_stay_the_noise_of_seeds_is_taken_apart(
    built: dict[str, Built], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table3, "REBUILT", ())
    (row,) = table3.seed_table(built, seeds=4).to_dict("records")
    assert row["noise of a task"] > 0 <= row["noise of tasks"]
    assert row["std"] < row["noise of a task"], "a mean of twelve tasks moves less than one of them"
    assert row["fitted"], "BlocksWorld's padding was chosen to give the published value"
