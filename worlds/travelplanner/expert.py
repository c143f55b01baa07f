"""TravelPlanner's expert, never given to an agent: annotated plans, and an exact search for the cheapest honest plan.

The search needs no solver. Given the cities, a plan's cost is a sum of independent parts: each leg's transportation
(within one family, because one's own car cannot be mixed with anything else), each stay's accommodation, and the meals,
which are linked only by the required cuisines. Each part is minimised exactly, for every way to distribute the days
over the cities.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from worlds.travelplanner.hard import RULED_OUT, forbids, has_room_type
from worlds.travelplanner.itinerary import MEALS, flight_cost, ground_cost, name_and_city, night_cost
from worlds.travelplanner.listings import (
    SELF_DRIVING,
    TAXI,
    Accommodation,
    Attraction,
    Flight,
    Leg,
    Listings,
    Restaurant,
)
from worlds.travelplanner.tasks import TripTask, query_records, task_id
from worlds.travelplanner.world import blank_draft

FAMILIES = ((SELF_DRIVING,), ("flight", TAXI))  # a plan may mix within a family, see `commonsense.valid_transportation`


class Menu(NamedTuple):
    """Distinct restaurants of one city. cost: dollars per person."""

    cost: int
    rows: tuple[Restaurant, ...]


def cheapest_menus(restaurants: Sequence[Restaurant], cuisines: Sequence[str], most: int) -> dict[int, dict[int, Menu]]:
    """The cheapest menu for each number of meals up to `most` and each set of cuisines.

    Returns number of meals -> bit mask (bit i is `cuisines[i]`) -> menu; impossible combinations are absent. Exact, by
    dynamic programming over the restaurants.
    """
    menus: dict[int, dict[int, Menu]] = {count: {} for count in range(most + 1)}
    menus[0][0] = Menu(0, ())  # no meal, no cuisine
    for row in worth_a_look(restaurants, cuisines, most):
        offered = mask_of(row, cuisines)
        # From many meals to few, so that no restaurant is used twice.
        for count in range(most - 1, -1, -1):
            for mask, menu in menus[count].items():
                extended = Menu(menu.cost + row.average_cost, (*menu.rows, row))
                current = menus[count + 1].get(mask | offered)
                if current is None or extended.cost < current.cost:
                    menus[count + 1][mask | offered] = extended
    return menus


def worth_a_look(restaurants: Sequence[Restaurant], cuisines: Sequence[str], most: int) -> list[Restaurant]:
    """The `most` cheapest restaurants for each set of cuisines; a more expensive one never improves a menu."""
    counts: dict[int, int] = {}
    candidates = []
    for row in sorted(
        # Reversed, so that of rows with the same name the first remains: the one that the evaluator finds.
        {row.name.strip(): row for row in reversed(restaurants)}.values(),
        key=lambda row: (row.average_cost, row.name),
    ):
        offered = mask_of(row, cuisines)
        counts[offered] = counts.get(offered, 0) + 1
        if counts[offered] <= most:
            candidates.append(row)
    return candidates


def mask_of(row: Restaurant, cuisines: Sequence[str]) -> int:
    return sum(1 << bit for bit, cuisine in enumerate(cuisines) if any(cuisine in kind for kind in row.cuisines))


@dataclass(frozen=True, slots=True)
class Stay:
    """A stay in one city. arrival, departure: day numbers, both are travel days."""

    city: str
    arrival: int
    departure: int

    @property
    def nights(self) -> int:
        return self.departure - self.arrival

    @property
    def full_days(self) -> range:
        return range(self.arrival + 1, self.departure)


@dataclass(frozen=True, slots=True)
class Solution:
    """The result of a search. plan: the cheapest honest plan in the official format; None if it is over the budget.

    cost: dollars of the cheapest honest plan, also if it is over the budget; None if there is no plan at any price.
    """

    feasible: bool
    plan: list[dict[str, Any]] | None
    cost: float | None


@dataclass(frozen=True, slots=True)
class Draft:
    """The parts of a plan, before they are written in the official format."""

    stays: tuple[Stay, ...]
    ways: tuple[Flight | Leg, ...]
    places: tuple[Accommodation, ...]
    menus: tuple[Menu, ...]
    cost: float


def annotated_plans(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The human-made plan of each train task, by task id. folder: the data folder that has `travelplanner/`."""
    return {task_id("train", record["idx"]): record["annotated_plan"] for record in query_records("train", folder)}


