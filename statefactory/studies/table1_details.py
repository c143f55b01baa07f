"""Details of Table 1: other readings of the paper, paired contrasts, and the pairs with the largest distances."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from lab.models import engines
from lab.notebooks.expected import Report
from lab.results.outcomes import Score, paired
from lab.results.statistics import holm
from lab.runs.study import Study
from lab.runs.study_results import Results
from statefactory.benchmark.domains import title
from statefactory.epic import epic_distances
from statefactory.experiments import scores
from statefactory.experiments.scoring import STANDARD, Prediction, Scoring
from statefactory.routing import OFFICIAL, PAPER
from statefactory.studies.table1 import FRAGMENTS, MONOTONIC, STATEFACTORY, label

OURS = STATEFACTORY.name
VALUES = {OURS: "values as sentences", FRAGMENTS.name: "values as fragments"}  # the paper's form first
CONVENTIONS = {"the paper's equations": PAPER, "the official program": OFFICIAL}
# Titles of `statefactory.experiments.scoring.WORDINGS`.
WORDINGS = {
    "observed": "the observation's words: on top of the blue block",
    "short": "shortened: on blue block",
    "searched": "searched among 150: red on blue",
}
COLUMNS = ["compared", "difference", "ci_low", "ci_high", "first farther", "second farther", "p", "p (Holm)", "n"]


def both_forms(study: Study, engine: str, **asked: Any) -> Results:
    """StateFactory with values as sentences and as fragments, extracted by rules.

    An engine other than rules is replaced by `rules`, since a model would have to answer all prompts again. asked:
    arguments of `Study.run`.
    """
    by_rules = engines.parse(engine).by_rules
    return study.run(engine=engine if by_rules else "rules", conditions=[*VALUES], **asked)


def accounts(results: Results) -> pd.DataFrame:
    """Counts of pairs, outcomes and malformed answers per condition."""
    rows = []
    for condition in results.setup.methods:
        domains = [name for name in results.setup.datasets if condition in results.setup.methods_of(name)]
        outcomes = [results.outcomes_of(domain, condition) for domain in domains]
        malformed = sum(sum(results.values(domain, condition, "malformed").values()) for domain in domains)
        rows.append(
            {"method": condition, "pairs": sum(outcome.n for outcome in outcomes),
             "failed": sum(outcome.failed for outcome in outcomes),
             "not measured": sum(outcome.not_measured for outcome in outcomes), "malformed": int(malformed)}
        )  # fmt: skip
    return pd.DataFrame(rows)


def variants(results: Results) -> pd.DataFrame:
    """StateFactory's rows for all readings of the paper: conventions of routing, values as sentences or fragments."""
    ways = {title: replace(STANDARD, convention=convention) for title, convention in CONVENTIONS.items()}
    return scored(results, ways, {condition: f"{values}, {{}}" for condition, values in VALUES.items()})


def wordings(results: Results) -> pd.DataFrame:
    """BlocksWorld's distance with each wording of positions."""
    ways = {title: replace(STANDARD, wording=wording) for wording, title in WORDINGS.items()}
    rows = scored(results, ways, {condition: f"{{}}, {values}" for condition, values in VALUES.items()})
    return rows[rows["metric"] == scores.metric("blocksworld")].reset_index(drop=True)


def without_focus(results: Results) -> pd.DataFrame:
    """ScienceWorld with and without the milestones "focus on", which tasks state and random play rarely reaches."""
    ignored = {"with its focus milestones": (), "without them": ("focus",)}
    ways = {title: replace(STANDARD, ignored=names) for title, names in ignored.items()}
    rows = scored(results, ways, {OURS: "{}"})
    return rows[rows["metric"] == scores.metric("scienceworld")].reset_index(drop=True)


