"""Claims on stored results whose answer is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from lab.results import stored, tables
from lab.results.claims import BadClaim, Claim, Contrast, Finding, Published, Row
from lab.results.judging import evaluate
from lab.results.stored import COLUMNS, Stored

MODEL = "qwen2.5-coder-0.5b (local)"
CELLS = tables.table(
    [
        tables.row("A", "gpt", "rate", 80.0, evidence="published", source="Table 1"),
        tables.row("B", "gpt", "rate", 60.0, evidence="published", source="Table 1"),
        tables.row("A", "other", "rate", 70.0, evidence="published", source="Table 1"),
    ]
).assign(table="Table 1")
TASKS = [f"t{number}" for number in range(24)]


def scores(condition: str, passed: int, role: str = "method", engine: str = MODEL, **about: str) -> pd.DataFrame:
    """Scores of 24 tasks, of which the first `passed` are solved."""
    about = {"evidence": "measured", "data": "synthetic", "run": "acting rules"} | about
    lines = [
        {"benchmark": "W", "condition": condition, "metric": "success", "role": role, "engine": engine, **about,
         "task": task, "value": float(place < passed)}
        for place, task in enumerate(TASKS)
    ]  # fmt: skip
    return pd.DataFrame(lines, columns=COLUMNS)


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where results are stored; there are no recordings."""
    monkeypatch.setenv("LAB_FIGURES", str(tmp_path))
    monkeypatch.setattr(stored, "recordings_folder", lambda: tmp_path / "recordings")
    monkeypatch.setattr(stored, "COMMITTED", tmp_path)
    return tmp_path


def found(shelf: Path, *listed: Claim, void: str = "") -> list[Finding]:
    return evaluate(listed, CELLS, Stored(str(shelf)), lambda name: f"recording {name} is void" if name == void else "")


def claim(name: str = "c", **fields: Any) -> Claim:
    return Claim(id=name, item="Table 1", says="A is better than B", notebook="book", **fields)


def contrast(of: str = "A", less: str = "B", placebo: str = "", **fields: Any) -> Claim:
    return claim(contrast=Contrast(benchmark="W", of=of, less=less, engine=MODEL, placebo=placebo), **fields)


@pytest.mark.parametrize(
    ("a", "b", "placebo", "null", "word"),
    [
        (20, 4, 5, 6, "AGREES"), (4, 19, 5, 6, "OPPOSES"), (20, 18, 5, 6, "TOO SMALL"),
        (20, 4, 19, 6, "AGREES, but so does the placebo"), (20, 4, 5, 22, "AGREES, but so does a null model"),
        (20, 4, 24, 24, "AGREES, but so does a null model"),
    ],
)  # fmt: skip
def test_a_contrast_agrees_only_where_it_is_better_than_placebo_and_null_model(
    shelf: Path, a: int, b: int, placebo: int, null: int, word: str
) -> None:
    sides = [scores("A", a), scores("B", b), scores("A, placebo", placebo)]
    nulls = [scores("first", null, role="floor", engine="first"), scores("random", 2, role="floor", engine="random")]
    stored.write_scores("book", sides + nulls)
    (finding,) = found(shelf, contrast(placebo="A, placebo"))
    assert finding.verdict.word == word and finding.on_a_model and not finding.faulty
    assert finding.sides == pytest.approx((100 * a / 24, 100 * b / 24)) and finding.n == 24
    assert finding.null is not None and finding.null[0] == "first"
    assert finding.null[1].value == pytest.approx(100 * (null - b) / 24)


def test_headroom_is_the_way_from_the_best_floor_to_the_ceiling(shelf: Path) -> None:
    floors = [scores("first", 12, role="floor", engine="first"), scores("expert", 24, role="ceiling", engine="oracle")]
    stored.write_scores("book", [scores("A", 18), scores("B", 4), *floors])
    (finding,) = found(shelf, contrast())
    assert finding.headroom == pytest.approx(0.5)


def test_a_control_that_played_other_tasks_or_is_void_is_none(shelf: Path) -> None:
    null, placebo = scores("first", 24, role="floor", engine="first"), scores("A, placebo", 3, run="replay:tiny")
    stored.write_scores("book", [scores("A", 20), scores("B", 4), null.iloc[1:], placebo])
    (finding,) = found(shelf, contrast(placebo="A, placebo"))
    assert finding.verdict.word == "AGREES" and finding.null is None
    assert found(shelf, contrast(placebo="A, placebo"), void="tiny")[0].verdict.word == "VOID"
    stored.write_scores("book", [scores("A", 20), scores("B", 4), placebo.iloc[1:]])
    (finding,) = found(shelf, contrast(placebo="A, placebo"))
    assert finding.verdict.word == "MISSING" and "its placebo 'A, placebo' is not stored" in finding.verdict.detail


def test_several_benchmarks_are_compared_over_the_tasks_of_all_and_so_are_their_nulls(shelf: Path) -> None:
    nulls = [scores("first", 6, role="floor", engine="first"), scores("last", 9, role="floor", engine="last")]
    here = [scores("A", 20), scores("B", 4), *nulls]
    there = [frame.assign(benchmark="V", run="replay:tiny") for frame in (scores("A", 8), scores("B", 4), nulls[0])]
    both = claim(contrast=Contrast(benchmark="W, V", of="A", less="B", engine=MODEL))
    stored.write_scores("book", here)
    assert found(shelf, both)[0].verdict.word == "MISSING", "one of them is not stored"
    stored.write_scores("book", [*here, *there])
    (finding,) = found(shelf, both)
    assert finding.n == 48 and finding.sides == pytest.approx((100 * 28 / 48, 100 * 8 / 48))
    assert finding.null and finding.null[0] == "first", "the other played one of them"
    assert found(shelf, both, void="tiny")[0].verdict.word == "VOID", "the second benchmark's recording counts, too"


