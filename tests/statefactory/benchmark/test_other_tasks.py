"""Held-out pairs and training pairs: none of their tasks is one of the benchmark's, and files are what was built."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lab.machine.faults import DamagedFile
from statefactory.benchmark import DOMAINS, Pair, build, read_rows
from statefactory.benchmark.__main__ import main
from statefactory.benchmark.build import SHIPPED
from statefactory.benchmark.domains import BY_NAME, Domain
from statefactory.benchmark.other_tasks import SIZES, TRAINING, folder, held_out, training_parts
from statefactory.benchmark.schema import pairs_of
from statefactory.reward_models.__main__ import main as reward_models
from statefactory.reward_models.pairs import build_pairs, read_in_order, training_pairs
from statefactory.reward_models.scoring import flattened

official = pytest.mark.official
lacks_data = pytest.mark.skipif("LAB_DATA" not in os.environ, reason="LAB_DATA does not name the official data")


def shipped(folder: Path, domain: str) -> list[Pair]:
    return pairs_of(read_rows(folder / f"{domain}.parquet"))


def chosen(domain: Domain, data: str, seed: int, by_folder: bool = False) -> list[Any]:
    """What each task is, whatever it is called; of ALFWorld's released games their folder, if wanted."""
    with closing(domain.load(data, seed)) as world:
        return [content(domain.name, world, task, by_folder) for task in domain.choose(world, data, seed)]


def content(name: str, world: Any, task: Any, by_folder: bool) -> Any:
    if name == "webshop":
        return world.hidden_goal(task).product.name
    if name == "alfworld":
        return folder(task) if by_folder else task.packed_problem
    return getattr(task, {"blocksworld": "problem", "textworld": "seed", "scienceworld": "id"}[name])


def trained_on(name: str, data: str, count: int) -> list[Any]:
    parts = training_parts(name, data, count)
    return [task for part, seed, _ in parts for task in chosen(part, data, seed, data == "official")]


# --- held-out pairs -----------------------------------------------------------------------------------------------


def contents(pairs: list[Pair]) -> Iterator[tuple[Any, ...]]:
    """What is asked, and what is seen before the first step."""
    for row in (pair.positive for pair in pairs):
        # Variations of one type in ScienceWorld may begin alike, with other animals outside: what the expert met tells.
        met = [(step.action, step.observation) for step in row.trajectory if step.reward.is_expert]
        yield row.goal_description, row.initial_observation, *(met if row.domain == "scienceworld" else ())


@pytest.mark.parametrize("domain", DOMAINS)
def test_no_held_out_pair_is_of_a_task_of_the_benchmark(domain: str) -> None:
    apart, benchmark = shipped(SHIPPED / "held_out", domain), shipped(SHIPPED, domain)
    assert len(apart) == SIZES[domain]["synthetic"]
    assert not set(contents(apart)) & set(contents(benchmark))
    if domain == "scienceworld":
        assert not {pair.task for pair in apart} & {pair.task for pair in benchmark}, "a variation is its id"


@pytest.mark.parametrize("domain", ["webshop", "blocksworld"])
def test_what_is_shipped_is_what_a_build_gives(domain: str, tmp_path: Path) -> None:
    done = build(held_out(domain), "synthetic", 0, folder=tmp_path, show_progress=False)
    assert done.pairs() == shipped(SHIPPED / "held_out", domain)


@pytest.mark.parametrize("domain", ["webshop", "blocksworld", "alfworld"])
def test_another_seed_gives_other_tasks(domain: str) -> None:
    first, other = (chosen(held_out(domain), "synthetic", seed) for seed in (0, 1))
    assert len(first) == len(other) and first != other


@pytest.mark.slow
@official
@lacks_data
@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("domain", ["alfworld", "webshop", "blocksworld"])
def test_no_official_held_out_task_is_the_benchmark_s(domain: str, seed: int) -> None:
    apart, benchmark = chosen(held_out(domain), "official", seed), chosen(BY_NAME[domain], "official", 0)
    assert len(apart) > 30 and not set(apart) & set(benchmark)


