"""Rows of results tables from episodes: success rates, parts of an answer, paired comparisons, costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from lab.results import plots, tables
from lab.results.exports import readable
from lab.results.statistics import Comparison, compare, holm
from lab.runs import collecting, recordings
from procllm.conditions import CONDITIONS, EXTENDED, LLM
from procllm.domains import domain
from procllm.experiments.episodes import COUNTED, Results, Setup, split

if TYPE_CHECKING:
    import pandas as pd

SUCCESS = "success"


def colors() -> dict[str, object]:
    """Condition -> color, the same in all figures."""
    import seaborn

    names = (*CONDITIONS, EXTENDED)
    return dict(zip(names, seaborn.color_palette(plots.PALETTE, len(names)), strict=True))


def success_rows(runs: Iterable[Results]) -> list[tables.Row]:
    """The success rate in percent of each domain, size and condition, with its Wilson interval.

    The source of an LLM-TN row says who made the networks.
    """
    return [
        tables.rate_row(
            condition, run.backbone, _metric(name, size), int(of["success"].sum()), len(of), **_about(condition, run),
            outcomes=run.outcomes(run.of(condition, name, size)),
        )
        for run in runs
        for (name, size, condition), of in run.frame.groupby(["domain", "size", "condition"], sort=False)
    ]  # fmt: skip


def _about(condition: str, run: Results) -> dict[str, Any]:
    source = f"this run, networks of {run.setup.maker}" if condition == LLM else "this run"
    return {"evidence": run.evidence, "source": source}


def part_rows(run: Results) -> list[tables.Row]:
    """The rate of each part of the answer, cumulative by column as in Table 1."""
    found = []
    for condition in run.setup.conditions:
        names = [name for name in run.episodes if split(name)[0] == condition]
        held = [run.trajectories[name].parts for name in names if name in run.trajectories]
        outcomes, about = run.outcomes(run.of(condition)), _about(condition, run)
        found += [
            tables.rate_row(
                condition, run.backbone, part, sum(parts[part] for parts in held), len(names), **about,
                outcomes=outcomes,
            )
            for part in (held[0] if held else ())
        ]  # fmt: skip
    return found


def paired(runs: Iterable[Results], pairs: Sequence[tuple[str, str]], by: Sequence[str] = ("domain",)) -> pd.DataFrame:
    """Conditions compared instance by instance: the difference of success with its interval, and exact McNemar tests.

    pairs: (condition, condition); a row for each, each run, and each value of the columns `by` of `Results.frame`.
    p (Holm): for all rows together.
    """
    import pandas as pd

    found = []
    for run, pair in product(runs, pairs):
        for value, of in run.frame.groupby(list(by), sort=False):
            scores = {name: _scores(rows) for name, rows in of.groupby("condition")}
            if set(pair) <= scores.keys():
                about = dict(zip(by, value, strict=True))
                found.append((about, run, pair, compare(scores[pair[0]], scores[pair[1]])))
    adjusted = holm([result.p for *_, result in found])
    lines = [
        about | _compared(*pair, result, p, run) for (about, run, pair, result), p in zip(found, adjusted, strict=True)
    ]
    return pd.DataFrame(lines, columns=[*by, *PAIRED])


PAIRED = (
    "compared", "difference", "ci_low", "ci_high", "only the first", "only the second", "McNemar p", "p (Holm)", "n",
    "evidence", "backbone",
)  # fmt: skip


def _compared(first: str, second: str, result: Comparison, p: float, run: Results) -> dict[str, object]:
    value, low, high = (100 * number for number in result.difference)
    return {
        "compared": f"{first} − {second}",
        "difference": value,
        "ci_low": low,
        "ci_high": high,
        "only the first": result.wins,
        "only the second": result.losses,
        "McNemar p": result.mcnemar,
        "p (Holm)": p,
        "n": result.n,
        "evidence": run.evidence,
        "backbone": run.backbone,
    }


def layout(results: pd.DataFrame) -> pd.DataFrame:
    """Success rates for reading: a row a domain, size and backbone, a column `value [low, high]` a condition."""
    cells = [
        {"problems": row["metric"].removeprefix(f"{SUCCESS}, "), **tables.counted(row)}
        | {row["method"]: tables.with_interval(row, 0)}
        for row in results.to_dict("records")
    ]
    return tables.spread(cells, ["problems", *tables.COUNTED])


def overall(runs: Iterable[Results]) -> pd.DataFrame:
    """Success in percent over all sizes of a domain, for each backbone and condition."""
    import pandas as pd

    found = [
        run.frame.groupby(["domain", "condition"], sort=False)["success"].mean().mul(100).reset_index() for run in runs
    ]
    return pd.concat([frame.assign(backbone=run.backbone) for run, frame in zip(runs, found, strict=True)])


def endings(runs: Iterable[Results]) -> pd.DataFrame:
    """How episodes ended, and what else was counted; a row a domain, condition and backbone.

    right at a timeout: a right answer that no check let pass in time, which is no success.
    """
    import pandas as pd

    return pd.DataFrame(
        [
            {"domain": domain(name).title, "condition": condition, "n": len(of)}
            | {"solved": int(of["success"].sum()), "wrong, yet verified": _ended(of, "done", right=False)}
            | {"right at a timeout": _ended(of, "horizon", right=True)}
            | {"wrong at a timeout": _ended(of, "horizon", right=False), "failed": int((of["ended"] == "failed").sum())}
            | {"not measured": run.outcomes(run.of(condition, name)).not_measured}
            | {f"{count} steps": int(of[count].sum()) for count in COUNTED}
            | {"evidence": run.evidence, "backbone": run.backbone}
            for run in runs
            for (name, condition), of in run.frame.groupby(["domain", "condition"], sort=False)
        ]
    )


def _ended(frame: pd.DataFrame, how: str, right: bool) -> int:
    return int(((frame["ended"] == how) & (frame["right"] == right)).sum())


def failures(run: Results) -> pd.DataFrame:
    """Every episode without success: how it ended and what the checker says of its answer. No text of the answer."""

    lines = []
    for name, episode in run.episodes.items():
        condition, instance = split(name)
        about = {"condition": condition, "instance": instance}
        if episode.failed:
            lines.append(about | {"ended": "failed", "checker": str(episode.error).strip().splitlines()[-1]})
        elif not run.trajectories[name].success:
            trajectory = run.trajectories[name]
            held = [part for part, holds in trajectory.verdict.parts.items() if not holds]
            lines.append(about | {"ended": trajectory.ended, "checker": f"fails at {held[0]}" if held else "right"})
    return readable(lines, columns=["condition", "instance", "ended", "checker"])


def cost_rows(runs: Iterable[Results], by_size: bool = False) -> list[tables.Row]:
    """The statistics of Figures 4 and A.2 of each domain and condition: means over episodes, with bootstrap intervals.

    by_size: of each size of a domain, too. One episode has no interval. Seconds stand only where a model answered and
    none of its answers came from a cache.
    """
    found = []
    for run in runs:
        frame = run.frame.assign(tokens=lambda of: of["tokens_in"] + of["tokens_out"])
        frame = frame.assign(pace=frame["seconds"] / frame["iterations"])
        frame = frame if by_size else frame.assign(size="")
        for (name, size, condition), of in frame.groupby(["domain", "size", "condition"], sort=False):
            for column, title in COSTS.items():
                known = of[column].dropna()
                if len(known) and not (run.by_rules and column == "tokens"):
                    found.append(_mean(condition, run, name, size, title, known))
    return found


def _mean(condition: str, run: Results, name: str, size: str, title: str, known: pd.Series) -> tables.Row:
    about, outcomes = _about(condition, run), run.outcomes(run.of(condition, name, size or None))
    metric = _metric(name, size, title)
    if len(known) == 1:
        return tables.row(condition, run.backbone, metric, float(known.iloc[0]), **about, n=1, outcomes=outcomes)
    return tables.mean_row(condition, run.backbone, metric, known.to_numpy(), **about, outcomes=outcomes)


COSTS = {
    "iterations": "iterations",
    "pace": "seconds an iteration",
    "seconds": "seconds in all",
    "tokens": "tokens",
}


def recorded(metrics: Iterable[str] = ()) -> pd.DataFrame:
    """The rows of all recordings; metrics: those whose metric starts with one of these only."""
    rows, starts = recordings.rows(Setup.method), tuple(metrics)
    return rows[rows["metric"].str.startswith(starts)] if len(rows) and starts else rows


def record(run: Results) -> None:
    """Save the run as a recording, if `python -m lab record` runs the notebook."""
    collecting.record(run, tables.table(success_rows([run]) + cost_rows([run])), usage(run))


def usage(run: Results) -> pd.DataFrame:
    """Calls, tokens and seconds by condition and operator, and how the answers were read."""
    return collecting.costs(run, lambda task: {"condition": split(task)[0]})


def _metric(name: str, size: str, what: str = SUCCESS) -> str:
    """ "success, Blocks World, b=3, h=2"."""
    return ", ".join(part for part in (what, domain(name).title, size) if part)


def _scores(rows: pd.DataFrame) -> dict[str, float]:
    return dict(zip(rows["instance"], rows["success"].astype(float), strict=True))
