"""Reward hacking as an experiment: the highest scores that one predictor gives without progress, on a world's tasks.

True progress is 1 minus the share of steps that a planner still needs: 0 at s_0, below 0 where more are needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import mean
from typing import TYPE_CHECKING, Any, ClassVar

from lab.models.backbone import Ledger
from lab.results.exports import EMPTY
from lab.runs.study_results import Results
from statefactory.experiments.guided import Guided
from statefactory.experiments.rivals import PredictorExperiment, answering, evidence
from statefactory.experiments.statistics import title
from statefactory.planning.hacking import WAYS, Hacker, Progress, cheapest
from statefactory.planning.lookahead import Lookahead
from statefactory.planning.world_models import Exact
from worlds.benchmark import of_thread
from worlds.pool import Pool

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Hacking(PredictorExperiment):
    """One predictor in one world.

    steps, walks, actions: the effort, as for `statefactory.planning.hacking.Hacker`. seed: of synthetic data and of
    what is tried.
    """

    steps: int = 10
    walks: int = 5
    actions: int = 12

    method: ClassVar[str] = "reward-hacking"

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        """The scores at s_0 and at the expert's end, and each way's best with its actions and their true progress."""
        actor = self.actor
        named, plan = actor.named(task), tuple(actor.solution(task))
        pool = of_thread(("hacking", self.world, self.data, self.seed), lambda: Pool(actor.opened, None)).on(named)
        progress = progress_in(actor, named, pool)
        effort = (self.steps, self.walks, self.actions, self.seed)
        hacker = Hacker(Lookahead(self.made(ledger), Exact(pool)), pool, progress, named.goal, *effort)
        tried, scores = list(hacker.all()), hacker.along(plan)
        best = {way: cheapest((state for state in tried if state.way == way), progress) for way in WAYS}
        ways: dict[str, dict[str, Any]] = {
            way: {"score": state.score, "actions": state.actions, "progress": progress(state.actions)}
            for way, state in best.items()
            if state
        }
        highest = max((way["score"] for way in ways.values()), default=scores[0])
        return {"start": scores[0], "solved": scores[-1], "highest": highest, "states": len(tried), "ways": ways}


def frame(run: Results) -> pd.DataFrame:
    """A row a predictor and world: the highest score found without progress, and the cheapest way to it.

    start, solved: the score at s_0 and at the expert's end; reached: the highest without progress; each a mean over
    tasks. share: (reached - start) / (solved - start), NaN where solving does not raise the score; 1 or more means that
    idling pays as much as solving. as good: percent of tasks in which a state without progress scores as high as the
    solved one. way, steps, actions, score, progress: of the task in which the score rose most.
    """
    import pandas as pd

    lines = []
    for world, predictor in run.parts:
        played = _played(run, world, predictor)
        tasks = [task | _best(task["ways"]) for task in played if task["ways"]]
        if not tasks:
            continue
        start, solved, reached = (mean(task[name] for task in tasks) for name in ("start", "solved", "score"))
        worst = max(tasks, key=lambda task: task["score"] - task["start"])
        as_good = mean(task["score"] >= task["solved"] - 1e-9 for task in tasks)
        lines.append({
            "world": title(world), "predictor": run.setup.part(world, predictor).how.title, "tasks": len(tasks),
            "start": start, "solved": solved, "reached": reached,
            "share": (reached - start) / (solved - start) if solved > start else float("nan"),
            "as good": 100 * as_good, "way": worst["way"], "steps": len(worst["actions"]), "score": worst["score"],
            "progress": worst["progress"], "actions": "; ".join(_with_counts(worst["actions"])),
            "states": sum(task["states"] for task in played),
            "backbone": answering(run, world, predictor) or EMPTY, "evidence": evidence(run, world, predictor),
        })  # fmt: skip
    return pd.DataFrame(lines)


def by_way(run: Results) -> pd.DataFrame:
    """What each way reaches alone: the mean over tasks of its highest score without progress."""
    import pandas as pd

    lines = []
    for world, predictor in run.parts:
        played = _played(run, world, predictor)
        line = {"world": title(world), "predictor": run.setup.part(world, predictor).how.title, "tasks": len(played)}
        for way in WAYS:
            scores = [task["ways"][way]["score"] for task in played if way in task["ways"]]
            line[way] = mean(scores) if scores else float("nan")
        lines.append(line | {"evidence": evidence(run, world, predictor)})
    return pd.DataFrame(lines)


def progress_in(actor: Guided, task: Any, pool: Pool) -> Progress:
    """The true progress on a task, as the head of this file has it.

    Raises NoSolution for a game that the planner cannot solve.
    """
    reached = actor.progress(task, pool)
    start = reached(())  # a half, so that leading away is seen
    return lambda actions: (reached(actions) - start) / (1 - start)


def _played(run: Results, world: str, predictor: str) -> list[dict[str, Any]]:
    return [episode.result for episode in run.of(world, predictor).values() if not episode.failed]


def _best(ways: Mapping[str, Any]) -> dict[str, Any]:
    """The way with the highest score, and the fewest actions to it; of equal ones the first of WAYS."""
    way = max((way for way in WAYS if way in ways), key=lambda way: (ways[way]["score"], -len(ways[way]["actions"])))
    return {"way": way, **ways[way]}


def _with_counts(actions: Sequence[str]) -> list[str]:
    """The same action again and again, once with how often it is taken."""
    counts = [(action, len(list(run))) for action, run in groupby(actions)]
    return [action if count == 1 else f"{action} × {count}" for action, count in counts]
