"""Several attempts of an agent at each task, stored word by word: choosing among them needs no new episodes.

An attempt is identified by the sample index of its calls. So the noise of `oracle@p` is sampled again for each attempt,
and a model with a temperature answers again; both are repeatable.
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

# ScienceWorld's short tasks only: with noise, no attempt of a hundred steps succeeds.
ACTORS: Mapping[str, Callable[..., Acting]] = {
    "alfworld": AlfWorld, "scienceworld": partial(ScienceWorld, lengths=("short",)), "webshop": WebShop,
    "blocksworld": BlocksWorld, "textworld": TextWorld,
}  # fmt: skip
# The default engine and cap of steps. The engine's number is how often the expert's action is taken. It makes some
# attempts at a synthetic task succeed and most fail: if all or none did, no choice among them would matter.
NOISY: Mapping[str, tuple[str, int]] = {
    "alfworld": ("oracle@0.35", 20), "scienceworld": ("oracle@0.4", 30), "webshop": ("oracle@0.6", 12),
    "blocksworld": ("oracle@0.4", 16), "textworld": ("oracle@0.3", 20),
}  # fmt: skip


class Told(NamedTuple):
    """A step of an attempt. score: the world's own; no agent and no predictor is shown it."""

    action: str
    observation: str
    score: float


@dataclass(frozen=True, slots=True)
class Attempt:
    """One of several trajectories on a task. first: the observation of s_0. score: of the episode, in [0, 1]."""

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
    """`count` attempts per task in one world. engine: "" for the noisy expert of NOISY.

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
        """Raises BadSetting for an unknown world, and for count < 1."""
        if self.world not in ACTORS:
            raise BadSetting(f"world={self.world!r}; choose one of {', '.join(ACTORS)}")
        if self.count < 1:
            raise BadSetting(f"count={self.count}: each task needs at least one attempt")
        # Filled in here, so that a run's engine is never "".
        engine, steps = NOISY[self.world]
        object.__setattr__(self, "engine", self.engine or engine)
        object.__setattr__(self, "steps", self.steps or steps)

    def actor(self) -> Acting:
        """The acting experiment that plays the attempts."""
        return ACTORS[self.world](
            engine=self.engine, data=self.data, limit=self.limit, seed=self.seed, settings=Settings(steps=self.steps)
        )

    def operators(self) -> tuple[str, ...]:
        return AGENTS[REACT].operators

    def decided(self) -> Self:
        """This setup with `data` decided."""
        return replace(self, data=self.actor().decided().data)

    def tasks(self) -> list[str]:
        """One name per attempt, `task#number`; all attempts at a task come before the next task."""
        return [f"{task}#{number}" for task in self.actor().decided().tasks() for number in range(self.count)]

    def group(self, task: str) -> str:
        """All attempts at a task: a choice among some of them would be a different choice."""
        return task_of(task)

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        """Play one attempt; store the world's own words, to which an agent's environment may add."""
        name, _, number = task.rpartition("#")
        actor = self.actor().decided()
        environment: Any = actor.environment(name)
        environment.world = recorder = Heard(environment.world)
        with actor.answering(name, environment):
            history = actor.acted(name, environment, Drawn(ledger, int(number) * TRIES))
        return {
            "goal": environment.task.goal, "first": recorder.first, "steps": recorder.steps,
            "score": environment.result()["score"], "end": history.end,
        }  # fmt: skip

    def judged(self, episode: Episode) -> Judgement:
        if episode.failed:
            return super().judged(episode)
        return Judgement(float(episode.result["score"] >= 1), episode.result["end"])


class Results(experiment.Results[Setup]):
    """The attempts of a run."""

    def attempts(self) -> dict[str, list[Attempt]]:
        """Task -> its attempts, in order. Failed episodes are left out: they hold no attempt to choose."""
        attempts: dict[str, list[Attempt]] = {}
        for name, episode in self.episodes.items():
            if not episode.failed:
                attempts.setdefault(task_of(name), []).append(attempt_of(episode))
        return attempts

    @property
    def digest(self) -> str:
        """Checksum of all attempts: results on other attempts belong to another run."""
        results = [[name, episode.result] for name, episode in self.episodes.items()]
        return hashlib.sha256(canonical(results).encode()).hexdigest()[:12]


def attempt_of(episode: Episode) -> Attempt:
    """The attempt that a run stored as an episode."""
    result = episode.result
    steps = tuple(Told(*step) for step in result["steps"])
    return Attempt(task_of(episode.task), result["goal"], result["first"], steps, result["score"])


def task_of(name: str) -> str:
    """The task that an attempt belongs to, from the attempt's name."""
    return name.rpartition("#")[0]


@dataclass
class Heard:
    """A world that records what it says after each reset."""

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
    """A backbone whose sample indices start at `first` instead of 0."""

    def __init__(self, backbone: Backbone, first: int) -> None:
        self.backbone, self.engine, self.first = backbone, backbone.engine, first

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        return self.backbone.ask(prompt, sample=self.first + sample, **fields)

    def request(self, prompt: Prompt, sample: int = 0, **fields: Any) -> str:
        return self.backbone.request(prompt, sample=self.first + sample, **fields)
