"""Synthetic problems, and fetching PlanBench's: what comes of a seed and of files in the public shape."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Any

import pytest

from lab.machine.datasets import accept
from lab.machine.download import DownloadFailed
from lab.machine.faults import DamagedData
from worlds.blocksworld import load, official
from worlds.blocksworld.state import State
from worlds.blocksworld.synthetic import random_state, states_with, synthetic_problem

QUIET = print


def test_both_splits_have_their_own_problems_which_are_not_yet_solved() -> None:
    world = load("synthetic", seed=2)
    train, test = world.tasks("train"), world.tasks("test")
    assert [len(train), len(test)] == [60, 60] and world.data == "synthetic"
    assert [task.id for task in test] == sorted(f"blocksworld-made-test-{number:04}" for number in range(1, 61))
    assert Counter(task.blocks for task in test) == {3: 15, 4: 15, 5: 15, 6: 15}
    assert not any(task.problem.solved_by(task.problem.start) for task in (*train, *test))
    assert len({task.problem for task in (*train, *test)}) > 110


def test_a_seed_gives_the_same_problems_and_more_of_them_only_adds() -> None:
    few, many = (load("synthetic", seed=4, count=count).tasks("test") for count in (5, 1000))
    assert many[:5] == few and load("synthetic", seed=5, count=5).tasks("test") != few


@pytest.mark.parametrize("options", [{"blocks": ()}, {"blocks": (1,)}, {"count": 0}, {"count": 10_000}])
def test_impossible_sizes_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        load("synthetic", **options)


def all_states(blocks: str) -> set[State]:
    """Every state with an empty hand, by cutting every order of the blocks in every way."""
    found = set()
    for order in permutations(blocks):
        for cuts in range(2 ** (len(order) - 1)):
            towers: list[tuple[str, ...]] = [order[:1]]
            for index, block in enumerate(order[1:]):
                towers[-1:] = [towers[-1], (block,)] if cuts >> index & 1 else [(*towers[-1], block)]
            found.add(State(tuple(sorted(towers))))
    return found


def test_random_states_are_uniform_over_all_states() -> None:
    from scipy.stats import chisquare

    states = all_states("abcd")
    assert len(states) == sum(states_with(4, towers) for towers in range(1, 5)) == 73
    random, draws = Random(1), 7300
    counts = Counter(random_state("abcd", random) for _ in range(draws))
    assert set(counts) == states
    assert chisquare(list(counts.values())).pvalue > 0.001


PROBLEMS = [synthetic_problem(4, Random(seed)) for seed in range(3)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder with three downloaded problems, as PlanBench's repository has them, in place of its 501."""
    folder = tmp_path / "data" / "blocksworld"
    (folder / "raw").mkdir(parents=True)
    for number, problem in enumerate(PROBLEMS, start=1):
        text = problem.to_pddl(f"BW-rand-{number}").replace(") (", ")\n(")
        (folder / "raw" / f"instance-{number}.pddl").write_text(text)
    monkeypatch.setattr(official, "COUNT", 3)
    monkeypatch.setattr(official, "DIGEST", official.digest(PROBLEMS))
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "data"))
    return folder


def test_fetched_problems_are_what_the_loader_reads(folder: Path) -> None:
    official.fetch(folder, QUIET)
    with pytest.raises(DamagedData, match="generated_basic_501.jsonl.gz is cut or changed"):
        load()
    accept("blocksworld")
    world = load()
    assert world.data == "official" and world.splits == ("test",)
    tasks = world.tasks("test")
    assert [task.id for task in tasks] == ["blocksworld-001", "blocksworld-002", "blocksworld-003"]
    assert [task.problem for task in tasks] == PROBLEMS
    assert world.problems.plans() == {}
    assert [path.name for path in folder.iterdir()] == [official.FILE]


def test_fetching_goes_on_where_it_stopped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    last, asked = folder / "raw" / "instance-3.pddl", []
    text = last.read_text()
    last.unlink()

    def refuse(url: str, target: Path, report: Any) -> None:
        asked.append(target)
        raise DownloadFailed(f"{url} answers 404")

    monkeypatch.setattr(official, "download", refuse)
    with pytest.raises(DownloadFailed, match="instance-3.pddl answers 404"):
        official.fetch(folder, QUIET)
    assert not official.present(folder) and asked == [last]
    last.write_text(text)
    official.fetch(folder, QUIET)
    assert official.present(folder) and asked == [last]


def test_other_problems_than_the_known_ones_are_refused(folder: Path) -> None:
    (folder / "raw" / "instance-2.pddl").write_text(synthetic_problem(4, Random(99)).to_pddl())
    with pytest.raises(official.UnexpectedData, match="not those that this suite was made for"):
        official.fetch(folder, QUIET)
    assert not official.present(folder)
