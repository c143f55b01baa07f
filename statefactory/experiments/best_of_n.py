"""Best of n: of several attempts at a task the one is taken that a predictor likes best.

    at the end   all attempts as they ended
    midway       attempts that are still running after half of the steps that one may have, as they stand there; what
                 counts is whether the chosen one then succeeds, as where a planner has to decide what to go on with

The attempts are a run of their own (`agents.experiments.attempts`); here each is read and scored, and no world opened.
So every predictor chooses among the same attempts, and one predictor more costs no step. Beside the predictors stand
what a random choice achieves, what the best could, and what the shortest attempt does. An episode that reaches its goal
ends there: at the end, its length tells of success to anyone, and so may its last observation. Midway all are of one
length, and none has ended.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from agents.experiments import attempts
from agents.experiments.attempts import Attempt, task_of
from lab.models.backbone import Ledger
from lab.models.engines import parse
from lab.results import tables
from lab.results.statistics import compare, holm
from lab.runs import collecting, experiment
from lab.runs.experiment import NOT_KEPT, NOT_TOLD
from lab.runs.run import Episode
from lab.viewer.episodes import Kept
from statefactory.experiments import rivals
from statefactory.experiments.rivals import ORACLE, ORACLE_TITLE, SHORTEST, ByPredictor
from statefactory.experiments.scoring import STANDARD, Scoring, embedder_of
from statefactory.experiments.statistics import title
from statefactory.extraction import read_trace
from statefactory.predictors.factored import trace_rewards

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

When = Literal["at the end", "midway"]
END: When = "at the end"
MIDWAY: When = "midway"
CHANCE, CHANCE_TITLE = "chance", "Random choice"
A_TIE = 1e-9  # rewards of the same content differ by rounding at most


@dataclass(frozen=True, kw_only=True)
class Setup(ByPredictor):
    """One predictor on attempts that were made: what it says of each.

    of: how the attempts were made. digest: of what was attempted. folder: their run's. data, limit and seed say nothing
    here: those of the attempts do.
    """

    of: attempts.Setup = attempts.Setup()
    digest: str = field(default="", metadata=NOT_TOLD)
    folder: str = field(default="", metadata=NOT_KEPT)

    method: ClassVar[str] = "best-of-n"
    packages: ClassVar[tuple[str, ...]] = ("lab", "worlds", "agents", "statefactory")
    selection: ClassVar[tuple[str, ...]] = ("data", "limit", "of", "digest")

    @property
    def results(self) -> type[Results]:
        return Results

    @property
    def domain(self) -> str:
        return self.of.world

    def tasks(self) -> list[str]:
        return list(_attempted(self.folder))

    def group(self, task: str) -> str:
        """All attempts at a task: a choice among some of them would be another."""
        return task_of(task)

    def calls(self, task: str) -> dict[str, int]:
        """One of each operator for s_0 and each step; raw text asks nobody."""
        steps = 1 + len(_attempted(self.folder)[task].steps)
        return {} if self.predictor == "raw" else dict.fromkeys(self.operators(), steps)

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        """What the predictor keeps of the end, and of midway where the attempt then still runs, which comes first:
        rewards, or states and goals.
        """
        of, half = _attempted(self.folder)[task], self.of.steps // 2
        predictor = self.made(ledger)
        memories = predictor.follow(of.goal, of.actions, of.observations, of.first)
        return predictor.result([*memories[half : half + 1], memories[-1]] if running(of, half) else memories[-1:])


class Results(experiment.Results[Setup]):
    """What a predictor said of the attempts."""

    def rewards(self, scoring: Scoring = STANDARD, when: When = END) -> dict[str, list[float]]:
        """Task -> the reward of each attempt, in their order; NaN midway for one that has ended.

        A failed episode predicts nothing: 0.
        """
        found: dict[str, list[float]] = {}
        for name, episode in self.episodes.items():
            attempt = _attempted(self.setup.folder)[name]
            there = when == END or running(attempt, self.setup.of.steps // 2)
            found.setdefault(task_of(name), []).append(_reward(episode, scoring, when) if there else math.nan)
        return found


class Chosen(NamedTuple):
    """What choices came to. success: task -> the expected success, in [0, 1], of the attempt that is chosen."""

    name: str
    title: str
    backbone: str
    evidence: str
    success: Mapping[str, float]


@dataclass(frozen=True)
class World:
    """The attempts in one world, and what each predictor said of them."""

    attempts: attempts.Results
    scored: Mapping[str, Results]

    @property
    def name(self) -> str:
        return self.attempts.setup.world

    def choices(self, scoring: Scoring = STANDARD, when: When = END) -> list[Chosen]:
        """Of every predictor, then of chance and of the oracle, on the tasks that all of them have finished.

        Midway, tasks with fewer than two attempts that still run are left out: nothing is chosen there.
        """
        made, half = self.attempts.attempts(), self.attempts.setup.steps // 2
        open_ = {task: [one for one in of if when == END or running(one, half)] for task, of in made.items()}
        said = {name: of.rewards(scoring, when) for name, of in self.scored.items()}
        tasks = [
            task for task, of in open_.items() if len(of) > 1 and all(task in rewards for rewards in said.values())
        ]
        found = [
            Chosen(name, self.scored[name].setup.how.title, self._backbone(name), self._evidence(name),
                   {task: expected([r for r in rewards[task] if not math.isnan(r)], open_[task]) for task in tasks})
            for name, rewards in said.items()
        ]  # fmt: skip
        known = {
            (CHANCE, CHANCE_TITLE): {task: expected([0.0] * len(open_[task]), open_[task]) for task in tasks},
            (ORACLE, ORACLE_TITLE): {task: expected([of.score for of in open_[task]], open_[task]) for task in tasks},
        }
        acting = parse(self.attempts.backbone).label
        return found + [Chosen(*who, acting, "simulated", success) for who, success in known.items()]

    def _backbone(self, name: str) -> str:
        """Who acted, and who answered what the predictor asks."""
        acting = parse(self.attempts.backbone).label
        asks = name != "raw" and self.scored[name].setup.operators()
        return f"{acting}; rewards by {self.scored[name].backbone}" if asks else acting

    def _evidence(self, name: str) -> str:
        """ "measured" where neither those who acted nor those who judged were a stand-in with noise."""
        both = (self.attempts.evidence, self.scored[name].evidence)
        return "measured" if both == ("measured", "measured") else "simulated"


def collect(
    of: attempts.Setup, predictors: Sequence[str], engine: str = "rules", engines: Mapping[str, str] | None = None,
    workers: int = 0, cluster: str = "", **options: Any,
) -> World:  # fmt: skip
    """Make the attempts that are not made yet, and score them by each predictor that has not.

    engine, engines: of the predictors. Raises what `lab.runs.collecting.collect` raises.
    """
    made = collecting.collect(of, workers, cluster, **options)
    about: dict[str, Any] = {"of": made.setup, "digest": made.digest, "folder": str(made.folder),
                             "data": made.setup.data}  # fmt: skip
    scored = {}
    for name in predictors:
        answering = rivals.engines_for(name, of.world, engine, engines or {})
        setup = Setup(predictor=name, **answering, **about)
        scored[name] = collecting.collect(setup, workers, cluster, **options)
    return World(made, scored)


def expected(rewards: Sequence[float] | np.ndarray, of: Sequence[Attempt]) -> float:
    """The success of the attempt with the highest reward; of several, their mean, as if one of them were drawn.

    rewards: shape (attempts,). Raises ValueError if they are not as many as the attempts, or there is none.
    """
    if len(rewards) != len(of) or not of:
        raise ValueError(
            f"{len(rewards)} rewards for {len(of)} attempts: each attempt needs one, and there must be one"
        )
    best = max(rewards) - A_TIE
    tied = [one.success for reward, one in zip(rewards, of, strict=True) if reward >= best]
    return sum(tied) / len(tied)


def metric(count: int, when: When, world: str) -> str:
    """What a success is called in a results table."""
    return f"Best of {count} {when}, {title(world)}"


def frame(worlds: Sequence[World], scoring: Scoring = STANDARD, when: When = END) -> pd.DataFrame:
    """The results table: a row a predictor and world, the success of its choices in percent."""
    rows = []
    for world in worlds:
        setup = world.attempts.setup
        name, source = metric(setup.count, when, world.name), f"this run, {setup.data} data"
        for one in world.choices(scoring, when):
            values = [100 * value for value in one.success.values()]
            rows += [tables.mean_row(one.title, one.backbone, name, values, one.evidence, source)] if values else []
    return tables.table(rows)


def contrasts(worlds: Sequence[World], scoring: Scoring = STANDARD, when: When = END) -> pd.DataFrame:
    """Each predictor's choices against a random choice and against the shortest attempt, task by task, in percent.

    p (Holm): for all rows together. Columns: world, compared, difference with its interval, wins, losses, p, n.
    """
    import pandas as pd

    found = []
    for world in worlds:
        choices = {one.name: one for one in world.choices(scoring, when) if one.success}
        for other in (choices.get(CHANCE), choices.get(SHORTEST) if when == END else None):
            rivals = [one for one in choices.values() if other and one.name not in (CHANCE, ORACLE, other.name)]
            found += [(world.name, one, other, compare(one.success, other.success)) for one in rivals if other]
    lines = []
    for (world_name, one, other, result), p in zip(found, holm([each[-1].p for each in found]), strict=True):
        numbers = [100 * value for value in result.difference]
        lines.append((title(world_name), f"{one.title} − {other.title}", *numbers, result.wins, result.losses, result.p,
                      p, result.n, one.evidence, one.backbone))  # fmt: skip
    columns = ["world", "compared", "difference", "ci_low", "ci_high", "wins", "losses", "p", "p (Holm)", "n",
               "evidence", "backbone"]  # fmt: skip
    return pd.DataFrame(lines, columns=columns)


def lengths(worlds: Sequence[World]) -> pd.DataFrame:
    """How far an attempt's length gives its success away: a row a world.

    success: percent of all attempts. tasks where some succeed: those in which a choice matters. AUC: how often, within
    a task, an attempt that succeeded is shorter than one that did not, ties counted half; 0.5 tells nothing.
    """
    import pandas as pd

    lines = []
    for world in worlds:
        made = world.attempts.attempts()
        mixed = [of for of in made.values() if 0 < sum(one.success for one in of) < len(of)]
        pairs = [
            (len(good.steps), len(bad.steps))
            for of in mixed for good in of if good.success for bad in of if not bad.success
        ]  # fmt: skip
        shorter = [(good < bad) + (good == bad) / 2 for good, bad in pairs]
        every = [one for of in made.values() for one in of]
        lines.append({
            "world": title(world.name), "tasks": len(made), "attempts a task": world.attempts.setup.count,
            "success": 100 * sum(one.success for one in every) / len(every), "tasks where some succeed": len(mixed),
            "AUC of being shorter": sum(shorter) / len(shorter) if shorter else float("nan"),
            "backbone": world.attempts.backbone, "evidence": world.attempts.evidence,
        })  # fmt: skip
    return pd.DataFrame(lines)


@cache
def _attempted(folder: str) -> dict[str, Attempt]:
    """The attempts of a run's folder, by episode; those that failed are left out."""
    episodes = Kept(Path(folder)).episodes
    return {name: attempts.attempt_of(episode) for name, episode in episodes.items() if not episode.failed}


def running(attempt: Attempt, steps: int) -> bool:
    """Whether an attempt goes on after so many steps."""
    return len(attempt.steps) > steps


def _reward(episode: Episode, scoring: Scoring, when: When) -> float:
    if episode.failed:
        return 0.0
    place = 0 if when == MIDWAY else -1
    if "trace" not in episode.result:
        return float(episode.result["rewards"][place])
    trace = read_trace(episode.result["trace"])
    return float(trace_rewards(trace, embedder_of(scoring.embedding), scoring.convention)[place])
