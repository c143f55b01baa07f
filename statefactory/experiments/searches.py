"""Tree search led by one predictor, on the tasks of a world: is the goal reached within a budget of foreseen outcomes?

The world model is the world itself, and its valid actions are proposed: all that differs from run to run is the value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from lab.models.backbone import Ledger
from lab.results.outcomes import Judged
from lab.runs import experiment
from lab.runs.experiment import BadSetting
from lab.runs.run import Episode
from statefactory.experiments.guided import SUCCESS, WORLDS, Guided
from statefactory.experiments.rivals import ORACLE, ORACLE_TITLE, OnTasks
from statefactory.planning.guides import Oracle
from statefactory.planning.lookahead import Lookahead
from statefactory.planning.mcts import Planner, Settings, plan
from statefactory.planning.proposals import Listed
from statefactory.planning.world_models import Exact
from statefactory.predictors import Method
from worlds.benchmark import of_thread
from worlds.pool import Pool

SEARCHED = {world.package: world for world in WORLDS.values()}
# All valid actions: a node is asked for its actions once, and no value can choose what was not proposed.
SETTINGS = Settings(simulations=12, width=0, steps=30, outcomes=300)


@dataclass(frozen=True, kw_only=True)
class Setup(OnTasks):
    """One predictor in one world. predictor: a rival's name, or "oracle", who knows the true progress.

    search: see `statefactory.planning.mcts.Settings`. seed: of synthetic data, and of the order in which actions are
    proposed.
    """

    search: Settings = SETTINGS

    method: ClassVar[str] = "tree-search"
    metric: ClassVar[str] = SUCCESS

    def __post_init__(self) -> None:
        """Raises BadSetting for a world that is not searched."""
        if self.world not in SEARCHED:
            raise BadSetting(f"world={self.world!r}; choose one of {', '.join(SEARCHED)}")

    @property
    def how(self) -> Method:
        # `made` never asks it: the oracle is told the task.
        return Method(ORACLE_TITLE, lambda backbone, given: Oracle(len)) if self.predictor == ORACLE else super().how

    def actor(self) -> Guided:
        """Whose tasks they are."""
        guided: Guided = SEARCHED[self.world](data=self.data, limit=self.limit, seed=self.seed)
        return guided

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
