"""Groups of units and where each goes, as the rules note them: a line a group."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice, permutations
from typing import NamedTuple

from procllm.domains.units.request import SIDES, MovementProblem

LINE = re.compile(r"group ([1-3]) goes to (\w+): (\w+(?:, \w+)*)")
TRIED = 10_000  # ways to send groups to places; four places have 24


class Group(NamedTuple):
    """number: 1 to 3. place: next to the target, where the group goes. units: in the order of the request."""

    number: int
    place: str
    units: tuple[str, ...]


def grouped(problem: MovementProblem) -> list[Group]:
    """Three groups, each sent where most of its units get along one edge; no two go to the same place."""
    signs: dict[str, list[str]] = {}  # by what stands before a unit's number
    for unit in problem.units:
        signs.setdefault(unit.rpartition("_")[0], []).append(unit)
    groups = list(signs.values())
    # In three equal parts, if the call signs make no three groups of the size.
    if len(groups) != SIDES or any(len(group) < problem.need for group in groups):
        groups = [list(problem.units)[number::SIDES] for number in range(SIDES)]
    near = [Counter(place for unit in units for place in problem.network[problem.units[unit]]) for units in groups]
    ways = islice(permutations(dict.fromkeys(problem.neighbours), SIDES), TRIED)
    best = max(ways, key=lambda places: sum(count[place] for count, place in zip(near, places, strict=True)))
    return [Group(*each) for each in zip(range(1, SIDES + 1), best, map(tuple, groups), strict=True)]


def written(groups: Sequence[Group]) -> str:
    """The groups as text."""
    return "\n".join(f"group {number} goes to {place}: {', '.join(units)}" for number, place, units in groups)


def read_groups(text: str) -> list[Group] | None:
    """The groups of such a text by number; None if they are not three."""
    lines = [match for line in text.split("\n") if (match := LINE.fullmatch(line.strip()))]
    groups = sorted(Group(int(line[1]), line[2], tuple(line[3].split(", "))) for line in lines)
    return groups if [group.number for group in groups] == [1, 2, 3] else None


def fault_of(groups: Sequence[Group], problem: MovementProblem) -> str:
    """What keeps the groups from reaching the goal, in words; "" if nothing does."""
    placed = Counter(unit for group in groups for unit in group.units)
    if unknown := next((unit for unit in placed if unit not in problem.units), None):
        return f"There is no unit {unknown}"
    if twice := next((unit for unit, times in placed.items() if times > 1), None):
        return f"{twice} is in two groups, or twice in one"
    if lost := next((unit for unit in problem.units if unit not in placed), None):
        return f"{lost} is in no group"
    if away := next((group for group in groups if group.place not in problem.neighbours), None):
        return f"Group {away.number} goes to {away.place}, which is not next to {problem.target}"
    if len({group.place for group in groups}) < len(groups):
        return "Two groups go to the same place"
    weak = next((group for group in groups if len(group.units) < problem.need), None)
    return f"Group {weak.number} has {len(weak.units)} of {problem.need} units" if weak else ""
