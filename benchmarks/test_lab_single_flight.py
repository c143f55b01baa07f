"""Eight processes of four threads ask 1,000 times each, for 250 different answers: the server sees 250 requests."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

import chat_server as chat
from chat_server import ChatServer
from flights import fly
from lab.models.cache import AnswerCache

PROCESSES, THREADS, ASKS, DISTINCT = 8, 4, 1000, 250
DELAY = 0.02  # seconds that the server takes, so that everybody asks before the first answer is there
LIMIT = 0.2e-3  # seconds for an answer from the cache


def test_each_different_request_reaches_the_server_once(benchmark: Any, tmp_path: Path) -> None:
    def behave(request: chat.Request) -> chat.Response:
        return chat.answer({"shelf": request.number, "why": "the first one stays"}, delay=DELAY)

    with ChatServer(behave) as server:
        about = {"address": server.address, "path": tmp_path / "answers.sqlite"}
        asked = benchmark.pedantic(fly, (PROCESSES, THREADS, ASKS, DISTINCT), about, rounds=1)
        requests = Counter(request.text for request in server.requests)
    texts = {(answer.box, answer.text) for answer in asked}
    fresh = sum(not answer.cached for answer in asked)
    busy = median(answer.seconds for answer in asked if answer.cached)
    benchmark.extra_info.update(
        asked=len(asked), different=len(requests), requests=requests.total(), fresh=fresh,
        cached_median_ms_all_at_once=round(busy * 1000, 3),
    )  # fmt: skip
    assert len(asked) == PROCESSES * ASKS and len(AnswerCache(about["path"])) == DISTINCT
    assert requests.total() == len(requests) == fresh == len(texts) == DISTINCT


def test_a_hit_stays_within_its_limit_while_locks_are_held(benchmark: Any, tmp_path: Path, monkeypatch: Any) -> None:
    from asking import ASK
    from lab.models.connect import connect

    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    cache = AnswerCache(tmp_path / "answers.sqlite")
    model = connect("small", cache=cache)
    kept = {"text": '{"shelf": 3, "why": "free"}', "path": "schema", "tokens_in": 7, "tokens_out": 3}
    for box in range(DISTINCT):
        cache.put(model.request(ASK, box=box), kept)
    with cache.single_flight("a" * 64, 1.0):
        benchmark.pedantic(lambda: model.ask(ASK, box=7), rounds=2000, warmup_rounds=20)
    ratio = benchmark.stats.stats.median / LIMIT
    benchmark.extra_info.update(limit_ms=LIMIT * 1000, part_of_the_limit=round(ratio, 3))
    assert ratio < 1
