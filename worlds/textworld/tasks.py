"""The task of this world, a quest: its goal, and what the generator needs to make its game again."""

from __future__ import annotations

from dataclasses import dataclass

SPLITS = ("test", "train")
MOST = 999  # quests a split: ids have three digits
KINDS = ("lock-and-key", "treasure-hunt", "cooking")

Options = tuple[tuple[str, int | str | bool], ...]


@dataclass(frozen=True, slots=True)
class QuestTask:
    """One generated game.

    goal: the objective, in the words in which the game prints it. kind: one of KINDS. seed and options: what the
    generator needs to make this game again; its map and walkthrough are not among them.
    """

    id: str
    goal: str
    kind: str
    seed: str
    options: Options


def quest_id(split: str, index: int) -> str:
    """The stable id of a quest, zero-padded so that ids sort in order."""
    return f"textworld-{split}-{index:03d}"
