"""The experiments behind the notebooks of `1_sdp/`, on synthetic data and against a server on the loopback."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from chat_server import ChatServer, answer
from lab.models.engines import BadEngine
from lab.results import tables
from lab.results.outcomes import headlines
from lab.results.statistics import wilson
from lab.runs import collecting
from lab.runs.collecting import collect
from lab.runs.run import ManifestMismatch
from lab.viewer.episodes import StoredRun
from sdp.adapters.travelplanner.adapter import Policy
from sdp.experiments import assistantbench, scienceworld, table1
from sdp.experiments.certifying import Certifying
from sdp.experiments.multihop import HotpotQA, MuSiQue
from sdp.experiments.travelplanner import Results, Setup
from sdp.loop import Settings
from sdp.mdp import mdp
from sdp.studies import comparing, table2
from sdp.trajectory import Trajectory

MADE = Setup(data="synthetic", limit=4)


def run(setup: Setup, folder: Path, name: str = "run", **about: object) -> Results:
    return collect(setup, run=str(folder / name), show_progress=False, **about)


def test_a_limit_spreads_over_levels_and_lengths() -> None:
    tasks = Setup(data="synthetic", levels=("easy", "medium", "hard"), limit=9).queries()
    assert Counter(task.level for task in tasks) == {"easy": 3, "medium": 3, "hard": 3}
    assert {task.days for task in tasks} == {3, 5, 7}


def test_a_runs_headline_is_the_final_pass_rate_and_says_what_kept_a_plan_from_it(tmp_path: Path) -> None:
    results = run(replace(MADE, engine="rules@0.3"), tmp_path)
    kept, passes = StoredRun(tmp_path / "run"), int(sum(results.scores.values()))
    (head,) = headlines(kept.scores(), kept.metric)
    assert passes < 4 and head[3:6] == pytest.approx([100 * end for end in wilson(passes, 4)])
    assert {score.of: bool(score.why) for score in kept.scores()} == {
        task: not final for task, final in results.scores.items()
    }


def test_on_travelplanner_only_choices_are_asked_for(tmp_path: Path) -> None:
    assert MADE.operators() == ("realize",), "Validate and Replan are programs, and the cities are given (A.2)"
    with pytest.raises(BadEngine, match="'validate' is no operator of sdp-travelplanner .* do: realize"):
        run(replace(MADE, engines={"Validate": "gpt-4o"}), tmp_path)
    with pytest.raises(BadEngine, match="'propose'"):
        replace(MADE, engines={"propose": "gpt-4o"}).episode(MADE.tasks()[0])


def test_propose_and_realize_have_engines_of_their_own(tmp_path: Path) -> None:
    setup = replace(MADE, engine="rules@0.3", policy=Policy(cities="propose"), engines={"Propose": "rules"})
    costs = collecting.costs(run(setup, tmp_path)).set_index("operator")
    assert costs["engine"].to_dict() == {"propose": "rules", "realize": "rules@0.3"}
    assert costs.loc["propose", "paths"] == "rules 4" and "corrupted" in costs.loc["realize", "paths"]


PLAYED = [
    pytest.param(scienceworld.Setup(engine="oracle", lengths=("short",)), id="ScienceWorld", marks=pytest.mark.slow),
    pytest.param(HotpotQA(), id="HotpotQA"),
    pytest.param(MuSiQue(), id="MuSiQue", marks=pytest.mark.slow),
    pytest.param(assistantbench.Setup(), id="AssistantBench", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("setup", PLAYED)
def test_each_of_the_four_operators_has_an_engine_and_a_cost_line_of_its_own(setup: Certifying, tmp_path: Path) -> None:
    """So §6's operator replacement: here each is right as often as its own engine says, and Replan always."""
    rates = {"propose": "@0.8", "realize": "@0.3", "validate": "@0.6", "replan": ""}
    engines = {operator: f"{setup.engine}{rate}" for operator, rate in rates.items()}
    short = replace(setup, engines=engines, data="synthetic", limit=3, settings=Settings(budget=0, step_cap=12))
    run = collect(short, run=str(tmp_path / "run"), show_progress=False)
    costs = collecting.costs(run).set_index("operator")
    assert costs["engine"].to_dict() == engines
    assert "corrupted" in costs.loc["realize", "paths"] and "corrupted" not in costs.loc["replan", "paths"]
    plans = [plan for trajectory in run.trajectories for plan in trajectory.plans]
    for operator in ("propose", "replan"):
        assert costs.loc[operator, "calls"] == sum(plan.cost.calls for plan in plans if plan.operator == operator) > 0


def test_a_run_folder_refuses_another_policy_and_names_it(tmp_path: Path) -> None:
    run(MADE, tmp_path)
    with pytest.raises(ManifestMismatch, match=r"every_meal is False there and True here"):
        run(Setup(data="synthetic", limit=4, policy=Policy(every_meal=True)), tmp_path)


@pytest.mark.slow
def test_two_processes_give_the_results_of_one(tmp_path: Path) -> None:
    runs = run(MADE, tmp_path, "one"), run(MADE, tmp_path, "two", workers=2)
    one, two = ([episode.result for episode in of.episodes.values()] for of in runs)
    assert one == two


@pytest.mark.slow
def test_a_model_at_an_address_plays_whole_episodes(tmp_path: Path, server: ChatServer) -> None:
    server.behave(lambda request: answer({"choice": 1}))
    results = run(Setup(engine="one-option", data="synthetic", limit=4), tmp_path)
    assert all(not episode.failed for episode in results.episodes.values())
    assert results.backbone == "one-option"
    assert server.count == sum(results.named("calls").values())
    assert sum(results.named("tokens_in").values()) == 7 * server.count
    costs = collecting.costs(results).iloc[0]
    assert (costs["operator"], costs["calls"], costs["paths"]) == ("realize", server.count, f"schema {server.count}")
    assert costs["dollars"] is None, "a model without a price costs an unknown sum, not nothing"


