"""The experiments behind the notebooks of `3_procllm/`: runs, tables, intervals, recordings."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from chat_server import ChatServer, answer
from lab import sandbox
from lab.__main__ import main
from lab.models.budget import BudgetSpent
from lab.models.engines import BadEngine
from lab.models.rules import NoRule
from lab.results import tables
from lab.results.stored import sides_of
from lab.runs import recordings
from lab.runs.collecting import collect
from lab.runs.experiment import BadSetting, Experiment, score_lines
from lab.runs.registry import STUDIES
from lab.runs.run import Episode
from lab.runs.study_results import Results, contrasts
from lab.runs.trial import Trial
from lab.sandbox import watching
from lab.sandbox.program import Job
from lab.viewer.episodes import StoredRun
from procllm import effects
from procllm.conditions import EXTENDED, HUMAN, LLM, NONE, PLACEBO
from procllm.domains import NAMES, domain
from procllm.domains.hours import HOURS, added_up, check, entries, instances
from procllm.experiments import figure_a1, llm_networks
from procllm.experiments.episodes import MADE_BY, Episodes, network, trajectories
from procllm.files import NOTES
from procllm.generation import make
from procllm.loop import Samples, play
from procllm.network import TOP, Method, Network
from procllm.prompts import ACTING
from procllm.studies import figure3, figure4, outcomes, read_loops, recipes, subtasks
from procllm.studies.conditions import BLOCKS, CONSTANT, COPIED, TITLES, UNITS
from procllm.studies.llm_networks import STUDY as EVERYWHERE
from procllm.trajectory import Step
from standins.procllm import noise_kinds

STUDY = figure3.STUDY
PAIR = (HUMAN, NONE)


def blocks(*sizes: tuple[int, int], limit: int = 6, engine: str = "rules", **options: Any) -> Trial:
    """Blocks World under Human-TN and No-TN."""
    return STUDY.trial(engine, [BLOCKS], PAIR, {"blocks": sizes, **options}, limit=limit)


SMALL = blocks((4, 3))


def run(setup: Experiment, folder: Path, name: str = "run", **about: object) -> Any:
    return collect(setup, run=str(folder / name), show_progress=False, workers=1, **about)


def solved(results: Results, condition: str) -> float:
    return sum(results.values(BLOCKS, condition, "success").values())


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("condition", [HUMAN, PLACEBO, NONE, EXTENDED])
def test_rules_solve_every_domain_under_every_network_that_is_not_made(
    name: str, condition: str, tmp_path: Path
) -> None:
    trial = EVERYWHERE.trial(benchmarks=[TITLES[name]], conditions=[condition], data="synthetic", limit=4)
    results = run(trial, tmp_path)
    assert list(results.scores_of(TITLES[name], condition).values()) == [1.0] * 4
    assert results.evidence == "measured" and results.backbone == "rules"


def test_a_check_by_another_engine_than_the_one_that_acts(tmp_path: Path) -> None:
    setup = replace(SMALL, engine="rules@0.5", methods=(HUMAN,))
    alone = run(setup, tmp_path, "alone")
    checked = run(replace(setup, engines={"Verify": "rules"}), tmp_path, "checked")
    assert (checked.backbone, checked.evidence) == ("rules@0.5, Verify: rules", "simulated")
    paths = checked.costs().set_index("operator")["paths"]
    assert "corrupted" in paths["act"] and "corrupted" not in paths["verify"]
    # A check that makes no mistakes lets nothing wrong pass.
    wrong = outcomes.endings([alone, checked])["wrong, yet verified"]
    assert wrong[0] > 0 == wrong[1]


def test_the_maker_of_networks_is_no_operator_of_an_episode(tmp_path: Path) -> None:
    with pytest.raises(BadEngine, match="'network' is no operator of procllm-figure3 .* do: act, verify"):
        run(replace(SMALL, engines={"network": "rules"}), tmp_path)
    with pytest.raises(BadEngine, match="'network' is no operator of the episode"):
        figure_a1.answering("rules", {"network": "rules"})
    assert figure_a1.answering("rules@0.9", {"verify": "rules"}).engine.label == "rules@0.9, Verify: rules"


@pytest.mark.parametrize(
    ("setup", "named"),
    [
        (replace(SMALL, methods=("Best-TN",)), "Best-TN"),
        (replace(SMALL, methods=HUMAN), "methods='Human-TN'"),
        (replace(SMALL, datasets=("Chess",)), "Chess"),
        (replace(SMALL, limit=-2), "limit=-2"),
        (blocks((4, 3), horizon=0), "horizon=0"),
        (blocks((4, 3, 2)), "blocks=.*should have at most 2 items"),
        (blocks((3, 9)), "h=9"),
        (STUDY.trial(benchmarks=[UNITS], options={"units": [(3, 9)]}), "k=9"),
    ],
)
def test_what_there_is_not_is_refused_by_name_before_anything_is_played(
    setup: Trial, named: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=named):
        run(setup, tmp_path)
    assert not (tmp_path / "run").exists()


def test_success_rows_have_wilson_intervals_and_contrasts_an_exact_test(tmp_path: Path) -> None:
    results = run(replace(SMALL, engine="rules@0.5"), tmp_path)
    rows, difference = results.frame().set_index("method"), solved(results, HUMAN) - solved(results, NONE)
    for condition in PAIR:
        row = rows.loc[condition]
        assert row["value"] == pytest.approx(100 * solved(results, condition) / 6)
        assert row["ci_low"] <= row["value"] <= row["ci_high"]
    (line,) = contrasts([results], [PAIR]).to_dict("records")
    assert line["difference"] == pytest.approx(100 * difference / 6) and line["n"] == 6
    assert line["only the first"] - line["only the second"] == difference
    assert 0 < line["p"] <= 1
    both = contrasts([results, results], [PAIR, (HUMAN, LLM)])
    assert both["p (Holm)"].tolist() == [min(1, 2 * line["p"])] * 2, "nobody played LLM-TN"


@pytest.mark.slow
def test_minus_one_is_a_slice_of_the_synthetic_requests_and_zero_all_of_them() -> None:
    travel = {"benchmarks": [TITLES["travel"]], "conditions": [HUMAN], "data": "synthetic"}
    counts = [len(EVERYWHERE.trial(**travel, limit=limit).resolved().tasks()) for limit in (-1, 0, 3)]
    assert counts == [4, 39, 3] and len(Episodes().tasks()) == 20


def test_a_guess_without_tools_is_hardly_ever_right() -> None:
    chances = recipes.chances(recipes.STUDY.trial(limit=20)).set_index("fact")["value"]
    assert 0 < chances["a random dish of the book is right, %"] < 5
    assert chances["right dishes of a request, mean"] >= 1


@pytest.mark.slow
def test_a_domain_without_a_made_network_is_played_without_llm_tn_and_the_others_with_it() -> None:
    trial = EVERYWHERE.trial(data="synthetic", limit=1).resolved()
    usable = {name for name in NAMES if llm_networks.collect(MADE_BY).made[name].network is not None}
    assert {name for name in NAMES if LLM in trial.methods_of(TITLES[name])} == usable != set(NAMES)
    assert set(trial.parameters()["inputs"]) == {f"{TITLES[name]}/{LLM}/network" for name in usable}
    assert "inputs" not in recipes.STUDY.trial().parameters(), "no made network is played"


def test_a_failed_episode_is_no_success_and_stays_in_every_count(tmp_path: Path) -> None:
    results = run(SMALL, tmp_path)
    name = next(name for name in results.episodes if f"/{HUMAN}/" in name)
    failed = {name: Episode(name, None, "Error: it broke")}
    broken = replace(results, episodes={**results.episodes, **failed})
    rows = broken.frame().set_index("method")
    assert rows.loc[HUMAN, "n"] == 6 and rows.loc[HUMAN, "value"] == pytest.approx(500 / 6)
    (sides, _) = subtasks.inequality([broken]).to_dict("records")
    assert sides["product"] == pytest.approx(5 / 6) and sides["full"] == 1
    (iterations,) = figure4.costs(broken, BLOCKS, HUMAN)
    assert iterations["value"] == 10 and iterations["n"] == 5
    assert outcomes.failures(broken).to_dict("records")[0]["checker"] == "Error: it broke"


def test_no_null_models_success_stands_beside_iterations(capsys: pytest.CaptureFixture[str]) -> None:
    def rows(study: str) -> list[str]:
        assert main(["eval", study, "--benchmarks", TITLES["recipes"], "--conditions", HUMAN, "--limit", "1"]) == 0
        return [line for line in capsys.readouterr().out.splitlines() if line.startswith(HUMAN) and "measured " in line]

    assert all("do nothing" not in row for row in rows("procllm-figure4"))
    assert any("0.0 (do nothing, the same tasks)" in row for row in rows("procllm-recipes"))


def test_a_run_that_was_stopped_shows_only_instances_that_all_conditions_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played, right = [], Episodes.play

    def until_spent(self: Episodes, task: str, ledger: object) -> object:
        if len(played) == 3:
            raise BudgetSpent("the budget is spent")
        played.append(task)
        return right(self, task, ledger)

    monkeypatch.setattr(Episodes, "play", until_spent)
    results = run(SMALL, tmp_path)
    assert len(played) == 3 and [len(results.of(BLOCKS, condition)) for condition in PAIR] == [1, 1]


# --- loops of reading, and the arithmetic of subtasks --------------------------------------------------------------


def steps(*commands: str) -> tuple[Step, ...]:
    return tuple(Step(TOP, command, "done") for command in commands)


def test_reads_are_counted_by_what_comes_before_them(tmp_path: Path) -> None:
    results = run(SMALL, tmp_path)
    trajectory = next(iter(trajectories(results).values()))
    loop = replace(trajectory, steps=steps("Read a", "Read b", "Read a", "Read b", "Append n", "Read a", "", "Read b"))
    assert read_loops.reads_of(loop) == (6, 3, 4, 1)
    assert read_loops.reads_of(replace(trajectory, steps=())) == (0, 0, 0, 0)
    assert read_loops.reads_of(replace(trajectory, steps=steps("Write a", "Write a", "", "Write a"))) == (0, 0, 0, 2)


def test_what_a_recorded_agent_did_is_counted_by_command() -> None:
    for results, counts in zip(figure4.replays(), [(40, 4), (30, 3)], strict=True):
        (row,) = read_loops.commands([results]).to_dict("records")
        assert (row["answers"], row["n"]) == counts
        assert sum(row[kind] for kind in ("reads", "writes", "verifications", "malformed")) == row["answers"]
        steps = [step for trajectory in trajectories(results).values() for step in trajectory.steps]
        kinds = [step.command.split(" ")[0] for step in steps]
        assert (kinds.count("Read"), kinds.count("Verify")) == (row["reads"], row["verifications"])


def test_the_answer_of_read_loops_counts_episodes_with_a_loop(tmp_path: Path) -> None:
    runs = [run(replace(SMALL, engine=engine), tmp_path, engine) for engine in ("rules", "rules@0.6")]
    lines = read_loops.Loops(runs).answer().splitlines()
    for results, line in zip(runs, lines, strict=True):
        for condition in PAIR:
            played = trajectories(results.part(BLOCKS, condition)).values()
            share = 100 * sum(read_loops.reads_of(trajectory).longest >= read_loops.LOOP for trajectory in played) / 6
            assert f"{condition}: {share:.1f} [" in line and "n = 6" in line
    assert lines[0].startswith("rules, ") and "measured" in lines[0]
    assert lines[1].startswith("rules@0.6, ") and "simulated" in lines[1]


def test_an_idle_agent_solves_a_placebo_by_the_top_task_alone() -> None:
    blocks, idle = domain("blocks"), noise_kinds.noisy(1, "neither", 0, agent_is_idle=True)
    trajectory = play(blocks, blocks.instances(1)[0], network(PLACEBO, "blocks"), idle)
    assert trajectory.success
    assert {step.command for step in trajectory.steps if step.task != TOP} == {"Verify"}


def test_the_product_of_shares_within_the_horizon_is_the_success_of_the_whole(tmp_path: Path) -> None:
    options = {"blocks": [(5, 4)], "units": [(5, 3)], "horizon": 40}
    results = run(STUDY.trial("rules@0.6", conditions=PAIR, options=options, limit=12), tmp_path)
    sides = subtasks.inequality([results])
    for line in sides[sides["counted"] == "within the horizon"].to_dict("records"):
        assert line["full"] == pytest.approx(results.mean(line["domain"], NONE, "success"))
        assert line["product"] == pytest.approx(results.mean(line["domain"], HUMAN, "success"))
    assert (sides["product low"] <= sides["product"]).all() and (sides["product"] <= sides["product high"]).all()
    first = sides[sides["counted"] == "at the first check"]
    assert (first["product"].to_numpy() <= sides[sides["counted"] != "at the first check"]["product"].to_numpy()).all()


# --- a model's answers: recorded, replayed, and networks that it makes ---------------------------------------------


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


def test_a_committed_recording_replays_to_the_rows_beside_it() -> None:
    for results in figure4.replays():
        again = [results.frame(), tables.table(row for part in results.parts for row in figure4.costs(results, *part))]
        name = results.setup.engine.removeprefix("replay:")
        kept = rows_of(recordings.rows(results.setup.study), name)
        timed = {key for key in kept if "seconds" in key[1]}  # nothing is timed again
        assert values(pd.concat(again)) == {key: value for key, value in kept.items() if key not in timed} != {}


@pytest.mark.parametrize("name", llm_networks.Setup.recorded())
def test_committed_networks_replay_to_the_rows_beside_them(name: str) -> None:
    again = llm_networks.rows(llm_networks.collect(f"replay:{name}"))
    assert values(again) == rows_of(recordings.rows(llm_networks.Setup.method), name) != {}


def rows_of(kept: pd.DataFrame, name: str) -> dict[tuple[str, str], float]:
    return values(kept[kept["source"].str.startswith(f"recording {name},")])


def values(rows: pd.DataFrame) -> dict[tuple[str, str], float]:
    return rows.set_index(["method", "metric"])["value"].to_dict()


def test_tasks_that_rules_cannot_check_are_counted() -> None:
    assert [effects.unread(domain(name), domain(name).network) for name in NAMES] == [[]] * len(NAMES)
    stars = Network((Method("m", TOP, "the stars are right", (NOTES,), ("wait", "wait")),))
    assert len(effects.unread(domain("blocks"), stars)) == 3


@pytest.mark.slow
def test_folders_removed_under_running_programs_leave_the_same_result_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folders vanish when a solver has started; seen once, it turned silently into other results."""
    if reason := sandbox.refusal():
        pytest.skip(reason)
    setup = recipes.STUDY.trial("rules@0.8", conditions=PAIR, limit=3)
    run(setup, tmp_path, "calm")
    started: list[Path] = []
    start = watching.start

    def vanishing(job: Job) -> Any:
        """Start a program, and remove its folder before its interpreter has read it."""
        process = start(job)
        started.append(job.folder)
        # The first episode twice, so that it is not measured; another once, so that it is played again.
        if len(started) in (1, 2, 6):
            shutil.rmtree(job.folder)
        return process

    monkeypatch.setattr(watching, "start", vanishing)
    first = run(setup, tmp_path, "disturbed")
    assert not first.outcomes().failed and first.outcomes().not_measured
    assert not run(setup, tmp_path, "disturbed").not_measured
    calm, disturbed = ((tmp_path / name / "episodes.jsonl").read_bytes() for name in ("calm", "disturbed"))
    assert sorted(calm.splitlines()) == sorted(disturbed.splitlines())


