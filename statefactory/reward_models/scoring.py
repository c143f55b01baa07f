"""Trajectories as tokens, and the scores of their prefixes.

The flattened format of Appendix C.2.1:

    <GOAL> goal </GOAL> --- <ACTION> action </ACTION> <STATE> observation </STATE> <ACTION> ...

The goal and each step are tokenised apart, so that the tokens of a trajectory's beginning are the beginning of its
tokens. A causal model's output at a token depends on what stands before it alone: so one forward pass, read at each
step's last token, equals one call a prefix up to rounding. So does a pass that goes on from what the last text began
with: where a planner's candidates branch, their path is read once. A prefix that is longer than the model takes is
scored by itself, with the goal and its newest steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from operator import eq
from threading import Lock, local
from typing import TYPE_CHECKING, Any

import numpy as np

from statefactory.predictors import Step

if TYPE_CHECKING:
    import torch

NOTHING: tuple[list[int], list[float], Any] = [], [], None  # what a thread has read before its first text
MARGIN = 0.25  # of [0, 1], kept on either side of the training scores


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
        kept, truncated = list(pieces[first:]), first > 0
        if pieces and not kept:
            first, kept = len(pieces) - 1, [pieces[-1][-room:]]
        ids, ends = list(head), []
        for piece in kept:
            ids += piece
            ends.append(len(ids) - 1)
        return Tokens(ids, ends, first, truncated)

    def _ids(self, text: str) -> list[int]:
        # No special tokens: trl's pre-tokenised rows have none, and scoring has to read what training read.
        return self._tokenizer(text, add_special_tokens=False)["input_ids"]


@dataclass(frozen=True, slots=True)
class Affine:
    """reward = scale * score + offset, clipped to [0, 1].

    Scores of training trajectories come to the middle half of [0, 1]: on other tasks they range further, and clipping
    would change their correlation with the truth, which an affine map leaves as it is.
    """

    scale: float = 1.0
    offset: float = 0.0

    @classmethod
    def fitted(cls, scores: np.ndarray) -> Affine:
        """The map that brings the least of the scores to MARGIN and the greatest to 1 - MARGIN."""
        low, high = float(scores.min()), float(scores.max())
        if high - low < 1e-9:  # a model that has learnt nothing
            return cls(0.0, 0.5)
        scale = (1 - 2 * MARGIN) / (high - low)
        return cls(scale, MARGIN - scale * low)

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        return np.clip(self.scale * scores + self.offset, 0.0, 1.0)


def position_scores(model: Any, tokens: Tokens) -> torch.Tensor:
    """The model's scores at each kept step's last token, shape (steps,); with no step, at the goal's, shape (1,).

    model: a sequence classifier of transformers with a score head, plain or wrapped by peft.
    """
    import torch

    inner = _inner(model)
    device = next(inner.parameters()).device
    hidden = inner.base_model(input_ids=torch.tensor([tokens.ids], device=device), use_cache=False).last_hidden_state[0]
    ends = torch.tensor(tokens.ends or [len(tokens.ids) - 1], device=device)
    return inner.score(hidden[ends])[:, 0].float()


def _inner(model: Any) -> Any:
    return model.get_base_model() if hasattr(model, "get_base_model") else model


class Scorer:
    """A model that scores prefixes; higher is further, in no unit of its own (see `Affine`).

    The text that a thread read last stays in the model's cache. Threads take turns.
    """

    def __init__(self, model: Any, tokeniser: Tokeniser) -> None:
        self.model, self.tokeniser = model.eval(), tokeniser
        self._reading, self._kept = Lock(), local()

    def prefixes(self, goal: str, steps: Sequence[Step], lengths: Sequence[int]) -> np.ndarray:
        """Scores after so many steps each, shape (lengths,); 0 steps are the goal alone."""
        import torch

        head, pieces = self.tokeniser.head(goal), self.tokeniser.pieces(steps)
        sizes = np.cumsum([len(head), *map(len, pieces)])
        fitting = [length for length in lengths if sizes[length] <= self.tokeniser.most]
        scores: dict[int, float] = {}
        with self._reading, torch.inference_mode():
            if fitting:
                whole = self.tokeniser.joined(head, pieces[: max(fitting)])
                at_token = self._read(whole.ids)
                # The goal's own last token comes first, so that position n is that of n steps.
                scores = {n: at_token[end] for n, end in enumerate([len(head) - 1, *whole.ends])}
            for length in set(lengths) - set(fitting):
                tokens = self.tokeniser.joined(head, pieces[:length])
                scores[length] = self._read(tokens.ids)[tokens.ends[-1]]
        return np.array([scores[length] for length in lengths])

    def _read(self, ids: list[int]) -> list[float]:
        """The score at each token, of which those are read that the last text did not begin with."""
        import torch
        from transformers import DynamicCache

        inner, (last, scores, past) = _inner(self.model), getattr(self._kept, "last", NOTHING)
        self._kept.last = NOTHING  # if what follows does not come through, nothing is known
        known = sum(1 for _ in takewhile(bool, map(eq, ids, last)))
        past = past if known else DynamicCache()
        off, scores = len(last) - known, scores[:known]
        if known and off:
            past.crop(-off)
        if fresh := ids[known:]:
            tokens = torch.tensor([fresh], device=next(inner.parameters()).device)
            hidden = inner.base_model(input_ids=tokens, past_key_values=past, use_cache=True).last_hidden_state[0]
            scores += inner.score(hidden)[:, 0].float().tolist()
        self._kept.last = ids, scores, past
        return scores
