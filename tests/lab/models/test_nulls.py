"""Null models and shuffled options: what they answer, that it passes the schema, and that it is mapped back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, create_model

import chat_server as chat
from chat_server import ChatServer
from lab.models.backbone import Ledger
from lab.models.cache import AnswerCache
from lab.models.connect import connect
from lab.models.engines import BadEngine, parse, seeded
from lab.models.nulls import NoChoice
from lab.models.prompts import AnswerModel, Fields, Listing, Prompt, choice
from lab.models.rules import rule

WALK = choice("nulls.walk", "1", "realize", "You walk.", "{{ doors | join(' ') }}", "doors", doors=list[str])
ENGINES = ("first", "last", "random", "first?shuffle=1", "random?seed=4&shuffle=2")


class Numbered(Fields):
    number: int
    text: str


class PickFields(Fields):
    options: list[Numbered]
    most: int = 1


class Pick(AnswerModel):
    reason: str = ""
    number: int


class Several(AnswerModel):
    numbers: list[int]


def several(fields: PickFields) -> type[Several]:
    number: Any = Annotated[int, Field(ge=1, le=len(fields.options))]
    numbers: Any = (list[number], Field(min_length=1, max_length=fields.most))
    return create_model("Several", __base__=Several, numbers=numbers)


def prompt_of(name: str, answer: type[AnswerModel], **about: Any) -> Prompt:
    lines = "{% for one in options %}\n{{ one.number }}. {{ one.text }}\n{% endfor %}\n"
    return Prompt(f"nulls.{name}", "1", "realize", "Choose.", lines, PickFields, answer, **about)


PICK = prompt_of("pick", Pick, listings=(Listing("options", "number", by="number", number="number"),))
SEVERAL = prompt_of(
    "several", Several, narrow=several, listings=(Listing("options", "numbers", by="number", number="number"),)
)


@rule(PICK)
def the_shortest(fields: PickFields) -> Pick:
    return Pick(reason="", number=min(fields.options, key=lambda option: len(option.text)).number)


def listed(*texts: str) -> list[Numbered]:
    return [Numbered(number=place, text=text) for place, text in enumerate(texts, start=1)]


def test_null_models_take_the_first_the_last_or_a_random_option() -> None:
    doors = [f"door {number}" for number in range(50)]
    assert connect("first").ask(WALK, doors=doors).value.choice == "door 0"
    assert connect("last").ask(WALK, doors=doors).value.choice == "door 49"
    drawn = [connect(f"random?seed={seed}").ask(WALK, doors=doors).value.choice for seed in range(20)]
    assert len(set(drawn)) > 10
    # The same in any order and process, but for another sample or question.
    again = connect("random?seed=3").ask(WALK, doors=doors).value.choice
    assert again == drawn[3] != connect("random?seed=3").ask(WALK, sample=1, doors=doors).value.choice


@pytest.mark.slow
@given(
    texts=st.lists(st.text(max_size=4), min_size=1, max_size=8, unique=True),
    most=st.integers(1, 9),
    engine=st.sampled_from(ENGINES),
)
def test_every_answer_passes_the_schema_and_names_each_option_once(texts: list[str], most: int, engine: str) -> None:
    backbone, options = connect(engine), listed(*texts)
    assert backbone.ask(WALK, doors=texts).value.choice in texts
    assert 1 <= backbone.ask(PICK, options=options).value.number <= len(texts)
    answer = backbone.ask(SEVERAL, options=options, most=most).value
    SEVERAL.narrowed(PickFields(options=options, most=most)).answer.model_validate_json(answer.model_dump_json())
    assert len(set(answer.numbers)) == len(answer.numbers) == min(most, len(texts))


class Kinds(AnswerModel):
    """Everything that a null model can choose from a schema alone."""

    thought: str
    word: Literal["a", "b", "c"]
    score: Annotated[int, Field(strict=True, ge=0, le=100)]
    passed: bool
    perhaps: Literal["x"] | None
    words: list[Literal["a", "b"]] = Field(min_length=3, max_length=3)
    notes: list[str]


KINDS = prompt_of("kinds", Kinds)


def test_numbers_verdicts_and_lists_follow_from_the_schema_and_texts_beside_stay_empty() -> None:
    first, last = (connect(engine).ask(KINDS, options=[]).value for engine in ("first", "last"))
    assert (first.word, first.score, first.passed, first.perhaps, first.words) == ("a", 0, True, "x", ["a", "b", "a"])
    assert (last.word, last.score, last.passed, last.perhaps, last.words) == ("c", 100, False, None, ["b", "a", "b"])
    assert first.thought == last.thought == "" and first.notes == []


class Text(AnswerModel):
    text: str


class Worded(AnswerModel):
    word: Literal["a", "b"]
    reason: str = Field(min_length=1)


class Steps(AnswerModel):
    steps: list[Text] = Field(min_length=1)


@pytest.mark.parametrize("answer", [Text, Worded, Steps])
def test_a_prompt_that_wants_a_text_is_refused_with_its_name_and_a_remedy(answer: type[AnswerModel]) -> None:
    with pytest.raises(NoChoice, match=r"nulls.text: .*\"first, Realize: rules\".*\"rules, Realize: first\""):
        connect("first").ask(prompt_of("text", answer), options=[])


def test_engine_strings_of_null_models() -> None:
    engine = parse("random?seed=3&shuffle=1")
    assert (engine.kind, engine.name, engine.evidence, engine.by_rules) == ("null", "random", "measured", True)
    assert engine.label == "random?seed=3&shuffle=1" and not engine.needs_rules
    assert parse("rules, Realize: first").needs_rules and not parse("gpt-4o, Realize: first").by_rules
    assert seeded("random, Verify: first", 7) == "random?seed=7, Verify: first"
    assert seeded("random?seed=0&shuffle=1", 7) == "random?seed=0&shuffle=1"
    with pytest.raises(BadEngine, match="did you mean 'first'"):
        parse("frist")
    with pytest.raises(BadEngine, match="takes: shuffle"):
        parse("first?seed=1")
    assert parse("local?shuffle=7").label.endswith("shuffle=7)")


def test_shuffled_options_are_renumbered_and_the_answer_is_mapped_back() -> None:
    texts = [f"{'x' * number}." for number in range(9, 0, -1)]  # the shortest stands last
    for seed in range(5):
        assert connect(f"rules?shuffle={seed}").ask(PICK, options=listed(*texts)).value.number == 9
    chosen = {connect(f"first?shuffle={seed}").ask(PICK, options=listed(*texts)).value.number for seed in range(20)}
    assert len(chosen) > 4
    assert {connect(f"first?shuffle={seed}").ask(WALK, doors=texts).value.choice for seed in range(20)} <= {*texts}


def test_a_model_is_sent_the_shuffled_list_and_no_word_of_it(server: ChatServer, cache: AnswerCache) -> None:
    server.behave(lambda request: chat.answer({"reason": "", "number": 1}))
    backbone = connect("small?shuffle=1", cache=cache)
    told = {text: backbone.ask(PICK, options=listed("a", "b", "c", text)) for text in "defghijk"}
    sent = [request.body["messages"][1]["content"].splitlines() for request in server.requests]
    assert not any("shuffle" in request.body for request in server.requests)
    for text, lines in zip(told, sent, strict=True):
        assert [line.partition(".")[0] for line in lines] == ["1", "2", "3", "4"]
        assert sorted(line[3:] for line in lines) == sorted(["a", "b", "c", text])
        assert ["a", "b", "c", text][told[text].value.number - 1] == lines[0][3:]
    # From the cache, and from a recording, the same.
    count = server.count
    assert backbone.ask(PICK, options=listed("a", "b", "c", "d")).value == told["d"].value and server.count == count
    assert backbone.request(PICK, options=listed("a", "b")) != connect("small").request(PICK, options=listed("a", "b"))


@pytest.mark.parametrize("engine", ["last?shuffle=3", "random?shuffle=3", "rules?shuffle=3"])
def test_recorded_answers_of_shuffled_options_replay(engine: str, tmp_path: Path) -> None:
    from asking import manifest
    from lab.runs.run import Episode, Run

    ledger = Ledger(connect(engine), record=True)
    told = [ledger.ask(PICK, options=listed(*"abcdefg"[:size])).value for size in range(1, 8)]
    with Run(tmp_path, manifest(1, engine)) as run:
        run.append(Episode(run.manifest.tasks[0], 0), {}, ledger.recorded)
    replay = connect(f"replay:{tmp_path}")
    assert [replay.ask(PICK, options=listed(*"abcdefg"[:size])).value for size in range(1, 8)] == told
    assert replay.engine.label == engine and replay.engine.evidence == "measured"


def test_only_options_of_one_group_change_places() -> None:
    grouped = Listing("options", "number", by="number", number="number", within="text")
    prompt = prompt_of("grouped", Pick, listings=(grouped,))
    for seed in range(9):
        found = connect(f"first?shuffle={seed}").ask(prompt, options=listed("a", "a", "b", "b", "b")).value
        assert found.number in (1, 2)
