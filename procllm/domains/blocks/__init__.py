"""Blocks World: build a stack of height h from some of b blocks (paper §5, C.3, D.3).

There is no solver and there are no tools: the agent writes the plan itself. The documents say what the paper's say, in
other words; the specification shows a solved example, where §5 has none. The network has the paper's structure, also
the method that no task decomposes into (`m-solve`). This file has a problem and its request, written and read; the
instances of a seed; and the checker, which uses no solver.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import NamedTuple

from procllm.domains import AnswerVerdict, Domain, Instance, cumulative
from worlds.blocksworld.state import Action, Fact, NoState, State, state_of
from worlds.blocksworld.synthetic import random_state

START, GOAL = "The blocks stand like this:", "I want this to hold in the end:"
# Initial facts, one a line, as in the paper's example (C.3.2).
FACTS = {
    "ontable": "the {} block is on the table",
    "on": "the {} block is on top of the {} block",
    "clear": "the {} block is clear",
}
PATTERNS = {name: re.compile(text.replace("{}", r"(\w+)")) for name, text in FACTS.items()}


class NoProblem(ValueError):
    """A request without a valid problem; the message says what is missing or impossible."""


@dataclass(frozen=True)
class StackProblem:
    """start: a state with an empty hand. goal: (upper, lower) for each block that must be on another, bottom up."""

    start: State
    goal: tuple[tuple[str, str], ...]


def worded(problem: StackProblem) -> str:
    """The request: the initial facts, tower by tower from the table up, then the goal."""
    start = (FACTS[name].format(*blocks) for name, *blocks in _facts(problem.start))
    goal = (FACTS["on"].format(*pair) for pair in problem.goal)
    return "\n".join([START, *start, GOAL, *goal]) + "\n"


def _facts(state: State) -> Iterator[Fact]:
    for tower in state.towers:
        yield "ontable", tower[0]
        yield from (("on", upper, lower) for lower, upper in zip(tower, tower[1:], strict=False))
        yield "clear", tower[-1]


@lru_cache(maxsize=16)  # every step of an episode reads the same request
def parsed(text: str) -> StackProblem:
    """Read the problem from a request; lines that state no fact are ignored. Raises NoProblem."""
    initial_text, _, goal_text = text.partition(GOAL)
    goal = tuple((fact[1], fact[2]) for fact in _read(goal_text) if fact[0] == "on")
    facts = list(_read(initial_text))
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
    """The pairs, sorted from the bottom of each stack to its top. Raises NoProblem if they do not form stacks."""
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


COLOURS = ("black", "blue", "brown", "cyan", "gray", "green", "orange", "pink", "purple", "red", "white", "yellow")
MOST = 999  # instances of a seed: ids have three digits


def instances(count: int, seed: int = 0, b: int = 3, h: int = 2) -> list[Instance]:
    """The first `count` problems of a seed: of b blocks, h must be stacked in a given order.

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
    """A start, uniform over all states of the blocks, and a stack of random blocks that the start does not contain.

    As in the paper's example, the goal says which block is on which, not that the lowest block is on the table.
    """
    blocks = random.sample(COLOURS, b)
    while True:
        start, stack = random_state(blocks, random), random.sample(blocks, h)
        goal = tuple(zip(stack[1:], stack, strict=False))
        if not start.facts().issuperset(("on", *pair) for pair in goal):
            return StackProblem(start, goal)


# Action in an answer -> the simulator's name for it, and its number of blocks.
ACTIONS = {"pick": ("pick-up", 1), "put": ("put-down", 1), "stack": ("stack", 2), "unstack": ("unstack", 2)}
SHOWN = 60  # characters of a bad line that a message quotes


class BadPlan(ValueError):
    """An answer without actions, or a line that is no action on the problem's blocks; the message names the line."""


class Line(NamedTuple):
    """An action of a plan. number: its line in the answer, from 1."""

    number: int
    text: str
    action: Action


class Ran(NamedTuple):
    """The state after the last possible action, and why the next action is impossible, if there is one."""

    state: State
    fault: str = ""


def check(instance: Instance, answer: str) -> AnswerVerdict:
    """Check the parts "format", "plan runs" and "goal". Blocks outside the goal may be anywhere (§5)."""
    problem: StackProblem = instance.problem
    try:
        plan = read_plan(answer, problem.start.blocks)
    except BadPlan as fault:
        return cumulative({"format": str(fault), "plan runs": "", "goal": ""})
    ran = run(problem.start, plan)
    return cumulative({"format": "", "plan runs": ran.fault, "goal": missing(problem, ran.state)})


def read_plan(text: str, blocks: tuple[str, ...]) -> list[Line]:
    """Read a plan, one action a line; blank lines and blanks around a line are allowed. Raises BadPlan."""
    lines = [(number, line.strip(" \t\r")) for number, line in enumerate(text.split("\n"), 1)]
    plan = [Line(number, line, _action(number, line, blocks)) for number, line in lines if line]
    if not plan:
        raise BadPlan("The answer has no action")
    return plan


def _action(number: int, line: str, blocks: tuple[str, ...]) -> Action:
    name, *arguments = (part for part in line.split(" ") if part)
    where = f"Line {number}, {_shown(line)!r}"
    if name not in ACTIONS:
        raise BadPlan(f"{where}: the only actions are {', '.join(ACTIONS)}, each on a line of its own")
    operator, arity = ACTIONS[name]
    if len(arguments) != arity:
        raise BadPlan(f"{where}: {name} takes {arity} block{'s' * (arity > 1)}, not {len(arguments)}")
    if unknown := next((block for block in arguments if block not in blocks), None):
        raise BadPlan(f"{where}: there is no block {_shown(unknown)!r}")
    return Action(operator, *arguments)


def _shown(text: str) -> str:
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


def run(state: State, plan: list[Line]) -> Ran:
    """Execute the actions, up to the first impossible one."""
    for number, text, action in plan:
        if obstacle := _obstacle(state, action):
            return Ran(state, f"Line {number}, {text!r}, is not possible: {obstacle}")
        state = state.after(action)
    return Ran(state)


def _obstacle(state: State, action: Action) -> str:
    """Why an action is impossible, as text; "" if it is possible."""
    if action in state.actions():
        return ""
    if action.name in ("put-down", "stack"):
        if state.holding != action.block:
            return f"the hand holds {_held(state)}"
        return f"the {action.under} block is not clear"
    if state.holding is not None:
        return f"the hand holds {_held(state)}"
    if ("clear", action.block) not in state.facts():
        return f"the {action.block} block is not clear"
    return f"the {action.block} block is not on the {action.under or 'table'}{' block' if action.under else ''}"


def _held(state: State) -> str:
    return "nothing" if state.holding is None else f"the {state.holding} block"


def missing(problem: StackProblem, state: State) -> str:
    """The first goal that the state does not reach, as text; "" if it reaches all."""
    facts = state.facts()
    unmet = next((pair for pair in problem.goal if ("on", *pair) not in facts), None)
    return f"In the end the {unmet[0]} block is not on top of the {unmet[1]} block" if unmet else ""


FOLDER = Path(__file__).parent

DOMAIN = Domain(
    name="blocks",
    title="Blocks World",
    specification=(FOLDER / "specification.txt").read_text(encoding="utf-8"),
    human=(FOLDER / "human.json").read_text(encoding="utf-8"),
    llm=(FOLDER / "llm_paper.json").read_text(encoding="utf-8"),
    check=check,
    instances=instances,
    sized=("b", "h"),
)
