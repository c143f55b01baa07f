"""Best of n: a predictor chooses one of several attempts at a task.

    at the end   among all attempts, scored at their last step
    midway       among attempts that still run after half of the allowed steps, scored at that step; a choice counts as
                 a success if the attempt succeeds later, as for a planner that decides which path to follow

The attempts are a separate run (`agents.experiments.attempts`). Here they are only scored, without a world. So all
predictors choose among the same attempts, and another predictor costs no steps. The baselines are a random choice, the
shortest attempt, and an oracle. An attempt that reaches its goal ends there, so at the end its length, and maybe its
last observation, reveal the success. Midway all attempts have the same length and none has ended.
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
from statefactory.experiments.scoring import STANDARD, Scoring, embed_all, embedder_of
from statefactory.extraction import Trace, read_trace
from statefactory.predictors.factored import trace_flags, trace_rewards
from statefactory.trust import NONE, Flags, cells

When = Literal["at the end", "midway"]
END: When = "at the end"
MIDWAY: When = "midway"
CHANCE, CHANCE_TITLE = "chance", "Random choice"
A_TIE = 1e-9  # rewards closer than this are equal: equal content may differ by rounding


@dataclass(frozen=True, kw_only=True)
class BestOfN(PredictorExperiment):
    """One predictor's scores of an agent's attempts.

    acting: the engine of the agent; "" for the noisy expert. count: attempts per task. data, limit, seed: of the
    attempts.
    """

    acting: str = ""
    count: int = 20

    method: ClassVar[str] = "best-of-n"

    @property
    def attempts(self) -> attempts.Setup:
        """The experiment that makes the attempts."""
        return attempts.Setup(
            world=self.world, engine=self.acting, count=self.count, data=self.data, limit=self.limit, seed=self.seed
        )

    def decided(self) -> Self:
        """The experiment with "auto" in `data` resolved."""
        return replace(self, data=self.attempts.decided().data)

    def inputs(self) -> dict[str, str]:
        """The digest of the attempts, so that scores of other attempts are another run."""
        return super().inputs() | {"attempts": attempted(self.attempts).digest}

    def tasks(self) -> list[str]:
        """The names of the attempts: an episode is one attempt. Failed ones cannot be chosen and are omitted."""
        return [name for name, episode in attempted(self.attempts).episodes.items() if not episode.failed]

    def group(self, task: str) -> str:
        """The task of an attempt; its attempts belong together, since a choice among some of them would differ."""
        return task_of(task)

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        """The predictor's result midway, if the attempt still runs then, and at the end."""
        setup = self.attempts
        attempt, half = attempt_of(attempted(setup).episodes[task]), setup.steps // 2
        predictor = self.made(ledger)
        memories = predictor.follow(attempt.goal, attempt.actions, attempt.observations, attempt.first)
        midway = memories[half : half + 1] if running(attempt, half) else []
        return predictor.result([*midway, memories[-1]])


@cache
def attempted(setup: attempts.Setup) -> attempts.Results:
    """The attempts, from stored runs or a new one. Raises as `lab.runs.collecting.collect`."""
    return collecting.collect(setup, show_progress=False)


class Choices(NamedTuple):
    """Results of a predictor's choices. success: task -> expected success of the chosen attempt, in [0, 1].

    flags: of the attempts' rewards, one set per attempt.
    """

    name: str
    title: str
    when: str
    backbone: str
    evidence: str
    success: Mapping[str, float]
    flags: Flags = ()


