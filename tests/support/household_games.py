"""What the tests and the benchmark of ALFWorld share: playing a game, and telling transcripts apart."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from worlds.alfworld import AlfWorld, HouseholdTask


@dataclass
class Record:
    """All that a world said, and how fast: seconds of this process, for steps and with starting the games."""

    said: list[Any] = field(default_factory=list)
    steps: int = 0
    stepping: float = 0.0
    playing: float = 0.0

    @property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps(self.said).encode()).hexdigest()


def play(world: AlfWorld, task: HouseholdTask, actions: Sequence[str], random_steps: int, record: Record) -> None:
    """Two episodes of a game: the actions with a refused one after them, and a random policy seeded by the task."""
    chance = Random(task.id)
    for episode in ([*actions, "dance", "look", "inventory"], [None] * random_steps):
        start = time.process_time()
        step = world.reset(task)
        record.said.append([step.text, step.actions])
        stepping = time.process_time()
        for action in episode:
            done = action or chance.choice(world.valid_actions())
            step = world.step(done)
            record.said.append([done, step.text, step.score, step.done, world.valid_actions()])
        record.steps += len(episode)
        record.stepping += time.process_time() - stepping
        record.playing += time.process_time() - start


def one_of_each_type(tasks: Iterable[HouseholdTask]) -> list[HouseholdTask]:
    return list({task.task_type: task for task in tasks}.values())
