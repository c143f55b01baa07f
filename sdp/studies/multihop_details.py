"""What Table 5's notebook shows besides scores: both settings, and what a search finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lab.results.statistics import compare, holm
from lab.runs.study_results import Results
from sdp.studies.conditions import SDP, about, points
from sdp.studies.table5 import STUDY
from worlds.multihop.metrics import evidence_found
from worlds.multihop.questions import EVIDENCE

if TYPE_CHECKING:
    import pandas as pd

SILVER = EVIDENCE[2]  # matched to questions by statistics, and not by annotators


def between(first: Results, second: Results, name: str = SDP.name) -> pd.DataFrame:
    """A method's exact match in two runs on the same questions, first less second in points, a row a dataset."""
    import pandas as pd

    lines: list[dict[str, Any]] = []
    for dataset in first.setup.datasets:
        one, other = (run.scores_of(dataset, name) for run in (first, second))
        shared = sorted(one.keys() & other.keys())  # the open setting also has questions that come without paragraphs
        c = compare({task: one[task] for task in shared}, {task: other[task] for task in shared})
        settings = (run.setup.options["setting"] for run in (first, second))
        means = dict(zip(settings, (100 * c.mean_a, 100 * c.mean_b), strict=True))
        lines.append({"dataset": dataset, **means, **points(c)})
    adjusted = holm([line["p"] for line in lines])
    return pd.DataFrame(lines).assign(**{"p (Holm)": adjusted}, **about(first))


def retrieval(data: str = "auto", seed: int = 0, k: int = 10) -> pd.DataFrame:
    """Questions of which a search for the question shows all gold paragraphs among the first k, in percent: with titles
    first and by content alone, paired, in the corpus of the open setting. Questions with silver evidence are left out.
    """
    import pandas as pd

    lines: list[dict[str, Any]] = []
    for dataset in STUDY.benchmarks:
        world = SDP.plays[dataset](data=data, setting="open", seed=seed).world()
        retriever = world.retriever
        assert retriever is not None, "the open setting has one"
        asked = [world.hidden(task) for name in world.splits if name != SILVER for task in world.tasks(name)]
        asked = [question for question in asked if question.gold]
        ids = [question.task.id for question in asked]
        shares = [evidence_found(retriever, asked, k, titles) for titles in (True, False)]
        boosted, plain = ({id: float(share == 1) for id, share in zip(ids, each, strict=True)} for each in shares)
        c = compare(boosted, plain)
        lines.append(
            {"dataset": dataset, "titles first": 100 * c.mean_a, "content alone": 100 * c.mean_b, **points(c),
             "paragraphs": len(retriever), "data": world.data}
        )  # fmt: skip
    return pd.DataFrame(lines).assign(evidence="measured", backbone="BM25")
