"""What a search finds of Table 5's evidence."""

from __future__ import annotations

from typing import Any

import pandas as pd

from lab.results.statistics import compare
from sdp.studies.comparing import points
from sdp.studies.conditions import SDP
from sdp.studies.table5 import STUDY
from worlds.multihop.metrics import evidence_found
from worlds.multihop.questions import EVIDENCE

SILVER = EVIDENCE[2]  # matched to questions by statistics, and not by annotators


def retrieval(data: str = "auto", seed: int = 0, k: int = 10) -> pd.DataFrame:
    """Questions of which a search for the question shows all gold paragraphs among the first k, in percent: with titles
    first and by content alone, paired, in the corpus of the open setting. Questions with silver evidence are left out.
    """
    lines: list[dict[str, Any]] = []
    for dataset in STUDY.benchmarks:
        world = SDP.plays[dataset](data=data, setting="open", seed=seed).world()
        retriever = world.retriever
        assert retriever is not None, "the open setting has one"
        tasks = [task for split in world.splits if split != SILVER for task in world.tasks(split)]
        questions = [question for question in map(world.hidden, tasks) if question.gold]
        ids = [question.task.id for question in questions]
        shares = [evidence_found(retriever, questions, k, titles) for titles in (True, False)]
        boosted, plain = ({id: float(share == 1) for id, share in zip(ids, shown, strict=True)} for shown in shares)
        c = compare(boosted, plain)
        lines.append(
            {"dataset": dataset, "titles first": 100 * c.mean_a, "content alone": 100 * c.mean_b, **points(c),
             "paragraphs": len(retriever), "data": world.data}
        )  # fmt: skip
    return pd.DataFrame(lines).assign(evidence="measured", backbone="BM25")
