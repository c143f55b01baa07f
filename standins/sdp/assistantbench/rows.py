"""Candidates with their facts: read from pages of the synthetic web, and written as a finding's items."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import eq, ge, gt, le, lt, ne
from statistics import mean
from typing import Any

from sdp.adapters.assistantbench.prompts import UNCERTAIN, PageText
from standins.encyclopedia.hops import stated
from standins.sdp.assistantbench.conditions import Condition
from standins.sdp.assistantbench.wording import Reading
from worlds.web.tables import HEADINGS

OLD = "As of the end of "  # how a page of the synthetic web begins that was not kept up to date
UPDATED = re.compile(r"^Last updated: .*\n?", re.MULTILINE)
KINDS = {
    "museums": "museum", "festivals": "festival", "businesses": "business", "universities": "university",
    "towns": "town", "films": "film", "albums": "album", "novels": "novel",
}  # fmt: skip
OPEN = "?"
LIMITS: Mapping[str, Callable[[Any, Any], bool]] = {
    "below": lt, "above": gt, "from": ge, "to": le, "is": eq, "isnt": ne
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """A candidate. facts: relation -> its value as pages write it, OPEN where none was found. doubtful: relations whose
    values are not certain; "name" for all of it.
    """

    name: str
    facts: Mapping[str, str] = field(default_factory=dict)
    doubtful: frozenset[str] = frozenset()

    @property
    def line(self) -> str:
        said = [
            f"{relation} {value}" + f" {UNCERTAIN}" * (relation in self.doubtful)
            for relation, value in self.facts.items()
        ]
        return f"{self.name}: {'; '.join(said)}" + f" {UNCERTAIN}" * ("name" in self.doubtful)

    def value(self, relation: str) -> str:
        """What is known of a relation, "" for nothing."""
        said = self.facts.get(relation, "")
        return "" if said == OPEN else said


def row(item: str) -> Row:
    """An item as it was written; a name alone is one without facts."""
    whole = item.endswith(f"; {UNCERTAIN}")
    name, _, told = item.partition(": ")
    facts, doubtful = dict[str, str](), set[str]()
    for each in told.split("; ") if told else []:
        if each == UNCERTAIN:
            continue
        relation, _, value = each.partition(" ")
        if UNCERTAIN in value:
            doubtful.add(relation)
        facts[relation] = value.replace(UNCERTAIN, "").strip()
    return Row(name.strip(), facts, frozenset(doubtful | ({"name"} if whole else set())))


def rows_of(pages: Sequence[PageText], reading: Reading) -> list[Row]:
    """The rows of the list that the question is about, from a page that was kept up to date, if one was read."""
    lists = [page for page in pages if reading.lists(page.title) and table(page.text)]
    current = [page for page in lists if not old(page)]
    if current:
        return table(current[0].text)
    return [Row(one.name, one.facts, frozenset(one.facts)) for page in lists[:1] for one in table(page.text)]


def old(page: PageText) -> bool:
    return OLD in page.text


def table(text: str) -> list[Row]:
    """The first Markdown table of a page; its headings as relations."""
    lines = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in text.split("\n") if "|" in line]
    headings, *rest = lines or [[]]
    relations = [relation_of(heading) for heading in headings[1:]]
    body = (cells for cells in rest if set("".join(cells)) - set("-: ") and len(cells) == len(headings))
    return [Row(cells[0], dict(zip(relations, cells[1:], strict=True))) for cells in body]


def relation_of(heading: str) -> str:
    known = {words: relation for relation, words in HEADINGS.items()}
    return known.get(heading) or ("price" if heading.startswith("Price") else heading.split(" ")[0].lower() or OPEN)


def with_details(one: Row, pages: Sequence[PageText], reading: Reading, force: bool) -> Row:
    """A row with what its own page says of it. force: no gap is marked."""
    facts, doubtful = dict(one.facts), set(one.doubtful)
    for relation in reading.details:
        values = {
            old(page): said[relation]
            for page in reversed(pages)
            if relation in (said := article(page, one.name, reading))
        }
        value = values.get(False) or values.get(True)
        if value is None and force:
            continue
        facts[relation] = value or OPEN
        if False not in values and not force:
            doubtful.add(relation)
    return Row(one.name, facts, frozenset(doubtful))


def article(page: PageText, name: str, reading: Reading) -> Mapping[str, str]:
    """What a page says of a thing of that name, if it is the thing's own page; else nothing."""
    text = re.sub(rf"{OLD}\d+: ", "", UPDATED.sub("", page.text)).strip()
    for kind, said in stated(page.title, text):
        if kind == KINDS[reading.table] and name in (page.title, said["name"], said.get("alias")):
            return said
    return {}


def kept(one: Row, condition: Condition, strict: bool) -> bool:
    """Whether a row is not ruled out. strict: what is not known of it rules it out."""
    if not condition.relation:
        inside = any(condition.value in value for value in one.facts.values())
        return inside == (condition.test == "is")
    value = one.value(condition.relation)
    if not value:
        return not strict
    number = number_in(value)
    if not condition.value[:1].isdigit():
        return LIMITS[condition.test](plain(value), plain(condition.value))
    return not strict if number is None else LIMITS[condition.test](number, float(condition.value))


def narrowed(rows: Sequence[Row], reading: Reading) -> list[Row]:
    """The rows that meet the conditions; what has been looked for and not found rules a row out."""
    known = {relation for one in rows for relation in one.facts}
    tests = [
        condition
        for condition in reading.conditions
        if condition.relation or any(condition.value in value for one in rows for value in one.facts.values())
    ]
    return [one for one in rows if all(kept(one, each, each.relation in known) for each in tests)]


def computed(rows: Sequence[Row], whole: int, reading: Reading) -> list[str]:
    """The items that a computation over rows comes to. whole: how many rows there were before any was left out."""
    if reading.verb == "count":
        return [f"count: {len(rows)}"]
    if reading.verb == "share":
        return [f"share: {tidy(100 * len(rows) / whole)}"] if whole else []
    measured = [(number, one) for one in rows if (number := number_in(one.value(reading.measure))) is not None]
    if not measured:
        return []
    numbers = [number for number, _ in measured]
    if reading.verb in ("most", "least"):
        best = (max if reading.verb == "most" else min)(numbers)
        return [one.line for number, one in measured if number == best]
    result = {"sum": sum(numbers), "mean": mean(numbers), "gap": max(numbers) - min(numbers)}.get(reading.verb, 0)
    return [f"{reading.verb}: {tidy(result)}"]


def number_in(text: str) -> float | None:
    found = re.search(r"-?\d[\d,]*(?:\.\d+)?", text)
    return float(found[0].replace(",", "")) if found else None


def plain(text: str) -> str:
    """A day, a kind or a number, for comparison."""
    return text.strip().lower().replace(",", "")


def tidy(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


def as_object(one: Row, keys: Mapping[str, str]) -> dict[str, Any]:
    """A row as the object that a question asks for; amounts as numbers."""
    return {key: one.name if relation == "name" else amount(one.value(relation)) for key, relation in keys.items()}


def amount(text: str) -> Any:
    number = number_in(text) if re.fullmatch(r"[\d,.]+(?: \w+)?", text) else None
    return text if number is None else int(number) if number == int(number) else number
