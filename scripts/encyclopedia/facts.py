"""The fact graph: what is true of an entity, computed from its number alone.

People are born before they work, and no one makes a work after 65 or dies before 67; companies are there before what
they publish, and novels before the films made of them. A relation that an entity does not have is absent.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from functools import lru_cache

from scripts.encyclopedia.layout import (
    CAPITAL,
    COUNTRY_EVERY,
    FESTIVAL_TOWN,
    SECOND_FILM,
    SIZE,
    TRADES,
    Facts,
    a_country,
    a_university,
    any_block,
    any_town,
    at,
    block_of_era,
    company_of,
    era,
    kind_of,
    neighbour,
    trade_of,
)
from scripts.encyclopedia.words import CURRENCIES, LANGUAGES, below, long_word, short_word
from worlds.encyclopedia import DAYS, GENRES, MONTHS, PEOPLE, SERVICES, STYLES

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


@lru_cache(maxsize=1024)
def facts(seed: int, number: int) -> Facts:
    """An entity's relations and their values; shared between callers, so not to be changed."""
    return MAKERS[kind_of(number)](seed, number)


def country(seed: int, number: int) -> Facts:
    turn = number // SIZE // COUNTRY_EVERY
    return {
        "capital": neighbour(number, CAPITAL),
        "population": 10_000 * (600 + below(seed, number, "size", 9_000)),
        "currency": short_word(seed, CURRENCIES + turn).lower(),
        "language": short_word(seed, LANGUAGES + turn) + "ish",
        "independent": 1720 + below(seed, number, "year", 140),
    }


def region(seed: int, number: int) -> Facts:
    first = neighbour(number, 0)
    return {
        "country": first if kind_of(first) == "country" else a_country(seed, number),
        "capital": neighbour(number, CAPITAL),
        "peak": "Mount " + long_word(seed, 3 * number + 2),
        "height": 400 + below(seed, number, "size", 4_600),
    }


def town(seed: int, number: int) -> Facts:
    capital = number % SIZE == CAPITAL
    home = neighbour(number, "region") if capital else at(any_block(seed, number, "region"), "region")
    found: Facts = {
        "region": home,
        "population": 100 * (15 + below(seed, number, "size", 4_000)),
        "founded": 1050 + below(seed, number, "year", 600),
        "elevation": 5 + below(seed, number, "price", 900),
    }
    if not capital:
        found |= {"nearest": neighbour(home, CAPITAL), "distance": 6 + below(seed, number, "distance", 90)}
    return found


def university(seed: int, number: int) -> Facts:
    return {
        "town": neighbour(number, CAPITAL),
        "founded": 1650 + below(seed, number, "year", 200),
        "students": 100 * (20 + below(seed, number, "size", 400)),
    }


def company(seed: int, number: int) -> Facts:
    found: Facts = {
        "trade": TRADES[trade_of(number)],
        "founder": neighbour(number, "entrepreneur"),
        "founded": company_year(seed, number),
        "seat": any_town(seed, number, "town"),
        "staff": 10 * (3 + below(seed, number, "size", 900)),
    }
    owner = at(block_of_era(seed, number, "company"), "company")
    if owner != number and below(seed, number, "kind", 10) < 6:
        found["owner"] = owner
    return found


def company_year(seed: int, number: int) -> int:
    """When a company began: its founder was 24 to 33."""
    return birth_year(seed, neighbour(number, "entrepreneur")) + OF_AGE + below(seed, number, "year", 10)


def film(seed: int, number: int) -> Facts:
    found: Facts = {
        "director": at(block_of_era(seed, number, "person"), "director"),
        "star": at(block_of_era(seed, number, "second person"), "actor"),
        "composer": at(block_of_era(seed, number, "third person"), "musician"),
    }
    earliest = [birth_year(seed, maker) + OF_AGE for maker in found.values()]
    earliest += published_by(seed, number, found, "studio", "film studio")
    if number % SIZE == SECOND_FILM and below(seed, number, "kind", 10) < 4:
        found["basis"] = neighbour(number, "novel")
        earliest.append(facts(seed, found["basis"])["year"])
    return found | {
        "year": max(earliest) + below(seed, number, "year", 13),
        "genre": GENRES[below(seed, number, "order", len(GENRES))],
        "runtime": 72 + below(seed, number, "size", 100),
        "location": any_town(seed, number, "town"),
    }


