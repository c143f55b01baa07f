"""TravelPlanner's evaluator against official data and published scores; skipped where `LAB_DATA` has neither."""

from __future__ import annotations

import csv
import gzip
import json
import os
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import pytest

from worlds.travelplanner.evaluator import PlanVerdict, evaluate, rates
from worlds.travelplanner.expert import annotated_plans, solve
from worlds.travelplanner.itinerary import days_read, plan_bill
from worlds.travelplanner.listings import Listings, read_accommodations
from worlds.travelplanner.strict import strict_faults
from worlds.travelplanner.tasks import TripTask, load_tasks

DATA = Path(os.environ.get("LAB_DATA") or "nowhere")
PLANS = DATA / "published" / "travelplanner_evoagent_validation_plans.jsonl.gz"
PUBLISHED = DATA / "published" / "sdp_tables.csv"

pytestmark = [
    pytest.mark.official,
    pytest.mark.skipif(
        not (DATA / "travelplanner" / "queries_train.jsonl.gz").exists(), reason="LAB_DATA names no TravelPlanner data"
    ),
]
needs_published = pytest.mark.skipif(not PLANS.exists(), reason="LAB_DATA has no published TravelPlanner plans")

BACKBONES = {
    "gemini": "Gemini-Pro", "gpt-3.5-turbo-1106": "GPT-3.5", "gpt-4-1106-preview": "GPT-4",
    "mistral-7B-32K": "Mistral-7B",
}  # fmt: skip
METRICS = {
    "Delivery Rate": "delivery", "Commonsense Micro": "commonsense_micro", "Commonsense Macro": "commonsense_macro",
    "Hard Constraint Micro": "hard_micro", "Hard Constraint Macro": "hard_macro", "Final Pass Rate": "final",
}  # fmt: skip
ROUNDING = 0.05 + 1e-9
# Published cells that these plans cannot give, whatever the unknown flights are. Two of GPT-4 Direct's cells (15.8 of
# 180 plans, 27.5 of 420 constraints) and ReAct's are no multiple of one plan or constraint, so they do not come from
# an evaluation of one run. GPT-4 EvoAgent's is one constraint of 420 above the upper bound; why is not known.
OUTSIDE = {
    ("gpt-4-1106-preview", "Direct", "Commonsense Micro"), ("gpt-4-1106-preview", "Direct", "Hard Constraint Micro"),
    ("gpt-4-1106-preview", "Direct", "Hard Constraint Macro"), ("gpt-3.5-turbo-1106", "ReAct", "Hard Constraint Macro"),
    ("gpt-4-1106-preview", "EvoAgent(1,3)", "Hard Constraint Micro"),
}  # fmt: skip
# The flight of the worked example in the benchmark's prompt, which some plans copy word for word.
EXAMPLE_FLIGHT = "F3633413"


@dataclass(frozen=True)
class Bounds:
    """Verdicts on a run's plans with unknown flights failing and passing."""

    low: list[PlanVerdict]
    high: list[PlanVerdict]
    plans: list[object]


@pytest.fixture(scope="module")
def listings() -> Listings:
    return Listings.load(DATA)


@pytest.fixture(scope="module")
def validation() -> list[TripTask]:
    return load_tasks("validation", DATA)


