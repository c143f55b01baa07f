"""Which number is what: entities come in blocks of 20, and a place in the block is always of the same kind.

So the kind of an entity, and the entities that it may be linked to, are computed from numbers. Links go to the same
block or to earlier ones: a smaller encyclopedia is the beginning of a larger one, article by article.

Blocks belong to one of four eras, by turns. People of an era are born within ten years, and whoever works together is
of one era, so that no one directs a film before birth or after death.
"""

from __future__ import annotations

from scripts.encyclopedia.chance import below
from worlds.encyclopedia.articles import PEOPLE

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
