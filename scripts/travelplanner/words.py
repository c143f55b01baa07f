"""Names and sentences of the generated listings, put together from syllables and words."""

from __future__ import annotations

import datetime
from random import Random

from worlds.travelplanner.tasks import ROOM_PHRASES, WAY_PHRASES, TripTask

ONSETS = (
    "Br", "Cal", "Dor", "El", "Fen", "Gar", "Hol", "Is", "Jas", "Kel", "Lor", "Mer", "Nor", "Os", "Pel", "Quin", "Ros",
    "Sel", "Tor", "Ul", "Ver", "Wen", "Yar", "Zel",
)  # fmt: skip
MIDDLES = ("a", "e", "i", "o", "u", "an", "en", "in", "or", "ar")
CODAS = ("brix", "dane", "ford", "gate", "holm", "lith", "mar", "mere", "quay", "ris", "stead", "thon", "vale", "wick")
ADJECTIVES = (
    "Amber", "Blue", "Copper", "Crooked", "Golden", "Green", "Hidden", "Hungry", "Iron", "Little", "Lucky", "Old",
    "Quiet", "Red", "Rusty", "Salty", "Silver", "Sunny", "Twin", "Velvet", "Wandering", "White",
)  # fmt: skip
TABLES = (
    "Anchor", "Barrel", "Fork", "Garden", "Goose", "Kettle", "Ladle", "Lantern", "Mill", "Oven", "Pepper", "Plate",
    "Skillet", "Spoon", "Table", "Tavern", "Teapot", "Terrace", "Whisk",
)  # fmt: skip
ROOMS = ("Attic", "Bungalow", "Cottage", "Duplex", "Flat", "Hideaway", "Loft", "Nest", "Room", "Studio", "Suite")
VIEWS = (
    "by the canal", "near the park", "over the bakery", "next to the library", "with balcony", "with garden",
    "close to the station", "on a quiet lane", "with river view", "in the old town",
)  # fmt: skip
SIGHTS = (
    "Botanical Garden", "Clock Tower", "Harbor Museum", "History Center", "Lighthouse", "Market Hall", "Observatory",
    "Old Mill", "Park", "Planetarium", "Science House", "Sculpture Trail", "Tram Museum", "Zoo",
)  # fmt: skip


def place_names(rng: Random, count: int) -> list[str]:
    """Distinct invented names, none of which contains another."""
    names: list[str] = []
    while len(names) < count:
        name = rng.choice(ONSETS) + rng.choice(MIDDLES) + rng.choice(CODAS)
        # The evaluator looks for a city as a part of a text: a name within another would be found there as well.
        if not any(name in other or other in name for other in names):
            names.append(name)
    return names


def restaurant_name(rng: Random) -> str:
    return f"{rng.choice(('The ', '', ''))}{rng.choice(ADJECTIVES)} {rng.choice(TABLES)}"


def accommodation_name(rng: Random) -> str:
    """Some names have a comma, as real listings do, so that "Name, City" must be split at the last one."""
    joint = rng.choice((" ", " ", ", "))
    return f"{rng.choice(ADJECTIVES)} {rng.choice(ROOMS)}{joint}{rng.choice(VIEWS)}"


def attraction_name(rng: Random) -> str:
    return f"{rng.choice(ADJECTIVES)} {rng.choice(SIGHTS)}"


def goal_text(rng: Random, task: TripTask) -> str:
    """The query as text; it states every field of the task."""
    first, last = spoken(task.dates[0]), spoken(task.dates[-1])
    party = "one traveler" if task.people == 1 else f"{task.people} people"
    where = task.dest if task.days == 3 else f"{task.visiting_city_number} cities in {task.dest}"
    opening = rng.choice(
        (
            f"Plan a {task.days}-day trip for {party} from {task.org} to {where}, from {first} to {last}.",
            f"{party.capitalize()} will leave {task.org} on {first} to see {where} and be back on {last}, "
            f"{task.days} days in all.",
            f"We need an itinerary of {task.days} days, {first} to {last}, from {task.org} to {where}, for {party}.",
        )
    )
    return " ".join((opening, f"The budget is ${task.budget:,}.", *wishes_in_words(task)))


def wishes_in_words(task: TripTask) -> list[str]:
    sentences = []
    if task.house_rule:
        sentences.append(f"The accommodation has to allow {task.house_rule}.")
    if task.cuisines:
        sentences.append(f"We would like to eat {', '.join(task.cuisines[:-1])} and {task.cuisines[-1]} food.")
    if task.room_type:
        sentences.append(f"For the nights we want {ROOM_PHRASES[task.room_type]}.")
    if task.transportation:
        sentences.append(f"We prefer {WAY_PHRASES[task.transportation]}.")
    return sentences


def spoken(date: str) -> str:
    day = datetime.date.fromisoformat(date)
    return f"{day:%B} {day.day}, {day.year}"
