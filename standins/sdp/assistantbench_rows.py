"""What questions over the synthetic web mean, and candidates with their facts, read from its pages.

A question's meaning is looked up by its text in `data/synthetic/web/questions.jsonl`, as `scripts.web.questions` wrote
it there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from operator import eq, ge, gt, lt, ne
from statistics import mean
from typing import Any, NamedTuple

from lab.models.rules import NoRule
from sdp.adapters.assistantbench.prompts import UNCERTAIN, PageText
from standins.encyclopedia.hops import stated
from worlds.frozen import read_rows
from worlds.web.tables import HEADINGS, TABLES

QUESTIONS = "web/questions.jsonl"
OLD = "As of the end of "  # how a page of the synthetic web begins that was not kept up to date
UPDATED = re.compile(r"^Last updated: .*\n?", re.MULTILINE)
STEMS = {  # what the title of a list has, besides the place
    "museums": "museum", "festivals": "festival", "businesses": "", "universities": "universit", "towns": "town",
    "films": "film", "albums": "album", "novels": "novel",
}  # fmt: skip
OPEN = "?"
LIMITS: Mapping[str, Callable[[Any, Any], bool]] = {"below": lt, "above": gt, "from": ge, "is": eq, "isnt": ne}


class Condition(NamedTuple):
    """test: as in `scripts.web.tables`."""

    relation: str
    test: str
    value: str


class Meaning(NamedTuple):
    """table: of `worlds.web.tables`. place: what its rows share. verb, measure: what is asked of the rows that fulfil
    the conditions; the measure is a relation, or "". keys: key -> what it is of, a relation or "name".
    """

    question: str
    table: str
    place: str
    conditions: tuple[Condition, ...]
    verb: str
    measure: str
    keys: Mapping[str, str]

    @property
    def details(self) -> tuple[str, ...]:
        """The relations that lists like this have no column for."""
        asked = (*(condition.relation for condition in self.conditions), self.measure, *self.keys.values())
        return tuple(relation for relation in dict.fromkeys(asked) if relation in TABLES[self.table].details)

    @property
    def query(self) -> str:
        """What to look for the list with."""
        return self.place if self.table == "businesses" else f"{self.table} {self.place}"

    def lists(self, title: str) -> bool:
        """Whether a title may be that of the list: all that it names stands in the question."""
        rest = title.partition(" ")[2]
        if self.table == "businesses":
            return rest.endswith(self.place)
        named = [word.lower() for word in rest.split() if word[0].isupper() or word[0].isdigit()]
        words = set(re.findall(r"[\w-]+", self.question.lower()))
        return STEMS[self.table] in title.lower() and bool(named) and all(word in words for word in named)


def meaning(question: str) -> Meaning:
    """What a synthetic question means. Raises NoRule for any other one."""
    try:
        return _meanings()[question]
    except KeyError:
        raise NoRule(
            f"Rules know what the questions of data/synthetic/{QUESTIONS} mean, and no other one: {question!r}. "
            "Use a model as engine"
        ) from None


@cache
def _meanings() -> Mapping[str, Meaning]:
    found = dict[str, Meaning]()
    for entry in read_rows(QUESTIONS):
        meant, question = entry["meaning"], entry["question"]
        verb, _, measure = meant["take"].partition(" ")
        conditions = tuple(Condition(*condition) for condition in meant["where"])
        found[question] = Meaning(question, meant["table"], meant["place"], conditions, verb, measure, meant["keys"])
    return found


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


def rows_of(pages: Sequence[PageText], question: Meaning) -> list[Row]:
    """The rows of the list that the question is about, from a page that was kept up to date, if one was read."""
    lists = [page for page in pages if question.lists(page.title) and table(page.text)]
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


def with_details(candidate: Row, pages: Sequence[PageText], question: Meaning, force: bool) -> Row:
    """A row with what its own page says of it. force: no gap is marked."""
    facts, doubtful = dict(candidate.facts), set(candidate.doubtful)
    for relation in question.details:
        values = {
            old(page): said[relation]
            for page in reversed(pages)
            if relation in (said := article(page, candidate.name, question))
        }
        value = values.get(False) or values.get(True)
        if value is None and force:
            continue
        facts[relation] = value or OPEN
        if False not in values and not force:
            doubtful.add(relation)
    return Row(candidate.name, facts, frozenset(doubtful))


def article(page: PageText, name: str, question: Meaning) -> Mapping[str, str]:
    """What a page says of a thing of that name, if it is the thing's own page; else nothing."""
    text = re.sub(rf"{OLD}\d+: ", "", UPDATED.sub("", page.text)).strip()
    for kind, said in stated(page.title, text):
        if kind == TABLES[question.table].kind and name in (page.title, said["name"], said.get("alias")):
            return said
    return {}


def kept(candidate: Row, condition: Condition, strict: bool) -> bool:
    """Whether a row is not ruled out. strict: what is not known of it rules it out."""
    value = candidate.value(condition.relation)
    if not value:
        return not strict
    number = number_in(value)
    if not condition.value[:1].isdigit():
        return LIMITS[condition.test](plain(value), plain(condition.value))
    return not strict if number is None else LIMITS[condition.test](number, float(condition.value))


def narrowed(rows: Sequence[Row], question: Meaning) -> list[Row]:
    """The rows that meet the conditions; what has been looked for and not found rules a row out."""
    known = {relation for candidate in rows for relation in candidate.facts}
    tests = question.conditions
    return [candidate for candidate in rows if all(kept(candidate, test, test.relation in known) for test in tests)]


def computed(rows: Sequence[Row], whole: int, question: Meaning) -> list[str]:
    """The items that a computation over rows comes to. whole: how many rows there were before any was left out."""
    if question.verb == "count":
        return [f"count: {len(rows)}"]
    if question.verb == "share":
        return [f"share: {tidy(100 * len(rows) / whole)}"] if whole else []
    measured = [(number, one) for one in rows if (number := number_in(one.value(question.measure))) is not None]
    if not measured:
        return []
    numbers = [number for number, _ in measured]
    if question.verb in ("most", "least"):
        best = (max if question.verb == "most" else min)(numbers)
        return [one.line for number, one in measured if number == best]
    result = {"sum": sum(numbers), "mean": mean(numbers), "gap": max(numbers) - min(numbers)}.get(question.verb, 0)
    return [f"{question.verb}: {tidy(result)}"]


def number_in(text: str) -> float | None:
    found = re.search(r"-?\d[\d,]*(?:\.\d+)?", text)
    return float(found[0].replace(",", "")) if found else None


def plain(text: str) -> str:
    """A day, a kind or a number, for comparison."""
    return text.strip().lower().replace(",", "")


def tidy(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


def as_object(candidate: Row, keys: Mapping[str, str]) -> dict[str, Any]:
    """A row as the object that a question asks for; amounts as numbers."""
    return {
        key: candidate.name if relation == "name" else amount(candidate.value(relation))
        for key, relation in keys.items()
    }


def amount(text: str) -> Any:
    number = number_in(text) if re.fullmatch(r"[\d,.]+(?: \w+)?", text) else None
    return text if number is None else int(number) if number == int(number) else number
