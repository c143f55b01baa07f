"""The planner of the synthetic games: it plans on the part of a problem that the goal is about.

The planning library's own search on a whole kitchen takes gigabytes and does not end. Here it sees one thing of each
wanted kind (two where the goal wants two), the receptacles that these lie in, one where they should go, the
appliance, and nothing else: a hundredth of a second. Leaving things out takes nothing from what an action needs, so
that the plan is one for the whole problem too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import fast_downward

from worlds.alfworld.engine import Fact, borrow, give_back, translated

Expression = list[Any]  # a PDDL expression as nested lists of lower-case words
COST = " (:metric minimize (total-cost))"
NAMED_IN_GOALS = {"agent", "otype", "rtype"}  # the types of which every name is kept


class Sections(NamedTuple):
    """A PDDL problem. objects: type by name; init: the facts; goal: its expression."""

    objects: dict[str, str]
    init: list[Expression]
    goal: Expression

    def related(self, predicate: str) -> dict[str, str]:
        """The second entity of each fact of a binary predicate by its first."""
        return {fact[1]: fact[2] for fact in self.init if fact[0] == predicate}


def plan(domain: str, problem: str, appliance: str | None) -> list[str] | None:
    """Operators that reach the goal, such as "openobject agent1 loc_1 fridge_1"; None where the part has no plan.

    They cost the least by what the problem states, distances among them. appliance: the PDDL type of a receptacle that
    is needed on the way.
    """
    sections = sections_of(problem)
    kept = relevant(sections, appliance)
    return None if kept is None else searched(domain, text_of(sections, kept, COST))


def way(domain: str, problem: str, appliance: str | None, facts: Iterable[Fact]) -> list[str] | None:
    """The fewest operators that reach the goal from where these facts hold; None where none are found.

    They are about what is at hand, and else about things that are chosen by name, so that a shorter way may lead by
    others.
    """
    sections = sections_of(problem)._replace(init=[[predicate, *names] for predicate, names in facts])
    kept = relevant(sections, appliance, near=True)
    return None if kept is None else searched(domain, text_of(sections, kept))


def sections_of(problem: str) -> Sections:
    named = {section[0]: section[1:] for section in parsed(problem)[1:]}
    return Sections(dict(typed(named[":objects"])), named[":init"], named[":goal"][0])


def parsed(text: str) -> Expression:
    """A PDDL text. The planning library has a parser too, but its import reads the command line."""
    open_ones: list[Expression] = [[]]
    for token in re.findall(r"[()]|[^\s()]+", re.sub(r";.*", "", text).lower()):
        if token == "(":
            open_ones.append([])
        elif token == ")":
            closed = open_ones.pop()
            open_ones[-1].append(closed)
        else:
            open_ones[-1].append(token)
    return open_ones[0][0]


def typed(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Names with their types, from "a b - type c - other"."""
    untyped: list[str] = []
    words = iter(names)
    for word in words:
        if word == "-":
            kind = next(words)
            yield from ((name, kind) for name in untyped)
            untyped = []
        else:
            untyped.append(word)


def relevant(sections: Sections, appliance: str | None, near: bool = False) -> set[str] | None:
    """The names that the goal is about; None where a kind of thing is wanted and not there.

    near: prefer what is where the agent is, and keep what it holds that nobody wants, with a place to put that.
    """
    held = {thing: agent for agent, thing in sections.related("holds").items()}
    held_in, where = sections.related("inreceptacle"), sections.related("receptacleatlocation")
    here = {name for name, place in where.items() if near and place in {*sections.related("atlocation").values()}}
    at_hand = [held, {thing for thing, receptacle in held_in.items() if receptacle in here}]
    things = wanted(sections, "objecttype", held | held_in, first=at_hand)
    places = wanted(sections, "receptacletype", inside=where, more=appliance, first=[here])
    if things is None or places is None:
        return None
    receptacles = places | {held_in[thing] for thing in things & held_in.keys()}
    for thing in held.keys() - things if near else ():
        kind, kinds = sections.related("objecttype")[thing], sections.related("receptacletype")
        fitting = {fact[1] for fact in sections.init if fact[0] == "cancontain" and fact[2] == kind}
        free = sorted((name for name in where if kinds[name] in fitting), key=lambda name: (name not in here, name))
        things, receptacles = things | {thing}, receptacles | {*free[:1]}
    names = {name for name, kind in sections.objects.items() if kind in NAMED_IN_GOALS}
    start = sections.related("atlocation").values()
    return names | things | receptacles | {where[receptacle] for receptacle in receptacles} | set(start)


def wanted(
    sections: Sections, predicate: str, inside: Collection[str], more: str | None = None,
    first: Sequence[Collection[str]] = (),
) -> set[str] | None:  # fmt: skip
    """As many names of each type as the goal has variables of it, among those that are somewhere (`inside`): of the
    first of some groups before others, and then by name.
    """
    # Of the goal's facts those that give a variable its type; two variables of one type are the task with two things.
    counts = Counter(fact[2] for fact in atoms(sections.goal) if fact[0] == predicate)
    if predicate == "receptacletype":  # the goal names one receptacle's type more than once
        counts = Counter(dict.fromkeys([*counts, *([more] if more else [])], 1))
    types = sections.related(predicate)
    chosen: set[str] = set()
    for kind, count in counts.items():
        there = (name for name, own in types.items() if own == kind and name in inside)
        names = sorted(there, key=lambda name: ([name not in group for group in first], name))[:count]
        if len(names) < count:
            return None
        chosen.update(names)
    return chosen


def atoms(expression: Expression) -> Iterator[Expression]:
    """The innermost expressions."""
    inner = [part for part in expression if isinstance(part, list)]
    if not inner:
        yield expression
    for part in inner:
        yield from atoms(part)


def text_of(sections: Sections, kept: set[str], metric: str = "") -> str:
    """The problem with those names only. metric: what is to be the least; "" for the number of operators."""
    # The library wants the sections in this order, see `worlds.alfworld.synthetic`.
    objects = " ".join(f"{name} - {kind}" for name, kind in sections.objects.items() if name in kept)
    init = [fact for fact in sections.init if fact[0] == "=" or kept.issuperset(fact[1:])]
    return (
        f"(define (problem part) (:domain alfred) (:objects {objects}) (:init {' '.join(map(written, init))}) "
        f"(:goal {written(sections.goal)}){metric})"
    )


def written(expression: Expression | str) -> str:
    return expression if isinstance(expression, str) else f"({' '.join(map(written, expression))})"


def searched(domain: str, problem: str) -> list[str] | None:
    """What the planning library finds, by its default search."""
    _, sas = translated(domain, problem, optimize=True)
    library = borrow()
    try:
        if not library.solve_sas(sas.encode(), False):
            return None
        operators = (fast_downward.Operator * library.get_last_plan_length())()
        library.get_last_plan(operators)
        return [operator.name for operator in operators]
    finally:
        give_back(library)
