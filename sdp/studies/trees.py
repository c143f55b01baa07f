"""SDP's loop on the question trees that ProbTree recorded (Cao et al. 2023): Table 5 with a real model's answers.

No model is asked. Propose and Realize return what a model once answered at temperature 0: text-davinci-003, the default
of the program that asked the sub-questions (the program that made them was not seen). Validate is the string
certificate of `sdp.adapters.multihop.trees`. The recorded model read paragraphs that the system retrieved from large
corpora. Validate reads the ten or twenty that the benchmark gives with a question, and these contain its answer. So it
knows more than the system did, and a gain over the system's own choice may come from this evidence. The row "chosen by
paragraphs" shows what the loop adds: there the same paragraphs choose among the answers to the whole question. The
placebo shows what certifying adds to trying again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from statistics import fmean
from typing import Any

import pandas as pd

from lab.machine.paths import official_data
from lab.models.backbone import Ledger
from lab.results import tables
from sdp.adapters.multihop.adapter import HOP, Policy
from sdp.adapters.multihop.trees import UNRECORDED, TreeBackbone, says
from sdp.experiments.certifying import OF_PAIRS, paired
from sdp.experiments.multihop import HotpotQA, MuSiQue, Setup
from sdp.trajectory import Trajectory
from worlds.multihop import HopTask, Question, official
from worlds.multihop.metrics import judged
from worlds.multihop.trees import Tree, file_of, matched, trees

BACKBONE = "ProbTree's recorded model, text-davinci-003 by its program"
OWN, FULL = "ProbTree's own choice", "SDP on ProbTree's trees"
WITHOUT, PLACEBO = f"{FULL}, -Validate", f"{FULL}, placebo Validate"
FILTERED = "ProbTree's answers, chosen by paragraphs"
EVERY = f"{OWN}, all questions with a known answer"
SOURCE = "this run, ProbTree's released trees"
SEEDS = 10
OFFICIAL: dict[str, Any] = {"data": "official", "split": "annotated_full", "engine": "rules"}
# As many hops as the tree has: neither A.5's two nor the number in an id is right for every tree.
SETUPS: dict[str, Setup] = {
    "HotpotQA": HotpotQA(policy=Policy(hops="guess"), **OFFICIAL),
    "MuSiQue": MuSiQue(policy=Policy(hops="guess", strict=True), **OFFICIAL),
}


def present() -> bool:
    """Whether the official questions and the trees are at hand."""
    folder = official_data() / official.NAME
    datasets = [setup.dataset for setup in SETUPS.values()]
    return all(official.present(folder, dataset) and file_of(folder, dataset).exists() for dataset in datasets)


def episodes(seeds: int = SEEDS) -> pd.DataFrame:
    """All conditions on the official questions that have both paragraphs and a tree: `played`, and the benchmark.

    Raises MissingData without the questions or the trees, DamagedData if a file is damaged.
    """
    parts = [played(setup, playable(setup), seeds).assign(benchmark=name) for name, setup in SETUPS.items()]
    return pd.concat(parts, ignore_index=True)


def playable(setup: Setup) -> dict[str, Tree]:
    """Task id -> tree, for the questions that have one. Raises MissingData, DamagedData."""
    released = trees(official_data() / official.NAME, setup.dataset)
    return matched(released, [setup.world().hidden(task) for task in setup.world().tasks(setup.split)])


def played(setup: Setup, recorded: Mapping[str, Tree], seeds: int = SEEDS) -> pd.DataFrame:
    """Play the tasks that have a tree under all conditions; the placebo once per seed.

    The system's own choice is its final answer. The choice by paragraphs is the first of the recorded answers to the
    whole question, in Realize's order, that appears in a paragraph and not in the question; else the first.
    Columns: condition, task, em, f1, and for the loop unrecorded: whether it reached a sub-question that the recorded
    model was never asked, since the system went on with another answer.
    """
    rows = []
    for task, tree in recorded.items():
        question = setup.world().hidden(setup.world().named(task))
        choice = tree.root.chosen.text
        filtered = [*_standing(tree, question), *tree.root.answers, choice][0]
        for condition, answer in ((OWN, choice), (FILTERED, filtered)):
            rows.append({"condition": condition, "task": task, **judged(answer, question)._asdict()})
    full = {task: setup.episode(task, Ledger(TreeBackbone(tree))) for task, tree in recorded.items()}
    attempts = (attempt for trajectory in full.values() for attempt in trajectory.attempts)
    hops = [attempt for attempt in attempts if attempt.kind == HOP and attempt.action]
    certify = fmean(attempt.k > 0 for attempt in hops)  # the probability of the placebo's coin
    rows += [_line(FULL, setup, trajectory) for trajectory in full.values()]
    unchecked = replace(setup, settings=replace(setup.settings, validate=False))
    for task, tree in recorded.items():
        rows.append(_line(WITHOUT, setup, unchecked.episode(task, Ledger(TreeBackbone(tree)))))
        for seed in range(seeds):
            rows.append(_line(PLACEBO, setup, setup.episode(task, Ledger(TreeBackbone(tree, certify, seed)))))
    return pd.DataFrame(rows)


def _standing(tree: Tree, question: Question) -> list[str]:
    """The recorded answers to the whole question that appear in a paragraph and not in the question."""
    paragraphs = [f"{title} {text}" for title, text in question.paragraphs]
    candidates = (answer for answer in tree.root.answers if not says(question.task.goal, answer))
    return [answer for answer in candidates if any(says(text, answer) for text in paragraphs)]


def _line(condition: str, setup: Setup, trajectory: Trajectory) -> dict[str, Any]:
    result, unrecorded = setup.result(trajectory), any(UNRECORDED in attempt.reason for attempt in trajectory.attempts)
    scores = {"em": result["em"], "f1": result["f1"]}
    return {"condition": condition, "task": trajectory.task, **scores, "unrecorded": float(unrecorded)}


def rows(played: pd.DataFrame) -> pd.DataFrame:
    """Table 5's metrics of `episodes`, in percent, as a results table, with the system's own answers to all questions.

    The placebo's exact match is a mean over its seeds for each question, not a rate.
    """
    rows = []
    for name, setup in SETUPS.items():
        own_answers = [
            judged(
                tree.root.chosen.text, Question(HopTask("", tree.question, setup.dataset), tree.gold[0], tree.gold[1:])
            )
            for tree in trees(official_data() / official.NAME, setup.dataset)
            if tree.gold
        ]
        groups = played[played["benchmark"] == name].groupby("condition", sort=False)
        scores = {str(condition): group.groupby("task")[["em", "f1"]].mean() for condition, group in groups}
        for condition, score in {EVERY: pd.DataFrame(own_answers), **scores}.items():
            em = (condition, BACKBONE, f"{name} EM")
            rate = tables.rate_row(*em, int(score["em"].sum()), len(score), source=SOURCE)
            rows.append(tables.mean_row(*em, 100 * score["em"], source=SOURCE) if condition == PLACEBO else rate)
            rows.append(tables.mean_row(condition, BACKBONE, f"{name} F1", 100 * score["f1"], source=SOURCE))
    return tables.table(row | {"data": OFFICIAL["data"]} for row in rows)


def comparisons(played: pd.DataFrame) -> pd.DataFrame:
    """Exact match of the full loop minus that of each other condition, paired by question, in points.

    gained, lost: questions that only the full loop, or only the other condition, answered; for the placebo, more often.
    p: exact McNemar's; for the placebo, whose scores are means over seeds, a sign-flip test's. p (Holm): over all rows.
    """
    pairs = []
    for name, rows in played.groupby("benchmark", sort=False):
        groups = rows.groupby("condition", sort=False)
        scores = {condition: group.groupby("task")["em"].mean().to_dict() for condition, group in groups}
        full = scores.pop(FULL)
        pairs += [
            ({"benchmark": name, "compared": f"{FULL} − {condition}"}, full, other)
            for condition, other in scores.items()
        ]
    table = paired(pairs)[["benchmark", "compared", *OF_PAIRS, "p (Holm)"]]
    return table.assign(data=OFFICIAL["data"], evidence="measured", backbone=BACKBONE)


def reach() -> pd.DataFrame:
    """Numbers of trees, of official questions with all their paragraphs, and of questions with both."""
    rows = []
    for name, setup in SETUPS.items():
        released = trees(official_data() / official.NAME, setup.dataset)
        hops = [hop for tree in playable(setup).values() for hop in tree.hops]
        rows.append({
            "benchmark": name,
            "trees": len(released),
            "with a known answer": sum(bool(tree.gold) for tree in released),
            "questions with paragraphs": len(setup.world().tasks(setup.split)),
            "with a tree": len(playable(setup)),
            "sub-questions": len(hops),
            "with two answers or more": sum(len(hop.answers) > 1 for hop in hops),
            "the first is the system's choice": sum(hop.answers[:1] == (hop.chosen.text.strip(),) for hop in hops),
        })  # fmt: skip
    return pd.DataFrame(rows)