def solve(task: TripTask, listings: Listings, cities: Sequence[str]) -> Solution:
    """The cheapest plan that visits `cities` in this order and passes the evaluator and `strict_faults`.

    Each full day has three meals and an attraction, each night an accommodation. Only flights listed for the leg's own
    date are used. Raises ValueError for a number of cities that does not fit into the days.
    """
    if not 0 < len(cities) < task.days:
        raise ValueError(f"{task.id}: {len(cities)} cities do not fit into {task.days} days; give 1 to {task.days - 1}")
    # At least two days are for travel. The others have three meals each, and each cuisine may need one more meal.
    most = 3 * (task.days - 2) + len(task.cuisines)
    menus = {city: cheapest_menus(restaurants(listings, city), task.cuisines, most) for city in cities}
    drafts = (draft(task, listings, stays, menus) for stays in splits(task.days, cities))
    cheapest = min((candidate for candidate in drafts if candidate), key=lambda candidate: candidate.cost, default=None)
    if cheapest is None:
        return Solution(False, None, None)
    feasible = cheapest.cost <= task.budget
    return Solution(feasible, written(task, listings, cheapest) if feasible else None, cheapest.cost)


def splits(days: int, cities: Sequence[str]) -> Iterator[tuple[Stay, ...]]:
    """All ways to distribute the days: departure on the first, return on the last, moves between cities in between."""
    # All moves are on different days, so that each stay has a night: a city without one fails.
    for moves in combinations(range(2, days), len(cities) - 1):
        travel = (1, *moves, days)
        yield tuple(Stay(city, *span) for city, span in zip(cities, pairwise(travel), strict=True))


def draft(
    task: TripTask, listings: Listings, stays: tuple[Stay, ...], menus: Mapping[str, Mapping[int, Mapping[int, Menu]]]
) -> Draft | None:
    """The cheapest parts for given stays; None if a part is impossible."""
    places = [cheapest_place(task, listings, stay) for stay in stays]
    ways = cheapest_ways(task, listings, stays)
    meals = combined_menus(task, stays, menus)
    sights = all(len(attractions(listings, stay.city)) >= len(stay.full_days) for stay in stays)
    if ways is None or meals is None or not sights or None in places:
        return None
    rooms = tuple(place for place in places if place)
    cost: float = sum(way_cost(way, task.people) for way in ways) + sum(menu.cost for menu in meals) * task.people
    cost += sum(night_cost(room, task.people) * stay.nights for room, stay in zip(rooms, stays, strict=True))
    return Draft(stays, tuple(ways), rooms, meals, cost)


def cheapest_place(task: TripTask, listings: Listings, stay: Stay) -> Accommodation | None:
    """The cheapest accommodation for the whole stay. Changing never saves: a shorter stay allows no further ones."""
    allowed = (
        room
        for room in listings.accommodations(stay.city)
        if room.minimum_nights <= stay.nights
        and found_by_name(room, listings.accommodations_named(*named(room)))
        and not (task.house_rule and forbids(room, task.house_rule))
        and not (task.room_type and not has_room_type(room, task.room_type))
    )
    return min(allowed, key=lambda room: night_cost(room, task.people), default=None)


def named(row: Accommodation | Restaurant | Attraction) -> tuple[str, str]:
    """The name and city that the evaluator looks up when a plan lists the row."""
    return name_and_city(f"{row.name}, {row.city}")


def found_by_name(row: Any, matches: Sequence[Any]) -> bool:
    """Whether a plan can refer to this row: it has to be the first match of its name."""
    # Otherwise the evaluator would price and judge another row.
    return bool(matches) and matches[0] == row


def attractions(listings: Listings, city: str) -> list[Attraction]:
    """The city's attractions that a plan can name, each name once."""
    # A semicolon ends an item, so a name with one cannot be written. Reversed, so that of rows with the same name the
    # first remains: the one that the evaluator finds.
    rows = {row.name.strip(): row for row in reversed(listings.attractions(city)) if ";" not in row.name}
    return [row for row in reversed(rows.values()) if found_by_name(row, listings.attractions_named(*named(row)))]


def cheapest_ways(task: TripTask, listings: Listings, stays: Sequence[Stay]) -> list[Flight | Leg] | None:
    """The cheapest transportation of every leg, all from one family; None if no family serves all legs."""
    stops = [task.org, *(stay.city for stay in stays), task.org]
    days = [stay.arrival for stay in stays] + [task.days]
    routes = []
    for family in FAMILIES:
        means = [kind for kind in family if kind != RULED_OUT.get(task.transportation or "")]
        options = [
            ways(listings, means, org, dest, task.dates[day - 1])
            for (org, dest), day in zip(pairwise(stops), days, strict=True)
        ]
        if all(options):
            routes.append([min(leg, key=lambda way: way_cost(way, task.people)) for leg in options])
    return min(routes, key=lambda legs: sum(way_cost(way, task.people) for way in legs), default=None)


