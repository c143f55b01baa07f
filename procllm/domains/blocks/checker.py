"""The checker: is the answer a list of actions, can they be done one after another, and is the stack there then?"""

from __future__ import annotations

from typing import NamedTuple

from procllm.domains.base import AnswerVerdict, Instance, cumulative
from procllm.domains.blocks.request import StackProblem
from worlds.blocksworld.state import Action, State

# Names in an answer -> the simulator's, and how many blocks follow.
ACTIONS = {"pick": ("pick-up", 1), "put": ("put-down", 1), "stack": ("stack", 2), "unstack": ("unstack", 2)}
SHOWN = 60  # characters of a bad line that a reason repeats


class BadPlan(ValueError):
    """A line that is no action, or an action that is not possible; the message names the line."""


class Line(NamedTuple):
    """An action and where it stands, counted from 1."""

    number: int
    text: str
    action: Action


class Ran(NamedTuple):
    """The state after the last action that could be done, and what kept the next one from it, if any."""

    state: State
    fault: str = ""


def check(instance: Instance, answer: str) -> AnswerVerdict:
    """The parts of Blocks World: "format", "plan runs", "goal". It is right whatever the other blocks do (§5)."""
    problem: StackProblem = instance.problem
    try:
        plan = read_plan(answer, problem.start.blocks)
    except BadPlan as fault:
        return cumulative({"format": str(fault), "plan runs": "", "goal": ""})
    ran = run(problem.start, plan)
    return cumulative({"format": "", "plan runs": ran.fault, "goal": missing(problem, ran.state)})


def read_plan(text: str, blocks: tuple[str, ...]) -> list[Line]:
    """The actions, a line each; blank lines and blanks around a line are allowed, nothing else. Raises BadPlan."""
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
    """The actions one after another, up to the first that is not possible."""
    for number, text, action in plan:
        if obstacle := _obstacle(state, action):
            return Ran(state, f"Line {number}, {text!r}, is not possible: {obstacle}")
        state = state.after(action)
    return Ran(state)


def _obstacle(state: State, action: Action) -> str:
    """Why an action is not possible, in words; "" if it is."""
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
    """The first goal that does not hold in the state, in words; "" if all hold."""
    facts = state.facts()
    lacking = next((pair for pair in problem.goal if ("on", *pair) not in facts), None)
    return f"In the end the {lacking[0]} block is not on top of the {lacking[1]} block" if lacking else ""
