"""Null models answer every prompt of the suite whose answer is one of a list, and no other; they ask nobody."""

from __future__ import annotations

import socket
from dataclasses import replace
from importlib.metadata import entry_points
from typing import Any, NamedTuple

import pytest

from agents.answers import ActInForm
from agents.planning_prompts import judge_prompt, plan_prompt, sub_goal_prompt
from agents.prompts import react_prompt
from lab.models import rules
from lab.models.answers import FreeText
from lab.models.connect import connect
from lab.models.nulls import NoChoice, _allowed
from lab.models.prompts import GROUP, Prompt
from procllm.prompts import ACTING, VERIFYING
from sdp.adapters.assistantbench import prompts as web
from sdp.adapters.multihop import labelled
from sdp.adapters.multihop import prompts as hops
from sdp.adapters.scienceworld import prompts as science
from sdp.adapters.travelplanner import prompts as travel
from statefactory.planning.prompts import Chosen, Rated, choose_prompt, predict_prompt, rewarded_prompt
from statefactory.predictors.judge import PROMPTS, Exchange


class Example(NamedTuple):
    prompt: Prompt
    fields: dict[str, Any]


SHOWN = {"tools": "t", "task": "k", "turns": [], "view": "A room.\n\nValid actions: look; go north; take cup"}
STEP = {"question": "q", "found": [], "kind": "collect", "goal": "g", "uncertainty": "marked", "pages": []}
RESULTS = [
    web.Result(number=number, query="a" if number < 3 else "b", title="t", host="h", snippet="s", state="unread")
    for number in range(1, 9)
]
TOOLS = {"question": "q", "found": [], "kind": "collect", "goal": "g", "results": RESULTS, "tried": [], "refused": []}
HOP = {"title": "t", "text": "x", "asked": "a", "finding": "f"}
OPTIONS = [travel.ListedOption(number=number, text=f"option {number}", cost=number) for number in range(1, 5)]
SELECTED = {"trip": "t", "decided": [], "target": "x", "slot": "s", "left": 9, "wanted": [], "failures": []}
CITIES = [
    travel.Candidate(city=city, there=1, back=1, stay=1, restaurants=9, attractions=9) for city in ("A", "B", "C")
]
RATED = [Rated(action=action, reward=0.1) for action in ("look", "go north")]
ACTS = {"files": (), "notes": "", "last_response": "", "last_commands": (), "last_output": "", "task": "t"}
EXAMPLES = [
    Example(travel.SELECT, SELECTED | {"options": OPTIONS}),
    Example(travel.CITIES, {"trip": "t", "count": 2, "candidates": CITIES}),
    Example(web.TOOLS, TOOLS),
    Example(web.REPLAN, TOOLS | {"results": []}),
    Example(web.JUDGE, STEP | {"items": [], "tries": 0}),
    Example(science.JUDGE, {"targets": ["a", "b"], "action": "x", "answer": "y", "gained": 0, "new_room": False}),
    Example(hops.VERIFY, HOP),
    Example(hops.CONSISTENT, {"question": "q", "found": [], "answer": "a"}),
    Example(labelled.HOP, HOP),
    Example(labelled.ANSWER, {"question": "q", "found": [], "answer": "a"}),
    Example(react_prompt("world"), SHOWN),
    Example(react_prompt("world", by_schema=True), SHOWN),
    Example(replace(react_prompt("world", by_schema=True), narrow=ActInForm("look|go north|take [a-z]+")), SHOWN),
    Example(sub_goal_prompt("world"), SHOWN),
    Example(judge_prompt("world", by_schema=True), SHOWN),
    Example(choose_prompt("world"), SHOWN | {"options": ["look", "go north", "take cup"], "most": 2}),
    Example(choose_prompt("world", by_schema=True), SHOWN | {"options": ["look", "go north", "take cup"], "most": 2}),
    Example(rewarded_prompt("world"), SHOWN | {"candidates": RATED}),
    Example(rewarded_prompt("world", by_schema=True), SHOWN | {"candidates": []}),
    Example(predict_prompt("world"), {"tools": "t", "goal": "g", "first": "f", "steps": (), "action": "a"}),
    Example(PROMPTS["analytic"], {"goal": "g", "history": (Exchange("a", "b"),)}),
    Example(PROMPTS["intuitive"], {"goal": "g", "history": (Exchange("a", "b"),)}),
    Example(PROMPTS["stateful"], {"goal": "g", "belief": None, "action": "a", "observation": "o"}),
    Example(VERIFYING, {"effect": "e", "files": ()}),
]
ENGINES = ("first", "last", "random?seed=2", "random?shuffle=5", "last?shuffle=1")


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.prompt.name)
def test_a_null_model_answers_within_the_schema_and_asks_nobody(
    example: Example, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(*of: Any, **more: Any) -> Any:
        raise AssertionError("a null model asked somebody")

    monkeypatch.setattr(socket, "socket", asked)
    monkeypatch.setattr(rules.Rules, "ask", asked)
    backbone, (prompt, fields) = connect(engine), example
    answer = backbone.ask(prompt, **fields)
    assert (answer.call.path, answer.call.paid, answer.call.usd) == ("null", False, 0.0)
    if isinstance(answer.value, FreeText):
        return
    narrow = prompt.narrowed(prompt.fill(**fields)).answer
    narrow.model_validate_json(answer.value.model_dump_json())
    assert backbone.request(prompt, **fields) == connect(engine).request(prompt, **fields)


def test_free_text_that_lists_options_is_answered_in_its_form() -> None:
    said = connect("last").ask(react_prompt("world"), **SHOWN).value
    assert said.text == "Thought: \nAction: take cup"
    fields = SHOWN | {"options": ["look", "go north", "take cup"], "most": 2}
    chosen = Chosen.from_text(connect("first").ask(choose_prompt("world"), **fields).value.text)
    assert chosen.numbers == [1, 2]
    orders = {
        tuple(
            Chosen.from_text(connect(f"first?shuffle={seed}").ask(choose_prompt("world"), **fields).value.text).numbers
        )
        for seed in range(20)
    }
    assert len(orders) == 6  # every two of three, in either order


def test_searches_and_cities_are_named_as_often_as_they_are_wanted() -> None:
    assert connect("first").ask(web.TOOLS, **TOOLS).value.scrape == [1, 2, 3, 4, 5, 6]
    assert connect("last").ask(web.TOOLS, **TOOLS).value.scrape == [8, 7, 6, 5, 4, 3]
    shuffled = connect("first?shuffle=1").ask(web.TOOLS, **TOOLS).value.scrape
    assert {*shuffled[:2]} == {1, 2}  # results change places within a search alone
    assert connect("last").ask(travel.CITIES, trip="t", count=2, candidates=CITIES).value.cities == ["C", "B"]


def test_prompts_that_ask_for_a_text_are_refused() -> None:
    with pytest.raises(NoChoice, match=r"agents.react.world: it asks for free text, and its 'view' lists none here"):
        connect("first").ask(react_prompt("world"), **SHOWN | {"view": "A room."})
    with pytest.raises(NoChoice, match="agents.react.world.schema"):
        connect("first").ask(react_prompt("world", by_schema=True), **SHOWN | {"view": ""})
    for prompt, fields in (
        (plan_prompt("world", by_schema=True), SHOWN),
        (web.DECOMPOSE, {"question": "q", "planned": [], "single": False}),
        (ACTING, ACTS | {"effect": "e"}),
    ):
        with pytest.raises(NoChoice, match=f'{prompt.name}: .* as in "first, {prompt.operator.capitalize()}: rules'):
            connect("first").ask(prompt, **fields)


def test_every_prompt_that_has_a_choice_is_among_the_examples() -> None:
    found = {prompt for entry in entry_points(group=GROUP) for prompt in entry.load()()}
    texts = {example.prompt.file for example in EXAMPLES}  # a text may be asked of several worlds
    assert len(found) > 150
    for prompt in found:
        properties, known = prompt.schema["properties"], prompt.schema.get("$defs", {})
        if any(_allowed(about, known) is not None for about in properties.values()):
            assert prompt.file in texts, prompt.name
