"""Reader of questions over the made web: which list, which conditions on its rows, and what is asked of those left.

What the stand-in for a model knows of English and of the lists of `worlds.web`. Written on the writing templates and on
a dictionary; the reporting templates are not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from sdp.adapters.assistantbench.lexicon import (
    ABOVE,
    AMOUNTS,
    BELOW,
    BILL,
    CLAUSE,
    COUNT,
    EXTREMES,
    FROM,
    FROM_BEHIND,
    GAP,
    LEADING,
    MAKERS,
    MEAN,
    MEASURES,
    NOT,
    NOUNS,
    NUMBER,
    PRONOUNS,
    QUOTED,
    SAME_NAME,
    SHARE,
    STEMS,
    SUM,
    UNITS_OF,
    WORDS,
)
from worlds.encyclopedia.reading.questions import names_in
from worlds.encyclopedia.relations import DAYS, GENRES, MONTHS, SERVICES, STYLES
from worlds.web.tables import TABLES


class Condition(NamedTuple):
    """relation: "" for a name of which it is not said what it is. test: as in `worlds.web.templates`."""

    relation: str
    test: str
    value: str


class Reading(NamedTuple):
    """table: of `worlds.web.tables`. place: what its rows share, as the question has it. measure: a relation, or "".

    keys: key -> what it is of, a relation or "name".
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
        asked = (*(one.relation for one in self.conditions), self.measure, *self.keys.values())
        return tuple(one for one in dict.fromkeys(asked) if one in TABLES[self.table].details)

    @property
    def query(self) -> str:
        """What to look for the list with."""
        return self.place if self.table == "businesses" else f"{self.table} {self.place}"

    def lists(self, title: str) -> bool:
        """Whether a title is that of the list."""
        rest = title.partition(" ")[2]
        if self.table == "businesses":
            return self.place in rest.split(" ")[-2:] or rest.endswith(self.place)
        # All that a title names has to stand in the question, however the reader took its names apart.
        named = [word.lower() for word in rest.split() if word[0].isupper() or word[0].isdigit()]
        said = set(re.findall(r"[\w-]+", self.question.lower()))
        return STEMS[self.table] in title.lower() and bool(named) and all(word in said for word in named)


@lru_cache(maxsize=4096)
def read(question: str) -> Reading | None:
    """The question as it is understood; None where not even its list is."""
    form = " ".join(one for one in re.split(r"(?<=[.?!:]) ", question) if re.search("json", one, re.IGNORECASE))
    keys = [one.strip() for one in re.findall(QUOTED, form)]
    body = _without_form(re.sub(r"\s+", " ", question))
    names = [one for one in dict.fromkeys(names_in(body)) if one not in PRONOUNS]
    plain = _without(body, names)
    table = _table(plain, names)
    if table is None:
        return None
    place, others = _place(table, plain, names)
    relations = (*TABLES[table].columns, *TABLES[table].details)
    found, rest = _conditions(table, relations, plain.replace(place, " ") if place[:1].islower() else plain)
    found += [Condition("", "isnt" if _negated(body, one) else "is", one) for one in others]
    verb, measure = _asked(rest, relations, table, bool(keys))
    return Reading(
        question, table, place, tuple(found), verb, measure, {key: _of_key(key, relations, table) for key in keys}
    )


def _without_form(question: str) -> str:
    """The question without how it is to be answered, which is mostly a sentence of its own."""
    sentences = re.split(r"(?<=[.?!:]) ", question)
    asked = " ".join(one for one in sentences if "json" not in one.lower() and not re.search(QUOTED, one))
    return asked or re.sub(rf"{QUOTED}|json", "", question, flags=re.IGNORECASE)


def _without(body: str, names: list[str]) -> str:
    """The question in lower case, with its names taken out; days stay."""
    for name in sorted(names, key=len, reverse=True):
        if name.rstrip("s") not in DAYS:
            body = body.replace(name, "_")
    return body.lower()


def _table(plain: str, names: list[str]) -> str | None:
    first = [(match.start(), table) for table, noun in NOUNS.items() if (match := re.search(rf"\b(?:{noun})\b", plain))]
    if first:
        # "the town" of something may be said of a museum; a noun of its own counts before it.
        return min((place, table) for place, table in first if table != "towns" or len(first) == 1)[1]
    if any(name in MONTHS for name in names):
        return "festivals"
    made = next((table for table, words in MAKERS.items() if any(re.search(words, name) for name in names)), None)
    return made or next((table for table, word in UNITS_OF.items() if re.search(rf"\b{word}\b", plain)), None)


