"""Golden episodes: each study on a few synthetic tasks, replayed from recorded answers to rows, costs and sentences.

A folder per study has the answers (a recording as `python -m lab record` makes them) and what they came to: `rows.csv`,
`contrasts.csv`, `costs.csv`, `answer.txt`, and in `timelines.txt` an episode of each benchmark. Methods, worlds, scores
and tables are the real ones; only the answers are stored, so stand-ins may change freely. Changed prompts void them:

    pytest tests/golden --record            # all studies, or some with -k; look at the difference before you commit
"""

from __future__ import annotations

import io
import json
import re
import shutil
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from lab.machine.reading import MANIFEST
from lab.models.replay import PACKED
from lab.runs import recordings
from lab.runs.collecting import collect
from lab.runs.registry import STUDIES
from lab.runs.study_results import Results

FOLDER = Path(__file__).parent

# Settings of the recorded runs that two tasks of each benchmark would make large or slow.
SETTINGS: dict[str, dict[str, Any]] = {
    "sdp-choices": {"engine": "rules@0.7"},  # without a failure all readings are the same
    "statefactory-best-of-n": {"options": {"count": 4}, "benchmarks": ("blocksworld", "webshop")},
    "statefactory-hacking": {"limit": 1, "benchmarks": ("blocksworld",), "options": {"walks": 5, "actions": 12}},
    "statefactory-table13": {"benchmarks": ("alfworld", "blocksworld")},
    "statefactory-table2": {"limit": 1, "benchmarks": ("BlocksWorld",)},
    "statefactory-tree-search": {"limit": 1, "benchmarks": ("blocksworld",)},
}


@pytest.fixture(autouse=True)
def as_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Synthetic data, and the suite's own studies: tests before these may have added others under their names."""
    monkeypatch.delenv("LAB_DATA", raising=False)
    monkeypatch.setattr(STUDIES, "own", {})


# Without those that other tests declare.
@pytest.mark.parametrize("name", sorted(entry.name for entry in entry_points(group=STUDIES.group)))
def test_recorded_answers_come_to_the_same_rows(name: str, request: pytest.FixtureRequest) -> None:
    if recording := request.config.getoption("--record"):
        record(name)
    results = STUDIES.named(name).run(engine=f"replay:{FOLDER / name}", workers=1)
    for file, content in golden(results).items():
        path = FOLDER / name / file
        if recording:
            path.write_text(content, encoding="utf-8")
        assert_same(file, content, path.read_text(encoding="utf-8"))


def record(name: str) -> None:
    """Play a study with its own engine and write its answers."""
    settings = {"data": "synthetic", "limit": 2} | SETTINGS.get(name, {})
    results = collect(STUDIES.named(name).trial(**settings), 1, record=True, show_progress=False)
    shutil.rmtree(FOLDER / name, ignore_errors=True)
    tables = results.frame(), results.costs()
    folder = recordings.save(results.folder, *tables, tasks=list(results.episodes), name=str(FOLDER / name))
    for path in folder.iterdir():
        if path.name not in (MANIFEST, PACKED):
            path.unlink()
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest |= {"sha256": {PACKED: manifest["sha256"][PACKED]}, "code": "", "surroundings": {}}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1))


def golden(results: Results) -> dict[str, str]:
    """File name -> what a run came to."""
    first = {(benchmark, results.setup.methods_of(benchmark)[0]) for benchmark in results.setup.datasets}
    shown = [
        results.timeline(benchmark, condition, next(iter(results.of(benchmark, condition)))).text(detail=True)
        for benchmark, condition in sorted(first)
    ]
    tables = {"rows.csv": results.frame(), "contrasts.csv": results.compare(), "costs.csv": results.costs()}
    texts = {"answer.txt": results.answer(), "timelines.txt": "\n\n".join(shown)}
    return {file: table.to_csv(index=False) for file, table in tables.items()} | texts


def assert_same(file: str, now: str, before: str) -> None:
    """Numbers may differ in the fifth digit, as embeddings do between machines."""
    if not file.endswith(".csv"):
        (words, numbers), (words_before, numbers_before) = words_and_numbers(now), words_and_numbers(before)
        assert words == words_before, file
        assert numbers == pytest.approx(numbers_before, rel=0, abs=1e-4), file
        return
    tables = [pd.read_csv(io.StringIO(content)) if content.strip() else pd.DataFrame() for content in (now, before)]
    pd.testing.assert_frame_equal(*tables, rtol=0, atol=1e-4, obj=file)


def words_and_numbers(text: str) -> tuple[list[str], list[float]]:
    """What stands between a text's decimal numbers, and the numbers."""
    parts = re.split(r"(\d+\.\d+)", text)
    return parts[::2], [float(number) for number in parts[1::2]]
