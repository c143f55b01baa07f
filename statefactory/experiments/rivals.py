"""The predictors that are compared as guides of a planner: zero-shot ones, baselines, placebos, and trained ones."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar, Self

from lab.machine import progress
from lab.models import engines
from lab.models.backbone import Backbone
from lab.runs import collecting
from lab.runs.experiment import Experiment, Results
from statefactory.experiments.guided import no_reward_model
from statefactory.experiments.predictions import EXTRACTIONS, INSTRUCTIONS, JUDGES
from statefactory.planning.guides import AtRandom
from statefactory.predictors import METHODS, Given, Method, Predictor
from statefactory.predictors.countdown import Countdown
from statefactory.predictors.monotonic import Monotonic

HORIZON = 100  # T of predictors that count steps: beyond all caps, so that no two lengths share a reward
MONOTONIC, SHORTEST, RANDOM, RIDGE, LEARNED = "monotonic", "shortest", "random", "ridge", "reward_model_"
PLACEBOS = (SHORTEST, RANDOM)
ORACLE, ORACLE_TITLE = "oracle", "Oracle (true score)"  # no predictor: it is read off the world


def _made(predictor: Predictor[Any], backbone: Backbone, given: Given) -> Predictor[Any]:
    return predictor


COUNTERS: Mapping[str, Method] = {
    MONOTONIC: Method("Monotonic (the longest)", partial(_made, Monotonic(HORIZON))),
    SHORTEST: Method("Shortest (placebo)", partial(_made, Countdown(HORIZON))),
    RANDOM: Method("Random (placebo)", partial(_made, AtRandom())),
}


@dataclass(frozen=True, kw_only=True)
class ByPredictor(Experiment):
    """An experiment with one rival. predictor: its name, as `method_of` takes it."""

    predictor: str = "statefactory"

    @property
    @abstractmethod
    def domain(self) -> str:
        """The world that is predicted."""

    @property
    def how(self) -> Method:
        """Of the predictor. Raises ValueError for one that there is not."""
        return method_of(self.predictor, self.domain)

    def made(self, backbone: Backbone) -> Predictor[Any]:
        """The predictor itself."""
        return self.how.make(backbone, Given(INSTRUCTIONS.get(self.domain, "")))

    def operators(self) -> tuple[str, ...]:
        return self.how.operators

    def parameters(self) -> dict[str, Any]:
        """With the version of the predictor: a reader's own code is no part of the code that a run is known by."""
        return super().parameters() | {"version": self.how.version}

    def __getstate__(self) -> dict[str, Any]:
        """With the predictor: one that a notebook registered is not known in a worker process."""
        own = {name: METHODS[name] for name in (self.predictor,) if name in METHODS}
        return {**vars(self), "registered": own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        METHODS.update(state.pop("registered"))
        vars(self).update(state)


@dataclass(frozen=True, kw_only=True)
class OnTasks(ByPredictor):
    """An experiment with one rival on the tasks of a world. limit: tasks, 0 for all."""

    world: str = "blocksworld"

    packages: ClassVar[tuple[str, ...]] = ("lab", "worlds", "agents", "statefactory")
    selection: ClassVar[tuple[str, ...]] = ("data", "limit", "world")

    @property
    def results(self) -> type[Results[Self]]:
        return Results[Self]

    @abstractmethod
    def actor(self) -> Any:
        """The experiment whose tasks they are."""

    @property
    def domain(self) -> str:
        return self.world

    def decided(self) -> Self:
        """With `data` decided."""
        return replace(self, data=self.actor().decided().data)

    def tasks(self) -> list[str]:
        return list(self.actor().decided().tasks())


def collect(
    setup: OnTasks, predictors: Sequence[str], workers: int = 0, cluster: str = "", **options: Any
) -> dict[str, Results[Any]]:
    """A run for each of the predictors, in the world of the setup. Raises what `lab.runs.collecting.collect` does."""
    found = {}
    for name in predictors:
        answering = engines_for(name, setup.world, setup.engine, setup.engines)
        one = replace(setup, predictor=name, **answering)
        found[name] = collecting.collect(one, workers, cluster, **options)
    return found


def engines_for(name: str, world: str, engine: str, others: Mapping[str, str]) -> dict[str, Any]:
    """The settings `engine` and `engines` of a rival's run; one that asks nobody is the same run with any engine."""
    asks = () if name == ORACLE else method_of(name, world).operators
    own = {operator: other for operator, other in others.items() if operator in asks}
    return {"engine": engine if asks else "rules", "engines": own}


def method_of(name: str, world: str) -> Method:
    """A rival. world: the domain that `ridge` was fitted on. Raises ValueError for one that there is not.

    Names are those of METHODS, of COUNTERS, "ridge", and "reward_model_<training>" of the trained adapters.
    """
    if name in COUNTERS:
        return COUNTERS[name]
    if name in METHODS:
        return METHODS[name]
    if name == RIDGE and (path := _ridge_of(world)).exists():
        version = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        return Method("Ridge on embeddings, own domain", partial(_ridge, path), version=version)
    if name in trained():
        from statefactory.reward_models.predictor import register_adapters

        training = name.removeprefix(LEARNED)
        register_adapters([training])
        # Taken out again: Table 1's methods are those of METHODS, and a comparison here must not add to them.
        return METHODS.pop(name)
    known = (*METHODS, *COUNTERS, *([RIDGE] if _ridge_of(world).exists() else []), *trained())
    raise ValueError(f"no predictor {name!r} to compare in {world}; choose from {', '.join(known)}")


def trained() -> list[str]:
    """The names of the adapters that come with the suite."""
    from statefactory.experiments.reward_models import TRAINED_ON

    return [f"{LEARNED}{training}" for training in TRAINED_ON]


def is_learned(name: str) -> bool:
    """Whether it was trained, on our pairs."""
    return name == RIDGE or name.startswith(LEARNED)


def lacks(name: str, world: str, engine: str = "rules", others: Mapping[str, str] | None = None) -> str:
    """Why a rival cannot be had here; "" where it can."""
    if name in JUDGES and engines.with_others(engine, others or {}).of("judge").by_rules:
        return "a judge is a model; name one as engine"
    if name == RIDGE and not _ridge_of(world).exists():
        return f"none was fitted on {world}"
    return no_reward_model() if name.startswith(LEARNED) else ""


def names_for(
    world: str, data: str, engine: str = "rules", others: Mapping[str, str] | None = None,
    chosen: Sequence[str] = (), learned: bool = False,
) -> list[str]:  # fmt: skip
    """The chosen rivals, or all, that can be had here; of the others it is said why not.

    learned: the trained ones as well, of which adapters take a second an attempt without an accelerator. Ridge, which
    takes embeddings alone, stands among the others on official data, of which it was fitted on the training side.
    """
    own = [name for name in METHODS if name not in EXTRACTIONS and name not in JUDGES]
    wanted = list(chosen) or [*EXTRACTIONS, *JUDGES, MONOTONIC, RANDOM, SHORTEST, *own]
    if learned and not chosen:
        wanted += trained()
    if not chosen and (learned or data == "official"):
        wanted.append(RIDGE)
    found, skipped = [], dict[str, list[str]]()
    for name in wanted:
        if why := lacks(name, world, engine, others):
            skipped.setdefault(why, []).append(name)
        else:
            found.append(name)
    for why, of in skipped.items():
        progress.say(f"{world}: {', '.join(of)} left out: {why}")
    return found


def _ridge_of(world: str) -> Path:
    from statefactory.reward_models.adapters import SHIPPED

    return SHIPPED / RIDGE / f"{world}.json"


def _ridge(path: Path, backbone: Backbone, given: Given) -> Predictor[Any]:
    return _read(path)


@cache
def _read(path: Path) -> Predictor[Any]:
    from statefactory.reward_models.ridge import Ridge

    return Ridge.read(path)