def choices(made: attempts.Results, run: Results, when: When = END, scoring: Scoring = STANDARD) -> list[Choices]:
    """Choices of every predictor, of chance and of the oracle, among the attempts that all predictors have scored.

    made: the attempts in one world. run: the predictors' results. Tasks with fewer than two attempts (midway: that are
    still running) are omitted, since there is nothing to choose.
    """
    world, half, acting = made.setup.world, made.setup.steps // 2, parse(made.backbone).label
    predictions = {name: run.of(world, name) for name in run.setup.methods_of(world)}
    attempts_by_name = {name: attempt_of(episode) for name, episode in made.episodes.items() if not episode.failed}
    tasks: dict[str, list[str]] = {}
    for name, attempt in attempts_by_name.items():
        if (when == END or running(attempt, half)) and all(name in episodes for episodes in predictions.values()):
            tasks.setdefault(attempt.task, []).append(name)

    def success(rewards: Mapping[str, float]) -> dict[str, float]:
        return {
            task: expected([rewards[name] for name in names], [attempts_by_name[name] for name in names])
            for task, names in tasks.items()
            if len(names) > 1
        }

    results = []
    for predictor, episodes in predictions.items():
        answered = answering(run, world, predictor) if predictor != "raw" else ""
        backbone = f"{acting}; rewards by {answered}" if answered else acting
        # Measured only if neither the agent nor the predictor used simulated answers.
        simulated = "simulated" in (made.evidence, evidence(run, world, predictor))
        compared = {name: episodes[name] for names in tasks.values() for name in names}
        traces = {name: trace for name, episode in compared.items() if (trace := _trace(episode))}
        embed_all(traces.values(), scoring)
        rated = {name: _rated(episode, traces.get(name), scoring, when) for name, episode in compared.items()}
        rewards, flags = (
            {name: reward for name, (reward, _) in rated.items()},
            tuple(flagged for _, flagged in rated.values()),
        )
        method, origin = run.setup.part(world, predictor).how, "simulated" if simulated else "measured"
        results.append(Choices(predictor, method.title, when, backbone, origin, success(rewards), flags))
    baseline_scores = {
        (CHANCE, CHANCE_TITLE): dict.fromkeys(attempts_by_name, 0.0),
        (ORACLE, TRUE_SCORE.title): {name: attempt.score for name, attempt in attempts_by_name.items()},
    }
    return results + [
        Choices(*labels, when, acting, "simulated", success(scores)) for labels, scores in baseline_scores.items()
    ]


def success(made: attempts.Results, choice: Choices) -> tables.Row:
    """The results row of choices among attempts, in percent."""
    metric = f"Best of {made.setup.count} {choice.when}, {title(made.setup.world)}"
    values, source = [100 * value for value in choice.success.values()], f"this run, {made.setup.data} data"
    row = tables.mean_row(choice.title, choice.backbone, metric, values, choice.evidence, source)
    return row | cells([choice.flags])


def expected(rewards: Sequence[float], attempts: Sequence[Attempt]) -> float:
    """The expected success of the attempt with the highest reward; ties are broken at random.

    rewards: shape (attempts,).
    """
    best = max(rewards) - A_TIE
    tied = [attempt.success for reward, attempt in zip(rewards, attempts, strict=True) if reward >= best]
    return sum(tied) / len(tied)


def lengths(worlds: Sequence[attempts.Results]) -> pd.DataFrame:
    """How well an attempt's length predicts its success; one row per world.

    success: percent of all attempts. tasks where some succeed: tasks with both outcomes, in which a choice matters. AUC
    of being shorter: probability, within a task, that a successful attempt is shorter than a failed one, with ties
    counted half; 0.5 means no information.
    """
    rows = []
    for results in worlds:
        tasks = results.attempts().values()
        all_attempts = [attempt for group in tasks for attempt in group]
        mixed = [group for group in tasks if 0 < sum(attempt.success for attempt in group) < len(group)]
        shorter = [
            (len(good.steps) < len(bad.steps)) + (len(good.steps) == len(bad.steps)) / 2
            for group in mixed for good in group if good.success for bad in group if not bad.success
        ]  # fmt: skip
        rows.append({
            "world": title(results.setup.world), "tasks": len(tasks), "attempts a task": results.setup.count,
            "success": 100 * sum(attempt.success for attempt in all_attempts) / len(all_attempts),
            "tasks where some succeed": len(mixed),
            "AUC of being shorter": sum(shorter) / len(shorter) if shorter else float("nan"),
            "backbone": results.backbone, "evidence": results.evidence,
        })  # fmt: skip
    return pd.DataFrame(rows)


def running(attempt: Attempt, steps: int) -> bool:
    """Whether an attempt still runs after this number of steps."""
    return len(attempt.steps) > steps


def _trace(episode: Episode) -> Trace | None:
    """The states that a predictor extracted; None for a failed episode, and for predictors that extract none."""
    return read_trace(episode.result["trace"]) if not episode.failed and "trace" in episode.result else None


def _rated(episode: Episode, trace: Trace | None, scoring: Scoring, when: When) -> tuple[float, frozenset[str]]:
    """A predictor's reward for an attempt, with its flags; 0 without flags for a failed episode."""
    if episode.failed:
        return 0.0, NONE
    index = 0 if when == MIDWAY else -1
    if trace is None:
        return float(episode.result["rewards"][index]), flags_of(episode.result)[index]
    embedder = embedder_of(scoring.embedding)
    reward = float(trace_rewards(trace, embedder, scoring.convention)[index])
    return reward, trace_flags(trace, None, embedder, scoring.convention)[index]
