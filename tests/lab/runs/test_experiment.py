"""The harness: experiments are played, resumed, shared, stopped, recorded and replayed; every outcome is counted."""

from __future__ import annotations

import json
import re
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from asking import ASK, Asking, manifest, place
from chat_server import ChatServer, Request, Response, answer, says
from lab.machine import paths
from lab.machine.faults import Unavailable
from lab.models import budget
from lab.models.budget import Budget, BudgetSpent
from lab.models.connect import connected
from lab.results import tables
from lab.results.outcomes import Outcomes, Readings
from lab.runs import run
from lab.runs.catalogue import folder_for
from lab.runs.collecting import collect, costs
from lab.runs.execution import Played, play_all
from lab.runs.experiment import spread
from lab.runs.first_answers import FirstAnswers
from lab.runs.run import Episode, ManifestMismatch, Run, read_lines, when_free

SHELF = {"shelf": 3, "why": "box"}


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Runs and recordings of a test are its own."""
    monkeypatch.setenv("LAB_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(run, "BUSY_PAUSE", 0.02)
    monkeypatch.setenv("LAB_RECORDINGS", str(tmp_path / "recordings"))


@pytest.fixture
def allowed(monkeypatch: pytest.MonkeyPatch) -> Budget:
    """The budget of the test; without limits as long as it sets none."""
    held = Budget()
    monkeypatch.setattr(budget, "of_environment", lambda: held)
    return held


# --- playing ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_an_experiment_is_its_episodes_in_the_order_of_its_tasks(workers: int) -> None:
    results = collect(Asking(), workers=workers, show_progress=False)
    assert list(results.episodes) == ["000", "001", "002"]
    assert results.episodes["001"].result == {"shelves": [place(ASK.fill(box=box)).shelf for box in (3, 4, 5)]}
    assert (results.backbone, results.evidence, results.by_rules) == ("rules", "measured", True)
    assert results.outcomes() == Outcomes(3, failed=0, not_measured=0)


def test_a_run_goes_on_with_another_patience(server: ChatServer) -> None:
    server.behave(lambda request: answer(SHELF))
    first, again = (
        collect(Asking(engine=f"model-p?{waiting}temperature=0"), workers=1, show_progress=False)
        for waiting in ("patience=5&", "timeout=9&patience=8&")
    )
    assert again.folder == first.folder and again.backbone == "model-p?temperature=0"
    assert server.count == 9, "the second look played nothing"


def test_another_experiment_in_a_named_folder_is_refused_and_not_waited_for() -> None:
    collect(Asking(), run="mine", show_progress=False)
    with pytest.raises(ManifestMismatch):
        collect(Asking(count=4), run="mine", show_progress=False)


@pytest.mark.parametrize(("limit", "chosen"), [(0, [0, 1, 2, 3, 4, 5, 6]), (3, [0, 2, 4]), (9, [0, 1, 2, 3, 4, 5, 6])])
def test_a_limit_is_spread_evenly(limit: int, chosen: list[int]) -> None:
    assert spread(range(7), limit) == chosen


# --- folders ------------------------------------------------------------------------------------------------------


def test_a_second_notebook_shares_the_folder_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    folders = []
    for notebook in ("first", "second"):
        monkeypatch.setenv("LAB_NOTEBOOK", notebook)
        folders.append(collect(Asking(), show_progress=False).folder)
    assert folders[0] == folders[1] and folders[0].parent.name == "first"


def test_without_a_notebook_the_method_names_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("LAB_NOTEBOOK", "JPY_SESSION_NAME"):
        monkeypatch.delenv(name, raising=False)
    assert folder_for(manifest(2), "").parent == tmp_path / "runs" / "asking"
    assert paths.notebook_name() == ""


def test_names_of_models_are_safe_in_a_folders_name(tmp_path: Path) -> None:
    name = folder_for(manifest(2, engine="org/model:8b?temperature=0.01&seed=3"), "../../etc").name
    assert "/" not in name and not set("?&:*|<>\"'") & set(name)


# --- a run that another process writes ----------------------------------------------------------------------------


def test_who_finds_a_run_busy_waits_and_then_goes_on_with_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = Run(tmp_path / "run", manifest(2))
    task = other.pending()[0]
    found: list[list[str]] = []

    def wait() -> None:
        with when_free(lambda: Run(tmp_path / "run", manifest(2))) as run:
            found.append(run.pending())

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.2)
    assert found == [] and waiting.is_alive()
    other.append(Episode(task, {}))
    other.close()
    waiting.join(10)
    assert len(found) == 1 and task not in found[0]
    assert capsys.readouterr().err.count("waiting: ") == 1


def test_experiments_at_the_same_time_share_one_run() -> None:
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(collect(Asking(count=6), show_progress=False))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 3 and len({json.dumps([e.result for e in each.episodes.values()]) for each in found}) == 1
    assert len(read_lines(found[0].folder / "episodes.jsonl")) == 6


# --- answers that cannot be read ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 4])
def test_a_run_whose_first_answers_cannot_be_read_stops_and_shows_one(server: ChatServer, workers: int) -> None:
    server.behave(lambda request: says("I would rather talk about shelves."))
    setup = Asking(count=30, engine="small")
    with pytest.raises(
        Unavailable, match="first 10 answers cannot be read.*rather talk about shelves.*max_tokens"
    ) as stopped:
        collect(setup, run="mine", workers=workers, show_progress=False)
    assert "0 of 30 episodes are in" in stopped.value.__notes__[0] and server.count <= 2 * (10 + workers) + 1
    server.behave(lambda request: answer({"shelf": 1, "why": ""}))
    outcomes = collect(setup, run="mine", show_progress=False).outcomes()
    assert outcomes[:3] == (30, 0, 0) and outcomes.readings and outcomes.readings.malformed == 0


def test_single_malformed_answers_are_failures_and_counted(
    server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    def every_fifth(request: Request) -> Response:
        malformed = int(re.search(r"Box (\d+)", request.text)[1]) % 5 == 4
        return says("hm") if malformed else answer({"shelf": 1, "why": ""})

    server.behave(every_fifth)
    results = collect(Asking(count=20, questions=1, engine="small"), show_progress=False)
    assert results.outcomes() == Outcomes(20, 4, 0, Readings(20, 20.0, 0.0, 0.0))
    assert "20 answers: 20.0 % malformed, 0.0 % truncated, 0.0 % repaired" in capsys.readouterr().err
    row = tables.rate_row("SDP", "small", "pass %", 16, 20, outcomes=results.outcomes())
    published = {name: cell for name, cell in row.items() if not name.endswith(" %")}
    assert tables.table([published, row])["malformed %"].tolist()[1] == 20.0


@pytest.mark.parametrize(("good", "bad", "measured"), [(1, 9, True), (1, 10, False), (0, 9, True), (20, 80, True)])
def test_an_episode_of_unreadable_answers_is_not_measured(tmp_path: Path, good: int, bad: int, measured: bool) -> None:
    usage = {"realize": {"paths": {"schema": good, "malformed": bad, "failed": 3}}}
    with Run(tmp_path, manifest(1)) as opened:
        play_all(opened, lambda task: Played({"done": task}, usage), first=FirstAnswers(["schema"] * 10))
        assert bool(opened.episodes) == measured
    assert measured or f"{bad} of {good + bad} answers of the episode could not be read" in opened.not_measured["000"]
    for name, first in (
        ("replay", None),
        ("local", FirstAnswers(["schema"] * 10, served=False)),
    ):  # no server can break
        with Run(tmp_path / name, manifest(1)) as opened:
            assert play_all(opened, lambda task: Played({"done": task}, usage), first=first)


def test_malformed_episodes_are_held_back_until_others_can_be_read(tmp_path: Path) -> None:
    paths = iter(["malformed"] * 5 + ["schema"] * 15)
    with Run(tmp_path, manifest(20)) as opened:
        play_all(opened, lambda task: Played({}, {"ask": {"paths": {next(paths): 1}}}), first=FirstAnswers())
        assert len(opened.episodes) == 20 and list(opened.episodes)[:5] == ["005", "006", "007", "008", "000"]


# --- outcomes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["BackendDied", "OSError", "MemoryError"])
def test_what_the_machine_fails_is_not_measured_and_played_again(fault: str) -> None:
    broken = Asking(count=4, wrong=("002",), fault=fault)
    results = collect(broken, run="mine", show_progress=False)
    # Its partner of the group was measured, and cannot be compared.
    assert list(results.episodes) == ["000", "001"] and list(results.not_measured) == ["002", "003"]
    assert results.outcomes() == Outcomes(2, failed=0, not_measured=2)
    assert "002" not in {line["task"] for line in read_lines(results.folder / "episodes.jsonl")}
    assert fault in results.not_measured["002"]


def test_a_run_with_faults_ends_as_one_without(monkeypatch: pytest.MonkeyPatch) -> None:
    calm = collect(Asking(count=4), run="calm", workers=1, show_progress=False)
    right = Asking.play
    monkeypatch.setattr(Asking, "play", lambda self, task, ledger: (_ for _ in ()).throw(OSError("gone")))
    with pytest.raises(Unavailable, match=r"None of 4 episodes could be measured \(OSError: gone\)"):
        collect(Asking(count=4), run="mended", workers=1, show_progress=False)
    monkeypatch.setattr(Asking, "play", right)
    mended = collect(Asking(count=4), run="mended", workers=1, show_progress=False)
    assert mended.outcomes() == calm.outcomes()
    assert (mended.folder / "episodes.jsonl").read_bytes() == (calm.folder / "episodes.jsonl").read_bytes()


def test_bounds_say_what_was_left_open() -> None:
    assert Outcomes(8).bounds(6, 8) is None
    assert Outcomes(8, 1, 2).bounds(6, 8) == (0.6, 0.8)
    assert Outcomes(8, 1, 2).bounds(600, 8, 100) == (60.0, 80.0)
    assert str(Outcomes(8, 1, 2)) == "7 scored, 1 failed, 2 not measured"


# --- accounts and the budget --------------------------------------------------------------------------------------


def test_calls_are_accounted_by_operator_and_group(server: ChatServer) -> None:
    server.behave(lambda request: answer(SHELF))
    results = collect(Asking(engine="accounts-a", count=4, questions=2), show_progress=False)
    table = costs(results, lambda task: {"half": results.setup.group(task)}, run="mine")
    assert list(table.columns[:5]) == ["run", "half", "backbone", "evidence", "operator"]
    assert table["calls"].tolist() == [4, 4] and table["tokens in"].sum() == 8 * 7


def test_an_episode_that_fails_keeps_its_accounts(server: ChatServer) -> None:
    server.script(answer(SHELF), says("no"), says("no"))
    results = collect(Asking(engine="accounts-b", count=1, questions=2), workers=1, show_progress=False)
    assert results.outcomes() == Outcomes(1, failed=1, readings=Readings(2, 50.0, 0.0, 0.0))
    assert results.usage["000"]["realize"]["paths"] == {"schema": 1, "malformed": 1}
    assert [line["path"] for line in read_lines(results.folder / "answers.jsonl")] == ["schema", "malformed"]


def test_an_answer_cut_at_max_tokens_is_counted_apart_and_the_remedy_is_named(server: ChatServer) -> None:
    server.behave(lambda request: says('{"shelf": 3, "why": "beca', finish_reason="length"))
    results = collect(Asking(engine="cut-off?max_tokens=12", count=1, questions=1), workers=1, show_progress=False)
    assert "max_tokens=12" in str(results.episodes["000"].error) and "larger" in str(results.episodes["000"].error)
    assert costs(results)["truncated"].tolist() == [1], "both replies of one answer"
    assert "shorter" not in str(server.requests[-1].body)


def test_an_answer_cut_at_max_tokens_counts_from_the_cache_and_in_a_replay_too(
    server: ChatServer, tmp_path: Path
) -> None:
    server.script(says('{"shelf": 3, "why": "beca', finish_reason="length"), answer(SHELF))

    def truncated(engine: str, name: str) -> list[int]:
        asking = Asking(engine=engine, count=1, questions=1)
        return costs(collect(asking, workers=1, run=str(tmp_path / name), show_progress=False))["truncated"].tolist()

    assert truncated("cut-once", "first") == truncated("cut-once", "second") == [1]
    assert truncated(f"replay:{tmp_path / 'first'}", "third") == [1] and server.count == 2


def test_prompts_that_were_cut_to_the_context_are_counted(server: ChatServer) -> None:
    server.behave(lambda request: answer(SHELF))
    results = collect(Asking(engine="cut-prompts", count=2, questions=1), workers=1, show_progress=False)
    assert "cut" not in costs(results)
    booked = {task: {name: {**part, "cut": 1} for name, part in used.items()} for task, used in results.usage.items()}
    some = replace(results, usage=results.usage | {"001": booked["001"]})
    assert costs(some)["cut"].tolist() == [1]
    assert costs(some, lambda task: {"task": task})["cut"].tolist() == [0, 1]


def test_no_call_is_made_beyond_the_budget_and_what_was_answered_is_not_asked_again(
    server: ChatServer, allowed: Budget
) -> None:
    allowed.calls = 5
    server.behave(lambda request: answer(SHELF))
    setup = Asking(engine="budget-a", count=6, questions=2)
    results = collect(setup, workers=1, show_progress=False)
    assert allowed.made == server.count == 5
    assert list(results.episodes) == ["000", "001"] and not results.not_measured, "no failure of 002"
    allowed.calls = None
    assert len(collect(setup, workers=1, show_progress=False).episodes) == 6
    assert allowed.made == server.count == 12, "the answer of the episode begun comes from the cache"
    allowed.calls = 1
    assert len(collect(replace(setup, seed=1), workers=1, show_progress=False).episodes) == 6, "all are cached"
    with pytest.raises(BudgetSpent, match=r"1 model calls is spent"):
        collect(replace(setup, engine="budget-b"), workers=1, show_progress=False)  # not even a whole group


def test_answers_from_the_cache_cost_nothing(server: ChatServer, allowed: Budget) -> None:
    server.behave(lambda request: answer(SHELF))
    for name in ("one", "two"):
        collect(Asking(engine="budget-c"), run=name, workers=1, show_progress=False)
    assert allowed.made == server.count == 9


# --- the backbone -------------------------------------------------------------------------------------------------


def test_an_engine_is_connected_once_an_address_and_a_cache(
    server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.behave(lambda request: answer(SHELF))
    first, shelves = connected("connected-a"), iter([8, 9])
    assert connected("connected-a") is first
    with ChatServer(lambda request: answer({"shelf": next(shelves), "why": "elsewhere"})) as elsewhere:
        monkeypatch.setenv("OPENAI_BASE_URL", elsewhere.address)
        assert [connected("connected-a").ask(ASK, box=1).value.shelf for _ in range(2)] == [8, 8]
        assert first.ask(ASK, box=1).value.shelf == 3, "an endpoint keeps to its address"
        monkeypatch.setenv("LAB_CACHE", str(tmp_path / "another" / "answers.sqlite"))
        assert connected("connected-a").ask(ASK, box=1).value.shelf == 9
