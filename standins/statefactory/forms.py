r"""Sentence forms as data: patterns with named groups, and the facts that they state, in a YAML file beside a language.

    words:      {BLOCK: '(?:[\w-]+ ){1,2}block'}                # can be used in forms, and in words below
    values:     {cold: cool}                                    # text of a group -> its value in facts
    sentences:
    - {form: 'the (?P<block>BLOCK) is clear', facts: {'{block}': {top: clear}}, rule: fell}

A fact that uses a group without text is left out. `rule` names a function of the language, for what facts cannot state.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from lab.machine import yaml12
from standins.statefactory.languages import Entities
from statefactory.state import Attribute, Entity

Fact = tuple[str, Attribute]  # an identity, and one of its attributes
Facts = dict[str, dict[str, str]]  # identity -> attribute -> value, in the order in which they were set


class Form(NamedTuple):
    """A sentence form. facts: templates of identity, name and value. extra: entries that only the language reads."""

    pattern: re.Pattern[str]
    facts: tuple[tuple[str, str, str], ...]
    rule: str
    extra: Mapping[str, Any]
    values: Mapping[str, str]

    def match(self, text: str) -> dict[str, str] | None:
        """The groups that have a text, if the form matches the whole text; else None."""
        match = self.pattern.fullmatch(text)
        return {name: value for name, value in match.groupdict().items() if value is not None} if match else None

    def stated(self, groups: Mapping[str, str]) -> list[Fact]:
        """The facts, with the groups inserted."""
        values = {name: self.values.get(value, value) for name, value in groups.items()}
        facts = []
        for templates in self.facts:
            try:
                identity, name, value = (template.format_map(values) for template in templates)
            except KeyError:  # a group without text
                continue
            facts.append((identity, Attribute(name, value)))
        return facts


@cache
def sections(path: Path) -> dict[str, Any]:
    """The content of a YAML file of forms."""
    return yaml12.load(path.read_text(encoding="utf-8"))


@cache
def words(path: Path) -> dict[str, str]:
    """The named pieces of patterns, each with the pieces above it inserted."""
    known: dict[str, str] = {}
    for name, pattern in sections(path).get("words", {}).items():
        known[name] = _filled(pattern, known)
    return known


def pattern(path: Path, text: str) -> re.Pattern[str]:
    """A pattern with the file's words inserted."""
    return re.compile(_filled(text, words(path)), re.DOTALL)


@cache
def forms(path: Path, section: str) -> tuple[Form, ...]:
    """The forms of a section, in order."""
    values = sections(path).get("values", {})
    return tuple(_form(path, values, **entry) for entry in sections(path)[section])


def first(among: Sequence[Form], text: str) -> tuple[Form, dict[str, str]] | None:
    """The first form that matches the whole text, and its groups."""
    return next(((form, groups) for form in among if (groups := form.match(text)) is not None), None)


def as_facts(known: Iterable[Entity]) -> Facts:
    """The entities as facts that can be changed."""
    return {entity.identity: {a.name: a.value for a in entity.attributes} for entity in known}


def as_entities(facts: Facts) -> Entities:
    """The entities of facts, without those that have no attribute."""
    return tuple(
        Entity(identity, tuple(Attribute(name, value) for name, value in attributes.items()))
        for identity, attributes in facts.items()
        if attributes
    )


def note(facts: Facts, stated: Iterable[Fact]) -> None:
    """Set the stated facts."""
    for identity, attribute in stated:
        facts.setdefault(identity, {})[attribute.name] = attribute.value


def _form(
    path: Path,
    values: Mapping[str, str],
    form: str,
    facts: Mapping[str, Mapping[str, str]] | None = None,
    rule: str = "",
    **extra: Any,
) -> Form:
    templates = ((who, name, value) for who, attributes in (facts or {}).items() for name, value in attributes.items())
    return Form(pattern(path, form), tuple(templates), rule, extra, values)


def _filled(text: str, known: Mapping[str, str]) -> str:
    return re.sub(r"(?<![A-Z])[A-Z]{2,}(?![A-Z])", lambda word: known.get(word[0], word[0]), text)
