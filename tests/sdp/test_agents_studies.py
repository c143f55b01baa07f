"""SDP beside the agents: every method that fits a benchmark plays the same tasks to their end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lab.machine.faults import MissingData
from lab.results.statistics import holm
from lab.runs import collecting, recordings, study
from lab.runs.experiment import BadSetting
from lab.runs.study_results import Results
from lab.runs.trial import changed
from sdp.studies import agents_details, conditions
from sdp.studies.agents import ACTED, REACT, STUDIES, even, stood_in
from sdp.studies.conditions import BLANK

SDP, PLACEBO, BLANKED = conditions.SDP.name, conditions.PLACEBO.name, conditions.BLANKED.name
DIRECT = conditions.DIRECT.name
NOISY, EXPERT = "rules@0.8?judge=GPT-5.2", "oracle@0.8?judge=GPT-5.2"
SOME = (SDP, PLACEBO, BLANKED, DIRECT, "ReAct", "Plan-and-Solve", f"Plan-and-Solve{BLANK}", "retrieve once")


def played(dataset: str, engine: str = NOISY) -> Results:
    engines = stood_in(dataset, SOME, EXPERT)
    return STUDIES[dataset].run(engine=engine, engines=engines, conditions=SOME, data="synthetic", limit=3, workers=1)


@pytest.mark.parametrize("dataset", ["TravelPlanner", "AssistantBench", "MuSiQue"])
def test_all_methods_that_fit_play_the_same_tasks_to_their_end(dataset: str) -> None:
    run = played(dataset)
    assert set(run.setup.methods) == {name for name in SOME if dataset in STUDIES[dataset].condition(name).plays}
    assert len({tuple(run.of(dataset, name)) for name in run.setup.methods}) == 1
    assert not run.not_measured and not any(episode.failed for episode in run.episodes.values())
    shown = run.beside_published()
    named = {name for name in run.setup.methods if name not in ACTED or even(run.setup)}
    assert named <= {*shown["method"]}
    assert run.frame()["method"].str.contains("expert").any() != even(run.setup)
    assert STUDIES[dataset].metrics[0].title in {*shown["metric"]}
    assert len(agents_details.placebos(run)) == 3
    assert set(agents_details.faults(run)["method"]) == {name for name in run.setup.methods if name in ACTED}
    assert ("over budget, %" in agents_details.faults(run)) == (dataset == "TravelPlanner")


def test_only_where_all_are_answered_for_alike_is_anything_compared_with_sdp() -> None:
    assert even(played("MuSiQue").setup) and even(played("TravelPlanner").setup)
    assert not even(played("AssistantBench").setup)


def test_flawless_rules_make_a_plan_and_its_placebo_alike() -> None:
    run = played("HotpotQA", "rules")
    pairs = agents_details.placebos(run).set_index("compared")
    assert pairs.loc[f"Plan-and-Solve − Plan-and-Solve{BLANK}", "difference"] == 0
    assert {*run.scores_of("HotpotQA", "Plan-and-Solve").values()} == {1.0}


def test_the_primary_comparison_is_sdp_less_react_corrected_over_the_benchmarks() -> None:
    runs = [played(dataset, "rules@0.5") for dataset in ("MuSiQue", "HotpotQA")]
    lines = study.primary(runs)
    assert lines["dataset"].tolist() == ["MuSiQue", "HotpotQA"]
    assert lines["difference"].tolist() == (lines[SDP] - lines[REACT]).tolist()
    assert lines["p (Holm)"].tolist() == holm(lines["p"].tolist())
    assert study.primary([replace(runs[0], setup=replace(runs[0].setup, methods=(SDP,)))]).empty


def test_what_a_method_did_beyond_the_agents_caps_counts_as_failed_within_them() -> None:
    run = played("MuSiQue")
    whole = agents_details.footing(run).set_index("method")
    assert (whole["over"] == 0).all() and (whole["score"] == whole["within"]).all()
    assert DIRECT not in whole.index and (whole["cap of calls"] == 2 * whole["cap of steps"]).all()
    most = int(whole.loc[SDP, "most calls"])
    capped = replace(run, setup=replace(run.setup, options={**run.setup.options, "settings.calls": most - 1}))
    line = agents_details.footing(capped).set_index("method").loc[SDP]
    beyond = [task for task, calls in run.values("MuSiQue", SDP, "calls").items() if calls == most]
    lost = sum(run.scores_of("MuSiQue", SDP)[task] for task in beyond)
    assert line["over"] == len(beyond) > 0 and line["score"] - line["within"] == pytest.approx(100 * lost / line["n"])


def test_kept_rows_stand_beside_the_papers_where_the_benchmark_is_not_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = played("MuSiQue")
    monkeypatch.setenv("LAB_RECORDINGS", str(tmp_path))
    run.keep("tables2to5_agents-musique-noisy", "3 questions")
    rows = STUDIES["MuSiQue"].beside_published()
    assert {*rows["evidence"]} == {"published", "simulated"}
    own = rows[rows["evidence"] == "simulated"]
    assert own["value"].tolist() == run.frame()["value"].tolist()
    assert own["method"].str.endswith(", 3 questions").all()
    assert not len(STUDIES["HotpotQA"].beside_published().query("evidence != 'published'"))


def test_kept_and_recorded_rows_have_the_data_that_they_are_of() -> None:
    rows = STUDIES["TravelPlanner"].beside_published().query("evidence != 'published'")
    assert rows["method"].str.startswith(BLANKED).sum() == 3 and set(rows["data"]) == {"official"}


def test_a_recording_is_replayed_with_the_options_that_it_was_made_with() -> None:
    (recording,) = recordings.names(STUDIES["HotpotQA"].name)
    try:
        resolved = STUDIES["HotpotQA"].trial(f"replay:{recording}").resolved()
        tasks = collecting.manifest_of(resolved).tasks
    except MissingData:
        pytest.skip("the recorded questions are official data, which is not here")
    assert len(tasks) == 480 and sum(f"/{BLANKED}/" in task for task in tasks) == 120
    assert resolved.options["settings.schema"] is True and resolved.options[f"{BLANKED}:blanked"] == 0.128
    with pytest.raises(BadSetting, match="settings.schema=True, not False"):
        STUDIES["HotpotQA"].trial(f"replay:{recording}", options={"settings.schema": False}).resolved()


def test_rows_of_actions_that_are_bound_to_their_form_say_so() -> None:
    run = played("MuSiQue")
    bound = changed(run, "setup.options", {"settings.schema": "action"}).frame()["method"]
    acted = [name for name in run.setup.methods if name in ACTED]
    assert [name for name in bound if name.endswith(", actions bound to their form")] == [
        f"{name}, actions bound to their form" for name in acted
    ]
    assert {*bound} > {SDP, PLACEBO, BLANKED, DIRECT}
