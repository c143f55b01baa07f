"""Play a study from the command line, without a notebook: its estimated cost, then rows, contrasts and null models."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import isclose, nan
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.machine import progress, yaml12
from lab.machine.printing import aligned
from lab.results import floors, tables
from lab.results.stored import Stored, sides_of
from lab.runs.collecting import collect, manifest_of
from lab.runs.experiment import BadSetting, score_lines
from lab.runs.forecast import forecast
from lab.runs.registry import STUDIES
from lab.runs.study import Study
from lab.runs.study_results import Results, comparisons
from lab.runs.trial import Trial

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Plan:
    """Cells of a study to play: all combinations of engines and grid values, each with all seeds.

    name: of the study, as the user wrote it. engines: played one after the other. settings: arguments of `Study.trial`
    besides engine, options and seed. options: shared by all cells. grid: option -> values.
    """

    name: str
    study: Study
    engines: Sequence[str]
    settings: Mapping[str, Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    seeds: tuple[int, ...] = (0,)

    def cells(self) -> Iterator[tuple[dict[str, Any], list[Trial]]]:
        """Yield each cell: its settings, including options, and its trials, one per seed."""
        for engine, *values in product(self.engines, *self.grid.values()):
            options = {**self.options, **dict(zip(self.grid, values, strict=True))}
            settings = {"engine": engine, **self.settings, "options": options}
            yield settings, [self.study.trial(**settings, seed=seed) for seed in self.seeds]


class Block(NamedTuple):
    """The results of a cell. text: for a terminal. rows: `Results.frame` with columns for seed and options."""

    text: str
    rows: pd.DataFrame


def plan(options: Namespace) -> Plan:
    """The plan for the arguments of `python -m lab eval`. Raises BadSetting."""
    declared = STUDIES.named(options.study)
    settings = {
        "data": options.data, "limit": options.limit,
        "benchmarks": tuple(filter(None, options.benchmarks.split(","))), "conditions": tuple(options.conditions),
    }  # fmt: skip
    grid: dict[str, list[Any]] = {}
    for name, text in map(_assigned, options.grid):
        if name in grid or not text:
            raise BadSetting(f"--grid {name}={text}: give an option once, with all its values, such as {name}=1,3")
        grid[name] = _value(text, several=True)
    fixed = {name: _value(text) for name, text in map(_assigned, options.set)}
    seeds = tuple(_value(text) for text in options.seeds.split(","))
    if not all(isinstance(seed, int) for seed in seeds):
        raise BadSetting(f"--seeds {options.seeds}: write whole numbers, such as 0,1,2")
    return Plan(options.study, declared, options.engine or [declared.engine], settings, fixed, grid, seeds)


def _assigned(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise BadSetting(f"{text!r}: write NAME=VALUE, such as settings.budget=1")
    return name, value


def _value(text: str, several: bool = False) -> Any:
    """Parse a YAML value: a number, true or false, a word, or a list of them. several: parse comma-separated values to
    a list. Raises BadSetting.
    """
    try:
        return yaml12.load(f"[{text}]" if several else text)
    except ValueError as error:
        raise BadSetting(f"{text!r} is no value: {error}; put text with brackets or colons in quotes") from None


def announce(plan: Plan) -> list[str]:
    """Lines with the estimated cost of the model calls; empty if no model is asked or all episodes are on disk."""
    trials = [trial.resolved() for _, trials in plan.cells() for trial in trials]
    lines = []
    for share in forecast(map(manifest_of, trials)):
        if share.episodes > share.played:
            hours = "" if share.seconds is None else f"\n    about {progress.duration(share.seconds)} one after another"
            lines.append(f"{share}{hours}")
    return lines


def asks_a_server(plan: Plan) -> bool:
    """Whether the plan calls a server, which may cost money."""
    return any("endpoint" in t.resolved().who.kinds for _, trials in plan.cells() for t in trials)


def play(plan: Plan, workers: int = 0, cluster: str = "") -> Iterator[Block]:
    """Play the cells and yield their results. Raises as `lab.collect`."""
    import pandas as pd

    stored = Stored()
    for settings, trials in plan.cells():
        runs = [collect(trial, workers, cluster) for trial in trials]
        options = {name: str(value) for name, value in settings["options"].items()}
        cell = ({"engine": settings["engine"]} if len(plan.engines) > 1 else {}) | options
        title = ", ".join(f"{name}={value}" for name, value in cell.items()) or "the study's own options"
        answers = filter(None, (run.answer() for run in runs))
        parts = [*_rows(plan, settings, runs, stored), *_contrasts(plan, runs), *answers]
        rows = pd.concat([run.frame().assign(seed=run.setup.seed, **options) for run in runs], ignore_index=True)
        yield Block("\n".join([f"{plan.study.name}: {title}", *parts]), rows)


def command(plan: Plan, settings: Mapping[str, Any], condition: str) -> str:
    """The command that plays a condition of a cell again."""
    words = ["python", "-m", "lab", "eval", plan.name]
    for name, value in settings.items():
        if value not in ("", (), None, -1, "auto") and name not in ("conditions", "options"):
            words += [f"--{name}", ",".join(value) if isinstance(value, tuple) else str(value)]
    words += ["--conditions", condition]
    words += [word for name, value in settings["options"].items() for word in ("--set", f"{name}={value}")]
    words += ["--seeds", ",".join(map(str, plan.seeds))] if plan.seeds != (0,) else []
    return shlex.join(words)


def _rows(plan: Plan, settings: Mapping[str, Any], runs: Sequence[Results], stored: Stored) -> list[str]:
    lines = [("condition", "metric", "value [95 %]", "n", "evidence", "best without skill", "headroom", "data", "seed")]
    for run in runs:
        standings = _standings(run, stored)
        for row in run.frame().to_dict("records"):
            interval = tables.with_interval(row, plan.study.decimals)
            floor, headroom = standings.get((row["method"], row["metric"]), ("–", "–"))
            lines.append(
                (row["method"], row["metric"], interval, f"{row['n']:.0f}", row["evidence"], floor, headroom,
                 row["data"], str(run.setup.seed))
            )  # fmt: skip
    commands = [command(plan, settings, name) for name in runs[0].setup.methods]
    return [aligned(lines), "again, a condition at a time:", *(f"  {line}" for line in dict.fromkeys(commands))]


def _standings(run: Results, stored: Stored) -> dict[tuple[str, str], tuple[str, str]]:
    """(condition, headline metric) -> (text of the best null model on its tasks, text of the headroom above it).

    A headline that is not the mean of the scores, such as a number of iterations, has none.
    """
    standings = {}
    study, values = run.of_study, run.frame().set_index(["method", "metric"])["value"].to_dict()
    for scores in sides_of(score_lines(run)):
        standing = floors.standing(scores, stored, study.lower)
        row = study.label(run, scores.side.condition), study.headline_of(scores.side.benchmark)
        if standing["floor agent"] and isclose(values.get(row, nan), study.scale * scores.mean(scores.values)):
            floor = f"{study.scale * standing['best floor']:.{study.decimals}f}"
            text = f"{floor} ({standing['floor agent']}, {standing['floor on']})"
            standings[row] = text, f"{standing['headroom']:.2f}"
    return standings


def _contrasts(plan: Plan, runs: Sequence[Results]) -> list[str]:
    """Lines with each condition minus the study's baseline, paired by task, with means over seeds."""
    base, decimals = plan.study.against, plan.study.decimals
    if base not in runs[0].setup.methods:
        return []
    lines = [("condition", "benchmark", f"less {base}", "n", "p (Holm)")]
    for row in comparisons(runs, base).to_dict("records"):
        value, low, high = (f"{row[name]:+.{decimals}f}" for name in (f"less {base}", "low", "high"))
        lines.append(
            (row["method"], row["dataset"], f"{value} [{low}, {high}]", str(row["n"]), f"{row['p (Holm)']:.3f}")
        )
    return [aligned(lines)] if len(lines) > 1 else []
