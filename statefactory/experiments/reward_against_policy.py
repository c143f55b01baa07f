"""Does a better reward make a better planner? A predictor's EPIC distance beside what a choice by it achieves.

In each world the distance is on the benchmark's own pairs, and the success on other tasks (see `agents.experiments`).
Correlations are within a world and never pooled: worlds differ in how hard they are and in how far off rewards are, and
a line through all of them would show that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from agents.experiments import attempts
from lab.results import tables
from lab.results.ranks import rank_correlation
from lab.results.statistics import Interval, bootstrap_mean, holm, wilson
from statefactory.benchmark import DOMAINS
from statefactory.experiments import best_of_n, monotonic, rivals, searches
from statefactory.experiments.best_of_n import CHANCE, END, MIDWAY, Chosen, When, World
from statefactory.experiments.predictions import Predicting
from statefactory.experiments.rivals import LEARNED, ORACLE, PLACEBOS, RIDGE
from statefactory.experiments.scoring import STANDARD, Scoring
from statefactory.experiments.statistics import title
from statefactory.predictors import METHODS, Given
from statefactory.studies import table1

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

# What a notebook takes by default: (tasks, attempts a task) by world; synthetic data are for a first look.
SLICES: Mapping[str, Mapping[str, tuple[int, int]]] = {
    "synthetic": {"blocksworld": (8, 8), "alfworld": (3, 8)},
    "official": {**dict.fromkeys(DOMAINS, (20, 20)), "blocksworld": (50, 20), "alfworld": (30, 20)},
}
FEW = (3, 8)  # of a world that SLICES leaves out
# Of the benchmark, for the distances; the official ones are those that the trained predictors are kept on.
PAIRS = {"synthetic": table1.SLICE, "official": 60}
# Tasks of each world in which trees are searched.
SEARCHED: Mapping[str, Mapping[str, int]] = {
    "synthetic": {"blocksworld": 2, "alfworld": 1},
    "official": {"blocksworld": 50, "alfworld": 20},
}
# Foreseen in a task: ALFWorld has 30 valid actions a turn.
OUTCOMES: Mapping[str, Mapping[str, int]] = {
    "synthetic": {"blocksworld": 300, "alfworld": 300},
    "official": {"blocksworld": 300, "alfworld": 600},
}
# Tasks of each world in which rewards are hacked.
HACKED = {"synthetic": {"blocksworld": 1, "alfworld": 1}, "official": {"blocksworld": 10, "alfworld": 3}}
PREDICTOR, PLACEBO = "predictor", "placebo"
WHENS: tuple[When, ...] = (best_of_n.END, best_of_n.MIDWAY)
SEARCH = "by tree search"
WAYS = (*WHENS, SEARCH)  # in which a predictor chooses: among attempts, or of what is thought of
Distances = Mapping[str, float]  # of the pairs, by task


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What is compared.

    worlds: () for those of SLICES. limit: tasks, 0 for all; count: attempts a task; -1 for those of SLICES. pairs: of
    the benchmark, 0 for all; -1 for PAIRS. actor: who makes the attempts,
    "" for the noisy expert. engine, engines: who answers the predictors. predictors: of
    `statefactory.experiments.rivals`, () for all. learned: the trained adapters too, which on a processor core take
    about a second an attempt each.
    """

    worlds: tuple[str, ...] = ()
    data: str = "auto"
    limit: int = -1
    count: int = -1
    pairs: int = -1
    searched: int = -1
    seed: int = 0
    actor: str = ""
    engine: str = "rules"
    engines: Mapping[str, str] | None = None
    predictors: tuple[str, ...] = ()
    learned: bool = False

    def attempted(self) -> list[attempts.Setup]:
        """The attempts to make, a world each. Raises MissingData where official data are asked for and absent."""
        every = dict.fromkeys(name for of in SLICES.values() for name in of)
        decided = [
            attempts.Setup(world=world, data=self.data, seed=self.seed, engine=self.actor).decided()
            for world in self.worlds or every
        ]
        found = []
        for of in decided:
            usual = SLICES[extent(decided)].get(of.world) or (FEW if self.worlds else None)
            if usual:
                limit = self.limit if self.limit >= 0 else usual[0]
                found.append(replace(of, limit=limit, count=self.count if self.count > 0 else usual[1]))
        return found


def extent(worlds: Sequence[attempts.Setup]) -> str:
    """How much is played: "official", as much as shows something, where any world's data are.

    TextWorld's game files are not released: beside official data as many generated quests are played.
    """
    return "official" if any(of.data == "official" for of in worlds) else "synthetic"


