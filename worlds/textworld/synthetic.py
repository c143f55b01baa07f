"""The generated quests of a split: their kinds and options.

The paper's trajectories are released, but neither its 150 game files nor the options that they were generated with. Of
every five quests here three are lock-and-key, the kind that the paper shows (Tables 30-33), one is a treasure hunt and
one is cooking, the kinds that it names (A.3).
"""

from __future__ import annotations

from random import Random

from worlds.textworld.games import Options, QuestTask, quest_id

GAMES = {"test": 150, "train": 60}  # quests per split; the paper has 150
KIND_OF_FIVE = ("lock-and-key", "treasure-hunt", "lock-and-key", "cooking", "lock-and-key")
HUNTS = {"easy": ((5, 5), (3, 5)), "medium": ((6, 8), (4, 7)), "hard": ((6, 8), (4, 7))}  # rooms, length: least, most


def synthetic_quests(split: str, count: int, seed: int) -> list[QuestTask]:
    """The first `count` quests of a split. A quest is the same whatever the count."""
    return [quest(split, index, seed) for index in range(count)]


def quest(split: str, index: int, seed: int) -> QuestTask:
    """A quest. Its seed names the split, so that no two splits share a game."""
    rng = Random(f"textworld quest {split} {index} {seed}")
    kind = KIND_OF_FIVE[index % len(KIND_OF_FIVE)]
    return QuestTask(quest_id(split, index), kind, f"{split} {index} {seed}", options_of(kind, rng, split))


def options_of(kind: str, rng: Random, split: str) -> Options:
    """Random options for a quest of a kind. Cooking has one to three ingredients, and TextWorld's own splits."""
    if kind == "lock-and-key":
        return (("objects", rng.randint(8, 12)),)
    if kind == "treasure-hunt":
        mode = rng.choice(sorted(HUNTS))
        rooms, length = HUNTS[mode]
        return (("mode", mode), ("rooms", rng.randint(*rooms)), ("length", rng.randint(*length)))
    recipe = rng.randint(1, 3)
    # The splits of cooking share neither foods nor ways to prepare them.
    skills = {skill: rng.random() < 0.5 for skill in ("open", "cook", "cut")}
    take, go = rng.randint(1, recipe), rng.choice((1, 6))
    return (("recipe", recipe), ("take", take), ("go", go), *skills.items(), ("split", split))
