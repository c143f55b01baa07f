"""SDP's loop over the question trees that ProbTree recorded (Cao et al. 2023): Table 5 from a real model's words.

No model is asked. Propose and Realize are what a model once answered at temperature 0: text-davinci-003, the default of
the program that asked the sub-questions (the program that made them was not seen). Validate is the string certificate
of `sdp.adapters.multihop.trees`. The recorded model read paragraphs that the system retrieved from large corpora.
Validate reads the ten or twenty that the benchmark gives with a question, which have its answer: it knows more than the
system did, so a gain over the system's own choice may be one of this evidence. What the loop adds to it, the row
"chosen by paragraphs" tells, where the same paragraphs choose among the answers to the whole question; and what
certifying adds to trying again, the placebo's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lab.machine.paths import official_data
from lab.models.backbone import Ledger
from lab.results import tables
from lab.results.statistics import compare, holm
from sdp.adapters.multihop.adapter import HOP, Policy
from sdp.adapters.multihop.trees import UNRECORDED, TreeBackbone, says
from sdp.experiments.multihop import HotpotQA, MuSiQue, Setup
from worlds.multihop import HopTask, Question, official
from worlds.multihop.metrics import judged
from worlds.multihop.trees import Tree, file_of, matched, trees

if TYPE_CHECKING:
    import pandas as pd

BACKBONE = "ProbTree's recorded model, text-davinci-003 by its program"
OWN, FULL = "ProbTree's own choice", "SDP on ProbTree's trees"
WITHOUT, PLACEBO = f"{FULL}, -Validate", f"{FULL}, placebo Validate"
FILTERED = "ProbTree's answers, chosen by paragraphs"
EVERY = f"{OWN}, all questions with a known answer"
SOURCE = "this run, ProbTree's released trees"
SEEDS = 10
OFFICIAL: dict[str, Any] = {"data": "official", "split": "annotated_full", "engine": "rules"}
# As many hops as the tree has: neither A.5's two nor the number in an id is that of every tree.
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

    Raises MissingData without the questions or the trees, DamagedData.
    """
    import pandas as pd

    parts = [played(setup, playable(setup), seeds).assign(benchmark=name) for name, setup in SETUPS.items()]
    return pd.concat(parts, ignore_index=True)


def playable(setup: Setup) -> dict[str, Tree]:
    """Task id -> tree. Raises MissingData, DamagedData."""
    found = trees(official_data() / official.NAME, setup.dataset)
    return matched(found, [setup.world().hidden(task) for task in setup.world().tasks(setup.split)])


def played(setup: Setup, found: Mapping[str, Tree], seeds: int = SEEDS) -> pd.DataFrame:
    """The tasks that have a tree, under all conditions; the placebo once for each seed.

    The system's own choice is its final answer. That by paragraphs is the first of the recorded answers to the whole
    question, in Realize's order, that stands in a paragraph and not in the question; else the first.
    Columns: condition, seed, task, em, f1 and, of the loop, attempts, tried and certified (those at hops that had an
    answer, and how many of them passed), replans, forced, and unrecorded: whether it came to a sub-question that the
    recorded model was never asked, since the system went on with another answer.
    """
    import pandas as pd

    lines = []
    for task, tree in found.items():
        question = setup.world().hidden(setup.world().named(task))
        shown = [f"{title} {text}" for title, text in question.paragraphs]
        standing = [
            answer
            for answer in tree.root.answers
            if any(says(text, answer) for text in shown) and not says(question.task.goal, answer)
        ]
        own = tree.root.chosen.text
        for condition, answer in ((OWN, own), (FILTERED, [*standing, *tree.root.answers, own][0])):
            lines.append({"condition": condition, "seed": 0, "task": task} | judged(answer, question)._asdict())
    full = _lines(FULL, setup, found)
    certify = sum(line["certified"] for line in full) / sum(line["tried"] for line in full)
    unchecked = replace(setup, settings=replace(setup.settings, validate=False))
    lines += [*full, *_lines(WITHOUT, unchecked, found)]
    for seed in range(seeds):
        lines += _lines(PLACEBO, setup, found, certify, seed)
    return pd.DataFrame(lines)


