"""Unit Movement: surround a target in a network of places from three sides (paper §5, C.4, D.4).

There is no solver and there are no tools: the agent writes the moves itself. The documents say what the paper's say, in
other words. The task network has the paper's structure, also the method that no task decomposes into (`m-note-both`).
The specification has no rule of adjacency (C.4.1): a unit may be sent to any location of the network in one turn.

Networks and units are random, from a seed. A target has four neighbours, and each of these has three outer places of
its own: 17 places, 16 edges. The paper adds "12 more random edges between neighboring nodes (excluding the target)". We
read this as 12 different edges, each between two of the 12 outer places, in the same section or in two, all pairs
equally likely.

The example that the paper prints (C.4.2) fits this reading as far as it goes. Of its 25 edges, 9 are beyond the 16. All
9 join outer places: 2 within a section, 7 between sections, also opposite ones. No neighbour of the target has an
additional edge; if random edges could end at neighbours, 9 edges would miss them all in one network of 100. That the
example has 9 and not 12 would fit 12 draws with repetition, where an edge drawn twice adds nothing; we use the number
in the text. `instances(..., edges=9)` makes networks as dense as the example.

The units of a section start at its outer places, as all units of the example do; which sections have units is random.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from procllm.domains import AnswerVerdict, Domain, Instance, cumulative

SIDES = 3  # sides of the target that must be held

GOAL = "Surround {{{}}}: hold at least three of the locations next to it."
NEED = "You hold a location if at least {} of your units are there."
UNIT = "Infantry ({}) at ({})"
GOAL_LINE = re.compile(r"Surround \{(\w+)\}: hold at least three of the locations next to it\.")
NEED_LINE = re.compile(r"You hold a location if at least ([0-9]{1,6}) of your units are there\.")
UNIT_LINE = re.compile(r"Infantry \((\w+)\) at \((\w+)\)")
PLACE_LINE = re.compile(r"(\w+) - \[('\w+'(?:, '\w+')*)\]")


class NoProblem(ValueError):
    """A request without a valid problem; the message says what is missing or impossible."""


@dataclass(frozen=True)
class MovementProblem:
    """target: the place to surround. need: units required at each of three places next to it. units: unit -> its place.

    network: place -> the places next to it; every edge is listed at both its ends.
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
    """The request: the goal, a line for each unit, a line for each place."""
    units = [UNIT.format(unit, place) for unit, place in problem.units.items()]
    places = [f"{place} - {list(adjacent)}" for place, adjacent in problem.network.items()]
    goal = [GOAL.format(problem.target), NEED.format(problem.need)]
    return "\n".join(["Goal:", *goal, "", "Units:", *units, "", "Network (location - next to it):", *places]) + "\n"


@lru_cache(maxsize=16)  # every step of an episode reads the same request
def parsed(text: str) -> MovementProblem:
    """Read the problem from a request. Other lines are ignored; of two lines that disagree the first counts.

    Raises NoProblem.
    """
    lines = [line.strip() for line in text.split("\n")]
    goals, needs, units, places = (
        [match.groups() for match in map(pattern.fullmatch, lines) if match]
        for pattern in (GOAL_LINE, NEED_LINE, UNIT_LINE, PLACE_LINE)
    )
    if not goals or not needs:
        raise NoProblem("The request states no goal")
    network = {place: tuple(re.findall(r"\w+", adjacent)) for place, adjacent in reversed(places)}
    ordered = {place: network[place] for place, _ in places}
    problem = MovementProblem(goals[0][0], int(needs[0][0]), _first(units), ordered)
    _refuse_impossible(problem)
    return problem


def _first(pairs: list[tuple[str, ...]]) -> dict[str, str]:
    values: dict[str, str] = {}
    for key, value in pairs:
        values.setdefault(key, value)
    return values


def _refuse_impossible(problem: MovementProblem) -> None:
    """Raise NoProblem for a place without a line, an edge listed at one end only, or too few sides or units."""
    network = problem.network
    missing = [place for place in (problem.target, *problem.units.values()) if place not in network]
    if missing:
        raise NoProblem(f"The network does not say what is next to {missing[0]}")
    for place, adjacent in network.items():
        if one_sided := next((neighbour for neighbour in adjacent if place not in network.get(neighbour, ())), None):
            raise NoProblem(f"{one_sided} is next to {place}, but {place} is not next to {one_sided}")
    if len(set(problem.neighbours)) < SIDES:
        raise NoProblem(f"{problem.target} has fewer than {SIDES} places next to it")
    if not 1 <= problem.need <= len(problem.units) / SIDES:
        raise NoProblem(f"{len(problem.units)} units cannot hold {SIDES} places with {problem.need} at each")


