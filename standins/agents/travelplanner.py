"""Rules for the agents' prompts on synthetic trips: they read the searches' texts.

They look up what a query asks for by its text in the synthetic data, since no search tells it. They know what SDP's
rules know: first the cheapest of what fits the query, and wanted cuisines where they cost least. What SDP's filters
remove, these rules leave out themselves, since the query says it. Nothing is weighed against the budget. They do not
know queries worded by people or models: for these they hand in a blank plan.
"""

from __future__ import annotations

import json
import re
from ast import literal_eval
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields as fields_of
from functools import cache, partial
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from agents.answers import MOST_WORDS, Act, Graph, Judged, Plan, Sentence, SubGoal, in_form
from agents.planning_prompts import (
    PromptOf,
    SubGoalFields,
    graph_prompt,
    judge_prompt,
    lesson_prompt,
    plan_prompt,
    sub_goal_prompt,
)
from agents.prompts import ActFields, Past, react_prompt
from agents.worlds.travelplanner import NAME
from lab.models.answers import AnswerModel
from lab.models.rules import rule
from worlds.frozen import FOLDER
from worlds.travelplanner.hard import RULED_OUT, forbids, has_room_type
from worlds.travelplanner.itinerary import MEALS, SLOTS, flight_cost, ground_cost, night_cost
from worlds.travelplanner.listings import SELF_DRIVING, TAXI, Accommodation, Attraction, Flight, Leg, Restaurant
from worlds.travelplanner.tasks import MADE, SPLITS, TripTask, load_tasks
from worlds.travelplanner.world import EMPTY

R = TypeVar("R")
A = TypeVar("A", bound=Callable[[Any], Any])
HAND_IN = "Hand in the plan."
FLIGHT = "flight"
# The modes of transport that a plan may mix.
FAMILIES = ((SELF_DRIVING,), (FLIGHT, TAXI))
ASKED = "\nCities to visit, in this order: "  # separates a query from its cities in the agents' world


