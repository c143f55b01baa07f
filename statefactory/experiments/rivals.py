"""The predictors that are compared as guides of a planner: zero-shot ones, baselines, placebos, and trained ones.

The tree search here has the world itself as its world model, and its valid actions are proposed, so that runs differ in
the value alone.
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

HORIZON = 100  # T of predictors that count steps: beyond all caps, so that no two lengths share a reward
MONOTONIC, SHORTEST, RANDOM, RIDGE, LEARNED = "monotonic", "shortest", "random", "ridge", "reward_model_"
ORACLE = "oracle"
PLACEBOS = (SHORTEST, RANDOM)
PACKAGES = ("lab", "worlds", "agents", "statefactory")


COUNTERS: Mapping[str, Method] = {
    MONOTONIC: Method("Monotonic (the longest)", fixed(Monotonic(HORIZON))),
    SHORTEST: Method("Shortest (placebo)", fixed(Countdown(HORIZON))),
    RANDOM: Method("Random (placebo)", fixed(AtRandom())),
}
# Its progress is the world's: an experiment makes the oracle of a task.
TRUE_SCORE = Method("Oracle (true score)", fixed(Oracle(len)))


@dataclass(frozen=True, kw_only=True)
class PredictorExperiment(Experiment):
    """An experiment in one world that one predictor leads.

    predictor: its name, as `method_of` takes it. registered: the predictor, where a reader registered it: worker
    processes do not know its name.
    """

    world: str = "blocksworld"
    predictor: str = "statefactory"
    registered: Method | None = field(default=None, repr=False, metadata=NOT_KEPT)

    packages: ClassVar[tuple[str, ...]] = PACKAGES

    @property
    def how(self) -> Method:
        """The predictor's method. Raises ValueError for a name that there is not."""
        return self.registered or method_of(self.predictor, self.world)

    @property
    def actor(self) -> Any:
        """Whose tasks they are, and who knows the true progress on them."""
        (actor,) = (actor for actor in WORLDS.values() if actor.package == self.world)
        return actor(data=self.data, limit=self.limit, seed=self.seed).decided()

    def decided(self) -> Self:
        """With `data` decided."""
        return replace(self, data=self.actor.data)

    def tasks(self) -> list[str]:
        return list(self.actor.tasks())

    def made(self, backbone: Backbone) -> Predictor[Any]:
        """The predictor itself."""
        return self.how.make(backbone, PredictorSettings(INSTRUCTIONS.get(self.world, "")))

    def operators(self) -> tuple[str, ...]:
        return self.how.operators

    def inputs(self) -> dict[str, str]:
        """The predictor's version: a reader's own code is no part of the code that a run is known by."""
        return {"version": self.how.version}


@dataclass(frozen=True, kw_only=True)
class Search(PredictorExperiment):
    """Tree search led by a predictor, or by "oracle": is the goal reached within a budget of foreseen outcomes?

    search: see `statefactory.planning.mcts.Settings`. All valid actions are looked at by default: a node is asked for
    its actions once, and no value can choose what was not proposed. seed: of synthetic data, and of the order in which
    actions are proposed.
    """

    search: Settings = Settings(simulations=12, width=0, steps=30, outcomes=300)

    method: ClassVar[str] = "tree-search"
    metric: ClassVar[str] = SUCCESS

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        """Whether the goal was reached, by which actions, and how many outcomes were foreseen."""
        actor = self.actor
        pool = of_thread(("searched", self.world, self.data, self.seed), lambda: Pool(actor.opened, None))
        pool.on(actor.named(task))
        leading = Oracle(actor.progress(pool.task, pool)) if self.predictor == ORACLE else self.made(ledger)
        planner = Planner(Lookahead(leading, Exact(pool)), Listed(pool, self.seed), self.search)
        environment = actor.environment(task)
        episode = plan(environment, actor.begun(task).goal, planner)
        return {
            SUCCESS: environment.result()["score"] >= 1, "end": episode.history.end, "actions": episode.path.actions,
            "outcomes": episode.outcomes,
        }  # fmt: skip

    def judged(self, episode: Episode) -> Judgement:
        """Success."""
        if episode.failed:
            return super().judged(episode)
        reached = bool(episode.result[SUCCESS])
        return Judgement(float(reached), "" if reached else episode.result["end"])


