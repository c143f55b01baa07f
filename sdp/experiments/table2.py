"""Table 2: SDP on TravelPlanner, beside the paper's numbers; readings of A.2, denominators, failures, costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from agents.experiments.travelplanner import first_failure
from lab.results import tables
from lab.results.exports import readable
from lab.results.statistics import compare, smallest_difference
from lab.results.verdicts import FEWEST
from lab.runs import collecting, recordings
from lab.runs.collecting import collect
from sdp.adapters.travelplanner.adapter import Policy
from sdp.experiments.travelplanner import Results, Setup
from worlds.travelplanner.rates import Denominators

if TYPE_CHECKING:
    import pandas as pd

METRICS = {
    "delivery": "Delivery Rate",
    "commonsense_micro": "Commonsense Micro",
    "commonsense_macro": "Commonsense Macro",
    "hard_micro": "Hard Constraint Micro",
    "hard_macro": "Hard Constraint Macro",
    "final": "Final Pass Rate",
}
# What A.2 leaves open, or says twice; the first two are the readings of its meal predicate.
READINGS = (
    Policy(every_meal=True),
    Policy(),
    Policy(every_meal=True, cities="propose"),
    Policy(cities="propose"),
    Policy(every_meal=True, order="numbered"),
    Policy(order="numbered"),
    Policy(every_meal=True, keep_back=True),
)
MAIN = "validation, medium and hard"
# The easy queries stand apart, because the official flight table at hand is incomplete for some of them.
SAMPLES = {
    MAIN: ("validation", ("medium", "hard")),
    "train": ("train", ("easy", "medium", "hard")),
    "validation, easy": ("validation", ("easy",)),
}


def named(policy: Policy) -> str:
    """The method as a row of a table names it: which meals, whose cities, and what else differs."""
    return ", ".join(
        [
            "SDP",
            "all meals (A.2)" if policy.every_meal else "meals as the evaluator asks",
            "reference cities" if policy.cities == "reference" else "cities by Propose",
            *(["A.2's numbered order"] if policy.order == "numbered" else []),
            *(["money kept back for meals"] if policy.keep_back else []),
            *([f"undoing Replan ({policy.undo})"] if policy.undo else []),
        ]
    )


def collect_samples(
    setup: Setup, samples: Sequence[str] = tuple(SAMPLES), workers: int = 0, cluster: str = ""
) -> dict[str, Results]:
    """The same method on each sample. Raises ValueError for a sample that SAMPLES does not have."""
    unknown = [name for name in samples if name not in SAMPLES]
    if unknown:
        raise ValueError(f"No sample {unknown[0]!r}; choose from {list(SAMPLES)}")
    return {
        name: collect(replace(setup, split=split, levels=levels), workers, cluster)
        for name, (split, levels) in SAMPLES.items()
        if name in samples
    }


def collect_readings(
    results: Results, readings: Sequence[Policy] = READINGS, workers: int = 0, cluster: str = ""
) -> dict[str, Results]:
    """The same tasks under each reading of A.2, by the name of its row; the run's own reading among them."""
    policies = dict.fromkeys([*readings, results.setup.policy])
    setups = {named(policy): replace(results.setup, policy=policy) for policy in policies}
    return {
        name: results if setup == results.setup else collect(setup, workers, cluster) for name, setup in setups.items()
    }


def rows(method: str, results: Results, source: str, denominators: Denominators = "stated") -> list[tables.Row]:
    """The six rates of a run as rows of a results table."""
    rates, about = results.rates(denominators), (results.evidence, source)
    # The micro rates and the official ones are over other things than queries, which alone can be not measured.
    of_queries = ("delivery", "commonsense_macro", "hard_macro", "final") if denominators == "stated" else ()
    counted = {name: results.outcomes() for name in of_queries}
    found = []
    for name, title in METRICS.items():
        passes, n = getattr(rates, name)
        row = tables.rate_row(method, results.backbone, title, passes, n, *about, counted.get(name))
        found.append(row | {"data": results.setup.data})
    return found