@dataclass(frozen=True)
class Compared:
    """One world. distances: of each predictor, by the benchmark's pairs. searched: the trees that each has led."""

    world: World
    distances: Mapping[str, Distances]
    searched: Mapping[str, searches.Results] = field(default_factory=dict)

    def choices(self, score: Scoring, way: str) -> list[Chosen]:
        """What the choices of every predictor came to, in one of WAYS."""
        if way != SEARCH:
            return self.world.choices(score, MIDWAY if way == MIDWAY else END)
        success = {
            name: {task: run.setup.judged(episode).score or 0.0 for task, episode in run.episodes.items()}
            for name, run in self.searched.items()
        }
        shared = [task for task in next(iter(success.values()), {}) if all(task in of for of in success.values())]
        return [
            Chosen(name, run.setup.how.title, run.backbone if run.setup.operators() else "none", "simulated",
                   {task: success[name][task] for task in shared})
            for name, run in self.searched.items()
        ]  # fmt: skip


def collect(setup: Setup, score: Scoring = STANDARD, workers: int = 0, cluster: str = "") -> list[Compared]:
    """Play, score and measure what is not there yet; a world each. Raises what `lab.runs.collecting.collect` raises."""
    found, worlds = [], setup.attempted()
    much = extent(worlds)
    measured = replace(setup, pairs=setup.pairs if setup.pairs >= 0 else PAIRS[much])
    for of in worlds:
        names = rivals.names_for(of.world, much, setup.engine, setup.engines, setup.predictors, setup.learned)
        world = best_of_n.collect(of, names, setup.engine, setup.engines, workers, cluster)
        far = distances(measured, of.world, much, names, score, workers, cluster)
        found.append(Compared(world, far, searched(setup, of.world, of.data, names, workers, cluster)))
    return found


def searched(
    setup: Setup, world: str, data: str, names: Sequence[str], workers: int = 0, cluster: str = ""
) -> dict[str, searches.Results]:
    """The trees that each predictor leads, and the oracle; none where no tree is searched.

    Trained adapters are left out: they take a second a state, and hundreds are foreseen.
    """
    limit = SEARCHED[data].get(world, 0) if setup.searched < 0 else setup.searched
    if not limit or world not in searches.SEARCHED:
        return {}
    of = searches.Setup(
        world=world, data=data, limit=limit, seed=setup.seed, engine=setup.engine, engines=setup.engines or {},
        search=replace(searches.SETTINGS, outcomes=OUTCOMES[data][world]),
    )  # fmt: skip
    return rivals.collect(of, [*hackable(names), ORACLE], workers, cluster)


def distances(
    setup: Setup, world: str, data: str, names: Sequence[str], score: Scoring = STANDARD, workers: int = 0,
    cluster: str = "",
) -> dict[str, Distances]:  # fmt: skip
    """EPIC distances of predictors on a world's pairs of the benchmark: predictor -> pair -> distance.

    Those of trained ones are kept with the suite for the official pairs of PAIRS, and measured on any others.
    """
    pairs = Predicting(domain=world, data=data, limit=setup.pairs).pairs()
    found: dict[str, Distances] = {}
    for name in names:
        method = rivals.method_of(name, world)
        if rivals.is_learned(name) and {*(kept := _kept(name, world))} == {pair.task for pair in pairs}:
            found[name] = kept
        elif name in METHODS:
            run = table1.study().run(
                benchmarks=(world,), conditions=(method.title,), data=data, limit=setup.pairs, workers=workers,
                cluster=cluster, **rivals.engines_for(name, world, setup.engine, setup.engines or {}),
            )  # fmt: skip
            part = run.part(world, method.title)
            found[name] = dict(zip(part.episodes, map(float, part.distances(score)), strict=True))
        else:
            # It asks nobody, and so its backbone is never looked at.
            values = monotonic.distances(pairs, method.make(None, Given()))  # type: ignore[arg-type]
            found[name] = {pair.task: float(v) for pair, v in zip(pairs, values, strict=True)}
    return found


def successes(compared: Sequence[Compared], score: Scoring = STANDARD) -> pd.DataFrame:
    """The results table of all choices: at the end, midway, and by tree search."""
    import pandas as pd

    worlds = [one.world for one in compared]
    found = tables.table(
        tables.rate_row(
            of.title, of.backbone, f"Tree search, {title(one.world.name)}", int(sum(of.success.values())),
            len(of.success), of.evidence, f"this run, {one.world.attempts.setup.data} data, exact world model",
        )
        for one in compared for of in one.choices(score, SEARCH)
    )  # fmt: skip
    every = [*(best_of_n.frame(worlds, score, when) for when in WHENS), found]
    return pd.concat([one for one in every if len(one)], ignore_index=True)


def hackable(names: Sequence[str]) -> list[str]:
    """Of the predictors, each once, those whose rewards are tried to be had for nothing: all but the trained adapters.

    An adapter takes a second a state, and hundreds are tried.
    """
    return [name for name in dict.fromkeys(names) if not name.startswith(LEARNED)]


