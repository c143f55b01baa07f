"""Table 2: agents with and without rewards, on the same tasks (§4.4, Appendix C.6).

Each row states the world model that predicts outcomes of candidate actions: the world itself (`exact`), a model, or
rules. No agent has access to the world itself, so such rows are privileged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lab.models.engines import ORACLE
from lab.models.rules import rule_of
from lab.results import tables
from lab.runs.experiment import BadSetting
from lab.runs.study import Condition, Study, register
from lab.runs.study_results import Results
from lab.runs.trial import Trial
from statefactory.experiments.guided import PENALTY, SUCCESS, WORLDS
from statefactory.experiments.predictions import EXTRACTING
from statefactory.planning.prompts import PREDICT, predict_prompt

# Enough official tasks to detect the paper's differences, except in ScienceWorld, where each candidate costs a replay
# in a Java process.
LIMITS = {
    "synthetic": {"AlfWorld": 3, "BlocksWorld": 8, "ScienceWorld": 1},
    "official": {"AlfWorld": 0, "BlocksWorld": 100, "ScienceWorld": 20},
}
REACT = Condition("ReAct", WORLDS, recorded=True)
CONSTANT = REACT.but("ReAct + penalty alone", "reward", "constant", role="placebo", recorded=False)
# Conditions in which a model computes every reward, in about a second, run only if requested (extra).
CONDITIONS = (
    REACT,
    REACT.but("ReAct + StateFactory", "reward", "statefactory"),
    REACT.but("ReAct + judge", "reward", "judge_analytic", extra=True, recorded=False),
    # A score without an analysis needs a tenth of the tokens.
    REACT.but("ReAct + intuitive judge", "reward", "judge_intuitive", extra=True, recorded=False),
    REACT.but("ReAct + learned reward", "reward", "learned", extra=True, recorded=False),
    REACT.but("ReAct + oracle", "reward", "oracle", role="privileged", recorded=False),  # the upper bound
    # Placebos: the same prompts, with rewards that carry no information.
    REACT.but("ReAct + random", "reward", "random", role="placebo"),
    CONSTANT.but("ReAct + constant", "penalty", 0.0),
    CONSTANT,
)


def rules_beside_an_expert(trial: Trial) -> Mapping[str, str]:
    """Engines if a stand-in expert acts: rules answer extraction and the world model, as far as they are asked."""
    operators = trial.operators() if trial.who.name == ORACLE else ()
    return {operator: "rules" for operator in (*EXTRACTING, PREDICT) if operator in operators}


def foreseen(trial: Trial) -> None:
    """Raise BadSetting if rules or the stand-in expert would have to predict outcomes and cannot."""
    engine, exact = trial.who.of(PREDICT), trial.options["world_model"] == "exact"
    if exact or not engine.by_rules or {*trial.methods} == {REACT.name}:
        return
    if engine.name == ORACLE:
        raise BadSetting(
            "world_model='prompted': the stand-in acts, and foresees nothing. Say who does, as in "
            f"engines={{{PREDICT!r}: 'rules'}}"
        )
    if unknown := [world for world in trial.datasets if rule_of(predict_prompt(world.lower())) is None]:
        raise BadSetting(
            f"world_model='prompted': no rules foresee {', '.join(unknown)}; name a model, as in "
            f"engines={{{PREDICT!r}: 'local'}}"
        )


def successes(results: Results, world: str, condition: str) -> Iterator[tables.Row]:
    """Row of the success rate in percent, with Wilson interval and world model."""
    setup, scores = results.setup, results.scores_of(world, condition)
    predicts = setup.of.condition(condition).settings.get("reward", "")
    exact = setup.options["world_model"] == "exact"
    # Whichever engine acts: no agent knows the true progress.
    evidence = "simulated" if predicts == "oracle" else results.evidence
    prompted = f"world model: {results.who.of(PREDICT).label}"
    note = f", {'exact world model (privileged)' if exact else prompted}" if predicts else ""
    # No agent has an exact world model, so the result is measured for the model together with it.
    with_world = tables.WITH_WORLD if predicts and exact and results.by_a_model else ""
    yield tables.rate_row(
        condition, results.backbone_of(world, condition) + with_world, f"Success rate, {world}",
        int(sum(scores.values())), len(scores), evidence, f"this run, {setup.data} data{note}",
        results.outcomes_of(world, condition),
    )  # fmt: skip


STUDY = register(
    Study(
        name="statefactory-table2",
        benchmarks=tuple(WORLDS),
        conditions=CONDITIONS,
        metrics=(),
        metric=SUCCESS,
        against=REACT.name,
        published=("Table 2", "statefactory"),
        options={"world_model": "exact", "penalty": PENALTY, "settings.steps": 50, "settings.stuck": 0,
                 "settings.schema": False},
        limits=LIMITS,
        rows=successes,
        headline="Success rate, {benchmark}",
        engine=f"{ORACLE}@0.6",
        others=rules_beside_an_expert,
        check=foreseen,
        packages=("lab", "worlds", "agents", "statefactory"),
    )
)  # fmt: skip
