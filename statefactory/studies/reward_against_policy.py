"""Does a better reward make a better planner? Compares predictors' EPIC distances with the success of their choices.

Distances are on the benchmark's pairs of a world, success is on other tasks of it (see `agents.experiments`).
Correlations are computed within each world and never pooled. Worlds differ in difficulty and in reward errors, and a
pooled correlation would reflect these differences.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from agents.experiments import attempts
from lab.results import tables
from lab.results.ranks import LEVEL, rank_correlation
from lab.results.statistics import bootstrap_mean, compare, holm, wilson
from lab.runs import collecting
from lab.runs.study_results import Results
from statefactory.benchmark.domains import acted, title
from statefactory.benchmark.published import PUBLISHED
from statefactory.experiments import rivals
from statefactory.experiments.best_of_n import CHANCE, END, MIDWAY, Choices, choices, success
from statefactory.experiments.predictions import PredictionExperiment
from statefactory.experiments.reward_models import LORA, stored_distances
from statefactory.experiments.rivals import LEARNED, ORACLE, PLACEBOS, RIDGE, SHORTEST
from statefactory.experiments.scoring import STANDARD, Scoring, distances_of
from statefactory.predictors import METHODS, PredictorSettings
from statefactory.reward_models.predictor import OWN
from statefactory.studies import table1
from statefactory.studies.policy import BEST_OF_N, BOTH, SEARCHED, best_of_n, reached, tree_search

# Number of benchmark pairs for distances; predictions of trained models are stored for these official pairs.
PAIRS = {"synthetic": 4, "official": 60}
SEARCH = "by tree search"
WAYS = (END, MIDWAY, SEARCH)  # ways in which a predictor chooses: among attempts, or in a tree search
Distances = Mapping[str, float]  # a pair's task -> EPIC distance


@dataclass(frozen=True)
class WorldComparison:
    """Results of one world. choices: per predictor and way in WAYS. distances: per predictor, on the benchmark's pairs.

    trees: the run of the tree search, if any.
    """

    attempts: attempts.Results
    choices: Sequence[Choices]
    distances: Mapping[str, Distances]
    trees: Results | None = None

    @property
    def title(self) -> str:
        """The world's name in tables."""
        return title(self.attempts.setup.world)

    def chosen(self, when: str) -> list[Choices]:
        """The choices in one of WAYS, without empty ones."""
        return [choice for choice in self.choices if choice.when == when and choice.success]


def collect(
    worlds: Sequence[str] = (), data: str = "auto", limit: int = -1, count: int = -1, pairs: int = -1,
    searched: int = -1, seed: int = 0, actor: str = "", engine: str = "rules",
    engines: Mapping[str, str] | None = None, predictors: Sequence[str] = (), learned: bool = False,
    score: Scoring = STANDARD, workers: int = 0, cluster: str = "",
) -> list[WorldComparison]:  # fmt: skip
    """Run attempts, predictors and tree searches, or reuse stored runs; returns one comparison per world.

    worlds: () for all five if any has official data, else BOTH. limit: number of tasks, 0 for all. count: attempts per
    task. searched: number of tasks with tree search per world. For these three -1 means the studies' own number; a
    world with one such task is not searched then. pairs: number of benchmark pairs, 0 for all, -1 for PAIRS. actor:
    engine that makes the attempts; "" for the noisy expert. engine, engines: answer the predictors. predictors: names
    of `statefactory.experiments.rivals`, () for all. learned: include the trained adapters, each of which takes about a
    second per attempt on a processor core.
    data: "published" applies only to the pairs; attempts then use official data if present.
    Raises as `lab.runs.collecting.collect`; MissingData if requested official data is absent.
    """
    data, source = acted(data), data
    kinds = {
        attempts.Setup(world=world, data=data, seed=seed, engine=actor).decided().data
        for world in worlds or BEST_OF_N.benchmarks
    }
    kind = "official" if "official" in kinds else "synthetic"  # TextWorld's games are always synthetic
    names = rivals.names_for(kind == "official", engine, engines, predictors, learned)
    answering: dict[str, Any] = {"engine": engine, "engines": engines or {}}
    comparisons = []
    for world in worlds or (BEST_OF_N.benchmarks if kind == "official" else BOTH):
        common: dict[str, Any] = {"benchmarks": (world,), "data": data, "seed": seed, **answering}
        options = {"acting": actor} | ({f"{world}:count": count} if count > 0 else {})
        trial = best_of_n(names).trial(**common, limit=limit, options=options).resolved()
        results = collecting.collect(trial.part(world, trial.methods[0]).attempts, workers, cluster)
        run = collecting.collect(trial, workers, cluster)
        all_choices = [choice for when in (END, MIDWAY) for choice in choices(results, run, when, score)]
        trees = None
        # A rate of one task, as synthetic games would have by default, is 0 or 100 and tells nothing.
        if searched and world in BOTH and (searched > 0 or SEARCHED[kind][world] > 1):
            trees = tree_search(names).run(**common, limit=searched, workers=workers, cluster=cluster)
            all_choices += led(trees, world)
        pair_options: dict[str, Any] = {
            "data": source if source == PUBLISHED else kind,
            "limit": pairs if pairs >= 0 else PAIRS[kind],
            "workers": workers,
            "cluster": cluster,
        }
        by_predictor = distances(world, names, score, **answering, **pair_options)
        comparisons.append(WorldComparison(results, all_choices, by_predictor, trees))
    return comparisons


