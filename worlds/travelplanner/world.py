"""The TravelPlanner world: the benchmark's search tools, and a tool that reports facts about a draft itinerary.

    FlightSearch[A, B, 2022-03-16]   AccommodationSearch[City]   RestaurantSearch[City]   AttractionSearch[City]
    GoogleDistanceMatrix[A, B, self-driving]   CitySearch[State]
    Check[{"slots": [[2, "lunch"]], "draft": [...]}]   the listings' rows of these slots, and the draft's cost
    Submit[[...]]                                      submit an itinerary; ends the episode

A draft is a plan in the benchmark's submission format. `Check` reports facts from the benchmark's tables and its cost
arithmetic. It does not judge: only the score of a submission comes from the evaluator.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from worlds.base import Step, World
from worlds.travelplanner.evaluator import evaluate
from worlds.travelplanner.hard import cuisines_had
from worlds.travelplanner.itinerary import (
    MEALS,
    SLOTS,
    Day,
    days_read,
    flight_number,
    ground_leg,
    name_and_city,
    plan_bill,
    vehicle,
)
from worlds.travelplanner.listings import SELF_DRIVING, TAXI, Listings
from worlds.travelplanner.tasks import TripTask

ACTION = re.compile(r"\s*(\w+)\[(.*)\]\s*", re.DOTALL)  # a draft in JSON may have line breaks
EMPTY = "-"  # an empty slot in the benchmark's own plans


class TravelPlanner(World):
    """A `worlds.base.World` over listings and tasks. Its only state is the open task.

    data: "official" or "synthetic". splits: the names that `tasks` accepts.
    """

    def __init__(self, listings: Listings, tasks: Mapping[str, Sequence[TripTask]], data: str = "synthetic") -> None:
        self.listings, self.data, self.splits = listings, data, tuple(tasks)
        self._tasks = tasks
        self._task: TripTask | None = None
        self._actions: dict[str, Callable[[TripTask, str], Step | None]] = {
            "FlightSearch": self._search_flights,
            "AccommodationSearch": lambda task, city: _listed(listings.accommodations(city), city),
            "RestaurantSearch": lambda task, city: _listed(listings.restaurants(city), city),
            "AttractionSearch": lambda task, city: _listed(listings.attractions(city), city),
            "GoogleDistanceMatrix": self._search_ground,
            "CitySearch": self._search_cities,
            "Check": self._check,
            "Submit": self._submit,
        }

    def tasks(self, split: str) -> Sequence[TripTask]:
        """The tasks of a split, in the order of their ids. Raises ValueError naming the known splits for another."""
        if split not in self._tasks:
            raise ValueError(f"TravelPlanner has no split {split!r} here; choose one of {', '.join(self._tasks)}")
        return self._tasks[split]

    def reset(self, task: TripTask) -> Step:
        """Open a task. The text is the query."""
        self._task = task
        return Step(task.goal)

    def step(self, action: str) -> Step:
        """Take an action; an unknown one gets a refusal that lists the actions."""
        if self._task is None:
            return Step("No task is open at this desk.", done=True, facts={"refused": action})
        match = ACTION.fullmatch(action)
        handler = self._actions.get(match[1]) if match else None
        answer = handler(self._task, match[2]) if match and handler else None
        refusal = f"That is no action here. The actions are {', '.join(self._actions)}, each with [...]."
        return answer or Step(refusal, facts={"refused": action})

    def apart(self) -> TravelPlanner:
        """Another world over the same listings, without an open task, for a parallel episode."""
        return TravelPlanner(self.listings, self._tasks, self.data)

    def close(self) -> None:
        """End the episode; the tables stay in memory."""
        self._task = None

    def _search_flights(self, task: TripTask, text: str) -> Step | None:
        parts = [part.strip() for part in text.split(",")]
        if len(parts) != 3:
            return None
        return _listed(self.listings.flights(*parts), f"flights from {parts[0]} to {parts[1]} on {parts[2]}")

    def _search_ground(self, task: TripTask, text: str) -> Step | None:
        parts = [part.strip() for part in text.split(",")]
        if len(parts) != 3 or parts[2] not in (SELF_DRIVING, TAXI):
            return None
        leg = self.listings.ground(*parts)
        return _listed([leg] if leg else [], f"{parts[2]} from {parts[0]} to {parts[1]}")

    def _search_cities(self, task: TripTask, state: str) -> Step:
        cities = list(self.listings.cities(state.strip()))
        return Step(", ".join(cities) or f"There is no state {state!r}.", facts={"cities": cities})

    def _check(self, task: TripTask, text: str) -> Step | None:
        try:
            request = json.loads(text)
            slots = [(int(day), str(slot)) for day, slot in request["slots"]]
            facts = self._facts(task, days_read(request["draft"], task.days), slots)
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):  # Unreadable is a ValueError
            return None
        lines = [f"Day {e['day']} {e['slot']}: {e['text']} - {_row_text(e['row'])}" for e in facts["entries"]]
        lines.append(f"The draft costs ${facts['total']:,.0f} of ${facts['budget']:,}.")
        return Step("\n".join(lines), facts=facts)

    def _facts(self, task: TripTask, days: Sequence[Day], slots: Sequence[tuple[int, str]]) -> dict[str, Any]:
        """Facts about some slots, and about the whole draft: its cost, means of travel, cuisines, empty slots."""
        entries = []
        for day, slot in ((days[number - 1], slot) for number, slot in slots if 1 <= number <= len(days)):
            text = day.text(slot)
            entry = {"day": day.number, "slot": slot, "text": text or EMPTY, "row": self._row(day, slot)}
            entries.append(entry | {"repeated": _repeated(days, slot, text)})
        modes = {vehicle(day.text("transportation")) for day in days} - {None}
        cuisines = set().union(*(cuisines_had(task, day, self.listings) for day in days))
        return {
            "entries": entries,
            "total": plan_bill(days, task.people, self.listings).total,
            "budget": task.budget,
            "modes": sorted(modes),
            "cuisines": sorted(cuisines),
            "empty": [[day.number, slot] for day in days for slot in SLOTS if not day.text(slot)],
        }

    def _row(self, day: Day, slot: str) -> dict[str, Any] | None:
        """The table row of a slot, as the evaluator finds it; for several attractions, the first one's row.

        None if there is none, or if one of several attractions has none.
        """
        text = day.text(slot)
        if slot == "transportation" and vehicle(text) == "flight":
            flight = self.listings.flight(flight_number(day))
            return asdict(flight) | {"mode": "flight"} if flight else None
        if slot == "transportation":
            leg = ground_leg(day, self.listings)
            return asdict(leg) if leg else None
        by_slot: dict[str, Callable[[str, str], Sequence[Any]]] = {
            "accommodation": self.listings.accommodations_named,
            "attraction": self.listings.attractions_named,
        }
        rows_named = by_slot.get(slot, self.listings.restaurants_named)
        items = day.attractions if slot == "attraction" else [text]
        matches = [rows_named(*name_and_city(item))[:1] for item in items]
        return asdict(matches[0][0]) if matches and all(matches) else None

    def _submit(self, task: TripTask, text: str) -> Step | None:
        try:
            plan = json.loads(text)
        except (ValueError, RecursionError):  # the parser recurses, so thousands of opening brackets overflow the stack
            return None
        # Only the score is returned: the evaluator's reasons would tell a later trial what to change.
        verdict = evaluate(task, plan, self.listings)
        return Step("The itinerary is handed in.", score=float(verdict.final), done=True)


def blank_draft(task: TripTask) -> list[dict[str, Any]]:
    """An empty draft for a task."""
    return [{"days": day, "current_city": EMPTY} | dict.fromkeys(SLOTS, EMPTY) for day in range(1, task.days + 1)]


def _listed(rows: Sequence[Any], what: str) -> Step:
    records = [asdict(row) for row in rows]
    return Step("\n".join(map(_row_text, records)) or f"Nothing is listed: {what}.", facts={"rows": records})


def _row_text(row: Mapping[str, Any] | None) -> str:
    return "; ".join(f"{name}: {value}" for name, value in row.items()) if row else "not in the listings"


def _repeated(days: Sequence[Day], slot: str, text: str) -> bool:
    """Whether a slot's meal, or one of its attractions, occurs in the draft more than once."""
    slots = MEALS if slot in MEALS else ("attraction",)
    if slot not in (*MEALS, "attraction"):
        return False
    # By text, as the official check compares; `split(";")` without a semicolon gives a meal's text itself.
    items = [item for day in days for name in slots for item in day.text(name).split(";") if item]
    return any(items.count(item) > 1 for item in text.split(";") if item)
