"""How many TravelPlanner plans are judged in a second on one core; the limit is 300."""

from __future__ import annotations

import gzip
import json
import os
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from worlds.travelplanner.evaluator import evaluate
from worlds.travelplanner.listings import Listings
from worlds.travelplanner.tasks import load_tasks

PLANS_A_SECOND = 300
PLANS = 360
DATA = Path(os.environ.get("LAB_DATA") or "nowhere")
PUBLISHED = DATA / "published" / "travelplanner_evoagent_validation_plans.jsonl.gz"


@pytest.mark.skipif(not PUBLISHED.exists(), reason="LAB_DATA has no published TravelPlanner plans")
def test_at_least_300_plans_are_judged_in_a_second(benchmark: Any) -> None:
    listings, tasks = Listings.load(DATA), load_tasks("validation", DATA)
    with gzip.open(PUBLISHED, "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in islice(lines, PLANS)]

    def judge_all() -> int:
        return sum(evaluate(tasks[record["idx"] - 1], record["plan"], listings).final for record in records)

    benchmark.pedantic(judge_all, rounds=5, warmup_rounds=1)
    speed = PLANS / benchmark.stats.stats.median
    benchmark.extra_info.update(plans_a_second=round(speed), times_the_limit=round(speed / PLANS_A_SECOND, 1))
    assert speed >= PLANS_A_SECOND
