"""The anatomy of trajectories: each share on walks that are worked out by hand, and on walks of any kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib

from lab.machine.paths import ROOT
from lab.runs import recordings

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.results import tables
from lab.results.statistics import wilson
from lab.runs.trial import Trial
from sdp import anatomy
from sdp.ablation import action_fidelity
from sdp.adapters.corridor import Corridor, CorridorAdapter, rolls
from sdp.anatomy import ALL, CASCADE, CERTIFIED, FORCED, NEITHER, STALLED
from sdp.loop import Settings, run_episode
from sdp.studies import figure3, table2, table5
from sdp.studies.comparing import loop_counts
from sdp.studies.table6 import STUDY as TABLE6
from sdp.trajectory import Forced, Trajectory


def walk(*dice: int, task: str = "", length: int = 4, **settings: Any) -> Trajectory:
    """A walk of `length` rooms that replans after the second failure; capped at ten attempts."""
    limits = {"budget": 1, "step_cap": 10} | settings
    return run_episode(task or str(dice), CorridorAdapter(Corridor(length, dice)), Settings(**limits))


def row(table: pd.DataFrame, of: str) -> dict[str, Any]:
    (found,) = table[table["of"] == of].to_dict("records")
    return found


def counts(table: pd.DataFrame) -> dict[str, tuple[float, int]]:
    return {one["of"]: (one["numerator"], one["denominator"]) for one in table.to_dict("records") if one["denominator"]}


STRAIGHT, LEAP, REPAIRED, STUCK = walk(1, 1, 1, 1), walk(3, 1), walk(1, 0, 0, 0, 3), walk(1, 2)
WALKS = [STRAIGHT, LEAP, REPAIRED, STUCK]
SCORES = {one.task: float(one.reached_goal) for one in WALKS}


def test_depths_are_counted_over_certifying_actions_of_all_episodes() -> None:
    depths = anatomy.cascade_depth(WALKS)
    assert counts(depths) == {"k = 1": (7, 10), "k = 2": (1, 10), "k = 3": (2, 10), CASCADE: (3, 10)}
    assert list(depths["of"])[-1] == CASCADE


def test_a_predicate_that_was_passed_by_force_was_not_certified() -> None:
    passed = replace(LEAP, attempts=(replace(LEAP.attempts[0], forced=True), *LEAP.attempts[1:]))
    assert counts(anatomy.cascade_depth([passed])) == {"k = 1": (1, 1), CASCADE: (0, 1)}
    assert counts(anatomy.rejected_first([passed])) == {"certified steps": (0, 1)}


def test_where_no_step_cascades_an_episode_counts_as_one_step() -> None:
    """A bootstrap of zeros would be certain of zero."""
    walks = [walk(1, 1, 1, 1, task=str(number)) for number in range(5)]
    cascades = row(anatomy.cascade_depth(walks), CASCADE)
    assert cascades["denominator"] == 20 and cascades["high"] == wilson(0, 5).high


def test_scores_are_grouped_by_how_often_the_plan_was_made_anew() -> None:
    grouped = anatomy.score_by_replans(WALKS, SCORES, most=3)
    assert counts(grouped) == {"0 replans": (2, 2), "1 replan": (1, 1), "3+ replans": (0, 1)}
    assert STUCK.replans >= 3 and list(grouped["of"])[2] == "2 replans", "a number that none has keeps its place"
    # An answer of Replan that could not be read gave no plan.
    misread = replace(REPAIRED, plans=(*REPAIRED.plans, replace(REPAIRED.plans[-1], fault="malformed answer")))
    assert REPAIRED.replans == 1 and misread.replans == 2
    assert counts(anatomy.score_by_replans([misread], SCORES)) == {"1 replan": (1, 1)}


def test_progress_is_that_of_failed_episodes_and_failed_is_what_the_benchmark_says() -> None:
    wrong = SCORES | {STRAIGHT.task: 0.0}
    assert counts(anatomy.progress_of_failures(WALKS, SCORES))[ALL] == (0.75, 1)
    progress = counts(anatomy.progress_of_failures(WALKS, wrong))
    assert progress == {ALL: (1.75, 2), STALLED: (0.75, 1), "failed, 4 predicates": (1.75, 2)}
    assert counts(anatomy.progress_of_failures(WALKS, wrong, kind="door")) == {
        ALL: (0, 2), STALLED: (0, 1), "failed, 0 doors": (0, 2),
    }  # fmt: skip


def test_calibration_sets_what_was_certified_against_the_benchmark_and_forced_answers_apart() -> None:
    guessed = replace(STUCK, task="guessed", forced=Forced("an answer", "heard"))
    mute = replace(STUCK, task="mute", forced=Forced(None, None, "malformed answer"))
    scores = {STRAIGHT.task: 1.0, REPAIRED.task: 1.0, LEAP.task: 0.5, "guessed": 1.0, "mute": 0.0}
    table = anatomy.calibration([STRAIGHT, REPAIRED, LEAP, guessed, mute], scores)
    assert counts(table) == {CERTIFIED: (2, 3), FORCED: (1, 1), NEITHER: (0, 1), anatomy.AGREEMENT: (3, 5)}
    agreement = row(table, anatomy.AGREEMENT)
    assert (agreement["share"], agreement["low"], agreement["high"]) == wilson(3, 5)


def test_a_trajectory_of_another_run_has_no_score_here() -> None:
    with pytest.raises(ValueError, match=r"no score of \(1, 2\); give the scores of the run"):
        anatomy.calibration(WALKS, {one.task: 1.0 for one in WALKS[:3]})


def test_an_episode_stalls_at_the_predicate_that_was_not_certified() -> None:
    kinds = tuple(replace(one, kind=kind) for one, kind in zip(STUCK.plans[-1].predicates, "aabb", strict=True))
    stuck = replace(STUCK, plans=(replace(STUCK.plans[-1], predicates=kinds),), task="stuck")
    # Three of four rooms are certified under earlier plans; the one plan that is kept here begins behind them.
    stuck = replace(stuck, plans=(replace(stuck.plans[0], start=3),), transitions=())
    assert (anatomy.stall(stuck), anatomy.stall(stuck, "b")) == ("b", "b 2")
    assert anatomy.stall(STUCK) == anatomy.UNKNOWN and anatomy.stall(LEAP) == CERTIFIED
    assert anatomy.stall(replace(STUCK, attempts=(), transitions=())) == anatomy.NO_PLAN
    lost = anatomy.stalls([stuck, LEAP, STRAIGHT], {"stuck": 0.0, LEAP.task: 0.0, STRAIGHT.task: 1.0}, "b")
    assert counts(lost) == {"b 2": (1, 2), CERTIFIED: (1, 2)}


def test_a_plan_is_compressed_where_it_has_fewer_predicates_than_there_were_actions() -> None:
    first, *later = REPAIRED.plans
    longer = [replace(plan, predicates=(*plan.predicates, *plan.predicates)) for plan in later]
    table = anatomy.compression([LEAP, replace(REPAIRED, plans=(first, *longer))], {LEAP.task: 16})
    assert counts(table) == {anatomy.ACTIONS: (8, 7), anatomy.TO_GOAL: (8, 7), anatomy.EXPERT: (4, 16)}
    assert row(table, anatomy.EXPERT)["share"] == 1 / 4
    assert pd.isna(row(table, anatomy.EXPERT)["high"]), "one episode has no interval"
    assert anatomy.EXPERT not in counts(anatomy.compression(WALKS))


def test_a_step_needed_a_rejection_if_its_first_attempt_was_not_certified() -> None:
    assert counts(anatomy.rejected_first(WALKS)) == {"certified steps": (1, 10)}


def test_evidence_counts_where_someone_annotated_it() -> None:
    shown = {"found": 1.0, "half": 0.5, "right": 0.0, "unknown": None}
    scores = {"found": 0.0, "half": 0.0, "right": 1.0, "unknown": 0.0, "episode failed": 0.0}
    assert counts(anatomy.evidence_never_shown(scores, shown)) == {"failed episodes": (1, 2)}


@pytest.mark.slow
@given(
    seeds=st.lists(st.integers(0, 10_000), max_size=6),
    right=st.lists(st.sampled_from([0.0, 0.4, 1.0]), min_size=6, max_size=6),
    length=st.integers(1, 5),
)
def test_shares_are_shares_with_their_interval_whatever_the_walks(
    seeds: list[int], right: list[float], length: int
) -> None:
    walks = [
        run_episode(
            str(number), CorridorAdapter(Corridor(length, rolls(seed))), Settings(budget=1, step_cap=1 + seed % 9)
        )
        for number, seed in enumerate(seeds)
    ]
    scores = {one.task: score for one, score in zip(walks, right, strict=False)}
    parts = [
        anatomy.cascade_depth(walks), anatomy.score_by_replans(walks, scores), anatomy.calibration(walks, scores),
        anatomy.progress_of_failures(walks, scores), anatomy.stalls(walks, scores), anatomy.rejected_first(walks),
    ]  # fmt: skip
    for one in (row for part in parts for row in part.to_dict("records")):
        if not one["denominator"]:
            assert pd.isna(one["share"])
            continue
        assert one["share"] == pytest.approx(one["numerator"] / one["denominator"]) and 0 <= one["share"] <= 1
        assert pd.isna(one["low"]) or 0 <= one["low"] <= one["share"] <= one["high"] <= 1
    depths, replans, calibration, _, stalls, rejected = map(counts, parts)
    steps = sum(len(one.transitions) for one in walks)
    assert sum(top for of, (top, _) in depths.items() if of != CASCADE) == steps
    assert sum(below for _, below in replans.values()) == len(walks)
    assert sum(calibration[of][1] for of in (CERTIFIED, FORCED, NEITHER) if of in calibration) == len(walks)
    assert sum(top for top, _ in stalls.values()) == sum(score < 1 for score in scores.values())
    missed = sum((1 - action_fidelity(one)) * len(one.transitions) for one in walks)
    assert sum(top for top, _ in rejected.values()) == pytest.approx(missed)


@pytest.fixture(scope="module")
def runs() -> figure3.Runs:
    trips = TABLE6.trial("rules@0.7", ["TravelPlanner"], ["SDP"], data="synthetic", limit=6)
    return figure3.collect([trips, questions("HotpotQA"), questions("MuSiQue")])


def questions(benchmark: str) -> Trial:
    options = {"split": "reporting", "setting": "open"}
    return TABLE6.trial("rules@0.8?judge=GPT-5.2", [benchmark], ["SDP"], options, data="synthetic", limit=12)


@pytest.fixture(scope="module")
def whole(runs: figure3.Runs) -> pd.DataFrame:
    return figure3.shares(runs)


@pytest.fixture
def no_figure_left() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.mark.slow
def test_every_part_is_there_of_every_benchmark_in_percent(runs: figure3.Runs, whole: pd.DataFrame) -> None:
    assert set(whole["part"]) == set(figure3.PARTS) and set(whole["evidence"]) == {"simulated"}
    assert set(whole["data"]) == {"synthetic"} == set(figure3.rows(whole, runs)["data"])
    told = whole[whole["denominator"] > 0]
    assert (told["share"] - 100 * told["numerator"] / told["denominator"]).abs().max() < 1e-9
    agreement = told[told["of"] == anatomy.AGREEMENT].set_index("benchmark")["denominator"]
    assert agreement.to_dict() == {"TravelPlanner": 6, "HotpotQA": 12, "MuSiQue": 12}
    read = figure3.table(whole, figure3.STALLS)
    assert read["counted"].str.fullmatch(r"\d+ of \d+").all() and "hop 2" in set(read["of"])


def test_readings_stand_beside_what_the_paper_says_of_the_same(runs: figure3.Runs, whole: pd.DataFrame) -> None:
    beside = figure3.layout(figure3.with_published(figure3.rows(whole, runs)))
    assert list(beside.columns[-4:]) == ["TravelPlanner", "ScienceWorld", "HotpotQA", "MuSiQue"]
    published = beside[beside["evidence"] == "published"]
    assert published["MuSiQue"].tolist() == ["–", "60-64%", "60%", "19%", "~76%", "–"]
    assert list(dict.fromkeys(beside["reading"])) == list(figure3.READINGS)
    ours = beside[(beside["evidence"] == "simulated") & (beside["reading"] == beside["reading"].iloc[0])]
    assert ours["TravelPlanner"].tolist()[0].startswith("0.0 [0.0, ")


def test_the_expert_needs_an_action_a_hop_and_the_answer_and_elsewhere_nobody_knows(runs: figure3.Runs) -> None:
    setup = runs["MuSiQue"].setup
    assert all(setup.expert_actions(task) == int(task[0]) + 1 for task in runs["MuSiQue"].episodes)
    assert {runs["TravelPlanner"].setup.expert_actions(task) for task in runs["TravelPlanner"].episodes} == {None}


@pytest.mark.usefixtures("no_figure_left")
def test_the_panels_have_a_bar_a_benchmark_and_a_diamond_for_each_published_value(whole: pd.DataFrame) -> None:
    figure = figure3.draw(whole)
    assert [axes.get_title()[:3] for axes in figure.axes] == ["(a)", "(b)", "(c)", "(d)"]
    diamonds = [
        sorted(y for line in axes.lines if line.get_marker() == "D" for y in line.get_ydata()) for axes in figure.axes
    ]
    assert diamonds[:3] == [[0.0], [], [44.0, 60.0, 64.0]] and {60.0, 79.0} <= set(diamonds[3])
    depth = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert depth == ["k = 1", "k = 2", CASCADE]


@pytest.mark.usefixtures("no_figure_left")
def test_a_panel_without_runs_says_so(whole: pd.DataFrame) -> None:
    figure = figure3.draw(whole[whole["part"] != figure3.PROGRESS])
    assert [text.get_text() for text in figure.axes[2].texts] == ["no such episodes"]


def test_certified_goals_are_right_where_validate_makes_no_mistakes() -> None:
    """MuSiQue's last check compares the answer with the findings, so that nothing else is left to go wrong."""
    trials = [questions("MuSiQue")]
    judged = figure3.by_validator(trials, ["rules@0.8?certify=0&reject=0", "rules@0.8?certify=1&reject=0"])
    precision = judged[judged["method"] == figure3.PRECISION].set_index("backbone")["value"].tolist()
    assert precision[0] == 100 and precision[1] < 60
    assert not len(figure3.by_validator(trials, []))