def ways(listings: Listings, means: Sequence[str], org: str, dest: str, date: str) -> list[Flight | Leg]:
    """All options for a leg by the given means: "flight", "self-driving", "taxi"."""
    drives = [listings.ground(org, dest, kind) for kind in means if kind != "flight"]
    flights = listings.flights(org, dest, date) if "flight" in means else ()
    # Only flights whose number the evaluator finds at this row; otherwise it would price another row.
    return [row for row in flights if listings.flight(row.number) == row] + [drive for drive in drives if drive]


def way_cost(way: Flight | Leg, people: int) -> int:
    return flight_cost(way, people) if isinstance(way, Flight) else ground_cost(way, people)


def restaurants(listings: Listings, city: str) -> list[Restaurant]:
    """The city's restaurants that a plan can name."""
    return [row for row in listings.restaurants(city) if found_by_name(row, listings.restaurants_named(*named(row)))]


def combined_menus(
    task: TripTask, stays: Sequence[Stay], menus: Mapping[str, Mapping[int, Mapping[int, Menu]]]
) -> tuple[Menu, ...] | None:
    """One menu per stay, which together offer every cuisine at the lowest cost; None if that is impossible.

    Meals beyond three per full day are on travel days, and only for a cuisine that is still missing. So there are at
    most four of them. They always fit, since every stay has two travel days with six meals.
    """
    all_cuisines = (1 << len(task.cuisines)) - 1
    best: dict[tuple[int, int], tuple[float, tuple[Menu, ...]]] = {(0, 0): (0, ())}
    for stay in stays:
        extended: dict[tuple[int, int], tuple[float, tuple[Menu, ...]]] = {}
        for (mask, extra), (cost, chosen) in best.items():
            for extra_here in range(len(task.cuisines) - extra + 1):
                for menu_mask, menu in menus[stay.city].get(3 * len(stay.full_days) + extra_here, {}).items():
                    key, total = (mask | menu_mask, extra + extra_here), cost + menu.cost
                    if key not in extended or total < extended[key][0]:
                        extended[key] = total, (*chosen, menu)
        best = extended
    complete = [value for (mask, _), value in best.items() if mask == all_cuisines]
    return min(complete, key=lambda value: value[0])[1] if complete else None


def written(task: TripTask, listings: Listings, best: Draft) -> list[dict[str, Any]]:
    """The draft in the official format of a plan: one object per day."""
    days = {day["days"]: day for day in blank_draft(task)}
    for stay, room, menu in zip(best.stays, best.places, best.menus, strict=True):
        texts = [f"{row.name}, {row.city}" for row in menu.rows]
        sights = attractions(listings, stay.city)
        # A city may have more attractions than days; one per day is enough.
        for sight, number in zip(sights, stay.full_days, strict=False):
            days[number] |= {meal: texts.pop() for meal in MEALS}
            # Without the semicolon the evaluator would not read the attraction at all.
            days[number] |= {"current_city": stay.city, "attraction": f"{sight.name}, {sight.city};"}
        for number in range(stay.arrival, stay.departure):
            days[number]["accommodation"] = f"{room.name}, {room.city}"
        serve_on_travel_days(texts, days[stay.arrival], days[stay.departure])
    travel_days = [stay.arrival for stay in best.stays] + [task.days]
    for number, way in zip(travel_days, best.ways, strict=True):
        days[number] |= {"current_city": f"from {way.org} to {way.dest}", "transportation": way_text(way)}
    return list(days.values())


def serve_on_travel_days(meals: list[str], arrival: dict[str, Any], departure: dict[str, Any]) -> None:
    """Put a stay's extra meals into free slots: first from dinner back on arrival, then from breakfast on departure."""
    slots = [(arrival, meal) for meal in reversed(MEALS)] + [(departure, meal) for meal in MEALS]
    free_slots = [(day, meal) for day, meal in slots if day[meal] == "-"]
    for text, (day, meal) in zip(meals, free_slots, strict=False):
        day[meal] = text


def way_text(way: Flight | Leg) -> str:
    """Transportation in the benchmark's format."""
    if isinstance(way, Flight):
        return (
            f"Flight Number: {way.number}, from {way.org} to {way.dest}, Departure Time: {way.departs}, "
            f"Arrival Time: {way.arrives}"
        )
    return (
        f"{way.mode.capitalize()}, from {way.org} to {way.dest}, duration: {way.duration}, "
        f"distance: {way.distance}, cost: {way.cost}"
    )