def study(
    name: str, experiment: Callable[..., PredictorExperiment], worlds: Sequence[str], names: Sequence[str],
    metrics: tuple[Metric, ...] = (), **declared: Any,
) -> Study:  # fmt: skip
    """The experiment in these worlds, once under each of the predictors. declared: other fields of the study.

    Raises ValueError for a predictor that there is not.
    """
    conditions = []
    for predictor in dict.fromkeys(names):
        plays = {world: partial(experiment, world=world, registered=METHODS.get(predictor)) for world in worlds}
        role = "placebo" if predictor in PLACEBOS else "privileged" if predictor == ORACLE else "method"
        conditions.append(Condition(predictor, plays, {"predictor": predictor}, role))  # type: ignore[arg-type]
    titles = {world: title(world) for world in worlds}
    return Study(name, tuple(worlds), tuple(conditions), metrics, titles=titles, packages=PACKAGES, **declared)


def answering(run: Results, world: str, predictor: str) -> str:
    """Who answered what a predictor asks in a run of a `study`; "" for one that asks nobody."""
    operators = run.setup.part(world, predictor).operators()
    return run.who.among(operators).label if operators else ""


def evidence(run: Results, world: str, predictor: str) -> str:
    """ "simulated" where noise answered what a predictor asks, else "measured"."""
    return engines.parse(answering(run, world, predictor) or "rules").evidence


def method_of(name: str, world: str) -> Method:
    """A rival by its name. world: that it is to be had in. Raises ValueError for one that there is not."""
    known = {**METHODS, **COUNTERS, ORACLE: TRUE_SCORE}
    if name in known:
        return known[name]
    if name == RIDGE and (path := SHIPPED / RIDGE / f"{world}.json").exists():
        return _ridge(path)
    if name in trained():
        register_adapters([name.removeprefix(LEARNED)])
        # Taken out again: Table 1's methods are those of METHODS, and a comparison here must not add to them.
        return METHODS.pop(name)
    choices = ", ".join((*known, RIDGE, *trained()))
    raise ValueError(f"no predictor {name!r} to compare in {world}; choose from {choices}")


def trained() -> list[str]:
    """The names of the adapters that come with the suite."""
    return [f"{LEARNED}{training}" for training in TRAININGS]


def quick(names: Sequence[str]) -> list[str]:
    """Those of the predictors that can score hundreds of states: all but the adapters, which take a second a state."""
    return [name for name in names if not name.startswith(LEARNED)]


def names_for(
    official: bool, engine: str = "rules", others: Mapping[str, str] | None = None, chosen: Sequence[str] = (),
    learned: bool = False,
) -> list[str]:  # fmt: skip
    """The chosen rivals, or all, that can be had here; of chosen ones that cannot it is said why.

    engine, others: who answers them, for judges are models. learned: the adapters as well. Ridge stands among all
    others on official data, since it was fitted on the training side of these.
    """
    own = [name for name in METHODS if name not in EXTRACTIONS and name not in JUDGES]
    every = [*EXTRACTIONS, *JUDGES, MONOTONIC, RANDOM, SHORTEST, *own, *(trained() if learned else ())]
    every += [RIDGE] if learned or official else []
    by_rules = engines.with_others(engine, others or {}).of("judge").by_rules
    lacking = dict.fromkeys(JUDGES, "a judge is a model; name one as engine" if by_rules else "")
    lacking |= dict.fromkeys(trained(), no_reward_model() if learned or chosen else "")
    for name in chosen:
        if lacking.get(name):
            progress.say(f"{name} left out: {lacking[name]}")
    return [name for name in chosen or every if not lacking.get(name)]


@cache
def _ridge(path: Path) -> Method:
    version = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return Method("Ridge on embeddings, own domain", fixed(Ridge.read(path)), version=version)