def test_a_kept_episode_is_told_with_what_each_command_was_asked_for(tmp_path: Path) -> None:
    results = run(blocks((3, 2), limit=1, engine="rules@0.8"), tmp_path)
    kept = StoredRun(results.folder)
    for name, trajectory in trajectories(results).items():
        assert kept.judged(name).score == float(trajectory.success)
        shown = kept.timeline(name, prompts=True)
        count = len(trajectory.steps)
        assert [step.target for step in shown.steps[:count]] == [step.task for step in trajectory.steps]
        assert shown.steps[count].verdict == trajectory.verdict.solved and not shown.notes
        for step, played in zip(shown.steps, trajectory.steps, strict=False):
            asked = ["act", "verify"] if played.outcome in ("verified", "rejected") else ["act"]
            assert [each.operator for each in step.exchanges] == asked
            assert f"Task: {played.task}\n" in step.exchanges[0].messages[-1]["content"]


def test_attempts_share_the_horizon_and_end_with_the_first_that_is_done(tmp_path: Path) -> None:
    """Work hours, actions narrowed, programs verify: rules are done in the first attempt, a null model never is."""
    how: dict[str, Any] = {
        "own": HOURS,
        "engines": {"check": "rules"},
        "network": NONE,
        "form": "narrowed",
        "verified_by": "program",
        "limit": 2,
    }
    for engine, done in (("rules", True), ("random", False)):
        once, several = (collect(Episodes(engine=engine, horizon=40, attempts=n, **how)) for n in (1, 4))
        for task, episode in several.episodes.items():
            assert episode.result["success"] == done
            assert episode.result["iterations"] == (once.episodes[task].result["iterations"] if done else 40)
    with pytest.raises(BadSetting, match="attempts=11: from 1 to the horizon, 10"):
        Episodes(horizon=10, attempts=11, **how).decided()


