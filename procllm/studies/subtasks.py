"""§3's inequality, measured: P(full task) without a network against the product of P(subtask) with one.

P(subtask) is taken twice. Within the horizon: of the episodes that came to the subtask, the share that had it verified;
of the top task, the share whose answer is right. By the chain rule the product of these is the success of the whole
episode under the network, so that the inequality says no more and no less than that the network helps. At the first
check: the share in which the first Verify already passed, which leaves out what checking and trying again brings.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
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
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Share(NamedTuple):
    """So many of so many."""

    passed: int
    of: int

    @property
    def rate(self) -> float:
        """In [0, 1]; 0 of 0 is 0: a subtask that no episode reaches is not done."""
        return self.passed / self.of if self.of else 0.0


def shares(trajectories: Sequence[Trajectory], at_first_check: bool = False) -> dict[str, Share]:
    """P(subtask) of each task in the order in which it is first worked on; see the module."""
    tasks = dict.fromkeys(step.task for t in trajectories for step in t.steps)
    found, reached = {}, list(trajectories)
    for task in sorted(tasks, key=lambda name: name == TOP):  # the top is done last
        found[task] = Share(sum(_passed(t, task, at_first_check) for t in reached), len(reached))
        # By its verdict and not by the next task's steps: an episode may have no iteration left for these.
        reached = [t for t in reached if task in t.verified]
    return found


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
    within, first = shares(played), shares(played, at_first_check=True)
    lines = [
        {"domain": benchmark, "subtask": task, "counted": way}
        | dict(zip(("P", "ci_low", "ci_high"), wilson(*share) if share.of else (0.0, 0.0, 1.0), strict=True))
        | {"n": share.of}
        for task in within
        for way, share in (("within the horizon", within[task]), ("at the first check", first[task]))
    ]
    return pd.DataFrame(lines).assign(evidence=run.evidence, backbone=run.backbone)


def inequality(runs: Iterable[Results]) -> pd.DataFrame:
    """Both sides of the inequality for each run and domain, within the horizon and at the first check.

    full: the success of No-TN with its Wilson interval. product: of P(subtask) under Human-TN, with a bootstrap one
    over instances. gain: product − full, with an interval of the same kind; above 0 the inequality holds.
    """
    import pandas as pd

    sides = [_sides(run, name, first) for run in runs for name in run.setup.datasets for first in (False, True)]
    return pd.DataFrame(sides)


def _sides(run: Results, benchmark: str, first: bool) -> dict[str, object]:
    alone, parted = _of(run, benchmark, NONE), _of(run, benchmark, HUMAN)
    full = wilson(sum(_passed(t, TOP, first) for t in alone), len(alone))
    parts = shares(parted, first)
    product = prod(share.rate for share in parts.values())
    low, high, gain_low, gain_high = intervals(alone, parted, first)
    return {
        "domain": benchmark,
        "counted": "at the first check" if first else "within the horizon",
        "full": full.value,
        "ci_low": full.low,
        "ci_high": full.high,
        "subtasks": len(parts),
        "product": product,
        "product low": min(low, product),
        "product high": max(high, product),
        "gain": product - full.value,
        "gain low": gain_low,
        "gain high": gain_high,
        "n": len(alone),
        "evidence": run.evidence,
        "backbone": run.backbone,
    }


def intervals(
    alone: Sequence[Trajectory],
    parted: Sequence[Trajectory],
    at_first_check: bool = False,
    seed: int = 0,
    resamples: int = 2000,
) -> tuple[float, float, float, float]:
    """95 % percentile bootstrap intervals of the product of `shares`, and of what it is above P(full task): low, high
    of each.

    alone, parted: the same instances in the same order under No-TN and under the network; instances are resampled,
    with all their subtasks. Source: Efron 1979.
    """
    import numpy as np

    tasks = list(shares(parted))
    reached = np.array(
        [[all(earlier in t.verified for earlier in tasks[:n]) for n in range(len(tasks))] for t in parted], dtype=float
    )
    passed = np.array([[_passed(t, task, at_first_check) for task in tasks] for t in parted], dtype=float)
    full = np.array([_passed(t, TOP, at_first_check) for t in alone], dtype=float)
    count = len(parted)
    weights = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=resamples)
    came = weights @ reached
    products = np.divide(weights @ (passed * reached), came, out=np.zeros_like(came), where=came > 0).prod(axis=1)
    gains = products - weights @ full / count
    low, high = np.quantile([products, gains], [0.025, 0.975], axis=1)
    return float(low[0]), float(high[0]), float(low[1]), float(high[1])


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
    found, first = trajectories(run), Agenda(network(condition, run.setup.domain)).head
    stuck = (Step(first.name if first else TOP, "", "malformed"),)
    failed = AnswerVerdict({"failed": False})
    return [found.get(task) or Trajectory(task, stuck, "horizon", (), "", "", failed) for task in run.episodes]
