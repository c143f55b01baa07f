"""The slice of judged steps: as it is published, and how odd turns of an agent are read."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import pytest

import judged_slice
from lab.machine import datasets
from lab.machine.faults import MissingData
from worlds import agentprocessbench
from worlds.agentprocessbench import NEUTRAL, RIGHT, WRONG, Page

OFFICIAL = Path(os.environ.get("LAB_DATA") or "nowhere") / "agentprocessbench"
OURS = pytest.mark.skipif(not (OFFICIAL / "hotpotqa.jsonl.gz").exists(), reason="LAB_DATA names no AgentProcessBench")


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "data"))
    judged_slice.write(tmp_path / "data")
    datasets.accept("agentprocessbench")


@OURS
def test_the_slice_has_its_734_labels_of_50_questions() -> None:
    steps = agentprocessbench.steps().values()
    assert Counter(step.label for step in steps) == {RIGHT: 499, NEUTRAL: 56, WRONG: 179}
    assert (len({step.task for step in steps}), len({step.trajectory for step in steps})) == (50, 250)
    assert {len(labels) for labels in agentprocessbench.judged().values()} == {734}
    assert all(step.pages or step.reply or step.answer is not None for step in steps)
    # Searches whose arguments were no JSON are among them.
    assert sum(bool(step.queries) for step in steps) == 456


@OURS
def test_the_table_that_comes_with_the_slice_comes_out() -> None:
    rows = re.findall(r"^\| ([^|]+) \| (\.\d+) \| (\.\d+) \| (\.\d+) \|$", (OFFICIAL / "README.md").read_text(), re.M)
    assert len(rows) == 8
    steps = agentprocessbench.steps()
    for judge, *told in rows:
        said = agentprocessbench.judged()[judge]
        pairs = Counter((steps[step].label, label) for step, label in said.items())
        of = Counter(step.label for step in steps.values())
        same = sum(count for (label, other), count in pairs.items() if label == other) / len(said)
        ours = (same, pairs[WRONG, RIGHT] / of[WRONG], pairs[RIGHT, WRONG] / of[RIGHT])
        for rate, stated in zip(ours, told, strict=True):
            assert rate == pytest.approx(float(stated), abs=0.5001 * 10 ** -len(stated[1:]))


@pytest.mark.usefixtures("made")
def test_turns_are_read_with_what_came_back() -> None:
    steps = agentprocessbench.steps()
    search, answer = steps["made:0:0/2"], steps["made:0:0/4"]
    assert search.queries == ("Amber Heron painter", "Odalys Verrin birthplace") and search.answer is None
    assert search.pages[0].title == "Odalys Verrin" and 'the "Amber Heron"' in search.pages[0].text
    assert search.pages[1] == Page("Quiet Harbour", "Quiet Harbour is a fishing village.")
    assert (answer.answer, answer.pages, agentprocessbench.before(answer)) == ("Tarn Mellow", (), [search])
    assert steps["made:0:2/2"].reply == "Nothing was called."
    broken = steps["made:0:2/4"]
    assert broken.queries == ('{"query_list": ["Amber Heron"',) and "missing query" in broken.reply


def test_without_the_slice_the_error_says_what_to_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_DATA", str(tmp_path))
    assert not agentprocessbench.present()
    with pytest.raises(MissingData, match="set LAB_DATA to a folder that has agentprocessbench"):
        agentprocessbench.steps()
