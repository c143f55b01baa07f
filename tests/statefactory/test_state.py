"""States at four levels: written and read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from statefactory.state import (
    Attribute,
    Entity,
    Group,
    Level,
    Values,
    at_level,
    entities,
    entity,
    fact,
    from_level,
    sentence,
)

WORDS = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8)
PHRASES = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)
ATTRIBUTES = st.dictionaries(WORDS, PHRASES, min_size=1, max_size=3)
KNOWN = st.dictionaries(PHRASES, ATTRIBUTES, max_size=4).map(lambda d: tuple(entity(k, v) for k, v in d.items()))
MUG = entity("mug 1", {"location": "in cabinet 2", "temperature": "hot"})


@pytest.mark.slow
@given(
    KNOWN,
    st.sampled_from(["textual", "object_centric", "object_attribute"]),
    st.sampled_from(["fragments", "sentences"]),
)
def test_what_is_written_at_a_level_is_read_back(known: tuple[Entity, ...], level: Level, values: Values) -> None:
    assert from_level(at_level(known, level, values)) == known


@given(PHRASES, WORDS, PHRASES)
def test_a_fact_survives_as_a_sentence(identity: str, name: str, value: str) -> None:
    assert fact(sentence(identity, Attribute(name, value))) == (identity, Attribute(name, value))


def test_a_name_with_is_in_it_is_told_from_the_value() -> None:
    attribute = Attribute("price", "5.00 dollars")
    assert fact(sentence("This is a shoe", attribute)) == ("This is a shoe", attribute)


def test_sentences_of_other_words_are_no_facts() -> None:
    assert from_level(("Somewhere a dog barks.", sentence("mug 1", MUG.attributes[0]))) == (
        Entity("mug 1", MUG.attributes[:1]),
    )


def test_every_level_is_seen_as_entities() -> None:
    assert entities((MUG,)) == (MUG,)
    assert entities((Group("mug 1", ("It is hot.", "It is full.")),)) == (
        entity("mug 1", {"description": "It is hot. It is full."}),
    )
    assert entities(("A.", "B.")) == (entity("", {"text": "A. B."}),)
    assert entities(()) == ()
    assert entities((Group("mug 1", ()),)) == (Entity("mug 1", ()),)


@pytest.mark.parametrize(
    "wrong", [{"identity": "a"}, {"identity": 3, "attributes": []}, {"identity": "a", "attributes": [], "more": 1}]
)
def test_an_entity_of_another_shape_is_refused(wrong: dict) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Entity).validate_python(wrong)


def test_the_official_program_takes_sentences_one_by_one() -> None:
    assert entities(("A.", "B."), apart=True) == (
        entity("A.", {"description": "A."}),
        entity("B.", {"description": "B."}),
    )
    (mug,) = entities((Group("mug 1", ("It is hot.", "It is full.")),), apart=True)
    assert [(a.name, a.value) for a in mug.attributes] == [("state", "It is hot."), ("state", "It is full.")]
