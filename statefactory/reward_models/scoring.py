"""Scores of a trajectory's prefixes: one forward pass for all that fit, read at each step's last token.

A causal model's output at a token depends on what stands before it alone, so this equals one call a prefix up to
rounding, and so does a pass that goes on from what the last text began with: where a planner's candidates branch, their
path is read once. A prefix that is longer than the model takes is scored by itself, with the goal and its newest steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from operator import eq
from threading import Lock, local
from typing import TYPE_CHECKING, Any

from statefactory.reward_models.texts import Step, Tokeniser, Tokens

if TYPE_CHECKING:
    import numpy as np
    import torch

NOTHING: tuple[list[int], list[float], Any] = [], [], None  # what a thread has read before its first text
MARGIN = 0.25  # of [0, 1], kept on either side of the training scores


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
        import numpy as np

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
        import numpy as np
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
