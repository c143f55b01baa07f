"""Table 1: Travel Planner, success up to each column; and Recipe Generator, which the paper tells in its text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from lab import tables
from procllm.conditions import HUMAN, NONE
from procllm.experiments.episodes import Problems, Results, Setup, collect
from procllm.experiments.scores import part_rows, recorded, success_rows

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("Flight 1", "Flight 2", "Hotel")
TRAVEL, RECIPES = "Table 1 Travel Planner", "Section 5 Recipe Generator"
RECIPE_SUCCESS = "success, Recipe Generator"


def collect_levels(
    name: str, levels: Iterable[float], count: int, data: str = "auto", seed: int = 0, workers: int = 0,
    conditions: Sequence[str] = (HUMAN, NONE),
) -> list[Results]:  # fmt: skip
    """A run of a domain for each level of noise: rules whose answers are kept with that probability; 1 is no noise."""
    engines = ["rules" if level == 1 else f"rules@{level:g}" for level in levels]
    problems = (Problems(name, count),)
    return [collect(Setup(problems, tuple(conditions), engine, data, seed), workers) for engine in engines]


def travel(runs: Sequence[Results]) -> pd.DataFrame:
    """The paper's rows and these runs', a row a condition, backbone and column."""
    import pandas as pd

    measured = tables.table(row for run in runs for row in part_rows(run))
    return pd.concat([tables.published(TRAVEL, "procllm"), measured], ignore_index=True)


def recipes(runs: Sequence[Results]) -> pd.DataFrame:
    """The paper's rows, these runs', and those of recordings of real models."""
    import pandas as pd

    published = tables.published(RECIPES, "procllm").replace({"metric": {"success": RECIPE_SUCCESS}})
    known = recorded([RECIPE_SUCCESS])
    parts = [published, tables.table(success_rows(runs)), known]
    return pd.concat([part for part in parts if len(part)], ignore_index=True)
