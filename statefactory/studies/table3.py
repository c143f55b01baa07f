"""The page of Table 3: the built pairs, and the monotonic baseline per world."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from lab.results import tables
from statefactory.benchmark.schema import Kind, Pair
from statefactory.experiments import scores, table3
from statefactory.experiments.table3 import Pairs

METRIC = scores.METRIC.format("").removesuffix(", ")
NEAR = 0.01  # largest difference to the paper's value that counts as equal


class Benchmark(NamedTuple):
    """The pairs of a run, by domain."""

    pairs: Pairs

    def answer(self) -> str:
        """State the numbers of pairs, and the baseline's overall distance if all five domains were built."""
        counts = table3.counts(self.pairs)
        by_domain = ", ".join(f"{row.domain} {row.pairs} ({row.data})" for row in counts.itertuples())
        lines = [f"{counts['pairs'].sum()} pairs: {by_domain}."]
        rows = table3.monotonic(self.pairs)
        overall = rows[rows["metric"] == scores.OVERALL].set_index("evidence")
        if "measured" in overall.index:
            ours = tables.with_interval(overall.loc["measured"].to_dict(), 3)
            lines.append(f"{scores.OVERALL}, of the monotonic baseline: {ours}; {overall.loc['published', 'value']:.3f}"
                         " in the paper.")  # fmt: skip
        return "\n".join(lines)

    @property
    def note(self) -> str:
        """Evidence, data and n, for a figure."""
        kinds = " and ".join(
            sorted({pair.positive.data for members in self.pairs.values() for pair in members}, reverse=True)
        )
        return f"measured · expert and random policy · {kinds} data · n = {sum(map(len, self.pairs.values()))} pairs"


def by_world(both: pd.DataFrame) -> pd.DataFrame:
    """The rows of `table3.monotonic` with worlds as methods, Overall first, and one metric."""
    worlds = both["metric"].str.removeprefix(f"{METRIC}, ")
    rows = both.assign(method=worlds, metric=METRIC)
    return rows.sort_values("method", key=lambda names: names != "Overall", kind="stable", ignore_index=True)


def sample_title(pair: Pair, kind: Kind, most: int = 120) -> str:
    """A trajectory's title: world, kind and task."""
    goal = " ".join(pair.positive.goal_description.split())
    return f"{pair.positive.domain}, {kind}: {goal[:most]}{'…' if len(goal) > most else ''}"


def rows_of(printed: pd.DataFrame | None) -> pd.DataFrame:
    """The rows of `table3.printed`; empty without official data."""
    return pd.DataFrame() if printed is None else printed


def accepted(pairs: Pairs, spread: pd.DataFrame, printed: pd.DataFrame | None, data: str) -> Mapping[str, object]:
    """The regression numbers by name; None if the data cannot give them. spread: from `table3.seed_table`."""
    numbers: dict[str, object] = {"pairs": sum(map(len, pairs.values()))}
    for row in spread.itertuples():
        numbers[f"monotonic, {row.domain}"] = round(row.here, 3)
        if row.fitted:
            near = bool(abs(row.difference) <= NEAR)
            numbers[f"monotonic, {row.domain}, within .01 of the paper"] = near if data == "official" else None
    agree = None if printed is None else all((printed[name] == printed["steps"]).all() for name in printed.columns[2:])
    return numbers | {"printed tables come out word for word": agree}
