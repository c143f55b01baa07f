"""Reader of questions over the synthetic web: which list, which conditions on its rows, what is asked of the rest.

What the stand-in for a model knows of English and of the lists of `worlds.web`. Written on the writing templates and on
general English; reporting templates are not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from standins.encyclopedia.questions import names_in
from standins.sdp.assistantbench.conditions import Condition, conditions, numeric, spoken_of
from standins.sdp.assistantbench.mentions import CLAUSES, Mention, lexicon, mentions, until
from worlds.encyclopedia import DAYS, MONTHS, SERVICES
from worlds.web.tables import TABLES

QUOTED = r"(?<!\w)[\"“'‘`](\w[^\"”'’`]{0,30})[\"”'’`](?!\w)"
ASKED_FORM = r"json|\bkeys?\b|\bfields?\b|\bobjects?\b|\battributes\b|\bproperties\b"
KEYS = re.compile(r"\b(?:keys|fields|attributes|properties)\b(?: called| named| are|:)* ((?:\w+,? (?:and )?){0,5}\w+)")
STARTER = re.compile(r"(?:(?<=[.?!:;] )|(?<=[\"“‘(])|^)[A-Z][\w'-]*")
# What stands behind a verb that begins a sentence, and not behind a name.
ORDERED = re.compile(
    r" (?:me|us|the|an?|all|every|each|any|only|those|these|both|my|your|them|whether|which|what|how)\b"
)
PLACE_WORDS = re.compile(r" (?:of|to|at|in)(?: the)? (?=[A-Z])")
STEMS = {  # what the title of a list has, besides the place
    "museums": "museum", "festivals": "festival", "businesses": "", "universities": "universit", "towns": "town",
    "films": "film", "albums": "album", "novels": "novel",
}  # fmt: skip
AMOUNT = 4  # words after "how many" within which a unit stands
NUMBERS = ("count", "share", "sum", "mean", "gap")  # verbs that come to a number


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
    keys, body = _form(_plain(question))
    names, text = _named(body)
    said = mentions(text)
    table, place = _list(said, names)
    if not table:
        return None
    relations = (*TABLES[table].columns, *TABLES[table].details)
    amount = _amount(text, said, numeric(relations))
    found = [
        one._replace(condition=one.condition._replace(value=_name(one.condition.value, names)))
        for one in conditions(text, said, relations, amount)
    ]
    told = (one.condition for one in found if one.condition.value not in (place, *MONTHS))
    left = [one for one in said if not any(one in each.by for each in found)]
    verb, measure = _asked(left, amount, relations, bool(keys))
    known = {key: _of_key(key, relations, table) for key in keys}
    return Reading(question, table, place, tuple(dict.fromkeys(told)), verb, measure, known)


def _plain(question: str) -> str:
    """With one kind of blanks, apostrophes and dollars, and units apart from their numbers."""
    text = re.sub(r"\s+", " ", question.replace("’", "'")).strip()
    text = re.sub(r"(?:US ?)?\$ ?(\d[\d,]*(?:\.\d+)?)", r"\1 dollars", text)
    return re.sub(r"(?<=\d)(?:-(?=[a-z])|(?=(?:m|min|mins)\b))", " ", text).replace("%", " per cent ")


def _form(text: str) -> tuple[list[str], str]:
    """The keys of the objects that are asked for, and the question without them."""
    form = re.search(ASKED_FORM, text, re.IGNORECASE)
    if form is None:
        return [], text
    keys = [one[1] for one in re.finditer(QUOTED, text) if one.start() > form.start() or one[1].islower()]
    if not keys and (bare := KEYS.search(text)):
        keys = re.findall(r"\b(?!and\b)\w+", bare[1])
        text = text.replace(bare[1], "")
    quoted = "|".join(map(re.escape, keys)) or "$^"
    return keys, re.sub(rf"[\"“'‘`](?:{quoted})[\"”'’`]|{ASKED_FORM}", "", text, flags=re.IGNORECASE)


def _named(body: str) -> tuple[list[str], str]:
    """The names in a question, and the question in lower case with _0_ for the first of them, and so on."""
    body = body.replace("_", " ")
    known = {one.start: one.text for one in mentions(body.lower()) if not one.of("value")}
    english = rf"{lexicon()['starters']}|\w+(?:ing|ed|ly|tion)"
    for word in STARTER.finditer(body):
        if word.start() in known or re.fullmatch(english, word[0].lower()) or ORDERED.match(body, word.end()):
            body = body[: word.start()] + word[0].lower() + body[word.end() :]
    body = re.sub(rf"\b(?:{'|'.join(DAYS)})|\bI\b|\bMay(?= (?:I|we|you)\b)", lambda word: word[0].lower(), body)
    found = (part for name in names_in(body) for part in PLACE_WORDS.split(name) if part[0].isupper())
    names = list(dict.fromkeys(name.removeprefix("The ") for name in found if name.lower() not in known.values()))
    for name in sorted(names, key=len, reverse=True):
        body = re.sub(rf"\b{re.escape(name)}(?!\w)", f"_{names.index(name)}_", body)
    return names, re.sub(r"([.?!;:,()–—])(?!\d)", r" \1 ", body.lower())


def _name(value: str, names: Sequence[str]) -> str:
    return names[int(value.strip("_"))] if value.startswith("_") else value


def _list(said: Sequence[Mention], names: Sequence[str]) -> tuple[str, str]:
    """The table that is asked about, and what its rows share: of all that may be meant, the first that has a place."""
    makers = lexicon()["makers"].items()
    made = [table for table, ends in makers if any(re.search(rf" (?:{ends})$", one) for one in names)]
    # "The town" of something may be said of a museum; a noun of its own counts before it.
    nouns = sorted((table for one in said for table in one.names("nouns")), key=lambda table: table == "towns")
    counted = {each for one in said for each in one.names("units")}
    units = [name for name, table in TABLES.items() if counted & {*table.details}]
    # A month makes a festival and a decade a museum where no noun says what rows are.
    tables = [*made, *nouns, "festivals", "museums", *units]
    placed = ((table, place) for table in tables if (place := _place(table, said, names)))
    return next(placed, (nouns[0], "") if nouns else ("", ""))


def _place(table: str, said: Sequence[Mention], names: Sequence[str]) -> str:
    if table == "museums":
        decades = (one.text for one in said if "decade" in one.names("value"))
        return next((f"the {one.removeprefix('the ')}" for one in decades), "")
    if table == "businesses":
        nouns = (one.text.removesuffix("s") for one in said if table in one.names("nouns"))
        return next((f"{one}s" for one in nouns if one in SERVICES), "")
    if table == "festivals":
        return next((one for one in names if one in MONTHS), "")
    others = [one for one in names if one not in MONTHS]
    makers = [one for one in others if re.search(rf" (?:{lexicon()['makers'].get(table, '$^')})$", one)]
    return next(iter([*makers, *others]), "")


def _amount(text: str, said: Sequence[Mention], numbers: Sequence[str]) -> list[Mention]:
    """The unit of what "how many" asks for, where it does not ask for rows."""
    for place, one in enumerate(said):
        for each in until(said[place + 1 :], CLAUSES) if "many" in one.names("asks") else ():
            if each.of("nouns", "value") or len(text[one.end : each.start].split()) > AMOUNT:
                break
            if set(each.names("units")) & set(numbers):
                return [each]
    return []


def _asked(left: Sequence[Mention], amount: Sequence[Mention], relations: Sequence[str], keys: bool) -> tuple[str, str]:
    """What is done with the rows that are left, and with which relation."""
    extremes = list(_extremes(left, relations))
    ways = {way for way, _ in extremes}
    asks = {name for one in left for name in one.names("asks")}
    amounts = [one for one in numeric(relations) if one not in ("founded", "year")]
    if ranked := _ranked(left, numeric(relations)):
        return ranked
    if keys:
        return extremes[0] if extremes else ("json", "")
    if "share" in asks:
        return "share", ""
    if "mean" in asks and len(ways) < 2:
        return "mean", _measure(left, amount, amounts, "mean")
    if "gap" in asks or len(ways) == 2 or _compares(left):
        behind = _behind(left, "gap", numeric(relations))
        return "gap", behind or _measure(left, amount, numeric(relations), "gap", [one for _, one in extremes[::-1]])
    if amount:
        return "sum", _measure(left, amount, amounts, "sum")
    if _counts(left):
        return "count", ""
    if extremes:
        return extremes[0]
    money = any({"ticket", "price"} & set(spoken_of(one)) for one in left)
    asking = any(one.text in ("what", "how much") for one in left)
    if asks & {"much", "sum"} or ("each" in asks and money and asking):
        return "sum", _measure(left, amount, amounts, "sum")
    return "names", ""


def _compares(left: Sequence[Mention]) -> bool:
    """Whether it asks how much more one is than another."""
    for place, one in enumerate(left):
        near = takewhile(lambda each: not each.of("nouns"), left[place + 1 : place + 3])
        if "many" in one.names("asks") and any(each.of("comparative") for each in near):
            return True
    return False


def _counts(left: Sequence[Mention]) -> bool:
    """Whether it asks for the number of rows."""
    for place, one in enumerate(left):
        if one.text == "how much":
            continue
        if "many" in one.names("asks"):
            return True
        if "number" in one.names("asks"):
            behind = next(iter(left[place + 1 :]), None)
            return behind is None or behind.of("nouns", "value") or not spoken_of(behind)
    return False


def _extremes(left: Sequence[Mention], relations: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The superlatives of a question, each with the relation that it is about."""
    for place, one in enumerate(left):
        for way, about in one.ways("superlative"):
            fit = [each for each in about if each in relations]
            sides = [until(left[place + 1 :], CLAUSES), until(left[:place][::-1], CLAUSES)]
            said = [set(spoken_of(each)) for side in sides for each in side]
            near = (each for words in said for each in fit if each in words)
            if fit:
                yield way, next(near, fit[0])
                break


