"""The checker: is the answer a list of moves, can they all be done, and is the target surrounded then?

The specification knows no rule of adjacency (C.4.1): a unit may be sent to any location of the network in one turn.
`along_edges` says how many of an answer's moves an adjacency rule would have allowed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from procllm.domains.base import AnswerVerdict, Instance, cumulative
from procllm.domains.units.request import SIDES, MovementProblem

KEYS = ("unit_id", "action_type", "location")
SHOWN = 60  # characters of an offender that a reason repeats


class BadAnswer(ValueError):
    """An answer that is no list of moves, or a move that cannot be done; the message names the first fault."""


class Move(NamedTuple):
    """One order: the unit shall be at the location after the turn."""

    unit: str
    location: str


def check(instance: Instance, answer: str) -> AnswerVerdict:
    """The parts of Unit Movement: "format", "moves", "surrounded"."""
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
    there = ", ".join(f"{place} {count[place]}" for place in problem.neighbours)
    lacking = f"Only {len(enough)} of {SIDES} locations next to {problem.target} have {problem.need} units: {there}"
    return cumulative({"format": "", "moves": "", "surrounded": "" if len(enough) >= SIDES else lacking})


def read_moves(answer: str) -> list[Move]:
    """The moves of an answer that is a JSON list and nothing else; a code fence is something else. Raises BadAnswer."""
    # Deep nesting raises RecursionError, and a number of thousands of digits a ValueError that is no JSONDecodeError.
    try:
        listed = json.loads(answer, object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError) as error:
        why = str(error) if isinstance(error, json.JSONDecodeError | BadAnswer) else "it cannot be read"
        raise BadAnswer(f"The answer must be a JSON list and nothing else: {why}") from None
    if not isinstance(listed, list):
        raise BadAnswer(f"The answer must be a JSON list, not {_shown(listed)}")
    return [_move(number, raw) for number, raw in enumerate(listed, 1)]


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if repeated := [key for key, times in Counter(key for key, _ in pairs).items() if times > 1]:
        raise BadAnswer(f"an object has the key {_shown(repeated[0])} twice")
    return dict(pairs)


def _move(number: int, raw: Any) -> Move:
    if not isinstance(raw, dict) or set(raw) != set(KEYS):
        raise BadAnswer(f"Item {number} must be an object with {', '.join(KEYS)}, not {_shown(raw)}")
    if odd := next((key for key in KEYS if not isinstance(raw[key], str)), None):
        raise BadAnswer(f"Item {number}: {odd} must be a text, not {_shown(raw[odd])}")
    if raw["action_type"] != "move":
        raise BadAnswer(f"Item {number}: the only action_type is 'move', not {_shown(raw['action_type'])}")
    return Move(raw["unit_id"], raw["location"])


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, str | int | float | bool | None) else f"a {type(value).__name__}"
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


def after(problem: MovementProblem, moves: Iterable[Move]) -> dict[str, str]:
    """Where each unit is after the turn; one without a move stays. Raises BadAnswer for a move that cannot be done."""
    ordered: dict[str, str] = {}
    for unit, location in moves:
        if unit not in problem.units:
            raise BadAnswer(f"There is no unit {_shown(unit)}")
        if location not in problem.network:
            raise BadAnswer(f"{unit} cannot move to {_shown(location)}: there is no such location")
        # All moves are of one turn: the last order must not silently win.
        if unit in ordered:
            raise BadAnswer(f"{unit} has two moves; a unit moves once a turn")
        ordered[unit] = location
    return {unit: ordered.get(unit, place) for unit, place in problem.units.items()}


def held(problem: MovementProblem, places: Iterable[str]) -> list[str]:
    """The neighbours of the target with enough units. places: where each unit is."""
    count = Counter(places)
    return [place for place in problem.neighbours if count[place] >= problem.need]


def along_edges(instance: Instance, answer: str) -> float:
    """The share of an answer's moves that go along one edge of the network, in [0, 1]; for analysis, no part of check.

    NaN for an answer without moves, or with one that cannot be done.
    """
    problem: MovementProblem = instance.problem
    try:
        moves = read_moves(answer)
        after(problem, moves)
    except BadAnswer:
        return float("nan")
    near = [move.location in problem.network[problem.units[move.unit]] for move in moves]
    return sum(near) / len(near) if near else float("nan")