def points(compared: Sequence[Compared], score: Scoring = STANDARD) -> pd.DataFrame:
    """A row a predictor, world and way of choosing: EPIC distance in [0, 1] and success in percent, with intervals.

    kind: "predictor"; "placebo"; or "oracle", whose distance is 0 since it is the truth. evidence is of the success;
    a distance is measured unless noise answered the predictor.
    """
    import pandas as pd

    lines = []
    for one in compared:
        made = one.world.attempts.setup
        for when in WAYS:
            for chosen in one.choices(score, when):
                if chosen.name == CHANCE or not chosen.success:
                    continue
                of = list(one.distances.get(chosen.name, {}).values()) or [0.0]
                values = list(chosen.success.values())
                # A task is solved or not; of attempts that tie, a choice has their mean.
                rate = wilson(sum(values), len(values)) if when == SEARCH else bootstrap_mean(values)
                success = Interval(*(100 * end for end in rate))
                lines.append({
                    "world": title(one.world.name), "when": when, "predictor": chosen.name, "method": chosen.title,
                    "kind": _kind(chosen.name), "distance": sum(of) / len(of),
                    **dict(zip(("distance_low", "distance_high"), bootstrap_mean(of)[1:], strict=True)),
                    "pairs": len(of) if chosen.name != ORACLE else 0, "success": success.value,
                    "ci_low": success.low, "ci_high": success.high, "n": len(chosen.success),
                    "attempts a task": made.count if when != SEARCH else None, "data": made.data,
                    "backbone": chosen.backbone, "evidence": chosen.evidence,
                })  # fmt: skip
    return pd.DataFrame(lines)


def correlations(compared: Sequence[Compared], score: Scoring = STANDARD, seed: int = 0) -> pd.DataFrame:
    """Spearman's rho of distance and success within each world; below 0 where nearer rewards choose better.

    A row a world and way of choosing, without placebos and with them; never with the oracle, whose place is certain.
    The interval is over pairs and tasks, p over predictors (see `lab.results.ranks`). least: the smallest |rho| that so
    many predictors could show at 5 %; empty where none could, however well they agree. p (Holm): over all worlds and
    ways of choosing, among the same kinds of predictors.
    """
    import pandas as pd

    lines: list[dict[str, Any]] = []
    for one in compared:
        for when in WAYS:
            choices = [of for of in one.choices(score, when) if of.success and of.name in one.distances]
            for among, left_out in (("predictors", PLACEBOS), ("predictors and placebos", ())):
                of = [each for each in choices if each.name not in left_out]
                if len(of) < 2:
                    continue
                found = rank_correlation(*_matrices(of, one.distances), seed)
                lines.append({
                    "world": title(one.world.name), "when": when, "among": among, "n": found.n, "rho": found.rho,
                    "ci_low": found.low, "ci_high": found.high, "p": found.p, "least": found.least,
                    "tasks": len(of[0].success),
                    "backbone": "exact world model" if when == SEARCH else one.world.attempts.backbone,
                    "evidence": "simulated" if when == SEARCH else one.world.attempts.evidence,
                })  # fmt: skip
    frame = pd.DataFrame(lines)
    tested = frame.index[frame["p"].notna()] if lines else []
    for _, part in frame.loc[tested].groupby("among") if lines else ():
        frame.loc[part.index, "p (Holm)"] = holm(part["p"])
    return frame


def chance(compared: Sequence[Compared], score: Scoring = STANDARD, when: When = END) -> dict[str, float]:
    """World -> what a random choice achieves, in percent."""
    found = {}
    for one in compared:
        success = next(of.success for of in one.world.choices(score, when) if of.name == CHANCE)
        if success:
            found[title(one.world.name)] = 100 * sum(success.values()) / len(success)
    return found


def _matrices(choices: Sequence[Chosen], distances: Mapping[str, Distances]) -> tuple[np.ndarray, np.ndarray]:
    """(predictors, pairs) and (predictors, tasks); NaN for a pair that one was not measured on."""
    import numpy as np

    pairs = sorted({pair for one in choices for pair in distances[one.name]})
    far = np.array([[distances[one.name].get(pair, math.nan) for pair in pairs] for one in choices])
    return far, np.array([list(one.success.values()) for one in choices])


def _kind(name: str) -> str:
    return ORACLE if name == ORACLE else PLACEBO if name in PLACEBOS else PREDICTOR


@cache
def _kept_rows() -> Any:
    from statefactory.experiments.reward_models import kept

    return kept()


def _kept(name: str, world: str) -> Distances:
    """The distances of a trained predictor that are kept with the suite."""
    from statefactory.experiments.reward_models import LORA
    from statefactory.experiments.reward_models import RIDGE as RIDGE_MODEL
    from statefactory.reward_models.predictor import OWN

    model, training = (RIDGE_MODEL, world) if name == RIDGE else (LORA, name.removeprefix(LEARNED))
    of = _kept_rows()
    rows = of[(of["model"] == model) & (of["trained_on"] == training) & (of["shown"] == OWN) & (of["domain"] == world)]
    return dict(zip(rows["task"], map(float, rows["distance"]), strict=True))
