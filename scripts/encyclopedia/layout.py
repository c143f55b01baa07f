"""The layout of entity numbers: entities come in blocks of 20, and a position in the block always has the same kind.

So the kind of an entity, and the entities that it may be linked to, are computed from numbers. Links go to the same
block or to earlier ones: a smaller encyclopedia is the beginning of a larger one, article by article.

Blocks belong to one of four eras, by turns. People of an era are born within ten years, and people who work together
share an era, so that nobody directs a film before birth or after death.
"""

from __future__ import annotations

from datetime import date
from typing import Any

from scripts.encyclopedia.words import below
from worlds.encyclopedia import MONTHS, PEOPLE

Value = Any  # int, str, date or a pair of hours, as the relation has it
Facts = dict[str, Value]

# The number beside a link says which random bits decide by which name an article calls what it links to.
LINKS = {
    relation: turn % 16
    for turn, relation in enumerate(
        (
            "capital", "country", "region", "nearest", "town", "birth_town", "home", "university", "parent", "spouse",
            "award", "teacher", "director", "star", "composer", "studio", "location", "basis", "author", "publisher",
            "setting", "performer", "label", "recorded", "founder", "seat", "owner", "manager", "organiser", "honours",
            "awarded_by", "architect",
        )
    )
}  # fmt: skip
# No two entities of the kind have the same value of the relation, so that it can be asked the other way round.
ONE_TO_ONE = frozenset(
    (
        ("festival", "town"), ("university", "town"), ("company", "founder"), ("prize", "honours"),
        ("museum", "architect"), ("person", "parent"), ("film", "basis"),
    )
)  # fmt: skip
# Units of numbers; numbers of other fields are written without a unit.
UNITS = {
    "height": "{:,} metres", "elevation": "{:,} metres", "distance": "{} kilometres", "walk": "{} metres",
    "runtime": "{} minutes", "price": "{} dollars", "ticket": "{} dollars", "money": "{:,} dollars",
    "population": "{:,}", "students": "{:,}", "staff": "{:,}", "visitors": "{:,}",
}  # fmt: skip
BLOCK = (
    "university", "region", "town", "town", "town", *PEOPLE, "film", "film", "novel", "album", "company", "business",
    "festival", "prize", "museum",
)  # fmt: skip
SIZE = len(BLOCK)
PLACES = {kind: tuple(place for place, one in enumerate(BLOCK) if one == kind) for kind in dict.fromkeys(BLOCK)}
PLACES["person"] = tuple(PLACES[kind][0] for kind in PEOPLE)
PLACES["country"] = PLACES["university"]  # the first place of every 16th block
KINDS = (*dict.fromkeys(BLOCK), "country")
COUNTRY_EVERY = 16
ERAS = 4
TRADES = ("film studio", "publishing house", "record label")  # of companies, by turns
CAPITAL, FESTIVAL_TOWN, LENDING_TOWN = PLACES["town"]
FIRST_FILM, SECOND_FILM = PLACES["film"]


def written(relation: str, value: Value) -> str:
    """A value that is no link, as articles write it."""
    if isinstance(value, str):
        return value
    if isinstance(value, date):
        return f"{value.day} {MONTHS[value.month - 1]} {value.year}"
    if isinstance(value, tuple):
        return "{}:00 to {}:00".format(*value)
    return UNITS[relation].format(value) if relation in UNITS else str(value)


def other_writings(relation: str, value: Value) -> tuple[str, ...]:
    """Further ways to write a value that are as good an answer."""
    if isinstance(value, date):
        return (f"{MONTHS[value.month - 1]} {value.day}, {value.year}", value.isoformat())
    if isinstance(value, int) and relation in UNITS:
        spellings = (UNITS[relation].format(value).split()[0], str(value))
        return tuple(dict.fromkeys(one for one in spellings if one != written(relation, value)))
    return ()


def kind_of(number: int) -> str:
    return BLOCK[number % SIZE] if number % (SIZE * COUNTRY_EVERY) else "country"


def is_a(number: int, kind: str) -> bool:
    """Whether an entity is of a kind; "person" is any of PEOPLE."""
    own = kind_of(number)
    return own == kind or (kind == "person" and own in PEOPLE)


def at(block: int, place: int | str) -> int:
    """The entity at a place of a block; a kind stands for its first place."""
    return block * SIZE + (place if isinstance(place, int) else PLACES[place][0])


def neighbour(number: int, place: int | str) -> int:
    """The entity at a place of the same block."""
    return at(number // SIZE, place)


def era(number: int) -> int:
    return number // SIZE % ERAS


def any_block(seed: int, number: int, field: str) -> int:
    """A block up to the entity's own."""
    return below(seed, number, field, number // SIZE + 1)


def any_town(seed: int, number: int, field: str) -> int:
    """A town up to the entity's block."""
    block, turn = divmod(below(seed, number, field, 3 * (number // SIZE + 1)), 3)
    return at(block, PLACES["town"][turn])


def block_of_era(seed: int, number: int, field: str, earlier: int = 0) -> int:
    """A block up to the entity's own, of its era or of one so many eras earlier, which has to exist."""
    own = number // SIZE
    return ERAS * below(seed, number, field, own // ERAS + 1) + own % ERAS - earlier


def company_of(seed: int, number: int, trade: int) -> int | None:
    """A company of a trade and of the entity's era; None where no block so far has one."""
    own = number // SIZE
    choices = (own // ERAS - trade) // len(TRADES) + 1
    if choices < 1:
        return None
    turn = len(TRADES) * below(seed, number, "company", choices) + trade
    return at(ERAS * turn + own % ERAS, "company")


def trade_of(company: int) -> int:
    """The place in TRADES of what a company does."""
    return company // SIZE // ERAS % len(TRADES)


def a_country(seed: int, number: int) -> int:
    """A country up to the entity's block."""
    return at(COUNTRY_EVERY * below(seed, number, "country", number // SIZE // COUNTRY_EVERY + 1), "country")


def a_university(seed: int, number: int) -> int | None:
    """A university up to the entity's block; None in the first block, which has a country in its place."""
    own = number // SIZE
    choices = own - own // COUNTRY_EVERY
    if not choices:
        return None
    group, turn = divmod(below(seed, number, "university", choices), COUNTRY_EVERY - 1)
    return at(group * COUNTRY_EVERY + 1 + turn, "university")