def _ranked(left: Sequence[Mention], fit: Collection[str]) -> tuple[str, str] | None:
    """The first or the last in an order: years rise where it is not said, amounts fall; None where neither is asked."""
    place = next((turn for turn, one in enumerate(left) if "order" in one.names("asks")), len(left))
    behind = left[place + 1 :]
    measure = next((each for one in behind for each in spoken_of(one) if each in fit), "")
    asks = {name for one in behind for name in one.names("asks")}
    if not measure or not asks & {"front", "back"} or asks & {"many", "number", "share", "mean", "sum"}:
        return None
    named = (one for one in behind if not {"front", "back"} & {*one.names("asks")})
    ways = (way for one in named for way, about in one.ways("superlative") if measure in about)
    falling = next(ways, "least" if measure in ("founded", "year") or "rising" in asks else "most") == "most"
    return ("most" if falling != ("back" in asks) else "least"), measure


def _behind(left: Sequence[Mention], ask: str, fit: Collection[str]) -> str:
    """What stands right behind the words that ask: "elevation" in "the difference in elevation"."""
    places = [place for place, one in enumerate(left) if ask in one.names("asks")]
    near = (each for place in places for one in left[place + 1 : place + 2] for each in spoken_of(one) if each in fit)
    return next(near, "")


def _measure(
    left: Sequence[Mention], amount: Sequence[Mention], fit: Sequence[str], ask: str, also: Sequence[str] = ()
) -> str:
    """The relation to compute with: of "how many", of superlatives, or the nearest to the words that ask."""
    cues = [one.start for one in left if {ask, "many"} & {*one.names("asks")}] or [0]
    near = sorted(left, key=lambda one: min(abs(one.start - cue) for cue in cues))
    named = [each for one in amount for each in one.names("units")]
    spoken = [each for one in near for each in spoken_of(one)]
    return next((one for one in [*named, *also, *spoken, *fit] if one in fit), "")


def _of_key(key: str, relations: Sequence[str], table: str) -> str:
    """What a key of the objects asked for is of."""
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])|[_-]", " ", key).lower()
    said = mentions(plain)
    if any(table in one.names("nouns") for one in said) or re.search(rf"\b(?:{lexicon()['names']['name']})\b", plain):
        return "name"
    exact = [one for one in relations if one in plain]
    return next(iter([*exact, *(each for one in said for each in spoken_of(one) if each in relations)]), "name")
