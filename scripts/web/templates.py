"""Question templates over the synthetic web, in two sets that share no wording: to write rules on, and to report on.

The sets are writing.yaml and reporting.yaml, as with the questions of `scripts.encyclopedia.templates`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from lab.machine.printing import hint
from lab.machine.reading import read_yaml
from scripts.encyclopedia.templates import SPLITS, Split
from worlds.web.tables import TABLES, Table

Test = Literal["below", "above", "from", "is", "isnt"]


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
