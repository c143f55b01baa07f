"""Learning curves of reward models: loss and accuracy over steps, smoothed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Point = tuple[int, float, float]  # step, loss, accuracy
SMOOTHED = 20  # points that a mean takes in


def draw_learning(curves: Mapping[str, Sequence[Point]]) -> Figure:
    """Loss and accuracy of one or more trainings, by name; the raw points stand pale behind one curve alone."""
    import matplotlib.pyplot as plt
    import pandas as pd

    figure, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
    for name, points in curves.items():
        frame = pd.DataFrame(points, columns=["step", "loss", "accuracy"]).set_index("step")
        smooth = frame.rolling(min(SMOOTHED, max(len(frame) // 5, 1)), min_periods=1).mean()
        for panel, column in zip(axes, frame, strict=True):
            (line,) = panel.plot(smooth.index, smooth[column], label=name)
            if len(curves) == 1:
                panel.plot(frame.index, frame[column], color=line.get_color(), alpha=0.25, linewidth=0.8)
    axes[0].set(xlabel="step", ylabel="loss")
    axes[1].set(xlabel="step", ylabel="comparisons in order", ylim=(0, 1.03))
    if len(curves) > 1:
        axes[1].legend(loc="lower right", fontsize="small")
    figure.supxlabel("measured", x=0.995, ha="right", fontsize="x-small", color="0.35")
    return figure
