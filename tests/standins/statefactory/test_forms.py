"""Sentence forms in YAML: patterns with named groups, and the facts that they state."""

from __future__ import annotations

from pathlib import Path

import pytest

from standins.statefactory.forms import Form, as_entities, as_facts, first, forms, note, words
from statefactory.state import Attribute, entity

TEXT = r"""
words: {NAME: '[a-z]+ \d', THING: '(?P<thing>NAME)'}
values: {cold: cool}
sentences:
- {form: 'This is a(?: (?P<heat>hot|cold))? THING\.', facts: {'{thing}': {temperature: '{heat}', seen: 'yes'}}}
- {form: 'You see\bTHING\.', rule: sees, put: 'in {thing}'}
"""


@pytest.fixture
def sentences(tmp_path: Path) -> tuple[Form, ...]:
    path = tmp_path / "forms.yaml"
    path.write_text(TEXT, encoding="utf-8")
    assert words(path)["THING"] == r"(?P<thing>[a-z]+ \d)"
    return forms(path, "sentences")


def test_a_form_states_its_facts_in_the_words_of_its_values(sentences: tuple[Form, ...]) -> None:
    reading = first(sentences, "This is a cold mug 1.")
    assert reading is not None
    form, groups = reading
    assert groups == {"heat": "cold", "thing": "mug 1"}
    assert form.stated(groups) == [("mug 1", Attribute("temperature", "cool")), ("mug 1", Attribute("seen", "yes"))]


def test_a_fact_of_a_group_without_text_is_left_out(sentences: tuple[Form, ...]) -> None:
    form, groups = first(sentences, "This is a mug 1.") or (sentences[1], {})
    assert form.stated(groups) == [("mug 1", Attribute("seen", "yes"))]


def test_a_form_is_that_of_the_whole_text(sentences: tuple[Form, ...]) -> None:
    assert first(sentences, "This is a hot mug 1. It burns.") is None


def test_a_word_is_filled_in_next_to_an_escape_and_what_else_a_form_has_is_for_its_language(
    sentences: tuple[Form, ...],
) -> None:
    assert sentences[1].pattern.pattern == r"You see\b(?P<thing>[a-z]+ \d)\."
    assert (sentences[1].rule, sentences[1].extra) == ("sees", {"put": "in {thing}"})


def test_facts_are_noted_in_their_order_and_what_says_nothing_is_no_entity() -> None:
    facts = as_facts([entity("mug", {"location": "on desk", "power": "off"}), entity("air", {})])
    note(facts, [("cup", Attribute("location", "in sink")), ("mug", Attribute("location", "in hand"))])
    assert as_entities(facts) == (
        entity("mug", {"location": "in hand", "power": "off"}),
        entity("cup", {"location": "in sink"}),
    )
