"""Table 3 and Figure 2: what the rebuilt benchmark holds, and the monotonic baseline on it, which needs no model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from random import Random
from typing import TYPE_CHECKING

from lab.results import tables
from lab.results.statistics import Noise, decompose
from statefactory.benchmark import Built, Pair, build
from statefactory.benchmark.domains import BY_NAME
from statefactory.benchmark.labels import MOST_RANDOM_STEPS, Padding, Rule, Sides
from statefactory.benchmark.opened import close_all, opened
from statefactory.experiments import scores
from statefactory.experiments.monotonic import (
    FITTED,
    METHOD,
    distances,
    distances_of_labels,
    expert_labels,
    predictions,
)
from statefactory.experiments.printed import replay
from statefactory.gleave import gleave_distances
from statefactory.predictors.monotonic import Monotonic

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

# Where drawing random steps anew is near a build and not equal to it: their own scores are left out.
NEAR = ("scienceworld",)
# Built in seconds; and their experts' plans hang on the random steps before.
REBUILT = ("blocksworld", "webshop")
# What `statefactory.benchmark.labels.Rule.sides` may be.
PADDINGS: dict[Sides, str] = {
    "none": "no random steps",
    "before": "all before",
    "cut": "both ends, those after cut off",
    "both": "both ends",
}


def build_table(built: Mapping[str, Built]) -> pd.DataFrame:
    """How each build went: pairs, and how often random steps were drawn again or left out."""
    import pandas as pd

    return pd.DataFrame({
        "domain": BY_NAME[name].title, "data": build.data, "pairs": build.about["pairs"],
        "beginnings drawn again": build.about["positive_redraws"],
        "left without a beginning": build.about["unpadded"], "negatives drawn again": build.about["negative_redraws"],
        "skipped": len(build.about["skipped"]),
    } for name, build in built.items())  # fmt: skip


def sample_pairs(domains: Iterable[str], seed: int = 0) -> dict[str, Pair]:
    """Domain -> a pair of synthetic data to look at."""
    return {name: build(name, "synthetic", seed, show_progress=False).pairs()[0] for name in domains}


def printed(built: Mapping[str, Built]) -> pd.DataFrame | None:
    """How the games of the paper's printed trajectories agree with the print; None without ALFWorld's official data."""
    if "alfworld" not in built or built["alfworld"].data != "official":
        return None
    try:
        there = opened(BY_NAME["alfworld"], "official", 0)
        return replay(there.world, there.expert)
    finally:
        close_all()


def monotonic(pairs: Mapping[str, Sequence[Pair]]) -> pd.DataFrame:
    """The EPIC distances of the monotonic baseline behind those that the paper reports."""
    rows = scores.rows(METHOD, "none", {name: distances(members) for name, members in pairs.items()})
    return tables.table([*scores.published([METHOD]), *rows])


def seed_table(built: Mapping[str, Built], seeds: int = 10, workers: int = 2) -> pd.DataFrame:
    """The monotonic baseline over seeds 0 … seeds-1 beside the published value: mean and spread.

    Domains of REBUILT are built for every seed, tasks included. For the others the random steps are drawn anew around
    the experts' steps of `built`; ScienceWorld's negatives stay as built.
    fitted: whether the padding was chosen to give the published value.
    noise of a task: how far its distance moves with the random steps; noise of tasks: how far tasks are apart besides;
    both as standard deviations, where the tasks stay.
    """
    import pandas as pd

    published, rows = _published(), []
    for name, domain_build in built.items():
        values, noise = _over_seeds(name, domain_build, seeds, workers)
        rows.append(
            {"domain": BY_NAME[name].title, "published": published[name], "here": values.mean(),
             "std": values.std(ddof=1), "min": values.min(), "max": values.max(),
             "difference": values.mean() - published[name], "seeds": len(values),
             "noise of a task": noise and noise.run, "noise of tasks": noise and noise.task,
             "anew": "tasks and steps" if name in REBUILT else "random steps", "fitted": name in FITTED,
             "evidence": "simulated" if name in NEAR else "measured"}
        )  # fmt: skip
    return pd.DataFrame(rows)


def _over_seeds(name: str, built: Built, seeds: int, workers: int) -> tuple[np.ndarray, Noise | None]:
    """The mean of each seed; and the noise of the distances, tasks by seeds, where all seeds have the same tasks."""
    import numpy as np

    if name in REBUILT:
        limit = built.about["identity"]["limit"]
        builds = (build(name, built.data, seed, limit, workers, show_progress=False) for seed in range(seeds))
        return np.array([distances(seed_build.pairs()).mean() for seed_build in builds]), None
    pairs = built.pairs()
    labels, negatives = expert_labels(pairs), {pair.task: pair.negative.shaped for pair in pairs}
    drawn = np.array([distances_of_labels(labels, name, seed, negatives=negatives) for seed in range(seeds)])
    return drawn.mean(axis=1), decompose(drawn.T) if min(drawn.shape) > 1 else None


def gleave_table(pairs: Mapping[str, Sequence[Pair]]) -> pd.DataFrame:
    """The simplified distance and Gleave's on the same pairs, those on which the latter is defined."""
    import numpy as np
    import pandas as pd

    rows = []
    for name, members in pairs.items():
        predicted = [predictions(pair, Monotonic()) for pair in members]
        seen = [[text for row in pair.rows for text in row.observations] for pair in members]
        canonical = gleave_distances(predicted, [pair.shaped for pair in members], seen)
        defined = np.isfinite(canonical)
        repeated = np.mean([1 - len(set(texts)) / len(texts) for texts in seen])
        rows.append(
            {"domain": BY_NAME[name].title, "pairs": len(members), "defined": int(defined.sum()),
             "simplified": distances(members)[defined].mean(), "Gleave": canonical[defined].mean(),
             "steps that repeat an observation": repeated, "evidence": "measured"}
        )  # fmt: skip
    return pd.DataFrame(rows)


