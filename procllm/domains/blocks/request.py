"""A problem, and the request that tells of it: written, and read back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from worlds.blocksworld.state import Fact, NoState, State, state_of

START, GOAL = "The blocks stand like this:", "I want this to hold in the end:"
# Initial facts as the paper's example has them (C.3.2), a line each.
FACTS = {
    "ontable": "the {} block is on the table",
    "on": "the {} block is on top of the {} block",
    "clear": "the {} block is clear",
}
PATTERNS = {name: re.compile(text.replace("{}", r"(\w+)")) for name, text in FACTS.items()}


class NoProblem(ValueError):
    """A text that tells of no problem; the message says what is missing or impossible."""


@dataclass(frozen=True)
class StackProblem:
    """start: with an empty hand. goal: (upper, lower) for each block that shall be on top of another, bottom up."""

    start: State
    goal: tuple[tuple[str, str], ...]


def worded(problem: StackProblem) -> str:
    """The request: initial facts tower by tower from the table up, then the goal."""
    start = (FACTS[name].format(*blocks) for name, *blocks in _facts(problem.start))
    goal = (FACTS["on"].format(*pair) for pair in problem.goal)
    return "\n".join([START, *start, GOAL, *goal]) + "\n"


def _facts(state: State) -> Iterator[Fact]:
    for tower in state.towers:
        yield "ontable", tower[0]
        yield from (("on", upper, lower) for lower, upper in zip(tower, tower[1:], strict=False))
        yield "clear", tower[-1]


@lru_cache(maxsize=16)  # an episode's one request is read at every step
def parsed(text: str) -> StackProblem:
    """The problem that a request tells of; lines that state no fact say nothing. Raises NoProblem."""
    before, _, after = text.partition(GOAL)
    goal = tuple((fact[1], fact[2]) for fact in _read(after) if fact[0] == "on")
    facts = list(_read(before))
    blocks = {block for fact in facts for block in fact[1:]}
    if not goal or not blocks.issuperset(block for pair in goal for block in pair):
        raise NoProblem("The request names no goal for its blocks")
    try:
        return StackProblem(state_of([*facts, ("handempty",)], blocks), bottom_up(goal))
    except NoState as error:
        raise NoProblem(f"The request's blocks cannot stand so: {error}") from None


def _read(text: str) -> Iterator[Fact]:
    for line in text.split("\n"):
        for name, pattern in PATTERNS.items():
            if match := pattern.fullmatch(line.strip()):
                yield name, *match.groups()


def bottom_up(goal: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """The pairs so that each is built on those before it. Raises NoProblem where they make no stacks."""
    above = {lower: upper for upper, lower in goal}
    uppers = {upper for upper, _ in goal}
    if len(above) < len(goal) or len(uppers) < len(goal):
        raise NoProblem("The goal puts one block in two places, or two in one")
    pairs = []
    for lower in (lower for lower in above if lower not in uppers):
        while lower in above:
            pairs.append((above[lower], lower))
            lower = above[lower]
    if len(pairs) < len(goal):
        raise NoProblem("The goal puts blocks on top of one another in a circle")
    return tuple(pairs)
