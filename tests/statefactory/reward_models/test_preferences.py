"""Preference data: none of its tasks is the benchmark's or held out, and a file is what was built."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lab.machine.faults import DamagedFile, MissingData
from statefactory.benchmark import read_rows
from statefactory.benchmark.build import SHIPPED
from statefactory.benchmark.domains import BY_NAME, Domain
from statefactory.benchmark.held_out import held_out
from statefactory.reward_models.__main__ import main
from statefactory.reward_models.preferences.pairs import (
    preferences,
    read_preferences,
    training_pairs,
    write_preferences,
)
from statefactory.reward_models.preferences.tasks import FIRST, folder, parts
from statefactory.reward_models.texts import flattened
from tiny_backbone import toy_preferences

official = pytest.mark.official
lacks_data = pytest.mark.skipif("LAB_DATA" not in os.environ, reason="LAB_DATA does not name the official data")


def contents(domain: Domain, data: str, seed: int) -> list[Any]:
    """What a task is, whatever it is called; of ALFWorld's released games their folder, of which others are trials."""
    with closing(domain.load(data, seed)) as world:
        return [content(domain.name, data, world, task) for task in domain.choose(world, data, seed)]


def content(name: str, data: str, world: Any, task: Any) -> Any:
    if name == "webshop":
        return world.hidden_goal(task).product.name
    if name == "alfworld":
        return folder(task) if data == "official" else task.packed_problem
    return getattr(task, {"blocksworld": "problem", "textworld": "seed", "scienceworld": "id"}[name])


def trained_on(name: str, data: str, count: int, seed: int = 0) -> list[Any]:
    return [of for part, of_seed, _ in parts(name, data, count, seed) for of in contents(part, data, of_seed)]


@pytest.mark.parametrize(("domain", "count"), [("alfworld", 130), ("webshop", 200), ("blocksworld", 300)])
def test_no_made_training_task_is_the_benchmark_s_or_held_out(domain: str, count: int) -> None:
    found = trained_on(domain, "synthetic", count)
    assert len(found) == len(set(found)) == count
    for other in (BY_NAME[domain], held_out(domain)):
        assert not set(found) & set(contents(other, "synthetic", 0))


@official
@lacks_data
@pytest.mark.parametrize("domain", ["alfworld", "blocksworld", "webshop"])
def test_no_official_training_task_is_the_benchmark_s_or_held_out(domain: str) -> None:
    found = trained_on(domain, "official", 200)
    assert len(found) == 200 and (domain == "alfworld" or len(set(found)) == 200)
    for other in (BY_NAME[domain], held_out(domain)):
        if other.held_out and domain == "alfworld":
            continue  # of the validation splits, whose games are no training games
        assert not set(found) & set(contents(other, "official", 0))


@pytest.mark.slow
@pytest.mark.parametrize("domain", ["scienceworld", "textworld"])
def test_training_variations_and_quests_are_of_the_training_split(domain: str) -> None:
    found = trained_on(domain, "synthetic", 4)
    assert len(set(found)) == 4 and not set(found) & set(contents(BY_NAME[domain], "synthetic", 0))


@pytest.mark.parametrize("domain", ["webshop", "blocksworld"])
def test_no_training_pair_reads_as_one_of_the_benchmark(domain: str, tmp_path: Path) -> None:
    rows = read_preferences(preferences(domain, "synthetic", 12, 4, folder=tmp_path))

    def texts(found: Iterator[tuple[str, tuple[Any, ...]]]) -> set[str]:
        return {flattened(goal, steps) for goal, steps in found}

    ours = texts((of.goal, of.steps) for row in rows for of in row.both)
    benchmark = [row for place in (SHIPPED, SHIPPED / "held_out") for row in read_rows(place / f"{domain}.parquet")]
    theirs = texts((row.goal_description, tuple(zip(row.actions, row.observations, strict=True))) for row in benchmark)
    assert len(ours) == 32 and not ours & theirs


