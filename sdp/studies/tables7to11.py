"""Tables 7 to 11: every setting of SDP's experiments: what the paper says of it, our value, and why.

`tables7to11.yaml` lists the settings. Their values are read from the code that runs, never typed again. The bodies of
the paper's tables were not recovered; `data/published/sdp_tables.csv` has what its text says of them.
`make readme` writes the tables of docs/configuration.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from jinja2 import Template

from lab.machine.reading import read_text
from lab.machine.yaml12 import load
from lab.notebooks import deviations
from lab.results import tables
from lab.results.exports import EMPTY
from sdp.experiments import assistantbench, multihop, scienceworld
from sdp.experiments.travelplanner import Setup
from sdp.studies.table5 import CORPORA
from worlds.scienceworld.tasks import PROTOCOL_VARIATIONS

# The published table of each benchmark.
TABLES = {
    "TravelPlanner": "Table 7 config TravelPlanner",
    "ScienceWorld": "Table 8 config ScienceWorld",
    "AssistantBench": "Table 9 config AssistantBench",
    "HotpotQA": "Table 10 config HotpotQA",
    "MuSiQue": "Table 11 config MuSiQue",
}
NOT_RECOVERED, NOT_SAID = "not recovered", "not said"
PAPER, OPEN = "the paper", "open"
SETTINGS = Path(__file__).with_suffix(".yaml")
# The experiments with the paper's policies, in the order of the tables.
OTHERS: dict[str, Callable[[], Any]] = {
    "ScienceWorld": scienceworld.Setup,
    "AssistantBench": assistantbench.Setup,
    "HotpotQA": multihop.HotpotQA,
    "MuSiQue": multihop.MuSiQue,
}
LENGTHS = "predicates 3d/1c, 5d/2c, 7d/3c"
SHARED = "all"
PLACE = re.compile(r"arXiv 2605\.12755 | text.*")  # removed from sources: the paper's id, and how a value was read


class Setting(NamedTuple):
    """One setting; `tables7to11.yaml` explains the fields. value: None for the parameter's own value."""

    words: str
    parameter: str = ""
    published: str = ""
    source: str = PAPER
    value: Any = None
    said: str = ""


def settings(benchmark: str, setup: Any) -> list[Setting]:
    """All settings of an experiment: the fields of its loop and its policy, and those around them."""
    entries = _entries(load(read_text(SETTINGS)), benchmark)
    return [
        _setting(benchmark, setup, **entry) for entry in entries if getattr(setup.policy, entry.get("when", ""), True)
    ]


def _entries(declared: Mapping[str, Any], name: str) -> Iterator[dict[str, Any]]:
    for entry in declared[name]:
        if isinstance(entry, str):
            yield from _entries(declared, entry)
        else:
            yield entry


def _setting(benchmark: str, setup: Any, constant: str = "", text: str = "", when: str = "", **fields: Any) -> Setting:
    if constant:
        module, _, path = constant.partition(":")
        name, _, position = path.partition(".")
        value = getattr(import_module(module), name)
        fields["value"] = value[int(position)] if position else value
    if text:
        words = {"setup": setup, "benchmark": benchmark, "corpora": CORPORA, "variations": PROTOCOL_VARIATIONS}
        fields["value"] = Template(text).render(words)
    return Setting(**fields)


def plan_lengths(setup: Setup) -> dict[int, int]:
    """Days of a trip -> number of predicates in its first plan, counted by playing a query of each length."""
    of_days = {query.days: query.id for query in setup.resolved().queries()}
    return {days: len(setup.episode(of_days[days]).plans[0].predicates) for days in sorted(of_days)}


def shown(benchmark: str) -> pd.DataFrame:
    """The default settings of a benchmark, without those that all benchmarks share; "all" returns the shared ones.

    Columns: setting, in the paper, here, source, changed by. Raises ValueError for an unknown benchmark.
    """
    defaults = _defaults()
    columns = [name for name in defaults if name != "benchmark"]
    shared = defaults.groupby(columns, sort=False)["benchmark"].transform("nunique") == len(TABLES)
    if benchmark not in {SHARED, *TABLES}:
        raise ValueError(f"no settings of {benchmark!r}; choose from {', '.join([SHARED, *TABLES])}")
    chosen = shared if benchmark == SHARED else ~shared & (defaults["benchmark"] == benchmark)
    return defaults.loc[chosen, columns].drop_duplicates()


@cache
def _defaults() -> pd.DataFrame:
    setup = Setup(data="synthetic")
    return table(setup, plan_lengths(setup))


def table(setup: Setup, lengths: Mapping[int, int]) -> pd.DataFrame:
    """One row per setting and benchmark: the paper's value with its place, ours, its source, and its parameter.

    setup: of TravelPlanner. lengths: as `plan_lengths` returns them.
    """
    counted = Setting("predicates of a plan of 3, 5 and 7 days", "", LENGTHS, "counted in plans of synthetic trips")
    counted = counted._replace(value=" / ".join(map(str, lengths.values())))
    rows = [_line("TravelPlanner", setup, setting) for setting in [*settings("TravelPlanner", setup), counted]]
    for benchmark, experiment in OTHERS.items():
        other = experiment()
        listed = settings(benchmark, other)
        rows += [_line(benchmark, other, setting) for setting in listed]
        published = {setting.published for setting in listed}
        rows += [_row(benchmark, name, value) for name, value in _published(benchmark).items() if name not in published]
    return pd.DataFrame(rows)


def _published(benchmark: str) -> dict[str, str]:
    """The paper's settings of a benchmark: setting -> value with its place."""
    rows = tables.published(TABLES[benchmark], "sdp").to_dict("records")
    return {row["metric"]: _with_place(row["text"] or _number(row["value"]), row["source"]) for row in rows}


def _with_place(value: str, source: str) -> str:
    return f"{value} ({PLACE.sub('', source)})" if value else NOT_RECOVERED


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:g}"


def _line(benchmark: str, setup: Any, setting: Setting) -> dict[str, str]:
    value, source, paper = setting.value, setting.source, setting.said or NOT_SAID
    if value is None:
        owner, _, name = setting.parameter.partition(".")
        value = getattr({"Settings": setup.settings, "Policy": setup.policy, "Setup": setup}[owner], name)
    if isinstance(value, bool):
        value = "on" if value else "off"
    if source == OPEN:
        (choice,) = (entry for entry in deviations.entries("sdp") if entry.switch == setting.parameter)
        source, paper = f"our choice: {choice.here}", f"{choice.paper} ({choice.where})"
    if setting.published:
        paper = _published(benchmark)[setting.published]
    ours = f"{value:g}" if isinstance(value, float) else str(value)
    return _row(benchmark, setting.words, paper, ours, source, setting.parameter)


def _row(
    benchmark: str, name: str, paper: str, ours: str = EMPTY, source: str = EMPTY, parameter: str = ""
) -> dict[str, str]:
    return {
        "benchmark": benchmark, "setting": name, "in the paper": paper, "here": ours, "source": source,
        "changed by": f"`{parameter}`" if parameter else EMPTY,
    }  # fmt: skip
