"""What the agents' notebook shows besides scores: placebos, faults, caps; and rows of runs too long for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from agents.experiments import acting
from agents.history import MALFORMED
from agents.worlds.travelplanner import delivered
from lab.results.statistics import compare, holm
from lab.runs.paired import smallest
from lab.runs.study_results import Results
from sdp.studies.agents import REACT
from sdp.studies.conditions import BLANK, BLANKED, PLACEBO, SDP

if TYPE_CHECKING:
    import pandas as pd

BUDGET = "valid_cost"  # the constraint of TravelPlanner that says what a plan may cost


def placebos(results: Results) -> pd.DataFrame:
    """Each method with structure less its own controls, which are asked by the same rules: what is gained by what a
    control lacks (see `sdp.placebo`), where both take as many calls.

    In points on the same tasks; Holm's correction over the rows.
    """
    import pandas as pd

    pairs = [(SDP.name, PLACEBO.name), (SDP.name, BLANKED.name), *((name, f"{name}{BLANK}") for name in acting.ASKING)]
    lines: list[dict[str, Any]] = []
    for method, control in pairs:
        if {method, control} <= {*results.setup.methods}:
            c = compare(
                results.scores_of(results.setup.datasets[0], method),
                results.scores_of(results.setup.datasets[0], control),
            )
            difference, low, high = (100 * end for end in c.difference)
            lines.append(
                {"method": method, "control": control, "n": c.n, "score": 100 * c.mean_a, "control's": 100 * c.mean_b,
                 "difference": difference, "low": low, "high": high, "p": c.p, "smallest": smallest(c),
                 "calls": results.mean(results.setup.datasets[0], method, "calls"),
                 "control's calls": results.mean(results.setup.datasets[0], control, "calls")}
            )  # fmt: skip
    adjusted = holm([line["p"] for line in lines])
    return pd.DataFrame(lines).assign(**{"p (Holm)": adjusted}, **_about(results))


def over(runs: Iterable[Results], function: Callable[[Results], pd.DataFrame]) -> pd.DataFrame:
    """What a function makes of each run, one below the other, behind the benchmark's name."""
    import pandas as pd

    made = [function(run).assign(benchmark=run.setup.datasets[0]) for run in runs]
    found = pd.concat([one for one in made if len(one)], ignore_index=True)
    return found[["benchmark", *(name for name in found if name != "benchmark")]]


def faults(results: Results) -> pd.DataFrame:
    """What could not be used, by agent: shares of its answers in percent, and how its episodes ended.

    over budget: on TravelPlanner, the share of plans that cost more than the query allows, among those whose cost the
    evaluator judged (`costed`; it judges none of an incomplete plan). There the paper speaks of 20 to 30 % of the
    feasible queries, and of 12 to 18 % malformed outputs (§4.1).
    """
    import pandas as pd

    lines: list[dict[str, Any]] = []
    for dataset, method in results.parts:
        kept = [one.result for one in results.of(dataset, method).values() if not one.failed]
        if not kept or MALFORMED not in kept[0]:
            continue
        answers = sum(one["calls"] for one in kept) or 1
        ends = pd.Series([one["end"] for one in kept]).value_counts()
        line = {
            "method": method, "n": len(kept), "malformed, %": 100 * sum(one[MALFORMED] for one in kept) / answers,
            "episodes with one, %": 100 * sum(one[MALFORMED] > 0 for one in kept) / len(kept),
            "invalid, %": 100 * sum(one["invalid"] for one in kept) / answers,
            "ends": ", ".join(f"{end}: {count}" for end, count in ends.items()),
        }  # fmt: skip
        if dataset == "TravelPlanner":
            costed = list(_over_budget(results, method))
            share = 100 * sum(costed) / len(costed) if costed else float("nan")
            line |= {"over budget, %": share, "costed": len(costed)}
        lines.append(line)
    return pd.DataFrame(lines).assign(**_about(results))


def _over_budget(results: Results, method: str) -> Iterator[bool]:
    """Of each plan whose cost was judged."""
    played = results.setup.part(results.setup.datasets[0], method)
    for task, episode in results.of(results.setup.datasets[0], method).items():
        plan = None if episode.failed else delivered(episode.result)
        cost = played.verdict(task, plan).hard[BUDGET] if plan is not None else None
        if cost and cost.passed is not None:
            yield not cost.passed


def footing(results: Results) -> pd.DataFrame:
    """Whether all methods keep to the caps of steps and calls that the agents have: SDP has no cap of calls.

    most: that an episode took. over: episodes that took more than a cap. within: the score in percent where these count
    as failed. Methods of one call, which take no steps, are left out.
    """
    import pandas as pd

    caps = results.setup.part(results.setup.datasets[0], REACT).settings
    steps, calls = caps.steps, caps.calls or 2 * caps.steps
    lines: list[dict[str, Any]] = []
    for dataset, method in results.parts:
        kept = {task: one.result for task, one in results.of(dataset, method).items() if not one.failed}
        if not kept or any("steps" not in one for one in kept.values()):
            continue
        over = {task for task, one in kept.items() if one["steps"] > steps or one["calls"] > calls}
        scores = results.scores_of(dataset, method)
        within = sum(score for task, score in scores.items() if task not in over)
        most = {what: max(one[what] for one in kept.values()) for what in ("steps", "calls")}
        lines.append(
            {"method": method, "n": len(scores), "most steps": most["steps"], "cap of steps": steps,
             "most calls": most["calls"], "cap of calls": calls, "over": len(over),
             "score": 100 * sum(scores.values()) / len(scores), "within": 100 * within / len(scores)}
        )  # fmt: skip
    return pd.DataFrame(lines).assign(**_about(results))


def _about(results: Results) -> dict[str, str]:
    return {"data": results.setup.data, "evidence": results.evidence, "backbone": results.backbone}
