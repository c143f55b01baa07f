"""The languages of the five worlds: their templated text, read into entities by rules.

`standins.statefactory.answers` answers Modules A, B and C with them. A language is a module that reads one world's text
and goals, from the words alone: no world is opened, no score and no plan is known. A rule says what it does not
understand.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import NamedTuple, Protocol

from statefactory.state import Entity

Entities = tuple[Entity, ...]
NAMES = ("blocksworld", "webshop", "scienceworld", "alfworld", "textworld")


class Reading(NamedTuple):
    """What is known after an observation. unparsed: its sentences that no rule reads."""

    known: Entities
    unparsed: tuple[str, ...] = ()


class Language(Protocol):
    """One world's language: a module of this package, or an object of your own (`register`).

    Whoever inherits has `relevant` and `anchored` of a world in which all that is read matters, and whose tasks name
    the very things.
    """

    def is_goal(self, goal: str) -> bool:
        """Whether a task description is worded in this language."""
        ...

    def read(self, known: Sequence[Entity], action: str, observation: str) -> Reading:
        """What is known after an action and its observation, of every object and not only of those that matter."""
        ...

    def relevant(self, goal: str, known: Sequence[Entity]) -> Entities:
        """The entities, with those of their attributes, that bear on the task."""
        return tuple(known)

    def blueprint(self, goal: str) -> Entities:
        """The goal as entities, from the task description alone: every part of it, and no step towards it."""
        ...

    def anchored(self, goal: str, wanted: Sequence[Entity], state: Sequence[Entity], observation: str) -> Entities:
        """The goal so far, with kinds of things replaced by the very things that were observed."""
        return tuple(wanted)


class UnknownLanguage(LookupError):
    """A task description that is in none of the known worlds' words."""


_own: dict[str, Language] = {}  # by the class that they are of


def register(language: Language) -> None:
    """Let `engine="rules"` read a world of your own; a class that is registered again replaces the one before."""
    _own[type(language).__qualname__] = language


def language_of(goal: str) -> Language:
    """The language that a task description is in. Raises UnknownLanguage."""
    # By the words: no prompt says which world it is about. A reader's come last, so that one whose `is_goal` takes too
    # much answers for no other world.
    for language in (*map(named, NAMES), *_own.values()):
        if language.is_goal(goal):
            return language
    known = ", ".join((*_own, *NAMES))
    raise UnknownLanguage(
        f"No rules read the task {goal[:80]!r}: they know the words of {known}. Use a model as engine, or register a "
        "language of your own (standins.statefactory.languages.register)"
    )


@cache
def named(name: str) -> Language:
    """A language by the world's name."""
    return import_module(f"standins.statefactory.{name}")
