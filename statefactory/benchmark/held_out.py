"""Held-out domains: the benchmark's recipe on tasks that no rule was written on and no other table uses.

    alfworld       released games of the two validation splits; synthetic ones on floor plans of the validation split
    scienceworld   test variations beyond the ten of a type that the benchmark takes; where a type has no more, none
    webshop        goals about products of no benchmark goal and of no goal of the training split; or another shop
    blocksworld    random problems, of 4 and 5 blocks beside official data as in PlanBench; none of them is PlanBench's,
                   whose problems outside the benchmark chose the wording of positions
    textworld      quests of another seed

What is made comes from seeds beyond FIRST, which nothing else starts from. A domain's own module says what its rules
were written on (`standins.statefactory`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from itertools import islice, zip_longest
from random import Random
from typing import Any

from statefactory.benchmark.domains import BY_NAME, Choose, Domain, named, sampled, solvable
from worlds.base import ListingWorld

SPARE = 5  # more of TextWorld's quests than are taken: not every one is won by its own walkthrough
FIRST = 60_000  # added to a seed; the fidelity of the rules is checked on seeds from 50,000
SIZES: dict[str, Mapping[str, int]] = {
    "alfworld": {"official": 36, "synthetic": 12},
    "scienceworld": {"official": 36, "synthetic": 8},
    "webshop": {"official": 36, "synthetic": 12},
    "blocksworld": {"official": 36, "synthetic": 12},
    "textworld": {"official": 36, "synthetic": 10},
}


@cache
def held_out(name: str) -> Domain:
    """The held-out domain of that name. Raises ValueError listing the names."""
    domain, load = named(name), partial(_load_generated if name in GENERATED else _load, name)
    return replace(domain, held_out=True, sizes=SIZES[name], load=load, choose=CHOICES[name])


def _alfworld(world: ListingWorld, data: str, seed: int) -> list[Any]:
    """As many games of each of the six types."""
    splits = [split for split in ("valid_seen", "valid_unseen") if split in world.splits]
    games: Sequence[Any] = [task for split in splits for task in world.tasks(split)]
    return _in_turn(games, lambda task: task.task_type, "alfworld", data, seed)


def _scienceworld(world: Any, data: str, seed: int) -> list[Any]:
    """Variations of the types in turn. Their gold paths are the solver's, which explores at random and is kept."""
    from worlds.scienceworld.tasks import NOT_IN_REWARDPREDICTION, PROTOCOL_VARIATIONS, names, task_id

    with world.borrowed() as engine:
        left = {name: engine.variations(name)["test"][PROTOCOL_VARIATIONS:]
                for name in names() if name not in NOT_IN_REWARDPREDICTION}  # fmt: skip
    ids = [task_id(name, number) for name, numbers in left.items() for number in numbers]
    return [world.task(id) for id in _in_turn(ids, lambda id: id.rsplit("-", 1)[0], "scienceworld", data, seed)]


def _webshop(world: Any, data: str, seed: int) -> list[Any]:
    """Goals of the test split that the shopper can fulfil."""
    domain, taken = BY_NAME["webshop"], set()
    if data == "official":  # the synthetic shop of another seed sells other products
        shop: Any = domain.load(data, 0)
        taken = {shop.hidden_goal(task).product.asin for task in (*domain.choose(shop, data, 0), *shop.tasks("train"))}
    tasks = [task for task in world.tasks("test") if world.hidden_goal(task).product.asin not in taken]
    return _fulfilled("webshop", world, data, sampled(tasks, len(tasks), "webshop", seed))


def _blocksworld(world: Any, data: str, seed: int) -> list[Any]:
    """The first problems that are none of the benchmark's, block for block."""
    # So few problems of three or four blocks exist that two seeds share some.
    benchmark: Any = BY_NAME["blocksworld"].load(data, 0)
    taken = {task.problem for task in benchmark.tasks("test")}
    return list(islice((task for task in world.tasks("test") if task.problem not in taken), SIZES["blocksworld"][data]))


def _textworld(world: ListingWorld, data: str, seed: int) -> list[Any]:
    """The first quests that the expert wins."""
    return _fulfilled("textworld", world, data, world.tasks("test"))


def _fulfilled(name: str, world: ListingWorld, data: str, tasks: Sequence[Any]) -> list[Any]:
    expert = BY_NAME[name].expert(world, data)
    return list(islice((task for task in tasks if solvable(expert, task)), SIZES[name][data]))


def _in_turn(tasks: Sequence[Any], kind: Callable[[Any], str], name: str, data: str, seed: int) -> list[Any]:
    """One task of each kind after the other, kinds and tasks shuffled by the seed, as many as the domain takes."""
    random, kinds = Random(f"held out {name} {seed}"), sorted({kind(task) for task in tasks})
    random.shuffle(kinds)
    of_kind = [[task for task in tasks if kind(task) == group_kind] for group_kind in kinds]
    for group in of_kind:
        random.shuffle(group)
    turns = (task for turn in zip_longest(*of_kind) for task in turn if task is not None)
    return list(islice(turns, SIZES[name][data]))


def _load(name: str, data: str, seed: int) -> ListingWorld:
    return BY_NAME[name].load(data, FIRST + seed)


def _load_generated(name: str, data: str, seed: int) -> ListingWorld:
    """A world whose tasks are generated whatever the data are called, which decides how many."""
    count = SIZES[name][data]
    options: dict[str, Any] = {"games": {"test": count + SPARE}}
    if name == "blocksworld":
        options = {"blocks": (4, 5) if data == "official" else (3, 4, 5, 6), "count": 3 * count}
    return import_module(f"worlds.{name}").load("synthetic", FIRST + seed, list_actions=False, **options)


GENERATED = ("blocksworld", "textworld")
CHOICES: dict[str, Choose] = {
    "alfworld": _alfworld, "scienceworld": _scienceworld, "webshop": _webshop, "blocksworld": _blocksworld,
    "textworld": _textworld,
}  # fmt: skip
