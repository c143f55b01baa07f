"""Table 5: all methods on the same questions, in one run that is recorded, replayed and compared as one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lab.runs.collecting import collect
from lab.runs.study_results import Results
from sdp.studies import conditions, table5
from sdp.studies.comparing import between, loop_counts
from sdp.studies.conditions import rejections
from sdp.studies.table5 import STUDY, retrieval
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


def test_rules_play_the_same_made_questions_on_which_none_was_written(played: Results) -> None:
    assert (played.setup.data, played.setup.options["split"]) == ("synthetic", "reporting")
    assert {len(played.of(*part)) for part in played.parts} == {3}
    for dataset in played.setup.datasets:
        assert len({tuple(played.of(dataset, name)) for name in METHODS}) == 1, "the same questions"


def test_a_source_names_the_corpus_that_is_searched(played: Results) -> None:
    official = replace(played.setup, data="official", options={"split": EVIDENCE[0], "setting": "open"})
    assert table5.asked(official, "MuSiQue") == "annotated_full questions, 10,024 paragraphs"


def test_so_few_questions_show_nothing(played: Results) -> None:
    compared = played.compare()
    assert (compared["p (Holm)"] >= compared["p"]).all()
    assert set(compared["smallest"]) == {600 / 3}  # three questions show nothing: McNemar's test needs six that differ


def test_the_placebo_is_rejected_as_often_as_sdp(noisy: Results) -> None:
    assert 0 < noisy.setup.options[f"{PLACEBO}:placebo"] == rejections(noisy) < 1
    calls = loop_counts(noisy).pivot(index="dataset", columns="method", values="calls")
    assert (calls[PLACEBO] > calls["SDP without Validate"]).all()


def test_settings_are_compared_on_the_questions_of_both() -> None:
    trials = (replace(SMALL, options={"setting": setting}, methods=(SDP,)) for setting in ("distractor", "open"))
    compared = between(*map(collect, trials), lambda run: run.setup.options["setting"])
    assert list(compared["n"]) == [3, 3]
    assert {"distractor", "open"} <= set(compared.columns)


def test_titles_first_find_no_less_among_made_articles() -> None:
    found = retrieval("synthetic")
    assert (found["titles first"] >= found["content alone"]).all()
