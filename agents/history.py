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
NO_ANSWER = "no answer"  # a search agent's call for an answer gave none
ACT = "act"  # the operator that answers with actions
UNREAD = "an answer that could not be read"


@dataclass(frozen=True, slots=True)
class Turn:
    """One model call and its outcome; or an action that an agent took without a model call.

    action: what reached the environment, "" if nothing did. said: an answer that is not such an action: a malformed
    one, a plan, or an action that the agent kept to itself. fault: "malformed" for an answer that could not be read;
    "invalid" for an action that the environment does not have; else "". operator: what the model was asked for.
    cut: the prompt was truncated to fit the engine's context.
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
    """An episode so far. task: in the environment's words. end: how the episode ended, "" while it goes on."""

    task: str
    turns: tuple[Turn, ...] = ()
    end: str = ""

    def then(self, turn: Turn) -> History:
        """This history with one more turn."""
        return replace(self, turns=(*self.turns, turn))

    def ended(self, end: str) -> History:
        """This history with its end set; "" lets it go on."""
        return replace(self, end=end)

    def count(self, fault: Fault) -> int:
        """The number of turns with this fault."""
        return sum(turn.fault == fault for turn in self.turns)

    def repeating(self, begun: int = 0) -> int:
        """The number of last turns that repeat an earlier action or malformed answer with the same observation.

        begun: index of the first turn that counts.
        """
        seen, count = set[tuple[str, str]](), 0
        for turn in self.turns[begun:]:
            if turn.action or turn.fault:  # else a plan, a judgement or the like
                event = (turn.action or turn.said, turn.observation)
                count = count + 1 if event in seen else 0
                seen.add(event)
        return count

    @property
    def steps(self) -> int:
        """The actions that reached the environment, invalid ones included."""
        return sum(bool(turn.action) for turn in self.turns)

    @property
    def cost(self) -> Cost:
        """The total cost of all calls."""
        return sum((turn.cost for turn in self.turns), Cost())

    def to_json(self) -> dict[str, Any]:
        """This history as JSON values, for a run folder."""
        return {"task": self.task, "turns": [asdict(turn) for turn in self.turns], "end": self.end}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        """The history that `to_json` wrote."""
        turns = (Turn(**{**turn, "cost": Cost(**turn["cost"])}) for turn in kept["turns"])
        return cls(kept["task"], tuple(turns), kept["end"])


def timeline(title: str, history: History, exchanges: Sequence[Exchange] = (), score: float | None = None) -> Timeline:
    """The episode as a timeline for the viewer. exchanges: its prompts and answers in order, if available."""
    parts = dealt(exchanges, [turn.cost.calls for turn in history.turns])
    outcome = f"{history.end or 'still running'}, {history.steps} steps"
    faults = [f"{count} {fault}" for fault in (MALFORMED, INVALID) if (count := history.count(fault))]
    return Timeline(
        title=title, task=history.task, outcome=", ".join([outcome, *faults]), score=score,
        steps=tuple(_step(turn, own) for turn, own in zip(history.turns, parts, strict=True)),
    )  # fmt: skip


def _step(turn: Turn, asked: tuple[Exchange, ...]) -> Step:
    return Step(
        title=turn.action or (UNREAD if turn.fault else turn.operator), target=turn.action,
        verdict=False if turn.fault else None, reason=turn.fault or turn.thought, action=turn.said or turn.action,
        observation=turn.observation, exchanges=asked, cost=turn.cost,
    )  # fmt: skip
