"""From text to a typed answer: whatever a model says, it is an answer or it is malformed."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from asking import Placing
from lab.models.parsing import LONGEST_REPAIR, MalformedAnswer, parse
from lab.models.prompts import AnswerModel

GOOD = {"shelf": 3, "why": "it is free"}


class Anything(AnswerModel):
    """The least demanding answer, so that most JSON gets through to it."""

    value: Any


class Mixed(AnswerModel):
    """Each kind of field that the suite's answers have."""

    number: float
    texts: list[str]
    maybe: int | None
    table: dict[str, float]


surrogates = st.text(st.characters(categories=["Cs", "L", "P"]), max_size=20)
leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | surrogates
values = st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12)
keyed = st.dictionaries(st.sampled_from(["shelf", "why", "value", "number", "texts", "maybe", "table", "x"]), values)
binary = st.binary(max_size=200).map(lambda data: data.decode("latin-1"))
brackets = st.text("{}[]\",:\\'` \n1aenu/*#<", max_size=80)
documents = st.builds(json.dumps, keyed | values, ensure_ascii=st.booleans(), indent=st.sampled_from([None, 1]))
torn = st.builds(lambda text, at: text[: int(len(text) * at)], documents, st.floats(0, 1))
wrapped = st.builds("{}{}{}".format, st.text(max_size=20), documents, st.text(max_size=20))


def check(text: str) -> None:
    for model in (Placing, Anything, Mixed):
        try:
            value, path = parse(text, model)
        except MalformedAnswer as error:
            assert 0 < len(str(error)) < 5000
        else:
            assert isinstance(value, model) and path in ("strict", "repaired")
            assert model.model_validate_json(value.model_dump_json()) == value  # fit for caches and recordings


@settings(max_examples=250, deadline=None)
@given(st.text() | binary | surrogates | brackets | documents | torn | wrapped)
@example("")
@example("null")
@example("\x00")
@example('{"why": "\\ud800", "shelf": 1}')
@example('{"value": "\ud800"}')
@example('{"value": NaN}')
@example('{"value": 1e999}')
@example('{"value": ' + "9" * 5000 + "}")
@example('{"shelf": ' + "9" * 5000 + ', "why": ""}')
@example('{"value": ' + "[" * 150 + "]" * 150 + "}")
@example('{"value": ' + "[" * 3000 + "]" * 3000 + "}")
@example("[" * 20_000)
@example("{" * 300)
@example('{"value":' * 2000)
@example("{'" * 300)
@example("```json")
@example('<think>{"value": 1}')
def test_any_text_is_an_answer_or_malformed(text: str) -> None:
    check(text)


@settings(max_examples=80, deadline=None)
@given(st.integers(), st.text(), st.booleans(), st.sampled_from([None, 2]))
def test_every_answer_that_json_can_hold_is_read_strictly(shelf: int, why: str, ascii_only: bool, indent: int) -> None:
    text = json.dumps({"shelf": shelf, "why": why}, ensure_ascii=ascii_only, indent=indent)
    assert parse(text, Placing) == (Placing(shelf=shelf, why=why), "strict")


@pytest.mark.parametrize(
    "text",
    [
        f"Sure:\n```json\n{json.dumps(GOOD)}\n```\nAnything else?",
        f"<think>Perhaps {{'shelf': 9}} or {{'a': [1]}}?</think>{json.dumps(GOOD)}",
        f"I look at {{the shelves}} first. {json.dumps(GOOD)}",
        f"[{json.dumps(GOOD)}]",
        str(GOOD),
        '{"shelf": 3, "why": "it is free",}',
        '{shelf: 3, why: "it is free"}',
        '{"shelf": "3", "why": "it is free"} // done',
        f"```json\n{json.dumps(GOOD)}",  # only the fence's end is missing
        f"It's [here]: {json.dumps(GOOD)} I'd say :-}}",
    ],
)
def test_common_slips_are_repaired_and_booked_as_repaired(text: str) -> None:
    assert parse(text, Placing) == (Placing(**GOOD), "repaired")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"shelf": 3}', "why: Field required"),
        ('{"shelf": "top", "why": ""}', "shelf: .*integer"),
        ('{"shelf": 3, "why": "", "also": 1}', "also: Extra"),
        ("no idea", "no JSON object"),
        ("3", "no JSON object"),
        ('{"shelf": 3, "why": "it is free"', "cut off"),
        ('{"why": "it is free", "shelf": 3', "cut off"),
        ('[{"shelf": 3, "why": "it is free"}', "cut off"),
        ("{'shelf': 3, 'why': 'it is {free}", "cut off"),
        (f"<think>Perhaps {json.dumps(GOOD)}, or", "cut off"),
        ('{"shelf": 1, "why": "a"} {"row": 2}', "no JSON object"),
    ],
)
def test_a_malformed_answer_says_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(MalformedAnswer, match=message):
        parse(text, Placing)


LAYOUTS = {
    "plain": json.dumps,
    "indented": lambda value: json.dumps(value, indent=1),
    "in a fence": lambda value: f"Sure, here it is:\n```json\n{json.dumps(value, indent=1)}\n```\nAnything else?",
    "in a list": lambda value: json.dumps([value]),
    "as Python writes it": repr,
}


@settings(max_examples=60, deadline=None)
@given(st.integers(), st.text() | st.text("{}[]\"'\\,: a\n"), st.sampled_from(list(LAYOUTS)))
@example(50, "it's {the} [one]}", "as Python writes it")
def test_an_answer_cut_at_any_point_is_malformed_or_the_whole_answer(shelf: int, why: str, layout: str) -> None:
    value = {"why": why, "shelf": shelf}
    text = LAYOUTS[layout](value)
    for end in range(len(text)):
        try:
            got, _ = parse(text[:end], Placing)
        except MalformedAnswer:
            continue
        assert got == Placing(**value)  # what is missing is a fence, or words after it


def test_a_model_that_repeats_itself_for_ever_does_not_hold_the_parser() -> None:
    started = time.perf_counter()
    with pytest.raises(MalformedAnswer, match="too long to repair"):
        parse("{'" * LONGEST_REPAIR, Placing)
    assert time.perf_counter() - started < 5
    long = json.dumps({"shelf": 1, "why": "x" * 10 * LONGEST_REPAIR})
    assert parse(long, Placing)[1] == "strict"  # long answers that are JSON are fine
