"""Rules for Travel Planner: the cheapest flight out, the cheapest flight back, the cheapest room.

When acting, they read the trip from the request in the notes, let a program look things up, and note each piece in a
section of lines "key: value". From corrupted notes they read what is left, without an exception.
When judging, they compare the notes' sections with the request. They see no database: the verify context has only the
effect files (F), so a wrong number on the right route passes. The answer is shown only with the problem specification
(D.1), so only its format can be judged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from procllm.actions import Action, Verify, Write
from procllm.files import ANSWER, NOTES, OUTPUT, REQUEST, SOLVER
from standins.procllm.travel.trips import (
    NO_ACCOMMODATION,
    ROOM_TYPES,
    Trip,
    accommodations_in,
    accommodations_program,
    flights_in,
    flights_program,
    no_flight,
    stay_cost,
    trip,
)
from standins.procllm.view import Judgement, View, note, sections

TRIP, DEPARTING, RETURNING, ACCOMMODATION = "trip", "departing flight", "returning flight", "accommodation"
FLIGHT_NUMBER = re.compile(r"[A-Z]{1,2}\d{2,8}")
ANY, NONE_FOUND = "any", "none found"
ANSWER_KEYS = ("departing_flight", "returning_flight", "accommodation")


def values(section: str) -> dict[str, str]:
    """The section's values by key; of a repeated key, the last."""
    lines = (line.split(": ", 1) for line in section.split("\n") if ": " in line)
    return {key.strip(): value.strip() for key, value in lines}


def trip_section(trip: Trip) -> str:
    """The section with everything that the request asks for."""
    return _lines(
        {
            "origin": trip.origin,
            "destination": trip.destination,
            "departure date": trip.departs,
            "return date": trip.returns,
            "people": trip.people,
            "budget": f"${trip.budget}",
            "room type": trip.room or ANY,
            "must allow": ", ".join(trip.allows) or ANY,
        }
    )


def trip_fault(section: str, trip: Trip) -> str:
    """The first difference between the section and the request; "" if there is none."""
    noted, asked = values(section), values(trip_section(trip))
    wrong = next((key for key, value in asked.items() if noted.get(key) != value), None)
    return f"The notes say {wrong} {noted.get(wrong)!r}, and the request {asked[wrong]!r}." if wrong else ""


def flight_section(trip: Trip, returning: bool, row: Mapping[str, Any]) -> str:
    """The section for a flight, a row of the tool's output."""
    origin, destination, date = trip.route(returning)
    price = row["Price"]
    return _lines(
        {
            "flight number": row["Flight Number"],
            "from": origin,
            "to": destination,
            "date": date,
            "price a person": f"${price}",
            "cost": f"${price * trip.people}",
        }
    )


def flight_fault(section: str, trip: Trip, returning: bool) -> str:
    """Why the section is no flight for this trip, as far as this can be seen without the database; "" if it is one."""
    noted = values(section)
    number = noted.get("flight number", "")
    if not FLIGHT_NUMBER.fullmatch(number):
        return f"The notes have no flight number: {number[:40]!r}."
    for key, asked in zip(("from", "to", "date"), trip.route(returning), strict=True):
        if noted.get(key) != asked:
            return f"The flight's {key} is {noted.get(key)!r}, and it should be {asked!r}."
    price, cost = dollars(noted.get("price a person")), dollars(noted.get("cost"))
    if price is None or cost is None:
        return "The notes do not say what the flight costs."
    return "" if cost == price * trip.people else f"${price:g} for each of {trip.people} do not make ${cost:g}."


def accommodation_section(trip: Trip, row: Mapping[str, Any]) -> str:
    """The section for an accommodation, a row of the tool's output. The name is JSON: it may contain line breaks."""
    return _lines(
        {
            "name": json.dumps(row["NAME"], ensure_ascii=False),
            "city": row["city"],
            "room type": row["room type"],
            "house rules": row["house_rules"],
            "minimum nights": row["minimum nights"],
            "maximum occupancy": row["maximum occupancy"],
            "price a night": f"${row['price']:g}",
            "cost": f"${stay_cost(trip, row['price'], row['maximum occupancy']):g}",
        }
    )