def rows(played: pd.DataFrame) -> pd.DataFrame:
    """Table 5's metrics of `episodes`, in percent, as a results table, with the system's own answers to all questions.

    The placebo's exact match is a mean over its seeds for each question, and no rate.
    """
    import pandas as pd

    found = []
    for name, setup in SETUPS.items():
        dataset, folder = setup.dataset, official_data() / official.NAME
        every = [
            judged(tree.root.chosen.text, Question(HopTask("", tree.question, dataset), tree.gold[0], tree.gold[1:]))
            for tree in trees(folder, dataset)
            if tree.gold
        ]
        groups = played[played["benchmark"] == name].groupby("condition", sort=False)
        scores = {str(how): of.groupby("task")[["em", "f1"]].mean() for how, of in groups}
        for how, of in {EVERY: pd.DataFrame(every), **scores}.items():
            em, f1 = (f"{name} {metric}" for metric in ("EM", "F1"))
            found += [
                tables.mean_row(how, BACKBONE, em, 100 * of["em"], source=SOURCE)
                if how == PLACEBO
                else tables.rate_row(how, BACKBONE, em, int(of["em"].sum()), len(of), source=SOURCE),
                tables.mean_row(how, BACKBONE, f1, 100 * of["f1"], source=SOURCE),
            ]
    return tables.table(row | {"data": OFFICIAL["data"]} for row in found)


def comparisons(played: pd.DataFrame) -> pd.DataFrame:
    """Exact match of the full loop against each other condition, question by question, in points.

    gained, lost: questions that only the full loop, and only the other one, answered; of the placebo, more often. p:
    exact McNemar's; of the placebo, whose scores are means over seeds, a sign-flip test's. p (Holm): for all rows.
    """
    import pandas as pd

    pairs = []
    for name, of in played.groupby("benchmark", sort=False):
        scores = {how: each.groupby("task")["em"].mean() for how, each in of.groupby("condition", sort=False)}
        full = scores.pop(FULL)
        pairs += [(name, how, compare(full.to_dict(), other.to_dict())) for how, other in scores.items()]
    adjusted = holm([c.p for *_, c in pairs])
    lines = [
        (name, f"{FULL} − {how}", c.n, *(100 * end for end in c.difference), c.wins, c.losses, c.p, p)
        for (name, how, c), p in zip(pairs, adjusted, strict=True)
    ]
    columns = ["benchmark", "compared", "n", "difference", "low", "high", "gained", "lost", "p", "p (Holm)"]
    about = {"data": OFFICIAL["data"], "evidence": "measured", "backbone": BACKBONE}
    return pd.DataFrame(lines, columns=columns).assign(**about)


def reach() -> pd.DataFrame:
    """How far the trees reach: of them, and of the official questions with all their paragraphs."""
    import pandas as pd

    lines = []
    for name, setup in SETUPS.items():
        found = trees(official_data() / official.NAME, setup.dataset)
        hops = [hop for tree in playable(setup).values() for hop in tree.hops]
        lines.append({
            "benchmark": name,
            "trees": len(found),
            "with a known answer": sum(bool(tree.gold) for tree in found),
            "questions with paragraphs": len(setup.world().tasks(setup.split)),
            "with a tree": len(playable(setup)),
            "sub-questions": len(hops),
            "with two answers or more": sum(len(hop.answers) > 1 for hop in hops),
            "the first is the system's choice": sum(hop.answers[:1] == (hop.chosen.text.strip(),) for hop in hops),
        })  # fmt: skip
    return pd.DataFrame(lines)


def _lines(
    condition: str, setup: Setup, found: Mapping[str, Tree], certify: float | None = None, seed: int = 0
) -> list[dict[str, Any]]:
    """An episode a task, as `played` has them."""
    lines = []
    for task, tree in found.items():
        trajectory = setup.episode(task, Ledger(TreeBackbone(tree, certify, seed)))
        result, attempts = setup.result(trajectory), trajectory.attempts
        hops = [attempt for attempt in attempts if attempt.kind == HOP and attempt.action]
        lines.append({
            "condition": condition, "seed": seed, "task": task, "em": result["em"], "f1": result["f1"],
            "attempts": len(attempts), "tried": len(hops), "certified": sum(attempt.k > 0 for attempt in hops),
            "replans": sum(not plan.fault for plan in trajectory.plans[1:]), "forced": float(result["forced"]),
            "unrecorded": float(any(UNRECORDED in attempt.reason for attempt in attempts)),
        })  # fmt: skip
    return lines
