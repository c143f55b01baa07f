"""The list pages of the synthetic web: which entities of the encyclopedia are in one table, and what its cells say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from lab.machine.printing import hint
from lab.machine.reading import read_yaml
from scripts.encyclopedia.chains import spoken
from scripts.encyclopedia.facts import facts
from scripts.encyclopedia.layout import LINKS, UNITS, Facts, Value, is_a, written
from scripts.encyclopedia.questions import SPLITS, Split
from worlds.web.tables import HEADINGS, TABLES, Table

Test = Literal["below", "above", "from", "is", "isnt"]
FEWEST, MOST = 4, 24  # rows; what is smaller or larger gets no page


class Template(BaseModel):
    """How questions of a form are made; the fields are explained in writing.yaml. name: begins with the set."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    table_name: str = Field(alias="table")
    where: Mapping[str, Test] = {}
    take: str
    keys: Mapping[str, str] = {}
    question: str

    @property
    def table(self) -> Table:
        return TABLES[self.table_name]

    @property
    def verb(self) -> str:
        """The first word of `take`: what is done with the rows."""
        return self.take.partition(" ")[0]

    @property
    def measure(self) -> str:
        """The relation that `take` names, "" if it names none."""
        return self.take.partition(" ")[2]

    @property
    def by_columns(self) -> tuple[str, ...]:
        """The relations of the conditions that the table has columns for."""
        return tuple(one for one in self.where if one in self.table.columns)

    @property
    def by_details(self) -> tuple[str, ...]:
        """The relations of the other conditions."""
        return tuple(one for one in self.where if one in self.table.details)

    @property
    def details(self) -> tuple[str, ...]:
        """The relations that the table has no column for, those of the conditions first."""
        asked = dict.fromkeys((*self.where, self.measure, *self.keys.values()))
        return tuple(one for one in asked if one in self.table.details)


@lru_cache(maxsize=2)
def templates(split: Split) -> tuple[Template, ...]:
    """The templates of a set, "writing" or "reporting". Raises ValueError for another name."""
    if split not in SPLITS:
        raise ValueError(f"there are templates for {' and '.join(SPLITS)}, none for {split!r}{hint(split, SPLITS)}")
    entries = read_yaml(Path(__file__).with_name(f"{split}.yaml"))
    return tuple(Template.model_validate(entry | {"name": f"{split}/{entry['name']}"}) for entry in entries)


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
