"""The generated quests of a split: their kinds and options, and the goals that their games print.

The paper's trajectories are released, but neither its 150 game files nor the options that they were generated with. Of
every five quests here three are lock-and-key, the kind that the paper shows (Tables 30-33), one is a treasure hunt and
one is cooking, the kinds that it names (A.3).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from random import Random
from typing import Any

from lab.machine import progress
from lab.machine.files import key_of, write_atomically
from worlds.stored import cache_folder
from worlds.textworld.games import Options, QuestTask, generator_version, make_game, quest_id

GAMES = {"test": 150, "train": 60}  # quests per split; the paper has 150
KIND_OF_FIVE = ("lock-and-key", "treasure-hunt", "lock-and-key", "cooking", "lock-and-key")
HUNTS = {"easy": ((5, 5), (3, 5)), "medium": ((6, 8), (4, 7)), "hard": ((6, 8), (4, 7))}  # rooms, length: least, most
WORTH_SHOWING = 10  # a progress bar is shown for more goals than this


def synthetic_quests(split: str, count: int, seed: int) -> list[QuestTask]:
    """The first `count` quests of a split. A quest is the same whatever the count."""
    unnamed = [unnamed_quest(split, index, seed) for index in range(count)]
    return [
        QuestTask(quest.id, goal, quest.kind, quest.seed, quest.options)
        for quest, goal in zip(unnamed, goals(unnamed), strict=True)
    ]


def unnamed_quest(split: str, index: int, seed: int) -> QuestTask:
    """A quest with an empty goal. Its seed names the split, so that no two splits share a game."""
    rng = Random(f"textworld quest {split} {index} {seed}")
    kind = KIND_OF_FIVE[index % len(KIND_OF_FIVE)]
    return QuestTask(quest_id(split, index), "", kind, f"{split} {index} {seed}", options_of(kind, rng, split))


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


def goals(quests: Sequence[QuestTask]) -> list[str]:
    """The objectives of these games, from the cache; on a cache miss the games are generated."""
    key = key_of([generator_version(), [[quest.kind, quest.seed, quest.options] for quest in quests]])
    path = cache_folder("textworld") / f"goals-{key}.json"
    with suppress(OSError, ValueError):  # a missing or torn file is written again
        cached: Any = json.loads(path.read_bytes())
        if isinstance(cached, list) and len(cached) == len(quests) and all(isinstance(goal, str) for goal in cached):
            return cached
    objectives = []
    with progress.bar(len(quests), "TextWorld's goals", show=len(quests) > WORTH_SHOWING) as bar:
        for quest in quests:
            objectives.append(objective(quest))
            bar.update()
    try:
        write_atomically(path, json.dumps(objectives).encode())
    except OSError as error:  # the goals can be used without the cache
        progress.say(
            f"cannot keep TextWorld's goals in {path.parent}: {error}; "
            "set LAB_CACHE to a file in a folder you can write"
        )
    return objectives


def objective(quest: QuestTask) -> str:
    """A game's objective, in its own words. Cooking games all have the same one, and are slow to generate."""
    if quest.kind == "cooking":
        return cooking_objective()
    objective: str = make_game(quest.kind, quest.seed, quest.options).objective
    return objective


@cache
def cooking_objective() -> str:
    # From any cooking game, once: the text is the same, and generating one takes 1.5 s.
    quest = unnamed_quest("test", KIND_OF_FIVE.index("cooking"), seed=0)
    objective: str = make_game(quest.kind, quest.seed, quest.options).objective
    return objective
