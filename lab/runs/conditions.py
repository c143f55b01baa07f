"""What a study is made of: conditions, which are methods with their settings, and metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Metric:
    """A column of the table. title: as the paper has it; "{benchmark}" stands for the benchmark's name.

    of: a field of an episode's result, or "score", by which the experiment judges it. scale: of its numbers in rows:
    100 for what is in [0, 1] and shown in percent, 1 for counts.
    kind: "rate", the share of episodes with 1; "mean"; or "auto", a rate where all values are 0 or 1.
    given: the field that an episode must have to count, such as "has_answer".
    """

    title: str
    of: str = "score"
    kind: Literal["rate", "mean", "auto"] = "auto"
    given: str = ""
    scale: float = 100


@dataclass(frozen=True)
class Condition:
    """A method as it is played. plays: benchmark -> what makes its experiment there; on others it is left out.

    settings: field -> value, in which it differs. role: what it is besides a method. extra: played only where it is
    named. recorded: a real model plays it by default. matched: the setting of a placebo that `Study.matched` gives.
    """

    name: str
    plays: Mapping[str, Callable[..., Any]]
    settings: Settings = field(default_factory=dict)
    role: Literal["method", "placebo", "privileged"] = "method"
    extra: bool = False
    recorded: bool = False
    matched: str = ""

    def but(self, name: str, setting: str = "", value: Any = None, **other: Any) -> Condition:
        """This condition with one setting changed, and other fields of `Condition`."""
        settings = {**self.settings, setting: value} if setting else self.settings
        return replace(self, **{"name": name, "settings": settings, **other})


class Entry(NamedTuple):
    """What a task of a study's run names."""

    dataset: str
    method: str
    task: str

    def __str__(self) -> str:
        return "/".join(self)


def entry(name: str) -> Entry:
    """The entry of a task's name, as `str` writes it."""
    return Entry(*name.split("/", 2))
