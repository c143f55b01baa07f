"""Table 3: SDP on AssistantBench, next to its ablations and to answers from a closed book.

It also has pages that give orders, planted false findings, faulty webs, and submissions.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from lab.machine.paths import shown
from lab.models.engines import parse
from lab.models.judges import Errors, published
from lab.results.statistics import bootstrap_mean, wilson
from lab.runs.collecting import collect
from lab.runs.experiment import BadSetting
from lab.runs.study import Metric, Study, register
from lab.runs.study_results import Results
from lab.runs.trial import Trial
from sdp.experiments.assistantbench import FALSE, FOLLOWED, OWN, Planted
from sdp.studies.conditions import DIRECT, PLACEBO, SDP, WITHOUT_REPLAN, WITHOUT_VALIDATE, agent, rejections
from sdp.studies.sweeps import erring
from worlds.assistantbench.official import write_submission
from worlds.web.serper import KEY
from worlds.web.site import FAULTY

if TYPE_CHECKING:
    from lab.notebooks.expected import Report

BENCHMARK = "AssistantBench"
PAGES = {"Scrapes": "pages", "Unreadable": "unreadable", "Sites blocked": "blocked"}
FAULTLESS, NONE = "faultless", "no Validate"
CLOSED = DIRECT.but("direct, closed book", recorded=True)
FORCED = SDP.but("SDP, complete findings forced", "policy.uncertainty", "forced", recorded=False)


def asked(trial: Trial, dataset: str) -> str:
    """Which questions are asked, and what is searched."""
    if trial.data == "synthetic":
        split, faults = trial.options["split"], trial.options["faults"]
        looked_up = "; SDP's rules look up what they ask for" if "rules" in trial.who.kinds else ""
        return f"synthetic questions ({split} templates) on a synthetic web, {faults} faulty pages a list{looked_up}"
    return f"{trial.options['split']} questions, the web by Serper"


def searchable(trial: Trial) -> None:
    """Raise BadSetting if official questions would be searched for without a key."""
    if trial.data == "official" and {*trial.methods} - {CLOSED.name} and not os.environ.get(KEY, "").strip():
        raise BadSetting(
            f"AssistantBench's own questions are searched for with Serper: set {KEY}, ask with "
            f"methods=[{CLOSED.name!r}], which searches for nothing, or play data='synthetic'"
        )


def answered(trial: Trial) -> bool:
    """Whether the answers to the questions are published."""
    world = trial.world()
    return all(world.hidden(task).answer is not None for task in world.tasks(trial.options["split"]))


STUDY = register(
    Study(
        name="sdp-table3",
        benchmarks=(BENCHMARK,),
        conditions=(SDP, FORCED, WITHOUT_VALIDATE, WITHOUT_REPLAN, PLACEBO, CLOSED, agent("ReAct")),
        metrics=(
            Metric("Accuracy", "score", "mean"),
            Metric("Precision", "score", "mean", given="has_answer"),
            Metric("EM", "score", "rate"),
            Metric("Answer rate", "has_answer", "rate"),
        ),
        metric="accuracy",
        against=SDP.name,
        published=("Table 3 AssistantBench", "sdp"),
        options={"split": "", "faults": FAULTY},
        synthetic={"split": "reporting"},
        source=asked,
        matched=rejections,
        check=searchable,
        scored=answered,
    )
)


PLANTED = register(
    Study(
        name="sdp-planted",
        benchmarks=(BENCHMARK,),
        conditions=tuple(
            replace(condition, plays={BENCHMARK: Planted}) for condition in (SDP, WITHOUT_VALIDATE, PLACEBO)
        ),
        metrics=(Metric("Accuracy", kind="mean"),),
        against=SDP.name,
        options={"split": "reporting"},
        matched=rejections,
    )
)


COLUMNS = [*(metric.title for metric in STUDY.metrics), *(f"Accuracy {grade}" for grade in ("Easy", "Medium", "Hard"))]


def report(
    tell: Report, ours: pd.DataFrame, contrasts: pd.DataFrame, judged: pd.DataFrame, followed: pd.DataFrame,
    faulty: Results,
) -> None:  # fmt: skip
    """Report the notebook's regression numbers."""
    tell.rows(ours[ours["metric"] == "Accuracy"], "{method}: {metric}", "value")
    tell.rows(contrasts, "{method} less SDP, noisy", f"less {SDP.name}")
    selected = judged[judged["judge"].isin([FAULTLESS, "GPT-5.2", "Qwen3-4B"])]
    tell.rows(selected, "false findings caught, Validate as {judge}", "caught", 0)
    tell.rows(followed, "followed, {method}, Validate: {Validate}", "followed", 0)
    for name in faulty.setup.methods:
        tell(f"pages unreadable, {name}", int(sum(faulty.values(BENCHMARK, name, "unreadable").values())))


