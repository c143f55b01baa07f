"""Tree search led by one predictor, on the tasks of a world: is the goal reached within a budget of foreseen outcomes?

The world model is the world itself, and its valid actions are proposed: all that differs from run to run is the value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from agents.experiments.worlds import of_thread
from lab.models.backbone import Ledger
from lab.results.outcomes import Judged
from lab.runs import collecting, experiment
from lab.runs.experiment import BadSetting
from lab.runs.run import Episode
from statefactory.experiments.guided import SUCCESS, WORLDS, Guided
from statefactory.experiments.rivals import ORACLE, ORACLE_TITLE, ByPredictor, engines_for
from statefactory.planning.guides import Oracle
from statefactory.planning.lookahead import Lookahead
from statefactory.planning.mcts import Planner, Settings, plan
from statefactory.planning.pool import Pool
from statefactory.planning.proposals import Listed
from statefactory.planning.world_models import Exact
from statefactory.predictors import Method

SEARCHED = {world.name: world for world in WORLDS.values()}
# All valid actions: a node is asked for its actions once, and no value can choose what was not proposed.
SETTINGS = Settings(simulations=12, width=0, steps=30, outcomes=300)


@dataclass(frozen=True, kw_only=True)
class Setup(ByPredictor):
    """One predictor in one world. predictor: a rival's name, or "oracle", who knows the true progress.

    search: see `statefactory.planning.mcts.Settings`. limit: tasks, 0 for all. seed: of made data, and of the order in
    which actions are proposed.
    """

    world: str = "blocksworld"
    search: Settings = SETTINGS

    method: ClassVar[str] = "tree-search"
    packages: ClassVar[tuple[str, ...]] = ("lab", "worlds", "agents", "statefactory")
    selection: ClassVar[tuple[str, ...]] = ("data", "limit", "world")
    metric: ClassVar[str] = SUCCESS

    def __post_init__(self) -> None:
        """Raises BadSetting for a world that is not searched."""
        if self.world not in SEARCHED:
            raise BadSetting(f"world={self.world!r}; choose one of {', '.join(SEARCHED)}")

    @property
    def field_of_work(self) -> tuple[str, str]:
        return self.world, self.data

    @property
    def how(self) -> Method:
        # `made` never asks it: the oracle is told the task.
        return Method(ORACLE_TITLE, lambda backbone, given: Oracle(len)) if self.predictor == ORACLE else super().how

    def actor(self) -> Guided:
        """Whose tasks they are."""
        guided: Guided = SEARCHED[self.world](data=self.data, limit=self.limit, seed=self.seed)
        return guided

    def decided(self) -> Self:
        """With `data` decided."""
        return replace(self, data=self.actor().decided().data)

    def tasks(self) -> list[str]:
        return list(self.actor().decided().tasks())

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        """Whether the goal was reached, by which actions, and what it took."""
        actor = self.actor().decided()
        of = actor.named(task)
        pool = of_thread(("searched", self.world, self.data, self.seed), lambda: Pool(actor.opened, of)).on(of)
        before = pool.steps
        goal = actor.begun(task).goal
        leading = Oracle(actor.progress(of, pool)) if self.predictor == ORACLE else self.made(ledger)
        planner = Planner(Lookahead(leading, Exact(pool)), Listed(pool, self.seed), self.search)
        environment = actor.environment(task)
        episode = plan(environment, goal, planner)
        return {
            SUCCESS: environment.result()["score"] >= 1, "end": episode.history.end, "actions": episode.path.actions,
            "outcomes": episode.outcomes, "world steps": pool.steps - before,
        }  # fmt: skip

    def judged(self, episode: Episode) -> Judged:
        """Success."""
        if episode.failed:
            return super().judged(episode)
        reached = bool(episode.result[SUCCESS])
        return Judged(float(reached), "" if reached else episode.result["end"])


Results = experiment.Results[Setup]


def collect(
    setup: Setup, predictors: Sequence[str], workers: int = 0, cluster: str = "", **options: Any
) -> dict[str, Results]:
    """A run for each of the predictors, in the world of the setup. Raises what `lab.runs.collecting.collect` does."""
    found = {}
    for name in predictors:
        answering = {} if name == ORACLE else engines_for(name, setup.world, setup.data, setup.engine, setup.engines)
        found[name] = collecting.collect(
            replace(setup, predictor=name, **answering), experiment.Results[Setup], workers, cluster, **options
        )
    return found
