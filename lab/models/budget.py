"""Budget of a recording in model calls and minutes, set by `python -m lab record`.

It is checked before each request to a model. Answers from the cache are free: a sitting whose budget is spent still
plays what is cached.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, field
from functools import cache

from lab.machine.faults import Unavailable

VARIABLE = "LAB_BUDGET"  # JSON: calls, minutes


class BudgetSpent(Unavailable):
    """The budget is spent, or the sitting was stopped. The run folder has the finished episodes, the cache all
    answers.
    """


@dataclass
class Budget:
    """The budget of this process, from its first use; None: no limit. stopped: why no call may start any more.

    Processes do not share a budget: record with one process, or with threads.
    """

    calls: int | None = None
    minutes: float | None = None
    made: int = 0
    started: float = field(default_factory=time.monotonic)
    stopped: str = ""

    def check(self) -> None:
        """Raises BudgetSpent if no further call may start."""
        if self.stopped:
            raise BudgetSpent(self.stopped)
        if self.calls is not None and self.made >= self.calls:
            raise BudgetSpent(f"the budget of {self.calls} model calls is spent ({self.made} were made)")
        if self.minutes is not None and time.monotonic() - self.started >= 60 * self.minutes:
            raise BudgetSpent(f"the budget of {self.minutes:g} minutes is spent")

    def book(self) -> None:
        """Count a paid call; cache hits are free."""
        self.made += 1


@cache
def of_environment() -> Budget:
    """The budget in LAB_BUDGET; unlimited if it is not set."""
    return Budget(**json.loads(os.environ.get(VARIABLE) or "{}"))
