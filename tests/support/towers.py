"""States of BlocksWorld for property tests, and what a plan scores."""

from __future__ import annotations

from hypothesis import strategies as st

from worlds.blocksworld import BlocksTask, BlocksWorld
from worlds.blocksworld.state import State, letters


@st.composite
def states(draw: st.DrawFn, largest: int = 7) -> State:
    """Any state, with or without a block in the hand."""
    blocks = draw(st.permutations([letters(index) for index in range(draw(st.integers(1, largest)))]))
    cuts = sorted({0, len(blocks), *draw(st.lists(st.integers(0, len(blocks))))})
    towers = [tuple(blocks[low:high]) for low, high in zip(cuts, cuts[1:], strict=False)]
    held = towers[0][0] if draw(st.booleans()) and len(towers[0]) == 1 else None
    return State(tuple(sorted(towers[1:] if held else towers)), held)


def score(world: BlocksWorld, task: BlocksTask, actions: tuple[str, ...]) -> float:
    step = world.reset(task)
    for action in actions:
        assert not step.done, f"{task.id} is solved before the plan's end"
        step = world.step(action)
    return step.score
