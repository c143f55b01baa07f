"""The record of an episode: its steps, its answer and the checker's verdict; and its timeline for the viewer."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from lab.viewer.steps import Exchange
from lab.viewer.steps import Step as Shown
from lab.viewer.timeline import Timeline, cost_of, dealt
from procllm.domains import AnswerVerdict
from procllm.prompts import ACTING

Outcome = Literal["done", "refused", "malformed", "verified", "rejected"]


class Step(NamedTuple):
    """One iteration. task: the task worked on. command: as the agent's list shows it; "" for a malformed answer."""

    task: str
    command: str
    outcome: Outcome


@dataclass(frozen=True)
class Trajectory:
    """An episode. ended: "done" if no task was left, "horizon" if the iterations ran out.

    verified: the verified tasks, in order. answer, notes: the final texts of these files.
    """

    instance: str
    steps: tuple[Step, ...]
    ended: Literal["done", "horizon"]
    verified: tuple[str, ...]
    answer: str
    notes: str
    verdict: AnswerVerdict

    @property
    def success(self) -> bool:
        """Whether the episode ended within the horizon with a right answer (§3, task success; a timeout fails, §6)."""
        return self.ended == "done" and self.verdict.solved

    @property
    def parts(self) -> dict[str, bool]:
        """The checker's parts, all false after a timeout (Table 1's columns)."""
        return {name: holds and self.ended == "done" for name, holds in self.verdict.parts.items()}

    def to_json(self) -> dict[str, Any]:
        """Plain JSON, which `from_json` reads. The parts are pairs: their order says which failed first."""
        verdict = {"parts": [list(part) for part in self.verdict.parts.items()], "reason": self.verdict.reason}
        return asdict(self) | {"steps": [list(step) for step in self.steps], "verdict": verdict}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Trajectory:
        """The inverse of `to_json`."""
        return cls(
            **{
                **raw,
                "steps": tuple(Step(*step) for step in raw["steps"]),
                "verified": tuple(raw["verified"]),
                "verdict": AnswerVerdict(dict(raw["verdict"]["parts"]), raw["verdict"]["reason"]),
            }
        )


VERDICTS: Mapping[Outcome, bool] = {"verified": True, "rejected": False, "refused": False, "malformed": False}


def timeline(trajectory: Trajectory, exchanges: Sequence[Exchange] = (), task: str = "") -> Timeline:
    """The trajectory as steps of the viewer.

    exchanges: all prompts and answers in order, if available. Only they hold the output of a command, which the next
    prompt shows. task: the text of the problem.
    """
    parts = dealt(exchanges, _counts(trajectory.steps, [exchange.operator for exchange in exchanges]))
    steps, done = list[Shown](), 0
    for step, calls in zip(trajectory.steps, parts, strict=True):
        before = {"tasks verified": done}
        done += step.outcome == "verified"
        steps.append(
            Shown(
                title=f"{step.task}: {step.command or 'an answer that could not be read'}",
                verdict=VERDICTS.get(step.outcome), reason="" if step.outcome == "done" else step.outcome,
                target=step.task, action=step.command, exchanges=calls, cost=cost_of(calls), before=before,
                after={"tasks verified": done},
            )
        )  # fmt: skip
    verdict = trajectory.verdict
    observation = {name: "holds" if holds else "does not hold" for name, holds in verdict.parts.items()}
    steps.append(
        Shown(
            title="the checker on the answer", verdict=verdict.solved, reason=verdict.reason,
            action=trajectory.answer or "(no answer)", observation=observation,
        )
    )  # fmt: skip
    if trajectory.notes:
        steps.append(Shown(title="the notes at the end", observation=trajectory.notes))
    ended = "no task was left" if trajectory.ended == "done" else "out of iterations"
    return Timeline(title=trajectory.instance, task=task, outcome=ended, steps=tuple(steps))


def _counts(steps: Sequence[Step], operators: Sequence[str]) -> list[int]:
    """How many exchanges each step had: one for the action, if that was asked, one or two for a Verify's verdict."""
    counts, remaining = list[int](), deque(operators)
    for step in steps:
        before = len(remaining)
        if remaining and remaining[0] == ACTING.operator:
            remaining.popleft()
        while remaining and remaining[0] != ACTING.operator and step.outcome in ("verified", "rejected"):
            remaining.popleft()
        counts.append(before - len(remaining))
    return counts
