"""Table 2 as a study: which methods are played, what stands beside what, and what is left out with a reason."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from agents.play import Settings
from lab.models.backbone import Ledger
from lab.models.connect import connected
from lab.results import tables
from lab.runs.collecting import collect
from lab.runs.experiment import BadSetting
from lab.runs.study_results import Results
from lab.runs.trial import Trial
from statefactory.experiments import scores
from statefactory.experiments.guided import WORLDS, BlocksWorld, ScienceWorld, no_reward_model
from statefactory.studies.table2 import CONDITIONS, STUDY

METHODS = tuple(condition.name for condition in CONDITIONS)
REACT, STATEFACTORY, JUDGE, INTUITIVE, LEARNED = METHODS[:5]
CONSTANT, ORACLE = "ReAct + constant", "ReAct + oracle"
BLOCKS = ("BlocksWorld",)
SMALL: dict[str, Any] = {"data": "synthetic", "conditions": (REACT, CONSTANT, ORACLE), "engine": "oracle@0.6"}
FEW = {"AlfWorld:limit": 2, "BlocksWorld:limit": 3}


def trial(**changed: Any) -> Trial:
    settings = {**SMALL, "benchmarks": ("AlfWorld", "BlocksWorld"), **changed}
    return STUDY.trial(**{**settings, "options": FEW | settings.get("options", {})})


def played(**changed: Any) -> Results:
    return collect(trial(**changed), workers=1, show_progress=False)


@pytest.mark.slow
def test_a_run_holds_methods_beside_each_other_and_the_placebo_beside_react_shows_no_difference() -> None:
    run = played()
    assert len(run.episodes) == 3 * (2 + 3) and run.evidence == "simulated"
    rows = run.frame()
    assert set(rows["metric"]) == {"Success rate, AlfWorld", "Success rate, BlocksWorld"}
    assert set(rows["n"]) == {2, 3} and rows["ci_low"].notna().all()
    assert {("privileged" in row.source) == (row.method != REACT) for row in rows.itertuples()} == {True}
    compared = run.compare().set_index(["dataset", "method"])
    for dataset in run.setup.datasets:
        same = compared.loc[dataset, CONSTANT]
        assert (same["gained"], same["lost"], same[f"less {REACT}"]) == (0, 0, 0.0)
        assert same["calls"] > run.mean(dataset, REACT, "calls")
    costs = run.costs()
    assert set(costs["operator"]) == {"act", "choose"} and set(costs["dataset"]) == {"AlfWorld", "BlocksWorld"}


def test_published_rows_are_the_papers_six() -> None:
    rows = tables.published("Table 2", "statefactory")
    assert len(rows) == 6 and set(rows["method"]) == {REACT, STATEFACTORY}
    assert {f"Success rate, {world}" for world in WORLDS} == set(rows["metric"])
    # Shares of 134 games, of 100 problems and of 137 tasks, which is how many they were played on.
    solved = [value * n / 100 for value, n in zip(rows["value"], (134, 134, 100, 100, 137, 137), strict=True)]
    assert solved == pytest.approx([46, 75, 85, 93, 31, 48], abs=0.02)


def test_what_cannot_be_played_is_left_out_with_its_reason() -> None:
    judged = trial(conditions=(REACT, JUDGE, INTUITIVE))
    assert {name for _, name in judged.left_out} == {JUDGE, INTUITIVE}
    assert all("no rule judges progress" in reason for reason in judged.left_out.values())
    assert judged.resolved().methods == (REACT,)
    assert {condition.name for condition in STUDY.conditions if condition.extra} == {JUDGE, INTUITIVE, LEARNED}
    asked = trial(conditions=(REACT, JUDGE, INTUITIVE), engine="oracle@0.6, Judge: small")
    assert not asked.left_out and "judge" in asked.operators()
    assert bool(trial(conditions=(LEARNED,)).left_out) == bool(no_reward_model())
    with pytest.raises(BadSetting, match="No condition plays AlfWorld, BlocksWorld.* no rule judges progress"):
        trial(conditions=(JUDGE,)).resolved()


def test_calls_are_capped_by_how_many_questions_a_turn_has() -> None:
    def most(reward: str, **changed: object) -> int:
        return BlocksWorld(reward=reward, settings=Settings(steps=10), **changed).capped().calls  # type: ignore[arg-type]

    assert [most(""), most("constant"), most("statefactory")] == [20, 40, 20 * (2 + 4 * 3)]
    assert most("constant", world_model="prompted") == 20 * (2 + 3)
    assert BlocksWorld(reward="constant", settings=Settings(calls=7)).capped().calls == 7


def test_scienceworld_is_played_with_candidates_from_its_list_and_without_points() -> None:
    setup = ScienceWorld(
        engine="oracle@0.8", data="synthetic", limit=1, reward="oracle", settings=Settings(steps=5)
    ).resolved()
    (result,) = [setup.play(task, Ledger(connected(setup.engine))) for task in setup.tasks()]
    turns = result["history"]["turns"]
    foreseen = [turn["said"] for turn in turns if turn["operator"] == "look ahead" and turn["said"]]
    assert foreseen and all(len(text.splitlines()) == 5 for text in foreseen)
    assert result["steps"] == 5 and not any("Points gained" in turn["observation"] for turn in turns)


def test_rules_foresee_blocks_as_the_world_does_and_say_that_they_did() -> None:
    # Its reward is the penalty for an action that is foreseen to lead to where it led before.
    exact: dict[str, Any] = {"conditions": ("ReAct + penalty alone",), "benchmarks": BLOCKS}
    runs = [played(**exact), played(**exact, options={"world_model": "prompted"})]
    one, other = ([episode.result["history"] for episode in run.episodes.values()] for run in runs)
    assert [[turn["said"] for turn in of["turns"]] for of in one] == [
        [turn["said"] for turn in of["turns"]] for of in other
    ]
    sources = [run.frame()["source"].item() for run in runs]
    assert sources[0].endswith("exact world model (privileged)") and sources[1].endswith("world model: rules")


def test_who_cannot_foresee_is_told_before_anything_is_played() -> None:
    prompted = {"world_model": "prompted"}
    with pytest.raises(BadSetting, match="the stand-in acts, and foresees nothing"):
        replace(trial(options=prompted), engines={}).resolved()
    with pytest.raises(BadSetting, match="no rules foresee ScienceWorld"):
        STUDY.trial(**SMALL, benchmarks=("ScienceWorld",), options=prompted).resolved()
    assert trial(conditions=(REACT,), options=prompted).resolved().methods == (REACT,), "which foresees nothing"


def test_a_replay_is_of_the_same_world_model_as_what_was_recorded() -> None:
    run = played(conditions=(REACT, "ReAct + random"), benchmarks=BLOCKS, options={"BlocksWorld:limit": 1})
    setup = replace(run.setup, engine="replay:kept", options={**run.setup.options, "world_model": "prompted"})
    recorded = replace(run, setup=setup, backbone="small (local), Predict: rules")
    rows = recorded.frame().set_index("method")
    assert rows.loc["ReAct + random", "source"].endswith("world model: rules")
    assert rows["backbone"].to_dict() == {REACT: "small (local)", "ReAct + random": "small (local), Predict: rules"}


def test_rules_answer_what_they_can_beside_an_expert_and_nothing_beside_a_model() -> None:
    def answered(*names: str, **changed: Any) -> set[str]:
        return {*trial(conditions=names, **changed).engines}

    assert not answered(REACT, ORACLE) and answered(*METHODS) == {"perceive", "refine", "interpret"}
    assert answered(ORACLE, options={"world_model": "prompted"}) == {"predict"}
    assert not answered(*METHODS, engine="small")


def test_a_domain_without_a_pair_yet_has_no_row() -> None:
    rows = scores.rows("StateFactory", "rules", {"alfworld": np.array([0.2, 0.4]), "webshop": np.array([])})
    assert [(row["metric"], row["n"]) for row in rows] == [(scores.metric("alfworld"), 2)]
