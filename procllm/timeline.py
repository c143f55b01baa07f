"""An episode of ProcLLM to look at: its commands by task, the checks, and the answer with the checker's word on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lab.viewer.steps import Exchange, Step
from lab.viewer.timeline import Timeline, cost_of, dealt
from procllm.trajectory import Outcome, Trajectory

VERDICTS: Mapping[Outcome, bool] = {"verified": True, "rejected": False, "refused": False, "malformed": False}


def timeline(trajectory: Trajectory, exchanges: Sequence[Exchange] = (), task: str = "") -> Timeline:
    """The trajectory as steps. exchanges: all prompts and answers in order, where they are at hand: what a command
    showed stands in the next prompt alone. task: the text of the problem.
    """
    # A Verify asks twice: what to do, and whether the task is done.
    counts = [2 if step.outcome in ("verified", "rejected") else 1 for step in trajectory.steps]
    parts = dealt(exchanges, counts)
    steps, done = [], 0
    for step, asked in zip(trajectory.steps, parts, strict=True):
        before = {"tasks verified": done}
        done += step.outcome == "verified"
        steps.append(
            Step(
                title=f"{step.task}: {step.command or 'an answer that could not be read'}",
                verdict=VERDICTS.get(step.outcome), reason="" if step.outcome == "done" else step.outcome,
                target=step.task, action=step.command, exchanges=asked, cost=cost_of(asked), before=before,
                after={"tasks verified": done},
            )
        )  # fmt: skip
    verdict = trajectory.verdict
    held = {name: "holds" if holds else "does not hold" for name, holds in verdict.parts.items()}
    steps.append(
        Step(
            title="the checker on the answer", verdict=verdict.solved, reason=verdict.reason,
            action=trajectory.answer or "(no answer)", observation=held,
        )
    )  # fmt: skip
    if trajectory.notes:
        steps.append(Step(title="the notes at the end", observation=trajectory.notes))
    ended = "no task was left" if trajectory.ended == "done" else "out of iterations"
    return Timeline(title=trajectory.instance, task=task, outcome=ended, steps=tuple(steps))
