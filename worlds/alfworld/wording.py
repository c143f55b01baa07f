"""A game's texts: its grammar, compiled once and then only filled in.

A game's grammar is TextWorld's (Côté et al. 2018): rules with conditions on the facts, `{o.name | query}` for each
match of a query, `[...]` for a list. TextWorld's own parser reads it here. TextWorld parses texts and queries again and
copies contexts at every step; here that is done once.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any, NamedTuple, Protocol

from textworld.envs.pddl import logic, textgen
from textworld.logic import Rule

Names = Mapping[str, str]  # placeholder -> id of an entity
_compiling = Lock()
GRAMMARS_KEPT = 4  # one is used, or two where both official and synthetic games are played


class Facts(Protocol):
    """Access to the facts that hold."""

    def sorted(self, predicate: str) -> Sequence[tuple[str, ...]]:
        """The entities, by id, of each fact of a predicate."""
        ...


class Scene(NamedTuple):
    """The state that a text describes. entities: by id; bound: entity id by placeholder."""

    facts: Facts
    entities: Mapping[str, Any]
    bound: Names


class Condition(NamedTuple):
    """One part of a query: a predicate and its placeholders."""

    predicate: str
    placeholders: tuple[str, ...]


Query = tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """The text of another rule."""

    rule: str


@dataclass(frozen=True, slots=True)
class Each:
    """The value of an expression, or the text of a rule, for every match of a query."""

    shown: ast.expr | Reference
    query: Query


@dataclass(frozen=True, slots=True)
class Listed:
    """The texts of `each`, joined to an enumeration."""

    each: Each


Part = str | Reference | Each | Listed


class Production(NamedTuple):
    """A rule's text where its condition holds."""

    condition: Query
    parts: tuple[Part, ...]


class Command(NamedTuple):
    """How an action is typed, and what the game answers."""

    template: tuple[Part, ...]
    feedback: tuple[Part, ...]


class Wording:
    """A compiled grammar. commands: by the lower-case name of the action."""

    def __init__(self, grammar: str) -> None:
        parsed = logic.GameLogic(domain="", grammar=grammar)
        self._rules = {
            name: [Production(query_of(rule.condition), parts_of(rule.rhs)) for rule in rules]
            for name, rules in parsed.grammar._rules.items()  # TextWorld has no public way to a grammar's rules
        }
        self.commands = {
            name: Command(parts_of(symbols(action.template)), parts_of(symbols(action.feedback_rule)))
            for name, action in parsed.actions.items()
        }

    def intro(self, scene: Scene) -> str:
        """A game's first text."""
        return self._part(Reference("intro"), scene)

    def text(self, parts: Sequence[Part], scene: Scene) -> str:
        """The parts, filled in."""
        # A list, which `join` takes faster than a generator: this runs for every command of every step.
        return "".join([self._part(part, scene) for part in parts])

    def _part(self, part: Part, scene: Scene) -> str:
        match part:
            case str():
                return part
            case Reference():
                return self.text(self._production(part.rule, scene).parts, scene)
            case Each():
                return "".join(self._each(part, scene))
            case Listed():
                return self._enumeration(list(self._each(part.each, scene)), scene)

    def _production(self, rule: str, scene: Scene) -> Production:
        """The first production of a rule whose condition holds."""
        return next(
            production
            for production in self._rules[rule]
            if any(True for _ in matches(production.condition, scene.facts, scene.bound))
        )

    def _each(self, each: Each, scene: Scene) -> Iterator[str]:
        for bound in matches(each.query, scene.facts, scene.bound):
            if isinstance(each.shown, Reference):
                yield self._part(each.shown, scene._replace(bound=bound))
            else:
                values = {name: scene.entities[entity] for name, entity in bound.items()}
                yield str(value_of(each.shown, values))

    def _enumeration(self, items: list[str], scene: Scene) -> str:
        if not items:
            return self._part(Reference("list_empty"), scene)
        if len(items) == 1:
            return items[0]
        start = self._part(Reference("list_separator"), scene).join(items[:-1])
        return start + self._part(Reference("list_last_separator"), scene) + items[-1]


