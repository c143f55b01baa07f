"""Rows of a list page under the conditions of a template, and what the template asks of those that are left."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import mean
from typing import Any

from scripts.encyclopedia.chains import spoken
from scripts.encyclopedia.facts import facts
from scripts.encyclopedia.relations import Value
from scripts.web.site import Site
from scripts.web.tables import value_of
from scripts.web.templates import Template

MOST_NAMES = 5  # of an answer
TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "below": lambda value, limit: value < limit,
    "above": lambda value, limit: value > limit,
    "from": lambda value, limit: value >= limit,
    "is": lambda value, wanted: value == wanted,
    "isnt": lambda value, wanted: value != wanted,
}


@dataclass(frozen=True)
class Rows:
    """Some entities of a list page."""

    site: Site
    numbers: tuple[int, ...]

    def value(self, number: int, relation: str) -> Value:
        seed = self.site.seed
        return spoken(seed, number) if relation == "name" else value_of(seed, facts(seed, number), relation)

    def values(self, relation: str) -> list[Value]:
        return [self.value(number, relation) for number in self.numbers]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.values("name"))

    def where(self, relation: str, test: str, limit: Value) -> Rows:
        passed = (number for number in self.numbers if TESTS[test](self.value(number, relation), limit))
        return Rows(self.site, tuple(passed))

    def at(self, relation: str, wanted: Value) -> Rows:
        return self.where(relation, "is", wanted)


def narrowed(rows: Rows, template: Template, limits: Mapping[str, Value], by: tuple[str, ...]) -> Rows:
    """The rows that fulfil the conditions on some relations."""
    for relation in by:
        rows = rows.where(relation, template.where[relation], limits[relation])
    return rows


def answered(found: Rows, rows: Rows, template: Template) -> tuple[Any, ...]:
    """The answer; () where there is none, or no single or short one, or the conditions change nothing."""
    if not found.numbers or (template.where and len(found.numbers) == len(rows.numbers)):
        return ()
    if template.verb in ("least", "most"):
        best = (min if template.verb == "least" else max)(found.values(template.measure))
        first = found.at(template.measure, best)
        if len(found.numbers) < 2 or len(first.numbers) > 1:
            return ()
        return objects(first, template) if template.keys else first.names
    if template.verb in ("names", "json"):
        items = found.names if template.verb == "names" else objects(found, template)
        return items if len(items) <= MOST_NAMES else ()
    return computed(found, rows, template)


def computed(found: Rows, rows: Rows, template: Template) -> tuple[Any, ...]:
    """A number as the answer; nothing that can be read off one row."""
    if template.verb == "count":
        return (len(found.numbers),)
    if template.verb == "share":
        return (tidy(100 * len(found.numbers) / len(rows.numbers)),)
    values = found.values(template.measure)
    if len(values) < 2:
        return ()
    if template.verb == "gap":
        return (max(values) - min(values),) if max(values) > min(values) else ()
    return (sum(values),) if template.verb == "sum" else (tidy(mean(values)),)


def objects(found: Rows, template: Template) -> tuple[dict[str, Value], ...]:
    return tuple({key: found.value(one, relation) for key, relation in template.keys.items()} for one in found.numbers)


def tidy(number: float) -> float | int:
    """Two decimals at most, none where there are none."""
    rounded = round(number, 2)
    return int(rounded) if rounded == int(rounded) else rounded
