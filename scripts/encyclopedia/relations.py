"""What can be said of entities: which relations are links, and how values are written.

A value is the number of another entity for the relations of LINKS, and typed for the others: years, counts and amounts
are whole numbers, a birth is a date, opening hours are two full hours.
"""

from __future__ import annotations

from datetime import date
from typing import Any

from worlds.encyclopedia.relations import MONTHS

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
# What stands beside a number; others are written as they are.
UNITS = {
    "height": "{:,} metres", "elevation": "{:,} metres", "distance": "{} kilometres", "walk": "{} metres",
    "runtime": "{} minutes", "price": "{} dollars", "ticket": "{} dollars", "money": "{:,} dollars",
    "population": "{:,}", "students": "{:,}", "staff": "{:,}", "visitors": "{:,}",
}  # fmt: skip


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
