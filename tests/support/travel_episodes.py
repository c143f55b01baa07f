"""TravelPlanner episodes on synthetic data, for the tests of SDP's adapter."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Any

from lab.models.backbone import Answer, Backbone, Call, Ledger
from lab.models.connect import connect
from lab.models.engines import parse
from lab.models.prompts import Prompt
from sdp.adapters.travelplanner.adapter import Policy, TravelPlannerAdapter
from sdp.adapters.travelplanner.options import Catalogue
from sdp.adapters.travelplanner.prompts import CITIES, CitiesFields, Selection
from sdp.adapters.travelplanner.trip import even_route, itinerary, state_from_json, state_plan
from sdp.adapters.travelplanner.validators import REOPEN
from sdp.loop import Settings, run_episode
from sdp.trajectory import Predicate, Trajectory
from standins.sdp.travelplanner import nearest
from worlds.travelplanner import load
from worlds.travelplanner.listings import Listings
from worlds.travelplanner.tasks import TripTask
from worlds.travelplanner.world import TravelPlanner

WORLD = load("synthetic")
LISTINGS_0 = WORLD.listings
TASKS = [*WORLD.tasks("validation"), *WORLD.tasks("train")]
POLICY, LOOP = Policy(), Settings()


def play(
    task: TripTask, engine: str | Backbone = "rules", policy: Policy = POLICY, loop: Settings = LOOP,
    listings: Listings = LISTINGS_0,
) -> Trajectory:  # fmt: skip
    ledger = Ledger(connect(engine) if isinstance(engine, str) else engine)
    adapter = TravelPlannerAdapter(task, TravelPlanner(listings, {}), ledger, policy)
    return run_episode(task.id, adapter, loop, ledger)


def catalogue_of(listings: Listings = LISTINGS_0) -> Catalogue:
    """A catalogue of a desk over these listings, at which a task is open."""
    desk = TravelPlanner(listings, {})
    desk.reset(TASKS[0])
    return Catalogue(desk)


CATALOGUE = catalogue_of()


def delivered(task: TripTask, trajectory: Trajectory) -> list[dict[str, Any]]:
    """What the last certified state says."""
    return itinerary(state_from_json(task, trajectory.states[-1]))


@cache
def played(number: int, engine: str = "rules@0.5", undo: int = 0) -> Trajectory:
    return play(TASKS[number], engine, Policy(undo=undo))


class Picking:
    """A backbone that takes any listed option, or the `dearest`; with probability `off` one that is not listed."""

    engine = parse("rules")

    def __init__(self, seed: int = 0, off: float = 0.0, dearest: bool = False) -> None:
        self.random, self.off, self.dearest = Random(seed), off, dearest
        self.asked: list[dict[str, Any]] = []

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        fields = dict(prompt.fill(**fields))
        self.asked.append(fields)
        if prompt is CITIES:
            return Answer(nearest(CitiesFields(**fields)), Call("propose", prompt.name, "rules"))
        last = len(fields["options"])
        choice = last if self.dearest else self.random.randint(1, last)
        choice = last + 7 if self.random.random() < self.off else choice
        return Answer(Selection(choice=choice), Call("realize", prompt.name, "rules"))

    def request(self, prompt: Prompt, sample: int = 0, **fields: Any) -> str:
        return ""


def by_days(days: int) -> TripTask:
    return next(task for task in TASKS if task.days == days)


def plan_for(task: TripTask, every_meal: bool = False) -> tuple[Predicate, ...]:
    return state_plan(task, even_route(task, task.ref_cities), every_meal)


def reopened(trajectory: Trajectory) -> list[int]:
    return [attempt.step for attempt in trajectory.attempts if attempt.kind == REOPEN]
