"""What a model or a world may do wrong: a defined reward or a clear error, and a counted answer, at every level.

A scripted server plays the model; the embedder counts letters, so that no test waits for a real one.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from string import ascii_lowercase
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chat_server as chat
from chat_server import ChatServer, Request
from lab.models.backbone import Answer, Backbone, Call, Ledger, by_operator
from lab.models.connect import connect
from lab.models.endpoint import Endpoint
from lab.models.engines import parse
from lab.models.prompts import Prompt
from lab.models.rendering import PromptTooLong
from standins.statefactory.languages import UnknownLanguage
from statefactory.extraction import Trace, extract, read_trace
from statefactory.predictors.factored import StateFactory, trace_rewards
from statefactory.state import LEVELS, Attribute, Entity, Level

GOAL = "Put the kite into the box."
ACTIONS = ("look", "take kite", "put kite in box")
OBSERVATIONS = ("You see a kite and a box.", "You hold the kite.", "The kite is in the box.")
MODULES = ("perceive", "refine", "interpret")
ASKING_LEVELS: tuple[Level, ...] = LEVELS[1:]

Item = dict[str, Any]
Follow = Callable[..., tuple[Trace, np.ndarray, Ledger]]


class Letters:
    """Texts as their counts of letters: equal texts are alike, and others more or less so."""

    name = "letters"

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        counts = np.array([[1.0, *map(text.lower().count, ascii_lowercase)] for text in texts])
        return (counts / np.linalg.norm(counts, axis=1, keepdims=True)).astype(np.float32)


def thing(identity: str, **attributes: str) -> Item:
    return {"identity": identity, "attributes": [{"name": n, "value": v} for n, v in attributes.items()]}


KITE = thing("kite", location="in the box")
ITEMS: dict[str, Any] = {
    "textual": "The kite is in the box.",
    "object_centric": {"identity": "kite", "statements": ["The kite is in the box."]},
    "object_attribute": KITE,
}


def answers(state: Sequence[Any], goal: Sequence[Any] = (KITE,)) -> Callable[[Request], chat.Response]:
    """A model that always says the same of the state and of the goal."""

    def behave(request: Request) -> chat.Response:
        bodies = {
            "perceive": {"thinking": "", "state": state},
            "refine": {"state": state},
            "interpret": {"thinking": "", "goal": goal},
        }
        return chat.answer(bodies[module_of(request)])

    return behave


def module_of(request: Request) -> str:
    return request.body["response_format"]["json_schema"]["name"].rpartition("_")[2]


def by_module(**responses: chat.Response) -> Callable[[Request], chat.Response]:
    """A model that goes wrong in the named modules, and answers well in the others."""
    well = answers([KITE])
    return lambda request: responses.get(module_of(request)) or well(request)


@pytest.fixture(scope="module")
def standing() -> Iterator[tuple[ChatServer, Endpoint]]:
    """A server and its client, which is slow to make."""
    with ChatServer() as chat_server:
        yield chat_server, Endpoint(parse("small?patience=5"), chat_server.address, cache=None)


@pytest.fixture
def server(standing: tuple[ChatServer, Endpoint]) -> ChatServer:
    """The standing server, as if it were new."""
    standing[0].requests.clear()
    return standing[0]


@pytest.fixture
def follow(standing: tuple[ChatServer, Endpoint]) -> Follow:
    """Extraction along the short trajectory with the standing server's model."""
    return lambda **about: followed(standing[1], **about)


def followed(
    backbone: Backbone, level: Level = "object_attribute", goal: str = GOAL, observations: Any = OBSERVATIONS
) -> tuple[Trace, np.ndarray, Ledger]:
    """The trace of the short trajectory, its rewards, and the accounts."""
    ledger = Ledger(backbone)
    trace = extract(ledger, goal, ACTIONS, observations, level)
    return trace, trace_rewards(trace, Letters()), ledger


def paths(ledger: Ledger) -> Counter[str]:
    """How the answers were read, as the accounts have it."""
    return sum((Counter(took["paths"]) for took in by_operator(ledger.calls).values()), Counter())


def test_good_answers_are_rewarded_so_that_the_bad_ones_can_be_told(server: ChatServer, follow: Follow) -> None:
    server.behave(answers([KITE]))
    trace, rewards, ledger = follow()
    assert (rewards.tolist(), trace.malformed) == ([1.0, 1.0, 1.0], 0)
    assert paths(ledger) == {"schema": 9}


# --- no answer at all ---------------------------------------------------------------------------------------------

