"""Engine strings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.models import engines
from lab.models.connect import connect
from lab.models.engines import BadEngine, Engine, parse
from lab.models.servers import MissingKey


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("rules", ("rules", "rules")), (" rules\n", ("rules", "rules")), ("rules@0.7", ("rules", "rules", 0.7)),
        ("oracle", ("rules", "oracle")), ("oracle@0.7", ("rules", "oracle", 0.7)),
        ("rules@0.7?seed=3", ("rules", "rules", 0.7, {"seed": 3})),
        ("rules?judge=gpt-5.2", ("rules", "rules", 1.0, {"judge": "gpt-5.2"})),
        ("replay:runs/a b", ("replay", "runs/a b")), ("llama3:8b", ("endpoint", "llama3:8b")),
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
