"""Scores as SwiftSage's protocol sums them up (Lin et al. 2023, Section 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean


def protocol_score(native: Sequence[float]) -> float:
    """An episode's score in [0, 1] from the native score after each of its steps, percentages as in `Step.facts`.

    The last one counts, and if the episode failed (-100) the one before the failure. Without a step it is 0.
    """
    last = native[-1] if native else 0
    if last < 0:
        last = native[-2] if len(native) > 1 else 0
    return max(last, 0) / 100


def overall(scores: Mapping[str, Sequence[float]]) -> float:
    """The mean over task types of the means over their episodes, so that every type counts the same.

    scores: task type -> scores of its episodes. Raises ValueError for none, and for a type without an episode.
    """
    empty = [name for name, episodes in scores.items() if not episodes]
    if empty or not scores:
        raise ValueError(f"no scores for {', '.join(empty) or 'any task type'}; play at least one episode of each")
    return mean(mean(episodes) for episodes in scores.values())