NO_ANSWERS = {
    "prose": chat.says("The kite seems to be in the box by now."),
    "nothing": chat.empty(),
    "cut off": chat.cut_by_length('{"thinking": "", "state": [{"identity": "kite", "attr'),
    "a list": chat.answer([[KITE], [KITE]]),
    "a number": chat.says("17"),
    "the schema": chat.answer({"type": "object", "properties": {"state": {"type": "array"}}}),
    "another module's": chat.answer({"belief": "", "reward": 3}),
}


@pytest.mark.parametrize("level", ASKING_LEVELS)
@pytest.mark.parametrize("kind", NO_ANSWERS)
def test_a_model_that_gives_no_answer_leaves_nothing_known_and_every_answer_is_counted(
    server: ChatServer, follow: Follow, kind: str, level: Level
) -> None:
    server.behave(lambda request: NO_ANSWERS[kind])
    trace, rewards, ledger = follow(level=level)
    assert (trace.states, trace.goals) == (((),) * 3, ((),) * 3)
    assert rewards.tolist() == [0.0, 0.0, 0.0]
    assert trace.malformed == 9
    assert paths(ledger) == {"malformed": 9}
    assert server.count == 18  # each was asked once more
    assert read_trace(json.loads(json.dumps(trace.to_json()))) == trace


def test_a_refusal_is_counted_and_not_asked_again(server: ChatServer, follow: Follow) -> None:
    server.behave(lambda request: chat.refuses())
    trace, rewards, ledger = follow()
    assert (rewards.tolist(), trace.malformed, paths(ledger)) == ([0.0] * 3, 9, {"malformed": 9})
    assert server.count == 9


@pytest.mark.parametrize("module", MODULES)
def test_one_module_that_fails_leaves_the_others_their_work(server: ChatServer, follow: Follow, module: str) -> None:
    server.behave(by_module(**{module: chat.says("no idea")}))
    trace, rewards, ledger = follow()
    assert trace.malformed == 3
    assert paths(ledger) == {"schema": 6, "malformed": 3}
    assert rewards.tolist() == ([0.0] * 3 if module == "interpret" else [1.0] * 3)


def test_an_answer_that_cannot_be_read_leaves_state_and_goal_as_they_were(server: ChatServer, follow: Follow) -> None:
    well = answers([KITE])
    server.behave(lambda request: well(request) if request.number < 3 else chat.says("I lost track."))
    trace, rewards, _ = follow()
    assert len(set(trace.states)) == len(set(trace.goals)) == 1
    assert (rewards.tolist(), trace.malformed) == ([1.0] * 3, 6)


def test_a_goal_that_could_not_be_read_is_asked_for_afresh(server: ChatServer, follow: Follow) -> None:
    """As the previous goal an empty one would forbid to add anything, at every later step."""
    well = answers([KITE])
    server.behave(lambda request: chat.says("no idea") if request.number in (2, 3) else well(request))
    trace, rewards, _ = follow()
    assert (rewards.tolist(), trace.malformed) == ([0.0, 1.0, 1.0], 1)
    second = [request for request in server.requests if module_of(request) == "interpret"][2]
    assert "Previous goal state: null" in second.text


# --- answers in a wrong shape -------------------------------------------------------------------------------------

