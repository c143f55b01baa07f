"""The meaning of questions over the synthetic web, and candidates with their facts, read from its pages.

A question's meaning is looked up by its text in `data/synthetic/web/questions.jsonl`, where `scripts.web.questions`
wrote it.
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
OLD = "As of the end of "  # the beginning of an outdated page of the synthetic web
UPDATED = re.compile(r"^Last updated: .*\n?", re.MULTILINE)
STEMS = {  # table -> what the title of its list contains, besides the place
    "museums": "museum", "festivals": "festival", "businesses": "", "universities": "universit", "towns": "town",
    "films": "film", "albums": "album", "novels": "novel",
}  # fmt: skip
OPEN = "?"
LIMITS: Mapping[str, Callable[[Any, Any], bool]] = {"below": lt, "above": gt, "from": ge, "is": eq, "isnt": ne}


class Condition(NamedTuple):
    """A condition on rows. test: as in `scripts.web.tables`."""

    relation: str
    test: str
    value: str


class Meaning(NamedTuple):
    """What a question means.

    table: of `worlds.web.tables`. place: what its rows share. verb, measure: what is asked about the rows that meet the
    conditions; measure is a relation, or "". keys: key -> the relation, or "name", that is its value.
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
        """The relations in question for which lists of this table have no column."""
        asked = (*(condition.relation for condition in self.conditions), self.measure, *self.keys.values())
        return tuple(relation for relation in dict.fromkeys(asked) if relation in TABLES[self.table].details)

    @property
    def query(self) -> str:
        """The search query that finds the list."""
        return self.place if self.table == "businesses" else f"{self.table} {self.place}"

    def lists(self, title: str) -> bool:
        """Whether a title may be the list's: all names in it are in the question."""
        subject = title.partition(" ")[2]
        if self.table == "businesses":
            return subject.endswith(self.place)
        named = [word.lower() for word in subject.split() if word[0].isupper() or word[0].isdigit()]
        words = set(re.findall(r"[\w-]+", self.question.lower()))
        return STEMS[self.table] in title.lower() and bool(named) and all(word in words for word in named)


def meaning(question: str) -> Meaning:
    """What a synthetic question means. Raises NoRule for any other question."""
    try:
        return _meanings()[question]
    except KeyError:
        raise NoRule(
            f"Rules know what the questions of data/synthetic/{QUESTIONS} mean, and no other one: {question!r}. "
            "Use a model as engine"
        ) from None


@cache
def _meanings() -> Mapping[str, Meaning]:
    meanings = dict[str, Meaning]()
    for entry in read_rows(QUESTIONS):
        meant, question = entry["meaning"], entry["question"]
        verb, _, measure = meant["take"].partition(" ")
        conditions = tuple(Condition(*condition) for condition in meant["where"])
        meanings[question] = Meaning(question, meant["table"], meant["place"], conditions, verb, measure, meant["keys"])
    return meanings


@dataclass(frozen=True)
class Row:
    """A candidate. facts: relation -> its value as pages write it, OPEN if none was found.

    doubtful: the relations whose values are uncertain; "name" for the whole row.
    """

    name: str
    facts: Mapping[str, str] = field(default_factory=dict)
    doubtful: frozenset[str] = frozenset()

    @property
    def line(self) -> str:
        parts = [
            f"{relation} {value}" + f" {UNCERTAIN}" * (relation in self.doubtful)
            for relation, value in self.facts.items()
        ]
        return f"{self.name}: {'; '.join(parts)}" + f" {UNCERTAIN}" * ("name" in self.doubtful)

    def value(self, relation: str) -> str:
        """The known value of a relation; "" if there is none."""
        text = self.facts.get(relation, "")
        return "" if text == OPEN else text


def row(item: str) -> Row:
    """Read an item; a name alone is a row without facts."""
    all_doubtful = item.endswith(f"; {UNCERTAIN}")
    name, _, fact_texts = item.partition(": ")
    facts, doubtful = dict[str, str](), set[str]()
    for fact in fact_texts.split("; ") if fact_texts else []:
        if fact == UNCERTAIN:
            continue
        relation, _, value = fact.partition(" ")
        if UNCERTAIN in value:
            doubtful.add(relation)
        facts[relation] = value.replace(UNCERTAIN, "").strip()
    return Row(name.strip(), facts, frozenset(doubtful | ({"name"} if all_doubtful else set())))