def frame(results: Mapping[str, Results], sample: str = "", denominators: Denominators = "stated") -> pd.DataFrame:
    """A results table with a method a run. sample: what the runs were made on, for the column `source`."""
    return tables.table(
        row for name, run in results.items() for row in rows(name, run, f"this run, {sample or name}", denominators)
    )


def with_published(measured: pd.DataFrame) -> pd.DataFrame:
    """The measured rows, and those of recordings, behind those that the paper and its rivals report."""
    import pandas as pd

    known = recordings.rows_with_data(Setup.method)
    if len(known):  # a recording that is being replayed is among the measured rows
        known = known[~known["backbone"].isin(measured["backbone"])]
    return pd.concat([tables.published("Table 2 TravelPlanner", "sdp"), measured, known], ignore_index=True)


def record(results: Results) -> None:
    """Save the run as a recording, if `python -m lab record` runs the notebook."""
    collecting.record(results, frame({named(results.setup.policy): results}, MAIN), costs({MAIN: results}))


def between(first: str, second: str, workers: int = 0) -> pd.DataFrame:
    """Two recordings on the queries of both: final passes in percent, their difference in points, exact McNemar.

    smallest: the difference that so many queries would have shown. Raises MissingData without the official data.
    """
    import pandas as pd

    runs = [collect(Setup(engine=f"replay:{name}"), workers, show_progress=False) for name in (first, second)]
    shared = runs[0].finals.keys() & runs[1].finals.keys()
    one, other = ({task: run.finals[task] for task in sorted(shared)} for run in runs)
    c = compare(one, other)
    difference, low, high = (100 * end for end in c.difference)
    line = {
        "first": runs[0].backbone, "second": runs[1].backbone, "n": c.n, "of the first": 100 * c.mean_a,
        "of the second": 100 * c.mean_b, "difference": difference, "low": low, "high": high, "gained": c.wins,
        "lost": c.losses, "p (McNemar)": c.mcnemar,
        "smallest": 100 * max(smallest_difference(c.difference), FEWEST / c.n), "data": runs[0].setup.data,
        "evidence": "measured",
    }  # fmt: skip
    return pd.DataFrame([line])


def honesty(results: Mapping[str, Results]) -> pd.DataFrame:
    """Final passes, and how many of them also stand up to the strict reading."""
    import pandas as pd

    lines = [
        (name, len(run.tasks), sum(v.final for v in run.verdicts), sum(run.honest)) for name, run in results.items()
    ]
    table = pd.DataFrame(lines, columns=["sample", "n", "final passes", "of them honest"])
    runs = results.values()
    about = {"data": [run.setup.data for run in runs], "evidence": [run.evidence for run in runs]}
    return table.assign(**about, backbone=[run.backbone for run in runs])


def failures(results: Mapping[str, Results]) -> pd.DataFrame:
    """Every query that does not pass: where the loop got stuck, what the diagnostic said, what the evaluator says."""

    lines = [
        (name, task.id, task.level, "episode failed", "", str(episode.error).strip().splitlines()[-1])
        if episode.failed
        else (name, task.id, task.level, *(episode.result[key] for key in ("end", "stuck")), first_failure(verdict))
        for name, run in results.items()
        for task, episode, verdict in zip(run.tasks, run.episodes.values(), run.verdicts, strict=True)
        if not verdict.final
    ]
    columns = ["sample", "task", "level", "ended by", "diagnostic", "evaluator"]
    return readable(lines, columns=columns)


def costs(results: Mapping[str, Results]) -> pd.DataFrame:
    """Calls, tokens and money by sample and operator, how each answer was read, and, for a model, the seconds."""
    import pandas as pd

    return pd.concat([collecting.costs(run, sample=name) for name, run in results.items()], ignore_index=True)
