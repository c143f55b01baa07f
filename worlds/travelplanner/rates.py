"""The six rates that papers report on TravelPlanner, each with its numerator and denominator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from worlds.travelplanner.commonsense import COMMONSENSE
from worlds.travelplanner.evaluator import PlanVerdict
from worlds.travelplanner.tasks import TripTask

# The official script divides by these, however many plans it was given: (plans, hard constraints).
OFFICIAL_DENOMINATORS = {"train": (45, 105), "validation": (180, 420)}

Denominators = Literal["stated", "official"]  # the tasks that were played, or the benchmark's fixed counts


class Rate(NamedTuple):
    """`passed` of `n`."""

    passed: int
    n: int

    @property
    def percent(self) -> float:
        return 100 * self.passed / self.n if self.n else float("nan")


@dataclass(frozen=True, slots=True)
class Rates:
    """The six rates. Micro counts constraints, macro counts plans that meet all of their constraints."""

    delivery: Rate
    commonsense_micro: Rate
    commonsense_macro: Rate
    hard_micro: Rate
    hard_macro: Rate
    final: Rate


def rates(verdicts: Sequence[PlanVerdict], tasks: Sequence[TripTask], denominators: Denominators = "stated") -> Rates:
    """The rates of verdicts on tasks, in the same order.

    denominators: "stated" counts the tasks given and the hard constraints that their queries set; "official" uses the
    fixed numbers of the split, whatever is given. Raises ValueError if the lengths differ, or for a split without them.
    """
    if len(verdicts) != len(tasks):
        raise ValueError(f"{len(verdicts)} verdicts for {len(tasks)} tasks; give one for each, in the same order")
    plans, constraints = count(tasks, denominators)
    return Rates(
        delivery=Rate(sum(verdict.delivered for verdict in verdicts), plans),
        commonsense_micro=Rate(
            sum(bool(check.passed) for verdict in verdicts for check in verdict.commonsense.values()),
            plans * len(COMMONSENSE),
        ),
        commonsense_macro=Rate(sum(verdict.commonsense_passed for verdict in verdicts), plans),
        hard_micro=Rate(
            # A constraint that was not judged stays in the denominator and is no pass.
            sum(bool(check.passed) for verdict in verdicts for check in verdict.hard.values() if check),
            constraints,
        ),
        hard_macro=Rate(sum(verdict.hard_passed for verdict in verdicts), plans),
        final=Rate(sum(verdict.final for verdict in verdicts), plans),
    )


def count(tasks: Sequence[TripTask], denominators: str) -> tuple[int, int]:
    """The number of plans and of hard constraints to divide by."""
    if denominators == "stated":
        return len(tasks), sum(task.hard_constraints for task in tasks)
    if denominators != "official":
        raise ValueError(f"denominators={denominators!r}; choose 'stated' or 'official'")
    splits = {task.split for task in tasks}
    if len(splits) != 1 or not splits <= OFFICIAL_DENOMINATORS.keys():
        raise ValueError(
            f"no official denominators for {sorted(splits)}; give tasks of one of "
            f"{sorted(OFFICIAL_DENOMINATORS)}, or use denominators='stated'"
        )
    return OFFICIAL_DENOMINATORS[splits.pop()]
