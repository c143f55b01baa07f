"""Attempts: several at a task, each another, each the same when made again, and in the world's own words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agents.experiments.attempts import NOISY, Results, Setup
from lab.runs.collecting import collect
from lab.runs.experiment import BadSetting
from worlds.blocksworld import load

MADE = Setup(world="blocksworld", data="synthetic", limit=2, count=4)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run(MADE, tmp_path_factory.mktemp("attempts"))


def run(setup: Setup, folder: Path, name: str = "run") -> Results:
    return collect(setup, workers=1, run=str(folder / name), show_progress=False)


def test_a_world_that_there_is_not_and_no_attempts_are_refused() -> None:
    with pytest.raises(BadSetting, match="alfworld"):
        Setup(world="kitchen")
    with pytest.raises(BadSetting, match="at least one"):
        Setup(count=0)


def test_without_an_engine_the_noisy_expert_of_the_world_acts(made: Results) -> None:
    assert (MADE.engine, MADE.steps) == NOISY["blocksworld"]
    assert made.evidence == "simulated"


def test_each_attempt_is_another_and_each_is_the_same_when_made_again(made: Results, tmp_path: Path) -> None:
    again = run(MADE, tmp_path)
    assert again.attempts() == made.attempts() and again.digest == made.digest
    for of in made.attempts().values():
        assert len({tuple(one.actions) for one in of}) == MADE.count
    other = run(replace(MADE, engine="oracle@0.9"), tmp_path, "other")
    assert other.digest != made.digest


def test_an_attempt_is_what_the_world_says_when_it_is_played_again(made: Results) -> None:
    world = load("synthetic", 0)
    tasks = {task.id: task for task in world.tasks("test")}
    for task, of in made.attempts().items():
        for one in of:
            first, *steps = world.replay(tasks[task], one.actions)
            assert (one.first, one.goal) == (first.text, tasks[task].goal)
            assert [(step.text, step.score) for step in steps] == [(step.observation, step.score) for step in one.steps]
            assert one.score == steps[-1].score
            assert len(one.steps) <= MADE.steps


def test_all_attempts_at_a_task_are_one_group(made: Results) -> None:
    groups = {MADE.group(task) for task in made.episodes}
    assert groups == set(made.attempts()) and len(groups) == 2
