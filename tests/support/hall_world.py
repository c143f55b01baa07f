"""A hall of rooms that is crossed eastwards: a world small enough to know every trajectory of it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from statefactory.benchmark.domains import Domain, unmoved
from statefactory.benchmark.labels import RULES
from statefactory.benchmark.trajectories import Planner
from worlds.base import EpisodeOver, Step, WorldDied


@dataclass(frozen=True, slots=True)
class HallTask:
    """Cross a hall of `rooms` rooms."""

    id: str
    goal: str
    rooms: int


def hall(rooms: int) -> HallTask:
    return HallTask(f"hall-{rooms:03d}", f"Reach room {rooms}.", rooms)


class Hall:
    """A walker in a hall.

    fragile: a pit lies to the west of room 0, and ends the episode. victim: a file that says what dies in the middle.
    pause: seconds that a reset takes.
    """

    data = "synthetic"
    splits = ("all",)

    def __init__(
        self, goes_on: bool = True, fragile: bool = False, halls: int = 12, victim: Path | None = None,
        pause: float = 0.0,
    ) -> None:  # fmt: skip
        self.goes_on, self.fragile, self.halls, self.victim, self.pause = goes_on, fragile, halls, victim, pause
        self.room, self.task, self.over = 0, None, True

    def tasks(self, split: str) -> list[HallTask]:
        return [hall(rooms) for rooms in range(1, self.halls + 1)]

    def reset(self, task: HallTask) -> Step:
        self._die(task)
        time.sleep(self.pause)
        self.room, self.task, self.over = 0, task, False
        return self._answer()

    def step(self, action: str) -> Step:
        if self.over:
            raise EpisodeOver("the walk is over")
        if action not in self.valid_actions():
            return self._answer("Nothing happens. ")
        self.room += {"go east": 1, "go west": -1}.get(action, 0)
        return self._answer()

    def valid_actions(self) -> tuple[str, ...]:
        west = ("go west",) if self.room > 0 or self.fragile else ()
        return ("go east", *west, "hum", "look around", "sing")

    def close(self) -> None:
        self.over = True

    def _answer(self, before: str = "") -> Step:
        won, lost = self.room == self.task.rooms, self.room < 0
        self.over = lost or (won and not self.goes_on)
        return Step(f"{before}You are in room {self.room}.", float(won), won or lost)

    def _die(self, task: HallTask) -> None:
        """Once: kill this process, or the backend, as a file says."""
        if self.victim and self.victim.exists() and task.rooms == self.halls // 2:
            how = self.victim.read_text()
            self.victim.unlink()
            if how == "worker":
                os.kill(os.getpid(), signal.SIGKILL)
            raise WorldDied("the hall's backend died")


class Guide:
    """Knows that the way leads east. lost: the hall where it does not."""

    def __init__(self, lost: int = 0) -> None:
        self.lost = lost

    def actions(self, task: HallTask) -> tuple[str, ...]:
        return ("go east",) * (0 if task.rooms == self.lost else task.rooms)


def eastwards(task: HallTask) -> Planner:
    """The guide's plan, whatever was done before."""
    return fixed(Guide().actions(task))


def fixed(plan: Sequence[str]) -> Planner:
    return lambda begun: plan


def _no_files(data: str) -> list[Path]:
    return []


def domain(rule: str = "alfworld", lost: int = 0, **options: Any) -> Domain:
    """The hall as a domain of the benchmark, under another domain's rule."""
    return Domain(
        name="hall",
        title="Hall",
        native_reward="sparse (binary)",
        tasks="Walking",
        sizes={"official": 12, "synthetic": 12},
        rule=RULES[rule],
        load=partial(_load, **options),
        choose=_all,
        expert=partial(_guide, lost=lost),
        sources={"synthetic": "guide"},
        present=_never,
        code=("statefactory/benchmark",),
        packages=("pandas",),
        files=_no_files,
        replan=unmoved,
    )


def with_rule(domain: Domain, **changes: Any) -> Domain:
    return replace(domain, rule=replace(domain.rule, **changes))


def _load(data: str, seed: int, **options: Any) -> Hall:
    return Hall(**options)


def _all(world: Hall, data: str, seed: int) -> Sequence[HallTask]:
    return world.tasks("all")


def _guide(world: Hall, data: str, lost: int) -> Guide:
    return Guide(lost)


def _never() -> bool:
    return False
