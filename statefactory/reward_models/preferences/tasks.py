"""Training tasks: the benchmark's recipe on tasks of which none is in the benchmark or among its held-out pairs.

The benchmark is that of seed 0, and so are its held-out pairs.

    alfworld       released training games of other task folders than the benchmark's; or synthetic ones, by seed
    scienceworld   training variations; their gold paths are the solver's, which keeps them
    webshop        goals of synthetic shops with products of their own: the official shop has no goals left that the
                   benchmark and its held-out pairs do not ask for
    blocksworld    random problems, of 4 and 5 blocks beside official data; none is the benchmark's or held out
    textworld      quests of the training split

What tells two tasks apart is the world's own: ALFWorld repeats its goal sentences from game to game. Synthetic tasks
come from seeds beyond FIRST, which nothing else starts from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from importlib import import_module
from itertools import islice, zip_longest
from random import Random
from typing import Any

from statefactory.benchmark.domains import BY_NAME, Domain, named, sampled, solvable
from statefactory.benchmark.held_out import held_out
from worlds.base import ListingWorld

FIRST = 80_000  # added to a seed; held-out pairs start from 60,000
PARTS = 100  # seeds that a seed of ours may use up
# Tasks that one seed has.
PART = {("webshop", "official"): 90, ("webshop", "synthetic"): 90, ("alfworld", "synthetic"): 60}


def parts(name: str, data: str, tasks: int, seed: int = 0) -> Iterator[tuple[Domain, int, int]]:
    """The domain's training tasks as (domain, seed, tasks) to be built one after the other.

    data: "official" or "synthetic". Several parts where one seed of a synthetic world has fewer tasks. Raises
    ValueError for an unknown domain and for more tasks than there are seeds.
    """
    base, size = named(name), PART.get((name, data), tasks)
    most = size * PARTS
    if tasks > most:
        raise ValueError(
            f"{name} has {most} synthetic training tasks of a seed, and {tasks} are asked for; ask for fewer"
        )
    for number, start in enumerate(range(0, tasks, max(size, 1))):
        count = min(size, tasks - start)
        domain = replace(
            base, sizes={data: count}, load=partial(_load, name, count), choose=partial(_choose, name, count),
            code=(*base.code, "statefactory/reward_models/preferences"),
        )  # fmt: skip
        yield domain, FIRST + seed * PARTS + number, count


def _load(name: str, tasks: int, data: str, seed: int) -> ListingWorld:
    options: dict[str, Any] = {}
    if name in ("alfworld", "scienceworld"):
        return BY_NAME[name].load(data, seed)
    if name == "blocksworld":
        options = {"blocks": (4, 5) if data == "official" else (3, 4, 5, 6), "count": 2 * tasks + 100}
    if name == "textworld":
        options = {"games": {"train": tasks + 5}}
    return import_module(f"worlds.{name}").load("synthetic", seed, list_actions=False, **options)


def _choose(name: str, tasks: int, world: Any, data: str, seed: int) -> list[Any]:
    """As many tasks as the part has, drawn by the seed."""
    if name == "alfworld":
        taken = set()
        if data == "official":
            taken = {folder(task) for task in BY_NAME[name].choose(world, data, 0)}
        return sampled([task for task in world.tasks("train") if folder(task) not in taken], tasks, name, seed)
    if name == "scienceworld":
        return [world.task(id) for id in islice(_variations(world, seed), tasks)]
    if name == "blocksworld":
        return _new_problems(world, data)[:tasks]
    # The rest are made of another seed, so all are new; some have no plan.
    of_splits = [task for split in world.splits for task in world.tasks(split)]
    ordered = of_splits if name == "textworld" else sampled(of_splits, len(of_splits), name, seed)
    expert = BY_NAME[name].expert(world, data)
    return list(islice((task for task in ordered if solvable(expert, task)), tasks))


def folder(task: Any) -> str:
    """The task folder of an ALFWorld game: type, objects and floor plan, of which a folder has several trials."""
    return task.game.partition("/")[0]


def _variations(world: Any, seed: int) -> Iterator[str]:
    """Ids of training variations, one of each type in turn, drawn by the seed."""
    from worlds.scienceworld.tasks import NOT_IN_REWARDPREDICTION, names, task_id

    random = Random(f"reward models {seed}")
    with world.borrowed() as engine:
        by_type = {name: list(engine.variations(name)["train"]) for name in names()
                   if name not in NOT_IN_REWARDPREDICTION}  # fmt: skip
    for numbers in by_type.values():
        random.shuffle(numbers)
    turns = zip_longest(*([task_id(name, number) for number in numbers] for name, numbers in by_type.items()))
    return (id for turn in turns for id in turn if id is not None)


def _new_problems(world: Any, data: str) -> list[Any]:
    """Problems that are nobody else's, block for block, each once."""
    apart: Any = held_out("blocksworld")
    taken = set()
    for domain, of_seed in ((BY_NAME["blocksworld"], 0), (apart, 0)):
        other = domain.load(data, of_seed)
        taken |= {task.problem for task in domain.choose(other, data, of_seed)}
    new = {task.problem: task for task in world.tasks("train") if task.problem not in taken}
    return list(new.values())