def rows_of(pages: Sequence[PageText], question: Meaning) -> list[Row]:
    """The rows of the list that the question asks about.

    If no up-to-date page was read, all their facts are doubtful.
    """
    lists = [page for page in pages if question.lists(page.title) and table(page.text)]
    current = [page for page in lists if not old(page)]
    if current:
        return table(current[0].text)
    return [Row(entry.name, entry.facts, frozenset(entry.facts)) for page in lists[:1] for entry in table(page.text)]


def old(page: PageText) -> bool:
    return OLD in page.text


def table(text: str) -> list[Row]:
    """The first Markdown table of a page, with its headings as relations."""
    lines = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in text.split("\n") if "|" in line]
    headings, *lines_below = lines or [[]]
    relations = [relation_of(heading) for heading in headings[1:]]
    body = (cells for cells in lines_below if set("".join(cells)) - set("-: ") and len(cells) == len(headings))
    return [Row(cells[0], dict(zip(relations, cells[1:], strict=True))) for cells in body]


def relation_of(heading: str) -> str:
    known = {words: relation for relation, words in HEADINGS.items()}
    return known.get(heading) or ("price" if heading.startswith("Price") else heading.split(" ")[0].lower() or OPEN)


def with_details(candidate: Row, pages: Sequence[PageText], question: Meaning, force: bool) -> Row:
    """A row with the facts from its own page. force: do not mark gaps."""
    facts, doubtful = dict(candidate.facts), set(candidate.doubtful)
    for relation in question.details:
        values = {
            old(page): page_facts[relation]
            for page in reversed(pages)
            if relation in (page_facts := article(page, candidate.name, question))
        }
        value = values.get(False) or values.get(True)
        if value is None and force:
            continue
        facts[relation] = value or OPEN
        if False not in values and not force:
            doubtful.add(relation)
    return Row(candidate.name, facts, frozenset(doubtful))


def article(page: PageText, name: str, question: Meaning) -> Mapping[str, str]:
    """A page's facts about a thing of that name, if it is the thing's own page; else empty."""
    text = re.sub(rf"{OLD}\d+: ", "", UPDATED.sub("", page.text)).strip()
    for kind, facts in stated(page.title, text):
        if kind == TABLES[question.table].kind and name in (page.title, facts["name"], facts.get("alias")):
            return facts
    return {}


def kept(candidate: Row, condition: Condition, strict: bool) -> bool:
    """Whether a row may meet the condition. strict: an unknown value does not."""
    value = candidate.value(condition.relation)
    if not value:
        return not strict
    number = number_in(value)
    if not condition.value[:1].isdigit():
        return LIMITS[condition.test](plain(value), plain(condition.value))
    return not strict if number is None else LIMITS[condition.test](number, float(condition.value))


def narrowed(rows: Sequence[Row], question: Meaning) -> list[Row]:
    """The rows that meet the conditions. A value that was searched for and not found excludes a row."""
    known = {relation for candidate in rows for relation in candidate.facts}
    tests = question.conditions
    return [candidate for candidate in rows if all(kept(candidate, test, test.relation in known) for test in tests)]


def computed(rows: Sequence[Row], whole: int, question: Meaning) -> list[str]:
    """The items in which a computation over rows results. whole: how many rows there were before any was excluded."""
    if question.verb == "count":
        return [f"count: {len(rows)}"]
    if question.verb == "share":
        return [f"share: {tidy(100 * len(rows) / whole)}"] if whole else []
    measured = [(number, r) for r in rows if (number := number_in(r.value(question.measure))) is not None]
    if not measured:
        return []
    numbers = [number for number, _ in measured]
    if question.verb in ("most", "least"):
        best = (max if question.verb == "most" else min)(numbers)
        return [r.line for number, r in measured if number == best]
    result = {"sum": sum(numbers), "mean": mean(numbers), "gap": max(numbers) - min(numbers)}.get(question.verb, 0)
    return [f"{question.verb}: {tidy(result)}"]


def number_in(text: str) -> float | None:
    match = re.search(r"-?\d[\d,]*(?:\.\d+)?", text)
    return float(match[0].replace(",", "")) if match else None


def plain(text: str) -> str:
    """A date, a kind or a number, normalised for comparison."""
    return text.strip().lower().replace(",", "")


def tidy(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


def as_object(candidate: Row, keys: Mapping[str, str]) -> dict[str, Any]:
    """A row as the JSON object that the question asks for, with amounts as numbers."""
    return {
        key: candidate.name if relation == "name" else amount(candidate.value(relation))
        for key, relation in keys.items()
    }


def amount(text: str) -> Any:
    number = number_in(text) if re.fullmatch(r"[\d,.]+(?: \w+)?", text) else None
    return text if number is None else int(number) if number == int(number) else number
