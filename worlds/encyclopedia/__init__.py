"""Vocabulary of the synthetic encyclopedia: invented people, places, works and firms, frozen in `data/synthetic`.

    articles     the sentence patterns of each kind of article
    relations    the values that articles name: genres, styles, days, months, services

`python -m scripts.make_synthetic` writes the articles and the questions over them; `python -m scripts.make_corpus`
writes a corpus of up to five million articles.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from string import Formatter

from lab.machine.reading import read_yaml

PEOPLE = ("director", "novelist", "musician", "actor", "entrepreneur", "architect")
# Kinds whose entities may share a name with an entity of another kind; a hop that starts from one says its kind.
SHARED_NAMES = {"film", "novel", "album", "town"}
FORMS = {"name", "short", "they", "They", "their"}  # fields that state no fact
Group = tuple[frozenset[str], tuple[str, ...]]
GENRES = ("comedy", "crime", "drama", "fantasy", "mystery", "romance", "thriller", "war")
STYLES = ("blues", "folk", "jazz", "pop", "punk", "rock", "soul", "techno")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
SERVICES = {  # kind of business: what its price is for, lower and upper bound in dollars
    "hotel": ("double room", 60, 240),
    "gym": ("monthly pass", 18, 95),
    "cinema": ("seat", 6, 21),
    "restaurant": ("set menu", 15, 80),
    "bicycle shop": ("day of rental", 8, 45),
}


@cache
def sentences() -> dict[str, tuple[Group, ...]]:
    """Kind of article -> groups of sentence patterns. The patterns of a group state the same facts, its fields.

    All kinds of people share the groups of "person".
    """
    entries = {entry["kind"]: entry["groups"] for entry in read_yaml(Path(__file__).with_name("sentences.yaml"))}
    groups = {kind: tuple(map(_group, patterns)) for kind, patterns in entries.items()}
    return groups | dict.fromkeys(PEOPLE, groups["person"])


def _group(patterns: list[str]) -> Group:
    fields = {field for _, field, _, _ in Formatter().parse(patterns[0]) if field}
    return frozenset(fields - FORMS), tuple(patterns)
