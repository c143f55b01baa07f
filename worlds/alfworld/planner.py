"""The planner of the synthetic games: it plans on the part of a problem that the goal is about.

The planning library's own search on a whole kitchen takes gigabytes and does not end. Here it gets only one thing of
each wanted kind (two where the goal wants two), the receptacles that hold them, a target receptacle and the appliance.
That takes a hundredth of a second. What an action needs in the part also holds in the whole problem, so the plan is
valid there too.
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
NAMED_IN_GOALS = {"agent", "otype", "rtype"}  # types whose names are all kept


class Sections(NamedTuple):
    """A PDDL problem. objects: type by name; init: the facts; goal: its expression."""

    objects: dict[str, str]
    init: list[Expression]
    goal: Expression

    def related(self, predicate: str) -> dict[str, str]:
        """The second entity of each fact of a binary predicate by its first."""
        return {fact[1]: fact[2] for fact in self.init if fact[0] == predicate}


def plan(domain: str, problem: str, appliance: str | None) -> list[str] | None:
    """Operators that reach the goal, such as "openobject agent1 loc_1 fridge_1"; None if the part has no plan.

    They are the cheapest by the problem's costs, which include distances. appliance: the PDDL type of a receptacle that
    is needed on the way.
    """
    sections = sections_of(problem)
    names = relevant(sections, appliance)
    return None if names is None else searched(domain, text_of(sections, names, COST))


def way(domain: str, problem: str, appliance: str | None, facts: Iterable[Fact]) -> list[str] | None:
    """The fewest operators that reach the goal from a state with these facts; None if none are found.

    They use things within reach, and otherwise things chosen by name; a plan with other things may be shorter.
    """
    sections = sections_of(problem)._replace(init=[[predicate, *entities] for predicate, entities in facts])
    relevant_names = relevant(sections, appliance, near=True)
    return None if relevant_names is None else searched(domain, text_of(sections, relevant_names))


def sections_of(problem: str) -> Sections:
    by_name = {section[0]: section[1:] for section in parsed(problem)[1:]}
    return Sections(dict(typed(by_name[":objects"])), by_name[":init"], by_name[":goal"][0])


def parsed(text: str) -> Expression:
    """Parse a PDDL text. The planning library has a parser too, but importing it reads the command line."""
    open_lists: list[Expression] = [[]]
    for token in re.findall(r"[()]|[^\s()]+", re.sub(r";.*", "", text).lower()):
        if token == "(":
            open_lists.append([])
        elif token == ")":
            closed = open_lists.pop()
            open_lists[-1].append(closed)
        else:
            open_lists[-1].append(token)
    return open_lists[0][0]


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
    """The names of the part that the goal is about; None if a wanted kind of thing is missing.

    near: prefer things at the agent's location, and include a carried thing that is not wanted, with a receptacle to
    put it in.
    """
    carried = {thing: agent for agent, thing in sections.related("holds").items()}
    container_of, location_of = sections.related("inreceptacle"), sections.related("receptacleatlocation")
    nearby = {name for name, spot in location_of.items() if near and spot in {*sections.related("atlocation").values()}}
    preferred = [carried, {thing for thing, receptacle in container_of.items() if receptacle in nearby}]
    things = wanted(sections, "objecttype", carried | container_of, first=preferred)
    targets = wanted(sections, "receptacletype", inside=location_of, more=appliance, first=[nearby])
    if things is None or targets is None:
        return None
    receptacles = targets | {container_of[thing] for thing in things & container_of.keys()}
    for thing in carried.keys() - things if near else ():
        kind, kinds = sections.related("objecttype")[thing], sections.related("receptacletype")
        fitting = {fact[1] for fact in sections.init if fact[0] == "cancontain" and fact[2] == kind}
        free = sorted(
            (name for name in location_of if kinds[name] in fitting), key=lambda name: (name not in nearby, name)
        )
        things, receptacles = things | {thing}, receptacles | {*free[:1]}
    names = {name for name, kind in sections.objects.items() if kind in NAMED_IN_GOALS}
    agent_locations = sections.related("atlocation").values()
    return names | things | receptacles | {location_of[receptacle] for receptacle in receptacles} | set(agent_locations)


def wanted(
    sections: Sections, predicate: str, inside: Collection[str], more: str | None = None,
    first: Sequence[Collection[str]] = (),
) -> set[str] | None:  # fmt: skip
    """Choose as many names of each type as the goal has variables of it; None if there are too few.

    inside: the names to choose from. more: one more type. first: groups to prefer, in this order; then by name.
    """
    # Goal facts that give a variable its type; two variables of one type are the task with two things.
    counts = Counter(fact[2] for fact in atoms(sections.goal) if fact[0] == predicate)
    if predicate == "receptacletype":  # the goal names one receptacle's type more than once
        counts = Counter(dict.fromkeys([*counts, *([more] if more else [])], 1))
    types = sections.related(predicate)
    chosen: set[str] = set()
    for kind, count in counts.items():
        candidates = (name for name, type_name in types.items() if type_name == kind and name in inside)
        names = sorted(candidates, key=lambda name: ([name not in group for group in first], name))[:count]
        if len(names) < count:
            return None
        chosen.update(names)
    return chosen


def atoms(expression: Expression) -> Iterator[Expression]:
    """The innermost expressions, those without nested lists."""
    inner = [part for part in expression if isinstance(part, list)]
    if not inner:
        yield expression
    for part in inner:
        yield from atoms(part)


def text_of(sections: Sections, kept: set[str], metric: str = "") -> str:
    """The PDDL text of the problem, restricted to the kept names.

    metric: the cost to minimise; "" for the number of operators.
    """
    # The library requires the sections in this order, see `worlds.alfworld.synthetic`.
    objects = " ".join(f"{name} - {kind}" for name, kind in sections.objects.items() if name in kept)
    init = [fact for fact in sections.init if fact[0] == "=" or kept.issuperset(fact[1:])]
    return (
        f"(define (problem part) (:domain alfred) (:objects {objects}) (:init {' '.join(map(written, init))}) "
        f"(:goal {written(sections.goal)}){metric})"
    )


def written(expression: Expression | str) -> str:
    return expression if isinstance(expression, str) else f"({' '.join(map(written, expression))})"


def searched(domain: str, problem: str) -> list[str] | None:
    """The plan that the library's default search finds; None if it finds none."""
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
