"""The list pages of the synthetic web: which entities of the encyclopedia are in one table, and what its cells say."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from scripts.encyclopedia.chains import spoken
from scripts.encyclopedia.facts import facts
from scripts.encyclopedia.layout import is_a
from scripts.encyclopedia.relations import LINKS, UNITS, Facts, Value, written
from worlds.web.tables import HEADINGS, TABLES, Table

FEWEST, MOST = 4, 24  # rows; what is smaller or larger gets no page


@dataclass(frozen=True, slots=True)
class ListPage:
    """A table and its entities, by number. place: what they share, as the title has it."""

    table: Table
    place: str
    rows: tuple[int, ...]

    @property
    def title(self) -> str:
        return self.table.title.format(place=self.place)


def list_pages(seed: int, size: int) -> list[ListPage]:
    """All list pages over the first `size` articles, in a fixed order."""
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number in range(size):
        for table in TABLES.values():
            if is_a(number, table.kind) and (place := shared(seed, number, table)) is not None:
                found[table.name, place].append(number)
    return [
        ListPage(TABLES[name], place, tuple(rows))
        for (name, place), rows in found.items()
        if FEWEST <= len(rows) <= MOST
    ]


def shared(seed: int, number: int, table: Table) -> str | None:
    """What an entity shares with the others of its list, None where it belongs to none."""
    stated = facts(seed, number)
    if table.by == "decade":
        return f"the {stated['founded'] // 10 * 10}s"
    if table.by == "country":
        return spoken(seed, facts(seed, facts(seed, stated["town"])["region"])["country"])
    if table.by not in stated:
        return None
    value = stated[table.by]
    if table.by in LINKS:
        return spoken(seed, value)
    return f"{value}s" if table.by == "service" else str(value)


def value_of(seed: int, stated: Facts, relation: str) -> Value:
    """A value as answers have it: numbers as numbers, entities by name."""
    value = stated[relation]
    return spoken(seed, value) if relation in LINKS else value


def cell(seed: int, stated: Facts, relation: str) -> str:
    """A value as tables write it: without its unit, which the heading has."""
    value = value_of(seed, stated, relation)
    if relation in UNITS:
        return f"{value:,}"
    return str(value) if relation in LINKS else written(relation, value)


def heading(page: ListPage, seed: int, relation: str) -> str:
    """A column's heading; a price says what it is for."""
    if relation == "price":
        return f"Price of a {facts(seed, page.rows[0])['priced']} (dollars)"
    return HEADINGS[relation]
