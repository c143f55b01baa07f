"""What every episode does around its own work: wait for its run, keep to the budget, keep the accounts."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

import asking
from asking import ASK, manifest
from chat_server import ChatServer, answer, says
from lab.runs import budget, episodes
from lab.models.backbone import Ledger
from lab.runs.budget import Budget, BudgetSpent
from lab.runs.episodes import backbone_of, booked, run_of
from lab.runs.execution import Played, play_all
from lab.models.parsing import MalformedAnswer
from lab.models.rules import Rules
from lab.runs.run import Episode, ManifestMismatch, Run

SHELF = {"shelf": 3, "why": "box"}


@pytest.fixture
def allowed(monkeypatch: pytest.MonkeyPatch) -> Budget:
    """The budget of the test; without limits as long as it sets none."""
    held = Budget()
    monkeypatch.setattr(budget, "of_environment", lambda: held)
    return held


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(episodes, "BUSY_PAUSE", 0.02)


# --- a run that another process writes ----------------------------------------------------------------------------


def test_a_run_is_open_within_and_free_afterwards(tmp_path: Path) -> None:
    with run_of(manifest(2), str(tmp_path / "run")) as run:
        run.append(Episode(run.pending()[0], {}))
    with run_of(manifest(2), str(tmp_path / "run")) as run:
        assert len(run.pending()) == 1


def test_a_run_without_a_name_has_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(episodes, "ROOT", tmp_path)
    with run_of(manifest(2)) as two, run_of(manifest(3)) as three:
        assert {two.folder, three.folder} == {tmp_path / "runs" / about.name() for about in (manifest(2), manifest(3))}
    with run_of(manifest(2), "named") as named:
        assert named.folder == tmp_path / "runs" / "named"


def test_who_finds_a_run_busy_says_so_once_waits_and_goes_on_with_what_is_there_then(
    tmp_path: Path, quick: None, capsys: pytest.CaptureFixture[str]
) -> None:
    other = Run(tmp_path / "run", manifest(2))
    task = other.pending()[0]
    found: list[list[str]] = []

    def wait() -> None:
        with run_of(manifest(2), str(tmp_path / "run")) as run:
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


def test_another_experiments_folder_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    with run_of(manifest(2), str(tmp_path / "run")):
        pass
    with pytest.raises(ManifestMismatch), run_of(manifest(3), str(tmp_path / "run")):
        pass


def test_a_run_is_free_again_when_its_work_fails(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="broken"), run_of(manifest(2), str(tmp_path / "run")):
        raise RuntimeError("broken")
    Run(tmp_path / "run", manifest(2)).close()


# --- accounts -----------------------------------------------------------------------------------------------------


def ask(ledger: Ledger, boxes: int = 1, sample: int = 0) -> int:
    return sum(ledger.ask(ASK, sample=sample, box=box).value.shelf for box in range(boxes))


def test_an_episode_is_its_result_and_its_accounts(server: ChatServer, allowed: Budget) -> None:
    server.behave(lambda request: answer(SHELF))
    played = booked("booked-a", True, lambda ledger: ask(ledger, 2))
    assert played.result == 6
    assert (played.usage["realize"]["calls"], played.usage["realize"]["tokens_in"]) == (2, 14)
    assert len({line["request"] for line in played.answers}) == 2
    assert booked("booked-a", False, lambda ledger: ask(ledger, 2)).answers == []


def test_an_episode_that_fails_keeps_its_accounts(server: ChatServer, allowed: Budget) -> None:
    server.script(answer(SHELF), says("no"), says("no"))
    with pytest.raises(MalformedAnswer) as failed:
        booked("booked-b", True, lambda ledger: ask(ledger, 2))
    played = failed.value.played
    assert isinstance(played, Played) and played.result is None
    assert played.usage["realize"]["paths"] == {"schema": 1, "malformed": 1}
    assert [line["path"] for line in played.answers] == ["schema", "malformed"]
    assert allowed.made == 2, "what came to nothing was paid for too"


def test_a_failed_episodes_accounts_reach_its_run(server: ChatServer, allowed: Budget, tmp_path: Path) -> None:
    def play(name: str) -> Played:
        return booked("booked-c", True, lambda ledger: ask(ledger) / 0)

    server.behave(lambda request: answer(SHELF))
    with run_of(manifest(1), str(tmp_path / "run")) as run:
        (episode,) = play_all(run, play, show_progress=False)
        assert "ZeroDivisionError" in episode.error
        assert run.usage()[episode.task]["realize"]["calls"] == 1


# --- the budget ---------------------------------------------------------------------------------------------------


def test_calls_are_booked_and_the_next_episode_does_not_begin_beyond_them(server: ChatServer, allowed: Budget) -> None:
    allowed.calls = 3
    server.behave(lambda request: answer(SHELF))
    booked("booked-d", False, lambda ledger: ask(ledger, 2))
    booked("booked-d", False, lambda ledger: ask(ledger, 2, sample=1))
    assert allowed.made == 4, "an episode that has begun is played to its end"
    with pytest.raises(BudgetSpent, match=r"3 model calls is spent \(4 were made\)"):
        booked("booked-d", False, lambda ledger: ask(ledger))
    assert server.count == 4


def test_answers_from_the_cache_cost_nothing(server: ChatServer, allowed: Budget) -> None:
    server.behave(lambda request: answer(SHELF))
    for _ in range(3):
        booked("booked-e", False, lambda ledger: ask(ledger, 2))
    assert allowed.made == server.count == 2


def test_minutes_are_held_too(allowed: Budget) -> None:
    allowed.minutes = 0.0
    with pytest.raises(BudgetSpent, match="0 minutes is spent"):
        booked("rules", False, ask)


# --- the backbone -------------------------------------------------------------------------------------------------


def test_an_engine_is_connected_once_an_address(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    first = backbone_of("booked-f")
    assert backbone_of("booked-f") is first
    with ChatServer(lambda request: answer({"shelf": 8, "why": "elsewhere"})) as elsewhere:
        monkeypatch.setenv("OPENAI_BASE_URL", elsewhere.address)
        assert booked("booked-f", False, ask).result == 8
    assert server.count == 0


def test_rules_need_no_address(allowed: Budget) -> None:
    assert isinstance(backbone_of("rules"), Rules)
    assert booked("rules", False, lambda ledger: ask(ledger, 2)).result == asking.place(ASK.fill(box=1)).shelf
