"""What an episode leaves: its steps, its answer, and what the checker says of it; and its timeline, to look at."""

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
    """One iteration. task: the one worked on. command: as the agent sees it in its list; "" for a malformed answer."""

    task: str
    command: str
    outcome: Outcome


@dataclass(frozen=True)
class Trajectory:
    """An episode. ended: "done" when no task was left, "horizon" when the iterations ran out.

    verified: the tasks that passed, in that order. answer, notes: the texts of the files at the end.
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
        """The checker's parts, each false for a timeout (Table 1's columns)."""
        return {name: held and self.ended == "done" for name, held in self.verdict.parts.items()}

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
    """The trajectory as steps. exchanges: all prompts and answers in order, where they are at hand: what a command
    showed stands in the next prompt alone. task: the text of the problem.
    """
    parts = dealt(exchanges, _counts(trajectory.steps, [exchange.operator for exchange in exchanges]))
    steps, done = list[Shown](), 0
    for step, asked in zip(trajectory.steps, parts, strict=True):
        before = {"tasks verified": done}
        done += step.outcome == "verified"
        steps.append(
            Shown(
                title=f"{step.task}: {step.command or 'an answer that could not be read'}",
                verdict=VERDICTS.get(step.outcome), reason="" if step.outcome == "done" else step.outcome,
                target=step.task, action=step.command, exchanges=asked, cost=cost_of(asked), before=before,
                after={"tasks verified": done},
            )
        )  # fmt: skip
    verdict = trajectory.verdict
    held = {name: "holds" if holds else "does not hold" for name, holds in verdict.parts.items()}
    steps.append(
        Shown(
            title="the checker on the answer", verdict=verdict.solved, reason=verdict.reason,
            action=trajectory.answer or "(no answer)", observation=held,
        )
    )  # fmt: skip
    if trajectory.notes:
        steps.append(Shown(title="the notes at the end", observation=trajectory.notes))
    ended = "no task was left" if trajectory.ended == "done" else "out of iterations"
    return Timeline(title=trajectory.instance, task=task, outcome=ended, steps=tuple(steps))


def _counts(steps: Sequence[Step], operators: Sequence[str]) -> list[int]:
    """How many exchanges each step had: what to do, if that was asked, and one or two verdicts of a Verify."""
    counts, left = list[int](), deque(operators)
    for step in steps:
        before = len(left)
        if left and left[0] == ACTING.operator:
            left.popleft()
        while left and left[0] != ACTING.operator and step.outcome in ("verified", "rejected"):
            left.popleft()
        counts.append(before - len(left))
    return counts