def test_a_cell_that_nobody_could_recover_is_empty_beside_ours() -> None:
    clean = table2.STUDY.run(conditions=["SDP"], data="synthetic", limit=4).frame()
    shown = tables.side_by_side(table2.STUDY.beside_published(clean), list(table2.METRICS.values()))
    assert shown.loc[shown["method"] == "TDP", "Final Pass Rate"].tolist() == ["–"]


@pytest.mark.slow
def test_failures_carry_the_diagnostic_of_the_filter_that_left_nothing(tmp_path: Path) -> None:
    results = run(Setup(data="synthetic", levels=("easy", "medium", "hard")), tmp_path)
    failed = table2.failures({"synthetic": results})
    assert len(failed) == sum(not verdict.final for verdict in results.verdicts) > 0
    assert failed["diagnostic"].str.contains("local constraints|affordability|consistency|uniqueness|membership").all()


@pytest.mark.slow
def test_proposition_1_stands_where_nothing_remembers_and_falls_where_a_world_or_an_agent_does() -> None:
    engine = "rules@0.8?certify=0&reject=0.3"
    trips, leaking = (table1.noisy_runs(engine, 12, "synthetic", 2, leak=leak) for leak in (0, 1))
    p = table1.proposition_1(trips, leaking, engine, 200, permutations=99, seed=0)["p_value"]
    assert p[0] > 0.01 and p[1] == 0.01 and p[2] > 0.01 and p[3] == 0.01


def test_the_past_leaks_only_behind_a_rejection_at_an_earlier_predicate() -> None:
    honest, leaking = Setup(data="synthetic", limit=1).resolved(), table1.Leaking(data="synthetic", limit=1, leak=1)
    task, leaking = honest.tasks()[0], leaking.resolved()
    assert leaking.episode(task) == honest.episode(task), "nothing was rejected"
    noisy = replace(leaking, engine="rules?certify=0&reject=0.4").resolved().episode(task)
    states = [attempt.state for attempt in noisy.attempts if attempt.k == 0]
    honest_too = replace(honest, engine="rules?certify=0&reject=0.4").resolved().episode(task)
    same = [a.action == b.action for a, b in zip(noisy.attempts, honest_too.attempts, strict=False)]
    assert all(same[: noisy.attempts.index(next(a for a in noisy.attempts if a.state > min(states)))]) and not all(same)


def test_a_sample_is_named_in_its_rows_and_has_no_official_denominators_but_the_whole() -> None:
    easy = table2.STUDY.run(options=table2.SAMPLES["validation, easy"], conditions=["SDP"], data="synthetic", limit=4)
    assert {*easy.frame()["source"]} == {"this run, validation, easy"}
    with pytest.raises(ValueError, match="official"):
        easy.frame(denominators="official")


def test_the_counts_of_table_1_are_those_of_the_trajectories(tmp_path: Path) -> None:
    trajectories = run(MADE, tmp_path).trajectories
    counts = table1.inputs(trajectories, "rules").set_index("MDP input")["count"]
    assert counts["certified transitions"] == sum(len(t.transitions) for t in trajectories)
    assert counts["state space"] == len(mdp(trajectories).states)
    assert counts["termination criterion"] == sum(t.reached_goal for t in trajectories)
    assert trajectories[0] == MADE.episode(trajectories[0].task), "as it was before the run folder"


def test_a_kept_episode_is_told_with_its_verdicts_prompts_and_the_evaluators_word(tmp_path: Path) -> None:
    results = run(replace(MADE, engine="rules@0.5", policy=Policy(undo=3), limit=2), tmp_path)
    kept = StoredRun(results.folder)
    for task, final in results.scores.items():
        assert kept.judged(task).score == final
        shown = kept.timeline(task, prompts=True)
        attempts = [step for step in shown.steps if step.verdict is not None]
        *steps, last = attempts
        trajectory = Trajectory.from_json(results.episodes[task].result["trajectory"])
        assert [step.verdict for step in steps] == [attempt.k >= 1 for attempt in trajectory.attempts]
        assert last.verdict == bool(final) and shown.score == final and not shown.notes
        assert sum(len(step.exchanges) for step in shown.steps) == results.episodes[task].result["calls"]
        # A prompt stands at the step that it was asked for.
        assert all(step.title in step.exchanges[-1].messages[-1]["content"] for step in steps if step.exchanges)
        certified = [step for step in steps if step.verdict and step.action["decisions"]]
        assert certified and all(step.changes for step in certified)


def test_without_trajectories_a_kept_episode_is_told_as_it_was_kept(tmp_path: Path) -> None:
    results = run(replace(MADE, trajectories=False, limit=1), tmp_path)
    (task,) = results.episodes
    shown = StoredRun(results.folder).timeline(task)
    assert shown.steps[-1].observation == results.episodes[task].result and shown.score == results.scores[task]


def test_attempts_at_a_predicate_with_the_same_verdict_share_a_row() -> None:
    run = table2.STUDY.run(engine="rules@0.4", data="synthetic", limit=3)
    benchmark, condition = run.parts[0]
    for task, episode in run.of(benchmark, condition).items():
        rows = comparing.skeleton(run, benchmark, condition, task)
        assert rows["attempts"].max() > 1 and rows["attempts"].sum() == len(episode.result["trajectory"]["attempts"])
        keys = rows[["plan", "predicate", "verdict"]]
        assert not (keys == keys.shift()).all(axis="columns").any()
