"""SDP beside the agents: every method that fits a benchmark plays the same tasks to their end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lab.machine.faults import MissingData, Unavailable
from lab.runs import collecting
from lab.runs.experiment import BadSetting
from lab.runs.study_results import Results
from lab.runs.trial import changed
from sdp.studies import agents, conditions
from sdp.studies.agents import ACTED, STUDIES, even, stood_in
from sdp.studies.conditions import BLANK

SDP, PLACEBO, BLANKED = conditions.SDP.name, conditions.PLACEBO.name, conditions.BLANKED.name
DIRECT = conditions.DIRECT.name
NOISY, EXPERT = "rules@0.8?judge=GPT-5.2", "oracle@0.8?judge=GPT-5.2"
SOME = (SDP, PLACEBO, BLANKED, DIRECT, "ReAct", "Plan-and-Solve", f"Plan-and-Solve{BLANK}", "retrieve once")


def played(dataset: str, engine: str = NOISY) -> Results:
    engines = stood_in(dataset, SOME, EXPERT)
    return STUDIES[dataset].run(engine=engine, engines=engines, conditions=SOME, data="synthetic", limit=3, workers=1)


@pytest.mark.slow
@pytest.mark.parametrize("dataset", ["TravelPlanner", "AssistantBench", "MuSiQue"])
def test_all_methods_that_fit_play_the_same_tasks_to_their_end(dataset: str) -> None:
    run = played(dataset)
    assert even(run.setup) == (dataset != "AssistantBench"), "there the agents follow an expert, and SDP rules"
    assert set(run.setup.methods) == {name for name in SOME if dataset in STUDIES[dataset].condition(name).plays}
    assert len({tuple(run.of(dataset, name)) for name in run.setup.methods}) == 1
    assert not run.not_measured and not any(episode.failed for episode in run.episodes.values())
    shown = run.beside_published()
    named = {name for name in run.setup.methods if name not in ACTED or even(run.setup)}
    assert named <= {*shown["method"]}
    assert run.frame()["method"].str.contains("expert").any() != even(run.setup)
    assert STUDIES[dataset].metrics[0].title in {*shown["metric"]}
    assert len(agents.placebos(run)) == 3
    assert set(agents.faults(run)["method"]) == {name for name in run.setup.methods if name in ACTED}
    assert ("over budget, %" in agents.faults(run)) == (dataset == "TravelPlanner")


def test_flawless_rules_make_a_plan_and_its_placebo_alike() -> None:
    run = played("HotpotQA", "rules")
    pairs = agents.placebos(run).set_index("compared")
    assert pairs.loc[f"Plan-and-Solve − Plan-and-Solve{BLANK}", "difference"] == 0
    assert {*run.scores_of("HotpotQA", "Plan-and-Solve").values()} == {1.0}


def test_what_a_method_did_beyond_the_agents_caps_counts_as_failed_within_them() -> None:
    run = played("MuSiQue")
    whole = agents.footing(run).set_index("method")
    assert (whole["over"] == 0).all() and (whole["score"] == whole["within"]).all()
    assert DIRECT not in whole.index and (whole["cap of calls"] == 2 * whole["cap of steps"]).all()
    most = int(whole.loc[SDP, "most calls"])
    capped = replace(run, setup=replace(run.setup, options={**run.setup.options, "settings.calls": most - 1}))
    line = agents.footing(capped).set_index("method").loc[SDP]
    beyond = [task for task, calls in run.values("MuSiQue", SDP, "calls").items() if calls == most]
    lost = sum(run.scores_of("MuSiQue", SDP)[task] for task in beyond)
    assert line["over"] == len(beyond) > 0 and line["score"] - line["within"] == pytest.approx(100 * lost / line["n"])


def test_a_recording_is_replayed_with_the_options_that_it_was_made_with() -> None:
    recording = "tables2to5_agents-travelplanner-local-openvino"
    trips = STUDIES["TravelPlanner"]
    try:
        resolved = trips.trial(f"replay:{recording}").resolved()
        tasks = collecting.manifest_of(resolved).tasks
    except MissingData:
        pytest.skip("the recorded queries are official data, which is not here")
    assert len(tasks) == 240 and sum(f"/{BLANKED}/" in task for task in tasks) == 60
    assert resolved.options["settings.schema"] is True and resolved.options[f"{BLANKED}:blanked"] == 0.34
    with pytest.raises(BadSetting, match="settings.schema=True, not False"):
        trips.trial(f"replay:{recording}", options={"settings.schema": False}).resolved()


def test_rows_of_actions_that_are_bound_to_their_form_say_so() -> None:
    run = played("MuSiQue")
    bound = changed(run, "setup.options", {"settings.schema": "action"}).frame()["method"]
    acting = ("ReAct", "Plan-and-Solve", f"Plan-and-Solve{BLANK}")
    assert [name for name in bound if name.endswith(", actions bound to their form")] == [
        f"{name}, actions bound to their form" for name in acting
    ]
    assert {*bound} > {SDP, PLACEBO, BLANKED, DIRECT, "retrieve once"}
    assert {"GoalAct"} == {"GoalAct", "TDP"} & agents.BOUND, "TDP offers actions of its own"


def test_a_model_plays_the_agents_only_on_a_stated_number_of_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "SIMULATED", 1)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    results = agents.beside("TravelPlanner", "gpt-4o", -1)
    assert results.evidence == "simulated" and len(results.episodes) == len(results.setup.methods) > 9
    with pytest.raises(Unavailable, match="127.0.0.1:9"):
        agents.beside("TravelPlanner", "gpt-4o", 1)