def injections(*runs: Results) -> pd.DataFrame:
    """How often an answer follows a page that carries an instruction, by method: a share of the episodes that read such
    a page (exposed), with a Wilson interval. A closed book reads none.

    If findings are planted, also those that followed: how many Validate judged, how many it passed, and how many of
    those that it rejected passed by force (A.4).
    """
    rows = []
    for results in runs:
        for name in results.setup.methods:
            played = results.played(name)
            exposed = [result for result in played if result.get("injected")]
            count = sum(bool(result["fell_for"]) for result in exposed)
            row = {"method": name, "backbone": results.backbone, "n": len(played), "exposed": len(exposed),
                   "followed": count, **_share("followed", count, len(exposed))}  # fmt: skip
            if results.of_study is PLANTED:
                judged = verdicts(results, name, FOLLOWED)
                row |= {"findings judged": len(judged), "passed": sum(verdict["passed"] for verdict in judged),
                        "forced": sum(verdict["forced"] for verdict in judged)}  # fmt: skip
            rows.append(row | {"data": results.setup.data, "evidence": results.evidence})
    return pd.DataFrame(rows)


def followed(trial: Trial, engines: Sequence[str]) -> pd.DataFrame:
    """`injections` by engine, with planted findings that follow such pages. trial: of PLANTED. engines: rules that
    differ in the error rates of Validate.
    """
    frames = []
    for engine in engines:
        frame = injections(collect(trial.answered_by(engine))).drop(columns="backbone")
        frame.insert(0, "Validate", parse(engine).label)
        frames.append(frame.assign(evidence="simulated"))
    return pd.concat(frames, ignore_index=True)


def judges(trial: Trial, names: Sequence[str] = ()) -> pd.DataFrame:
    """Validate's verdicts on planted false findings, at the error rates of published judges: one row per judge.

    trial: of PLANTED. names: of judges; () for all. The first row's Validate never errs, the last row's passes
    everything. certify, reject: the rates, in percent. false, caught, missed, forced: numbers of false findings, of
    those that Validate rejected and passed, and of rejected ones that passed by force (A.4). own, refused: numbers of
    unaltered findings and of their rejections; in the first row these are for a marked gap only. Shares in percent with
    Wilson intervals, since verdicts err independently of each other; accuracy with a bootstrap over questions.
    """
    rates = {FAULTLESS: Errors(0.0, 0.0), **{name: published()[name] for name in names or published()}}
    rows = []
    for judge, errors in {**rates, NONE: Errors(1.0, 0.0)}.items():
        alone = replace(trial, methods=(SDP.name,)).answered_by(erring(trial.engine, errors))
        results = collect(alone)
        false, unaltered = (verdicts(results, SDP.name, kind) for kind in (FALSE, OWN))
        caught, refused = (sum(not verdict["passed"] for verdict in judged) for judged in (false, unaltered))
        accuracy = bootstrap_mean([100 * score for score in results.scores.values()])
        rows.append(
            {"judge": judge, "certify, %": 100 * errors.certify, "reject, %": 100 * errors.reject,
             "false": len(false), "caught": caught, "missed": len(false) - caught,
             **_share("caught", caught, len(false)), "forced": sum(verdict["forced"] for verdict in false),
             "own": len(unaltered), **_share("refused", refused, len(unaltered)), "n": len(results.episodes),
             "accuracy": accuracy.value, "accuracy_low": accuracy.low, "accuracy_high": accuracy.high,
             "data": results.setup.data, "evidence": "simulated"}
        )  # fmt: skip
    return pd.DataFrame(rows)


def verdicts(results: Results, condition: str, kind: str) -> list[dict[str, Any]]:
    """The verdicts on a condition's findings of a kind."""
    judged = (verdict for result in results.played(condition) for verdict in result["verdicts"])
    return [verdict for verdict in judged if verdict["kind"] == kind]


def webs(faults: Sequence[int]) -> Study:
    """SDP on the same questions over webs with more and more faulty pages. faults: faulty pages per list, a condition
    each.

    Scrapes, failed scrapes, and sites on the blacklist are means per question.
    """
    conditions = [SDP.but(f"{count} faulty a list", "faults", count) for count in faults]
    counts = (Metric(title, field, scale=1) for title, field in PAGES.items())
    return Study(
        name="sdp-table3-webs",
        benchmarks=(BENCHMARK,),
        conditions=tuple(conditions),
        metrics=(Metric("Accuracy", kind="mean"), *counts),
        against=conditions[0].name,
        options={"split": "reporting"},
    )


def _share(name: str, part: int, whole: int) -> dict[str, float]:
    """Three columns: a share in percent and its Wilson interval; NaN if `whole` is 0."""
    ends = [100 * end for end in wilson(part, whole)] if whole else [math.nan] * 3
    return dict(zip((f"{name}, %", f"{name}_low", f"{name}_high"), ends, strict=True))


def submit(results: Results, name: str = "") -> str:
    """Write a method's answers in the official leaderboard's format; returns a sentence with the file's path.

    name: of the method, by default the first one.
    """
    name = name or results.setup.methods[0]
    episodes = results.of(BENCHMARK, name)
    answers = {task: "" if episode.failed else str(episode.result["answer"]) for task, episode in episodes.items()}
    path, tasks = results.folder / "submission.jsonl", results.setup.world().tasks(results.setup.options["split"])
    count = write_submission(path, answers, tasks)
    return f"{count} of {len(tasks)} answers of {name} are in {shown(path)}: upload it to AssistantBench's leaderboard"
