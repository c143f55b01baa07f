"""What Table 5's notebook shows besides scores: what the loop did, both settings, and what a search finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lab.results.statistics import compare, holm
from lab.runs.study_results import Results
from sdp.anatomy import evidence_never_shown
from sdp.studies.conditions import SDP, loops
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
        kept = {question: one.result for question, one in results.of(dataset, name).items() if not one.failed}
        if name not in loops(results) or not kept:
            continue
        played = [*kept.values()]
        attempts = [attempt for one in played for attempt in one["trajectory"]["attempts"]]
        scores, shown = ({question: one[what] for question, one in kept.items()} for what in ("em", "gold_seen"))
        (lost,) = evidence_never_shown(scores, shown).to_dict("records")
        lines.append(
            {"dataset": dataset, "method": name, "n": len(played), "calls": results.mean(dataset, name, "calls"),
             "attempts": len(attempts) / len(played),
             "rejected, %": 100 * sum(attempt["k"] == 0 for attempt in attempts) / max(len(attempts), 1),
             "replans": sum(one["replans"] for one in played), "forced": sum(one["forced"] for one in played),
             "failures": lost["denominator"], "evidence never shown": lost["numerator"],
             "share, %": "{:.0f} [{:.0f}, {:.0f}]".format(*(100 * lost[end] for end in ("share", "low", "high")))
             if lost["denominator"] else ""}
        )  # fmt: skip
    about = {"data": results.setup.data, "evidence": results.evidence, "backbone": results.backbone}
    return pd.DataFrame(lines).assign(**about)


def between(first: Results, second: Results, name: str = SDP.name) -> pd.DataFrame:
    """A method's exact match in two runs on the same questions, first less second in points, a row a dataset."""
    import pandas as pd

    lines: list[dict[str, Any]] = []
    for dataset in first.setup.datasets:
        of = [run.scores_of(dataset, name) for run in (first, second)]
        shared = of[0].keys() & of[1].keys()  # the open setting also has questions that come without paragraphs
        one, other = ({question: values[question] for question in sorted(shared)} for values in of)
        c = compare(one, other)
        means = {
            run.setup.options["setting"]: 100 * mean
            for run, mean in zip((first, second), (c.mean_a, c.mean_b), strict=True)
        }
        difference = dict(zip(("difference", "low", "high"), (100 * end for end in c.difference), strict=True))
        lines.append({"dataset": dataset, "n": c.n} | means | difference | {"p (McNemar)": c.mcnemar})
    adjusted = holm([line["p (McNemar)"] for line in lines])
    about = {"data": first.setup.data, "evidence": first.evidence, "backbone": first.backbone}
    return pd.DataFrame(lines).assign(**{"p (Holm)": adjusted}, **about)


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
        difference, low, high = (100 * end for end in c.difference)
        lines.append(
            {"dataset": dataset, "n": c.n, "titles first": 100 * c.mean_a, "content alone": 100 * c.mean_b,
             "difference": difference, "low": low, "high": high, "gained": c.wins, "lost": c.losses,
             "p (McNemar)": c.mcnemar, "paragraphs": len(retriever), "data": world.data}
        )  # fmt: skip
    return pd.DataFrame(lines).assign(evidence="measured", backbone="BM25")
