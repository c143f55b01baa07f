"""The official questions, the submission file, and what is said where data lacks or is damaged."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from lab.machine.faults import DamagedData, MissingData
from worlds.assistantbench import official
from worlds.assistantbench.official import write_submission
from worlds.assistantbench.questions import WebTask
from worlds.assistantbench.scorer import gold_of

DATA = Path(os.environ.get("LAB_DATA") or "nowhere") / official.NAME
needs_data = pytest.mark.skipif(not official.present(DATA), reason="LAB_DATA names no data of AssistantBench")


@needs_data
@pytest.mark.official
def test_the_questions_are_all_there_and_their_answers_of_the_known_kinds() -> None:
    dev, test = official.questions(DATA, "dev"), official.questions(DATA, "test")
    assert (len(dev), len(test)) == (33, 181)
    assert len({one.task.id for one in dev + test}) == 214
    kinds = [gold_of(str(one.answer))[1] for one in dev]
    assert {kind: kinds.count(kind) for kind in kinds} == {"string": 17, "number": 9, "string list": 5, "json": 2}
    assert {one.answer for one in test} == {None}


def test_questions_that_are_not_there_or_damaged_are_named(tmp_path: Path) -> None:
    assert not official.present(tmp_path)
    with pytest.raises(MissingData, match="LAB_DATA"):
        official.questions(tmp_path, "dev")
    for damaged in ('{"id": 1, "task": "Which?"}', "[]", "{", "\udcff"):
        (tmp_path / "dev33.jsonl").write_bytes(damaged.encode("utf-8", "surrogateescape"))
        with pytest.raises(DamagedData, match="dev33.jsonl .*Restore it"):
            official.questions(tmp_path, "dev")


def test_a_submission_has_a_line_for_each_task_in_the_official_order(tmp_path: Path) -> None:
    tasks, path = [WebTask(id, "?") for id in "cab"], tmp_path / "predictions.jsonl"
    assert write_submission(path, {"a": '["x", "ü"]', "b": ""}, tasks) == 1
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert lines == [{"id": "c", "answer": ""}, {"id": "a", "answer": '["x", "ü"]'}, {"id": "b", "answer": ""}]
    with pytest.raises(ValueError, match="none with the id 'd'"):
        write_submission(path, {"d": "x"}, tasks)
