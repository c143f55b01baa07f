"""Experiments with reward-guided ReAct: the paper's three worlds, and every predictor that can guide it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from typing import Any, ClassVar, Literal

from agents.environment import Environment
from agents.experiments import acting_worlds
from agents.history import ACT, History
from agents.play import Settings, Watch, unwatched
from lab.models import rules
from lab.models.backbone import Backbone
from lab.models.connect import connected
from lab.models.engines import ORACLE
from lab.results.outcomes import Judgement
from lab.runs.experiment import BadSetting
from lab.runs.run import Episode
from statefactory.experiments.predictions import INSTRUCTIONS, JUDGING
from statefactory.planning.lookahead import Exact, Lookahead, Prompted
from statefactory.planning.prompts import CHOOSE, PREDICT
from statefactory.planning.rewarded import FEWEST, K, rewarded
from statefactory.predictors import METHODS as PREDICTORS
from statefactory.predictors import Path, Predictor, PredictorSettings
from statefactory.predictors.baselines import Actions, AtRandom, Monotonic, Oracle
from statefactory.reward_models import adapters, backbones
from statefactory.reward_models.adapters import SHIPPED
from statefactory.reward_models.predictor import LearnedReward
from worlds.base import NoSolution
from worlds.benchmark import of_thread
from worlds.pool import Pool

SUCCESS = "success"
PENALTY = 0.05  # lambda of Eq. 15, see `Lookahead`
WorldModel = Literal["exact", "prompted"]
Progress = Callable[[Actions], float]
# Predictors in addition to `statefactory.predictors.METHODS`; none of them asks a model.
OWN = ("oracle", "random", "constant", "learned")
ADAPTER = "all"  # the learned reward model that was trained on all domains


def no_reward_model() -> str:
    """Why the trained reward model cannot run on this machine; "" if it can."""
    if lacking := [name for name in ("torch", "transformers", "peft") if not find_spec(name)]:
        return f"a learned reward needs {', '.join(lacking)}; see docs/rewards.md"
    try:
        backbones.located(adapters.read(SHIPPED / ADAPTER).recipe.base)
    except (adapters.UnusableAdapter, backbones.MissingBackbone) as error:
        return str(error)
    return ""


@dataclass(frozen=True, kw_only=True)
class Guided(acting_worlds.Listing):
    """ReAct on a world: plain as in C.6.1, or guided by rewards. `agent` is always ReAct.

    reward: the predictor, from `statefactory.predictors.METHODS` or OWN; "" for plain ReAct. world_model: predicts
    outcomes; "exact" uses the world itself and is privileged. penalty: lambda of Eq. 15. The cap on an episode's calls
    is, unless `settings` has one, twice its steps times the questions per turn.
    """

    reward: str = ""
    world_model: WorldModel = "exact"
    penalty: float = PENALTY
    listed: bool = True

    method: ClassVar[str] = "planning"
    metric: ClassVar[str] = SUCCESS
    packages: ClassVar[tuple[str, ...]] = ("lab", "worlds", "agents", "statefactory")
    worlds_at_once: ClassVar[int] = 6  # in the pool: for the candidates and the path itself, since a world is cheap

    @abstractmethod
    def progress(self, task: Any, pool: Pool) -> Progress:
        """A function from the actions so far to the true progress, in [0, 1]; privileged."""

    def judging(self) -> tuple[str, ...]:
        """The operators of the predictor. Raises BadSetting for an unknown predictor."""
        if self.reward in ("", *OWN):
            return ()
        if self.reward not in PREDICTORS:
            raise BadSetting(f"reward={self.reward!r}: choose one of {', '.join((*PREDICTORS, *OWN))}")
        return PREDICTORS[self.reward].operators

    def operators(self) -> tuple[str, ...]:
        predicting = (PREDICT,) if self.world_model == "prompted" else ()
        return (CHOOSE, ACT, *self.judging(), *predicting) if self.reward else (ACT,)

    def unplayable(self) -> str:
        """See `Experiment.unplayable`: a judge needs a model, a learned reward its packages and backbone."""
        if self.judging() == JUDGING and self.who.of(JUDGING[0]).by_rules:
            return f"no rule judges progress: name a model, as in engines={{{JUDGING[0]!r}: 'local'}}"
        return no_reward_model() if self.reward == "learned" else ""

    def capped(self) -> Settings:
        """The settings with a cap on calls: as many as twice the allowed steps would need."""
        most_candidates = K.get(self.package, FEWEST)
        predictions = most_candidates * (self.world_model == "prompted")
        questions = 2 + (most_candidates + 1) * len(self.judging()) + predictions if self.reward else 1
        return replace(self.settings, calls=self.settings.calls or 2 * self.settings.steps * questions)

    def answering(self, task: str, environment: Environment) -> AbstractContextManager[None]:
        """See `Acting.answering`; here the oracle also answers the prompts with rewards."""
        if not self.reward or self.who.of(ACT).name != ORACLE:
            return super().answering(task, environment)
        backbone, by_schema = connected(self.engine), self.capped().by_schema
        return rules.knowing("statefactory.oracle", environment, self.expert(task), backbone, by_schema)

    def acted(self, task: str, environment: Environment, backbone: Backbone, watch: Watch = unwatched) -> History:
        """See `Acting.acted`."""
        if not self.reward:
            return super().acted(task, environment, backbone, watch)
        looking = partial(self.looking, task, environment)
        return rewarded(environment, backbone, looking, self.path(task), settings=self.capped(), watch=watch)

    def path(self, task: str) -> Path:
        """The goal and the first observation, for the predictor."""
        named_task = self.named(task)
        first = self.world().reset(named_task)
        return Path(first.facts.get("goal", named_task.goal), first.text)

    def looking(self, task: str, environment: Environment, backbone: Backbone) -> Lookahead[Any]:
        """The predictor with its world model. The pool's worlds stay open for the thread's next episode."""
        key = ("pool", type(self).__qualname__, self.data, self.seed)
        pool = of_thread(key, lambda: Pool(self.opened, None, self.worlds_at_once)).on(self.named(task))
        exact = self.world_model == "exact"
        model = Exact(pool) if exact else Prompted(backbone, self.package, environment.tools)
        return Lookahead(self.predictor(task, pool, backbone), model, self.penalty)

    def predictor(self, task: str, pool: Pool, backbone: Backbone) -> Predictor[Any]:
        """The predictor that rates candidates. Raises what the oracle's planner raises, and MissingBackbone."""
        match self.reward:
            case "oracle":
                return Oracle(self.progress(self.named(task), pool))
            case "random":
                return AtRandom(self.seed)
            case "constant":
                return Monotonic(self.settings.steps)
            case "learned":
                return LearnedReward(SHIPPED / ADAPTER)
            case name:
                return PREDICTORS[name].make(backbone, PredictorSettings(INSTRUCTIONS.get(self.package, "")))

    def judged(self, episode: Episode) -> Judgement:
        """Judge success: 1 if the full score was reached, else 0."""
        judged = super().judged(episode)
        return judged._replace(score=float((judged.score or 0.0) >= 1))


