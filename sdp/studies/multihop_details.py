"""What Table 5's notebook shows besides scores: what the loop did, both settings, and what a search finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lab.results.statistics import compare, holm
from lab.runs.study_results import Results
from sdp.anatomy import evidence_never_shown
from sdp.studies.conditions import SDP, about, loops, points
from sdp.studies.table5 import STUDY
from worlds.multihop.metrics import evidence_found
from worlds.multihop.questions import EVIDENCE

if TYPE_CHECKING:
    import pandas as pd

SILVER = EVIDENCE[2]  # matched to questions by statistics, and not by annotators


def anatomy(results: Results) -> pd.DataFrame:
    """What the loop did, by dataset and variant: calls and attempts a question, rejections, replans, forced answers,
    and of the failures the share whose evidence was never all shown, with its 95 % interval, where it is annotated.
    """
    import pandas as pd

    lines = []
    for dataset, name in results.parts:
        kept = {task: episode.result for task, episode in results.of(dataset, name).items() if not episode.failed}
        if name not in loops(results) or not kept:
            continue
        episodes = pd.DataFrame(kept).T
        rejected = [attempt["k"] == 0 for played in episodes["trajectory"] for attempt in played["attempts"]]
        (lost,) = evidence_never_shown(episodes["em"].to_dict(), episodes["gold_seen"].to_dict()).to_dict("records")
        share = "{:.0f} [{:.0f}, {:.0f}]".format(*(100 * lost[end] for end in ("share", "low", "high")))
        lines.append(
            {"dataset": dataset, "method": name, "n": len(episodes), "calls": results.mean(dataset, name, "calls"),
             "attempts": len(rejected) / len(episodes), "rejected, %": 100 * sum(rejected) / max(len(rejected), 1),
             "replans": episodes["replans"].sum(), "forced": episodes["forced"].sum(), "failures": lost["denominator"],
             "evidence never shown": lost["numerator"], "share, %": share if lost["denominator"] else ""}
        )  # fmt: skip
    return pd.DataFrame(lines).assign(**about(results))


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
