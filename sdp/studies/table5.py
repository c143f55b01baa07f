"""Table 5: SDP on HotpotQA and MuSiQue, next to its ablations and to agents that answer in one call."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from agents.experiments.acting import AGENTS as ACTING_AGENTS
from lab.runs.study import Metric, Study, register
from lab.runs.study_results import Results
from lab.runs.trial import Trial
from sdp.experiments.certifying import OF_PAIRS, paired
from sdp.studies import trees
from sdp.studies.conditions import AGENTS, DIRECT, PLACEBO, SDP, WITHOUT_REPLAN, WITHOUT_VALIDATE, agent, rejections
from worlds.multihop.metrics import evidence_found
from worlds.multihop.questions import EVIDENCE

SILVER = EVIDENCE[2]  # matched to questions by statistics, not by annotators
CORPORA = {"HotpotQA": "12,479", "MuSiQue": "10,024"}  # paragraphs of the official data that is at hand
ALL = DIRECT.but("direct, all paragraphs", "evidence", "shown", recorded=True)
ONE_CALL = (
    ALL.but("direct, closed book", "evidence", "none"),
    ALL,
    ALL.but("direct, gold paragraphs (privileged)", "evidence", "gold", role="privileged"),
    ALL.but("chain of thought, all paragraphs", "agent", "chain of thought"),
)
GUESSED = SDP.but("SDP, hops guessed", "policy.hops", "guess", recorded=False)
VARIANTS = (SDP, GUESSED, WITHOUT_VALIDATE, WITHOUT_REPLAN, PLACEBO)


def asked(trial: Trial, dataset: str) -> str:
    """Which questions are asked, and where evidence is searched."""
    setting, split = trial.options["setting"], trial.options["split"]
    if trial.data == "synthetic":
        return f"synthetic questions ({split} templates), {setting} setting"
    searched = "its own paragraphs" if setting == "distractor" else f"{CORPORA[dataset]} paragraphs"
    return f"{split} questions, {searched}"


STUDY = register(
    Study(
        name="sdp-table5",
        benchmarks=("HotpotQA", "MuSiQue"),
        conditions=(*VARIANTS, *ONE_CALL, *AGENTS, *(agent(name) for name in ACTING_AGENTS if "action" in name)),
        metrics=(Metric("{benchmark} EM", "em", "rate"), Metric("{benchmark} F1", "f1", "mean")),
        metric="exact match",
        against=SDP.name,
        published=("Table 5 multi-hop QA", "sdp"),
        options={"setting": "distractor", "split": ""},
        synthetic={"split": "reporting"},  # the templates for which no rule was written
        source=asked,
        matched=rejections,
    )
)


COLUMNS = [metric.title.format(benchmark=name) for name in STUDY.benchmarks for metric in STUDY.metrics]


def report(
    tell: Callable[..., None], main: Results, contrasts: pd.DataFrame, found: pd.DataFrame, of_trees: pd.DataFrame
) -> None:
    """Report the notebook's regression numbers. tell: takes a figure's name, its value and its data."""
    variants = [condition.name for condition in VARIANTS]
    for dataset, method in (part for part in main.parts if part[1] in variants):
        tell(f"{method}, {dataset} EM", round(100 * main.mean(dataset, method, "em"), 2))
    for row in contrasts[contrasts["method"].isin(variants)].to_dict("records"):
        tell(f"{row['method']} less SDP, {row['dataset']}, noisy", round(row["less SDP"], 2), "synthetic")
    for row in found.to_dict("records"):
        tell(f"all gold in ten, titles first, {row['dataset']}", round(row["titles first"], 2), row["data"])
        tell(f"all gold in ten, content alone, {row['dataset']}", round(row["content alone"], 2), row["data"])
    for name in STUDY.benchmarks:
        values = of_trees[of_trees["metric"] == f"{name} EM"].set_index("method")["value"]
        for variant in (trees.FULL, trees.WITHOUT, trees.FILTERED):
            tell(f"{variant}, {name} EM", round(values[variant], 2) if variant in values else None, "official")


def retrieval(data: str = "auto") -> pd.DataFrame:
    """The share of questions, in percent, for which a search for the question shows all gold paragraphs among the
    first ten. Titles first and content alone are paired, in the corpus of the open setting. Questions with silver
    evidence are left out.
    """
    pairs = []
    for dataset in STUDY.benchmarks:
        world = SDP.plays[dataset](data=data, setting="open").world()
        retriever = world.retriever
        assert retriever is not None, "the open setting has one"
        tasks = [task for split in world.splits if split != SILVER for task in world.tasks(split)]
        questions = [question for question in map(world.hidden, tasks) if question.gold]
        boosted, plain = (
            {
                question.task.id: float(share == 1)
                for question, share in zip(questions, evidence_found(retriever, questions, 10, titles), strict=True)
            }
            for titles in (True, False)
        )
        pairs.append(({"dataset": dataset, "paragraphs": len(retriever), "data": world.data}, boosted, plain))
    table = paired(pairs)[["dataset", "first", "second", *OF_PAIRS, "paragraphs", "data"]]
    names = {"first": "titles first", "second": "content alone"}
    return table.rename(columns=names).assign(evidence="measured", backbone="BM25")
