"""Table 2: agents that are shown rewards beside agents that are not, on the same tasks (§4.4, Appendix C.6).

Each row says who predicts the outcome of a candidate action: the world itself (`exact`, which no agent could ask, so
that the row is privileged), a model, or rules.
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

# As many official tasks as show the paper's differences, but of ScienceWorld, where a candidate costs a replay in a
# Java process.
LIMITS = {
    "synthetic": {"AlfWorld": 4, "BlocksWorld": 12, "ScienceWorld": 1},
    "official": {"AlfWorld": 0, "BlocksWorld": 100, "ScienceWorld": 20},
}
REACT = Condition("ReAct", WORLDS, recorded=True)
CONSTANT = REACT.but("ReAct + penalty alone", "reward", "constant", role="placebo", recorded=False)
# Those whose every reward a model computes, for about a second, are played where they are named.
CONDITIONS = (
    REACT,
    REACT.but("ReAct + StateFactory", "reward", "statefactory"),
    REACT.but("ReAct + judge", "reward", "judge_analytic", extra=True, recorded=False),
    # A score without an analysis: a tenth of the tokens.
    REACT.but("ReAct + intuitive judge", "reward", "judge_intuitive", extra=True, recorded=False),
    REACT.but("ReAct + learned reward", "reward", "learned", extra=True, recorded=False),
    REACT.but("ReAct + oracle", "reward", "oracle", role="privileged", recorded=False),  # the ceiling
    # Placebos: the agent is asked as much, and nothing is known.
    REACT.but("ReAct + random", "reward", "random", role="placebo"),
    CONSTANT.but("ReAct + constant", "penalty", 0.0),
    CONSTANT,
)


def rules_beside_an_expert(trial: Trial) -> Mapping[str, str]:
    """An expert acts; rules answer the predictors that they can answer, and what comes next."""
    asked = trial.operators() if trial.who.name == ORACLE else ()
    return {operator: "rules" for operator in (*EXTRACTING, PREDICT) if operator in asked}


def foreseen(trial: Trial) -> None:
    """Raises BadSetting where rules are asked what happens next and do not know."""
    asked, exact = trial.who.of(PREDICT), trial.options["world_model"] == "exact"
    if exact or not asked.by_rules or {*trial.methods} == {REACT.name}:
        return
    if asked.name == ORACLE:
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
    """The success rate in percent, with its Wilson interval, and who foresaw."""
    setup, scores = results.setup, results.scores_of(world, condition)
    predicts = setup.of.condition(condition).settings.get("reward", "")
    exact = setup.options["world_model"] == "exact"
    # Whoever acts: the true progress is knowledge that no agent has.
    evidence = "simulated" if predicts == "oracle" else results.evidence
    prompted = f"world model: {results.who.of(PREDICT).label}"
    note = f", {'exact world model (privileged)' if exact else prompted}" if predicts else ""
    # No agent could look ahead so: what is measured is measured of the model together with it.
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