SECTIONS, OUTER = 4, 3  # neighbours of the target, and outer places of each
OCCUPIED = 3  # sections in which units start
EDGES = 12
PLACES = (
    "Alderley", "Amberhill", "Ashcombe", "Barrowdale", "Beechwood", "Birchmere", "Blackrock", "Bramblegate",
    "Brightwater", "Cedarholm", "Chalkdown", "Clearbrook", "Coldharbour", "Cranefield", "Deepwell", "Driftwood",
    "Elmstead", "Fairhaven", "Fernleigh", "Foxborough", "Glenrock", "Goldcrest", "Greycliff", "Hawthorn", "Hazelmoor",
    "Highgate", "Hollybank", "Ironbridge", "Juniper", "Kingsford", "Larkspur", "Longmeadow", "Maplecroft", "Millpond",
    "Northgate", "Oakhurst", "Otterburn", "Pebblebay", "Quarry", "Ravenscar", "Redstone", "Rushmere", "Saltmarsh",
    "Silverlake", "Stonebridge", "Thornbury", "Underhill", "Westmoor", "Whitecliff", "Willowdale",
)  # fmt: skip
CALL_SIGNS = (
    "Badger", "Condor", "Dingo", "Falcon", "Gecko", "Heron", "Jackal", "Kestrel", "Lynx", "Marten", "Osprey", "Viper",
)  # fmt: skip
MOST = 999  # instances of a seed: ids have three digits

Network = dict[str, tuple[str, ...]]


def instances(count: int, seed: int = 0, n: int = 5, k: int = 3, edges: int = EDGES) -> list[Instance]:
    """The first `count` problems of a seed: n units in each of three sections, k units needed to hold a neighbour.

    edges: random edges beyond the tree. Raises ValueError for sizes that have no solution or do not exist.
    """
    if not 1 <= k <= n or n > MOST:
        raise ValueError(f"n={n}, k={k}; it takes 1 to {MOST} units a section, and k is 1 to n")
    pairs = len(list(combinations(range(SECTIONS * OUTER), 2)))
    if not 0 <= edges <= pairs:
        raise ValueError(f"edges={edges}; between the outer places there can be up to {pairs}")
    if not 0 <= count <= MOST:
        raise ValueError(f"count={count}; a seed has up to {MOST} instances")
    return [_instance(seed, n, k, edges, number) for number in range(1, count + 1)]


def _instance(seed: int, n: int, k: int, edges: int, number: int) -> Instance:
    density = "" if edges == EDGES else f"-e{edges:02}"
    name = f"units-n{n:03}-k{k:03}{density}-s{seed:03}-{number:03}"
    random = Random(f"procllm {name}")
    network = made_network(random, edges)
    target = next(iter(network))
    problem = MovementProblem(target, k, _placed(target, network, n, random), network)
    return Instance(name, worded(problem), problem)


