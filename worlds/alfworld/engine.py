"""A fast text engine for ALFWorld: the same texts as the stock engine, without its repeated work.

The stock engine is `textworld.envs.pddl.PddlEnv`. Each of its steps parses the grammar of every valid command again
and deep-copies contexts. Each reset grounds the PDDL problem twice, for play and for a planner that is not used. Here a
problem is grounded once, the grammar is compiled once (`worlds.alfworld.wording`), and an operator's command is cached:
it depends only on names and on facts that no action changes (checked when a game is loaded). The same planning library
decides which actions are valid, what they change, and whether the goal holds.

`FastPddlEnv` is a separate TextWorld environment: nothing in TextWorld is replaced, and the stock engine runs next to
it unchanged. Its facts are plain tuples, because TextWorld never frees a `Proposition`.
"""

from __future__ import annotations

import sys
import weakref
from collections import defaultdict
from collections.abc import Iterable, Mapping
from ctypes import CDLL
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any, NamedTuple

import fast_downward
import textworld
from fast_downward.translate import pddl
from textworld.core import EnvInfos, GameState
from textworld.generator.game import EntityInfo

from worlds.alfworld.tasks import TASK_MARK
from worlds.alfworld.wording import Part, Scene, Wording, queried, wording

_idle: list[CDLL] = []
NOTHING = "Nothing happens."
PROBLEMS_KEPT = 4  # about 2 MB each; an episode is often followed by another one of the same game


def borrow() -> CDLL:
    """Take a copy of the planning library that nothing else uses."""
    try:
        return _idle.pop()
    except IndexError:
        return fast_downward.load_lib()


def give_back(library: CDLL) -> None:
    """Unload the game in a borrowed copy and make the copy available again. Call it once per `borrow`."""
    library.cleanup()
    _idle.append(library)


_translating = Lock()

Fact = tuple[str, tuple[str, ...]]  # predicate, entities


class Grounded(NamedTuple):
    """A grounded PDDL problem. sas: its text in the planner's format; parameters: by action; changing: the predicates
    that actions change; types: by entity; facts: those that hold at first.
    """

    sas: bytes
    parameters: Mapping[str, tuple[str, ...]]
    changing: frozenset[str]
    types: Mapping[str, str]
    facts: tuple[Fact, ...]


def translated(domain: str, problem: str, optimize: bool = False) -> tuple[Any, str]:
    """The library's translation of a problem: its task, and its text in the planner's format.

    The translator has global options, replaces `sys.stdout` while it runs, and sets `sys.argv`. So only one runs at a
    time, and `sys.argv` is restored.
    """
    with _translating:
        arguments = sys.argv
        try:
            return fast_downward.pddl2sas(domain, problem, optimize=optimize)
        finally:
            sys.argv = arguments


@lru_cache(maxsize=PROBLEMS_KEPT)
def grounded(domain: str, problem: str) -> Grounded:
    """Ground a problem, keeping all facts and actions; cached."""
    task, sas = translated(domain, problem)
    return Grounded(
        sas=sas.encode(),
        parameters={action.name: parameters(action) for action in task.actions},
        changing=frozenset(effect.literal.predicate for action in task.actions for effect in action.effects),
        types={entity.name: entity.type_name for entity in task.objects},
        facts=tuple(
            (atom.predicate, tuple(atom.args))
            for atom in task.init
            if isinstance(atom, pddl.Atom) and atom.predicate != "="
        ),
    )


def parameters(action: pddl.Action) -> tuple[str, ...]:
    """An action's parameters in the domain; the translator adds one for each "exists" of a precondition."""
    return tuple(parameter.name.strip("?") for parameter in action.parameters[: action.num_external_parameters])


class FactBase:
    """The facts that hold in the current state."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        self._held: dict[str, set[tuple[str, ...]]] = defaultdict(set)
        self._sorted: dict[str, list[tuple[str, ...]]] = {}
        for predicate, entities in facts:
            self._held[predicate].add(entities)

    def sorted(self, predicate: str) -> list[tuple[str, ...]]:
        """The entities of each of a predicate's facts, sorted."""
        if predicate not in self._sorted:
            self._sorted[predicate] = sorted(self._held.get(predicate, ()))
        return self._sorted[predicate]

    def held(self) -> frozenset[Fact]:
        """All facts except negations ("not_...")."""
        return frozenset(
            (predicate, entities)
            for predicate, tuples in self._held.items()
            if not predicate.startswith("not_")
            for entities in tuples
        )

    def apply(self, changes: Iterable[tuple[Fact, Fact]]) -> None:
        """Make the first fact of each pair true, and the second, its opposite, false."""
        for (predicate, entities), (opposite, _) in changes:
            self._held[predicate].add(entities)
            self._held[opposite].discard(entities)
            self._sorted.pop(predicate, None)
            self._sorted.pop(opposite, None)


@dataclass(slots=True)
class Operator:
    """A grounded action. number, name: the planning library's; command: what a player types; bound: entity by
    parameter; effects: how many atoms it changes; changes: facts with their opposites, None until first applied.
    """

    number: int
    name: str
    command: str
    feedback: tuple[Part, ...]
    bound: Mapping[str, str]
    effects: int
    changes: list[tuple[Fact, Fact]] | None = None


