"""Questions over the synthetic web, like AssistantBench's: collect a list, filter it, look things up, and compute.

The gold answer comes from the encyclopedia's facts; the pages that hold the evidence are sound ones, so every question
can be answered, whatever faulty pages the web also holds.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from statistics import mean
from typing import Any, Literal

from scripts.encyclopedia.chains import spoken
from scripts.encyclopedia.facts import facts
from scripts.encyclopedia.layout import UNITS, Value
from scripts.encyclopedia.questions import Split
from scripts.web.site import Site
from scripts.web.tables import ListPage, Template, templates, value_of

MOST_NAMES = 5  # of an answer
TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "below": lambda value, limit: value < limit,
    "above": lambda value, limit: value > limit,
    "from": lambda value, limit: value >= limit,
    "is": lambda value, wanted: value == wanted,
    "isnt": lambda value, wanted: value != wanted,
}
MOST_PAGES = 6  # articles that have to be read
DRAWS = 60  # of values for a template before another one is taken
IN_VAIN = 500  # questions made in a row that were there already, or found nothing


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


Kind = Literal["collect", "filter", "extract", "compute"]  # of steps, as SDP's Appendix A.4 has them


@dataclass(frozen=True, slots=True)
class Step:
    """A step to the answer. finding: what it comes to, an item each. evidence: addresses of the pages that say so."""

    kind: Kind
    goal: str
    finding: tuple[str, ...]
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WebQuestion:
    """A question, its answer and where that stands.

    answer: as AssistantBench writes gold answers: an item a line, objects as JSON, numbers without commas. items: the
    same as values. steps: how the answer is found. evidence: addresses of all pages that the steps need. template: its
    name, which begins with the set that it is of. meaning: see `meant`.
    """

    id: str
    question: str
    items: tuple[Any, ...]
    steps: tuple[Step, ...]
    template: str
    meaning: Mapping[str, Any]

    @property
    def answer(self) -> str:
        return "\n".join(written(item) for item in self.items)

    @property
    def evidence(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(url for step in self.steps for url in step.evidence))


def written(item: Any) -> str:
    return item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)


def questions(site: Site, count: int, split: Split = "writing") -> list[WebQuestion]:
    """Different questions over a site, from its seed; a longer list begins with the shorter one.

    split: "writing" for questions that rules may be written on, "reporting" for those that none was. Raises ValueError
    for an unknown name, and where the site has not as many.
    """
    choices, pages, made = templates(split), defaultdict[str, list[str]](list), dict[str, WebQuestion]()
    for url, page in site.lists.items():
        pages[page.table.name].append(url)
    turn = latest = 0
    while len(made) < count:
        rng = Random(f"web question {site.seed} {split} {site.articles} {turn}")
        template = rng.choice(choices)
        one = question(site, rng, template, pages[template.table_name], f"made_web_{split}_{site.seed}_{turn:05}")
        if one is not None and one.question not in made:
            made[one.question], latest = one, turn
        turn += 1
        if turn > latest + IN_VAIN:
            raise ValueError(f"the web of seed {site.seed} has {len(made):,} {split} questions, and not {count:,}")
    return list(made.values())


def question(site: Site, rng: Random, template: Template, pages: list[str], id: str) -> WebQuestion | None:
    """A question of a template about one of its list pages; None if none was found that has one short answer."""
    for _ in range(DRAWS if pages else 0):
        url = rng.choice(pages)
        page = site.lists[url]
        rows = Rows(site, page.rows)
        limits = {relation: rng.choice(rows.values(relation)) for relation in template.where}
        read = narrowed(rows, template, limits, template.by_columns)
        found = narrowed(read, template, limits, template.by_details)
        items = answered(found, rows, template)
        if items and (len(read.numbers) <= MOST_PAGES or not template.details):
            shown = {relation: shown_as(relation, value) for relation, value in limits.items()}
            text = template.question.format(place=page.place, **shown)
            found_by = tuple(steps(url, page, template, read, found, items))
            return WebQuestion(id, text, items, found_by, template.name, meant(template, page, limits))
    return None


def meant(template: Template, page: ListPage, limits: Mapping[str, Value]) -> dict[str, Any]:
    """What a question asks: of which list, under which conditions (relation, test, value) in the order of its text,
    and the rest as in the template.
    """
    ordered = sorted(template.where.items(), key=lambda item: template.question.index(f"{{{item[0]}}}"))
    return {
        "table": template.table_name,
        "place": page.place,
        "where": [(relation, test, str(limits[relation])) for relation, test in ordered],
        "take": template.take,
        "keys": dict(template.keys),
    }


def shown_as(relation: str, value: Value) -> str:
    """A value in a question; its unit stands there already."""
    return f"{value:,}" if relation in UNITS else str(value)


def steps(
    url: str, page: ListPage, template: Template, read: Rows, found: Rows, items: tuple[Any, ...]
) -> Iterator[Step]:
    """How the answer is found. read: the rows that the columns leave; found: those that all conditions leave."""
    site = read.site
    yield Step("collect", f"the rows of {page.title}", Rows(site, page.rows).names, (url,))
    if template.by_columns:
        yield Step("filter", f"by {' and '.join(template.by_columns)}", read.names, (url,))
    if template.details:
        said = tuple(
            f"{name}: {relation} {value}"
            for relation in template.details
            for name, value in zip(read.names, read.values(relation), strict=True)
        )
        pages = tuple(map(site.article_url, read.numbers))
        yield Step("extract", f"{' and '.join(template.details)} of each", said, pages)
    if template.by_details:
        yield Step("filter", f"by {' and '.join(template.by_details)}", found.names)
    if template.verb not in ("names", "json"):
        yield Step("compute", template.take, tuple(map(written, items)))