def accommodation_fault(section: str, trip: Trip) -> str:
    """Why the section is no accommodation for this trip, as far as this can be seen; "" if it is one."""
    noted = values(section)
    if not accommodation_name(section):
        return "The notes have no name of an accommodation."
    if noted.get("city") != trip.destination:
        return f"The accommodation is in {noted.get('city')!r}, and it should be in {trip.destination!r}."
    if noted.get("room type") not in ROOM_TYPES[trip.room]:
        return f"The accommodation is of type {noted.get('room type')!r}; asked for is {trip.room or ANY!r}."
    forbidden = [activity for activity in trip.allows if f"No {activity}" in noted.get("house rules", "")]
    if forbidden or "house rules" not in noted:
        return f"The accommodation's house rules do not allow {forbidden[0] if forbidden else 'anything known'}."
    nights, occupancy = (dollars(noted.get(key)) for key in ("minimum nights", "maximum occupancy"))
    price, cost = dollars(noted.get("price a night")), dollars(noted.get("cost"))
    if nights is None or occupancy is None or occupancy < 1 or price is None or cost is None:
        return "The notes do not say for how many nights and people the accommodation is, or what it costs."
    if nights > trip.nights:
        return f"The accommodation is let for {nights:g} nights or more, and the trip has {trip.nights}."
    expected = stay_cost(trip, price, int(occupancy))
    return "" if cost == expected else f"The stay costs ${expected:g}, and the notes say ${cost:g}."


def budget_fault(noted: Mapping[str, str], names: tuple[str, ...], trip: Trip) -> str:
    """A message if the sections of these names, as far as they exist, cost more than the budget; else ""."""
    total = sum(cost(noted.get(name, "")) for name in names)
    return f"That makes ${total:g} of a budget of ${trip.budget}." if total > trip.budget else ""


def cost(section: str) -> float:
    """The cost of the section's choice for the whole party, in dollars; 0 if it states none."""
    return dollars(values(section).get("cost")) or 0.0


def flight_number(section: str) -> str:
    """The flight's number; "" if the section has none."""
    return values(section).get("flight number", "")


def accommodation_name(section: str) -> str:
    """The accommodation's name; "" if the section has none."""
    try:
        name = json.loads(values(section).get("name", ""))
    except (ValueError, RecursionError):
        return ""
    return name if isinstance(name, str) else ""


def dollars(text: str | None) -> float | None:
    """A number, with or without a dollar sign; None for any other text."""
    match = re.fullmatch(r"\$?(\d{1,9}(?:\.\d{1,4})?)", text or "")
    return float(match[1]) if match else None


def _lines(entries: Mapping[str, object]) -> str:
    return "\n".join(f"{key}: {value}" for key, value in entries.items())


WHOLE = "answer"
PIECES = (TRIP, DEPARTING, RETURNING, ACCOMMODATION)  # each piece builds on the earlier ones
RETURN_WORDS = re.compile(r"\breturn|\binbound\b|\bflights? (?:back|home)\b")
DEPARTURE_WORDS = re.compile(r"\bdepart|\boutbound\b|\bflights? out\b")
PLACE_WORDS = re.compile(r"\baccomm?odation|\bhotel|\blodging")
TRIP_WORDS = re.compile(r"\borigin|\bdestination|\bdates?\b|\bbudget|\bpreference|\bwish|\btravell?er")


class TravelRules:
    """The rules for Travel Planner."""

    name = "travel"

    def recognises(self, specification: str) -> bool:
        """Whether the text names the two tools, which only this domain has."""
        return "Flights.py" in specification and "Accommodations.py" in specification

    def act(self, view: View) -> Action:
        """Make the first missing piece that the task needs, then verify; start over if the notes have no trip."""
        asked = trip(view.sections.get("request", ""))
        if asked is None:
            return Write(NOTES, "")
        wanted = pieces_of(view.task) or pieces_of(view.effect) or (WHOLE,)
        if view.rejected and any(NONE_FOUND in view.sections.get(piece, "") for piece in PIECES):
            return Write(NOTES, "")  # every request has a solution, so the request in the notes must be wrong
        for piece in PIECES if WHOLE in wanted else PIECES[: PIECES.index(wanted[-1]) + 1]:
            if fitting := _shown(view, piece, asked):
                return note(piece, fitting)
            section = view.sections.get(piece, "")
            again = not section or (view.rejected and piece in wanted)
            # A note that nothing was found is complete as well.
            if again or (NONE_FOUND not in section and piece_fault(section, piece, asked)):
                return _look_up(piece, asked)
        if WHOLE in wanted and not view.since_verify(f"Write {ANSWER}"):
            return Write(ANSWER, answer_of(view.sections))
        return Verify()

    def judge(self, effect: str, files: Mapping[str, str]) -> Judgement | None:
        """Whether the notes' sections, or the answer, are what the effect says."""
        wanted = pieces_of(effect)
        if WHOLE in wanted and ANSWER in files:
            fault = answer_fault(files)
        elif wanted and WHOLE not in wanted and NOTES in files and REQUEST in files:
            fault = notes_fault(wanted, files)
        else:
            return None
        return Judgement(not fault, fault or f"The files show what is asked for: {', '.join(wanted)}.")


