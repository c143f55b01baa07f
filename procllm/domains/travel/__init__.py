"""Travel Planner: two flights and a room for a trip to one city, looked up with tools (paper §5, C.1, D.1).

The paper's problem specification (C.1.1) names the two tools, the format of the answer and the odd names of
accommodations. Ours adds what the checker requires: route and day of each flight; that the accommodation covers all
nights and suits the request and the party; how prices add up to a total within the budget; and the order of §5. So an
agent fails by choosing wrongly, not by guessing what is required.

The requests are single-destination trips of TravelPlanner's validation split. The paper has 43, and its text does not
determine which. We take requests for 3 days in one city where the flights of both days are all known, flying is
allowed, and a flight each way and a suitable accommodation exist within the budget. In the official data 60 requests go
to one city; 49 have known flights both ways, 44 of these allow flying, 42 have a flight each way, and 39 can be solved.
The synthetic requests, over the synthetic listings, are stored: 100 that can be solved.

The paper names the three columns of Table 1, but not what counts as right. We apply the benchmark's own rules:

- Flight 1: a flight from the origin to the destination on the first day.
- Flight 2: a flight back on the last day.
- Hotel: an accommodation of the destination, by its exact name, with the room type that the request asks for, without
  a house rule against what the party brings, and with no more minimum nights than the trip has.

Costs are counted as in the benchmark: a seat for everyone on each flight, and for each night as many units as hold
everyone. Every column compares the sum so far with the budget, so the first column that exceeds it fails. An answer may
have other keys besides the three, but none of the three twice. Blanks around a value are ignored, and
runs of blanks within it count as one. If several accommodations share a name, one suitable one is enough.

The solver sees a folder of tools: two programs and the tables that they read. These folders are in `data/cache` and are
named by a checksum of their content, so they never change, and several processes may create one at the same time. The
cache also keeps official rows out of the repository.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from lab.machine.paths import ROOT, official_data
from procllm.domains import AnswerVerdict, Domain, Instance, cumulative
from worlds.frozen import FOLDER, read_rows
from worlds.travelplanner import TravelPlannerQueries
from worlds.travelplanner.hard import forbids, has_room_type
from worlds.travelplanner.itinerary import flight_cost, night_cost
from worlds.travelplanner.listings import Accommodation, Flight, Listings, read_accommodations, read_flights
from worlds.travelplanner.tasks import TripTask, task_from_record

PROGRAMS = Path(__file__).parent / "tools"
FOLDERS = ROOT / "data" / "cache" / "procllm"
# The columns are named as in the benchmark's own tools.
FLIGHT_COLUMNS = {
    "Flight Number": "number",
    "Price": "price",
    "DepTime": "departs",
    "ArrTime": "arrives",
    "ActualElapsedTime": "elapsed",
    "FlightDate": "date",
    "OriginCityName": "org",
    "DestCityName": "dest",
    "Distance": "miles",
}
ACCOMMODATION_COLUMNS = {
    "NAME": "name",
    "room type": "room_type",
    "price": "price",
    "minimum nights": "minimum_nights",
    "review rate number": "rating",
    "house_rules": "house_rules",
    "maximum occupancy": "occupancy",
    "city": "city",
}


def tools_folder(flights: Iterable[Flight], accommodations: Iterable[Accommodation], folders: Path = FOLDERS) -> Path:
    """The folder `tools` with both programs and these rows; created if it does not exist."""
    contents = {path.name: path.read_bytes() for path in sorted(PROGRAMS.glob("*.py"))}
    contents["flights.csv"] = _table(flights, FLIGHT_COLUMNS)
    contents["accommodations.csv"] = _table(accommodations, ACCOMMODATION_COLUMNS)
    folder = folders / f"travel-{_digest(contents)}"
    if not folder.exists():
        _publish(contents, folder)
    return folder / "tools"


def _table(rows: Iterable[object], columns: Mapping[str, str]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([getattr(row, field) for field in columns.values()] for row in rows)
    return text.getvalue().encode()


def _digest(contents: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name, data in contents.items():
        digest.update(f"{name} {len(data)}\n".encode() + data)
    return digest.hexdigest()[:16]


def _publish(contents: Mapping[str, bytes], folder: Path) -> None:
    """Write to a temporary folder, then rename it. If another process was faster, its identical folder stays."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        (draft / "tools").mkdir()
        for name, data in contents.items():
            (draft / "tools" / name).write_bytes(data)
        draft.chmod(0o755)
        try:
            os.rename(draft, folder)
        except OSError:  # a folder that is not empty cannot be replaced
            if not folder.exists():
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


