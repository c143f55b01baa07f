"""The monotonic baseline: progress is time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


class Monotonic:
    """r = t / T with t from 1 to the trajectory's length T. Source: Shen et al. 2026, Appendix C.1."""

    def predict(self, goal: str, actions: Sequence[str], observations: Sequence[str]) -> np.ndarray:
        """Rewards of shape (steps,); neither the goal nor a text is looked at."""
        import numpy as np

        # Appendix C.1 does not say where t starts; from 1, the published values come out (benchmark/labels.py).
        return np.arange(1, len(actions) + 1) / max(1, len(actions))
