"""Trajectories as text and as tokens: the flattened format of Appendix C.2.1.

    <GOAL> goal </GOAL> --- <ACTION> action </ACTION> <STATE> observation </STATE> <ACTION> ...

The goal and each step are tokenised apart, so that the tokens of a trajectory's beginning are the beginning of its
tokens: a causal model then scores all prefixes in one forward pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Step = tuple[str, str]  # an action, and the observation that it led to


@dataclass(frozen=True, slots=True)
class Tokens:
    """A trajectory's tokens. ends: where each kept step's last token is. left_out: steps at the beginning that are not
    here, the oldest; truncated: whether anything is missing.
    """

    ids: list[int]
    ends: list[int]
    left_out: int = 0
    truncated: bool = False


def goal_text(goal: str) -> str:
    return f"<GOAL> {goal} </GOAL> ---"


def step_text(action: str, observation: str) -> str:
    return f" <ACTION> {action} </ACTION> <STATE> {observation} </STATE>"


def flattened(goal: str, steps: Sequence[Step]) -> str:
    """The whole trajectory as one text."""
    return goal_text(goal) + "".join(step_text(*step) for step in steps)


class Tokeniser:
    """Tokens of trajectories. tokenizer: of transformers. most: tokens of a trajectory.

    A longer one keeps its goal and its newest steps; of a step that is too long by itself the end is kept. The oldest
    steps go first since progress shows in the newest ones, and the goal never, since progress is towards it.
    """

    def __init__(self, tokenizer: Any, most: int) -> None:
        self._tokenizer, self.most = tokenizer, most

    def head(self, goal: str) -> list[int]:
        """The goal's tokens. Raises ValueError for a goal that leaves less than half of the tokens for steps."""
        ids = self._ids(goal_text(goal))
        if len(ids) > self.most // 2:
            raise ValueError(f"this goal has {len(ids)} tokens, more than half of {self.most}: {goal[:80]!r}")
        return ids

    def pieces(self, steps: Sequence[Step]) -> list[list[int]]:
        """Each step's tokens."""
        return [self._ids(step_text(*step)) for step in steps]

    def tokens(self, goal: str, steps: Sequence[Step]) -> Tokens:
        """The goal and the steps, or as many of the newest as fit."""
        return self.joined(self.head(goal), self.pieces(steps))

    def joined(self, head: list[int], pieces: Sequence[list[int]]) -> Tokens:
        """The same of what is tokenised already."""
        room, first = self.most - len(head), len(pieces)
        while first and len(pieces[first - 1]) <= room:
            first -= 1
            room -= len(pieces[first])
        kept = list(pieces[first:])
        if pieces and not kept:
            first, kept = len(pieces) - 1, [pieces[-1][-room:]]
            return _together(head, kept, first, True)
        return _together(head, kept, first, first > 0)

    def _ids(self, text: str) -> list[int]:
        # No special tokens: trl's pre-tokenised rows have none, and scoring has to read what training read.
        return self._tokenizer(text, add_special_tokens=False)["input_ids"]


def _together(head: list[int], pieces: Sequence[list[int]], left_out: int, truncated: bool) -> Tokens:
    ids, ends = list(head), []
    for piece in pieces:
        ids += piece
        ends.append(len(ids) - 1)
    return Tokens(ids, ends, left_out, truncated)
