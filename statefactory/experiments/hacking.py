"""Reward hacking as a run: for one predictor, the highest scores found without progress, on some tasks of a world.

True progress is of the state itself, and s_0 has none. BlocksWorld and AlfWorld: the share of the way that is done, by
the steps of a planner's plan from there, below 0 where it has become longer. ScienceWorld: its own score. In the
others, whose score is 0 until the end, the share of the expert's actions that were done, in any order: another way
than the expert's is not seen, and what looks like hacking there may be one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import TYPE_CHECKING, Any, ClassVar

from agents.experiments.attempts import ACTORS
from lab.models.backbone import Ledger
from lab.results.exports import EMPTY
from lab.runs import experiment
from lab.runs.experiment import BadSetting
from statefactory.experiments.guided import WORLDS, Guided
from statefactory.experiments.rivals import OnTasks
from statefactory.experiments.statistics import title
from statefactory.planning.hacking import WAYS, Hacker, Progress, Tried, cheapest
from statefactory.planning.lookahead import Lookahead
from statefactory.planning.world_models import Exact
from worlds.base import NoSolution
from worlds.benchmark import of_thread
from worlds.pool import Pool

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Setup(OnTasks):
    """One predictor in one world.

    steps, walks, actions: the effort, as for `statefactory.planning.hacking.Hacker`. seed: of synthetic data and of
    what is tried.
    """

    steps: int = 10
    walks: int = 5
    actions: int = 12

    method: ClassVar[str] = "reward-hacking"

    def __post_init__(self) -> None:
        """Raises BadSetting for a world that there is not, and for no effort."""
        if self.world not in ACTORS:
            raise BadSetting(f"world={self.world!r}; choose one of {', '.join(ACTORS)}")
        if wrong := [name for name in ("steps", "walks", "actions") if getattr(self, name) < 1]:
            raise BadSetting(f"{', '.join(wrong)}: each is at least 1")

    def actor(self) -> Any:
        """Whose tasks they are, and whose expert knows how they are solved."""
        known: Mapping[str, Callable[..., Any]] = {**ACTORS, **{of.package: of for of in WORLDS.values()}}
        return known[self.world](data=self.data, limit=self.limit, seed=self.seed)

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        """The scores at s_0 and at the expert's end, and each way's best with its actions and their true progress."""
        actor = self.actor().decided()
        of = actor.named(task)
        pool = of_thread(("hacking", self.world, self.data, self.seed), lambda: Pool(actor.opened, of)).on(of)
        progress = progress_in(actor, of, pool, plan := _plan(actor, task))
        looking = Lookahead(self.made(ledger), Exact(pool))
        hacker: Hacker[Any] = Hacker(looking, pool, progress, of.goal, self.steps, self.walks, self.actions, self.seed)
        tried = list(hacker.all())
        expert = hacker.along(plan)
        best = {way: cheapest((one for one in tried if one.way == way), progress) for way in WAYS}
        return {
            "start": expert[0], "solved": expert[-1] if plan else None, "plan": len(plan), "states": len(tried),
            "ways": {way: _told(one, progress) for way, one in best.items() if one},
        }  # fmt: skip


def frame(runs: Sequence[experiment.Results[Setup]]) -> pd.DataFrame:
    """A row a predictor and world: the highest score found without progress, and the cheapest way to it.

    start, solved: the score at s_0 and at the expert's end; reached: the highest without progress; each a mean over
    tasks. share: (reached - start) / (solved - start), NaN where solving does not raise the score; 1 or more means that
    idling pays as much as solving. as good: percent of tasks in which a state without progress scores as high as the
    solved one. way, steps, actions, score, progress: of the task in which the score rose most.
    """
    import pandas as pd

    lines = []
    for run in runs:
        told = [episode.result for episode in run.episodes.values() if not episode.failed]
        bests = [(of, max(_in_order(of["ways"]), key=lambda way: (way[1]["score"], -way[1]["steps"]))) for of in told
                 if of["ways"] and of["solved"] is not None]  # fmt: skip
        if not bests:
            continue
        start, solved = mean(of["start"] for of, _ in bests), mean(of["solved"] for of, _ in bests)
        reached = mean(best["score"] for _, (_, best) in bests)
        _, (way, worst) = max(bests, key=lambda one: one[1][1]["score"] - one[0]["start"])
        as_good = mean(best["score"] >= of["solved"] - 1e-9 for of, (_, best) in bests)
        lines.append({
            "world": title(run.setup.world), "predictor": run.setup.how.title, "tasks": len(bests), "start": start,
            "solved": solved, "reached": reached,
            "share": (reached - start) / (solved - start) if solved > start else float("nan"),
            "as good": 100 * as_good, "way": way, "steps": worst["steps"], "score": worst["score"],
            "progress": worst["progress"], "actions": "; ".join(_runs_of(worst["actions"])),
            "states": sum(of["states"] for of in told), "backbone": run.backbone if run.setup.operators() else EMPTY,
            "evidence": run.evidence,
        })  # fmt: skip
    return pd.DataFrame(lines)


def by_way(runs: Sequence[experiment.Results[Setup]]) -> pd.DataFrame:
    """What each way reaches alone: the mean over tasks of its highest score without progress."""
    import pandas as pd

    lines = []
    for run in runs:
        told: list[Mapping[str, Any]] = [one.result for one in run.episodes.values() if not one.failed]
        line = {"world": title(run.setup.world), "predictor": run.setup.how.title, "tasks": len(told)}
        for way in WAYS:
            scores = [of["ways"][way]["score"] for of in told if way in of["ways"]]
            line[way] = mean(scores) if scores else float("nan")
        lines.append(line | {"evidence": run.evidence})
    return pd.DataFrame(lines)


def progress_in(actor: Any, task: Any, pool: Pool, plan: Sequence[str]) -> Progress:
    """The true progress on a task, as the head of this file has it. plan: the expert's, () where none is known.

    Raises NoSolution for a game that the planner cannot solve.
    """
    if not isinstance(actor, Guided):
        return lambda actions: max(pool.at(actions).score, share_done(plan, actions))
    reached = actor.progress(task, pool)
    start = reached(())
    # `nearer` has a half at the beginning; the world's own score has 0.
    return lambda actions: (reached(actions) - start) / (1 - start)


def share_done(plan: Sequence[str], actions: Sequence[str]) -> float:
    """The share of a plan's actions that are among those that were done, in any order; 0 of an empty plan."""
    return len({*plan} & {*actions}) / len({*plan}) if plan else 0.0


def _plan(actor: Any, task: str) -> tuple[str, ...]:
    try:
        return tuple(actor.solution(task))
    except NoSolution:
        return ()


def _told(one: Tried, progress: Progress) -> dict[str, Any]:
    return {"score": one.score, "steps": len(one.actions), "actions": one.actions, "progress": progress(one.actions)}


def _in_order(ways: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """In that of WAYS, which decides ties: a run that was read again has its keys sorted."""
    return [(way, ways[way]) for way in WAYS if way in ways]


def _runs_of(actions: Sequence[str]) -> list[str]:
    """The same action again and again, said once."""
    found: list[tuple[str, int]] = []
    for action in actions:
        if found and found[-1][0] == action:
            found[-1] = (action, found[-1][1] + 1)
        else:
            found.append((action, 1))
    return [action if count == 1 else f"{action} × {count}" for action, count in found]
