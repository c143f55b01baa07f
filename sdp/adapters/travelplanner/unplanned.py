"""What Realize is offered where the plan says nothing (`sdp.placebo`): anything that a slot of such a trip could hold.

Drawn from the query's days and destination alone, of every city that the search lists where that is a state. Nothing is
filtered and nothing sorted, so that neither the plan nor the wishes or the money of the trip can be read off the list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from sdp.adapters.travelplanner.options import CAP, Catalogue, Option, meal, night, sight, ways
from sdp.adapters.travelplanner.trip import Leg, TripState
from worlds.travelplanner.itinerary import MEALS
from worlds.travelplanner.tasks import TripTask

SLOTS = ("transportation", *MEALS, "attraction", "accommodation")
TRIES = 10  # draws for each option: a city may have nothing for a slot, and two may have no way between them


def anything(catalogue: Catalogue, task: TripTask, random: Random) -> tuple[Option, ...]:
    """At most CAP options, each a slot of a day with an entry of the listings for it, both by chance."""
    cities = destinations(catalogue, task)
    options: dict[str, Option] = {}
    for _ in range(TRIES * CAP):
        day, slot = random.randint(1, task.days), random.choice(SLOTS)
        if entries := _entries(catalogue, task, day, slot, cities, random):
            option = random.choice(entries)
            label = f"day {day} {slot}: {option.label}"
            options[label] = replace(option, label=label, cuisines=())
        if len(options) == CAP:
            break
    return tuple(options.values())


def destinations(catalogue: Catalogue, task: TripTask) -> list[str]:
    """The cities that the query may mean, without the origin."""
    # Some cities share their name with a state; only trips of 3 days name a city.
    cities = (task.dest,) if task.days == 3 else catalogue.cities(task.dest)
    return [city for city in cities if city != task.org]


def _entries(
    catalogue: Catalogue, task: TripTask, day: int, slot: str, cities: Sequence[str], random: Random
) -> Sequence[Option]:
    """What the listings have for a slot in one of the cities, or on a way between two places."""
    city = random.choice(cities)
    if slot == "transportation":
        org, dest = random.sample([task.org, *cities], 2)
        return ways(catalogue, Leg(day, task.dates[day - 1], org, dest), TripState(task))
    if slot == "accommodation":
        return [night(row, (day,), task.people) for row in catalogue.stays(city)]
    if slot == "attraction":
        return [sight(row, day) for row in catalogue.attractions(city)]
    return [meal(row, day, slot, task) for row in catalogue.restaurants(city)]