def _place(table: str, plain: str, names: list[str]) -> tuple[str, list[str]]:
    """What the list's title has of the question, and the other names."""
    names = [name.removeprefix("The ") for name in names if name.rstrip("s") not in DAYS]
    if table == "museums":
        decade = re.search(r"\b(?:the )?(\d{3}0s)\b", plain)
        return (f"the {decade[1]}" if decade else "museums"), [one for one in names if one not in MONTHS]
    if table == "businesses":
        service = next((one for one in SERVICES if re.search(rf"\b{one}s?\b", plain)), "")
        return f"{service}s", names
    if table == "festivals":
        return next((one for one in names if one in MONTHS), ""), [one for one in names if one not in MONTHS]
    return (names[0] if names else ""), names[1:]


def _conditions(table: str, relations: tuple[str, ...], plain: str) -> tuple[list[Condition], str]:
    """Conditions on numbers, days and kinds; and the question without them."""
    found: list[Condition] = []
    taken: list[tuple[int, int]] = []
    for match in NUMBER.finditer(plain):
        before, behind = plain[: match.start()], plain[match.end() :]
        if re.match(r"\W*(?:decimal|digit|place)", behind):  # how the answer is to be written
            continue
        test, start = _test(before, behind)
        clause = CLAUSE.split(before)[-1]
        next_one = re.split(r"[,;?]| and | but | that | which | with ", behind)[0]
        relation = _relation(match[0], clause, next_one, relations, test, before)
        if test == "is" and relation not in ("year", "founded"):  # nobody asks for an amount to the dollar
            test = "below" if relation in ("ticket", "price", "walk") else "above"
        found.append(Condition(relation, test, match[0].replace(",", "")))
        unit = re.match(r"\W*\w+(?: from the station| from a station)?", next_one)
        own = WORDS.get(relation) or "value"
        lead = re.search(rf"(?:(?<!\w)(?:{LEADING}|{own})\W+)*$", before[:start])
        begin = lead.start() if lead else start
        taken.append((begin, match.end() + (unit.end() if unit else 0)))
    for day in DAYS:
        if day_said := re.search(rf"\b{day.lower()}s?\b", plain):
            clause = re.split(r"[,;?]| and | but | that ", plain[: day_said.start()])[-1] + plain[day_said.end() :][:20]
            shut = bool(re.search(r"clos|shut|\boff\b|\brest", clause))
            found.append(Condition("closed", "is" if shut != bool(NOT.search(clause)) else "isnt", day))
            taken.append((day_said.start(), day_said.end()))
    for relation, kinds in (("genre", GENRES), ("style", STYLES)):
        for kind in kinds if relation in relations else ():
            if said := re.search(rf"\b{kind.removesuffix('y')}(?:y|ies|s|es)?\b", plain):
                negated = NOT.search(plain[max(0, said.start() - 20) : said.start()])
                found.append(Condition(relation, "isnt" if negated else "is", kind))
                taken.append((said.start(), said.end()))
    letters = [" " if any(start <= place < end for start, end in taken) else one for place, one in enumerate(plain)]
    return found, re.sub(r"\s+", " ", "".join(letters))


def _test(before: str, behind: str) -> tuple[str, int]:
    """How a number limits, and where that is said: the last words before it, unless something stands behind it."""
    near = len(before) - 45
    said = [
        (match.end(), match.start(), test)
        for test, words in (("below", BELOW), ("above", ABOVE), ("from", FROM))
        for match in re.finditer(rf"(?<!\w)(?:{words})(?!\w)", before)
        if match.start() >= near
    ]
    if re.match(FROM_BEHIND, behind):
        return "from", len(before)
    if re.match(r"\W*(?:\w+ )?(?:or (?:less|fewer|earlier|below|under|before|shorter))", behind):
        return "below", len(before)
    if not said:
        return ("isnt" if NOT.search(before[-15:]) else "is"), len(before)
    end, start, test = max(said, key=lambda one: (one[0], -one[1]))
    if NOT.search(before[max(0, start - 12) : start]) and test != "from":
        test = "from" if test == "below" else "below"
    return test, start


