"""Best of n: a predictor chooses one of several attempts at a task.

    at the end   among all attempts, scored at their last step
    midway       among attempts that still run after half of the allowed steps, scored at that step; what counts is
                 whether the chosen one succeeds later, as for a planner that decides which path to follow

The attempts are a run of their own (`agents.experiments.attempts`); here they are only scored, and no world is opened.
So every predictor chooses among the same attempts, and a further predictor costs no step. The baselines are a random
choice, the shortest attempt, and an oracle. An attempt that reaches its goal ends there, so at the end its length, and
maybe its last observation, tell that it succeeded. Midway all attempts have one length and none has ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, Literal, NamedTuple, Self

import pandas as pd

from agents.experiments import attempts
from agents.experiments.attempts import Attempt, attempt_of, task_of
from lab.models.backbone import Ledger
from lab.models.engines import parse
from lab.results import tables
from lab.runs import collecting
from lab.runs.run import Episode
from lab.runs.study_results import Results
from statefactory.benchmark.domains import title
from statefactory.experiments.predictions import flags_of
from statefactory.experiments.rivals import ORACLE, TRUE_SCORE, PredictorExperiment, answering, evidence
from statefactory.experiments.scoring import STANDARD, Scoring, embedder_of
from statefactory.extraction import read_trace
from statefactory.predictors.factored import trace_flags, trace_rewards
from statefactory.trust import NONE, Flags, cells

When = Literal["at the end", "midway"]
END: When = "at the end"
MIDWAY: When = "midway"
CHANCE, CHANCE_TITLE = "chance", "Random choice"
A_TIE = 1e-9  # rewards of the same content differ by rounding at most


@dataclass(frozen=True, kw_only=True)
class BestOfN(PredictorExperiment):
    """The scores that one predictor gives to an agent's attempts.

    acting: the engine that makes them, "" for the noisy expert. count: attempts a task. data, limit, seed: of theirs.
    """

    acting: str = ""
    count: int = 20

    method: ClassVar[str] = "best-of-n"

    @property
    def attempts(self) -> attempts.Setup:
        """How the attempts are made."""
        return attempts.Setup(
            world=self.world, engine=self.acting, count=self.count, data=self.data, limit=self.limit, seed=self.seed
        )

    def decided(self) -> Self:
        """With `data` decided."""
        return replace(self, data=self.attempts.decided().data)

    def inputs(self) -> dict[str, str]:
        """The digest of the attempts: scores of other attempts are another run."""
        return super().inputs() | {"attempts": attempted(self.attempts).digest}

    def tasks(self) -> list[str]:
        """An episode is one attempt; one that failed could not be chosen."""
        return [name for name, episode in attempted(self.attempts).episodes.items() if not episode.failed]

    def group(self, task: str) -> str:
        """All attempts at a task: a choice among some of them would be another."""
        return task_of(task)

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        """The predictor's result, rewards or extracted states: midway, if the attempt runs then, and at its end."""
        setup = self.attempts
        attempt, half = attempt_of(attempted(setup).episodes[task]), setup.steps // 2
        predictor = self.made(ledger)
        memories = predictor.follow(attempt.goal, attempt.actions, attempt.observations, attempt.first)
        midway = memories[half : half + 1] if running(attempt, half) else []
        return predictor.result([*midway, memories[-1]])


@cache
def attempted(setup: attempts.Setup) -> attempts.Results:
    """The attempts, which are made where they are not there yet. Raises as `lab.runs.collecting.collect`."""
    return collecting.collect(setup, show_progress=False)


class Choices(NamedTuple):
    """What choices came to. success: task -> the expected success, in [0, 1], of the attempt that is chosen.

    flags: of the attempts' rewards, one set an attempt.
    """

    name: str
    title: str
    when: str
    backbone: str
    evidence: str
    success: Mapping[str, float]
    flags: Flags = ()


