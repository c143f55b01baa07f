"""Predictors that are compared as guides of a planner: zero-shot predictors, baselines, placebos and trained models.

The tree search here uses the world itself as world model and proposes its valid actions, so that runs differ only in
the value function.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar, Self

from lab.machine import progress
from lab.models import engines
from lab.models.backbone import Backbone, Ledger
from lab.results.outcomes import Judgement
from lab.runs.experiment import NOT_KEPT, Experiment
from lab.runs.run import Episode
from lab.runs.study import Condition, Metric, Study
from lab.runs.study_results import Results
from statefactory.benchmark.domains import title
from statefactory.experiments.guided import SUCCESS, WORLDS, no_reward_model
from statefactory.experiments.predictions import EXTRACTIONS, INSTRUCTIONS, JUDGES
from statefactory.planning.lookahead import Exact, Lookahead
from statefactory.planning.mcts import Planner, Settings, plan
from statefactory.planning.proposals import Listed
from statefactory.predictors import METHODS, Method, Predictor, PredictorSettings, fixed
from statefactory.predictors.baselines import AtRandom, Countdown, Monotonic, Oracle
from statefactory.reward_models.adapters import SHIPPED
from statefactory.reward_models.pairs import TRAININGS
from statefactory.reward_models.predictor import register_adapters
from statefactory.reward_models.ridge import Ridge
from worlds.benchmark import of_thread
from worlds.pool import Pool

HORIZON = (
    100  # T of predictors that count steps: beyond all step limits, so that different lengths have different rewards
)
MONOTONIC, SHORTEST, RANDOM, RIDGE, LEARNED = "monotonic", "shortest", "random", "ridge", "reward_model_"
ORACLE = "oracle"
PLACEBOS = (SHORTEST, RANDOM)
PACKAGES = ("lab", "worlds", "agents", "statefactory")


COUNTERS: Mapping[str, Method] = {
    MONOTONIC: Method("Monotonic (the longest)", fixed(Monotonic(HORIZON))),
    SHORTEST: Method("Shortest (placebo)", fixed(Countdown(HORIZON))),
    RANDOM: Method("Random (placebo)", fixed(AtRandom())),
}
# A placeholder: an experiment makes the oracle of each task, from the world's true progress.
TRUE_SCORE = Method("Oracle (true score)", fixed(Oracle(len)))


@dataclass(frozen=True, kw_only=True)
class PredictorExperiment(Experiment):
    """Base of experiments in one world with one predictor.

    predictor: a name that `method_of` knows. registered: a user's own predictor, passed along because worker processes
    do not know its name.
    """

    world: str = "blocksworld"
    predictor: str = "statefactory"
    registered: Method | None = field(default=None, repr=False, metadata=NOT_KEPT)

    packages: ClassVar[tuple[str, ...]] = PACKAGES

    @property
    def how(self) -> Method:
        """The predictor's method. Raises ValueError for an unknown name."""
        return self.registered or method_of(self.predictor, self.world)

    @property
    def actor(self) -> Any:
        """The acting experiment in this world, which has the tasks and knows the true progress."""
        (actor,) = (actor for actor in WORLDS.values() if actor.package == self.world)
        return actor(data=self.data, limit=self.limit, seed=self.seed).decided()

    def decided(self) -> Self:
        """The experiment with "auto" in `data` resolved."""
        return replace(self, data=self.actor.data)

    def tasks(self) -> list[str]:
        return list(self.actor.tasks())

    def made(self, backbone: Backbone) -> Predictor[Any]:
        """Make the predictor."""
        return self.how.make(backbone, PredictorSettings(INSTRUCTIONS.get(self.world, "")))

    def operators(self) -> tuple[str, ...]:
        return self.how.operators

    def inputs(self) -> dict[str, str]:
        """The predictor's version, since a user's own code is not part of the code hash of a run."""
        return {"version": self.how.version}


