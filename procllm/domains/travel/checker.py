"""What is right in Travel Planner; written apart from any solver.

The paper names the three columns of Table 1 and not what counts as right. Here it is what the benchmark's own rules
say of these three things:

- Flight 1: a flight from the origin to the destination on the first day.
- Flight 2: a flight back on the last day.
- Hotel: an accommodation of the destination, by its exact name, with the room type that the request asks for, without
  a house rule against what the party brings, and with no more minimum nights than the trip has.

Money is counted as the benchmark does: a seat for everyone on each flight, and each night as many units as hold
everyone. The sum so far is held against the budget in every column, so that the column fails which first exceeds it.
An answer may hold other keys beside the three; a key that stands twice says nothing. Blanks around a value and runs of
blanks within are one blank. Of several accommodations of one name, one that suits is enough.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from procllm.domains.base import AnswerVerdict, Instance, cumulative
from procllm.domains.travel.instances import TripProblem
from worlds.travelplanner.hard import forbids, has_room_type
from worlds.travelplanner.itinerary import flight_cost, night_cost
from worlds.travelplanner.listings import Accommodation, Flight

PARTS = ("Flight 1", "Flight 2", "Hotel")
MOST_CHARACTERS = 100_000


class _Pairs(list[tuple[str, Any]]):
    """A JSON object with its keys as often as they were written."""


def check(instance: Instance, answer: str) -> AnswerVerdict:
    """Whether the answer's flights and accommodation are right, cumulatively in the order of Table 1. Never raises."""
    problem: TripProblem = instance.problem
    pairs = _pairs(answer)
    if isinstance(pairs, str):
        return cumulative(dict.fromkeys(PARTS, pairs))
    people, spent = problem.task.people, 0.0
    out, fault_out = _flight(pairs, "departing_flight", problem.departing, problem, 0)
    spent += flight_cost(out, people) if out else 0
    back, fault_back = _flight(pairs, "returning_flight", problem.returning, problem, spent)
    spent += flight_cost(back, people) if back else 0
    return cumulative(dict(zip(PARTS, (fault_out, fault_back, _hotel(pairs, problem, spent)), strict=True)))


def _pairs(answer: str) -> _Pairs | str:
    """The answer's keys and values, or what is wrong with it."""
    if len(answer) > MOST_CHARACTERS:
        return f"The answer has {len(answer)} characters; three values need far fewer."
    # A dict would keep the last of two values for one key, and an answer could name two flights.
    try:
        raw = json.loads(answer, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return "The answer is no JSON." if answer.strip() else "There is no answer."
    return raw if isinstance(raw, _Pairs) else "The answer is no JSON object."


def _text(pairs: _Pairs, key: str) -> tuple[str, str]:
    """The value of a key and what is wrong with it; one of the two is empty."""
    values = [value for name, value in pairs if name == key]
    if len(values) != 1:
        return "", f"The answer says {key} {len(values)} times." if values else f"The answer does not say {key}."
    if not isinstance(values[0], str) or not values[0].strip():
        return "", f"The answer's {key} is no text."
    return " ".join(values[0].split()), ""


def _flight(
    pairs: _Pairs, key: str, flights: Sequence[Flight], problem: TripProblem, spent: float
) -> tuple[Flight | None, str]:
    number, fault = _text(pairs, key)
    if fault:
        return None, fault
    flight = next((flight for flight in flights if flight.number == number), None)
    if flight is None:
        return None, f"{key}: no flight {_short(number)} on that route and day."
    return flight, _overspent(key, spent + flight_cost(flight, problem.task.people), problem)


def _hotel(pairs: _Pairs, problem: TripProblem, spent: float) -> str:
    name, fault = _text(pairs, "accommodation")
    if fault:
        return fault
    # The benchmark's table has several accommodations of one name.
    faults = [
        _unsuitable(place, problem, spent) for place in problem.accommodations if " ".join(place.name.split()) == name
    ]
    if not faults:
        return f"accommodation: none in {problem.task.dest} has the name {_short(name)}."
    return "" if "" in faults else faults[0]


def _unsuitable(place: Accommodation, problem: TripProblem, spent: float) -> str:
    """Why the place does not suit the request; "" if it does."""
    task, nights = problem.task, problem.nights
    if task.room_type and not has_room_type(place, task.room_type):
        return f"accommodation: it is of type {place.room_type!r}, and the request asks for {task.room_type!r}."
    if task.house_rule and forbids(place, task.house_rule):
        return f"accommodation: its house rules are {place.house_rules!r}, and the request needs {task.house_rule}."
    if place.minimum_nights > nights:
        return f"accommodation: it is let for {place.minimum_nights} nights or more, and the trip has {nights}."
    return _overspent("accommodation", spent + night_cost(place, task.people) * nights, problem)


def _overspent(key: str, spent: float, problem: TripProblem) -> str:
    budget = problem.task.budget
    return "" if spent <= budget else f"{key}: with it the trip costs ${spent:,.0f}, and the budget is ${budget:,}."


def _short(text: str) -> str:
    return ascii(text[:60])
