"""Recipe Generator, whose results the paper gives in the text of §5."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lab.runs.study_results import Results
from lab.runs.trial import Trial
from procllm.studies.conditions import HUMAN, LLM, NONE, PLACEBO, RECIPES, SUCCESS, declared

if TYPE_CHECKING:
    import pandas as pd

TITLE = SUCCESS.title.format(benchmark=RECIPES)
STUDY = declared(
    "procllm-recipes",
    [RECIPES],
    (HUMAN, LLM, PLACEBO, NONE),
    published=("Section 5 Recipe Generator", "procllm"),
)


def beside_published(runs: Iterable[Results]) -> pd.DataFrame:
    """The rows of the paper, of these runs, and of recordings of real models."""
    rows = STUDY.beside_published(*(run.frame() for run in runs)).replace({"metric": {"success": TITLE}})
    return rows[rows["metric"] == TITLE].reset_index(drop=True)


def chances(trial: Trial) -> pd.DataFrame:
    """How often a guess would be right without a program, over the requests of a trial.

    Two guesses: a random dish of the book, and a random dish that shares an ingredient with the request.
    """
    import pandas as pd

    from procllm.domains.recipes import book

    dishes = {dish: set(needed) for dish, needed in book().items()}
    instances = trial.part(RECIPES, trial.methods[0]).instances().values()
    requests = [set(instance.problem.ingredients) for instance in instances]
    right = [sum(needed <= ingredients for needed in dishes.values()) for ingredients in requests]
    near = [sum(bool(needed & ingredients) for needed in dishes.values()) for ingredients in requests]
    n = len(requests)
    facts = {
        "dishes in the book": len(dishes),
        "ingredients in a request, mean": sum(map(len, requests)) / n,
        "right dishes of a request, mean": sum(right) / n,
        "a random dish of the book is right, %": 100 * sum(right) / n / len(dishes),
        "a random dish that shares an ingredient is right, %": 100
        * sum(right_count / near_count for right_count, near_count in zip(right, near, strict=True))
        / n,
    }
    lines = [{"fact": name, "value": round(value, 2)} for name, value in facts.items()]
    return pd.DataFrame(lines).assign(n=n, evidence="measured", backbone="none, a count")
