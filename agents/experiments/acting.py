"""Acting agents on any benchmark as an experiment: a subclass says which tasks, and in which environment."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from agents.environment import Environment
from agents.history import INVALID, MALFORMED, History, timeline
from agents.prompts import ACT
from agents.react import Settings, react
from agents.stand_in import Expert, along, knowing
from lab.models.backbone import Ledger
from lab.models.engines import ORACLE, parse
from lab.results.outcomes import Judged
from lab.runs.experiment import NOT_TOLD
from lab.runs.playable import Playable, Seen
from lab.runs.run import Episode
from lab.viewer.timeline import Exchange, Timeline
from lab.viewer.transcripts import Transcript
from worlds.base import NoSolution

AGENTS: dict[str, Callable[..., History]] = {"ReAct": react}


@dataclass(frozen=True, kw_only=True)
class Acting(Playable):
    """An agent on some tasks: played, scored, watched, resumed, recorded and shown alike on every benchmark.

    settings: the caps, and how answers are read. histories: keep them in the run folder, which timelines need.
    """

    agent: Literal["ReAct"] = "ReAct"
    settings: Settings = Settings()
    histories: bool = field(default=True, metadata=NOT_TOLD)

    packages: ClassVar[tuple[str, ...]] = ("lab", "worlds", "agents")
    processes: ClassVar[int] = 1
    metric: ClassVar[str] = "score"

    @abstractmethod
    def environment(self, task: str) -> Environment:
        """The environment of one episode, with a world of its own."""

    def solution(self, task: str) -> Sequence[str]:
        """Actions in the environment that solve the task, for the engine `oracle` alone. Raises NoSolution."""
        raise NoSolution(f"{type(self).__name__} says no way to solve {task}: define `solution`, or use another engine")

    def expert(self, task: str) -> Expert:
        """Who knows the next action, for the engine `oracle` alone; by default it keeps to the solution."""
        return along(self.solution(task))

    def operators(self) -> tuple[str, ...]:
        return (ACT,)

    def episode(
        self, task: str, ledger: Ledger, watch: Callable[[History], None] = lambda history: None
    ) -> tuple[History, dict[str, Any]]:
        """One episode of a resolved experiment, and what it came to. watch: see `agents.react`."""
        known = any(part.name == ORACLE for part in parse(self.engine).parts)
        # Before the episode begins, in the world that both may share.
        expert = self.expert(task) if known else None
        environment = self.environment(task)
        with knowing(environment, expert) if expert else nullcontext():
            history = AGENTS[self.agent](environment, ledger, self.settings, watch)
        return history, environment.result()

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        """One episode: what it came to, how it ended, what could not be used, and what it took."""
        history, result = self.episode(task, ledger)
        cost = history.cost
        return {
            **result, "end": history.end, "steps": history.steps, "malformed": history.count(MALFORMED),
            "invalid": history.count(INVALID), "cut": sum(turn.cut for turn in history.turns),
            "calls": cost.calls, "tokens_in": cost.tokens_in, "tokens_out": cost.tokens_out,
        } | ({"history": history.to_json()} if self.histories else {})  # fmt: skip

    def watch(self, task: str, transcript: Transcript, seen: Seen = lambda shown: None) -> Timeline:
        """One episode, shown before each turn."""

        def so_far(history: History) -> None:
            seen(timeline(task, history, transcript.exchanges))

        history, result = self.episode(task, transcript, so_far)
        return timeline(task, history, transcript.exchanges, result["score"])

    def judged(self, episode: Episode) -> Judged:
        """The score that the run kept; short of the best one, with how the episode ended and what could not be used."""
        if episode.failed:
            return super().judged(episode)
        kept = episode.result
        faults = [f"{kept[name]} {name}" for name in (MALFORMED, INVALID) if kept[name]]
        return Judged(kept["score"], "" if kept["score"] == 1 else ", ".join([kept["end"], *faults]))

    def timeline(self, episode: Episode, exchanges: Sequence[Exchange] = ()) -> Timeline:
        """The history, where the run kept it."""
        if episode.failed or "history" not in episode.result:
            return super().timeline(episode, exchanges)
        kept = episode.result
        return timeline(episode.task, History.from_json(kept["history"]), exchanges, kept["score"])
