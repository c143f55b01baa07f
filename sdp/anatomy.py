"""Anatomy of trajectories (§4.2, Figure 3): what certified trajectories show beyond a score, as tables of shares.

Each function takes the trajectories of some episodes and returns a table with the columns COLUMNS, one row per share:
`of` names what it is a share of, `share` is numerator / denominator, in [0, 1]; NaN if there is nothing to count.
An episode is right if the benchmark's score is 1, whatever the trajectory claims of itself.

The 95 % interval is Wilson's for a proportion of episodes. Steps of one episode are not independent, and means of
fractions are not proportions: these have a bootstrap over episodes. If all steps agree, a bootstrap would have no
width; such a row has the interval that it would have with one step per episode. `interval` names the method.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lab.results.statistics import Interval, cluster_bootstrap, wilson
from sdp.ablation import certified_at_once
from sdp.trajectory import Trajectory

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["of", "numerator", "denominator", "share", "low", "high", "interval"]
WILSON, OF_EPISODES, BOOTSTRAP = "Wilson", "Wilson, of episodes", "bootstrap over episodes"
CASCADE = "k ≥ 2"
ALL, STALLED = "all failed episodes", "goal not certified"
CERTIFIED, FORCED, NEITHER, AGREEMENT = "goal certified", "answer forced", "neither", "agreement"
NOTHING = Interval(*[float("nan")] * 3)
NO_PLAN, UNKNOWN = "no usable plan", "no kind stated"
ACTIONS, TO_GOAL, EXPERT = "actions taken", "actions taken, goal certified", "the expert's actions"


def cascade_depth(trajectories: Iterable[Trajectory]) -> pd.DataFrame:
    """Certifying actions by their cascade depth k, one row per depth, and last those with k ≥ 2 (Figure 3a).

    Predicates that were passed by force (A.4) are not certified, and do not count.
    """
    depths = [
        (trajectory.task, step.k)
        for trajectory in trajectories
        for step in trajectory.transitions
        if not trajectory.attempts[step.attempt].forced
    ]
    tasks, ks = [task for task, _ in depths], [k for _, k in depths]
    rows = [_share(f"k = {depth}", [k == depth for k in ks], tasks) for depth in range(1, max(ks, default=1) + 1)]
    return _table([*rows, _share(CASCADE, [k >= 2 for k in ks], tasks)])


def score_by_replans(trajectories: Iterable[Trajectory], scores: Mapping[str, float], most: int = 3) -> pd.DataFrame:
    """Mean score of episodes by their number of Replans, one row per number; `most` and more are one (Figure 3b).

    Raises ValueError for a trajectory without a score.
    """
    groups: dict[int, list[tuple[Trajectory, float]]] = {}
    for trajectory, score in _scored(trajectories, scores):
        groups.setdefault(min(trajectory.replanned, most), []).append((trajectory, score))
    names = [*(f"{count} replan{'s' * (count != 1)}" for count in range(most)), f"{most}+ replans"]
    return _table(_mean(of, groups.get(count, [])) for count, of in enumerate(names))


def progress_of_failures(
    trajectories: Iterable[Trajectory], scores: Mapping[str, float], kind: str = ""
) -> pd.DataFrame:
    """The certified share of the last plan, as a mean over failed episodes; the sum is the numerator (Figure 3c).

    Rows: all failed episodes; those without a certified goal, since a wrong answer with a certified goal has a share of
    1; and all failed episodes by the length of the plan. kind: count only predicates of this kind, such as hops; an
    episode without any has certified none. Raises ValueError for a trajectory without a score.
    """
    failed = [trajectory for trajectory, score in _scored(trajectories, scores) if score < 1]
    lengths: dict[int, list[Trajectory]] = {}
    for trajectory in failed:
        lengths.setdefault(_certified(trajectory, kind)[1], []).append(trajectory)
    groups = {ALL: failed, STALLED: [trajectory for trajectory in failed if not trajectory.reached_goal]}
    unit = f"{kind}s" if kind else "predicates"
    groups |= {f"failed, {length} {unit}": lengths[length] for length in sorted(lengths)}
    counts = {name: [(t, *_certified(t, kind)) for t in group] for name, group in groups.items()}
    # An episode without any such predicate has certified none.
    return _table(
        _mean(name, [(t, certified / max(planned, 1)) for t, certified, planned in group])
        for name, group in counts.items()
    )


def calibration(trajectories: Iterable[Trajectory], scores: Mapping[str, float]) -> pd.DataFrame:
    """How often the answer is right if the goal was certified, if an answer was forced, and if neither happened; and
    how often certification and the benchmark agree, over all episodes (Figure 3d).

    Numerators and denominators together give the contingency table of certified and right.
    Raises ValueError for a trajectory without a score.
    """
    judged = [(trajectory, score >= 1) for trajectory, score in _scored(trajectories, scores)]
    groups: dict[str, list[tuple[Trajectory, bool]]] = {CERTIFIED: [], FORCED: [], NEITHER: []}
    for trajectory, right in judged:
        forced = trajectory.forced is not None and trajectory.forced.action is not None
        groups[CERTIFIED if trajectory.reached_goal else FORCED if forced else NEITHER].append((trajectory, right))
    groups[AGREEMENT] = [(trajectory, trajectory.reached_goal == right) for trajectory, right in judged]
    return _table(_mean(of, values) for of, values in groups.items())


def stalls(trajectories: Iterable[Trajectory], scores: Mapping[str, float], kind: str = "") -> pd.DataFrame:
    """Failed episodes by the kind of the first uncertified predicate when they ended, the most frequent first.

    An episode that failed with its goal certified stalled nowhere. kind: add to predicates of this kind their number
    in the plan, such as "hop 2". Raises ValueError for a trajectory without a score.
    """
    failed = [trajectory for trajectory, score in _scored(trajectories, scores) if score < 1]
    tasks, kinds = [trajectory.task for trajectory in failed], [stall(trajectory, kind) for trajectory in failed]
    frequent = [name for name, _ in Counter(sorted(kinds)).most_common()]
    return _table(_share(name, [name == other for other in kinds], tasks) for name in frequent)


def stall(trajectory: Trajectory, kind: str = "") -> str:
    """The kind of the first predicate that was not certified when the episode ended, or why there is none.

    kind: see `stalls`.
    """
    if trajectory.reached_goal:
        return CERTIFIED
    uncertified = trajectory.plans[-1].predicates[trajectory.certified :]
    if not uncertified or not trajectory.attempts:
        return NO_PLAN
    number = f" {_certified(trajectory, kind)[0] + 1}" if kind and uncertified[0].kind == kind else ""
    return f"{uncertified[0].kind or UNKNOWN}{number}"


def compression(trajectories: Iterable[Trajectory], expert: Mapping[str, int] | None = None) -> pd.DataFrame:
    """Predicates of first plans, the goal included, per action, over all episodes; below 1 a plan is shorter.

    Rows: the actions that were taken; the same if the goal was certified, since a stuck episode acts until its cap; and
    the expert's actions, if their number is known. The ratio can exceed 1.
    expert: task -> number of actions. Episodes without any action are left out.
    """
    planned = [(t, len(t.plans[0].predicates)) for t in trajectories]
    taken = [(t, length, sum(attempt.action is not None for attempt in t.attempts)) for t, length in planned]
    known = [(t, length, expert[t.task]) for t, length in planned if expert and t.task in expert]
    groups = {ACTIONS: taken, TO_GOAL: [counts for counts in taken if counts[0].reached_goal], EXPERT: known}
    return _table(_ratio(of, counts) for of, counts in groups.items())


def rejected_first(trajectories: Iterable[Trajectory]) -> pd.DataFrame:
    """The share of certified steps with a rejection before them: 1 - action fidelity, over all steps together."""
    steps = [(t.task, not at_once) for t in trajectories for at_once in certified_at_once(t)]
    return _table([_share("certified steps", [needed for _, needed in steps], [task for task, _ in steps])])


def evidence_never_shown(scores: Mapping[str, float], shown: Mapping[str, float | None]) -> pd.DataFrame:
    """The share of failed episodes in which some of the gold evidence was never retrieved (§4.1: retrieval failures).

    shown: task -> share of the gold evidence that the episode was shown; None if the evidence is not annotated, which
    leaves the episode out.
    """
    known = {task: share for task, share in shown.items() if share is not None and scores[task] < 1}
    return _table([_share("failed episodes", [share < 1 for share in known.values()], list(known))])


def _certified(trajectory: Trajectory, kind: str) -> tuple[int, int]:
    """The number of certified predicates of a kind in the last plan, and of all of that kind; "" for all kinds."""
    counted = [not kind or predicate.kind == kind for predicate in trajectory.plans[-1].predicates]
    return sum(counted[: trajectory.certified]), sum(counted)


def _scored(trajectories: Iterable[Trajectory], scores: Mapping[str, float]) -> list[tuple[Trajectory, float]]:
    played = list(trajectories)
    if missing := [trajectory.task for trajectory in played if trajectory.task not in scores]:
        raise ValueError(f"no score of {missing[0]}; give the scores of the run that the trajectories are from")
    return [(trajectory, scores[trajectory.task]) for trajectory in played]


def _mean(of: str, values: Sequence[tuple[Trajectory, float]]) -> dict[str, Any]:
    return _share(of, [value for _, value in values], [trajectory.task for trajectory, _ in values])


def _ratio(of: str, counts: Iterable[tuple[Trajectory, int, int]]) -> dict[str, Any]:
    """Total of the first counts over that of the second. counts: (episode, first, second)."""
    counts = [count for count in counts if count[2]]
    # A value for each unit of the second count, so that the mean over units is the ratio of the totals.
    units = [(trajectory.task, first / second) for trajectory, first, second in counts for _ in range(second)]
    tasks, values = [task for task, _ in units], [value for _, value in units]
    return _row(of, sum(first for _, first, _ in counts), len(units), _bootstrap(values, tasks))


def _share(of: str, values: Sequence[float], tasks: Sequence[str]) -> dict[str, Any]:
    """The mean of values in [0, 1]. tasks: the episode that each value comes from."""
    return _row(of, sum(values), len(values), _interval(values, tasks))


def _row(of: str, numerator: float, denominator: int, interval: tuple[Interval, str]) -> dict[str, Any]:
    return dict(zip(COLUMNS, (of, numerator, denominator, *interval[0], interval[1]), strict=True))


def _interval(values: Sequence[float], tasks: Sequence[str]) -> tuple[Interval, str]:
    episodes, distinct = len(set(tasks)), set(values)
    if values and distinct <= {0, 1} and episodes == len(values):
        return wilson(sum(values), episodes), WILSON
    if distinct in ({0}, {1}):
        # The steps of an episode count as one: in the worst case they depend on each other entirely.
        return wilson(episodes * values[0], episodes), OF_EPISODES
    return _bootstrap(values, tasks)


def _bootstrap(values: Sequence[float], tasks: Sequence[str]) -> tuple[Interval, str]:
    """The bootstrap interval; without bounds for a single episode, which says nothing about others."""
    if not values:
        return NOTHING, ""
    interval = cluster_bootstrap([float(value) for value in values], tasks)
    return interval, BOOTSTRAP if len(set(tasks)) > 1 else ""


def _table(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(list(rows), columns=COLUMNS)
