"""How much a recording may take: model calls and minutes, set by `python -m lab record`, held between episodes."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, field
from functools import cache

from lab.machine.faults import Unavailable

VARIABLE = "LAB_BUDGET"  # JSON: calls, minutes


class BudgetSpent(Unavailable):
    """The calls or the minutes are used up; what was finished is in the run folder, and the run goes on from there."""


@dataclass
class Budget:
    """Of this process, from its first look; None: no limit. Processes do not share it: record with one, or threads."""

    calls: int | None = None
    minutes: float | None = None
    made: int = 0
    started: float = field(default_factory=time.monotonic)

    def check(self) -> None:
        """Raises BudgetSpent if no further episode may begin."""
        if self.calls is not None and self.made >= self.calls:
            raise BudgetSpent(f"the budget of {self.calls} model calls is spent ({self.made} were made)")
        if self.minutes is not None and time.monotonic() - self.started >= 60 * self.minutes:
            raise BudgetSpent(f"the budget of {self.minutes:g} minutes is spent")

    def book(self, calls: int) -> None:
        """Count calls that cost something; answers from the cache do not."""
        self.made += calls


@cache
def of_environment() -> Budget:
    """The budget that LAB_BUDGET sets; without it, none."""
    return Budget(**json.loads(os.environ.get(VARIABLE) or "{}"))
