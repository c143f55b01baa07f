"""Table 5: all methods on the same questions, in one run that is recorded, replayed and compared as one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agents.experiments.acting import REACT
from lab.results.statistics import holm
from lab.runs.experiment import BadSetting
from sdp.experiments import table5
from sdp.experiments.side_by_side import PLACEBO, SDP
from sdp.experiments.table5 import METHODS, Setup
from sdp.placebo import rejected
from worlds.multihop.questions import EVIDENCE

SMALL = Setup(limit=3)
NOISY = Setup(engine="rules@0.7?judge=GPT-5.2", limit=6, methods=(SDP, "SDP without Validate", PLACEBO))


@pytest.fixture(scope="module")
def played() -> table5.Results:
    return table5.with_placebo(SMALL)


@pytest.fixture(scope="module")
def noisy() -> table5.Results:
    return table5.with_placebo(NOISY)


def test_rules_play_made_questions_on_which_none_was_written(played: table5.Results) -> None:
    assert (played.setup.data, played.setup.split) == ("made", "reporting")
    assert {len(played.of(*part)) for part in played.parts} == {3}


def test_every_method_is_asked_the_same_questions(played: table5.Results) -> None:
    for dataset in played.setup.datasets:
        assert len({tuple(played.of(dataset, name)) for name in METHODS}) == 1


def test_a_question_counts_when_every_method_has_answered_it() -> None:
    setup = SMALL.resolved()
    groups = [setup.group(task) for task in setup.tasks()]
    assert groups == [one for one in dict.fromkeys(groups) for _ in METHODS]


def test_react_can_stand_beside_on_the_same_questions_and_what_is_recorded_stays() -> None:
    run = table5.collect(replace(SMALL, methods=(SDP, REACT)))
    assert {len(run.of(*part)) for part in run.parts} == {3}
    assert (
        run.values("HotpotQA", REACT, "em")
        == run.values("HotpotQA", SDP, "em")
        == dict.fromkeys(run.of("HotpotQA", SDP), 1.0)
    )
    assert set(table5.frame(run)["method"]) == set(table5.comparisons(run)["method"]) | {SDP} == {SDP, REACT}
    assert REACT not in (*METHODS, *table5.RECORDED)


def test_agents_that_plan_can_stand_beside_and_their_placebos_ask_as_often() -> None:
    names = ("Plan-and-Solve", "Plan-and-Solve, blank plans", "interleave")
    run = table5.collect(replace(SMALL, methods=(SDP, *names)))
    planned, blank, _ = (sum(run.values("MuSiQue", name, "calls").values()) for name in names)
    assert planned == blank > 0
    assert [run.setup.part("MuSiQue", name).settings.blank for name in names] == [False, True, False]


def test_rows_name_what_was_asked_and_searched(played: table5.Results) -> None:
    rows = table5.frame(played)
    assert set(rows["data"]) == {"made"}
    assert set(rows["metric"]) == {"HotpotQA EM", "HotpotQA F1", "MuSiQue EM", "MuSiQue F1"}
    assert rows["source"].str.contains("made questions").all()
    official = replace(played.setup, data="official", split=EVIDENCE[0], setting="open")
    assert table5.corpus(official, "MuSiQue") == "annotated_full questions, 10,024 paragraphs"
    assert len(table5.with_published(rows)) > len(rows)


def test_so_few_questions_show_nothing(played: table5.Results) -> None:
    compared = table5.comparisons(played)
    assert (compared["p (Holm)"] >= compared["p"]).all()
    assert set(compared["smallest"]) == {600 / 3}  # three questions show nothing: McNemar's test needs six that differ


def test_the_primary_comparison_is_corrected_over_both_datasets() -> None:
    run = table5.collect(replace(SMALL, engine="rules@0.6", limit=8, methods=(SDP, table5.DIRECT)))
    alone = replace(run, setup=replace(run.setup, methods=(SDP,)))
    lines = table5.primary([run, alone])
    every = table5.comparisons(run)
    assert lines["difference"].tolist() == (-every[f"less {SDP}"]).tolist() and lines["difference"].any()
    assert lines["gained"].tolist() == every["lost"].tolist()
    assert lines["p (Holm)"].tolist() == holm(lines["p"].tolist())
    assert table5.primary([alone]).empty


def test_the_placebo_is_rejected_as_often_as_sdp(noisy: table5.Results) -> None:
    assert 0 < noisy.setup.rejects < 1
    assert noisy.setup.rejects == rejected(noisy.trajectories(SDP))
    loops = table5.anatomy(noisy).set_index(["dataset", "method"])
    assert (
        loops["calls"].xs(PLACEBO, level="method") > loops["calls"].xs("SDP without Validate", level="method")
    ).all()


def test_a_timeline_is_that_of_the_method(noisy: table5.Results) -> None:
    task, episode = next(iter(noisy.episodes.items()))
    shown = noisy.setup.timeline(episode)
    assert (shown.title, shown.steps[-1].title) == (task, "the official metric on the answer")


def test_settings_are_compared_on_the_questions_of_both() -> None:
    setups = (replace(SMALL, setting=setting, methods=(SDP,)) for setting in ("distractor", "open"))  # type: ignore[arg-type]
    compared = table5.between(*map(table5.collect, setups))
    assert list(compared["n"]) == [3, 3]
    assert {"distractor", "open"} <= set(compared.columns)


@pytest.mark.parametrize("wrong", [{"datasets": ("SQuAD",)}, {"methods": ("SDP without luck",)}, {"methods": ()}])
def test_an_unknown_name_is_refused_with_those_that_there_are(wrong: dict[str, tuple[str, ...]]) -> None:
    with pytest.raises(BadSetting, match="choose from"):
        replace(SMALL, **wrong).resolved()  # type: ignore[arg-type]


def test_titles_first_find_no_less_among_made_articles() -> None:
    found = table5.retrieval("made")
    assert (found["titles first"] >= found["content alone"]).all()
