"""Floors and ceilings: the scores of null models on a benchmark, and the best score that can be reached.

A package declares its benchmarks in pyproject.toml, under `lab.floors`, as NAME = "module:function", a function without
arguments that returns a `Panel`. Benchmarks that are not declared are named "module:function". Item III.13 of the
Agentic Benchmark Checklist (Zhu et al. 2025, arXiv 2507.02825) asks for such baselines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lab.machine import progress
from lab.machine.faults import MissingData, Unavailable
from lab.results.floors import CEILING, COLUMNS, FLOOR
from lab.results.outcomes import Score, interval_of
from lab.runs.collecting import collect
from lab.runs.experiment import BadSetting, Experiment, Results
from lab.runs.registry import Registry

if TYPE_CHECKING:
    import pandas as pd

# Names of agents that most panels share.
DO_NOTHING, CONSTANT, FIRST, LAST, RANDOM, EXPERT = "do nothing", "constant", "first", "last", "random", "expert"
PLACEBO = "placebo"


@dataclass(frozen=True)
class Panel:
    """The agents that are played on one benchmark.

    agents: name -> experiment, whose data, limit and seed are set when it is played. ceiling: name of the agent that is
    the ceiling; the others are floors. top: the best possible score, as a ceiling that no agent has to reach. lower:
    whether lower scores are better. scale: factor for tables, 100 for points. limit: default number of tasks, 0 for
    all. synthetic: default number of synthetic tasks in `play_all`. lacks: agent of other panels -> why it is not here.
    """

    agents: Mapping[str, Experiment]
    ceiling: str = EXPERT
    top: float | None = None
    lower: bool = False
    scale: float = 100
    limit: int = 0
    synthetic: int = 5
    lacks: Mapping[str, str] = field(default_factory=dict)


PANELS = Registry("lab.floors", "panel of floors")
names = PANELS.names


def named(name: str) -> Panel:
    """The panel of a benchmark, or of "module:function". Raises BadSetting if there is none, and ImportError."""
    factory = PANELS.named(name)
    if not callable(factory) or not isinstance(panel := factory(), Panel):
        raise BadSetting(f"{name} is no function without arguments that returns a lab.runs.floors.Panel")
    return panel


def play(
    name: str, data: str = "auto", limit: int | None = None, seed: int = 0, workers: int = 0
) -> dict[str, Results[Any]]:
    """Play the missing episodes of a benchmark's panel. Returns agent -> results, on the same tasks.

    data: "auto" (official where present, else synthetic), "official" or "synthetic". limit: tasks, spread evenly, 0 for
    all; by default the panel's. An agent that cannot be played here is left out, with a message.
    Raises BadSetting, MissingData, and what `lab.runs.collecting.collect` raises except Unavailable.
    """
    panel = named(name)
    chosen = _data(panel, data, seed)
    played: dict[str, Results[Any]] = {}
    for agent, setup in panel.agents.items():
        setup = replace(setup, data=chosen, limit=panel.limit if limit is None else limit, seed=seed)
        try:
            played[agent] = collect(setup, workers=workers)
        except MissingData:
            raise
        except Unavailable as error:
            progress.say(f"{name}, {agent}: left out: {error}")
    return played


def play_all(
    benchmarks: Sequence[str] = (), data: str = "auto", limit: int = -1, seed: int = 0, workers: int = 0
) -> dict[str, dict[str, Results[Any]]]:
    """Play the panels of several benchmarks, by default of all. Returns benchmark -> agent -> results.

    limit: tasks per benchmark, 0 for all; -1 for the panel's `limit` on official data and its `synthetic` on synthetic
    data. Benchmarks whose data is missing are left out, with a message. Raises MissingData if none is left.
    """
    panels: dict[str, dict[str, Results[Any]]] = {}
    for name in benchmarks or names():
        panel = named(name)
        try:
            chosen = _data(panel, data, seed)
            default = panel.limit if chosen == "official" else panel.synthetic
            panels[name] = play(name, chosen, default if limit == -1 else limit, seed, workers)
        except (MissingData, BadSetting) as error:
            progress.say(f"{name}: left out: {error}")
    if not panels:
        raise MissingData(f"None of the benchmarks has {data} data here; use data='auto'")
    return panels


def role(name: str, agent: str) -> str:
    """The role of an agent in a benchmark's panel: FLOOR or CEILING."""
    return CEILING if agent == named(name).ceiling else FLOOR


def frames(panels: Mapping[str, Mapping[str, Results[Any]]]) -> pd.DataFrame:
    """The tables of played panels, concatenated."""
    import pandas as pd

    return pd.concat([frame(name, played) for name, played in panels.items()], ignore_index=True)


def frame(name: str, played: Mapping[str, Results[Any]]) -> pd.DataFrame:
    """The panel as a table with the columns of `lab.results.floors.COLUMNS`: one row per agent, the ceiling last.

    Intervals are Wilson's if all scores of all agents are 0 or 1, else bootstrap intervals over the scores.
    """
    import pandas as pd

    panel = named(name)
    scores = {agent: results.setup.scores(results.episodes) for agent, results in played.items()}
    rates = {score.value for values in scores.values() for score in values} <= {0.0, 1.0}
    rows = [_row(name, panel, agent, played[agent], scores[agent], rates) for agent in played if scores[agent]]
    rows.sort(key=lambda row: row["role"] == CEILING)  # stable: agents keep their order
    if panel.top is not None and rows:
        best = {"agent": "best possible", "role": CEILING, "evidence": "by definition", "engine": "none", "run": ""}
        rows.append(rows[0] | best | dict.fromkeys(("value", "ci_low", "ci_high"), panel.scale * panel.top))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _data(panel: Panel, data: str, seed: int) -> str:
    """The data for all agents, decided by the first, which asks no engine: rules alone would choose synthetic data."""
    return replace(next(iter(panel.agents.values())), data=data, seed=seed).resolved().data


def _row(
    name: str, panel: Panel, agent: str, results: Results[Any], scores: list[Score], rates: bool
) -> dict[str, Any]:
    setup = results.setup
    value, low, high = (panel.scale * end for end in interval_of(scores, rates))
    return {
        "benchmark": name, "agent": agent, "role": role(name, agent),
        "metric": setup.headline or setup.metric, "better": "lower" if panel.lower else "higher", "value": value,
        "ci_low": low, "ci_high": high, "n": len(scores), "data": setup.data, "evidence": results.evidence,
        "engine": results.backbone if setup.operators() else "none", "run": results.folder.name,
    }  # fmt: skip
