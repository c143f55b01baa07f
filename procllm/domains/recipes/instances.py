"""Random problems: the ingredients of a dish and some more, from a seed (paper §5)."""

from __future__ import annotations

from random import Random

from procllm.domains.base import Instance
from procllm.domains.recipes.book import TOOLS, all_ingredients, book
from procllm.domains.recipes.request import RecipeProblem, worded

EXTRA, MOST_EXTRA = 4, 99  # ingredients that are added; ids have two digits


def instances(count: int, seed: int = 0, extra: int = EXTRA) -> list[Instance]:
    """The first `count` problems of a seed, each from another dish, with `extra` ingredients that it does not need.

    The paper does not say how many it adds. Raises ValueError for numbers that the book does not allow.
    """
    if not 0 <= count <= len(book()):
        raise ValueError(f"count={count}; the book has {len(book())} dishes, and each is taken once")
    if not 0 <= extra <= MOST_EXTRA:
        raise ValueError(f"extra={extra}; up to {MOST_EXTRA} ingredients can be added")
    dishes = Random(f"procllm recipes {seed}").sample(list(book()), len(book()))
    return [_instance(dish, seed, extra, number) for number, dish in enumerate(dishes[:count], 1)]


def _instance(dish: str, seed: int, extra: int, number: int) -> Instance:
    name = f"recipes-x{extra:02}-s{seed:03}-{number:03}"
    problem = synthetic_problem(dish, extra, Random(f"procllm {name}"))
    return Instance(name, worded(problem), problem, {"tools": TOOLS})


def synthetic_problem(dish: str, extra: int, random: Random) -> RecipeProblem:
    """What the dish needs, and `extra` other ingredients of the book, shuffled."""
    needed = book()[dish]
    others = [name for name in all_ingredients() if name not in needed]
    return RecipeProblem(tuple(random.sample([*needed, *random.sample(others, extra)], len(needed) + extra)))