def pieces_of(text: str) -> tuple[str, ...]:
    """What a task or an effect is about: the answer, or pieces of the notes in order; empty for documents."""
    text = text.lower()
    if "answer" in text:
        return (WHOLE,)
    if "tool" in text:
        return ()
    flights, out, back = "flight" in text, bool(DEPARTURE_WORDS.search(text)), bool(RETURN_WORDS.search(text))
    mentioned = {
        DEPARTING: flights and (out or not back),
        RETURNING: flights and (back or not out),
        ACCOMMODATION: bool(PLACE_WORDS.search(text)),
    }
    pieces = tuple(piece for piece in PIECES if mentioned.get(piece))
    return pieces or ((TRIP,) if TRIP_WORDS.search(text) else ())


def answer_of(noted: Mapping[str, str]) -> str:
    """The answer according to the notes; a value that was not found is empty."""
    answer = {
        "departing_flight": flight_number(noted[DEPARTING]),
        "returning_flight": flight_number(noted[RETURNING]),
        "accommodation": accommodation_name(noted[ACCOMMODATION]),
    }
    return json.dumps(answer, indent=2, ensure_ascii=False) + "\n"


def piece_fault(section: str, piece: str, asked: Trip) -> str:
    """The fault of a piece of the notes; "" if it has none."""
    if piece == TRIP:
        return trip_fault(section, asked)
    if piece == ACCOMMODATION:
        return accommodation_fault(section, asked)
    return flight_fault(section, asked, piece == RETURNING)


def notes_fault(wanted: tuple[str, ...], files: Mapping[str, str]) -> str:
    """The first fault of these pieces of the notes, compared with the request; "" if there is none."""
    asked, noted = trip(files[REQUEST]), sections(files[NOTES])
    if asked is None:
        return "The request does not say where and when the trip goes, or for how much."
    for piece in wanted:
        if piece == TRIP and TRIP not in noted and trip(noted.get("request", "")) == asked:
            continue  # the notes hold the whole request instead, which is enough
        if piece not in noted:
            return f"The notes have nothing under {piece!r}."
        if fault := piece_fault(noted[piece], piece, asked):
            return fault
    return budget_fault(noted, PIECES[1 : PIECES.index(wanted[-1]) + 1], asked)


def answer_fault(files: Mapping[str, str]) -> str:
    """The fault of the answer: its format, or a difference from the notes, if these are shown; "" if there is none."""
    try:
        answer = json.loads(files[ANSWER])
    except (ValueError, RecursionError):
        return "answer.txt is no JSON." if files[ANSWER].strip() else "answer.txt is empty."
    if not isinstance(answer, dict) or set(answer) != set(ANSWER_KEYS):
        return f"answer.txt must be one JSON object with the keys {', '.join(ANSWER_KEYS)}."
    for key in ANSWER_KEYS[:2]:
        if not isinstance(answer[key], str) or not FLIGHT_NUMBER.fullmatch(answer[key]):
            return f"{key} is no flight number."
    if not isinstance(answer["accommodation"], str) or not answer["accommodation"].strip():
        return "accommodation is no name."
    noted = sections(files.get(NOTES, ""))
    if all(piece in noted for piece in PIECES[1:]) and answer != json.loads(answer_of(noted)):
        return "answer.txt says something else than the notes."
    return ""


def _shown(view: View, piece: str, asked: Trip) -> str:
    """The section for the cheapest fitting row that the solver has just printed; "" if none fits."""
    printed = view.output if view.last == f"Read {OUTPUT}" else view.printed
    if not printed or piece == TRIP:
        return ""
    if piece == ACCOMMODATION:
        candidates = [accommodation_section(asked, row) for row in accommodations_in(printed)]
        nothing = NO_ACCOMMODATION in printed
    else:
        returning = piece == RETURNING
        candidates = [flight_section(asked, returning, row) for row in flights_in(printed, *asked.route(returning))]
        nothing = no_flight(*asked.route(returning)) in printed
    fitting = [section for section in candidates if not piece_fault(section, piece, asked)]
    return min(fitting, key=cost) if fitting else NONE_FOUND if nothing else ""


def _look_up(piece: str, asked: Trip) -> Action:
    """Have a program look up the piece; the trip itself is noted from the request."""
    if piece == TRIP:
        return note(TRIP, trip_section(asked))
    if piece == ACCOMMODATION:
        return Write(SOLVER, accommodations_program(asked))
    return Write(SOLVER, flights_program(asked, piece == RETURNING))


RULES = TravelRules()
