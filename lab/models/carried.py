"""Rules and noise of a notebook or a script, for the processes and machines that play its episodes and never ran it.

A module's are registered wherever it is imported. What stands in `__main__` travels by value with the episodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from lab.models import noise, rules

R = TypeVar("R")


class Registered(NamedTuple):
    """Prompt name -> function, of those that were defined in `__main__`."""

    rules: Mapping[str, Any]
    corruptions: Mapping[str, Any]
    readings: Mapping[str, Any]


def taken() -> Registered:
    """What has to travel from here."""
    return Registered(
        *(
            {name: function for name, function in known.items() if getattr(function, "__module__", "") == "__main__"}
            for known in _registered()
        )
    )


def played(carried: Registered, play: Callable[[str], R], task: str) -> R:
    """Play a task where `carried` answers."""
    for known, own in zip(_registered(), carried, strict=True):
        known.update(own)
    return play(task)


def _registered() -> tuple[dict[str, Any], ...]:
    return rules._rules, noise._corruptions, noise._readings
