"""What the modules leave out where a prompt does not fit: what goes first, what never goes, and that it shows."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.models.engines import parse
from lab.models.prompts import Fields, Prompt
from lab.models.rendering import CUT_AT, PromptTooLong, fitted, rendered
from statefactory.prompts import ITEMS, modules
from statefactory.state import Level, State, at_level, entity
from statefactory.truncation import LEAST_OBSERVATION, MARK, oldest, without_end

LEVELS: tuple[Level, ...] = tuple(ITEMS)
MODULES = ("perceive", "refine", "interpret")
TASK = "Put the kite into the box."
GOAL = entity("kite", {"location": "in the box"})
TALE = "Once upon a time. " * 5000
ENGINE = parse("small?context=4096&max_tokens=500")


def things(count: int) -> list[Any]:
    return [entity(f"book {number}", {"location": f"on shelf {number}"}) for number in range(count)]


def about(module: str, level: Level, count: int, observation: str) -> tuple[Prompt, Fields]:
    """A module's prompt and its fields, with this many objects known."""
    known: State = at_level(things(count), level)
    goal = at_level([GOAL], level)
    values = {
        "perceive": {"previous_goal": goal, "previous_state": known, "observation": observation},
        "refine": {"previous_state": known[: count // 2], "state": known},
        "interpret": {"previous_goal": goal, "state": known, "observation": observation},
    }
    prompt = getattr(modules(level), module)
    return prompt, prompt.fill(goal=TASK, action="look", **values[module])


def written(prompt: Prompt, fields: Fields) -> str:
    return "".join(message["content"] for message in prompt.render(fields))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("module", MODULES)
def test_the_oldest_objects_go_and_their_number_is_told(module: str, level: Level) -> None:
    prompt, fields = about(module, level, 800, "You see a box.")
    short = fitted(prompt, fields, ENGINE)[0]
    text = written(prompt, short)
    assert len(text) <= (4096 - 500) * CUT_AT < len(text) + 200
    assert short.left_out > 0
    assert f"left out for length: {short.left_out}" in text
    name = "previous_state" if module == "perceive" else "state"
    kept = getattr(short, name)
    assert kept and kept == getattr(fields, name)[-len(kept) :]
    assert (short.goal, short.action) == (fields.goal, fields.action)
    assert getattr(short, "previous_goal", None) == getattr(fields, "previous_goal", None)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("module", MODULES)
def test_what_is_not_cut_does_not_say_so(module: str, level: Level) -> None:
    prompt, fields = about(module, level, 5, "You see a box.")
    assert fitted(prompt, fields, ENGINE)[0] is fields
    assert "left out" not in written(prompt, fields).rpartition("Task:")[2]


@pytest.mark.parametrize("module", ["perceive", "interpret"])
def test_a_long_observation_loses_its_end_before_any_object_goes(module: str) -> None:
    prompt, fields = about(module, "object_attribute", 20, TALE)
    short = fitted(prompt, fields, ENGINE)[0]
    assert short.observation.endswith(MARK) and TALE.startswith(short.observation.removesuffix(MARK))
    assert len(short.observation) > LEAST_OBSERVATION + 1000  # no more than needed
    assert short.left_out == 0
    assert short.model_copy(update={"observation": TALE}) == fields


@pytest.mark.parametrize("module", ["perceive", "interpret"])
def test_two_thousand_characters_of_an_observation_stay_whatever_the_state_takes(module: str) -> None:
    prompt, fields = about(module, "object_attribute", 800, TALE)
    short = fitted(prompt, fields, ENGINE)[0]
    assert short.observation == TALE[:LEAST_OBSERVATION] + MARK
    assert short.left_out > 0 and MARK in written(prompt, short)


def test_refining_leaves_the_previous_state_out_before_the_current_one() -> None:
    prompt, fields = about("refine", "object_attribute", 80, "")
    short = fitted(prompt, fields, ENGINE)[0]
    assert 0 < len(short.previous_state) < 40 and short.state == fields.state
    prompt, fields = about("refine", "object_attribute", 800, "")
    short = fitted(prompt, fields, ENGINE)[0]
    assert short.previous_state == () and 0 < len(short.state) < 800
    assert short.left_out == 400 + 800 - len(short.state)


@pytest.mark.parametrize("module", MODULES)
def test_a_task_that_does_not_fit_is_never_cut(module: str) -> None:
    prompt, fields = about(module, "object_attribute", 5, "You see a box.")
    with pytest.raises(PromptTooLong, match=rf"object_attribute\.{module}, also when all that may go is left out"):
        fitted(prompt, fields.model_copy(update={"goal": TALE}), ENGINE)


@pytest.mark.parametrize("module", MODULES)
def test_a_first_step_without_a_state_is_shortened_too(module: str) -> None:
    prompt, fields = about(module, "object_attribute", 0, TALE)
    none = {name: None for name in ("previous_state", "previous_goal") if name in type(fields).model_fields}
    short = fitted(prompt, fields.model_copy(update=none), ENGINE)[0]
    assert len(written(prompt, short)) <= (4096 - 500) * CUT_AT


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_ten_thousand_objects_are_cut_in_a_moment(module: str) -> None:
    prompt, fields = about(module, "object_attribute", 10_000, TALE)
    values = {name: getattr(fields, name) for name in type(fields).model_fields}
    rendered(prompt, values, ENGINE)  # the template is compiled once
    started = time.process_time()
    assert rendered(prompt, values, ENGINE).cut
    assert time.process_time() - started < 3


@settings(max_examples=200)
@given(text=st.text(max_size=200), over=st.integers(1, 300), least=st.integers(0, 100))
def test_a_cut_text_is_shorter_keeps_what_it_must_and_is_marked_once(text: str, over: int, least: int) -> None:
    short = without_end(text, over, least)
    if short is None:
        assert len(text) <= max(least, len(text) - over - len(MARK)) + len(MARK)
        return
    assert len(short) < len(text)
    assert short.endswith(MARK) and text.startswith(short.removesuffix(MARK))
    assert len(short) >= least
    assert len(text) - len(short) == over or len(short) == least + len(MARK)
    again = without_end(short, over, least)
    assert again is None or (len(again) < len(short) and again.count(MARK) == 1)


@given(sizes=st.lists(st.integers(1, 50), max_size=20), over=st.integers(1, 600))
def test_no_more_items_go_than_it_takes(sizes: list[int], over: int) -> None:
    count = oldest(sizes, over)
    assert sum(sizes[:count]) >= over or count == len(sizes)
    assert count == 0 or sum(sizes[: count - 1]) < over
