"""Tokenises trajectories and scores their prefixes.

The flattened format of Appendix C.2.1:

    <GOAL> goal </GOAL> --- <ACTION> action </ACTION> <STATE> observation </STATE> <ACTION> ...

The goal and each step are tokenised separately, so the tokens of a prefix are a prefix of the trajectory's tokens. A
causal model's output at a token depends only on earlier tokens. So one forward pass, evaluated at each step's last
token, equals one call per prefix up to rounding. The key-value cache of the last text is reused as far as the next text
begins the same: a planner's candidates share the pass over their common path. A prefix that exceeds the maximum length
is scored separately, with the goal and its newest steps.
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

NOTHING: tuple[list[int], list[float], Any] = (
    [],
    [],
    None,
)  # the cached text of a thread before its first call: no tokens, scores or cache
MARGIN = 0.25  # share of [0, 1] left free on either side of the training scores


@dataclass(frozen=True, slots=True)
class Tokens:
    """A trajectory's tokens.

    ends: index of the last token of each included step. left_out: number of oldest steps that were omitted.
    truncated: whether anything was omitted.
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
    """Tokenises trajectories. tokenizer: of transformers. most: maximum number of tokens of a trajectory.

    A longer trajectory is truncated to its goal and newest steps; a single step that is too long, to its end. The
    oldest steps are dropped first, since progress shows in the newest ones. The goal is always complete, since progress
    is relative to it.
    """

    def __init__(self, tokenizer: Any, most: int) -> None:
        self._tokenizer, self.most = tokenizer, most

    def head(self, goal: str) -> list[int]:
        """The goal's tokens. Raises ValueError if they exceed half of the maximum."""
        ids = self._ids(goal_text(goal))
        if len(ids) > self.most // 2:
            raise ValueError(f"this goal has {len(ids)} tokens, more than half of {self.most}: {goal[:80]!r}")
        return ids

    def pieces(self, steps: Sequence[Step]) -> list[list[int]]:
        """The tokens of each step."""
        return [self._ids(step_text(*step)) for step in steps]

    def tokens(self, goal: str, steps: Sequence[Step]) -> Tokens:
        """Tokens of the goal and of the newest steps that fit. Raises as `head`."""
        return self.joined(self.head(goal), self.pieces(steps))

    def joined(self, head: list[int], pieces: Sequence[list[int]]) -> Tokens:
        """As `tokens`, from the results of `head` and `pieces`."""
        room, first = self.most - len(head), len(pieces)
        while first and len(pieces[first - 1]) <= room:
            first -= 1
            room -= len(pieces[first])
        included, truncated = list(pieces[first:]), first > 0
        if pieces and not included:
            first, included = len(pieces) - 1, [pieces[-1][-room:]]
        ids, ends = list(head), []
        for piece in included:
            ids += piece
            ends.append(len(ids) - 1)
        return Tokens(ids, ends, first, truncated)

    def _ids(self, text: str) -> list[int]:
        # No special tokens, since trl's pre-tokenised rows have none; scoring must match training.
        return self._tokenizer(text, add_special_tokens=False)["input_ids"]


@dataclass(frozen=True, slots=True)
class Affine:
    """reward = scale * score + offset, clipped to [0, 1].

    Scores of training trajectories are mapped to the middle half of [0, 1], since scores on other tasks have a wider
    range. Clipping would change their correlation with the truth; an affine map does not.
    """

    scale: float = 1.0
    offset: float = 0.0

    @classmethod
    def fitted(cls, scores: np.ndarray) -> Affine:
        """The map from the lowest score to MARGIN and from the highest to 1 - MARGIN."""
        low, high = float(scores.min()), float(scores.max())
        if high - low < 1e-9:  # constant scores: the model has learnt nothing
            return cls(0.0, 0.5)
        scale = (1 - 2 * MARGIN) / (high - low)
        return cls(scale, MARGIN - scale * low)

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        return np.clip(self.scale * scores + self.offset, 0.0, 1.0)


def position_scores(model: Any, tokens: Tokens) -> torch.Tensor:
    """The model's scores at the last tokens of the included steps, shape (steps,); without steps the goal's, (1,).

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
    """Scores prefixes with a model. Higher scores mean more progress, without a unit (see `Affine`).

    The key-value cache of each thread's last text is reused. Threads take turns.
    """

    def __init__(self, model: Any, tokeniser: Tokeniser) -> None:
        self.model, self.tokeniser = model.eval(), tokeniser
        self._reading, self._kept = Lock(), local()

    def prefixes(self, goal: str, steps: Sequence[Step], lengths: Sequence[int]) -> np.ndarray:
        """Scores of the prefixes with these numbers of steps, shape (lengths,). With 0 steps it is the goal's score."""
        import torch

        head, pieces = self.tokeniser.head(goal), self.tokeniser.pieces(steps)
        sizes = np.cumsum([len(head), *map(len, pieces)])
        fitting = [length for length in lengths if sizes[length] <= self.tokeniser.most]
        scores: dict[int, float] = {}
        with self._reading, torch.inference_mode():
            if fitting:
                longest = self.tokeniser.joined(head, pieces[: max(fitting)])
                at_token = self._read(longest.ids)
                # The goal's last token comes first, so that index n belongs to n steps.
                scores = {n: at_token[end] for n, end in enumerate([len(head) - 1, *longest.ends])}
            for length in set(lengths) - set(fitting):
                tokens = self.tokeniser.joined(head, pieces[:length])
                scores[length] = self._read(tokens.ids)[tokens.ends[-1]]
        return np.array([scores[length] for length in lengths])

    def _read(self, ids: list[int]) -> list[float]:
        """The score at each token. Computes only the tokens after the common prefix with the thread's last text."""
        import torch
        from transformers import DynamicCache

        inner, (last, scores, past) = _inner(self.model), getattr(self._kept, "last", NOTHING)
        self._kept.last = NOTHING  # an exception below must not leave a stale cache
        shared = sum(1 for _ in takewhile(bool, map(eq, ids, last)))
        past = past if shared else DynamicCache()
        excess, scores = len(last) - shared, scores[:shared]
        if shared and excess:
            past.crop(-excess)
        if new_ids := ids[shared:]:
            tokens = torch.tensor([new_ids], device=next(inner.parameters()).device)
            hidden = inner.base_model(input_ids=tokens, past_key_values=past, use_cache=True).last_hidden_state[0]
            scores += inner.score(hidden)[:, 0].float().tolist()
        self._kept.last = ids, scores, past
        return scores
