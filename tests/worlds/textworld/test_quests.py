"""Quests from all over the test split; `benchmarks/campaign_worlds.py` plays all 150."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from lab.machine.paths import ROOT
from worlds.textworld import QuestTask, TextWorld, load
from worlds.textworld.expert import Expert
from worlds.textworld.games import prepare

WORKERS = 2


@pytest.mark.slow
def test_a_spread_of_quests_is_won_by_its_expert_and_survives_random_play(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled games stay in the repository's cache: compiling takes 1 s each, and their key says how they came."""
    monkeypatch.setenv("LAB_CACHE", str(ROOT / "data" / "cache" / "answers.sqlite"))
    with load() as world:
        everything, expert, rng = world.tasks("test"), Expert(world), Random(4)
        tasks = [task for index, task in enumerate(everything) if index // 5 % 5 == 0]  # each five has all the kinds
        prepare(tasks, WORKERS)
        lengths = [episode_length(world, task, expert.actions(task)) for task in tasks]
        for task in tasks:
            step = world.reset(task)
            for _ in range(20):
                if step.done:
                    break
                step = world.step(rng.choice(step.actions))
    assert Counter(task.kind for task in everything) == {"lock-and-key": 90, "treasure-hunt": 30, "cooking": 30}
    assert Counter(task.kind for task in tasks) == {"lock-and-key": 18, "treasure-hunt": 6, "cooking": 6}
    quests = [length for task, length in zip(tasks, lengths, strict=True) if task.kind == "lock-and-key"]
    assert set(quests) == {5}
    assert len({task.goal for task in everything}) == 121  # cooking games all have one goal


def episode_length(world: TextWorld, task: QuestTask, actions: tuple[str, ...]) -> int:
    """Plays the actions and checks that the last one, and no other, ends the game with full score."""
    step = world.reset(task)
    assert task.goal in step.text, task.id
    for action in actions:
        assert not step.done, task.id
        step = world.step(action)
    assert step.done and step.score == 1.0, task.id
    return len(actions)
