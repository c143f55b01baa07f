"""The cache of answers: many threads, many processes, one file."""

from __future__ import annotations

import multiprocessing
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.cache import AnswerCache, canonical, key_of

KEYS = 60
FORK = multiprocessing.get_context("fork")
leaves = st.none() | st.booleans() | st.integers() | st.text()
values = st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5)


def hammer(cache: AnswerCache, worker: int) -> None:
    """Write and read the same keys as everybody else; what is there must be whole."""
    for key in range(KEYS):
        kept = cache.put(str(key), {"by": worker, "text": "x" * 500})
        assert kept == cache.get(str(key)) and len(kept["text"]) == 500


def test_an_unknown_key_is_none_and_a_known_one_its_value(cache: AnswerCache) -> None:
    assert cache.get("a") is None
    cache.put("a", {"text": "Zürich \ud800"})
    assert cache.get("a") == {"text": "Zürich \ud800"}
    assert len(cache) == 1


def test_the_first_value_stays_and_is_what_put_returns(cache: AnswerCache) -> None:
    assert cache.put("a", 1) == 1
    assert cache.put("a", 2) == 1
    assert cache.get("a") == 1


def test_each_get_gives_a_fresh_object(cache: AnswerCache) -> None:
    cache.put("a", {"list": [1]})
    cache.get("a")["list"].append(2)
    assert cache.get("a") == {"list": [1]}


def test_threads_share_one_cache(cache: AnswerCache) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda worker: hammer(cache, worker), range(8)))
    assert len(cache) == KEYS


def test_processes_share_one_cache(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    workers = [FORK.Process(target=hammer, args=(AnswerCache(path), worker)) for worker in range(4)]
    assert finish(workers) == [0] * 4
    assert len(AnswerCache(path)) == KEYS


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
    assert finish([FORK.Process(target=in_a_fork, args=(cache, cache._connection()))]) == [0]
    assert (cache.get("before"), cache.get("forked"), len(cache)) == (1, 2, 2)


def in_a_fork(cache: AnswerCache, inherited: object) -> None:
    assert cache.get("before") == 1
    cache.put("forked", 2)
    assert cache._connection() is not inherited


def test_a_pickled_cache_reads_the_same_file(cache: AnswerCache) -> None:
    cache.put("a", 1)
    copy = pickle.loads(pickle.dumps(cache))
    assert (copy.path, copy.get("a")) == (cache.path, 1)


def test_a_closed_cache_opens_again(cache: AnswerCache) -> None:
    cache.put("a", 1)
    cache.close()
    cache.close()
    assert cache.get("a") == 1


def test_the_default_file_is_the_one_that_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "mine.sqlite"))
    AnswerCache().put("a", 1)
    assert (tmp_path / "mine.sqlite").is_file()


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.text(), values, max_size=5))
def test_a_key_does_not_depend_on_the_order_of_names(request: dict[str, object]) -> None:
    turned = dict(reversed(request.items()))
    assert canonical(request) == canonical(turned) and key_of(request) == key_of(turned)


def test_keys_are_the_same_on_every_machine() -> None:
    assert key_of({"b": [1, "é"], "a": None}) == "f8f17faab95c024891d173fa43442b0e52007736a1f36715ac721ab22deeefc5"
