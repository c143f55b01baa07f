"""The history of an episode: what an agent said and did, and what it observed, turn by turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, Self

from lab.models.backbone import Cost
from lab.viewer.steps import Exchange, Step
from lab.viewer.timeline import Timeline, dealt

Fault = Literal["", "malformed", "invalid"]
MALFORMED: Fault = "malformed"
INVALID: Fault = "invalid"
FINISHED, STEPS, CALLS, TOKENS = "finished", "out of steps", "out of calls", "out of tokens"
STUCK = "stuck"  # it did nothing new for too long
NO_ANSWER = "no answer"  # of an agent that asks for one once
ACT = "act"  # the operator that answers with actions
UNREAD = "an answer that could not be read"


@dataclass(frozen=True, slots=True)
class Turn:
    """One call of the model, and what came of it; or an action that an agent took without asking.

    action: what reached the environment, "" where nothing did. said: an answer that was no such action: one that could
    not be read, a plan, an action that the agent kept to itself. fault: "malformed" for an answer that could not be
    read; "invalid" for an action that the environment does not have; else "". operator: what the model was asked for.
    cut: the prompt was shortened to fit the engine's context.
    """

    observation: str
    thought: str = ""
    action: str = ""
    said: str = ""
    fault: Fault = ""
    cost: Cost = Cost()
    cut: bool = False
    operator: str = ACT


@dataclass(frozen=True, slots=True)
class History:
    """task: as the environment told it. end: "" while the episode goes on, then how it ended."""

    task: str
    turns: tuple[Turn, ...] = ()
    end: str = ""

    def then(self, turn: Turn) -> History:
        """With one turn more."""
        return replace(self, turns=(*self.turns, turn))

    def ended(self, end: str) -> History:
        """The same, at its end; "" where it goes on."""
        return replace(self, end=end)

    def count(self, fault: Fault) -> int:
        """How many turns have this fault."""
        return sum(turn.fault == fault for turn in self.turns)

    def repeating(self, begun: int = 0) -> int:
        """How many turns at the end did nothing new: the same was done, or said in vain, before, and as much observed.

        begun: the first turn that is looked at.
        """
        known, count = set[tuple[str, str]](), 0
        for turn in self.turns[begun:]:
            if turn.action or turn.fault:  # else a plan, a judgement or the like
                now = (turn.action or turn.said, turn.observation)
                count = count + 1 if now in known else 0
                known.add(now)
        return count

    @property
    def steps(self) -> int:
        """The actions that reached the environment, invalid ones included."""
        return sum(bool(turn.action) for turn in self.turns)

    @property
    def cost(self) -> Cost:
        """Of all calls."""
        return sum((turn.cost for turn in self.turns), Cost())

    def to_json(self) -> dict[str, Any]:
        """For a run folder."""
        return {"task": self.task, "turns": [asdict(turn) for turn in self.turns], "end": self.end}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        """What `to_json` wrote."""
        turns = (Turn(**{**turn, "cost": Cost(**turn["cost"])}) for turn in kept["turns"])
        return cls(kept["task"], tuple(turns), kept["end"])


def timeline(title: str, history: History, exchanges: Sequence[Exchange] = (), score: float | None = None) -> Timeline:
    """An episode to look at. exchanges: its prompts and answers in order, where they are at hand."""
    parts = dealt(exchanges, [turn.cost.calls for turn in history.turns])
    outcome = f"{history.end or 'still running'}, {history.steps} steps"
    told = [f"{count} {fault}" for fault in (MALFORMED, INVALID) if (count := history.count(fault))]
    return Timeline(
        title=title, task=history.task, outcome=", ".join([outcome, *told]), score=score,
        steps=tuple(_step(turn, asked) for turn, asked in zip(history.turns, parts, strict=True)),
    )  # fmt: skip


def _step(turn: Turn, asked: tuple[Exchange, ...]) -> Step:
    return Step(
        title=turn.action or (UNREAD if turn.fault else turn.operator), target=turn.action,
        verdict=False if turn.fault else None, reason=turn.fault or turn.thought, action=turn.said or turn.action,
        observation=turn.observation, exchanges=asked, cost=turn.cost,
    )  # fmt: skip
