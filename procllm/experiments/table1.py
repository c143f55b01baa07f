"""Table 1: Travel Planner, success up to each column; and Recipe Generator, which the paper tells in its text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lab.results import plots, tables
from procllm.experiments.episodes import Results, Setup
from procllm.experiments.scores import colors, part_rows, recorded, success_rows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

COLUMNS = ("Flight 1", "Flight 2", "Hotel")
TRAVEL, RECIPES = "Table 1 Travel Planner", "Section 5 Recipe Generator"
RECIPE_SUCCESS = "success, Recipe Generator"


def travel(runs: Sequence[Results]) -> pd.DataFrame:
    """The paper's rows and these runs', a row a condition, backbone and column."""
    import pandas as pd

    published, measured = tables.published(TRAVEL, "procllm"), tables.table(r for run in runs for r in part_rows(run))
    return pd.concat([published, measured], ignore_index=True)


def recipes(runs: Sequence[Results]) -> pd.DataFrame:
    """The paper's rows, these runs', and those of recordings of real models."""
    import pandas as pd

    published = tables.published(RECIPES, "procllm").replace({"metric": {"success": RECIPE_SUCCESS}})
    known = recorded([RECIPE_SUCCESS])
    parts = [published, tables.table(success_rows(runs)), known]
    return pd.concat([part for part in parts if len(part)], ignore_index=True)


def selection(setup: Setup) -> pd.DataFrame:
    """How Travel Planner's requests were chosen: how many are left after each condition, beside the paper's 43."""
    import pandas as pd

    from procllm.domains.travel.instances import funnel
    from worlds.travelplanner import load

    world = load(setup.data, setup.seed)
    left = funnel(world.tasks("validation"), world.listings)
    steps = {
        "to one city, validation split": left.single,
        "all flights of both days are known": left.known,
        "flying is allowed": left.flying,
        "there is a flight each way": left.existing,
        "solvable within the budget": left.solvable,
        "played": len(setup.instances()),
    }
    lines = [{"requests": name, "n": n, "data": setup.data, "evidence": "measured"} for name, n in steps.items()]
    paper = {"requests": "the paper's, from the same split", "n": 43, "data": "official", "evidence": "published"}
    return pd.DataFrame([*lines, paper])


def chances(setup: Setup) -> pd.DataFrame:
    """Recipe Generator without a program: how often a guess would be right, over the requests of this run.

    A dish of the book at random; and a dish at random of those that share an ingredient with the request.
    """
    import pandas as pd

    from procllm.domains.recipes.book import book

    dishes = {dish: set(needed) for dish, needed in book().items()}
    owned = [set(instance.problem.ingredients) for _, instance in setup.instances().values()]
    right = [sum(needed <= own for needed in dishes.values()) for own in owned]
    near = [sum(bool(needed & own) for needed in dishes.values()) for own in owned]
    n = len(owned)
    facts = {
        "dishes in the book": len(dishes),
        "ingredients in a request, mean": sum(map(len, owned)) / n,
        "right dishes of a request, mean": sum(right) / n,
        "a random dish of the book is right, %": 100 * sum(right) / n / len(dishes),
        "a random dish that shares an ingredient is right, %": 100
        * sum(r / m for r, m in zip(right, near, strict=True))
        / n,
    }
    lines = [{"fact": name, "value": round(value, 2)} for name, value in facts.items()]
    return pd.DataFrame(lines).assign(n=n, evidence="measured", backbone="none, a count")


def draw(results: pd.DataFrame, metrics: Sequence[str]) -> Figure:
    """Success by backbone, bars by condition, a panel a metric; a published value has no interval."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(metrics), figsize=(3.2 + 3.2 * len(metrics), 3.8), sharey=True, squeeze=False)
    for axes, metric in zip(panels.flat, metrics, strict=True):
        rows = results[results["metric"] == metric]
        plots.bars_with_intervals(rows, "backbone", "value", "ci_low", "ci_high", "method", axes, colors(), "n")
        axes.set(title=metric, xlabel="", ylabel="success (%)", ylim=(0, 105))
        axes.set_xticks(axes.get_xticks(), axes.get_xticklabels(), rotation=30, ha="right", rotation_mode="anchor")
    plots.one_legend(figure)
    plots.label_evidence(figure, results)
    return figure