def matches(query: Query, facts: Facts, bound: Names) -> Iterator[Names]:
    """Every way to fill a query's free placeholders so that its facts hold, in the stock engine's order.

    As there, two placeholders never stand for the same entity.
    """
    if not query:
        yield bound
        return
    for entities in facts.sorted(query[0].predicate):
        extended = unified(query[0].placeholders, entities, bound)
        if extended is not None:
            yield from matches(query[1:], facts, extended)


def unified(placeholders: Sequence[str], entities: Sequence[str], bound: Names) -> Names | None:
    """`bound`, extended so that the placeholders stand for the entities; None if that is impossible."""
    new: dict[str, str] = {}
    for placeholder, entity in zip(placeholders, entities, strict=True):
        current = bound.get(placeholder) or new.get(placeholder)
        if current is None and entity not in bound.values() and entity not in new.values():
            new[placeholder] = entity
        elif current != entity:
            return None
    return {**bound, **new}


def queried(parts: Sequence[Part]) -> set[str]:
    """The predicates that a command's template asks for."""
    eaches = (part.each if isinstance(part, Listed) else part for part in parts)
    return {condition.predicate for each in eaches if isinstance(each, Each) for condition in each.query}


def symbols(text: str) -> list[textgen.Symbol]:
    """A text of the grammar, parsed by TextWorld."""
    return textgen._parse_and_convert(text, rule_name="symbols")


def query_of(expression: str | None) -> Query:
    """A condition such as "openable(r:receptacle) & opened(r:receptacle)"; empty where there is none."""
    if not expression:
        return ()
    return tuple(
        Condition(predicate.name, tuple(placeholder.name for placeholder in predicate.parameters))
        for predicate in Rule.parse_conjunctive_query(expression).preconditions
    )


def parts_of(parsed: Sequence[textgen.Symbol]) -> tuple[Part, ...]:
    return tuple(part_of(symbol) for symbol in parsed)


def part_of(symbol: textgen.Symbol) -> Part:
    match symbol:
        case textgen.TerminalSymbol():
            return str(symbol)
        case textgen.NonterminalSymbol():
            return Reference(str(symbol))
        case textgen.ListSymbol():
            return Listed(each_of(symbol.symbol))
        case textgen.ConditionalSymbol():
            return each_of(symbol)
    raise ValueError(f"the grammar has {symbol!r}, which no ALFWorld grammar uses")


def each_of(symbol: textgen.ConditionalSymbol) -> Each:
    expression = str(symbol.expression).strip()
    if isinstance(symbol.expression, textgen.NonterminalSymbol):
        return Each(Reference(expression), query_of(symbol.given))
    return Each(parsed_expression(expression), query_of(symbol.given))


def parsed_expression(text: str) -> ast.expr:
    """An expression such as "o.indefinite + ' ' + o.name or o.id". Nothing in a data folder is run as code.

    Raises ValueError for anything but texts, placeholders, their attributes, + and `or`.
    """
    tree = ast.parse(text.strip(), mode="eval").body
    for node in ast.walk(tree):
        operator = isinstance(node, (ast.Add, ast.BinOp, ast.BoolOp, ast.Or, ast.Load, ast.Name))
        constant = isinstance(node, ast.Constant) and isinstance(node.value, str)
        public = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and not node.attr.startswith("_")
        if not (operator or constant or public):
            raise ValueError(f"the grammar has {text!r}; it may hold texts, attributes such as o.name, + and `or`")
    return tree


def value_of(expression: ast.expr, entities: Mapping[str, Any]) -> Any:
    """The value of a parsed expression. entities: by placeholder."""
    match expression:
        case ast.Constant(text):
            return text
        case ast.Name(placeholder):
            return entities[placeholder]
        case ast.Attribute(ast.Name(placeholder), name):
            return getattr(entities[placeholder], name)
        case ast.BinOp(left, _, right):
            return value_of(left, entities) + value_of(right, entities)
        case ast.BoolOp(_, values):
            choices = [value_of(value, entities) for value in values]
            return next(filter(None, choices), choices[-1])
    raise AssertionError(f"{expression} was not parsed by parsed_expression")


def wording(grammar: str) -> Wording:
    """The compiled grammar; cached. All games share it, since TASK_MARK replaces the text in which they differ.

    One thread at a time: TextWorld has a single parser, which is not thread-safe.
    """
    with _compiling:
        return _compiled(grammar)


@lru_cache(maxsize=GRAMMARS_KEPT)
def _compiled(grammar: str) -> Wording:
    return Wording(grammar)
