"""Forms that bind actions: what a world's tools state, and no more than what the world takes."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import pytest
from pydantic import ValidationError

from agents.answers import Act, ActInForm
from agents.environment import Observation
from agents.planning_prompts import sub_goal_prompt
from agents.play import Play, Schema, Settings
from agents.worlds import multihop
from agents.worlds.games import ALFWORLD, BLOCKSWORLD
from lab.models.backbone import Answer, Call
from lab.models.prompts import Prompt
from statefactory.planning.prompts import ChooseFields, Listed

TAKEN = {
    multihop.BOUND: ["search[Ann Lee]", "lookup[born in]", "finish[yes]"],
    BLOCKSWORLD.form: [
        "pick up the red block", "put down the red block", "unstack the red block from on top of the blue block",
        "stack the red block on top of the blue block",
    ],
    ALFWORLD.form: [
        "go to cabinet 12", "take mug 1 from countertop 2", "move mug 1 to shelf 1", "heat mug 1 with microwave 1",
        "use desklamp 1", "look", "inventory", "examine book 1",
    ],
}  # fmt: skip
REFUSED = {
    multihop.BOUND: ["search", "search[]", "answer[yes]", "1. search[Ann]", "search[a]\nfinish[b]", "Search[Ann]"],
    BLOCKSWORLD.form: [
        "pick up red block",
        "stack the red block from on top of the blue block",
        "unstack the red block",
    ],
    ALFWORLD.form: ["go to cabinet", "take mug 1", "put mug 1 in shelf 1", "help"],
}


@pytest.mark.parametrize("form", TAKEN)
def test_a_form_takes_what_the_tools_state_and_nothing_else(form: str) -> None:
    bound = ActInForm(form)(None)
    assert issubclass(bound, Act) and bound is ActInForm(form)(None)
    for action in TAKEN[form]:
        assert bound(thought="", action=action).action == action
    for action in REFUSED[form]:
        with pytest.raises(ValidationError, match="pattern"):
            bound(thought="", action=action)
    (pattern,) = {bound.model_json_schema()["properties"]["action"]["pattern"]}
    assert all(re.search(pattern, action) for action in TAKEN[form])


def test_what_the_form_takes_the_world_reads() -> None:
    assert all(multihop.ACTION.fullmatch(action) for action in TAKEN[multihop.BOUND])


def test_a_choice_bound_to_a_schema_has_at_most_k_of_the_listed_numbers() -> None:
    fields = ChooseFields(tools="", task="", turns=[], options=["a", "b", "c", "d"], most=3)
    bound = Listed()(fields)
    assert bound(thought="", numbers=[4, 1, 2]).numbers == [4, 1, 2] and bound(thought="", numbers=[]).numbers == []
    for wrong in ([5], [0], [1, 2, 3, 4]):
        with pytest.raises(ValidationError):
            bound(thought="", numbers=wrong)


def test_a_schema_that_there_is_not_is_named() -> None:
    with pytest.raises(ValueError, match="schema='form': choose true, false or 'action'"):
        Settings(schema="form")  # type: ignore[arg-type]


class Bound(NamedTuple):
    """An environment whose one action has a form."""

    name: str = "corridor"
    tools: str = "The only action is: go on"
    form: str = "go on"

    def begin(self) -> str:
        return "Go on."

    def view(self) -> str:
        return ""

    def act(self, action: str) -> Observation:
        return Observation("You did.", done=True)


@pytest.mark.parametrize(
    ("schema", "own", "bound"), [(True, False, False), ("action", False, True), ("action", True, False)]
)
def test_an_action_is_asked_for_in_its_form_unless_the_agent_has_actions_of_its_own(
    schema: Schema, own: bool, bound: bool
) -> None:
    asked: list[Prompt] = []

    class Backbone:
        def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
            asked.append(prompt.narrowed(prompt.fill(**fields)))
            return Answer(Act(thought="", action="go on"), Call("act", prompt.name, "rules"))

    play = Play(Bound(), Backbone(), Settings(schema=schema))  # type: ignore[arg-type]
    shown = {"prompt": sub_goal_prompt("corridor", by_schema=True), "now": "go", "reports": []} if own else {}
    assert play.act(kept=lambda act: "", **shown) is not None and play.over
    assert ("pattern" in asked[0].schema["properties"]["action"]) == bound
