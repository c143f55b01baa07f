"""The experiments behind the notebooks of `3_procllm/`: runs, tables, intervals, recordings."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from chat_server import ChatServer, Request, Response, answer
from lab import sandbox
from lab.machine import scratch
from lab.models.cache import RECORDING
from lab.models.engines import UnknownOperator
from lab.models.rules import NoRule
from lab.results import tables
from lab.runs import recordings
from lab.runs.budget import BudgetSpent
from lab.runs.collecting import collect
from lab.runs.run import Episode
from lab.viewer.episodes import Kept
from procllm.conditions import EXTENDED, HUMAN, LLM, NONE, PLACEBO
from procllm.domains import NAMES, domain
from procllm.experiments import (
    figure3,
    figure4,
    figure_a1,
    llm_networks,
    noise_kinds,
    read_loops,
    scores,
    subtasks,
    table1,
)  # fmt: skip
from procllm.experiments.episodes import MADE_BY, Problems, Results, Setup, network
from procllm.files import NOTES
from procllm.generation import make
from procllm.loop import play
from procllm.network import TOP, Method, Network
from procllm.trajectory import Step

BLOCKS = figure3.problems(6, [(4, 3)], [])
SMALL = Setup(problems=BLOCKS)


def run(setup: Setup, folder: Path, name: str = "run", **about: object) -> Results:
    return collect(setup, run=str(folder / name), show_progress=False, workers=1, **about)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("condition", [HUMAN, PLACEBO, NONE, EXTENDED])
def test_rules_solve_every_domain_under_every_network_that_is_not_made(
    name: str, condition: str, tmp_path: Path
) -> None:
    results = run(Setup(problems=(Problems(name, 4),), conditions=(condition,), data="synthetic"), tmp_path)
    assert results.frame["success"].all() and len(results.frame) == 4
    assert results.evidence == "measured" and results.backbone == "rules"


def test_a_check_by_another_engine_than_the_one_that_acts(tmp_path: Path) -> None:
    setup = replace(SMALL, engine="rules@0.5", conditions=(HUMAN,))
    alone = run(setup, tmp_path, "alone")
    checked = run(replace(setup, engines={"Verify": "rules"}), tmp_path, "checked")
    assert (checked.backbone, checked.evidence) == ("rules@0.5, Verify: rules", "simulated")
    paths = scores.usage(checked).set_index("operator")["paths"]
    assert "corrupted" in paths["act"] and "corrupted" not in paths["verify"]
    # A check that makes no mistakes lets nothing wrong pass.
    right = [frame["right"][frame["ended"] == "done"].all() for frame in (alone.frame, checked.frame)]
    assert right == [False, True]


def test_the_maker_of_networks_is_no_operator_of_an_episode(tmp_path: Path) -> None:
    with pytest.raises(UnknownOperator, match="'network' is no operator of procllm .* do: act, verify"):
        run(replace(SMALL, engines={"network": "rules"}), tmp_path)
    with pytest.raises(UnknownOperator, match="'network' is no operator of the episode"):
        figure_a1.answering("rules", {"network": "rules"})
    assert figure_a1.answering("rules@0.9", {"verify": "rules"}).engine.label == "rules@0.9, Verify: rules"


def test_conditions_are_compared_on_the_same_instances(tmp_path: Path) -> None:
    frame = run(replace(SMALL, engine="rules@0.7"), tmp_path).frame
    by = frame.groupby("condition")["instance"].apply(list)
    assert by[HUMAN] == by[NONE] and len(by[HUMAN]) == 6


def test_a_finished_run_is_read_again_and_not_played(tmp_path: Path) -> None:
    first = run(SMALL, tmp_path)
    before = (tmp_path / "run" / "episodes.jsonl").read_bytes()
    assert run(SMALL, tmp_path).frame.equals(first.frame)
    assert (tmp_path / "run" / "episodes.jsonl").read_bytes() == before


def test_processes_give_the_results_of_one(tmp_path: Path) -> None:
    noisy = replace(SMALL, engine="rules@0.7")
    one = run(noisy, tmp_path)
    two = collect(noisy, workers=2, run=str(tmp_path / "two"), show_progress=False)
    assert two.frame.drop(columns="seconds").equals(one.frame.drop(columns="seconds"))


def test_noise_is_simulated_and_the_seed_changes_it(tmp_path: Path) -> None:
    first = run(replace(SMALL, engine="rules@0.6"), tmp_path, "first")
    other = run(replace(SMALL, engine="rules@0.6", seed=1), tmp_path, "other")
    assert first.evidence == "simulated" and other.backbone == "rules@0.6?seed=1"
    rows = tables.table(scores.success_rows([first]))
    assert set(rows["evidence"]) == {"simulated"} and set(rows["n"]) == {6}


@pytest.mark.parametrize(
    ("setup", "named"),
    [
        (replace(SMALL, conditions=("Best-TN",)), "Best-TN"),
        (replace(SMALL, conditions=HUMAN), "conditions='Human-TN'"),
        (replace(SMALL, horizon=0), "horizon=0"),
        (Setup(), "nothing to play"),
        (Setup(problems=(Problems("recipes", 0),)), "nothing to play"),
        (Setup(problems=(Problems("units", 1, (("b", 3),)),)), "no size 'b'"),
        (Setup(problems=(Problems("chess", 1),)), "chess"),
        (Setup(problems=figure3.problems(1, [(3, 9)], [])), "h=9"),
        (Setup(problems=figure3.problems(1, [], [(3, 9)])), "k=9"),
    ],
)
def test_what_there_is_not_is_refused_by_name_before_anything_is_played(
    setup: Setup, named: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=named):
        run(setup, tmp_path)
    assert not (tmp_path / "run").exists()


def test_success_rows_have_wilson_intervals_and_paired_rows_an_exact_test(tmp_path: Path) -> None:
    results = run(replace(SMALL, engine="rules@0.5"), tmp_path)
    rows = tables.table(scores.success_rows([results])).set_index("method")
    solved = results.frame.groupby("condition")["success"].sum()
    for condition in (HUMAN, NONE):
        row = rows.loc[condition]
        assert row["value"] == pytest.approx(100 * solved[condition] / 6)
        assert row["ci_low"] <= row["value"] <= row["ci_high"]
    (line,) = scores.paired([results], [(HUMAN, NONE)]).to_dict("records")
    assert line["difference"] == pytest.approx(100 * (solved[HUMAN] - solved[NONE]) / 6)
    assert line["only the first"] - line["only the second"] == solved[HUMAN] - solved[NONE]
    assert 0 < line["McNemar p"] <= 1 and line["n"] == 6
    both = scores.paired([results, results], [(HUMAN, NONE)])
    assert both["p (Holm)"].tolist() == [min(1, 2 * line["McNemar p"])] * 2


def test_endings_add_up_to_all_episodes(tmp_path: Path) -> None:
    results = run(replace(SMALL, engine="rules@0.4", horizon=15), tmp_path)
    for line in scores.endings([results]).to_dict("records"):
        kinds = ("solved", "wrong, yet verified", "right at a timeout", "wrong at a timeout", "failed")
        assert sum(line[kind] for kind in kinds) == line["n"] == 6
    assert len(scores.failures(results)) == 12 - results.frame["success"].sum()


def test_travel_is_counted_by_column_and_each_column_needs_those_before(tmp_path: Path) -> None:
    setup = Setup(
        problems=(Problems("travel", 6),), conditions=(HUMAN,), engine="rules@0.5", data="synthetic", horizon=40
    )
    results = run(setup, tmp_path)
    rows = table1.travel([results])
    measured = rows[rows["source"] == "this run"]["value"].tolist()
    assert len(measured) == 3 and measured == sorted(measured, reverse=True)
    published = rows[rows["evidence"] == "published"]
    assert len(published) == 12 and published["value"].max() == 81.4


def test_a_guess_without_tools_is_hardly_ever_right() -> None:
    chances = table1.chances(Setup(problems=(Problems("recipes", 20),))).set_index("fact")["value"]
    assert 0 < chances["a random dish of the book is right, %"] < 5
    assert chances["right dishes of a request, mean"] >= 1


def test_a_failed_episode_is_no_success_and_stays_in_every_count(tmp_path: Path) -> None:
    results = run(SMALL, tmp_path)
    name = next(name for name in results.episodes if name.startswith(HUMAN))
    failed = {name: Episode(name, None, "Error: it broke")}
    broken = replace(results, episodes={**results.episodes, **failed})
    rows = tables.table(scores.success_rows([broken])).set_index("method")
    assert rows.loc[HUMAN, "n"] == 6 and rows.loc[HUMAN, "value"] == pytest.approx(500 / 6)
    (sides, _) = subtasks.inequality([broken], ["blocks"]).to_dict("records")
    assert sides["product"] == pytest.approx(5 / 6) and sides["full"] == 1
    (iterations, _) = scores.cost_rows([broken])
    assert iterations["value"] == 10 and iterations["n"] == 5
    assert scores.failures(broken).to_dict("records")[0]["checker"] == "Error: it broke"


def test_a_run_that_was_stopped_shows_only_instances_that_all_conditions_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played, right = [], Setup.play

    def until_spent(self: Setup, task: str, ledger: object) -> object:
        if len(played) == 3:
            raise BudgetSpent("the budget is spent")
        played.append(task)
        return right(self, task, ledger)

    monkeypatch.setattr(Setup, "play", until_spent)
    frame = run(SMALL, tmp_path).frame
    assert len(played) == 3 and len(frame) == 2 and frame["instance"].nunique() == 1


# --- loops of reading, and the arithmetic of subtasks --------------------------------------------------------------


def steps(*commands: str) -> tuple[Step, ...]:
    return tuple(Step(TOP, command, "done") for command in commands)


def test_reads_are_counted_by_what_comes_before_them(tmp_path: Path) -> None:
    results = run(SMALL, tmp_path)
    trajectory = next(iter(results.trajectories.values()))
    loop = replace(trajectory, steps=steps("Read a", "Read b", "Read a", "Read b", "Append n", "Read a", "", "Read b"))
    assert read_loops.reads_of(loop) == (6, 3, 4, 1)
    assert read_loops.reads_of(replace(trajectory, steps=())) == (0, 0, 0, 0)
    assert read_loops.reads_of(replace(trajectory, steps=steps("Write a", "Write a", "", "Write a"))) == (0, 0, 0, 2)


@pytest.mark.parametrize(
    ("name", "counts"), [("figure3_complexity-local", (40, 4)), ("recipe_generator-local", (30, 3))]
)
def test_what_a_recorded_agent_did_is_counted_by_command(name: str, counts: tuple[int, int], tmp_path: Path) -> None:
    results = run(Setup(engine=f"replay:{name}"), tmp_path)
    (row,) = read_loops.commands([results]).to_dict("records")
    assert (row["answers"], row["n"]) == counts
    assert sum(row[kind] for kind in ("reads", "writes", "verifications", "malformed")) == row["answers"]
    kinds = [step.command.split(" ")[0] for trajectory in results.trajectories.values() for step in trajectory.steps]
    assert (kinds.count("Read"), kinds.count("Verify")) == (row["reads"], row["verifications"])


def test_an_idle_agent_solves_a_placebo_by_the_top_task_alone() -> None:
    blocks, idle = domain("blocks"), noise_kinds.PartialNoise(1, noise_kinds.NOISES["neither"], 0, agent_is_idle=True)
    trajectory = play(blocks, blocks.instances(1)[0], network(PLACEBO, "blocks"), idle)
    assert trajectory.success
    assert {step.command for step in trajectory.steps if step.task != TOP} == {"Verify"}


def test_the_product_of_shares_within_the_horizon_is_the_success_of_the_whole(tmp_path: Path) -> None:
    results = run(Setup(problems=figure3.problems(12, [(5, 4)], [(5, 3)]), engine="rules@0.6", horizon=40), tmp_path)
    success = results.frame.groupby(["domain", "condition"])["success"].mean()
    sides = subtasks.inequality([results], ["blocks", "units"])
    for line in sides[sides["counted"] == "within the horizon"].to_dict("records"):
        name = next(name for name in NAMES if domain(name).title == line["domain"])
        assert line["full"] == pytest.approx(success[name, NONE])
        assert line["product"] == pytest.approx(success[name, HUMAN])
    assert (sides["product low"] <= sides["product"]).all() and (sides["product"] <= sides["product high"]).all()
    first = sides[sides["counted"] == "at the first check"]
    assert (first["product"].to_numpy() <= sides[sides["counted"] != "at the first check"]["product"].to_numpy()).all()


# --- a model's answers: recorded, replayed, and networks that it makes ---------------------------------------------


def looping(request: Request) -> Response:
    """A model that reads the request for ever."""
    return answer(
        {
            "observation": "nothing is known",
            "thought": "read",
            "action": {"name": "Read", "action_arg1": "files/request.txt", "action_arg2": ""},
        }
    )


@pytest.fixture
def recorded(server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Results]:
    monkeypatch.setenv("OPENAI_BASE_URL", server.address)
    monkeypatch.setenv("LAB_RECORDINGS", str(tmp_path / "recordings"))
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(RECORDING, "small")
    server.behave(looping)
    results = run(replace(SMALL, problems=figure3.problems(2, [(3, 2)], []), engine="small", horizon=6), tmp_path)
    scores.record(results)
    return results


def test_a_recorded_model_is_replayed_without_its_server(recorded: Results, server: ChatServer, tmp_path: Path) -> None:
    asked = len(server.requests)
    again = run(Setup(engine="replay:small"), tmp_path, "again")
    assert len(server.requests) == asked > 0
    assert again.frame.drop(columns="seconds").equals(recorded.frame.drop(columns="seconds"))
    assert set(again.frame["ended"]) == {"horizon"} and again.evidence == "measured" and again.backbone == "small"
    rows = read_loops.frame([again])
    assert set(rows[rows["metric"] == "4 or more reads in a row, Blocks World"]["value"]) == {100}


def test_a_recordings_rows_stand_in_figure_4_with_their_source(recorded: Results) -> None:
    rows = figure4.frame([])
    assert {"iterations, Blocks World", "seconds in all, Blocks World"} <= set(rows["metric"])
    assert rows["source"].str.startswith("recording small").all() and set(rows["backbone"]) == {"small"}


STATED = {
    "task": TOP,
    "subtasks": ["take notes on the request"],
    "effect": "answer.txt answers the request",
    "effect_files": ["answer.txt", "files/request.txt"],
}


def networks(*answers: list[dict]) -> object:
    given = iter(answers)
    return lambda request: answer({"methods": next(given)})


def connected(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> object:
    from lab.models.connect import connect

    monkeypatch.setenv("OPENAI_BASE_URL", server.address)
    return connect("maker", cache=None)


def test_a_made_network_is_checked_and_sent_back_once_with_its_fault(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.behave(networks([{**STATED, "task": "begin"}], [STATED]))
    made = make(domain("blocks"), connected(server, monkeypatch))
    assert [bool(attempt.fault) for attempt in made.attempts] == [True, False]
    assert TOP in made.attempts[0].fault and made.attempts[0].fault in server.requests[1].text
    assert made.network is not None and made.network.methods[0].subtasks == ("take notes on the request",)


def test_a_network_that_is_wrong_twice_is_no_network(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    circle = [{**STATED, "subtasks": [TOP]}]
    server.behave(networks(circle, circle, [STATED]))
    made = make(domain("blocks"), connected(server, monkeypatch))
    assert made.network is None and len(made.attempts) == 2 and "circle" in made.attempts[1].fault


def test_the_makers_schema_lists_the_files_that_there_are(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.behave(networks([STATED]))
    make(domain("units"), connected(server, monkeypatch))
    schema = json.dumps(server.requests[0].body["response_format"])
    assert all(path in schema for path in domain("units").paths) and "solver.py" not in schema


def test_rules_make_no_networks() -> None:
    with pytest.raises(NoRule, match=r"procllm\.network"):
        network(LLM, "blocks", maker="rules")


def test_the_recorded_networks_are_checked_ones_and_say_who_made_them() -> None:
    makings = llm_networks.collect(MADE_BY)
    assert makings.backbone == "qwen2.5-coder-1.5b (local)" and set(makings.made) == set(NAMES)
    for line in llm_networks.overview(makings).to_dict("records"):
        assert line["usable"] == (line["fault of the last"] == "")


@pytest.mark.parametrize("name", Setup.recorded())
def test_a_committed_recording_replays_to_the_rows_beside_it(name: str, tmp_path: Path) -> None:
    results = run(Setup(engine=f"replay:{name}"), tmp_path)
    again = tables.table(scores.success_rows([results]) + scores.cost_rows([results]))
    kept = rows_of(recordings.rows(Setup.method), name)
    timed = {key for key in kept if "seconds" in key[1]}  # nothing is timed again
    assert values(again) == {key: value for key, value in kept.items() if key not in timed} != {}


@pytest.mark.parametrize("name", llm_networks.Setup.recorded())
def test_committed_networks_replay_to_the_rows_beside_them(name: str) -> None:
    again = llm_networks.rows(llm_networks.collect(f"replay:{name}"))
    assert values(again) == rows_of(recordings.rows(llm_networks.Setup.method), name) != {}


def rows_of(kept: pd.DataFrame, name: str) -> dict[tuple[str, str], float]:
    return values(kept[kept["source"].str.startswith(f"recording {name},")])


def values(rows: pd.DataFrame) -> dict[tuple[str, str], float]:
    return rows.set_index(["method", "metric"])["value"].to_dict()


def test_tasks_that_rules_cannot_check_are_counted() -> None:
    assert [llm_networks.unreadable(name, domain(name).network) for name in NAMES] == [0] * len(NAMES)
    stars = Network((Method("m", TOP, "the stars are right", (NOTES,), ("wait", "wait")),))
    assert llm_networks.unreadable("blocks", stars) == 3 and llm_networks.unreadable("blocks", None) is None


def test_costs_are_told_of_all_sizes_together_and_of_each(tmp_path: Path) -> None:
    results = run(Setup(problems=figure3.problems(2, [(3, 2), (4, 3)], [])), tmp_path)
    together, apart = figure4.frame([results]), figure4.details([results])
    ours = [rows[rows["backbone"] == "rules"] for rows in (together, apart)]
    assert [sorted(set(rows["metric"])) for rows in ours] == [
        ["iterations, Blocks World"], ["iterations, Blocks World, b=3, h=2", "iterations, Blocks World, b=4, h=3"],
    ]  # fmt: skip
    assert [set(rows["n"]) for rows in ours] == [{4}, {2}]
    assert not together["metric"].str.startswith("tokens").any() and apart["metric"].str.startswith("tokens").any()


def test_both_named_domains_are_recorded_under_both_conditions() -> None:
    kept = recordings.rows(Setup.method)
    kept = kept[kept["metric"].str.startswith("success")]
    for domain_title in ("Blocks World, b=3", "Recipe Generator"):
        of = kept[kept["metric"].str.contains(domain_title, regex=False)]
        assert {HUMAN, PLACEBO, NONE} <= set(of["method"])


@pytest.mark.parametrize("backend", list(sandbox.BACKENDS))
def test_folders_removed_under_running_programs_leave_the_same_result_file(
    backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scratch folders vanish while a solver runs; seen once, it turned silently into other results."""
    if reason := sandbox.verdict(backend):
        pytest.skip(f"{backend} is not used here: {reason}")
    monkeypatch.setenv(sandbox.VARIABLE, backend)
    setup = Setup(problems=(Problems("recipes", 3),), engine="rules@0.8")
    run(setup, tmp_path, "calm")
    made: list[str] = []
    mkdtemp = scratch.tempfile.mkdtemp

    def vanishing(*args: Any, **kwargs: Any) -> str:
        made.append(mkdtemp(*args, **kwargs))
        if len(made) in (1, 2, 6):  # the first episode twice, and so not measured; another once, and so played again
            threading.Timer(0.02, shutil.rmtree, (made[-1],), {"ignore_errors": True}).start()
        return made[-1]

    monkeypatch.setattr(scratch.tempfile, "mkdtemp", vanishing)
    first = run(setup, tmp_path, "disturbed")
    assert not first.outcomes().failed
    if backend == "sandlock":  # in bubblewrap a program that has begun needs nothing of the host
        assert first.outcomes().not_measured
    assert not run(setup, tmp_path, "disturbed").not_measured
    calm, disturbed = ((tmp_path / name / "episodes.jsonl").read_bytes() for name in ("calm", "disturbed"))
    assert sorted(calm.splitlines()) == sorted(disturbed.splitlines())


def test_a_kept_episode_is_told_with_what_each_command_was_asked_for(tmp_path: Path) -> None:
    results = run(replace(SMALL, problems=figure3.problems(1, [(3, 2)], []), engine="rules@0.8"), tmp_path)
    kept = Kept(results.folder)
    for name, trajectory in results.trajectories.items():
        assert kept.judged(name).score == float(trajectory.success)
        shown = kept.timeline(name, prompts=True)
        count = len(trajectory.steps)
        assert [step.target for step in shown.steps[:count]] == [step.task for step in trajectory.steps]
        assert shown.steps[count].verdict == trajectory.verdict.solved and not shown.notes
        for step, played in zip(shown.steps, trajectory.steps, strict=False):
            asked = ["act", "verify"] if played.outcome in ("verified", "rejected") else ["act"]
            assert [each.operator for each in step.exchanges] == asked
            assert f"Task: {played.task}\n" in step.exchanges[0].messages[-1]["content"]