class FastPddlEnv(textworld.Environment):
    """TextWorld environment for ALFWorld games, with the texts, admissible commands and goal test of `PddlEnv`."""

    def __init__(self) -> None:
        super().__init__(EnvInfos(won=True, admissible_commands=True))
        self.downward_lib = borrow()
        self._release = weakref.finalize(self, give_back, self.downward_lib)
        self._release.atexit = False  # at exit the system frees the memory anyway

    def load(self, data: Mapping[str, str]) -> None:
        """Load a game. data: "pddl_domain", "grammar" with TASK_MARK, "task" and "pddl_problem"."""
        self._grounded = grounded(data["pddl_domain"], data["pddl_problem"])
        self._wording = checked(wording(data["grammar"]), self._grounded)
        self._task, self._intro = data["task"], ""
        self._operators: dict[int, Operator] = {}
        # ALFWorld's wrapper, AlfredDemangler, reads this attribute to name things.
        self._entity_infos = entities(self._grounded)

    def reset(self) -> GameState:
        self.downward_lib.load_sas(self._grounded.sas)
        self._facts = FactBase(self._grounded.facts)
        if not self._intro:  # written once: a search resets a game thousands of times
            intro = self._wording.intro(Scene(self._facts, self._entity_infos, {}))
            self._intro = intro.replace(TASK_MARK, self._task)
        return self._state(self._intro)

    def step(self, command: str) -> tuple[GameState, int, bool]:
        operator = self._valid.get(command.strip())
        if operator is None:
            state = self._state(NOTHING)
        else:
            self._apply(operator)
            scene = Scene(self._facts, self._entity_infos, operator.bound)
            state = self._state(self._wording.text(operator.feedback, scene))
        return state, int(state["won"]), state["won"]

    def close(self) -> None:
        """Give the planning library back; the environment cannot be used after it."""
        self._release()

    def command(self, operator: str) -> str | None:
        """The command of a PDDL operator such as "openobject agent1 loc_1 fridge_1"; None if it is not valid now."""
        return next((valid.command for valid in self._valid.values() if valid.name == operator), None)

    def facts(self) -> frozenset[Fact]:
        """All facts that hold now; for experts."""
        return self._facts.held()

    def _state(self, feedback: str) -> GameState:
        self._valid = self._valid_operators()
        return GameState(
            feedback=feedback,
            raw=feedback,
            won=self.downward_lib.check_goal(),
            lost=False,
            admissible_commands=sorted(self._valid),
        )

    def _valid_operators(self) -> dict[str, Operator]:
        """The valid operators by command. If two have the same command, the library's first one counts."""
        operators = (fast_downward.Operator * self.downward_lib.get_applicable_operators_count())()
        self.downward_lib.get_applicable_operators(operators)
        valid: dict[str, Operator] = {}
        for applicable in operators:
            operator = self._operators.get(applicable.id) or self._met(applicable)
            valid.setdefault(operator.command, operator)
        return valid

    def _met(self, applicable: fast_downward.Operator) -> Operator:
        """Create and cache an operator that is valid for the first time in this game."""
        action, *arguments = applicable.name.split()
        bound = dict(zip(self._grounded.parameters[action], arguments, strict=True))
        words = self._wording.commands[action]
        command = self._wording.text(words.template, Scene(self._facts, self._entity_infos, bound))
        operator = Operator(applicable.id, applicable.name, command, words.feedback, bound, applicable.nb_effect_atoms)
        self._operators[operator.number] = operator
        return operator

    def _apply(self, operator: Operator) -> None:
        # The library fills this array with the atoms that became true or false; it is read once for each operator.
        effects = (fast_downward.Atom * operator.effects)()
        self.downward_lib.apply_operator(operator.number, effects)
        if operator.changes is None:
            operator.changes = [change(effect.name) for effect in effects]
        self._facts.apply(operator.changes)


def entities(problem: Grounded) -> dict[str, EntityInfo]:
    """TextWorld's record of each entity that a fact is about, under its PDDL name."""
    infos = {name: EntityInfo(name, problem.types[name]) for _, names in problem.facts for name in names}
    for info in infos.values():
        info.name, info.definite, info.indefinite = info.id, "the", "a"
    return infos


def change(atom: str) -> tuple[Fact, Fact]:
    """A fact that became true and its opposite, from "Atom inreceptacle(a, b)" or "NegatedAtom ...".

    A negated fact is a fact of its own, with the prefix "not_" before the predicate: the grammar queries these.
    """
    kind, _, fact = atom.partition(" ")
    predicate, _, inside = fact.removesuffix(")").partition("(")
    names = tuple(inside.split(", ")) if inside else ()
    true, false = (predicate, names), (f"not_{predicate}", names)
    return (false, true) if kind == "NegatedAtom" else (true, false)


def checked(words: Wording, problem: Grounded) -> Wording:
    """Check that no command depends on facts that actions change; returns the wording.

    Raises ValueError naming the action.
    """
    for action, command in words.commands.items():
        if changing := queried(command.template) & problem.changing:
            raise ValueError(f"the command of {action} depends on {sorted(changing)}, which actions change")
    return words