def _relation(number: str, clause: str, behind: str, relations: tuple[str, ...], test: str, before: str) -> str:
    """What a number is of: by the unit behind it, else by the words before it, else by its size."""
    unit = re.match(r"\W*((?:\w+\W+){0,3}\w*)", behind)
    words = unit[1] if unit else ""
    year = len(number) == 4 and number.isdigit() and 1000 <= int(number) <= 2100
    years = [one for one in ("founded", "year") if one in relations]
    units = {
        "runtime": r"minutes?|mins?", "walk": r"met(?:re|er)s?|m\b|steps", "elevation": r"met(?:re|er)s?|m\b",
        "population": r"inhabitants?|people|residents?|souls", "visitors": r"visitors?|people|guests?|attendees",
        "students": r"students?", "pages": r"pages?", "tracks": r"tracks?|songs?", "ticket": r"dollars?",
        "price": r"dollars?",
    }  # fmt: skip
    for relation, pattern in units.items():
        if relation in relations and re.match(rf"(?:\w+ )?(?:{pattern})\b", words):
            return relation
    if before.endswith("$"):
        return next((one for one in ("ticket", "price") if one in relations), "")
    if (
        year
        and years
        and not any(
            re.search(rf"\b(?:{WORDS[one]})\b", clause) for one in relations if one in units and one not in ("walk",)
        )
    ):
        return years[0]
    near = [
        (match.end(), relation)
        for relation in relations
        for match in re.finditer(rf"\b(?:{WORDS[relation]})(?!\w)", clause)
        if relation in units or relation in years
    ]
    if near:
        return max(near)[1]
    numeric = [one for one in relations if one in units]
    return years[0] if year and years else numeric[0] if numeric else ""


def _asked(rest: str, relations: tuple[str, ...], table: str, keys: bool) -> tuple[str, str]:
    """What is done with the rows that are left, and with which relation."""
    numbers = [one for one in relations if one not in ("closed", "town", "genre", "style", "performer", "author")]
    extremes = list(_extremes(rest, relations, numbers))
    if keys:  # objects are rows, and no numbers
        return extremes[0] if extremes else ("json", "")
    both = {verb for verb, _ in extremes} == {"most", "least"}
    average = re.search(rf"\b(?:{MEAN})\b", rest)
    if not average and (both or re.search(rf"\b(?:{GAP})\b", rest)):
        return "gap", (extremes[0][1] if extremes else "") or _measure(rest, numbers, GAP)
    if average:
        return "mean", _measure(rest, numbers, MEAN)
    if re.search(rf"(?:\b(?:{SHARE})(?!\w))|%", rest):
        return "share", ""
    counted = re.search(rf"\b(?:{COUNT})\b", rest)
    if counted and not re.match(rf"(?: \w+){{0,3}}? (?:{AMOUNTS})\b", rest[counted.end() :]):
        return "count", ""
    if re.search(rf"\b(?:{SUM})\b|{BILL}|how much|how many", rest):
        return "sum", _measure(rest, numbers, SUM)
    return extremes[0] if extremes else ("names", "")


def _extremes(rest: str, relations: tuple[str, ...], numbers: list[str]) -> Iterator[tuple[str, str]]:
    """The superlatives of a question, each with the relation that it is about."""
    seen = list[tuple[int, int]]()
    for words, (verb, about) in EXTREMES.items():
        for match in re.finditer(rf"(?<!at )(?<!at the )\b(?:{words})\b", rest):
            if any(start < match.end() and match.start() < end for start, end in seen):
                continue
            behind = re.match(r"[\s\w]{0,40}", rest[match.end() :])
            said = _first(behind[0] if behind else "", numbers) if len(about) > 3 else ""
            fits = [one for one in about if one in relations]
            if said or fits:
                seen.append(match.span())
                yield verb, said or fits[0]


def _measure(rest: str, numbers: list[str], cue: str) -> str:
    """The relation that is spoken of after "how many", else nearest behind the cue, else first of all."""
    places = [match.end() for match in re.finditer(rf"how many|how much|\b(?:{cue})\b", rest)]
    for place in [*places, 0]:
        if said := _first(rest[place : place + 60] if place else rest, numbers):
            return said
    return next((one for one in MEASURES if one in numbers), "")


def _first(text: str, numbers: list[str]) -> str:
    found = [
        (match.start(), relation)
        for relation in numbers
        if (match := re.search(rf"(?<!\w)(?:{WORDS[relation]})(?!\w)", text))
    ]
    return min(found)[1] if found else ""


def _negated(body: str, name: str) -> bool:
    return bool(NOT.search(body[: body.index(name)][-25:]))


def _of_key(key: str, relations: tuple[str, ...], table: str) -> str:
    """What a key of the objects asked for is of."""
    plain = key.lower().replace("_", " ")
    if re.search(rf"\b(?:{NOUNS[table]}|{SAME_NAME})\b", plain):
        return "name"
    return next(iter(_relations_in(plain, relations)), "name")


def _relations_in(text: str, relations: tuple[str, ...]) -> Iterator[str]:
    exact = [one for one in relations if one in text]
    yield from exact
    yield from (one for one in relations if re.search(rf"(?<!\w)(?:{WORDS[one]})(?!\w)", text))
