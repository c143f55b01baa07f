"""What Table 3's notebook shows besides scores: the loop's steps, pages that give orders, faulty webs, submissions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lab.machine.paths import shown
from lab.models.judges import Errors, published
from lab.results import tables
from lab.results.statistics import Interval, bootstrap_mean, compare, wilson
from lab.runs.collecting import collect
from lab.runs.conditions import Metric
from lab.runs.study import Study, Trial, register
from lab.runs.study_results import Results
from sdp import anatomy
from sdp.experiments import planted
from sdp.experiments.planted import FALSE, FOLLOWED, OWN
from sdp.studies.conditions import PLACEBO, SDP, WITHOUT_VALIDATE, about, loops, rejections, trajectories
from sdp.studies.sweeps import erring
from sdp.studies.table3 import BENCHMARK, STUDY
from worlds.assistantbench.submission import write_submission

if TYPE_CHECKING:
    import pandas as pd

REJECTED = "certified steps with >=1 rejection-and-retry"
FAULTLESS, NONE = "faultless", "no Validate"
PLANTED = register(
    Study(
        name="sdp-planted",
        benchmarks=(BENCHMARK,),
        conditions=tuple(
            replace(condition, plays={BENCHMARK: planted.Setup}) for condition in (SDP, WITHOUT_VALIDATE, PLACEBO)
        ),
        metrics=(Metric("Accuracy", kind="mean"),),
        against=SDP.name,
        options={"split": "reporting"},
        matched=rejections,
    )
)


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

    Where findings are planted, also those that followed: how many Validate judged, how many it passed, and how many of
    those that it refused passed by force (A.4).
    """
    import pandas as pd

    lines = []
    for results in runs:
        for name in results.setup.methods:
            played = results.played(name)
            exposed = [result for result in played if result.get("injected")]
            count = sum(bool(result["fell_for"]) for result in exposed)
            line = {"method": name, "backbone": results.backbone, "n": len(played), "exposed": len(exposed),
                    "followed": count, **_share("followed", count, len(exposed))}  # fmt: skip
            if results.of_study is PLANTED:
                taken = verdicts(results, name, FOLLOWED)
                line |= {"findings judged": len(taken), "passed": sum(verdict["passed"] for verdict in taken),
                         "forced": sum(verdict["forced"] for verdict in taken)}  # fmt: skip
            lines.append(line | {"data": results.setup.data, "evidence": results.evidence})
    return pd.DataFrame(lines)


def followed(trial: Trial, engines: Sequence[str], workers: int = 0, cluster: str = "") -> pd.DataFrame:
    """`injections` where findings follow such pages, by engine. trial: of PLANTED. engines: rules that differ in the
    rates of Validate.
    """
    import pandas as pd

    frames = []
    for engine in engines:
        frame = injections(collect(trial.answered_by(engine), workers, cluster))
        frames.append(frame.rename(columns={"backbone": "Validate"}).assign(Validate=engine, evidence="simulated"))
    return pd.concat(frames, ignore_index=True)


def judges(trial: Trial, names: Sequence[str] = (), workers: int = 0, cluster: str = "") -> pd.DataFrame:
    """What Validate makes of planted false findings, at the error rates of published judges: a row a judge.

    trial: of PLANTED. names: of judges; all for none. The first row's Validate never errs, and the last one's lets all
    pass. certify, reject: the rates, in percent. false, caught, missed, forced: verdicts on false findings, on how many
    Validate was right and wrong, and how many of those that were caught passed by force (A.4). own, refused: verdicts
    on findings that were left alone, and how many were refused, in the first row for a marked gap alone. Shares in
    percent with Wilson intervals, since each verdict errs independently of others; accuracy with a bootstrap over
    questions.
    """
    import pandas as pd

    rates = {FAULTLESS: Errors(0.0, 0.0), **{name: published()[name] for name in names or published()}}
    lines = []
    for judge, errors in {**rates, NONE: Errors(1.0, 0.0)}.items():
        alone = replace(trial, methods=(SDP.name,)).answered_by(erring(trial.engine, errors))
        results = collect(alone, workers, cluster)
        false, own = (verdicts(results, SDP.name, kind) for kind in (FALSE, OWN))
        caught, refused = (sum(not verdict["passed"] for verdict in some) for some in (false, own))
        lines.append(
            {"judge": judge, "certify, %": 100 * errors.certify, "reject, %": 100 * errors.reject,
             "false": len(false), "caught": caught, "missed": len(false) - caught,
             **_share("caught", caught, len(false)), "forced": sum(verdict["forced"] for verdict in false),
             "own": len(own), **_share("refused", refused, len(own)), "n": len(results.episodes),
             **_accuracy(results), "data": results.setup.data, "evidence": "simulated"}
        )  # fmt: skip
    return pd.DataFrame(lines)


def verdicts(results: Results, condition: str, kind: str) -> list[dict[str, Any]]:
    """The verdicts on a condition's findings of a kind."""
    noted = (verdict for result in results.played(condition) for verdict in result["verdicts"])
    return [verdict for verdict in noted if verdict["kind"] == kind]


def webs(trial: Trial, faults: Sequence[int], workers: int = 0, cluster: str = "") -> pd.DataFrame:
    """SDP on the same questions over webs with more and more faulty pages: a row a number of them beside each list.

    ended: episodes that ran to their end; failed, not measured: those that did not. unreadable: scrapes that failed, of
    all. blocked: sites on the blacklist, in all episodes. less: accuracy in points less that on the first web, paired.
    """
    import pandas as pd

    lines, first = [], None
    for count in faults:
        alone = replace(trial, methods=(SDP.name,), options={**trial.options, "faults": count})
        results = collect(alone, workers, cluster)
        first = first or results
        played, outcomes = results.played(SDP.name), results.outcomes()
        less = compare(results.scores, first.scores)
        sums = {name: sum(result[name] for result in played) for name in ("pages", "unreadable", "blocked")}
        lines.append(
            {"faulty pages a list": count, "n": outcomes.n, "ended": len(played), "failed": outcomes.failed,
             "not measured": outcomes.not_measured, "scrapes": sums.pop("pages"), **sums, **_accuracy(results),
             f"less {faults[0]}": 100 * less.difference.value, "p (permutation)": less.p_value,
             **about(results)}
        )  # fmt: skip
    return pd.DataFrame(lines)


def _accuracy(results: Results) -> dict[str, float]:
    """Three columns: the mean score of all episodes in percent and its bootstrap interval."""
    mean = bootstrap_mean([100 * score for score in results.scores.values()])
    return dict(zip(("accuracy", "accuracy_low", "accuracy_high"), mean, strict=True))


def _share(name: str, part: int, whole: int) -> dict[str, float]:
    """Three columns: a share in percent and its Wilson interval; NaN of nothing."""
    ends = [100 * end for end in wilson(part, whole)] if whole else [math.nan] * 3
    return dict(zip((f"{name}, %", f"{name}_low", f"{name}_high"), ends, strict=True))


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
