"""Table 5: all methods on the same questions, in one run that is recorded, replayed and compared as one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agents.experiments.acting import REACT
from lab.results.statistics import holm
from lab.runs import study
from lab.runs.collecting import collect
from lab.runs.study_results import Results
from sdp.studies import conditions, table5
from sdp.studies.comparing import between
from sdp.studies.conditions import rejections
from sdp.studies.loop_counts import loop_counts
from sdp.studies.multihop_details import retrieval
from sdp.studies.table5 import STUDY
from worlds.multihop.questions import EVIDENCE

SDP, PLACEBO = conditions.SDP.name, conditions.PLACEBO.name
METHODS = STUDY.names()
SMALL = STUDY.trial(limit=3)
NOISY = replace(SMALL, engine="rules@0.7?judge=GPT-5.2", limit=6, methods=(SDP, "SDP without Validate", PLACEBO))


@pytest.fixture(scope="module")
def played() -> Results:
    return collect(SMALL)


@pytest.fixture(scope="module")
def noisy() -> Results:
    return collect(NOISY)


def test_rules_play_made_questions_on_which_none_was_written(played: Results) -> None:
    assert (played.setup.data, played.setup.options["split"]) == ("synthetic", "reporting")
    assert {len(played.of(*part)) for part in played.parts} == {3}


def test_every_method_is_asked_the_same_questions(played: Results) -> None:
    for dataset in played.setup.datasets:
        assert len({tuple(played.of(dataset, name)) for name in METHODS}) == 1


def test_react_can_stand_beside_on_the_same_questions_and_what_is_recorded_stays() -> None:
    run = collect(replace(SMALL, methods=(SDP, REACT)))
    assert {len(run.of(*part)) for part in run.parts} == {3}
    assert (
        run.values("HotpotQA", REACT, "em")
        == run.values("HotpotQA", SDP, "em")
        == dict.fromkeys(run.of("HotpotQA", SDP), 1.0)
    )
    assert set(run.frame()["method"]) == set(run.compare()["method"]) | {SDP} == {SDP, REACT}
    assert REACT not in (*METHODS, *STUDY.names("gpt-4o"))


def test_agents_that_plan_can_stand_beside_and_their_placebos_ask_as_often() -> None:
    names = ("Plan-and-Solve", "Plan-and-Solve, blank plans", "interleave")
    run = collect(replace(SMALL, methods=(SDP, *names)))
    planned, blank, _ = (sum(run.values("MuSiQue", name, "calls").values()) for name in names)
    assert planned == blank > 0
    assert [run.setup.part("MuSiQue", name).settings.blank for name in names] == [False, True, False]


def test_rows_name_what_was_asked_and_searched(played: Results) -> None:
    rows = played.frame()
    assert set(rows["data"]) == {"synthetic"}
    assert set(rows["metric"]) == {"HotpotQA EM", "HotpotQA F1", "MuSiQue EM", "MuSiQue F1"}
    assert rows["source"].str.contains("synthetic questions").all()
    official = replace(played.setup, data="official", options={"split": EVIDENCE[0], "setting": "open"})
    assert table5.asked(official, "MuSiQue") == "annotated_full questions, 10,024 paragraphs"
    assert len(played.beside_published()) > len(rows)


def test_so_few_questions_show_nothing(played: Results) -> None:
    compared = played.compare()
    assert (compared["p (Holm)"] >= compared["p"]).all()
    assert set(compared["smallest"]) == {600 / 3}  # three questions show nothing: McNemar's test needs six that differ


def test_the_primary_comparison_is_corrected_over_both_datasets() -> None:
    run = collect(replace(SMALL, engine="rules@0.6", limit=8, methods=(SDP, table5.ALL.name)))
    alone = replace(run, setup=replace(run.setup, methods=(SDP,)))
    lines = study.primary([run, alone])
    every = run.compare()
    assert lines["difference"].tolist() == (-every[f"less {SDP}"]).tolist() and lines["difference"].any()
    assert lines["gained"].tolist() == every["lost"].tolist()
    assert lines["p (Holm)"].tolist() == holm(lines["p"].tolist())
    assert study.primary([alone]).empty


def test_the_placebo_is_rejected_as_often_as_sdp(noisy: Results) -> None:
    assert 0 < noisy.setup.options[f"{PLACEBO}:placebo"] == rejections(noisy) < 1
    loops = loop_counts(noisy).set_index(["dataset", "method"])
    assert (
        loops["calls"].xs(PLACEBO, level="method") > loops["calls"].xs("SDP without Validate", level="method")
    ).all()


def test_a_timeline_is_that_of_the_method(noisy: Results) -> None:
    task, episode = next(iter(noisy.episodes.items()))
    shown = noisy.setup.timeline(episode)
    assert (shown.title, shown.steps[-1].title) == (task, "the official metric on the answer")


def test_settings_are_compared_on_the_questions_of_both() -> None:
    trials = (replace(SMALL, options={"setting": setting}, methods=(SDP,)) for setting in ("distractor", "open"))
    compared = between(*map(collect, trials), lambda run: run.setup.options["setting"])
    assert list(compared["n"]) == [3, 3]
    assert {"distractor", "open"} <= set(compared.columns)


def test_titles_first_find_no_less_among_made_articles() -> None:
    found = retrieval("synthetic")
    assert (found["titles first"] >= found["content alone"]).all()
