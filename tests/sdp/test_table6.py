"""Table 6: what each mechanism contributes, by Appendix C's replay and by running again, on any benchmark."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean
from typing import Any

import pandas as pd
import pytest

from lab.machine.paths import ROOT
from lab.results import tables
from lab.results.exports import EMPTY
from lab.results.statistics import holm, wilson
from lab.runs.run import Episode
from lab.runs.trial import Trial
from sdp.ablation import ABLATIONS
from sdp.studies import cascade, sweeps, table6
from sdp.studies.table6 import ABOVE, AGAIN, FULL, REPLAY, Ablated

ASKED: dict[str, dict[str, Any]] = {
    "TravelPlanner": {"engine": "rules@0.7", "limit": 6},
    "HotpotQA": {"engine": "rules@0.8", "options": {"split": "reporting"}, "limit": 10},
    "MuSiQue": {"engine": "rules@0.8?certify=0&reject=0", "options": {"split": "reporting"}, "limit": 16},
}


def trial(benchmark: str, **changed: Any) -> Trial:
    return table6.STUDY.trial(benchmarks=[benchmark], data="synthetic", **ASKED[benchmark] | changed)


VALIDATE, REPLAN, CASCADE = ABLATIONS


@pytest.fixture(scope="module")
def ablated() -> list[Ablated]:
    return table6.played(map(trial, ASKED))


@pytest.mark.slow
def test_every_mechanism_has_both_ways_on_every_benchmark(ablated: list[Ablated]) -> None:
    frame = tables.table(line for one in ablated for line in table6.rows(one))
    assert len(frame) == 3 * (1 + 2 * len(ABLATIONS)) and set(frame["evidence"]) == {"simulated"}
    trips = frame[frame["metric"] == "TravelPlanner"].set_index("method")
    assert trips["value"].filter(like="-Cascade").tolist() == [trips["value"][FULL]] * 2, "k is 1 on all steps there"
    passes = round(trips["value"][FULL] * 0.06)
    assert trips.loc[FULL, ["ci_low", "ci_high"]].tolist() == pytest.approx(
        [100 * end for end in wilson(passes, 6)[1:]]
    )
    beside = table6.with_published(frame)
    assert list(beside["method"]) == sorted(beside["method"], key=list(dict.fromkeys(beside["method"])).index)
    assert list(beside.index) == list(range(len(beside)))
    layout = table6.layout(beside)
    assert list(layout.columns[6:]) == list(table6.BENCHMARKS)
    published = layout.query("method == 'full' and evidence == 'published'")  # by GPT-4, and by GPT-4o
    assert published[["ScienceWorld", "MuSiQue"]].to_numpy().tolist() == [["59.2", EMPTY], [EMPTY, "51.9"]]
    ours = layout.query("evidence == 'simulated'")[[*ASKED]]
    assert all(cell.endswith("], synthetic") for cell in ours.stack() if cell != "–"), "data is named"


def test_questions_are_scored_by_f1_and_trips_by_their_final_pass(ablated: list[Ablated]) -> None:
    trips, hotpotqa, _ = ablated
    f1 = [episode.result["f1"] for episode in hotpotqa.full.episodes.values()]
    assert list(hotpotqa.scores(FULL, VALIDATE).values()) == f1
    assert trips.scores(FULL, VALIDATE) == trips.full.scores
    for one in ablated:
        for ablation in ABLATIONS:
            full, replay = one.scores(FULL, ablation), one.scores(REPLAY, ablation)
            for trajectory in one.full.trajectories:
                task = trajectory.task
                assert replay[task] == full[task] * ablation.factor(trajectory)


def test_differences_are_those_of_the_scores_and_corrected_within_a_family(ablated: list[Ablated]) -> None:
    apart, together = table6.comparisons(ablated[:1], ablated[1:]), table6.comparisons(ablated)
    assert together["p (Holm)"].tolist() == holm(together["p"].tolist())
    assert apart["p (Holm)"].tolist() == [*holm(together["p"][:3].tolist()), *holm(together["p"][3:].tolist())]
    bounds = table6.bounds(ablated)
    for table, first, second in ((together, AGAIN, FULL), (bounds, REPLAY, AGAIN)):
        assert list(table["difference"]) == pytest.approx(list(table[first] - table[second]))
        assert (table["low"] <= table["difference"]).all() and (table["difference"] <= table["high"]).all()
    for one, line in zip(ablated, bounds.to_dict("records")[::3], strict=True):
        assert line[REPLAY] == pytest.approx(100 * fmean(one.scores(REPLAY, VALIDATE).values()))


def test_the_replay_bounds_a_flawless_validate_on_a_chain_of_hops(ablated: list[Ablated]) -> None:
    one = ablated[2]
    alone = one._replace(without={VALIDATE.name: one.without[VALIDATE.name]})
    (line,) = table6.bounds([alone]).to_dict("records")
    assert line["lower"] == 0 and line["difference"] > 20, "one wrong hop spoils an answer, and costs a replay a share"
    assert line["found"] == ABOVE and line["low"] > 0


def test_a_failed_episode_stays_in_the_mean_of_a_replay(ablated: list[Ablated]) -> None:
    hotpotqa = ablated[1]
    task, *others = hotpotqa.full.episodes
    broken = {**hotpotqa.full.episodes, task: Episode(task, None, "MalformedAnswer")}
    found = hotpotqa._replace(full=replace(hotpotqa.full, episodes=broken)).scores(REPLAY, VALIDATE)
    whole = hotpotqa.scores(REPLAY, VALIDATE)
    assert found == {task: 0.0} | {other: whole[other] for other in others}


def test_a_recording_of_another_table_has_what_it_played_of_the_loop() -> None:
    recorded = f"replay:{ROOT}/tests/golden/sdp-table5"
    hotpotqa, musique = table6.played(trial(benchmark, engine=recorded) for benchmark in ASKED)
    assert (hotpotqa.benchmark, musique.benchmark) == ("HotpotQA", "MuSiQue")
    assert {*hotpotqa.without} == {"-Validate", "-Replan"} and hotpotqa.full.setup.data == "synthetic"
    assert len(hotpotqa.full.scores) == 2 and hotpotqa.full.backbone == "rules"
    assert len([*table6.rows(hotpotqa)]) == 1 + len(ABLATIONS) + 2
    assert not len(table6.bounds([hotpotqa._replace(without={})]))
    with pytest.raises(ValueError, match="has no run of TravelPlanner; name a recording of SDP on one of them"):
        table6.played([trial("TravelPlanner", engine=recorded)])


def test_benchmarks_are_ordered_by_what_a_removal_costs(ablated: list[Ablated]) -> None:
    ordered = table6.orders(ablated).set_index("condition")
    for name in (VALIDATE, REPLAN):
        for way in (REPLAY, AGAIN):
            costs = {one.benchmark: fmean(one.scores(FULL, name).values()) - fmean(one.scores(way, name).values())
                     for one in ablated}  # fmt: skip
            told = [each.rpartition(" ") for each in ordered.loc[name.name, way].split(", ")]
            assert [float(cost) for _, _, cost in told] == sorted((float(c) for _, _, c in told), reverse=True)
            assert {n: float(c) for n, _, c in told} == pytest.approx({n: 100 * c for n, c in costs.items()}, abs=0.051)
    assert pd.isna(ordered.loc["-Cascade", "tau"]), "the same everywhere"
    assert -1 <= ordered.loc["-Validate", "tau"] <= 1


@pytest.mark.slow
def test_the_noise_sweep_is_monotone_enough_and_labelled() -> None:
    sweep = sweeps.noise_sweep(sweeps.STUDY.trial(data="synthetic", limit=6), [1.0, 0.3])
    rate = sweep.set_index(["condition", "keep"])["rate"]
    assert set(sweep["evidence"]) == {"simulated"} and set(sweep["data"]) == {"synthetic"}
    assert rate["SDP", 0.3] < rate["SDP", 1.0] and rate[sweeps.UNDOING, 0.3] > rate["SDP", 0.3]


@pytest.mark.slow
def test_a_validator_that_certifies_anything_is_none_and_one_that_rejects_costs_calls() -> None:
    base = sweeps.STUDY.trial(data="synthetic", limit=6)
    sweep = sweeps.validator_sweep(base, "rules@0.4", ["GPT-5.2"], [0.0, 1.0], [0.5]).set_index(
        ["condition", "validator"]
    )
    without = sweeps.noise_sweep(base, [0.4]).set_index("condition")
    for condition, same in (("SDP", "SDP"), (sweeps.UNDOING, sweeps.UNDOING)):
        assert sweep.loc[(condition, "certify=0, reject=0"), "rate"] == without.loc[same, "rate"]
    assert sweep.loc[("SDP", "certify=1, reject=0"), "calls"] == without.loc["without Validate", "calls"]
    assert sweep.loc[("SDP", "certify=0, reject=0.5"), "calls"] > sweep.loc[("SDP", "certify=0, reject=0"), "calls"]
    judged = sweep.loc[("SDP", "GPT-5.2")]
    assert (round(judged["certify"], 3), round(judged["reject"], 3)) == (0.229, 0.026)


@pytest.mark.slow
def test_under_a_tight_cap_cascade_earns_its_score_from_the_world_and_nothing_from_the_certificate() -> None:
    worlds = [name for name in cascade.WORLDS if name != "ScienceWorld"]
    frame = cascade.table(cascade.played(name, limit=120) for name in worlds)
    tight, generous = (frame[(frame["world"] == "corridor") & (frame["cap"] == cap)].iloc[0] for cap in (5, 12))
    assert tight["high"] < -30 and tight["p (Holm)"] < 0.01 and tight[FULL] > tight[REPLAY] > tight[AGAIN]
    assert generous["difference"] == 0 and generous["cascades"] > 30, "cascades that save no step that is needed"
    never_looks, never_bundles = (frame[frame["world"] == name].iloc[0] for name in worlds[1:])
    assert never_looks["difference"] == 0 < never_looks["goal certified"], "the same rooms, though none is certified"
    assert never_looks["goal certified, k ≤ 1"] == 0 and tight["goal certified, k ≤ 1"] == 0, "six rooms in five steps"
    assert never_bundles["difference"] == never_bundles["cascades"] == 0 < never_bundles[FULL] < 100
    paper, *ours = cascade.with_published(frame).to_dict("records")
    assert (paper[FULL], paper[REPLAY], paper["cascades"], paper["evidence"]) == (59.2, 32.0, 37.0, "published")
    assert pd.isna(paper[AGAIN]) and len(ours) == len(frame)
    figure = cascade.draw(frame)
    assert len(figure.axes) == len(worlds)
    assert [text.get_text() for text in figure.legends[0].texts] == [
        "with cascade", "without, replayed", "without, run again"
    ]  # fmt: skip


@pytest.mark.slow
def test_plans_that_overlap_make_scienceworlds_actions_cascade() -> None:
    (runs,) = cascade.played("ScienceWorld", (6,), limit=4).values()
    line = cascade.table([{6: runs}]).iloc[0]
    assert line["cascades"] > 20 and line["difference"] < 0 and line["evidence"] == "simulated"
    plans = [trajectory.plans[0].predicates for trajectory in runs.full.trajectories]
    assert any("room around the agent" in predicate.text for plan in plans for predicate in plan)
