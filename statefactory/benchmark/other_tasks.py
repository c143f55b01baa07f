"""The benchmark's recipe on other tasks: held-out pairs, and training pairs of reward models.

Held out are tasks that no rule was written on and no other table uses:

    alfworld       released games of the two validation splits; synthetic ones on floor plans of the validation split
    scienceworld   test variations beyond the ten of a type that the benchmark takes; where a type has no more, none
    webshop        goals about products of no benchmark goal and of no goal of the training split; or another shop
    blocksworld    random problems, of 4 and 5 blocks beside official data as in PlanBench; none of them is PlanBench's,
                   whose problems outside the benchmark chose the wording of positions
    textworld      quests of another seed

Training tasks are neither in the benchmark of seed 0 nor among its held-out tasks:

    alfworld       released training games of other task folders than the benchmark's; or synthetic ones, by seed
    scienceworld   training variations; their gold paths are the solver's, which keeps them
    webshop        goals of synthetic shops with products of their own: the official shop has no goals left
    blocksworld    random problems, of 4 and 5 blocks beside official data
    textworld      quests of the training split

What tells two tasks apart is the world's own: ALFWorld repeats its goal sentences from game to game. Synthetic tasks
come from seeds that nothing else starts from. A domain's own module says what its rules were written on
(`standins.statefactory`).
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

SPARE = 5  # more of TextWorld's quests than are taken: not every one is won by its own walkthrough
HELD_OUT, TRAINING = 60_000, 80_000  # added to a seed; the fidelity of the rules is checked on seeds from 50,000
PARTS = 100  # seeds that a training seed may use up
# Training tasks that one seed has.
PART = {("webshop", "official"): 90, ("webshop", "synthetic"): 90, ("alfworld", "synthetic"): 60}
SIZES = {
    name: {"official": 36, "synthetic": count}
    for name, count in (("alfworld", 12), ("scienceworld", 8), ("webshop", 12), ("blocksworld", 12), ("textworld", 10))
}


@cache
def held_out(name: str) -> Domain:
    """The held-out domain of that name. Raises ValueError listing the names."""
    domain, load = named(name), partial(_load_held_out, name)
    return replace(domain, held_out=True, sizes=SIZES[name], load=load, choose=CHOICES[name])


def training_parts(name: str, data: str, tasks: int, seed: int = 0) -> Iterator[tuple[Domain, int, int]]:
    """The domain's training tasks as (domain, seed, tasks) to be built one after the other.

    data: "official" or "synthetic". Several parts where one seed of a synthetic world has fewer tasks. Raises
    ValueError for an unknown domain and for more tasks than there are seeds.
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
    """The task folder of an ALFWorld game: type, objects and floor plan, of which a folder has several trials."""
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
    """A world whose tasks are generated whatever the data are called, which decides the size of BlocksWorld's."""
    if name == "blocksworld":
        options["blocks"] = (4, 5) if data == "official" else (3, 4, 5, 6)
    return import_module(f"worlds.{name}").load("synthetic", seed, list_actions=False, **options)


# --- held-out tasks ---------------------------------------------------------------------------------------------------


def _alfworld(world: ListingWorld, data: str, seed: int) -> list[Any]:
    """As many games of each of the six types."""
    splits = [split for split in ("valid_seen", "valid_unseen") if split in world.splits]
    games: Sequence[Any] = [task for split in splits for task in world.tasks(split)]
    return _of_kinds(games, lambda task: task.task_type, "alfworld", data, seed)


def _scienceworld(world: Any, data: str, seed: int) -> list[Any]:
    """Variations of the types in turn. Their gold paths are the solver's, which explores at random and is kept."""
    from worlds.scienceworld.tasks import PROTOCOL_VARIATIONS, task_id

    left = _variations(world, "test").items()
    ids = [task_id(name, number) for name, numbers in left for number in numbers[PROTOCOL_VARIATIONS:]]
    return [world.task(id) for id in _of_kinds(ids, lambda id: id.rsplit("-", 1)[0], "scienceworld", data, seed)]


