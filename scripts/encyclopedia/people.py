"""Facts of people: birth and death, family, schooling, teachers and awards."""

from __future__ import annotations

from datetime import date, timedelta

from scripts.encyclopedia.chance import below
from scripts.encyclopedia.layout import SIZE, a_university, any_town, at, block_of_era, era, kind_of, neighbour
from scripts.encyclopedia.relations import Facts

NOW = 2020
FIRST_BIRTHS, ERA_YEARS, BIRTH_YEARS = 1876, 27, 8
OF_AGE = 24  # when a career begins
SHORTEST_LIFE, LIFE_YEARS = 67, 28
# A parent is of the block before, an era earlier, and of the same family.
PARENTS = {"musician": "director", "actor": "novelist", "director": "musician", "novelist": "actor"}
PARTNERS = {"entrepreneur": "architect", "architect": "entrepreneur"}


def birth_year(seed: int, person: int) -> int:
    return FIRST_BIRTHS + ERA_YEARS * era(person) + below(seed, person, "year", BIRTH_YEARS)


def person(seed: int, number: int) -> Facts:
    kind, year = kind_of(number), birth_year(seed, number)
    found: Facts = {
        "occupation": "film director" if kind == "director" else kind,
        "birth": date(year, 1, 1) + timedelta(days=below(seed, number, "month and day", 365)),
        "birth_town": any_town(seed, number, "town"),
        "home": any_town(seed, number, "other town"),
    }
    if below(seed, number, "size", 10) < 7 and (school := a_university(seed, number)) is not None:
        found["university"] = school
    if kind in PARTNERS and below(seed, neighbour(number, 0), "spouse", 2):
        found["spouse"] = neighbour(number, PARTNERS[kind])
    if era(number) > 0:
        if kind in PARENTS and below(seed, number, "parent", 10) < 6:
            found["parent"] = at(number // SIZE - 1, PARENTS[kind])
        if below(seed, number, "award", 10) < 4:
            found["award"] = at(block_of_era(seed, number, "second person", earlier=1), "prize")
        if below(seed, number, "teacher", 10) < 5:
            found["teacher"] = at(block_of_era(seed, number, "third person", earlier=1), kind)
    death = year + SHORTEST_LIFE + below(seed, number, "death", LIFE_YEARS)
    if death <= NOW:
        found["death"] = death
    return found
