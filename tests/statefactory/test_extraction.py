"""Extraction along a trajectory: what each module is asked, what is remembered, and what rules make of it.

What a model may do wrong is in test_bad_input.py.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.models import rules
from lab.models.backbone import Answer, Call, MalformedAnswer
from lab.models.connect import connect
from lab.models.engines import parse
from lab.models.prompts import Fields, Prompt
from standins.statefactory import languages
from standins.statefactory.answers import UNPARSED
from statefactory.benchmark import Pair, sample
from statefactory.extraction import Trace, extract, read_trace
from statefactory.prompts import ITEMS, InterpretFields, PerceiveFields, RefineFields, modules
from statefactory.state import Attribute, Entity, Group, Level, State, Values, at_level, entity, from_level

GOAL = "Put the kite into the box."
ACTIONS = ("look", "take kite", "put kite in box")
OBSERVATIONS = ("You see a kite and a box.", "You hold the kite.", "The kite is in the box.")
LEVELS: tuple[Level, ...] = tuple(ITEMS)
FAST = ("blocksworld", "alfworld", "webshop")  # worlds whose synthetic pairs take no compiler and no simulator


class Scripted:
    """A model that answers with what module and step it is, and notes what it was asked. silent: "module step"."""

    engine = parse("scripted")

    def __init__(self, silent: Sequence[str] = ()) -> None:
        self.silent, self.asked, self.steps = silent, [], dict.fromkeys(("perceive", "refine", "interpret"), 0)
        self.texts: list[str] = []

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        filled = prompt.fill(**fields)
        self.asked.append(filled)
        self.texts.append("\n".join(message["content"] for message in prompt.render(filled)))
        self.steps[prompt.operator] += 1
        name = f"{prompt.operator} {self.steps[prompt.operator]}"
        if name in self.silent:
            raise malformed(prompt)
        about = {"thinking": ""} if "thinking" in prompt.answer.model_fields else {}
        key = "goal" if prompt.operator == "interpret" else "state"
        return Answer(prompt.answer(**about, **{key: (said(name),)}), Call(prompt.operator, prompt.name, "schema"))

    def request(self, prompt: Prompt, sample: int = 0, **fields: Any) -> str:
        return ""

    def of(self, kind: type[Fields]) -> list[Any]:
        """What was asked of one module, step by step."""
        return [fields for fields in self.asked if isinstance(fields, kind)]


def malformed(prompt: Prompt) -> MalformedAnswer:
    error = MalformedAnswer("well")
    error.call, error.request = Call(prompt.operator, prompt.name, "malformed"), ""
    return error


def said(name: str) -> Entity:
    return entity("kite", {"said": name})


@cache
def made(domain: str) -> Pair:
    """The shortest of a few synthetic pairs of the world."""
    pairs = sample(domain, "synthetic", limit=4)
    return min(pairs, key=lambda pair: (len(pair.shaped), pair.task))


def by_rules(
    pair: Pair, level: Level = "object_attribute", values: Values = "fragments", engine: str = "rules"
) -> list[Trace]:
    backbone = connect(engine)
    return [extract(backbone, r.goal_description, r.actions, r.observations, level, values) for r in pair.rows]


def facts(state: State) -> set[tuple[str, Attribute]]:
    return {(entity.identity, attribute) for entity in from_level(state) for attribute in entity.attributes}


# --- the recurrence -----------------------------------------------------------------------------------------------


def test_every_module_is_fed_by_the_one_before_it_and_by_the_step_before() -> None:
    model = Scripted()
    trace = extract(model, GOAL, ACTIONS, OBSERVATIONS)
    perceive, refine, interpret = (model.of(kind)[0] for kind in (PerceiveFields, RefineFields, InterpretFields))
    assert {perceive.previous_state, perceive.previous_goal, refine.previous_state, interpret.previous_goal} == {None}
    assert [type(fields) for fields in model.asked[:3]] == [type(fields) for fields in model.asked[3:6]]
    perceive, refine, interpret = (model.of(kind)[1] for kind in (PerceiveFields, RefineFields, InterpretFields))
    assert (perceive.previous_state, perceive.previous_goal) == ((said("refine 1"),), (said("interpret 1"),))
    assert (perceive.action, perceive.observation) == (ACTIONS[1], OBSERVATIONS[1])
    assert (refine.state, refine.previous_state) == ((said("perceive 2"),), (said("refine 1"),))
    assert (interpret.state, interpret.previous_goal) == ((said("refine 2"),), (said("interpret 1"),))
    assert interpret.observation == OBSERVATIONS[1]
    assert trace.states == tuple((said(f"refine {step}"),) for step in (1, 2, 3))
    assert trace.goals == tuple((said(f"interpret {step}"),) for step in (1, 2, 3))


def test_a_step_that_is_two_back_is_remembered_by_nothing() -> None:
    model = Scripted()
    extract(model, GOAL, ACTIONS, OBSERVATIONS)
    third = "\n".join(model.texts[6:])
    assert "refine 2" in third and "interpret 2" in third
    assert not [
        word for word in ("refine 1", "perceive 1", "perceive 2", "interpret 1", OBSERVATIONS[1]) if word in third
    ]


def test_the_task_the_form_of_values_and_the_worlds_instruction_reach_every_module() -> None:
    model = Scripted()
    extract(model, GOAL, ACTIONS, OBSERVATIONS, values="fragments", instruction="A page lists [buttons].")
    assert {(fields.goal, fields.values) for fields in model.asked} == {(GOAL, "fragments")}
    assert all("A page lists [buttons]." in text for text in model.texts)


@pytest.mark.parametrize("level", LEVELS)
def test_a_prompt_begins_with_what_no_step_no_task_and_no_world_changes(level: Level) -> None:
    for module in modules(level):
        empty = {
            name: () for name in ("state", "previous_state", "previous_goal") if name in module.fields.model_fields
        }
        told = empty | ({"observation": "o"} if "observation" in module.fields.model_fields else {})
        plain, shop = (
            module.render(module.fill(goal=goal, action="a", instruction=world, **told))[0]["content"]
            for goal, world in (("One goal", ""), ("Another", "A page lists [buttons]."))
        )
        rules = plain.partition("\n\nAnswer with one JSON")[0]
        assert len(rules) > 500 and shop.startswith(rules.rstrip())


def test_what_a_module_fails_to_say_stays_as_it_was_seen_before() -> None:
    for module, state, goal in (
        ("perceive", "refine 2", "interpret 2"),
        ("refine", "perceive 2", "interpret 2"),
        ("interpret", "refine 2", "interpret 1"),
    ):
        model = Scripted(silent=[f"{module} 2"])
        trace = extract(model, GOAL, ACTIONS, OBSERVATIONS)
        assert (trace.states[1], trace.goals[1], trace.malformed) == ((said(state),), (said(goal),), 1)
        third = model.of(PerceiveFields)[2]
        assert (third.previous_state, third.previous_goal) == (trace.states[1], trace.goals[1])
        if module == "perceive":
            assert model.of(RefineFields)[1].state == (said("refine 1"),)


def test_a_backbone_that_is_not_there_is_no_unreadable_answer() -> None:
    class Gone(Scripted):
        def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
            raise ConnectionError("nobody there")

    with pytest.raises(ConnectionError, match="nobody there"):
        extract(Gone(), GOAL, ACTIONS, OBSERVATIONS)


# --- the raw level, and traces as JSON ----------------------------------------------------------------------------


def test_the_raw_level_is_the_texts_themselves() -> None:
    model = Scripted()
    trace = extract(model, GOAL, ACTIONS, OBSERVATIONS, "raw")
    assert trace == Trace("raw", tuple((text,) for text in OBSERVATIONS), ((GOAL,),) * 3)
    assert model.asked == []
    assert read_trace(json.loads(json.dumps(trace.to_json()))) == trace


WORDS = st.text(max_size=8)
ENTITIES = st.builds(entity, WORDS, st.dictionaries(WORDS, WORDS, max_size=3))
ITEM = {
    "raw": WORDS,
    "textual": WORDS,
    "object_centric": st.builds(Group, WORDS, st.lists(WORDS, max_size=3).map(tuple)),
    "object_attribute": ENTITIES,
}


@pytest.mark.slow
@given(data=st.data(), level=st.sampled_from(sorted(ITEM)))
def test_a_trace_comes_back_from_json_as_it_was(data: st.DataObject, level: Level) -> None:
    states = st.lists(ITEM[level], max_size=3).map(tuple)
    steps = data.draw(st.lists(st.tuples(states, states), max_size=5))
    columns = tuple(zip(*steps, strict=True)) or ((), ())
    trace = Trace(level, *columns, malformed=len(steps))
    assert read_trace(json.loads(json.dumps(trace.to_json()))) == trace


# --- rules --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("domain", FAST)
@pytest.mark.parametrize(
    ("level", "values"),
    [("textual", "fragments"), ("object_centric", "fragments"), ("object_attribute", "sentences")],
)
def test_rules_state_the_same_facts_at_every_level(domain: str, level: Level, values: Values) -> None:
    for plain, other in zip(by_rules(made(domain)), by_rules(made(domain), level, values), strict=True):
        assert len(plain.states) == len(other.states) > 2
        assert list(map(facts, other.states)) == list(map(facts, plain.states))
        assert list(map(facts, other.goals)) == list(map(facts, plain.goals))
        assert facts(plain.states[-1]) and facts(plain.goals[-1])


@pytest.mark.parametrize("level", LEVELS)
def test_rules_say_which_sentence_they_do_not_understand_and_keep_what_they_know(level: Level) -> None:
    goal, unknown = "the red block is on top of the blue block", "the green dragon sings"
    seen = "the hand is empty, the red block is on the table, the blue block is on the table"
    trace = extract(connect("rules"), goal, ("look", "sing"), (seen, unknown), level)
    told = {"goal": goal, "action": "sing", "observation": unknown, "previous_state": trace.states[0]}
    answer = connect("rules").ask(modules(level).perceive, previous_goal=trace.goals[0], **told).value
    assert answer.thinking == f"{UNPARSED}{unknown}"
    assert facts(trace.states[1]) == facts(trace.states[0]) != set()


# --- rules with noise ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
def test_noise_makes_plausible_states_of_what_was_said_and_the_same_ones_each_time(level: Level) -> None:
    pair = made("blocksworld")
    clean, noisy, again = (by_rules(pair, level, engine=engine) for engine in ("rules", "rules@0.7", "rules@0.7"))
    assert noisy == again
    assert [trace.states for trace in noisy] != [trace.states for trace in clean]
    spoken = {word for trace in clean for state in (*trace.states, *trace.goals) for word, _ in facts(state)}
    for trace in noisy:
        assert trace.malformed == 0
        assert {word for state in (*trace.states, *trace.goals) for word, _ in facts(state)} <= spoken


KITCHEN = (
    entity("cup 1", {"location": "on table", "state": "clean"}),
    entity("cup 2", {"location": "in sink"}),
    entity("cup 3", {"location": "in sink"}),
    entity("drawer", {"status": "shut"}),
)
GIVEN: dict[str, dict[str, Any]] = {
    "perceive": {"previous_goal": None, "previous_state": None, "observation": "A kitchen."},
    "refine": {"previous_state": None, "state": ()},
    "interpret": {"previous_goal": None, "state": (), "observation": "A kitchen."},
}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("operator", GIVEN)
def test_a_corrupted_answer_lacks_an_object_or_has_the_value_of_another(level: Level, operator: str) -> None:
    right, sizes = facts(KITCHEN), set()
    for seed in range(12):
        wrong = facts(corrupted(level, operator, seed, KITCHEN))
        sizes.add(len(wrong) - len(right))
        if wrong < right:
            (gone,) = {known.identity for known in KITCHEN} - {identity for identity, _ in wrong}
            assert wrong == {fact for fact in right if fact[0] != gone}
        else:
            ((lost, before),), ((changed, after),) = right - wrong, wrong - right
            assert (lost, before.name) == (changed, after.name)
            assert after.value in {"on table", "in sink"}, "the only property that several of them have"
    assert (0 in sizes) == (operator != "refine") and min(sizes) < 0, "every kind of mistake is made"
    assert corrupted(level, operator, 0, ()) == ()


def corrupted(level: Level, operator: str, seed: int, known: tuple[Entity, ...]) -> tuple[Entity, ...]:
    prompt = getattr(modules(level), operator)
    fields = prompt.fill(goal=GOAL, action="look", **GIVEN[operator])
    key = "goal" if operator == "interpret" else "state"
    about = {} if operator == "refine" else {"thinking": ""}
    answer = prompt.answer(**about, **{key: at_level(known, level)})
    return from_level(getattr(rules.corrupted(prompt, fields, answer, Random(seed)), key))


class Kites(languages.Language):
    """A language of a reader's own: kites and where they are."""

    def is_goal(self, goal: str) -> bool:
        return "kite" in goal

    def read(self, known: Sequence[Entity], action: str, observation: str) -> languages.Reading:
        where = observation.partition("kite is in the ")[2].rstrip(".")
        return languages.Reading((entity("kite", {"place": where}),) if where else tuple(known))

    def blueprint(self, goal: str) -> tuple[Entity, ...]:
        return (entity("kite", {"place": "box"}),)


def test_rules_read_a_world_of_ones_own_that_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "_own", {})
    with pytest.raises(languages.UnknownLanguage, match="or register a language of your own"):
        languages.language_of(GOAL)
    languages.register(Kites())
    trace = extract(connect("rules"), GOAL, ACTIONS, OBSERVATIONS, values="fragments")
    assert trace.states == ((), (), (entity("kite", {"place": "box"}),))
    assert set(trace.goals) == {(entity("kite", {"place": "box"}),)}
    languages.register(Kites())
    assert len(languages._own) == 1, "of one class, the latest"


def test_a_language_of_ones_own_that_takes_every_goal_reads_no_other_world(monkeypatch: pytest.MonkeyPatch) -> None:
    class Greedy(Kites):
        def is_goal(self, goal: str) -> bool:
            return True

    monkeypatch.setattr(languages, "_own", {})
    languages.register(Greedy())
    assert languages.language_of("the red block is on top of the blue block") is languages.named("blocksworld")
    assert isinstance(languages.language_of("Fly a kite"), Greedy)
