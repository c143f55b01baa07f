"""Generated listings and their queries: invented places in the shape of the official tables, from a seed.

Every query has a solution: its budget is set above the cost of a plan that was found first.
"""

from __future__ import annotations

import datetime
import math
from dataclasses import replace
from functools import cache
from itertools import count as numbers
from itertools import permutations, product
from random import Random
from typing import Any

from procllm.domains.travel import problem_of, solvable
from scripts.travelplanner.words import (
    accommodation_name,
    attraction_name,
    goal_text,
    place_names,
    restaurant_name,
)
from worlds.travelplanner.expert import solve
from worlds.travelplanner.listings import Accommodation, Attraction, Distance, Flight, Listings, Restaurant
from worlds.travelplanner.tasks import MADE, TripTask, task_id

COUNTS = {"train": 15, "validation": 45}
LEVELS = ("easy", "medium", "hard")
CITIES_FOR_DAYS = {3: 1, 5: 2, 7: 3}
STATES, CITIES_A_STATE = 5, 4
FIRST_DAY, DAYS = datetime.date(2031, 5, 1), 31  # the official flights are of 2022: no synthetic query looks like one
COMMON_CUISINES = ("Tea", "Cafe", "Bakery", "Desserts", "Pizza", "Fast Food", "Seafood", "BBQ")
WANTED_CUISINES = ("American", "Chinese", "French", "Indian", "Italian", "Mediterranean", "Mexican")
ACTIVITIES = ("smoking", "parties", "children under 10", "visitors", "pets")
ROOM_TYPES = ("Entire home/apt", "Private room", "Shared room")
ROOM_WISHES = ("entire room", "private room", "not shared room", "shared room")
TRANSPORT_WISHES = ("no flight", "no self-driving")
WISHES = ("house_rule", "cuisines", "room_type", "transportation")
NO_BUDGET = 10**9  # dollars, while the cheapest plan is looked for that the real budget is set by


@cache
def synthetic_listings(seed: int) -> Listings:
    return Listings(**synthetic_tables(seed))


@cache
def synthetic_tables(seed: int) -> dict[str, Any]:
    """The listings of a seed, by table: twenty cities in five states, with every table of the official ones."""
    rng = Random(f"travelplanner sandbox {seed}")
    names = place_names(rng, STATES * (CITIES_A_STATE + 1))
    states, cities = names[:STATES], names[STATES:]
    city_states = {city: states[position % STATES] for position, city in enumerate(cities)}
    places = {city: (rng.uniform(0, 2600), rng.uniform(0, 1500)) for city in cities}
    distances = [
        distance(rng, org, dest, math.dist(places[org], places[dest])) for org, dest in permutations(cities, 2)
    ]
    return dict(
        flights=flights(rng, places),
        accommodations=[accommodation(rng, city) for city in cities for _ in range(rng.randint(9, 16))],
        restaurants=[row for city in cities for row in restaurants(rng, city)],
        attractions=[row for city in cities for row in attractions(rng, city)],
        distances=distances,
        city_states=city_states,
    )


def flights(rng: Random, places: dict[str, tuple[float, float]]) -> list[Flight]:
    """Flights of every date; a third of the routes, and some days of the others, have none."""
    rows: list[Flight] = []
    for org, dest in permutations(places, 2):
        if rng.random() < 1 / 3:
            continue  # of the official route-days that are fully known, two in three have no flight
        miles = round(math.dist(places[org], places[dest]) / 1.609) + 20
        for day, _ in product(range(DAYS), range(rng.randint(1, 3))):
            if rng.random() < 0.85:
                number = f"M{1000000 + len(rows)}"
                rows.append(flight(rng, number, org, dest, str(FIRST_DAY + datetime.timedelta(day)), miles))
    return rows


def flight(rng: Random, number: str, org: str, dest: str, date: str, miles: int) -> Flight:
    departs, minutes = rng.randrange(5 * 60, 23 * 60), 35 + miles // 8
    arrives = (departs + minutes) % (24 * 60)
    price = round(20 + miles * rng.uniform(0.12, 0.5))
    return Flight(
        number,
        price,
        clock(departs),
        clock(arrives),
        f"{minutes // 60} hours {minutes % 60} minutes",
        date,
        org,
        dest,
        float(miles),
    )


def clock(minutes: int) -> str:
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def distance(rng: Random, org: str, dest: str, straight: float) -> Distance:
    """A way by road; a few have none, and the longest take a day or more."""
    if rng.random() < 0.04:
        return Distance(org, dest, "", "")
    km = max(12, round(straight * rng.uniform(1.1, 1.4)))
    # At 100 km an hour. From a day on the duration says "day", which the benchmark takes for no way at all.
    days, rest = divmod(round(km / 100 * 60), 24 * 60)
    hours, minutes = divmod(rest, 60)
    duration = f"{days} day {hours} hours" if days else f"{hours} hours {minutes} mins"
    return Distance(org, dest, duration, f"{km:,} km")


def accommodation(rng: Random, city: str) -> Accommodation:
    rules = rng.sample(ACTIVITIES, rng.choice((1, 1, 1, 2, 2, 3)))
    return Accommodation(
        name=accommodation_name(rng),
        room_type=rng.choices(ROOM_TYPES, (5, 4, 2))[0],
        price=float(rng.randint(45, 900)),
        minimum_nights=rng.choice((1, 1, 1, 1, 2, 2, 2, 3, 4, 7, 30)),
        rating=float(rng.randint(1, 5)),
        house_rules=" & ".join(f"No {rule}" for rule in rules),
        occupancy=rng.choice((1, 1, 2, 2, 2, 3, 4, 5, 6)),
        city=city,
    )


