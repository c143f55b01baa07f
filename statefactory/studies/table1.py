"""Table 1's zero-shot rows: StateFactory, the judges and the monotonic baseline on RewardPrediction's pairs (§4.1).

Tables 13 to 16 use the same runs: a level of structure is a condition, and other embeddings, conventions or goals
score the same answers (`results.frame(scoring=…)`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from lab.results import tables
from lab.runs.study import Condition, Study, register
from lab.runs.study_results import Results
from statefactory.benchmark import DOMAINS
from statefactory.benchmark.domains import BY_NAME
from statefactory.experiments import scores
from statefactory.experiments.predictions import EXTRACTIONS, PredictionExperiment
from statefactory.experiments.scoring import STANDARD, Scoring
from statefactory.predictors import METHODS, Method, fixed
from statefactory.predictors.baselines import Monotonic

SLICE = 6  # synthetic pairs per domain by default, since embedding all of them takes minutes
ABLATIONS = tuple(title for name, (title, _) in EXTRACTIONS.items() if name != "statefactory")


def predicting(method: Method, name: str = "") -> Condition:
    """A predictor as a condition, by default named by its title. Table 13's other levels run only if requested."""
    plays = {domain: partial(PredictionExperiment, domain=domain, predictor=method) for domain in DOMAINS}
    extra = method.title in ABLATIONS and not name
    return Condition(name or method.title, plays, extra=extra, recorded=not extra)


MONOTONIC = predicting(Method("Monotonic", fixed(Monotonic())))
STATEFACTORY = predicting(METHODS["statefactory"])
FRAGMENTS = STATEFACTORY.but("StateFactory, values as fragments", "values", "fragments", extra=True, recorded=False)


def study() -> Study:
    """Table 1 with all predictors registered so far (`statefactory.predictors.register`)."""
    return register(
        Study(
            name="statefactory-table1",
            benchmarks=DOMAINS,
            conditions=(MONOTONIC, *map(predicting, METHODS.values()), FRAGMENTS),
            metrics=(),
            metric="EPIC distance",
            against=STATEFACTORY.name,
            published=("Table 1", "statefactory"),
            options={"values": "sentences", "reasoning": "short", "shortest": False, "held_out": False},
            limits={"synthetic": dict.fromkeys(DOMAINS, SLICE)},
            rows=distances,
            label=label,
            headline="EPIC distance, {benchmark}",
            titles={name: domain.title for name, domain in BY_NAME.items()},
            scale=1,
            lower=True,
            packages=("lab", "worlds", "statefactory"),
        )
    )


def distances(
    results: Results, domain: str, condition: str, scoring: Scoring = STANDARD, names: Mapping[str, str] | None = None
) -> Iterator[tables.Row]:
    """A condition's mean EPIC distance in a domain, and after the last of all five domains Overall.

    names: condition -> its name in rows; other conditions give no rows. By default all, with their labels. An oracle's
    goal makes a row simulated.
    """
    if condition not in (names or {condition}):
        return
    played = results.setup.datasets
    last = {*played} == {*DOMAINS} and domain == played[-1]
    chosen = played if last else (domain,)
    asks = results.setup.part(domain, condition).operators()
    evidence = results.who.among(asks).evidence if asks else "measured"
    rows = scores.rows(
        names[condition] if names else results.of_study.label(results, condition),
        results.backbone_of(domain, condition) if asks else "none",
        {name: results.part(name, condition).distances(scoring) for name in chosen},
        f"this run, {results.setup.data} data",
        evidence if scoring.goal == "online" else "simulated",
        {name: results.outcomes_of(name, condition) for name in chosen},
        {name: results.part(name, condition).flags(scoring) for name in chosen},
    )
    yield from (row for row in rows if row["metric"] in (scores.metric(domain), scores.OVERALL))


def label(results: Results, condition: str) -> str:
    """The condition's name, marked if rules extracted its states."""
    asks = results.setup.part(results.setup.datasets[0], condition).operators()
    return f"{condition}, rule-extracted" if asks and results.who.among(asks).by_rules else condition


STUDY = study()