def led(run: Results, world: str) -> Iterator[Choices]:
    """Choices of each predictor's tree search, with the world itself as world model."""
    for name in run.setup.methods_of(world):
        backbone = rivals.answering(run, world, name) or "none"
        how = run.setup.part(world, name).how
        yield Choices(name, how.title, SEARCH, backbone, "simulated", run.scores_of(world, name))


def distances(
    world: str, names: Sequence[str], score: Scoring, *, data: str, limit: int, engine: str,
    engines: Mapping[str, str], workers: int = 0, cluster: str = "",
) -> dict[str, Distances]:  # fmt: skip
    """EPIC distances of predictors on the pairs of one world: predictor -> pair -> distance.

    Distances of trained predictors on the official pairs of PAIRS are stored in the suite; on other pairs they are
    computed.
    """
    methods = {name: rivals.method_of(name, world) for name in names}
    titles = {name: method.title for name, method in methods.items() if name in METHODS}
    operators = {operator for name in titles for operator in methods[name].operators}
    used_engines = {operator: override for operator, override in engines.items() if operator in operators}
    run = titles and table1.study().run(
        benchmarks=(world,), conditions=titles.values(), data=data, limit=limit, engine=engine, engines=used_engines,
        workers=workers, cluster=cluster,
    )  # fmt: skip
    pairs = PredictionExperiment(domain=world, data=data, limit=limit).pairs()
    by_predictor: dict[str, Distances] = {}
    for name, method in methods.items():
        if run and name in titles:
            part = run.part(world, titles[name])
            by_predictor[name] = dict(zip(part.episodes, map(float, part.distances(score)), strict=True))
        elif {*(stored := _stored(name, world))} == {pair.task for pair in pairs}:
            by_predictor[name] = stored
        else:
            # The predictor has no prompts, so it never uses its backbone.
            values = distances_of(pairs, method.make(None, PredictorSettings()))  # type: ignore[arg-type]
            by_predictor[name] = {pair.task: float(value) for pair, value in zip(pairs, values, strict=True)}
    return by_predictor


