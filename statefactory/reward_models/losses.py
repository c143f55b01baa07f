"""The preference loss of Eq. 13, over whole trajectories or over all prefixes, with its centring term.

    L = mean over (w, l) of -log sigmoid(r_w - r_l) + c (r_w + r_l)^2

"outcome" compares the last steps of the chosen and the rejected trajectory, as the paper's equation does;
"all_prefixes" compares every two positions whose true progress differs, within a trajectory and across both (§3.1.1:
the positive sample has the higher reward). With one pair and "outcome" this is what trl computes. The centring term is
that of trl; the paper cites reward centring and states neither form nor weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from statefactory.reward_models.recipe import Loss

if TYPE_CHECKING:
    import torch

SAME = 1e-6  # progress that differs by less is equal


class PairLoss(NamedTuple):
    """loss: a scalar with gradient. right: comparisons in which the better position scores higher; of: all of them."""

    loss: torch.Tensor
    right: int
    of: int


def preference_loss(
    scores: Sequence[torch.Tensor], progress: Sequence[Sequence[float]], kind: Loss, centring: float
) -> PairLoss:
    """The loss of one task's trajectories, the chosen one first.

    scores: a tensor of shape (steps,) a trajectory; progress: the truth at the same positions. Where no two positions
    differ, the loss is 0 and counts no comparison.
    """
    import torch
    from torch.nn.functional import logsigmoid

    if kind == "outcome":
        better = torch.stack([scores[0][-1]] * (len(scores) - 1))
        worse = torch.stack([values[-1] for values in scores[1:]])
    else:
        every = torch.cat(list(scores))
        truth = torch.tensor([value for values in progress for value in values], device=every.device)
        first, second = torch.nonzero(truth[:, None] - truth[None, :] > SAME, as_tuple=True)
        better, worse = every[first], every[second]
    if not len(better):
        return PairLoss(sum(values.sum() for values in scores) * 0.0, 0, 0)  # type: ignore[arg-type]
    loss = -logsigmoid(better - worse).mean() + centring * ((better + worse) ** 2).mean()
    return PairLoss(loss, int((better > worse).sum()), len(better))