def test_the_command_builds_them_once_and_apart_from_the_benchmark_s(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert main(["build", "--held-out", "--domain", "webshop", "--data", "synthetic"]) == 0
        said = capsys.readouterr().out
        assert "webshop (synthetic): 12 pairs" in said and "synthetic-held-out-seed0" in said


# --- training pairs -----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("domain", "data", "count"),
    [
        *(("alfworld", "synthetic", 130), ("webshop", "synthetic", 200), ("blocksworld", "synthetic", 300)),
        *(pytest.param(name, "official", 200, marks=[official, lacks_data])
          for name in ("alfworld", "webshop", "blocksworld")),
    ],
)  # fmt: skip
def test_no_training_task_is_the_benchmark_s_or_held_out(domain: str, data: str, count: int) -> None:
    tasks, by_folder = trained_on(domain, data, count), data == "official"
    assert len(tasks) == count and (domain == "alfworld" and by_folder or len(set(tasks)) == count)
    for other in (BY_NAME[domain], held_out(domain)):
        # ALFWorld's held-out games are of the validation splits, and no training games.
        if not (other.held_out and domain == "alfworld" and by_folder):
            assert not set(tasks) & set(chosen(other, data, 0, by_folder))


@pytest.mark.campaign
@pytest.mark.parametrize("domain", ["scienceworld", "textworld"])
def test_training_variations_and_quests_are_of_the_training_split(domain: str) -> None:
    tasks = trained_on(domain, "synthetic", 4)
    assert len(set(tasks)) == 4 and not set(tasks) & set(chosen(BY_NAME[domain], "synthetic", 0))


@pytest.mark.slow
@pytest.mark.parametrize("domain", ["webshop", "blocksworld"])
def test_no_training_pair_reads_as_one_of_the_benchmark(domain: str, tmp_path: Path) -> None:
    build_pairs(domain, "synthetic", 12, 4, folder=tmp_path)
    ours = [row for name in (f"{domain}.parquet", f"{domain}.validation.parquet") for row in read_rows(tmp_path / name)]
    benchmark = [row for place in (SHIPPED, SHIPPED / "held_out") for row in read_rows(place / f"{domain}.parquet")]
    texts, theirs = ({flattened(row.goal_description, row.steps) for row in rows} for rows in (ours, benchmark))
    assert len(texts) == 32 and not texts & theirs


def test_a_domain_has_both_sides_and_the_truth_and_is_kept(tmp_path: Path) -> None:
    def built() -> list[int]:
        build_pairs("webshop", "synthetic", 8, 3, folder=tmp_path)
        return [path.stat().st_mtime_ns for path in sorted(tmp_path.glob("*.parquet"))]

    written, path = built(), tmp_path / "webshop.parquet"
    training, held = read_in_order(path), read_in_order(tmp_path / "webshop.validation.parquet")
    assert (len(training), len(held)) == (8, 3) and len({pair.task for pair in (*training, *held)}) == 11
    for pair in (*training, *held):
        assert max(pair.positive.shaped) == 1.0 > max(pair.negative.shaped)
    assert built() == written
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(DamagedFile, match="webshop.parquet is damaged: .*python -m statefactory.reward_models data"):
        read_in_order(path)
    assert built() != written and read_in_order(path) == training == training_pairs(tmp_path, "all")
    assert training_pairs(tmp_path, "webshop", 2) == training_pairs(tmp_path, "all", 1, per_domain=2) == training[:2]


def test_more_tasks_than_one_seed_has_come_from_several() -> None:
    assert [(seed, count) for _, seed, count in training_parts("alfworld", "synthetic", 130)] == [
        (TRAINING, 60), (TRAINING + 1, 60), (TRAINING + 2, 10),
    ]  # fmt: skip
    ((_, seed, count),) = training_parts("blocksworld", "synthetic", 130, seed=1)
    assert (seed, count) == (TRAINING + 100, 130)
    with pytest.raises(ValueError, match="webshop has 9000 synthetic training tasks of a seed, and 9001 are asked for"):
        list(training_parts("webshop", "synthetic", 9001))


def test_the_command_says_what_is_missing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for command, message in (
        (
            ["--domain", "webshop", "--preferences", str(tmp_path)],
            "build it with: python -m statefactory.reward_models",
        ),
        ([], "say which adapter"),
        (["--domain", "webshop", "--set", "rank=x"], "rank='x': Input should be a valid integer"),
    ):
        assert reward_models(["train", *command]) == 1 and message in capsys.readouterr().err
