"""Replanning after random initial steps: keep the expert's plan, adapt it, or plan anew from the state reached.

Most plans survive a random step or two. Those of BlocksWorld do not: whatever block is picked up, the plan's first step
is impossible. Planning anew gives .588 +- .005 for the paper's monotonic .589; without it, few beginnings are left that
a plan survives, and the value is .60.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from worlds.base import ListingWorld, NoSolution

BACK = "click[back to search]"


def unmoved(world: ListingWorld, task: Any, plan: Sequence[str], begun: Sequence[str]) -> Sequence[str]:
    """The usual plan."""
    return plan


def from_the_search_page(world: ListingWorld, task: Any, plan: Sequence[str], begun: Sequence[str]) -> Sequence[str]:
    """WebShop: back to the search page if the beginning led away from it, then the usual plan."""
    return (BACK, *plan) if BACK in world.valid_actions() else plan


def shortest(world: ListingWorld, task: Any, plan: Sequence[str], begun: Sequence[str]) -> Sequence[str]:
    """BlocksWorld: a shortest plan from the state that the beginning led to."""
    from worlds.blocksworld.planner import shortest_plan
    from worlds.blocksworld.problem import BlocksProblem
    from worlds.blocksworld.wording import action_text, read_action

    state = task.problem.start
    for text in begun:
        action = read_action(text, state.blocks)
        assert action is not None, f"a valid action of {task.id} is not read back: {text}"
        state = state.after(action)
    # The published plans are shortest ones too, so plans from elsewhere are of their kind.
    found = shortest_plan(BlocksProblem(state, task.problem.goal))
    if found is None:
        raise NoSolution(f"{task.id} has no plan from {state}")
    return tuple(map(action_text, found))
