"""ALFWorld's engine against TextWorld's own, in the same run: the same words, at least eight times the steps a second.

Released games where they are, else synthetic ones. The ratio counts steps alone; the one with starting the games, which
each needs to be grounded once, is reported beside it. ALFWORLD_GAMES sets how many games are compared.
"""

from __future__ import annotations

import os
from random import Random
from typing import Any

import pytest

from household_games import Record, play
from stock_alfworld import load_stock
from worlds.alfworld import load
from worlds.alfworld.expert import Expert
from worlds.alfworld.package_files import package

RATIO = 8
GAMES = int(os.environ.get("ALFWORLD_GAMES", 50))
RANDOM_STEPS = 10


@pytest.mark.slow
def test_steps_are_at_least_eight_times_as_fast_with_the_same_transcripts(benchmark: Any) -> None:
    with load() as fast, load_stock() as stock:
        tasks = Random(0).sample([task for split in ("train", "valid_unseen") for task in fast.tasks(split)], GAMES)
        walkthroughs = {task.id: Expert(fast).actions(task) for task in tasks}
        records = {"fast": Record(), "stock": Record()}
        package("worlds.alfworld.engine").grounded.cache_clear()  # the planner of synthetic games has grounded some

        def compare() -> None:
            for task in tasks:
                play(fast, task, walkthroughs[task.id], RANDOM_STEPS, records["fast"])
                play(stock, task, walkthroughs[task.id], RANDOM_STEPS, records["stock"])

        benchmark.pedantic(compare, rounds=1)
    rates = {name: record.steps / record.stepping for name, record in records.items()}
    ratio = rates["fast"] / rates["stock"]
    benchmark.extra_info.update(
        data=fast.data,
        games=GAMES,
        digest=records["fast"].digest[:16],
        steps_a_second=round(rates["fast"]),
        stock_steps_a_second=round(rates["stock"], 1),
        ratio=round(ratio),
        ratio_with_starting=round(records["stock"].playing / records["fast"].playing, 1),
    )
    assert records["fast"].digest == records["stock"].digest
    assert ratio >= RATIO
