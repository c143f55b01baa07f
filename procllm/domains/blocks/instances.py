"""Random problems of b blocks and a goal stack of height h, from a seed (paper §5)."""

from __future__ import annotations

from random import Random

from procllm.domains.base import Instance
from procllm.domains.blocks.request import StackProblem, worded
from worlds.blocksworld.synthetic import random_state

COLOURS = ("black", "blue", "brown", "cyan", "gray", "green", "orange", "pink", "purple", "red", "white", "yellow")
MOST = 999  # instances of a seed: ids have three digits


def instances(count: int, seed: int = 0, b: int = 3, h: int = 2) -> list[Instance]:
    """The first `count` problems of a seed: b blocks, of which h shall stand on one another in a given order.

    Raises ValueError for sizes that do not exist.
    """
    if not 2 <= b <= len(COLOURS):
        raise ValueError(f"b={b}; there can be 2 to {len(COLOURS)} blocks")
    if not 2 <= h <= b:
        raise ValueError(f"h={h}; a goal stack has 2 to b={b} blocks")
    if not 0 <= count <= MOST:
        raise ValueError(f"count={count}; a seed has up to {MOST} instances")
    return [_instance(seed, b, h, number) for number in range(1, count + 1)]


def _instance(seed: int, b: int, h: int, number: int) -> Instance:
    name = f"blocks-b{b:02}-h{h:02}-s{seed:03}-{number:03}"
    problem = synthetic_problem(b, h, Random(f"procllm {name}"))
    return Instance(name, worded(problem), problem)


def synthetic_problem(b: int, h: int, random: Random) -> StackProblem:
    """A start, uniform over all states of the blocks, and a stack of random blocks that is not there at the start.

    As in the paper's example the goal says what is on top of what, and not that its lowest block is on the table.
    """
    blocks = random.sample(COLOURS, b)
    while True:
        start, stack = random_state(blocks, random), random.sample(blocks, h)
        goal = tuple(zip(stack[1:], stack, strict=False))
        if not start.facts().issuperset(("on", *pair) for pair in goal):
            return StackProblem(start, goal)
