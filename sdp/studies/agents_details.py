"""What the agents' notebook shows besides scores: controls, faults and caps."""

from __future__ import annotations

from typing import Any

import pandas as pd

from agents.experiments import acting
from agents.history import MALFORMED
from agents.worlds.travelplanner import delivered
from lab.runs import study_results
from lab.runs.study_results import Results
from sdp.studies.agents import REACT
from sdp.studies.comparing import labels
from sdp.studies.conditions import BLANK, BLANKED, PLACEBO, SDP

BUDGET = "valid_cost"  # the constraint of TravelPlanner that says what a plan may cost
# Each method with structure, and its controls, which are asked by the same rules (see `sdp.placebo`).
CONTROLS = (
    (SDP.name, PLACEBO.name), (SDP.name, BLANKED.name), *((name, f"{name}{BLANK}") for name in acting.ASKING)
)  # fmt: skip


def placebos(results: Results) -> pd.DataFrame:
    """Each method less its own controls on the same tasks: see `lab.runs.study_results.contrasts`."""
    return study_results.contrasts([results], CONTROLS).assign(data=results.setup.data)


def faults(results: Results) -> pd.DataFrame:
    """What could not be used, by agent: shares of its answers in percent, and how its episodes ended.

    over budget: on TravelPlanner, the share of plans that cost more than the query allows, among those whose cost the
    evaluator judged (`costed`; it judges none of an incomplete plan). There the paper speaks of 20 to 30 % of the
    feasible queries, and of 12 to 18 % malformed outputs (§4.1).
    """
    lines: list[dict[str, Any]] = []
    for dataset, method in results.parts:
        played = [episode.result for episode in results.of(dataset, method).values() if not episode.failed]
        if not played or MALFORMED not in played[0]:
            continue
        episodes = pd.DataFrame(played)
        answers = episodes["calls"].sum() or 1
        ends = episodes["end"].value_counts()
        line = {
            "dataset": dataset, "method": method, "n": len(episodes),
            "malformed, %": 100 * episodes[MALFORMED].sum() / answers,
            "episodes with one, %": 100 * (episodes[MALFORMED] > 0).mean(),
            "invalid, %": 100 * episodes["invalid"].sum() / answers,
            "ends": ", ".join(f"{end}: {count}" for end, count in ends.items()),
        }  # fmt: skip
        if dataset == "TravelPlanner":
            costed = _over_budget(results, method)
            line |= {"over budget, %": 100 * pd.Series(costed, dtype=float).mean(), "costed": len(costed)}
        lines.append(line)
    return pd.DataFrame(lines).assign(**labels(results))


def _over_budget(results: Results, method: str) -> list[bool]:
    """Of each plan whose cost was judged."""
    played = results.setup.part("TravelPlanner", method)
    episodes = results.of("TravelPlanner", method)
    plans = {task: delivered(episode.result) for task, episode in episodes.items() if not episode.failed}
    costs = (played.verdict(task, plan).hard[BUDGET] for task, plan in plans.items() if plan is not None)
    return [not cost.passed for cost in costs if cost and cost.passed is not None]


def footing(results: Results) -> pd.DataFrame:
    """Whether all methods keep to the caps of steps and calls that the agents have: SDP has no cap of calls.

    most: that an episode took. over: episodes that took more than a cap. within: the score in percent where these count
    as failed. Methods of one call, which take no steps, are left out.
    """
    lines: list[dict[str, Any]] = []
    for dataset, method in results.parts:
        caps = results.setup.part(dataset, REACT).settings
        steps, calls = caps.steps, caps.calls or 2 * caps.steps
        played = {task: episode.result for task, episode in results.of(dataset, method).items() if not episode.failed}
        if not played or any("steps" not in result for result in played.values()):
            continue
        took = pd.DataFrame(played).T[["steps", "calls"]]
        over = took.index[(took["steps"] > steps) | (took["calls"] > calls)]
        scores = pd.Series(results.scores_of(dataset, method))
        lines.append(
            {"dataset": dataset, "method": method, "n": len(scores), "most steps": took["steps"].max(),
             "cap of steps": steps, "most calls": took["calls"].max(), "cap of calls": calls, "over": len(over),
             "score": 100 * scores.sum() / len(scores), "within": 100 * scores.drop(over).sum() / len(scores)}
        )  # fmt: skip
    return pd.DataFrame(lines).assign(**labels(results))