def made_network(random: Random, edges: int = EDGES) -> Network:
    """Place -> the places next to it; first the target, then its neighbours, then the outer places by section."""
    target, *others = random.sample(PLACES, 1 + SECTIONS * (1 + OUTER))
    neighbours, outer = others[:SECTIONS], others[SECTIONS:]
    pairs = [(target, neighbour) for neighbour in neighbours]
    pairs += [(neighbours[index // OUTER], place) for index, place in enumerate(outer)]
    pairs += random.sample(list(combinations(outer, 2)), edges)
    adjacent: dict[str, list[str]] = {place: [] for place in (target, *others)}
    for first, second in pairs:
        adjacent[first].append(second)
        adjacent[second].append(first)
    return {place: tuple(places) for place, places in adjacent.items()}


def _placed(target: str, network: Network, n: int, random: Random) -> dict[str, str]:
    """Unit -> place: n units in each of three random sections, each unit at a random outer place of its section."""
    signs = sorted(random.sample(CALL_SIGNS, OCCUPIED))
    units: dict[str, str] = {}
    for sign, neighbour in zip(signs, random.sample(network[target], OCCUPIED), strict=True):
        outer = [place for place in network[neighbour] if place != target]
        units |= {f"{sign}_{number}": random.choice(outer) for number in range(n)}
    return units


KEYS = ("unit_id", "action_type", "location")
SHOWN = 60  # characters of a wrong value that a message quotes


class BadAnswer(ValueError):
    """An answer that is not a list of moves, or an impossible move; the message names the first fault."""


class Move(NamedTuple):
    """An order: the unit is to be at the location after the turn."""

    unit: str
    location: str


def check(instance: Instance, answer: str) -> AnswerVerdict:
    """Check the parts "format", "moves" and "surrounded"."""
    problem: MovementProblem = instance.problem
    try:
        moves = read_moves(answer)
    except BadAnswer as fault:
        return cumulative({"format": str(fault), "moves": "", "surrounded": ""})
    try:
        places = after(problem, moves)
    except BadAnswer as fault:
        return cumulative({"format": "", "moves": str(fault), "surrounded": ""})
    count, enough = Counter(places.values()), held(problem, places.values())
    counts = ", ".join(f"{place} {count[place]}" for place in problem.neighbours)
    reason = f"Only {len(enough)} of {SIDES} locations next to {problem.target} have {problem.need} units: {counts}"
    return cumulative({"format": "", "moves": "", "surrounded": "" if len(enough) >= SIDES else reason})


def read_moves(answer: str) -> list[Move]:
    """Read the moves of an answer, which is a JSON list and nothing else, not even a code fence. Raises BadAnswer."""
    # Deep nesting raises RecursionError, and a number of thousands of digits a ValueError that is no JSONDecodeError.
    try:
        items = json.loads(answer, object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, json.JSONDecodeError | BadAnswer) else "it cannot be read"
        raise BadAnswer(f"The answer must be a JSON list and nothing else: {reason}") from None
    if not isinstance(items, list):
        raise BadAnswer(f"The answer must be a JSON list, not {_shown(items)}")
    return [_move(number, raw) for number, raw in enumerate(items, 1)]


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if repeated := [key for key, times in Counter(key for key, _ in pairs).items() if times > 1]:
        raise BadAnswer(f"an object has the key {_shown(repeated[0])} twice")
    return dict(pairs)


def _move(number: int, raw: Any) -> Move:
    if not isinstance(raw, dict) or set(raw) != set(KEYS):
        raise BadAnswer(f"Item {number} must be an object with {', '.join(KEYS)}, not {_shown(raw)}")
    if wrong_key := next((key for key in KEYS if not isinstance(raw[key], str)), None):
        raise BadAnswer(f"Item {number}: {wrong_key} must be a text, not {_shown(raw[wrong_key])}")
    if raw["action_type"] != "move":
        raise BadAnswer(f"Item {number}: the only action_type is 'move', not {_shown(raw['action_type'])}")
    return Move(raw["unit_id"], raw["location"])


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, str | int | float | bool | None) else f"a {type(value).__name__}"
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


def after(problem: MovementProblem, moves: Iterable[Move]) -> dict[str, str]:
    """Where each unit is after the turn; a unit without a move stays. Raises BadAnswer for an impossible move."""
    ordered: dict[str, str] = {}
    for unit, location in moves:
        if unit not in problem.units:
            raise BadAnswer(f"There is no unit {_shown(unit)}")
        if location not in problem.network:
            raise BadAnswer(f"{unit} cannot move to {_shown(location)}: there is no such location")
        # All moves belong to one turn: the last order must not silently win.
        if unit in ordered:
            raise BadAnswer(f"{unit} has two moves; a unit moves once a turn")
        ordered[unit] = location
    return {unit: ordered.get(unit, place) for unit, place in problem.units.items()}


def held(problem: MovementProblem, places: Iterable[str]) -> list[str]:
    """The neighbours of the target with enough units. places: the place of each unit."""
    count = Counter(places)
    return [place for place in problem.neighbours if count[place] >= problem.need]


def along_edges(instance: Instance, answer: str) -> float:
    """The share of an answer's moves that follow an edge of the network, in [0, 1]. For analysis; `check` ignores it.

    NaN for an answer without moves, or with an impossible one.
    """
    problem: MovementProblem = instance.problem
    try:
        moves = read_moves(answer)
        after(problem, moves)
    except BadAnswer:
        return float("nan")
    follows_edge = [move.location in problem.network[problem.units[move.unit]] for move in moves]
    return sum(follows_edge) / len(follows_edge) if follows_edge else float("nan")


FOLDER = Path(__file__).parent

DOMAIN = Domain(
    name="units",
    title="Unit Movement",
    specification=(FOLDER / "specification.txt").read_text(encoding="utf-8"),
    human=(FOLDER / "human.json").read_text(encoding="utf-8"),
    llm=(FOLDER / "llm_paper.json").read_text(encoding="utf-8"),
    printed_effects={f"m-move-group-{n}": f"the notes hold moves for units of group {n}" for n in (1, 2, 3)}
    | {
        "m-group-units": "the notes put units into three separate groups, and hold a strategy that says for each "
        "group how it moves so that the goal of the request is reached"
    },
    check=check,
    instances=instances,
    sized=("n", "k"),
)
