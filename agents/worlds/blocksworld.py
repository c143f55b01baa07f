"""BlocksWorld for acting agents: the four actions in PlanBench's words, and what holds after each of them."""

from __future__ import annotations

from agents.environment import InWorld
from worlds.base import Step
from worlds.blocksworld import BlocksTask, BlocksWorld
from worlds.blocksworld.world import REFUSAL

NAME = "blocksworld"
BLOCK = "the [a-z]+ block"
FORM = f"(?:pick up|put down) {BLOCK}|unstack {BLOCK} from on top of {BLOCK}|stack {BLOCK} on top of {BLOCK}"
TOOLS = """
You move blocks, one at a time, until they stand as the task says. The actions are:
pick up the BLOCK, which is clear and on the table, with an empty hand;
unstack the BLOCK from on top of the BLOCK, where the upper one is clear, with an empty hand;
put down the BLOCK, which the hand is holding, on the table;
stack the BLOCK on top of the BLOCK, where the hand is holding the first and the second is clear.
BLOCK is a block as it is called, such as red block.
""".strip()


def stacking(world: BlocksWorld, task: BlocksTask, listed: bool = False) -> InWorld:
    """One problem; it ends when the blocks stand as asked. listed: see `InWorld`."""
    return InWorld(world, task, NAME, TOOLS, refused, listed, form=FORM)


def refused(step: Step) -> bool:
    """Whether a step was not possible, or is none."""
    return step.text == REFUSAL
