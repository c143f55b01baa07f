"""SDP beside the agents: every method that fits a benchmark plays the same tasks to their end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lab.machine.faults import MissingData
from lab.results.statistics import holm
from lab.runs import collecting
from lab.runs.experiment import BadSetting
from sdp.experiments import beside, side_by_side
from sdp.experiments.beside import BENCHMARKS, BLANK, DIRECT, METHODS, Setup
from sdp.experiments.side_by_side import BLANKED, PLACEBO, SDP

NOISY, EXPERT = "rules@0.8?judge=GPT-5.2", "oracle@0.8?judge=GPT-5.2"
SOME = (SDP, PLACEBO, BLANKED, DIRECT, "ReAct", "Plan-and-Solve", f"Plan-and-Solve{BLANK}", "retrieve once")


def played(dataset: str, engine: str = NOISY) -> beside.Results:
    engines = beside.stood_in(dataset, SOME, EXPERT)
    setup = Setup(engine=engine, engines=engines, datasets=(dataset,), methods=SOME, data="made", limit=3)
    return beside.collect(setup, workers=1, show_progress=False)


@pytest.mark.parametrize("dataset", ["TravelPlanner", "AssistantBench", "MuSiQue"])
def test_all_methods_that_fit_play_the_same_tasks_to_their_end(dataset: str) -> None:
    run = played(dataset)
    assert set(run.setup.methods) == {name for name in SOME if beside.fits(name, dataset)}
    assert len({tuple(run.of(dataset, name)) for name in run.setup.methods}) == 1
    assert not run.not_measured and not any(episode.failed for episode in run.episodes.values())
    shown = beside.with_published(run)
    named = {name for name in run.setup.methods if name not in beside.ACTED or beside.even(run)}
    assert named <= {*shown["method"]}
    assert beside.frame(run)["method"].str.contains("expert").any() != beside.even(run)
    assert BENCHMARKS[dataset].metric in {*shown["metric"]}
    assert len(beside.placebos(run)) == 3
    assert set(beside.faults(run)["method"]) == {name for name in run.setup.methods if name in beside.ACTED}
    assert ("over budget, %" in beside.faults(run)) == (dataset == "TravelPlanner")


def test_only_where_all_are_answered_for_alike_is_anything_compared_with_sdp() -> None:
    assert beside.even(played("MuSiQue")) and beside.even(played("TravelPlanner"))
    assert not beside.even(played("AssistantBench"))


def test_flawless_rules_make_a_plan_and_its_placebo_alike() -> None:
    run = played("HotpotQA", "rules")
    pairs = beside.placebos(run).set_index("method")
    assert pairs.loc["Plan-and-Solve", "difference"] == 0 and pairs.loc["Plan-and-Solve", "score"] == 100


def test_the_primary_comparison_is_sdp_less_react_corrected_over_the_benchmarks() -> None:
    runs = [played(dataset, "rules@0.5") for dataset in ("MuSiQue", "HotpotQA")]
    lines = beside.primary(runs)
    assert lines["dataset"].tolist() == ["MuSiQue", "HotpotQA"]
    assert lines["difference"].tolist() == (lines[SDP] - lines[beside.REACT]).tolist()
    assert lines["p (Holm)"].tolist() == holm(lines["p"].tolist())
    assert beside.primary([replace(runs[0], setup=replace(runs[0].setup, methods=(SDP,)))]).empty


def test_what_a_method_did_beyond_the_agents_caps_counts_as_failed_within_them() -> None:
    run = played("MuSiQue")
    whole = beside.footing(run).set_index("method")
    assert (whole["over"] == 0).all() and (whole["score"] == whole["within"]).all()
    assert DIRECT not in whole.index and (whole["cap of calls"] == 2 * whole["cap of steps"]).all()
    most = int(whole.loc[SDP, "most calls"])
    capped = replace(run, setup=replace(run.setup, caps={"calls": most - 1}))
    line = beside.footing(capped).set_index("method").loc[SDP]
    beyond = [task for task, calls in run.values("MuSiQue", SDP, "calls").items() if calls == most]
    lost = sum(run.scores("MuSiQue", SDP)[task] for task in beyond)
    assert line["over"] == len(beyond) > 0 and line["score"] - line["within"] == pytest.approx(100 * lost / line["n"])


def test_kept_rows_stand_beside_the_papers_where_the_benchmark_is_not_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = played("MuSiQue")
    monkeypatch.setenv("LAB_RECORDINGS", str(tmp_path))
    assert beside.keep(run, "musique-noisy", "3 questions") == "tables2to5_agents-musique-noisy"
    rows = beside.known_rows("MuSiQue")
    assert {*rows["evidence"]} == {"published", "simulated"}
    own = rows[rows["evidence"] == "simulated"]
    assert own["value"].tolist() == beside.frame(run)["value"].tolist()
    assert own["method"].str.endswith(", 3 questions").all()
    assert not len(beside.known_rows("HotpotQA").query("evidence != 'published'"))
    assert len(beside.with_published(run)) == len(rows)  # the run itself comes in its place


def test_a_control_that_recordings_call_a_placebo_is_found_under_its_name() -> None:
    assert side_by_side.named(["SDP's placebo, 60 easy queries", "ReAct"]) == [f"{BLANKED}, 60 easy queries", "ReAct"]
    setup = Setup()._as_recorded({"methods": ["SDP", "SDP's placebo"], "rejects": 0.34})
    assert setup.methods == (SDP, BLANKED)
    assert [setup.recorded_as(f"TravelPlanner/{name}/x") for name in (SDP, PLACEBO, BLANKED)] == [
        "TravelPlanner/SDP/x", f"TravelPlanner/{PLACEBO}/x", "TravelPlanner/SDP's placebo/x"
    ]  # fmt: skip
    kept = beside.known_rows("TravelPlanner").query("evidence != 'published'")
    assert kept["method"].str.startswith(BLANKED).sum() == 3 and set(kept["data"]) == {"official"}
    assert not kept["method"].str.contains("SDP's placebo").any()
    recording = next(name for name in Setup.recorded() if "hotpotqa" in name)
    try:
        played = Setup(engine=f"replay:{recording}").resolved()
        tasks = collecting.manifest_of(played).tasks
    except MissingData:
        pytest.skip("the recorded questions are official data, which is not here")
    assert len(tasks) == 480 and sum(f"/{BLANKED}/" in task for task in tasks) == 120


def test_rows_of_actions_that_are_bound_to_their_form_say_so() -> None:
    run = played("MuSiQue")
    bound = beside.frame(replace(run, setup=replace(run.setup, schema="action")))["method"]
    acted = [name for name in run.setup.methods if name in beside.ACTED]
    assert [name for name in bound if name.endswith(", actions bound to their form")] == [
        f"{name}, actions bound to their form" for name in acted
    ]
    assert {*bound} > {SDP, PLACEBO, BLANKED, DIRECT}


def test_what_there_is_not_is_refused() -> None:
    with pytest.raises(BadSetting, match="TravelPlanner"):
        Setup(datasets=("WebArena",)).resolved()
    with pytest.raises(BadSetting, match="choose from"):
        replace(Setup(), methods=("Chameleon",)).resolved()
    with pytest.raises(BadSetting, match="no cap turns; choose from steps, calls, tokens, stuck"):
        replace(Setup(), caps={"turns": 3}).resolved()
    with pytest.raises(BadSetting, match="no cap step; .*; did you mean 'steps'"):
        replace(Setup(), caps={"step": 3}).resolved()
    with pytest.raises(BadSetting, match=r"caps.steps='3': Input should be a valid integer"):
        replace(Setup(), caps={"steps": "3"}).resolved()
    with pytest.raises(BadSetting, match="TravelPlanner has no setting 'levls'; did you mean 'levels'"):
        replace(Setup(), options={"levls": ["hard"]}).resolved()
    assert {*METHODS} > {*SOME}
