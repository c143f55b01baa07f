"""The certified state of a trip, its topology, and the eight predicate kinds in their order (A.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import accumulate
from typing import Any, NamedTuple

from sdp.trajectory import Predicate
from worlds.travelplanner.itinerary import MEALS
from worlds.travelplanner.tasks import TripTask
from worlds.travelplanner.world import blank_draft

OUTBOUND, STAY, BETWEEN, MEALS_OF_DAY, SIGHTS_OF_DAY, RETURN, BUDGET, RENDER = (
    "outbound transport", "accommodation", "inter-city transport", "day meals", "day attractions", "return transport",
    "budget check", "render",
)  # fmt: skip
TRANSPORT = (OUTBOUND, BETWEEN, RETURN)
EMPTY = "-"


@dataclass(frozen=True, slots=True)
class Decision:
    """One slot of the itinerary. cost: dollars for the party, by the benchmark's arithmetic."""

    day: int
    slot: str
    text: str
    cost: float = 0.0
    mode: str = ""
    cuisines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Leg:
    """A travel day: from one city to the next."""

    day: int
    date: str
    org: str
    dest: str


class Stop(NamedTuple):
    """A city of the route and the nights spent there."""

    city: str
    nights: int


Route = tuple[Stop, ...]


@dataclass(frozen=True, slots=True)
class TripState:
    """s_t: the task's constants, the route, and the certified decisions.

    Immutable. A slot can be decided again, which replaces its decision; only an undoing Replan asks for this.
    """

    task: TripTask
    route: Route = ()
    decisions: tuple[Decision, ...] = ()

    @property
    def cost(self) -> float:
        """Dollars so far, equal to what the evaluator would charge for these decisions."""
        return sum(decision.cost for decision in self.decisions)

    @property
    def modes(self) -> set[str]:
        return {decision.mode for decision in self.decisions if decision.mode}

    @property
    def cuisines_missing(self) -> tuple[str, ...]:
        """Cuisines that the query asks for and no decided meal offers, in the query's order."""
        # Only the budget check looks across predicates (A.2): cuisines are counted here and judged there.
        offered = {cuisine for decision in self.decisions for cuisine in decision.cuisines}
        return tuple(cuisine for cuisine in self.task.cuisines if cuisine not in offered)

    def used(self, slots: Sequence[str]) -> set[str]:
        """The texts in any of `slots`."""
        return {decision.text for decision in self.decisions if decision.slot in slots and decision.text != EMPTY}

    def decide(self, decisions: Iterable[Decision]) -> TripState:
        """The state with these slots decided."""
        slots = {(decision.day, decision.slot): decision for decision in self.decisions}
        slots.update({(decision.day, decision.slot): decision for decision in decisions})
        return replace(self, decisions=tuple(slots[key] for key in sorted(slots)))

    def reopen(self, slots: Iterable[tuple[int, str]]) -> TripState:
        """The state with these slots open again."""
        reopened = set(slots)
        return replace(self, decisions=tuple(d for d in self.decisions if (d.day, d.slot) not in reopened))

    def to_json(self) -> dict[str, Any]:
        """The certified decisions as [day, slot, text, dollars]; the constants are those of the task."""
        decisions = [[d.day, d.slot, d.text, d.cost] for d in self.decisions]
        route = [list(stop) for stop in self.route]
        return {"task": self.task.id, "route": route, "cost": self.cost, "decisions": decisions}


