"""Held-out pairs: none of their tasks is one of the benchmark's, and a seed gives them anew."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from statefactory.benchmark import DOMAINS, Pair, build, read_rows
from statefactory.benchmark.__main__ import main
from statefactory.benchmark.build import SHIPPED
from statefactory.benchmark.domains import BY_NAME
from statefactory.benchmark.held_out import SIZES, held_out
from statefactory.benchmark.schema import pairs_of

official = pytest.mark.official
lacks_data = pytest.mark.skipif("LAB_DATA" not in os.environ, reason="LAB_DATA does not name the official data")


def shipped(folder: Path, domain: str) -> list[Pair]:
    return pairs_of(read_rows(folder / f"{domain}.parquet"))


def contents(pairs: list[Pair]) -> Iterator[tuple[Any, ...]]:
    """What a task is, whatever it is called: what is asked, and what is seen before the first step."""
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
    goals = []
    for seed in (0, 1):
        of = held_out(domain)
        with closing(of.load("synthetic", seed)) as world:
            goals.append([task.goal for task in of.choose(world, "synthetic", seed)])
    assert len(goals[0]) == len(goals[1]) and goals[0] != goals[1]


def test_held_out_files_lie_apart_from_the_benchmark_s() -> None:
    apart, benchmark = (build(domain, "synthetic", 0) for domain in (held_out("webshop"), "webshop"))
    assert apart.jsonl.parent.name == "synthetic-held-out-seed0" and benchmark.jsonl.parent.name == "synthetic-seed0"
    assert apart.pairs() != benchmark.pairs() and apart.about["identity"]["held_out"]


def test_an_unknown_domain_is_an_error_that_lists_those_there_are() -> None:
    with pytest.raises(ValueError, match="no domain 'wbshop'; there are: alfworld"):
        held_out("wbshop")


def chosen(domain: str, apart: bool, seed: int) -> list[Any]:
    of = held_out(domain) if apart else BY_NAME[domain]
    with closing(of.load("official", seed)) as world:
        tasks = of.choose(world, "official", seed)
        # Of a goal of the shop's the product tells what it is: another seed words the same one differently.
        return [world.hidden_goal(task).product.asin if domain == "webshop" else task for task in tasks]


@official
@lacks_data
@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("domain", ["alfworld", "webshop", "blocksworld"])
def test_no_official_task_is_in_both(domain: str, seed: int) -> None:
    what = {"alfworld": "packed_problem", "blocksworld": "problem"}.get(domain)
    apart, benchmark = (
        {task if what is None else getattr(task, what) for task in chosen(domain, held, seed if held else 0)}
        for held in (True, False)
    )
    assert len(apart) > 30 and not apart & benchmark


def test_the_command_builds_them_once(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert main(["build", "--held-out", "--domain", "webshop", "--data", "synthetic"]) == 0
        said = capsys.readouterr().out
        assert "webshop (synthetic): 12 pairs" in said and "synthetic-held-out-seed0" in said
