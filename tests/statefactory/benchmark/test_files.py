"""Rows, files and the published layout: what is written is read back, here and by `datasets`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.machine.faults import MissingData
from statefactory.benchmark.published import (
    UnexpectedData,
    fetch,
    present,
    read_published,
)
from statefactory.benchmark.schema import (
    DOMAINS,
    Reward,
    Row,
    StepRecord,
    pairs_of,
    read_pairs,
    read_row,
    read_rows,
    write_rows,
)

TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
UNIT = st.floats(0, 1)
STEPS = st.builds(StepRecord, TEXT, TEXT, st.builds(Reward, UNIT, UNIT, st.booleans()))
TRAJECTORIES = st.lists(STEPS, min_size=1, max_size=4).map(tuple)


def row(task: str = "a", kind: str = "positive", number: int = 0, steps: Any = (), **fields: Any) -> Row:
    name = f"{task}_positive" if kind == "positive" else f"{task}_negative_{number}"
    steps = steps or (StepRecord("go", "There.", Reward(0.0, 1.0, kind == "positive")),)
    about = {"domain": "alfworld", "source": "walkthrough", "data": "synthetic", "seed": 0,
             "initial_observation": "Here.", "goal_description": "Be there."} | fields  # fmt: skip
    return Row(id=name, task=task, kind=kind, trajectory=tuple(steps), **about)


def rows_of(first: Any, second: Any, goal: str) -> list[Row]:
    return [row(steps=first, goal_description=goal), row(kind="negative", steps=second, goal_description=goal)]


@pytest.mark.slow
@given(TRAJECTORIES, TRAJECTORIES, TEXT)
def test_rows_are_read_back_from_both_formats(tmp_path_factory: Any, first: Any, second: Any, goal: str) -> None:
    rows = sorted(rows_of(first, second, goal), key=lambda row: row.id)
    paths, others = (write_rows(tmp_path_factory.mktemp("rows"), "alfworld", order) for order in (reversed(rows), rows))
    for path, other in zip(paths, others, strict=True):
        assert read_rows(path) == rows and path.read_bytes() == other.read_bytes()


LOADING = """
import json, sys
from datasets import disable_progress_bars, load_dataset
disable_progress_bars()
jsonl, parquet, cache = sys.argv[1:]
loaded = [load_dataset(kind, data_files=path, split="train", cache_dir=cache)
          for kind, path in (("json", jsonl), ("parquet", parquet))]
