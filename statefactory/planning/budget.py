"""Cap on model calls, shared by agent, proposer, world model and predictor."""

from __future__ import annotations

from typing import Any

from lab.models.backbone import Answer, Backbone, Cost, Ledger, cost_of
from lab.models.prompts import Prompt


class OutOfBudget(RuntimeError):
    """One call more would exceed the cap; it was not made."""


class Meter(Ledger):
    """A backbone that makes at most so many calls, cache hits and malformed answers included; 0 for any number.

    All that plans shares one: proposer, world model and predictor. cost: of the calls so far.
    """

    def __init__(self, backbone: Backbone, most: int = 0) -> None:
        super().__init__(backbone)
        self.most, self.cost = most, Cost()

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        """Raises OutOfBudget in place of one call too many."""
        if self.most and self.cost.calls >= self.most:
            raise OutOfBudget(f"all {self.most} calls were made; allow more, or plan with fewer simulations")
        known = len(self.calls)
        try:
            return super().ask(prompt, sample, **fields)
        finally:
            self.cost += cost_of(self.calls[known:])