class Trip(NamedTuple):
    """What a query asks for. dates: one for each day. house_rule, room_type, ruled_out: "" if not asked for."""

    org: str
    cities: tuple[str, ...]
    dates: tuple[str, ...]
    people: int
    cuisines: tuple[str, ...]
    house_rule: str
    room_type: str
    ruled_out: str

    @property
    def arrivals(self) -> list[int]:
        """The travel days, from 1: into each city, and home on the last day. Stays are as even as possible."""
        nights, stays = len(self.dates) - 1, len(self.cities)
        return [1 + nights * stay // stays for stay in range(stays + 1)]

    @property
    def legs(self) -> list[tuple[int, str, str]]:
        """(day, from, to) of each leg."""
        stops = pairwise([self.org, *self.cities, self.org])
        return [(day, org, dest) for day, (org, dest) in zip(self.arrivals, stops, strict=True)]


def trip_of(task: str) -> Trip | None:
    """What a synthetic query with its cities asks for; None for any other text."""
    query, _, cities = task.partition(ASKED)
    record = _queries().get(query)
    if record is None or not cities:
        return None
    return Trip(
        record.org, tuple(cities.split(", ")), record.dates, record.people, record.cuisines, record.house_rule or "",
        record.room_type or "", RULED_OUT.get(record.transportation or "", ""),
    )  # fmt: skip


@cache
def _queries() -> Mapping[str, TripTask]:
    return {task.goal: task for split in SPLITS for task in load_tasks(split, FOLDER, MADE)}


def next_step(task: str, turns: Sequence[Past]) -> str:
    """The next search that the plan needs; after all of them, the plan."""
    trip = trip_of(task)
    if trip is None:
        return f"Submit[{json.dumps([])}]"
    seen = {turn.action: turn.observation for turn in turns}
    return next((search for search in searches(trip) if search not in seen), "") or f"Submit[{_plan(trip, seen)}]"


def searches(trip: Trip) -> Iterator[str]:
    """All searches for a trip, in its order."""
    for day, org, dest in trip.legs:
        yield from (f"GoogleDistanceMatrix[{org}, {dest}, {mode}]" for mode in (SELF_DRIVING, TAXI))
        yield f"FlightSearch[{org}, {dest}, {trip.dates[day - 1]}]"
    for city in trip.cities:
        yield from (f"{kind}Search[{city}]" for kind in ("Accommodation", "Restaurant", "Attraction"))


def rows(kind: Callable[..., R], seen: dict[str, str], search: str) -> list[R]:
    """The rows in a search's text, typed; empty if nothing is listed."""
    names = [column.name for column in fields_of(kind)]  # type: ignore[arg-type]
    form = re.compile("; ".join(f"{name}: (?P<{name}>.*)" for name in names))
    matches = (form.fullmatch(line) for line in seen[search].splitlines())
    return [kind(**{name: _value(value) for name, value in match.groupdict().items()}) for match in matches if match]


def _plan(trip: Trip, seen: dict[str, str]) -> str:
    """The plan that the searches allow; what they do not offer stays empty."""
    days = [{"days": day, "current_city": EMPTY} | dict.fromkeys(SLOTS, EMPTY) for day in range(1, len(trip.dates) + 1)]
    wanted, eaten = set(trip.cuisines), set[str]()
    for (start, end), city in zip(pairwise(trip.arrivals), trip.cities, strict=True):
        places = rows(Accommodation, seen, f"AccommodationSearch[{city}]")
        fitting = [row for row in places if _fits(row, trip, end - start)]
        accommodation = min(fitting, key=lambda row: night_cost(row, trip.people), default=None)
        restaurants = rows(Restaurant, seen, f"RestaurantSearch[{city}]")
        sights = iter(dict.fromkeys(row.name for row in rows(Attraction, seen, f"AttractionSearch[{city}]")))
        for number in range(start, end):
            days[number - 1]["accommodation"] = f"{accommodation.name}, {city}" if accommodation else EMPTY
        for number in range(start + 1, end):
            sight = next(sights, "")
            days[number - 1] |= {"current_city": city, "attraction": f"{sight}, {city};" if sight else EMPTY}
        full = [(number, meal) for number in range(start + 1, end) for meal in MEALS]
        # On travel days, only meals for cuisines that are still wanted are planned.
        spare = [(start, MEALS[-1]), *((end, meal) for meal in MEALS[:-1])] if city == trip.cities[-1] else []
        for number, meal in (*full, *spare):
            uneaten = [row for row in restaurants if row.name not in eaten]
            if uneaten and (wanted or (number, meal) in full):
                row = _meal(uneaten, wanted)
                days[number - 1][meal] = f"{row.name}, {city}"
                eaten.add(row.name)
                wanted -= set(row.cuisines)
    texts = [_text(way) for way in _ways(trip, seen)] or [EMPTY] * len(trip.legs)
    for (number, org, dest), text in zip(trip.legs, texts, strict=True):
        days[number - 1] |= {"current_city": f"from {org} to {dest}", "transportation": text}
    return json.dumps(days)


def _ways(trip: Trip, seen: dict[str, str]) -> list[Flight | Leg]:
    """The cheapest way for each leg, all of one family; none if no family serves all legs."""
    served = []
    for family in FAMILIES:
        legs = [
            [way for way in _offered(trip, seen, *leg) if _mode(way) in family and _mode(way) != trip.ruled_out]
            for leg in trip.legs
        ]
        if all(legs):
            served.append([min(leg, key=partial(_price, trip)) for leg in legs])
    return min(served, key=lambda ways: sum(_price(trip, way) for way in ways), default=[])


def _offered(trip: Trip, seen: dict[str, str], day: int, org: str, dest: str) -> list[Flight | Leg]:
    flights = rows(Flight, seen, f"FlightSearch[{org}, {dest}, {trip.dates[day - 1]}]")
    drives = (rows(Leg, seen, f"GoogleDistanceMatrix[{org}, {dest}, {mode}]") for mode in (SELF_DRIVING, TAXI))
    return [*flights, *(drive for legs in drives for drive in legs)]


def _price(trip: Trip, way: Flight | Leg) -> int:
    return flight_cost(way, trip.people) if isinstance(way, Flight) else ground_cost(way, trip.people)


def _mode(way: Flight | Leg) -> str:
    return FLIGHT if isinstance(way, Flight) else way.mode


def _fits(row: Accommodation, trip: Trip, nights: int) -> bool:
    ruled_out = bool(trip.house_rule) and forbids(row, trip.house_rule)
    return row.minimum_nights <= nights and not ruled_out and has_room_type(row, trip.room_type)


def _meal(left: Sequence[Restaurant], wanted: set[str]) -> Restaurant:
    """The cheapest restaurant; while cuisines are wanted, the one with the least extra cost for each (as in SDP)."""
    base = min(row.average_cost for row in left)
    offering = [row for row in left if wanted & set(row.cuisines)] or left
    return min(
        offering,
        key=lambda row: ((row.average_cost - base) / (len(wanted & set(row.cuisines)) or 1), row.average_cost),
    )


def _text(way: Flight | Leg) -> str:
    """A way in the format of the tools' description."""
    if isinstance(way, Flight):
        times = f"Departure Time: {way.departs}, Arrival Time: {way.arrives}"
        return f"Flight Number: {way.number}, from {way.org} to {way.dest}, {times}"
    details = f"duration: {way.duration}, distance: {way.distance}, cost: {way.cost}"
    return f"{way.mode.capitalize()}, from {way.org} to {way.dest}, {details}"


def _value(text: str) -> Any:
    """The value of a Python literal; other text as it is."""
    try:
        return literal_eval(text) if re.fullmatch(r"-?\d+(\.\d+)?|\(.*\)|None", text) else text
    except (SyntaxError, ValueError):
        return text


def in_both_forms(prompt: PromptOf, world: str = NAME) -> Callable[[A], A]:
    """Register a rule for a world's prompt in both forms: the function's answer by schema, and that answer as text."""

    def register(function: A) -> A:
        @rule(prompt(world))
        def in_text(fields: Any) -> AnswerModel:
            return in_form(function(fields), free=True)

        rule(prompt(world, by_schema=True))(function)
        return function

    return register


@in_both_forms(react_prompt)
def next_action(fields: ActFields) -> Act:
    """The next missing search, then the plan."""
    return Act(thought="This comes next.", action=next_step(fields.task, fields.turns))


@in_both_forms(plan_prompt)
def plan(fields: ActFields) -> Plan:
    """The missing searches, then HAND_IN."""
    return Plan(steps=[*_open(fields.task, [turn.action for turn in fields.turns]), HAND_IN])


@in_both_forms(graph_prompt)
def graph(fields: SubGoalFields) -> Graph:
    """The same as sub-goals; the last one needs the results of all others."""
    done = [report for report in fields.reports if not report.failed]
    goals = _open(fields.task, [report.goal for report in done])
    nodes = [SubGoal(number=number, goal=goal, after=[]) for number, goal in enumerate(goals, start=fields.first)]
    needed = [*(report.number for report in done), *(node.number for node in nodes)]
    return Graph(goals=[*nodes, SubGoal(number=fields.first + len(nodes), goal=HAND_IN, after=needed)])


@in_both_forms(sub_goal_prompt)
def towards(fields: SubGoalFields) -> Act:
    """Make the sub-goal's search and report its text; any other sub-goal gets the trip's next step, by the reports."""
    own = {turn.action: turn.observation for turn in fields.turns if turn.action}
    if fields.now in own:
        return Act(thought="This is what is listed.", action=f"done[{own[fields.now]}]")
    if fields.now in _open(fields.task, []):
        return Act(thought="This is to be looked up.", action=fields.now)
    reported = [Past(action=report.goal, observation=report.result) for report in fields.reports if not report.failed]
    return Act(thought="All is looked up.", action=next_step(fields.task, [*reported, *fields.turns]))


@in_both_forms(judge_prompt)
def judged(fields: ActFields) -> Judged:
    """Whether the plan that was handed in is the one that the searches before it lead to."""
    last = fields.turns[-1].action if fields.turns else ""
    expected = next_step(fields.task, fields.turns[:-1])
    solved = last == expected and expected.startswith("Submit[") and trip_of(fields.task) is not None
    return Judged(reason="The plan is the one that the listings lead to." if solved else "It is not.", solved=solved)


@in_both_forms(lesson_prompt)
def lesson(fields: ActFields) -> Sentence:
    """The searches to make."""
    return Sentence(text=f"Look everything up before the plan: {', '.join(_open(fields.task, []))}"[:MOST_WORDS])


def _open(task: str, made: Sequence[str]) -> list[str]:
    """The searches of a trip that have not been made."""
    trip = trip_of(task)
    return [search for search in searches(trip) if search not in made] if trip else []
