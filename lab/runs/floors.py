"""Floors and ceilings: what agents without any skill score on a benchmark, and what is the most that can be reached.

A package names its benchmarks in pyproject.toml, under `lab.floors`, as NAME = "module:function", a function without
arguments that returns a `Panel`; "module:function" itself names any other. Asked for by item III.13 of the Agentic
Benchmark Checklist (Zhu et al. 2025, arXiv 2507.02825).
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

# The names of agents that most panels have, so that they look the same in all.
DO_NOTHING, CONSTANT, FIRST, LAST, RANDOM, EXPERT = "do nothing", "constant", "first", "last", "random", "expert"
PLACEBO = "placebo"


@dataclass(frozen=True)
class Panel:
    """The agents that are played on one benchmark.

    agents: name -> its experiment, whose data, limit and seed are set when it is played. ceiling: which of them is the
    ceiling and no floor. top: the best score there can be, a ceiling where no agent reaches one. lower: whether lower
    scores are the better ones. scale: of the numbers in tables, 100 for points. limit: how many tasks by default, 0 for
    all; synthetic: how many synthetic ones for a first look. lacks: agents that other panels have -> why not this one.
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
    """The panel of a benchmark, or of "module:function". Raises BadSetting, and ImportError of what cannot load."""
    made = PANELS.named(name)
    if not callable(made) or not isinstance(panel := made(), Panel):
        raise BadSetting(f"{name} is no function without arguments that returns a lab.runs.floors.Panel")
    return panel


def play(
    name: str, data: str = "auto", limit: int | None = None, seed: int = 0, workers: int = 0
) -> dict[str, Results[Any]]:
    """Play the panel of a benchmark, or what is missing of it: agent -> its results, on the same tasks.

    data: "auto" (official where present, else synthetic), "official" or "synthetic". limit: tasks, spread evenly, 0 for
    all; by default the panel's. An agent that cannot be played here is left out, and it is said why.
    Raises BadSetting, MissingData, and what `lab.runs.collecting.collect` raises besides Unavailable.
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
    """Play the panels of several benchmarks, by default of all: benchmark -> agent -> its results.

    limit: tasks of each, 0 for all; -1 for the panel's own on official data, and a first look at synthetic ones. What
    needs data that is not here is left out, and it is said why. Raises MissingData where no benchmark has any.
    """
    panels: dict[str, dict[str, Results[Any]]] = {}
    for name in benchmarks or names():
        panel = named(name)
        try:
            chosen = _data(panel, data, seed)
            own = panel.limit if chosen == "official" else panel.synthetic
            panels[name] = play(name, chosen, own if limit == -1 else limit, seed, workers)
        except (MissingData, BadSetting) as error:
            progress.say(f"{name}: left out: {error}")
    if not panels:
        raise MissingData(f"None of the benchmarks has {data} data here; use data='auto'")
    return panels


def role(name: str, agent: str) -> str:
    """What an agent of a benchmark's panel is: FLOOR or CEILING."""
    return CEILING if agent == named(name).ceiling else FLOOR


def frames(panels: Mapping[str, Mapping[str, Results[Any]]]) -> pd.DataFrame:
    """Played panels one below the other."""
    import pandas as pd

    return pd.concat([frame(name, played) for name, played in panels.items()], ignore_index=True)


def frame(name: str, played: Mapping[str, Results[Any]]) -> pd.DataFrame:
    """The panel as a table with the columns of `lab.results.floors.COLUMNS`: a row an agent, the ceiling last.

    Intervals are Wilson's where every agent's scores are 0 or 1, else a bootstrap's over what is scored.
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
    """Which data all agents play, decided once by one that asks nobody: rules alone would read synthetic data."""
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
