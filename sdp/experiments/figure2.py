"""Figure 2: a run on a multi-hop question with a cascade and a Replan, chosen among several, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pandas as pd

from lab.machine.printing import hint
from lab.models import engines
from lab.models.connect import connected
from lab.results.exports import readable
from lab.runs.collecting import collect
from lab.runs.experiment import BadSetting
from lab.viewer.steps import Exchange
from lab.viewer.timeline import Timeline
from lab.viewer.transcripts import Transcript
from sdp.experiments.multihop import HotpotQA, MuSiQue, Setup
from sdp.trajectory import Trajectory

DATASETS: Mapping[str, type[Setup]] = {"hotpotqa": HotpotQA, "musique": MuSiQue}


@dataclass(frozen=True)
class Example:
    """A run to show. setup: as it was played. exchanges: its prompts and answers. reason: why this run was chosen."""

    setup: Setup
    trajectory: Trajectory
    exchanges: Sequence[Exchange]
    backbone: str
    reason: str

    @property
    def evidence(self) -> str:
        """The caption of the figure: evidence, backbone and data."""
        return f"{engines.parse(self.backbone).evidence} · {self.backbone} · one episode, {self.setup.data} data"

    def answer(self) -> str:
        """Why this run was chosen, and how it ended."""
        run = self.trajectory
        deepest = max((attempt.k for attempt in run.attempts), default=0)
        return (
            f"{run.task}, {self.evidence}: {self.reason}; {len(run.plans)} plans, {len(run.attempts)} attempts, an "
            f"action certifies up to {deepest}; it ended: {run.end}."
        )

    def timeline(self) -> Timeline:
        """Every step with its prompts, and the official metric of the answer."""
        return self.setup.shown(self.trajectory, self.exchanges)

    def table(self) -> pd.DataFrame:
        """One row per plan and attempt, in order, with all texts in full; states by their index."""
        trajectory, rows = self.trajectory, list[tuple[Any, ...]]()
        after = {transition.attempt: transition.after for transition in trajectory.transitions}
        attempts = {plan: list(group) for plan, group in groupby(trajectory.attempts, key=lambda attempt: attempt.plan)}
        for number, plan in enumerate(trajectory.plans):
            listed = [f"{position}. {p.text}" for position, p in enumerate(plan.predicates, start=1)][plan.start :]
            name = f"Replan {number}" if number else "Propose"
            rows.append((name, "", plan.fault or " ".join(listed), "", "", ""))
            for attempt in attempts.get(number, []):
                states = f"s{attempt.state}" + (f" → s{after[attempt.step]}" if attempt.step in after else "")
                fields = (attempt.target, in_words(attempt.action), attempt.reason, attempt.k)
                rows.append((f"attempt {attempt.step + 1}", *fields, states))
        if trajectory.forced:
            rows.append(("forced", "", in_words(trajectory.forced.action), trajectory.forced.reason, "", ""))
        columns = ["step", "predicate", "what was planned or done", "Validate", "k", "states"]
        evidence = engines.parse(self.backbone).evidence
        return readable(rows, columns=columns).assign(evidence=evidence, backbone=self.backbone)


def example(dataset: str, task: str = "", workers: int = 0, cluster: str = "", **settings: Any) -> Example:
    """Play a question; if none is named, play all and let `telling` choose one.

    dataset: "hotpotqa" or "musique". settings: of `sdp.experiments.multihop.Setup`.
    Raises BadSetting for an unknown dataset or if all episodes failed, and what `lab.runs.collecting.collect` raises.
    """
    if dataset not in DATASETS:
        raise BadSetting(f"dataset={dataset!r}; choose one of {', '.join(DATASETS)}{hint(dataset, DATASETS)}")
    setup, reason = DATASETS[dataset](**settings).resolved(), f"{task} was asked for"
    if not task:
        run = collect(setup, workers, cluster)
        setup, trajectories = run.setup, run.trajectories
        if not trajectories:
            raise BadSetting(f"engine={setup.engine!r} failed in each of {len(run.episodes)} episodes; choose another")
        both = sum(cascades(trajectory) and replans(trajectory) for trajectory in trajectories)
        chosen = telling(trajectories)
        task, reason = chosen.task, f"{both} of {len(trajectories)} episodes have a cascade and a Replan"
        if not both:
            lacks = " and ".join(["no cascade"] * (not cascades(chosen)) + ["no Replan"] * (not replans(chosen)))
            reason = (
                f"none of {len(trajectories)} episodes has a cascade and a Replan; the one that is shown has {lacks}"
            )
    # Play it again for its prompts: answers are cached, recorded, or those of rules.
    transcript = Transcript(connected(setup.engine))
    trajectory = setup.episode(task, transcript)
    return Example(setup, trajectory, transcript.exchanges, transcript.engine.label, reason)


def cascades(trajectory: Trajectory) -> bool:
    """Whether an attempt certified more than one predicate."""
    return any(attempt.k > 1 for attempt in trajectory.attempts)


def replans(trajectory: Trajectory) -> bool:
    """Whether Replan gave a plan that the loop went on with."""
    return bool(trajectory.attempts) and trajectory.attempts[-1].plan > 0


def telling(trajectories: Sequence[Trajectory]) -> Trajectory:
    """The run that shows most: a cascade and a Replan, preferably a Replan that keeps certified predicates and changes
    others, and then the goal. Ties go to the shortest run, then to the first.
    """

    def shows(trajectory: Trajectory) -> tuple[int, bool, bool, int]:
        repairs = any(
            plan.start and plan.predicates != previous.predicates
            for previous, plan in zip(trajectory.plans, trajectory.plans[1:], strict=False)
        )
        both = cascades(trajectory) + replans(trajectory)
        return both, repairs, trajectory.reached_goal, -len(trajectory.attempts)

    return max(trajectories, key=shows)


def in_words(action: Mapping[str, Any] | None) -> str:
    """An action on a multi-hop question, as text."""
    if action is None:
        return "no answer that could be read"
    if "finding" not in action:
        return f"answered: {action['answer']}"
    searched = f"searched for “{action['query']}” and read: " if action["query"] else "read: "
    title = action["finding"]["title"]
    return f"{searched}{action['finding']['text']}" + (f" (“{title}”)" if title else "")