def choices(made: attempts.Results, run: Results, when: When = END, scoring: Scoring = STANDARD) -> list[Choices]:
    """Of every predictor, then of chance and of the oracle, on the tasks that all of them have finished.

    made: the attempts in one world. run: what the predictors said of them. Midway, tasks with fewer than two attempts
    that still run are left out: nothing is chosen there.
    """
    world, half, acting = made.setup.world, made.setup.steps // 2, parse(made.backbone).label
    predictions = {name: run.of(world, name) for name in run.setup.methods_of(world)}
    every = {name: attempt_of(episode) for name, episode in made.episodes.items() if not episode.failed}
    tasks: dict[str, list[str]] = {}
    for name, attempt in every.items():
        if (when == END or running(attempt, half)) and all(name in episodes for episodes in predictions.values()):
            tasks.setdefault(attempt.task, []).append(name)

    def success(rewards: Mapping[str, float]) -> dict[str, float]:
        return {
            task: expected([rewards[name] for name in names], [every[name] for name in names])
            for task, names in tasks.items()
            if len(names) > 1
        }

    chosen = []
    for predictor, episodes in predictions.items():
        answered = answering(run, world, predictor) if predictor != "raw" else ""
        backbone = f"{acting}; rewards by {answered}" if answered else acting
        # Measured where neither those who acted nor those who judged were a stand-in with noise.
        stood_in = "simulated" in (made.evidence, evidence(run, world, predictor))
        rated = {name: _rated(episodes[name], scoring, when) for names in tasks.values() for name in names}
        rewards, flags = {name: reward for name, (reward, _) in rated.items()}, tuple(of for _, of in rated.values())
        how, origin = run.setup.part(world, predictor).how, "simulated" if stood_in else "measured"
        chosen.append(Choices(predictor, how.title, when, backbone, origin, success(rewards), flags))
    known = {
        (CHANCE, CHANCE_TITLE): dict.fromkeys(every, 0.0),
        (ORACLE, TRUE_SCORE.title): {name: attempt.score for name, attempt in every.items()},
    }
    return chosen + [Choices(*who, when, acting, "simulated", success(scores)) for who, scores in known.items()]


def success(made: attempts.Results, choice: Choices) -> tables.Row:
    """The row of choices among attempts, in percent."""
    metric = f"Best of {made.setup.count} {choice.when}, {title(made.setup.world)}"
    values, source = [100 * value for value in choice.success.values()], f"this run, {made.setup.data} data"
    row = tables.mean_row(choice.title, choice.backbone, metric, values, choice.evidence, source)
    return row | cells([choice.flags])


def expected(rewards: Sequence[float], attempts: Sequence[Attempt]) -> float:
    """The success of the attempt with the highest reward; of several, their mean, as if one of them were drawn.

    rewards: shape (attempts,).
    """
    best = max(rewards) - A_TIE
    tied = [attempt.success for reward, attempt in zip(rewards, attempts, strict=True) if reward >= best]
    return sum(tied) / len(tied)


def lengths(worlds: Sequence[attempts.Results]) -> pd.DataFrame:
    """How far an attempt's length gives its success away: a row a world.

    success: percent of all attempts. tasks where some succeed: those in which a choice matters. AUC: how often, within
    a task, an attempt that succeeded is shorter than one that did not, ties counted half; 0.5 tells nothing.
    """
    lines = []
    for made in worlds:
        tasks = made.attempts().values()
        every = [attempt for group in tasks for attempt in group]
        mixed = [group for group in tasks if 0 < sum(attempt.success for attempt in group) < len(group)]
        shorter = [
            (len(good.steps) < len(bad.steps)) + (len(good.steps) == len(bad.steps)) / 2
            for group in mixed for good in group if good.success for bad in group if not bad.success
        ]  # fmt: skip
        lines.append({
            "world": title(made.setup.world), "tasks": len(tasks), "attempts a task": made.setup.count,
            "success": 100 * sum(attempt.success for attempt in every) / len(every),
            "tasks where some succeed": len(mixed),
            "AUC of being shorter": sum(shorter) / len(shorter) if shorter else float("nan"),
            "backbone": made.backbone, "evidence": made.evidence,
        })  # fmt: skip
    return pd.DataFrame(lines)


def running(attempt: Attempt, steps: int) -> bool:
    """Whether an attempt goes on after so many steps."""
    return len(attempt.steps) > steps


def _rated(episode: Episode, scoring: Scoring, when: When) -> tuple[float, frozenset[str]]:
    """What a predictor says of an attempt, with its flags; a failed episode predicts nothing: 0."""
    if episode.failed:
        return 0.0, NONE
    index = 0 if when == MIDWAY else -1
    if "trace" not in episode.result:
        return float(episode.result["rewards"][index]), flags_of(episode.result)[index]
    trace, embedder = read_trace(episode.result["trace"]), embedder_of(scoring.embedding)
    reward = float(trace_rewards(trace, embedder, scoring.convention)[index])
    return reward, trace_flags(trace, None, embedder, scoring.convention)[index]
