"""Table 2: agents that are shown rewards beside agents that are not, on the same tasks (§4.4, Appendix C.6).

An episode is one method on one task. Who foresees what a candidate leads to stands beside each number: with the exact
world model, the world itself tried out, all predictors are told what is true, and no agent is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar

from agents.play import Schema, Settings
from lab.machine.spelling import hint
from lab.models.engines import ORACLE, parse
from lab.results import tables
from lab.runs import collecting, contest, recordings
from lab.runs.contest import Contest, entry
from lab.runs.experiment import BadSetting
from statefactory.experiments.guided import (
    ADAPTER,
    LEARNED,
    METHODS,
    PENALTY,
    REACT,
    SUCCESS,
    WORLDS,
    WorldModel,
)
from statefactory.experiments.predictions import EXTRACTING, JUDGING
from statefactory.planning import foresight
from statefactory.planning.prompts import PREDICT

if TYPE_CHECKING:
    import pandas as pd


# Tasks by world where the limit is -1; 0 for all. Of official data as many as show the paper's differences, but for
# ScienceWorld, where a candidate costs a replay in a Java process.
SLICES: Mapping[str, Mapping[str, int]] = {
    "synthetic": {"AlfWorld": 6, "BlocksWorld": 20, "ScienceWorld": 1},
    "official": {"AlfWorld": 0, "BlocksWorld": 100, "ScienceWorld": 20},
}


# All but those whose every reward a model computes, for about a second: these are played where they are named.
JUDGES = tuple(name for name, method in METHODS.items() if method.operators == JUDGING)
USUAL = tuple(name for name in METHODS if name not in (*JUDGES, LEARNED))
KEPT = "statefactory-planning-kept"  # rows of runs that take too long for a notebook


@dataclass(frozen=True, kw_only=True)
class Planning(Contest):
    """Methods on the tasks of some worlds; those that cannot be played here are left out, see `left_out`.

    datasets: of WORLDS. methods: of METHODS. limits: tasks by world, in place of `limit`, which is -1 for those of
    SLICES. world_model, penalty: see `Guided`. steps, stuck: the caps of an episode (see `agents.play.Settings`).
    schema: bind answers to a schema, in place of free text.
    """

    engine: str = f"{ORACLE}@0.6"
    datasets: tuple[str, ...] = ("AlfWorld", "BlocksWorld")
    methods: tuple[str, ...] = USUAL
    limits: Mapping[str, int] = field(default_factory=dict)
    world_model: WorldModel = "exact"
    penalty: float = PENALTY
    steps: int = 50
    stuck: int = 0
    schema: Schema = False

    method: ClassVar[str] = "statefactory-planning"
    packages: ClassVar[tuple[str, ...]] = ("lab", "worlds", "agents", "statefactory")
    selection: ClassVar[tuple[str, ...]] = ("data", "limit", "limits", "datasets", "methods")
    metric: ClassVar[str] = SUCCESS
    processes: ClassVar[int] = 1

    def decided(self) -> Planning:
        """With `data` and the methods that can be played decided. Raises BadSetting where there is none."""
        if unknown := [dataset for dataset in self.limits if dataset not in WORLDS]:
            raise BadSetting(f"limits={self.limits}: no world {unknown[0]!r}{hint(unknown[0], WORLDS)}")
        missing = left_out(self)
        methods = tuple(name for name in self.methods if name not in missing)
        if not methods:
            raise BadSetting(f"methods={self.methods}: none of them can be played; {'; '.join(missing.values())}")
        self._foreseeing(methods)
        found = {self.part(dataset, methods[0]).decided().data for dataset in self.datasets}
        data = "official" if found == {"official"} else "synthetic"
        if self.limit >= 0:
            return replace(self, methods=methods, data=data)
        limits = {dataset: self.limits.get(dataset, SLICES[data][dataset]) for dataset in self.datasets}
        return replace(self, methods=methods, data=data, limits=limits, limit=0)

    def _foreseeing(self, methods: Sequence[str]) -> None:
        """Raises BadSetting where rules are asked what happens next and do not know."""
        asked = parse(self.engine).of(PREDICT)
        if self.world_model == "exact" or not asked.by_rules or not any(METHODS[name].predictor for name in methods):
            return
        if asked.name == ORACLE:
            raise BadSetting(
                f"world_model={self.world_model!r}: the stand-in acts, and foresees nothing. Say who does, as in "
                f"engines={{{PREDICT!r}: 'rules'}}"
            )
        if unknown := [dataset for dataset in self.datasets if dataset.lower() not in foresight.FORESEEN]:
            raise BadSetting(
                f"world_model={self.world_model!r}: no rules foresee {', '.join(unknown)}; name a model, as in "
                f"engines={{{PREDICT!r}: 'local'}}"
            )

    def part(self, dataset: str, method: str) -> Any:
        if dataset not in WORLDS or method not in METHODS:
            known = f"datasets of {', '.join(WORLDS)} and methods of {', '.join(METHODS)}"
            raise BadSetting(f"{method!r} on {dataset!r}: choose {known}")
        return WORLDS[dataset](
            engine=self.engine, data=self.data, seed=self.seed, limit=self.limits.get(dataset, self.limit),
            guided=method, world_model=self.world_model, penalty=self.penalty,
            settings=Settings(steps=self.steps, stuck=self.stuck, schema=self.schema),
        )  # fmt: skip


def by_rules(methods: Sequence[str], world_model: WorldModel = "exact") -> dict[str, str]:
    """Engines by operator for `engines`, where an expert acts: rules answer the predictors that they can answer, and
    what comes next.
    """
    asked = {operator for name in methods for operator in METHODS[name].operators}
    if world_model == "prompted" and any(METHODS[name].predictor for name in methods):
        asked.add(PREDICT)
    return {operator: "rules" for operator in (*EXTRACTING, PREDICT) if operator in asked}


def left_out(setup: Planning) -> dict[str, str]:
    """The methods of a contest that cannot be played here, with the reason."""
    found: dict[str, str] = {}
    if parse(setup.engine).of(JUDGING[0]).by_rules:
        why = f"no rule judges progress: name a model, as in engines={{{JUDGING[0]!r}: 'local'}}"
        found |= {name: why for name in JUDGES if name in setup.methods}
    if LEARNED in setup.methods and (reason := no_reward_model()):
        found[LEARNED] = reason
    return found


def no_reward_model() -> str:
    """Why the trained reward model cannot be played here; "" where it can."""
    if lacking := [name for name in ("torch", "transformers", "peft") if not find_spec(name)]:
        return f"a learned reward needs {', '.join(lacking)}; see the README"
    from statefactory.reward_models import adapters, backbones

    try:
        backbones.located(adapters.read(adapters.SHIPPED / ADAPTER).recipe.base)
    except (adapters.UnusableAdapter, backbones.MissingBackbone) as error:
        return str(error)
    return ""


Results = contest.Results[Planning]


def metric(dataset: str) -> str:
    """As `data/published/statefactory_tables.csv` has it."""
    return f"Success rate, {dataset}"


def frame(results: Results) -> pd.DataFrame:
    """A results table: the success rate of each method in percent, with its Wilson interval."""
    return tables.table(_row(results, dataset, method) for dataset, method in results.parts)


def _row(results: Results, dataset: str, method: str) -> tables.Row:
    setup, scores = results.setup, results.scores_of(dataset, method)
    # Whoever acts: the true progress is knowledge that no agent has.
    evidence = "simulated" if METHODS[method].predictor == "oracle" else results.evidence
    prompted = f"world model: {parse(results.backbone).of(PREDICT).label}"
    told = "exact world model (privileged)" if setup.world_model == "exact" else prompted
    source = f"this run, {setup.data} data" + (f", {told}" if METHODS[method].predictor else "")
    outcomes = results.outcomes_of(dataset, method)
    # No agent could look ahead so: what is measured is measured of the model together with it.
    foreseen = METHODS[method].predictor and setup.world_model == "exact" and results.by_a_model
    backbone = results.backbone_of(dataset, method) + (", exact world model" if foreseen else "")
    return tables.rate_row(
        method, backbone, metric(dataset), int(sum(scores.values())), len(scores), evidence, source, outcomes
    )  # fmt: skip


def with_published(results: Results) -> pd.DataFrame:
    """The paper's rows, the run's, those of recordings by other backbones, and those of `keep`, marked as such."""
    import pandas as pd

    measured = frame(results)
    known, others = recordings.rows(Planning.method), recordings.rows(KEPT)
    played = pd.MultiIndex.from_frame(measured[["method", "backbone"]])
    known = known[~pd.MultiIndex.from_frame(known[["method", "backbone"]]).isin(played)]
    # Of other tasks than the run's, or under another penalty: a line of their own for each recording.
    name = others["source"].str.extract(r"recording table2_planning-([^,]+)")[0]
    others["backbone"] = "kept as " + name + ", " + others["backbone"]
    return pd.concat([tables.published("Table 2", "statefactory"), measured, known, others], ignore_index=True)


def keep(results: Results, name: str) -> str:
    """Keep a run's rows and its comparisons as "table2_planning-NAME" (see `lab.runs.contest.keep`); the whole name."""
    return contest.keep(results, frame(results), f"table2_planning-{name}", KEPT, comparisons(results))


def kept() -> pd.DataFrame:
    """The comparisons that `keep` holds, as `comparisons` has them."""
    return recordings.paired(KEPT)


def comparisons(results: Results) -> pd.DataFrame:
    """Each method less plain ReAct on the same tasks (see `lab.runs.contest.comparisons`)."""
    return contest.comparisons(results, REACT)


def costs(results: Results) -> pd.DataFrame:
    """Calls, tokens and seconds by world, method and operator."""
    return collecting.costs(results, lambda task: {"world": entry(task).dataset, "method": entry(task).method})


def record(results: Results) -> None:
    """Save the run as a recording, if `python -m lab record` runs the notebook."""
    collecting.record(results, frame(results), costs(results))
