"""SDP's operators for TravelPlanner (A.2)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import Any, Literal

from lab.models.backbone import Backbone, MalformedAnswer
from sdp.adapters.travelplanner import trip
from sdp.adapters.travelplanner.options import (
    Catalogue,
    KeptBack,
    Option,
    Options,
    Search,
    anything,
    attraction_options,
    cap,
    destinations,
    meal_options,
    nothing,
    stay_options,
    transport_options,
    ways,
)
from sdp.adapters.travelplanner.prompts import CITIES, SELECT, Candidate, ListedOption, RejectedChoice
from sdp.adapters.travelplanner.trip import Decision, Leg, Route, TripState
from sdp.adapters.travelplanner.undo import frugal, least_for_meals, undoing_tail
from sdp.adapters.travelplanner.validators import BLANK, REOPEN, Report, fault
from sdp.operators import NOTHING, Adapter, Verdict, check_choices, why
from sdp.trajectory import Attempt, Predicate, Trajectory
from worlds.travelplanner.tasks import TripTask
from worlds.travelplanner.world import TravelPlanner


@dataclass(frozen=True)
class Policy:
    """Options of the adapter.

    every_meal: ask for all meals of all days, as A.2 words its predicate; else, as the evaluator does, for all meals of
    days without travel, and on travel days for as many as the budget allows.

    cities: "reference" (the benchmark's own sequence, from its annotation: privileged) or "propose" (chosen by Propose
    with the search tools). order: "costly first", or "numbered" as A.2 numbers the predicates.
    keep_back: Realize keeps back the least that the remaining meals cost by the listings (not in the paper).
    undo: how often Replan may undo earlier decisions (beyond the paper; 0 is the paper's retry-only Replan).
    """

    every_meal: bool = False
    cities: Literal["reference", "propose"] = "reference"
    order: Literal["costly first", "numbered"] = "costly first"
    keep_back: bool = False
    undo: int = 0

    def __post_init__(self) -> None:
        check_choices(self)
        if self.undo < 0 or (self.undo and self.order == "numbered"):
            raise ValueError(f"undo={self.undo} with order={self.order!r}; undo >= 0, and above 0 with 'costly first'")


@dataclass(frozen=True, slots=True)
class Choice:
    """An action: decisions for the target's slots, and the draft that they make together with what is certified.

    note: why nothing could be chosen; then the world checks nothing. searches: those made for this choice.
    """

    decisions: tuple[Decision, ...]
    draft: Any
    note: str = ""
    submit: bool = False
    searches: tuple[Search, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The decisions as [day, slot, text]; the draft follows from them and the state.

        Searches are part of the observation: whether a city was searched before does not change the action.
        """
        chosen = [[decision.day, decision.slot, decision.text] for decision in self.decisions]
        return {"decisions": chosen, "note": self.note, "submit": self.submit}


@dataclass(frozen=True)
class TravelPlannerAdapter(Adapter[TripState, Choice, Report]):
    """One query. Frozen: during an episode only the world, the accounts of calls and the listings found change."""

    task: TripTask
    world: TravelPlanner
    backbone: Backbone
    policy: Policy = Policy()

    @cached_property
    def catalogue(self) -> Catalogue:
        """What the search tools have listed so far."""
        return Catalogue(self.world)

    def start(self) -> tuple[TripState, Predicate]:
        """s_0: nothing decided; the city sequence, if the benchmark gives it."""
        self.world.reset(self.task)
        # By A.2 the plan follows from the task's shape and the city sequence; the paper does not say where the sequence
        # comes from. The reference sequence is privileged: it comes from the benchmark's annotation.
        route = trip.even_route(self.task, self.task.ref_cities) if self.policy.cities == "reference" else ()
        return TripState(self.task, route), trip.goal(self.task)

    def propose(self, state: TripState, goal: Predicate, planned: Sequence[Predicate]) -> Sequence[Predicate]:
        """The rest of the plan. It follows from the task's shape and the cities; only the cities may need a prompt.

        So one predicate per call (Eq. 1) makes no difference here: it gives the same plan in more calls.
        """
        routed = planned and planned[0].kind == trip.OUTBOUND
        route = trip.route_of(planned[0]) if routed else state.route or self._choose_route()
        plan = trip.state_plan(self.task, route, self.policy.every_meal, self.policy.order == "numbered")
        return plan[len(planned) :]

    def realize(self, state: TripState, target: Predicate, failures: Sequence[Attempt], view: Any) -> Choice:
        """Filter the options and let the backbone select; a predicate about meals is decided slot by slot."""
        if target.kind == REOPEN:
            return Choice((), None)
        if target.kind == BLANK:
            return self._unplanned(state, target, failures)
        # Each slot's options exclude what earlier slots took, and see the budget that these left (A.2).
        decisions: tuple[Decision, ...] = ()
        for slots in _selections(target):
            current = state.reopen(trip.slots_of(target)).decide(decisions)
            options = self._options(current, target, slots[0])
            if not options.options and target.about.get("required", True):
                return Choice((), None, note=options.diagnostic, searches=self.catalogue.new_searches())
            decisions += self._select(
                current, target, options, failures, slots, trip=_trip_text(self.task, current.route),
                slot=f"{slots[0][1]} of day {slots[0][0]}", left=self.task.budget - current.cost,
                wanted=list(current.cuisines_missing),
            )  # fmt: skip
        draft = trip.itinerary(_on_its_route(state, target).decide(decisions))
        return Choice(decisions, draft, submit=target.kind == trip.RENDER, searches=self.catalogue.new_searches())

    def act(self, action: Choice) -> Report:
        """Let the world check the decisions, or submit the itinerary."""
        if action.draft is None:
            text = action.note or "Nothing is put to the desk."
            return Report(action.decisions, text, note=action.note, searches=action.searches)
        if action.submit:
            step = self.world.step(f"Submit[{json.dumps(action.draft)}]")
            return Report((), step.text, done=step.done, searches=action.searches)
        slots = [[decision.day, decision.slot] for decision in action.decisions]
        step = self.world.step(f"Check[{json.dumps({'slots': slots, 'draft': action.draft})}]")
        return Report(action.decisions, step.text, step.facts, searches=action.searches)

    def validate(self, tail: Sequence[Predicate], observation: Report, failures: Sequence[Attempt]) -> Verdict:
        """One predicate at a time: each slot needs its own selection, so nothing ever cascades here."""
        problem = fault(tail[0], observation)
        return Verdict(0, problem) if problem else Verdict(1, "certified")

    def advance(self, state: TripState, certified: Sequence[Predicate], observation: Report) -> TripState:
        """Add the certified decisions; take back those that a certified undoing step reopened."""
        head = certified[0]
        if head.kind == REOPEN:
            return state.reopen((day, slot) for day, slot in head.about["slots"])
        return _on_its_route(state, head).decide(observation.decisions)

    def replan(self, state: TripState, goal: Predicate, trajectory: Trajectory, view: Any) -> Sequence[Predicate]:
        """Retry only (A.2): the same tail. With `policy.undo`, first reopen decisions that cost more than they must."""
        plan = trajectory.plans[-1].predicates
        remaining = plan[trajectory.certified :]
        undone = sum(predicate.kind == REOPEN for predicate in plan)
        # The paper cannot take certified decisions back (A.2); what follows goes beyond it.
        if undone >= self.policy.undo:
            return remaining
        # A retry can help, unless earlier decisions are in the way of the stuck predicate.
        failures = trajectory.failures
        if remaining[0].kind != trip.BUDGET and not any(
            failure.action and failure.action["note"] for failure in failures
        ):
            return remaining
        tail = undoing_tail(self.catalogue, state, remaining, self.policy.every_meal)
        return remaining if tail is None else tail

    def without_content(self, predicate: Predicate) -> Predicate:
        """It only says how many selections the predicate would have asked for; no prompt shows the number."""
        return Predicate(NOTHING, BLANK, {"selections": len(_selections(predicate))})

    def _unplanned(self, state: TripState, target: Predicate, failures: Sequence[Attempt]) -> Choice:
        """As many selections without the plan: among any options, ignoring slot, route, cuisines and budget."""
        decisions: tuple[Decision, ...] = ()
        for number in range(target.about["selections"]):
            current = state.decide(decisions)
            texts = [decision.text for decision in current.decisions]
            random = Random(f"{self.task.id} {texts} {len(failures)} {number}")
            options = Options(anything(self.catalogue, self.task, random))
            fields = {
                "trip": self.task.goal,
                "slot": NOTHING,
                "left": self.task.budget,
                "wanted": [],
            }
            decisions += self._select(current, target, options, failures, [], **fields)
        return Choice(decisions, trip.itinerary(state.decide(decisions)), searches=self.catalogue.new_searches())

    def _options(self, state: TripState, target: Predicate, slot: tuple[int, str]) -> Options:
        kept_back: KeptBack = nothing
        if self.policy.keep_back:
            meal = slot if target.kind == trip.MEALS_OF_DAY else None
            kept_back = least_for_meals(self.catalogue, _on_its_route(state, target), meal, self.policy.every_meal)
        if target.kind in trip.TRANSPORT:
            options = transport_options(self.catalogue, state, target, kept_back)
        elif target.kind == trip.STAY:
            options = stay_options(self.catalogue, state, target, kept_back)
        elif target.kind == trip.MEALS_OF_DAY:
            options = meal_options(self.catalogue, state, target, slot[1], kept_back)
        else:
            options = attraction_options(self.catalogue, state, target)
        if target.about.get("frugal"):
            options = frugal(self.catalogue, state, target, options, self.policy.every_meal)
        # Filtered before the prompt is asked, so that whatever is selected passes Validate (A.2).
        return cap(options, state.cuisines_missing)

    def _select(
        self, state: TripState, target: Predicate, options: Options, failures: Sequence[Attempt],
        slots: Sequence[tuple[int, str]], **fields: Any,
    ) -> tuple[Decision, ...]:  # fmt: skip
        """Ask the backbone for one of the options; if there are none, an optional slot stays empty. fields: fields of
        the prompt, on the trip and on what is to be decided.
        """
        if not options.options:
            return tuple(Decision(day, slot, trip.EMPTY) for day, slot in slots)
        answer = self.backbone.ask(
            SELECT,
            target=target.text,
            decided=[f"day {d.day} {d.slot}: {d.text}" for d in state.decisions if d.text != trip.EMPTY],
            options=[
                ListedOption(number=number, text=option.label, cost=option.cost, cuisines=list(option.cuisines))
                for number, option in enumerate(options.options, start=1)
            ],
            failures=_rejected_choices(failures, target),
            **fields,
        )
        choice = answer.value.choice
        if 1 <= choice <= len(options.options):
            return options.options[choice - 1].decisions
        # Not on the list: the world checks it anyway, and Validate rejects it.
        return tuple(Decision(day, slot, f"option {choice}") for day, slot in slots)

    def _choose_route(self) -> Route:
        task = self.task
        candidates = [_candidate(self.catalogue, task, city) for city in destinations(self.catalogue, task)]
        answer = self.backbone.ask(
            CITIES, trip=_trip_text(task, ()), count=task.visiting_city_number, candidates=candidates
        )
        cities = answer.value.cities
        if len(set(cities)) != task.visiting_city_number or not set(cities) <= {c.city for c in candidates}:
            raise MalformedAnswer(f"{cities} are not {task.visiting_city_number} different cities of the list")
        return trip.even_route(task, cities)


def _selections(target: Predicate) -> list[list[tuple[int, str]]]:
    """The slots of a target, grouped by selection: one for all nights of a stay, one for each meal."""
    slots = trip.slots_of(target)
    return [[slot] for slot in slots] if target.kind == trip.MEALS_OF_DAY else [slots] if slots else []


def _on_its_route(state: TripState, target: Predicate) -> TripState:
    """The state with the route of a first transport: Propose may have chosen the route, or Replan changed it."""
    return replace(state, route=trip.route_of(target)) if target.kind == trip.OUTBOUND else state


def _trip_text(task: TripTask, route: Route) -> str:
    stops = [task.org, *(f"{stop.city} ({stop.nights} nights)" for stop in route), task.org]
    return f"{task.goal} Route: {' - '.join(stops)}." if route else task.goal


def _rejected_choices(failures: Sequence[Attempt], target: Predicate) -> list[RejectedChoice]:
    """Each rejected choice once, with its count: repeated lines would only make the prompt longer."""
    chosen = (failure.action["decisions"] if failure.action else [] for failure in failures)
    choices = ("; ".join(text for _, _, text in decisions) or "nothing" for decisions in chosen)
    counts = Counter(zip(choices, (why(failure, target) for failure in failures), strict=True))
    return [RejectedChoice(choice=choice, reason=reason, times=times) for (choice, reason), times in counts.items()]


def _candidate(catalogue: Catalogue, task: TripTask, city: str) -> Candidate:
    """What the search tools say about a city, before any plan."""
    route = trip.even_route(task, (city,) * task.visiting_city_number)
    state = TripState(task, route)
    there = ways(catalogue, Leg(1, task.dates[0], task.org, city), state)
    back = ways(catalogue, Leg(task.days, task.dates[-1], city, task.org), state)
    stay = next(p for p in trip.state_plan(task, route, False) if p.kind == trip.STAY)
    stays = stay_options(catalogue, state, stay).options
    return Candidate(
        city=city, there=_least(there), back=_least(back), stay=_least(stays),
        restaurants=len(catalogue.restaurants(city)), attractions=len(catalogue.attractions(city)),
    )  # fmt: skip


def _least(options: Sequence[Option]) -> float | None:
    return min((option.cost for option in options), default=None)