def test_a_file_has_both_sides_and_the_truth_and_is_kept(tmp_path: Path) -> None:
    path = preferences("webshop", "synthetic", 8, 3, folder=tmp_path)
    rows, written = read_preferences(path), path.stat().st_mtime_ns
    assert [row.side for row in rows].count("validation") == 3 and len(rows) == 11
    assert len({row.task for row in rows}) == 11
    for row in rows:
        assert row.chosen.goal == row.rejected.goal and max(row.chosen.progress) == 1.0 > max(row.rejected.progress)
    assert preferences("webshop", "synthetic", 8, 3, folder=tmp_path).stat().st_mtime_ns == written
    path.write_bytes(path.read_bytes()[:-50])
    assert read_preferences(preferences("webshop", "synthetic", 8, 3, folder=tmp_path)) == rows
    both, first = training_pairs(tmp_path, "all"), read_preferences(path, "train", 2)
    assert len(both) == 8 and {row.side for row in both} == {"train"}
    assert training_pairs(tmp_path, "webshop", 2) == training_pairs(tmp_path, "all", 1, per_domain=2) == first


def test_the_file_has_the_columns_that_trl_reads(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    rows = toy_preferences(3)
    write_preferences(tmp_path / "toy.parquet", rows)
    first = pq.read_table(tmp_path / "toy.parquet").to_pylist()[0]
    assert first["chosen"] == flattened(rows[0].chosen.goal, rows[0].chosen.steps)
    assert first["rejected"] == flattened(rows[0].rejected.goal, rows[0].rejected.steps)
    assert read_preferences(tmp_path / "toy.parquet") == rows


def test_a_missing_file_is_an_error_that_names_the_line_that_builds_it(tmp_path: Path) -> None:
    with pytest.raises(MissingData, match="build it with: python -m statefactory.reward_models data"):
        read_preferences(tmp_path / "webshop.parquet")


def test_a_file_with_a_wrong_field_names_the_row_and_the_field(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    write_preferences(tmp_path / "toy.parquet", toy_preferences(3))
    whole = pq.read_table(tmp_path / "toy.parquet")
    pq.write_table(whole.drop_columns("goal"), tmp_path / "toy.parquet")
    with pytest.raises(DamagedFile, match=r"toy.parquet is damaged: \[0\].goal=None: Field required. Delete it, and"):
        read_preferences(tmp_path / "toy.parquet")
    sides = pa.array(["train", "validation", "test"])
    pq.write_table(whole.set_column(whole.schema.get_field_index("side"), "side", sides), tmp_path / "toy.parquet")
    with pytest.raises(DamagedFile, match=r"\[2\].side='test': Input should be 'train' or 'validation'"):
        read_preferences(tmp_path / "toy.parquet")
    (tmp_path / "toy.parquet").write_bytes((tmp_path / "toy.parquet").read_bytes()[:-9])
    with pytest.raises(DamagedFile, match="toy.parquet is damaged: .*Delete it"):
        read_preferences(tmp_path / "toy.parquet")


def test_more_tasks_than_one_seed_has_come_from_several() -> None:
    assert [(seed, count) for _, seed, count in parts("alfworld", "synthetic", 130)] == [
        (FIRST, 60), (FIRST + 1, 60), (FIRST + 2, 10),
    ]  # fmt: skip
    assert [(seed, count) for _, seed, count in parts("blocksworld", "synthetic", 130, seed=1)] == [(FIRST + 100, 130)]
    with pytest.raises(ValueError, match="webshop has 9000 synthetic training tasks of a seed, and 9001 are asked for"):
        list(parts("webshop", "synthetic", 9001))


def test_the_command_says_what_is_missing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["train", "--domain", "webshop", "--preferences", str(tmp_path)]) == 1
    assert "build it with: python -m statefactory.reward_models data" in capsys.readouterr().err
    assert main(["train"]) == 1
    assert "say which adapter" in capsys.readouterr().err
    assert main(["train", "--domain", "webshop", "--set", "rank=x"]) == 1
    assert "rank='x': Input should be a valid integer" in capsys.readouterr().err
    assert (
        main(["score", "--adapter", "webshop", "--data", "synthetic", "--adapters", str(tmp_path), "--limit", "1"]) == 1
    )
    said = capsys.readouterr().err
    assert "is no adapter: it has no adapter_model.safetensors" in said or "is not there" in said
