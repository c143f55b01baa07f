"""Validate for TravelPlanner: deterministic checks of the world's report against the head of the plan tail (A.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sdp.adapters.travelplanner import trip
from sdp.adapters.travelplanner.options import Search
from sdp.adapters.travelplanner.trip import Decision
from sdp.trajectory import Predicate
from worlds.travelplanner.hard import FORBIDDEN_WORDS, forbids, has_room_type
from worlds.travelplanner.itinerary import MEALS
from worlds.travelplanner.listings import Accommodation

About: TypeAlias = Mapping[str, Any]  # a predicate's `about`
Facts: TypeAlias = Mapping[str, Any]  # the facts of the world's report


@dataclass(frozen=True, slots=True)
class Report:
    """An observation: the decisions that the world checked, and its report on them.

    note: why nothing was checked. done: the itinerary was submitted. searches: those made for the decisions.
    """

    decisions: tuple[Decision, ...]
    text: str
    facts: Facts = field(default_factory=dict)
    note: str = ""
    done: bool = False
    searches: tuple[Search, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The report's text without the facts, which have the same content in typed form."""
        searches = [list(search) for search in self.searches]
        return {"searches": searches, "text": self.text, "note": self.note, "done": self.done}


def fault(target: Predicate, report: Report) -> str:
    """Why the report does not satisfy the predicate; "" if it does."""
    if report.note:
        return report.note
    return FAULTS[target.kind](target.about, report)


def _transport(about: About, report: Report) -> str:
    entry = report.facts["entries"][0]
    row, word = entry["row"], FORBIDDEN_WORDS.get(about["forbidden"] or "")
    if row is None:
        return _unlisted(entry)
    if (row["org"], row["dest"]) != (about["org"], about["dest"]) or row.get("date", about["date"]) != about["date"]:
        return f"{entry['text']} does not go from {about['org']} to {about['dest']} on {about['date']}"
    if word and word in entry["text"]:
        return f"the travellers want {about['forbidden']}"
    modes = set(report.facts["modes"])
    if "self-driving" in modes and len(modes) > 1:
        return f"self-driving cannot be combined with {', '.join(sorted(modes - {'self-driving'}))}"
    return _over(about, report.facts)


def _stay(about: About, report: Report) -> str:
    row = report.facts["entries"][0]["row"]
    if row is None or row["city"] != about["city"]:
        return _unlisted(report.facts["entries"][0])
    place = Accommodation(**row)
    if about["house_rule"] and forbids(place, about["house_rule"]):
        return f"{place.name} does not allow {about['house_rule']}"
    if about["room_type"] and not has_room_type(place, about["room_type"]):
        return f"{place.name} is of type {place.room_type}, not {about['room_type']}"
    if place.minimum_nights > len(about["days"]):
        return f"{place.name} takes guests for at least {place.minimum_nights} nights"
    return _over(about, report.facts)


def _meals(about: About, report: Report) -> str:
    entries = {entry["slot"]: entry for entry in report.facts["entries"]}
    for meal in MEALS:
        entry = entries.get(meal)
        if entry is None or entry["text"] == trip.EMPTY:
            if about["required"]:
                return f"{meal} of day {about['day']} is missing"
            continue
        problem = _place(about, entry)
        if problem:
            return problem
    return _over(about, report.facts)


def _sights(about: About, report: Report) -> str:
    entry = report.facts["entries"][0]
    if entry["text"] == trip.EMPTY:
        return f"day {about['day']} has no attraction" if about["required"] else ""
    return _place(about, entry)


def _place(about: About, entry: Mapping[str, Any]) -> str:
    if entry["row"] is None or entry["row"]["city"] not in about["cities"]:
        return _unlisted(entry)
    return f"{entry['text']} is in the itinerary already" if entry["repeated"] else ""


def _budget(about: About, report: Report) -> str:
    """The only validator across predicates: completeness, total cost, cuisines (A.2)."""
    empty = [slot for slot in about["needed"] if slot in report.facts["empty"]]
    if empty:
        return f"{empty[0][1]} of day {empty[0][0]} is not decided"
    missing = [cuisine for cuisine in about["cuisines"] if cuisine not in report.facts["cuisines"]]
    if missing:
        return f"no meal offers {' or '.join(missing)}"
    return _over(about, report.facts)


def _unlisted(entry: Mapping[str, Any]) -> str:
    return f"{entry['text']} is not in the listings for day {entry['day']}"


def _over(about: About, facts: Facts) -> str:
    over = facts["total"] - about["budget"]
    return f"the trip would cost ${facts['total']:,.0f}, ${over:,.0f} over the budget" if over > 0 else ""


REOPEN, BLANK = "reopen", "blank"  # not in the paper: an undoing Replan's step, and a predicate without content
FAULTS: dict[str, Callable[[About, Report], str]] = {
    **dict.fromkeys(trip.TRANSPORT, _transport), trip.STAY: _stay, trip.MEALS_OF_DAY: _meals,
    trip.SIGHTS_OF_DAY: _sights, trip.BUDGET: _budget,
    trip.RENDER: lambda about, report: "" if report.done else "the itinerary was not accepted",
    REOPEN: lambda about, report: "",  # nothing in the world has to change for it
    BLANK: lambda about, report: "",
}  # fmt: skip
