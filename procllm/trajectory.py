"""What an episode leaves: its steps, its answer, and what the checker says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from procllm.domains.base import AnswerVerdict

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