@dataclass(frozen=True, kw_only=True)
class BlocksWorld(Guided, acting_worlds.BlocksWorld):
    """BlocksWorld. The oracle counts the steps of a shortest plan from the current state."""

    def progress(self, task: Any, pool: Pool) -> Progress:
        from worlds.blocksworld.expert import state_after, steps_left

        problem = task.problem
        at_first = steps_left(problem, problem.start)
        return lambda actions: nearer(steps_left(problem, state_after(problem, actions)), at_first)


@dataclass(frozen=True, kw_only=True)
class AlfWorld(Guided, acting_worlds.AlfWorld):
    """ALFWorld. The oracle counts the steps of a plan that uses the facts of the game."""

    def progress(self, task: Any, pool: Pool) -> Progress:
        """See `Guided.progress`. Raises NoSolution for a game that the planner cannot solve."""
        from worlds.alfworld.expert import steps_left

        at_first = steps_left(pool.world(()), task)
        if at_first is None:
            raise NoSolution(f"the planner finds no way to solve {task.id}, so its progress is not known")

        def reached(actions: Actions) -> float:
            if pool.at(actions).done:
                return 1.0
            needed = steps_left(pool.world(actions), task)
            return 0.0 if needed is None else nearer(needed, at_first)

        return reached


@dataclass(frozen=True, kw_only=True)
class ScienceWorld(Guided, acting_worlds.ScienceWorld):
    """ScienceWorld. The oracle is the world's score, hidden from the agent: rating steps is the predictor's job."""

    settings: Settings = Settings(steps=50)
    lengths: tuple[str, ...] = ("short",)
    points: bool = False

    worlds_at_once: ClassVar[int] = 2  # each is a Java process, in which a replay takes most of a second

    def progress(self, task: Any, pool: Pool) -> Progress:
        return lambda actions: pool.at(actions).score


def nearer(left: int, at_first: int) -> float:
    """Progress from the steps still needed: 1 at the goal, 0.5 at s_0, and 0 at twice that distance or more.

    left: steps needed now. at_first: steps needed at s_0. s_0 has 0.5 so that moves away from the goal are visible.
    """
    if at_first == 0:
        return 1.0 if left == 0 else 0.0
    return max(0.0, 1 - left / (2 * at_first))


WORLDS: Mapping[str, Any] = {"AlfWorld": AlfWorld, "BlocksWorld": BlocksWorld, "ScienceWorld": ScienceWorld}
