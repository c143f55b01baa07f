"""States and goals as typed values: objects with an identity and attributes, at four levels of representation.

    object-attribute   entities: an identity and its attributes, each a name and a value    (Eq. 5; the method)
    object-centric     groups: an identity and sentences about it
    textual            sentences
    raw                one text, as the world wrote it

`entities` converts a state of any level to entities, so that the same routing applies to all levels. A goal is a state
that should hold. Source: Shen et al. 2026, §3.2.1 and Appendix C.5.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias, cast, get_args

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

Level: TypeAlias = Literal["raw", "textual", "object_centric", "object_attribute"]
Values: TypeAlias = Literal["fragments", "sentences"]
LEVELS: tuple[Level, ...] = get_args(Level)

_STRICT = ConfigDict(extra="forbid")
# A quoted identity may contain " is "; an unquoted one ends at the first " is ".
_SENTENCE = re.compile(r'The (\S+) of (?:"(.+?)"|(.+?)) is (.*)\.', re.DOTALL)


@dataclass(frozen=True, slots=True, config=_STRICT)
class Attribute:
    """One property: a name and a value, such as "location" and "in the fridge 1"."""

    name: str
    value: str


@dataclass(frozen=True, slots=True, config=_STRICT)
class Entity:
    """An object: its identity, and what is known of it."""

    identity: str
    attributes: tuple[Attribute, ...]

    def value(self, name: str) -> str | None:
        """The value of the first attribute of that name, or None."""
        return next((attribute.value for attribute in self.attributes if attribute.name == name), None)


@dataclass(frozen=True, slots=True, config=_STRICT)
class Group:
    """An object: its identity, and whole sentences about it."""

    identity: str
    statements: tuple[str, ...]


# All items of a state have one type: Entity, Group, or str (textual and raw level).
State: TypeAlias = tuple[Entity, ...] | tuple[Group, ...] | tuple[str, ...]


def entities(state: State, apart: bool = False) -> tuple[Entity, ...]:
    """Convert a state of any level to entities.

    By default sentences are joined into one value: the "description" of a group, or the "text" of a single nameless
    entity, which stands for the whole text. Two nameless entities have equal identities.
    apart: keep sentences separate, as the official program does. A sentence of a text then becomes an entity of its
    own, with itself as identity and value; a group's sentences become values of attributes that are all named "state".
    """
    # All items of a state have the same type; the casts tell mypy.
    if not state or isinstance(state[0], Entity):
        return cast("tuple[Entity, ...]", state)
    if isinstance(state[0], Group):
        return tuple(Entity(group.identity, _described(group.statements, apart)) for group in state)
    texts = state
    if apart:
        return tuple(Entity(text, (Attribute("description", text),)) for text in texts)
    return (Entity("", (Attribute("text", " ".join(texts)),)),)


def sentence(identity: str, attribute: Attribute) -> str:
    """The attribute as a whole sentence that names its subject. `fact` parses it. An identity with " is " is quoted."""
    subject = f'"{identity}"' if " is " in identity else identity
    return f"The {attribute.name} of {subject} is {attribute.value}."


def fact(text: str) -> tuple[str, Attribute] | None:
    """Parse a sentence of `sentence` into identity and attribute; None for any other sentence."""
    match = _SENTENCE.fullmatch(text)
    return (match[2] or match[3], Attribute(match[1], match[4])) if match else None


def at_level(known: Sequence[Entity], level: Level, values: Values = "fragments") -> State:
    """Convert entities to a level. values: write attribute values as fragments or as sentences (Table 11)."""
    if level == "object_attribute":
        return tuple(known) if values == "fragments" else tuple(map(in_sentences, known))
    groups = tuple(Group(e.identity, tuple(sentence(e.identity, a) for a in e.attributes)) for e in known)
    return groups if level == "object_centric" else tuple(text for group in groups for text in group.statements)


def from_level(state: State) -> tuple[Entity, ...]:
    """Invert `at_level`. Sentences of any other form are dropped, and so are groups in which none remains."""
    if not state:
        return ()
    if isinstance(state[0], Entity):
        members = state
        return tuple(Entity(e.identity, tuple(map(_as_fragment, e.attributes))) for e in members)
    texts = [text for item in state for text in (item.statements if isinstance(item, Group) else (item,))]
    # Models phrase sentences freely; only the form that `sentence` writes, which the rules use, can be parsed.
    return from_facts(pair for pair in map(fact, texts) if pair)


def from_facts(facts: Iterable[tuple[str, Attribute]]) -> tuple[Entity, ...]:
    """Group (identity, attribute) pairs into entities, in order of first appearance."""
    by_identity: dict[str, list[Attribute]] = {}
    for identity, attribute in facts:
        by_identity.setdefault(identity, []).append(attribute)
    return tuple(Entity(identity, tuple(attributes)) for identity, attributes in by_identity.items())


def entity(identity: str, attributes: Mapping[str, str]) -> Entity:
    """Make an entity from a mapping of attribute names to values."""
    return Entity(identity, tuple(Attribute(name, value) for name, value in attributes.items()))


def in_sentences(known: Entity) -> Entity:
    """The entity with every attribute value rewritten as a whole sentence."""
    attributes = (Attribute(a.name, sentence(known.identity, a)) for a in known.attributes)
    return Entity(known.identity, tuple(attributes))


def _described(statements: Sequence[str], apart: bool) -> tuple[Attribute, ...]:
    if apart:
        return tuple(Attribute("state", text) for text in statements)
    return (Attribute("description", " ".join(statements)),) if statements else ()


def _as_fragment(attribute: Attribute) -> Attribute:
    read_back = fact(attribute.value)
    return read_back[1] if read_back and read_back[1].name == attribute.name else attribute
