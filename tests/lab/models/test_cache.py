"""The cache of answers: many threads, many processes, one file."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chat_server as chat
from asking import ASK
from chat_server import ChatServer
from flights import fly
from lab.machine.faults import Unavailable
from lab.machine.files import canonical, key_of
from lab.models.cache import AnswerCache, tell_damaged
from lab.models.connect import connect
from lab.models.parsing import RefusedAnswer

KEYS = 60
KEY, OTHER = "a" * 64, "b" * 64
GOOD = {"shelf": 3, "why": "it is free"}
FORK = multiprocessing.get_context("fork")
leaves = st.none() | st.booleans() | st.integers() | st.text()
values = st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5)


def hammer(cache: AnswerCache, worker: int) -> None:
    """Write and read the same keys as everybody else; what is there must be whole."""
    for key in range(KEYS):
        kept = cache.put(str(key), {"by": worker, "text": "x" * 500})
        assert kept == cache.get(str(key)) and len(kept["text"]) == 500


def test_the_first_value_of_a_key_stays_and_each_get_gives_a_fresh_object(
    cache: AnswerCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cache.get("a") is None
    value = {"text": "Zürich \ud800", "list": [1]}
    assert cache.put("a", value) == cache.put("a", 2) == value
    cache.get("a")["list"].append(2)
    assert cache.get("a") == value and len(cache) == 1
    copy = pickle.loads(pickle.dumps(cache))
    assert (copy.path, copy.get("a")) == (cache.path, value)
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "mine.sqlite"))
    AnswerCache().put("a", 1)
    assert (tmp_path / "mine.sqlite").is_file()
    (tmp_path / "folder").mkdir()
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "folder"))
    AnswerCache().put("a", 1)
    assert (tmp_path / "folder" / "answers.sqlite").is_file()


@pytest.mark.slow
def test_processes_share_one_cache(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    workers = [FORK.Process(target=hammer, args=(AnswerCache(path), worker)) for worker in range(4)]
    assert finish(workers) == [0] * 4
    assert len(AnswerCache(path)) == KEYS


@pytest.mark.slow
def test_processes_that_make_the_file_at_the_same_moment_do_not_fail(tmp_path: Path) -> None:
    for attempt in range(15):
        path, gate = tmp_path / str(attempt) / "answers.sqlite", FORK.Barrier(8)
        workers = [FORK.Process(target=open_together, args=(path, gate)) for _ in range(8)]
        assert finish(workers) == [0] * 8


def open_together(path: Path, gate: Any) -> None:
    gate.wait()
    AnswerCache(path).put("a", 1)


def finish(workers: list[Any]) -> list[int | None]:
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    return [worker.exitcode for worker in workers]


def test_a_fork_opens_its_own_connection_and_leaves_its_parents_alone(cache: AnswerCache) -> None:
    cache.put("before", 1)
    assert finish([FORK.Process(target=in_a_fork, args=(cache, cache._shared))]) == [0]
    assert (cache.get("before"), cache.get("forked"), len(cache)) == (1, 2, 2)


def in_a_fork(cache: AnswerCache, inherited: object) -> None:
    assert cache.get("before") == 1
    cache.put("forked", 2)
    assert cache._shared is not None and cache._shared is not inherited


def test_threads_share_a_connection_and_take_turns(cache: AnswerCache) -> None:
    cache.put("first", 0)
    before = len(os.listdir("/proc/self/fd"))
    with ThreadPoolExecutor(32) as pool:
        assert list(pool.map(lambda number: cache.put(str(number % 50), number % 50), range(400))) == [*range(50)] * 8
        assert len(os.listdir("/proc/self/fd")) <= before + 2


@pytest.mark.slow
@settings(max_examples=50)
@given(st.dictionaries(st.text(), values, max_size=5))
def test_a_key_does_not_depend_on_the_order_of_names(request: dict[str, object]) -> None:
    turned = dict(reversed(request.items()))
    assert canonical(request) == canonical(turned) and key_of(request) == key_of(turned)


def test_keys_are_the_same_on_every_machine() -> None:
    assert key_of({"b": [1, "é"], "a": None}) == "f8f17faab95c024891d173fa43442b0e52007736a1f36715ac721ab22deeefc5"


# --- who may ask ------------------------------------------------------------------------------------------------


def test_processes_and_threads_that_ask_the_same_ask_the_server_once(server: ChatServer, tmp_path: Path) -> None:
    server.behave(lambda request: chat.answer({"shelf": request.number, "why": ""}, delay=0.02))
    asked = fly(4, 2, 60, 20, server.address, tmp_path / "answers.sqlite")
    assert len(asked) == 4 * 60
    assert len({(answer.box, answer.text) for answer in asked}) == server.count == 20
    assert sum(not answer.cached for answer in asked) == 20


def test_where_one_fails_the_next_asks(server: ChatServer, cache: AnswerCache, monkeypatch: pytest.MonkeyPatch) -> None:
    server.behave(lambda request: chat.answer(GOOD))
    server.script(chat.Response(**vars(chat.refuses()) | {"delay": 0.2}))
    model = connect("small", cache=cache)

    def ask(_: int) -> bool | None:
        try:
            return model.ask(ASK, box=1).call.cached
        except RefusedAnswer:
            return None

    with ThreadPoolExecutor(5) as pool:
        came = list(pool.map(ask, range(5)))
    assert sorted(came, key=str) == [False, None, True, True, True] and server.count == 2


@contextmanager
def holder(cache: AnswerCache, key: str) -> Iterator[Any]:
    """Another process that holds the lock and keeps it."""
    held = FORK.Event()
    process = FORK.Process(target=hold, args=(cache, key, held))
    process.start()
    assert held.wait(10)
    try:
        yield process
    finally:
        process.kill()
        process.join()


def hold(cache: AnswerCache, key: str, held: Any) -> None:
    with cache.single_flight(key, 1.0):
        held.set()
        time.sleep(60)


def seconds_to_lock(cache: AnswerCache, key: str, longest: float) -> float:
    began = time.monotonic()
    with cache.single_flight(key, longest) as known:
        assert known is None
        return time.monotonic() - began


def test_the_lock_of_a_killed_process_is_taken_over_at_once(cache: AnswerCache) -> None:
    with holder(cache, KEY) as process:
        threading.Timer(0.3, process.kill).start()
        assert 0.2 < seconds_to_lock(cache, KEY, 30) < 5


def test_a_stopped_process_or_a_thread_holds_the_others_up_for_a_stated_time_only(cache: AnswerCache) -> None:
    with holder(cache, KEY) as process:
        os.kill(process.pid, signal.SIGSTOP)
        assert 0.3 < seconds_to_lock(cache, KEY, 0.3) < 5
    with cache.single_flight(OTHER, 1.0), ThreadPoolExecutor(1) as pool:
        assert 0.3 < pool.submit(seconds_to_lock, cache, OTHER, 0.3).result() < 5


def test_whoever_asks_another_question_does_not_wait(cache: AnswerCache) -> None:
    with holder(cache, KEY), cache.single_flight("c" * 64, 1.0), ThreadPoolExecutor(1) as pool:
        assert pool.submit(seconds_to_lock, cache, OTHER, 30).result() < 1


def test_an_answer_that_comes_while_waiting_is_taken(cache: AnswerCache) -> None:
    with holder(cache, KEY):
        threading.Timer(0.2, cache.put, (KEY, "late")).start()
        with cache.single_flight(KEY, 30) as known:
            assert known == "late"


def test_that_another_asks_is_told_while_it_is_waited_for(cache: AnswerCache, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, ...]] = []
    monkeypatch.setattr("lab.models.cache.progress.waits", lambda *words: told.append(words))
    monkeypatch.setattr("lab.models.cache.SILENT", 0.05)
    seconds_to_lock(cache, OTHER, 0.3)
    assert not told
    with holder(cache, KEY):
        seconds_to_lock(cache, KEY, 0.3)
    assert told == [("another asks the same", "waiting for another that asks the same"), ("",)]


def test_a_fork_made_meanwhile_does_not_keep_the_lock(cache: AnswerCache) -> None:
    with cache.single_flight(KEY, 1) as known:
        child = FORK.Process(target=time.sleep, args=(30,))
        child.start()
    assert known is None
    try:
        assert seconds_to_lock(cache, KEY, 5) < 1
    finally:
        child.kill()
        child.join()


# --- files that cannot be used ----------------------------------------------------------------------------------


def test_an_answer_that_cannot_be_kept_is_given(
    server: ChatServer, cache: AnswerCache, capsys: pytest.CaptureFixture[str]
) -> None:
    server.behave(lambda request: chat.answer(GOOD))
    assert cache.get(KEY) is None
    with sqlite3.connect(cache.path) as other:
        other.execute("CREATE TRIGGER full BEFORE INSERT ON answers BEGIN SELECT RAISE(ABORT, 'no room'); END")
    assert connect("small", cache=cache).ask(ASK, box=1).value.shelf == 3
    assert f"could not be kept in {cache.path}: no room; it goes on without" in capsys.readouterr().err


def test_a_row_that_was_edited_is_asked_again_and_told_in_the_summary(
    server: ChatServer, cache: AnswerCache, capsys: pytest.CaptureFixture[str]
) -> None:
    server.behave(lambda request: chat.answer(GOOD))
    model = connect("small", cache=cache)
    for box in range(6):
        model.ask(ASK, box=box)
    with sqlite3.connect(cache.path) as other:
        keys = [key for (key,) in other.execute("SELECT key FROM answers")]
        values = ("'{}'", '\'{"text": "\'', "x'e9ff'", "3", "replace(value, ':3,', ':4,')")
        for key, value in zip(keys, values, strict=False):
            other.execute(f"UPDATE answers SET value = {value} WHERE key = ?", (key,))
    asked = server.count
    for _ in range(2):
        assert [model.ask(ASK, box=box).value.shelf for box in range(6)] == [3] * 6
    assert server.count == asked + 5, "each once, and the whole one not at all"
    tell_damaged()
    tell_damaged()
    assert capsys.readouterr().err.count(f"5 damaged rows of the cache {cache.path} (") == 1


NO_DATABASE = b"not a database, but long enough to be read as the header of one" * 20


@pytest.mark.parametrize(
    ("spoil", "remedy"),
    [
        (lambda path: path.mkdir(), "make it a file that you may write"),
        (lambda path: path.symlink_to(path), "make it a file that you may write"),
        (lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(5000)), "delete it"),
        (lambda path: path.write_bytes(NO_DATABASE), "file is not a database.*delete it"),
    ],
)
def test_a_file_that_cannot_be_used_says_what_to_do_and_nothing_is_asked(
    server: ChatServer, tmp_path: Path, spoil: Any, remedy: str
) -> None:
    path = tmp_path / "answers.sqlite"
    spoil(path)
    with pytest.raises(Unavailable, match=f"{path} cannot be used: .*{remedy}.*LAB_CACHE"):
        connect("small", cache=AnswerCache(path)).ask(ASK, box=1)
    assert server.count == 0


def test_a_cache_that_another_process_holds_is_named(cache: AnswerCache, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.put(KEY, 1)
    monkeypatch.setattr("lab.models.cache.BUSY_SECONDS", 0.05)
    cache.close()
    other = sqlite3.connect(cache.path, isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(Unavailable, match="database is locked. To go on, end the process that holds it"):
        cache.get(KEY)
    other.close()
    assert cache.get(KEY) == 1
