"""Experiments for interactive play: an episode is displayed while it runs, and its mechanisms can be switched.

A package declares its own in pyproject.toml, under `lab.playable`, as AGENT.BENCHMARK = "module:class"; `register` adds
one from a notebook. The panel of `4_explore/ablate` offers all of them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from typing import Any, Self

from lab.runs.experiment import Experiment
from lab.runs.registry import Registry
from lab.viewer.timeline import Timeline
from lab.viewer.transcripts import Transcript

PLAYABLE = Registry("lab.playable", "experiment to play by hand")
OnStep = Callable[[Timeline], None]


@dataclass(frozen=True, kw_only=True)
class Playable(Experiment):
    """An experiment with mechanisms to switch: its fields that are dataclasses, such as the settings of a loop."""

    @abstractmethod
    def watch(self, task: str, transcript: Transcript, seen: OnStep) -> Timeline:
        """Play one episode of a resolved experiment. transcript: answers prompts. seen: called often with the timeline
        so far.
        """

    @property
    def mechanisms(self) -> dict[str, Any]:
        """The fields that can be switched, by name."""
        return {field.name: value for field in fields(self) if is_dataclass(value := getattr(self, field.name))}

    def full(self) -> Self:
        """The baseline of an ablation: a copy with all mechanisms, by default with their default settings."""
        return replace(self, **{field.name: _default(field) for field in fields(self) if field.name in self.mechanisms})


def _default(field: Any) -> Any:
    return field.default if field.default is not MISSING else field.default_factory()


def register(agent: str, benchmark: str, experiment: type[Playable]) -> None:
    """Add an experiment. Replaces one of the same agent and benchmark."""
    PLAYABLE.own[f"{agent}.{benchmark}"] = experiment


def names() -> list[tuple[str, str]]:
    """(agent, benchmark) pairs that can be played, sorted; imports nothing."""
    return [(agent, benchmark) for agent, _, benchmark in (name.partition(".") for name in PLAYABLE.names())]


def named(agent: str, benchmark: str) -> type[Playable]:
    """The experiment of an agent on a benchmark. Raises BadSetting for unknown names, and ImportError."""
    experiment: type[Playable] = PLAYABLE.named(f"{agent}.{benchmark}")
    return experiment
