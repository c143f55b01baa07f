"""What SDP's loop did besides scores: attempts, rejections, replans and forced answers."""

from __future__ import annotations

import pandas as pd

from lab.results.statistics import Interval
from lab.runs.study_results import Results
from sdp.anatomy import evidence_never_shown, rejected_first
from sdp.studies.comparing import labels
from sdp.studies.conditions import loops
from sdp.trajectory import Trajectory


def loop_counts(*runs: Results) -> pd.DataFrame:
    """A row a run, benchmark and variant of SDP, of the episodes that did not fail.

    calls, attempts: means an episode. rejected: of attempts; rejected before: of certified steps, with its interval.
    passed by force, replans, forced answers: sums. Where episodes keep how much of the gold evidence they were shown,
    also the failures whose evidence was never all shown, with their share of all annotated failures.
    """
    lines = []
    for results, (dataset, name) in ((run, part) for run in runs for part in run.parts if part[1] in loops(run)):
        played = {task: episode.result for task, episode in results.of(dataset, name).items() if not episode.failed}
        if not played:
            continue
        episodes = pd.DataFrame(played).T
        trajectories = [Trajectory.from_json(trajectory) for trajectory in episodes["trajectory"]]
        attempts = [attempt for trajectory in trajectories for attempt in trajectory.attempts]
        (before,) = rejected_first(trajectories).to_dict("records")
        line = {
            "dataset": dataset, "method": name, "n": len(episodes), "calls": results.mean(dataset, name, "calls"),
            "attempts": len(attempts) / len(episodes),
            "rejected, %": 100 * sum(attempt.k == 0 for attempt in attempts) / max(len(attempts), 1),
            "certified steps": before["denominator"], "rejected before, %": _percent(before, 1),
            "passed by force": sum(attempt.forced for attempt in attempts), "replans": episodes["replans"].sum(),
            "forced answers": episodes["forced"].sum(),
        }  # fmt: skip
        if "gold_seen" in episodes:
            scores, shown = (episodes[column].to_dict() for column in ("em", "gold_seen"))
            (lost,) = evidence_never_shown(scores, shown).to_dict("records")
            line |= {"failures": lost["denominator"], "evidence never shown": lost["numerator"],
                     "share, %": _percent(lost, 0)}  # fmt: skip
        lines.append(line | labels(results))
    return pd.DataFrame(lines)


def _percent(share: dict[str, float], decimals: int) -> str:
    """A row of `sdp.anatomy` as "40.1 [30.0, 50.2]"; "" for a share of nothing."""
    interval = Interval(*(100 * share[end] for end in ("share", "low", "high")))
    return interval.text(f"{{:.{decimals}f}}".format) if share["denominator"] else ""