def scored(results: Results, ways: Mapping[str, Scoring], names: Mapping[str, str]) -> pd.DataFrame:
    """The rows of each scoring. ways: title -> scoring. names: condition -> name in rows, "{}" for the title."""
    frames = [
        results.frame(scoring=way, names={condition: name.format(title) for condition, name in names.items()})
        for title, way in ways.items()
    ]
    return pd.concat(frames, ignore_index=True)


def contrasts(runs: Iterable[Results]) -> pd.DataFrame:
    """Paired differences of overall EPIC distance: StateFactory minus each other text-based predictor.

    Negative if StateFactory is better. p (Holm): corrected for all rows.
    """
    comparisons = []
    for run in (run for run in runs if OURS in run.setup.methods):
        others = [name for name in run.setup.methods if name not in (OURS, MONOTONIC.name)]
        comparisons += [
            (run, name, paired(*(_distances(run, condition) for condition in (OURS, name)))) for name in others
        ]
    rows = []
    for (run, name, result), p in zip(comparisons, holm([result.p for *_, result in comparisons]), strict=True):
        numbers = (*result.difference, result.wins, result.losses, result.p, p, result.n)
        rows.append((f"{label(run, OURS)} − {label(run, name)}", *numbers, run.evidence, run.backbone))
    return pd.DataFrame(rows, columns=[*COLUMNS, "evidence", "backbone"])


def _distances(run: Results, condition: str) -> list[Score]:
    """The distance of each pair of a condition, in the stratum of its domain: domains weigh the same, as in Overall."""
    return [
        Score(f"{domain}/{task}", float(distance), stratum=domain)
        for domain in run.setup.datasets
        for part in [run.part(domain, condition)]
        for task, distance in zip(part.episodes, part.distances(), strict=True)
    ]


def costliest(results: Results, condition: str, most: int = 5) -> pd.DataFrame:
    """The pairs with the largest distances in each domain, with numbers that help to diagnose them.

    rises: Pearson's rho within the positive, how well the reward follows progress. positive, negative: mean rewards,
    which should be near the mean truth and near 0. end: reward at the positive's last expert step, which should be 1.
    """
    frames = []
    for domain in results.setup.datasets:
        part = results.part(domain, condition)
        rewards = part.rewards()
        records = [
            {
                "domain": title(domain),
                "task": prediction.pair.task,
                "distance": distance,
                **_about(prediction, pair_rewards),
            }
            for prediction, pair_rewards, distance in zip(part.predictions, rewards, part.distances(), strict=True)
        ]
        frames.append(pd.DataFrame(records).sort_values(["distance", "task"], ascending=[False, True]).head(most))
    rows = results.frame().set_index("method").loc[label(results, condition)]
    return pd.concat(frames, ignore_index=True).assign(
        backbone=rows["backbone"].iloc[0], evidence=rows["evidence"].iloc[0]
    )


def _about(prediction: Prediction, rewards: np.ndarray) -> Mapping[str, float]:
    row = prediction.pair.positive
    steps = row.trajectory
    positive, negative = rewards[: len(steps)], rewards[len(steps) :]
    expert = [number for number, step in enumerate(steps) if step.reward.is_expert]
    rho = 1 - 2 * epic_distances([positive], [row.shaped])[0] ** 2
    return {
        "steps": len(steps), "rises": rho, "positive": positive.mean(), "truth": sum(row.shaped) / len(steps),
        "negative": negative.mean(), "end": positive[expert[-1]] if expert else positive[-1],
    }  # fmt: skip


def report(report: Report, measured: pd.DataFrame, replayed: Iterable[pd.DataFrame]) -> None:
    """Report StateFactory's distances in this run, and all methods' overall distances in recordings."""
    ours = measured[measured["method"].str.startswith(OURS)].set_index("metric")["value"]
    for name in scores.metrics():
        title = name.removeprefix(scores.METRIC.format(""))
        report(f"{OURS}, {title}", round(ours[name], 3) if name in ours else None)
    for frame in replayed:
        rows = frame[frame["metric"] == scores.OVERALL].drop(columns="data")
        report.rows(rows, "{method}, {backbone}", "value", 3)
