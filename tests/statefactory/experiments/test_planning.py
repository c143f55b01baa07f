"""Table 2 as a run: which methods are played, what stands beside what, and what is left out with a reason."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from agents.play import Settings
from lab.models.backbone import Ledger
from lab.models.connect import connected
from lab.results import tables
from lab.runs import recordings
from lab.runs.collecting import collect
from lab.runs.experiment import BadSetting
from lab.runs.manifest import Manifest
from statefactory.experiments import planning
from statefactory.experiments.guided import (
    INTUITIVE,
    JUDGE,
    LEARNED,
    METHODS,
    REACT,
    STATEFACTORY,
    WORLDS,
    AlfWorld,
    BlocksWorld,
    ScienceWorld,
)
from statefactory.experiments.planning import Planning, Results, by_rules, left_out
from statefactory.planning.rewarded import K

CONSTANT, ORACLE = "ReAct + constant", "ReAct + oracle"
SMALL = Planning(
    data="synthetic", methods=(REACT, CONSTANT, ORACLE), limits={"AlfWorld": 2, "BlocksWorld": 3}, engine="oracle@0.6"
)


def played(setup: Planning) -> Results:
    return collect(setup, workers=1, show_progress=False)


def test_a_run_holds_methods_beside_each_other_and_the_placebo_beside_react_shows_no_difference() -> None:
    run = played(SMALL)
    assert len(run.episodes) == 3 * (2 + 3) and run.evidence == "simulated"
    rows = planning.frame(run)
    assert set(rows["metric"]) == {"Success rate, AlfWorld", "Success rate, BlocksWorld"}
    assert set(rows["n"]) == {2, 3} and rows["ci_low"].notna().all()
    assert {("privileged" in row.source) == (row.method != REACT) for row in rows.itertuples()} == {True}
    compared = planning.comparisons(run).set_index(["dataset", "method"])
    for dataset in run.setup.datasets:
        same = compared.loc[dataset, CONSTANT]
        assert (same["gained"], same["lost"], same[f"less {REACT}"]) == (0, 0, 0.0)
        assert same["calls"] > run.mean(dataset, REACT, "calls")
    costs = planning.costs(run)
    assert set(costs["operator"]) == {"act", "choose"} and set(costs["world"]) == {"AlfWorld", "BlocksWorld"}


def test_published_rows_are_the_papers_six() -> None:
    rows = tables.published("Table 2", "statefactory")
    assert len(rows) == 6 and set(rows["method"]) == {REACT, STATEFACTORY} <= METHODS.keys()
    assert {planning.metric(world) for world in WORLDS} == set(rows["metric"])
    # Shares of 134 games, of 100 problems and of 137 tasks, which is how many they were played on.
    solved = [value * n / 100 for value, n in zip(rows["value"], (134, 134, 100, 100, 137, 137), strict=True)]
    assert solved == pytest.approx([46, 75, 85, 93, 31, 48], abs=0.02)


def test_what_cannot_be_played_is_left_out_with_its_reason() -> None:
    setup = replace(SMALL, methods=(REACT, JUDGE, INTUITIVE))
    assert all("no rule judges progress" in left_out(setup)[name] for name in planning.JUDGES)
    assert set(planning.JUDGES) == {JUDGE, INTUITIVE} == METHODS.keys() - planning.USUAL - {LEARNED}
    assert setup.resolved().methods == (REACT,)
    asked = replace(setup, engine="oracle@0.6, Judge: small")
    assert left_out(asked) == {} and "judge" in asked.operators()
    reason = planning.no_reward_model()
    assert (LEARNED in left_out(replace(SMALL, methods=(LEARNED,)))) == bool(reason)
    with pytest.raises(BadSetting, match="none of them can be played"):
        replace(SMALL, methods=(JUDGE,)).resolved()


def test_a_world_or_method_that_there_is_not_is_told() -> None:
    with pytest.raises(BadSetting, match="'ReAct' on 'Chess'"):
        replace(SMALL, datasets=("Chess",)).resolved()
    with pytest.raises(BadSetting, match="'luck' on 'AlfWorld'"):
        replace(SMALL, methods=("luck",)).resolved()


def test_by_default_a_slice_of_made_data_is_played_and_more_of_official_data() -> None:
    with pytest.raises(BadSetting, match="no world 'AlfWrold'; did you mean 'AlfWorld'"):
        replace(SMALL, limits={"AlfWrold": 3}, limit=-1).resolved()
    setup = replace(SMALL, limits={"AlfWorld": 3}, limit=-1).resolved()
    assert (
        setup.limits == {"AlfWorld": 3, "BlocksWorld": planning.SLICES["synthetic"]["BlocksWorld"]} and setup.limit == 0
    )
    assert planning.SLICES["official"]["AlfWorld"] == 0


def test_calls_are_capped_by_how_many_questions_a_turn_has() -> None:
    def most(method: str, **changed: object) -> int:
        return BlocksWorld(guided=method, settings=Settings(steps=10), **changed).capped().calls  # type: ignore[arg-type]

    assert [most(REACT), most(CONSTANT), most(STATEFACTORY)] == [20, 40, 20 * (2 + 4 * 3)]
    assert most(CONSTANT, world_model="prompted") == 20 * (2 + 3)
    assert BlocksWorld(guided=CONSTANT, settings=Settings(calls=7)).capped().calls == 7


def test_each_world_has_the_papers_number_of_candidates() -> None:
    assert [K[world.name] for world in (AlfWorld, BlocksWorld, ScienceWorld)] == [3, 3, 5]
    assert all(world.worlds_at_once > 1 for world in (AlfWorld, BlocksWorld, ScienceWorld))


def test_scienceworld_is_played_with_candidates_from_its_list_and_without_points() -> None:
    setup = ScienceWorld(
        engine="oracle@0.8", data="synthetic", limit=1, guided=ORACLE, settings=Settings(steps=5)
    ).resolved()
    (result,) = [setup.play(task, Ledger(connected(setup.engine))) for task in setup.tasks()]
    turns = result["history"]["turns"]
    foreseen = [turn["said"] for turn in turns if turn["operator"] == "look ahead" and turn["said"]]
    assert foreseen and all(len(text.splitlines()) == 5 for text in foreseen)
    assert result["steps"] == 5 and not any("Points gained" in turn["observation"] for turn in turns)


def test_kept_rows_and_their_comparisons_stand_beside_other_worlds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = played(replace(SMALL, methods=(REACT, CONSTANT), datasets=("BlocksWorld", "AlfWorld")))
    monkeypatch.setenv("LAB_RECORDINGS", str(tmp_path))
    assert planning.keep(results, "small") == "table2_planning-small"
    pd.testing.assert_frame_equal(
        planning.kept().drop(columns=["recording", "date"]),
        planning.comparisons(results),
        check_dtype=False,
    )
    rows = recordings.rows(planning.KEPT)
    assert rows["value"].tolist() == planning.frame(results)["value"].tolist()
    beside = planning.with_published(results)
    assert not beside.duplicated(["method", "backbone", "metric"]).any()
    marked = beside["backbone"].str.startswith("kept as small, ")
    assert marked.sum() == len(rows), "no line of theirs is taken for the run's"
    torn = replace(results, episodes=dict(list(results.episodes.items())[2:]))  # a task less, of both methods
    with pytest.raises(ValueError, match="2 of its 10 episodes are not played"):
        planning.keep(torn, "torn")
    lost = replace(torn, not_measured={task: "the machine" for task in results.episodes if task not in torn.episodes})
    assert planning.keep(lost, "lost") and recordings.manifests()["table2_planning-lost"].played == "8 of 10"
    assert {each.run for each in recordings.manifests().values()} == {Manifest.read(results.folder).digest}
    shutil.rmtree(tmp_path / "table2_planning-lost")
    (tmp_path / "table2_planning-small" / "paired.csv").write_text("n\n", encoding="utf-8")
    assert not len(recordings.paired(planning.KEPT)), "a damaged one is told, and left out"


def test_rules_foresee_blocks_as_the_world_does_and_say_that_they_did() -> None:
    # Its reward is the penalty for an action that is foreseen to lead to where it led before.
    exact = replace(SMALL, methods=("ReAct + penalty alone",), datasets=("BlocksWorld",))
    ruled = replace(exact, world_model="prompted", engines=by_rules(exact.methods, "prompted"))
    runs = [played(each) for each in (exact, ruled)]
    one, other = ([episode.result["history"] for episode in run.episodes.values()] for run in runs)
    assert [[turn["said"] for turn in of["turns"]] for of in one] == [
        [turn["said"] for turn in of["turns"]] for of in other
    ]
    sources = [planning.frame(run)["source"].item() for run in runs]
    assert sources[0].endswith("exact world model (privileged)") and sources[1].endswith("world model: rules")


def test_who_cannot_foresee_is_told_before_anything_is_played() -> None:
    prompted = replace(SMALL, world_model="prompted")
    with pytest.raises(BadSetting, match="the stand-in acts, and foresees nothing"):
        prompted.resolved()
    with pytest.raises(BadSetting, match="no rules foresee ScienceWorld"):
        replace(prompted, datasets=("ScienceWorld",), engines={"predict": "rules"}).resolved()
    assert replace(prompted, methods=(REACT,)).resolved().methods == (REACT,), "which foresees nothing"


def test_a_replay_is_of_the_same_world_model_as_what_was_recorded() -> None:
    run = played(
        replace(SMALL, methods=(REACT, "ReAct + random"), datasets=("BlocksWorld",), limits={"BlocksWorld": 1})
    )
    recorded = replace(
        run, setup=replace(run.setup, engine="replay:kept", world_model="prompted"),
        backbone="small (local), Predict: rules",
    )  # fmt: skip
    rows = planning.frame(recorded).set_index("method")
    assert rows.loc["ReAct + random", "source"].endswith("world model: rules")
    assert rows["backbone"].to_dict() == {REACT: "small (local)", "ReAct + random": "small (local), Predict: rules"}


def test_rules_answer_what_they_can() -> None:
    assert by_rules([REACT, ORACLE]) == {} and set(by_rules(METHODS)) == {"perceive", "refine", "interpret"}  # type: ignore[arg-type]