@dataclass(frozen=True, kw_only=True)
class Search(PredictorExperiment):
    """Tree search guided by a predictor or by "oracle": does it reach the goal within a budget of predicted outcomes?

    search: see `statefactory.planning.mcts.Settings`. By default all valid actions are proposed, since a node is
    expanded once and an action that was not proposed cannot be chosen. seed: of synthetic data, and of the order of
    proposed actions.
    """

    search: Settings = Settings(simulations=12, width=0, steps=30, outcomes=300)

    method: ClassVar[str] = "tree-search"
    metric: ClassVar[str] = SUCCESS

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        """Whether the goal was reached, the reason for the end, the actions, and the number of predicted outcomes."""
        actor = self.actor
        pool = of_thread(("searched", self.world, self.data, self.seed), lambda: Pool(actor.opened, None))
        pool.on(actor.named(task))
        leading = Oracle(actor.progress(pool.task, pool)) if self.predictor == ORACLE else self.made(ledger)
        planner = Planner(Lookahead(leading, Exact(pool)), Listed(pool, self.seed), self.search)
        environment = actor.environment(task)
        episode = plan(environment, actor.path(task).goal, planner)
        return {
            SUCCESS: environment.result()["score"] >= 1, "end": episode.history.end, "actions": episode.path.actions,
            "outcomes": episode.outcomes,
        }  # fmt: skip

    def judged(self, episode: Episode) -> Judgement:
        """Judge success: 1 if the goal was reached, else 0 with the reason for the end."""
        if episode.failed:
            return super().judged(episode)
        reached = bool(episode.result[SUCCESS])
        return Judgement(float(reached), "" if reached else episode.result["end"])


def study(
    name: str, experiment: Callable[..., PredictorExperiment], worlds: Sequence[str], names: Sequence[str],
    metrics: tuple[Metric, ...] = (), **declared: Any,
) -> Study:  # fmt: skip
    """A study with one condition per predictor, each in all worlds. declared: other fields of the study.

    Raises ValueError for an unknown predictor.
    """
    conditions = []
    for predictor in dict.fromkeys(names):
        plays = {world: partial(experiment, world=world, registered=METHODS.get(predictor)) for world in worlds}
        role = "placebo" if predictor in PLACEBOS else "privileged" if predictor == ORACLE else "method"
        conditions.append(Condition(predictor, plays, {"predictor": predictor}, role))  # type: ignore[arg-type]
    titles = {world: title(world) for world in worlds}
    return Study(name, tuple(worlds), tuple(conditions), metrics, titles=titles, packages=PACKAGES, **declared)


def answering(run: Results, world: str, predictor: str) -> str:
    """Label of the engine that answered a predictor's prompts in a run of a `study`; "" if it has no prompts."""
    operators = run.setup.part(world, predictor).operators()
    return run.who.among(operators).label if operators else ""


def evidence(run: Results, world: str, predictor: str) -> str:
    """Evidence of a predictor's prompts: "simulated" if noise answered them, else "measured"."""
    return engines.parse(answering(run, world, predictor) or "rules").evidence


def method_of(name: str, world: str) -> Method:
    """Look up a predictor to compare. world: selects the ridge model. Raises ValueError for an unknown name."""
    methods = {**METHODS, **COUNTERS, ORACLE: TRUE_SCORE}
    if name in methods:
        return methods[name]
    if name == RIDGE and (path := SHIPPED / RIDGE / f"{world}.json").exists():
        return _ridge(path)
    if name in trained():
        register_adapters([name.removeprefix(LEARNED)])
        # Unregister again: METHODS are Table 1's methods, to which a comparison must not add any.
        return METHODS.pop(name)
    choices = ", ".join((*methods, RIDGE, *trained()))
    raise ValueError(f"no predictor {name!r} to compare in {world}; choose from {choices}")


def trained() -> list[str]:
    """The names of the adapters that come with the suite."""
    return [f"{LEARNED}{training}" for training in TRAININGS]


def quick(names: Sequence[str]) -> list[str]:
    """The predictors fast enough for hundreds of states: all except adapters, which take a second per state."""
    return [name for name in names if not name.startswith(LEARNED)]


def names_for(
    official: bool, engine: str = "rules", others: Mapping[str, str] | None = None, chosen: Sequence[str] = (),
    learned: bool = False,
) -> list[str]:  # fmt: skip
    """The chosen predictors, by default all, that can run here. Reports why a chosen one cannot.

    engine, others: engines that answer; judges need a model. learned: include adapters and ridge. On official data
    ridge is always included, since it was fitted on their training tasks.
    """
    registered = [name for name in METHODS if name not in EXTRACTIONS and name not in JUDGES]
    all_names = [*EXTRACTIONS, *JUDGES, MONOTONIC, RANDOM, SHORTEST, *registered, *(trained() if learned else ())]
    all_names += [RIDGE] if learned or official else []
    by_rules = engines.with_others(engine, others or {}).of("judge").by_rules
    obstacles = dict.fromkeys(JUDGES, "a judge is a model; name one as engine" if by_rules else "")
    obstacles |= dict.fromkeys(trained(), no_reward_model() if learned or chosen else "")
    for name in chosen:
        if obstacles.get(name):
            progress.say(f"{name} left out: {obstacles[name]}")
    return [name for name in chosen or all_names if not obstacles.get(name)]


@cache
def _ridge(path: Path) -> Method:
    version = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return Method("Ridge on embeddings, own domain", fixed(Ridge.read(path)), version=version)