assert loaded[0].column_names == loaded[1].column_names, (loaded[0].column_names, loaded[1].column_names)
assert loaded[0].features == loaded[1].features, (loaded[0].features, loaded[1].features)
assert loaded[0].to_list() == loaded[1].to_list()
print(json.dumps(loaded[0].to_list()))
"""


@pytest.mark.slow
def test_datasets_loads_both_formats_as_the_same_rows(tmp_path: Path) -> None:
    rows = [row("a"), row("a", "negative"), row("é\u2028", goal_description='Say "hi"\n\tthere')]
    jsonl, parquet = write_rows(tmp_path, "alfworld", rows)
    cache = tmp_path / "cache"
    offline = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(cache), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    command = [sys.executable, "-c", LOADING, str(jsonl), str(parquet), str(cache)]
    done = subprocess.run(command, env=offline, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert [read_row(record) for record in json.loads(done.stdout)] == read_rows(jsonl)


def test_a_missing_file_says_how_to_build_it(tmp_path: Path) -> None:
    with pytest.raises(MissingData, match="statefactory.benchmark build"):
        read_pairs(tmp_path / "alfworld.jsonl")


def test_a_wrong_row_is_named_with_its_field(tmp_path: Path) -> None:
    path, _ = write_rows(tmp_path, "alfworld", [row()])
    record = json.loads(path.read_text())
    record["trajectory"][0]["reward"]["shaped"] = "much"
    path.write_text(json.dumps(record) + "\n")
    with pytest.raises(ValueError, match=r"alfworld.jsonl, row 1 .*trajectory.0.reward.shaped"):
        read_rows(path)


# --- pairs ------------------------------------------------------------------------------------------------------


def test_pairs_are_the_tasks_that_have_both_kinds() -> None:
    rows = [row("b", "negative", 10), row("b", "negative", 2), row("b"), row("a"), row("c", "negative")]
    (pair,) = pairs_of(rows)
    assert [member.id for member in pair.rows] == ["b_positive", "b_negative_2", "b_negative_10"]
    assert pair.task == "b" and pair.negative.id == "b_negative_2" and len(pair.shaped) == 3


def test_two_positives_of_one_task_are_an_error() -> None:
    with pytest.raises(ValueError, match="task a has 2 positive"):
        pairs_of([row("a"), row("a")])


# --- the published layout ---------------------------------------------------------------------------------------


def record(observation: Any = "There.", raw: Any = 0) -> dict[str, Any]:
    step = {"action": "go", "observation": observation, "reward": {"raw": raw, "shaped": 0.5, "is_expert": True}}
    return {"goal_description": "Be there.", "trajectory": [step]}


def put(folder: Path, name: str, content: Any) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def published_tree(folder: Path) -> Path:
    """A small tree in the published layout: lists as observations, more negatives, folders in folders."""
    for domain in DOMAINS:
        put(folder, f"{domain}/task-2/positive.json", record())
        put(folder, f"{domain}/task-2/negative_1.json", record(["There."]))
    put(folder, "alfworld/pick/task-1/positive.json", record(["There.", "And here."], raw=1))
    put(folder, "alfworld/pick/task-1/negative_1.json", record())
    put(folder, "alfworld/pick/task-1/negative_2.json", record())
    put(folder, "alfworld/pick/task-3/positive.json", record())
    put(folder, "alfworld/notes.json", {})
    return folder


def test_the_published_layout_is_read_into_the_same_pairs(tmp_path: Path) -> None:
    pairs = read_published("alfworld", published_tree(tmp_path))
    assert [pair.task for pair in pairs] == ["task-1", "task-2"]  # task-3 has no negative
    assert [member.id for member in pairs[0].rows] == ["task-1_positive", "task-1_negative_1", "task-1_negative_2"]
    assert pairs[0].positive.observations == ["There.\nAnd here."] and pairs[1].negative.observations == ["There."]
    assert pairs[0].positive.trajectory[0].reward == Reward(1.0, 0.5, True)
    assert (pairs[0].positive.data, pairs[0].positive.source) == ("published", "published positive")


@pytest.mark.parametrize("content", ["{", {"trajectory": []}, record(raw="high"), {**record(), "trajectory": [{}]}, []])
def test_a_file_that_is_not_of_the_layout_is_named(tmp_path: Path, content: Any) -> None:
    put(tmp_path, "alfworld/task-1/positive.json", content)
    with pytest.raises(ValueError, match="task-1/positive.json"):
        read_published("alfworld", tmp_path)


def test_two_folders_of_one_name_are_an_error(tmp_path: Path) -> None:
    put(published_tree(tmp_path), "alfworld/task-1/positive.json", record())
    with pytest.raises(ValueError, match="the same name"):
        read_published("alfworld", tmp_path)


def test_what_is_not_fetched_says_how_to_fetch(tmp_path: Path) -> None:
    with pytest.raises(MissingData, match="lab data fetch rewardprediction"):
        read_published("webshop", tmp_path)


# --- fetching ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("below", ["data", "."])
def test_the_dataset_is_fetched_into_the_published_layout_and_a_fetch_that_breaks_off_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str
) -> None:
    tries = iter([OSError("the line broke"), None])

    def download(dataset: str, repo_type: str, local_dir: Path, endpoint: str | None) -> None:
        published_tree(local_dir / below)
        if error := next(tries):
            raise error

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    said: list[str] = []
    with pytest.raises(OSError, match="the line broke"):
        fetch(tmp_path, said.append)
    assert not present(tmp_path), "all or nothing of it"
    fetch(tmp_path, said.append)
    assert present(tmp_path) and not (tmp_path / "raw").exists()
    assert [pair.task for pair in read_published("alfworld", tmp_path)] == ["task-1", "task-2"]
    assert "alfworld 6" in said[-1] and "webshop 2" in said[-1]


def test_a_dataset_that_lacks_a_domain_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def download(dataset: str, repo_type: str, local_dir: Path, endpoint: str | None) -> None:
        put(local_dir, "data/alfworld/task-1/positive.json", record())

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    with pytest.raises(UnexpectedData, match="lacks trajectories of scienceworld.*it has alfworld"):
        fetch(tmp_path, print)
