"""A corridor of rooms that a walker crosses by dice: the smallest world with chance, and the smallest adapter.

Each step east moves as many rooms as the dice say: zero is a rejected attempt, several are a cascade. So the action
does not determine the next certified state, which could depend on the past: with fair `rolls` it does not, with
`streaks` it does, against the assumption of Proposition 1. No model is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from sdp.operators import Adapter, Verdict
from sdp.trajectory import Attempt, Predicate, Trajectory


class Corridor:
    """Rooms 0 to `length`. dice: how many rooms each step east moves; when they run out, the walker stays."""

    def __init__(self, length: int, dice: Iterable[int]) -> None:
        self.length, self.room = length, 0
        self._dice: Iterator[int] = iter(dice)

    def step(self, action: str) -> str:
        """The world's answer to "go east", "creep east" (at most one room) or "look" (zero rooms, and no dice)."""
        if action not in ("go east", "creep east", "look"):
            return f"Nobody here knows how to {action}."
        rooms = 0 if action == "look" else next(self._dice, 0)
        self.room = min(self.length, self.room + (min(rooms, 1) if action == "creep east" else rooms))
        return f"You are in room {self.room} of {self.length}."


def rolls(seed: int | str, faces: Sequence[int] = (0, 1, 1, 2)) -> Iterator[int]:
    """Endless seeded dice."""
    random = Random(seed)
    while True:
        yield random.choice(faces)


def streaks(seed: int) -> Iterator[int]:
    """Seeded dice that repeat the last value with probability 0.5, which no certified state shows."""
    random, faces = Random(seed), (1, 2)
    last = random.choice(faces)
    while True:
        last = last if random.random() < 0.5 else random.choice(faces)
        yield last


@dataclass(frozen=True)
class Walker:
    """The certified state: the room that was last certified."""

    room: int


@dataclass(frozen=True)
class CorridorAdapter(Adapter[Walker, str, str]):
    """SDP's operators for the corridor: one predicate per room, checked against the room that the world names.

    looks: Realize looks if the target holds already, which only happens in a loop without cascade; else it goes on.
    """

    world: Corridor
    looks: bool = field(default=True, kw_only=True)

    def start(self) -> tuple[Walker, Predicate]:
        self.world.room = 0
        return Walker(0), in_room(self.world.length)

    def propose(self, state: Walker, goal: Predicate, planned: Sequence[Predicate]) -> Sequence[Predicate]:
        return rooms(state.room + len(planned) + 1, self.world.length)

    def realize(self, state: Walker, target: Predicate, failures: Sequence[Attempt], view: Any) -> str:
        holds = "room" in target.about and target.about["room"] <= state.room
        return "look" if holds and self.looks else "go east"

    def act(self, action: str) -> str:
        return self.world.step(action)

    def validate(self, tail: Sequence[Predicate], observation: str, failures: Sequence[Attempt]) -> Verdict:
        room = room_of(observation)
        reached = [predicate.about.get("room", 0) <= room for predicate in tail]
        k = reached.index(False) if False in reached else len(reached)
        return Verdict(k, f"room {room}")

    def advance(self, state: Walker, certified: Sequence[Predicate], observation: str) -> Walker:
        return Walker(room_of(observation))

    def replan(self, state: Walker, goal: Predicate, trajectory: Trajectory, view: Any) -> Sequence[Predicate]:
        return trajectory.plans[-1].predicates[trajectory.certified :]


def in_room(room: int, words: str = "The walker has come to room") -> Predicate:
    return Predicate(f"{words} {room}.", about={"room": room})


def rooms(first: int, last: int) -> list[Predicate]:
    return [in_room(room) for room in range(first, last + 1)]


def arrived(trajectory: Trajectory) -> float:
    """The world's own score: 1 if the walker was last seen in the goal's room, whatever was certified; else 0."""
    observations = [attempt.observation for attempt in trajectory.attempts if attempt.observation]
    return float(bool(observations) and room_of(observations[-1]) >= trajectory.goal.about["room"])


def room_of(observation: Any) -> int:
    match = re.search(r"room (\d+)", observation or "")
    return int(match[1]) if match else -1
