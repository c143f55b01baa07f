"""Travel Planner: instances, tools, checker against a brute-force check, rules in the loop."""

from __future__ import annotations

import csv
import functools
import json
import math
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from procllm.domains import Instance
from procllm.domains.travel import DOMAIN, funnel, instances, tools_folder
from procllm.trajectory import Trajectory
from standins.procllm.travel import (
    trip_fault,
    trip_section,
)
from standins.procllm.travel.trips import Trip, trip
from worlds import travelplanner

DATA = Path(os.environ.get("LAB_DATA") or "nowhere")
needs_official = pytest.mark.skipif(
    not (DATA / "travelplanner" / "queries_validation.jsonl.gz").exists(),
    reason="LAB_DATA names no TravelPlanner data",
)
PARTS = ("Flight 1", "Flight 2", "Hotel")
KEYS = ("departing_flight", "returning_flight", "accommodation")


def asked_in(instance: Instance) -> Trip:
    """The trip of a request that tells of one."""
    asked = trip(instance.request)
    assert asked is not None
    return asked


@functools.cache
def made(count: int = 0) -> tuple[Instance, ...]:
    return tuple(instances(count, data="synthetic"))


# Instances


@pytest.mark.slow
def test_the_made_requests_are_as_many_as_the_official_ones_and_a_larger_count_adds_at_the_end() -> None:
    assert len(made()) == 39
    assert made(7) == made()[:7] and made(45)[:39] == made() and len(made(1000)) == 100
    ids = [instance.id for instance in made(45)]
    assert ids == sorted(set(ids)) and ids[7] == "travel-made-s000-007"


def test_the_made_split_itself_has_few_requests_that_can_be_solved() -> None:
    world = travelplanner.load("synthetic")
    found = funnel(world.tasks("validation"), world.listings)
    assert (found.single, found.known, found.solvable) == (15, 15, 4)


def test_no_request_rules_flying_out() -> None:
    assert all(instance.problem.task.transportation != "no flight" for instance in made())


# Tools


