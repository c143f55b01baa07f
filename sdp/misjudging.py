"""A Validate that errs at two rates, in place of an adapter's own: what "with and without" means for real validators.

For adapters whose Validate is a program and never errs (A.2). One that asks a model errs by the noise on its prompt.
With certify=1 and reject=0 it is the ablation -Validate; with both 0 it is the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, cast

from lab.models.judges import Errors
from sdp.operators import Adapter, Verdict
from sdp.trajectory import Attempt, Predicate


class Misjudging:
    """An adapter, but for Validate, which refuses what holds and certifies what does not, each at its rate.

    Each verdict draws anew, as a judge does that is sampled with a temperature. One that errs in the same way whenever
    it sees the same would stop every episode of rules, which make the same choice again.
    """

    def __init__(self, adapter: Adapter[Any, Any, Any], errors: Errors, random: Random) -> None:
        self._adapter, self._errors, self._random = adapter, errors, random

    def __getattr__(self, name: str) -> Any:
        return getattr(self._adapter, name)

    def validate(self, tail: Sequence[Predicate], observation: Any, failures: Sequence[Attempt]) -> Verdict:
        """The adapter's verdict or, at a rate, the other one. No reason is made up for a wrong rejection."""
        right = self._adapter.validate(tail, observation, failures)
        draw = self._random.random()  # drawn in any case, so that runs at several rates begin alike
        if right.k:
            return Verdict(0, "the observation does not show it") if draw < self._errors.reject else right
        return Verdict(1, "certified") if draw < self._errors.certify else right


def misjudging(adapter: Adapter[Any, Any, Any], errors: Errors | None, random: Random) -> Adapter[Any, Any, Any]:
    """The adapter with a Validate that errs at these rates; the adapter itself where there are none."""
    # What is not named here is the adapter's own, which no type checker can follow.
    return adapter if errors is None else cast(Adapter[Any, Any, Any], Misjudging(adapter, errors, random))
