"""The languages of the five worlds: rules that read their templated texts into entities.

`standins.statefactory.answers` uses them to answer Modules A, B and C. A language is a module that reads one world's
texts and goals from the words alone: no world is opened, and no score or plan is known. A rule reports what it does not
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

    A subclass inherits `relevant` and `anchored` for a world in which everything that is read is relevant, and whose
    tasks name the things themselves.
    """

    def is_goal(self, goal: str) -> bool:
        """Whether a task description is worded in this language."""
        ...

    def read(self, known: Sequence[Entity], action: str, observation: str) -> Reading:
        """What is known after an action and its observation, about every object, relevant or not."""
        ...

    def relevant(self, goal: str, known: Sequence[Entity]) -> Entities:
        """The entities that are relevant to the task, each with its relevant attributes."""
        return tuple(known)

    def blueprint(self, goal: str) -> Entities:
        """The goal as entities, from the task description alone: all parts of it, and no step towards it."""
        ...

    def anchored(self, goal: str, wanted: Sequence[Entity], state: Sequence[Entity], observation: str) -> Entities:
        """The goal so far, with kinds of things replaced by the things that were observed."""
        return tuple(wanted)


class UnknownLanguage(LookupError):
    """A task description in the words of no known world."""


_own: dict[str, Language] = {}  # qualified name of the class -> language


def register(language: Language) -> None:
    """Let `engine="rules"` read a world of your own. A class that is registered again replaces the earlier one."""
    _own[type(language).__qualname__] = language


def language_of(goal: str) -> Language:
    """The language that a task description is in. Raises UnknownLanguage."""
    # The words decide, since no prompt says which world it is about. A reader's languages come last: if an `is_goal`
    # accepts too much, no other world is affected.
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
    """The language of a world, by the world's name."""
    return import_module(f"standins.statefactory.{name}")
