"""How many steps the shop takes in a second (the limit is 500), and its search beside SQLite's full-text search."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from random import Random
from statistics import median
from time import perf_counter
from typing import Any

from worlds.webshop import WebShop, load

STEPS_A_SECOND = 500
EPISODES, LENGTH = 40, 25
AS_MUCH_TIME = 3.0  # the search may take this many times what SQLite's FTS5 takes, which is written in C


def test_the_shop_takes_at_least_500_steps_a_second(benchmark: Any) -> None:
    shop = load()
    walk(shop)
    steps = walk(shop)
    benchmark.pedantic(lambda: walk(shop), rounds=5, warmup_rounds=1)
    speed = steps / benchmark.stats.stats.median
    benchmark.extra_info.update(steps_a_second=round(speed), data=shop.data)
    assert speed >= STEPS_A_SECOND


def walk(shop: WebShop) -> int:
    """A random walk for each of some tasks, with the valid actions listed at every step; the number of steps."""
    rng, steps = Random(0), 0
    for task in shop.tasks("test")[:EPISODES]:
        step = shop.reset(task)
        for _ in range(LENGTH):
            step = shop.step(rng.choice(step.actions))
            steps += 1
            if step.done:
                break
    return steps


def test_a_search_takes_at_most_three_times_as_long_as_sqlites(benchmark: Any) -> None:
    shop = load()
    queries = [task.goal for task in shop.tasks("test")][:60]
    peer = sqlite_search(shop)
    ours_seconds, peer_seconds = [], []
    for _ in range(5):
        peer_seconds.append(seconds(peer, queries))
        ours_seconds.append(seconds(shop.catalogue.search, queries))
    benchmark.pedantic(lambda: [shop.catalogue.search(query) for query in queries], rounds=3)
    ratio = median(ours_seconds) / median(peer_seconds)
    benchmark.extra_info.update(times_sqlite=round(ratio, 2), ms_a_search=round(1000 * median(ours_seconds) / 60, 2))
    assert ratio <= AS_MUCH_TIME


def sqlite_search(shop: WebShop) -> Callable[[str], list[Any]]:
    """BM25 over the same texts with stemmed words, by SQLite's FTS5."""
    base = sqlite3.connect(":memory:")
    base.execute("create virtual table shop using fts5(text, tokenize = 'porter')")
    base.executemany("insert into shop values (?)", [(product.searchable,) for product in shop.catalogue.products])

    def search(query: str) -> list[Any]:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query))
        found = base.execute("select rowid from shop where shop match ? order by bm25(shop) limit 50", (words,))
        return found.fetchall()

    return search


def seconds(search: Callable[[str], Any], queries: list[str]) -> float:
    start = perf_counter()
    for query in queries:
        search(query)
    return perf_counter() - start