DAYS, OFFICIAL = 3, 39


@dataclass(frozen=True)
class TripProblem:
    """A request with the rows that can answer it.

    departing, returning: the flights of the route on the first and on the last day. accommodations: all of the
    destination, also those that do not suit the request.
    """

    task: TripTask
    departing: Sequence[Flight]
    returning: Sequence[Flight]
    accommodations: Sequence[Accommodation]

    @property
    def nights(self) -> int:
        return self.task.days - 1


class Funnel(NamedTuple):
    """Requests left after each filter: one city, flights known, flying allowed, a flight each way, solvable."""

    single: int
    known: int
    flying: int
    existing: int
    solvable: int


def instances(count: int = 0, seed: int = 0, data: str = "auto") -> list[Instance]:
    """The first `count` instances, at most all; 0 for as many as official data has. Larger counts add to the end.

    data: "auto" (official if present, else synthetic), "official" or "synthetic" (100 are stored). seed: unused, as
    nothing is random here; other domains have it. Raises MissingData if official data is requested and absent.
    """
    if count < 0:
        raise ValueError(f"count={count}; give 0 for all, or how many")
    world = TravelPlannerQueries(data=data).world()
    official = world.data == "official"
    tasks = world.tasks("validation") if official else _synthetic_tasks()
    problems = [problem_of(task, world.listings) for task in tasks]
    solved = [problem for problem in problems if problem and solvable(problem)]
    chosen = solved[: count or (len(solved) if official else OFFICIAL)]
    tools = _tools((official_data() if official else FOLDER) / "travelplanner")
    if official:
        return [_instance(f"travel-validation-{problem.task.idx:03d}", problem, tools) for problem in chosen]
    return [_instance(f"travel-made-s000-{number:03d}", problem, tools) for number, problem in enumerate(chosen)]


def funnel(tasks: Sequence[TripTask], listings: Listings) -> Funnel:
    """Count the requests of a split that remain after each filter."""
    single = [task for task in tasks if is_single(task)]
    known = [task for task in single if flights_known(task, listings)]
    flying = [problem for task in known if (problem := problem_of(task, listings))]
    existing = [problem for problem in flying if problem.departing and problem.returning]
    return Funnel(len(single), len(known), len(flying), len(existing), sum(map(solvable, existing)))


def is_single(task: TripTask) -> bool:
    """Whether the trip goes to one city."""
    return task.days == DAYS and task.visiting_city_number == 1


def flights_known(task: TripTask, listings: Listings) -> bool:
    """Whether the listings have all flights out on the first day and all flights back on the last."""
    out, back = task.dates[0], task.dates[-1]
    return listings.knows_flights(task.org, task.dest, out) and listings.knows_flights(task.dest, task.org, back)


def problem_of(task: TripTask, listings: Listings) -> TripProblem | None:
    """The problem of a request; None if the request has several cities, unknown flights, or rules out flying."""
    if not is_single(task) or not flights_known(task, listings) or task.transportation == "no flight":
        return None
    departing = listings.flights(task.org, task.dest, task.dates[0])
    returning = listings.flights(task.dest, task.org, task.dates[-1])
    return TripProblem(task, departing, returning, listings.accommodations(task.dest))


def solvable(problem: TripProblem) -> bool:
    """Whether the cheapest flights and the cheapest suitable accommodation are within the budget."""
    task = problem.task
    nightly = [
        night_cost(accommodation, task.people)
        for accommodation in problem.accommodations
        if accommodation.minimum_nights <= problem.nights
        and not (task.house_rule and forbids(accommodation, task.house_rule))
        and not (task.room_type and not has_room_type(accommodation, task.room_type))
    ]
    fares = [[flight_cost(f, task.people) for f in flights] for flights in (problem.departing, problem.returning)]
    if not nightly or not all(fares):
        return False
    return sum(map(min, fares)) + min(nightly) * problem.nights <= task.budget


def _synthetic_tasks() -> list[TripTask]:
    return [task_from_record(row, "made-validation") for row in read_rows("travelplanner/single_city.jsonl")]


def _instance(identity: str, problem: TripProblem, tools: Path) -> Instance:
    return Instance(identity, problem.task.goal.strip() + "\n", problem, {"tools": tools})


@lru_cache(maxsize=4)
def _tools(folder: Path) -> Path:
    """The folder of tools with all rows of the listings in the folder."""
    return tools_folder(read_flights(folder), read_accommodations(folder))


