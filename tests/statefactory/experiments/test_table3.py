"""What the notebook of Table 3 shows, on a small build of synthetic problems."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.machine.paths import official_data
from lab.results import tables
from lab.runs import run
from lab.runs.run import RunBusy
from statefactory.benchmark import Built, Pair, build, build_all, data_of
from statefactory.benchmark.labels import Padding
from statefactory.experiments import scores, table3
from statefactory.experiments.table3 import CUT, agrees, replay
from statefactory.studies import table3 as page


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


def test_the_page_says_what_was_built_and_the_baseline_by_world(built: dict[str, Built]) -> None:
    pairs = pairs_of(built)
    assert page.Benchmark(pairs).answer() == "12 pairs: BlocksWorld 12 (synthetic)."
    assert page.Benchmark(pairs).note.endswith("synthetic data · n = 12 pairs")
    worlds = page.by_world(table3.monotonic(pairs))
    assert worlds["method"].iloc[0] == "Overall" and {*worlds["metric"]} == {"EPIC distance"}
    assert worlds.loc[worlds["evidence"] == "measured", "method"].tolist() == ["BlocksWorld"]
    assert page.sample_title(pairs["blocksworld"][0], "negative", 20).startswith("blocksworld, negative: ")


def test_figures_that_synthetic_data_cannot_give_are_none(built: dict[str, Built]) -> None:
    spread = pd.DataFrame({"domain": ["BlocksWorld", "WebShop"], "here": [0.5874, 0.5], "fitted": [True, False],
                           "difference": [-0.02, 0.3]})  # fmt: skip
    near = "monotonic, BlocksWorld, within .01 of the paper"
    assert page.accepted(pairs_of(built), spread, None, "synthetic") == {
        "pairs": 12, "monotonic, BlocksWorld": 0.587, near: None, "monotonic, WebShop": 0.5,
        "printed tables come out word for word": None,
    }  # fmt: skip
    printed = pd.DataFrame({"table": ["Table 4"], "steps": [7], "action": [7], "reward": [6]})
    official = page.accepted(pairs_of(built), spread, printed, "official")
    assert official[near] is False and official["printed tables come out word for word"] is False


def test_the_build_is_described(built: dict[str, Built]) -> None:
    table = table3.build_table(built)
    assert table.loc[0, "pairs"] == 12
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


# --- the printed trajectories -----------------------------------------------------------------------------------------

words = st.text("abc .", max_size=12)


@pytest.mark.parametrize(
    ("printed", "said", "same"),
    [
        ("take mug 1", "take mug 1", True),
        ("take mug 1", "take mug 12", False),
        ("take mug…", "take mug 1 from desk 1", True),
        ("take mug…", "go to mug", False),
        ("you see a bread 1… a potato 1…", "you see a bread 1, a cup 2, and a potato 1.", True),
        ("you see a bread 1… a potato 1…", "you see a potato 1, and a bread 1.", False),
        ("…hand is empty", "the hand is empty", True),
        ("…hand is empty", "the hand is empty now", False),
        ("line one… two", "line one\n  and two", True),
    ],
)
def test_cut_texts_are_compared(printed: str, said: str, same: bool) -> None:
    assert agrees(printed, said) is same


@given(words, words, words)
def test_whatever_was_cut_out_agrees(first: str, middle: str, last: str) -> None:
    assert agrees(f"{first}{CUT}{last}", f"{first} {middle} {last}")


@pytest.mark.slow
@pytest.mark.official
def test_the_printed_games_say_what_is_printed() -> None:
    if not (official_data() / "alfworld").is_dir():
        pytest.skip(f"no alfworld in {official_data()}")
    from worlds.alfworld import load
    from worlds.alfworld.expert import Expert

    with load("official", list_actions=False) as world:
        found = replay(world, Expert(world))
    for column in ("actions", "observations", "ground truth"):
        assert found[column].tolist() == found["steps"].tolist() == [7, 5]
