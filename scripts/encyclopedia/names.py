"""Names, other names and titles of entities.

Names are unique but where two entities of a block share one on purpose: a film has the name of a town, of a novel or of
another film, an album that of a film or novel, an architect that of a novelist. Titles are always unique: the first of
such namesakes may keep the bare name, and the others' titles say what they are, as in "Velmara (film)".
"""

from __future__ import annotations

from functools import lru_cache

from scripts.encyclopedia.facts import facts
from scripts.encyclopedia.layout import (
    FIRST_FILM,
    LENDING_TOWN,
    PLACES,
    SECOND_FILM,
    SIZE,
    TRADES,
    kind_of,
    neighbour,
    trade_of,
)
from scripts.encyclopedia.words import COUNTRIES, FAMILIES, GIVEN, below, long_word, short_word
from worlds.encyclopedia import PEOPLE

WORK_NAMES = (
    "{}", "{}", "{}", "{}", "The House of {}", "The Road to {}", "The Song of {}", "The Last {}", "Farewell, {}",
    "{} at Dawn", "Letters to {}", "The Garden of {}", "Return to {}", "{} in Winter", "The Bells of {}", "Beyond {}",
)  # fmt: skip
ENDINGS = {
    "film studio": ("Pictures", "Films", "Studios"),
    "publishing house": ("Press", "Books", "Publishing"),
    "record label": ("Records", "Music", "Sound"),
}
FAMILY_BLOCKS = 8  # blocks in a row that share their two families, told apart by given names
SLOTS = len(GIVEN["female"]) // FAMILY_BLOCKS  # given names of a block
EACH = SLOTS // len(PEOPLE)  # and of a person to draw from
BORROWERS = (FIRST_FILM, SECOND_FILM, *PLACES["album"])
NAMED = (LENDING_TOWN, *BORROWERS, *PLACES["novel"])  # places of those that may have the same name


@lru_cache(maxsize=2048)
def name(seed: int, number: int) -> str:
    """What an entity is called, which another one of its block may be called, too."""
    kind = kind_of(number)
    if kind in PEOPLE:
        return " ".join(given_and_family(seed, number))
    if kind == "country":
        return short_word(seed, COUNTRIES + number // SIZE)
    if kind == "prize":
        return name(seed, neighbour(number, "novelist")) + " Prize"
    root = lender(seed, number)
    word = long_word(seed, 3 * root)
    if kind_of(root) in ("film", "novel", "album"):
        return WORK_NAMES[below(seed, root, "pattern", len(WORK_NAMES))].format(word)
    if kind in ("town", "region", "film", "album"):
        return word
    if kind == "company":
        return f"{word} {ENDINGS[TRADES[trade_of(number)]][below(seed, number, 'pattern', 3)]}"
    if kind == "business":
        return f"{word} {facts(seed, number)['service'].title()}"
    return f"{word} {kind.title()}"


@lru_cache(maxsize=2048)
def alias(seed: int, number: int) -> str | None:
    """The other name under which an entity goes, always unique, or None."""
    kind = kind_of(number)
    if kind in PEOPLE:
        first, family = given_and_family(seed, number)
        return f"{first} {middle(seed, number)} {family}"
    draw = below(seed, number, "alias", 12)
    if draw >= 8:
        return None
    if kind == "country":
        return ("the Republic of {}", "the Kingdom of {}")[draw % 2].format(name(seed, number))
    if kind == "region":
        return ("{} Province", "the Province of {}")[draw % 2].format(name(seed, number))
    if kind == "company" or kind == "business":
        return name(seed, number).split()[0]
    word = long_word(seed, 3 * number + 1)
    ending = {"university": "{} College", "museum": "House of {}", "festival": "{} Days", "prize": "{} Medal"}
    return ending.get(kind, "{}").format(word)


def title(seed: int, number: int) -> str:
    """The title of an entity's article; no other article has it."""
    own, kind = name(seed, number), kind_of(number)
    if kind in ("novelist", "architect"):
        bare = kind == "novelist" and below(seed, number, "sharing", 2)
        return own if bare or not has_homonym(seed, number) else f"{own} ({kind})"
    if number % SIZE not in NAMED:
        return own
    if has_homonym(seed, number):
        return f"{own} ({facts(seed, number)['year']} film)"
    return own if lender(seed, number) == number else f"{own} ({kind})"


def has_homonym(seed: int, number: int) -> bool:
    """Whether a person has a namesake, or a film another film of its name."""
    kind = kind_of(number)
    if kind in ("novelist", "architect"):
        return shares(seed, neighbour(number, "architect"))
    if kind == "film":
        return lender(seed, neighbour(number, FIRST_FILM)) == lender(seed, neighbour(number, SECOND_FILM))
    return False


def namesakes(seed: int, number: int) -> list[int]:
    """The other entities that have its name."""
    if kind_of(number) in ("novelist", "architect"):
        pair = (neighbour(number, "novelist"), neighbour(number, "architect"))
        return [one for one in pair if one != number and has_homonym(seed, number)]
    if number % SIZE not in NAMED:
        return []
    root = lender(seed, number)
    others = (neighbour(number, place) for place in NAMED)
    return [one for one in others if one != number and lender(seed, one) == root]


@lru_cache(maxsize=512)
def lender(seed: int, number: int) -> int:
    """The entity of the block whose name a town or work has; often itself."""
    place = number % SIZE
    if place not in BORROWERS:
        return number
    draw, first = below(seed, number, "sharing", 20), neighbour(number, FIRST_FILM)
    if place == FIRST_FILM:
        return neighbour(number, LENDING_TOWN) if draw < 3 else number
    if place == SECOND_FILM:
        if draw < (16 if "basis" in facts(seed, number) else 1):
            return neighbour(number, "novel")
        # Films with the same name differ in their years.
        different = draw > 16 and facts(seed, first)["year"] != facts(seed, number)["year"]
        return lender(seed, first) if different else number
    return lender(seed, first) if draw < 3 else neighbour(number, "novel") if draw < 5 else number


def shares(seed: int, architect: int) -> bool:
    """Whether an architect has the name of the novelist of the block."""
    return below(seed, architect, "sharing", 20) < 3


def given_and_family(seed: int, person: int) -> tuple[str, str]:
    """The two parts of a name. Families are alternate people of a few blocks; none of them has another's given name."""
    block, place = divmod(person, SIZE)
    family = short_word(seed, FAMILIES + 2 * (block // FAMILY_BLOCKS) + place % 2)
    if kind_of(person) == "architect" and shares(seed, person):
        person = neighbour(person, "novelist")
    slot = SLOTS * (block % FAMILY_BLOCKS) + EACH * PEOPLE.index(kind_of(person))
    return GIVEN[gender(seed, person)][slot + below(seed, person, "given", EACH)], family


def middle(seed: int, person: int) -> str:
    """The middle name, of which namesakes have different ones."""
    number = below(seed, person, "middle", len(GIVEN["female"]) // len(PEOPLE)) * len(PEOPLE)
    return GIVEN[gender(seed, person)][number + PEOPLE.index(kind_of(person))]


def gender(seed: int, person: int) -> str:
    if kind_of(person) == "architect" and shares(seed, person):
        person = neighbour(person, "novelist")
    return ("female", "male")[below(seed, person, "gender", 2)]
