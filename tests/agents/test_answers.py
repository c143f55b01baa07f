"""Answers of acting agents: any text is read or refused in words, and what is written is read back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from agents.answers import MOST_STEPS, Graph, Judged, Plan, Sentence, SubGoal, in_form, read
from lab.models.answers import FreeText
from lab.models.backbone import MalformedAnswer

KINDS = (Plan, Graph, Judged, Sentence)
line = st.text(max_size=40).map(lambda text: " ".join(text.split())).filter(bool)
word = line.map(lambda text: f"find {text}!")  # neither a label nor "(after 1)" at its end
graphs = st.lists(st.tuples(word, st.lists(st.integers(1, 99), max_size=3)), min_size=1, max_size=6).map(
    lambda goals: Graph(
        goals=[SubGoal(number=at, goal=goal, after=after) for at, (goal, after) in enumerate(goals, start=4)]
    )
)
answers = st.one_of(
    st.lists(line, min_size=1, max_size=MOST_STEPS).map(lambda steps: Plan(steps=steps)),
    graphs,
    st.builds(Judged, reason=word, solved=st.booleans()),
    st.builds(Sentence, text=line),
)


@given(answers)
def test_what_is_written_in_free_text_is_read_back(answer: Any) -> None:
    assert read(in_form(answer, free=True), type(answer)) == answer == read(answer, type(answer))


@given(st.text(), st.sampled_from(KINDS))
def test_any_text_is_read_or_refused_in_words(text: str, kind: Any) -> None:
    try:
        read(FreeText(text=text), kind)
    except MalformedAnswer as error:
        assert str(error)


@pytest.mark.parametrize(
    "text",
    [
        "", "Go up.", "1. Go up.\nThen rest.", "Plan:\n1. Go up.", "2. Go up.", "1. Go up.\n3. Rest.", "1.",
        "1) Go up.", "1. Go up.\n1. Rest.", "\n".join(f"{at}. Go on." for at in range(1, MOST_STEPS + 2)),
    ],
)  # fmt: skip
def test_a_plan_is_numbered_lines_and_nothing_else(text: str) -> None:
    with pytest.raises(MalformedAnswer):
        read(FreeText(text=text), Plan)


def test_a_graph_says_what_comes_after_what() -> None:
    found = read(FreeText(text="3. Rise (slowly)\n4. Rest on #3 (after 3)\n\n5. End (after 1, 4)"), Graph).checked(3)
    assert [(one.number, one.goal, one.after) for one in found.goals] == [
        (3, "Rise (slowly)", []), (4, "Rest on #3", [3]), (5, "End", [1, 4]),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "first", "told"),
    [
        ("1. Rise", 2, "number 2 was due"), ("1. Rise (after 2)\n2. Rest (after 1)", 1, "1 comes after 2"),
        ("1. Rise (after 1)", 1, "1 comes after 1"), ("1. Rise (after 0)", 1, "1 comes after 0"),
    ],
)  # fmt: skip
def test_a_graph_with_a_cycle_or_with_numbers_of_its_own_is_refused(text: str, first: int, told: str) -> None:
    with pytest.raises(MalformedAnswer, match=told):
        read(FreeText(text=text), Graph).checked(first)


@pytest.mark.parametrize("text", ["yes", "Solved: yes", "Reason: so\nSolved: perhaps", "Solved: no\nReason: so"])
def test_a_judgement_is_a_reason_and_then_yes_or_no(text: str) -> None:
    with pytest.raises(MalformedAnswer):
        read(FreeText(text=text), Judged)


def test_bound_to_a_schema_no_step_is_empty_and_line_breaks_become_blanks() -> None:
    assert Plan.model_validate_json('{"steps": ["go\\n up "]}').steps == ["go up"]
    with pytest.raises(ValidationError):
        Plan.model_validate_json('{"steps": ["go up", " "]}')