def looked_up(instance: Instance, program: str) -> str:
    """What a program prints that has the instance's tools beside it, in a plain interpreter."""
    start = f"import sys; sys.path.insert(0, {str(instance.tools['tools'].parent)!r}); exec(sys.stdin.read())"
    run = subprocess.run([sys.executable, "-I", "-B", "-c", start], input=program, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_the_tools_return_the_rows_of_the_sandbox() -> None:
    instance = made()[0]
    task, problem = instance.problem.task, instance.problem
    asked = (task.org, task.dest, task.dates[0])
    printed = looked_up(
        instance,
        "import json\nfrom tools.Flights import Flights\nfrom tools.Accommodations import Accommodations\n"
        f"print(json.dumps([Flights().run(*{asked!r}), Accommodations().run({task.dest!r})]))",
    )
    flights, places = json.loads(printed)
    assert [(row["Flight Number"], row["Price"]) for row in flights] == [(f.number, f.price) for f in problem.departing]
    assert {row["FlightDate"] for row in flights} == {task.dates[0]}
    assert [(row["NAME"], row["price"], row["maximum occupancy"]) for row in places] == [
        (place.name, place.price, place.occupancy) for place in problem.accommodations
    ]


def test_the_tools_say_so_where_there_is_nothing() -> None:
    printed = looked_up(
        made()[0],
        "from tools.Flights import Flights\nfrom tools.Accommodations import Accommodations\n"
        "print(Flights().run('Here', 'There', '2031-05-01'))\nprint(Accommodations().run(None))",
    )
    assert printed.splitlines() == [
        "There is no flight from Here to There on 2031-05-01.",
        "There is no accommodation in None.",
    ]


def test_a_tools_folder_may_be_made_by_many_at_once(tmp_path: Path) -> None:
    problem = made()[0].problem

    def make(_: int) -> Path:
        return tools_folder(problem.departing, problem.accommodations, tmp_path)

    with ThreadPoolExecutor(8) as pool:
        folders = set(pool.map(make, range(24)))
    (folder,) = folders
    assert sorted(path.name for path in folder.iterdir()) == [
        "Accommodations.py", "Flights.py", "accommodations.csv", "flights.csv",
    ]  # fmt: skip
    assert [path.name for path in tmp_path.iterdir()] == [folder.parent.name]
    other = tools_folder(problem.returning, problem.accommodations, tmp_path)
    assert other != folder


# Reading requests


def trip_of(task: travelplanner.TripTask) -> Trip:
    rules = (task.house_rule,) if task.house_rule else ()
    first, last, room = task.dates[0], task.dates[-1], task.room_type or ""
    return Trip(task.org, task.dest, first, last, task.people, task.budget, room, rules)


def test_made_requests_are_read_right() -> None:
    read = [(trip(i.request), trip_of(i.problem.task)) for i in made(100)]
    assert [pair for pair in read if pair[0] != pair[1]] == []


@given(st.text(max_size=400))
def test_any_text_is_read_without_an_error(text: str) -> None:
    trip(text)
    for start in ("from Aberdeen to Boston for $5, May 3 to May ", "Plan a trip from Rome to $"):
        trip(start + text)


@settings(max_examples=60)
@given(st.sampled_from(range(39)), st.data())
def test_the_trip_section_says_what_the_request_says_and_nothing_else_does(place: int, data: st.DataObject) -> None:
    asked = asked_in(made()[place])
    section = trip_section(asked)
    assert trip_fault(section, asked) == ""
    lines = section.split("\n")
    dropped = data.draw(st.integers(0, len(lines) - 1))
    assert trip_fault("\n".join(lines[:dropped] + lines[dropped + 1 :]), asked)


# The checker, against a check that enumerates everything from the tools' tables


@functools.cache
def table(folder: Path, name: str) -> tuple[dict[str, str], ...]:
    with open(folder / name, encoding="utf-8", newline="") as text:
        return tuple(csv.DictReader(text))


@functools.cache
def flights_between(folder: Path, org: str, dest: str) -> tuple[dict[str, str], ...]:
    cities = {org, dest}
    return tuple(row for row in table(folder, "flights.csv") if {row["OriginCityName"], row["DestCityName"]} == cities)


@functools.cache
def right_answers(instance_id: str) -> tuple[set[str], set[tuple[str, str]], set[tuple]]:
    """Every right first flight, pair of flights, and whole answer."""
    instance = next(i for i in made(100) if i.id == instance_id)
    return enumerate_right(instance)


def enumerate_right(instance: Instance) -> tuple[set[str], set[tuple[str, str]], set[tuple]]:
    task, folder = instance.problem.task, instance.tools["tools"]
    fares: dict[tuple[str, str, str], dict[str, int]] = {}
    for row in flights_between(folder, task.org, task.dest):
        route = (row["OriginCityName"], row["DestCityName"], row["FlightDate"])
        fares.setdefault(route, {})[row["Flight Number"]] = int(row["Price"]) * task.people
    out = fares[task.org, task.dest, task.dates[0]]
    back = fares[task.dest, task.org, task.dates[2]]
    kinds = {
        None: {"Entire home/apt", "Private room", "Shared room"},
        "not shared room": {"Entire home/apt", "Private room"},
        "entire room": {"Entire home/apt"},
        "private room": {"Private room"},
        "shared room": {"Shared room"},
    }[task.room_type]
    stays = [
        (row["NAME"], 2 * math.ceil(task.people / int(row["maximum occupancy"])) * float(row["price"]))
        for row in table(folder, "accommodations.csv")
        if row["city"] == task.dest and row["room type"] in kinds and int(row["minimum nights"]) < 3
        and not (task.house_rule and f"no {task.house_rule}" in row["house_rules"].lower())
    ]  # fmt: skip
    first = {number for number, fare in out.items() if fare <= task.budget}
    pairs = {(a, b) for a in first for b in back if out[a] + back[b] <= task.budget}
    whole = {(a, b, name) for a, b in pairs for name, cost in stays if out[a] + back[b] + cost <= task.budget}
    return first, pairs, whole


def expected(instance: Instance, fields: dict[str, object], right: tuple) -> tuple[bool, bool, bool]:
    first, second, hotel = (fields.get(key) for key in KEYS)
    return first in right[0], (first, second) in right[1], (first, second, hotel) in right[2]


def spoilers(instance: Instance, random: Random) -> dict[str, Callable[[dict[str, object]], None]]:
    """Ways to put a mistake into an answer."""
    task, problem, folder = instance.problem.task, instance.problem, instance.tools["tools"]
    places, route = table(folder, "accommodations.csv"), flights_between(folder, task.org, task.dest)
    dates = {"departing_flight": task.dates[0], "returning_flight": task.dates[-1]}

    def another_day(fields: dict[str, object]) -> None:
        key = random.choice(KEYS[:2])
        fields[key] = random.choice([row for row in route if row["FlightDate"] != dates[key]])["Flight Number"]

    def wrong_way(fields: dict[str, Any]) -> None:
        fields[KEYS[0]], fields[KEYS[1]] = fields[KEYS[1]], fields[KEYS[0]]

    def unknown_flight(fields: dict[str, Any]) -> None:
        fields[random.choice(KEYS[:2])] = random.choice(("F0000000", "", "none found", fields[KEYS[0]] + "1"))

    def dearest(fields: dict[str, object]) -> None:
        fields[KEYS[0]] = max(problem.departing, key=lambda flight: flight.price).number
        fields[KEYS[2]] = max(problem.accommodations, key=lambda place: place.price / place.occupancy).name

    def any_place(fields: dict[str, object]) -> None:
        fields[KEYS[2]] = random.choice(problem.accommodations).name

    def another_city(fields: dict[str, object]) -> None:
        fields[KEYS[2]] = random.choice([row for row in places if row["city"] != task.dest])["NAME"]

    def missing(fields: dict[str, object]) -> None:
        del fields[random.choice(KEYS)]

    def wrong_type(fields: dict[str, object]) -> None:
        key = random.choice(KEYS)
        fields[key] = random.choice((None, 3, True, math.nan, 1e400))

    return {ways.__name__: ways for ways in (another_day, wrong_way, unknown_flight, dearest, any_place,
                                             another_city, missing, wrong_type)}  # fmt: skip


@pytest.mark.slow
def test_a_thousand_answers_are_judged_as_the_enumeration_of_all_right_ones_does() -> None:
    random = Random("travel answers")
    judged: Counter[Any] = Counter()
    faults: Counter[Any] = Counter()
    first_fault: Counter[Any] = Counter()
    for number in range(1000):
        instance = random.choice(made(100))
        right = right_answers(instance.id)
        fields: dict[str, object] = dict(zip(KEYS, random.choice(sorted(right[2])), strict=True))
        if number % 5 > 1:
            ways = spoilers(instance, random)
            name = random.choice(sorted(ways))
            ways[name](fields)
            faults[name] += 1
        if random.random() < 0.2:
            fields["note"] = ["another key", {"departing_flight": "F1"}]
        verdict = DOMAIN.check(instance, json.dumps(fields))
        assert tuple(verdict.parts) == PARTS
        assert tuple(verdict.parts.values()) == expected(instance, fields, right), (instance.id, fields, verdict)
        assert verdict.solved == (verdict.reason == "")
        judged[verdict.solved] += 1
        first_fault[next((part for part, held in verdict.parts.items() if not held), "none")] += 1
    assert min(judged[True], judged[False]) >= 250, judged
    assert len(faults) == 8 and min(faults.values()) >= 40, faults
    assert min(first_fault[part] for part in (*PARTS, "none")) >= 40, first_fault


def test_each_kind_of_unsuitable_place_is_named() -> None:
    reasons: Counter[Any] = Counter()
    for instance in made(100):
        first, second, _ = min(right_answers(instance.id)[2])
        for place in instance.problem.accommodations:
            answer = dict(zip(KEYS, (first, second, place.name), strict=True))
            reasons[DOMAIN.check(instance, json.dumps(answer)).reason.partition(":")[2][:14]] += 1
    assert set(reasons) == {"", " it is of type", " its house rul", " it is let for", " with it the t"}
    assert min(reasons.values()) >= 20, reasons


def test_the_budget_is_checked_in_the_column_that_exceeds_it() -> None:
    from dataclasses import replace

    instance = next(i for i in made() if i.problem.task.people > 1)
    first, second, hotel = min(right_answers(instance.id)[2])
    problem, task = instance.problem, instance.problem.task
    fare = next(f.price for f in problem.departing if f.number == first) * task.people
    back = next(f.price for f in problem.returning if f.number == second) * task.people
    answer = json.dumps(dict(zip(KEYS, (first, second, hotel), strict=True)))
    for budget, held in ((fare - 1, 0), (fare, 1), (fare + back - 1, 1), (fare + back, 2)):
        poorer = replace(instance, problem=replace(problem, task=replace(task, budget=budget)))
        verdict = DOMAIN.check(poorer, answer)
        assert sum(verdict.parts.values()) == held and "budget" in verdict.reason


def test_a_key_that_stands_twice_says_nothing() -> None:
    first, second, hotel = min(right_answers(made()[0].id)[2])
    twice = f'{{"departing_flight": "{first}", "returning_flight": "{second}", "returning_flight": "{second}"}}'
    verdict = DOMAIN.check(made()[0], twice)
    assert list(verdict.parts.values()) == [True, False, False] and "2 times" in verdict.reason


def test_blanks_do_not_matter_in_an_answer() -> None:
    first, second, hotel = min(right_answers(made()[0].id)[2])
    answer = dict(zip(KEYS, (f" {first}", f"{second}\n", hotel.replace(" ", "  ")), strict=True))
    assert DOMAIN.check(made()[0], f"\n{json.dumps(answer, indent=4)}\n\n").solved


# The whole loop, in the sandbox


def played(instance: Instance, condition: str, engine: str = "rules") -> Trajectory:
    from lab.models.connect import connect
    from lab.sandbox import refusal
    from procllm.conditions import network_of
    from procllm.loop import play

    if reason := refusal():
        pytest.skip(reason)
    return play(DOMAIN, instance, network_of(condition, DOMAIN), connect(engine))


@pytest.mark.campaign
def test_rules_solve_every_third_made_request() -> None:
    assert [i.id for i in made()[::3] if not played(i, "Human-TN").verdict.solved] == []


# Official data


@pytest.mark.slow
@pytest.mark.official
@needs_official
def test_thirty_nine_official_requests_are_left() -> None:
    world = travelplanner.load("official")
    assert funnel(world.tasks("validation"), world.listings) == (60, 49, 44, 42, 39)
    chosen = instances(data="official")
    assert len(chosen) == 39 and chosen[0].id == "travel-validation-003"
    assert instances(5, data="official") == chosen[:5]
    assert sorted(i.id for i in chosen) == [i.id for i in chosen]


@pytest.mark.official
@needs_official
def test_every_official_request_to_one_city_is_read_right() -> None:
    world = travelplanner.load("official")
    single = [task for split in world.splits for task in world.tasks(split) if task.days == 3]
    assert len(single) == 75
    assert [task.id for task in single if trip(task.goal) != trip_of(task)] == []


@pytest.mark.slow
@pytest.mark.official
@needs_official
def test_official_answers_are_judged_as_the_enumeration_does() -> None:
    random = Random("official travel answers")
    solved: Counter[Any] = Counter()
    for instance in instances(data="official"):
        right = enumerate_right(instance)
        for number in range(6):
            fields: dict[str, object] = dict(zip(KEYS, random.choice(sorted(right[2])), strict=True))
            if number > 2:
                ways = spoilers(instance, random)
                ways[random.choice(["unknown_flight", "dearest", "any_place", "another_city", "missing"])](fields)
            verdict = DOMAIN.check(instance, json.dumps(fields))
            assert tuple(verdict.parts.values()) == expected(instance, fields, right), (instance.id, fields, verdict)
            solved[verdict.solved] += 1
    assert min(solved.values()) >= 39


@pytest.mark.campaign
@pytest.mark.official
@needs_official
@pytest.mark.parametrize("condition", ["Human-TN", "No-TN"])
def test_rules_solve_every_official_request(condition: str) -> None:
    assert [i.id for i in instances(data="official") if not played(i, condition).verdict.solved] == []