def _webshop(world: Any, data: str, seed: int) -> list[Any]:
    """Goals of the test split that the shopper can fulfil."""
    domain, taken = BY_NAME["webshop"], set()
    if data == "official":  # the synthetic shop of another seed sells other products
        shop: Any = domain.load(data, 0)
        taken = {shop.hidden_goal(task).product.asin for task in (*domain.choose(shop, data, 0), *shop.tasks("train"))}
    tasks = [task for task in world.tasks("test") if world.hidden_goal(task).product.asin not in taken]
    return _fulfilled("webshop", world, data, sampled(tasks, len(tasks), "webshop", seed), SIZES["webshop"][data])


def _blocksworld(world: Any, data: str, seed: int) -> list[Any]:
    """The first problems that are none of the benchmark's, block for block."""
    # So few problems of three or four blocks exist that two seeds share some.
    benchmark: Any = BY_NAME["blocksworld"].load(data, 0)
    taken = {task.problem for task in benchmark.tasks("test")}
    return list(islice((task for task in world.tasks("test") if task.problem not in taken), SIZES["blocksworld"][data]))


def _textworld(world: ListingWorld, data: str, seed: int) -> list[Any]:
    """The first quests that the expert wins."""
    return _fulfilled("textworld", world, data, world.tasks("test"), SIZES["textworld"][data])


CHOICES: dict[str, Choose] = {
    "alfworld": _alfworld, "scienceworld": _scienceworld, "webshop": _webshop, "blocksworld": _blocksworld,
    "textworld": _textworld,
}  # fmt: skip


# --- training tasks ---------------------------------------------------------------------------------------------------


def _training(name: str, tasks: int, world: Any, data: str, seed: int) -> list[Any]:
    """As many tasks as the part has, drawn by the seed."""
    if name == "alfworld":
        benchmark = BY_NAME[name].choose(world, data, 0) if data == "official" else []
        taken = set(map(folder, benchmark))
        return sampled([task for task in world.tasks("train") if folder(task) not in taken], tasks, name, seed)
    if name == "scienceworld":
        from worlds.scienceworld.tasks import task_id

        random, by_type = Random(f"reward models {seed}"), _variations(world, "train")
        for numbers in by_type.values():
            random.shuffle(numbers)
        ids = _in_turn([task_id(name, number) for number in numbers] for name, numbers in by_type.items())
        return [world.task(id) for id in islice(ids, tasks)]
    if name == "blocksworld":
        # Problems that are nobody else's, block for block, each once.
        taken = set()
        for domain in (BY_NAME[name], held_out(name)):
            other: Any = domain.load(data, 0)
            taken |= {task.problem for task in domain.choose(other, data, 0)}
        new = {task.problem: task for task in world.tasks("train") if task.problem not in taken}
        return list(new.values())[:tasks]
    # The rest are made of another seed, so all are new; some have no plan.
    of_splits = [task for split in world.splits for task in world.tasks(split)]
    ordered = of_splits if name == "textworld" else sampled(of_splits, len(of_splits), name, seed)
    return _fulfilled(name, world, data, ordered, tasks)


def _fulfilled(name: str, world: ListingWorld, data: str, tasks: Sequence[Any], count: int) -> list[Any]:
    """The first tasks that the expert can solve."""
    expert = BY_NAME[name].expert(world, data)
    return list(islice((task for task in tasks if solvable(expert, task)), count))


def _variations(world: Any, split: str) -> dict[str, list[int]]:
    """ScienceWorld's task types, each with its variations of a split."""
    from worlds.scienceworld.tasks import NOT_IN_REWARDPREDICTION, names

    with world.borrowed() as engine:
        return {name: list(engine.variations(name)[split]) for name in names() if name not in NOT_IN_REWARDPREDICTION}


def _of_kinds(tasks: Sequence[Any], kind: Callable[[Any], str], name: str, data: str, seed: int) -> list[Any]:
    """One task of each kind after the other, kinds and tasks shuffled by the seed, as many as the domain takes."""
    random, kinds = Random(f"held out {name} {seed}"), sorted({kind(task) for task in tasks})
    random.shuffle(kinds)
    of_kind = [[task for task in tasks if kind(task) == group_kind] for group_kind in kinds]
    for group in of_kind:
        random.shuffle(group)
    return list(islice(_in_turn(of_kind), SIZES[name][data]))


def _in_turn(groups: Iterable[Sequence[Any]]) -> Iterator[Any]:
    """The first of each group, then the second, and so on."""
    return (item for turn in zip_longest(*groups) for item in turn if item is not None)
