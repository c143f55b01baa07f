"""Answers are scored as AssistantBench's official program scores them, its quirks included."""

from __future__ import annotations

import csv
import json
import os
from math import isnan, log
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlds.assistantbench import official
from worlds.assistantbench.questions import as_prediction
from worlds.assistantbench.scorer import Score, Unscorable, gold_of, question_scorer, scores

DATA = Path(os.environ.get("LAB_DATA") or "nowhere") / official.NAME
needs_data = pytest.mark.skipif(not official.present(DATA), reason="LAB_DATA names no data of AssistantBench")
WORDS = st.lists(st.sampled_from(["Glass", "onion", "O'Neil", "2022", "the", "New-York"]), min_size=1, max_size=5)
TEXT = WORDS.map(" ".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b"]), inner),
    max_leaves=6,
)


def rows(name: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


@needs_data
@pytest.mark.official
def test_all_recorded_scores_of_the_official_program_come_out() -> None:
    recorded = rows("scorer_vectors.jsonl")
    assert len(recorded) == 72
    for row in recorded:
        pair = str(row["prediction"]), str(row["gold"])
        if "error" in row:
            with pytest.raises(Unscorable):
                question_scorer(*pair)
        else:
            assert question_scorer(*pair) == (pytest.approx(row["accuracy"], abs=1e-6), row["has_answer"]), pair


@needs_data
@pytest.mark.official
def test_the_published_scores_of_six_systems_come_out_of_their_predictions() -> None:
    gold = {one.task.id: one.answer for one in official.questions(DATA, "dev")}
    said = rows("dev33_reference_predictions.jsonl")
    for row in said:
        found = question_scorer(str(row["prediction"]), str(gold[str(row["id"])]))
        assert found == (pytest.approx(row["accuracy"], abs=1e-6), row["has_answer"])
    with open(DATA / "dev33_reference_scores.csv", encoding="utf-8") as file:
        published = list(csv.DictReader(file))
    assert len(published) == 6
    for system in published:
        own = {str(row["id"]): str(row["prediction"]) for row in said if row["system"] == system["system"]}
        found = scores(own, {id: str(answer) for id, answer in gold.items()})
        for metric in ("accuracy", "answer_rate", "precision", "exact_match"):
            assert 100 * getattr(found, metric) == pytest.approx(float(system[metric]), abs=0.05), system["system"]


@pytest.mark.parametrize(("said", "gold", "accuracy"), [
    ("60", "55", 1 - log(60 / 55)),
    ("150", "55", 0),  # a factor of e or more
    ("1,010", "1010", 0),  # a comma is a decimal point
    ("1,5", "1.5", 1),
    ("-60", "-55", 1 + log(60 / 55)),  # more than all
    ("-Infinity", "55", 0),  # not followed
    ("Villa  Shanghai", "the Shanghai villa!", 1),
    ("Glass Onion", "Glass Onion 2022", 0),  # the number is missing
    ("[2022]", "Glass Onion", 0),
    ("[2022]", "(2022.0, True)", 1),  # what the official program makes of it
    ('["b", "a"]', "a\nb\nc", 2 / 3),
    ("b\nc", "b\nc", 1 / 3),  # lines are not split
    ('["b", 5]', "b\nc", 0),
    ("b", "", 0),
    ("[5, 6]", "5\n6", 0),  # lines of numbers count as objects
    ('{"a": "5"}', "{'a': '5', 'b': 'x'}", 2 / 3),
    ('{"a": "5"}', "{'a': 5, 'b': 'x'}", 1 / 2),  # not mended behind a number: a string
    ('{"a": "x", "b": "y"}', '{"a": "x"}', 2 / 3),
    ('[{"a": "y"}, {"a": "x"}]', '{"a": "x"}\n{"a": "y"}', 1),
    ('{"a": "in 2022"}', '{"a": "in"}', 0),  # the sides change for the precision
])  # fmt: skip
def test_an_accuracy(said: str, gold: str, accuracy: float) -> None:
    assert question_scorer(said, gold) == (pytest.approx(accuracy), 1)


@pytest.mark.parametrize("said", ["", "[]", '["", ""]', "NaN", "{}", "[NaN]"])
def test_what_is_no_answer(said: str) -> None:
    assert question_scorer(said, "Shanghai villa") == (0, 0)


def test_blank_lines_of_a_gold_answer_are_no_items() -> None:
    assert gold_of("55\n") == (55, "number") and gold_of("a\n\nb\n") == (["a", "b"], "string list")


def test_a_list_with_an_empty_item_is_an_answer() -> None:
    assert question_scorer('["", "Glass Onion"]', "Glass Onion\nKöln") == (pytest.approx(1 / 2), 1)
    assert question_scorer('[NaN, ""]', "Glass Onion\nKöln").has_answer == 0


@pytest.mark.parametrize(
    ("said", "gold"), [("[55]", "55"), ('["five"]', "5"), ("null", "5"), ("true", "x"), ("{}", '{"a": 1}')]
)
def test_where_the_official_program_stops_the_error_says_what_to_hand_in(said: str, gold: str) -> None:
    with pytest.raises(Unscorable, match="hand in a number or text as it is"):
        question_scorer(said, gold)


@given(JSON.map(json.dumps) | TEXT, JSON.map(json.dumps) | TEXT)
def test_any_prediction_gets_a_score_or_is_unscorable(said: str, gold: str) -> None:
    try:
        accuracy, has_answer = question_scorer(said, gold)
    except Unscorable:
        return
    assert accuracy >= 0 and has_answer in (0, 1)
    negative = gold_of(gold)[1] in ("number", "json") and "-" in gold
    assert accuracy <= 1 + 1e-12 or negative


@given(st.lists(TEXT.map("Museum {}".format), min_size=2, max_size=5))
def test_a_list_scores_1_against_itself_in_any_order(items: list[str]) -> None:
    assert question_scorer(as_prediction(items[::-1]), "\n".join(items)).accuracy == pytest.approx(1)
    fewer = question_scorer(as_prediction([items[0], items[0]]), "\n".join(items)).accuracy
    assert fewer <= question_scorer(as_prediction(items), "\n".join(items)).accuracy


@given(st.floats(0.001, 1e6), st.floats(0.001, 1e6))
def test_numbers_score_the_same_with_the_sides_changed(one: float, other: float) -> None:
    assert question_scorer(repr(one), repr(other)) == question_scorer(repr(other), repr(one))


def test_the_aggregates_count_tasks_without_a_prediction_and_those_that_cannot_be_scored() -> None:
    found = scores(
        {"a": "5", "b": "", "d": "[5]", "e": "Shanghai"}, dict(a="5", b="5", c="5", d="5", e="Shanghai villa")
    )
    assert (found.tasks, found.unscorable) == (5, 1)
    assert found.accuracy == pytest.approx((1 + 2 / 3) / 5) and found.answer_rate == 3 / 5
    assert found.precision == pytest.approx((1 + 2 / 3) / 3) and found.exact_match == 1 / 5
    assert isnan(scores({}, {"a": "5"}).precision)
    with pytest.raises(ValueError, match="without a gold answer: f"):
        scores({"f": "5"}, {"a": "5"})


def test_an_item_is_handed_in_as_it_is_and_several_as_a_json_array() -> None:
    assert as_prediction(["5"]) == "5" and as_prediction(["Köln"]) == "Köln"
    assert as_prediction(["a", "b"]) == '["a", "b"]' and as_prediction([{"a": 1}]) == '{"a": 1}'
    for items, gold in (
        (["1,010"], "1010"), (["$1,010.50"], "1010.5"), (["-1,000,000 sqft"], "-1000000"),
        ([{"price": "1,010"}], '{"price": 1010}'), (["12,500 people"], "12500 people"),
    ):  # fmt: skip
        assert question_scorer(as_prediction(items), gold).accuracy == 1, items
    assert [as_prediction([text]) for text in ("1,01", "12,34,567", "1, 2", "B2,000")] == [
        "1,01", "12,34,567", "1, 2", "B2,000",
    ]  # fmt: skip
    assert question_scorer(as_prediction([{"a": 1}, {"a": 2}]), '{"a": 1}\n{"a": 2}') == Score(1, 1)
