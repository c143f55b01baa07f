"""Table 4's scores as SwiftSage sums them up, what the loop did by length, and SwiftSage's means made again."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.machine.faults import MissingData
from lab.machine.paths import official_data
from lab.results import tables
from lab.runs.run import Episode
from sdp.experiments.certifying import Results
from sdp.experiments.scienceworld import Setup
from sdp.operators import NOTHING
from sdp.studies import table4, table6
from sdp.studies.conditions import PLACEBO


def results(scores: dict[str, float]) -> Results[Setup]:
    episodes = {
        f"scienceworld-{name}": Episode(name, {"score": score, "end": "goal", "stuck": ""})
        for name, score in scores.items()
    }
    return Results(Setup().resolved(), "oracle", episodes, {}, {}, Path("none"))


def test_a_type_counts_the_same_however_many_episodes_it_has() -> None:
    played = results({"boil-0001": 1.0, "melt-0001": 0.0, "melt-0002": 0.2, "find-plant-0001": 0.5})
    table = tables.table(table4.scores("SDP", played)).set_index("metric")
    assert table["value"].to_dict() == pytest.approx({"Short": 50, "Long": 55, "Overall": (100 + 10 + 50) / 3})
    assert table["n"].to_dict() == {"Short": 1, "Long": 2, "Overall": 3}
    assert set(table["evidence"]) == {"simulated"} and "4 episodes" in table.loc["Overall", "source"]


@pytest.mark.slow
def test_the_loop_is_taken_apart_by_length_and_by_mechanism() -> None:
    run = table4.STUDY.run(
        engine="oracle@0.8", data="synthetic", limit=2, workers=1,
        options={"lengths": ("short",), "settings.budget": 4, "settings.step_cap": 25},
    )  # fmt: skip
    assert {*run.frame()["data"]} == {"synthetic"} and {*run.frame()["n"]} == {2}
    parts = table4.ablated(run)
    (one,) = parts
    assert one.benchmark == "ScienceWorld, short" and set(one.without) == {"-Validate", "-Replan", "-Cascade"}
    compared = table6.comparisons(parts).set_index("condition")
    assert set(compared["n"]) == {2} and compared.loc["-Validate", "difference"] <= 0
    line = table4.anatomy({"SDP": one.full}).iloc[0]
    assert (line["length"], line["n"], line["evidence"]) == ("short", 2, "simulated")
    assert 1 <= line["predicates"] < line["actions"] and 0 <= line["rejected, %"] <= 100
    blank = run.part(table4.BENCHMARK, PLACEBO.name)
    targets = {a.target for t in blank.trajectories for a in t.attempts if a.kind != "goal"}
    assert targets == {NOTHING}


def test_swiftsages_means_come_out_of_its_table_by_task() -> None:
    if not (official_data() / table4.PUBLISHED).exists():
        pytest.skip("SwiftSage's scores by task are official data, and LAB_DATA has none")
    table = table4.recomputed()
    assert len(table) == 4 * 8 and set(table["types"]) == {10, 8, 12, 30}
    assert table["apart"].max() < 0.006, "published to two places"


def test_without_the_official_data_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LAB_DATA", str(tmp_path))
    with pytest.raises(MissingData, match="swiftsage_published_scores.csv; set LAB_DATA"):
        table4.recomputed()
