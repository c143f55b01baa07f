"""Engine strings, null models, and shuffled options, whose answers are mapped back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, create_model

import chat_server as chat
from chat_server import ChatServer
from lab.models import engines
from lab.models.answers import AnswerModel, Listing
from lab.models.backbone import Ledger
from lab.models.cache import AnswerCache
from lab.models.connect import connect
from lab.models.engines import BadEngine, Engine, parse, seeded
from lab.models.nulls import NoChoice
from lab.models.prompts import Fields, Prompt, choice
from lab.models.rules import rule
from lab.models.servers import MissingKey


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("rules", ("rules", "rules")), (" rules\n", ("rules", "rules")), ("rules@0.7", ("rules", "rules", 0.7)),
        ("oracle", ("rules", "oracle")), ("oracle@0.7", ("rules", "oracle", 0.7)),
        ("rules@0.7?seed=3", ("rules", "rules", 0.7, {"seed": 3})),
        ("rules?judge=gpt-5.2", ("rules", "rules", 1.0, {"judge": "gpt-5.2"})),
        ("replay:runs/a b", ("replay", "runs/a b")), ("llama3:8b", ("endpoint", "llama3:8b")),
        ("local-model", ("endpoint", "local-model")),
        ("meta/Llama-3?top_p=1", ("endpoint", "meta/Llama-3", 1.0, {"top_p": 1.0})),
        ("m?reasoning_effort=low", ("endpoint", "m", 1.0, {"reasoning_effort": "low"})),
    ],
)  # fmt: skip
def test_an_engine_string_reads_as(text: str, fields: tuple) -> None:
    assert parse(text) == Engine(text.strip(), *fields)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"), ("?seed=1", "empty"), ("rules@", "between 0 and 1"), ("oracle@2", "between 0 and 1"),
        ("rules@1.1", "between 0 and 1"), ("rules@nan", "between 0 and 1"),
        ("rules?temperature=1", "temperature.*seed"), ("rules?certify=-1", "certify=-1.0 is no probability"),
        ("rules?judge=GPT-5.2&reject=0", "a judge has both error rates"),
        ("rules?judge=gpt-5.1", "no judge 'gpt-5.1'; did you mean 'GPT-5.2'"), ("replay:", "folder of a run"),
        ("replay:x?seed=1", "without options"), ("m?temprature=1", "'temprature'.*temperature"),
        ("m?temperature=hot", "temperature='hot' is not a number"), ("m?temperature=nan", "not a number"),
        ("m?max_tokens=1.5", "not a whole number"), ("m?reasoning_effort=", "not a word"),
        ("m?=", "Unknown engine option ''"), ("m?&", "name=value"),
    ],
)  # fmt: skip
def test_a_bad_engine_string_is_refused_by_name(text: str, message: str) -> None:
    with pytest.raises(BadEngine, match=message):
        parse(text)


@given(st.text())
def test_any_text_is_an_engine_or_a_bad_engine(text: str) -> None:
    try:
        assert parse(text).kind in ("rules", "null", "local", "replay", "endpoint")
    except BadEngine as error:
        assert str(error)


@given(st.text(alphabet="rules@0.7?sed=1, Ab:\n", max_size=30))
def test_a_string_of_several_engines_is_read_as_it_is_written(text: str) -> None:
    try:
        engine = parse(text)
    except BadEngine:
        return
    assert parse(str(engine)) == engine


def test_single_operators_have_engines_of_their_own() -> None:
    engine = parse("rules@0.8?seed=1, verify: gpt-4o?top_p=1 ,ACT:local")
    assert (engine.of("Verify").name, engine.of("act").kind, engine.of("other").keep) == ("gpt-4o", "local", 0.8)
    assert engine.label == f"rules@0.8?seed=1, Act: {engines.LOCAL_MODEL} (local), Verify: gpt-4o?top_p=1"
    assert engine.kinds == {"rules", "endpoint", "local"} and not engine.by_rules
    # What stands beside numbers is read back for their evidence.
    assert parse(engine.label).of("act").label == f"{engines.LOCAL_MODEL} (local)"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("oracle@0.9?certify:0.02&reject:0.1", "oracle@0.9?certify=0.02&reject=0.1"),
        ("rules, Act: rules@0.8?judge:GPT-5.2", "rules, Act: rules@0.8?judge=GPT-5.2"),
        ("llama3:8b?temperature:0", "llama3:8b?temperature=0"),
        ('m?headers={"X-A":"a?b:c"}&top_k:3', 'm?headers={"X-A":"a?b:c"}&top_k=3'),
    ],
)
def test_a_colon_may_stand_for_an_options_equals_sign_and_is_the_same_engine(text: str, read: str) -> None:
    assert parse(text) == parse(read) and str(parse(text)) == read


@pytest.mark.parametrize(
    ("engine", "others", "shortest"),
    [
        ("rules@0.8", {"Verify": "rules"}, "rules@0.8, Verify: rules"),
        ("rules", {"verify": "rules"}, "rules"),
        ("gpt-4o", {"verify": "rules", "act": "rules"}, "rules"),
        ("gpt-4o", {"act": "small", "verify": "rules"}, "small, Verify: rules"),
        ("rules, Act: gpt-4o", {"ACT": "small"}, "rules, Act: small"),
    ],
)
def test_engines_by_operator_are_one_shortest_string(engine: str, others: dict[str, str], shortest: str) -> None:
    assert str(engines.routed(engine, others, ("act", "verify"), "it")) == shortest


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ({"Verfy": "rules"}, "'verfy' is no operator of it .*: act, verify; did you mean 'verify'\\?"),
        ({"replan": "rules"}, "'replan' is no operator of it that asks a question, as it is set up. Operators"),
        ({"act": 0.7}, "'act': 0.7 is no operator with an engine"),
        ({"act now": "rules"}, "'act now'"),
        ({"act": "rules, verify: rules"}, "no operator with an engine"),
        ({"act": "rules", "Act": "local"}, "'act' has two engines"),
        ({"act": "rules@2"}, "between 0 and 1"),
    ],
)
def test_engines_that_mean_nothing_are_refused(others: dict[str, str], message: str) -> None:
    with pytest.raises(BadEngine, match=message):
        engines.routed("rules", others, ("act", "verify"), "it")


def test_a_model_without_address_and_key_says_which_variables_to_set() -> None:
    with pytest.raises(MissingKey, match="'gpt-4o'.*OPENAI_BASE_URL.*OPENAI_API_KEY.*engine='rules'"):
        connect("gpt-4o")


def test_an_address_without_a_scheme_is_refused_and_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "user:hunter22@localhost:8000/v1")
    with pytest.raises(ValueError, match="http://") as caught:
        connect("gpt-4o")
    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "seed", "seeded", "evidence"),
    [
        ("rules", 3, "rules", "measured"), ("rules@1", 3, "rules@1", "measured"),
        ("rules@0.7", 0, "rules@0.7", "simulated"), ("rules@0.7", 3, "rules@0.7?seed=3", "simulated"),
        ("rules@0.7?seed=5", 3, "rules@0.7?seed=5", "simulated"),
        ("rules?reject=.1", 3, "rules?reject=.1&seed=3", "simulated"),
        ("small?temperature=1", 3, "small?temperature=1", "measured"), ("local", 3, "local", "measured"),
        ("rules@0.7, Act: rules", 3, "rules@0.7?seed=3, Act: rules", "simulated"),
        ("gpt-4o, Act: rules@0.7", 3, "gpt-4o, Act: rules@0.7?seed=3", "simulated"),
        ("rules@0.9, Act: gpt-4o", 0, "rules@0.9, Act: gpt-4o", "simulated"),
        ("gpt-4o, Act: oracle", 3, "gpt-4o, Act: oracle", "simulated"),
        ("gpt-4o, Act: rules", 3, "gpt-4o, Act: rules", "measured"),
    ],
)  # fmt: skip
def test_a_seed_is_of_noise_and_noise_makes_it_simulated(text: str, seed: int, seeded: str, evidence: str) -> None:
    assert engines.seeded(text, seed) == seeded
    assert engines.parse(text).evidence == evidence


# --- null models -----------------------------------------------------------------------------------------------------


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
    assert parse("local?seed=1").label.endswith(", seed=1)") and "seed" not in parse("local?seed=0").label


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