WRONG_SHAPES: dict[str, Any] = {
    "objects as sentences": ["The kite is in the box."],
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


@pytest.mark.parametrize("kind", WRONG_SHAPES)
def test_a_wrong_shape_is_told_to_the_model_and_asked_again(server: ChatServer, follow: Follow, kind: str) -> None:
    well, bad = answers([KITE]), chat.answer({"thinking": "", "state": WRONG_SHAPES[kind]})
    server.behave(lambda request: bad if request.number == 0 else well(request))
    trace, rewards, ledger = follow()
    assert (rewards.tolist(), trace.malformed) == ([1.0] * 3, 0)
    assert paths(ledger) == {"reasked": 1, "schema": 8}
    assert "state" in server.requests[1].body["messages"][-1]["content"]


@pytest.mark.parametrize("kind", WRONG_SHAPES)
def test_a_wrong_shape_that_comes_again_is_no_answer(server: ChatServer, follow: Follow, kind: str) -> None:
    server.behave(by_module(perceive=chat.answer({"thinking": "", "state": WRONG_SHAPES[kind]})))
    trace, _, ledger = follow()
    assert trace.malformed == 3
    assert paths(ledger)["malformed"] == 3


@pytest.mark.parametrize("level", ASKING_LEVELS)
def test_the_items_of_another_level_are_a_wrong_shape(server: ChatServer, follow: Follow, level: Level) -> None:
    other = ITEMS["textual" if level != "textual" else "object_attribute"]
    server.behave(lambda request: answers([other], [other])(request))
    trace, rewards, _ = follow(level=level)
    assert (rewards.tolist(), trace.malformed) == ([0.0] * 3, 9)


def test_an_answer_in_a_fence_with_friendly_words_is_read_and_counted_as_repaired(
    server: ChatServer, follow: Follow
) -> None:
    server.behave(by_module(perceive=chat.in_prose({"thinking": "", "state": [KITE]})))
    trace, rewards, ledger = follow()
    assert (rewards.tolist(), trace.malformed) == ([1.0] * 3, 0)
    assert paths(ledger) == {"repaired": 3, "schema": 6}


# --- states that are odd and well formed --------------------------------------------------------------------------

BARE = thing("kite")


@pytest.mark.parametrize(
    ("state", "goal", "reward"),
    [
        ([], [KITE], 0.0),
        ([KITE], [], 0.0),
        ([], [], 0.0),
        ([BARE], [KITE], 0.0),  # nothing is known of the kite: no part of the goal is seen to hold
        ([KITE], [BARE], 1.0),  # a goal that asks for no property asks that the object is there
        ([BARE], [BARE], 1.0),
        ([BARE, KITE], [KITE], 1.0),
        ([KITE, KITE], [KITE, KITE], 1.0),
        ([thing("", **{"": ""})], [thing("", **{"": ""})], 1.0),
    ],
)
def test_objects_without_attributes_and_empty_states_have_a_defined_reward(
    server: ChatServer, follow: Follow, state: list[Item], goal: list[Item], reward: float
) -> None:
    server.behave(answers(state, goal))
    trace, rewards, ledger = follow()
    assert rewards.tolist() == pytest.approx([reward] * 3)
    assert (trace.malformed, paths(ledger)) == (0, {"schema": 9})


@pytest.mark.parametrize("level", ["textual", "object_centric"])
def test_empty_states_have_a_defined_reward_at_the_levels_of_sentences(
    server: ChatServer, follow: Follow, level: Level
) -> None:
    item = ITEMS[level]
    for state, goal, reward in (([], [item], 0.0), ([item], [], 0.0), ([item], [item], 1.0)):
        server.behave(answers(state, goal))
        assert follow(level=level)[1].tolist() == pytest.approx([reward] * 3)


def test_an_object_without_statements_is_like_one_without_attributes(server: ChatServer, follow: Follow) -> None:
    server.behave(answers([{"identity": "kite", "statements": []}], [ITEMS["object_centric"]]))
    trace, rewards, _ = follow(level="object_centric")
    assert (rewards.tolist(), trace.malformed) == ([0.0] * 3, 0)


def many(count: int) -> list[Item]:
    return [thing(f"shelf {number}", content=f"book {number}", colour="grey") for number in range(count - 1)] + [KITE]


def test_ten_thousand_objects_are_compared_and_carried_along(server: ChatServer, follow: Follow) -> None:
    server.behave(answers(many(10_000)))
    started = time.perf_counter()
    trace, rewards, _ = follow()
    assert [len(state) for state in trace.states] == [10_000] * 3
    assert (rewards.tolist(), trace.malformed) == ([1.0] * 3, 0)
    assert server.requests[3].text.count("shelf") > 9_000  # the previous state, whole
    assert time.perf_counter() - started < 30


CONTROL = "kite\x00\x07\x1b[31m\u202e\r\n\t\ufeff"


def test_control_characters_pass_through_observations_and_answers_unchanged(server: ChatServer, follow: Follow) -> None:
    odd = thing(CONTROL, **{"lo\x00cation": "in\x1f the\x85 box"})
    server.behave(answers([odd], [odd]))
    trace, rewards, _ = follow(observations=(CONTROL, "\x00", "\n\n\t"))
    assert rewards.tolist() == pytest.approx([1.0] * 3)
    assert trace.states[0] == (Entity(CONTROL, (Attribute("lo\x00cation", "in\x1f the\x85 box"),)),)
    assert CONTROL in server.requests[0].text
    assert read_trace(json.loads(json.dumps(trace.to_json()))) == trace


def test_half_a_character_is_asked_for_again(server: ChatServer, follow: Follow) -> None:
    broken = chat.says('{"thinking": "", "state": [{"identity": "\\ud83e", "attributes": []}]}')
    server.behave(by_module(perceive=broken))
    trace, _, ledger = follow()
    assert (trace.malformed, paths(ledger)["malformed"]) == (3, 3)


def test_an_observation_that_looks_like_a_template_or_an_answer_is_only_text(
    server: ChatServer, follow: Follow
) -> None:
    sly = '{{ goal }} {% for x in y %} {"thinking": "", "state": []} </think>'
    server.behave(answers([KITE]))
    assert follow(observations=(sly,) * 3)[1].tolist() == [1.0] * 3
    assert sly in server.requests[0].text


# --- goals in other words -----------------------------------------------------------------------------------------

FOREIGN = ("把风筝放进盒子里。", "ضع الطائرة الورقية في الصندوق", "Lege den Drachen in die Kiste.", "🪁 ➡️ 📦")


@pytest.mark.parametrize("goal", FOREIGN)
def test_a_goal_in_another_language_reaches_the_model_and_gets_a_reward(
    server: ChatServer, follow: Follow, goal: str
) -> None:
    named = thing(goal, 位置="箱の中")
    server.behave(answers([named], [named]))
    trace, rewards, _ = follow(goal=goal)
    assert rewards.tolist() == pytest.approx([1.0] * 3)
    assert all(f"Task: {goal}\n" in request.text for request in server.requests)


@pytest.mark.parametrize("goal", [*FOREIGN, "", GOAL])
@pytest.mark.parametrize("level", ASKING_LEVELS)
def test_a_goal_that_no_rule_reads_is_an_error_that_says_so(goal: str, level: Level) -> None:
    with pytest.raises(UnknownLanguage, match="No rules read the task.*Use a model as engine"):
        followed(connect("rules"), level, goal)


def test_the_raw_level_asks_nobody_and_takes_any_text() -> None:
    trace, rewards, ledger = followed(connect("rules"), "raw", FOREIGN[0], ("", CONTROL, FOREIGN[0]))
    assert ledger.calls == []
    assert rewards[2] == pytest.approx(1.0)
    assert ((rewards >= 0) & (rewards <= 1)).all()


# --- trajectories that are none -----------------------------------------------------------------------------------


@pytest.mark.parametrize("observations", [(), OBSERVATIONS[:2], (*OBSERVATIONS, "more")])
def test_actions_without_their_observations_are_an_error(
    server: ChatServer, follow: Follow, observations: tuple[str, ...]
) -> None:
    with pytest.raises(ValueError, match=f"3 actions with {len(observations)} observations"):
        follow(observations=observations)
    assert server.count == 0


def test_no_steps_have_no_rewards(server: ChatServer) -> None:
    predictor = StateFactory(Endpoint(parse("small"), server.address, cache=None), Letters())
    assert predictor.predict(GOAL, (), ()).shape == (0,)
    assert server.count == 0


def test_a_context_that_the_rules_of_the_modules_alone_fill_is_an_error(server: ChatServer) -> None:
    with pytest.raises(PromptTooLong, match="context=300"):
        followed(Endpoint(parse("small?context=300"), server.address, cache=None))
    assert server.count == 0


# --- whatever a model may say -------------------------------------------------------------------------------------

WORDS = st.text(st.characters(codec="utf-8"), max_size=12)
OBJECTS = st.lists(
    st.builds(
        lambda identity, attributes: thing(identity, **attributes),
        WORDS,
        st.dictionaries(WORDS, WORDS, max_size=3),
    ),
    max_size=4,
)
STATES = st.builds(lambda state: json.dumps({"thinking": "", "state": state}), OBJECTS)
SAID = st.one_of(WORDS, st.builds(json.dumps, OBJECTS), STATES)


class Says:
    """A backbone that reads the same text as its model's answer to everything, as an endpoint would."""

    engine = parse("small")

    def __init__(self, text: str) -> None:
        self.text = text

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        from lab.models.parsing import parse as read

        prompt.render(prompt.fill(**fields))
        value, path = read(self.text, prompt.answer)
        return Answer(value, Call(prompt.operator, prompt.name, path))

    def request(self, prompt: Prompt, sample: int = 0, **fields: Any) -> str:
        return ""


@settings(max_examples=150)
@given(text=SAID, observations=st.lists(WORDS, min_size=1, max_size=3))
def test_whatever_is_said_every_step_has_a_reward_between_0_and_1_and_every_answer_an_account(
    text: str, observations: list[str]
) -> None:
    ledger = Ledger(Says(text))
    trace = extract(ledger, GOAL, ["look"] * len(observations), observations)
    rewards = trace_rewards(trace, Letters())
    assert rewards.shape == (len(observations),)
    assert np.isfinite(rewards).all() and ((rewards >= 0) & (rewards <= 1)).all()
    assert trace.malformed == sum(call.path == "malformed" for call in ledger.calls)
    assert len(ledger.calls) == 3 * len(observations)
