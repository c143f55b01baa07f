"""What answers Travel Planner's prompts offline: the cheapest flight out, the cheapest back, the cheapest room.

Acting, it reads the trip from the request in its notes, has a program look things up, and keeps one section of notes
for each piece. Judging, it compares the notes' sections with the request. It sees no database there: the verify context
holds the effect files alone (F), so a wrong number on the right route passes, and of the answer, which D.1 shows beside
the problem specification only, nothing but the format can be judged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from procllm.actions import Action, Verify, Write
from procllm.files import ANSWER, NOTES, OUTPUT, REQUEST, SOLVER
from standins.procllm.travel import programs
from standins.procllm.travel.sections import (
    ACCOMMODATION,
    ANSWER_KEYS,
    DEPARTING,
    FLIGHT_NUMBER,
    NONE_FOUND,
    RETURNING,
    TRIP,
    accommodation_fault,
    accommodation_name,
    accommodation_section,
    budget_fault,
    cost,
    flight_fault,
    flight_number,
    flight_section,
    trip_fault,
    trip_section,
)
from standins.procllm.travel.wording import Trip, trip
from standins.procllm.view import Judgement, View, note, sections

WHOLE = "answer"
PIECES = (TRIP, DEPARTING, RETURNING, ACCOMMODATION)  # in the order in which they build on each other
RETURN_WORDS = re.compile(r"\breturn|\binbound\b|\bflights? (?:back|home)\b")
DEPARTURE_WORDS = re.compile(r"\bdepart|\boutbound\b|\bflights? out\b")
PLACE_WORDS = re.compile(r"\baccomm?odation|\bhotel|\blodging")
TRIP_WORDS = re.compile(r"\borigin|\bdestination|\bdates?\b|\bbudget|\bpreference|\bwish|\btravell?er")


class TravelSkill:
    """A `standins.procllm.view.Skill`."""

    name = "travel"

    def recognises(self, specification: str) -> bool:
        """The two tools' names are this domain's alone."""
        return "Flights.py" in specification and "Accommodations.py" in specification

    def act(self, view: View) -> Action:
        """Make the first piece that the task needs and the notes lack, then verify; start over without a trip."""
        asked = trip(view.sections.get("request", ""))
        if asked is None:
            return Write(NOTES, "")
        wanted = pieces_of(view.task) or pieces_of(view.effect) or (WHOLE,)
        if view.rejected and any(NONE_FOUND in view.sections.get(piece, "") for piece in PIECES):
            return Write(NOTES, "")  # there must be something, so the request in the notes must be wrong
        for piece in PIECES if WHOLE in wanted else PIECES[: PIECES.index(wanted[-1]) + 1]:
            if shown := _shown(view, piece, asked):
                return note(piece, shown)
            section = view.sections.get(piece, "")
            again = not section or (view.rejected and piece in wanted)
            # That nothing was found is a note, too.
            if again or (NONE_FOUND not in section and piece_fault(section, piece, asked)):
                return _look_up(piece, asked)
        if WHOLE in wanted and not view.since_verify(f"Write {ANSWER}"):
            return Write(ANSWER, answer_of(view.sections))
        return Verify()

    def judge(self, effect: str, files: Mapping[str, str]) -> Judgement | None:
        """Whether the notes' sections, or the answer, are what the effect speaks of."""
        wanted = pieces_of(effect)
        if WHOLE in wanted and ANSWER in files:
            fault = answer_fault(files)
        elif wanted and WHOLE not in wanted and NOTES in files and REQUEST in files:
            fault = notes_fault(wanted, files)
        else:
            return None
        return Judgement(not fault, fault or f"The files show what is asked for: {', '.join(wanted)}.")


def pieces_of(text: str) -> tuple[str, ...]:
    """What a task or an effect is about, in order: the answer, or pieces of the notes; empty for documents."""
    text = text.lower()
    if "answer" in text:
        return (WHOLE,)
    if "tool" in text:
        return ()
    flights, out, back = "flight" in text, bool(DEPARTURE_WORDS.search(text)), bool(RETURN_WORDS.search(text))
    about = {
        DEPARTING: flights and (out or not back),
        RETURNING: flights and (back or not out),
        ACCOMMODATION: bool(PLACE_WORDS.search(text)),
    }
    found = tuple(piece for piece in PIECES if about.get(piece))
    return found or ((TRIP,) if TRIP_WORDS.search(text) else ())


def answer_of(noted: Mapping[str, str]) -> str:
    """The answer that the notes add up to; an empty value for what was not found."""
    answer = {
        "departing_flight": flight_number(noted[DEPARTING]),
        "returning_flight": flight_number(noted[RETURNING]),
        "accommodation": accommodation_name(noted[ACCOMMODATION]),
    }
    return json.dumps(answer, indent=2, ensure_ascii=False) + "\n"


def piece_fault(section: str, piece: str, asked: Trip) -> str:
    """What is wrong with a piece of the notes; "" if nothing."""
    if piece == TRIP:
        return trip_fault(section, asked)
    if piece == ACCOMMODATION:
        return accommodation_fault(section, asked)
    return flight_fault(section, asked, piece == RETURNING)


def notes_fault(wanted: tuple[str, ...], files: Mapping[str, str]) -> str:
    """What is wrong with these pieces of the notes, beside the request; "" if nothing."""
    asked, noted = trip(files[REQUEST]), sections(files[NOTES])
    if asked is None:
        return "The request does not say where and when the trip goes, or for how much."
    for piece in wanted:
        if piece == TRIP and TRIP not in noted and trip(noted.get("request", "")) == asked:
            continue  # the whole request is in the notes: that says the same
        if piece not in noted:
            return f"The notes have nothing under {piece!r}."
        if fault := piece_fault(noted[piece], piece, asked):
            return fault
    return budget_fault(noted, PIECES[1 : PIECES.index(wanted[-1]) + 1], asked)


def answer_fault(files: Mapping[str, str]) -> str:
    """What is wrong with the answer: its format, and where the notes are shown, whether it says the same."""
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
    """The section for the cheapest that fits among what the solver printed just now; "" if nothing there fits."""
    printed = view.output if view.last == f"Read {OUTPUT}" else view.printed
    if not printed or piece == TRIP:
        return ""
    if piece == ACCOMMODATION:
        found = [accommodation_section(asked, row) for row in programs.accommodations(printed)]
        nothing = programs.NO_ACCOMMODATION in printed
    else:
        returning = piece == RETURNING
        found = [flight_section(asked, returning, row) for row in programs.flights(printed, *asked.route(returning))]
        nothing = programs.no_flight(*asked.route(returning)) in printed
    fitting = [section for section in found if not piece_fault(section, piece, asked)]
    return min(fitting, key=cost) if fitting else NONE_FOUND if nothing else ""


def _look_up(piece: str, asked: Trip) -> Action:
    """Have a program look the piece up; the trip itself is in the request."""
    if piece == TRIP:
        return note(TRIP, trip_section(asked))
    if piece == ACCOMMODATION:
        return Write(SOLVER, programs.accommodations_program(asked))
    return Write(SOLVER, programs.flights_program(asked, piece == RETURNING))


SKILL = TravelSkill()