def even_route(task: TripTask, cities: Sequence[str]) -> Route:
    """The benchmark's own topology: equally many nights in each city."""
    return tuple(Stop(city, (task.days - 1) // len(cities)) for city in cities)


def route_of(target: Predicate) -> Route:
    """The route that a transport predicate belongs to."""
    return tuple(Stop(*stop) for stop in target.about["route"])


def legs(task: TripTask, route: Route) -> list[Leg]:
    """The travel days: the first day, and the day after the last night in each city."""
    # The evaluator wants a closed circle: the trip starts and ends at the origin.
    places = [task.org, *(stop.city for stop in route), task.org]
    days = accumulate((stop.nights for stop in route), initial=1)
    return [Leg(day, task.dates[day - 1], *places[n : n + 2]) for n, day in enumerate(days)]


def cities_on(task: TripTask, route: Route) -> dict[int, tuple[str, ...]]:
    """Day -> the cities of the day without the origin: where to eat and look around."""
    ways = legs(task, route)
    cities = {}
    for day in range(1, task.days + 1):
        leg = next((leg for leg in ways if leg.day == day), None)
        places = [leg.org, leg.dest] if leg else [max((w for w in ways if w.day < day), key=lambda w: w.day).dest]
        # The evaluator stops reading a day's cuisines at a meal in the origin.
        cities[day] = tuple(city for city in places if city != task.org)
    return cities


def nights(task: TripTask, route: Route) -> list[tuple[str, tuple[int, ...]]]:
    """(city, days whose nights are spent there), in travel order."""
    return [
        (leg.dest, tuple(range(leg.day, leg.day + stop.nights)))
        for leg, stop in zip(legs(task, route), route, strict=False)
    ]


def state_plan(task: TripTask, route: Route, every_meal: bool, numbered: bool = False) -> tuple[Predicate, ...]:
    """The plan: 1 + n + (n - 1) + 2N + 3 predicates (A.2).

    every_meal: ask for all meals of all days, as A.2 does; else travel days may leave out meals if the budget does not
    allow them. Their predicates then come after those of the other days, so that required meals are paid for first; the
    last day gives up meals first. The same holds for their attractions, of which a city may have few.
    numbered: A.2 numbers its kinds of predicates, return transport sixth, but also wants costly decisions of the whole
    trip before those of a day. No order can do both: `numbered` follows the first, otherwise the second is followed.
    """
    ways = legs(task, route)
    travel_days = {leg.day for leg in ways}
    kinds = [OUTBOUND, *[BETWEEN] * (len(ways) - 2), RETURN]
    transport = [_transport(kind, leg, task, route) for kind, leg in zip(kinds, ways, strict=True)]
    stays = [_stay(city, days, task) for city, days in nights(task, route)]
    cities = cities_on(task, route)
    meals = [_meals(day, cities[day], every_meal or day not in travel_days, task) for day in cities]
    sights = [_sights(day, cities[day], day not in travel_days) for day in cities]
    for by_day in (meals, sights):
        by_day.sort(key=lambda predicate: not predicate.about["required"])  # stable
    # The evaluator asks for meals and an attraction only on days without travel; any other costs money.
    content = [*transport, *stays, *meals, *sights]
    needed = [slot for p in content if p.about.get("required", True) for slot in slots_of(p)]
    back = (len(transport) - 1) if numbered else len(transport)
    costly = (transport[0], *stays, *transport[1:back])
    return (*costly, *meals, *sights, *transport[back:], _budget(task, needed), goal(task))


def goal(task: TripTask) -> Predicate:
    """g: the finished itinerary."""
    text = f"The itinerary of all {task.days} days is complete and written in the benchmark's format."
    return Predicate(text, RENDER, {"days": task.days})


def _transport(kind: str, leg: Leg, task: TripTask, route: Route) -> Predicate:
    rule = f" with {task.transportation}" if task.transportation else ""
    text = (
        f"On day {leg.day} ({leg.date}) the party has transport from {leg.org} to {leg.dest}{rule}, within the budget."
    )
    rules = {"route": [list(stop) for stop in route], "forbidden": task.transportation, "budget": task.budget}
    return Predicate(text, kind, asdict(leg) | rules)


def _stay(city: str, days: tuple[int, ...], task: TripTask) -> Predicate:
    rule = f", allowing {task.house_rule}" if task.house_rule else ""
    kind = f", of type '{task.room_type}'" if task.room_type else ""
    text = f"Nights {days[0]} to {days[-1]} are booked in {city} at one place{rule}{kind}, within the budget."
    wishes = {"house_rule": task.house_rule, "room_type": task.room_type}
    return Predicate(text, STAY, {"city": city, "days": list(days), "budget": task.budget} | wishes)


def _meals(day: int, cities: tuple[str, ...], required: bool, task: TripTask) -> Predicate:
    extent = "Breakfast, lunch and dinner" if required else "As many meals as the budget carries"
    text = f"{extent} of day {day} are chosen in {' or '.join(cities)}, at restaurants not visited on the trip before."
    fields = {"day": day, "cities": list(cities), "required": required, "budget": task.budget}
    return Predicate(text, MEALS_OF_DAY, fields)


def _sights(day: int, cities: tuple[str, ...], required: bool) -> Predicate:
    text = f"Day {day} has an attraction in {' or '.join(cities)} that was not visited on the trip before."
    return Predicate(text, SIGHTS_OF_DAY, {"day": day, "cities": list(cities), "required": required})


def _budget(task: TripTask, needed: list[tuple[int, str]]) -> Predicate:
    cuisines = f" and {', '.join(task.cuisines)} food was had" if task.cuisines else ""
    text = f"Everything needed is decided, the whole trip costs at most ${task.budget:,}{cuisines}."
    fields = {"budget": task.budget, "cuisines": list(task.cuisines), "needed": [list(slot) for slot in needed]}
    return Predicate(text, BUDGET, fields)


def state_from_json(task: TripTask, value: Mapping[str, Any]) -> TripState:
    """A state read back from a trajectory, without modes and cuisines, which are not stored; only choices need them."""
    decisions = tuple(Decision(*decision) for decision in value["decisions"])
    return TripState(task, tuple(Stop(*stop) for stop in value["route"]), decisions)


def facts(value: Mapping[str, Any]) -> dict[str, str]:
    """A state's JSON for a reader: slot -> decision, such as "day 1 transportation"."""
    stops = " – ".join(f"{city} ({nights} nights)" for city, nights in value["route"])
    slots = {f"day {day} {slot}": f"{text} (${cost:,.0f})" for day, slot, text, cost in value["decisions"]}
    return {"route": stops, "dollars": f"{value['cost']:,.0f}"} | slots


def itinerary(state: TripState) -> list[dict[str, Any]]:
    """The decisions in the benchmark's submission format; "-" in undecided slots."""
    days = blank_draft(state.task)
    if state.route:
        ways = {leg.day: leg for leg in legs(state.task, state.route)}
        for day, cities in cities_on(state.task, state.route).items():
            days[day - 1]["current_city"] = f"from {ways[day].org} to {ways[day].dest}" if day in ways else cities[0]
    for decision in state.decisions:
        days[decision.day - 1][decision.slot] = decision.text
    return days


def slots_of(target: Predicate) -> list[tuple[int, str]]:
    """The slots that a predicate decides, as (day, slot)."""
    about = target.about
    if target.kind in TRANSPORT:
        return [(about["day"], "transportation")]
    if target.kind == STAY:
        return [(day, "accommodation") for day in about["days"]]
    if target.kind == MEALS_OF_DAY:
        return [(about["day"], meal) for meal in MEALS]
    return [(about["day"], "attraction")] if target.kind == SIGHTS_OF_DAY else []


def named(target: Predicate) -> str:
    """What a predicate is about, however it words it: its slots, else its kind."""
    return ", ".join(f"day {day} {slot}" for day, slot in slots_of(target)) or target.kind
