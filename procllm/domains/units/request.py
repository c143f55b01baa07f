"""A problem, and the request that tells of it: written, and read back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

SIDES = 3  # of the target that are to be held

GOAL = "Surround {{{}}}: hold at least three of the locations next to it."
NEED = "You hold a location if at least {} of your units are there."
UNIT = "Infantry ({}) at ({})"
GOAL_LINE = re.compile(r"Surround \{(\w+)\}: hold at least three of the locations next to it\.")
NEED_LINE = re.compile(r"You hold a location if at least ([0-9]{1,6}) of your units are there\.")
UNIT_LINE = re.compile(r"Infantry \((\w+)\) at \((\w+)\)")
PLACE_LINE = re.compile(r"(\w+) - \[('\w+'(?:, '\w+')*)\]")


class NoProblem(ValueError):
    """A text that tells of no problem; the message says what is missing or impossible."""


@dataclass(frozen=True)
class MovementProblem:
    """target: to be surrounded. need: units at each of three places next to it. units: unit -> where it is.

    network: place -> the places next to it; every edge stands at both its ends.
    """

    target: str
    need: int
    units: Mapping[str, str]
    network: Mapping[str, tuple[str, ...]]

    @property
    def neighbours(self) -> tuple[str, ...]:
        """The places next to the target."""
        return self.network[self.target]


def worded(problem: MovementProblem) -> str:
    """The request: the goal, a line a unit, a line a place."""
    units = [UNIT.format(unit, place) for unit, place in problem.units.items()]
    places = [f"{place} - {list(beside)}" for place, beside in problem.network.items()]
    goal = [GOAL.format(problem.target), NEED.format(problem.need)]
    return "\n".join(["Goal:", *goal, "", "Units:", *units, "", "Network (location - next to it):", *places]) + "\n"


@lru_cache(maxsize=16)  # an episode's one request is read at every step
def parsed(text: str) -> MovementProblem:
    """The problem that a request tells of; other lines say nothing, of two that disagree the first counts.

    Raises NoProblem.
    """
    lines = [line.strip() for line in text.split("\n")]
    goals, needs, units, places = (
        [match.groups() for match in map(pattern.fullmatch, lines) if match]
        for pattern in (GOAL_LINE, NEED_LINE, UNIT_LINE, PLACE_LINE)
    )
    if not goals or not needs:
        raise NoProblem("The request states no goal")
    network = {place: tuple(re.findall(r"\w+", beside)) for place, beside in reversed(places)}
    ordered = {place: network[place] for place, _ in places}
    problem = MovementProblem(goals[0][0], int(needs[0][0]), _first(units), ordered)
    _refuse_impossible(problem)
    return problem


def _first(pairs: list[tuple[str, ...]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in pairs:
        found.setdefault(key, value)
    return found


def _refuse_impossible(problem: MovementProblem) -> None:
    """Places that are named have a line, an edge stands at both ends, and there are enough sides and units."""
    network = problem.network
    lost = [place for place in (problem.target, *problem.units.values()) if place not in network]
    if lost:
        raise NoProblem(f"The network does not say what is next to {lost[0]}")
    for place, beside in network.items():
        if one_sided := next((each for each in beside if place not in network.get(each, ())), None):
            raise NoProblem(f"{one_sided} is next to {place}, but {place} is not next to {one_sided}")
    if len(set(problem.neighbours)) < SIDES:
        raise NoProblem(f"{problem.target} has fewer than {SIDES} places next to it")
    if not 1 <= problem.need <= len(problem.units) / SIDES:
        raise NoProblem(f"{len(problem.units)} units cannot hold {SIDES} places with {problem.need} at each")
