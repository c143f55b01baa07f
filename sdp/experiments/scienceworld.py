"""SDP on ScienceWorld as an experiment (A.3, B.2): SwiftSage's protocol of 30 task types, by length."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from threading import local
from typing import Any, ClassVar, Self

from lab.models import rules
from lab.models.backbone import Ledger
from lab.models.engines import ORACLE, parse
from lab.runs.experiment import BadSetting, spread
from sdp.adapters.scienceworld import noise  # noqa: F401  (registers how answers go wrong)
from sdp.adapters.scienceworld.adapter import FULL, UNKNOWN, Policy, ScienceWorldAdapter, Visit
from sdp.adapters.scienceworld.oracle import Oracle, Played, judge
from sdp.adapters.scienceworld.prompts import ACT, JUDGE, PLAN
from sdp.experiments.benchmark import Benchmark
from sdp.loop import Settings
from sdp.trajectory import Trajectory
from worlds.scienceworld import ScienceTask, ScienceWorld, load
from worlds.scienceworld.expert import Expert
from worlds.scienceworld.made import made_paths
from worlds.scienceworld.tasks import LENGTHS


@dataclass(frozen=True, kw_only=True)
class Setup(Benchmark):
    """SDP on the first ten test variations of each type, ordered by id; `limit` spreads evenly over them.

    data: "made" takes, of these, the tasks whose gold paths come with the suite, where there are such. lengths: groups
    of LENGTHS. simplification: as for `worlds.scienceworld.load`; the protocol's is "easy".
    The engine `oracle` knows the gold path of each task; no honest rule makes a plan here, so `rules` answers nothing.
    """

    engine: str = ORACLE
    lengths: tuple[str, ...] = tuple(LENGTHS)
    simplification: str = "easy"
    policy: Policy = Policy()
    settings: Settings = Settings(budget=30, step_cap=500)  # A.3

    method: ClassVar[str] = "sdp-scienceworld"
    selection: ClassVar[tuple[str, ...]] = ("data", "limit", "lengths", "simplification")
    metric: ClassVar[str] = "score"

    def operators(self) -> tuple[str, ...]:
        return tuple(prompt.operator for prompt in (PLAN, ACT, JUDGE))

    def decided(self) -> Self:
        """With `data` decided. Raises BadSetting for a group of lengths that there is not."""
        if unknown := [name for name in self.lengths if name not in LENGTHS] or ([""] if not self.lengths else []):
            raise BadSetting(f"No length {unknown[0]!r}; choose from {', '.join(map(repr, LENGTHS))}")
        return replace(self, data=_world(self.data, self.simplification).data)

    def tasks(self) -> list[str]:
        known = _protocol(self.data, self.simplification)
        made = made_paths(self.simplification) if self.data == "made" else {}
        return spread(sorted(id for id in made or known if length_of(known[id].name) in self.lengths), self.limit)

    def adapter(self, task: str, ledger: Ledger) -> ScienceWorldAdapter:
        asked = _protocol(self.data, self.simplification)[task]
        return ScienceWorldAdapter(asked, Visit(_world(self.data, self.simplification)), ledger, self.policy)

    def episode(self, task: str, ledger: Ledger, watch: Callable[[Trajectory], None] | None = None) -> Trajectory:
        """One episode; under `oracle`, of an oracle that has played the gold path before."""
        if not any(part.name == ORACLE for part in parse(self.engine).parts):
            return super().episode(task, ledger, watch)
        knows = Oracle(gold(self.data, self.simplification, task), self.settings.budget)
        with rules.oracle({PLAN.name: knows.plan, ACT.name: knows.act, JUDGE.name: judge}):
            return super().episode(task, ledger, watch)

    def expert_actions(self, task: str) -> int | None:
        """The length of the gold path."""
        return len(gold(self.data, self.simplification, task))

    def score(self, trajectory: Trajectory) -> float:
        """The last score of the episode over 100; of a task that failed, the one before (SwiftSage's rule)."""
        return last_score(trajectory) / FULL

    def result(self, trajectory: Trajectory) -> dict[str, Any]:
        task = _protocol(self.data, self.simplification)[trajectory.task]
        refused = sum(attempt.reason == UNKNOWN for attempt in trajectory.attempts)
        return {"score": self.score(trajectory), "length": length_of(task.name), "type": task.name, "refused": refused}


def last_score(trajectory: Trajectory) -> int:
    """In percent, from what the attempts show; the last one that is not negative."""
    scores = [attempt.observation["score"] for attempt in trajectory.attempts if attempt.observation]
    return next((score for score in reversed(scores) if score >= 0), 0)


def length_of(type: str) -> str:
    """The group of a task type."""
    return next(name for name, types in LENGTHS.items() if type in types)


@cache
def gold(data: str, simplification: str, task: str) -> list[Played]:
    """The expert's actions on a task of the protocol, with what the world answers to them."""
    world, asked = _world(data, simplification), _protocol(data, simplification)[task]
    path = Expert(world).actions(asked)
    world.reset(asked)
    found, before = list[Played](), 0
    for action in path:
        step = world.step(action)
        found.append(Played(action, step.text, step.facts["native"] - before))
        before = step.facts["native"]
    return found


@cache
def _protocol(data: str, simplification: str) -> dict[str, ScienceTask]:
    return {task.id: task for task in _world(data, simplification).tasks("protocol")}


_of_thread = local()


def _world(data: str, simplification: str) -> ScienceWorld:
    """One of this thread: an episode has a Java process to itself, and leaves it to the next one."""
    worlds: dict[tuple[str, str], ScienceWorld] = _of_thread.__dict__.setdefault("worlds", {})
    if (data, simplification) not in worlds:
        worlds[data, simplification] = load(data, simplification=simplification, list_actions=False)
    return worlds[data, simplification]