def published_by(seed: int, number: int, found: Facts, relation: str, trade: str) -> list[int]:
    """Add a work's company to its facts; the year in which that began, or nothing where no block so far has one."""
    company = company_of(seed, number, TRADES.index(trade))
    if company is None:
        return []
    found[relation] = company
    return [company_year(seed, company)]


def novel(seed: int, number: int) -> Facts:
    author = at(block_of_era(seed, number, "person"), "novelist")
    found: Facts = {"author": author}
    earliest = [birth_year(seed, author) + OF_AGE, *published_by(seed, number, found, "publisher", "publishing house")]
    return found | {
        # Early enough for a film of it whose makers are not yet old.
        "year": max(earliest) + below(seed, number, "year", 11),
        "genre": GENRES[below(seed, number, "order", len(GENRES))],
        "pages": 120 + below(seed, number, "size", 600),
        "setting": any_town(seed, number, "town"),
    }


def album(seed: int, number: int) -> Facts:
    performer = at(block_of_era(seed, number, "person"), "musician")
    found: Facts = {"performer": performer}
    earliest = [birth_year(seed, performer) + OF_AGE, *published_by(seed, number, found, "label", "record label")]
    return found | {
        "year": max(earliest) + below(seed, number, "year", 20),
        "style": STYLES[below(seed, number, "order", len(STYLES))],
        "tracks": 7 + below(seed, number, "size", 14),
        "recorded": any_town(seed, number, "town"),
    }


def visiting(seed: int, number: int) -> Facts:
    """What a visitor asks: hours, the day off, and the way from the station in metres."""
    opens = 8 + below(seed, number, "hours", 4)
    return {
        "hours": (opens, opens + 7 + below(seed, number, "order", 4)),
        "closed": DAYS[below(seed, number, "closed", len(DAYS))],
        "walk": 50 * (2 + below(seed, number, "distance", 60)),
    }


def business(seed: int, number: int) -> Facts:
    manager = at(block_of_era(seed, number, "person"), "entrepreneur")
    service = tuple(SERVICES)[below(seed, number, "kind", len(SERVICES))]
    priced, lowest, highest = SERVICES[service]
    return {
        "service": service,
        "town": any_town(seed, number, "town"),
        "manager": manager,
        "founded": birth_year(seed, manager) + OF_AGE + below(seed, number, "year", 30),
        "priced": priced,
        "price": lowest + below(seed, number, "price", highest - lowest + 1),
        **visiting(seed, number),
    }


def museum(seed: int, number: int) -> Facts:
    architect = neighbour(number, "architect")
    return {
        "town": any_town(seed, number, "town"),
        "architect": architect,
        "founded": birth_year(seed, architect) + OF_AGE + below(seed, number, "year", 30),
        "ticket": 4 + below(seed, number, "price", 27),
        **visiting(seed, number),
    }


def festival(seed: int, number: int) -> Facts:
    organiser = neighbour(number, "company")
    return {
        "town": neighbour(number, FESTIVAL_TOWN),
        "organiser": organiser,
        "month": MONTHS[below(seed, number, "month and day", len(MONTHS))],
        "founded": company_year(seed, organiser) + below(seed, number, "year", 22),
        "ticket": 5 + below(seed, number, "price", 90),
        "visitors": 100 * (10 + below(seed, number, "size", 900)),
    }


def prize(seed: int, number: int) -> Facts:
    honoured, giver = neighbour(number, "novelist"), neighbour(number, 0)
    found: Facts = {
        "honours": honoured,
        # No later than the next era's winners die.
        "founded": birth_year(seed, honoured) + 30 + below(seed, number, "year", 25),
        "money": 500 * (2 + below(seed, number, "price", 200)),
    }
    return found | ({"awarded_by": giver} if kind_of(giver) == "university" else {})


MAKERS: dict[str, Callable[[int, int], Facts]] = {
    "country": country, "university": university, "region": region, "town": town, "film": film, "novel": novel,
    "album": album, "company": company, "business": business, "festival": festival, "prize": prize, "museum": museum,
    **dict.fromkeys(PEOPLE, person),
}  # fmt: skip
