"""The benchmark's recipe on other tasks: held-out pairs, and training pairs of reward models.

Held-out tasks were not used to write any rule, and no other table uses them:

    alfworld       released games of the two validation splits; synthetic ones on floor plans of the validation split
    scienceworld   test variations beyond the ten per type that the benchmark uses; none for a type without more
    webshop        goals whose products no goal of the benchmark or the training split has; or another synthetic shop
    blocksworld    random problems, with official data of 4 and 5 blocks as in PlanBench; not PlanBench's own, since its
                   problems outside the benchmark were used to choose the wording of positions
    textworld      quests of another seed

Training tasks are neither in the benchmark of seed 0 nor held-out tasks of it:

    alfworld       released training games of other task folders than the benchmark's; or synthetic ones, by seed
    scienceworld   training variations, with gold paths from our solver, which stores them
    webshop        goals of synthetic shops with other products: the official shop has no goals left
    blocksworld    random problems, with official data of 4 and 5 blocks
    textworld      quests of the training split

Tasks are compared by each world's own identity, not by goal sentence, which ALFWorld repeats from game to game.
Synthetic tasks come from seeds that nothing else uses. The modules in `standins.statefactory` say which tasks a
domain's rules were written on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from itertools import islice, zip_longest
from random import Random
from typing import Any

from statefactory.benchmark.domains import BY_NAME, Choose, Domain, named, sampled, solvable
from worlds.base import ListingWorld

SPARE = 5  # additional TextWorld quests: not every quest is won by its own walkthrough
HELD_OUT, TRAINING = 60_000, 80_000  # offsets of seeds; fidelity of the rules is checked on seeds from 50,000
PARTS = 100  # world seeds reserved for each training seed
# Training tasks that a world has per seed.
PART = {("webshop", "official"): 90, ("webshop", "synthetic"): 90, ("alfworld", "synthetic"): 60}
SIZES = {
    name: {"official": 36, "synthetic": count}
    for name, count in (("alfworld", 12), ("scienceworld", 8), ("webshop", 12), ("blocksworld", 12), ("textworld", 10))
}


@cache
def held_out(name: str) -> Domain:
    """A domain with its held-out tasks. Raises ValueError, listing the names, for an unknown one."""
    domain, load = named(name), partial(_load_held_out, name)
    return replace(domain, held_out=True, sizes=SIZES[name], load=load, choose=CHOICES[name])


def training_parts(name: str, data: str, tasks: int, seed: int = 0) -> Iterator[tuple[Domain, int, int]]:
    """Yield the parts of a domain's training tasks as (domain, seed, number of tasks), to be built in turn.

    data: "official" or "synthetic". There are several parts if one seed of a synthetic world has too few tasks.
    Raises ValueError for an unknown domain, and for more tasks than the reserved seeds have.
    """
    base, size = named(name), PART.get((name, data), tasks)
    if tasks > size * PARTS:
        raise ValueError(
            f"{name} has {size * PARTS} synthetic training tasks of a seed, and {tasks} are asked for; ask for fewer"
        )
    for number, start in enumerate(range(0, tasks, max(size, 1))):
        count = min(size, tasks - start)
        load, choose = partial(_load_training, name, count), partial(_training, name, count)
        yield replace(base, sizes={data: count}, load=load, choose=choose), TRAINING + seed * PARTS + number, count


def folder(task: Any) -> str:
    """The task folder of an ALFWorld game. Its name has type, objects and floor plan; it holds several trials."""
    return task.game.partition("/")[0]


def _load_held_out(name: str, data: str, seed: int) -> ListingWorld:
    count, seed = SIZES[name][data], HELD_OUT + seed
    if name == "blocksworld":
        return _synthetic(name, data, seed, count=3 * count)
    if name == "textworld":
        return _synthetic(name, data, seed, games={"test": count + SPARE})
    return BY_NAME[name].load(data, seed)


def _load_training(name: str, tasks: int, data: str, seed: int) -> ListingWorld:
    if name in ("alfworld", "scienceworld"):
        return BY_NAME[name].load(data, seed)
    options: dict[str, Any] = {"blocksworld": {"count": 2 * tasks + 100}, "textworld": {"games": {"train": tasks + 5}}}
    return _synthetic(name, data, seed, **options.get(name, {}))


def _synthetic(name: str, data: str, seed: int, **options: Any) -> ListingWorld:
    """A world with generated tasks. data: decides only the number of blocks in BlocksWorld."""
    if name == "blocksworld":
        options["blocks"] = (4, 5) if data == "official" else (3, 4, 5, 6)
    return import_module(f"worlds.{name}").load("synthetic", seed, list_actions=False, **options)


# --- held-out tasks ---------------------------------------------------------------------------------------------------


def _alfworld(world: ListingWorld, data: str, seed: int) -> list[Any]:
    """Games of the validation splits, equally many of each of the six types."""
    splits = [split for split in ("valid_seen", "valid_unseen") if split in world.splits]
    games: Sequence[Any] = [task for split in splits for task in world.tasks(split)]
    return _of_kinds(games, lambda task: task.task_type, "alfworld", data, seed)


def _scienceworld(world: Any, data: str, seed: int) -> list[Any]:
    """Test variations, type by type in turn. Their stored gold paths are from our solver, which explores randomly."""
    from worlds.scienceworld.tasks import PROTOCOL_VARIATIONS, task_id

    variations = _variations(world, "test").items()
    ids = [task_id(name, number) for name, numbers in variations for number in numbers[PROTOCOL_VARIATIONS:]]
    return [world.task(id) for id in _of_kinds(ids, lambda id: id.rsplit("-", 1)[0], "scienceworld", data, seed)]


def _webshop(world: Any, data: str, seed: int) -> list[Any]:
    """Goals of the test split that the expert shopper can fulfil."""
    domain, used_products = BY_NAME["webshop"], set()
    if data == "official":  # a synthetic shop of another seed sells other products anyway
        shop: Any = domain.load(data, 0)
        used_products = {
            shop.hidden_goal(task).product.asin for task in (*domain.choose(shop, data, 0), *shop.tasks("train"))
        }
    tasks = [task for task in world.tasks("test") if world.hidden_goal(task).product.asin not in used_products]
    return _fulfilled("webshop", world, data, sampled(tasks, len(tasks), "webshop", seed), SIZES["webshop"][data])


def _blocksworld(world: Any, data: str, seed: int) -> list[Any]:
    """The first problems that are not in the benchmark, compared block for block."""
    # There are so few problems of three or four blocks that two seeds share some.
    benchmark: Any = BY_NAME["blocksworld"].load(data, 0)
    used = {task.problem for task in benchmark.tasks("test")}
    return list(islice((task for task in world.tasks("test") if task.problem not in used), SIZES["blocksworld"][data]))


def _textworld(world: ListingWorld, data: str, seed: int) -> list[Any]:
    """The first quests that the expert can win."""
    return _fulfilled("textworld", world, data, world.tasks("test"), SIZES["textworld"][data])


CHOICES: dict[str, Choose] = {
    "alfworld": _alfworld, "scienceworld": _scienceworld, "webshop": _webshop, "blocksworld": _blocksworld,
    "textworld": _textworld,
}  # fmt: skip


# --- training tasks ---------------------------------------------------------------------------------------------------


def _training(name: str, tasks: int, world: Any, data: str, seed: int) -> list[Any]:
    """A seeded sample of `tasks` training tasks."""
    if name == "alfworld":
        benchmark = BY_NAME[name].choose(world, data, 0) if data == "official" else []
        used = set(map(folder, benchmark))
        return sampled([task for task in world.tasks("train") if folder(task) not in used], tasks, name, seed)
    if name == "scienceworld":
        from worlds.scienceworld.tasks import task_id

        random, by_type = Random(f"reward models {seed}"), _variations(world, "train")
        for numbers in by_type.values():
            random.shuffle(numbers)
        ids = _in_turn([task_id(name, number) for number in numbers] for name, numbers in by_type.items())
        return [world.task(id) for id in islice(ids, tasks)]
    if name == "blocksworld":
        # Distinct problems that neither the benchmark nor the held-out tasks have, compared block for block.
        used = set()
        for domain in (BY_NAME[name], held_out(name)):
            other_world: Any = domain.load(data, 0)
            used |= {task.problem for task in domain.choose(other_world, data, 0)}
        unused = {task.problem: task for task in world.tasks("train") if task.problem not in used}
        return list(unused.values())[:tasks]
    # The other worlds are generated from another seed, so all tasks are new. Some have no plan.
    split_tasks = [task for split in world.splits for task in world.tasks(split)]
    ordered = split_tasks if name == "textworld" else sampled(split_tasks, len(split_tasks), name, seed)
    return _fulfilled(name, world, data, ordered, tasks)


def _fulfilled(name: str, world: ListingWorld, data: str, tasks: Sequence[Any], count: int) -> list[Any]:
    """The first `count` tasks that the expert can solve."""
    expert = BY_NAME[name].expert(world, data)
    return list(islice((task for task in tasks if solvable(expert, task)), count))


def _variations(world: Any, split: str) -> dict[str, list[int]]:
    """ScienceWorld's task types, with their variations in a split."""
    from worlds.scienceworld.tasks import NOT_IN_REWARDPREDICTION, names

    with world.borrowed() as engine:
        return {name: list(engine.variations(name)[split]) for name in names() if name not in NOT_IN_REWARDPREDICTION}


def _of_kinds(tasks: Sequence[Any], kind: Callable[[Any], str], name: str, data: str, seed: int) -> list[Any]:
    """Tasks of the kinds in turn, kinds and tasks shuffled by the seed, up to the domain's held-out size."""
    random, kinds = Random(f"held out {name} {seed}"), sorted({kind(task) for task in tasks})
    random.shuffle(kinds)
    of_kind = [[task for task in tasks if kind(task) == group_kind] for group_kind in kinds]
    for group in of_kind:
        random.shuffle(group)
    return list(islice(_in_turn(of_kind), SIZES[name][data]))


def _in_turn(groups: Iterable[Sequence[Any]]) -> Iterator[Any]:
    """Interleave groups: the first item of each, then the second, and so on."""
    return (item for turn in zip_longest(*groups) for item in turn if item is not None)
