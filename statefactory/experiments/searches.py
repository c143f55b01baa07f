"""Tree search led by one predictor, on the tasks of a world: is the goal reached within a budget of foreseen outcomes?

The world itself is the world model, and its valid actions are proposed, so that runs differ in the value alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from lab.models.backbone import Ledger
from lab.results.outcomes import Judged
from lab.runs.run import Episode
from statefactory.experiments.guided import SUCCESS
from statefactory.experiments.rivals import ORACLE, PredictorExperiment
from statefactory.planning.guides import Oracle
from statefactory.planning.lookahead import Lookahead
from statefactory.planning.mcts import Planner, Settings, plan
from statefactory.planning.proposals import Listed
from statefactory.planning.world_models import Exact
from worlds.benchmark import of_thread
from worlds.pool import Pool


@dataclass(frozen=True, kw_only=True)
class Search(PredictorExperiment):
    """One predictor in one world of Table 2, or "oracle", who knows the true progress.

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

    def judged(self, episode: Episode) -> Judged:
        """Success."""
        if episode.failed:
            return super().judged(episode)
        reached = bool(episode.result[SUCCESS])
        return Judged(float(reached), "" if reached else episode.result["end"])