def restaurants(rng: Random, city: str) -> list[Restaurant]:
    names = list(dict.fromkeys(restaurant_name(rng) for _ in range(rng.randint(26, 34))))
    return [Restaurant(name, city, cuisines(rng), rng.randint(8, 100), rng.randint(0, 49) / 10) for name in names]


def cuisines(rng: Random) -> tuple[str, ...]:
    chosen = rng.sample(COMMON_CUISINES, rng.randint(1, 3)) + rng.sample(WANTED_CUISINES, rng.randint(0, 2))
    rng.shuffle(chosen)
    return tuple(chosen)


def attractions(rng: Random, city: str) -> list[Attraction]:
    names = dict.fromkeys(attraction_name(rng) for _ in range(rng.randint(8, 14)))
    return [
        Attraction(
            name,
            round(rng.uniform(25, 48), 6),
            round(rng.uniform(-120, -70), 6),
            f"{rng.randint(1, 990)} Main Street, {city}",
            f"(555) {rng.randint(1000000, 9999999)}",
            f"https://example.org/{position}",
            city,
        )
        for position, name in enumerate(names)
    ]


@cache
def synthetic_tasks(seed: int, split: str) -> tuple[TripTask, ...]:
    """The queries of a generated split: 15 for "train", 45 for "validation"; a third of each level.

    Raises ValueError for another split.
    """
    if split not in COUNTS:
        raise ValueError(f"the synthetic data has no split {split!r}; choose one of {', '.join(COUNTS)}")
    listings, count = synthetic_listings(seed), COUNTS[split]
    return tuple(
        synthetic_task(listings, Random(f"travelplanner {split} {seed} {idx}"), split, idx, count)
        for idx in range(count)
    )


def synthetic_task(listings: Listings, rng: Random, split: str, idx: int, count: int) -> TripTask:
    """One query with a solution; wishes that no plan meets are drawn again."""
    a_level = count // len(LEVELS)
    level, days = LEVELS[idx // a_level], (3, 5, 7)[idx % a_level * 3 // a_level]
    while True:
        # The query is drawn again with its wishes, so that a route without a plan is not tried for ever.
        wished = wish(rng, blank_task(listings, rng, split, idx, level, days))
        cost = solve(wished, listings, wished.ref_cities).cost
        if cost is not None:
            break
    budget = math.ceil(cost * rng.uniform(1.1, 1.7) / 100) * 100
    priced = replace(wished, budget=budget)
    return replace(priced, goal=goal_text(rng, priced))


def blank_task(listings: Listings, rng: Random, split: str, idx: int, level: str, days: int) -> TripTask:
    """A query without wishes, wording or budget."""
    state, elsewhere = rng.sample(listings.states, 2)
    cities = tuple(rng.sample(listings.cities(state), CITIES_FOR_DAYS[days]))
    start = FIRST_DAY + datetime.timedelta(rng.randint(0, DAYS - days))
    people = rng.choice((1, 1, 2, 2)) if level == "easy" else rng.choice((1, 2, 2, 3, 4, 5, 6, 7, 8))
    return TripTask(
        id=task_id(MADE + split, idx),
        split=MADE + split,
        idx=idx,
        goal="",
        org=rng.choice(listings.cities(elsewhere)),
        dest=cities[0] if days == 3 else state,
        days=days,
        visiting_city_number=len(cities),
        dates=tuple(str(start + datetime.timedelta(day)) for day in range(days)),
        people=people,
        house_rule=None,
        cuisines=(),
        room_type=None,
        transportation=None,
        budget=NO_BUDGET,
        level=level,
        ref_cities=cities,
    )


def wish(rng: Random, task: TripTask) -> TripTask:
    """Add what the level asks for besides the budget: nothing, one wish of three kinds, or three wishes of four."""
    kinds = {"easy": [], "medium": rng.sample(WISHES[:3], 1), "hard": rng.sample(WISHES, 3)}[task.level]
    cuisine_count = 2 if task.level == "medium" else 4
    drawn: dict[str, Any] = {
        "house_rule": rng.choice(ACTIVITIES),
        "cuisines": tuple(rng.sample(WANTED_CUISINES, cuisine_count)),
        "room_type": rng.choices(ROOM_WISHES, (4, 3, 3, 1))[0],
        "transportation": rng.choice(TRANSPORT_WISHES),
    }
    return replace(task, **{kind: drawn[kind] for kind in kinds})


def single_city_tasks(seed: int, count: int) -> list[TripTask]:
    """Validation queries for trips to one city that can be made by air, ProcLLM's requests; more where these end."""
    listings = synthetic_listings(seed)
    tasks = [task for task in synthetic_tasks(seed, "validation") if suits(task, listings)]
    for number in numbers():
        if len(tasks) >= count:
            return tasks[:count]
        # The first place of each level is a trip to one city.
        rng, level = Random(f"procllm travel {seed} {number}"), number % len(LEVELS)
        task = replace(synthetic_task(listings, rng, "validation", level, len(LEVELS)), idx=number)
        tasks += [task] if suits(task, listings) else []
    return tasks


def suits(task: TripTask, listings: Listings) -> bool:
    problem = problem_of(task, listings)
    return problem is not None and solvable(problem)
