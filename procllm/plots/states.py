"""How far the tasks of a network are: at an iteration of an episode, and as plain text."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from lab.machine.printing import visible
from procllm.network import Network
from procllm.trajectory import Step, Trajectory


class State(NamedTuple):
    """verified: tasks that passed, in that order. active: the one worked on, "" for none; it may have just passed."""

    verified: tuple[str, ...]
    active: str


def state_at(trajectory: Trajectory, iteration: int) -> State:
    """The state once an iteration is over, counted from 1; 0 is before the first. Raises ValueError for any other."""
    count = len(trajectory.steps)
    if not 0 <= iteration <= count:
        raise ValueError(f"{trajectory.instance} has no iteration {iteration}; it has 1 to {count}, and 0 before them")
    return state_after(trajectory.steps[:iteration])


def state_after(steps: Sequence[Step]) -> State:
    """The state after these iterations, of an episode that may still go on."""
    return State(tuple(step.task for step in steps if step.outcome == "verified"), steps[-1].task if steps else "")


def spread(count: int, moments: int | Sequence[int]) -> list[int]:
    """Iterations to show of `count`: so many, evenly spread from the first to the last, or those that are listed.

    A single one is the last. Raises ValueError for no moment at all.
    """
    if not isinstance(moments, int):
        listed = list(moments)
    elif moments < 1 or count < 1:
        listed = [0] * (moments >= 1)
    else:
        listed = sorted({count - round(part * (count - 1) / max(moments - 1, 1)) for part in range(moments)})
    if not listed:
        raise ValueError("No moment to show; give a number from 1, or a list of iterations")
    return listed


def to_text(network: Network, verified: Collection[str] = (), active: str = "") -> str:
    """The tree for a terminal, a task a line below its parent: [x] verified, [>] worked on, [ ] pending."""
    marks = {active: ">"} | dict.fromkeys(verified, "x")
    # On one line: a newline in a name would look like a task.
    names = [(depth, visible(" ".join(name.split())), marks.get(name, " ")) for depth, name in network.tree()]
    return "".join(f"{'    ' * depth}[{mark}] {name}\n" for depth, name, mark in names)