def test_recordings_whose_data_is_not_here_are_left_out_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LAB_DATA", str(tmp_path))
    (name, *_) = recordings.names(table2.STUDY.name)
    assert figure3.recorded([name]) == []
    assert f"Left out: {name}. travelplanner's official data is not in {tmp_path}" in "".join(capsys.readouterr())


def test_retrieval_failures_are_counted_once_for_table_5_and_here(runs: figure3.Runs, whole: pd.DataFrame) -> None:
    engine, options = runs["MuSiQue"].setup.engine, {"setting": "open"}
    run = table5.STUDY.run(
        engine=engine, options=options, limit=12, conditions=("SDP",), benchmarks=("MuSiQue",), data="synthetic"
    )
    (line,) = loop_counts(run).to_dict("records")
    ours = whole[(whole["part"] == figure3.EVIDENCE) & (whole["benchmark"] == "MuSiQue")].iloc[0]
    assert (line["evidence never shown"], line["failures"]) == (ours["numerator"], ours["denominator"])
    assert line["share, %"].startswith(f"{ours['share']:.0f} [")


@pytest.mark.slow
def test_a_recording_gives_the_anatomy_of_what_it_was_made_on() -> None:
    found = figure3.collect([TABLE6.trial(f"replay:{ROOT}/tests/golden/sdp-table2", figure3.READ)])
    assert [*found] == ["TravelPlanner"] and [*found["TravelPlanner"].scores.values()] == [1, 1]
    assert len(tables.shown(figure3.table(figure3.shares(found), figure3.CALIBRATION)).rows) >= 2
