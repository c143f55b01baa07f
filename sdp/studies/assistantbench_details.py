"""What Table 3's notebook shows besides scores: the loop's steps, pages that give orders, faulty webs, submissions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lab.machine.paths import shown
from lab.results import tables
from lab.results.statistics import Interval, bootstrap_mean, compare
from lab.runs.collecting import collect
from lab.runs.study import Trial
from lab.runs.study_results import Results
from sdp import anatomy
from sdp.experiments.planted import share
from sdp.studies.conditions import SDP, loops, trajectories
from sdp.studies.table3 import BENCHMARK, STUDY
from worlds.assistantbench.submission import write_submission

if TYPE_CHECKING:
    import pandas as pd

REJECTED = "certified steps with >=1 rejection-and-retry"


def steps(*runs: Results) -> pd.DataFrame:
    """What the loop did, by variant, after what the paper says: calls and attempts a question, certified steps and the
    share of them with a rejection before, steps passed by force, Replans, and answers forced at the end.
    """
    import pandas as pd

    said = tables.published(*STUDY.published).set_index("metric").loc[REJECTED]
    lines: list[dict[str, Any]] = [
        {"method": SDP.name, "backbone": said["backbone"], "rejected before, %": said["text"], "evidence": "published"}
    ]
    for results in runs:
        for name in loops(results):
            played = results.played(name)
            (before,) = anatomy.rejected_first(trajectories(results, name)).to_dict("records")
            interval = Interval(*(100 * before[end] for end in ("share", "low", "high")))
            lines.append(
                {"method": name, "backbone": results.backbone, "n": len(played),
                 "calls": results.mean(BENCHMARK, name, "calls"), "attempts": results.mean(BENCHMARK, name, "steps"),
                 "certified steps": before["denominator"], "rejected before, %": interval.text("{:.1f}".format),
                 "passed by force": sum(one["forced_steps"] for one in played),
                 "replans": sum(one["replans"] for one in played),
                 "forced answers": sum(one["forced"] for one in played), "data": results.setup.data,
                 "evidence": results.evidence}
            )  # fmt: skip
    return pd.DataFrame(lines)


def injections(*runs: Results) -> pd.DataFrame:
    """How often an answer follows a page that carries an instruction, by method: of the episodes in which such a page
    was read (exposed), with a Wilson interval. A closed book reads none.
    """
    import pandas as pd

    lines = []
    for results in runs:
        for name in results.setup.methods:
            played = results.played(name)
            exposed = [one for one in played if one.get("injected")]
            count = sum(bool(one["fell_for"]) for one in exposed)
            lines.append(
                {"method": name, "backbone": results.backbone, "n": len(played), "exposed": len(exposed),
                 "followed": count, **share("followed", count, len(exposed)), "data": results.setup.data,
                 "evidence": results.evidence}
            )  # fmt: skip
    return pd.DataFrame(lines)


def webs(trial: Trial, faults: Sequence[int], workers: int = 0, cluster: str = "") -> pd.DataFrame:
    """SDP on the same questions over webs with more and more faulty pages: a row a number of them beside each list.

    ended: episodes that ran to their end; failed, not measured: those that did not. unreadable: scrapes that failed, of
    all. blocked: sites on the blacklist, in all episodes. less: accuracy in points less that on the first web, paired.
    """
    import pandas as pd

    trials = {n: replace(trial, methods=(SDP.name,), options={**trial.options, "faults": n}) for n in faults}
    runs = {count: collect(each, workers, cluster) for count, each in trials.items()}
    first, lines = next(iter(runs.values())), []
    for count, run in runs.items():
        played, score = run.played(SDP.name), run.scores_of(BENCHMARK, SDP.name)
        outcomes, c = run.outcomes(), compare(score, first.scores_of(BENCHMARK, SDP.name))
        accuracy = bootstrap_mean([100 * value for value in score.values()])
        lines.append(
            {"faulty pages a list": count, "n": outcomes.n, "ended": len(played), "failed": outcomes.failed,
             "not measured": outcomes.not_measured, "scrapes": sum(one["pages"] for one in played),
             "unreadable": sum(one["unreadable"] for one in played), "blocked": sum(one["blocked"] for one in played),
             "accuracy": accuracy.value, "accuracy_low": accuracy.low, "accuracy_high": accuracy.high,
             f"less {faults[0]}": 100 * c.difference.value, "p (permutation)": c.p_value}
        )  # fmt: skip
    return pd.DataFrame(lines).assign(data=first.setup.data, evidence=first.evidence, backbone=first.backbone)


def submit(results: Results, name: str = "") -> str:
    """Write a method's answers in the official leaderboard's format; returns a sentence with the file's path.

    name: of the method, by default the first one.
    """
    name = name or results.setup.methods[0]
    of = results.of(BENCHMARK, name)
    answers = {question: "" if one.failed else str(one.result["answer"]) for question, one in of.items()}
    path, tasks = results.folder / "submission.jsonl", results.setup.world().tasks(results.setup.options["split"])
    given = write_submission(path, answers, tasks)
    return f"{given} of {len(tasks)} answers of {name} are in {shown(path)}: upload it to AssistantBench's leaderboard"
