"""SDP beside the agents: every method that fits a benchmark plays the same tasks to their end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lab.results.statistics import holm
from lab.runs.experiment import BadSetting
from sdp.experiments import beside
from sdp.experiments.beside import BENCHMARKS, BLANK, DIRECT, METHODS, Setup
from sdp.experiments.side_by_side import PLACEBO, SDP

NOISY, EXPERT = "rules@0.8?judge=GPT-5.2", "oracle@0.8?judge=GPT-5.2"
SOME = (SDP, PLACEBO, DIRECT, "ReAct", "Plan-and-Solve", f"Plan-and-Solve{BLANK}", "retrieve once")


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
    assert named <= {*shown["method"]} and shown["method"].str.contains("expert").any() != beside.even(run)
    assert BENCHMARKS[dataset].metric in {*shown["metric"]}
    assert len(beside.placebos(run)) == 2
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


def test_what_there_is_not_is_refused() -> None:
    with pytest.raises(BadSetting, match="TravelPlanner"):
        Setup(datasets=("WebArena",)).resolved()
    with pytest.raises(BadSetting, match="choose from"):
        replace(Setup(), methods=("Chameleon",)).resolved()
    assert {*METHODS} > {*SOME}
