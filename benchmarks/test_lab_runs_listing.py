"""Listing runs: 300 of them within a second."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab.runs import catalogue
from lab.runs.manifest import Manifest
from lab.runs.run import Run

RUNS, EPISODES = 300, 30
TEXT = "a box stands on its shelf, and nobody asks why\n" * 200  # as long as the trajectory of a real episode
LIMIT = 1.0  # seconds for all of them


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of scored episodes."""
    at = tmp_path_factory.mktemp("runs")
    for number in range(RUNS):
        tasks = [f"{task:03d}" for task in range(EPISODES)]
        about = Manifest.of("shelving", "rules", "rules", {"seed": number}, tasks, ["lab"], "asking:Shelving")
        right = {task: [box * 7 % 10 for box in range(int(task) * 3, int(task) * 3 + 3)] for task in tasks}
        with Run(at / "boxes" / f"rules made n={EPISODES} {about.digest[:6]}", about) as run:
            values = [{"task": task, "result": {"shelves": right[task], "text": TEXT}, "error": None} for task in tasks]
            (run.folder / "episodes.jsonl").write_bytes(run._lines(values))  # without 9,000 fsyncs
    return at


def test_runs_are_listed_within_a_second(many: Path, monkeypatch: pytest.MonkeyPatch, benchmark: Any) -> None:
    monkeypatch.setenv("LAB_RUNS", str(many))
    table = benchmark(catalogue.runs)
    assert len(table) == RUNS and set(table["state"]) == {"finished"}
    assert benchmark.stats.stats.median < LIMIT