def by_an_expert(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of several worlds for display: their experts err at different rates, which would be a row each."""
    who = rows["backbone"].str.replace(r"oracle@[\d.]+|exact world model", "expert with errors", regex=True)
    return rows.assign(backbone=who)


def successes(compared: Sequence[WorldComparison]) -> pd.DataFrame:
    """The results table of all choices, in percent: at the end, midway, and by tree search."""
    rows = [
        success(world.attempts, choice) for when in (END, MIDWAY) for world in compared for choice in world.chosen(when)
    ]
    tree_runs = (world.trees for world in compared if world.trees)
    rows += [row for run in tree_runs for part in run.parts for row in reached(run, *part)]
    return tables.table(rows)


def contrasts(compared: Sequence[WorldComparison]) -> pd.DataFrame:
    """Paired differences, in percent, of choices at the end to a random choice and to the shortest attempt.

    Columns: world, compared, difference with its interval, wins, losses, p, n. p (Holm): corrected for all rows.
    """
    rows = []
    for world in compared:
        choices = {choice.name: choice for choice in world.chosen(END)}
        for reference in (choices[name] for name in (CHANCE, SHORTEST) if name in choices):
            for choice in choices.values():
                if choice.name not in (CHANCE, ORACLE, reference.name):
                    result = compare(choice.success, reference.success)
                    percents = [100 * value for value in result.difference]
                    rows.append((world.title, f"{choice.title} − {reference.title}", *percents, result.wins,
                                 result.losses, result.p, result.n, choice.evidence, choice.backbone))  # fmt: skip
    columns = ["world", "compared", "difference", "ci_low", "ci_high", "wins", "losses", "p", "n", "evidence",
               "backbone"]  # fmt: skip
    frame = pd.DataFrame(rows, columns=columns)
    frame.insert(columns.index("n"), "p (Holm)", holm(frame["p"].to_numpy(float)))
    return frame


def points(compared: Sequence[WorldComparison]) -> pd.DataFrame:
    """One row per predictor, world and way of choosing: EPIC distance in [0, 1] and success in percent.

    Both have intervals. kind: "predictor", "placebo", or "oracle", whose distance is 0 since it is the truth. evidence:
    of the success; distances are measured unless noise answered the predictor.
    """
    rows = []
    for world in compared:
        setup = world.attempts.setup
        for choice in (choice for when in WAYS for choice in world.chosen(when) if choice.name != CHANCE):
            errors = [*world.distances.get(choice.name, {}).values()] or [0.0]
            values = [*choice.success.values()]
            # Tree search solves a task or not; a choice among tied attempts has their mean success.
            rate = wilson(sum(values), len(values)) if choice.when == SEARCH else bootstrap_mean(values)
            value, low, high = (100 * number for number in rate)
            placebo = "placebo" if choice.name in PLACEBOS else "predictor"
            rows.append({
                "world": world.title, "when": choice.when, "predictor": choice.name, "method": choice.title,
                "kind": ORACLE if choice.name == ORACLE else placebo, "distance": sum(errors) / len(errors),
                **dict(zip(("distance_low", "distance_high"), bootstrap_mean(errors)[1:], strict=True)),
                "pairs": len(errors) if choice.name != ORACLE else 0, "success": value, "ci_low": low, "ci_high": high,
                "n": len(values), "attempts a task": setup.count if choice.when != SEARCH else None, "data": setup.data,
                "backbone": choice.backbone, "evidence": choice.evidence,
            })  # fmt: skip
    return pd.DataFrame(rows)


def correlations(compared: Sequence[WorldComparison]) -> pd.DataFrame:
    """Spearman's rho of distance and success within each world; negative if better rewards choose better.

    One row per world and way of choosing, without and with placebos, always without the oracle, whose rank is certain.
    The interval resamples pairs and tasks, p permutes predictors (see `lab.results.ranks`). least: smallest |rho| that
    can be significant at 5 % with this number of predictors; empty if none can. p (Holm): corrected over all worlds and
    ways of choosing with the same kinds of predictors.
    """
    rows: list[dict[str, Any]] = []
    for world in compared:
        attempt_origin = {"backbone": world.attempts.backbone, "evidence": world.attempts.evidence}
        for when in WAYS:
            origin = {"backbone": "exact world model", "evidence": "simulated"} if when == SEARCH else attempt_origin
            for among, excluded in (("predictors", PLACEBOS), ("predictors and placebos", ())):
                ranked = [
                    choice for choice in world.chosen(when)
                    if choice.name in world.distances and choice.name not in excluded
                ]  # fmt: skip
                if len(ranked) > 1:
                    rank = rank_correlation(*_matrices(ranked, world.distances))
                    rows.append({
                        "world": world.title, "when": when, "among": among, "n": rank.n, "rho": rank.rho,
                        "ci_low": rank.low, "ci_high": rank.high, "p": rank.p, "least": rank.least,
                        "tasks": len({task for choice in ranked for task in choice.success}), **origin,
                    })  # fmt: skip
    frame = pd.DataFrame(rows)
    for among in {*frame.get("among", ())}:
        tested = frame.index[(frame["among"] == among) & frame["p"].notna()]
        frame.loc[tested, "p (Holm)"] = holm(frame.loc[tested, "p"])
    return frame


def _beyond_chance(ranks: pd.DataFrame) -> int:
    """How many of these rank correlations are significant after Holm's correction."""
    return int(((ranks["p (Holm)"] if "p (Holm)" in ranks else ranks["p"]) < LEVEL).sum())


@dataclass(frozen=True)
class Ranks:
    """The rank correlations of `correlations`, for a notebook's page. data: of the attempts."""

    frame: pd.DataFrame
    data: str

    @property
    def of_predictors(self) -> pd.DataFrame:
        """The rows without placebos."""
        return self.frame[self.frame["among"] == "predictors"]

    def numbers(self) -> Iterator[tuple[str, float]]:
        """The numbers to check: every rho, and how many of them are beyond chance."""
        for row in self.of_predictors.itertuples():
            yield f"rank correlation, {row.world}, {row.when}", round(row.rho, 2)
        for when, worlds in self.of_predictors.groupby("when", sort=False):
            yield f"rank correlations beyond chance, {when}", _beyond_chance(worlds)
        yield "predictors", int(self.of_predictors["n"].max())

    def answer(self) -> str:
        """For each way of choosing: the range of rho over the worlds, and how many are beyond chance; a line each."""
        sentences = []
        for when, worlds in self.of_predictors.groupby("when", sort=False):
            values = worlds["rho"].dropna()
            if len(values):
                sentences.append(
                    f"{when}: Spearman's rho of distance and success {min(values):.2f} to {max(values):.2f} in "
                    f"{len(values)} worlds; below 0, nearer rewards choose better; "
                    f"{_beyond_chance(worlds)} beyond chance (p < {LEVEL} after Holm's correction)"
                )
        return "\n".join(sentences)

    def rows(self) -> pd.DataFrame:
        """A results table: a row a world, a metric a way of choosing. n: predictors."""
        return tables.table(
            tables.row(
                line.world, line.backbone, f"Spearman's rho, {line.when}", line.rho, evidence=line.evidence,
                source=f"this run, {self.data} data, {line.tasks} tasks", n=line.n,
                interval=(line.ci_low, line.ci_high),
            )
            for line in self.of_predictors.itertuples()
            if not math.isnan(line.rho)
        )  # fmt: skip


def chance(compared: Sequence[WorldComparison]) -> dict[str, dict[str, float]]:
    """Way of choosing -> world -> success of a random choice among attempts, in percent."""
    rates: dict[str, dict[str, float]] = {END: {}, MIDWAY: {}}
    for world in compared:
        for choice in world.choices:
            if choice.name == CHANCE and choice.success:
                rates[choice.when][world.title] = 100 * sum(choice.success.values()) / len(choice.success)
    return rates


def _matrices(choices: Sequence[Choices], distances: Mapping[str, Distances]) -> tuple[np.ndarray, np.ndarray]:
    """Distances, shape (predictors, pairs), and success, shape (predictors, tasks); NaN where a predictor lacks one."""
    by_pair, by_task = [distances[choice.name] for choice in choices], [choice.success for choice in choices]
    return _matrix(by_pair, sorted({*chain(*by_pair)})), _matrix(by_task, dict.fromkeys(chain(*by_task)))


def _matrix(rows: Sequence[Mapping[str, float]], columns: Iterable[str]) -> np.ndarray:
    names = [*columns]
    return np.array([[row.get(name, math.nan) for name in names] for row in rows])


def _stored(name: str, world: str) -> Distances:
    """The stored distances of a trained predictor; empty for any other predictor."""
    if name != RIDGE and not name.startswith(LEARNED):
        return {}
    model, training = (RIDGE, world) if name == RIDGE else (LORA, name.removeprefix(LEARNED))
    rows = stored_distances()
    rows = rows[(rows["model"] == model) & (rows["trained_on"] == training) & (rows["shown"] == OWN)]
    rows = rows[rows["domain"] == world]
    return dict(zip(rows["task"], map(float, rows["distance"]), strict=True))
