"""Reader of conditions: of each value that a question holds, what it is of and how it limits.

A value's condition is what stands around it: a limit or a comparative before it, or a limit behind it; a unit behind
it or the nearest word for a relation; and words that deny it or leave out what fulfils it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from standins.sdp.assistantbench.mentions import CLAUSES, COMMAS, ENDS, Mention, lexicon, until

DENIED = {"below": "from", "from": "below", "above": "to", "to": "above", "is": "isnt", "isnt": "is"}
LIMIT_OF = {"most": "above", "least": "below"}
YEAR = re.compile(r"1\d{3}|20\d\d")  # amounts of four digits have a comma
JOINED = re.compile(r"(?: [a-z]+)?(?: (?:and|to|till|until|through) |\s?[-–]\s?)(?:the year )?")
TOLD = ("units", "words", "denials", "behind")
THEN = re.compile(r" (?:then|today|that day)\b")
NEAR, NEAREST = 25, 12  # characters between a limit and its number, a word and a number that nothing limits


class Condition(NamedTuple):
    """relation: "" for a name of which it is not said what it is. test: "to" (at most), or as in
    `scripts.web.tables`.
    """

    relation: str
    test: str
    value: str


class Found(NamedTuple):
    """A condition, and the mentions that say it."""

    condition: Condition
    by: frozenset[Mention]


def numeric(relations: Sequence[str]) -> list[str]:
    """The relations whose values are numbers."""
    counted = {each for names in lexicon()["units"] for each in names.split()}
    return [one for one in relations if one in counted]


def conditions(text: str, said: Sequence[Mention], relations: Sequence[str], kept: Collection[Mention]) -> list[Found]:
    """The conditions of a question. kept: mentions that ask for something, and are part of no condition."""
    found = list[Found]()
    for place, one in enumerate(said):
        kinds = one.names("value")
        if "number" in kinds:
            last = found[-1] if found else None
            found += filter(None, [_on_number(text, said, place, relations, last, kept)])
        elif "day" in kinds and "closed" in relations:
            found.append(_on_day(text, said, place))
        elif "decade" in kinds and (years := [each for each in ("founded", "year") if each in relations]):
            start = int(re.sub(r"\D", "", one.text))
            pair = (("from", start), ("below", start + 10))
            found += [Found(Condition(years[0], test, str(year)), frozenset([one])) for test, year in pair]
        elif {"genre", "style"} & {*kinds} & {*relations} or "name" in kinds:
            relation, value = kinds if len(kinds) == 2 else ("", one.text)
            test = "isnt" if denied(said, place, place) else "is"
            found.append(Found(Condition(relation, test, value), frozenset([one])))
    said_twice = {one.condition._replace(test="is") for one in found if one.condition.test not in ("is", "isnt")}
    return [one for one in found if one.condition not in said_twice]


def denied(said: Sequence[Mention], first: int, last: int) -> bool:
    """Whether what is said from `first` to `last` is denied, or what fulfils it left out."""
    before = [one for one in until(said[:first][::-1], CLAUSES)]
    values = next((turn for turn, one in enumerate(before) if one.of("value")), len(before))
    within = [one for one in said[first : last + 1] if not one.breaks(CLAUSES)]
    nots = sum("not" in one.names("denials") for one in [*before[:values], *within])
    out = _left_out(said[: last + 1])
    aside = any("aside" in one.names("denials") for one in until(said[last + 1 :], COMMAS))
    return (nots + (out or aside)) % 2 == 1


def _left_out(said: Sequence[Mention]) -> bool:
    """Whether the last of what is said is left out; "and" and "but" behind another value end what is."""
    joined = False
    for one in until(said[::-1], COMMAS):
        if "out" in one.names("denials"):
            return True
        if joined and one.of("value"):
            return False
        joined = joined or one.text in ("and", "but")
    return False


def _around(said: Sequence[Mention], place: int) -> tuple[list[Mention], list[Mention]]:
    """What stands before a value, nearest first, and behind it: in its sentence and up to other values."""
    before, behind = until(said[:place][::-1], ENDS), until(said[place + 1 :], ENDS)
    return list(_to_value(before)), list(_to_value(behind))


def _to_value(said: Iterator[Mention]) -> Iterator[Mention]:
    for one in said:
        if one.of("value"):
            return
        yield one


def _on_day(text: str, said: Sequence[Mention], place: int) -> Found:
    before, behind = _around(said, place)
    later = [one for one in said if THEN.match(text, one.end)]
    around = (*later, *until(before, CLAUSES), *until(behind, CLAUSES), *before, *behind, *said)
    spoken = [one for one in around if one.of("days")]
    by = spoken[0] if spoken else said[place]
    near = by in (*before, *behind)
    first, last = sorted((place if near else said.index(by), said.index(by)))
    shut = "closed" in by.names("days")
    test = "is" if shut != denied(said, first, last) else "isnt"
    return Found(Condition("closed", test, said[place].names("value")[1]), frozenset([said[place], by]))


def _on_number(
    text: str,
    said: Sequence[Mention],
    place: int,
    relations: Sequence[str],
    last: Found | None,
    kept: Collection[Mention],
) -> Found | None:
    one, (before, behind) = said[place], _around(said, place)
    value = one.text.replace(",", "")
    if last and _joins(text, last, one):
        return Found(Condition(last.condition.relation, "to", value), frozenset([one, *_units(text, one, behind)]))
    other = next((each for each in said[place + 1 :] if each.of("value")), one)
    ranges = _range(text, one, other)
    after = _around(said, said.index(other))[1] if ranges else behind
    units = [each for each in _units(text, other if ranges else one, after) if set(each.names("units")) & {*relations}]
    test, by, ways = _limit(text, one, before, behind)
    if not (by or ranges or _amount(one, units, before)):
        return None
    relation = _relation(one.text, relations, units, ways, before, behind)
    if ways:
        way = next((way for way, about in ways if relation in about), ways[0][0])
        test = LIMIT_OF[way]
    elif ranges or test == "between":
        test = "from"
    first = min([said.index(each) for each in by] + [place])
    if denied(said, first, first):
        test = DENIED[test]
    return Found(Condition(relation, test, value), frozenset({one, *by, *units, *_told(said, first, place, kept)}))


def _amount(one: Mention, units: Sequence[Mention], before: Sequence[Mention]) -> bool:
    """Whether a number that nothing limits is a year or an amount of something, and not "2" of "2 children"."""
    counted = any({"founded", "year"}.isdisjoint(each.names("units")) for each in units)
    near = any(one.start - each.end <= NEAREST and each.of("words") for each in before[:1])
    return bool(YEAR.fullmatch(one.text)) or counted or near


def _range(text: str, one: Mention, other: Mention) -> bool:
    return "number" in other.names("value") and bool(JOINED.fullmatch(text[one.end : other.start]))


def _joins(text: str, last: Found, one: Mention) -> bool:
    numbers = (each for each in last.by if "number" in each.names("value"))
    return last.condition.test == "from" and any(_range(text, each, one) for each in numbers)


def _units(text: str, one: Mention, behind: Sequence[Mention]) -> list[Mention]:
    """The unit of a number, which stands behind it, with a word between at most."""
    unit = next((each for each in behind if not each.of("behind", "words") or each.of("units")), None)
    near = unit and unit.of("units") and re.fullmatch(r"[\s-]*(?:[\w-]+ ){0,2}", text[one.end : unit.start])
    return [unit] if unit and near else []


def _limit(
    text: str, one: Mention, before: Sequence[Mention], behind: Sequence[Mention]
) -> tuple[str, list[Mention], list[tuple[str, list[str]]]]:
    """How a number limits: the test, the mentions that say so, and the ways of a comparative."""
    for each in behind:
        if each.of("behind") and len(text[one.end : each.start].split()) <= 3:
            return each.names("behind")[0], [each], []
        if not each.of("units", "words", "behind"):
            break
    for turn, each in enumerate(before):
        if one.start - each.end > NEAR or each.breaks(COMMAS) or each.of("nouns"):
            break
        if "than" in each.names("limits"):
            compared = (other for other in until(before[turn + 1 :], COMMAS) if other.of("comparative"))
            if found := next(compared, None):
                return "is", [each, found], found.ways("comparative")
        elif each.of("limits"):
            return each.names("limits")[0], [each], []
    return "is", [], []


def _relation(
    number: str,
    relations: Sequence[str],
    units: Sequence[Mention],
    ways: Sequence[tuple[str, list[str]]],
    before: Sequence[Mention],
    behind: Sequence[Mention],
) -> str:
    """What a number is of: by its unit, its form, an adjective with one meaning, the nearest word, or any adjective."""
    fit = numeric(relations)
    years = [one for one in fit if one in ("founded", "year")]
    counted = [one for unit in units for one in unit.names("units") if one in fit and one not in years]
    if not counted and years:
        fit = years if YEAR.fullmatch(number) else [one for one in fit if one not in years] or fit
    elif counted:
        fit = [one for one in fit if one in counted]
    about = [one for _, each in ways for one in each if one in fit]
    near = [one for each in (*until(before, COMMAS), *until(behind, CLAUSES)) for one in spoken_of(each) if one in fit]
    if len(set(about)) == 1:
        return about[0]
    return next(iter([*near, *about, *fit]), "")


def spoken_of(one: Mention) -> tuple[str, ...]:
    """The relations that words may speak of."""
    return (*one.names("units"), *one.names("words"))


def _told(said: Sequence[Mention], first: int, last: int, kept: Collection[Mention]) -> Iterator[Mention]:
    """The words for a relation on both sides of a condition, which are a part of it."""
    for side in (said[:first][::-1], said[last + 1 :]):
        part = list[Mention]()
        for one in side:
            number = part and part[-1].of("units", "words") and "number" in one.names("asks")  # as in "number of pages"
            if one in kept or one.of("nouns", "superlative") or not (number or one.of(*TOLD) and not one.of("asks")):
                # "charges" is a part of what follows in "above 20 dollars charges the most".
                yield from part[:-1] if one.of("superlative") and one.start > said[last].start else part
                break
            part.append(one)
        else:
            yield from part
