"""§3's inequality, measured: P(full task) without a network against the product of P(subtask) with one.

P(subtask) is measured in two ways:

- Within the horizon: of the episodes that reached the subtask, the share that had it verified; for the top task, the
  share with a right answer. By the chain rule the product is the success of the whole episode under the network, so
  the inequality says exactly that the network helps.
- At the first check: the share in which the first Verify passed. This leaves out the gain of checking and trying again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from lab.results import plots
from lab.results.statistics import wilson
from lab.runs.study_results import Results
from procllm.agenda import Agenda
from procllm.conditions import HUMAN, NONE
from procllm.domains import AnswerVerdict
from procllm.experiments.episodes import network, trajectories
from procllm.network import TOP
from procllm.trajectory import Step, Trajectory

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


WITHIN = "within the horizon"
COUNTED = {WITHIN: False, "at the first check": True}  # way of counting -> whether only the first check counts
RESAMPLES = 2000


class Counts(NamedTuple):
    """Which episodes reached each task, and which of these passed it (see the module's docstring).

    tasks: in the order in which they are first worked on, the top task last. reached, passed: 0 or 1, shape (episodes,
    tasks).
    """

    tasks: list[str]
    reached: np.ndarray
    passed: np.ndarray

    def product(self, weights: np.ndarray) -> np.ndarray:
        """∏ P(subtask) over weighted episodes, shape (samples,); a task that no episode reaches has P = 0.

        weights: shape (samples, episodes), how often each episode counts.
        """
        import numpy as np

        reached = weights @ self.reached
        shares = np.divide(weights @ self.passed, reached, out=np.zeros_like(reached), where=reached > 0)
        return np.asarray(shares.prod(axis=1))


def counts(trajectories: Sequence[Trajectory], at_first_check: bool = False) -> Counts:
    """Count which episodes under a network reached and passed each task."""
    import numpy as np

    names = dict.fromkeys(step.task for trajectory in trajectories for step in trajectory.steps)
    tasks = sorted(names, key=lambda name: name == TOP)
    # A task is reached when the one before is verified; the episode may have no iteration left to work on it.
    verified = np.array([[task in t.verified for task in tasks[:-1]] for t in trajectories], dtype=float)
    first = np.ones((len(trajectories), 1))
    reached = np.hstack([first, verified.reshape(len(trajectories), -1).cumprod(axis=1)])
    passed = np.array([[_passed(t, task, at_first_check) for task in tasks] for t in trajectories], dtype=float)
    return Counts(tasks, reached, passed * reached)


def _passed(trajectory: Trajectory, task: str, at_first_check: bool) -> bool:
    checks = [s.outcome for s in trajectory.steps if s.task == task and s.outcome in ("verified", "rejected")]
    passed = checks[:1] == ["verified"] if at_first_check else "verified" in checks
    return passed and (task != TOP or trajectory.verdict.solved)


def by_subtask(run: Results, benchmark: str) -> pd.DataFrame:
    """For each subtask of Human-TN: how many episodes reached it and the share that passed, with Wilson interval.

    One row for each subtask and way of counting.
    """
    import pandas as pd

    played = _of(run, benchmark, HUMAN)
    by_way = {title: counts(played, first) for title, first in COUNTED.items()}
    lines = []
    for index, task in enumerate(by_way[WITHIN].tasks):
        for title, count in by_way.items():
            n = int(count.reached[:, index].sum())
            share = wilson(count.passed[:, index].sum(), n) if n else (0.0, 0.0, 1.0)
            interval = dict(zip(("P", "ci_low", "ci_high"), share, strict=True))
            lines.append({"domain": benchmark, "subtask": task, "counted": title, **interval, "n": n})
    return pd.DataFrame(lines).assign(evidence=run.evidence, backbone=run.backbone)


def inequality(runs: Iterable[Results]) -> pd.DataFrame:
    """Both sides of the inequality for each run and domain, within the horizon and at the first check.

    full: the success of No-TN, with its Wilson interval. product: ∏ P(subtask) under Human-TN. gain: product − full;
    above 0 the inequality holds. Product and gain have 95 % percentile bootstrap intervals over instances, which are
    resampled with all their subtasks (Efron 1979).
    """
    import pandas as pd

    return pd.DataFrame([_sides(run, name, way) for run in runs for name in run.setup.datasets for way in COUNTED])


def _sides(run: Results, benchmark: str, counted: str) -> dict[str, object]:
    import numpy as np

    alone, parts = _of(run, benchmark, NONE), counts(_of(run, benchmark, HUMAN), COUNTED[counted])
    solved = np.array([_passed(trajectory, TOP, COUNTED[counted]) for trajectory in alone], dtype=float)
    n = len(alone)
    full, product = wilson(solved.sum(), n), float(parts.product(np.ones((1, n)))[0])
    weights = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=RESAMPLES)
    products = parts.product(weights)
    low, high = np.quantile([products, products - weights @ solved / n], [0.025, 0.975], axis=1)
    return {
        "domain": benchmark,
        "counted": counted,
        "full": full.value,
        "ci_low": full.low,
        "ci_high": full.high,
        "subtasks": len(parts.tasks),
        "product": product,
        "product low": min(low[0], product),
        "product high": max(high[0], product),
        "gain": product - full.value,
        "gain low": low[1],
        "gain high": high[1],
        "n": n,
        "evidence": run.evidence,
        "backbone": run.backbone,
    }


def draw(sides: pd.DataFrame) -> Figure:
    """Plot both sides of the inequality over the backbones: one row of panels a domain, one panel a way of counting."""
    import matplotlib.pyplot as plt

    names, ways = (list(dict.fromkeys(sides[column])) for column in ("domain", "counted"))
    figure, panels = plt.subplots(len(names), len(ways), figsize=(9, 3 * len(names)), sharey=True, squeeze=False)
    for row, name in zip(panels, names, strict=True):
        for axes, way in zip(row, ways, strict=True):
            _panel(axes, sides[(sides["domain"] == name) & (sides["counted"] == way)], f"{name}, {way}")
    plots.one_legend(figure)
    plots.label_evidence(figure, sides)
    return figure


def _panel(axes: Axes, sides: pd.DataFrame, title: str) -> None:
    import pandas as pd

    left = sides.assign(side="P(full task), No-TN", value=sides["full"])
    low, high = sides["product low"], sides["product high"]
    right = sides.assign(side="∏ P(subtask), Human-TN", value=sides["product"], ci_low=low, ci_high=high)
    both = pd.concat([left, right])
    plots.bars_with_intervals(both, "backbone", "value", "ci_low", "ci_high", hue="side", axes=axes)
    axes.set(title=title, xlabel="", ylabel="probability", ylim=(0, 1.05))


def _of(results: Results, benchmark: str, condition: str) -> list[Trajectory]:
    """The trajectories of a condition in a domain. A failed episode counts as one that got stuck at its first task."""
    run = results.part(benchmark, condition)
    played, first = trajectories(run), Agenda(network(condition, run.setup.domain)).head
    stuck = (Step(first.name if first else TOP, "", "malformed"),)
    failed = AnswerVerdict({"failed": False})
    return [played.get(task) or Trajectory(task, stuck, "horizon", (), "", "", failed) for task in run.episodes]
