"""Cascade under step caps: worlds whose actions satisfy several predicates, with fewer steps than predicates.

This is the counterpart of the paper's largest effect of cascade (§4.3, ScienceWorld: 59.2 to 32.0). Table 6's own caps
cannot show it: there the budget is generous, or no action satisfies several predicates. Scores are the world's, on the
same tasks at the same cap. A score by certificate would decide the contrast in advance: with one predicate per step, a
plan longer than the cap cannot be certified, wherever the agent is by then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pandas as pd
from matplotlib.figure import Figure

from lab.models import rules
from lab.results import plots, tables
from lab.runs.collecting import collect
from sdp import anatomy
from sdp.ablation import ABLATIONS
from sdp.experiments import scienceworld
from sdp.experiments.certifying import Certifying, Results
from sdp.experiments.corridor import Walks
from sdp.loop import Settings
from sdp.studies import table6
from sdp.studies.table6 import AGAIN, FULL, REPLAY, Ablated

CASCADE = next(ablation for ablation in ABLATIONS if ablation.name == "-Cascade")
PAPER = "ScienceWorld, paper"


@dataclass(frozen=True, kw_only=True)
class OverlappingPlans(scienceworld.Setup):
    """SDP on ScienceWorld with an oracle whose plans name rooms and carried things twice, in other words.

    One action then satisfies two predicates, as §3.2 says of overlapping predicates. A loop that certifies one at
    a time needs an extra look for each repeated predicate. Simulated.
    """

    data: str = "synthetic"
    lengths: tuple[str, ...] = ("short", "medium")
    limit: int = 16

    method: ClassVar[str] = "sdp-scienceworld-overlapping"

    def answering(self, task: str) -> AbstractContextManager[None]:
        return rules.knowing("sdp.scienceworld.oracle", self, task, self.settings.budget, True)


# World -> the experiment. The corridor's last two are controls: for what is scored, and for what causes the effect.
WORLDS: dict[str, Certifying] = {
    "corridor": Walks(),
    "corridor, walker that never looks": Walks(looks=False),
    "corridor, at most a room a step": Walks(faces=(0, 1), settings=Settings(step_cap=12)),
    "ScienceWorld": OverlappingPlans(),
}
CAPS = {"corridor": (4, 5, 6, 8, 12), "ScienceWorld": (6,)}


def played(
    name: str, caps: Sequence[int] = (), workers: int = 0, cluster: str = "", **changed: Any
) -> dict[int, Ablated]:
    """The loop with and without cascade, by step cap.

    name: a key of WORLDS. caps: by default those of CAPS, or the world's own. changed: settings such as limit and seed.
    """
    setup = replace(WORLDS[name], **changed)
    runs = {}
    for cap in caps or CAPS.get(name, (setup.settings.step_cap,)):
        capped = replace(setup, settings=replace(setup.settings, step_cap=cap))
        full, without = (
            collect(replace(capped, settings=settings), workers, cluster, show_progress=False)
            for settings in (capped.settings, CASCADE.without(capped.settings))
        )
        runs[cap] = Ablated(name, full, {CASCADE.name: without})
    return runs


def table(worlds: Iterable[dict[int, Ablated]]) -> pd.DataFrame:
    """One row per world and cap: the world's scores in percent for the full loop, the replay and the re-run.

    difference: re-run minus full, in points, paired by task, with its bootstrap interval. bound: replay minus re-run.
    p (Holm): of the difference, over all rows. goal certified: the share in percent, with and without cascade.
    cascades: the share of the full loop's certifying actions with k ≥ 2, in percent.
    """
    runs = [(cap, ablated) for world in worlds for cap, ablated in world.items()]
    contrasts, bounds = (compare([ablated for _, ablated in runs]) for compare in (table6.comparisons, table6.bounds))
    without = [ablated.without[CASCADE.name] for _, ablated in runs]
    extra = {
        "cap": [cap for cap, _ in runs],
        REPLAY: bounds[REPLAY],
        "bound": bounds["difference"],
        "goal certified": [_certified(ablated.full) for _, ablated in runs],
        "goal certified, k ≤ 1": [_certified(run) for run in without],
        "cascades": [_cascades(ablated.full) for _, ablated in runs],
    }
    columns = ["benchmark", "cap", "n", FULL, REPLAY, AGAIN, "difference", "low", "high", "p (Holm)", "bound"]
    columns += ["goal certified", "goal certified, k ≤ 1", "cascades", "data", "evidence", "backbone"]
    return contrasts.assign(**extra)[columns].rename(columns={"benchmark": "world"})


def with_published(rows: pd.DataFrame) -> pd.DataFrame:
    """The paper's row before ours; its cap is Table 8's, its score without cascade a replay (Appendix C)."""
    paper = tables.published("Table 6 ablation", "sdp").query("metric == 'ScienceWorld score'")
    score = paper.set_index("method")["value"]
    rate = tables.published("Figure 3 text readings", "sdp").set_index("metric").loc["(a) cascade rate ScienceWorld"]
    row = {"world": PAPER, "cap": 500, FULL: score[FULL], REPLAY: score[CASCADE.name], "evidence": "published",
           "cascades": float(rate["text"].rstrip("%")), "backbone": "GPT-4"}  # fmt: skip
    return pd.concat([pd.DataFrame([row]), rows], ignore_index=True)[list(rows.columns)]


def draw(rows: pd.DataFrame) -> Figure:
    """Scores against the step cap, one panel per world: with cascade, and without it by replay and by re-run.

    rows: of `table`.
    """
    import matplotlib.pyplot as plt

    worlds = list(dict.fromkeys(rows["world"]))
    size = max(6.4, 3.3 * len(worlds)), 3.6
    figure, panels = plt.subplots(1, len(worlds), figsize=size, squeeze=False, sharey=True)
    for axes, world in zip(panels[0], worlds, strict=True):
        for way, style in ((FULL, "o-"), (REPLAY, "D--"), (AGAIN, "s-")):
            curve = rows[rows["world"] == world]
            name = {FULL: "with cascade", REPLAY: "without, replayed", AGAIN: "without, run again"}[way]
            axes.plot(curve["cap"], curve[way], style, label=name)
        axes.set(title=world.replace(", ", ",\n"), xlabel="step cap", ylim=(-3, 103))
    panels[0][0].set_ylabel("score by the world, %")
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    plots.label_evidence(figure, rows)
    return figure


def _certified(run: Results[Any]) -> float:
    return 100 * sum(trajectory.reached_goal for trajectory in run.trajectories) / len(run.episodes)


def _cascades(run: Results[Any]) -> float:
    return 100 * float(anatomy.cascade_depth(run.trajectories)["share"].iloc[-1])