def test_a_claim_whose_recording_is_planned_is_not_run(shelf: Path) -> None:
    stored.write_scores("book", [scores("A", 20), scores("B", 4)])
    (waits,) = evaluate([contrast()], CELLS, Stored(str(shelf)), str, {"c": "recording tiny: 2 of 24"})
    assert waits.verdict == ("NOT RUN", "recording tiny: 2 of 24") and not waits.on_a_model and not waits.faulty


def test_few_tasks_state_no_direction_and_rules_have_none(shelf: Path) -> None:
    stored.write_scores("book", [scores("A", 24), scores("B", 2), scores("R", 24, engine="rules")])
    (small,) = found(shelf, contrast(least=25))
    assert small.verdict.word == "TOO SMALL" and "a direction needs 25 tasks" in small.verdict.detail
    by_rules = claim(contrast=Contrast(benchmark="W", of="R", less="B", engine="rules", less_engine=MODEL))
    assert "rules is no real model" in found(shelf, by_rules)[0].verdict.detail


def test_contrasts_of_one_item_are_one_family(shelf: Path) -> None:
    sides = [scores("A", 8), scores("B", 2), *(scores(f"C{n}", 2) for n in range(3))]
    stored.write_scores("book", sides)
    (alone,) = found(shelf, contrast())
    assert alone.verdict.word == "AGREES"  # six of six, p = .03
    family = [contrast(name=f"c{n}", less=f"C{n}") for n in range(3)]
    assert {finding.verdict.word for finding in found(shelf, *family)} == {"TOO SMALL"}


@pytest.mark.parametrize(
    ("plain", "word"), [(1, "SHOWS NOTHING"), (2, "AGREES"), (19, "TOO SMALL"), (20, "SHOWS NOTHING")]
)
def test_a_plain_agent_below_5_or_above_80_percent_shows_nothing(shelf: Path, plain: int, word: str) -> None:
    null = scores("first", plain, role="floor", engine="first")
    stored.write_scores("book", [scores("A", 24 if plain > 2 else 15), scores("B", plain), null])
    (finding,) = found(shelf, contrast())
    assert finding.verdict.word == word and finding.on_a_model
    against_null = claim(contrast=Contrast(benchmark="W", of="A", less="first", engine=MODEL, less_engine="first"))
    (against,) = found(shelf, against_null)
    assert against.verdict.word != "SHOWS NOTHING" and against.rival is None, "a null model is no plain agent"


@pytest.mark.parametrize("void", ["", "tiny"])
def test_a_void_recording_is_named_and_so_is_a_row_that_is_gone(shelf: Path, void: str) -> None:
    stored.write_scores("book", [scores("A", 20, run="replay:tiny"), scores("B", 4, run="replay:tiny")])
    words = [finding.verdict for finding in found(shelf, contrast(), contrast("X", name="gone"), void=void)]
    assert words[0].word == ("VOID" if void else "AGREES")
    assert words[1].word == "MISSING" and "no scores of W, X" in words[1].detail
    assert not void or words[0].detail == "recording tiny is void"


def test_a_row_has_the_verdict_of_its_interval_and_a_fitted_one_none(shelf: Path) -> None:
    lines = [tables.row("A", "none", name, 80.2, evidence="measured", source=source, n=300, interval=(79.9, 80.5))
             for name, source in (("rate", "this run"), ("kept", "recording tiny, 2026"))]  # fmt: skip
    tables.write(tables.table(lines), "t")
    at = Published(table="Table 1", method="A", metric="rate", backbone="gpt")
    row = Row(table="t", where={"metric": "rate"})
    same, fitted, narrow, void, gone = found(
        shelf,
        claim("same", row=row, paper=at, margin=1.0),
        claim("fitted", row=row, paper=at, margin=1.0, nature="fitted", because="chosen so"),
        claim("narrow", row=row, paper=at, margin=0.1),
        claim("void", row=Row(table="t", where={"metric": "kept"}), paper=at),
        claim("gone", row=Row(table="t", where={"metric": "other"}), paper=at),
        void="tiny",
    )
    assert [each.verdict.word for each in (same, fitted, narrow, void, gone)] == [
        "REPRODUCED", "FITTED", "TOO SMALL", "VOID", "MISSING",
    ]  # fmt: skip
    assert fitted.verdict.detail.startswith("chosen so; difference")


def test_published_cells_are_looked_up_and_one_that_is_not_there_is_named(shelf: Path) -> None:
    less = claim(paper=Published(table="Table 1", method="A", metric="rate", backbone="gpt", less="B"))
    assert found(shelf, less)[0].paper == 20.0 and found(shelf, less)[0].verdict.word == "NOT RUN"
    with pytest.raises(BadClaim, match="claim c: data/published has 2 values for 'Table 1', 'A', 'rate'"):
        found(shelf, claim(paper=Published(table="Table 1", method="A", metric="rate")))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"figure": "f", "row": Row(table="t", where={})}, "rests on figure and row; keep one"),
        ({"figure": "f"}, "nothing to compare it with; give `paper`"),
        ({}, "is not run and has no published value"),
        ({"paper": Published(value=1), "nature": "fitted"}, "is fitted; say why in `because`"),
    ],
)
def test_a_claim_that_makes_no_sense_is_named(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(BadClaim, match=said):
        claim(**fields)
    with pytest.raises(BadClaim, match="says 11 words; at most 10"):
        Claim(id="c", item="i", says=" ".join(["word"] * 11), paper=Published(value=1))
