"""Tables 7 to 11: every setting of SDP's experiments, what the paper says of it, and what is set here and why.

`tables7to11.yaml` lists the settings; their values are read from the code that runs, never typed again. The bodies of
the paper's tables were not recovered; what its text says of them is in `data/published/sdp_tables.csv`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
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
# The experiments with the paper's policies, in the order of the table.
OTHERS: dict[str, Callable[[], Any]] = {
    "ScienceWorld": scienceworld.Setup,
    "AssistantBench": assistantbench.Setup,
    "HotpotQA": multihop.HotpotQA,
    "MuSiQue": multihop.MuSiQue,
}
LENGTHS = "predicates 3d/1c, 5d/2c, 7d/3c"


class Setting(NamedTuple):
    """One setting; `tables7to11.yaml` explains the fields. value: None for what the parameter is set to."""

    words: str
    parameter: str = ""
    published: str = ""
    source: str = PAPER
    value: Any = None
    said: str = ""


def settings(benchmark: str, setup: Any) -> list[Setting]:
    """The settings of an experiment: all fields of its loop and its policy, and what is around them."""
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
    """Days of a trip -> predicates of its first plan, counted in the plan of a query of each length as it is played."""
    of_days = {query.days: query.id for query in setup.resolved().queries()}
    return {days: len(setup.episode(of_days[days]).plans[0].predicates) for days in sorted(of_days)}


def table(setup: Setup, lengths: Mapping[int, int]) -> pd.DataFrame:
    """A row a setting and benchmark: the paper's value and its place, and ours, where it comes from, what changes it.

    lengths: as `plan_lengths` has them. evidence: "published" where the paper's value is had, and "measured" where ours
    was counted, on `data`; a setting itself is neither.
    """
    counted = Setting("predicates, by days", "", LENGTHS, "counted in plans", " / ".join(map(str, lengths.values())))
    lines = [_line("TravelPlanner", setup, setting) for setting in [*settings("TravelPlanner", setup), counted]]
    lines[-1] |= {"data": setup.decided().data, "evidence": f"{lines[-1]['evidence']}; measured, rules"}
    for benchmark, experiment in OTHERS.items():
        own = experiment()
        listed = settings(benchmark, own)
        lines += [_line(benchmark, own, setting) for setting in listed]
        known = {setting.published for setting in listed}
        lines += [_row(benchmark, name, *value) for name, value in _published(benchmark).items() if name not in known]
    return pd.DataFrame(lines)


def _published(benchmark: str) -> dict[str, tuple[str, str]]:
    """What the paper says of a benchmark: setting -> value and source."""
    rows = tables.published(TABLES[benchmark], "sdp").to_dict("records")
    numbers = ("" if math.isnan(row["value"]) else f"{row['value']:g}" for row in rows)
    return {row["metric"]: (row["text"] or number, row["source"]) for row, number in zip(rows, numbers, strict=True)}


def _line(benchmark: str, setup: Any, setting: Setting) -> dict[str, Any]:
    value, source, paper = setting.value, setting.source, setting.said
    if value is None:
        owner, _, name = setting.parameter.partition(".")
        value = getattr({"Settings": setup.settings, "Policy": setup.policy, "Setup": setup}[owner], name)
    if isinstance(value, bool):
        value = "on" if value else "off"
    if source == OPEN:
        (choice,) = (entry for entry in deviations.entries("sdp") if entry.switch == setting.parameter)
        source, paper = f"our choice: {choice.here}", f"{choice.where}: {choice.paper}"
    published, place = _published(benchmark)[setting.published] if setting.published else ("", "")
    row = _row(benchmark, setting.words, published, place) | ({"paper": paper} if paper and not place else {})
    return row | {"ours": str(value), "source of ours": source, "parameter": setting.parameter or EMPTY}


def _row(benchmark: str, name: str, value: str, place: str) -> dict[str, Any]:
    return {
        "benchmark": benchmark, "setting": name, "paper": value or (NOT_RECOVERED if place else NOT_SAID),
        "place in the paper": place.removeprefix("arXiv 2605.12755 ") if value else EMPTY, "ours": "",
        "source of ours": EMPTY, "parameter": EMPTY, "data": EMPTY, "evidence": "published" if value else EMPTY,
    }  # fmt: skip
