"""§3's inequality, measured: P(full task) without a network against the product of P(subtask) with one.

P(subtask) is taken twice. Within the horizon: of the episodes that came to the subtask, the share that had it verified;
of the top task, the share whose answer is right. By the chain rule the product of these is the success of the whole
episode under the network, so that the inequality says no more and no less than that the network helps. At the first
check: the share in which the first Verify already passed, which leaves out what checking and trying again brings.
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
    """Which episodes reached each task, and which then passed it; see the module.

    tasks: in the order in which they are first worked on, the top task last. reached, passed: 0 or 1, shape (episodes,
    tasks).
    """

    tasks: list[str]
    reached: np.ndarray
    passed: np.ndarray

    def product(self, weights: np.ndarray) -> np.ndarray:
        """∏ P(subtask) where episodes count as often as they are drawn, shape (samples,). A task that none reaches has
        P = 0. weights: shape (samples, episodes).
        """
        import numpy as np

        reached = weights @ self.reached
        shares = np.divide(weights @ self.passed, reached, out=np.zeros_like(reached), where=reached > 0)
        return np.asarray(shares.prod(axis=1))


def counts(trajectories: Sequence[Trajectory], at_first_check: bool = False) -> Counts:
    """Count episodes under a network."""
    import numpy as np

    found = dict.fromkeys(step.task for trajectory in trajectories for step in trajectory.steps)
    tasks = sorted(found, key=lambda name: name == TOP)
    # By its verdict and not by the next task's steps: an episode may have no iteration left for these.
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
    """Each subtask of Human-TN in a domain: how many episodes came to it, and which share passed, in both counts, with
    its Wilson interval.
    """
    import pandas as pd

    played = _of(run, benchmark, HUMAN)
    both = {title: counts(played, first) for title, first in COUNTED.items()}
    lines = []
    for index, task in enumerate(both[WITHIN].tasks):
        for title, count in both.items():
            n = int(count.reached[:, index].sum())
            share = wilson(count.passed[:, index].sum(), n) if n else (0.0, 0.0, 1.0)
            ends = dict(zip(("P", "ci_low", "ci_high"), share, strict=True))
            lines.append({"domain": benchmark, "subtask": task, "counted": title, **ends, "n": n})
    return pd.DataFrame(lines).assign(evidence=run.evidence, backbone=run.backbone)


def inequality(runs: Iterable[Results]) -> pd.DataFrame:
    """Both sides of the inequality for each run and domain, within the horizon and at the first check.

    full: the success of No-TN with its Wilson interval. product: of P(subtask) under Human-TN; gain: product − full,
    above 0 the inequality holds. Both have 95 % percentile bootstrap intervals over instances, which are resampled with
    all their subtasks (Efron 1979).
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
    """Both sides of the inequality over the backbones: a row of panels a domain, a panel a way of counting."""
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
    """The trajectories of a condition in a domain; a failed episode counts as one that got stuck at its first task."""
    run = results.part(benchmark, condition)
    played, first = trajectories(run), Agenda(network(condition, run.setup.domain)).head
    stuck = (Step(first.name if first else TOP, "", "malformed"),)
    failed = AnswerVerdict({"failed": False})
    return [played.get(task) or Trajectory(task, stuck, "horizon", (), "", "", failed) for task in run.episodes]
