"""The official evaluation of a plan: eight commonsense checks, up to five hard constraints, and six rates over plans.

It gives the official verdicts with all their quirks, adds a reason for each failure, and never raises for a bad plan.
Source: Xie et al. 2024 (TravelPlanner), the behaviour of the public evaluation scripts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

from worlds.travelplanner import hard
from worlds.travelplanner.commonsense import COMMONSENSE, Check, CommonsenseCheck, failed, information_in_sandbox
from worlds.travelplanner.itinerary import Unreadable, days_read
from worlds.travelplanner.listings import Listings
from worlds.travelplanner.tasks import TripTask

UnknownFlights = Literal["fail", "pass"]
Denominators = Literal["stated", "official"]  # numbers of the given tasks, or the benchmark's fixed numbers
PartiesRule = Literal["current", "before 2024-04-26"]
SANDBOX_CHECK, ABSENCE_CHECK = "is_valid_information_in_sandbox", "is_not_absent"
# The official script always divides by these (plans, hard constraints), for any number of plans.
OFFICIAL_DENOMINATORS = {"train": (45, 105), "validation": (180, 420)}


@dataclass(frozen=True, slots=True)
class PlanVerdict:
    """The evaluator's verdict on one plan.

    commonsense: the eight checks by their official names. hard: the five constraints, None if the query does not set
    one, `Check(None, …)` if it was not judged. A plan that was not delivered fails all commonsense checks.
    error: set if the official program would crash on this plan (and so judge no plan at all). The check that found the
    error fails with that reason, no hard constraint is judged, and the plan fails.
    """

    delivered: bool
    commonsense: Mapping[str, Check]
    hard: Mapping[str, Check | None]
    error: str | None = None

    @property
    def commonsense_passed(self) -> bool:
        return all(check.passed for check in self.commonsense.values())

    @property
    def hard_passed(self) -> bool:
        """Whether every constraint that the query sets was judged and met."""
        # `Check(None)` does not pass: the official macro rate also counts only plans whose constraints were judged.
        return all(check.passed for check in self.hard.values() if check is not None)

    @property
    def final(self) -> bool:
        return self.delivered and self.commonsense_passed and self.hard_passed

    @property
    def failures(self) -> dict[str, str]:
        """The reason of every check that failed, commonsense first."""
        checks = {**self.commonsense, **self.hard}
        return {name: check.reason for name, check in checks.items() if check is not None and check.passed is False}


def evaluate(
    task: TripTask,
    plan: Any,
    listings: Listings,
    *,
    unknown_flights: UnknownFlights = "fail",
    parties_rule: PartiesRule = "current",
) -> PlanVerdict:
    """Judge a plan (a list of day objects, as parsed from JSON) as the official program does.

    unknown_flights: how to judge a flight number that is not in the table, on a route-day whose flights are not all
    known. "pass" accepts it at no cost, which gives an upper bound of the result with the full flight table; "fail"
    gives a lower bound. parties_rule: "before 2024-04-26" repeats the upstream typo by which every accommodation
    allowed parties.
    """
    if not plan:  # a plan counts as delivered if it is truthy: an empty list is no plan, [{}] is one
        undelivered = failed("no plan was delivered")
        return PlanVerdict(False, dict.fromkeys(COMMONSENSE, undelivered), hard.unjudged(task, undelivered.reason))
    checks: dict[str, CommonsenseCheck] = COMMONSENSE | {
        SANDBOX_CHECK: partial(information_in_sandbox, unknown_flights=unknown_flights)
    }
    try:
        days = days_read(plan, task.days)
    except Unreadable as problem:
        reason = str(problem)
        return PlanVerdict(True, dict.fromkeys(COMMONSENSE, failed(reason)), hard.unjudged(task, reason), reason)
    commonsense: dict[str, Check] = {}
    error = ""
    for name, check in checks.items():
        try:
            commonsense[name] = check(task, days, listings)
        # The official script would crash here, for all plans of its file. We continue, for the other checks' reasons.
        except Unreadable as problem:
            commonsense[name] = failed(str(problem))
            error = error or str(problem)
    # The official script judges the hard constraints only if these two of the eight checks pass.
    if error or not (commonsense[SANDBOX_CHECK].passed and commonsense[ABSENCE_CHECK].passed):
        reason = error or "not judged, since the plan is incomplete or names things that do not exist"
        return PlanVerdict(True, commonsense, hard.unjudged(task, reason), error or None)
    return PlanVerdict(True, commonsense, hard.judge(task, days, listings, parties_rule))


class Rate(NamedTuple):
    """`passed` of `n`."""

    passed: int
    n: int

    @property
    def percent(self) -> float:
        return 100 * self.passed / self.n if self.n else float("nan")


@dataclass(frozen=True, slots=True)
class Rates:
    """The six rates. Micro rates count constraints; macro rates count plans that meet all their constraints."""

    delivery: Rate
    commonsense_micro: Rate
    commonsense_macro: Rate
    hard_micro: Rate
    hard_macro: Rate
    final: Rate


def rates(verdicts: Sequence[PlanVerdict], tasks: Sequence[TripTask], denominators: Denominators = "stated") -> Rates:
    """The six rates. verdicts, tasks: in the same order.

    denominators: "stated" counts the given tasks and the hard constraints that their queries set; "official" always
    uses the split's fixed numbers. Raises ValueError if the lengths differ, or for a split without fixed numbers.
    """
    if len(verdicts) != len(tasks):
        raise ValueError(f"{len(verdicts)} verdicts for {len(tasks)} tasks; give one for each, in the same order")
    plans, constraints = len(tasks), sum(task.hard_constraints for task in tasks)
    if denominators == "official":
        splits = {task.split for task in tasks}
        if len(splits) != 1 or not splits <= OFFICIAL_DENOMINATORS.keys():
            raise ValueError(
                f"no official denominators for {sorted(splits)}; give tasks of one of "
                f"{sorted(OFFICIAL_DENOMINATORS)}, or use denominators='stated'"
            )
        plans, constraints = OFFICIAL_DENOMINATORS[splits.pop()]
    elif denominators != "stated":
        raise ValueError(f"denominators={denominators!r}; choose 'stated' or 'official'")
    return Rates(
        delivery=Rate(sum(verdict.delivered for verdict in verdicts), plans),
        commonsense_micro=Rate(
            sum(bool(check.passed) for verdict in verdicts for check in verdict.commonsense.values()),
            plans * len(COMMONSENSE),
        ),
        commonsense_macro=Rate(sum(verdict.commonsense_passed for verdict in verdicts), plans),
        hard_micro=Rate(
            # A constraint that was not judged stays in the denominator and does not pass.
            sum(bool(check.passed) for verdict in verdicts for check in verdict.hard.values() if check),
            constraints,
        ),
        hard_macro=Rate(sum(verdict.hard_passed for verdict in verdicts), plans),
        final=Rate(sum(verdict.final for verdict in verdicts), plans),
    )