def paddings(built: Mapping[str, Built], seeds: int = 10) -> pd.DataFrame:
    """What other ways of padding would give on the experts' steps as built: the means over seeds, beside the paper's.

    Domains whose labels are t/T. "three at each end": 0 to 3 random steps drawn for each end by itself.
    """
    import numpy as np
    import pandas as pd

    published, rows = _published(), []
    for name in (name for name in built if BY_NAME[name].rule.expert == "linear"):
        rule, labels = BY_NAME[name].rule, expert_labels(built[name].pairs())
        ways = _ways(rule)
        ways["three at each end"] = EachEnd(**{field.name: getattr(rule, field.name) for field in fields(rule)})
        means = {
            title: np.mean([distances_of_labels(labels, name, seed, way).mean() for seed in range(seeds)])
            for title, way in ways.items()
        }
        rows.append({"domain": BY_NAME[name].title, "published": published[name], **means,
                     "chosen": PADDINGS[rule.sides], "evidence": "simulated"})  # fmt: skip
    return pd.DataFrame(rows)


def _ways(rule: Rule) -> dict[str, Rule]:
    """The rule with each of PADDINGS, by title."""
    return {title: replace(rule, sides=sides) for sides, title in PADDINGS.items()}


def _published() -> dict[str, float]:
    """Domain -> the baseline's distance in the paper."""
    values = {row["metric"]: row["value"] for row in scores.published([METHOD])}
    return {name: values[scores.metric(name)] for name in BY_NAME}


class EachEnd(Rule):
    """The other reading of the paper's "k in [0, 3]": so many at each end."""

    def draw(self, random: Random) -> Padding:
        return Padding(random.randint(0, MOST_RANDOM_STEPS), random.randint(0, MOST_RANDOM_STEPS))


def lengths_alone(lengths: Sequence[int] = (3, 4, 5, 6, 8, 10, 13, 17, 22, 30), pairs: int = 2000) -> pd.DataFrame:
    """The monotonic baseline where every plan has T steps, a column a way of padding; labels t/T, negatives 0."""
    import pandas as pd

    ways, rows = _ways(BY_NAME["alfworld"].rule), []
    for steps in lengths:
        labels = {str(number): [step / steps for step in range(1, steps + 1)] for number in range(pairs)}
        means = {title: distances_of_labels(labels, "alfworld", rule=way).mean() for title, way in ways.items()}
        rows.append({"T": steps, **means, "evidence": "simulated"})
    return pd.DataFrame(rows)