@pytest.mark.parametrize(("study", "options"), [("figure3", {"blocks": [], "units": [[2, 1]]}), ("hours", {})])
def test_a_constant_answer_is_stored_as_a_floor(study: str, options: dict[str, Any]) -> None:
    """Else no null model has played the tasks of a recorded row, whose sizes and seeds are its own."""
    conditions = [NONE, CONSTANT.name]
    run = STUDIES.named(f"procllm-{study}").run(engine="rules", conditions=conditions, options=options, limit=2)
    stored = {(scores.side.condition, scores.role): [*scores.values.values()] for scores in sides_of(score_lines(run))}
    assert stored == {(NONE, "method"): [1.0, 1.0], (CONSTANT.name, "floor"): [0.0, 0.0]}
    assert {*outcomes.endings([run])["condition"]} == {NONE}, "a null model has no steps"


def test_copied_entries_are_a_floor_and_solve_requests_that_need_no_work() -> None:
    """With two entries, those of two people in their order; a model can do as well by copying."""
    small, study = {"sizes": [[2, 2]]}, STUDIES.named("procllm-hours")
    run = study.run(engine="rules", conditions=[COPIED], options=small, limit=8, seed=1)
    (scores,) = sides_of(score_lines(run))
    expected = {task.id: float(task.problem == entries(task.request)) for task in instances(8, 1, 2, 2)}
    assert (scores.role, scores.values) == ("floor", expected)
    assert sum(expected.values()) == 1 and {*run.frame()["backbone"]} == {"none"}


def test_another_attempt_draws_other_samples() -> None:
    question: tuple[Any, dict[str, Any]] = (ACTING, {"task": "a"})
    first, again, other = Samples("x"), Samples("x"), Samples("x", 1)
    assert first.next(*question) == again.next(*question) != other.next(*question)


def test_a_report_is_right_only_with_every_sum_and_any_text_is_an_answer() -> None:
    (problem,) = instances(1, people=2, entries=4)
    right = added_up(problem.request)
    assert check(problem, right).solved and check(problem, f"\n{right}\n\n").solved
    wrong = check(problem, re.sub(r"\d+", "99", right))
    assert wrong.parts == {"people": True, "sums": False} and not check(problem, "\x00").solved
