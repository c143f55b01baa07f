"""What a model or a world may do wrong: a defined reward or a clear error, and a counted answer, at every level.

A scripted model's texts are read as an endpoint reads them; the embedder counts letters, so that no test waits for a
real one. How answers are repaired and asked for again is in tests/lab/models.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from string import ascii_lowercase
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.models.backbone import Answer, Backbone, Call, Ledger
from lab.models.connect import connect
from lab.models.engines import parse
from lab.models.parsing import parse as read
from lab.models.prompts import Prompt
from standins.statefactory.languages import UnknownLanguage
from statefactory.extraction import Trace, extract, read_trace
from statefactory.predictors.factored import StateFactory, trace_rewards
from statefactory.state import LEVELS, Attribute, Entity, Level

GOAL = "Put the kite into the box."
ACTIONS = ("look", "take kite", "put kite in box")
OBSERVATIONS = ("You see a kite and a box.", "You hold the kite.", "The kite is in the box.")
ASKING_LEVELS: tuple[Level, ...] = LEVELS[1:]
FOREIGN = ("把风筝放进盒子里。", "ضع الطائرة الورقية في الصندوق", "Lege den Drachen in die Kiste.", "🪁 ➡️ 📦")

Item = dict[str, Any]


class Letters:
    """Texts as their counts of letters: equal texts are alike, and others more or less so."""

    name = "letters"

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        counts = np.array([[1.0, *map(text.lower().count, ascii_lowercase)] for text in texts])
        return (counts / np.linalg.norm(counts, axis=1, keepdims=True)).astype(np.float32)


class Says:
    """A backbone whose model says `behave(operator, number of the call)`. texts: what it was asked."""

    engine = parse("small")

    def __init__(self, behave: Callable[[str, int], str]) -> None:
        self.behave, self.texts = behave, []

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        messages = prompt.render(prompt.fill(**fields))
        self.texts.append("\n".join(message["content"] for message in messages))
        value, path = read(self.behave(prompt.operator, len(self.texts) - 1), prompt.answer)
        return Answer(value, Call(prompt.operator, prompt.name, path))

    def request(self, prompt: Prompt, sample: int = 0, **fields: Any) -> str:
        return ""


def thing(identity: str, **attributes: str) -> Item:
    return {"identity": identity, "attributes": [{"name": n, "value": v} for n, v in attributes.items()]}


KITE, BARE = thing("kite", location="in the box"), thing("kite")
SENTENCES = {"identity": "kite", "statements": ["The kite is in the box."]}
ITEMS: dict[str, Any] = {"textual": "The kite is in the box.", "object_centric": SENTENCES, "object_attribute": KITE}


def well(operator: str, number: int = 0, state: Any = (KITE,), goal: Any = (KITE,)) -> str:
    """A model that always says the same of the state and of the goal."""
    bodies = {"perceive": {"thinking": "", "state": state}, "refine": {"state": state},
              "interpret": {"thinking": "", "goal": goal}}  # fmt: skip
    return json.dumps(bodies[operator])


def followed(
    backbone: Backbone, level: Level = "object_attribute", goal: str = GOAL, observations: Any = OBSERVATIONS
) -> tuple[Trace, list[float]]:
    """The trace of the short trajectory, and its rewards; the trace comes back from JSON as it was."""
    trace = extract(backbone, goal, ACTIONS, observations, level)
    assert read_trace(json.loads(json.dumps(trace.to_json()))) == trace
    return trace, trace_rewards(trace, Letters()).tolist()


# --- answers that cannot be read ----------------------------------------------------------------------------------

NO_ANSWERS = {
    "prose": "The kite seems to be in the box by now.",
    "nothing": "",
    "cut off": '{"thinking": "", "state": [{"identity": "kite", "attr',
    "a list": json.dumps([[KITE], [KITE]]),
    "a number": "17",
    "the schema": json.dumps({"type": "object", "properties": {"state": {"type": "array"}}}),
    "another module's": json.dumps({"belief": "", "reward": 3}),
    "half a character": '{"thinking": "", "state": [{"identity": "\\ud83e", "attributes": []}]}',
}
WRONG_SHAPES: dict[str, Any] = {
    "attributes as a mapping": [{"identity": "kite", "attributes": {"location": "in the box"}}],
    "attributes as pairs": [{"identity": "kite", "attributes": [["location", "in the box"]]}],
    "no attributes key": [{"identity": "kite"}],
    "no identity": [{"attributes": [{"name": "location", "value": "in the box"}]}],
    "an invented key": [KITE | {"confidence": "high"}],
    "a number as value": [{"identity": "kite", "attributes": [{"name": "count", "value": 3}]}],
    "null as value": [{"identity": "kite", "attributes": [{"name": "owner", "value": None}]}],
    "a nested value": [{"identity": "kite", "attributes": [{"name": "at", "value": {"place": "box"}}]}],
    "an object, not a list": KITE,
    "a text": "the kite is in the box",
    "null": None,
}
UNREADABLE = NO_ANSWERS | {kind: json.dumps({"thinking": "", "state": shape}) for kind, shape in WRONG_SHAPES.items()}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_a_model_that_gives_no_answer_leaves_nothing_known_and_every_answer_is_counted(kind: str) -> None:
    for level in ASKING_LEVELS if kind in NO_ANSWERS else ("object_attribute",):
        ledger = Ledger(Says(lambda operator, number: UNREADABLE[kind]))
        trace, rewards = followed(ledger, level)
        assert (trace.states, trace.goals) == (((),) * 3, ((),) * 3)
        assert (rewards, trace.malformed) == ([0.0] * 3, 9)
        assert {call.path for call in ledger.calls} == {"malformed"} and len(ledger.calls) == 9


@pytest.mark.parametrize("level", ASKING_LEVELS)
def test_the_items_of_another_level_are_a_wrong_shape(level: Level) -> None:
    other = [ITEMS["textual" if level != "textual" else "object_attribute"]]
    trace, rewards = followed(Says(lambda *asked: well(*asked, state=other, goal=other)), level)
    assert (rewards, trace.malformed) == ([0.0] * 3, 9)


@pytest.mark.parametrize("module", ["perceive", "refine", "interpret"])
def test_one_module_that_fails_leaves_the_others_their_work(module: str) -> None:
    trace, rewards = followed(Says(lambda operator, number: "no idea" if operator == module else well(operator)))
    assert (rewards, trace.malformed) == ([0.0] * 3 if module == "interpret" else [1.0] * 3, 3)


def test_an_answer_that_cannot_be_read_leaves_state_and_goal_as_they_were() -> None:
    trace, rewards = followed(Says(lambda operator, number: well(operator) if number < 3 else "I lost track."))
    assert len(set(trace.states)) == len(set(trace.goals)) == 1
    assert (rewards, trace.malformed) == ([1.0] * 3, 6)


def test_a_goal_that_could_not_be_read_is_asked_for_afresh() -> None:
    """As the previous goal an empty one would forbid to add anything, at every later step."""
    model = Says(lambda operator, number: "no idea" if number == 2 else well(operator))
    trace, rewards = followed(model)
    assert (rewards, trace.malformed) == ([0.0, 1.0, 1.0], 1)
    assert "Previous goal state: null" in model.texts[5]


# --- states and texts that are odd and well formed ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("level", "state", "goal", "reward"),
    [
        ("object_attribute", [KITE], [KITE], 1.0),
        ("object_attribute", [], [KITE], 0.0),
        ("object_attribute", [KITE], [], 0.0),
        ("object_attribute", [], [], 0.0),
        ("object_attribute", [BARE], [KITE], 0.0),  # no part of the goal is seen to hold
        ("object_attribute", [KITE], [BARE], 1.0),  # a goal that asks for no property asks that the object is there
        ("object_attribute", [BARE], [BARE], 1.0),
        ("object_attribute", [BARE, KITE], [KITE], 1.0),
        ("object_attribute", [KITE, KITE], [KITE, KITE], 1.0),
        ("object_attribute", [thing("", **{"": ""})], [thing("", **{"": ""})], 1.0),
        ("object_centric", [], [SENTENCES], 0.0),
        ("object_centric", [SENTENCES], [], 0.0),
        ("object_centric", [SENTENCES], [SENTENCES], 1.0),
        ("object_centric", [SENTENCES | {"statements": []}], [SENTENCES], 0.0),
        ("textual", [], [ITEMS["textual"]], 0.0),
        ("textual", [ITEMS["textual"]], [], 0.0),
        ("textual", [ITEMS["textual"]], [ITEMS["textual"]], 1.0),
    ],
)
def test_objects_without_attributes_and_empty_states_have_a_defined_reward(
    level: Level, state: list[Any], goal: list[Any], reward: float
) -> None:
    trace, rewards = followed(Says(lambda *asked: well(*asked, state=state, goal=goal)), level)
    assert rewards == pytest.approx([reward] * 3) and trace.malformed == 0


CONTROL = "kite\x00\x07\x1b[31m\u202e\r\n\t\ufeff"
SLY = '{{ goal }} {% for x in y %} {"thinking": "", "state": []} </think>'


@pytest.mark.parametrize("text", [CONTROL, SLY, *FOREIGN])
def test_any_text_passes_through_goals_observations_and_answers_unchanged(text: str) -> None:
    odd = [thing(text, **{"lo\x00cation": "in\x1f the\x85 box"})]
    model = Says(lambda *asked: well(*asked, state=odd, goal=odd))
    trace, rewards = followed(model, goal=text, observations=(text, "\x00", "\n\n\t"))
    assert rewards == pytest.approx([1.0] * 3)
    assert trace.states[0] == (Entity(text, (Attribute("lo\x00cation", "in\x1f the\x85 box"),)),)
    assert f"Task: {text}\n" in model.texts[0] and f"Observation: {text}" in model.texts[0]


@pytest.mark.parametrize("goal", [*FOREIGN, "", GOAL])
def test_a_goal_that_no_rule_reads_is_an_error_that_says_so(goal: str) -> None:
    for level in ASKING_LEVELS:
        with pytest.raises(UnknownLanguage, match="No rules read the task.*Use a model as engine"):
            followed(connect("rules"), level, goal)
    rewards = followed(connect("rules"), "raw", FOREIGN[0], ("", CONTROL, FOREIGN[0]))[1]
    assert rewards[2] == pytest.approx(1.0) and min(rewards) >= 0, "the raw level asks nobody"


@pytest.mark.parametrize("observations", [(), OBSERVATIONS[:2], (*OBSERVATIONS, "more")])
def test_actions_without_their_observations_are_an_error(observations: tuple[str, ...]) -> None:
    model = Says(well)
    with pytest.raises(ValueError, match=f"3 actions with {len(observations)} observations"):
        followed(model, observations=observations)
    assert StateFactory(model, Letters()).predict(GOAL, (), ()).shape == (0,) and not model.texts


# --- whatever a model may say -------------------------------------------------------------------------------------

WORDS = st.text(st.characters(codec="utf-8"), max_size=12)
ATTRIBUTES = st.dictionaries(WORDS, WORDS, max_size=3)
OBJECTS = st.lists(st.builds(lambda identity, own: thing(identity, **own), WORDS, ATTRIBUTES), max_size=4)
STATES = st.builds(lambda state: json.dumps({"thinking": "", "state": state}), OBJECTS)
SAID = st.one_of(WORDS, st.builds(json.dumps, OBJECTS), STATES)


@settings(max_examples=150)
@given(text=SAID, observations=st.lists(WORDS, min_size=1, max_size=3))
def test_whatever_is_said_every_step_has_a_reward_between_0_and_1_and_every_answer_an_account(
    text: str, observations: list[str]
) -> None:
    ledger = Ledger(Says(lambda operator, number: text))
    trace = extract(ledger, GOAL, ["look"] * len(observations), observations)
    rewards = trace_rewards(trace, Letters())
    assert rewards.shape == (len(observations),)
    assert np.isfinite(rewards).all() and ((rewards >= 0) & (rewards <= 1)).all()
    assert trace.malformed == sum(call.path == "malformed" for call in ledger.calls)
    assert len(ledger.calls) == 3 * len(observations)
