"""Many processes and threads that ask the same questions at the same moments: importable, so that workers find it."""

from __future__ import annotations

import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from asking import ASK
from lab.models.cache import AnswerCache
from lab.models.connect import connect

# Not "fork": the server's threads live in the parent. The modules are loaded once, before the workers are forked.
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    ["openai", "jinja2", "joblib", "lab.models.endpoint", "lab.models.rules", "lab.runs.execution"]
)


class Asked(NamedTuple):
    """One question of one thread: its box, the answer's text, whether it was cached, and the seconds it took."""

    box: int
    text: str
    cached: bool
    seconds: float


def fly(processes: int, threads: int, asks: int, distinct: int, address: str, path: Path, seed: int = 0) -> list[Asked]:
    """Every process asks `asks` times, its threads sharing them; returns all that was asked.

    Every process begins at the same moment, and with the same questions in the same order, the hardest case; then each
    goes on in an order of its own.
    """
    together = Random(seed).sample(range(distinct), k=distinct // 4)
    with ProcessPoolExecutor(processes, CONTEXT) as pool:
        list(pool.map(warm, range(processes * 4)))
        start = time.time() + 0.5
        orders = [order(together, asks, distinct, Random(f"{seed}-{number}")) for number in range(processes)]
        flights = [pool.submit(play, boxes, threads, address, path, start) for boxes in orders]
        return [asked for flight in flights for asked in flight.result()]


def order(together: list[int], asks: int, distinct: int, random: Random) -> list[int]:
    """Which boxes one process asks for, in turn."""
    rest = [number % distinct for number in range(asks - len(together))]
    random.shuffle(rest)
    return together + rest


def warm(_: int) -> None:
    """Start a worker, so that none is still starting when the others ask."""
    time.sleep(0.05)


def play(boxes: list[int], threads: int, address: str, path: Path, start: float) -> list[Asked]:
    """One process's part; its backbone is made here, as in a worker of a run."""
    os.environ["OPENAI_BASE_URL"] = address
    model = connect("small?patience=60&timeout=60", cache=AnswerCache(path))
    time.sleep(max(0.0, start - time.time()))
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda box: ask(model, box), boxes))


def ask(model: Any, box: int) -> Asked:
    began = time.perf_counter()
    answer = model.ask(ASK, box=box)
    return Asked(box, answer.text, answer.call.cached, time.perf_counter() - began)
