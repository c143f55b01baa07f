"""ALFWorld's tasks: what an agent may see of a game, and the PDDL problem that the engine starts from."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import NamedTuple

TASK_TYPES = (
    "look_at_obj_in_light",
    "pick_and_place_simple",
    "pick_clean_then_place_in_recep",
    "pick_cool_then_place_in_recep",
    "pick_heat_then_place_in_recep",
    "pick_two_obj_and_place",
)
TASK_MARK = "@@TASK@@"


class Rules(NamedTuple):
    """What all games share: the PDDL domain, and the text grammar with TASK_MARK where a game states its task."""

    domain: str
    grammar: str


@dataclass(frozen=True, slots=True)
class HouseholdTask:
    """One game. goal: its task as the game states it; task_type: one of TASK_TYPES; game: "folder/trial", the name
    that papers use. packed_problem: the PDDL problem that starts the engine, never shown to an agent; compressed, since
    a split has thousands of 50 kB each.
    """

    id: str
    goal: str
    task_type: str
    game: str
    packed_problem: bytes = field(repr=False)

    @property
    def problem(self) -> str:
        """The PDDL problem."""
        return zlib.decompress(self.packed_problem).decode()


def packed(problem: str) -> bytes:
    return zlib.compress(problem.encode(), 1)  # the fastest level: thousands are packed while a split is read


def task_id(data: str, split: str, position: int, size: int) -> str:
    """The id of a game: its position among the `size` games of its split. Released games are sorted by `game`."""
    world = "alfworld" if data == "official" else "alfworld-made"
    return f"{world}-{split}-{position:0{max(3, len(str(size - 1)))}}"
