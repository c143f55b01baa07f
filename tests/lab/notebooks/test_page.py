"""The table of a notebook's page."""

from __future__ import annotations

import pytest

from lab.notebooks import page, register
from lab.results import tables
from lab.results.stored import Stored


def test_a_table_that_is_too_long_says_how_many_rows_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "1_sdp/table6_ablation"
    rows = Stored().rows(name, name)
    monkeypatch.setattr(page, "MOST_ROWS", 1000)
    whole = str(page.table(name, rows)).splitlines()[1:]  # without the header
    monkeypatch.setattr(page, "MOST_ROWS", 5)
    shown = str(page.table(name, rows)).splitlines()[1:]
    assert len(whole) > len(shown) == 5
    assert [line.split() for line in shown[:4]] == [line.split() for line in whole[:4]]
    assert f"{len(whole) - 4} more rows" in shown[4]


def test_a_table_keeps_simulated_engines_apart_and_what_the_paper_states_in_words() -> None:
    def row(engine: str, value: float | None, evidence: str, **more: object) -> tables.Row:
        return tables.row("SDP", engine, "Accuracy", value, evidence=evidence, source="", **more) | {"text": ""}

    rows = tables.table([
        row("GPT-4", None, "published") | {"text": "<5"},
        row("rules", 100.0, "simulated", n=30),
        row("rules@0.9?judge=GPT-5.2", 75.0, "simulated", n=30),
    ])  # fmt: skip
    shown = str(page.table("1_sdp/table3_assistantbench", rows))
    assert "simulated (rules) " in shown and "100.0" in shown
    assert "simulated (rules@0.9?judge=GPT-5.2)" in shown and "75.0" in shown
    assert "published (GPT-4)" in shown and "<5" in shown


def test_a_page_lists_every_recorded_row_that_its_claims_compare() -> None:
    rows = register.recorded_for("1_sdp/table2_travelplanner")
    other = rows[~rows["run"].str.startswith("replay:table2_travelplanner-")]
    assert {"ReAct", "Plan-and-Solve"} < {*other["method"]} and {*rows["benchmark"]} == {"TravelPlanner"}
    assert len(register.recorded_for("1_sdp/validate_audit")) == 2  # of 0.5B, named after the page, and of 1.5B
    assert register.recorded_for("4_explore/your_own").empty