@pytest.fixture(scope="module")
def runs(listings: Listings, validation: list[TripTask]) -> dict[tuple[str, str], Bounds]:
    plans: dict[tuple[str, str], dict[int, object]] = defaultdict(dict)
    with gzip.open(PLANS, "rt", encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            plans[record["backbone"], record["method"]][record["idx"] - 1] = record["plan"]

    def judge(run: dict[int, object], unknown: str) -> list[PlanVerdict]:
        return [
            evaluate(task, run[task.idx], listings, unknown_flights=unknown, parties_rule="before 2024-04-26")
            for task in validation
        ]

    return {
        name: Bounds(judge(run, "fail"), judge(run, "pass"), [run[i] for i in range(len(validation))])
        for name, run in plans.items()
    }


def published_rates() -> dict[tuple[str, str, str], float]:
    with open(PUBLISHED, encoding="utf-8", newline="") as text:
        return {
            (row["backbone"], row["row_method"], row["metric"]): float(row["value"])
            for row in csv.DictReader(text)
            if row["table"] == "cross-check TravelPlanner (EvoAgent paper)"
        }


def test_the_tables_have_the_official_numbers_of_rows(listings: Listings) -> None:
    assert sum(len(listings.cities(state)) for state in listings.states) == 312
    assert len(read_accommodations(DATA / "travelplanner")) == 4285
    assert len(load_tasks("train", DATA)) == 45 and len(load_tasks("validation", DATA)) == 180


def test_the_annotated_train_plans_score_100_on_every_rate(listings: Listings) -> None:
    tasks, plans = load_tasks("train", DATA), annotated_plans(DATA)
    verdicts = [evaluate(task, plans[task.id], listings) for task in tasks]
    for denominators in ("stated", "official"):
        result = rates(verdicts, tasks, denominators)
        for name in METRICS.values():
            assert getattr(result, name).percent == 100, (denominators, name)


def test_both_denominators_agree_on_whole_splits(validation: list[TripTask]) -> None:
    nothing = [PlanVerdict(False, {}, {})] * len(validation)
    assert rates(nothing, validation, "stated").hard_micro.n == 420
    assert rates(nothing, validation, "official").hard_micro.n == 420


@pytest.mark.slow
@needs_published
def test_published_rates_lie_between_unknown_flights_failing_and_passing(
    runs: dict[tuple[str, str], Bounds], validation: list[TripTask]
) -> None:
    published = published_rates()
    assert len(runs) == 21
    outside = set()
    for (backbone, method), run in runs.items():
        low, high = rates(run.low, validation, "official"), rates(run.high, validation, "official")
        for metric, name in METRICS.items():
            stopped = stopped_checks(run.high) if name == "commonsense_micro" else 0
            most = 100 * (getattr(high, name).passed + stopped) / getattr(high, name).n
            value = published[BACKBONES[backbone], method, metric]
            if not getattr(low, name).percent - ROUNDING <= value <= most + ROUNDING:
                outside.add((backbone, method, metric))
    assert outside == OUTSIDE


def stopped_checks(verdicts: list[PlanVerdict]) -> int:
    """Checks at which the official program stops: their publisher must have judged those plans in another way."""
    return sum(
        check.reason == verdict.error for verdict in verdicts if verdict.error for check in verdict.commonsense.values()
    )


@needs_published
def test_medium_and_hard_queries_leave_nothing_to_bounds_but_the_example_flight(
    runs: dict[tuple[str, str], Bounds], validation: list[TripTask]
) -> None:
    for run in runs.values():
        kept = [
            task.idx
            for task in validation
            if task.level != "easy" and EXAMPLE_FLIGHT not in json.dumps(run.plans[task.idx])
        ]
        tasks = [validation[i] for i in kept]
        assert rates([run.low[i] for i in kept], tasks) == rates([run.high[i] for i in kept], tasks)


@pytest.mark.slow
def test_every_train_medium_and_hard_query_has_an_honest_plan_through_its_reference_cities(
    listings: Listings, validation: list[TripTask]
) -> None:
    tasks = load_tasks("train", DATA) + [task for task in validation if task.level != "easy"]
    assert len(tasks) == 165
    for task in tasks:
        solution = solve(task, listings, task.ref_cities)
        assert solution.feasible, (task.id, solution.cost, task.budget)
        assert evaluate(task, solution.plan, listings).final, task.id
        assert strict_faults(task, solution.plan, listings) == [], task.id


def test_no_annotated_plan_is_cheaper_than_the_exact_search_for_its_cities(listings: Listings) -> None:
    plans = annotated_plans(DATA)
    for task in load_tasks("train", DATA):
        if task.id == "train-041":  # its sights are in another city than its day, which an honest plan may not do
            continue
        days = days_read(plans[task.id], task.days)
        cities = list(dict.fromkeys(day.cities[-1] for day in days[:-1]))
        assert solve(task, listings, cities).cost <= plan_bill(days, task.people, listings).total, task.id


def test_only_one_annotated_plan_has_what_an_honest_reader_objects_to(listings: Listings) -> None:
    plans = annotated_plans(DATA)
    faulty = [task.id for task in load_tasks("train", DATA) if strict_faults(task, plans[task.id], listings)]
    assert faulty == ["train-041"]  # day 4 sees San Angelo and day 5 Houston, from a hotel in San Antonio
