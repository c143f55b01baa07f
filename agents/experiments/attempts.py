"""Several attempts of an agent at each task, kept word by word: what a choice among them needs, which plays nothing.

An attempt is told apart by the sample index of its calls. So the noise of `oracle@p` is drawn anew for each, and a
model at some temperature answers anew; both are repeatable.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

from agents.experiments.acting import AGENTS, REACT, Acting
from agents.experiments.acting_worlds import AlfWorld, BlocksWorld, ScienceWorld, TextWorld, WebShop
from agents.play import TRIES, Settings
from lab.machine.files import canonical
from lab.models.backbone import Answer, Backbone, Ledger
from lab.models.prompts import Prompt
from lab.results.outcomes import Judgement
from lab.runs import experiment
from lab.runs.experiment import BadSetting, Experiment
from lab.runs.run import Episode
from worlds.base import Step, World

# ScienceWorld's short tasks alone: the noise of a hundred steps leaves no attempt that succeeds.
ACTORS: Mapping[str, Callable[..., Acting]] = {
    "alfworld": AlfWorld, "scienceworld": partial(ScienceWorld, lengths=("short",)), "webshop": WebShop,
    "blocksworld": BlocksWorld, "textworld": TextWorld,
}  # fmt: skip
# The engine and the cap of steps where none are stated: how often the expert's action is taken. So of synthetic tasks
# some attempts succeed and most do not: where all or none do, no choice matters.
NOISY: Mapping[str, tuple[str, int]] = {
    "alfworld": ("oracle@0.35", 20), "scienceworld": ("oracle@0.4", 30), "webshop": ("oracle@0.6", 12),
    "blocksworld": ("oracle@0.4", 16), "textworld": ("oracle@0.3", 20),
}  # fmt: skip


class Told(NamedTuple):
    """A step of an attempt. score: the world's own, which no agent and no predictor is told."""

    action: str
    observation: str
    score: float


@dataclass(frozen=True, slots=True)
class Attempt:
    """One of several trajectories on a task. first: s_0's observation. score: what the episode came to, in [0, 1]."""

    task: str
    goal: str
    first: str
    steps: tuple[Told, ...]
    score: float

    @property
    def success(self) -> bool:
        return self.score >= 1.0

    @property
    def actions(self) -> list[str]:
        return [step.action for step in self.steps]

    @property
    def observations(self) -> list[str]:
        return [step.observation for step in self.steps]


@dataclass(frozen=True, kw_only=True)
class Setup(Experiment):
    """`count` attempts a task of one world. engine: "" for the noisy expert of NOISY, with its cap of steps.

    steps: the cap, 0 for NOISY's.
    """

    engine: str = ""
    world: str = "blocksworld"
    count: int = 20
    steps: int = 0

    method: ClassVar[str] = "attempts"
    packages: ClassVar[tuple[str, ...]] = ("lab", "worlds", "agents")
    selection: ClassVar[tuple[str, ...]] = ("data", "limit", "world", "count")
    metric: ClassVar[str] = "success"

    @property
    def results(self) -> type[Results]:
        return Results

    def __post_init__(self) -> None:
        """Raises BadSetting for a world that there is not, and for no attempts."""
        if self.world not in ACTORS:
            raise BadSetting(f"world={self.world!r}; choose one of {', '.join(ACTORS)}")
        if self.count < 1:
            raise BadSetting(f"count={self.count}: there is at least one attempt a task")
        # Decided here, so that a run's engine is never "".
        engine, steps = NOISY[self.world]
        object.__setattr__(self, "engine", self.engine or engine)
        object.__setattr__(self, "steps", self.steps or steps)

    def actor(self) -> Acting:
        """Who makes the attempts."""
        return ACTORS[self.world](
            engine=self.engine, data=self.data, limit=self.limit, seed=self.seed, settings=Settings(steps=self.steps)
        )

    def operators(self) -> tuple[str, ...]:
        return AGENTS[REACT].operators

    def decided(self) -> Self:
        """With `data` decided."""
        return replace(self, data=self.actor().decided().data)

    def tasks(self) -> list[str]:
        """An episode is one attempt; all at one task come before the next task."""
        return [f"{task}#{number}" for task in self.actor().decided().tasks() for number in range(self.count)]

    def group(self, task: str) -> str:
        """All attempts at a task: a choice among some of them would be another."""
        return task_of(task)

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        """One attempt, in the world's own words: an agent's environment may add to them."""
        of, _, number = task.rpartition("#")
        actor = self.actor().decided()
        environment: Any = actor.environment(of)
        environment.world = heard = Heard(environment.world)
        with actor.answering(of, environment):
            history = actor.acted(of, environment, Drawn(ledger, int(number) * TRIES))
        return {
            "goal": environment.task.goal, "first": heard.first, "steps": heard.steps,
            "score": environment.result()["score"], "end": history.end,
        }  # fmt: skip

    def judged(self, episode: Episode) -> Judgement:
        if episode.failed:
            return super().judged(episode)
        return Judgement(float(episode.result["score"] >= 1), episode.result["end"])


class Results(experiment.Results[Setup]):
    """What was attempted."""

    def attempts(self) -> dict[str, list[Attempt]]:
        """Task -> its attempts, in order. One that failed is no attempt that could be chosen; it is left out."""
        found: dict[str, list[Attempt]] = {}
        for name, episode in self.episodes.items():
            if not episode.failed:
                found.setdefault(task_of(name), []).append(attempt_of(episode))
        return found

    @property
    def digest(self) -> str:
        """Of all that was attempted: what is said of other attempts is another run."""
        kept = [[name, episode.result] for name, episode in self.episodes.items()]
        return hashlib.sha256(canonical(kept).encode()).hexdigest()[:12]


def attempt_of(episode: Episode) -> Attempt:
    """An attempt from what a run kept of it."""
    kept = episode.result
    steps = tuple(Told(*step) for step in kept["steps"])
    return Attempt(task_of(episode.task), kept["goal"], kept["first"], steps, kept["score"])


def task_of(name: str) -> str:
    """The task of an attempt."""
    return name.rpartition("#")[0]


@dataclass
class Heard:
    """A world, and what it said since its last reset."""

    world: World
    first: str = ""
    steps: list[Told] = field(default_factory=list)

    def reset(self, task: Any) -> Step:
        step = self.world.reset(task)
        self.first, self.steps = step.text, []
        return step

    def step(self, action: str) -> Step:
        step = self.world.step(action)
        self.steps.append(Told(action, step.text, step.score))
        return step

    def __getattr__(self, name: str) -> Any:
        return getattr(self.world, name)  # what only some worlds have: rooms, looks, valid actions


class Drawn:
    """A backbone whose samples are counted from another number than 0."""

    def __init__(self, backbone: Backbone, first: int) -> None:
        self.backbone, self.engine, self.first = backbone, backbone.engine, first

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        return self.backbone.ask(prompt, sample=self.first + sample, **fields)

    def request(self, prompt: Prompt, sample: int = 0, **fields: Any) -> str:
        return self.backbone.request(prompt, sample=self.first + sample, **fields)