PARTS = ("Flight 1", "Flight 2", "Hotel")
MOST_CHARACTERS = 100_000


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as a list of pairs, which keeps repeated keys."""


def check(instance: Instance, answer: str) -> AnswerVerdict:
    """Whether the answer's flights and accommodation are right, cumulative in the order of Table 1. Never raises."""
    problem: TripProblem = instance.problem
    pairs = _pairs(answer)
    if isinstance(pairs, str):
        return cumulative(dict.fromkeys(PARTS, pairs))
    people, spent = problem.task.people, 0.0
    out, fault_out = _flight(pairs, "departing_flight", problem.departing, problem, 0)
    spent += flight_cost(out, people) if out else 0
    back, fault_back = _flight(pairs, "returning_flight", problem.returning, problem, spent)
    spent += flight_cost(back, people) if back else 0
    return cumulative(dict(zip(PARTS, (fault_out, fault_back, _hotel(pairs, problem, spent)), strict=True)))


def _pairs(answer: str) -> _Pairs | str:
    """The answer's keys and values, or why it cannot be read."""
    if len(answer) > MOST_CHARACTERS:
        return f"The answer has {len(answer)} characters; three values need far fewer."
    # A dict would keep only the last value of a repeated key, so an answer could name two flights.
    try:
        raw = json.loads(answer, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return "The answer is no JSON." if answer.strip() else "There is no answer."
    return raw if isinstance(raw, _Pairs) else "The answer is no JSON object."


def _text(pairs: _Pairs, key: str) -> tuple[str, str]:
    """The value of a key, and its fault; one of the two is empty."""
    values = [value for name, value in pairs if name == key]
    if len(values) != 1:
        return "", f"The answer says {key} {len(values)} times." if values else f"The answer does not say {key}."
    if not isinstance(values[0], str) or not values[0].strip():
        return "", f"The answer's {key} is no text."
    return " ".join(values[0].split()), ""


def _flight(
    pairs: _Pairs, key: str, flights: Sequence[Flight], problem: TripProblem, spent: float
) -> tuple[Flight | None, str]:
    number, fault = _text(pairs, key)
    if fault:
        return None, fault
    flight = next((flight for flight in flights if flight.number == number), None)
    if flight is None:
        return None, f"{key}: no flight {_short(number)} on that route and day."
    return flight, _overspent(key, spent + flight_cost(flight, problem.task.people), problem)


def _hotel(pairs: _Pairs, problem: TripProblem, spent: float) -> str:
    name, fault = _text(pairs, "accommodation")
    if fault:
        return fault
    # In the benchmark's table, several accommodations can have the same name.
    faults = [
        _unsuitable(accommodation, problem, spent)
        for accommodation in problem.accommodations
        if " ".join(accommodation.name.split()) == name
    ]
    if not faults:
        return f"accommodation: none in {problem.task.dest} has the name {_short(name)}."
    return "" if "" in faults else faults[0]


def _unsuitable(place: Accommodation, problem: TripProblem, spent: float) -> str:
    """Why the accommodation does not suit the request; "" if it does."""
    task, nights = problem.task, problem.nights
    if task.room_type and not has_room_type(place, task.room_type):
        return f"accommodation: it is of type {place.room_type!r}, and the request asks for {task.room_type!r}."
    if task.house_rule and forbids(place, task.house_rule):
        return f"accommodation: its house rules are {place.house_rules!r}, and the request needs {task.house_rule}."
    if place.minimum_nights > nights:
        return f"accommodation: it is let for {place.minimum_nights} nights or more, and the trip has {nights}."
    return _overspent("accommodation", spent + night_cost(place, task.people) * nights, problem)


def _overspent(key: str, spent: float, problem: TripProblem) -> str:
    budget = problem.task.budget
    return "" if spent <= budget else f"{key}: with it the trip costs ${spent:,.0f}, and the budget is ${budget:,}."


def _short(text: str) -> str:
    return ascii(text[:60])


_HERE = Path(__file__).parent

DOMAIN = Domain(
    name="travel",
    title="Travel Planner",
    specification=(_HERE / "specification.txt").read_text(encoding="utf-8"),
    tools_specification=(_HERE / "tools_specification.txt").read_text(encoding="utf-8"),
    human=(_HERE / "human.json").read_text(encoding="utf-8"),
    printed_effects={
        "m-process-user-request": "answer.txt holds a solution in the right format that follows the specification",
        "m-choose-accommodation": "the notes hold details of an accommodation that suits the request",
    },
    check=check,
    instances=instances,
    solver=True,
)
